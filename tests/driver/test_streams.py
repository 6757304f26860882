"""stdout, stderr, stdin: in order, complete, and never credited to another cell."""

from __future__ import annotations

import os
import pathlib

from peer import Peer

from harness import host


def test_stdout_and_stderr_are_apart(shared: Peer) -> None:
    answer = shared.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (answer.stdout, answer.stderr) == ("out\n", "err\n")


def test_python_c_and_children_in_order(shared: Peer) -> None:
    code = (
        "import os, subprocess, ctypes, sys\n"
        "print('1', end=' ')\nos.system('printf \"2 \"')\nctypes.CDLL(None).printf(b'3 ')\n"
        "ctypes.CDLL(None).fflush(None)\nos.write(1, b'4 ')\nsubprocess.run(['printf', '5 '])\n"
        "sys.stdout.buffer.write(b'6 ')\n"
        "subprocess.run(['printf', '7 '], stdout=sys.stdout)\nprint('8')"
    )
    assert shared.run(code).stdout == "1 2 3 4 5 6 7 8\n"


def test_c_stdio_is_flushed_before_the_verdict(shared: Peer) -> None:
    assert shared.run("import ctypes\nctypes.CDLL(None).printf(b'from C')").stdout == "from C"


def test_they_are_real_text_streams(shared: Peer) -> None:
    shared.run("import sys")
    assert shared.value("sys.stdout.fileno(), sys.stderr.fileno()") == "(1, 2)"
    assert shared.value("sys.stdout.isatty(), sys.stdout.name") == "(False, '<stdout>')"
    assert shared.value("sys.stdout.encoding, sys.stdout.errors") == "('utf-8', 'backslashreplace')"
    assert shared.value("sys.stdout.writable(), sys.stdout.readable()") == "(True, False)"
    assert shared.value("sys.stdout is sys.__stdout__") == "True"
    answer = shared.run(
        "sys.stdout.buffer.write(memoryview(b'mv'))\nsys.stdout.writelines(['a', 'b'])"
    )
    assert answer.stdout == "mvab"


def test_much_output_arrives_whole(shared: Peer) -> None:
    answer = shared.run("print('x' * 3_000_000)")
    assert len(answer.stdout) == 3_000_001


def test_a_non_blocking_pipe_changes_nothing(shared: Peer) -> None:
    answer = shared.run(
        "import os\nos.set_blocking(1, False)\nprint('y' * 1_000_000)\nprint('end')"
    )
    assert answer.status == "ok" and len(answer.stdout) == 1_000_005
    assert shared.value("os.get_blocking(1)") == "True"


def test_a_thread_keeps_its_cell(fresh: Peer) -> None:
    fresh.run(
        "import threading, sys\ngo = threading.Event()\ndef late():\n    go.wait()\n"
        "    print('late')\n"
        "    print('late err', file=sys.stderr)\nt = threading.Thread(target=late)\nt.start()"
    )
    answer = fresh.run("go.set()\nt.join()\nprint('now')")
    assert (answer.stdout, answer.stderr) == ("now\n", "")
    assert fresh.read_late(1, "late\n") == "late\n"
    assert fresh.read_late(1, "late err\n", 1) == "late err\n"
    assert fresh.run("print('next')").stdout == "next\n"
    assert fresh.read_late(1, "never") == ""  # closed when the thread was gone


def test_a_thread_of_a_late_thread_started_between_cells(
    fresh: Peer, tmp_path: pathlib.Path
) -> None:
    gate, started = tmp_path / "gate", tmp_path / "started"
    os.mkfifo(gate)
    fresh.run(
        "import threading\ngo = threading.Event()\nthreads = []\n"
        f"def inner():\n    open('{started}', 'w').close(); go.wait(); print('inner')\n"
        f"def outer():\n    open('{gate}').read()\n"
        "    threads.append(threading.Thread(target=inner)); threads[0].start()\n"
        "threading.Thread(target=outer).start()"
    )
    gate.write_text("between cells")
    host.eventually(started.exists)
    assert fresh.run("go.set(); threads[0].join()").stdout == ""
    assert fresh.read_late(1, "inner\n") == "inner\n"


def test_a_reused_thread_number_is_not_confused(fresh: Peer) -> None:
    fresh.run(
        "import threading\ngo = threading.Event()\nt = threading.Thread(target=go.wait)\n"
        "t.start()"
    )
    fresh.run("1")
    answer = fresh.run(
        "go.set(); t.join()\nfor _ in range(20):\n"
        "    n = threading.Thread(target=print, args=('n',)); n.start(); n.join()"
    )
    assert answer.stdout == "n\n" * 20


def test_a_task_keeps_its_cell(fresh: Peer) -> None:
    fresh.run("import asyncio\nasync def late():\n    await asyncio.sleep(0.01)\n    print('late')")
    fresh.run("t = asyncio.create_task(late())")
    assert fresh.run("await t\nprint('now')").stdout == "now\n"
    assert fresh.read_late(2, "late\n") == "late\n"


def test_a_child_keeps_its_cell(fresh: Peer) -> None:
    fresh.run(
        "import subprocess\n"
        "p = subprocess.Popen(['sh', '-c', 'read x; echo late'], stdin=subprocess.PIPE)"
    )
    assert fresh.run("p.communicate(b'go\\n'); print('now')").stdout == "now\n"
    assert fresh.read_late(1, "late\n") == "late\n"


def test_a_forked_child_never_answers(fresh: Peer) -> None:
    code = (
        "import os\npid = os.fork()\nif pid == 0:\n    print('child')\nelse:\n"
        "    os.waitpid(pid, 0)\n    print('parent')"
    )
    answer = fresh.run(code)
    assert (answer.status, answer.stdout) == ("ok", "child\nparent\n")
    code = "import sys\nif os.fork() == 0: sys.exit(7)\nos.WEXITSTATUS(os.wait()[1])"
    assert fresh.value(code) == "7"
    code = "if os.fork() == 0: 1/0\nos.WEXITSTATUS(os.wait()[1])"
    answer = fresh.run(code)
    assert answer.text == "1" and "ZeroDivisionError" in answer.stderr
    answer = fresh.run("if os.fork() == 0: display(5)\nelse: os.wait()")
    assert (answer.stdout, answer.displays) == ("5\n", [])
    assert fresh.value("1+1") == "2"


def test_a_fork_that_no_hook_sees(fresh: Peer) -> None:
    code = "import ctypes, os\npid = ctypes.PyDLL(None).fork()\nif pid: os.waitpid(pid, 0)\npid > 0"
    assert fresh.value(code) == "True"
    assert fresh.value("1+1") == "2"


def test_replaced_streams_are_flushed_and_stay(fresh: Peer) -> None:
    fresh.run(
        "import sys, io\n"
        "sys.stdout = io.TextIOWrapper(open(1, 'wb', closefd=False), encoding='utf-8')"
    )
    assert fresh.run("print('buffered')").stdout == "buffered\n"
    fresh.run("sys.stdout = sys.__stdout__")
    assert fresh.run("print('ours')").stdout == "ours\n"


def test_redirected_descriptors_are_obeyed(shared: Peer) -> None:
    code = (
        "import os\nr, w = os.pipe()\nsaved = os.dup(1)\nos.dup2(w, 1)\nprint('caught')\n"
        "os.dup2(saved, 1)\n"
        "os.close(w); os.close(saved)\nos.read(r, 100)"
    )
    assert shared.value(code) == "b'caught\\n'"


def test_descriptors_do_not_leak(fresh: Peer) -> None:
    code = "import os\nlen(os.listdir('/proc/self/fd'))"
    before = fresh.value(code)
    for _ in range(50):
        fresh.run("print(1)")
    assert fresh.value(code) == before
