"""What a session's code declared: GET …/declarations, and what of it would not survive."""

import json

import pytest
from harness import host
from harness.client import ApiError, Session

DEFINE = {
    "python": "import math\nfrom json import dumps as d\ndef twice(x):\n    return 2 * x",
    "node": "function twice(x) { return 2 * x }",
    "bash": "twice() { echo $((2 * $1)); }",
}
NOTHING = {"python": "None", "node": "0", "bash": ":"}
CALL = {"python": "twice(21)", "node": "twice(21)", "bash": "twice 21"}


@pytest.fixture(params=["python", "node", "bash"])
def runtime(request):
    return request.param


def declarations(session):
    return session.client.call("GET", f"{session.path}/declarations")


def refusal(client, path):
    with pytest.raises(ApiError) as caught:
        client.call("GET", path)
    return caught.value


@pytest.mark.smoke
def test_a_fresh_session_has_declared_nothing(spawn_runtime, runtime):
    told = declarations(spawn_runtime(runtime))
    assert (told["imports"], told["definitions"], told["lost"]) == ([], [], [])
    assert told["as_of"] is None and told["saved"] is False


def test_a_definition_can_be_replayed_in_another_session(spawn_runtime, runtime):
    session = spawn_runtime(runtime)
    session.exec(DEFINE[runtime])
    told = declarations(session)
    (twice,) = told["definitions"]
    assert (twice["name"], twice["kind"]) == ("twice", "function")
    assert told["as_of"] == 1
    other = spawn_runtime(runtime)
    assert other.exec("\n".join([*told["imports"], twice["code"]]))["status"] == "ok"
    answer = other.exec(CALL[runtime])
    assert "42" in answer["stdout"] + (answer["value"] or {}).get("text", "")


@pytest.mark.smoke
def test_imports_are_told_with_the_names_that_they_bind(spawn):
    session = spawn()
    session.exec(DEFINE["python"])
    assert declarations(session)["imports"] == ["import math", "from json import dumps as d"]


def test_what_a_save_lost_is_told_with_advice(spawn):
    session = spawn()
    session.exec("import threading\nbox = {'lock': threading.Lock()}\nf = open('/dev/null')")
    foreseen = declarations(session)
    assert {"f"} <= {one["name"] for one in foreseen["lost"]}
    session.exec("x = 1", durable=True)
    told = declarations(session)
    assert told["saved"] is True and told["as_of"] == 2
    assert {one["name"] for one in told["lost"]} == {"box", "f"}
    assert all(one["type"] and one["name"] in one["advice"] for one in told["lost"])


def test_a_busy_session_tells_what_it_told_last(spawn):
    session = spawn()
    session.exec(DEFINE["python"])
    answer = session.exec("import time; time.sleep(600)", yield_ms=50)
    refused = refusal(session.client, f"{session.path}/declarations")
    assert refused.status == 409 and "busy" in refused.message  # it never told
    session.interrupt()
    session.client.call("POST", f"{session.path}/exec/{answer.number}/continue", {})
    before = declarations(session)
    assert before["busy"] is False
    session.exec("import json, time; time.sleep(600)", yield_ms=50)
    told = declarations(session)
    assert told == {**before, "busy": True}
    session.interrupt()


def test_a_notebook_tells_what_its_session_declared(spawn):
    session = spawn(durable="off")  # a save between the two answers would be told in one
    session.exec(DEFINE["python"])
    told = session.client.call("GET", f"/v1/notebooks/{session.id}/declarations")
    assert told == declarations(session)
    unknown = "00000000-0000-4000-8000-000000000000"
    refused = refusal(session.client, f"/v1/notebooks/{unknown}/declarations")
    assert refused.status == 409 and "no session runs" in refused.message


def test_code_that_hides_its_types_breaks_nothing(spawn):
    session = spawn()
    session.exec(
        "class Meta(type):\n"
        "    def __getattribute__(cls, name): raise RuntimeError(name)\n"
        "class Liar(metaclass=Meta): pass\n"
        "liar = object.__new__(Liar)\n"
        "import builtins\nbuiltins.len = None\nbuiltins.callable = None"
    )
    assert declarations(session)["as_of"] == 1
    assert session.exec("1 + 1")["value"]["text"] == "2"


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.sampled(3)
def test_a_suspended_session_tells_what_was_saved(launch, runtime, names):
    daemon = launch(config="default_profile: min\n")
    session = Session(daemon.client, daemon.client.call("POST", "/v1/sessions",
                                                        {"runtime": runtime}))
    lost = "\nf = open('/dev/null')" if runtime == "python" else ""
    session.exec(DEFINE[runtime] + lost if names else NOTHING[runtime])
    before = declarations(session)
    session.exec(NOTHING[runtime], durable=True)
    daemon.stop()
    daemon = launch(data=daemon.data, config="default_profile: min\n")
    session = Session(daemon.client, session.spawned)
    told = declarations(session)
    assert (told["definitions"], told["imports"]) == (before["definitions"], before["imports"])
    assert len(told["definitions"]) == names
    assert [one["name"] for one in told["lost"]] == (["f"] if names and lost else [])
    assert (told["as_of"], told["saved"], told["busy"]) == (2, True, False)
    assert session.info().state == "suspended"
    answer = session.exec(CALL[runtime] if names else NOTHING[runtime])
    assert not names or "42" in answer["stdout"] + (answer["value"] or {}).get("text", "")
    assert declarations(session)["definitions"] == before["definitions"]
    daemon.stop()


@pytest.mark.slow
def test_a_suspended_session_tells_what_it_told_after_its_last_cell(launch):
    daemon = launch(config="default_profile: min\nidle_timeout_secs: 1\n")
    session = daemon.client.spawn()
    session.exec(DEFINE["python"] + "\nf = open('/dev/null')")
    before = declarations(session)
    host.eventually(lambda: daemon.client.sessions()[0].state == "suspended")
    told = declarations(session)
    assert (told["definitions"], told["imports"]) == (before["definitions"], before["imports"])
    assert told["saved"] is True and [one["name"] for one in told["lost"]] == ["f"]
    assert told["busy"] is False and session.info().state == "suspended"
    session.exec("def other(): pass")
    assert len(declarations(session)["definitions"]) == 2
    daemon.stop()


def test_long_sources_are_cut_and_say_so(spawn_runtime, runtime):
    session = spawn_runtime(runtime)
    body = "x" * 20_000
    define = {"python": "def f{n}():\n    '{body}'", "bash": "f{n}() {{ : {body}; }}",
              "node": "function f{n}() {{ return '{body}' }}"}[runtime]
    session.exec("\n".join(define.format(n=n, body=body) for n in range(10)))
    told = declarations(session)
    assert told["more"] is True and len(json.dumps(told)) < 170_000
    assert len(told["definitions"]) == {"python": 8, "node": 6, "bash": 1}[runtime]
    assert all(body in one["code"] for one in told["definitions"])


def test_long_lists_are_cut_and_say_so(spawn):
    session = spawn()
    session.exec("\n".join(f"def f{n}(): pass" for n in range(1100)))
    told = declarations(session)
    assert len(told["definitions"]) == 1000 and told["more"] is True
    session.exec("for n in range(200, 1100): del globals()[f'f{n}']")
    told = declarations(session)
    assert len(told["definitions"]) == 200 and not told.get("more")
