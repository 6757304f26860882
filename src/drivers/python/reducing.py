"""The pickler of a session's values.

It differs from pickle's own in what it does with code: a function or class of the session is
rebuilt on the session's namespace, so that it sees what its globals become later. One that another
blob brings is referred to by its name.
"""

from __future__ import annotations

import _pickle
import dataclasses
import functools
import gc
import sys
import types
import typing
import weakref
from typing import Any, Callable, Dict, List, Set

from . import definitions, handlers, rebuild

PROTOCOL = 5
# Every pickle begins so: its objects 0 and 1 are dictionaries that the session has already.
PREFIX = (
    b"\x80\x05c_cella.rebuild\nnamespace\n\x940c_cella.rebuild\nbuiltin_names\n\x940"
)

_is_importable = definitions.is_importable
_is_definition = definitions.is_definition
_is_static = definitions.is_static
_FunctionType = types.FunctionType
_get_referents = gc.get_referents
_modules = sys.modules

_STATIC_TYPES = {
    value: name for name, value in vars(types).items()
    if _is_static(value) and not _is_importable(value)
}  # fmt: skip
# Of a class: what its making brings by itself.
_UNWANTED_MEMBERS = {"__dict__", "__weakref__", "_abc_impl", "__abstractmethods__", "__module__",
                     "__qualname__", "__slots__", "__orig_bases__"}  # fmt: skip
_UNWANTED_OF_ENUMS = {"_member_map_", "_member_names_", "_value2member_map_", "_member_type_",
                      "_unhashable_values_", "_hashable_values_", "_unhashable_values_map_",
                      "_use_args_", "_value_repr_", "_new_member_", "__new__",
                      "_generate_next_value_", "_missing_"}  # fmt: skip
_UNWANTED_OF_MEMBERS = ("_value_", "_name_", "__objclass__", "_sort_order_")

Reduced = Any  # what __reduce__ returns


class StatePickler(_pickle.Pickler):
    """`here` are the names whose values go into this pickle, `kept_arrays` those, by id, which are
    saved with all their memory: arrays that show it will show it again."""

    def __init__(
        self,
        file: Any,
        known: definitions.Definitions,
        registry: handlers.Registry,
        here: Set[str],
        kept_arrays: Set[int],
    ) -> None:
        super().__init__(file, PROTOCOL)
        file.write(PREFIX)
        known_dicts = (rebuild.namespace, rebuild.builtin_names)
        self.memo = {id(one): (number, one) for number, one in enumerate(known_dicts)}
        self._known = known
        self._registry = registry
        self._here = here
        self._kept_arrays = kept_arrays
        self._array_kind = _modules["numpy"].ndarray if kept_arrays else None
        self._cells: Set[int] = set()  # whose contents some function brings
        self._globals: Dict[int, "_Globals"] = {}

    def reducer_override(self, obj: Any) -> Reduced:
        kind = type(obj)
        reduce = _REDUCERS.get(kind)
        if reduce is not None:
            return reduce(self, obj)
        if issubclass(kind, type):
            return self._reduce_class(obj)
        if kind is self._array_kind and id(obj.base) in self._kept_arrays:
            return _reduce_array_view(obj)
        handler = self._registry.find(kind)
        if handler is not None:
            return handler(obj)
        return NotImplemented

    def _reference(self, obj: Any) -> Reduced:
        path = self._known.path_of(obj)
        if path is not None and path[0] not in self._here:
            return rebuild.named, path
        if _is_static(obj) and obj in _STATIC_TYPES:
            return rebuild.attribute, (types, _STATIC_TYPES[obj])
        return None if _is_definition(obj) else NotImplemented

    # Functions

    def reduce_function(self, obj: Any) -> Reduced:
        reference = self._reference(obj)
        if reference is not None:
            return reference
        state = _state_of_function(obj)
        new_cells = [cell for cell in obj.__closure__ or () if id(cell) not in self._cells]
        self._cells.update(map(id, new_cells))
        contents = [(cell, cell.cell_contents) for cell in new_cells if not _is_empty(cell)]
        if contents:
            state["cells"] = contents
        home: Any = None
        if obj.__globals__ is not rebuild.namespace:
            home = definitions.module_with(obj.__globals__)
            if home is None:
                home = self._globals.setdefault(id(obj.__globals__), _Globals())
                state["globals"] = _referred(obj)
        return (
            rebuild.function, (obj.__code__, obj.__closure__, home), state, None, None,
            rebuild.set_function,
        )  # fmt: skip

    def reduce_cell(self, obj: Any) -> Reduced:
        if id(obj) in self._cells or _is_empty(obj):
            return rebuild.empty_cell, ()
        self._cells.add(id(obj))
        contents = (obj.cell_contents,)
        return rebuild.empty_cell, (), contents, None, None, rebuild.fill_cell

    # Classes

    def _reduce_class(self, obj: Any) -> Reduced:
        reference = self._reference(obj)
        if reference is not None:
            return reference
        meta = type(obj)
        if meta.__name__ == "_TypedDictMeta":
            return _reduce_typed_dict(obj)
        first = _first_members(obj)
        members = _members(obj)
        state: Dict[str, Any] = {"members": members}
        registered = definitions.registered_with(obj)
        if registered:
            state["registered"] = registered
        if not rebuild.is_enum(obj):
            arguments = (meta, obj.__name__, obj.__bases__, first)
            return rebuild.class_, arguments, state, None, None, rebuild.set_class
        values = {name: member.value for name, member in obj.__members__.items()}
        for name in [*values, *_UNWANTED_OF_ENUMS]:
            members.pop(name, None)
        state["of_members"] = {name: _own_state(obj.__members__[name]) for name in values}
        enum_arguments = (meta, obj.__name__, obj.__bases__, first, values)
        return rebuild.enum_class, enum_arguments, state, None, None, rebuild.set_class


class _Globals:
    """Stands for the globals of functions that are not the session's: one for each dictionary."""

    def __reduce__(self) -> Reduced:
        return rebuild.own_globals, ()


def _state_of_function(obj: Any) -> Dict[str, Any]:
    """Only what differs from a function that was just made."""
    state: Dict[str, Any] = {}
    for name in ("__name__", "__qualname__", "__module__"):
        state[name] = getattr(obj, name)
    for name in ("__defaults__", "__kwdefaults__", "__doc__"):
        value = getattr(obj, name)
        if value is not None:
            state[name] = value
    if obj.__dict__:
        state["__dict__"] = obj.__dict__
    annotate = getattr(obj, "__annotate__", None)
    if annotate is not None:
        state["__annotate__"] = annotate
    elif not hasattr(obj, "__annotate__") and obj.__annotations__:
        state["__annotations__"] = obj.__annotations__
    if getattr(obj, "__type_params__", ()):
        state["__type_params__"] = obj.__type_params__
    return state


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return True
    return False


def _referred(function: Any) -> Dict[str, Any]:
    """The globals that a function names, also in what is defined within it."""
    names = dict.fromkeys(["__name__"])
    codes: List[types.CodeType] = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(dict.fromkeys(code.co_names))
        codes.extend(const for const in code.co_consts if type(const) is types.CodeType)
    values = function.__globals__
    return {name: values[name] for name in names if name in values}


def _first_members(cls: type) -> Dict[str, Any]:
    first: Dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    for name in ("__slots__", "__orig_bases__"):
        if name in vars(cls):
            first[name] = vars(cls)[name]
    return first


def _members(cls: type) -> Dict[str, Any]:
    members = {}
    for name, value in list(vars(cls).items()):
        is_slot = type(value) is types.MemberDescriptorType and value.__objclass__ is cls
        if name not in _UNWANTED_MEMBERS and not is_slot:
            members[name] = value
    if "__abstractmethods__" in vars(cls):
        members["__abstractmethods__"] = frozenset(cls.__abstractmethods__)  # type: ignore
    return members


def _reduce_typed_dict(cls: Any) -> Reduced:
    """Not a class like others: it is made by a call."""
    keys = {name: sorted(getattr(cls, name)) for name in ("__required_keys__", "__optional_keys__")}
    arguments = (cls.__name__, cls.__module__, dict(cls.__annotations__), cls.__total__, keys)
    return rebuild.typed_dict, arguments


def _own_state(member: Any) -> Dict[str, Any]:
    return {
        name: value for name, value in vars(member).items() if name not in _UNWANTED_OF_MEMBERS
    }


# Other types that pickle does not take, or takes by a name that does not exist yet


def _reduce_module(pickler: StatePickler, obj: Any) -> Reduced:
    if obj is rebuild.main:
        return rebuild.main_module, ()
    name = obj.__name__
    if definitions.is_module(name, obj):
        return rebuild.imported, (name,)
    members = {key: value for key, value in vars(obj).items() if key != "__builtins__"}
    return rebuild.module, (name,), members, None, None, rebuild.set_module


def _reduce_method(pickler: StatePickler, obj: Any) -> Reduced:
    function, owner = obj.__func__, obj.__self__
    name = getattr(function, "__name__", None)
    if type(name) is str and getattr(owner, name, None) == obj:
        return rebuild.attribute, (owner, name)
    return types.MethodType, (function, owner)


def _reduce_property(pickler: StatePickler, obj: Any) -> Reduced:
    return property, (obj.fget, obj.fset, obj.fdel, obj.__doc__)


def _reduce_wrapper(pickler: StatePickler, obj: Any) -> Reduced:
    return type(obj), (obj.__func__,)


def _reduce_cached(pickler: StatePickler, obj: Any) -> Reduced:
    if _is_importable(obj):
        return NotImplemented
    parameters = obj.cache_parameters()
    state = {key: value for key, value in vars(obj).items() if key != "cache_parameters"}
    state.pop("__wrapped__", None)
    arguments = (obj.__wrapped__, parameters["maxsize"], parameters["typed"])
    return rebuild.cached, arguments, state


def _reduce_cached_property(pickler: StatePickler, obj: Any) -> Reduced:
    return rebuild.cached_property, (obj.func, obj.attrname)


def _reduce_mapping_proxy(pickler: StatePickler, obj: Any) -> Reduced:
    return types.MappingProxyType, tuple(_get_referents(obj)[:1])


def _reduce_view(kind: str) -> Callable[[StatePickler, Any], Reduced]:
    def reduce(pickler: StatePickler, obj: Any) -> Reduced:
        return rebuild.view, (kind, _get_referents(obj)[0])

    return reduce


def _reduce_array_view(obj: Any) -> Reduced:
    offset = _address(obj) - _address(obj.base)
    layout = (obj.dtype, obj.shape, obj.strides, offset, obj.flags.writeable)
    return rebuild.array_view, (obj.base, *layout)


def _address(numbers: Any) -> int:
    return numbers.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _reduce_memoryview(pickler: StatePickler, obj: Any) -> Reduced:
    if obj.contiguous and obj.format == "B" and obj.ndim == 1 and obj.nbytes == len(obj.obj):
        return memoryview, (obj.obj,)
    return memoryview, (obj.tobytes(),)


def _reduce_weakref(pickler: StatePickler, obj: Any) -> Reduced:
    target = obj()
    return (rebuild.dead, ()) if target is None else (rebuild.weak, (target,))


def _reduce_weak_mapping(pickler: StatePickler, obj: Any) -> Reduced:
    return type(obj), (dict(obj.items()),)


def _reduce_weak_set(pickler: StatePickler, obj: Any) -> Reduced:
    return type(obj), (list(obj),)


def _reduce_type_variable(pickler: StatePickler, obj: Any) -> Reduced:
    if _is_importable_by_name(obj):
        return NotImplemented
    options = {"covariant": obj.__covariant__, "contravariant": obj.__contravariant__}
    if obj.__bound__ is not None:
        options["bound"] = obj.__bound__
    arguments = (type(obj), obj.__name__, obj.__module__, obj.__constraints__, options)
    return rebuild.type_variable, arguments


def _reduce_plain_variable(pickler: StatePickler, obj: Any) -> Reduced:
    """A ParamSpec or TypeVarTuple."""
    if _is_importable_by_name(obj):
        return NotImplemented
    return rebuild.type_variable, (type(obj), obj.__name__, obj.__module__, (), {})


def _reduce_new_type(pickler: StatePickler, obj: Any) -> Reduced:
    if _is_importable_by_name(obj):
        return NotImplemented
    return rebuild.new_type, (obj.__name__, obj.__module__, obj.__supertype__)


def _is_importable_by_name(obj: Any) -> bool:
    module_name = definitions.module_of(obj)
    if module_name in ("", "__main__"):
        return False
    return definitions.look_up(module_name, definitions.text_of(obj, "__name__")) is obj


def _reduce_constant(pickler: StatePickler, obj: Any) -> Reduced:
    """Known by its identity, under a name of the dataclasses module."""
    for name in _DATACLASS_CONSTANTS:
        if getattr(dataclasses, name, None) is obj:
            return rebuild.attribute, (dataclasses, name)
    return NotImplemented


_DATACLASS_CONSTANTS = ("MISSING", "KW_ONLY", "_HAS_DEFAULT_FACTORY", "_FIELD", "_FIELD_CLASSVAR",
                        "_FIELD_INITVAR")  # fmt: skip


def _reduce_code(pickler: StatePickler, obj: Any) -> Reduced:
    return rebuild.code, rebuild.fields_of_code(obj)


def _table() -> Dict[type, Callable[[StatePickler, Any], Reduced]]:
    table: Dict[type, Callable[[StatePickler, Any], Reduced]] = {
        _FunctionType: StatePickler.reduce_function,
        types.CellType: StatePickler.reduce_cell,
        types.CodeType: _reduce_code,
        types.ModuleType: _reduce_module,
        types.MethodType: _reduce_method,
        types.MappingProxyType: _reduce_mapping_proxy,
        property: _reduce_property,
        staticmethod: _reduce_wrapper,
        classmethod: _reduce_wrapper,
        memoryview: _reduce_memoryview,
        functools._lru_cache_wrapper: _reduce_cached,
        functools.cached_property: _reduce_cached_property,
        weakref.ref: _reduce_weakref,
        weakref.WeakKeyDictionary: _reduce_weak_mapping,
        weakref.WeakValueDictionary: _reduce_weak_mapping,
        weakref.WeakSet: _reduce_weak_set,
        typing.TypeVar: _reduce_type_variable,
        type({}.keys()): _reduce_view("keys"),
        type({}.values()): _reduce_view("values"),
        type({}.items()): _reduce_view("items"),
    }
    for name in ("ParamSpec", "TypeVarTuple"):
        if hasattr(typing, name):
            table[getattr(typing, name)] = _reduce_plain_variable
    if isinstance(typing.NewType, type):
        table[typing.NewType] = _reduce_new_type
    for name in _DATACLASS_CONSTANTS:
        if hasattr(dataclasses, name):
            table[type(getattr(dataclasses, name))] = _reduce_constant
    return table


_REDUCERS = _table()


def dump_plain(content: Any) -> bytes:
    """Of what holds nothing but texts, numbers and the like."""
    return _pickle.dumps(content, PROTOCOL)
