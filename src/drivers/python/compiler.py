"""Source to code: the statements of a cell, and the expression at its end whose value is shown.

Going through a syntax tree takes twice as long as compiling, so the common shapes are split as text
first. That is safe: if all that stands before a line compiles by itself, then no bracket, string or
continuation is open there, and a line that begins in the first column begins a new statement.
Whatever does not compile in this way goes through the tree, which also finds the right error.
"""

from __future__ import annotations

import ast
import inspect
from types import CodeType
from typing import Any, Callable, Optional, Set, Tuple

from . import magics_syntax

_compile = compile
_Expr = ast.Expr
_Expression = ast.Expression
_ONLY_AST = ast.PyCF_ONLY_AST
_TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FUTURES = 0x1FF0000  # the CO_FUTURE_* bits of co_flags

_SyntaxError = SyntaxError
_rewrite = magics_syntax.rewrite

_CO_COROUTINE = inspect.CO_COROUTINE

# A line in the first column that starts so continues the statement above it.
_CONTINUING = tuple(" \t\f\r\n#)]}\"'") + ("else", "elif", "except", "finally")
# No expression starts so.
_KEYWORDS = (
    "import ", "from ", "def ", "class ", "for ", "while ", "if ", "with ", "try:", "async ", "@",
    "del ", "raise ", "assert ", "global ",
)  # fmt: skip
# A line that starts so may also be a statement of its own: a text, or a name like `elsewhere`.
_AMBIGUOUS = ("\n'", '\n"', "\nelse", "\nelif", "\nexcept", "\nfinally")

# Calls that only work in a running event loop, and those that only work outside of one.
_INSIDE_LOOP = ("create_task", "ensure_future", "get_running_loop")
_OUTSIDE_LOOP = ("run", "run_until_complete")


class Parts:
    """`body` are statements, run one after the other; `tail` is the expression at the end, if the
    cell has one, and `is_shown` whether its value is to be shown."""

    __slots__ = ("body", "tail", "is_shown", "needs_loop")

    def __init__(
        self, body: Tuple[CodeType, ...], tail: Optional[CodeType], is_shown: bool = True
    ) -> None:
        self.body = body
        self.tail = tail
        self.is_shown = is_shown
        self.needs_loop = tail is not None and bool(tail.co_flags & _CO_COROUTINE)
        for code in body:
            if code.co_flags & _CO_COROUTINE:
                self.needs_loop = True

    def starts_tasks(self) -> bool:
        """Does the top level start tasks without awaiting anything, as notebooks allow?"""
        names: Set[str] = set()
        for code in self.body + (() if self.tail is None else (self.tail,)):
            names.update(code.co_names)
        return not names.isdisjoint(_INSIDE_LOOP) and names.isdisjoint(_OUTSIDE_LOOP)


_BLANK = (" ", "\t", "\n", "\r")


class Compiler:
    def __init__(self) -> None:
        self._flags = _TOP_LEVEL_AWAIT  # and the __future__ imports of earlier cells
        self.before_magics: Optional[Callable[[], None]] = None

    def futures(self) -> int:
        """The __future__ imports that are in force, as flags."""
        return self._flags & _FUTURES

    def set_futures(self, flags: int) -> None:
        self._flags |= flags & _FUTURES

    def compile(self, name: str, source: str) -> Parts:
        parts = None
        if ";" not in source and "__future__" not in source:
            try:
                parts = self._compile_text(name, source)
            except SyntaxError:
                pass
        if parts is None:
            parts = self._compile_tree(name, source)
        if "create_task" in source or "_future" in source or "get_running_loop" in source:
            parts.needs_loop = parts.needs_loop or parts.starts_tasks()
        return parts

    def compile_further_right(self, name: str, source: str, columns: int) -> Parts:
        """What begins so many bytes behind the beginning of its line."""
        tree = self.parse(name, source, columns)
        return self._parts_of(tree, name, source)

    def _compile_text(self, name: str, source: str) -> Optional[Parts]:
        start = _last_statement(source)
        if start < 0:
            return None
        body: Tuple[CodeType, ...] = ()
        tail = source
        if start:
            body = (_compile(source[:start], name, "exec", self._flags, True),)
            tail = "\n" * source.count("\n", 0, start) + source[start:]
        if source.startswith(_KEYWORDS, start):
            for line in _AMBIGUOUS:
                if line in tail:
                    return None
            return Parts((*body, _compile(tail, name, "exec", self._flags, True)), None)
        return Parts(body, _compile(tail, name, "eval", self._flags, True))

    def _compile_tree(self, name: str, source: str) -> Parts:
        return self._parts_of(self.parse(name, source), name, source)

    def parse(self, name: str, source: str, columns: int = 0) -> Any:
        """Python, or what IPython makes of it."""
        try:
            tree = _compile(source, name, "exec", self._flags | _ONLY_AST, True)
        except _SyntaxError as error:
            failure = error
        else:
            if columns:
                magics_syntax.shift(tree, columns)
            return tree
        return self._parse_magics(name, source, failure)

    def _parse_magics(self, name: str, source: str, failure: SyntaxError) -> Any:
        try:
            rewritten = _rewrite(source)
        except magics_syntax.Misplaced as error:
            line = source.split("\n")[error.line - 1]
            details = (name, error.line, len(line) - len(line.lstrip()) + 1, line)
            raise _SyntaxError(str(error), details) from None
        if rewritten is None:
            raise failure
        if self.before_magics is not None:
            self.before_magics()
        try:
            tree = _compile(rewritten.text, name, "exec", self._flags | _ONLY_AST, True)
        except _SyntaxError as error:
            error.text = source.split("\n")[(error.lineno or 1) - 1]
            if error.lineno in rewritten.places:
                error.offset = error.end_offset = None
            raise error from None
        rewritten.put_in_place(tree)
        return tree

    def _parts_of(self, tree: Any, name: str, source: str) -> Parts:
        statements = tree.body
        last: Any = statements[-1] if statements else None
        if type(last) is not _Expr:
            return Parts((self._compile_statements(tree, name),), None)
        del statements[-1]
        body = (self._compile_statements(tree, name),) if statements else ()
        tail = _compile(_Expression(last.value), name, "eval", self._flags, True)
        return Parts(body, tail, not (";" in source and _is_silenced(source, last)))

    def _compile_statements(self, tree: Any, name: str) -> CodeType:
        code: CodeType = _compile(tree, name, "exec", self._flags, True)
        self._flags |= code.co_flags & _FUTURES
        return code


def dedented(source: str) -> str:
    """Code that was copied from within something: without the indentation of its first line, as
    IPython takes it."""
    if source[:1] not in _BLANK:
        return source
    for line in source.split("\n"):
        code = line.lstrip(" \t")
        if code and not code.startswith("#"):
            indent = line[: len(line) - len(code)]
            break
    else:
        return source
    if not indent:
        return source
    lines = source.split("\n")
    return "\n".join([line[len(indent) :] if line.startswith(indent) else line for line in lines])


def _last_statement(source: str) -> int:
    """Where the last line starts that may begin a statement; negative if not to be told."""
    end = len(source)
    while True:
        start = source.rfind("\n", 0, end) + 1
        if not source.startswith(_CONTINUING, start) and start < len(source):
            return start
        if start == 0:
            return -1
        end = start - 1


def _is_silenced(source: str, last: Any) -> bool:
    """Is the expression at the end followed by a semicolon?"""
    lines = source.split("\n")[last.end_lineno - 1 :]
    lines[0] = lines[0].encode()[last.end_col_offset :].decode()
    for line in lines:
        rest = line.strip(" \t\r\f\\)")  # closing brackets around it are no part of the expression
        if rest and not rest.startswith("#"):
            return rest.startswith(";")
    return False
