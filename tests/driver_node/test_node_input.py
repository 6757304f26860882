"""What reads stdin asks the caller."""

from __future__ import annotations

import pytest
from node_peer import NodePeer

RL = (
    "const rl = require('readline').createInterface("
    "{ input: process.stdin, output: process.stdout });"
)
PROMISES = (
    "const rl = require('readline/promises').createInterface("
    "{ input: process.stdin, output: process.stdout });"
)


def test_a_question_of_readline(fresh: NodePeer) -> None:
    greet = "rl.question('Name? ', (n) => { console.log('hi', n); rl.close() }); 5"
    running = fresh.begin(RL + greet)
    question = running.wait_for_question()
    assert (question["prompt"], question["password"]) == ("Name? ", False)
    running.answer("Ada")
    answer = running.finish()
    assert (answer.status, answer.text, answer.stdout) == ("ok", "5", "hi Ada\n")


def test_questions_of_readline_promises(fresh: NodePeer) -> None:
    code = PROMISES + (
        "const a = await rl.question('a? '); console.log('between');"
        "const b = await rl.question('b? '); rl.close(); [a, b]"
    )
    running = fresh.begin(code)
    assert running.wait_for_question()["prompt"] == "a? "
    running.answer("1")
    assert running.wait_for_question()["prompt"] == "b? "
    assert running.stdout() == "between\n"
    running.answer("zwei ä")
    assert running.finish().text == "[ '1', 'zwei ä' ]"


def test_an_interface_of_an_earlier_cell(fresh: NodePeer) -> None:
    assert fresh.run(PROMISES).status == "ok"
    assert fresh.run("await rl.question('x? ')", answers=["one"]).text == "'one'"
    assert fresh.run("1").text == "1"
    assert fresh.run("await rl.question('y? ')", answers=["two"]).text == "'two'"


def test_lines_until_the_end(fresh: NodePeer) -> None:
    code = RL + (
        "const lines = []; rl.on('line', (l) => lines.push(l));"
        "await new Promise((r) => rl.on('close', r)); lines"
    )
    assert fresh.run(code, answers=["a", "", "c", None]).text == "[ 'a', '', 'c' ]"
    code = RL + "const all = []; for await (const line of rl) all.push(line); all"
    assert fresh.run(code, answers=["x", None]).text == "[ 'x' ]"


def test_stdin_itself(fresh: NodePeer) -> None:
    code = "const all = []; for await (const part of process.stdin) all.push(String(part)); all"
    assert fresh.run(code, answers=["a", "b", None]).text == "[ 'a\\n', 'b\\n' ]"
    code = "await new Promise((r) => process.stdin.once('data', (d) => r(String(d))))"
    assert fresh.run(code, answers=["again"]).text == "'again\\n'"
    fresh.run("process.stdin.pause()")
    assert fresh.run("process.stdin.setEncoding('utf8'); 3").text == "3"


def test_the_end_of_the_input(fresh: NodePeer) -> None:
    code = RL + "await new Promise((r) => { rl.on('close', r); rl.question('? ', () => {}) })"
    assert fresh.run(code, answers=[None]).status == "ok"
    assert fresh.run(PROMISES + "await rl.question('? ')", answers=["next"]).text == "'next'"


def test_an_interrupted_question(fresh: NodePeer) -> None:
    running = fresh.begin(PROMISES + "await rl.question('? ')")
    running.wait_for_question()
    fresh.interrupt()
    assert running.finish().status == "interrupted"
    assert fresh.value("1+1") == "2"
    assert fresh.run("await rl.question('more? ')", answers=["x"]).status == "ok"
    assert fresh.run(PROMISES + "await rl.question('new? ')", answers=["y"]).text == "'y'"


@pytest.mark.parametrize("code", ["process.stdin", "process.stdin.isTTY", "process.stdin.fd"])
def test_looking_at_stdin_asks_nothing(shared: NodePeer, code: str) -> None:
    assert shared.run(code).status == "ok"


def test_children_find_nothing(shared: NodePeer) -> None:
    assert shared.value("require('child_process').execSync('cat').length") == "0"
    assert shared.value("fs.readFileSync(0, 'utf8')") == "''"
