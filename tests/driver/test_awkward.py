"""Cells that bring other interpreters out of step."""

from __future__ import annotations


import pytest
from peer import Peer


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        ("print('no newline', end='')", "no newline", ""),
        ("import sys\nsys.stdout.write('a'); sys.stderr.write('b')", "a", "b"),
        ("import os\nos.write(1, b'half a \\xc3')\nos.write(1, b'\\xa4')", "half a ä", ""),
        ("print('\\r\\x1b[31mred\\x1b[0m\\x00\\x07')", "\r\x1b[31mred\x1b[0m\x00\x07\n", ""),
        ("print('\\ud800 \\udcff')", "\\ud800 \\udcff\n", ""),
        ("print('größe 日本 🐍')", "größe 日本 🐍\n", ""),
        ("print({'ev': 'done'}, '{\"ev\":\"done\",\"id\":1}')",
         "{'ev': 'done'} {\"ev\":\"done\",\"id\":1}\n", ""),
        ("import os\nos.system('exit 3') >> 8", "", ""),
        ("import os\nos.system('echo out; echo err >&2')\npass", "out\n", "err\n"),
    ],
)
def test_output_is_as_it_was_written(shared: Peer, code: str, out: str, err: str) -> None:
    answer = shared.run(code)
    assert (answer.status, answer.stdout, answer.stderr) == ("ok", out, err)


def test_interleaved_streams_are_whole(shared: Peer) -> None:
    answer = shared.run(
        "import sys, os\nfor n in range(500):\n    print(n)\n    print(-n, file=sys.stderr)\n"
        "    os.write(1, b'x\\n'); os.write(2, b'y\\n')"
    )
    assert answer.stdout == "".join(f"{n}\nx\n" for n in range(500))
    assert answer.stderr == "".join(f"{-n}\ny\n" for n in range(500))


@pytest.mark.parametrize(
    "write",
    [
        "print('x' * 10_000_000, end='')",
        "import sys\nn = sys.stdout.buffer.write(b'x' * 10_000_000)",
        "import os\nleft = b'x' * 10_000_000\nwhile left: left = left[os.write(1, left):]",
        "import os\nn = os.system('yes xxxxxxx | tr -d \"\\\\n\" | head -c 10000000')",
    ],
)
def test_ten_megabytes(shared: Peer, write: str) -> None:
    assert shared.run(write).stdout == "x" * 10_000_000
    assert shared.value("1+1") == "2"


def test_binary_bytes(shared: Peer) -> None:
    running = shared.begin("import sys\nn = sys.stdout.buffer.write(bytes(range(256)) * 4)")
    frame = running._receive()
    assert frame["status"] == "ok"
    assert bytes(running._fds[running._out]) == bytes(range(256)) * 4


def test_children_that_outlive_their_cell(fresh: Peer) -> None:
    fresh.run(
        "import subprocess, os\nr, w = os.pipe()\n"
        "p = subprocess.Popen('read line <&3; echo late; echo later >&2', shell=True,"
        " preexec_fn=lambda: os.dup2(r, 3), pass_fds=[3, r])\n"
        "if os.fork() == 0:\n    os.read(r, 1)\n    print('forked')\n    os._exit(0)"
    )
    assert fresh.run("print('now')\nn = os.write(w, b'x\\nxx\\n')\np.wait()").stdout == "now\n"
    assert fresh.run("n = os.write(w, b'\\n\\n\\n')\nos.wait()").stdout == ""
    late = fresh.read_late(1, "late\n")
    while "forked\n" not in late:
        late += fresh.read_late(1, "forked\n")
    assert "later\n" in fresh.read_late(1, "later\n", 1)


LATE = """
import subprocess, os, threading, asyncio, sys
go, done = threading.Event(), threading.Event()
def late():
    go.wait()
    subprocess.run(['echo', 'run'])
    subprocess.run('echo both; echo joined >&2', shell=True, stderr=subprocess.STDOUT)
    subprocess.run(['sh', '-c', 'echo err >&2'])
    kept = subprocess.check_output(['echo', 'kept'])
    status = os.system('echo system; exit 3')
    os.popen('echo popen >&2').read()
    pid = os.fork()
    if pid == 0:
        os.execlp('echo', 'echo', 'exec')
    os.waitpid(pid, 0)
    print(kept, status)
    done.set()
threading.Thread(target=late).start()
"""


def test_children_of_late_threads_write_to_their_own_cell(fresh: Peer) -> None:
    fresh.run(LATE)
    answer = fresh.run("go.set()\ndone.wait()\nprint('now')")
    assert (answer.stdout, answer.stderr) == ("now\n", "")
    expected = "run\nboth\njoined\nsystem\nexec\nb'kept\\n' 768\n"
    assert fresh.read_late(1, "768\n") == expected
    assert fresh.read_late(1, "popen\n", 1).startswith("err\npopen\n")


def test_children_of_late_tasks_write_to_their_own_cell(fresh: Peer) -> None:
    fresh.run(
        "import asyncio\nasync def late():\n    await asyncio.sleep(0.01)\n"
        "    p = await asyncio.create_subprocess_exec('echo', 'task')\n    await p.wait()\n"
        "t = asyncio.create_task(late())"
    )
    assert fresh.run("await t\nprint('now')").stdout == "now\n"
    assert fresh.read_late(1, "task\n") == "task\n"


def test_a_closed_stdout(fresh: Peer) -> None:
    answer = fresh.run("import os\nos.close(1)\nprint('lost')")
    assert answer.error["name"] == "OSError"
    assert fresh.run("os.system('exec 1>&-; echo lost')\nprint('back')").stdout == "back\n"
    fresh.run("os.close(1); os.close(2); os.close(0)")
    answer = fresh.run("print('back')\nos.system('echo too; cat')")
    assert answer.stdout == "back\ntoo\n"


def test_there_is_no_terminal(shared: Peer) -> None:
    answer = shared.run("import os\nos.system('stty raw') >> 8")
    assert answer.text == "1" and "stty" in answer.stderr
    for code in ("import termios\ntermios.tcgetattr(0)", "import tty\ntty.setraw(0)"):
        assert shared.run(code).error["name"] == "error"
    assert shared.run("os.get_terminal_size()").error["name"] == "OSError"
    assert shared.value("import shutil\nshutil.get_terminal_size().columns > 0") == "True"
    assert shared.value("os.isatty(0), os.isatty(1), os.isatty(2)") == "(False, False, False)"


def test_a_cell_that_ignores_interrupts(fresh: Peer) -> None:
    running = fresh.begin(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on')\n"
        "input()\n'end'"
    )
    running.wait_for_output("on")
    running.wait_for_question()
    for _ in range(5):
        fresh.interrupt()
    running.answer("go on")
    answer = running.finish()
    assert (answer.status, answer.text) == ("ok", "'end'")
    running = fresh.begin("print('on')\nwhile True: time.sleep(60)")  # the next one does not
    running.wait_for_output("on")
    fresh.interrupt()
    assert running.finish().status == "interrupted"
    running = fresh.begin(
        "n = 0\nwhile n < 3:\n    try:\n        print('on', n)\n        while True: pass\n"
        "    except KeyboardInterrupt: n += 1\nn"
    )
    for number in range(3):
        running.wait_for_output(f"on {number}\n")
        fresh.interrupt()
    assert running.finish().text == "3"


@pytest.mark.parametrize(
    "code",
    [
        "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\n'here'",
        "import os, sys\nif os.fork() == 0: sys.exit(0)\nos.wait()\n'here'",
        "import os, sys\nif os.fork() == 0: exit()\nos.wait()\n'here'",
        "import os\nif os.fork() == 0: raise SystemExit(3)\nos.wait()\n'here'",
        "import os\nif os.fork() == 0:\n    if os.fork() == 0: os._exit(0)\n    os.wait()\n"
        "    os._exit(0)\nos.wait()\n'here'",
        "import os, signal\np = os.fork()\nif p == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.wait()\n'here'",
        "import multiprocessing as m\np = m.get_context('fork').Process(target=exit)\n"
        "p.start(); p.join()\n'here'",
        "import threading, os\nt = threading.Thread(target=lambda: os.fork() or os._exit(0))\n"
        "t.start(); t.join(); os.wait()\n'here'",
    ],
)
def test_fork_and_exit(shared: Peer, code: str) -> None:
    answer = shared.run(code)
    assert (answer.status, answer.text) == ("ok", "'here'"), answer
    assert shared.value("1+1") == "2"


@pytest.mark.parametrize(
    "code",
    [
        "def f(): f()\nf()",
        "class A:\n    def __getattr__(self, name): return self.other\nA().x",
        "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
        "import json\nx = []\nfor _ in range(10**5): x = [x]\njson.dumps(x)",
        "f = lambda n: f(n + 1)\nsorted([1, 2], key=f)",
        "import functools\nf = functools.partial(lambda g: g(g))\nf(f)",
    ],
)
def test_endless_recursion(shared: Peer, code: str) -> None:
    answer = shared.run(code)
    assert answer.status == "error" and answer.error["name"] == "RecursionError", answer
    assert len(answer.traceback) < 20_000
    assert shared.value("1+1") == "2"


def test_unicode_identifiers_and_surrogates(shared: Peer) -> None:
    assert shared.value("größe = 1; 变量 = 2; ﬁ = 3\ngröße + 变量 + fi") == "6"
    assert shared.run("ñandú").error["message"] == "name 'ñandú' is not defined"
    assert shared.value("'\\ud800' + '\\N{SNAKE}'") == "'\\ud800🐍'"
    assert shared.run("raise ValueError('\\udc80')").error["message"] == "\\udc80"
    assert shared.run("'\ud800'").status == "error"  # no source is made of these
    assert shared.run("x = '\\ud800'.encode()").error["name"] == "UnicodeEncodeError"
    assert shared.value("1+1") == "2"


def test_a_here_document_with_the_words_of_the_protocol(shared: Peer) -> None:
    code = 'x = """\n{"op":"exec","id":1,"code":"1"}\n{"ev":"done"}\n\x03"""\nprint(x)\nlen(x)'
    answer = shared.run(code)
    assert answer.status == "ok" and '{"ev":"done"}' in answer.stdout
