"""How a text could go on, and what stands at the cursor: no code of the user's runs for it."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from node_peer import NodePeer

WORLD = """
class Shape { constructor(sides, name = 'x') { this.sides = sides; } area(scale) { return scale }
  get costly() { console.log('ran'); globalThis.ran = true; while (true); } }
const shape = new Shape(4);
var table = { alpha: 1, alphabet: [shape], 'two words': 2 };
let apples = 3, apricots = 4;
function grow(apple, april = 2) { /* Grows. */ return apple; }
const trap = new Proxy({}, { get() { globalThis.ran = true; while (true); },
  ownKeys() { globalThis.ran = true; while (true); } });
"""


@pytest.fixture
def world(fresh: NodePeer) -> NodePeer:
    fresh.run(WORLD)
    return fresh


def complete(peer: NodePeer, code: str, cursor: int = -1) -> Dict[str, Any]:
    told = peer.ask({"op": "complete", "code": code,
                     "cursor": len(code) if cursor < 0 else cursor})
    assert told.pop("ev") == "complete"
    return told


def texts(peer: NodePeer, code: str, cursor: int = -1) -> List[str]:
    return [match["text"] for match in complete(peer, code, cursor)["matches"]]


def inspect(peer: NodePeer, code: str, cursor: int = -1, detail: int = 0) -> Dict[str, Any]:
    told = peer.ask({"op": "inspect", "code": code,
                     "cursor": len(code) if cursor < 0 else cursor, "detail": detail})
    assert told.pop("ev") == "inspect"
    return told


def test_names_members_keys_and_modules(world: NodePeer) -> None:
    told = complete(world, "1;\nx = '\N{GRINNING FACE}' + ap")
    assert (told["start"], told["end"]) == (13, 15)
    assert told["matches"] == [{"text": "apples", "kind": "variable"},
                               {"text": "apricots", "kind": "variable"}]
    assert texts(world, "conso") == ["console"] and "while" in texts(world, "whi")
    assert {"text": "Shape", "kind": "class"} in complete(world, "Sha")["matches"]
    assert texts(world, "shape.s") == ["sides"] and texts(world, "shape.ar") == ["area"]
    assert texts(world, "table.alphabet[0]?.si") == ["sides"]
    assert "toUpperCase" in texts(world, "'x'.toU") or texts(world, "'x'.toU") == []
    assert texts(world, "table['alp") == ["alpha'", "alphabet'"]
    assert texts(world, "JSON.str") == ["stringify"]
    assert "fs'" in texts(world, "require('fs") and 'node:fs"' in texts(world, 'import("node:fs')
    assert texts(world, "nothing.x") == [] and texts(world, "f().x") == []


def test_what_stands_at_the_cursor(world: NodePeer) -> None:
    told = inspect(world, "grow(1, ")
    assert (told["name"], told["doc"]) == ("grow", "Grows.")
    assert told["signature"] == "function grow(apple, april = 2)"
    assert inspect(world, "new Shape")["signature"] == "new Shape(sides, name = 'x')"
    assert inspect(world, "shape.area(1)", 8)["name"] == "shape.area"
    assert inspect(world, "apples")["text"] == "3"
    assert "return apple" in inspect(world, "grow", detail=1)["source"]
    assert inspect(world, "Math.max")["type"] == "function"
    assert inspect(world, "nothing") == inspect(world, "") == {"found": False}


def test_no_code_of_the_users_runs(world: NodePeer) -> None:
    assert "costly" in texts(world, "shape.")
    for code in ("shape.costly.", "trap.", "trap.x.", "trap['"):
        assert texts(world, code) == [], code
    assert inspect(world, "shape.costly") == inspect(world, "trap.x") == {"found": False}
    assert inspect(world, "trap")["type"] == "Proxy"
    assert world.run("console.log(typeof ran)").stdout == "undefined\n"


def test_much_and_broken_worlds_do_no_harm(world: NodePeer) -> None:
    world.run("var many = {}; for (let n = 0; n < 5000; n++) many['m' + n] = n;"
              "var long = new Array(10**6).fill(0)")
    told = complete(world, "many.")
    assert 100 < len(told["matches"]) <= 500 and told["more"]
    assert "map" in texts(world, "long.ma")
    world.run("Array.prototype.flatMap = Array.prototype.map = String.prototype.startsWith = null;"
              "Object.getOwnPropertyNames = Object.getOwnPropertyDescriptor = null")
    complete(world, "shape.")
    inspect(world, "grow", detail=1)
    assert world.run("console.log('on')").stdout == "on\n"
