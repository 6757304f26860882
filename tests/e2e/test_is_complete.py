"""Whether a text is a whole piece of code: asked of the session's interpreter, which does not run
it. What each language takes for whole is in the tests of the drivers."""

import pytest

from harness.client import ApiError
from harness.host import eventually

pytestmark = pytest.mark.one_mode


def judge(session, code):
    return session.client.call("POST", f"{session.path}/is_complete", {"code": code})


@pytest.mark.smoke
@pytest.mark.parametrize("runtime, whole, open_, wrong", [
    ("python", "x = 1", "f(1,", "x = )"), ("node", "f(1)", "f(1,", "f(1))"),
    ("bash", "ls", "if true", "fi"),
])
def test_each_language_answers(spawn_runtime, runtime, whole, open_, wrong):
    session = spawn_runtime(runtime)
    assert [judge(session, code).status for code in (whole, open_, wrong)] == [
        "complete", "incomplete", "invalid"]


def test_an_indented_block_may_go_on(session):
    told = judge(session, "for i in x:\n    print(i)\n")
    assert (told.status, told["goes_on"], told["indent"]) == ("complete", True, 4)
    told = judge(session, "def f():\n")
    assert (told.status, told["goes_on"], told["indent"]) == ("incomplete", False, 4)


def test_nothing_of_it_runs_or_counts(session):
    session.exec("n = 1")
    before = session.info()
    judge(session, "n = 2; print('never')")
    after = session.info()
    assert (after["exec_count"], after["output_len"]) == (before["exec_count"],
                                                          before["output_len"])
    assert session.value("n") == "1"


def test_a_busy_session_says_so_at_once(session):
    session.exec("import time; time.sleep(600)", yield_ms=0)
    assert judge(session, "x = 1").status == "unknown"
    session.interrupt()
    eventually(lambda: judge(session, "x = 1").status == "complete")


def test_who_asks_often_does_no_harm_to_what_runs(session):
    for i in range(50):
        judge(session, "x = (")
        assert session.value(f"{i} + 1") == str(i + 1)


def test_a_mode_that_changes_nothing_allows_it(session):
    session.client.call("PUT", f"{session.path}/plan", {})
    assert judge(session, "x = (").status == "incomplete"


@pytest.mark.parametrize("body", [{}, {"code": 5}, {"code": "x", "y": 1},
                                  {"code": "x" * (1 << 20) + "y"}])
def test_mistakes(session, body):
    with pytest.raises(ApiError) as refused:
        session.client.call("POST", f"{session.path}/is_complete", body)
    assert refused.value.status in (400, 413)


def test_what_is_too_long_to_be_asked_is_not_known(session):
    assert judge(session, "# " + "x" * 100_000).status == "unknown"


def test_of_a_dead_session(session):
    session.kill()
    with pytest.raises(ApiError) as refused:
        judge(session, "x")
    assert refused.value.status in (404, 410)
