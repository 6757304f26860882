"""The functions that explore large texts, in sessions of Node.js and bash: the same operations of
the daemon, with the names and habits of each language."""

import json

import pytest

from harness.client import Session

LINES = [f"line {n} of user {n * 7 % 13}" + (" ERROR: disk full" if n % 500 == 0 else "")
         for n in range(1, 2001)]
TEXT = "\n".join(LINES) + "\n"
ERRORS = [f"{n}: {LINES[n - 1]}" for n in (500, 1000, 1500, 2000)]


@pytest.fixture
def explore(client, spawn_runtime):
    """Starts a session of a runtime with a context."""

    def start(runtime, **members):
        session = spawn_runtime(runtime, **members)
        client.call("PUT", f"{session.path}/contexts/context", TEXT.encode())
        return session

    return start


def nodes(client, session):
    return list(client.call("GET", f"{session.path}/state").get("tree", {}).get("nodes", {}))


def look(session, code):
    """The value of a cell of JavaScript."""
    answer = session.exec(f"console.log(JSON.stringify({code}))")
    assert answer.status == "ok", answer
    return json.loads(answer.stdout)


# Node.js


@pytest.mark.smoke
def test_node_looks_into_a_context(client, explore):
    session = explore("node")
    assert look(session, "[contextLen(), peek(6), peek(9, { offset: 1000 })]") == [
        len(TEXT), TEXT[:6], TEXT[1000:1009]]
    assert look(session, "grep('error', { contextLines: 0 })") == ERRORS
    assert look(session, "grep(/line 1000 /, undefined, 1)") == [
        f"999- {LINES[998]}", f"1000: {LINES[999]}", f"1001- {LINES[1000]}"]
    assert look(session, "[context.length, context.slice(-10), context.includes('full\\nline 501'),"
                         " [...context].length, String(context).length]") == [
        len(TEXT), TEXT[-10:], True, 2000, len(TEXT)]
    assert session.value("context") == f"<context: {len(TEXT)} chars>"
    session.exec("require('fs').writeFileSync('notes.txt', 'a\\nb Error\\n')")
    assert look(session, "[peek('notes.txt'), grep('ERROR', 'notes.txt', 0), listDir().total]") == [
        "a\nb Error\n", ["2: b Error"], 1]
    assert look(session, "[peek({ filePath: 'none' }).slice(0, 8), grep('(')[0].slice(0, 13)]") == [
        "[ERROR: ", "[REGEX ERROR:"]
    assert {"P1", "G1", "D1"} <= set(nodes(client, session))
    assert look(session, "grep('x') instanceof Array && listDir() instanceof Object") is True


def test_node_finds_and_ends(client, explore):
    session = explore("node")
    assert session.value("markFinding('full at noon', ['disk', 'noon'], { sourcePage: 3 })") == "'F1'"
    (finding,) = look(session, "listFindings()")
    assert (finding["tags"], finding["source_page"]) == (["disk", "noon"], 3)
    answer = session.exec("artifacts.n = 42; FINAL_VAR('n'); console.log('never')")
    assert (answer.status, answer.is_final, answer.final_answer, answer.stdout) == (
        "ok", True, "42", "")
    assert "is_final" not in session.exec("1")
    later = session.exec("await new Promise((r) => setTimeout(r, 1)); STUCK('no idea')")
    assert later.stuck == "no idea"
    assert "not a function" in session.exec("FINAL(peek)").error.message
    assert "artifacts['n']: 42" in session.out("console.log(getState())")


def test_node_is_interrupted_in_a_call(client, explore):
    session = explore("node")
    assert session.exec("for (;;) peek(5)", timeout_ms=1000).status == "timeout"
    assert look(session, "peek(4)") == TEXT[:4]
    crashed = session.exec("peek(4); process.kill(process.pid, 'SIGKILL'); for (;;);")
    assert crashed.status == "died"
    assert look(session, "peek(4)") == TEXT[:4]


def test_node_calls_that_outlive_their_cell_are_refused(explore):
    session = explore("node")
    session.exec("var late = null; setTimeout(() => { try { peek() } catch (e) { late = e.message } },"
                 " 5); 1")
    assert "outlived its cell" in look(
        session, "(await new Promise((r) => setTimeout(r, 50)), late)")


def test_other_sessions_of_node_have_no_such_functions(spawn_runtime):
    assert spawn_runtime("node").exec("peek()").error.name == "ReferenceError"
