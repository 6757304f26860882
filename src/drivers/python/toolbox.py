"""The tools that code calls, for an interpreter that does nothing else (an assistant of a session):
finds the function, calls it, and writes what it says as a frame.

The functions lie in tools/. A module of theirs is loaded when one of its tools is called first, and
sees nothing of the driver. No code of the user's ever runs here.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any, Callable, Dict

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools")
_PACKAGE = "_cella_tools"

_MODULES = {
    "workspace": ("read_file", "write_file", "list_directory", "file_write_safe", "log_append"),
    "data": ("json_query", "csv_to_json", "json_to_csv", "sql_query"),
    "pictures": ("plot_braille", "plot_function", "histogram", "plot_sixel", "render_math"),
    "processes": (
        "python_eval", "run_shell", "git_status", "lint_python", "run_python_code",
        "benchmark_run", "run_command",
    ),
    "arithmetic": ("calculate",),
    "statistic": ("statistics", "monte_carlo", "monte_carlo_native", "mcmc", "bayesopt"),
    "symbols": ("symbolic_solve", "math_simplify"),
    "linear": ("matrix_solve", "matrix_eigenvalues", "matrix_svd", "solve_ode", "optimize"),
    "results": ("keep_result",),
    "analysis": ("find_calls",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

_functions: Dict[str, Callable[..., Any]] = {}


def answer(frame: Dict[str, Any]) -> str:
    """What the tool says, as a frame. Whatever it raises is an answer too."""
    number = frame["id"]
    try:
        function = _functions.get(frame["name"]) or _find(frame["name"])
        result = function(**frame["args"])
        text = sys.modules[f"{_PACKAGE}.results"].write(result, bool(frame.get("whole")))
        return f'{{"ev":"tool","id":{number},"result":{text}}}'
    except BaseException as error:
        return f'{{"ev":"tool","id":{number},"error":{_describe(error)}}}'


def _find(name: str) -> Callable[..., Any]:
    if _PACKAGE not in sys.modules:
        _begin()
    module = _load(_MODULE_OF[name])
    function: Callable[..., Any] = getattr(module, name)
    _functions[name] = function
    return function


def _begin() -> None:
    """Modules of the workspace are not taken for those of the library."""
    sys.path[:] = [path for path in sys.path if path not in ("", "/workspace")]
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [_FOLDER]
    sys.modules[_PACKAGE] = package
    _load("results")


def _load(name: str) -> types.ModuleType:
    return importlib.import_module(f"{_PACKAGE}.{name}")


def _describe(error: BaseException) -> str:
    """Its code, message and advice. A Refused of tools/results.py has all of them."""
    results = sys.modules.get(f"{_PACKAGE}.results")
    if results is None:
        return '{"code":"internal","message":"the tools cannot be loaded","advice":""}'
    text: str = results.describe(error)
    return text
