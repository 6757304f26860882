"""What a copy of the session that wakes as its head must put right.

It is the same interpreter at the same point, so its memory is in order: no fork hook runs, the
generators of random numbers go on where they were, and no lock is held, because there was one
thread. What is not in its memory must be made its own (renewing.py), and children that it remembers
are not its children.
"""

from __future__ import annotations

import _thread
import os
import select
import subprocess
import sys
import threading
import warnings
from typing import Any, Iterable, List, Tuple

from . import jsontext, library, mappings, renewing

# What is said of a child of the line that was left, and that is gone. Never 0: nobody knows.
# asyncio says the same of a child that another has waited for.
UNKNOWN_STATUS = 255

_MAX_NOTES = 50
_UNKNOWN = "process %d was started before the session was restored, and its exit status is unknown"

_quote = jsontext.quote
_Popen = subprocess.Popen
_main_thread = threading.main_thread
_get_native_id = _thread.get_native_id
_waitid = os.waitid
_kill = os.kill
_pidfd_open = os.pidfd_open
_poll, _POLLIN = select.poll, select.POLLIN
_close = os.close
_P_PID, _WNOHANG = os.P_PID, os.WNOHANG
_IS_CHILD = os.WEXITED | os.WNOHANG | os.WNOWAIT
_warn = warnings.warn


def put_right(
    found: library.Descriptors, loops: Iterable[Any], has_moved: bool
) -> List[renewing.Note]:
    """Returns what could not be. `has_moved`: into another jail."""
    renewal = renewing.Renewal(found, loops, has_moved)
    renewal.run()
    notes = renewal.notes
    for pid in found.children():
        notes.append(("process", f"{pid} is not a child of this interpreter any more"))
    _teach_popen()
    _forget_servers()
    if found.has_timer:
        notes.append(("timer", "an interval timer or an alarm does not run any more"))
    for path in () if has_moved else mappings.shared_paths():
        notes.append(("mapping", f"{path}: memory shared with others is as it was left"))
    _correct_thread()
    return notes[:_MAX_NOTES]


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


# Children of the line that was left: waiting for one fails, and Popen takes that for an exit with
# status 0.

_is_taught = False


def _teach_popen() -> None:
    global _is_taught
    if _is_taught:
        return
    _is_taught = True
    original_poll = _Popen._internal_poll  # type: ignore[attr-defined]
    original_wait = _Popen._try_wait  # type: ignore[attr-defined]

    def _internal_poll(self: Any, _deadstate: Any = None, **options: Any) -> Any:
        if self.returncode is None and not _is_child(self.pid):
            if not _is_alive(self.pid):
                self.returncode = _unknown(self.pid)
            return self.returncode
        return original_poll(self, _deadstate, **options)

    def _try_wait(self: Any, wait_flags: int) -> Tuple[int, int]:
        if _is_child(self.pid):
            return original_wait(self, wait_flags)  # type: ignore[no-any-return]
        if not wait_flags & _WNOHANG:
            _wait_until_gone(self.pid)
        if _is_alive(self.pid):
            return 0, 0
        return self.pid, _unknown(self.pid) << 8

    _Popen._internal_poll = _internal_poll  # type: ignore[attr-defined]
    _Popen._try_wait = _try_wait  # type: ignore[attr-defined]


def _is_child(pid: int) -> bool:
    try:
        _waitid(_P_PID, pid, _IS_CHILD)
    except ChildProcessError:
        return False
    return True


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
