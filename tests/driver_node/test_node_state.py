"""The state of a session, saved and put back into another: what is the same, what is told of."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import time
from typing import Callable, Iterator, List, Tuple

import pytest
from node_peer import NodePeer
from state_streams import State, ask_to_save, load, save
from states import Record, records_of

# What a cell makes, and what is true of it in the session that it was put back into.
KEPT: List[Tuple[str, str]] = [
    ("let n = 1.5, big = 2n ** 70n, text = 'héé\\0', yes = true, nothing = null, undef",
     "n === 1.5 && big === 2n ** 70n && text === 'héé\\0' && yes && nothing === null"
     " && undef === undefined"),
    ("let minus = -0, nan = NaN", "Object.is(minus, -0) && Number.isNaN(nan)"),
    ("const date = new Date(5), re = /a+/g; re.lastIndex = 3",
     "date.getTime() === 5 && re.source === 'a+' && re.flags === 'g' && re.lastIndex === 3"),
    ("const map = new Map([[1, { a: 2 }]]), set = new Set(['x'])",
     "map.get(1).a === 2 && set.has('x')"),
    ("const typed = new Float64Array([1, 2]); const half = typed.subarray(1)",
     "half.buffer === typed.buffer && (typed[1] = 7) && half[0] === 7"),
    ("const small = Buffer.from('hi'), view = new DataView(new ArrayBuffer(8), 2, 4)",
     "Buffer.isBuffer(small) && small.toString() === 'hi' && view.byteLength === 4"),
    ("const oops = Object.assign(new TypeError('bad'), { code: 'E1' })",
     "oops instanceof TypeError && oops.message === 'bad' && oops.code === 'E1'"),
    ("const one = { list: [1] }; const other = { list: one.list }; one.self = one",
     "one.list === other.list && one.self === one"),
    ("const sparse = [1, , 3]; sparse.extra = 'x'",
     "sparse.length === 3 && !(1 in sparse) && sparse.extra === 'x'"),
    ("const frozen = Object.freeze({ a: 1 }); const sealed = Object.seal([1])",
     "Object.isFrozen(frozen) && Object.isSealed(sealed)"),
    ("const bare = Object.create(null); bare.x = 1; var heir = Object.create({ inherited: 4 })",
     "Object.getPrototypeOf(bare) === null && heir.inherited === 4"
     " && !('inherited' in { ...heir })"),
    ("const hidden = Object.defineProperty({}, 'x', { value: 3 }); hidden[Symbol.for('k')] = 4",
     "hidden.x === 3 && Object.keys(hidden).length === 0 && hidden[Symbol.for('k')] === 4"),
    ("let counter = 1; function count() { return counter }", "(counter = 8) && count() === 8"),
    ("const double = (x) => x * 2; const async1 = async () => 1; function* gen() { yield 5 }",
     "double(4) === 8 && double.name === 'double' && [...gen()][0] === 5"
     " && async1() instanceof Promise"),
    ("function tagged() {} tagged.calls = [1]; tagged.prototype.hello = () => 'hi'",
     "tagged.calls[0] === 1 && new tagged().hello() === 'hi'"),
    ("class Animal { static made = 0; constructor(n) { this.n = n; Animal.made++ }"
     " get loud() { return this.n.toUpperCase() } }"
     " class Dog extends Animal { speak() { return `${this.loud}!` } }"
     " const rex = new Dog('rex'); const pack = [rex, new Animal('x')]",
     "rex.speak() === 'REX!' && rex instanceof Dog && pack[0] === rex && Animal.made === 2"
     " && new Dog('y') instanceof Animal"),
    ("class Bag extends Map { total() { return this.size } } const bag = new Bag([[1, 2]])",
     "bag instanceof Bag && bag.total() === 1"),
    ("class Failure extends Error { constructor(m) { super(m); this.name = 'Failure' } }"
     " const failure = new Failure('why')",
     "failure instanceof Failure && failure.name === 'Failure' && failure.message === 'why'"),
    ("const api = { base: 2, scaled(x) { return x * this.base },"
     " get twice() { return 2 * this.base }, on: { click: () => counter } }",
     "api.scaled(3) === 6 && api.twice === 4 && api.on.click() === counter"),
    ("const handlers = new Map([['a', (x) => x + 1]])", "handlers.get('a')(1) === 2"),
    ("const fsm = require('fs'), { join } = require('path'), log = console.log",
     "fsm === require('fs') && join('a', 'b') === 'a/b' && log === console.log"),
    ("import os, { EOL } from 'node:os'; import * as url from 'url'; import { parse } from 'url'",
     "os.platform() === 'linux' && EOL === '\\n' && url.parse === parse"),
    ("globalThis.shared = 5; var classic = 6; _private = 7",
     "shared === 5 && delete globalThis.shared && classic === 6 && _private === 7"),
    ("const registered = Symbol.for('x'), iterator = Symbol.iterator",
     "registered === Symbol.for('x') && iterator === Symbol.iterator"),
    ("process.env.MADE = 'yes'; delete process.env.HOME",
     "process.env.MADE === 'yes' && process.env.HOME === undefined"),
]  # fmt: skip

# What cannot be saved, and the names and types that are told of.
LOST = [
    ("const later = Promise.resolve(1)", "later", "Promise"),
    ("const ghost = new Proxy({}, { get() { throw 1 } })", "ghost", "Proxy"),
    ("const secret = Symbol('s')", "secret", "symbol"),
    ("const running = (function* () { yield 1 })()", "running", "Object"),
    ("const closed = (() => { let inner = 1; return () => inner })()", "closed", "function"),
    ("const bound = function () {}.bind(1)", "bound", "function"),
    ("class Safe { #pin = 1 } const safe = new Safe()", "safe", "Safe"),
    ("const weak = new WeakMap()", "weak", "WeakMap"),
    ("const job = { data: [1], timer: setTimeout(() => {}, 1e6) }", "job.timer", "Timeout"),
    ("const icy = Object.freeze({ p: Promise.resolve() })", "icy", "Object"),
    ("const where = new URL('http://x/')", "where", "URL"),
    ("Object.defineProperty(globalThis, 'lazy', { get() { throw 1 }, configurable: true })",
     "lazy", "getter"),
    ("class Field { f = () => this } const field = new Field()", "field.f", "function"),
    ("const memory = new SharedArrayBuffer(8)", "memory", "SharedArrayBuffer"),
]  # fmt: skip


@pytest.fixture(scope="module")
def saved(start: Callable[..., NodePeer], tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A session that has made all that, its state, and a session that it was put back into."""
    before = start(cwd=str(tmp_path_factory.mktemp("before")))
    (pathlib.Path(before.value("process.cwd()").strip("'")) / "mine.js").write_text(
        "let calls = 0; exports.next = () => ++calls; exports.data = { a: 1 }"
    )
    before.run("const mine = require('./mine'); const { next, data } = mine; data.a = 2")
    for code, *_ in [*KEPT, *LOST]:
        answer = before.run(code)
        assert answer.status == "ok", answer
    state = save(before)
    after = start()
    answer = load(after, state)
    yield before, state, after, answer
    before.close()
    after.close()


Saved = Tuple[NodePeer, State, NodePeer, dict]


def test_all_is_kept(saved: Saved) -> None:
    before, _, after, answer = saved
    assert answer["message"] is None
    for _, check in KEPT:
        assert after.value(check) == "true", check
    folder = before.value("process.cwd()")
    assert after.value("process.cwd()") == folder
    assert after.value("[next(), data.a, mine.next === next]") == "[ 1, 2, true ]"


def test_what_came_back_is_not_new(fresh: NodePeer, start: Callable[..., NodePeer]) -> None:
    fresh.run("let n = 1; var text = 'x'; function f() {}")
    after = start()
    load(after, save(fresh))
    assert after.names_after("1") == {"total": 3}
    assert after.names_after("n = 2; let more = 3") == {
        "total": 4, "added": ["more"], "changed": ["n"]}
    after.close()


def test_the_rest_is_told(saved: Saved) -> None:
    _, state, after, answer = saved
    for _, name, type_name in LOST:
        assert state.lost.get(name) == type_name, (name, state.lost)
    told = {lost["name"]: lost["advice"] for lost in answer["lost"]}
    assert told["later"] == "Note: 'later' (Promise) not persisted - await it and keep the result"
    assert "private fields" in told["safe"] and "variables of the function" in told["closed"]
    assert state.lost["(running)"] == "Timeout"
    assert set(told) == set(state.lost)
    assert after.value("[job.data, job.timer]") == "[ [ 1 ], undefined ]"
    assert after.value("typeof later") == "'undefined'"


def test_saving_changes_nothing(saved: Saved) -> None:
    before, state, *_ = saved
    code = "[typeof api.scaled, typeof handlers.get('a'), typeof job.timer, rex.speak(), api.twice]"
    assert before.value(code) == "[ 'function', 'function', 'object', 'REX!', 4 ]"
    assert save(before).bodies() == state.bodies(), "unchanged names have unchanged bytes"


def test_names_are_as_cells_declare_them(saved: Saved) -> None:
    after = saved[2]
    assert after.run("date = 1").error["name"] == "TypeError", "a constant"
    assert after.value("n = 2; let n = 3; const date = 4; class Dog {} n + date") == "7"
    assert after.value("delete globalThis.classic") == "false"


def test_a_state_is_saved_again(saved: Saved, start: Callable[..., NodePeer]) -> None:
    """Functions that were put back are as good as those that a cell defined."""
    peer = start()
    load(peer, saved[1])
    again = save(peer)
    assert again.lost == {}
    third = start()
    assert load(third, again)["lost"] == []
    code = "[rex.speak(), api.on.click(), double(3), bag.total()]"
    assert third.value(code) == "[ 'REX!', 1, 6, 1 ]"
    peer.close()
    third.close()


def test_only_what_changed_is_another(fresh: NodePeer) -> None:
    fresh.run("const table = 'x'.repeat(5000); let i = 0; const a = { p: [1] }, b = { p: a.p }")
    before = save(fresh).bodies()
    assert set(before) >= {"variables:i", "variables:table", "variables:a,b"}
    fresh.run("i++")
    after = save(fresh).bodies()
    assert [names for names in before if before[names] != after[names]] == ["variables:i"]


def test_limits(fresh: NodePeer) -> None:
    fresh.run("const large = new Uint8Array(3 << 20)")
    state = save(fresh, max_bytes=1 << 20)
    assert state.last["rec"] == "failed" and "STATE_MAX_SIZE_MB = 1" in state.last["message"]
    state = save(fresh, format="namespace")
    assert state.last["rec"] == "failed" and "namespace" in state.last["message"]
    fresh.run("let deep = {}; for (let i = 0, at = deep; i < 1e5; i++) at = at.next = {}")
    state = save(fresh)
    assert state.lost == {"deep": "Object"} and state.last == {"rec": "end"}


def test_too_many_objects(fresh: NodePeer) -> None:
    fresh.run("const many = Array.from({ length: 3e6 }, (_, i) => ({ i }))")
    last = save(fresh, max_bytes=1 << 40).last
    assert last["rec"] == "failed" and "longer than 1000 ms" in last["message"]
    assert fresh.value("many.length") == "3000000"


def test_time_that_others_took_does_not_count(fresh: NodePeer) -> None:
    fresh.run("const some = Array.from({ length: 2e5 }, (_, i) => ({ i }))")
    stream = ask_to_save(fresh)
    assert stream.recv(1) == b"s"
    time.sleep(0.02)  # so that it looks at them, most often
    os.kill(fresh.pid, signal.SIGSTOP)
    time.sleep(1.1)
    os.kill(fresh.pid, signal.SIGCONT)
    data = b""
    while part := stream.recv(1 << 20):
        data += part
    assert records_of(data)[-1].header == {"rec": "end"}


def test_nobody_reads(fresh: NodePeer) -> None:
    fresh.run("const large = new Uint8Array(3 << 20).fill(1)")
    ask_to_save(fresh).close()
    assert fresh.value("large.length") == "3145728"


def test_what_is_no_state(fresh: NodePeer, saved: Saved) -> None:
    cut = State(saved[1].records[:-1])
    assert "cut short" in load(fresh, cut)["message"]
    begin, end = saved[1].records[0], saved[1].records[-1]
    header = {"rec": "blob", "kind": "variables", "names": ["v"], "body": True}
    answer = load(fresh, State([begin, Record(header, b"nonsense"), end]))
    assert answer["message"] is None and answer["lost"][0]["name"] == "v"
    assert fresh.value("1 + 1") == "2"


def test_what_is_missing_later(start: Callable[..., NodePeer], tmp_path: pathlib.Path) -> None:
    peer = start(cwd=str(tmp_path))
    (tmp_path / "gone.js").write_text("module.exports = { x: 1 }")
    peer.run("const gone = require('./gone'); class Base {} class Heir extends Base {}")
    peer.run("const heir = new Heir(); let fine = 1")
    state = save(peer)
    (tmp_path / "gone.js").unlink()
    other = start()
    answer = load(other, state)
    assert [lost["name"] for lost in answer["lost"]] == ["gone"]
    assert "Cannot find module" in answer["lost"][0]["advice"]
    assert other.value("[fine, heir instanceof Base]") == "[ 1, true ]"
    peer.close()
    other.close()


def test_it_is_not_forked(fresh: NodePeer) -> None:
    """And a cell that is on its way has its own descriptors."""
    ours, theirs = socket.socketpair()
    fresh.run("let x = 1")
    fresh.send({"op": "checkpoint", "id": 4}, (theirs.fileno(),))
    stream = ask_to_save(fresh)
    running = fresh.begin("console.log(x)")
    reason = "Node.js cannot be forked; its saved copy is used"
    answer = {"ev": "checkpoint", "id": 4, "forked": False, "threads": 1, "reason": reason}
    assert fresh.receive() == answer
    assert stream.recv(1) == b"s"
    while stream.recv(1 << 16):
        pass
    assert running.finish().stdout == "1\n"
    theirs.close()
    assert ours.recv(1) == b""


def test_no_code_of_the_user_runs(fresh: NodePeer, start: Callable[..., NodePeer]) -> None:
    fresh.run(
        "let calls = 0; const count = () => { calls++; return undefined };"
        "const trap = new Proxy({}, { get: count, getPrototypeOf() { calls++; return null },"
        " ownKeys() { calls++; return [] }, getOwnPropertyDescriptor: count });"
        "const heir = Object.create(trap), list = [1]; const fn = new Proxy(function () {}, {"
        " get: count, getOwnPropertyDescriptor: count });"
        "Object.defineProperty(list, 0, { get: count, enumerable: true, configurable: true });"
        "class Odd {} Odd.prototype = trap; const o = { get x() { calls++; return 1 }, y: 2 };"
        "Object.defineProperty(globalThis, 'g', { get: count, configurable: true })"
    )
    fresh.run(
        "for (const [type, name] of [[Array, 'reduce'], [Array, 'includes'],"
        " [Set, 'has'], [Object, 'toString'], [Function, 'toString'], [Buffer, 'writeUInt32LE'],"
        " [Uint8Array, 'subarray']]) Object.defineProperty(type.prototype, name, { value: count });"
        "calls = 0"
    )
    state = save(fresh)
    assert state.last == {"rec": "end"}, state.last
    assert fresh.value("calls") == "0"
    other = start()
    answer = load(other, state)
    assert answer["message"] is None
    assert other.value("[o.x, o.y, typeof heir, typeof trap]") == (
        "[ 1, 2, 'undefined', 'undefined' ]"
    )
    other.close()
