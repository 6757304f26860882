"""display() and its relatives: objects as outputs of the running cell, at their place between what
it prints; outputs that are replaced later; outputs that are dropped."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Optional

from . import jsontext, outputs

_MAX_ID_BYTES = 200
_urandom = os.urandom
_quote = jsontext.quote
_to_bytes = jsontext.to_bytes
_value_of = outputs.value_of
_output_of_bundle = outputs.output_of_bundle
_text_of = outputs.text_of
_with_metadata = outputs.with_metadata
_NOTHING = outputs.NOTHING

Tell = Callable[[str, str], bool]  # an event and its members as JSON; False: nobody listens


class Displays:
    """The functions are attributes, so that they can be given to other modules."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.handle_class: Any = DisplayHandle
        self.display = _placed("builtins", self._make_display())
        self.update_display = _placed("IPython.display", self._make_update_display())
        self.clear_output = _placed("IPython.display", self._make_clear_output())
        self.publish_display_data = _placed("IPython.display", self._make_publish())

    def _make_display(self) -> Callable[..., Any]:
        displays = self

        def display(
            *objs: Any,
            include: Any = None,
            exclude: Any = None,
            metadata: Any = None,
            transient: Any = None,
            display_id: Any = None,
            raw: bool = False,
            clear: bool = False,
            update: bool = False,
            **kwargs: Any,
        ) -> Any:
            """Show objects as outputs of this cell, richly where they can be.

            With a `display_id` (True makes one) a handle is returned whose update() shows another
            object in their place. `include` and `exclude` are MIME types; with `raw` the objects
            are dictionaries by MIME type. `clear` drops what was shown before."""
            number = displays._id_of(display_id, transient)
            if update and number is None:
                raise TypeError("display_id required for update_display")
            if clear:
                displays.clear_output(wait=True)
            if not objs and number is not None:
                objs, raw = ({},), True
            for obj in objs:
                displays._show(obj, number, update, raw, metadata, include, exclude)
            return None if number is None or not display_id else displays.handle_class(number)

        return display

    def _make_update_display(self) -> Callable[..., None]:
        displays = self

        def update_display(obj: Any, *, display_id: Any, **kwargs: Any) -> None:
            """Show an object in the place of those that were shown with this id."""
            kwargs["update"] = True
            displays.display(obj, display_id=display_id, **kwargs)

        return update_display

    def _make_clear_output(self) -> Callable[..., None]:
        displays = self

        def clear_output(wait: bool = False) -> None:
            """Drop what this cell has shown so far; with `wait` once there is more to show."""
            displays._tell("clear", '"wait":true' if wait else '"wait":false')

        return clear_output

    def _make_publish(self) -> Callable[..., None]:
        displays = self

        def publish_display_data(
            data: Any, metadata: Any = None, source: Any = None, *, transient: Any = None,
            update: bool = False, **kwargs: Any,
        ) -> None:  # fmt: skip
            """Show a dictionary by MIME types."""
            displays._show(data, displays._id_of(None, transient), update, True, metadata)

        return publish_display_data

    def _id_of(self, display_id: Any, transient: Any) -> Optional[str]:
        if not display_id and isinstance(transient, dict):
            display_id = transient.get("display_id")
        if not display_id:
            return None
        if display_id is True:
            return new_id()
        number = display_id if type(display_id) is str else str(display_id)
        if len(_to_bytes(_quote(number))) > _MAX_ID_BYTES:
            raise ValueError(f"a display_id has at most {_MAX_ID_BYTES - 2} bytes")
        return number

    def _show(
        self, obj: Any, number: Optional[str], update: bool, raw: bool, metadata: Any,
        include: Any = None, exclude: Any = None,
    ) -> None:  # fmt: skip
        output = _output_of_bundle(obj) if raw else _value_of(obj, include, exclude)
        output = _with_metadata(output, metadata)
        if output == _NOTHING:
            return
        if number is not None:
            output = f'{output[:-1]},"display_id":{_quote(number)}}}'
        members = f'"output":{output},"update":true' if update else f'"output":{output}'
        if not self._tell("display", members):
            print(_text_of(obj))


def _placed(module: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Who saves a reference to it finds it there again."""
    function.__module__ = module
    function.__qualname__ = function.__name__
    return function


def new_id() -> str:
    return _urandom(16).hex()


# Set when a session begins: a handle that was saved belongs to whichever session loads it.
current: Dict[str, Displays] = {}


class DisplayHandle:
    """What was shown with an id, and can be shown anew."""

    def __init__(self, display_id: Optional[str] = None) -> None:
        self.display_id = new_id() if display_id is None else display_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} display_id={self.display_id}>"

    def display(self, obj: Any, **kwargs: Any) -> None:
        """Show an object once more, with this id."""
        current["session"].display(obj, display_id=self.display_id, **kwargs)

    def update(self, obj: Any, **kwargs: Any) -> None:
        """Show an object in the place of those that were shown with this id."""
        current["session"].update_display(obj, display_id=self.display_id, **kwargs)
