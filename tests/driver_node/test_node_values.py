"""What a cell gives back, and what it finds."""

from __future__ import annotations

import base64
import pathlib
from typing import Callable

import pytest
from node_peer import NodePeer

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03" + bytes(20)).decode()


@pytest.mark.parametrize(
    "code, text",
    [
        ("1+1", "2"),
        ("let x = 5\nx + 1", "6"),
        ("'a' + 'b'", "'ab'"),
        ("undefined", None),
        ("null", "null"),
        ("var v = 3", None),
        ("-0", "-0"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("2n ** 70n", "1180591620717411303424n"),
        ("Symbol('s')", "Symbol(s)"),
        ("true", "true"),
        ("'it\\'s'", '"it\'s"'),
        ("[1, 2, [3, {a: 1}]]", "[ 1, 2, [ 3, { a: 1 } ] ]"),
        ("new Map([[1, 2]])", "Map(1) { 1 => 2 }"),
        ("(function f() {})", "[Function: f]"),
        ("class A {}; new A()", "A {}"),
        ("await 7", "7"),
        ("await Promise.resolve({a: 1})", "{ a: 1 }"),
        ("const { y } = await Promise.resolve({ y: 3 }); y", "3"),
        ("for await (const n of [Promise.resolve(1), 2]) n", "2"),
        ("if (true) { 5 } else { 6 }", "5"),
        ("{a: 1}", "{ a: 1 }"),
        ("{a: await 1, b: [2]}", "{ a: 1, b: [ 2 ] }"),
        ("{ let inner = 4; inner }", "4"),
        ("{}", "{}"),
        ("", None),
        ("// nothing", None),
        ("5 // five", "5"),
        ("/* a */ 6 /* b */", "6"),
        ("`a\nb`", "'a\\nb'"),
        ("'\\u{1f600} é'", "'😀 é'"),
        ("var ünï = 2; ünï", "2"),
        ("1+1\r\n", "2"),
        ("#!/usr/bin/env node\n7", "7"),
        ("new Proxy({}, {})", "Proxy [ {}, {} ]"),
        ("[1,2,3].map((n) => n * 2)", "[ 2, 4, 6 ]"),
        ("Buffer.from('ab')", "<Buffer 61 62>"),
        ("new Error('quiet').message", "'quiet'"),
        ("async () => 1", "[AsyncFunction (anonymous)]"),
        ("Promise.resolve(4)", "Promise { 4 }"),
    ],
)
def test_the_last_value_is_shown_as_the_repl_does(shared: NodePeer, code: str, text: str) -> None:
    answer = shared.run(code)
    assert answer.status == "ok", answer
    assert answer.text == text
    assert (answer.stdout, answer.stderr) == ("", "")


def test_declarations_survive_and_may_be_made_again(fresh: NodePeer) -> None:
    fresh.run("let a = 1; const b = 2; class C { m() { return 3 } } function f() { return 4 }")
    assert fresh.value("[a, b, new C().m(), f()]") == "[ 1, 2, 3, 4 ]"
    fresh.run("let a = 10; const b = 20; class C { m() { return 30 } } function f() { return 40 }")
    assert fresh.value("[a, b, new C().m(), f()]") == "[ 10, 20, 30, 40 ]"
    assert fresh.run("b = 1").error["name"] == "TypeError"
    assert fresh.run("let broken = missing()").status == "error"
    assert fresh.value("let broken = 5; broken") == "5"
    fresh.run("await 1; let later = 6")
    assert fresh.value("const g = () => later; let later = 7; [g(), later]") == "[ 7, 7 ]"


def test_promises_are_shown_without_what_follows_them(shared: NodePeer) -> None:
    assert shared.run("console.log(new Promise(() => {}))").stdout == "Promise { <pending> }\n"
    assert shared.value("[Promise.resolve(1), (async () => 2)()]") == (
        "[ Promise { 1 }, Promise { 2 } ]"
    )


def test_sloppy_and_strict(fresh: NodePeer) -> None:
    assert fresh.value("undeclared = 5; undeclared") == "5"
    assert fresh.run("'use strict'; alsoUndeclared = 5").error["name"] == "ReferenceError"
    assert fresh.value("this === globalThis") == "true"


def test_underscore_is_the_last_value(fresh: NodePeer) -> None:
    fresh.run("6 * 7")
    fresh.run("let quiet = 1")
    assert fresh.value("_") == "42"
    fresh.run("null.x")
    assert fresh.value("_error.name") == "'TypeError'"
    fresh.run("_ = 'mine'")
    fresh.run("8")
    assert fresh.value("_") == "'mine'"


def test_what_a_cell_finds(shared: NodePeer) -> None:
    names = "[typeof require, typeof module, typeof exports, typeof fs.readFileSync, typeof os]"
    assert shared.value(names) == "[ 'function', 'object', 'object', 'function', 'object' ]"
    assert shared.value("const path = require('path'); path.basename('/a/b')") == "'b'"
    assert shared.value("typeof __filename") == "'undefined'"
    assert shared.value("process.argv.length + process.execArgv.length") == "1"
    assert shared.value("Object.keys(require.cache)") == "[]"
    assert shared.value("Object.keys(globalThis).includes('require')") == "false"
    assert shared.value("require.main === undefined && process.mainModule === undefined") == "true"
    assert shared.value("require('module').builtinModules.some((n) => /^internal/.test(n))") == (
        "false"
    )


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "plain.js").write_text("exports.kind = 'plain'")
    (tmp_path / "modern.mjs").write_text("export const kind = 'modern'; export default 9")
    (tmp_path / "data.json").write_text('{"a": 1}')
    package = tmp_path / "node_modules" / "both"
    package.mkdir(parents=True)
    (package / "package.json").write_text(
        '{"name":"both","exports":{"import":"./i.mjs","require":"./r.js"}}'
    )
    (package / "i.mjs").write_text("export const how = 'imported'")
    (package / "r.js").write_text("exports.how = 'required'")
    return tmp_path


def test_modules_of_the_current_folder(start: Callable, folder: pathlib.Path) -> None:
    peer = start(cwd=str(folder))
    assert peer.value("require('./plain').kind + require('both').how") == "'plainrequired'"
    assert peer.value("require('./data').a") == "1"
    assert peer.value("(await import('./modern.mjs')).kind") == "'modern'"
    assert peer.value("(await import('both')).how") == "'imported'"
    assert peer.value("import nine, { kind as k } from './modern.mjs'\n[nine, k]") == (
        "[ 9, 'modern' ]"
    )
    assert peer.value("import nine, * as all from './modern.mjs'\n[nine, all.kind]") == (
        "[ 9, 'modern' ]"
    )
    assert peer.value("import 'both'\nimport {\n  how\n} from 'both'\nhow") == "'imported'"
    assert peer.value("const load = () => import('os')\nload().then((os) => os.EOL)") is not None
    assert peer.value("(await load()).EOL") == "'\\n'"
    assert peer.value("'no import(here)'") == "'no import(here)'"
    assert peer.value("`${(await import('path')).sep} import('x')`") == "\"/ import('x')\""
    (folder / "package.json").write_text('{"type":"module"}')
    (folder / "sub").mkdir()
    (folder / "sub" / "x.cjs").write_text("module.exports = 'deep'")
    assert peer.value("process.chdir('sub'); require('./x.cjs')") == "'deep'"
    assert peer.value("(await import('./x.cjs')).default") == "'deep'"
    answer = peer.run("const a = 1\nawait import('./missing.mjs')")
    assert answer.error["name"] == "Error" and "missing.mjs" in answer.error["message"]
    assert "host.js" not in answer.traceback
    peer.close()


def test_a_value_that_cannot_be_shown(shared: NodePeer) -> None:
    custom = "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') } })"
    answer = shared.run(custom)
    assert answer.status == "ok" and "cannot be shown" in answer.text
    assert shared.run("({ get [Symbol.toStringTag]() { throw 1 } })").status == "ok"


def test_a_gigantic_value_is_bounded(shared: NodePeer) -> None:
    assert len(shared.value("Array.from({ length: 1e5 }, (_, i) => 'x'.repeat(500))")) < 1 << 21
    assert len(shared.value("'x'.repeat(3e7)")) < 1 << 21
    assert shared.run("let deep = []; for (let i = 0; i < 1e5; i++) deep = [deep]; deep").text


def test_text_that_json_cannot_carry(shared: NodePeer) -> None:
    assert shared.value("'a\\0b'") == "'a\\x00b'"
    assert shared.value("'\\ud800'").lower() == "'\\ud800'"
    assert shared.run("console.log('a\\ud800b')").stdout == "a\ufffdb\n"
    assert "\\x00" in shared.run("throw new Error('a\\0b')").error["message"]
    assert shared.run("throw new Error('a\\udc00b')").error["message"] == "a\ufffdb"


def test_displays_keep_their_order_with_prints(shared: NodePeer) -> None:
    answer = shared.run("console.log('a'); display(1); console.log('b'); display('c', 2)")
    one, c, two = ({"type": "text", "text": text} for text in ("1", "'c'", "2"))
    assert answer.events == ["a\n", one, "b\n", c, two]


def test_typed_displays(shared: NodePeer) -> None:
    code = (
        "display.html('<b>x</b>'); display.markdown('*m*'); display.svg('<svg/>');"
        "display.json({ a: [1, '\\0'] }); display.latex('x^2')"
    )
    html, markdown, svg, json, latex = shared.run(code).displays
    assert html == {"type": "html", "html": "<b>x</b>"}
    assert markdown == {"type": "markdown", "text": "*m*"}
    assert svg == {"type": "svg", "svg": "<svg/>"}
    assert (json["type"], json["json"]) == ("json", {"a": [1, "\\x00"]})
    assert latex == {"type": "latex", "text": "x^2"}
    image = shared.run(f"display(Buffer.from('{PNG}', 'base64'))").displays[0]
    assert (image["type"], image["format"]) == ("image", "png")
    assert (image["width"], image["height"], image["data"]) == (2, 3, PNG)
    table = shared.run("display([{ a: 1, b: '<i>' }, { a: 2, c: true }])").displays[0]
    assert table["type"] == "html" and "<td>&lt;i&gt;</td>" in table["html"]
    assert "<th>c</th>" in table["html"] and "a: 1" in table["text"]
    circular = shared.run("const loop = {}; loop.loop = loop; display.json(loop)").displays[0]
    assert circular["type"] == "text"


def test_tables_of_any_rows(shared: NodePeer) -> None:
    table = shared.run("display.table([[1, 'x<'], [2, 'y']])").displays[0]
    assert table["type"] == "html" and "<td>x&lt;</td>" in table["html"]
    table = shared.run("display.table(new Set([1, { value: 2 }]))").displays[0]
    assert "<th>value</th>" in table["html"] and "<td>2</td>" in table["html"]
    assert shared.run("display.table([])").displays[0] == {"type": "text", "text": "[]"}
    table = shared.run("display.table(Array(5000).fill({ a: 1 }))").displays[0]
    assert "<caption>4000 rows more</caption>" in table["html"]
    image = shared.run(f"display.image(Buffer.from('{PNG}', 'base64'))").displays[0]
    assert image["type"] == "image" and image["format"] == "png"
    assert shared.run("display.image('no image')").displays[0]["type"] == "text"


def test_a_late_display_is_printed(fresh: NodePeer) -> None:
    answer = fresh.run("setTimeout(() => display(41 + 1), 5)")
    assert fresh.everything(answer, "42") == "42\n"
    assert fresh.value("1") == "1"


def test_a_long_string_is_cut_before_it_is_shown(fresh: NodePeer) -> None:
    text = fresh.value("'x'.repeat(2 ** 27)")
    assert len(text) < 11_000 and text.endswith(f"xx'... {2 ** 27 - 10_000} more characters")
