"""JSON text written by hand: the driver's frames have few shapes, and user code may have replaced
anything in the json module by the time we answer."""

from __future__ import annotations

import json.decoder
import json.encoder
import re
from typing import Any, Optional

_quote = json.encoder.c_encode_basestring or json.encoder.py_encode_basestring
_scan_once = json.decoder.JSONDecoder().scan_once
_SURROGATE = re.compile("[\ud800-\udfff]")


def quote(text: str) -> str:
    return _quote(text)


def quote_or_null(text: Optional[str]) -> str:
    return "null" if text is None else _quote(text)


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
