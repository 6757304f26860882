#!/usr/bin/python3
"""Many live sessions at once: each answers after all are up; their memory is measured.

    tests/e2e/many_sessions.py [--count 1000] [--profile data]"""

import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402
from harness import host  # noqa: E402


def cgroup_bytes(groups):
    """Memory charged to these groups, v1 or v2."""
    total = 0
    for group in groups:
        for name in ("memory.usage_in_bytes", "memory.current"):
            text = host.read(f"{group}/{name}")
            total += int(text) if text.strip().isdigit() else 0
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--profile", default="data")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="cella-many-") as where:
        daemon = daemons.Daemon(daemons.find_binary(), pathlib.Path(where) / "data")
        rows = measure(daemon, options)
        daemon.stop()
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    return 0


def measure(daemon, options):
    daemon.client.spawn(options.profile).kill()  # the profile is warm
    available, tree = host.mem_available_kb(), daemon.tree()
    pss = sum(host.pss_kb(pid) for pid, _ in tree)
    started = time.monotonic()
    sessions = [daemon.client.spawn(options.profile) for _ in range(options.count)]
    spawned = time.monotonic()
    for n, session in enumerate(sessions):
        assert session.value(f"x = {n}; x + 1") == str(n + 1)
    answered = time.monotonic()
    assert all(s.value("x") == str(n) for n, s in enumerate(sessions))
    again = time.monotonic()
    delta = available - host.mem_available_kb()
    made = daemon.tree() - tree
    pss_delta = sum(host.pss_kb(pid) for pid, _ in daemon.tree()) - pss
    charged = cgroup_bytes(host.cgroups(made))
    count = options.count
    return [
        ("live sessions", count),
        ("spawn, each", f"{(spawned - started) / count * 1e3:.2f} ms"),
        ("first cell, each", f"{(answered - spawned) / count * 1e3:.2f} ms"),
        ("second cell, each", f"{(again - answered) / count * 1e3:.2f} ms"),
        ("processes", len(made)),
        ("memory by MemAvailable", f"{delta / 1024:.0f} MB, {delta / 1024 / count:.2f} MB each"),
        ("memory by PSS", f"{pss_delta / 1024:.0f} MB, {pss_delta / 1024 / count:.2f} MB each"),
        ("memory by cgroup", f"{charged / 2**20:.0f} MB, {charged / 2**20 / count:.2f} MB each"),
        ("daemon RSS", f"{host.rss_kb(daemon.pid) / 1024:.1f} MB"),
        ("warden RSS", f"{host.rss_kb(daemon.warden()) / 1024:.1f} MB"),
        ("daemon descriptors", host.fd_count(daemon.pid)),
    ]


if __name__ == "__main__":
    sys.exit(main())
