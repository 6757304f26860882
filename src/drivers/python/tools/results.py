"""What all tools share: how they refuse, and how what they say becomes JSON. A long result becomes
a file of the workspace, of which the caller sees the beginning."""

from __future__ import annotations

import json
import os
import secrets
from typing import Any, Dict, List, Optional

FOLDER = "/workspace/results"
LONG_CHARS = 5000
_DEPTH = 24
_MESSAGE_CHARS = 400
_WHOLE_CHARS = 8 << 20  # of one that is wanted as it is


class Refused(Exception):
    """What was wrong with the arguments, and what to do about it."""

    def __init__(self, message: str, advice: str = "", code: str = "invalid") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.code = code


class Table(str):
    """A text that is a table with commas."""


def describe(error: BaseException) -> str:
    """A failure as the frame of an answer has it."""
    if isinstance(error, Refused):
        told = {"code": error.code, "message": error.message, "advice": error.advice}
    elif isinstance(error, ImportError):
        told = {
            "code": "unavailable",
            "message": f"this tool needs the library {error.name or error}",
            "advice": "Install it where the Python of this daemon's profile finds it, or use a "
            "profile that has it: data.",
        }
    elif isinstance(error, MemoryError):
        told = {"code": "limit", "message": "the session's memory is full", "advice": "Give less."}
    else:
        told = {
            "code": "invalid",
            "message": f"{type(error).__name__}: {error}",
            "advice": "Look at the arguments.",
        }
    return json.dumps({name: _fit(text)[:_MESSAGE_CHARS] for name, text in told.items()})


def write(value: Any, is_whole: bool) -> str:
    """As JSON: the value, or where it lies if it is long."""
    if type(value) is str:
        text = _fit(value)
        if len(text) <= LONG_CHARS or (is_whole and len(text) <= _WHOLE_CHARS):
            return _dump(text)
        return _dump(_keep(text, value, None))
    plain = make_plain(value)
    text = _dump(plain)
    if len(text) <= LONG_CHARS or (is_whole and len(text) <= _WHOLE_CHARS):
        return text
    return _dump(_keep(json.dumps(plain, ensure_ascii=False, indent=1), value, plain))


def keep_result(result: Any) -> Any:
    """Of tools that others run: their long results become files too."""
    return result


def make_plain(value: Any, depth: int = 0) -> Any:
    """What JSON can carry: no infinities, no numbers beyond 64 bits, texts as keys."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _fit(value)
    if depth > _DEPTH:
        return _fit(repr(value)[:200])
    if isinstance(value, int):
        return int(value) if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if isinstance(value, complex):
        return {"re": make_plain(value.real), "im": make_plain(value.imag)}
    if isinstance(value, dict):
        return {_fit(str(key)): make_plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [make_plain(one, depth + 1) for one in value]
    if hasattr(value, "tolist"):  # of numpy
        return make_plain(value.tolist(), depth + 1)
    if isinstance(value, (bytes, bytearray)):
        return _fit(bytes(value).decode("utf-8", "replace"))
    return _fit(str(value))


def _fit(text: str) -> str:
    """JSON's readers take no NUL, UTF-8 no half of a pair."""
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


# ---- long ones -----------------------------------------------------------------------------------


def _keep(text: str, value: Any, plain: Any) -> Dict[str, Any]:
    ending = "csv" if isinstance(value, Table) else "txt" if isinstance(value, str) else "json"
    os.makedirs(FOLDER, exist_ok=True)
    path = f"{FOLDER}/result_{secrets.token_hex(4)}.{ending}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    preview = _preview_json(plain) if ending == "json" else _preview_lines(text, ending)
    return {
        "path": path,
        "chars": len(text),
        "lines": text.count("\n") + (not text.endswith("\n")),
        "preview": preview,
    }


def _preview_lines(text: str, ending: str) -> str:
    first, last = (20, 10) if ending == "csv" else (50, 20)
    lines = text.splitlines()
    cut = [_shorten(line) for line in lines]
    if len(lines) <= first + last:
        return "\n".join(cut)
    middle = f"[... {len(lines) - first - last} lines ...]"
    return "\n".join([*cut[:first], middle, *cut[-last:]])


def _shorten(line: str, limit: int = 200) -> str:
    return line if len(line) <= limit else f"{line[:limit]}[... {len(line) - limit} characters]"


def _preview_json(plain: Any) -> Any:
    """Lists by their first 10 and last 5 entries, objects by their first 20 members."""
    if isinstance(plain, list):
        first: List[Any] = [_brief(one) for one in plain[:10]]
        if len(plain) <= 15:
            return first + [_brief(one) for one in plain[10:]]
        last = [_brief(one) for one in plain[-5:]]
        return [*first, f"[... {len(plain) - 15} entries ...]", *last]
    if isinstance(plain, dict):
        shown: Dict[str, Optional[Any]] = {
            key: _brief(one) for key, one in list(plain.items())[:20]
        }
        if len(plain) > 20:
            shown["..."] = f"{len(plain) - 20} more members"
        return shown
    return _brief(plain)


def _brief(value: Any) -> Any:
    text = _dump(value)
    return value if len(text) <= 200 else _shorten(text, 200)
