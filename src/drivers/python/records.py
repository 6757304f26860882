"""The stream in which a state leaves and enters a session: records, on a socket of their own.

A record is a length and a JSON header; with `"body":true` chunks follow, each a length and bytes,
and a zero length ends them. What a stream lacks its `end` record is worth nothing.
"""

from __future__ import annotations

import os
import select
from typing import Any, Callable, Iterator, List, Sequence

from . import jsontext

MAX_CHUNK_BYTES = 1 << 20
_MAX_HEADER_BYTES = 64 << 10
_MAX_NAMES_BYTES = 40 << 10
_MAX_NAME_CHARS = 200
_LENGTH_BYTES = 4
_PIECE_BYTES = 32 << 10

_read = os.read
_write = os.write
_poll = select.poll
_getpid = os.getpid
_exit = os._exit
_quote = jsontext.quote
_to_bytes = jsontext.to_bytes
_read_object = jsontext.read_object
_int_from_bytes = int.from_bytes


class Broken(Exception):
    """The stream is not one of ours, or ends too early."""


class Writer:
    """Bodies count towards `max_bytes`. What goes beyond is counted and not sent. Small pieces go
    together, the last ones with flush()."""

    def __init__(self, fd: int, max_bytes: int, first: bytes = b"") -> None:
        self._fd = fd
        self._pid = _getpid()
        self._max_bytes = max_bytes
        self._pending = bytearray(first)
        self.body_bytes = 0

    @property
    def is_over(self) -> bool:
        return self.body_bytes > self._max_bytes

    def record(self, header: str) -> None:
        self._send_framed(_to_bytes(header))

    def begin_blob(self, kind: str, names: Sequence[str]) -> None:
        self.record(f'{{"rec":"blob","kind":"{kind}","names":[{_list(names)}],"body":true}}')

    def chunk(self, data: Any) -> None:
        self.body_bytes += len(data)
        if self.is_over:
            return
        view = memoryview(data)
        for start in range(0, len(view), MAX_CHUNK_BYTES):
            self._send_framed(view[start : start + MAX_CHUNK_BYTES])

    def end_blob(self) -> None:
        self._send((0).to_bytes(_LENGTH_BYTES, "little"))

    def flush(self) -> None:
        pending = self._pending
        self._pending = bytearray()
        self._send_now(pending)

    def _send_framed(self, payload: Any) -> None:
        self._send(len(payload).to_bytes(_LENGTH_BYTES, "little"))
        self._send(payload)

    def _send(self, data: Any) -> None:
        if len(self._pending) + len(data) > _PIECE_BYTES:
            self.flush()
        if len(data) > _PIECE_BYTES:
            self._send_now(data)
        else:
            self._pending += data

    def _send_now(self, data: Any) -> None:
        if _getpid() != self._pid:  # what is saved forked, and this is the child
            _exit(0)
        view = memoryview(data)
        while view:
            try:
                view = view[_write(self._fd, view) :]
            except BlockingIOError:
                _wait(self._fd, select.POLLOUT)


class Reader:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def records(self) -> Iterator[Any]:
        """Headers, up to the end record. A body is to be read before the next header."""
        while True:
            header = self._header()
            if header.get("rec") == "end":
                return
            if header.get("rec") == "failed":
                raise Broken(str(header.get("message")))
            yield header

    def body(self) -> "Body":
        return Body(self._read_exactly)

    def _header(self) -> Any:
        size = _int_from_bytes(self._read_exactly(_LENGTH_BYTES), "little")
        if size > _MAX_HEADER_BYTES:
            raise Broken(f"a header of {size} bytes")
        try:
            header = _read_object(self._read_exactly(size).decode())
        except (ValueError, StopIteration, RecursionError):
            raise Broken("a header is not JSON") from None
        if type(header) is not dict:
            raise Broken("a header is not an object")
        return header

    def _read_exactly(self, size: int) -> bytes:
        parts: List[bytes] = []
        while size:
            try:
                part = _read(self._fd, size)
            except BlockingIOError:
                _wait(self._fd, select.POLLIN)
                continue
            if not part:
                raise Broken("it ends too early")
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class Body:
    """The chunks of one body, one after the other; b"" when there are no more."""

    def __init__(self, read_exactly: Callable[[int], bytes]) -> None:
        self._read_exactly = read_exactly
        self._is_over = False

    def next_chunk(self) -> bytes:
        if self._is_over:
            return b""
        size = _int_from_bytes(self._read_exactly(_LENGTH_BYTES), "little")
        if size > MAX_CHUNK_BYTES:
            raise Broken(f"a chunk of {size} bytes")
        self._is_over = size == 0
        return self._read_exactly(size) if size else b""

    def skip(self) -> None:
        while self.next_chunk():
            pass


def _list(names: Sequence[str]) -> str:
    """For readers of the record; the names that count are in the body."""
    texts: List[str] = []
    left = _MAX_NAMES_BYTES
    for name in names:
        text = _quote(name[:_MAX_NAME_CHARS])
        left -= len(_to_bytes(text)) + 1
        if left < 0:
            break
        texts.append(text)
    return ",".join(texts)


def _wait(fd: int, event: int) -> None:
    poller = _poll()
    poller.register(fd, event)
    poller.poll()
