"""Servers inside sessions, reached through the daemon: HTTP and WebSockets, one caller's at a time,
and never anybody else's."""

import http.client
import json
import socket
import subprocess
import threading
import urllib.parse

import pytest
from harness import servers
from harness.client import read_reply
from harness.host import PATIENCE, eventually, fd_count
from harness.servers import PORT, WebSocket

pytestmark = pytest.mark.one_mode


@pytest.fixture(scope="module")
def place(shared_daemon):
    """A session in which the server runs; tests do not harm it."""
    client = shared_daemon.get().client
    session = client.spawn("min")
    servers.start(session)
    yield session
    client.request("DELETE", session.path)


def ask(session, path, method="GET", body=None, port=PORT, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return session.client.request(method, f"{session.path}/ports/{port}{path}", body, headers)


def websocket(session, path="/", port=PORT, **headers):
    client = session.client
    return WebSocket(client.address, f"{session.path}/ports/{port}{path}",
                     {**client.headers(), **headers}, PATIENCE)


# ---- what is passed on, and what is not ----------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.each_mode
def test_a_request_reaches_the_server(session):
    servers.start(session)
    method, path, headers, body = ask(session, "/a/b%2Fc?x=1&x=2").json
    assert (method, path, body) == ("GET", "/a/b%2Fc?x=1&x=2", "")
    assert headers["host"] == [f"localhost:{PORT}"]
    assert headers["x-forwarded-prefix"] == [f"{session.path}/ports/{PORT}"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
def test_any_method_with_its_body(place, method):
    answer = ask(place, "/x", method, b'{"a": 1}').json
    assert (answer[0], answer[3]) == (method, '{"a": 1}')


def test_head_has_the_length_and_no_body(place):
    reply = ask(place, "/x", "HEAD")
    assert reply.status == 200 and reply.body == b"" and int(reply.headers["Content-Length"]) > 0
    assert ask(place, "/x").status == 200  # the connection goes on behind it


@pytest.mark.parametrize("path", ["", "?a=1", "/"])
def test_the_root_of_the_server(place, path):
    assert ask(place, path).json[1] == "/" + path.lstrip("/")


def test_what_is_between_the_caller_and_the_daemon_stays_there(place):
    headers = ask(place, "/x", Cookie="a=b", Referer="http://127.0.0.1/", Cella_Agent="default",
                  Connection="keep-alive, X-Hop", X_Hop="1", X_Kept="2", TE="trailers",
                  X_Forwarded_For="1.2.3.4", Proxy_Authorization="x").json[2]
    assert not {"authorization", "cookie", "referer", "cella-agent", "x-hop", "te", "origin",
                "x-forwarded-for", "proxy-authorization"} & set(headers), headers
    assert headers["x-kept"] == ["2"] and headers["connection"] == ["close"]
    assert place.client.key not in json.dumps(headers)


def test_an_answer_has_no_say_over_the_origin_of_the_daemon(place):
    reply = ask(place, "/cookies")
    assert reply.body == b"ok" and reply.headers["X-Kept"] == "2"
    for name in ("Set-Cookie", "Clear-Site-Data", "Keep-Alive", "X-Own"):
        assert name not in reply.headers
    policy = reply.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox") and "same-origin" not in policy


def test_a_redirect_stays_below_the_port_or_is_the_clients_to_follow(place):
    assert ask(place, "/moved").headers["Location"] == f"{place.path}/ports/{PORT}/hello"
    assert ask(place, "/elsewhere").headers["Location"] == "http://example.com/"


def test_a_body_of_unknown_length_both_ways(place):
    data = bytes(range(256)) * 5000
    with place.client.connect() as sock:
        sock.sendall(place.client.head("POST", f"{place.path}/ports/{PORT}/echo",
                                       Transfer_Encoding="chunked") + b"\r\n")
        sender = threading.Thread(target=lambda: sock.sendall(b"".join(
            b"%x\r\n" % len(data[i:i + 7000]) + data[i:i + 7000] + b"\r\n"
            for i in range(0, len(data), 7000)) + b"0\r\n\r\n"))
        sender.start()
        reply = read_reply(sock.makefile("rb"))
        sender.join()
    assert reply.status == 200 and reply.body == data


@pytest.mark.slow
def test_a_large_body_is_not_kept_in_memory(place, daemon):
    size = 132 << 20  # above what an operation takes
    path = f"{place.path}/ports/{PORT}/count"
    with daemon.watch_heap() as heap, place.client.connect() as sock:
        sock.sendall(place.client.head("POST", path, Content_Length=size, Expect="100-continue")
                     + b"\r\n")
        replies = sock.makefile("rb")
        assert read_reply(replies).status == 100
        piece = bytes(1 << 20)
        for _ in range(size >> 20):
            sock.sendall(piece)
        assert read_reply(replies).body == str(size).encode()
    assert heap[1] - heap[0] < 16 << 20


def test_events_arrive_as_they_are_sent(place):
    connection = place.client.new_connection()
    connection.request("GET", f"{place.path}/ports/{PORT}/events", headers=place.client.headers())
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "text/event-stream"
    for i in range(3):
        assert response.readline() == f"data: {i}\n".encode() and response.readline() == b"\n"
        assert ask(place, f"/open/event{i}").status == 200
    assert response.read() == b""
    connection.close()


def test_a_server_of_http_1_0_and_a_client_of_http_1_0(place):
    assert ask(place, "/until-close").body == b"all there is"
    with place.client.connect() as sock:
        head = place.client.head("GET", f"{place.path}/ports/{PORT}/until-close")
        sock.sendall(head.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n")
        text = sock.makefile("rb").read()
    assert text.endswith(b"\r\n\r\nall there is") and b"chunked" not in text


def test_interim_answers_are_passed_over(place):
    assert ask(place, "/hints").body == b"ok"
    assert ask(place, "/none").status == 204


def test_requests_in_a_row_on_one_connection(place):
    """What follows a request is the next one to the daemon, and not the server's."""
    client = place.client
    port = f"{place.path}/ports/{PORT}"
    with client.connect() as sock:
        sock.sendall(client.post_bytes(f"{port}/first", b"1") + client.head("GET", "/v1/sessions")
                     + b"\r\n" + client.head("GET", f"{port}/second") + b"\r\n"
                     + client.head("GET", f"{port}/third") + b"\r\n")
        replies = sock.makefile("rb")
        assert read_reply(replies).json[3] == "1"
        assert "sessions" in read_reply(replies).json
        assert read_reply(replies).body == b"first"  # the server sent two answers at once
        assert read_reply(replies).json[1] == "/third"


def test_a_server_that_answers_before_it_has_the_body(place):
    with place.client.connect() as sock:
        sock.sendall(place.client.head("POST", f"{place.path}/ports/{PORT}/early",
                                       Content_Length=1 << 30) + b"\r\n" + b"x" * 100000)
        reply = read_reply(sock.makefile("rb"))
    assert (reply.status, reply.body) == (413, b"no!")
    assert reply.headers["Connection"] == "close"


def test_curl(place):
    client = place.client
    url = "http://%s:%s%s/ports/%d/echo" % (*client.address, place.path, PORT)
    done = subprocess.run(["curl", "-sS", "-L", "-H", f"Authorization: Bearer {client.key}",
                           "-T", "-", url], input=b"from curl" * 1000, capture_output=True,
                          timeout=PATIENCE)
    assert done.stdout == b"from curl" * 1000, done.stderr


def test_a_server_on_the_other_loopback(session):
    servers.start(session, "::1")
    assert ask(session, "/x").status == 200


def test_a_key_is_asked_for(place):
    connection = http.client.HTTPConnection(*place.client.address)
    connection.request("GET", f"{place.path}/ports/{PORT}/x")
    assert connection.getresponse().status == 401
    connection.close()


# ---- WebSockets ----------------------------------------------------------------------------------


@pytest.mark.smoke
def test_a_websocket(place):
    ws = websocket(place, "/ws")
    assert ws.status == 101
    for data in (b"", b"one", b"x" * 60000):
        ws.send(data)
        assert ws.receive() == (2, data)
    ws.send(b"\x03\xe8", opcode=8)
    assert ws.receive() == (8, b"\x03\xe8")
    assert ws.receive() is None
    ws.close()


def test_frames_that_come_with_the_request(place):
    """A client need not wait for the answer; what it sent is kept for the server."""
    client = place.client
    with client.connect() as sock:
        sock.sendall(client.head("GET", f"{place.path}/ports/{PORT}/ws", Connection="Upgrade",
                                 Upgrade="websocket", Sec_WebSocket_Key="x") + b"\r\n"
                     + servers.frame(b"early"))
        replies = sock.makefile("rb")
        assert read_reply(replies).status == 101
        assert replies.read(7) == b"\x82\x05early"


def test_a_refused_upgrade_is_an_ordinary_answer(place):
    """And what the client sent behind it is nobody's."""
    client = place.client
    with client.connect() as sock:
        sock.sendall(client.head("GET", f"{place.path}/ports/9/ws", Connection="Upgrade",
                                 Upgrade="websocket", Sec_WebSocket_Key="x") + b"\r\n"
                     + client.head("DELETE", place.path) + b"\r\n")
        replies = sock.makefile("rb")
        assert read_reply(replies).status == 502
        assert read_reply(replies) is None
    assert place.is_alive()


def test_other_protocols_are_not_offered_to_the_server(place):
    assert ask(place, "/x", Connection="Upgrade", Upgrade="h2c").json[1] == "/x"


def test_many_at_once_are_refused_politely(spawn, daemon):
    session = spawn("min")
    servers.start(session)
    before = fd_count(daemon.pid)
    sockets = [websocket(session, "/ws") for _ in range(64)]
    assert ask(session, "/x").status == 429
    sockets[0].send(b"still here")
    assert sockets[0].receive() == (2, b"still here")
    for ws in sockets:
        ws.close()
    daemon.client.close()
    eventually(lambda: fd_count(daemon.pid) < before + 20)
    assert ask(session, "/x").status == 200


# ---- servers that misbehave ----------------------------------------------------------------------


@pytest.mark.parametrize("path", [
    "/garbage", "/huge", "/many", "/folded", "/bare", "/two-lengths", "/both", "/gzip-framing",
    "/unasked", "/interim", "/status-999", "/nothing"])
def test_no_answer_or_a_bad_one_is_a_502(place, path):
    reply = ask(place, path)
    assert (reply.status, reply.json["error"]["code"]) == (502, "bad_gateway"), reply
    assert reply.json["error"]["advice"]


@pytest.mark.parametrize("path", ["/short", "/bad-chunk"])
def test_an_answer_that_breaks_off_is_not_a_whole_one(place, path):
    with place.client.connect() as sock:
        sock.sendall(place.client.head("GET", f"{place.path}/ports/{PORT}{path}") + b"\r\n")
        text = sock.makefile("rb").read()  # the connection ends with it
    assert text.startswith(b"HTTP/1.1 200 OK") and not text.endswith(b"0\r\n\r\n")


def test_a_server_that_never_answers(launch):
    """Others are served meanwhile, and a deadline ends it."""
    daemon = launch(config="default_profile: min\n", env={"CELLA_TEST_TIME_SCALE": "0.005"})
    session = daemon.client.spawn("min")
    servers.start(session)
    reply = ask(session, "/never")
    assert reply.status == 502 and "silent" in reply.json["error"]["message"]
    assert session.value("1 + 1") == "2"


def test_nobody_listens(place):
    reply = ask(place, "/", port=9)
    assert reply.status == 502 and "port 9" in reply.json["error"]["message"]


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "80x"])
def test_what_is_no_port(place, port):
    assert ask(place, "/", port=port).status == 400


def test_a_client_that_goes(place, daemon):
    before = fd_count(daemon.pid)
    for path in ("/never", "/bytes/1000000000", "/ws") * 5:
        sock = place.client.connect()
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": "x"}
        sock.sendall(place.client.head("GET", f"{place.path}/ports/{PORT}{path}",
                                       **(upgrade if path == "/ws" else {})) + b"\r\n")
        if path != "/never":
            assert sock.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 101")
        sock.close()
    eventually(lambda: fd_count(daemon.pid) < before + 10)
    assert ask(place, "/x").status == 200


def test_a_client_that_does_not_read(place, daemon):
    """The server is not read either, and others are not kept waiting."""
    with daemon.watch_heap() as heap, place.client.connect() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(place.client.head("GET", f"{place.path}/ports/{PORT}/bytes/1000000000")
                     + b"\r\n")
        assert sock.recv(12) == b"HTTP/1.1 200"
        for _ in range(20):
            assert ask(place, "/x").status == 200
    assert heap[1] - heap[0] < 16 << 20


# ---- whose it is ---------------------------------------------------------------------------------


def test_the_same_port_of_another_session_is_another_server(place, spawn, daemon):
    other = spawn("min")
    assert ask(other, "/x").status == 502
    servers.start(other)
    assert ask(other, "/x").json[2]["x-forwarded-prefix"] != \
        ask(place, "/x").json[2]["x-forwarded-prefix"]


def test_another_agents_port_does_not_exist(launch):
    daemon = launch(config="""
default_profile: min
agents:
  - {id: one, repl: {enabled: true}}
  - {id: two, repl: {enabled: true}}
""")
    client = daemon.client
    reply = client.request("POST", "/v1/sessions", {"profile": "min"}, {"Cella-Agent": "one"})
    path = f"/v1/sessions/{reply.json['session_id']}/ports/{PORT}/"
    assert client.request("GET", path, headers={"Cella-Agent": "one"}).status == 502
    refused = client.request("GET", path, headers={"Cella-Agent": "two"})
    assert refused.status == 404 and "not found" in refused.json["error"]["message"]


def test_a_port_of_the_host_is_none_of_the_session(place, daemon):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert ask(place, "/", port=listener.getsockname()[1]).status == 502
    assert ask(place, "/", port=daemon.client.address[1]).status == 502


def test_plan_mode_keeps_requests_out(place):
    place.client.call("PUT", f"{place.path}/plan", {"reason": "thinking"})
    try:
        assert ask(place, "/x").status == 409
    finally:
        place.client.call("DELETE", f"{place.path}/plan")


# ---- the session's life --------------------------------------------------------------------------


def test_the_end_of_the_session_is_the_end_of_its_connections(spawn):
    session = spawn("min")
    servers.start(session)
    ws = websocket(session, "/ws")
    ws.send(b"one")
    assert ws.receive() == (2, b"one")
    session.kill()
    assert ws.receive() is None
    ws.close()
    assert ask(session, "/x").status == 404


def test_an_undo_ends_the_server_that_was_started_since(session):
    session.exec("x = 1")
    servers.start(session)
    assert ask(session, "/x").status == 200
    session.client.call("POST", f"{session.path}/undo", {})
    assert ask(session, "/x").status == 502


def test_an_open_connection_is_use_and_a_suspended_session_says_what_to_do(launch):
    daemon = launch(config="default_profile: min\nidle_timeout_secs: 1\n")
    session = daemon.client.spawn("min", idle_timeout_secs=1)
    servers.start(session)
    ws = websocket(session, "/ws")
    idle = daemon.client.spawn("min", idle_timeout_secs=1)
    idle.exec("x = 1")
    eventually(lambda: idle.client.sessions() and
                    {s.session_id: s.state for s in daemon.client.sessions()}[idle.id]
                    == "suspended")
    assert {s.session_id: s.state for s in daemon.client.sessions()}[session.id] == "idle"
    ws.send(b"x")
    assert ws.receive() == (2, b"x")
    ws.close()
    reply = ask(idle, "/x")
    assert reply.status == 409 and "Run a cell" in reply.json["error"]["advice"]


def test_paths_are_not_taken_for_operations(place):
    quoted = urllib.parse.quote("../exec", safe="")
    assert ask(place, f"/{quoted}").json[1] == f"/{quoted}"
    assert ask(place, "/../exec").json[1] == "/../exec"
