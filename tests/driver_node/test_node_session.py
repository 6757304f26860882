"""Setting a session up, and what it tells of its names."""

from __future__ import annotations

import pathlib
from typing import Callable

from node_peer import NodePeer
from peer import PATIENCE


def test_setup(fresh: NodePeer, tmp_path: pathlib.Path) -> None:
    cwd = tmp_path / "a" / "b"
    assert fresh.ask({"op": "setup", "cwd": str(cwd), "env": {"GREETING": "hé"}}) == {"ev": "set"}
    assert fresh.value("[process.cwd(), process.env.GREETING]") == f"[ '{cwd}', 'hé' ]"
    (cwd / "m.js").write_text("module.exports = 5")
    assert fresh.value("require('./m')") == "5"
    child = "require('child_process').execSync('echo $GREETING; pwd').toString()"
    assert fresh.value(child) == f"'hé\\n{cwd}\\n'"


def test_setup_without_a_folder(fresh: NodePeer) -> None:
    assert fresh.ask({"op": "setup", "cwd": None, "env": {}}) == {"ev": "set"}
    assert fresh.value("process.cwd()") == "'/tmp'"


def test_a_folder_that_cannot_be(start: Callable) -> None:
    peer = start()
    answer = peer.ask({"op": "setup", "cwd": "/dev/null/x", "env": {}})
    assert answer["ev"] == "fatal"
    assert answer["message"].startswith("cannot use /dev/null/x as cwd: ")
    assert peer.process.wait(PATIENCE) == 1
    peer.close()


def test_names_that_a_cell_changed(fresh: NodePeer) -> None:
    code = "let a = 1; const list = [1]; var g = 'x'; class K {} function f() {}; globalThis.p = 0"
    names = fresh.names_after(code)
    assert names["total"] == 6
    assert sorted(names["added"]) == ["K", "a", "f", "g", "list", "p"]
    assert fresh.names_after("a; g; require('fs')") == {"total": 6}
    assert fresh.names_after("list.push(2); a = 5") == {"total": 6, "changed": ["a", "list"]}
    assert fresh.names_after("delete globalThis.p; g = 'x'") == {"total": 5, "removed": ["p"]}
    assert fresh.names_after("let a = 7")["changed"] == ["a"]
    assert fresh.names_after("1", "none") is None
    assert fresh.names_after("_x = 1; let _y = 2") == {"total": 5}
    many = ";".join(f"var v{number} = 1" for number in range(301))
    assert set(fresh.names_after(many)) == {"total"}


def test_a_name_whose_declaration_failed_is_not_there(fresh: NodePeer) -> None:
    assert "added" not in fresh.names_after("const q = require('nope')")
    assert fresh.names_after("const q = 5")["added"] == ["q"]


def test_the_manifest(fresh: NodePeer) -> None:
    code = (
        "const text = 'hello', n = 1.5, big = 2n, nothing = null, m = new Map([[1, 2]]); let unset;"
        "class Point { constructor() { this.x = 1 } } const point = new Point();"
        "const bytes = new Uint8Array(10), fn = () => 1, px = new Proxy({}, { get() { throw 1 } });"
        "Object.defineProperty(globalThis, 'lazy', { get() { throw new Error('called') },"
        " configurable: true }); const e = new Error('oops')"
    )
    names = fresh.names_after(code, "full")
    items = {item["name"]: item for item in names["items"]}
    assert names["total"] == len(items) == 13 and len(names["added"]) == 13
    assert items["text"] == {"name": "text", "type": "string", "len": 5, "text": "'hello'"}
    assert (items["n"]["type"], items["n"]["text"]) == ("number", "1.5")
    assert (items["big"]["type"], items["nothing"]["type"]) == ("bigint", "null")
    assert items["unset"]["type"] == "undefined"
    assert (items["m"]["type"], items["m"]["len"]) == ("Map", 1)
    assert (items["point"]["type"], items["Point"]["type"]) == ("Point", "class")
    assert (items["bytes"]["type"], items["bytes"]["bytes"]) == ("Uint8Array", 10)
    assert (items["fn"]["type"], items["px"]["type"]) == ("function", "Proxy")
    assert items["lazy"] == {"name": "lazy", "type": "getter"}
    assert items["e"]["type"] == "Error"
    assert all(len(item.get("text", "")) <= 80 for item in items.values())
    asked = fresh.ask({"op": "names", "max": 3})
    assert asked["ev"] == "names" and asked["names"]["total"] == 13
    assert len(asked["names"]["items"]) == 3 and asked["names"]["more"] is True


def test_changes_run_no_code_of_the_user(fresh: NodePeer) -> None:
    code = "class T extends Uint8Array { get length() { throw new Error('called') } }; t = new T(3)"
    assert set(fresh.names_after(code)["added"]) == {"T", "t"}


def test_a_crowd_of_names_is_bounded(fresh: NodePeer) -> None:
    fresh.run("for (let i = 0; i < 5000; i++) globalThis['name' + i] = 'x'.repeat(1000)")
    names = fresh.ask({"op": "names", "max": 1000})["names"]
    assert names["total"] == 5000 and 100 < len(names["items"]) <= 1000
    fresh.run("let dead; { const t = () => dead2; } ")
    assert fresh.run("let dead2 = missing()").status == "error"
    assert fresh.names_after("1", "full")["total"] == 5002
