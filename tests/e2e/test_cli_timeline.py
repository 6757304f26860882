"""The time machine on the command line: undo, redo, try, branch, tree and checkpoints."""

import json

import pytest

from harness import host
from harness.shell import Shell

pytestmark = pytest.mark.one_mode


@pytest.fixture
def shell(daemon):
    return Shell(daemon.binary, daemon.user, daemon.data)


@pytest.fixture
def past(session):
    """Three cells with a checkpoint each: x is 3 and says so in a file."""
    for n in (1, 2, 3):
        session.exec(f"x = {n}; f = open('f', 'w'); _ = f.write(str(x)); f.close()")
        assert session.rest() == n
    return session


@pytest.mark.smoke
def test_undo_and_redo(shell, past):
    done = shell("undo", past.id, check=0)
    assert done.stdout.startswith("took back cell 3 (x = 3; f = open(")
    assert past.value("x, open('f').read()") == "(2, '2')"
    shell("undo", past.id[:12], "--to", "1", check=0)
    assert past.value("x, open('f').read()") == "(1, '1')"
    undone = json.loads(shell("undo", past.id, "--to", "0", "--json", check=0).stdout)
    assert (undone["to"], undone["restored_from"]) == (0, "beginning")
    assert past.fails("x").name == "NameError"
    done = shell("undo", past.id, "--to", "99")
    assert done.returncode != 0 and "99" in done.stderr


@pytest.mark.smoke
def test_redo_returns(shell, past):
    shell("undo", past.id, check=0)
    assert shell("redo", past.id, check=0).stdout.startswith("redone; now at checkpoint 3\n")
    assert past.value("x") == "3"
    assert "redo" in shell("redo", past.id).stderr


def test_the_tree_of_checkpoints(shell, past):
    shell("undo", past.id, "--to", "1", check=0)
    past.exec("y = 1")
    assert past.rest() == 4
    lines = shell("tree", past.id, "--ascii", check=0).stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["o 0", "o 1", "|-o 2", "| o 3", "`-* 4"]
    assert lines[4].endswith("<- here") and "with files, can be restored" in lines[4]
    tree = json.loads(shell("tree", past.id, "--json", check=0).stdout)
    assert (tree["current"], tree["count"]) == (4, 4)
    table = shell("checkpoints", past.id, check=0).stdout.splitlines()
    assert [line.split()[0] for line in table] == ["ID", "1", "2", "3", "*"]


def test_try_is_kept_or_not(shell, past):
    code = "x = 10; f = open('g', 'w'); f.close(); print('tried'); x"
    done = shell("try", past.id, "--discard", code, check=0)
    assert done.stdout == "tried\n10\n"
    assert "added g" in done.stderr and "changed: x" in done.stderr
    assert "discarded" in done.stderr
    assert past.value("import os; x, os.listdir()") == "(3, ['f'])"
    assert "committed" in shell("try", past.id, "--commit", "x = 11", check=0).stderr
    assert past.value("x") == "11"
    assert shell("try", past.id, "--discard", "1/0").returncode == 1
    assert "nobody to ask" in shell("try", past.id, "x = 12").stderr


def test_a_try_can_be_decided_later(shell, past):
    open_try = json.loads(shell("try", past.id, "--json", "x = 13", check=0).stdout)
    number = str(open_try["try_id"])
    outcome = json.loads(shell("try", past.id, "--id", number, "--discard", "--json").stdout)
    assert (outcome["try_id"], outcome["outcome"]) == (open_try["try_id"], "discarded")
    assert past.value("x") == "3"


def test_branches(shell, past, client):
    ids = shell("branch", past.id, "--at", "2", "--count", "2", check=0).stdout.split()
    assert len(ids) == 2
    for branch_id in ids:
        assert shell("exec", "-s", branch_id, "x, open('f').read()").stdout == "(2, '2')\n"
    shell("kill", *ids, check=0)
    assert past.value("x") == "3"


def test_what_a_resumed_session_has_lost_is_told(shell, spawn):
    session = spawn(idle_timeout_secs=2)
    shell("exec", "-s", session.id, "x = 1; g = (n for n in [1])", check=0)
    host.eventually(lambda: "suspended" in [s.state for s in session.client.sessions()
                                            if s.session_id == session.id])
    done = shell("exec", "-s", session.id, "x", check=0)
    assert (done.stdout, done.stderr) == (
        "1\n", "cella: the session came back from disk without: g (generator)\n")
    assert shell("exec", "-s", session.id, "x", check=0).stderr == ""
