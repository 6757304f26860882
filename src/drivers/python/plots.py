"""matplotlib's figures as images: plt.show() and Figure.show() send them, in order with prints, and
so does the end of a cell. Works for every backend the user may choose, because pyplot itself is
taught, at the moment it is imported; nothing is imported for those who do not plot."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any, Callable, Optional

from . import imports, outputs, pictures

_PYPLOT = "matplotlib.pyplot"
_INLINE = "matplotlib_inline.backend_inline"
_SVG = "image/svg+xml"
_PLAIN_TEXT = "text/plain"
# IPython's names, the best first; others are shown as PNG.
_FORMS = {"svg": "svg", "retina": "retina", "png2x": "retina", "png": "png"}
_BytesIO = io.BytesIO
_image_output = outputs.image_output
_text_output = outputs.text_output
_text_of = outputs.text_of
_output_of_bundle = outputs.output_of_bundle
_with_metadata = outputs.with_metadata
_size_of = pictures.size_of

Send = Callable[[str], None]  # takes a typed output as JSON


class Plots:
    def __init__(self) -> None:
        self._send: Optional[Send] = None
        self._managers: Any = None  # matplotlib's Gcf, once pyplot is there
        self._figure_class: Any = None
        self._form = "png"

    def connect(self, send: Send) -> None:
        self._send = send

    def install(self) -> None:
        outputs.add_maker(self._figure_value)
        imports.teach(_PYPLOT, self.teach)
        imports.teach(_INLINE, self._teach_inline)

    def teach(self, pyplot: ModuleType) -> None:
        from matplotlib import _pylab_helpers, figure

        self._managers = _pylab_helpers.Gcf
        self._figure_class = figure.Figure
        plots = self

        def show(*args: Any, **kwargs: Any) -> None:
            """Display all open figures."""
            plots.show_all()

        def show_figure(figure: Any, warn: bool = True) -> None:
            """Display this figure."""
            plots.show_one(figure)

        pyplot.show = show  # type: ignore[attr-defined]
        figure.Figure.show = show_figure

    def _teach_inline(self, backend: ModuleType) -> None:
        plots = self

        def set_matplotlib_formats(*formats: Any, **kwargs: Any) -> None:
            """In which format figures are shown: "png", "retina" or "svg"."""
            plots.set_form(formats)

        backend.set_matplotlib_formats = set_matplotlib_formats  # type: ignore[attr-defined]

    def set_form(self, wanted: Any) -> None:
        """By IPython's name for it, or several, of which the best is taken."""
        names = {wanted} if isinstance(wanted, str) else set(wanted)
        known = [name for name in _FORMS if name in names]
        self._form = _FORMS[known[0]] if known else "png"

    def has_open(self) -> bool:
        return self._managers is not None and bool(self._managers.figs)

    def show_all(self, is_late: bool = False) -> None:
        """`is_late`: after the cell's value, and so they stand in notebooks."""
        for manager in list(self._managers.get_all_fig_managers()):
            self.show_one(manager.canvas.figure, is_late)

    def show_one(self, figure: Any, is_late: bool = False) -> None:
        self._close(figure)
        if self._send is not None:
            output = _render(figure, self._form)
            self._send(f'{output[:-1]},"late":true}}' if is_late else output)

    def close_all(self) -> None:
        if self._managers is not None:
            self._managers.destroy_all()

    def _close(self, figure: Any) -> None:
        for manager in list(self._managers.get_all_fig_managers()):
            if manager.canvas.figure is figure:
                self._managers.destroy(manager.num)

    def _figure_value(self, obj: Any) -> Optional[str]:
        """A figure that is a value is shown as one, and not once more as an open figure."""
        if self._figure_class is None or not isinstance(obj, self._figure_class):
            return None
        self._close(obj)
        return _render(obj, self._form)


def _render(figure: Any, form: str) -> str:
    """As notebooks show it: cut to what was drawn, so that a legend beside the axes is there. Of a
    figure without anything in it there is only its text."""
    text = _text_of(figure)
    if not figure.axes and not figure.lines:
        return _text_output(text)
    try:
        if form == "svg":
            return _output_of_bundle({_SVG: _draw(figure, "svg", 1).decode(), _PLAIN_TEXT: text})
        scale = 2 if form == "retina" else 1
        data = _draw(figure, "png", scale)
        size = _size_of(data, "png")
        made = _image_output(data, "png", text)
        if scale == 1 or size is None:
            return made
        shown = {"width": size[0] // scale, "height": size[1] // scale}
        return _with_metadata(made, {"image/png": shown})
    except Exception as error:
        return _text_output(f"<a figure that cannot be drawn: {type(error).__name__}: {error}>")


def _draw(figure: Any, form: str, scale: int) -> bytes:
    buffer = _BytesIO()
    try:
        figure.savefig(buffer, format=form, dpi=figure.dpi * scale, bbox_inches="tight")
    except Exception:  # something far outside: then without that
        buffer = _BytesIO()
        figure.savefig(buffer, format=form, dpi=figure.dpi * scale)
    return buffer.getvalue()
