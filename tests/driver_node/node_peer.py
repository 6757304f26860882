"""The daemon's side of a session of Node.js: the peer of the Python driver's tests, with another
interpreter at the other end."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
from typing import Any

from peer import Answer, Peer

DRIVER = pathlib.Path(__file__).resolve().parents[2] / "src" / "drivers" / "node"
FLAGS = ["--no-warnings", "--expose-internals"]  # as in src/runtime/runtime.c


class NodePeer(Peer):
    @classmethod
    def begin_session(cls, node: str, image: pathlib.Path, cwd: str = "/tmp") -> "NodePeer":
        ours, theirs = socket.socketpair()
        shell = f'exec 3<&{theirs.fileno()} {theirs.fileno()}<&-; exec "$0" "$@"'
        command = ["bash", "-c", shell, node, *FLAGS, str(image / "main.js")]
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/tmp"}
        process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        theirs.close()
        peer = cls(ours, process)
        assert peer.receive() == {"ev": "ready"}
        return peer

    def run(self, *args: Any, **options: Any) -> Answer:
        answer = super().run(*args, **options)
        answer.cell_id = self._next_id
        return answer

    def everything(self, answer: Answer, wanted: str, stream: int = 0) -> str:
        """What a cell has printed, before and after its verdict."""
        soon = answer.stderr if stream else answer.stdout
        late = "" if wanted in soon else self.read_late(answer.cell_id, wanted, stream)
        return soon + late

    def interrupt(self) -> None:
        """As the warden does: to the whole group."""
        os.killpg(self.pid, signal.SIGINT)

    def version(self) -> int:
        exe = os.readlink(f"/proc/{self.pid}/exe")
        shown = subprocess.run([exe, "--version"], capture_output=True, text=True).stdout
        return int(shown[1:].split(".")[0])

    def stray_interrupt(self) -> None:
        """Between cells. The daemon sends the next one when this was delivered, as it does: when it
        has answered something else."""
        self.interrupt()
        self.wait_until_delivered(signal.SIGINT)
        self.settle()

    def names_after(self, code: str, wanted: str = "changes") -> Any:
        """What the verdict on a cell tells of the names."""
        self.names = wanted
        try:
            return self.run(code).names
        finally:
            self.names = None
