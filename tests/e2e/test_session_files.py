"""Files that a caller puts into a session's workspace, reads and deletes: where they come out of
it, what undo, redo and crashes make of them, and what is refused."""

import os

import pytest


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


def test_a_file_that_is_put_can_be_read_by_cells_and_by_callers(session):
    content = bytes(range(256)) * 40
    reply = session.put("data.bin", content)
    assert reply.status == 201
    assert reply.json == {"path": "data.bin", "bytes": len(content), "created": True}
    assert session.value("open('data.bin', 'rb').read() == bytes(range(256)) * 40") == "True"
    assert session.get("data.bin").body == content


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


def test_an_empty_file_and_one_of_some_megabytes(session):
    big = os.urandom(1 << 20) * 20
    assert session.put("empty", b"").json["bytes"] == 0
    assert session.put("big", big).status == 201
    assert session.value("import os; os.path.getsize('empty'), os.path.getsize('big')"
                         ) == f"(0, {len(big)})"
    assert session.get("big").body == big
    assert session.get("empty").body == b""


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
