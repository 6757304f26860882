"""The interpreter that parses code of structured cells: what breaks it costs one cell and nothing
else."""

import os
import signal
import threading

import pytest

from harness import host

CALL = "a = TOOL('calculate', expression='1 + 1')\nb = peek(1)"


@pytest.fixture
def own(launch):
    return launch()


@pytest.fixture
def structured(own):
    session = own.client.spawn(explore=True, structured=True)
    assert session.exec(CALL).tool_chains["tools"] == ["calculate", "peek"]
    return session


def analyst(daemon):
    (pid,) = host.find_by_name(daemon.tree(), "cella-analyst")
    return pid


def refusal(done):
    assert (done.status, done.error.name) == ("error", "ToolChainRefused"), done
    return done.error.message


def works(session):
    return session.exec(CALL).tool_chains["mode_used"] == "parallel_read_only"


@pytest.mark.one_mode
@pytest.mark.parametrize("code", [
    "(" * 100_000 + "peek(1)",
    "peek(1)\n" + "x = " + "-" * 100_000 + "1",
    "peek(1)\nx = " + "[" * 90 + "]" * 90,
    "x = peek(1)\ny = " + "+".join(["1"] * 60_000),
    "peek(1)\n" + "x" + ".y" * 60_000,
    "x = TOOL('embed_text', text=" + "[" * 80 + "]" * 80 + ")\npeek(1)",
    "peek(1)\n" + "f'" + "{" * 100_000 + "'",
    "\n".join("if True:" + "" if i == 0 else " " * i + "if True:" for i in range(90)) + "\n"
    + " " * 90 + "peek(1)",
], ids=["parentheses", "signs", "lists", "sum", "attributes", "arguments", "braces", "blocks"])
def test_code_that_is_nested_deeply_ends_by_name(own, structured, code):
    structured.exec("kept = 1", structured=False)
    done = structured.exec(code)
    assert done.status in ("ok", "error")
    assert done.status == "ok" or done.error.name in (
        "ToolChainRefused", "SyntaxError", "RecursionError", "MemoryError", "NameError",
        "IndentationError", "TypeError"), done.error.name
    assert works(structured)
    assert structured.value("kept", structured=False) == "1"


@pytest.mark.one_mode
def test_code_has_a_size(structured):
    message = refusal(structured.exec("x = '" + "x" * 300_000 + "'\npeek(1)"))
    assert "structured code has at most 262144 bytes. Put data into files" in message
    assert structured.exec("x = '" + "x" * 250_000 + "'\npeek(1)").status == "ok"
    assert works(structured)


@pytest.mark.one_mode
def test_code_that_takes_memory_or_time_costs_its_cell(own, structured):
    done = structured.exec("a;" * 125_000 + "peek(1)")
    assert "the parser ran out of memory" in refusal(done) or \
        "the code was not parsed within a second" in refusal(done)
    assert works(structured)


@pytest.mark.one_mode
def test_an_analyst_that_does_not_answer_is_ended(own, structured):
    first = analyst(own)
    os.kill(first, signal.SIGSTOP)
    message = refusal(structured.exec(CALL))
    assert "the code was not parsed within a second. Make it shorter" in message
    assert works(structured)
    assert analyst(own) != first


@pytest.mark.one_mode
def test_an_analyst_that_is_killed_costs_one_question(own, structured):
    """It stands still, so that both questions are there when it goes: the first is told."""
    other = own.client.spawn(explore=True, structured=True)
    first, answers = analyst(own), []
    os.kill(first, signal.SIGSTOP)
    asked = [threading.Thread(target=lambda s=s: answers.append(s.exec(CALL)))
             for s in (structured, other)]
    for thread in asked:
        thread.start()
    host.eventually(lambda: all(s.info()["state"] == "busy" for s in (structured, other)))
    os.kill(first, signal.SIGKILL)
    for thread in asked:
        thread.join()
    assert sorted(done.status for done in answers) == ["error", "ok"]
    (failed,) = [done for done in answers if done.status == "error"]
    assert refusal(failed).startswith("the parser died on the code")
    assert works(structured) and works(other)


@pytest.mark.one_mode
def test_an_idle_analyst_that_is_killed_is_replaced(own, structured):
    first = analyst(own)
    os.kill(first, signal.SIGKILL)
    host.eventually(lambda: not host.find_by_name(own.tree(), "cella-analyst"))
    assert works(structured)
    assert analyst(own) != first


@pytest.mark.one_mode
def test_it_is_in_nobodys_sandbox(own, structured):
    """A session's code neither sees it nor ends it."""
    pid = analyst(own)
    assert host.pid_namespace(pid) != host.pid_namespace(own.head(structured))
    structured.exec("import os, signal\nfor pid in range(2, 64):\n    try:\n"
                    "        if pid != os.getpid(): os.kill(pid, signal.SIGKILL)\n"
                    "    except OSError: pass", structured=False)
    assert analyst(own) == pid
    assert works(structured)


@pytest.mark.one_mode
def test_what_waits_for_it_is_interrupted(own, structured):
    os.kill(analyst(own), signal.SIGSTOP)
    done = structured.exec(CALL, timeout_ms=200)
    assert (done.status, done.error.name) == ("timeout", "TimeLimit")
    assert works(structured)
