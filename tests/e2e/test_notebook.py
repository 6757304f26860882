"""Notebooks: what runs in a session is recorded, and cells are added, edited, moved and run again,
by number or id."""

import concurrent.futures
import json
import pathlib
import random
import re
import subprocess
import time

import pytest

from harness import host
from harness.client import ApiError, Client
from harness.notebooks import Notebook, text_of, value_of
from test_notebook_events import Watcher

pytestmark = pytest.mark.one_mode

SVG = """class Svg:
    def _repr_svg_(self): return '<svg xmlns="http://www.w3.org/2000/svg"/>'
"""


def of(session):
    return Notebook(session.client, session.id)


def refusal(call, *args, **members):
    with pytest.raises(ApiError) as caught:
        call(*args, **members)
    assert caught.value.message
    return caught.value


def listed(client):
    answer = client.call("GET", "/v1/notebooks?limit=1000")
    return [each["notebook_id"] for each in answer.notebooks]


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


@pytest.mark.each_mode
def test_every_cell_that_runs_is_recorded(session):
    first = session.exec("x = 20\nprint('hello')")
    second = session.exec("x + 1")
    assert (first.cell_number, second.cell_number) == (0, 1)
    cells = of(session).cells(outputs=True)
    assert [c.id for c in cells] == [first.cell_id, second.cell_id]
    assert [c.source for c in cells] == ["x = 20\nprint('hello')", "x + 1"]
    assert [c.number for c in cells] == [0, 1]
    assert {c.state for c in cells} == {"completed"}
    assert [c.execution_count for c in cells] == [1, 2]
    assert [c.exec_id for c in cells] == [first.exec_id, second.exec_id]
    assert {c.kind for c in cells} == {"code"}
    assert {c.revision for c in cells} == {1}
    assert text_of(cells[0]) == "hello\n"
    assert value_of(cells[1]) == "21"


def test_ids_are_short_and_times_are_known(session):
    session.exec("import time; time.sleep(0.05)")
    cell = of(session).cell(0)
    assert re.fullmatch(r"[0-9a-f]{8}", cell.id)
    assert cell.created_at <= cell.executed_at
    assert 50 <= cell.duration_ms < 5000


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
    assert cell.state == "error"
    error = cell.outputs[-1]
    assert (error["type"], error["name"]) == ("error", "ZeroDivisionError")
    assert error["code"] == "   1  def f():\n   2      return 1 / 0\n   3  f()\n"
    assert "division by zero" in error["message"] and "line 2" in error["traceback"]


@pytest.mark.parametrize("code, members, state", [
    ("import time; time.sleep(60)", {"timeout_ms": 200}, "timeout"),
    ("import os; os._exit(3)", {}, "died"),
    ("raise ValueError", {}, "error"),
    ("pass", {}, "completed"),
])
def test_how_it_ended_is_known(session, code, members, state):
    session.exec(code, **members)
    assert of(session).cell(-1).state == state


def test_a_cell_that_runs_shows_what_it_has_so_far(session):
    session.exec("import time; print('begun', flush=True); time.sleep(60)", yield_ms=0)
    host.eventually(lambda: text_of(of(session).cell(0)) == "begun\n")
    assert of(session).cell(0).state == "running"
    queued = session.exec("1", yield_ms=0)
    host.eventually(lambda: of(session).cell(queued.cell_id).state == "queued")
    session.interrupt()
    host.eventually(lambda: of(session).cell(0).state == "interrupted")
    host.eventually(lambda: of(session).cell(1).state == "completed")


def test_long_output_is_kept_head_and_tail(session):
    session.exec("print('a' * 1_000_000); print('b' * 2_000_000); print('end')", budget=1000)
    (output,) = of(session).cell(0).outputs
    assert output["text"].startswith("aaa") and output["text"].endswith("b\nend\n")
    assert output["omitted"] + len(output["text"]) == pytest.approx(3_000_006, abs=64)
    assert len(output["text"]) <= 1024 * 1024 + 64
    assert f"{output['omitted']} bytes left out" in output["text"]


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


def test_a_page_has_up_to_8_mebibytes(session):
    for _ in range(12):
        session.exec("print('x' * 1_000_000)")
    first = of(session).page(outputs="true", limit=1000)
    assert first.count == 12 and 8 <= len(first.cells) < 12
    rest = of(session).page(outputs="true", limit=1000, offset=len(first.cells))
    assert [c["number"] for c in first.cells + rest.cells] == list(range(12))
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


# Cells by number and id.


def test_cells_are_found_by_number_and_by_id(notebook):
    ids = [notebook.add(f"n = {i}") for i in range(5)]
    for name, number in ((0, 0), (4, 4), (-1, 4), (-5, 0), (ids[2], 2)):
        cell = notebook.cell(name)
        assert (cell.number, cell.id) == (number, ids[number])
        assert cell.source == f"n = {number}"


@pytest.mark.parametrize("name", ["5", "-6", "nobody", "99999999999999999999", "-0x1", "1.5", "%00",
                                  "a%20b", "..", "%F0%9F%90%8D"])
def test_cells_that_do_not_exist(notebook, name):
    for i in range(5):
        notebook.add(f"n = {i}")
    for method, path, body in (("GET", "", None), ("PATCH", "", {"source": "x"}),
                               ("DELETE", "", None), ("POST", "/run", {}),
                               ("POST", "/move", {"to": 0}), ("POST", "/clear", {})):
        reply = notebook.client.request(method, f"{notebook.path}/cells/{name}{path}", body)
        assert reply.status in (400, 404), (method, path, reply)
        assert reply.json["error"]["message"]
    assert notebook.sources() == [f"n = {i}" for i in range(5)]


def test_a_cell_is_added_and_not_run(notebook):
    cell = notebook.call("POST", "/cells", {"source": "x = 1"}).cell
    assert (cell.state, cell.number, cell.revision, cell.kind) == ("idle", 0, 1, "code")
    assert cell["execution_count"] in (None, 0)
    assert "NameError" in str(notebook.add("x", run=True)["error"])


def test_a_cell_is_added_and_run(notebook):
    answer = notebook.add("6 * 7", run=True)
    assert answer.status == "ok" and answer.value.text == "42"
    assert answer.cell_number == 0
    assert value_of(notebook.cell(answer.cell_id)) == "42"


def test_a_cell_is_inserted_anywhere(notebook):
    for source in "bd":
        notebook.add(source)
    notebook.add("a", at=0)
    notebook.add("c", at=2)
    notebook.add("e", at=99)
    notebook.add("f", at=-1)
    notebook.add("g", at=None)
    assert notebook.sources() == list("abcdefg")
    assert [c.number for c in notebook.cells()] == list(range(7))


def test_many_insertions_at_one_place(notebook):
    notebook.add("first")
    notebook.add("last")
    for i in range(60):  # more than a gap can be halved
        notebook.add(str(i), at=1)
    assert notebook.sources() == ["first", *(str(i) for i in reversed(range(60))), "last"]


def test_an_id_of_ones_own(notebook):
    assert notebook.add("x", id="load-data_1") == "load-data_1"
    assert notebook.cell("load-data_1").source == "x"
    assert refusal(notebook.add, "y", id="load-data_1").status == 409
    assert notebook.sources() == ["x"]


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "12", "-1", "a/b", "a\x00b", "a\n"])
def test_ids_that_cannot_be(notebook, name):
    assert refusal(notebook.add, "x", id=name).status in (400, 413)
    assert notebook.sources() == []


def test_kinds(notebook):
    notebook.add("# Title", kind="markdown")
    notebook.add("as it is", kind="raw")
    notebook.add("x = 1", kind="code")
    assert [c.kind for c in notebook.cells()] == ["markdown", "raw", "code"]
    assert refusal(notebook.run, 0).status in (400, 409)
    assert refusal(notebook.add, "# no", kind="markdown", run=True).status == 400
    assert refusal(notebook.add, "x", kind="cobol").status == 400
    assert notebook.info().cell_count == 3


def test_an_edit_changes_the_source_and_the_revision(notebook):
    name = notebook.add("x = 1", run=True).cell_id
    cell = notebook.edit(name, source="x = 2")
    assert cell.revision == 2
    cell = notebook.cell(name)
    assert (cell.source, cell.state) == ("x = 2", "completed")
    assert notebook.add("x", run=True).value.text == "1"  # it was not run again
    notebook.run(name)
    assert notebook.add("x", run=True).value.text == "2"


def test_an_edit_of_metadata_is_no_new_revision(notebook):
    name = notebook.add("x", metadata={"tags": ["a"]})
    assert notebook.cell(name).metadata == {"tags": ["a"]}
    notebook.edit(name, metadata={"tags": ["b"], "deep": {"er": [1, None, 2.5]}})
    cell = notebook.cell(name)
    assert cell.metadata == {"tags": ["b"], "deep": {"er": [1, None, 2.5]}}
    assert cell.source == "x" and cell.revision == 1


def test_an_edit_of_an_older_revision_is_refused(notebook):
    name = notebook.add("one")
    notebook.edit(name, source="two", revision=1)
    reply = notebook.client.request("PATCH", f"{notebook.path}/cells/{name}",
                                    {"source": "three", "revision": 1})
    assert reply.status == 409
    assert reply.json["revision"] == 2
    assert reply.json["error"]["code"] == "conflict"
    assert notebook.cell(name).source == "two"
    notebook.edit(name, source="three", revision=2)
    assert notebook.cell(name).source == "three"


def test_of_two_who_edit_one_revision_one_is_told(notebook):
    name = notebook.add("start")

    def edit(i):
        body = {"source": f"by {i}", "revision": 1}
        return notebook.client.request("PATCH", f"{notebook.path}/cells/{name}", body).status

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(edit, range(8)))
    assert sorted(statuses) == [200] + [409] * 7
    assert notebook.cell(name).source == f"by {statuses.index(200)}"
    assert notebook.cell(name).revision == 2


def test_an_edit_needs_something(notebook):
    name = notebook.add("x")
    assert refusal(notebook.edit, name).status == 400
    assert refusal(notebook.edit, name, revision=1).status == 400


def test_a_kind_is_changed(notebook):
    name = notebook.add("# text")
    notebook.edit(name, kind="markdown")
    assert notebook.cell(name).kind == "markdown"
    assert notebook.cell(name).revision == 2


@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_code_that_becomes_text_has_no_outputs(notebook, kind):
    name = notebook.add(SVG + "x = 41; print('said'); display(Svg()); x + 1", run=True).cell_id
    (svg,) = [o for o in notebook.cell(name).outputs if o["type"] == "svg"]
    assert notebook.client.request("GET", svg["url"]).status == 200
    changed = notebook.edit(name, kind=kind)
    assert (changed.state, changed.execution_count) == ("idle", None)
    cell = notebook.cell(name)
    assert (cell.kind, cell.outputs, cell.state) == (kind, [], "idle")
    assert not cell.execution_count and not cell.exec_id and not cell.executed_at
    assert notebook.client.request("GET", svg["url"]).status == 404
    assert notebook.edit(name, kind="code").state == "idle"
    assert notebook.cell(name).outputs == []
    assert notebook.run(name).value.text == "42"


def test_a_running_cell_that_becomes_text_stays_that(notebook):
    answer = notebook.add("print('on', flush=True); input()", run=True)
    assert answer.status == "input_required"
    name = answer.cell_id
    assert notebook.cell(name).state == "running"
    notebook.edit(name, kind="markdown")
    assert (notebook.cell(name).state, notebook.cell(name).outputs) == ("idle", [])
    watcher = Watcher(notebook)
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/input", {"text": "line"})
    assert notebook.add("1", run=True).value.text == "1"  # it has ended
    cell = notebook.cell(name)
    assert (cell.kind, cell.state, cell.outputs) == ("markdown", "idle", [])
    watcher.wait("cell_added")
    assert all(data.get("id") != name for event, data in watcher.events)


def test_a_running_cell_is_edited_moved_and_removed(notebook):
    notebook.add("first")
    answer = notebook.add("import time; print('on', flush=True); time.sleep(60)", run=True,
                          yield_ms=0)
    name = answer.cell_id
    assert notebook.edit(name, source="later").revision == 2
    notebook.move(name, 0)
    host.eventually(lambda: text_of(notebook.cell(name)) == "on\n")
    interrupt = f"/v1/sessions/{notebook.id}/interrupt"
    notebook.client.call("POST", interrupt, {})
    host.eventually(lambda: notebook.cell(name).state == "interrupted")
    assert (notebook.cell(0).source, notebook.cell(0).revision) == ("later", 2)
    answer = notebook.add("time.sleep(60)", run=True, yield_ms=0)
    notebook.delete(answer.cell_id)
    notebook.client.call("POST", interrupt, {})
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/exec/{answer.exec_id}/continue", {})
    assert notebook.sources() == ["later", "first"]


@pytest.mark.parametrize("cell, to, order", [
    (0, 0, "abcde"), (0, 1, "bacde"), (0, 4, "bcdea"), (0, -1, "bcdea"), (0, 99, "bcdea"),
    (4, 0, "eabcd"), (2, 2, "abcde"), (3, 1, "adbce"), (-1, 1, "aebcd"), (1, 3, "acdbe"),
])
def test_moves(notebook, cell, to, order):
    for source in "abcde":
        notebook.add(source)
    moved = notebook.move(cell, to)
    assert "".join(notebook.sources()) == order
    assert notebook.cell(moved.id).number == moved.number == order.index("abcde"[cell])


def test_a_removed_cell_is_gone_and_its_work_is_not(notebook):
    name = notebook.add("x = 5", run=True).cell_id
    notebook.add("x")
    answer = notebook.delete(name)
    assert (answer.deleted, answer.cell_count) == (name, 1)
    assert notebook.sources() == ["x"]
    assert refusal(notebook.cell, name).status == 404
    assert notebook.run(0).value.text == "5"


def test_outputs_are_cleared(notebook):
    for i in range(3):
        notebook.add(f"print({i})", run=True)
    cell = notebook.clear(1)
    assert cell.state == "idle"
    assert [len(c.outputs) for c in notebook.cells(outputs=True)] == [1, 0, 1]
    assert notebook.call("POST", "/clear", {"what": "outputs"}).cell_count == 3
    assert [len(c.outputs) for c in notebook.cells(outputs=True)] == [0, 0, 0]
    assert {c.state for c in notebook.cells()} == {"idle"}


def test_all_cells_are_cleared_and_variables_stay(notebook):
    notebook.add("x = 7", run=True)
    notebook.add("y", kind="markdown")
    assert notebook.call("POST", "/clear", {"what": "cells"}).cell_count == 0
    assert notebook.cells() == []
    assert notebook.add("x", run=True).value.text == "7"
    assert len(notebook.cells()) == 1


# Running.


def test_a_cell_is_run_again(notebook):
    name = notebook.add("n = 0", run=True).cell_id
    step = notebook.add("n += 1; n", run=True).cell_id
    answers = [notebook.run(step) for _ in range(3)]
    assert [a.value.text for a in answers] == ["2", "3", "4"]
    assert {a.cell_id for a in answers} == {step} and {a.cell_number for a in answers} == {1}
    cell = notebook.cell(step)
    assert value_of(cell) == "4" and cell.execution_count == answers[-1].exec_id
    assert len(cell.outputs) == 1
    assert notebook.run(name).status == "ok"
    assert notebook.info().cell_count == 2


def test_a_run_takes_what_an_exec_takes(notebook):
    name = notebook.add("import time; print('x' * 5000); time.sleep(30)")
    answer = notebook.run(name, timeout_ms=1000, budget=100, names=True)
    assert answer.status == "timeout" and answer.truncated
    assert answer.names is not None
    cell = notebook.cell(name)
    assert cell.state == "timeout" and len(text_of(cell)) == 5001


def test_a_run_can_be_streamed(notebook):
    name = notebook.add("print(1); 2")
    events = list(notebook.client.events(f"{notebook.path}/cells/{name}/run", {}))
    assert "".join(d["text"] for n, d in events if n == "output") == "1\n"
    assert events[-1][0] == "result" and events[-1][1]["value"]["text"] == "2"
    events = list(notebook.client.events(f"{notebook.path}/cells", {"source": "print(3)",
                                                                    "run": True}))
    assert "".join(d["text"] for n, d in events if n == "output") == "3\n"


def test_a_run_in_the_background_is_waited_for(notebook):
    name = notebook.add("import time; time.sleep(0.3); 'done'")
    answer = notebook.run(name, yield_ms=0)
    assert answer.status == "running"
    path = f"/v1/sessions/{notebook.id}/exec/{answer.exec_id}/continue"
    assert notebook.client.call("POST", path, {}).value.text == "'done'"
    assert value_of(notebook.cell(name)) == "'done'"


def fill(notebook, *sources):
    return [notebook.add(source) for source in sources]


@pytest.mark.each_mode
def test_all_cells_run_in_order(notebook):
    ids = fill(notebook, "x = [1]", "x.append(2)", "x")
    notebook.add("# text", kind="markdown", at=1)
    answer = notebook.run_range()
    assert (answer.ran, answer["failed"]) == (3, None)
    assert [c["id"] for c in answer.cells] == ids
    assert [c["number"] for c in answer.cells] == [0, 2, 3]
    assert {c["state"] for c in answer.cells} == {"completed"}
    assert value_of(notebook.cell(-1)) == "[1, 2]"


def test_from_here_to_there(notebook):
    ids = fill(notebook, "x = []", *(f"x.append({i})" for i in range(1, 6)), "x")
    notebook.run(0)
    assert notebook.run_range(**{"from": "2", "to": ids[4]}).ran == 3
    assert notebook.run(-1).value.text == "[2, 3, 4]"
    assert notebook.run_range(**{"from": "-2"}).ran == 2
    assert value_of(notebook.cell(-1)) == "[2, 3, 4, 5]"
    assert notebook.run_range(to="1").ran == 2
    assert notebook.run(-1).value.text == "[1]"


def test_a_failure_ends_the_run(notebook):
    ids = fill(notebook, "n = 1", "1 / 0", "n = 3")
    answer = notebook.run_range()
    assert (answer.ran, answer.failed) == (2, ids[1])
    assert [c["state"] for c in answer.cells] == ["completed", "error"]
    assert [c.state for c in notebook.cells()] == ["completed", "error", "idle"]
    answer = notebook.run_range(stop_on_error=False)
    assert (answer.ran, answer.failed) == (3, ids[1])
    assert notebook.add("n", run=True).value.text == "3"


def test_a_time_limit_holds_for_each_cell(notebook):
    fill(notebook, *["import time; time.sleep(0.5)"] * 3, "time.sleep(60)", "1")
    answer = notebook.run_range(timeout_ms=1400)  # less than the three of them take
    assert [c["state"] for c in answer.cells] == ["completed"] * 3 + ["timeout"]


def test_a_range_can_be_streamed(notebook):
    ids = fill(notebook, "1", "2", "3")
    events = list(notebook.client.events(f"{notebook.path}/run", {}))
    assert [d["id"] for n, d in events if n == "cell"] == ids
    assert events[-1][0] == "result" and events[-1][1]["ran"] == 3


def run_and_hang_up(notebook, what):
    client = notebook.client
    with client.connect() as sock:
        sock.sendall(client.post_bytes(f"{notebook.path}/run", {"on_disconnect": what}))
        host.eventually(lambda: notebook.cell(0).state in ("queued", "running"))


def test_a_range_goes_on_without_its_client(notebook, spawn):
    gated = "import os, time\nwhile not os.path.exists('gate'): time.sleep(0.005)"
    fill(notebook, gated, "2", "3")
    run_and_hang_up(notebook, "continue")
    spawn(join=notebook.id).exec("open('gate', 'w').close()")
    host.eventually(lambda: notebook.cell(2).state == "completed")
    assert [c.state for c in notebook.cells()] == ["completed"] * 3


def test_a_range_is_interrupted_if_its_client_wanted_that(notebook):
    fill(notebook, "import time; time.sleep(60)", "2", "3")
    run_and_hang_up(notebook, "cancel")
    host.eventually(lambda: notebook.cell(0).state == "interrupted")
    assert notebook.add("4", run=True).value.text == "4"
    assert [c.state for c in notebook.cells()] == ["interrupted", "idle", "idle", "completed"]


def test_a_range_that_waits_is_taken_from_the_queue(notebook):
    fill(notebook, "2", "3")
    notebook.add("import time; time.sleep(60)", run=True, yield_ms=0)
    run_and_hang_up(notebook, "cancel")
    host.eventually(lambda: notebook.cell(0).state not in ("queued", "running"))
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/interrupt", {})
    assert notebook.add("4", run=True).value.text == "4"
    assert {c.state for c in notebook.cells()[:2]} <= {"idle", "interrupted"}
    assert notebook.cell(0).execution_count is None


def test_a_session_that_just_ended_is_made_again_at_once(notebook):
    """It waits for the removal of the old one's files, not for a time; and keeps its own."""
    fill(notebook, "import os; seen = os.listdir(); open('f', 'w').write('mine'); seen")
    notebook.run(0)
    took = []
    for _ in range(8):
        begin = time.monotonic()
        notebook.client.call("DELETE", f"/v1/sessions/{notebook.id}?keep_notebook=true")
        assert notebook.run(0).value.text == "[]"
        took.append(time.monotonic() - begin)
    assert min(took) < 0.9  # those that others slow down may take longer
    assert notebook.add("os.listdir()", run=True).value.text == "['f']"


def test_the_daemon_ends_while_a_range_runs(launch):
    daemon = launch()
    notebook = of(daemon.client.spawn())
    fill(notebook, "import time; time.sleep(60)", "2")
    run_and_hang_up(notebook, "continue")
    daemon.stop()


@pytest.mark.parametrize("members", [{"from": "9"}, {"to": "nobody"}, {"from": "2", "to": "1"}])
def test_ranges_that_cannot_be(notebook, members):
    fill(notebook, "1", "2", "3")
    try:
        assert notebook.run_range(**members).ran == 0
    except ApiError as error:
        assert error.status in (400, 404)
    assert {c.state for c in notebook.cells()} == {"idle"}


def test_an_empty_notebook_runs(notebook):
    assert notebook.run_range().ran == 0


@pytest.mark.each_mode
def test_reset_forgets_variables_and_keeps_the_rest(notebook):
    notebook.add("x = 1; open('kept', 'w').write('file')", run=True)
    answer = notebook.call("POST", "/reset", {})
    assert answer.reset is True
    assert notebook.add("x", run=True)["error"]["name"] == "NameError"
    assert notebook.add("open('kept').read()", run=True).value.text == "'file'"
    assert notebook.cell(0).state == "completed"
    assert notebook.run_range(stop_on_error=False).ran == 3


@pytest.mark.parametrize("runtime, code, probe", [
    ("node", "globalThis.x = 1", "typeof x"), ("bash", "x=1", "echo ${x-undefined}")])
def test_reset_of_other_runtimes(spawn_runtime, runtime, code, probe):
    session = spawn_runtime(runtime)
    session.exec(code)
    of(session).call("POST", "/reset", {})
    answer = session.exec(probe)
    assert "undefined" in answer["stdout"] + str(answer["value"]), answer


def test_reset_waits_for_nobody(notebook):
    notebook.add("import time; time.sleep(60)", run=True, yield_ms=0)
    assert refusal(notebook.call, "POST", "/reset", {}).status == 409
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/interrupt", {})


# Notebooks.


def test_a_notebook_begins_with_what_it_is_given(client):
    made = client.call("POST", "/v1/notebooks", {
        "title": "Sums", "profile": "min", "metadata": {"for": "tests"},
        "cells": [{"source": "# Sums", "kind": "markdown"}, {"source": "1 + 1"}]})
    assert (made.title, made.user, made.runtime) == ("Sums", "default", "python")
    assert made.cell_count == 2 and made.metadata == {"for": "tests"} and made.state == "idle"
    notebook = Notebook(client, made.notebook_id)
    assert [c.kind for c in notebook.cells()] == ["markdown", "code"]
    assert {c.state for c in notebook.cells()} == {"idle"}
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
    assert [c["source"] for c in page.cells] == [str(i) for i in range(10, 20)]
    assert page.count == 25
    info = notebook.info(offset=20, limit=10)
    assert [c["number"] for c in info.cells] == [20, 21, 22, 23, 24]
    assert notebook.page(offset=99).cells == []
    assert "outputs" not in page.cells[0]


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
    assert (info.state, info.cell_count) == (None, 1)
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
    notebook.edit(0, source="x = 2")
    notebook.move(1, 0)
    notebook.move(1, 0)
    assert notebook.info().state is None
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
    assert [c.state for c in notebook.cells()] == ["completed", "died"]
    notebook.delete(1)
    assert notebook.run(0).status == "ok"
    assert notebook.add("x", run=True).value.text == "1"


# What is not possible.


def test_no_such_notebook(client):
    nobody = Notebook(client, "00000000-0000-4000-8000-000000000000")
    calls = [("GET", "", None), ("PATCH", "", {"title": "x"}), ("DELETE", "", None),
             ("GET", "/cells", None), ("POST", "/cells", {"source": "1"}),
             ("POST", "/cells", {"source": "1", "run": True}), ("GET", "/cells/0", None),
             ("POST", "/cells/0/run", {}), ("POST", "/run", {}), ("POST", "/reset", {}),
             ("POST", "/clear", {"what": "cells"}), ("GET", "/export", None),
             ("GET", "/events", None)]
    for method, path, body in calls:
        for notebook in (nobody, Notebook(client, "x"), Notebook(client, "%20")):
            reply = client.request(method, notebook.path + path, body)
            is_told = b"event: error" in reply.body and b"not_found" in reply.body
            assert reply.status in (400, 404) or is_told, (method, path, reply)


@pytest.mark.parametrize("method, path, body, word", [
    ("POST", "/cells", {}, "source"),
    ("POST", "/cells", {"source": 5}, "source"),
    ("POST", "/cells", {"source": "x" * (1024 * 1024 + 1)}, "source"),
    ("POST", "/cells", {"source": "x", "at": -2}, "at"),
    ("POST", "/cells", {"source": "x", "at": 1.5}, "at"),
    ("POST", "/cells", {"source": "x", "metadata": []}, "metadata"),
    ("POST", "/cells", {"source": "x", "metadata": {"m": "x" * 300_000}}, "metadata"),
    ("POST", "/cells", {"source": "x", "color": "red"}, "color"),
    ("PATCH", "/cells/0", {"revision": 0, "source": "x"}, "revision"),
    ("POST", "/cells/0/move", {}, "to"),
    ("POST", "/cells/0/move", {"to": "up"}, "to"),
    ("POST", "/cells/0/run", {"timeout_ms": 0}, "timeout_ms"),
    ("POST", "/run", {"from": 0}, "from"),
    ("POST", "/run", {"stop_on_error": "no"}, "stop_on_error"),
    ("POST", "/clear", {}, "what"),
    ("POST", "/clear", {"what": "all"}, "what"),
    ("GET", "/cells?limit=0", None, "limit"),
    ("GET", "/cells?limit=1001", None, "limit"),
    ("GET", "/cells?offset=-1", None, "offset"),
    ("GET", "/cells?outputs=maybe", None, "outputs"),
    ("GET", "/export?format=pdf", None, "format"),
    ("PATCH", "", {"title": "x" * 2000}, "title"),
    ("PATCH", "", {"metadata": "x"}, "metadata"),
])
def test_mistakes_are_named(notebook, method, path, body, word):
    notebook.add("x")
    reply = notebook.client.request(method, notebook.path + path, body)
    assert reply.status in (400, 413), reply
    assert word in reply.json["error"]["message"]
    assert reply.json["error"]["advice"]
    assert notebook.sources() == ["x"]


@pytest.mark.parametrize("body, word", [
    ({"cells": {}}, "cells"), ({"cells": [5]}, "cells"), ({"cells": [{}]}, "cells[0].source"),
    ({"cells": [{"source": "x"}, {"source": "y", "kind": "z"}]}, "cells[1].kind"),
    ({"cells": [{"source": ""}] * 1001}, "cells"), ({"profile": "nobody"}, "nobody"),
])
def test_mistakes_in_a_new_notebook(client, body, word):
    before = len(client.sessions())
    reply = client.request("POST", "/v1/notebooks", body)
    assert reply.status in (400, 413) and word in reply.json["error"]["message"], reply
    assert len(client.sessions()) == before


def test_sources_of_all_kinds_come_back(notebook):
    sources = ["", " ", "\n", "é\u2028\U0001f40d", "a\r\nb\rc", "\\\"'", "x" * 100_000, "\x1b[0m"]
    for source in sources:
        notebook.client.call("POST", f"{notebook.path}/cells", {"source": source})
    assert notebook.sources() == sources


def test_the_key_is_needed(daemon, notebook):
    stranger = Client(daemon.address)
    for method, path, body in (("GET", "", None), ("GET", "/cells", None), ("DELETE", "", None),
                               ("POST", "/cells", {"source": "1"}), ("GET", "/export", None),
                               ("GET", "/events", None), ("POST", "/run", {})):
        assert stranger.request(method, notebook.path + path, body).status == 401
    assert stranger.request("GET", "/v1/notebooks").status == 401
    assert stranger.request("POST", "/v1/notebooks/import", {"content": "{}"}).status == 401


def test_methods_that_do_not_exist(notebook):
    reply = notebook.client.request("PUT", f"{notebook.path}/cells/0", {})
    assert reply.status == 405
    assert {"GET", "PATCH", "DELETE"} <= set(reply.headers["Allow"].split(", "))


# Plan mode.


def test_plan_mode_lets_one_read_and_nothing_else(notebook):
    notebook.add("x = 1")
    plan = f"/v1/sessions/{notebook.id}/plan"
    notebook.client.call("PUT", plan, {"reason": "think"})
    changes = [("POST", "/cells", {"source": "1"}), ("POST", "/cells/0/run", {}),
               ("PATCH", "/cells/0", {"source": "2"}), ("DELETE", "/cells/0", None),
               ("POST", "/cells/0/move", {"to": 0}), ("POST", "/cells/0/clear", {}),
               ("POST", "/run", {}), ("POST", "/reset", {}), ("POST", "/clear", {"what": "cells"}),
               ("PATCH", "", {"title": "x"}), ("DELETE", "", None)]
    for method, path, body in changes:
        reply = notebook.client.request(method, notebook.path + path, body)
        assert reply.status == 409 and reply.json["refusal"]["entered_reason"] == "think", reply
    for path in ("", "/cells", "/cells/0", "/export", "/export?format=html"):
        assert notebook.client.request("GET", notebook.path + path).status == 200
    notebook.client.call("DELETE", plan)
    assert notebook.sources() == ["x = 1"]


def test_an_agent_that_plans_does_not_wake_an_old_notebook(client, spawn):
    session = spawn()
    session.exec("1")
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    client.call("PUT", "/v1/agents/default/plan", {"reason": "holiday"})
    try:
        assert refusal(of(session).run, 0).status == 409
        assert of(session).cell(0).state == "completed"
    finally:
        client.call("DELETE", "/v1/agents/default/plan")
    assert of(session).run(0).status == "ok"


AGENTS = """
default_profile: min
agents:
  - id: ana
    repl: {enabled: true, max_sessions: 1}
  - id: bob
    repl: {enabled: true, allowed_runtimes: [bash]}
  - id: off
"""


def test_notebooks_belong_to_agents(launch):
    daemon = launch(config=AGENTS)
    client = daemon.client
    first = Notebook(client, client.call("POST", "/v1/notebooks", {"agent": "ana"}).notebook_id)
    first.add("1", run=True)
    assert first.info().user == "ana"
    assert client.request("POST", "/v1/notebooks", {"agent": "ana"}).status == 429
    for body, status in (({"agent": "off"}, 403), ({"agent": "nobody"}, 403),
                         ({"agent": "bob", "runtime": "python"}, 403)):
        assert client.request("POST", "/v1/notebooks", body).status == status, body
    client.call("DELETE", f"/v1/sessions/{first.id}?keep_notebook=true")
    second = client.call("POST", "/v1/notebooks", {"agent": "ana", "title": "second"})
    assert refusal(first.run, 0).status == 429  # its session would be one too many
    assert refusal(first.run_range).status == 429
    assert refusal(first.add, "2", run=True).status == 429
    assert first.sources() == ["1"]
    client.call("DELETE", f"/v1/sessions/{second.notebook_id}")
    assert first.run(0).value.text == "1"
    mine = client.call("GET", "/v1/notebooks?user=ana")
    assert [n["notebook_id"] for n in mine.notebooks] == [first.id] and mine.count == 1
    assert client.call("GET", "/v1/notebooks?user=bob").count == 0
    daemon.stop()


# Limits.


def test_beyond_the_limit_cells_run_unrecorded(launch):
    settings = "notebook:\n  max_cells: 3\n  max_output_kb: 1\n"
    daemon = launch(config=f"default_profile: min\n{settings}")
    session = daemon.client.spawn("min")
    for i in range(3):
        assert session.exec(str(i)).cell_number == i
    answer = session.exec("40 + 2")
    assert answer.value.text == "42"
    assert "3" in answer.unrecorded and answer.get("cell_id") is None
    notebook = of(session)
    assert len(notebook.cells()) == 3
    assert refusal(notebook.add, "x").code == "limit_reached"
    notebook.delete(0)
    assert session.exec("print('x' * 3000)").cell_number == 2
    assert [c.source for c in notebook.cells()] == ["1", "2", "print('x' * 3000)"]
    assert 1900 < notebook.cell(2).outputs[0]["omitted"] < 2100
    daemon.stop()


# Many at once.


def test_edits_of_many_never_corrupt_it(notebook):
    """Whatever many clients do at once, numbers stay 0 to n, ids unique, and nothing is lost."""
    def busy(seed):
        chance, added, removed = random.Random(seed), [], 0
        for i in range(25):
            what = chance.choice(["add", "add", "move", "edit", "delete", "read"])
            try:
                if what == "add":
                    added.append(notebook.add(f"{seed}:{i}", at=chance.randrange(-1, 20)))
                elif what == "move":
                    notebook.move(chance.randrange(10), chance.randrange(-1, 10))
                elif what == "edit" and added:
                    notebook.edit(chance.choice(added), source=f"{seed}:edited")
                elif what == "delete" and added:
                    notebook.delete(added.pop())
                    removed += 1
                else:
                    numbers = [c.number for c in notebook.cells()]
                    assert numbers == sorted(set(numbers))
            except ApiError as error:
                assert error.status == 404 and what == "move", error
        return added

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        left = [name for names in pool.map(busy, range(6)) for name in names]
    cells = notebook.cells()
    assert sorted(c.id for c in cells) == sorted(left)
    assert [c.number for c in cells] == list(range(len(left)))


def test_cells_and_execs_of_many_come_in_one_order(notebook):
    def busy(i):
        return [notebook.add(f"'{i}-{j}'", run=True).cell_id for j in range(4)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ids = [name for names in pool.map(busy, range(4)) for name in names]
    cells = notebook.cells(outputs=True)
    assert sorted(c.id for c in cells) == sorted(ids)
    for cell in cells:
        assert cell.state == "completed" and value_of(cell) == cell.source
    assert sorted(c.execution_count for c in cells) == list(range(1, 17))


def test_clients_that_go_away_leave_it_whole(notebook):
    """Each call is sent and its answer not waited for, whichever step it is in by then."""
    client, chance = notebook.client, random.Random(5)
    for _ in range(3):
        notebook.add("import time; time.sleep(0.01); print('x' * 1000)")
    content = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "source": "1",
         "execution_count": None} for i in range(200)]})
    calls = [("GET", ""), ("GET", "/cells?outputs=true"), ("GET", "/cells/0"), ("GET", "/events"),
             ("GET", "/export?format=html"), ("POST", "/run", {}), ("POST", "/cells/1/run", {}),
             ("POST", "/cells", {"source": "2", "run": True}), ("POST", "/cells", {"source": "3"}),
             ("PATCH", "/cells/0", {"metadata": {"a": 1}}), ("POST", "/cells/0/move", {"to": 2}),
             ("PATCH", "", {"title": "left"}), ("POST", "/clear", {"what": "outputs"}),
             ("DELETE", "/cells/-1"), ("POST", "/reset", {})]
    before = client.call("GET", "/v1/notebooks?limit=1").count
    for method, path, *body in calls * 4:
        send_and_leave(client, chance, method, notebook.path + path, *body)
    for _ in range(8):
        body = {"content": content, "title": "left behind"}
        send_and_leave(client, chance, "POST", "/v1/notebooks/import", body)
    for _ in range(4):
        body = {"profile": "min", "cells": [{"source": "1"}] * 20, "title": "left behind"}
        send_and_leave(client, chance, "POST", "/v1/notebooks", body)
    host.eventually(lambda: notebook.info().state == "idle", 20)
    assert [c.number for c in notebook.cells()] == list(range(notebook.info().cell_count))
    assert notebook.run_range().failed is None
    left = client.call("GET", "/v1/notebooks?limit=100").notebooks[:20]
    assert client.call("GET", "/v1/notebooks?limit=1").count <= before + 12
    for other in left:
        if other["title"] == "left behind":
            client.request("DELETE", f"/v1/notebooks/{other['notebook_id']}")


def send_and_leave(client, chance, method, path, body=None):
    data = json.dumps(body).encode() if body is not None else b""
    with client.connect() as sock:
        sock.sendall(client.head(method, path, Content_Length=len(data)) + b"\r\n" + data)
        time.sleep(chance.choice([0, 0.001, 0.003, 0.01]))


# The documentation.


@pytest.mark.each_mode
def test_what_the_documentation_says_to_type(daemon, tmp_path):
    text = (pathlib.Path(__file__).parents[2] / "docs" / "NOTEBOOKS.md").read_text()
    (script,) = [block for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
                 if "api()" in block]
    env = {"PATH": "/usr/bin:/bin", "key": daemon.key(), "url": f"{daemon.url}/v1/notebooks"}
    done = subprocess.run(["sh", "-eu", "-c", script + "echo; echo $id"], env=env, cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    notebook = Notebook(daemon.client, done.stdout.split()[-1])
    assert [c.source for c in notebook.cells()] == ["# Sums", "x = 41", "x + 1", "x * 2"]
    assert value_of(notebook.cell(-1)) == "82"
    assert "82" in (tmp_path / "sums.html").read_text()
    daemon.client.call("DELETE", f"/v1/sessions/{notebook.id}")
