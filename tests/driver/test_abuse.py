"""What user code does to the interpreter it shares with the driver."""

from __future__ import annotations

import pytest
from peer import PATIENCE, Peer


@pytest.mark.parametrize(
    "code",
    [
        (
            "import builtins\nfor n in list(vars(builtins)):\n"
            "    if n not in ('print', '__import__', '__build_class__', 'repr'):\n"
            "        delattr(builtins, n)"
        ),
        "import builtins\nbuiltins.print = builtins.len = builtins.compile = builtins.eval = None",
        (
            "import json, os, socket\n"
            "json.loads = json.dumps = os.write = os.close = os.dup2 = None\n"
            "socket.socket = None"
        ),
        "import json\nvars(json.encoder).clear(); vars(json.decoder).clear()",
        "import sys\ndel sys.stdout, sys.stderr, sys.stdin, sys.excepthook",
        "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
        "import sys\nsys.stdout = 5\nsys.excepthook = sys.displayhook = None",
        "import sys\nsys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
        "import sys\nx = sys.stdout.detach(); y = sys.stderr.detach(); z = sys.stdin.detach()",
        "import os\nos.close(0); os.close(1); os.close(2)",
        "import sys\nsys.modules.clear()",
        "import traceback, linecache\nvars(traceback).clear(); linecache.cache.clear()",
        "import linecache\nlinecache.cache = None; linecache.checkcache = None",
        "import signal\nvars(signal).clear()",
        "import threading, sys\nt = threading.Thread(target=sys.exit); t.start(); t.join()",
        "import threading\nthreading._active.clear()",
        "import sys\ndef tracer(*a): raise ValueError('traced')\nsys.settrace(tracer)",
        "import sys\nsys.setprofile(lambda *a: 1/0)",
        "import sys\nsys.setrecursionlimit(60)",
        "import gc\ngc.disable(); gc.set_threshold(1)",
        "globals().clear()",
        "import sys\ndel sys.modules['__main__']",
        "import asyncio\nasyncio.set_event_loop(None); asyncio.new_event_loop = None",
        "import io\nio.TextIOWrapper = io.BytesIO = None",
        "import contextvars\nfor v in contextvars.copy_context(): v.set(None)",
        "import ast, inspect\nvars(ast).clear(); vars(inspect).clear()",
        "import atexit, os\natexit.register(os.abort)",
        "import sys\nsys.unraisablehook = sys.breakpointhook = None\nsys.path = None",
        "import warnings\nwarnings.simplefilter('error')",
        "import os\nos.environ.clear(); os.chdir('/')",
        "import sys\nsys.addaudithook(lambda name, args: None)",
        "import os\nfor fd in range(3): os.set_blocking(fd, False)",
        "import subprocess\nsubprocess.Popen._get_handles = None",
        (
            "import types, array, collections, itertools, operator\n"
            "for m in (types, array, collections, itertools, operator): vars(m).clear()"
        ),
        "import select, _thread\nselect.poll = _thread.get_ident = _thread.allocate_lock = None",
        "import encodings, getpass, bdb\nfor m in (encodings, getpass, bdb): vars(m).clear()",
        "import sys\nfor n in list(sys.modules):\n    if n[:6] == '_cella': del sys.modules[n]",
        (
            "import signal\nfor s in range(1, 65):\n"
            "    try: signal.signal(s, lambda *a: 1/0)\n    except (OSError, ValueError): pass"
        ),
    ],
)
@pytest.mark.sampled(2)
def test_the_driver_survives(fresh: Peer, code: str) -> None:
    fresh.names = "full"
    assert fresh.run(code).status in ("ok", "error")
    assert fresh.value("1+1") == "2"
    answer = fresh.run("1/0")
    assert answer.status == "error" and answer.error["name"] == "ZeroDivisionError"
    answer = fresh.run("new = 5\nnew * 2")
    assert answer.text == "10" and answer.names["added"] == ["new"]
    if "modules.clear" not in code:  # then `import sys` finds another one
        assert fresh.run("import sys\nsys.stdin.readline()", answers=["a"]).text == "'a\\n'"


def test_closed_and_detached_streams_come_back(fresh: Peer) -> None:
    fresh.run("import sys\nsys.stdout.close()")
    assert fresh.run("print(1)").stdout == "1\n"
    fresh.run("x = sys.stdout.detach()")
    assert fresh.run("print(2)").stdout == "2\n"
    fresh.run("import os\nos.close(1); os.close(2)")
    answer = fresh.run("print(3)\nprint(4, file=sys.stderr)")
    assert (answer.stdout, answer.stderr) == ("3\n", "4\n")
    fresh.run("del sys.stdout")
    assert fresh.run("print(5)").stdout == "5\n"


def test_non_blocking_control_socket(fresh: Peer) -> None:
    code = (
        "import os\nfor fd in map(int, os.listdir('/proc/self/fd')):\n"
        "    try: os.set_blocking(fd, False)\n    except OSError: pass"
    )
    fresh.run(code)
    assert fresh.value("1+1") == "2"
    assert len(fresh.value("'x' * 1_000_000")) == 1_000_002


def test_closing_every_descriptor_ends_the_session_only(python: str) -> None:
    peer = Peer.start(python)
    with pytest.raises((EOFError, ConnectionError)):
        peer.run("import os\nos.closerange(0, 1000)")
    assert peer.process.wait(PATIENCE) in (0, 1)
    peer.close()


def test_the_session_ends_with_the_daemon(python: str) -> None:
    peer = Peer.start(python)
    peer.close()
    assert peer.process.returncode == 0


def test_a_failed_cell_does_not_keep_its_data(fresh: Peer) -> None:
    fresh.run(
        "import weakref\nclass Big: pass\nrefs = []\ndef f():\n"
        "    b = Big(); refs.append(weakref.ref(b)); 1/0"
    )
    fresh.run("f()")
    assert fresh.value("refs[0]() is None") == "True"
