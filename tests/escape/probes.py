"""The probes: small Python programs that try to get out of a session.

Each is the body of a function that runs inside a jail. It returns what it found if the way is
OPEN and nothing if it is closed; an OSError means closed. `DEATH_IS_CLOSED` names those whose
attempt the kernel may answer by ending the process. Numbers are x86-64 system calls."""

PRELUDE = r'''
import ctypes, errno, mmap, os, socket, stat, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    """A raw system call; raises OSError."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number),
                          *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
def each(attempt, things):
    """Those things for which the attempt succeeded."""
    found = []
    for thing in things:
        try:
            result = attempt(thing)
        except OSError:
            continue
        if result not in (None, False):
            found.append((thing, result))
    return found
def can_open(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))
    return True
def can_read(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        return os.read(fd, 64) or None
    finally:
        os.close(fd)
def outcome(act):
    try:
        return act()
    except OSError as error:
        return errno.errorcode[error.errno]
'''

PROBES = {
    # 1-7: other processes
    "01 the root of pid 1": "return os.listdir('/proc/1/root')",
    "01 the root of other processes": """
        return each(lambda p: os.listdir(f'/proc/{p}/root'),
            [p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()])
    """,
    "02 the inside of pid 1": """
        return each(lambda n: can_read('/proc/1/' + n), ['mem', 'environ', 'maps', 'auxv', 'stack',
            'syscall', 'pagemap'])
    """,
    "02 links of pid 1": """
        return each(lambda n: os.readlink('/proc/1/' + n), ['cwd', 'exe', 'root', 'fd/0', 'fd/1',
            'fd/2', 'fd/3'])
    """,
    "02 descriptors of pid 1": "return each(lambda n: can_open(f'/proc/1/fd/{n}'), range(16))",
    "03 ptrace of pid 1": "return each(lambda r: call(101, r, 1, 0, 0) == 0, [16, 0x4206])",
    "03 ptrace of the parent": "return call(101, 16, os.getppid(), 0, 0) == 0",
    "03 ptrace of a child": """
        pid = os.fork()
        if pid == 0:
            os.execv('/bin/sleep', ['sleep', '5'])
        try:
            return call(101, 0x4206, pid, 0, 0) == 0
        finally:
            os.kill(pid, 9); os.waitpid(pid, 0)
    """,
    "03 being traced": "return call(101, 0, 0, 0, 0) == 0",
    "04 process_vm_readv and process_vm_writev": """
        buf = ctypes.create_string_buffer(16)
        vec = struct.pack('QQ', ctypes.addressof(buf), 16)
        return each(lambda a: call(a[0], a[1], vec, 1, vec, 1, 0),
                    [(n, p) for n in (310, 311) for p in (1, os.getppid(), os.getpid())])
    """,
    "05 pidfd_getfd of pid 1": """
        fd = call(434, 1, 0)
        return each(lambda n: call(438, fd, n, 0) >= 0, range(8))
    """,
    "05 pidfd_getfd of oneself": """
        fd = call(434, os.getpid(), 0)
        return call(438, fd, 0, 0) >= 0
    """,
    "06 signals to everybody": "return call(62, -1, 0) == 0",
    "06 signals to everybody, with high bits": "return call(62, 0xffffffff, 0) == 0",
    "06 SIGKILL and SIGSTOP to pid 1 do nothing": """
        for sig in (9, 19, 15, 1):
            try: os.kill(1, sig)
            except OSError: pass
        os.kill(os.getpid(), 0)
        return None
    """,
    "06 kcmp": "return call(312, 1, os.getpid(), 0, 0, 0) >= 0",
    "07 limits of another process": "return call(302, 1, 7, struct.pack('QQ', 9, 9), 0) == 0",
    "07 limits of another process by pid of a child": """
        pid = os.fork()
        if pid == 0:
            os.execv('/bin/sleep', ['sleep', '5'])
        try:
            return call(302, pid, 7, struct.pack('QQ', 5, 5), 0) == 0
        finally:
            os.kill(pid, 9); os.waitpid(pid, 0)
    """,
    "07 scheduling of processes other than the session's own": """
        others = [p for p in range(2, 5000) if p != os.getpid()]
        return each(lambda p: os.sched_setaffinity(p, {0}) is None, others) + each(
            lambda p: os.setpriority(os.PRIO_PROCESS, p, 10) is None, others)
    """,
    "07 scheduling of everybody with this uid": """
        return each(lambda u: os.setpriority(os.PRIO_USER, u, 0) is None, [1, 65534, 2000000000])
    """,
    "07 other processes are invisible": """
        mine = {os.getpid()}
        return sorted(int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) not in mine)
    """,
    # 9-16: sockets
    "09 sockets of the system": """
        return each(lambda p: socket.socket(socket.AF_UNIX).connect(p) is None,
            ['/var/run/docker.sock', '/run/docker.sock', '/run/dbus/system_bus_socket',
            '/run/systemd/private', '/run/systemd/journal/socket', '/dev/log',
            '/run/containerd/containerd.sock', '/run/snapd.socket', '/tmp/.X11-unix/X0'])
    """,
    "11 routes to the outside": """
        def reach(address):
            s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET,
                socket.SOCK_DGRAM)
            s.connect((address, 53))
            return s.getsockname()
        return each(reach, ['169.254.169.254', '8.8.8.8', '10.0.0.1', '172.17.0.1', '192.168.0.1',
                            '2001:4860:4860::8888', 'fe80::1', '224.0.0.1'])
    """,
    "11 interfaces other than loopback": """
        return [n for _, n in socket.if_nameindex() if n != 'lo']
    """,
    "12 netlink of other protocols": """
        return each(lambda a: call(41, *a) >= 0, [(16 | high << 32, kind, p | low << 32)
            for high in (0, 1) for kind in (2, 3, 5) for p in range(32) for low in (0, 1)
            if (p, low, high) != (0, 0, 0)])
    """,
    "12 changes by netlink": """
        # RTM_NEWLINK to RTM_DELLINK, ADDR, ROUTE, NEIGH, RULE, QDISC, TCLASS, TFILTER, ACTION,
        # NSID, VLAN, CHAIN, NEXTHOP …: everything but the questions, which end in 2.
        def change(kind):
            s = socket.socket(16, 3, 0)
            s.settimeout(5)
            about = struct.pack('=BxHiII', 0, 0, 1, 1, 1) + struct.pack('=HH4s', 8, 3, b'dum0')
            link = struct.pack('=HH', 16, 18) + struct.pack('=HH5sxxx', 9, 1, b'dummy')
            body = about + link
            s.send(struct.pack('=IHHII', 16 + len(body), kind, 5 | 0x400, 7, 0) + body)
            answer = s.recv(65536)
            error = struct.unpack_from('=i', answer, 16)[0]
            if struct.unpack_from('=H', answer, 4)[0] == 2 and error != 0:
                raise OSError(-error, 'refused')
            return answer
        return each(change, [k for k in range(16, 120) if k % 4 != 2])
    """,
    "13 packet sockets": "return each(lambda t: socket.socket(17, t, 0x0300), [1, 2, 3, 10])",
    "13 raw sockets": """
        return each(lambda p: socket.socket(2, 3, p), [1, 6, 17,
            255]) + each(lambda p: socket.socket(10, 3, p), [58, 255])
    """,
    "13 ping sockets": r"""
        s = socket.socket(2, 2, 1)
        s.sendto(b'\x08\0\0\0\0\0\0\0', ('8.8.8.8', 0))
        return 'sent'
    """,
    "14 vsock": "return each(lambda t: socket.socket(40, t), [1, 2, 5])",
    "15 alg": "return socket.socket(38, 5)",
    "15 alg, with high bits": "return call(41, (1 << 32) | 38, 5, 0) >= 0",
    "16 every other family": """
        return each(lambda n: socket.socket(n[0], n[1]), [(f, t) for f in range(3,
            64) if f not in (10, 16) for t in (1, 2, 3, 5)])
    """,
    "16 socketpairs of other families": """
        return each(lambda f: socket.socketpair(f, 1), [16, 30, 38, 40])
    """,
    # 17-25: namespaces, mounts
    "17 namespaces of pid 1": """
        return each(lambda n: can_open('/proc/1/ns/' + n), ['user', 'mnt', 'net', 'pid', 'ipc',
            'uts', 'cgroup', 'time'])
    """,
    "17 setns to one's own namespaces": """
        return each(lambda n: call(308, os.open('/proc/self/ns/' + n, 0), 0) == 0, ['user', 'mnt',
            'net', 'ipc', 'uts', 'cgroup', 'pid', 'time'])
    """,
    "17 setns by pidfd": "return call(308, call(434, 1, 0), 0x10000000 | 0x20000) == 0",
    "17 parents of one's namespaces": """
        import fcntl
        found = []
        for n in ('user', 'pid'):
            for request in (0xb701, 0xb702):
                try: found.append((n, fcntl.ioctl(os.open('/proc/self/ns/' + n, 0), request)))
                except OSError: pass
        return each(lambda f: call(308, f[1], 0) == 0, found)
    """,
    "18 unshare": """
        return each(lambda f: call(272, f) == 0, [0x10000000, 0x20000, 0x40000000, 0x20000000, 0x80,
            0x2000000, 0x8000000, 0x4000000, 0x10020000])
    """,
    "19 clone into new namespaces": """
        def attempt(flags):
            pid = call(56, flags | 17, 0, 0, 0, 0)
            if pid == 0: os._exit(0)
            os.waitpid(pid, 0)
            return True
        return each(attempt, [0x10000000, 0x20000, 0x40000000, 0x20000000, 0x2000000, 0x8000000,
            0x4000000])
    """,
    "19 clone3": """
        import signal
        args = struct.pack('QQQQQQQQ', 0x10000000, 0, 0, 0, 17, 0, 0, 0)
        pid = call(435, args, len(args))
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
        return True
    """,
    "20 mount": """
        return each(lambda t: libc_mount(t), ['tmpfs', 'proc', 'sysfs', 'cgroup', 'cgroup2',
            'overlay', 'devtmpfs', 'bpf', 'fuse', 'ext4', 'mqueue', 'debugfs', 'tracefs',
            'securityfs'])
    """,
    "20 bind mount": "return call(165, b'/usr', b'/tmp', 0, 4096, 0) == 0",
    "20 remount read-write": """
        return each(lambda d: call(165, 0, d, 0, 32 | 4096, 0) == 0, [b'/', b'/usr', b'/proc',
            b'/dev'])
    """,
    "20 umount": """
        return each(lambda d: call(166, d, 2) == 0, [b'/proc', b'/tmp', b'/usr', b'/workspace',
            b'/dev'])
    """,
    "21 fsopen": """
        return each(lambda t: call(430, t, 0) >= 0, [b'tmpfs', b'ext4', b'proc', b'cgroup2'])
    """,
    "21 open_tree": "return call(428, -100, b'/', 1) >= 0",
    "21 move_mount": "return call(429, -100, b'/usr', -100, b'/tmp', 0) == 0",
    "21 mount_setattr": """
        return call(442, -100, b'/usr', 0, struct.pack('QQQQ', 0, 1, 0, 0), 32) == 0
    """,
    "21 fspick": "return call(433, -100, b'/', 0) >= 0",
    "21 statmount and listmount": """
        return each(lambda n: call(n, struct.pack('QQQ', 24, 0xffffffffffffffff, 0),
            ctypes.create_string_buffer(4096), 512, 0) > 0, [457, 458])
    """,
    "22 pivot_root": "return call(155, b'/tmp', b'/tmp') == 0",
    "22 chroot": "return call(161, b'/tmp') == 0",
    "23 device nodes": """
        return each(lambda d: os.mknod(d[0], d[1] | 0o600, os.makedev(*d[2])) is None, [('/tmp/n1',
            stat.S_IFBLK, (254, 0)), ('/tmp/n2', stat.S_IFCHR, (1, 1)), ('/workspace/n3',
            stat.S_IFCHR, (1, 3)), ('/dev/n4', stat.S_IFCHR, (1, 3)), ('/dev/shm/n5', stat.S_IFBLK,
            (8, 0))])
    """,
    "24 name_to_handle_at": """
        return call(303, -100, b'/usr', struct.pack('II', 128, 0) + bytes(128),
            ctypes.create_string_buffer(4), 0) == 0
    """,
    "24 open_by_handle_at": """
        h = struct.pack('II', 8, 1) + struct.pack('II', 2, 0)
        return call(304, os.open('/usr', 0), h, 0) >= 0
    """,
    "25 cgroup files": """
        found = [os.path.join(at, name) for at, folders, files in os.walk('/sys')
                 for name in folders + files if name.startswith('cgroup.')
                 or name in ('tasks', 'release_agent', 'notify_on_release')
                 or os.access(os.path.join(at, name), os.W_OK)]
        known = {'/sys/class': ['net', 'power_supply'], '/sys/class/net': ['lo']}
        return found + each(
            lambda p: sorted(os.listdir(p)) != known.get(p, []) and os.listdir(p) or None,
            ['/cgroup', '/sys/kernel', '/sys/firmware', '/sys/module', '/sys/bus', '/sys/block',
             '/sys/class/power_supply', *known])
    """,
    "25 release_agent": """
        return each(lambda p: can_open(p, os.O_WRONLY), ['/sys/fs/cgroup/memory/release_agent',
            '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/pids/release_agent'])
    """,
    # 26-28: the kernel's files
    "26 settings of the kernel, to write": """
        return each(lambda p: can_open(p, os.O_WRONLY), ['/proc/sys/kernel/core_pattern',
            '/proc/sys/kernel/modprobe', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper',
            '/proc/sys/fs/binfmt_misc/register', '/proc/sys/vm/panic_on_oom',
            '/proc/sys/kernel/hostname', '/proc/sys/net/ipv4/ip_forward',
            '/proc/sys/kernel/ns_last_pid', '/proc/sys/user/max_user_namespaces'])
    """,
    "26 a new map of users": """
        return each(lambda n: os.write(os.open('/proc/self/' + n, os.O_WRONLY),
            b'allow' if n == 'setgroups' else b'0 0 1'), ['uid_map', 'gid_map', 'setgroups',
            'projid_map'])
    """,
    "26 any file of /proc/sys, to write": """
        found = []
        for where, _, files in os.walk('/proc/sys'):
            found += each(lambda f: can_open(os.path.join(where, f), os.O_WRONLY), files)
        return found
    """,
    "27 the kernel's secrets": """
        return each(can_read, ['/proc/kcore', '/proc/kallsyms', '/proc/kmsg', '/proc/keys',
            '/proc/key-users', '/proc/timer_list', '/proc/sched_debug', '/proc/iomem',
            '/proc/ioports', '/proc/modules', '/proc/slabinfo', '/proc/vmallocinfo',
            '/proc/partitions', '/proc/diskstats', '/proc/interrupts', '/proc/cmdline',
            '/proc/bus/pci/devices', '/proc/config.gz', '/sys/kernel/notes',
            '/sys/firmware/dmi/tables/DMI', '/proc/swaps', '/proc/mdstat', '/proc/crypto',
            '/proc/locks'])
    """,
    "27 syslog": "return call(103, 3, ctypes.create_string_buffer(64), 64) > 0",
    "28 devices": """
        return each(can_open, ['/dev/mem', '/dev/kmem', '/dev/kmsg', '/dev/port', '/dev/kvm',
            '/dev/vda', '/dev/sda', '/dev/nvme0', '/dev/fuse', '/dev/net/tun', '/dev/userfaultfd',
            '/dev/tty', '/dev/tty0', '/dev/pts/0', '/dev/pts/1', '/dev/console', '/dev/loop0',
            '/dev/loop-control', '/dev/vsock', '/dev/vhost-net', '/dev/uinput', '/dev/hpet',
            '/dev/snapshot', '/dev/btrfs-control', '/dev/mapper/control', '/dev/dri/card0',
            '/dev/rtc0', '/dev/vport0p1'])
    """,
    "28 the list of devices is short": """
        return sorted(set(os.listdir('/dev')) - {'null', 'zero', 'full', 'random', 'urandom', 'shm',
            'fd', 'stdin', 'stdout', 'stderr', 'ptmx', 'pts', 'tty'})
    """,
    "28 terminals of others": "return sorted(set(os.listdir('/dev/pts')) - {'ptmx'})",
    # 29-37: dangerous system calls
    "29 add_key": "return call(248, b'user', b'x', b'y', 1, -3) >= 0",
    "29 keyctl": "return each(lambda op: call(250, op, -3, 0, 0, 0) >= 0, [0, 1, 6])",
    "29 request_key": "return call(249, b'user', b'x', 0, -3) >= 0",
    "30 io_uring": "return call(425, 8, ctypes.create_string_buffer(256)) >= 0",
    "30 io_uring_register": "return call(427, 0, 0, 0, 0) >= 0",
    "31 userfaultfd": "return each(lambda f: call(323, f) >= 0, [0, 1, 0o2000000])",
    "32 bpf": "return each(lambda c: call(321, c, bytes(128), 128) >= 0, [0, 5, 8])",
    "33 perf_event_open": """
        return call(298, struct.pack('IIQ', 1, 112, 0) + bytes(96), 0, -1, -1, 0) >= 0
    """,
    "34 personality": """
        return each(lambda p: call(135, p) >= 0, [0x0400000, 0x0040000, 8, 0x0100000])
    """,
    "35 modify_ldt": "return call(154, 1, bytes(16), 16) == 0",
    "35 iopl and ioperm": "return each(lambda n: call(n, 3, 1, 1) == 0, [172, 173])",
    "36 x32 system calls": "return each(lambda n: call(0x40000000 | n) >= 0, [39, 104, 102])",
    "37 i386 system calls": """
        code = bytes.fromhex('b814000000cd80c3')  # mov eax, 20 (getpid); int 0x80; ret
        memory = mmap.mmap(-1, 4096, prot=7)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0
    """,
    "37 i386 socketcall": """
        code = bytes.fromhex('b866000000bb01000000b900000000cd80c3')
        memory = mmap.mmap(-1, 4096, prot=7)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)() not in (-1, -38)
    """,
    "38 characters for somebody's terminal": """
        import fcntl
        found = []
        for fd in range(64):
            for request in (0x5412, 0x541c, 0x5412 | (1 << 32)):
                try:
                    call(16, fd, request, b'x'); found.append((fd, request))
                except OSError: pass
        return found
    """,
    "38 a controlling terminal": "return can_open('/dev/tty', os.O_RDWR)",
    # 39-44
    "39 leaked descriptors": """
        found = []
        for name in os.listdir('/proc/self/fd'):
            fd = int(name)
            try:
                mode = os.fstat(fd).st_mode
                target = os.readlink(f'/proc/self/fd/{fd}')
            except OSError:
                continue
            is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
            is_null = target in ('/dev/null', '/dev/urandom', '/dev/random')
            is_own = target.startswith(('/proc/', 'anon_inode:')) and not stat.S_ISDIR(mode) or (
                stat.S_ISDIR(mode) and target == f'/proc/{os.getpid()}/fd')
            if not (is_pipe or is_null or is_own):
                found.append((fd, target))
        return found
    """,
    "39 few descriptors": """
        n = len(os.listdir('/proc/self/fd'))
        return n if n > 14 else None
    """,
    "39 the control socket cannot be connected elsewhere": """
        found = []
        for name in os.listdir('/proc/self/fd'):
            if not os.path.exists(f'/proc/self/fd/{name}'): continue
            if stat.S_ISSOCK(os.stat(f'/proc/self/fd/{name}').st_mode):
                s = socket.socket(fileno=os.dup(int(name)))
                if s.family != socket.AF_UNIX: found.append((name, s))
        return found
    """,
    "40 the interpreter, to write": """
        return each(lambda p: can_open(p, os.O_WRONLY), ['/proc/self/exe', '/proc/1/exe',
            sys.executable, '/usr/bin/python3', '/bin/sh', '/usr/bin/env'])
    """,
    "41 system directories, to write": """
        return each(lambda d: can_open(d + '/probe', os.O_WRONLY | os.O_CREAT), ['/', '/usr',
            '/usr/bin', '/usr/lib', '/etc', '/dev', '/cella', '/cella/python', '/proc', '/bin',
            '/lib', '/run', '/var', '/home', '/root', '/opt', '/mnt'])
    """,
    "41 nodes of /dev can not be replaced": """
        return each(lambda p: os.unlink(p) is None, ['/dev/null', '/dev/zero',
            '/dev/shm']) + each(lambda p: os.rename(p, p + '2') is None, ['/dev/null', '/dev'])
    """,
    "42 attributes of other processes": """
        return each(lambda p: can_open(p, os.O_WRONLY), ['/proc/1/attr/current',
            '/proc/1/oom_score_adj', '/proc/1/comm', '/proc/1/uid_map', '/proc/1/timerslack_ns'])
    """,
    "43 no new privileges": r"""
        s = open('/proc/self/status').read()
        return None if 'NoNewPrivs:\t1' in s else s
    """,
    "43 set-uid programs": """
        import subprocess
        tools = [p for p in ('/usr/bin/su', '/bin/su', '/usr/bin/passwd', '/usr/bin/mount',
            '/usr/bin/newgrp') if os.path.exists(p)]
        def attempt(tool):
            child = subprocess.Popen([tool, '--help'], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with open(f'/proc/{child.pid}/status') as f: text = f.read()
            child.wait()
            uids = text.split('Uid:')[1].splitlines()[0].split()
            return uids if '0' in uids else None
        return each(attempt, tools)
    """,
    "43 becoming root": "return each(lambda n: call(n, 0, 0, 0) == 0, [105, 106, 117, 119])",
    "44 capabilities": """
        found = []
        for line in open('/proc/self/status'):
            if line.startswith('Cap') and int(line.split()[1], 16) != 0: found.append(line)
        return found
    """,
    "44 seccomp is in force": r"""
        s = open('/proc/self/status').read()
        return None if 'Seccomp:\t2' in s else s
    """,
    "44 capset": """
        return call(126, struct.pack('Ii', 0x20080522, 0), struct.pack('IIIIII', 1, 1, 1, 0, 0,
            0)) == 0 and any(int(l.split()[1],
            16) for l in open('/proc/self/status') if l.startswith('CapEff'))
    """,
    "44 the filter cannot be added to": """
        for attempt in ((317, 1, 0, 0), (157, 22, 2, 0, 0, 0)):
            try:
                return call(*attempt)
            except OSError as error:
                if error.errno == errno.EFAULT: return attempt  # it would read a filter from us
    """,
    "44 prctl cannot undo": """
        found = []
        for args in ((38, 0), (24, 21), (47, 2, 21)):
            try:
                r = call(157, *args, *(0,) * (5 - len(args)))
                if r != 0 or args[0] == 38: found.append((args, r))
            except OSError: pass
        return found
    """,
    # 48, 52-55
    "48 more descriptors than allowed": "return raise_limit('RLIMIT_NOFILE')",
    "48 a higher limit of processes": "return raise_limit('RLIMIT_NPROC')",
    "48 core dumps": """
        import resource
        limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
        return None if limit in (0, 1) else limit  # 1: not even for a program
    """,
    "52 a read-only file reopened to write": """
        fd = os.open('/etc/passwd', os.O_RDONLY)
        return can_open(f'/proc/self/fd/{fd}', os.O_RDWR)
    """,
    "52 a library reopened to write": """
        path = next(l.split()[-1] for l in open('/proc/self/maps') if l.rstrip().endswith('.so')
            or '.so.' in l)
        return can_open(path, os.O_RDWR)
    """,
    "53 the clock": """
        import time
        return each(lambda c: time.clock_settime(c, time.clock_gettime(c)) is None,
            [0]) or call(164, bytes(16), 0) == 0
    """,
    "53 adjtimex": """
        b = ctypes.create_string_buffer(struct.pack('I', 0x8000 | 1), 208)
        return call(159, b) == 0
    """,
    "53 time namespace offsets": """
        return os.write(os.open('/proc/self/timens_offsets', os.O_WRONLY), b'1 5 0')
    """,
    "54 real-time scheduling": """
        return each(lambda p: os.sched_setscheduler(0, p, os.sched_param(1)) is None, [1, 2])
    """,
    "54 deadline scheduling": """
        return call(314, 0, struct.pack('IIQiIQQQ', 48, 6, 0, 0, 0, 10**6, 10**7, 10**7), 0) == 0
    """,
    "54 negative nice": "return os.nice(-5) < 0",
    "54 real-time io priority": "return call(251, 1, 0, (1 << 13)) == 0",
    "54 locked memory": """
        m = mmap.mmap(-1, 8 << 20)
        address = ctypes.addressof(ctypes.c_char.from_buffer(m))
        return call(149, address, 8 << 20) == 0
    """,
    "54 kernel modules and kexec": """
        return each(lambda n: call(n, 0, 0, 0) == 0, [175, 313, 176, 246, 320])
    """,
    "54 reboot": "return call(169, 0xfee1dead, 672274793, 0x89abcdef, 0) == 0",
    "54 swap and accounting": "return each(lambda n: call(n, b'/tmp/x', 0) == 0, [167, 168, 163])",
    "54 host and domain name": "return each(lambda n: call(n, b'x', 1) == 0, [170, 171])",
    "54 quotactl": """
        return each(lambda c: call(179, c, b'/dev/vda', 0, ctypes.create_string_buffer(256)) == 0,
            [0x80000700, 0x80000100])
    """,
    "54 fanotify": "return call(300, 0, 0) >= 0",
    "54 inotify: a view of what others do in /usr": """
        fd = call(294, 0)
        return each(lambda m: call(254, fd, b'/usr/bin', m) >= 0, [1, 0x10, 0x20, 0xfff, 0x21])
    """,
    "54 dnotify, which is inotify's ancestor": """
        import fcntl
        return fcntl.fcntl(os.open('/usr/bin', os.O_RDONLY), 1026, 1) == 0
    """,
    "54 larger pipes, which count for the daemon": """
        import fcntl
        return fcntl.fcntl(1, 1031, 1 << 20)
    """,
    "54 a core scheduling cookie": "return libc.prctl(62, 1, 0, 0, 0) == 0",
    "15 protocols whose modules the kernel would load": """
        return each(lambda a: socket.socket(*a) and True, [(f, t, p) for f in (2, 10) for t in (1,
            2, 3, 5) for p in (1, 33, 58, 132, 136, 256, 262)])
    """,
    "54 memory policy of others": """
        return each(lambda n: call(n, 1, 0, 0, 0, 0, 0) == 0, [256, 279])
    """,
    "54 process_madvise": """
        return call(440, call(434, 1, 0), struct.pack('QQ', 0, 4096), 1, 4, 0) >= 0
    """,
    "54 memfd_secret": "return call(447, 0) >= 0",
    "54 system calls of tomorrow": """
        return each(lambda n: call(n, 0, 0, 0, 0, 0, 0) >= 0, range(463, 600))
    """,
    "54 uselib, sysfs, lookup_dcookie, vhangup": """
        return each(lambda n: call(n, 0, 0, 0) >= 0, [134, 139, 212, 153])
    """,
    "57 an environment without secrets": r"""
        allowed = {'PATH', 'HOME', 'LANG', 'LC_CTYPE', 'MPLBACKEND', 'MPLCONFIGDIR',
                   'OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS',
                   'NUMEXPR_NUM_THREADS', 'BLIS_NUM_THREADS', 'NUMBA_NUM_THREADS',
                   'XDG_CACHE_HOME', 'PYTHONDONTWRITEBYTECODE', 'LSAN_OPTIONS',
                   'PIP_BREAK_SYSTEM_PACKAGES', 'PIP_DISABLE_PIP_VERSION_CHECK', 'PIP_RETRIES',
                   'npm_config_fetch_retries', 'npm_config_update_notifier',
                   'TMPDIR', 'USER', 'LOGNAME', 'SHELL'}
        environ = open('/proc/self/environ', 'rb').read()
        seen = {e.split(b'=')[0].decode() for e in environ.split(b'\0') if e}
        return sorted((seen | set(os.environ)) - allowed)
    """,
    "57 accounts of the host": """
        return each(can_read, ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/root/.bashrc',
            '/root/.ssh/id_rsa', '/etc/ssh/ssh_host_rsa_key', '/var/log/syslog',
            '/etc/apt/auth.conf', '/etc/apt/sources.list', '/etc/gitconfig', '/etc/pip.conf'])
    """,
    "57 homes of the host": """
        return each(lambda p: os.listdir(p) or None, ['/root', '/home', '/var/log', '/mnt',
            '/media', '/boot', '/srv'])
    """,
}

DEATH_IS_CLOSED = {
    "36 x32 system calls",
    "37 i386 system calls",
    "37 i386 socketcall",
}

HELPERS = r'''
def raise_limit(name):
    import resource
    try:
        resource.setrlimit(getattr(resource, name), (1 << 20, 1 << 20))
    except ValueError:
        return None
    return True
def libc_mount(kind):
    return call(165, b'none', b'/tmp', kind.encode(), 0, 0) == 0
'''
