"""What outlives the daemon: its sudden end, disks that refuse, bytes that changed on disk."""

import resource

import pytest

from harness import host
from harness.client import Session
from harness.daemon import StartFailed

MIN = "default_profile: min\n"


def again(daemon, session):
    """The same session, as another daemon on the same directory serves it."""
    return Session(daemon.client, session.spawned)


def kill(daemon):
    tree = daemon.tree()
    daemon.kill()
    host.eventually(lambda: not host.alive(tree), 5)


def test_what_was_acknowledged_as_durable_outlives_kill_9(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    for n in range(3):
        session.exec(f"x = {n}; open('/workspace/f', 'w').write('{n}')")
        answer = session.exec("def f(): return x", durable=True)
        assert answer.saved_through == answer.exec_id
        session.exec("x = 'not safe'")
        kill(daemon)
        daemon = launch(data=data, config=MIN)
        session = again(daemon, session)
        assert session.info().state == "suspended"
        answer = session.exec("f(), open('/workspace/f').read()")
        assert answer["value"]["text"] in (f"({n}, '{n}')", f"('not safe', '{n}')")
        assert answer.resumed["restored_from"] == "durable"
    daemon.stop()


def test_a_disk_that_refuses_is_told_and_loses_nothing(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    assert session.exec("x = 1", durable=True).saved_through == 1
    before = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (4096, before[1]))
    answer = session.exec("x = 2", durable=True)
    assert answer.status == "ok" and answer.saved_through == 1
    assert "cella.db" in answer.durable_error
    assert not daemon.client.call("GET", "/health/detailed").store["ok"]
    assert session.value("x") == "2"  # it goes on
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, before)
    answer = session.exec("y = 3", durable=True)
    assert answer.saved_through == answer.exec_id
    assert daemon.client.call("GET", "/health/detailed").store["ok"]
    assert daemon.errors().count("store_fails") == daemon.errors().count("store_works_again") == 1
    kill(daemon)
    daemon = launch(data=data, config=MIN)
    assert again(daemon, session).value("x, y") == "(2, 3)"
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


def test_a_damaged_database_is_left_for_the_administrator(launch):
    data = launch.new_data()
    launch(data=data, config=MIN).stop()
    database = data / "cella.db"
    database.write_bytes(b"not a database" + database.read_bytes()[14:])
    with pytest.raises(StartFailed) as caught:
        launch(data=data, config=MIN)
    assert str(database) in caught.value.stderr and "move cella.db" in caught.value.stderr
    database.rename(data / "cella.db.damaged")
    launch(data=data, config=MIN).stop()
