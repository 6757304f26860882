"""Who may use interpreters: agents and the bindings through which they are asked. An agent that
the configuration does not enable gets nothing; one that it does gets what it says and no more."""

import pytest

from harness.client import ApiError

pytestmark = pytest.mark.one_mode

CONFIG = """\
default_profile: min
pool: 1
agents:
  - id: ana
    repl:
      enabled: true
      allowed_runtimes: [python]
      max_sessions: 2
      max_output_bytes: 4096
  - id: bob
    repl: {max_sessions: 9}
  - id: eve
    repl: {enabled: true}
inbound_bindings:
  - plugin: whatsapp
    repl: {enabled: true, allowed_runtimes: [bash], max_sessions: 1}
  - plugin: mail
    agent: ana
    repl: {enabled: false}
"""


@pytest.fixture(scope="module")
def strict(launcher):
    daemon = launcher(config=CONFIG)
    yield daemon
    daemon.stop()


@pytest.fixture
def create(strict):
    """Creates sessions by the REST interface; they end with the test."""
    made = []

    def start(**members):
        answer = strict.client.call("POST", "/v1/sessions", members)
        made.append(answer.session_id)
        return answer

    yield start
    for session_id in made:
        strict.client.request("DELETE", f"/v1/sessions/{session_id}")


def refusal(create, **members):
    with pytest.raises(ApiError) as refused:
        create(**members)
    assert refused.value.advice
    return refused.value.status, refused.value.message


@pytest.mark.smoke
def test_without_a_name_it_is_the_default_agent(create):
    assert "agent" not in create()
    assert create(agent="default")["agent"] == "default"


@pytest.mark.smoke
def test_an_agent_that_is_enabled(create):
    answer = create(agent="ana", binding="unheard-of")
    assert (answer["agent"], answer["binding"]) == ("ana", "unheard-of")


@pytest.mark.smoke
def test_an_agent_that_is_not_enabled(create):
    status, message = refusal(create, agent="bob")
    assert (status, message) == (403, 'no interpreters for the agent "bob"')


@pytest.mark.smoke
def test_an_agent_that_does_not_exist(create):
    assert refusal(create, agent="nobody") == (403, 'there is no agent "nobody"')


def test_a_runtime_that_is_not_allowed(create):
    assert refusal(create, agent="ana", runtime="bash") == (
        403, """runtime 'bash' not in allowed list: ["python"]""")


def test_a_binding_replaces_what_the_agent_may(create):
    create(agent="ana", binding="whatsapp", runtime="bash")
    assert refusal(create, agent="ana", binding="whatsapp") == (
        403, """runtime 'python' not in this binding's allowed_runtimes (["bash"])""")
    assert refusal(create, agent="ana", binding="whatsapp", runtime="bash") == (
        429, "session limit reached (1) — kill an existing session first")


def test_a_binding_may_enable_and_disable(create):
    create(agent="bob", binding="whatsapp", runtime="bash")
    assert refusal(create, agent="ana", binding="mail") == (
        403, 'no interpreters through the binding "mail"')
    create(agent="eve", binding="mail")


def test_sessions_are_counted_for_each_agent(create, strict):
    first = create(agent="ana")
    create(agent="ana")
    status, message = refusal(create, agent="ana")
    assert (status, message) == (429, "session limit reached (2) — kill an existing session first")
    create(agent="eve")
    create()
    strict.client.call("DELETE", f"/v1/sessions/{first.session_id}")
    create(agent="ana")


def test_the_output_that_is_kept_is_the_agents(create, strict):
    session = f"/v1/sessions/{create(agent='ana').session_id}"
    strict.client.call("POST", f"{session}/exec", {"code": "print('x' * 9999)"})
    page = strict.client.call("GET", f"{session}/output")
    assert (page.dropped, page.end) == (10000 - 4096, 10000)


def test_only_the_agents_own_sandbox_is_joined(create):
    ana, eve = create(agent="ana"), create(agent="eve")
    assert create(agent="ana", join=ana.session_id).joined == ana.session_id
    status, message = refusal(create, agent="eve", join=ana.session_id)
    assert (status, message) == (403, f"the session {ana.session_id} belongs to another agent")
    assert refusal(create, join=eve.session_id)[0] == 403


def test_the_list_of_agents(create, strict):
    create(agent="ana")
    answer = strict.client.call("GET", "/v1/agents")
    agents = {agent["agent"]: agent for agent in answer.agents}
    assert answer["count"] == len(agents) == 4
    assert agents["ana"] == {
        "agent": "ana",
        "repl": {"enabled": True, "allowed_runtimes": ["python"], "max_sessions": 2,
                 "timeout_secs": 30, "max_timeout_secs": 30, "max_output_bytes": 4096,
                 "max_limits": {}, "debug": "never"},
        "sessions": 1,
    }
    assert not agents["bob"]["repl"]["enabled"]
    assert agents["default"]["repl"]["max_sessions"] == 4096
    assert [b["plugin"] for b in answer["inbound_bindings"]] == ["whatsapp", "mail"]
    assert answer["inbound_bindings"][1]["agent"] == "ana"


def test_without_a_configuration_the_default_agent_may_everything(client):
    (agent,) = client.call("GET", "/v1/agents").agents
    assert agent["agent"] == "default"
    assert agent["repl"] == {"enabled": True, "allowed_runtimes": ["python", "node", "bash"],
                             "max_sessions": 4096, "timeout_secs": 30,
                             "max_timeout_secs": 86400, "max_output_bytes": 4194304,
                             "max_limits": {}, "debug": "ask"}


@pytest.mark.parametrize("members, message", [
    ({"agent": 5}, '"agent" must be a string'),
    ({"agent": ""}, '"agent" must have at least 1 bytes'),
    ({"binding": []}, '"binding" must be a string'),
])
def test_mistakes(create, members, message):
    assert refusal(create, **members) == (400, message)


def test_a_default_agent_can_be_switched_off(launch):
    daemon = launch(config="default_profile: min\nagents: [{id: default}]\n")
    reply = daemon.client.request("POST", "/v1/sessions", {})
    assert reply.status == 403
    assert "enabled: true" in reply.json["error"]["advice"]
