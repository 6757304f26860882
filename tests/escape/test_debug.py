"""Sessions with `debug`, whose processes may trace each other: whom they cannot trace, and what a
tracer cannot hold up. Numbers are x86-64 system calls."""

import ctypes
import os
import textwrap

import pytest
from probes import DEATH_IS_CLOSED, PRELUDE, PROBES
from test_copies import REACH, undo
from test_probes import program

from harness import host
from harness.client import Result, Session

LANDLOCK_CREATE_RULESET = 444
MEANT = {"03 ptrace of a child", "03 being traced"}  # what `debug` is for
MEANT_PARTS = {"os.getppid(), os.getpid())": "os.getppid())", "0x0040000, ": ""}

TRACING = PRELUDE + textwrap.dedent("""
    import re, signal, time
    TRACEME, CONT, ATTACH, SEIZE = 0, 7, 16, 0x4206
    FOLLOW = 0x2 | 0x4 | 0x8  # forks, vforks and clones
    def trace(request, pid, data=0):
        return call(101, request, pid, 0, data)
    def seize(pid, options=0):
        return trace(SEIZE, pid, options) == 0
    def listen():
        "Whatever those who are traced stop for, they go on."
        while True:
            pid, status = os.waitpid(-1, 0x40000000)
            if os.WIFSTOPPED(status):
                trace(CONT, pid)
    def tracer(options=0, listens=True, waits_for=None, name=b'tracer'):
        "Starts a process that traces this one. Returns its number."
        ours, theirs = os.pipe()
        me, pid = os.getpid(), os.fork()
        if pid == 0:
            try:
                libc.prctl(15, name)
                os.write(theirs, b'.')
                while waits_for and not os.path.exists(waits_for): time.sleep(.01)
                seize(me, options)
                os.write(theirs, b'.')
                if listens: listen()
                while True: signal.pause()
            finally:
                os._exit(1)
        os.read(ours, 1)
        if not waits_for: os.read(ours, 1)
        os.close(ours); os.close(theirs)
        return pid
    """)


@pytest.fixture
def debugged(spawn):
    return spawn("min", debug=True, checkpoints="every", durable="off")


def test_it_is_off_unless_asked_for(session, debugged):
    attempts = TRACING + """
ready = tracer
def try_child():
    pid = os.fork()
    if pid == 0:
        while True: signal.pause()
    try: return seize(pid)
    finally: os.kill(pid, 9); os.waitpid(pid, 0)
print(outcome(try_child))
if os.fork() == 0: os._exit(outcome(lambda: trace(TRACEME, 0)) == 'EPERM')
print(os.waitstatus_to_exitcode(os.wait()[1]))
print(outcome(lambda: call(310, os.getpid(), b'', 0, b'', 0, 0)))
"""
    assert session.out(attempts) == "EPERM\n1\nEPERM\n"
    assert debugged.out(attempts) == "True\n0\n0\n"
    assert (session.info()["debug"], debugged.info()["debug"]) == (False, True)


def test_all_else_is_as_closed_as_without(spawn):
    assert set(PROBES) > MEANT
    fresh = {"debug": True, "checkpoints": "off", "durable": "off"}
    debugged = spawn("min", **fresh)
    for name, body in PROBES.items():
        if name in MEANT:
            continue
        for own, rest in MEANT_PARTS.items():
            body = body.replace(own, rest)
        result = debugged.exec(program(body), timeout_ms=15_000)
        if result.status == "died" and name in DEATH_IS_CLOSED:
            debugged = spawn("min", **fresh)
            continue
        assert result.status == "ok", (name, result)
        assert "OPEN" not in result["stdout"], (name, result["stdout"])


def test_nobody_else_can_be_traced(daemon, debugged, witness):
    """Neither the init nor the checkpoints; nor anybody by the number that the host knows."""
    debugged.exec("x = 1")
    debugged.exec("x = 2")
    assert [c["restore"] for c in debugged.checkpoints()["checkpoints"][-2:]] == ["process"] * 2
    strangers = [daemon.pid, daemon.warden(), os.getpid()]
    strangers += [pid for pid, _ in host.tree(daemon.pid)]
    assert debugged.out(TRACING + f"""
others = [pid for pid in [*range(1, 3000), *{sorted(set(strangers))}] if pid != os.getpid()]
for request in (SEIZE, ATTACH):
    print(each(lambda pid: trace(request, pid) == 0, others))
""") == "[]\n[]\n"
    assert debugged.out(REACH) == "True []\nTrue\n"


def test_a_neighbour_in_the_same_jail_cannot_be_traced(spawn, debugged):
    if ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) < 1:
        pytest.skip("without Landlock neighbours are processes of one user")
    neighbour = spawn("min", join=debugged.id)
    assert neighbour.info()["debug"] is True
    pid = neighbour.value("import os; os.getpid()")
    assert debugged.out(TRACING + f"print(outcome(lambda: seize({pid})))") in ("EPERM\n", "ESRCH\n")


@pytest.mark.parametrize("options", ["0", "FOLLOW"])
def test_a_checkpoint_is_not_traced_with_its_interpreter(debugged, options):
    """And none is made meanwhile, because breakpoints would be in it."""
    debugged.exec(TRACING + "x = 1")
    kept = debugged.checkpoints()["checkpoints"][-1]
    pid = debugged.value(f"tracer({options}, name=b'gdb')")
    reason = f"the interpreter was traced by gdb (process {pid})"
    host.eventually(lambda: debugged.checkpoints()["checkpoints"][-1]["reason"] == reason, reason)
    traced = "[p for p, _ in each(lambda p: not re.search('State:.Z|TracerPid:.0'," \
        " open(f'/proc/{p}/status').read()), range(1, 3000))]"
    assert debugged.value(traced) == debugged.value("[os.getpid()]")
    assert undo(debugged, kept["id"])["restored_from"] == "checkpoint"
    # The one that was traced may still be ending.
    host.eventually(lambda: debugged.value("x, " + traced) == "(1, [])")
    assert debugged.checkpoints()["checkpoints"][-1]["restore"] == "process"


def test_who_asks_the_warden_to_trace_it_is_ended(debugged, witness):
    """The parent of every interpreter: a stop is no end, and nobody waits for it."""
    debugged.exec(TRACING + "x = 1")
    for signal in ("SIGUSR1", "SIGSTOP"):
        answer = debugged.exec(f"trace(TRACEME, 0); os.kill(os.getpid(), signal.{signal}); x = 2")
        assert answer.status == "died" and answer["restored_from"] == "checkpoint", answer
        assert debugged.value("x") == "1"
    debugged.exec("""
for n in range(20):
    if call(56, 0x8000 | 17, 0, 0, 0, 0) == 0:  # a sibling, whose parent is the warden, too
        trace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
""")
    assert debugged.value("x") == "1"


@pytest.mark.parametrize("ends", [
    "os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()", "ctypes.string_at(0)"])
@pytest.mark.sampled(4)
def test_a_tracer_that_does_not_listen_holds_up_no_end(debugged, witness, ends):
    """It is older than the checkpoint, and so would outlive what is undone."""
    debugged.exec(TRACING + "deaf = tracer(listens=False, waits_for='/tmp/now'); x = 1")
    assert debugged.checkpoints()["checkpoints"][-1]["restore"] == "process"
    debugged.exec("y = 1")
    answer = debugged.exec("open('/tmp/now', 'w').close()\n"
                           "while 'TracerPid:\\t0' in open('/proc/self/status').read(): pass\n"
                           f"x = 2; {ends}", timeout_ms=5000)
    assert answer.status in ("died", "timeout") and answer["restored_from"] == "checkpoint", answer
    assert debugged.value("x") == "1"


def test_a_traced_interpreter_can_be_undone_interrupted_and_ended(daemon, debugged, witness):
    debugged.exec(TRACING + "deaf = tracer(listens=False, waits_for='/tmp/now'); x = 1")
    first = debugged.checkpoints()["checkpoints"][-1]["id"]
    debugged.exec("open('/tmp/now', 'w').close(); x = 2\n"
                  "while 'TracerPid:\\t0' in open('/proc/self/status').read(): pass")
    assert undo(debugged, first)["restored_from"] == "checkpoint"
    assert debugged.value("x") == "1"
    assert debugged.exec("tracer(listens=False)\nwhile True: pass",
                         timeout_ms=500).status == "timeout"
    assert debugged.value("x") == "1"
    debugged.exec("tracer(listens=False)")
    namespace = namespace_of(debugged)
    processes = {p for p in host.tree(daemon.pid) if is_in(p[0], namespace)}
    assert processes or os.geteuid() != 0
    debugged.kill()
    host.eventually(lambda: not host.alive(processes), "the end of the jail")


def test_a_traced_interpreter_is_saved_and_suspended(spawn, witness):
    """After every cell: the next one finds what could be saved, and its tracer is gone."""
    session = spawn("min", debug=True, isolation="per_cell")
    for n in range(2):
        answer = session.exec(TRACING + f"x = {n}; pid = tracer(listens=False)", timeout_ms=60_000)
        assert answer.status == "ok", answer
        assert session.value("x, os.path.exists(f'/proc/{pid}')") == f"({n}, False)"


def is_in(pid, namespace):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") == namespace
    except OSError:
        return False


def namespace_of(session):
    return session.value("import os; os.readlink('/proc/self/ns/pid')").strip("'")


def test_a_branch_ends_though_its_source_traces_it(client, debugged, witness):
    debugged.exec(TRACING + "x = 1")
    made = client.call("POST", f"{debugged.path}/branch", {"count": 1})["sessions"][0]
    branch = Session(client, Result(made))
    assert branch.value("x") == "1" and branch.info()["debug"] is True
    namespace = namespace_of(branch)
    held = debugged.out("""
def found():
    return [int(p) for p in os.listdir('/proc') if p.isdigit()
            and outcome(lambda: os.readlink(f'/proc/{p}/ns/pid')) == %r]
ours, theirs = os.pipe()
if os.fork() == 0:
    while not each(seize, found()): time.sleep(.01)  # neither is possible while it is being copied
    os.write(theirs, b'.')
    while True: signal.pause()
print(os.read(ours, 9) == b'.')
""" % namespace)
    assert held == "True\n"
    branch.kill()
    gone = "not [p for p in os.listdir('/proc') if p.isdigit()" \
        f" and outcome(lambda: os.readlink(f'/proc/{{p}}/ns/pid')) == {namespace!r}]"
    host.eventually(lambda: debugged.value(gone) == "True", "the end of the branch")
    assert debugged.value("1 + 1") == "2"
