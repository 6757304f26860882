"""How a text could go on, and what stands in it: asked of the session's interpreter, which runs
none of it. What each language knows is in the tests of the drivers."""

import pytest

from harness.client import ApiError
from harness.host import eventually

pytestmark = pytest.mark.one_mode


def complete(session, code, **members):
    return session.client.call("POST", f"{session.path}/complete", {"code": code, **members})


def texts(session, code, **members):
    return [match["text"] for match in complete(session, code, **members).matches]


def inspect(session, code, **members):
    return session.client.call("POST", f"{session.path}/inspect", {"code": code, **members})


@pytest.mark.smoke
@pytest.mark.parametrize("runtime, code, text, match, name", [
    ("python", "apples = 3\ndef f(a, b=2): 'Adds.'", "app", "apples", "f"),
    ("node", "var apples = 3; function f(a, b=2) { /* Adds. */ }", "app", "apples", "f"),
    ("bash", "apples=3; f() { echo a; }", "echo $app", "apples", "f"),
])
def test_each_language_answers(spawn_runtime, runtime, code, text, match, name):
    session = spawn_runtime(runtime)
    session.exec(code)
    before = session.info()
    told = complete(session, text)
    assert (told.start, told.end) == (len(text) - 3, len(text))
    assert {"text": match, "kind": "variable"} in told.matches
    about = inspect(session, name, detail=1)
    assert (about.found, about.name, about.type) == (True, name, "function")
    assert "b=2" in about.signature if runtime != "bash" else "echo a" in about.source
    assert inspect(session, "apples")["text"] == "3"
    assert inspect(session, "nothing_there") == {"found": False}
    assert (session.info().exec_count, session.info().output_len) == (before.exec_count,
                                                                     before.output_len)


@pytest.mark.smoke
@pytest.mark.slow
def test_what_is_hostile_neither_hangs_nor_changes_the_session(session):
    session.exec("class Bad:\n    def __dir__(self):\n        while True: pass\nbad = Bad(); x = 1")
    assert complete(session, "bad.").partial
    assert texts(session, "ba") == ["bad"]
    session.exec("import os, threading\nclass Worse:\n    def __dir__(self):\n        os.fork(); "
                 "os._exit(3)\nworse = Worse()\nstop = threading.Event()\n"
                 "threading.Thread(target=stop.wait, daemon=True).start()")
    assert complete(session, "worse.").matches == []
    assert "stop" in texts(session, "sto")  # with threads, too
    assert session.value("x, stop.set()") == "(1, None)"


def test_pandas_columns_are_completed(data_session):
    data_session.exec("df = pd.DataFrame({'alpha': [1], 'beta': [2]})")
    assert texts(data_session, "df.alp") == ["alpha"]
    assert texts(data_session, "df['be") == ["beta'"]
    assert "DataFrame" in texts(data_session, "pd.DataF")
    assert inspect(data_session, "pd.read_csv")["signature"].startswith("read_csv(")


def test_of_a_busy_session_names_are_known(session):
    session.exec("apples = 3", names=True)
    session.exec("import time; time.sleep(600)", yield_ms=0)
    eventually(lambda: complete(session, "é = app").get("partial"))  # it runs
    told = complete(session, "é = app")
    assert (told.start, told.end) == (4, 7)
    assert told.matches == [{"text": "apples", "kind": "variable"}]
    for ask in (lambda: inspect(session, "apples"), lambda: complete(session, "apples.")):
        with pytest.raises(ApiError) as refused:
            ask()
        assert refused.value.status == 409 and "busy" in str(refused.value.reply.json)
    session.interrupt()
    eventually(lambda: session.info().state == "idle")
    assert inspect(session, "apples")["text"] == "3"


def test_of_a_suspended_session_nothing_is_known(session):
    session.exec("apples = 3")
    session.client.call("POST", f"{session.path}/suspend")
    with pytest.raises(ApiError) as refused:
        complete(session, "app")
    assert refused.value.status == 409 and "resume" in str(refused.value.reply.json)
    assert session.info().state == "suspended"


@pytest.mark.parametrize("body", [
    {}, {"code": 5}, {"code": "x", "cursor": 2}, {"code": "x" * 65537}, {"code": "x", "cursor": -1},
    {"code": "x", "y": 1}])
def test_mistakes(session, body):
    for operation in ("complete", "inspect"):
        with pytest.raises(ApiError) as refused:
            session.client.call("POST", f"{session.path}/{operation}", body)
        assert refused.value.status in (400, 413)


def test_a_mode_that_changes_nothing_allows_it(session):
    session.client.call("PUT", f"{session.path}/plan", {})
    assert "print" in texts(session, "pri")
    assert inspect(session, "print").found
