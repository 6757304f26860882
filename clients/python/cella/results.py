"""What running code gave, as objects that print and show themselves."""

from __future__ import annotations

import base64
import typing as t

from . import shapes
from .errors import CodeFailed

UNFINISHED = ("running", "queued", "input_required", "tool_call_required")


class Output:
    """One thing that a cell displayed, or its value: docs/OUTPUTS.md has the types. In Jupyter it
    shows itself as it did in the session."""

    def __init__(self, told: shapes.Output) -> None:
        self.told = told

    @property
    def type(self) -> str:
        return self.told["type"]

    @property
    def text(self) -> str:
        """What a terminal shows."""
        return self.told.get("text", "")

    def __str__(self) -> str:
        return self.text or f"<{self.type}>"

    def __repr__(self) -> str:
        return f"<Output {self.type} {self.text[:60]!r}>"

    def _repr_html_(self) -> t.Optional[str]:
        return self.told.get("html")

    def _repr_markdown_(self) -> t.Optional[str]:
        return self.told.get("markdown")

    def _repr_latex_(self) -> t.Optional[str]:
        return self.told.get("latex")

    def _repr_svg_(self) -> t.Optional[str]:
        return self.told.get("svg")


class Image(Output):
    """A picture; `data` is its bytes, `format` says png, jpeg or gif."""

    def __init__(self, told: shapes.Output, data: bytes) -> None:
        super().__init__(told)
        self.data = data

    @property
    def format(self) -> str:
        return self.told.get("format", "png")

    @property
    def width(self) -> int:
        return self.told.get("width") or 0

    @property
    def height(self) -> int:
        return self.told.get("height") or 0

    def save(self, path: str) -> None:
        with open(path, "wb") as file:
            file.write(self.data)

    def __repr__(self) -> str:
        return f"<Image {self.format} {self.width}x{self.height}, {len(self.data)} bytes>"

    def _repr_png_(self) -> t.Optional[bytes]:
        return self.data if self.format == "png" else None

    def _repr_jpeg_(self) -> t.Optional[bytes]:
        return self.data if self.format == "jpeg" else None


def output_of(told: shapes.Output, data: t.Optional[bytes] = None) -> Output:
    """An Image if its bytes are known, else an Output."""
    if told["type"] != "image":
        return Output(told)
    if data is None and "data" in told:
        data = base64.b64decode(told["data"])
    return Output(told) if data is None else Image(told, data)


class Result:
    """What a cell gave. Printed, it reads as a terminal would show it."""

    def __init__(self, told: shapes.Answer, value: t.Optional[Output] = None,
                 outputs: t.Sequence[Output] = ()) -> None:
        self.told, self.value, self.outputs = told, value, list(outputs)

    @property
    def status(self) -> str:
        """ok, error, interrupted, timeout, died; or running, queued, input_required,
        tool_call_required."""
        return self.told["status"]

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def is_finished(self) -> bool:
        return self.status not in UNFINISHED

    @property
    def number(self) -> int:
        """The cell's number in its session, from 1."""
        return self.told["number"]

    @property
    def cell_id(self) -> t.Optional[str]:
        return self.told.get("cell_id")

    @property
    def stdout(self) -> str:
        return self.told.get("stdout", "")

    @property
    def stderr(self) -> str:
        return self.told.get("stderr", "")

    @property
    def text(self) -> t.Optional[str]:
        """The last expression's value as text; None if there is none."""
        return self.value.text if self.value is not None else None

    @property
    def images(self) -> t.List[Image]:
        every = self.outputs + ([self.value] if self.value is not None else [])
        return [output for output in every if isinstance(output, Image)]

    @property
    def error(self) -> t.Optional[shapes.CellError]:
        """name, message, traceback, line, advice of what the code raised."""
        return self.told.get("error")

    @property
    def prompt(self) -> t.Optional[str]:
        """What the cell asks, if it waits for a line: Session.input gives it."""
        asked = self.told.get("input")
        return asked["prompt"] if asked else None

    @property
    def checkpoint(self) -> t.Optional[int]:
        """What undo goes back to."""
        return self.told.get("checkpoint")

    @property
    def names(self) -> shapes.Names:
        """What the cell added, changed and removed."""
        return self.told.get("names", {})

    @property
    def seconds(self) -> float:
        return self.told.get("duration_ms", 0.0) / 1000

    @property
    def is_truncated(self) -> bool:
        return self.told.get("truncated", False)

    def check(self) -> Result:
        """Itself if the code succeeded, else raises CodeFailed."""
        if self.ok:
            return self
        error: t.Mapping[str, t.Any] = self.error or {}
        name, message = error.get("name"), error.get("message", "")
        told = f"{name}: {message}" if name else f"the cell's status is {self.status}"
        raise CodeFailed(told, error.get("advice", ""), self)

    def __str__(self) -> str:
        parts = [self.stdout, self.stderr]
        parts += [str(output) for output in self.outputs]
        if self.value is not None:
            parts.append(str(self.value))
        if self.error is not None:
            trace = self.error.get("traceback")
            parts.append(f"{trace}\n" if trace else "")
            parts.append(f"{self.error.get('name')}: {self.error.get('message')}")
            parts.append(self.error.get("advice", ""))
        elif not self.ok:
            parts.append(f"[{self.status}]" + (f" {self.prompt}" if self.prompt else ""))
        return "\n".join(part.rstrip("\n") for part in parts if part)

    def __repr__(self) -> str:
        return f"<Result {self.number} {self.status} {(self.text or '')[:60]!r}>"

    def _repr_mimebundle_(self, include: t.Any = None, exclude: t.Any = None
                          ) -> t.Dict[str, t.Any]:
        """In Jupyter: its text, and the last of its pictures or tables."""
        found: t.Dict[str, t.Any] = {"text/plain": str(self)}
        if self.value is not None and self.value._repr_html_() and not self.stdout:
            found["text/html"] = self.value._repr_html_()
        if self.images:
            last = self.images[-1]
            found[f"image/{last.format}"] = base64.b64encode(last.data).decode()
        return found

    def _repr_png_(self) -> t.Optional[bytes]:
        return self.images[-1]._repr_png_() if self.images else None


class Collected:
    """What a stream of events has told so far: its last event has the rest."""

    def __init__(self) -> None:
        self.stdout: t.List[str] = []
        self.stderr: t.List[str] = []
        self.outputs: t.List[shapes.Output] = []
        self._clears_first = False

    def take(self, name: str, data: t.Mapping[str, t.Any]) -> None:
        if name in ("output", "display", "update") and self._clears_first:
            self._clear()
        if name == "output":
            (self.stdout if data["stream"] == "stdout" else self.stderr).append(data["text"])
        elif name == "display":
            self.outputs.append(t.cast(shapes.Output, data))
        elif name == "update":
            self._update(t.cast(shapes.Output, data))
        elif name == "clear" and data.get("wait"):
            self._clears_first = True
        elif name == "clear":
            self._clear()

    def _clear(self) -> None:
        self._clears_first = False
        self.stdout.clear()
        self.stderr.clear()
        self.outputs.clear()

    def _update(self, told: shapes.Output) -> None:
        places = [number for number, output in enumerate(self.outputs)
                  if output.get("display_id") == told.get("display_id")]
        for number in places:
            self.outputs[number] = told
        if not places:
            self.outputs.append(told)

    def complete(self, last: shapes.Answer) -> shapes.Answer:
        """The answer as it would have been without a stream."""
        whole = t.cast(shapes.Answer, dict(last))
        if self.stdout:
            whole["stdout"] = "".join(self.stdout)
        if self.stderr:
            whole["stderr"] = "".join(self.stderr)
        if self.outputs:
            whole["outputs"] = self.outputs
        return whole
