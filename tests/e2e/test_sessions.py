"""Sessions: spawn, list, look at, kill; their states and limits."""

import datetime
import re
import threading

import pytest

from harness import host
from harness.client import ApiError

pytestmark = [pytest.mark.privilege, pytest.mark.release]

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@pytest.mark.smoke
def test_spawn_answers_201_with_the_session(client, spawn):
    reply = client.request("POST", "/v1/sessions", {"profile": "min"})
    assert reply.status == 201
    session = reply.json
    assert re.fullmatch(UUID, session["session_id"])
    assert session["runtime"] == "python"
    assert session["profile"] == "min"
    assert session["cwd"] == "/workspace"
    assert session["state"] in ("starting", "idle")
    assert session["exec_count"] == 0
    assert session["output_len"] == 0
    assert not {"exit_code", "queued", "plan"} & set(session)
    datetime.datetime.fromisoformat(session["spawned_at"].replace("Z", "+00:00"))
    client.call("DELETE", f"/v1/sessions/{session['session_id']}")


def test_spawn_needs_no_member_and_no_body_at_all(launch):
    client = launch(config=None).client
    for body in ({}, None):
        session = client.call("POST", "/v1/sessions", body)
        assert (session.runtime, session.profile) == ("python", "data")


@pytest.mark.smoke
def test_default_limits_are_told(session):
    assert session.info().limits == {
        "memory_mb": 512, "cpu_percent": 100, "pids": 128, "disk_mb": 1024,
        "cpu_seconds": 0, "checkpoint_mb": 512,
    }


def test_limits_can_be_set_one_by_one(spawn):
    session = spawn("min", limits={"memory_mb": 256, "pids": 32})
    assert session.info().limits == {
        "memory_mb": 256, "cpu_percent": 100, "pids": 32, "disk_mb": 1024,
        "cpu_seconds": 0, "checkpoint_mb": 512,
    }
    assert session.value("1 + 1") == "2"


def test_a_session_is_in_the_list_until_it_is_killed(client, session):
    listed = client.call("GET", "/v1/sessions?limit=1000")
    assert listed.count == len(listed.sessions)
    assert session.id in [s["session_id"] for s in listed.sessions]
    assert session.kill() == {"session_id": session.id, "killed": True}
    assert session.id not in [s.session_id for s in client.sessions() if s.state != "dead"]


def test_what_is_counted(session):
    session.exec("print('four')")
    session.exec("import sys; sys.stderr.write('12345')")
    info = session.info()
    assert info.exec_count == 2
    assert info.output_len == 10


def test_a_running_cell_makes_the_session_busy(session, eventually):
    cell = threading.Thread(target=session.exec, args=("import signal; signal.pause()",))
    cell.start()
    eventually(lambda: session.info().state == "busy")
    eventually(session.interrupt)
    cell.join()
    eventually(lambda: session.info().state == "idle")


def test_exec_ids_count_from_one(session):
    assert [session.exec("pass").number for _ in range(3)] == [1, 2, 3]


def test_exec_in_a_killed_session_is_an_error_that_says_so(session):
    session.kill()
    with pytest.raises(ApiError) as caught:
        session.exec("1")
    assert caught.value.status in (404, 410)
    assert caught.value.advice


@pytest.mark.parametrize("suffix", ["", "/exec", "/output", "/interrupt"])
def test_an_unknown_session_is_404(client, suffix):
    path = "/v1/sessions/00000000-0000-4000-8000-000000000000" + suffix
    method = "GET" if suffix in ("", "/output") else "POST"
    body = {"code": "1"} if suffix == "/exec" else None
    reply = client.request(method, path, body)
    assert reply.status == 404
    assert reply.json["error"]["code"] == "not_found"
    assert reply.json["error"]["advice"]


def test_a_session_that_ends_itself_is_dead_and_says_why(spawn):
    session = spawn(checkpoints="off", durable="off")
    result = session.exec("import os; os._exit(7)")
    assert result.status == "died"
    assert result.exit_code == 7
    assert result["error"]["message"]
    info = session.info()
    assert info.state == "dead"
    assert info.exit_code == 7
    assert info.reason


def test_a_session_ended_by_a_signal_is_dead_and_says_which(spawn):
    session = spawn(checkpoints="off", durable="off")
    result = session.exec("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert result.status == "died"
    assert "SIGSEGV" in str(result["error"]) or "signal 11" in str(result["error"])
    assert session.info().state == "dead"


def test_a_dead_session_can_be_killed(spawn):
    session = spawn(checkpoints="off", durable="off")
    session.exec("import os; os._exit(1)")
    assert session.kill()["killed"] is True


def test_every_process_of_a_session_ends_with_it(daemon, spawn):
    session = spawn(checkpoints="off", durable="off")  # no copy of it that saves is there either
    jail = daemon.jail(session)
    session.exec(
        """
        import os, subprocess, time
        kids = [subprocess.Popen(["sleep", "1000"], preexec_fn=os.setsid) for _ in range(5)]
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)
        os.wait()
        """
    )
    assert len(jail()) == 8  # init, interpreter, five children, and the one that left
    session.kill()
    host.eventually(lambda: not jail(), what="the end of the session's processes")


def test_sessions_do_not_share_variables(spawn):
    one, two = spawn(), spawn()
    one.exec("x = 1")
    assert two.fails("x").name == "NameError"


def test_sessions_do_not_share_files(spawn):
    one, two = spawn(), spawn()
    one.exec("open('/workspace/f', 'w').write('1'); open('/tmp/f', 'w').write('1')")
    assert two.value("import os; os.listdir('/workspace')") == "[]"
    assert two.value("os.path.exists('/tmp/f')") == "False"


@pytest.mark.slow
def test_fifty_sessions_at_once(client, spawn):
    sessions = [spawn("min") for _ in range(50)]
    for n, session in enumerate(sessions):
        session.exec(f"x = {n}")
    assert [s.value("x") for s in sessions] == [str(n) for n in range(50)]
    assert {s.id for s in sessions} <= {s.session_id for s in client.sessions()}


def test_sessions_spawned_by_many_clients_at_once(client):
    failures = []

    def one(n):
        try:
            session = client.spawn("min")
            assert session.value(f"{n} * 2") == str(n * 2)
            session.kill()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_workspace_files_of_a_killed_session_are_gone(daemon, session):
    session.exec("open('/workspace/unmistakable-name', 'w').write('x')")
    (workspace,) = [p.parent for p in (daemon.data / "workspaces").glob("*/unmistakable-name")]
    session.kill()
    host.eventually(lambda: not workspace.exists(), what="the end of the workspace")
