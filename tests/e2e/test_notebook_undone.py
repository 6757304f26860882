"""A notebook says which of its cells have nothing to do any more with the state of the session."""

import json
import time

import pytest

from harness import host
from harness.client import Session
from harness.notebooks import Notebook
from harness.shell import Shell

pytestmark = pytest.mark.one_mode


class Story:
    """A session whose every cell has a checkpoint, and its notebook."""

    def __init__(self, session):
        self.session, self.notebook = session, Notebook(session.client, session.id)

    def exec(self, *codes):
        return [self.session.exec(code) for code in codes][-1]

    def post(self, what, **body):
        return self.session.client.call("POST", f"{self.session.path}/{what}", body)

    def undone(self):
        return [cell.code for cell in self.notebook.cells() if cell.get("undone")]


@pytest.fixture
def story(spawn):
    return Story(spawn(profile="min", checkpoints="every"))


@pytest.mark.smoke
@pytest.mark.each_mode
def test_undo_and_redo(story):
    story.exec("a = 1", "a = 2", "a = 3")
    assert story.undone() == []
    story.post("undo")
    assert story.undone() == ["a = 3"]
    story.post("undo")
    assert story.undone() == ["a = 2", "a = 3"]
    story.post("redo")
    assert story.undone() == ["a = 3"] and story.exec("a").value.text == "2"


@pytest.mark.smoke
def test_lines_that_parted(story):
    story.exec("a = 1", "a = 2")
    left = story.session.rest()
    story.post("undo")
    story.exec("a = 3", "a = 4")
    assert story.undone() == ["a = 2"]
    story.post("undo", to=left)
    assert story.undone() == ["a = 3", "a = 4"] and story.exec("a").value.text == "2"


@pytest.mark.smoke
def test_a_cell_that_runs_again_is_in_effect(story):
    story.exec("a = 1", "a = 2")
    story.post("undo")
    assert story.notebook.run(1).status == "ok"
    assert story.undone() == [] and story.exec("a").value.text == "2"


@pytest.mark.smoke
def test_a_cell_that_died_is_marked_by_its_state_alone(story):
    answer = story.exec("a = 1", "import time, os; time.sleep(0.1); os.kill(os.getpid(), 9)")
    assert answer.status == "died" and answer.rolled_back_cells == [2]
    assert story.undone() == []
    assert [c.status for c in story.notebook.cells()] == ["ok", "died"]


def test_a_try_that_was_taken_back(story):
    story.exec("a = 1")
    made = story.post("try", code="a = 2")
    assert story.undone() == []
    path = f"{story.session.path}/tries/{made['try_id']}"
    story.session.client.call("POST", f"{path}/discard")
    assert story.undone() == ["a = 2"]


@pytest.mark.each_mode
def test_reset(story):
    story.exec("a = 1", "b = 2")
    story.notebook.add("never ran")
    story.notebook.call("POST", "/reset", {})
    assert story.undone() == ["a = 1", "b = 2"]
    story.exec("c = 3")
    assert story.undone() == ["a = 1", "b = 2"]


def test_watchers_and_readers_are_told(story, daemon):
    story.exec("a = 1", "a = 2", "a = 3")
    events = story.notebook.events()
    assert next(events)[0] == "watching"
    story.post("undo", to=1)
    story.post("redo")
    told = [next(events) for _ in range(2)]
    assert [name for name, _ in told] == ["cells_undone"] * 2
    assert [(data.after, data.redone) for _, data in told] == [(1, []), (1, [2, 3])]
    story.post("undo")
    cells = json.loads(story.notebook.export("ipynb").body)["cells"]
    assert [c["metadata"]["mcp_repl"].get("undone") for c in cells] == [None, None, True]
    assert story.notebook.export("html").body.count(b">undone<") == 1
    shell = Shell(daemon.binary, daemon.user, daemon.data)
    heads = [line for line in shell("notebook", "show", story.session.id).stdout.splitlines()
             if line.startswith("-- ")]
    assert [head.endswith("  undone") for head in heads] == [False, False, True]


@pytest.mark.parametrize("runtime, cells", [
    ("python", ["a = 1", "a = 2\n# %% no mark\n!ls", "b = 3"]),
    ("bash", ["a=1", "a=2\n# %% no mark", "b=3"]),
])
def test_a_script_does_not_do_again_what_was_undone(spawn_runtime, runtime, cells):
    story = Story(spawn_runtime(runtime, checkpoints="every"))
    story.exec(*cells[:2])
    story.post("undo")
    story.exec(cells[2])
    script = story.notebook.export("script").body.decode()
    first, undone, last = script.split("# %%\n")[1:]
    assert (first.strip(), last.strip()) == (cells[0], cells[2])
    told, *lines = undone.strip().split("\n")
    assert told == "# undone, so it is a comment here"
    assert all(line.startswith("# ") for line in lines) and "a" in lines[0]
    if runtime == "python":
        exec(script + "assert (a, b) == (1, 3)", {})


def kill_before_a_save(launch, data):
    """A session whose cell `a = 2` was answered and not saved: the daemon, which begins to save it
    a second later, was killed before, on a slow machine not at the first try."""
    took = 1
    while took >= 1:
        daemon = launch(data=data, config="default_profile: min\n")
        session = daemon.client.spawn("min")
        session.exec("a = 1", durable=True)
        tree, begun = daemon.tree(), time.monotonic()
        session.exec("a = 2")
        daemon.kill()
        took = time.monotonic() - begun
        host.eventually(lambda tree=tree: not host.alive(tree))
    return session


@pytest.mark.each_mode
def test_what_was_not_saved_when_the_daemon_was_killed(launch):
    data = launch.new_data()
    session = kill_before_a_save(launch, data)
    daemon = launch(data=data, config="default_profile: min\n")
    story = Story(Session(daemon.client, session.spawned))
    answer = story.exec("a")
    assert (answer.value.text, answer.resumed["through"]) == ("1", 1)
    assert story.undone() == ["a = 2"]
    daemon.stop()
    daemon = launch(data=data, config="default_profile: min\n")
    story = Story(Session(daemon.client, session.spawned))
    assert story.exec("a").value.text == "1" and story.undone() == ["a = 2"]
    daemon.stop()
