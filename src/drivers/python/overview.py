"""What of a session can be made again from text, and what could not be saved: for people to read,
and for notebooks. Nothing of the user's runs for it, so of what could not be saved only those are
told whose type says so; a save knows them all.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from . import declarations, hints, jsontext, rebuild

_MAX_ITEMS = 1000  # of each list
_MAX_IMPORT_CHARS = 400
_MAX_CHARS = 160 << 10  # of the whole, as JSON

_quote = jsontext.quote
_NOTHING = '"imports":[],"definitions":[],"lost":[]'
_WRAPPERS = (staticmethod, classmethod, property)


def describe(
    sources: declarations.Sources, variables: Dict[str, Any], max_chars: int = _MAX_CHARS
) -> str:
    """Members of a JSON object. Never raises."""
    try:
        return _describe(sources.find(), variables, _Budget(max_chars))
    except Exception:  # out of memory, or a thread of the user's changes what is looked at
        return _NOTHING


def _describe(
    declared: declarations.Declared, variables: Dict[str, Any], budget: "_Budget"
) -> str:
    lost = budget.take(_lost(variables))
    imports = budget.take(_imports(declared))
    definitions = budget.take(_definitions(declared, variables))
    more = ',"more":true' if budget.is_over else ""
    return f'"imports":[{imports}],"definitions":[{definitions}],"lost":[{lost}]{more}'


class _Budget:
    """Of characters, for all lists together."""

    def __init__(self, max_chars: int) -> None:
        self._left = max_chars
        self.is_over = False

    def take(self, items: List[str]) -> str:
        taken = []
        for item in items:
            if len(taken) == _MAX_ITEMS or len(item) >= self._left:
                self.is_over = True
            else:
                taken.append(item)
                self._left -= len(item) + 1
        return ",".join(taken)


def _imports(declared: declarations.Declared) -> List[str]:
    """Each statement once, in the order in which they were run: also of what the profile had bound
    to that name before."""
    bound = rebuild.namespace
    wanted = [text for name, text in declared.imports.items() if name in bound or name == "*"]
    return [_quote(text) for text in dict.fromkeys(wanted) if len(text) <= _MAX_IMPORT_CHARS]


def _definitions(declared: declarations.Declared, variables: Dict[str, Any]) -> List[str]:
    found = []
    for name, source in declared.definitions.items():
        value = variables.get(name)
        kind = _kind_of(value)
        if kind and len(name) <= hints.MAX_NAME_CHARS:
            found.append(
                f'{{"name":{_quote(name)},"kind":"{kind}","code":{_quote(source)}}}'
            )
    return found


def _kind_of(value: Any) -> str:
    """"" if the name stands for something else by now."""
    kind = type(value)
    if issubclass(kind, type):
        return "class"
    return "function" if callable(value) or kind in _WRAPPERS else ""


def _lost(variables: Dict[str, Any]) -> List[str]:
    found: List[Tuple[str, str, str]] = []
    for name, value in variables.items():
        hint = hints.foresee(name, value)
        if hint is not None:
            found.append((name[: hints.MAX_NAME_CHARS], *hint))
    return [
        f'{{"name":{_quote(name)},"type":{_quote(kind)},"advice":{_quote(advice)}}}'
        for name, kind, advice in found
    ]
