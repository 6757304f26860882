"""Tools of the configuration: commands, endpoints and upstream servers, and what happens when they
do what none should."""

import ast
import concurrent.futures
import http.server
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading

import pytest

from harness import host, mcp_server
from harness.client import ApiError
from harness.configured import Configured
from harness.pages import blocks

pytestmark = pytest.mark.one_mode


class Endpoint(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = b"<title>A page</title><p>It has words.</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen = {"body": body, "token": self.headers["X-Token"]}
        if "messages" in body:
            said = "; ".join(f"{one['role']}: {one['content']}" for one in body["messages"])
            seen = {"choices": [{"message": {"content": f"{body['model']}: {said}"}}]}
        status = 500 if body.get("how") == "fails" else 200
        text = body.get("query", "") + "".join(one["content"] for one in body.get("messages", ()))
        if text.startswith("together"):
            status = self.server.together.wait_for(int(text.split()[1])) or status
        if body.get("how") == "moves":
            status = 302
        data = b"plain words" if body.get("how") == "plain" else json.dumps(seen).encode()
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/")
        kind = "text/plain" if body.get("how") == "plain" else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Together:
    """Requests that are answered once so many of them are there at the same time."""

    def __init__(self):
        self.changed = threading.Condition()
        self.waiting, self.inside, self.most, self.turn = 0, 0, 0, 0

    def wait_for(self, n):
        """Or a status that says that they never were."""
        with self.changed:
            self.waiting += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
            turn = self.turn
            if self.waiting == n:
                self.waiting = 0
                self.turn += 1
                self.changed.notify_all()
            is_met = self.changed.wait_for(lambda: self.turn > turn, host.PATIENCE / 2)
            self.inside -= 1
            return None if is_met else 503


@pytest.fixture
def endpoint():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.together = Endpoint.together = Together()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/x"
    server.shutdown()
    server.server_close()


CONFIG = """
default_profile: min
explore: {web_domains: ["HOST"]}
toolbox:
  deny: [lint_python]
  llm: {http: ENDPOINT, model: parrot, headers: ["X-Token: other"]}
  tools:
    - name: count_words
      description: How many words a text has.
      parameters: '{"text": {"type": "string", "required": true}}'
      command:
        - /usr/bin/python3
        - -c
        - "import json, sys; print(len(json.load(sys.stdin)['text'].split()))"
      read_only: true
    - name: broken
      command: [/usr/bin/python3, -c, "import sys; sys.exit('it is broken')"]
    - name: slow
      command: [/usr/bin/python3, -c, "import time; time.sleep(3600)"]
      timeout_secs: 1
    - name: web_search
      description: Searches.
      parameters: '{"query": {"type": "string", "required": true}, "how": {"type": "string"}}'
      http: ENDPOINT
      headers: ["X-Token: secret"]
    - {name: web_research, http: ENDPOINT}
    - {name: fetch_wikipedia, http: ENDPOINT}
  servers:
    - name: trial
      command: [/usr/bin/python3, SERVER]
      environment: ["GIVEN=from the configuration"]
      timeout_secs: 2
    - name: absent
      command: [/nowhere/at/all]
agents:
  - id: ana
    repl: {enabled: true}
    toolbox: {allow: ["@compute", add], deny: [python_eval]}
"""


@pytest.fixture
def configured(launch, endpoint):
    """Its files lie where everybody may look: a daemon of root's has no rights of root's."""
    with tempfile.TemporaryDirectory(prefix="cella-toolbox-") as made:
        folder = pathlib.Path(made)
        folder.chmod(0o755)
        server = folder / "mcp_server.py"
        shutil.copy(pathlib.Path(mcp_server.__file__), server)
        server.chmod(0o644)
        text = CONFIG
        for name, value in (("HOST", endpoint.split("/")[2]), ("ENDPOINT", endpoint),
                            ("SERVER", str(server))):
            text = text.replace(name, value)
        yield Configured(launch, folder, text)


@pytest.fixture
def tools(configured, eventually):
    client = configured.client
    session = client.spawn(explore=True)

    def call(name, /, **args):
        return client.call("POST", f"{session.path}/toolbox/{name}", {"args": args})["result"]

    def names():
        return {tool["name"] for tool in client.call("GET", f"{session.path}/toolbox")["tools"]}

    eventually(lambda: "add" in names())
    call.client, call.session, call.names = client, session, names
    return call


def refused(call, name, **args):
    with pytest.raises(ApiError) as error:
        call(name, **args)
    return str(error.value)


def test_commands_and_endpoints_of_the_configuration(tools, endpoint):
    assert tools("count_words", text="one two three") == 3
    assert tools.session.value("TOOL('count_words', text='a b')") == "2"
    assert "args.text must be a text" in refused(tools, "count_words", text=1)
    assert "exit code 1: it is broken" in refused(tools, "broken")
    assert "timeout: slow was not done within" in refused(tools, "slow")
    assert tools("web_search", query="x") == {"body": {"query": "x"}, "token": "secret"}
    assert tools("web_search", query="x", how="plain") == "plain words"
    assert "bad_gateway: the server answered with status 500" in refused(
        tools, "web_search", query="x", how="fails")
    assert "status 302" in refused(tools, "web_search", query="x", how="moves")
    asked = tools("http_post", url=endpoint, body={"query": "y"})
    assert asked == {"body": {"query": "y"}, "token": None}
    log = tools.client.call("GET", f"{tools.session.path}/toolbox/log")
    assert [one["tool_name"] for one in log["calls"] if not one["success"]] == [
        "count_words", "broken", "slow", "web_search", "web_search"]


WEB = {  # a call, what it answers, a bad argument, and what is said of that
    "http_get": ({"url": "ENDPOINT"}, lambda told: told["text"].strip().endswith("It has words."),
                 {"url": "ENDPOINT", "max_chars": 0}, "args.max_chars must be at least 1"),
    "http_post": ({"url": "ENDPOINT", "body": {"n": [1, "two"]}},
                  lambda told: told == {"body": {"n": [1, "two"]}, "token": None},
                  {"url": "ENDPOINT"}, 'args needs the member "body"'),
    "web_search": ({"query": "x"}, lambda told: told["body"] == {"query": "x"},
                   {"query": 1}, "args.query must be a text"),
    "web_research": ({"query": "x"}, lambda told: told["body"]["query"] == "x",
                     {"query": ""}, "args.query must have at least 1 characters"),
    "fetch_wikipedia": ({"title": "Bee"}, lambda told: told["body"]["title"] == "Bee",
                        {"titel": "Bee"}, 'args needs the member "title"'),
    "llm_call": ({"prompt": "hi"}, lambda told: told == "parrot: user: hi",
                 {"prompt": ["hi"]}, "args.prompt must be a text"),
    "llm_batch": ({"prompts": ["a", "b"]},
                  lambda told: told == ["parrot: user: a", "parrot: user: b"],
                  {"prompts": "a"}, "args.prompts must be a list"),
}


def test_tools_of_the_web_answer_and_refuse(tools, endpoint):
    def given(args):
        return {name: endpoint if value == "ENDPOINT" else value for name, value in args.items()}
    for name, (args, is_right, bad, words) in WEB.items():
        told = tools(name, **given(args))
        assert is_right(told), (name, told)
        assert words in refused(tools, name, **given(bad)), name


def test_what_no_configuration_has_says_how_to_set_it_up(client, spawn):
    """The advice is a configuration that is taken."""
    session = spawn("min")
    for name in ("web_search", "web_research", "fetch_wikipedia"):
        args = {"title": "x"} if name == "fetch_wikipedia" else {"query": "x"}
        with pytest.raises(ApiError) as error:
            client.call("POST", f"{session.path}/toolbox/{name}", {"args": args})
        assert f"toolbox: {{tools: [{{name: {name}, http: URL}}]}}" in error.value.advice


def test_tools_of_an_upstream_server(tools):
    assert tools("add", a=1, b=2) == {"sum": 3}
    assert ast.literal_eval(tools.session.value("TOOL('add', a=20, b=22)")) == {"sum": 42}
    assert tools("echo") == "from the configuration"
    assert 'args needs the member "b"' in refused(tools, "add", a=1)
    assert "bad_gateway: it cannot be done" in refused(tools, "fail")
    assert {"add", "echo", "trial.calculate"} <= tools.names()
    assert not {"not a name", "lint_python"} & tools.names()
    assert "The server absent does not work" in refused(tools, "nothing")
    entry = tools.client.call("GET", f"{tools.session.path}/toolbox?name=add")["tools"][0]
    assert (entry["category"], entry["side_effects"], entry["allowed_callers"]) == (
        "trial", ["read_only"], ["direct", "chain"])
    long = tools("echo", text="x" * 6000)
    assert long["path"].startswith("/workspace/results/") and long["chars"] == 6000


@pytest.mark.parametrize("name, words", [
    ("hang", "did not answer within 2 seconds"),
    ("die", "it ended with exit code 3|closed its output"),
    ("flood", "a thousand messages"), ("garble", "a line that is no JSON-RPC")])
def test_a_server_that_misbehaves_costs_the_call(tools, eventually, name, words):
    with pytest.raises(ApiError, match=words):
        tools(name)
    if name == "hang":
        return  # it still hangs: a server that works on one thing at a time is that way

    def works():
        try:
            return tools("add", a=1, b=1)
        except ApiError:
            return None
    assert eventually(works) == {"sum": 2}


def test_a_model_summarizes_pieces(tools):
    """The endpoint says again what it was asked; SECRET is nothing for it."""
    session, secret = tools.session, "ghp_" + "a1B2" * 9
    text = "first line\n" + f"key {secret}\n" + "x" * 50_000
    session.client.call("PUT", f"{session.path}/contexts/context", text.encode())
    told = session.client.call("POST", f"{session.path}/explore/summaries", {
        "task": "find keys", "n_chunks": 2, "overlap": 0})
    first, second = told["chunks"]
    assert first["read_chars"] == 20_000 and first["first_line"] == "first line"
    for said in ("parrot: user: Summarize a part", "part 1 of 2", "find keys", "first line\n",
                 "Only its beginning is shown", "[REDACTED:github_pat]"):
        assert said in first["summary"], said
    assert secret not in first["summary"] and second["summary"].count("x" * 19_000) == 1
    assert told["note"].startswith("by the model of the configuration")
    assert session.value("summarize_chunks(n_chunks=1)[0]['summary'][:30]") == (
        "'parrot: user: Summarize a part'")
    assert session.value("get_exploration_log().strategy()['strategy_type']") == "'delegated'"


def test_what_a_model_cannot_summarize_is_counted(launch):
    config = "default_profile: min\ntoolbox:\n  llm: {http: 'http://127.0.0.1:1/x', model: none}\n"
    session = launch(config=config).client.spawn(explore=True)
    session.client.call("PUT", f"{session.path}/contexts/context", b"first\nsecond\n")
    told = session.client.call("POST", f"{session.path}/explore/summaries", {"n_chunks": 1})
    assert told["chunks"][0]["summary"] == "[no model] chars 0-13, 2 lines, begins: first"
    assert "127.0.0.1" in told["note"] and told["note"].endswith("no model has read it")


def test_a_model_answers_code(tools):
    value = tools.session.value
    assert value("llm_call('hi', system='be short')") == "'parrot: system: be short; user: hi'"
    assert value("llm_batch(['a', 'b'])") == "['parrot: user: a', 'parrot: user: b']"
    assert "args.temperature must be at most 2" in value("llm_call('x', temperature=3)")
    assert all(line in value("get_state()") for line in ("L1: llm_call(", "B1: llm_batch("))


def test_a_batch_asks_four_at_a_time_and_answers_in_order(tools):
    told = ast.literal_eval(tools.session.value(
        "llm_batch([f'together 4 {n}' for n in range(8)])"))
    assert told == [f"parrot: user: together 4 {n}" for n in range(8)]
    assert Endpoint.together.most == 4


def test_eight_pages_are_fetched_side_by_side(tools):
    """They wait for the network, and not for each other."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(tools, "web_search", query="together 8") for _ in range(8)]
        assert all(one.result()["body"] == {"query": "together 8"} for one in asked)
    assert Endpoint.together.most == 8


def test_agents_may_call_what_their_rules_say(tools):
    assert "ana" not in refused(tools, "lint_python", code="1")
    client = tools.client
    session = client.call("POST", "/v1/sessions", {"agent": "ana", "profile": "min"})

    def call(name, **args):
        return client.call("POST", f"/v1/sessions/{session['session_id']}/toolbox/{name}",
                           {"args": args})["result"]
    assert call("calculate", expression="1 + 1")["result"] == 2
    assert call("add", a=1, b=1) == {"sum": 2}
    for name, args in (("python_eval", {"code": "1"}), ("echo", {}), ("git_status", {})):
        with pytest.raises(ApiError, match=f'forbidden: the agent "ana" may not call {name}'):
            call(name, **args)


def test_the_configuration_is_read_again(configured, tools):
    text = configured.file.read_text()
    configured.reload(text.replace("name: count_words", "name: number_of_words"))
    assert tools("number_of_words", text="a b c") == 3
    assert "count_words" not in tools.names()
    assert tools("add", a=2, b=2) == {"sum": 4}  # that server went on
    configured.reload(text.replace("name: trial", "name: other"))
    assert "add" not in tools.names() or tools("add", a=2, b=2) == {"sum": 4}


def test_the_configuration_is_checked_without_a_daemon(cella, tmp_path):
    def check(text):
        path = tmp_path / "cella.yaml"
        path.write_text(text)
        done = subprocess.run([cella, "config", "check", path], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    page = "".join(blocks("docs/TOOLBOX.md", "yaml"))
    assert check(page)[0] == 0, check(page)
    for wrong, words in (
            ("tools: [{name: calculate, command: [x]}]", "is built in"),
            ("tools: [{name: x}]", "needs a command or http"),
            ("tools: [{name: x, http: ftp://h/}]", "http"),
            ("tools: [{name: x, command: [y], parameters: '[1]'}]", "parameters"),
            ("tools: [{name: x, command: [y]}, {name: x, command: [y]}]", "given twice"),
            ("tools: [{name: x, http: 'http://h/', headers: [no]}]", "no \"Name: value\""),
            ("servers: [{name: x}]", "no name or no command"),
            ("llm: {http: https://h/v1}", "no model")):
        status, told = check(f"toolbox:\n  {wrong}\n")
        assert status != 0 and words in told and ":2" in told, (wrong, told)
