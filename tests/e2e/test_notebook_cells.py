"""Cells of a notebook, by number or id: added, edited, moved, removed, cleared."""

import concurrent.futures

import pytest

from harness import host
from harness.notebooks import refusal, text_of, value_of
from test_notebook_events import Watcher

pytestmark = pytest.mark.one_mode

SVG = """class Svg:
    def _repr_svg_(self): return '<svg xmlns="http://www.w3.org/2000/svg"/>'
"""


@pytest.mark.smoke
def test_cells_are_found_by_number_and_by_id(notebook):
    ids = [notebook.add(f"n = {i}") for i in range(5)]
    for name, number in ((0, 0), (4, 4), (-1, 4), (-5, 0), (ids[2], 2)):
        cell = notebook.cell(name)
        assert (cell.index, cell.cell_id) == (number, ids[number])
        assert cell.code == f"n = {number}"


@pytest.mark.parametrize("name", ["5", "-6", "nobody", "99999999999999999999", "-0x1", "1.5", "%00",
                                  "a%20b", "..", "%F0%9F%90%8D"])
def test_cells_that_do_not_exist(notebook, name):
    for i in range(5):
        notebook.add(f"n = {i}")
    for method, path, body in (("GET", "", None), ("PATCH", "", {"code": "x"}),
                               ("DELETE", "", None), ("POST", "/run", {}),
                               ("POST", "/move", {"to": 0}), ("POST", "/clear", {})):
        reply = notebook.client.request(method, f"{notebook.path}/cells/{name}{path}", body)
        assert reply.status in (400, 404), (method, path, reply)
        assert reply.json["error"]["message"]
    assert notebook.sources() == [f"n = {i}" for i in range(5)]


@pytest.mark.smoke
def test_a_cell_is_added_and_not_run(notebook):
    cell = notebook.call("POST", "/cells", {"code": "x = 1"}).cell
    assert (cell.status, cell.index, cell.revision, cell.kind) == ("idle", 0, 1, "code")
    assert "number" not in cell
    assert "NameError" in str(notebook.add("x", run=True)["error"])


@pytest.mark.smoke
def test_a_cell_is_added_and_run(notebook):
    answer = notebook.add("6 * 7", run=True)
    assert answer.status == "ok" and answer.value.text == "42"
    assert notebook.index(answer) == 0
    assert value_of(notebook.cell(answer.cell_id)) == "42"


@pytest.mark.smoke
def test_a_cell_is_inserted_anywhere(notebook):
    for source in "bd":
        notebook.add(source)
    notebook.add("a", at=0)
    notebook.add("c", at=2)
    notebook.add("e", at=99)
    notebook.add("f", at=-1)
    notebook.add("g", at=None)
    assert notebook.sources() == list("abcdefg")
    assert [c.index for c in notebook.cells()] == list(range(7))


def test_many_insertions_at_one_place(notebook):
    notebook.add("first")
    notebook.add("last")
    for i in range(60):  # more than a gap can be halved
        notebook.add(str(i), at=1)
    assert notebook.sources() == ["first", *(str(i) for i in reversed(range(60))), "last"]


def test_an_id_of_ones_own(notebook):
    assert notebook.add("x", cell_id="load-data_1") == "load-data_1"
    assert notebook.cell("load-data_1").code == "x"
    assert refusal(notebook.add, "y", cell_id="load-data_1").status == 409
    assert notebook.sources() == ["x"]


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "12", "-1", "a/b", "a\x00b", "a\n"])
def test_ids_that_cannot_be(notebook, name):
    assert refusal(notebook.add, "x", cell_id=name).status in (400, 413)
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
    cell = notebook.edit(name, code="x = 2")
    assert cell.revision == 2
    cell = notebook.cell(name)
    assert (cell.code, cell.status) == ("x = 2", "ok")
    assert notebook.add("x", run=True).value.text == "1"  # it was not run again
    notebook.run(name)
    assert notebook.add("x", run=True).value.text == "2"


def test_an_edit_of_metadata_is_no_new_revision(notebook):
    name = notebook.add("x", metadata={"tags": ["a"]})
    assert notebook.cell(name).metadata == {"tags": ["a"]}
    notebook.edit(name, metadata={"tags": ["b"], "deep": {"er": [1, None, 2.5]}})
    cell = notebook.cell(name)
    assert cell.metadata == {"tags": ["b"], "deep": {"er": [1, None, 2.5]}}
    assert cell.code == "x" and cell.revision == 1


def test_an_edit_of_an_older_revision_is_refused(notebook):
    name = notebook.add("one")
    notebook.edit(name, code="two", revision=1)
    reply = notebook.client.request("PATCH", f"{notebook.path}/cells/{name}",
                                    {"code": "three", "revision": 1})
    assert reply.status == 409
    assert reply.json["revision"] == 2
    assert reply.json["error"]["code"] == "conflict"
    assert notebook.cell(name).code == "two"
    notebook.edit(name, code="three", revision=2)
    assert notebook.cell(name).code == "three"


def test_of_two_who_edit_one_revision_one_is_told(notebook):
    name = notebook.add("start")

    def edit(i):
        body = {"code": f"by {i}", "revision": 1}
        return notebook.client.request("PATCH", f"{notebook.path}/cells/{name}", body).status

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(edit, range(8)))
    assert sorted(statuses) == [200] + [409] * 7
    assert notebook.cell(name).code == f"by {statuses.index(200)}"
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
    assert (changed.status, "number" in changed) == ("idle", False)
    cell = notebook.cell(name)
    assert (cell.kind, cell.outputs, cell.status) == (kind, [], "idle")
    assert "number" not in cell and not cell.executed_at
    assert notebook.client.request("GET", svg["url"]).status == 404
    assert notebook.edit(name, kind="code").status == "idle"
    assert notebook.cell(name).outputs == []
    assert notebook.run(name).value.text == "42"


def test_a_running_cell_that_becomes_text_stays_that(notebook):
    answer = notebook.add("print('on', flush=True); input()", run=True)
    assert answer.status == "input_required"
    name = answer.cell_id
    assert notebook.cell(name).status == "running"
    notebook.edit(name, kind="markdown")
    assert (notebook.cell(name).status, notebook.cell(name).outputs) == ("idle", [])
    watcher = Watcher(notebook)
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/input", {"text": "line"})
    assert notebook.add("1", run=True).value.text == "1"  # it has ended
    cell = notebook.cell(name)
    assert (cell.kind, cell.status, cell.outputs) == ("markdown", "idle", [])
    watcher.wait("cell_added")
    assert all(data.get("cell_id") != name for event, data in watcher.events)


def test_a_running_cell_is_edited_moved_and_removed(notebook):
    notebook.add("first")
    answer = notebook.add("import time; print('on', flush=True); time.sleep(60)", run=True,
                          yield_ms=0)
    name = answer.cell_id
    assert notebook.edit(name, code="later").revision == 2
    notebook.move(name, 0)
    host.eventually(lambda: text_of(notebook.cell(name)) == "on\n")
    interrupt = f"/v1/sessions/{notebook.id}/interrupt"
    notebook.client.call("POST", interrupt, {})
    host.eventually(lambda: notebook.cell(name).status == "interrupted")
    assert (notebook.cell(0).code, notebook.cell(0).revision) == ("later", 2)
    answer = notebook.add("time.sleep(60)", run=True, yield_ms=0)
    notebook.delete(answer.cell_id)
    notebook.client.call("POST", interrupt, {})
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/exec/{answer.number}/continue", {})
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
    assert notebook.cell(moved.cell_id).index == moved.index == order.index("abcde"[cell])


def test_a_removed_cell_is_gone_and_its_work_is_not(notebook):
    name = notebook.add("x = 5", run=True).cell_id
    notebook.add("x")
    answer = notebook.delete(name)
    assert (answer.deleted_cell_id, answer.cell_count) == (name, 1)
    assert notebook.sources() == ["x"]
    assert refusal(notebook.cell, name).status == 404
    assert notebook.run(0).value.text == "5"


def test_outputs_are_cleared(notebook):
    for i in range(3):
        notebook.add(f"print({i})", run=True)
    cell = notebook.clear(1)
    assert cell.status == "idle"
    assert [len(c.outputs) for c in notebook.cells(outputs=True)] == [1, 0, 1]
    assert notebook.call("POST", "/clear", {"what": "outputs"}).cell_count == 3
    assert [len(c.outputs) for c in notebook.cells(outputs=True)] == [0, 0, 0]
    assert {c.status for c in notebook.cells()} == {"idle"}


def test_all_cells_are_cleared_and_variables_stay(notebook):
    notebook.add("x = 7", run=True)
    notebook.add("y", kind="markdown")
    assert notebook.call("POST", "/clear", {"what": "cells"}).cell_count == 0
    assert notebook.cells() == []
    assert notebook.add("x", run=True).value.text == "7"
    assert len(notebook.cells()) == 1
