"""What a Python session still has when a copy of its interpreter took over: after a crash, after
undo, and in a branch."""

import re

import pytest

pytestmark = [pytest.mark.privilege, pytest.mark.release]

STATE = """
    import asyncio, mmap, os, random, socket, sqlite3, subprocess, tempfile
    x = 1
    reads_x = lambda: x
    numbers = (n for n in range(9)); next(numbers)
    random.seed(5)
    f = open('f', 'w+'); f.write('abcdef'); f.flush(); f.seek(2)
    c = sqlite3.connect('db'); c.execute('pragma journal_mode=wal')
    c.execute('create table t(x)'); c.execute('insert into t values (1)'); c.commit()
    task = asyncio.create_task(asyncio.sleep(0.001, 'slept'))
    await asyncio.sleep(0)
    """
LOOK = """
    (reads_x(), next(numbers), round(random.random(), 6), f.read(),
     c.execute('select * from t').fetchall(), await task)
    """
SEEN = "(1, 1, 0.622902, 'cdef', [(1,)], 'slept')"


@pytest.fixture
def session(daemon):
    made = daemon.client.spawn(checkpoints="every", durable="off")
    made.exec(STATE)
    return made


@pytest.mark.smoke
def test_a_crash_costs_its_cell_alone(session):
    session.exec("child = subprocess.Popen(['sleep', '1000'])")
    crashed = session.exec("import ctypes; ctypes.string_at(0)")
    assert crashed.status == "died" and crashed.rolled_back_cells == [3], crashed
    assert session.value(LOOK) == SEEN
    assert session.value("child.poll() is None") == "True"
    assert session.value("child.kill(); child.wait()") == "255"
    assert session.value("os.getpid() == os.getpgrp() == os.getsid(0)") == "True"
    assert session.exec("while True: pass", timeout_ms=200).status == "timeout"


@pytest.mark.smoke
def test_what_no_copy_can_have_is_told(session):
    session.exec("a, b = socket.socketpair(); m = mmap.mmap(-1, 4096); y = 1")
    session.exec("a.send(b'x'); y = 2")
    undone = session.client.call("POST", f"{session.path}/undo", {"to": 2})
    assert {note["what"] for note in undone.not_undone} == {"socket", "mapping"}
    assert session.value("y") == "1"
    session.exec("many = [socket.socketpair() for _ in range(10)]; y = 3")
    session.exec("y = 4")
    undone = session.client.call("POST", f"{session.path}/undo", {})
    (told,) = [note["detail"] for note in undone.not_undone if note["what"] == "socket"]
    assert re.fullmatch(r"descriptor \d+ and \d+ others: a connection is closed", told), undone
    assert "not connected" in session.fails("b.recv(1)").message
    assert session.value(LOOK) == SEEN


@pytest.mark.smoke
def test_branches_share_neither_files_nor_memory(session):
    session.exec("""
        open('big', 'wb').write(b'b' * 8192)
        big = open('big', 'r+b'); m = mmap.mmap(big.fileno(), 8192)
        n = mmap.mmap(-1, 4096); n[:3] = b'own'
        unlinked = tempfile.TemporaryFile(); unlinked.write(b'x'); unlinked.flush()
        directory = os.open('.', os.O_RDONLY)
        """)
    made = session.client.call("POST", f"{session.path}/branch", {"count": 1})
    branch = type(session)(session.client, type(made)(made.sessions[0]))
    assert branch.value(LOOK) == SEEN
    branch.exec("m[:3] = b'new'; m.flush(); n[:3] = b'new'; f.write('new'); f.flush()")
    branch.exec("c.execute('insert into t values (2)'); c.commit(); open('mine', 'w').close()")
    assert branch.value("open('big', 'rb').read(3), open('f').read()") == "(b'new', 'abcdefnew')"
    assert branch.value("'mine' in os.listdir(directory)") == "True"
    assert branch.fails("unlinked.seek(0); unlinked.read()").name == "OSError"
    assert session.value("m[:3], n[:3], open('f').read()") == "(b'bbb', b'own', 'abcdef')"
    assert session.value("'mine' in os.listdir(directory)") == "False"
    assert session.value(LOOK) == SEEN
