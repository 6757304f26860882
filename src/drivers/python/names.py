"""The names that the user made, and what a cell did to them.

Found by comparison of the namespace before and after: by the identity of each value, its type, and
its length or shape; of numbers and short texts, by value. So growth in place is seen; an element
that was replaced in a list is not, nor an attribute that was set. Nothing of the user's is kept
alive for it but those numbers and texts.

What is compared first are identities, listed and compared in C; then only what is new or different
in them is looked at. Nothing else is touched, not even to count a reference: what the profile gave
lies in pages that all sessions share. Large namespaces are only counted.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, Dict, List, Optional, Tuple

from . import jsontext, labels, library

_MAX_COMPARED = 300  # names of the user's
_MAX_COUNTED = 5000
_MAX_LISTED = 100  # in each of added, changed, removed
_MAX_ITEMS = 1000
_MAX_LIST_BYTES = 8 << 10  # each of the three
_MAX_BYTES = 64_000

_MORE = ',"more":true'
_NOTHING_CHANGED = ',"added":[],"changed":[],"removed":[]'

_quote = jsontext.quote
_to_bytes = jsontext.to_bytes
_can_grow = labels.can_grow
_measure_of = labels.measure_of
_is_worth_holding = labels.is_worth_holding
_identities_of = library.identities_of
_IDENTITIES_BYTES = library.IDENTITIES_BYTES
_compress = itertools.compress
_count = itertools.count
_islice = itertools.islice
_ne = operator.ne


# Of a value: its identity, that of its type, and its length or shape if it has one. Of a small
# number or text: 0, its type's, and itself, so that its identity is its own as long as it is known.
_Entry = Tuple[int, int, Any]


class _Picture:
    """What stands where in a namespace: for each place the identities of the name, of the value and
    of its type. The names are kept with it, so that their identities are theirs alone; the values
    are not."""

    __slots__ = ("keys", "identities", "size")

    def __init__(self, identities: bytes, keys: List[Any]) -> None:
        self.keys = keys
        self.identities = identities
        self.size = len(identities) // _IDENTITIES_BYTES

    def column(self, number: int) -> List[int]:
        return memoryview(self.identities).cast("Q")[number::3].tolist()

    def is_grown_from(self, before: "_Picture") -> bool:
        """Do the same names stand in the same places, perhaps with new ones behind them?"""
        return self.column(0)[: before.size] == before.column(0)

    def places_unlike(self, before: "_Picture") -> List[int]:
        places = set(range(before.size, self.size))
        for number in (1, 2):
            places.update(_compress(_count(), map(_ne, self.column(number), before.column(number))))
        return sorted(places)


class Names:
    """`namespace` as it is now is not the user's work."""

    def __init__(self, namespace: Dict[str, Any]) -> None:
        self._namespace = namespace
        self._given = dict(namespace)
        self._picture: Optional[_Picture] = None  # at the end of the last cell, if known
        self._entries: Dict[str, _Entry] = {}  # the user's names in it
        self._growing: Dict[int, Tuple[int, Any, Any]] = {}  # by place: that, measure, what it was
        self._changes = ""  # of the last cell, as members of JSON
        self._counted = (-1, 0)  # size of the namespace, names of the user's in it
        self._look()

    def begin_cell(self, is_wanted: bool) -> None:
        """`is_wanted`: end_cell() will be called. Never raises."""
        if not is_wanted:
            self._forget()
        elif self._picture is None:
            try:
                self._look()
            except Exception:  # out of memory, or a thread changed the namespace meanwhile
                self._forget()

    def end_cell(self, has_items: bool) -> str:
        """The manifest, as JSON. Never raises."""
        try:
            self._changes = self._compare()
        except Exception:
            self._forget()
        if has_items:
            return self.manifest(_MAX_ITEMS)
        total = self._count() if self._picture is None else len(self._entries)
        return f'{{"total":{total}{self._changes}}}'

    def rehearse(self) -> None:
        """What a cell does here, without effect."""
        if not self._is_large():
            _identities_of(self._namespace)

    def manifest(self, max_items: int) -> str:
        """As of now, with what the last cell changed if that is known. Never raises."""
        try:
            return self._list_items(min(max_items, _MAX_ITEMS))
        except Exception:
            return f'{{"total":{self._count()}{self._changes}}}'

    def _forget(self) -> None:
        self._picture = None
        self._changes = ""

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

    def _is_users(self, key: Any, value: Any) -> bool:
        if type(key) is not str or key[:1] == "_":
            return False
        return key not in self._given or self._given[key] is not value

    def _users(self) -> List[Tuple[str, Any]]:
        is_users = self._is_users
        return [item for item in list(self._namespace.items()) if is_users(*item)]

    # What changed

    def _look(self) -> None:
        """Looks at everything anew."""
        labels.learn_libraries()
        self._picture = None
        self._entries, self._growing = {}, {}
        if self._is_large():
            return
        picture = _Picture(_identities_of(self._namespace), list(self._namespace))
        values = list(self._namespace.values())
        for place, (key, value) in enumerate(zip(picture.keys, values)):
            if self._is_users(key, value):
                self._entries[key] = self._examine(place, value)
        self._picture = picture

    def _examine(self, place: int, value: Any) -> _Entry:
        kind = type(value)
        if _is_worth_holding(value, kind):
            return 0, id(kind), value
        size = None
        measure = _measure_of(kind)
        if measure is not None:
            size = _size(measure, value)
            if _can_grow(kind):
                self._growing[place] = (place, measure, size)
        return id(value), id(kind), size

    def _compare(self) -> str:
        before = self._picture
        if before is None or self._is_large():
            self._look()
            return ""
        identities = _identities_of(self._namespace)
        now, places = before, []
        if identities != before.identities:
            now = _Picture(identities, before.keys)
            if not now.is_grown_from(before):
                return self._compare_all()
            places = now.places_unlike(before)
        first = min([*places[:1], *self._growing], default=now.size)
        values = self._newest(self._namespace.values(), first, now.size)
        grown = self._grown(values, places)
        if not places and not grown:
            return _NOTHING_CHANGED
        labels.learn_libraries()
        if now.size > before.size:
            newest = self._newest(self._namespace, before.size, now.size)
            now.keys = before.keys + newest[before.size :]
        self._picture = now
        return self._compare_at(sorted({*places, *grown}), now.keys, values)

    def _newest(self, all_of_them: Any, first: int, size: int) -> List[Any]:
        """By place, with nothing in the places before the first."""
        newest = list(_islice(reversed(all_of_them), size - first))
        newest.reverse()
        return [None] * first + newest

    def _grown(self, values: List[Any], unlike: List[int]) -> List[int]:
        """Places where something stands that has grown, or shrunk."""
        for place in unlike:  # another object by now
            self._growing.pop(place, None)
        growing = self._growing.values()
        try:
            return [place for place, measure, size in growing if measure(values[place]) != size]
        except Exception:
            return [
                place for place, measure, size in growing if _size(measure, values[place]) != size
            ]

    def _compare_at(self, places: List[int], keys: List[Any], values: List[Any]) -> str:
        entries = self._entries
        added, changed, removed = [], [], []
        for place in places:
            key, value = keys[place], values[place]
            if self._is_users(key, value):
                was = entries.get(key)
                entries[key] = entry = self._examine(place, value)
                if was is None:
                    added.append(key)
                elif was != entry:
                    changed.append(key)
            elif type(key) is str and key in entries:  # what was given stands there again
                removed.append(key)
                del entries[key]
        return _lists(added, changed, removed)

    def _compare_all(self) -> str:
        before = self._entries
        self._look()
        after = self._entries
        return _lists(
            [name for name in after if name not in before],
            [name for name in after if name in before and after[name] != before[name]],
            [name for name in before if name not in after],
        )

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
