"""The way in to ports of a session: it leads to that session's own loopback and nowhere else, and
nobody inside can make the daemon or the warden wait or go elsewhere."""

import os
import socket

import pytest
from harness import servers
from harness.host import eventually, fd_count
from harness.servers import PORT

BUSY = """
import socket
listener = socket.socket()
listener.bind(('127.0.0.1', 8000))
listener.listen(0)
kept = []
for _ in range(3):
    kept.append(socket.socket())
    kept[-1].setblocking(False)
    kept[-1].connect_ex(('127.0.0.1', 8000))
"""


def ask(session, path="/x", port=PORT):
    return session.client.request("GET", f"{session.path}/ports/{port}{path}")


def test_a_branch_has_ports_of_its_own(spawn, client):
    source = spawn("min")
    source.exec("x = 1")
    copy = client.call("POST", f"{source.path}/branch", {})["sessions"][0]["session_id"]
    try:
        servers.start(source)
        assert ask(source).status == 200
        assert client.request("GET", f"/v1/sessions/{copy}/ports/{PORT}/x").status == 502
    finally:
        client.request("DELETE", f"/v1/sessions/{copy}")


def test_the_port_of_the_host_with_the_same_number(session, daemon):
    """A session that listens on the number of a port of the host gets what is for the session."""
    with socket.create_server(("127.0.0.1", 0)) as of_host:
        port = of_host.getsockname()[1]
        servers.start(session, port=port)
        assert ask(session, port=port).status == 200
        of_host.setblocking(False)
        with pytest.raises(BlockingIOError):
            of_host.accept()
        assert ask(session, port=daemon.client.address[1]).status == 502


def test_the_warden_stays_where_it_is(session, daemon):
    servers.start(session)
    assert ask(session).status == 200
    warden = daemon.warden()
    network, fds = os.readlink(f"/proc/{warden}/ns/net"), fd_count(warden)
    for _ in range(20):
        assert ask(session).status == 200
        assert ask(session, port=9).status == 502
    assert os.readlink(f"/proc/{warden}/ns/net") == network
    assert fd_count(warden) < fds + 20  # one for each call would be too many; a pool has some
    assert network != os.readlink("/proc/self/ns/net")
    assert session.value("import os; os.readlink('/proc/self/ns/net')") != repr(network)


def test_a_full_queue_keeps_nobody_waiting(session, witness, launch):
    """A listener that takes no connections: the caller is told in the end, others at once."""
    session.exec(BUSY)
    with session.client.connect() as sock:
        sock.sendall(session.client.head("GET", f"{session.path}/ports/{PORT}/") + b"\r\n")
        for _ in range(5):
            assert witness.value("secret") == "'kept'"
            assert ask(witness).status == 502
    daemon = launch(config="default_profile: min\n", env={"CELLA_TEST_TIME_SCALE": "0.05"})
    other = daemon.client.spawn("min")
    other.exec(BUSY)
    assert "takes no connections" in ask(other).json["error"]["message"]


def test_a_server_learns_nothing_about_the_daemon(session):
    """It sees a connection from its own loopback, without a process or a user at the other end."""
    session.exec("""
import subprocess, sys
code = '''
import socket, struct
listener = socket.create_server(("127.0.0.1", 8000))
print("listening", flush=True)
peer, address = listener.accept()
told = [address[0], peer.getsockname()[0], peer.recvmsg(65536, 4096)[1]]
try: told.append(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))
except OSError as error: told.append(error.errno)
body = repr(told).encode()
peer.sendall(b"HTTP/1.1 200 OK\\\\r\\\\nContent-Length: %d\\\\r\\\\n\\\\r\\\\n" % len(body) + body)
'''
server = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True)
server.stdout.readline()
""".strip())
    address, own, ancillary, owner = eval(ask(session).body)
    assert (address, own, ancillary) == ("127.0.0.1", "127.0.0.1", [])
    assert owner in ((0, -1, -1), 92), owner


def test_a_server_that_stops_reading_and_writing(session, witness):
    """A stopped process keeps its connections; the session's end ends them."""
    servers.start(session)
    with session.client.connect() as sock:
        sock.sendall(session.client.head("GET", f"{session.path}/ports/{PORT}/never") + b"\r\n")
        assert session.value("server.stdout.readline()") == "'never\\n'"
        session.exec("import os, signal; os.kill(server.pid, signal.SIGSTOP)")
        assert witness.value("secret") == "'kept'"
        session.kill()
        assert sock.recv(12) in (b"HTTP/1.1 502", b"HTTP/1.1 410")
