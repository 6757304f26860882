# Made by packaging/pages.py from _async_client.py: do not edit.
"""The client: every operation of the daemon as a method, answers as dictionaries."""

from __future__ import annotations

import json
import typing as t

from . import _wire
from ._sync_operations import Operations
from ._place import Place
from ._sockets import Connection
from ._wire import Event, Op
from .errors import CellaError, ConnectionLost, api_error

ANSWER_SECONDS = 120.0         # without a byte, of calls that run no code
CODE_SECONDS = 86400.0 + 60.0  # a cell may run for a day; one that names a time has a minute more
KEPT_CONNECTIONS = 8

# What is sent as the bytes of a file: whole, or piece by piece.
Data = t.Union[bytes, bytearray, memoryview, str, t.BinaryIO, t.Iterable[bytes]]


class Reply(t.NamedTuple):
    """What a server in a session answered."""

    status: int
    headers: t.Dict[str, str]
    body: bytes


class Answer:
    """The answer to a request while it comes in."""

    def __init__(self, client: Client, connection: Connection, seconds: float,
                 method: str) -> None:
        self._client, self._connection, self._seconds = client, connection, seconds
        self._response = _wire.Response(method == "HEAD")
        self._first = b""
        self._is_over = False

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> t.Dict[str, str]:
        return self._response.headers

    def begin(self) -> None:
        """Waits for the head."""
        try:
            while not self._response.has_head:
                self._first += self._response.feed(self._connection.receive(self._seconds))
        except BaseException:
            self.close()
            raise
        if self._response.is_done:
            self._finish()

    def pieces(self) -> t.Iterator[bytes]:
        """The body, as it comes."""
        try:
            if self._first:
                yield self._first
            while not self._response.is_done:
                piece = self._response.feed(self._connection.receive(self._seconds))
                if piece:
                    yield piece
            self._finish()
        finally:
            self.close()

    def read(self) -> bytes:
        if self._response.is_done:
            return self._first
        return b"".join([piece for piece in self.pieces()])

    def _finish(self) -> None:
        if not self._is_over and self._response.keeps_alive:
            self._is_over = True
            self._client._keep(self._connection)

    def close(self) -> None:
        """Leaves what has not been read; the daemon sees that the caller is gone."""
        if not self._is_over:
            self._is_over = True
            self._connection.close()

    def take_connection(self) -> t.Tuple[Connection, bytes]:
        """After a change of protocol: the connection, and what came behind the head."""
        self._is_over = True
        return self._connection, bytes(self._response.rest)


class Events:
    """Events of a call as they come, the last of which is "result". Leaving early ends the call."""

    def __init__(self, client: Client, op: Op, args: t.Mapping[str, t.Any]) -> None:
        self._client, self._op, self._args = client, op, args
        self._events = self._read()

    def _read(self) -> t.Generator[Event, None, None]:
        answer = self._client._send(self._op, self._args, accept="text/event-stream")
        reader = _wire.EventReader()
        try:
            for piece in answer.pieces():
                for event in reader.feed(piece):
                    if event.name == "error":
                        raise api_error(200, event.data)
                    yield event
                    if event.name == "result":
                        return
        finally:
            answer.close()

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Event:
        return self._events.__next__()

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: t.Any) -> None:
        self.close()

    def close(self) -> None:
        self._events.close()


class Socket:
    """A WebSocket: bytes are binary messages, texts are text messages."""

    def __init__(self, connection: Connection, rest: bytes, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds
        self._reader = _wire.FrameReader(rest)
        self._waiting: t.List[t.Tuple[int, bytes]] = self._reader.feed(b"")
        self._is_closed = False

    def send(self, message: t.Union[bytes, str]) -> None:
        kind, data = ((_wire.TEXT, message.encode()) if isinstance(message, str)
                      else (_wire.BINARY, message))
        self._connection.send(_wire.frame(kind, data), self._seconds)

    def receive(self) -> t.Union[bytes, str, None]:
        """The next message; None: there are no more."""
        while not self._is_closed:
            while self._waiting:
                kind, data = self._waiting.pop(0)
                if kind == _wire.PING:
                    self._connection.send(_wire.frame(_wire.PONG, data), self._seconds)
                elif kind == _wire.CLOSE:
                    self.close()
                    return None
                elif kind in (_wire.TEXT, _wire.BINARY):
                    return data.decode() if kind == _wire.TEXT else data
            data = self._connection.receive(self._seconds)
            if not data:
                self.close()
            self._waiting += self._reader.feed(data)
        return None

    def __iter__(self) -> Socket:
        return self

    def __next__(self) -> t.Union[bytes, str]:
        message = self.receive()
        if message is None:
            raise StopIteration
        return message

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: t.Any) -> None:
        self.close()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            try:
                self._connection.send(_wire.frame(_wire.CLOSE, b"\x03\xe8"), 1.0)
            except ConnectionLost:
                pass
            self._connection.close()


class Client(Operations):
    """Speaks with a daemon: the one of this user, which is started if none runs, or the one at a
    URL. `agent` is the agent of the daemon's configuration that it speaks for."""

    def __init__(self, url: t.Optional[str] = None, key: t.Optional[str] = None, *,
                 data: t.Optional[str] = None, agent: t.Optional[str] = None,
                 program: t.Optional[str] = None, start: bool = True,
                 timeout: float = ANSWER_SECONDS) -> None:
        self.place = Place(url, key, data=data, program=program, start=start)
        self.agent, self.timeout = agent, timeout
        self._idle: t.List[Connection] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: t.Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections; sessions go on."""
        while self._idle:
            self._idle.pop().close()

    # What the methods of the operations are made of.

    def _json(self, op: Op, args: t.Mapping[str, t.Any],
                    data: t.Optional[Data] = None) -> t.Any:
        answer = self._send(op, args, data)
        return json.loads(answer.read())

    def _text(self, op: Op, args: t.Mapping[str, t.Any]) -> str:
        answer = self._send(op, {**args, "format": "text"}, accept="text/plain")
        return (answer.read()).decode("utf-8", "replace")

    def _bytes(self, op: Op, args: t.Mapping[str, t.Any]) -> bytes:
        answer = self._send(op, args)
        return answer.read()

    def _events(self, op: Op, args: t.Mapping[str, t.Any]) -> Events:
        return Events(self, op, args)

    def _socket(self, op: Op, args: t.Mapping[str, t.Any]) -> Socket:
        headers = _wire.socket_headers()
        answer = self._send(op, args, headers=headers)
        told = answer.headers.get("sec-websocket-accept", "")
        if answer.status != 101 or not _wire.socket_is_accepted(
                headers["Sec-WebSocket-Key"], told):
            answer.close()
            raise ConnectionLost("the daemon did not open a WebSocket")
        connection, rest = answer.take_connection()
        return Socket(connection, rest, CODE_SECONDS)

    def _tunnel(self, op: Op, args: t.Mapping[str, t.Any], method: str, path: str,
                      data: t.Optional[Data], headers: t.Optional[t.Mapping[str, str]]) -> Reply:
        request = _wire.plan(op, args)
        target = request.target + (path if path.startswith("/") or not path else "/" + path)
        answer = self._exchange(method, target, data, dict(headers or {}), self.timeout,
                                      may_repeat=False)
        return Reply(answer.status, answer.headers, answer.read())

    # Requests.

    def _send(self, op: Op, args: t.Mapping[str, t.Any], data: t.Optional[Data] = None, *,
                    accept: t.Optional[str] = None,
                    headers: t.Optional[t.Mapping[str, str]] = None) -> Answer:
        """The answer of an operation once its head is there; an ApiError if it is refused."""
        request = _wire.plan(op, args)
        given = dict(headers or {})
        if accept:
            given["Accept"] = accept
        body: t.Optional[Data] = data
        if request.body is not None:
            body = json.dumps(request.body).encode()
            given["Content-Type"] = "application/json"
        answer = self._exchange(request.method, request.target, body, given,
                                      self._seconds(op, args), op.may_repeat)
        if answer.status >= 400:
            raise api_error(answer.status, parsed(answer.read()))
        return answer

    def _seconds(self, op: Op, args: t.Mapping[str, t.Any]) -> float:
        if not op.runs_code:
            return self.timeout
        given = args.get("timeout_ms")
        return CODE_SECONDS if given is None else min(given / 1000 + self.timeout, CODE_SECONDS)

    def _exchange(self, method: str, target: str, data: t.Optional[Data],
                        headers: t.Dict[str, str], seconds: float,
                        may_repeat: bool) -> Answer:
        while True:
            connection, is_used = self._connection()
            answer = Answer(self, connection, seconds, method)
            try:
                try:
                    self._write(connection, method, target, data, headers)
                except ConnectionLost:
                    if data is None:
                        raise  # else the daemon may have refused before it had all of it
                answer.begin()
                return answer
            except ConnectionLost:
                connection.close()
                # The daemon closes connections that rest; nothing was done if it only reads.
                if not (is_used and may_repeat):
                    raise
            except BaseException:
                connection.close()
                raise

    def _write(self, connection: Connection, method: str, target: str,
                     data: t.Optional[Data], headers: t.Mapping[str, str]) -> None:
        given = {"Host": self.place.host_header, **headers}
        if self.place.key:
            given["Authorization"] = f"Bearer {self.place.key}"
        if self.agent:
            given["Cella-Agent"] = self.agent
        target = self.place.prefix + target
        if data is None or isinstance(data, (bytes, bytearray, memoryview, str)):
            body = data.encode() if isinstance(data, str) else bytes(data or b"")
            if data is not None or method not in ("GET", "HEAD", "DELETE"):
                given["Content-Length"] = str(len(body))
            connection.send(_wire.request_head(method, target, given) + body, self.timeout)
            return
        given["Transfer-Encoding"] = "chunked"
        connection.send(_wire.request_head(method, target, given), self.timeout)
        for piece in in_pieces(data):
            connection.send(b"%x\r\n%s\r\n" % (len(piece), piece), self.timeout)
        connection.send(b"0\r\n\r\n", self.timeout)

    def _connection(self) -> t.Tuple[Connection, bool]:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:  # threads share a client
                return Connection.open(self.place), False
            if not connection.is_stale():
                return connection, True
            connection.close()

    def _keep(self, connection: Connection) -> None:
        if len(self._idle) < KEPT_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()


def in_pieces(body: t.Any) -> t.Iterator[bytes]:
    if hasattr(body, "read"):
        while True:
            piece = body.read(256 * 1024)
            if not piece:
                return
            yield piece
    for piece in body:
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise CellaError("what is sent must be bytes", "open files with mode 'rb'", "invalid")
        if piece:
            yield bytes(piece)


def parsed(body: bytes) -> t.Any:
    try:
        return json.loads(body)
    except ValueError:
        return {}
