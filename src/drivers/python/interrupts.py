"""When SIGINT may raise KeyboardInterrupt, and when a user's own signal handlers may run.

- `is_running`: a cell runs. Otherwise an interrupt is ignored: it came too late. Unless the next
  cell is on its way, unread or taken but not begun: then it is meant for that one, and is kept.
  (The daemon sends a cell only after every interrupt of the one before has been delivered.)
- `is_shielded`: the cell called the driver (a write, a display) in the main thread, which must not
  stop half-way. The interrupt is kept and raised by `unshield`.
- Interrupts never raise in the driver's outermost frames around a cell: they handle what comes out
  of the cell, and a second interrupt must not tear them apart while they handle the first.
- Signal handlers that a cell installed run only while a cell runs: between cells they could raise
  in the middle of a frame. Masking the signals would not do: another thread may take a signal, and
  its Python handler still runs here, in the main thread. They do not run in the outermost frames
  either: signal.signal() is taught to install them with a guard, and signal.getsignal() to show
  them without.
"""

from __future__ import annotations

import _signal
import functools
import operator
import signal
import sys
from types import CodeType, FrameType
from typing import Any, Callable, Dict, FrozenSet, Optional

from . import debuggers

_getsignal = _signal.getsignal
_set_handler = _signal.signal
_sigmask = _signal.pthread_sigmask
_SETMASK = _signal.SIG_SETMASK
_SIGINT = int(_signal.SIGINT)
_is_not = operator.is_not
_is_debugger = debuggers.is_debugger
_gettrace, _settrace = sys.gettrace, sys.settrace
_getprofile, _setprofile = sys.getprofile, sys.setprofile
_getrecursionlimit, _setrecursionlimit = sys.getrecursionlimit, sys.setrecursionlimit

_MIN_RECURSION_LIMIT = 400  # what the driver needs to describe a failure, with room


def _catchable_signals() -> tuple[int, ...]:
    never = {int(_signal.SIGKILL), int(_signal.SIGSTOP)}
    return tuple(sorted(int(number) for number in _signal.valid_signals() if number not in never))


_SIGNALS = _catchable_signals()


def _ignore(number: int, frame: Optional[FrameType]) -> None:
    """Stands in for a user's handler between cells."""


def make_room() -> None:
    """A cell may have set a recursion limit that leaves the driver no room to work."""
    if _getrecursionlimit() < _MIN_RECURSION_LIMIT:
        _setrecursionlimit(_MIN_RECURSION_LIMIT)


class _Guarded:
    """A user's handler, as it is installed."""

    __slots__ = ("handler", "_forbidden")

    def __init__(self, handler: Callable[..., Any], forbidden: FrozenSet[CodeType]) -> None:
        self.handler = handler
        self._forbidden = forbidden

    def __call__(self, number: int, frame: Optional[FrameType]) -> None:
        if frame is None or frame.f_code not in self._forbidden:
            self.handler(number, frame)


def _bare(handler: Any) -> Any:
    return handler.handler if type(handler) is _Guarded else handler


class Gate:
    __slots__ = (
        "is_running", "is_shielded", "is_pending", "is_taken", "_is_early", "_has_cell",
        "_outermost", "_handler", "_baseline", "_users", "_trace", "_profile",
    )  # fmt: skip

    def __init__(self) -> None:
        self.is_running = False
        self.is_shielded = False
        self.is_pending = False
        self.is_taken = False
        self._is_early = False
        self._has_cell: Callable[[], bool] = bool
        self._outermost: FrozenSet[CodeType] = frozenset()
        self._handler = self._on_sigint
        self._users: Dict[int, Callable[..., Any]] = {}
        self._baseline: list[Any] = []
        self._trace: Any = None
        self._profile: Any = None

    def install(self, *outermost: CodeType) -> None:
        """`outermost` is the code that handles whatever comes out of a cell. What is called from
        there when a signal comes must not be torn by another one either."""
        self._outermost = frozenset(
            (*outermost, Gate._on_sigint.__code__, _Guarded.__call__.__code__, _ignore.__code__)
        )
        _set_handler(_SIGINT, self._handler)
        self._teach_signal()
        self.look()

    def _teach_signal(self) -> None:
        install, look_up = signal.signal, signal.getsignal
        guard = self._guard

        @functools.wraps(install)
        def install_guarded(signalnum: Any, handler: Any) -> Any:
            return _bare(install(signalnum, guard(handler)))

        @functools.wraps(look_up)
        def look_up_bare(signalnum: Any) -> Any:
            return _bare(look_up(signalnum))

        signal.signal, signal.getsignal = install_guarded, look_up_bare

    def _guard(self, handler: Any) -> Any:
        is_users = callable(handler) and type(handler) is not _Guarded
        is_ours = handler is self._handler or handler is _ignore
        return _Guarded(handler, self._outermost) if is_users and not is_ours else handler

    def _on_sigint(self, number: int, frame: Optional[FrameType]) -> None:
        if not self.is_running:
            if self.is_taken or self._has_cell():
                self._is_early = True
            return
        if self.is_shielded:
            self.is_pending = True
            return
        if frame is not None and frame.f_code in self._outermost:
            self._is_early = True
            return
        raise KeyboardInterrupt

    def connect(self, has_cell: Callable[[], bool]) -> None:
        """`has_cell` tells whether one has arrived that was not taken yet."""
        self._has_cell = has_cell

    def raise_early(self) -> None:
        """First thing in a cell: an interrupt that came while it was being begun."""
        if self._is_early:
            self._is_early = False
            raise KeyboardInterrupt

    def forget_early(self) -> None:
        """What was taken is no cell. One may be next, and then the interrupt is kept for it."""
        self.is_taken = False
        self._is_early = self._is_early and self._has_cell()

    def unshield(self) -> None:
        """Ends a shield that the caller itself began."""
        self.is_shielded = False
        if self.is_pending:
            self.is_pending = False
            raise KeyboardInterrupt

    def begin_cell(self) -> None:
        """The caller sets is_running itself, inside its try block."""
        self.is_pending = self.is_shielded = False
        _sigmask(_SETMASK, ())
        if self._users:
            for number, handler in self._users.items():
                _set_handler(number, handler)
            self._users.clear()
        if self._trace is not None:
            _settrace(self._trace)
        if self._profile is not None:
            _setprofile(self._profile)

    def end_cell(self) -> None:
        """Afterwards nothing of the user's runs in this thread. Until then a handler of the user's
        may raise here too: to be repeated until it returns."""
        self.is_running = self.is_shielded = self.is_taken = self._is_early = False
        self._trace, self._profile = _gettrace(), _getprofile()
        if self._trace is not None:
            _settrace(None)
            if _is_debugger(self._trace):
                self._trace = None
        if self._profile is not None:
            _setprofile(None)
        make_room()
        handlers = list(map(_getsignal, _SIGNALS))
        if any(map(_is_not, handlers, self._baseline)):
            self._put_to_rest(handlers)

    def after_copy(self) -> None:
        """In a copy of the session: an interrupt of the other line is none of this one."""
        self.is_taken = self.is_pending = self._is_early = False

    def look(self) -> None:
        """From here on the handlers that are installed now are taken for ours."""
        self._baseline = list(map(_getsignal, _SIGNALS))

    def _put_to_rest(self, handlers: list[Any]) -> None:
        for number, handler, ours in zip(_SIGNALS, handlers, self._baseline):
            if number == _SIGINT:
                _set_handler(_SIGINT, self._handler)
            elif handler is not ours and handler is not _ignore and callable(handler):
                self._users[number] = self._guard(handler)
                _set_handler(number, _ignore)


class Shield:
    """`with` it the main thread talks to the daemon, and an interrupt waits until that is said."""

    __slots__ = ("_gate", "_is_main_thread", "_is_mine")

    def __init__(self, gate: Gate, is_main_thread: bool) -> None:
        self._gate = gate
        self._is_main_thread = is_main_thread
        self._is_mine = False

    def __enter__(self) -> None:
        if self._is_main_thread and not self._gate.is_shielded:
            self._is_mine = self._gate.is_shielded = True

    def __exit__(self, *_: object) -> None:
        if self._is_mine:
            self._is_mine = False
            self._gate.unshield()
