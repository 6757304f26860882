"""The manifest: which names there are, and what the last cell did to them."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator

import pytest
from peer import Peer


@pytest.fixture
def told(fresh: Peer) -> Peer:
    """A session whose cells tell what they changed."""
    fresh.names = "changes"
    return fresh


@pytest.fixture(scope="module")
def listed(python: str) -> Iterator[Peer]:
    peer = Peer.start(python)
    peer.names = "full"
    yield peer
    peer.close()


def changes(peer: Peer, code: str) -> tuple:
    peer.names = "changes"
    names = peer.run(code).names
    assert names is not None and "items" not in names
    return names["added"], names["changed"], names["removed"]


def item(peer: Peer, code: str) -> Dict[str, Any]:
    """What is said of the name `x`."""
    peer.names = "full"
    answer = peer.run(code)
    assert answer.status == "ok", answer
    assert answer.names is not None
    (found,) = [item for item in answer.names["items"] if item["name"] == "x"]
    del found["name"]
    return found


def all_names(peer: Peer, max_items: int = 1000) -> Dict[str, Any]:
    answer = peer.ask({"op": "names", "max": max_items})
    assert answer["ev"] == "names"
    return answer["names"]


def test_none_unless_asked_for(fresh: Peer) -> None:
    assert fresh.run("x = 1").names is None
    fresh.names = "none"
    assert fresh.run("x = 2").names is None


def test_added_changed_removed(told: Peer) -> None:
    assert changes(told, "a = 1; b = [1]; c = 'x'") == (["a", "b", "c"], [], [])
    assert changes(told, "1+1") == ([], [], [])
    assert changes(told, "b.append(2)") == ([], ["b"], [])
    assert changes(told, "a = 2; d = {}") == (["d"], ["a"], [])
    assert changes(told, "del c; d['k'] = 1") == ([], ["d"], ["c"])
    assert changes(told, "c = 'x'") == (["c"], [], [])
    assert changes(told, "a += 1\n1/0") == ([], ["a"], [])
    assert changes(told, "a = 1000; c = str(a)") == ([], ["a", "c"], [])
    assert changes(told, "a = 1000; c = str(a)") == ([], [], [])  # the same again
    assert changes(told, "a = 1000.0") == ([], ["a"], [])
    assert changes(told, "def f(): pass\nimport math\nclass A: pass") == (
        ["f", "math", "A"], [], []
    )  # fmt: skip
    assert changes(told, "def f(): return 1") == ([], ["f"], [])
    assert changes(told, "for i in range(3): t = i") == (["i", "t"], [], [])
    assert told.run("pass").names == {"total": 9, "added": [], "changed": [], "removed": []}
    assert told.run("globals().clear()").names["total"] == 0


def test_what_was_given_is_not_the_users(python: str) -> None:
    peer = Peer.start(python, ("json", "import random as rnd"))
    peer.names = "changes"
    assert changes(peer, "_hidden = 1; __dunder = 2") == ([], [], [])
    assert changes(peer, "x = json") == (["x"], [], [])
    assert changes(peer, "kept, rnd = rnd, 5") == (["rnd", "kept"], [], [])
    assert changes(peer, "rnd = kept") == ([], [], ["rnd"])
    assert changes(peer, "rnd = 5; del kept") == (["rnd"], [], ["kept"])
    assert changes(peer, "del json") == ([], [], [])
    assert [item["name"] for item in all_names(peer)["items"]] == ["rnd", "x"]
    peer.close()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = [1]", "x.append(2)"),
        ("x = [1]", "x.clear()"),
        ("x = {}", "x[1] = 1"),
        ("x = {1}", "x.add(2)"),
        ("x = bytearray()", "x += b'1'"),
        ("import collections\nx = collections.deque()", "x.append(1)"),
        ("import collections\nx = collections.Counter()", "x.update('abc')"),
        ("import array\nx = array.array('i')", "x.append(1)"),
        ("class L(list): pass\nx = L()", "x.append(1)"),
        ("x = 1.5", "for n in range(4): x += 1.0"),
        ("x = 10**6", "for n in range(4): x += 1"),
        ("x = 'a' * 50", "for c in 'abcd': x = x[1:] + c"),
        ("x = ()", "x += (1,)"),
        ("class A: pass\nx = A()", "x = A()"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("class A: pass\nclass B: pass\nx = A()", "del x\nx = B()"),
    ],
)
def test_changes_that_are_seen(listed: Peer, before: str, after: str) -> None:
    listed.run(before + "\nn = c = 0")
    assert "x" in changes(listed, after)[1]
    assert "x" not in changes(listed, "pass")[1]


def test_changes_of_cells_that_did_not_tell(told: Peer) -> None:
    """Only what the last cell did."""
    told.run("a = 1; c = 1")
    told.names = None
    told.run("b = 2; del c")
    assert "added" not in all_names(told)
    told.names = "changes"
    assert changes(told, "d = 4") == (["d"], [], [])
    assert all_names(told)["added"] == ["d"]


def test_many_names_are_only_counted(told: Peer) -> None:
    assert len(told.run("for n in range(299): globals()[f'n{n}'] = n").names["added"]) == 100
    assert told.run("one = 1").names == {"total": 301}
    assert told.run("n5 = 1").names == {"total": 301}
    assert told.run("_private = 1").names == {"total": 301}
    names = all_names(told)
    assert names["total"] == 301 and len(names["items"]) == 301 and "added" not in names
    assert told.run("del one, n1, n2").names == {"total": 298}
    assert changes(told, "del n3") == ([], [], ["n3"])
    assert told.run("for n in range(9000): globals()[f'n{n}'] = n").names["total"] >= 9000
    names = all_names(told)
    assert names["total"] == 9001 and names["more"] is True and len(names["items"]) == 1000
    assert names["items"][-1]["name"] == "n8999"


def test_everything_is_bounded(told: Peer) -> None:
    told.names = "full"
    told.run("for n in range(290): globals()['é' * 3000 + str(n)] = 'ü' * 10_000")
    told.run("globals().clear()")
    code = (
        "for n in range(290): globals()[f'{n}' + '\\U0001f40d' * 3000] = ['\\U0001f40d' * 5000] * 9"
    )
    names = told.run(code).names
    assert len(json.dumps(names, ensure_ascii=False).encode()) <= 64 << 10
    assert names["more"] is True and names["total"] == 291
    for entry in names["items"]:
        assert len(entry["name"].encode()) <= 400 and len(entry.get("text", "")) <= 80
    assert len(all_names(told, 5)["items"]) == 5
    assert all_names(told, 5)["more"] is True


def test_odd_names(told: Peer) -> None:
    told.run("globals()['with space'] = 1; globals()['\\ud800'] = 2; globals()['n\\0'] = 3")
    names = [item["name"] for item in all_names(told)["items"]]
    assert names == ["with space", "\\ud800", "n\\x00"]
    told.run("globals()[5] = 1; globals()[None] = 2; globals()[''] = 3")
    assert all_names(told)["total"] == 4
    assert changes(told, "größe = 5") == (["größe"], [], [])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = None", {"type": "NoneType", "text": "None"}),
        ("x = True", {"type": "bool", "text": "True"}),
        ("x = -5", {"type": "int", "text": "-5"}),
        ("x = 1 << 20000", {"type": "int", "text": "<an integer of 20001 bits>"}),
        ("x = 1.5", {"type": "float", "text": "1.5"}),
        ("x = float('nan')", {"type": "float", "text": "nan"}),
        ("x = 1j", {"type": "complex", "text": "1j"}),
        ("x = 'a\\n'", {"type": "str", "len": 2, "text": "'a\\n'"}),
        ("x = 'a' * 1000", {"type": "str", "len": 1000, "text": "'" + "a" * 78 + "…"}),
        ("x = b'ab'", {"type": "bytes", "len": 2, "bytes": 2, "text": "b'ab'"}),
        ("x = [1, 'b', None]", {"type": "list", "len": 3, "text": "[1, 'b', None]"}),
        ("x = list(range(10**6))", {"type": "list", "len": 1000000,
         "text": "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …]"}),
        ("x = (1,)", {"type": "tuple", "len": 1, "text": "(1,)"}),
        ("x = {'a': [1, (2,)]}", {"type": "dict", "len": 1, "text": "{'a': [1, …]}"}),
        ("x = {5}", {"type": "set", "len": 1, "text": "{5}"}),
        ("x = frozenset()", {"type": "frozenset", "len": 0, "text": "frozenset()"}),
        ("x = [object(), [[[]]]]", {"type": "list", "len": 2, "text": "[<object>, […]]"}),
        ("x = []\nx.append(x)", {"type": "list", "len": 1, "text": "[[…]]"}),
        ("def x(a, b=1, *c, d, **e): pass", {"type": "function", "text": "x(a, b, d, *c, **e)"}),
        ("import json as x", {"type": "module", "text": "json"}),
        ("class x: pass", {"type": "type"}),
        ("class A: pass\nx = A()", {"type": "A"}),
        ("import pathlib\nx = pathlib.PurePosixPath('a')", {"type": "pathlib.PurePosixPath"}),
        ("import collections\nx = collections.OrderedDict(a=1)",
         {"type": "collections.OrderedDict", "len": 1}),
        ("from collections import namedtuple\nx = namedtuple('P', 'a b')(1, 2)",
         {"type": "P", "len": 2}),
        ("x = memoryview(b'abcd').cast('i')", {"type": "memoryview", "len": 1, "bytes": 4}),
        ("x = memoryview(b'')\nx.release()", {"type": "memoryview"}),
        ("import array\nx = array.array('d', [1])", {"type": "array.array", "len": 1, "bytes": 8}),
        ("x = range(10**30)", {"type": "range"}),
        ("x = (n for n in [])", {"type": "generator"}),
        ("import threading\nx = threading.Lock()", {"type": "_thread.lock"}),
    ],
)  # fmt: skip
def test_what_is_said(listed: Peer, code: str, said: Dict[str, Any]) -> None:
    assert item(listed, code) == said


HOSTILE = """
hits = []
def trap(*args, **options):
    hits.append(1)
    raise SystemExit
class Meta(type):
    __name__ = property(trap)
    def mro(cls): return super().mro()
    __hash__ = __eq__ = __repr__ = __instancecheck__ = __subclasscheck__ = __getattribute__ = trap
body = {name: trap for name in (
    '__len__', '__getattr__', '__getattribute__', '__repr__', '__str__', '__iter__', '__bool__',
    '__hash__', '__eq__', '__ne__', '__sizeof__', '__format__', '__index__', '__int__', '__float__',
    '__getitem__', '__contains__', '__reduce__', '__array__', '__dir__', 'memory_usage')}
for name in ('__class__', 'shape', 'nbytes', 'dtype', 'itemsize', '_mgr', 'size', '__dict__'):
    body[name] = property(trap)
"""


@pytest.mark.parametrize(
    "make",
    [
        "x = type('Evil', (), dict(body))()",
        "x = Meta('Evil', (), {})",
        "x = Meta('Evil', (), {'__len__': trap, 'shape': property(trap)})\nx = object.__new__(x)",
        "x = type('Evil', (list,), dict(body))()\nlist.append(x, 1)",
        "x = type('Evil', (dict,), dict(body))()",
        "x = type('Evil', (str,), dict(body))('y')",
        "x = type('Evil', (int,), dict(body))(5)",
        "x = type('Evil', (bytes,), dict(body))(b'y')",
        "x = [type('Evil', (), dict(body))(), type('Evil', (str,), dict(body))('k')]",
        "k = type('K', (str,), {n: body[n] for n in ('__repr__', '__str__')})('k')\nx = {k: k}",
        "import sys, types\nm = types.ModuleType('torch')\nm.Tensor = type('Tensor', (),"
        " dict(body))\nm.Tensor.__module__ = 'torch'\nsys.modules['torch'] = m\nx = m.Tensor()",
        "import sys, types\nm = types.ModuleType('polars')\nm.Series = m.DataFrame = type("
        "'DataFrame', (), dict(body))\nsys.modules['polars'] = m\nx = m.DataFrame()",
        "x = type('Evil', (), {'__module__': type('S', (str,), {'__eq__': trap})('m')})()",
        "x = type(type('S', (str,), {'__str__': trap, '__repr__': trap})('Odd'), (), {})()",
        "import types\nx = types.ModuleType('m')\nx.__name__ = type('E', (), dict(body))()",
        "import types\nx = type('M', (types.ModuleType,), dict(body))('m')",
    ],
)
def test_nothing_of_the_users_runs(listed: Peer, make: str) -> None:
    listed.run("globals().clear()")
    assert listed.run(HOSTILE).status == "ok"
    answer = listed.run(make + "\nhits.clear()")
    assert answer.status == "ok", answer
    for names in ("changes", "full"):
        listed.names = names
        answer = listed.run("pass")
        assert answer.names is not None and answer.names["total"] > 4
    assert [entry for entry in all_names(listed)["items"] if entry["name"] == "x"]
    assert listed.value("len(hits)") == "0"


def test_hostile_keys(told: Peer) -> None:
    assert told.run(HOSTILE).status == "ok"
    told.run(
        "class K(str):\n    def __eq__(self, other): hits.append(2); return False\n"
        "    __hash__ = str.__hash__\n    startswith = __getitem__ = trap\n"
        "globals()[K('y')] = 1\nhits.clear()"
    )
    names = told.run("z = 1").names
    assert "z" in names["added"]
    assert told.value("hits") == "[]"


def test_nothing_is_kept_alive(told: Peer) -> None:
    told.run("import weakref\nclass Big: pass\nx = Big()\nr = weakref.ref(x)")
    told.run("y = [x]")
    all_names(told)
    told.run("del x, y")
    assert told.value("r() is None") == "True"


def test_numpy_and_pandas(python: str) -> None:
    peer = Peer.start(python)
    if peer.run("import numpy as np, pandas as pd").status != "ok":
        peer.close()
        pytest.skip("no data libraries in this interpreter")
    peer.names = "full"
    assert item(peer, "x = np.zeros((3, 4))") == {
        "type": "numpy.ndarray", "shape": [3, 4], "bytes": 96
    }  # fmt: skip
    assert item(peer, "class N(np.ndarray): shape = 5\nx = np.zeros(3).view(N)") == {
        "type": "N", "shape": [3], "bytes": 24
    }  # fmt: skip
    assert item(peer, "x = np.float64(3)")["type"] == "numpy.float64"
    said = item(peer, "x = pd.DataFrame({'a': [1, 2, 3], 'b': list('xyz')})")
    assert said == {"type": "pandas.DataFrame", "shape": [3, 2], "bytes": 48}
    assert item(peer, "x = x.set_index('b')")["shape"] == [3, 1]
    assert item(peer, "x = pd.Series([1.5, 2.5])") == {
        "type": "pandas.Series", "shape": [2], "bytes": 16
    }  # fmt: skip
    assert item(peer, "x = pd.Series(pd.date_range('2020', periods=3))")["bytes"] == 24
    assert item(peer, "x = pd.Series(['a', 'b'], dtype='category')")["shape"] == [2]
    code = (
        "class I(pd.Index):\n    def __len__(self): raise SystemExit\n"
        "x = pd.Series([1, 2])\nx._mgr.axes[0] = np.array([1, 2]).view()"
    )
    assert "shape" not in item(peer, code)
    peer.names = "changes"
    peer.run("df = pd.DataFrame({'a': [1]})\na = np.zeros(3)\ndel x")
    assert changes(peer, "df['b'] = 5") == ([], ["df"], [])
    assert changes(peer, "a.resize(5, refcheck=False)") == ([], ["a"], [])
    assert changes(peer, "df.loc[9] = 1; a[0] = 1") == ([], ["df"], [])
    peer.close()


def test_threads_at_work(told: Peer) -> None:
    told.run(
        "import threading\nstop = []\ndef work():\n    n = 0\n    while not stop:\n        n += 1\n"
        "        globals()[f'v{n % 50}'] = [n]\n        globals().pop(f'v{(n + 7) % 50}', None)\n"
        "t = threading.Thread(target=work)\nt.start()"
    )
    for number in range(100):
        told.names = "full" if number % 2 else "changes"
        assert told.run("1+1").names["total"] > 0
    assert told.run("stop.append(1); t.join()").status == "ok"
