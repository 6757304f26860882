"""`cella mcp`: the Model Context Protocol on standard input and output, for clients that start a
server as a program. One message on each line; both eras; it uses the daemon that runs."""

import json
import os
import select
import signal
import socket
import subprocess
import threading

import pytest

from harness import host, mcp

pytestmark = pytest.mark.one_mode


@pytest.fixture
def name(daemon):
    """The name of a session that ends with the test."""
    yield "mcp-stdio"
    for session in daemon.client.call("GET", "/v1/sessions").sessions:
        if session.get("name") == "mcp-stdio":
            daemon.client.request("DELETE", f"/v1/sessions/{session['session_id']}")


@pytest.mark.smoke
def test_a_client_with_a_handshake(daemon, name):
    with mcp.Stdio(daemon) as client:
        assert client.initialize()["protocolVersion"] == mcp.LEGACY
        assert [t["name"] for t in client.request("tools/list")["tools"]] == [
            "run", "wait", "back", "look", "file"]
        client.call("run", {"code": "x = 20", "session": name})
        assert mcp.text_of(client.call("run", {"code": "x + 1", "session": name})) == "21"
        assert client.close() == 0


@pytest.mark.smoke
def test_a_client_without_one(daemon, name):
    with mcp.Stdio(daemon) as client:
        assert client.modern("server/discover")["supportedVersions"][0] == mcp.MODERN
        result = client.modern("tools/call", {"name": "run", "arguments": {
            "code": "6*7", "session": name}})
        assert mcp.text_of(result).startswith("42") and result["resultType"] == "complete"


def test_what_was_asked_is_answered_after_the_end_of_the_input(daemon, name):
    messages = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
                {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
                    "name": "run", "arguments": {"code": "import time; time.sleep(0.2); 6*7",
                                                 "session": name}}}]
    done = subprocess.run([str(daemon.binary), "mcp", "--data", str(daemon.data)], text=True,
                          input="\n".join(map(json.dumps, messages)), capture_output=True,
                          timeout=host.PATIENCE, check=True)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["id"] == 1
    assert mcp.text_of(second["result"]).startswith("42")


def test_questions_progress_and_cancellation_share_the_line(daemon, name):
    def answer(message):
        assert message["method"] == "elicitation/create"
        return {"action": "accept", "content": {"line": message["params"]["message"] + "!"}}

    with mcp.Stdio(daemon, on_question=answer) as client:
        client.initialize({"elicitation": {}})
        assert "'A?!'" in mcp.text_of(client.call("run", {"code": "input('A?')", "session": name}))
        client.call("run", {"code": "n = 0", "session": name})
        client.write({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {
            "name": "run", "_meta": {"progressToken": "p"}, "arguments": {
                "session": name, "code": "import time\n"
                "try: print('begun', flush=True); time.sleep(600)\n"
                "except KeyboardInterrupt: n = 1"}}})
        told = client.read()
        assert told["method"] == "notifications/progress"
        assert told["params"]["message"] == "begun"
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": "slow"}})
        assert mcp.text_of(client.call("run", {"code": "n", "session": name})) == "1"


def test_a_subscription_shares_it_too(daemon, name):
    with mcp.Stdio(daemon) as client:
        client.modern("tools/call", {"name": "run", "arguments": {"code": "1", "session": name}})
        message, _ = mcp.modern("subscriptions/listen", {"notifications": {
            "resourceSubscriptions": [f"notebook://{name}"]}}, request_id="sub")
        client.write(message)
        assert client.read()["method"] == "notifications/subscriptions/acknowledged"
        client.modern("tools/call", {"name": "run", "arguments": {"code": "2", "session": name}})
        told = client.seen.pop() if client.seen else client.read()
        assert told["method"] == "notifications/resources/updated"
        assert told["params"]["_meta"] == {mcp.META + "subscriptionId": "sub"}
        assert client.close() == 0  # an open subscription does not keep it


def test_a_cell_ends_with_its_client(daemon, name, client):
    """The program is killed: nobody waits for the cell any more."""
    stdio = mcp.Stdio(daemon)
    stdio.initialize()
    stdio.call("run", {"code": "n = 0", "session": name})
    stdio.write({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "run", "_meta": {"progressToken": 1}, "arguments": {
            "session": name, "code": "import time\n"
            "try: print('begun', flush=True); time.sleep(600)\n"
            "except KeyboardInterrupt: n = 1"}}})
    stdio.read()
    stdio.process.kill()
    stdio.close()
    answer = client.call("POST", f"/v1/sessions/{name}/exec", {"code": "n"})
    assert answer.value["text"] == "1"


@pytest.mark.parametrize("line, code", [
    ("garbage", -32700), ("[]", -32600), ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
    ('{"jsonrpc":"2.0","id":1}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', -32600),  # before the handshake
    ('{"jsonrpc":"2.0","id":1,"method":"server/discover"}', -32602),
])
def test_nonsense_is_answered_and_the_line_goes_on(daemon, line, code):
    with mcp.Stdio(daemon) as client:
        client.write(line)
        assert client.read()["error"]["code"] == code
        assert client.request("ping") == {}


def test_a_line_that_is_too_long_is_refused_and_skipped(daemon):
    with mcp.Stdio(daemon) as client:
        client.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * (5 << 20)}))
        error = client.read()["error"]
        assert error["code"] == -32600 and "4194304" in error["message"]
        assert client.request("ping") == {}


def test_a_client_that_reads_no_answers_is_asked_nothing_more(daemon):
    """What it gets is some twenty times as long as what it asks."""
    line = (json.dumps(mcp.modern("tools/list")[0]) + "\n").encode()
    most, sent = 6_000 * len(line), 0
    block = memoryview(line * 6_000)
    with mcp.open_line(daemon) as wire:
        with daemon.watch_heap() as heap:
            while sent < most and is_taken_from(daemon, wire):
                sent += wire.send(block[sent:])
        assert heap[1] - heap[0] < 16 << 20, heap
        wire.setblocking(True)
        writer = threading.Thread(target=wire.sendall, args=(block[sent:],))
        writer.start()
        answers = wire.makefile("rb")
        for _ in range(6_000):
            assert answers.readline().startswith(b'{"jsonrpc":"2.0","id":1,"result"')
        writer.join()
        wire.shutdown(socket.SHUT_WR)
        assert not answers.read()


def is_taken_from(daemon, wire):
    """Whether the daemon takes more, after some turns of its loop if need be."""
    for _ in range(50):
        if select.select([], [wire], [], 0)[1]:
            return True
        daemon.client.call("GET", "/health")
    return False


def test_the_program_hears_answers_while_the_daemon_takes_nothing(daemon):
    line = json.dumps(mcp.modern("tools/list")[0]) + "\n"
    done = subprocess.run([str(daemon.binary), "mcp", "--data", str(daemon.data)], text=True,
                          input=line * 3000, capture_output=True, timeout=host.PATIENCE,
                          check=True)
    assert len(done.stdout.splitlines()) == 3000


def test_requests_at_once_are_bounded(daemon):
    with mcp.Stdio(daemon) as client:
        for number in range(64):
            client.write(mcp.modern("subscriptions/listen", {"notifications": {}},
                                    request_id=f"sub{number}")[0])
            assert client.read()["method"] == "notifications/subscriptions/acknowledged"
        with pytest.raises(mcp.Refused, match="64 requests are under way") as refusal:
            client.request("ping")
        assert refusal.value.code == -32000
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": "sub0"}})
        assert client.request("ping") == {}


# The daemon ends.


@pytest.fixture
def mortal(launch, tmp_path):
    """A daemon that will end, and the environment of programs that start another."""
    folder = tmp_path / "cella"
    folder.mkdir()
    (folder / "cella.yaml").write_text("default_profile: min\n")
    daemon, env = launch(), {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    yield daemon, env
    subprocess.run([str(daemon.binary), "stop", "--data", str(daemon.data)], check=False)


def save(daemon, code):
    """Runs in the only session, and is safe."""
    (session,) = daemon.client.call("GET", "/v1/sessions").sessions
    daemon.client.call("POST", f"/v1/sessions/{session['session_id']}/exec",
                       {"code": code, "durable": True})
    return session["name"]


LONG = {"name": "run", "arguments": {"code": "import time; print('on'); time.sleep(600)"},
        "_meta": {"progressToken": 1}}


def test_a_client_with_a_handshake_survives_the_daemon(mortal):
    daemon, env = mortal
    with mcp.Stdio(daemon, env=env) as client:
        client.initialize()
        client.call("run", {"code": "x = 20"})
        name = save(daemon, "x += 1")
        client.request("resources/subscribe", {"uri": f"notebook://{name}"})
        client.write({"jsonrpc": "2.0", "id": "open", "method": "tools/call", "params": LONG})
        while client.read().get("method") != "notifications/progress":
            pass
        daemon.kill()
        result = client.answer_to("open")["result"]
        assert result["isError"] and "begun anew" in mcp.text_of(result)
        assert {"method": "notifications/resources/updated", "jsonrpc": "2.0",
                "params": {"uri": f"notebook://{name}"}} in [*client.seen, client.read()]
        # Its own session is found again, though it was not named.
        assert mcp.text_of(client.call("run", {"code": "x"})) == "21"
        client.seen.clear()
        client.call("run", {"code": "print(1)"})
        told = client.seen.pop() if client.seen else client.read()
        assert told["method"] == "notifications/resources/updated"
        assert client.close() == 0


def test_a_client_without_one_survives_it_too(mortal):
    daemon, env = mortal
    with mcp.Stdio(daemon, env=env) as client:
        client.modern("tools/call", {"name": "run", "arguments": {"code": "x = 20"}})
        name = save(daemon, "x += 1")
        message, _ = mcp.modern("subscriptions/listen", {"notifications": {
            "resourceSubscriptions": [f"notebook://{name}"]}}, request_id="sub")
        client.write(message)
        assert client.read()["method"] == "notifications/subscriptions/acknowledged"
        call, _ = mcp.modern("tools/call", LONG, request_id="open", progressToken=1)
        client.write(call)
        while client.read().get("method") != "notifications/progress":
            pass
        daemon.kill()
        answers = {}
        while len(answers) < 2:
            message = client.read()
            if "method" not in message:
                answers[message["id"]] = message
        assert "ended" in answers["sub"]["error"]["message"]
        result = answers["open"]["result"]
        assert result["isError"] and result["resultType"] == "complete"
        assert "begun anew" in mcp.text_of(result)
        result = client.modern("tools/call", {"name": "run", "arguments": {"code": "x"}})
        assert mcp.text_of(result) == "21"
        assert client.close() == 0


def test_a_daemon_that_was_stopped_is_started_by_the_next_request(mortal, launch):
    first, env = mortal
    with mcp.Stdio(first, env=env) as client:
        client.initialize()
        client.call("run", {"code": "x = 42"})
        save(first, "x")
        client.write({"jsonrpc": "2.0", "id": "open", "method": "tools/call", "params": LONG})
        while client.read().get("method") != "notifications/progress":
            pass
        first.stop()
        assert client.answer_to("open")["result"]["isError"]
        # Nothing is asked, so that nothing is started: there is room for another.
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": "open"}})
        client.write("")
        second = launch(data=first.data)
        assert mcp.text_of(client.call("run", {"code": "x"})) == "42"
        second.stop()
        assert mcp.text_of(client.call("run", {"code": "x"})) == "42"
        assert client.close() == 0


def test_where_no_daemon_can_be_everything_open_is_answered(launch):
    daemon = launch()
    env = {**os.environ, "CELLA_TEST_TIME_SCALE": "0.01"}
    with mcp.Stdio(daemon, "--url", daemon.url, "--key", daemon.key(), env=env) as client:
        client.initialize()
        client.write({"jsonrpc": "2.0", "id": "open", "method": "tools/call", "params": LONG})
        while client.read().get("method") != "notifications/progress":
            pass
        client.process.send_signal(signal.SIGSTOP)
        daemon.kill()
        client.write({"jsonrpc": "2.0", "id": "late", "method": "tools/list"})
        client.process.stdin.close()
        client.process.send_signal(signal.SIGCONT)
        result = client.answer_to("open")["result"]
        assert result["isError"] and "ended" in mcp.text_of(result)
        assert "error" in client.answer_to("late")
        assert client.process.wait(host.PATIENCE) != 0


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program(daemon, signo):
    with mcp.Stdio(daemon) as client:
        client.initialize()
        client.process.send_signal(signo)
        assert client.process.wait(host.PATIENCE) == 128 + signo


def test_names_of_clients_cannot_be_guessed(daemon):
    for name in ("short", "x" * 64, "a b" * 10):
        with socket.create_connection(daemon.address) as wire:
            wire.sendall(f"GET /mcp/stdio HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
                         f"Upgrade: cella-mcp\r\nAuthorization: Bearer {daemon.key()}\r\n"
                         f"Cella-Client: {name}\r\n\r\n".encode())
            assert wire.recv(12) == b"HTTP/1.1 400"


def test_the_entry_for_a_client_starts_this_program(daemon):
    command = [str(daemon.binary), "mcp", "--tools", "core,repl", "--print-config"]
    done = subprocess.run([*command, "cursor"], capture_output=True, text=True, check=True)
    assert str(daemon.binary) in done.stdout and '"core,repl"' in done.stdout
    refused = subprocess.run([*command, "nobody"], capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "cursor" in refused.stderr


def test_an_unknown_set_of_tools_is_an_error_of_the_program(daemon):
    done = subprocess.run([str(daemon.binary), "mcp", "--data", str(daemon.data), "--tools", "x"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert 'no set of tools "x"' in done.stderr
