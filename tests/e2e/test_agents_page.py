"""docs/AGENTS.md and docs/ONESHOT.md say nothing that is not so: their examples are run in order,
with their configuration, and every answer is compared. `…` stands for any text, $ID for the session
spawned last, $STATE for the state of the last answer that has one."""

import json

import pytest

from harness.pages import blocks, differs


def learn(known, answer):
    """What later examples refer to."""
    known["$ID"] = answer.get("session_id") or known["$ID"]
    known["$STATE"] = answer.get("state") or known["$STATE"]


@pytest.mark.smoke
@pytest.mark.one_mode
@pytest.mark.parametrize(("page", "n_calls"), [("docs/AGENTS.md", 18), ("docs/ONESHOT.md", 9)])
def test_the_examples(launch, page, n_calls):
    config = "".join(blocks(page, "yaml"))
    client = launch(config=f"default_profile: min\n{config}").client
    known = {"$ID": "", "$STATE": ""}
    lines = "".join(blocks(page, "api")).splitlines()
    for request, answer in zip(lines[::2], lines[1::2], strict=True):
        for name, value in known.items():
            request, answer = request.replace(name, value), answer.replace(name, value)
        method, path, body = (request + "  ").split(" ", 2)
        status, expected = answer.split(" ", 1)
        reply = client.request(method, path, json.loads(body) if body.strip() else None)
        assert reply.status == int(status), (request, reply)
        assert not differs(reply.json, json.loads(expected)), (request, reply.json)
        learn(known, reply.json)
    assert len(lines) == 2 * n_calls
