"""Victims planted on the host and in another session, which a session must not reach."""

import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import textwrap
import threading
import uuid

import pytest
from probes import PRELUDE

from harness import host
from harness.daemon import as_user

SECRET = "planted-secret-that-no-session-may-read"


def closed(session, code, **options):
    """Runs a cell that must not print SECRET or OPEN."""
    result = session.exec(PRELUDE + textwrap.dedent(code), **options)
    assert result.status == "ok", result
    assert SECRET not in result["stdout"], result["stdout"]
    assert "OPEN" not in result["stdout"], result["stdout"]
    return result


class Listener:
    """A service of the host that counts who comes."""

    def __init__(self, sock):
        self.sock, self.visits = sock, 0
        sock.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.sock.accept()
            except OSError:
                return
            self.visits += 1
            with peer:
                peer.sendall(SECRET.encode())


@pytest.fixture
def listener():
    sockets = []

    def start(family, address):
        sock = socket.socket(family, socket.SOCK_STREAM)
        sockets.append(sock)
        sock.bind(address)
        return Listener(sock)

    yield start
    for sock in sockets:
        sock.close()


def test_an_abstract_socket_of_the_host(listener, session):
    name = f"\0cella-victim-{uuid.uuid4()}"
    victim = listener(socket.AF_UNIX, name)
    closed(
        session,
        f"""
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect({name!r}); print('OPEN', s.recv(100))
        except OSError as error:
            print(error)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        """,
    )
    assert victim.visits == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_tcp_service_on_the_hosts_loopback(listener, session, address):
    victim = listener(socket.AF_INET, (address, 0))
    port = victim.sock.getsockname()[1]
    closed(
        session,
        f"""
        for target in ('127.0.0.1', '127.0.0.2', '0.0.0.0', 'localhost', '::1',
                       '::ffff:127.0.0.1', '10.0.2.2', '172.17.0.1'):
            try:
                s = socket.create_connection((target, {port}), timeout=1)
                print('OPEN', target, s.recv(100))
            except OSError as error:
                print(target, error)
        """,
    )
    assert victim.visits == 0


def test_the_daemons_own_ports(daemon, session):
    closed(
        session,
        f"""
        for attempt in (('127.0.0.1', {daemon.address[1]}), ('localhost', {daemon.address[1]})):
            try: print('OPEN', socket.create_connection(attempt, timeout=1))
            except OSError as error: print(error)
        try:
            socket.socket(socket.AF_UNIX).connect({str(daemon.data / 'cella.sock')!r})
            print('OPEN')
        except OSError as error: print(error)
        """,
    )


def test_a_file_in_the_hosts_tmp(session):
    with tempfile.NamedTemporaryFile("w", dir="/tmp", prefix="cella-victim-") as victim:
        os.chmod(victim.name, 0o666)
        victim.write(SECRET)
        victim.flush()
        closed(
            session,
            f"""
            for before in ('', '/proc/1/root', '/proc/self/root', '/workspace/../..'):
                try: print('OPEN', open(before + {victim.name!r}).read())
                except OSError as error: print(error)
            for place in ('/tmp', '/var/tmp', '/dev/shm'):
                try: found = [n for n in os.listdir(place) if 'victim' in n]
                except OSError: found = []
                if found: print('OPEN', place, found)
            """,
        )
        assert pathlib.Path(victim.name).read_text() == SECRET


def test_files_in_the_home_of_the_user_who_started_the_daemon(daemon, session):
    home = pathlib.Path(daemon.user.pw_dir if daemon.user else pathlib.Path.home())
    victim = home / f".cella-victim-{os.getpid()}"
    victim.write_text(SECRET)
    if daemon.user:
        os.chown(victim, daemon.user.pw_uid, daemon.user.pw_gid)
    try:
        closed(
            session,
            f"""
            for path in {[str(p) for p in (victim, home, daemon.data, daemon.data / 'key')]}:
                try: print('OPEN', open(path).read() if os.path.isfile(path) else os.listdir(path))
                except OSError as error: print(error)
            """,
        )
    finally:
        victim.unlink()


def test_a_file_in_another_sessions_workspace(daemon, spawn):
    one, two = spawn(), spawn()
    one.exec(
        f"""
        import os
        open('/workspace/secret', 'w').write({SECRET!r})
        os.chmod('/workspace', 0o777); os.chmod('/workspace/secret', 0o666)
        """
    )
    workspaces = [str(p) for p in (daemon.data / "workspaces").iterdir()]
    names = [os.path.basename(w) for w in workspaces]
    assert len(names) >= 2
    closed(
        two,
        f"""
        places = {workspaces!r}
        places += [p + n for n in {names!r} for p in ('/workspaces/', '/workspace/../')]
        for base in places:
            try: print('OPEN', open(base + '/secret').read())
            except OSError as error: pass
        def walk(top, depth):
            try: entries = list(os.scandir(top))
            except OSError: return
            for e in entries:
                if e.name == 'secret': print('OPEN', e.path)
                is_deeper = depth and e.is_dir(follow_symlinks=False)
                if is_deeper and not e.path.startswith(('/proc', '/usr')):
                    walk(e.path, depth - 1)
        walk('/', 4)
        """,
    )


def test_sessions_share_nothing_that_can_carry_a_message(spawn):
    one, two = spawn(), spawn()
    one.exec(
        PRELUDE
        + f"""
import socket, threading, ctypes
open('/dev/shm/mail', 'w').write({SECRET!r}); open('/tmp/mail', 'w').write({SECRET!r})
abstract = socket.socket(socket.AF_UNIX); abstract.bind('\\0mail'); abstract.listen()
tcp = socket.create_server(('127.0.0.1', 45454))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(('0.0.0.0', 45455))
try: shm = call(29, 0x4242, 4096, 0o1666)
except OSError as error: shm = error
try: sem = call(64, 0x4242, 1, 0o1666)
except OSError as error: sem = error
try: msg = call(68, 0x4242, 0o1666)
except OSError as error: msg = error
"""
    )
    closed(
        two,
        """
        for path in ('/dev/shm/mail', '/tmp/mail'):
            if os.path.exists(path): print('OPEN', path)
        for attempt in (
            lambda: socket.socket(socket.AF_UNIX).connect('\\0mail'),
            lambda: socket.create_connection(('127.0.0.1', 45454), timeout=1),
            lambda: call(29, 0x4242, 4096, 0), lambda: call(64, 0x4242, 1, 0),
            lambda: call(68, 0x4242, 0),
        ):
            try: print('OPEN', attempt())
            except OSError as error: print(error)
        """,
    )


def test_processes_of_another_session_cannot_be_signalled(spawn):
    one, two = spawn(), spawn()
    one.exec("import subprocess; child = subprocess.Popen(['sleep', '1000'])")
    closed(
        two,
        """
        hit = []
        for pid in range(2, 40000):
            if pid == os.getpid(): continue
            try: os.kill(pid, 0); hit.append(pid)
            except OSError: pass
        if hit: print('OPEN', hit)
        """,
    )
    assert one.value("child.poll()") is None


def victim_process(user):
    return subprocess.Popen(["sleep", "1000"], **(as_user(user) if user else {}))


def test_a_process_of_the_same_user_on_the_host(daemon, session):
    victim = victim_process(daemon.user)
    try:
        closed(
            session,
            f"""
            pid = {victim.pid}
            for attempt in (
                lambda: os.kill(pid, 9), lambda: call(234, pid, pid, 9), lambda: call(434, pid, 0),
                lambda: call(101, 16, pid, 0, 0), lambda: open(f'/proc/{{pid}}/mem', 'rb'),
                lambda: os.listdir(f'/proc/{{pid}}'), lambda: os.sched_setaffinity(pid, [0]),
                lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
            ):
                try: print('OPEN', attempt())
                except OSError as error: print(error)
            """,
        )
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to look at another user's process")
def test_a_session_is_nobody_on_the_host(daemon, spawn):
    """As root every session has a host uid of its own, never 0 and never another session's."""
    seen = []
    for _ in range(3):
        session = spawn()
        pid = daemon.head(session)
        uid = int(host.read(f"/proc/{pid}/status").split("Uid:\t")[1].split()[0])
        seen.append(uid)
    assert 0 not in seen
    if daemon.mode == "root":
        assert len(set(seen)) == 3 and min(seen) > 65535
    else:
        assert set(seen) == {daemon.user.pw_uid} or min(seen) > 65535


def test_symlinks_in_a_workspace_lead_nobody_outside(daemon, session):
    """The keeper walks and removes workspaces with more rights than the session has."""
    victim = pathlib.Path(tempfile.mkdtemp(prefix="cella-victim-", dir="/var/tmp"))
    (victim / "precious").write_text(SECRET)
    if daemon.user:
        os.chown(victim, daemon.user.pw_uid, daemon.user.pw_gid)
        os.chown(victim / "precious", daemon.user.pw_uid, daemon.user.pw_gid)
    session.exec(
        f"""
        import os
        os.symlink({str(victim)!r}, '/workspace/dir')
        os.symlink({str(victim / 'precious')!r}, '/workspace/file')
        os.symlink('..', '/workspace/up'); os.symlink('/', '/workspace/root')
        os.mkdir('/workspace/d'); os.symlink('../..', '/workspace/d/up2')
        """
    )
    session.kill()
    workspaces = daemon.data / "workspaces"
    host.eventually(lambda: not any(p.is_symlink() for p in workspaces.glob("*/file")))
    assert (victim / "precious").read_text() == SECRET
    assert (daemon.data / "key").exists()
    (victim / "precious").unlink()
    victim.rmdir()


def test_the_api_key_is_nowhere_in_the_interpreters_memory(daemon, session):
    """The zygote's heap is in every session. The two halves of the key are looked for side by
    side; the second is handed over reversed, so that the probe cannot find itself."""
    key = daemon.key()
    half = len(key) // 2
    out = session.out(
        f"""
        first, reversed_second = {key[:half]!r}.encode(), {key[half:][::-1]!r}.encode()
        found = scanned = 0
        memory = open('/proc/self/mem', 'rb', buffering=0)
        regions = [l.split() for l in open('/proc/self/maps')]
        for r in regions:
            if 'r' not in r[1] or r[-1] in ('[vvar]', '[vsyscall]', '[vvar_vclock]'): continue
            start, end = (int(x, 16) for x in r[0].split('-'))
            for at in range(start, end, 1 << 20):
                try:
                    memory.seek(at); block = memory.read(min(end - at, (1 << 20) + 256))
                except (OSError, OverflowError, ValueError): continue
                scanned += len(block)
                i = block.find(first)
                while i >= 0:
                    tail = block[i + len(first):i + len(first) + len(reversed_second)]
                    if tail[::-1] == reversed_second: found += 1
                    i = block.find(first, i + 1)
        print(found, scanned > 1 << 20)
        """,
        timeout_ms=30_000,
    )
    assert out == "0 True\n"


# What ends, ends.


def test_a_daemon_that_left_its_group_session_and_parent_ends_with_the_session(daemon, session):
    session.exec(
        """
        import os, signal, ctypes
        for n in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork(): os._exit(0)
                ctypes.CDLL(None).prctl(15, b'cella-survivor')
                for s in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(s, signal.SIG_IGN)
                if n == 1: os.kill(os.getpid(), signal.SIGSTOP)
                while True: signal.pause()
        """
    )
    host.eventually(lambda: len(host.find_by_name(daemon.tree(), "cella-survivor")) == 3)
    session.kill()
    everybody = lambda: {(pid, "") for pid in host.pids()}  # noqa: E731
    host.eventually(lambda: not host.find_by_name(everybody(), "cella-survivor"))


def test_a_head_that_killed_its_init_costs_only_itself(session, witness):
    session.exec(
        """
        import os
        for n in range(1, 65):
            try: os.kill(1, n)
            except OSError: pass
        """
    )
    if session.is_alive():
        assert session.value("1") == "1"


@pytest.mark.parametrize("sig", [signal.SIGSTOP, signal.SIGTSTP])
def test_a_stopped_session_can_be_killed(daemon, session, sig):
    jail = daemon.jail(session)
    session.exec(f"import os; os.kill(os.getpid(), {int(sig)})", timeout_ms=150)
    session.kill()
    host.eventually(lambda: not jail())


def test_unlinked_files_count_for_the_quota(spawn):
    """Files that are open but have no name any more still fill the disk."""
    session = spawn("min", limits={"disk_mb": 8})
    result = session.exec(
        """
        import os
        held = []
        try:
            for n in range(100):
                fd = os.open(f'/workspace/f{n}', os.O_RDWR | os.O_CREAT)
                os.unlink(f'/workspace/f{n}')
                held.append(fd)
                for m in range(7): os.write(fd, b'x' * (1 << 20))
                os.fsync(fd)
                print('7 MB', flush=True)
        except OSError as error:
            pass
        """,
        timeout_ms=30_000,
    )
    session.kill()
    used_mb = 7 * (result.stdout.count("7 MB") + 1)
    assert used_mb < 200, f"{used_mb} MB were written with a quota of 8 MB"


def test_files_in_a_locked_directory_count_for_the_quota(spawn):
    session = spawn("min", limits={"disk_mb": 8})
    result = session.exec(
        """
        import os, time
        os.mkdir('/workspace/d')
        d = os.open('/workspace/d', os.O_RDONLY)
        for n in range(40):
            fd = os.open(f'f{n}', os.O_RDWR | os.O_CREAT, dir_fd=d)
            os.fchmod(d, 0o300)
            for m in range(5): os.write(fd, b'x' * (1 << 20))
            os.close(fd)
        fd = os.open('more', os.O_WRONLY | os.O_CREAT, dir_fd=d)
        while True:  # that was so quick that the keeper may not have looked yet
            os.write(fd, b'x')
            time.sleep(0.01)
        """,
        timeout_ms=30_000,
    )
    assert result.status in ("error", "died"), result


def test_mapped_files_without_a_name_count_for_the_quota(spawn):
    session = spawn("min", limits={"disk_mb": 8})
    result = session.exec(
        """
        import ctypes, os, time
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        for n in range(100):
            fd = os.open(f'/workspace/f{n}', os.O_RDWR | os.O_CREAT)
            os.unlink(f'/workspace/f{n}')
            os.ftruncate(fd, 7 << 20)
            at = ctypes.c_void_p(libc.mmap(None, 7 << 20, 3, 1, fd, 0))
            os.close(fd)
            ctypes.memset(at, 1, 7 << 20)
            libc.msync(at, 7 << 20, 4)
            print('7 MB', flush=True)
        time.sleep(25)
        """,
        timeout_ms=30_000,
    )
    used_mb = 7 * (result.stdout.count("7 MB") + 1)
    assert used_mb < 500, f"{used_mb} MB were written with a quota of 8 MB"
    assert result.status in ("error", "died"), result
