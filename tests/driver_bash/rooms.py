"""A room for a branch, as small as it can be: namespaces of their own, and another folder where the
session's is."""

from __future__ import annotations

import array
import os
import pathlib
import socket
import subprocess
from typing import Optional

NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")
FLAGS = ["-U", "-r", "-p", "--mount-proc", "-m", "-n", "-i", "-u", "-C", "--fork", "--kill-child"]


class Room:
    """`folder` shows what is in `own`."""

    def __init__(self, folder: pathlib.Path, own: pathlib.Path) -> None:
        script = 'mount --bind "$1" "$2" && echo made; read forever'
        command = ["unshare", *FLAGS, "bash", "-c", script, "room", str(own), str(folder)]
        self.maker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.is_made = self.maker.stdout.readline() == b"made\n"

    def key(self) -> int:
        """What a copy enters it with; the caller closes it."""
        children = pathlib.Path(f"/proc/{self.maker.pid}/task/{self.maker.pid}/children")
        init = children.read_text().split()[0]
        fds = [os.open(f"/proc/{init}/ns/{name}", os.O_RDONLY) for name in NAMESPACES]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.sendmsg([b"k"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        ours.close()
        for fd in fds:
            os.close(fd)
        return theirs.detach()

    def close(self) -> None:
        self.maker.stdin.close()
        self.maker.stdout.close()
        self.maker.wait()


def make(folder: pathlib.Path, own: pathlib.Path) -> Optional[Room]:
    """None where this user may not make one."""
    room = Room(folder, own)
    if room.is_made:
        return room
    room.close()
    return None
