"""What a case of the tables is: cells, and what each of them must show.

    case("a variable lasts", "x = 41", cell("x + 1", value="42"))

is a session in which `x = 41` must run well and `x + 1` must have the value 42, write nothing and
fail in no way. What a cell does not mention it may not show; a cell that is only text (the first
one above) must run well and is not looked at further. surfaces.py runs a case on each surface.
"""

import re
from dataclasses import dataclass

from .client import block


class Like:
    """A text that need not be known to the letter."""

    def __init__(self, check, description):
        self.check, self.description = check, description

    def __eq__(self, text):
        return isinstance(text, str) and self.check(text)

    def __ne__(self, text):
        return not self == text

    __hash__ = object.__hash__

    def __repr__(self):
        return f"<{self.description}>"


def has(*parts):
    return Like(lambda text: all(part in text for part in parts), f"has {parts}")


def lacks(*parts):
    return Like(lambda text: not any(part in text for part in parts), f"lacks {parts}")


def like(pattern):
    found = re.compile(block(pattern), re.S)
    return Like(lambda text: found.fullmatch(text) is not None, f"like {pattern}")


class LongText(Like):
    """For what is too long to be written down, or to be read in a failure."""

    def __init__(self, length, start, end):
        super().__init__(None, f"{length} characters, {start!r} ... {end!r}")
        self.length, self.start, self.end = length, start, end

    def is_start(self, text, lost):
        """True if all is there but for so much that the surface says it has not shown."""
        return len(text) + lost == self.length and text.startswith(self.start)

    def is_end(self, text, lost):
        return len(text) + lost == self.length and text.endswith(self.end)

    def __eq__(self, text):
        return self.is_start(text, 0) and self.is_end(text, 0)

    __hash__ = object.__hash__


def long_text(length, start="", end=""):
    return LongText(length, start, end)


class Anything(Like):
    def __eq__(self, value):
        return True

    __hash__ = object.__hash__


ANYTHING = Anything(None, "anything")


@dataclass(frozen=True)
class Cell:
    """One piece of code, how it is run, and what is seen of it."""

    code: str
    out: object = ""  # all of stdout
    err: object = ""  # all of stderr, without the traceback of `error`
    value: object = None  # the text of the last expression
    status: str = "ok"  # or error, interrupted, timeout, died
    error: object = None  # the error's name
    message: object = ANYTHING  # the error's message
    traceback: object = ANYTHING
    last_status: object = ANYTHING  # bash: the exit status of the last command
    exit_code: object = None  # of a cell that ended by an exit; with died: the interpreter's
    answers: tuple = ()  # (prompt, line) of each question; None as line is end of file
    interrupt_at: str = ""  # interrupt it once this is in its stdout
    timeout_ms: int = 0
    yield_ms: int = 0  # ask for an early answer first, then for the rest


@dataclass(frozen=True)
class Late:
    """What a cell wrote in all, once it and everything it left behind has written."""

    cell: int  # which one of the case, from 0
    out: object = ""
    err: object = ""


@dataclass(frozen=True)
class Gone:
    """The session has ended: another cell is refused, in words that say how it ended."""

    says: object


@dataclass(frozen=True)
class Case:
    name: str
    steps: tuple
    env: object = None  # of the session
    cwd: object = None


def cell(code, **expected):
    if "error" in expected:
        expected.setdefault("status", "error")
    return Cell(block(code), **expected)


def late(index, **expected):
    return Late(index, **expected)


def gone(*says):
    return Gone(has(*says))


@dataclass
class Back:
    """Its interpreter ended: the session went back, and the cell runs. One of the repl tool whose
    interpreter left has ended."""

    cell: object
    says: object


def back(text, says, **members):
    return Back(cell(text, **members), has(says))


def case(name, *steps, **options):
    """Text among the steps is a cell that must run well."""
    made = [Cell(block(s), out=ANYTHING, err=ANYTHING, value=ANYTHING) if isinstance(s, str) else s
            for s in steps]
    return Case(name, tuple(made), **options)
