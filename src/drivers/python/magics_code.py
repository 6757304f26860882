"""Magics that run Python: %time, %timeit, %%capture, %run, and reloading of modules."""

from __future__ import annotations

import ast
import builtins
import gc
import importlib
import io
import math
import os
import resource
import sys
import time
import types
from typing import Any, Dict, List, Optional, Tuple

from . import jsontext, magics_table

_perf_counter = time.perf_counter
_process_time = time.process_time
_wall_clock = time.time
_getrusage = resource.getrusage
_SELF = resource.RUSAGE_SELF
_ONLY_AST = ast.PyCF_ONLY_AST
_ModuleType = types.ModuleType
_StringIO = io.StringIO
_read_object = jsontext.read_object
_options = magics_table.options
_count_of = magics_table.count_of
_UsageError = magics_table.UsageError

_REPEAT = 7
_MIN_SECONDS = 0.2  # of one run of %timeit
_MAX_POWER = 9
_MAX_COUNT = 1_000_000_000

# Time


@magics_table.line_magic("time", expands=False)
@magics_table.cell_magic("time", expands=False)
def _time(shell: Any, line: str, cell: Optional[str]) -> Any:
    """%time STATEMENT, %%time: how long it takes, once. The value is that of the statement."""
    if cell is not None and line.strip():
        raise _UsageError("%%time takes nothing on its own line: the code follows below")
    if not (line if cell is None else cell).strip():
        raise _UsageError("%time wants code to run")
    usage, began = _getrusage(_SELF), _perf_counter()
    value = shell.run_python(line, cell)
    wall = _perf_counter() - began
    used = _getrusage(_SELF)
    user, system = used.ru_utime - usage.ru_utime, used.ru_stime - usage.ru_stime
    print(
        f"CPU times: user {_seconds(user)}, sys: {_seconds(system)}, "
        f"total: {_seconds(user + system)}"
    )
    print(f"Wall time: {_seconds(wall)}")
    is_silent = (line if cell is None else cell).rstrip().endswith(";")
    return None if is_silent else value


def _seconds(span: float, precision: int = 3) -> str:
    """As people write it."""
    if span >= 60.0:
        parts = []
        for suffix, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
            count = int(span / length)
            if count > 0:
                span %= length
                parts.append(f"{count}{suffix}")
            if span < 1:
                break
        return " ".join(parts)
    order = min(-int(math.floor(math.log10(span)) // 3), 3) if span > 0.0 else 3
    order = max(order, 0)
    return f"{span * 1000**order:.{precision}g} {('s', 'ms', 'µs', 'ns')[order]}"


class TimeitResult:
    """What `%timeit -o` returns. All times are in seconds."""

    def __init__(self, loops: int, all_runs: List[float], precision: int) -> None:
        self.loops = loops
        self.repeat = len(all_runs)
        self.all_runs = all_runs
        self.timings = [run / loops for run in all_runs]
        self.best = min(self.timings)
        self.worst = max(self.timings)
        self._precision = precision

    @property
    def average(self) -> float:
        return math.fsum(self.timings) / len(self.timings)

    @property
    def stdev(self) -> float:
        mean = self.average
        return (math.fsum([(one - mean) ** 2 for one in self.timings]) / len(self.timings)) ** 0.5

    def __str__(self) -> str:
        runs = f"{self.repeat} run{'' if self.repeat == 1 else 's'}"
        loops = f"{self.loops:,} loop{'' if self.loops == 1 else 's'}"
        mean, stdev = (_seconds(one, self._precision) for one in (self.average, self.stdev))
        return f"{mean} ± {stdev} per loop (mean ± std. dev. of {runs}, {loops} each)"

    def __repr__(self) -> str:
        return f"<TimeitResult : {self}>"


TimeitResult.__module__ = "cella"


@magics_table.line_magic("timeit", expands=False)
@magics_table.cell_magic("timeit", expands=False)
def _timeit(shell: Any, line: str, cell: Optional[str]) -> Any:
    """%timeit [-n LOOPS] [-r RUNS] [-p DIGITS] [-t|-c] [-q] [-o] STATEMENT: how long it takes, run
    again and again. With %%timeit the line is what is done before, once in each run."""
    found, code = _options(line, "n:r:p:tcqo")
    if not code and not (cell or "").strip():
        raise _UsageError("%timeit wants code to run")
    clock = _wall_clock if "t" in found else _process_time if "c" in found else _perf_counter
    repeat = _bounded(_count_of(found, "r", _REPEAT), "r")
    inner = _timed_function(shell, code, cell)
    loops = _count_of(found, "n", 0)
    loops = _bounded(loops, "n") if loops else _loops_for(inner, clock)
    all_runs = [_timed(inner, loops, clock) for _ in range(repeat)]
    result = TimeitResult(loops, all_runs, _count_of(found, "p", 3))
    if "q" not in found:
        if result.worst > 4 * result.best > 0 and result.worst > 1e-6:
            print(
                f"The slowest run took {result.worst / result.best:0.2f} times longer than the "
                "fastest. This could mean that an intermediate result is being cached."
            )
        print(result)
    return result if "o" in found else None


def _bounded(count: int, letter: str) -> int:
    if not 1 <= count <= _MAX_COUNT:
        raise _UsageError(f"the option -{letter} wants a number from 1 to {_MAX_COUNT}")
    return count


_TEMPLATE = """\
def inner(_it, _timer):
    pass
    _t0 = _timer()
    for _i in _it:
        pass
    _t1 = _timer()
    return _t1 - _t0
"""


def _timed_function(shell: Any, code: str, cell: Optional[str]) -> Any:
    """What is assigned in it is local to it, so nothing is left behind."""
    if cell is None:
        setup, statement = [], shell.parse_python(code, None)
    else:
        setup, statement = shell.parse_python(code, None), shell.parse_python("", cell)
    tree: Any = compile(_TEMPLATE, "", "exec", _ONLY_AST)
    function = tree.body[0]
    loop = function.body[2]
    function.body[0:1] = setup or function.body[0:1]
    loop.body = statement or loop.body
    made: Dict[str, Any] = {}
    frame = shell.caller()
    code_of = shell.compile_tree(tree, frame.f_code.co_filename)
    names = frame.f_globals
    if frame.f_locals is not names:  # in a function: its variables are seen, and stay as they are
        names = {**names, **frame.f_locals}
    exec(code_of, names, made)
    return made["inner"]


def _loops_for(inner: Any, clock: Any) -> int:
    loops = 1
    for power in range(_MAX_POWER + 1):
        loops = 10**power
        if _timed(inner, loops, clock) >= _MIN_SECONDS:
            break
    return loops


def _timed(inner: Any, loops: int, clock: Any) -> float:
    had_gc = gc.isenabled()
    gc.disable()
    try:
        return float(inner(range(loops), clock))
    finally:
        if had_gc:
            gc.enable()


# Output


class CapturedIO:
    """What `%%capture NAME` binds: texts, and the outputs that were displayed."""

    def __init__(self, out: str, err: str, shown: List[str]) -> None:
        self.stdout = out
        self.stderr = err
        self._shown = shown  # members of displays, as JSON

    @property
    def outputs(self) -> List[Any]:
        """Typed outputs, as dictionaries."""
        return [_read_object("{" + members + "}")["output"] for members in self._shown]

    def show(self) -> None:
        """As if it had not been captured."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for members in self._shown:
            builtins.get_ipython().resend(members)  # type: ignore[attr-defined]

    __call__ = show

    def __str__(self) -> str:
        return self.stdout


CapturedIO.__module__ = "cella"


@magics_table.cell_magic("capture")
def _capture(shell: Any, line: str, cell: Optional[str]) -> None:
    """%%capture [--no-stdout] [--no-stderr] [--no-display] [NAME]: what the cell writes and shows
    goes into NAME, an object with .stdout, .stderr, .outputs and .show()."""
    words = line.split()
    name = ""
    for word in words:
        if word not in ("--no-stdout", "--no-stderr", "--no-display"):
            if word.startswith("-") or name or not word.isidentifier():
                raise _UsageError(f"%%capture wants one name, not {line.strip()!r}")
            name = word
    out, err = _StringIO(), _StringIO()
    before = sys.stdout, sys.stderr
    shown: List[str] = []
    earlier = shell.hold_displays(shown)
    if "--no-display" in words:
        shell.hold_displays(earlier)
    try:
        if "--no-stdout" not in words:
            sys.stdout = out
        if "--no-stderr" not in words:
            sys.stderr = err
        value = shell.run_python("", cell)
        shell.finish_figures()
        if value is not None:
            shell.show(value)
    finally:
        sys.stdout, sys.stderr = before
        shell.hold_displays(earlier)
        if name:
            shell.user_ns[name] = CapturedIO(out.getvalue(), err.getvalue(), shown)


# Files


@magics_table.line_magic("run")
def _run(shell: Any, line: str, cell: Optional[str]) -> None:
    """%run [-i] [-n] [-t] FILE [ARGUMENTS]: the file as a program; its names are the session's
    afterwards. -i: it sees those of the session; -n: its __name__ is not __main__; -t: timed."""
    found, rest = _options(line, "interptdm:")
    words = magics_table.words(rest)
    if not words and "m" not in found:
        raise _UsageError("%run wants the name of a file")
    if "m" in found:
        import runpy

        _run_program(shell, found, [found["m"], *words], lambda names: runpy.run_module(
            found["m"], None, "__main__", True))  # fmt: skip
        return
    path = _script_path(words[0])
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if path.endswith(".ipynb"):
        source, path = _code_of_notebook(source), os.path.abspath(path)
    code = shell.compile_file(source, os.path.abspath(path), path.endswith((".ipy", ".ipynb")))
    _run_program(shell, found, [path, *words[1:]], lambda names: exec(code, names))


def _run_program(shell: Any, found: Dict[str, str], argv: List[str], run: Any) -> None:
    before_argv, before_path = sys.argv, list(sys.path)
    sys.argv = argv
    sys.path.insert(0, os.path.dirname(os.path.abspath(argv[0])))
    names = shell.user_ns
    kept = {name: names[name] for name in ("__name__", "__file__") if name in names}
    is_shared = "i" in found
    main = None if is_shared else _ModuleType("__main__")
    if main is not None:
        names = vars(main)
        names["__builtins__"] = shell.user_ns.get("__builtins__", names.get("__builtins__"))
    names["__file__"] = argv[0]
    if "n" in found:
        names["__name__"] = os.path.splitext(os.path.basename(argv[0]))[0]
    began = _perf_counter()
    try:
        made = run(names)
        if made is not None:
            names.update(made)
    except SystemExit as exit:
        if exit.code not in (None, 0) and "e" not in found:
            raise
    finally:
        sys.argv = before_argv
        sys.path[:] = before_path
        if main is None:
            for name in ("__name__", "__file__"):
                names.pop(name, None)
            names.update(kept)
        else:
            shell.adopt(names)
        if "t" in found:
            print(f"Wall time: {_seconds(_perf_counter() - began)}")


def _script_path(name: str) -> str:
    name = os.path.expanduser(name)
    for path in (name, name + ".py", name + ".ipy"):
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"there is no file {name!r} to run")


def _code_of_notebook(text: str) -> str:
    import json

    cells = json.loads(text).get("cells", [])
    sources = [cell["source"] for cell in cells if cell.get("cell_type") == "code"]
    return "\n\n".join(one if isinstance(one, str) else "".join(one) for one in sources)


@magics_table.line_magic("load")
def _load(shell: Any, line: str, cell: Optional[str]) -> None:
    """%load FILE: shows a file, for the next cell."""
    with open(_script_path(magics_table.unquoted(line.strip())), encoding="utf-8") as file:
        print(file.read())


@magics_table.cell_magic("writefile", "file")
def _write_file(shell: Any, line: str, cell: Optional[str]) -> None:
    """%%writefile [-a] FILE: the rest of the cell goes into that file; -a: to its end."""
    text = cell or ""
    is_appended = line.split()[:1] in (["-a"], ["--append"])
    name = line.split(None, 1)[1:][0] if is_appended and len(line.split()) > 1 else line
    path = os.path.expanduser(magics_table.unquoted(name.strip()))
    if not path or (is_appended and name is line):
        raise _UsageError("%%writefile wants the name of a file")
    if is_appended:
        print(f"Appending to {path}")
    else:
        print(f"{'Overwriting' if os.path.exists(path) else 'Writing'} {path}")
    with open(path, "a" if is_appended else "w", encoding="utf-8") as file:
        file.write(text if text.endswith("\n") or not text else text + "\n")


# Modules that change


class Reloader:
    """%autoreload: modules whose files have changed are loaded again before a cell runs. Functions
    that were imported by name are given their new code; names of classes, the new class."""

    def __init__(self, names: Dict[str, Any]) -> None:
        self._names = names
        self._stamps: Dict[str, Tuple[int, int]] = {}
        self.mode = "0"
        self.watched: List[str] = []

    def start(self, mode: str) -> None:
        self.mode = mode
        for name, path in self._files():
            self._stamps.setdefault(name, _stamp_of(path))

    def look(self) -> None:
        for name, path in self._files():
            now = _stamp_of(path)
            before = self._stamps.setdefault(name, now)
            if now != before:
                self._stamps[name] = now
                self._reload(name)

    def _files(self) -> List[Tuple[str, str]]:
        found = []
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if type(path) is not str or not path.endswith(".py") or name == "__main__":
                continue
            if self.mode == "1" and name not in self.watched:
                continue
            if "-packages/" in path or path.startswith(_LIBRARY) or name.startswith("_cella"):
                continue
            found.append((name, path))
        return found

    def _reload(self, name: str) -> None:
        module = sys.modules[name]
        old = dict(vars(module))
        try:  # what is compiled of it may be of the same second
            os.unlink(module.__cached__)  # type: ignore[arg-type]
        except Exception:
            pass
        try:
            importlib.reload(module)
        except Exception as error:
            print(f"[autoreload of {name} failed: {type(error).__name__}: {error}]",
                  file=sys.stderr)  # fmt: skip
            return
        new = vars(module)
        for key, value in old.items():
            if key in new and new[key] is not value and type(new[key]) is type(value):
                self._renew(value, new[key])

    def _renew(self, old: Any, new: Any) -> None:
        if type(old) is types.FunctionType and old.__closure__ is None is new.__closure__:
            old.__code__, old.__defaults__ = new.__code__, new.__defaults__
            old.__kwdefaults__ = new.__kwdefaults__
        elif isinstance(old, type):
            for key, value in list(vars(new).items()):
                if key not in ("__dict__", "__weakref__", "__doc__"):
                    try:
                        setattr(old, key, value)
                    except (AttributeError, TypeError):
                        pass
        else:
            return
        for name, value in list(self._names.items()):
            if value is old:
                self._names[name] = new


_LIBRARY = os.path.dirname(os.__file__) + os.sep


def _stamp_of(path: str) -> Tuple[int, int]:
    """Its time and size: within a tick of the clock the time stays what it was."""
    try:
        seen = os.stat(path)
    except OSError:
        return 0, 0
    return seen.st_mtime_ns, seen.st_size


@magics_table.line_magic("autoreload")
def _autoreload(shell: Any, line: str, cell: Optional[str]) -> None:
    """%autoreload [0|1|2|now]: 2 loads modules that have changed again before every cell, 1 only
    those that %aimport names, 0 none; without a mode, or with `now`, once."""
    modes = {"off": "0", "explicit": "1", "all": "2", "complete": "2", "3": "2"}
    mode = line.strip().split(" ")[0].lower()
    mode = modes.get(mode, mode)
    if mode in ("", "now"):
        shell.reloader.look()
    elif mode in ("0", "1", "2"):
        shell.reloader.start(mode)
        shell.watch_modules(mode != "0")
    else:
        raise _UsageError(f"%autoreload knows 0, 1, 2 and now, not {mode!r}")


@magics_table.line_magic("aimport")
def _aimport(shell: Any, line: str, cell: Optional[str]) -> None:
    """%aimport MODULE, ...: imports it, for %autoreload 1."""
    for name in line.replace(",", " ").split():
        if name.startswith("-"):
            continue
        module = importlib.import_module(name)
        shell.user_ns[name.split(".")[0]] = sys.modules[name.split(".")[0]]
        shell.reloader.watched.append(module.__name__)
    shell.reloader.start(shell.reloader.mode)
