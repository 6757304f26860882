"""`debug`: sessions whose processes may trace each other. Who gets one, and what works in it.
tests/escape/test_debug.py shows what it does not open, tests/habitat what else works."""

import shutil
import subprocess
import sys
import zipfile

import pytest

from harness import host
from harness.client import ApiError

pytestmark = pytest.mark.one_mode

CONFIG = """\
default_profile: min
pool: 1
agents:
  - id: ana
    repl: {enabled: true}
  - id: bob
    repl: {enabled: true, debug: ask}
  - id: eve
    repl: {enabled: true, debug: always}
"""


@pytest.fixture(scope="module")
def strict(launcher):
    daemon = launcher(config=CONFIG)
    yield daemon
    daemon.stop()


@pytest.mark.parametrize("agent, asked, granted", [
    (None, None, False), (None, True, True), (None, False, False),
    ("ana", None, False), ("ana", False, False), ("ana", True, None),
    ("bob", None, False), ("bob", True, True),
    ("eve", None, True), ("eve", False, False), ("eve", True, True)])
@pytest.mark.sampled(3)
def test_an_agent_may_forbid_allow_or_preset_it(strict, agent, asked, granted):
    members = {"agent": agent, "debug": asked}
    if granted is None:
        with pytest.raises(ApiError, match="403.*debug: ask"):
            strict.client.spawn(**members)
        return
    session = strict.client.spawn(**members)
    assert session.info()["debug"] is granted
    traces = "import ctypes, os; pid = os.fork() or os._exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0)" \
        " != 0); os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0"
    assert session.value(traces) == str(granted)
    session.kill()


def test_agents_tell_what_they_may(strict):
    agents = strict.client.call("GET", "/v1/agents")["agents"]
    assert {a["agent"]: a["repl"]["debug"] for a in agents} == {
        "ana": "never", "bob": "ask", "eve": "always", "default": "ask"}


def test_it_belongs_to_the_sandbox(strict):
    session = strict.client.spawn(debug=True)
    joined = strict.client.spawn(join=session.id)
    assert joined.info()["debug"] is True
    with pytest.raises(ApiError, match="400.*joined"):
        strict.client.spawn(join=session.id, debug=False)
    session.exec("x = 1")
    made = strict.client.call("POST", f"{session.path}/branch", {"count": 1})["sessions"]
    assert made[0]["debug"] is True
    for one in (joined, session):
        one.kill()


@pytest.mark.slow
def test_it_outlives_the_daemon(launch):
    daemon = launch(config=CONFIG)
    session = daemon.client.spawn(debug=True)
    assert session.exec("x = 1", durable=True).status == "ok"
    daemon.stop()
    again = launch(data=daemon.data, config=CONFIG)
    session.client = again.client
    assert session.info()["debug"] is True
    assert session.value("import ctypes; x, ctypes.CDLL(None).personality(0x40000) >= 0") == \
        "(1, True)"


def test_a_shell_that_is_traced_says_so(spawn_runtime):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    session = spawn_runtime("bash", debug=True, checkpoints="every", durable="off")
    session.exec("x=1")
    session.exec("strace -e trace=none -o /dev/null -p $$ & tracer=$!\n"
                 "until ! grep -q 'TracerPid:.0' /proc/$$/status; do :; done")

    def newest():
        return session.checkpoints()["checkpoints"][-1]

    tracer = session.out("echo $tracer").strip()
    reason = f"the interpreter was traced by strace (process {tracer})"
    host.eventually(lambda: newest()["reason"] == reason, reason)
    session.exec("kill $tracer; wait $tracer")
    session.exec("x=2")
    host.eventually(lambda: newest()["restore"] == "process", "a checkpoint")


@pytest.fixture(scope="module")
def py_spy(tmp_path_factory):
    """The program, out of its package from PyPI."""
    folder = tmp_path_factory.mktemp("py-spy")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                           "--dest", folder, "py-spy==0.4.1"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"py-spy cannot be had: {done.stderr[-200:]}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("/scripts/py-spy")]
        return archive.read(name)


@pytest.mark.slow
def test_py_spy_sees_the_cell(spawn, py_spy):
    session = spawn("min", debug=True)
    assert session.put("py-spy", py_spy).status in (200, 201)
    assert "find_me" in session.out("""
        import os, subprocess
        os.chmod("py-spy", 0o755)
        def find_me():
            print(subprocess.run(['./py-spy', 'dump', '--pid', str(os.getpid())],
                                 capture_output=True, text=True))
        find_me()""")
