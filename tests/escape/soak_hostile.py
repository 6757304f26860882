#!/usr/bin/python3
"""Two hostile sessions that use everything at once, and a third caller whose calls are timed.

    tests/escape/soak_hostile.py [--seconds 300] [--user]

Default limits. The caller creates sessions, runs a cell, interrupts one and takes one back; first
alone, for a fifth of the time, then beside the hostile ones. It prints a table of both; the exit
status is 1 if a call failed, or if the slowest of a hundred took more than five times as long as
alone or more than 250 ms. With --user the daemon is an ordinary user's."""

import argparse
import contextlib
import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402
from harness import host  # noqa: E402
from harness.client import ApiError, Client  # noqa: E402

ATTACKS = {
    "descriptors": """
        import socket, array, os
        pairs = [socket.socketpair() for _ in range(5)]
        null = [os.open('/dev/null', 0) for _ in range(200)]
        for a, b in pairs:
            a.setblocking(False)
            try:
                while True:
                    a.sendmsg([b'x'], [(1, 1, array.array('i', null))])
            except OSError:
                pass
        try:
            socket.socket(fileno=os.dup(3)).sendmsg([b'\\x40'], [(1, 1, array.array('i', null))])
        except OSError:
            pass
        import time; time.sleep(3)
        """,
    "mappings": """
        import mmap, os, ctypes, time
        libc = ctypes.CDLL(None)
        with open('m', 'w+b') as f:
            f.truncate(20_000 * 4096)
            m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        at = ctypes.addressof(ctypes.c_char.from_buffer(m))
        for i in range(0, 20_000, 2):
            libc.mprotect(ctypes.c_void_p(at + i * 4096), 4096, 0)
        for _ in range(60):
            if os.fork() == 0:
                time.sleep(20); os._exit(0)
        time.sleep(3)
        """,
    "forks": """
        import os
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """,
    "disk": """
        import os
        n = 0
        while True:
            n += 1
            try:
                with open(f'd{n % 500}', 'wb') as f:
                    f.write(os.urandom(1 << 20))
            except OSError:
                for name in os.listdir():
                    os.unlink(name)
        """,
    "output": "while True: print('x' * 65536)",
    "frames": """
        import os
        while True:
            os.write(3, b'\\x00\\x00\\x00\\x40{"ev":"display","x":"' + b'y' * 4000)
        """,
    "pictures": """
        import os
        from IPython.display import Image, display
        while True:
            display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom(6 << 20), format='png'))
        """,
    "memory": """
        held = []
        while True:
            held.append(bytearray(64 << 20))
        """,
    "epoll": """
        import select, os
        fds = [os.eventfd(0) for _ in range(300)]
        sets = [select.epoll() for _ in range(300)]
        for s in sets:
            for fd in fds:
                try:
                    s.register(fd)
                except OSError:
                    pass
        import time; time.sleep(3)
        """,
}


class Hostile(threading.Thread):
    """One session after the other, each with all attacks in turn, several at once by forks."""

    def __init__(self, daemon, is_over):
        super().__init__(daemon=True)
        self.address, self.key, self.is_over = daemon.address, daemon.key(), is_over
        self.count = dict.fromkeys(ATTACKS, 0)

    def run(self):
        client = Client(self.address, self.key, timeout=60)
        while not self.is_over.is_set():
            try:
                session = client.spawn("min")
                for name, code in ATTACKS.items():
                    if self.is_over.is_set():
                        break
                    self.count[name] += 1
                    session.exec(code, timeout_ms=4000)
                session.kill()
            except Exception:  # whatever became of it, the next one follows
                client.close()
                client.local.connection = None
                time.sleep(0.1)


class Caller:
    """The times of its calls, in ms."""

    def __init__(self, daemon):
        self.client = Client(daemon.address, daemon.key())
        self.session = self.client.spawn("min")
        self.session.exec("n = 0")

    def create(self):
        self.client.spawn("min").kill()

    def run(self):
        assert self.session.exec("1 + 1")["value"]["text"] == "2"

    def interrupt(self):
        """From the interrupt to the cell's answer."""
        early = self.session.exec("while True: pass", yield_ms=0)
        host.eventually(lambda: self.session.info().state == "busy")
        began = time.monotonic()
        self.session.interrupt()
        answer = self.session.client.call(
            "POST", f"{self.session.path}/exec/{early.number}/continue", {})
        assert answer.status == "interrupted", answer
        return began

    def undo(self):
        self.session.exec("n += 1")
        began = time.monotonic()
        try:
            self.session.client.call("POST", f"{self.session.path}/undo", {})
        except ApiError as error:
            assert error.status == 409, error
        return began

    def measure(self, seconds):
        kinds = {"create": self.create, "run": self.run, "interrupt": self.interrupt,
                 "undo": self.undo}
        times = {name: [] for name in kinds}
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name, call in kinds.items():
                began = time.monotonic()
                began = call() or began
                times[name].append((time.monotonic() - began) * 1000)
                time.sleep(0.01)
        return times


def at(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)]


def report(quiet, hostile):
    is_held = True
    print(f"{'call':10} {'n':>6} {'quiet p50':>10} {'p99':>8} {'hostile p50':>12} {'p99':>8} "
          f"{'max':>8}  (ms)")
    for name, before in quiet.items():
        after = hostile[name]
        print(f"{name:10} {len(after):6} {at(before, .5):10.1f} {at(before, .99):8.1f} "
              f"{at(after, .5):12.1f} {at(after, .99):8.1f} {max(after):8.1f}")
        is_held &= at(after, .99) <= min(250, 5 * at(before, .99))
    return is_held


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--user", action="store_true")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        user, binary = None, daemons.find_binary()
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cella-hostile-"))
        if options.user:
            user, binary = stack.enter_context(daemons.ordinary_user(binary))
            folder = user.pw_dir
        daemon = daemons.Daemon(binary, pathlib.Path(folder) / "hostile", user,
                                config="default_profile: min\n")
        caller, is_over = Caller(daemon), threading.Event()
        quiet = caller.measure(options.seconds / 5)
        attackers = [Hostile(daemon, is_over) for _ in range(2)]
        for attacker in attackers:
            attacker.start()
        try:
            hostile = caller.measure(options.seconds)
        finally:
            is_over.set()
        print({name: sum(a.count[name] for a in attackers) for name in ATTACKS})
        is_held = report(quiet, hostile)
        for attacker in attackers:
            attacker.join()
        daemon.stop()
    return 0 if is_held else 1


if __name__ == "__main__":
    sys.exit(main())
