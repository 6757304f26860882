"""One cell: compiled, run in the session's namespace, its value and its failure described.

The verdict is JSON text from here on, so that nothing the user did to the json module matters.
"""

from __future__ import annotations

import inspect
from types import FrameType, ModuleType
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import (
    awaits, compiler, debuggers, events, exploring, interrupts, jsontext, magics_syntax, outputs,
    planned, plots, results, sources, streams, tracebacks,
)  # fmt: skip

_eval = eval
_CO_COROUTINE = inspect.CO_COROUTINE
_value_of = outputs.value_of
_describe = tracebacks.describe
_make_room = interrupts.make_room

NOTHING = "null"

SCRIPT = "<string>"
_BARE = frozenset(("ls", "ll", "pw"))  # as `ls` and `pwd` begin


class Verdict:
    """`value` and `error` are JSON. `exit_code` is what a script would have ended with; it is by an
    exit that the cell `has_exited`."""

    __slots__ = ("status", "value", "error", "exit_code", "has_exited")

    def __init__(
        self, status: str, value: str, error: str, exit_code: int = 0, has_exited: bool = False
    ) -> None:
        self.status = status
        self.value = value
        self.error = error
        self.exit_code = exit_code
        self.has_exited = has_exited


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
        self.results = results.Results(self._sources)
        self._event_loop = awaits.EventLoop()
        self.compiler = compiler.Compiler()
        self.events = events.Events()
        self.before_cell: Optional[Callable[[], None]] = None
        self.last_error = ""  # of the cells that failed, as JSON
        self._order: Optional[Dict[str, Any]] = None  # see planned.py; of the running cell
        self._verdict: Optional[Verdict] = None  # of the running cell, once it is known

    def install(self) -> None:
        """In the process that becomes the session."""
        self._gate.install(Cells._settled.__code__, Cells.settle.__code__)
        self._sources.teach_inspect()
        self.results.install()
        debuggers.install()

    def event_loops(self) -> List[Any]:
        return self._event_loop.in_use()

    def run(self, cell_id: int, source: str) -> Verdict:
        """Never raises. When it returns nothing of the user's runs in this thread."""
        return self._settled(f"<cell {cell_id}>", source)

    def run_planned(self, cell_id: int, source: str, order: Dict[str, Any]) -> Verdict:
        """One whose calls were made by the daemon."""
        self._order = order
        try:
            return self._settled(f"<cell {cell_id}>", source)
        finally:
            self._order = None

    def run_script(self, source: str) -> Verdict:
        """As exec() of a text would: tracebacks have no source, and the value has no name."""
        return self._settled(SCRIPT, source)

    def _settled(self, name: str, source: str) -> Verdict:
        if "\r" in source:  # as the tokenizer would; then lines are what split() says
            source = source.replace("\r\n", "\n").replace("\r", "\n")
        self._verdict = None
        try:
            self._verdict = self._guarded(name, source)
            self._gate.end_cell()
            return self._verdict
        except BaseException as error:
            return self.settle(error)

    def settle(self, error: BaseException) -> Verdict:
        """Ends a cell that something broke out of: a second interrupt, or a signal handler of the
        user's, which may raise anywhere until end_cell() has put it to rest."""
        try:
            self._gate.end_cell()
            return self._verdict or _verdict_of_last_resort(error)
        except BaseException as another:
            return self.settle(another)

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
        self._gate.raise_early()
        if name != SCRIPT:
            self._sources.add(name, source)
            if "_" in source:
                self.results.offer(source)
        if self.before_cell is not None:
            self.before_cell()
        if self.events.is_used():
            self.events.before(source)
        if self._order is not None:
            self._streams.flush()
            planned.take(self._order, self._namespace, jsontext.quote)
            return NOTHING
        code = source
        if source[:2] in _BARE and name != SCRIPT:
            code = magics_syntax.bare_command(source, self._namespace)
        parts = self.compiler.compile(name, code)
        if parts.needs_loop:
            value = self._event_loop.run(_run_in_loop(parts, self._namespace))
        else:
            value = _run_parts(parts, self._namespace)
        shown = NOTHING
        if value is not None and parts.is_shown:
            if name != SCRIPT:
                self.results.add(name, value)
            shown = _value_of(value)
        if self.events.is_used():
            self.events.after(source, value)
        del value
        self._finish_figures("ok", shown != NOTHING)
        self._streams.flush()
        return shown

    def prefers(self, plain: str, source: str) -> bool:
        """Does the first of two sources compile, and the second not?"""
        return self._compiles(plain) and not self._compiles(source)

    def _compiles(self, source: str) -> bool:
        try:
            self.compiler.compile(SCRIPT, source)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return False
        return True

    def run_within(self, frame: FrameType, source: str, columns: int = 0) -> Any:
        """For code of the running cell: more code, with the names that it has; returns the value.
        It begins so many bytes behind the beginning of its line."""
        name = frame.f_code.co_filename
        if columns:
            parts = self.compiler.compile_further_right(name, source, columns)
        else:
            parts = self.compiler.compile(name, source)
        if parts.needs_loop:
            return self._event_loop.run(_run_in_loop(parts, self._namespace))
        if frame.f_locals is frame.f_globals:
            return _run_parts(parts, frame.f_globals)
        for code in parts.body:
            _eval(code, frame.f_globals, frame.f_locals)
        return None if parts.tail is None else _eval(parts.tail, frame.f_globals, frame.f_locals)

    def history(self) -> List[Tuple[int, str]]:
        """The cells that were run, by number, as far as they are kept."""
        return [(int(name[6:-1]), text) for name, text in self._sources.kept()]

    def _failure(self, name: str, error: BaseException) -> Verdict:
        exit_code = _exit_code(error)
        has_exited = isinstance(error, SystemExit)
        if isinstance(error, exploring.Finished):
            verdict = Verdict("ok", NOTHING, NOTHING)
        elif isinstance(error, planned.Refused):
            verdict = Verdict("error", NOTHING, error.told, exit_code)
        elif exit_code == 0:
            verdict = Verdict("ok", NOTHING, NOTHING, 0, has_exited)
        else:
            self.last_error = _describe(error, name)
            verdict = Verdict(_status_of(error), NOTHING, self.last_error, exit_code, has_exited)
        try:
            self._finish_figures(verdict.status)
            self._streams.flush()
        except BaseException:  # the failure that we have is the one to report
            pass
        return verdict

    def _finish_figures(self, status: str, has_value: bool = False) -> None:
        if status == "interrupted":  # in a hurry: the grace after an interrupt is short
            self._plots.close_all()
        elif self._plots.has_open():
            self._plots.show_all(has_value)

    def warm_up(self) -> None:
        """Touches the memory that the first cell needs, and leaves no trace."""
        for source in ("1+1", "print()", "pass"):
            self.run(0, source)
            self.forget_last()

    def forget_last(self) -> None:
        """The cell that was run last was nobody's."""
        self._sources.forget_last()
        self.results.clear()

    def rehearse(self, source: str) -> None:
        """As warm_up() does, for code that has no value: the user's `_` stays."""
        self.run(0, source)
        self._sources.forget_last()


def _run_parts(parts: compiler.Parts, namespace: Dict[str, Any]) -> Any:
    for code in parts.body:
        _eval(code, namespace)
    return None if parts.tail is None else _eval(parts.tail, namespace)


async def _run_in_loop(parts: compiler.Parts, namespace: Dict[str, Any]) -> Any:
    value = None
    for code in (*parts.body, parts.tail):
        if code is not None:
            value = _eval(code, namespace)
            if code.co_flags & _CO_COROUTINE:
                value = await value
    return None if parts.tail is None else value


def _exit_code(error: BaseException) -> int:
    """0 only for an exit that says so, or says nothing."""
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None:
        return 0
    if isinstance(error.code, int) and int(error.code) == 0:
        return 0
    return (int(error.code) & 0xFF if isinstance(error.code, int) else 0) or 1


def _verdict_of_last_resort(error: BaseException) -> Verdict:
    """Nothing is asked of the exception: it broke into what would have described another."""
    return Verdict(_status_of(error), NOTHING, tracebacks.brief(error), 1)


def _status_of(error: BaseException) -> str:
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
