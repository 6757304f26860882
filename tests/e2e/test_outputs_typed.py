"""Outputs with a type: tables, displays that are replaced and cleared, IPython.display."""

import pytest

pytestmark = pytest.mark.semantics


def texts(result):
    return [output["text"] for output in result["outputs"]]


@pytest.mark.smoke
def test_a_long_list_is_laid_out_as_in_ipython(session):
    assert session.value("['x' * 30, 'y' * 30, 'z' * 30]") == (
        f"['{'x' * 30}',\n '{'y' * 30}',\n '{'z' * 30}']"
    )
    assert session.value("list(range(5000))").endswith("\n 999,\n ...]")


@pytest.mark.smoke
def test_an_update_takes_the_place_of_what_it_updates(session):
    result = session.exec(
        "h = display('one', display_id=True)\ndisplay('between')\n"
        "h.update('two')\nh.update('three')"
    )
    assert texts(result) == ["'three'", "'between'"]
    assert result["outputs"][0]["display_id"]
    result = session.exec("h.update('four')\nh.update('five')")  # of another cell: shown here
    assert texts(result) == ["'five'"]


@pytest.mark.smoke
def test_every_output_of_an_id_is_replaced(session):
    result = session.exec(
        "h = display('a', display_id='k')\nh.display('b')\ndisplay('c')\nh.update('d')"
    )
    assert texts(result) == ["'d'", "'d'", "'c'"]


@pytest.mark.smoke
def test_clear_output_drops_text_and_outputs(session):
    result = session.exec(
        "from IPython.display import clear_output\nprint('old')\ndisplay(1)\nclear_output()\n"
        "print('new')\ndisplay(2)"
    )
    assert (result["stdout"], texts(result)) == ("new\n", ["2"])
    assert "old" in session.output(number=result["number"], stream="stdout")["text"]
    result = session.exec("print('x')\ndisplay(1)\nclear_output()")
    assert (result["stdout"], result["outputs"]) == ("", [])


def test_clear_output_waits_for_what_comes(session):
    session.exec("from IPython.display import clear_output")
    result = session.exec("for i in range(5):\n    clear_output(wait=True)\n    print(i)")
    assert result["stdout"] == "4\n"
    result = session.exec("for i in range(5):\n    print(i)\n    clear_output(wait=True)")
    assert result["stdout"] == "4\n"
    result = session.exec("for i in range(5):\n    display(i)\n    clear_output(wait=True)")
    assert texts(result) == ["4"]
    result = session.exec("print('gone')\nclear_output(wait=True)\n42")
    assert (result["stdout"], result["value"]["text"]) == ("", "42")
    result = session.exec("import sys\nprint('e', file=sys.stderr)\nclear_output(True)\nprint('o')")
    assert (result["stdout"], result["stderr"]) == ("o\n", "")


def test_a_clear_of_much_text(session):
    result = session.exec(
        "from IPython.display import clear_output\n"
        "for i in range(3):\n    clear_output(wait=True)\n    print('x' * 300000, i)\n"
        "print('end')"
    )
    assert result["stdout"].startswith("xxx") and result["stdout"].endswith(" 2\nend\n")


@pytest.mark.slow
def test_many_updates_and_clears_cost_no_room(session):
    result = session.exec(
        "from IPython.display import clear_output\nh = display('', display_id='n')\n"
        "for i in range(3000): h.update('y' * 1000 + str(i))\ndisplay('z')"
    )
    assert result["outputs"][0]["text"].endswith("2999'") and texts(result)[1] == "'z'"
    result = session.exec("for i in range(3000):\n    display('y' * 1000)\n    clear_output()\n")
    assert result["outputs"] == [] and not result.get("truncated")


def test_streams_tell_updates_and_clears(session):
    names = [
        name for name, _ in session.events(
            "from IPython.display import clear_output\nh = display(1, display_id='k')\n"
            "h.update(2)\nclear_output()\ndisplay(3)"
        )
    ]  # fmt: skip
    assert [name for name in names if name != "output"] == [
        "display", "update", "clear", "display", "result",
    ]  # fmt: skip


def test_ipython_display(session):
    result = session.exec(
        "from IPython.display import HTML, Markdown, JSON, Math\n"
        "display(HTML('<b>x</b>'), Markdown('*m*'), JSON({'a': 1}))\nMath('x^2')"
    )
    assert [output["type"] for output in result["outputs"]] == ["html", "markdown", "json"]
    assert result["value"]["type"] == "latex" and "x^2" in result["value"]["text"]


PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
       "rkJggg==")
# Method, what it returns, and the type that is shown, in the order of docs/OUTPUTS.md.
FORMS = [
    ("html", "'<b>x</b>'", "html"), ("markdown", "'# x'", "markdown"), ("latex", "'$x$'", "latex"),
    ("svg", "'<svg/>'", "svg"), ("png", f"b64decode('{PNG}')", "image"),
    ("json", "{'x': 1}", "json"),
]


@pytest.mark.parametrize("first", range(len(FORMS) + 1))
def test_the_first_form_that_works_is_shown(session, first):
    methods = [f"    def _repr_{name}_(self): return {'1 / 0' if n < first else value}\n"
               for n, (name, value, _) in enumerate(FORMS)]
    code = "from base64 import b64decode\nclass Shown:\n" + "".join(methods) + "Shown()"
    value = session.exec(code)["value"]
    if first == len(FORMS):
        assert value["type"] == "text" and "_repr_html_ failed: ZeroDivisionError" in value["text"]
        return
    assert value["type"] == FORMS[first][2]


def test_a_display_that_clears(session):
    result = session.exec("print('old')\ndisplay('one')\ndisplay('two', clear=True)")
    assert (result["stdout"], texts(result)) == ("", ["'two'"])


def test_what_was_told_before_a_clear_stays_told(session):
    first = session.exec(
        "from IPython.display import clear_output\nprint('old', flush=True)\ninput()\n"
        "clear_output()\nprint('new')")
    assert (first.status, first["stdout"]) == ("input_required", "old\n")
    last = session.client.call("POST", f"{session.path}/input", {"text": ""})
    assert last["stdout"] == "new\n"
    assert session.output(number=first["number"], stream="stdout")["text"] == "old\nnew\n"


def test_a_handle_outlives_its_cell(session):
    session.exec("h = display('a', display_id='k')")
    assert texts(session.exec("h.update('b')")) == ["'b'"]


def test_frames_that_no_driver_would_send_end_the_head_only(session):
    """A cell that finds the control socket and lies on it."""
    code = (
        "import os, socket, stat\n"
        "def say(text):\n"
        "    data = text.encode()\n"
        "    for fd in range(3, 64):\n"
        "        try:\n"
        "            if stat.S_ISSOCK(os.fstat(fd).st_mode):\n"
        "                os.write(fd, len(data).to_bytes(4, 'little') + data)\n"
        "        except OSError: pass\n"
        "output = '{\"type\":\"text\",\"text\":\"\"}'\n"
        "say('{\"ev\":\"display\",\"id\":1,\"update\":true,\"output\":' + output + '}')\n"
        "import time; time.sleep(20)"
    )
    result = session.exec(code)
    assert result.status != "ok"
    assert session.value("1 + 1") == "2"
