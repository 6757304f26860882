"""An agent's limits hold on every way in. Which ways there are is read from the daemon's own table
of operations (GET /v1/operations): for each limit every operation that could exceed it is called.
An operation that is added later is tried by these tests without a change here, as long as they
know what to give it for the parameters that it requires."""

import json
import pathlib
import shutil
import tempfile
from urllib.parse import quote

import pytest

from harness import host
from harness.configured import Configured

pytestmark = pytest.mark.one_mode

TIMEOUT_SECS, OUTPUT, SESSIONS = 1, 4096, 3
CEILING = {"memory_mb": 256, "cpu_percent": 50, "pids": 64, "disk_mb": 64, "checkpoint_mb": 256}
ANA = {"enabled": True, "allowed_runtimes": ["python"], "max_sessions": SESSIONS,
       "timeout_secs": TIMEOUT_SECS, "max_output_bytes": OUTPUT, "max_limits": CEILING}
BOB = {"enabled": True, "max_sessions": 99}


def config(ana=ANA):
    agents = [{"id": "ana", "repl": ana}, {"id": "bob", "repl": BOB}]
    return f"default_profile: min\npool: 1\nagents: {json.dumps(agents)}\n"


class World:
    """A daemon, its table of operations, and one of each thing of ana's to call them for."""

    def __init__(self, launch, folder):
        self.configured = Configured(launch, folder, config())
        self.client = self.configured.client
        self.operations = self.client.call("GET", "/v1/operations").operations
        self.reset()

    def reset(self):
        """Ana has one session and a notebook without one."""
        self.configure()
        for session in self.client.sessions():
            self.client.request("DELETE", f"/v1/sessions/{session.session_id}")
        self.session = self.client.spawn(agent="ana")
        self.session.exec("x = 1")
        lone = self.client.spawn(agent="ana")
        lone.exec("y = 1")
        self.client.call("DELETE", f"{lone.path}?keep_notebook=true")
        self.notebook = lone.id
        ran = self.client.call("POST", "/v1/exec", {"code": "z = 1; open('f', 'w').write('f')",
                                                    "state_name": "kept", "agent": "ana"})
        self.file_url = ran.files[0]["url"]

    def configure(self, **changes):
        assert self.configured.reload(config({**ANA, **changes}))["event"] == "reloaded"

    def fill(self):
        """Ana has as many sessions as she may."""
        while True:
            reply = self.client.request("POST", "/v1/sessions", {"agent": "ana"})
            if reply.status != 201:
                return

    def having(self, flag=None, means=None):
        """The operations with this flag, or with a parameter of this meaning."""
        found = [op for op in self.operations if (flag is None or flag in op["flags"]) and
                 (means is None or any(p.get("means") == means for p in op["params"]))]
        assert found
        return found

    def live_calls(self, op, code="1"):
        """What ana can give each operation: a list, for those that can do several things."""
        if op["name"] == "repl":
            return [{"action": "exec", "session_id": self.session.id, "code": code},
                    {"action": "spawn", "runtime": "python"}]
        if op["name"] == "tool.back":
            return [{"action": "try", "code": code}, {"action": "branch"}]
        if op["name"] == "tool.file":
            return [{"action": "put", "path": "f", "content": "f", "session": None}]
        if op["name"] == "tool.wait":
            return [{"input": "1"}]
        if op["name"] == "session.input":
            running = self.session.exec("w = input()", yield_ms=60000)
            assert running.status == "input_required", running
            return [{"text": "1"}]
        if op["name"] == "exec.tool_results" and code != "1":
            tools = [{"name": "t", "description": "Waits."}]
            waits = self.session.exec(f"TOOL('t')\n{code}", tools=tools)
            result = {"id": waits["tool_calls"][0]["id"], "result": 1}
            return [{"cell": waits.number, "results": [result]}]
        if op["name"] == "cell.add":
            return [{"code": code, "run": True}]
        if op["name"] == "cell.run" and code != "1":
            self.client.call("POST", f"/v1/notebooks/{self.session.id}/cells",
                             {"code": code, "cell_id": "only"})
            return [{"cell": "only"}]
        if op["name"] == "notebook.run" and code != "1":
            self.client.call("POST", f"/v1/notebooks/{self.session.id}/cells",
                             {"code": code, "cell_id": "last"})
            return [{"from": "last"}]
        return [{"code": code} if any(p["name"] == "code" for p in op["params"]) else {}]

    def ask(self, op, given, speaker=None, notebook=None):
        """Calls the operation for ana's things; what it requires and `given` has not is made up."""
        values = {"session": self.session.id, "notebook": notebook or self.session.id,
                  "state": "kept", "agent": "ana", "speaker": "ana"}
        usual = {"cell": "0", "number": 1, "try_id": 1, "n": 0, "code": "1",
                 "action": "list_dir" if op["name"] == "tool.explore" else "list",
                 "path": "f", "port": 8000, "results": [{"id": "0.1", "result": 1}],
                 "content": "f" if op["name"].startswith("explore.") else {"cells": []},
                 "what": "outputs", "format": "script",
                 "to": "g" if op["subject"] == "file" or "file" in op["name"] else 0}
        path, query, body = op["path"], [], {}
        is_tool = op["subject"] == "tools" or op["name"] == "search.find"  # none need be given
        for p in op["params"]:
            name, means = p["name"], p.get("means")
            value = given.get("runtime" if means == "runtime" else name)
            is_wanted = (p["required"] or means == "speaker" and speaker is None or
                         is_tool and means in ("session", "notebook") and name not in given)
            if value is None and is_wanted:
                value = values.get(means, usual.get(name, p.get("choices", ["x"])[0]))
            if value is None:
                continue
            if p["in"] == "path":
                path = path.replace("{" + name + "}", quote(str(value)))
            elif p["in"] == "query":
                query.append(f"{name}={value}")
            else:
                body[name] = value
        if op["name"] == "file.get":
            path = self.file_url
        if is_tool and "cell" in body:
            body["cell"] = int(body["cell"])
        if is_tool and speaker is None:
            speaker = "ana"  # whom a tool speaks for only the header says
        headers = {"Cella-Agent": speaker} if speaker else {}
        data = body if op["method"] in ("POST", "PUT", "PATCH") else None
        if op["name"] == "session.file.put":
            data = b"bytes"
        return self.client.request(op["method"], path + ("?" + "&".join(query) if query else ""),
                                   data, headers)


@pytest.fixture(scope="module")
def only_world(launcher):
    made = []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cella-test-"))
    folder.chmod(0o755)

    def launch(**options):
        made.append(launcher(**options))
        return made[-1]

    yield World(launch, folder)
    made[0].stop()
    shutil.rmtree(folder)


@pytest.fixture
def world(only_world):
    only_world.reset()
    return only_world


def making(op):
    """The members with which an operation makes a session."""
    return {
        "repl": {"action": "spawn", "runtime": "python"},
        "tool.run": {"session": "another"},
        "tool.back": {"action": "branch"},
        "tool.file": {"action": "put", "path": "f", "content": "f", "session": None},
        "tool.execute_cell": {"notebook": "another"},
    }.get(op["name"], {})


def told(reply):
    return reply.json["error"]["message"] if reply.status >= 400 else ""


def wrong(replies, status, word=""):
    """Those that were not refused as they should have been."""
    return {name: (reply.status, reply.body[:200]) for name, reply in replies.items()
            if reply.status != status or word not in told(reply)}


# What is asked for.


@pytest.mark.smoke
def test_no_longer_time_limit(world):
    replies = {op["name"]: world.ask(op, {**world.live_calls(op)[0],
                                          "timeout_ms": TIMEOUT_SECS * 1000 + 1})
               for op in world.having(means="timeout")}
    assert len(replies) >= 5
    assert not wrong(replies, 403, f'"timeout_ms" is {TIMEOUT_SECS * 1000 + 1}')


@pytest.mark.parametrize("member", CEILING)
@pytest.mark.sampled(5)
def test_no_larger_limits(world, member):
    more, replies = CEILING[member] + 1, {}
    for op in world.having(means="limits"):
        replies[op["name"]] = world.ask(op, {**making(op), "limits": {member: more}})
        within = {**making(op), "limits": {member: CEILING[member]}}
        assert world.ask(op, within).status in (200, 201)
        world.reset()
    assert not wrong(replies, 403, f'"limits.{member}" is {more}, and at most {more - 1}')


def test_nobody_gets_more_than_the_machine_has(world):
    replies = {op["name"]: world.client.request(op["method"], op["path"],
                                                {**making(op), "limits": {"memory_mb": 4194304}})
               for op in world.having(means="limits")}
    assert not wrong(replies, 403, '"limits.memory_mb" is 4194304')


@pytest.mark.smoke
def test_no_other_runtime(world):
    replies = {}
    for op in world.having(flag="makes_session", means="runtime"):
        replies[op["name"]] = world.ask(op, {**making(op), "runtime": "bash"})
    assert len(replies) >= 4
    assert not wrong(replies, 403, "runtime 'bash' not in allowed list")


# What is not asked for.


@pytest.mark.slow
def test_the_time_limit_is_the_default(world):
    """The repl tool answers then, and the code goes on: as it promises."""
    slow, kept = "import time; time.sleep(60)", {}
    for op in world.having(flag="runs_code"):
        if op["name"] in ("session.input", "exec.tool_results"):
            continue  # its cell has the time limit that it began with
        if op["name"] == "session.terminal":
            continue  # lasts as long as its client
        if op["name"] == "tool.wait":
            continue  # runs nothing by itself
        world.reset()
        answer = world.ask(op, world.live_calls(op, slow)[0]).json
        states = [answer.get("status")] + [cell["status"] for cell in answer.get("cells", [])]
        is_over = "timeout" in states
        text = answer.get("content", [{}])[0].get("text", "")  # of a tool
        kept[op["name"]] = (is_over or answer.get("timed_out") or answer.get("exit_code") == 124
                            or "a larger timeout_ms" in text)
    assert len(kept) >= 7 and all(kept.values()), kept


def test_what_a_session_gets_unasked_is_within_the_ceiling(world):
    for op in world.having(means="limits"):
        world.reset()
        reply = world.ask(op, making(op))
        made = reply.json.get("session_id") or reply.json["notebook_id"]
        limits = world.client.call("GET", f"/v1/sessions/{made}").limits
        assert {name: limits[name] for name in CEILING} == CEILING


@pytest.mark.parametrize("asked", [{}, {"budget": 1 << 24}])
@pytest.mark.sampled(2)
def test_answers_are_within_the_output_that_is_allowed(world, asked):
    """A budget is cut, not refused: the answer says by itself that something was left out."""
    long = "print('x' * 50000)"
    for op in world.having(flag="runs_code"):
        if op["name"] == "session.input":
            continue
        world.reset()
        answer = world.ask(op, {**world.live_calls(op, long)[0], **asked}).json
        told = len(answer.get("stdout", ""))
        assert told <= OUTPUT + 100, op["name"]
        assert not told or answer.get("truncated") or "dropped" in answer["stdout"], op["name"]


def test_what_is_asked_for_later_is_within_it_too(world):
    """The operations that wait for the rest of a cell."""
    names = {op["name"] for op in world.having(means="budget")}
    assert {"exec.continue", "session.input"} <= names
    session, budget = world.session, {"budget": 1 << 24}
    session.exec("input(); print('x' * 50000)")
    answer = world.client.call("POST", f"{session.path}/input", {"text": "", **budget})
    assert answer.truncated and len(answer.stdout) <= OUTPUT + 100
    first = session.exec("import time; time.sleep(0.2); print('x' * 50000)", yield_ms=0)
    path = f"{session.path}/exec/{first.number}/continue"
    answer = world.client.call("POST", path, budget)
    assert answer.truncated and len(answer.stdout) <= OUTPUT + 100


# How many.


@pytest.mark.smoke
def test_no_more_sessions_than_allowed(world):
    world.fill()
    replies = {}
    for op in world.having(flag="makes_session"):
        replies[op["name"]] = world.ask(op, making(op))
    for op in world.having(flag="runs_code", means="notebook"):
        given = {"run": True, "code": "1"} if op["name"] == "cell.add" else {}
        replies[f"{op['name']}, no session"] = world.ask(op, given, notebook=world.notebook)
    assert len(replies) >= 8
    assert not wrong(replies, 429, f"session limit reached ({SESSIONS})")
    assert world.client.call("GET", "/v1/agents").agents[0]["sessions"] == SESSIONS


def test_all_branches_or_none(world):
    reply = world.client.request("POST", f"{world.session.path}/branch", {"count": SESSIONS})
    assert (reply.status, "more than the limit" in told(reply)) == (429, True)
    reply = world.client.request("POST", f"{world.session.path}/branch", {"count": SESSIONS - 1})
    assert reply.json["count"] == SESSIONS - 1


def test_many_at_once_are_no_more(world):
    """Each was let in before the others were there: the sessions come later."""
    from concurrent.futures import ThreadPoolExecutor
    calls = [("POST", f"{world.session.path}/branch", {})] * 6
    calls += [("POST", "/v1/exec", {"code": "1", "state_name": "kept", "agent": "ana"})] * 6
    calls += [("POST", f"/v1/notebooks/{world.notebook}/cells/0/run", {})]
    with ThreadPoolExecutor(len(calls)) as pool:
        list(pool.map(lambda call: world.client.request(*call), calls))
    assert world.client.call("GET", "/v1/agents").agents[0]["sessions"] <= SESSIONS


def test_one_that_was_suspended_comes_back_within_the_number(world):
    others = [world.client.spawn(agent="ana", isolation="per_cell") for _ in range(2)]
    for other in others:
        other.exec("x = 1")
        host.eventually(lambda: other.info().state == "suspended")
    world.configure(max_sessions=1)
    reply = world.client.request("POST", f"{others[0].path}/exec", {"code": "x"})
    assert reply.status == 429, reply
    world.session.kill()
    assert others[0].value("x") == "1"


# After the configuration has changed.


@pytest.mark.smoke
@pytest.mark.parametrize("change, word", [
    ({"enabled": False}, "no interpreters for the agent"),
    ({"allowed_runtimes": ["node"]}, "runtime 'python' not in allowed list"),
])
def test_what_is_forbidden_later(world, change, word):
    replies = {}
    for op in world.operations:
        if not {"runs_code", "makes_session"} & set(op["flags"]):
            continue
        for i, given in enumerate(world.live_calls(op)):
            world.configure(**change)
            replies[f"{op['name']} {i}"] = world.ask(op, given)
            world.configure()
    assert len(replies) >= 11
    assert not wrong(replies, 403, word)
    world.session.interrupt()  # what waits for its line
    assert world.session.value("x") == "1"


def test_a_ceiling_that_came_later(world):
    world.configure(max_limits={**CEILING, "memory_mb": 128})
    reply = world.client.request("POST", f"{world.session.path}/branch", {})
    assert (reply.status, '"limits.memory_mb" is 256' in told(reply)) == (403, True)
    assert world.session.value("x") == "1"


# Whose it is.


@pytest.mark.smoke
def test_an_agent_finds_only_its_own(world):
    replies = {}
    for means in ("session", "notebook", "agent", "file"):
        for op in world.having(means=means):
            if op["name"] == "repl":
                given = [{"action": a, "session_id": world.session.id, "code": "1"}
                         for a in ("exec", "read", "kill")]
            else:
                given = [{}]
            for g in given:
                replies[f"{op['name']} {g.get('action', '')}"] = world.ask(op, g, speaker="bob")
    for op in world.having(means="notebook"):
        replies[f"{op['name']}, no session"] = world.ask(op, {}, speaker="bob",
                                                         notebook=world.notebook)
    assert len(replies) >= 45
    assert not wrong(replies, 404)
    assert world.session.value("x") == "1"
    assert world.client.request("GET", world.file_url).body == b"f"


def test_lists_show_only_ones_own(world):
    def seen(path, key, speaker):
        reply = world.client.request("GET", path, None, {"Cella-Agent": speaker} if speaker else {})
        return len(reply.json[key])

    for path, key in (("/v1/sessions", "sessions"), ("/v1/notebooks", "notebooks"),
                      ("/v1/states", "states")):
        assert seen(path, key, "ana") == seen(path, key, None) >= 1
        assert seen(path, key, "bob") == 0
    assert seen("/v1/agents", "agents", "bob") == 1


@pytest.mark.smoke
def test_states_have_an_owner(world):
    def run(code, **members):
        asked = {"code": code, "state_name": "kept", **members}
        return world.client.call("POST", "/v1/exec", asked)

    def state(method, speaker=None):
        return world.client.request(method, "/v1/states/kept", None,
                                    {"Cella-Agent": speaker} if speaker else {})

    assert run("print(z)", agent="bob").error == "NameError: name 'z' is not defined"
    assert state("GET", "bob").status == 404
    assert run("z = 'bob'", agent="bob").error is None
    assert run("print(z)", agent="ana").stdout == "1\n"
    assert state("DELETE", "bob").status == 200
    assert (state("GET", "bob").status, state("GET", "ana").status) == (404, 200)
    assert state("GET").json["agent"] == "ana"
    assert run("z = 'mine'").error is None
    assert state("GET").json["agent"] == "default"
    assert {s["agent"] for s in world.client.call("GET", "/v1/states").states} == {"ana", "default"}
    assert state("DELETE").status == 200
    assert state("GET").json["agent"] == "ana"


def test_who_speaks_for_two_is_refused(world):
    reply = world.client.request("POST", "/v1/sessions", {"agent": "ana"}, {"Cella-Agent": "bob"})
    assert (reply.status, told(reply)) == (
        400, 'the request speaks for two agents, "bob" and "ana"')
    reply = world.client.request("GET", "/v1/sessions", None, {"Cella-Agent": "nobody"})
    assert (reply.status, told(reply)) == (403, 'there is no agent "nobody"')


def test_the_header_is_as_good_as_the_member(world):
    reply = world.client.request("POST", "/v1/sessions", {}, {"Cella-Agent": "ana"})
    assert reply.json["agent"] == "ana"
