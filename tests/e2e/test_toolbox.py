"""Tools that code calls: what they are, what they answer, and what happens to those that hang or
die."""

import ast

import pytest


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
