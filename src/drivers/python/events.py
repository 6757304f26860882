"""`get_ipython().events`: functions that libraries have called before and after every cell."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, Callable, Dict, List

_MAX_FUNCTIONS = 1000
_NAMES = ("shell_initialized", "pre_execute", "pre_run_cell", "post_execute", "post_run_cell")

Function = Callable[..., Any]


class Events:
    def __init__(self) -> None:
        self.callbacks: Dict[str, List[Function]] = {name: [] for name in _NAMES}

    def register(self, event: str, function: Function) -> None:
        """Have a function called; one that is there already is not called twice."""
        if not callable(function):
            raise TypeError(f"Need a callable, got {function!r}")
        found = self.callbacks[event]
        if function not in found and len(found) < _MAX_FUNCTIONS:
            found.append(function)

    def unregister(self, event: str, function: Function) -> None:
        """Have it called no more."""
        if function not in self.callbacks[event]:
            raise ValueError(f"Function {function!r} is not registered as a {event} callback")
        self.callbacks[event].remove(function)

    def trigger(self, event: str, *args: Any) -> None:
        """Calls them all; what fails is told and ends nothing."""
        for function in list(self.callbacks[event]):
            try:
                _call(function, args)
            except Exception as error:
                text = f"Error in callback {function!r} (for {event}): {error!r}\n"
                sys.stderr.write(text)

    def is_used(self) -> bool:
        return any(self.callbacks.values())

    def before(self, source: str) -> None:
        self.trigger("pre_execute")
        self.trigger("pre_run_cell", SimpleNamespace(raw_cell=source))

    def after(self, source: str, value: Any) -> None:
        self.trigger("post_execute")
        info = SimpleNamespace(raw_cell=source)
        self.trigger("post_run_cell", SimpleNamespace(info=info, result=value, success=True))


def _call(function: Function, args: Any) -> None:
    """Functions without parameters are called without the cell."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    takes = code is None or code.co_flags & 4 or code.co_argcount > hasattr(function, "__self__")
    function(*args) if takes else function()
