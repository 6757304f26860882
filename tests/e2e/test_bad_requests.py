"""Requests that are wrong: each gets a clear error, and everybody else goes on."""

import json
import random
import socket
import struct

import pytest

from harness import host
from harness.client import read_reply

pytestmark = pytest.mark.one_mode


@pytest.fixture(autouse=True)
def others_go_on(witness):
    """Every test of this file is watched by another session."""


def assert_clear(reply, status, *words):
    assert reply.status == status, reply
    error = reply.json["error"]
    assert set(error) == {"code", "message", "advice"}
    for word in words:
        assert word in error["message"] + error["advice"], error


def talk(client, data, half_close=False):
    """Sends bytes on a new connection; all replies until the daemon closes it or is silent."""
    replies = []
    with client.connect() as sock, sock.makefile("rb") as file:
        sock.settimeout(5)
        try:
            sock.sendall(data)
            if half_close:
                sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the daemon may close before it has read everything
        try:
            while reply := read_reply(file):
                replies.append(reply)
                if reply.headers.get("Connection", "").lower() == "close":
                    assert read_reply(file) is None, "it went on after Connection: close"
                    break
        except TimeoutError:
            pass
        except ConnectionResetError:
            pass
    return replies


def talk_once(client, data):
    """Sends one request and reads one reply, then the connection must still be usable or closed."""
    with client.connect() as sock, sock.makefile("rb") as file:
        sock.sendall(data)
        return read_reply(file)


# JSON that is none.


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"}",
        b"{]",
        b"nonsense",
        b"'single'",
        b'{"code": "1",}',
        b'{"code" "1"}',
        b'{"code": "1"} trailing',
        b'{"code": "1"}{"code": "2"}',
        b"{'code': '1'}",
        b'{"code": "unterminated',
        b'{"code": "bad \\x escape"}',
        b'{"code": "\\ud800"}',
        b'{"code": "\\u12"}',
        b'{"code": 1e999}',
        b'{"code": NaN}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"\x00",
        b'\xef\xbb\xbf{"code": "1"}',
        b"\xff\xfe{\x00}\x00",
        b'{"code": "tab\tin a string"}',
        b"<xml/>",
        b"code=1",
    ],
    ids=lambda b: repr(b[:24]),
)
@pytest.mark.sampled(3)
def test_malformed_json_is_400(client, session, body):
    reply = client.request("POST", session.path + "/exec", body)
    assert_clear(reply, 400)
    assert session.value("1") == "1"


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null", b"true"])
def test_json_that_is_no_object_is_400(client, session, body):
    assert_clear(client.request("POST", session.path + "/exec", body), 400, "object")


@pytest.mark.smoke
def test_a_syntax_error_in_json_is_located(client, session):
    reply = client.request("POST", session.path + "/exec", b'{\n  "code": oops\n}')
    assert_clear(reply, 400, "line 2")


@pytest.mark.smoke
def test_a_member_given_twice_is_400(client, session):
    reply = client.request("POST", session.path + "/exec", b'{"code": "1", "code": "2"}')
    assert_clear(reply, 400, "code")


@pytest.mark.parametrize(
    "raw",
    [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"],
)
def test_invalid_utf8_is_400(client, session, raw):
    body = b'{"code": "x = \'' + raw + b"'\"}"
    assert_clear(client.request("POST", session.path + "/exec", body), 400)


@pytest.mark.smoke
def test_a_nul_in_the_code_is_400(client, session):
    for body in (b'{"code": "a\\u0000b"}', b'{"code": "a\x00b"}'):
        assert_clear(client.request("POST", session.path + "/exec", body), 400)


@pytest.mark.smoke
def test_a_nul_in_a_name_is_400(client, session):
    reply = client.request("POST", session.path + "/exec", b'{"code\\u0000x": "1"}')
    assert_clear(reply, 400)


# Wrong members.


@pytest.mark.parametrize(
    "body, word",
    [
        ({}, "code"),
        ({"code": 1}, "code"),
        ({"code": None}, "code"),
        ({"code": ["1"]}, "code"),
        ({"code": {"x": 1}}, "code"),
        ({"code": True}, "code"),
        ({"code": "1", "timeout_ms": 0}, "timeout_ms"),
        ({"code": "1", "timeout_ms": -1}, "timeout_ms"),
        ({"code": "1", "timeout_ms": 86_400_001}, "timeout_ms"),
        ({"code": "1", "timeout_ms": 10**30}, "timeout_ms"),
        ({"code": "1", "timeout_ms": 1.5}, "timeout_ms"),
        ({"code": "1", "timeout_ms": "1"}, "timeout_ms"),
        ({"code": "1", "timeout_ms": True}, "timeout_ms"),
        ({"code": "1", "timeout_ms": None}, "timeout_ms"),
        ({"code": "1", "budget": -1}, "budget"),
        ({"code": "1", "budget": 16_777_217}, "budget"),
        ({"code": "1", "budget": "64k"}, "budget"),
        ({"code": "1", "tiemout_ms": 5}, "tiemout_ms"),
        ({"code": "1", "session_id": "x"}, "session_id"),
        ({"code": "1", "": 5}, ""),
    ],
    ids=lambda v: str(v)[:40],
)
@pytest.mark.sampled(3)
def test_wrong_members_of_exec_are_named(client, session, body, word):
    assert_clear(client.request("POST", session.path + "/exec", body), 400, word)
    assert session.info().exec_count == 0


@pytest.mark.parametrize(
    "body, word",
    [
        ({"runtime": "cobol"}, "runtime"),
        ({"runtime": 5}, "runtime"),
        ({"profile": 5}, "profile"),
        ({"profile": "no-such-profile"}, "no-such-profile"),
        ({"profile": "../../etc"}, "profile"),
        ({"limits": 5}, "limits"),
        ({"limits": []}, "limits"),
        ({"limits": {"memory_mb": 0}}, "memory_mb"),
        ({"limits": {"memory_mb": -1}}, "memory_mb"),
        ({"limits": {"memory_mb": "512"}}, "memory_mb"),
        ({"limits": {"memory_mb": 10**18}}, "memory_mb"),
        ({"limits": {"pids": 0}}, "pids"),
        ({"limits": {"cpu_percent": 0}}, "cpu_percent"),
        ({"limits": {"disk_mb": -5}}, "disk_mb"),
        ({"limits": {"memory": 5}}, "memory"),
        ({"colour": "red"}, "colour"),
    ],
    ids=lambda v: str(v)[:40],
)
@pytest.mark.sampled(3)
def test_wrong_members_of_spawn_are_named(client, body, word):
    before = len(client.sessions())
    reply = client.request("POST", "/v1/sessions", body)
    assert reply.status in (400, 404)
    assert_clear(reply, reply.status, word)
    assert len(client.sessions()) == before


# Paths and methods.


@pytest.mark.parametrize(
    "path",
    [
        "//",
        "/v1/",
        "/v0",
        "/v2/sessions",
        "/v1/sessions/",
        "/v1//sessions",
        "/v1/sessions/../../etc/passwd",
        "/v1/sessions/%2e%2e%2f",
        "/v1/sessions/x/y/z",
        "/V1/SESSIONS",
        "/health/x",
        "/" + "a" * 8000,
    ],
    ids=lambda p: p[:30],
)
def test_unknown_paths_are_404(client, path):
    reply = client.request("GET", path)
    assert_clear(reply, 404)


@pytest.mark.parametrize(
    "session_id", ["x", "1", "-", "%00", "%", "%zz", "..", "a" * 5000, "%ff%fe", "'; drop table"]
)
def test_session_ids_that_cannot_be_are_400_or_404(client, session_id):
    reply = client.request("GET", "/v1/sessions/" + session_id.replace(" ", "%20"))
    assert reply.status in (400, 404)
    assert_clear(reply, reply.status)


@pytest.mark.parametrize(
    "method, path",
    [
        ("PUT", "/v1/sessions"),
        ("DELETE", "/v1/sessions"),
        ("PATCH", "/v1/sessions"),
        ("POST", "/health"),
        ("TRACE", "/v1/sessions"),
    ],
)
def test_a_wrong_method_is_405_and_the_right_ones_are_told(client, method, path):
    reply = client.request(method, path)
    assert_clear(reply, 405)
    assert reply.headers["Allow"]


# HTTP that is none.


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/1.1 extra\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /hea lth HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n: empty\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX : space\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 100,
        b"\xff" * 100,
        b"GET /health HTTP/1.1\nHost: localhost\n\n",
    ],
    ids=lambda b: repr(b[:40]),
)
@pytest.mark.sampled(3)
def test_what_is_no_http_is_400_and_the_end_of_the_connection(client, data):
    replies = talk(client, data, half_close=True)
    assert len(replies) <= 1
    for reply in replies:
        assert reply.status in (400, 505)
        assert reply.headers["Connection"] == "close"


SMUGGLED = b"GET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: 5, 6",
        b"Content-Length: +5",
        b"Content-Length: -5",
        b"Content-Length: 0x5",
        b"Content-Length: 5 5",
        b"Content-Length:",
        b"Content-Length: 99999999999999999999999",
        b"Content-Length: 18446744073709551617",
        b"Transfer-Encoding: identity",
        b"Transfer-Encoding: gzip",
        b"Transfer-Encoding: chunked, identity",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding:\x0bchunked",
    ],
    ids=lambda b: b.decode("latin-1")[:50],
)
@pytest.mark.sampled(2)
def test_smuggling_is_refused(client, headers):
    data = client.head("POST", "/v1/sessions") + headers + b"\r\n\r\n0\r\n\r\n" + SMUGGLED
    replies = talk(client, data, half_close=True)
    assert len(replies) <= 1, replies
    for reply in replies:
        assert 400 <= reply.status < 600 and reply.status != 404, reply


@pytest.mark.parametrize(
    "chunks",
    [
        b"g\r\n{}\r\n0\r\n\r\n",
        b"-2\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}0\r\n\r\n",
        b"2\n{}\n0\n\n",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        b"\r\n2\r\n{}\r\n",
    ],
)
def test_broken_chunks_are_400(client, chunks):
    data = client.head("POST", "/v1/sessions", Transfer_Encoding="chunked") + b"\r\n" + chunks
    replies = talk(client, data + SMUGGLED, half_close=True)
    assert len(replies) <= 1
    assert all(r.status == 400 for r in replies), replies


# Sizes.


def test_headers_over_the_limit_are_431(client):
    many = b"".join(b"X-%d: y\r\n" % n for n in range(5000))
    for data in (
        client.head("GET", "/v1/sessions", X="x" * 33_000) + b"\r\n",
        client.head("GET", "/v1/sessions") + many + b"\r\n",
        client.head("GET", "/v1/sessions?" + "q" * 40_000) + b"\r\n",
    ):
        reply = talk(client, data)[0]
        assert reply.status in (414, 431)
        assert_clear(reply, reply.status)


def test_headers_just_under_the_limit_are_fine(client):
    data = client.head("GET", "/v1/sessions", X="x" * 30_000) + b"\r\n"
    assert talk_once(client, data).status == 200


def test_a_body_over_the_limit_is_413_before_it_is_sent(client, session):
    data = client.head("POST", session.path + "/exec", Content_Length=17 << 20) + b"\r\n"
    reply = talk(client, data)[0]
    assert_clear(reply, 413)


def test_a_body_over_the_limit_is_413_when_all_is_sent_at_once(client, session):
    body = b'{"code": "' + b"x" * (17 << 20) + b'"}'
    replies = talk(client, client.post_bytes(session.path + "/exec", body))
    assert all(r.status == 413 for r in replies)


def test_a_chunked_body_over_the_limit_is_413(daemon, client, session):
    before = daemon.heap_bytes()
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    head = client.head("POST", session.path + "/exec", Transfer_Encoding="chunked") + b"\r\n"
    replies = talk(client, head + chunk * 20)
    assert all(r.status == 413 for r in replies)
    assert daemon.heap_bytes() - before < 1_000_000


def test_ten_megabytes_of_code_are_413_with_advice(client, session):
    reply = client.request("POST", session.path + "/exec", {"code": "x = 1\n" * 1_700_000})
    assert_clear(reply, 413)
    assert reply.json["error"]["advice"]
    assert session.value("1") == "1"


def test_one_megabyte_of_code_runs(session):
    code = f"len('{'x' * 1_000_000}')"
    assert session.value(code) == "1000000"


# Clients that are slow, impatient or odd, but right.


def test_a_request_sent_byte_by_byte(client, session):
    with client.connect() as sock, sock.makefile("rb") as file:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in client.post_bytes(session.path + "/exec", {"code": "1 + 1"}):
            sock.sendall(bytes([byte]))
        assert read_reply(file).json["value"]["text"] == "2"


def test_slow_clients_do_not_delay_others(client, session):
    slow = [client.connect() for _ in range(50)]
    for sock in slow:
        sock.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: localh")
    assert [session.value(str(n)) for n in range(20)] == [str(n) for n in range(20)]
    for sock in slow:
        sock.close()


def test_a_half_closed_client_still_gets_its_answer(client, session):
    data = client.post_bytes(session.path + "/exec", {"code": "import time; time.sleep(.05); 5"})
    (reply,) = talk(client, data, half_close=True)
    assert reply.json["value"]["text"] == "5"


def test_a_client_that_closes_in_the_middle_of_the_headers(client):
    assert all(r.status == 400 for r in talk(client, b"GET /health HTT", half_close=True))


def test_a_client_that_closes_in_the_middle_of_the_body(client, session):
    head = client.head("POST", session.path + "/exec", Content_Length=100) + b'\r\n{"code": "x'
    assert all(r.status == 400 for r in talk(client, head, half_close=True))
    assert session.info().exec_count == 0


def test_a_client_that_resets_the_connection(client, session):
    for _ in range(20):
        sock = client.connect()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.sendall(client.post_bytes(session.path + "/exec", {"code": "'x' * 100_000"}))
        sock.close()
    host.eventually(lambda: session.info().state == "idle" and session.info().queued == 0)


def test_pipelined_requests_are_answered_in_order(client, session):
    data = b"".join(
        client.post_bytes(session.path + "/exec", {"code": str(n)}) for n in range(10)
    ) + client.head("GET", "/health", Connection="close") + b"\r\n"
    replies = talk(client, data)
    assert [r.json["value"]["text"] for r in replies[:10]] == [str(n) for n in range(10)]
    assert replies[10].json["status"] == "ok"


def test_a_thousand_pipelined_requests(client):
    data = (client.head("GET", "/health") + b"\r\n") * 999
    data += client.head("GET", "/health", Connection="close") + b"\r\n"
    assert [r.status for r in talk(client, data)] == [200] * 1000


def test_a_bad_request_in_a_pipeline_ends_it(client):
    good = client.head("GET", "/health") + b"\r\n"
    replies = talk(client, good + b"bad\r\n\r\n" + good)
    assert [r.status for r in replies] == [200, 400]


def test_chunked_bodies_are_read(client, session):
    body = json.dumps({"code": "'chunked'"}).encode()
    chunks = b"".join(b"%x;ext=1\r\n%c\r\n" % (1, b) for b in body) + b"0\r\nTrailer: x\r\n\r\n"
    head = client.head("POST", session.path + "/exec", Transfer_Encoding="chunked") + b"\r\n"
    assert talk_once(client, head + chunks).json["value"]["text"] == "'chunked'"


def test_expect_continue_is_answered(client, session):
    body = json.dumps({"code": "1"}).encode()
    head = client.head(
        "POST", session.path + "/exec", Content_Length=len(body), Expect="100-continue"
    )
    with client.connect() as sock, sock.makefile("rb") as file:
        sock.sendall(head + b"\r\n")
        assert read_reply(file).status == 100
        sock.sendall(body)
        assert read_reply(file).json["status"] == "ok"


def test_expect_continue_with_a_body_over_the_limit_is_413_at_once(client, session):
    head = client.head(
        "POST", session.path + "/exec", Content_Length=1 << 30, Expect="100-continue"
    )
    assert talk(client, head + b"\r\n")[0].status == 413


def test_expect_continue_without_the_key_is_401_at_once(client, session):
    head = (
        b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    )
    assert talk(client, head, half_close=True)[0].status in (100, 401)


def test_other_expectations_are_417(client, session):
    data = client.post_bytes(session.path + "/exec", {"code": "1"}, Expect="a miracle")
    assert talk_once(client, data).status == 417


def test_http_1_0_is_answered_and_closed(client):
    key = client.headers()["Authorization"]
    data = f"GET /v1/sessions HTTP/1.0\r\nHost: localhost\r\nAuthorization: {key}\r\n\r\n".encode()
    (reply,) = talk(client, data)
    assert reply.status == 200


def test_connection_close_is_obeyed(client):
    (reply,) = talk(client, client.head("GET", "/health", Connection="close") + b"\r\n")
    assert reply.status == 200


def test_keep_alive_serves_many_requests(client, session):
    with client.connect() as sock, sock.makefile("rb") as file:
        for n in range(100):
            sock.sendall(client.post_bytes(session.path + "/exec", {"code": str(n)}))
            assert read_reply(file).json["value"]["text"] == str(n)


def test_an_error_of_the_caller_keeps_the_connection(client, session):
    with client.connect() as sock, sock.makefile("rb") as file:
        sock.sendall(client.post_bytes(session.path + "/exec", {"code": 5}))
        assert read_reply(file).status == 400
        sock.sendall(client.post_bytes(session.path + "/exec", {"code": "5"}))
        assert read_reply(file).status == 200


def test_hundreds_of_idle_connections(client, session):
    idle = [client.connect() for _ in range(500)]
    assert session.value("1") == "1"
    for sock in idle:
        sock.close()


def test_answers_are_never_cached_or_sniffed(client):
    reply = client.request("GET", "/v1/sessions")
    assert reply.headers["Content-Type"].startswith("application/json")
    assert reply.headers.get("X-Content-Type-Options") == "nosniff"
    assert "no-store" in reply.headers.get("Cache-Control", "")


def test_random_bytes_never_hurt(client):
    dice = random.Random(42)
    for _ in range(200):
        with client.connect() as sock:
            sock.sendall(dice.randbytes(dice.randrange(1, 300)))


def test_mutated_requests_never_hurt(client, session):
    dice = random.Random(7)
    good = client.post_bytes(session.path + "/exec", {"code": "1", "timeout_ms": 500})
    for _ in range(300):
        data = bytearray(good)
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with client.connect() as sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
    host.eventually(lambda: session.info().state == "idle" and session.info().queued == 0)
