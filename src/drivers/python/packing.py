"""Compression as it flows: lz4's frame format, or zlib where the interpreter has no lz4. Nothing
here holds more than a piece of what passes through."""

from __future__ import annotations

import sys
import zlib
from typing import Any, Callable

_PIECE_BYTES = 256 << 10  # what is compressed at a time
_SMALL_BYTES = 32 << 10
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_ZLIB_LEVEL = 1


class Unreadable(Exception):
    """Its text says what is wrong with the compressed bytes, or what is missing to read them."""


def _lz4_frame() -> Any:
    """The module, or None. Most interpreters that run data work have it."""
    try:
        import lz4.frame
    except Exception:
        return None
    return lz4.frame


class Compressor:
    """`emit` takes what comes out, in pieces. What is small is compressed at the end and at once,
    without the buffers of a stream, which are large and zeroed."""

    def __init__(self, emit: Callable[[bytes], None]) -> None:
        self._emit = emit
        self._lz4_frame = _lz4_frame()
        self._codec: Any = None  # once there is too much to wait for the end
        self._pending = bytearray()

    def write(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        if self._codec is None and len(self._pending) + len(view) <= _SMALL_BYTES:
            self._pending += view
            return
        if self._codec is None:
            self._begin()
        for start in range(0, len(view), _PIECE_BYTES):
            self._compress(view[start : start + _PIECE_BYTES])

    def close(self) -> None:
        if self._codec is None and self._lz4_frame is not None:
            self._emit(
                self._lz4_frame.compress(
                    self._pending, content_checksum=True, store_size=False
                )
            )
            return
        if self._codec is None:
            self._begin()
        self._emit(self._codec.flush())

    def _begin(self) -> None:
        if self._lz4_frame is not None:
            self._codec = self._lz4_frame.LZ4FrameCompressor(content_checksum=True)
            self._emit(self._codec.begin())
        else:
            self._codec = zlib.compressobj(_ZLIB_LEVEL)
        if self._pending:
            self._compress(self._pending)
            self._pending = bytearray()

    def _compress(self, data: Any) -> None:
        compressed = self._codec.compress(data)
        if compressed:
            self._emit(compressed)


class Decompressor:
    """A file for an unpickler: `next_chunk` gives compressed bytes, b"" at their end."""

    def __init__(self, next_chunk: Callable[[], bytes]) -> None:
        self._next_chunk = next_chunk
        self._pending = next_chunk()  # compressed, not yet given to the codec
        self._ready = memoryview(b"")
        if self._pending[:4] == _LZ4_MAGIC:
            lz4_frame = _lz4_frame()
            if lz4_frame is None:
                raise Unreadable(
                    "it is compressed with lz4, and this interpreter has no lz4 (pip install lz4)"
                )
            self._expand = _Lz4Expander(lz4_frame.LZ4FrameDecompressor())
        else:
            self._expand = _ZlibExpander(zlib.decompressobj())

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            size = sys.maxsize
        parts = []
        while size:
            part = self._some(size)
            if not part:
                break
            parts.append(bytes(part))
            size -= len(part)
        return b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            part = self._some(len(view) - filled)
            if not part:
                break
            view[filled : filled + len(part)] = part
            filled += len(part)
        return filled

    def readline(self) -> bytes:
        """Unpicklers want it for the oldest of pickle's operations."""
        line = bytearray()
        while not line.endswith(b"\n"):
            part = self.read(1)
            if not part:
                break
            line += part
        return bytes(line)

    def finish(self) -> None:
        """To the end, where the checksum is."""
        while self._some(_PIECE_BYTES):
            pass

    def _some(self, size: int) -> memoryview:
        while not self._ready:
            if not self._refill():
                return self._ready
        part = self._ready[:size]
        self._ready = self._ready[len(part) :]
        return part

    def _refill(self) -> bool:
        try:
            if self._pending or self._expand.has_more:
                self._ready = memoryview(self._expand(self._pending))
                self._pending = b""
                return True
            self._pending = self._next_chunk()
            if not self._pending and not self._expand.is_complete:
                raise Unreadable("it was cut off while it was saved")
            return bool(self._pending)
        except (RuntimeError, EOFError, zlib.error) as error:
            raise Unreadable(f"its compression is broken: {error}") from None


class _Lz4Expander:
    """Gives a bounded piece at a time, however well a chunk was compressed."""

    def __init__(self, codec: Any) -> None:
        self._codec = codec

    def __call__(self, data: bytes) -> bytes:
        return self._codec.decompress(data, _PIECE_BYTES)  # type: ignore[no-any-return]

    @property
    def has_more(self) -> bool:
        return not self._codec.eof and not self._codec.needs_input

    @property
    def is_complete(self) -> bool:
        return bool(self._codec.eof)


class _ZlibExpander:
    def __init__(self, codec: Any) -> None:
        self._codec = codec

    def __call__(self, data: bytes) -> bytes:
        source = self._codec.unconsumed_tail + data
        return self._codec.decompress(source, _PIECE_BYTES)  # type: ignore[no-any-return]

    @property
    def has_more(self) -> bool:
        return bool(self._codec.unconsumed_tail)

    @property
    def is_complete(self) -> bool:
        return bool(self._codec.eof)
