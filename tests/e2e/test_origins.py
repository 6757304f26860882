"""Web pages of other origins: those that the configuration lists may ask, with the key."""

import json

import pytest
from harness import mcp

pytestmark = pytest.mark.one_mode

APP, LOCAL = "https://app.example.org", "http://localhost:3000"
CONFIG = f"default_profile: min\nallowed_origins: [{APP}, '{LOCAL}', 'http://[::1]:8000']\n"


@pytest.fixture(scope="module")
def daemon(launcher):
    made = launcher(config=CONFIG)
    yield made
    made.stop()


def ask_first(client, path, origin, method="POST", **more):
    """What a browser asks before a script may send a key; it sends none itself."""
    return client.request("OPTIONS", path, headers={
        "Origin": origin, "Access-Control-Request-Method": method, "Authorization": "",
        "Access-Control-Request-Headers": "authorization,content-type", **more})


def words(reply, header):
    return {word.strip().lower() for word in reply.headers[header].split(",")}


@pytest.mark.smoke
@pytest.mark.parametrize("origin", [APP, LOCAL, "http://[::1]:8000"])
def test_a_listed_page_asks_and_reads(daemon, origin):
    client = daemon.client
    may = ask_first(client, "/v1/sessions", origin)
    assert may.status == 204 and may.headers["Access-Control-Allow-Origin"] == origin
    assert {"get", "post", "put", "patch", "delete"} <= words(
        may, "Access-Control-Allow-Methods")
    assert {"authorization", "content-type", "cella-agent", "mcp-method", "mcp-name",
            "mcp-protocol-version", "mcp-session-id", "last-event-id"} <= words(
        may, "Access-Control-Allow-Headers")
    assert "Access-Control-Allow-Credentials" not in may.headers  # nothing is sent by itself
    headers = {"Origin": origin}
    made = client.request("POST", "/v1/sessions", {}, headers)
    assert made.status == 201 and made.headers["Access-Control-Allow-Origin"] == origin
    assert "Origin" in made.headers["Vary"]
    path = f"/v1/sessions/{made.json['session_id']}"
    streamed = client.request("POST", f"{path}/exec", {"code": "print(6*7)"},
                              {**headers, "Accept": "text/event-stream"})
    assert streamed.headers["Access-Control-Allow-Origin"] == origin
    client.request("PUT", f"{path}/files/a.txt", b"here", headers)
    got = client.request("GET", f"{path}/files/a.txt", headers=headers)
    assert got.headers["Access-Control-Allow-Origin"] == origin
    assert "content-disposition" in words(got, "Access-Control-Expose-Headers")
    missing = client.request("GET", "/v1/sessions/none", headers=headers)
    assert missing.status == 404 and missing.headers["Access-Control-Allow-Origin"] == origin


def test_a_listed_page_speaks_mcp(daemon):
    assert ask_first(daemon.client, "/mcp", APP).status == 204
    client = mcp.Modern(daemon)
    client.headers["Origin"] = APP
    answer = client.ask("tools/call", {"name": "run", "arguments": {"code": "6*7"}})
    assert answer.headers["Access-Control-Allow-Origin"] == APP
    assert mcp.text_of(mcp.result_of(answer)).startswith("42")


def test_a_listed_page_needs_the_key(daemon):
    reply = daemon.client.request("GET", "/v1/sessions",
                                  headers={"Origin": APP, "Authorization": "Bearer no"})
    assert reply.status == 401 and reply.headers["Access-Control-Allow-Origin"] == APP


@pytest.mark.parametrize("origin", [
    "https://evil.example", "null", "", "*", f"{APP}.evil.example", f"{APP}:8443", f"{APP}/",
    "http://app.example.org", "https://APP.example.org", "https://example.org", f"{APP} {LOCAL}",
    f"{APP}, {LOCAL}", "http://localhost:3001", "http://127.0.0.1:3000", "http://[::1]",
])
def test_no_other_page_gets_anything(daemon, origin):
    for reply in (ask_first(daemon.client, "/v1/sessions", origin),
                  ask_first(daemon.client, "/mcp", origin),
                  daemon.client.request("GET", "/v1/sessions", headers={"Origin": origin}),
                  daemon.client.request("POST", "/mcp", {}, headers={"Origin": origin})):
        assert reply.status in (400, 403)
        assert not [h for h in reply.headers if h.lower().startswith("access-control-")]


def test_a_name_of_this_machine_that_is_none_is_refused_for_listed_pages_too(daemon):
    reply = ask_first(daemon.client, "/v1/sessions", APP, Host="evil.example")
    assert reply.status == 403 and "Access-Control-Allow-Origin" not in reply.headers


def test_two_origins_are_malformed(daemon):
    with daemon.client.connect() as wire:
        wire.sendall(daemon.client.head("GET", "/v1/sessions") +
                     f"Origin: {APP}\r\nOrigin: {LOCAL}\r\n\r\n".encode())
        assert wire.recv(12) == b"HTTP/1.1 400"


def test_answers_to_others_on_the_same_connection_say_nothing(daemon):
    client = daemon.client
    assert "Access-Control-Allow-Origin" in client.request(
        "GET", "/health", headers={"Origin": APP}).headers
    assert "Access-Control-Allow-Origin" not in client.request("GET", "/health").headers


def test_what_only_looks_like_a_question_is_none(daemon):
    plain = daemon.client.request("OPTIONS", "/v1/sessions", headers={"Origin": APP})
    assert plain.status == 405
    without = daemon.client.request("OPTIONS", "/v1/sessions", headers={
        "Access-Control-Request-Method": "POST"})
    assert without.status == 405 and "Access-Control-Allow-Origin" not in without.headers


def test_a_question_does_nothing_and_takes_no_body(daemon):
    def count():
        return len(daemon.client.call("GET", "/v1/sessions").sessions)

    before = count()
    with daemon.client.connect() as wire:
        wire.sendall((f"OPTIONS /v1/sessions HTTP/1.1\r\nHost: localhost\r\nOrigin: {APP}\r\n"
                      "Access-Control-Request-Method: POST\r\nContent-Length: 1000000\r\n\r\n"
                      + json.dumps({})).encode())
        answer = b""
        while piece := wire.recv(4096):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 204") and answer.count(b"HTTP/1.1") == 1
    assert count() == before
