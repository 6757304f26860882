"""The builtin explore calls the daemon's operations; the test is the daemon."""

from __future__ import annotations

import os
import pathlib
import signal

import pytest
from shell import Shell


def test_a_call_and_its_answer(shell: Shell) -> None:
    shell.explores = True
    running = shell.begin("explore grep $'a\\xff' --context-lines 0 --max-results=3 --case")
    question = shell.receive()
    assert (question["ev"], question["op"]) == ("call", "explore.grep")
    assert question["args"] == {
        "pattern": "a\ufffd", "context_lines": 0, "max_results": 3, "case": True}
    shell.send({"op": "result", "id": running.cell_id,
                "result": {"count": 2, "lines": ['1: "a\\]"', "2: é\n"], "more": {"x": [-1.5]}}})
    assert running.finish().stdout == '1: "a\\]"\n2: é\n'


@pytest.mark.parametrize("code", ["explore peek", "x=$(explore peek)", "explore peek | cat"])
def test_an_interrupt_ends_the_wait_and_a_late_answer_is_nobodys(shell: Shell, code: str) -> None:
    shell.explores = True
    for _ in range(3):
        running = shell.begin(f"{code}; echo on")
        assert shell.receive()["op"] == "explore.peek"
        shell.interrupt_as_often_as_the_daemon()
        answer = running.finish()
        assert (answer.status, answer.stdout) == ("interrupted", "")
        shell.send({"op": "result", "id": running.cell_id, "result": {"text": "x" * 100_000}})
        assert shell.out("echo next") == "next\n"


def test_a_cell_does_not_wait_for_calls_in_the_background(
    shell: Shell, tmp_path: pathlib.Path
) -> None:
    shell.explores = True
    running = shell.begin("{ (explore peek > said); touch over; } & until [ -e go ]; do :; done")
    assert shell.receive()["ev"] == "call"
    (tmp_path / "go").touch()
    assert running.finish().status == "ok"
    assert "the cell is over" in shell.out("until [ -e over ]; do sleep 0.01; done; cat said")


def test_a_question_and_a_call_take_turns(shell: Shell) -> None:
    shell.explores = True
    running = shell.begin("explore peek > said & read x; wait; echo $x; cat said")
    for _ in range(2):
        frame = shell.receive()
        members = {"op": "input", "text": "typed"}
        if frame["ev"] == "call":
            members = {"op": "result", "result": {"text": "peeked"}}
        shell.send({"id": running.cell_id, **members})
    assert running.finish().stdout == "typed\npeeked\n"


def test_a_childs_end_is_no_reason_to_give_up(shell: Shell) -> None:
    shell.explores = True
    running = shell.begin("explore peek")
    shell.receive()
    for _ in range(3):
        shell.wait_until_it_waits()
        os.kill(shell.pid, signal.SIGCHLD)
        shell.wait_until_delivered(signal.SIGCHLD)
    shell.send({"op": "result", "id": running.cell_id, "result": {"text": "abc"}})
    assert running.finish().stdout == "abc\n"
