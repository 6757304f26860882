"""Failures: what the user sees of them, and that the session goes on."""

from __future__ import annotations


import sys

import pytest
from peer import Peer


def test_a_traceback_has_the_users_lines_with_source(shared: Peer) -> None:
    answer = shared.run("def f(a):\n    return a / 0\n\nf(1)")
    assert answer.status == "error" and answer.value is None
    assert answer.error["name"] == "ZeroDivisionError"
    assert answer.error["message"] == "division by zero"
    assert answer.error["line"] == 2
    lines = answer.traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "line 4, in <module>" in lines[1] and lines[2].strip() == "f(1)"
    assert "return a / 0" in answer.traceback
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert ".py" not in answer.traceback  # nothing of the driver


def test_source_of_earlier_cells_is_shown(shared: Peer) -> None:
    shared.run("def earlier():\n    raise KeyError('k')  # here")
    answer = shared.run("earlier()")
    assert "raise KeyError('k')  # here" in answer.traceback
    assert answer.error["line"] == 1 and answer.error["message"] == "'k'"


def test_chained_exceptions_are_cleaned_too(shared: Peer) -> None:
    code = (
        "try:\n    print(1, file=5)\nexcept AttributeError as e:\n"
        "    raise ValueError('outer') from e"
    )
    traceback = shared.run(code).traceback
    assert "direct cause" in traceback and "AttributeError" in traceback
    assert "/drivers/python/" not in traceback
    code = "try:\n    1/0\nexcept ZeroDivisionError:\n    {}['x']"
    assert "During handling of the above" in shared.run(code).traceback
    code = "try:\n    1/0\nexcept ZeroDivisionError:\n    raise KeyError from None"
    assert "ZeroDivision" not in shared.run(code).traceback


def test_driver_frames_inside_are_removed(shared: Peer) -> None:
    traceback = shared.run("import sys\nsys.stdout.buffer.write('text')").traceback
    assert "/drivers/python/" not in traceback and "TypeError" in traceback


def test_endless_recursion_and_long_chains_are_bounded(shared: Peer) -> None:
    answer = shared.run("def f(): g()\ndef g(): f()\nf()")
    assert answer.error["name"] == "RecursionError"
    assert len(answer.traceback) < 10_000 and "left out" in answer.traceback
    code = (
        "e = None\nfor i in range(3000):\n    try:\n        raise ValueError(i) from e\n"
        "    except ValueError as error:\n        e = error\nraise e"
    )
    answer = shared.run(code)
    assert answer.error["message"] == "2999" and len(answer.traceback) < 20_000


def test_lines_that_repeat_themselves_are_counted(shared: Peer) -> None:
    answer = shared.run("import sys\ndef r(n): return r(n + 1)\nr(0)")
    lines = answer.traceback.splitlines()
    assert len([line for line in lines if 'line 2, in r' in line]) <= 4  # the last may be another
    (folded,) = [line for line in lines if "[Previous line repeated" in line]
    assert 900 < int(folded.split("repeated ")[1].split()[0]) < sys.getrecursionlimit()
    assert len(answer.traceback) < 1000
    code = "def s(n):\n    if n == 0: raise ValueError\n    return s(n - 1)\ns(4)"
    assert "  [Previous line repeated 1 more time]\n" in shared.run(code).traceback
    code = "def s(n):\n    if n == 0: raise ValueError\n    return s(n - 1)\ns(3)"
    assert "[Previous" not in shared.run(code).traceback


def test_a_gigantic_message_is_bounded(shared: Peer) -> None:
    answer = shared.run("raise ValueError('x' * 10**7)")
    assert len(answer.error["message"]) < 20_000 and len(answer.traceback) < 70_000


def test_exception_groups(shared: Peer) -> None:
    code = (
        "def bad(n):\n    try:\n        raise ValueError(n)\n"
        "    except ValueError as e:\n        return e\n"
        "raise ExceptionGroup('many', [bad(1), ExceptionGroup('inner', [bad(2)])])"
    )
    answer = shared.run(code)
    if answer.error["name"] == "NameError":
        pytest.skip("no exception groups in this Python")
    assert answer.error["name"] == "ExceptionGroup"
    assert "ValueError: 1" in answer.traceback and "ValueError: 2" in answer.traceback
    assert answer.traceback.count("raise ValueError(n)") == 2


@pytest.mark.parametrize(
    "code, line, column",
    [("1 +", 1, 4), ("x = 1\ny = = 2", 2, 5), ("def f(:\n  pass", 1, 7), ("print('a'\n", 1, 6)],
)
def test_syntax_errors_say_where(shared: Peer, code: str, line: int, column: int) -> None:
    answer = shared.run(code)
    assert answer.error["name"] == "SyntaxError"
    assert answer.error["line"] == line
    assert abs(answer.error["column"] - column) <= 5  # versions differ in the column they blame
    assert "Traceback" not in answer.traceback and "^" in answer.traceback


@pytest.mark.parametrize(
    "code",
    ["a = 'x\x00'", "'\ud800'", "(" * 500, "x = " + "-" * 200_000 + "1"],
    ids=["nul", "surrogate", "brackets", "depth"],
)
def test_what_cannot_be_compiled(fresh: Peer, code: str) -> None:
    assert fresh.run(code).status in ("error", "ok")
    assert fresh.value("1+1") == "2"


@pytest.mark.parametrize(
    "code", ["exit()", "quit()", "import sys; sys.exit()", "raise SystemExit(0)"]
)
def test_exit_ends_the_cell_only(shared: Peer, code: str) -> None:
    answer = shared.run(f"print('before')\n{code}\nprint('after')")
    assert (answer.status, answer.stdout, answer.error) == ("ok", "before\n", None)
    assert answer.exit_code == 0
    assert shared.run("1+1").exit_code is None
    assert shared.value("1+1") == "2"


def test_exit_with_a_code_is_an_error(shared: Peer) -> None:
    answer = shared.run("import sys\nsys.exit(3)")
    assert (answer.error["name"], answer.error["message"]) == ("SystemExit", "3")
    assert (answer.status, answer.exit_code) == ("error", 3)
    answer = shared.run("sys.exit('no such file')")
    assert (answer.status, answer.error["message"]) == ("error", "no such file")
    assert answer.exit_code == 1
    answer = shared.run("sys.exit(256)")
    assert (answer.status, answer.exit_code) == ("error", 1)
    assert shared.run("1/0").exit_code is None


@pytest.mark.parametrize(
    "code",
    [
        "raise BaseException('b')",
        "raise GeneratorExit",
        "class E(BaseException):\n    def __str__(self): raise ValueError\nraise E",
        (
            "class M(type):\n    __name__ = property(lambda s: 1/0)\n"
            "class E(Exception, metaclass=M): pass\nraise E"
        ),
        "raise MemoryError",
        "class E(Exception):\n    __cause__ = property(lambda s: 1/0)\nraise E('x')",
        "def f(): f()\nf()",
        "import asyncio\nraise asyncio.CancelledError",
    ],
)
def test_every_exception_is_caught(shared: Peer, code: str) -> None:
    answer = shared.run(code)
    assert answer.status == "error" and answer.error["name"]
    assert shared.value("1+1") == "2"


def test_suggestions(shared: Peer, python: str) -> None:
    answer = shared.run("number = 1\nnumbr")
    if shared.value("__import__('sys').version_info >= (3, 12)") == "True":
        assert "Did you mean: 'number'" in answer.traceback


def test_a_failed_cell_keeps_what_it_had_done(shared: Peer) -> None:
    answer = shared.run("kept = 1\nprint('out')\n1/0")
    assert answer.stdout == "out\n"
    assert shared.value("kept") == "1"


def test_warnings_show_the_users_line(shared: Peer) -> None:
    answer = shared.run("import warnings\nwarnings.warn('careful')")
    assert "UserWarning: careful" in answer.stderr and "warnings.warn('careful')" in answer.stderr
    assert shared.run("x = '\\d'").stderr.count("invalid escape") <= 1
