"""One cell: compiled, run in the session's namespace, its value and its failure described.

The verdict is JSON text from here on, so that nothing the user did to the json module matters.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from types import CodeType, ModuleType
from typing import Any, Optional, Tuple

from . import awaits, interrupts, outputs, plots, sources, streams, tracebacks

_compile = compile
_eval = eval
_Expr = ast.Expr
_Expression = ast.Expression
_ONLY_AST = ast.PyCF_ONLY_AST
_TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_CO_COROUTINE = inspect.CO_COROUTINE
_FUTURES = 0x1FF0000  # the CO_FUTURE_* bits of co_flags
_MAX_ONE_LINER = 1000
_builtins = vars(builtins)
_value_of = outputs.value_of
_describe = tracebacks.describe
_make_room = interrupts.make_room

NOTHING = "null"


class Verdict:
    """`value` and `error` are JSON. `exit_code` is what a script would have ended with."""

    __slots__ = ("status", "value", "error", "exit_code")

    def __init__(self, status: str, value: str, error: str, exit_code: int = 0) -> None:
        self.status = status
        self.value = value
        self.error = error
        self.exit_code = exit_code


class Cells:
    def __init__(
        self,
        main: ModuleType,
        gate: interrupts.Gate,
        session_streams: streams.Streams,
        session_plots: plots.Plots,
    ) -> None:
        self._namespace = vars(main)
        self._gate = gate
        self._streams = session_streams
        self._plots = session_plots
        self._sources = sources.Sources()
        self._sources.teach_inspect()
        self._event_loop = awaits.EventLoop()
        self._flags = _TOP_LEVEL_AWAIT  # and the __future__ imports of earlier cells
        gate.install(Cells.run.__code__)

    def run(self, cell_id: int, source: str) -> Verdict:
        """Never raises. When it returns nothing of the user's runs in this thread."""
        name = f"<cell {cell_id}>"
        try:
            verdict = self._guarded(name, source)
        except BaseException as error:
            self._gate.is_running = False
            verdict = _verdict_of_last_resort(error)
        while True:
            try:
                self._gate.end_cell()
                return verdict
            except BaseException:  # from a signal handler of the user's, which is now put to rest
                continue

    def _guarded(self, name: str, source: str) -> Verdict:
        gate = self._gate
        try:
            gate.begin_cell()
            gate.is_running = True
            return Verdict("ok", self._run(name, source), NOTHING)
        except BaseException as error:
            _make_room()
            return self._failure(name, error)

    def _run(self, name: str, source: str) -> str:
        """The value as JSON."""
        self._sources.add(name, source)
        body, tail, is_shown = self._compile(name, source)
        if body is not None:
            self._execute(body)
        shown = NOTHING
        if tail is not None:
            value = self._execute(tail)
            if value is not None:
                _builtins["_"] = value
                if is_shown:
                    shown = _value_of(value)
            del value
        if self._plots.has_open():
            self._plots.show_all()
        self._streams.flush()
        return shown

    def _execute(self, code: CodeType) -> Any:
        result = _eval(code, self._namespace)
        if code.co_flags & _CO_COROUTINE:
            return self._event_loop.run(result)
        return result

    def _compile(
        self, name: str, source: str
    ) -> Tuple[Optional[CodeType], Optional[CodeType], bool]:
        """The statements, the expression at the end, and whether its value is to be shown."""
        flags = self._flags
        if len(source) < _MAX_ONE_LINER and _looks_like_expression(source):
            try:
                return None, _compile(source, name, "eval", flags, True), True
            except SyntaxError:
                pass
        tree: Any = _compile(source, name, "exec", flags | _ONLY_AST, True)
        statements = tree.body
        last: Any = statements[-1] if statements else None
        if type(last) is not _Expr:
            return self._compile_body(tree, name), None, False
        del statements[-1]
        body = self._compile_body(tree, name) if statements else None
        tail = _compile(_Expression(last.value), name, "eval", self._flags, True)
        return body, tail, not (";" in source and _is_silenced(source, last))

    def _compile_body(self, tree: Any, name: str) -> CodeType:
        code = _compile(tree, name, "exec", self._flags, True)
        self._flags |= code.co_flags & _FUTURES
        return code  # type: ignore[no-any-return]

    def _failure(self, name: str, error: BaseException) -> Verdict:
        if isinstance(error, SystemExit) and error.code in (None, 0):
            verdict = Verdict("ok", NOTHING, NOTHING)
        else:
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            verdict = Verdict(status, NOTHING, _describe(error, name), _exit_code(error))
        error.__traceback__ = None  # or its frames would keep the cell's data alive
        if verdict.status == "interrupted":
            self._plots.close_all()
        elif self._plots.has_open():
            self._plots.show_all()
        self._streams.flush()
        return verdict

    def warm_up(self) -> None:
        """Touches the memory that the first cell needs, and leaves no trace."""
        for source in ("1+1", "pass"):
            self.run(0, source)
            self._sources.forget_last()
        _builtins.pop("_", None)


def _looks_like_expression(source: str) -> bool:
    """Worth a try without a tree. Never needed to be right."""
    return (
        source.find("\n", 0, -1) < 0
        and ";" not in source
        and not source[:1].isspace()
        and "=" not in source
    )


def _is_silenced(source: str, last: Any) -> bool:
    """Is the expression at the end followed by a semicolon?"""
    lines = source.split("\n")[last.end_lineno - 1 :]
    lines[0] = lines[0].encode()[last.end_col_offset :].decode()
    for line in lines:
        rest = line.strip(" \t\r\f\\)")  # closing brackets around it are no part of the expression
        if rest and not rest.startswith("#"):
            return rest.startswith(";")
    return False


def _exit_code(error: BaseException) -> int:
    if isinstance(error, SystemExit) and isinstance(error.code, int):
        return error.code & 0xFF
    return 1


def _verdict_of_last_resort(error: BaseException) -> Verdict:
    """A second interrupt, or a handler of the user's, hit while the failure was being described."""
    status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
    return Verdict(status, NOTHING, tracebacks.brief(error), 1)
