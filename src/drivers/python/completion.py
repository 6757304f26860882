"""How a text could go on at the cursor: names, attributes, keys of mappings, arguments, modules,
magics, files. Made in a copy of the interpreter (copies.py); where there is none, by names alone.

Properties that were defined in a cell are not read, and __getattr__ is not called.
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import os
import re
import sys
import types
from typing import Any, Dict, Iterable, List, Optional, Tuple

from . import jsontext

_MAX_MATCHES = 500
_MAX_BYTES = 48_000
_MAX_CHARS = 200
_MAX_LINE = 4000
_MAX_KEYS = 5000

_NAME = r"[^\W\d]\w*"
_INDEX = r"\[(?:-?\d+|'[^'\\\n]*'|\"[^\"\\\n]*\")\]"
CHAIN = rf"{_NAME}(?:\.{_NAME}|{_INDEX})*"
_STEP = re.compile(rf"\.?({_NAME})|\[(-?\d+)\]|\[['\"](.*?)['\"]\]")
_MAGIC = re.compile(r"\s*(%{1,2})(\w*)$")
_IMPORT = re.compile(r"\s*import\s+(?:.*,\s*)?([\w.]*)$")
_FROM = re.compile(r"\s*from\s+([\w.]*)$")
_FROM_IMPORT = re.compile(r"\s*from\s+([\w.]+)\s+import\s+(?:.*[\s,(])?(\w*)$")
_KEY = re.compile(rf"(?<![\w.])({CHAIN})\[\s*(['\"])([^'\"\n]*)$")
_ATTRIBUTE = re.compile(rf"(?<![\w.])({CHAIN})\s*\.\s*(\w*)$")
_TEXT_ATTRIBUTE = re.compile(r"(?:'[^'\\\n]*'|\"[^\"\\\n]*\")\.(\w*)$")
_WORD = re.compile(r"(?<![\w.])(\w*)$")
_PATH = re.compile(r"[^\s'\"=()]*$")
_CALLEE = re.compile(rf"(?<![\w.])({CHAIN})\s*$")

_FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, staticmethod, classmethod,
)  # fmt: skip

# A match: its text, and what it is.
Match = Tuple[str, str]
Found = Tuple[int, List[Match]]  # where what is replaced begins, in the line

_Missing = LookupError


def look_up(namespace: Dict[str, Any], chain: str) -> Any:
    """The value of `a.b["c"]`. LookupError if there is none, or if only code of the user's could
    tell."""
    steps = list(_STEP.finditer(chain))
    name = steps[0].group(1) if steps else None
    if name is None or "".join(step.group() for step in steps) != chain:
        raise _Missing(chain)
    value = namespace[name] if name in namespace else vars(builtins)[name]
    for step in steps[1:]:
        attribute, index, key = step.groups()
        if attribute is not None:
            value = _attribute(namespace, value, attribute)
        else:
            value = _item(value, int(index) if index is not None else key)
    return value


def _item(value: Any, key: Any) -> Any:
    if type(value) in (list, tuple, dict) or _is_of_pandas(value):
        try:
            return value[key]
        except Exception:
            pass
    raise _Missing(key)


def _attribute(namespace: Dict[str, Any], value: Any, name: str) -> Any:
    try:
        found = inspect.getattr_static(value, name)
    except AttributeError:
        raise _Missing(name) from None
    getter = getattr(type(found), "__get__", None)
    is_method = isinstance(found, _FUNCTIONS)
    if getter is None or isinstance(value, types.ModuleType):
        return found
    reads = found.fget if type(found) is property else getter
    if not is_method and getattr(reads, "__globals__", None) is namespace:
        raise _Missing(name)  # it would run code of a cell
    try:
        return getattr(value, name)
    except Exception:
        raise _Missing(name) from None


def kind_of(value: Any) -> str:
    kind = type(value)
    if issubclass(kind, type):
        return "class"
    if issubclass(kind, types.ModuleType):
        return "module"
    if issubclass(kind, _FUNCTIONS):
        return "function"
    return "property" if kind is property else "variable"


def _kind_of_member(value: Any, name: str) -> str:
    try:
        return kind_of(inspect.getattr_static(value, name))
    except Exception:
        return "variable"


class Completer:
    """`magics`: the names of line and of cell magics."""

    def __init__(self, namespace: Dict[str, Any], magics: Tuple[Iterable[str], Iterable[str]]):
        self._namespace = namespace
        self._magics = magics

    def answer(self, code: str, cursor: int) -> bytes:
        """The members of the answer, as JSON."""
        before = code[:cursor]
        line = before[before.rfind("\n") + 1 :][-_MAX_LINE:]
        start, matches = self._find(before, line)
        return jsontext.to_bytes(_told(cursor - len(line) + start, cursor, matches))

    def _find(self, before: str, line: str) -> Found:
        ways = (
            self._magic, self._module, self._member, self._shell, self._key, self._file,
            self._of_text, self._of_object,
        )  # fmt: skip
        for way in ways:
            try:
                found = way(line)
            except Exception:  # what there is cannot be told
                found = None
            if found is not None:
                return found
        return self._name(before, line)

    def _magic(self, line: str) -> Optional[Found]:
        match = _MAGIC.match(line)
        if match is None:
            return None
        mark, prefix = match.groups()
        names: List[Match] = []
        for table, marks in zip(self._magics, ("%", "%%")):
            if marks.startswith(mark):
                names += [(marks + name, "magic") for name in table if name.startswith(prefix)]
        return match.start(1), sorted(names)

    def _module(self, line: str) -> Optional[Found]:
        match = _IMPORT.match(line) or _FROM.match(line)
        if match is None:
            return None
        package, dot, prefix = match.group(1).rpartition(".")
        found = _submodules(package) if dot else _modules()
        return match.end() - len(prefix), _starting(found, prefix, "module")

    def _member(self, line: str) -> Optional[Found]:
        match = _FROM_IMPORT.match(line)
        if match is None:
            return None
        name, prefix = match.groups()
        module = sys.modules.get(name)
        found = _starting(_submodules(name), prefix, "module")
        if module is not None:
            found += _members(module, prefix)
        return match.start(2), sorted(dict(found).items())

    def _shell(self, line: str) -> Optional[Found]:
        if not re.match(r"\s*(?:!|%(?:cd|ls|cat|run|load|pycat)\b)", line):
            return None
        return _files(line, _PATH.search(line).start())  # type: ignore[union-attr]

    def _key(self, line: str) -> Optional[Found]:
        match = _KEY.search(line)
        if match is None:
            return None
        value = look_up(self._namespace, match.group(1))
        keys = _keys(value)
        if keys is None:
            return None
        prefix = match.group(3)
        quote = match.group(2)
        fit = [key for key in keys if key.startswith(prefix) and not {"\n", quote} & set(key)]
        return match.start(3), [(key + quote, "key") for key in fit]

    def _file(self, line: str) -> Optional[Found]:
        """Inside a text that is still open."""
        quote, start, escaped = "", 0, False
        for at, char in enumerate(line):
            if escaped:
                escaped = False
            elif char == "\\" and quote:
                escaped = True
            elif quote and char == quote:
                quote = ""
            elif not quote and char in "'\"":
                quote, start = char, at + 1
            elif not quote and char == "#":
                return len(line), []
        return _files(line, start) if quote else None

    def _of_text(self, line: str) -> Optional[Found]:
        match = _TEXT_ATTRIBUTE.search(line)
        return None if match is None else (match.start(1), _members("", match.group(1)))

    def _of_object(self, line: str) -> Optional[Found]:
        match = _ATTRIBUTE.search(line)
        if match is None:
            return None if not re.search(r"[\w\])]\s*\.\w*$", line) else (len(line), [])
        prefix = match.group(2)
        try:
            value = look_up(self._namespace, match.group(1))
        except _Missing:
            return match.start(2), []
        return match.start(2), _members(value, prefix)

    def _name(self, before: str, line: str) -> Found:
        match = _WORD.search(line)
        if match is None or match.group(1)[:1].isdigit():
            return len(line), []
        prefix = match.group(1)
        found = self._arguments(before[: len(before) - len(prefix)], prefix)
        return match.start(1), found + names_alone(self._namespace, prefix)

    def _arguments(self, before: str, prefix: str) -> List[Match]:
        """Of the call that is open."""
        depth = 0
        for at in range(len(before) - 1, max(-1, len(before) - _MAX_LINE), -1):
            char = before[at]
            depth += (char in ")]}") - (char in "([{")
            if depth < 0:
                callee = _CALLEE.search(before[:at][-_MAX_LINE:]) if char == "(" else None
                break
        else:
            return []
        if callee is None:
            return []
        try:
            function = look_up(self._namespace, callee.group(1))
            parameters = inspect.signature(function).parameters.values()
        except Exception:
            return []
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return [(f"{one.name}=", "argument") for one in parameters
                if one.kind in named and one.name.startswith(prefix)]  # fmt: skip


def names_alone(namespace: Dict[str, Any], prefix: str) -> List[Match]:
    """No code of the user's runs for these."""
    found: Dict[str, str] = {}
    is_hidden = not prefix.startswith("_")
    for table, kind in ((vars(builtins), ""), (namespace, "")):
        for name, value in list(table.items()):
            if type(name) is str and name.startswith(prefix):
                if not (is_hidden and name.startswith("_")):
                    found[name] = kind or kind_of(value)
    for word in (*keyword.kwlist, *getattr(keyword, "softkwlist", ())):
        if word.startswith(prefix) and not (is_hidden and word.startswith("_")):
            found.setdefault(word, "keyword")
    own = [item for item in found.items() if item[0] in namespace]
    return sorted(own) + sorted(item for item in found.items() if item[0] not in namespace)


def alone(namespace: Dict[str, Any], code: str, cursor: int) -> bytes:
    """Where no copy answers: the names that could stand there."""
    line = code[:cursor][-_MAX_LINE:]
    match = _WORD.search(line)
    prefix = match.group(1) if match is not None else ""
    matches = names_alone(namespace, prefix) if match is not None else []
    return jsontext.to_bytes(_told(cursor - len(prefix), cursor, matches) + ',"partial":true')


def _members(value: Any, prefix: str) -> List[Match]:
    names = [name for name in dir(value) if type(name) is str and name.startswith(prefix)]
    if not prefix.startswith("_"):
        names = [name for name in names if not name.startswith("_")]
    return [(name, _kind_of_member(value, name)) for name in sorted(names)[:_MAX_MATCHES]]


def _keys(value: Any) -> Optional[List[str]]:
    if isinstance(value, dict):
        return [key for key in list(dict.keys(value))[:_MAX_KEYS] if type(key) is str]
    offer = getattr(type(value), "_ipython_key_completions_", None)
    if offer is not None:
        offered = offer(value)
    elif _is_of_pandas(value) and hasattr(type(value), "columns"):
        offered = value.columns
    elif type(value).__module__ == "numpy" and getattr(value.dtype, "names", None):
        offered = value.dtype.names
    else:
        return None
    return [key for key in list(offered)[:_MAX_KEYS] if type(key) is str]


def _is_of_pandas(value: Any) -> bool:
    return str(type(value).__module__).startswith("pandas.")


def _modules() -> List[str]:
    import pkgutil

    names = {*sys.builtin_module_names, *(name for name in sys.modules if "." not in name)}
    names.update(one.name for one in pkgutil.iter_modules())
    return sorted(name for name in names if not name.startswith("_"))


def _submodules(package: str) -> List[str]:
    """Of one that is loaded: another would have to be run first."""
    places = getattr(sys.modules.get(package), "__path__", None)
    if places is None:
        return []
    import pkgutil

    return sorted(one.name for one in pkgutil.iter_modules(list(places)))


def _starting(names: Iterable[str], prefix: str, kind: str) -> List[Match]:
    return [(name, kind) for name in names if name.startswith(prefix)]


def _files(line: str, start: int) -> Found:
    typed = line[start:]
    directory, _, prefix = typed.rpartition("/")
    where = os.path.expanduser(directory + "/") if "/" in typed else "."
    found: List[Match] = []
    with os.scandir(where) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and (prefix or not entry.name.startswith(".")):
                found.append((entry.name + ("/" if entry.is_dir() else ""), "path"))
    return len(line) - len(prefix), sorted(found)


def _told(start: int, end: int, matches: List[Match]) -> str:
    texts: List[str] = []
    left = _MAX_BYTES
    for text, kind in matches[:_MAX_MATCHES]:
        if len(text) > _MAX_CHARS:
            continue
        told = f'{{"text":{jsontext.quote(text)},"kind":"{kind}"}}'
        left -= len(jsontext.to_bytes(told)) + 1
        if left < 0:
            break
        texts.append(told)
    more = ',"more":true' if len(texts) < len(matches) else ""
    return f'"start":{start},"end":{end},"matches":[{",".join(texts)}]{more}'
