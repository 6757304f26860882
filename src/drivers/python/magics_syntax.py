"""IPython's notation as Python: `!cmd`, `%magic`, `%%magic`, `name?`, each turned into one call on
the line where it stands, so that all lines keep their numbers.

Asked only about text that does not compile. What it looks at are the beginnings of statements and
what follows a `=` outside of brackets; strings, comments and continued lines are stepped over.
Every step takes at least one character and none is taken twice, whatever the text.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

_ONLY_AST = ast.PyCF_ONLY_AST
OBJECT = "__magic__"  # what the calls are made of; among the builtins of a session

# Cell magics whose body is Python that runs once in the session's namespace.
PYTHON_BODIES = ("time", "capture")
_MAX_NESTED = 20

_IN_CODE = re.compile(r"[\\#\"'()\[\]{}=:\n]")
_ENDS = {
    delimiter: re.compile(r"\\.|" + delimiter + ("" if len(delimiter) == 3 else r"|\n"), re.S)
    for delimiter in ("'", '"', "'''", '"""')
}
_ENDS_OF_FIELDS = {
    delimiter: re.compile(r"\\.|\{\{|\}\}|[{}]|" + end.pattern.partition("|")[2], re.S)
    for delimiter, end in _ENDS.items()
}
_MAGIC_VALUE = re.compile(r"=[ \t]*(?=%[A-Za-z_]|!)")
_BEFORE_ASSIGNMENT = frozenset("=!<>+-*/%&|^@:")
_CELL = re.compile(r"(?:[ \t\f]*\n)*%%([A-Za-z_]\S*)[ \t]*([^\n]*)(?:\n|\Z)")
_LINE = re.compile(r"%([A-Za-z_]\S*)\s*(.*)", re.S)
_TARGET = r"%{0,2}(?!\d)[\w*]+(?:\.(?!\d)[\w*]+|\[-?[0-9]+\])*"
_HELP_BEFORE = re.compile(rf"(\?\??)\s*({_TARGET})\s*;?\s*")
_HELP_AFTER = re.compile(rf"({_TARGET})(\?\??)\s*;?\s*")
# Commands that notebooks have without a mark. On a line that is no Python they are magics.
_COMMANDS = "cat|cd|conda|cp|ll|ls|mamba|mkdir|mv|pip|rm|rmdir"
_BARE = re.compile(rf"({_COMMANDS})[ \t]+(\S.*)")
_MAY_BE_BARE = re.compile(rf"^[ \t]*(?:{_COMMANDS})[ \t]", re.M)
# As names they are Python, so they have to be all there is.
_ALONE = re.compile(r"\s*((ls|ll|pwd)(?:[ \t]+(?:-\S+|[\w./~*]\S*))*)\s*")
_HAS_NESTED_FIELDS = sys.version_info >= (3, 12)
_PREFIX = frozenset("rbfut")


class Rewritten:
    """`places` are the lines that are calls now: by number, the columns in bytes that the original
    takes."""

    __slots__ = ("text", "places")

    def __init__(self, text: str, places: Dict[int, Tuple[int, int]]) -> None:
        self.text = text
        self.places = places

    def put_in_place(self, tree: Any) -> None:
        """What a traceback points at is the line that the user wrote."""
        for node in _nodes(tree):
            place = self.places.get(node.lineno)
            if place is not None:
                node.col_offset = place[0]
                if node.end_lineno == node.lineno:
                    node.end_col_offset = place[1]


def shift(tree: Any, columns: int) -> None:
    """What is on the first line that has any code stands so much further to the right."""
    first = min((node.lineno for node in _nodes(tree)), default=0)
    for node in _nodes(tree):
        if node.lineno == first:
            node.col_offset += columns
        if node.end_lineno == first:
            node.end_col_offset += columns


def _nodes(tree: Any) -> Iterator[Any]:
    """Those that have a place. Not ast.walk(): that fails when the user has replaced len()."""
    pending: List[Any] = [tree]
    while pending:
        node = pending.pop()
        if hasattr(node, "lineno"):
            yield node
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                pending += [one for one in value if hasattr(one, "_fields")]
            elif hasattr(value, "_fields"):
                pending.append(value)


class Misplaced(Exception):
    """A cell magic where none can be: its text, and the line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def rewrite(source: str) -> Optional[Rewritten]:
    """None if there is nothing of the kind in it."""
    cell = _CELL.match(source)
    if cell is not None:
        return _rewrite_cell(source, cell)
    if "%" not in source and "!" not in source and "?" not in source:
        if _MAY_BE_BARE.search(source) is None:
            return None
    walk = _Walk(source)
    walk.run()
    return Rewritten("".join(walk.parts), walk.places) if walk.places else None


def plain(source: str) -> Optional[str]:
    """Python that declares what the cell does, for those who only look at it."""
    for _ in range(_MAX_NESTED):
        cell = _CELL.match(source)
        if cell is None:
            try:
                rewritten = rewrite(source)
            except Misplaced:
                return None
            return None if rewritten is None else rewritten.text
        if cell.group(1) not in PYTHON_BODIES:
            return None
        source = "\n" * source.count("\n", 0, cell.end()) + source[cell.end() :]
        try:
            compile(source, "", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return source
    return None


def _rewrite_cell(source: str, cell: "re.Match[str]") -> Rewritten:
    name, line = cell.group(1, 2)
    first = source.count("\n", 0, cell.start(1))
    if name.endswith("?"):
        call = _help_call("%%" + name.rstrip("?"), name)
    else:
        call = f"{OBJECT}.run_cell_magic({name!r}, {line.rstrip()!r}, {source[cell.end() :]!r})"
    width = len(source[cell.start(1) - 2 : cell.end(2)].encode("utf-8", "replace"))
    return Rewritten("\n" * first + call, {first + 1: (0, width)})


class _Walk:
    """From one logical line to the next."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._position = 0  # of what is not in `parts` yet
        self._line = 1
        self.parts: List[str] = []
        self.places: Dict[int, Tuple[int, int]] = {}

    def run(self) -> None:
        source = self._source
        while self._position < len(source):
            start = self._position
            while start < len(source) and source[start] in " \t\f":
                start += 1
            call = self._statement_at(start)
            if call is None:
                start, end = _logical_line(source, start)
                if start < 0:
                    self._keep(end)
                    continue
                call = _call_of_value(_joined(source, start)[0])
            self._replace(start, call)

    def _keep(self, end: int) -> None:
        text = self._source[self._position : end]
        self.parts.append(text)
        self._line += text.count("\n")
        self._position = end

    def _replace(self, start: int, call: str) -> None:
        """From there to the end of the logical line."""
        source = self._source
        self._keep(start)
        end = _joined(source, start)[1]
        line_start = source.rfind("\n", 0, start) + 1
        line_end = source.find("\n", start)
        line = source[line_start : line_end if line_end >= 0 else len(source)]
        indent = len(line) - len(line.lstrip())
        width = len(line.rstrip().encode("utf-8", "replace"))
        self.places[self._line] = (indent, width)
        self.parts.append(call)
        lines = source.count("\n", start, end)
        self.parts.append("\n" * lines)
        self._line += lines
        self._position = end

    def _statement_at(self, start: int) -> Optional[str]:
        source = self._source
        first = source[start : start + 1]
        if first not in ("%", "!", "?"):
            end = source.find("\n", start)
            if end < 0:
                end = len(source)
            text = source[start:end].rstrip(" \t\f;")
            if text.endswith("?"):
                return _help_of(text)
            return _call_of_bare(_joined(source, start)[0])
        text = _joined(source, start)[0]
        if first == "%":
            if text.startswith("%%"):
                name = text[2:].split(None, 1)[0] if text[2:].strip() else ""
                if name.endswith("?"):
                    return _help_of(text)
                raise Misplaced(
                    f"%%{name} has to be the first line of its cell: it takes all that follows",
                    self._line,
                )
            return _help_of(text) or _call_of_value(text) or None
        if first == "!":
            return _call_of_command(text)
        return _help_of(text)


def _joined(source: str, start: int) -> Tuple[str, int]:
    """A line that backslashes continue, as one; and where it ends, at its newline."""
    parts = []
    while True:
        end = source.find("\n", start)
        if end < 0:
            end = len(source)
        line = source[start:end].rstrip(" \t\f")
        if not line.endswith("\\") or end == len(source):
            parts.append(line)
            return " ".join(parts), end
        parts.append(line[:-1].rstrip())
        start = end + 1


def _help_of(text: str) -> Optional[str]:
    found = _HELP_BEFORE.fullmatch(text)
    if found is not None:
        return _help_call(found.group(2), found.group(1))
    found = _HELP_AFTER.fullmatch(text)
    if found is not None:
        return _help_call(found.group(1), found.group(2))
    return f"{OBJECT}.show_usage()" if text.strip() in ("?", "??") else None


def _help_call(target: str, marks: str) -> str:
    name = "psearch" if "*" in target else "pinfo2" if marks.endswith("??") else "pinfo"
    return f"{OBJECT}.run_line_magic({name!r}, {target!r})"


def _call_of_command(text: str) -> str:
    if text.startswith("!!"):
        return f"{OBJECT}.getoutput({text[2:].strip()!r})"
    return f"{OBJECT}.system({text[1:].strip()!r})"


def _call_of_bare(text: str) -> Optional[str]:
    found = _BARE.fullmatch(text)
    if found is None or _is_python(text):
        return None
    return f"{OBJECT}.run_line_magic({found.group(1)!r}, {found.group(2).rstrip()!r})"


def _is_python(text: str) -> bool:
    try:
        compile(text, "", "exec", _ONLY_AST, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def bare_command(source: str, names: Dict[str, Any]) -> str:
    """A cell that is nothing but `ls` or `pwd`, as the magic, unless that is a name."""
    found = _ALONE.fullmatch(source)
    if found is None or found.group(2) in names:
        return source
    return source[: found.start(1)] + "%" + source[found.start(1) :]


def _call_of_value(text: str) -> str:
    """What stands right of a `=`, or a magic alone; "" if it is none."""
    if text.startswith("!"):
        return f"{OBJECT}.getoutput({text.lstrip('!').strip()!r})"
    found = _LINE.fullmatch(text)
    if found is None:
        return ""
    return f"{OBJECT}.run_line_magic({found.group(1)!r}, {found.group(2)!r})"


# Stepping over Python


def _logical_line(source: str, at: int) -> Tuple[int, int]:
    """Where a magic stands that is assigned, or a negative number; and where the next logical line
    begins."""
    stack: List[str] = []  # open brackets; delimiters of f-strings whose text we are in
    while True:
        top = stack[-1] if stack else ""
        if top in _ENDS:
            at = _step_in_text(source, at, top, stack)
            if at < 0:
                return -1, len(source)
            continue
        found = _IN_CODE.search(source, at)
        if found is None:
            return -1, len(source)
        at = found.end()
        char = found.group()
        if char == "\n":
            if not stack:
                return -1, at
        elif char == "=":
            if not stack and source[max(at - 2, 0) : at - 1] not in _BEFORE_ASSIGNMENT:
                value = _MAGIC_VALUE.match(source, at - 1)
                if value is not None:
                    return value.end(), at
        elif char == ":":
            if top == "f{":
                stack[-1] = "f:"
        else:
            at = _step(source, at, char, stack)
        if stack and stack[-1] == "f:":
            at = _step_in_format(source, at, stack)
        if at < 0:
            return -1, len(source)


def _step(source: str, at: int, char: str, stack: List[str]) -> int:
    """Behind what begins with this character; negative if that is the end of everything."""
    if char == "\\":
        return at + 1 if source.startswith("\n", at) else at
    if char == "#":
        return source.find("\n", at)
    if char in "([{":
        stack.append(char)
        return at
    if char in ")]}":
        if stack:
            stack.pop()
        return at
    delimiter = char * 3 if source.startswith(char * 2, at) else char
    prefix = _prefix_before(source, at - 1)
    at += len(delimiter) - 1
    if _HAS_NESTED_FIELDS and ("f" in prefix or "t" in prefix):
        stack.append(delimiter)
        return at
    while True:
        found = _ENDS[delimiter].search(source, at)
        if found is None:
            return -1
        at = found.end()
        if found.group() == delimiter:
            return at
        if found.group() == "\n":  # it was never closed
            return at - 1


def _prefix_before(source: str, at: int) -> str:
    start = at
    while start > max(at - 3, 0) and (source[start - 1].isalnum() or source[start - 1] == "_"):
        start -= 1
    prefix = source[start:at].lower()
    return prefix if len(prefix) < 3 and _PREFIX.issuperset(prefix) else ""


def _step_in_text(source: str, at: int, delimiter: str, stack: List[str]) -> int:
    """In the text of an f-string."""
    found = _ENDS_OF_FIELDS[delimiter].search(source, at)
    if found is None:
        return -1
    part = found.group()
    if part == delimiter:
        stack.pop()
    elif part == "{":
        stack.append("f{")
    elif part == "\n":  # it was never closed
        stack.pop()
        return found.start()
    return found.end()


def _step_in_format(source: str, at: int, stack: List[str]) -> int:
    """Behind the colon of a field: text up to a brace, or to a quote that ends it all."""
    while at < len(source):
        char = source[at]
        at += 1
        if char == "}":
            stack.pop()
            return at
        if char == "{":
            stack.append("f{")
            return at
        if char == "\n" and len(_text_around(stack)) == 1:
            stack.clear()
            return at - 1
    return -1


def _text_around(stack: List[str]) -> str:
    for one in reversed(stack):
        if one in _ENDS:
            return one
    return ""
