"""Work that a session makes for those who keep it must not hold up other sessions."""

import os
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import host

# Many processes with many mappings of a deleted file whose path is long: what the keeper of quotas
# finds when it looks at what a session holds without a name. They share their memory, so that this
# costs the session next to nothing.
MAPPINGS = """
    import ctypes, os, time
    CLONE_VM, SIGCHLD, PAGE, STACK, COUNT, PROCESSES = 0x100, 17, 4096, 16384, 60000, 118
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.clone.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int, ctypes.c_void_p]
    time.sleep(0.1)  # the first look finds nothing, so the next comes when all is prepared
    for _ in range(58): os.mkdir('d' * 60); os.chdir('d' * 60)
    fd = os.open('f', os.O_RDWR | os.O_CREAT); os.ftruncate(fd, PAGE)
    start = libc.mmap(None, COUNT * PAGE, 1, 2, fd, 0)
    os.unlink('f'); os.chdir('/workspace')
    for i in range(0, COUNT, 2): libc.mprotect(start + i * PAGE, PAGE, 0)
    stacks = libc.mmap(None, PROCESSES * STACK, 3, 0x22, -1, 0)
    for i in range(PROCESSES):
        assert libc.clone(libc.pause, stacks + (i + 1) * STACK, CLONE_VM | SIGCHLD, None) > 0
    open('ready', 'w').close()
    time.sleep(3600)
    """


class Attack:
    """A cell that runs in a thread of its own until it is told to stop."""

    def __init__(self, session, code):
        self.session, self.result = session, None
        self.patient = session.patient(4 * host.PATIENCE)
        self.thread = threading.Thread(target=self.run, args=[textwrap.dedent(code)])
        self.thread.start()
        host.eventually(lambda: self.is_over() or session.get("ready").status == 200,
                        what="the attack")
        assert not self.is_over(), self.result

    def run(self, code):
        self.result = self.patient.exec(code, timeout_ms=int(3000 * host.PATIENCE))

    def is_over(self):
        return self.result is not None

    def stop(self):
        self.session.client.request("DELETE", self.session.path)
        self.thread.join()


@pytest.fixture
def attack(spawn):
    begun = []

    def begin(code, **members):
        begun.append(Attack(spawn("min", checkpoints="off", durable="off", **members), code))
        return begun[-1]

    yield begin
    for one in begun:
        one.stop()


def come_and_go(client, callers=6, rounds=25):
    """Sessions that are made, run, interrupted, undone and ended: each is some orders for the
    warden and its keeper, more in all than a socket between the two can hold."""

    def call(_):
        for n in range(rounds):
            session = client.spawn("min", checkpoints="every")
            assert session.value(f"import time; time.sleep(0.03); {n}") == str(n)
            if n % 10 == 0:
                assert session.exec("while True: pass", timeout_ms=100).status == "timeout"
                client.call("POST", f"{session.path}/undo", {})
            client.request("DELETE", session.path)

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(call, range(callers)))


@pytest.mark.one_mode
def test_many_mappings_of_a_file_without_a_name_hold_up_nobody(client, attack):
    hostile = attack(MAPPINGS, limits={"disk_mb": 4096})
    come_and_go(client)
    assert not hostile.is_over(), hostile.result


def test_a_session_that_holds_more_than_can_be_counted_is_ended(launch, eventually):
    """Or its quota would be worth nothing. The certificate says so."""
    daemon = launch(config="default_profile: min\n", env={"CELLA_TEST_TIME_SCALE": "0.01"})
    session = daemon.client.spawn("min", checkpoints="off", durable="off")
    result = session.exec(textwrap.dedent(MAPPINGS), timeout_ms=int(900 * host.PATIENCE))
    assert result.status == "died" and result["error"]["name"] == "DiskQuota", result
    assert "than can be counted" in result["error"]["message"], result


def test_quotas_of_others_are_looked_at_meanwhile(spawn, attack):
    hostile = attack(MAPPINGS, limits={"disk_mb": 4096})
    small = spawn("min", limits={"disk_mb": 8}, checkpoints="off", durable="off")
    result = small.exec("""
        import resource, signal, time
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for n in range(40):
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            with open(f'f{n}', 'wb') as f:
                try: f.write(bytes(7 << 20))
                except OSError: pass
            time.sleep(0.02)
        time.sleep(3600)
        """, timeout_ms=int(900 * host.PATIENCE))
    assert result.status == "died" and result["error"]["name"] == "DiskQuota", result
    assert not hostile.is_over(), hostile.result


def test_a_session_has_a_share_of_the_processor_for_its_files(launch):
    """Recording files costs the archivist, whom no limit of the session counts."""
    daemon = launch(config="default_profile: min\n", env={"CELLA_TEST_TIME_SCALE": "0.01"})
    session = daemon.client.spawn("min", checkpoints="every", durable="off")
    session.exec("f = open('hole', 'wb')")
    (archivist,) = host.eventually(
        lambda: host.find_by_name(host.tree(daemon.pid), "cella-archivist"), what="the archivist")

    def used():
        fields = host.stat_fields(archivist)
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    began, before = time.monotonic(), used()
    for n in range(16):
        assert session.exec(f"f.truncate({(60 << 20) + n})").status == "ok"
    share = (used() - before - 0.2) / (time.monotonic() - began)  # 0.1 s at once, and one record
    assert share < 0.4, share
