"""What cannot be saved: its kind and what to do about it, in the words that notebooks use."""

from __future__ import annotations

import types
from typing import Any, Optional, Tuple

_MAX_REASON_CHARS = 200
MAX_NAME_CHARS = 200

# By class name, in any module.
_NOT_ACROSS_CELLS = {
    "Thread", "Timer", "Process", "Popen", "lock", "Lock", "RLock", "Semaphore",
    "BoundedSemaphore", "Condition", "Event", "Barrier", "Queue", "SimpleQueue", "Pool",
    "ThreadPoolExecutor", "ProcessPoolExecutor",
}  # fmt: skip
_LABELS = {"lock": "Lock"}
_THEIR_MODULES = {
    "threading", "_thread", "subprocess", "multiprocessing", "queue", "_queue", "asyncio",
    "concurrent",
}  # fmt: skip
_GENERATORS = (types.GeneratorType, types.AsyncGeneratorType, types.CoroutineType)


def describe(name: str, value: Any, reason: str) -> Tuple[str, str]:
    """Its type and the advice. Nothing of the value's own code runs."""
    shown = name[:MAX_NAME_CHARS]
    try:
        label, hint = _kind_and_hint(shown, type(value), value, reason)
    except Exception:  # a class that hides what it is
        label, hint = "object", f" - recreate in next cell: {reason[:_MAX_REASON_CHARS]}"
    return label, f"Note: '{shown}' ({label}) not persisted{hint}"


def foresee(name: str, value: Any) -> Optional[Tuple[str, str]]:
    """The same of a value that no attempt to save is needed for; None of all others."""
    try:
        kind = type(value)
        bases = [(_module_of(base), base.__name__) for base in kind.__mro__]
    except Exception:
        return None
    is_never_saved = (
        issubclass(kind, _GENERATORS)
        or ("socket", "socket") in bases
        or (_is_file(bases) and not _is_in_memory(bases))
        or any(
            base in _NOT_ACROSS_CELLS and module.partition(".")[0] in _THEIR_MODULES
            for module, base in bases
        )
    )
    return describe(name, value, "") if is_never_saved else None


def _is_in_memory(bases: Any) -> bool:
    return any(name in ("StringIO", "BytesIO") for _, name in bases)


def _kind_and_hint(name: str, kind: type, value: Any, reason: str) -> Tuple[str, str]:
    bases = [(_module_of(base), base.__name__) for base in kind.__mro__]
    names = {base_name for _, base_name in bases}
    label = kind.__name__[:MAX_NAME_CHARS]
    if kind is types.FunctionType and value.__name__ == "<lambda>":
        return "lambda", f" - use 'def {name}(...)' instead"
    if _is_file(bases):
        return "file handle", " - reopen file in next cell"
    if issubclass(kind, _GENERATORS):
        return label, " - recreate or convert to list"
    if "socket" in names:
        return "socket", " - recreate connection in next cell"
    if any(module.startswith("openpyxl.") for module, _ in bases):
        return _workbook_hint(name, label, names)
    if not names.isdisjoint(_NOT_ACROSS_CELLS):
        return _LABELS.get(label, label), " across cells"
    lower = label.lower()
    if "connection" in lower or "cursor" in lower or "engine" in lower:
        return label, " - reconnect in next cell"
    if lower.endswith("iterator") or _module_of(kind) == "itertools":
        return label, " - recreate or convert to list"
    if kind is types.ModuleType:
        return "module", " - import it again in next cell"
    return label, f" - recreate in next cell: {reason[:_MAX_REASON_CHARS]}"


def _is_file(bases: Any) -> bool:
    return any(
        module in ("io", "_io") and name in ("_IOBase", "IOBase") for module, name in bases
    ) or any(name.endswith("TemporaryFileWrapper") for _, name in bases)


def _workbook_hint(name: str, label: str, names: Any) -> Tuple[str, str]:
    if "Workbook" in names:
        return "read-only or write-only workbook", " - cannot be serialized"
    if any(one.lower().endswith("worksheet") for one in names):
        return "worksheet", f" - re-access via: {name} = wb.active"
    return label, " - re-access via the workbook"


def _module_of(kind: type) -> str:
    module = kind.__module__
    return module if type(module) is str else ""


def not_loaded(name: str, reason: str) -> str:
    return f"Note: '{name[:MAX_NAME_CHARS]}' was saved but not restored - recreate it: {reason}"
