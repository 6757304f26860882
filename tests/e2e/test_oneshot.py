"""POST /v1/exec: code that runs once, in a sandbox that ends with it. The members of the answer and
the texts of its errors are what clients of warm REPL servers were written against, so they are
exact."""

import base64
import pickle
import threading

import pytest

from harness import host
from harness.client import ApiError

pytestmark = [pytest.mark.one_mode, pytest.mark.release]


@pytest.fixture
def run(client):
    def run_once(code, **members):
        return client.call("POST", "/v1/exec", {"code": code, "profile": "min", **members})

    return run_once


@pytest.mark.smoke
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
    [("20 + 22", "42\n"), ("x = 42\nx", "42\n"), ("# why\n'a'", "'a'\n"), ("x = 1\nx;", ""),
     ("None", ""), ("", "")],
)
def test_the_value_of_the_last_expression_is_shown(run, code, stdout):
    assert run(code).stdout == stdout


@pytest.mark.smoke
@pytest.mark.parametrize(("runtime", "code"), [
    ("python", "print(open('in/a.txt').read() + input() + input())\n"
               "print(sorted(open('b.bin', 'rb').read()))"),
    ("bash", "read x; read y; echo $(cat in/a.txt)$x$y; od -An -tu1 b.bin | tr -s ' '"),
])
def test_files_and_input_are_given(run, runtime, code):
    answer = run(code, runtime=runtime, stdin="x\ny\n", profile=None,
                 files={"in/a.txt": "A", "b.bin": "data:;base64,AP8="})
    assert answer.stdout.split() == ["Axy", *(["[0,", "255]"] if runtime == "python"
                                              else ["0", "255"])]
    assert answer["files"] == [] and answer.exit_code == 0  # they are nothing that it made


def test_a_file_that_it_was_given_and_changed_is_told(run):
    answer = run("open('a', 'w').write('new'); input()", files={"a": "old", "b": "old"})
    assert [file["path"] for file in answer["files"]] == ["a"]
    assert "EOFError" in answer.error


@pytest.mark.parametrize("members", [
    {"files": {"../x": ""}}, {"files": {"x": "data:;base64,?"}}, {"files": {"p" * 5000: ""}},
    {"stdin": "x" * 70_000}, {"files": {"": "x"}},
])
def test_files_and_input_that_cannot_be_given(run, members):
    with pytest.raises(ApiError) as refusal:
        run("1", **members)
    assert refusal.value.status == 400 and refusal.value.advice


def test_a_run_streams(client):
    code = "print('a')\ndisplay(5)\nprint(input('? '))\n6 * 7"
    events = list(client.events("/v1/exec", {"code": code, "stdin": "b\n", "profile": "min"}))
    assert [name for name, _ in events if name == "display"] == ["display"]
    told = "".join(event["text"] for name, event in events if name == "output")
    assert told == "a\n? b\n"
    name, result = events[-1]
    assert (name, result["stdout"], result["exit_code"]) == ("result", "42\n", 0)
    assert "outputs" not in result


@pytest.mark.smoke
def test_a_syntax_error(run):
    answer = run("def f(:\n  pass")
    assert (answer.stdout, answer.exit_code, answer.state) == ("", 1, None)
    assert answer.stderr == "SyntaxError: invalid syntax (line 1)"
    assert answer.error == "SyntaxError: invalid syntax"


@pytest.mark.smoke
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
    answer = run("print('on my way', flush=True)\nwhile True: pass", timeout_ms=3000)
    assert (answer.stdout, answer.exit_code) == ("on my way\n", 124)
    assert answer.error == "Execution timed out after 3 seconds"


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


@pytest.mark.smoke
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
        ("bash", "trap 'echo bye' EXIT; exec sh -c 'exit 6'", ("", 6, "Exited with code 6")),
        ("node", "console.log('hi'); process.exit(7)", ("hi\n", 7, "Exited with code 7")),
        ("node", "console.log('hi'); process.exitCode = 2; undefined",
         ("hi\n", 2, "Exited with code 2")),
        ("node", "const x = 20; x * 2 + 2", ("42\n", 0, None)),
        ("node", "process.exit()", ("", 0, None)),
        ("node", "console.log('hi'); 5", ("hi\n5\n", 0, None)),
        ("node", "console.log('hi'); const x = 5", ("hi\n", 0, None)),
        ("node", "console.log('hi'); throw new TypeError('no')", ("hi\n", 1, "TypeError: no")),
    ],
)
def test_other_runtimes(run, runtime, code, expected):
    answer = run(code, runtime=runtime, profile=None)
    assert (answer.stdout, answer.exit_code, answer.error) == expected


def test_nothing_is_left_and_nothing_is_shared(run, client):
    before = client.call("GET", "/v1/sessions").count
    run("leftover = 1; open('leftover', 'w').close()")
    answer = run("import os\nprint(os.listdir('.'), 'leftover' in globals())")
    assert answer.stdout == "[] False\n"
    assert client.call("GET", "/v1/sessions").count == before


def hidden(client):
    """How many live sessions are not listed."""
    listed = [s for s in client.sessions() if s.state not in ("dead", "suspended")]
    return client.call("GET", "/health").sessions - len(listed)


def test_it_is_not_listed_while_it_runs(run, client):
    host.eventually(lambda: hidden(client) == 0)
    seen, before = [], client.call("GET", "/v1/sessions").count
    listed = len(client.call("POST", "/v1/repl", {"action": "list"}).sessions)
    runner = threading.Thread(target=lambda: seen.append(run("import time; time.sleep(3)")))
    runner.start()
    host.eventually(lambda: hidden(client) == 1)
    assert client.call("GET", "/v1/sessions").count == before
    assert len(client.call("POST", "/v1/repl", {"action": "list"}).sessions) == listed
    runner.join()
    assert seen[0].exit_code == 0


def test_who_goes_away_ends_it(client):
    sock = client.connect()
    host.eventually(lambda: hidden(client) == 0)
    sock.sendall(client.post_bytes("/v1/exec", {"code": "while True: pass", "profile": "min"}))
    host.eventually(lambda: hidden(client) == 1)
    sock.close()
    host.eventually(lambda: hidden(client) == 0)


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


# State.


def test_state_goes_from_run_to_run(run):
    code = """
import json
x = [1]
y = x
_private = 1
def double(n): return n * 2
class Point: z = 3
"""
    first = run(code, capture_state=True)
    assert (first.exit_code, first.error) == (0, None)
    code = "x.append(double(Point.z))\nprint(x, y is x, '_private' in globals())"
    second = run(code, state=first.state, capture_state=True)
    assert second.stdout == "[1, 6] True False\n"
    assert run("print(y)", state=second.state).stdout == "[1, 6]\n"
    assert run("print(x)").error == "NameError: name 'x' is not defined"


def test_state_is_an_lz4_frame_of_a_cloudpickle(run):
    """As other servers make and take it; here without lz4, which not every client has."""
    frame = base64.b64decode(run("answer = 41", capture_state=True).state)
    assert frame[:4] == b"\x04\x22\x4d\x18"
    pickled = pickle.dumps({"answer": 41}, protocol=4)
    plain = b"\x04\x22\x4d\x18\x60\x40\x82" + (len(pickled) | 1 << 31).to_bytes(4, "little")
    given = base64.b64encode(plain + pickled + bytes(4)).decode()
    assert run("print(answer + 1)", state=given).stdout == "42\n"


def test_what_cannot_be_saved_is_skipped_and_listed(run):
    answer = run("n = 1\ng = (i for i in range(3))", capture_state=True)
    assert answer.state_errors == [
        "Note: 'g' (generator) not persisted - recreate or convert to list"
    ]
    assert (answer.exit_code, answer.error) == (0, None)
    assert run("print(n, 'g' in globals())", state=answer.state).stdout == "1 False\n"


def test_if_nothing_can_be_saved_that_is_the_error(run):
    answer = run("print('ran')\ng = (i for i in range(3))", capture_state=True)
    assert (answer.stdout, answer.exit_code, answer.state) == ("ran\n", 0, None)
    assert answer.error == "State serialization failed: cannot pickle 'generator' object"


def test_a_failed_run_leaves_no_state(run):
    assert run("x = 1\n1/0", capture_state=True).state is None


@pytest.mark.parametrize("state", ["!", base64.b64encode(b"nonsense").decode()])
def test_a_state_that_is_none(run, client, state):
    reply = client.request("POST", "/v1/exec", {"code": "1", "profile": "min", "state": state})
    if reply.status == 200:
        assert reply.json["error"].startswith("State could not be loaded: "), reply.json
        assert reply.json["exit_code"] == 1
    else:
        assert (reply.status, "base64" in reply.json["error"]["message"]) == (400, True)


def test_a_state_that_never_ends_is_stopped(run):
    class Loops:
        def __reduce__(self):
            return exec, ("while True: pass",)

    pickled = pickle.dumps({"x": Loops()}, protocol=4)
    plain = b"\x04\x22\x4d\x18\x60\x40\x82" + (len(pickled) | 1 << 31).to_bytes(4, "little")
    state = base64.b64encode(plain + pickled + bytes(4)).decode()
    answer = run("1", state=state, timeout_ms=500)
    assert (answer.exit_code, answer.error) == (124, "Execution timed out after 0.5 seconds")


def test_only_python_has_a_state(client):
    body = {"code": "true", "runtime": "bash", "capture_state": True}
    reply = client.request("POST", "/v1/exec", body)
    assert (reply.status, "Python" in reply.json["error"]["message"]) == (400, True)


@pytest.mark.slow
def test_large_states(launch):
    daemon = launch(config="default_profile: min\n", env={"STATE_MAX_SIZE_MB": "4"})

    def run(code, **members):
        return daemon.client.call("POST", "/v1/exec", {"code": code, **members})

    fits = run("import os; x = os.urandom(3 << 20)", capture_state=True)
    assert fits.error is None and len(fits.state) > 4 << 20
    assert run("print(len(x))", state=fits.state).stdout == f"{3 << 20}\n"
    over = run("import os; x = os.urandom(5 << 20)", capture_state=True)
    assert (over.exit_code, over.state) == (0, None)
    assert over.error.startswith("State serialization failed: ")
    assert "STATE_MAX_SIZE_MB" in over.error


# State that stays here under a name.


def test_state_under_a_name(run):
    count = "n = globals().get('n', 0) + 1\nprint(n)"
    for n in (1, 2, 3):
        answer = run(count, state_name="counter")
        assert (answer.stdout, answer.state) == (f"{n}\n", None)
        assert answer.state_bytes > 0 and answer.state_expires_at
    assert run(count + "\n1/0", state_name="counter").exit_code == 1
    assert "state_expires_at" not in run("print(n)", state_name="counter", state_ttl_secs=0)
    assert run("print(n)", state_name="counter").stdout == "3\n"
    assert run(count, state_name="another").stdout == "1\n"


# Files.


def test_files_can_be_had_for_a_time(run, client):
    code = """
import os
os.makedirs("plots/.cache")
open("plots/.cache/hidden", "w").close()
open("plots/übersicht 1.csv", "w").write("1,2")
open("big.bin", "wb").write(bytes(5 << 20))
os.symlink("/etc/passwd", "link")
"""
    big, table = run(code).files
    assert (big["name"], big["path"], big["size"]) == ("big.bin", "big.bin", 5 << 20)
    assert (table["name"], table["path"]) == ("übersicht 1.csv", "plots/übersicht 1.csv")
    reply = client.request("GET", table["url"])
    assert (reply.status, reply.body) == (200, b"1,2")
    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "filename*=UTF-8''%C3%BCbersicht%201.csv" in reply.headers["Content-Disposition"]
    assert client.request("GET", big["url"]).body == bytes(5 << 20)
    assert client.request("HEAD", big["url"]).headers["Content-Length"] == str(5 << 20)
    assert client.request("GET", "/v1/files/nonsense/x").status == 404


def test_who_stops_reading_a_file_disturbs_nobody(run, client):
    (big,) = run("open('big.bin', 'wb').write(bytes(20 << 20))").files
    socks = [client.connect() for _ in range(4)]
    for sock in socks:
        sock.sendall(client.head("GET", big["url"]) + b"\r\n")
        sock.recv(10)
    socks.pop().close()
    assert len(client.request("GET", big["url"]).body) == 20 << 20
    for sock in socks:
        sock.close()
    assert client.request("GET", "/health").status == 200


def test_files_are_found_in_a_directory_that_looks_untouched(run):
    code = (
        "import os\nbefore = os.stat('.').st_mtime_ns\nos.mkdir('deep')\n"
        "open('deep/a.txt', 'w').write('a')\nos.utime('.', ns=(before, before))"
    )
    for _ in range(3):
        assert [file["path"] for file in run(code).files] == ["deep/a.txt"]


def test_files_expire(launch):
    daemon = launch(config="default_profile: min\nfiles_ttl_secs: 1\n")
    body = {"code": "open('x', 'w').write('1')"}
    (file,) = daemon.client.call("POST", "/v1/exec", body).files
    host.eventually(lambda: daemon.client.request("GET", file["url"]).status == 404)


def test_states_are_listed_fetched_and_deleted(run, client):
    run("x = 1", state_name="kept/for ever", state_ttl_secs=0)
    run("x = 2", state_name="kept")
    listed = {s["name"]: s for s in client.call("GET", "/v1/states").states}
    assert "expires_at" not in listed["kept/for ever"] and listed["kept"]["expires_at"]
    one = client.call("GET", "/v1/states/kept")
    assert one == listed["kept"]
    whole = client.call("GET", "/v1/states/kept?with_state=true")
    assert run("print(x)", state=whole.state).stdout == "2\n"
    assert client.call("DELETE", "/v1/states/kept%2Ffor%20ever").deleted
    reply = client.request("GET", "/v1/states/kept%2Ffor%20ever")
    assert (reply.status, "kept/for ever" in reply.json["error"]["message"]) == (404, True)
