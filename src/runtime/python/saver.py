"""A copy of the session that writes the session's state to a stream, and ends."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, Dict, NoReturn

from . import jsontext

_write = os.write
_exit = os._exit
_quote = jsontext.quote
_disable_collector = gc.disable

_UNKNOWN = "this session's driver cannot save its state"


def run(stream: int, order: Dict[str, Any]) -> NoReturn:
    """`stream` is a socket. By the first byte the warden learns who speaks."""
    try:
        _disable_collector()  # finalizers of the user's have nothing to do here
        _write(stream, b"s")
        saving = sys.modules.get(f"{__package__}.saving")
        if saving is None:
            _send(stream, f'{{"rec":"failed","message":{_quote(_UNKNOWN)}}}')
        else:
            saving.save(stream, order["format"], order["max_bytes"])
        _exit(0)
    except BaseException:  # the stream has no end, and so nothing of it counts
        _exit(1)


def _send(stream: int, record: str) -> None:
    payload = jsontext.to_bytes(record)
    _write(stream, len(payload).to_bytes(4, "little") + payload)
