"""DRIVER SEED: random values as IPython.lib.pretty and as the driver lays them out. Says `same`, or
shows the first that differs."""

import collections
import datetime
import decimal
import enum
import fractions
import os
import random
import re
import sys
import types

import IPython.lib.pretty as theirs

sys.path.insert(0, sys.argv[1])
import boot  # noqa: E402

ours = boot.load().pretty
r = random.Random(int(sys.argv[2]))
COUNT = 400


class Plain:
    pass


class Multi:
    def __repr__(self):
        return "Multi(\n  a\n  b)"


class MyList(list):
    pass


class MyDict(dict):
    def __repr__(self):
        return "MyDict"


class Meta(type):
    def __repr__(cls):
        return "<meta>"


class Odd(metaclass=Meta):
    pass


class Protocol:
    def __init__(self, inner):
        self.inner = inner

    def _repr_pretty_(self, p, cycle):
        if cycle:
            return p.text("Protocol(...)")
        with p.group(4, "Protocol(", ")"):
            for i, item in enumerate(self.inner):
                if i:
                    p.text(",")
                    p.breakable()
                p.pretty(item)
            with p.indent(2):
                p.break_()
                p.text("end")


class Colour(enum.Enum):
    RED = 1


class Fail(Exception):
    pass


def function(a, b=[1, 2], *c, d: int = 5, **e):
    pass


Point = collections.namedtuple("Point", "x y")
plain = Plain()
cycle = [1]
cycle += [cycle, {"a": cycle}]
try:
    import numpy

    arrays = [numpy.arange(30).reshape(5, 6), numpy.zeros(200), numpy.float64(1.5)]
except ImportError:
    arrays = []

FIXED = [
    None, True, ..., 1j, "a\nb\u2028c", decimal.Decimal("1.50"), fractions.Fraction(1, 3),
    datetime.datetime(2020, 1, 2), datetime.date(2020, 1, 2), plain, Multi(), Plain, int, Odd,
    Colour.RED, Colour, function, len, print, plain.__init__, [].append, lambda x: x, range(5),
    re.compile("a\\d'+", re.I | re.M), re.compile(b"x"), slice(1, 2), os.path, ValueError("x", 5),
    Fail("long" * 9), cycle, MyDict(a=1), bytearray(b"ab"), memoryview, type, object(),
    super(MyList, MyList()).__init__, *arrays,
]  # fmt: skip


def leaf():
    kind = r.randrange(10)
    if kind == 0:
        return r.randrange(-10, 10 ** r.randrange(1, 25))
    if kind == 1:
        return r.random()
    if kind == 2:
        return r.choice("abc") * r.randrange(90)
    if kind == 3:
        return b"\x00" * r.randrange(20)
    if kind == 4:
        return Point(1, "y" * r.randrange(70))
    return r.choice(FIXED)


def make(depth):
    if depth == 0 or r.random() < 0.3:
        return leaf()
    n = r.choice([0, 1, 2, 3, 5, 12, 30])
    many = [make(depth - 1) for _ in range(n)]
    keys = [r.choice([1, 2.5, "k", "key" * 9, ("t", 1), None, b"b", True]) for _ in range(n)]
    pairs = dict(zip(keys, many))
    return r.choice(
        [
            lambda: many,
            lambda: tuple(many),
            lambda: pairs,
            lambda: many,
            lambda: pairs,
            lambda: set(keys),
            lambda: frozenset(r.randrange(10**6) for _ in range(n)),
            lambda: collections.OrderedDict(pairs),
            lambda: collections.deque(many, r.choice([None, 40])),
            lambda: collections.defaultdict(r.choice([list, None]), pairs),
            lambda: collections.Counter("abracadabra" * n),
            lambda: MyList(many),
            lambda: collections.UserList(many),
            lambda: Protocol(many),
            lambda: types.SimpleNamespace(a=many, b=1),
            lambda: types.MappingProxyType(pairs),
            lambda: Fail(*many[:3]),
        ]
    )()


def edges():
    for n in (26, 27, 28, 29, 999, 1000, 1001, 5000):
        yield from (list(range(n)), set(range(n)), dict.fromkeys(range(n)))
    for n in range(60, 90):
        yield from (["x" * n, 1], ("x" * n,), {"x" * n: "y"}, [("x" * n, 1)])
    for n in range(10, 60, 7):
        yield {"k": {"a" * n: ["b" * n] * 3}}
    yield [["y" * 30, "z" * 30, n] for n in range(4)]
    yield from ([], (), {}, set(), [set()], [frozenset()], set("abc") | {1, None}, "x" * 500)
    yield from (cycle, [cycle], os.environ, BaseException(), [plain])
    yield Protocol([1, Protocol(["x" * 70])])
    yield from FIXED


for value in [*edges(), *(make(r.randrange(1, 5)) for _ in range(COUNT))]:
    expected = theirs.pretty(value)
    got = ours.text_of(value, 1 << 24)[0]
    if got != expected:
        print("different:", repr(value)[:500], expected[:3000], "---", got[:3000], sep="\n")
        break
else:
    print("same")
