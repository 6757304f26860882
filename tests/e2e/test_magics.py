"""IPython's habits in a session: what a sandbox makes of commands, packages and interrupts."""

import base64
import io
import pathlib
import re
import zipfile

import pytest

pytestmark = pytest.mark.semantics


@pytest.mark.smoke
def test_a_command_runs_in_the_sandbox(session):
    assert session.out("!pwd; id -un") == "/workspace\ncella\n"
    assert session.value("n = 3\nx = !seq {n}\nx.s") == "'1 2 3'"
    answer = session.exec("!exit 5")
    assert (answer.status, answer["command_status"]) == ("ok", 5)
    assert session.value("_exit_code") == "5"
    assert "command_status" not in session.exec("!true")


@pytest.mark.smoke
def test_magics_and_python_in_one_cell(session):
    answer = session.exec(
        """
        %env GREETING=hello
        for word in ("a", "b"):
            !echo $GREETING {word.upper()}
        %time len(word)
        """
    )
    assert "hello A\nhello B\n" in answer.stdout and "Wall time" in answer.stdout
    assert answer.value["text"] == "1"


@pytest.mark.smoke
def test_a_script_and_a_file(session):
    session.exec("%%writefile tool.py\nanswer = 6 * 7")
    session.exec("%run tool.py")
    assert session.value("answer") == "42"
    assert session.out("%%bash\nls\n") == "tool.py\n"


@pytest.mark.smoke
def test_html_is_a_typed_output(session):
    (shown,) = session.exec("%%html\n<b>bold</b>", html=True).outputs
    assert shown["type"] == "html" and shown["html"] == "<b>bold</b>"


def test_an_unknown_magic_is_an_error_with_its_line(session):
    error = session.fails("x = 1\n\n%timit x")
    assert error.name == "UsageError" and error["line"] == 3
    assert "%timeit" in error.message


def test_a_time_limit_ends_a_command(session):
    answer = session.exec("!echo go; sleep 100", timeout_ms=3000)
    assert answer.status == "timeout" and answer.stdout == "go\n"
    assert session.value("1 + 1") == "2"
    assert session.out("!pgrep -c sleep; true").strip() in ("0", "")


@pytest.mark.slow
def test_a_package_in_the_workspace_is_installed_and_imported(session):
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        info = "tiny_thing-1.0.dist-info"
        metadata = "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n"
        about = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("tiny_thing.py", "size = 'tiny'\n")
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", about)
        archive.writestr(f"{info}/RECORD", "")
    name = "tiny_thing-1.0-py3-none-any.whl"
    data = base64.b64encode(wheel.getvalue()).decode()
    session.exec(f"import base64; open({name!r}, 'wb').write(base64.b64decode({data!r}))")
    answer = session.exec(f"%pip install --no-index ./{name}", timeout_ms=60_000)
    assert "Successfully installed tiny-thing-1.0" in answer.stdout, answer
    assert session.value("import tiny_thing\ntiny_thing.size") == "'tiny'"
    assert session.value("tiny_thing.__file__").startswith("'/workspace/.local/lib/python3")


@pytest.mark.slow
def test_pip_says_that_there_is_no_network(session):
    answer = session.exec("%pip install no-such-package-anywhere", timeout_ms=60_000)
    assert answer.status == "ok" and "this session has no network" in answer.stderr
    assert session.value("_exit_code") == "1"


def test_undo_takes_a_command_back(session):
    session.exec("x = 1")
    session.rest()
    session.exec("!echo here > file\nx = 2")
    session.rest()
    session.client.call("POST", session.path + "/undo", {})
    assert session.value("import os\nx, os.path.exists('file')") == "(1, False)"


# What docs/PYTHON.md promises, row by row: cells of one session, and what the last one shows, as
# text or value.
ROWS = [
    (["files = !printf 'a\\nb\\n'", "files.n, files.s, files.l"],
     r"\('a\\nb', 'a b', \['a', 'b'\]\)"),
    (["!!echo hi"], r"\['hi'\]"),
    (["def f(q):\n    !echo {q}:$q\nf('local')"], "local:local"),
    (["n = 3", "!echo '$n' {{ ${HOME} {a..c}"], r"\$n { /workspace a b c"),
    (["!cat"], "^$"),
    (["r = %timeit -n2 -r2 -o -q pass", "r"], "per loop .* of 2 runs, 2 loops each"),
    (["%%timeit -n 2 -r 1\npass"], "of 1 run, 2 loops each"),
    (["%%sh\necho $0"], "sh"),
    (["%%script tr a b\nalas"], "blbs"),
    (["%%python3\nprint(6 * 7)"], "42"),
    (["%%perl\nprint 6 * 7"], "42"),
    (["%%node\nconsole.log(6 * 7)"], "42"),
    (["%%bash --out o --err e\necho a; echo b >&2", "o, e"], r"\('a\\n', 'b\\n'\)"),
    (["%%bash\nexit 3"], "CalledProcessError"),
    (["%%bash --no-raise-error\nexit 3", "_exit_code"], "3"),
    (["%%writefile f\na", "%%writefile -a f\nb", "%cat f"], "a\nb"),
    (["%%writefile f.py\nz = __name__", "%run f.py", "z"], "__main__"),
    (["%%writefile f.py\nz = __name__", "%run -n f.py", "z"], "'f'"),
    (["k = 5", "%%writefile f.py\nz = k + 1", "%run -i f.py", "z"], "6"),
    (["%%writefile f.ipy\nz = !echo hi", "%run f.ipy", "z"], r"\['hi'\]"),
    (["%%writefile f.py\nz = 1", "%load f.py"], "z = 1"),
    (["%%capture c\nprint('said')\ndisplay(7)", "c.stdout, len(c.outputs)"], r"\('said\\n', 1\)"),
    (["%%capture c\nprint('said')\ndisplay(7)", "c.show()"], "said\n7"),
    (["%%markdown\n# Title"], "markdown: # Title"),
    (["%%latex\n$x$"], r"latex: \$x\$"),
    (["%%svg\n<svg/>"], "svg:"),
    (["%%javascript\nlet x"], "Javascript object"),
    (["%cd /tmp", "%cd -", "%pwd"], "/workspace"),
    (["!touch there", "%ls"], "there"),
    (["%set_env GIVEN 4", "%env GIVEN"], "4"),
    (["aa = 1; ab = 2", "%reset_selective -f ab", "%who_ls"], r"^\['aa'\]$"),
    (["aa = 1", "%xdel aa", "%who"], "Interactive namespace is empty"),
    (["aa = 1", "%whos"], r"aa +int +1"),
    (["aa = 1", "%reset -f", "%who_ls"], r"^\[\]$"),
    (["import json", "json.dumps?"], "Signature: .*obj.*skipkeys"),
    (["import json", "?json.dumps"], "Serialize"),
    (["import json", "json.dumps??"], "def dumps"),
    (["import json", "json.du*?"], "json.dump\njson.dumps$"),
    (["%time?"], "how long it takes"),
    (["6 * 7", "%history"], r"6 \* 7"),
    (["%%writefile m.py\nv = 1", "%load_ext autoreload\n%autoreload 2\nimport m\nfirst = m.v",
      "%%writefile m.py\nv = 'changed'", "m.v"], "changed"),
    (["%matplotlib inline\n%config A.b = 1\n%colors NoColor\n%xmode Plain\n%precision 3"],
     "'%.3f'|^$"),
    (["ip = get_ipython()", "ip.push({'a': 1}); ip.ex('b = a + 1'); ip.ev('b')"], "2"),
    (["get_ipython().run_line_magic('pwd', '')"], "/workspace"),
    (["get_ipython().run_cell_magic('bash', '', 'echo hi')"], "hi"),
    (["get_ipython().getoutput('echo hi'), get_ipython().user_ns is globals()"],
     r"\(\['hi'\], True\)"),
    (["get_ipython().system('echo hi')"], "hi"),
    (["get_ipython().run_cell('c = 4')", "c"], "4"),
    (["def loud(line): return line + '!'\nget_ipython().register_magic_function(loud)",
     "%loud hey"],
     "hey!"),
    (["7", "'x' + In[1], Out[1], _1, _i1, _"], r"\('x7', 7, 7, '7', 7\)"),
    (["'a' * 5", "3", "None", "_, __, _i"], r"\(3, 'aaaaa', 'None'\)"),
    (["%cd /tmp", "_dh"], r"\['/workspace', '/tmp'\]"),
    (["from IPython import get_ipython\nget_ipython().run_line_magic('pwd', '')"], "'/workspace'"),
    (["import IPython\nip = IPython.get_ipython()\nhasattr(ip, 'kernel'), ip.config"],
     r"\(False, {}\)"),
]


@pytest.mark.parametrize("cells, shown", ROWS, ids=[row[0][-1].split()[0] for row in ROWS])
@pytest.mark.sampled(3)
def test_what_the_page_promises(session, cells, shown):
    for code in cells:
        answer = session.exec(code, timeout_ms=60_000)
    displays = [*answer["outputs"], *([answer["value"]] if answer["value"] else [])]
    texts = [("" if one["type"] == "text" else f"{one['type']}: ") + one.get("text", "")
             for one in displays]
    seen = answer["stdout"] + "\n".join([*texts, (answer["error"] or {}).get("name", "")])
    assert re.search(shown, seen.rstrip("\n")), answer


def test_values_of_cells_that_were_taken_back(spawn):
    session = spawn(profile="min", checkpoints="every")
    session.exec("5")
    session.exec("[6]")
    session.client.call("POST", f"{session.path}/undo", {})
    assert session.exec("_, dict(Out)").value["text"] == "(5, {1: 5})"


def test_every_magic_of_the_page_is_known(session):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "PYTHON.md").read_text()
    listed = session.out("%lsmagic").split()
    rows = re.findall(r"^\| (`[^|]*) \|", page, re.M)
    named = set(re.findall(r"`(%%?\w+)", " ".join(rows)))
    assert len(named) > 40 and named <= set(listed), named - set(listed)
