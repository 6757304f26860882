"""The repl tool, POST /v1/repl: five actions, one object in, one object out. What it says and how
it is spelled is what agents were taught, so the shapes here are exact."""

import datetime
import re
import threading
import time

import pytest

from harness import host
from harness.client import ApiError

pytestmark = pytest.mark.one_mode

CONFIG = """\
default_profile: min
pool: 1
agents:
  - id: ana
    repl:
      enabled: true
      allowed_runtimes: [python, bash]
      max_sessions: 2
      timeout_secs: 3
      max_output_bytes: 4096
  - id: bob
  - id: default
    repl: {enabled: true}
inbound_bindings:
  - plugin: mail
    repl: {enabled: true, allowed_runtimes: [bash]}
  - plugin: chat
    repl: {enabled: true, allowed_runtimes: []}
"""


class Tool:
    """The tool as one agent has it."""

    def __init__(self, client, **whom):
        self.client, self.whom, self.spawned = client, whom, []

    def __call__(self, action, **members):
        return self.client.call("POST", "/v1/repl", {"action": action, **self.whom, **members})

    def refused(self, action, **members):
        with pytest.raises(ApiError) as refusal:
            self(action, **members)
        assert refusal.value.advice
        return refusal.value

    def spawn(self, runtime="python", **members):
        session_id = self("spawn", runtime=runtime, **members).session_id
        self.spawned.append(session_id)
        return session_id

    def exec(self, session_id, code):
        return self("exec", session_id=session_id, code=code)

    def out(self, session_id, code):
        result = self.exec(session_id, code)
        assert (result.timed_out, result.exit_code) == (False, None)
        return result.stdout

    def wait_until_saved(self, session_id, cell):
        """Cells that follow each other at once share what they go back to."""
        path = f"/v1/sessions/{session_id}"
        host.eventually(lambda: self.client.call("GET", path)["saved_through"] >= cell,
                        what="it is saved")

    def kill_all(self):
        for session in self("list").sessions:
            self("kill", session_id=session["session_id"])


@pytest.fixture
def tool(client):
    """The tool for who names no agent, on a daemon without a configuration."""
    made = Tool(client)
    yield made
    for session_id in made.spawned:
        client.request("POST", "/v1/repl", {"action": "kill", "session_id": session_id})


@pytest.fixture(scope="module")
def strict_daemon(launcher):
    daemon = launcher(config=CONFIG)
    yield daemon
    daemon.stop()


@pytest.fixture
def ana(strict_daemon):
    made = Tool(strict_daemon.client, agent="ana")
    yield made
    made.kill_all()


# The five actions.


@pytest.mark.smoke
def test_spawn(tool):
    answer = tool("spawn", runtime="python")
    tool.spawned.append(answer.session_id)
    assert answer == {"session_id": answer.session_id, "runtime": "python",
                      "message": "REPL session started (python)"}
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.session_id)


@pytest.mark.smoke
def test_exec(tool):
    answer = tool.exec(tool.spawn(), "print(1+1)")
    assert answer == {"stdout": "2\n", "stderr": "", "timed_out": False, "exit_code": None}


@pytest.mark.smoke
def test_read(tool):
    session = tool.spawn()
    tool.exec(session, "print('seen')")
    assert tool("read", session_id=session) == {"stdout": "", "stderr": ""}


@pytest.mark.smoke
def test_kill(tool):
    session = tool.spawn()
    assert tool("kill", session_id=session) == {"message": f"session {session} terminated"}
    assert tool.refused("read", session_id=session).message == f"session not found: {session}"


def test_list(tool):
    session = tool.spawn()
    tool.exec(session, "print('four')")
    answer = tool("list")
    assert answer["count"] == len(answer.sessions)
    (entry,) = [s for s in answer.sessions if s["session_id"] == session]
    spawned = datetime.datetime.fromisoformat(entry.pop("spawned_at").replace("Z", "+00:00"))
    now = datetime.datetime.now(datetime.timezone.utc)
    assert abs((now - spawned).total_seconds()) < 60
    assert entry == {"session_id": session, "runtime": "python", "cwd": "/workspace",
                     "output_len": 5, "exit_code": None}


# As a terminal would show it.


def test_state_lasts(tool):
    session = tool.spawn()
    assert tool.out(session, "import math\nx = 40") == ""
    assert tool.out(session, "def f(n):\n    return x + n\n") == ""
    assert tool.out(session, "f(math.ceil(1.5))") == "42\n"


def test_values_and_output_share_the_stream(tool):
    assert tool.out(tool.spawn(), "print('a')\n'b'") == "a\n'b'\n"


def test_none_is_not_shown(tool):
    assert tool.out(tool.spawn(), "None") == ""


def test_an_error_goes_to_stderr_and_the_session_stays(tool):
    session = tool.spawn()
    answer = tool.exec(session, "print('before')\n1 / 0")
    assert answer.stdout == "before\n"
    assert answer.stderr.startswith("Traceback (most recent call last):\n")
    assert answer.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert (answer.timed_out, answer.exit_code) == (False, None)
    assert tool.out(session, "'still here'") == "'still here'\n"


def test_a_syntax_error(tool):
    answer = tool.exec(tool.spawn(), "x = = 1")
    assert "SyntaxError" in answer.stderr


def test_only_new_bytes(tool):
    session = tool.spawn()
    assert [tool.out(session, f"print({n})") for n in range(3)] == ["0\n", "1\n", "2\n"]


def test_no_newline_is_added(tool):
    assert tool.out(tool.spawn(), "print('a', end='')") == "a"


def test_what_comes_between_calls_is_in_the_next(tool, eventually):
    session = tool.spawn()
    tool.exec(session, """
import threading, time
gate = threading.Event()
def late():
    gate.wait()
    print("late")
thread = threading.Thread(target=late)
thread.start()
""")
    assert tool("read", session_id=session).stdout == ""
    tool.exec(session, "gate.set(); thread.join()")
    assert tool.out(session, "print('now')") in ("now\n", "late\nnow\n")


def test_read_returns_what_came_meanwhile(ana, eventually):
    session = ana.spawn()
    answer = ana.exec(session, """
import time
print("first", flush=True)
time.sleep(6)
print("second", flush=True)
time.sleep(60)
""")
    assert (answer.stdout, answer.timed_out, answer.exit_code) == ("first\n", True, None)
    seen = []
    eventually(lambda: seen.append(ana("read", session_id=session).stdout) or "\n" in
               "".join(seen), what="the second line")
    assert "".join(seen) == "second\n"


def test_unicode_and_binary(tool):
    session = tool.spawn()
    assert tool.out(session, "print('žluťoučký 🐎')") == "žluťoučký 🐎\n"
    assert tool.out(session, r"import os; _ = os.write(1, b'\xff\x00\n')") == "\ufffd\x00\n"


# Time.


def test_code_that_takes_too_long_times_out_and_is_superseded(ana):
    session = ana.spawn()
    ana.exec(session, "x = 1")
    started = time.monotonic()
    answer = ana.exec(session, "while True: pass")
    assert 2.9 < time.monotonic() - started
    assert answer == {"stdout": "", "stderr": "", "timed_out": True, "exit_code": None}
    answer = ana.exec(session, "x + 1")
    assert answer.stdout == "2\n"
    assert "KeyboardInterrupt" in answer.stderr


def test_code_that_ignores_the_interrupt_is_undone(ana):
    session = ana.spawn()
    ana.exec(session, "kept = 1")
    ana.wait_until_saved(session, 1)
    ana.exec(session, """
kept = 2
import time
while True:
    try:
        time.sleep(60)
    except BaseException:
        pass
""")
    answer = ana.exec(session, "kept")
    assert (answer.stdout, answer.exit_code) == ("1\n", None)
    assert "TimeLimit: was overdue when the next cell came" in answer.stderr
    assert "The session goes on from checkpoint 1" in answer.stderr
    assert (answer["rolled_back_to"], answer["rolled_back_cells"]) == (1, [2])
    assert set(ana.exec(session, "kept")) == {"stdout", "stderr", "timed_out", "exit_code"}


def test_a_call_may_wait_for_less(tool):
    session = tool.spawn()
    code = "import time; print('on', flush=True); time.sleep(60)"
    answer = tool("exec", session_id=session, code=code, timeout_ms=300)
    assert (answer.timed_out, answer.exit_code) == (True, None)
    assert tool("exec", session_id=session, code="5", timeout_ms=20_000).stdout.endswith("5\n")
    assert tool.refused("exec", session_id=session, code="5", timeout_ms=0).status == 400


def test_a_call_does_not_wait_for_more_than_its_agent_may(ana):
    """Whose limit is three seconds."""
    error = ana.refused("exec", session_id=ana.spawn(), code="1", timeout_ms=600_000)
    assert error.status == 403 and "timeout_ms" in error.message


def test_a_cell_that_runs_for_somebody_else_is_waited_for(tool, client):
    session = tool.spawn()
    code = {"code": "import time; time.sleep(0.7); x = 'whole'", "yield_ms": 0}
    assert client.call("POST", f"/v1/sessions/{session}/exec", code).status == "running"
    assert tool.out(session, "x") == "'whole'\n"


def test_two_callers_wait_for_each_other(tool):
    session = tool.spawn()
    answers = {}
    codes = [f"import time; time.sleep(0.2); print('token {n}')" for n in range(4)]
    threads = [threading.Thread(target=lambda n=n: answers.update({n: tool.out(session, codes[n])}))
               for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: f"token {n}\n" for n in range(4)}


# Questions.


def test_code_may_ask_for_a_line(tool):
    session = tool.spawn()
    answer = tool.exec(session, "name = input('Name? ')\nprint('Hello', name)")
    assert answer == {"stdout": "Name? ", "stderr": "", "timed_out": False, "exit_code": None}
    assert tool.exec(session, "Ada\n").stdout == "Hello Ada\n"
    assert tool.out(session, "name") == "'Ada'\n"


def test_code_may_ask_again(tool):
    session = tool.spawn()
    answer = tool.exec(session, "print(int(input('a ')) + int(input('b ')))")
    assert answer.stdout == "a "
    assert tool.exec(session, "1").stdout == "b "
    assert tool.exec(session, "2").stdout == "3\n"


@pytest.mark.slow
def test_a_question_that_nobody_saw_is_not_answered_by_accident(ana, eventually):
    session = ana.spawn()
    assert ana.exec(session, "import time; time.sleep(6); x = input('Sure? ')").timed_out
    length = lambda: ana("list").sessions[0]["output_len"]  # noqa: E731
    eventually(lambda: length() >= len("Sure? "), what="the question")
    answer = ana.exec(session, "print('not a line')")
    assert answer.stdout == "Sure? not a line\n"
    assert "KeyboardInterrupt" in answer.stderr


def test_a_question_that_was_read_is_answered(ana, eventually):
    session = ana.spawn()
    assert ana.exec(session, "import time; time.sleep(6); x = input('Sure? ')").timed_out
    eventually(lambda: ana("read", session_id=session).stdout == "Sure? ", what="the question")
    assert ana.exec(session, "yes").stdout == ""
    assert ana.out(session, "x") == "'yes'\n"


def test_a_line_has_a_limit(tool):
    session = tool.spawn()
    tool.exec(session, "x = input()")
    assert tool.refused("exec", session_id=session, code="y" * 70000).status == 413
    tool.exec(session, "z")
    assert tool.out(session, "x") == "'z'\n"


# Other runtimes, and where they begin.


def test_node(tool):
    session = tool.spawn("node")
    assert tool.out(session, "const a = [1, 2]; console.log('x')") == "x\n"
    assert tool.out(session, "a.map(n => n * 2)") == "[ 2, 4 ]\n"
    answer = tool.exec(session, "nothing.here")
    assert "ReferenceError: nothing is not defined" in answer.stderr
    answer = tool.exec(session, "process.exit(4)")
    assert (answer.exit_code, answer.stderr) == (4, "")


def test_bash(tool):
    session = tool.spawn("bash")
    assert tool.out(session, "x=5; cd /tmp; echo $((x + 1))") == "6\n"
    assert tool.out(session, "pwd; true") == "/tmp\n"
    assert tool.exec(session, "ls /absent").stderr.startswith("ls: ")
    answer = tool.exec(session, "exit 7")
    assert (answer.exit_code, answer.stderr) == (7, "")


def test_bash_reads_a_line(tool):
    session = tool.spawn("bash")
    assert tool.exec(session, "read -p 'Name? ' name; echo \"Hello $name\"").stdout == "Name? "
    assert tool.exec(session, "Ada").stdout == "Hello Ada\n"


@pytest.mark.parametrize("runtime, code", [
    ("python", "import os; print(os.getcwd())"),
    ("node", "console.log(process.cwd())"),
    ("bash", "pwd"),
])
@pytest.mark.parametrize("cwd, where", [
    ("deep/er", "/workspace/deep/er"), ("/tmp", "/tmp"), ("", "/workspace")])
def test_cwd(tool, runtime, code, cwd, where):
    session = tool.spawn(runtime, cwd=cwd)
    assert tool.out(session, code) == where + "\n"
    (entry,) = [s for s in tool("list").sessions if s["session_id"] == session]
    assert entry["cwd"] == where


def test_a_cwd_outside(tool):
    for cwd in ("/etc", "../..", "/workspace/../root"):
        assert tool.refused("spawn", runtime="python", cwd=cwd).status == 400


# The end of a session.


def test_exit_tells_the_code(tool):
    session = tool.spawn()
    answer = tool.exec(session, "print('bye', flush=True); import os; os._exit(3)")
    assert (answer.stdout, answer.timed_out, answer.exit_code) == ("bye\n", False, 3)
    for action in ("exec", "read"):
        error = tool.refused(action, session_id=session, code="1")
        assert error.status == 410
        assert error.message == f"session {session} terminated (exit code 3)"
    (entry,) = [s for s in tool("list").sessions if s["session_id"] == session]
    assert entry["exit_code"] == 3
    assert tool("kill", session_id=session) == {"message": f"session {session} terminated"}
    assert all(s["session_id"] != session for s in tool("list").sessions)


def test_a_crash_has_last_words(tool):
    session = tool.spawn()
    answer = tool.exec(session, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert answer.exit_code == 139
    assert "\nCrashed: the interpreter was ended by signal 11 (SIGSEGV, " in answer.stderr


KILLS = {"python": "import os; os.kill(os.getpid(), 9)", "bash": "x=2; kill -9 $$",
         "node": "process.kill(process.pid, 'SIGKILL'); while (true) {}"}
READS = {"python": "x", "node": "x", "bash": "echo $x"}


@pytest.mark.parametrize("runtime", KILLS)
def test_a_crash_is_undone(tool, runtime):
    session = tool.spawn(runtime)
    tool.exec(session, "var x = 1" if runtime == "node" else "x=1")
    tool.wait_until_saved(session, 1)
    answer = tool.exec(session, KILLS[runtime])
    assert answer.exit_code == 137
    assert answer.stderr.startswith("Killed: the interpreter was killed (SIGKILL) from inside its "
                                    "sandbox\nDo not send SIGKILL")
    assert "The session goes on from checkpoint" in answer.stderr
    assert answer["rolled_back_cells"] == [2]
    assert tool.out(session, READS[runtime]) == "1\n"
    (entry,) = [s for s in tool("list").sessions if s["session_id"] == session]
    assert entry["exit_code"] is None


@pytest.mark.needs_root("an ordinary user may not limit memory")
def test_limits_are_given_at_spawn(tool):
    session = tool.spawn(limits={"memory_mb": 96, "checkpoint_mb": 0})
    answer = tool.exec(session, "x = b'x' * 10**9")
    assert answer.exit_code == 137
    assert re.search(r"OutOfMemory: .*its 96 MB.* and was killed; its highest use was [^\n]+\n",
                     answer.stderr), answer
    assert tool.refused("spawn", runtime="python", limits={"memory": 5}).status == 400


def test_the_refusal_of_a_session_that_ended_is_whole(tool):
    session = tool.spawn()
    tool.exec(session, "import os; os._exit(3)")
    error = tool.refused("exec", session_id=session, code="1")
    assert error.advice == ("the interpreter ended itself with exit code 3: Leave a cell with "
                            "sys.exit() or an exception instead: they end the cell and keep the "
                            "session. The variables of this session are lost: create a new one to "
                            "go on.")


def test_sys_exit_ends_the_code_only(tool):
    """As with `python3 -i`."""
    session = tool.spawn()
    answer = tool.exec(session, "x = 1; import sys; sys.exit(3)")
    assert answer.exit_code is None and answer.stderr.endswith("SystemExit: 3\n")
    assert tool.out(session, "x") == "1\n"


# Beside the streams.


def test_bash_tells_the_status_of_its_last_command(tool):
    session = tool.spawn("bash")
    assert [tool.exec(session, code)["last_status"] for code in ("true", "(exit 3)", "ls /no")] == [
        0, 3, 2]
    assert tool.exec(session, "exit 7").get("last_status") is None


@pytest.mark.slow
def test_pictures_are_named(tool, client):
    session = tool.spawn()
    code = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show(); print('shown')"
    answer = tool.exec(session, code)
    (image,) = answer["images"]
    assert (image["type"], image["format"]) == ("image", "png") and image["width"] > 100
    assert client.request("GET", image["url"]).body.startswith(b"\x89PNG")
    assert "images" not in tool.exec(session, "1")


def test_a_dead_session_takes_no_slot(ana):
    for _ in range(3):
        assert ana.exec(ana.spawn(), "import os; os._exit(0)").exit_code == 0
    ana.spawn()


# Output that is too much.


def test_the_oldest_bytes_are_dropped_and_counted(ana):
    session = ana.spawn()
    answer = ana.exec(session, "print('x' * 10000 + 'end')")
    assert answer.stdout == "[5908 bytes dropped]\n" + "x" * 4092 + "end\n"
    assert ana.out(session, "'after'") == "'after'\n"


def test_each_stream_has_its_own_limit(ana):
    answer = ana.exec(ana.spawn(), """
import sys
print('o' * 4000)
print('e' * 4000, file=sys.stderr)
""")
    assert (answer.stdout, answer.stderr) == ("o" * 4000 + "\n", "e" * 4000 + "\n")


def test_ten_megabytes(tool):
    session = tool.spawn()
    answer = tool.exec(session, "import os; _ = os.write(1, b'y' * 10_000_000); print('end')")
    first, rest = answer.stdout.split("\n", 1)
    assert first == f"[{10_000_004 - 4 * 2**20} bytes dropped]"
    assert len(rest) == 4 * 2**20 and rest.endswith("yend\n")


# Who may.


def test_a_runtime_that_is_not_allowed(ana):
    error = ana.refused("spawn", runtime="node")
    assert error.status == 403
    assert error.message == """runtime 'node' not in allowed list: ["python", "bash"]"""


def test_a_runtime_that_does_not_exist(ana, tool):
    assert "runtime 'cobol' not in allowed list" in ana.refused("spawn", runtime="cobol").message
    assert tool.refused("spawn", runtime="cobol").message == (
        """runtime 'cobol' not in allowed list: ["python", "node", "bash"]""")


def test_a_binding_replaces_the_list(ana):
    error = ana.refused("spawn", runtime="python", binding="mail")
    assert error.status == 403
    assert error.message == (
        """runtime 'python' not in this binding's allowed_runtimes (["bash"])""")
    ana.spawn(binding="chat")
    assert "not in allowed list" in ana.refused("spawn", runtime="node", binding="chat").message


def test_a_session_remembers_its_binding(strict_daemon):
    bob = Tool(strict_daemon.client, agent="bob")
    assert bob.refused("spawn", runtime="bash").status == 403
    session = bob.spawn("bash", binding="mail")
    assert bob.out(session, "echo hi") == "hi\n"
    assert bob.refused("list").status == 403
    assert bob("list", binding="mail")["count"] == 1
    bob("kill", session_id=session)


def test_the_number_of_sessions_is_limited(ana):
    first = ana.spawn()
    ana.spawn()
    error = ana.refused("spawn", runtime="python")
    assert error.status == 429
    assert error.message == "session limit reached (2) — kill an existing session first"
    ana("kill", session_id=first)
    ana.spawn()


@pytest.mark.parametrize("action", ["spawn", "exec", "read", "kill", "list", "dance"])
def test_an_agent_that_is_not_enabled(strict_daemon, action):
    for agent in ("bob", "nobody"):
        tool = Tool(strict_daemon.client, agent=agent)
        error = tool.refused(action, runtime="python", session_id="x", code="1")
        assert (error.status, f'"{agent}"' in error.message) == (
            (400, False) if (action, agent) == ("dance", "bob") else (403, True))


def test_an_agent_sees_only_its_own(ana, strict_daemon):
    other = Tool(strict_daemon.client)
    mine, theirs = ana.spawn(), other.spawn()
    assert [s["session_id"] for s in ana("list").sessions] == [mine]
    for action in ("exec", "read", "kill"):
        error = ana.refused(action, session_id=theirs, code="1")
        assert (error.status, error.message) == (404, f"session not found: {theirs}")
    assert other.out(theirs, "1") == "1\n"
    other("kill", session_id=theirs)


def test_sessions_of_the_tool_are_sessions(tool, client):
    session = tool.spawn()
    assert client.call("GET", f"/v1/sessions/{session}").runtime == "python"
    assert session in [s.session_id for s in client.sessions()]


# Plan mode.


def test_plan_mode_refuses_what_changes(tool, client):
    session = tool.spawn()
    client.call("PUT", f"/v1/sessions/{session}/plan", {"reason": "think"})
    for action in ("exec", "kill"):
        reply = client.request("POST", "/v1/repl", {"action": action, "session_id": session,
                                                    "code": "1"})
        assert reply.status == 409
        told = reply.json["refusal"]
        assert (told["tool_name"], told["tool_kind"], told["entered_reason"]) == (
            "Repl", "bash", "think")
    assert tool("read", session_id=session) == {"stdout": "", "stderr": ""}
    assert tool("list")["count"] >= 1
    client.call("DELETE", f"/v1/sessions/{session}/plan")
    assert tool.out(session, "1") == "1\n"


def test_plan_mode_of_an_agent(ana, strict_daemon):
    session = ana.spawn()
    strict_daemon.client.call("PUT", "/v1/agents/ana/plan", {"reason": "holiday"})
    try:
        for action in ("spawn", "exec", "kill"):
            assert ana.refused(action, session_id=session, code="1", runtime="python").status == 409
        other = Tool(strict_daemon.client)
        assert other("list")["count"] == 0
        other("kill", session_id=other.spawn())
    finally:
        strict_daemon.client.call("DELETE", "/v1/agents/ana/plan")
    assert ana.out(session, "1") == "1\n"


# Sloppy callers.


@pytest.mark.parametrize("body, status, message", [
    ({}, 400, '"action" is missing'),
    ({"action": 5}, 400, '"action" must be a string'),
    ({"action": None}, 400, '"action" must be a string'),
    ({"action": "dance"}, 400,
     "unknown action 'dance' — valid: spawn, exec, read, kill, list"),
    ({"action": ""}, 400, "unknown action '' — valid: spawn, exec, read, kill, list"),
    ({"action": "Spawn"}, 400, "unknown action 'Spawn' — valid: spawn, exec, read, kill, list"),
    ({"action": "spawn"}, 400, "'runtime' required for spawn"),
    ({"action": "spawn", "runtime": None}, 400, "'runtime' required for spawn"),
    ({"action": "spawn", "runtime": ["python"]}, 400, '"runtime" must be a string'),
    ({"action": "exec"}, 400, "'session_id' required for exec"),
    ({"action": "exec", "session_id": ""}, 400, "'session_id' required for exec"),
    ({"action": "exec", "code": "1"}, 400, "'session_id' required for exec"),
    ({"action": "read"}, 400, "'session_id' required for read"),
    ({"action": "kill", "session_id": None}, 400, "'session_id' required for kill"),
    ({"action": "read", "session_id": 7}, 400, '"session_id" must be a string'),
    ({"action": "read", "session_id": "x"}, 404, "session not found: x"),
    ({"action": "read", "session_id": "x" * 65}, 413, '"session_id" has 65 bytes'),
    ({"action": "list", "sesion": "x"}, 400, 'unknown member "sesion"'),
    ({"action": "list", "agent": ""}, 400, '"agent" must have at least 1 bytes'),
    ({"action": "list", "agent": "nobody"}, 403, 'there is no agent "nobody"'),
])
def test_mistakes(client, body, status, message):
    reply = client.request("POST", "/v1/repl", body)
    assert reply.status == status
    assert reply.json["error"]["message"].startswith(message)
    assert reply.json["error"]["advice"]


def test_exec_needs_code(tool):
    session = tool.spawn()
    assert tool.refused("exec", session_id=session).message == "'code' required for exec"
    assert tool.out(session, "") == ""


def test_members_of_other_actions_do_no_harm(tool):
    session = tool.spawn(code="1", session_id=None, cwd=None)
    assert tool("read", session_id=session, runtime="cobol", code="1") == {"stdout": "",
                                                                           "stderr": ""}


def test_a_client_that_leaves_loses_nothing(tool, daemon, client, spawn, eventually):
    gated = "import os, time\nwhile not os.path.exists('gate'): time.sleep(0.005)\nprint('done')"
    for leaver in (daemon.unix_client(), client):
        session = tool.spawn()
        sock = leaver.connect()
        sock.sendall(leaver.post_bytes("/v1/repl", {
            "action": "exec", "session_id": session, "code": gated}))
        eventually(lambda: client.call("GET", f"/v1/sessions/{session}").state == "busy")
        sock.close()
        spawn(join=session).exec("open('gate', 'w').close()")
        seen = []
        # print writes the end of the line apart.
        eventually(lambda: seen.append(tool("read", session_id=session).stdout) or "\n" in
                   "".join(seen), what="the output")
        assert "".join(seen) == "done\n"
