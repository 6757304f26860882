"""Answers that are made in a copy of the interpreter, which then ends. Whatever code of the user's
runs there (__dir__, a property, a loop without end) changes nothing here, and is killed in time.

The copy is made without fork hooks, as checkpoints are, and is no child that os.wait() would see.
If another thread held a lock that it needs it waits for nobody, until it is killed: then there is
no answer.
"""

from __future__ import annotations

import _signal
import ctypes
import gc
import os
import select
import time
from typing import Callable, Optional

_MAX_BYTES = 60_000  # what a pipe takes at once
_READ_BYTES = 1 << 16
_WALL = 0x40000000  # also children that tell nobody of their end
_CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)

_syscall = ctypes.PyDLL(None).syscall  # with the GIL: the copy needs it
_pipe = os.pipe
_read = os.read
_write = os.write
_close = os.close
_kill = os.kill
_waitpid = os.waitpid
_exit = os._exit
_dup2 = os.dup2
_open = os.open
_poll = select.poll
_now = time.monotonic
_set_handler = _signal.signal
_KILL = _signal.SIGKILL
_IGNORED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGPIPE)


def ask(make: Callable[[], bytes], seconds: float) -> Optional[bytes]:
    """What `make` returns in a copy of this process; None if there is no copy, if that raised, was
    too long, or took longer."""
    if _CLONE is None:
        return None
    reader, writer = _pipe()
    pid = _syscall(_CLONE, 0, 0, 0, 0, 0)
    if pid == 0:
        _answer(make, writer)
    _close(writer)
    if pid < 0:
        _close(reader)
        return None
    answer = _collect(reader, seconds)
    _close(reader)
    try:
        _kill(pid, _KILL)
        _waitpid(pid, _WALL)
    except OSError:
        pass  # somebody else has waited for it
    return answer


def _answer(make: Callable[[], bytes], writer: int) -> None:
    try:
        gc.disable()
        for number in _IGNORED:
            _set_handler(number, _signal.SIG_IGN)
        null = _open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            _dup2(null, descriptor)
        answer = make()
        if len(answer) <= _MAX_BYTES:
            _write(writer, answer)
    finally:
        _exit(0)


def _collect(reader: int, seconds: float) -> Optional[bytes]:
    parts = []
    deadline = _now() + seconds
    watch = _poll()
    watch.register(reader, select.POLLIN)
    while True:
        left = deadline - _now()
        if left <= 0 or not watch.poll(left * 1000):
            return None
        part = _read(reader, _READ_BYTES)
        if not part:
            return b"".join(parts) or None
        parts.append(part)
