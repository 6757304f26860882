"""The functions that explore large texts, in sessions of Node.js and bash: the same operations of
the daemon, with the names and habits of each language."""

import io
import json
import zipfile

import pytest

from harness.client import Session
from harness.pages import all_blocks

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


ESCAPED = '"\n' * 300_000  # in JSON six bytes each are reserved for these
CHINESE = "文字" * 250_000  # three bytes each


def load(client, session, text):
    client.call("PUT", f"{session.path}/contexts/context", text.encode())


def test_node_loses_no_character_where_an_answer_is_full(client, explore):
    session = explore("node")
    for text in (ESCAPED, CHINESE):
        load(client, session, text)
        session.exec(f"var all = {json.dumps(text[:2])}.repeat({len(text) // 2})")
        assert look(session, "[String(context) === all, peek(500_000) === all.slice(0, 500_000),"
                             " peek(500_000, { offset: 7 }) === all.slice(7, 500_007),"
                             " context.slice(9, -9) === all.slice(9, -9),"
                             " [...context].join('\\n').length]") == [
            True, True, True, True, len(text) - text.endswith("\n")]


def test_node_has_chunks_and_the_log(client, explore):
    session = explore("node")
    half = (len(TEXT) + 1) // 2
    session.exec("var [, piece] = chunkContext(2, 0); var same = { ...piece }")
    assert look(session, "[same.text === piece.text, JSON.stringify(piece) === "
                         "JSON.stringify(same)]") == [True, True]
    session.exec("require('fs').writeFileSync('piece.json', JSON.stringify(piece))")
    assert json.loads(session.get("piece.json").body) == {
        "index": 1, "start": half, "end": len(TEXT), "text": TEXT[half:],
        "char_count": len(TEXT) - half}
    assert look(session, "summarizeChunks('errors', 2, 0)[0].first_line") == LINES[0]
    assert look(session, "getExplorationLog().strategy().strategy_type") == "mixed"
    session.exec("grep('error'); var kept = getResearch().toDict(); var log = getExplorationLog()")
    assert look(session, "[Object.keys(kept.nodes), log.toDict().total_events,"
                         " log.efficiency().total_events, log.strategy().strategy_type]") == [
        ["X1", "X2", "G1"], 3, 3, "search"]
    client.call("POST", f"{session.path}/reset", {})
    assert look(session, "Object.keys(getResearch().fromDict(kept).toDict().nodes)") == [
        "X1", "X2", "G1"]


def test_node_keeps_chunks_as_other_variables(client, explore):
    session = explore("node")
    session.exec("var chunks = chunkContext(2, 0)")
    client.call("POST", f"{session.path}/suspend", {})
    assert "lost" not in client.call("POST", f"{session.path}/resume", {})["resumed"]
    assert look(session, "chunks[0].text.slice(0, 4)") == TEXT[:4]


def test_node_is_told_what_is_left_out(explore):
    session = explore("node")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("today.log", "error\n" * 60)
    session.put("logs.zip", packed.getvalue())
    assert look(session, "(archiveOpen('logs.zip'), archiveFile('today.log', { n: 6 }))") == (
        "error\n[... truncated at 6 of 360 characters]")
    assert "note: '[... truncated at 50 results]'" in session.value(
        "require('util').inspect(archiveSearch('error'), { maxArrayLength: 0 })")


def test_node_finds_and_ends(client, explore):
    session = explore("node")
    assert session.value(
        "markFinding('full at noon', ['disk', 'noon'], { sourcePage: 3 })") == "'F1'"
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
    session.exec("var late = null; setTimeout(() => {"
                 " try { peek() } catch (e) { late = e.message } }, 5); 1")
    assert "outlived its cell" in look(
        session, "(await new Promise((r) => setTimeout(r, 50)), late)")


def test_other_sessions_of_node_have_no_such_functions(spawn_runtime):
    assert spawn_runtime("node").exec("peek()").error.name == "ReferenceError"


# bash


@pytest.mark.smoke
def test_bash_looks_into_a_context(client, explore):
    session = explore("bash")
    assert session.out("explore context_len; explore peek 6; explore peek 9 --offset 1000") == (
        f"{len(TEXT)}\n{TEXT[:6]}\n{TEXT[1000:1009]}\n")
    assert session.out("explore grep error --context-lines 0") == "\n".join(ERRORS) + "\n"
    assert session.out(
        "explore grep 'line 1000 ' '' 1 | tail -1; x=$(explore peek 4); echo $x") == (
        f"1001- {LINES[1000]}\n{TEXT[:4]}\n")
    assert session.out("explore grep nowhere || echo none") == "none\n"
    session.exec("printf 'a\\nb Error\\n' > notes.txt")
    assert session.out("explore peek 4 notes.txt; explore grep error notes.txt 0") == (
        "a\nb \n2: b Error\n")
    assert "notes.txt" in session.out("explore list_dir")
    failed = session.exec("explore peek 4 none; echo $?; explore grep '('; explore nonsense")
    assert failed.stdout.startswith("[ERROR: there is no file none") and "\n1\n" in failed.stdout
    assert "[REGEX ERROR: " in failed.stdout and "usage: explore" in failed.stderr
    assert {"P1", "G1", "D1"} <= set(nodes(client, session))


def test_bash_loses_no_character_where_an_answer_is_full(client, explore):
    session = explore("bash")
    for text in (ESCAPED, CHINESE):
        load(client, session, text)
        for offset in (0, 7):
            session.exec(f"explore peek 500000 --offset {offset} > said.txt")
            assert session.get("said.txt").body.decode().rstrip("\n") == (
                text[offset:offset + 500_000].rstrip("\n"))
    assert session.out("explore peek --offset 2 3") == "文字文\n"


def test_bash_has_chunks_and_the_log(explore):
    session = explore("bash")
    half = (len(TEXT) + 1) // 2
    session.exec("explore chunk_context 2 0 --text > said.txt")
    first, second = map(json.loads, session.get("said.txt").body.decode().splitlines())
    assert first["text"] + second["text"] == TEXT and second["start"] == half
    assert json.loads(session.out("explore summarize_chunks errors 2 0 | head -1"))[
        "first_line"] == LINES[0]
    assert list(json.loads(session.out("explore get_research"))["nodes"]) == ["X1", "X2"]
    assert json.loads(session.out("explore get_exploration_log"))["strategy"][
        "strategy_type"] == "mixed"
    assert session.out("explore file_info none") == "path: none\nexists: false\n"


def test_bash_calls_side_by_side(explore):
    session = explore("bash")
    out = session.out("for i in 1 2 3 4 5 6 7 8; do explore peek 4 '' $i & done; wait;"
                      "explore grep error | explore peek 3 | cat")
    assert sorted(out.splitlines()) == sorted([TEXT[i:i + 4].strip("\n") for i in range(1, 9)] + [
        TEXT[:3]])
    late = session.exec("(sleep 0.2; explore peek > late.txt) & disown; echo on")
    assert late.stdout == "on\n"
    assert session.out("while [ ! -s late.txt ]; do sleep 0.02; done; cat late.txt;"
                       "explore peek 4") == (
        f"[ERROR: the cell is over: nobody can answer any more]\n{TEXT[:4]}\n")


def test_bash_finds_and_ends(explore):
    session = explore("bash")
    assert session.out("explore mark_finding 'full at noon' disk,noon --source-page 3") == "F1\n"
    finding = json.loads(session.out("explore list_findings"))
    assert (finding["tags"], finding["source_page"]) == (["disk", "noon"], 3)
    answer = session.exec("artifacts[n]=42; explore FINAL_VAR n; echo never")
    assert (answer.status, answer.is_final, answer.final_answer) == ("ok", True, "42")
    assert answer.stdout == ""
    assert session.exec("explore stuck 'no idea'").stuck == "no idea"
    assert "artifacts['n']: 42" in session.out("explore get_state")


def test_bash_reads_archives(explore):
    session = explore("bash")
    session.exec("python3 -c \"import zipfile; zipfile.ZipFile('logs.zip', 'w').writestr("
                 "'x/today.log', 'user 7\\nerror 8\\n')\"")
    assert "  x/today.log,15,file\n" in session.out("explore archive_open logs.zip")
    assert session.out("explore archive_file logs.zip x/today.log 6") == (
        "user 7\n[... truncated at 6 of 15 characters]\n")
    (hit,) = session.out("explore archive_search logs.zip error").splitlines()
    assert (json.loads(hit)["line"], json.loads(hit)["match"]) == (2, "error 8")
    assert session.out("explore archive_extract logs.zip out > said; cat out/x/today.log") == (
        "user 7\nerror 8\n")


def test_bash_is_interrupted_in_a_call(explore):
    session = explore("bash")
    for code in ("while :; do explore peek 5; done", "while :; do x=$(explore peek 5); done",
                 "while :; do explore grep line | wc -l; done"):
        assert session.exec(code, timeout_ms=700).status == "timeout"
        assert session.out("explore peek 4") == TEXT[:4] + "\n"
    assert session.exec("explore peek 4; kill -9 $BASHPID").status == "died"
    assert session.out("explore peek 4") == TEXT[:4] + "\n"


def test_bash_goes_back_and_branches_with_what_it_explored(client, explore):
    session = explore("bash", checkpoints="every")
    before = session.exec("explore peek 4; x=1")["checkpoint"]
    session.exec("explore grep error; x=2")
    client.call("POST", f"{session.path}/undo", {"to": before})
    assert nodes(client, session) == ["P1"]
    assert session.out("explore peek 4; echo $x") == f"{TEXT[:4]}\n1\n"
    (made,) = client.call("POST", f"{session.path}/branch", {"count": 1})["sessions"]
    other = Session(client, made)
    assert other.out("explore grep error | wc -l")
    assert session.out("explore peek 3") == TEXT[:3] + "\n"
    assert len(nodes(client, other)) == 3 and "G1" not in nodes(client, session)
    client.request("DELETE", other.path)


def test_other_sessions_of_bash_have_no_such_command(spawn_runtime):
    assert "explore: command not found" in spawn_runtime("bash").exec("explore peek").stderr


@pytest.mark.parametrize("runtime, kind", [("node", "js"), ("bash", "bash")])
def test_what_the_page_shows(explore, runtime, kind):
    (code,) = [text for fence, text in all_blocks("docs/EXPLORE.md") if fence == kind]
    session = explore(runtime)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("today.log", "user 7\n")
    session.put("logs.zip", packed.getvalue())
    session.put("logs/today.txt", b"user 7\n")
    answer = session.exec(code)
    assert (answer.status, answer.final_answer, answer.stderr) == ("ok", "42", ""), answer
    assert "[ERROR" not in answer.stdout
