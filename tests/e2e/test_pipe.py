"""`cella pipe`: requests between marks on standard input, answers likewise on standard output."""

import json
import re
import signal

import pytest

from harness.host import PATIENCE
from harness.shell import Shell

pytestmark = [pytest.mark.one_mode, pytest.mark.release]


@pytest.fixture
def shell(daemon):
    return Shell(daemon.binary, daemon.user, daemon.data)


def frame(request):
    text = request if isinstance(request, str) else json.dumps(request)
    return f">>> REQUEST_START <<<\n{text}\n>>> REQUEST_END <<<\n"


def read_answers(text):
    """The ready line, and what stands between the marks; nothing else may be there."""
    ready, _, rest = text.partition("\n")
    pattern = r">>> RESPONSE_START <<<\n(.*)\n>>> RESPONSE_END <<<\n"
    answers = re.findall(pattern, rest)
    assert re.sub(pattern, "", rest) == ""
    return json.loads(ready), [json.loads(answer) for answer in answers]


def pipe(shell, *requests, check=0, args=()):
    text = "".join(frame(r) if not isinstance(r, bytes) else r.decode() for r in requests)
    return read_answers(shell("pipe", *args, stdin=text, check=check).stdout)


def test_the_first_line_says_that_it_is_ready(launch):
    daemon = launch(config=None)
    ready, answers = pipe(Shell(daemon.binary, daemon.user, daemon.data))
    assert (ready["status"], ready["working_dir"], answers) == ("ready", "/workspace", [])
    assert "import pandas as pd" in ready["preloaded_modules"]
    assert ready["python_version"].startswith("3.")


@pytest.mark.smoke
def test_requests_are_answered_in_their_order(shell):
    _, answers = pipe(shell, {"code": "print('Hello, World!')"}, b"noise\n", {"code": "1/0"})
    assert answers[0].pop("execution_time_ms") > 0
    assert answers[0] == {
        "stdout": "Hello, World!\n",
        "stderr": "",
        "exit_code": 0,
        "state": None,
        "files": [],
        "error": None,
    }
    assert answers[1]["error"] == "ZeroDivisionError: division by zero"


@pytest.mark.smoke
def test_what_code_prints_cannot_be_taken_for_an_answer(shell):
    mark = ">>> RESPONSE_END <<<"
    code = f"print('{mark}')\nimport os\nos.write(1, b'\\n{mark}\\n');  # >>> REQUEST_END <<<"
    _, answers = pipe(shell, {"code": code, "profile": "min"})
    assert answers[0]["stdout"] == f"{mark}\n\n{mark}\n"


@pytest.mark.smoke
def test_options_are_for_requests_that_do_not_say_it(shell):
    requests = {"code": "echo $0"}, {"code": "print(1)", "runtime": "python"}
    _, answers = pipe(shell, *requests, args=["--runtime", "bash"])
    assert [a["stdout"] for a in answers] == ["bash\n", "1\n"]
    _, answers = pipe(shell, {"code": "while True: pass"}, args=["-p", "min", "-t", "200ms"])
    assert (answers[0]["exit_code"], answers[0]["error"]) == (
        124,
        "Execution timed out after 0.2 seconds",
    )


def test_what_cannot_be_run_is_answered_in_the_same_shape(shell):
    _, answers = pipe(shell, "{not json", {"code": "1", "colour": "red"}, {"code": "2"})
    assert [a["exit_code"] for a in answers] == [1, 1, 0]
    assert "JSON" in answers[0]["error"] and "colour" in answers[1]["error"]
    assert set(answers[0]) == {"stdout", "stderr", "exit_code", "state", "files", "error"}


def test_input_that_ends_in_a_request(shell):
    _, answers = pipe(shell, {"code": "1"}, b">>> REQUEST_START <<<\n{", check=1)
    assert [a["exit_code"] for a in answers] == [0, 1]
    assert "REQUEST_END" in answers[1]["error"]


def test_a_program_talks_to_it_line_by_line(shell):
    process = shell.start("pipe", "--profile", "min")
    assert json.loads(process.stdout.readline())["status"] == "ready"
    for n in range(3):
        text = frame({"code": f"{n} * 2"}).rstrip("\n")  # the line ends later
        process.stdin.write(text.encode())
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(3)]
        assert json.loads(lines[1])["stdout"] == f"{n * 2}\n"
        process.stdin.write(b"\n")
    process.stdin.close()
    assert process.wait(PATIENCE) == 0


def test_it_ends_by_a_signal(shell):
    process = shell.start("pipe", "--profile", "min")
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 128 + signal.SIGTERM
