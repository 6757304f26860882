"""What stands at the cursor: type, short value, signature, documentation, source. Made in a copy of
the interpreter (copies.py); where there is none, by what can be told without code of the user's."""

from __future__ import annotations

import builtins
import inspect
import re
from typing import Any, Callable, Dict, Optional

from . import completion, jsontext, labels, pretty

_MAX_DOC = (4_000, 16_000)  # characters, by the detail that is wanted
_MAX_SOURCE = 16_000
_MAX_SIGNATURE = 2_000
_MAX_PREVIEW = 4_000
_MAX_COLUMNS = 50
_MAX_LINE = 4000

_BEFORE = re.compile(rf"%{{0,2}}(?:{completion.CHAIN})?\.?$")
_BEHIND = re.compile(r"\w*")
_CALL = re.compile(rf"({completion.CHAIN})\s*$")

_NOTHING = b'"found":false'


class Inspector:
    """`magic_text` tells what a magic does: of its name, and whether it is one of cells."""

    def __init__(self, namespace: Dict[str, Any], magic_text: Callable[[str, bool], str]):
        self._namespace = namespace
        self._magic_text = magic_text

    def answer(self, code: str, cursor: int, detail: int) -> bytes:
        """The members of the answer, as JSON."""
        target = target_at(code, cursor)
        name = target.lstrip("%")
        if target.startswith("%"):
            return self._magic(target, self._magic_text(name, target.startswith("%%")))
        try:
            value = completion.look_up(self._namespace, target)
        except Exception:
            return _NOTHING
        return _cut(_description(target, value, min(detail, 1)))

    def _magic(self, target: str, text: str) -> bytes:
        if not text:
            return _NOTHING
        return jsontext.to_bytes(
            f'"found":true,"name":{_quote(target)},"type":"magic",'
            f'"doc":{_quote(text[:_MAX_DOC[1]])}'
        )

    def alone(self, code: str, cursor: int) -> bytes:
        """Where no copy answers."""
        name = target_at(code, cursor)
        for table in (self._namespace, vars(builtins)):
            if name in table:
                told = f'"found":true,"name":{_quote(name)},{labels.describe(table[name])}'
                return jsontext.to_bytes(told + ',"partial":true')
        return _NOTHING


_quote = jsontext.quote


def target_at(code: str, cursor: int) -> str:
    """The names at the cursor; inside the brackets of a call, those of what is called."""
    line_start = code.rfind("\n", 0, cursor) + 1
    before = code[line_start:cursor][-_MAX_LINE:]
    behind = _BEHIND.match(code, cursor).group()  # type: ignore[union-attr]
    match = _BEFORE.search(before)
    found = (match.group() if match is not None else "") + behind
    if found.strip(".%"):
        return found.rstrip(".")
    return _callee(before)


def _callee(before: str) -> str:
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] in ")]}") - (before[at] in "([{")
        if depth < 0:
            match = _CALL.search(before[:at]) if before[at] == "(" else None
            return match.group(1) if match is not None else ""
    return ""


def _description(name: str, value: Any, detail: int) -> str:
    kind = completion.kind_of(value)
    has_own_text = kind in ("class", "module", "function")
    members = [
        '"found":true', f'"name":{_quote(labels.shown_name(name))}', labels.describe(value),
        _member("signature", _signature(name, value) if callable(value) else None),
        _member("doc", _doc(value if has_own_text else type(value), detail)),
        _place(value) if has_own_text else "",
        _member("source", _source(value) if detail and has_own_text else None),
        _member("preview", _preview(value) if detail and not has_own_text else None),
    ]  # fmt: skip
    return ",".join(member for member in members if member)


def _member(name: str, text: Optional[str]) -> str:
    return f'"{name}":{_quote(text)}' if text else ""


def _signature(name: str, value: Any) -> Optional[str]:
    try:
        return (name.rpartition(".")[2] + str(inspect.signature(value)))[:_MAX_SIGNATURE]
    except Exception:
        return None


def _doc(value: Any, detail: int) -> Optional[str]:
    try:
        return (inspect.getdoc(value) or "")[: _MAX_DOC[detail]]
    except Exception:
        return None


def _place(value: Any) -> str:
    try:
        place = inspect.unwrap(value) if callable(value) else value
        told = f'"file":{_quote(inspect.getfile(place)[:1000])}'
    except Exception:
        return ""
    try:
        return f'{told},"line":{place.__code__.co_firstlineno}'
    except Exception:
        return told


def _source(value: Any) -> Optional[str]:
    try:
        return inspect.getsource(value).rstrip()[:_MAX_SOURCE]
    except Exception:
        return None


def _preview(value: Any) -> Optional[str]:
    """As a cell would show it; of a table its columns with their types and its first rows."""
    try:
        dtypes, head = getattr(value, "dtypes", None), getattr(value, "head", None)
        if getattr(value, "columns", None) is not None and dtypes is not None and callable(head):
            columns = [f"{name}: {dtype}" for name, dtype in zip(value.columns, dtypes)]
            more = len(columns) - _MAX_COLUMNS
            told = ", ".join(columns[:_MAX_COLUMNS]) + (f" and {more} more" if more > 0 else "")
            return f"{told}\n{head(3)!r}"[:_MAX_PREVIEW]
        return pretty.text_of(value, _MAX_PREVIEW)[0]
    except Exception:
        return None


def _cut(told: str) -> bytes:
    return jsontext.to_bytes(told)
