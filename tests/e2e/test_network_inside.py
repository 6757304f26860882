"""The network inside of a session: a loopback, and programs that ask what there is."""

import json

import pytest

pytestmark = pytest.mark.privilege


def test_python_lists_the_interfaces(session):
    assert session.value("import socket; socket.if_nameindex()") == "[(1, 'lo')]"


def test_psutil_lists_the_addresses(session):
    assert session.value(
        "import psutil; sorted(a.address for a in psutil.net_if_addrs()['lo'])[:2]"
    ) == "['00:00:00:00:00:00', '127.0.0.1']"


def test_node_lists_the_interfaces(spawn_runtime):
    told = json.loads(spawn_runtime("node").out(
        "console.log(JSON.stringify(require('os').networkInterfaces()))"))
    assert {a["address"] for a in told["lo"]} == {"127.0.0.1", "::1"}
    assert list(told) == ["lo"]


def test_a_program_that_a_session_starts_lists_them_too(spawn_runtime):
    session = spawn_runtime("bash")
    answer = session.exec("python3 -c 'import socket; print(socket.if_nameindex())'")
    assert answer["stdout"] == "[(1, 'lo')]\n", answer
    assert not answer.get("denied"), answer


@pytest.mark.parametrize("family, address", [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")])
def test_both_loopbacks(session, family, address):
    assert session.value(
        f"""
import socket, threading
server = socket.create_server(({address!r}, 0), family=socket.{family})
client = socket.create_connection(server.getsockname()[:2])
peer, _ = server.accept()
client.sendall(b'over there')
peer.recv(100)
""".strip()) == "b'over there'"


def test_localhost_has_both_addresses(session):
    assert session.value(
        "import socket; sorted({a[4][0] for a in socket.getaddrinfo('localhost', 80)})"
    ) == "['127.0.0.1', '::1']"


def test_zeromq(session):
    pytest.importorskip("zmq")
    assert session.out(
        """
        import zmq
        context = zmq.Context()
        reply, request = context.socket(zmq.REP), context.socket(zmq.REQ)
        port = reply.bind_to_random_port('tcp://127.0.0.1')
        request.connect(f'tcp://127.0.0.1:{port}')
        request.send(b'hello')
        print(reply.recv())
        reply.send(b'there'); print(request.recv())
        context.destroy(0)
        """,
        timeout_ms=30_000,
    ) == "b'hello'\nb'there'\n"


def test_an_http_server_in_the_background(spawn_runtime):
    session = spawn_runtime("bash")
    answer = session.exec(
        """
        echo served > /workspace/page
        python3 -m http.server --bind ::1 8000 >/dev/null 2>&1 &
        python3 - <<'END'
        import time, urllib.request
        for _ in range(1000):
            try:
                print(urllib.request.urlopen('http://[::1]:8000/page').read())
                break
            except OSError:
                time.sleep(0.02)
        END
        kill %1
        """,
        timeout_ms=60_000,
    )
    assert answer["stdout"] == "b'served\\n'\n", answer


@pytest.mark.slow
def test_an_ipython_kernel_inside_a_session(session):
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupyter_client")
    answer = session.exec(
        """
        import logging
        from jupyter_client.manager import start_new_kernel
        manager, client = start_new_kernel(kernel_name='python3', startup_timeout=90)
        said = []
        def hear(message):
            if message['msg_type'] == 'stream': said.append(message['content']['text'])
        client.execute_interactive('print(6 * 7)', output_hook=hear, timeout=60)
        client.stop_channels(); manager.shutdown_kernel(now=True)
        print(said)
        """,
        timeout_ms=110_000,
    )
    assert (answer.status, answer["stdout"]) == ("ok", "['42\\n']\n"), answer


# --- what this does not open ----------------------------------------------------------------------


def test_a_branch_is_not_asked_about_its_network(client, spawn):
    """There hostile code may have capabilities over it. Programs live with the error."""
    session = spawn("min", checkpoints="every")
    session.exec("import errno, socket")
    made = client.call("POST", f"{session.path}/branch", {})
    branch = f"/v1/sessions/{made.sessions[0]['session_id']}"
    try:
        answer = client.call("POST", f"{branch}/exec", {"code": (
            "try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\n"
            "except OSError as error: print(errno.errorcode[error.errno])")})
        assert answer["stdout"] in ("EOPNOTSUPP\n", "ENOTSUP\n"), answer
    finally:
        client.request("DELETE", branch)
    assert session.value("socket.if_nameindex()") == "[(1, 'lo')]"


# What to do without one, said once.

NETWORK = "This session has no network"


@pytest.mark.parametrize("runtime, code", [
    ("python", "import urllib.request; urllib.request.urlopen('http://example.org')"),
    ("python", "import no_such_module_anywhere"),
    ("python", "!echo 'Could not resolve host: example.org'"),
    ("python", "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', "
               "'no-such-package-anywhere'])"),
    ("node", "await fetch('http://example.org')"),
    ("bash", "python3 -c \"import urllib.request as u; u.urlopen('http://example.org')\""),
])
@pytest.mark.sampled(3)
def test_advice_is_given_once(spawn_runtime, runtime, code):
    answer = spawn_runtime(runtime).exec(code, timeout_ms=60_000)
    assert json.dumps(answer).count(NETWORK) == 1, answer
    place = answer if answer["error"] is None else answer["error"]
    assert place["advice"].startswith(NETWORK)


def test_who_said_it_already_is_not_repeated(session):
    answer = session.exec("print('no network: Could not resolve host')")
    assert "advice" not in answer
