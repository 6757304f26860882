"""What cannot be saved is named, with advice, and costs nothing else."""

from __future__ import annotations

import pathlib
import re
from typing import Dict, Iterator, List, Tuple

import pytest
from peer import Peer
from states import Record, load, lost, only_here, records_of, save, stream_from, stream_of

SETUP = """
import io, os, signal, socket, sqlite3, subprocess, sys, tempfile, threading
import multiprocessing
good = [1, 2]
lock = threading.Lock()
class Breaks:
    def __init__(self, how): self.how = how
    def __reduce__(self): return self.how()
"""

# What makes it, its type, and the advice behind the name and the type.
CASES: Dict[str, Tuple[str, str, str]] = {
    "gen": ("gen = (i for i in range(3)); next(gen)", "generator",
            " - recreate or convert to list"),
    "agen": ("async def _a(): yield 1\nagen = _a()", "async_generator",
             " - recreate or convert to list"),
    "handle": ("handle = open('/dev/null')", "file handle", " - reopen file in next cell"),
    "raw": ("raw = io.FileIO('/dev/null')", "file handle", " - reopen file in next cell"),
    "temp": ("temp = tempfile.NamedTemporaryFile()", "file handle", " - reopen file in next cell"),
    "lam": ("lam = lambda v, held=lock: v", "lambda", " - use 'def lam(...)' instead"),
    "lock": ("", "Lock", " across cells"),
    "rlock": ("rlock = threading.RLock()", "RLock", " across cells"),
    "sem": ("sem = threading.Semaphore()", "Semaphore", " across cells"),
    "event": ("event = threading.Event()", "Event", " across cells"),
    "thread": ("thread = threading.Thread(target=print)", "Thread", " across cells"),
    "proc": ("proc = multiprocessing.Process(target=print)", "Process", " across cells"),
    "popen": ("popen = subprocess.Popen('true'); popen.wait()", "Popen", " across cells"),
    "conn": ("conn = sqlite3.connect(':memory:')", "Connection", " - reconnect in next cell"),
    "cur": ("cur = conn.cursor()", "Cursor", " - reconnect in next cell"),
    "sock": ("sock = socket.socket()", "socket", " - recreate connection in next cell"),
    "inside": ("inside = {'a': [lock]}", "dict",
               " - recreate in next cell: cannot pickle '_thread.lock' object"),
    "raises": ("def _r(): raise KeyError('mine')\nraises = Breaks(_r)", "Breaks",
               " - recreate in next cell: KeyError: 'mine'"),
    "exits": ("exits = Breaks(sys.exit)", "Breaks", " - recreate in next cell: SystemExit"),
    "frame": ("frame = sys._getframe()", "frame",
              " - recreate in next cell: cannot pickle 'frame' object"),
}


@pytest.fixture(scope="module")
def driver(image: pathlib.Path) -> pathlib.Path:
    return image / "python"


@pytest.fixture(scope="module")
def peers(python: str, driver: pathlib.Path) -> Iterator[Tuple[Peer, Peer]]:
    both = Peer.start(python, driver=driver), Peer.start(python, driver=driver)
    yield both
    for peer in both:
        peer.close()


FORGET = "[globals().pop(name) for name in list(globals()) if name[:2] != '__'];"


@pytest.fixture
def session(peers: Tuple[Peer, Peer]) -> Peer:
    assert peers[0].run(FORGET).status == peers[0].run(SETUP).status == "ok"
    return peers[0]


@pytest.fixture
def other(peers: Tuple[Peer, Peer]) -> Peer:
    assert peers[1].run(FORGET).status == "ok"
    return peers[1]


@pytest.fixture(scope="module")
def saved(peers: Tuple[Peer, Peer]) -> List[Record]:
    for code in (FORGET, SETUP, *[case[0] for case in CASES.values()]):
        answer = peers[0].run(code)
        assert answer.status == "ok", (code, answer)
    return save(peers[0])


@pytest.mark.parametrize("name", CASES)
def test_is_named_with_advice(saved: List[Record], name: str) -> None:
    _, kind, hint = CASES[name]
    assert lost(saved)[name] == (kind, f"Note: '{name}' ({kind}) not persisted{hint}")


def test_nothing_else_is_lost(saved: List[Record], other: Peer) -> None:
    assert set(lost(saved)) == set(CASES)
    answer = load(other, stream_from(saved))
    assert answer["message"] is None
    assert {entry["name"] for entry in answer["lost"]} == set(CASES)
    assert other.value("good, Breaks.__name__, socket.AF_INET > 0") == "([1, 2], 'Breaks', True)"


def test_what_shares_with_it_keeps_what_it_shares(session: Peer, other: Peer) -> None:
    session.run("shared = [1]\na = {'s': shared}\nb = [shared, lock]\nc = (shared,)")
    stream = stream_of(session)
    assert set(lost(records_of(stream))) == {"b", "lock"}
    load(other, stream)
    assert other.value("a['s'] is shared and c[0] is shared") == "True"


def test_it_fails_after_much_of_it_was_sent(python: str, session: Peer, other: Peer) -> None:
    only_here(python)
    session.run("big = [os.urandom(20 << 20), lock]\nafter = os.urandom(20 << 20)")
    stream = stream_of(session)
    assert set(lost(records_of(stream))) == {"big", "lock"}
    answer = load(other, stream)
    assert {entry["name"] for entry in answer["lost"]} == {"big", "lock"}
    assert other.value("len(after), good") == f"({20 << 20}, [1, 2])"


def test_a_definition_is_made_again_from_its_source(session: Peer, other: Peer) -> None:
    session.run(
        "class HasLock:\n    held = threading.Lock()\n    def hi(self): return good\n"
        "one = HasLock()\nones = [one]\n"
        "if True:\n    @staticmethod\n    def f(a, held=threading.Lock()):\n"
        "        return '''x\n  y'''\n"
    )
    stream = stream_of(session)
    assert set(lost(records_of(stream))) == {"lock"}
    load(other, stream)
    assert other.value("type(one) is HasLock and ones[0] is one and one.hi() is good") == "True"
    assert other.value("HasLock.held.acquire()") == "True"
    assert other.value("f.__func__(1)") == r"'x\n  y'"
    assert set(lost(save(other))) == set()  # and once more


def test_depth_is_bounded(session: Peer) -> None:
    session.run("deep = []\nfor _ in range(450): deep = [deep]")
    session.run("abyss = []\nfor _ in range(100_000): abyss = [abyss]")
    found = lost(save(session))
    assert set(found) == {"lock", "abyss"}
    assert "it is nested too deeply" in found["abyss"][1]


def test_classes_that_hide_what_they_are(session: Peer, other: Peer) -> None:
    session.run(
        "class Meta(type):\n    def __getattribute__(cls, name): raise RuntimeError(name)\n"
        "class Hidden(metaclass=Meta): pass\nhidden = Hidden()\nx = [1]\nclass Odd:\n"
        "    __module__ = 5\n    def __getattribute__(self, name): raise KeyError(name)\n"
        "odd = [Odd()]"
    )
    stream = stream_of(session)
    assert set(lost(records_of(stream))) >= {"hidden", "odd", "lock"}
    load(other, stream)
    assert other.value("x, good") == "([1], [1, 2])"


def test_what_cells_declare_is_found_among_much_else(session: Peer, other: Peer) -> None:
    session.run(
        "if good:\n    try:\n        import json as j, os.path\n    except ImportError:\n"
        "        j = None\nwith open('/dev/null'):\n"
        "    def é(v, held=threading.Lock()): return '''\n  ü''' + v  # öö\n"
    )
    session.run("def é2(v, held=threading.Lock()):\n    return 1; x = 2\n" * 3)
    session.run("def é2(v, held=threading.Lock()):\n    return 'newer'\nraise KeyError('after it')")
    session.run("class Broken:\n    held = threading.Lock()\n    raise KeyError")
    session.checkpoint().close()
    load(other, stream_of(session))
    assert other.value("é('a'), é2(1), j.dumps(1), os.sep") == r"('\n  üa', 'newer', '1', '/')"
    assert other.run("Broken").error["name"] == "NameError"


@pytest.mark.parametrize(
    "how",
    [
        "os._exit(3)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "[os.close(fd) for fd in range(3, 200) if fd_is_socket(fd)]",
    ],
)
def test_a_crash_costs_that_save(session: Peer, how: str) -> None:
    session.run(
        "import stat\ndef fd_is_socket(fd):\n    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)\n"
        f"    except OSError: return False\nbad = Breaks(lambda: ({how}, 1))"
    )
    stream = stream_of(session)
    assert all(record.header["rec"] != "end" for record in records_of(stream))
    assert session.value("good") == "[1, 2]"
    session.run("del bad")
    assert save(session)[-1].header == {"rec": "end"}


def test_what_user_code_does_while_it_is_saved_stays_there(session: Peer) -> None:
    session.run(
        "def mischief():\n    print('printed')\n    os.write(1, b'written')\n"
        "    os.system('echo from a child')\n    good.append('changed')\n"
        "    signal.raise_signal(signal.SIGINT)\n    os.killpg(0, signal.SIGTERM)\n"
        "    return (int, ('5',))\nbad = Breaks(mischief)"
    )
    assert save(session)[-1].header == {"rec": "end"}
    answer = session.run("good")
    assert (answer.text, answer.stdout, answer.stderr) == ("[1, 2]", "", "")


def test_a_fork_within_ends_by_itself(session: Peer, other: Peer) -> None:
    session.run("bad = Breaks(lambda: (os.fork() or True) and (int, ('5',)))\nx = 1")
    stream = stream_of(session)
    assert records_of(stream)[-1].header == {"rec": "end"}
    load(other, stream)
    assert other.value("bad, x") == "(5, 1)"


def test_threads_do_not_prevent_it(session: Peer, other: Peer) -> None:
    session.run(
        "import random\nrandom.seed(3)\n"
        "done = threading.Event()\nt = threading.Thread(target=done.wait)\nt.start()\nx = [1]"
    )
    stream = stream_of(session)
    expected = session.value("random.random()")
    session.run("done.set()\nt.join()")
    load(other, stream)
    assert other.value("x") == "[1]"
    assert other.value("random.random()") == expected


def test_the_limit_on_size(session: Peer) -> None:
    session.run("small = 1\nbig = os.urandom(3 << 20)\nhuge = os.urandom(9 << 20)")
    found = save(session, max_bytes=2 << 20)
    last = found[-1].header
    assert last["rec"] == "failed"
    assert re.fullmatch(
        r"State is 12 MB, more than STATE_MAX_SIZE_MB = 2\. Delete what is no longer needed; "
        r"the largest: huge \(9 MB\), big \(3 MB\).*\.",
        last["message"],
    ), last
    assert sum(len(record.body) for record in found) <= 2 << 20
    assert save(session, max_bytes=20 << 20)[-1].header == {"rec": "end"}


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"", "it ends too early"),
        (b"\xff\xff\xff\xff", "a header of 4294967295 bytes"),
        (b"\x02\0\0\0{]", "a header is not JSON"),
        (b"\x02\0\0\0[]", "a header is not an object"),
        (stream_from([Record({"rec": "end"}, b"")]), "it does not begin as one"),
        (stream_from([Record({"rec": "begin", "runtime": "node"}, b"")]), "it is one of node"),
        (stream_from([Record({"rec": "begin"}, b"")]), "it ends too early"),
        (stream_from([Record({"rec": "begin"}, b""),
                      Record({"rec": "failed", "message": "too big"}, b"")]), "too big"),
    ],
)  # fmt: skip
def test_a_stream_that_is_none(other: Peer, stream: bytes, reason: str) -> None:
    answer = load(other, stream)
    assert answer["restored"] == 0
    assert answer["message"].startswith("The state cannot be read: ")
    assert reason in answer["message"]
    assert other.value("1 + 1") == "2"


def test_blobs_that_are_broken(session: Peer, other: Peer) -> None:
    session.run("big = os.urandom(100_000)\nx = 1\ndef f(): return 'f'")
    found = save(session)
    for record in found:
        if "big" in record.header.get("names", ()):
            record.body = record.body[:5000] + b"garbage" * 1000 + record.body[12000:]
    answer = load(other, stream_from(found))
    assert "big" in {entry["name"] for entry in answer["lost"]}
    assert other.value("x, f()") == "(1, 'f')"


def test_code_of_another_version(session: Peer, other: Peer) -> None:
    """Functions come from their source then, and what is data comes as it is."""
    session.run("def f(): return 'f'\nx = [1]\nk = lambda: 1")
    stream = stream_of(session)
    other.run("import sys\nr = sys.modules['_cella'].rebuild\nm, r._MAGIC = r._MAGIC, b'older'")
    answer = load(other, stream)
    other.run("r._MAGIC = m")
    assert {entry["name"] for entry in answer["lost"]} == {"k", "lock"}
    assert "another version of Python" in str(answer["lost"])
    assert other.value("f(), x, Breaks.__name__") == "('f', [1], 'Breaks')"
