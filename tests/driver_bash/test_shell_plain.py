"""A shell that cannot load the builtin: what it still does, and what it does in another way."""

from __future__ import annotations

import signal

import pytest
from copies import ask_for_checkpoint
from shell import Shell
from state_streams import State, load, save
from test_shell_state import STATE


def test_it_is_not_the_builtin(plain: Shell) -> None:
    assert "i" in plain.out("echo $-")
    assert plain.out("declare -F | grep -c __cella") == "3\n"


LOST = ("$_", "PIPESTATUS")


@pytest.mark.parametrize(
    "before, after, out", [row for row in STATE if not any(name in row[1] for name in LOST)]
)
def test_state_survives(plain: Shell, before: str, after: str, out: str) -> None:
    assert plain.run(before).status == "ok"
    assert plain.out(after) == out


@pytest.mark.parametrize(
    "code, status",
    [
        ("true", 0),
        ("(exit 7)", 7),
        ("set -o pipefail; (exit 3) | true", 3),
        ("no_such_command", 127),
        ("sh -c 'kill -9 $$'", 137),
        ("(exit 2)", 2),
    ],
)
def test_the_status_of_the_last_command(plain: Shell, code: str, status: int) -> None:
    answer = plain.run(code)
    assert (answer.status, answer.last_status) == ("ok", status), answer
    assert plain.out("echo $?") == f"{status}\n"


def test_a_syntax_error(plain: Shell) -> None:
    answer = plain.run("echo a\nif")
    assert (answer.status, answer.last_status, answer.stdout) == ("error", 2, "a\n")
    assert answer.error["name"] == "SyntaxError" and "syntax error" in answer.stderr


def test_streams(plain: Shell) -> None:
    answer = plain.run("echo out; echo err >&2; printf 'no newline'; exec 1>&-")
    assert (answer.stdout, answer.stderr) == ("out\nno newline", "err\n")
    assert plain.out("cat <<'EOF'\n__cella_end\nEOF") == "__cella_end\n"
    assert len(plain.out("head -c 3000000 /dev/zero | tr '\\0' x")) == 3_000_000
    plain.run("mkfifo go; (read x <go; echo late) &")
    assert plain.out("echo >go; wait 2>/dev/null; echo now") == "now\n"
    assert plain.read_late(4, "late\n") == "late\n"


def test_nobody_is_asked(plain: Shell) -> None:
    assert plain.out("read x; echo $?; cat") == "1\n"


@pytest.mark.parametrize(
    "code",
    [
        "echo on; while :; do :; done",
        "echo on; sleep 100",
        "sleep 100 & echo on; wait",
        "echo on; (while :; do :; done)",
        "echo on; sleep 100 | cat",
    ],
)
def test_a_cell_is_interrupted(plain: Shell, code: str) -> None:
    plain.run("kept=1")
    running = plain.begin(code)
    running.wait_for_output("on")
    plain.wait_until_under_way()
    plain.interrupt_as_often_as_the_daemon()
    answer = running.finish()
    assert (answer.status, answer.last_status) == ("interrupted", 130), answer
    assert plain.out("echo $kept") == "1\n"


def test_an_interrupt_outside_a_cell_is_ignored(plain: Shell) -> None:
    for _ in range(200):  # the shell may hear of it after the relay
        plain.interrupt()
        plain.settle()
        assert plain.run("echo on").stdout == "on\n"


@pytest.mark.parametrize(
    "code, status, out",
    [
        ("exit 7", 7, ""),
        ("echo a; exit; echo no", 0, "a\n"),
        ("(exit 5); exit", 5, ""),
        ("trap 'echo bye $?' EXIT; exit 3", 3, "bye 3\n"),
        ("trap 'exit 5' EXIT; exit 3", 5, ""),
        ("f() { exit 6; }; f; echo no", 6, ""),
        ("echo 'exit 4' >s; . ./s; echo no", 4, ""),
        ("set -e; exit 8", 8, ""),
        ("set -e; trap 'echo bye' EXIT; exit 0", 0, "bye\n"),
    ],
)
def test_exit_ends_the_cell_only(plain: Shell, code: str, status: int, out: str) -> None:
    plain.run("kept=1")
    answer = plain.run(code)
    assert (answer.exit_code, answer.last_status, answer.stdout) == (status, status, out)
    assert answer.stderr in ("", "exit\n")
    assert answer.status == ("error" if status else "ok")
    assert (answer.error or {}).get("name") == ("SystemExit" if status else None)
    assert plain.out("set +e; echo $kept; trap -p EXIT") == "1\n"
    assert plain.run("(exit 1); f() { exit 2; }; f | cat; x=$(exit 3); echo $?").stdout == "3\n"


@pytest.mark.parametrize(
    "code, status, out",
    [
        ("exit 7", 7, ""),
        ("trap 'echo bye' EXIT; exit 3", 3, "bye\n"),
        ("exec sh -c 'echo new; exit 9'", 9, "new\n"),
        ("kill -9 $$", -signal.SIGKILL, ""),
        ("set -e; false; echo no", 1, ""),
    ],
)
def test_what_ends_the_session(plain: Shell, code: str, status: int, out: str) -> None:
    assert plain.ending(code)[:2] == (status, out)


def test_setup_and_names(plain: Shell) -> None:
    folder = plain.out("pwd").strip()
    env = {"A": "it's \"1\" $x\n2"}
    assert plain.ask({"op": "setup", "cwd": f"{folder}/x y/z", "env": env}) == {"ev": "set"}
    assert plain.out('pwd; sh -c \'echo "$A"\'') == f"{folder}/x y/z\nit's \"1\" $x\n2\n"
    assert plain.ask({"op": "names", "max": 5}) == {"ev": "names", "names": {"total": 0}}


def test_the_session_ends_with_the_daemon(plain: Shell) -> None:
    plain.close()
    assert plain.process.returncode == 0


def test_it_is_not_copied(plain: Shell) -> None:
    ask_for_checkpoint(plain, 3).close()
    answer = plain.receive()
    assert (answer["ev"], answer["id"], answer["forked"]) == ("checkpoint", 3, False)
    assert "cannot load the builtin" in answer["reason"]
    assert plain.out("echo on") == "on\n"


def test_its_state_is_not_saved(plain: Shell) -> None:
    last = save(plain).last
    assert last["rec"] == "failed" and "cannot load the builtin" in last["message"]
    answer = load(plain, State([]))
    assert answer["restored"] == 0 and "cannot load the builtin" in answer["message"]
    assert plain.out("echo on") == "on\n"
