"""An agent explores texts that are too large to be read: peek, grep and the others, as its code
calls them and over HTTP."""

import ast
import concurrent.futures
import http.server
import io
import json
import threading
import zipfile

import pytest

from harness import host, pdf
from harness.client import Client, Session, block

LINES = [f"line {n} of user {n * 7 % 13}" + (" ERROR: disk full" if n % 500 == 0 else "")
         for n in range(1, 2001)]
TEXT = "\n".join(LINES) + "\n"


@pytest.fixture
def explorer(spawn, client):
    """A session with a context."""
    session = spawn(explore=True, checkpoints="every")
    made = load(client, session, TEXT.encode())
    assert made == {"name": "context", "bytes": len(TEXT), "chars": len(TEXT), "lines": 2000}
    return session


def load(client, session, data, name="context"):
    return client.call("PUT", f"{session.path}/contexts/{name}", data)


def look(session, code):
    """The value of a cell, which is made of plain values."""
    return ast.literal_eval(session.value(code))


def state(client, session):
    return client.call("GET", f"{session.path}/state")


@pytest.mark.smoke
@pytest.mark.release
def test_code_looks_into_a_context(explorer):
    assert explorer.value("context_len()") == str(len(TEXT))
    assert explorer.value("peek(6)") == repr(TEXT[:6])
    assert explorer.value("peek(9, offset=1000)") == repr(TEXT[1000:1009])
    found = look(explorer, "grep('error', context_lines=0)")
    assert found == [f"{n}: {LINES[n - 1]}" for n in (500, 1000, 1500, 2000)]
    around = look(explorer, "grep('line 1000 ', context_lines=1)")
    assert around == [f"999- {LINES[998]}", f"1000: {LINES[999]}", f"1001- {LINES[1000]}"]


def test_a_context_is_sliced_as_a_text_is(explorer):
    assert explorer.value("context[:4] + context[-10:]") == repr(TEXT[:4] + TEXT[-10:])
    assert explorer.value("'disk full' in context, 'DISK' in context") == "(True, False)"
    assert explorer.value("'full\\nline 501 ' in context, 'a\\nb' in context") == "(True, False)"
    assert explorer.value(r"'\E' in context, 'l.ne' in context") == "(False, False)"
    assert explorer.value("len(str(context)), context[3]") == f"({len(TEXT)}, {TEXT[3]!r})"
    assert explorer.value("sum(1 for line in context)") == "2000"
    assert explorer.value("context") == f"<context: {len(TEXT)} chars>"


def test_characters_are_counted_as_python_does(spawn, client):
    text = "aä€😀\n" * 40000
    session = spawn(explore=True)
    made = load(client, session, text.encode())
    assert made["chars"] == len(text) and made["bytes"] == len(text.encode())
    for offset in (0, 1, 99999, 150002):
        assert session.value(f"peek(7, offset={offset})") == repr(text[offset:offset + 7])


ESCAPED = '"\n' * 300_000  # in JSON six bytes each are reserved for these
CHINESE = "文字" * 250_000  # three bytes each


def test_no_character_is_lost_where_an_answer_is_full(spawn, client):
    session = spawn(explore=True)
    for text in (ESCAPED, CHINESE):
        load(client, session, text.encode())
        session.exec(f"text = {text[:2]!r} * {len(text) // 2}")
        assert session.value(
            "str(context) == text, len(peek(500_000)), peek(500_000, offset=7) == text[7:500_007],"
            "context[9:-9] == text[9:-9], sum(len(line) for line in context) + text.count('\\n'),"
            "text[5:-5] in context, text[5:-5] + '\\nno' in context"
        ) == repr((True, 500_000, True, True, len(text), True, False))
    assert len(state(client, session)["tree"]["nodes"]) == 4  # a peek is one, however long


def test_chunks_have_their_text_by_any_way(spawn, client):
    session = spawn(explore=True)
    load(client, session, ESCAPED.encode())
    session.exec("import json; a, b = chunk_context(2, overlap=10)")
    half = len(ESCAPED) // 2
    assert session.value("list(a), len(a)") == (
        "(['index', 'start', 'end', 'text', 'char_count'], 5)")
    assert session.value("a") == (
        f"{{'index': 0, 'start': 0, 'end': {half + 10}, 'text': <{half + 10} chars>, "
        f"'char_count': {half + 10}}}")
    ways = ("c['text']", "c.get('text')", "dict(c)['text']", "json.loads(json.dumps(c))['text']",
            "(lambda text, **_: text)(**c)", "{**c}['text']", "dict(c.items())['text']",
            "list(c.values())[3]", "c.copy()['text']", "c.pop('text')")
    for way in ways:
        session.exec("c, _ = chunk_context(2, overlap=10)")
        assert session.value(f"{way} == context[:{half + 10}]") == "True", way
    told = client.call("POST", f"{session.path}/explore/chunks", {"n_chunks": 2, "text": True})
    first, second = told["chunks"]
    assert first["text"] == ESCAPED[:len(first["text"])] and first["is_cut"] and second["is_cut"]
    load(client, session, TEXT.encode())
    told = client.call("POST", f"{session.path}/explore/chunks", {"n_chunks": 2, "text": True,
                                                                  "overlap": 0})
    assert "".join(chunk["text"] for chunk in told["chunks"]) == TEXT


def test_chunks_and_the_like_are_kept_as_variables_are(client, explorer):
    explorer.exec("c = context; chunks = chunk_context(2); log = get_exploration_log();"
                  "tree = get_research(); folder = list_dir()")
    client.call("POST", f"{explorer.path}/suspend", {})
    assert "lost" not in client.call("POST", f"{explorer.path}/resume", {})["resumed"]
    assert explorer.value("c[:4], chunks[0]['text'][:4], log.to_dict()['total_events'],"
                          "len(tree.to_dict()['nodes'])") == repr((TEXT[:4], TEXT[:4], 2, 2))


def test_a_full_answer_says_how_many_matches_it_has(client, explorer):
    load(client, explorer, ("x" * 5000 + "\n").encode() * 3000, "wide")
    told = client.call("POST", f"{explorer.path}/explore/grep", {
        "context": "wide", "pattern": "x", "context_lines": 20, "max_results": 1000})
    assert told["truncated"] and 10 < told["count"] < 1000
    assert told["lines"][-1] == f"[... truncated at {told['count']} results]"


def test_the_last_hits_have_what_is_around_them(client, explorer):
    explorer.exec("grep('line 1000 ', context_lines=1)")
    hits = state(client, explorer)["hits"]
    assert hits["hits"] == [{"line_num": 1000, "match": LINES[999],
                             "context": "\n".join(LINES[998:1001])}]
    load(client, explorer, "\n".join(["é" * 400] * 3 + ["here"] + ["ö" * 400] * 3).encode())
    explorer.exec("grep('here', context_lines=3)")
    (hit,) = state(client, explorer)["hits"]["hits"]
    assert len(hit["context"]) == 1000 and hit["context"].startswith("é" * 249 + "\nhere\nö")


def test_files_of_the_workspace_are_looked_into(explorer):
    explorer.exec("import os; os.makedirs('logs'); open('logs/a.txt', 'w').write('x\\ny Error\\n')")
    assert explorer.value("peek(file_path='logs/a.txt')") == "'x\\ny Error\\n'"
    assert explorer.value("grep('ERROR', '/workspace/logs/a.txt', 0)") == "['2: y Error']"
    assert look(explorer, "dict(list_dir())") == {
        "path": ".", "files": [{"name": "logs", "type": "dir", "size": 0}], "total": 1}
    told = look(explorer, "dict(file_info('logs/a.txt'))")
    assert (told["exists"], told["type"], told["size"], told["extension"]) == (
        True, "file", 10, ".txt")
    assert look(explorer, "dict(file_info('none'))") == {"path": "none", "exists": False}


def test_what_goes_wrong_is_a_value(explorer):
    assert explorer.value("peek(file_path='none')").startswith('"[ERROR: there is no file none')
    assert explorer.value("grep('(')[0][:13]") == "'[REGEX ERROR:'"
    assert explorer.value("peek(file_path='../etc/passwd')").startswith('"[ERROR: that is no path')


def test_other_sessions_have_no_such_functions(session):
    assert session.exec("peek()").error.name == "NameError"


def test_functions_come_with_the_first_context(client, session):
    load(client, session, b"hello")
    assert session.value("peek()") == "'hello'"


def test_findings_and_the_answer(client, explorer):
    explorer.exec("mark_finding('full at noon', tags=['disk', 'noon'], source_page=3)")
    (finding,) = look(explorer, "list_findings()")
    assert (finding["id"], finding["content"], finding["tags"], finding["source_page"]) == (
        "F1", "full at noon", ["disk", "noon"], 3)
    answer = explorer.exec("artifacts['n'] = 42\nFINAL_VAR('n')\nprint('never')")
    assert (answer.status, answer.is_final, answer.final_answer, answer.stdout) == (
        "ok", True, "42", "")
    assert "is_final" not in explorer.exec("1")
    assert explorer.exec("STUCK('no idea')").stuck == "no idea"
    assert explorer.exec("FINAL(print)").error.name == "TypeError"


def test_what_was_explored_goes_back_with_the_session(client, explorer):
    before = explorer.exec("peek(10)")["checkpoint"]
    explorer.exec("_ = grep('error'); _ = mark_finding('one')")
    assert len(state(client, explorer)["tree"]["nodes"]) == 2
    client.call("POST", f"{explorer.path}/undo", {"to": before})
    went_back = state(client, explorer)
    assert len(went_back["tree"]["nodes"]) == 1 and "findings" not in went_back
    client.call("POST", f"{explorer.path}/redo", {})
    came_again = state(client, explorer)
    assert len(came_again["tree"]["nodes"]) == 2 and len(came_again["findings"]) == 1


def test_a_branch_has_the_context_and_goes_its_own_way(client, explorer):
    explorer.exec("peek(10)")
    (made,) = client.call("POST", f"{explorer.path}/branch", {"count": 1})["sessions"]
    other = Session(client, made)
    assert other.value("peek(4)") == repr(TEXT[:4])
    assert len(state(client, other)["tree"]["nodes"]) == 2
    assert len(state(client, explorer)["tree"]["nodes"]) == 1
    client.request("DELETE", other.path)


def test_a_crash_keeps_what_was_known_before(client, explorer):
    explorer.exec("peek(10)")
    crashed = explorer.exec("grep('error'); import os; os.kill(os.getpid(), 9)")
    assert crashed.status == "died"
    assert list(state(client, explorer)["tree"]["nodes"]) == ["P1"]
    assert explorer.value("peek(4)") == repr(TEXT[:4])


@pytest.mark.release
def test_it_outlives_the_daemon(launch):
    daemon = launch(config="default_profile: min\n")
    session = daemon.client.spawn(explore=True)
    load(daemon.client, session, TEXT.encode())
    session.exec("_ = peek(10); artifacts['k'] = 1; _ = mark_finding('kept')", durable=True)
    daemon.kill()
    again = launch(data=daemon.data, config="default_profile: min\n").client
    session = Session(again, session.spawned)
    assert session.value("peek(4), artifacts") == repr((TEXT[:4], {"k": 1}))
    assert [finding["content"] for finding in state(again, session)["findings"]] == ["kept"]


def test_calls_over_http_are_the_same(client, explorer):
    found = client.call("POST", f"{explorer.path}/explore/grep", {"pattern": "disk FULL"})
    assert found["count"] == 4 and not found["truncated"]
    many = client.call("POST", f"{explorer.path}/explore/grep",
                       {"pattern": "line", "max_results": 3, "context_lines": 0})
    assert many["lines"][-1] == "[... truncated at 3 results]" and many["truncated"]
    client.call("POST", f"{explorer.path}/reset", {})
    assert "tree" not in state(client, explorer)
    assert client.call("GET", f"{explorer.path}/contexts")["contexts"][0]["chars"] == len(TEXT)


@pytest.mark.one_mode
def test_pieces_are_described_without_a_model(client, explorer):
    half = (len(TEXT) + 1) // 2
    (first, second) = look(explorer, "summarize_chunks('errors by user', n_chunks=2, overlap=0)")
    assert (first["start"], first["end"], first["first_line"]) == (0, half, LINES[0])
    assert first["line_count"] == TEXT[:half].count("\n") + 1
    assert second["summary"].startswith(f"[no model] chars {half}-{len(TEXT)}, ")
    told = client.call("POST", f"{explorer.path}/explore/summaries", {"n_chunks": 2, "overlap": 0})
    assert told["chunks"] == [first, second] and "no model" in told["note"]
    node = state(client, explorer)["tree"]["nodes"]["X1"]
    assert node["query"] == "task='errors by user', n_chunks=2"


@pytest.mark.one_mode
def test_research_is_told_and_put_back(client, explorer):
    explorer.exec("peek(1); grep('error'); peek(2); mark_analyzed('G1')")
    explorer.exec("kept = get_research().to_dict(); log = get_exploration_log().to_dict()")
    assert look(explorer, "kept['version'], sorted(kept['nodes']), log['total_events']"
                ) == (1, ["G1", "P1", "P2"], 3)
    told = client.call("GET", f"{explorer.path}/explore/research")
    client.call("POST", f"{explorer.path}/reset", {})
    assert look(explorer, "get_research().to_dict()['nodes']") == {}
    assert explorer.value("get_research().from_dict(kept)") == "<research tree: 3 nodes>"
    assert explorer.value("get_exploration_log().from_dict(log)") == "<exploration log: 3 events>"
    assert "[+] G1: grep(pattern='error')" in explorer.out("print(get_state())")
    client.call("POST", f"{explorer.path}/reset", {})
    assert client.call("PUT", f"{explorer.path}/explore/research", told) == told
    for bad in ({"tree": {"version": 2}}, {"tree": [1]}, {"log": {"total_events": -1}},
                {"tree": {"version": 1, "nodes": {"../x": {}}, "counters": {}}}):
        assert client.request("PUT", f"{explorer.path}/explore/research", bad).status == 400
    assert explorer.exec("get_research().from_dict(7)").status == "error"
    assert client.call("GET", f"{explorer.path}/explore/research") == told


@pytest.mark.one_mode
def test_the_log_says_what_exploring_was_like(client, explorer):
    kind = "get_exploration_log().strategy()['strategy_type']"
    assert explorer.value(kind) == "'none'"
    for code, told in (("grep('x')", "search"), ("peek(400)", "mixed"), ("peek(400)", "scan"),
                       ("list_dir()", "scan")):
        explorer.exec(code)
        assert explorer.value(kind) == repr(told)
    explorer.exec("FINAL('x' * 100)")
    worth = look(explorer, "get_exploration_log().efficiency()")
    assert (worth["result_tokens"], worth["total_events"]) == (25, 4)
    assert worth == state(client, explorer)["log"]["efficiency"]
    assert worth["efficiency_ratio"] == round(25 / worth["exploration_tokens"], 3) > 0


@pytest.mark.one_mode
def test_several_contexts_have_names(client, explorer):
    load(client, explorer, b"other text", "notes")
    shown = explorer.out("print(get_state())").splitlines()
    assert shown[:2] == [f"context: str ({len(TEXT)} chars)", "context 'notes': str (10 chars)"]
    seen = client.call("POST", f"{explorer.path}/explore/peek", {"context": "notes"})
    assert seen["text"] == "other text"


def test_an_interrupt_ends_the_wait(explorer):
    answer = explorer.exec("while True: peek(5)", timeout_ms=1500)
    assert answer.status == "timeout"
    assert explorer.value("peek(4)") == repr(TEXT[:4])


def test_threads_and_children_ask_as_they_may(explorer):
    code = ("import threading\n"
            "found = []\n"
            "threads = [threading.Thread(target=lambda: found.append(peek(4))) for _ in range(8)]\n"
            "for t in threads: t.start()\n"
            "for t in threads: t.join()\n"
            "set(found)")
    assert explorer.value(code) == repr({TEXT[:4]})
    child = ("import os\n"
             "pid = os.fork()\n"
             "if pid == 0:\n"
             "    try: peek()\n"
             "    except RuntimeError: os._exit(7)\n"
             "    os._exit(0)\n"
             "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
    assert explorer.value(child) == "7"


def test_hostile_calls_are_refused(explorer):
    code = ("import gc, types\n"
            "call = next(f for f in gc.get_objects() if isinstance(f, types.MethodType)\n"
            "            and f.__name__ == '_call')\n"
            "for op in ('session.delete', 'agent.list', 'nonsense'):\n"
            "    try: call(op, {})\n"
            "    except Exception as error: print(type(error).__name__)")
    assert explorer.exec(code).stdout == "Refused\n" * 3
    assert explorer.exec("peek(n=-1)").status == "ok"


@pytest.mark.one_mode
def test_a_flood_of_calls_leaves_others_their_turns(client, spawn):
    """Two hundred in a few writes, as no driver of ours would send them: one in a turn."""
    flood = """
        import gc
        channel = next(o for o in gc.get_objects() if type(o).__name__ == 'Channel')
        question = b'{"ev":"call","id":1,"op":"explore.list_findings","args":{}}'
        channel._sock.sendall((len(question).to_bytes(4, 'little') + question) * 200)
        sum(channel.receive()['op'] == 'result' for _ in range(200))
        """
    session = spawn(explore=True)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        running, turns = beside.submit(session.value, block(flood)), 0
        while not running.done():
            client.call("GET", "/health")
            turns += 1
        assert running.result() == "200"
    assert turns > 20, turns


@pytest.mark.one_mode
@pytest.mark.parametrize("pattern, told", [
    ("'^(a+)+$'", "too expensive for the line at byte 9: match limit exceeded. Make it simpler"),
    ("'((((a{1,99}){1,99}){1,99}){1,99}){1,99}'", "the pattern is too large"),
    ("'|'.join(f'{n:x}q.*z' for n in range(6000))", "the pattern is too large"),
    ("'x' * 20_000 + '|a!'", "3: aaa"),
])
def test_patterns_that_would_take_for_ever_end(explorer, pattern, told):
    explorer.put("hostile.txt", b"fine\nyes\n" + b"a" * 60 + b"!\n")
    (line,) = ast.literal_eval(explorer.out(f"print(grep({pattern}, 'hostile.txt', 0))"))
    assert told in line
    assert explorer.out("print(peek(6))") == f"{TEXT[:6]}\n"


@pytest.mark.one_mode
def test_tools_for_models(client, explorer):
    def tool(tool_name, **args):
        answer = client.call("POST", f"/v1/tools/{tool_name}",
                             {"session": explorer.id, **args})
        return answer["content"][0]["text"]

    assert tool("context") == f"context: {len(TEXT)} chars, 2000 lines"
    assert tool("peek", chars=6) == f"{TEXT[:6]}\n[of {len(TEXT)} chars]"
    assert tool("grep", pattern="error", around=0) == "\n".join(
        f"{n}: {LINES[n - 1]}" for n in (500, 1000, 1500, 2000))
    assert tool("grep", pattern="nowhere") == "no matches"
    explorer.exec("_ = open('notes.txt', 'w').write('a\\nb\\n')")
    assert tool("context", file="notes.txt", name="notes") == "notes: 4 chars, 2 lines"
    assert tool("peek", context="notes") == "a\nb\n[of 4 chars]"
    assert tool("peek", file="notes.txt", chars=1) == "a\n[of 4 chars]"


@pytest.mark.one_mode
def test_the_tool_that_has_the_rest(client, explorer):
    def explore(action, **args):
        answer = client.call("POST", "/v1/tools/explore",
                             {"session": explorer.id, "action": action, **args})
        return answer["content"][0]["text"]

    explorer.put("a.zip", zipped(notes_txt="an error\n" * 60, more_log="nothing"))
    assert "files[1]{name,type,size}:\n  a.zip,file," in explore("list_dir")
    assert explore("file_info", path="none") == "path: none\nexists: false"
    assert "notes.txt,540,file" in explore("archive_open", path="a.zip")
    assert explore("archive_file", path="a.zip", text="more.log") == "nothing"
    found = explore("archive_search", path="a.zip", text="error")
    assert "hits[50]" in found and "truncated at 50 results" in found
    assert "files: 2" in explore("archive_extract", path="a.zip", text="out")
    assert "no domain is listed" in refusal(client, explorer, action="web_fetch", path="http://x.y")
    assert explore("chunk_context").startswith("[4]{index,start,end,char_count}:\n  0,0,")
    assert LINES[0] in explore("summarize_chunks", text="errors")
    assert explore("mark_finding", text="full at noon", path="a.zip") == "F1"
    assert "full at noon" in explore("list_findings")
    assert "archive_open(path='a.zip')" in explore("get_state")
    explore("FINAL", text="42")
    assert state(client, explorer)["final"] == {"answer": "42"}
    explore("STUCK", text="no idea")
    assert state(client, explorer)["final"] == {"stuck": "no idea"}
    assert refusal(client, explorer, action="archive_open") == "\"path\" is needed for archive_open"
    client.call("PUT", f"{explorer.path}/plan", {"reason": "think"})
    refused = client.request("POST", "/v1/tools/explore", {
        "session": explorer.id, "action": "archive_extract", "path": "a.zip"})
    assert refused.json["refusal"]["tool_name"] == "explore"
    assert explore("file_info", path="none") == "path: none\nexists: false"


def refusal(client, session, **args):
    answer = client.request("POST", "/v1/tools/explore", {"session": session.id, **args})
    return answer.json["error"]["message"]


@pytest.mark.one_mode
def test_what_the_set_explore_costs(client):
    (_, *tools) = client.call("GET", "/v1/tools?sets=explore")["tools"]
    (one,) = [tool for tool in tools if tool["name"] == "explore"]
    assert len(json.dumps(one)) < 1200, one  # some 250 tokens


SECRETS = {
    "ghp_" + "a1B2" * 9: "github_pat",
    "AKIA" + "ABCDEFGH12345678": "aws_access_key",
    "xoxb-" + "123456789012-123456789012-" + "abcDEF123456abcDEF123456": "slack_token",
}


@pytest.mark.one_mode
@pytest.mark.parametrize("secret", SECRETS)
def test_credentials_are_not_shown_by_sessions_that_explore(client, explorer, secret):
    shown = f"[REDACTED:{SECRETS[secret]}]"
    half = len(secret) // 2
    code = (f"import sys, time\nsecret = {secret[:half]!r} + {secret[half:]!r}\n"
            "print('the key is', secret, 'indeed')\n"
            "for part in secret, ' end\\n':\n"
            "    for c in part: sys.stdout.write(c); sys.stdout.flush()\n"
            "secret")
    answer = explorer.exec(code)
    assert answer.stdout == f"the key is {shown} indeed\n{shown} end\n"
    assert answer["value"]["text"] == f"'{shown}'"
    failed = explorer.exec("raise ValueError(secret)")
    assert failed.error.message == shown and secret not in str(failed)
    book = client.call("GET", f"/v1/notebooks/{explorer.id}/export?format=ipynb")
    outputs = str([cell["outputs"] for cell in book["cells"]])
    assert shown in outputs and secret not in outputs


EVERYWHERE = {
    "a list in JSON": "class J:\n"
                      "  def _repr_json_(self): return {'data': [secret], secret: 1}\nJ()",
    "other forms": "class M:\n  def _repr_mimebundle_(self, **_):\n"
                   "    return {'text/plain': 'M', 'application/x-list+json': [[secret]]}\nM()",
    "a page": "class D:\n  def _repr_mimebundle_(self, **_): return {'text/plain': secret, "
                      "'text/html': f'<table>{secret}</table>'}\ndisplay(D())",
    "a question": "input(secret + '? ')",
    "the answer": "FINAL(secret)",
    "no answer": "STUCK(secret)",
    "a finding": "mark_finding(secret, tags=[secret], source_section=secret)",
}


@pytest.mark.one_mode
def test_nor_in_any_other_way(client, explorer):
    secret, category = next(iter(SECRETS.items()))
    explorer.exec(f"secret = {secret[:9]!r} + {secret[9:]!r}")

    def shown(what, *request):
        text = client.request(*request).body.decode()
        assert secret not in text, what
        return f"[REDACTED:{category}]" in text

    for what, code in EVERYWHERE.items():
        run = {"code": code, "images": "inline"}
        if "finding" not in what:
            assert shown(what, "POST", f"{explorer.path}/exec", run), what
        else:
            assert explorer.value(code)
        if "question" in what:
            assert shown(what, "POST", f"{explorer.path}/input", {"text": "y"}) is False
    load(client, explorer, f"first\nit is {secret} here\n".encode())
    for what, tool, arguments in [("a name", "look", {}), ("its value", "look", {"name": "secret"}),
                                  ("a text", "peek", {}), ("a line", "grep", {"pattern": "it is"})]:
        assert shown(what, "POST", f"/v1/tools/{tool}", {**arguments, "session": explorer.id}), what
    for member in ("names", "state", "explore/findings"):
        assert shown(member, "GET", f"{explorer.path}/{member}"), member
    book = client.call("GET", f"/v1/notebooks/{explorer.id}/export?format=ipynb")
    assert secret not in str([cell["outputs"] for cell in book["cells"]])


@pytest.mark.one_mode
def test_others_show_what_they_print(session):
    secret = next(iter(SECRETS))
    assert session.out(f"print({secret!r})") == secret + "\n"


# Archives, PDFs and the web.


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return out.getvalue()


@pytest.mark.release
def test_archives_are_read_where_they_are(client, explorer):
    explorer.put("a.zip", zipped(notes_txt="first\nsecond Error\n", more_log="nothing"))
    told = look(explorer, "dict(archive_open('a.zip'))")
    assert told["format"] == "zip" and told["total"] == 2
    assert [file["name"] for file in told["files"]] == ["notes.txt", "more.log"]
    assert look(explorer, "archive_file('notes.txt')") == "first\nsecond Error\n"
    assert look(explorer, "list(archive_search('ERROR'))") == [
        {"archive": "a.zip", "file": "notes.txt", "line": 2, "match": "second Error"}]
    assert explorer.value("archive_file('notes.txt', n=5)") == (
        "'first\\n[... truncated at 5 of 19 characters]'")
    assert look(explorer, "archive_extract(to='out')")["files"] == 2
    assert explorer.value("open('out/more.log').read()") == "'nothing'"
    made = client.call("POST", f"{explorer.path}/contexts",
                       {"path": "a.zip", "member": "notes.txt", "name": "notes"})
    assert made["chars"] == 19
    assert "archive_open(path='a.zip')" in explorer.out("print(get_state())")


@pytest.mark.one_mode
def test_what_a_search_of_an_archive_leaves_out_is_told(explorer):
    explorer.put("a.zip", zipped(notes_txt="an error\n" * 60, a_bin="\0\0", b_bin="\0\0"))
    explorer.exec("archive_open('a.zip'); few = archive_search('none'); many = "
                  "archive_search('error')")
    assert explorer.value("len(many), many.note") == "(50, '[... truncated at 50 results]')"
    note = "[not searched: a.bin (no text), b.bin (no text)]"
    assert explorer.value("few.note, len(few)") == repr((note, 0))
    shown = explorer.out("print(many)")
    assert "hits[50]{file,line,match,archive}:" in shown and "truncated at 50 results" in shown
    assert note in explorer.out("print(few)")


def test_a_pdf_is_its_text(explorer):
    explorer.put("paper.pdf", pdf.page("BT /F1 12 Tf 72 720 Td (Disk failures in practice) Tj ET"))
    assert "Disk failures in practice" in look(explorer, "peek(file_path='paper.pdf')")
    assert look(explorer, "grep('FAILURES', 'paper.pdf', 0)")[0].endswith("in practice")
    told = look(explorer, "dict(archive_open('paper.pdf'))")
    assert (told["format"], told["total"]) == ("pdf", 1)
    assert "Disk failures in practice" in look(explorer, "archive_file('text.txt')")
    (hit,) = look(explorer, "list(archive_search('FAILURES'))")
    assert (hit["archive"], hit["file"], hit["match"].strip()) == (
        "paper.pdf", "text.txt", "Disk failures in practice")
    assert "[ERROR: a PDF has no such file" in explorer.value("archive_file('other')")
    assert "[ERROR: a PDF has nothing to unpack" in explorer.value("archive_extract()")
    explorer.put("bad.pdf", b"%PDF-1.4 nothing")
    assert "[ERROR: the file is no PDF" in explorer.value("peek(file_path='bad.pdf')")


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>T</title><p>Hello <b>web</b></p><script>evil()</script>")

    def log_message(self, *_):
        pass


@pytest.mark.one_mode
def test_pages_are_fetched_from_listed_domains_only(launch, explorer):
    assert "no domain is listed" in explorer.value("web_fetch('http://example.org/')")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        daemon = launch(config="default_profile: min\nexplore:\n"
                               f"  web_domains: ['127.0.0.1:{port}']\n")
        session = daemon.client.spawn(explore=True)
        page = f"http://127.0.0.1:{port}/"
        assert look(session, f"web_fetch('{page}')").strip() == "Hello web"
        assert look(session, f"web_fetch('{page}', 5)").strip() == (
            "Hello\n[... truncated at 5 of 9 characters]")
        assert "169.254.169.254" in session.value(f"web_fetch('{page}away')")
        assert "not among the domains" in session.value("web_fetch('http://127.0.0.1:1/')")
        made = daemon.client.call("POST", f"{session.path}/contexts", {"url": page})
        assert made["bytes"] == 62 and "evil" in session.value("peek()")
        server.shutdown()


def test_what_has_ended_is_not_explored(client, spawn):
    session = spawn(explore=True, max_age_secs=1, durable="off", checkpoints="off")
    session.exec("open('data.txt', 'w').write('precious')")
    load(client, session, b"text")
    host.eventually(lambda: session.info().state == "dead")
    for path, args in (("explore/peek", {}), ("explore/peek", {"file_path": "data.txt"}),
                       ("explore/findings", {"content": "x"}), ("contexts", {"text": "x"})):
        assert client.request("POST", f"{session.path}/{path}", args).status == 410
    assert client.request("GET", f"{session.path}/state").status == 410


@pytest.mark.one_mode
def test_ten_branches_share_the_bytes(launch):
    daemon = launch(config="default_profile: min\n")
    session = daemon.client.spawn(explore=True)
    size = 3_000_000
    load(daemon.client, session, b"0123456789" * (size // 10))
    session.exec("x = 1")
    made = daemon.client.call("POST", f"{session.path}/branch", {"count": 10})["sessions"]
    assert [Session(daemon.client, one).value("peek(3, offset=2_999_990)") for one in made] == [
        "'012'"] * 10
    blobs = [path for path in (daemon.data / "blobs").rglob("*") if path.is_file()]
    assert [path.stat().st_size for path in blobs].count(size) == 1


@pytest.mark.one_mode
def test_contexts_and_findings_are_counted(client, session):
    for n in range(32):
        load(client, session, b"x", f"c{n}")
    refused = client.request("PUT", f"{session.path}/contexts/another", b"x")
    assert refused.status == 429 and "32 contexts" in refused.json["error"]["message"]
    load(client, session, b"y", "c0")  # in place of one that there is
    client.call("DELETE", f"{session.path}/contexts/c0")
    session.put("long.txt", b"x" * (8 << 20))
    with concurrent.futures.ThreadPoolExecutor(8) as side_by_side:
        loads = [side_by_side.submit(
            Client(client.address, client.key).request, "POST", f"{session.path}/contexts",
            {"name": f"late{n}", "path": "long.txt"}) for n in range(8)]
        assert sorted(load.result().status for load in loads) == [201] + [429] * 7
    for n in range(200):
        client.call("POST", f"{session.path}/explore/findings", {"content": str(n)})
    refused = client.request("POST", f"{session.path}/explore/findings", {"content": "x"})
    assert refused.status == 429 and "200 findings" in refused.json["error"]["message"]
