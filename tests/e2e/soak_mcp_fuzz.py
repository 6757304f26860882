#!/usr/bin/python3
"""A hostile client of /mcp: random JSON-RPC, right, wrong and broken, in both eras.

    CELLA=build-test/asan/cella tests/e2e/soak_mcp_fuzz.py [--seconds 600] [--threads 6] [--seed 1]

Messages are made of a grammar, then members are lost, changed or repeated, and sometimes bytes;
headers likewise; connections break in the middle; streams are taken up with ids that were guessed,
states are forged, sessions ended while they are used. The daemon has to answer each within the
protocol, go on, and end with nothing left; sanitizers tell of what nobody sees."""

import argparse
import collections
import http.client
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402
from harness import host, mcp  # noqa: E402

METHODS = ["tools/call", "tools/list", "resources/list", "resources/templates/list",
           "resources/read", "prompts/list", "prompts/get", "completion/complete", "initialize",
           "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
           "server/discover", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel",
           "notifications/cancelled", "notifications/initialized", "no/such", ""]
TOOLS = ["run", "wait", "back", "look", "file", "Repl", "execute_cell", "export_ipynb", "none"]
CODES = ["1+1", "x = 1; x", "1/0", "input('a? ')", "print('y' * 9000)",
         "import time; time.sleep(1.2)",
         "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.05)",
         "import os; os._exit(3)", "\x00", "é" * 50, "list(range(999))"]
TEXTS = ["", "a", "fuzz-1", "fuzz-2", "\0", "\ud800", "x" * 5000, "notebook://fuzz-1",
         "notebook://fuzz-1/cell/0", "workspace://fuzz-1/a", "workspace://fuzz-1/d/a.txt",
         "notebook://fuzz-1/cell/0/image/0", "%s%n", "../..", "cella-1", "e30=.AAAA", "1-1"]
VALUES = [None, True, False, 0, 1, -1, 2**31, 2**63, -2**63, 1.5, 1e308, [], {}, [[]], {"": 0}]
STATUSES = {200, 202, 400, 401, 403, 404, 405, 406, 409, 411, 413, 415, 431, 503}


class Fuzz(threading.Thread):
    def __init__(self, daemon, seed, deadline, seen):
        super().__init__()
        self.daemon, self.random, self.deadline = daemon, random.Random(seed), deadline
        self.seen, self.problem = seen, None
        self.sessions, self.states, self.tasks, self.events = [], [], [], []

    def run(self):
        try:
            while time.monotonic() < self.deadline:
                self.act()
        except Exception as problem:  # told by whoever waits
            self.problem = problem

    def pick(self, *choices):
        return self.random.choice(choices)

    def text(self):
        return self.random.choice(TEXTS)

    def value(self, depth=0):
        kind = self.random.random()
        if kind < 0.4:
            return self.text()
        if kind < 0.8 or depth > 2:
            return self.random.choice(VALUES)
        if kind < 0.9:
            return [self.value(depth + 1) for _ in range(self.random.randrange(3))]
        return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(3))}

    def arguments(self):
        name = self.pick("fuzz-1", "fuzz-2", f"fuzz-{id(self) % 7}")
        given = {"session": name}
        for key, values in (("code", CODES), ("action", ["undo", "redo", "branch", "try", "keep",
                                                         "drop", "list", "end", "put", "get"]),
                            ("path", ["a", "d/a.txt", "..", "/workspace/a"]),
                            ("content", ["x", "data:;base64,AP8=", ""]), ("input", ["line", ""]),
                            ("yield_ms", [0, 10]), ("timeout_ms", [1, 500]),
                            ("max_tokens", [1, 50]),
                            ("output", [1, 2, 99]), ("what", ["names", "files", "sessions"]),
                            ("name", ["x", "nothing"]), ("interrupt", [True, False])):
            if self.random.random() < 0.3 or (key == "code" and self.random.random() < 0.6):
                given[key] = self.random.choice(values)
        return given

    def params(self, method):
        params = {"name": self.random.choice(TOOLS), "arguments": self.arguments(),
                  "uri": self.text()}
        if method == "prompts/get":
            params = {"name": self.pick("explore_data", "recover_cell", "compare_branches", "x"),
                      "arguments": {"source": "a"}}
        if method == "completion/complete":
            params = {"ref": {"type": "ref/resource", "uri": "notebook://{session}"},
                      "argument": {"name": "session", "value": "f"}}
        if method.startswith("tasks/"):
            params = {"taskId": self.random.choice(self.tasks or ["x"]),
                      "inputResponses": {"line": {"action": "accept", "content": {"line": "L"}}}}
        if method == "subscriptions/listen":
            params = {"notifications": {"resourceSubscriptions": [self.text(), self.text()],
                                        "toolsListChanged": True}}
        if method == "initialize":
            params = {"protocolVersion": self.pick(mcp.LEGACY, "2024-11-05", "x"),
                      "capabilities": self.pick({}, {"elicitation": {}})}
        if self.states and self.random.random() < 0.3:
            params["requestState"] = self.random.choice(self.states)
            params["inputResponses"] = {"line": {"action": "accept", "content": {"line": "L"}}}
        if method == "notifications/cancelled":
            params = {"requestId": self.random.randrange(5)}
        return params

    def spoil(self, value, chance):
        """Members are lost, changed or of another kind."""
        if self.random.random() < chance:
            return self.value()
        if isinstance(value, dict):
            return {key: self.spoil(member, chance) for key, member in value.items()
                    if self.random.random() > chance / 2}
        return value

    def message(self):
        method = self.random.choice(METHODS)
        if self.random.random() < 0.4:
            method = "tools/call" if self.sessions else "initialize"
        meta = {"progressToken": 1} if self.random.random() < 0.3 else {}
        capabilities = self.pick({}, {"elicitation": {}}, mcp.TASKS,
                                 {"elicitation": {}, **mcp.TASKS})
        message, headers = mcp.modern(method, self.params(method), capabilities,
                                      self.random.randrange(5), **meta)
        if self.random.random() < 0.5:  # of the older era
            headers = {"MCP-Protocol-Version": self.pick(mcp.LEGACY, "2025-06-18")}
            del message["params"]["_meta"]
            if self.sessions:
                headers["Mcp-Session-Id"] = self.random.choice(self.sessions)
            if method.startswith("notifications/"):
                del message["id"]
        chance = self.pick(0, 0, 0, 0.03, 0.2)
        message = self.spoil(message, chance)
        if self.random.random() < 0.05:
            message = {"jsonrpc": "2.0", "id": f"cella-{self.random.randrange(9)}",
                       "result": {"action": "accept", "content": {"line": "L"}}}
        if chance:
            headers = {name: self.pick(value, value, value, "x") for name, value in headers.items()
                       if self.random.random() > 0.05}
        return message, headers

    def body(self, message):
        text = json.dumps(message).encode()
        for _ in range(self.pick(0, 0, 0, 0, 0, 0, 0, 0, 1, 5)):
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + self.pick(b"", b"\x00", b"{", b"\xff", b'"', b"[[[") + text[at + 1:]
        if self.random.random() < 0.02:
            text = b"[" * self.random.randrange(5000)
        return text

    def act(self):
        message, headers = self.message()
        path = self.random.choices(["/mcp", "/mcp?tools=core,notebook,repl", "/mcp?tools=x"],
                                   [60, 38, 2])[0]
        method = self.random.choices(["POST", "GET", "DELETE", "PUT"], [90, 6, 3, 1])[0]
        if method == "GET" and self.events:
            headers["Last-Event-ID"] = self.random.choice(self.events)
        headers = {"Authorization": f"Bearer {self.daemon.key()}",
                   "Content-Type": "application/json",
                   "Accept": self.pick("application/json, text/event-stream", "application/json"),
                   **{name: str(value).encode("latin-1", "replace").decode("latin-1")
                      .replace("\0", "").replace("\n", "") for name, value in headers.items()}}
        connection = http.client.HTTPConnection(*self.daemon.address, timeout=host.PATIENCE)
        try:
            connection.request(method, path, self.body(message) if method == "POST" else None,
                               headers)
            if self.random.random() < 0.15:
                return  # gone before the answer
            response = connection.getresponse()
            self.seen[response.status] += 1
            assert response.status in STATUSES, (response.status, message, response.read(500))
            self.learn(response)
        except TimeoutError:
            raise AssertionError(f"no answer to {method} {message}") from None
        finally:
            connection.close()

    def learn(self, response):
        """What the answer brings is used later: sessions, states, tasks, events."""
        if session := response.headers.get("Mcp-Session-Id"):
            self.sessions = (self.sessions + [session])[-8:]
        if response.headers.get_content_type() == "text/event-stream":
            for number, (event_id, told) in zip(range(self.pick(1, 3, 20)), self.some(response)):
                self.events = (self.events + [event_id or "0-0"])[-8:]
                self.note(told or {})
                if told and "method" not in told:
                    break
            return
        raw = response.read()
        if raw and response.headers.get_content_type() == "application/json":
            self.note(json.loads(raw))

    def some(self, response):
        """Events until the stream is silent for a while."""
        response.fp.raw._sock.settimeout(self.pick(0.2, 2))
        try:
            yield from mcp.events(response)
        except TimeoutError:
            return

    def note(self, told):
        result = told.get("result")
        if isinstance(result, dict):
            if "requestState" in result:
                self.states = (self.states + [result["requestState"]])[-8:]
            if "taskId" in result:
                self.tasks = (self.tasks + [result["taskId"]])[-8:]


CONFIG = "default_profile: min\nagents: [{id: default, repl: {enabled: true, max_sessions: 20}}]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seen, problems = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="cella-fuzz-") as where:
        daemon = daemons.Daemon(daemons.find_binary(), pathlib.Path(where) / "data", config=CONFIG)
        deadline = time.monotonic() + options.seconds
        fuzzers = [Fuzz(daemon, f"{options.seed} {n}", deadline, seen)
                   for n in range(options.threads)]
        for fuzzer in fuzzers:
            fuzzer.start()
        for fuzzer in fuzzers:
            fuzzer.join()
        problems = [repr(fuzzer.problem) for fuzzer in fuzzers if fuzzer.problem]
        if daemon.is_running():
            client = mcp.Modern(daemon)
            assert "42" in mcp.text_of(client.call("run", {"code": "6*7", "session": "sane"}))
        daemon.stop()  # asserts that it is well and leaves nothing
    print(f"{sum(seen.values())} answers: {dict(sorted(seen.items()))}")
    print("\n".join(problems) or "no problem")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
