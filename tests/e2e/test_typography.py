"""Code that was typed by a word processor: what does not compile as it is runs without typographic
signs, whichever way it came, and the answer says what was replaced."""

import json

import pytest

from harness import mcp
from harness.shell import Shell

pytestmark = pytest.mark.one_mode

CODE = "3 × 4 − 2"
NOTE = "replaced × by * (1), − by - (1)"


@pytest.mark.parametrize("code, value", [
    ("3 × 4 − 2", "10"),
    ("len(“it’s 47°”)", "8"),
    ("x = 5\nx ≥ 5 and 2² == 4", "True"),
    ("print(‘a’)", None),
])
def test_typographic_signs_are_replaced_if_the_code_does_not_compile(session, code, value):
    answer = session.exec(code)
    assert answer.status == "ok", answer
    assert (answer["value"] or {"text": None})["text"] == value
    assert answer.replaced.startswith("replaced ")


def test_signs_in_texts_and_in_code_that_compiles_stay(session):
    assert session.value("'47° × “x”'") == "'47° × “x”'"
    assert "replaced" not in session.exec("é = '×'")
    broken = session.exec("3 ×× ]")
    assert broken.error.name == "SyntaxError" and "replaced" not in broken


def test_tools_replace_what_does_not_compile(daemon, session):
    def use(tool, **args):
        call = daemon.client.call("POST", f"{session.path}/toolbox/{tool}", {"args": args})
        return call["result"]

    told = use("python_eval", code="“it’s 3 × 4” + str(3 × 4)")
    assert (told["result"], told["replaced"]) == (
        "'it’s 3 × 412'", "replaced × by * (1), “ ” by \" (2)")
    told = use("run_python_code", code="é = '×'; print(é)")
    assert told["stdout"] == "×\n" and "replaced" not in told
    told = use("run_python_code", code="3 ×× ]")
    assert "SyntaxError" in told["stderr"] and "replaced" not in told
    told = use("benchmark_run", code="x − 1", setup="x = 3 × 4", number=1, repeat=1)
    assert told["replaced"] == "replaced − by - (1); replaced × by * (1)"


def in_a_terminal(daemon, *args, stdin=""):
    return Shell(daemon.binary, daemon.user, daemon.data)(*args, stdin=stdin, check=0)


def by_mcp(daemon, tool, **args):
    with mcp.Stdio(daemon, "--tools", "core,repl") as client:
        client.initialize()
        return mcp.text_of(client.call(tool, {"code": CODE, **args}))


def by_pipe(daemon):
    request = f">>> REQUEST_START <<<\n{json.dumps({'code': CODE})}\n>>> REQUEST_END <<<\n"
    return json.loads(in_a_terminal(daemon, "pipe", stdin=request).stdout.splitlines()[2])


def by_events(daemon, session):
    return list(daemon.client.events(f"{session.path}/exec", {"code": CODE}))[-1][1]


def in_a_notebook(daemon, session, *, again):
    path = f"/v1/notebooks/{session.id}"
    answer = daemon.client.call("POST", f"{path}/cells", {"code": CODE, "run": True})
    if again:
        (answer,) = daemon.client.call("POST", f"{path}/run", {})["cells"]
    return answer


def by_tool(daemon, session, tool):
    answer = daemon.client.call("POST", f"{session.path}/toolbox/{tool}", {"args": {"code": CODE}})
    return answer["result"]


PATHS = {
    "exec": lambda d, s: s.exec(CODE),
    "events": by_events,
    "text": lambda d, s: d.client.request("POST", f"{s.path}/exec", {
        "code": CODE, "format": "text"}).body.decode(),
    "exec of the terminal": lambda d, s: in_a_terminal(d, "exec", "-s", s.id, CODE).stderr,
    "one-shot": lambda d, s: d.client.call("POST", "/v1/exec", {"code": CODE, "profile": "min"}),
    "pipe": lambda d, s: by_pipe(d),
    "repl": lambda d, s: d.client.call("POST", "/v1/repl", {
        "action": "exec", "session_id": s.id, "code": CODE}),
    "run of MCP": lambda d, s: by_mcp(d, "run", session=s.id),
    "repl of MCP": lambda d, s: by_mcp(d, "Repl", action="exec", session_id=s.id),
    "try": lambda d, s: d.client.call("POST", f"{s.path}/try", {"code": CODE}),
    "cell": lambda d, s: in_a_notebook(d, s, again=False),
    "notebook": lambda d, s: in_a_notebook(d, s, again=True),
    "python_eval": lambda d, s: by_tool(d, s, "python_eval"),
    "run_python_code": lambda d, s: by_tool(d, s, "run_python_code"),
    "benchmark_run": lambda d, s: by_tool(d, s, "benchmark_run"),
}


@pytest.mark.parametrize("path", PATHS)
def test_the_note_is_there_whichever_way_the_code_came(daemon, session, path):
    answer = PATHS[path](daemon, session)
    assert NOTE in (answer if isinstance(answer, str) else answer["replaced"])
