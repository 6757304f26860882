"""Pseudo-terminals and standard streams by name: what they do not open."""

import fcntl
import os
import pty
import termios
import textwrap

import pytest
from probes import PRELUDE

CODE = PRELUDE + "import pty\n"


def test_each_session_has_terminals_of_its_own(spawn):
    one, other = spawn(), spawn()
    for session in (one, other):
        session.exec("import os, pty\nends = pty.openpty()")
        assert session.value("os.ttyname(ends[1])") == "'/dev/pts/0'"
        assert session.value("sorted(os.listdir('/dev/pts'))") == "['0', 'ptmx']"
    one.exec("os.write(ends[0], b'a secret\\n')")
    other.exec(CODE)
    assert other.value("outcome(lambda: os.open('/dev/pts/1', os.O_RDWR))") == "'ENOENT'"
    assert other.value("os.set_blocking(ends[1], False); "
                       "outcome(lambda: os.read(ends[1], 99))".replace("; ", "\n")) == "'EAGAIN'"


def test_terminals_of_the_host_are_out_of_reach(session):
    """The instance that is mounted is not the host's, by whatever path it is reached."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"of the host\n")
        session.exec(CODE)
        assert session.value("sorted(os.listdir('/dev/pts'))") == "['ptmx']"
        assert session.value("[outcome(lambda: os.mknod(f'/tmp/{n}', 0o20666, os.makedev(*n)))"
                             " for n in ((5, 2), (136, 0), (4, 1))]") in (
                                 "['EPERM', 'EPERM', 'EPERM']", "['EACCES', 'EACCES', 'EACCES']")
        assert session.value("os.stat('/dev/pts').st_dev") != str(os.stat("/dev/pts").st_dev)
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_session_uses_up_only_its_own_terminals(spawn, witness):
    session = spawn()
    assert session.out("""
        import errno, os
        kept = []
        try:
            while True: kept.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))
        except OSError as error: print(len(kept), errno.errorcode[error.errno])
        """) == "32 ENOSPC\n"
    assert witness.value("__import__('pty').openpty() is not None") == "True"
    for end in pty.openpty():
        os.close(end)


def test_what_terminals_can_be_told(session):
    """Nothing is typed for others, nobody's driver is loaded; high bits of the number are none."""
    requests = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCSETD": 0x5423}
    found = session.out(CODE + textwrap.dedent(f"""
        ends = pty.openpty()
        byte = ctypes.create_string_buffer(struct.pack('i', 21))
        print([(name, outcome(lambda: call(16, end, high | number, byte)))
               for name, number in {requests}.items() for end in ends for high in (0, 1 << 32)])
        """))
    assert found == f"{[(name, 'EPERM') for name in requests for _ in range(4)]}\n"
    # Those that an ordinary user may not make anywhere.
    assert session.value("[outcome(lambda: call(16, ends[1], n, byte)) for n in (0x541D, 0x5437)]"
                         ) in ("['EPERM', 'EPERM']", "['EBUSY', 'EPERM']")


@pytest.mark.one_mode
def test_the_daemons_terminal_is_nobodys(launch):
    """A daemon that was started at a terminal."""
    ours, theirs = pty.openpty()

    def take_terminal():
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    try:
        daemon = launch(config="default_profile: min\n", preexec=take_terminal)
        session = daemon.client.spawn("min")
        session.exec(CODE)
        assert session.value("outcome(lambda: os.open('/dev/tty', os.O_RDWR))") == "'ENXIO'"
        told = session.exec("__import__('subprocess').run('echo x > /dev/tty', shell=True)")
        assert "No such device or address" in told["stderr"]
        daemon.stop()
    finally:
        os.close(ours)
        os.close(theirs)


def test_the_streams_by_name_can_be_written_and_not_read(daemon, session):
    """The reading end is the daemon's: who could open the pipe to read would take what it reads."""
    session.exec(CODE)
    assert session.exec("with open('/dev/stdout', 'w') as f: n = f.write('x')")["stdout"] == "x"
    if daemon.mode == "root":  # else all have one user, who may
        for flags in ("os.O_RDONLY | os.O_NONBLOCK", "os.O_RDWR"):
            assert session.value(f"outcome(lambda: os.open('/dev/stdout', {flags}))") == "'EACCES'"
        assert session.value("outcome(lambda: os.chmod('/proc/self/fd/1', 0o666))") == "'EPERM'"
