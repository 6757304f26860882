#!/usr/bin/python3
"""Clients of the Model Context Protocol at once: no wrong answer, nothing leaks.

    tests/e2e/soak_mcp.py [--clients 50] [--seconds 600] [--rounds 6] [--seed 1]

Of the clients a quarter each speaks 2026-07-28 and 2025-11-25 over HTTP, and both over standard
input. Each has a session of its own and does random things to it: cells that count, fail, print,
ask, crash and become tasks; cancellations by message and by going away; subscriptions; malformed
messages; it ends, politely or not, and begins again. A cell that counts tells what was lost or run
twice.

After every round all sessions are ended, of notebooks and of clients, also those that clients left
without a word, and what daemon and warden hold is compared with what they held after the first.
Two things are kept on purpose, up to a bound: the database's cache, and for an hour the answers of
tasks. The daemon counts both; they are printed, and the heap without them must not grow."""

import argparse
import collections
import json
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402
from harness import host, mcp  # noqa: E402
from soak_leak import Soak  # noqa: E402

# Of a warm daemon, over all rounds; of the warden, the steps by which a heap grows. What the
# allocator keeps at hand counts among the rest of the daemon's heap, and so does what it needs to
# find a task.
GROWTH = {"heap_rest": 512 << 10, "mcp_sessions": 0, "mcp_listeners": 0, "warden_data_kb": 264,
          "fds": 4,  # the two pipes that wait for the next cell; the first round may not leave them
          "warden_fds": 0, "processes": 0}
WAITS = 8  # of 25 s each
UNDER_WAY = re.compile(r"\[cell \d+ (waits for its turn|still runs)")
CONFIG = """\
default_profile: min
agents:
  - {{id: default, repl: {{enabled: true, checkpoints: every, max_sessions: {n}}}}}
"""
SLEEP = "try: print('begun', flush=True); time.sleep(600)\nexcept KeyboardInterrupt: stopped += 1"
NONSENSE = ["{", "[]", '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"1.0","id":1,"method":"ping"}',
            '{"jsonrpc":"2.0","id":[],"method":"ping"}', "nonsense"]


class Wrong(Exception):
    """An answer that no correct daemon gives."""


def form(_):
    """Whatever is asked of a client's user."""
    return {"action": "accept", "content": {"line": "Ada"}}


class ModernHttp:
    def __init__(self, daemon):
        self.client = mcp.Modern(daemon, {"elicitation": {}})
        self.tasks = mcp.Modern(daemon, {"elicitation": {}, **mcp.TASKS})

    def request(self, method, params=None):
        return self.client.request(method, params)

    def call(self, tool, arguments):
        result = self.client.call(tool, arguments)
        while result["resultType"] == "input_required":
            result = self.client.call(tool, arguments, requestState=result["requestState"],
                                      inputResponses={"line": form(None)})
        return result

    def cancel(self, arguments):
        message, headers = mcp.modern("tools/call", {"name": "run", "arguments": arguments},
                                      progressToken=1)
        connection, response = self.client.open(message, headers)
        next(mcp.events(response))
        response.close()
        connection.close()

    def task(self, arguments):
        task = self.tasks.call("run", arguments)
        if task["resultType"] != "task":
            return task  # it was quick enough
        found = host.eventually(
            lambda: (got := self.tasks.request("tasks/get", {"taskId": task["taskId"]}))["status"]
            == "completed" and got, "a task that is completed")
        return found["result"]

    def nonsense(self, text):
        return self.client.send(text).messages[0]["error"]

    def subscribe(self, uri):
        connection, messages = self.client.listen(resourceSubscriptions=[uri])
        next(messages)
        connection.close()

    def end(self, is_polite):
        pass


class LegacyHttp(ModernHttp):
    left = []  # clients that went without a word: the daemon keeps their sessions for an hour

    def __init__(self, daemon):
        self.client = mcp.Legacy(daemon)

    def call(self, tool, arguments):
        """It cannot be asked: a line that is wanted is given by `wait`."""
        result = self.client.call(tool, arguments)
        if "waits for a line" in mcp.text_of(result):
            return self.client.call("wait", {"session": arguments["session"], "input": "Ada"})
        return result

    def cancel(self, arguments):
        connection, response = self.client.open({
            "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {
                "name": "run", "arguments": arguments, "_meta": {"progressToken": 1}}})
        next(message for _, message in mcp.events(response) if message)
        self.client.notify("notifications/cancelled", {"requestId": "slow"})
        response.close()
        connection.close()

    def subscribe(self, uri):
        connection, _ = self.client.stream()
        self.request("resources/subscribe", {"uri": uri})
        connection.close()
        self.request("resources/unsubscribe", {"uri": uri})

    def end(self, is_polite):
        if is_polite:
            self.client.send(method="DELETE")
        else:
            self.left.append(self.client)


class LegacyStdio:
    def __init__(self, daemon):
        self.client = mcp.Stdio(daemon, on_question=form)
        self.client.initialize({"elicitation": {}})

    def request(self, method, params=None):
        return self.client.request(method, params)

    def call(self, tool, arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def message(self, request_id, arguments):
        return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {
            "name": "run", "arguments": arguments, "_meta": {"progressToken": 1}}}

    def cancel(self, arguments):
        self.client.write(self.message("slow", arguments))
        while self.client.read().get("method") != "notifications/progress":
            pass
        self.client.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                           "params": {"requestId": "slow"}})

    def nonsense(self, text):
        self.client.write(text)
        while "error" not in (message := self.client.read()):
            pass
        return message["error"]

    def subscribe(self, uri):
        self.request("resources/subscribe", {"uri": uri})
        self.request("resources/unsubscribe", {"uri": uri})

    def end(self, is_polite):
        if not is_polite:
            self.client.process.kill()
        self.client.close()


class ModernStdio(LegacyStdio):
    def __init__(self, daemon):
        self.client = mcp.Stdio(daemon)

    def request(self, method, params=None):
        return self.client.modern(method, params, {"elicitation": {}})

    def call(self, tool, arguments):
        params = {"name": tool, "arguments": arguments}
        result = self.request("tools/call", params)
        while result["resultType"] == "input_required":
            result = self.request("tools/call", {**params, "requestState": result["requestState"],
                                                 "inputResponses": {"line": form(None)}})
        return result

    def message(self, request_id, arguments):
        return mcp.modern("tools/call", {"name": "run", "arguments": arguments},
                          request_id=request_id, progressToken=1)[0]

    def subscribe(self, uri):
        message, _ = mcp.modern("subscriptions/listen", {"notifications": {
            "resourceSubscriptions": [uri]}}, request_id="sub")
        self.client.write(message)
        while self.client.read().get("method") != "notifications/subscriptions/acknowledged":
            pass
        self.client.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                           "params": {"requestId": "sub"}})


KINDS = [ModernHttp, LegacyHttp, LegacyStdio, ModernStdio]


class Worker(threading.Thread):
    """One client after the other, each with the session of this worker."""

    def __init__(self, soak, number, deadline):
        super().__init__()
        self.daemon, self.deadline = soak.daemon, deadline
        self.random = random.Random(f"{soak.seed} {number} {soak.rounds}")
        self.kind = KINDS[number % len(KINDS)]
        self.name = f"soak-{number}"
        self.done, self.problem = collections.Counter(), None

    def run(self):
        try:
            self.begin()
            while time.monotonic() < self.deadline:
                act, = self.random.choices([a for a, _ in ACTS], [w for _, w in ACTS])
                if act is not Worker.task or self.kind is ModernHttp:
                    self.done[act.__name__] += 1
                    act(self)
            self.client.end(True)
            self.daemon.client.call("DELETE", f"/v1/sessions/{self.name}")
        except Exception as problem:  # told by the soak
            self.problem = problem

    def begin(self):
        self.client, self.n, self.stopped = self.kind(self.daemon), 0, 0
        self.want("import time, os; n = stopped = 0; 'new'", "'new'")

    def ask(self, code, **more):
        """The answer, waited for as a model would if it takes longer than a call may."""
        answer = self.client.call("run", {"code": code, "session": self.name, **more})
        for _ in range(WAITS):
            if not UNDER_WAY.search(mcp.text_of(answer)):
                break
            self.done["waited for"] += 1
            answer = self.client.call("wait", {"session": self.name})
        return answer

    def want(self, code, text, is_error=False):
        answer = self.ask(code)
        seen = mcp.text_of(answer)
        if text not in seen or answer.get("isError", False) != is_error:
            raise Wrong(f"{self.kind.__name__} {self.name}: {code!r} gave {seen!r}, not {text!r}")

    def count(self):
        self.n += 1
        self.want("n += 1; (n, stopped)", f"({self.n}, {self.stopped})")

    def fail(self):
        self.want("1 / 0", "ZeroDivisionError", True)

    def print(self):
        self.want("for i in range(3000): print('row', i)", "row 2999")

    def question(self):
        self.want("input('Name? ')", "'Ada'")

    def crash(self):
        self.want("os._exit(3)", "rolled back", True)
        self.count()

    def cancel(self):
        """On a machine with far more work than processors a cell may be interrupted once more, or
        be ended and taken back, before it has counted: its status says so."""
        self.client.cancel({"code": SLEEP, "session": self.name})
        ended = host.eventually(self.last_cell, "a cancelled cell that has ended")
        self.stopped += ended == "ok"
        self.done["cancelled late"] += ended != "ok"
        if ended not in ("ok", "error", "interrupted", "died"):
            raise Wrong(f"a cancelled cell of {self.name} is {ended}")
        self.count()

    def last_cell(self):
        """How the session's last cell ended."""
        cells = f"/v1/sessions/{self.name}/cells"
        count = self.daemon.client.call("GET", f"{cells}?limit=1")["count"]
        last = self.daemon.client.call("GET", f"{cells}?offset={count - 1}")["cells"][-1]
        return last["code"] == SLEEP and last["status"] not in ("queued", "running") and last[
            "status"]

    def task(self):
        result = self.client.task({"code": "time.sleep(1.2); 'slept'", "session": self.name})
        if "'slept'" not in mcp.text_of(result):
            raise Wrong(f"a task of {self.name} gave {result}")

    def look(self):
        self.client.request("tools/list")
        self.client.request("resources/read", {"uri": f"notebook://{self.name}"})
        self.client.subscribe(f"notebook://{self.name}")
        told = mcp.text_of(self.client.call("look", {"session": self.name}))
        if not re.search(r"^n |\bn=", told, re.M):  # of a busy session the value is not known
            raise Wrong(f"{self.name} has no n: {told!r}")

    def nonsense(self):
        error = self.client.nonsense(self.random.choice(NONSENSE))
        if error["code"] not in (-32700, -32600):
            raise Wrong(f"nonsense was answered with {error}")
        try:
            self.client.request("no/such")
            raise Wrong("there is no method no/such")
        except mcp.Refused as refusal:
            if refusal.code != -32601:
                raise Wrong(f"no/such: {refusal.code}") from refusal

    def leave(self):
        """The session stays; another client finds it as it was."""
        self.client.end(self.random.random() < 0.5)
        self.client = self.kind(self.daemon)
        self.count()


ACTS = [(Worker.count, 30), (Worker.fail, 10), (Worker.print, 5), (Worker.question, 5),
        (Worker.crash, 1), (Worker.cancel, 4), (Worker.task, 2), (Worker.look, 4),
        (Worker.nonsense, 4), (Worker.leave, 2)]


class McpSoak(Soak):
    def __init__(self, daemon, options):
        super().__init__(daemon)
        self.clients, self.seed, self.rounds = options.clients, options.seed, 0
        self.done = collections.Counter()

    def round(self, seconds):
        """The problems of a round."""
        self.rounds += 1
        deadline = time.monotonic() + seconds
        workers = [Worker(self, number, deadline) for number in range(self.clients)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            self.done += worker.done
        while LegacyHttp.left:
            LegacyHttp.left.pop().send(method="DELETE")
        return [f"{w.name} ({w.kind.__name__}): {w.problem!r}" for w in workers if w.problem]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows, problems = [], []
    with tempfile.TemporaryDirectory(prefix="cella-soak-") as where:
        daemon = daemons.Daemon(daemons.find_binary(), pathlib.Path(where) / "data",
                                config=CONFIG.format(n=2 * options.clients))
        soak = McpSoak(daemon, options)
        for number in range(1, options.rounds + 1):
            problems += soak.round(options.seconds / options.rounds)
            rows.append(soak.measure() | daemon.heap())
            print(f"round {number}: {sum(soak.done.values())} acts, {json.dumps(rows[-1])}",
                  flush=True)
            if problems or not daemon.is_running():
                break
        errors = "\n".join(line for line in daemon.errors().splitlines()
                           if "level=info" not in line)
        daemon.stop()
    grown = [f"{name} grew from {rows[0][name]} to {rows[-1][name]}"
             for name, allowed in GROWTH.items() if rows[-1][name] - rows[0][name] > allowed]
    print(", ".join(f"{n} {name}" for name, n in sorted(soak.done.items())))
    print("\n".join(problems + grown + ([errors] if errors else [])) or
          "no error; flat: nothing grew")
    return 1 if problems or grown or errors else 0


if __name__ == "__main__":
    sys.exit(main())
