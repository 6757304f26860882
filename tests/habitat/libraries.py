"""The table's second part: what Python, Node.js, data libraries and servers are asked to do."""

from table import case, js, py, sh

# --- Python ---------------------------------------------------------------------------------------

py("subprocess", """
import subprocess
print(subprocess.run(['echo', 'a'], capture_output=True, text=True).stdout)
print(subprocess.check_output('echo b | tr b c', shell=True))
print(subprocess.run('exit 3', shell=True).returncode)
""")
py("popen with a pipe's size", """
import subprocess
print(subprocess.Popen(['echo', 'x'], stdout=subprocess.PIPE, pipesize=65536).communicate())
""")
py("size of a pipe", """
import fcntl, os
r, w = os.pipe()
print(fcntl.fcntl(w, fcntl.F_GETPIPE_SZ), fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 16384))
print(os.write(w, bytes(10000)), fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 65536))
""")
py("size of a large pipe", """
import fcntl, os
try: print(fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, 1 << 20))
except OSError as e: print(e)
""", closed="large pipes")
py("splice", """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.splice(0, None, 1, None, 10, 0)
print(ctypes.get_errno() == errno.EINVAL)
""")
py("limits of oneself by number", """
import os, resource
print(resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)[0])
resource.prlimit(0, resource.RLIMIT_NOFILE, (100, 200))
print(resource.getrlimit(resource.RLIMIT_NOFILE))
""")
py("setting limits by number", """
import os, resource
try: print(resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (100, 200)))
except OSError as e: print(e)
""", closed="limits")
py("limits of descriptors from Python", """
import os, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, hard))
kept = [os.open('/dev/null', os.O_RDONLY) for i in range(1500)]
print(soft, hard >= 4096, len(kept))
""")
py("fork and wait", """
import os
pid = os.fork()
if pid == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""")
py("signals", """
import os, signal, time
got = []
signal.signal(signal.SIGALRM, lambda *a: got.append('alarm'))
signal.signal(signal.SIGUSR1, lambda *a: got.append('usr1'))
os.kill(os.getpid(), signal.SIGUSR1)
signal.setitimer(signal.ITIMER_REAL, 0.05)
signal.pause()
print(got, signal.sigtimedwait([signal.SIGUSR2], 0.01))
""")
py("threads", """
import threading, queue
q = queue.Queue()
ts = [threading.Thread(target=q.put, args=(i,)) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(q.queue), threading.active_count())
""")
py("pool of threads", """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool: print(list(pool.map(lambda x: x * x, range(5))))
""")
sh("pool of processes", """
cat > s.py <<'END'
from concurrent.futures import ProcessPoolExecutor
import multiprocessing as mp
def f(x): return x * x
if __name__ == '__main__':
    with ProcessPoolExecutor(2) as pool: print(list(pool.map(f, range(5))))
    for how in ('fork', 'spawn', 'forkserver'):
        with mp.get_context(how).Pool(2) as pool: print(how, pool.map(f, range(4)))
END
python3 s.py""")
sh("multiprocessing objects", """
cat > s.py <<'END'
import multiprocessing as mp
from multiprocessing import shared_memory
def f(q, v, l):
    with l: v.value += 1; seen = v.value
    q.put(seen)
if __name__ == '__main__':
    q, v, l = mp.Queue(), mp.Value('i', 0), mp.Lock()
    ps = [mp.Process(target=f, args=(q, v, l)) for _ in range(3)]
    [p.start() for p in ps]; [p.join() for p in ps]
    print(v.value, sorted(q.get() for _ in ps))
    s = shared_memory.SharedMemory(create=True, size=100); s.buf[0] = 7; print(s.buf[0])
    s.close(); s.unlink()
    with mp.Manager() as m: d = m.dict(a=1); print(d['a'])
END
python3 s.py""")
py("processors", "import os, multiprocessing as m; print(os.cpu_count() == m.cpu_count())")
py("number of processors",
   "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))")
py("a terminal", """
import pty, os
a, b = pty.openpty()
os.write(b, b'hi\\n'); print(os.read(a, 9), os.isatty(b), os.ttyname(b)[:9])
""")
py("a forked terminal", """
import pty, os
pid, fd = pty.fork()
if pid == 0: os.execlp('tty', 'tty')
print(os.read(fd, 100)[:9]); os.waitpid(pid, 0)
""")
py("pty.spawn", """
import pty, sys
sys.stdout.flush()
print(pty.spawn(['sh', '-c', 'test -t 1 && echo a terminal']))
""")
py("size of a terminal", """
import fcntl, os, pty, struct, termios, tty
a, b = pty.openpty()
fcntl.ioctl(b, termios.TIOCSWINSZ, struct.pack('HHHH', 30, 100, 0, 0))
print(os.get_terminal_size(a)); tty.setraw(b); os.write(b, b'\\n'); print(os.read(a, 9))
""")
py("pexpect", """
import pexpect
env = {'TERM': 'dumb', 'PATH': '/usr/bin'}
c = pexpect.spawn('python3 -q -i -E', encoding='utf8', timeout=30, env=env)
c.expect('>>> '); c.sendline('print(6 * 7)'); c.expect('42'); c.sendeof(); c.expect(pexpect.EOF)
print(c.match is not None, c.wait())
""", "py:pexpect")
py("a password prompt", """
import pexpect
c = pexpect.spawn('python3', ['-c', 'import getpass; print(len(getpass.getpass()))'], timeout=30)
c.expect('Password: '); c.sendline('abc'); c.expect('3'); c.expect(pexpect.EOF); print('asked')
""", "py:pexpect")
py("getpass without a terminal", """
import warnings; warnings.simplefilter('ignore')
import getpass
try: print(repr(getpass.getpass()))
except EOFError: print('end')
""")
py("asyncio subprocess", """
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(), p.returncode)
asyncio.run(main())
""")
py("asyncio server", """
import asyncio
async def serve(r, w): w.write((await r.readline()).upper()); await w.drain(); w.close()
async def main():
    s = await asyncio.start_server(serve, 'localhost', 0)
    r, w = await asyncio.open_connection('localhost', s.sockets[0].getsockname()[1])
    w.write(b'hello\\n'); print(await r.read()); w.close(); s.close()
asyncio.run(main())
""")
py("sockets", """
import socket
a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))
s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())
d, _ = s.accept(); c.sendall(b'tcp'); print(d.recv(9))
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))
u.sendto(b'udp', u.getsockname()); print(u.recv(9))
""")
py("sockets of IPv6", """
import socket
s = socket.create_server(('::1', 0), family=socket.AF_INET6)
c = socket.create_connection(s.getsockname()[:2]); d, _ = s.accept(); c.send(b'6'); print(d.recv(1))
""")
py("socket of both families", """
import socket
s = socket.create_server(('', 0), family=socket.AF_INET6, dualstack_ipv6=True)
c = socket.create_connection(('127.0.0.1', s.getsockname()[1])); print(s.accept()[1][0])
""")
py("unix sockets", """
import socket, os
s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect('s'); d, _ = s.accept()
socket.send_fds(c, [b'x'], [1]); print(len(socket.recv_fds(d, 9, 2)[1]), os.path.exists('s'))
""")
py("names of hosts", """
import socket
print(socket.gethostbyname('localhost'), socket.getaddrinfo('127.0.0.1', 80)[0][4])
print(socket.getservbyname('https'), socket.getfqdn('localhost'))
print(socket.gethostbyname(socket.gethostname())[:4])
""")
py("list of interfaces", "import socket; print((1, 'lo') in socket.if_nameindex())")
py("uuid", "import uuid; print(len(str(uuid.uuid4())), uuid.uuid1().version)")
py("http.server", """
import http.server, threading, urllib.request, os
open('f', 'w').write('served')
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f'http://127.0.0.1:{s.server_port}/f').read()); s.shutdown()
""")
sh("http.server and curl", """
python3 -u -m http.server -b 127.0.0.1 0 > log 2>&1 &
echo hello > f
python3 - <<'END'
import re, time
while not (m := re.search(r'port (\\d+)', open('log').read())): time.sleep(0.02)
open('port', 'w').write(m[1])
END
curl -s http://127.0.0.1:$(cat port)/f; kill $!""", "curl")
py("ssl", """
import ssl
print(len(ssl.create_default_context().get_ca_certs()), ssl.get_default_verify_paths())
""")
py("xmlrpc", """
import threading, xmlrpc.client, xmlrpc.server
s = xmlrpc.server.SimpleXMLRPCServer(('127.0.0.1', 0), logRequests=False); s.register_function(pow)
threading.Thread(target=s.handle_request).start()
print(xmlrpc.client.ServerProxy(f'http://127.0.0.1:{s.server_address[1]}').pow(2, 9))
""")
py("sqlite3 of Python", """
import sqlite3
d = sqlite3.connect('db'); d.execute('pragma journal_mode=wal'); d.execute('create table t(a)')
d.executemany('insert into t values(?)', [(i,) for i in range(9)]); d.commit()
print(d.execute('select sum(a) from t').fetchone(), sqlite3.connect('db').execute(
    'select count(*) from t').fetchall())
""")
py("tempfile", """
import tempfile, os
with tempfile.NamedTemporaryFile() as f: f.write(b'x'); f.flush(); print(os.path.getsize(f.name))
with tempfile.TemporaryDirectory() as d: print(os.listdir(d))
with tempfile.TemporaryFile() as f: print(f.fileno() > 0)
""")
py("mmap", """
import mmap
m = mmap.mmap(-1, 4096); m[:2] = b'hi'; print(m[:2])
open('f', 'wb').write(bytes(8192)); f = open('f', 'r+b'); m = mmap.mmap(f.fileno(), 0)
m[0] = 65; m.flush(); print(open('f', 'rb').read(1))
""")
py("file locks", """
import fcntl, os
f = open('f', 'w'); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); print('locked')
""")
py("os calls", """
import os
os.mkdir('d'); os.symlink('d', 'l'); os.link(__import__('shutil').copy('/etc/hostname', 'h'), 'h2')
print(sorted(os.listdir()), os.stat('h').st_nlink, os.path.islink('l'), os.access('h', os.W_OK))
os.sendfile(os.open('o', os.O_CREAT | os.O_WRONLY), os.open('/etc/shells', os.O_RDONLY), 0, 10)
print(os.path.getsize('o'), os.copy_file_range(os.open('o', os.O_RDONLY), os.open('p',
      os.O_CREAT | os.O_WRONLY), 10), os.memfd_create('x') > 0, os.getloadavg() is not None)
""")
py("permissions", """
import os
os.chmod(os.open('f', os.O_CREAT), 0o640); print(oct(os.stat('f').st_mode))
os.utime('f', (1, 2)); print(os.stat('f').st_mtime, os.umask(0o22))
""")
py("users", """
import os, pwd, grp, getpass
me = pwd.getpwuid(os.getuid()); print(me.pw_name == getpass.getuser(), bool(me.pw_shell))
print(pwd.getpwnam('root').pw_uid, grp.getgrgid(0).gr_name, os.getgroups() is not None)
""")
py("setuid of another", """
import os
try: os.setuid(0)
except OSError as e: print(e.strerror)
""", closed="other users")
py("epoll and timers", """
import ctypes, select, os, time
e = select.epoll(); r, w = os.pipe(); e.register(r, select.EPOLLIN); os.write(w, b'x')
print(len(e.poll(1)), select.select([r], [], [], 0)[0] == [r], time.clock_getres(1) > 0)
print(os.eventfd(0) > 0 if hasattr(os, 'eventfd') else True)
""")
py("locale of Python", """
import locale
locale.setlocale(locale.LC_ALL, ''); print(locale.getpreferredencoding(), locale.getlocale())
""")
py("zoneinfo", """
import zoneinfo, datetime
print(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('America/New_York')).utcoffset())
print(len(zoneinfo.available_timezones()) > 400)
""")
py("mimetypes",
   "import mimetypes; print(mimetypes.guess_type('a.png'), "
   "mimetypes.guess_type('a.csv'))")
py("platform", """
import platform, sys
print(platform.system(), platform.machine(), platform.libc_ver(), sys.platform)
print(platform.freedesktop_os_release()['ID'])
""")
py("curses", """
import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.environ['TERM'] = 'xterm'
    import curses
    curses.wrapper(lambda s: (s.addstr('hello'), s.refresh()))
    os._exit(0)
seen = b''
try:
    while True: seen += os.read(fd, 1000)
except OSError: pass
print(b'hello' in seen, os.waitpid(pid, 0)[1])
""")
py("readline", "import readline; readline.add_history('x'); print(readline.get_history_item(1))")
py("a traceback", "def f(): return 1 / 0\nf()")
py("faulthandler", """
import subprocess, sys
code = 'import ctypes; ctypes.string_at(0)'
r = subprocess.run([sys.executable, '-X', 'faulthandler', '-c', code], capture_output=True)
print(r.returncode, b'Segmentation' in r.stderr)
""")
py("resource usage", """
import resource, os
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, os.times().user >= 0)
""")
py("memory", "x = bytearray(200 << 20); x[::4096] = b'1' * len(x[::4096]); print(len(x))")
py("priorities", """
import os
print(os.getpriority(os.PRIO_PROCESS, 0)); os.nice(3); print(os.getpriority(os.PRIO_PROCESS, 0))
os.sched_setaffinity(0, os.sched_getaffinity(0)); print(os.sched_getscheduler(0))
""")
py("semaphores with names", """
import multiprocessing.synchronize as s, multiprocessing as m
print(m.Semaphore(2).acquire(), m.Barrier(1).wait())
""")
py("inotify", """
import ctypes
print(ctypes.CDLL(None).inotify_init1(0) >= 0)
""")
py("psutil", """
import psutil
print(psutil.virtual_memory().total > 0, psutil.cpu_count() > 0, psutil.Process().name())
print(psutil.cpu_percent() >= 0, psutil.boot_time() > 0, psutil.swap_memory().total >= 0)
""", "py:psutil")
py("psutil's disks",
   "import psutil; print(psutil.disk_io_counters(perdisk=True).keys() >= set())", "py:psutil")
py("psutil's sensors", """
import psutil
psutil.sensors_battery(), psutil.sensors_temperatures(), psutil.sensors_fans(); print('asked')
""", "py:psutil")
py("psutil's own process", """
import psutil
p = psutil.Process()
print(p.status(), p.num_threads(), p.memory_info().rss > 0, len(p.open_files()))
print(p.rlimit(psutil.RLIMIT_NOFILE)[0])
""", "py:psutil")
py("psutil's interfaces",
   "import psutil; print('lo' in psutil.net_if_addrs())", "py:psutil")
py("requests of a dead port", """
import urllib.request
try: urllib.request.urlopen('http://127.0.0.1:9/')
except OSError as e: print(e.reason)
""")
py("yaml, toml, jinja2", """
import yaml, jinja2
print(yaml.safe_load('a: [1, 2]'), jinja2.Template('{{ x }}!').render(x=3))
""", "py:yaml py:jinja2")
py("lxml and bs4", """
import lxml.etree, bs4
print(lxml.etree.fromstring('<a><b/></a>').tag, bs4.BeautifulSoup('<p>x</p>', 'lxml').p.text)
""", "py:lxml py:bs4")
py("cryptography", """
from cryptography.fernet import Fernet
f = Fernet(Fernet.generate_key()); print(f.decrypt(f.encrypt(b'x')))
""", "py:cryptography")
py("zmq", """
import zmq
c = zmq.Context(); a = c.socket(zmq.REP); p = a.bind_to_random_port('tcp://127.0.0.1')
b = c.socket(zmq.REQ); b.connect(f'tcp://127.0.0.1:{p}'); b.send(b'x'); print(a.recv())
""", "py:zmq")
sh("nbconvert", """
cat > n.ipynb <<'END'
{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
 "source": ["6 * 7"], "id": "a"}], "metadata": {"kernelspec": {"name": "python3",
 "display_name": "x", "language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
END
jupyter nbconvert --execute --to notebook --output o n.ipynb >log 2>&1; grep -c '"42"' o.ipynb""",
   "jupyter py:nbconvert py:ipykernel")
sh("ipython", "ipython --no-banner --colors=NoColor -c 'print(6 * 7)'", "ipython")
sh("python reads a script from stdin", "echo 'print(42)' | python3; echo 'print(1)' | python3 -")
sh("python -m",
   "echo '[1,2]' | python3 -m json.tool --compact; python3 -m calendar 2024 2 | head -1")
sh("python compiles",
   "echo 'x = 1' > m.py; python3 -m py_compile m.py; python3 -c 'import m; print(m.x)'")
sh("python's profiler", "python3 -m cProfile -s time -c pass 2>&1 | head -1 | cut -c1-5; "
                        "python3 -m timeit -n 1 -r 1 pass | cut -c1-6")
sh("python's debugger", "echo 'x = 1' > m.py; echo 'p 6*7' | python3 -m pdb m.py | grep -c 42")
sh("tkinter without a display",
   "python3 -c 'import tkinter; tkinter.Tk()' 2>&1 | tail -1", "py:tkinter")

# --- data libraries -------------------------------------------------------------------------------

py("numpy", """
import numpy as np
a = np.arange(10000.).reshape(100, 100)
print((a @ a).sum(), np.linalg.norm(a), np.fft.fft(a[0])[0])
m = np.memmap('f', dtype='f4', mode='w+', shape=9); m[:] = 1; m.flush(); print(m.sum())
""", "py:numpy")
py("pandas", """
import pandas as pd
d = pd.DataFrame({'a': [1, 2, 2], 'b': [3., 4., 5.]}); print(d.groupby('a').b.mean()); d.to_csv('f')
print(pd.read_csv('f').shape, pd.date_range('2024-01-01', periods=2, tz='Europe/Paris')[0])
""", "py:pandas")
py("pandas and excel", """
import pandas as pd
pd.DataFrame({'a': [1]}).to_excel('f.xlsx'); print(pd.read_excel('f.xlsx').a[0])
""", "py:pandas py:openpyxl")
py("scipy", """
import scipy.optimize, scipy.stats, scipy.sparse
print(round(scipy.optimize.brentq(lambda x: x * x - 2, 0, 2), 6), scipy.stats.norm.cdf(0))
""", "py:scipy")
py("matplotlib", """
import matplotlib; matplotlib.use('Agg')
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.title('x'); plt.savefig('f.png'); plt.savefig('f.svg'); plt.savefig('f.pdf')
print(open('f.png', 'rb').read(4))
""", "py:matplotlib")
py("pillow", """
from PIL import Image
Image.new('RGB', (9, 9), 'red').save('f.jpg'); print(Image.open('f.jpg').size)
""", "py:PIL")
py("scikit-learn", """
from sklearn.linear_model import LinearRegression
import numpy as np
print(LinearRegression().fit(np.arange(4)[:, None], np.arange(4) * 2).coef_.round(6))
""", "py:sklearn")
sh("scikit-learn with two processes", """
cat > s.py <<'END'
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
x = np.random.default_rng(0).normal(size=(60, 3)); y = x @ [1, 2, 3]
print(GridSearchCV(Ridge(), {'alpha': [0.1, 1]}, n_jobs=2, cv=3).fit(x, y).best_params_)
END
python3 s.py""", "py:sklearn")
sh("joblib", """
cat > s.py <<'END'
from joblib import Parallel, delayed
import time
print(Parallel(n_jobs=2)(delayed(pow)(i, 2) for i in range(5)))
Parallel(n_jobs=2)(delayed(time.sleep)(.05) for i in range(10)); print('done')
END
python3 s.py""", "py:joblib")
case("cell python", "cell: mapped files have their names", """
import os
named = {line.split()[-1] for line in open('/proc/self/maps') if '/usr/' in line}
print(len(named) > 3, [name for name in named if not os.path.exists(name)])
print(os.path.samefile(os.readlink('/proc/self/exe'), '/usr/bin/python3'))
""")
case("cell data", "cell: joblib counts", "import joblib\nprint(joblib.effective_n_jobs(4))",
     "py:joblib")
case("cell data", "cell: joblib with processes", """
from joblib import Parallel, delayed
print(Parallel(n_jobs=2)(delayed(pow)(i, 2) for i in range(5)))
""", "py:joblib")
case("cell data", "cell: pandas",
     "import pandas as pd\nprint(pd.Series([1, 2]).sum())", "py:pandas")
case("cell data", "cell: pool of processes", """
from multiprocessing import get_context
with get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))
""")
case("cell value", "cell: value of sympy", "import sympy\nsympy.Symbol('x') ** 2", "py:sympy")
case("cell value", "cell: value of a matrix", "import sympy\nsympy.Matrix([[1, 2], [3, 4]])",
     "py:sympy")
case("cell value", "cell: value of an equation",
     "from sympy import *\nx = symbols('x')\nintegrate(sin(x) * x, x)", "py:sympy")
case("cell value", "cell: value of a number", "from fractions import Fraction\nFraction(1, 3)")
case("cell value", "cell: value of a list", "[1, 'two', {'three': 3.0}]")
case("cell value", "cell: value of a path", "import pathlib\npathlib.Path('/a/b')")
case("cell value", "cell: value of an array", "import numpy as np\nnp.arange(6).reshape(2, 3)",
     "py:numpy")
case("cell value", "cell: value of a polynomial",
     "import numpy as np\nnp.polynomial.Polynomial([1, 2, 3])", "py:numpy")
case("cell value", "cell: value of a table",
     "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})", "py:pandas")
case("cell value", "cell: value of a series", "import pandas as pd\npd.Series([1.5, 2.5])",
     "py:pandas")
py("statsmodels", """
import warnings; warnings.simplefilter('ignore')
import statsmodels.api as sm, numpy as np
print(sm.OLS(np.arange(5.) * 2, np.arange(5.)).fit().params.round(6))
""", "py:statsmodels")
py("sympy",
   "import sympy; x = sympy.Symbol('x'); print(sympy.integrate(x**2), "
   "sympy.factorint(360))", "py:sympy")
py("cloudpickle and lz4", """
import cloudpickle, lz4.frame
print(cloudpickle.loads(lz4.frame.decompress(lz4.frame.compress(cloudpickle.dumps(lambda: 42))))())
""", "py:cloudpickle py:lz4")
py("tornado", """
import asyncio, tornado.web, tornado.httpclient, tornado.httpserver, tornado.netutil
class H(tornado.web.RequestHandler):
    def get(self): self.write('tornado')
async def main():
    s = tornado.httpserver.HTTPServer(tornado.web.Application([('/', H)]))
    sock = tornado.netutil.bind_sockets(0, '127.0.0.1'); s.add_sockets(sock)
    r = await tornado.httpclient.AsyncHTTPClient().fetch(
        f'http://127.0.0.1:{sock[0].getsockname()[1]}/')
    print(r.body)
asyncio.run(main())
""", "py:tornado")

# --- Node.js --------------------------------------------------------------------------------------

js("node", "console.log([1, 2].map(x => x * 2), process.version.length > 3)")
js("node's files", """
const fs = require('fs'); fs.writeFileSync('f', 'x'); fs.mkdirSync('d/e', {recursive: true});
fs.cpSync('f', 'g'); console.log(fs.readdirSync('.'), fs.statSync('f').size, fs.existsSync('q'));
fs.rmSync('d', {recursive: true}); fs.promises.readFile('g', 'utf8').then(console.log)""")
js("node's child processes", """
const c = require('child_process'); console.log(c.execSync('echo a').toString(),
c.spawnSync('sh', ['-c', 'exit 3']).status); c.exec('echo b', (e, o) => console.log(o));
c.fork('-e', {execArgv: ['-e', 'process.send(42)']}).on('message', m => console.log(m))""")
js("node's workers", """
const {Worker} = require('worker_threads');
new Worker('require("worker_threads").parentPort.postMessage(42)', {eval: true})
.on('message', m => console.log(m))""")
sh("node's cluster", """
cat > c.js <<'END'
const cluster = require('cluster'), http = require('http');
if (cluster.isPrimary) {
    cluster.fork().on('message', port => http.get({port, host: '127.0.0.1'}, r =>
        r.on('data', d => { console.log(String(d)); process.exit() })));
} else {
    const s = http.createServer((q, r) => r.end('worker')).listen(0, '127.0.0.1',
        () => process.send(s.address().port));
}
END
node c.js""", "node")
js("node's server", """
const http = require('http'); const s = http.createServer((q, r) => r.end('hi')).listen(0, () =>
http.get({port: s.address().port}, r => r.on('data', d => {
console.log(String(d)); s.close() })))""")
js("node's server on ::", """
const s = require('net').createServer(c => c.end('6')).listen(0, '::', () =>
require('net').connect(s.address().port, '127.0.0.1').on('data', d => {
console.log(String(d), s.address().family); s.close() }))""")
js("node's fetch", """
const s = require('http').createServer((q, r) => r.end('fetched'));
s.listen(0, '127.0.0.1', async () => {
console.log(await (await fetch(`http://127.0.0.1:${s.address().port}`)).text()); s.close() })""")
py("inotify of opened files", """
import ctypes
libc = ctypes.CDLL(None)
print(libc.inotify_add_watch(libc.inotify_init1(0), b'.', 0x3e2))""", closed="events of reading")
js("node's processors", "console.log(require('os').cpus().length)")
js("node's memory",
   "const o = require('os'); console.log(o.totalmem() > o.freemem(), o.uptime() > 0)")
js("node's os", """
const o = require('os'); console.log(o.platform(), o.endianness(), o.arch(), o.userInfo().uid >= 0,
o.loadavg().length)""")
js("node's interfaces",
   "console.log(Object.keys(require('os').networkInterfaces()).includes('lo'))")
js("node watches a file", """
const fs = require('fs'); fs.writeFileSync('f', '1');
const w = fs.watch('f', () => { console.log('changed'); w.close(); clearInterval(t) });
const t = setInterval(() => fs.writeFileSync('f', '2'), 50)""")
js("node polls a file", """
const fs = require('fs'); fs.writeFileSync('f', '1');
fs.watchFile('f', {interval: 20}, () => { console.log('changed'); process.exit() });
setTimeout(() => fs.writeFileSync('f', '22'), 60)""")
js("node's crypto", """
const c = require('crypto');
console.log(c.createHash('sha256').update('x').digest('hex').slice(0, 9),
c.randomBytes(4).length, c.scryptSync('a', 'b', 8).length)""")
js("node's streams", """
const {pipeline, Readable} = require('stream'), z = require('zlib'), fs = require('fs');
pipeline(Readable.from(['abc']), z.createGzip(), fs.createWriteStream('f.gz'), e =>
console.log(e, z.gunzipSync(fs.readFileSync('f.gz')).toString()))""")
js("node's terminal", "console.log(process.stdout.isTTY, process.stdout.columns)")
js("node's dns", "require('dns').lookup('localhost', {family: 4}, (e, a) => console.log(e, a))")
js("node's time zone", """
console.log(new Date(0).toLocaleString('en-US', {timeZone: 'Asia/Tokyo'}),
new Intl.NumberFormat('de').format(1234.5))""")
js("node's signals", """
process.on('SIGUSR2', () => { console.log('got'); clearInterval(t) });
const t = setInterval(() => {}, 9); process.kill(process.pid, 'SIGUSR2')""")
js("node's modules", "console.log(require('semver').valid('1.2.3'))")
js("node's error", "throw new TypeError('no')")
js("node in a terminal", """
const c = require('child_process'); console.log(c.execSync(
"script -qec 'node -p process.stdout.isTTY' /dev/null").toString())""", "script")
sh("node's test runner", "echo \"require('node:test')('t', () => {})\" > t.test.js; node --test "
                         "--test-reporter=tap | grep -c '^# pass 1'", "node")
sh("node reads a script from stdin", "echo 'console.log(42)' | node; node -p '6 * 7'", "node")
sh("node of modules", "echo 'export const x = 42' > m.mjs; echo \"import {x} from './m.mjs'; "
                      "console.log(x, await 1)\" > n.mjs; node n.mjs", "node")
