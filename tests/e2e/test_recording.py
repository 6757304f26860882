"""What sessions run becomes cells of the notebook that has their id."""

import base64
import threading

import pytest

from harness.host import eventually
from harness.notebooks import Notebook

pytestmark = pytest.mark.one_mode

PNG = """
import base64, random
def png(n, size=2):
    import struct, zlib
    row = b"\\0" + bytes((n * 7 + i) % 256 for i in range(3 * size))
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(row * size, 0)) + chunk(b"IEND", b""))
class Picture:
    def __init__(self, n, size=2): self.n, self.size = n, size
    def _repr_png_(self): return png(self.n, self.size)
"""


def kinds(cell):
    return [output.get("stream") or output["type"] for output in cell["outputs"]]


# Cells.


@pytest.mark.smoke
def test_figures_left_open_come_after_the_value(spawn, client):
    session = spawn("data")
    answer = session.exec("plt.plot([1]); plt.show(); plt.plot([2])\n'value'")
    assert [output.get("late") for output in answer["outputs"]] == [None, True]
    (cell,) = Notebook(client, session.id).cells(outputs=True)
    assert kinds(cell) == ["image", "text", "image"] and cell["outputs"][1]["value"]


@pytest.mark.smoke
@pytest.mark.each_mode
def test_outputs_stand_in_the_order_in_which_they_came(session, book):
    """Where two streams follow each other, the daemon has taken the first when the next begins."""
    session.exec(
        """
        import fcntl, sys, termios, time
        def wait():
            sys.stdout.flush(); sys.stderr.flush()
            while any(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)) != bytes(4) for fd in (1, 2)):
                time.sleep(0.001)
        print("one"); display("shown"); print("two"); print("three"); wait()
        print("four", file=sys.stderr); wait(); print("five")
        "value"
        """)
    (cell,) = book.cells(outputs=True)
    assert kinds(cell) == ["stdout", "text", "stdout", "stderr", "stdout", "text"]
    texts = [output["text"] for output in cell["outputs"]]
    assert texts == ["one\n", "'shown'", "two\nthree\n", "four\n", "five\n", "'value'"]
    assert cell["outputs"][-1]["value"] is True


@pytest.mark.smoke
def test_cleared_outputs_are_not_recorded(session, book):
    session.exec(
        """
        from IPython.display import clear_output
        for n in range(5):
            print("round", n); display(n); clear_output(wait=True)
        print("last")
        """)
    (cell,) = book.cells(outputs=True)
    assert cell["outputs"] == [{"type": "text", "stream": "stdout", "text": "last\n"}]


@pytest.mark.smoke
def test_updated_displays_are_recorded_once(session, book):
    session.exec("h = display('first', display_id='x'); display('other'); h.update('second')")
    (cell,) = book.cells(outputs=True)
    assert [output["text"] for output in cell["outputs"]] == ["'second'", "'other'"]


@pytest.mark.each_mode
def test_a_cell_that_ends_its_interpreter_is_recorded(session, book):
    session.exec("print('words', flush=True); import os; os._exit(3)")
    (cell,) = book.cells(outputs=True)
    assert cell.status == "died" and kinds(cell) == ["stdout", "error"]


def test_sessions_that_are_not_saved_are_recorded_too(client, spawn):
    session = spawn(durable="off")
    session.exec("'x'")
    assert [c["code"] for c in client.call("GET", f"{session.path}/cells")["cells"]] == ["'x'"]
    assert Notebook(client, session.id).sources() == ["'x'"]


def test_a_value_that_is_an_image_can_be_interrupted_and_limited(session):
    session.exec(PNG)
    for n in range(20):
        answer = session.exec("Picture(1, 900)", timeout_ms=20)
        assert answer.status in ("ok", "timeout")
    assert session.value("'alive'") == "'alive'"


def test_what_the_repl_tool_runs_is_recorded_without_its_echo(client):
    spawned = client.call("POST", "/v1/repl", {"action": "spawn", "runtime": "python"})
    answer = client.call("POST", "/v1/repl", {"action": "exec", "session_id": spawned.session_id,
                                              "code": "print(1); 2"})
    assert answer.stdout == "1\n2\n"
    (cell,) = Notebook(client, spawned.session_id).cells(outputs=True)
    assert [output["text"] for output in cell["outputs"]] == ["1\n", "2"]
    client.call("POST", "/v1/repl", {"action": "kill", "session_id": spawned.session_id})


def test_text_of_a_thread_after_its_cell_is_not_in_it(session, book):
    session.exec(
        """
        import threading
        gate = threading.Event()
        threading.Thread(target=lambda: (gate.wait(), print("late", flush=True))).start()
        print("early")
        """)
    session.exec("gate.set()")
    output = f"{session.path}/output"
    eventually(lambda: "late" in session.client.request("GET", output).body.decode())
    assert [kinds(cell) for cell in book.cells(outputs=True)] == [["stdout"], []]
    assert book.cells(outputs=True)[0]["outputs"][0]["text"] == "early\n"


@pytest.mark.parametrize("size, is_listed", [(1000, True), (70_000, False)])
def test_an_error_has_its_code_unless_that_is_long(session, book, size, is_listed):
    session.exec("# " + "x" * size + "\n1 / 0")
    (error,) = book.cells(outputs=True)[0]["outputs"]
    assert error["name"] == "ZeroDivisionError"
    assert bool(error.get("code")) is is_listed
    assert not is_listed or "1 / 0" in error["code"].splitlines()[1]


# Running cells again.


def test_an_edit_while_a_cell_runs_stays(session, book):
    assert session.exec("input(); 'done'").status == "input_required"
    book.edit(0, code="edited")
    session.client.call("POST", f"{session.path}/input", {"text": ""})
    assert book.cells()[0].status == "ok"
    (cell,) = book.cells(outputs=True)
    assert cell.code == "edited" and cell["outputs"][0]["text"] == "'done'"


def test_many_callers_append_and_insert_at_once(session, book):
    session.exec("0")

    def work(n):
        for i in range(10):
            if n % 2:
                session.exec(f"'{n}.{i}'")
            else:
                book.add(f"# {n}.{i}", at=1)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cells = book.cells()
    assert len(cells) == 61 and [cell.index for cell in cells] == list(range(61))
    assert len({cell.cell_id for cell in cells}) == 61
    answer = session.exec("'last'")
    assert book.index(answer) == 61 and book.cells()[61].code == "'last'"


# The life of a notebook.


@pytest.mark.each_mode
def test_a_notebook_without_a_session_gets_one_when_a_cell_runs(client):
    session = client.spawn()
    session.exec("y = 5; open('f', 'w').write('x'); y")
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    book = Notebook(client, session.id)
    answer = book.call("POST", "/cells/0/run", {})
    assert answer["value"]["text"] == "5" and answer.number == 2
    assert session.exec("y", durable=True)["value"]["text"] == "5"
    assert session.value("open('f').read()") == "'x'"
    client.call("DELETE", session.path)


@pytest.mark.each_mode
def test_branches_have_notebooks_of_their_own(session, client, book):
    session.exec("z = 1")
    made = client.call("POST", f"{session.path}/branch", {})
    (branch,) = [b["session_id"] for b in made["sessions"]]
    client.call("POST", f"/v1/sessions/{branch}/exec", {"code": "z"})
    theirs = Notebook(client, branch)
    assert theirs.sources() == ["z"] and book.sources() == ["z = 1"]
    assert theirs.info()["metadata"] == {"branched_from": session.id}
    client.request("DELETE", f"/v1/sessions/{branch}")


# Images.


@pytest.mark.each_mode
def test_images_are_references_and_their_data_can_be_had(session, client, book):
    session.exec(PNG)
    answer = session.exec("display(Picture(1)); Picture(2)")
    (shown,) = answer["outputs"]
    assert (shown["width"], shown["height"], shown["format"]) == (2, 2, "png")
    assert "data" not in shown and "hash" not in shown
    assert shown["url"] == f"/v1/notebooks/{session.id}/cells/{answer.cell_id}/images/0"
    assert answer["value"]["url"].endswith("/images/1") and "ref" not in shown
    for output in (shown, answer["value"]):
        reply = client.request("GET", output["url"])
        assert reply.status == 200 and len(reply.body) == output["bytes"]
        assert reply.body.startswith(b"\x89PNG")
    cell = book.cell(answer.cell_id)
    assert [(output["ref"], output["url"]) for output in cell["outputs"]] == [
        (f"notebook://{session.id}/cell/{answer.cell_id}/image/{n}", output["url"])
        for n, output in enumerate((shown, answer["value"]))]


@pytest.mark.each_mode
def test_images_can_be_asked_for_inline(session):
    session.exec(PNG)
    answer = session.exec("display(Picture(1)); Picture(2)", images="inline")
    for output in (answer["outputs"][0], answer["value"]):
        assert base64.b64decode(output["data"]).startswith(b"\x89PNG") and output["url"]


@pytest.mark.slow
def test_a_loop_of_images_leaves_memory_as_it_is(session, daemon):
    session.exec(PNG)
    session.exec("for n in range(10): display(Picture(n, 600))")
    with daemon.watch_heap() as heap:
        answer = session.exec("for n in range(50): display(Picture(n, 600))", timeout_ms=120_000)
    assert answer.status == "ok" and len(answer["outputs"]) == 50
    assert heap[1] - heap[0] < 30_000_000, heap


def test_a_session_that_ends_while_an_image_is_kept(client):
    for _ in range(5):
        session = client.spawn()
        session.exec(PNG)
        session.exec("while True: display(Picture(1, 500))", yield_ms=30)
        client.call("DELETE", session.path)
    assert client.call("GET", "/health")


@pytest.mark.parametrize("change", ["run", "clear", "clear all", "delete"])
def test_images_go_with_the_outputs_that_showed_them(session, client, book, change):
    session.exec(PNG)
    answer = session.exec("display(Picture(1)) if 'once' not in globals() else None; once = 1")
    url = answer["outputs"][0]["url"]
    assert client.request("GET", url).status == 200
    cell = book.cell_path(answer.cell_id)
    method, path, body = {
        "run": ("POST", f"{cell}/run", {}), "clear": ("POST", f"{cell}/clear", {}),
        "clear all": ("POST", "/clear", {"what": "outputs"}), "delete": ("DELETE", cell, None),
    }[change]
    book.call(method, path, body)
    assert client.request("GET", url).status == 404


@pytest.mark.each_mode
def test_svg_is_kept_like_images(session, client):
    answer = session.exec(
        """
        class S:
            def _repr_svg_(self): return '<svg xmlns="http://www.w3.org/2000/svg"/>'
        S()
        """)
    assert answer["value"]["format"] == "svg" and "svg" not in answer["value"]
    assert client.request("GET", answer["value"]["url"]).body.startswith(b"<svg")
