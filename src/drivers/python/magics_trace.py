"""Magics about what code did: where its time went, how the last cell failed."""

from __future__ import annotations

import ast
from typing import Any, Optional

from . import jsontext, magics_table

_UsageError = magics_table.UsageError
_SHOWN = 40  # functions, unless -l says otherwise
_SORTS = ("calls", "cumulative", "filename", "ncalls", "name", "nfl", "pcalls", "stdname", "time")
_ORDERS = {"cumtime": "cumulative", "tottime": "time", "line": "line", "file": "filename"}


@magics_table.line_magic("prun", expands=False)
@magics_table.cell_magic("prun", expands=False)
def _prun(shell: Any, line: str, cell: Optional[str]) -> Any:
    """%prun [-s ORDER] [-l COUNT] [-q] [-r] STATEMENT, %%prun: where the time goes, function by
    function; -r returns the statistics."""
    import cProfile
    import io
    import pstats

    found, rest = magics_table.options(line, "s:l:qr")
    order = _ORDERS.get(found.get("s", "time"), found.get("s", "time"))
    if order not in _SORTS and order != "line":
        raise _UsageError(f"%prun cannot sort by {order!r}; it can by {', '.join(_SORTS)}")
    count = magics_table.count_of(found, "l", _SHOWN)
    if cell is None and not rest:
        raise _UsageError("%prun wants code to run")
    statements = shell.parse_python(rest, cell)
    name = shell.caller().f_code.co_filename
    code = shell.compile_tree(ast.Module(statements, []), name)
    profile = cProfile.Profile()
    try:
        profile.runctx(code, shell.user_ns, shell.user_ns)
    finally:
        profile.disable()
        text = io.StringIO()
        stats = pstats.Stats(profile, stream=text).strip_dirs().sort_stats(order)
        if "q" not in found:
            stats.print_stats(count)
            print(text.getvalue().strip("\n"))
    return stats if "r" in found else None


@magics_table.line_magic("tb")
def _tb(shell: Any, line: str, cell: Optional[str]) -> None:
    """%tb: the traceback of the last cell that failed."""
    error = shell.last_error()
    print(jsontext.read_object(error)["traceback"].rstrip("\n") if error else _NONE)


_NONE = "No traceback available to show."
