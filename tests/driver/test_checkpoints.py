"""Checkpoints: the session forks, the copy sleeps, and wakes as a head of its own."""

from __future__ import annotations

import os
import pathlib
import socket
from typing import Iterator

import pytest
from peer import PATIENCE, Checkpoint, Peer, read_greeting
from test_zygote import Zygote


@pytest.fixture
def head(python: str, image: pathlib.Path) -> Iterator[Peer]:
    peer = Peer.start(python, driver=image / "python")
    yield peer
    peer.close()


def test_a_checkpoint_wakes_as_it_was(head: Peer) -> None:
    head.run("x = 1\nf = lambda: x\ng = (n for n in range(9))\nnext(g), next(g)")
    checkpoint = head.checkpoint()
    head.run("x = 2; next(g)")
    assert head.run("import os\nos.wait()").error["name"] == "ChildProcessError"
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


def test_a_cell_may_follow_at_once(head: Peer) -> None:
    socks = []
    for number in range(3):
        socks.append(head.send_checkpoint(number))
        running = head.begin(f"x = {number}; x")
        assert head.receive()["ev"] == "checkpoint"
        assert running.finish().text == str(number)
    for sock in socks:
        Checkpoint(sock).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into a copy")
def test_what_a_sleeping_copy_holds(head: Peer) -> None:
    head.run("import socket, os\na, b = socket.socketpair(); r, w = os.pipe()")
    cell = head.run("import subprocess\np = subprocess.Popen('sleep 30; echo late', shell=True)")
    assert cell.status == "ok"
    checkpoint = head.checkpoint()
    names = sorted(os.readlink(f"/proc/{checkpoint.pid}/fd/{fd}") for fd in
                   os.listdir(f"/proc/{checkpoint.pid}/fd"))
    assert not any(name.startswith("pipe:") for name in names), names
    assert os.getsid(checkpoint.pid) == checkpoint.pid != os.getsid(head.pid)
    head.run("p.kill(); p.wait()")
    checkpoint.close()


def test_a_session_without_free_descriptors(head: Peer) -> None:
    head.run("import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (192, 200))\n"
             "kept = []\ntry:\n    while True: kept.append(os.dup(0))\nexcept OSError: pass")
    checkpoint = head.checkpoint()
    woken = checkpoint.wake()
    assert woken.run("os.dup(0)").error["name"] == "OSError"
    assert woken.value("len(kept) > 100") == "True"
    woken.run("for fd in kept: os.close(fd)")
    assert woken.value("os.dup(0) > 0") == "True"
    woken.close()
    checkpoint.close()


def read_stream(sock: socket.socket) -> bytes:
    sock.settimeout(PATIENCE)
    data = b""
    while part := sock.recv(65536):
        data += part
    return data


@pytest.mark.parametrize("threads", [1, 2])
def test_savers_are_copies_too(head: Peer, threads: int) -> None:
    head.run("import threading, time\nx = 5\ne = threading.Event()")
    if threads == 2:
        head.run("threading.Thread(target=e.wait).start()")
    ours, theirs = socket.socketpair()
    order = {"op": "save", "id": 1, "format": "state", "max_bytes": 1 << 20}
    head.send(order, (theirs.fileno(),))
    assert head.value("x") == "5"
    theirs.close()
    streams = [read_stream(ours)]
    if threads == 1:
        checkpoint = head.checkpoint()
        ours, theirs = socket.socketpair()
        checkpoint.send(order, (theirs.fileno(),))
        theirs.close()
        streams.append(read_stream(ours))
        checkpoint.close()
    for stream in streams:
        assert stream[:1] == b"s" and b'{"rec":' in stream[:20]
    head.run("e.set()")


def test_copies_of_copies_cost_the_same(head: Peer) -> None:
    """Undone and undone again: a line of many generations."""
    lines = [head]
    for number in range(12):
        checkpoint = lines[-1].checkpoint(number)
        lines.append(checkpoint.wake())
        lines[-1].run(f"x = {number}")
        checkpoint.close()
    assert lines[-1].value("x") == "11"
    for line in lines[1:]:
        line.close()


def pages_touched(pid: int) -> int:
    """How often it met a page that it shared, or did not have: what it can have of its own."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[7])


def test_memory_of_a_copy(python: str, image: pathlib.Path) -> None:
    zygote = Zygote(python, image, ["json"])
    head = zygote.spawn()
    socks = []
    for number in range(5):
        head.run(f"x = {number}")
        socks.append(head.send_checkpoint(number))
        assert head.receive()["forked"]
    pids = [read_greeting(sock, b"c") for sock in socks]
    head.value("x")
    for pid in pids:
        assert pages_touched(pid) < 128
    for sock in socks:
        sock.close()
    head.close()
    zygote.close()
