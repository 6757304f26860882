"""Cells that take their time: early answers, questions, callers that go away. All runtimes."""

import contextlib
import threading

import pytest

from harness import host
from harness.client import ApiError

SLOW = {
    "python": "import time\nprint('first', flush=True)\n"
              "while not __import__('os').path.exists('go'): time.sleep(0.005)\nprint('second')",
    "node": "console.log('first'); while (!require('fs').existsSync('go'))"
            " await new Promise(r => setTimeout(r, 5))\nconsole.log('second')",
    "bash": "echo first; until [ -e go ]; do sleep 0.005; done; echo second",
}
FOREVER = {
    "python": "print('on', flush=True)\nwhile True: pass",
    "node": "console.log('on'); while (true) {}",
    "bash": "echo on; while :; do :; done",
}
TOUCH = {
    "python": "n = open('go', 'w').close()",
    "node": "require('fs').writeFileSync('go', '')",
    "bash": ": > go",
}
QUESTION = {
    "python": "print('asked'); name = input('Name? '); print('hello ' + name)",
    "node": "console.log('asked')\n"
            "const rl = require('readline/promises').createInterface("
            "{ input: process.stdin, output: process.stdout })\n"
            "const name = await rl.question('Name? '); rl.close(); console.log('hello ' + name)",
    "bash": "echo asked; read -rp 'Name? ' name; echo \"hello $name\"",
}


@pytest.fixture(params=["python", "node", "bash"])
def runtime(request):
    return request.param


@pytest.fixture
def session(runtime, spawn_runtime):
    return spawn_runtime(runtime)


def go_on(session, exec_id, **members):
    path = f"{session.path}/exec/{exec_id}/continue"
    return session.client.call("POST", path, members)


def answer(session, **members):
    return session.client.call("POST", f"{session.path}/input", members)


def first_output(session, code, **members):
    """Runs a cell until it has written a line, whose end Python's print writes apart: (its last
    answer, what it wrote)."""
    early = session.exec(code, yield_ms=20, **members)
    text = early["stdout"]
    while not text.endswith("\n"):
        early = go_on(session, early.number, yield_ms=20)
        text += early["stdout"]
    return early, text


# Early answers.


@pytest.mark.smoke
def test_an_early_answer_and_later_only_what_is_new(session, runtime, spawn_runtime):
    early, text = first_output(session, SLOW[runtime])
    assert (early.status, text) == ("running", "first\n")
    nothing = go_on(session, early.number, yield_ms=1)
    assert (nothing.status, nothing["stdout"]) == ("running", "")
    spawn_runtime("bash", join=session.id).exec(": > go")
    last = go_on(session, early.number)
    assert (last.status, last["stdout"]) == ("ok", "second\n")
    assert session.output(number=early.number, stream="stdout")["text"] == "first\nsecond\n"


def test_a_quick_cell_answers_at_once_however_early_one_would_come_back(session):
    assert session.exec("", yield_ms=3_600_000).status == "ok"


def test_an_answer_is_given_once(session, runtime):
    early, _ = first_output(session, FOREVER[runtime])
    session.interrupt()
    assert go_on(session, early.number).status == "interrupted"
    with pytest.raises(ApiError) as caught:
        go_on(session, early.number)
    assert caught.value.status == 409 and "already" in caught.value.message
    with pytest.raises(ApiError) as caught:
        go_on(session, 999)
    assert caught.value.status == 404


def test_a_result_that_nobody_waited_for_is_kept(session, runtime):
    early, _ = first_output(session, FOREVER[runtime])
    session.interrupt()
    host.eventually(lambda: session.info().state == "idle")
    assert session.exec("").status == "ok"
    assert go_on(session, early.number).status == "interrupted"


@pytest.mark.one_mode
def test_one_waits_at_a_time(session, runtime):
    early, _ = first_output(session, FOREVER[runtime])
    results = []

    def wait():
        while not results:
            with contextlib.suppress(ApiError):  # the other was first
                results.append(go_on(session, early.number))

    waiter = threading.Thread(target=wait)
    waiter.start()

    def is_refused():
        try:
            return not go_on(session, early.number, yield_ms=1)
        except ApiError as error:
            return error.status == 409

    host.eventually(is_refused)
    session.interrupt()
    waiter.join(host.PATIENCE)
    assert [r.status for r in results] == ["interrupted"]


@pytest.mark.sampled(3)
def test_the_time_limit_goes_on_after_an_early_answer(session, runtime):
    early, _ = first_output(session, FOREVER[runtime], timeout_ms=1500)
    last = go_on(session, early.number)
    assert last.status == "timeout"
    assert session.exec("").status == "ok"


# Questions.


def test_a_question_is_answered_by_the_caller(session, runtime):
    asked = session.exec(QUESTION[runtime])
    assert (asked.status, asked["stdout"]) == ("input_required", "asked\n")
    assert asked["input"] == {"prompt": "Name? "}
    last = answer(session, text="Ada")
    assert (last.status, last["stdout"]) == ("ok", "hello Ada\n")


@pytest.mark.sampled(3)
def test_time_does_not_pass_while_a_question_waits(session, runtime):
    asked = session.exec(QUESTION[runtime], timeout_ms=2000)
    assert asked.status == "input_required"
    threading.Event().wait(2.2)
    assert answer(session, text="Ada", number=asked.number).status == "ok"


def test_a_question_may_be_interrupted(session, runtime):
    asked = session.exec(QUESTION[runtime])
    assert session.interrupt() is True
    assert go_on(session, asked.number).status == "interrupted"
    assert session.exec("").status == "ok"


def test_an_answer_that_nobody_asked_for_is_refused(session):
    with pytest.raises(ApiError) as caught:
        answer(session, text="Ada")
    assert caught.value.status == 409 and caught.value.advice


# Callers that go away.


@pytest.mark.parametrize("way", ["cancel", "continue", None])
def test_a_caller_that_goes_away(session, runtime, client, way):
    body = {"code": FOREVER[runtime], **({"on_disconnect": way} if way else {})}
    with client.connect() as sock:
        sock.sendall(client.post_bytes(f"{session.path}/exec", body))
        host.eventually(lambda: session.output(stream="stdout")["text"] == "on\n")
    if way != "cancel":
        assert session.exec("", yield_ms=100).status == "queued"  # it waits for the other
        session.interrupt()
    host.eventually(lambda: session.info().state == "idle" and session.info().queued == 0)
    assert session.exec("").status == "ok"


@pytest.mark.one_mode
def test_a_waiting_cell_of_a_caller_that_goes_away_never_runs(session, runtime, client):
    early, _ = first_output(session, FOREVER[runtime])
    with client.connect() as sock:
        body = {"code": TOUCH[runtime], "on_disconnect": "cancel"}
        sock.sendall(client.post_bytes(f"{session.path}/exec", body))
        host.eventually(lambda: session.info().queued == 1)
    host.eventually(lambda: session.info().queued == 0)
    session.interrupt()
    assert go_on(session, early.number).status == "interrupted"
    seen = {"python": "print(__import__('os').listdir('.'))", "bash": "ls",
            "node": "console.log(require('fs').readdirSync('.').join())"}
    assert "go" not in session.exec(seen[runtime])["stdout"]


@pytest.mark.one_mode
def test_a_cell_that_is_left_running_has_no_limit_that_nobody_gave(launch):
    config = ("default_profile: min\nagents:\n  - id: default\n"
              "    repl: {enabled: true, timeout_secs: 1, max_timeout_secs: 3600}\n")
    client = launch(config=config).client
    endless = "import signal\nwhile True: signal.pause()"
    left, given, usual = client.spawn("min"), client.spawn("min"), client.spawn("min")
    assert left.exec(endless, yield_ms=0).status == "running"
    assert given.exec(endless, yield_ms=0, timeout_ms=1).status == "running"
    assert usual.exec(endless).status == "timeout"
    assert go_on(given, 1).status == "timeout"
    assert go_on(left, 1, yield_ms=0).status == "running"
