"""stdout, stderr and stdin of a session.

Every cell brings two pipes. They are put onto descriptors 1 and 2, where C code and child processes
find them, and kept under numbers of their own as long as someone may still write to them:

- The main thread writes to descriptors 1 and 2 themselves, so that user code which redirects them
  is obeyed.
- A thread writes to the pipes of the cell in which it was started, also when that cell is over; a
  task of the event loop likewise. The pipes close when the last of them is gone.
- After a cell descriptors 1 and 2 stay where they are until the next one begins: a child, or a
  thread of a C library, may still use them. The daemon does not wait for the end of the pipes.

Every write goes straight to the descriptor, completely, whatever signals arrive and even if someone
made the pipe non-blocking.
"""

from __future__ import annotations

import _thread
import contextvars
import errno
import fcntl
import io
import os
import select
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import interrupts, library

_write = os.write
_close = os.close
_dup2 = os.dup2
_fcntl = fcntl.fcntl
_DUP_ABOVE = fcntl.F_DUPFD_CLOEXEC
_poll = select.poll
_POLLOUT = select.POLLOUT
_EPIPE = errno.EPIPE
_get_ident = _thread.get_ident
_thread_count = _thread._count
_current_frames = sys._current_frames
_active_threads = threading._active  # type: ignore[attr-defined]
_flush_stdio = library.flush_stdio
_BufferedIOBase = io.BufferedIOBase
_TextIOWrapper = io.TextIOWrapper


# Of every Pipes that has a daemon at its other end: its stdout and its stderr.
_open_pipes: Dict[int, int] = {}


class Pipes:
    """The write ends that one cell brought. Whoever may write to them holds a reference."""

    __slots__ = ("out", "err")

    def __init__(self, out: int, err: int) -> None:
        self.out = out
        self.err = err
        _open_pipes[out] = err

    def __del__(self) -> None:
        _open_pipes.pop(self.out, None)
        for fd in (self.out, self.err):
            try:
                _close(fd)
            except OSError:  # user code closed it before us
                pass


# The cell to which the running task belongs. Threads start without it.
_task_pipes: contextvars.ContextVar[Optional[Pipes]] = contextvars.ContextVar(
    "cell_pipes", default=None
)
_get_task_pipes = _task_pipes.get
_set_task_pipes = _task_pipes.set


class Writer(_BufferedIOBase):
    """The binary layer of sys.stdout (number 1) or sys.stderr (number 2). Closing it has no effect:
    it belongs to the session."""

    mode = "wb"

    def __init__(self, streams: "Streams", number: int, name: str) -> None:
        self._streams = streams
        self._gate = streams.gate
        self._number = number
        self.name = name

    @property
    def raw(self) -> "Writer":
        return self

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def fileno(self) -> int:
        return self._target()[0]

    def write(self, data: Any, /) -> int:
        if type(data) is not bytes:
            data = bytes(data) if not isinstance(data, str) else _refuse_text()
        fd, pipes = self._target()
        if pipes is not None:  # held until we are done, so that nobody closes it meanwhile
            _write_late(fd, data)
            return len(data)
        gate = self._gate
        if gate.is_shielded:
            _write_all(fd, data)
            return len(data)
        gate.is_shielded = True
        try:
            _write_all(fd, data)
        finally:
            gate.unshield()
        return len(data)

    def _target(self) -> Tuple[int, Optional[Pipes]]:
        streams = self._streams
        if _get_ident() == streams.main_thread:
            pipes = _get_task_pipes()
            if pipes is None or pipes is streams.pipes:
                return self._number, None
        else:
            pipes = streams.pipes_of_thread()
        if pipes is None or pipes.out not in _open_pipes:
            return self._number, None
        return (pipes.out if self._number == 1 else pipes.err), pipes


def _refuse_text() -> bytes:
    raise TypeError("a bytes-like object is required, not 'str'")


def _write_all(fd: int, data: bytes) -> None:
    written = _write_some(fd, data)
    while written < len(data):
        data = data[written:]
        written = _write_some(fd, data)


def _write_some(fd: int, data: bytes) -> int:
    while True:
        try:
            return _write(fd, data)
        except BlockingIOError:
            poller = _poll()
            poller.register(fd, _POLLOUT)
            poller.poll()


def _write_late(fd: int, data: bytes) -> None:
    """For a thread or task. Its cell may be over and nobody listening."""
    try:
        _write_all(fd, data)
    except OSError as error:
        if error.errno != _EPIPE:
            raise


class Streams:
    """What sys.stdout, sys.stderr and sys.stdin are, cell by cell."""

    def __init__(self, gate: interrupts.Gate, make_stdin: Callable[[], io.TextIOWrapper]) -> None:
        self.gate = gate
        self._make_stdin = make_stdin
        self.main_thread = 0
        self.pipes: Optional[Pipes] = None
        # Threads that outlived their cell. The Thread object tells a reused ident from the first.
        self._late: Dict[int, Tuple[Any, Optional[Pipes]]] = {}
        self._stdout = self._make_output(1, "<stdout>")
        self._stderr = self._make_output(2, "<stderr>")
        self._stdin = make_stdin()

    def install(self) -> None:
        """In the process that becomes the session."""
        self.main_thread = _get_ident()
        sys.stdout = sys.__stdout__ = self._stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self._stderr  # type: ignore[misc]
        sys.stdin = sys.__stdin__ = self._stdin  # type: ignore[misc]

    def _make_output(self, number: int, name: str) -> io.TextIOWrapper:
        return _TextIOWrapper(
            Writer(self, number, name),  # type: ignore[arg-type]
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            write_through=True,
        )

    def begin_cell(self, out: int, err: int) -> None:
        """Takes over the two descriptors."""
        if _thread_count():
            self._remember_threads()
        elif self._late:
            self._late.clear()
        if out <= 2 or err <= 2:  # user code had closed 1 or 2, and these took their places
            out, err = _move_up(out), _move_up(err)
        pipes = Pipes(out, err)
        _dup2(out, 1)
        _dup2(err, 2)
        _set_task_pipes(pipes)
        self.pipes = pipes
        self._repair()

    def _remember_threads(self) -> None:
        """Whatever thread lives now was started by an earlier cell, the last one if not known."""
        known = self._late
        self._late = late = {}
        for ident in _current_frames():
            if ident == self.main_thread:
                continue
            thread = _active_threads.get(ident)
            entry = known.get(ident)
            if entry is None or entry[0] is not thread:
                entry = (thread, self.pipes)
            late[ident] = entry

    def pipes_of_thread(self) -> Optional[Pipes]:
        """Of the calling thread, which is not the main one."""
        ident = _get_ident()
        entry = self._late.get(ident)
        if entry is not None and entry[0] is _active_threads.get(ident):
            return entry[1]
        return _get_task_pipes() or self.pipes

    def is_main_thread(self) -> bool:
        return _get_ident() == self.main_thread

    def are_own(self, out: Any, err: Any) -> bool:
        """Are these what the session began with, and lead to descriptors 1 and 2?"""
        return out is self._stdout and err is self._stderr

    def is_late(self) -> bool:
        """Does the calling thread or task belong to a cell that is over?"""
        return self.late_pipes() is not None

    def late_pipes(self) -> Optional[Pipes]:
        """Of the calling thread or task, if it belongs to a cell that is over."""
        if _get_ident() == self.main_thread:
            pipes = _get_task_pipes()
        else:
            pipes = self.pipes_of_thread()
        if pipes is None or pipes is self.pipes or pipes.out not in _open_pipes:
            return None
        return pipes

    def numbers(self) -> List[int]:
        """The descriptors of all cells that may still be written to."""
        return [1, 2, *_open_pipes, *_open_pipes.values()]

    def after_copy(self) -> None:
        """In a copy of the session, whose descriptors of earlier cells lead nowhere: tasks of those
        cells write to the one that runs."""
        _open_pipes.clear()
        _set_task_pipes(None)
        self.pipes = None
        self._late.clear()

    def forget_cell(self) -> None:
        """The last cell was nobody's."""
        self.pipes = None
        _set_task_pipes(None)

    def rehearse(self) -> None:
        """What a cell does here, without effect."""
        Pipes(-1, -1)
        _set_task_pipes(_get_task_pipes())
        self._repair()

    def _repair(self) -> None:
        """A cell may have detached our streams."""
        try:
            self._stdin.closed
        except ValueError:
            self._replace("stdin", self._make_stdin())
        if getattr(sys, "stdin", None) is None:
            sys.stdin = self._stdin
        for number, name, stream in ((1, "stdout", self._stdout), (2, "stderr", self._stderr)):
            try:
                stream.closed
            except ValueError:
                self._replace(name, self._make_output(number, f"<{name}>"))
            if getattr(sys, name, None) is None:
                setattr(sys, name, getattr(self, "_" + name))

    def _replace(self, name: str, stream: io.TextIOWrapper) -> None:
        old = getattr(self, "_" + name)
        setattr(self, "_" + name, stream)
        for attribute in (name, f"__{name}__"):
            if getattr(sys, attribute, None) is old:
                setattr(sys, attribute, stream)

    def flush(self) -> None:
        """Everything that Python and C still hold, also in streams of the user's making."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name, None)
            try:
                stream.flush()  # type: ignore[union-attr]
            except Exception:  # a broken stream of the user's is the user's affair
                pass
        _flush_stdio()

    def after_fork_in_child(self) -> None:
        """The forking thread is the only one and the main one here."""
        pipes = self.late_pipes()
        if pipes is not None:
            _dup2(pipes.out, 1)
            _dup2(pipes.err, 2)
        self.main_thread = _get_ident()
        self._late.clear()
        _set_task_pipes(None)


def _move_up(fd: int) -> int:
    if fd > 2:
        return fd
    moved = _fcntl(fd, _DUP_ABOVE, 3)
    _close(fd)
    return moved
