"""What people are used to from IPython: commands, magics, help. And that Python stays Python."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from peer import Peer

from harness import host

# Commands


def test_a_command_writes_into_the_cell(shared: Peer) -> None:
    answer = shared.run("!echo out; echo err >&2; exit 3")
    assert (answer.status, answer.stdout, answer.stderr) == ("ok", "out\n", "err\n")
    assert (answer.value, answer.command_status) == (None, 3)
    answer = shared.run("_exit_code")
    assert (answer.text, answer.command_status) == ("3", None)


def test_the_status_of_a_command_that_fails_is_told(shared: Peer) -> None:
    assert shared.run("!true").command_status is None
    assert shared.run("!(exit 4); exit 5\n!true").command_status == 5
    assert shared.run("x = !exit 6").command_status == 6
    assert shared.run("%%bash --no-raise-error\nexit 7").command_status == 7
    assert shared.run("!kill -9 $$").command_status == 137
    assert shared.run("1/0").command_status is None


def test_its_output_comes_while_it_runs(shared: Peer) -> None:
    running = shared.begin("!echo early; read x; echo late")
    running.wait_for_output("early")
    assert running.finish().stdout == "early\nlate\n"


def test_prints_and_commands_are_in_order(shared: Peer) -> None:
    answer = shared.run("print(1)\n!echo 2\nprint(3)\n!echo 4")
    assert answer.stdout == "1\n2\n3\n4\n"


def test_lines_of_a_command(shared: Peer) -> None:
    assert shared.value("x = !printf 'a b\\nc'\nx") == "['a b', 'c']"
    assert shared.value("x.n, x.s, x.l == list(x), x.grep('C'), x.fields(0)") == str(
        ("a b\nc", "a b c", True, ["c"], ["a", "c"])
    )
    assert shared.value("!!echo 1; echo 2 >&2") == "['1', '2']"
    assert shared.value("a, b = !printf '1\\n2'\nb") == "'2'"


def test_a_command_in_a_function_and_a_loop(shared: Peer) -> None:
    assert shared.run("def f(z):\n    !echo {z + 1}\nf(8)").stdout == "9\n"
    assert shared.run("for i in range(2):\n    !echo $i").stdout == "0\n1\n"


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("echo {n} {n:03d} {n * 2} {d['k']!r}", "5 005 10 v"),
        ("echo $n $d.missing.x '$n'", "5 {k: v}.missing.x $n"),
        ("n=7; echo $n.txt ${n} $$n", "5.txt 7 7"),
        ("echo {nope} {1 +} {", "{nope} {1 +} {"),
        ("echo {{n}} $nope", "{n}"),
        ("echo {n:>{n}}.", "5."),
        ("echo a b | awk '{print $2}'", "b"),
        ("n=7; echo ${n:-1}", "7"),
        ("echo 'it' $n \"it's $n\"", "it 5 it's 5"),
    ],
)
def test_values_in_commands(shared: Peer, command: str, written: str) -> None:
    shared.run("n = 5\nd = {'k': 'v'}")
    answer = shared.run("!" + command)
    assert answer.stdout.replace("'", "").strip() == written.replace("'", ""), answer


def test_a_command_that_is_continued(shared: Peer) -> None:
    answer = shared.run("!echo a \\\n  b\n1/0")
    assert answer.stdout == "a b\n" and answer.error["line"] == 3


def test_an_interrupt_ends_a_command_and_what_it_started(shared: Peer) -> None:
    running = shared.begin("!sh -c 'echo go; sleep 1000.25' & wait; echo no")
    running.wait_for_output("go")
    shared.interrupt()
    answer = running.finish()
    assert answer.status == "interrupted" and "no" not in answer.stdout
    line = "sleep\0001000.25\0"
    host.eventually(lambda: not any(line in host.read(f"/proc/{p}/cmdline") for p in host.pids()))
    assert shared.run("!echo on").stdout == "on\n"


@pytest.mark.parametrize(
    "code",
    ["print('on')\nx = !echo; sleep 1000", "%%bash\necho on; sleep 1000",
     "print('on')\n%timeit -n 1 sleep(1000)", "print('on')\n%time sleep(1000)"],
)
def test_whatever_takes_long_can_be_interrupted(shared: Peer, code: str) -> None:
    shared.run("from time import sleep")
    running = shared.begin(code)
    running.wait_for_output("on")
    shared.wait_until_it_waits()  # in the middle of it, most often
    shared.interrupt()
    assert running.finish().status == "interrupted"


def test_a_redirected_stdout_is_obeyed(shared: Peer) -> None:
    code = """
    import contextlib, io
    with contextlib.redirect_stdout(io.StringIO()) as text:
        !echo inside
    text.getvalue()
    """
    lines = [line[4:] for line in code.strip("\n").split("\n")]
    answer = shared.run("\n".join(lines))
    assert answer.text == "'inside\\n'" and answer.stdout == ""


# What is left alone


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("s = '''\n!no\n%no\nno?\n'''\n!true\ns", "'\\n!no\\n%no\\nno?\\n'"),
        ("s = f'''\n{1}\n%no\n'''\n!true\ns", "'\\n1\\n%no\\n'"),
        ("s = (7\n% 4)\n!true\ns", "3"),
        ("s = 7 \\\n% 4\n!true\ns", "3"),
        ("s = [1, # ]\n]\n!true\ns", "[1]"),
        ("s = 'a' # = !no\n!true\ns", "'a'"),
        ("s = '= !no'\n!true\ns", "'= !no'"),
        ("s = '%d' % 5\n!true\ns", "'5'"),
        ("s = 1 != 2\n!true\ns", "True"),
        ("s = dict(a='\\'', b=\"!\")\n!true\ns", "{'a': \"'\", 'b': '!'}"),
        ("s = rb'\\''\n!true\ns", "b\"\\\\'\""),
        ("s = f'{1:>3}' f\"{'a' + 'b':%<4}\"\n!true\ns", "'  1ab%%'"),
    ],
)
def test_texts_and_expressions_are_not_rewritten(shared: Peer, code: str, text: str) -> None:
    assert shared.value(code) == text


def test_nested_quotes_of_newer_pythons(shared: Peer) -> None:
    if shared.value("import sys\nsys.version_info >= (3, 12)") == "True":
        code = 'd = {"a": 1}\ns = f"{d["a"]}" f"{\nd["a"]\n%\n5:{"="}>3}"\n!true\ns'
        assert shared.value(code) == "'1==1'"


def test_a_syntax_error_is_told_as_before(shared: Peer) -> None:
    answer = shared.run("x = 1\ny = = 2")
    assert answer.error["name"] == "SyntaxError" and answer.error["line"] == 2
    answer = shared.run("f(\n!ls\n")
    assert answer.error["name"] == "SyntaxError" and "never closed" in answer.error["message"] or (
        answer.error["line"] in (1, 2, 3)
    )
    answer = shared.run("!echo no\ny = = 2")
    assert answer.error["line"] == 2 and answer.stdout == ""
    assert "y = = 2" in answer.traceback and "__magic__" not in answer.traceback


def test_lines_of_tracebacks_are_those_of_the_cell(shared: Peer) -> None:
    answer = shared.run("!true\ndef g():\n    return 1 / 0\n\n%time g()")
    assert answer.error["line"] == 3
    assert "line 5, in <module>\n    %time g()\n" in answer.traceback
    assert "__magic__" not in answer.traceback and "magics" not in answer.traceback
    answer = shared.run("\n%%time\nx = 1\n\n1 / 0")
    assert answer.error["line"] == 5


# So long that what grows with the square of it takes longer than a peer waits.
@pytest.mark.parametrize(
    "text",
    [
        "(" * 800_000, "'" * 799_999, "f'{" * 240_000, "!\\\n" * 240_000, "{" * 800_000 + "?",
        "a." * 400_000 + "?", "x = !true '" + "{" * 400_001,
        "!true '" + "{a" * 80_000 + "}" * 80_000,
        "!true '" + "{a:" * 20_000 + "}" * 20_000, "!true '" + "{a:" * 30 + "}" * 30,
        "!echo " + "$a." * 200_000, "%%time\n" * 8_000, "%time " * 80_000, "\\" * 800_000,
        "%" + "a" * 400_000, "%env " + "'" * 400_000, "=" * 400_000 + "\n?", "\n" * 400_000 + "!!",
        "f'{x:" * 200_000 + "\n!",
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
@pytest.mark.sampled(4)
def test_hostile_text_takes_no_time(shared: Peer, text: str) -> None:
    shared.run("a = 1")
    shared.run(text + "\n!true")
    assert shared.value("1 + 1") == "2"


# Magics


def test_an_unknown_magic_names_its_line_and_what_is_near(shared: Peer) -> None:
    answer = shared.run("x = 1\n%tme x")
    assert answer.status == "error" and answer.error["name"] == "UsageError"
    assert answer.error["line"] == 2
    assert "line 2: there is no line magic %tme" in answer.error["message"]
    assert "%time or %timeit" in answer.error["message"]
    answer = shared.run("%%bahs\nls")
    assert answer.error["line"] == 1 and "%%bash" in answer.error["message"]
    assert "but there is %%bash" in shared.run("%bash").error["message"]


def test_a_cell_magic_stands_on_the_first_line(shared: Peer) -> None:
    answer = shared.run("x = 5\n%%time\nx")
    assert answer.error["name"] == "SyntaxError" and answer.error["line"] == 2
    assert "%%time has to be the first line" in answer.error["message"]


def test_time(shared: Peer) -> None:
    answer = shared.run("%time sum(range(10))")
    assert answer.text == "45" and "CPU times: user " in answer.stdout
    assert "Wall time: " in answer.stdout
    answer = shared.run("%%time\nimport math\ny = math.pi\nround(y)")
    assert answer.text == "3" and "Wall time: " in answer.stdout
    assert shared.value("round(y, 1)") == "3.1"
    assert shared.run("%time y;").value is None
    assert shared.value("def f(n):\n    x = %time n + 1\n    return x\nf(1)") == "2"


def test_time_of_what_awaits(shared: Peer) -> None:
    began = time.monotonic()
    answer = shared.run("%%time\nimport asyncio\nawait asyncio.sleep(0.01)\n7")
    took_ms = (time.monotonic() - began) * 1000
    told = re.search(r"^Wall time: ([0-9.]+) (ms|s)$", answer.stdout, re.MULTILINE)
    assert answer.text == "7" and told, answer
    assert 10 <= float(told[1]) * (1 if told[2] == "ms" else 1000) <= took_ms, (answer, took_ms)


def test_timeit(shared: Peer) -> None:
    shared.run("n = 3")
    answer = shared.run("%timeit -n 10 -r 2 n + 1")
    assert "per loop (mean ± std. dev. of 2 runs, 10 loops each)" in answer.stdout
    answer = shared.run("%%timeit -n 5 -r 3 q = n\nq + 1\nq = 5")
    assert "of 3 runs, 5 loops each" in answer.stdout
    assert shared.run("q").error["name"] == "NameError"
    assert shared.value("r = %timeit -n 4 -r 1 -o -q 1\nr.loops, len(r.all_runs)") == "(4, 1)"
    assert shared.run("%timeit -n x 1").error["name"] == "UsageError"
    assert shared.run("%timeit -r 1 -n 1 1 / 0").error["line"] == 1


def test_scripts(shared: Peer) -> None:
    answer = shared.run("%%bash\nfor i in 1 2; do echo $i; done\necho e >&2")
    assert (answer.stdout, answer.stderr) == ("1\n2\n", "e\n")
    assert shared.run("%%sh --out got --err bad\necho {x}; echo b >&2").stdout == ""
    assert shared.value("got, bad") == "('{x}\\n', 'b\\n')"
    assert shared.run("%%script cat -n\nline").stdout.split() == ["1", "line"]
    assert shared.run("%%python3\nprint(6 * 7)").stdout == "42\n"
    answer = shared.run("%%bash\nexit 4")
    assert answer.error["name"] == "CalledProcessError"
    assert shared.value("_exit_code") == "4"
    assert shared.run("%%bash --no-raise-error\nexit 4").status == "ok"
    assert shared.run("%%script bash --no-raise-error\nexit 4").status == "ok"
    assert "no program" in shared.run("%%script no-such-program\nx").error["message"]
    long = "echo " + "x" * 300_000
    assert len(shared.run("%%bash\n" + long).stdout) == 300_001


def test_files(shared: Peer, tmp_path: Path) -> None:
    path = tmp_path / "a file.txt"
    shared.run(f"path = {str(path)!r}")
    assert shared.run("%%writefile '{path}'\none\n!two").stdout == f"Writing {path}\n"
    assert shared.run("%%file -a '{path}'\n%three").stdout == f"Appending to {path}\n"
    assert path.read_text() == "one\n!two\n%three\n"
    assert shared.run("%%writefile").error["name"] == "UsageError"


def test_capture(shared: Peer) -> None:
    code = "import sys\nprint('a')\n!echo b\nprint('c', file=sys.stderr)\ndisplay(5)\n6"
    answer = shared.run("%%capture got\n" + code)
    assert (answer.stdout, answer.stderr, answer.value, answer.displays) == ("", "", None, [])
    assert shared.value("got.stdout, got.stderr, len(got.outputs)") == "('a\\nb\\n', 'c\\n', 2)"
    answer = shared.run("got.show()")
    assert answer.stdout == "a\nb\n" and [one["text"] for one in answer.displays] == ["5", "6"]
    answer = shared.run("%%capture got\nprint('x')\n1/0")
    assert answer.error["line"] == 3 and shared.value("got.stdout") == "'x\\n'"
    assert shared.run("display(7)").displays[0]["text"] == "7"


def test_shown_as_what_it_is(shared: Peer) -> None:
    shown = [shared.run(f"%%{kind}\n<b>").displays[0] for kind in ("html", "markdown", "latex")]
    assert [one["type"] for one in shown] == ["html", "markdown", "latex"]
    assert shown[0]["html"] == "<b>"
    script = "<IPython.core.display.Javascript object>"
    assert shared.run("%%javascript\nf()").displays == [
        {"type": "text", "text": script, "mime": {"application/javascript": "f()"}}]


def test_directories_and_the_environment(fresh: Peer, tmp_path: Path) -> None:
    assert fresh.value("%pwd") == repr(fresh.cwd)
    assert fresh.run(f"d = {str(tmp_path)!r}\n%cd {{d}}").stdout == f"{tmp_path}\n"
    assert fresh.run("!pwd").stdout == f"{tmp_path}\n"
    fresh.run("%%writefile seen\nx")
    assert fresh.run("%ls").stdout == "seen\n" and fresh.run("%cat seen").stdout == "x\n"
    assert fresh.run("%cd -").stdout == f"{fresh.cwd}\n"
    assert fresh.run("%cd /no/such").error["name"] == "FileNotFoundError"
    assert fresh.run("%env WORD=a b").stdout == "env: WORD=a b\n"
    assert fresh.value("%env WORD") == "'a b'"
    assert fresh.run("!echo $WORD").stdout == "a b\n"
    fresh.run("%set_env WORD c")
    assert fresh.value("%env WORD") == "'c'"
    assert fresh.value("e = %env\ne['WORD']") == "'c'"


def test_names(fresh: Peer) -> None:
    assert fresh.run("%who").stdout == "Interactive namespace is empty.\n"
    fresh.run("a, b, _c = 1, [1, 2], 3")
    assert fresh.run("%who").stdout.split() == ["a", "b"]
    assert fresh.value("%who_ls int") == "['a']"
    rows = [line.split() for line in fresh.run("%whos").stdout.splitlines()]
    assert rows[0] == ["Variable", "Type", "Data/Info"] and rows[2:] == [
        ["a", "int", "1"], ["b", "list", "n=2"]
    ]  # fmt: skip
    assert fresh.run("%reset_selective -f ^a").status == "ok"
    assert fresh.value("%who_ls") == "['b']"
    assert fresh.run("%reset", answers=["n"]).stdout == "Nothing done.\n"
    assert fresh.value("b") == "[1, 2]"
    fresh.run("%reset", answers=["y"])
    assert fresh.run("b").error["name"] == "NameError"
    fresh.run("b = 1")
    fresh.run("%reset -f")
    assert fresh.value("%who_ls") == "[]" and fresh.value("__name__") == "'__main__'"


def test_help(shared: Peer) -> None:
    shared.run("def helped(a, b=2):\n    '''Tells.'''\n    return a")
    for code in ("helped?", "?helped", "%pinfo helped"):
        written = shared.run(code).stdout
        assert "helped(a, b=2)" in written and "Tells." in written and "return a" not in written
    assert "return a" in shared.run("helped??").stdout
    shared.run("box = [helped, 'text']")
    assert "Tells." in shared.run("box[0]?").stdout
    assert "str" in shared.run("box[1]?").stdout and "Length" in shared.run("box?").stdout
    assert "Return the number" in shared.run("len?").stdout
    assert "not found" in shared.run("nothing.here?").stdout
    assert "how long" in shared.run("%time?").stdout
    assert "help" in shared.run("help*?").stdout
    assert "!COMMAND" in shared.run("?").stdout


def test_run(fresh: Peer, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint(__name__, sys.argv[1:], __file__)\nmade = 5\n"
                      "def twice(n): return n * made\n")  # fmt: skip
    assert fresh.run(f"%run {script} a 'b c'").stdout == f"__main__ ['a', 'b c'] {script}\n"
    assert fresh.value("made, twice(2), __name__") == "(5, 10, '__main__')"
    assert fresh.run("__file__").error["name"] == "NameError"
    script.write_text("seen = hidden + 1\n")
    fresh.run("hidden = 1")
    assert fresh.run(f"%run {script}").error["name"] == "NameError"
    fresh.run(f"%run -i {script}")
    assert fresh.value("seen") == "2"
    script.write_text("import sys\nsys.exit(3)\n")
    assert fresh.run(f"%run {script}").error["name"] == "SystemExit"
    assert "no file" in fresh.run("%run nothing.py").error["message"]
    notebook = tmp_path / "n.ipynb"
    cells = [{"cell_type": "code", "source": ["k = 1\n", "!echo in"]},
             {"cell_type": "markdown", "source": "x"}]  # fmt: skip
    notebook.write_text(json.dumps({"cells": cells}))
    assert fresh.run(f"%run {notebook}").stdout == "in\n" and fresh.value("k") == "1"


def test_modules_are_loaded_again(fresh: Peer, tmp_path: Path) -> None:
    fresh.run(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n%cd -q {tmp_path}")
    module = tmp_path / "changing.py"
    module.write_text("def f():\n    return 1\n")
    assert fresh.run("%load_ext autoreload\n%autoreload 2").status == "ok"
    assert fresh.value("import changing\nfrom changing import f\nf()") == "1"
    fresh.run("pass")
    at = module.stat()
    module.write_text("def f():\n    return 22\n")
    os.utime(module, ns=(at.st_atime_ns, at.st_mtime_ns))  # as within one tick of the clock
    assert fresh.value("f(), changing.f()") == "(22, 22)"
    fresh.run("%autoreload 0")


@pytest.mark.parametrize(
    "code",
    [
        "%matplotlib inline", "%config InlineBackend.figure_format = 'retina'", "%precision 3",
        "%matplotlib", "%xmode Verbose", "%colors NoColor", "%autoreload", "%lsmagic", "%quickref",
        "%autosave 60",
    ],
)  # fmt: skip
def test_habits_are_accepted(shared: Peer, code: str) -> None:
    assert shared.run(code).status == "ok"


def test_commands_without_a_mark(fresh: Peer, tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("text\n")
    fresh.run(f"place = {str(tmp_path)!r}")
    answer = fresh.run("cd -q {place}\nx = 1\nif x:\n    cat afile\ncat = {}\n{} == cat")
    assert (answer.stdout, answer.text) == ("text\n", "True")
    assert "Usage:" in fresh.run("pip help\ny = 2").stdout
    assert fresh.run("ls").stdout == "afile\n" == fresh.run(f"ls {tmp_path}\n").stdout
    assert "afile" in fresh.run("ls -l").stdout
    assert fresh.value("pwd") == repr(str(tmp_path))
    assert fresh.value("y") == "2"


def test_what_is_python_is_no_command(fresh: Peer) -> None:
    assert fresh.run("ls = [1]; l = 2").status == "ok"
    assert fresh.value("ls") == "[1]"
    assert fresh.run("ls -l").error["name"] == "TypeError"
    assert fresh.run("pwd = 5").status == "ok"
    assert fresh.value("pwd") == "5"
    error = fresh.run("pip install nothing\nx = = 1").error
    assert (error["name"], error["line"]) == ("SyntaxError", 2)
    text = "x = '''\nrm -r y\n'''\nz = (\n'rm -r y')\ncd nowhere"
    assert fresh.run(text).error["name"] == "FileNotFoundError"
    assert fresh.value("x, z") == r"('\nrm -r y\n', 'rm -r y')"


def test_where_the_time_goes(fresh: Peer) -> None:
    fresh.run("def slow(n):\n    return sum(range(n))")
    out = fresh.run("%prun -l 5 -s cumulative z = slow(1000)").stdout
    assert "slow" in out and "{built-in method builtins.sum}" in out
    assert "Ordered by: cumulative time" in out
    assert fresh.value("z") == "499500"
    assert "slow" in fresh.run("%%prun\nfor i in range(3):\n    slow(i)").stdout
    answer = fresh.run("s = %prun -q -r slow(5)")
    assert (answer.status, answer.stdout) == ("ok", "")
    assert fresh.value("type(s).__name__") == "'Stats'"
    assert "line 2, in <module>" in fresh.run("%%prun\n1/0").traceback
    assert "cannot sort by 'x'" in fresh.run("%prun -s x 1").error["message"]


def test_the_last_traceback(fresh: Peer) -> None:
    assert fresh.run("%tb").stdout == "No traceback available to show.\n"
    failed = fresh.run("1/0")
    fresh.run("pass")
    assert fresh.run("%tb").stdout == failed.traceback


def test_history(fresh: Peer) -> None:
    fresh.run("x = 1")
    fresh.run("%time x")
    assert fresh.run("%history").stdout == "x = 1\n%time x\n%history\n"
    assert fresh.run("%history -n 1-2").stdout == "   1: x = 1\n   2: %time x\n"


def test_conda_is_not_here(fresh: Peer) -> None:
    fresh.run("%env PATH=/nowhere")
    assert "no conda here" in fresh.run("%conda install x").error["message"]


# get_ipython()


def test_the_shell_object(shared: Peer) -> None:
    code = "ip = get_ipython()\nip.run_line_magic('time', '5'), ip.getoutput('echo 1'), ip.ev('2')"
    assert shared.value(code) == "(5, ['1'], 2)"
    assert shared.run("ip.system('echo {1 + 1}')").stdout == "2\n"
    assert shared.run("ip.run_cell_magic('bash', '', 'echo b')").stdout == "b\n"
    assert shared.value("ip.magic('pwd')") == repr(shared.cwd)
    assert shared.value("ip.user_ns is globals()") == "True"
    assert shared.run("ip.run_cell('7')").displays[0]["text"] == "7"
    shared.run("def mine(line, cell=None):\n    return line, cell")
    shared.run("ip.register_magic_function(mine, 'line_cell')")
    assert shared.value("%mine a") == "('a', None)"
    assert shared.value("%%mine a\nb") == "('a', 'b')"


def test_builtins_that_were_replaced(fresh: Peer) -> None:
    code = "import builtins\nbuiltins.len = builtins.isinstance = builtins.str = None\n"
    fresh.run(code + "del builtins.print, builtins.__magic__, builtins.get_ipython")
    assert fresh.run("!echo on").stdout == "on\n"
    assert fresh.run("x = !echo a\nx").text is not None
    assert fresh.run("%time 5").text == "5"
    assert "per loop" in fresh.run("%timeit -n 1 -r 1 5").stdout
    assert fresh.run("%%bash\necho b").stdout == "b\n"
    fresh.run("__builtins__ = {}")
    assert fresh.run("!echo still").stdout == "still\n"
