"""The JavaScript client in Node.js: every operation of the table, and what people touch."""

import base64
import json
import os
import re
import subprocess

import pytest
from harness import host, shapes
from harness.daemon import SOURCE
from harness.stage import Stage, bytes_for, png

from opened import NAMES, opened
from test_python import CALLED, has_text, kind_of

pytestmark = pytest.mark.one_mode

TABLE = shapes.table()
HERE = SOURCE / "tests/clients"


def node(script, env, **options):
    done = subprocess.run(["node", HERE / script], capture_output=True, text=True,
                          env={**os.environ, **env}, timeout=4 * host.PATIENCE, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def method_name(name):
    first, *rest = re.split(r"[._]", name)
    return first + "".join(word.capitalize() for word in rest)


def calls(stage):
    """(operation, call) of every method."""
    for op in CALLED:
        call = {"method": method_name(op["name"]), "kind": kind_of(op)}
        if "takes_bytes" in op["flags"]:
            call["data"] = base64.b64encode(bytes_for(op)).decode()
        yield op, {**call, "args": stage.fill(op["example"])}
        if has_text(op):
            yield op, {"method": call["method"] + "Text", "kind": "text",
                       "args": stage.fill(op["example"])}


def test_operations_that_need_a_configuration(launch):
    with opened(launch) as (daemon, arguments_of):
        made = [{"method": method_name(name), "kind": "json", "args": arguments_of[name]}
                for name in NAMES]
        answers = json.loads(node("every_operation.mjs", {"CELLA_DATA": str(daemon.data)},
                                  input=json.dumps(made)))
    for name, answer in zip(NAMES, answers, strict=True):
        TABLE.check_result(TABLE.by_name[name], answer, name)
        assert "https://id.example.com" in str(answer) or "Hello web" in str(answer)


def test_every_operation_answers_its_example(daemon, client):
    made = list(calls(Stage(client)))
    told = node("every_operation.mjs", {"CELLA_DATA": str(daemon.data)},
                input=json.dumps([call for _, call in made]))
    answers = json.loads(told)
    assert len(answers) == len(made)
    for (op, call), answer in zip(made, answers):
        if call["kind"] == "json":
            TABLE.check_result(op, answer, op["name"])
        elif call["kind"] == "events":
            TABLE.check_event(op, answer["name"], answer["data"])
        elif call["kind"] == "tunnel":
            assert answer == 502
        elif call["kind"] == "text":
            assert isinstance(answer, str)
        elif call["kind"] == "bytes":
            assert answer > 0, op["name"]


def test_sessions_as_people_use_them(daemon):
    picture = base64.b64encode(png(8, 8)).decode()
    env = {"CELLA_DATA": str(daemon.data), "CELLA_URL": daemon.url, "CELLA_KEY": daemon.key(),
           "PICTURE": picture}
    assert node("session.mjs", env) == "ok\n"
