"""Bytes to answers and back, without sockets: HTTP/1.1, server-sent events, WebSocket frames. The
two kinds of client, with and without asyncio, share it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import typing as t
from urllib.parse import quote, urlencode

from .errors import ConnectionLost

HEAD_MAX = 64 * 1024
FRAME_MAX = 64 * 1024 * 1024
EVENT_MAX = 64 * 1024 * 1024


class Op(t.NamedTuple):
    """One operation of the daemon's table."""

    name: str
    method: str
    path: str
    query: t.Tuple[str, ...] = ()
    flags: t.Tuple[str, ...] = ()

    @property
    def may_repeat(self) -> bool:
        """Asking twice does what asking once does."""
        return self.method == "GET" and "read_only" in self.flags

    @property
    def runs_code(self) -> bool:
        return "runs_code" in self.flags or "streams" in self.flags


class Request(t.NamedTuple):
    method: str
    target: str
    body: t.Optional[t.Dict[str, t.Any]]


def plan(op: Op, args: t.Mapping[str, t.Any]) -> Request:
    """Where the arguments of a call go: path, query, body. What is None is not sent."""
    left = {name: value for name, value in args.items() if value is not None}
    target = op.path
    for name in [part[1:-1] for part in op.path.split("/") if part.startswith("{")]:
        is_tail = "has_tail" in op.flags and op.path.endswith("{" + name + "}")
        text = quote(str(left.pop(name)), safe="/" if is_tail else "")
        target = target.replace("{" + name + "}", text)
    query = {name: _in_query(left.pop(name)) for name in op.query if name in left}
    if query:
        target += "?" + urlencode(query)
    has_body = op.method not in ("GET", "DELETE") and "takes_bytes" not in op.flags
    return Request(op.method, target, left if has_body else None)


def _in_query(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def request_head(method: str, target: str, headers: t.Mapping[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        if "\r" in value or "\n" in value:
            raise ValueError(f"the header {name} may not hold a line's end")
        lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


class Response:
    """Takes the bytes of one answer as they come, and gives its head and its body. What comes
    behind the body stays in `rest`."""

    def __init__(self, to_head_request: bool = False) -> None:
        self.status = 0
        self.headers: t.Dict[str, str] = {}
        self.is_done = False
        self.rest = bytearray()
        self._to_head = to_head_request
        self._left: t.Optional[int] = None  # bytes of this body or chunk; None: up to the end
        self._is_chunked = False
        self._needs_chunk_end = False
        self._in_trailers = False

    @property
    def has_head(self) -> bool:
        return self.status != 0

    @property
    def keeps_alive(self) -> bool:
        return (self.is_done and not self.rest and self._framed and self.status != 101
                and self.headers.get("connection", "").lower() != "close")

    @property
    def _framed(self) -> bool:
        return self._is_chunked or self._left is not None

    def feed(self, data: bytes) -> bytes:
        """The bytes of the body among these; b"" as an argument is the connection's end."""
        if not data:
            return self._end()
        self.rest += data
        while not self.has_head:
            end = self.rest.find(b"\r\n\r\n")
            if end < 0:
                if len(self.rest) > HEAD_MAX:
                    raise ConnectionLost("the head of the answer is too long")
                return b""
            head = bytes(self.rest[:end])
            del self.rest[:end + 4]
            self._read_head(head)
        return self._read_body()

    def _end(self) -> bytes:
        if self.is_done:
            return b""
        if self.has_head and not self._framed:
            self.is_done = True
            return b""
        raise ConnectionLost("the daemon closed the connection before its answer was complete")

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise ConnectionLost("the answer is not HTTP: is this the address of a daemon?")
        status = int(words[1])
        if status < 200 and status != 101:
            return
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.status = status
        self._is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        if self._is_chunked:
            self._left = 0
        elif status in (101, 204, 304) or self._to_head:
            self._left, self.is_done = 0, True
        elif "content-length" in self.headers:
            length = self.headers["content-length"]
            if not length.isdigit():
                raise ConnectionLost("the answer's length is no number")
            self._left = int(length)
            self.is_done = self._left == 0

    def _read_body(self) -> bytes:
        if self.is_done:
            return b""
        if not self._is_chunked:
            return self._take(len(self.rest) if self._left is None else self._left)
        out = bytearray()
        while not self.is_done and self._next_chunk():
            out += self._take(self._left or 0)
            if self._left:
                break
        return bytes(out)

    def _take(self, most: int) -> bytes:
        piece = bytes(self.rest[:most])
        del self.rest[:len(piece)]
        if self._left is not None:
            self._left -= len(piece)
            self.is_done = self._left == 0 and not self._is_chunked
        return piece

    def _line(self) -> t.Optional[bytes]:
        end = self.rest.find(b"\r\n")
        if end < 0:
            if len(self.rest) > HEAD_MAX:
                raise ConnectionLost("a line of the answer is too long")
            return None
        line = bytes(self.rest[:end])
        del self.rest[:end + 2]
        return line

    def _next_chunk(self) -> bool:
        """True if there is a chunk to take from; False: more bytes are needed, or it is over."""
        if self._left:
            return True
        if self._needs_chunk_end:
            if self._line() is None:
                return False
            self._needs_chunk_end = False
        while self._in_trailers:
            line = self._line()
            if line is None:
                return False
            if not line:
                self.is_done = True
                return False
        line = self._line()
        if line is None:
            return False
        try:
            self._left = int(line.split(b";")[0], 16)
        except ValueError:
            raise ConnectionLost("the answer's chunks are broken") from None
        if self._left == 0:
            self._in_trailers = True
            return self._next_chunk()
        self._needs_chunk_end = True
        return True


class Event(t.NamedTuple):
    """One event of a stream; the last one is called "result"."""

    name: str
    data: t.Dict[str, t.Any]


class EventReader:
    """Server-sent events out of the bytes of a body."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> t.List[Event]:
        self._rest += data
        found: t.List[Event] = []
        while True:
            end = self._rest.find(b"\n\n")
            if end < 0:
                if len(self._rest) > EVENT_MAX:
                    raise ConnectionLost("an event of the stream is too long")
                return found
            block = self._rest[:end].decode("utf-8", "replace")
            del self._rest[:end + 2]
            event = self._read(block)
            if event:
                found.append(event)

    @staticmethod
    def _read(block: str) -> t.Optional[Event]:
        name, data = "message", []
        for line in block.split("\n"):
            field, _, value = line.rstrip("\r").partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
        return Event(name, json.loads("\n".join(data))) if data else None


# ---- WebSocket ----------------------------------------------------------------------------------

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def socket_headers() -> t.Dict[str, str]:
    key = base64.b64encode(os.urandom(16)).decode()
    return {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key}


def socket_is_accepted(key: str, answer: str) -> bool:
    mixed = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    return base64.b64encode(mixed).decode() == answer


def frame(kind: int, data: bytes) -> bytes:
    """One message of a client, which has to be masked."""
    size = len(data)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
    mask = os.urandom(4)
    whole = int.from_bytes(data, "little") ^ int.from_bytes(
        (mask * (size // 4 + 1))[:size], "little")
    return head + mask + whole.to_bytes(size, "little")


class FrameReader:
    """Messages of a server: (kind, data)."""

    def __init__(self, rest: bytes = b"") -> None:
        self._rest = bytearray(rest)
        self._kind, self._parts = 0, bytearray()

    def feed(self, data: bytes) -> t.List[t.Tuple[int, bytes]]:
        self._rest += data
        found: t.List[t.Tuple[int, bytes]] = []
        while True:
            taken = self._one()
            if taken is None:
                return found
            is_last, kind, payload = taken
            if kind >= CLOSE:
                found.append((kind, payload))
                continue
            self._kind = kind or self._kind
            self._parts += payload
            if len(self._parts) > FRAME_MAX:
                raise ConnectionLost("a message of the server is too long")
            if is_last:
                found.append((self._kind, bytes(self._parts)))
                self._parts = bytearray()

    def _one(self) -> t.Optional[t.Tuple[bool, int, bytes]]:
        if len(self._rest) < 2:
            return None
        first, size, start = self._rest[0], self._rest[1] & 0x7F, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            start += width
            if len(self._rest) < start:
                return None
            size = int.from_bytes(self._rest[2:start], "big")
        if size > FRAME_MAX:
            raise ConnectionLost("a message of the server is too long")
        if len(self._rest) < start + size:
            return None
        payload = bytes(self._rest[start:start + size])
        del self._rest[:start + size]
        return bool(first & 0x80), first & 0x0F, payload
