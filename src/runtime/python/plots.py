"""matplotlib's figures as images: plt.show() and Figure.show() send them, in order with prints, and
so does the end of a cell. Works for every backend the user may choose, because pyplot itself is
taught, at the moment it is imported; nothing is imported for those who do not plot."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any, Callable, Optional

from . import imports, outputs

_PYPLOT = "matplotlib.pyplot"
_BytesIO = io.BytesIO
_image_output = outputs.image_output
_text_output = outputs.text_output
_text_of = outputs.text_of

Send = Callable[[str], None]  # takes a typed output as JSON


class Plots:
    def __init__(self) -> None:
        self._send: Optional[Send] = None
        self._managers: Any = None  # matplotlib's Gcf, once pyplot is there
        self._figure_class: Any = None

    def connect(self, send: Send) -> None:
        self._send = send

    def install(self) -> None:
        outputs.add_maker(self._figure_value)
        imports.teach(_PYPLOT, self.teach)

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

    def has_open(self) -> bool:
        return self._managers is not None and bool(self._managers.figs)

    def show_all(self, is_late: bool = False) -> None:
        """`is_late`: after the cell's value, and so they stand in notebooks."""
        for manager in list(self._managers.get_all_fig_managers()):
            self.show_one(manager.canvas.figure, is_late)

    def show_one(self, figure: Any, is_late: bool = False) -> None:
        self._close(figure)
        if self._send is not None:
            output = _render(figure)
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
        return _render(obj)


def _render(figure: Any) -> str:
    """As notebooks show it: cut to what was drawn, so that a legend beside the axes is there. Of a
    figure without anything in it there is only its text."""
    text = _text_of(figure)
    if not figure.axes and not figure.lines:
        return _text_output(text)
    try:
        return _image_output(_draw(figure), "png", text)
    except Exception as error:
        return _text_output(f"<a figure that cannot be drawn: {type(error).__name__}: {error}>")


def _draw(figure: Any) -> bytes:
    buffer = _BytesIO()
    try:
        figure.savefig(buffer, format="png", dpi=figure.dpi, bbox_inches="tight")
    except Exception:  # something far outside: then without that
        buffer = _BytesIO()
        figure.savefig(buffer, format="png", dpi=figure.dpi)
    return buffer.getvalue()
