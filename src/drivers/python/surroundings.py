"""Where a session works: its directory and its environment, as its caller wanted them."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any, Dict, List, Optional

from . import parallel


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
    if any(name.endswith("_NUM_THREADS") for name in env):
        parallel.obey(env)
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


class Place:
    """What code changes around itself: the directory, the environment, where modules are looked
    for, the state of generators of random numbers."""

    def __init__(self) -> None:
        self._env: Dict[str, str] = {}
        self._path: List[str] = []
        self._recursion_limit = 0
        self._random: Optional[Dict[str, Any]] = None

    def begin(self) -> None:
        """As it is now is how every session begins."""
        self._env = dict(os.environ)
        self._path = list(sys.path)
        self._recursion_limit = sys.getrecursionlimit()

    def note_random(self) -> None:
        """Before a fork with CPython's hooks, one of which seeds `random` anew."""
        self._random = _random_states()

    def forget_random(self) -> None:
        self._random = None

    def changes(self) -> Dict[str, Any]:
        """Made of texts and numbers alone."""
        changes: Dict[str, Any] = {"random": self._random or _random_states()}
        env = dict(os.environ)
        if env != self._env:
            changes["env"] = {
                name: env.get(name)
                for name in sorted({*env, *self._env})
                if env.get(name) != self._env.get(name)
            }
        path = [entry for entry in sys.path if type(entry) is str]
        if path != self._path:
            changes["path"] = path
        if sys.getrecursionlimit() != self._recursion_limit:
            changes["recursion_limit"] = sys.getrecursionlimit()
        try:
            changes["cwd"] = os.getcwd()
        except OSError:  # it was removed
            pass
        return changes

    def restore(self, changes: Dict[str, Any]) -> None:
        """Raises Unusable if the directory is not there any more; all the rest is done then."""
        for name, value in changes.get("env", {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if "TZ" in changes.get("env", {}):
            time.tzset()
        if "path" in changes:
            sys.path[:] = changes["path"]
        if "recursion_limit" in changes:
            sys.setrecursionlimit(changes["recursion_limit"])
        if "cwd" in changes:
            try:
                os.chdir(changes["cwd"])
            except OSError as error:
                raise Unusable(f"{changes['cwd']}: {error.strerror}") from None

    def restore_random(self, changes: Dict[str, Any]) -> None:
        """Once the libraries are there."""
        for name, state in changes.get("random", {}).items():
            try:
                _set_random_state(name, state)
            except Exception:  # another version of the library counts differently
                continue


def _random_states() -> Dict[str, Any]:
    """Of the generators that a program shares. A library that was not imported has none."""
    states: Dict[str, Any] = {}
    random = sys.modules.get("random")
    if random is not None:
        states["random"] = random.getstate()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        name, keys, *rest = numpy_random.get_state()
        states["numpy.random"] = (name, keys.tobytes(), *rest)
    return states


def _set_random_state(name: str, state: Any) -> None:
    module = importlib.import_module(name)
    if name == "random":
        module.setstate(state)
    elif name == "numpy.random":
        keys = sys.modules["numpy"].frombuffer(state[1], "uint32")
        module.set_state((state[0], keys, *state[2:]))
