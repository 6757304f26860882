"""Is a text a whole piece of code, or would its author go on? Python's own compiler says it, as for
the interactive interpreter; nothing of the text runs."""

from __future__ import annotations

import codeop
import io
import tokenize
import warnings
from typing import Any

from . import compiler

_INDENT = 4
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def describe(source: str, futures: int) -> str:
    """The members of the answer, as JSON. `futures` are the __future__ imports in force."""
    parser = compiler.Compiler()
    parser.set_futures(futures)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = parser.parse("<cell>", compiler.dedented(source))
        except SyntaxError as error:
            if _is_cut_off(source, str(error.msg)):
                return f'"status":"incomplete","indent":{_indent_after(source)}'
            return '"status":"invalid"'
        except (ValueError, MemoryError, RecursionError):
            return '"status":"invalid"'
    if _ends_in_backslash(source):
        return '"status":"incomplete","indent":0'
    if tree.body and _ends_in_block(tree.body[-1]):
        return f'"status":"complete","goes_on":true,"indent":{_indent_after(source)}'
    return '"status":"complete"'


def _is_cut_off(source: str, problem: str) -> bool:
    """Could it compile if more followed?"""
    if _ends_in_backslash(source):
        return True
    if problem.startswith(("unmatched", "closing parenthesis", "too many nested")):
        return False  # which some versions of codeop take for the end of the input
    try:
        return codeop.compile_command(source, "<cell>", "exec") is None
    except SyntaxError:
        return _has_open_text(source)
    except (ValueError, OverflowError, MemoryError, RecursionError):
        return False


def _has_open_text(source: str) -> bool:
    """Magics and `await` are no Python to codeop; what is open around them is seen by tokens."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(source).readline):
            pass
    except tokenize.TokenError as error:
        return "EOF" in str(error) or "unterminated triple" in str(error)
    except SyntaxError:
        return False
    return False


def _ends_in_backslash(source: str) -> bool:
    line = source.rstrip("\r\n").rpartition("\n")[2]
    return line.endswith("\\") and "#" not in line


def _ends_in_block(statement: Any) -> bool:
    """Are the last lines of a statement an indented block, to which more may be added?"""
    inner = [child for name in _BLOCKS for child in getattr(statement, name, ())]
    return bool(inner) and _begin_of(max(inner, key=_end_of)) > statement.lineno


def _end_of(node: Any) -> int:
    if hasattr(node, "end_lineno"):
        return int(node.end_lineno)
    return max(map(_end_of, node.body))  # a case of a match


def _begin_of(node: Any) -> int:
    return int(node.lineno) if hasattr(node, "lineno") else _begin_of(node.pattern)


def _indent_after(source: str) -> int:
    """Columns that the next line is likely to begin at."""
    lines = [line for line in source.expandtabs(8).split("\n") if line.strip()]
    if not lines:
        return 0
    last = lines[-1]
    code = last.split("#")[0].rstrip()
    return len(last) - len(last.lstrip()) + (_INDENT if code.endswith(":") else 0)
