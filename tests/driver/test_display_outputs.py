"""Typed outputs by IPython's protocols, display() with its handles, and IPython.display itself: the
real one where the interpreter has it, else the session's own names."""

from __future__ import annotations

import base64
from typing import Any, Dict

import pytest
from peer import Peer

PNG = (
    "import binascii, struct, zlib\n"
    "def chunk(kind, data):\n"
    "    crc = struct.pack('>I', binascii.crc32(kind + data))\n"
    "    return struct.pack('>I', len(data)) + kind + data + crc\n"
    "png = (b'\\x89PNG\\r\\n\\x1a\\n'\n"
    "       + chunk(b'IHDR', struct.pack('>IIBBBBB', 3, 2, 8, 0, 0, 0, 0))\n"
    "       + chunk(b'IDAT', zlib.compress(bytes(8))) + chunk(b'IEND', b''))\n"
    "jpeg = bytes.fromhex('ffd8ffe000104a46494600010100000100010000ffc0000b080005000701011100')\n"
    "gif = b'GIF89a' + bytes([9, 0, 4, 0]) + bytes(20)\n"
)


def shown(peer: Peer, body: str, tail: str = "X()") -> Dict[str, Any]:
    """The value of an object with these methods."""
    code = f"class X:\n    def __repr__(self): return 'X!'\n    {body}\n{tail}"
    answer = peer.run(code)
    assert answer.status == "ok", answer
    assert answer.value is not None, answer
    return answer.value


def test_methods_by_precedence(shared: Peer) -> None:
    methods = [
        ("html", "html", "html"), ("markdown", "markdown", "text"), ("latex", "latex", "text"),
        ("svg", "svg", "svg"),
    ]  # fmt: skip
    for at, (method, kind, member) in enumerate(methods):
        body = "; ".join(f"_repr_{name}_ = lambda self: '{name}'" for name, _, _ in methods[at:])
        value = shown(shared, body)
        assert value["type"] == kind and method in value[member]
        assert member == "text" or value["text"] == "X!"
    assert shown(shared, "def _repr_html_(self): return ('x', {'meta': 1})")["html"] == "x"
    assert shown(shared, "def _repr_html_(self): return None") == {"type": "text", "text": "X!"}
    assert shown(shared, "def _repr_html_(self): return 'x' * (5 << 20)")["type"] == "text"


def test_images(shared: Peer) -> None:
    shared.run(PNG)
    value = shown(shared, "def _repr_png_(self): return png")
    assert (value["type"], value["format"]) == ("image", "png")
    assert (value["width"], value["height"], value["text"]) == (3, 2, "X!")
    value = shown(shared, "def _repr_jpeg_(self): return jpeg")
    assert (value["format"], value["width"], value["height"]) == ("jpeg", 7, 5)
    bundle = "def _repr_mimebundle_(self, **k): return {'image/gif': gif, 'text/plain': 'moves'}"
    value = shown(shared, bundle)
    assert (value["format"], value["width"], value["text"]) == ("gif", 9, "moves")
    encoded = "def _repr_png_(self): return binascii.b2a_base64(png).decode()"
    assert shown(shared, encoded)["width"] == 3
    for odd in ("b'no image'", "'%%%'", "5", "b''", "png[:18]"):
        assert shown(shared, f"def _repr_png_(self): return {odd}")["type"] in ("text", "image")
    assert shown(shared, "def _repr_jpeg_(self): return b'\\xff\\xd8\\xff' * 9")["type"] == "image"


def test_bundles(shared: Peer) -> None:
    both = "def _repr_mimebundle_(self, include=None, exclude=None): return {}".format
    value = shown(shared, both("{'text/html': '<b>', 'text/plain': 'own'}"))
    assert value == {"type": "html", "html": "<b>", "text": "own"}
    value = shown(shared, both("({'application/json': {'a': 1}}, {})"))
    assert value == {"type": "json", "json": {"a": 1}, "text": "X!"}
    odd = {"type": "text", "text": "X!", "mime": {"application/x-odd": "x"}}
    assert shown(shared, both("{'application/x-odd': 'x'}")) == odd
    assert shown(shared, both("{'text/html': 5}")) == {"type": "text", "text": "X!"}
    assert shown(shared, both("5")) == {"type": "text", "text": "X!"}


def test_other_forms_go_along(shared: Peer) -> None:
    bundle = "def _repr_mimebundle_(self, **k): return {}".format
    chart = "{'application/vnd.vega.v5+json': {'mark': 'bar', 'd': [1, None]}, 'text/plain': 'c'}"
    value = shown(shared, bundle(chart))
    vega = {"application/vnd.vega.v5+json": {"mark": "bar", "d": [1, None]}}
    assert value == {"type": "text", "text": "c", "mime": vega}
    value = shown(shared, bundle("{'text/html': '<b>', 'text/latex': '$b$', 'image/png': b'p'}"))
    assert value["mime"] == {"text/latex": "$b$", "image/png": "cA=="} and value["text"] == "X!"
    value = shown(shared, "def _repr_latex_(self): return '$x$'")
    assert value == {"type": "latex", "text": "$x$", "mime": {"text/plain": "X!"}}
    shared.run("formula = X()")
    only = shared.run("display(formula, include=['text/latex'])").events
    assert only == [{"type": "latex", "text": "$x$"}]
    raw = shared.run("display({'text/markdown': '*a*', 'text/plain': 'a'}, raw=True)").events
    assert raw == [{"type": "markdown", "text": "*a*", "mime": {"text/plain": "a"}}]


def test_other_forms_are_bounded(shared: Peer) -> None:
    bundle = "def _repr_mimebundle_(self, **k): return {}".format
    many = shown(shared, bundle("{f'a/{i}': 'x' for i in range(1000)}"))["mime"]
    assert len(many) == 32
    large = "{'a/b': 'x' * (2 << 20), 'a/c': 'y', 'd/e+json': {'f': float('nan')}}"
    assert shown(shared, bundle(large))["mime"] == {"a/c": "y"}
    for odd in ("{'a/b': 5}", "{'a/b': object()}", "{5: 'x'}", "{'a+json': {1: 2}}", "{'a/b': ()}"):
        assert shown(shared, bundle(odd)) == {"type": "text", "text": "X!"}


def test_what_other_methods_say_goes_along(shared: Peer) -> None:
    """As far as it is text: a notebook has what it would have in Jupyter."""
    methods = (
        "_repr_html_ = lambda self: '<b>'; _repr_latex_ = lambda self: ('$', {})\n"
        "    _repr_markdown_ = lambda self: 1/0; _repr_json_ = lambda self: {'a': object()}\n"
        "    _repr_png_ = lambda self: print('asked')"
    )
    value = shown(shared, methods)
    assert value == {"type": "html", "html": "<b>", "text": "X!", "mime": {"text/latex": "$"}}
    only = shared.run("display(X(), include=['text/html'])")
    assert only.displays == [{"type": "html", "html": "<b>", "text": "X!"}] and not only.stdout


def test_a_bundle_without_text_gets_none(shared: Peer) -> None:
    raw = "display({}, raw=True)".format
    html = [{"type": "html", "html": "<b>"}]
    assert shared.run(raw("{'text/html': '<b>'}")).displays == html
    only = {"type": "text", "text": "{'a/b': 'c'}", "mime": {"a/b": "c"}}
    assert shared.run(raw("{'a/b': 'c'}")).displays == [only]


def test_functions_registered_for_types(fresh: Peer) -> None:
    fresh.run(
        "class A: pass\nclass B(A):\n    def _repr_html_(self): return 'own'\n"
        "of = get_ipython().display_formatter.formatters\n"
        "of['text/html'].for_type(A, lambda a: f'<b>{type(a).__name__}</b>')"
    )
    assert fresh.run("B()").value["html"] == "<b>B</b>"
    assert fresh.value("[B() in [1], 1]") == "[False, 1]"
    assert fresh.run("of['text/html'].pop(A); B()").value["html"] == "own"
    fresh.run("of['text/plain'].for_type(int, lambda n, p, cycle: p.text(f'#{n}'))")
    assert fresh.value("5") == "#5" and fresh.value("{1: [2, 'a']}") == "{#1: [#2, 'a']}"
    assert fresh.value("True, 'x'") == "(True, 'x')"
    fresh.run("of['text/plain'].for_type(int, lambda n, p, cycle: 1/0)")
    assert "ZeroDivisionError" in fresh.value("[5]") and "ZeroDivisionError" in fresh.value("5")
    fresh.run("of['text/plain'].pop(int)")
    assert fresh.value("[5]") == "[5]"
    named = "of['text/html'].for_type_by_name('late', 'Late', lambda one: 'late')\n"
    late = "class Late: pass\nLate.__module__ = 'late'\nLate()"
    assert fresh.run(named + late).value["html"] == "late"
    assert fresh.value("of['text/html'].for_type('late.Late')") != "None"
    answer = fresh.run("of['text/html'].pop(str)")
    assert answer.status == "error" and "KeyError" in answer.traceback
    form = "get_ipython().display_formatter.format(Late())[0]['text/html']"
    assert fresh.value(form) == "'late'"


def test_precision(fresh: Peer) -> None:
    assert fresh.value("%precision 3") == "'%.3f'"
    assert fresh.value("3.14159") == "3.142" and fresh.value("[1/3, 2]") == "[0.333, 2]"
    assert fresh.value("%precision %.2e\n0.5") == "5.00e-01"
    assert fresh.run("%precision %d %d").status == "error"
    assert fresh.run("%precision long").status == "error"
    assert fresh.value("0.5") == "5.00e-01"
    assert fresh.value("%precision\n1/4, 0.1") == "(0.25, 0.1)"


# From now on an IPython that is installed is not found, only what the driver has in its place.
HIDE_IPYTHON = """
import sys
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        hides = name.partition(".")[0] == "IPython"
        return None if hides else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Hiding(finder) if getattr(finder, "__name__", "") == "PathFinder" else finder
                    for finder in sys.meta_path]
for name in [name for name in sys.modules if name.partition(".")[0] == "IPython"]:
    del sys.modules[name]
"""


@pytest.mark.sampled
@pytest.mark.parametrize("has_ipython", [True, False], ids=["ipython", "alone"])
def test_sympy_prints_as_it_is_told(fresh: Peer, has_ipython: bool) -> None:
    if not has_ipython:
        assert fresh.run(HIDE_IPYTHON).status == "ok"
        assert fresh.value("import IPython\nIPython.is_shim") == "True"
    if fresh.run("import sympy").status != "ok":
        pytest.skip("no sympy in this interpreter")
    assert fresh.run("sympy.init_printing()\nx = sympy.Symbol('x')").status == "ok"
    value = fresh.run("x**2").value
    assert (value["type"], value["text"]) == ("latex", "$\\displaystyle x^{2}$")
    assert value["mime"]["text/plain"] == " 2\nx "
    assert fresh.run("[x, x]").value["type"] == "latex"
    assert fresh.value("[1, 'a', None]") == "[1, 'a', None]"
    assert fresh.value("sympy.init_printing(use_latex=False)\nsympy.sqrt(x)") == "√x"
    assert fresh.value("sympy.init_printing(pretty_print=False)\nx**2") == "x**2"


def test_get_ipython_as_libraries_ask_for_it(fresh: Peer) -> None:
    assert fresh.value("from IPython import get_ipython as g\ng() is get_ipython()") == "True"
    fresh.run("calls = []\ndef before(info): calls.append(info.raw_cell)\n"
              "def after(): calls.append('after')\n"
              "g().events.register('pre_run_cell', before)\n"
              "g().events.register('post_execute', after)\n"
              "g().events.register('post_execute', after)")  # fmt: skip
    fresh.run("calls.append(5)")
    assert fresh.value("calls[1:]") == "['calls.append(5)', 5, 'after', 'calls[1:]']"
    failing = fresh.run("g().events.register('pre_execute', lambda: 1/0)\n"
                        "g().events.unregister('post_execute', after)")  # fmt: skip
    assert failing.status == "ok", failing
    answer = fresh.run("1")
    assert answer.value["text"] == "1" and "ZeroDivisionError" in answer.stderr
    assert fresh.run("g().events.register('never', print)").status == "error"
    assert "TypeError" in fresh.run("g().events.register('pre_execute', 5)").traceback


def test_code_that_is_indented_as_a_whole(shared: Peer) -> None:
    nested = "    # here\n    x = [\n      1]\n\n    if x:\n        x += x\n    x"
    assert shared.value(nested) == "[1, 1]"
    assert shared.value("\n\tx = 2\n\tx") == "2"
    assert shared.value('  # a comment\nx = """\n  a"""\nx') == repr("\n  a")
    answer = shared.run("\n  x = 1\n  1/0")
    assert "line 3" in answer.traceback and "unexpected" not in answer.traceback
    assert "IndentationError" in shared.run("x = 1\n  x").traceback
    assert shared.run("   \n \n").status == "ok"


def test_failures_are_told(shared: Peer) -> None:
    value = shown(shared, "def _repr_html_(self): 1/0")
    assert value["type"] == "text"
    assert value["text"] == "X!\n<its _repr_html_ failed: ZeroDivisionError: division by zero>"
    assert shown(shared, "def _repr_html_(self): raise NotImplementedError")["text"] == "X!"
    assert "_repr_mimebundle_ failed" in shown(shared, "def _repr_mimebundle_(self): pass")["text"]
    assert "SystemExit" in shown(shared, "def _ipython_display_(self): raise SystemExit")["text"]
    value = shown(shared, "def _ipython_display_(self): raise NotImplementedError")
    assert value["text"] == "X!"


def test_objects_that_lie(shared: Peer) -> None:
    meta = "class M(type):\n    def __getattr__(c, n): raise ValueError(n)\n"
    assert shared.run(meta + "class A(metaclass=M): pass\nA()").status == "ok"
    assert shared.run("A").status == "ok"
    assert shared.run("[A(), A]").status == "ok"
    lying = "class L:\n    @property\n    def __class__(self): raise ValueError\nL()"
    assert shared.run(lying).status == "ok"
    odd = (
        "class D(dict):\n    def get(self, *a): raise ValueError\n    __iter__ = items = get\n"
        "class S(str):\n    def __len__(self): return -5\n    __getitem__ = None\n"
    )
    assert shared.run(odd).status == "ok"
    bundle = "def _repr_mimebundle_(self, **k): return D({'text/html': S('<b>'), 5: 6})"
    assert shown(shared, bundle)["text"]
    assert shown(shared, "def _repr_html_(self): return S('<b>')")["text"] == "X!"
    mock = "import unittest.mock\nunittest.mock.MagicMock()"
    assert shared.run(mock).value["text"].startswith("<MagicMock id=")


def test_an_object_that_shows_itself(shared: Peer) -> None:
    own = "class Y:\n    def _ipython_display_(self): print('a'); display('b')\n"
    answer = shared.run(own + "Y()")
    assert answer.value is None and answer.events == ["a\n", {"type": "text", "text": "'b'"}]
    assert shared.run("display(Y())").events == ["a\n", {"type": "text", "text": "'b'"}]


def test_interrupts_while_an_object_is_shown(fresh: Peer) -> None:
    for name in ("_repr_html_", "_ipython_display_", "_repr_mimebundle_", "_repr_pretty_"):
        running = fresh.begin(
            f"class Slow:\n    def {name}(self, *a, **k):\n        print('on', flush=True)\n"
            "        while True: pass\nSlow()"
        )
        running.wait_for_output("on")
        fresh.interrupt()
        assert running.finish().status == "interrupted"


def test_include_exclude_raw(shared: Peer) -> None:
    both = (
        "class B:\n    def __repr__(self): return 'B!'\n    def _repr_html_(self): return '<b>'\n"
        "    def _repr_latex_(self): return '$b$'\n"
    )
    code = (
        "display(B(), include=['text/latex'])\ndisplay(B(), exclude=['text/html'])\n"
        "display(B(), include=['text/plain'])\ndisplay(B(), include=['image/png'])\n"
        "display({'text/markdown': '*m*', 'text/plain': 'm'}, raw=True)\n"
        "display({'text/plain': 'only'}, raw=True, metadata={'x': 1})\n"
    )
    latex = {"type": "latex", "text": "$b$"}
    assert shared.run(both + code).displays == [
        latex, {**latex, "mime": {"text/plain": "B!"}}, {"type": "text", "text": "B!"},
        {"type": "markdown", "text": "*m*", "mime": {"text/plain": "m"}},
        {"type": "text", "text": "only", "metadata": {"x": 1}},
    ]  # fmt: skip
    assert shared.run("display(5, raw=True)").error["name"] == "TypeError"


def test_what_is_known_of_a_form_stays_with_it(shared: Peer) -> None:
    shared.run(PNG)
    shown = shared.run("from IPython.display import Image\nImage(png, width=10, alt='a')").value
    assert shown["metadata"] == {"image/png": {"width": 10, "alt": "a"}}
    assert (shown["type"], shown["width"]) == ("image", 3)
    assert "metadata" not in shared.run("Image(png)").value
    bundle = (
        "class M:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'text/html': '<b>'}, {'text/html': {'isolated': True}, 'y': {1}}\n"
    )
    assert shared.run(bundle + "M()").value["metadata"] == {"text/html": {"isolated": True}}
    (shown,) = shared.run("display(M(), metadata={'z': 'a'})").displays
    assert shown["metadata"] == {"text/html": {"isolated": True}, "z": "a"}
    method = "class P:\n    def _repr_png_(self): return png, {'height': 5}\n"
    assert shared.run(method + "P()").value["metadata"] == {"image/png": {"height": 5}}
    (shown,) = shared.run("display('\"metadata\":{', metadata={'z': 1})").displays
    assert shown == {"type": "text", "text": "'\"metadata\":{'", "metadata": {"z": 1}}
    assert shared.run("display(1, metadata={'x': 'a' * 20000})").displays == [
        {"type": "text", "text": "1"}
    ]


PUBLISHER = """
class Publisher:
    def __init__(self): self.taken = []
    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **rest):
        self.taken.append((data, metadata, transient, update))
ip = get_ipython(); own = ip.display_pub; mine = ip.display_pub = Publisher()
"""


def test_who_publishes_can_be_replaced(fresh: Peer) -> None:
    """As IPython.utils.capture.capture_output() does."""
    fresh.run(PNG)
    show = "display(5, display_id='n')\ndisplay({'text/latex': '$x$'}, raw=True)\n"
    answer = fresh.run(PUBLISHER + show + "ip.display_pub = own\ndisplay(6)")
    assert answer.displays == [{"type": "text", "text": "6"}]
    assert fresh.value("mine.taken[0]") == "({'text/plain': '5'}, {}, {'display_id': 'n'}, False)"
    assert fresh.value("mine.taken[1][0]") == "{'text/latex': '$x$'}"
    image = "from IPython.display import Image\ndisplay(Image(png, width=9))"
    assert fresh.run(PUBLISHER + image).displays == []
    assert fresh.value("list(mine.taken[0][0])[0], mine.taken[0][1]") == (
        "('image/png', {'image/png': {'width': 9}})"
    )
    # The next cell shows what it shows, whatever this one left behind.
    assert fresh.run("display(7)").displays == [{"type": "text", "text": "7"}]
    (shown,) = fresh.run("own.publish(*mine.taken[0][:2])").displays
    assert (shown["type"], shown["metadata"]) == ("image", {"image/png": {"width": 9}})


def test_handles(shared: Peer) -> None:
    answer = shared.run(
        "h = display('one', display_id='n')\nh.update('two')\nh.display('three')\n"
        "made = display('x', display_id=True)\nmade.update('y')\ndisplay(display_id='empty')\n"
        "len(made.display_id), repr(h)"
    )
    assert answer.text == "(32, '<DisplayHandle display_id=n>')"
    outputs = [(frame["output"], frame.get("update")) for frame in answer.frames]
    told = [(output["text"], output["display_id"], update) for output, update in outputs]
    made = told[3][1]
    assert told == [
        ("'one'", "n", None), ("'two'", "n", True), ("'three'", "n", None),
        ("'x'", made, None), ("'y'", made, True), ("", "empty", None),
    ]  # fmt: skip
    assert shared.run("display(1, update=True)").error["name"] == "TypeError"
    assert shared.run("display(1, display_id='x' * 300)").error["name"] == "ValueError"
    assert shared.run("display(1, display_id=5)").displays[0]["display_id"] == "5"
    odd = shared.run("display(1, display_id='\\0\\ud800\"')").displays[0]["display_id"]
    assert odd == "\\x00\\ud800\""


def test_ipython_display(shared: Peer) -> None:
    shared.run(PNG)
    answer = shared.run(
        "from IPython.display import *\nfrom IPython.display import display, HTML, Image, SVG, "
        "Markdown, Math, Latex, JSON, Pretty, Code, IFrame, Audio, Video, Javascript, DisplayHandle"
        ", update_display, clear_output, display_html, display_png, publish_display_data\n"
        "display(HTML('<b>'), Markdown('*m*'), Math('x'), Latex('$y$'), JSON({'a': [1]}))\n"
        "display(SVG('<?xml version=\"1.0\"?><svg xmlns=\"a\"/>'), Javascript('f()'))\n"
        "display(Pretty('pretty'), Image(png), Image(url='http://x/y.png'))\n"
        "display(IFrame('http://x', 1, 2), Audio(b'RIFF'), Video('http://x/y.mp4'))"
    )
    assert answer.status == "ok", answer
    kinds = [output["type"] for output in answer.displays]
    assert kinds == ["html", "markdown", "latex", "latex", "json", "svg", "text", "text", "image",
                     "html", "html", "html", "html"]  # fmt: skip
    html, markdown, math, latex, json, svg, script, text, image, url = answer.displays[:10]
    assert (html["html"], html["text"]) == ("<b>", "<IPython.core.display.HTML object>") or (
        html["text"] == "<IPython.display.HTML object>"
    )
    assert (markdown["text"], math["text"], latex["text"]) == ("*m*", "$\\displaystyle x$", "$y$")
    assert json["json"] == {"a": [1]} and svg["svg"].startswith("<svg")
    assert script["mime"] == {"application/javascript": "f()"}
    assert text["text"] == "pretty" and (image["width"], image["height"]) == (3, 2)
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
    assert "http://x/y.png" in url["html"]
    value = shared.run("HTML('<i>')").value
    assert value["type"] == "html" and value["html"] == "<i>"
    assert "x = 1" in shared.run("Code('x = 1', language='python')").value["text"]


def test_functions_of_ipython_display(shared: Peer) -> None:
    answer = shared.run(
        "from IPython.display import *\n"
        "h = display(HTML('1'), display_id='k')\nh.update(HTML('2'))\n"
        "update_display(HTML('3'), display_id='k')\nprint('t')\nclear_output(wait=True)\n"
        "clear_output()\ndisplay_html('<u>', raw=True)\n"
        "publish_display_data({'text/plain': 'p'}, transient={'display_id': 'q'})\n"
        "DisplayHandle('k').update(4)\nisinstance(h, DisplayHandle)"
    )
    assert answer.text == "True", answer
    told = [
        (f["ev"], f["output"].get("html") or f["output"]["text"], f.get("update"))
        if f["ev"] == "display" else (f["ev"], f["wait"]) for f in answer.frames
    ]  # fmt: skip
    assert told == [
        ("display", "1", None), ("display", "2", True), ("display", "3", True), ("clear", True),
        ("clear", False), ("display", "<u>", None), ("display", "p", None), ("display", "4", True),
    ]  # fmt: skip
    assert answer.displays[4]["display_id"] == "q"
    assert shared.run("import IPython\nIPython.get_ipython()").status == "ok"
    assert shared.value("from IPython.core.display import HTML\nHTML('x').data") == "'x'"


def test_nothing_is_imported_for_it(fresh: Peer) -> None:
    code = "import sys\n[n for n in ('IPython', 'html', 'PIL', 'pandas') if n in sys.modules]"
    assert fresh.value(code) == "[]"
    assert fresh.run("import IPython.nothing").error["name"] == "ModuleNotFoundError"


def test_builtins_that_were_replaced(fresh: Peer) -> None:
    fresh.run(
        "import builtins\nshow = display\nclass A:\n    def _repr_html_(self): return '<b>'\n"
        "for n in ('len', 'str', 'isinstance', 'getattr', 'print', 'display', 'dict', 'type'):\n"
        "    setattr(builtins, n, None)"
    )
    answer = fresh.run("show(A(), display_id='x').update(2)\nA()")
    assert answer.status == "ok" and [o["type"] for o in answer.displays] == ["html", "text"]
    assert answer.value["type"] == "html"


def test_displays_of_threads_and_children(fresh: Peer) -> None:
    answer = fresh.run(
        "import os, threading\nfrom IPython.display import clear_output, HTML\n"
        "def work(): display(HTML('x'), display_id='t'); clear_output()\n"
        "t = threading.Thread(target=work)\nt.start(); t.join()\n"
        "if os.fork() == 0: work()\nelse: os.wait()"
    )
    assert [frame["ev"] for frame in answer.frames] == ["display", "clear"]
    assert "HTML object" in answer.stdout


class TestTables:
    @pytest.fixture(scope="class")
    def data(self, python: str):
        peer = Peer.start(python)
        if peer.run("import numpy as np, pandas as pd").status != "ok":
            peer.close()
            pytest.skip("no data libraries in this interpreter")
        yield peer
        peer.close()

    def test_types_and_first_rows(self, data: Peer) -> None:
        value = data.run(
            "pd.DataFrame({'a': range(9), 'b': ['x' * 900] * 9, 3: [1.5, None] * 4 + [0]})"
        ).value
        assert value["dtypes"] == [
            {"name": "a", "dtype": "int64"}, {"name": "b", "dtype": "object"},
            {"name": "3", "dtype": "float64"},
        ]  # fmt: skip
        assert len(value["head"]) == 5
        assert value["head"][0] == ["0", "x" * 200, "1.5"] and value["head"][1][2] == "nan"

    def test_wide_and_empty(self, data: Peer) -> None:
        value = data.run("pd.DataFrame(np.zeros((10, 3000)))").value
        assert value["columns"] == 3000 and len(value["dtypes"]) == 200
        assert len(value["head"]) == 5 and len(value["head"][0]) == 200
        value = data.run("pd.DataFrame()").value
        assert (value["rows"], value["dtypes"], value["head"]) == (0, [], [])
        index = "pd.MultiIndex.from_tuples([('a', 'b'), ('a', 'c')])"
        value = data.run(f"pd.DataFrame([[1, 2]], columns={index})").value
        assert value["dtypes"][0]["name"] == "('a', 'b')"

    def test_cells_that_fail(self, data: Peer) -> None:
        bad = "class Bad:\n    def __str__(self): 1/0\n    __repr__ = lambda s: 'bad'\n"
        value = data.run(bad + "pd.DataFrame({'a': pd.Series([Bad()], dtype=object)})").value
        assert value is not None and "text" in value

    def test_a_series_is_text(self, data: Peer) -> None:
        value = data.run("pd.Series([1, 2])").value
        assert value == {"type": "text", "text": "0    1\n1    2\ndtype: int64"}

    def test_pil_images(self, data: Peer) -> None:
        if data.run("from PIL import Image").status != "ok":
            pytest.skip("no PIL")
        for mode in ("RGB", "L", "RGBA", "1", "CMYK", "P"):
            value = data.run(f"Image.new('{mode}', (4, 3))").value
            assert (value["type"], value["width"], value["height"]) == ("image", 4, 3), mode

    def test_polars_by_its_shape(self, fresh: Peer) -> None:
        code = (
            "import sys, types\nclass DataFrame:\n    shape = (2, 1)\n    schema = {'a': 'Int64'}\n"
            "    def _repr_html_(self): return '<table/>'\n    def head(self, n): return self\n"
            "    def rows(self): return [(1,), (2,)]\n"
            "    def __repr__(self): return 'shape: (2, 1)'\n"
            "sys.modules['polars'] = types.SimpleNamespace(DataFrame=DataFrame)\nDataFrame()"
        )
        assert fresh.run(code).value == {
            "type": "dataframe", "text": "shape: (2, 1)", "html": "<table/>", "rows": 2,
            "columns": 1, "dtypes": [{"name": "a", "dtype": "Int64"}], "head": [["1"], ["2"]],
        }  # fmt: skip
