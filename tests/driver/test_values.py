"""What a cell gives back: values, displays, figures."""

from __future__ import annotations

import base64

import pytest
from peer import Peer


@pytest.mark.parametrize(
    "code, text",
    [
        ("1+1", "2"),
        ("x = 5\nx + 1", "6"),
        ("'a' 'b'", "'ab'"),
        ("None", None),
        ("x = 3", None),
        ("5;", None),
        ("(5);", None),
        ("5; # quiet", None),
        ("'; not quiet'", "'; not quiet'"),
        ("5 # ; not quiet", "5"),
        ("a = 1; a", "1"),
        ("[\n1,\n2\n]", "[1, 2]"),
        ("len(\n'abc'\n)", "3"),
        ("'''\nline\n'''", "'\\nline\\n'"),
        ("x = 1\nif x:\n    y = 2\nelse:\n    y = 3\n", None),
        ("try:\n    1/0\nexcept ZeroDivisionError:\n    z = 9\nz", "9"),
        ("s = '''\n1'''\ns", "'\\n1'"),
        ("print('''\nif x:\n''')", None),
        ("@staticmethod\ndef f(): pass\n1", "1"),
        ("def f():\n    return 4\n\nf()\n\n# the end\n", "4"),
        ("x = 1 + \\\n2\nx", "3"),
        ("1+1\r\n", "2"),
        ("", None),
        ("# nothing", None),
        ("(y := 7)", "7"),
        ("lambda: 1;", None),
    ],
)
def test_the_last_expression_is_the_value(shared: Peer, code: str, text: str) -> None:
    answer = shared.run(code)
    assert answer.status == "ok", answer
    assert answer.text == text


def test_underscore_is_the_last_value_that_was_not_none(fresh: Peer) -> None:
    assert fresh.run("_").error["name"] == "NameError"
    fresh.run("6 * 7")
    fresh.run("None")
    fresh.run("x = 1")
    assert fresh.value("_") == "42"


def test_a_failing_repr_is_shown_as_such(shared: Peer) -> None:
    answer = shared.run("class Bad:\n    def __repr__(self): raise ValueError('boom')\nBad()")
    assert answer.status == "ok"
    assert "its __repr__ failed: ValueError: boom" in answer.text
    assert shared.run("class Odd:\n    def __repr__(self): return 5\nOdd()").status == "ok"
    assert shared.run("class Ex:\n    def __repr__(self): raise SystemExit\nEx()").status == "ok"
    sneaky = (
        "class S(str):\n    def __len__(self): return 1 << 62\nclass O:\n"
        "    def __repr__(self): return S('x')\nO()"
    )
    assert shared.value(sneaky) == "x"


def test_a_gigantic_repr_is_bounded(shared: Peer) -> None:
    assert len(shared.value("list(range(10**6))")) < 1 << 20
    assert shared.value("list(range(10**6))").endswith("\n 999,\n ...]")
    assert "the rest is not shown" in shared.value("[['x' * 3000] for _ in range(2000)]")
    assert "the rest is not shown" in shared.value("[['x' * 10**8], 5]")
    assert "items not shown" in shared.value("'x' * 10**7")
    assert shared.value("dict.fromkeys(range(10**5))").endswith("\n 999: None,\n ...}")
    assert shared.value("set(range(10**5))").endswith(",\n ...}")
    assert shared.run("10 ** 5000").status == "ok"


def test_text_that_utf8_cannot_carry(shared: Peer) -> None:
    assert shared.value("class O:\n    def __repr__(self): return 'a\\udc80b'\nO()") == "a\\udc80b"
    assert shared.run("print('a\\udc80b')").stdout == "a\\udc80b\n"
    assert shared.value("class N:\n    def __repr__(self): return 'a\\0b'\nN()") == "a\\x00b"
    assert shared.value("'\\x00 \\u20ac \\U0001f600'") == "'\\x00 \u20ac \U0001f600'"


def test_rich_values(shared: Peer) -> None:
    shared.run(
        "class H:\n    def __init__(self, **k): self.k = k\n"
        "    def __repr__(self): return 'H'"
    )
    html = shared.run("class A(H):\n    def _repr_html_(self): return '<b>x</b>'\nA()").value
    assert html == {"type": "html", "html": "<b>x</b>", "text": "H"}
    assert shared.run("A").value["type"] == "text"  # the class, not an object of it
    svg = shared.run("class B(H):\n    def _repr_svg_(self): return '<svg/>'\nB()").value
    assert svg == {"type": "svg", "svg": "<svg/>", "text": "H"}
    for kind in ("markdown", "latex"):
        made = shared.run(f"class C(H):\n    def _repr_{kind}_(self): return '*x*'\nC()").value
        assert made == {"type": kind, "text": "*x*", "mime": {"text/plain": "H"}}
    made = shared.run("class D(H):\n    def _repr_json_(self): return {'a': [1]}\nD()").value
    assert made == {"type": "json", "json": {"a": [1]}, "text": "H"}
    for odd in ("10**30", "[[]] * 2", "{1: 2, '1': 3}", "float('nan')", "'\\0'", "deep"):
        code = (
            "deep = []\nfor _ in range(99): deep = [deep]\n"
            f"class J(H):\n    def _repr_json_(self): return {odd}\nJ()"
        )
        assert shared.run(code).value["type"] == ("json" if odd.startswith("[[") else "text")
    failing = (
        "class E(H):\n    def _repr_html_(self): 1/0\n"
        "    def _repr_markdown_(self): return 'm'\nE()"
    )
    forms = {"text/plain": "H"}
    assert shared.run(failing).value == {"type": "markdown", "text": "m", "mime": forms}
    every = "class F(H):\n    def __getattr__(self, n): return lambda: 'yes'\nF()"
    assert shared.run(every).value == {"type": "text", "text": "H"}


def test_displays_keep_their_order_with_prints(shared: Peer) -> None:
    answer = shared.run("print('a')\ndisplay(1)\nprint('b')\ndisplay('c', 2)\nprint('d')")
    one, c, two = ({"type": "text", "text": text} for text in ("1", "'c'", "2"))
    assert answer.events == ["a\n", one, "b\n", c, two, "d\n"]


def test_display_in_a_thread(shared: Peer) -> None:
    code = "import threading\nt = threading.Thread(target=display, args=(5,))\nt.start(); t.join()"
    assert shared.run(code).displays == [{"type": "text", "text": "5"}]


class TestDataStack:
    """With the libraries of Debian's Python."""

    @pytest.fixture(scope="class")
    def data(self, python: str):
        peer = Peer.start(python)
        libraries = "import numpy, matplotlib.pyplot as plt, pandas as pd"
        if peer.run(libraries).status != "ok":
            peer.close()
            pytest.skip("no data libraries in this interpreter")
        yield peer
        peer.close()

    def test_a_dataframe(self, data: Peer) -> None:
        value = data.run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': [3, 4]})").value
        assert value["type"] == "dataframe"
        assert (value["rows"], value["columns"]) == (2, 2)
        assert "<table" in value["html"] and "0  1  3" in value["text"]

    def test_a_wide_open_dataframe_is_bounded(self, data: Peer) -> None:
        code = (
            "with pd.option_context('display.max_rows', None):\n"
            "    display(pd.DataFrame({'a': range(20000)}))"
        )
        shown = data.run(code).displays[0]
        assert shown["rows"] == 20000 and len(shown["html"]) < 1 << 20

    def test_wide_tables_are_shown_as_in_notebooks(self, data: Peer) -> None:
        """Twenty columns, and none left out of the text to fit into a terminal."""
        code = "import pandas as pd\npd.DataFrame([range(10**9, 10**9 + 12)])"
        text = data.run(code).value["text"]
        assert [str(10**9 + n) in text for n in range(12)] == [True] * 12 and "..." not in text
        wide = data.run("pd.DataFrame([range(30)])").value
        assert wide["html"].count("<th>") == 1 + 21 + 1 and "..." in wide["text"]
        options = "display.max_columns"
        data.run(f"pd.set_option('{options}', 5); pd.reset_option('{options}')")
        assert data.value(f"pd.get_option('{options}')") == "20"
        categories = "pd.Categorical(['category %d' % n for n in range(40)])"
        last = data.value(categories).splitlines()[-1]
        assert last.startswith("Categories (40") and last.endswith("'category 9']")

    def test_a_dataframe_as_latex_where_pandas_is_told_to(self, data: Peer) -> None:
        if data.run("import pandas as pd\npd.set_option('display.latex.repr', True)").error:
            pytest.skip("a pandas that cannot")
        value = data.run("pd.DataFrame({'a': [1]})").value
        data.run("pd.reset_option('display.latex.repr')")
        assert "tabular" in value["mime"]["text/latex"] and value["rows"] == 1
        assert "mime" not in data.run("pd.DataFrame({'a': [1]})").value

    def test_show_sends_figures_in_order(self, data: Peer) -> None:
        code = (
            "import matplotlib.pyplot as plt\n"
            "print('before')\nplt.plot([1, 2])\nplt.figure(figsize=(9, 2))\nplt.plot([1])\n"
            "plt.show()\nprint('after')"
        )
        before, first, second, after = data.run(code).events
        assert (before, after) == ("before\n", "after\n")
        for image in (first, second):
            assert image["type"] == "image" and image["format"] == "png"
            assert base64.b64decode(image["data"]).startswith(b"\x89PNG")

        assert first["text"] == "<Figure size 640x480 with 1 Axes>"
        assert second["text"] == "<Figure size 900x200 with 1 Axes>"

    def test_figures_are_cut_to_what_is_in_them(self, data: Peer) -> None:
        code = (
            "import matplotlib.pyplot as plt\nplt.rcParams['savefig.dpi'] = 30\n"
            "ax = plt.figure().add_axes([0.4, 0.4, 0.2, 0.2])\n"
        )
        (small,) = data.run(code).displays
        assert small["width"] < 300 and small["height"] < 250
        beside = "ax.text({}, 0.5, 'beside the axes')\nNone"
        (wide,) = data.run(code + beside.format(10)).displays
        assert wide["width"] > 1000  # with what stands outside of the figure
        (plain,) = data.run(code + beside.format(10**6)).displays
        assert (plain["width"], plain["height"]) == (640, 480)  # but not as far as that
        data.run("plt.rcdefaults()")

    def test_figures_in_the_format_that_is_asked_for(self, data: Peer) -> None:
        draw = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
        (plain,) = data.run(draw).displays
        data.run("%config InlineBackend.figure_format = 'retina'")
        (sharp,) = data.run(draw).displays
        assert abs(sharp["width"] - 2 * plain["width"]) <= 2
        size = {"width": sharp["width"] // 2, "height": sharp["height"] // 2}
        assert sharp["metadata"] == {"image/png": size} and "metadata" not in plain
        data.run("%config InlineBackend.figure_formats = {'svg'}")
        (drawn,) = data.run(draw).displays
        assert drawn["type"] == "svg" and "<svg" in drawn["svg"]
        assert drawn["text"] == "<Figure size 640x480 with 1 Axes>"
        assert data.run("fig = plt.figure(); plt.plot([1]); fig").value["type"] == "svg"
        answer = data.run("%config InlineBackend.figure_format = nope")
        assert answer.error["name"] == "UsageError" and "'retina'" in answer.error["message"]
        data.run("%config InlineBackend.figure_format = 'jpeg'")
        assert data.run(draw).displays == [plain]

    def test_an_empty_figure_is_its_text(self, data: Peer) -> None:
        empty = {"type": "text", "text": "<Figure size 640x480 with 0 Axes>"}
        assert data.run("import matplotlib.pyplot as plt\nplt.figure();").displays == [empty]
        assert data.run("plt.figure()").value == empty

    def test_figures_left_open_are_shown_once(self, data: Peer) -> None:
        answer = data.run("plt.plot([3, 1]);\nprint('x')")
        assert [type(event) for event in answer.events] == [str, dict]
        assert data.run("plt.get_fignums()").text == "[]"

    def test_a_figure_as_value(self, data: Peer) -> None:
        answer = data.run("fig, ax = plt.subplots(figsize=(2, 1))\nfig")
        assert answer.value["type"] == "image"
        assert answer.value["text"] == "<Figure size 200x100 with 1 Axes>"
        assert answer.displays == []

    def test_show_whatever_the_backend(self, data: Peer) -> None:
        code = (
            "import matplotlib\nmatplotlib.use('svg')\nfig = plt.figure()\nplt.plot([1])\n"
            "fig.show()\nprint(1)"
        )
        answer = data.run(code)
        assert [type(event) for event in answer.events] == [dict, str], answer
        assert answer.stderr == ""

    def test_figures_of_a_failed_cell_are_shown(self, data: Peer) -> None:
        answer = data.run("plt.plot([1])\n1/0")
        assert answer.status == "error" and len(answer.displays) == 1

    def test_a_figure_that_cannot_be_drawn(self, data: Peer) -> None:
        answer = data.run("plt.figure(figsize=(10000, 10000)); plt.plot([1])\nplt.show()")
        assert answer.status == "ok" and "cannot be drawn" in answer.displays[0]["text"]

    def test_library_frames_are_folded(self, data: Peer) -> None:
        traceback = data.run("pd.DataFrame({'a': [1]})['b']").traceback
        assert "packages/pandas" not in traceback
        assert "In pandas.core" in traceback and "<cell" in traceback
