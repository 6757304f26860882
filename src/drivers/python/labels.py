"""What can be said of an object without running any code of the user's: its type, its length or
shape, its size, a short text.

Nothing is asked of the object, of its class or of its metaclass: types are read with type() and by
the getters of `type` itself, told apart by identity (a metaclass may define __hash__ and __eq__),
and measured by the C functions of the built-in type that they come from. Of libraries exactly the
types named here are known, if they are what they pretend to be.
"""

from __future__ import annotations

import array
import collections
import itertools
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import jsontext

_MAX_TEXT_CHARS = 80
_MAX_NAME_CHARS = 96  # also when every character takes four bytes
_MAX_TEXT_ITEMS = 16
_MAX_TEXT_DEPTH = 2
_MAX_INT_BITS = 256
_MAX_HELD_CHARS = 1024
_MAX_SHAPE = 16
_CUT = "…"

_quote = jsontext.quote
_islice = itertools.islice
_modules = sys.modules
_ModuleType = types.ModuleType
_FunctionType = types.FunctionType
_GetSetDescriptor = types.GetSetDescriptorType

_type_members = vars(type)
_mro_of = _type_members["__mro__"].__get__
_name_of = _type_members["__qualname__"].__get__
_module_of = _type_members["__module__"].__get__
_dict_of = _type_members["__dict__"].__get__
_dict_of_module = vars(_ModuleType)["__dict__"].__get__
_plain = str.__str__  # a plain str, also of a subclass

_Measure = Callable[[Any], Any]


def _by_id(table: Dict[type, Any]) -> Dict[int, Any]:
    return {id(kind): value for kind, value in table.items()}


_SIZED = (
    str, bytes, tuple, frozenset, range, memoryview,
    list, dict, set, bytearray, collections.deque, array.array,
)  # fmt: skip
# How to measure an instance of these or of anything made from them.
_inherited: Dict[int, _Measure] = {id(kind): vars(kind)["__len__"] for kind in _SIZED}
# How to measure an instance of exactly these.
_exact: Dict[int, _Measure] = dict(_inherited)
_len_of_array = array.array.__len__
_itemsize_of = vars(array.array)["itemsize"].__get__
# The same for the bytes of their data.
_bytes: Dict[int, _Measure] = _by_id(
    {
        bytes: bytes.__len__,
        bytearray: bytearray.__len__,
        memoryview: vars(memoryview)["nbytes"].__get__,
        array.array: lambda value: _len_of_array(value) * _itemsize_of(value),
    }
)
# These can grow where they are.
_growing = {id(kind) for kind in (list, dict, set, bytearray, collections.deque, array.array)}


def measure_of(kind: type) -> Optional[_Measure]:
    """What tells the length or the shape of an instance of `kind`, or nothing."""
    measure = _exact.get(id(kind))
    if measure is None:
        for base in _mro_of(kind):
            measure = _inherited.get(id(base))
            if measure is not None:
                break
    return measure


def can_grow(kind: type) -> bool:
    """For a kind that can be measured."""
    if id(kind) in _exact:
        return id(kind) in _growing
    return any(id(base) in _growing for base in _mro_of(kind))


def is_worth_holding(value: Any, kind: type) -> bool:
    """Is it small and without any references of its own? Then whoever compares by identity may
    keep it, so that nothing else gets its address."""
    if kind is str or kind is bytes:
        return len(value) <= _MAX_HELD_CHARS
    if kind is int:
        return bool(value.bit_length() <= _MAX_INT_BITS)
    return kind is float or kind is complex


def _module_name(kind: type) -> str:
    """Empty if it has none: a class may say anything there, or nothing."""
    try:
        module = _module_of(kind)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


# Libraries


def _c_getter(kind: Any, name: str) -> Optional[_Measure]:
    """The getter of an attribute that is written in C. No class of the user's has one."""
    for base in _mro_of(kind):
        member = _dict_of(base).get(name)
        if member is not None:
            return member.__get__ if type(member) is _GetSetDescriptor else None
    return None


def _is_genuine(kind: Any, library: str) -> bool:
    """Does the `shape` of this class come from that library?"""
    for base in _mro_of(kind):
        member = _dict_of(base).get("shape")
        if member is None:
            continue
        getter = member.fget if type(member) is property else None
        if type(getter) is not _FunctionType:
            return False
        module = dict.get(getter.__globals__, "__name__")
        return type(module) is str and module.startswith(library + ".")
    return False


def _learn_numpy(members: Dict[str, Any]) -> None:
    kind = members["ndarray"]
    shape, size = _c_getter(kind, "shape"), _c_getter(kind, "nbytes")
    if shape is not None and size is not None:
        _inherited[id(kind)] = _exact[id(kind)] = shape
        _bytes[id(kind)] = size
        _growing.add(id(kind))


def _learn_torch(members: Dict[str, Any]) -> None:
    kind = members["Tensor"]
    shape, size = _c_getter(kind, "shape"), _c_getter(kind, "nbytes")
    if shape is not None:
        _exact[id(kind)] = shape
        _growing.add(id(kind))
    if size is not None:
        _bytes[id(kind)] = size


def _learn_pandas(members: Dict[str, Any]) -> None:
    for name in ("DataFrame", "Series"):
        kind = members[name]
        if _is_genuine(kind, "pandas"):
            _exact[id(kind)] = _pandas_shape
            _bytes[id(kind)] = _pandas_bytes
            _growing.add(id(kind))


def _is_of_pandas(value: Any) -> bool:
    return _module_name(type(value)).startswith("pandas.")


def _pandas_shape(value: Any) -> Tuple[int, ...]:
    """Through what holds the data: an index may be of a class of the user's."""
    axes = value._mgr.axes
    if not all(map(_is_of_pandas, axes)):
        raise TypeError
    return tuple(map(len, axes))[::-1]  # rows first


def _pandas_bytes(value: Any) -> int:
    arrays = [block.values for block in value._mgr.blocks]
    if not all(id(type(one)) in _bytes or _is_of_pandas(one) for one in arrays):
        raise TypeError
    return sum(one.nbytes for one in arrays)


def _learn_polars(members: Dict[str, Any]) -> None:
    for name in ("DataFrame", "Series"):
        kind = members[name]
        if _is_genuine(kind, "polars"):
            _exact[id(kind)] = lambda value: value.shape
            _bytes[id(kind)] = lambda value: value.estimated_size()
            _growing.add(id(kind))


_unknown_libraries: Dict[str, Callable[[Dict[str, Any]], None]] = {
    "numpy": _learn_numpy,
    "pandas": _learn_pandas,
    "polars": _learn_polars,
    "torch": _learn_torch,
}


def learn_libraries() -> None:
    """Those that were imported since the last time."""
    for name in list(_unknown_libraries):
        module = _modules.get(name)
        if type(module) is _ModuleType:
            try:
                _unknown_libraries[name](_dict_of_module(module))
            except (AttributeError, KeyError, TypeError):
                continue  # still being imported, or something else of that name
            del _unknown_libraries[name]


# Texts


def type_name(kind: type) -> str:
    """Qualified, unless it is built in or the user's own; as short as it can be imported."""
    name, module = _plain(_name_of(kind)), _module_name(kind)
    if module in ("", "builtins", "__main__"):
        return shown_name(name)
    root = module.partition(".")[0]
    package = _modules.get(root)
    if type(package) is _ModuleType and _dict_of_module(package).get(name) is kind:
        module = root
    return shown_name(f"{module}.{name}")


def shown_name(name: str) -> str:
    """Bounded, and without what no JSON can carry."""
    if len(name) > _MAX_NAME_CHARS or not name.isprintable():
        name = name.encode("utf-8", "backslashreplace").decode()
        if len(name) > _MAX_NAME_CHARS:
            return name[: _MAX_NAME_CHARS - 1] + _CUT
    return name


def describe(value: Any) -> str:
    """The members of an item of the manifest that follow its name, as JSON."""
    kind = type(value)
    fields = [f'"type":{_quote(type_name(kind))}']
    for field in (_size_field, _bytes_field, _text_field):
        try:
            text = field(value, kind)
        except Exception:  # changed by a thread meanwhile, or not as that library was known
            continue
        if text:
            fields.append(text)
    return ",".join(fields)


def _size_field(value: Any, kind: type) -> str:
    measure = measure_of(kind)
    size = None if measure is None else measure(value)
    if size is None:
        return ""
    if isinstance(size, int):
        return f'"len":{size:d}'
    if len(size) > _MAX_SHAPE:
        return ""
    return f'"shape":[{",".join(["%d" % part for part in size])}]'


def _bytes_field(value: Any, kind: type) -> str:
    for base in _mro_of(kind):
        if id(base) in _bytes and (base is kind or id(base) in _inherited):
            return f'"bytes":{int(_bytes[id(base)](value)):d}'
    return ""


def _text_field(value: Any, kind: type) -> str:
    text = _text_of(value, kind, 0)
    return "" if text is None else f'"text":{_quote(_cut(text))}'


def _cut(text: str) -> str:
    if not text.isprintable():
        text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _MAX_TEXT_CHARS else text[: _MAX_TEXT_CHARS - 1] + _CUT


def _text_of(value: Any, kind: type, depth: int) -> Optional[str]:
    make = _TEXTS.get(id(kind))
    return None if make is None else make(value, depth)


def _text_of_int(value: int, depth: int) -> str:
    bits = value.bit_length()
    return repr(value) if bits <= _MAX_INT_BITS else f"<an integer of {bits} bits>"


def _text_of_str(value: Any, depth: int) -> str:
    return repr(value[:_MAX_TEXT_CHARS])


def _text_of_function(value: Any, depth: int) -> str:
    code = value.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names: List[str] = list(code.co_varnames[:count])
    for flag, star in ((0x04, "*"), (0x08, "**")):
        if code.co_flags & flag:
            names.append(star + code.co_varnames[count])
            count += 1
    return f"{code.co_name}({', '.join(names)})"


def _text_of_module(value: Any, depth: int) -> Optional[str]:
    name = dict.get(_dict_of_module(value), "__name__")
    return name if type(name) is str else None


def _text_of_item(value: Any, depth: int) -> str:
    kind = type(value)
    if depth == _MAX_TEXT_DEPTH and id(kind) in _CONTAINERS:
        return _CUT
    return _text_of(value, kind, depth) or f"<{type_name(kind)}>"


def _text_of_items(value: Any, depth: int, opening: str, closing: str) -> str:
    texts = []
    room = _MAX_TEXT_CHARS
    for item in _islice(value, _MAX_TEXT_ITEMS):
        texts.append(_text_of_item(item, depth + 1))
        room -= len(texts[-1])
        if room < 0:
            break
    if len(texts) < len(value):
        texts.append(_CUT)
    return opening + ", ".join(texts) + closing


def _text_of_dict(value: Any, depth: int) -> str:
    texts = []
    room = _MAX_TEXT_CHARS
    for key, item in _islice(value.items(), _MAX_TEXT_ITEMS):
        texts.append(f"{_text_of_item(key, depth + 1)}: {_text_of_item(item, depth + 1)}")
        room -= len(texts[-1])
        if room < 0:
            break
    if len(texts) < len(value):
        texts.append(_CUT)
    return "{" + ", ".join(texts) + "}"


def _text_of_tuple(value: Any, depth: int) -> str:
    return _text_of_items(value, depth, "(", ",)" if len(value) == 1 else ")")


def _text_of_set(value: Any, depth: int) -> str:
    return _text_of_items(value, depth, "{", "}") if value else "set()"


_CONTAINERS = {id(kind) for kind in (list, tuple, set, frozenset, dict)}
_TEXTS: Dict[int, Callable[[Any, int], Optional[str]]] = _by_id(
    {
        **dict.fromkeys((bool, float, complex, type(None)), lambda value, depth: repr(value)),
        **dict.fromkeys((str, bytes, bytearray), _text_of_str),
        int: _text_of_int,
        list: lambda value, depth: _text_of_items(value, depth, "[", "]"),
        tuple: _text_of_tuple,
        set: _text_of_set,
        frozenset: lambda value, depth: f"frozenset({_text_of_set(value, depth) if value else ''})",
        dict: _text_of_dict,
        _FunctionType: _text_of_function,
        _ModuleType: _text_of_module,
    }
)
