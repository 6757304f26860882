"""The table of magics: who answers to which name, and what all of them need to read their line."""

from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

_MAX_NEAR = 4
_MAX_SHOWN = 80  # characters of a name that nobody knows

_WORD = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\"'\\]|\\.)+|[\"'\\])", re.S)
_OPTION = re.compile(r"\s*-([A-Za-z]\S*)")
_VALUE = re.compile(r"\s*(\S+)")

Function = Callable[[Any, str, Optional[str]], Any]  # the shell, the line, the cell's body


class UsageError(Exception):
    """A magic that there is not, or that is not used so."""


UsageError.__module__ = "builtins"


class Magic:
    """`expands`: are `{expr}` and `$name` in its line replaced before it sees that?"""

    __slots__ = ("function", "expands", "text")

    def __init__(self, function: Function, expands: bool, text: str) -> None:
        self.function = function
        self.expands = expands
        self.text = text


LINE: Dict[str, Magic] = {}
CELL: Dict[str, Magic] = {}


def line_magic(*names: str, expands: bool = True) -> Callable[[Function], Function]:
    return _register(LINE, names, expands)


def cell_magic(*names: str, expands: bool = True) -> Callable[[Function], Function]:
    return _register(CELL, names, expands)


def _register(
    table: Dict[str, Magic], names: Tuple[str, ...], expands: bool
) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        for name in names:
            table[name] = Magic(function, expands, function.__doc__ or "")
        return function

    return register


def unknown(name: str, is_cell: bool, table: Dict[str, Magic], other: Dict[str, Magic]) -> str:
    """What to tell of a magic that there is not."""
    marks, other_marks = ("%%", "%") if is_cell else ("%", "%%")
    shown = name if len(name) <= _MAX_SHOWN else name[:_MAX_SHOWN] + "..."
    kind = "cell magic" if is_cell else "line magic"
    if name in other:
        return f"there is no {kind} {marks}{shown}, but there is {other_marks}{shown}"
    text = f"there is no {kind} {marks}{shown}"
    near = _near(name[:_MAX_SHOWN], table)
    if near:
        text += "; did you mean " + " or ".join(marks + one for one in near) + "?"
    return text + ("" if near else ";") + " %lsmagic lists them all"


def _near(name: str, table: Dict[str, Magic]) -> List[str]:
    try:
        found = difflib.get_close_matches(name.lower(), list(table), _MAX_NEAR)
    except Exception:  # what the user did to the builtins is in the way
        found = []
    begun = [one for one in table if len(name) > 1 and one.startswith(name) and one not in found]
    return (found + begun)[:_MAX_NEAR]


# Reading a line


def options(line: str, known: str) -> Tuple[Dict[str, str], str]:
    """Options as getopt() knows them, up to the first word that is none; and the rest as it is."""
    found: Dict[str, str] = {}
    while True:
        match = _OPTION.match(line)
        if match is None:
            rest = line.strip()
            return found, rest[2:].lstrip() if rest.startswith("-- ") else rest
        line = line[match.end() :]
        letters = match.group(1)
        for number, letter in enumerate(letters, 1):
            at = known.find(letter)
            if at < 0 or letter == ":":
                raise UsageError(f"there is no option -{letter} here")
            if known[at + 1 : at + 2] != ":":
                found[letter] = ""
                continue
            value = letters[number:]
            if not value:
                following = _VALUE.match(line)
                if following is None:
                    raise UsageError(f"the option -{letter} wants a value")
                value = following.group(1)
                line = line[following.end() :]
            found[letter] = value
            break


def count_of(found: Dict[str, str], letter: str, default: int) -> int:
    text = found.get(letter)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"the option -{letter} wants a number, not {text!r}") from None


def words(line: str) -> List[str]:
    """As a shell splits them, quotes taken off."""
    found: List[str] = []
    at = 0
    while True:
        match = _WORD.match(line, at)
        if match is None:
            return found
        word = unquoted(match.group(1))
        if found and match.start(1) == at and at > 0 and not line[at - 1].isspace():
            found[-1] += word
        else:
            found.append(word)
        at = match.end()


def unquoted(word: str) -> str:
    if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0]:
        return word[1:-1]
    return word
