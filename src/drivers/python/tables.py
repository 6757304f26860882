"""Tables of pandas and polars: their text and HTML, and what an agent wants to know of them without
reading either: shape, types, the first rows."""

from __future__ import annotations

import builtins
import contextlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

from . import imports, jsontext, outputs

_MAX_HTML_CHARS = 1 << 20
_SHORT_ROWS = 20
_MAX_COLUMNS = 200
_HEAD_ROWS = 5
_MAX_CELL_CHARS = 200

_modules = sys.modules
_quote = jsontext.quote
_text_of = outputs.text_of

Described = Tuple[Iterable[Tuple[Any, Any]], Iterable[Iterable[Any]]]  # columns, rows


def install() -> None:
    """Before pandas is imported. It asks once whether it runs in a terminal, and would leave out
    columns to fit into that; and whenever it breaks lines, whether it runs in a notebook."""
    imports.surround("pandas.core.config_init", _in_a_kernel)
    imports.teach("pandas.io.formats.console", _say_notebook)


@contextlib.contextmanager
def _in_a_kernel() -> Iterator[None]:
    """What pandas looks for. The session's own shell does not have it: others take it as a promise
    of messages to a page."""
    names = vars(builtins)
    before = names.get("get_ipython")
    names["get_ipython"] = lambda: SimpleNamespace(kernel=None)
    try:
        yield
    finally:
        del names["get_ipython"]
        if before is not None:
            names["get_ipython"] = before


def _say_notebook(console: ModuleType) -> None:
    if hasattr(console, "in_ipython_frontend"):
        console.in_ipython_frontend = lambda: True


def of_pandas(obj: Any) -> Optional[str]:
    pandas = _modules.get("pandas")
    if pandas is None or not isinstance(obj, pandas.DataFrame):
        return None
    html = obj._repr_html_() or ""
    if len(html) > _MAX_HTML_CHARS:
        html = obj.head(_SHORT_ROWS).to_html()
    made = _table(obj, html, _describe_pandas)
    latex = getattr(obj, "_repr_latex_", None)  # gives something if an option of pandas says so
    return outputs.with_forms(made, "text/html", {"text/latex": latex() if latex else None}, "")


def _describe_pandas(obj: Any) -> Described:
    part = obj.iloc[:_HEAD_ROWS, :_MAX_COLUMNS]
    return zip(part.columns, part.dtypes), part.itertuples(index=False, name=None)


def of_polars(obj: Any) -> Optional[str]:
    polars = _modules.get("polars")
    if polars is None or not isinstance(obj, polars.DataFrame):
        return None
    return _table(obj, obj._repr_html_() or "", _describe_polars)


def _describe_polars(obj: Any) -> Described:
    return list(obj.schema.items())[:_MAX_COLUMNS], obj.head(_HEAD_ROWS).rows()


def _table(obj: Any, html: str, describe: Callable[[Any], Described]) -> str:
    if len(html) > _MAX_HTML_CHARS:
        html = ""
    rows, columns = obj.shape
    return (
        f'{{"type":"dataframe","text":{_quote(_text_of(obj))},"html":{_quote(html)},'
        f'"rows":{int(rows)},"columns":{int(columns)}{_details(obj, describe)}}}'
    )


def _details(obj: Any, describe: Callable[[Any], Described]) -> str:
    try:
        columns, rows = describe(obj)
        dtypes = [f'{{"name":{_cell(n)},"dtype":{_cell(t)}}}' for n, t in columns]
        head: List[str] = []
        for row in rows:
            cells = ",".join([_cell(value) for value in tuple(row)[:_MAX_COLUMNS]])
            head.append(f"[{cells}]")
    except KeyboardInterrupt:
        raise
    except BaseException:  # a cell whose own text fails: the table is shown without
        return ""
    return f',"dtypes":[{",".join(dtypes)}],"head":[{",".join(head[:_HEAD_ROWS])}]'


def _cell(value: Any) -> str:
    return _quote("".join((str(value),))[:_MAX_CELL_CHARS])


outputs.add_maker(of_polars)
outputs.add_maker(of_pandas)
