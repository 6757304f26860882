"""Pseudo-terminals in sessions, and beside their checkpoints and branches."""

import pytest

from harness.client import Result, Session

OPEN = "import os, pty, subprocess\nours, theirs = pty.openpty()\nos.ttyname(theirs)"


def open_terminal(session):
    """In a cell whose checkpoint is made before this returns."""
    session.exec(OPEN)
    session.rest()


@pytest.mark.parametrize("limits", [{}, {"checkpoint_mb": 0}])
def test_a_session_has_terminals(spawn, limits):
    session = spawn(limits=limits)
    assert session.value(OPEN) == "'/dev/pts/0'"
    session.exec("os.write(theirs, b'hello')")
    assert session.value("os.read(ours, 99)") == "b'hello'"
    assert session.value("subprocess.run(['tty'], stdin=theirs, capture_output=True).stdout"
                         ) == r"b'/dev/pts/0\n'"


def test_no_checkpoint_keeps_a_terminal_open(session):
    """Who reads from it is told when the last of the session's own ends is closed."""
    open_terminal(session)
    session.exec("child = subprocess.Popen(['cat'], stdin=theirs, stderr=-3)\nos.close(theirs)")
    # 0: it had not begun to read by then
    assert session.value("os.close(ours)\nchild.wait(60)") in ("0", "1")


def test_a_restored_session_is_told_of_its_terminals(spawn):
    session = spawn(checkpoints="every")
    open_terminal(session)
    session.exec("x = 1")
    answer = session.client.call("POST", f"{session.path}/undo", {})
    told = [note for note in answer["not_undone"] if note["what"] == "terminal"]
    assert len(told) == 2 and all("closed" in note["detail"] for note in told), answer
    assert session.value("pty.openpty() is not None") == "True"


def test_a_branch_has_terminals_of_its_own(client, session):
    open_terminal(session)
    made = client.call("POST", f"{session.path}/branch", {"count": 1})
    (branch,) = [Session(client, Result(one)) for one in made["sessions"]]
    assert branch.value("sorted(os.listdir('/dev/pts'))") == "['ptmx']"
    assert branch.value("os.ttyname(pty.openpty()[1])") == "'/dev/pts/0'"
    branch.kill()
