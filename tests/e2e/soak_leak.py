#!/usr/bin/python3
"""Thousands of sessions and cells: memory and descriptors of daemon and warden must stay flat.

    tests/e2e/soak_leak.py [--sessions 10000] [--cells 100000] [--profile data]

Prints a line for every tenth of the work and exits 1 when something grew between the first
tenth, after which every cache is warm, and the end."""

import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402
from harness import host  # noqa: E402
from harness.client import ApiError  # noqa: E402

CELLS = [
    "1 + 1",
    "print('x' * 1000)",
    "import sys; print('e', file=sys.stderr)",
    "1 / 0",
    "x = =",
    "display('shown')",
    "import os; os.system('true')",
    "print('y' * 200_000)",
]
LAST_CELLS = [
    "pass",
    "import os; os._exit(1)",
    "while True: pass",
    "import os; os.closerange(3, 99)",
]
# Of a warm daemon. What the allocator keeps at hand for the next request counts as held, too: up to
# 7 blocks of each small size, by each thread.
GROWTH = {"heap_bytes": 1 << 20, "warden_data_kb": 264, "fds": 4, "warden_fds": 4, "processes": 4}


class Soak:
    """Work for one daemon, and what it holds."""

    def __init__(self, daemon, profile="min"):
        self.daemon, self.profile = daemon, profile

    def sessions(self, count):
        """Spawn, run, end: in turn by kill, by its own exit, by its time limit, by damage."""
        for n in range(count):
            session = self.daemon.client.spawn(self.profile)
            session.exec("x = 1")
            if n % 10 == 0:
                last = LAST_CELLS[n // 10 % len(LAST_CELLS)]
                session.exec(last, timeout_ms=50)
            try:
                session.kill()
            except ApiError as error:
                assert error.status in (404, 410), error

    def cells(self, count):
        """All kinds of cells in a few sessions, each with its end of life."""
        session = None
        for n in range(count):
            if n % 1000 == 0:
                if session:
                    session.kill()
                session = self.daemon.client.spawn(self.profile)
            session.exec(CELLS[n % len(CELLS)])
        if session:
            session.kill()

    def measure(self):
        """When the daemon has come to rest."""
        warden = self.daemon.warden()
        fds, warden_fds, processes = self.settle(warden)
        return {
            "heap_bytes": self.daemon.heap_bytes(),
            "fds": fds,
            "warden_data_kb": host.data_kb(warden),
            "warden_fds": warden_fds,
            "processes": processes,
        }

    def settle(self, warden):
        """For longer than the store takes to sync what nobody waits for."""
        pid = self.daemon.pid
        return host.at_rest(lambda: (host.fd_count(pid), host.fd_count(warden),
                                     len(host.tree(warden))), quiet=1.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--profile", default="data")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="cella-soak-") as where:
        daemon = daemons.Daemon(daemons.find_binary(), pathlib.Path(where) / "data")
        soak, rows, started = Soak(daemon, options.profile), [], time.monotonic()
        print(f"{'sessions':>9} {'cells':>8} {'seconds':>8} {'heap_bytes':>10} {'fds':>5} "
              f"{'warden_data_kb':>14} {'warden_fds':>10} {'processes':>9}", flush=True)
        for tenth in range(1, 11):
            soak.sessions(options.sessions // 10)
            soak.cells(options.cells // 10)
            row = soak.measure()
            rows.append(row)
            print(f"{options.sessions // 10 * tenth:9} {options.cells // 10 * tenth:8} "
                  f"{time.monotonic() - started:8.0f} {row['heap_bytes']:10} {row['fds']:5} "
                  f"{row['warden_data_kb']:14} {row['warden_fds']:10} {row['processes']:9}",
                  flush=True)
        daemon.stop()
    return report(rows)


def report(rows):
    first, last, grown = rows[0], rows[-1], []
    for name, allowed in GROWTH.items():
        if last[name] - first[name] > allowed:
            grown.append(f"{name} grew from {first[name]} to {last[name]}")
    print("\n".join(grown) or "flat: nothing grew")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
