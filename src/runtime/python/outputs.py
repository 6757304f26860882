"""Objects as typed outputs: text, html, dataframe, image, svg, markdown, latex, json. All bounded;
an object whose own methods fail is shown with that failure."""

from __future__ import annotations

import binascii
import itertools
import json
import sys
from typing import Any, Callable, Optional, Tuple

from . import jsontext

MAX_TEXT_CHARS = 1 << 20
MAX_IMAGE_BYTES = 24 << 20
_MAX_RICH_CHARS = 4 << 20
_MAX_TABLE_CHARS = 1 << 20
_SHORT_TABLE_ROWS = 20

_quote = jsontext.quote
_is_plain = jsontext.is_plain
_islice = itertools.islice
_to_base64 = binascii.b2a_base64
_dumps = json.dumps
_modules = sys.modules

_PLAIN = frozenset((int, float, complex, bool, type(None)))
_MAX_ITEMS = {
    **dict.fromkeys((str, bytes, bytearray), MAX_TEXT_CHARS),
    **dict.fromkeys((list, tuple, dict, set, frozenset), 20_000),
}


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
    """repr(), never longer than MAX_TEXT_CHARS and a note."""
    try:
        text, note = _bounded_repr(obj)
        text = "".join((text,))  # a plain str, whatever __repr__ returned
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<{type(obj).__name__} object; its __repr__ failed: {_short(error)}>"
    if len(text) > MAX_TEXT_CHARS:
        note = note or f"... ({len(text) - MAX_TEXT_CHARS} characters more)"
        text = text[:MAX_TEXT_CHARS]
    return text + note if note else text


def _bounded_repr(obj: Any) -> Tuple[str, str]:
    """The text, and a note if it is not all. Large built-in containers are cut before they are
    written out: a list of 10**8 numbers would otherwise need gigabytes to be shown."""
    kind = type(obj)
    limit = _MAX_ITEMS.get(kind)
    if limit is None or len(obj) <= limit:
        return repr(obj), ""
    note = f"... ({len(obj) - limit} of {len(obj)} items not shown)"
    if kind is dict:
        return repr(dict(_islice(obj.items(), limit))), note
    if kind is set or kind is frozenset:
        return repr(kind(_islice(obj, limit))), note
    return repr(obj[:limit]), note


def _short(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except Exception:
        return type(error).__name__


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
