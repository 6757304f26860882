"""An interpreter with the driver loaded that makes sessions by forking, as a zygote does: hundreds
of tests want one, and each start of Python would take twenty times as long.

    PYTHON -s forge.py DRIVER SOCKET_FD

Each message on the socket is a directory and brings the descriptor of a session's end; the answer
is the pid. What is made is a child of whoever started this process.
"""

import ctypes
import fcntl
import os
import signal
import socket
import sys

_CLONE_PARENT = 0x8000
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}[os.uname().machine]

sys.path[0] = sys.argv[1]

import boot  # noqa: E402

del sys.path[0]
del sys.modules["boot"]


def main() -> None:
    cella = boot.load()
    cella.tables.install()
    plots = cella.plots.Plots()
    plots.install()
    clone = ctypes.CDLL(None).syscall
    sock = socket.socket(fileno=int(sys.argv[2]))
    while True:
        directory, fds, _, _ = socket.recv_fds(sock, 4096, 1)
        if not fds:
            os._exit(0)
        pid = clone(_SYS_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            break
        os.close(fds[0])
        sock.send(str(pid).encode())
    sock.close()
    session_fd = fcntl.fcntl(fds[0], fcntl.F_DUPFD, 10)  # small numbers are for what cells open
    os.close(fds[0])
    os.chdir(directory)
    sys.argv[:] = [""]
    cella.driver.Session(cella.preload.Profile([]).names, plots).start(session_fd)


main()
