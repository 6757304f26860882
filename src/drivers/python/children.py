"""Children of threads and tasks that outlived their cell. What is not said of their stdout and
stderr they inherit, and descriptors 1 and 2 are those of the cell that runs now: they are given the
pipes of the cell that they belong to instead.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

from . import streams

_Popen = subprocess.Popen


def teach_subprocess(session_streams: streams.Streams) -> None:
    """Forked children are cared for in streams.py; os.posix_spawn stays as it is."""
    get_handles = _Popen._get_handles  # type: ignore[attr-defined]
    system = os.system
    late_pipes = session_streams.late_pipes

    def _get_handles(self: Any, stdin: Any, stdout: Any, stderr: Any) -> Any:
        pipes = late_pipes()
        if pipes is not None:
            stdout = pipes.out if stdout is None else stdout
            stderr = pipes.err if stderr is None else stderr
        return get_handles(self, stdin, stdout, stderr)

    def late_aware_system(command: Any) -> int:
        """Execute the command in a subshell."""
        if late_pipes() is None:
            return system(command)
        status = _Popen(command, shell=True).wait()
        return -status if status < 0 else status << 8

    late_aware_system.__name__ = late_aware_system.__qualname__ = "system"
    _Popen._get_handles = _get_handles  # type: ignore[attr-defined]
    os.system = late_aware_system
