"""How cells end: statuses, errors, and what ends the session."""

from __future__ import annotations

import os
import signal

import pytest
from shell import Shell


@pytest.mark.parametrize(
    "code, status",
    [
        ("true", 0),
        ("false", 1),
        ("(exit 7)", 7),
        ("true | (exit 3)", 3),
        ("(exit 3) | true", 0),
        ("set -o pipefail; (exit 3) | true", 3),
        ("! true", 1),
        ("f() { return 4; }; f", 4),
        ("no_such_command", 127),
        ("/dev/null", 126),
        ("sh -c 'kill -9 $$'", 137),
        ("[[ a == b ]]", 1),
        ("return 5", 2),
        ("break", 0),
        ("x=1", 0),
        ("", 0),
        ("# nothing", 0),
        ("false; exec 5</dev/null", 0),
        ("readonly r=1; r=2", 1),
    ],
)
def test_the_status_of_the_last_command(shell: Shell, code: str, status: int) -> None:
    answer = shell.run(code)
    assert (answer.status, answer.error, answer.last_status) == ("ok", None, status), answer
    assert shell.out("echo $?") == f"{status}\n"


@pytest.mark.parametrize(
    "code, line, message, out",
    [
        ("if", 2, "syntax error: unexpected end of file", ""),
        ("echo a\n)\necho no", 2, "syntax error near unexpected token `)'", "a\n"),
        ("echo 'open", 1, "unexpected EOF while looking for matching `''", ""),
        ("echo $(", 2, "unexpected EOF while looking for matching `)'", ""),
        ("echo a\n\necho ${x", 3, "unexpected EOF while looking for matching `}'", "a\n"),
        ("echo a; fi", 1, "syntax error near unexpected token `fi'", ""),
    ],
)
def test_syntax_errors(shell: Shell, code: str, line: int, message: str, out: str) -> None:
    answer = shell.run(code)
    assert (answer.status, answer.last_status, answer.stdout) == ("error", 2, out), answer
    error = answer.error
    assert (error["name"], error["message"]) == ("SyntaxError", message)
    assert error["line"] == line
    assert f"bash: line {error['line']}: {message}\n" in answer.stderr
    assert shell.out("echo $?") == "2\n"


def test_an_error_in_eval_is_not_one_of_the_cell(shell: Shell) -> None:
    answer = shell.run("eval 'if'; echo $?\necho ${x@Q} after")
    assert answer.status == "ok" and answer.stdout.endswith("after\n"), answer


@pytest.mark.parametrize(
    "code, out",
    [
        ("echo a; false; echo no", "a\n"),
        ("f() { false; echo no; }\necho a\nf\necho no", "a\n"),
        ("eval 'false; echo no'; echo no", ""),
        ("echo false >s; . ./s; echo no", ""),
        ("for i in 1 2; do echo $i; (exit 3); done", "1\n"),
        ("x=$(false); echo no", ""),
        ("false || echo or; if false; then :; fi; ! true; false; echo no", "or\n"),
    ],
)
def test_errexit_ends_the_cell_only(shell: Shell, code: str, out: str) -> None:
    shell.run("set -e; trap 'echo leaving' EXIT")
    answer = shell.run(code)
    assert (answer.status, answer.stdout) == ("error", out + "leaving\n"), answer
    assert answer.exit_code == answer.last_status
    assert answer.error["name"] == "ErrExit"
    assert f"status {answer.last_status}" in answer.error["message"]
    assert shell.run("case $- in *e*) echo still on;; esac").stdout == "still on\n"


def test_errexit_tells_the_line(shell: Shell) -> None:
    assert shell.run("set -e\n\n\nfalse\necho").error["line"] == 4


def test_an_unbound_variable_ends_the_cell_only(shell: Shell) -> None:
    answer = shell.run("set -u\necho a\necho $nope; echo no\necho no")
    assert (answer.status, answer.stdout) == ("error", "a\n"), answer
    assert answer.error == {
        "name": "ShellError", "message": "nope: unbound variable", "line": 3
    }  # fmt: skip
    assert answer.stderr == "bash: line 3: nope: unbound variable\n"
    assert shell.out("echo $-").count("u") == 1


def test_a_demanded_variable_ends_the_cell_only(shell: Shell) -> None:
    answer = shell.run("f() { : ${x:?is wanted}; }; echo a; f; echo no")
    assert (answer.status, answer.stdout) == ("error", "a\n"), answer
    assert answer.error["message"] == "x: is wanted"
    assert answer.stderr == "bash: line 1: x: is wanted\n"
    assert shell.out("echo ${FUNCNAME[*]} $#") == "0\n"


def test_errors_with_errexit_end_the_cell_only(shell: Shell) -> None:
    shell.run("set -eu; readonly r=1")
    for code in ("echo $nope", "r=2", "echo $((1/0))", "echo ${x!y}", "eval 'echo $nope'"):
        shell.run("trap 'echo leaving' EXIT")
        answer = shell.run(code)
        assert (answer.status, answer.stdout) == ("error", "leaving\n"), answer
        assert answer.error["message"] in answer.stderr
        assert answer.exit_code == answer.last_status != 0
    shell.run("trap 'echo leaving' EXIT")
    answer = shell.run("if")
    assert (answer.error["name"], answer.stdout, answer.exit_code) == ("SyntaxError", "", None)
    assert shell.run("echo ${-//[!eu]}; trap - EXIT").stdout == "eu\n"


def test_posix_errors_end_the_cell_only(shell: Shell) -> None:
    shell.run("readonly r=1; set -o posix")
    wrong = ("r=2", "export r=2", ". /no/such/file", "set -o nonsense", "for r in 1; do :; done")
    for code in wrong:
        answer = shell.run(f"{code}\necho after")
        assert answer.status in ("ok", "error"), answer
    shell.run("POSIXLY_CORRECT=1")
    assert shell.run("unset -f nothing; echo on").stdout == "on\n"


EXITS = [
        ("exit 7", 7, ""),
        ("echo a; exit; echo no", 0, "a\n"),
        ("false; exit", 1, ""),
        ("trap 'echo bye' EXIT; exit 3", 3, "bye\n"),
        ("trap 'echo bye; exit 5' EXIT; exit 3", 5, "bye\n"),
        ("echo 'echo in; exit 4' >s; . ./s; echo no", 4, "in\n"),
        ("f() { exit 6; }; f; echo no", 6, ""),
        ("eval 'exit 8'", 8, ""),
        ("exec sh -c 'echo new; exit 9'", 9, "new\n"),
        ("exec /bin/true", 0, ""),
        ("f() { exec sh -c 'exit 3' >out; }; f; echo no", 3, ""),
        ("set -e; trap 'exit 2' ERR; false", 2, ""),
        ("printf 'no newline'; exit 1", 1, "no newline"),
        ("exit 256", 0, ""),
        ("exit -1", 255, ""),
        ("trap 'false' EXIT; exit 4", 4, ""),
]


@pytest.mark.parametrize("code, status, out", EXITS)
def test_exit_ends_the_cell_only(shell: Shell, code: str, status: int, out: str) -> None:
    shell.run("kept=1; cd /tmp; trap - ERR; mine() { echo mine; }")
    shell.run("cd - >&-")
    answer = shell.run(code)
    assert (answer.exit_code, answer.last_status, answer.stdout) == (status, status, out)
    if status == 0:
        assert (answer.status, answer.error) == ("ok", None)
    else:
        assert (answer.status, answer.error["name"]) == ("error", "SystemExit")
        assert answer.error["message"] == str(status)
    assert shell.out("echo $kept $?; mine; trap -p EXIT; jobs; declare -F") == (
        f"1 {status}\nmine\ndeclare -f{' f' if 'f()' in code else ''} mine\n".replace(
            "-f f mine", "-f f\ndeclare -f mine"))
    assert shell.run("exit 11").exit_code == 11


@pytest.mark.parametrize("code, status, out", [
    *EXITS, ("kill -9 $$; echo no", -9, ""), ("kill -SEGV $$; echo no", -11, "")])
def test_what_ends_the_session(shell: Shell, code: str, status: int, out: str) -> None:
    """Where an exit is to do that."""
    assert shell.ending(code)[:2] == (status, out)


def test_a_trap_on_exit_runs_once(shell: Shell) -> None:
    answer = shell.run("trap 'echo bye $?' EXIT; exit 3")
    assert (answer.stdout, answer.exit_code) == ("bye 3\n", 3)
    assert shell.run("exit 4").stdout == ""
    answer = shell.run("trap 'echo again; f() { exit 9; }; f | cat; (exit 8)' EXIT; exit 5")
    assert (answer.stdout, answer.exit_code) == ("again\n", 5)
    answer = shell.run("trap 'echo sets a new one; trap \"echo no\" EXIT' EXIT; exit")
    assert (answer.status, answer.stdout, answer.exit_code) == ("ok", "sets a new one\n", 0)
    assert shell.out("trap -p EXIT; echo on") == "on\n"


def test_errexit_runs_the_trap_on_exit(shell: Shell) -> None:
    answer = shell.run("set -e; trap 'echo tidy' EXIT; echo a; false; echo no")
    assert (answer.stdout, answer.exit_code, answer.error["name"]) == ("a\ntidy\n", 1, "ErrExit")
    assert shell.run("set +e; false; echo on").stdout == "on\n"


def test_a_trap_on_exit_is_interrupted(shell: Shell) -> None:
    running = shell.begin("trap 'echo on; sleep 100; echo no' EXIT; exit 3")
    running.wait_for_output("on")
    shell.interrupt()
    answer = running.finish()
    assert (answer.status, answer.stdout) == ("interrupted", "on\n")
    assert shell.out("echo back") == "back\n"


def test_a_cell_without_an_exit_has_no_exit_code(shell: Shell) -> None:
    for code in ("echo a", "false", "(exit 3)", "if"):
        assert shell.run(code).exit_code is None


def test_exec_of_a_program_ends_the_cell(shell: Shell) -> None:
    shell.run("printf 'echo script $1\n' >s; chmod +x s; echo data >d; level=$SHLVL; x=1")
    answer = shell.run("trap 'echo no' EXIT; exec ./s one; echo no")
    assert (answer.status, answer.stdout, answer.exit_code) == ("ok", "script one\n", 0)
    assert shell.run("exec cat <d").stdout == "data\n"
    assert shell.run("exec sh -c 'kill -9 $$'").exit_code == 137
    assert shell.out("echo $x $((SHLVL - level)); (exit 4) & wait $!; echo $?") == "1 0\n4\n"
    assert shell.run("read line; echo \"<$line>\"", answers=["asked"]).stdout == "<asked>\n"
    assert "not found" in shell.run("exec no_such_program; echo on").stderr


def test_exec_of_a_program_is_interrupted(shell: Shell) -> None:
    running = shell.begin("exec sh -c 'echo on; exec sleep 100'")
    running.wait_for_output("on")
    shell.interrupt()
    assert running.finish().status == "interrupted"
    assert shell.out("echo back") == "back\n"


def test_exit_in_a_subshell_does_not(shell: Shell) -> None:
    code = "(exit 1); f() { exit 2; }; f | cat; x=$(exit 3); echo $?; exit 4 & wait $!; echo $?"
    assert shell.out(code) == "3\n4\n"
    code = "{ exit 5; } | cat; cat <(exit 6); coproc { exit 7; }; wait; echo on"
    assert shell.out(code) == "on\n"


def test_stopped_means_silent_until_continued(shell: Shell) -> None:
    running = shell.begin("kill -STOP $$; echo on")
    with pytest.raises(TimeoutError):
        running.finish(0.2)
    os.kill(shell.pid, signal.SIGCONT)
    assert running.finish().stdout == "on\n"


def test_lines_are_counted_in_each_cell(shell: Shell) -> None:
    assert shell.out("echo $LINENO\n\necho $LINENO") == "1\n3\n"
    assert shell.run("\nno_such").stderr == "bash: line 2: no_such: command not found\n"
    shell.run("f() {\n  no_such\n}")
    assert "line" in shell.run("\n\nf").stderr


def test_many_lines(shell: Shell) -> None:
    code = (
        'for i in 1 2; do\n  if [ $i = 2 ]; then\n    echo "two\nlines"\n  fi\ndone\n'
        "case x in\nx) echo x;;\nesac"
    )
    assert shell.out(code) == "two\nlines\nx\n"
    assert shell.out("echo a \\\n  b") == "a b\n"
    assert shell.out("alias q='echo quick'\nq one") == "quick one\n"


@pytest.mark.parametrize("word", ["EOF", "cella", "done", "exit", "}", "ready", "null", "\u00e9"])
def test_here_documents(shell: Shell, word: str) -> None:
    body = 'done {"ev":"done","id":1}\n $(echo sub) \x01\n'
    code = f"x=1\ncat <<'{word}'\n{body}{word}\necho after"
    assert shell.out(code) == f"{body}after\n"


def test_a_here_document_without_an_end(shell: Shell) -> None:
    answer = shell.run("cat <<X\nhello $((1+1))\nworld")
    assert (answer.status, answer.stdout) == ("ok", "hello 2\nworld\n")
    assert "here-document at line 1 delimited by end-of-file" in answer.stderr


def _waits(pid: int) -> int:
    """How often it went to sleep of its own will."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary"))


def test_a_silent_cell_answers_at_once(shell: Shell) -> None:
    """It waits for the next cell, and for nothing else."""
    before = _waits(shell.pid)
    for _ in range(200):
        assert shell.run(":").last_status == 0
    assert _waits(shell.pid) - before <= 210


def test_a_large_cell(shell: Shell) -> None:
    text = "x" * 1_000_000
    assert shell.out(f"v='{text}'\necho ${{#v}}") == "1000000\n"
    many = "\n".join(f"v{n}={n}" for n in range(20000))
    assert shell.out(many + "\necho $v19999") == "19999\n"


def test_noexec_ends_with_its_cell(shell: Shell) -> None:
    assert shell.out("set -n; echo no\necho no") == ""
    assert shell.out("echo on") == "on\n"


def test_xtrace_shows_the_users_commands_only(shell: Shell) -> None:
    shell.run("set -x")
    answer = shell.run("echo a\nx=1")
    assert (answer.stdout, answer.stderr) == ("a\n", "+ echo a\n+ x=1\n")
    assert shell.run("set +x").stderr == "+ set +x\n"


def test_verbose_shows_the_cell(shell: Shell) -> None:
    shell.run("set -v")
    assert shell.run("echo a\necho b").stderr == "echo a\necho b\n"


@pytest.mark.parametrize("signal_name", ["DEBUG", "ERR", "RETURN", "EXIT", "INT", "CHLD", "USR1"])
def test_traps_do_not_meet_the_driver(shell: Shell, signal_name: str) -> None:
    shell.run(f"trap 'false; echo [{signal_name}] >>log; return 3 2>/dev/null' {signal_name}")
    assert shell.run("echo a; (exit 1); f() { :; }; f; sleep 0 & wait").stdout == "a\n"
    assert shell.run("echo b").stdout == "b\n"
    assert shell.out(f"trap - {signal_name}; echo c").endswith("c\n")
    assert shell.out("echo d") == "d\n"


def test_a_debug_trap_that_skips_commands(shell: Shell) -> None:
    shell.run("shopt -s extdebug; trap 'false' DEBUG")
    assert shell.run("echo no").stdout == ""
    assert shell.run("echo no").status == "ok"
