"""Plan mode: while a plan is made, nothing that changes anything runs. A session or a whole agent
is put in it and left out again; who tries to run something is refused, never ignored."""

import datetime

import pytest

from harness import host
from harness.client import Result, Session

pytestmark = pytest.mark.one_mode

MIN = "default_profile: min\n"
HINT = "Call ExitPlanMode { final_plan } when the plan is ready."


@pytest.fixture
def planned(session):
    """A session in plan mode."""
    session.exec("x = 41")
    session.client.call("PUT", f"{session.path}/plan", {"reason": "think first"})
    return session


@pytest.fixture
def agent_plan(client):
    """Puts agents in plan mode; they leave it with the test."""
    entered = []

    def enter(agent, **members):
        entered.append(agent)
        return client.call("PUT", f"/v1/agents/{agent}/plan", members)

    yield enter
    for agent in entered:
        client.call("DELETE", f"/v1/agents/{agent}/plan")


def refusal(client, method, path, body=None):
    """What a call that is refused for plan mode is told."""
    reply = client.request(method, path, body)
    assert reply.status == 409, reply
    assert set(reply.json) == {"error", "refusal"}
    assert reply.json["error"]["code"] == "conflict"
    assert reply.json["error"]["advice"]
    return reply.json["refusal"]


def test_code_that_runs_already_is_told_in_words(spawn):
    """What it asks of the daemon is refused as all else, and that is no answer of another shape."""
    session = spawn(explore=True)
    running = session.exec("import time\n"
                           "while 'plan' not in (told := str(mark_stale('G1'))): time.sleep(0.05)\n"
                           "print(told)", yield_ms=0)
    session.client.call("PUT", f"{session.path}/plan", {"reason": "think first"})
    told = host.eventually(lambda: session.output(number=running.number).text, "its output")
    assert "explore.mark was not run" in told and "think first" not in told


@pytest.mark.smoke
def test_a_notebook_whose_session_is_gone_is_still_its_agents(spawn, client, agent_plan):
    session = spawn()
    session.exec("x = 1")
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    path = f"/v1/notebooks/{session.id}"
    agent_plan("default")
    for method, below, body in (
            ("PATCH", "", {"title": "t"}), ("DELETE", "", None), ("POST", "/reset", {}),
            ("POST", "/clear", {"what": "cells"}), ("POST", "/run", {}),
            ("POST", "/cells", {"code": "y"}), ("PATCH", "/cells/0", {"code": "y"}),
            ("DELETE", "/cells/0", None), ("POST", "/cells/0/run", {}),
            ("POST", "/cells/0/move", {"to": 0}), ("POST", "/cells/0/clear", {})):
        reply = client.request(method, path + below, body)
        assert (reply.status, "plan mode" in str(reply.body)) == (409, True), (method, below)
    assert client.request("GET", f"{path}/export?format=script").status == 200
    client.call("DELETE", "/v1/agents/default/plan")
    client.call("DELETE", path)


@pytest.mark.smoke
def test_entering_tells_what_holds_now(session):
    answer = session.client.call("PUT", f"{session.path}/plan", {"reason": "think first"})
    assert answer.session_id == session.id
    assert answer.plan.reason == "think first"
    entered = datetime.datetime.fromisoformat(answer.plan.entered_at.replace("Z", "+00:00"))
    now = datetime.datetime.now(datetime.timezone.utc)
    assert abs((now - entered).total_seconds()) < 60
    assert session.info()["plan"] == answer["plan"]


@pytest.mark.smoke
def test_a_cell_is_refused_with_the_whole_story(planned):
    told = refusal(planned.client, "POST", f"{planned.path}/exec", {"code": "x += 1"})
    assert told == {
        "tool_name": "session.exec",
        "tool_kind": "bash",
        "hint": HINT,
        "entered_at": planned.info().plan.entered_at,
        "entered_reason": "think first",
    }


@pytest.mark.smoke
def test_nothing_ran(planned):
    refusal(planned.client, "POST", f"{planned.path}/exec", {"code": "x += 1"})
    planned.client.call("DELETE", f"{planned.path}/plan")
    assert planned.info()["plan"] is None
    assert planned.value("x + 1") == "42"


@pytest.mark.parametrize("method, path, body", [
    ("POST", "/exec", {"code": "1"}),
    ("POST", "/interrupt", {}),
    ("DELETE", "", None),
])
def test_what_changes_a_session_is_refused(planned, method, path, body):
    told = refusal(planned.client, method, planned.path + path, body)
    assert told["entered_reason"] == "think first"
    assert planned.is_alive()


@pytest.mark.parametrize("path", ["", "/output", "/output?stream=stderr"])
def test_reading_is_possible(planned, path):
    assert planned.client.request("GET", planned.path + path).status == 200


def test_what_runs_already_can_be_waited_for(session):
    running = session.exec("import time; time.sleep(0.5); 'done'", yield_ms=0)
    session.client.call("PUT", f"{session.path}/plan", {"reason": "think first"})
    path = f"{session.path}/exec/{running.number}/continue"
    assert session.client.call("POST", path, {}).value.text == "'done'"


def test_a_line_for_a_cell_is_refused(session):
    assert session.exec("x = input()").status == "input_required"
    session.client.call("PUT", f"{session.path}/plan", {"reason": "think first"})
    told = refusal(session.client, "POST", f"{session.path}/input", {"text": "no"})
    assert told["tool_name"] == "session.input"


def test_a_stream_is_refused_with_the_status_too(planned):
    reply = planned.client.request("POST", f"{planned.path}/exec", {"code": "1"},
                                   {"Accept": "text/event-stream"})
    assert reply.status == 409
    assert reply.json["refusal"]["tool_name"] == "session.exec"


def test_the_reason_is_optional(session):
    session.client.call("PUT", f"{session.path}/plan", {})
    told = refusal(session.client, "POST", f"{session.path}/exec", {"code": "1"})
    assert told["entered_reason"] is None


def test_entering_again_changes_the_reason_and_not_the_time(planned):
    before = planned.info().plan
    after = planned.client.call("PUT", f"{planned.path}/plan", {"reason": "other"}).plan
    assert after == {"reason": "other", "entered_at": before.entered_at}


def test_leaving_twice_is_no_mistake(planned):
    for _ in range(2):
        assert planned.client.call("DELETE", f"{planned.path}/plan")["plan"] is None


def test_nobody_joins_its_sandbox(planned, client):
    told = refusal(client, "POST", "/v1/sessions", {"join": planned.id})
    assert told["tool_name"] == "session.create"


def test_other_sessions_go_on(planned, spawn):
    assert spawn().value("1 + 1") == "2"


@pytest.mark.parametrize("body, word", [
    ({"reason": 5}, "reason"),
    ({"reason": "x" * 2000}, "reason"),
    ({"why": "x"}, "why"),
])
def test_mistakes_are_named(session, body, word):
    reply = session.client.request("PUT", f"{session.path}/plan", body)
    assert reply.status in (400, 413)
    assert word in reply.json["error"]["message"]


def test_no_such_session(client):
    for method in ("PUT", "DELETE"):
        assert client.request(method, "/v1/sessions/nobody/plan").status == 404


def test_an_agent_in_plan_mode_starts_nothing(client, agent_plan):
    agent_plan("default", reason="holiday")
    told = refusal(client, "POST", "/v1/sessions", {})
    assert told["tool_name"] == "session.create"
    assert told["entered_reason"] == "holiday"
    (agent,) = client.call("GET", "/v1/agents").agents
    assert agent["plan"]["reason"] == "holiday"


def test_an_agent_in_plan_mode_stops_all_its_sessions(client, session, agent_plan):
    agent_plan("default", reason="holiday")
    told = refusal(client, "POST", f"{session.path}/exec", {"code": "1"})
    assert told["entered_reason"] == "holiday"
    assert client.request("GET", session.path).status == 200
    client.call("DELETE", "/v1/agents/default/plan")
    assert session.value("1 + 1") == "2"


def test_an_agent_that_does_not_exist(client):
    reply = client.request("PUT", "/v1/agents/nobody/plan", {"reason": "x"})
    assert reply.status == 404
    assert 'there is no agent "nobody"' in reply.json["error"]["message"]
    assert client.call("DELETE", "/v1/agents/nobody/plan")["plan"] is None


def test_a_dead_session_in_plan_mode_can_be_read(spawn):
    planned = spawn(checkpoints="off", durable="off")
    planned.exec("import os; os._exit(3)")
    planned.client.call("PUT", f"{planned.path}/plan", {"reason": "too late"})
    assert planned.info().state == "dead"
    refusal(planned.client, "DELETE", planned.path)
    planned.client.call("DELETE", f"{planned.path}/plan")
    planned.kill()


def test_plan_mode_outlives_the_daemon(launch):
    data = launch.new_data()
    first = launch(data=data, config=MIN)
    session = first.client.spawn("min")
    session.exec("x = 41", durable=True)
    entered = first.client.call("PUT", f"{session.path}/plan", {"reason": "think first"})["plan"]
    free = first.client.spawn("min")
    free.exec("y = 1", durable=True)
    first.client.call("PUT", f"{free.path}/plan", {})
    first.client.call("DELETE", f"{free.path}/plan")
    first.kill()
    second = launch(data=data, config=MIN)
    assert second.client.call("GET", session.path)["plan"] == entered
    told = refusal(second.client, "POST", f"{session.path}/exec", {"code": "x = 0"})
    assert told["entered_reason"] == "think first"
    assert Session(second.client, Result({"session_id": free.id})).value("y") == "1"


def test_plan_mode_of_an_agent_outlives_the_daemon(launch):
    data = launch.new_data()
    first = launch(data=data, config=MIN)
    entered = first.client.call("PUT", "/v1/agents/default/plan", {"reason": "holiday"})["plan"]
    first.kill()
    second = launch(data=data, config=MIN)
    told = refusal(second.client, "POST", "/v1/sessions", {})
    assert (told["entered_reason"], told["entered_at"]) == ("holiday", entered["entered_at"])
    second.client.call("DELETE", "/v1/agents/default/plan")
    second.kill()
    third = launch(data=data, config=MIN)
    assert third.client.spawn("min").value("1 + 1") == "2"
