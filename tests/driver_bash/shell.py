"""The daemon's side of a bash session: the peer of tests/driver with a shell at the other end."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
from typing import Any

from peer import PATIENCE, Answer, Peer

BASH = "/usr/bin/bash"
SESSION_FD = 3


class Shell(Peer):
    process: subprocess.Popen

    @classmethod
    def launch(cls, driver: pathlib.Path, cwd: pathlib.Path, bash: str = BASH) -> "Shell":
        """As the launcher does: the socket is descriptor 3, the process leads a session."""
        ours, theirs = socket.socketpair()
        command = [bash, "--norc", "--noprofile", str(driver / "main.bash")]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            pass_fds=[SESSION_FD],
            preexec_fn=lambda: os.dup2(theirs.fileno(), SESSION_FD) and None,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/tmp"},
            cwd=cwd,
            start_new_session=True,
        )
        theirs.close()
        return cls(ours, process)

    @classmethod
    def start(cls, driver: pathlib.Path, cwd: pathlib.Path, bash: str = BASH) -> "Shell":
        shell = cls.launch(driver, cwd, bash)
        assert shell.receive() == {"ev": "ready"}
        return shell

    def out(self, code: str) -> str:
        """What a cell that ends well writes."""
        answer = self.run(code)
        assert answer.status == "ok" and not answer.stderr, answer
        return answer.stdout

    def interrupt(self) -> None:
        os.killpg(self.pid, signal.SIGINT)

    def ending(self, code: str) -> "tuple[int, str, str]":
        """Runs a cell that ends the session: exit status (or negative signal), stdout, stderr."""
        self.exit_ends = True
        running = self.begin(code)
        try:
            answer: Any = running.finish()
        except (EOFError, ConnectionError):
            answer = None
        assert answer is None, answer
        status = self.process.wait(PATIENCE)
        out, err = running.rest()
        return status, out, err


__all__ = ["Answer", "Shell"]
