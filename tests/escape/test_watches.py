"""inotify: what it does not tell, and what one session cannot use up."""

import ctypes
import os

import pytest

IN_ACCESS, IN_CLOSE_NOWRITE, IN_OPEN, IN_ALL_EVENTS = 1, 0x10, 0x20, 0xFFF

WATCH = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0o2004000)
def watch(path, mask, high=0):
    wd = libc.syscall(ctypes.c_long(254), ctypes.c_long(fd), path.encode(),
                      ctypes.c_long(high | mask))
    return wd if wd >= 0 else -ctypes.get_errno()
"""


def test_nobody_is_told_what_others_open_or_read(session):
    """In /usr, which all share, or by whoever looks after the workspace."""
    session.exec(WATCH)
    assert session.value(
        f"""[watch(path, bits | more, high) for path in ('/usr/bin', '/usr/bin/env', '/workspace')
             for bits in ({IN_ACCESS}, {IN_OPEN}, {IN_CLOSE_NOWRITE}, {IN_ALL_EVENTS})
             for more in (0, 2, 0x20000000) for high in (0, 1 << 32)] == [-1] * 72""") == "True"


def test_reading_and_listing_by_others_makes_no_event(session, spawn):
    session.exec(WATCH)
    assert int(session.value(f"watch('/usr/bin', {IN_ALL_EVENTS & ~0x31})")) > 0
    assert int(session.value(f"watch('/usr/bin/env', {IN_ALL_EVENTS & ~0x31})")) > 0
    spawn("min").exec("import os; os.system('/usr/bin/env > /dev/null; ls /usr/bin > /dev/null')")
    with open("/usr/bin/env", "rb") as file:
        file.read()
    assert session.fails("os.read(fd, 4096)").name == "BlockingIOError"


def instances():
    """How many this host's user of the tests can have at once, by having them."""
    libc, made = ctypes.CDLL(None), []
    while len(made) < 4096 and (one := libc.inotify_init1(os.O_CLOEXEC)) >= 0:
        made.append(one)
    for one in made:
        os.close(one)
    return len(made)


def test_a_session_has_few_and_leaves_the_rest_to_others(session, witness):
    assert session.out(WATCH + """
made = [fd]
while (one := libc.inotify_init1(0o2000000)) >= 0: made.append(one)
print(len(made))
for n in range(3):  # nor do its children have any
    if os.fork() == 0:
        os._exit(libc.inotify_init1(0) >= 0)
    print(os.wait()[1])
""") == "8\n0\n0\n0\n"
    assert int(witness.value("import ctypes; ctypes.CDLL(None).inotify_init1(0)")) > 0


def test_watches_have_a_limit(session):
    assert session.out(WATCH + """
for n in range(9000):
    os.mkdir(f'/tmp/{n}')
    wd = watch(f'/tmp/{n}', 2)
    if wd < 0: break
print(n, -wd)
""") == "8192 28\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="root's own instances are counted")
@pytest.mark.needs_root("it is root's instances that a daemon of root could use up")
def test_all_sessions_together_leave_half_to_the_host(daemon, spawn):
    with open("/proc/sys/fs/inotify/max_user_instances") as file:
        most = int(file.read())
    if most > 512:
        pytest.skip("too many to use up")
    before = instances()
    taken = 0
    for _ in range(most // 2 // 8 + 2):
        taken += int(spawn("min").value(
            "import ctypes; libc = ctypes.CDLL(None)\n"
            "made = [one for one in (libc.inotify_init1(0) for _ in range(20)) if one >= 0]\n"
            "len(made)"))
    assert taken <= most // 2
    assert instances() >= min(before, most - most // 2) - 8
