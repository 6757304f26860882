"""What is refused in a way that programs can live with, and files of the system: what they keep."""

import textwrap

from probes import PRELUDE


def test_limits_of_others_can_be_read_and_not_set(session):
    """A limit of processor time would end a neighbour, whatever Landlock says about signals."""
    assert session.out(PRELUDE + textwrap.dedent("""
        import resource
        limit = ctypes.create_string_buffer(struct.pack('QQ', 1, 1))
        child = __import__('subprocess').Popen(['sleep', '100'])
        core = outcome(lambda: resource.prlimit(1, resource.RLIMIT_CORE))
        print(core == 'EPERM' or len(core) == 2)
        for pid in (1, os.getpid(), child.pid):
            print(outcome(lambda: call(302, pid, resource.RLIMIT_CPU, limit, 0)))
        child.kill()
        """)) == "True\nEPERM\nEPERM\nEPERM\n"


def test_a_pipe_never_grows_beyond_its_first_size(session):
    assert session.out(PRELUDE + textwrap.dedent("""
        for size in (4096, 65536, 65537, 1 << 20, (1 << 32) | 65537, (1 << 32) | 4096):
            print(outcome(lambda: call(72, 1, 1031, size)))
        """)) == "4096\n65536\nEPERM\nEPERM\nEPERM\nEPERM\n"


def test_splicing_stays_closed(session):
    """It has no way to a file: not even between two pipes."""
    assert session.out(PRELUDE + textwrap.dedent("""
        a, b = os.pipe(), os.pipe()
        os.write(a[1], b'x')
        page = ctypes.create_string_buffer(b'x')
        vector = struct.pack('PN', ctypes.addressof(page), 1)
        print(outcome(lambda: call(275, a[0], 0, b[1], 0, 1, 0)),
              outcome(lambda: call(276, a[0], b[1], 1, 0)),
              outcome(lambda: call(278, b[1], vector, 1, 0)))
        """)) == "EINVAL EINVAL EINVAL\n"


def test_descriptors_under_way_leave_room_for_the_daemon(daemon, session, witness):
    """The most that a session may have under way in sockets is a part of what the daemon may."""
    (hard,) = [line.split()[4] for line in open(f"/proc/{daemon.pid}/limits")
               if line.startswith("Max open files")]
    most = session.value("import resource\nresource.getrlimit(resource.RLIMIT_NOFILE)")
    soft, top = eval(most)
    assert soft == 1024 and top <= max(int(hard) // 4, 1024) and top <= 4104
    session.exec("""
        import array, os, resource, socket
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        kept, null = [], os.open('/dev/null', os.O_RDONLY)
        try:
            while True:
                ends = socket.socketpair(); kept.append(ends)
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 250))
                ends[0].sendmsg([b'x'], [rights])
        except OSError as error: print(error)
        """)
    assert witness.value("6 * 7") == "42"


def test_files_that_not_everybody_may_read_are_not_copied(session):
    assert session.value(
        "__import__('os').popen('find /etc /var/lib/dpkg ! -perm -o=r ! -type l 2>&1 | "
        "grep -v \"dpkg/lock\\\\|triggers/Lock\" | wc -l').read()") == r"'0\n'"
    assert session.value("[p for p in ('shadow', 'gitconfig', 'pip.conf', 'npmrc', 'environment', "
                         "'ssh', 'apt/sources.list', 'ssl/private', 'machine-id') "
                         "if __import__('os').path.exists('/etc/' + p)]") == "[]"


def test_of_var_only_the_list_of_packages_is_shown(session):
    """Read-only, and nothing of what else lies beside it: data of daemons, ours among them."""
    session.exec(PRELUDE)
    assert eval(session.value("sorted(os.listdir('/var/lib'))")) in (["apt"], ["apt", "dpkg"])
    assert session.value("[f for _, _, fs in os.walk('/var/lib/apt') for f in fs]") == "[]"
    assert session.value("[f for _, _, fs in os.walk('/var/cache') for f in fs]") == "[]"
    for path in ("/var/lib/dpkg/status", "/var/lib/dpkg/new", "/var/lib/new", "/etc/new"):
        assert session.value(f"outcome(lambda: os.open('{path}', os.O_WRONLY | os.O_CREAT, 0o666))"
                             ) in ("'EROFS'", "'EACCES'")
    assert session.value("os.statvfs('/var/lib/dpkg').f_flag & os.ST_RDONLY") == "1"
