"""Displays that later cells update: in the notebook they change where they were shown."""

import base64
import json

import pytest

from harness.notebooks import Notebook
from test_notebook_events import Watcher
from test_notebook_kill import kill
from test_recording import PNG

pytestmark = pytest.mark.one_mode


def texts(cell):
    return [output.get("text") for output in cell["outputs"]]


def shown(book):
    return [texts(cell) for cell in book.cells(outputs=True)]


def picture(client, output):
    reply = client.request("GET", output["url"])
    return reply.body if reply.status == 200 else None


# Where an update goes.


@pytest.mark.smoke
def test_an_update_changes_what_an_earlier_cell_shows(session, book):
    session.exec("h = display('first', display_id=True)")
    answer = session.exec("print('before'); h.update('second')")
    assert [output["text"] for output in answer.outputs] == ["'second'"]  # the caller sees it
    assert shown(book) == [["'second'"], ["before\n"]]


@pytest.mark.smoke
def test_every_cell_that_shows_the_id_is_updated(session, book):
    session.exec("display(1, display_id='n'); display(0); display(1, display_id='n');")
    session.exec("display(2, display_id='n');")
    session.exec("from IPython.display import update_display\nupdate_display(3, display_id='n')")
    session.exec("display(4, display_id='n'); update_display(5, display_id='n')")
    assert shown(book) == [["5", "0", "5"], ["5"], [], ["5"]]


@pytest.mark.smoke
def test_the_newest_64_cells_that_show_the_id_are_updated(session, book):
    session.exec("from IPython.display import update_display")
    for _ in range(66):
        session.exec("display('old', display_id='n');")
    session.exec("update_display('new', display_id='n')")
    assert shown(book) == [[], ["'old'"], ["'old'"], *[["'new'"]] * 64, []]


@pytest.mark.smoke
def test_an_update_that_finds_nothing_stays_in_its_own_cell(session, book):
    first = session.exec("h = display('first', display_id=True)").cell_id
    session.exec("g = display('other', display_id=True)")
    book.delete(first)
    book.clear(0)
    session.exec("h.update('a')")
    session.exec("g.update('b')")
    assert shown(book) == [[], ["'a'"], ["'b'"]]
    session.exec("h.update('c'); g.update('d')")  # they are shown there from now on
    assert shown(book) == [[], ["'c'"], ["'d'"], []]


def test_cells_that_ran_again_or_were_edited_are_updated_too(session, book):
    cell = session.exec("h = display('first', display_id='x')").cell_id
    other = session.exec("h.update('second')").cell_id
    book.run(cell)
    assert shown(book) == [["'first'"], []]
    book.edit(cell, code="# nothing any more")
    book.move(cell, 1)
    book.run(other)
    assert shown(book) == [[], ["'second'"]]


def test_what_a_cell_clears_of_its_own_stays_updated_elsewhere(session, book):
    session.exec("from IPython.display import clear_output\nh = display(1, display_id=True)")
    session.exec("print('x'); h.update(2); clear_output(); print('y')")
    assert shown(book) == [["2"], ["y\n"]]


def test_an_id_of_another_notebook_is_another_display(client, spawn):
    books = []
    for text in ("one", "two"):
        session = spawn()
        session.exec(f"h = display('{text}', display_id='same')")
        books.append((session, Notebook(client, session.id)))
    books[0][0].exec("h.update('three')")
    assert [shown(book)[0] for _, book in books] == [["'three'"], ["'two'"]]


def test_odd_ids_are_ids(session, book):
    for name in ('"', "a\\b", "\N{SNOWMAN}\n", "\x01"):
        session.exec(f"h = display(1, display_id={name!r})")
        session.exec("h.update(2)")
    assert shown(book) == [["2"], []] * 4


# Pictures.


@pytest.mark.each_mode
def test_a_picture_goes_to_the_cell_that_showed_the_one_before(client, session, book):
    session.exec(PNG)
    first = session.exec("display(Picture(1), display_id='p'); display(Picture(2))").cell_id
    answer = session.exec("from IPython.display import update_display\n"
                          "update_display(Picture(3), display_id='p')")
    three = base64.b64decode(
        session.exec("base64.b64encode(png(3)).decode()").value["text"].strip("'"))
    assert picture(client, answer.outputs[0]) == three  # as the answer names it
    cell = book.cell(first)
    assert [picture(client, output) for output in cell.outputs][0] == three
    assert f"/cells/{first}/" in cell.outputs[0]["url"]
    assert book.cell(2).outputs == []
    book.delete(2)
    assert picture(client, book.cell(first).outputs[0]) == three  # whatever becomes of the other
    exported = json.loads(book.export().body)
    data = exported["cells"][1]["outputs"][0]["data"]["image/png"]
    assert base64.b64decode(data if isinstance(data, str) else "".join(data)) == three


def test_a_picture_may_become_text_and_text_a_picture(client, session, book):
    session.exec(PNG)
    cell = session.exec("h = display(Picture(1), display_id=True)").cell_id
    url = book.cell(cell).outputs[0]["url"]
    session.exec("h.update('text')")
    assert texts(book.cell(cell)) == ["'text'"]
    assert client.request("GET", url).status == 404
    session.exec("h.update(Picture(2))")
    (output,) = book.cell(cell).outputs
    assert output["type"] == "image" and picture(client, output) is not None


# Who hears of it, and when.


def is_shown_in(cell, text=None):
    return lambda data: data["cell_id"] == cell and text in (None, data["output"].get("text"))


def test_watchers_are_told_of_the_cell_that_changed(session, book):
    session.exec(PNG)
    first = session.exec("h = display('first', display_id=True)").cell_id
    watcher = Watcher(book)
    session.exec("h.update('second')")
    event = watcher.wait("output", is_shown_in(first))
    assert event["update"] is True and event["output"]["text"] == "'second'"
    session.exec("h.update(Picture(1))")
    event = watcher.wait("output", is_shown_in(first))
    assert f"/cells/{first}/" in event["output"]["url"] and "hash" not in event["output"]
    assert all(data["cell_id"] == first for name, data in watcher.events if name == "output")


def test_watchers_hear_while_the_cell_runs(session, book):
    first = session.exec("h = display(0, display_id=True)").cell_id
    watcher = Watcher(book)
    session.exec("import time\nh.update(1); input(); h.update(2); time.sleep(60)")
    watcher.wait("output", is_shown_in(first, "1"))
    session.client.call("POST", f"{session.path}/input", {"text": "", "yield_ms": 0})
    watcher.wait("output", is_shown_in(first, "2"))
    assert session.interrupt()
    watcher.wait("cell_changed", lambda data: data["cell"]["status"] == "interrupted")


def test_an_update_that_stays_is_told_once(session, book):
    session.exec("h = display(0, display_id=True)")
    book.delete(0)
    watcher = Watcher(book)
    answer = session.exec("h.update(1); input();")
    assert answer.status == "input_required"
    for _ in range(10):
        assert shown(book) == [["1"]]
    session.client.call("POST", f"{session.path}/input", {"number": answer.number, "text": ""})
    watcher.wait("cell_changed", lambda data: data["cell"]["status"] == "ok")
    session.exec("h.update(2)")
    watcher.wait("output", is_shown_in(answer.cell_id, "2"))
    told = [data["output"]["text"] for name, data in watcher.events if name == "output"]
    assert told == ["1", "2"]


# What lasts.


@pytest.mark.each_mode
def test_handles_of_saved_sessions_and_updates_that_were_answered(launch):
    data = launch.new_data()
    daemon = launch(data=data, config="default_profile: min\n")
    session = daemon.client.spawn("min")
    session.exec("h = display('first', display_id=True)", durable=True)
    session.exec("h.update('second')")
    kill(daemon)  # at once after the answer
    daemon = launch(data=data, config="default_profile: min\n")
    book = Notebook(daemon.client, session.id)
    assert shown(book) == [["'second'"], []]
    assert book.add("h.update('third')", run=True).status == "ok"
    assert shown(book) == [["'third'"], [], []]
    daemon.stop()


def test_handles_of_interpreters_that_were_brought_back(session, book):
    session.exec("h = display('first', display_id=True)", durable=True)
    assert session.exec("import os; os.kill(os.getpid(), 9)").status == "died"
    session.exec("h.update('second')")
    assert shown(book)[0] == ["'second'"]


@pytest.mark.slow
def test_an_update_is_cheap_however_many_cells_there_are(session, book):
    """A thousand displays, one of which is updated a thousand times in one cell."""
    session.exec("hs = []")
    for _ in range(20):
        session.exec("for i in range(50): hs.append(display(i, display_id=True))")
    session.exec("for i in range(1000): hs[0].update(i)")
    assert texts(book.cell(1))[:2] == ["999", "1"]
    session.exec("for h in hs: h.update('all')")
    assert {text for cell in book.cells(outputs=True)[1:21] for text in texts(cell)} == {"'all'"}
