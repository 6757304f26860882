"""Descriptors that a session sends to the daemon. Their last close takes as long as the sender
wants, so it must happen neither in the daemon's loop nor in the warden. Each attack would hold a
trusted process up for longer than the tests wait; that others are answered is the proof."""

import os
import socket
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import host
from harness.client import ApiError, Result, Session

KERNELS = {"of now": {}, "before 6.16": {"CELLA_TEST_NO_PASSRIGHTS": "1"}}

# What is sent to every socket of the driver's, by a cell or by whatever the driver calls.
ATTACK = textwrap.dedent("""
    import array, errno, os, select, socket, stat, struct
    kept = []

    def lingering():
        server = socket.create_server(('127.0.0.1', 0))
        made = socket.create_connection(server.getsockname())
        kept.append((server, server.accept()[0]))
        made.setblocking(False)
        try:
            while True: made.send(bytes(65536))
        except BlockingIOError: pass
        try: made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 100_000))
        except OSError: pass  # refused, where the filter knows it
        return made.detach()

    def in_pieces():
        fd = os.open('pieces', os.O_RDWR | os.O_CREAT, 0o600)
        for n in range(2000): os.pwrite(fd, b'x', n << 13)
        os.unlink('pieces')
        return fd

    def many_watched():
        made, watched = select.epoll(), os.pipe()
        for n in range(900):
            kept.append(os.dup(watched[0]))
            made.register(kept[-1])
        fd = os.dup(made.fileno())
        made.close()
        return fd

    def send_to(fd, make):
        given = make()
        try:
            with socket.socket(fileno=os.dup(fd)) as sock:
                sock.sendmsg([b'c'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                       array.array('i', [given]))], socket.MSG_DONTWAIT)
        except OSError as error:
            kept.append(given)
            return errno.errorcode[error.errno]
        os.close(given)
        return 'sent'

    def is_unix(fd):
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode): return False
        except OSError: return False
        with socket.socket(fileno=os.dup(fd)) as sock: return sock.family == socket.AF_UNIX

    def send_to_all(make):
        return [send_to(fd, make) for fd in range(3, 64) if is_unix(fd)]
    """)


@pytest.fixture(params=KERNELS)
def world(request, launch):
    """A daemon, and whether the kernel refuses to carry descriptors to it."""
    daemon = launch(config="default_profile: min\nidle_timeout_secs: 0\n",
                    env=KERNELS[request.param])
    other = daemon.client.spawn("min")
    warden = daemon.warden()
    yield daemon, request.param == "of now" and kernel_refuses()
    assert other.value("6 * 7") == "42"
    assert daemon.client.spawn("min").value("1 + 1") == "2"  # the warden is not held up either
    assert daemon.warden() == warden and daemon.is_running()


def kernel_refuses():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            ours.getsockopt(socket.SOL_SOCKET, 83)
        except OSError:
            return False
    return True


def assert_ended(answer):
    assert answer.status == "died", answer
    assert "descriptor" in answer["error"]["message"], answer


def has_ended(session):
    """By a certificate that names the cause."""
    try:
        answer = session.exec("1")
    except ApiError as error:
        assert "descriptor" in str(error), error
        return True
    return answer.status == "died" and "descriptor" in answer["error"]["message"]


@pytest.mark.parametrize("what", ["lingering", "in_pieces", "many_watched"])
@pytest.mark.sampled(3)
def test_to_the_control_socket(world, what):
    daemon, refuses = world
    session = daemon.client.spawn("min", checkpoints="off")
    answer = session.exec(ATTACK + f"print(send_to_all({what}))\nimport time\ntime.sleep(1)")
    if refuses:
        assert answer["stdout"] == "['EPERM']\n", answer
        assert session.value("1 + 1") == "2"
    else:
        assert_ended(answer)


@pytest.mark.sampled(2)
def test_to_the_control_socket_and_then_the_end(world):
    """It waits in the queue of a socket that is closed."""
    daemon, _ = world
    session = daemon.client.spawn("min", checkpoints="off")
    answer = session.exec(ATTACK + "send_to_all(lingering); os._exit(1)")
    assert answer.status == "died", answer


@pytest.mark.sampled(2)
def test_by_a_woken_copy(world):
    daemon, refuses = world
    session = daemon.client.spawn("min", checkpoints="every", durable="off")
    session.exec(ATTACK)
    session.exec("x = 1")
    session.client.call("POST", f"{session.path}/undo")
    answer = session.exec("print(send_to_all(lingering))\nimport time\ntime.sleep(1)")
    if refuses:
        assert answer["stdout"] == "['EPERM']\n", answer
    else:
        assert_ended(answer)
    assert session.value("1 + 1") == "2"


@pytest.mark.sampled(2)
def test_by_a_branch(world):
    daemon, refuses = world
    session = daemon.client.spawn("min", checkpoints="every", durable="off")
    session.exec(ATTACK)
    made = session.client.call("POST", f"{session.path}/branch", {"count": 1})
    branch = Session(session.client, Result(made["sessions"][0]))
    answer = branch.exec("print(send_to_all(lingering))\nimport time\ntime.sleep(1)")
    if refuses:
        assert answer["stdout"] == "['EPERM']\n", answer
    else:
        assert_ended(answer)
    assert session.value("1 + 1") == "2"


AS_A_CHECKPOINT = ATTACK + textwrap.dedent("""
    import gc
    gc.unfreeze()
    found = [o for o in gc.get_objects() if type(o).__name__ == 'Checkpoints']
    make = type(found[0]).make
    told = []
    def attack(self, channel, *rest):
        told.append(send_to(channel, lingering))
        return make(self, channel, *rest)
    type(found[0]).make = attack
    """)


@pytest.mark.sampled(2)
def test_in_place_of_a_checkpoint(world):
    """The first byte on the checkpoint's socket tells the warden who it is."""
    daemon, refuses = world
    session = daemon.client.spawn("min", checkpoints="every", durable="off")
    session.exec(AS_A_CHECKPOINT)
    if refuses:
        assert session.value("len(told) > 0 and set(told)") == "{'EPERM'}"
    else:  # in a cell or between two: then the session has begun anew
        host.eventually(lambda: session.exec("told").status != "ok")


SAVED = ATTACK + textwrap.dedent("""
    class Saved:
        def __getstate__(self):
            return {'told': send_to_all(lingering)}
    saved = Saved()
    """)


def test_by_what_saves(world):
    daemon, refuses = world
    session = daemon.client.spawn("min", checkpoints="off")
    answer = session.exec(SAVED, durable=True)
    if refuses:
        assert "durable_error" not in answer, answer
    else:
        assert "descriptor" in answer["durable_error"], answer
        host.eventually(lambda: has_ended(session))


LOADED = ATTACK + textwrap.dedent("""
    class Loaded:
        def __getstate__(self):
            return {'x': 1}
        def __setstate__(self, state):
            self.told = send_to_all(lingering)
    loaded = Loaded()
    """)


def test_by_what_is_loaded(world):
    """The daemon only writes to that socket, and closes it."""
    daemon, refuses = world
    session = daemon.client.spawn("min", isolation="per_cell")
    assert session.exec(LOADED).status == "ok"
    if not refuses:
        with pytest.raises(ApiError, match="descriptor"):
            session.exec("1")
        return
    answer = session.exec("print(loaded.told)")
    assert "EPERM" in answer["stdout"] and "sent" not in answer["stdout"], answer


@pytest.mark.parametrize("hook", ["__getstate__", "__setstate__"])
@pytest.mark.sampled(4)
def test_by_the_state_of_what_runs_once(world, hook):
    daemon, _ = world
    body = {"__getstate__": "send_to_all(lingering); return {'x': 1}", "__setstate__": "pass"}
    if hook == "__setstate__":
        body = {"__getstate__": "return {'x': 1}", "__setstate__": "send_to_all(lingering)"}
    code = ATTACK + textwrap.dedent(f"""
        class Kept:
            def __getstate__(self): {body['__getstate__']}
            def __setstate__(self, state): {body['__setstate__']}
        value = Kept()
        """)
    call = daemon.client.call
    first = call("POST", "/v1/exec", {"code": code, "state_name": "attack"})
    assert first["exit_code"] == 0, first
    call("POST", "/v1/exec", {"code": "1", "state_name": "attack"})


# --- descriptors under way, which the kernel counts for each user ---------------------------------

UNDER_WAY = textwrap.dedent("""
    import array, errno, os, socket, threading, time
    null = os.open('/dev/null', os.O_RDONLY)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 250))]
    kept = []
    """)

MANY = UNDER_WAY + textwrap.dedent("""
    try:
        while True:
            kept.append(socket.socketpair())
            kept[-1][0].sendmsg([b'x'], rights)
    except OSError as error: print(error.errno == errno.ETOOMANYREFS)
    """)

# Who waits for room in the queue has passed the kernel's check and is not counted yet.
MORE_THAN_ALLOWED = UNDER_WAY + textwrap.dedent("""
    def sender(name, blocks):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        made.connect(name)
        made.setblocking(blocks)
        kept.append(made)
        return made

    def fill(name):
        n = 0
        for _ in range(64):
            filler = sender(name, False)
            try:
                while True: filler.send(b'x'); n += 1
            except BlockingIOError: pass
        return n

    receivers = []
    for name in (b'\\0one', b'\\0two', b'\\0three', b'\\0four'):
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind(name)
        receivers.append((receiver, fill(name)))
        for _ in range(12):
            threading.Thread(target=sender(name, True).sendmsg, args=([b'x'], rights),
                             daemon=True).start()
    time.sleep(1)
    for receiver, n in receivers:
        for _ in range(n): receiver.recv(1)
    """)


@pytest.mark.needs_user("what is under way is counted for each user, and root is not limited")
@pytest.mark.parametrize("runtime", ["python", "node", "bash"])
def test_descriptors_under_way_refuse_nobody(session, spawn_runtime, runtime):
    assert session.out(MANY) == "True\n"
    for _ in range(4):  # more than are kept ready
        assert spawn_runtime(runtime).exec("true").status in ("ok", "error")
    assert session.value("len(kept) > 0") == "True"


@pytest.mark.needs_user("what is under way is counted for each user, and root is not limited")
@pytest.mark.skipif("CELLA_TEST_SUBIDS" in os.environ, reason="each session is another user")
def test_more_descriptors_under_way_than_allowed_cost_others_nothing(launch, folder):
    limited = folder / "cella"
    limited.write_text(f'#!/bin/sh\nulimit -n 4000\nexec {launch.binary} "$@"\n')
    limited.chmod(0o755)
    launch.binary = limited
    daemon = launch(config="default_profile: min\n")
    client, warden = daemon.client, daemon.warden()
    innocent = client.spawn("min")
    assert innocent.exec("x = 1").status == "ok"
    hostile = client.spawn("min", checkpoints="off", durable="off")
    assert hostile.exec(MORE_THAN_ALLOWED, yield_ms=0)
    told = host.eventually(lambda: refused(innocent))
    assert "descriptors" in told["error"]["message"], told
    for _ in range(4):  # more than are kept ready
        assert client.request("POST", "/v1/sessions", {"profile": "min"}).status in (201, 503)
    kept = innocent.checkpoints()["checkpoints"]
    last = [c["id"] for c in kept if c["restore"] == "process"][-1]
    with ThreadPoolExecutor() as pool:  # waits until it can be woken
        undone = pool.submit(client.call, "POST", f"{innocent.path}/undo", {"to": last})
        hostile.kill()
        undone.result()
    host.eventually(lambda: innocent.exec("x").get("value"))
    assert innocent.value("x") == "1"
    assert client.spawn("min").value("1 + 1") == "2"
    assert daemon.warden() == warden


def refused(session):
    answer = session.exec("x")
    assert answer.status in ("ok", "error"), answer
    return answer if answer.status == "error" else None
