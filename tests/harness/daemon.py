"""A real `cella serve` process and what must be true after it ended."""

import contextlib
import functools
import itertools
import os
import pathlib
import pwd
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from . import host
from .client import Client

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SANITIZER_REPORT = re.compile(r"AddressSanitizer|LeakSanitizer|UndefinedBehavior|runtime error:")


def find_binary():
    return pathlib.Path(os.environ.get("CELLA", SOURCE / "build" / "cella")).absolute()


@functools.cache
def is_sanitized(binary):
    return b"__asan_init" in binary.read_bytes()


class StartFailed(Exception):
    """The daemon ended before it was ready."""

    def __init__(self, status, stderr):
        super().__init__(f"exit status {status}: {stderr}")
        self.status, self.stderr = status, stderr


class Daemon:
    """Runs until stop() or kill(). `user` is a struct passwd, or None to stay who we are."""

    numbers = itertools.count()

    def __init__(self, binary, data, user=None, config=None, args=(), env=None, listen=None,
                 preexec=None):
        self.binary, self.data, self.user = binary, pathlib.Path(data), user
        self.mode = "root" if os.geteuid() == 0 and not user else "user"
        self.is_sanitized = is_sanitized(binary)
        self.stderr = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            self.command(config, args, listen or "127.0.0.1:0"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env={**environment(user), **(env or {})},
            cwd="/",
            start_new_session=True,
            preexec_fn=preexec,
            **(as_user(user) if user else {}),
        )
        self.pid, self.known_warden = self.process.pid, None
        self.url = self.wait_ready()
        address = re.fullmatch(r"http://([^:/]+):(\d+)/?", self.url)
        self.address = (address[1], int(address[2]))
        self.client = Client(self.address, self.key())

    def command(self, config, args, listen):
        command = [str(self.binary), "serve", "--listen", listen, "--data", str(self.data)]
        if config is not None:
            path = self.data.parent / f"{self.data.name}.yaml"
            path.write_text(config)
            command += ["--config", str(path)]
        return command + list(args)

    def wait_ready(self):
        deadline, seen = time.monotonic() + host.PATIENCE, b""
        while not (match := re.search(rb"^cella ready (\S+)\n", seen, re.M)):
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.process.stdout], [], [], max(left, 0))
            more = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not more:
                self.fail_start()
            seen += more
        return match[1].decode()

    def fail_start(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(host.PATIENCE)
        status = self.process.poll()
        if status is None:
            self.kill()
        raise StartFailed(status, self.errors())

    def key(self):
        path = self.data / "key"
        return path.read_text().strip() if path.exists() else None

    def unix_client(self):
        return Client(str(self.data / "cella.sock"))

    def errors(self):
        """Read beside the position at which the daemon writes: the file is the same."""
        descriptor = self.stderr.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, size, 0).decode(errors="replace")

    def is_running(self):
        return self.process.poll() is None

    def tree(self):
        return host.tree(self.pid)

    def head(self, session):
        """The host's pid of a session's interpreter."""
        name = f"head-{next(self.numbers)}"
        session.exec(f"__import__('ctypes').CDLL(None).prctl(15, b'{name}')")
        # Copies that it made of itself since then are called so, too, and may end meanwhile. The
        # clock of starts has ticks of 10 ms.
        started = {pid: host.start_time(pid) for pid in host.find_by_name(self.tree(), name)}
        return min((int(at), pid) for pid, at in started.items() if at)[1]

    def jail(self, session):
        """A function that lists the processes of a session: those of its pid namespace."""
        namespace = open(f"/proc/{self.head(session)}/ns/pid")
        return lambda: host.in_pid_namespace(namespace)

    def warden(self):
        if self.known_warden is None or not host.start_time(self.known_warden):
            self.known_warden = self.find_warden()
        return self.known_warden

    def find_warden(self):
        """Its children are called so too, until they have become something else."""
        (guardian,) = host.find_by_name(self.tree(), "cella-guardian")
        wardens = host.find_by_name(self.tree(), "cella-warden")
        (pid,) = [p for p in wardens if (host.stat_fields(p) or "  ")[1] == str(guardian)]
        return pid

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """SIGTERM, then nothing of the daemon may be left."""
        if not self.is_running():
            self.process.stdout.close()
            raise AssertionError(f"the daemon ended by itself: {self.process.returncode}\n"
                                 f"{self.errors()[-8000:]}")
        processes = self.tree()
        groups = host.cgroups(processes)
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(host.PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"SIGTERM was ignored\n{self.errors()[-4000:]}") from None
        self.process.stdout.close()
        errors = self.errors()
        assert not SANITIZER_REPORT.search(errors), errors
        assert status == 0, f"exit status {status}\n{errors[-8000:]}"
        self.assert_nothing_left(processes, groups)
        assert not (self.data / "cella.sock").exists()

    def assert_nothing_left(self, processes, groups):
        """At once: it does not end before what it started."""
        assert not host.alive(processes)
        assert not [group for group in groups if os.path.exists(group)]
        assert not host.processes_seeing(self.data)
        assert not host.mounts_below(self.data)

    def await_end_of_all(self, processes, groups):
        """Of a daemon that was killed, and could not wait for what it started."""
        host.eventually(lambda: not host.alive(processes), "the end of all processes")
        host.eventually(lambda: not any(map(os.path.exists, groups)),
                        f"the end of the cgroups {sorted(groups)[:3]}")
        host.eventually(lambda: not host.processes_seeing(self.data),
                        "the end of all that see the data directory")
        assert not host.mounts_below(self.data)

    def heap_bytes(self):
        """What it has allocated and not freed: a count, whatever the machine does to its pages.
        Leaves no connection, which would count among the descriptors."""
        client = Client(self.address, self.key())
        try:
            return client.call("GET", "/health/detailed").heap_bytes
        finally:
            client.close()

    def heap(self):
        """The same by what it is for: all of it, the database's cache, tasks that can be fetched,
        the rest; and how many tasks and sessions of MCP clients there are."""
        client = Client(self.address, self.key())
        try:
            health = client.call("GET", "/health/detailed")
        finally:
            client.close()
        cache, tasks = health.store.memory_bytes, health.mcp.task_bytes
        return {"heap_bytes": health.heap_bytes, "database_cache": cache, "task_bytes": tasks,
                "heap_rest": health.heap_bytes - cache - tasks, "tasks": health.mcp.tasks,
                "mcp_sessions": health.mcp.sessions, "mcp_listeners": health.mcp.listeners}

    @contextlib.contextmanager
    def watch_heap(self):
        """Yields a list, which holds [before, most] after the block: its heap_bytes() before it,
        and the most that was seen in it and after it."""
        before, is_over = self.heap_bytes(), threading.Event()
        seen = [before, before]

        def watch():
            while not is_over.is_set():
                seen[1] = max(seen[1], self.heap_bytes())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield seen
        finally:
            is_over.set()
            watcher.join()
            seen[1] = max(seen[1], self.heap_bytes())


class Launcher:
    """Starts daemons, each on a fresh data directory unless told otherwise."""

    numbers = itertools.count()

    def __init__(self, binary, user, directory):
        self.binary, self.user, self.directory, self.started = binary, user, directory, []

    def new_data(self):
        return self.directory / f"data{next(self.numbers)}"

    def __call__(self, data=None, config="", **options):
        """Its sessions have no libraries loaded unless the configuration has a word on profiles:
        they take a second of processor time to start, which most tests have no use for."""
        if config is not None and "profile" not in config:
            config += "default_profile: min\n"
        data = data or self.new_data()
        daemon = Daemon(self.binary, data, self.user, config=config, **options)
        self.started.append(daemon)
        return daemon

    def stop_all(self):
        running = [d for d in self.started if d.is_running()]
        for daemon in running:
            daemon.stop()


def environment(user):
    home = user.pw_dir if user else os.environ.get("HOME", "/root")
    kept = {k: v for k, v in os.environ.items() if k.startswith(("ASAN_", "UBSAN_", "LSAN_"))}
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "LANG": "C.UTF-8", **kept}


def as_user(user):
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


SUBIDS = 65536  # as many as distributions give to people
users = itertools.count()


@contextlib.contextmanager
def ordinary_user(binary, has_subids=False):
    """A fresh system user with a home of its own and a copy of the program that it may run; on
    request with ranges in /etc/subuid and /etc/subgid. Yields (struct passwd, path of the
    program)."""
    number = next(users)
    name = f"cella-{'s' if has_subids else 't'}{os.getpid()}-{number}"
    home = tempfile.mkdtemp(prefix="cella-test-", dir="/home")
    subprocess.run(["useradd", "--system", "--no-create-home", "--home-dir", home,
                    "--shell", "/bin/sh", name], check=True)
    try:
        user = pwd.getpwnam(name)
        if has_subids:
            ids = new_subids(number)
            subprocess.run(["usermod", "--add-subuids", f"{ids[0]}-{ids[-1]}",
                            "--add-subgids", f"{ids[0]}-{ids[-1]}", name], check=True)
        os.chown(home, user.pw_uid, user.pw_gid)
        yield user, copy_program(binary, pathlib.Path(home) / "program")
    finally:
        # It refuses while a process of the user's is not quite gone.
        host.eventually(lambda: subprocess.run(["userdel", name]).returncode == 0)
        shutil.rmtree(home, ignore_errors=True)


def new_subids(number):
    """Ids that no other test has at the same time, and no account: each process has its own, for
    a few users."""
    first = 200_000_000 + (os.getpid() * 4 + number % 4) % 5000 * SUBIDS
    return range(first, first + SUBIDS)


def subids_of(user):
    """The range of a user in /etc/subuid."""
    (line,) = [line for line in pathlib.Path("/etc/subuid").read_text().splitlines()
               if line.split(":")[0] == user.pw_name]
    first, count = map(int, line.split(":")[1:])
    return range(first, first + count)


def copy_program(binary, where):
    where.mkdir(mode=0o755)
    shutil.copy2(binary, where / "cella")
    return where / "cella"
