"""libcella_enter.so, the C that the Python side needs, called through ctypes. Without the library
(a session that was not started by a zygote) libc alone serves."""

from __future__ import annotations

import array
import contextlib
import ctypes
import faulthandler
import os
from typing import Any, Callable, Dict, Iterator, List, Optional

_array = array.array
_HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.path.join(os.path.dirname(_HERE), "libcella_enter.so")


def _load() -> Optional[ctypes.PyDLL]:
    if not os.path.exists(PATH):
        return None
    # PyDLL keeps the GIL: the library forks, and calls back into CPython around it.
    return ctypes.PyDLL(PATH)


_LIBRARY = _load()


def place_arenas() -> None:
    """Before the libraries are imported: their objects will lie side by side."""
    if _LIBRARY is not None:
        _LIBRARY.cella_place_arenas()


def use_up_memory() -> None:
    """After the libraries, before anything that sessions will do again: what they write to will lie
    side by side."""
    if _LIBRARY is not None:
        _LIBRARY.cella_use_up_memory()


IDENTITIES_BYTES = 24  # of each name


def _identities_function() -> Callable[[Dict[Any, Any]], bytes]:
    # An object begins with its count of references and its type, except in unusual builds.
    listing = getattr(_LIBRARY, "cella_identities_of", None)
    if listing is None or object.__basicsize__ != 16:
        return _list_identities
    listing.argtypes = [ctypes.py_object]
    listing.restype = ctypes.py_object
    return listing  # type: ignore[no-any-return]


def _list_identities(namespace: Dict[Any, Any]) -> bytes:
    listed = _array("Q")
    for key, value in list(namespace.items()):
        listed.extend((id(key), id(value), id(type(value))))
    return listed.tobytes()


# Of each name, its value and the value's type: without touching them, where that is possible.
identities_of = _identities_function()


def explain_crashes() -> None:
    """What a crash leaves in the cell's stderr."""
    explain = getattr(_LIBRARY, "cella_explain_crashes", None)
    if explain is None or not explain() & 0xFF:
        faulthandler.enable(2, all_threads=False)


def zygote_serve(control_fd: int) -> int:
    """Returns only in a child that stands in its jail, with its session's socket."""
    if _LIBRARY is None:
        raise RuntimeError(f"{PATH} is missing; install Cella again")
    serve = _LIBRARY.cella_zygote_serve
    serve.argtypes = [ctypes.c_int]
    serve.restype = ctypes.c_int
    return int(serve(control_fd))


_TRACER_SIZE = 64
_MAX_OURS = 64


class Order(ctypes.Structure):
    """struct sleeper_order: what a copy of this process was made for."""

    _fields_ = [
        ("n_fds", ctypes.c_uint32),
        ("fds", ctypes.c_int32 * 4),
        ("length", ctypes.c_uint32),
        ("frame", ctypes.c_char * 4096),
    ]

    def descriptors(self) -> List[int]:
        return list(self.fds[: self.n_fds])

    def text(self) -> str:
        return ctypes.string_at(ctypes.addressof(self) + Order.frame.offset, self.length).decode()


class Descriptor(ctypes.Structure):
    """struct descriptor: what was open when this process was copied."""

    _fields_ = [
        ("fd", ctypes.c_int32),
        ("kind", ctypes.c_int32),
        ("flags", ctypes.c_int32),
        ("fd_flags", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("inode", ctypes.c_uint64),
        ("state", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("text_at", ctypes.c_uint32),
        ("text_len", ctypes.c_uint32),
    ]


class Descriptors(ctypes.Structure):
    """struct descriptors."""

    _fields_ = [
        ("count", ctypes.c_uint32),
        ("text_len", ctypes.c_uint32),
        ("children_len", ctypes.c_uint32),
        ("has_streams", ctypes.c_bool),
        ("has_timer", ctypes.c_bool),
        ("list", Descriptor * 4200),
        ("text", ctypes.c_char * (256 * 1024)),
    ]

    def name_of(self, one: Descriptor) -> str:
        """As /proc/self/fd tells it."""
        return self._text(one.text_at, one.text_len).partition("\0")[0]

    def info_of(self, one: Descriptor) -> str:
        """As /proc/self/fdinfo tells it."""
        return self._text(one.text_at, one.text_len).partition("\0")[2]

    def children(self) -> List[int]:
        return [int(pid) for pid in self._text(0, self.children_len).split()]

    def _text(self, at: int, length: int) -> str:
        start = ctypes.addressof(self) + Descriptors.text.offset
        return ctypes.string_at(start + at, length).decode("utf-8", "surrogateescape")


class Forks:
    """Copies of this process that belong to its parent. Made in the zygote, so that a checkpoint
    finds everything in place."""

    def __init__(self) -> None:
        self.is_possible = _LIBRARY is not None and hasattr(_LIBRARY, "cella_checkpoint")
        if not self.is_possible:
            return
        self._fork_awake = _LIBRARY.cella_fork_awake  # type: ignore[union-attr]
        self.count_threads = _LIBRARY.cella_count_threads  # type: ignore[union-attr]
        self._is_traced = _LIBRARY.cella_is_traced  # type: ignore[union-attr]
        self._is_traced.restype = ctypes.c_bool
        self._tracer = ctypes.create_string_buffer(_TRACER_SIZE)
        self._checkpoint: Any = _LIBRARY.cella_checkpoint  # type: ignore[union-attr]
        self._wake = _LIBRARY.cella_wake  # type: ignore[union-attr]
        self._wake.argtypes = [ctypes.c_bool]
        self._wake.restype = ctypes.POINTER(Descriptors)
        self._numbers = ctypes.c_int * _MAX_OURS
        self.order = Order()
        self._order_at = ctypes.byref(self.order)

    def tracer(self) -> str:
        """The process that traces this one; "" if there is none."""
        return self._tracer.value.decode("ascii") if self._is_traced(self._tracer) else ""

    def checkpoint(self, channel: int, ours: List[int]) -> int:
        """The pid of the copy that sleeps, or -errno; 0 in a copy that is to carry out `order`.
        `ours` are descriptors of the driver's, the session's own socket first."""
        ours = ours[:_MAX_OURS]
        return int(self._checkpoint(channel, self._numbers(*ours), len(ours), self._order_at))

    @contextlib.contextmanager
    def pretended(self) -> Iterator[None]:
        """`with` it checkpoint() tells of a copy and makes none."""
        if not self.is_possible:
            yield
            return
        checkpoint, self._checkpoint = self._checkpoint, lambda *_: 1
        try:
            yield
        finally:
            self._checkpoint = checkpoint

    def fork_awake(self, kept: int, ours: List[int]) -> int:
        """The pid of a copy, or -errno; 0 in the copy, where `kept` is open, and nothing else that
        is not a file."""
        ours = ours[:_MAX_OURS]
        return int(self._fork_awake(kept, self._numbers(*ours), len(ours)))

    def wake(self, has_moved: bool) -> Descriptors:
        """`has_moved`: this process fell asleep in another jail."""
        found = self._wake(has_moved)
        if not found:
            raise OSError("what is shared with the other jail cannot be given up")
        return found.contents  # type: ignore[no-any-return]

    def enter_room(self, key: int) -> int:
        """0 in the room, in another process; else -errno."""
        return int(_LIBRARY.cella_enter_room(key))  # type: ignore[union-attr]


def _unbufferer() -> Callable[[], object]:
    if _LIBRARY is None:
        return lambda: None
    unbuffer = _LIBRARY.cella_unbuffer_stdio
    unbuffer.restype = None
    return unbuffer


unbuffer_stdio = _unbufferer()


def _flusher() -> Callable[[], object]:
    if _LIBRARY is not None:
        flush = _LIBRARY.cella_flush_stdio
        flush.restype = None
        return flush
    fflush = ctypes.PyDLL(None).fflush
    fflush.argtypes = [ctypes.c_void_p]
    return lambda: fflush(None)


flush_stdio = _flusher()
