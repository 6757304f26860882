"""Tools that code calls: what they are, what they answer, and what happens to those that hang or
die."""

import ast
import concurrent.futures

import pytest

from harness.client import ApiError


@pytest.fixture
def toolbox(spawn):
    return spawn(explore=True)


def look(session, code):
    """The value of a cell, which is made of plain values."""
    return ast.literal_eval(session.value(code))


@pytest.mark.smoke
def test_code_calls_a_tool(client, toolbox):
    assert toolbox.value("TOOL('calculate', expression='2 ** 10')['result']") == "1024"
    assert toolbox.value("tool_call('calculate', {'expression': '6 * 7'})['result']") == "42"
    called = toolbox.value("CALL('{\"name\": \"calculate\", \"args\": {\"expression\": \"1/4\"}}')")
    assert ast.literal_eval(called) == {"expression": "1/4", "result": 0.25}
    answer = client.call("POST", f"{toolbox.path}/toolbox/calculate",
                         {"args": {"expression": "sqrt(16)"}})
    assert (answer["tool"], answer["result"]["result"]) == ("calculate", 4.0)
    log = client.call("GET", f"{toolbox.path}/toolbox/log")
    assert [call["tool_name"] for call in log["calls"]] == ["calculate"] * 4
    assert {call["caller_type"] for call in log["calls"]} == {"direct"}
    assert all(call["success"] for call in log["calls"])


def test_node_and_bash_call_the_same_tools(spawn):
    node = spawn("node", runtime="node", explore=True)
    assert node.value("TOOL('calculate', { expression: '2 ** 10' }).result") == "1024"
    assert node.value("toolCall('calculate', { expression: '1 +' }).slice(0, 7)") == "'[ERROR:'"
    called = """CALL('{"name": "calculate", "args": {"expression": "5 != 4"}}').result"""
    assert node.value(called) == "true"
    bash = spawn("bash", runtime="bash", explore=True)
    done = bash.exec("""explore tool_call calculate '{"expression": "2 ** 10"}'""")
    assert done.stdout == '{"expression":"2 ** 10","result":1024}\n'
    done = bash.exec("explore TOOL calculate '{}' ; echo $?")
    assert done.stdout == ('[ERROR: args needs the member "expression". '
                           'expression: As in Python: sqrt(2) * sin(pi / x).]\n1\n')


def call(client, session, name, **args):
    return client.call("POST", f"{session.path}/toolbox/{name}", {"args": args})["result"]


def test_a_tool_that_hangs_is_ended_and_costs_nothing_else(client, toolbox):
    toolbox.exec("kept = 1")
    with pytest.raises(ApiError, match="timeout: .* was not done within 0.3 seconds"):
        call(client, toolbox, "run_shell", command="tail -f /dev/null", timeout=0.3)
    ended = toolbox.exec("TOOL('python_eval', code='while True: pass')", timeout_ms=700)
    assert ended.status in ("interrupted", "timeout")
    assert toolbox.value("kept, TOOL('calculate', expression='1 + 1')['result']") == "(1, 2)"


def test_a_tool_that_dies_is_told_and_the_session_lives(client, toolbox, eventually):
    assert toolbox.value("TOOL('calculate', expression='1')['result']") == "1"
    killed = toolbox.value("""import os, signal
killed = 0
for pid in range(2, 32768):
    try:
        if pid != os.getpid():
            os.kill(pid, signal.SIGKILL)
            killed += 1
    except OSError:
        pass
killed > 0""")
    assert killed == "True"
    eventually(lambda: toolbox.value("TOOL('calculate', expression='2')")
               == "{'expression': '2', 'result': 2}")


def test_long_results_are_files_that_begin_with_a_preview(client, toolbox):
    toolbox.put("long.txt", "".join(f"line {n}\n" for n in range(2000)).encode())
    told = look(toolbox, "TOOL('read_file', path='long.txt')")
    assert told["path"].startswith("/workspace/results/result_") and told["path"].endswith(".txt")
    assert (told["chars"], told["lines"]) == (18890, 2000)
    lines = told["preview"].splitlines()
    assert (lines[0], lines[49], lines[50], lines[-1]) == (
        "line 0", "line 49", "[... 1930 lines ...]", "line 1999")
    assert toolbox.value(f"open({told['path']!r}).read() == open('long.txt').read()") == "True"
    print(toolbox.value("tool_call('read_file', {'path': 'long.txt'}, whole=True)[:300]"))
    whole = toolbox.value("len(tool_call('read_file', {'path': 'long.txt'}, whole=True))")
    assert whole == "18890"
    listed = look(toolbox, "TOOL('csv_to_json', path='long.txt', header=False)")
    assert listed["path"].endswith(".json") and listed["preview"]["count"] == 2000


def test_calls_of_a_session_run_side_by_side(client, toolbox):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        codes = [f"import time; time.sleep(0.2); {n}" for n in range(6)]
        found = list(pool.map(
            lambda code: client.call("POST", f"{toolbox.path}/toolbox/python_eval",
                                     {"args": {"code": code}})["result"]["result"], codes))
    assert found == [str(n) for n in range(6)]


def test_the_log_and_the_tree_follow_the_session(client, spawn):
    session = spawn(explore=True, checkpoints="every")
    session.exec("TOOL('calculate', expression='1 + 1')")
    session.exec("CALL('{\"name\": \"run_shell\", \"args\": {\"command\": \"ls\"}}')")
    session.exec("CALL('{\"name\": \"calculate\", \"args\": {\"expression\": \"1 +\"}}')")
    log = client.call("GET", f"{session.path}/toolbox/log")
    assert [(one["tool_name"], one["success"]) for one in log["calls"]] == [
        ("calculate", True), ("run_shell", True), ("calculate", False)]
    assert log["calls"][2]["error"].startswith("'1 +' is no expression")
    assert client.call("GET", f"{session.path}/toolbox/log?limit=1")["total"] == 3
    told = session.value("get_state()")
    assert all(line in told for line in ("T1: TOOL(calculate", "S1: run_shell", "C1: CALL(calc"))
    for _ in range(2):
        client.call("POST", f"{session.path}/undo", {})
    assert client.call("GET", f"{session.path}/toolbox/log?limit=1")["total"] == 2
    assert session.value("TOOL('calculate', expression='5')['result']") == "5"


def test_plan_mode_refuses_all_tools_but_those_that_read(client, toolbox):
    client.call("PUT", f"{toolbox.path}/plan", {"reason": "thinking"})
    assert call(client, toolbox, "calculate", expression="1")["result"] == 1
    assert call(client, toolbox, "sql_query", query="SELECT 1")["rows"] == [[1]]
    for name, args in (("write_file", {"path": "x", "content": ""}),
                       ("sql_query", {"query": "SELECT 1", "write": True}),
                       ("run_shell", {"command": "ls"})):
        with pytest.raises(ApiError, match="plan mode"):
            call(client, toolbox, name, **args)


def test_wrong_arguments_name_the_member(client, toolbox):
    for args, words in (({"expresion": "1"}, 'args needs the member "expression"'),
                        ({"expression": 1}, "args.expression must be a text"),
                        ({"expression": "1", "variables": {"x": "y"}}, "args.variables.x must be"),
                        ({"expression": "1", "more": 1}, 'args has no member "more"')):
        with pytest.raises(ApiError) as refused:
            call(client, toolbox, "calculate", **args)
        assert words in refused.value.message
    with pytest.raises(ApiError, match='not_found: there is no tool "calc"'):
        call(client, toolbox, "calc")


def test_nobody_pretends_to_be_a_chain_and_refusals_are_in_the_log(client, toolbox):
    """Who calls is for the daemon to know; what it did not run is in the log too."""
    for forged in ({"caller": "chain"}, {"chain_id": "0123456789ab"}, {"chain_index": 1}):
        with pytest.raises(ApiError, match="unknown member"):
            client.call("POST", f"{toolbox.path}/toolbox/calculate",
                        {"args": {"expression": "1"}, **forged})
    assert "no tool" in toolbox.value("TOOL('calculat', expression='1')")
    assert toolbox.value("TOOL('calculate', expression='1')['result']") == "1"
    log = client.call("GET", f"{toolbox.path}/toolbox/log")["calls"]
    assert [(one["tool_name"], one["caller_type"], one["success"]) for one in log] == [
        ("calculat", "direct", False), ("calculate", "direct", True)]
    assert log[0]["error"].startswith('there is no tool "calculat"')
    assert {one["role"] for one in log} == {"default"}


def test_the_log_keeps_no_credentials(client, toolbox):
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    toolbox.exec(f"TOOL('python_eval', code='print(\"{key}\"); \"{key}\"')")
    log = client.call("GET", f"{toolbox.path}/toolbox/log")["calls"][0]
    assert key not in str(log) and "[REDACTED:aws_access_key]" in log["args"]
    assert "[REDACTED:aws_access_key]" in log["result"]


def test_list_tools_shows_what_each_takes(toolbox):
    listed = look(toolbox, "list_tools()")
    assert [one["call"] for one in listed if one["name"] == "calculate"] == [
        "calculate(expression, variables={})"]
    entry = look(toolbox, "list_tools('write_file')")
    assert (entry["destructive"], entry["allowed_callers"]) == (True, ["direct"])
    assert entry["parameters"]["content"] == {"type": "string", "required": True,
                                              "description": "What is to be in it."}
