"""A cell that nobody sees.

After a checkpoint every page is shared with the copy, and who writes to one first waits for a copy
of it. Every cell writes to the same few hundred pages, those of the driver and of the compiler: so
the driver does, while nobody waits for it, what it does for a cell, without effect on anything of
the user's.
"""

from __future__ import annotations

import types
from typing import Any, Dict

from . import cells, frames, interrupts, library, names, outputs, plots, streams

_CODE = "x = 1"
_value_of = outputs.value_of
_flush_stdio = library.flush_stdio


class _Gate(interrupts.Gate):
    """Lets nothing in."""

    __slots__ = ()

    def begin_cell(self) -> None:
        self.look()


class _Streams:
    def flush(self) -> None:
        _flush_stdio()


class Rehearsal:
    """Made in the zygote, around a namespace of its own."""

    def __init__(self) -> None:
        stage = types.ModuleType("__main__")
        self._namespace: Dict[str, Any] = vars(stage)
        self._names = names.Names(self._namespace)
        streams_of_nobody: Any = _Streams()
        self._cells = cells.Cells(stage, _Gate(), streams_of_nobody, plots.Plots())

    def run(
        self, channel: frames.Channel, session_streams: streams.Streams, users: names.Names
    ) -> None:
        channel.rehearse()
        session_streams.rehearse()
        users.rehearse()
        self._names.begin_cell(True)
        self._cells.rehearse(_CODE)
        self._names.end_cell(False)
        _value_of(len(self._namespace))
