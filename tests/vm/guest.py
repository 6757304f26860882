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
LIMITS = {"memory_mb": 64, "pids": 20, "cpu_percent": 25}
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
start, used = time.monotonic(), time.process_time()
while time.monotonic() - start < 1: pass
print(time.process_time() - used)
"""


class Place:
    """Where and as whom a daemon is started."""

    def __init__(self, name, group="", uid=0, delegated="", is_container=False):
        self.name, self.uid, self.is_container = name, uid, is_container
        given = delegated if uid or is_container else "memory pids cpu"
        self.has_memory, self.has_cpu = "memory" in given, "cpu" in given
        self.group = TOP / group
        self.group.mkdir(parents=True, exist_ok=True)
        if delegated:
            self.delegate(delegated)
        self.directory = pathlib.Path(tempfile.mkdtemp())
        os.chmod(self.directory, 0o755)
        os.chown(self.directory, uid, uid)
        self.bystander = self.start_bystander() if group else None

    def delegate(self, controllers):
        """As systemd does for Delegate=yes."""
        for above in reversed(self.group.relative_to(TOP).parents):
            wanted = " ".join("+" + c for c in controllers.split())
            (TOP / above / "cgroup.subtree_control").write_text(wanted)
        os.setxattr(self.group, "trusted.delegate", b"1")
        for name in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            os.chown(self.group / name, self.uid, self.uid)

    def start_bystander(self):
        process = subprocess.Popen(["sleep", "1000"])
        (self.group / "cgroup.procs").write_text(str(process.pid))
        return process

    def where(self):
        """The bystander's group: it may have been asked to step aside, like a shell."""
        if not self.bystander:
            return self.group
        own = host.read(f"/proc/{self.bystander.pid}/cgroup").strip().removeprefix("0::/")
        return TOP / own

    def start(self):
        wrapper = self.directory / "cella"
        wrapper.write_text(
            f"#!/bin/sh\necho $$ >{self.where()}/cgroup.procs || exit 1\n"
            f"exec {self.as_container() if self.is_container else ''}"
            f"setpriv --reuid {self.uid} --regid {self.uid} --clear-groups {find_binary()} "
            '"$@"\n')
        wrapper.chmod(0o755)
        data = pathlib.Path(tempfile.mkdtemp(dir=self.directory)) / "data"
        os.chown(data.parent, self.uid, self.uid)
        return Daemon(wrapper, data, config="default_profile: min\npool: 1\n")

    def as_container(self):
        """Sees its own group as the top, as in a container that may change its groups."""
        inside = self.directory / "container"
        inside.write_text(f'umount {TOP} && mount -t cgroup2 cgroup2 {TOP} && exec "$@"\n')
        return f"unshare --cgroup --mount sh {inside} "

    def stop(self, daemon):
        processes = daemon.tree()
        daemon.process.terminate()
        assert daemon.process.wait(host.PATIENCE) == 0, daemon.errors()
        host.eventually(lambda: not host.alive(processes), "the end of all processes")

    def leftovers(self):
        return [path for path, _, _ in os.walk(TOP) if "/cella-" in path]

    def assert_clean(self):
        host.eventually(lambda: not self.leftovers(), f"the end of {self.leftovers()}")
        if self.bystander:
            assert self.bystander.poll() is None
            assert self.where() == self.group, "the bystander was left elsewhere"


def check_group(place, daemon, session):
    heads = {pid for pid, _ in daemon.tree() if host.pid_depth(pid) == 3}
    groups = {host.read(f"/proc/{pid}/cgroup").strip().removeprefix("0::") for pid in heads}
    inside = session.out("print(open('/proc/self/cgroup').read().strip())").strip()
    assert inside in ("0::/", ""), f"a session sees its place on the host: {inside}"
    if not place.has_cpu:
        return
    assert all("/cella-" in g and "/jail-" in g for g in groups), groups
    if not place.has_memory:
        return
    values = {host.read(TOP / g[1:] / "memory.max").strip() for g in groups}
    assert str(64 << 20) in values, values


def check_memory(place, session):
    result = session.exec(MEMORY_BOMB, timeout_ms=60_000)
    if place.has_memory:
        assert result.status == "died", result
        assert "64 MB" in result["error"]["message"], result["error"]
    else:
        assert result.status == "error", result
        assert result["error"]["name"] == "MemoryError", result["error"]


def check_processes(session):
    error, count = session.out(FORK_BOMB, timeout_ms=60_000).split()
    assert error == "11" and int(count) < LIMITS["pids"], (error, count)
    assert int(count) >= LIMITS["pids"] - 2, count


def check_cpu(place, session):
    share = float(session.out(SPIN, timeout_ms=60_000))
    if place.has_cpu:
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
    place.stop(daemon)
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
    host.eventually(lambda: not host.alive(processes), "the end of all processes")
    second = place.start()
    assert second.client.spawn("min").value("6 * 7") == "42"
    place.stop(second)
    place.assert_clean()


def check_two(place):
    """Two daemons of one place do not get in each other's way."""
    first, second = place.start(), place.start()
    place.stop(first)
    spawned = second.client.spawn("min", limits=LIMITS)
    check_memory(place, spawned)
    place.stop(second)
    place.assert_clean()


ALL = "memory pids cpu"
PLACES = (
    dict(name="root at the top"),
    dict(name="root in a group", group="a/b"),
    dict(name="root in a delegated group", group="service", delegated=ALL),
    dict(name="root in a container", group="container", delegated=ALL, is_container=True),
    dict(name="user with a delegated group", group="c/d", uid=USER, delegated=ALL),
    dict(name="user without the memory controller", group="g/h", uid=USER, delegated="pids cpu"),
    dict(name="user without", group="e/f", uid=USER),
)
ALWAYS = (check_limits, check_kill)
WHERE_GROUPS_ARE_SHARED = (check_kill_of_all, check_two)


def report(place, check):
    start = time.monotonic()
    try:
        check(place)
        outcome = "ok"
    except Exception:
        traceback.print_exc()
        outcome = "FAILED"
    seconds = time.monotonic() - start
    print(f"{outcome} {place.name}: {check.__name__} ({seconds:.1f} s)", flush=True)
    return outcome == "ok"


def main():
    results = []
    for facts in PLACES:
        if sys.argv[1:] and not any(word in facts["name"] for word in sys.argv[1:]):
            continue
        place = Place(**facts)
        is_shared = facts.get("delegated") == ALL and not place.is_container
        checks = ALWAYS + (WHERE_GROUPS_ARE_SHARED if is_shared else ())
        results += [report(place, check) for check in checks]
        if place.bystander:
            place.bystander.kill()
    return 0 if results and all(results) else 1


sys.exit(main())
