"""docs/AGENTS.md and docs/ONESHOT.md say nothing that is not so: their examples are run in order,
with their configuration, and every answer is compared. `…` stands for any text, $ID for the session
spawned last, $STATE for the state of the last answer that has one."""

import json
import re

import pytest

from harness.daemon import SOURCE


def blocks(page, kind):
    text = (SOURCE / "docs" / page).read_text()
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def differs(told, expected):
    """Whether an answer is not the one that the page shows."""
    if expected == "…":
        return isinstance(told, (dict, list))
    if isinstance(expected, list) and isinstance(told, list):
        return len(told) != len(expected) or any(map(differs, told, expected))
    if isinstance(expected, dict) and isinstance(told, dict):
        return told.keys() != expected.keys() or any(differs(told[k], expected[k]) for k in told)
    return told != expected


def learn(known, answer):
    """What later examples refer to."""
    known["$ID"] = answer.get("session_id") or known["$ID"]
    known["$STATE"] = answer.get("state") or known["$STATE"]


@pytest.mark.smoke
@pytest.mark.one_mode
@pytest.mark.parametrize(("page", "n_calls"), [("AGENTS.md", 18), ("ONESHOT.md", 8)])
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
