"""Control over cells and sessions: answers before the end, input, clients that go away, shared
sandboxes, directories and environments, idleness and age, names, death certificates."""

import contextlib
import select
import shutil
import time

import pytest

from harness import host
from harness.client import ApiError, Result, Session, read_reply

GATED = """
import os, time
print('before', flush=True)
while not os.path.exists('/workspace/gate'): time.sleep(0.005)
print('after')
42
"""


@pytest.fixture
def neighbour(spawn, session):
    """Another interpreter in the session's sandbox: it can open the gate while a cell runs."""
    return spawn(join=session.id)


def open_gate(neighbour):
    assert neighbour.exec("open('/workspace/gate', 'w').close()").status == "ok"


def go_on(session, exec_id, **options):
    return session.client.call("POST", f"{session.path}/exec/{exec_id}/continue", options)


def give(session, text=None, **options):
    line = {"eof": True} if text is None else {"text": text}
    return session.client.call("POST", f"{session.path}/input", {**line, **options})


def names(session, **query):
    tail = "&".join(f"{k}={v}" for k, v in query.items())
    return session.client.call("GET", f"{session.path}/names?{tail}")


def refused(status, call, *args, **options):
    with pytest.raises(ApiError) as caught:
        call(*args, **options)
    assert caught.value.status == status, caught.value
    assert caught.value.message
    return caught.value


def first_line(session, result):
    """Asks on until a line was written, whose end print writes apart."""
    text = result["stdout"]
    while not text.endswith("\n"):
        assert result.status == "running"
        result = go_on(session, result.number, yield_ms=20)
        text += result["stdout"]
    return text


# Answers before the end.


@pytest.mark.smoke
def test_a_long_cell_answers_early_and_goes_on(session, neighbour):
    result = session.exec(GATED, yield_ms=50)
    assert (result.status, result.number) == ("running", 1)
    assert result["value"] is None and result["error"] is None
    assert first_line(session, result) == "before\n"
    assert session.info().state == "busy"
    again = go_on(session, 1, yield_ms=10)
    assert (again.status, again["stdout"]) == ("running", "")
    open_gate(neighbour)
    last = go_on(session, 1)
    assert (last.status, last["stdout"], last["value"]["text"]) == ("ok", "after\n", "42")
    assert refused(409, go_on, session, 1).code == "conflict"


@pytest.mark.smoke
def test_a_short_cell_does_not_wait_for_its_yield(session):
    for longer_than_a_client_waits in (3_600_000, None):
        assert session.exec("1 + 1", yield_ms=longer_than_a_client_waits).status == "ok"


@pytest.mark.smoke
def test_yield_at_once(session, neighbour):
    result = session.exec(GATED, yield_ms=0)
    assert result.status == "running"
    queued = session.exec("'next'", yield_ms=0)
    assert queued.status == "queued"
    open_gate(neighbour)
    assert go_on(session, queued.number)["value"]["text"] == "'next'"
    assert go_on(session, result.number)["value"]["text"] == "42"


@pytest.mark.smoke
def test_typed_outputs_come_once(session, neighbour):
    code = "display('one')\n" + GATED[1:] + "\ndisplay('two')"
    result = session.exec(code, yield_ms=0)
    outputs = list(result["outputs"])
    while not outputs:
        outputs += go_on(session, 1, yield_ms=20)["outputs"]
    open_gate(neighbour)
    outputs += go_on(session, 1)["outputs"]
    assert [o["text"] for o in outputs] == ["'one'", "'two'"]


def test_an_answer_that_nobody_fetched_is_kept(session):
    result = session.exec("import time; time.sleep(0.05); print('x'); 7", yield_ms=0)
    host.eventually(lambda: session.info().state == "idle")
    assert session.value("8") == "8"
    late = go_on(session, result.number)
    assert (late.status, late["stdout"], late["value"]["text"]) == ("ok", "x\n", "7")


def test_unknown_cells(session):
    assert refused(404, go_on, session, 1).code == "not_found"
    session.exec("1")
    assert "already" in refused(409, go_on, session, 1).message
    assert refused(404, go_on, session, 0)
    assert refused(404, go_on, session, "nobody")


def test_the_time_limit_goes_on_meanwhile(session):
    assert session.exec("while True: pass", yield_ms=0, timeout_ms=200).status == "running"
    result = go_on(session, 1)
    assert result.status == "timeout"


def test_one_caller_at_a_time(client, session, neighbour):
    session.exec(GATED, yield_ms=0)
    request = client.post_bytes(session.path + "/exec/1/continue", {})
    with client.connect() as sock, sock.makefile("rb") as file:
        is_first = False
        while not is_first:  # the other may have been there for a moment when it came
            sock.sendall(request)
            host.eventually(lambda: _is_refused(session) or _has_answer(sock), "a refused caller")
            is_first = not _has_answer(sock)
            assert is_first or read_reply(file).status == 409
        open_gate(neighbour)
        assert read_reply(file).json["value"]["text"] == "42"


def _has_answer(sock):
    return bool(select.select([sock], [], [], 0)[0])


def _is_refused(session):
    try:
        go_on(session, 1, yield_ms=0)
    except ApiError as error:
        assert error.status == 409
        return True
    return False


def test_a_stream_can_be_taken_up_again(client, session, neighbour):
    result = session.exec(GATED, yield_ms=0)
    seen = result["stdout"]
    with contextlib.closing(client.events(session.path + "/exec/1/continue", {})) as events:
        if seen:  # told already: nothing more comes before the gate is open
            open_gate(neighbour)
        for name, data in events:
            if name == "output":
                seen += data.text
            if seen == "before\n":
                open_gate(neighbour)
            if name == "result":
                assert data.status == "ok"
    assert seen == "before\nafter\n"


def test_yielding_ends_a_stream(session):
    events = list(session.events("import time; time.sleep(20)", yield_ms=30))
    assert events[-1][0] == "result" and events[-1][1].status == "running"
    session.interrupt()
    assert go_on(session, 1).status == "interrupted"


# Clients that go away.


def hang_up(client, session, code, **options):
    """Sends a cell and disconnects once it runs. A client that may still read is not gone, unless
    it has said what should happen when it is."""
    with client.connect() as sock:
        sock.sendall(client.post_bytes(session.path + "/exec", {"code": code, **options}))
        host.eventually(lambda: session.output()["text"] != "", what="a running cell")


def test_a_cell_goes_on_without_its_client(client, session, neighbour):
    hang_up(client, session, GATED, on_disconnect="continue")
    host.eventually(lambda: not _is_refused(session), what="the end of the first caller")
    open_gate(neighbour)
    result = go_on(session, 1)
    assert (result.status, result["value"]["text"]) == ("ok", "42")
    assert result["stdout"].endswith("after\n")


def test_a_cell_is_cancelled_with_its_client(client, session):
    code = "print('go', flush=True)\nimport time; time.sleep(60)"
    hang_up(client, session, code, on_disconnect="cancel")
    host.eventually(lambda: session.info().state == "idle", what="an idle session")
    assert session.value("'alive'") == "'alive'"
    refused(404, go_on, session, 1)


def test_a_queued_cell_is_taken_back_with_its_client(client, session):
    session.exec("import time; ran = False; print('on', flush=True); time.sleep(60)", yield_ms=0)
    host.eventually(lambda: session.info().output_len > 0)
    with client.connect() as sock:
        body = {"code": "ran = True", "on_disconnect": "cancel"}
        sock.sendall(client.post_bytes(session.path + "/exec", body))
        host.eventually(lambda: session.info().queued == 1)
    host.eventually(lambda: session.info().queued == 0)
    session.interrupt()
    assert session.value("ran") == "False"


# Input.


def test_a_cell_asks_and_is_answered(session):
    result = session.exec("print('hello'); name = input('Name? '); print(name); name.upper()")
    assert (result.status, result["stdout"]) == ("input_required", "hello\n")
    assert result["input"] == {"prompt": "Name? "}
    result = give(session, "Ada")
    assert (result.status, result["stdout"], result["value"]["text"]) == ("ok", "Ada\n", "'ADA'")


def test_several_questions_and_a_password(session):
    result = session.exec("import getpass; a = input(); b = getpass.getpass('P: '); a, b")
    assert result["input"]["prompt"] == ""
    result = give(session, "one", number=result.number)
    assert result["input"] == {"prompt": "P: ", "password": True}
    assert give(session, "two\n")["value"]["text"] == "('one', 'two')"


def test_the_end_of_input(session):
    session.exec("input()")
    result = give(session)
    assert (result.status, result["error"]["name"]) == ("error", "EOFError")


def test_asking_pauses_the_clock(session):
    began = time.monotonic()
    result = session.exec("input(); 'in time'", timeout_ms=2000)
    assert result.status == "input_required"
    time.sleep(2.2)  # longer than the limit, and no part of the cell's time
    result = give(session, "x")
    assert result.status == "ok"
    assert result.duration_ms <= (time.monotonic() - began - 2.2) * 1000


def test_the_question_is_told_again(session):
    session.exec("print('x'); input('? ')")
    again = go_on(session, 1)
    assert (again.status, again["input"]["prompt"]) == ("input_required", "? ")
    assert again["stdout"] == ""


def test_an_interrupt_ends_the_question(session):
    session.exec("kept = 1; input()")
    assert session.interrupt() is True
    assert go_on(session, 1).status == "interrupted"
    refused(409, give, session, "x")
    assert session.value("kept") == "1"


def test_nobody_asked(session):
    assert "waits for input" in refused(409, give, session, "x").message
    result = session.exec("input()")
    refused(409, give, session, "x", number=result.number + 1)
    refused(400, session.client.call, "POST", session.path + "/input", {})
    refused(400, session.client.call, "POST", session.path + "/input", {"text": "", "eof": True})
    assert give(session, "").status == "ok"


# Sharing a sandbox.


def test_joined_sessions_share_files_and_network(session, neighbour):
    info = neighbour.info()
    assert (info.joined, session.info().joined) == (session.id, None)
    session.exec("open('/workspace/a', 'w').write('shared'); x = 1")
    assert neighbour.value("open('/workspace/a').read()") == "'shared'"
    assert neighbour.fails("x").name == "NameError"
    port = session.value("""
        import socket, threading
        server = socket.create_server(('127.0.0.1', 0))
        threading.Thread(target=lambda: server.accept()[0].sendall(b'hello')).start()
        server.getsockname()[1]
    """)
    code = f"import socket; socket.create_connection(('127.0.0.1', {port})).recv(9)"
    assert neighbour.value(code) == "b'hello'"


def test_the_last_session_ends_the_sandbox(session, neighbour):
    session.exec("open('/workspace/a', 'w').write('kept')")
    session.kill()
    assert neighbour.value("open('/workspace/a').read()") == "'kept'"
    assert neighbour.info().limits


def test_joining_takes_no_limits_and_no_dead(client, session, spawn):
    body = {"join": session.id, "limits": {"memory_mb": 64}}
    assert "limits" in refused(400, client.call, "POST", "/v1/sessions", body).message
    refused(404, client.call, "POST", "/v1/sessions", {"join": "nobody"})
    ended = spawn(checkpoints="off", durable="off")
    ended.exec("import os; os._exit(0)")
    refused(409, client.call, "POST", "/v1/sessions", {"join": ended.id})


@pytest.mark.parametrize("program", ["node", "bash"])
def test_other_languages_share_it_too(client, session, program):
    if not shutil.which(program):
        pytest.skip(f"there is no {program} here")
    session.exec("open('/workspace/a', 'w').write('from Python')")
    body = {"runtime": program, "join": session.id, "cwd": "sub", "env": {"WORD": "w"}}
    other = Session(client, client.call("POST", "/v1/sessions", body))
    assert other.info().runtime == program
    code = {
        "node": "console.log(process.cwd(), process.env.WORD, "
                "require('fs').readFileSync('../a', 'utf8'))",
        "bash": "echo $PWD $WORD $(cat ../a)",
    }[program]  # fmt: skip
    assert other.out(code) == "/workspace/sub w from Python\n"
    other.kill()
    assert session.value("'alive'") == "'alive'"


# Directory and environment.


def test_a_session_works_in_its_directory(spawn):
    session = spawn(cwd="project/src", env={"GREETING": "héllo", "EMPTY": ""})
    assert session.info().cwd == "/workspace/project/src"
    assert session.value("import os; os.getcwd()") == "'/workspace/project/src'"
    assert session.value("os.environ['GREETING'], os.environ['EMPTY']") == "('héllo', '')"
    assert session.out("import subprocess; print(subprocess.getoutput('pwd; echo $GREETING'))") == (
        "/workspace/project/src\nhéllo\n"
    )


@pytest.mark.parametrize("cwd", ["..", "/etc", "/", "/workspace/../etc", "x/../../.."])
def test_no_other_directories(client, cwd):
    error = refused(400, client.call, "POST", "/v1/sessions", {"cwd": cwd})
    assert "/workspace" in error.advice


@pytest.mark.parametrize(
    "env", [{"1A": ""}, {"": "x"}, {"A=B": "x"}, {"A": 1}, {"A": "x" * 70000},
            {f"V{n}": "" for n in range(257)}, []])  # fmt: skip
def test_no_other_environments(client, env):
    refused(400, client.call, "POST", "/v1/sessions", {"env": env})


def test_a_directory_that_is_a_file(client, session):
    session.exec("open('/workspace/file', 'w').close()")
    body = {"join": session.id, "cwd": "file/sub"}
    error = refused(400, client.call, "POST", "/v1/sessions", body)
    assert "/workspace/file" in error.message and error.advice


# Ends by themselves, after a time in which the first cell has begun on a slow machine, too.


def test_an_idle_session_ends(spawn):
    session = spawn(idle_timeout_secs=2, durable="off")
    assert session.info().idle_timeout_secs == 2
    assert session.exec("import time; time.sleep(2.5)").status == "ok"
    host.eventually(lambda: _listed(session).state == "dead", what="the end of an idle session")
    assert "nobody used it for 2 s" in _listed(session).reason
    assert refused(410, session.exec, "1").advice


def _listed(session):
    """As in the list, which is no use of the session."""
    return next(s for s in session.client.sessions() if s.session_id == session.id)


def test_a_session_that_waits_for_input_is_idle(spawn):
    session = spawn(idle_timeout_secs=2)
    session.exec("x = 1")
    assert session.exec("input()").status == "input_required"
    host.eventually(lambda: _listed(session).state == "suspended", what="the suspension")
    assert go_on(session, 2).status == "interrupted"
    assert session.value("x") == "1"


def test_an_old_session_ends(spawn):
    session = spawn(max_age_secs=2)
    result = session.exec("import time; time.sleep(30)")
    assert (result.status, result["error"]["name"]) == ("died", "AgeLimit")
    assert "2 s" in result["error"]["message"] and result["error"]["advice"]


def test_defaults_of_life(session):
    info = session.info()
    assert (info.idle_timeout_secs, info.max_age_secs) == (600, 86400)


# Names.


def test_names_with_an_answer(session):
    changed = session.exec("a = 1; b = [1, 2, 3]")["names"]
    assert sorted(changed["added"]) == ["a", "b"] and changed["total"] == 2
    changed = session.exec("a = 'x'; del b")["names"]
    assert (changed["changed"], changed["removed"]) == (["a"], ["b"])
    assert "names" not in session.exec("1 + 1")
    assert "names" not in session.exec("c = 1", names=False)
    full = session.exec("c", names=True)["names"]
    assert [item["name"] for item in full["items"]] == ["a", "c"]
    assert full["items"][0]["type"] == "str"


def test_names_now_and_while_busy(session):
    session.exec("alpha = 1; beta = {'k': 1}; _hidden = 1")
    now = names(session)
    assert (now.total, now.busy, now.as_of) == (2, False, 1)
    assert [i["name"] for i in now["items"]] == ["alpha", "beta"]
    assert [i["name"] for i in names(session, max=1)["items"]] == ["alpha"]
    session.exec("gamma = 1; print('go', flush=True)\nwhile True: pass", yield_ms=0)
    host.eventually(lambda: session.output()["text"] == "go\n", what="a running cell")
    busy = names(session)
    assert (busy.total, busy.busy, busy.as_of) == (2, True, 1)
    session.interrupt()
    go_on(session, 2)
    host.eventually(lambda: names(session).total == 3)
    refused(400, names, session, max=-1)


def test_an_interrupt_without_effect_is_repeated_once(spawn):
    """Both are noticed, since the cell looks for them: an interrupt that comes just before an
    interpreter goes to sleep would need the second one itself."""
    session = spawn()
    answer = session.exec("import time\ntry:\n    print('on', flush=True)\n"
                          "    while True: time.sleep(0.01)\n"
                          "except KeyboardInterrupt: print('caught', flush=True)\n"
                          "while True: time.sleep(0.01)",
                          yield_ms=50)
    path, text = f"{session.path}/exec/{answer.number}/continue", answer["stdout"]
    while "on\n" not in text:
        text += session.client.call("POST", path, {"yield_ms": 50})["stdout"]
    assert session.interrupt() is True
    end = session.client.call("POST", path, {})
    assert end.status == "interrupted" and end["stdout"] == "caught\n", end


# Death certificates.


def certificate(session, code, **options):
    result = session.exec(code, **options)
    assert result.status in ("died", "timeout"), result
    error = Result(result["error"])
    assert error.message and error.advice
    assert error.message in session.info().reason
    return error, result


@pytest.mark.needs_root("without a cgroup the limit is one of addresses, and Python notices it")
def test_out_of_memory_with_the_limit(spawn):
    session = spawn(limits={"memory_mb": 64, "checkpoint_mb": 0})
    error, result = certificate(session, "x = bytearray(1)\nwhile True: x += bytes(1 << 20)")
    assert error.name == "OutOfMemory" and "its 64 MB" in error.message, error
    assert result.exit_code == 137


def test_processor_time(spawn):
    session = spawn(limits={"cpu_seconds": 1}, checkpoints="off", durable="off")
    assert session.info().limits.cpu_seconds == 1
    error, _ = certificate(session, "while True: pass")
    assert error.name == "CpuLimit" and "1 s" in error.message


@pytest.mark.parametrize(
    "code, name, words",
    [
        ("import os; os._exit(3)", "Exited", "exit code 3"),
        ("import os; os.kill(os.getpid(), 11)", "Crashed", "SIGSEGV"),
        ("import os; os.abort()", "Crashed", "SIGABRT"),
        ("import os; os.kill(os.getpid(), 9)", "Killed", "from inside"),
        ("import os; os.closerange(3, 64); import time; time.sleep(9)", "ControlChannel", "closed"),
        ("import os; os.closerange(3, 64); os._exit(5)", "Exited", "exit code 5"),
    ],
)  # fmt: skip
def test_ends_from_inside(spawn, code, name, words):
    session = spawn(checkpoints="off", durable="off")
    error, _ = certificate(session, code)
    assert error.name == name and words in error.message, error


def test_a_cell_that_ignores_its_time_limit(spawn):
    session = spawn(checkpoints="off", durable="off")
    code = "import signal; signal.signal(2, signal.SIG_IGN)\nwhile True: pass"
    error, result = certificate(session, code, timeout_ms=1000)
    assert (error.name, result.status) == ("TimeLimit", "timeout")


def test_a_denied_system_call_by_name(session):
    result = session.exec("""
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        for _ in range(2): libc.unshare(0x10000000)
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    """)
    assert result.status == "error" and session.is_alive()
    if "denied" in result:  # a kernel that can tell
        assert result["denied"] == [{"call": "unshare", "count": 2}]
        assert "denied" in result["error"]["advice"]
    assert "denied" not in session.exec("1")


def test_a_killed_session_says_so(client, session):
    with client.connect() as sock, sock.makefile("rb") as file:
        body = {"code": "print('go', flush=True)\nimport time; time.sleep(60)"}
        sock.sendall(client.post_bytes(session.path + "/exec", body))
        host.eventually(lambda: session.output()["text"] == "go\n")
        session.kill()
        error = read_reply(file).json["error"]
    assert (error["name"], "caller" in error["message"]) == ("Killed", True)


@pytest.mark.needs_root("without a cgroup the limit of processes is the user's")
def test_a_cell_that_meets_the_limit_of_processes(spawn):
    session = spawn(limits={"pids": 16})
    error = session.fails("""
        import subprocess
        many = [subprocess.Popen(['sleep', '60']) for _ in range(40)]
    """)
    assert "limits.pids" in error.advice
    assert session.value("'alive'") == "'alive'"


def test_a_cell_that_fills_its_disk(spawn):
    session = spawn(limits={"disk_mb": 4})
    error = session.fails("""
        with open('/workspace/big', 'wb') as f:
            while True: f.write(bytes(1 << 20)); f.flush()
    """)
    assert "limits.disk_mb" in error.advice, error


def test_a_cell_without_memory_for_an_object(session):
    error = session.fails("x = bytearray(1 << 50)")
    assert (error.name, "memory_mb" in error.advice) == ("MemoryError", True)
