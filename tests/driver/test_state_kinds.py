"""Every kind of value, saved and loaded. All of them live in one session, which is saved once; what
is asked of each is asked of the session into which that was loaded."""

from __future__ import annotations

import pathlib
from typing import Dict, Iterator, Tuple

import pytest
from peer import Peer
from states import load, records_of, stream_of

# What makes it, what to ask of it later, and the answer.
CASES: Dict[str, Tuple[str, str, str]] = {
    "numbers and texts": (
        "n1, n2, n3, n4 = 7, 2.5, 'é\\n', b'x'", "n1, n2, n3, n4", "(7, 2.5, 'é\\n', b'x')"),
    "values and sources of cells": (
        "outs, ins = Out, In", "type(outs), type(ins), ins[0]", "(dict, list, '')"),
    "two names of one list": ("a1 = [1]; a2 = a1", "a1 is a2", "True"),
    "a list within two dictionaries": (
        "deep = [1]; d1 = {'x': {'y': deep}}; d2 = {'z': deep}",
        "d1['x']['y'] is d2['z'] is deep", "True"),
    "a list that holds itself": ("ring = []; ring.append(ring)", "ring[0] is ring", "True"),
    "a tuple with a shared list": (
        "inner = []; t1 = (1, inner); t2 = (2, inner)", "t1[1] is t2[1]", "True"),
    "objects that know each other": (
        "class Node: pass\nleft = Node(); right = Node(); left.other = right; right.other = left",
        "left.other is right and right.other is left and type(left) is Node", "True"),
    "a shared attribute": (
        "class Box: pass\nbox1 = Box(); box2 = Box(); box1.v = box2.v = {}",
        "box1.v is box2.v", "True"),
    "slots": (
        "class Slots:\n    __slots__ = ('u', 'v')\nslots = Slots(); slots.u = [1]\n"
        "slots_u = slots.u",
        "slots.u is slots_u and not hasattr(slots, 'v') and not hasattr(slots, '__dict__')",
        "True"),
    "a set, a frozenset, a deque": (
        "import collections\nsets = ({1, 'a'}, frozenset([2]), collections.deque([3], 5))",
        "sets == ({1, 'a'}, frozenset([2]), collections.deque([3])), sets[2].maxlen",
        "(True, 5)"),
    "ordered and default dictionaries": (
        "dd = collections.defaultdict(list, a=[1]); dd2 = collections.Counter('aab')",
        "dd['new'], dd2['a']", "([], 2)"),
    "dates and decimals": (
        "import datetime, decimal\nwhen = datetime.datetime(2024, 1, 2)\n"
        "dec = decimal.Decimal('1.10')",
        "when.year, str(dec)", "(2024, '1.10')"),
    "bytes that can change": (
        "ba = bytearray(b'abc'); mv = memoryview(ba)",
        "mv[0] == 97 and mv.obj is ba", "True"),
    "views of a dictionary": (
        "vd = {'a': 1}; vk = vd.keys()", "vd.update(b=2) or list(vk)", "['a', 'b']"),
    "a mapping proxy": (
        "import types\nmp0 = {'a': 1}; mp = types.MappingProxyType(mp0)",
        "mp0.update(b=2) or dict(mp)", "{'a': 1, 'b': 2}"),
    "a pattern": ("import re\npattern = re.compile('a+')", "pattern.findall('caab')", "['aa']"),
    "weak references": (
        "import weakref\nclass W: pass\nw_strong = W(); w_ref = weakref.ref(w_strong)\n"
        "w_map = weakref.WeakValueDictionary(k=w_strong)",
        "w_ref() is w_strong and w_map['k'] is w_strong", "True"),
    "the namespace itself": ("mine = [globals()]", "mine[0] is globals()", "True"),
    "the module itself": ("import sys\nmain = [sys.modules['__main__']]",
                          "main[0].__dict__ is globals()", "True"),
    "a module made by hand": (
        "handmade = types.ModuleType('handmade'); handmade.x = 3", "handmade.x", "3"),
    # functions
    "a function and its global": (
        "scale = 2\ndef scaled(v): return v * scale", "globals().update(scale=10) or scaled(3)",
        "30"),
    "a lambda and its global": (
        "shift = 1\nshifted = lambda v: v + shift", "globals().update(shift=7) or shifted(1)",
        "8"),
    "a global made later": (
        "def later(): return made_later", "globals().update(made_later=5) or later()", "5"),
    "defaults, annotations, attributes": (
        "def full(a, b=[1], *c, d: int = 3, **e) -> str:\n    'doc'\n    return a\n"
        "full.mark = 'm'",
        "full.__defaults__, full.__kwdefaults__, full.mark, full.__doc__, full.__annotations__",
        "(([1],), {'d': 3}, 'm', 'doc', {'d': int, 'return': str})"),
    "a default that is shared": (
        "seen = []\ndef see(v, into=seen):\n    into.append(v)",
        "see(4) or seen", "[4]"),
    "closures over one variable": (
        "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
        "    return up, lambda: n\nup, count = counter(); up()",
        "up() or count()", "2"),
    "recursion": ("def fact(n): return n * fact(n - 1) if n else 1", "fact(5)", "120"),
    "recursion within a function": (
        "def outer():\n    def odd(n): return n and even(n - 1)\n"
        "    def even(n): return not n or odd(n - 1)\n    return even\nis_even = outer()",
        "is_even(10), is_even(7)", "(True, 0)"),
    "a decorator": (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(*a):\n"
        "        return f(*a) * 2\n    return inner\n@twice\ndef one_more(v): return v + 1",
        "one_more(1), one_more.__wrapped__(1), one_more.__name__", "(4, 2, 'one_more')"),
    "a cache": (
        "@functools.lru_cache(maxsize=5)\ndef cached(v): return v * 2\ncached(1)",
        "cached(4), cached.cache_info().maxsize", "(8, 5)"),
    "partial": ("part = functools.partial(scaled, 2)", "part.func is scaled", "True"),
    "single dispatch": (
        "@functools.singledispatch\ndef kind_of(v): return 'any'\n"
        "@kind_of.register(int)\ndef _(v): return 'int'",
        "kind_of(1), kind_of('')", "('int', 'any')"),
    "a generator function": ("def gen():\n    yield 1\n    yield 2", "list(gen())", "[1, 2]"),
    "an async function": (
        "import asyncio\nasync def co(): return 9", "asyncio.run(co())", "9"),
    "a context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef managed():\n    yield 'in'",
        "managed().__enter__()", "'in'"),
    "a function in a list": ("table = [scaled, {'f': scaled}]",
                             "table[0] is scaled and table[1]['f'] is scaled", "True"),
    "two names of one function": ("alias = scaled", "alias is scaled", "True"),
    "a function under another name": (
        "def temporary(): return 'kept'\nrenamed = temporary\ndel temporary", "renamed()",
        "'kept'"),
    "a function on its own globals": (
        "own = {}\nexec('y = 5\\ndef g(): return h() + y\\ndef h(): return 1', own)\ng = own['g']",
        "g()", "6"),
    "a bound method": (
        "class Acc:\n    total = 0\n    def add(self, v):\n        self.total += v\n"
        "        return self.total\nacc = Acc(); add = acc.add",
        "add(3), acc.total, add.__self__ is acc", "(3, 3, True)"),
    "a method taken from a class": ("taken = Acc.add", "taken is Acc.add", "True"),
    "built-in functions": (
        "from math import sqrt as root\nbuilt = [len, root]; app = a1.append",
        "root(9), built[0] is len, app.__self__ is a1", "(3.0, True, True)"),
    # classes
    "a class and its instances": (
        "class P:\n    made = []\n    def __init__(self, x):\n        self.x = x\n"
        "        P.made.append(self)\np1 = P(1); p2 = P(2)",
        "type(p1) is P and P.made[0] is p1 and P.made[1] is p2 and isinstance(P(3), P)", "True"),
    "instances in containers": ("many = [P(i) for i in range(3)]",
                                "all(type(p) is P for p in many)", "True"),
    "inheritance and super": (
        "class Base:\n    def hi(self): return 'base'\nclass Sub(Base):\n"
        "    def hi(self): return super().hi() + '+sub'\nsub = Sub()",
        "sub.hi(), isinstance(sub, Base), Sub.__mro__[1] is Base", "('base+sub', True, True)"),
    "properties and such": (
        "class Props:\n    _v = 1\n    @property\n    def v(self): return self._v\n"
        "    @v.setter\n    def v(self, n): self._v = n\n    @classmethod\n"
        "    def make(cls): return cls()\n    @staticmethod\n    def two(): return 2\n"
        "    @functools.cached_property\n    def once(self): return [3]\n"
        "props = Props(); props.v = 5",
        "props.v, type(Props.make()) is Props, Props.two(), props.once is props.once",
        "(5, True, 2, True)"),
    "a dataclass": (
        "import dataclasses\n@dataclasses.dataclass(order=True)\nclass Data:\n    a: int\n"
        "    b: list = dataclasses.field(default_factory=list)\n    c: str = 'c'\n"
        "data = Data(1, [2])",
        "data, Data(2) > data, [f.name for f in dataclasses.fields(Data)], "
        "dataclasses.asdict(data)",
        "(Data(a=1, b=[2], c='c'), True, ['a', 'b', 'c'], {'a': 1, 'b': [2], 'c': 'c'})"),
    "a frozen dataclass": (
        "@dataclasses.dataclass(frozen=True)\nclass Frozen:\n    a: int = 0\n"
        "frozen = {Frozen(1): 2}",
        "frozen[Frozen(1)]", "2"),
    "an enumeration": (
        "import enum\nclass Color(enum.Enum):\n    RED = 1\n    BLUE = 'b'\n    CRIMSON = 1\n"
        "    def low(self): return self.name.lower()\nred = Color.RED",
        "red is Color.RED is Color(1) is Color.CRIMSON, list(Color), red.low()",
        "(True, [<Color.RED: 1>, <Color.BLUE: 'b'>], 'red')"),
    "an enumeration with arguments": (
        "class Planet(enum.Enum):\n    EARTH = (5.9, 6.3)\n    def __init__(self, m, r):\n"
        "        self.m = m\n        self.r = r\n    @property\n"
        "    def d(self): return self.m / self.r",
        "Planet.EARTH.m, Planet.EARTH.value, round(Planet.EARTH.d, 2)", "(5.9, (5.9, 6.3), 0.94)"),
    "flags": (
        "class Perm(enum.IntFlag):\n    R = 4\n    W = 2\nrw = Perm.R | Perm.W",
        "rw == 6 and Perm.R in rw and isinstance(rw, Perm)", "True"),
    "a named tuple": (
        "N = collections.namedtuple('N', 'u v', defaults=[5])\nn = N(1)",
        "n, n.v, type(n) is N, n._replace(u=3)", "(N(u=1, v=5), 5, True, N(u=3, v=5))"),
    "a typed named tuple": (
        "import typing\nclass T(typing.NamedTuple):\n    a: int\n    b: str = 'x'\nt = T(1)",
        "t, t._asdict()", "(T(a=1, b='x'), {'a': 1, 'b': 'x'})"),
    "a typed dictionary": ("class TD(typing.TypedDict):\n    a: int\ntd: TD = {'a': 1}",
                           "td, TD(a=2)", "({'a': 1}, {'a': 2})"),
    "generics": (
        "V = typing.TypeVar('V')\nclass Stack(typing.Generic[V]):\n"
        "    def __init__(self): self.items: typing.List[V] = []\nstack = Stack[int]()",
        "type(stack) is Stack, Stack[str].__args__, Stack.__parameters__ == (V,)",
        "(True, (str,), True)"),
    "a protocol": (
        "@typing.runtime_checkable\nclass Quacks(typing.Protocol):\n    def quack(self): ...\n"
        "class Duck:\n    def quack(self): return 1",
        "isinstance(Duck(), Quacks), isinstance(1, Quacks)", "(True, False)"),
    "an abstract class": (
        "import abc\nclass Shape(abc.ABC):\n    @abc.abstractmethod\n    def area(self): ...\n"
        "class Square(Shape):\n    def area(self): return 4\n@Shape.register\nclass Odd: pass",
        "Square().area(), isinstance(Odd(), Shape), Shape.__abstractmethods__",
        "(4, True, frozenset({'area'}))"),
    "a metaclass": (
        "class Meta(type):\n    def shout(cls): return cls.__name__.upper()\n"
        "class Quiet(metaclass=Meta): pass",
        "Quiet.shout(), type(Quiet) is Meta", "('QUIET', True)"),
    "subclasses are registered once": (
        "class Plugin:\n    known = []\n    def __init_subclass__(cls): Plugin.known.append(cls)\n"
        "class Mine(Plugin): pass",
        "Plugin.known == [Mine]", "True"),
    "a class with arguments": (
        "class Args:\n    def __init_subclass__(cls, *, tag): cls.tag = tag\n"
        "class Tagged(Args, tag='t'): pass\ntagged = Tagged()",
        "Tagged.tag, type(tagged) is Tagged", "('t', True)"),
    "an exception": (
        "class Oops(Exception):\n    def __init__(self, code):\n        super().__init__(code)\n"
        "        self.code = code\noops = Oops(3)",
        "oops.code, isinstance(oops, Oops), oops.args", "(3, True, (3,))"),
    "containers of one's own": (
        "class L(list): pass\nclass D(dict):\n    def __missing__(self, k): return k\n"
        "ll = L([1]); ll.note = 'n'; dm = D(a=1)",
        "ll, ll.note, type(ll) is L, dm['q']", "([1], 'n', True, 'q')"),
    "a nested class": (
        "class Out:\n    class In:\n        v = 1\nnested = Out.In()",
        "type(nested) is Out.In", "True"),
    "a local class": (
        "def local():\n    class Local:\n        pass\n    return Local()\nloc1 = local()\n"
        "loc2 = type(loc1)()",
        "type(loc1) is type(loc2), type(loc1).__name__", "(True, 'Local')"),
    "a class changed later": ("class Late: pass\nLate.extra = lambda self: 'e'", "Late().extra()",
                              "'e'"),
    "classes that know each other": (
        "class Ping: pass\nclass Pong: pass\nPing.other = Pong; Pong.other = Ping\nping = Ping()",
        "ping.other.other is Ping", "True"),
    "an instance that pickles itself": (
        "class Self:\n    def __init__(self, v): self.v = v\n"
        "    def __getstate__(self): return [self.v]\n"
        "    def __setstate__(self, s): self.v = s[0] * 2\nself_ = Self(4)",
        "self_.v", "8"),
    "an instance that reduces itself": (
        "class Red:\n    def __init__(self, v): self.v = v\n"
        "    def __reduce__(self): return (Red, (self.v + 1,))\nreduced = Red(1)",
        "reduced.v, type(reduced) is Red", "(2, True)"),
    # iterators that pickle knows
    "texts in memory": ("import io\nsio = io.StringIO('ab\\ncd'); sio.readline()",
                        "sio.read()", "'cd'"),
    # imports
    "imports": (
        "import os.path as osp, json\nfrom collections import OrderedDict as OD",
        "osp.basename('a/b'), json.dumps(1), OD is collections.OrderedDict", "('b', '1', True)"),
    "what was shown": (
        "from IPython.display import HTML, DisplayHandle, clear_output\n"
        "handle = display(1, display_id='k'); page = HTML('<b>')",
        "handle.update(2) or (handle.display_id, page.data, type(page) is HTML)",
        "('k', '<b>', True)"),
    "private names": ("_private = [1]; __dunder__ = 2", "_private, __dunder__", "([1], 2)"),
    "annotations of variables": ("counted: int = 1", "counted", "1"),
}


@pytest.fixture(scope="module")
def restored(python: str, image: pathlib.Path) -> Iterator[Peer]:
    first = Peer.start(python, driver=image / "python")
    for name, (code, _, _) in CASES.items():
        answer = first.run(code)
        assert answer.status == "ok", (name, answer)
    stream = stream_of(first)
    assert stream_of(first) == stream  # nothing has changed, and nothing in it has
    first.close()
    assert [one.header for one in records_of(stream) if one.header["rec"] == "lost"] == []
    second = Peer.start(python, driver=image / "python")
    answer = load(second, stream)
    assert answer["lost"] == [] and answer["message"] is None
    assert stream_of(second)  # what was restored can be saved again
    yield second
    second.close()


@pytest.mark.parametrize("name", CASES)
def test_comes_back(restored: Peer, name: str) -> None:
    _, question, wanted = CASES[name]
    assert restored.value(question) == wanted
