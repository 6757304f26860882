"""What a session of Node.js defined, and what of it could not be saved."""

from __future__ import annotations

from node_peer import NodePeer


def test_functions_and_classes_are_told_as_source(fresh: NodePeer) -> None:
    fresh.run("function f(x) { return x }\nclass K { m() { return 'é' } }\nconst g = () => 1")
    fresh.run("const fs = require('fs'); const read = fs.readFileSync; let n = 3")
    told = fresh.ask({"op": "declarations"})
    assert told["ev"] == "declarations"
    assert {one["name"]: (one["kind"], one["code"]) for one in told["definitions"]} == {
        "f": ("function", "function f(x) { return x }"),
        "K": ("class", "class K { m() { return 'é' } }"),
        "g": ("function", "() => 1"),
    }
    assert told["lost"] == []


def test_what_cannot_be_saved_is_told(fresh: NodePeer) -> None:
    fresh.run("const p = new Promise(() => {}); const w = new WeakMap()")
    fresh.run("const q = new Proxy({}, {})")
    fresh.run("const c = ((n) => () => n++)(1); function* g() {}; const it = g()")
    lost = {one["name"]: one["type"] for one in fresh.ask({"op": "declarations"})["lost"]}
    assert lost == {
        "p": "Promise", "w": "WeakMap", "q": "Proxy", "c": "function", "it": "Generator"
    }  # fmt: skip


def test_imports_are_told(fresh: NodePeer) -> None:
    fresh.run("const path = await import('node:path')")
    assert fresh.ask({"op": "declarations"})["imports"] == ['import("node:path")']


def test_a_language_that_was_changed_breaks_nothing(fresh: NodePeer) -> None:
    fresh.run("Array.prototype.push = null; Map.prototype.get = null; JSON.stringify = null")
    assert fresh.ask({"op": "declarations"})["ev"] == "declarations"
    assert fresh.value("1 + 1") == "2"
