"""Images: what kind their bytes are, and how large they are."""

from __future__ import annotations

import io
from typing import Any, Optional, Tuple

_BytesIO = io.BytesIO
_MAGIC = {"png": (b"\x89PNG",), "jpeg": (b"\xff\xd8\xff",), "gif": (b"GIF87a", b"GIF89a")}
_MAX_SEGMENTS = 1000


def is_a(data: bytes, form: str) -> bool:
    return data.startswith(_MAGIC[form])


def size_of(data: bytes, form: str) -> Optional[Tuple[int, int]]:
    """Width and height."""
    if form == "jpeg":
        return _jpeg_size(data)
    if form == "gif":
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _jpeg_size(data: bytes) -> Optional[Tuple[int, int]]:
    """Segment after segment, up to the frame's."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        if at + 9 > len(data) or data[at] != 0xFF:
            return None
        kind = data[at + 1]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = data[at + 5 : at + 7], data[at + 7 : at + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def png_of(image: Any) -> bytes:
    """Of an image of PIL's."""
    buffer = _BytesIO()
    try:
        image.save(buffer, "PNG")
    except OSError:  # PNG has no such colours
        buffer = _BytesIO()
        image.convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()
