"""POST /v1/exec: code that runs once, in a sandbox that ends with it. The members of the answer and
the texts of its errors are what clients of warm REPL servers were written against, so they are
exact."""

import threading

import pytest

from harness.client import ApiError

pytestmark = [pytest.mark.one_mode, pytest.mark.brief]


@pytest.fixture
def run(client):
    def run_once(code, **members):
        return client.call("POST", "/v1/exec", {"code": code, "profile": "min", **members})

    return run_once


def test_the_answer_has_the_agreed_members(run):
    answer = run("import sys\nprint('Hello, World!')\nprint('oh', file=sys.stderr)")
    assert answer.pop("execution_time_ms") > 0
    assert answer == {
        "stdout": "Hello, World!\n",
        "stderr": "oh\n",
        "exit_code": 0,
        "state": None,
        "files": [],
        "error": None,
    }


@pytest.mark.parametrize(
    ("code", "stdout"),
    [("20 + 22", "42\n"), ("x = 42\nx", ""), ("# why\n'a'", "'a'\n"), ("None", ""), ("", "")],
)
def test_a_value_is_shown_if_the_code_is_one_expression(run, code, stdout):
    assert run(code).stdout == stdout


def test_a_syntax_error(run):
    answer = run("def f(:\n  pass")
    assert (answer.stdout, answer.exit_code, answer.state) == ("", 1, None)
    assert answer.stderr == "SyntaxError: invalid syntax (line 1)"
    assert answer.error == "SyntaxError: invalid syntax"


def test_a_runtime_error_keeps_the_output_before_it(run):
    answer = run("print('before')\n1/0")
    assert (answer.stdout, answer.exit_code) == ("before\n", 1)
    assert answer.stderr == (
        "Traceback (most recent call last):\n"
        '  File "<string>", line 2, in <module>\n'
        "ZeroDivisionError: division by zero"
    )
    assert answer.error == "ZeroDivisionError: division by zero"


def test_a_time_out_is_exit_code_124(run):
    answer = run("print('on my way', flush=True)\nwhile True: pass", timeout_ms=1000)
    assert (answer.stdout, answer.exit_code) == ("on my way\n", 124)
    assert answer.error == "Execution timed out after 1 seconds"


@pytest.mark.parametrize(
    ("code", "exit_code", "error"),
    [
        ("import sys; print('a'); sys.exit()", 0, None),
        ("import sys; print('a'); sys.exit(3)", 3, "Exited with code 3"),
        ("import sys; print('a'); sys.exit('words')", 1, "words"),
        ("import os; print('a', flush=True); os._exit(7)", 7, "Exited with code 7"),
    ],
)
def test_an_exit_keeps_the_output_and_tells_its_code(run, code, exit_code, error):
    answer = run(code)
    assert (answer.stdout, answer.exit_code, answer.error) == ("a\n", exit_code, error)


def test_a_crash_is_explained(run):
    answer = run("import os; os.kill(os.getpid(), 9)")
    assert answer.exit_code == 137
    assert answer.error.startswith("Killed: the interpreter was killed")
    assert answer.stderr.endswith(answer.error)


def test_there_is_nobody_to_ask(run):
    answer = run("input('name? ')")
    assert answer.stdout == "name? "
    assert answer.error == "EOFError: EOF when reading a line"


@pytest.mark.parametrize(
    ("runtime", "code", "expected"),
    [
        ("bash", "echo hi; (exit 4)", ("hi\n", 4, "Exited with code 4")),
        ("bash", "echo hi; exit 5", ("hi\n", 5, "Exited with code 5")),
        ("node", "console.log('hi'); 5", ("hi\n", 0, None)),
        ("node", "console.log('hi'); throw new TypeError('no')", ("hi\n", 1, "TypeError: no")),
    ],
)
def test_other_runtimes(run, runtime, code, expected):
    answer = run(code, runtime=runtime, profile=None)
    assert (answer.stdout, answer.exit_code, answer.error) == expected


def test_nothing_is_left_and_nothing_is_shared(run, client):
    run("leftover = 1; open('leftover', 'w').close()")
    answer = run("import os\nprint(os.listdir('.'), 'leftover' in globals())")
    assert answer.stdout == "[] False\n"
    assert client.call("GET", "/v1/sessions").count == 0


def test_it_is_not_listed_while_it_runs(run, client):
    seen = []
    runner = threading.Thread(target=lambda: seen.append(run("import time; time.sleep(0.5)")))
    runner.start()
    while client.call("GET", "/health").sessions == 0:
        pass
    assert client.call("GET", "/v1/sessions").sessions == []
    assert client.call("POST", "/v1/repl", {"action": "list"}).sessions == []
    runner.join()
    assert seen[0].exit_code == 0


def test_who_goes_away_ends_it(client):
    sock = client.connect()
    sock.sendall(client.post_bytes("/v1/exec", {"code": "while True: pass", "profile": "min"}))
    while client.call("GET", "/health").sessions == 0:
        pass
    sock.close()
    while client.call("GET", "/health").sessions > 0:
        pass


def test_plots_and_cut_output_are_told_beside_the_agreed_members(run):
    answer = run("print('x' * 100000)\ndisplay(1)", budget=1000)
    assert len(answer.stdout) < 1200 and answer.truncated
    assert answer.outputs == [{"type": "text", "text": "1"}]


def test_mistakes_in_the_request(client):
    for body, word in [({}, "code"), ({"code": "1", "runtime": "perl"}, "runtime"),
                       ({"code": "1", "langauge": "py"}, "langauge")]:  # fmt: skip
        with pytest.raises(ApiError) as refusal:
            client.call("POST", "/v1/exec", body)
        assert refusal.value.status == 400 and word in refusal.value.message
