"""What is refused to callers of notebooks: mistakes, strangers, plan mode, other agents."""

import pytest

from harness.client import Client
from harness.notebooks import Notebook, of, refusal

pytestmark = pytest.mark.one_mode


@pytest.mark.smoke
def test_no_such_notebook(client):
    nobody = Notebook(client, "00000000-0000-4000-8000-000000000000")
    calls = [("GET", "", None), ("PATCH", "", {"title": "x"}), ("DELETE", "", None),
             ("GET", "/cells", None), ("POST", "/cells", {"code": "1"}),
             ("POST", "/cells", {"code": "1", "run": True}), ("GET", "/cells/0", None),
             ("POST", "/cells/0/run", {}), ("POST", "/run", {}), ("POST", "/reset", {}),
             ("POST", "/clear", {"what": "cells"}), ("GET", "/export", None),
             ("GET", "/events", None)]
    for method, path, body in calls:
        for notebook in (nobody, Notebook(client, "x"), Notebook(client, "%20")):
            reply = client.request(method, notebook.path + path, body)
            is_told = b"event: error" in reply.body and b"not_found" in reply.body
            assert reply.status in (400, 404) or is_told, (method, path, reply)


@pytest.mark.parametrize("method, path, body, word", [
    ("POST", "/cells", {}, "code"),
    ("POST", "/cells", {"code": 5}, "code"),
    ("POST", "/cells", {"code": "x" * (1024 * 1024 + 1)}, "code"),
    ("POST", "/cells", {"code": "x", "at": -2}, "at"),
    ("POST", "/cells", {"code": "x", "at": 1.5}, "at"),
    ("POST", "/cells", {"code": "x", "metadata": []}, "metadata"),
    ("POST", "/cells", {"code": "x", "metadata": {"m": "x" * 300_000}}, "metadata"),
    ("POST", "/cells", {"code": "x", "color": "red"}, "color"),
    ("PATCH", "/cells/0", {"revision": 0, "code": "x"}, "revision"),
    ("POST", "/cells/0/move", {}, "to"),
    ("POST", "/cells/0/move", {"to": "up"}, "to"),
    ("POST", "/cells/0/run", {"timeout_ms": 0}, "timeout_ms"),
    ("POST", "/run", {"from": 0}, "from"),
    ("POST", "/run", {"stop_on_error": "no"}, "stop_on_error"),
    ("POST", "/clear", {}, "what"),
    ("POST", "/clear", {"what": "all"}, "what"),
    ("GET", "/cells?limit=0", None, "limit"),
    ("GET", "/cells?limit=1001", None, "limit"),
    ("GET", "/cells?offset=-1", None, "offset"),
    ("GET", "/cells?outputs=maybe", None, "outputs"),
    ("GET", "/export?format=pdf", None, "format"),
    ("PATCH", "", {"title": "x" * 2000}, "title"),
    ("PATCH", "", {"metadata": "x"}, "metadata"),
])
def test_mistakes_are_named(notebook, method, path, body, word):
    notebook.add("x")
    reply = notebook.client.request(method, notebook.path + path, body)
    assert reply.status in (400, 413), reply
    assert word in reply.json["error"]["message"]
    assert reply.json["error"]["advice"]
    assert notebook.sources() == ["x"]


@pytest.mark.parametrize("body, word", [
    ({"cells": {}}, "cells"), ({"cells": [5]}, "cells"), ({"cells": [{}]}, "cells[0].code"),
    ({"cells": [{"code": "x"}, {"code": "y", "kind": "z"}]}, "cells[1].kind"),
    ({"cells": [{"code": ""}] * 1001}, "cells"), ({"profile": "nobody"}, "nobody"),
])
def test_mistakes_in_a_new_notebook(client, body, word):
    before = len(client.sessions())
    reply = client.request("POST", "/v1/notebooks", body)
    assert reply.status in (400, 413) and word in reply.json["error"]["message"], reply
    assert len(client.sessions()) == before


@pytest.mark.smoke
def test_sources_of_all_kinds_come_back(notebook):
    sources = ["", " ", "\n", "é\u2028\U0001f40d", "a\r\nb\rc", "\\\"'", "x" * 100_000, "\x1b[0m"]
    for source in sources:
        notebook.client.call("POST", f"{notebook.path}/cells", {"code": source})
    assert notebook.sources() == sources


@pytest.mark.smoke
def test_the_key_is_needed(daemon, notebook):
    stranger = Client(daemon.address)
    for method, path, body in (("GET", "", None), ("GET", "/cells", None), ("DELETE", "", None),
                               ("POST", "/cells", {"code": "1"}), ("GET", "/export", None),
                               ("GET", "/events", None), ("POST", "/run", {})):
        assert stranger.request(method, notebook.path + path, body).status == 401
    assert stranger.request("GET", "/v1/notebooks").status == 401
    assert stranger.request("POST", "/v1/notebooks/import", {"content": "{}"}).status == 401


@pytest.mark.smoke
def test_methods_that_do_not_exist(notebook):
    reply = notebook.client.request("PUT", f"{notebook.path}/cells/0", {})
    assert reply.status == 405
    assert {"GET", "PATCH", "DELETE"} <= set(reply.headers["Allow"].split(", "))


# Plan mode.


def test_plan_mode_lets_one_read_and_nothing_else(notebook):
    notebook.add("x = 1")
    plan = f"/v1/sessions/{notebook.id}/plan"
    notebook.client.call("PUT", plan, {"reason": "think"})
    changes = [("POST", "/cells", {"code": "1"}), ("POST", "/cells/0/run", {}),
               ("PATCH", "/cells/0", {"code": "2"}), ("DELETE", "/cells/0", None),
               ("POST", "/cells/0/move", {"to": 0}), ("POST", "/cells/0/clear", {}),
               ("POST", "/run", {}), ("POST", "/reset", {}), ("POST", "/clear", {"what": "cells"}),
               ("PATCH", "", {"title": "x"}), ("DELETE", "", None)]
    for method, path, body in changes:
        reply = notebook.client.request(method, notebook.path + path, body)
        assert reply.status == 409 and reply.json["refusal"]["entered_reason"] == "think", reply
    for path in ("", "/cells", "/cells/0", "/export", "/export?format=html"):
        assert notebook.client.request("GET", notebook.path + path).status == 200
    notebook.client.call("DELETE", plan)
    assert notebook.sources() == ["x = 1"]


def test_an_agent_that_plans_does_not_wake_an_old_notebook(client, spawn):
    session = spawn()
    session.exec("1")
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    client.call("PUT", "/v1/agents/default/plan", {"reason": "holiday"})
    try:
        assert refusal(of(session).run, 0).status == 409
        assert of(session).cell(0).status == "ok"
    finally:
        client.call("DELETE", "/v1/agents/default/plan")
    assert of(session).run(0).status == "ok"


AGENTS = """
default_profile: min
agents:
  - id: ana
    repl: {enabled: true, max_sessions: 1}
  - id: bob
    repl: {enabled: true, allowed_runtimes: [bash]}
  - id: off
"""


def test_notebooks_belong_to_agents(launch):
    daemon = launch(config=AGENTS)
    client = daemon.client
    first = Notebook(client, client.call("POST", "/v1/notebooks", {"agent": "ana"}).notebook_id)
    first.add("1", run=True)
    assert first.info().user == "ana"
    assert client.request("POST", "/v1/notebooks", {"agent": "ana"}).status == 429
    for body, status in (({"agent": "off"}, 403), ({"agent": "nobody"}, 403),
                         ({"agent": "bob", "runtime": "python"}, 403)):
        assert client.request("POST", "/v1/notebooks", body).status == status, body
    client.call("DELETE", f"/v1/sessions/{first.id}?keep_notebook=true")
    second = client.call("POST", "/v1/notebooks", {"agent": "ana", "title": "second"})
    assert refusal(first.run, 0).status == 429  # its session would be one too many
    assert refusal(first.run_range).status == 429
    assert refusal(first.add, "2", run=True).status == 429
    assert first.sources() == ["1"]
    client.call("DELETE", f"/v1/sessions/{second.notebook_id}")
    assert first.run(0).value.text == "1"
    mine = client.call("GET", "/v1/notebooks?user=ana")
    assert [n["notebook_id"] for n in mine.notebooks] == [first.id] and mine.count == 1
    assert client.call("GET", "/v1/notebooks?user=bob").count == 0
    daemon.stop()
