"""What a copy of the session that wakes as its head must put right.

It is the same interpreter at the same point, so its memory is in order: no fork hook runs, the
generators of random numbers go on where they were, and no lock is held, because there was one
thread. What is not in its memory must be made its own (renewing.py), and children that it remembers
are not its children.
"""

from __future__ import annotations

import _thread
import functools
import os
import select
import subprocess
import sys
import threading
import warnings
from typing import Any, Iterable, List, Tuple

from . import jsontext, library, mappings, renewing, scratch

# What is said of a child of the line that was left, and that is gone. Never 0: nobody knows.
# asyncio says the same of a child that another has waited for.
UNKNOWN_STATUS = 255

_MAX_NOTES = 50
_UNKNOWN = "process %d was started before the session was restored, and its exit status is unknown"

_quote = jsontext.quote
_Popen = subprocess.Popen
_main_thread = threading.main_thread
_get_native_id = _thread.get_native_id
_kill = os.kill
_pidfd_open = os.pidfd_open
_poll, _POLLIN = select.poll, select.POLLIN
_close = os.close
_WNOHANG = os.WNOHANG
_warn = warnings.warn
_wraps = functools.wraps


def put_right(
    found: library.Descriptors, loops: Iterable[Any], has_moved: bool
) -> List[renewing.Note]:
    """Returns what could not be. `has_moved`: into another jail."""
    renewal = renewing.Renewal(found, loops, has_moved)
    renewal.run()
    notes = renewal.notes
    for pid in found.children():
        notes.append(("process", f"{pid} is not a child of this interpreter any more"))
    _lines.begin(has_moved)
    _forget_servers()
    if found.has_timer:
        notes.append(("timer", "an interval timer or an alarm does not run any more"))
    for path in () if has_moved else mappings.shared_paths():
        notes.append(("mapping", f"{path}: memory shared with others is as it was left"))
    _correct_thread()
    return notes[:_MAX_NOTES]


def written_since(moment_ns: int) -> List[renewing.Note]:
    paths = scratch.written_since(moment_ns)
    return [("tmp", f"{path} was written since, and stays") for path in paths]


def message(notes: List[renewing.Note]) -> str:
    items = (f'{{"what":{_quote(what)},"detail":{_quote(detail)}}}' for what, detail in notes)
    return f'{{"ev":"woken","notes":[{",".join(items)}]}}'


def _forget_servers() -> None:
    """multiprocessing starts these once, and would wait for those of the other line."""
    trackers = sys.modules.get("multiprocessing.resource_tracker")
    tracker = getattr(trackers, "_resource_tracker", None)
    if tracker is not None:
        tracker._fd = tracker._pid = None
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    if server is not None:
        server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None
        server._inherited_fds = None


def _correct_thread() -> None:
    main_thread = _main_thread()
    if hasattr(main_thread, "_native_id"):
        main_thread._native_id = _get_native_id()


# Children of the line that was left. Waiting for one fails, and Popen takes that for an exit with
# status 0; or it succeeds, because the number is another process's by now.

_ATTRIBUTE = "_line_of_cella"


class _Lines:
    """How often this session has woken up, and when it last did so in another jail, where the
    numbers of processes mean others."""

    def __init__(self) -> None:
        self.now = 0
        self.moved = 0

    def begin(self, has_moved: bool) -> None:
        self.now += 1
        if has_moved:
            self.moved = self.now
        if self.now == 1:
            _teach_popen()

    def is_left(self, popen: Any) -> bool:
        return getattr(popen, _ATTRIBUTE, 0) != self.now

    def is_gone(self, popen: Any) -> bool:
        """Of a child of another line."""
        return getattr(popen, _ATTRIBUTE, 0) < self.moved or not _is_alive(popen.pid)


_lines = _Lines()


def _teach_popen() -> None:
    original_init = _Popen.__init__
    original_poll = _Popen._internal_poll  # type: ignore[attr-defined]
    original_wait = _Popen._try_wait  # type: ignore[attr-defined]

    @_wraps(original_init)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        setattr(self, _ATTRIBUTE, _lines.now)
        original_init(self, *args, **options)

    def _internal_poll(self: Any, _deadstate: Any = None, **options: Any) -> Any:
        if self.returncode is None and _lines.is_left(self):
            if _lines.is_gone(self):
                self.returncode = _unknown(self.pid)
            return self.returncode
        return original_poll(self, _deadstate, **options)

    def _try_wait(self: Any, wait_flags: int) -> Tuple[int, int]:
        if not _lines.is_left(self):
            return original_wait(self, wait_flags)  # type: ignore[no-any-return]
        if not wait_flags & _WNOHANG and not _lines.is_gone(self):
            _wait_until_gone(self.pid)
        if _lines.is_gone(self):
            return self.pid, _unknown(self.pid) << 8
        return 0, 0

    _Popen.__init__ = __init__  # type: ignore[method-assign]
    _Popen._internal_poll = _internal_poll  # type: ignore[attr-defined]
    _Popen._try_wait = _try_wait  # type: ignore[attr-defined]


def _is_alive(pid: int) -> bool:
    try:
        _kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _wait_until_gone(pid: int) -> None:
    try:
        fd = _pidfd_open(pid)
    except OSError:
        return
    try:
        poller = _poll()
        poller.register(fd, _POLLIN)
        poller.poll()
    finally:
        _close(fd)


def _unknown(pid: int) -> int:
    try:
        _warn(_UNKNOWN % pid, RuntimeWarning, stacklevel=4)
    except RuntimeWarning:  # the user made errors of warnings; polling is no place for one
        pass
    return UNKNOWN_STATUS
