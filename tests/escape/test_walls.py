"""Walls that stand behind others, looked at from both sides."""

import ctypes
import os
import platform

import pytest

CLONE_NEWPID = 0x20000000


def test_the_file_system_of_the_image_is_read_only(session):
    """And not only its mounts, of which each jail has some of its own."""
    mounts = session.out("print(open('/proc/self/mountinfo').read())")
    (root,) = [line for line in mounts.splitlines() if line.split()[4:5] == ["/"]]
    kind, _, options = root.split(" - ")[1].split()
    assert kind == "tmpfs" and options.split(",")[0] == "ro", root


def read_in_namespace(pid, path):
    """What a file of /proc says to a process of this pid namespace."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with open(f"/proc/{pid}/ns/pid") as namespace:
            ctypes.CDLL(None).setns(namespace.fileno(), CLONE_NEWPID)
        if os.fork() == 0:
            with open(path, "rb") as file:
                os.write(writer, file.read())
        else:
            os.wait()
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader) as file:
        return file.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into a pid namespace")
@pytest.mark.skipif(tuple(map(int, platform.release().split(".")[:2])) < (6, 14),
                    reason="before Linux 6.14 there is one table for all")
def test_sessions_leave_process_numbers_to_others(daemon):
    with open("/proc/sys/kernel/pid_max") as file:
        everybody = int(file.read())
    ours = int(read_in_namespace(daemon.warden(), "/proc/sys/kernel/pid_max"))
    assert ours == everybody - everybody // 4
