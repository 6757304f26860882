"""SIGINT stops a cell, wherever it is, and nothing else."""

from __future__ import annotations

import array
import os
import signal
import socket

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
@pytest.mark.sampled(2)
def test_a_cell_is_interrupted(fresh: NodePeer, code: str) -> None:
    fresh.run("let kept = { a: 1 }; setTimeout(() => {}, 1e6); globalThis.n = 0")
    running = fresh.begin(code)
    running.wait_for_output("on")
    fresh.interrupt_as_often_as_the_daemon()
    answer = running.finish()
    assert answer.status == "interrupted", answer
    assert answer.error["name"] == "Interrupted"
    for _ in range(3):
        answer = fresh.run("console.log('next'); await new Promise((r) => setTimeout(r, 2)); kept")
        assert (answer.status, answer.text, answer.stdout) == ("ok", "{ a: 1 }", "next\n")


def test_outside_a_cell_it_is_ignored(fresh: NodePeer) -> None:
    fresh.run("let kept = 1; setInterval(() => {}, 5)")
    for _ in range(20):
        fresh.stray_interrupt()
        assert fresh.value("kept") == "1"


def test_it_is_for_the_cell_that_is_on_its_way(fresh: NodePeer) -> None:
    payload = b'{"op":"exec","id":77,"code":"6*7"}'
    data = len(payload).to_bytes(4, "little") + payload
    pipes = [os.pipe(), os.pipe()]
    rights = array.array("i", [write for _, write in pipes])
    fresh.sock.sendmsg([data[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    for byte in data[1:]:
        fresh.sock.sendall(bytes((byte,)))
        fresh.interrupt()
    verdict = fresh.receive()
    assert (verdict["id"], verdict["status"]) in ((77, "interrupted"), (77, "ok"))
    for fd in sum(pipes, ()):
        os.close(fd)
    fresh.settle()
    assert fresh.value("6*7") == "42"


@pytest.mark.parametrize(
    "loop",
    [
        "setTimeout(() => { console.log('on'); for (;;); }, 5)",
        "setTimeout(async () => { console.log('on'); for (;;) await null }, 5)",
    ],
)
def test_a_loop_that_an_earlier_cell_left_behind(fresh: NodePeer, loop: str) -> None:
    fresh.run("let kept = 1")
    answer = fresh.run(loop + "; undefined")
    assert fresh.everything(answer, "on") == "on\n"
    running = fresh.begin("kept")
    fresh.interrupt_as_often_as_the_daemon()
    assert running.finish().status == "interrupted"
    fresh.settle()
    assert fresh.value("kept") == "1"


def test_listeners_are_called_and_the_cell_ends(fresh: NodePeer) -> None:
    fresh.run("let hits = 0; process.on('SIGINT', () => { hits++; console.log('heard') })")
    running = fresh.begin("console.log('on'); await new Promise(() => {})")
    running.wait_for_output("on")
    fresh.interrupt()
    answer = running.finish()
    assert (answer.status, answer.stdout) == ("interrupted", "on\nheard\n")
    running = fresh.begin("console.log('on'); for (;;);")
    running.wait_for_output("on")
    fresh.interrupt()
    assert running.finish().status == "interrupted"
    assert fresh.value("hits") == "2"
    fresh.run("process.removeAllListeners('SIGINT')")
    fresh.stray_interrupt()
    assert fresh.value("hits") == "2"
    fresh.run("process.once('SIGINT', () => { throw new Error('in the listener') })")
    running = fresh.begin("console.log('on'); await new Promise(() => {})")
    running.wait_for_output("on")
    fresh.interrupt()
    answer = running.finish()
    assert answer.status == "interrupted" and "in the listener" in answer.stderr


def test_other_signals_are_as_ever(fresh: NodePeer) -> None:
    fresh.run("let got = []; process.on('SIGUSR2', (s) => got.push(s))")
    code = (
        "const heard = new Promise((r) => process.once('SIGUSR2', r));"
        "process.kill(process.pid, 'SIGUSR2'); await heard; got"
    )
    assert fresh.value(code) == "[ 'SIGUSR2' ]"


def test_while_a_display_waits_it_comes_after_it(fresh: NodePeer) -> None:
    running = fresh.begin("display(1); console.log('shown'); for (;;);")
    assert fresh.receive()["ev"] == "display"
    for _ in range(20):
        fresh.interrupt()
    fresh.wait_until_delivered(signal.SIGINT)
    fresh.send({"op": "ack", "id": 1})
    assert running.finish().status == "interrupted"
    assert fresh.value("1+1") == "2"


def test_what_a_vm_leaves_behind(fresh: NodePeer) -> None:
    fresh.run("require('vm').runInThisContext('1', { breakOnSigint: true })")
    fresh.stray_interrupt()
    running = fresh.begin("console.log('on'); for (;;);")
    running.wait_for_output("on")
    fresh.interrupt()
    assert running.finish().status == "interrupted"


def test_garbage_collection_of_what_nobody_waits_for(fresh: NodePeer) -> None:
    for _ in range(3):
        running = fresh.begin("console.log('on'); await new Promise(() => {})")
        running.wait_for_output("on")
        fresh.interrupt()
        assert running.finish().status == "interrupted"
    churn = "for (let i = 0; i < 300; i++) new Array(1e5).fill(i).map(String); 'alive'"
    assert fresh.value(churn) == "'alive'"
    running = fresh.begin(
        "setTimeout(() => { for (let i = 0; i < 300; i++) new Array(1e5).fill(i).map(String);"
        "console.log('on') }); await new Promise(() => {})"
    )
    running.wait_for_output("on")
    fresh.interrupt()
    assert running.finish().status == "interrupted"
