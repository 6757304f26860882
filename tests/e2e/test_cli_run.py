"""`cella run`: a notebook from beginning to end, its outputs checked by Jupyter's own tools."""

import json
import os
import pty
import re
import select
import signal
import subprocess

import nbformat
import pytest

from harness import jupyter
from harness.client import Session
from harness.host import PATIENCE, eventually
from harness.shell import Shell

v4 = nbformat.v4

pytestmark = pytest.mark.one_mode


class Runner(Shell):
    """Runs notebooks of one folder."""

    def __init__(self, daemon, folder):
        super().__init__(daemon.binary, daemon.user, daemon.data)
        self.folder = folder

    def options(self):
        return {**super().options(), "cwd": self.folder}

    def write(self, cells, name="in.ipynb", **metadata):
        notebook = v4.new_notebook(cells=[c if isinstance(c, dict) else v4.new_code_cell(c)
                                          for c in cells], metadata=metadata)
        (self.folder / name).write_text(nbformat.writes(notebook))
        return name

    def read(self, name="out.ipynb"):
        notebook = nbformat.reads((self.folder / name).read_text(), 4)
        nbformat.validate(notebook)
        return notebook

    def run(self, cells, *options, check=0, **metadata):
        """The notebook that came out of it."""
        self.done = self("run", self.write(cells, **metadata), "-o", "out.ipynb", *options)
        assert self.done.returncode == check, self.done
        return self.read()


@pytest.fixture
def runner(daemon, folder):
    return Runner(daemon, folder)


def tagged(source, *tags):
    return v4.new_code_cell(source, metadata={"tags": list(tags)})


def kinds(cell):
    return [o["output_type"] for o in cell.outputs]


def text(cell):
    return "".join(o.get("text", "") for o in cell.outputs)


# what is collected


@pytest.mark.smoke
@pytest.mark.slow
def test_every_output_is_in_its_place(runner):
    made = runner.run([
        v4.new_markdown_cell("# Title"),
        "import sys\nprint('a')\nprint('b')\ndisplay('shown')\nprint('c')\n"
        "plt.plot([1]); plt.show()\nprint('w', file=sys.stderr)\n6 * 7",
        "pd.DataFrame({'x': [1, 2]})",
        "x = 1",
    ], "--profile", "data")
    markdown, first, second, third = made.cells
    assert markdown.source == "# Title"
    assert [(c.execution_count, kinds(c)) for c in (second, third)] == [
        (2, ["execute_result"]), (3, [])]
    assert kinds(first) == ["stream", "display_data", "stream", "display_data", "stream",
                            "execute_result"]
    assert [o.text for o in first.outputs if "text" in o] == ["a\nb\n", "c\n", "w\n"]
    assert first.outputs[1].data["text/plain"] == "'shown'"
    assert first.outputs[3].data["image/png"].startswith("iVBOR")
    assert first.outputs[5].data["text/plain"] == "42"
    assert "<table" in second.outputs[0].data["text/html"]
    own = first.metadata["mcp_repl"]
    assert own["state"] == "COMPLETED" and own["execution_time"] > 0 and own["executed_at"]
    assert first.metadata["execution"]["shell.execute_reply"] >= own["executed_at"]
    assert "4 of 4" not in runner.done.stdout and "3 of 3 code cells" in runner.done.stdout


@pytest.mark.smoke
def test_displays_are_updated_also_in_earlier_cells_and_cleared(runner):
    made = runner.run([
        "handle = display('one', display_id='k')\nprint('x')",
        "handle.update('two')",
        "from IPython.display import clear_output\n"
        "for i in range(3):\n    clear_output(wait=True)\n    print(i)",
        "print('x')\nclear_output()",
        "print('kept')\nclear_output(wait=True)",
    ])
    assert made.cells[0].outputs[0].data["text/plain"] == "'two'"
    assert kinds(made.cells[1]) == []
    assert [text(c) for c in made.cells[2:]] == ["2\n", "", "kept\n"]


def test_figures_left_open_come_after_the_value(runner):
    made = runner.run(["import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\n"
                       "plt.plot([1])\nplt.figure()\n'value'"])
    figure, value, *late = [o.data["text/plain"] for o in made.cells[0].outputs]
    assert figure == "<Figure size 640x480 with 1 Axes>" and value == "'value'"
    assert late == [figure, "<Figure size 640x480 with 0 Axes>"]


@pytest.mark.smoke
def test_an_update_of_what_was_cleared_is_shown_where_it_was_made(runner):
    made = runner.run(["from IPython.display import clear_output\n"
                       "handle = display('old', display_id='k')\nclear_output()\nprint('kept')",
                       "handle.update('new')\n1"])
    assert [[o.get("text") or o.data["text/plain"] for o in c.outputs] for c in made.cells] == [
        ["kept\n"], ["'new'", "1"]]


@pytest.mark.parametrize("then", ["", "try: input()\nexcept EOFError: pass\n"])
@pytest.mark.slow
def test_an_output_that_no_event_can_hold_is_not_lost(runner, then):
    made = runner.run(["print('before')\nimport os\nfrom PIL import Image\n"
                       "display(Image.frombytes('RGB', (1300, 1300), os.urandom(1300 * 1300 * 3)))"
                       f"\n{then}'value'"])
    by_kind = {o["output_type"]: o for o in made.cells[0].outputs}
    assert by_kind["stream"]["text"] == "before\n"
    assert len(by_kind["display_data"]["data"]["image/png"]) > 4 << 20
    assert by_kind["execute_result"]["data"]["text/plain"] == "'value'"


@pytest.mark.slow
def test_what_a_cell_shows_beyond_what_a_notebook_keeps_is_counted(runner):
    made = runner.run(["from IPython.display import HTML\nfor i in range(6):\n"
                       "    display(HTML('x' * 1_000_000))",
                       "print('y' * 3_000_000 + 'end')\n1"], "--profile", "min")
    pages = [o for o in made.cells[0].outputs if "text/html" in o.get("data", {})]
    assert 3 <= len(pages) <= 4 and "left out" in str(made.cells[0].outputs)
    assert text(made.cells[1]).endswith("end\n") and 1 << 20 <= len(text(made.cells[1])) < 2 << 20
    assert made.cells[1].outputs[-1].data["text/plain"] == "1"


@pytest.mark.each_mode
def test_old_outputs_do_not_pretend_to_be_of_this_run(runner):
    def old():
        return v4.new_code_cell("print('new')", execution_count=40, outputs=[
            v4.new_output("stream", name="stdout", text="old")])
    made = runner.run([old(), "1/0", old(), v4.new_code_cell("  \n")], check=1)
    assert [(c.execution_count, text(c)) for c in made.cells] == [
        (1, "new\n"), (2, ""), (None, ""), (None, "")]
    assert [c.metadata["mcp_repl"]["state"] for c in made.cells] == [
        "COMPLETED", "ERROR", "IDLE", "IDLE"]


def test_cells_tagged_skip_execution_stay_as_they_are(runner):
    skipped = tagged("1/0", "skip-execution")
    skipped.outputs = [v4.new_output("stream", name="stdout", text="old")]
    made = runner.run([skipped, "1"])
    assert (text(made.cells[0]), made.cells[1].execution_count) == ("old", 1)


def test_input_is_at_its_end(runner):
    made = runner.run(["try:\n    input('?')\nexcept EOFError:\n    print('none')"])
    assert text(made.cells[0]) == "none\n"


# errors


def test_a_failure_ends_the_run_and_is_told(runner):
    made = runner.run(["x = 1", "def f():\n    return 1 / 0\nf()", "x = 2"], check=1)
    error = made.cells[1].outputs[-1]
    assert (error.ename, error.evalue) == ("ZeroDivisionError", "division by zero")
    assert error.traceback[-1].startswith("ZeroDivisionError")
    assert made.cells[2].execution_count is None
    assert "In [2], cell 1 (counted from 0), failed" in runner.done.stderr
    assert "return 1 / 0" in runner.done.stderr
    assert "2 of 3 code cells ran" in runner.done.stderr and runner.done.stdout == ""


@pytest.mark.each_mode
def test_errors_can_be_allowed(runner):
    made = runner.run(["1/0", "print('on')"], "--allow-errors")
    assert text(made.cells[1]) == "on\n" and "1 failed" in runner.done.stdout
    made = runner.run([tagged("1/0", "raises-exception"), "print('on')"])
    assert text(made.cells[1]) == "on\n"


def test_a_cell_has_its_time(runner):
    made = runner.run(["print('x')\nwhile True: pass", "1"], "--timeout", "1500ms", check=1)
    assert made.cells[0].metadata["mcp_repl"]["state"] == "TIMEOUT"
    assert text(made.cells[0]) == "x\n" and kinds(made.cells[0])[-1] == "error"


def test_a_cell_that_ends_its_interpreter(runner):
    made = runner.run(["x = 5", "import os; os._exit(3)", "6 * 7"], "--allow-errors")
    assert made.cells[1].metadata["mcp_repl"]["state"] == "DIED"
    assert made.cells[1].outputs[-1].traceback
    assert made.cells[2].outputs[0].data["text/plain"] == "42"


def test_json_for_programs(runner):
    runner.write(["1", "1/0"])
    done = runner("run", "in.ipynb", "-o", "out.ipynb", "--json", check=1)
    told = json.loads(done.stdout)
    assert (told["status"], told["code_cells"], told["ran"], told["failed"]) == ("failed", 2, 2, 1)
    assert told["failed_cell"]["index"] == 1
    assert told["failed_cell"]["error"]["name"] == "ZeroDivisionError"
    assert [c["status"] for c in told["cells"]] == ["ok", "error"]
    assert told["session_id"] is None
    done = runner("run", "in.ipynb", "--json", "--allow-errors", "--keep", check=0)
    told = json.loads(done.stdout)
    assert (told["status"], told["ran"], told["failed"], done.stderr) == ("ok", 2, 1, "")
    runner("kill", told["session_id"], check=0)


@pytest.mark.parametrize("args, words", [
    ([], "name one notebook"),
    (["in.ipynb", "again.ipynb"], "name one notebook"),
    (["in.ipynb", "-p", "x"], "two values"),
    (["in.ipynb", "-p", "1x", "2"], "no name of a parameter"),
    (["in.ipynb", "-p", "x", "[1,"], "looks like JSON"),
    (["in.ipynb", "--timeout", "soon"], "no"),
    (["in.ipynb", "--kernel", "ir"], "no runtime for the kernel"),
    (["in.ipynb", "-o", "out.py"], "no place for outputs"),
    (["in.ipynb", "-o", "-", "--json"], "standard output"),
    (["-"], "-o out.ipynb"),
    (["in.ipynb", "-o", "no/such/folder.ipynb"], "cannot be written"),
])
def test_mistakes_are_told_before_anything_runs(runner, args, words):
    runner.write(["open('/workspace/ran', 'w')"])
    done = runner("run", *args)
    assert done.returncode not in (0, 1) and words in done.stderr + done.stdout, done


def test_a_language_that_cella_does_not_run(runner):
    runner.write(["1"], kernelspec={"name": "ir", "display_name": "R", "language": "R"})
    done = runner("run", "in.ipynb")
    assert done.returncode == 64 and "language is R" in done.stderr


# parameters


@pytest.mark.each_mode
def test_parameters_go_behind_the_defaults(runner):
    cells = ["first = 1", tagged("a = 1\nb = 2\nc = 'x'", "parameters"), "print([a, b, c])"]
    options = ["-p", "a", "-2.5", "-p", "b", "[1, null, true, {\"k\": 0.1}]", "-r", "c", "007"]
    made = runner.run(cells, *options)
    assert made.cells[2].metadata["tags"] == ["injected-parameters"]
    assert text(made.cells[3]) == "[-2.5, [1, None, True, {'k': 0.1}], '007']\n"
    # The result of a run can be run again: its parameters are replaced.
    runner("run", "out.ipynb", "-o", "again.ipynb", "-p", "a", "5", check=0)
    again = runner.read("again.ipynb")
    assert len(again.cells) == 4 and text(again.cells[3]) == "[5, 2, 'x']\n"


@pytest.mark.parametrize("given, seen", [
    ("12", "12"), ("-0.5", "-0.5"), ("+.5", "0.5"), ("1e3", "1000.0"), ("true", "True"),
    ("False", "False"), ("None", "None"), ("null", "None"), ("~", "None"), ("007", "'007'"),
    ("123456789012345678901234567890", "123456789012345678901234567890"), ("", "''"),
    ("it's \"quoted\" \\ {x}\n\t", "'it\\'s \"quoted\" \\\\ {x}\\n\\t'"), ("[]", "[]"),
    ("\"12\"", "'12'"), ("1.2.3", "'1.2.3'"), ("ünï 🎉", "'ünï 🎉'"), ("-", "'-'"),
    ("{\"__proto__\": {\"a\": []}}", "{'__proto__': {'a': []}}"), ("\"\\u0000\"", "'\\x00'"),
])
@pytest.mark.sampled(4)
def test_what_a_value_is(runner, given, seen):
    made = runner.run(["print(repr(x))"], "-p", "x", given)
    assert text(made.cells[1]) == seen + "\n"


JAVASCRIPT = {"kernelspec": {"name": "javascript", "display_name": "JS", "language": "javascript"}}
BASH = {"kernelspec": {"name": "bash", "display_name": "Bash", "language": "bash"}}


@pytest.mark.each_mode
def test_node(runner):
    value = {"k": [1, None, True, "it's \u2028\n"], "__proto__": 5}
    made = runner.run([tagged("let x = 1;", "parameters"), "console.log(JSON.stringify(x))",
                       "x.k.length"], "-p", "x", json.dumps(value), **JAVASCRIPT)
    assert json.loads(text(made.cells[2])) == value
    assert made.cells[3].outputs[0].data["text/plain"] == "4"
    assert made.metadata.kernelspec.name == "javascript"


@pytest.mark.parametrize("keyword", ["let", "const", "var"])
def test_a_parameter_of_node_is_declared_again(runner, keyword):
    made = runner.run([tagged(f"{keyword} x = 1;", "parameters"), "x"], "-p", "x", "2",
                      **JAVASCRIPT)
    assert made.cells[2].outputs[0].data["text/plain"] == "2"


@pytest.mark.each_mode
def test_bash(runner):
    made = runner.run([tagged("x=1", "parameters"), "echo \"$x|${l[1]}|${m[b c]}|$n|$z|\""],
                      "-p", "x", "it's $HOME `id`", "-p", "l", "[1, \"a b\"]",
                      "-p", "m", "{\"b c\": false}", "-p", "n", "1.50", "-p", "z", "null", **BASH)
    assert text(made.cells[2]) == "it's $HOME `id`|a b|false|1.50||\n"
    made = runner.run(["echo x; (exit 3)", "echo y"], check=1, **BASH)
    assert made.cells[0].outputs[-1].ename == "ExitStatus"


# where it comes from and goes to


def test_a_script_with_cells(runner):
    (runner.folder / "code.py").write_text(
        "import math\n\n# %% [markdown]\n# # Title\n#\n# text\n\n"
        "# %% tags=[\"parameters\"]\nx = 1\n\n#%% named\nprint(x)\n# %%%% no mark\n")
    runner("run", "code.py", "-p", "x", "2", check=0)
    made = runner.read("code.out.ipynb")
    assert [c.cell_type for c in made.cells] == ["code", "markdown", "code", "code", "code"]
    assert made.cells[1].source == "# Title\n\ntext"
    assert made.cells[4].source == "print(x)\n# %%%% no mark" and text(made.cells[4]) == "2\n"
    (runner.folder / "code.sh").write_text("echo $((6 * 7))\n")
    runner("run", "code.sh", "-o", "sh.ipynb", check=0)
    assert text(runner.read("sh.ipynb").cells[0]) == "42\n"


def test_a_script_whose_name_does_not_say_so(runner):
    (runner.folder / "code").write_text("echo one\n# %%\necho two\n")
    runner("run", "code", "--from", "script", "--runtime", "bash", check=0)
    assert [text(c) for c in runner.read("code.out.ipynb").cells] == ["one\n", "two\n"]


@pytest.mark.each_mode
def test_standard_streams_pages_and_its_own_place(runner):
    name = runner.write(["print('hello')"])
    source = (runner.folder / name).read_text()
    done = runner("run", "-", "-o", "-", stdin=source, check=0)
    assert nbformat.reads(done.stdout, 4).cells[0].outputs[0].text == "hello\n"
    runner("run", name, "-o", "page.html", check=0)
    assert "hello" in (runner.folder / "page.html").read_text()
    runner("run", name, "-o", name, check=0)
    assert text(runner.read(name).cells[0]) == "hello\n"
    assert json.loads(runner("run", name, "-o", "/dev/null", "--json", check=0).stdout)["ran"] == 1


@pytest.mark.parametrize("flag", ["--kernel", "--runtime"])
def test_another_language_than_the_notebook_says(runner, flag):
    made = runner.run(["console.log(1 + 1)"], flag, "node")
    assert text(made.cells[0]) == "2\n" and made.metadata.kernelspec.name == "javascript"


def test_the_session_is_as_it_was_asked_for(runner, client):
    code = "import os, sys; print(os.getcwd(), os.environ['A'], 'pandas' in sys.modules)"
    made = runner.run([code], "--cwd", "/tmp", "--env", "A=b c", "--profile", "min",
                      "--idle-timeout", "77s", "--agent", "default", "--debug", "--keep")
    assert text(made.cells[0]) == "/tmp b c False\n"
    session = client.call("GET", f"/v1/sessions/{runner.done.stderr.split()[1]}")
    assert (session.profile, session["idle_timeout_secs"], session["debug"]) == ("min", 77, True)
    client.call("DELETE", f"/v1/sessions/{session.session_id}")


def test_it_runs_as_an_agent_and_through_a_binding(launch, folder):
    strict = launch(config="""\
default_profile: min
agents:
  - id: ana
    repl: {enabled: true}
inbound_bindings:
  - plugin: mail
    repl: {enabled: true, allowed_runtimes: [bash]}
""")
    runner = Runner(strict, folder)
    who = ["--agent", "ana", "--binding", "mail"]
    made = runner.run(["echo hello"], *who, "--keep", **BASH)
    assert text(made.cells[0]) == "hello\n"
    session = strict.client.call("GET", f"/v1/sessions/{runner.done.stderr.split()[1]}")
    assert (session["agent"], session["binding"]) == ("ana", "mail")
    runner.write(["print('hello')"])
    refused = runner("run", "in.ipynb", *who)
    assert refused.returncode not in (0, 1) and "this binding's allowed_runtimes" in refused.stderr
    assert text(runner.run(["print('hello')"], "--agent", "ana").cells[0]) == "hello\n"


@pytest.mark.each_mode
def test_the_session_ends_unless_it_is_kept(runner, client):
    before = {s.session_id for s in client.sessions()}
    runner.run(["x = 41"])
    assert {s.session_id for s in client.sessions()} <= before
    runner.run(["x = 41"], "--keep")
    session_id = runner.done.stderr.split()[1]
    assert runner("exec", "-s", session_id, "x + 1", check=0).stdout == "42\n"
    runner("kill", session_id, check=0)


@pytest.mark.each_mode
def test_files_beside_it_are_not_there_and_those_of_a_session_can_be(runner, session):
    (runner.folder / "beside.txt").write_text("host")
    session.exec("open('data.txt', 'w').write('from the session')")
    cells = ["import os; print(os.path.exists('beside.txt'), os.path.exists('data.txt'))"]
    assert text(runner.run(cells).cells[0]) == "False False\n"
    assert text(runner.run(cells, "--join", session.id).cells[0]) == "False True\n"
    assert session.value("1 + 1") == "2"  # the run ends, who was joined does not


@pytest.mark.slow
def test_nbconvert_opens_what_came_out(runner):
    runner.run([v4.new_markdown_cell("# T"), "print('there it is')\nplt.plot([1]); plt.show()",
                "pd.DataFrame({'x': [1]})", "1/0"], "--allow-errors")
    page = jupyter.page_of(runner.folder / "out.ipynb")
    assert "there it is" in page and "data:image/png" in page and "ZeroDivisionError" in page


# while it runs


def has_run(runner, n, name="out.ipynb"):
    path = runner.folder / name
    if not path.exists():
        return False
    cells = json.loads(path.read_text())["cells"]  # never half of one
    return sum(c.get("execution_count") is not None for c in cells) >= n


SLOW = ["print('first')", "print('second')", "import time\ntime.sleep(60)"]


@pytest.mark.each_mode
def test_a_kill_leaves_what_ran(runner):
    runner.write(SLOW)
    process = runner.start("run", "in.ipynb", "-o", "out.ipynb")
    eventually(lambda: has_run(runner, 2))
    process.kill()
    process.communicate()
    assert [text(c) for c in runner.read().cells] == ["first\n", "second\n", ""]
    assert not list(runner.folder.glob("*~"))


@pytest.mark.slow
def test_what_takes_long_to_write_is_written_while_the_next_cell_runs(runner):
    words = v4.new_markdown_cell("words " * 2_000_000)  # 12 MB
    runner.write([*SLOW[:-1], "import time\ntime.sleep(600)", words])
    process = runner.start("run", "in.ipynb", "-o", "out.ipynb")
    eventually(lambda: has_run(runner, 2))
    process.kill()
    process.communicate()
    cells = runner.read().cells
    assert [text(c) for c in cells[:3]] == ["first\n", "second\n", ""]
    assert cells[2].execution_count is None


@pytest.mark.each_mode
def test_ctrl_c_interrupts_the_cell_and_ends_the_run(runner, client):
    before = {s.session_id for s in client.sessions()}
    runner.write(SLOW)
    process = runner.start("run", "in.ipynb", "-o", "out.ipynb")
    eventually(lambda: has_run(runner, 2))
    eventually(lambda: any(s.state == "busy" and s.session_id not in before
                           for s in client.sessions()))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and b"KeyboardInterrupt" in errors, errors
    assert runner.read().cells[2].metadata["mcp_repl"]["state"] == "INTERRUPTED"


def test_ctrl_c_ends_the_run_though_the_cell_catches_it(runner, client):
    before = {s.session_id for s in client.sessions()}
    code = "import time\ntry: time.sleep(600)\nexcept KeyboardInterrupt: print('caught')"
    runner.write([code, "print('not reached')"])
    process = runner.start("run", "in.ipynb", "-o", "out.ipynb", "--allow-errors")
    eventually(lambda: any(s.state == "busy" and s.session_id not in before
                           for s in client.sessions()))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and b"nterrupt" in errors, errors
    assert b"1 of 2 code cells ran" in errors, errors
    cells = runner.read().cells
    assert cells[1].execution_count is None
    assert [cell.metadata["mcp_repl"]["state"] for cell in cells] in (
        ["COMPLETED", "IDLE"], ["INTERRUPTED", "IDLE"],  # that before it began
    )


def test_a_second_ctrl_c_leaves_a_cell_that_does_not_end(runner, client):
    before = {s.session_id for s in client.sessions()}
    runner.write(["import time\nwhile True:\n    try: print('begun'); time.sleep(600)\n"
                  "    except KeyboardInterrupt: pass"])
    process = runner.start("run", "in.ipynb", "-o", "out.ipynb")
    eventually(lambda: any("begun" in Session(client, s).output()["text"]
                           for s in client.sessions()
                           if s.state == "busy" and s.session_id not in before))
    process.send_signal(signal.SIGINT)
    assert b"Ctrl-C again leaves it" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and runner.read().cells[0].execution_count is None
    assert {s.session_id for s in client.sessions() if s.state != "dead"} <= before


def test_a_cell_that_raises_an_interrupt_may_fail_as_others(runner):
    sources = ["print('a')", "raise KeyboardInterrupt", "print('b')"]
    cells = runner.run(sources, "--allow-errors").cells
    assert (text(cells[0]), text(cells[2])) == ("a\n", "b\n")
    assert cells[1].outputs[0].ename == "KeyboardInterrupt"
    assert runner.run(sources, check=130).cells[2].execution_count is None


def test_a_termination_leaves_no_session(runner, client):
    before = {s.session_id for s in client.sessions()}
    runner.write(SLOW)
    process = runner.start("run", "in.ipynb", "-o", "out.ipynb")
    eventually(lambda: has_run(runner, 2))
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert {s.session_id for s in client.sessions() if s.state != "dead"} <= before
    assert text(runner.read().cells[1]) == "second\n"


def test_progress_is_shown_to_people(runner):
    runner.write(["x = 1", "# a comment\x1b[2J\nimport time\ntime.sleep(3.5)"])
    ours, theirs = pty.openpty()
    process = subprocess.Popen([runner.binary, "run", "in.ipynb"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=theirs, **runner.options())
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], PATIENCE)[0]:
        try:
            seen += os.read(ours, 4096)
        except OSError:
            break
    os.close(ours)
    assert process.communicate(timeout=PATIENCE)[0] and process.returncode == 0
    assert b"cell 1 of 2: x = 1" in seen and b"cell 2 of 2: # a comment" in seen
    assert b"\x1b[2J" not in seen and re.search(rb"  [123]s", seen)
    assert seen.endswith(b"\r\x1b[K")


def test_all_forms_of_an_output_come_along(runner):
    chart = ("class Chart:\n    def _repr_mimebundle_(self, **options):\n        return {"
             "'application/vnd.vega.v5+json': {'mark': 'bar'}, 'text/plain': 'a chart'}\nChart()")
    image = ("from IPython.display import display\ndisplay({'image/png': 'iVBORw0KGgo=', "
             "'text/latex': '$p$', 'text/plain': 'p'}, raw=True)")
    value, display = [cell.outputs[0].data for cell in runner.run([chart, image]).cells]
    assert value == {"application/vnd.vega.v5+json": {"mark": "bar"}, "text/plain": "a chart"}
    assert display == {"image/png": "iVBORw0KGgo=", "text/latex": "$p$", "text/plain": "p"}


def test_a_cell_that_leaves_with_a_status_gives_it(runner):
    made = runner.run(["import sys", "sys.exit(3)", "1"], check=3)
    assert "In [2]" in runner.done.stderr and "SystemExit: 3" in runner.done.stderr
    assert [c.execution_count for c in made.cells] == [1, 2, None]
