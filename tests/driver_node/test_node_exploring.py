"""Calls of the daemon's operations by the code of a cell; the test is the daemon."""

from __future__ import annotations

from node_peer import NodePeer


def test_a_call_and_its_answer(fresh: NodePeer) -> None:
    fresh.explores = True
    running = fresh.begin("grep('a\\ud800', { contextLines: 0, maxResults: 3 })")
    question = fresh.receive()
    assert (question["ev"], question["op"]) == ("call", "explore.grep")
    assert question["args"] == {"pattern": "a\ufffd", "context_lines": 0, "max_results": 3}
    fresh.send({"op": "result", "id": running.cell_id, "result": {"lines": ["1: ab"]}})
    assert running.finish().text == "[ '1: ab' ]"
    assert fresh.names_after("1", "full")["total"] == 1  # artifacts


def test_an_interrupt_ends_the_wait_and_a_late_answer_is_nobodys(fresh: NodePeer) -> None:
    fresh.explores = True
    for code in ("peek()", "setImmediate(() => peek()); await new Promise(() => {})"):
        running = fresh.begin(f"try {{ {code} }} finally {{ console.log('on') }}")
        assert fresh.receive()["op"] == "explore.peek"
        fresh.interrupt_as_often_as_the_daemon()
        answer = running.finish()
        assert (answer.status, answer.stdout) == ("interrupted", "")
        fresh.send({"op": "result", "id": running.cell_id, "result": {"text": "x" * 100_000}})
        assert fresh.value("1 + 1") == "2"


def test_what_the_user_breaks_is_not_the_drivers(fresh: NodePeer) -> None:
    fresh.explores = True
    fresh.run("JSON.parse = null; Object.defineProperty(Object.prototype, 'error',"
              " { get() { throw 1 } }); var peek = 7")
    assert fresh.value("peek") == "7"
    running = fresh.begin("contextLen()")
    fresh.receive()
    fresh.send({"op": "result", "id": running.cell_id, "result": {"chars": 5}})
    assert running.finish().text == "5"
