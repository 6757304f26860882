"""docs/AGENTS.md says nothing that is not so: its examples are run in order, with its
configuration, and every answer is compared. `…` stands for any text, $ID for the session spawned
last."""

import json
import re

import pytest

from harness.daemon import SOURCE

PAGE = (SOURCE / "docs/AGENTS.md").read_text()


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)


def differs(told, expected):
    """Whether an answer is not the one that the page shows."""
    if isinstance(expected, dict) and isinstance(told, dict):
        return told.keys() != expected.keys() or any(differs(told[k], expected[k]) for k in told)
    return told != expected and not (expected == "…" and isinstance(told, str))


@pytest.mark.one_mode
def test_the_examples(launch):
    (config,) = blocks("yaml")
    client = launch(config=f"default_profile: min\n{config}").client
    session_id, n_calls = "", 0
    for block in blocks("api"):
        lines = block.splitlines()
        for request, answer in zip(lines[::2], lines[1::2], strict=True):
            method, path, body = (request.replace("$ID", session_id) + "  ").split(" ", 2)
            status, expected = answer.replace("$ID", session_id).split(" ", 1)
            reply = client.request(method, path, json.loads(body) if body.strip() else None)
            assert reply.status == int(status), (request, reply)
            assert not differs(reply.json, json.loads(expected)), (request, reply.json)
            if '"spawn"' in request and reply.status == 200:
                session_id = reply.json["session_id"]
            n_calls += 1
    assert n_calls == 17
