"""What the host can see of a daemon: its processes, cgroups, mounts, memory and descriptors."""

import contextlib
import os
import pathlib
import re
import time

# Seconds after which something is stuck, on however slow a machine: the limit of every wait of the
# tests. None of them shows how long anything takes; unit.h has the same for tests in C.
PATIENCE = float(os.environ.get("CELLA_TEST_PATIENCE", "120"))


def eventually(check, what="the condition"):
    """Polls, for what no event tells. Returns the first true result; the last look is after the
    end of all patience."""
    deadline = time.monotonic() + PATIENCE
    while True:
        is_last = time.monotonic() >= deadline
        result = check()
        if result:
            return result
        assert not is_last, f"{what} did not come true within {PATIENCE:.0f} s"
        time.sleep(0.01)


def at_rest(measure, quiet=1.0):
    """What `measure` gives once it has not changed for a while: pools are full then."""
    last, since = measure(), time.monotonic()
    deadline = since + PATIENCE
    while time.monotonic() < min(since + quiet, deadline):
        time.sleep(0.05)
        now = measure()
        if now != last:
            last, since = now, time.monotonic()
    return last


def read(path):
    """A file of /proc, or "" when the process is gone or not ours to look at."""
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def stat_fields(pid):
    text = read(f"/proc/{pid}/stat")
    return text[text.rindex(")") + 2 :].split() if text else None


def start_time(pid):
    fields = stat_fields(pid)
    return fields[19] if fields and fields[0] != "Z" else None


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def tree(root):
    """The (pid, start time) of a process and all it started, directly or not."""
    parents = {}
    for pid in pids():
        fields = stat_fields(pid)
        if fields:
            parents.setdefault(int(fields[1]), []).append(pid)
    found, queue = set(), [root]
    while queue:
        pid = queue.pop()
        started = start_time(pid)
        if started:
            found.add((pid, started))
        queue += parents.get(pid, [])
    return found


def alive(processes):
    return {(pid, started) for pid, started in processes if start_time(pid) == started}


def cgroup_mounts():
    mounts = {}
    for line in read("/proc/self/mountinfo").splitlines():
        left, right = line.split(" - ", 1)
        kind, _, options = right.split(" ", 2)
        where = left.split()[4]
        if kind == "cgroup2":
            mounts[""] = where
        elif kind == "cgroup":
            for option in options.split(","):
                mounts[option] = where
    return mounts


def cgroups(processes):
    """The directories of the cgroups that these processes are in and this test is not."""
    mounts, found = cgroup_mounts(), set()
    own = set(read("/proc/self/cgroup").splitlines())
    for pid, _ in processes:
        for line in read(f"/proc/{pid}/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            where = mounts.get(controllers.split(",")[0])
            if where and path != "/" and line not in own:
                found.add(where + path)
    return found


def mounts_below(directory):
    """Mount points and mounted directories of the host that lie below this directory."""
    return [line for line in read("/proc/self/mountinfo").splitlines() if names(line, directory)]


def names(text, directory):
    """Not another whose name only begins alike: data1 is not data10."""
    return re.search(rf"{re.escape(str(directory))}(?![^/\s])", text) is not None


def processes_seeing(directory):
    """Processes whose mount namespace shows something below this directory (root sees all)."""
    return [p for p in pids() if p != os.getpid() and sees(p, directory)]


def sees(pid, directory):
    own = os.stat("/proc/self/ns/mnt").st_ino
    with contextlib.suppress(OSError):
        if os.stat(f"/proc/{pid}/ns/mnt").st_ino == own:
            return False
    return names(read(f"/proc/{pid}/mountinfo"), directory)


def bytes_written(pid):
    """To files and connections, ever."""
    return int(re.search(r"wchar: (\d+)", read(f"/proc/{pid}/io"))[1])


def data_kb(pid):
    """Its heap and other writable memory of its own, as mapped: a count, not what is resident."""
    match = re.search(r"VmData:\s+(\d+)", read(f"/proc/{pid}/status"))
    return int(match[1]) if match else 0


def rss_kb(pid):
    """For reports: it is the machine's business, so nothing may be asserted of it."""
    match = re.search(r"VmRSS:\s+(\d+)", read(f"/proc/{pid}/status"))
    return int(match[1]) if match else 0


def pss_kb(pid):
    match = re.search(r"^Pss:\s+(\d+)", read(f"/proc/{pid}/smaps_rollup"), re.M)
    return int(match[1]) if match else 0


def waits(pid):
    """How often its threads went to sleep of their own will; what preempts them does not count."""
    found = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        match = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", read(path), re.M)
        found += int(match[1]) if match else 0
    return found


def fd_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def mem_available_kb():
    return int(re.search(r"MemAvailable:\s+(\d+)", read("/proc/meminfo"))[1])


def find_by_name(processes, name):
    """The pids among these processes whose name (comm) is this."""
    return [pid for pid, _ in processes if read(f"/proc/{pid}/comm").strip() == name]


def pid_namespace(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None


def in_pid_namespace(namespace):
    """Every process of this pid namespace, however it came there. While its file is open no other
    namespace gets its number, which is free for the next one as soon as it ends."""
    inode = os.fstat(namespace.fileno()).st_ino
    return [pid for pid in pids() if pid_namespace(pid) == inode]


def pid_depth(pid):
    """In how many pid namespaces the process has a number: 1 on the host."""
    match = re.search(r"^NSpid:\s+(.*)$", read(f"/proc/{pid}/status"), re.M)
    return len(match[1].split()) if match else 0
