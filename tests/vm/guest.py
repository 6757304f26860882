"""Inside the test machine: limits by cgroup v2 and what is left of them afterwards, for daemons
started by root and by an ordinary user, at the top of the tree and further down."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import host  # noqa: E402
from harness.daemon import Daemon, find_binary  # noqa: E402

TOP = pathlib.Path("/sys/fs/cgroup")
USER = 1000
LIMITS = {"memory_mb": 96, "pids": 20, "cpu_percent": 25}
MEMORY_BOMB = "blocks = []\nwhile True: blocks.append(bytearray(8 << 20))"
FORK_BOMB = """
import os, signal, time
children = []
try:
    while len(children) < 200:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        children.append(child)
except OSError as error:
    print(error.errno)
print(len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""
SPIN = """
import time
start = time.monotonic()
while time.monotonic() - start < 2: pass
print(time.process_time() / 2)
"""


class Place:
    """Where and as whom a daemon is started."""

    def __init__(self, name, group="", uid=0, delegated=False, has_cgroup=True):
        self.name, self.uid, self.has_cgroup = name, uid, has_cgroup
        self.group = TOP / group
        self.group.mkdir(parents=True, exist_ok=True)
        if delegated:
            self.delegate()
        self.directory = pathlib.Path(tempfile.mkdtemp())
        os.chmod(self.directory, 0o755)
        os.chown(self.directory, uid, uid)
        self.bystander = self.start_bystander() if group else None

    def delegate(self):
        """As systemd does for Delegate=yes."""
        for above in reversed(self.group.relative_to(TOP).parents):
            (TOP / above / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        os.setxattr(self.group, "trusted.delegate", b"1")
        for name in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            os.chown(self.group / name, self.uid, self.uid)

    def start_bystander(self):
        process = subprocess.Popen(["sleep", "1000"])
        (self.group / "cgroup.procs").write_text(str(process.pid))
        return process

    def start(self):
        wrapper = self.directory / "cella"
        wrapper.write_text(
            f"#!/bin/sh\necho $$ >{self.group}/cgroup.procs\n"
            f"exec setpriv --reuid {self.uid} --regid {self.uid} --clear-groups {find_binary()} "
            '"$@"\n')
        wrapper.chmod(0o755)
        data = pathlib.Path(tempfile.mkdtemp(dir=self.directory)) / "data"
        os.chown(data.parent, self.uid, self.uid)
        return Daemon(wrapper, data, config="default_profile: min\npool: 1\n")

    def leftovers(self):
        return [str(p) for p in TOP.rglob("cella-*") if p.is_dir()]

    def assert_clean(self):
        host.eventually(lambda: not self.leftovers(), 10, f"the end of {self.leftovers()}")
        if self.bystander:
            assert self.bystander.poll() is None
            pids = (self.group / "cgroup.procs").read_text().split()
            assert str(self.bystander.pid) in pids, "the bystander was left elsewhere"


def check_group(place, daemon, session):
    heads = {pid for pid, _ in daemon.tree() if host.pid_depth(pid) == 3}
    groups = {host.read(f"/proc/{pid}/cgroup").strip().removeprefix("0::") for pid in heads}
    inside = session.out("print(open('/proc/self/cgroup').read().strip())").strip()
    assert inside in ("0::/", ""), f"a session sees its place on the host: {inside}"
    if not place.has_cgroup:
        return
    assert all("/cella-" in g and "/jail-" in g for g in groups), groups
    values = {host.read(TOP / g[1:] / "memory.max").strip() for g in groups}
    assert str(96 << 20) in values, values


def check_memory(place, session):
    result = session.exec(MEMORY_BOMB, timeout_ms=60_000)
    if place.has_cgroup:
        assert result.status == "died", result
        assert "96 MB" in result["error"]["message"], result["error"]
    else:
        assert result.status == "error", result
        assert result["error"]["name"] == "MemoryError", result["error"]


def check_processes(session):
    error, count = session.out(FORK_BOMB, timeout_ms=60_000).split()
    assert error == "11" and int(count) < LIMITS["pids"], (error, count)
    assert int(count) >= LIMITS["pids"] - 2, count


def check_cpu(place, session):
    share = float(session.out(SPIN, timeout_ms=60_000))
    if place.has_cgroup:
        assert 0.1 < share < 0.4, f"a share of {share:.2f} for 0.25"


def check_limits(place):
    daemon = place.start()
    spawned = daemon.client.spawn("min", limits=LIMITS)
    check_group(place, daemon, spawned)
    check_processes(spawned)
    check_cpu(place, spawned)
    check_memory(place, spawned)
    other = daemon.client.spawn("min", limits=LIMITS)
    assert other.value("6 * 7") == "42"
    daemon.stop()
    place.assert_clean()


def check_kill(place):
    daemon = place.start()
    assert daemon.client.spawn("min").value("6 * 7") == "42"
    daemon.kill()
    place.assert_clean()


def check_kill_of_all(place):
    """Even the guardian was killed: the next daemon clears up."""
    daemon = place.start()
    assert daemon.client.spawn("min").value("6 * 7") == "42"
    processes = daemon.tree()
    for pid in [daemon.pid, *host.find_by_name(processes, "cella-guardian")]:
        os.kill(pid, 9)
    daemon.process.wait()
    host.eventually(lambda: not host.alive(processes), 10, "the end of all processes")
    second = place.start()
    assert second.client.spawn("min").value("6 * 7") == "42"
    second.stop()
    place.assert_clean()


def check_two(place):
    """Two daemons of one place do not get in each other's way."""
    first, second = place.start(), place.start()
    first.stop()
    spawned = second.client.spawn("min", limits=LIMITS)
    check_memory(place, spawned)
    second.stop()
    place.assert_clean()


PLACES = (
    dict(name="root at the top"),
    dict(name="root in a group", group="a/b"),
    dict(name="root in a delegated group", group="service", delegated=True),
    dict(name="user with a delegated group", group="c/d", uid=USER, delegated=True),
    dict(name="user without", group="e/f", uid=USER, has_cgroup=False),
)
CHECKS = (check_limits, check_kill, check_kill_of_all, check_two)


def main():
    failed = 0
    for facts in PLACES:
        if sys.argv[1:] and not any(word in facts["name"] for word in sys.argv[1:]):
            continue
        place = Place(**facts)
        for check in CHECKS:
            start = time.monotonic()
            try:
                check(place)
                outcome = "ok"
            except Exception:
                traceback.print_exc()
                outcome, failed = "FAILED", failed + 1
            print(f"{outcome} {place.name}: {check.__name__} "
                  f"({time.monotonic() - start:.1f} s)", flush=True)
        if place.bystander:
            place.bystander.kill()
    return 1 if failed else 0


sys.exit(main())
