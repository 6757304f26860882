"""The zygote: an interpreter with a profile's libraries that forks sessions. Never runs user code.

    PYTHON -s zygote.py PROFILE_JSON        descriptor 3: the warden's control socket (SEQPACKET)
"""

from __future__ import annotations

import sys

import boot

del sys.path[0]  # our directory: its names are not for the user's `import`
del sys.modules["boot"]

import gc
import json
import os
import signal
from typing import Any, NoReturn

_CONTROL_FD = 3
_MAX_REPORT_BYTES = 30_000
_EXIT_TOO_LATE = 3
_CROWDED_FACTOR = 6  # runtime/zygote.c waits for as long
_UNBUFFERED = "GFORTRAN_UNBUFFERED_PRECONNECTED"


def _report(profile: Any, threads: int) -> bytes:
    report = {"ready": True, **profile.report(), "threads": threads}
    text = json.dumps(report).encode()
    if len(text) > _MAX_REPORT_BYTES:
        report["loaded"], report["skipped"] = [], []
        text = json.dumps(report).encode()
    return text


def _settle(cella: Any, session: Any) -> None:
    """Makes the memory ready to be shared: what a child would change is changed here, once."""
    session.warm_up()
    gc.collect()
    # Filled with the names of a thousand imports, this cache would touch a page of each when a
    # session's own look-ups push them out.
    getattr(sys, "_clear_internal_caches", sys._clear_type_cache)()
    cella.library.use_up_memory()
    session.practise()
    gc.freeze()


def _seconds_in_line() -> float:
    """How long this process has waited for a processor; 0 where the kernel does not count that."""
    try:
        with open("/proc/self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _limit_warm_up(profile: Any, seconds: int) -> None:
    """Who waits for this zygote should learn what it was busy with. A signal, because a thread
    would be one too many to fork with. On a crowded machine the time in line for a processor does
    not count: libraries that load in two seconds would fail there."""
    granted = 0.0

    def give_up(*_: object) -> None:
        nonlocal granted
        more = _seconds_in_line() - granted
        if more > 0.1 and granted < _CROWDED_FACTOR * seconds:
            granted += more
            signal.setitimer(signal.ITIMER_REAL, more)
            return
        doing = f"the import of '{profile.loading}'" if profile.loading else "the warm-up"
        os.write(2, f"{doing} was not over after {seconds} s\n".encode())
        os._exit(_EXIT_TOO_LATE)

    if seconds > 0:
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(seconds)


def _end_limit() -> None:
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _preload(cella: Any, names: Any) -> Any:
    """Fortran's library looks at standard output once, when it is loaded. Here that is a file, to
    which it would write in blocks: what a cell prints from Fortran would come with a later one."""
    os.environ[_UNBUFFERED] = "y"
    profile = cella.preload.Profile(names)
    del os.environ[_UNBUFFERED]
    return profile


def main() -> NoReturn:
    os.environ.setdefault("MPLBACKEND", "Agg")
    cella = boot.load()
    cella.library.place_arenas()
    wanted = json.loads(sys.argv[1])
    _limit_warm_up(cella.preload.Profile, wanted.get("warmup_secs", 0))
    cella.tables.install()
    profile = _preload(cella, wanted["preload"])
    plots = cella.plots.Plots()
    plots.install()
    cella.preload.warm_up()
    _end_limit()
    cella.library.explain_crashes()
    os.write(_CONTROL_FD, _report(profile, cella.preload.count_threads()))
    session = cella.driver.Session(profile.names, plots)
    _settle(cella, session)
    session_fd = cella.library.zygote_serve(_CONTROL_FD)
    if session_fd < 0:
        os._exit(0)
    cella.preload.reseed()
    session.start(session_fd)


main()
