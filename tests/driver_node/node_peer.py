"""The daemon's side of a session of Node.js: the peer of the Python driver's tests, with another
interpreter at the other end."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
from typing import Any, Dict

from peer import Peer

DRIVER = pathlib.Path(__file__).resolve().parents[2] / "src" / "runtime" / "node"
FLAGS = ["--no-warnings", "--expose-internals"]  # as in src/runtime/node.c


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

    def interrupt(self) -> None:
        """As the warden does: to the whole group."""
        os.killpg(self.pid, signal.SIGINT)

    def names(self, code: str, wanted: str = "changes") -> Dict[str, Any]:
        """What the verdict on a cell tells of the names."""
        self._next_id += 1
        pipes = [os.pipe(), os.pipe()]
        frame = {"op": "exec", "id": self._next_id, "code": code, "names": wanted}
        self.send(frame, tuple(write for _, write in pipes))
        done = self.receive()
        for read, write in pipes:
            os.close(read)
            os.close(write)
        return done.get("names")
