"""What user code does to the interpreter it shares with the driver."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from node_peer import NodePeer
from peer import PATIENCE

ABUSES = {
    "JSON": "JSON.parse = JSON.stringify = null; delete globalThis.JSON",
    "arrays": "for (const k of Object.getOwnPropertyNames(Array.prototype))"
    " if (k !== 'length') try { Array.prototype[k] = () => { throw 1 } } catch {}",
    "every prototype": "for (const C of [Map, Set, WeakMap, WeakRef, RegExp, Number, Symbol])"
    " for (const k of Object.getOwnPropertyNames(C.prototype))"
    " try { C.prototype[k] = null } catch {}",
    "strings": "for (const k of ['slice', 'includes', 'replace', 'split', 'startsWith'])"
    " String.prototype[k] = () => { throw 1 }",
    "objects": "Object.keys = Object.assign = Object.defineProperty = null; Object.prototype.x = 1",
    "toJSON": "Object.prototype.toJSON = () => 'fooled'; String.prototype.toJSON = () => 'fooled'",
    "setters": "for (const k of ['id', 'ev', 'value', 'status', 'result', 'error', 'code', 'name'])"
    " Object.defineProperty(Object.prototype, k, { set() { throw 1 }, get() { throw 2 },"
    " configurable: true })",
    "promises": "Promise.prototype.then = () => { throw 1 }; globalThis.Promise = null",
    "async ids": "Object.setPrototypeOf(Promise.prototype, null)",
    "Reflect": "for (const k of Object.getOwnPropertyNames(Reflect)) Reflect[k] = null",
    "Buffer": "Buffer.from = null; Buffer.prototype.toString = null; delete globalThis.Buffer",
    "process": "process.stdout = process.stderr = 5; process.nextTick = null; process.emit = null;"
    "process.cwd = null; process.listenerCount = null",
    "no stdout": "delete process.stdout; delete process.stderr; delete process.stdin",
    "console": "globalThis.console = null",
    "timers": "globalThis.setImmediate = globalThis.setTimeout = globalThis.queueMicrotask = null",
    "listeners": "process.removeAllListeners()",
    "fatal": "process._fatalException = null; delete process._fatalException",
    "inspector": "const i = require('inspector'); i.Session.prototype.post = null; i.close()",
    "modules": "require('module').prototype.require = null; require('module')._load = null",
    "util": "const u = require('util'); u.inspect = null; u.types = {}",
    "inspect options": "require('util').inspect.defaultOptions = { depth: 0, colors: true }",
    "async hooks": "const { AsyncLocalStorage: A } = require('async_hooks');"
    "A.prototype.getStore = A.prototype.run = null",
    "streams": "const s = require('stream'); s.Writable.prototype.write = null;"
    "require('events').prototype.on = null; require('events').prototype.emit = null",
    "frozen": "for (const o of [Object, Object.prototype, Array, Array.prototype,"
    " Function.prototype, Promise, Promise.prototype, process, String.prototype]) Object.freeze(o)",
    "frozen global": "Object.freeze(globalThis)",
    "no globals": "for (const k of Object.getOwnPropertyNames(globalThis))"
    " try { delete globalThis[k] } catch {}",
    "error": "Error.prepareStackTrace = () => { throw 1 }; Error.stackTraceLimit = 0",
    "error name": "Object.defineProperty(Error.prototype, 'name', { get() { throw 1 } })",
    "captures": "process.setUncaughtExceptionCaptureCallback(() => {})",
    "exec argv": "process.argv = process.execArgv = process.env = null",
    "chdir": "process.chdir('/')",
    "title": "process.title = 'x'.repeat(500)",
    "contexts": "const vm = require('vm'); vm.runInNewContext('x = 1', {});"
    "vm.createContext(globalThis)",
    "domain": "const d = require('domain').create(); d.run(() => {})",
    "umask": "process.umask(0o777); process.setgid = null",
    "strict proto": "Object.setPrototypeOf(globalThis, null)",
    "v8": "const v8 = require('v8'); v8.setFlagsFromString('--no-opt');"
    "v8.promiseHooks.onInit(() => {})",
    "our names": "globalThis.display = 1; globalThis.require = 2; globalThis.module = 3",
    "uncaught": "setImmediate(() => { throw 1 }); process.nextTick(() => { throw 2 })",
    "garbage": "for (let i = 0; i < 50; i++) new Array(1e5).fill({})",
}


@pytest.mark.parametrize("code", ABUSES.values(), ids=ABUSES)
@pytest.mark.sampled(2)
def test_the_driver_survives(fresh: NodePeer, code: str) -> None:
    assert fresh.run(code).status in ("ok", "error")
    if "Promise.prototype.then" in code and fresh.run("1").status == "error":
        assert fresh.version() < 20  # whose `await` calls what then() is now
        return
    assert fresh.value("1+1") == "2"
    answer = fresh.run("null.x")
    assert answer.status == "error"
    assert fresh.value("let after = 5; after * 2") == "10"
    assert fresh.value("({ a: [1] })") is not None
    running = fresh.begin("for (;;);")
    fresh.wait_until_it_works()
    fresh.interrupt()
    assert running.finish().status == "interrupted"
    assert fresh.value("after + 1") == "6"


def test_sources_of_the_driver_are_not_modules(shared: NodePeer) -> None:
    assert shared.run("require('./session')").status == "error"
    assert shared.value("Object.keys(require.cache).length") == "0"
    names = "Object.getOwnPropertyNames(globalThis).filter((name) => /cella/i.test(name))"
    assert shared.value(names) == "[]"


def test_closing_every_descriptor_ends_the_session_only(start) -> None:
    peer = start()
    running = peer.begin("for (let fd = 3; fd < 64; fd++) try { fs.closeSync(fd) } catch {}")
    with pytest.raises((EOFError, ConnectionError)):
        running.finish()
    peer.process.wait(PATIENCE)
    peer.close()


def test_garbage_on_the_socket(start) -> None:
    peer = start()
    peer.begin("fs.writeSync(3, 'garbage, not a frame')")
    data = peer.sock.recv(7)
    assert data == b"garbage"
    peer.close()


def test_frames_of_no_known_kind_are_ignored(fresh: NodePeer) -> None:
    for frame in ({"op": "dance"}, {"op": "ack", "id": 5}, {"op": "input", "id": 9, "text": "x"}):
        fresh.send(frame)
    assert fresh.value("1+1") == "2"


def test_a_large_cell_arrives_whole(shared: NodePeer) -> None:
    assert shared.value("'" + "x" * 900_000 + "'.length") == "900000"
    assert shared.value("/* " + "é" * 300_000 + " */ 5") == "5"


def test_a_storm_of_signals(fresh: NodePeer) -> None:
    """Between cells, during frames, while compiling and answering."""
    stop = threading.Event()

    def storm() -> None:
        while not stop.is_set():
            os.kill(fresh.pid, signal.SIGINT)
            time.sleep(0.0005)

    cells = ["console.log('x'); 5", "null.x", "await 1; ({ a: 1 })",
             "for (let i = 0; i < 1e6; i++);",
             "await new Promise((r) => setTimeout(r, 1))", "setTimeout(() => {}, 1); display(1)",
             "import('fs')", "(async () => { for (;;) await null })()"]  # fmt: skip
    thread = threading.Thread(target=storm)
    thread.start()
    try:
        for number in range(160):
            answer = fresh.run(cells[number % len(cells)])
            assert answer.status in ("ok", "error", "interrupted")
    finally:
        stop.set()
        thread.join()
    fresh.run("1")
    assert fresh.value("1+1") == "2"
    assert fresh.run("await new Promise((r) => setTimeout(r, 5)); console.log('fine')").stdout == (
        "fine\n"
    )
