"""What /mcp does not take, each refused as the specification says, and nothing is lost."""

import json

import pytest

from harness import mcp

pytestmark = pytest.mark.one_mode

TWO_AGENTS = """
default_profile: min
agents:
  - {id: ana, repl: {enabled: true}}
  - {id: bob, repl: {enabled: true}}
"""


def refused(answer):
    """(status of HTTP, code of JSON-RPC)"""
    return answer.status, answer.messages[0]["error"]["code"]


@pytest.fixture
def client(daemon):
    """Its session has the same state after what is refused as before."""
    made = mcp.Modern(daemon)
    made.call("run", {"code": "x = 1", "session": "kept"})
    yield made
    after = mcp.Modern(daemon).call("run", {"code": "x", "session": "kept"})
    assert mcp.text_of(after) == "1"


@pytest.mark.smoke
@pytest.mark.parametrize("body, code", [
    ("", -32700), ("{", -32700), ("nonsense", -32700), ("[]", -32600), ("7", -32700),
    ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),  # twice the same member
    ('{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700),
    ('{"a":' * 100 + "1" + "}" * 100, -32700),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":3}', -32600),
    ('{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', -32600),
    ('{"id":1,"method":"ping"}', -32600),
])
def test_malformed_messages(client, body, code):
    assert refused(client.send(body)) == (400, code)


def test_messages_that_are_too_large(client):
    message, headers = mcp.modern("tools/call", {"name": "run", "arguments": {
        "code": "#" * (4 << 20)}})
    assert client.open(message, headers)[1].status == 413


def test_long_messages_are_read_beside_the_loop(client):
    message, headers = mcp.modern("tools/call", {"name": "run", "arguments": {
        "code": "#" * (1 << 20)}})
    assert "isError" not in mcp.result_of(client.send(message, headers))
    assert refused(client.send("[" + " " * (1 << 20) + "]")) == (400, -32600)


def test_bodies_that_are_no_json(client):
    assert client.send("a=1", {"Content-Type": "text/plain"}).status == 415


@pytest.mark.parametrize("change, expected", [
    ({"MCP-Protocol-Version": None}, (400, -32020)),
    ({"MCP-Protocol-Version": "2025-11-25"}, (400, -32600)),  # then it needs a session
    ({"MCP-Protocol-Version": "2027-01-01"}, (400, -32020)),
    ({"Mcp-Method": None}, (400, -32020)),
    ({"Mcp-Method": "tools/call"}, (400, -32020)),
    ({"Mcp-Method": "TOOLS/LIST"}, (400, -32020)),
    ({"Mcp-Method": "=?base64?!?="}, (400, -32020)),
])
def test_headers_that_say_another_thing(client, change, expected):
    message, headers = mcp.modern("tools/list")
    assert refused(client.send(message, {**headers, **change})) == expected
    same = {**headers, "Mcp-Method": "=?base64?dG9vbHMvbGlzdA==?="}
    assert client.send(message, same).status == 200


def test_names_that_say_another_thing(client):
    message, headers = mcp.modern("tools/call", {"name": "run", "arguments": {"code": "1"}})
    for name in (None, "wait", "RUN"):
        assert refused(client.send(message, {**headers, "Mcp-Name": name})) == (400, -32020)


def test_versions_that_nobody_speaks(client):
    message, headers = mcp.modern("tools/list")
    message["params"]["_meta"][mcp.META + "protocolVersion"] = "2030-01-01"
    answer = client.send(message, {**headers, "MCP-Protocol-Version": "2030-01-01"})
    assert refused(answer) == (400, -32022)
    data = answer.messages[0]["error"]["data"]
    assert data["requested"] == "2030-01-01" and mcp.MODERN in data["supported"]


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
def test_meta_that_lacks_something(client, missing):
    message, headers = mcp.modern("tools/list", request_id="mine")
    del message["params"]["_meta"][mcp.META + missing]
    answer = client.send(message, headers)
    assert refused(answer) == (400, -32602)
    assert answer.messages[0]["id"] == "mine"


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "tasks/result",
                                    "resources/subscribe", "no/such", "", "x" * 128])
def test_methods_that_do_not_exist(client, method):
    assert refused(client.ask(method)) == (404, -32601)


def test_cursors_that_were_never_given(client):
    assert refused(client.ask("tools/list", {"cursor": "1"})) == (200, -32602)


def test_pages_of_other_origins(client):
    message, headers = mcp.modern("tools/list")
    for wrong in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                  {"Host": "evil.example"}):
        assert client.open(message, {**headers, **wrong})[1].status == 403


def test_requests_without_the_key(client):
    message, headers = mcp.modern("tools/list")
    for key in (None, "Bearer wrong"):
        connection, response = client.open(message, {**headers, "Authorization": key})
        assert response.status == 401 and "Bearer" in response.headers["WWW-Authenticate"]
        connection.close()


def test_other_methods_of_http(client):
    for method in ("GET", "DELETE", "PUT"):
        answer = client.send(None, {"MCP-Protocol-Version": mcp.MODERN}, method)
        assert answer.status == 405 and "POST" in answer.headers["Allow"]
    assert client.send(None, {"Accept": "application/json"}, "GET").status == 406
    assert client.send(None, None, "GET").status == 400  # no session is named
    assert client.send(None, {"Mcp-Session-Id": "none"}, "GET").status == 404


def test_a_session_belongs_to_its_agent(launch):
    daemon = launch(config=TWO_AGENTS)
    ana = mcp.Legacy(daemon, agent="ana")
    assert ana.request("ping") == {}
    ana.headers["Cella-Agent"] = "bob"
    assert ana.ask("ping").status == 404


def test_a_task_belongs_to_its_agent(launch):
    daemon = launch(config=TWO_AGENTS)
    ana, bob = (mcp.Modern(daemon, mcp.TASKS, agent=agent) for agent in ("ana", "bob"))
    task = ana.call("run", {"code": "import time; time.sleep(600)"})
    with pytest.raises(mcp.Refused, match="no such task"):
        bob.request("tasks/get", {"taskId": task["taskId"]})
    ana.request("tasks/cancel", {"taskId": task["taskId"]})


def test_events_that_are_not_kept(daemon):
    client = mcp.Legacy(daemon)
    for last in ("x", "1", "99-1", "1-", "-1"):
        assert client.send(None, {"Last-Event-ID": last}, "GET").status == 400
    client.send(method="DELETE")


def test_answers_to_questions_that_nobody_asked(daemon):
    client = mcp.Legacy(daemon)
    for answer in ({"result": {}}, {"error": {"code": 1, "message": "no"}}):
        assert client.send({"jsonrpc": "2.0", "id": "cella-1", **answer}).status == 202
    assert client.notify("notifications/cancelled", {"requestId": 5}).status == 202
    assert client.notify("notifications/no/such").status == 202
    assert client.request("ping") == {}
    client.send(method="DELETE")


def test_what_is_kept_of_a_subscription_is_small(daemon):
    client, legacy = mcp.Modern(daemon), mcp.Legacy(daemon)
    long = "notebook://" + "x" * 4096
    with pytest.raises(mcp.Refused, match="4096 bytes"):
        legacy.request("resources/subscribe", {"uri": long})
    for uri in (long, 7):
        with pytest.raises(mcp.Refused, match="4096 bytes"):
            client.request("subscriptions/listen", {"notifications": {
                "resourceSubscriptions": ["notebook://a", uri]}})
    before = daemon.heap_bytes()
    listening = [client.listen(toolsListChanged=[["x"] * 100] * 500) for _ in range(8)]
    for _, told in listening:
        assert next(told)["method"] == "notifications/subscriptions/acknowledged"
    assert daemon.heap_bytes() - before < 4 << 20
    for connection, _ in listening:
        connection.close()


def test_the_conformance_suites_fixtures_are_off(client):
    listed = json.dumps([client.request("tools/list"), client.request("prompts/list"),
                         client.request("resources/list")])
    assert "test_" not in listed and "test://" not in listed
