"""Notebooks outlive the daemon: an orderly end, and `kill -9` in the middle of any operation."""

import http.client
import os
import random
import threading

import pytest

from harness import host
from harness.client import ApiError, Client
from harness.notebooks import Notebook, text_of, value_of

pytestmark = pytest.mark.one_mode

MIN = "default_profile: min\n"
STATES = {"idle", "queued", "running", "ok", "error", "timeout", "interrupted", "died"}


def kill(daemon):
    tree = daemon.tree()
    daemon.kill()
    host.eventually(lambda: not host.alive(tree))


@pytest.fixture
def place(launch):
    """Starts daemons, one after another, on one directory."""
    data = launch.new_data()
    return lambda: launch(data=data, config=MIN)


@pytest.mark.each_mode
@pytest.mark.slow
def test_old_notebooks_open_again_with_their_outputs(place):
    daemon = place()
    session = daemon.client.spawn("min")
    notebook = Notebook(daemon.client, session.id)
    notebook.add("# Title", kind="markdown")
    notebook.add("x = 20; print('said')", run=True)
    notebook.add("x + 1", run=True, durable=True)
    notebook.add("1 / 0", run=True)
    notebook.add("never")
    notebook.call("PATCH", "", {"title": "Old", "metadata": {"a": 1}})
    notebook.edit(1, metadata={"tags": ["t"]})
    before = notebook.info(outputs="true")
    daemon.stop()
    daemon = place()
    notebook = Notebook(daemon.client, session.id)
    after = notebook.info(outputs="true")
    assert after.state == "suspended"
    ignored = {"state", "updated_at"}
    assert {k: v for k, v in after.items() if k not in ignored} == {
        k: v for k, v in before.items() if k not in ignored}
    assert notebook.run(2).value.text == "21"  # its state was durable
    assert notebook.index(notebook.add("x", run=True)) == 5
    (listed,) = daemon.client.call("GET", "/v1/notebooks").notebooks
    assert (listed["title"], listed["cell_count"]) == ("Old", 6)
    daemon.stop()


@pytest.mark.each_mode
@pytest.mark.slow
def test_an_old_notebook_is_reset_before_it_runs(place):
    daemon = place()
    session = daemon.client.spawn("min")
    session.exec("x = 1; open('kept', 'w').write('file')", durable=True)
    daemon.stop()
    daemon = place()
    notebook = Notebook(daemon.client, session.id)
    assert notebook.info().state == "suspended"
    assert notebook.call("POST", "/reset", {}).reset is True
    answer = notebook.add("globals().get('x'), open('kept').read()", run=True)
    assert answer.value.text == "(None, 'file')"
    assert notebook.run(0).status == "ok"
    assert notebook.add("x", run=True, durable=True).value.text == "1"
    daemon.stop()
    daemon = place()
    notebook = Notebook(daemon.client, session.id)
    assert notebook.add("x", run=True).value.text == "1"
    daemon.stop()


@pytest.mark.each_mode
def test_a_notebook_without_a_session_runs_again_after_a_restart(place):
    daemon = place()
    session = daemon.client.spawn("min", env={"GIVEN": "yes"})
    session.exec("import os; y = 5; os.environ['GIVEN']")
    session.exec("y")
    daemon.client.call("DELETE", f"{session.path}?keep_notebook=true")
    daemon.stop()
    daemon = place()
    notebook = Notebook(daemon.client, session.id)
    assert "state" not in notebook.info()
    assert value_of(notebook.cell(1)) == "5"
    assert notebook.run(1)["error"]["name"] == "NameError"
    assert notebook.run_range().ran == 2
    assert value_of(notebook.cell(0)) == "'yes'"
    assert daemon.client.call("GET", session.path).state in ("idle", "busy")
    daemon.stop()


def test_a_session_that_is_not_durable_leaves_its_notebook(place):
    daemon = place()
    session = daemon.client.spawn("min", durable="off")
    session.exec("print('here')")
    kill(daemon)
    daemon = place()
    notebook = Notebook(daemon.client, session.id)
    assert text_of(notebook.cell(0)) == "here\n"
    assert notebook.run(0)["stdout"] == "here\n"
    daemon.stop()


@pytest.mark.slow
def test_what_was_answered_is_there_after_kill_9(place):
    """At once after the answer, without any time to write it down."""
    daemon = place()
    session = daemon.client.spawn("min")
    notebook = Notebook(daemon.client, session.id)
    for i in range(10):
        code = f"print({i}); {i} * 2"
        answer = notebook.add(code, run=True) if i else session.exec(code)
        name = notebook.add(f"idle {i}")
        kill(daemon)
        daemon = place()
        notebook = Notebook(daemon.client, session.id)
        cell = notebook.cell(answer.cell_id)
        assert (cell.status, text_of(cell)) == ("ok", f"{i}\n"), cell
        assert value_of(cell) == str(i * 2)
        assert notebook.cell(name).code == f"idle {i}"
        assert notebook.info().cell_count == 2 * (i + 1)
        if i % 5 < 4:
            continue
        assert [c.index for c in notebook.cells()] == list(range(2 * (i + 1)))
    daemon.stop()


@pytest.mark.smoke
@pytest.mark.each_mode
@pytest.mark.slow
def test_health_tells_how_large_the_journal_is(place):
    daemon = place()
    session = daemon.client.spawn("min")
    before = daemon.client.call("GET", "/health/detailed").store["journal_bytes"]
    session.exec(f"'{'x' * 10_000}'")
    health = daemon.client.call("GET", "/health/detailed").store
    assert health["journal_bytes"] >= before + 10_000
    daemon.stop()


def test_the_running_cell_is_marked_as_lost(place):
    daemon = place()
    session = daemon.client.spawn("min")
    done = session.exec("print('done')")
    session.exec("import time; print('begun', flush=True); time.sleep(60)", yield_ms=200)
    session.exec("'waits'", yield_ms=0)
    kill(daemon)
    daemon = place()
    cells = Notebook(daemon.client, session.id).cells(outputs=True)
    assert [c.status for c in cells] == ["ok", "died", "died"]
    assert cells[0].cell_id == done.cell_id
    for cell in cells[1:]:
        error = cell.outputs[-1]
        assert (error["type"], error["name"]) == ("error", "Lost"), cell
        assert "daemon ended" in error["message"]
    assert [c.code for c in cells][2] == "'waits'"
    daemon.stop()


class Writer:
    """Does random things to one notebook, and knows what must be there because it was answered."""

    def __init__(self, client, session_id, seed):
        self.notebook, self.random = Notebook(client, session_id), random.Random(seed)
        self.cells = {}  # id -> source, as answered
        self.completed = {}  # id -> value
        self.unsure = set()  # ids of what was under way when it ended
        self.n = 0

    def work(self):
        try:
            while True:
                self.step()
        except (OSError, http.client.HTTPException, ApiError, ValueError):
            return

    def step(self):
        self.n += 1
        what = self.random.choice(["exec", "exec", "add", "add and run", "edit", "move", "delete",
                                   "run", "clear", "read"])
        known = [name for name in self.cells]
        name = self.random.choice(known) if known else None
        if what in ("add", "add and run", "exec") or name is None:
            self.add(what)
            return
        self.unsure.add(name)
        if what == "edit":
            source = f"{self.n} + 0"
            self.notebook.edit(name, code=source)
            self.cells[name] = source
        elif what == "move":
            self.notebook.move(name, self.random.randrange(-1, 30))
        elif what == "delete":
            self.notebook.delete(name)
            self.cells.pop(name)
            self.completed.pop(name, None)
        elif what == "run":
            answer = self.notebook.run(name)
            assert answer.status == "ok", answer
            self.completed[name] = answer.value.text
        elif what == "clear":
            self.notebook.clear(name)
            self.completed.pop(name, None)
        else:
            self.notebook.cells(outputs=True)
        self.unsure.discard(name)

    def add(self, what):
        source = f"{self.n} * 2"
        if what == "add":
            self.cells[self.notebook.add(source, at=self.random.randrange(-1, 20))] = source
            return
        if what == "exec":
            path = f"/v1/sessions/{self.notebook.id}/exec"
            answer = self.notebook.client.call("POST", path, {"code": source})
        else:
            answer = self.notebook.add(source, run=True)
        assert answer.status == "ok", answer
        self.cells[answer.cell_id] = source
        self.completed[answer.cell_id] = answer.value.text

    def check(self, client):
        """After the daemon came back: readable, and what was answered is there."""
        self.notebook = Notebook(client, self.notebook.id)
        found = {cell.cell_id: cell for cell in self.notebook.cells(outputs=True)}
        assert [c.index for c in found.values()] == list(range(len(found)))
        assert {c.status for c in found.values()} <= STATES - {"queued", "running"}
        lost = [c for c in found.values() if c.status == "died"]
        assert len(lost) <= 1, lost
        for name, source in self.cells.items():
            if name in self.unsure:
                continue
            assert found[name].code == source, (found[name], source)
            if name in self.completed:
                assert found[name].status == "ok", found[name]
                assert value_of(found[name]) == self.completed[name]
        self.adopt(found)

    def adopt(self, found):
        """Goes on from what there is; what was lost is deleted by whoever finds it."""
        for name, cell in found.items():
            if cell.status == "died":
                self.notebook.delete(name)
        self.cells = {n: c.code for n, c in found.items() if c.status != "died"}
        self.completed = {n: value_of(c) for n, c in found.items() if c.status == "ok"}
        self.unsure.clear()


@pytest.mark.slow
@pytest.mark.each_mode
def test_kill_9_in_the_middle_of_anything_leaves_it_readable(place):
    rounds = int(os.environ.get("CELLA_CRASH_ROUNDS", "1")) * 6
    chance = random.Random(os.environ.get("CELLA_SEED", "1"))
    daemon = place()
    writers = [Writer(daemon.client, daemon.client.spawn("min").id, seed) for seed in range(2)]
    for _ in range(rounds):
        for writer in writers:
            writer.notebook = Notebook(Client(daemon.address, daemon.key()), writer.notebook.id)
        threads = [threading.Thread(target=writer.work) for writer in writers]
        for thread in threads:
            thread.start()
        wanted = sum(writer.n for writer in writers) + 12
        threads[0].join(chance.uniform(0.05, 1.0))
        host.eventually(lambda: sum(writer.n for writer in writers) >= wanted
                        or not any(thread.is_alive() for thread in threads), "a few steps")
        kill(daemon)
        for thread in threads:
            thread.join(host.PATIENCE)
        daemon = place()
        for writer in writers:
            writer.check(daemon.client)
    assert sum(writer.n for writer in writers) > 10 * rounds
    daemon.stop()
