"""`IPython.display` in a session: the real one, whose functions are led to the session's outputs,
or where there is no IPython the names of shim.py."""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Sequence

from . import displays, imports, outputs, shim
from .pretty import text_of as pretty_text_of

# Newer and older versions keep the functions in different places; importers have copies.
_REAL = ("IPython.core.display_functions", "IPython.core.display")
_COPIES = ("IPython.display", "IPython")
_GET_IPYTHON = "IPython.core.getipython"
_FUNCTIONS = ("display", "update_display", "clear_output", "publish_display_data")


def install(session_displays: displays.Displays) -> None:
    def teach(module: ModuleType) -> None:
        for name in _FUNCTIONS:
            if name in vars(module):
                setattr(module, name, getattr(session_displays, name))
        handle = vars(module).get("DisplayHandle")
        if handle is not None:
            session_displays.handle_class = handle

    for name in _REAL:
        imports.teach(name, teach)
    imports.teach(_GET_IPYTHON, _teach_get_ipython)
    for name in _COPIES:
        if name in sys.modules:
            teach(sys.modules[name])
            _teach_get_ipython(sys.modules[name])
    sys.meta_path.append(_ShimFinder(session_displays))


class _ShimFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last: whatever else knows these names comes first."""

    def __init__(self, session_displays: displays.Displays) -> None:
        self._displays = session_displays
        self._fill: Dict[str, Callable[[ModuleType], None]] = {
            "IPython": self._fill_package,
            "IPython.core": lambda module: None,
            "IPython.display": self._fill_display,
            "IPython.core.display": self._fill_display,
            "IPython.lib": lambda module: None,
            "IPython.lib.pretty": _fill_pretty,
            "IPython.terminal": lambda module: None,
            "IPython.terminal.interactiveshell": _fill_terminal,
        }

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name not in self._fill:
            return None
        if name != "IPython" and not getattr(sys.modules.get("IPython"), "is_shim", False):
            return None
        is_package = any(other.startswith(name + ".") for other in self._fill)
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._fill[module.__name__](module)

    def _fill_package(self, module: ModuleType) -> None:
        members: Dict[str, Any] = vars(module)
        members.update(
            __doc__="The names of IPython.display for sessions without IPython.",
            __version__="8.12.0",
            version_info=(8, 12, 0, ""),
            is_shim=True,
            get_ipython=_get_ipython,
            display=self._displays.display,
        )
        importlib.import_module("IPython.lib.pretty")  # there with the package, as libraries expect

    def _fill_display(self, module: ModuleType) -> None:
        members: Dict[str, Any] = {name: getattr(self._displays, name) for name in _FUNCTIONS}
        members["DisplayHandle"] = displays.DisplayHandle
        members.update(shim.names(self._displays.display))
        vars(module).update(members, __all__=sorted(members))


def _fill_pretty(module: ModuleType) -> None:
    def pretty(obj: Any, *_: Any, **__: Any) -> str:
        """The text of an object, whatever was registered for its type: who is registered calls
        this."""
        return pretty_text_of(obj, outputs.MAX_TEXT_CHARS, asks_registered=False)[0]

    def pprint(obj: Any, *_: Any, **__: Any) -> None:
        """Print the text of an object."""
        print(pretty(obj))

    vars(module).update(pretty=pretty, pprint=pprint, __all__=["pretty", "pprint"])


def _fill_terminal(module: ModuleType) -> None:
    class TerminalInteractiveShell:
        """IPython at a terminal, which no session is: libraries such as sympy ask for this class to
        find out whether more than text can be shown."""

    TerminalInteractiveShell.__module__ = module.__name__
    vars(module).update(TerminalInteractiveShell=TerminalInteractiveShell)


def _teach_get_ipython(module: ModuleType) -> None:
    if "get_ipython" in vars(module):
        module.get_ipython = _get_ipython  # type: ignore[attr-defined]


def _get_ipython() -> Any:
    """This session, as far as it is like an IPython shell."""
    session = vars(builtins).get("get_ipython")
    return None if session is None else session()


_get_ipython.__name__ = _get_ipython.__qualname__ = "get_ipython"
_get_ipython.__module__ = _GET_IPYTHON
