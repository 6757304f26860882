"""What agents remember of explorations: told by outcome, found by recall, in later sessions of the
same agent and user."""

import ast
import json
import re

import pytest

from harness import mcp
from harness.shell import Shell

pytestmark = pytest.mark.one_mode

TASK = "find the first error of the log"
LIKE_IT = "find the last error of the log"
CONFIG = """\
default_profile: min
agents:
  - {id: default, repl: {enabled: true, max_sessions: 9}}
  - {id: ana, repl: {enabled: true}}
"""


def look(session, code):
    """The value of a cell, which is made of plain values."""
    return ast.literal_eval(session.value(code))


def memories(client, **query):
    more = "&".join(f"{name}={value}" for name, value in query.items())
    return client.call("GET", f"/v1/memories?{more}")["memories"]


def by(client, agent, method, path):
    """(status, answer) of a request that speaks for an agent."""
    reply = client.request(method, path, headers={"Cella-Agent": agent})
    return reply.status, reply.json


def search(session):
    """Explores a little."""
    session.exec("open('a.log', 'w').write('x\\nerror\\n')")
    session.exec("_ = grep('error', 'a.log'), grep('x', 'a.log'), peek(file_path='a.log')")


@pytest.fixture
def forget(client):
    """Nothing is remembered at first."""
    client.call("DELETE", "/v1/memories")


@pytest.mark.smoke
@pytest.mark.release
def test_a_later_session_learns_from_an_earlier_one(client, spawn, forget):
    first = spawn(explore=True)
    assert look(first, f"dict(recall({TASK!r}))") == {
        "results": [], "best_action": None, "confidence": 0.0}
    search(first)
    told = look(first, "dict(outcome('success'))")
    assert re.fullmatch("[0-9a-f]{16}", told.pop("memory"))
    assert told == {"task": TASK, "action": "search: grep 2, peek 1", "outcome": "success",
                    "q_value": 0.55, "outcomes": 1}
    second = spawn(explore=True)
    found = look(second, f"dict(recall({LIKE_IT!r}))")
    (result,) = found["results"]
    similarity = result["similarity"]
    assert 0.3 <= similarity < 1
    assert result == {"task": TASK, "outcome": "success", "action": "search: grep 2, peek 1",
                      "q_value": 0.55, "similarity": similarity,
                      "combined_score": pytest.approx(0.7 * 0.55 + 0.3 * similarity, abs=0.001)}
    assert found["best_action"] == "search: grep 2, peek 1"
    assert found["confidence"] == result["combined_score"]
    assert look(second, "recall('quite another subject')['results']") == []
    (kept,) = memories(client)
    assert kept["log"]["strategy"]["function_counts"] == {"recall": 1, "grep": 2, "peek": 1}
    assert kept["log"]["efficiency"]["exploration_tokens"] > 0 and kept["session_id"] == first.id


def test_values_follow_the_outcomes(spawn, forget):
    session = spawn(explore=True)

    def q(*args, **more):
        path = f"{session.path}/explore/outcome"
        return session.client.call("POST", path, {"task": "t", "action": "a", "outcome": args[0],
                                                  **more})["q_value"]
    expected = 0.5
    for outcome, reward, more in (
            ("success", 1, {}), ("partial", 0.3, {}), ("failure", -0.5, {}),
            ("success", 1 - 0.2 - 0.45, {"gate_failures": 2, "escalations": 3})):
        expected += 0.1 * (reward - expected)
        assert q(outcome, **more) == pytest.approx(expected, abs=0.001)
    assert q("failure", gate_failures=1000) == 0
    assert q("failure") == 0


def test_the_best_are_told_first_and_five_at_most(spawn, forget):
    session = spawn(explore=True)
    for n in range(8):
        outcome = "success" if n == 3 else "failure"
        task = f"count the words of chapter {n}"
        session.exec(f"_ = outcome({outcome!r}, task={task!r}, action='{n}')")
    found = look(session, "dict(recall('count the words of a chapter'))")
    assert len(found["results"]) == 5 and found["best_action"] == "3"
    scores = [result["combined_score"] for result in found["results"]]
    assert scores == sorted(scores, reverse=True)


def test_an_answer_is_remembered_with_its_task(client, spawn, forget):
    session = spawn(explore=True)
    session.exec(f"_ = recall({TASK!r})")
    search(session)
    assert session.exec("FINAL('line 2')").final_answer == "line 2"
    (kept,) = memories(client)
    assert (kept["outcome"], kept["q_value"], kept["outcomes"]) == ("open", 0.5, 0)
    assert kept["log"]["efficiency"]["result_tokens"] == 1
    session.exec("_ = peek(file_path='a.log')")  # belongs to it no more
    told = client.call("POST", f"{session.path}/explore/outcome", {"outcome": "partial"})
    assert (told["memory"], told["action"], told["q_value"]) == (
        kept["memory"], "search: grep 2, peek 1", 0.48)
    assert session.exec("FINAL('line 2, again')").is_final
    assert memories(client)[0]["outcome"] == "partial"  # what was told stays
    plain = spawn(explore=True)
    assert plain.exec("STUCK('no task')").stuck == "no task"
    assert len(memories(client)) == 1  # without a task there is nothing to find it by


def test_what_is_missing_or_wrong_is_said(spawn, forget):
    session = spawn(explore=True)
    assert session.value("outcome('success')").startswith(
        "'[ERROR: no task is known whose outcome this is. Give the task")
    assert "outcome" in session.value("outcome('splendid', task='t')")
    assert session.value("recall('')").startswith("'[ERROR: ")
    assert session.value("recall('x' * 3000)").startswith("'[ERROR: ")


def test_agents_and_users_are_apart(launch):
    daemon = launch(config=CONFIG)
    client = daemon.client
    owners = [{}, {"user": "ada"}, {"user": "bob"}, {"agent": "ana"},
              {"agent": "ana", "user": "ada"}]
    sessions = [client.spawn(explore=True, **owner) for owner in owners]
    for n, session in enumerate(sessions):
        session.exec(f"_ = outcome('success', task={TASK!r}, action='way {n}')")
    for n, session in enumerate(sessions):
        found = look(session, f"recall({TASK!r})['results']")
        assert [result["action"] for result in found] == [f"way {n}"]
    # A branch is for the same user; so is a session that comes back.
    (made,) = client.call("POST", f"{sessions[1].path}/branch", {"count": 1})["sessions"]
    assert made["user"] == "ada"
    _, of_ana = by(client, "ana", "GET", "/v1/memories?user=ada")
    assert [row["action"] for row in of_ana["memories"]] == ["way 4"]
    assert by(client, "ana", "GET", "/v1/memories?limit=1")[1]["count"] == 2
    assert len(memories(client)) == 5
    (of_bob,) = memories(client, user="bob")
    assert by(client, "ana", "DELETE", f"/v1/memories/{of_bob['memory']}")[0] == 404
    assert by(client, "ana", "DELETE", "/v1/memories?user=ada") == (200, {"deleted": 1})
    assert by(client, "ana", "DELETE", "/v1/memories") == (200, {"deleted": 1})
    assert len(memories(client)) == 3
    client.call("DELETE", f"/v1/memories/{of_bob['memory']}")
    assert look(sessions[2], f"recall({TASK!r})['results']") == []


def test_it_outlives_the_session_an_undo_and_kill_9(launch):
    daemon = launch(config=CONFIG)
    session = daemon.client.spawn(explore=True, user="ada", checkpoints="every")
    session.exec(f"_ = outcome('success', task={TASK!r})", durable=True)
    daemon.client.call("POST", f"{session.path}/undo", {})
    daemon.kill()
    client = launch(data=daemon.data, config=CONFIG).client
    assert client.call("GET", session.path)["user"] == "ada"
    client.request("DELETE", session.path)
    other = client.spawn(explore=True, user="ada")
    (found,) = look(other, f"recall({TASK!r})['results']")
    assert (found["q_value"], found["similarity"], found["action"]) == (0.55, 1.0, "none")


def test_it_is_a_node_of_the_research_tree(client, spawn, forget):
    session = spawn(explore=True)
    session.exec(f"_ = outcome('success', task={TASK!r}, action='grep'); _ = recall({TASK!r})")
    tree = client.call("GET", f"{session.path}/state")["tree"]
    node = tree["nodes"]["R1"]
    assert node["tool"] == "recall" and TASK in node["query"] and "grep" in node["summary"]


def test_credentials_are_not_remembered(client, spawn, forget):
    session = spawn(explore=True)
    task = "use ghp_" + "a1B2" * 9
    session.exec(f"_ = outcome('success', task={task!r}, action='with AKIA' + 'ABCDEFGH12345678')")
    (kept,) = memories(client)
    assert kept["task"] == "use [REDACTED:github_pat]"
    assert kept["action"] == "with [REDACTED:aws_access_key]"


def test_node_and_bash_remember_as_well(client, spawn_runtime, forget):
    node = spawn_runtime("node", explore=True)
    assert node.value(f"recall('{TASK}').results.length") == "0"
    assert node.value(f"outcome('success', {{ action: 'by node' }}).q_value") == "0.55"
    bash = spawn_runtime("bash", explore=True)
    assert "by node" in bash.exec(f"explore recall '{TASK}'").stdout
    told = bash.exec(f"explore outcome failure '{TASK}' 'by bash' --gate-failures 2").stdout
    assert '"q_value": 0.38' in told or '"q_value":0.38' in told
    assert len(memories(client)) == 2


def test_tools_for_models(daemon, client, spawn, forget):
    session = spawn(explore=True)

    def tool(name, **args):
        answer = client.call("POST", f"/v1/tools/{name}", {"session": session.id, **args})
        return answer["content"][0]["text"]

    assert tool("recall", query=TASK) == "no similar task"
    assert tool("outcome", outcome="success", action="grep first") == "remembered, q 0.55"
    assert tool("recall", query=TASK) == f"0.69 success: {TASK} -> grep first"
    model = mcp.Stdio(daemon, "--tools", "explore")
    model.initialize({})
    names = [tool["name"] for tool in model.request("tools/list")["tools"]]
    model.close()
    assert names == ["context", "peek", "grep", "explore", "recall", "outcome"]


def test_the_command_line(daemon, spawn, forget):
    shell = Shell(daemon.binary, daemon.user, daemon.data)
    session = spawn(explore=True)
    shell("outcome", session.id, "success", "--task", TASK, "--action", "grep first", check=0)
    assert "grep first" in shell("recall", session.id, LIKE_IT, check=0).stdout
    assert "grep first" in shell("memory", "list", check=0).stdout
    (kept,) = json.loads(shell("memory", "list", "--json", check=0).stdout)["memories"]
    shell("memory", "rm", kept["memory"], check=0)
    assert "grep first" not in shell("memory", "list", check=0).stdout
    assert shell("memory", "rm", kept["memory"]).returncode != 0
    shell("exec", "--new", "--name", "adas", "--user", "ada", "-p", "min", "1", check=0)
    assert daemon.client.call("GET", "/v1/sessions/adas")["user"] == "ada"
    shell("kill", "adas", check=0)
