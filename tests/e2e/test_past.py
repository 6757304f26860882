"""What a session's past is worth: how much a crash costs, and that it outlives suspension and
kill -9."""

import concurrent.futures
import contextlib
import sqlite3

import pytest

from harness import host
from harness.client import ApiError, Result, Session

pytestmark = [pytest.mark.privilege]

CRASH = "import ctypes; ctypes.string_at(0)"
MIN = "default_profile: min\n"


def suspended(session):
    def look():  # without asking the session, which would not be idle then
        return next(s for s in session.client.sessions() if s.session_id == session.id)

    host.eventually(lambda: look().state == "suspended", what="the suspension")


def safe(session):
    """Until the last cell and what callers put is saved."""
    host.eventually(lambda: session.info()["all_saved"], what="the save")


def health(session):
    return session.client.call("GET", "/health/detailed")


def post(session, what, **body):
    return session.client.call("POST", f"{session.path}/{what}", body)


def restart(daemon, launch, data, session):
    daemon.kill()
    daemon = launch(data=data, config=MIN)
    return daemon, Session(daemon.client, session.spawned)


# A crash costs its cell, or 25 ms of quick ones.


@pytest.mark.smoke
@pytest.mark.one_mode
def test_a_long_cell_is_kept_though_others_are_queued(spawn):
    session = spawn()
    session.exec("a = 0")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        long = pool.submit(session.exec, "import time; time.sleep(0.5); model = 1")
        host.eventually(lambda: session.info().state == "busy")
        crash = pool.submit(session.exec, CRASH)
        assert long.result()["checkpoint"] is not None
        assert crash.result()["rolled_back_cells"] == [3], crash.result()
    assert session.value("a, model") == "(0, 1)"


@pytest.mark.one_mode
def test_quick_cells_share_a_bounded_time_of_work(spawn):
    """25 ms, and on a machine where a checkpoint takes long up to ten times that."""
    session = spawn()
    ran = {}
    while sum(ran.values()) <= 260:  # a fast machine needs more cells for it
        result = session.exec(f"v{len(ran)} = sum(range(100_000))")
        ran[result.number] = result.duration_ms
    lost = session.exec(CRASH)["rolled_back_cells"][:-1]
    # The last of them made it too much, if it is: a longer one would have been kept by itself.
    assert sum(ran[cell] for cell in lost[:-1]) <= 250, (lost, ran)
    assert len(lost) < len(ran)
    assert session.value(f"v{len(ran) - len(lost) - 1}") == str(sum(range(100_000)))


@pytest.mark.one_mode
def test_a_checkpoint_in_an_answer_is_that_cells_or_none(spawn):
    session = spawn()
    given = {}
    for n in range(12):
        answer = session.exec(f"n = {n}" if n % 4 else f"import time; time.sleep(0.05); n = {n}")
        if answer["checkpoint"] is not None:
            given[answer["checkpoint"]] = n
    assert len(given) >= 3, given
    # The newest: each undo and each look makes more of them, for which older ones are given up.
    for checkpoint in sorted(given, reverse=True)[:3]:
        post(session, "undo", to=checkpoint)
        assert session.value("n") == str(given[checkpoint])


# The past outlives suspension and the daemon.


@pytest.mark.smoke
def test_undo_after_a_suspension_takes_back_one_cell(spawn):
    session = spawn(idle_timeout_secs=1)
    session.exec("x = 1; open('data.txt', 'w').write('precious')")
    session.exec("y = 2")
    suspended(session)
    session.exec("z = 3")
    undone = post(session, "undo")
    assert undone["cells"] == [3] and undone["to"] != 0, undone
    assert session.value("x, y, 'z' in globals(), open('data.txt').read()") == \
        "(1, 2, False, 'precious')"


@pytest.mark.parametrize("runtime", ["python", "bash"])
@pytest.mark.sampled(2)
def test_undo_and_redo_after_kill_9(launch, runtime):
    codes = {"python": ("n = {0}; open('f', 'w').write('{0}')", "n, open('f').read()",
                        lambda n: f"({n}, '{n}')"),
             "bash": ("n={0}; printf %s {0} > f", "echo $n $(cat f)", lambda n: f"{n} {n}\n")}
    write, read, shown = codes[runtime]
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    members = {"profile": "min"} if runtime == "python" else {}
    session = Session(daemon.client, daemon.client.call("POST", "/v1/sessions",
                                                        {"runtime": runtime, **members}))

    def look():
        answer = session.exec(read)
        return answer["value"]["text"] if runtime == "python" else answer["stdout"]

    for n in (1, 2, 3):
        session.exec(write.format(n), durable=True)
    before = session.checkpoints()
    daemon, session = restart(daemon, launch, data, session)
    after = session.checkpoints()
    assert [c["id"] for c in after["checkpoints"]] == [c["id"] for c in before["checkpoints"]]
    assert after["current"] == before["current"]
    undone = post(session, "undo")
    assert undone["cells"] == [3] and undone["restored_from"] == "durable", undone
    assert look() == shown(2)
    post(session, "undo", to=before["checkpoints"][0]["id"])
    assert look() == shown(1)
    post(session, "undo", to=before["checkpoints"][2]["id"])
    assert look() == shown(3)
    daemon.stop()


@pytest.mark.one_mode
def test_the_last_eight_saved_states_outlive_kill_9(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    ids = [session.exec(f"n = {n}", durable=True)["checkpoint"] for n in range(12)]
    daemon, session = restart(daemon, launch, data, session)
    kept = [c["id"] for c in session.checkpoints()["checkpoints"]]
    assert kept == ids[-8:]
    with pytest.raises(ApiError) as refused:
        post(session, "undo", to=ids[-9])
    assert refused.value.status in (404, 409, 410), refused.value
    assert session.value("n") == "11"
    post(session, "undo", to=ids[-8])
    assert session.value("n") == "4"
    daemon.stop()


@pytest.mark.one_mode
def test_undo_to_a_state_that_is_gone_leaves_the_session_as_it_is(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    first = session.exec("n = 1", durable=True)["checkpoint"]
    session.exec("n = 2", durable=True)
    daemon.kill()
    with contextlib.closing(sqlite3.connect(f"{data}/cella.db")) as db, db:
        db.execute("delete from states where checkpoint = ?", (first,))
    daemon = launch(data=data, config=MIN)
    session = Session(daemon.client, session.spawned)
    assert session.value("n") == "2"
    with pytest.raises(ApiError) as refused:
        post(session, "undo", to=first)
    assert refused.value.status == 503, refused.value
    assert session.value("n") == "2"
    daemon.stop()


@pytest.mark.one_mode
def test_what_was_undone_can_be_redone_after_kill_9(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    for n in (1, 2):
        session.exec(f"n = {n}", durable=True)
    assert post(session, "undo")["cells"] == [2]
    host.eventually(lambda: health(session)["store"]["queued"] == 0)
    daemon, session = restart(daemon, launch, data, session)
    post(session, "redo")
    assert session.value("n") == "2"
    daemon.stop()


@pytest.mark.one_mode
def test_a_branch_of_what_is_only_saved(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    for n in (1, 2):
        session.exec(f"n = {n}; open('f', 'w').write('{n}')", durable=True)
    daemon, session = restart(daemon, launch, data, session)
    made = post(session, "branch")["sessions"]
    present = Session(daemon.client, Result(made[0]))
    assert present.value("n, open('f').read()") == "(2, '2')"
    daemon, session = restart(daemon, launch, data, session)
    made = post(session, "branch", at=session.checkpoints()["checkpoints"][0]["id"])["sessions"]
    earlier = Session(daemon.client, Result(made[0]))
    assert earlier.value("n, open('f').read()") == "(1, '1')"
    assert session.value("n, open('f').read()") == "(2, '2')"
    daemon.stop()


@pytest.mark.one_mode
def test_undo_goes_to_the_beginning_only_if_it_is_told_to(launch):
    daemon = launch(config=MIN + "checkpoints_kept: 2\n")
    session = daemon.client.spawn("min", checkpoints="every", durable="off")
    for n in range(5):
        session.exec(f"n = {n}")
    post(session, "undo")
    with pytest.raises(ApiError) as refused:
        post(session, "undo")
    assert refused.value.status == 409 and "no checkpoint before" in refused.value.message
    assert session.value("n") == "3"
    assert post(session, "undo", to=0)["to"] == 0
    assert session.fails("n").name == "NameError"


# What callers put before the first cell.


def test_a_file_without_a_cell_outlives_a_suspension(spawn):
    session = spawn(idle_timeout_secs=1)
    session.client.request("PUT", f"{session.path}/files/d.csv", b"a,b\n1,2\n")
    suspended(session)
    assert session.value("open('d.csv').read()") == r"'a,b\n1,2\n'"


def test_a_session_without_a_cell_is_suspended_too(spawn):
    session = spawn(idle_timeout_secs=1)
    suspended(session)
    answer = session.exec("1 + 1")
    assert answer["value"]["text"] == "2" and "resumed" not in answer


@pytest.mark.one_mode
@pytest.mark.slow
def test_a_file_without_a_cell_outlives_kill_9(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min", checkpoints="every")
    session.client.request("PUT", f"{session.path}/files/d.csv", b"a,b\n")
    safe(session)
    daemon, session = restart(daemon, launch, data, session)
    assert session.value("open('d.csv').read()") == r"'a,b\n'"
    assert session.exec("open('e.csv', 'w').write('x')").status == "ok"
    post(session, "undo")
    assert session.value("__import__('os').listdir()") == "['d.csv']"
    daemon.stop()


# What is not taken back is named.


@pytest.mark.one_mode
@pytest.mark.parametrize("runtime", ["python", "bash"])
def test_what_undo_leaves_in_tmp_is_named(spawn_runtime, runtime):
    write = {"python": "open('/tmp/{0}', 'w').write('1')", "bash": "echo 1 > /tmp/{0}"}[runtime]
    wait = {"python": "import time; time.sleep(0.05)", "bash": "sleep 0.05"}[runtime]
    session = spawn_runtime(runtime, checkpoints="every")
    session.exec(write.format("before"))
    session.exec(wait + "\n" + write.format("after"))  # files have the time of the last tick
    left = [note["detail"] for note in post(session, "undo")["not_undone"]]
    assert left == ["/tmp/after was written since, and stays"], left


@pytest.mark.one_mode
@pytest.mark.slow
def test_checkpoints_that_cannot_be_made_push_no_saved_one_out(launch):
    """While threads run the interpreter is not copied: there are checkpoints without a process."""
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min", checkpoints="every")
    first = session.exec("n = 1", durable=True)["checkpoint"]
    daemon, session = restart(daemon, launch, data, session)
    session.exec("import threading; stop = threading.Event()\n"
                 "threading.Thread(target=stop.wait, daemon=True).start()")
    for n in range(12):
        session.exec(f"n = {n}")

    def kept():
        return {c["id"]: c["restore"] for c in session.checkpoints()["checkpoints"]}

    host.eventually(lambda: list(kept().values()).count("no") >= 8, "eight without a process")
    assert kept().get(first) not in (None, "no"), kept()
    post(session, "undo", to=first)
    assert session.value("n") == "1"
    daemon.stop()
