"""The zygote: a profile is imported once, every session is a fork of it."""

from __future__ import annotations

import array
import json
import os
import pathlib
import socket
import subprocess
from typing import Any, Dict, Iterator, List

import pytest
from peer import PATIENCE, Peer, compiled

GOOD = ["json", "import random as rnd", "from math import pi, tau", "import os.path"]
BAD = ["no_such_module", "import 5"]
DATA = ["import numpy as np", "import pandas as pd", "import matplotlib.pyplot as plt", "random"]


class Zygote:
    def __init__(self, python: str, image: pathlib.Path, preload: List[str]) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        profile = json.dumps({"name": "test", "preload": preload})
        shell = f'exec 3<&{theirs.fileno()}; exec "$0" -s "$1" "$2"'
        script = compiled(python, image / "python") / "zygote.py"
        command = ["bash", "-c", shell, python, str(script), profile]
        env = dict(os.environ, LANG="C.UTF-8", HOME="/tmp", MPLBACKEND="Agg")
        env.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=env)
        theirs.close()
        self.control.settimeout(PATIENCE)
        self.report: Dict[str, Any] = json.loads(self.control.recv(65536))

    def spawn(self) -> Peer:
        ours, theirs = socket.socketpair()
        rights = array.array("i", [theirs.fileno()])
        self.control.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        theirs.close()
        peer = Peer(ours)
        assert peer.receive()["ev"] == "ready"
        return peer

    def close(self) -> None:
        self.control.close()
        assert self.process.wait(PATIENCE) == 0


@pytest.fixture(scope="module")
def zygote(python: str, image: pathlib.Path) -> Iterator[Zygote]:
    made = Zygote(python, image, GOOD + BAD)
    yield made
    made.close()


def test_the_report(zygote: Zygote) -> None:
    report = zygote.report
    assert report["ready"] is True and report["python"].startswith("3.")
    assert report["loaded"] == GOOD
    assert [entry["import"] for entry in report["skipped"]] == BAD
    assert report["skipped"][0]["reason"] == "ModuleNotFoundError: No module named 'no_such_module'"
    assert report["import_ms"] >= 0 and report["threads"] == 1


def test_sessions_have_the_names_of_the_profile(zygote: Zygote) -> None:
    peer = zygote.spawn()
    assert peer.run("_").error["name"] == "NameError"  # the warm-up left nothing
    names = peer.value("sorted(n for n in globals() if not n.startswith('__'))")
    assert names == "['json', 'os', 'pi', 'rnd', 'tau']"
    assert peer.value("__name__, __import__('sys').argv") == "('__main__', [''])"
    cells = peer.value("[n for n in __import__('linecache').cache if n.startswith('<cell')]")
    assert cells == "['<cell 1>', '<cell 2>', '<cell 3>', '<cell 4>']"
    assert peer.run("print('x')").stdout == "x\n"
    peer.close()


def test_practice_leaves_nothing_behind(zygote: Zygote) -> None:
    peer = zygote.spawn()
    assert peer.value("__import__('sys').path.count('')") == "1"
    assert peer.value("__import__('threading').active_count()") == "1"
    assert int(peer.value("len(__import__('os').listdir('/proc/self/fd'))")) == 8
    peer.close()


def test_sessions_are_apart_and_draw_different_numbers(zygote: Zygote) -> None:
    first, second = zygote.spawn(), zygote.spawn()
    first.run("x = 1")
    assert second.run("x").error["name"] == "NameError"
    assert first.value("rnd.random()") != second.value("rnd.random()")
    seeded = "rnd.seed(1)\nrnd.random()"
    assert first.value(seeded) == second.value(seeded)
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import ctypes\nctypes.string_at(0)", "Fatal Python error: Segmentation fault"),
        ("import os\nos.abort()", "Fatal Python error: Aborted"),
        (
            "import ctypes\nctypes.pythonapi.Py_FatalError(b'of an extension')",
            "Fatal Python error: ",
        ),
    ],
)
def test_a_crash_leaves_its_text_in_the_cell(zygote: Zygote, code: str, text: str) -> None:
    peer = zygote.spawn()
    running = peer.begin(f"print('before')\ndef crash():\n    {code.splitlines()[0]}\n"
                         f"    {code.splitlines()[1]}\ncrash()")  # fmt: skip
    with pytest.raises((EOFError, ConnectionError)):
        running.finish()
    out, err = running.rest()
    assert out == "before\n" and text in err
    assert '"<cell 1>", line 4 in crash' in err
    peer.close()


@pytest.mark.sampled
def test_the_data_profile(python: str, image: pathlib.Path) -> None:
    zygote = Zygote(python, image, DATA)
    if zygote.report["skipped"]:
        zygote.close()
        pytest.skip("no data libraries in this interpreter")
    assert zygote.report["threads"] == 1
    first, second = zygote.spawn(), zygote.spawn()
    assert first.value("np.random.rand()") != second.value("np.random.rand()")
    answer = first.run("plt.plot([1, 2])\nplt.show()\npd.DataFrame({'a': [1]})")
    assert answer.displays[0]["type"] == "image" and answer.value["type"] == "dataframe"
    first.close()
    second.close()
    zygote.close()
