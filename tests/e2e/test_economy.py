"""What answers cost a model: the forty cells of tests/bench/economy, each within the bytes that
`make economy UPDATE=1` recorded, and with what only Cella says."""

import json

import pytest

from harness.daemon import SOURCE

pytestmark = pytest.mark.one_mode

FOLDER = SOURCE / "tests/bench/economy"
SLACK = 64  # bytes: a listing of / and the paths of libraries differ from machine to machine


@pytest.mark.slow
def test_no_text_is_longer_than_it_was(spawn):
    budget = json.loads((FOLDER / "budget.json").read_text())
    session = spawn("data", checkpoints="every")
    answers, over = {}, []
    for cell in json.loads((FOLDER / "cells.json").read_text())["cells"]:
        body = {"code": cell["code"], "format": "text", "files": True}
        reply = session.client.request("POST", f"{session.path}/exec", body)
        assert reply.status == 200, (cell["name"], reply.body)
        answers[cell["name"]] = reply.body.decode()
        if len(reply.body) > budget[cell["name"]] + SLACK:
            over.append((cell["name"], len(reply.body), budget[cell["name"]]))
    assert not over, "make economy shows what has become dearer"
    assert answers["a file is written"] == "[files +head.csv]\n"
    assert answers["many names"].startswith("[names +") and "more" in answers["many names"]
    assert "rolled back" in answers["a crash"]
    assert answers["after the crash"] == "['df', 'model', 'score']\n"
