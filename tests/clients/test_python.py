"""The Python client: every operation of the table, and the layer that people touch."""

import ast
import asyncio
import keyword
import subprocess
import sys
import threading

import pytest
from harness import host, shapes
from harness.daemon import SOURCE
from harness.stage import Stage, bytes_for, png

from opened import NAMES, opened

sys.path.insert(0, str(SOURCE / "clients/python"))

import cella  # noqa: E402

pytestmark = pytest.mark.one_mode

TABLE = shapes.table()
CALLED = [op for op in TABLE.operations if op["name"] not in NAMES]


@pytest.fixture
def local(daemon):
    """A client over the daemon's UNIX socket."""
    with cella.Client(data=str(daemon.data), start=False) as made:
        yield made


@pytest.fixture
def s(local):
    with cella.Session(client=local, profile="min", checkpoints="every") as made:
        yield made


def method_of(client, op, suffix=""):
    name = op["name"].replace(".", "_")
    return getattr(client, (name + "_" if keyword.iskeyword(name) else name) + suffix)


def arguments(op, stage):
    args = stage.fill(op["example"])
    return {name + "_" if keyword.iskeyword(name) else name: value for name, value in args.items()}


def kind_of(op):
    if op["statuses"] == [101]:
        return "socket"
    if "only_streams" in op["flags"]:
        return "events"
    return "tunnel" if "tunnels" in op["flags"] else "bytes" if "sends" in op else "json"


def has_text(op):
    return any(set(p.get("choices", [])) == {"json", "text"} for p in op["params"])


def test_every_operation_answers_its_example(local, client):
    stage = Stage(client)
    for op in CALLED:
        args, kind = arguments(op, stage), kind_of(op)
        if "takes_bytes" in op["flags"]:
            args["data"] = bytes_for(op)
        answer = method_of(local, op)(**args)
        if kind == "json":
            TABLE.check_result(op, answer, op["name"])
        elif kind == "bytes":
            assert isinstance(answer, bytes) and answer, op["name"]
        elif kind == "tunnel":
            assert answer.status == 502 and b"bad_gateway" in answer.body
        elif kind == "events":
            first = next(answer)
            TABLE.check_event(op, first.name, first.data)
            answer.close()
        else:
            answer.close()


def test_operations_that_need_a_configuration(launch):
    with opened(launch) as (daemon, arguments_of), \
            cella.Client(data=str(daemon.data), start=False) as local:
        for name in NAMES:
            op = TABLE.by_name[name]
            answer = method_of(local, op)(**arguments_of[name])
            TABLE.check_result(op, answer, name)
            assert "https://id.example.com" in str(answer) or "Hello web" in str(answer)


@pytest.mark.slow
def test_every_operation_answers_its_example_with_asyncio(daemon, client):
    stage = Stage(client)

    async def call_all():
        async with cella.AsyncClient(data=str(daemon.data), start=False) as local:
            for op in CALLED:
                args, kind = arguments(op, stage), kind_of(op)
                if "takes_bytes" in op["flags"]:
                    args["data"] = bytes_for(op)
                if kind == "events":
                    events = method_of(local, op)(**args)
                    TABLE.check_event(op, *(await events.__anext__()))
                    await events.aclose()
                    continue
                answer = await method_of(local, op)(**args)
                if kind == "json":
                    TABLE.check_result(op, answer, op["name"])
                elif kind == "socket":
                    await answer.aclose()

    asyncio.run(call_all())


def test_operations_that_stream_or_have_a_text_say_the_same_so(local, client):
    stage = Stage(client)
    for op in CALLED:
        if "streams" in op["flags"] and "only_streams" not in op["flags"]:
            events = method_of(local, op, "_events")(**arguments(op, stage))
            names = [event.name for event in events]
            assert names[-1] == "result", op["name"]
        if has_text(op):
            assert isinstance(method_of(local, op, "_text")(**arguments(op, stage)), str)


# Sessions.


def test_results_print_as_a_terminal_shows_them(s):
    assert str(s.run("1 + 1")) == "2"
    assert str(s.run("print('a'); 'b'")) == "a\n'b'"
    failed = s.run("1/0")
    assert not failed.ok and str(failed).endswith("ZeroDivisionError: division by zero")
    assert failed.error["line"] == 1
    with pytest.raises(cella.CodeFailed) as caught:
        s.run("nothing", check=True)
    assert "NameError" in caught.value.message and caught.value.result.status == "error"
    assert s.run("x = 5").names["added"] == ["x"] and s.names()["x"]["type"] == "int"


def test_output_comes_while_a_cell_runs_and_input_is_answered(s):
    seen = []
    result = s.run("print('out'); import sys; print('err', file=sys.stderr); 7",
                   on_output=lambda stream, text: seen.append((stream, text)))
    assert "".join(text for stream, text in seen if stream == "stderr") == "err\n"
    assert (result.stdout, result.stderr, result.text) == ("out\n", "err\n", "7")
    code = "print('first'); a = input('A? '); b = input('B? '); print(a, b)"
    for on_output in (None, lambda *_: None):
        result = s.run(code, input=["1", "2"], on_output=on_output)
        assert result.ok and result.stdout == "first\n1 2\n"
    assert s.run(code, input=lambda prompt: prompt[0]).stdout == "first\nA B\n"
    asked = s.run("n = input('Name? ')")
    assert (asked.status, asked.prompt) == ("input_required", "Name? ")
    assert s.input("Ada").ok and s.run("n").text == "'Ada'"
    with s.stream("for i in range(3): print(i)\ni") as stream:
        texts = [event.data["text"] for event in stream if event.name == "output"]
    assert "".join(texts) == stream.result.stdout == "0\n1\n2\n" and stream.result.text == "2"


def test_the_past_branches_and_tries(s):
    s.run("x = 1")
    s.run("x = 2")
    assert s.undo()["cells"] == [2] and s.run("x").text == "1"
    s.run("x = 3")
    first = s.checkpoints()[0]
    with s.branch() as copy, first.branch() as old:
        copy.run("x = 30")
        assert (copy.run("x").text, old.run("x").text, s.run("x").text) == ("30", "1", "3")
    first.restore()
    assert s.run("x").text == "1"
    s.undo()
    s.redo()
    with s.try_("x = 99") as attempt:
        assert attempt.result.ok
    assert s.run("x").text == "1"
    with s.try_("x = 99") as attempt:
        attempt.keep()
    assert s.run("x").text == "99"


def test_files_of_any_kind(s, tmp_path):
    (tmp_path / "local.bin").write_bytes(bytes(range(256)) * 4096)
    s.files.upload(tmp_path / "local.bin", "in/data.bin")
    assert s.files.stat("in/data.bin")["bytes"] == 1 << 20
    s.files.download("in/data.bin", tmp_path / "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == (tmp_path / "local.bin").read_bytes()
    s.files.put("note ü?.txt", "text")
    s.files.put("pieces", iter([b"one ", b"two"]))
    assert s.files.read_text("note ü?.txt") == "text" and s.files.get("pieces") == b"one two"
    s.files.move("pieces", "moved")
    s.files.copy("moved", "copied")
    s.files.mkdir("empty")
    s.files.delete("in", recursive=True)
    assert {e["path"] for e in s.files.list()} == {"note ü?.txt", "moved", "copied", "empty"}


def test_images_show_themselves_in_jupyter(s):
    picture = png(8, 8)
    result = s.run(f"from IPython.display import Image, display\ndisplay(Image({picture!r}))")
    (image,) = result.images
    assert image._repr_png_() == result._repr_png_() == image.data == picture
    assert (image.width, image.height) == (8, 8)
    assert "image/png" in result._repr_mimebundle_()
    # One that has no room in the answer is fetched.
    assert s.run(f"display(Image({picture!r}))", budget=0).images[0].data == picture


def test_a_cell_can_be_left_running_and_interrupted(s):
    s.run("import time")
    result = s.run("time.sleep(600)", wait=0)
    assert result.status in ("running", "queued") and not result.is_finished
    threading.Thread(target=lambda: host.eventually(s.interrupt)).start()
    assert s.wait(result).status == "interrupted"
    assert not s.interrupt()
    assert s.run("time.sleep(600)", timeout=0.05).status == "timeout"


def test_a_cell_that_waits_for_its_turn_can_be_followed(s):
    s.run("import time; time.sleep(600)", wait=0)
    behind = s.run("print('late')", wait=0)
    assert behind.status == "queued"
    events = list(s.client.exec_continue_events(s.id, str(behind.number), yield_ms=0))
    assert [event.name for event in events] == ["cell", "result"]
    assert events[-1].data["status"] == "queued"


def test_a_server_in_a_session_is_reached(s):
    serve = ("import sys\\nfrom http.server import *\\nimport socket\\n"
             "server = HTTPServer(('', 0), SimpleHTTPRequestHandler, False)\\n"
             "server.socket = socket.socket(fileno=int(sys.argv[1]))\\nserver.serve_forever()")
    s.files.put("hello.txt", "hi")
    s.run(f"""
import socket, subprocess, sys
place = socket.create_server(("127.0.0.1", 8000))  # who connects waits until the server is there
server = subprocess.Popen([sys.executable, "-c", "{serve}", str(place.fileno())],
                          pass_fds=[place.fileno()])
place.close()
""", check=True)
    reply = s.client.session_port(s.id, 8000, path="/hello.txt")
    assert (reply.status, reply.body) == (200, b"hi")


def test_a_terminal_is_a_socket_of_messages(s):
    with s.client.session_terminal(s.id, command="read x; echo got $x") as terminal:
        terminal.send(b"typed\n")
        *shown, last = list(terminal)
    assert b"got typed" in b"".join(shown) and '"status":0' in last


def test_the_block_ends_a_session_and_leaves_one_that_was_attached(local):
    with cella.Session(client=local, profile="min") as s:
        with cella.Session.attach(s.id, client=local) as again:
            again.run("x = 1")
        assert s.run("x").text == "1"
    with pytest.raises(cella.ApiError) as caught:
        local.session_exec(s.id, "x")
    assert caught.value.code in ("not_found", "gone") and caught.value.advice
    s.end()  # once more is no error


def test_a_url_needs_its_key(daemon):
    with cella.Client(daemon.url, daemon.key()) as far:
        assert far.health()["status"] == "ok"
    with cella.Session(url=daemon.url, key=daemon.key(), profile="min") as s:
        assert s.run("6 * 7").text == "42"
    with cella.Client(daemon.url, "wrong") as stranger, pytest.raises(cella.Unauthorized) as caught:
        stranger.session_list()
    assert caught.value.status == 401 and caught.value.advice
    with pytest.raises(cella.CellaError):
        cella.Client("ftp://example")


def test_where_no_daemon_runs_one_is_started_or_missed(cella, tmp_path, monkeypatch):
    import cella as package
    data = tmp_path / ("long-" * 30)  # longer than a socket's address
    with pytest.raises(package.NoDaemon):
        package.Client(data=str(data), start=False).health()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "cella").mkdir()
    (tmp_path / "cella/cella.yaml").write_text("default_profile: min\n")
    try:
        with package.Session(client=package.Client(data=str(data), program=str(cella))) as s:
            assert s.run("1 + 1").text == "2"
    finally:
        subprocess.run([cella, "stop", "--data", data], check=True, capture_output=True)


def test_asyncio_runs_sessions_side_by_side(daemon):
    async def work():
        async with cella.AsyncClient(data=str(daemon.data), start=False) as local:
            sessions = [cella.AsyncSession(client=local, profile="min") for _ in range(4)]
            results = await asyncio.gather(*(s.run(f"{n} * {n}") for n, s in enumerate(sessions)))
            assert [r.text for r in results] == ["0", "1", "4", "9"]
            s = sessions[0]
            seen = []
            asked = await s.run("print(input('? '))", input=["line"],
                                on_output=lambda _, text: seen.append(text))
            assert asked.stdout == "line\n" and "".join(seen) == "line\n"
            events = [event.name async for event in s.stream("print(1)")]
            assert events[0] == "cell" and events[-1] == "result" and "output" in events
            async with await s.try_("y = 1") as attempt:
                assert attempt.result.ok
            # Whoever is cancelled ends the cell.
            task = asyncio.ensure_future(s.run("import time; time.sleep(600)"))
            while (await s.info())["state"] != "busy":
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await s.run("'free'")).text == "'free'"
            for session in sessions:
                await session.end()

    asyncio.run(work())


def test_what_is_no_answer_is_said_so(tmp_path):
    from cella._wire import EventReader, FrameReader, Response, frame
    whole = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
             b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n")
    for size in (1, 2, 7, len(whole)):  # however it comes
        response = Response()
        pieces = [response.feed(whole[at:at + size]) for at in range(0, len(whole), size)]
        assert b"".join(pieces) == b"abcde" and response.is_done and response.keeps_alive
    for bad in (b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"x" * 70000):
        with pytest.raises(cella.ConnectionLost):
            Response().feed(bad)
    with pytest.raises(cella.ConnectionLost):
        short = Response()
        short.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
        short.feed(b"")
    reader = EventReader()
    assert reader.feed(b': hello\n\nevent: a\ndata: {"x":\ndata: 1}\n') == []
    assert reader.feed(b"\n") == [cella.Event("a", {"x": 1})]
    for size in (0, 125, 126, 65536):
        masked = frame(2, b"z" * size)
        start = len(masked) - size
        plain = bytes([masked[0], masked[1] & 0x7F]) + masked[2:start - 4] + b"z" * size
        assert FrameReader().feed(plain) == [(2, b"z" * size)]
    with pytest.raises(cella.ConnectionLost):
        FrameReader().feed(b"\x82\x7f" + b"\xff" * 8)


def test_functions_that_the_code_calls(s):
    """Each as a tool; what one raises is told to the code, and the others go on."""
    def twice(n: int, more: int = 0):
        """Twice a number."""
        return 2 * n + more

    def fails():
        raise LookupError("not here")
    tools = {"twice": twice, "fails": fails,
             "note": {"call": lambda **given: given, "description": "Keeps all.",
                      "parameters": {"type": "object"}, "read_only": True}}
    code = ("print('first')\n[TOOL('twice', n=4), TOOL('twice', n=1, more=1), TOOL('fails'), "
            "TOOL('note', a=[1]), TOOL('twice', n='x')[:20], list_tools('twice')['description']]")
    for options in ({}, {"on_output": lambda *_: None}):
        result = s.run(code, tools=tools, check=True, **options)
        assert result.stdout == "first\n"
        assert ast.literal_eval(result.text) == [
            8, 3, "[ERROR: LookupError: not here]", {"a": [1]}, "[ERROR: args.n must ",
            "Twice a number."]


def test_coroutines_that_the_code_calls(daemon):
    async def main():
        async def slow(n: int):
            await asyncio.sleep(0)
            return n + 1
        async with cella.AsyncClient(data=str(daemon.data), start=False) as client:
            async with cella.AsyncSession(client=client, profile="min") as session:
                return await session.run("TOOL('slow', n=1)", tools={"slow": slow})
    assert asyncio.run(main()).text == "2"
