"""What programs ask of the machine that they run on: a session answers for itself."""

import json
import os
import platform

import pytest

from harness.client import Result, Session

pytestmark = pytest.mark.privilege

CORES = os.cpu_count()
MIB = 1 << 20


@pytest.fixture
def bash(spawn_runtime):
    """Two processors and 256 MiB, half as much as others have."""
    return spawn_runtime("bash", limits={"cpu_percent": 200, "memory_mb": 256})


@pytest.fixture
def python(spawn):
    return spawn("min", limits={"cpu_percent": 200, "memory_mb": 256})


def succeeds(session, command):
    answer = session.exec(command, timeout_ms=60_000)
    assert (answer.status, answer.get("exit_code") or 0, answer["stderr"]) == ("ok", 0, ""), answer
    return answer["stdout"]


@pytest.mark.parametrize("command, expected", [
    ("ps aux", "/main.bash"),
    ("ps -ef", "cella"),
    ("ps -o etimes= -p $$", ""),
    ("free -b", f"{256 * MIB}"),
    ("uptime", "load average"),
    ("top -bn1", "256.0 total"),
    ("lscpu", "Model name"),
    ("lsof -p $$", "cwd"),
    ("vmstat", "procs"),
    ("mount", "on /workspace"),
    ("cat /proc/mounts", " /workspace "),
    ("cat /proc/net/dev", "lo:"),
    ("cat /proc/version", platform.release()),
    ("cat /proc/sys/kernel/hostname", "cella"),
    ("cat /proc/sys/kernel/osrelease", platform.release()),
    ("cat /proc/sys/vm/overcommit_memory", ""),
    ("cat /proc/loadavg", "0.00"),
    ("cat /sys/devices/system/cpu/{possible,present,online}", ""),
    ("cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes", f"{256 * MIB}"),
    ("cat /sys/fs/cgroup/cpu.max", "200000 100000"),
    ("df /workspace", "/workspace"),
])
@pytest.mark.sampled(3)
def test_commands_that_look_around(bash, command, expected):
    assert expected in succeeds(bash, command)


def test_lscpu_counts_the_processors_of_the_session(bash, spawn_runtime):
    def told(session):
        return {line.split(":")[0]: line.split(":")[1].strip()
                for line in succeeds(session, "lscpu").splitlines()}
    cpus = told(bash)
    assert [cpus[name] for name in ("CPU(s)", "Thread(s) per core", "Socket(s)")] == \
        [str(min(2, CORES)), "1", "1"]
    assert told(spawn_runtime("bash"))["CPU(s)"] == "1"


def test_python_sees_its_limits(python, spawn):
    assert python.value("import os; os.cpu_count()") == str(min(2, CORES))
    assert python.value("import os; os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')")
    assert spawn("min").value("import os; os.cpu_count()") == "1"


def test_psutil(python):
    told = json.loads(python.out(
        """
        import json, os, psutil, time, warnings
        warnings.simplefilter('error')
        own = psutil.Process()
        print(json.dumps({
            'total': psutil.virtual_memory().total, 'cpus': psutil.cpu_count(),
            'cores': psutil.cpu_count(logical=False), 'swap': psutil.swap_memory().total,
            'age': time.time() - own.create_time(), 'rss': own.memory_info().rss,
            'percent': psutil.cpu_percent(0.01), 'load': psutil.getloadavg(),
            'pids': os.getpid() in psutil.pids(), 'booted': psutil.boot_time() < time.time(),
            'lo': list(psutil.net_if_stats()), 'folders': [p.mountpoint for p in
                psutil.disk_partitions(all=True)]}))
        """))
    assert told["total"] == 256 * MIB
    assert told["cpus"] == told["cores"] == min(2, CORES)
    assert told["swap"] == 0 and told["percent"] >= 0 and told["rss"] > MIB
    assert -1 < told["age"] < 3600
    assert told["pids"] and told["booted"] and told["lo"] == ["lo"]
    assert "/workspace" in told["folders"]


@pytest.mark.privilege
def test_memory_that_is_used_is_not_free(python, eventually):
    """The numbers are those of the last cell that took a while."""
    python.exec("import psutil, time; held = b'x' * (64 << 20); time.sleep(0.1)")
    eventually(lambda: 64 * MIB < int(python.value(
        "v = psutil.virtual_memory(); time.sleep(0.03); v.total - v.available")) < 250 * MIB)


THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS", "NUMBA")


@pytest.mark.parametrize("percent", [50, 100, 200])
def test_a_shell_counts_the_processors_that_it_has(spawn_runtime, percent):
    """Its programs may have threads: they are not copied, as an interpreter of Python is."""
    session = spawn_runtime("bash", limits={"cpu_percent": percent})
    shown = str(min(max(percent // 100, 1), CORES))
    names = " ".join(f"${name}_NUM_THREADS" for name in THREADS)
    assert session.out(f"nproc; echo {names}").split() == [shown] * 7
    asked = spawn_runtime("bash", limits={"cpu_percent": percent}, env={"OMP_NUM_THREADS": "1"})
    assert asked.out("nproc") == "1\n"


def test_node_sees_its_limits(spawn_runtime):
    session = spawn_runtime("node", limits={"cpu_percent": 200, "memory_mb": 256})
    told = json.loads(session.out(
        "const os = require('os'); console.log(JSON.stringify({cpus: os.cpus().length, "
        "model: os.cpus()[0].model, total: os.totalmem(), limit: process.constrainedMemory(), "
        "load: os.loadavg(), uptime: os.uptime() > 0}))"))
    assert told["cpus"] == min(2, CORES) and told["model"]
    assert told["total"] == 256 * MIB
    assert told["limit"] == 256 * MIB
    assert told["uptime"]


def test_limits_that_are_changed_with_the_session(client, spawn):
    """Jails are made ahead, with limits that are changed when somebody comes for them."""
    for percent, memory_mb in ((100, 512), (200, 300), (100, 128)):
        session = spawn("min", limits={"cpu_percent": percent, "memory_mb": memory_mb})
        told = session.value(
            "import os; [os.cpu_count(), int(open('/sys/fs/cgroup/memory.max').read()) >> 20,"
            " len([n for n in os.listdir('/sys/devices/system/cpu') if n[3:].isdigit()]),"
            " int(open('/proc/meminfo').read().split()[1]) >> 10]")
        cpus = min(percent // 100, CORES)
        assert told == f"[{cpus}, {memory_mb}, {cpus}, {memory_mb}]"


def test_a_branch_is_told_its_own(client, spawn):
    session = spawn("min", checkpoints="every", limits={"memory_mb": 256})
    session.exec("x = 1")
    answer = client.call("POST", f"{session.path}/branch", {})
    branch = Session(client, Result(answer.sessions[0]))
    try:
        assert branch.value("open('/proc/meminfo').readline().split()[1]") == "'262144'"
        assert branch.value("x, open('/proc/sys/kernel/hostname').read()") == "(1, 'cella\\n')"
    finally:
        client.request("DELETE", branch.path)
