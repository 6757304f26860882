"""Objects as typed outputs: text, html, dataframe, image, svg, markdown, latex, json. All bounded;
an object whose own methods fail is shown with that failure."""

from __future__ import annotations

import binascii
import json
import sys
from typing import Any, Callable, Container, Dict, Iterable, List, Optional, Tuple

from . import formatters, jsontext, pictures, pretty

MAX_TEXT_CHARS = 1 << 20
MAX_IMAGE_BYTES = 24 << 20
_MAX_RICH_CHARS = 4 << 20
_MAX_FORMS = 32
_MAX_FORMS_CHARS = 1 << 20
_MAX_METADATA_CHARS = 16 << 10

NOTHING = "null"
Wanted = Optional[Container[str]]

_quote = jsontext.quote
_is_plain = jsontext.is_plain
_read_object = jsontext.read_object
_pretty = pretty.text_of
_failure_of = pretty.failure_of
_plain_formatter = formatters.PLAIN
_are_registered = formatters.are_used
_is_registered = formatters.is_registered
_find_registered = formatters.find
_to_base64 = binascii.b2a_base64
_from_base64 = binascii.a2b_base64
_dumps = json.dumps
_modules = sys.modules

_PLAIN = frozenset((int, float, complex, bool, type(None)))
_LONG = frozenset((str, bytes, bytearray))
_UNADORNED = frozenset((*_PLAIN, *_LONG, list, tuple, dict, set, frozenset, type))

_PLAIN_TEXT = formatters.PLAIN_TEXT
_SHOW_YOURSELF = formatters.SHOW_YOURSELF

# What is shown of an object that offers several: as notebooks choose.
_TEXTS = {
    "text/html": ("html", "html"),
    "text/markdown": ("markdown", "text"),
    "text/latex": ("latex", "text"),
    "image/svg+xml": ("svg", "svg"),
}
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif"}
_ORDER = (
    "text/html", "text/markdown", "text/latex", "image/svg+xml", *_IMAGES, "application/json",
)  # fmt: skip
_WORDLESS = ("text/markdown", "text/latex")  # as typed outputs they have no plain text beside them
_METHODS = formatters.METHODS
# Cheap to ask for. No caller runs scripts: they are for Jupyter.
_BESIDE = (
    "text/html", "text/markdown", "text/latex", "application/json", "application/javascript",
)  # fmt: skip


def value_of(obj: Any, include: Wanted = None, exclude: Wanted = None) -> str:
    """The typed output of an object, as JSON; NOTHING if it showed itself, or if nothing of it is
    wanted. `include` and `exclude` are MIME types."""
    are_registered = _are_registered()
    if type(obj) in _UNADORNED and not are_registered:
        return text_output(text_of(obj)) if _is_wanted(_PLAIN_TEXT, include, exclude) else NOTHING
    if include is None and exclude is None and not (are_registered and _is_registered(obj)):
        for make in _MAKERS:
            try:
                made = make(obj)
            except KeyboardInterrupt:
                raise
            except BaseException:  # SystemExit too: an object being shown does not end the cell
                continue
            if made is not None:
                return made
    return _by_protocol(obj, include, exclude)


def bundle_of(obj: Any, include: Wanted = None, exclude: Wanted = None) -> Dict[str, Any]:
    """All that an object offers, by MIME type, as it gives it; empty if it showed itself."""
    protocol = _Protocol(obj)
    if protocol.has_shown_itself():
        return {}
    protocol.fill(include, exclude)
    found = {mime: protocol.data(mime) for mime in protocol.mimes()}
    found[_PLAIN_TEXT] = protocol.text()
    return {
        mime: data
        for mime, data in found.items()
        if data is not None and _is_wanted(mime, include, exclude)
    }


def output_of_bundle(bundle: Any) -> str:
    """The best of what a dictionary by MIME types offers."""
    if not isinstance(bundle, dict):
        raise TypeError(f"data must be a dict, got: {type(bundle).__name__}")
    text = bundle.get(_PLAIN_TEXT)
    given = "".join((text,))[:MAX_TEXT_CHARS] if isinstance(text, str) else ""
    for mime in _ORDER:
        made = _typed(mime, bundle.get(mime), lambda: given) if mime in bundle else None
        if made is not None:
            return with_forms(made, mime, bundle, given)
    if bundle and text is None:  # nothing that can be shown: then what there is
        given = text_of(bundle)
    return with_forms(text_output(given), _PLAIN_TEXT, bundle, given)


def with_metadata(made: str, metadata: Any) -> str:
    """With what is known of its forms, by MIME type: in which size an image is to be shown."""
    if not issubclass(type(metadata), dict) or not metadata or made == NOTHING:
        return made
    known = {mime: value for mime, value in dict.items(metadata) if _is_plain({mime: value})}
    if '"metadata":{' in made:  # maybe; if it has none nothing but time is lost
        output = _read_object(made)
        known = {**output.pop("metadata", {}), **known}
        made = _dumps(output, ensure_ascii=False)
    written = _dumps(known, ensure_ascii=False)
    if not known or len(written) > _MAX_METADATA_CHARS:
        return made
    return f'{made[:-1]},"metadata":{written}}}'


def bundle_of_output(read: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The other way round: forms by MIME type, and what is known of them."""
    forms: Dict[str, Any] = {}
    if read["type"] == "image":
        forms[f"image/{read['format']}"] = read["data"]
    elif read["type"] == "dataframe" and read.get("html"):
        forms["text/html"] = read["html"]
    elif read["type"] == "json":
        forms["application/json"] = read["json"]
    for mime, (kind, member) in _TEXTS.items():
        if read["type"] == kind:
            forms[mime] = read[member]
    if read["type"] not in ("markdown", "latex") and "text" in read:
        forms[_PLAIN_TEXT] = read["text"]
    return {**forms, **read.get("mime", {})}, read.get("metadata", {})


def text_output(text: str) -> str:
    return f'{{"type":"text","text":{_quote(text)}}}'


def image_output(data: bytes, form: str = "png", text: str = "") -> str:
    if len(data) > MAX_IMAGE_BYTES:
        return text_output(f"<an image of {len(data)} bytes: too large to show; save it to a file>")
    size = pictures.size_of(data, form)
    shape = f'"width":{size[0]},"height":{size[1]},' if size is not None else ""
    said = f',"text":{_quote(text)}' if text else ""
    encoded = _to_base64(data, newline=False).decode()
    return f'{{"type":"image","format":"{form}",{shape}"data":"{encoded}"{said}}}'


def text_of(obj: Any) -> str:
    """As IPython writes it (pretty.py), never longer than MAX_TEXT_CHARS and a note."""
    kind = type(obj)
    try:
        if (kind in _PLAIN or kind in _LONG) and not _plain_formatter.is_used():
            return _long_text(obj) if kind in _LONG else repr(obj)
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


def _pil_image(obj: Any) -> Optional[str]:
    module = _modules.get("PIL.Image")
    if module is None or not isinstance(obj, module.Image):
        return None
    return image_output(pictures.png_of(obj), "png", text_of(obj))


def _short_failure(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except Exception:
        return type(error).__name__


def _call(obj: Any, name: str, options: Dict[str, Any]) -> Any:
    """What a method of IPython's display protocol gives. Asked of the class first: objects that
    answer to every name (mocks, proxies) are not meant."""
    if isinstance(obj, type) or getattr(type(obj), name, None) is None:
        return None
    method = getattr(obj, name, None)
    return method(**options) if callable(method) else None


def _is_wanted(mime: str, include: Wanted, exclude: Wanted) -> bool:
    return (include is None or mime in include) and (exclude is None or mime not in exclude)


class _Protocol:
    """IPython's, for one object. What fails is left out, and told if nothing but text is left."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj
        self._bundle: Dict[Any, Any] = {}
        self._given: Dict[str, Any] = {}  # by MIME type: what methods have given
        self._wanted: Tuple[Wanted, Wanted] = (None, None)
        self._metadata: Dict[Any, Any] = {}  # by MIME type
        self.failures: List[str] = []

    def ask(self, name: str, **options: Any) -> Any:
        """None: there is no such method, or it gave nothing or failed."""
        try:
            registered = _find_registered(name, self._obj)
            if registered is not None:
                return registered(self._obj, **options)
            return _call(self._obj, name, options)
        except KeyboardInterrupt:
            raise
        except NotImplementedError:
            return None
        except BaseException as error:
            self.failures.append(f"\n<its {name} failed: {_short_failure(error)}>")
            return None

    def has_shown_itself(self) -> bool:
        try:
            kind = type(self._obj)
            registered = _find_registered(_SHOW_YOURSELF, self._obj)
            if registered is not None:
                registered(self._obj)
                return True
            if issubclass(kind, type) or getattr(kind, _SHOW_YOURSELF, None) is None:
                return False
            _call(self._obj, _SHOW_YOURSELF, {})
            return True
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if not isinstance(error, NotImplementedError):
                self.failures.append(f"\n<its {_SHOW_YOURSELF} failed: {_short_failure(error)}>")
            return False

    def fill(self, include: Wanted, exclude: Wanted) -> None:
        self._wanted = (include, exclude)
        made = self.ask(formatters.BUNDLE, include=include, exclude=exclude)
        if type(made) is tuple and made:  # (data, metadata)
            if issubclass(type(made[-1]), dict) and len(made) > 1:
                self._metadata.update(made[-1])
            made = made[0]
        if issubclass(type(made), dict):
            self._bundle = {
                mime: data
                for mime, data in dict.items(made)
                if type(mime) is str and _is_wanted(mime, include, exclude)
            }

    def data(self, mime: str) -> Any:
        """A function that was registered goes before the bundle, and that before a method."""
        method = _METHODS.get(mime)
        if mime in self._bundle and not (method and _find_registered(method, self._obj)):
            return self._bundle[mime]
        if mime not in self._given:
            self._given[mime] = self.ask(method) if method else None
        return self._given[mime]

    def mimes(self) -> Iterable[str]:
        return (*(mime for mime in _METHODS if mime != _PLAIN_TEXT), *self._bundle)

    def typed(self, mime: str) -> Optional[str]:
        data = self.data(mime)
        try:
            if type(data) is tuple and len(data) > 1:  # (data, metadata)
                self._metadata.setdefault(mime, data[1])
            made = None if data is None else _typed(mime, data, self.text)
            return None if made is None else self.with_forms(made, mime)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None

    def with_forms(self, made: str, shown: str) -> str:
        is_silent = shown in _WORDLESS and _is_wanted(_PLAIN_TEXT, *self._wanted)
        forms = dict(self._bundle)
        asked = _BESIDE if shown != _PLAIN_TEXT else _BESIDE[-1:]  # the others gave nothing
        forms.update((mime, self.data(mime)) for mime in asked if _is_wanted(mime, *self._wanted))
        made = with_forms(made, shown, forms, self.text() if is_silent else "")
        return with_metadata(made, self._metadata)

    def text(self) -> str:
        text = self._bundle.get(_PLAIN_TEXT)
        if issubclass(type(text), str):
            return "".join((text,))[:MAX_TEXT_CHARS]
        return text_of(self._obj)


def _by_protocol(obj: Any, include: Wanted, exclude: Wanted) -> str:
    protocol = _Protocol(obj)
    if protocol.has_shown_itself():
        return NOTHING
    protocol.fill(include, exclude)
    for mime in _ORDER:
        if _is_wanted(mime, include, exclude):
            made = protocol.typed(mime)
            if made is not None:
                return made
    if not _is_wanted(_PLAIN_TEXT, include, exclude):
        return NOTHING
    text = text_output(protocol.text() + "".join(protocol.failures))
    return protocol.with_forms(text, _PLAIN_TEXT)


def with_forms(made: str, shown: str, bundle: Dict[Any, Any], text: str) -> str:
    """With the other forms there are: a chart as its library's page draws it, the plain text
    beside a formula. Notebooks keep them for those who can show them."""
    forms: List[str] = []
    left = _MAX_FORMS_CHARS
    if shown in _WORDLESS and text:
        bundle = {**bundle, _PLAIN_TEXT: text}
    for mime, data in dict.items(bundle):
        is_said = mime == _PLAIN_TEXT and shown not in _WORDLESS
        if type(mime) is not str or mime == shown or is_said or len(forms) == _MAX_FORMS:
            continue
        written = _form(mime, data)
        if written is not None and len(written) <= left:
            left -= len(written)
            forms.append(f"{_quote(mime)}:{written}")
    return f'{made[:-1]},"mime":{{{",".join(forms)}}}}}' if forms else made


def _form(mime: str, data: Any) -> Optional[str]:
    """As JSON; None if that cannot be."""
    if type(data) is tuple and data:  # (data, metadata)
        data = data[0]
    if data is None:
        return None
    if mime == "application/json" or mime.endswith("+json"):
        return _dumps(data, ensure_ascii=False) if _is_plain(data) else None
    if mime in _IMAGES and isinstance(data, (bytes, bytearray)):
        return f'"{_to_base64(data, newline=False).decode()}"'
    return _quote("".join((data,))) if issubclass(type(data), str) else None


def _typed(mime: str, data: Any, text: Callable[[], str]) -> Optional[str]:
    """None if the data is not what the MIME type says, or too long."""
    if isinstance(data, tuple) and data:  # (data, metadata)
        data = data[0]
    form = _IMAGES.get(mime)
    if form is not None:
        return _image(data, form, text)
    if mime == "application/json":
        return _json(data, text)
    if isinstance(data, bytes):
        data = data.decode()
    if not isinstance(data, str) or len(data) > _MAX_RICH_CHARS:
        return None
    kind, member = _TEXTS[mime]
    content = "".join((data,))
    words = text() if member != "text" else ""
    said = f',"text":{_quote(words)}' if words else ""
    return f'{{"type":"{kind}","{member}":{_quote(content)}{said}}}'


def _image(data: Any, form: str, text: Callable[[], str]) -> Optional[str]:
    if isinstance(data, str):
        data = _from_base64(data) if len(data) <= 2 * MAX_IMAGE_BYTES else b""
    if not isinstance(data, (bytes, bytearray)) or not pictures.is_a(bytes(data[:16]), form):
        return None
    return image_output(bytes(data), form, text())


def _json(data: Any, text: Callable[[], str]) -> Optional[str]:
    if not _is_plain(data):
        return None
    document = _dumps(data, ensure_ascii=False)
    if len(document) > _MAX_RICH_CHARS:
        return None
    return f'{{"type":"json","json":{document},"text":{_quote(text())}}}'


_MAKERS: List[Callable[[Any], Optional[str]]] = [_pil_image]


def add_maker(make: Callable[[Any], Optional[str]]) -> None:
    """`make` is asked before all others."""
    _MAKERS.insert(0, make)
