"""Modules of others that are taught something at the moment they are imported; nothing is imported
for those who do not use them."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable, Optional, Sequence

Teach = Callable[[ModuleType], None]


def teach(name: str, how: Teach) -> None:
    """Now, if it is there; else once it is imported."""
    module = sys.modules.get(name)
    if module is not None:
        how(module)
    else:
        sys.meta_path.insert(0, _Finder(name, how))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module where everyone finds it, and has it taught once it is loaded."""

    def __init__(self, name: str, how: Teach) -> None:
        self._name = name
        self._how = how

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _TeachingLoader(spec.loader, self._how)
        return spec


class _TeachingLoader(importlib.abc.Loader):
    def __init__(self, loader: Any, how: Teach) -> None:
        self._loader = loader
        self._how = how

    def __getattr__(self, name: str) -> Any:  # get_source and whatever else the loader offers
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._how(module)
