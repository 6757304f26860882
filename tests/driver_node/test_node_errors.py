"""What a failing cell tells, and what fails behind a cell's back."""

from __future__ import annotations

import pytest
from node_peer import NodePeer
from peer import PATIENCE


def test_the_stack_is_the_users(shared: NodePeer) -> None:
    answer = shared.run("function f() {\n  throw new TypeError('bad')\n}\n\nf()")
    assert answer.status == "error" and answer.value is None
    assert (answer.error["name"], answer.error["message"]) == ("TypeError", "bad")
    assert (answer.error["line"], answer.error["column"]) == (2, 9)
    cell = f"<cell {shared._next_id}>"
    assert answer.traceback == f"TypeError: bad\n    at f ({cell}:2:9)\n    at {cell}:5:1\n"


def test_a_function_of_an_earlier_cell(fresh: NodePeer) -> None:
    fresh.run("const thrower = () => { throw new RangeError('from afar') }")
    answer = fresh.run("1\nthrower()")
    assert "at thrower (<cell 1>:1:31)" in answer.traceback
    assert "at <cell 2>:2:1" in answer.traceback
    assert answer.error["line"] == 2


@pytest.mark.parametrize(
    "code, line, column, message",
    [
        ("let x = ;", 1, 9, "Unexpected token ';'"),
        ("1\n2\n  foo bar", 3, 7, "Unexpected identifier"),
        ("if (1) {\n", 2, 1, "Unexpected end of input"),
        ("'unterminated", 1, 1, "Invalid or unexpected token"),
        ("return 5", 1, 1, "Illegal return statement"),
    ],
)
def test_syntax_errors(shared: NodePeer, code: str, line: int, column: int, message: str) -> None:
    answer = shared.run(code)
    assert answer.error["name"] == "SyntaxError"
    assert answer.error["message"].startswith(message)
    assert (answer.error["line"], answer.error["column"]) == (line, column)
    place = f"<cell {shared._next_id}>:{line}\n{code.split(chr(10))[line - 1]}\n"
    assert answer.traceback.startswith(f"{place}{' ' * (column - 1)}^\n\nSyntaxError: ")
    assert "node:" not in answer.traceback and ".js" not in answer.traceback


@pytest.mark.parametrize(
    "code, message, shown",
    [
        ("throw 5", "5", "Uncaught 5\n"),
        ("throw undefined", "undefined", "Uncaught undefined\n"),
        ("throw { a: 1 }", "{ a: 1 }", "Uncaught { a: 1 }\n"),
        ("await Promise.reject('why')", "'why'", "Uncaught 'why'\n"),
        ("throw null", "null", "Uncaught null\n"),
    ],
)
def test_what_is_thrown_need_not_be_an_error(
    shared: NodePeer, code: str, message: str, shown: str
) -> None:
    answer = shared.run(code)
    assert answer.status == "error"
    assert (answer.error["name"], answer.error["message"]) == ("Uncaught", message)
    assert answer.traceback == shown


def test_causes_and_properties(shared: NodePeer) -> None:
    answer = shared.run("throw new Error('outer', { cause: new TypeError('inner') })")
    assert "Error: outer" in answer.traceback and "[cause]: TypeError: inner" in answer.traceback
    answer = shared.run("fs.readFileSync('/does/not/exist')")
    assert answer.error["name"] == "Error" and "ENOENT" in answer.error["message"]
    assert "code: 'ENOENT'" in answer.traceback and answer.traceback.rstrip().endswith("}")
    assert "readFileSync" in answer.traceback
    every = shared.run("await Promise.any([Promise.reject(new Error('one'))])")
    assert every.error["name"] == "AggregateError" and "one" in every.traceback


def test_errors_that_resist(shared: NodePeer) -> None:
    assert shared.run("throw Object.create(Error.prototype)").status == "error"
    broken = "class E extends Error { get name() { throw 1 } }\nthrow new E('x')"
    assert shared.run(broken).status == "error"
    assert shared.run("const e = new Error('x'); e.stack = 5; throw e").status == "error"
    assert shared.run("const e = new Error(); e.message = { a: 1 }; throw e").status == "error"
    assert shared.run("throw new Proxy({}, { get() { throw 2 } })").status == "error"
    long = shared.run("throw new Error('x'.repeat(1e6))")
    assert len(long.error["message"]) < 1 << 15 and len(long.traceback) < 1 << 17


def test_endless_recursion(shared: NodePeer) -> None:
    answer = shared.run("const again = () => again() + 1; again()")
    assert answer.error["name"] == "RangeError"
    assert "Maximum call stack" in answer.error["message"]
    assert shared.value("1+1") == "2"


def test_an_unhandled_rejection_fails_its_cell(shared: NodePeer) -> None:
    answer = shared.run("Promise.reject(new RangeError('nobody cares')); 5")
    assert answer.status == "error" and answer.value is None
    assert (answer.error["name"], answer.error["message"]) == ("RangeError", "nobody cares")
    assert "at <cell" in answer.traceback and answer.stderr == ""
    answer = shared.run("(async () => { null.x })(); 'value'")
    assert answer.error["name"] == "TypeError"
    answer = shared.run("Promise.reject(7)")
    assert answer.status == "error" and "7" in answer.error["message"]
    assert shared.run("Promise.reject(1).catch(() => {}); 6").text == "6"


def test_an_exception_in_a_callback_fails_a_cell_that_waits(shared: NodePeer) -> None:
    answer = shared.run("await new Promise(() => setTimeout(() => { null.x }, 2))")
    assert answer.error["name"] == "TypeError" and "<cell" in answer.traceback
    answer = shared.run("process.nextTick(() => { throw new Error('tick') }); 1")
    assert answer.error["message"] == "tick"
    answer = shared.run("queueMicrotask(() => { throw new Error('micro') }); 1")
    assert answer.error["message"] == "micro"
    emitter = "new (require('events'))().emit('error', new Error('emitted'))"
    assert shared.run(emitter).error["message"] == "emitted"


def test_what_fails_later_is_told_on_the_stderr_of_its_cell(fresh: NodePeer) -> None:
    one = fresh.run("setTimeout(() => { throw new Error('too late') }, 20)")
    two = fresh.run("setTimeout(() => Promise.reject(new Error('later still')), 20); 1")
    running = fresh.begin("await new Promise((r) => setTimeout(r, 60)); 'unharmed'")
    assert "Uncaught Error: too late\n    at" in fresh.everything(one, "<cell 1>", 1)
    assert "later still" in fresh.everything(two, "<cell 2>", 1)
    answer = running.finish()
    assert (answer.status, answer.text, answer.stderr) == ("ok", "'unharmed'", "")


def test_user_code_may_handle_them_itself(fresh: NodePeer) -> None:
    fresh.run("process.on('uncaughtException', (e) => console.log('caught', e.message))")
    answer = fresh.run("setTimeout(() => { throw new Error('x') }, 1);"
                       "await new Promise((r) => setTimeout(r, 10)); 1")  # fmt: skip
    assert (answer.status, answer.stdout) == ("ok", "caught x\n")
    fresh.run("process.removeAllListeners('uncaughtException')")
    fresh.run("process.on('unhandledRejection', (e) => console.log('seen', e))")
    answer = fresh.run("Promise.reject(3); await new Promise((r) => setTimeout(r, 5)); 2")
    assert (answer.text, answer.stdout) == ("2", "seen 3\n")
    fresh.run("process.on('uncaughtException', () => { throw new Error('worse') })")
    answer = fresh.run("setTimeout(() => { throw 1 }, 1); await new Promise(() => {})")
    assert answer.error["message"] == "worse"


EXITS = [
    ("process.exit(7)", 7),
    ("process.exit()", 0),
    ("process.exitCode = 3; process.exit()", 3),
    ("setTimeout(() => process.exit(9), 1); await new Promise(() => {})", 9),
    ("process.on('exit', (c) => console.log('bye', c)); process.exit(4)", 4),
    ("try { process.exit(2) } catch {} finally { console.log('no') }", 2),
    ("await 1; process.exit(6)", 6),
    ("Promise.resolve().then(() => process.exit(5)); await new Promise(() => {})", 5),
    ("process.on('exit', () => process.exit(8)); process.exit(4)", 8),
    ("process.nextTick(() => process.exit(1)); await new Promise(() => {})", 1),
    ("require('vm').runInNewContext('f()', { f: () => process.exit(11) }, { timeout: 9000 })", 11),
]


@pytest.mark.parametrize("code, status", EXITS)
@pytest.mark.sampled(2)
def test_an_exit_ends_the_cell_only(fresh: NodePeer, code: str, status: int) -> None:
    fresh.run("var kept = 1")
    for _ in range(3):
        fresh.names = "changes"
        answer = fresh.run(f"var made = 2; console.log('so far'); {code}; console.log('no')")
        out = "so far\n" + ("bye 4\n" if "bye" in code else "")
        assert (answer.exit_code, answer.stdout, answer.stderr) == (status, out, "")
        if status == 0:
            assert (answer.status, answer.error) == ("ok", None)
        else:
            assert (answer.status, answer.error["name"]) == ("error", "SystemExit")
            assert answer.error["message"] == str(status)
        fresh.names = None
        fresh.run("process.removeAllListeners('exit')")
        assert fresh.value("kept + made + (process.exitCode ?? 0)") == "3"
        assert fresh.run("await new Promise((r) => setTimeout(r, 1)); 5").exit_code is None


def test_an_exit_tells_the_names(fresh: NodePeer) -> None:
    fresh.names = "changes"
    answer = fresh.run("var made = 2; process.exit(1)")
    assert answer.names["added"] == ["made"]


def test_an_exit_after_the_cell_ends_nothing(fresh: NodePeer) -> None:
    one = fresh.run("var gate; new Promise((r) => gate = r).then(() => process.exit(3)); 1")
    answer = fresh.run("gate(); await new Promise((r) => setTimeout(r, 5)); 'unharmed'")
    assert (answer.status, answer.text, answer.exit_code) == ("ok", "'unharmed'", None)
    said = one.stderr + answer.stderr
    assert "process.exit(3) of a cell that is over: the session goes on" in said


def test_a_listener_that_fails_does_not_spoil_later_exits(fresh: NodePeer) -> None:
    fresh.run("process.once('exit', () => { throw new Error('in it') })")
    assert fresh.run("process.exit(3)").error["message"] == "in it"
    answer = fresh.run("process.once('exit', () => console.log('ran')); process.exit(4)")
    assert (answer.stdout, answer.exit_code) == ("ran\n", 4)


@pytest.mark.parametrize(
    "code, status",
    [
        *EXITS,
        ("process.abort()", -6),
        ("process.kill(process.pid, 'SIGKILL')", -9),
        ("process.kill(process.pid, 'SIGTERM'); await new Promise(() => {})", -15),
    ],
)
@pytest.mark.sampled(2)
def test_exits_end_the_session(start, code: str, status: int) -> None:
    """Where they are to."""
    peer = start()
    peer.exit_ends = True
    running = peer.begin("console.log('so far'); " + code)
    with pytest.raises(EOFError):
        running.finish()
    assert peer.process.wait(PATIENCE) == status
    assert running.rest()[0].startswith("so far\n")
    if "bye" in code:
        assert "bye 4" in running.rest()[0]
    peer.close()


def test_an_exit_code_alone_ends_nothing(fresh: NodePeer) -> None:
    answer = fresh.run("process.exitCode = 5")
    assert (answer.status, answer.exit_code) == ("ok", 5)
    answer = fresh.run("process.exitCode")
    assert (answer.text, answer.exit_code) == ("5", None)


def test_the_end_of_the_socket_ends_the_session(start) -> None:
    peer = start()
    peer.run("setInterval(() => {}, 1000)")
    peer.close()
    assert peer.process.returncode == 0
