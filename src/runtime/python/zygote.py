"""The zygote: an interpreter with a profile's libraries that forks sessions. Never runs user code.

    PYTHON -s zygote.py PROFILE_JSON        descriptor 3: the warden's control socket (SEQPACKET)
"""

from __future__ import annotations

import sys

import boot

del sys.path[0]  # our directory: its names are not for the user's `import`
del sys.modules["boot"]

import faulthandler
import gc
import json
import os
import platform
from typing import Any, NoReturn

_CONTROL_FD = 3
_MAX_REPORT_BYTES = 30_000


def _report(profile: Any, threads: int) -> bytes:
    report = {
        "ready": True,
        "python": platform.python_version(),
        "loaded": profile.loaded,
        "skipped": profile.skipped,
        "import_ms": profile.import_ms,
        "threads": threads,
    }
    text = json.dumps(report).encode()
    if len(text) > _MAX_REPORT_BYTES:
        report["loaded"], report["skipped"] = [], []
        text = json.dumps(report).encode()
    return text


def _settle(session: Any) -> None:
    """Makes the memory ready to be shared: what a child would change is changed here, once."""
    gc.collect()
    # Filled with the names of a thousand imports, this cache would touch a page of each when a
    # session's own look-ups push them out.
    getattr(sys, "_clear_internal_caches", sys._clear_type_cache)()
    session.warm_up()
    gc.freeze()


def main() -> NoReturn:
    os.environ.setdefault("MPLBACKEND", "Agg")
    cella = boot.load()
    profile = cella.preload.Profile(json.loads(sys.argv[1])["preload"])
    plots = cella.plots.Plots()
    plots.install()
    cella.preload.warm_up()
    faulthandler.enable(2, all_threads=False)  # what a crash leaves in the cell's stderr
    os.write(_CONTROL_FD, _report(profile, cella.preload.count_threads()))
    session = cella.driver.Session(profile.names, plots)
    _settle(session)
    session_fd = cella.library.zygote_serve(_CONTROL_FD)
    if session_fd < 0:
        os._exit(0)
    cella.preload.reseed()
    session.start(session_fd)


main()
