"""Files of the session: below /workspace and /tmp, also where links lead."""

from __future__ import annotations

import os
import stat
import time
from typing import Any, Dict, List

from .results import Refused

ROOTS = ("/workspace", "/tmp")
_TOP = "/workspace"
_READ_BYTES = 8 << 20
_ENTRIES = 1000


def place(path: str) -> str:
    """The real path, if it is one of the session's own."""
    real = os.path.realpath(os.path.join(_TOP, path))
    if any(real == root or real.startswith(root + "/") for root in ROOTS):
        return real
    raise Refused(
        f"{path} is not below /workspace or /tmp", "Give a path there.", code="forbidden"
    )


def _shown(real: str) -> str:
    return os.path.relpath(real, _TOP) if real.startswith(_TOP + "/") else real


def existing(path: str) -> str:
    real = place(path)
    if not os.path.exists(real):
        raise Refused(f"there is no file {path}", "list_directory() shows what there is.",
                      code="not_found")
    return real


def load(path: str, limit: int = _READ_BYTES) -> str:
    """A file's text, all of it."""
    real = existing(path)
    if not stat.S_ISREG(os.stat(real).st_mode):
        raise Refused(f"{path} is no file", "list_directory() shows what is in a folder.")
    if os.path.getsize(real) > limit:
        raise Refused(f"{path} has more than {limit} bytes",
                      "Load it as a context and use grep() and peek(), or run code on it.",
                      code="too_large")
    with open(real, "rb") as file:
        return file.read(limit).decode("utf-8", "replace")


def read_file(path: str, offset: int = 0, limit: int = 0) -> str:
    """Lines of a text file: all, or `limit` of them from line `offset` on, counted from 0."""
    text = load(path)
    if offset == 0 and limit == 0:
        return text
    lines = text.splitlines(keepends=True)
    return "".join(lines[offset : offset + limit if limit else None])


def write_file(path: str, content: str, append: bool = False) -> Dict[str, Any]:
    """Writes a text, and makes the folders it needs."""
    real = place(path)
    _make_folder(real, path)
    with open(real, "a" if append else "w", encoding="utf-8") as file:
        file.write(content)
    return {"path": _shown(real), "bytes": os.path.getsize(real), "appended": append}


def _make_folder(real: str, path: str) -> None:
    if os.path.isdir(real):
        raise Refused(f"{path} is a folder", "Give the name of a file.")
    try:
        os.makedirs(os.path.dirname(real), exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Refused(f"{path}: a part of the path is a file") from None


def list_directory(path: str = ".", recursive: bool = False) -> Dict[str, Any]:
    """A folder's entries, folders first."""
    real = existing(path)
    if not os.path.isdir(real):
        raise Refused(f"{path} is no folder", "read_file() reads a file.")
    entries: List[Dict[str, Any]] = []
    total = 0
    for folder, folders, files in os.walk(real):
        folders.sort()
        for name in folders + sorted(files):
            total += 1
            if len(entries) < _ENTRIES:
                entries.append(_entry(os.path.join(folder, name), real))
        if not recursive:
            break
    return {"path": _shown(real), "entries": entries, "total": total}


def _entry(full: str, top: str) -> Dict[str, Any]:
    info = os.lstat(full)
    kind = "dir" if stat.S_ISDIR(info.st_mode) else "link" if stat.S_ISLNK(info.st_mode) else "file"
    return {"name": os.path.relpath(full, top), "type": kind, "size": info.st_size}


def file_write_safe(path: str, content: str) -> Dict[str, Any]:
    """Writes a text in one step; what was there stays beside it as .bak.TIME."""
    real = place(path)
    _make_folder(real, path)
    backup = None
    if os.path.exists(real):
        backup = f"{real}.bak.{time.strftime('%Y%m%d%H%M%S')}"
        number = 0
        while os.path.exists(backup):
            number += 1
            backup = f"{real}.bak.{time.strftime('%Y%m%d%H%M%S')}.{number}"
        os.link(real, backup)  # the file that was there keeps its name until the last step
    fresh = f"{real}.new.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, real)
    return {
        "path": _shown(real),
        "bytes": os.path.getsize(real),
        "backup": None if backup is None else _shown(backup),
    }


def log_append(path: str, message: str, level: str = "info") -> Dict[str, Any]:
    """Appends a line with the time to a file."""
    real = place(path)
    _make_folder(real, path)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{at} {level.upper()} {' '.join(message.splitlines())}\n"
    with open(real, "a", encoding="utf-8") as file:
        file.write(line)
    return {"path": _shown(real), "line": line.rstrip("\n")}
