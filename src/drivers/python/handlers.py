"""Types that are saved through files: `cella.register(kind, save, load)`, for users and, for
openpyxl's workbooks, for ourselves."""

from __future__ import annotations

import operator
import os
import re
import tempfile
import types
import zipfile
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import definitions, rebuild

_FIXED_DATE = (1980, 1, 1, 0, 0, 0)
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")
_NO_DATE = rb"\g<1>2000-01-01T00:00:00Z\g<2>"

Save = Callable[[Any, str], Any]
Load = Callable[[str], Any]
Reduce = Callable[[Any], Any]


class Registry:
    def __init__(self) -> None:
        self.users: Dict[type, Tuple[Save, Load]] = {}
        self._found: Dict[type, Optional[Reduce]] = {}

    def register(self, kind: type, save: Save, load: Load) -> None:
        if not isinstance(kind, type):
            raise TypeError(f"register() wants a type first, not {type(kind).__name__}")
        if not callable(save) or not callable(load):
            raise TypeError("register() wants functions: save(obj, path) and load(path)")
        self.users[kind] = (save, load)
        self._found.clear()

    def unregister(self, kind: type) -> None:
        self.users.pop(kind, None)
        self._found.clear()

    def find(self, kind: type) -> Optional[Reduce]:
        """What turns objects of this type, or of one derived from it, into a saved file."""
        if kind not in self._found:
            self._found[kind] = self._look_for(kind)
        return self._found[kind]

    def _look_for(self, kind: type) -> Optional[Reduce]:
        for base in kind.__mro__:
            if base in self.users:
                save, load = self.users[base]
                return lambda obj: (rebuild.by_handler, (load, _saved(obj, save)))
        if definitions.module_of(kind).startswith("openpyxl."):
            return _WORKBOOKS.get(kind.__name__)
        return None


def _saved(obj: Any, save: Save) -> bytes:
    number, path = tempfile.mkstemp()
    os.close(number)
    try:
        save(obj, path)
        with open(path, "rb") as file:
            return file.read()
    finally:
        if os.path.exists(path):
            os.unlink(path)


def make_module(registry: Registry) -> types.ModuleType:
    """`import cella`, in a cell."""
    module = types.ModuleType("cella", "What code in a session can ask of Cella.")

    def register(kind: type, save: Save, load: Load) -> None:
        """Save objects of this type with save(obj, path), get them back with load(path)."""
        registry.register(kind, save, load)

    def unregister(kind: type) -> None:
        """Save objects of this type as all others again."""
        registry.unregister(kind)

    for function in (register, unregister):
        function.__module__ = "cella"
        function.__qualname__ = function.__name__
        setattr(module, function.__name__, function)
    return module


# openpyxl


def _reduce_workbook(obj: Any) -> Any:
    if getattr(obj, "read_only", False) or getattr(obj, "write_only", False):
        raise TypeError("a read-only or write-only workbook cannot be serialized")
    return rebuild.by_handler, (load_workbook, _saved(obj, _save_workbook))


def _save_workbook(obj: Any, path: str) -> None:
    """The same workbook gives the same bytes: without the time at which it was saved."""
    obj.save(path)
    with zipfile.ZipFile(path) as archive:
        entries: List[Tuple[str, bytes]] = [(n, archive.read(n)) for n in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            if name == "docProps/core.xml":
                data = _MODIFIED.sub(_NO_DATE, data)
            archive.writestr(zipfile.ZipInfo(name, _FIXED_DATE), data)


def load_workbook(path: str) -> Any:
    import openpyxl

    with open(path, "rb") as file:  # its name has no ending that openpyxl would accept
        return openpyxl.load_workbook(file)


def _reduce_worksheet(obj: Any) -> Any:
    return operator.getitem, (obj.parent, obj.title)


def _reduce_cell(obj: Any) -> Any:
    return operator.getitem, (obj.parent, obj.coordinate)


_WORKBOOKS: Dict[str, Reduce] = {
    "Workbook": _reduce_workbook,
    "Worksheet": _reduce_worksheet,
    "Cell": _reduce_cell,
}


def parent_of(obj: Any) -> Optional[Any]:
    """Of what is saved as part of a workbook."""
    kind = type(obj)
    is_openpyxl = definitions.module_of(kind).startswith("openpyxl.")
    if is_openpyxl and kind.__name__ in ("Worksheet", "Cell"):
        return getattr(obj, "parent", None)
    return None
