"""input(), getpass and sys.stdin: a cell asks, its caller answers."""

from __future__ import annotations

import os
import signal

import pytest
from peer import Peer


def test_a_line(shared: Peer) -> None:
    running = shared.begin("print('before', end='')\nname = input('Name? ')\nprint(name)\nname")
    assert running.wait_for_question() == {
        "ev": "input", "id": running.cell_id, "prompt": "Name? ", "password": False
    }  # fmt: skip
    assert running.stdout() == "before"  # and not the prompt
    running.answer("Ada ")
    answer = running.finish()
    assert (answer.text, answer.stdout) == ("'Ada '", "beforeAda \n")


@pytest.mark.parametrize(
    ("code", "answers", "value"),
    [
        ("input()", [""], "''"),
        ("[input() for _ in range(3)]", ["a", "b", "c"], "['a', 'b', 'c']"),
        ("input(5)", ["x"], "'x'"),
        ("def f():\n    def g(): return input('?')\n    return g()\nf()", ["deep"], "'deep'"),
        ("input()", ["żółć 🐍 \x07"], "'żółć 🐍 \\x07'"),
        ("input(), input(), input()", ["one\ntwo", "three"], "('one', 'two', 'three')"),
        ("sys.stdin.readline()", ["line"], "'line\\n'"),
        ("sys.stdin.readline(), sys.stdin.readline()", ["l", None], "('l\\n', '')"),
        ("sys.stdin.readline(2), sys.stdin.readline()", ["abc"], "('ab', 'c\\n')"),
        ("list(sys.stdin)", ["a", "b", None], "['a\\n', 'b\\n']"),
        ("sys.stdin.readlines()", ["a", None], "['a\\n']"),
        ("sys.stdin.read()", ["a\nb", "c", None], "'a\\nb\\nc\\n'"),
        ("sys.stdin.read(3), sys.stdin.readline()", ["abcd"], "('abc', 'd\\n')"),
        ("sys.stdin.read(0)", [], "''"),
        ("sys.stdin.buffer.readline()", ["ä"], "b'\\xc3\\xa4\\n'"),
        ("sys.stdin.buffer.read(3)", ["abcd"], "b'abc'"),
        ("sys.stdin.buffer.read()", ["a", None], "b'a\\n'"),
        ("sys.stdin.buffer.read1()", ["ab"], "b'ab\\n'"),
        ("b = bytearray(2)\nsys.stdin.buffer.readinto(b), b", ["ab"], "(2, bytearray(b'ab'))"),
        ("io.TextIOWrapper(sys.stdin.buffer).readline()", ["x"], "'x\\n'"),
        ("next(iter(sys.stdin))", ["first"], "'first\\n'"),
        ("next(csv.reader(sys.stdin))", ["a,b"], "['a', 'b']"),
        ("sum(int(line) for line in fileinput.input('-'))", ["1", "2", None], "3"),
        ("input() + sys.stdin.readline()", ["a", "b"], "'ab\\n'"),
        ("try:\n    input()\nexcept EOFError as e:\n    r = str(e)\nr", [None],
         "'EOF when reading a line'"),
        ("await asyncio.get_running_loop().run_in_executor(None, input, 'p')", ["x"], "'x'"),
        ("async def f():\n    return input('p')\nawait f()", ["y"], "'y'"),
    ],
)  # fmt: skip
def test_ways_to_read(shared: Peer, code: str, answers: list, value: str) -> None:
    shared.run("import sys, io, csv, fileinput, asyncio")
    answer = shared.run(code, answers=answers)
    assert (answer.status, answer.text) == ("ok", value), answer
    assert answer.stdout == answer.stderr == ""


def test_the_end_of_the_input_is_not_the_last_word(shared: Peer) -> None:
    answer = shared.run("input()", answers=[None])
    assert answer.error["name"] == "EOFError"
    assert "/drivers/python/" not in answer.traceback
    assert shared.run("input()", answers=["again"]).text == "'again'"


def test_a_password(shared: Peer) -> None:
    running = shared.begin("import getpass\nfrom getpass import getpass as g\nlen(g())")
    question = running.wait_for_question()
    assert (question["prompt"], question["password"]) == ("Password: ", True)
    running.answer("secret")
    answer = running.finish()
    assert (answer.text, answer.stdout, answer.stderr) == ("6", "", "")
    running = shared.begin("getpass.getpass('PIN: ', stream=None)")
    assert running.wait_for_question()["prompt"] == "PIN: "
    running.answer("1")
    assert running.finish().text == "'1'"


def test_everything_written_before_is_there(shared: Peer) -> None:
    running = shared.begin(
        "import ctypes, os, sys\nctypes.CDLL(None).printf(b'c ')\nsys.stdout.write('py ')\n"
        "os.system('printf \"sh \"')\ndisplay(1)\ninput()"
    )
    assert shared.receive()["ev"] == "display"
    shared.send({"op": "ack", "id": running.cell_id})
    running.wait_for_question()
    assert sorted(running.stdout().split()) == ["c", "py", "sh"]
    running.answer("")
    assert running.finish().status == "ok"


def test_long_and_odd_prompts(shared: Peer) -> None:
    def ask(code: str) -> tuple:
        running = shared.begin(code)
        question = running.wait_for_question()
        running.answer("x")
        assert running.finish().text == "'x'"
        return question["prompt"], running.stdout()

    assert ask("input('y' * 4096)") == ("y" * 4096, "")
    prompt, written = ask("input('menu\\n' * 2000 + 'choice? ')")
    assert prompt.endswith("choice? ") and len(prompt) <= 4096 and written.startswith("menu\n")
    assert written + prompt == "menu\n" * 2000 + "choice? "
    prompt, written = ask("input('€' * 5000)")
    assert written + prompt == "€" * 5000 and len(prompt.encode()) <= 4096
    assert ask("input('a\\0b')") == ("a\\x00b", "")
    assert ask("input('\\udc80')") == ("\\udc80", "")
    assert ask("class P:\n    def __str__(self): return 'made'\ninput(P())") == ("made", "")
    answer = shared.run("class P:\n    def __str__(self): return 1/0\ninput(P())")
    assert answer.error["name"] == "ZeroDivisionError"


def test_stdin_is_a_real_text_stream(shared: Peer) -> None:
    shared.run("import sys")
    assert shared.value("sys.stdin.fileno(), sys.stdin.isatty(), sys.stdin.name") == (
        "(0, False, '<stdin>')"
    )
    assert shared.value("sys.stdin.readable(), sys.stdin.writable(), sys.stdin.seekable()") == (
        "(True, False, False)"
    )
    assert shared.value("sys.stdin.encoding, sys.stdin.errors, sys.stdin.mode") == (
        "('utf-8', 'surrogateescape', 'r')"
    )
    assert shared.value("sys.stdin is sys.__stdin__") == "True"
    assert shared.value("import os\nos.path.samestat(os.fstat(0), os.stat('/dev/null'))") == "True"
    assert shared.run("import subprocess\nsubprocess.run(['cat'])").status == "ok"
    assert shared.value("input.__name__, input.__module__") == "('input', 'builtins')"


def test_a_stdin_of_the_users(shared: Peer) -> None:
    code = (
        "import io, sys, getpass, warnings\nsys.stdin = io.StringIO('typed\\nsecret')\n"
        "warnings.simplefilter('ignore')\ntry:\n    a = input('p'), getpass.getpass('q')\n"
        "finally:\n    sys.stdin = sys.__stdin__\na"
    )
    answer = shared.run(code)
    assert answer.text == "('typed', 'secret')" and answer.stdout == "p"


def test_what_closes_and_detaches_it(fresh: Peer) -> None:
    fresh.run("import sys\nsys.stdin.close()")
    assert fresh.run("input()", answers=["a"]).text == "'a'"
    assert fresh.run("exit()").status == "ok"
    assert fresh.run("sys.stdin.readline()", answers=["b"]).text == "'b\\n'"
    fresh.run("x = sys.stdin.detach()")
    assert fresh.run("input() + sys.stdin.readline()", answers=["c", "d"]).text == "'cd\\n'"
    fresh.run("import os\nos.close(0)")
    assert fresh.run("input()", answers=["e"]).text == "'e'"


def test_an_interrupt_withdraws_the_question(fresh: Peer) -> None:
    for code in ("input('p')", "import sys\nsys.stdin.read()", "async def f(): input()\nawait f()"):
        running = fresh.begin(code)
        running.wait_for_question()
        fresh.interrupt()
        answer = running.finish()
        assert answer.status == "interrupted", answer
        assert code.splitlines()[-1] in answer.traceback
        running.answer("too late")
        assert fresh.run("input()", answers=["fresh"]).text == "'fresh'"
    assert fresh.value("1+1") == "2"


def test_an_interrupt_that_is_caught(fresh: Peer) -> None:
    running = fresh.begin(
        "try:\n    a = input('first')\nexcept KeyboardInterrupt:\n    print('caught')\n"
        "import time\nwhile not os_path_exists(flag): time.sleep(0.001)\n"
        "b = input('second')\nb".replace("os_path_exists", "__import__('os').path.exists")
        .replace("flag", f"'/tmp/cella-input-{os.getpid()}'")
    )
    running.wait_for_question()
    fresh.wait_until_it_waits()  # a signal a moment before would be slept through
    fresh.interrupt()
    running.wait_for_output("caught\n")
    running.answer("of the first")  # unread when the second question is asked
    with open(f"/tmp/cella-input-{os.getpid()}", "w"):
        pass
    assert running.wait_for_question()["prompt"] == "second"
    os.unlink(f"/tmp/cella-input-{os.getpid()}")
    running.answer("of the second")
    assert running.finish().text == "'of the second'"


def test_a_users_alarm_ends_the_wait(fresh: Peer) -> None:
    running = fresh.begin(
        "import signal\ndef late(n, f): raise TimeoutError('nobody there')\n"
        "signal.signal(signal.SIGALRM, late)\ninput()"
    )
    running.wait_for_question()
    fresh.wait_until_it_waits()  # a signal a moment before would be slept through
    os.kill(fresh.pid, signal.SIGALRM)
    assert running.finish().error["name"] == "TimeoutError"
    running.answer("x")
    assert fresh.value("1+1") == "2"


def test_late_and_foreign_answers_are_ignored(fresh: Peer) -> None:
    fresh.send({"op": "input", "id": 1, "text": "nobody asked"})
    running = fresh.begin("input()")
    running.wait_for_question()
    fresh.send({"op": "input", "id": 99, "text": "of another cell"})
    running.answer("right")
    assert running.finish().text == "'right'"
    fresh.send({"op": "input", "id": 1, "text": "twice"})
    assert fresh.value("1+1") == "2"


def test_what_is_left_of_an_answer_is_not_for_the_next_cell(fresh: Peer) -> None:
    assert fresh.run("input()", answers=["one\ntwo"]).text == "'one'"
    assert fresh.run("input()", answers=["asked"]).text == "'asked'"


def test_a_thread_of_the_cell(shared: Peer) -> None:
    code = (
        "import threading\ngot = []\ndef work(): got.append(input('in a thread'))\n"
        "ts = [threading.Thread(target=work) for _ in range(3)]\n"
        "for t in ts: t.start()\nfor t in ts: t.join()\nsorted(got)"
    )
    assert shared.run(code, answers=["a", "b", "c"]).text == "['a', 'b', 'c']"


def test_an_interrupt_while_a_thread_waits(fresh: Peer) -> None:
    running = fresh.begin(
        "import threading\nt = threading.Thread(target=input)\nt.start()\nt.join()"
    )
    running.wait_for_question()
    fresh.interrupt()
    answer = running.finish()
    assert answer.status == "interrupted"
    assert fresh.value("t.join()\nt.is_alive()") == "False"
    told = answer.stderr  # by the thread: before the verdict or after it
    if "answered" not in told:
        told += fresh.read_late(1, "answered", 1)
    assert "the cell ended before this line was answered" in told


def test_a_display_behind_a_thread_that_waits(fresh: Peer) -> None:
    """It comes after the answer, and meanwhile it can be interrupted."""
    code = (
        "import threading, time\nt = threading.Thread(target=input)\nt.start()\n"
        "while not go: time.sleep(0.001)\nprint('on')\ndisplay(5)\nt.join()"
    )
    running = fresh.begin("go = [1]\n" + code)
    running.wait_for_question()
    running.wait_for_output("on")
    running.answer("x")
    answer = running.finish()
    assert answer.status == "ok" and len(answer.displays) == 1
    running = fresh.begin(code)
    running.wait_for_question()
    running.wait_for_output("on")
    fresh.wait_until_it_waits()
    fresh.interrupt()
    assert running.finish().status == "interrupted"
    assert fresh.value("1+1") == "2"


def test_a_thread_that_outlives_its_cell(fresh: Peer) -> None:
    fresh.run(
        "import threading\ngo = threading.Event()\ncaught = []\ndef late():\n    go.wait()\n"
        "    for ask in (input, sys.stdin.readline):\n        try: ask()\n"
        "        except RuntimeError as e: caught.append(str(e))\nimport sys\n"
        "t = threading.Thread(target=late)\nt.start()"
    )
    answer = fresh.run("go.set(); t.join()\ncaught")
    assert answer.text is not None and answer.text.count("outlived its cell") == 2
    fresh.run(
        "caught.clear()\ndef soon():\n    import time\n    while running: time.sleep(0.001)\n"
        "    late()\nrunning = True\nt = threading.Thread(target=soon)\nt.start()"
    )
    fresh.run("running = False")
    assert "outlived" in str(fresh.value("t.join()\ncaught"))


def test_a_forked_child_meets_the_end(fresh: Peer) -> None:
    code = (
        "import os, sys\npid = os.fork()\nif pid == 0:\n    try: input('p')\n"
        "    except EOFError: os._exit(7 if sys.stdin.read() == '' else 8)\n"
        "os.WEXITSTATUS(os.waitpid(pid, 0)[1])"
    )
    assert fresh.value(code) == "7"
    code = (
        "import multiprocessing as mp\ndef work(n):\n    try: return input()\n"
        "    except EOFError: return 'end'\n"
        "with mp.get_context('fork').Pool(2) as pool:\n    r = pool.map(work, [1, 2])\nr"
    )
    assert fresh.value(code) == "['end', 'end']"
    assert fresh.run("input()", answers=["parent"]).text == "'parent'"


def test_a_debugger(fresh: Peer) -> None:
    running = fresh.begin("x = 41\nbreakpoint()\nx += 1\nprint('after')\nx")
    prompts = []
    for command in ("p x", "n", "p x", "c"):
        prompts.append(running.wait_for_question()["prompt"])
        running.answer(command)
    answer = running.finish()
    assert prompts == ["(Pdb) "] * 4
    assert answer.status == "ok" and answer.text == "42"
    assert "41\n" in answer.stdout and "after\n" in answer.stdout
    answer = fresh.run("import pdb; pdb.set_trace()\ny = 2\ny", answers=["q"])
    assert answer.error["name"] == "BdbQuit"
    assert fresh.value("1+1") == "2"


def test_stepping_out_of_a_cell_does_not_enter_the_driver(fresh: Peer) -> None:
    running = fresh.begin("breakpoint()\nx = 1")
    steps = 0
    while True:
        frame = fresh.receive()
        if frame["ev"] != "input":
            break
        steps += 1
        assert steps < 10
        running.answer("s")
    assert frame["status"] == "ok"
    assert "_cella" not in running.stdout() and "/drivers/python/" not in running.stdout()
    assert fresh.value("1+1") == "2"  # and the debugger does not stop there


def test_the_post_mortem(fresh: Peer) -> None:
    fresh.run("import pdb, sys\ndef f(secret): 1/0")
    code = "try:\n    f(5)\nexcept ZeroDivisionError:\n    pdb.post_mortem(sys.exc_info()[2])"
    answer = fresh.run(code, answers=["p secret", "q"])
    assert answer.status == "ok" and "5\n" in answer.stdout


def test_help_and_input_of_the_standard_library(fresh: Peer) -> None:
    answer = fresh.run("import code\ncode.interact(banner='')", answers=["6*7", None])
    assert answer.status == "ok" and "42\n" in answer.stdout
    running = fresh.begin("import cmd\nclass C(cmd.Cmd):\n    def do_q(self, a): return True\n"
                          "C().cmdloop()")  # fmt: skip
    assert running.wait_for_question()["prompt"] == "(Cmd) "
    running.answer("q")
    assert running.finish().status == "ok"


def test_the_daemon_goes_while_a_cell_waits(python: str) -> None:
    peer = Peer.start(python)
    running = peer.begin("input()")
    running.wait_for_question()
    peer.close()
    assert peer.process.returncode in (0, 1)


def test_a_signal_handler_within_a_display_or_a_question(fresh: Peer) -> None:
    """It cannot talk to the daemon in the middle of that, and must not wait for it either."""
    code = (
        "import signal\ncaught = []\ndef handler(n, f):\n    display('within')\n"
        "    try: input()\n    except RuntimeError as e: caught.append(str(e))\n    print('on')\n"
        "signal.signal(signal.SIGUSR1, handler)\n"
    )
    running = fresh.begin(code + "display(1)\ncaught")
    assert fresh.receive()["ev"] == "display"
    fresh.wait_until_it_waits()  # a signal a moment before would be slept through
    os.kill(fresh.pid, signal.SIGUSR1)
    running.wait_for_output("on")
    fresh.send({"op": "ack", "id": 1})
    answer = running.finish()
    assert answer.text == "['input was asked for within another question or display']"
    assert answer.stdout == "'within'\non\n"
    running = fresh.begin(code + "input('outer'), caught")
    running.wait_for_question()
    fresh.wait_until_it_waits()
    os.kill(fresh.pid, signal.SIGUSR1)
    running.wait_for_output("on")
    running.answer("x")
    assert "('x', [" in running.finish().text
