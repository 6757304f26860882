"""If a wall cannot be built, no code runs: system calls that build walls are made to fail."""

import ctypes
import os
import struct
import subprocess

import pytest

from harness.client import ApiError
from harness.daemon import StartFailed

MIN = "default_profile: min\npool: 0\n"
EPERM, ENOSYS = 1, 38

# Name, number, and whether a kernel without it would be fine too (ENOSYS is then no failure).
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
    "prlimit64": 302,
    "sethostname": 170,
    "unshare": 272,
}


def failing(number, code):
    """A preexec function: this system call fails in everything that is started from here on."""
    allow, errno_ = 0x7FFF0000, 0x00050000 | code
    program = [
        (0x20, 0, 0, 0),  # load the number
        (0x15, 0, 1, number),
        (0x06, 0, 0, errno_),
        (0x06, 0, 0, allow),
    ]
    code_bytes = b"".join(struct.pack("HBBI", *line) for line in program)

    def install():
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(code_bytes)
        fprog = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, fprog, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter")

    return install


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
    walls_needed = wall not in ("unshare", "sethostname", "prlimit64", "move_mount", "mount_setattr")
    ran = runs_code(launch, preexec=failing(WALLS[wall], EPERM))
    if walls_needed:
        assert not ran, f"code ran although {wall} failed"


@pytest.mark.one_mode
def test_the_fault_injection_itself_does_not_stop_a_daemon(launch):
    """A filter on a call that nobody needs: everything works, so the refusals above mean something."""
    assert runs_code(launch, preexec=failing(163, EPERM))  # acct


@pytest.mark.one_mode
def test_no_code_runs_without_user_namespaces(launch, account):
    """Where the administrator has forbidden user namespaces, nothing runs and doctor says why."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make such a machine")
    user, binary = account
    script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", binary, "serve",
         "--listen", "127.0.0.1:0", "--data", f"{user.pw_dir}/no-userns"],
        capture_output=True, text=True, timeout=60, cwd="/",
    )
    assert done.returncode not in (0, None)
    assert "namespace" in done.stderr, done.stderr
    doctor = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", binary, "doctor"],
        capture_output=True, text=True, timeout=60, cwd="/",
    )
    assert doctor.returncode == 69
    assert "refuses" in doctor.stdout
