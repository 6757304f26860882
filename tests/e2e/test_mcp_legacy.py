"""The Model Context Protocol with `initialize`, 2025-11-25 and older, at the same path: sessions,
streams that can be taken up again, questions on the stream of the request that they belong to."""

import http.client
import json
import re
import time

import pytest

from harness import host, mcp

pytestmark = pytest.mark.one_mode


@pytest.fixture
def connect(daemon):
    """Makes clients whose sessions end with the test."""
    clients = []

    def start(*args, **more):
        clients.append(mcp.Legacy(daemon, *args, **more))
        return clients[-1]

    yield start
    for client in clients:
        client.send(method="DELETE")


@pytest.mark.smoke
@pytest.mark.parametrize("asked, agreed", [("2025-11-25", "2025-11-25"), ("2025-06-18",) * 2,
                                           ("2025-03-26",) * 2, ("2024-11-05",) * 2,
                                           ("1999-01-01", "2025-11-25")])
def test_the_version_is_agreed_on(connect, asked, agreed):
    client = connect(version=asked)
    assert client.server["protocolVersion"] == agreed
    assert client.server["serverInfo"]["name"] == "cella"
    assert client.request("ping") == {}


def test_each_client_has_a_session_of_its_own(connect):
    one, other = connect(), connect()
    assert "[new session" in mcp.text_of(one.call("run", {"code": "x = 'one'"}))
    assert "[new session" in mcp.text_of(other.call("run", {"code": "x = 'other'"}))
    assert mcp.text_of(one.call("run", {"code": "x"})) == "'one'"
    assert mcp.text_of(other.call("run", {"code": "x"})) == "'other'"


def test_a_session_ends_with_delete(connect):
    client = connect()
    assert client.send(method="DELETE").status == 200
    answer = client.ask("tools/list")
    assert (answer.status, answer.messages[0]["error"]["code"]) == (404, -32001)
    assert client.send(method="DELETE").status == 404


def test_input_is_asked_on_the_stream_of_the_call(connect):
    client = connect({"elicitation": {}})
    connection, response = client.open({
        "jsonrpc": "2.0", "id": "run", "method": "tools/call",
        "params": {"name": "run", "arguments": {"code": "print('hi'); input('Name? ').upper()"}}})
    stream = mcp.events(response)
    messages = []
    for _, message in stream:
        if message is None:
            continue  # the event that tells its id
        messages.append(message)
        if "method" in message:
            assert message["method"] == "elicitation/create"
            assert message["params"]["message"] == "Name? "
            reply = {"jsonrpc": "2.0", "id": message["id"],
                     "result": {"action": "accept", "content": {"line": "Ada"}}}
            assert client.send(reply).status == 202
    connection.close()
    assert messages[-1]["id"] == "run"
    assert "ADA" in mcp.text_of(messages[-1]["result"])


def test_a_question_that_nobody_answers_is_refused_in_the_end(launch):
    daemon = launch(config="default_profile: min\n", env={"CELLA_TEST_TIME_SCALE": "0.0001"})
    result = mcp.Legacy(daemon, {"elicitation": {}}).call("run", {"code": "input('Name? ')"})
    assert result["isError"] and "KeyboardInterrupt" in mcp.text_of(result)


def test_a_client_that_reads_no_streams_is_not_asked(connect):
    client = connect({"elicitation": {}})
    client.headers["Accept"] = "application/json"
    assert "wait(input=" in mcp.text_of(client.call("run", {"code": "input('Name? ')"}))
    assert "'x'" in mcp.text_of(client.call("wait", {"input": "x"}))


def test_a_client_without_streams_that_goes_has_not_cancelled(connect):
    client = connect()
    client.call("run", {"code": "import os, time; n = 0"})
    connection = http.client.HTTPConnection(*client.address)
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "run", "arguments": {"code": "open('begun', 'w').close()\n"
                                     "while not os.path.exists('go'): time.sleep(0.01)\nn = 1"}}}
    connection.request("POST", client.path, json.dumps(body),
                       {**client.headers, "Accept": "application/json"})
    host.eventually(lambda: "begun" in mcp.text_of(client.call("file", {"action": "list"})),
                    "a cell that has begun")
    connection.close()
    client.call("file", {"action": "put", "path": "go", "content": ""})
    assert mcp.text_of(client.call("run", {"code": "n"})) == "1"


def test_a_request_can_be_taken_back(connect):
    client = connect()
    client.call("run", {"code": "n = 0"})
    connection, response = client.open({
        "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {
            "name": "run", "_meta": {"progressToken": 1}, "arguments": {
                "code": "import time\ntry: print('begun', flush=True); time.sleep(600)\n"
                        "except KeyboardInterrupt: n = 1"}}})
    stream = mcp.events(response)
    assert next(stream)[1] is None
    assert next(stream)[1]["method"] == "notifications/progress"
    assert client.notify("notifications/cancelled", {"requestId": 77}).status == 202
    assert list(stream) == []  # it ends without an answer
    connection.close()
    assert mcp.text_of(client.call("run", {"code": "n"})) == "1"


def test_a_broken_stream_is_taken_up_again(connect):
    """The connection breaks; the cell goes on, and its answer waits for the client."""
    client = connect()
    client.call("run", {"code": "import os, time"})
    connection, response = client.open({
        "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
            "name": "run", "_meta": {"progressToken": 1}, "arguments": {
                "code": "print('begun', flush=True)\n"
                        "while not os.path.exists('go'): time.sleep(0.01)\n'done'"}}})
    stream = mcp.events(response)
    first, primer = next(stream)
    assert primer is None
    second, progress = next(stream)
    assert progress["params"]["message"] == "begun"
    assert first != second
    response.close()
    connection.close()
    assert "isError" not in client.call("file", {"action": "put", "path": "go", "content": "!"})
    connection, rest = client.stream(first)
    told = [message for _, message in rest if message is not None]
    connection.close()
    assert told[0] == progress
    assert mcp.text_of(told[-1]["result"]).endswith("'done'")


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18"])
def test_a_stream_that_has_nothing_to_show_is_answered_too(connect, version):
    client = connect(version=version)
    connection, _ = client.stream()
    connection.close()
    connection, _ = client.stream("0-0")  # taken up again: its head comes before any event
    connection.close()


def test_what_the_server_says_by_itself_has_a_stream(connect):
    client = connect()
    session = re.search(r"new session (\S+)]", mcp.text_of(client.call("run", {"code": "1"})))[1]
    uri = next(r["uri"] for r in client.request("resources/list")["resources"]
               if r["name"] == session)
    connection, stream = client.stream()
    assert client.send(method="GET").status == 409  # one is enough
    assert client.request("resources/subscribe", {"uri": uri}) == {}
    client.call("run", {"code": "2"})
    told = next(message for _, message in stream if message is not None)
    assert told == {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                    "params": {"uri": uri}}
    assert client.request("resources/unsubscribe", {"uri": uri}) == {}
    connection.close()


def test_messages_have_the_level_that_was_set(connect):
    client = connect()
    assert len(client.ask("tools/call", {"name": "run", "arguments": {"code": "1"}})
               .messages) == 1
    assert client.request("logging/setLevel", {"level": "info"}) == {}
    told = client.ask("tools/call", {"name": "run", "arguments": {"code": "1"}}).messages
    assert [m.get("method") for m in told] == ["notifications/message", None]
    with pytest.raises(mcp.Refused, match="level"):
        client.request("logging/setLevel", {"level": "loud"})


def test_a_missing_resource_has_the_older_code(connect):
    with pytest.raises(mcp.Refused) as refusal:
        connect().request("resources/read", {"uri": "notebook://none"})
    assert refusal.value.code == -32002


def test_results_have_nothing_of_the_other_era(connect):
    client = connect()
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        result = client.request(method)
        assert len(result) == 1, json.dumps(result)[:200]
    for method in ("server/discover", "subscriptions/listen", "tasks/get"):
        with pytest.raises(mcp.Refused) as refusal:
            client.request(method)
        assert refusal.value.code == -32601


def test_sessions_are_bounded(launch):
    """The newest is refused, with what to do; one that ends makes room."""
    daemon = launch(config="default_profile: min\n")
    clients = [mcp.Legacy(daemon) for _ in range(512)]
    answer = mcp.Http(daemon).send({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                                    "params": {}})
    assert answer.status == 503
    assert answer.messages[0]["error"]["code"] == -32000
    assert "512" in answer.messages[0]["error"]["message"]
    clients[0].send(method="DELETE")
    assert mcp.Legacy(daemon).request("ping") == {}


def await_end(client):
    """Each look keeps the session alive, so that the next comes later."""
    pause = 0.1
    while client.ask("ping").status != 404:
        assert pause < host.PATIENCE, "the session does not end"
        time.sleep(pause)
        pause *= 2


def test_a_session_that_nobody_uses_ends(launch):
    """An hour lasts 0.36 s here. Whoever reads the session's stream uses it."""
    daemon = launch(config="default_profile: min\n", env={"CELLA_TEST_TIME_SCALE": "0.0001"})
    reader = mcp.Legacy(daemon)
    connection, _ = reader.stream()
    idle = mcp.Legacy(daemon)
    await_end(idle)
    assert idle.send(method="DELETE").status == 404
    assert reader.request("ping") == {}
    connection.close()
    await_end(reader)
