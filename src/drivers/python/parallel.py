"""How many threads the libraries for numbers use: one, because a session with more cannot be copied
(checkpoints.py). A session may ask for more by the variables that those libraries know; they were
read when the zygote loaded the libraries, so what is loaded already is told here.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Dict, Iterator, Tuple

_MAX_THREADS = 256
_NO_LOAD = getattr(os, "RTLD_NOLOAD", 4)

# By variable: what the file of a library is called, and what sets the number in it.
_SETTERS: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "OMP_NUM_THREADS": ("libgomp", ("omp_set_num_threads",)),
    "OPENBLAS_NUM_THREADS": (
        "openblas",
        (
            "openblas_set_num_threads",
            "openblas_set_num_threads64_",
            "scipy_openblas_set_num_threads",
            "scipy_openblas_set_num_threads64_",
        ),
    ),
    "MKL_NUM_THREADS": ("libmkl_rt", ("MKL_Set_Num_Threads",)),
    "BLIS_NUM_THREADS": ("libblis", ("bli_thread_set_num_threads",)),
}


def obey(env: Dict[str, str]) -> None:
    """Of variables that were set just now. OpenBLAS also listens to the one of OpenMP."""
    for variable, (file_name, setters) in _SETTERS.items():
        count = _count_of(env.get(variable))
        if count == 0 and variable == "OPENBLAS_NUM_THREADS":
            count = _count_of(env.get("OMP_NUM_THREADS"))
        if count:
            for path in _loaded(file_name):
                _tell(path, setters, count)
    numexpr = sys.modules.get("numexpr")
    count = _count_of(env.get("NUMEXPR_NUM_THREADS"))
    if numexpr is not None and count:
        numexpr.set_num_threads(count)


def _count_of(text: "str | None") -> int:
    """0 for what is not a number of threads: the library will tell."""
    first = (text or "").split(",")[0].strip()
    return min(int(first), _MAX_THREADS) if first.isascii() and first.isdigit() else 0


def _loaded(file_name: str) -> Iterator[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if file_name in line}
    yield from sorted(path for path in paths if file_name in os.path.basename(path))


def _tell(path: str, setters: Tuple[str, ...], count: int) -> None:
    try:
        library = ctypes.CDLL(path, mode=_NO_LOAD)
    except OSError:
        return
    for name in setters:
        if hasattr(library, name):
            getattr(library, name)(ctypes.c_int(count))
