"""Who watches a notebook sees what others do to it, in the order in which it happened."""

import concurrent.futures
import queue
import threading
import time

import pytest

from harness import host
from harness.notebooks import Notebook

pytestmark = pytest.mark.one_mode


class Watcher:
    """Collects the events of a notebook, and can wait for one."""

    def __init__(self, notebook):
        self.events, self.arrived = [], queue.Queue()
        self.stream = notebook.events()
        name, data = next(self.stream)
        assert name == "watching" and data.notebook_id == notebook.id
        self.thread = threading.Thread(target=self.collect, daemon=True)
        self.thread.start()

    def collect(self):
        try:
            for event in self.stream:
                self.arrived.put(event)
        except OSError:
            pass
        self.arrived.put(("end of stream", None))

    def wait(self, name, match=lambda data: True):
        """The next event of this name; those before it are in `events`."""
        deadline = time.monotonic() + host.PATIENCE
        while True:
            event = self.arrived.get(timeout=max(deadline - time.monotonic(), 0.001))
            self.events.append(event)
            if event[0] == name and match(event[1] or {}):
                return event[1]
            assert event[0] != "end of stream", self.events

    def names(self):
        return [name for name, _ in self.events]


@pytest.fixture
def watcher(notebook):
    return Watcher(notebook)


@pytest.mark.smoke
def test_a_cell_that_is_added(notebook, watcher):
    name = notebook.add("x = 1", metadata={"a": 1})
    cell = watcher.wait("cell_added").cell
    assert (cell.cell_id, cell.code, cell.index) == (name, "x = 1", 0)


@pytest.mark.smoke
def test_edits_moves_and_removals(notebook, watcher):
    names = [notebook.add(s) for s in "abc"]
    notebook.edit(names[0], code="A")
    assert watcher.wait("cell_changed").cell.code == "A"
    notebook.move(names[0], 2)
    moved = watcher.wait("cell_moved")
    assert (moved.cell_id, moved.index) == (names[0], 2)
    notebook.delete(names[1])
    assert watcher.wait("cell_removed").cell_id == names[1]
    notebook.call("POST", "/clear", {"what": "cells"})
    watcher.wait("cells_cleared")
    notebook.call("PATCH", "", {"title": "Seen"})
    assert watcher.wait("notebook_changed").title == "Seen"


@pytest.mark.smoke
def test_a_run_is_seen_from_its_beginning_to_its_end(notebook, watcher):
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/exec",
                         {"code": "print('one', flush=True)\n6 * 7"})
    added = watcher.wait("cell_added").cell
    ended = watcher.wait("cell_changed", lambda d: d["cell"]["status"] == "ok").cell
    assert ended.cell_id == added.cell_id and ended.number == 1
    text = "".join(d["text"] for n, d in watcher.events if n == "output" and "text" in d)
    assert text == "one\n"


@pytest.mark.smoke
def test_events_are_numbered(notebook, watcher):
    for i in range(5):
        notebook.add(f"print({i})", run=True)
    watcher.wait("cell_changed", lambda d: d["cell"].get("number") == 5
                 and d["cell"]["status"] == "ok")
    numbers = [data["seq"] for _, data in watcher.events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def replay(events):
    """The order of cells, as somebody knows it who has nothing but the events."""
    order = []
    for name, data in events:
        if name == "cell_added":
            order.insert(data["cell"]["index"], data["cell"]["cell_id"])
        elif name == "cell_removed":
            order.remove(data["cell_id"])
        elif name == "cell_moved":
            order.remove(data["cell_id"])
            order.insert(data["index"], data["cell_id"])
    return order


@pytest.mark.each_mode
def test_two_clients_see_each_others_cells_in_order(notebook):
    """Both write at once; both see the same events, and from them the notebook as it is."""
    watchers = [Watcher(notebook) for _ in range(2)]

    def write(who):
        for i in range(12):
            name = f"{who}{i}"
            notebook.add(f"'{name}'", cell_id=name, run=i % 3 == 0, at=0 if i % 2 else -1)
            if i % 4 == 1:
                notebook.move(name, 1)
            elif i % 4 == 3:
                notebook.delete(name)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(write, "ab"))
    last = notebook.add("'last'")
    for watcher in watchers:
        watcher.wait("cell_added", lambda d: d["cell"]["cell_id"] == last)
    assert watchers[0].events == watchers[1].events
    assert replay(watchers[0].events) == [c.cell_id for c in notebook.cells()]


def test_deleting_the_notebook_ends_the_stream(notebook, watcher):
    notebook.add("x")
    notebook.call("DELETE")
    watcher.wait("deleted")
    watcher.wait("result")
    watcher.wait("end of stream")


def test_deleting_the_session_ends_the_stream(notebook, watcher):
    notebook.add("x", run=True)
    notebook.client.call("DELETE", f"/v1/sessions/{notebook.id}")
    watcher.wait("deleted")


def test_a_notebook_without_a_session_is_watched_too(client, spawn):
    session = spawn()
    session.exec("1")
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    notebook = Notebook(client, session.id)
    watcher = Watcher(notebook)
    notebook.edit(0, code="2")
    assert watcher.wait("cell_changed").cell.code == "2"


def test_one_who_does_not_read_is_told_what_was_dropped(notebook):
    stream = notebook.events()
    assert next(stream)[0] == "watching"
    notebook.add("for i in range(400): print('x' * 60_000, flush=True)", run=True,
                 timeout_ms=60_000)
    dropped = next(data.dropped for name, data in stream if name == "lagged")
    assert dropped > 0
    notebook.add("'after'", cell_id="after")  # and it goes on
    assert next(data for name, data in stream if name == "cell_added").cell.cell_id == "after"
    stream.close()


def test_a_watcher_does_not_stop_the_cell(notebook):
    client = notebook.client
    with client.connect() as sock:  # which never reads
        sock.sendall(client.head("GET", f"{notebook.path}/events") + b"\r\n")
        answer = notebook.add("for i in range(2000): print('y' * 10_000)", run=True,
                              timeout_ms=50_000)
        assert answer.status == "ok"  # it would wait for ever


def test_many_watchers_come_and_go(notebook):
    for _ in range(3):
        watchers = [Watcher(notebook) for _ in range(20)]
        name = notebook.add("x")
        for watcher in watchers:
            assert watcher.wait("cell_added").cell.cell_id == name


def test_too_many_watchers_are_refused(notebook):
    client, open_ones = notebook.client, []

    def is_taken():
        sock = client.connect()
        open_ones.append(sock)
        sock.sendall(client.head("GET", f"{notebook.path}/events") + b"\r\n")
        return b"200 OK" in sock.recv(65536).split(b"\r\n")[0]

    try:
        assert not all(is_taken() for _ in range(80))
        assert len(open_ones) > 20
    finally:
        for sock in open_ones:
            sock.close()
    host.eventually(is_taken)  # their places are free again
    open_ones[-1].close()


def test_head_of_events_is_an_answer(notebook):
    client = notebook.client
    with client.connect() as sock:
        sock.sendall(client.head("HEAD", f"{notebook.path}/events", Connection="close") + b"\r\n")
        assert sock.recv(1000).split()[1] == b"200"


@pytest.mark.one_mode
def test_a_daemon_with_watchers_stops(launch):
    daemon = launch(config="default_profile: min\n")
    session = daemon.client.spawn("min")
    session.exec("1")
    watcher = Watcher(Notebook(daemon.client, session.id))
    daemon.stop()
    host.eventually(lambda: not watcher.thread.is_alive())


def test_no_such_notebook(client):
    reply = client.request("GET", "/v1/notebooks/00000000-0000-4000-8000-000000000000/events")
    assert b"not_found" in reply.body
