"""The libraries of a profile: imported once, in the zygote, and warmed up there."""

from __future__ import annotations

import os
import platform
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

from . import outputs

_MAX_REASON_CHARS = 200


class Profile:
    """What came of a profile's imports."""

    loading = ""  # what is being imported now

    def __init__(self, items: List[str]) -> None:
        self.names: Dict[str, Any] = {}
        self.loaded: List[str] = []
        self.skipped: List[Dict[str, str]] = []
        began = time.monotonic()
        for item in items:
            self._load(item)
        Profile.loading = ""
        self.import_ms = round((time.monotonic() - began) * 1000)

    def report(self) -> Dict[str, Any]:
        """For the daemon, which shows it in /health/detailed."""
        return {
            "python": platform.python_version(),
            "loaded": self.loaded,
            "skipped": self.skipped,
            "import_ms": self.import_ms,
        }

    def _load(self, item: str) -> None:
        Profile.loading = item
        statement = item if " " in item.strip() else f"import {item}"
        bound: Dict[str, Any] = {"__name__": "__main__"}
        try:
            exec(statement, bound)
        except BaseException as error:  # a broken library may even exit
            reason = f"{type(error).__name__}: {error}"[:_MAX_REASON_CHARS]
            self.skipped.append({"import": item, "reason": reason})
            return
        for name in ("__name__", "__builtins__"):
            bound.pop(name, None)
        self.names.update(bound)
        self.loaded.append(item)


def warm_up() -> None:
    """What every session would otherwise pay for itself: the first compilation, and the first table
    and figure where those libraries are loaded."""
    compile("1", "warm", "exec")
    reseed()
    for warm in (_draw_table, _draw_figure):
        try:
            warm()
        except Exception:  # a library that cannot do this will tell the user itself
            continue


def _draw_table() -> None:
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        outputs.value_of(pandas.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}))


def _draw_figure() -> None:
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        figure, axes = pyplot.subplots()
        axes.plot([1, 2], [3, 4])
        axes.set_title("warm")
        outputs.value_of(figure)
        # Fonts are kept with their files open, but no descriptor survives the way into a jail.
        sys.modules["matplotlib.font_manager"]._get_font.cache_clear()


_pid_of_zygote = os.getpid()


def reseed() -> None:
    """Forked siblings must not draw the same numbers. Only generators that libraries made; what a
    user seeds comes later, and `random` is seeded anew by CPython after every fork."""
    entropy = os.urandom(32)
    for name, seed in _SEEDERS:
        module = sys.modules.get(name)
        if module is not None:
            seed(module, entropy)


def _reseed_openssl(module: Any, entropy: bytes) -> None:
    """OpenSSL notices a fork by the process id, which may be the same in another pid namespace."""
    if os.getpid() == _pid_of_zygote:
        module.RAND_add(entropy, len(entropy))


# A seed of one word costs numpy a tenth of what an array does, in every session's start.
_SEEDERS: Tuple[Tuple[str, Callable[[Any, bytes], Any]], ...] = (
    ("numpy.random", lambda module, entropy: module.seed(int.from_bytes(entropy[:4], "little"))),
    ("ssl", _reseed_openssl),
    ("torch", lambda module, entropy: module.seed()),
)


def count_threads() -> int:
    """Of the process, also those that no Python knows: forking with them is not safe."""
    return len(os.listdir("/proc/self/task"))
