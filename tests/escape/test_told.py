"""/proc and /sys tell a session about itself, and nothing about the host."""

import os
import re

import pytest

# Everything that a whole /proc has and that is not a process; of this kernel, so that nothing new
# is forgotten.
OTHERS = sorted(n for n in os.listdir("/proc") if not n.isdigit())
SHOWN = {"cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "sys",
         "thread-self", "uptime", "version", "vmstat"}


def test_no_file_of_proc_is_there_but_those_that_we_made(session):
    found = session.out(
        f"""
        import os
        found = []
        for name in {OTHERS!r} + ['kcore', 'kallsyms', 'kmsg', 'keys', 'sysrq-trigger', 'cmdline',
                                  'interrupts', 'modules', 'config.gz', 'fs', 'bus', 'irq', 'acpi']:
            for path in ('/proc/' + name, '/proc/./' + name, '/proc/self/../' + name):
                try:
                    os.lstat(path)
                    found.append(name)
                except OSError:
                    pass
        print(*set(found))
        """)
    assert set(found.split()) == SHOWN


def test_proc_lists_nothing_but_processes(session):
    names = eval(session.value("import os; [n for n in os.listdir('/proc') if not n.isdigit()]"))
    assert set(names) <= {"self", "thread-self"}


def test_looking_a_name_up_does_not_bring_it_back(session):
    """Not by creating, opening, linking or running it either."""
    assert session.out(
        """
        import os
        for name in ('kcore', 'devices', 'sysrq-trigger', 'bus'):
            for attempt in (lambda p: os.open(p, os.O_RDWR | os.O_CREAT), os.mkdir, os.listdir,
                            lambda p: os.link(p, '/tmp/x'), lambda p: os.execv(p, [p]),
                            lambda p: os.rename(p, p + 'x'), os.stat, os.readlink, os.chdir):
                try:
                    print('OPEN', name, attempt('/proc/' + name))
                except OSError:
                    pass
        """
    ) == ""


TRY_IT = """
def try_it(attempt, path):
    try:
        attempt()
        print('OPEN', path)
    except OSError:
        pass
"""


def test_settings_of_the_kernel_are_copies(session):
    """They are not the kernel's, cannot be written, and are few."""
    mounts = session.out("print(open('/proc/self/mountinfo').read())")
    kinds = {line.split()[4]: line.split(" - ")[1].split()[0]
             for line in mounts.splitlines() if line}
    assert kinds["/proc/sys"] == "tmpfs"
    session.exec(TRY_IT)
    assert session.out(
        """
        import os
        for folder, folders, files in os.walk('/proc/sys'):
            for path in [folder] + [os.path.join(folder, n) for n in files]:
                for attempt in (lambda: os.open(path, os.O_WRONLY), lambda: os.chmod(path, 0o777),
                                lambda: os.unlink(path), lambda: os.utime(path),
                                lambda: os.open(path + '/new', os.O_CREAT | os.O_WRONLY)):
                    try_it(attempt, path)
        """
    ) == ""


def test_what_is_told_cannot_be_changed(session, witness):
    told = "[open(n).read() for n in ('/proc/version', '/proc/cpuinfo', '/sys/fs/cgroup/cpu.max')]"
    before = session.value(told)
    session.exec(TRY_IT)
    assert session.out(
        """
        import os, glob
        paths = ['/proc/' + n for n in ('meminfo', 'stat', 'cpuinfo', 'loadavg', 'version',
            'vmstat', 'uptime', 'sys')] + glob.glob('/cella/session/**', recursive
            =True) + glob.glob('/sys/**', recursive=True)
        for path in paths:
            for attempt in (lambda: os.open(path, os.O_WRONLY), lambda: os.truncate(path, 0),
                            lambda: os.unlink(path), lambda: os.chmod(path, 0o777),
                            lambda: os.rename(path, path + '.old'), lambda: os.utime(path, (1, 1)),
                            lambda: os.setxattr(path, 'user.x', b'1'),
                            lambda: os.open(f'/proc/self/fd/{os.open(path, os.O_RDONLY)}',
                                            os.O_WRONLY)):
                try_it(attempt, path)
        """
    ) == ""
    assert session.value(told) == before


def test_a_page_is_of_one_session_only(session, witness):
    """A session sees its own page and no folder beside it."""
    assert session.value("import os; os.path.samefile('/cella/session/..', '/cella')") == "True"
    assert session.value("open('/proc/meminfo').read() == open('/cella/session/meminfo').read()") \
        == "True"


def test_nothing_of_the_host_is_in_it(session):
    """Its memory, the names of its devices, what it was started with."""
    text = session.out(
        """
        import glob, os
        for path in glob.glob('/sys/**', recursive=True) + glob.glob('/proc/sys/**', recursive=True
                ) + ['/proc/' + n for n in ('meminfo', 'stat', 'version', 'vmstat', 'loadavg')]:
            if os.path.isfile(path):
                print(path, open(path).read())
        """)
    with open("/proc/meminfo") as file:
        assert re.search(r"MemTotal:\s+(\d+)", file.read())[1] not in text
    with open("/proc/sys/kernel/random/boot_id") as file:
        assert file.read().strip() not in text
    assert "boot_id" not in text and "machine-id" not in text
    assert os.uname().nodename == "cella" or f"\n{os.uname().nodename}\n" not in text


@pytest.mark.needs_user("as root the files are another user's, and no lease is given")
def test_a_lease_on_a_page_holds_up_nobody(session, witness, spawn):
    """Whoever opens a leased file for writing waits for its holder, unless it asks not to."""
    session.exec(
        """
        import fcntl, signal, time
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # that somebody wants to write
        held = [open(n) for n in ('/proc/meminfo', '/proc/stat')]
        for file in held:
            try: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except OSError as error: print(error)
        time.sleep(0.1)
        """)
    assert spawn("min").value("1") == "1"
    assert session.value("held[0].read(9)") == "'MemTotal:'"


def test_what_a_session_used_is_not_told_to_the_next(spawn):
    """Their pages are used again."""
    first = spawn("min")
    first.exec("import time; held = b'x' * (100 << 20); time.sleep(0.1)")
    first.kill()
    for _ in range(4):
        told = spawn("min").value(
            "dict(l.split(':') for l in open('/proc/meminfo').read().splitlines())['AnonPages']")
        assert int(told.strip("'").split()[0]) < 90 << 10
