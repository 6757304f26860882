"""libcella_enter.so, the C that the Python side needs, called through ctypes. Without the library
(a session that was not started by a zygote) libc alone serves."""

from __future__ import annotations

import ctypes
import os
from typing import Callable, Optional

_HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.path.join(os.path.dirname(_HERE), "libcella_enter.so")


def _load() -> Optional[ctypes.PyDLL]:
    if not os.path.exists(PATH):
        return None
    # PyDLL keeps the GIL: the library forks, and calls back into CPython around it.
    return ctypes.PyDLL(PATH)


_LIBRARY = _load()


def zygote_serve(control_fd: int) -> int:
    """Returns only in a child that stands in its jail, with its session's socket."""
    if _LIBRARY is None:
        raise RuntimeError(f"{PATH} is missing; install Cella again")
    serve = _LIBRARY.cella_zygote_serve
    serve.argtypes = [ctypes.c_int]
    serve.restype = ctypes.c_int
    return int(serve(control_fd))


def unbuffer_stdio() -> None:
    if _LIBRARY is not None:
        _LIBRARY.cella_unbuffer_stdio.restype = None
        _LIBRARY.cella_unbuffer_stdio()


def _flusher() -> Callable[[], object]:
    if _LIBRARY is not None:
        flush = _LIBRARY.cella_flush_stdio
        flush.restype = None
        return flush
    fflush = ctypes.PyDLL(None).fflush
    fflush.argtypes = [ctypes.c_void_p]
    return lambda: fflush(None)


flush_stdio = _flusher()
