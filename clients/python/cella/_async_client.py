"""The client: every operation of the daemon as a method, answers as dictionaries."""

from __future__ import annotations

import json
import typing as t

from . import _wire
from ._async_operations import AsyncOperations
from ._place import Place
from ._sockets import AsyncConnection
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


class AsyncAnswer:
    """The answer to a request while it comes in."""

    def __init__(self, client: AsyncClient, connection: AsyncConnection, seconds: float,
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

    async def begin(self) -> None:
        """Waits for the head."""
        try:
            while not self._response.has_head:
                self._first += self._response.feed(await self._connection.receive(self._seconds))
        except BaseException:
            self.close()
            raise
        if self._response.is_done:
            self._finish()

    async def pieces(self) -> t.AsyncIterator[bytes]:
        """The body, as it comes."""
        try:
            if self._first:
                yield self._first
            while not self._response.is_done:
                piece = self._response.feed(await self._connection.receive(self._seconds))
                if piece:
                    yield piece
            self._finish()
        finally:
            self.close()

    async def read(self) -> bytes:
        if self._response.is_done:
            return self._first
        return b"".join([piece async for piece in self.pieces()])

    def _finish(self) -> None:
        if not self._is_over and self._response.keeps_alive:
            self._is_over = True
            self._client._keep(self._connection)

    def close(self) -> None:
        """Leaves what has not been read; the daemon sees that the caller is gone."""
        if not self._is_over:
            self._is_over = True
            self._connection.close()

    def take_connection(self) -> t.Tuple[AsyncConnection, bytes]:
        """After a change of protocol: the connection, and what came behind the head."""
        self._is_over = True
        return self._connection, bytes(self._response.rest)


class AsyncEvents:
    """Events of a call as they come, the last of which is "result". Leaving early ends the call."""

    def __init__(self, client: AsyncClient, op: Op, args: t.Mapping[str, t.Any]) -> None:
        self._client, self._op, self._args = client, op, args
        self._events = self._read()

    async def _read(self) -> t.AsyncGenerator[Event, None]:
        answer = await self._client._send(self._op, self._args, accept="text/event-stream")
        reader = _wire.EventReader()
        try:
            async for piece in answer.pieces():
                for event in reader.feed(piece):
                    if event.name == "error":
                        raise api_error(200, event.data)
                    yield event
                    if event.name == "result":
                        return
        finally:
            answer.close()

    def __aiter__(self) -> AsyncEvents:
        return self

    async def __anext__(self) -> Event:
        return await self._events.__anext__()

    async def __aenter__(self) -> AsyncEvents:
        return self

    async def __aexit__(self, *_: t.Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._events.aclose()


class AsyncSocket:
    """A WebSocket: bytes are binary messages, texts are text messages."""

    def __init__(self, connection: AsyncConnection, rest: bytes, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds
        self._reader = _wire.FrameReader(rest)
        self._waiting: t.List[t.Tuple[int, bytes]] = self._reader.feed(b"")
        self._is_closed = False

    async def send(self, message: t.Union[bytes, str]) -> None:
        kind, data = ((_wire.TEXT, message.encode()) if isinstance(message, str)
                      else (_wire.BINARY, message))
        await self._connection.send(_wire.frame(kind, data), self._seconds)

    async def receive(self) -> t.Union[bytes, str, None]:
        """The next message; None: there are no more."""
        while not self._is_closed:
            while self._waiting:
                kind, data = self._waiting.pop(0)
                if kind == _wire.PING:
                    await self._connection.send(_wire.frame(_wire.PONG, data), self._seconds)
                elif kind == _wire.CLOSE:
                    await self.aclose()
                    return None
                elif kind in (_wire.TEXT, _wire.BINARY):
                    return data.decode() if kind == _wire.TEXT else data
            data = await self._connection.receive(self._seconds)
            if not data:
                await self.aclose()
            self._waiting += self._reader.feed(data)
        return None

    def __aiter__(self) -> AsyncSocket:
        return self

    async def __anext__(self) -> t.Union[bytes, str]:
        message = await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def __aenter__(self) -> AsyncSocket:
        return self

    async def __aexit__(self, *_: t.Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            try:
                await self._connection.send(_wire.frame(_wire.CLOSE, b"\x03\xe8"), 1.0)
            except ConnectionLost:
                pass
            self._connection.close()


class AsyncClient(AsyncOperations):
    """Speaks with a daemon: the one of this user, which is started if none runs, or the one at a
    URL. `agent` is the agent of the daemon's configuration that it speaks for."""

    def __init__(self, url: t.Optional[str] = None, key: t.Optional[str] = None, *,
                 data: t.Optional[str] = None, agent: t.Optional[str] = None,
                 program: t.Optional[str] = None, start: bool = True,
                 timeout: float = ANSWER_SECONDS) -> None:
        self.place = Place(url, key, data=data, program=program, start=start)
        self.agent, self.timeout = agent, timeout
        self._idle: t.List[AsyncConnection] = []

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: t.Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections; sessions go on."""
        while self._idle:
            self._idle.pop().close()

    # What the methods of the operations are made of.

    async def _json(self, op: Op, args: t.Mapping[str, t.Any],
                    data: t.Optional[Data] = None) -> t.Any:
        answer = await self._send(op, args, data)
        return json.loads(await answer.read())

    async def _text(self, op: Op, args: t.Mapping[str, t.Any]) -> str:
        answer = await self._send(op, {**args, "format": "text"}, accept="text/plain")
        return (await answer.read()).decode("utf-8", "replace")

    async def _bytes(self, op: Op, args: t.Mapping[str, t.Any]) -> bytes:
        answer = await self._send(op, args)
        return await answer.read()

    def _events(self, op: Op, args: t.Mapping[str, t.Any]) -> AsyncEvents:
        return AsyncEvents(self, op, args)

    async def _socket(self, op: Op, args: t.Mapping[str, t.Any]) -> AsyncSocket:
        headers = _wire.socket_headers()
        answer = await self._send(op, args, headers=headers)
        told = answer.headers.get("sec-websocket-accept", "")
        if answer.status != 101 or not _wire.socket_is_accepted(
                headers["Sec-WebSocket-Key"], told):
            answer.close()
            raise ConnectionLost("the daemon did not open a WebSocket")
        connection, rest = answer.take_connection()
        return AsyncSocket(connection, rest, CODE_SECONDS)

    async def _tunnel(self, op: Op, args: t.Mapping[str, t.Any], method: str, path: str,
                      data: t.Optional[Data], headers: t.Optional[t.Mapping[str, str]]) -> Reply:
        request = _wire.plan(op, args)
        target = request.target + (path if path.startswith("/") or not path else "/" + path)
        answer = await self._exchange(method, target, data, dict(headers or {}), self.timeout,
                                      may_repeat=False)
        return Reply(answer.status, answer.headers, await answer.read())

    # Requests.

    async def _send(self, op: Op, args: t.Mapping[str, t.Any], data: t.Optional[Data] = None, *,
                    accept: t.Optional[str] = None,
                    headers: t.Optional[t.Mapping[str, str]] = None) -> AsyncAnswer:
        """The answer of an operation once its head is there; an ApiError if it is refused."""
        request = _wire.plan(op, args)
        given = dict(headers or {})
        if accept:
            given["Accept"] = accept
        body: t.Optional[Data] = data
        if request.body is not None:
            body = json.dumps(request.body).encode()
            given["Content-Type"] = "application/json"
        answer = await self._exchange(request.method, request.target, body, given,
                                      self._seconds(op, args), op.may_repeat)
        if answer.status >= 400:
            raise api_error(answer.status, parsed(await answer.read()))
        return answer

    def _seconds(self, op: Op, args: t.Mapping[str, t.Any]) -> float:
        if not op.runs_code:
            return self.timeout
        given = args.get("timeout_ms")
        return CODE_SECONDS if given is None else min(given / 1000 + self.timeout, CODE_SECONDS)

    async def _exchange(self, method: str, target: str, data: t.Optional[Data],
                        headers: t.Dict[str, str], seconds: float,
                        may_repeat: bool) -> AsyncAnswer:
        while True:
            connection, is_used = await self._connection()
            answer = AsyncAnswer(self, connection, seconds, method)
            try:
                try:
                    await self._write(connection, method, target, data, headers)
                except ConnectionLost:
                    if data is None:
                        raise  # else the daemon may have refused before it had all of it
                await answer.begin()
                return answer
            except ConnectionLost:
                connection.close()
                # The daemon closes connections that rest; nothing was done if it only reads.
                if not (is_used and may_repeat):
                    raise
            except BaseException:
                connection.close()
                raise

    async def _write(self, connection: AsyncConnection, method: str, target: str,
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
            await connection.send(_wire.request_head(method, target, given) + body, self.timeout)
            return
        given["Transfer-Encoding"] = "chunked"
        await connection.send(_wire.request_head(method, target, given), self.timeout)
        for piece in in_pieces(data):
            await connection.send(b"%x\r\n%s\r\n" % (len(piece), piece), self.timeout)
        await connection.send(b"0\r\n\r\n", self.timeout)

    async def _connection(self) -> t.Tuple[AsyncConnection, bool]:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:  # threads share a client
                return await AsyncConnection.open(self.place), False
            if not connection.is_stale():
                return connection, True
            connection.close()

    def _keep(self, connection: AsyncConnection) -> None:
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
