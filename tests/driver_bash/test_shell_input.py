"""read, mapfile and select ask the caller of the cell."""

from __future__ import annotations

import time
from typing import Any, List

import pytest
from peer import Answer
from shell import Shell


def ask(shell: Shell, code: str, *lines: Any) -> "tuple[List[Any], Answer]":
    """Runs a cell and answers its questions; None is the end of the input."""
    running = shell.begin(code)
    questions = []
    for line in lines:
        frame = shell.receive()
        assert frame["ev"] == "input" and frame["id"] == running.cell_id, frame
        questions.append((frame["prompt"], frame["password"]))
        answer = {"eof": True} if line is None else {"text": line}
        shell.send({"op": "input", "id": running.cell_id, **answer})
    return questions, running.finish()


@pytest.mark.parametrize(
    "code, lines, out, questions",
    [
        ("read x; echo \"<$x>\"", ["Ada"], "<Ada>\n", [("", False)]),
        ("read -p 'Name? ' x; echo $x", ["Ada L"], "Ada L\n", [("Name? ", False)]),
        ("read -rsp 'Password: ' x; echo ${#x}", ["s3cret"], "6\n", [("Password: ", True)]),
        ("read -s -p'P: ' x; echo $x", ["a b"], "a b\n", [("P: ", True)]),
        ("read a b; echo $b-$a", ["1 2 3"], "2 3-1\n", [("", False)]),
        ("read; echo $REPLY", [" kept "], "kept\n", [("", False)]),
        ("read -a v; echo ${#v[@]}", ["a b c"], "3\n", [("", False)]),
        ("read x; echo $x$?", [""], "0\n", [("", False)]),
        ("read x; echo $?", [None], "1\n", [("", False)]),
        ("read x; read y; echo $x$y", ["1", "2"], "12\n", [("", False)] * 2),
        ("read x; echo $x", ["a\\", "b"], "ab\n", [("", False)] * 2),
        ("read -r x; echo $x", ["a\\"], "a\\\n", [("", False)]),
        ("read -n 2 x; read y; echo $x.$y", ["abcd"], "ab.cd\n", [("", False)]),
        ("read -N 5 x; echo \"$x\"", ["abc", "d"], "abc\nd\n", [("", False)] * 2),
        ("read -d ';' x; echo $x", ["a", "b;c"], "a b\n", [("", False)] * 2),
        ("mapfile -t m; echo ${m[*]}", ["a", "b", None], "a b\n", [("", False)] * 3),
        ("readarray -n 2 m; echo ${#m[@]}", ["a", "b"], "2\n", [("", False)] * 2),
        ("while read l; do echo \"[$l]\"; done", ["a", "b", None], "[a]\n[b]\n", [("", False)] * 3),
        ("f() { local v; read -p '? ' v; echo $v; }; x=$(f); echo got $x", ["q"], "got q\n",
         [("? ", False)]),
        ("(read x; echo sub $x); echo on", ["q"], "sub q\non\n", [("", False)]),
        ("read x | cat; echo on", ["q"], "on\n", [("", False)]),
        ("read -u 0 x; echo $x", ["u"], "u\n", [("", False)]),
        ("exec 7<&0; read -u 7 x; echo $x", ["u"], "u\n", [("", False)]),
        ("read -p 'a\"\\é ' x; echo $x", ["grüße \U0001f600"], "grüße \U0001f600\n",
         [('a"\\é ', False)]),
        ("IFS=: read a b; echo $b", ["x:y"], "y\n", [("", False)]),
        ("read -t 20 x; echo $x", ["in time"], "in time\n", [("", False)]),
        ("TMOUT=20; read x; echo $x", ["in time"], "in time\n", [("", False)]),
        ("builtin read x; echo $x; command read y; echo $y", ["1", "2"], "1\n2\n",
         [("", False)] * 2),
    ],
)  # fmt: skip
def test_builtins_ask(shell: Shell, code: str, lines: Any, out: str, questions: Any) -> None:
    asked, answer = ask(shell, code, *lines)
    assert (answer.status, answer.stdout, answer.stderr) == ("ok", out, ""), answer
    assert asked == questions
    assert shell.out("echo next") == "next\n"


def test_select(shell: Shell) -> None:
    code = "PS3='which? '; select x in red blue; do echo $x; [ $x = blue ] && break; done"
    asked, answer = ask(shell, code, "1", "2")
    assert asked == [("which? ", False)] * 2
    assert answer.stdout == "red\nblue\n"
    assert answer.stderr.startswith("1) red\n2) blue\nwhich? ")
    asked, answer = ask(shell, "unset PS3; select x in a; do :; done; echo end", None)
    assert asked == [("#? ", False)] and answer.stdout.endswith("end\n")


@pytest.mark.parametrize(
    "code, out",
    [
        ("read x </dev/null; echo $?", "1\n"),
        ("echo typed | { read x; echo $x; }", "typed\n"),
        ("read x <<<here; echo $x", "here\n"),
        ("mapfile -t m < <(echo a; echo b); echo ${m[*]}", "a b\n"),
        ("printf 'a\\nb\\n' >f; while read l; do echo $l; done <f", "a\nb\n"),
        ("{ read x; echo $?; } & wait", "1\n"),
        ("(read x; echo $?) & wait", "1\n"),
        ("((read x; echo $?)) & wait", ""),
        ("exec 0</dev/null; read x; echo $?", "1\n"),
        ("exec 0<&-; read x 2>/dev/null; echo $?", "1\n"),
        ("cat; head -1; sh -c 'read x; echo $?'", "1\n"),
        ("read -t 0; echo $?", "1\n"),
        ("set -m; { read x; echo $?; } & wait; set +m", "1\n"),
        ("select x in a b; do :; done </dev/null 2>/dev/null; echo $?", "\n1\n"),
    ],
)
def test_what_does_not_ask(shell: Shell, code: str, out: str) -> None:
    answer = shell.run(code)
    assert answer.status == "ok" and answer.stdout == out, answer


def test_output_comes_before_the_question(shell: Shell) -> None:
    running = shell.begin("printf before; printf err >&2; read x; echo $x")
    assert shell.receive()["ev"] == "input"
    assert running.rest() == ["before", "err"]
    shell.send({"op": "input", "id": running.cell_id, "text": "t"})
    assert running.finish().stdout == "beforet\n"


def test_a_timeout(shell: Shell) -> None:
    began = time.monotonic()
    running = shell.begin("x=old; read -t 0.1 x; echo $? \"<$x>\"; read y; echo $y")
    assert shell.receive()["ev"] == "input"
    assert shell.receive()["ev"] == "input"  # of the second read
    assert 0.1 <= time.monotonic() - began
    shell.send({"op": "input", "id": running.cell_id, "text": "late"})
    assert running.finish().stdout == "142 <>\nlate\n"


def test_an_interrupt_while_it_waits(shell: Shell) -> None:
    for code in ("read x", "x=$(read y)", "(read x)", "mapfile m", "select x in a; do :; done"):
        running = shell.begin(f"kept=1; {code}; echo no")
        assert shell.receive()["ev"] == "input"
        shell.interrupt()
        answer = running.finish()
        assert (answer.status, answer.stdout) == ("interrupted", ""), answer
        shell.send({"op": "input", "id": running.cell_id, "text": "too late"})
        assert shell.out("echo $kept") == "1\n"
    asked, answer = ask(shell, "read x; echo $x", "new")
    assert answer.stdout == "new\n"


def test_an_answer_that_is_not_read_is_forgotten(shell: Shell) -> None:
    ask(shell, "read -n 1 x", "abc")
    asked, answer = ask(shell, "read x; echo $x", "new")
    assert (len(asked), answer.stdout) == (1, "new\n")


def test_a_long_answer(shell: Shell) -> None:
    asked, answer = ask(shell, "read x; echo ${#x}", "x" * 200_000)
    assert answer.stdout == "200000\n"


def test_functions_and_errors_around_it(shell: Shell) -> None:
    asked, answer = ask(shell, "read() { builtin read \"$@\"; }; read -p q: x; echo $x", "v")
    assert asked == [("q:", False)] and answer.stdout == "v\n"
    answer = shell.run("unset -f read; read -Z x; read -t nonsense x; read 1x </dev/null; echo on")
    assert answer.stdout == "on\n"
    asked, answer = ask(shell, "set -e; read x; echo no", None)
    assert (answer.status, answer.error["name"]) == ("error", "ErrExit")
