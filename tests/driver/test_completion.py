"""How a text could go on, and what stands at the cursor: told without running cells, in a copy of
the interpreter, so that nothing of the user's can change or hang it."""

from __future__ import annotations

import os
from typing import Any, Dict, List

import pytest
from peer import Peer, eventually

WORLD = """
import os, sys, math
class Shape:
    "A shape."
    sides = 4
    def area(self, scale=1, *, unit="m"):
        "How large."
        return scale
    @property
    def costly(self):
        print("ran"); open("/tmp/cella_ran", "w").close(); raise SystemExit
shape = Shape()
table = {"alpha": 1, "alphabet": [shape], "beta": {"x": 1}}
apples = apricots = 3
_hidden = 1
def grow(apple, april=2, **others): "Grows."
"""


@pytest.fixture
def world(fresh: Peer) -> Peer:
    fresh.run(WORLD)
    return fresh


def complete(peer: Peer, code: str, cursor: int = -1) -> Dict[str, Any]:
    told = peer.ask({"op": "complete", "code": code,
                     "cursor": len(code) if cursor < 0 else cursor})
    assert told.pop("ev") == "complete"
    return told


def texts(peer: Peer, code: str, cursor: int = -1) -> List[str]:
    return [match["text"] for match in complete(peer, code, cursor)["matches"]]


def inspect(peer: Peer, code: str, cursor: int = -1, detail: int = 0) -> Dict[str, Any]:
    told = peer.ask({"op": "inspect", "code": code,
                     "cursor": len(code) if cursor < 0 else cursor, "detail": detail})
    assert told.pop("ev") == "inspect"
    return told


def test_names_keywords_and_builtins(world: Peer) -> None:
    told = complete(world, "x = 1\ny = ap")
    assert (told["start"], told["end"]) == (10, 12)
    assert told["matches"] == [{"text": "apples", "kind": "variable"},
                               {"text": "apricots", "kind": "variable"}]
    assert texts(world, "pri") == ["print"] and texts(world, "whi") == ["while"]
    assert texts(world, "Sha") == ["Shape"]
    assert "_hidden" in texts(world, "_h") and "_hidden" not in texts(world, "")
    assert texts(world, "appl + apr", 4) == ["apples"]  # at the cursor, not at the end
    assert texts(world, "3ap") == [] and texts(world, "# ap") == []


def test_attributes_of_what_there_is(world: Peer) -> None:
    assert texts(world, "shape.") == ["area", "costly", "sides"]
    kinds = {m["text"]: m["kind"] for m in complete(world, "shape.")["matches"]}
    assert kinds == {"area": "function", "costly": "property", "sides": "variable"}
    assert texts(world, "math.sq") == ["sqrt"]
    assert texts(world, 'table["alphabet"][0].ar') == ["area"]
    assert texts(world, "'x'.upp") == ["upper"]
    assert texts(world, "os.path.joi") == ["join"]
    assert texts(world, "nothing.x") == [] and texts(world, "f().x") == []
    assert texts(world, "shape.costly.x") == []  # would have to run it
    assert not os.path.exists("/tmp/cella_ran")
    assert "__class__" in texts(world, "shape.__")


def test_keys_arguments_modules_magics_and_files(world: Peer) -> None:
    assert texts(world, 'table["alp') == ['alpha"', 'alphabet"']
    assert texts(world, "table['be") == ["beta'"]
    assert texts(world, "grow(ap")[:2] == ["apple=", "april="]
    assert texts(world, "shape.area(1, un") == ["unit="]
    # The first look at all folders of modules may take longer than the copy has.
    eventually(lambda: "collections" in texts(world, "import coll"), "a list of modules")
    assert "abc" in texts(world, "import collections.")
    assert texts(world, "from math import sq") == ["sqrt"]
    assert "%timeit" in texts(world, "%ti") and texts(world, "%%tim") == ["%%time", "%%timeit"]
    world.run("open('/tmp/cella_comp_a.txt', 'w').close(); os.makedirs('/tmp/cella_comp_dir')"
              " if not os.path.exists('/tmp/cella_comp_dir') else 0")
    assert texts(world, "open('/tmp/cella_comp_") == ["cella_comp_a.txt", "cella_comp_dir/"]
    assert complete(world, "é = '/tmp/cella_comp_a")["start"] == 10  # characters, not bytes


def test_what_stands_at_the_cursor(world: Peer) -> None:
    told = inspect(world, "shape.area(2)", 8)
    assert (told["found"], told["name"], told["doc"]) == (True, "shape.area", "How large.")
    assert told["signature"] == "area(scale=1, *, unit='m')"
    assert inspect(world, "grow(1, ")["signature"].startswith("grow(apple, april=2")
    assert "Grows." in inspect(world, "grow", detail=1)["source"]
    told = inspect(world, "apples")
    assert (told["type"], told["text"]) == ("int", "3") and "signature" not in told
    assert inspect(world, "table")["len"] == 3
    assert "preview" not in inspect(world, "table") and inspect(world, "table", detail=1)["preview"]
    assert inspect(world, "shape")["doc"] == "A shape."
    assert inspect(world, "%timeit")["type"] == "magic"
    assert inspect(world, "math.sqrt")["doc"]
    for code in ("nothing", "", "shape.costly.x", "1 +", "shape.costly"):
        assert inspect(world, code) == {"found": False}, code


HOSTILE = [
    "class Bad:\n    def __dir__(self):\n        while True: pass\nbad = Bad()",
    "class Bad:\n    def __dir__(self): import os; os._exit(3)\nbad = Bad()",
    "class Bad:\n    def __dir__(self): raise SystemExit\nbad = Bad()",
    "class Bad:\n    def __dir__(self): import os, signal; os.kill(os.getpid(), 11)\nbad = Bad()",
    "class Bad:\n    def __dir__(self): global seen; seen = 1; return ['x'] * 10**7\nbad = Bad()",
    "class Meta(type):\n    def __getattribute__(self, n): raise KeyError\n"
    "class Bad(metaclass=Meta):\n    def __getattribute__(self, n): raise KeyError\nbad = Bad()",
]


def test_what_is_hostile_neither_hangs_nor_changes_the_session(fresh: Peer) -> None:
    for code in HOSTILE:
        fresh.run(code)
        assert fresh.ask({"op": "complete", "code": "bad.", "cursor": 4})["ev"] == "complete"
        assert fresh.ask({"op": "inspect", "code": "bad", "cursor": 3, "detail": 1})["found"]
        assert fresh.run("print('seen' in globals())").stdout == "False\n"
    waits = "import os\ntry: print(os.wait())\nexcept ChildProcessError: print('none')"
    assert fresh.run(waits).stdout == "none\n"
    assert "bad" in texts(fresh, "ba")


def test_much_is_bounded(fresh: Peer) -> None:
    fresh.run("globals().update({f'many_{n}': n for n in range(5000)})")
    told = complete(fresh, "many_")
    assert len(told["matches"]) == 500 and told["more"]
    fresh.run("def f(): pass\nf.__doc__ = 'x' * 10**6")
    assert len(inspect(fresh, "f")["doc"]) == 4000


def test_a_session_that_broke_what_is_needed_lives_on(fresh: Peer) -> None:
    fresh.run("import builtins, inspect\nbuiltins.len = builtins.dir = inspect.signature = None")
    fresh.ask({"op": "complete", "code": "pri", "cursor": 3})
    fresh.ask({"op": "inspect", "code": "print", "cursor": 5, "detail": 0})
    assert fresh.run("print('on')").stdout == "on\n"
