"""If a wall cannot be built, no code runs: system calls that build walls are made to fail."""

import ctypes
import re
import struct
import subprocess

import pytest

from harness.client import ApiError
from harness.daemon import StartFailed, as_user
from harness.host import PATIENCE

MIN = "default_profile: min\npool: 0\n"
EPERM, ENOSYS = 1, 38

WALLS = {
    "setns": 308,
    "pivot_root": 155,
    "mount_setattr": 442,
    "move_mount": 429,
    "capset": 126,
    "setresuid": 117,
    "seccomp": 317,
    "landlock_restrict_self": 446,
    "landlock_add_rule": 445,
    "unshare": 272,
}


def filtered(program):
    """A preexec function: this BPF program filters the system calls of all that it starts."""
    code = b"".join(struct.pack("HBBI", *line) for line in program)

    def install():
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(code)
        fprog = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, fprog, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter")

    return install


LOAD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def failing(number, code):
    """This system call fails."""
    return filtered([
        (LOAD, 0, 0, NUMBER),
        (JUMP_EQUAL, 0, 1, number),
        (RETURN, 0, 0, ERRNO | code),
        (RETURN, 0, 0, ALLOW),
    ])


def without_user_namespaces():
    """As in a container with the usual filter: clone3 does not exist, CLONE_NEWUSER is refused."""
    return filtered([
        (LOAD, 0, 0, NUMBER),
        (JUMP_EQUAL, 0, 1, 435),  # clone3
        (RETURN, 0, 0, ERRNO | ENOSYS),
        (JUMP_EQUAL, 1, 0, 56),  # clone
        (JUMP_EQUAL, 0, 3, 272),  # unshare
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_SET, 0, 1, 0x10000000),
        (RETURN, 0, 0, ERRNO | EPERM),
        (RETURN, 0, 0, ALLOW),
    ])


def runs_code(launch, **options):
    """True if a session of such a daemon runs code; False with a reason if it is refused."""
    try:
        daemon = launch(config=MIN, **options)
    except StartFailed as failed:
        assert failed.status not in (None, 0), "it neither started nor ended"
        assert failed.stderr.strip(), "it refused without a word"
        return False
    try:
        return daemon.client.spawn("min").value("6 * 7") == "42"
    except ApiError as error:
        assert error.status == 503, error
        assert error.message
        return False


@pytest.mark.one_mode
@pytest.mark.parametrize("wall", WALLS)
def test_no_code_runs_when_a_wall_cannot_be_built(launch, wall):
    assert not runs_code(launch, preexec=failing(WALLS[wall], EPERM))


@pytest.mark.one_mode
def test_the_fault_injection_itself_does_not_stop_a_daemon(launch):
    """A call that nobody needs fails and everything works, so the refusals above mean something."""
    assert runs_code(launch, preexec=failing(163, EPERM))  # acct


def test_no_code_runs_without_user_namespaces(launch):
    assert not runs_code(launch, preexec=without_user_namespaces())


def test_doctor_says_that_user_namespaces_are_missing(launcher):
    done = subprocess.run(
        [launcher.binary, "doctor"], capture_output=True, text=True, timeout=PATIENCE, cwd="/",
        preexec_fn=without_user_namespaces(), **(as_user(launcher.user) if launcher.user else {}),
    )
    assert done.returncode == 69
    assert "refuses" in done.stdout
    assert re.search(r"^no +user namespaces", done.stdout, re.M), done.stdout
