"""Tools that the caller of a cell hands in: the cell calls them, the caller answers, and whatever
goes wrong between the two has a name and costs the cell at most."""

import ast
import json
import threading

import pytest

from harness import host
from harness.client import ApiError
from harness.mcp import Legacy, Modern, text_of
from harness.notebooks import Notebook
from harness.shell import Shell

pytestmark = pytest.mark.one_mode

DOUBLE = {"name": "double", "description": "Twice a number.", "read_only": True,
          "parameters": {"n": {"type": "integer", "required": True}}}
CONFIG = "default_profile: min\n"


def results_of(answer, answer_one):
    """What a caller sends for the calls of an answer."""
    return [{"id": one["id"], **answer_one(one)} for one in answer["tool_calls"]]


def doubled(one):
    return {"result": 2 * one["args"]["n"]}


def send(session, answer, results, **options):
    return session.client.call("POST", f"{session.path}/exec/{answer.number}/tool_results",
                               {"results": results, **options})


def serve(session, answer, answer_one=doubled, **options):
    """Answers until the cell wants nothing more; its last answer, and how often it asked."""
    asked = 0
    while answer.status == "tool_call_required":
        asked += 1
        answer = send(session, answer, results_of(answer, answer_one), **options)
    return answer, asked


def go_on(session, answer, **options):
    return session.client.call("POST", f"{session.path}/exec/{answer.number}/continue", options)


def refused(call, *args, **options):
    with pytest.raises(ApiError) as error:
        call(*args, **options)
    return str(error.value)


def call_late(session, **options):
    """A cell that waits for a result."""
    answer = session.exec("got = TOOL('double', n=21)", tools=[DOUBLE], **options)
    assert answer.status == "tool_call_required", answer
    return answer


@pytest.mark.smoke
def test_a_cell_makes_fifty_calls_that_are_answered_over_rest(spawn):
    session = spawn()
    answer = session.exec("kept = [TOOL('double', n=n) for n in range(50)]\nsum(kept)",
                          tools=[DOUBLE])
    assert answer["tool_calls"] == [{"id": "1.1", "name": "double", "args": {"n": 0}}]
    answer, asked = serve(session, answer)
    assert (answer.status, answer["value"]["text"], asked) == ("ok", str(2 * sum(range(50))), 50)
    assert session.value("kept[49]") == "98"
    log = session.client.call("GET", f"{session.path}/toolbox/log")
    assert [(one["tool_name"], one["success"]) for one in log["calls"]] == [("double", True)] * 50


@pytest.mark.parametrize("era", [Modern, Legacy])
def test_a_cell_makes_fifty_calls_that_are_answered_over_mcp(daemon, era):
    """What a model reads names the call; the program around it finds it in structuredContent."""
    client = era(daemon)
    name = f"handed-{era.__name__}"
    code = "sum(TOOL('double', n=n) for n in range(50))"
    told = client.call("run", {"code": code, "session": name, "tools": [DOUBLE]})
    assert '[cell 1 calls double, id 1.1: {"n":0}]' in text_of(told)
    asked = 0
    while "structuredContent" in told:
        asked += 1
        waiting = told["structuredContent"]
        assert waiting["status"] == "tool_call_required"
        told = client.call("wait", {"session": name, "results": results_of(waiting, doubled)})
    assert (asked, text_of(told).split()[0]) == (50, str(2 * sum(range(50))))
    assert not told.get("isError")
    told = client.call("wait", {"session": name, "results": [{"id": "1.1", "result": 1}]})
    assert told["isError"] and "cell 1 is over" in text_of(told)
    daemon.client.call("DELETE", f"/v1/sessions/{name}")


def test_calls_are_listed_checked_and_logged(spawn):
    session = spawn(explore=True)
    schema = {"name": "find", "parameters": {
        "type": "object", "properties": {"q": {"type": "string"}, "any": True}, "required": ["q"]}}
    code = "[one['call'] for one in list_tools(category='caller')], list_tools('find')['schema']"
    calls, told = ast.literal_eval(session.value(code, tools=[DOUBLE, schema]))
    assert calls == ["double(n)", "find(q, any=None)"] and told == schema["parameters"]
    assert "there is no tool" in session.value("TOOL('double', n=1)")  # it went with its cell
    answer = session.exec("TOOL('double', n='x'), TOOL('find'), TOOL('find', q='y', any=[1])",
                          tools=[DOUBLE, schema])
    assert answer["tool_calls"] == [
        {"id": "3.1", "name": "find", "args": {"q": "y", "any": [1]}}]
    answer, _ = serve(session, answer, lambda one: {"error": "nothing was found"})
    wrong, missing, failed = ast.literal_eval(answer["value"]["text"])
    assert "args.n must be a whole number" in wrong and 'needs the member "q"' in missing
    assert failed == "[ERROR: nothing was found]"
    log = session.client.call("GET", f"{session.path}/toolbox/log")["calls"]
    assert [(one["tool_name"], one["success"]) for one in log] == [
        ("double", False), ("double", False), ("find", False), ("find", False)]
    assert "T1: TOOL(double" in session.value("get_state()")


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "text", [1, [2]], {"a": {"b": None}}])
def test_any_json_is_a_result(spawn, value):
    session = spawn()
    answer, _ = serve(session, call_late(session), lambda one: {"result": value})
    assert answer.status == "ok"
    assert ast.literal_eval(session.value("[got]")) == [value]


def test_a_long_result_is_a_file_as_of_any_tool(spawn):
    session = spawn()
    answer, _ = serve(session, call_late(session), lambda one: {"result": "line\n" * 2000})
    assert answer.status == "ok"
    assert session.value("got['chars'], open(got['path']).read(10)") == "(10000, 'line\\nline\\n')"


def test_names_that_are_taken_or_are_none_are_refused(spawn):
    session = spawn()

    def hand_in(**changes):
        return refused(session.exec, "1", tools=[{**DOUBLE, **changes}])
    assert "conflict: tool 0 of the list: there is a tool calculate" in hand_in(name="calculate")
    assert "cannot be the name of a tool" in hand_in(name="a b")
    assert 'allowed_callers are "direct" and "chain"' in hand_in(allowed_callers=["anybody"])
    assert 'the parameter "n" is no object' in hand_in(parameters={"n": 1})
    assert 'unknown member "tools[0].color"' in hand_in(color="red")
    assert "is handed in twice" in refused(session.exec, "1", tools=[DOUBLE, DOUBLE])
    assert "At most 64 in 65536 bytes" in refused(
        session.exec, "1", tools=[{**DOUBLE, "parameters": {"n": {"x": "x" * 70000}}}])
    assert '"tools" has 65 entries' in refused(session.exec, "1", tools=[DOUBLE] * 65)
    # Of those that nobody runs the caller may be the one who does.
    answer = session.exec("TOOL('web_search', q='x')", tools=[{
        "name": "web_search", "parameters": {"q": {"type": "string"}}}])
    assert answer["tool_calls"][0]["name"] == "web_search"
    assert serve(session, answer, lambda one: {"result": "here"})[0]["value"]["text"] == "'here'"


def test_wrong_results_are_refused_and_none_of_them_is_taken(spawn):
    session = spawn()
    answer = call_late(session)

    def give(*results):
        return refused(send, session, answer, list(results))
    right = {"id": "1.1", "result": 42}
    assert "conflict: no call 1.2 waits" in give(right, {"id": "1.2", "result": 1})
    assert "These wait: double (1.1)." in give({"id": "nonsense", "result": 1})
    assert "answered twice" in give(right, right)
    assert 'either "result" or "error"' in give({"id": "1.1"})
    assert 'either "result" or "error"' in give({**right, "error": "x"})
    assert "too_large: the result of 1.1 has 1048579 bytes (At most 1048576" in give(
        {"id": "1.1", "result": "x" * 1048577})
    assert '"results" is missing' in refused(
        session.client.call, "POST", f"{session.path}/exec/1/tool_results", {})
    assert "not_found: the session has no cell 7" in refused(
        session.client.call, "POST", f"{session.path}/exec/7/tool_results", {"results": []})
    assert go_on(session, answer)["tool_calls"] == answer["tool_calls"]  # it waits still
    answer, _ = serve(session, answer)
    assert answer.status == "ok" and session.value("got") == "42"
    assert "gone: cell 1 is over" in refused(send, session, answer, [right])


def test_arguments_that_are_too_large_are_told_to_code(spawn):
    told = spawn().value("TOOL('note', text='x' * 300_000)", tools=[
        {"name": "note", "parameters": {"text": {"type": "string"}}}])
    assert "the arguments of note have 300011 bytes. At most 262144 are taken" in told


def test_the_clock_of_the_cell_stands_while_it_waits(spawn):
    """The cell may run for less time than it has to wait here."""
    session = spawn()
    code = "open('began', 'w').close()\nTOOL('double', n=1)\nTOOL('double', n=2)"
    answer = session.exec(code, tools=[DOUBLE], timeout_ms=400)
    waiter = threading.Event()
    waiter.wait(0.6)
    answer, asked = serve(session, answer)
    assert (answer.status, asked) == ("ok", 2) and answer["duration_ms"] < 400


def test_threads_of_a_cell_each_get_their_own_result(spawn):
    session = spawn()
    answer = session.exec("""
        import concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: TOOL('double', n=n), range(24)))
        found == [2 * n for n in range(24)]""", tools=[DOUBLE])
    answer, _ = serve(session, answer)
    assert (answer.status, answer["value"]["text"]) == ("ok", "True")


def test_a_deadline_that_passes_ends_the_cell_by_name(spawn, eventually):
    session = spawn()
    session.exec("kept = 1")
    answer = call_late(session, tool_deadline_ms=200)
    ended = eventually(lambda: over(session, answer))
    assert (ended.status, ended["error"]["name"]) == ("timeout", "ToolDeadline")
    assert ended["error"]["message"].startswith("double (2.1) was not answered within 0.2 s")
    assert "gone: cell 2 is over" in refused(send, session, answer, [{"id": "2.1", "result": 1}])
    assert session.value("kept") == "1"


def over(session, answer):
    """The last answer of a cell, once it has one."""
    told = go_on(session, answer, yield_ms=0)
    return None if told.status in ("tool_call_required", "running") else told


def test_code_that_will_not_stop_at_the_deadline_is_ended(spawn, eventually):
    session = spawn(checkpoints="every")
    session.exec("kept = 1")
    answer = session.exec("""
        while True:
            try:
                while True:
                    TOOL('double', n=1)
            except KeyboardInterrupt:
                pass""", tools=[DOUBLE], tool_deadline_ms=100)
    ended = eventually(lambda: over(session, answer))
    assert ended.status == "timeout", ended
    assert session.value("kept") == "1"


def test_an_interrupt_ends_the_wait_and_undo_goes_back_over_it(spawn, eventually):
    session = spawn(checkpoints="every")
    session.exec("kept = 1")
    answer = call_late(session)
    assert session.interrupt()
    ended = eventually(lambda: over(session, answer))
    assert (ended.status, ended["error"]["name"]) == ("interrupted", "KeyboardInterrupt")
    answer, _ = serve(session, session.exec("kept = TOOL('double', n=4)", tools=[DOUBLE]))
    assert answer.status == "ok" and session.value("kept") == "8"
    for _ in range(2):
        session.client.call("POST", f"{session.path}/undo", {})
    assert session.value("kept") == "1"


@pytest.mark.parametrize("wish, status", [("cancel", "interrupted"), ("continue", "ok")])
def test_a_caller_that_goes_away(client, spawn, eventually, wish, status):
    """Before the cell has called: with `cancel` the cell is interrupted, with `continue` another
    caller may answer."""
    session = spawn()
    body = {"code": "import os, time\nopen('began', 'w').close()\n"
                    "while not os.path.exists('go'): time.sleep(0.01)\n"
                    "got = TOOL('double', n=3)", "tools": [DOUBLE], "on_disconnect": wish}
    with client.connect() as sock:
        sock.sendall(client.post_bytes(f"{session.path}/exec", body))
        eventually(lambda: session.get("began").status == 200)
    notebook = Notebook(client, session.id)
    if wish == "cancel":
        eventually(lambda: notebook.cell(0).status == "interrupted")
    session.put("go", b"")
    if wish == "continue":
        answer = session.client.call("POST", f"{session.path}/exec/1/continue", {})
        answer, _ = serve(session, answer)
        assert answer.status == status and session.value("got") == "6"
    assert session.value("1 + 1") == "2"


def test_a_daemon_that_is_killed_names_the_call(launch):
    daemon = launch(data=launch.new_data(), config=CONFIG)
    session = daemon.client.spawn("min")
    session.exec("kept = 1", durable=True)
    answer = session.exec("TOOL('double', n=0)\nTOOL('double', n=1)", tools=[DOUBLE])
    answer = send(session, answer, [{"id": "2.1", "result": 0}])
    assert answer["tool_calls"][0]["id"] == "2.2"
    tree = daemon.tree()
    daemon.kill()
    host.eventually(lambda: not host.alive(tree))
    session.client = (again := launch(data=daemon.data, config=CONFIG)).client
    cell = Notebook(again.client, session.id).cell(1)
    assert cell.status == "died"
    assert cell["outputs"][-1]["message"] == (
        "the daemon ended while the cell waited for double (2.2)")
    assert "gone: cell 2 is over" in refused(send, session, answer, [{"id": "2.2", "result": 0}])
    assert session.value("kept") == "1"


def test_tools_of_a_session_are_all_its_cells_and_outlive_the_daemon(launch):
    daemon = launch(data=launch.new_data(), config=CONFIG)
    session = daemon.client.spawn("min", tools=[DOUBLE], tool_deadline_ms=60000)
    answer, _ = serve(session, session.exec("kept = TOOL('double', n=1)", durable=True))
    assert answer.status == "ok"
    own = {**DOUBLE, "description": "Another of this name."}
    assert session.value("list_tools('double')['description']", tools=[own]) == (
        "'Another of this name.'")
    (branch,) = daemon.client.call("POST", f"{session.path}/branch", {"count": 1})["sessions"]
    path = f"/v1/sessions/{branch['session_id']}"
    told = daemon.client.call("POST", f"{path}/exec", {"code": "TOOL('double', n=kept)"})
    assert told["tool_calls"][0]["args"] == {"n": 2}
    daemon.kill()
    session.client = launch(data=daemon.data, config=CONFIG).client
    answer, _ = serve(session, session.exec("TOOL('double', n=kept)"))
    assert answer["value"]["text"] == "4"


def test_plan_mode_and_other_callers(client, spawn):
    session = spawn(tools=[DOUBLE, {"name": "send", "parameters": {}}])
    answer = session.exec("TOOL('double', n=1)")
    told = refused(client.call, "POST", f"{session.path}/toolbox/double", {"args": {"n": 1}})
    assert "conflict: double is called by cells alone" in told
    assert serve(session, answer)[0]["value"]["text"] == "2"
    client.call("PUT", f"{session.path}/plan", {"reason": "thinking"})
    with pytest.raises(ApiError, match="plan mode"):
        client.call("POST", f"{session.path}/toolbox/send", {"args": {}})
    with pytest.raises(ApiError, match="called by cells alone"):  # it only reads
        client.call("POST", f"{session.path}/toolbox/double", {"args": {"n": 1}})


def test_a_run_of_the_notebook_has_nobody_who_answers(client, spawn):
    session = spawn(tools=[DOUBLE])
    notebook = Notebook(client, session.id)
    cell = notebook.add("TOOL('double', n=1)")
    notebook.run_range()
    text = notebook.cell(cell)["outputs"][-1]["text"]
    assert "nobody waits for this cell who could answer double" in text


@pytest.mark.parametrize("runtime, code, text", [
    ("node", "TOOL('double', { n: 4 }) + 1", "9"),
    ("bash", "explore tool_call double '{\"n\": 4}'", "8\n")])
def test_other_runtimes_call_them_too(spawn, runtime, code, text):
    session = spawn(runtime, runtime=runtime)
    answer, asked = serve(session, session.exec(code, tools=[DOUBLE]))
    shown = answer["value"]["text"] if runtime == "node" else answer["stdout"]
    assert (answer.status, asked, shown) == ("ok", 1, text)


def test_a_stream_and_a_text_tell_of_the_calls(client, spawn):
    session = spawn()
    *before, (name, last) = session.events("print('first'); TOOL('double', n=1)", tools=[DOUBLE])
    assert "".join(event["text"] for _, event in before) == "first\n"
    assert (name, last["status"], last["tool_calls"][0]["id"]) == (
        "result", "tool_call_required", "1.1")
    path = f"{session.path}/exec/1/tool_results"
    told = list(client.events(path, {"results": [{"id": "1.1", "result": 2}]}))
    assert told[-1][1]["value"]["text"] == "2"
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    reply = client.request("POST", f"{session.path}/exec", {
        "code": f"TOOL('note', text='{key}')", "format": "text",
        "tools": [{"name": "note", "parameters": {"text": {"type": "string"}}}]})
    assert reply.body.decode().splitlines() == [
        '[cell 2 calls note, id 2.1: {"text":"[REDACTED:aws_access_key]"}]',
        "[POST …/exec/2/tool_results]"]


def test_the_command_line_says_who_has_to_answer(daemon, spawn):
    session = spawn(tools=[DOUBLE])
    cella = Shell(daemon.binary, daemon.user, daemon.data)
    done = cella("exec", "-s", session.id, "TOOL('double', n=1)")
    assert done.returncode == 75 and "whoever handed these tools in: double (1.1)" in done.stderr
    results = json.dumps([{"id": "1.1", "result": 2}])
    done = cella("call", "exec.tool_results", f"session_id={session.id}", "cell=1",
                 f"results={results}")
    assert json.loads(done.stdout)["value"]["text"] == "2"
