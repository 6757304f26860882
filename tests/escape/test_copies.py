"""Sleeping copies of a session's interpreter, and whoever pretends to be one."""

import textwrap

import pytest
from probes import PRELUDE

from harness import host
from harness.client import read_reply

# A sibling of the head, as checkpoints are, that nobody asked for.
SIBLING = PRELUDE + textwrap.dedent("""
    import signal, time
    def sibling():
        return call(56, 0x8000 | 17, 0, 0, 0, 0)  # CLONE_PARENT
    def hide(name):
        libc.prctl(15, name)
        libc.prctl(4, 0)
        for s in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(s, signal.SIG_IGN)
        while True: signal.pause()
    """)


@pytest.fixture
def copied(spawn):
    """A session with three checkpoints, each a process."""
    session = spawn("min", checkpoints="every", durable="off")
    for n in range(3):
        session.exec(f"x = {n}")
    session.rest()
    asleep = session.checkpoints()["checkpoints"]
    assert [c["restore"] for c in asleep[-2:]] == ["process"] * 2, asleep
    return session


def undo(session, to):
    return session.client.call("POST", f"{session.path}/undo", {"to": to})


REACH = PRELUDE + textwrap.dedent("""
    def ways(pid):
        for n in ('mem', 'environ', 'maps', 'auxv', 'pagemap'):
            yield n, lambda: can_open(f'/proc/{pid}/{n}')
        for n in ('cwd', 'root', 'exe', 'fd/3', 'ns/user'):
            yield n, lambda: os.readlink(f'/proc/{pid}/{n}')
        yield 'descriptors', lambda: os.listdir(f'/proc/{pid}/fd')
        buf = ctypes.create_string_buffer(16)
        vec = struct.pack('QQ', ctypes.addressof(buf), 16)
        yield 'memory', lambda: call(310, pid, vec, 1, vec, 1, 0)
        yield 'attach', lambda: call(101, 16, pid, 0, 0)
        yield 'seize', lambda: call(101, 0x4206, pid, 0, 0)
        yield 'limits', lambda: call(302, pid, 7, struct.pack('QQ', 5, 5), 0)
        yield 'rank', lambda: open(f'/proc/{pid}/oom_score_adj', 'w').write('1000')
        yield 'child', lambda: os.waitpid(pid, os.WNOHANG)
    def exists(pid):
        os.kill(pid, 0)
        return True
    copies = [p for p, _ in each(exists, range(2, 2000)) if p != os.getpid()]
    def open_ways(pid):
        return [n for n, way in ways(pid) if each(lambda _: (way(), True), [0])]
    print(len(copies) >= 2, each(lambda p: open_ways(p) or None, copies))
    print(len(open_ways(os.getpid())) > 5)
    """)


def test_a_sleeping_copy_is_out_of_reach(copied):
    assert copied.out(REACH) == "True []\nTrue\n"


def test_copies_are_nobodys_children(copied):
    assert copied.fails("import os; os.wait()").name == "ChildProcessError"
    assert copied.fails("os.waitpid(-1, os.WNOHANG)").name == "ChildProcessError"
    assert copied.fails("os.kill(-1, 9)").name == "PermissionError"
    assert copied.value("x") == "2"


def test_who_kills_its_copies_has_none(copied, witness):
    """They are of one user; what the session loses is its own."""
    copied.exec("""
        import os
        for pid in range(2, 2000):
            if pid != os.getpid():
                try: os.kill(pid, 9)
                except OSError: pass
        """)
    answer = copied.exec("os._exit(3)")
    assert answer.status == "died", answer
    assert copied.value("1 + 1") == "2"


OTHERS = """
import os, signal, subprocess
def is_there(pid):
    try: os.kill(pid, 0)
    except OSError: return False
    return True
copies = [pid for pid in range(2, 2000) if pid != os.getpid() and is_there(pid)]
"""


def test_copies_that_end_right_after_their_head(spawn, witness):
    """When one of them was chosen to wake, and what its line left is being cleared away."""
    for _ in range(20):
        session = spawn("min", checkpoints="every", durable="off")
        for n in range(3):
            session.exec(f"x = {n}")
        answer = session.exec(OTHERS + textwrap.dedent("""
            dying = ' '.join(map(str, [os.getpid(), *copies]))
            subprocess.Popen(['bash', '-c', f'kill -9 {dying}'])
            while True: signal.pause()
            """))
        assert answer.status == "died" and answer["restored_from"], answer
        assert session.value("1 + 1") == "2"
        session.kill()


def test_a_copy_that_ends_while_branches_of_it_are_made(client, spawn, witness):
    for n in range(6):
        session = spawn("min", checkpoints="every", durable="off")
        session.exec(OTHERS.replace("copies =", "find = lambda:") + "open('f', 'w').close()")
        with client.connect() as sock, sock.makefile("rb") as file:
            sock.sendall(client.post_bytes(f"{session.path}/branch", {"count": 8}))
            session.exec(f"import time; time.sleep({n} / 500)\n"
                         "for pid in find(): os.kill(pid, 9)")
            reply = read_reply(file)
        assert reply.status in (200, 201, 409, 503), reply
        for made in reply.json.get("sessions", []):
            client.request("DELETE", f"/v1/sessions/{made['session_id']}")
        assert session.value("1 + 1") == "2"
        session.kill()


def test_siblings_end_with_the_line_that_made_them(daemon, copied, witness):
    before = copied.checkpoints()["checkpoints"][-1]["id"]
    copied.exec(SIBLING + textwrap.dedent("""
        for n in range(3):
            if sibling() == 0:
                os.setsid()
                hide(b'cella-sibling')
            if os.fork() == 0:
                os.setsid()
                if os.fork(): os._exit(0)
                hide(b'cella-sibling')
        """))
    siblings = lambda: host.find_by_name(daemon.tree(), "cella-sibling")  # noqa: E731
    host.eventually(lambda: len(siblings()) == 6)
    answer = undo(copied, before)
    assert answer["ended_processes"] >= 6, answer
    host.eventually(lambda: not siblings())
    assert copied.value("x") == "2"


def test_a_flood_of_siblings_costs_nobody_else(daemon, copied, witness):
    warden = daemon.warden()
    copied.exec(SIBLING + textwrap.dedent("""
        for n in range(400):
            try:
                if sibling() == 0: os._exit(n % 256)
            except OSError: time.sleep(0.001)
        """), timeout_ms=60_000)
    assert daemon.warden() == warden
    assert copied.value("x") == "2"


def test_a_fork_bomb_is_undone(copied, witness):
    before = copied.checkpoints()["checkpoints"][-1]["id"]
    copied.exec("""
        import os, signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:
            while True:
                try:
                    if os.fork() == 0: os.setsid()
                except OSError: pass
        """)
    assert undo(copied, before)["ended_processes"] > 0
    assert copied.value("x") == "2"
    assert copied.out("import os; print(os.waitpid(os.fork() or os._exit(5), 0)[1] >> 8)") == "5\n"


@pytest.mark.parametrize("words", [b"c", b"h", b"s" * 4096, b"\xff\xff\xff\x7f{}",
                                   b'\x10\0\0\0{"ev":"entered"}', b'\x0c\0\0\0{"ev":"wok"}'])
def test_who_speaks_on_every_channel_is_heard_by_none(spawn, witness, words):
    """A handler of a signal runs between the driver's frames, with the driver's descriptors."""
    session = spawn("min", checkpoints="every", durable="off")
    session.exec("x = 1")
    session.exec(PRELUDE + textwrap.dedent(f"""
        import signal
        def speak(*_):
            for fd in range(3, 64):
                try:
                    if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, {words!r})
                except OSError: pass
        signal.signal(signal.SIGALRM, speak)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        """))
    for _ in range(5):
        session.exec("x += 1", timeout_ms=200)  # whatever the answer is
    session.kill()


def test_copies_end_with_their_session(daemon, copied):
    jail = daemon.jail(copied)
    assert len(jail()) >= 4  # init, the head, its copies
    copied.kill()
    host.eventually(lambda: not jail())
