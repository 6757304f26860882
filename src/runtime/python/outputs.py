"""Objects as typed outputs: text, html, dataframe, image, svg, markdown, latex, json. All bounded;
an object whose own methods fail is shown with that failure."""

from __future__ import annotations

import binascii
import json
import sys
from typing import Any, Callable, Optional, Tuple

from . import jsontext, pretty

MAX_TEXT_CHARS = 1 << 20
MAX_IMAGE_BYTES = 24 << 20
_MAX_RICH_CHARS = 4 << 20
_MAX_TABLE_CHARS = 1 << 20
_SHORT_TABLE_ROWS = 20

_quote = jsontext.quote
_is_plain = jsontext.is_plain
_pretty = pretty.text_of
_failure_of = pretty.failure_of
_to_base64 = binascii.b2a_base64
_dumps = json.dumps
_modules = sys.modules

_PLAIN = frozenset((int, float, complex, bool, type(None)))
_LONG = frozenset((str, bytes, bytearray))


def value_of(obj: Any) -> str:
    """The typed output of an object, as JSON."""
    if type(obj) in _PLAIN:
        return text_output(text_of(obj))
    for make in _MAKERS:
        try:
            made = make(obj)
        except KeyboardInterrupt:
            raise
        except BaseException:  # SystemExit too: an object being shown does not end the cell
            continue
        if made is not None:
            return made
    return text_output(text_of(obj))


def text_output(text: str) -> str:
    return f'{{"type":"text","text":{_quote(text)}}}'


def image_output(png: bytes) -> str:
    if len(png) > MAX_IMAGE_BYTES:
        return text_output(f"<an image of {len(png)} bytes: too large to show; save it to a file>")
    width, height = png_size(png)
    data = _to_base64(png, newline=False).decode()
    return (
        f'{{"type":"image","format":"png","width":{width},"height":{height},"data":"{data}"}}'
    )


def png_size(png: bytes) -> Tuple[int, int]:
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def text_of(obj: Any) -> str:
    """As IPython writes it (pretty.py), never longer than MAX_TEXT_CHARS and a note."""
    kind = type(obj)
    try:
        if kind in _PLAIN:
            return repr(obj)
        if kind in _LONG:
            return _long_text(obj)
        return _pretty_text(obj)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _failure_of(obj, error)


def _pretty_text(obj: Any) -> str:
    try:
        text, is_whole = _pretty(obj, MAX_TEXT_CHARS)
        return text if is_whole else text + "... (the rest is not shown)"
    except RecursionError:  # repr() goes deeper
        text = "".join((repr(obj),))
        return text[:MAX_TEXT_CHARS]


def _long_text(obj: Any) -> str:
    """Cut before it is written out, which may take ten times the memory."""
    left_out = len(obj) - MAX_TEXT_CHARS
    if left_out <= 0:
        text = repr(obj)
        if len(text) <= MAX_TEXT_CHARS:
            return text
    else:
        text = repr(obj[:MAX_TEXT_CHARS])
    note = f"... ({max(left_out, 0) or 'some'} of {len(obj)} items not shown)"
    return text[:MAX_TEXT_CHARS] + note


def _call(obj: Any, name: str) -> Any:
    """What a method of IPython's display protocol gives. Asked of the class first: objects that
    answer to every name (mocks, proxies) are not meant."""
    if isinstance(obj, type) or getattr(type(obj), name, None) is None:
        return None
    method = getattr(obj, name, None)
    return method() if callable(method) else None


def _rich(obj: Any, name: str) -> Optional[str]:
    made = _call(obj, name)
    if isinstance(made, tuple) and made:  # (data, metadata)
        made = made[0]
    if isinstance(made, str) and len(made) <= _MAX_RICH_CHARS:
        return "".join((made,))
    return None


def _dataframe(obj: Any) -> Optional[str]:
    pandas = _modules.get("pandas")
    if pandas is None or not isinstance(obj, pandas.DataFrame):
        return None
    html = obj._repr_html_() or ""
    if len(html) > _MAX_TABLE_CHARS:
        html = obj.head(_SHORT_TABLE_ROWS).to_html()
    if len(html) > _MAX_TABLE_CHARS:
        html = ""
    rows, columns = obj.shape
    return (
        f'{{"type":"dataframe","text":{_quote(text_of(obj))},"html":{_quote(html)},'
        f'"rows":{int(rows)},"columns":{int(columns)}}}'
    )


def _html(obj: Any) -> Optional[str]:
    html = _rich(obj, "_repr_html_")
    if html is None:
        return None
    return f'{{"type":"html","html":{_quote(html)},"text":{_quote(text_of(obj))}}}'


def _svg(obj: Any) -> Optional[str]:
    svg = _rich(obj, "_repr_svg_")
    if svg is None:
        return None
    return f'{{"type":"svg","svg":{_quote(svg)},"text":{_quote(text_of(obj))}}}'


def _png(obj: Any) -> Optional[str]:
    made = _call(obj, "_repr_png_")
    if isinstance(made, tuple) and made:
        made = made[0]
    if isinstance(made, bytes) and made.startswith(b"\x89PNG"):
        return image_output(made)
    return None


def _markdown(obj: Any) -> Optional[str]:
    text = _rich(obj, "_repr_markdown_")
    return None if text is None else f'{{"type":"markdown","text":{_quote(text)}}}'


def _latex(obj: Any) -> Optional[str]:
    text = _rich(obj, "_repr_latex_")
    return None if text is None else f'{{"type":"latex","text":{_quote(text)}}}'


def _json(obj: Any) -> Optional[str]:
    made = _call(obj, "_repr_json_")
    if isinstance(made, tuple) and made:
        made = made[0]
    if made is None or not _is_plain(made):
        return None
    document = _dumps(made, ensure_ascii=False)
    if len(document) > _MAX_RICH_CHARS:
        return None
    return f'{{"type":"json","json":{document},"text":{_quote(text_of(obj))}}}'


_MAKERS: list[Callable[[Any], Optional[str]]] = [
    _dataframe, _html, _svg, _png, _markdown, _latex, _json,
]  # fmt: skip


def add_maker(make: Callable[[Any], Optional[str]]) -> None:
    """`make` is asked before all others."""
    _MAKERS.insert(0, make)
