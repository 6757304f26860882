"""Cells that the zygote runs before a session is forked from it.

A session has a page of its own for each that it writes to, and shares all others with the zygote.
Much of what the first cells of a session would write they would write once: the interpreter counts
calls, fits code that runs often to the types that it sees, and remembers where attributes were
found. So the zygote goes the whole way of a cell, from the socket to the answer, until that has
come to rest.
"""

from __future__ import annotations

import _socket
import array
import ctypes
import os
from typing import List

from . import jsontext

# Often enough for code to be fitted: CPython does so after eight calls and some dozen steps more.
SESSIONS = 40
SOURCES = ("1+1", "print()", "pass")

_MAX_ANSWER_BYTES = 64 << 10


def pretend_to_fork() -> None:
    """What CPython does in the child of a fork. Only for a process without other threads."""
    ctypes.pythonapi.PyOS_BeforeFork()
    ctypes.pythonapi.PyOS_AfterFork_Child()


class Stage:
    """The daemon's side of a session's socket. `fd` is the session's, which takes it over.
    Afterwards descriptors 1 and 2 are what they were."""

    def __init__(self) -> None:
        self._daemon, session = _socket.socketpair()
        self.fd = session.detach()
        self._stdio: List[int] = []

    def __enter__(self) -> "Stage":
        self._stdio = [os.dup(1), os.dup(2)]
        return self

    def __exit__(self, *_: object) -> None:
        for number, kept in enumerate(self._stdio, 1):
            os.dup2(kept, number)
            os.close(kept)
        self._daemon.close()

    def send_cell(self, source: str) -> None:
        text = jsontext.quote(source)
        self._send(f'{{"op":"exec","id":0,"code":{text},"names":"changes"}}', 2)

    def send_checkpoint(self) -> None:
        self._send('{"op":"checkpoint","id":0}', 1)

    def take_answer(self) -> None:
        self._daemon.recv(_MAX_ANSWER_BYTES)

    def _send(self, document: str, n_descriptors: int) -> None:
        payload = jsontext.to_bytes(document)
        sent = [os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC) for _ in range(n_descriptors)]
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", sent))
        self._daemon.sendmsg([len(payload).to_bytes(4, "little") + payload], [rights])
        for fd in sent:
            os.close(fd)
