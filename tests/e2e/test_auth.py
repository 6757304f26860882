"""Who may talk to the daemon: keys, hosts, origins, and the peers of the UNIX socket."""

import contextlib
import os
import pathlib
import stat
import subprocess
import sys

import pytest

from harness.client import Client
from harness.daemon import StartFailed

pytestmark = pytest.mark.privilege

BODY = {"profile": "min"}


@pytest.fixture
def anonymous(daemon):
    return Client(daemon.address)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic {key}",
        "{key}",
        "Bearer {key}x",
        "Bearer {key} x",
        "Bearer {half}",
    ],
)
@pytest.mark.sampled(3)
def test_tcp_needs_the_key(daemon, anonymous, value):
    headers = {}
    if value is not None:
        key = daemon.key()
        headers["Authorization"] = value.format(key=key, half=key[: len(key) // 2])
    reply = anonymous.request("GET", "/v1/sessions", headers=headers)
    assert reply.status == 401
    assert reply.json["error"]["code"] == "unauthorized"
    assert reply.json["error"]["advice"]
    assert "Bearer" in reply.headers["WWW-Authenticate"]
    assert daemon.key() not in reply.body.decode()


@pytest.mark.smoke
def test_nothing_happens_without_the_key(client, anonymous):
    before = len(client.sessions())
    assert anonymous.request("POST", "/v1/sessions", BODY).status == 401
    assert len(client.sessions()) == before


@pytest.mark.smoke
def test_the_key_is_not_taken_from_the_query(daemon, anonymous):
    assert anonymous.request("GET", f"/v1/sessions?key={daemon.key()}").status == 401


@pytest.mark.smoke
def test_two_keys_are_refused(daemon, client):
    with client.connect() as sock:
        sock.sendall(client.head("GET", "/v1/sessions", Authorization="Bearer x") + b"\r\n")
        assert sock.recv(100).split()[1] in (b"400", b"401")


@pytest.mark.smoke
def test_the_scheme_is_case_insensitive(daemon, anonymous):
    headers = {"Authorization": f"bearer {daemon.key()}"}
    assert anonymous.request("GET", "/v1/sessions", headers=headers).status == 200


def test_health_is_public(anonymous):
    reply = anonymous.request("GET", "/health")
    assert reply.status == 200
    assert reply.json["status"] == "ok"
    assert reply.json["version"]


@pytest.mark.parametrize("method, path", [
    ("GET", "/health"), ("GET", "/v1/files/abc/x"), ("POST", "/v1/sessions"),
    ("POST", "/v1/notebooks/import"), ("PUT", "/v1/sessions/x/files/y"), ("GET", "/no-such")])
@pytest.mark.parametrize("framing", ["Content-Length: 15728640", "Transfer-Encoding: chunked"])
def test_no_body_is_read_without_a_key(daemon, anonymous, method, path, framing):
    """Strangers get their answer at once, and what they send costs no memory."""
    head = anonymous.head(method, path) + framing.encode() + b"\r\n\r\n"
    body = (b"" if "Length" in framing else b"100000\r\n") + b"x" * (1 << 20)
    before, socks = daemon.heap_bytes(), []
    for _ in range(20):
        socks.append(anonymous.connect())
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socks[-1].sendall(head + body)
    for sock in socks:
        assert sock.recv(12) in (b"HTTP/1.1 413", b"HTTP/1.1 401")
    after = daemon.heap_bytes()
    for sock in socks:
        sock.close()
    assert after - before < 2 << 20


@pytest.mark.smoke
def test_public_paths_take_no_body(client, anonymous):
    for caller in (client, anonymous):
        reply = caller.request("GET", "/health", b"{}")
        assert (reply.status, reply.json["error"]["message"]) == (413, "no body is taken here")
        assert caller.request("GET", "/health").status == 200


@pytest.mark.smoke
def test_what_is_possible_is_not_told_without_a_key(anonymous, client):
    for method in ("GET", "PATCH"):
        assert "Allow" not in anonymous.request(method, "/v1/sessions").headers
    assert client.request("PATCH", "/v1/sessions").headers["Allow"] == "POST, GET, HEAD"


def test_unknown_paths_without_a_key_tell_nothing(anonymous):
    assert anonymous.request("GET", "/v1/no-such").status in (401, 404)


def test_the_key_is_long_and_only_its_owner_reads_it(daemon):
    path = daemon.data / "key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(daemon.key()) >= 32
    assert stat.S_IMODE(daemon.data.stat().st_mode) & 0o007 == 0


def test_the_key_is_not_in_the_log(daemon, anonymous):
    anonymous.request("GET", "/v1/sessions", headers={"Authorization": f"Bearer {daemon.key()}"})
    assert daemon.key() not in daemon.errors()


# Browsers.


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7300", "169.254.169.254", "127.0.0.1.evil.example",
             "localhost.evil.example", "[::1].evil", "user@127.0.0.1"]
)
def test_another_host_is_403(daemon, client, host):
    reply = client.request("GET", "/v1/sessions", headers={"Host": host})
    assert reply.status in (400, 403)
    assert reply.json["error"]["message"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST", "[::1]"])
def test_this_host_is_fine_with_and_without_port(daemon, client, host):
    assert client.request("GET", "/v1/sessions", headers={"Host": host}).status == 200
    with_port = f"{host}:{daemon.address[1]}"
    assert client.request("GET", "/v1/sessions", headers={"Host": with_port}).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://localhost.evil.example"]
)
def test_another_origin_is_403(client, origin):
    reply = client.request("POST", "/v1/sessions", BODY, headers={"Origin": origin})
    assert reply.status == 403


def test_our_own_origin_is_fine(daemon, client):
    headers = {"Origin": f"http://localhost:{daemon.address[1]}"}
    assert client.request("GET", "/v1/sessions", headers=headers).status == 200


def test_no_host_at_all_is_400(client):
    with client.connect() as sock:
        key = client.headers()["Authorization"]
        sock.sendall(f"GET /v1/sessions HTTP/1.1\r\nAuthorization: {key}\r\n\r\n".encode())
        assert sock.recv(100).split()[1] in (b"400", b"403")


def test_a_browser_gets_no_permission_to_read_answers(client):
    reply = client.request("GET", "/v1/sessions")
    assert "Access-Control-Allow-Origin" not in reply.headers


# The UNIX socket.


def test_the_unix_socket_needs_no_key(daemon):
    client = daemon.unix_client()
    session = client.spawn("min")
    assert session.value("1 + 1") == "2"
    session.kill()


def test_the_unix_socket_streams_too(daemon):
    session = daemon.unix_client().spawn("min")
    events = list(session.events("print(1)"))
    assert "".join(data["text"] for name, data in events if name == "output") == "1\n"
    assert [name for name, _ in events if name != "output"] == ["result"]
    session.kill()


ASK = """
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
sock.sendall(b"GET /v1/sessions HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
print(sock.recv(1000).split()[1].decode())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_another_user_is_refused_by_the_unix_socket(daemon, client):
    path = daemon.data / "cella.sock"
    modes = {p: p.stat().st_mode for p in [path, *path.parents] if p != pathlib.Path("/")}
    try:  # the check must hold even when the file's mode would let anybody in
        for place, mode in modes.items():
            place.chmod(stat.S_IMODE(mode) | 0o777 if place == path else stat.S_IMODE(mode) | 0o011)
        asked = subprocess.run(
            [sys.executable, "-c", ASK, str(path)], user=65534, group=65534, extra_groups=[],
            capture_output=True, text=True,
        )
    finally:
        for place, mode in modes.items():
            place.chmod(stat.S_IMODE(mode))
    assert asked.stdout.strip() in ("401", "403", "") and "200" not in asked.stdout, asked
    assert client.request("GET", "/v1/sessions").status == 200


def test_the_unix_sockets_file_is_for_its_owner_only(daemon):
    assert stat.S_IMODE((daemon.data / "cella.sock").stat().st_mode) & 0o077 == 0


# Starting without keys.

MIN = "default_profile: min\n"


def test_no_auth_works_on_loopback(launch):
    daemon = launch(args=["--no-auth"], config=MIN)
    assert Client(daemon.address).request("GET", "/v1/sessions").status == 200


@pytest.mark.one_mode
@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_no_auth_is_refused_elsewhere(launch, listen):
    with pytest.raises(StartFailed) as caught:
        launch(args=["--no-auth"], config=MIN, listen=listen)
    assert caught.value.status not in (0, None)
    assert "--no-auth" in caught.value.stderr or "loopback" in caught.value.stderr


@pytest.mark.one_mode
def test_no_auth_still_checks_hosts_and_origins(launch):
    daemon = launch(args=["--no-auth"], config=MIN)
    client = Client(daemon.address)
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        assert client.request("POST", "/v1/sessions", BODY, headers).status == 403


@pytest.mark.one_mode
def test_a_key_file_that_others_can_read_is_refused_or_repaired(launch):
    data = launch.new_data()
    first = launch(data=data, config=MIN)
    first.stop()
    (data / "key").chmod(0o644)
    try:
        second = launch(data=data, config=MIN)
    except StartFailed as failed:
        assert "key" in failed.stderr
    else:
        assert stat.S_IMODE((data / "key").stat().st_mode) == 0o600
        second.stop()


def test_the_key_survives_a_restart(launch):
    data = launch.new_data()
    first = launch(data=data, config=MIN)
    key = first.key()
    first.stop()
    assert launch(data=data, config=MIN).key() == key
