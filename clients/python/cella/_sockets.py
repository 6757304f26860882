"""The only code that differs with and without asyncio: one connection, which sends and receives
bytes. Every wait has a deadline."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import typing as t

from .errors import ConnectionLost
from ._place import Place

CONNECT_SECONDS = 10.0
PIECE = 256 * 1024


class Connection:
    """A socket that blocks."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    @classmethod
    def open(cls, place: Place) -> "Connection":
        try:
            return cls(cls._connect(place))
        except OSError as error:
            if not place.can_start(error):
                raise place.explain(error) from error
        place.start()
        try:
            return cls(cls._connect(place))
        except OSError as error:
            raise place.explain(error) from error

    @staticmethod
    def _connect(place: Place) -> socket.socket:
        if place.host is not None:
            sock = socket.create_connection((place.host, place.port), CONNECT_SECONDS)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return place.tls.wrap_socket(sock, server_hostname=place.host) if place.tls else sock
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder: t.Optional[int] = None
        try:
            path, folder = place.socket_path()
            sock.settimeout(CONNECT_SECONDS)
            sock.connect(path)
        except BaseException:
            sock.close()
            raise
        finally:
            if folder is not None:
                os.close(folder)
        return sock

    def is_stale(self) -> bool:
        """The other side has closed it, or says what nobody asked for."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def send(self, data: bytes, seconds: float) -> None:
        try:
            self._sock.settimeout(seconds)
            self._sock.sendall(data)
        except OSError as error:
            raise ConnectionLost(f"the daemon does not take the request: {error}") from error

    def receive(self, seconds: float) -> bytes:
        try:
            self._sock.settimeout(seconds)
            return self._sock.recv(PIECE)
        except socket.timeout as error:
            raise ConnectionLost(f"the daemon said nothing for {seconds:g} seconds") from error
        except OSError as error:
            raise ConnectionLost(f"the connection broke: {error}") from error

    def close(self) -> None:
        self._sock.close()


class AsyncConnection:
    """The same for asyncio."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(cls, place: Place) -> "AsyncConnection":
        try:
            return await cls._connect(place)
        except OSError as error:
            if not place.can_start(error):
                raise place.explain(error) from error
        await asyncio.get_running_loop().run_in_executor(None, place.start)
        try:
            return await cls._connect(place)
        except OSError as error:
            raise place.explain(error) from error

    @classmethod
    async def _connect(cls, place: Place) -> "AsyncConnection":
        folder: t.Optional[int] = None
        try:
            if place.host is not None:
                opening = asyncio.open_connection(place.host, place.port, ssl=place.tls)
            else:
                path, folder = place.socket_path()
                opening = asyncio.open_unix_connection(path)
            return cls(*await asyncio.wait_for(opening, CONNECT_SECONDS))
        except asyncio.TimeoutError as error:
            raise OSError(f"no connection after {CONNECT_SECONDS:g} seconds") from error
        finally:
            if folder is not None:
                os.close(folder)

    def is_stale(self) -> bool:
        return (self._reader.at_eof() or self._writer.is_closing()
                or self._loop is not asyncio.get_running_loop())

    async def send(self, data: bytes, seconds: float) -> None:
        try:
            self._writer.write(data)
            await asyncio.wait_for(self._writer.drain(), seconds)
        except (OSError, asyncio.TimeoutError) as error:
            raise ConnectionLost(f"the daemon does not take the request: {error}") from error

    async def receive(self, seconds: float) -> bytes:
        try:
            return await asyncio.wait_for(self._reader.read(PIECE), seconds)
        except asyncio.TimeoutError as error:
            raise ConnectionLost(f"the daemon said nothing for {seconds:g} seconds") from error
        except OSError as error:
            raise ConnectionLost(f"the connection broke: {error}") from error

    def close(self) -> None:
        try:
            self._writer.close()
        except RuntimeError:  # its loop is closed, and the transport with it
            pass
