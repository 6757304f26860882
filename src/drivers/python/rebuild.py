"""What saved values are put together from when they are loaded. The names of these functions and
the order of their arguments are part of the saved format: they are only added to."""

from __future__ import annotations

import builtins
import enum
import functools
import importlib.util
import sys
import types
import typing
import weakref
from typing import Any, Dict, Optional, Tuple

_FunctionType = types.FunctionType
_MAGIC = importlib.util.MAGIC_NUMBER
_set_attribute = type.__setattr__

# The session's __main__, and its dictionary. Set when the session is made.
main: types.ModuleType
namespace: Dict[str, Any]
builtin_names = vars(builtins)


class Unusable(Exception):
    """Its text tells why something cannot be made again here."""


def main_module() -> types.ModuleType:
    return main


def named(name: str, *path: str) -> Any:
    """A function or class that another blob brought, or something in a class."""
    if name not in namespace:
        raise Unusable(f"{name} is missing")
    found = namespace[name]
    for part in path:
        found = unwrapped(vars(found)[part])
    return found


def unwrapped(member: Any) -> Any:
    """The function in what stands in a class."""
    return member.__func__ if type(member) in (staticmethod, classmethod) else member


def attribute(owner: Any, name: str) -> Any:
    return getattr(owner, name)


# Code

_CODE_FIELDS: Tuple[str, ...] = (
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize",
    "co_flags", "co_firstlineno", "co_code", "co_consts", "co_names", "co_varnames",
    "co_freevars", "co_cellvars", "co_filename", "co_name",
    *(("co_linetable",) if sys.version_info >= (3, 10) else ("co_lnotab",)),
    *(("co_qualname", "co_exceptiontable") if sys.version_info >= (3, 11) else ()),
)  # fmt: skip
_TEMPLATE = (lambda: None).__code__


def fields_of_code(code: types.CodeType) -> Tuple[Any, ...]:
    return (_MAGIC, *[getattr(code, field) for field in _CODE_FIELDS])


def code(magic: bytes, *fields: Any) -> types.CodeType:
    if magic != _MAGIC:
        raise Unusable("its code was compiled by another version of Python")
    return _TEMPLATE.replace(**dict(zip(_CODE_FIELDS, fields)))


# Functions. Made with empty cells, which are filled once the function is known: it may be in them.


def empty_cell() -> types.CellType:
    return types.CellType()


def fill_cell(cell: types.CellType, contents: Any) -> None:
    cell.cell_contents = contents[0]


def function(
    function_code: types.CodeType, cells: Optional[Tuple[Any, ...]], home: Any
) -> types.FunctionType:
    """`home`: None for the session, the name of a module, or a dictionary of its own."""
    if home is None:
        home = namespace
    elif type(home) is str:
        home = vars(imported(home))
    return _FunctionType(function_code, home, None, None, cells)


def set_function(made: Any, state: Dict[str, Any]) -> None:
    for cell, contents in state.pop("cells", ()):
        cell.cell_contents = contents
    made.__globals__.update(state.pop("globals", ()))
    made.__dict__.update(state.pop("__dict__", ()))
    for name, value in state.items():
        setattr(made, name, value)


def own_globals() -> Dict[str, Any]:
    """Of functions that live on a dictionary which is no module's."""
    return {"__builtins__": builtin_names}


# Classes. Made empty, then given their members: those may know the class.


def class_(meta: Any, name: str, bases: Tuple[type, ...], first: Dict[str, Any]) -> type:
    """`first`: what must be there from the beginning, like __slots__. What the session itself says
    about the making of classes has been done, and its results are among the members."""
    if _is_sessions(meta):
        meta_meta = next(base for base in meta.__mro__ if not _is_sessions(base))
        with _Quiet(bases):
            return meta_meta.__new__(meta, name, bases, dict(first))  # type: ignore
    with _Quiet(bases):
        return types.new_class(name, bases, {"metaclass": meta}, lambda body: body.update(first))


class _Quiet:
    """Within, no __init_subclass__ of the session is called."""

    def __init__(self, bases: Tuple[type, ...]) -> None:
        self._taken = [
            (cls, vars(cls)["__init_subclass__"])
            for cls in dict.fromkeys(cls for base in bases for cls in base.__mro__)
            if _is_sessions(cls) and "__init_subclass__" in vars(cls)
        ]

    def __enter__(self) -> None:
        for cls, _ in self._taken:
            type.__delattr__(cls, "__init_subclass__")

    def __exit__(self, *_: object) -> None:
        for cls, method in self._taken:
            _set_attribute(cls, "__init_subclass__", method)


def _is_sessions(cls: type) -> bool:
    return cls.__module__ == "__main__"


def typed_dict(
    name: str, module_name: str, fields: Dict[str, Any], total: bool, keys: Dict[str, Any]
) -> Any:
    made: Any = typing.TypedDict(name, fields, total=total)  # type: ignore
    made.__module__ = module_name
    for key, names in keys.items():
        setattr(made, key, frozenset(names))
    return made


def enum_class(
    meta: Any, name: str, bases: Tuple[type, ...], first: Dict[str, Any], members: Dict[str, Any]
) -> type:
    body = meta.__prepare__(name, bases)
    for key, value in first.items():
        body[key] = value
    for key, value in members.items():
        body[key] = value
    return meta.__new__(meta, name, bases, body)  # type: ignore[no-any-return]


def set_class(made: Any, state: Dict[str, Any]) -> None:
    registered = state.pop("registered", ())
    for name, value in state.pop("members", {}).items():
        _set_attribute(made, name, value)
    for name, value in state.pop("of_members", {}).items():
        made.__members__[name].__dict__.update(value)
    for subclass in registered:
        made.register(subclass)


# The rest


def module(name: str) -> types.ModuleType:
    """One that cannot be imported."""
    return types.ModuleType(name)


def set_module(made: types.ModuleType, members: Dict[str, Any]) -> None:
    vars(made).update(members)


def imported(name: str) -> types.ModuleType:
    __import__(name)
    return sys.modules[name]


def cached(wrapped: Any, maxsize: Optional[int], typed: bool) -> Any:
    return functools.lru_cache(maxsize, typed)(wrapped)


def cached_property(wrapped: Any, name: Optional[str]) -> Any:
    made = functools.cached_property(wrapped)
    made.attrname = name
    return made


def weak(target: Any) -> Any:
    return weakref.ref(target)


def dead() -> Any:
    class Gone:
        pass

    return weakref.ref(Gone())


def type_variable(
    kind: Any, name: str, module_name: str, constraints: Tuple[Any, ...], options: Dict[str, Any]
) -> Any:
    made = kind(name, *constraints, **options)
    made.__module__ = module_name
    return made


def new_type(name: str, module_name: str, supertype: Any) -> Any:
    made = typing.NewType(name, supertype)
    made.__module__ = module_name
    return made


def view(kind: str, mapping: Any) -> Any:
    """dict.keys(), dict.values(), dict.items()"""
    return getattr(mapping, kind)()


def array_view(
    base: Any, dtype: Any, shape: Any, strides: Any, offset: int, is_writeable: bool
) -> Any:
    buffer = base if base.flags.c_contiguous else base.T
    made = sys.modules["numpy"].ndarray(shape, dtype, buffer, offset, strides)
    if not is_writeable:
        made.flags.writeable = False
    return made


def by_handler(load: Any, data: bytes) -> Any:
    """What a registered handler saved to a file."""
    import os
    import tempfile

    number, path = tempfile.mkstemp()
    try:
        with open(number, "wb") as file:
            file.write(data)
        return load(path)
    finally:
        os.unlink(path)


def is_enum(cls: type) -> bool:
    return issubclass(type(cls), enum.EnumMeta)
