"""What outlives the daemon: its sudden end, disks that refuse, bytes that changed on disk."""

import concurrent.futures
import contextlib
import os
import subprocess

import pytest

from harness import host
from harness.client import ApiError, Session
from harness.daemon import StartFailed
from harness.notebooks import Notebook, value_of

pytestmark = [pytest.mark.privilege, pytest.mark.release]

MIN = "default_profile: min\n"


def again(daemon, session):
    """The same session, as another daemon on the same directory serves it."""
    return Session(daemon.client, session.spawned)


def kill(daemon):
    tree = daemon.tree()
    daemon.kill()
    host.eventually(lambda: not host.alive(tree))


def test_what_was_acknowledged_as_durable_outlives_kill_9(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    session.exec("x = 1; open('/workspace/f', 'w').write('one')")
    answer = session.exec("def f(): return x", durable=True)
    assert answer.saved_through == answer.number
    session.exec("x = 2")
    kill(daemon)
    daemon = launch(data=data, config=MIN)
    session = again(daemon, session)
    assert session.info().state == "suspended"
    answer = session.exec("f(), open('/workspace/f').read()")
    # The last cell was not awaited: it may be safe or not.
    assert answer["value"]["text"] in ("(1, 'one')", "(2, 'one')")
    assert answer.resumed["restored_from"] == "durable"
    assert answer.number > 2
    daemon.stop()


@pytest.mark.one_mode
def test_who_waits_for_safety_is_answered_when_the_interpreter_ends_meanwhile(spawn):
    """Its end may fall into any step: the fork of the checkpoint, its falling asleep, the save."""
    session = spawn("min")
    session.exec("import subprocess, os; n = -1", durable=True)
    for i in range(40):
        killer = f"sleep {i / 5000}; kill -9 $PPID"
        answer = session.exec(f"n = {i}; p = subprocess.Popen({killer!r}, shell=True)",
                              durable=True)
        is_safe = answer.status == "ok" and answer.saved_through >= answer.number
        assert is_safe or answer.get("durable_error") or answer.status == "died", answer
        looks = []
        host.eventually(lambda: looks.append(session.exec("n")) or looks[-1].status == "ok")
        assert not is_safe or looks[-1]["value"]["text"] == str(i), (answer, looks)


@pytest.mark.one_mode
def test_a_save_does_not_wait_for_the_next_cell(spawn):
    session = spawn("min")
    session.exec("x = 1", durable=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        safe = pool.submit(session.exec, "import time; time.sleep(0.1); y = 2", durable=True)
        host.eventually(lambda: session.info().exec_count == 2)
        endless = pool.submit(session.exec, "import signal\nwhile True: signal.pause()",
                              timeout_ms=3_600_000)
        answer = safe.result()
        assert answer.saved_through == answer.number, answer
        host.eventually(session.interrupt)
        assert endless.result().status == "interrupted"


@pytest.mark.one_mode
@pytest.mark.slow
def test_files_beyond_the_budget_are_said_not_to_be_safe(spawn):
    session = spawn("min")
    assert "files_not_saved" not in session.exec("open('f', 'w').close(); x = 1", durable=True)
    answer = session.exec("for i in range(20_001): open(f'f{i}', 'w').close()", durable=True)
    assert answer.saved_through == answer.number, answer
    assert "20000" in answer.files_not_saved, answer
    answer = session.exec("import os\nfor i in range(20_001): os.unlink(f'f{i}')", durable=True)
    assert "files_not_saved" not in answer


@contextlib.contextmanager
def small_disk(launch):
    """A data directory on a file system of 16 MB, and a file that takes all that is left of it."""
    top = launch.new_data()
    top.mkdir(parents=True)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0777",
                                            "none", top], check=False).returncode != 0:
        pytest.skip("mounting takes root")
    try:
        yield top / "data", top / "ballast"
    finally:
        subprocess.run(["umount", "-l", top], check=True)


def fill(ballast):
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_full_disk_is_told_and_loses_nothing(launch):
    with small_disk(launch) as (data, ballast):
        daemon = launch(data=data, config=MIN)
        session = daemon.client.spawn("min")
        assert session.exec("x = 1", durable=True).saved_through == 1
        fill(ballast)
        answer = session.exec("x = 2; y = 'long' * 9000", durable=True)
        assert answer.status == "ok" and answer.saved_through == 1
        assert "is full" in answer.durable_error
        assert not daemon.client.call("GET", "/health/detailed").store["ok"]
        assert session.value("x") == "2"  # it goes on
        ballast.unlink()
        answer = session.exec("z = 3", durable=True)
        assert answer.saved_through == answer.number
        assert daemon.client.call("GET", "/health/detailed").store["ok"]
        assert daemon.errors().count("store_fails") == 1
        assert daemon.errors().count("store_works_again") == 1
        kill(daemon)
        daemon = launch(data=data, config=MIN)
        assert again(daemon, session).value("x, y[:4], z") == "(2, 'long', 3)"
        daemon.stop()


def test_notebooks_can_be_read_while_the_disk_is_full(launch):
    with small_disk(launch) as (data, ballast):
        daemon = launch(data=data, config=MIN)
        session = daemon.client.spawn("min")
        notebook = Notebook(daemon.client, session.id)
        session.exec("'before'", durable=True)
        fill(ballast)
        session.exec("'long' * 100_000")
        with pytest.raises(ApiError, match="is full"):
            notebook.add("refused")
        assert notebook.sources() == ["'before'", "'long' * 100_000"]
        assert len(value_of(notebook.cell(-1))) == 400_002 and notebook.info().cell_count == 2
        assert [n["notebook_id"] for n in daemon.client.call("GET", "/v1/notebooks").notebooks] == [
            session.id]
        assert b"'before'" in notebook.export("script").body
        assert not daemon.client.call("GET", "/health/detailed").store["ok"]
        ballast.unlink()
        assert notebook.add("accepted")
        kill(daemon)
        daemon = launch(data=data, config=MIN)
        notebook = Notebook(daemon.client, session.id)
        assert notebook.sources() == ["'before'", "'long' * 100_000", "accepted"]
        daemon.stop()


def test_a_damaged_body_costs_its_variables_only(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    session.exec("import os; big = os.urandom(300_000); small = 5", durable=True)
    kill(daemon)
    (blob,) = [path for path in data.glob("blobs/??/*") if path.stat().st_size > 200_000]
    blob.chmod(0o600)
    with blob.open("r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    daemon = launch(data=data, config=MIN)
    session = again(daemon, session)
    answer = session.exec("small")
    assert answer["value"]["text"] == "5"
    assert [lost["name"] for lost in answer.resumed["lost"]] == ["big"]
    assert "damaged" in answer.resumed["lost"][0]["advice"]
    assert session.fails("big").name == "NameError"
    daemon.stop()


@pytest.mark.smoke
def test_a_damaged_database_is_left_for_the_administrator(launch):
    data = launch.new_data()
    launch(data=data, config=MIN).stop()
    database = data / "cella.db"
    database.write_bytes(b"not a database" + database.read_bytes()[14:])
    with pytest.raises(StartFailed) as caught:
        launch(data=data, config=MIN)
    assert str(database) in caught.value.stderr and "move cella.db" in caught.value.stderr
    assert database.read_bytes().startswith(b"not a database")
