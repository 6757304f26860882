"""Which variables belong together: those that share an object, so that they still do when they come
back; and in which order groups are to be saved, because what refers to a function or class of
another group by its name must come after it.

Nothing of the user's runs for it. Objects are found the way the garbage collector finds them. Only
what more than one place refers to can be shared, so that nothing has to be remembered about the
millions that have one owner.
"""

from __future__ import annotations

import array
import dataclasses
import datetime
import decimal
import fractions
import functools
import gc
import sys
import types
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

from . import definitions, handlers, rebuild

_MAX_OBJECTS = 20_000_000  # looked at; beyond, what is left is taken as one group
_LARGE_BYTES = 64 << 10  # texts and the like that are worth saving once only

_getrefcount = sys.getrefcount
_getsizeof = sys.getsizeof
_get_referents = gc.get_referents
_is_definition = definitions.is_definition

_ATOMS: Set[type] = {
    type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), range,
    types.CodeType, types.ModuleType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone,
    decimal.Decimal, fractions.Fraction,
}  # fmt: skip
_CODE = (type, types.FunctionType, types.BuiltinFunctionType)
_NO_METADATA = getattr(dataclasses, "_EMPTY_METADATA", None)  # shared by all fields
_NOBODYS = -1  # who owns what every session has
# They cannot be saved; and what they refer to is half of the interpreter.
_OPAQUE = (
    types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.FrameType,
    types.TracebackType, array.array,
)  # fmt: skip
# By module and name, so that no library is imported to know them. Derived types count too.
_LIBRARY_ATOMS = {
    ("numpy", "generic"), ("numpy", "dtype"), ("numpy", "ufunc"), ("logging", "Logger"),
    ("dataclasses", "_MISSING_TYPE"), ("dataclasses", "_FIELD_BASE"),
    ("pandas._libs.internals", "BlockPlacement"), ("pandas.core.indexes.base", "Index"),
    ("pandas.core.dtypes.base", "ExtensionDtype"),
}  # fmt: skip

_MEMORIES_OF_TABLES = ("_item_cache", "_is_copy", "_cacher")

Children = Callable[[Any], List[Any]]


def _count_references() -> int:
    """Of an object with one owner, in a loop like that of _Walk.look()."""
    owner = [object()]
    for child in list(owner):
        return _getrefcount(child)
    return 0


_ONE_OWNER = _count_references()


class Group:
    def __init__(self, names: List[str], needs: Set[int]) -> None:
        self.names = names
        self.needs = needs  # groups, by their place


class Groups:
    """In the order in which they are to be saved."""

    def __init__(self, variables: Dict[str, Any], known: definitions.Definitions) -> None:
        walk = _Walk(known)
        needed = [walk.look(place, name, value) for place, (name, value)
                  in enumerate(variables.items())]  # fmt: skip
        self.kept_arrays = walk.join_views()
        self._names = list(variables)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._parts = walk.parts
        self.all = self._in_order(needed)

    def _in_order(self, needed: List[Set[str]]) -> List[Group]:
        while True:
            members: Dict[int, List[int]] = {}
            edges: Dict[int, Set[int]] = {}
            for place, names in enumerate(needed):
                part = self._parts.find(place)
                members.setdefault(part, []).append(place)
                targets = {self._parts.find(self._places[name]) for name in names}
                edges.setdefault(part, set()).update(targets - {part})
            circles = _circles(edges)
            order = [circle[0] for circle in circles]
            for circle in circles:
                for part in circle[1:]:
                    self._parts.join(circle[0], part)
            if len(order) == len(edges):
                break  # nothing had to be joined
        numbers = {part: number for number, part in enumerate(order)}
        return [
            Group(
                [self._names[place] for place in members[part]],
                {numbers[target] for target in edges[part]},
            )
            for part in order
        ]


class _Parts:
    """Disjoint sets."""

    def __init__(self) -> None:
        self._parents: List[int] = []

    def add(self) -> int:
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def find(self, place: int) -> int:
        parents = self._parents
        while parents[place] != place:
            parents[place] = place = parents[parents[place]]
        return place

    def join(self, one: int, other: int) -> None:
        one, other = sorted((self.find(one), self.find(other)))
        self._parents[other] = one


class _Views:
    """Arrays that show the memory of another one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.places: List[int] = []
        self.seen_bytes = 0

    def are_most_of_it(self) -> bool:
        return len(self.places) > 1 and self._size <= 2 * self.seen_bytes


class _Walk:
    def __init__(self, known: definitions.Definitions) -> None:
        self.parts = _Parts()
        self._known = known
        self._owners: Dict[int, int] = dict.fromkeys(
            map(id, (rebuild.namespace, rebuild.builtin_names, (), _NO_METADATA)), _NOBODYS
        )
        self._kinds: Dict[type, Optional[Children]] = dict.fromkeys(_ATOMS)
        self._kinds.update({
            dict: _children_of_dict, list: _children_of_list, tuple: _children_of_list,
            set: _children_of_list, frozenset: _children_of_list,
            types.FunctionType: self._children_of_code,
            types.BuiltinFunctionType: _children_of_builtin,
            functools._lru_cache_wrapper: _children_of_cached,
        })  # fmt: skip
        self._name = ""  # of the variable that is looked at
        self._place = 0
        self._arrays: Dict[int, int] = {}  # where each was first seen
        self._views: Dict[int, _Views] = {}  # by the array whose memory they show
        self._needs: Set[str] = set()
        self._left = _MAX_OBJECTS
        self._rest: Optional[int] = None  # the first of those that were not looked at

    def look(self, place: int, name: str, value: Any) -> Set[str]:
        """The names of definitions that it needs."""
        self._name = name
        self._place = place
        self._needs = set()
        self.parts.add()
        if self._left <= 0:
            self._rest = place if self._rest is None else self._rest
            self.parts.join(self._rest, place)
        try:
            self._look_into(value)
        except Exception:  # a class that hides what it is: whoever shares with it keeps a copy
            pass
        return self._needs

    def _look_into(self, value: Any) -> None:
        children = [value]
        if self._known.name_of(value) == self._name:
            children = self._children_of_definition(value)
        elif type(value) in _ATOMS and _getsizeof(value) > _LARGE_BYTES:
            self._meet(self._place, value)
        self._descend(self._place, children)

    def _descend(self, place: int, children: List[Any]) -> None:
        kinds = self._kinds
        stack: List[Iterator[Any]] = [iter(children)]
        while stack:
            for child in stack[-1]:
                kind = type(child)
                children_of = kinds[kind] if kind in kinds else self._learn(kind)
                if children_of is None:
                    continue
                self._left -= 1
                if _getrefcount(child) > _ONE_OWNER and not self._meet(place, child):
                    continue
                found = children_of(child)
                if found and self._left > 0:
                    stack.append(iter(found))
                    break
            else:
                stack.pop()

    def _meet(self, place: int, shared: Any) -> bool:
        """Is it new? If not, both who refer to it belong together."""
        owner = self._owners.get(id(shared))
        if issubclass(type(shared), _CODE):
            path = self._known.path_of(shared)
            if path is not None and path[0] != self._name:
                self._needs.add(path[0])
                return False
            if owner is None and _is_everyones(shared):
                owner = self._owners[id(shared)] = _NOBODYS
        if owner is None:
            self._owners[id(shared)] = place
        elif owner != _NOBODYS:
            self.parts.join(owner, place)
        return owner is None

    # What there is to look at within an object; each gives a list of its own making

    def _learn(self, kind: type) -> Optional[Children]:
        children_of = self._kinds[kind] = self._choose(kind)
        return children_of

    def _choose(self, kind: type) -> Optional[Children]:
        if issubclass(kind, type):
            return self._children_of_code
        if issubclass(kind, _OPAQUE):
            return _no_children
        if issubclass(kind, weakref.ref):
            return _children_of_reference
        names = {(definitions.module_of(base), base.__name__) for base in kind.__mro__}
        if not names.isdisjoint(_LIBRARY_ATOMS):
            return None
        if ("pandas.core.generic", "NDFrame") in names:
            return _children_of_table
        if ("pandas.core.internals.managers", "BaseBlockManager") in names:
            return _children_of_blocks
        if ("numpy", "ndarray") in names:
            return self._children_of_array
        if definitions.module_of(kind).startswith("openpyxl."):
            return _children_of_workbook
        return _children_of_instance if _is_definition(kind) else _get_referents

    def join_views(self) -> Set[int]:
        """Arrays that show the same memory belong together. Returns those whose memory is saved,
        by id; of the others only the part that is seen."""
        kept = set()
        for number, views in self._views.items():
            place = self._arrays.get(number)
            if place is None and not views.are_most_of_it():
                continue
            kept.add(number)
            for other in views.places:
                self.parts.join(views.places[0] if place is None else place, other)
        return kept

    def _children_of_array(self, numbers: Any) -> List[Any]:
        self._arrays[id(numbers)] = self._place
        base = numbers.base
        if type(base) is type(numbers) and base.flags.forc and not base.dtype.hasobject:
            views = self._views.setdefault(id(base), _Views(base.nbytes))
            views.places.append(self._place)
            views.seen_bytes += numbers.nbytes
        if not numbers.dtype.hasobject or _ATOMS.issuperset(map(type, numbers.flat)):
            return []
        return numbers.ravel().tolist()  # type: ignore[no-any-return]

    def _children_of_code(self, value: Any) -> List[Any]:
        """Of a function or class."""
        return self._children_of_definition(value) if _is_definition(value) else []

    def _children_of_definition(self, value: Any) -> List[Any]:
        if type(value) is not types.FunctionType:
            members = [member for name, member in vars(value).items() if name != "_abc_impl"]
            registered = definitions.registered_with(value)
            return [type(value), *value.__bases__, *members, *registered]
        children = [value.__defaults__, value.__kwdefaults__, value.__dict__]
        children += value.__closure__ or ()
        if not hasattr(value, "__annotate__"):
            children.append(value.__annotations__)
        if definitions.module_with(value.__globals__) is None:
            children.append(value.__globals__)
        return children


def _is_everyones(code: Any) -> bool:
    """Can it be imported, or is it part of what can?"""
    if type(code) is not types.BuiltinFunctionType:
        return not _is_definition(code)
    return not _children_of_builtin(code)


def _no_children(opaque: Any) -> List[Any]:
    return []


def _children_of_builtin(function: Any) -> List[Any]:
    """What it is bound to."""
    owner = function.__self__
    is_free = owner is None or issubclass(type(owner), (type, types.ModuleType))
    return [] if is_free else [owner]


def _children_of_cached(function: Any) -> List[Any]:
    """Not what it remembers."""
    return [function.__wrapped__] if not definitions.is_importable(function) else []


def _children_of_list(sequence: Any) -> List[Any]:
    """Nothing if there are but numbers and texts, which is told at the speed of C."""
    return [] if _ATOMS.issuperset(map(type, sequence)) else list(sequence)


def _children_of_dict(mapping: Any) -> List[Any]:
    if not _ATOMS.issuperset(map(type, dict.values(mapping))):
        return [*dict.keys(mapping), *dict.values(mapping)]
    return [] if _ATOMS.issuperset(map(type, mapping)) else list(mapping)


def _children_of_instance(instance: Any) -> List[Any]:
    return [type(instance), *_get_referents(instance)]


def _children_of_reference(weak: Any) -> List[Any]:
    return [weakref.ref.__call__(weak)]


def _children_of_table(table: Any) -> List[Any]:
    """Not what it remembers about others."""
    members = object.__getattribute__(table, "__dict__")
    return [value for name, value in members.items() if name not in _MEMORIES_OF_TABLES]


def _children_of_blocks(manager: Any) -> List[Any]:
    """Not what it has worked out about their places, which copies of a table share."""
    return list(manager.blocks)


def _children_of_workbook(part: Any) -> List[Any]:
    return [handlers.parent_of(part)]


def _circles(edges: Dict[int, Set[int]]) -> List[List[int]]:
    """Strongly connected components, those that are needed first (Tarjan, without recursion)."""
    numbers: Dict[int, int] = {}
    lowest: Dict[int, int] = {}
    open_: List[int] = []
    is_open: Set[int] = set()
    circles: List[List[int]] = []
    for root in edges:
        if root in numbers:
            continue
        work = [(root, iter(sorted(edges[root])))]
        numbers[root] = lowest[root] = len(numbers)
        open_.append(root)
        is_open.add(root)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == numbers[node]:
                    circle = open_[open_.index(node) :]
                    del open_[-len(circle) :]
                    is_open.difference_update(circle)
                    circles.append(circle)
            elif target not in numbers:
                numbers[target] = lowest[target] = len(numbers)
                open_.append(target)
                is_open.add(target)
                work.append((target, iter(sorted(edges[target]))))
            elif target in is_open:
                lowest[node] = min(lowest[node], numbers[target])
    return circles
