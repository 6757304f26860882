#!/usr/bin/python3
"""Sessions of all runtimes under random calls: nothing leaks, and no output goes astray.

    tests/e2e/soak_mixed.py [--sessions 200] [--seconds 1200] [--seed 1]

Workers make random valid and invalid calls over REST and the repl tool: cells that answer, fail,
loop, ask, yield, print late, end their interpreter; interrupts, kills, clients that go away,
sessions that join others. Every cell prints a token of its own, and a token that turns up in the
output of another cell is a failure. After every round all sessions are ended and what daemon and
warden hold is compared with what they held after the first."""

import argparse
import itertools
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
from harness import host  # noqa: E402
from harness.client import Answer, ApiError, Session  # noqa: E402

WORKERS = 6
TOKEN = re.compile(r"T[0-9a-f]{10}Z")
# Of a warm daemon, over all rounds; of the warden, the steps by which a heap grows.
GROWTH = {"heap_bytes": 2 << 20, "warden_data_kb": 264, "warden_fds": 0, "processes": 0,
          "fds": 4}  # the two pipes that wait for the next cell; the first round may not leave them
RUNTIMES = ("python", "node", "bash")

# Cells, by what they do and runtime. {t} and {e} are tokens.
PRINT = {
    "python": "import sys; print('{t}'); print('{e}', file=sys.stderr)",
    "node": "console.log('{t}'); console.error('{e}')",
    "bash": "echo {t}; echo {e} >&2",
}
FAIL = {
    "python": "print('{t}'); raise ValueError('{e}')",
    "node": "console.log('{t}'); throw new Error('{e}')",
    "bash": "echo {t}; echo {e} >&2; (exit 3)",
}
MALFORMED = {"python": "x = = '{t}'", "node": "let = '{t}' (", "bash": "if then '{t}'"}
LOOP = {
    "python": "print('{t}', flush=True)\nwhile True: pass",
    "node": "console.log('{t}'); while (true) await null",
    "bash": "echo {t}; while :; do :; done",
}
SLOW = {
    "python": "import time; print('{t}', flush=True); time.sleep(0.05); print('{e}')",
    "node": "console.log('{t}'); await new Promise(r => setTimeout(r, 50)); console.log('{e}')",
    "bash": "echo {t}; sleep 0.05; echo {e}",
}
ASK = {
    "python": "print('{t}'); print(input('? '))",
    "node": "console.log('{t}'); for await (const l of require('readline')"
            ".createInterface({{ input: process.stdin }})) {{ console.log(l); break }}",
    "bash": "echo {t}; read -r x; echo $x",
}
LATE = {
    "python": "import os; n = os.system('(sleep 0.1; echo {t}; echo {e} >&2) &')",
    "node": "setTimeout(() => {{ console.log('{t}'); console.error('{e}') }}, 100); undefined",
    "bash": "(sleep 0.1; echo {t}; echo {e} >&2) &",
}
LARGE = {
    "python": "print('{t}' * 20000)",
    "node": "console.log('{t}'.repeat(20000))",
    "bash": "printf '{t}%.0s' {{1..2000}}",
}
LAST = {
    "python": ["import os; print('{t}', flush=True); os._exit(3)",
               "import os; print('{t}', flush=True); os.kill(os.getpid(), 9)"],
    "node": ["console.log('{t}'); process.abort()",
             "console.log('{t}'); process.kill(process.pid, 'SIGKILL'); while (true) {{}}"],
    "bash": ["echo {t}; kill -SEGV $$", "echo {t}; kill -9 $$"],
}
INVALID = [
    ("POST", "/exec", b"{"), ("POST", "/exec", b"[]"), ("POST", "/exec", {"code": 5}),
    ("POST", "/exec", {"code": "1", "timeout_ms": -1}), ("POST", "/exec", {"cod": "1"}),
    ("POST", "/exec/999999/continue", {}), ("POST", "/input", {"text": "nobody asked"}),
    ("GET", "/output?offset=-1", None), ("PUT", "/exec", {"code": "1"}), ("GET", "/nothing", None),
]


class Wrong(Exception):
    """An answer that no correct daemon gives."""


class Tokens:
    """Who printed what. Every text that comes back is looked through for tokens of others."""

    def __init__(self):
        self.numbers, self.owners = itertools.count(1), {}

    def new(self, owner):
        token = f"T{next(self.numbers):010x}Z"
        self.owners[token] = owner
        return token

    def check(self, text, owner):
        for token in set(TOKEN.findall(text)):
            if self.owners.get(token) != owner:
                raise Wrong(f"{token} of {self.owners.get(token)} came to {owner}")


class Room:
    """One session, which its worker alone uses."""

    def __init__(self, client, runtime, tokens, members, is_tool):
        self.client, self.runtime, self.tokens, self.is_tool = client, runtime, tokens, is_tool
        if is_tool:
            answer = client.call("POST", "/v1/repl", {"action": "spawn", "runtime": runtime})
        else:
            answer = client.call("POST", "/v1/sessions", {"runtime": runtime, **members})
        self.session = Session(client, answer)
        self.cells, self.late = 0, []  # late: (exec_id, stdout, stderr) to come

    def write(self, table):
        """A cell of this kind: (code, its owner, its tokens)."""
        self.cells += 1
        owner = self.session.id if self.is_tool else (self.session.id, self.cells)
        t, e = self.tokens.new(owner), self.tokens.new(owner)
        return table[self.runtime].format(t=t, e=e), owner, t, e

    def look(self, answer, owner):
        for stream in ("stdout", "stderr"):
            self.tokens.check(answer[stream], owner)
        self.tokens.check(json.dumps(answer.get("error")), owner)

    def want(self, answer, owner, status, stdout, stderr=""):
        self.look(answer, owner)
        seen = answer["status"], answer["stdout"], answer["stderr"]
        if seen != (status, stdout, stderr):
            raise Wrong(f"{self.runtime} {owner}: {seen}, not {(status, stdout, stderr)}")
        if answer["number"] != owner[1]:
            raise Wrong(f"{owner} was answered as cell {answer['number']}")


class Worker(threading.Thread):
    """Random calls to sessions of its own, until the time is over."""

    def __init__(self, soak, number, deadline):
        super().__init__()
        self.soak, self.client, self.tokens = soak, soak.daemon.client, soak.tokens
        self.random = random.Random(f"{soak.seed} {number} {soak.rounds}")
        self.share, self.deadline = max(1, soak.sessions // WORKERS), deadline
        self.rooms, self.problem, self.calls = [], None, 0

    def run(self):
        try:
            while time.monotonic() < self.deadline:
                self.calls += 1
                self.act()
            for room in self.rooms:
                self.look_for_late(room)
                self.end(room)
        except Exception as problem:  # told by the soak
            self.problem = problem

    def act(self):
        if len(self.rooms) < self.share:
            self.rooms.append(self.new_room())
        room = self.random.choice(self.rooms)
        if room.is_tool:
            return self.random.choice([self.tool_print, self.tool_late, self.tool_invalid])(room)
        act, = self.random.choices([a for a, _ in ACTS], [w for _, w in ACTS])
        return act(self, room)

    def new_room(self):
        runtime, members = self.random.choice(self.soak.runtimes), {}
        others = [r for r in self.rooms if not r.is_tool]
        if others and self.random.random() < 0.1:
            members["join"] = self.random.choice(others).session.id
        elif self.random.random() < 0.3:
            members.update(env={"COLOUR": "blue"}, cwd="some/where")
        is_tool = not members and self.random.random() < 0.2
        try:
            return Room(self.client, runtime, self.tokens, members, is_tool)
        except ApiError as error:
            if "join" not in members or error.status >= 500:
                raise
            return Room(self.client, runtime, self.tokens, {}, False)  # the other one had died

    # What may be done to a session of REST.

    def plain(self, room):
        code, owner, t, e = room.write(PRINT)
        room.want(room.session.exec(code), owner, "ok", f"{t}\n", f"{e}\n")

    def stream(self, room):
        code, owner, t, e = room.write(PRINT)
        seen = {"stdout": "", "stderr": ""}
        for name, data in room.session.events(code):
            if name == "output":
                seen[data["stream"]] += data["text"]
        room.look(seen, owner)
        if seen != {"stdout": f"{t}\n", "stderr": f"{e}\n"}:
            raise Wrong(f"{owner}: the events held {seen}")

    def fail(self, room):
        code, owner, t, _ = room.write(FAIL)
        answer = room.session.exec(code)
        room.look(answer, owner)
        if answer["stdout"] != f"{t}\n" or (room.runtime != "bash" and answer.status != "error"):
            raise Wrong(f"{owner}: {answer}")

    def malformed(self, room):
        code, owner, _, _ = room.write(MALFORMED)
        answer = room.session.exec(code)
        room.look(answer, owner)
        if answer.status != "error":
            raise Wrong(f"{owner}: {answer}")

    def overrun(self, room):
        self.let_late_come(room)
        code, owner, t, _ = room.write(LOOP)
        answer = room.session.exec(code, timeout_ms=200)
        room.look(answer, owner)
        # print writes the end of the line apart: an interrupt may come between.
        if answer.status != "timeout" or answer["stdout"].strip() not in ("", t):
            raise Wrong(f"{owner}: {answer}")

    def interrupt(self, room):
        self.let_late_come(room)
        code, owner, t, _ = room.write(LOOP)
        answer = room.session.exec(code, yield_ms=self.random.choice([0, 1, 20]))
        # One that another client left may wait before it, and would get the interrupt.
        host.eventually(lambda: room.session.info().queued == 0)
        room.session.interrupt()
        rest = self.go_on(room, answer)
        room.look(rest, owner)
        # print writes the end of the line apart: an interrupt may come between.
        if rest["status"] != "interrupted" or rest["stdout"].strip() not in ("", t):
            raise Wrong(f"{room.runtime} {owner}: {rest}")

    def wait_in_parts(self, room):
        code, owner, t, e = room.write(SLOW)
        answer = self.go_on(room, room.session.exec(code, yield_ms=10), yield_ms=10)
        room.want(answer, owner, "ok", f"{t}\n{e}\n")

    def go_on(self, room, answer, **members):
        """Asks until the cell has ended; the streams of all answers together."""
        seen = {"stdout": answer["stdout"], "stderr": answer["stderr"]}
        path = f"{room.session.path}/exec/{answer['number']}/continue"
        while answer["status"] in ("running", "queued"):
            answer = self.client.call("POST", path, members)
            for stream in seen:
                seen[stream] += answer[stream]
        return Answer({**answer, **seen})

    def ask(self, room):
        code, owner, t, e = room.write(ASK)
        first = room.session.exec(code)
        if first["status"] != "input_required":
            raise Wrong(f"{owner}: {first}")
        room.look(first, owner)
        path = f"{room.session.path}/input"
        answer = self.client.call("POST", path, {"text": e})
        room.want(Answer({**answer, "stdout": first["stdout"] + answer["stdout"]}), owner, "ok",
                  f"{t}\n{e}\n")

    def be_late(self, room):
        code, owner, t, e = room.write(LATE)
        room.look(room.session.exec(code), owner)
        room.late.append((owner[1], t, e))

    def large(self, room):
        code, owner, t, _ = room.write(LARGE)
        answer = room.session.exec(code, budget=1000)
        room.look(Answer({**answer, "stdout": answer["stdout"][:400], "stderr": ""}), owner)
        if answer["status"] != "ok" or not answer["stdout"].startswith(t):
            raise Wrong(f"{owner}: {answer}")

    def leave(self, room):
        """A client that goes away; with `cancel` its cell goes too."""
        self.let_late_come(room)
        way = self.random.choice(["cancel", "continue"])
        code, owner, _, _ = room.write(LOOP if way == "cancel" else SLOW)
        body = {"code": code, "on_disconnect": way}
        with self.client.connect() as sock:
            sock.sendall(self.client.post_bytes(room.session.path + "/exec", body))
            host.eventually(lambda: room.session.info().state == "busy"
                            or room.session.info().exec_count >= room.cells, what="its start")
        host.eventually(lambda: room.session.info().state == "idle", what="its end")

    def invalid(self, room):
        method, path, body = self.random.choice(INVALID)
        reply = self.client.request(method, room.session.path + path, body)
        if not 400 <= reply.status < 500 or "message" not in reply.json["error"]:
            raise Wrong(f"{method} {path} {body}: {reply}")

    def names(self, room):
        answer = self.client.call("GET", f"{room.session.path}/names")
        if "total" not in answer:
            raise Wrong(f"names: {answer}")

    def last(self, room):
        kinds = {room.runtime: self.random.choice(LAST[room.runtime])}
        code, owner, t, _ = room.write(kinds)
        answer = room.session.exec(code)
        room.look(answer, owner)
        if answer["status"] != "died" or answer["stdout"] != f"{t}\n":
            raise Wrong(f"{owner}: {answer}")
        self.rooms.remove(room)
        self.end(room)

    def kill(self, room):
        """While a cell runs, or not."""
        if self.random.random() < 0.5:
            code, owner, _, _ = room.write(LOOP)
            room.look(room.session.exec(code, yield_ms=5), owner)
        else:
            self.look_for_late(room)
        self.rooms.remove(room)
        self.end(room)

    def let_late_come(self, room):
        """Before a cell that is to be interrupted: an interrupt goes to the whole process group. In
        Node.js it ends whatever runs, and that may be the timer of an earlier cell, between its two
        lines; elsewhere it may hit a background job that has not come to ignoring it yet."""
        self.look_for_late(room)

    def look_for_late(self, room):
        """What was to come has come, to the cell that caused it."""
        for exec_id, t, e in room.late:
            for stream, token in (("stdout", t), ("stderr", e)):
                host.eventually(
                    lambda: self.output(room, exec_id, stream) == f"{token}\n",
                    what=f"{room.runtime}'s late {stream} of {(room.session.id, exec_id)}")
        room.late.clear()

    def output(self, room, exec_id, stream):
        text = room.session.output(number=exec_id, stream=stream)["text"]
        self.tokens.check(text, (room.session.id, exec_id))
        return text

    def end(self, room):
        reply = self.client.request("DELETE", room.session.path)
        if reply.status not in (200, 404, 410):
            raise Wrong(f"DELETE: {reply}")

    # What may be done to a session of the repl tool, which tells no cell from another.

    def tool(self, room, **members):
        return self.client.call("POST", "/v1/repl", {"session_id": room.session.id, **members})

    def tool_print(self, room):
        code, owner, t, e = room.write(PRINT)
        answer = self.tool(room, action="exec", code=code)
        room.look(answer, owner)
        if f"{t}\n" not in answer["stdout"] or f"{e}\n" not in answer["stderr"]:
            raise Wrong(f"{owner}: {answer}, not {t} and {e}")

    def tool_late(self, room):
        code, owner, t, _ = room.write(LATE)
        seen = self.tool(room, action="exec", code=code)["stdout"]
        deadline = time.monotonic() + 60
        while t not in seen:
            answer = self.tool(room, action="read")
            room.look(answer, owner)
            seen += answer["stdout"]
            if time.monotonic() > deadline:
                raise Wrong(f"{owner}: {t} did not come")

    def tool_invalid(self, room):
        bad = self.random.choice([{"action": "dance"}, {"action": "exec"}, {"action": 5}, {},
                                  {"action": "read", "session_id": "no-such"}])
        reply = self.client.request("POST", "/v1/repl", bad)
        if not 400 <= reply.status < 500:
            raise Wrong(f"repl {bad}: {reply}")


ACTS = [
    (Worker.plain, 12), (Worker.stream, 4), (Worker.fail, 3), (Worker.malformed, 2),
    (Worker.overrun, 1), (Worker.interrupt, 3), (Worker.wait_in_parts, 3), (Worker.ask, 3),
    (Worker.be_late, 3), (Worker.large, 2), (Worker.leave, 1), (Worker.invalid, 4),
    (Worker.names, 2), (Worker.last, 1), (Worker.kill, 1),
]


class Soak:
    """Rounds of work for one daemon, and what it holds after each."""

    def __init__(self, daemon, sessions, seed, runtimes=RUNTIMES):
        self.daemon, self.sessions, self.seed, self.runtimes = daemon, sessions, seed, runtimes
        self.tokens, self.rounds, self.calls = Tokens(), 0, 0

    def round(self, seconds):
        self.rounds += 1
        deadline = time.monotonic() + seconds
        workers = [Worker(self, n, deadline) for n in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.calls += sum(worker.calls for worker in workers)
        for worker in workers:
            if worker.problem:
                raise worker.problem
        self.tokens.owners.clear()
        return self.measure()

    def measure(self):
        """When all sessions are gone and the daemon has come to rest."""
        warden = self.daemon.warden()
        rest = host.at_rest(lambda: self.held(warden), quiet=2)
        return {"heap_bytes": self.daemon.heap_bytes(), "warden_data_kb": host.data_kb(warden),
                **dict(zip(("fds", "warden_fds", "processes"), rest))}

    def held(self, warden):
        return host.fd_count(self.daemon.pid), host.fd_count(warden), len(host.tree(warden))


def grown(first, last):
    """What a daemon holds after the last round that it did not hold after the first."""
    return [f"{name} grew from {first[name]} to {last[name]}"
            for name, more in GROWTH.items() if last[name] - first[name] > more]


def complaints(daemon):
    """Lines of the daemon's log that a healthy one does not write."""
    return [line for line in daemon.errors().splitlines() if re.search(r"level=(warn|error)", line)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--runtimes", nargs="+", default=RUNTIMES)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="cella-soak-") as where:
        daemon = daemons.Daemon(daemons.find_binary(), pathlib.Path(where) / "data",
                                config="default_profile: min\n")
        soak = Soak(daemon, options.sessions, options.seed, options.runtimes)
        rows = []
        try:
            for n in range(options.rounds):
                rows.append(soak.round(options.seconds / options.rounds))
                print(f"round {n + 1}: {soak.calls} calls, {rows[-1]}", flush=True)
            found = grown(rows[0], rows[-1]) + complaints(daemon)
        finally:
            daemon.stop()
    print("\n".join(found) or "nothing grew, nothing went astray, nothing is left")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
