"""Where a session works, as its caller wanted it."""

from __future__ import annotations

import pathlib

import pytest
from peer import PATIENCE, Peer


def test_a_directory_is_made_and_entered(fresh: Peer, tmp_path: pathlib.Path) -> None:
    cwd = str(tmp_path / "deep" / "er")
    assert fresh.ask({"op": "setup", "cwd": cwd, "env": {}}) == {"ev": "set"}
    assert fresh.value("import os\nos.getcwd()") == repr(cwd)
    (tmp_path / "deep" / "er" / "mine.py").write_text("x = 5")
    assert fresh.value("import mine\nmine.x") == "5"
    assert fresh.run("os.system('pwd')").stdout == cwd + "\n"


def test_the_environment(fresh: Peer, tmp_path: pathlib.Path) -> None:
    (tmp_path / "found.py").write_text("x = 6")
    env = {"GREETING": "grüß Gott", "EMPTY": "", "TZ": "Asia/Tokyo", "PYTHONPATH": str(tmp_path)}
    assert fresh.ask({"op": "setup", "cwd": None, "env": env}) == {"ev": "set"}
    assert fresh.value("import os\nos.environ['GREETING'], os.environ['EMPTY']") == (
        "('grüß Gott', '')"
    )
    assert fresh.run("os.system('echo $GREETING')").stdout == "grüß Gott\n"
    assert fresh.value("import time\ntime.timezone") == "-32400"
    assert fresh.value("import sys, found\nfound.x, sys.path[0]") == "(6, '')"


def test_the_defaults(fresh: Peer) -> None:
    assert fresh.ask({"op": "setup", "cwd": None, "env": {}}) == {"ev": "set"}
    assert fresh.value("import os\nos.getcwd()") == repr(fresh.cwd)


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        ({"cwd": "/dev/null/x", "env": {}}, "cannot use /dev/null/x as cwd: Not a directory"),
        ({"cwd": "/tmp/\u0000", "env": {}}, "embedded null "),
        ({"cwd": None, "env": {"A=B": "x"}}, "cannot set the environment: "),
        ({"cwd": None, "env": {"A": 5}}, "cannot set the environment: "),
    ],
)
def test_what_cannot_be(python: str, setup: dict, reason: str) -> None:
    peer = Peer.start(python)
    answer = peer.ask({"op": "setup", **setup})
    assert answer["ev"] == "fatal" and reason in answer["message"]
    with pytest.raises(EOFError):
        peer.receive()
    assert peer.process.wait(PATIENCE) == 1
    peer.close()


def test_an_interrupt_meanwhile_meets_no_cell(fresh: Peer) -> None:
    for _ in range(20):
        fresh.interrupt()
        assert fresh.ask({"op": "setup", "cwd": None, "env": {"A": "b"}}) == {"ev": "set"}
    assert fresh.value("1+1") == "2"
