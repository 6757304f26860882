"""Notebooks: what runs in a session is recorded; they are made, listed, kept and deleted."""

import json
import pathlib
import re
import subprocess
import time

import pytest

from harness import host
from harness.notebooks import Notebook, of, refusal, text_of, value_of
from test_notebook_events import Watcher

pytestmark = pytest.mark.one_mode


def listed(client):
    answer = client.call("GET", "/v1/notebooks?limit=1000")
    return [each["notebook_id"] for each in answer.notebooks]


@pytest.mark.smoke
def test_the_notebook_of_a_session_that_has_run_nothing(client, session):
    notebook = of(session)
    info = notebook.info(outputs="true")
    assert (info.cell_count, info.cells, info.count) == (0, [], 0)
    assert notebook.cells() == []
    assert "is empty" in refusal(notebook.call, "GET", "/export").message
    assert notebook.call("GET", "/declarations").definitions == []
    assert refusal(notebook.cell, 0).status == 404
    watcher = Watcher(notebook)
    assert session.id not in listed(client)  # it has not begun
    assert notebook.run_range().ran == 0
    notebook.call("PATCH", "", {"title": "begun"})
    watcher.wait("notebook_changed")
    assert session.id in listed(client)
    assert notebook.info().title == "begun" and notebook.info().cell_count == 0


# What runs is recorded.


@pytest.mark.smoke
@pytest.mark.each_mode
def test_every_cell_that_runs_is_recorded(session):
    first = session.exec("x = 20\nprint('hello')")
    second = session.exec("x + 1")
    assert (first.number, second.number) == (1, 2)
    cells = of(session).cells(outputs=True)
    assert [c.cell_id for c in cells] == [first.cell_id, second.cell_id]
    assert [c.code for c in cells] == ["x = 20\nprint('hello')", "x + 1"]
    assert [c.index for c in cells] == [0, 1]
    assert {c.status for c in cells} == {"ok"}
    assert [c.number for c in cells] == [1, 2]
    assert [c.number for c in cells] == [first.number, second.number]
    assert {c.kind for c in cells} == {"code"}
    assert {c.revision for c in cells} == {1}
    assert text_of(cells[0]) == "hello\n"
    assert value_of(cells[1]) == "21"


@pytest.mark.smoke
def test_ids_are_short_and_times_are_known(session):
    began = time.monotonic()
    session.exec("import time; time.sleep(0.05)")
    took_ms = (time.monotonic() - began) * 1000
    cell = of(session).cell(0)
    assert re.fullmatch(r"[0-9a-f]{8}", cell.cell_id)
    assert cell.created_at <= cell.executed_at
    assert 50 <= cell.duration_ms <= took_ms


@pytest.mark.smoke
def test_a_session_that_ran_nothing_has_an_empty_notebook(session):
    info = of(session).info()
    assert info.notebook_id == session.id
    assert (info.cell_count, info.cells, info.count) == (0, [], 0)
    assert info.state == "idle" and info.runtime == "python"
    assert of(session).cells() == []


def test_streams_stay_apart_and_in_order(session):
    session.exec("""
        import sys
        for i in range(3):
            print("out", i, flush=True)
            print("err", i, file=sys.stderr, flush=True)
    """)
    outputs = of(session).cell(0).outputs
    assert "".join(o["text"] for o in outputs if o["stream"] == "stdout") == "out 0\nout 1\nout 2\n"
    assert "".join(o["text"] for o in outputs if o["stream"] == "stderr") == "err 0\nerr 1\nerr 2\n"


def test_errors_are_kept_with_their_traceback(session):
    session.exec("def f():\n    return 1 / 0\nf()")
    cell = of(session).cell(0)
    assert cell.status == "error"
    error = cell.outputs[-1]
    assert (error["type"], error["name"]) == ("error", "ZeroDivisionError")
    assert error["code"] == "   1  def f():\n   2      return 1 / 0\n   3  f()\n"
    assert "division by zero" in error["message"] and "line 2" in error["traceback"]


@pytest.mark.parametrize("code, members, state", [
    ("import time; time.sleep(60)", {"timeout_ms": 200}, "timeout"),
    ("import os; os._exit(3)", {}, "died"),
    ("raise ValueError", {}, "error"),
    ("pass", {}, "ok"),
])
def test_how_it_ended_is_known(session, code, members, state):
    session.exec(code, **members)
    assert of(session).cell(-1).status == state


def test_a_cell_that_runs_shows_what_it_has_so_far(session):
    session.exec("import time; print('begun', flush=True); time.sleep(60)", yield_ms=0)
    host.eventually(lambda: text_of(of(session).cell(0)) == "begun\n")
    assert of(session).cell(0).status == "running"
    queued = session.exec("1", yield_ms=0)
    host.eventually(lambda: of(session).cell(queued.cell_id).status == "queued")
    session.interrupt()
    host.eventually(lambda: of(session).cell(0).status == "interrupted")
    host.eventually(lambda: of(session).cell(1).status == "ok")


def test_long_output_is_kept_head_and_tail(session):
    session.exec("print('a' * 1_000_000); print('b' * 2_000_000); print('end')", budget=1000)
    (output,) = of(session).cell(0).outputs
    assert output["text"].startswith("aaa") and output["text"].endswith("b\nend\n")
    assert output["omitted"] + len(output["text"]) == pytest.approx(3_000_006, abs=64)
    assert len(output["text"]) <= 1024 * 1024 + 64
    assert f"{output['omitted']} bytes left out" in output["text"]


@pytest.mark.slow
def test_a_cell_has_so_many_outputs_and_so_much_of_them(session):
    session.exec("for n in range(1030): display(n)\n'value'")
    *shown, last = of(session).cell(0).outputs
    assert [output["text"] for output in shown[:1023]] == [str(n) for n in range(1023)]
    assert last["value"] and last["text"] == "'value'" and len(shown) <= 1024
    session.exec("from IPython.display import HTML\n"
                 "for n in range(6): display(HTML('x' * 999_999))\n'value'")
    *shown, last = of(session).cell(1).outputs
    assert all("left out" in output["text"] for output in shown[3:])
    assert [len(output.get("html", "")) for output in shown[:3]] == [999_999] * 3
    assert len(json.dumps(shown)) < 4 << 20 and last["text"] == "'value'"


def test_the_listing_of_an_error_ends_where_nobody_reads_on(session):
    session.exec(f"x = '{'y' * 60_000}'\n1 / 0")
    session.exec(f"x = '{'y' * 66_000}'\n1 / 0")
    short, long = [of(session).cell(n).outputs[-1] for n in (0, 1)]
    assert short["code"].endswith("   2  1 / 0\n") and not long.get("code")
    assert short["name"] == long["name"] == "ZeroDivisionError"


@pytest.mark.slow
def test_a_page_has_up_to_8_mebibytes(session):
    for _ in range(12):
        session.exec("print('x' * 1_000_000)")
    first = of(session).page(outputs="true", limit=1000)
    assert first.count == 12 and 8 <= len(first.cells) < 12
    rest = of(session).page(outputs="true", limit=1000, offset=len(first.cells))
    assert [c["index"] for c in first.cells + rest.cells] == list(range(12))
    assert len(of(session).page(limit=1000).cells) == 12


@pytest.mark.each_mode
def test_other_runtimes_are_recorded_too(spawn_runtime):
    for runtime, code in (("bash", "echo hi"), ("node", "console.log('hi')")):
        session = spawn_runtime(runtime)
        session.exec(code)
        info = of(session).info(outputs="true")
        assert info.runtime == runtime
        assert text_of(info.cells[0]) == "hi\n"


def test_code_that_runs_once_leaves_no_notebook(client):
    before = client.call("GET", "/v1/notebooks?limit=1").count
    client.call("POST", "/v1/exec", {"code": "1 + 1"})
    assert client.call("GET", "/v1/notebooks?limit=1").count == before


# Notebooks.


def test_a_notebook_begins_with_what_it_is_given(client):
    made = client.call("POST", "/v1/notebooks", {
        "title": "Sums", "profile": "min", "metadata": {"for": "tests"},
        "cells": [{"code": "# Sums", "kind": "markdown"}, {"code": "1 + 1"}]})
    assert (made.title, made.user, made.runtime) == ("Sums", "default", "python")
    assert made.cell_count == 2 and made.metadata == {"for": "tests"} and made.state == "idle"
    notebook = Notebook(client, made.notebook_id)
    assert [c.kind for c in notebook.cells()] == ["markdown", "code"]
    assert {c.status for c in notebook.cells()} == {"idle"}
    assert client.call("GET", f"/v1/sessions/{made.notebook_id}").profile == "min"
    assert notebook.run_range().ran == 1
    client.call("DELETE", f"/v1/sessions/{made.notebook_id}")


def test_title_and_metadata_are_changed(notebook):
    assert notebook.info().title == "Trial"
    answer = notebook.call("PATCH", "", {"title": "Other"})
    assert (answer.title, answer.notebook_id) == ("Other", notebook.id)
    notebook.call("PATCH", "", {"metadata": {"a": [1, {"b": None}]}})
    info = notebook.info()
    assert (info.title, info.metadata) == ("Other", {"a": [1, {"b": None}]})
    assert refusal(notebook.call, "PATCH", "", {}).status == 400


def test_notebooks_are_listed_and_paged(client, notebook):
    others = [client.call("POST", "/v1/notebooks", {"profile": "min", "title": f"list {i}"})
              for i in range(3)]
    listed = client.call("GET", "/v1/notebooks?limit=1000")
    ids = [n["notebook_id"] for n in listed.notebooks]
    assert len(set(ids)) == len(ids) == min(listed.count, 1000)
    assert {notebook.id, *(o.notebook_id for o in others)} <= set(ids)
    pages = [client.call("GET", f"/v1/notebooks?limit=2&offset={at}").notebooks
             for at in range(0, listed.count, 2)]
    assert [n["notebook_id"] for page in pages for n in page][:1000] == ids
    mine = client.call("GET", "/v1/notebooks?user=nobody")
    assert (mine.notebooks, mine.count) == ([], 0)
    for other in others:
        client.call("DELETE", f"/v1/sessions/{other.notebook_id}")


def test_the_notebook_that_changed_last_comes_first(client, notebook):
    notebook.add("x")
    (first,) = client.call("GET", "/v1/notebooks?limit=1").notebooks
    assert first["notebook_id"] == notebook.id and first["cell_count"] == 1


def test_cells_are_paged(notebook):
    for i in range(25):
        notebook.add(str(i))
    page = notebook.page(offset=10, limit=10)
    assert [c["code"] for c in page.cells] == [str(i) for i in range(10, 20)]
    assert page.count == 25
    info = notebook.info(offset=20, limit=10)
    assert [c["index"] for c in info.cells] == [20, 21, 22, 23, 24]
    assert notebook.page(offset=99).cells == []
    assert "outputs" not in page.cells[0]


@pytest.mark.slow
def test_large_pages_are_cut(notebook):
    for _ in range(12):
        notebook.add("x" * 1_000_000)
    page = notebook.page(limit=100)
    assert 1 <= len(page.cells) < 12 and page.count == 12
    assert len(notebook.cells()) == 12


def test_a_session_that_is_deleted_takes_its_notebook_along(client, spawn):
    session = spawn()
    session.exec("1")
    session.kill()
    assert refusal(of(session).info).status == 404
    kept = spawn()
    kept.exec("2")
    client.call("DELETE", f"{kept.path}?keep_notebook=true")
    info = of(kept).info()
    assert ("state" in info, info.cell_count) == (False, 1)
    of(kept).call("DELETE")
    assert refusal(of(kept).info).status == 404


def test_a_notebook_that_is_deleted_leaves_its_session(notebook):
    notebook.add("x = 3", run=True)
    assert notebook.call("DELETE")["deleted"] is True
    assert notebook.cells() == []
    assert notebook.add("x", run=True).value.text == "3"
    assert notebook.sources() == ["x"]


def test_a_notebook_without_a_session_is_edited_and_runs_again(client, spawn):
    session = spawn()
    session.exec("x = 1")
    session.exec("x")
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    notebook = of(session)
    notebook.edit(0, code="x = 2")
    notebook.move(1, 0)
    notebook.move(1, 0)
    assert "state" not in notebook.info()
    answer = notebook.run(1)
    assert answer["error"]["name"] == "NameError"  # its variables went with the session
    assert notebook.run_range().ran == 2
    assert value_of(notebook.cell(1)) == "2"
    assert client.call("GET", session.path).profile == "min"
    assert notebook.info().state in ("idle", "busy")


@pytest.mark.each_mode
def test_a_session_that_died_leaves_its_notebook(spawn):
    session = spawn(checkpoints="off", durable="off")
    session.exec("x = 1")
    session.exec("import os; os._exit(1)")
    assert session.info().state == "dead"
    notebook = of(session)
    assert [c.status for c in notebook.cells()] == ["ok", "died"]
    notebook.delete(1)
    assert notebook.run(0).status == "ok"
    assert notebook.add("x", run=True).value.text == "1"


# Limits.


def test_beyond_the_limit_cells_run_unrecorded(launch):
    settings = "notebook:\n  max_cells: 3\n  max_output_kb: 1\n"
    daemon = launch(config=f"default_profile: min\n{settings}")
    session = daemon.client.spawn("min")
    for i in range(3):
        assert of(session).index(session.exec(str(i))) == i
    answer = session.exec("40 + 2")
    assert answer.value.text == "42"
    assert "3" in answer.unrecorded and answer.get("cell_id") is None
    notebook = of(session)
    assert len(notebook.cells()) == 3
    assert refusal(notebook.add, "x").code == "limit_reached"
    notebook.delete(0)
    assert of(session).index(session.exec("print('x' * 3000)")) == 2
    assert [c.code for c in notebook.cells()] == ["1", "2", "print('x' * 3000)"]
    assert 1900 < notebook.cell(2).outputs[0]["omitted"] < 2100
    daemon.stop()


# The documentation.


@pytest.mark.each_mode
def test_what_the_documentation_says_to_type(daemon, tmp_path):
    text = (pathlib.Path(__file__).parents[2] / "docs" / "NOTEBOOKS.md").read_text()
    (script,) = [block for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
                 if "api()" in block]
    env = {"PATH": "/usr/bin:/bin", "key": daemon.key(), "url": f"{daemon.url}/v1/notebooks"}
    done = subprocess.run(["sh", "-eu", "-c", script + "echo; echo $id"], env=env, cwd=tmp_path,
                          capture_output=True, text=True, timeout=host.PATIENCE)
    assert done.returncode == 0, done
    notebook = Notebook(daemon.client, done.stdout.split()[-1])
    assert [c.code for c in notebook.cells()] == ["# Sums", "x = 41", "x + 1", "x * 2"]
    assert value_of(notebook.cell(-1)) == "82"
    assert "82" in (tmp_path / "sums.html").read_text()
    daemon.client.call("DELETE", f"/v1/sessions/{notebook.id}")
