"""The names that the user made, and what a cell did to them.

Found by comparison of the namespace before and after: by the identity of each value, its type, and
its length or shape. So growth in place is seen; an element that was replaced in a list is not, nor
an attribute that was set. Nothing of the user's is kept alive for it but small numbers and texts.

The comparison with nothing changed is three lists built and compared in C, and one measurement for
each value that can grow. Large namespaces are only counted.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from . import jsontext, labels

_MAX_COMPARED = 300  # names of the user's
_MAX_COUNTED = 5000
_MAX_LISTED = 100  # in each of added, changed, removed
_MAX_ITEMS = 1000
_MAX_LIST_BYTES = 8 << 10  # each of the three
_MAX_BYTES = 64_000

_quote = jsontext.quote
_to_bytes = jsontext.to_bytes
_can_grow = labels.can_grow
_measure_of = labels.measure_of
_is_worth_holding = labels.is_worth_holding

# Identity of the value, of its type, and its length or shape if it has one.
_Entry = Tuple[int, int, Any]

_MORE = ',"more":true'
_NOTHING_CHANGED = ',"added":[],"changed":[],"removed":[]'


class Names:
    """`namespace` as it is now is not the user's work."""

    def __init__(self, namespace: Dict[str, Any]) -> None:
        self._namespace = namespace
        self._given = dict(namespace)
        self._is_fresh = False  # is what follows true of the namespace, up to the last cell's end?
        self._entries: Dict[str, _Entry] = {}
        self._keys: List[Any] = []
        self._key_ids: List[int] = []
        self._value_ids: List[int] = []
        self._type_ids: List[int] = []
        self._growing: List[Tuple[int, Any, Any]] = []  # position, measure, what it was
        self._held: List[Any] = []  # so that their identity is theirs alone
        self._changes = ""  # of the last cell, as members of JSON
        self._counted = (-1, 0)  # size of the namespace, names of the user's in it
        self._look()

    def begin_cell(self, is_wanted: bool) -> None:
        """`is_wanted`: end_cell() will be called."""
        if not is_wanted:
            self._is_fresh = False
            self._changes = ""
        elif not self._is_fresh:
            self._look()

    def end_cell(self, has_items: bool) -> str:
        """The manifest, as JSON. Never raises."""
        try:
            self._changes = self._compare()
        except Exception:  # out of memory, or a thread changed the namespace meanwhile
            self._is_fresh = False
            self._changes = ""
        if has_items:
            return self.manifest(_MAX_ITEMS)
        total = len(self._entries) if self._is_fresh else self._count()
        return f'{{"total":{total}{self._changes}}}'

    def manifest(self, max_items: int) -> str:
        """As of now, with what the last cell changed if that is known. Never raises."""
        try:
            return self._list_items(min(max_items, _MAX_ITEMS))
        except Exception:
            return f'{{"total":{self._count()}{self._changes}}}'

    # What changed

    def _is_large(self) -> bool:
        return len(self._namespace) - len(self._given) > _MAX_COMPARED and (
            self._count() > _MAX_COMPARED
        )

    def _count(self) -> int:
        """Of many it is only an estimate: counted when their number has changed, if at all."""
        size = len(self._namespace)
        if size - len(self._given) > _MAX_COUNTED:
            return size - len(self._given)
        if size != self._counted[0]:
            self._counted = (size, len(self._users()))
        return self._counted[1]

    def _users(self) -> List[Tuple[str, Any]]:
        given = self._given
        return [
            (key, value)
            for key, value in list(self._namespace.items())
            if type(key) is str and key[:1] != "_" and (key not in given or given[key] is not value)
        ]

    def _compare(self) -> str:
        if self._is_large():
            self._is_fresh = False
            self._entries = {}
            return ""
        if not self._is_fresh:
            self._look()
            return ""
        values = list(self._namespace.values())
        if self._is_same(values):
            changed = self._grown(values)
            if not changed:
                return _NOTHING_CHANGED
            self._look()
            return _lists([], changed, [])
        before = self._entries
        self._look()
        after = self._entries
        return _lists(
            [name for name in after if name not in before],
            [name for name in after if name in before and after[name] != before[name]],
            [name for name in before if name not in after],
        )

    def _is_same(self, values: List[Any]) -> bool:
        return (
            list(map(id, values)) == self._value_ids
            and list(map(id, map(type, values))) == self._type_ids
            and list(map(id, self._namespace)) == self._key_ids
        )

    def _grown(self, values: List[Any]) -> List[str]:
        return [
            self._keys[position]
            for position, measure, size in self._growing
            if _size(measure, values[position]) != size
        ]

    def _look(self) -> None:
        labels.learn_libraries()
        self._is_fresh = not self._is_large()
        if not self._is_fresh:
            return
        self._entries = entries = {}
        self._growing = growing = []
        held = []
        items = list(self._namespace.items())
        given = self._given
        for position, (key, value) in enumerate(items):
            if type(key) is not str or key[:1] == "_":
                continue
            if key in given and given[key] is value:
                continue
            kind = type(value)
            measure = _measure_of(kind)
            size = None
            if measure is not None:
                size = _size(measure, value)
                if _can_grow(kind):
                    growing.append((position, measure, size))
            if _is_worth_holding(value, kind):
                held.append(value)
            entries[key] = (id(value), id(kind), size)
        self._held = held
        self._keys = [key for key, _ in items]
        self._key_ids = list(map(id, self._keys))
        self._value_ids = [id(value) for _, value in items]
        self._type_ids = [id(type(value)) for _, value in items]

    # As JSON

    def _list_items(self, max_items: int) -> str:
        """The newest, in the order in which they were made."""
        labels.learn_libraries()
        users = self._users()
        texts: List[str] = []
        left = _MAX_BYTES - len(_to_bytes(self._changes))
        for name, value in users[: -max_items - 1 : -1]:
            text = f'{{"name":{_quote(labels.shown_name(name))},{labels.describe(value)}}}'
            left -= len(_to_bytes(text)) + 1
            if left < 0:
                break
            texts.append(text)
        has_more = len(texts) < len(users) and not self._changes.endswith(_MORE)
        more = _MORE if has_more else ""
        return f'{{"total":{len(users)},"items":[{",".join(texts[::-1])}]{self._changes}{more}}}'


def _size(measure: Any, value: Any) -> Optional[Any]:
    try:
        return measure(value)
    except Exception:  # a released memoryview; a table with an index of the user's
        return None


def _lists(*lists: List[str]) -> str:
    """Added, changed, removed."""
    texts = list(map(_list, lists))
    more = _MORE if any(has_more for _, has_more in texts) else ""
    return ',"added":[%s],"changed":[%s],"removed":[%s]%s' % (*[text for text, _ in texts], more)


def _list(names: List[str]) -> Tuple[str, bool]:
    """And whether there are more."""
    texts: List[str] = []
    left = _MAX_LIST_BYTES
    for name in names[:_MAX_LISTED]:
        text = _quote(labels.shown_name(name))
        left -= len(_to_bytes(text)) + 1
        if left < 0:
            break
        texts.append(text)
    return ",".join(texts), len(texts) < len(names)
