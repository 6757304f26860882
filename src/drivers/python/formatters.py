"""Functions that show objects of a type, which users and libraries register by MIME type: what is
here of IPython's `display_formatter`. They go before what an object says of itself."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

PLAIN_TEXT = "text/plain"
# By MIME type; the last two are no types, but are asked in the same way.
METHODS = {
    PLAIN_TEXT: "_repr_pretty_",
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/javascript": "_repr_javascript_",
    "application/json": "_repr_json_",
    "application/pdf": "_repr_pdf_",
}
BUNDLE = "_repr_mimebundle_"
SHOW_YOURSELF = "_ipython_display_"

Show = Callable[..., Any]
_NOT_GIVEN = object()
_mro_of = type.__dict__["__mro__"].__get__
_modules = sys.modules


class Formatter:
    """Of one MIME type. Without a function the methods tell which one is registered."""

    def __init__(self, format_type: str) -> None:
        self.format_type = format_type
        self.enabled = True
        self.type_printers: Dict[Any, Show] = {}
        self.deferred_printers: Dict[Tuple[str, str], Show] = {}  # by module and name

    def for_type(self, typ: Any, func: Optional[Show] = None) -> Optional[Show]:
        """Show objects of a type, which may be given as 'module.Name', by a function. Returns the
        one that did so before."""
        if isinstance(typ, str):
            module, _, name = typ.rpartition(".")
            return self.for_type_by_name(module, name, func)
        before = self.find_for(typ)
        if func is not None:
            self.type_printers[typ] = func
        return before

    def for_type_by_name(
        self, type_module: str, type_name: str, func: Optional[Show] = None
    ) -> Optional[Show]:
        """Likewise, of a type that need not be imported yet."""
        found = getattr(_modules.get(type_module), type_name, None)
        if isinstance(found, type):
            return self.for_type(found, func)
        before = self.deferred_printers.get((type_module, type_name))
        if func is not None:
            self.deferred_printers[type_module, type_name] = func
        return before

    def pop(self, typ: Any, default: Any = _NOT_GIVEN) -> Any:
        """Forget the function of a type."""
        names = (typ.__module__, typ.__name__) if isinstance(typ, type) else _split(typ)
        found = self.deferred_printers.pop(names, None)
        found = self.type_printers.pop(typ, None) or found
        if found is None and default is _NOT_GIVEN:
            raise KeyError(f"No registered value for {typ!r}")
        return default if found is None else found

    def lookup_by_type(self, typ: Any) -> Show:
        found = self.find(typ) if isinstance(typ, type) else self.for_type(typ)
        if found is None:
            raise KeyError(f"No format found for type {typ!r}")
        return found

    def lookup(self, obj: Any) -> Show:
        return self.lookup_by_type(type(obj))

    def __contains__(self, typ: Any) -> bool:
        return self.for_type(typ) is not None

    def find(self, kind: type) -> Optional[Show]:
        """The function of a type or the nearest of its bases."""
        for base in _mro_of(kind):
            found = self.find_for(base)
            if found is not None:
                return found
        return None

    def find_for(self, kind: Any) -> Optional[Show]:
        """The function of this very type."""
        found = self.type_printers.get(kind)
        if found is None and self.deferred_printers:
            name = (getattr(kind, "__module__", ""), getattr(kind, "__name__", ""))
            found = self.deferred_printers.get(name)
        return found

    def is_used(self) -> bool:
        return bool(self.type_printers or self.deferred_printers)


def _split(name: Any) -> Tuple[str, str]:
    module, _, last = str(name).rpartition(".")
    return module, last


class PlainTextFormatter(Formatter):
    """Numbers of a precision too."""

    float_format = "%r"

    def set_precision(self, text: str) -> str:
        """`text` is a number of digits, a format, or empty: as they are. Returns the format."""
        form = "%r" if text == "" else f"%.{int(text)}f" if text.isdigit() else text
        if "%" not in form:
            raise ValueError(f"Precision must be int or format string, not {text!r}")
        form % 3.14159  # or it says what is wrong with it
        self.type_printers.pop(float, None)
        self.float_format = form
        if form != "%r":
            self.type_printers[float] = lambda obj, p, cycle: p.text(form % obj)
        return form


class DisplayFormatter:
    """`get_ipython().display_formatter`."""

    def __init__(self, bundle_of: Callable[..., Dict[str, Any]]) -> None:
        self.formatters = TABLE
        self.ipython_display_formatter = _BY_METHOD[SHOW_YOURSELF]
        self.mimebundle_formatter = _BY_METHOD[BUNDLE]
        self._bundle_of = bundle_of

    @property
    def active_types(self) -> List[str]:
        return [mime for mime, formatter in self.formatters.items() if formatter.enabled]

    @property
    def format_types(self) -> List[str]:
        return list(self.formatters)

    def format(
        self, obj: Any, include: Any = None, exclude: Any = None
    ) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """All forms of an object by MIME type, and what else is known of them: nothing."""
        return self._bundle_of(obj, include, exclude), {}


PLAIN = PlainTextFormatter(PLAIN_TEXT)
TABLE: Dict[str, Formatter] = {
    mime: PLAIN if mime == PLAIN_TEXT else Formatter(mime) for mime in METHODS
}
_BY_METHOD = {METHODS[mime]: formatter for mime, formatter in TABLE.items()}
_BY_METHOD.update({name: Formatter(name) for name in (BUNDLE, SHOW_YOURSELF)})
_ALL = tuple(_BY_METHOD.values())


def are_used() -> bool:
    for formatter in _ALL:
        if formatter.type_printers or formatter.deferred_printers:
            return True
    return False


def find(method: str, obj: Any) -> Optional[Show]:
    """The function that is registered in the place of a method of this object."""
    return _BY_METHOD[method].find(type(obj))


def is_registered(obj: Any) -> bool:
    return any(formatter.find(type(obj)) is not None for formatter in _ALL)
