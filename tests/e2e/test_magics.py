"""IPython's habits in a session: what a sandbox makes of commands, packages and interrupts."""

import base64
import io
import zipfile

import pytest

pytestmark = pytest.mark.semantics


def test_a_command_runs_in_the_sandbox(session):
    assert session.out("!pwd; id -un") == "/workspace\ncella\n"
    assert session.value("n = 3\nx = !seq {n}\nx.s") == "'1 2 3'"
    session.exec("!exit 5")
    assert session.value("_exit_code") == "5"


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


def test_a_script_and_a_file(session):
    session.exec("%%writefile tool.py\nanswer = 6 * 7")
    session.exec("%run tool.py")
    assert session.value("answer") == "42"
    assert session.out("%%bash\nls\n") == "tool.py\n"


def test_html_is_a_typed_output(session):
    (shown,) = session.exec("%%html\n<b>bold</b>").outputs
    assert shown["type"] == "html" and shown["html"] == "<b>bold</b>"


def test_an_unknown_magic_is_an_error_with_its_line(session):
    error = session.fails("x = 1\n\n%timit x")
    assert error.name == "UsageError" and error["line"] == 3
    assert "%timeit" in error.message


def test_a_time_limit_ends_a_command(session):
    answer = session.exec("!echo go; sleep 100", timeout_ms=1000)
    assert answer.timed_out and answer.stdout == "go\n"
    assert session.value("1 + 1") == "2"
    assert session.out("!pgrep -c sleep; true").strip() in ("0", "")


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


def test_pip_says_that_there_is_no_network(session):
    answer = session.exec("%pip install no-such-package-anywhere", timeout_ms=60_000)
    assert answer.status == "ok" and "this session has no network" in answer.stderr
    assert session.value("_exit_code") == "1"


def test_undo_takes_a_command_back(session, eventually):
    def is_at_rest():
        answer = session.client.call("GET", session.path + "/checkpoints")
        is_recorded = all(one["files"] != "recording" for one in answer["checkpoints"])
        return answer["cells_since"] == 0 and is_recorded

    session.exec("x = 1")
    eventually(is_at_rest)
    session.exec("!echo here > file\nx = 2")
    eventually(is_at_rest)
    session.client.call("POST", session.path + "/undo", {})
    assert session.value("import os\nx, os.path.exists('file')") == "(1, False)"
