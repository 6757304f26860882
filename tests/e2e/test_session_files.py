"""Files that a caller puts into a session's workspace, reads and deletes: where they come out of
it, what undo, redo and crashes make of them, and what is refused."""

import concurrent.futures
import os

import pytest

from harness.client import Result, Session

pytestmark = pytest.mark.privilege

MIN = "default_profile: min\n"


@pytest.fixture
def timed(spawn):
    """A session with a checkpoint at each boundary, so that each cell can be undone by itself."""
    return spawn("min", checkpoints="every")


def undo(session, to=None):
    return session.client.call("POST", f"{session.path}/undo", {} if to is None else {"to": to})


def redo(session):
    return session.client.call("POST", f"{session.path}/redo", {})


def refused(reply, status):
    """The message of an answer that must be this error, with advice."""
    assert reply.status == status, reply
    error = reply.json["error"]
    assert error["advice"], error
    return error["message"]


LIST = "import os; ' '.join(sorted(os.path.join(d, f)[2:] for d, _, s in os.walk('.') for f in s))"


# ---- there and back ------------------------------------------------------------------------------


@pytest.mark.smoke
def test_a_file_that_is_put_can_be_read_by_cells_and_by_callers(session):
    content = bytes(range(256)) * 40
    reply = session.put("data.bin", content)
    assert reply.status == 201
    assert reply.json == {"path": "data.bin", "bytes": len(content), "created": True}
    assert session.value("open('data.bin', 'rb').read() == bytes(range(256)) * 40") == "True"
    assert session.get("data.bin").body == content


@pytest.mark.smoke
def test_it_belongs_to_the_sandbox_which_may_change_and_remove_it(session):
    session.put("dir/f.txt", b"one")
    assert session.value("import os; s = os.stat('dir/f.txt'); d = os.stat('dir')\n"
                         "(oct(s.st_mode), s.st_uid == d.st_uid == os.getuid(), oct(d.st_mode))"
                         ) == "('0o100644', True, '0o40755')"
    session.exec("open('dir/f.txt', 'a').write(' two'); os.chmod('dir/f.txt', 0o700)")
    assert session.get("dir/f.txt").body == b"one two"
    assert session.put("dir/f.txt", b"three").json["created"] is False
    assert session.value("open('dir/f.txt').read(), oct(os.stat('dir/f.txt').st_mode)"
                         ) == "('three', '0o100700')"
    session.exec("os.unlink('dir/f.txt'); os.rmdir('dir')")
    assert refused(session.get("dir/f.txt"), 404)


@pytest.mark.parametrize("path", ["plain.csv", "a/b/c/d.txt", "with space", "ünï/çødé.txt",
                                  "100%.txt", "?#&+.txt", ".hidden", "...", "new\nline"])
def test_paths_of_all_kinds(session, path):
    assert session.put(path, path.encode()).status == 201
    assert session.value(f"open({path!r}).read() == {path!r}") == "True"
    assert session.get(path).body == path.encode()
    assert session.delete(path).json == {"path": path, "deleted": True}
    assert refused(session.delete(path), 404)


@pytest.mark.smoke
def test_an_empty_file_and_one_of_some_megabytes(session):
    big = os.urandom(1 << 20) * 20
    assert session.put("empty", b"").json["bytes"] == 0
    assert session.put("big", big).status == 201
    assert session.value("import os; os.path.getsize('empty'), os.path.getsize('big')"
                         ) == f"(0, {len(big)})"
    assert session.get("big").body == big
    assert session.get("empty").body == b""


@pytest.mark.smoke
def test_a_file_read_has_a_type_and_a_name(session):
    session.put("sub/table.csv", b"a,b\n")
    reply = session.get("sub/table.csv")
    assert reply.headers["Content-Type"].startswith("text/csv")
    assert "table.csv" in reply.headers["Content-Disposition"]


# ---- what goes back ------------------------------------------------------------------------------


def test_a_file_put_before_the_first_cell_survives_its_crash(session):
    session.put("data.csv", b"as put")
    died = session.exec("import os; open('data.csv', 'w').write('half'); os._exit(1)")
    assert died.status == "died" and died.rolled_back_to == 0
    assert session.value("open('data.csv').read()") == "'as put'"


def test_a_file_put_between_cells_survives_a_crash(timed):
    timed.exec("import os; open('own', 'w').write('own')")
    timed.put("deep/er/data.csv", b"as put")
    assert timed.exec("os._exit(1)").status == "died"
    assert timed.value(LIST) == "'deep/er/data.csv own'"
    assert timed.value("open('deep/er/data.csv').read()") == "'as put'"


def test_undo_and_redo_of_a_cell_that_changed_it(timed):
    timed.exec("x = 1")
    timed.put("f", b"as put")
    timed.exec("open('f', 'w').write('changed')")
    undo(timed)
    assert timed.get("f").body == b"as put"
    redo(timed)
    assert timed.get("f").body == b"changed"
    undo(timed)
    assert timed.value("open('f').read()") == "'as put'"


def test_older_checkpoints_have_what_they_had(timed):
    first = timed.exec("x = 1").checkpoint
    second = timed.exec("x = 2").checkpoint
    timed.put("f", b"late")
    undo(timed, first)
    assert refused(timed.get("f"), 404)
    undo(timed, second)
    assert timed.get("f").body == b"late"


def test_what_is_deleted_stays_deleted(timed):
    timed.exec("open('f', 'w').write('f'); open('g', 'w').write('g')")
    assert timed.delete("f").status == 200
    assert timed.exec("import os; os._exit(1)").status == "died"
    assert timed.value(LIST) == "'g'"


def test_many_files_one_after_the_other(timed):
    timed.exec("x = 1")
    names = [f"d{i % 3}/s{i % 2}/f{i}" for i in range(24)]
    for name in names:
        timed.put(name, name.encode())
    assert timed.exec("import os, shutil; [shutil.rmtree(d) for d in os.listdir()]; os._exit(1)"
                      ).status == "died"
    assert timed.value(LIST) == repr(" ".join(sorted(names)))


# ---- cells that run meanwhile --------------------------------------------------------------------


WAIT = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.005)\n"


@pytest.fixture
def background():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield pool.submit


def wait_until_busy(session, eventually):
    eventually(lambda: session.info().state == "busy")


def test_a_running_cell_finds_a_file_that_is_put(session, background, eventually):
    cell = background(session.value, WAIT + "open('go').read()")
    wait_until_busy(session, eventually)
    assert session.put("go", b"gone").status == 201
    assert cell.result() == "'gone'"
    assert session.get("go").body == b"gone"


def test_a_file_put_while_a_cell_runs_survives_the_crash_of_that_cell(timed, background,
                                                                      eventually):
    timed.exec("x = 1")
    cell = background(timed.exec, WAIT + "os.unlink('go'); os._exit(1)")
    wait_until_busy(timed, eventually)
    assert timed.put("go", b"gone").status == 201
    assert cell.result().status == "died"
    assert timed.value("x, open('go').read()") == "(1, 'gone')"


def test_who_has_the_old_file_open_keeps_it(session):
    session.put("f", b"old and longer")
    session.exec("f = open('f'); start = f.read(3)")
    session.put("f", b"new")
    assert session.value("start + f.read(), open('f').read()") == "('old and longer', 'new')"


def test_puts_by_many_and_crashes_at_the_same_time_lose_nothing_that_was_answered(session,
                                                                                  background):
    def put_some(who):
        replies = [session.put(f"w{who}/f{i}", f"{who} {i}".encode()) for i in range(12)]
        return {f"w{who}/f{i}" for i, reply in enumerate(replies) if reply.status == 201}

    session.exec("import os")
    writers = [background(put_some, who) for who in range(4)]
    for _ in range(6):
        assert session.exec("import os; os._exit(1)").status == "died"
    answered = set().union(*(writer.result() for writer in writers))
    assert len(answered) == 48
    assert session.exec("import os; os._exit(1)").status == "died"
    assert set(session.value(LIST).strip("'").split()) == answered


# ---- hostile workspaces --------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "%2e%2e/x", "a/%2e%2e%2fx", "./x",
                                  "/etc/passwd", "%2fetc/passwd", "a//b", "a/", "a%00b", "%ff",
                                  "x" * 256, "a/" * 600 + "b"])
def test_paths_that_are_none(session, path):
    for method, body in (("PUT", b"x"), ("GET", None), ("DELETE", None)):
        reply = session.client.request(method, f"{session.path}/files/{path}", body)
        assert reply.status in (400, 404), reply
    assert session.value("import os; os.listdir()") == "[]"


@pytest.fixture
def outside(folder):
    """A directory of the host's that anybody may write to, with a file that anybody may read."""
    place = folder / "outside"
    place.mkdir()
    place.chmod(0o777)
    (place / "secret").write_text("secret")
    (place / "secret").chmod(0o666)
    return place


def test_links_are_not_followed(session, outside):
    session.exec(f"import os; os.symlink({str(outside)!r}, 'dir')\n"
                 f"os.symlink({str(outside / 'secret')!r}, 'file'); os.symlink('own', 'inner')\n"
                 "open('own', 'w').write('own'); os.symlink('..', 'up')")
    for path in ("dir/secret", "file", "inner", "up/own", "dir/new"):
        assert refused(session.get(path), 409)
        assert refused(session.put(path, b"x"), 409)
    assert refused(session.delete("dir/secret"), 409)
    assert session.delete("file").status == 200
    assert [f.name for f in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"
    assert session.value("os.path.lexists('file'), open('own').read()") == "(False, 'own')"


def test_directories_that_become_links_all_the_time(session, outside, background, eventually):
    """Whatever the moment: the file is in the workspace, or it is refused."""
    session.exec("import os, subprocess, sys")
    cell = background(session.exec, f"""
        os.mkdir('d'); os.symlink({str(outside)!r}, 'l')
        while not os.path.exists('go'):
            for a, b in ('dx', 'ld', 'dl', 'xd'):
                try:
                    os.rename(a, b)
                except OSError:  # the put made a directory of its own
                    pass
            if not os.path.exists('begun'): open('begun', 'w').close()
        """)
    eventually(lambda: session.get("begun").status == 200)
    for i in range(100):
        assert session.put(f"d/f{i}", b"x").status in (201, 409)
        assert session.get("d/secret").status in (404, 409)
        assert session.delete("d/secret").status in (404, 409)
    session.put("go", b"")
    assert cell.result().status == "ok"
    assert [f.name for f in outside.iterdir()] == ["secret"]


def test_what_is_no_file_is_refused_and_nobody_waits_for_it(session):
    session.exec("import os, socket; os.mkdir('dir'); os.mkfifo('pipe')\n"
                 "s = socket.socket(socket.AF_UNIX); s.bind('sock')")
    for path in ("dir", "pipe", "sock"):
        assert refused(session.get(path), 409)
        assert refused(session.put(path, b"x"), 409)
    assert "directory" in refused(session.delete("dir"), 409)
    assert refused(session.put("pipe/x", b"x"), 409)
    assert session.delete("pipe").status == session.delete("sock").status == 200
    assert session.value("os.listdir()") == "['dir']"


def test_another_name_of_the_same_file_keeps_its_bytes(session):
    session.exec("import os; open('a', 'w').write('old'); os.link('a', 'b')")
    session.put("a", b"new")
    assert session.value("open('a').read(), open('b').read()") == "('new', 'old')"
    session.delete("a")
    assert session.get("b").body == b"old"


def test_a_directory_that_forbids_everything_is_no_hindrance(session):
    session.exec("import os; os.mkdir('d'); os.chmod('d', 0)")
    assert session.put("d/f", b"x").status == 201
    assert session.get("d/f").body == b"x"


# ---- limits and states ---------------------------------------------------------------------------


def test_the_disk_limit_holds(spawn):
    session = spawn("min", limits={"disk_mb": 8})
    half = os.urandom(5 << 20)
    assert session.put("a", half).status == 201
    assert "disk limit" in refused(session.put("b", half), 413)
    assert session.put("a", half[::-1]).status == 200
    assert "disk limit" in refused(session.put("c", bytes(9 << 20)), 413)
    session.delete("a")
    assert session.put("b", half).status == 201
    assert session.value("import os; os.listdir()") == "['b']"


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(session):
    with session.client.connect() as sock:
        sock.sendall(session.client.head("PUT", f"{session.path}/files/f",
                                         Content_Length=1 << 50) + b"\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert refused(session.get("f"), 404)


def test_sessions_that_are_not_there(client, spawn):
    session = spawn("min")
    nobody = f"/v1/sessions/{'0' * 8}-0000-4000-8000-{'0' * 12}/files/f"
    assert refused(client.request("PUT", nobody, b"x"), 404)
    session.kill()
    assert refused(session.put("f", b"x"), 404)


def test_a_try_that_is_open_and_plan_mode_come_first(timed):
    timed.put("f", b"x")
    timed.exec("x = 1")
    tried = timed.client.call("POST", f"{timed.path}/try", {"code": "x = 2"})
    assert "try" in refused(timed.put("g", b"x"), 409)
    timed.client.call("POST", f"{timed.path}/tries/{tried.try_id}/discard")
    timed.client.call("PUT", f"{timed.path}/plan", {"reason": "think"})
    assert "plan mode" in refused(timed.put("g", b"x"), 409)
    assert "plan mode" in refused(timed.delete("f"), 409)
    assert timed.get("f").body == b"x"


# ---- beyond the process --------------------------------------------------------------------------


@pytest.mark.parametrize("runtime, crash, look", [
    ("node", "process.kill(process.pid, 'SIGKILL')",
     "require('fs').readFileSync('f', 'utf8')"),
    ("bash", "kill -9 $$", "cat f"),
])
def test_other_runtimes(spawn_runtime, runtime, crash, look):
    session = spawn_runtime(runtime)
    session.exec({"node": "x = 1", "bash": "x=1"}[runtime], durable=True)
    assert session.put("f", b"as put").status == 201
    assert session.exec(crash).status == "died"
    answer = session.exec(look)
    assert "as put" in answer["stdout"] + (answer["value"] or {}).get("text", "")


def test_a_session_with_threads(session):
    """It has no sleeping copies: a crash leads back to the durable one."""
    session.exec("import threading, os\n"
                 "threading.Thread(target=threading.Event().wait, daemon=True).start()",
                 durable=True)
    session.put("f", b"as put")
    session.put("g", b"as put")
    session.delete("g")
    assert session.exec("os.unlink('f'); os._exit(1)").status == "died"
    assert session.value("import os; os.listdir(), open('f').read()") == "(['f'], 'as put')"


def test_a_reset_keeps_files_and_so_does_a_crash_after_it(timed):
    timed.exec("open('own', 'w').write('own')")
    timed.put("f", b"as put")
    timed.client.call("POST", f"/v1/notebooks/{timed.id}/reset", {})
    assert timed.exec("import os; os.unlink('f'); os._exit(1)").status == "died"
    assert timed.value(LIST) == "'f own'"


def test_branches_have_it(timed):
    timed.exec("x = 1")
    timed.put("f", b"as put")
    made = timed.client.call("POST", f"{timed.path}/branch", {"count": 1})
    branch = Session(timed.client, Result(made.sessions[0]))
    assert branch.value("open('f').read()") == "'as put'"
    assert branch.put("g", b"own").status == 201
    assert branch.exec("import os; os._exit(1)").status == "died"
    assert branch.value(LIST) == "'f g'"
    assert timed.value(LIST) == "'f'"
    branch.kill()


def test_a_session_whose_cells_are_isolated_takes_files_between_them(spawn):
    session = spawn("min", isolation="per_cell")
    session.exec("x = 1")
    session.put("f", b"one")
    assert session.value("x, open('f').read()") == "(1, 'one')"
    session.put("f", b"two")
    assert session.value("x, open('f').read()") == "(1, 'two')"


def test_a_session_that_was_suspended_comes_back_for_it(launch):
    data = launch.new_data()
    daemon = launch(data=data, config=MIN)
    session = daemon.client.spawn("min")
    session.exec("x = 1")
    session.put("d/f", b"one")
    assert session.exec("y = 1", durable=True).saved_through == 2
    session.put("g", b"two")
    daemon.stop()
    daemon = launch(data=data, config=MIN)
    session = Session(daemon.client, session.spawned)
    assert session.info().state == "suspended"
    assert session.put("h", b"three").status == 201
    assert session.info().state == "idle"
    assert session.get("g").body == b"two"
    assert session.value("x") == "1"
    assert session.value(LIST) == "'d/f g h'"
    daemon.stop()
