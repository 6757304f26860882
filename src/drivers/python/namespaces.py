"""The portable form of a state: one lz4 frame of one cloudpickle of a dictionary, as other servers
of warm interpreters make and take it. Functions have copies of their globals in it. Private names,
modules and what comes with the profile are left out.
"""

from __future__ import annotations

import _pickle
import io
import types
from typing import Any, Callable, Dict, List, Optional

from . import (
    definitions, handlers, jsontext, packing, rebuild, records, reducing, saving,
)  # fmt: skip

_quote = jsontext.quote

_PROTOCOL = 5
_NO_HANDLERS = handlers.Registry()
_LEFT_OUT = (types.ModuleType, types.BuiltinFunctionType)
_FILES = (io.TextIOWrapper, io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom)
_CLOUDPICKLE = ("cloudpickle.cloudpickle", "cloudpickle.cloudpickle_fast")


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except Exception:
        return None
    return cloudpickle


def warm_up() -> None:
    """In the zygote: the libraries, and their first use."""
    _go_and_return({"x": [1, "a"], "f": lambda: None})


def rehearse() -> None:
    """In a session: what all states need."""
    _go_and_return({"x": [1, "a"], "b": b"b"})


def _go_and_return(values: Dict[str, Any]) -> None:
    parts: List[bytes] = []
    _dump(values, parts.append)
    parts.append(b"")
    load(packing.Decompressor(iter(parts).__next__))


def save(subject: saving.Subject, writer: records.Writer, max_bytes: int) -> None:
    saving.begin(writer, "namespace")
    values = {
        name: value
        for name, value in subject.variables().items()
        if not name.startswith("_") and not isinstance(value, _LEFT_OUT)
    }
    losses = saving.Losses()
    had_any = bool(values)
    values = _without_files(values, losses)
    last_error: Optional[BaseException] = None if values else TypeError("nothing can be pickled")
    buffer = _Buffer(max_bytes)
    try:
        _dump(values, buffer.add)
    except BaseException as error:
        last_error = error
        values = _without_bad(values, losses)
        buffer = _Buffer(max_bytes)
        try:
            _dump(values, buffer.add)
        except BaseException as second_error:  # they cannot be saved together
            last_error = second_error
            values = {}
    losses.write(writer)
    if had_any and not values and last_error is not None:
        message = f"State serialization failed: {saving.describe(last_error)}"
        writer.record(f'{{"rec":"failed","message":{_quote(message)}}}')
        return
    writer.body_bytes += buffer.size if buffer.is_over else 0
    if buffer.is_over:
        saving.fail_by_size(writer, max_bytes, {})
        return
    writer.begin_blob("namespace", list(values))
    for data in buffer.parts:
        writer.chunk(data)
    writer.end_blob()
    writer.record('{"rec":"end"}')


def _without_files(values: Dict[str, Any], losses: saving.Losses) -> Dict[str, Any]:
    """cloudpickle would save what is in them, and not where they are."""
    for name, value in values.items():
        if issubclass(type(value), _FILES):
            losses.add(name, value, TypeError("cannot pickle an open file"))
    return {name: value for name, value in values.items() if not issubclass(type(value), _FILES)}


def _without_bad(values: Dict[str, Any], losses: saving.Losses) -> Dict[str, Any]:
    good = {}
    for name, value in values.items():
        try:
            _pickler(_Nowhere()).dump({name: value})
        except BaseException as error:
            losses.add(name, value, error)
        else:
            good[name] = value
    return good


def _dump(values: Dict[str, Any], emit: Callable[[bytes], None]) -> None:
    compressor = packing.Compressor(emit)
    _pickler(compressor).dump(values)
    compressor.close()


def _pickler(file: Any) -> Any:
    """Without cloudpickle our own will do, for interpreters that have us."""
    cloudpickle = _cloudpickle()
    if cloudpickle is None:
        return reducing.StatePickler(
            file, definitions.Definitions({}), _NO_HANDLERS, set(), set()
        )
    return cloudpickle.CloudPickler(file, protocol=_PROTOCOL)


class _Nowhere:
    def write(self, data: Any) -> None:
        pass


class _Buffer:
    """Holds what is within the limit, and counts the rest."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.size = 0
        self.parts: List[bytes] = []

    @property
    def is_over(self) -> bool:
        return self.size > self._max_bytes

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if self.is_over:
            self.parts = []
        else:
            self.parts.append(data)


# Loading


def load(file: Any) -> Dict[str, Any]:
    """Raises whatever the values raise."""
    values = _Unpickler(file).load()
    file.finish()
    if type(values) is not dict:
        raise records.Broken(f"it holds a {type(values).__name__} instead of a dictionary")
    return {name: value for name, value in values.items() if type(name) is str}


class _Unpickler(_pickle.Unpickler):
    def find_class(self, module_name: str, name: str) -> Any:
        if module_name in _CLOUDPICKLE:
            if name in _MAKERS:
                return _MAKERS[name]
            if _cloudpickle() is None:
                raise rebuild.Unusable(
                    "it was made with cloudpickle, which this interpreter lacks "
                    "(pip install cloudpickle)"
                )
        return super().find_class(module_name, name)


def _make_function(
    code: Any, names: Any, name: Any = None, defaults: Any = None, closure: Any = None
) -> Any:
    """On the session's own namespace, where cloudpickle would give it a dictionary apart."""
    if type(names) is dict and names.get("__name__") == "__main__":
        names = rebuild.namespace
    elif type(names) is dict:
        names["__builtins__"] = rebuild.builtin_names
    return types.FunctionType(code, names, name, defaults, closure)


_MAKERS = {"_make_function": _make_function}
