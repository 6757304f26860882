"""Options of sockets and bits of modes: what ordinary programs use works, all else is refused."""

import textwrap

import pytest
from probes import PRELUDE

# (kind, level, option, value): set, and read again.
ALLOWED = """
    ONE = 1
    BOTH = [
        ('tcp', 1, 2, ONE), ('udp', 1, 6, ONE), ('tcp', 1, 7, 65536), ('tcp', 1, 8, 65536),
        ('tcp', 1, 9, ONE), ('tcp', 1, 10, ONE), ('tcp', 1, 15, ONE), ('unix', 1, 16, ONE),
        ('tcp', 1, 18, ONE), ('tcp', 1, 20, struct.pack('ll', 5, 0)),
        ('tcp', 1, 21, struct.pack('ll', 5, 0)), ('udp', 1, 29, ONE), ('udp', 1, 35, ONE),
        ('tcp', 6, 1, ONE), ('tcp', 6, 3, ONE), ('tcp', 6, 4, 60), ('tcp', 6, 5, 10),
        ('tcp', 6, 6, 3), ('tcp', 6, 7, 3), ('tcp', 6, 9, ONE), ('tcp', 6, 12, ONE),
        ('tcp', 6, 18, 5000), ('tcp', 6, 25, 16384),
        ('tcp', 0, 1, 16), ('udp', 0, 2, 64), ('udp', 0, 8, ONE), ('udp', 0, 10, 2),
        ('udp', 0, 11, ONE), ('udp', 0, 12, ONE), ('udp', 0, 13, ONE), ('tcp', 0, 24, ONE),
        ('udp', 0, 33, 4), ('udp', 0, 34, ONE), ('udp', 0, 49, ONE),
        ('tcp6', 41, 26, ONE), ('udp6', 41, 16, 64), ('udp6', 41, 18, 4), ('udp6', 41, 19, ONE),
        ('udp6', 41, 25, ONE), ('udp6', 41, 49, ONE), ('udp6', 41, 51, ONE), ('udp6', 41, 66, ONE),
        ('udp6', 41, 67, 16), ('udp', 17, 1, ONE),
    ]
    READ = [('tcp', 1, 3), ('tcp', 1, 4), ('tcp', 1, 13), ('unix', 1, 17), ('tcp', 1, 30),
            ('tcp', 1, 38), ('tcp', 1, 39), ('tcp', 6, 11), ('tcp', 6, 13)]
    failed = []
    for kind, level, option, value in BOTH:
        try:
            one = make(kind)
            one.setsockopt(level, option, value)
            one.getsockopt(level, option, 16)
        except OSError as error: failed.append((kind, level, option, str(error)))
    for kind, level, option in READ:
        try: make(kind).getsockopt(level, option, 64)
        except OSError as error: failed.append((kind, level, option, str(error)))
    group = make('udp')
    group.setsockopt(0, 32, socket.inet_aton('127.0.0.1'))
    group.setsockopt(0, 35, socket.inet_aton('224.1.1.1') + socket.inet_aton('127.0.0.1'))
    group.setsockopt(0, 36, socket.inet_aton('224.1.1.1') + socket.inet_aton('127.0.0.1'))
    print('failed', failed)
    """

# The host's limits, waiting for who closes, handles of the daemon, parts of the kernel with a past.
DENIED = """
    SET = [
        ('udp', 1, 26, 0), ('unix', 1, 26, 0),  # SO_ATTACH_FILTER: also with a program, see below
        ('udp', 1, 50, 1), ('udp', 1, 51, 1), ('udp', 1, 52, 1),  # .._BPF, .._REUSEPORT_..
        ('udp', 1, 27, 1), ('udp', 1, 44, 1), ('udp', 1, 68, 1),  # detaching and locking them
        ('tcp', 1, 12, 6), ('tcp', 1, 25, b'lo'), ('tcp', 1, 32, 1 << 30), ('tcp', 1, 33, 1 << 30),
        ('tcp', 1, 36, 7), ('tcp', 1, 46, 50), ('tcp', 1, 60, 1), ('udp', 1, 61, bytes(8)),
        ('unix', 1, 76, 1), ('unix', 1, 83, 0),
        ('tcp', 6, 13, b'cubic'), ('tcp', 6, 14, bytes(216)), ('tcp', 6, 19, 1),
        ('tcp', 6, 31, b'tls'), ('tcp', 6, 38, bytes(200)), ('tcp', 6, 39, bytes(200)),
        ('tcp', 6, 40, bytes(40)),
        ('udp', 0, 4, bytes(4)), ('udp', 0, 16, bytes(168)), ('udp', 0, 17, bytes(168)),
        ('tcp', 0, 19, 1), ('udp', 0, 64, bytes(84)),
        ('udp6', 41, 1, 2), ('udp6', 41, 34, bytes(168)), ('udp6', 41, 35, bytes(168)),
        ('udp6', 41, 50, bytes(20)), ('udp6', 41, 57, bytes(8)), ('udp6', 41, 64, bytes(84)),
        ('udp', 17, 100, 1), ('udp', 17, 103, 1000), ('udp', 17, 104, 1),
        ('tcp', 282, 1, bytes(40)), ('tcp', 255, 1, 1), ('tcp', 270, 1, 1), ('tcp', 99, 1, 1),
        ('tcp', 1, 9999, 1), ('tcp', 6, 9999, 1), ('udp', 0, 9999, 1), ('udp6', 41, 9999, 1),
    ]
    GET = [('unix', 1, 77), ('unix', 1, 76), ('udp', 1, 26), ('tcp', 1, 31), ('tcp', 6, 35),
           ('tcp', 6, 41), ('udp', 0, 17), ('udp', 0, 64), ('udp6', 41, 68), ('tcp', 6, 31)]
    opened = []
    def expect(act, *which):
        try: act()
        except OSError as error:
            if error.errno == errno.ENOPROTOOPT: return
            which += (str(error),)
        opened.append(which)
    for kind, level, option, value in SET:
        expect(lambda: make(kind).setsockopt(level, option, value), 'set', kind, level, option)
        raw = bytes(value) if isinstance(value, bytes) else struct.pack('i', value)
        for high in (1 << 32, -1 << 32):  # which the kernel does not look at
            args = make(kind).fileno(), high | level, high | option, raw, len(raw)
            expect(lambda: call(54, *args), 'set, with high bits', kind, level, option)
    for kind, level, option in GET:
        expect(lambda: make(kind).getsockopt(level, option, 84), 'get', kind, level, option)
    steps = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 65535))
    program = struct.pack('HxxxxxxP', 1, ctypes.addressof(steps))
    for kind in ('udp', 'unix', 'tcp'):
        expect(lambda: make(kind).setsockopt(1, 26, program), 'filter', kind)
    print('opened', opened)
    """

MAKE = PRELUDE + """
kept = []
def make(kind):
    families = {'unix': socket.AF_UNIX, 'tcp': socket.AF_INET, 'udp': socket.AF_INET,
                'tcp6': socket.AF_INET6, 'udp6': socket.AF_INET6}
    kept.append(socket.socket(families[kind], socket.SOCK_DGRAM if 'udp' in kind
                              else socket.SOCK_STREAM))
    return kept[-1]
"""


def test_options_of_every_day(session):
    assert session.out(MAKE + textwrap.dedent(ALLOWED)) == "failed []\n"


def test_options_that_nobody_needs(session):
    assert session.out(MAKE + textwrap.dedent(DENIED)) == "opened []\n"


def test_no_socket_waits_when_it_is_closed(session):
    """Programs set SO_LINGER and give up if they cannot: it seems to be set, with high bits too."""
    assert session.out(MAKE + textwrap.dedent("""
        for high in (0, 1 << 32, -1 << 32):
            one = make('tcp')
            call(54, one.fileno(), high | 1, high | 13, struct.pack('ii', 1, 20), 8)
            print(one.getsockopt(1, 13, 8))
        """)) == 3 * f"{bytes(8)!r}\n"


def test_an_asyncio_server_and_a_pool_of_processes(session):
    """What the standard library does with sockets, by itself."""
    assert session.out("""
        import asyncio, http.server, multiprocessing.connection, threading, urllib.request
        async def echo(reader, writer):
            writer.write(await reader.readline()); await writer.drain(); writer.close()
        async def main():
            server = await asyncio.start_server(echo, 'localhost', 0, reuse_port=True)
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection('localhost', port)
            writer.write(b'hello\\n')
            print((await reader.readline()).decode().strip())
            writer.close()
            loop = asyncio.get_running_loop()
            await loop.create_datagram_endpoint(asyncio.DatagramProtocol, ('127.0.0.1', 0),
                                                allow_broadcast=True)
        await main()
        handler = http.server.SimpleHTTPRequestHandler
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}/').status)
        server.shutdown()
        with multiprocessing.connection.Listener() as listener:
            with multiprocessing.connection.Client(listener.address) as client:
                listener.accept().send('passed'); print(client.recv())
        """) == "hello\n200\npassed\n"


def test_sockets_of_node(spawn_runtime):
    session = spawn_runtime("node")
    assert session.out("""
        const net = require('net'), dgram = require('dgram'), http = require('http');
        const server = http.createServer((q, a) => a.end('served')).listen(0, '127.0.0.1');
        await new Promise(r => server.on('listening', r));
        const reply = await fetch(`http://127.0.0.1:${server.address().port}/`);
        console.log(await reply.text());
        server.close(); server.closeAllConnections?.();
        const echo = net.createServer(s => { s.setNoDelay(true); s.setKeepAlive(true, 1000);
                                             s.pipe(s); }).listen(0, '127.0.0.1');
        await new Promise(r => echo.on('listening', r));
        const client = net.connect(echo.address().port, '127.0.0.1');
        client.setNoDelay(true); client.write('echoed');
        console.log(String(await new Promise(r => client.on('data', r))));
        client.destroy(); echo.close();
        const udp = dgram.createSocket({type: 'udp4', reuseAddr: true});
        await new Promise(r => udp.bind(0, '127.0.0.1', r));
        udp.setBroadcast(true); udp.setTTL(64); udp.setMulticastTTL(4);
        udp.setMulticastLoopback(true); udp.setRecvBufferSize(65536);
        udp.addMembership('224.1.1.1', '127.0.0.1');
        udp.send('sent', udp.address().port, '127.0.0.1');
        console.log(String(await new Promise(r => udp.on('message', r))));
        udp.close();
        """) == "served\nechoed\nsent\n"


def test_huge_pages_of_the_host(session):
    """No limit of memory counts them."""
    assert session.out(PRELUDE + textwrap.dedent("""
        def errno_of(*args):
            try: call(*args)
            except OSError as error: return errno.errorcode[error.errno]
        ANON = 0x22
        print(errno_of(9, 0, 2 << 20, 3, ANON | 0x40000, -1, 0),
              errno_of(9, 0, 2 << 20, 3, ANON | 0x40000 | 21 << 26, -1, 0),
              errno_of(319, b'x', 4), errno_of(319, b'x', 5 | 21 << 26), errno_of(319, b'x', 1),
              errno_of(29, 0, 2 << 20, 0o5600), errno_of(29, 0, 4096, 0o1600))
        """)) == "ENOMEM ENOMEM EINVAL EINVAL None EPERM None\n"


@pytest.mark.parametrize("bits", [0o4000, 0o2000, 0o6000])
def test_no_file_runs_as_another_user(session, bits):
    code = PRELUDE + textwrap.dedent("""
        open('/workspace/tool', 'w').close()
        fd, mode = os.open('/workspace/tool', os.O_RDWR), BITS | 0o755
        CREATE, TMP = os.O_CREAT | os.O_RDWR, os.O_TMPFILE | os.O_RDWR
        how = struct.pack('QQQ', CREATE, mode, 0)
        found = []
        for name, args in {
                'chmod': (90, b'tool', mode), 'fchmod': (91, fd, mode),
                'fchmodat': (268, -100, b'tool', mode), 'fchmodat2': (452, -100, b'tool', mode, 0),
                'mkdir': (83, b'd', mode), 'mkdirat': (258, -100, b'd', mode),
                'mknod': (133, b'n', 0o100000 | mode, 0),
                'mknodat': (259, -100, b'n', 0o100000 | mode, 0), 'creat': (85, b'c', mode),
                'open': (2, b'o', CREATE, mode), 'openat': (257, -100, b'o', CREATE, mode),
                'tmpfile': (257, -100, b'.', TMP, mode), 'openat2': (437, -100, b'o', how, 24),
                'chmod, high bits': (90, b'tool', 1 << 32 | mode)}.items():
            try: call(*args)
            except OSError as error:
                if error.errno in (errno.EPERM, errno.ENOSYS): continue
            found.append(name)
        os.chdir('/workspace')
        for top, names, files in os.walk('/workspace'):
            found += [n for n in names + files if os.stat(os.path.join(top, n)).st_mode & 0o6000]
        # Reading does not look at a mode that is not there, and other bits are as they were.
        os.close(call(257, -100, b'/etc/passwd', 0, mode))
        os.chmod('tool', 0o1755)
        print(found, oct(os.stat('tool').st_mode))
        """).replace("BITS", str(bits))
    assert session.out(code) == "[] 0o101755\n"
