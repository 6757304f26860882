"""Imports and definitions as they were written, so that they can be made again where a value cannot
be saved. A cell is only noted when it runs; what it declares is found while nobody waits, or when a
state is saved.
"""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import magics_syntax

_MAX_CHARS = 4 << 20  # of all statements that are kept; the oldest go first
_MAX_PENDING_CHARS = 1 << 20
_IDLE_CHARS = 4096
_WORDS = ("import", "def ", "class ")

_parse = ast.parse
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Sources:
    """Of cells that may declare something."""

    def __init__(self) -> None:
        self._declared = Declared()
        self._pending: List[str] = []  # the oldest first
        self._pending_chars = 0

    def note(self, source: str) -> None:
        for word in _WORDS:
            if word in source:
                break
        else:
            return
        self._pending.append(source)
        self._pending_chars += len(source)
        if self._pending_chars > _MAX_PENDING_CHARS:
            self.find()

    def look_into_some(self) -> None:
        """For a moment of idleness: no more than it takes a few milliseconds to parse."""
        left = _IDLE_CHARS
        while self._pending and len(self._pending[0]) <= left:
            left -= len(self._pending[0])
            self._look_into(self._pending.pop(0))

    def find(self) -> "Declared":
        while self._pending:
            self._look_into(self._pending.pop(0))
        return self._declared

    def _look_into(self, source: str) -> None:
        self._pending_chars -= len(source)
        self._declared.add(source)


class Declared:
    """By the name that is bound: the last statement that does. Statements in the order in which
    they were run."""

    def __init__(self) -> None:
        self.imports: Dict[str, str] = {}
        self.definitions: Dict[str, str] = {}
        self._chars = 0

    def add(self, source: str) -> None:
        try:
            tree = _parse(source)
        except SyntaxError:
            self._add_with_magics(source)
            return
        except (ValueError, RecursionError, MemoryError):
            return  # nothing of it ran, or it is too deep to look into
        self._add_tree(source, tree)

    def _add_with_magics(self, source: str) -> None:
        plain = magics_syntax.plain(source)
        if plain is None:
            return  # nothing of it ran
        try:
            tree = _parse(plain)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        self._add_tree(plain, tree)

    def _add_tree(self, source: str, tree: Any) -> None:
        lines: Optional[List[str]] = None
        for statement in _top_level(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name, text in _bound_by(statement):
                    self._put(self.imports, self.definitions, name, text)
            elif isinstance(statement, _DEFINITIONS):
                lines = lines or source.split("\n")
                text = _text_of(statement, lines)
                self._put(self.definitions, self.imports, statement.name, text)

    def _put(self, mine: Dict[str, str], other: Dict[str, str], name: str, text: str) -> None:
        self._chars -= len(mine.pop(name, "")) + len(other.pop(name, ""))
        mine[name] = text
        self._chars += len(text)
        while self._chars > _MAX_CHARS and self.definitions:
            oldest = next(iter(self.definitions))
            self._chars -= len(self.definitions.pop(oldest))


def _top_level(body: List[Any]) -> Iterator[Any]:
    """Statements of a module, also those within if, try, with and loops."""
    for statement in body:
        if isinstance(statement, _DEFINITIONS):
            yield statement
            continue
        yield statement
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list):
                yield from _top_level(inner)
        for handler in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _top_level(handler.body)


def _bound_by(statement: Any) -> Iterator[Tuple[str, str]]:
    """One statement for each name, so that a name that is gone does not come back."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname is None:
                yield alias.name.split(".")[0], f"import {alias.name}"
            else:
                yield alias.asname, f"import {alias.name} as {alias.asname}"
        return
    if statement.module == "__future__" or statement.level:
        return  # the first kind is kept by the compiler; the other works in packages only
    for alias in statement.names:
        name = alias.asname or alias.name
        suffix = "" if alias.asname is None else f" as {alias.asname}"
        yield name, f"from {statement.module} import {alias.name}{suffix}"


def _text_of(statement: Any, lines: List[str]) -> str:
    """With its decorators, moved to the first column."""
    first = min([statement.lineno, *[one.lineno for one in statement.decorator_list]])
    taken = lines[first - 1 : statement.end_lineno]
    last = taken[-1].encode()[: statement.end_col_offset].decode()
    taken[-1] = last
    indent = len(taken[0]) - len(taken[0].lstrip())
    if indent == 0:
        return "\n".join(taken)
    # Lines of a text that spans several are not to be moved, so the block stays as it is.
    return "if True:\n" + "\n".join(taken)
