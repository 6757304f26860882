"""What `get_ipython()` is in a session, and what IPython's notation calls: magics, commands, help.

Code of the user's that a magic runs is compiled under the name of the cell in which the magic
stands and with its line numbers, and runs in the session's namespace.
"""

from __future__ import annotations

import builtins
import linecache
import os
import sys
from types import FrameType, SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import (
    cells, displays, formatters, jsontext, magics_code, magics_names, magics_shell, magics_syntax,
    magics_table, magics_trace, magics_world, outputs, plots, streams,
)  # fmt: skip

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_getframe = sys._getframe
_Module = type(sys)
_users_builtins = vars(builtins)
_cache = linecache.cache
_MAX_EXTENSIONS = 1000
_MAX_DEPTH = 20

# Modules with magics, which have registered themselves.
_PROVIDERS = (magics_code, magics_names, magics_trace, magics_world)


class Tap:
    """Displays on their way to the daemon, or to whoever captures them."""

    def __init__(self, tell: displays.Tell) -> None:
        self._tell = tell
        self.held: Optional[List[str]] = None  # members of displays, while they are captured
        self.publisher: Any = None  # of IPython's kind, that somebody has put in our place

    def __call__(self, event: str, members: str) -> bool:
        if self.publisher is not None and event == "display":
            shown = jsontext.read_object("{" + members + "}")
            data, metadata = outputs.bundle_of_output(shown["output"])
            number = shown["output"].get("display_id")
            self.publisher.publish(
                data=data, metadata=metadata, update=shown.get("update", False),
                transient={} if number is None else {"display_id": number},
            )  # fmt: skip
            return True
        if self.held is None:
            return self._tell(event, members)
        if event == "display":
            self.held.append(members)
        else:
            self.held.clear()
        return True


class CellaShell:
    """What is here of IPython's InteractiveShell."""

    colors = "NoColor"
    ast_node_interactivity = "last_expr"

    def __init__(
        self,
        namespace: Dict[str, Any],
        session_cells: cells.Cells,
        session_streams: streams.Streams,
        session_plots: plots.Plots,
        session_displays: displays.Displays,
        tap: Tap,
        ask: Callable[[str], str],
    ) -> None:
        self.user_ns = self.user_global_ns = namespace
        self.commands = magics_shell.Commands(session_streams)
        self.config: Dict[str, Any] = {}
        self.events = session_cells.events
        self._publisher: Any = SimpleNamespace(publish=session_displays.publish_display_data)
        self.display_formatter = formatters.DisplayFormatter(outputs.bundle_of)
        self.reloader = magics_code.Reloader(namespace)
        self.directories = session_cells.results.directories
        self.ask = ask
        self._given = dict(namespace)
        self._depth = 0  # of magics that run code with magics
        self.failed_status = 0
        self._cells = session_cells
        self._plots = session_plots
        self._display = session_displays.display
        self._tap = tap
        self._line = dict(magics_table.LINE)
        self._cell = dict(magics_table.CELL)

    def offer(self) -> None:
        """Puts the names that code calls where it looks for them, also after a cell that changed
        its builtins."""
        names = self.user_ns.get("__builtins__")
        for found in (_users_builtins, vars(names) if type(names) is _Module else names):
            if type(found) is dict:
                found[magics_syntax.OBJECT] = self

    # Magics

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """Call the line magic of that name."""
        magic = self._line.get(magic_name)
        if magic is None:
            raise magics_table.UsageError(self._unknown(magic_name, False))
        if magic.expands:
            line = self._expand(line)
        return magic.function(self, line, None)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Call the cell magic of that name."""
        magic = self._cell.get(magic_name)
        if magic is None:
            raise magics_table.UsageError(self._unknown(magic_name, True))
        if magic.expands:
            line = self._expand(line)
        return magic.function(self, line, cell)

    def magic(self, arg_s: str) -> Any:
        """Call a line magic: its name, and what follows it."""
        name, _, rest = arg_s.strip().lstrip("%").partition(" ")
        return self.run_line_magic(name, rest.strip())

    def register_magic_function(
        self, func: Any, magic_kind: str = "line", magic_name: Optional[str] = None
    ) -> None:
        """Let a function answer to `%name`, `%%name` or both."""
        name = magic_name or func.__name__
        if len(self._line) + len(self._cell) > _MAX_EXTENSIONS:
            raise magics_table.UsageError("there are too many magics")

        def call(shell: Any, line: str, cell: Optional[str]) -> Any:
            return func(line) if cell is None else func(line, cell)

        magic = magics_table.Magic(call, True, func.__doc__ or "")
        if magic_kind in ("line", "line_cell"):
            self._line[name] = magic
        if magic_kind in ("cell", "line_cell"):
            self._cell[name] = magic

    def register_magics(self, *objects: Any) -> None:
        """Take the magics of IPython's own kind of classes."""
        for one in objects:
            made = one(shell=self) if isinstance(one, type) else one
            for kind in ("line", "cell"):
                for name, function in getattr(made, "magics", {}).get(kind, {}).items():
                    function = getattr(made, function) if isinstance(function, str) else function
                    self.register_magic_function(function, kind, name)

    def find_magic(self, magic_name: str, magic_kind: str = "line") -> Any:
        magic = (self._line if magic_kind == "line" else self._cell).get(magic_name)
        return None if magic is None else magic.function

    def find_line_magic(self, magic_name: str) -> Any:
        return self.find_magic(magic_name)

    def find_cell_magic(self, magic_name: str) -> Any:
        return self.find_magic(magic_name, "cell")

    def _unknown(self, name: str, is_cell: bool) -> str:
        tables = (self._cell, self._line) if is_cell else (self._line, self._cell)
        frame = self.caller()
        return f"line {frame.f_lineno}: {magics_table.unknown(name, is_cell, *tables)}"

    def magic_names(self, is_cell: bool) -> List[str]:
        return sorted(self._cell if is_cell else self._line)

    def text_of_magic(self, name: str, is_cell: bool) -> str:
        magic = (self._cell if is_cell else self._line).get(name)
        return "" if magic is None else " ".join(magic.text.split()) or name

    def magic_tables(self) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """Of lines and of cells, as they are at any time."""
        return self._line, self._cell

    def show_usage(self) -> None:
        """What `?` says."""
        print(_USAGE)

    # Commands

    def system(self, cmd: str) -> None:
        """Run a command in a shell; its output is that of the cell."""
        self.run_command(self._expand(cmd))

    system_raw = system_piped = system

    def run_command(self, command: str) -> None:
        self.note_status(self.commands.run([magics_shell.find_shell(), "-c", command]))

    def note_status(self, code: int) -> None:
        """How a command ended: for the cell, and for whoever reads its answer."""
        self.user_ns["_exit_code"] = code
        if code:
            self.failed_status = code if code > 0 else 128 - code  # a signal's, as shells tell it

    def take_failed_status(self) -> int:
        """Of the last command that failed since this was asked before; 0 if none did."""
        code, self.failed_status = self.failed_status, 0
        return code

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Run a command in a shell; its output, as a list of lines or as one text."""
        parts: List[str] = []
        argv = [magics_shell.find_shell(), "-c", self._expand(cmd)]
        self.note_status(self.commands.run_with(argv, None, parts.append, None))
        text = "".join(parts)
        return magics_shell.Lines(text.splitlines()) if split else text

    def var_expand(self, cmd: str, depth: int = 0, formatter: Any = None) -> str:
        """Put the values of `{expr}` and `$name` into a text."""
        return self._expand(cmd)

    def _expand(self, text: str) -> str:
        if "{" not in text and "$" not in text:
            return text
        frame = self.caller()
        return magics_shell.expand(text, magics_shell.Scope(frame.f_globals, frame.f_locals))

    def caller(self) -> FrameType:
        """The innermost frame that is not the driver's."""
        frame: Optional[FrameType] = _getframe(1)
        last = frame
        while frame is not None and frame.f_code.co_filename.startswith(_HERE):
            last, frame = frame, frame.f_back
        return frame or last  # type: ignore[return-value]

    # Python

    def run_python(self, line: str, cell: Optional[str]) -> Any:
        """The code of a magic: `cell`, or `line` if there is none. Returns its value."""
        if self._depth >= _MAX_DEPTH:
            raise magics_table.UsageError("magics are nested too deep")
        frame = self.caller()
        self._depth += 1
        try:
            return self._cells.run_within(frame, *_placed(frame, line, cell))
        finally:
            self._depth -= 1

    def parse_python(self, line: str, cell: Optional[str]) -> List[Any]:
        """Likewise, as statements."""
        frame = self.caller()
        tree = self._cells.compiler.parse(frame.f_code.co_filename, *_placed(frame, line, cell))
        return list(tree.body)

    def compile_tree(self, tree: Any, name: str) -> Any:
        return compile(tree, name, "exec", self._cells.compiler.futures(), True)

    def compile_file(self, source: str, path: str, has_magics: bool) -> Any:
        if has_magics:
            return compile(self._cells.compiler.parse(path, source), path, "exec", 0, True)
        return compile(source, path, "exec", 0, True)

    def run_text(self, source: str) -> None:
        exec(compile(source, "<magic>", "exec", 0, True), self.user_ns)

    def run_cell(self, raw_cell: str, *_: Any, **__: Any) -> Any:
        """Run code as a cell would; returns its value, which is shown too."""
        value = self._cells.run_within(self.caller(), raw_cell)
        if value is not None:
            self.show(value)
        return value

    def ev(self, expr: str) -> Any:
        """The value of an expression in the session's namespace."""
        return eval(expr, self.user_ns)

    def ex(self, cmd: str) -> None:
        """Run statements in the session's namespace."""
        exec(cmd, self.user_ns)

    def push(self, variables: Any, interactive: bool = True) -> None:
        """Names of the session, from a dictionary."""
        self.user_ns.update(variables)

    def drop_by_id(self, variables: Dict[str, Any]) -> None:
        for name, value in variables.items():
            if self.user_ns.get(name) is value:
                del self.user_ns[name]

    def reset(self, new_session: bool = True, aggressive: bool = False) -> None:
        """Forget what was made in this session."""
        for name in list(self.user_ns):
            if name not in self._given and name not in ("__builtins__", "__name__", "__doc__"):
                del self.user_ns[name]
        self.user_ns.update(self._given)
        self._cells.results.clear()

    def adopt(self, names: Dict[str, Any]) -> None:
        """What a program left becomes the session's."""
        for name, value in names.items():
            if not (name.startswith("__") and name.endswith("__")):
                self.user_ns[name] = value

    def is_given(self, name: str) -> bool:
        return name in self._given and self.user_ns.get(name) is self._given[name]

    def watch_modules(self, is_watched: bool) -> None:
        self._cells.before_cell = self.reloader.look if is_watched else None

    def history(self) -> List[Any]:
        return self._cells.history()

    def last_error(self) -> str:
        """Of a cell that failed, as JSON; empty if none has."""
        return self._cells.last_error

    @property
    def execution_count(self) -> int:
        entries = self.history()
        return int(entries[-1][0]) if entries else 1

    def enable_gui(self, gui: Any = None) -> None:
        """There are no windows here."""

    # Displays

    @property
    def display_pub(self) -> Any:
        """Who takes what is shown; IPython's capture_output() puts its own here for a while."""
        return self._tap.publisher or self._publisher

    @display_pub.setter
    def display_pub(self, publisher: Any) -> None:
        self._tap.publisher = None if publisher is self._publisher else publisher

    def show(self, value: Any) -> None:
        self._display(value)

    def show_bundle(self, bundle: Dict[str, str]) -> None:
        """Forms by MIME type."""
        self._display(bundle, raw=True)

    def resend(self, members: str) -> None:
        self._tap("display", members)

    def hold_displays(self, into: Optional[List[str]]) -> Optional[List[str]]:
        """From now on they go there; returns where they went before."""
        before, self._tap.held = self._tap.held, into
        return before

    def finish_figures(self) -> None:
        if self._plots.has_open():
            self._plots.show_all()

    def set_figure_format(self, wanted: Any) -> None:
        self._plots.set_form(wanted)

    def set_next_input(self, *_: Any, **__: Any) -> None:
        """There is no next input to be set here."""

    def __repr__(self) -> str:
        return "<Cella session>"

    def __reduce__(self) -> Any:
        return _current, ()


CellaShell.__module__ = "cella"


def _placed(frame: FrameType, line: str, cell: Optional[str]) -> Tuple[str, int]:
    """Code with as many empty lines before it as there are above it in its cell; and the column, in
    bytes, in which the code of a line begins there."""
    if cell is not None:
        return "\n" * frame.f_lineno + cell, 0
    code = line.strip()
    lines = _cache.get(frame.f_code.co_filename, (0, None, ()))[2]
    written = lines[frame.f_lineno - 1] if frame.f_lineno <= len(lines) else ""
    column = len(written[: max(written.rfind(code), 0)].encode("utf-8", "replace"))
    return "\n" * (frame.f_lineno - 1) + code, column


def _current() -> Any:
    return _users_builtins.get(magics_syntax.OBJECT)


_current.__module__ = "cella"
_current.__name__ = _current.__qualname__ = "get_ipython"

_USAGE = """\
!COMMAND          runs it in a shell; x = !COMMAND: its lines; {expr} and $name are replaced
%NAME, %%NAME     magics, on a line and for a whole cell; %lsmagic lists them
NAME?, NAME??     what it is; with its source\
"""


def install(shell: CellaShell, module: Any) -> None:
    """In the process that becomes the session. `module` is what `import cella` gives."""

    def get_ipython() -> CellaShell:
        """This session, as far as it is like an IPython shell."""
        return shell

    get_ipython.__module__ = "builtins"
    builtins.get_ipython = get_ipython  # type: ignore[attr-defined]
    shell.offer()
    for one in (magics_shell.Lines, magics_code.TimeitResult, magics_code.CapturedIO, _current):
        setattr(module, one.__name__, one)


@magics_table.line_magic("lsmagic")
def _lsmagic(shell: CellaShell, line: str, cell: Optional[str]) -> None:
    """%lsmagic: the magics that there are."""
    print("Available line magics:")
    print("  ".join("%" + name for name in shell.magic_names(False)))
    print("\nAvailable cell magics:")
    print("  ".join("%%" + name for name in shell.magic_names(True)))
    print("\nAutomagic is OFF, % prefix IS needed for line magics.")


@magics_table.line_magic("quickref", "magic")
def _quickref(shell: CellaShell, line: str, cell: Optional[str]) -> None:
    """%quickref: what can be written besides Python."""
    shell.show_usage()
    for is_cell in (False, True):
        for name in shell.magic_names(is_cell):
            print(f"{'%%' if is_cell else '%'}{name}: {shell.text_of_magic(name, is_cell)}")


@magics_table.line_magic("history", "hist")
def _history(shell: CellaShell, line: str, cell: Optional[str]) -> None:
    """%history [-n] [-l COUNT] [-g TEXT]: the cells that were run; with their numbers, the last
    ones, those with TEXT in them."""
    found, rest = magics_table.options(line, "nopl:g")
    entries = shell.history()
    if "l" in found:
        entries = entries[-magics_table.count_of(found, "l", 10) :]
    if "g" in found:
        entries = [(number, text) for number, text in entries if rest in text]
    elif rest:
        first, _, last = rest.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise magics_table.UsageError("%history wants numbers of cells: 3, or 3-5")
        wanted = range(int(first), int(last or first) + 1)
        entries = [(number, text) for number, text in entries if number in wanted]
    for number, text in entries:
        print(f"{number:>4}: {text}" if "n" in found or "g" in found else text)
