"""The session's socket: length-prefixed JSON both ways, descriptors on the way in.

Nothing here raises because of a signal: the interrupt handler does not raise while the driver
itself runs (interrupts.py), and the system calls are then restarted by CPython.
"""

from __future__ import annotations

import _socket
import _thread
import array
import os
import select
from typing import Any, List

from . import jsontext

_HEADER_BYTES = 4
_MAX_FRAME_BYTES = 64 << 20
_CHUNK_BYTES = 8192
_MAX_DESCRIPTORS = 8
_ANCILLARY_BYTES = _socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)
_CLOEXEC = _socket.MSG_CMSG_CLOEXEC
_SOL_SOCKET = _socket.SOL_SOCKET
_SCM_RIGHTS = _socket.SCM_RIGHTS

_close = os.close
_set_inheritable = os.set_inheritable
_socket_of = _socket.socket
_array = array.array
_poll = select.poll
_POLLIN = select.POLLIN
_POLLOUT = select.POLLOUT
_int_from_bytes = int.from_bytes
_read_object = jsontext.read_object
_to_bytes = jsontext.to_bytes


_REHEARSAL = b'\x24\0\0\0{"op":"exec","id":0,"code":"x = 1 "}'


class Closed(Exception):
    """The daemon is gone, or what arrives is not its language."""


class Channel:
    """One frame at a time. `lock` is held from a display until its acknowledgement and from a
    question until its answer, because threads may display and ask too."""

    __slots__ = ("lock", "_fd", "_recvmsg", "_send", "_sock", "_buffer", "_descriptors")

    def __init__(self, fd: int) -> None:
        self._open(fd)
        self.lock = _thread.allocate_lock()

    def _open(self, fd: int) -> None:
        _set_inheritable(fd, False)
        self._fd = fd
        self._sock = _socket_of(fileno=fd)
        self._sock.setblocking(True)
        self._recvmsg = self._sock.recvmsg
        self._send = self._sock.send
        self._buffer = b""
        self._descriptors: List[int] = []

    def close(self) -> None:
        self._sock.close()

    def move(self, fd: int) -> None:
        """In a copy of the session: the same channel on a socket of its own. The old one is closed
        already, and its number may be another's by now."""
        self._sock.detach()
        for descriptor in self._descriptors:  # came with a frame that the original has read
            _close(descriptor)
        self._open(fd)

    def greet(self, byte: bytes) -> None:
        """Before the first frame: by this byte the warden learns who speaks."""
        self._send_some(byte)

    def send(self, document: str) -> None:
        payload = _to_bytes(document)
        data = len(payload).to_bytes(_HEADER_BYTES, "little") + payload
        sent = self._send_some(data)
        while sent < len(data):
            data = data[sent:]
            sent = self._send_some(data)

    def _send_some(self, data: bytes) -> int:
        while True:
            try:
                return self._send(data)
            except BlockingIOError:  # user code set O_NONBLOCK on every descriptor it found
                self._wait(_POLLOUT)

    def rehearse(self) -> None:
        """What a cell does here, without effect."""
        if not self._buffer:
            self._buffer = _REHEARSAL
            self.receive()

    def receive(self) -> Any:
        """The next frame, a dict."""
        while True:
            buffer = self._buffer
            missing = _HEADER_BYTES - len(buffer)
            if missing <= 0:
                end = _HEADER_BYTES + _int_from_bytes(buffer[:_HEADER_BYTES], "little")
                if end > _MAX_FRAME_BYTES:
                    raise Closed("a frame is too long")
                missing = end - len(buffer)
                if missing <= 0:
                    self._buffer = buffer[end:]
                    return _read_object(buffer[_HEADER_BYTES:end].decode())
            self._buffer = buffer + self._receive_some(missing)

    def _receive_some(self, missing: int) -> bytes:
        size = missing if missing > _CHUNK_BYTES else _CHUNK_BYTES
        while True:
            try:
                data, ancillary, _, _ = self._recvmsg(size, _ANCILLARY_BYTES, _CLOEXEC)
                break
            except BlockingIOError:
                self._wait(_POLLIN)
        for level, kind, content in ancillary:
            if level == _SOL_SOCKET and kind == _SCM_RIGHTS:
                self._descriptors.extend(_array("i", content))
        if not data:
            raise Closed("the daemon closed the session")
        return data

    def has_unread(self) -> bool:
        """Has anything arrived that receive() would not have to wait for?"""
        return bool(self._buffer) or bool(self._poller(_POLLIN).poll(0))

    def wait_unread(self, wake_fd: int = -1) -> None:
        """Returns before anything is read, so that has_unread() is true when it came to an end;
        or when `wake_fd` has something to read."""
        if not self._buffer:
            poller = self._poller(_POLLIN)
            if wake_fd >= 0:
                poller.register(wake_fd, _POLLIN)
            poller.poll()

    def _wait(self, event: int) -> None:
        self._poller(event).poll()

    def _poller(self, event: int) -> Any:
        poller = _poll()
        poller.register(self._fd, event)
        return poller

    def take_descriptors(self, count: int) -> List[int]:
        """Those of the frame at hand: the next frame and its own may have arrived with it."""
        taken = self._descriptors
        if len(taken) <= count:
            self._descriptors = []
            return taken
        self._descriptors = taken[count:]
        return taken[:count]

    def numbers(self) -> List[int]:
        """The descriptors that are the channel's: its socket first."""
        return [self._fd, *self._descriptors]
