"""DRIVER: objects of all kinds as IPython's formatters and as the driver give them, with all the
forms that are text. Says `same` and how many, or shows those that differ."""

import json
import re
import sys
import warnings

from IPython.core.formatters import DisplayFormatter

sys.path.insert(0, sys.argv[1])
import boot  # noqa: E402

driver = boot.load()
driver.tables.install()
warnings.simplefilter("ignore")

START = """
import array, ast, collections, ctypes, dataclasses, datetime, decimal, enum, fractions, functools
import inspect, io, ipaddress, itertools, math, operator, pathlib, random, re, string, sys, types
import typing, uuid
from IPython.display import *
@dataclasses.dataclass
class Point:
    x: int
    y: list
class Colour(enum.Enum):
    RED = 1
class Flag(enum.Flag):
    A = 1
    B = 2
class Pair(typing.NamedTuple):
    left: int
    right: str = "r"
class Own:
    def _repr_pretty_(self, p, cycle): p.text("own text")
class Both:
    def __repr__(self): return "both"
    def _repr_html_(self): return "<b>both</b>"
    def _repr_latex_(self): return "$both$"
class Whole:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "whole", "text/html": "<i>whole</i>", "application/x+json": {"a": 1}}
class Long:
    def __repr__(self): return "x" * 200
class Slots:
    __slots__ = ("a",)
class Meta(type):
    def __repr__(cls): return "<a class of its own>"
class Made(metaclass=Meta): pass
class Words(str): pass
class Numbers(list): pass
loop = [1]; loop.append(loop)
ring = {}; ring["ring"] = ring
def function(a, b=1, *c, d: int = 2, **e) -> None: pass
"""
LIBRARIES = {
    "numpy": "import numpy as np",
    "pandas": "import pandas as pd, numpy as np",
    "sympy": "import sympy; x = sympy.Symbol('x')",
    "sklearn": "from sklearn.linear_model import LinearRegression",
    "statsmodels": "import statsmodels.api as sm",
}

# An expression on each line; those of a library behind its name.
PLAIN = r"""
decimal.Decimal("1.50")
[decimal.Decimal("NaN"), decimal.Decimal("1E+5"), -decimal.Decimal(0)]
fractions.Fraction(1, 3)
{"a": [1, (2, {3: {4}})], "b": {"c": [None, True, ...]}}
list(range(2000))
tuple(range(3)), (1,), ()
set(range(50)), {"b", "a"}, frozenset({2, 1}), set(), frozenset()
{(1, 2): "t", None: 1, 2.5: 2, b"b": 3, True: 4, "k": frozenset()}
{n: str(n) * 9 for n in range(30)}
["x" * 40, "y" * 40]
["line\nline"] * 3
"a 'quoted' \"text\" \\ \n \t \x00 \x7f é 日本語 😀 \u200b \ud800"
b"\x00\xff'\"", bytearray(b"ab"), memoryview(b"x").tolist()
1 + 2j, -0.0, 1e300 * 1e10, float("nan"), 1e-7, 0.1 + 0.2
10 ** 100, -(2 ** 64), True, None, ..., NotImplemented
datetime.datetime(2020, 1, 2, 3, 4, 5, 6), datetime.date(2020, 1, 2), datetime.timedelta(1, 2, 3)
datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc), datetime.timezone.utc
Colour.RED, Colour, list(Colour), Flag.A | Flag.B
Point(1, [1, 2] * 30)
[Point(1, [2])] * 3
Pair(1), [Pair(1, "x" * 70)] * 2
collections.namedtuple("P", "x y")(1, [2] * 40)
collections.OrderedDict(a=1, b=[2]), collections.OrderedDict()
collections.Counter("abracadabra"), collections.deque([1, 2], maxlen=5)
collections.deque(range(40))
collections.defaultdict(list, a=[1]), collections.ChainMap({"a": 1}, {"b": 2})
collections.UserDict(a=1), collections.UserList([1]), collections.UserString("u")
types.SimpleNamespace(a=1, b=[2] * 50), types.MappingProxyType({"a": 1})
ValueError("x", 5), KeyError("k"), [OSError(2, "no")], Exception()
type(None), int, Colour, Point, dict[str, int], typing.Optional[int], int | None
function, len, "".join, [].append, str.upper, lambda a: a, functools.partial(int, base=2)
range(3), slice(1, 2), enumerate([]).__class__, {}.keys(), {1: 2}.items(), {1: 2}.values()
re.compile("a\\d'+", re.I | re.M), re.match("a", "abc")
pathlib.PurePosixPath("/a/b"), uuid.UUID(int=5), ipaddress.ip_network("10.0.0.0/8")
array.array("d", [1.5, 2]), ctypes.c_int(5).value, ast.parse("1").__class__
inspect.signature(function), inspect.Parameter.empty
string.Template("$a").__class__, io.StringIO.__name__, math, sys.__class__
itertools.count(5), operator.itemgetter(1), random.Random.__mro__
loop, [loop], ring
Own(), [Own(), Own()], {"o": Own()}
Both()
[Both()]
Whole()
Long(), [Long()], {"l": Long()}
Made, [Made], Words("w"), Numbers([1, 2]), [Numbers([1])]
[[n] * 30 for n in range(3)]
[{"name": "n" * 20, "values": list(range(20)), "more": {"a": None}}] * 2
{"k" * 90: "v" * 90}
[(("a" * 30, "b" * 30), ("c" * 30,))] * 2
Markdown("**m**")
HTML("<b>h</b>")
Latex("$x$")
Math("x^2")
JSON({"a": [1]})
SVG('<svg xmlns="http://www.w3.org/2000/svg"></svg>')
Javascript("f()")
Pretty("pretty")
Code("x = 1", language="python")
IFrame("http://x", 1, 2)
Audio(b"RIFF")
Video("http://x/y.mp4")
FileLink("nowhere")
Image(url="http://x/y.png")
"""
MORE = {
    "numpy": r"""
np.arange(5)
np.arange(10000)
np.arange(12).reshape(3, 4) / 7
np.zeros((2, 2, 2)), np.eye(2, dtype=bool), np.array([])
np.float64(1.5), np.float32(0.1), np.int8(3), np.bool_(True), np.complex64(1j), np.nan
np.array(["a", "bb"]), np.array([b"x"]), np.array([None, 1], dtype=object)
np.zeros(2, dtype=[("a", "i4"), ("b", "f8", 2)])
np.ma.masked_array([1, 2], [0, 1])
np.array(["2020-01-01"], dtype="M8[D]"), np.timedelta64(5, "s")
[np.arange(3), np.arange(3)]
{"a": np.eye(3), "b": [np.float64(2)]}
np.dtype("f8"), np.float64, np.random.default_rng(1).__class__
np.set_printoptions(precision=3, suppress=True), np.array([1e-9, 1.23456])
np.matrix([[1, 2]]), np.poly1d([1, 2]), np.arange(3).view(np.recarray)
""",
    "pandas": r"""
pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, np.nan]})
pd.DataFrame(np.arange(600).reshape(20, 30) * 10**6)
pd.DataFrame(np.zeros((100, 3)))
pd.DataFrame()
pd.DataFrame({"t": ["<b>&" * 30]})
pd.DataFrame(np.eye(4), index=pd.MultiIndex.from_product([[1, 2], ["a", "b"]]))
pd.DataFrame({"a": [1, 2]}).groupby("a").__class__, pd.DataFrame({"a": [1]}).T
pd.DataFrame({"a": [1, 2, 3]}, index=pd.date_range("2020", periods=3)).describe()
pd.Series([1.5, None], name="s")
pd.Series(range(100))
pd.Series(["x" * 100] * 3, index=list("abc"), dtype="category")
pd.Index([1, 2]), pd.date_range("2020", periods=3), pd.RangeIndex(5)
pd.Timestamp("2020-01-01"), pd.Timedelta("1d"), pd.NaT, pd.NA, pd.Interval(0, 1), pd.Period("2020")
pd.Categorical([f"category {n}" for n in range(40)])
[pd.Series([1]), pd.DataFrame({"a": [1]})]
pd.DataFrame({"a": [1]}).dtypes, pd.array([1, None])
""",
    "sympy": r"""
x
sympy.Integral(sympy.sqrt(1 / x), x)
sympy.Matrix([[1, x], [x, 2]])
[x, x ** 2]
{x: sympy.Rational(1, 3)}
sympy.pi, sympy.oo, sympy.Integer(5)
""",
    "sklearn": r"""
LinearRegression()
[LinearRegression(fit_intercept=False)]
""",
    "statsmodels": r"""
sm.OLS([1, 2, 3.5, 4], [[1, 1], [1, 2], [1, 3], [1, 4]]).fit().summary().tables[1]
sm.OLS([1, 2, 3.5, 4], [[1, 1], [1, 2], [1, 3], [1, 4]]).fit().params
""",
}
MEMBERS = {"html": "text/html", "svg": "image/svg+xml", "json": "application/json"}


def expressions():
    yield {}, PLAIN
    for name, setup in LIBRARIES.items():
        names = {}
        try:
            exec(setup, names)
        except ImportError:
            continue
        yield names, MORE[name]


def ours_of(obj):
    output = json.loads(driver.outputs.value_of(obj))
    found = dict(output.get("mime", {}))
    kind = output["type"]
    if kind in ("markdown", "latex"):
        found[f"text/{kind}"] = output["text"]
    else:
        found["text/plain"] = output.get("text", "")
    found.update((mime, output[name]) for name, mime in MEMBERS.items() if output.get(name))
    return found


def theirs_of(obj):
    found = DisplayFormatter().format(obj)[0]
    return {mime: data for mime, data in found.items() if isinstance(data, (str, dict, list))}


def settled(forms):
    """scikit-learn counts what it shows."""
    return re.sub(r"sk-(container|estimator)-id-\d+", "id", json.dumps(forms, sort_keys=True))


def main():
    count, wrong = 0, []
    namespace = {"__name__": "__main__"}
    exec(START, namespace)
    for names, lines in expressions():
        namespace.update(names)
        for line in lines.strip().splitlines():
            obj = eval(line, namespace)
            ours, theirs = ours_of(obj), theirs_of(obj)
            count += 1
            if settled(ours) != settled(theirs):
                wrong.append(f"{line}\n  IPython {theirs}\n  Cella   {ours}"[:3000])
    print("\n".join(wrong) if wrong else f"same {count}")


main()
