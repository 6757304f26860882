"""Saving from sessions and checkpoints, what stands around the variables, handlers for types, large
values within bounds, and the portable form."""

from __future__ import annotations

import base64
import pathlib
import subprocess
from typing import Iterator, Tuple

import pytest
from peer import Peer
from states import Record, load, lost, only_here, records_of, save, stream_from, stream_of

FORGET = "[globals().pop(name) for name in list(globals()) if name[:2] != '__'];"


@pytest.fixture(scope="module")
def peers(python: str, image: pathlib.Path) -> Iterator[Tuple[Peer, Peer]]:
    driver = image / "python"
    both = Peer.start(python, driver=driver), Peer.start(python, driver=driver)
    yield both
    for peer in both:
        peer.close()


@pytest.fixture
def session(peers: Tuple[Peer, Peer]) -> Peer:
    assert peers[0].run(FORGET).status == "ok"
    return peers[0]


@pytest.fixture
def other(peers: Tuple[Peer, Peer]) -> Peer:
    assert peers[1].run(FORGET).status == "ok"
    return peers[1]


def require(peer: Peer, module: str) -> None:
    if peer.run(f"import {module}").status != "ok":
        pytest.skip(f"this interpreter has no {module}")


def test_a_checkpoint_saves_what_it_holds(session: Peer, other: Peer) -> None:
    session.run("import random\nrandom.seed(4)\nx = [1]\ndef f(): return x")
    checkpoint = session.checkpoint()
    session.run("x.append('later')\nrandom.random()")
    stream = stream_of(checkpoint)
    assert stream_of(checkpoint) == stream
    checkpoint.close()
    load(other, stream)
    assert other.value("f(), random.random()") == "([1], 0.23604808973743452)"


def test_an_empty_session(session: Peer, other: Peer) -> None:
    answer = load(other, stream_of(session))
    assert answer == {"restored": 0, "lost": [], "message": None}


def test_only_what_changed_is_different(session: Peer) -> None:
    session.run("import os\na = os.urandom(50_000)\nb = os.urandom(50_000)\nn = 1\nm = 'm'")
    before = {record.body for record in save(session) if record.body}
    session.run("n = 2\na = a[1:]")
    after = {record.body for record in save(session) if record.body}
    assert len(before) == len(after) == 5  # declarations, overview, a, b, and the small ones
    assert len(before & after) == 3


def test_many_small_variables_share_a_blob(session: Peer, other: Peer) -> None:
    session.run("for i in range(1000): globals()[f'v{i}'] = [i]")
    found = save(session)
    assert sum(1 for record in found if record.body) < 6
    load(other, stream_from(found))
    assert other.value("v0, v999") == "([0], [999])"


def test_the_surroundings(session: Peer, other: Peer, tmp_path: pathlib.Path) -> None:
    session.run(
        f"import os, sys\nos.chdir({str(tmp_path)!r})\nos.environ['MINE'] = 'x'\n"
        "os.environ.pop('LANG')\nsys.path.append('/extra')\nsys.setrecursionlimit(2345)\n"
    )
    stream = stream_of(session)
    load(other, stream)
    assert other.value("os.getcwd()") == repr(str(tmp_path))
    assert other.value("os.environ['MINE'], 'LANG' in os.environ") == "('x', False)"
    assert other.value("sys.path[0], sys.path[-1]") == "('', '/extra')"
    assert other.value("sys.getrecursionlimit()") == "2345"
    reset = "os.chdir('/tmp'); os.environ.pop('MINE'); os.environ['LANG'] = 'C.UTF-8'"
    for peer in (session, other):
        peer.run(f"{reset}\nsys.path.remove('/extra')\nsys.setrecursionlimit(1000)")
    tmp_path.rmdir()
    answer = load(other, stream)
    assert [entry["name"] for entry in answer["lost"]] == ["cwd"]


def test_future_imports(session: Peer, other: Peer) -> None:
    session.run("from __future__ import annotations")
    load(other, stream_of(session))
    assert other.value("def f(a: not_there): pass\nf.__annotations__") == "{'a': 'not_there'}"


def test_a_name_that_was_rebound_or_deleted(session: Peer, other: Peer) -> None:
    session.run("import json\ndef f(): return 1\nclass C: pass\nimport math as m")
    session.run("f = 5\ndel C\njson = 'mine'")
    load(other, stream_of(session))
    assert other.value("f, json, m.pi > 3, 'C' in globals()") == "(5, 'mine', True, False)"


def test_modules_of_the_workspace(session: Peer, other: Peer, tmp_path: pathlib.Path) -> None:
    (tmp_path / "own_module.py").write_text("class K:\n    pass\ndef g(): return 'g'\n")
    for peer in (session, other):
        peer.run(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})")
    session.run("import own_module as om\nfrom own_module import K, g\nk = K()")
    load(other, stream_of(session))
    assert other.value("g(), type(k) is K is om.K") == "('g', True)"


# Handlers

HANDLER = """
import cella, threading
class Model:
    def __init__(self, n):
        self.n, self.lock = n, threading.Lock()
def save_model(model, path):
    with open(path, 'w') as file:
        file.write(str(model.n))
def load_model(path):
    with open(path) as file:
        return Model(int(file.read()))
cella.register(Model, save_model, load_model)
"""


def test_a_handler_of_the_users(session: Peer, other: Peer) -> None:
    assert session.run(HANDLER + "m = Model(3)\nms = [m, {'m': m}]").status == "ok"
    stream = stream_of(session)
    assert lost(records_of(stream)) == {}
    load(other, stream)
    assert other.value("type(m) is Model, m.n, ms[0] is m is ms[1]['m']") == "(True, 3, True)"
    assert lost(save(other)) == {}  # the handler is there too
    for peer in (session, other):
        peer.run("cella.unregister(Model)")
    assert set(lost(save(session))) == {"m", "ms"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("cella.register(5, len, len)", "register() wants a type first, not int"),
        ("cella.register(int, 1, len)",
         "register() wants functions: save(obj, path) and load(path)"),
    ],
)  # fmt: skip
def test_a_handler_that_is_none(session: Peer, call: str, message: str) -> None:
    assert session.run(f"import cella\n{call}").error["message"] == message


def test_workbooks(session: Peer, other: Peer) -> None:
    require(session, "openpyxl")
    session.run(
        "wb = openpyxl.Workbook()\nws = wb.active\nws['A1'] = 5\nws['B2'] = '=A1*2'\n"
        "second = wb.create_sheet('Second')\ncell = ws['A1']\nbooks = {'wb': wb}"
    )
    stream = stream_of(session)
    assert lost(records_of(stream)) == {}
    assert stream_of(session) == stream  # whatever the clock says
    load(other, stream)
    assert other.value("ws['A1'].value, ws['B2'].value") == "(5, '=A1*2')"
    assert other.value("books['wb'] is wb, wb.active is ws, wb.sheetnames") == (
        "(True, True, ['Sheet', 'Second'])"
    )
    assert other.value("cell is ws['A1']") == "True"


def test_workbooks_that_cannot_be_saved(session: Peer, tmp_path: pathlib.Path) -> None:
    require(session, "openpyxl")
    session.run(
        f"p = {str(tmp_path / 'x.xlsx')!r}\nopenpyxl.Workbook().save(p)\n"
        "wb = openpyxl.load_workbook(p, read_only=True)\nws = wb.active"
    )
    assert lost(save(session)) == {
        "wb": ("read-only or write-only workbook",
               "Note: 'wb' (read-only or write-only workbook) not persisted - cannot be "
               "serialized"),
        "ws": ("worksheet",
               "Note: 'ws' (worksheet) not persisted - re-access via: ws = wb.active"),
    }  # fmt: skip


# Large values

BOUND = """
import resource
class Bound:
    def __reduce__(self):
        size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (40 << 20), resource.RLIM_INFINITY))
        return (int, (7,))
bound = Bound()
"""


def test_large_values_pass_in_pieces(python: str, session: Peer, other: Peer) -> None:
    only_here(python)
    session.run(BOUND + "raw = bytes(120 << 20)\nchanging = bytearray(120 << 20)")
    stream = stream_of(session)
    assert lost(records_of(stream)) == {}
    load(other, stream)
    assert other.value("bound, len(raw), len(changing)") == f"(7, {120 << 20}, {120 << 20})"


@pytest.mark.sampled
def test_arrays_and_tables(session: Peer, other: Peer) -> None:
    require(session, "pandas")
    session.run(
        "import numpy as np, pandas as pd\n" + BOUND
        + "np.random.seed(1)\na = np.arange(15_000_000.)\nview = a\n"
        "f = np.asfortranarray(np.eye(3))\n"
        "df = pd.DataFrame({'x': np.arange(3), 'y': list('abc'), 'z': list('aab')})\n"
        "df.z = df.z.astype('category')\n"
        "part = df[df.x > 0]\nobj = np.array([[1], 'x', None], dtype=object); inner = obj[0]\n"
        "ser = df.x; when = pd.Timestamp('2024-01-01'); idx = pd.date_range('2024', periods=3)\n"
        "gen = np.random.default_rng(5)"
    )
    stream = stream_of(session)
    assert lost(records_of(stream)) == {}
    assert stream_of(session) == stream
    load(other, stream)
    assert other.value("a.sum() == np.arange(15_000_000.).sum() and view is a") == "True"
    assert other.value("a.flags.writeable, f.flags.f_contiguous") == "(True, True)"
    assert other.value("obj[0] is inner, obj.dtype") == "(True, dtype('O'))"
    assert other.value("df.y.tolist(), part.shape, when.year, len(idx)") == (
        "(['a', 'b', 'c'], (2, 3), 2024, 3)"
    )
    assert other.value("df.z.cat.categories.tolist()") == "['a', 'b']"
    assert other.value("np.random.rand(), gen.random()") == session.value(
        "np.random.rand(), gen.random()"
    )


def test_views_of_arrays(session: Peer, other: Peer) -> None:
    require(session, "pandas")
    session.run(
        "import numpy as np, pandas as pd\na = np.arange(5.)\nmid = a[1:4]\nback = a[::-1]\n"
        "m = np.asfortranarray(np.eye(3))\nrow, col = m[0], m[:, 1]\nfixed = a[:2]\n"
        "fixed.flags.writeable = False\nhalves = np.split(np.zeros(2000), 2)\n"
        "large = np.zeros(1_000_000)\nsmall = large[:3]\ndel large\n"
        "as_int = a.view('i8')\ndf = pd.DataFrame({'x': [1., 2.], 'y': [3., 4.]})\ns = df.y"
    )
    stream = stream_of(session)
    assert len(stream) < 20_000
    load(other, stream)
    assert other.value("a[1] = 9; mid[0], back[3], as_int[1] == np.float64(9).view('i8')") == (
        "(9.0, 9.0, True)"
    )
    assert other.value("m[0, 1] = 5; row[1], col[0], row.strides") == "(5.0, 5.0, (24,))"
    assert other.value("fixed.flags.writeable, small.tolist()") == "(False, [0.0, 0.0, 0.0])"
    assert other.value("halves[0].base is halves[1].base") == "True"
    assert other.value("np.shares_memory(s.values, df.y.values)") == "True"


@pytest.mark.sampled
def test_a_million_small_objects(python: str, session: Peer, other: Peer) -> None:
    only_here(python)
    session.run(
        "class P:\n    __slots__ = ('n',)\n    def __init__(self, n): self.n = n\n"
        "many = [{'i': i, 's': str(i), 'l': [i]} for i in range(200_000)]\n"
        "some = many[:10]\npoints = [P(i) for i in range(20_000)]\n"
        "texts = [str(i) for i in range(600_000)]"
    )
    stream = stream_of(session)
    load(other, stream)
    assert other.value("many[9] is some[9], many[-1], texts[-1], points[5].n") == (
        "(True, {'i': 199999, 's': '199999', 'l': [199999]}, '599999', 5)"
    )


# The portable form


def portable(found: list) -> bytes:
    (body,) = [record.body for record in found if record.body]
    return body


def test_the_portable_form(session: Peer, other: Peer) -> None:
    session.run(
        "import math, io\nx = 1\ndef f(): return x\nk = lambda v: v + x\n_hidden = 5\n"
        "class C:\n    def hi(self): return x\nc = C()\ng = (i for i in [1])\n"
        "h = open('/dev/null')\nshared = [1]; pair = (shared, shared)"
    )
    found = save(session, format="namespace")
    assert found[0].header["format"] == "namespace"
    assert [record.header["rec"] for record in found[-2:]] == ["blob", "end"]
    assert found[-2].header["kind"] == "namespace"
    assert {name: kind for name, (kind, _) in lost(found).items()} == {
        "g": "generator", "h": "file handle"}  # fmt: skip
    load(other, stream_from(found))
    assert other.value("f(), k(1), c.hi(), pair[0] is pair[1]") == "(1, 2, 1, True)"
    assert other.value("x = 10\nf(), k(1), c.hi(), type(c) is C") == "(10, 11, 10, True)"
    assert other.value("'_hidden' in globals(), 'math' in globals()") == "(False, False)"


def test_a_rehearsal_leaves_no_trace(session: Peer, other: Peer) -> None:
    session.send({"op": "rehearse"})
    assert session.value("sorted(n for n in globals() if not n.startswith('__'))") == "[]"
    session.run("x = [1]\ndef f(): return x")
    other.send({"op": "rehearse"})
    assert load(other, stream_from(save(session, format="namespace")))["restored"] == 2
    assert other.value("f()") == "[1]"


def test_small_and_large_are_compressed_alike(session: Peer, other: Peer) -> None:
    for size in (0, 1000, 40_000, 1_000_000):
        session.run(f"import os\nb = os.urandom({size})")
        other.run("b = None")
        load(other, stream_from(save(session, format="namespace")))
        assert other.value("len(b)") == str(size)
        assert other.value("import hashlib\nhashlib.md5(b).hexdigest()") == session.value(
            "import hashlib\nhashlib.md5(b).hexdigest()"
        )


def test_the_portable_form_is_that_of_others(session: Peer, other: Peer) -> None:
    """Made and read with cloudpickle and lz4 alone, as a server of that kind does."""
    require(session, "cloudpickle, lz4.frame")
    session.run("x = {'a': [1]}\ndef f(): return x")
    body = base64.b64encode(portable(save(session, format="namespace"))).decode()
    code = (
        "import base64, sys, cloudpickle, lz4.frame\n"
        f"state = cloudpickle.loads(lz4.frame.decompress(base64.b64decode({body!r})))\n"
        "assert state['f']() == {'a': [1]} and state['x'] == {'a': [1]}, state\n"
        "y = 3\ndef g(): return y\n"
        "made = lz4.frame.compress(cloudpickle.dumps({'y': y, 'g': g, 's': {1, 2}}))\n"
        "print(base64.b64encode(made).decode())"
    )
    made = subprocess.run(
        ["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=True
    )
    header = {"rec": "blob", "kind": "namespace", "names": ["y", "g"], "body": True}
    stream = stream_from([
        Record({"rec": "begin", "format": "namespace"}, b""),
        Record(header, base64.b64decode(made.stdout)),
        Record({"rec": "end"}, b""),
    ])  # fmt: skip
    assert load(other, stream) == {"restored": 3, "lost": [], "message": None}
    assert other.value("y = 4\ng(), s") == "(4, {1, 2})"


def test_nothing_portable(session: Peer) -> None:
    session.run("g = (i for i in [1])")
    found = save(session, format="namespace")
    assert found[-1].header == {
        "rec": "failed",
        "message": "State serialization failed: cannot pickle 'generator' object",
    }
    session.run("del g")
    assert save(session, format="namespace")[-1].header == {"rec": "end"}


def test_too_much_to_carry(session: Peer) -> None:
    session.run("import os\nbig = os.urandom(3 << 20)")
    last = save(session, format="namespace", max_bytes=1 << 20)[-1].header
    assert last["rec"] == "failed"
    assert last["message"].startswith("State is 3 MB, more than STATE_MAX_SIZE_MB = 1.")


def test_a_portable_state_that_is_none(other: Peer) -> None:
    header = {"rec": "blob", "kind": "namespace", "names": ["x"], "body": True}
    for body in (b"", b"garbage", b"\x04\x22\x4d\x18garbage"):
        stream = stream_from([Record({"rec": "begin"}, b""), Record(header, body),
                              Record({"rec": "end"}, b"")])  # fmt: skip
        answer = load(other, stream)
        assert answer["restored"] == 0 and answer["message"].startswith("The state cannot be read")
