"""Where a session works: its directory and its environment, as its caller wanted them."""

from __future__ import annotations

import os
import sys
import time
from typing import Dict, Optional


class Unusable(Exception):
    """Its text is for the caller."""


def enter(cwd: Optional[str], env: Dict[str, str]) -> None:
    """Before the first cell. The directory is made if it is missing."""
    try:
        os.environ.update(env)
    except (OSError, TypeError, ValueError) as error:
        raise Unusable(f"cannot set the environment: {error}") from None
    if "TZ" in env:
        time.tzset()
    if "PYTHONPATH" in env:
        _add_to_path(env["PYTHONPATH"])
    if cwd is not None:
        _change_directory(cwd)


def _change_directory(cwd: str) -> None:
    try:
        os.makedirs(cwd, exist_ok=True)
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unusable(f"cannot use {cwd} as cwd: {reason}") from None


def _add_to_path(paths: str) -> None:
    """Where an interpreter that starts would have it: behind the script's own directory."""
    sys.path[1:1] = [path for path in paths.split(os.pathsep) if path]
