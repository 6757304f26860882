"""Whatever ends a cell or a session early is told in words that its caller can act on."""

import pytest

from harness import host

pytestmark = pytest.mark.privilege

EATS_MEMORY = {
    "python": "x = b'x' * 10**9",
    "node": "const all = []; while (true) all.push(Buffer.alloc(1 << 20, 1))",
    "bash": "x=x; while :; do x=$x$x; done",
}
LOOP = {"python": "while True: pass", "node": "while (true) {}", "bash": "while :; do :; done"}
EXIT = {"python": "import sys; sys.exit(3)", "node": "process.exit(3)", "bash": "exit 3"}
END = "import os; os._exit(3)"
SUICIDE = {
    "python": "import os; os.kill(os.getpid(), 9)",
    "node": "process.kill(process.pid, 'SIGKILL'); while (true) {}",
    "bash": "kill -9 $$",
}
CRASH = {
    "python": "import ctypes; ctypes.string_at(0)",
    "node": "process.kill(process.pid, 'SIGSEGV'); while (true) {}",
    "bash": "kill -SEGV $$",
}


@pytest.fixture(params=["python", "node", "bash"])
def runtime(request):
    return request.param


def mortal(spawn_runtime, runtime, **members):
    """A session without a way back: what ends its interpreter ends it."""
    return spawn_runtime(runtime, checkpoints="off", durable="off", **members)


def dies(session, code, name, *words, **members):
    """A cell that ends its session: the certificate of cell and session says these words."""
    result = session.exec(code, **members)
    assert result.status == "died", result
    error = result["error"]
    assert error["name"] == name, error
    for word in words:
        assert word in error["message"], error
    assert error["advice"]
    info = session.info()
    assert info.state == "dead" and info.reason == error["message"], info
    return result


@pytest.mark.smoke
@pytest.mark.needs_root("an ordinary user may not limit memory")
@pytest.mark.sampled(3)
def test_out_of_memory(spawn_runtime, runtime):
    session = mortal(spawn_runtime, runtime, limits={"memory_mb": 96, "checkpoint_mb": 0})
    dies(session, EATS_MEMORY[runtime], "OutOfMemory", "memory", "96", timeout_ms=25_000)


@pytest.mark.sampled(3)
def test_processor_time(spawn_runtime, runtime):
    session = mortal(spawn_runtime, runtime, limits={"cpu_seconds": 1})
    dies(session, LOOP[runtime], "CpuLimit", "1", timeout_ms=25_000)


def test_an_interpreter_that_ends_itself(spawn_runtime):
    assert dies(mortal(spawn_runtime, "python"), END, "Exited", "3")["exit_code"] == 3


def test_an_exit_ends_the_cell_only(spawn_runtime, runtime):
    """Also where there is no way back."""
    session = mortal(spawn_runtime, runtime)
    result = session.exec(EXIT[runtime])
    assert (result.status, result["exit_code"]) == ("error", 3)
    assert (result["error"]["name"], result["error"]["message"]) == ("SystemExit", "3")
    assert session.exec("").status == "ok" and session.info().state == "idle"


@pytest.mark.sampled(2)
def test_an_interpreter_that_kills_itself(spawn_runtime, runtime):
    result = dies(mortal(spawn_runtime, runtime), SUICIDE[runtime], "Killed", "SIGKILL")
    assert result["exit_code"] == 137


def test_a_crash_names_the_signal(spawn_runtime, runtime):
    result = dies(mortal(spawn_runtime, runtime), CRASH[runtime], "Crashed", "SIGSEGV")
    assert result["exit_code"] == 139


def test_a_time_limit_that_was_kept(spawn_runtime, runtime):
    session = mortal(spawn_runtime, runtime)
    result = session.exec(LOOP[runtime], timeout_ms=100)
    assert (result.status, result["error"]["name"]) == ("timeout", "TimeLimit")
    assert "100 ms" in result["error"]["message"] and result["error"]["advice"]
    assert session.exec("").status == "ok"


def test_a_session_that_its_caller_ends(spawn_runtime, runtime):
    session = mortal(spawn_runtime, runtime)
    early = session.exec(LOOP[runtime], yield_ms=20)
    session.kill()
    reply = session.client.request("POST", f"{session.path}/exec/{early.number}/continue", {})
    assert reply.status in (200, 404, 410), reply
    if reply.status == 200:
        assert reply.json["error"]["name"] == "Killed", reply


@pytest.mark.smoke
def test_a_denied_call_is_named(spawn_runtime):
    result = mortal(spawn_runtime, "python").exec(
        "import ctypes; ctypes.CDLL(None, use_errno=True).unshare(0x10000000)")
    assert result.status == "ok"
    assert {"call": "unshare", "count": 1} in result["denied"]


@pytest.mark.needs_root("an ordinary user may not limit processes")
def test_a_process_limit_that_the_cell_survives_comes_with_advice(spawn_runtime):
    session = mortal(spawn_runtime, "python", limits={"pids": 8})
    result = session.exec("import subprocess\nall = [subprocess.Popen(['sleep', '9']) "
                          "for _ in range(20)]")
    assert (result.status, result["error"]["name"]) == ("error", "BlockingIOError")
    assert "process" in result["error"]["advice"]
    session.exec("for p in all: p.kill()")


def test_a_full_workspace_comes_with_advice(spawn_runtime):
    session = mortal(spawn_runtime, "python", limits={"disk_mb": 2})
    result = session.exec("open('big', 'wb').write(bytes(100_000_000))")
    assert result.status in ("error", "died")
    assert "disk" in result["error"]["message"] + (result["error"].get("advice") or ""), result


def test_what_ended_a_session_is_told_to_those_who_come_later(spawn_runtime):
    session = mortal(spawn_runtime, "python")
    session.exec(END)
    reply = session.client.request("POST", f"{session.path}/exec", {"code": ""})
    assert reply.status == 410
    assert "exit code 3" in reply.json["error"]["message"], reply
    listed = [s for s in session.client.sessions() if s.session_id == session.id]
    assert [s.exit_code for s in listed] == [3]
    host.eventually(lambda: session.info().state == "dead")


@pytest.mark.one_mode
@pytest.mark.slow
def test_a_crash_leaves_the_stack_and_no_list_of_libraries(spawn):
    result = spawn("data").exec("import ctypes\ndef deep(): ctypes.string_at(0)\ndeep()")
    assert result.status == "died"
    assert result.stderr.startswith("Fatal Python error: Segmentation fault\n")
    assert 'File "<cell 1>", line 2 in deep' in result.stderr
    assert 'File "<cell 1>", line 3 in <module>' in result.stderr
    assert "/cella/" not in result.stderr
    assert "Extension modules" not in result.stderr
