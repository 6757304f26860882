"""SIGINT stops a cell, wherever it is, and nothing else."""

from __future__ import annotations

import pytest
from node_peer import NodePeer

LOOPS = {
    "loop": "console.log('on'); while (true) {}",
    "awaiting loop": "console.log('on'); while (true) { await null }",
    "waits for ever": "console.log('on'); await new Promise(() => {})",
    "timer": "setTimeout(() => { console.log('on'); for (;;); }); await new Promise(() => {})",
    "interval": "setInterval(() => { console.log('on'); while (true) {} }, 1);"
    "await new Promise(() => {})",
    "immediate": "setImmediate(() => { console.log('on'); for (;;); });"
    "await new Promise(() => {})",
    "tick": "process.nextTick(() => { console.log('on'); for (;;); }); await new Promise(() => {})",
    "ticks": "const f = () => process.nextTick(f); f(); console.log('on');"
    "await new Promise(() => {})",
    "microtask": "queueMicrotask(() => { console.log('on'); for (;;); });"
    "await new Promise(() => {})",
    "microtasks": "const g = () => queueMicrotask(g); g(); console.log('on')",
    "promise callback": "Promise.resolve().then(() => { console.log('on'); for (;;); });"
    "await new Promise(() => {})",
    "immediates": "const h = () => setImmediate(h); h(); console.log('on');"
    "await new Promise(() => {})",
    "Atomics.wait": "console.log('on');"
    "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "regex": "console.log('on'); /^(a+)+$/.test('a'.repeat(40) + 'b')",
    "execSync": "console.log('on'); require('child_process').execSync('sleep 60')",
    "spawnSync": "console.log('on'); require('child_process').spawnSync('sleep', ['60']);"
    "for (;;);",
    "output": "for (;;) console.log('on')",
    "output of a cell's own": "const { log } = console; for (;;) { log('on'); await null }",
    "finally": "console.log('on'); try { for (;;); } finally { for (;;); }",
    "catch": "console.log('on'); for (;;) { try { for (;;); } catch {} }",
    "inspect": "({ [Symbol.for('nodejs.util.inspect.custom')]()"
    " { console.log('on'); for (;;); } })",
    "generator": "console.log('on'); [...(function* () { for (;;) yield 1 })()].length",
    "recursion": "console.log('on'); const r = () => { try { r() } finally { r() } }; r()",
    "emitter": "const e = new (require('events'))();"
    "e.on('x', () => { console.log('on'); for (;;); }); e.emit('x')",
    "async hooks": "const ah = require('async_hooks').createHook({ init() {}, before() {}, "
    "after() {} }).enable();"
    "setTimeout(() => { console.log('on'); for (;;); }); await new Promise(() => {})",
}


@pytest.mark.parametrize("code", LOOPS.values(), ids=LOOPS)
def test_a_cell_is_interrupted(fresh: NodePeer, code: str) -> None:
    fresh.run("let kept = { a: 1 }; setTimeout(() => {}, 1e6); globalThis.n = 0")
    running = fresh.begin(code)
    running.wait_for_output("on")
    fresh.interrupt()
    answer = running.finish(5)
    assert answer.status == "interrupted", answer
    assert answer.error["name"] == "Interrupted"
    for _ in range(3):
        answer = fresh.run("console.log('next'); await new Promise((r) => setTimeout(r, 2)); kept")
        assert (answer.status, answer.text, answer.stdout) == ("ok", "{ a: 1 }", "next\n")
