"""Files that processes, threads and timers write between cells are not lost silently."""

import pytest

from harness import host

pytestmark = [pytest.mark.privilege]

CRASH = "import ctypes; ctypes.string_at(0)"
SHELL = "import subprocess; p = subprocess.Popen({!r}, shell=True)"
WAITS = "while ! test -e go; do sleep 0.02; done; echo trained > model.bin; sleep 1000"
LEAVES = {
    "a process": ("python", SHELL.format("sleep 0.5; echo trained > model.bin")),
    "a thread": ("python", """
        import threading, time
        def train():
            time.sleep(0.5)
            open('model.bin', 'w').write('trained')
        threading.Thread(target=train).start()
        """),
    "a job": ("bash", "(sleep 0.5; echo trained > model.bin) &"),
    "a timer": ("node", "setTimeout(() => fs.writeFileSync('model.bin', 'trained'), 500); 0"),
}


def listed(session):
    """Without asking the session, which would not be idle then."""
    return next(s for s in session.client.sessions() if s.session_id == session.id)


def file(session, name="model.bin"):
    reply = session.client.request("GET", f"{session.path}/files/{name}")
    return reply.body.decode().strip() if reply.status == 200 else None


def undo(session, **body):
    return session.client.call("POST", f"{session.path}/undo", body)


@pytest.mark.smoke
@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.sampled(4)
def test_what_was_written_after_a_cell_outlives_a_suspension(spawn_runtime, leaves):
    runtime, code = LEAVES[leaves]
    session = spawn_runtime(runtime, idle_timeout_secs=1)
    session.exec(code)
    host.eventually(lambda: listed(session).state == "suspended", what="the suspension")
    assert file(session) == "trained"


@pytest.mark.parametrize("leaves", ["a process", "a thread", "a job"])
@pytest.mark.sampled(4)
def test_what_was_written_after_a_cell_outlives_a_later_crash(spawn_runtime, leaves):
    runtime, code = LEAVES[leaves]
    session = spawn_runtime(runtime)
    session.exec(code)
    host.eventually(lambda: file(session) == "trained")
    died = session.exec("kill -9 $BASHPID" if runtime == "bash" else CRASH)
    assert died.status == "died", died
    assert file(session) == "trained" or died["files_lost"] == ["model.bin"], died
    if leaves != "a thread":  # whose session has no process to go back to, only what was saved
        assert file(session) == "trained"


def test_a_later_undo_keeps_what_no_undone_cell_wrote(spawn):
    session = spawn()
    session.exec(SHELL.format(WAITS))
    session.rest()
    session.exec("open('mine', 'w').write('x')")
    session.rest()
    session.put("go", b"")
    host.eventually(lambda: file(session) == "trained")
    assert undo(session)["cells"] == [2]
    assert file(session) == "trained" and file(session, "mine") is None
    # That of the cell that began it takes its work along.
    assert undo(session, to=0)["to"] == 0
    assert file(session) is None


def test_what_may_have_been_written_by_others_is_named(spawn):
    session = spawn()
    session.exec(SHELL.format(WAITS))
    session.rest()
    session.exec("import os, time\nopen('go', 'w')\n"
                 "while not os.path.exists('model.bin'): time.sleep(0.02)")
    answer = undo(session)
    assert answer["files_lost"] == ["go", "model.bin"], answer


@pytest.mark.one_mode
def test_a_session_that_works_is_not_idle(spawn):
    session = spawn(idle_timeout_secs=1)
    session.exec(SHELL.format("i=0; while test ! -e go; do i=$((i+1)); done; echo $i > model.bin"))
    witness = spawn(idle_timeout_secs=1)
    witness.exec("1")
    # It began to be idle later, and takes as long as an idle session lives, and more.
    host.eventually(lambda: listed(witness).state == "suspended")
    assert listed(session).state == "idle"
    session.put("go", b"")
    host.eventually(lambda: listed(session).state == "suspended")
    assert int(file(session)) > 0
