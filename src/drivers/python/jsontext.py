"""JSON text written by hand: the driver's frames have few shapes, and user code may have replaced
anything in the json module by the time we answer."""

from __future__ import annotations

import json.decoder
import json.encoder
import re
from typing import Any

_quote = json.encoder.c_encode_basestring or json.encoder.py_encode_basestring
_scan_once = json.decoder.JSONDecoder().scan_once
_MAX_DEPTH = 32
_SURROGATE = re.compile("[\ud800-\udfff]")


def quote(text: str) -> str:
    """A NUL is shown as its escape: many readers of JSON refuse one, the daemon's among them."""
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    return _quote(text)


def is_plain(value: Any, depth: int = 0) -> bool:
    """Can every reader take this as JSON? Numbers of 64 bits, text as keys, no deep nesting."""
    kind = type(value)
    if kind is str:
        return "\0" not in value
    if kind is int:
        return -(1 << 63) <= value < 1 << 63
    if kind is float:
        return value - value == 0  # finite
    if kind is dict:
        return depth < _MAX_DEPTH and all(
            type(key) is str and "\0" not in key and is_plain(member, depth + 1)
            for key, member in value.items()
        )
    if kind is list or kind is tuple:
        return depth < _MAX_DEPTH and all(is_plain(member, depth + 1) for member in value)
    return value is None or kind is bool


def write(value: Any) -> str:
    """A plain value (see is_plain) as JSON."""
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is dict:
        return "{" + ",".join(f"{quote(key)}:{write(value[key])}" for key in value) + "}"
    if kind is list or kind is tuple:
        return "[" + ",".join([write(member) for member in value]) + "]"
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    return repr(value)


def read_object(text: str) -> Any:
    return _scan_once(text, 0)[0]


def to_bytes(document: str) -> bytes:
    """UTF-8. A lone surrogate, which UTF-8 and JSON cannot carry, is shown as its escape."""
    try:
        return document.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(_escape_surrogate, document).encode()


def _escape_surrogate(match: re.Match[str]) -> str:
    return "\\\\u%04x" % ord(match.group())
