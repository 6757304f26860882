"""Checkpoints: the session forks, the copy sleeps, and wakes as a head of its own."""

from __future__ import annotations

import os
import pathlib
from typing import Iterator

import pytest
from peer import Peer


@pytest.fixture
def head(python: str, image: pathlib.Path) -> Iterator[Peer]:
    peer = Peer.start(python, driver=image / "python")
    yield peer
    peer.close()


def test_a_checkpoint_wakes_as_it_was(head: Peer) -> None:
    head.run("x = 1\nf = lambda: x\ng = (n for n in range(9))\nnext(g), next(g)")
    checkpoint = head.checkpoint()
    head.run("x = 2; next(g)")
    woken = checkpoint.wake()
    assert woken.notes == []
    assert woken.value("f(), next(g)") == "(1, 2)"
    assert head.value("f(), next(g)") == "(2, 3)"
    assert woken.run("print('x')").stdout == "x\n"
    assert woken.value("import os\nos.getpid()") == str(woken.pid)
    again = checkpoint.wake()
    assert again.value("f(), next(g)") == "(1, 2)"
    woken.close()
    again.close()
    checkpoint.close()


def test_threads_keep_a_session_from_being_copied(head: Peer) -> None:
    head.run("import threading\ne = threading.Event()\nt = threading.Thread(target=e.wait)")
    head.run("t.start()")
    checkpoint, answer = head.try_checkpoint(5)
    assert answer == {
        "ev": "checkpoint", "id": 5, "forked": False, "threads": 2, "reason": "2 threads ran"
    }  # fmt: skip
    assert checkpoint.sock.recv(1) == b""
    head.run("e.set(); t.join()")
    head.checkpoint(6).close()
