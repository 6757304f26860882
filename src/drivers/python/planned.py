"""A cell whose calls the daemon has made in its place: their results get their names, and what came
of them is written as the cell's output."""

from __future__ import annotations

import os
from typing import Any, Dict, List

from . import exploring

_write = os.write


class Refused(BaseException):
    """The daemon did not let the cell run: why, as JSON."""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        self.told = told


def take(order: Dict[str, Any], namespace: Dict[str, Any], quote: Any) -> None:
    """`order` is {"steps": [{"label", "name"?, "value", "shown"?}]}, as far as they were made; with
    "interrupted" if that is not the end of them; or {"refused": {"name", "message"}}."""
    refused = order.get("refused")
    if refused is not None:
        told = ",".join(f'"{key}":{quote(refused[key])}' for key in ("name", "message"))
        raise Refused(f"{{{told}}}")
    shown: List[str] = []
    for step in order["steps"]:
        value = step["value"]
        if isinstance(value, dict) and "shown" in step:
            value = exploring.Table(value, step["shown"])
        if "name" in step:
            namespace[step["name"]] = value
        shown.append(f"[{step['label']}]: {value}")
    if shown:
        _say("Observation:\n" + "\n---\n".join(shown) + "\n")
    if order.get("interrupted"):
        raise KeyboardInterrupt


def _say(text: str) -> None:
    """To the cell's own pipe, whatever the user has put in the place of sys.stdout."""
    rest = memoryview(text.encode("utf-8", "replace"))
    while rest:
        rest = rest[_write(1, rest) :]
