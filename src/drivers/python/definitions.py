"""The functions and classes of a session: which of them have a name, and what can be imported."""

from __future__ import annotations

import _abc
import sys
import types
from typing import Any, Dict, List, Optional, Tuple

from . import rebuild

ModuleType = types.ModuleType
REFERENCES = (types.FunctionType, types.BuiltinFunctionType)  # and classes
_FunctionType = types.FunctionType
_modules = sys.modules
_MISSING = object()
_flags_of = vars(type)["__flags__"].__get__
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE

Path = Tuple[str, ...]  # a name of the session, and attributes from there


def is_definition(value: Any) -> bool:
    """A function or class that only this session has."""
    kind = type(value)
    if kind is not _FunctionType and not issubclass(kind, type):
        return False
    return not is_static(value) and not is_importable(value)


def is_static(value: Any) -> bool:
    """A type that is made in C once and for all, whatever its name says."""
    return issubclass(type(value), type) and not _flags_of(value) & _HEAP_TYPE


def text_of(value: Any, attribute: str) -> str:
    """"" if it has none: classes may have a say in what they tell."""
    try:
        text = getattr(value, attribute)
    except Exception:
        return ""
    return text if type(text) is str else ""


def module_of(value: Any) -> str:
    return text_of(value, "__module__")


def is_importable(value: Any) -> bool:
    """Does `from module import name` give this function or class?"""
    module_name = module_of(value)
    if module_name in ("", "__main__"):
        return False
    return look_up(module_name, text_of(value, "__qualname__")) is value


def is_module(name: Any, value: Any) -> bool:
    """Does `import name` give this module?"""
    return type(name) is str and name != "__main__" and _modules.get(name) is value


def module_with(names: Any) -> Optional[str]:
    """The module whose dictionary this is."""
    name = names.get("__name__")
    module = _modules.get(name) if type(name) is str else None
    if type(module) is ModuleType and vars(module) is names:
        return name  # type: ignore[no-any-return]
    return None


def look_up(module_name: str, qualname: str) -> Any:
    found: Any = _modules.get(module_name, _MISSING)
    for part in qualname.split("."):
        try:
            found = getattr(found, part)
        except Exception:  # also of a module's own __getattr__
            return _MISSING
    return found


def registered_with(cls: type) -> List[type]:
    """Virtual subclasses of an abstract class."""
    if "_abc_impl" not in vars(cls):
        return []
    subclasses = [reference() for reference in _abc._get_dump(cls)[0]]  # type: ignore
    return sorted(filter(None, subclasses), key=lambda one: str(one.__qualname__))


class Definitions:
    """Those with a name. Elsewhere they are referred to by it, so that an instance has the class
    that the session has, also when their blobs are apart."""

    def __init__(self, variables: Dict[str, Any]) -> None:
        self._variables = variables
        self._names: Dict[int, str] = {}
        for name, value in variables.items():
            if is_definition(value):
                is_own_name = text_of(value, "__name__") == name
                if is_own_name or id(value) not in self._names:
                    self._names[id(value)] = name

    def drop(self, name: str) -> None:
        """It cannot be saved: nothing may rely on its name."""
        self._names.pop(id(self._variables[name]), None)

    def name_of(self, value: Any) -> Optional[str]:
        return self._names.get(id(value))

    def path_of(self, value: Any) -> Optional[Path]:
        """Of a function or class."""
        name = self._names.get(id(value))
        if name is not None:
            return (name,)
        qualname = text_of(value, "__qualname__")
        if "." not in qualname or "<" in qualname:
            return None
        path = tuple(qualname.split("."))
        found = self._variables.get(path[0], _MISSING)
        if self._names.get(id(found)) != path[0]:
            return None
        for part in path[1:]:
            if not issubclass(type(found), type):
                return None
            found = rebuild.unwrapped(vars(found).get(part))
        return path if found is value else None
