"""Cells that are run again, one or a range of them, and a notebook that is reset."""


import pytest

from harness import host
from harness.client import ApiError
from harness.notebooks import of, refusal, text_of, value_of

pytestmark = pytest.mark.one_mode


@pytest.mark.smoke
def test_a_cell_is_run_again(notebook):
    name = notebook.add("n = 0", run=True).cell_id
    step = notebook.add("n += 1; n", run=True).cell_id
    answers = [notebook.run(step) for _ in range(3)]
    assert [a.value.text for a in answers] == ["2", "3", "4"]
    assert {a.cell_id for a in answers} == {step} and notebook.index(answers[0]) == 1
    cell = notebook.cell(step)
    assert value_of(cell) == "4" and cell.number == answers[-1].number
    assert len(cell.outputs) == 1
    assert notebook.run(name).status == "ok"
    assert notebook.info().cell_count == 2


def test_a_run_takes_what_an_exec_takes(notebook):
    name = notebook.add("import time; print('x' * 5000); time.sleep(30)")
    answer = notebook.run(name, timeout_ms=3000, budget=100, names=True)
    assert answer.status == "timeout" and answer.truncated
    assert answer.names is not None
    cell = notebook.cell(name)
    assert cell.status == "timeout" and len(text_of(cell)) == 5001


@pytest.mark.smoke
def test_a_run_can_be_streamed(notebook):
    name = notebook.add("print(1); 2")
    events = list(notebook.client.events(f"{notebook.path}/cells/{name}/run", {}))
    assert "".join(d["text"] for n, d in events if n == "output") == "1\n"
    assert events[-1][0] == "result" and events[-1][1]["value"]["text"] == "2"
    events = list(notebook.client.events(f"{notebook.path}/cells", {"code": "print(3)",
                                                                    "run": True}))
    assert "".join(d["text"] for n, d in events if n == "output") == "3\n"


@pytest.mark.smoke
def test_a_run_in_the_background_is_waited_for(notebook):
    name = notebook.add("import time; time.sleep(0.3); 'done'")
    answer = notebook.run(name, yield_ms=0)
    assert answer.status == "running"
    path = f"/v1/sessions/{notebook.id}/exec/{answer.number}/continue"
    assert notebook.client.call("POST", path, {}).value.text == "'done'"
    assert value_of(notebook.cell(name)) == "'done'"


def fill(notebook, *sources):
    return [notebook.add(source) for source in sources]


@pytest.mark.smoke
@pytest.mark.each_mode
def test_all_cells_run_in_order(notebook):
    ids = fill(notebook, "x = [1]", "x.append(2)", "x")
    notebook.add("# text", kind="markdown", at=1)
    answer = notebook.run_range()
    assert (answer.ran, answer["failed_cell_id"]) == (3, None)
    assert [c["cell_id"] for c in answer.cells] == ids
    assert [c["index"] for c in answer.cells] == [0, 2, 3]
    assert {c["status"] for c in answer.cells} == {"ok"}
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
    assert (answer.ran, answer.failed_cell_id) == (2, ids[1])
    assert [c["status"] for c in answer.cells] == ["ok", "error"]
    assert [c.status for c in notebook.cells()] == ["ok", "error", "idle"]
    answer = notebook.run_range(stop_on_error=False)
    assert (answer.ran, answer.failed_cell_id) == (3, ids[1])
    assert notebook.add("n", run=True).value.text == "3"


def test_a_cell_that_is_tagged_raises_exception_does_not_end_the_run(notebook):
    notebook.add("1 / 0", metadata={"tags": ["other", "raises-exception"]})
    notebook.add("n = 3")
    answer = notebook.run_range()
    assert (answer.ran, answer["failed_cell_id"]) == (2, None)
    assert [c["status"] for c in answer.cells] == ["error", "ok"]


def test_a_cell_that_leaves_ends_the_run_and_its_status_is_told(notebook):
    fill(notebook, "import sys", "sys.exit()", "1 / 0")
    answer = notebook.run_range()
    assert (answer.ran, answer["failed_cell_id"]) == (2, None)
    assert [c.get("exit_code") for c in answer.cells] == [None, 0]


def test_a_command_of_a_shell_that_fails_ends_the_run(spawn_runtime):
    book = of(spawn_runtime("bash"))
    ids = fill(book, "echo x", "(exit 3)", "echo y")
    answer = book.run_range()
    assert (answer.ran, answer.failed_cell_id) == (2, ids[1])
    assert [c["last_status"] for c in answer.cells] == [0, 3]
    assert book.run_range(stop_on_error=False).ran == 3


def test_a_time_limit_holds_for_each_cell(notebook):
    fill(notebook, *["import time; time.sleep(0.3)"] * 10, "time.sleep(60)", "1")
    answer = notebook.run_range(timeout_ms=2900)  # less than the ten of them take
    assert [c["status"] for c in answer.cells] == ["ok"] * 10 + ["timeout"]


def test_a_range_can_be_streamed(notebook):
    ids = fill(notebook, "1", "2", "3")
    events = list(notebook.client.events(f"{notebook.path}/run", {}))
    assert [d["cell_id"] for n, d in events if n == "cell"] == ids
    assert events[-1][0] == "result" and events[-1][1]["ran"] == 3


def run_and_hang_up(notebook, what):
    client = notebook.client
    with client.connect() as sock:
        sock.sendall(client.post_bytes(f"{notebook.path}/run", {"on_disconnect": what}))
        host.eventually(lambda: notebook.cell(0).status in ("queued", "running"))


def test_a_range_goes_on_without_its_client(notebook, spawn):
    gated = "import os, time\nwhile not os.path.exists('gate'): time.sleep(0.005)"
    fill(notebook, gated, "2", "3")
    run_and_hang_up(notebook, "continue")
    spawn(join=notebook.id).exec("open('gate', 'w').close()")
    host.eventually(lambda: notebook.cell(2).status == "ok")
    assert [c.status for c in notebook.cells()] == ["ok"] * 3


def test_a_range_is_interrupted_if_its_client_wanted_that(notebook):
    fill(notebook, "import time; time.sleep(60)", "2", "3")
    run_and_hang_up(notebook, "cancel")
    host.eventually(lambda: notebook.cell(0).status == "interrupted")
    assert notebook.add("4", run=True).value.text == "4"
    assert [c.status for c in notebook.cells()] == ["interrupted", "idle", "idle", "ok"]


def test_a_range_that_waits_is_taken_from_the_queue(notebook):
    fill(notebook, "2", "3")
    notebook.add("import time; time.sleep(60)", run=True, yield_ms=0)
    run_and_hang_up(notebook, "cancel")
    host.eventually(lambda: notebook.cell(0).status not in ("queued", "running"))
    notebook.client.call("POST", f"/v1/sessions/{notebook.id}/interrupt", {})
    assert notebook.add("4", run=True).value.text == "4"
    assert {c.status for c in notebook.cells()[:2]} <= {"idle", "interrupted"}
    assert "executed_at" not in notebook.cell(0)


def test_a_session_that_just_ended_is_made_again(notebook):
    """It waits for the removal of the old one's files, and keeps its own."""
    fill(notebook, "import os; seen = os.listdir(); open('f', 'w').write('mine'); seen")
    notebook.run(0)
    for _ in range(8):
        notebook.client.call("DELETE", f"/v1/sessions/{notebook.id}?keep_notebook=true")
        assert notebook.run(0).value.text == "[]"
    assert notebook.add("os.listdir()", run=True).value.text == "['f']"


def test_the_daemon_ends_while_a_range_runs(launch):
    daemon = launch(config="default_profile: min\n",
                    env={"CELLA_TEST_TIME_SCALE": "0.2"})  # of the time to save sessions
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
    assert {c.status for c in notebook.cells()} == {"idle"}


def test_an_empty_notebook_runs(notebook):
    assert notebook.run_range().ran == 0


@pytest.mark.each_mode
def test_reset_forgets_variables_and_keeps_the_rest(notebook):
    notebook.add("x = 1; open('kept', 'w').write('file')", run=True)
    answer = notebook.call("POST", "/reset", {})
    assert answer.reset is True
    assert notebook.add("x", run=True)["error"]["name"] == "NameError"
    assert notebook.add("open('kept').read()", run=True).value.text == "'file'"
    assert notebook.cell(0).status == "ok"
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
