"""Output: the caller's budget, the full text, and the live stream."""

import hashlib
import json
import socket

import pytest

from harness import host

MAX_OUTPUT = 4_194_304  # the default of max_output_bytes


def whole_output(session, exec_id, stream="stdout", limit=100_000):
    """Everything that is kept of a cell's stream, page by page."""
    text, offset = [], 0
    while True:
        page = session.output(number=exec_id, stream=stream, offset=offset, limit=limit)
        if not page["text"]:
            return "".join(text)
        text.append(page["text"])
        assert page["next_offset"] > offset
        offset = page["next_offset"]


# The budget.


@pytest.mark.smoke
def test_the_name_of_an_error_is_no_way_around_the_budget(session):
    answer = session.exec("raise type('Ä' * 1_000_000, (Exception,), {})('x')", budget=2000)
    assert answer.status == "error" and set(answer.error["name"]) == {"Ä"}
    assert len(json.dumps(answer, ensure_ascii=False)) < 20_000


@pytest.mark.smoke
def test_output_within_the_budget_is_whole(session):
    result = session.exec("print('x' * 8_000)")
    assert len(result["stdout"]) == 8_001
    assert result.truncated is False
    assert "omitted" not in result


@pytest.mark.smoke
def test_output_over_the_budget_keeps_head_and_tail_and_counts_the_rest(session):
    result = session.exec("print('Q' * 50_000 + 'Z' * 50_000, end='')", budget=1000)
    out = result["stdout"]
    assert result.truncated is True
    assert out.startswith("Q" * 100) and out.endswith("Z" * 100)
    assert len(out) < 1300
    assert result.omitted["stdout"] == 100_000 - out.count("Q") - out.count("Z")
    assert "stderr" not in result.omitted


@pytest.mark.smoke
def test_without_a_budget_8_kib_come_whole_and_of_more_the_first_and_last_lines(session):
    result = session.exec("for i in range(100_000): print('row', i)")
    out = result["stdout"]
    assert out.startswith("row 0\nrow 1\n") and out.endswith("row 99998\nrow 99999\n")
    (note,) = [line for line in out.splitlines() if not line.startswith("row ")]
    assert "lines" in note and f"GET …/output?number={result.number}" in note and len(out) < 3500
    assert result.omitted["stdout"] > 900_000
    value = session.exec("[str(i) * 5 for i in range(5000)]")["value"]["text"]
    assert len(value) < 3500 and "left out: GET /v1/notebooks/…/cells/" in value


def test_a_budget_of_nothing(session):
    result = session.exec("print('hello')", budget=0)
    assert result.status == "ok"
    assert "hello" not in result["stdout"]
    assert result.omitted["stdout"] == 6


def test_both_streams_are_bounded(session):
    result = session.exec(
        "import sys; sys.stdout.write('o' * 100_000); sys.stderr.write('e' * 100_000)", budget=2000
    )
    assert len(result["stdout"]) + len(result["stderr"]) < 4600
    assert result.omitted["stdout"] > 90_000 and result.omitted["stderr"] > 90_000


def test_the_cut_never_splits_a_character(session):
    for budget in range(100, 110):
        result = session.exec("print('😀' * 10_000, end='')", budget=budget)
        assert "\ufffd" not in result["stdout"]


def test_a_big_budget_gives_everything(session):
    result = session.exec("print('x' * 3_000_000)", budget=16_777_216)
    assert len(result["stdout"]) == 3_000_001


# The full text.


def test_the_full_text_is_read_in_pages(session):
    code = "for n in range(200_000): print(n)"
    result = session.exec(code, budget=100)
    text = whole_output(session, result.number)
    expected = "".join(f"{n}\n" for n in range(200_000))
    assert hashlib.md5(text.encode()).digest() == hashlib.md5(expected.encode()).digest()


def test_streams_and_cells_are_read_apart(session):
    one = session.exec("import sys; print('one'); print('bad one', file=sys.stderr)")
    two = session.exec("print('two')")
    assert whole_output(session, one.number) == "one\n"
    assert whole_output(session, one.number, "stderr") == "bad one\n"
    assert whole_output(session, two.number) == "two\n"
    assert whole_output(session, two.number, "stderr") == ""


def test_a_page_never_splits_a_character(session):
    result = session.exec("print('é😀' * 1000, end='')")
    assert whole_output(session, result.number, limit=7) == "é😀" * 1000


def test_past_the_cap_the_oldest_is_dropped_and_counted(session):
    result = session.exec("import os\nfor n in range(6): os.write(1, bytes([48 + n]) * 1_000_000)")
    page = session.output(number=result.number, stream="stdout", limit=100)
    assert page["text"][0] in "012"
    assert "dropped" in json.dumps(page)
    text = whole_output(session, result.number)
    assert text.endswith("5" * 1_000_000)
    assert 3_000_000 < len(text) <= MAX_OUTPUT


@pytest.mark.parametrize(
    "query", ["number=x", "number=-1", "offset=-1", "limit=-5", "stream=both", "unknown=1"]
)
def test_a_wrong_question_is_400(client, session, query):
    session.exec("print(1)")
    reply = client.request("GET", f"{session.path}/output?{query}")
    assert reply.status == 400
    assert reply.json["error"]["message"]


def test_the_output_of_a_cell_that_never_was(client, session):
    assert client.request("GET", f"{session.path}/output?number=99").status == 404


def test_the_output_of_a_dead_session_can_still_be_read(session):
    result = session.exec("import os; os.write(1, b'last words'); os._exit(1)")
    assert result["stdout"] == "last words"
    assert whole_output(session, result.number) == "last words"


@pytest.mark.one_mode
@pytest.mark.slow
def test_one_gigabyte_of_output_stays_bounded_in_the_daemon(daemon, session, witness):
    mebibytes = 256 if daemon.is_sanitized else 1024  # that build takes long for each
    session.exec("print('warm')")
    with daemon.watch_heap() as heap:
        result = session.patient(120 + host.PATIENCE).exec(
            "import os\nblock = b'x' * (1 << 20)\n"
            f"for n in range({mebibytes}): os.write(1, block)\nos.write(1, b'end')",
            timeout_ms=120_000,
        )
    assert result.status == "ok"
    assert result["stdout"].endswith("end")
    assert result.omitted["stdout"] > 0.93 * (mebibytes << 20)
    assert session.info().output_len == (mebibytes << 20) + len("warm\nend")
    assert heap[1] - heap[0] < 20_000_000, heap


@pytest.mark.one_mode
@pytest.mark.slow
def test_a_flood_of_displays_stays_bounded_in_the_daemon(daemon, session, witness):
    with daemon.watch_heap() as heap:
        result = session.exec("for n in range(600): display('x' * 100_000)", timeout_ms=60_000)
    assert result.status in ("ok", "error")
    assert result.status == "error" or result.truncated
    assert heap[1] - heap[0] < 20_000_000, heap


# The stream.


def test_events_arrive_in_order_and_the_last_is_the_result(session):
    events = list(session.events("for n in range(100): print(n)\n'value'"))
    assert {name for name, _ in events[:-1]} == {"output"}
    assert "".join(e["text"] for _, e in events[:-1]) == "".join(f"{n}\n" for n in range(100))
    assert {e["stream"] for _, e in events[:-1]} == {"stdout"}
    name, result = events[-1]
    assert name == "result"
    assert (result.status, result["value"]["text"]) == ("ok", "'value'")
    assert "stdout" not in result and "outputs" not in result  # which were told as they came


def test_output_arrives_while_the_cell_runs(session):
    events = session.events("import os; os.write(1, b'now')\nimport signal\nsignal.pause()")
    name, data = next(events)
    assert (name, data["text"]) == ("output", "now")
    assert session.info().state == "busy"
    host.eventually(session.interrupt)
    assert next(events)[1].status == "interrupted"


def test_children_stream_live_too(session):
    events = session.events("import subprocess; subprocess.run('echo child; sleep 60', shell=True)")
    assert next(events)[1]["text"] == "child\n"
    session.interrupt()
    *_, (name, result) = events
    assert (name, result.status) == ("result", "interrupted")


def test_streams_are_marked(session):
    events = list(session.events("import sys; print('o'); sys.stderr.write('e')"))
    texts = {"stdout": "", "stderr": ""}
    for name, event in events:
        if name == "output":
            texts[event["stream"]] += event["text"]
    assert texts == {"stdout": "o\n", "stderr": "e"}


def test_a_failed_cell_in_a_stream(session):
    *_, (name, result) = session.events("print('x'); 1/0")
    assert (name, result.status) == ("result", "error")
    assert result["error"]["name"] == "ZeroDivisionError"


def test_characters_split_between_writes_stay_whole_in_a_stream(session):
    events = session.events(
        """
        import os, time
        for b in 'é😀'.encode() * 20:
            os.write(1, bytes([b])); time.sleep(.001)
        """
    )
    assert "".join(e["text"] for n, e in events if n == "output") == "é😀" * 20


def test_a_stream_of_a_bad_request_is_a_plain_error(client, session):
    reply = client.request(
        "POST", session.path + "/exec", {"cod": 1}, {"Accept": "text/event-stream"}
    )
    assert reply.status == 400
    assert reply.headers["Content-Type"].startswith("application/json")


@pytest.mark.slow
def test_a_slow_reader_of_a_stream_does_not_stop_the_cell(daemon, client, session, witness):
    before = daemon.heap_bytes()
    with client.connect() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.sendall(
            client.post_bytes(
                session.path + "/exec",
                {"code": "import os\nfor n in range(50): os.write(1, b'x' * (1 << 20))\ndone = 1"},
                Accept="text/event-stream",
            )
        )
        host.eventually(lambda: session.info().exec_count == 1)
        host.eventually(lambda: session.info().state == "idle")
        assert session.value("done") == "1"
        assert daemon.heap_bytes() - before < 20_000_000
        text = read_to_result(sock)
    result = json.loads(text.split("event: result\ndata: ")[1].split("\n")[0])
    assert result["status"] == "ok"
    assert result["dropped_bytes"] > 1_000_000


def read_to_result(sock):
    text = b""
    while b"event: result" not in text or not text.rstrip(b"0\r\n").endswith(b"}"):
        more = sock.recv(65536)
        if not more:
            break
        text += more
    return text.decode()


def test_a_reader_that_leaves_in_the_middle_of_a_stream(session, witness):
    events = session.events("import time\nfor n in range(200): print(n); time.sleep(.001)\nok = 1")
    next(events)
    events.close()
    host.eventually(lambda: session.info().state == "idle")
    assert session.value("ok") == "1"


def test_a_gigantic_display_is_counted_instead_of_streamed(session):
    """A forged one: the driver itself makes none of that size."""
    events = list(
        session.events(
            """
            import json, os, struct
            output = {"type": "text", "text": "x" * (5 << 20)}
            text = json.dumps({"ev": "display", "id": 1, "output": output}).encode()
            frame = memoryview(struct.pack("<I", len(text)) + text)
            while frame: frame = frame[os.write(3, frame):]
            """
        )
    )
    assert [name for name, _ in events] == ["result"]
    assert events[0][1]["dropped_bytes"] > 5 << 20
