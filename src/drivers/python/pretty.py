"""Text of objects in the layout of IPython's, so that what people know from notebooks is what they
see here: one line if it fits into 79 columns, else one item of a container per line; at most 1000
items of each; sets sorted; classes and functions by their names.

The layout follows IPython.lib.pretty step by step, also where another choice would be nicer, and
objects with a `_repr_pretty_` method are given what that module gives them. What is ours: it ends
after a number of characters, and an object within a container that fails is shown with its failure.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import os
import re
import types
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from . import formatters

MAX_WIDTH = 79
MAX_ITEMS = 1000
_MAX_FAILURE_CHARS = 500
_SHORT_ITEMS = 27  # more than that do not fit into a line

_signature = inspect.signature
_FLAGS = tuple(
    (name, int(getattr(re, name)))
    for name in ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG")
)
_PLAIN = frozenset((int, float, complex, bool, type(None), str, bytes))
_LONG = (str, bytes, bytearray)
_deque = collections.deque
_registered = formatters.PLAIN
_object_repr = object.__repr__


class _Enough(BaseException):
    """The text has all the characters that it may have. Of no kind that objects expect."""


def text_of(obj: Any, max_chars: int, asks_registered: bool = True) -> Tuple[str, bool]:
    """The text, and whether it is all. Raises what the object raises."""
    asks_registered = asks_registered and _registered.is_used()
    quick = None if asks_registered else _quick(obj, max_chars)
    if quick is not None:
        return quick, True
    printer = Printer(max_chars, asks_registered)
    is_whole = True
    try:
        printer.pretty(obj)
    except _Enough:
        is_whole = False
    printer.flush()
    return "".join(printer.parts)[:max_chars], is_whole


def _quick(obj: Any, max_chars: int) -> Optional[str]:
    """For lists, tuples and dictionaries of numbers and short texts, which are most of what is
    shown, the layout is known without all that follows."""
    kind = type(obj)
    if kind is dict:
        if not 0 < len(obj) <= MAX_ITEMS:
            return None
        if not (_PLAIN.issuperset(map(type, obj)) and _PLAIN.issuperset(map(type, obj.values()))):
            return None
        if _chars_of(obj) + _chars_of(obj.values()) > max_chars // 10:
            return None
        items = [f"{key!r}: {value!r}" for key, value in obj.items()]
        start, end = "{", "}"
    elif kind is list or kind is tuple:
        if not 0 < len(obj) <= MAX_ITEMS or not _PLAIN.issuperset(map(type, obj)):
            return None
        if _chars_of(obj) > max_chars // 10:
            return None
        items = [*map(repr, obj)]
        start, end = ("[", "]") if kind is list else ("(", ",)" if len(obj) == 1 else ")")
    else:
        return None
    if len(items) < _SHORT_ITEMS:
        line = start + ", ".join(items) + end
        if len(line) <= MAX_WIDTH:
            return line
    return start + ",\n ".join(items) + end


def _chars_of(items: Iterable[Any]) -> int:
    """Escaped they may be ten times as many."""
    return sum(len(item) for item in items if type(item) is str or type(item) is bytes)


class _Group:
    __slots__ = ("depth", "breaks", "is_broken")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.breaks: Any = _deque()  # those not written yet
        self.is_broken = False


class _Text:
    __slots__ = ("parts", "width")

    def __init__(self) -> None:
        self.parts: List[str] = []
        self.width = 0


class _Break:
    """A place where a line may end."""

    __slots__ = ("text", "width", "indentation", "group")

    def __init__(self, text: str, indentation: int, group: _Group) -> None:
        self.text = text
        self.width = len(text)
        self.indentation = indentation
        self.group = group


class _Layout:
    """Text and breaks wait in `buffer` until it is known whether they fit into the line; when they
    do not, the outermost group that still can is broken at all its breaks."""

    def __init__(self, max_chars: int) -> None:
        self.parts: List[str] = []
        self.indentation = 0
        self._left = max_chars
        self._width = 0  # of the line that is written
        self._buffer: Any = _deque()
        self._buffer_width = 0
        root = _Group(0)
        self._stack = [root]
        self._queue: List[List[_Group]] = [[root]]  # by depth: groups that may be broken

    def _count(self, chars: int) -> None:
        self._left -= chars
        if self._left < 0:
            raise _Enough

    def text(self, text: str) -> None:
        """Add literal text."""
        width = len(text)
        if width > self._left:
            text = text[: max(self._left, 0)]
        if not self._buffer:
            self.parts.append(text)
            self._width += width
        else:
            last = self._buffer[-1]
            if type(last) is not _Text:
                last = _Text()
                self._buffer.append(last)
            last.parts.append(text)
            last.width += width
            self._buffer_width += width
            self._break_outer()
        self._count(width)

    def breakable(self, sep: str = " ") -> None:
        """A place where a line may end; `sep` stands there if it does not."""
        group = self._stack[-1]
        if group.is_broken:
            self.flush()
            self._end_line(self.indentation)
        else:
            place = _Break(sep, self.indentation, group)
            group.breaks.append(place)
            self._buffer.append(place)
            self._buffer_width += place.width
            self._break_outer()
            self._count(place.width)

    def break_(self) -> None:
        """A place where the line ends."""
        group = self._next_to_break()
        if group is not None:
            self._break_one(group)
        self.flush()
        self._end_line(self.indentation)

    def begin_group(self, indent: int = 0, open: str = "") -> None:
        if open:
            self.text(open)
        depth = self._stack[-1].depth + 1
        group = _Group(depth)
        self._stack.append(group)
        while len(self._queue) <= depth:
            self._queue.append([])
        self._queue[depth].append(group)
        self.indentation += indent

    def end_group(self, dedent: int = 0, close: str = "") -> None:
        self.indentation -= dedent
        group = self._stack.pop()
        if not group.breaks:
            self._forget(group)
        if close:
            self.text(close)

    @contextlib.contextmanager
    def group(self, indent: int = 0, open: str = "", close: str = "") -> Iterator[None]:
        self.begin_group(indent, open)
        try:
            yield
        finally:
            self.end_group(indent, close)

    @contextlib.contextmanager
    def indent(self, indent: int) -> Iterator[None]:
        self.indentation += indent
        try:
            yield
        finally:
            self.indentation -= indent

    def flush(self) -> None:
        """Writes what waits."""
        for waiting in self._buffer:
            self._width += self._write(waiting)  # twice, in effect: as IPython counts here
        self._buffer.clear()
        self._buffer_width = 0

    def _end_line(self, indentation: int) -> None:
        self.parts.append("\n" + " " * indentation)
        self._width = indentation
        self._buffer_width = 0
        self._count(1 + indentation)

    def _write(self, waiting: Any) -> int:
        """The width of the line then."""
        if type(waiting) is _Text:
            self.parts.extend(waiting.parts)
            return self._width + int(waiting.width)
        group = waiting.group
        group.breaks.popleft()
        if group.is_broken:
            self.parts.append("\n" + " " * waiting.indentation)
            return int(waiting.indentation)
        if not group.breaks:
            self._forget(group)
        self.parts.append(waiting.text)
        return self._width + int(waiting.width)

    def _write_first(self) -> None:
        waiting = self._buffer.popleft()
        self._width = self._write(waiting)
        self._buffer_width -= waiting.width

    def _break_one(self, group: _Group) -> None:
        while group.breaks:
            self._write_first()
        while self._buffer and type(self._buffer[0]) is _Text:
            self._write_first()

    def _break_outer(self) -> None:
        while MAX_WIDTH < self._width + self._buffer_width:
            group = self._next_to_break()
            if group is None:
                return
            self._break_one(group)

    def _next_to_break(self) -> Optional[_Group]:
        for groups in self._queue:
            for index, group in enumerate(reversed(groups)):
                if group.breaks:
                    del groups[index]  # counted from the other end: as IPython does
                    group.is_broken = True
                    return group
            for group in groups:
                group.is_broken = True
            del groups[:]
        return None

    def _forget(self, group: _Group) -> None:
        try:
            self._queue[group.depth].remove(group)
        except ValueError:
            pass


class Printer(_Layout):
    """What `_repr_pretty_(self, p, cycle)` is given as `p`."""

    def __init__(self, max_chars: int, asks_registered: bool) -> None:
        super().__init__(max_chars)
        self.asks_registered = asks_registered  # functions that libraries registered for types
        self.stack: List[int] = []  # the objects that are being written, by id
        self.verbose = False
        self.max_width = MAX_WIDTH
        self.max_seq_length = MAX_ITEMS
        self.newline = "\n"

    def pretty(self, obj: Any) -> None:
        """Add the text of an object."""
        number = id(obj)
        is_cycle = number in self.stack
        self.stack.append(number)
        depth, indentation = len(self._stack), self.indentation
        self.begin_group()
        try:
            self._printer_of(obj)(obj, self, is_cycle)
        except (KeyboardInterrupt, RecursionError, MemoryError, _Enough):
            raise
        except BaseException as error:  # SystemExit too: an object being shown ends nothing
            if len(self.stack) == 1:
                raise
            while len(self._stack) > depth + 1:
                self.end_group()
            self.indentation = indentation
            self.text(failure_of(obj, error))
        finally:
            self.end_group()
            self.stack.pop()

    def _printer_of(self, obj: Any) -> Callable[[Any, Any, bool], Any]:
        kind = type(obj)
        if kind in _PLAIN and not self.asks_registered or kind is bool or obj is None:
            return _put_repr
        try:
            said = obj.__class__  # of what stands for another object: what that is
            if isinstance(said, type):
                kind = said
        except Exception:
            pass
        for base in type.__dict__["__mro__"].__get__(kind):
            printer = _registered.find_for(base) if self.asks_registered else None
            printer = printer or _PRINTERS.get(base)
            if printer is not None:
                return printer
            members = base.__dict__
            if "_repr_pretty_" in members:
                method = base._repr_pretty_
                if callable(method):
                    return method  # type: ignore[no-any-return]
            if base is not object and callable(members.get("__repr__")):
                return _put_repr
        return _put_default

    def _enumerate(self, items: Iterable[Any]) -> Iterator[Tuple[int, Any]]:
        for index, item in enumerate(items):
            if index >= MAX_ITEMS:
                self.text(",")
                self.breakable()
                self.text("...")
                return
            yield index, item

    def put_items(self, items: Iterable[Any], put: Callable[[Any], None]) -> None:
        for index, item in self._enumerate(items):
            if index:
                self.text(",")
                self.breakable()
            put(item)

    def room(self) -> int:
        """Characters."""
        return max(self._left, 0)


def failure_of(obj: Any, error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"[:_MAX_FAILURE_CHARS]
    except Exception:
        text = type(error).__name__
    return f"<{type(obj).__name__} object; its __repr__ failed: {text}>"


def _put_repr(obj: Any, p: Printer, cycle: bool) -> None:
    if type(obj) in _LONG and len(obj) > p.room():
        obj = obj[: p.room() + 1]
    text = "".join((repr(obj),))  # a plain str, whatever __repr__ returned
    lines = text.splitlines()
    if len(p.stack) == 1:
        p.text("\n".join(lines))
        return
    p.begin_group()
    for index, line in enumerate(lines):
        if index:
            p.break_()
        p.text(line)
    p.end_group()


def _put_default(obj: Any, p: Printer, cycle: bool) -> None:
    try:
        kind = obj.__class__ or type(obj)
    except Exception:
        kind = type(obj)
    if getattr(kind, "__repr__", None) is not _object_repr:
        _put_repr(obj, p, cycle)
        return
    p.begin_group(1, "<")
    p.pretty(kind)
    p.text(f" at 0x{id(obj):x}")
    if cycle:
        p.text(" ...")
    p.end_group(1, ">")


def _sequence(start: str, end: str) -> Callable[[Any, Printer, bool], None]:
    step = len(start)

    def put(obj: Any, p: Printer, cycle: bool) -> None:
        if cycle:
            p.text(start + "..." + end)
            return
        p.begin_group(step, start)
        p.put_items(obj, p.pretty)
        if len(obj) == 1 and isinstance(obj, tuple):
            p.text(",")
        p.end_group(step, end)

    return put


def _set(start: str, end: str) -> Callable[[Any, Printer, bool], None]:
    step = len(start)

    def put(obj: Any, p: Printer, cycle: bool) -> None:
        if cycle:
            p.text(start + "..." + end)
        elif len(obj) == 0:
            p.text(type(obj).__name__ + "()")
        else:
            p.begin_group(step, start)
            p.put_items(_sorted(obj) if len(obj) < MAX_ITEMS else obj, p.pretty)
            p.end_group(step, end)

    return put


def _sorted(items: Iterable[Any]) -> List[Any]:
    items = list(items)
    try:
        return sorted(items)
    except Exception:
        try:
            return sorted(items, key=str)
        except Exception:
            return items


def _mapping(start: str, end: str) -> Callable[[Any, Printer, bool], None]:
    step = len(start)

    def put(obj: Any, p: Printer, cycle: bool) -> None:
        if cycle:
            p.text("{...}")
            return

        def put_pair(key: Any) -> None:
            p.pretty(key)
            p.text(": ")
            p.pretty(obj[key])

        p.begin_group(step, start)
        p.put_items(obj.keys(), put_pair)
        p.end_group(step, end)

    return put


class _Raw:
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_pretty_(self, p: Printer, cycle: bool) -> None:
        p.text(self._text)


class _Call:
    """NAME(arguments), broken between them."""

    __slots__ = ("_start", "_arguments", "_named")

    def __init__(self, name: str, arguments: Iterable[Any] = (), named: Any = ()) -> None:
        self._start = name + "("
        self._arguments = arguments
        self._named: Dict[str, Any] = dict(named)

    def _repr_pretty_(self, p: Printer, cycle: bool) -> None:
        has_begun = False
        p.begin_group(len(self._start), self._start)
        for argument in self._arguments:
            self._separate(p, has_begun)
            has_begun = True
            p.pretty(argument)
        for name, argument in self._named.items():
            self._separate(p, has_begun)
            has_begun = True
            p.begin_group(len(name) + 1, name + "=")
            p.pretty(argument)
            p.end_group(len(name) + 1)
        p.end_group(len(self._start), ")")

    @staticmethod
    def _separate(p: Printer, has_begun: bool) -> None:
        if has_begun:
            p.text(",")
            p.breakable()


def _put_super(obj: Any, p: Printer, cycle: bool) -> None:
    p.begin_group(8, "<super: ")
    p.pretty(obj.__thisclass__)
    p.text(",")
    p.breakable()
    p.pretty(obj.__self__)
    p.end_group(8, ">")


def _put_pattern(obj: Any, p: Printer, cycle: bool) -> None:
    arguments = [_Raw("r" + repr(obj.pattern).replace("\\\\", "\\"))]
    if obj.flags:
        names = [f"re.{name}" for name, flag in _FLAGS if obj.flags & flag]
        arguments.append(_Raw("|".join(names)))
    p.pretty(_Call("re.compile", arguments))


def _put_namespace(obj: Any, p: Printer, cycle: bool) -> None:
    p.pretty(_Call("namespace", (_Raw("..."),)) if cycle else _Call("namespace", (), vars(obj)))


def _put_class(obj: Any, p: Printer, cycle: bool) -> None:
    owners = [base for base in type(obj).__mro__ if "__repr__" in vars(base)]
    if owners[:1] != [type]:  # a metaclass with a text of its own
        _put_repr(obj, p, cycle)
        return
    module = getattr(obj, "__module__", None)
    name = obj.__qualname__ if isinstance(obj.__qualname__, str) else obj.__name__
    is_builtin = module in (None, "builtins", "exceptions", "__builtin__")
    p.text(name if is_builtin else f"{module}.{name}")


def _put_function(obj: Any, p: Printer, cycle: bool) -> None:
    name = getattr(obj, "__qualname__", obj.__name__)
    module = obj.__module__
    if module and module not in ("builtins", "exceptions", "__builtin__"):
        name = f"{module}.{name}"
    try:
        name += str(_signature(obj))
    except ValueError:
        pass
    p.text(f"<function {name}>")


def _put_exception(obj: Any, p: Printer, cycle: bool) -> None:
    kind = obj.__class__
    name = getattr(kind, "__qualname__", kind.__name__)
    if kind.__module__ not in ("builtins", "exceptions"):
        name = f"{kind.__module__}.{name}"
    p.pretty(_Call(name, getattr(obj, "args", ())))


def _constructor(arguments_of: Callable[[Any], Tuple[Any, ...]]) -> Callable[..., None]:
    def put(obj: Any, p: Printer, cycle: bool) -> None:
        named = {"maxlen": obj.maxlen} if getattr(obj, "maxlen", None) is not None else ()
        if cycle:
            p.pretty(_Call(obj.__class__.__name__, (_Raw("..."),)))
        else:
            p.pretty(_Call(obj.__class__.__name__, arguments_of(obj), named))

    return put


_PRINTERS: Dict[type, Callable[[Any, Printer, bool], None]] = {
    tuple: _sequence("(", ")"),
    list: _sequence("[", "]"),
    dict: _mapping("{", "}"),
    set: _set("{", "}"),
    frozenset: _set("frozenset({", "})"),
    super: _put_super,
    re.Pattern: _put_pattern,
    type: _put_class,
    types.FunctionType: _put_function,
    types.BuiltinFunctionType: _put_function,
    types.SimpleNamespace: _put_namespace,
    types.MappingProxyType: _mapping("mappingproxy({", "})"),
    BaseException: _put_exception,
    type(os.environ): _mapping("environ{", "}"),
    collections.defaultdict: _constructor(lambda obj: (obj.default_factory, dict(obj))),
    collections.OrderedDict: _constructor(lambda obj: (list(obj.items()),) if len(obj) else ()),
    collections.deque: _constructor(lambda obj: (list(obj),)),
    collections.Counter: _constructor(lambda obj: (dict(obj),) if len(obj) else ()),
    collections.UserList: _constructor(lambda obj: (obj.data,)),
}
