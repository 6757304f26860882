"""Modules of others that are taught something at the moment they are imported; nothing is imported
for those who do not use them."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable, ContextManager, Optional, Sequence

Teach = Callable[[ModuleType], None]
Around = Callable[[], ContextManager[None]]


def teach(name: str, how: Teach) -> None:
    """Now, if it is there; else once it is imported."""
    module = sys.modules.get(name)
    if module is not None:
        how(module)
    else:
        sys.meta_path.insert(0, _Finder(name, how, contextlib.nullcontext))


def surround(name: str, around: Around) -> None:
    """If it is imported later: its code runs within what `around` gives."""
    if name not in sys.modules:
        sys.meta_path.insert(0, _Finder(name, lambda module: None, around))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module where everyone finds it, and has it taught once it is loaded."""

    def __init__(self, name: str, how: Teach, around: Around) -> None:
        self._name = name
        self._how = how
        self._around = around

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _TeachingLoader(spec.loader, self._how, self._around)
        return spec


class _TeachingLoader(importlib.abc.Loader):
    def __init__(self, loader: Any, how: Teach, around: Around) -> None:
        self._loader = loader
        self._how = how
        self._around = around

    def __getattr__(self, name: str) -> Any:  # get_source and whatever else the loader offers
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        with self._around():
            self._loader.exec_module(module)
        self._how(module)
