"""The command line tool with Python, Node.js and bash: languages, input, waiting, names, plan."""

import json
import re
import signal
import subprocess

import pytest

from harness import host
from harness.shell import Shell
from test_cli import Terminal

TWO = {"python": "1 + 1", "node": "1 + 1", "bash": "echo $((1 + 1))"}


@pytest.fixture
def shell(daemon):
    return Shell(daemon.binary, daemon.user, daemon.data)


@pytest.fixture
def new(shell):
    """Makes a session that stays until the end of the test: new("bash") is its id."""
    made = []

    def make(runtime="python", *options, code=""):
        words = ["--profile", "min"] if runtime == "python" else []
        done = shell("exec", "--json", "--new", "--runtime", runtime, *words, *options, code,
                     check=0)
        made.append(json.loads(done.stdout)["session_id"])
        return made[-1]

    yield make
    for session_id in made:
        shell("kill", session_id)


# languages


@pytest.mark.smoke
@pytest.mark.parametrize("runtime", TWO)
def test_exec_runs_each_language(shell, runtime):
    assert shell("exec", "--runtime", runtime, TWO[runtime], check=0).stdout == "2\n"
    assert shell("exec", "-r", runtime, stdin=TWO[runtime], check=0).stdout == "2\n"


@pytest.mark.one_mode
@pytest.mark.parametrize("name, code", [
    ("code.py", "print(sum([1, 2, 3]))"),
    ("code.js", "console.log([1, 2, 3].reduce((a, b) => a + b))"),
    ("code.mjs", "console.log(await Promise.resolve(6))"),
    ("code.sh", "for i in 1 2 3; do ((sum += i)); done; echo $sum"),
])
@pytest.mark.sampled(2)
def test_the_name_of_a_file_tells_its_language(shell, launcher, name, code):
    path = launcher.directory / name
    path.write_text(code)
    path.chmod(0o644)
    assert shell("exec", str(path), check=0).stdout == "6\n"
    assert shell("exec", "-f", str(path), check=0).stdout == "6\n"


@pytest.mark.smoke
def test_a_file_of_another_language_than_the_session_is_a_mistake(shell, launcher, new):
    path = launcher.directory / "other.js"
    path.write_text("1")
    path.chmod(0o644)
    done = shell("exec", "--session", new("bash"), str(path), check=64)
    assert "node" in done.stderr and "bash" in done.stderr


@pytest.mark.parametrize("runtime, code, status", [
    ("bash", "true", 0),
    ("bash", "false", 1),
    ("bash", "(exit 42)", 42),
    ("bash", "exit 7", 7),
    ("bash", "exit 0", 0),
    ("bash", "no-such-command", 127),
    ("bash", "if then", 2),
    ("node", "1", 0),
    ("node", "throw new Error('no')", 1),
    ("node", "process.exit(9)", 9),
    ("node", "process.exit(0)", 0),
    ("python", "raise ValueError", 1),
    ("python", "import os; os._exit(4)", 4),
])
@pytest.mark.sampled(3)
def test_exit_statuses_are_those_of_the_language(shell, runtime, code, status):
    shell("exec", "--runtime", runtime, code, check=status)


def test_an_error_is_shown_as_its_language_shows_it(shell):
    done = shell("exec", "-r", "node", "function half(x) { return x.y.z }\nhalf({})", check=1)
    assert re.search(r"TypeError: .*undefined", done.stderr) and "half" in done.stderr
    done = shell("exec", "-r", "bash", "echo out; nothing-like-this", check=127)
    assert done.stdout == "out\n" and "nothing-like-this: command not found" in done.stderr


def test_what_the_sandbox_denied_is_told(shell):
    done = shell("exec", "-r", "bash", "unshare -n true", check=1)
    assert "cella: the sandbox denied: unshare\n" in done.stderr
    assert shell("exec", "-r", "bash", "unshare -n true; true", check=0).stderr.count("denied") == 0


def test_directory_and_environment(shell):
    shell.env["CELLA_TEST_HERE"] = "from here"
    done = shell("exec", "-r", "bash", "--cwd", "deep/er", "--env", "A=1", "--env", "B=x=y z",
                 "--env", "CELLA_TEST_HERE", 'pwd; echo "$A|$B|$CELLA_TEST_HERE"', check=0)
    assert done.stdout == "/workspace/deep/er\n1|x=y z|from here\n"
    assert shell("exec", "--cwd", "/etc", "1").returncode == 64


def test_sessions_that_join_share_their_files(shell, new):
    python = new(code="open('note', 'w').write('hello')")
    done = shell("exec", "-r", "bash", "--join", python[:8], "cat note", check=0)
    assert done.stdout == "hello"
    done = shell("exec", "-r", "node", "-j", python,
                 "require('fs').readFileSync('note', 'utf8').length", check=0)
    assert done.stdout == "5\n"
    assert shell("exec", "-s", python, "1", check=0).stdout == "1\n"


# input


@pytest.mark.parametrize("runtime, code", [
    ("python", "name = input('Name? ')\nprint('hello', name)"),
    ("bash", "read -r -p 'Name? ' name; echo hello $name"),
])
def test_input_comes_from_standard_input(shell, runtime, code):
    done = shell("exec", "-r", runtime, code, stdin="Ada\nignored\n", check=0)
    assert done.stdout == "Name? hello Ada\n"


def test_every_question_gets_its_line_and_then_the_end(shell):
    code = ("print(input('a')); print(input('b'))\n"
            "try: input('c')\nexcept EOFError: print('no more')")
    done = shell("exec", code, stdin="1\n2\n", check=0)
    assert done.stdout == "a1\nb2\ncno more\n"


def test_code_on_standard_input_finds_the_end_there(shell):
    done = shell("exec", "-", stdin="try: input()\nexcept EOFError: print('end')", check=0)
    assert done.stdout == "end\n"


def test_json_is_one_answer_for_all_parts(shell):
    code = "print('one'); x = input('q'); print('two', x); x"
    answer = json.loads(shell("exec", "--json", code, stdin="A\n", check=0).stdout)
    assert (answer["status"], answer["stdout"]) == ("ok", "one\ntwo A\n")
    assert answer["value"]["text"] == "'A'"


def test_a_question_at_a_terminal(shell):
    terminal = Terminal(shell, "exec", "-p", "min",
                        "import getpass\nn = input('Name? ')\np = getpass.getpass('Secret? ')\n"
                        "print('got', n, p[::-1])")
    terminal.expect(r"Name\? $")
    terminal.type("Ada\r")
    terminal.expect(r"Secret\? $")
    terminal.type("tiger\r")
    shown = terminal.expect(r"(?s)(.*)got Ada regit\n")[1]
    assert "tiger" not in shown
    assert terminal.process.wait(host.PATIENCE) == 0
    terminal.close()


def test_ctrl_c_at_a_question_interrupts_the_cell(shell):
    terminal = Terminal(shell, "exec", "-p", "min", "input('Name? ')")
    terminal.expect(r"Name\? $")
    terminal.type("\x03")
    terminal.expect("KeyboardInterrupt")
    assert terminal.process.wait(host.PATIENCE) == 130
    terminal.close()


def test_input_verb_answers_a_question(shell, new):
    session_id = new()
    code = "print('hi', input('Who? '))"
    done = shell("exec", "-s", session_id, "--yield", "10s", code, check=75)
    assert "Who? " in done.stderr and f"cella input {session_id[:8]}" in done.stderr
    assert shell("input", session_id, "Ada", check=0).stdout == "hi Ada\n"
    assert shell("input", session_id, "Ada", check=75).stderr
    shell("exec", "-s", session_id, "--yield", "10s", "input()", check=75)
    assert "EOFError" in shell("input", session_id, "--eof", check=1).stderr


# waiting


def test_yield_and_continue_show_everything_once(shell, new):
    session_id = new("bash", code="mkfifo gate")
    done = shell("exec", "-s", session_id, "-y", "2s", "echo one; cat gate; echo two", check=75)
    assert done.stdout == "one\n"
    exec_id = re.search(rf"cella continue {session_id[:8]} (\d+)", done.stderr)[1]
    assert shell("continue", session_id, exec_id, "--yield", "50ms", check=75).stdout == ""
    shell("exec", "-r", "bash", "--join", session_id, "echo through > gate", check=0)
    assert shell("continue", session_id, check=0).stdout == "through\ntwo\n"
    assert shell("continue", session_id, exec_id, check=75).stderr  # that was its last answer


def test_yield_without_a_session_keeps_one_only_if_it_must(shell, client):
    before = {s.session_id for s in client.sessions()}
    assert shell("exec", "-r", "bash", "--yield", "10s", "echo at once", check=0).stdout
    assert {s.session_id for s in client.sessions() if s.state != "dead"} <= before
    done = shell("exec", "-r", "bash", "--json", "--yield", "100ms", "read x", check=75)
    answer = json.loads(done.stdout)
    assert answer["status"] in ("input_required", "running")
    shell("kill", answer["session_id"], check=0)


def test_interrupt_verb_keeps_the_session(shell, new):
    session_id = new(code="x = 5")
    shell("exec", "-s", session_id, "-y", "100ms", "while True: pass", check=75)
    assert shell("interrupt", session_id, check=0).stdout == f"interrupted {session_id}\n"
    assert "KeyboardInterrupt" in shell("continue", session_id, check=130).stderr
    assert shell("exec", "-s", session_id, "x", check=0).stdout == "5\n"
    assert shell("interrupt", session_id, check=0).stdout == f"nothing runs in {session_id}\n"


def test_a_killed_exec_cancels_its_cell_and_its_session_does_not_stay(shell, client):
    before = {s.session_id for s in client.sessions()}
    process = subprocess.Popen(
        [shell.binary, "exec", "-p", "min", "import os; os.write(1, b'go\\n')\nwhile True: pass"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **shell.options(),
    )
    assert process.stdout.readline() == b"go\n"
    (busy,) = [s for s in client.sessions() if s.session_id not in before]
    assert (busy.state, busy.idle_timeout_secs) == ("busy", 60)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=host.PATIENCE)
    session = f"/v1/sessions/{busy.session_id}"
    host.eventually(lambda: client.call("GET", session).state == "idle")
    shell("kill", busy.session_id, check=0)


# names, ps, plan mode


@pytest.mark.parametrize("runtime, code", [
    ("python", "count = 3; words = ['a', 'b']"),
    ("node", "let count = 3; const words = ['a', 'b']"),
    ("bash", "count=3; words=(a b)"),
])
def test_names_are_a_table(shell, new, runtime, code):
    session_id = new(runtime, code=code)
    lines = shell("names", session_id, check=0).stdout.splitlines()
    assert lines[0].split() == ["NAME", "TYPE", "SIZE", "VALUE"]
    rows = {line.split()[0]: line.split() for line in lines[1:]}
    assert {"count", "words"} <= set(rows)
    assert rows["words"][2] == "2"
    manifest = json.loads(shell("names", "--json", session_id, check=0).stdout)
    assert {i["name"] for i in manifest["items"]} >= {"count", "words"}


def test_exec_names_shows_them_beside_the_output(shell):
    done = shell("exec", "-p", "min", "--names", "total = 12; print('x')", check=0)
    assert done.stdout == "x\n"
    assert re.search(r"^total\s+int\b.*12$", done.stderr, re.M)


def test_ps_tells_runtime_and_directory(shell, new, spawn):
    session_id = new("bash", "--cwd", "work")
    (row,) = [r for r in shell("ps", check=0).stdout.splitlines() if session_id[:8] in r]
    assert " bash " in row and row.endswith("/workspace/work")
    mortal = spawn(checkpoints="off", durable="off").id
    shell("exec", "-s", mortal, "import os; os._exit(6)", check=6)
    (row,) = [r for r in shell("ps", check=0).stdout.splitlines() if mortal[:8] in r]
    assert " dead " in row and " 6 " in row


def test_plan_mode_is_refused_in_words(shell, new):
    session_id = new(code="x = 1")
    assert "is in plan mode" in shell("plan", session_id, "not approved", check=0).stdout
    done = shell("exec", "-s", session_id, "x = 2", check=75)
    assert "plan mode" in done.stderr and "not approved" in done.stderr
    assert "cella unplan" in done.stderr
    assert " plan " in shell("ps", check=0).stdout
    assert "left plan mode" in shell("unplan", session_id, check=0).stdout
    assert shell("exec", "-s", session_id, "x", check=0).stdout == "1\n"


def test_an_agent_that_is_not_allowed_is_told_so(shell):
    done = shell("exec", "--agent", "nobody-knows", "1", check=77)
    assert "nobody-knows" in done.stderr


# repl


@pytest.fixture(params=["node", "bash"])
def repl(request, shell):
    terminal = Terminal(shell, "repl", "--runtime", request.param)
    terminal.prompt = {"node": r"\] > $", "bash": r"\] \$ $"}[request.param]
    terminal.runtime = request.param
    terminal.expect(terminal.prompt)
    yield terminal
    terminal.close()


def test_repl_takes_lines_until_they_are_whole(repl):
    typed = {"node": ["function twice(x) {", "  return 2 * x", "}"],
             "bash": ["for i in 1 2; do", "  echo n$i", "done"]}[repl.runtime]
    more = {"node": r"\.\.\. $", "bash": r"> $"}[repl.runtime]
    for line in typed[:-1]:
        repl.type(line + "\r")
        repl.expect(more)
    repl.type(typed[-1] + "\r")
    if repl.runtime == "bash":
        repl.expect(r"n1\nn2\n")
    repl.expect(repl.prompt)
    repl.type({"node": "twice(21)", "bash": "echo $((2 * 21))"}[repl.runtime] + "\r")
    repl.expect(r"\n42\n")


def test_repl_answers_questions_and_ends_with_the_session(repl):
    if repl.runtime == "bash":
        repl.type("read -p 'Who? ' who; echo hello $who\r")
        repl.expect(r"Who\? $")
        repl.type("Ada\r")
        repl.expect(r"hello Ada\n")
        repl.expect(repl.prompt)
    repl.type({"node": "process.exit(3)", "bash": "exit 3"}[repl.runtime] + "\r")
    assert repl.process.wait(host.PATIENCE) == 3


def test_repl_through_a_pipe(shell):
    code = "x=3\nif true; then\n  echo $x\nfi\ncat <<END\na\nEND\n"
    done = shell("repl", "-r", "bash", stdin=code, check=0)
    assert done.stdout == "3\na\n"
    done = shell("repl", "-r", "node", stdin="let x = [1,\n 2]\nx.length\n", check=0)
    assert "2\n" in done.stdout
