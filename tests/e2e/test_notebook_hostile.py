"""Notebooks under attack: by the code that is recorded, and by callers."""

import contextlib
import http.client
import threading

import pytest

from harness import host
from harness.client import ApiError
from harness.notebooks import Notebook, text_of

pytestmark = pytest.mark.one_mode

# Sends what a driver would not.
FRAMES = """
import json, os, stat, struct
def send(value):
    data = json.dumps(value).encode()
    for name in os.listdir('/proc/self/fd'):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.set_blocking(int(name), True)
                os.write(int(name), struct.pack('<I', len(data)) + data)
        except OSError:
            pass
def show(n, output, **more):
    send({'ev': 'display', 'id': n, 'output': output, **more})
"""


# Callers.


@pytest.mark.smoke
@pytest.mark.parametrize("more", ["x", "-1", "%20"])
def test_a_longer_id_is_not_that_of_the_notebook_that_it_begins_with(client, session, book, more):
    session.exec("x = 1")
    alias = book.path + more
    attempts = [("GET", "", None), ("PATCH", "", {"title": "t"}), ("DELETE", "", None),
                ("POST", "/run", {}), ("POST", "/clear", {"what": "cells"}),
                ("POST", "/reset", {}), ("GET", "/export", None), ("GET", "/cells", None),
                ("GET", "/cells/0", None), ("DELETE", "/cells/0", None),
                ("POST", "/cells", {"code": "y"}), ("POST", "/cells/0/run", {}),
                ("POST", "/cells/0/clear", {}), ("PATCH", "/cells/0", {"code": "y"})]
    session.client.call("PUT", f"{session.path}/plan", {})
    for method, path, body in attempts:
        assert client.request(method, alias + path, body).status in (400, 404), (method, path)
    assert client.request("GET", f"{session.path}{more}/cells").status in (400, 404)
    session.client.call("DELETE", f"{session.path}/plan")
    assert book.sources() == ["x = 1"] and session.value("x") == "1"


def import_cell(client, **members):
    cell = {"id": "a", "code": "1", "type": "code", "status": "ok", **members}
    made = client.call("POST", "/v1/notebooks/import",
                       {"format": "cells-json", "content": {"cells": [cell]}})
    return Notebook(client, made.notebook_id)


@pytest.mark.parametrize("members", [
    {"created_at": "2020-01-01T00:00:00.5e300"}, {"created_at": "2020-01-01T00:00:00.nan"},
    {"executed_at": "99999999-01-01T00:00:00"}, {"execution_time": 1e300},
    {"execution_time": 1e18, "executed_at": "2020-01-01T00:00:00"},
    {"execution_count": 2**63 - 1}])
def test_an_import_of_numbers_that_cannot_be(client, members):
    book = import_cell(client, **members)
    cell = book.cell(0)
    assert cell.execution_count is None and not cell.duration_ms
    assert book.run(0).number == 1
    client.request("DELETE", f"/v1/sessions/{book.id}")


@pytest.mark.smoke
def test_an_import_of_metadata_that_are_too_large_is_refused(client):
    for metadata, of_cell in (({"a": "q" * 2_000_000}, {}), ({}, {"a": "q" * 9_000_000})):
        cell = {"cell_type": "code", "source": "", "metadata": of_cell, "outputs": [],
                "execution_count": None}
        content = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": [cell]}
        reply = client.request("POST", "/v1/notebooks/import", {"content": content})
        assert reply.status == 413 and "metadata" in reply.json["error"]["message"]


def test_a_run_that_would_bring_a_session_back_does_not_keep_the_daemon_from_ending(launch):
    daemon = launch(config="default_profile: min\n")
    session = daemon.client.spawn()
    session.exec("1")
    daemon.client.call("DELETE", f"{session.path}?keep_notebook=true")
    replies = []

    def run():
        try:
            path = f"/v1/notebooks/{session.id}/cells/0/run"
            replies.append(daemon.client.request("POST", path, {}))
        except (OSError, http.client.HTTPException):
            pass  # the daemon is gone

    thread = threading.Thread(target=run)
    thread.start()
    daemon.stop()  # before it begins, while it waits for the end of the old session, or runs
    thread.join()
    assert all(reply.status in (200, 410, 503) for reply in replies), replies


def guess_id(notebook_id, exec_id):
    """As ids were once made, from what everybody knows."""
    salt = 2166136261
    for c in notebook_id.encode():
        salt = (salt ^ c) * 16777619 % 2**32
    return f"{(exec_id * 0x9e3779b1 + salt) % 2**32 | 0x80000000:08x}"


def test_the_id_of_the_next_cell_cannot_be_taken(session, book):
    seen = [int(session.exec("1").cell_id, 16) for _ in range(3)]
    step = seen[2] - seen[1]
    assert step % 2**31 != (seen[1] - seen[0]) % 2**31
    for guess in (guess_id(book.id, 4), f"{(seen[2] + step) % 2**31 | 2**31:08x}"):
        if guess.isdigit():
            continue  # one of 43 looks like a number, and nobody can give it to a cell
        if guess not in [cell.cell_id for cell in book.cells()]:
            book.add("# mine", cell_id=guess)
    n = len(book.cells())
    answer = session.exec("'next'")
    assert book.index(answer) == n and len(book.cells()) == n + 1
    assert book.sources()[3:n] == ["# mine"] * (n - 3)
    assert len({int(session.exec("1").cell_id, 16) for _ in range(100)}) == 100


@pytest.fixture
def background():
    """Starts functions in threads; what they raise is of no interest."""
    threads = []

    def start(function, *args, **members):
        def run():
            with contextlib.suppress(ApiError):
                function(*args, **members)

        threads.append(threading.Thread(target=run))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


def test_a_cell_that_waited_and_never_ran_does_not_wait_for_ever(spawn, client, background):
    session = spawn()
    book = Notebook(client, session.id)
    cell = book.add("1")
    session.exec("import time; time.sleep(60)", yield_ms=0)
    background(book.run, cell)
    host.eventually(lambda: book.cell(cell).status == "queued")
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    assert book.cell(cell).status == "interrupted"
    assert book.cell(cell).outputs[0]["name"] == "NotRun"
    book.call("DELETE")


def test_watchers_hear_that_a_cell_which_waited_does_not_run(spawn, client, background):
    session = spawn()
    book = Notebook(client, session.id)
    cell = book.add("1")
    session.exec("import time; time.sleep(60)", yield_ms=0)
    events = book.events()
    next(events)
    background(book.run, cell)
    states = []
    for name, data in events:
        if name == "cell_changed" and data.cell.cell_id == cell:
            states.append(data.cell.status)
            if len(states) == 2:
                break
            client.call("DELETE", f"{session.path}?keep_notebook=true")
    assert states == ["queued", "interrupted"]
    book.call("DELETE")


def test_what_waited_when_its_notebook_was_deleted_is_not_part_of_the_next(session, book,
                                                                          background):
    background(session.exec, "import time; time.sleep(60)")
    host.eventually(lambda: session.info().state == "busy")
    background(session.exec, "'waited'")
    host.eventually(lambda: session.info().queued > 0)
    book.call("DELETE")
    session.interrupt()
    numbers = [book.index(session.exec(f"'later {i}'")) for i in range(3)]
    assert numbers == [0, 1, 2]
    assert book.sources() == ["'later 0'", "'later 1'", "'later 2'"]


@pytest.mark.parametrize("how", ["remove", "clear"])
def test_a_cell_that_takes_the_id_of_a_running_one_has_nothing_of_it(session, book, background,
                                                                     how):
    book.add("print('of the old one'); import time; time.sleep(60)", cell_id="same")
    background(book.run, "same")
    host.eventually(lambda: book.cells() and book.cell("same").status == "running")
    if how == "remove":
        book.delete("same")
    else:
        book.call("POST", "/clear", {"what": "cells"})
    book.add("'new'", cell_id="same")
    session.interrupt()
    assert session.value("1") == "1"  # the run is over
    assert (book.cell("same").status, book.cell("same").outputs) == ("idle", [])
    book.run("same")
    assert book.cell("same").outputs[0]["text"] == "'new'"


def test_two_who_describe_a_notebook_do_not_undo_each_other(client, session, book, background):
    session.exec("1")
    for i in range(20):
        first = threading.Thread(target=book.call, args=("PATCH", "", {"title": f"t{i}"}))
        first.start()
        book.call("PATCH", "", {"metadata": {"i": i}})
        first.join()
        info = book.info()
        assert (info.title, info.metadata) == (f"t{i}", {"i": i})


def test_who_reads_what_a_running_cell_shows_does_not_write_it_again(daemon, session, book):
    """In one of three times at least: now and then the daemon has something else to write down."""
    session.exec("print('x' * 900_000); import time; time.sleep(60)", yield_ms=1000)
    host.eventually(lambda: text_of(book.cell(0)) == "x" * 900_000 + "\n")

    def written():
        """Beside the answers."""
        begun = host.bytes_written(daemon.pid)
        for _ in range(10):
            assert text_of(book.cell(0)).count("x") == 900_000
        return host.bytes_written(daemon.pid) - begun - 10 * 900_000

    assert any(written() < 500_000 for _ in range(3))
    session.interrupt()


@pytest.mark.slow
def test_exports_that_nobody_reads_take_turns(launch):
    daemon = launch(config="default_profile: min\n")
    client = daemon.client
    book = Notebook(client, client.spawn().id)
    for _ in range(8):
        book.add("#" + "x" * 1_000_000)
    request = client.head("GET", f"{book.path}/export") + b"\r\n"
    before, largest = daemon.heap_bytes(), 0
    callers = [client.connect() for _ in range(12)]
    for caller in callers:
        caller.sendall(request)
    for caller in callers:  # the last one has its answer when all others have been written
        assert caller.recv(12) == b"HTTP/1.1 200"
        largest = max(largest, daemon.heap_bytes())
    assert largest - before < 50_000_000
    callers += [client.connect() for _ in range(12)]
    for caller in callers[12:]:
        caller.sendall(request)
    for caller in callers:
        caller.close()
    assert book.export().status == 200  # does not wait for those who went
    daemon.stop()


# Code.


@pytest.mark.slow
def test_what_grows_as_json_can_be_read_back(session, book):
    session.exec(
        """
        class Rude:
            def _repr_markdown_(self): return chr(1) * 2_900_000
        display(Rude())
        Rude()
        """)
    session.exec("display(Rude()); 1 / 0")
    first, second = book.cells(outputs=True)
    assert [o["type"] for o in first["outputs"]] == ["text", "text"]
    assert second["outputs"][-1]["name"] == "ZeroDivisionError"


def test_names_of_members_count_against_the_budget(session):
    session.exec(FRAMES)
    result = session.exec("show(2, {'type': 'json', 'json': {'k' * 5_000_000: 1}})",
                          budget=1000)
    assert len(str(result)) < 100_000


@pytest.mark.each_mode
def test_an_update_of_many_displays_stays_bounded(session, book):
    session.exec(FRAMES)
    session.exec(
        """
        for _ in range(500): show(2, {'type': 'text', 'text': 'x', 'display_id': 'a'})
        show(2, {'type': 'text', 'text': 'y' * 2_000_000, 'display_id': 'a'}, update=True)
        """)
    cell = book.cell(-1)
    assert len(str(cell["outputs"])) < 1 << 20


def test_pictures_of_an_interpreter_that_does_not_wait_are_all_in_the_answer(session, book):
    session.exec(FRAMES)
    answer = session.exec(
        """
        for i in range(4):
            show(2, {'type': 'svg', 'svg': f'<svg id="{i}">' + ' ' * 3000 + '</svg>'})
        """, images="inline")
    shown = [output["svg"][:12] for output in answer.outputs]
    assert sorted(shown) == [f'<svg id="{i}">' for i in range(4)], shown
    # Its end did not wait for them either: they are written down as they are kept.
    host.eventually(lambda: len({output["url"] for output in book.cell(1).outputs}) == 4)
