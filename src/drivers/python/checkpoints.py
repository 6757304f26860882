"""Checkpoints: the session forks, and the copy sleeps. Woken, it forks once more, and that copy
becomes a head; asked to save, one that writes the session's state and ends.

CPython's fork hooks do not run. They would call the handlers that user code registered with
os.register_at_fork, at moments that are none of its business, and seed `random` anew; what they
repair are locks and states of other threads, and a session with more than one is not copied. Nor is
the collector frozen: pages would stay shared that it otherwise writes to, and what is garbage now
would never be found.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, ContextManager, Dict, List, Optional

from . import jsontext, library, scratch

_python = ctypes.pythonapi
_close = os.close
_strerror = os.strerror
_quote = jsontext.quote
_flush_stdio = library.flush_stdio
_now_ns = scratch.now_ns

_NO_LIBRARY = "libcella_enter.so is missing"


class Copied:
    """What came of a checkpoint. `order` only in a copy: what it was made for."""

    __slots__ = ("threads", "reason", "order", "descriptors")

    def __init__(self, threads: int, reason: str = "") -> None:
        self.threads = threads
        self.reason = reason
        self.order: Optional[Dict[str, Any]] = None
        self.descriptors: List[int] = []

    def answer(self, number: int) -> str:
        outcome = f'false,"reason":{_quote(self.reason)}' if self.reason else "true"
        return (
            f'{{"ev":"checkpoint","id":{number},"threads":{self.threads},"forked":{outcome}}}'
        )


class Checkpoints:
    """Made in the zygote: at a checkpoint nothing is imported or looked up."""

    def __init__(self) -> None:
        self._forks = library.Forks()
        self.made_ns = 0  # when the last one was made

    def make(self, channel: int, ours: List[int], has_debug: bool) -> Copied:
        """`channel` is the copy's; `ours` are the driver's descriptors, the session's socket
        first; `has_debug`: somebody may trace this process. Returns in the session, and in every
        copy that has an order."""
        copied = self._make(channel, ours, has_debug)
        if copied.order is None:
            _close(channel)
        return copied

    def _make(self, channel: int, ours: List[int], has_debug: bool) -> Copied:
        if not self._forks.is_possible:
            return Copied(0, _NO_LIBRARY)
        threads = self._forks.count_threads()
        if threads > 1:
            return Copied(threads, f"{threads} threads ran")
        tracer = self._forks.tracer() if has_debug else ""
        if tracer:
            return Copied(1, f"the interpreter was traced by {tracer}")
        _flush_stdio()
        self.made_ns = _now_ns()
        pid = self._forks.checkpoint(channel, ours) if threads == 1 else threads
        if pid < 0:
            return Copied(max(threads, 0), f"cannot fork: {_strerror(-pid)}")
        copied = Copied(threads)
        if pid == 0:
            order = self._forks.order
            copied.order = jsontext.read_object(order.text())
            copied.descriptors = order.descriptors()
        return copied

    def without_forks(self) -> ContextManager[None]:
        """`with` it make() does all but fork."""
        return self._forks.pretended()

    def is_alone(self) -> bool:
        """Does only this thread run?"""
        return self._forks.is_possible and self._forks.count_threads() == 1

    def fork_saver(self, stream: int, ours: List[int]) -> int:
        """Of the session itself, whatever threads it has: 0 in the copy, else nothing came of it
        if it is negative. With threads CPython's hooks run: its locks may be held by others."""
        if not self._forks.is_possible:
            return -1
        if self._forks.count_threads() == 1:
            return self._forks.fork_awake(stream, ours)
        _python.PyOS_BeforeFork()
        pid = self._forks.fork_awake(stream, ours)
        if pid == 0:
            _python.PyOS_AfterFork_Child()
        else:
            _python.PyOS_AfterFork_Parent()
        return pid

    def wake(self, has_moved: bool) -> library.Descriptors:
        """In a copy: it is an ordinary process again, perhaps in another jail. Tells what it had
        open."""
        return self._forks.wake(has_moved)

    def enter_room(self, key: int) -> int:
        """In a copy: moves into another jail, as another process. 0 or what went wrong."""
        return -self._forks.enter_room(key)
