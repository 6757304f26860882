"""The probes once more from inside a branch: a copy of a session that walked into a room below its
own jail. Once as drivers do it, once by hostile code that kept the capabilities which that gave it.
And those in a session who lie in wait for whoever builds the room."""

import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile

import pytest
from probes import DEATH_IS_CLOSED, PRELUDE, PROBES
from test_probes import program
from test_refusals import ENOSYS, failing

from harness import daemon as daemons
from harness.host import PATIENCE

LANDLOCK_CREATE_RULESET = 444

# The session is started by `launch`, whose environment is another.
NOT_HERE = {"57 an environment without secrets"}

# What is open by definition when capabilities were kept.
NOT_FOR_KEPT = {"44 capabilities", "44 capset"}

# What all capabilities over a network namespace, a user namespace and the rest would allow.
HOSTILE = {
    "packet filters": """
        found = []
        for family, level in ((2, 0), (10, 41)):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                s = socket.socket(family, kind)
                for option in (64, 65, 66, 67, 68, 69, 96, 97, 128, 129, 1152, 1157, 200, 202):
                    if level == 41 and option in (66, 67, 96, 97): continue  # ordinary, or none
                    for act in (lambda: s.getsockopt(level, option, 84),
                                lambda: s.setsockopt(level, option, bytes(200))):
                        try: act()
                        except OSError as e:
                            if e.errno != errno.ENOPROTOOPT: found.append((level, option, e.errno))
                            continue
                        found.append((level, option))
        return found
    """,
    "routes and interfaces": """
        import fcntl
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        address = struct.pack('16sHH4s', b'lo', 2, 0, bytes([10, 0, 0, 1])) + bytes(40)
        flags = struct.pack('16sH', b'lo', 0) + bytes(40)
        return each(lambda a: fcntl.ioctl(s, *a) is not None, [(0x8914, flags), (0x8916, address),
            (0x8918, address), (0x891c, address), (0x8922, flags), (0x8923, flags), (0x8924, flags),
            (0x890b, bytes(120)), (0x890c, bytes(120)), (0x89a0, b'br0' + bytes(20)),
            (0x8943, flags), (0x89f1, flags), (0x8946, flags), (0x8955, bytes(80))])
    """,
    "buffers without a limit, sockets that are repaired": """
        s = socket.socket()
        return each(lambda a: s.setsockopt(*a) is None, [(1, 32, 1 << 30), (1, 33, 1 << 30),
            (6, 19, 1)])
    """,
    "IPsec policies, marks, other people's addresses": """
        policy = bytearray(168)
        found = []
        for family, level, option in ((2, 0, 17), (10, 41, 35)):
            for direction in (0, 1):  # in, out
                struct.pack_into('=B', policy, 160, direction)
                s = socket.socket(family, socket.SOCK_DGRAM)
                found += each(lambda a: s.setsockopt(*a) is None, [(level, option, bytes(policy)),
                    (level, option - 1, bytes(policy)), (1, 36, 7), (1, 12, 200), (1, 25, b'lo'),
                    (0, 19, 1), (41, 75, 1), (1, 61, bytes(8))])
        return found
    """,
    "the kernel's choice when memory runs out": """
        with open('/proc/self/oom_score_adj', 'w') as f: f.write('-1000')
        return True
    """,
    "freezing file systems": """
        import fcntl
        return each(lambda p: fcntl.ioctl(os.open(p, os.O_RDONLY), 0xc0045877, 0) == 0,
            ['/', '/workspace', '/tmp', '/dev/shm', '/usr', '/proc'])
    """,
    "pid 1": """
        return each(lambda n: can_open('/proc/1/' + n, os.O_RDWR if n == 'mem' else os.O_RDONLY),
            ['mem', 'maps', 'environ', 'root', 'cwd', 'ns/user', 'ns/mnt', 'ns/pid', 'ns/net'])
    """,
    "owners and modes of what is not its own": """
        return each(lambda p: os.chmod(p, 0o777) is None, ['/', '/usr', '/usr/bin/env', '/etc',
            '/etc/passwd', '/dev', '/dev/null', '/cella']) + each(
            lambda p: os.chown(p, 1000, 1000) is None, ['/', '/usr', '/dev/null', '/etc/passwd'])
    """,
    "another user": """
        return each(lambda n: call(n, 1, 1, 1) == 0, [105, 106, 113, 114, 117, 119]) + each(
            lambda g: os.setgroups(g) is None, [[0], [1000], []])
    """,
    "namespaces further up": """
        import fcntl
        found = []
        for name in 'user pid mnt net ipc uts cgroup'.split():
            fd = os.open('/proc/self/ns/' + name, os.O_RDONLY)
            for request in (0xb701, 0xb702):  # NS_GET_USERNS, NS_GET_PARENT
                try: above = fcntl.ioctl(fd, request)
                except OSError: continue
                if request == 0xb702 or os.readlink(f'/proc/self/fd/{above}') != os.readlink(
                        '/proc/self/ns/user'):
                    found.append((name, os.readlink(f'/proc/self/fd/{above}')))
        return found
    """,
    "capabilities of files": """
        open('/workspace/tool', 'w').close()
        return os.setxattr('/workspace/tool', 'security.capability',
            struct.pack('<IIIIII', 0x03000001, 0xffffffff, 0, 0xffffffff, 0, 0)) is None
    """,
    "file systems and hosts": """
        return each(lambda a: call(*a) >= 0, [(165, b'none', b'/tmp', b'tmpfs', 0, 0),
            (166, b'/proc', 2), (161, b'/tmp'), (155, b'/tmp', b'/tmp'), (170, b'x', 1),
            (272, 0x20000), (272, 0x10000000), (430, b'tmpfs', 0), (428, -100, b'/', 1)])
    """,
}


# Everything within reach of who builds a room below this session: its memory is a copy of the
# warden's, and it has the warden's descriptors and mounts, until it has become init.
ATTACK = PRELUDE + r"""
import re, time
breaches, seen, inits, start = [], 0, 0, time.monotonic()
WANTED = %d  # or the attack proves nothing
def attempt(act):
    global seen
    try: result = act()
    except OSError: return None
    seen += 1
    return result
def attack(pid):
    global inits
    exe = attempt(lambda: os.readlink(f'/proc/{pid}/exe'))
    is_init = exe == '/cella/init'
    inits += is_init
    if exe and not is_init: breaches.append(('exe', exe))
    for name in ('mem', 'environ', 'maps'):
        if attempt(lambda: can_read(f'/proc/{pid}/{name}')) and not is_init:
            if os.path.exists(f'/proc/{pid}') and exe: breaches.append((name, exe))
    fds = attempt(lambda: os.listdir(f'/proc/{pid}/fd'))
    if fds: breaches.append(('fd', fds))
    names = attempt(lambda: os.listdir(f'/proc/{pid}/root/'))
    if names and ('ws' in names or 'image' in names): breaches.append(('root', names))
    attempt(lambda: os.kill(pid, 0))
while time.monotonic() < start + (0.7 if inits >= WANTED else 60):
    mine = os.fork()
    if mine == 0: os._exit(0)
    os.waitpid(mine, 0)
    for pid in range(mine + 1, mine + 12): attack(pid)
print('seen', seen, 'inits', inits, 'breaches', breaches[:9])
"""


# Who is one user with the builder may end or stop it, where Landlock does not keep them apart.
SHOOT = PRELUDE + r"""
import time
start = time.monotonic()
hits = 0
while time.monotonic() < start + (0.5 if hits else 60):  # none proves nothing
    mine = os.fork()
    if mine == 0: os._exit(0)
    os.waitpid(mine, 0)
    for pid in range(mine + 1, mine + 12):
        try: os.kill(pid, %d)
        except OSError: continue
        hits += 1
print('hits', hits > 0)
"""


class Host:
    """A warden with a session and a branch of it; see branch_host.c."""

    def __init__(self, binary, data, state, user=None, preexec=None):
        self.process = subprocess.Popen(
            [binary, data, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=preexec, **(daemons.as_user(user) if user else {}),
        )

    def run(self, code):
        text = code.encode()
        self.process.stdin.write(struct.pack("I", len(text)) + text)
        self.process.stdin.flush()
        (size,) = struct.unpack("I", self.process.stdout.read(4))
        return self.process.stdout.read(size).decode()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def start(cella, mode, account):
    """Starts a host in a state; all end with the module."""
    hosts, homes = [], []

    def begin(state, preexec=None):
        home = pathlib.Path(tempfile.mkdtemp(prefix="cella-branch-"))
        homes.append(home)
        user = account[0] if mode == "user" else None
        program = shutil.copy(cella.parent / "tests" / "escape" / "branch_host", home)
        data = home / "data"
        data.mkdir()
        for path in (home, data):
            os.chmod(path, 0o755)
            if user:
                os.chown(path, user.pw_uid, user.pw_gid)
        hosts.append(Host(program, data, state, user, preexec))
        return hosts[-1]

    yield begin
    for host in hosts:
        host.end()
    for home in homes:
        shutil.rmtree(home)


@pytest.fixture(scope="module", params=["dropped", "kept"])
def branch(request, start):
    host = start(request.param)
    host.state = request.param
    return host


@pytest.mark.parametrize("name", [name for name in PROBES if name not in NOT_HERE])
def test_closed(branch, name):
    if branch.state == "kept" and name in NOT_FOR_KEPT:
        pytest.skip("open by definition")
    said = branch.run(program(PROBES[name]))
    if said == "DIED\n" and name in DEATH_IS_CLOSED:
        return
    assert "OPEN" not in said and "Traceback" not in said and said != "DIED\n", said


@pytest.mark.parametrize("name", HOSTILE)
def test_what_capabilities_over_a_room_are_good_for(branch, name):
    said = branch.run(program(HOSTILE[name]))
    assert "OPEN" not in said and "Traceback" not in said, said


def test_the_states_are_what_they_are_called(branch):
    said = branch.run("print(open('/proc/self/status').read(), open('/proc/self/mounts').read())")
    value = int(said.split("CapEff:")[1].split()[0], 16)
    assert (value > 0) == (branch.state == "kept"), said
    assert "OPEN" in branch.run(program("return os.listdir('/usr')"))


@pytest.mark.parametrize("has_landlock", [True, False])
def test_who_builds_a_room_is_out_of_reach(start, has_landlock):
    """Without Landlock those in the session reach init, as soon as it is nothing else."""
    host = start("source", None if has_landlock else failing(LANDLOCK_CREATE_RULESET, ENOSYS))
    said = host.run(ATTACK % (not has_landlock))
    assert "breaches []" in said, said
    inits = int(said.split("inits")[1].split()[0])
    assert (inits == 0) == has_landlock, said


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_who_ends_or_stops_the_builder_gains_nothing(start, sig):
    """The warden does not wait for it: the session goes on, and all ends in order."""
    host = start("source", failing(LANDLOCK_CREATE_RULESET, ENOSYS))
    assert host.run(SHOOT % sig) == "hits True\n"
    assert host.run("print(6 * 7)") == "42\n"
