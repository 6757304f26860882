"""`_`, `__`, `___`, `_3`, `Out`, `In`, `_i`: values and sources of earlier cells, as in IPython.

They are builtins and no names of the session: none is listed, saved or replayed, and a variable of
the user's with such a name is the user's. `_3` and its like are looked for in the text of a cell,
and bound only for those that use them, so that others pay nothing.

What is kept here is kept alive, so `Out` has only what is known to be small: plain values, arrays
and tables. Of the last three, those that are known to be large go when the next one comes.
"""

from __future__ import annotations

import builtins
import collections
import os
import re
import sys
from typing import Any, Deque, Dict, Iterator, List, Set, Tuple, Union

from . import sources

_MAX_VALUES = 1000
_TOGETHER = 64  # are given up at once: what is old lies in memory that nobody has near any more
_MAX_VALUE_BYTES = 4 << 20
_MAX_BYTES = 32 << 20
_MAX_BYTES_BEFORE = 64 << 20  # of what `__` and `___` stand for
_MAX_ITEMS = 500  # that are looked at to weigh one value, each by itself
_MAX_ALIKE = 10_000  # of one container, by their types alone
_ITEM_BYTES = 80  # about what an object in an array takes
_UNKNOWN = -1

_builtins = vars(builtins)
_modules = sys.modules
_sizeof = object.__sizeof__
_Exception = Exception
_REFERENCE = re.compile(r"_(?<!\w_)(i{1,3}|i?[0-9]{1,9}|dh)\b")

_SMALL = frozenset({type(None), bool, float, complex, range, slice, type(...)})
_SMALL_BYTES = 32
_SMALL_OR_INT = _SMALL | {int}
_COUNTED = frozenset({int, str, bytes})
_LISTS = frozenset({list, tuple, set, frozenset})
# By module and name: nothing is imported for them.
_SMALL_NAMED = frozenset({
    ("decimal", "Decimal"), ("fractions", "Fraction"), ("datetime", "date"),
    ("datetime", "datetime"), ("datetime", "time"), ("datetime", "timedelta"), ("uuid", "UUID"),
    ("pathlib", "PosixPath"), ("pathlib._local", "PosixPath"),
    ("pandas._libs.tslibs.timestamps", "Timestamp"),
    ("pandas._libs.tslibs.timedeltas", "Timedelta"),
})  # fmt: skip


class Values(Dict[int, Any]):
    """`Out`: values by the numbers of their cells."""

    def __missing__(self, number: Any) -> Any:
        raise KeyError(
            f"there is no value of a cell {number!r}: only small ones are kept (numbers, texts, "
            "lists of them, arrays, tables); give it a name in its cell"
        )

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class Texts:
    """`In`: sources by the numbers of their cells; of a cell that is not known it is empty."""

    def __init__(self, session_sources: sources.Sources) -> None:
        self._sources = session_sources

    def whole(self) -> List[str]:
        kept = self._sources.kept()
        texts = [""] * (_number_of(kept[-1][0]) + 1 if kept else 1)
        for name, text in kept:
            texts[_number_of(name)] = text.rstrip("\n")
        return texts

    def __len__(self) -> int:
        return len(self.whole())

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __getitem__(self, at: Union[int, slice]) -> Any:
        return self.whole()[at]

    def __eq__(self, other: object) -> bool:
        return self.whole() == other

    def __repr__(self) -> str:
        return repr(self.whole())

    def __reduce__(self) -> Any:
        return list, (self.whole(),)


class Results:
    def __init__(self, session_sources: sources.Sources) -> None:
        self._texts = Texts(session_sources)
        self._values = Values()
        self._weights: Deque[Tuple[int, int]] = collections.deque()  # the oldest first
        self._last_weight = 0
        self._bytes = 0
        self._offered: Set[str] = set()
        self.directories: List[str] = []  # where the session was before, as `%cd` knows

    def install(self) -> None:
        """In the process that becomes the session."""
        _builtins["In"] = _builtins["_ih"] = self._texts
        _builtins["Out"] = _builtins["_oh"] = self._values

    def add(self, name: str, value: Any) -> None:
        """The value of the cell that is called so."""
        if value is self._values:
            return
        kind = type(value)
        if kind in _SMALL:
            weight = _SMALL_BYTES
        elif kind in _COUNTED:
            weight = kind.__sizeof__(value)
        else:
            weight = weigh(value)
        self._shift(value, weight)
        if 0 <= weight <= _MAX_VALUE_BYTES:
            number = _number_of(name)
            self._values[number] = value
            self._weights.append((number, weight))
            self._bytes += weight
            if self._bytes > _MAX_BYTES or len(self._weights) >= _MAX_VALUES + _TOGETHER:
                self._trim()

    def _shift(self, value: Any, weight: int) -> None:
        if "__" in _builtins:
            _builtins["___"] = _builtins["__"]
        if self._last_weight > _MAX_BYTES_BEFORE:
            _builtins.pop("__", None)
        elif "_" in _builtins:
            _builtins["__"] = _builtins["_"]
        _builtins["_"] = value
        self._last_weight = weight

    def _trim(self) -> None:
        """The oldest go first."""
        while self._bytes > _MAX_BYTES or len(self._weights) > _MAX_VALUES:
            number, weight = self._weights.popleft()
            self._bytes -= weight
            self._values.pop(number, None)
            self._withdraw(f"_{number}")

    def _withdraw(self, name: str) -> None:
        if name in self._offered:
            self._offered.remove(name)
            _builtins.pop(name, None)

    def offer(self, source: str) -> None:
        """What the text of the cell that begins asks for."""
        for found in _REFERENCE.finditer(source):
            name, kind = found.group(0, 1)
            if kind == "dh":
                _builtins[name] = [*self.directories, _directory()]
            elif kind.isdigit():
                self._offer_value(name, int(kind))
            else:
                _builtins[name] = self._text(kind)

    def _offer_value(self, name: str, number: int) -> None:
        if number in self._values:
            _builtins[name] = self._values[number]
            self._offered.add(name)

    def _text(self, kind: str) -> str:
        """Of a cell by its number, or so many before the one that begins."""
        texts = self._texts.whole()
        at = int(kind[1:]) if len(kind.rstrip("0123456789")) < len(kind) else -1 - len(kind)
        return texts[at] if -len(texts) <= at < len(texts) else ""

    def clear(self) -> None:
        for name in (*self._offered, "_", "__", "___"):
            _builtins.pop(name, None)
        self._offered.clear()
        self._values.clear()
        self._weights.clear()
        self._bytes = self._last_weight = 0


def _number_of(name: str) -> int:
    return int(name[6:-1])  # <cell N>


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def weigh(value: Any) -> int:
    """About how many bytes go if it goes; negative if that cannot be told."""
    try:
        return _weigh(value)
    except _Exception:  # it was changed meanwhile, or is not what it seems
        return _UNKNOWN


def _weigh(value: Any) -> int:
    total = 0
    pending = [value]
    left = _MAX_ITEMS
    while pending:
        one = pending.pop()
        kind = type(one)
        left -= 1
        if left < 0:
            return _UNKNOWN
        if kind in _SMALL:
            total += _SMALL_BYTES
        elif kind in _COUNTED:
            total += kind.__sizeof__(one)
        elif kind in _LISTS or kind is dict:
            total += kind.__sizeof__(one)
            if total > _MAX_VALUE_BYTES:  # then what is in it makes no difference
                return total
            if len(one) > _MAX_ALIKE:
                return _UNKNOWN
            for items in (one, one.values()) if kind is dict else (one,):
                if _SMALL_OR_INT.issuperset(map(type, items)):
                    total += _SMALL_BYTES * len(items)
                elif len(items) > left:
                    return _UNKNOWN
                else:
                    pending += items
        elif (kind.__module__, kind.__name__) in _SMALL_NAMED:
            total += _sizeof(one)
        else:
            weight = _weigh_data(one)
            if weight < 0:
                return _UNKNOWN
            total += weight
    return total


def _weigh_data(value: Any) -> int:
    numpy = _modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.generic):
            return int(value.nbytes) if value.dtype != object else _UNKNOWN
        if isinstance(value, numpy.ndarray):
            return _weigh_array(value, numpy.ndarray)
    pandas = _modules.get("pandas")
    if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
        arrays = value._mgr.arrays
        return sum(_weigh_array(array, numpy.ndarray) for array in arrays) + sum(
            int(index.nbytes) for index in value.axes
        )
    return _UNKNOWN


def _weigh_array(array: Any, kind: Any) -> int:
    """With what it is a part of, which it keeps alive."""
    if not isinstance(array, kind):  # one of pandas' own
        return int(array.nbytes)
    while isinstance(array.base, kind):
        array = array.base
    return int(array.nbytes) if array.dtype != object else int(array.size) * _ITEM_BYTES
