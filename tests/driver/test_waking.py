"""What a head that was asleep puts right: it and the session that it was copied from go on side by
side, and neither is felt by the other."""

from __future__ import annotations

import os
import pathlib
import signal
from typing import Iterator, Set

import pytest
from peer import Checkpoint, Peer


@pytest.fixture
def head(python: str, image: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Peer]:
    peer = Peer.start(python, driver=image / "python", cwd=str(tmp_path))
    yield peer
    peer.close()


def what(peer: Peer) -> Set[str]:
    return {note["what"] for note in peer.notes}


def finish(*ends: "Peer | Checkpoint") -> None:
    for end in ends:
        end.close()


def test_random_numbers_go_on(head: Peer) -> None:
    head.run("import random, os\nran = []\nos.register_at_fork(before=lambda: ran.append(1),"
             "after_in_child=lambda: ran.append(2), after_in_parent=lambda: ran.append(3))")
    head.run("r = random.Random(7)")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    draw = "random.random(), r.random(), random.getrandbits(99), ran"
    assert head.value(draw) == woken.value(draw)
    assert woken.value("ran") == "[]"
    finish(woken, checkpoint)


def test_numpy_goes_on(head: Peer) -> None:
    if head.run("import numpy as np").status != "ok":
        pytest.skip("no numpy in this interpreter")
    head.run("np.random.seed(3)\ng = np.random.default_rng(4)")
    head.run("a = np.random.rand(600, 600); a @ a")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    draw = "np.random.rand(), g.random(), float((a @ a).sum()), float(np.linalg.det(a[:50,:50]))"
    assert head.value(draw) == woken.value(draw)
    finish(woken, checkpoint)


def test_files_are_opened_again(head: Peer, tmp_path: pathlib.Path) -> None:
    head.run("f = open('f', 'w+'); f.write('abcdef'); f.flush(); f.seek(2)\n"
             "a = open('a', 'a'); a.write('1'); a.flush()\n"
             "import tempfile; t = tempfile.TemporaryFile(); t.write(b'unlinked'); t.seek(2)")
    numbers = head.value("[f.fileno(), a.fileno(), t.fileno()]")
    checkpoint = head.checkpoint()
    assert head.value("f.read(), t.read()") == "('cdef', b'linked')"
    woken = checkpoint.wake()
    assert woken.notes == []
    assert woken.value("f.tell(), f.read(), t.read()") == "(2, 'cdef', b'linked')"
    assert woken.value("[f.fileno(), a.fileno(), t.fileno()]") == numbers
    head.run("f.seek(0); a.write('2'); a.flush()")
    woken.run("a.write('3'); a.flush()")
    assert woken.value("f.tell()") == "6"
    assert (tmp_path / "a").read_text() == "123"
    assert woken.value("import os\nos.get_inheritable(f.fileno())") == "False"
    finish(woken, checkpoint)


def test_what_a_program_still_holds_in_its_buffers_is_written_by_each(head: Peer) -> None:
    head.run("f = open('f', 'w'); f.write('held')")
    checkpoint = head.checkpoint()
    head.run("f.write(' here'); f.close()")
    woken = checkpoint.wake()
    assert woken.value("f.write(' there'); f.close(); open('f').read()") == "'held there'"
    finish(woken, checkpoint)


def test_pipes_of_its_own_work_and_those_to_others_refuse(head: Peer) -> None:
    head.run("import os, subprocess\nr, w = os.pipe()\nPIPE = subprocess.PIPE\n"
             "p = subprocess.Popen(['cat'], stdin=PIPE, stdout=PIPE)\nos.write(w, b'before')")
    checkpoint = head.checkpoint()
    assert head.value("p.communicate(b'x'), os.read(r, 9)") == "((b'x', None), b'before')"
    woken = checkpoint.wake()
    assert what(woken) == {"pipe", "process"} and len(woken.notes) == 4
    assert woken.value("os.write(w, b'new'); os.read(r, 9)") == "b'new'"
    assert woken.run("os.write(p.stdin.fileno(), b'x')").error["name"] == "BrokenPipeError"
    assert "not connected" in woken.run("p.stdout.read()").error["message"]
    assert woken.run("p.stdout.close(); p.stdin.close()").status == "ok"
    finish(woken, checkpoint)


def test_children_of_the_other_line_never_ended_well(head: Peer) -> None:
    head.run("import os, subprocess\np = subprocess.Popen(['sleep', '60'])\n"
             "q = subprocess.Popen(['sleep', '60'])")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert what(woken) == {"process"}
    assert woken.value("p.poll()") is None
    assert woken.run("p.wait(0.01)").error["name"] == "TimeoutExpired"
    assert head.value("p.terminate(); p.wait()") == "-15"
    answer = woken.run("p.poll(), p.returncode, p.wait()")
    assert answer.text == "(255, 255, 255)" and "exit status is unknown" in answer.stderr
    running = woken.begin("print('waits', flush=True); q.wait()")
    running.wait_for_output("waits")
    assert head.value("q.kill(); q.wait()") == "-9"
    assert running.finish().text == "255"
    assert woken.run("os.waitpid(q.pid, 0)").error["name"] == "ChildProcessError"
    assert woken.value("subprocess.run(['sh', '-c', 'exit 3']).returncode") == "3"
    finish(woken, checkpoint)


def test_sockets_are_not_used_by_two(head: Peer) -> None:
    head.run("import socket\na, b = socket.socketpair()\n"
             "s = socket.create_server(('127.0.0.1', 0))\nport = s.getsockname()[1]\n"
             "c = socket.create_connection(('127.0.0.1', port)); d = s.accept()[0]")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert len(woken.notes) == 5 and what(woken) == {"socket"}
    for code in ("a.recv(1)", "d.recv(1)"):
        assert "not connected" in woken.run(code).error["message"]
    for code in ("b.send(b'x')", "c.sendall(b'x')"):
        assert woken.run(code).error["name"] == "BrokenPipeError"
    assert woken.run("s.accept()").error["name"] == "OSError"
    assert head.value("a.send(b'x'); b.recv(9)") == "b'x'"
    assert head.value("c.send(b'y'); d.recv(9)") == "b'y'"
    # Nothing of them lives in the copies: an end is seen, a port is free again.
    assert head.value("a.close(); b.recv(9)") == "b''"
    assert head.run("c.close(); d.close(); s.close()").status == "ok"
    assert head.run("socket.create_server(('127.0.0.1', port)).close()").status == "ok"
    assert woken.run("a.close(); b.close(); c.close(); d.close(); s.close()").status == "ok"
    finish(woken, checkpoint)


def test_event_loops_are_each_its_own(head: Peer) -> None:
    head.run("import asyncio, os, threading\nawait asyncio.sleep(0)\nticks = []\n"
             "async def tick():\n    while True:\n        await asyncio.sleep(0.001)\n"
             "        ticks.append(1)\n        print('tick')\n"
             "task = asyncio.create_task(tick())\nmine = asyncio.new_event_loop()\n"
             "another = asyncio.new_event_loop()\nr, w = os.pipe()\ngot = []\n"
             "mine.add_reader(r, lambda: (got.append(os.read(r, 9)), mine.stop()))")
    head.run("asyncio.set_event_loop(mine)")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert woken.notes == []
    for peer in (head, woken, head):  # in turns, so that neither wakes the other's loop
        code = "n = len(ticks); await asyncio.sleep(0.02); len(ticks) > n"
        assert peer.value(code) == "True"
        assert peer.value("os.write(w, b'x'); mine.run_forever(); got.pop()") == "b'x'"
        for loop in ("mine", "another"):
            # From a thread: the loop sleeps, and is woken by its own socket.
            code = (f"threading.Timer(0.02, {loop}.call_soon_threadsafe, [{loop}.stop]).start()\n"
                    f"{loop}.run_forever()\n'woken'")
            assert peer.value(code) == "'woken'"
    # What an old task prints belongs to the cell that runs.
    assert "tick" in woken.run("await asyncio.sleep(0.02)").stdout
    assert woken.value("asyncio.run(asyncio.sleep(0, 5))") == "5"
    finish(woken, checkpoint)


def test_signals_of_an_event_loop(head: Peer) -> None:
    head.run("import asyncio, os, signal\nhits = []\nloop = asyncio.new_event_loop()\n"
             "loop.add_signal_handler(signal.SIGUSR1, lambda: (hits.append(1), loop.stop()))")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert woken.notes == []
    for peer in (woken, head):
        assert peer.value("os.kill(os.getpid(), signal.SIGUSR1); loop.run_forever(); hits") == "[1]"
    finish(woken, checkpoint)


def test_a_directory_that_is_being_listed(head: Peer, tmp_path: pathlib.Path) -> None:
    for number in range(2000):
        (tmp_path / f"a file with a long name {number:030}").touch()
    head.run("import os\nentries = os.scandir('.'); next(entries)")
    checkpoint = head.checkpoint()
    assert head.value("len(list(entries))") == "1999"
    woken = checkpoint.wake()
    assert woken.value("len(list(entries))") == "1999"
    finish(woken, checkpoint)


def test_a_server_of_the_event_loop_ends(head: Peer) -> None:
    head.run("import asyncio\nmet, seen = [], []\nasync def serve(reader, writer):\n"
             "    met.append(1)\n    try:\n        await reader.readline()\n"
             "    except OSError as error:\n        seen.append(error)\n"
             "server = await asyncio.start_server(serve, '127.0.0.1', 0)\n"
             "port = server.sockets[0].getsockname()[1]\n"
             "r, w = await asyncio.open_connection('127.0.0.1', port)\n"
             "while not met: await asyncio.sleep(0.001)")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert len(woken.notes) == 3
    # Its loop sleeps: nothing that is ready for ever turns it round and round.
    answer = woken.run("turns, selector = [], asyncio.get_running_loop()._selector\n"
                       "select = selector.select\n"
                       "selector.select = lambda within: turns.append(within) or select(within)\n"
                       "await asyncio.sleep(0.1)\nselector.select = select\nprint(seen)\n"
                       "len(turns) < 20")
    assert answer.text == "True" and "not connected" in answer.stdout, answer
    assert head.value("w.write(b'x\\n'); await asyncio.sleep(0.02); seen") == "[]"
    assert woken.run("await asyncio.start_server(serve, '127.0.0.1', 0)").status == "ok"
    finish(woken, checkpoint)


def test_selectors_go_on(head: Peer) -> None:
    head.run("import os, select, selectors\nr, w = os.pipe()\ns = selectors.DefaultSelector()\n"
             "s.register(r, selectors.EVENT_READ, 'data')\ne = select.epoll()\n"
             "e.register(r, select.EPOLLIN | select.EPOLLET)")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert woken.notes == []
    woken.run("os.write(w, b'x')")
    assert head.value("s.select(0), e.poll(0)") == "([], [])"
    assert woken.value("[key.data for key, _ in s.select(0)]") == "['data']"
    assert woken.value("e.poll(0) == [(r, 1)], e.poll(0)") == "(True, [])"
    finish(woken, checkpoint)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_in_a_transaction(head: Peer, mode: str) -> None:
    made = head.run(f"import sqlite3\nc = sqlite3.connect('d', timeout=0)\n"
                    f"c.execute('pragma journal_mode={mode}')\nc.execute('create table t(x)')\n"
                    "c.execute('insert into t values (1)'); c.commit()\n"
                    "c.execute('insert into t values (2)')")
    assert made.status == "ok", made
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    # While the first holds the lock of its transaction, the second may not go on.
    assert "lock" in what(woken)
    finish(woken)
    os.kill(head.pid, signal.SIGKILL)
    head.process.wait()
    woken = checkpoint.wake()
    assert "lock" not in what(woken), woken.notes
    other = "sqlite3.connect('d', timeout=0).execute('insert into t values (9)')"
    assert "locked" in woken.run(other).error["message"]
    woken.run("c.execute('insert into t values (3)'); c.commit()")
    assert woken.value("c.execute('select * from t').fetchall()") == "[(1,), (2,), (3,)]"
    check = "sqlite3.connect('d').execute('pragma integrity_check').fetchall()"
    assert woken.value(check) == "[('ok',)]"
    finish(woken, checkpoint)


def test_a_woken_head_is_an_interpreter_like_any_other(head: Peer) -> None:
    head.run("import asyncio, multiprocessing, os, signal, subprocess, sys, threading")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    pid = str(woken.pid)
    assert woken.value("os.getpid()") == pid
    assert woken.value("threading.main_thread().native_id") == pid
    assert woken.value("threading.current_thread() is threading.main_thread()") == "True"
    assert woken.value("os.getsid(0), os.getpgrp()") == f"({pid}, {pid})"
    assert woken.value("subprocess.run(['echo', 'a'], capture_output=True).stdout") == "b'a\\n'"
    assert woken.run("os.system('echo b')").stdout == "b\n"
    woken.run("hits = []\n_ = signal.signal(signal.SIGUSR1, lambda *_: hits.append(1))")
    assert woken.value("os.kill(os.getpid(), signal.SIGUSR1); hits") == "[1]"
    code = "t = threading.Thread(target=lambda: print('from', end='')); t.start(); t.join()"
    assert woken.run(code).stdout == "from"
    code = ("pool = multiprocessing.get_context('fork').Pool(2)\nv = pool.map(abs, [-1, -2])\n"
            "pool.close(); pool.join(); v")
    assert woken.value(code) == "[1, 2]"
    running = woken.begin("print('go', flush=True)\nwhile True: pass")
    running.wait_for_output("go")
    os.killpg(woken.pid, signal.SIGINT)
    assert running.finish().status == "interrupted"
    answer = woken.run("pid = os.fork()\nif not pid: print('child', flush=True); os._exit(4)\n"
                       "os.waitpid(pid, 0)[1]")
    assert (answer.text, answer.stdout) == ("1024", "child\n")
    again = woken.checkpoint(2)  # and can be copied in its turn
    last = again.wake()
    assert last.value("hits") == "[1]"
    finish(last, woken, again, checkpoint)


def test_signals_do_not_disturb_a_sleeping_copy(head: Peer) -> None:
    head.run("import signal, os\nhits = []\n"
             "for s in (signal.SIGUSR1, signal.SIGTERM):\n"
             "    signal.signal(s, lambda *_: hits.append(1))")
    checkpoint = head.checkpoint()
    for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        os.kill(checkpoint.pid, number)
    assert os.getsid(checkpoint.pid) == checkpoint.pid
    woken = checkpoint.wake()
    assert woken.value("hits") == "[]"
    assert woken.value("os.kill(os.getpid(), signal.SIGTERM); hits") == "[1]"
    finish(woken, checkpoint)


def test_what_is_noted(head: Peer) -> None:
    head.run("import mmap, signal\nopen('m', 'wb').write(bytes(4096))\nf = open('m', 'r+b')\n"
             "m = mmap.mmap(f.fileno(), 4096)\n_ = signal.setitimer(signal.ITIMER_REAL, 1000)")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert what(woken) == {"mapping", "timer"}
    assert any("/m:" in note["detail"] for note in woken.notes)
    assert woken.value("signal.getitimer(signal.ITIMER_REAL)") == "(0.0, 0.0)"
    assert head.value("signal.getitimer(signal.ITIMER_REAL)[0] > 900") == "True"
    finish(woken, checkpoint)


def test_temporary_directories_may_be_gone(head: Peer) -> None:
    head.run("import tempfile\nd = tempfile.TemporaryDirectory(); open(d.name + '/x', 'w').close()")
    checkpoint = head.checkpoint()
    assert head.run("d.cleanup()").status == "ok"
    woken = checkpoint.wake()
    answer = woken.run("import gc\nd.cleanup()\ndel d; gc.collect()")
    assert answer.status == "ok" and answer.stderr == ""
    finish(woken, checkpoint)


FIT = """
from sklearn.cluster import KMeans
x = np.random.default_rng(1).random((300, 5))
def fit():
    return float(KMeans(3, n_init=1, random_state=1).fit(x).inertia_), float(np.linalg.det(x.T @ x))
df = pd.DataFrame({'a': np.arange(13_000_000)})
fit()
"""


@pytest.mark.sampled
def test_libraries_for_numbers_work_on(python: str, image: pathlib.Path) -> None:
    profile = ("import numpy as np", "import pandas as pd", "sklearn")
    head = Peer.start(python, profile, driver=image / "python")
    if head.run(FIT).status != "ok":
        head.close()
        pytest.skip("no data libraries in this interpreter")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    code = "df['a'] += 1; fit(), int(df['a'].sum()), df.memory_usage().sum() > 100_000_000"
    assert woken.value(code) == head.value(code)
    finish(woken, checkpoint, head)


def test_a_session_may_have_more_threads(python: str, image: pathlib.Path) -> None:
    head = Peer.start(python, ("import numpy as np",), driver=image / "python")
    assert head.ask({"op": "setup", "cwd": None, "env": {"OMP_NUM_THREADS": "2"}}) == {"ev": "set"}
    if head.run("a = np.ones((900, 900)); a @ a").status != "ok":
        head.close()
        pytest.skip("no numpy in this interpreter")
    checkpoint, answer = head.try_checkpoint()
    assert (answer["forked"], answer["threads"]) == (False, 2)
    finish(checkpoint, head)


def test_a_branch_opens_by_name_what_it_had_open(head: Peer, tmp_path: pathlib.Path) -> None:
    (tmp_path / "big").write_bytes(b"b" * 8192)
    (tmp_path / "d").mkdir()
    head.run("import mmap, os, tempfile\nf = open('f', 'w+'); f.write('abcdef'); f.flush()\n"
             "f.seek(2)\nt = tempfile.TemporaryFile(); t.write(b'unlinked'); t.flush()\n"
             "d = os.open('d', os.O_RDONLY)\nb = open('big', 'r+b')\n"
             "m = mmap.mmap(b.fileno(), 8192)\nn = mmap.mmap(-1, 4096); n[:3] = b'own'\n"
             "s = open('short', 'w+b'); s.write(b's' * 4096); s.flush()\n"
             "o = mmap.mmap(s.fileno(), 4096)\np = os.pidfd_open(os.getpid())\n"
             "import subprocess\nchild = subprocess.Popen(['sleep', '1000'])")
    checkpoint = head.checkpoint()
    # The branch's own workspace, as it were: other files of the same names.
    for name, content in (("f", "ABCDEF"), ("big", "B" * 8192)):
        (tmp_path / name).unlink()
        (tmp_path / name).write_text(content)
    (tmp_path / "short").unlink()
    (tmp_path / "d").rename(tmp_path / "of source d")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine").touch()
    woken = checkpoint.wake(has_room=True)
    assert what(woken) == {"file", "process"} and len(woken.notes) == 5  # t, s, o's s, p; child
    # Its number means another process there, if any.
    assert woken.value("child.poll(), child.wait()") == "(255, 255)"
    assert head.value("child.kill(); child.wait()") == "-9"
    assert woken.value("f.read(), os.listdir(d)") == "('CDEF', ['mine'])"
    for code in ("t.seek(0); t.read()", "s.seek(0); s.read()"):
        assert woken.run(code).status == "error"
    assert woken.value("m[:2], o[:2], n[:3]") == "(b'bb', b'ss', b'own')"
    woken.run("m[:2] = b'xx'; n[:3] = b'new'; o[:2] = b'yy'")
    assert head.value("m[:2], n[:3], o[:2]") == "(b'bb', b'own', b'ss')"
    finish(woken, checkpoint)
