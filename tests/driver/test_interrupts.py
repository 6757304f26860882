"""SIGINT stops a cell, wherever it is, and nothing else."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from peer import Peer


@pytest.mark.parametrize(
    "code",
    [
        "print('on', flush=True)\nwhile True: pass",
        "import time\nprint('on')\ntime.sleep(60)",
        "print('on')\nwhile True: print('x' * 100)",
        "import asyncio\nprint('on')\nawait asyncio.sleep(60)",
        "import asyncio\nprint('on')\nasync def f():\n    while True: pass\nawait f()",
        "import asyncio\nprint('on')\nasyncio.run(asyncio.sleep(60))",
        "import threading\nprint('on')\nthreading.Event().wait()",
        "class R:\n    def __repr__(self):\n        print('on')\n        while True: pass\nR()",
        "import subprocess\nprint('on')\nsubprocess.run(['sleep', '60'])",
        "import sys\nprint('on')\nsys.stdin = open('/dev/zero')\nsys.stdin.readline()",
        (
            "class E(Exception):\n    def __str__(self):\n        print('on')\n"
            "        while True: pass\nraise E"
        ),
    ],
)
def test_a_cell_is_interrupted(fresh: Peer, code: str) -> None:
    running = fresh.begin(code)
    running.wait_for_output("on")
    fresh.interrupt()
    answer = running.finish()
    assert answer.status == "interrupted", answer
    assert answer.error["name"] == "KeyboardInterrupt"
    assert "/drivers/python/" not in answer.traceback
    assert fresh.run("print('next')\n1+1").stdout == "next\n"


def test_the_traceback_says_where_it_waited(fresh: Peer) -> None:
    running = fresh.begin(
        "import asyncio\nasync def inner():\n    print('on')\n    await asyncio.sleep(60)\n"
        "await inner()"
    )
    running.wait_for_output("on\n")
    fresh.wait_until_it_waits()
    fresh.interrupt()
    answer = running.finish()
    assert "await inner()" in answer.traceback and "await asyncio.sleep(60)" in answer.traceback
    assert answer.stderr == ""


def test_cleanup_runs_and_the_interrupt_can_be_caught(fresh: Peer) -> None:
    running = fresh.begin(
        "try:\n    print('on')\n    while True: pass\nexcept KeyboardInterrupt:\n"
        "    caught = 1\nfinally:\n    done = 2\ncaught + done"
    )
    running.wait_for_output("on")
    fresh.interrupt()
    answer = running.finish()
    assert (answer.status, answer.text) == ("ok", "3")


def test_an_interrupt_while_a_display_waits_comes_after_it(fresh: Peer) -> None:
    running = fresh.begin("display(1)\nprint('not reached')")
    assert fresh.receive()["ev"] == "display"
    for _ in range(20):
        fresh.interrupt()
    fresh.wait_until_delivered(signal.SIGINT)
    fresh.send({"op": "ack", "id": 1})
    answer = running.finish()
    assert (answer.status, answer.stdout) == ("interrupted", "")
    assert "display(1)" in answer.traceback


def test_thousands_of_stray_signals(fresh: Peer) -> None:
    """Between cells, during frames, while compiling and answering."""
    stop = threading.Event()

    def storm() -> None:
        while not stop.is_set():
            os.kill(fresh.pid, signal.SIGINT)
            time.sleep(0.0002)

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        seen = set()
        for number in range(400):
            answer = fresh.run(f"'a' * {number}\n1/0" if number % 3 else "print('x')\n5")
            seen.add(answer.status)
            assert answer.status in ("ok", "error", "interrupted")
    finally:
        stop.set()
        thread.join()
    fresh.settle()
    assert fresh.value("1+1") == "2"


def test_frames_in_pieces_survive_signals(fresh: Peer) -> None:
    out, err = os.pipe(), os.pipe()
    payload = b'{"op":"exec","id":77,"code":"6*7"}'
    data = len(payload).to_bytes(4, "little") + payload
    import array
    import socket

    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (out[1], err[1])))]
    fresh.sock.sendmsg([data[:1]], rights)
    for byte in data[1:]:
        fresh.interrupt()
        fresh.sock.sendall(bytes((byte,)))
    verdict = fresh.receive()  # the interrupts were meant for this cell: it was on its way
    assert (verdict["id"], verdict["status"]) == (77, "interrupted")
    for fd in out + err:
        os.close(fd)
    assert fresh.value("6*7") == "42"


def test_a_large_cell_arrives_whole(shared: Peer) -> None:
    assert shared.value("len('" + "x" * 900_000 + "')") == "900000"


def test_handler_and_mask_are_restored(fresh: Peer) -> None:
    fresh.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)")
    fresh.interrupt()
    fresh.settle()
    assert fresh.run("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])").status == "ok"
    running = fresh.begin("print('on')\nwhile True: pass")
    running.wait_for_output("on")
    fresh.interrupt()
    assert running.finish().status == "interrupted"


def test_a_users_handler_runs_only_in_cells(fresh: Peer) -> None:
    code = (
        "import signal, time\nhits = []\n"
        "def handler(n, f):\n    hits.append(n)\n    raise TimeoutError('too slow')\n"
        "signal.signal(signal.SIGALRM, handler)\nsignal.signal(signal.SIGUSR1, handler)"
    )
    fresh.run(code)
    for _ in range(200):  # into the wait for the next frame
        os.kill(fresh.pid, signal.SIGUSR1)
    assert fresh.value("hits") == "[]"
    answer = fresh.run("signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(20)")
    assert answer.error["name"] == "TimeoutError" and answer.error["message"] == "too slow"
    fresh.run("signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)")
    for _ in range(100):
        assert fresh.run("1+1").status in ("ok", "error")
    while fresh.run("signal.setitimer(signal.ITIMER_REAL, 0)").status != "ok":
        pass
    assert fresh.value("1+1") == "2"


def test_a_handler_is_found_as_it_was_installed(fresh: Peer) -> None:
    fresh.run("import signal\ndef handler(n, f): pass\nsignal.signal(signal.SIGUSR1, handler)")
    assert fresh.value("signal.getsignal(signal.SIGUSR1) is handler") == "True"
    assert fresh.value("signal.signal(signal.SIGUSR1, signal.SIG_DFL) is handler") == "True"
    assert fresh.value("signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL") == "True"


def test_interrupt_main_from_a_thread(fresh: Peer) -> None:
    code = (
        "import _thread, threading, time\n"
        "threading.Timer(0.01, _thread.interrupt_main).start()\nwhile True: pass"
    )
    assert fresh.run(code).status == "interrupted"
    fresh.run(
        "def late():\n    for _ in range(50): time.sleep(0.001); _thread.interrupt_main()\n"
        "t = threading.Thread(target=late)\nt.start()"
    )
    while fresh.run("t.is_alive()").text != "False":
        fresh.run("1+1")
    assert fresh.value("1+1") == "2"
