"""The text of a value is what IPython shows: compared with the real one where there is one."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

import pytest
from peer import DRIVER, PATIENCE, Peer

HERE = pathlib.Path(__file__).parent


HAS_IPYTHON = importlib.util.find_spec("IPython") is not None


@pytest.mark.sampled
@pytest.mark.skipif(not HAS_IPYTHON, reason="no IPython to compare with")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_texts_are_those_of_ipython(seed: int) -> None:
    command = [sys.executable, "-B", str(HERE / "compare_pretty.py"), str(DRIVER), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "same\n", done.stdout + done.stderr


@pytest.mark.sampled
@pytest.mark.skipif(not HAS_IPYTHON, reason="no IPython to compare with")
@pytest.mark.slow
def test_all_forms_are_those_of_ipython() -> None:
    command = [sys.executable, "-B", str(HERE / "compare_bundles.py"), str(DRIVER)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    said, _, count = done.stdout.partition(" ")
    assert said == "same" and int(count) > 60, done.stdout + done.stderr


@pytest.mark.parametrize(
    "code, text",
    [
        ("[1, 2]", "[1, 2]"),
        ("[10**18] * 5", "[" + ",\n ".join(["1" + "0" * 18] * 5) + "]"),
        ("{'b': 1, 'a': [2]}", "{'b': 1, 'a': [2]}"),
        ("{'b', 'a', 'c'}", "{'a', 'b', 'c'}"),
        ("{3, 'a', None}", "{3, None, 'a'}"),
        ("x = [1]\nx.append(x)\nx", "[1, [...]]"),
        ("int", "int"),
        ("class A: pass\nA", "__main__.A"),
        ("def f(a, b=1): pass\nf", "<function __main__.f(a, b=1)>"),
        ("from decimal import Decimal\n[Decimal('1.50')]", "[Decimal('1.50')]"),
        ("import collections\ncollections.OrderedDict(a=1)", "OrderedDict([('a', 1)])"),
        ("class M:\n    def __repr__(self): return 'a\\nb'\n[M(), M()]", "[a\n b,\n a\n b]"),
        ("class P:\n    def _repr_pretty_(self, p, cycle): p.text('own')\n[P()]", "[own]"),
        ("import types\ntypes.SimpleNamespace(a=1)", "namespace(a=1)"),
        ("ValueError('x')", "ValueError('x')"),
    ],
)
def test_layout(shared: Peer, code: str, text: str) -> None:
    assert shared.value(code) == text


def test_an_object_that_fails_within_a_container(shared: Peer) -> None:
    bad = "class Bad:\n    def __repr__(self): raise ValueError('boom')\n"
    expected = "[1, <Bad object; its __repr__ failed: ValueError: boom>, 2]"
    assert shared.value(bad + "[1, Bad(), 2]") == expected
    half = (
        "class Half:\n    def _repr_pretty_(self, p, c):\n"
        "        p.begin_group(9, '(')\n        1/0\n"
    )
    assert "ZeroDivisionError" in shared.value(half + "[1, Half(), 2]")
    assert "ZeroDivisionError" in shared.value(half + "Half()")
    over = (
        "class Over:\n    def _repr_pretty_(self, p, c):\n"
        "        for _ in range(9): p.end_group()\n"
    )
    assert shared.run(over + "[Over()] * 3").status == "ok"
    forever = (
        "class Ever:\n    def _repr_pretty_(self, p, c):\n        while True:\n"
        "            try: p.text('x' * 1000)\n            except Exception: pass\n[Ever()]"
    )
    assert "the rest is not shown" in shared.value(forever)


def test_deep_nesting_falls_back_to_repr(shared: Peer) -> None:
    deep = "x = []\nfor _ in range({}): x = [x]\nx"
    assert shared.value(deep.format(150)).count("[") == 151
    assert shared.run(deep.format(400)).status == "ok"
    assert "RecursionError" in shared.value(deep.format(10**5) + "\n")
    shared.run("del x, _")


def test_what_cells_do_to_their_builtins_does_not_matter(fresh: Peer) -> None:
    fresh.run(
        "import builtins, inspect, collections, re\n"
        "for n in ('len', 'repr', 'sorted', 'map', 'type'): setattr(builtins, n, None)\n"
        "inspect.signature = re.compile = collections.deque = None"
    )
    assert fresh.value("{'b': {1, 2}, 'f': [3]}") == "{'b': {1, 2}, 'f': [3]}"


def test_an_interrupt_while_a_long_text_is_made(fresh: Peer) -> None:
    running = fresh.begin(
        "class Slow:\n    def __repr__(self):\n        print('on', flush=True)\n"
        "        import time\n        time.sleep(60)\n[[Slow()]]"
    )
    running.wait_for_output("on")
    fresh.interrupt()
    assert running.finish().status == "interrupted"
