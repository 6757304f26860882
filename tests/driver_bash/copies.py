"""The daemon's side of checkpoints: copies of a session that sleep and are woken."""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import struct
from typing import Any, Dict, List

from peer import PATIENCE, Peer

CREDENTIALS = struct.Struct("3i")


def pair() -> "tuple[socket.socket, socket.socket]":
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ours.settimeout(PATIENCE)
    return ours, theirs


def take_byte(sock: socket.socket) -> "tuple[bytes, int]":
    """The first byte of a copy, and from the kernel whose it is."""
    data, ancillary, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS.size))
    pids = [CREDENTIALS.unpack(d)[0] for _, kind, d in ancillary if kind == socket.SCM_CREDENTIALS]
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    return data, pids[0] if pids else 0


class Head(Peer):
    """A woken copy."""

    notes: List[Dict[str, str]]

    def interrupt(self) -> None:
        os.killpg(self.pid, signal.SIGINT)

    def out(self, code: str) -> str:
        answer = self.run(code)
        assert answer.status == "ok" and not answer.stderr, answer
        return answer.stdout

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.close()


class Checkpoint:
    """A sleeping copy."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        byte, self.pid = take_byte(sock)
        assert byte == b"c" and self.pid > 0

    def send(self, frame: Dict[str, Any], fds: "tuple[int, ...]") -> None:
        payload = json.dumps(frame).encode()
        data = len(payload).to_bytes(4, "little") + payload
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        self.sock.sendmsg([data], rights)

    def wake(self, key: int = -1) -> Head:
        """With the key of a room, in it."""
        ours, theirs = pair()
        if key < 0:
            self.send({"op": "wake", "head": 7}, (theirs.fileno(),))
        else:
            self.send({"op": "wake", "head": 7, "room": True}, (theirs.fileno(), key))
        theirs.close()
        byte, pid = take_byte(ours)
        assert byte == b"h" and pid > 0
        head = Head(ours)
        head.pid = pid
        woken = head.receive()
        assert woken["ev"] == "woken"
        # Outside of a jail /tmp is everybody's.
        head.notes = [note for note in woken["notes"] if note["what"] != "tmp"]
        return head

    def drop(self) -> None:
        self.sock.close()
        assert os.waitpid(self.pid, 0)[1] == 0


def ask_for_checkpoint(peer: Peer, number: int = 1) -> socket.socket:
    ours, theirs = pair()
    peer.send({"op": "checkpoint", "id": number}, (theirs.fileno(),))
    theirs.close()
    return ours


def checkpoint(peer: Peer, number: int = 1) -> Checkpoint:
    sock = ask_for_checkpoint(peer, number)
    answer = {"ev": "checkpoint", "id": number, "forked": True, "threads": 1}
    assert peer.receive() == answer
    return Checkpoint(sock)
