"""Answers as text: exactly what a model should read, in the order in which things happened."""

import json

import pytest

pytestmark = [pytest.mark.one_mode, pytest.mark.smoke]


def read(session, code, **members):
    body = {"code": code, "format": "text", **members}
    reply = session.client.request("POST", f"{session.path}/exec", body)
    assert reply.status == 200 and reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    return reply.body.decode()


def test_what_happened_in_its_order(session):
    assert read(session, "print('a')\ndisplay(5)\nprint('c')\n6 * 7") == "a\n5\nc\n42\n"
    assert read(session, "x = 1") == ""  # what the code says is not said again
    assert read(session, "globals()['made' + '_up'] = 2") == "[names +made_up]\n"


def test_who_accepts_text_gets_text(session):
    reply = session.client.request("POST", f"{session.path}/exec", {"code": "1 + 1"},
                                   {"Accept": "text/plain"})
    assert (reply.status, reply.body) == (200, b"2\n")
    assert json.loads(session.client.request("POST", f"{session.path}/exec", {"code": "1"}).body)


def test_an_error_once_and_without_marks(session):
    assert read(session, "1 / 0") == (
        "<cell 1> line 1\n    1 / 0\nZeroDivisionError: division by zero\n")
    assert read(session, "def f(n):\n    return f(n + 1)\nf(0)").count("return f(n + 1)") == 1


def test_progress_is_told_as_it_ended(session):
    assert read(session, "for i in range(50):\n    print('\\rstep', i, end='')") == "step 49\n"


def test_a_warning_without_the_line_that_its_reader_wrote(session):
    assert read(session, "import sys, warnings\nwarnings.warn('old')\n"
                         "print('  x', file=sys.stderr)\n3") == (
        "<cell 1>:2: UserWarning: old\n  x\n3\n")
    code = "print('<cell 2>:1: UserWarning: x')\nprint('  ' + 'd' * 3)"
    assert read(session, code) == "<cell 2>:1: UserWarning: x\n  ddd\n"


def test_long_text_is_cut_at_lines(session):
    text = read(session, "for i in range(5000): print('row', i)")
    assert text.startswith("row 0\nrow 1\n") and text.endswith("row 4998\nrow 4999\n")
    (note,) = [line for line in text.splitlines() if not line.startswith("row ")]
    assert "lines" in note and "output?number=1" in note and len(text) < 3500


def test_files_are_told_if_asked_for(session):
    assert read(session, "open('made', 'w').close()", files=True) == "[files +made]\n"
    answer = session.exec("import os; os.remove('made')", files=True)
    assert answer["files"] == {"removed": ["made"]}


def test_a_way_back_is_told_in_names(session):
    session.exec("v = 1")
    assert session.client.call("POST", f"{session.path}/undo", {})["names"] == {"removed": ["v"]}
    text = read(session, "import os; os._exit(3)")
    assert text.startswith("Exited: ") and "[rolled back cell " in text
