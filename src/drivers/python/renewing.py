"""The descriptors of a copy of the session, made its own.

Before the copy went to sleep its files were opened again at their offsets, and pipes, sockets,
epoll and the like were replaced by something that refuses to be used
(jail/inside/descriptors.h). Here those are made anew of which both ends are ours, each under the
number that it had, so that the objects which use it need not be found or touched. The rest is noted
for the caller.
"""

from __future__ import annotations

import _socket
import ctypes
import fcntl
import gc
import os
import select
import struct
import sys
from typing import Any, Dict, Iterable, List, Set, Tuple

from . import library

PLAIN, FILE, PIPE, SOCKET, EVENT, OURS, TERMINAL = range(7)  # enum descriptor_kind

_MAX_NAME_CHARS = 200
_MAX_ALIKE = 8  # notes that differ in their descriptors alone; more become one

Note = Tuple[str, str]

_dup2 = os.dup2
_close = os.close
_pipe = os.pipe
_write = os.write
_fcntl = fcntl.fcntl
_flock = fcntl.flock
_F_SETFL = fcntl.F_SETFL
_F_SETLK = fcntl.F_SETLK
_LOCK_NB = fcntl.LOCK_NB
_SEEK_SET = os.SEEK_SET
_strerror = os.strerror
_LOCKS = {"READ": fcntl.F_RDLCK, "WRITE": fcntl.F_WRLCK}
_FLOCKS = {"READ": fcntl.LOCK_SH, "WRITE": fcntl.LOCK_EX}
_CLOEXEC = fcntl.FD_CLOEXEC
_ACCESS, _READ, _WRITE = os.O_ACCMODE, os.O_RDONLY, os.O_WRONLY
_socketpair = _socket.socketpair
_epoll = select.epoll
_eventfd = ctypes.CDLL(None).eventfd
_get_objects = gc.get_objects
_pack = struct.pack


class Renewal:
    """`loops` are the event loops that are known to be in use."""

    def __init__(
        self, found: library.Descriptors, loops: Iterable[Any], has_moved: bool
    ) -> None:
        self._found = found
        self._has_moved = has_moved  # into another jail, where files have other contents
        self._loops = [loop for loop in loops if loop is not None]
        self._items: Dict[int, library.Descriptor] = {}
        for one in found.list[: found.count]:
            self._items[one.fd] = one
        self._polls: Dict[int, str] = {}  # what is said of each epoll
        self.notes: List[Note] = []

    def run(self) -> None:
        """epoll comes after what it watches, locks after everything that closes a file. What fails
        stays as it is, and the session wakes all the same."""
        for step in (
            self._renew_pipes, self._renew_events, self._renew_sockets, self._renew_polls,
            self._tell_terminals, self._check_files,
        ):  # fmt: skip
            try:
                step()
            except Exception as error:
                self._note("descriptor", f"not put right: {type(error).__name__}: {error}")
        self.notes = _fold(self.notes)

    def _of_kind(self, kind: int) -> List[library.Descriptor]:
        return [one for one in self._items.values() if one.kind == kind]

    def _note(self, what: str, detail: str) -> None:
        self.notes.append((what, detail))

    # pipes

    def _renew_pipes(self) -> None:
        pipes: Dict[int, List[library.Descriptor]] = {}
        for one in self._of_kind(PIPE):
            pipes.setdefault(one.inode, []).append(one)
        for ends in pipes.values():
            if {one.flags & _ACCESS for one in ends} == {_READ, _WRITE}:
                _renew_pipe(ends)
                if ends[0].state:
                    self._note("pipe", f"{_numbers(ends)}: what waited in it is gone")
            else:
                self._note("pipe", f"{_numbers(ends)}: led to another process, and is closed")

    # terminals

    def _tell_terminals(self) -> None:
        for one in self._of_kind(TERMINAL):
            self._note("terminal", f"{_numbers([one])}: closed")

    # events

    def _renew_events(self) -> None:
        for one in self._of_kind(EVENT):
            self._renew_event(one)

    def _renew_event(self, one: library.Descriptor) -> None:
        name = self._found.name_of(one)[len("anon_inode:") :].strip("[]")
        if name == "eventpoll":
            self._polls[one.fd] = self._found.info_of(one)
        elif name == "eventfd":
            _renew_eventfd(one, self._found.info_of(one))
        else:
            self._note(name or "descriptor", f"{_numbers([one])}: closed")

    def _renew_polls(self) -> None:
        for fd, text in self._polls.items():
            self._renew_poll(self._items[fd], text)

    def _renew_poll(self, one: library.Descriptor, text: str) -> None:
        poll = _epoll()
        for line in text.splitlines():
            words = line.split()
            if words and words[0] == "tfd:":
                target = self._items.get(int(words[1]))
                if target is not None and not (target.kind == SOCKET and target.state):
                    _watch(poll, target.fd, int(words[3], 16))
        _place(poll.fileno(), one)
        poll.close()

    # sockets

    def _renew_sockets(self) -> None:
        sockets = {one.fd for one in self._of_kind(SOCKET)}
        if not sockets:
            return
        self._find_loops()
        for loop in self._loops:
            pair = _self_pipe(loop)
            if sockets.issuperset(pair):
                sockets.difference_update(pair)
                self._renew_pair(pair)
        for fd in sorted(sockets):
            said = "a socket that listened" if self._items[fd].state else "a connection"
            self._note("socket", f"descriptor {fd}: {said} is closed")

    def _renew_pair(self, pair: List[int]) -> None:
        for made, fd in zip(_socketpair(), pair):
            _place(made.fileno(), self._items[fd])
            made.close()

    def _find_loops(self) -> None:
        """Looking at all objects takes long where there are many: only for an epoll that is not
        accounted for."""
        known: Set[int] = {_poll_of(loop) for loop in self._loops}
        events = sys.modules.get("asyncio.selector_events")
        if events is not None and not known.issuperset(self._polls):
            kind = events.BaseSelectorEventLoop
            self._loops += [obj for obj in _get_objects() if issubclass(type(obj), kind)]

    # files

    def _check_files(self) -> None:
        for one in self._items.values():
            if one.kind == FILE or (one.kind == PLAIN and one.error):
                self._check_file(one)

    def _check_file(self, one: library.Descriptor) -> None:
        if one.error and self._has_moved:
            name = self._found.name_of(one)[:_MAX_NAME_CHARS]
            self._note("file", f"descriptor {one.fd}: {name} is not in this branch, and is closed")
            return
        if one.error:
            name = _strerror(one.error)
            self._note("file", f"descriptor {one.fd}: shares its position with others ({name})")
        for line in self._found.info_of(one).splitlines():
            words = line.split()
            if words[:1] == ["lock:"] and not _lock_again(one.fd, words):
                self._note("lock", f"descriptor {one.fd}: somebody else holds its lock now")


def _fold(notes: List[Note]) -> List[Note]:
    alike: Dict[Note, List[str]] = {}
    for what, detail in notes:
        place, _, said = detail.partition(": ")
        alike.setdefault((what, said), []).append(place)
    folded: List[Note] = []
    for (what, said), places in alike.items():
        if len(places) > _MAX_ALIKE:
            places = [f"{places[0]} and {len(places) - 1} others"]
        folded += [(what, f"{place}: {said}" if said else place) for place in places]
    return folded


def _numbers(ends: List[library.Descriptor]) -> str:
    return "descriptor " + " and ".join(str(one.fd) for one in ends)


def _place(replacement: int, one: library.Descriptor) -> None:
    """Under the old number, with its flags."""
    _dup2(replacement, one.fd, not one.fd_flags & _CLOEXEC)
    _fcntl(one.fd, _F_SETFL, one.flags)


def _renew_pipe(ends: List[library.Descriptor]) -> None:
    read, write = _pipe()
    for one in ends:
        _place(read if one.flags & _ACCESS == _READ else write, one)
    _close(read)
    _close(write)


def _renew_eventfd(one: library.Descriptor, text: str) -> None:
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    fd = _eventfd(0, int(fields.get("eventfd-semaphore", "0")))
    count = int(fields.get("eventfd-count", "0"), 16)
    if count:
        _write(fd, count.to_bytes(8, sys.byteorder))
    _place(fd, one)
    _close(fd)


def _watch(poll: Any, fd: int, events: int) -> None:
    try:
        poll.register(fd, events)
    except OSError:  # a file cannot be watched, and never was: the number was another's
        pass


def _self_pipe(loop: Any) -> List[int]:
    """The descriptors by which a loop wakes itself."""
    ends = (getattr(loop, "_ssock", None), getattr(loop, "_csock", None))
    return [end.fileno() if end is not None else -1 for end in ends]


def _poll_of(loop: Any) -> int:
    try:
        return int(loop._selector.fileno())
    except (AttributeError, ValueError):  # of another make, or closed
        return -1


def _lock_again(fd: int, words: List[str]) -> bool:
    """`words` as in /proc/PID/fdinfo: lock: 1: POSIX ADVISORY WRITE pid dev:inode start end."""
    try:
        if words[2] == "FLOCK":
            _flock(fd, _FLOCKS[words[4]] | _LOCK_NB)
        elif words[2] in ("POSIX", "OFDLCK"):
            start, end = int(words[7]), 0 if words[8] == "EOF" else int(words[8]) + 1
            length = end - start if end else 0
            lock = _pack("hhqqi4x", _LOCKS[words[4]], _SEEK_SET, start, length, 0)
            _fcntl(fd, _F_SETLK, lock)
    except (OSError, LookupError, ValueError):
        return False
    return True
