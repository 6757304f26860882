"""A copy of the session that writes the session's state to a stream, and ends. The session goes on
meanwhile. User code runs in the copy (__reduce__, __getstate__): its output leads nowhere, signals
of the session do not reach it, and the daemon ends it when it takes too long."""

from __future__ import annotations

import _signal
import _socket
import gc
import os
import select
import sys
from typing import Any, Dict, NoReturn

from . import namespaces, records, saving

_write = os.write
_close = os.close
_exit = os._exit
_be_nice = os.nice
_NICENESS = 5
_set_handler = _signal.signal
_pause = _signal.pause
_Socket = _socket.socket
_poll = select.poll
_IGNORED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGPIPE,
            _signal.SIGUSR1, _signal.SIGUSR2)  # fmt: skip

_GREETING = b"s"
_READ_WITHIN_MS = 5000
_RECURSION_LIMIT = 9000  # a pickler takes two or three for each level, and 8 MiB of stack suffice


def run(subject: saving.Subject, stream: int, order: Dict[str, Any]) -> NoReturn:
    """`stream` is a socket. By the first byte the warden learns who speaks."""
    try:
        _be_nice(_NICENESS)  # the session's next cell comes first
        _ignore_signals()
        _write(stream, _GREETING)
        _save(subject, records.Writer(stream, int(order["max_bytes"])), order, is_last=False)
        _outlive_reader(stream)
        _exit(0)
    except BaseException:  # the stream has no end, and so nothing of it counts
        _exit(1)


def run_last(subject: saving.Subject, stream: int, order: Dict[str, Any]) -> NoReturn:
    """In the session itself, which is not needed any more: it waits for its end."""
    try:
        _ignore_signals()
        writer = records.Writer(stream, int(order["max_bytes"]), _GREETING)
        _save(subject, writer, order, is_last=True)
        _close(stream)
    except BaseException:
        _exit(1)
    while True:
        _pause()


def _ignore_signals() -> None:
    for number in _IGNORED:
        _set_handler(number, _signal.SIG_IGN)


def _save(
    subject: saving.Subject, writer: records.Writer, order: Dict[str, Any], is_last: bool
) -> None:
    max_bytes = int(order["max_bytes"])
    if order["format"] == "namespace":
        _prepare()
        namespaces.save(subject, writer, max_bytes)
    else:
        saver = saving.Saver(subject, writer, max_bytes)
        _prepare()
        saver.run(has_overview=not is_last)  # nobody can ask who is gone what it declared
    writer.flush()


def _outlive_reader(stream: int) -> None:
    """The end of the stream is told now: the kernel would dismantle the memory first. A copy that
    has little to say must be there still when the warden asks who it is."""
    other_end = _Socket(fileno=stream)
    other_end.shutdown(_socket.SHUT_WR)
    watch = _poll()
    watch.register(stream, 0)  # POLLHUP: the reader has closed it
    watch.poll(_READ_WITHIN_MS)
    other_end.detach()


def _prepare() -> None:
    gc.disable()  # finalizers of the user's have nothing to do here
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
