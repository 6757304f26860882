"""An exception as the user should see it: the lines of the user's code with their source, no frame
of the driver's, libraries in one line each time they are entered, everything bounded."""

from __future__ import annotations

import builtins
import os
import sysconfig
import traceback
from types import TracebackType
from typing import Any, Iterator, List, Optional, Tuple, Union

from . import jsontext

_MAX_HEAD_FRAMES = 16
_MAX_TAIL_FRAMES = 24
_MAX_REPEATED = 3
_MAX_CHAIN = 8
_MAX_GROUP = 8
_MAX_DEPTH = 4
_MAX_MESSAGE_CHARS = 16 << 10
_MAX_TRACEBACK_CHARS = 64 << 10

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_basename = os.path.basename
_quote = jsontext.quote
_TracebackException = traceback.TracebackException
_TracebackType = TracebackType
_BaseExceptionGroup = getattr(builtins, "BaseExceptionGroup", None)  # 3.11 and newer
_Entry = Union[TracebackType, str]


def _library_dirs() -> Tuple[str, ...]:
    paths = sysconfig.get_paths()
    wanted = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(sorted(os.path.join(path, "") for path in wanted))


_LIBRARY_DIRS = _library_dirs()
_LIBRARY_PARTS = ("/site-packages/", "/dist-packages/")


def describe(error: BaseException, cell: str) -> str:
    """The `error` member of a verdict, as JSON. `cell` is the file name of the running cell."""
    message = _bound(message_of(error), _MAX_MESSAGE_CHARS)
    try:
        text = _bound("".join(_format(error, 0)), _MAX_TRACEBACK_CHARS)
    except Exception as failure:
        text = f"{type(error).__name__} (its traceback could not be made: {failure!r:.200})\n"
    line, column = _place(error, cell)
    fields = [
        f'"name":{_quote(type(error).__name__)}',
        f'"message":{_quote(message)}',
        f'"traceback":{_quote(text)}',
    ]
    if line is not None:
        fields.append(f'"line":{line}')
    if column is not None:
        fields.append(f'"column":{column}')
    return "{" + ",".join(fields) + "}"


def message_of(error: BaseException) -> str:
    try:
        return "".join((str(error),))  # a plain str, whatever class __str__ returned
    except Exception as failure:
        return f"<its message could not be made: {type(failure).__name__}>"


def _place(error: BaseException, cell: str) -> Tuple[Optional[int], Optional[int]]:
    """Line and column in the running cell: of the syntax error, else of the innermost frame."""
    if isinstance(error, SyntaxError) and error.filename == cell:
        line = error.lineno if isinstance(error.lineno, int) else None
        return line, error.offset if isinstance(error.offset, int) and line else None
    line = None
    for entry in _walk(error.__traceback__):
        if entry.tb_frame.f_code.co_filename == cell:
            line = entry.tb_lineno
    return line, None


def _walk(entry: Optional[TracebackType]) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _first_entry(error: BaseException) -> Optional[TracebackType]:
    """Without the driver's, whose source nobody needs to read."""
    for entry in _walk(error.__traceback__):
        if not entry.tb_frame.f_code.co_filename.startswith(_HERE):
            return entry
    return None


def _format(error: BaseException, depth: int) -> Iterator[str]:
    for link, joint in _chain(error):
        yield from _format_one(link, depth)
        yield joint


def _chain(error: BaseException) -> List[Tuple[BaseException, str]]:
    """The exceptions that led to this one, first cause first, each with the words that follow."""
    links: List[Tuple[BaseException, str]] = []
    seen: set[int] = set()
    joint = ""
    current: Optional[BaseException] = error
    while current is not None and id(current) not in seen and len(links) < _MAX_CHAIN:
        seen.add(id(current))
        links.append((current, joint))
        if current.__cause__ is not None:
            current, joint = current.__cause__, _CAUSE
        elif current.__suppress_context__:
            current = None
        else:
            current, joint = current.__context__, _CONTEXT
    return links[::-1]


def _format_one(error: BaseException, depth: int) -> Iterator[str]:
    stack = list(_format_stack(error.__traceback__))
    if stack:
        yield "Traceback (most recent call last):\n"
        yield from stack
    yield from _format_headline(error)
    if _BaseExceptionGroup is not None and isinstance(error, _BaseExceptionGroup):
        yield from _format_group(error, depth)


def _format_headline(error: BaseException) -> List[str]:
    """Type, message, notes, the place of a syntax error, "did you mean"."""
    message = message_of(error)  # asked here first: the traceback module swallows interrupts
    try:
        summary = _TracebackException(
            type(error), error, _first_entry(error), limit=1, lookup_lines=False
        )
        summary.__cause__ = summary.__context__ = None
        if hasattr(summary, "exceptions"):
            summary.exceptions = None  # the members of a group are formatted by _format_group
        return list(summary.format_exception_only())
    except Exception:
        return [f"{type(error).__name__}: {message}\n"]


def _format_group(error: BaseException, depth: int) -> Iterator[str]:
    members = error.exceptions  # type: ignore[attr-defined]
    if depth >= _MAX_DEPTH:
        yield f"  ... {len(members)} exceptions inside\n"
        return
    for number, member in enumerate(members[:_MAX_GROUP], 1):
        yield f"  +---------------- {number} ----------------\n"
        for piece in _format(member, depth + 1):
            for line in piece.splitlines(True):
                yield "  | " + line
    if len(members) > _MAX_GROUP:
        yield f"  ... {len(members) - _MAX_GROUP} exceptions more\n"
    yield "  +------------------------------------\n"


def _format_stack(first: Optional[TracebackType]) -> Iterator[str]:
    entries = _folded(_entries(first))
    left_out = len(entries) - _MAX_HEAD_FRAMES - _MAX_TAIL_FRAMES
    if left_out <= 0:
        yield from map(_format_entry, entries)
        return
    yield from map(_format_entry, entries[:_MAX_HEAD_FRAMES])
    yield f"  ... {left_out} lines of this traceback left out ...\n"
    yield from map(_format_entry, entries[-_MAX_TAIL_FRAMES:])


def _entries(first: Optional[TracebackType]) -> List[_Entry]:
    """What is shown of a stack: frames of the user's, and one line for each visit to a library."""
    entries: List[_Entry] = []
    visit = 0  # frames of the library that we are in
    for entry in _walk(first):
        filename = entry.tb_frame.f_code.co_filename
        if filename.startswith(_HERE):
            continue
        if not _is_library(filename):
            visit = 0
            entries.append(entry)
            continue
        if visit:
            entries.pop()
        visit += 1
        entries.append(_library_line(entry, visit))
    return entries


def _folded(entries: List[_Entry]) -> List[_Entry]:
    """Lines that repeat themselves are shown a few times and then counted, as Python does."""
    folded: List[_Entry] = []
    last: Any = None
    count = 0

    def tell_more() -> None:
        more = count - _MAX_REPEATED
        if more > 0:
            folded.append(f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n")

    for entry in entries:
        place = entry
        if not isinstance(entry, str):
            code = entry.tb_frame.f_code
            place = (code.co_filename, entry.tb_lineno, code.co_name)
        if place != last:
            tell_more()
            last, count = place, 0
        count += 1
        if count <= _MAX_REPEATED:
            folded.append(entry)
    tell_more()
    return folded


def _is_library(filename: str) -> bool:
    if filename.startswith(_LIBRARY_DIRS) or filename.startswith("<frozen "):
        return True
    return any(part in filename for part in _LIBRARY_PARTS) or filename.endswith(" internals>")


def _library_line(entry: TracebackType, frames: int) -> str:
    code = entry.tb_frame.f_code
    module = entry.tb_frame.f_globals.get("__name__") or _basename(code.co_filename)
    count = f" ({frames} frames)" if frames > 1 else ""
    return f"  In {module}, line {entry.tb_lineno}, in {code.co_name}{count}\n"


def _format_entry(entry: _Entry) -> str:
    if isinstance(entry, str):
        return entry
    # A traceback of this frame alone. TracebackException knows the positions (3.11 and newer).
    alone = _TracebackType(None, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return "".join(_TracebackException(Exception, Exception(), alone).stack.format())


def _bound(text: str, limit: int) -> str:
    """Cut in the middle: the beginning and the end say most."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def brief(error: BaseException) -> str:
    """As describe, without asking the exception anything."""
    name = _quote(type(error).__name__)
    return f'{{"name":{name},"message":"","traceback":{name}}}'
