"""The daemon's side of a session, as small as it can be: a real socketpair, real pipes for every
cell, a real interpreter at the other end."""

from __future__ import annotations

import array
import functools
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.host import PATIENCE, eventually  # noqa: E402, F401

DRIVER = pathlib.Path(__file__).resolve().parents[2] / "src" / "drivers" / "python"
REPEAT_SECONDS = 0.5  # session/timing.c
KEPT_CELLS = 20
ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/tmp", "MPLBACKEND": "Agg",
               "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1",
               "OMP_NUM_THREADS": "1"}  # fmt: skip


@functools.lru_cache(maxsize=None)
def _own_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="cella-driver-")


@functools.lru_cache(maxsize=None)
def _empty_folder() -> str:
    """What a file is called in a test may exist in /tmp."""
    folder = pathlib.Path(_own_folder().name) / "work"
    folder.mkdir()
    return str(folder)


@functools.lru_cache(maxsize=None)
def compiled(python: str, driver: pathlib.Path = DRIVER) -> pathlib.Path:
    """A folder with the driver's modules and the bytecode of them for an interpreter, as jails have
    it: hundreds of tests start one. The sources themselves stay as they are."""
    if driver == DRIVER:
        driver = pathlib.Path(_own_folder().name) / "python"
        if not driver.exists():
            shutil.copytree(DRIVER, driver, ignore=shutil.ignore_patterns("__pycache__"))
    how = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([python, *how, str(driver)], check=True)
    return driver


def _text(data: bytearray) -> str:
    """What is not UTF-8 comes as surrogates."""
    return data.decode("utf-8", "surrogateescape")


class Answer:
    """What came of one cell."""

    def __init__(self, done: Dict[str, Any], stdout: str, stderr: str, events: List[Any]) -> None:
        self.id: int = done["id"]
        self.status: str = done["status"]
        self.value: Optional[Dict[str, Any]] = done["value"]
        self.error: Optional[Dict[str, Any]] = done["error"]
        self.last_status: Optional[int] = done.get("last_status")  # of shells
        self.exit_code: Optional[int] = done.get("exit_code")  # of a cell that ended by an exit
        self.command_status: Optional[int] = done.get("command_status")  # of Python's `!cmd`
        self.names: Optional[Dict[str, Any]] = done.get("names")
        self.stdout = stdout
        self.stderr = stderr
        self.events = events  # texts of stdout and display outputs, in order
        self.displays = [event for event in events if isinstance(event, dict)]
        self.frames: List[Dict[str, Any]] = []  # that brought displays and clears

    @property
    def text(self) -> Optional[str]:
        return None if self.value is None else self.value["text"]

    @property
    def traceback(self) -> str:
        assert self.error is not None, self
        return self.error["traceback"]

    def __repr__(self) -> str:
        streams = f"out={self.stdout!r} err={self.stderr!r}"
        return f"{self.status} value={self.value} error={self.error} {streams}"


class Child:
    """A child of this process that forge.py made."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: Optional[int] = None

    def wait(self, timeout: float = PATIENCE) -> int:
        if self.returncode is None:
            pidfd = os.pidfd_open(self.pid)
            ended, _, _ = select.select([pidfd], [], [], timeout)
            os.close(pidfd)
            assert ended, f"process {self.pid} did not end within {timeout:.0f} s"
            status = os.waitpid(self.pid, 0)[1]
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class Forge:
    """forge.py with one interpreter and driver."""

    def __init__(self, python: str, driver: pathlib.Path) -> None:
        self._sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = pathlib.Path(__file__).with_name("forge.py")
        command = [python, "-s", str(script), str(compiled(python, driver)),
                   str(theirs.fileno())]
        subprocess.Popen(command, pass_fds=[theirs.fileno()], env=ENVIRONMENT, cwd="/")
        theirs.close()

    def make(self, theirs: socket.socket, cwd: str) -> Child:
        socket.send_fds(self._sock, [cwd.encode()], [theirs.fileno()])
        return Child(int(self._sock.recv(100)))


@functools.lru_cache(maxsize=None)
def _forge(python: str, driver: pathlib.Path) -> Forge:
    return Forge(python, driver)


class Peer:
    """One session. `sock` is the daemon's end."""

    def __init__(self, sock: socket.socket,
                 process: Union[subprocess.Popen, Child, None] = None) -> None:
        self.sock = sock
        self.process = process
        self.cwd = ""
        self.pid = process.pid if process else 0
        self._received = b""
        self._next_id = 0
        self.late: Dict[int, tuple] = {}  # read ends of earlier cells
        self.names: Optional[str] = None  # what cells are to tell of them
        self.exit_ends = False  # an exit of a cell ends the interpreter
        self.explores = False  # cells may call operations of the daemon
        self.notes: List[Dict[str, str]] = []  # of a head that woke: what could not be put right
        self._repeat_at = 0.0  # when the last interrupt is sent once more

    @classmethod
    def start(
        cls, python: str, preload: tuple = (), cwd: Optional[str] = None,
        driver: pathlib.Path = DRIVER,
    ) -> "Peer":
        """With a profile it is a process of its own from the beginning."""
        ours, theirs = socket.socketpair()
        cwd = cwd or _empty_folder()
        process: Union[subprocess.Popen, Child]
        if preload:
            profile = json.dumps({"name": "test", "preload": list(preload)})
            script = compiled(python, driver) / "standalone.py"
            command = [python, "-s", str(script), str(theirs.fileno()), profile]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=ENVIRONMENT,
                                       cwd=cwd)
        else:
            process = _forge(python, driver).make(theirs, cwd)
        theirs.close()
        peer = cls(ours, process)
        peer.cwd = cwd
        assert peer.receive()["ev"] == "ready"
        return peer

    def close(self) -> None:
        self.sock.close()
        for cell_id in list(self.late):
            self.forget(cell_id)
        if self.process is not None:
            self.process.wait(PATIENCE)

    def forget(self, cell_id: int) -> None:
        for fd in self.late.pop(cell_id):
            os.close(fd)

    # frames

    def send(self, frame: Dict[str, Any], fds: tuple = ()) -> None:
        payload = json.dumps(frame).encode()
        data = len(payload).to_bytes(4, "little") + payload
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.sock.sendmsg([data], ancillary)
        if sent < len(data):
            self.sock.sendall(data[sent:])

    def receive(self, timeout: float = PATIENCE) -> Dict[str, Any]:
        deadline = time.monotonic() + timeout
        while True:
            if len(self._received) >= 4:
                end = 4 + int.from_bytes(self._received[:4], "little")
                if len(self._received) >= end:
                    payload, self._received = self._received[4:end], self._received[end:]
                    return json.loads(payload.decode())
            self.sock.settimeout(max(deadline - time.monotonic(), 0.01))
            data = self.sock.recv(1 << 20)
            if not data:
                raise EOFError("the session ended")
            self._received += data

    def ask(self, frame: Dict[str, Any]) -> Dict[str, Any]:
        self.send(frame)
        return self.receive()

    # cells

    def begin(self, code: str) -> "Running":
        self._next_id += 1
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        frame = {"op": "exec", "id": self._next_id, "code": code}
        if self.names is not None:
            frame["names"] = self.names
        if self.exit_ends:
            frame["exit_ends"] = True
        if self.explores:
            frame["explore"] = True
        self._repeat_at = 0.0
        self.send(frame, (out_write, err_write))
        os.close(out_write)
        os.close(err_write)
        self.late[self._next_id] = (out_read, err_read)
        if len(self.late) > KEPT_CELLS:
            self.forget(min(self.late))
        return Running(self, self._next_id, out_read, err_read)

    def run(
        self, code: str, timeout: float = PATIENCE, answers: Sequence[Optional[str]] = ()
    ) -> Answer:
        """`answers` to what it asks for, in order; None is the end of the input."""
        running = self.begin(code)
        for answer in answers:
            running.wait_for_question()
            running.answer(answer)
        return running.finish(timeout)

    def value(self, code: str) -> Optional[str]:
        answer = self.run(code)
        assert answer.status == "ok", answer
        return answer.text

    def interrupt(self) -> None:
        """A cell that goes on is interrupted once more, as by the daemon: a signal that hits an
        interpreter just before it goes to sleep does not keep it from that."""
        os.kill(self.pid, signal.SIGINT)
        self._repeat_at = time.monotonic() + REPEAT_SECONDS

    def interrupt_as_often_as_the_daemon(self) -> None:
        """For peers that interrupt once: the cell may not have been read yet, and what it is about
        to start may not be there to be hit."""
        self.interrupt()
        self._repeat_at = time.monotonic() + REPEAT_SECONDS

    def settle(self) -> None:
        """What was sent between cells has been delivered, and is not for the next one: the daemon
        waits for that too."""
        assert self.ask({"op": "names", "max": 1})["ev"] == "names"

    def note_progress(self) -> None:
        """The cell has told that it took the last interrupt."""
        self._repeat_at = 0.0

    def repeat_interrupt(self) -> bool:
        if not self._repeat_at or time.monotonic() < self._repeat_at:
            return False
        self.interrupt()
        self._repeat_at = 0.0
        return True

    def _stat(self) -> List[str]:
        with open(f"/proc/{self.pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def wait_until_it_waits(self) -> None:
        """Not for a processor: for something to happen."""
        self._wait_until(lambda: self._stat()[0] == "S")

    def wait_until_it_works(self) -> None:
        """For 50 ms of processor time: a cell that loops has begun."""
        begun = int(self._stat()[11])
        ticks = max(os.sysconf("SC_CLK_TCK") // 20, 1)
        self._wait_until(lambda: int(self._stat()[11]) >= begun + ticks)

    def wait_until_under_way(self) -> None:
        """A cell that has told that it begins: it waits, or has worked for a while."""
        begun = int(self._stat()[11])
        self._wait_until(lambda: self._stat()[0] == "S" or int(self._stat()[11]) > begun)

    def wait_until_delivered(self, number: int) -> None:
        """No signal of this kind is on its way to the interpreter."""
        self._wait_until(lambda: not self._pending() >> (number - 1) & 1)

    def _pending(self) -> int:
        with open(f"/proc/{self.pid}/status") as file:
            lines = [line for line in file if line.startswith(("SigPnd:", "ShdPnd:"))]
        return int(lines[0].split()[1], 16) | int(lines[1].split()[1], 16)

    def read_late(self, cell_id: int, wanted: str, stream: int = 0) -> str:
        """What a cell that is over still writes, until `wanted` is in it."""
        text = ""
        fd = self.late[cell_id][stream]
        deadline = time.monotonic() + PATIENCE
        while wanted not in text:
            assert select.select([fd], [], [], deadline - time.monotonic())[0], text
            data = os.read(fd, 65536)
            if not data:
                break
            text += data.decode()
        return text


    # checkpoints

    def checkpoint(self, number: int = 1) -> "Checkpoint":
        """Of a session that has one thread."""
        checkpoint, answer = self.try_checkpoint(number)
        assert answer == {"ev": "checkpoint", "id": number, "forked": True, "threads": 1}
        checkpoint.pid = read_greeting(checkpoint.sock, b"c")
        return checkpoint

    def try_checkpoint(self, number: int = 1) -> "tuple[Checkpoint, Dict[str, Any]]":
        checkpoint = Checkpoint(self.send_checkpoint(number))
        return checkpoint, self.receive()

    def send_checkpoint(self, number: int = 1) -> socket.socket:
        ours, theirs = _credential_pair()
        self.send({"op": "checkpoint", "id": number}, (theirs.fileno(),))
        theirs.close()
        return ours


def _credential_pair() -> "tuple[socket.socket, socket.socket]":
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def read_greeting(sock: socket.socket, wanted: bytes) -> int:
    """Who wrote that byte, as the kernel says."""
    sock.settimeout(PATIENCE)
    data, ancillary, _, _ = sock.recvmsg(1, 64)
    assert data == wanted, data
    return next(struct.unpack("iii", content)[0] for _, _, content in ancillary)


class Checkpoint:
    """A copy that sleeps."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.pid = 0

    def send(self, frame: Dict[str, Any], fds: tuple = ()) -> None:
        Peer.send(self, frame, fds)  # type: ignore[arg-type]

    def wake(self, has_room: bool = False) -> "Peer":
        """`has_room`: as the head of a branch, in what it takes for another jail."""
        peer = self.begin_wake(has_room)
        peer.pid = read_greeting(peer.sock, b"h")
        woken = peer.receive()
        assert woken["ev"] == "woken"
        # Outside of a jail /tmp is everybody's.
        peer.notes = [note for note in woken["notes"] if note["what"] != "tmp"]
        return peer

    def begin_wake(self, has_room: bool = False) -> "Peer":
        ours, theirs = _credential_pair()
        key = (theirs.fileno(),) if has_room else ()
        self.send({"op": "wake", "head": 7, "room": has_room}, (theirs.fileno(), *key))
        theirs.close()
        return Peer(ours)

    def close(self) -> None:
        """It ends by itself, and is ours to wait for."""
        self.sock.close()
        if self.pid:
            assert os.waitpid(self.pid, 0) == (self.pid, 0)


class Running:
    """A cell under way. Reads the pipes as the daemon does: always."""

    def __init__(self, peer: Peer, cell_id: int, out: int, err: int) -> None:
        self.peer = peer
        self.cell_id = cell_id
        self._fds = {out: bytearray(), err: bytearray()}
        self._out, self._err = out, err
        self._events: List[Any] = []
        self._told = 0
        self.frames: List[Dict[str, Any]] = []  # displays and clears
        self.questions: List[Dict[str, Any]] = []

    def wait_for_output(self, wanted: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while wanted.encode() not in self._fds[self._out]:
            assert self._drain(deadline - time.monotonic()), bytes(self._fds[self._out])
        self.peer.note_progress()

    def finish(self, timeout: float = PATIENCE) -> Answer:
        deadline = time.monotonic() + timeout
        has_repeated = False
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no verdict; so far {dict(self._fds)}")
            patience = 0 if self.peer._received else min(left, REPEAT_SECONDS / 10)
            ready = select.select([self.peer.sock, *self._open()], [], [], patience)[0]
            if self.peer.sock not in ready and not self.peer._received:
                has_repeated |= self.peer.repeat_interrupt()
                self._drain(0)
                continue
            frame = self._receive()
            if frame["ev"] in ("display", "clear"):
                assert frame["id"] == self.cell_id
                self.frames.append(frame)
                if frame["ev"] == "display":
                    self._events.append(frame["output"])
                self.peer.send({"op": "ack", "id": self.cell_id})
                continue
            assert frame["ev"] == "done" and frame["id"] == self.cell_id, frame
            if has_repeated:  # it may have come too late
                self.peer.settle()
            texts = [_text(self._fds[fd]) for fd in (self._out, self._err)]
            answer = Answer(frame, *texts, self._events)
            answer.frames = self.frames
            return answer

    def rest(self) -> List[str]:
        """Both streams of a cell without a verdict, to their end."""
        while self._drain(0):
            pass
        return [_text(self._fds[fd]) for fd in (self._out, self._err)]

    def wait_for_question(self) -> Dict[str, Any]:
        frame = self._receive()
        assert frame["ev"] == "input" and frame["id"] == self.cell_id, frame
        self.peer.note_progress()
        self.questions.append(frame)
        return frame

    def answer(self, text: Optional[str]) -> None:
        frame = {"eof": True} if text is None else {"text": text}
        self.peer.send({"op": "input", "id": self.cell_id, **frame})

    def stdout(self) -> str:
        """What it has written so far."""
        return _text(self._fds[self._out])

    def _receive(self) -> Dict[str, Any]:
        frame = self.peer.receive()
        while self._drain(0):
            pass
        self._note_output()
        return frame

    def _open(self) -> List[int]:
        return list(self._fds)

    def _note_output(self) -> None:
        new = _text(self._fds[self._out][self._told :])
        if new:
            self._events.append(new)
            self._told = len(self._fds[self._out])

    def _drain(self, timeout: float) -> bool:
        ready = select.select(self._open(), [], [], max(timeout, 0))[0]
        has_read = False
        for fd in ready:
            data = os.read(fd, 65536)
            self._fds[fd] += data
            has_read = has_read or bool(data)
        return has_read
