"""The tools that models are given: few, in few words, and each answer exactly what a model reads.

`run` is the shortest path; `wait` hears of what still runs; `back` is the session's history; `look`
shows what there is without running anything; `file` has the files. The set `notebook` is the same
world in cells, `repl` the one tool that some agents know."""

import base64
import json
import struct

import pytest
from harness import stage
from harness.client import ApiError

pytestmark = pytest.mark.one_mode

CONFIG = """\
default_profile: min
pool: 1
agents:
  - {id: default, repl: {enabled: true, checkpoints: every}}
  - {id: ana, repl: {enabled: true, max_sessions: 2}}
  - {id: eve, repl: {enabled: true}}
  - {id: off, repl: {enabled: false}}
"""


class Tools:
    """Calls tools for an agent: `tools.run(code="1 + 1")` is the text of the answer."""

    def __init__(self, client, agent=None):
        self.client, self.headers = client, {"Cella-Agent": agent} if agent else {}

    def answer(self, tool, **args):
        reply = self.client.request("POST", f"/v1/tools/{tool}", args, self.headers)
        if reply.status != 200:
            raise ApiError(reply)
        return reply.json

    def __getattr__(self, tool):
        def call(**args):
            answer = self.answer(tool, **args)
            assert [item["type"] for item in answer["content"]] == ["text"]
            return answer["content"][0]["text"]
        return call

    def refused(self, tool, **args):
        with pytest.raises(ApiError) as caught:
            self.answer(tool, **args)
        return caught.value


@pytest.fixture(scope="module")
def own(launcher):
    daemon = launcher(config=CONFIG)
    yield daemon
    daemon.stop()


@pytest.fixture
def tools(own):
    """Of a caller that has no session yet."""
    yield Tools(own.client)
    for session in own.client.call("GET", "/v1/sessions")["sessions"]:
        own.client.call("DELETE", f"/v1/sessions/{session['session_id']}")


# run


@pytest.mark.smoke
def test_run_says_what_a_terminal_would_and_no_more(tools):
    assert tools.run(code="1 + 1") == "2\n[new session python]"
    assert tools.run(code="x = 20") == "ok"
    assert tools.run(code="print('a'); x + 1") == "a\n21"  # the session is the caller's own
    assert tools.run(code="echo $((6 * 7)); false", language="bash") == (
        "42\n[exit status 1]\n[new session bash]")
    assert tools.run(code="x") == "20"


def test_a_session_has_the_name_that_run_gives_it(tools):
    assert tools.run(code="x = 1", session="mine") == "[new session mine]"
    assert tools.run(code="x", session="mine") == "1"
    assert "NameError" in tools.answer("run", code="x")["content"][0]["text"]
    error = tools.refused("run", code="1", session="mine", language="bash")
    assert (error.code, error.message) == ("invalid", "that session runs python, not bash")
    assert tools.refused("run", code="1", session="no name!").code == "invalid"
    unknown = "00000000-0000-4000-8000-000000000000"
    assert tools.refused("run", code="1", session=unknown).code == "not_found"


def test_code_that_fails_is_an_answer_with_its_traceback(tools):
    tools.run(code="pass")
    answer = tools.answer("run", code="1 / 0")
    assert answer == {"isError": True, "content": [{"type": "text", "text":
                      "<cell 2> line 1\n    1 / 0\nZeroDivisionError: division by zero"}]}


def test_arguments_are_checked(tools):
    assert "language" in tools.refused("run", code="1", language="cobol").message
    assert "code" in tools.refused("run").message
    assert "timeout_ms" in tools.refused("run", code="1", timeout_ms=0).message


def test_long_output_is_cut_and_can_be_read_on(tools):
    tools.run(code="pass")
    text = tools.run(code="for i in range(5000): print('row', i)", max_tokens=50)
    assert text.startswith("row 0\n") and text.endswith("row 4999") and len(text) < 300
    assert "left out: look(output=2) ...]" in text
    assert tools.look(output=2, offset=10, max_tokens=4) == (
        "1\nrow 2\nrow \n[43868 bytes more: offset=22]")
    assert tools.look(output=2, search="row 499", max_tokens=12) == (
        "500: row 499\n4991: row 4990\n4992: row 4991\n"
        "[11 of 5000 lines, the last 8 are not shown]")
    assert tools.refused("look", output=9).advice == "Its cells are 1 to 2."


LONG = "for i in range(200_000): print('row', i)"  # more than a notebook keeps


def test_a_long_output_is_whole_while_its_session_has_it(daemon):
    tools = Tools(daemon.client)
    tools.run(code=LONG, session="long")
    assert tools.look(output=1, session="long", search="row 100000") == (
        "100001: row 100000\n[1 of 200000 lines]")
    tools.back(action="end", session="long")


def test_what_is_gone_of_an_output_is_told(tools):
    tools.run(code=LONG)  # of an agent whose sessions keep 64 KiB
    text = tools.look(output=1, search="row 100000")
    assert "[0 of " in text and text.endswith(" bytes of its middle are not kept]")
    assert tools.look(output=1, max_tokens=10).endswith(" bytes of its middle are not kept]")


def test_a_value_that_is_cut_can_be_read_on(tools):
    text = tools.run(code="'<' + 'a' * 50000 + '>'", session="b")
    assert 'look(output=1, session="b")' in text and len(text) < 9000
    assert tools.look(output=1, session="b", offset=49990, max_tokens=100).endswith("aaa>'")


def test_a_picture_is_seen(tools):
    picture = base64.b64encode(stage.png(8, 6)).decode()
    answer = tools.answer("run", code="import base64\nclass P:\n    def _repr_png_(self):\n"
                          f"        return base64.b64decode('{picture}')\nprint('it')\nP()")
    text, image = answer["content"]
    assert text["text"] == "it\n[png 8x6]\n[new session python]"
    assert image == {"type": "image", "mimeType": "image/png", "data": picture}


def test_a_picture_that_is_too_large_is_linked_to(tools):
    header = base64.b64encode(stage.png(8, 6)).decode()
    answer = tools.answer("run", code="import base64, os\nclass P:\n    def _repr_png_(self):\n"
                          f"        return base64.b64decode('{header}') + os.urandom(900_000)\nP()")
    text, link = answer["content"]
    assert text["text"].startswith("[png 8x6]")
    assert link["type"] == "resource_link" and link["mimeType"] == "image/png"
    assert link["uri"].startswith("notebook://") and link["uri"].endswith("/image/0")


NOISE = """
import os, struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
class P:
    def _repr_png_(self):
        rows = b''.join(b'\\0' + os.urandom(1200) for _ in range(1000))
        head = struct.pack('>IIBBBBB', 1200, 1000, 8, 0, 0, 0, 0)
        return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) +
                chunk(b'IDAT', zlib.compress(rows, 1)) + chunk(b'IEND', b''))
P()
"""


def test_a_large_picture_is_seen_smaller(tools):
    text, image, link = tools.answer("run", code=NOISE)["content"]
    assert text["text"].startswith("[png 1200x1000]") and link["uri"].endswith("/image/0")
    assert struct.unpack(">II", base64.b64decode(image["data"])[16:24]) == (512, 427)


def test_events_tell_of_it_meanwhile_and_the_answer_is_whole(tools, own):
    events = list(own.client.events("/v1/tools/run", {"code": "print('a'); 1"}))
    assert events[0][0] == "cell" and {name for name, _ in events[1:-1]} == {"output"}
    assert events[-1][1]["content"][0]["text"].startswith("a\n1")


# wait


def test_what_takes_long_is_waited_for(tools):
    tools.run(code="import os")
    answer = tools.answer("run", yield_ms=0, code="_ = os.write(1, b'begun\\n')\n"
                          "while not os.path.exists('go'): pass\nprint('over')")
    assert answer["pending"] == {"session": "python", "exec_id": 2, "kind": "running"}
    text = answer["content"][0]["text"]
    while "begun" not in text:
        assert text.endswith("wait()]")
        text = tools.wait(yield_ms=10)
    assert text == "begun\n[cell 2 still runs: wait()]"
    assert tools.wait(yield_ms=0) == "[cell 2 still runs: wait()]"
    tools.file(action="put", path="go", content="")
    assert tools.wait() == "over"  # only what is new
    assert tools.wait() == "[nothing runs]"
    assert tools.refused("wait", session="other").message == "there is no session other"


def test_who_goes_away_finds_the_answer_later(tools, own):
    tools.run(code="import os")
    gone = own.client.new_connection()
    code = "_ = os.write(1, b'begun\\n')\nwhile not os.path.exists('go'): pass\n6 * 7"
    gone.request("POST", "/v1/tools/run", json.dumps({"code": code}), own.client.headers())
    while "busy" not in tools.look(what="sessions"):
        pass
    gone.close()
    while "begun" not in (text := waited(tools)):
        pass
    assert text == "begun\n[cell 2 still runs: wait()]"
    tools.file(action="put", path="go", content="")
    assert tools.wait() == "42"


def waited(tools):
    """What is new, if nobody else waits for it."""
    try:
        return tools.wait(yield_ms=0)
    except ApiError as error:
        assert error.advice.endswith("look(output=2).")
        return ""


def test_a_question_is_answered(tools):
    answer = tools.answer("run", code="input('name? ') * 2", session="asks")
    assert answer["content"][0]["text"] == (
        'name? \n[cell 1 waits for a line: wait(input=…, session="asks")]\n[new session asks]')
    assert answer["pending"] == {"session": "asks", "exec_id": 1, "kind": "input",
                                 "prompt": "name? "}
    assert tools.wait(session="asks", input="Ada") == "'AdaAda'"
    assert tools.refused("wait", session="asks", input="Ada").code == "conflict"


def test_what_runs_is_interrupted(tools):
    tools.run(code="while True: pass", yield_ms=0)
    answer = tools.answer("wait", interrupt=True)
    assert answer["isError"] and answer["content"][0]["text"].endswith("KeyboardInterrupt")
    assert tools.run(code="1") == "1"


def test_a_crash_is_told_and_rolled_back(tools):
    tools.run(code="x = 1")
    answer = tools.answer("run", code="import os; os._exit(3)")
    assert answer["isError"] and answer["content"][0]["text"].endswith("[rolled back cell 2]")
    assert tools.run(code="x") == "1"


# back


@pytest.mark.smoke
def test_back_undoes_and_redoes(tools):
    tools.run(code="x = 1")
    tools.run(code="x = 2; _ = open('made', 'w').write('1')")
    assert tools.back(action="list") == "0 the beginning\n1 cell 1\n*2 cell 2"
    assert tools.back(action="undo") == (
        "[undid cell 2: at checkpoint 1]\n[names ~x]\n[1 file put back]")
    assert tools.back(action="redo") == "[redone: at checkpoint 2]\n[1 file put back]"
    assert tools.run(code="x") == "2"
    assert tools.refused("back", action="redo").code == "conflict"
    assert tools.refused("back", action="undo", to=77).advice.startswith('back(action="list")')
    assert "action" in tools.refused("back", action="forth").message


def test_a_branch_is_another_session(tools):
    tools.run(code="x = 1")
    assert tools.back(action="branch") == '[branched: session="python-2"]'
    tools.run(code="x = 2", session="python-2")
    assert tools.run(code="x") == "1"  # the caller's own is what it was
    assert tools.look(session="python-2") == "x int = 2"


def test_a_try_is_kept_or_dropped(tools):
    tools.run(code="x = 1")
    text = tools.back(action="try", code="x = 2; del globals()['x']; y = x if 0 else 3")
    assert text == '[a try: back(action="keep") or back(action="drop")]\n[names -x]'
    assert tools.refused("run", code="x").advice == (
        'back(action="keep") keeps it, back(action="drop") takes it back.')
    assert tools.back(action="drop").startswith("[dropped cell 2: at checkpoint 1]")
    tools.back(action="try", code="x = 3")
    assert tools.back(action="keep") == "ok"
    assert tools.run(code="x") == "3"
    assert "no try" in tools.refused("back", action="keep").message
    assert "code" in tools.refused("back", action="try").message


# look


@pytest.mark.smoke
def test_look_tells_what_there_is(tools):
    assert tools.refused("look").message == "there is no session yet"
    tools.run(code="x = 1; rows = [1, 2, 3]\ndef f(a, b=2):\n    'Adds.'\n    return a + b")
    assert tools.look() == "x int = 1\nrows list of 3 = [1, 2, 3]\nf function = f(a, b)"
    assert tools.look(search="ro") == "rows list of 3 = [1, 2, 3]"
    assert tools.look(name="rows") == "list of 3\n[1, 2, 3]"
    assert tools.look(name="f") == (
        "function\nf(a, b=2)\nAdds.\ndef f(a, b=2):\n    'Adds.'\n    return a + b")
    tools.run(code="class Table:\n    columns, dtypes = 'ab', ('int', 'str')\n"
                   "    def head(self, n): return n\nt = Table()")
    assert tools.look(name="t") == "Table\na: int, b: str\n3"  # as frames of pandas have them
    tools.back(action="undo")
    assert tools.look(name="nothing") == "[nothing has this name]"
    assert tools.look(what="sessions") == "python python idle, 2 cells"
    assert tools.look(what="files") == "[no files]"
    assert "what" in tools.refused("look", what="else").message


def test_many_names_are_some_names(tools):
    tools.run(code="for i in range(100): globals()[f'n{i}'] = i")
    text = tools.look(max_tokens=20)
    assert text.startswith("int: i=99 n0=0 n1=1 ") and text.endswith(" more: search for some]")
    assert len(text) < 120


def test_names_of_a_type_share_a_line_if_their_values_are_short(tools):
    tools.run(code="a = 1; b = 2.5; c = 3.5; d = 'two words'; e = 'x' * 30; f = 'y'\n"
                   "g = [1]; h = [2]")
    assert tools.look() == (
        "a int = 1\nfloat: b=2.5 c=3.5\nd str of 9 = 'two words'\ne str of 30 = '" + "x" * 30
        + "'\nf str of 1 = 'y'\ng list of 1 = [1]\nh list of 1 = [2]")
    tools.run(code="del e")
    assert "str: d='two words' f='y'" in tools.look()


def test_a_list_of_many_lines_is_cut_as_a_long_text_is(tools):
    tools.run(code="pass")
    text = tools.run(code="list(range(999))")
    assert text.startswith("[0,\n 1,\n") and text.endswith(" 998]") and len(text) < 3500
    assert "left out: look(output=2) ...]" in text
    assert tools.look(output=2, search="500") == "501:  500,\n[1 of 999 lines]"
    assert tools.run(code="list(range(399))").count("\n") == 398  # fewer come whole
    assert tools.run(code="list(range(999))", max_tokens=4000).count("\n") == 998


# file


@pytest.mark.smoke
def test_files_are_put_read_listed_and_deleted(tools):
    assert tools.file(action="put", path="/workspace/d/a.txt", content="one\ntwo\n") == (
        "[created d/a.txt, 8 bytes]\n[new session python]")
    assert tools.run(code="open('d/a.txt').read()") == "'one\\ntwo\\n'"
    assert tools.file(action="get", path="d/a.txt") == "one\ntwo"
    assert tools.file(action="get", path="d/a.txt", offset=1, max_tokens=1) == (
        "ne\n[4 bytes more: offset=4]")
    assert tools.file(action="list") == "d/\nd/a.txt 8"
    assert tools.look(what="files", search="a.t") == "d/a.txt 8"
    assert tools.file(action="put", path="d/a.txt", content="") == "[replaced d/a.txt, 0 bytes]"
    assert tools.file(action="get", path="d/a.txt") == "[empty]"
    assert tools.file(action="delete", path="d/a.txt") == "[deleted d/a.txt]"
    assert tools.refused("file", action="get", path="d/a.txt").code == "not_found"
    assert tools.refused("file", action="get", path="d").advice.endswith(
        'file(action="list") tells what is in it.')
    assert "path" in tools.refused("file", action="get").message
    assert "content" in tools.refused("file", action="put", path="x").message


def test_bytes_are_put_in_base64_and_pictures_seen(tools):
    picture = base64.b64encode(stage.png(8, 6)).decode()
    tools.file(action="put", path="p.png", content="data:;base64," + picture)
    answer = tools.answer("file", action="get", path="p.png")
    assert answer["content"] == [{"type": "image", "data": picture, "mimeType": "image/png"}]
    tools.file(action="put", path="b", content="data:;base64,AP8=")
    assert tools.file(action="get", path="b") == "[2 bytes that are no text: read them with code]"
    assert tools.refused("file", action="put", path="b", content="data:;base64,!").code == "invalid"


def test_a_large_file_is_read_in_parts(tools):
    tools.run(code="_ = open('big', 'w').write('é' * 2_000_000)")
    text = tools.file(action="get", path="big", offset=3_999_998)
    assert text == "é"
    text = tools.file(action="get", path="big", max_tokens=3)
    assert text == "éééé\n[3999992 bytes more: offset=8]"
    error = tools.refused("file", action="get", path="big", offset=4_000_001)
    assert error.code == "range_not_satisfiable"


# notebook


def test_the_notebook_s_eight_tools(tools):
    assert tools.refused("show_notebook").advice == "execute_cell() makes one."
    assert tools.execute_cell(code="x = 2; x") == "2\n[cell=0]\n[new notebook python]"
    assert tools.execute_cell(code="print('hi'); x * 3") == "hi\n6\n[cell=1]"
    assert tools.show_cell(cell=1) == "[1 ok]\nprint('hi'); x * 3\n->\nhi\n6"
    assert tools.rerun_cell(cell=0) == "2\n[cell=0]"
    assert tools.rerun_cell(cell=0, code="x = 5") == "[cell=0]"
    assert tools.show_notebook() == "[0 ok]\nx = 5\n[1 ok]\nprint('hi'); x * 3\n->\nhi\n6"
    assert tools.delete_cell(cell=1) == "[deleted, 1 cells left]"
    assert tools.refused("show_cell", cell=1).code == "not_found"
    assert tools.export_ipynb(path="out/report").startswith("[wrote out/report.ipynb, ")
    document = json.loads(tools.run(code="print(open('out/report.ipynb').read())"))
    assert ["".join(cell["source"]) for cell in document["cells"]] == ["x = 5"]
    assert tools.clear_notebook() == "[cleared; variables stay]"
    assert tools.show_notebook() == "[no cells]"
    assert tools.execute_cell(code="x") == "5\n[cell=0]"


def test_a_new_notebook_is_gone_on_in(tools):
    tools.execute_cell(code="x = 1")
    assert tools.create_notebook(name="June: sales") == "[new notebook June-sales]"
    assert "NameError" in tools.answer("execute_cell", code="x")["content"][0]["text"]
    assert tools.show_notebook().startswith("# June: sales\n[0 error]\nx\n->\n")
    assert tools.show_notebook(notebook="python") == "[0 ok]\nx = 1"


# Whose things they are.


def test_another_agent_s_session_is_not_found(tools, own):
    ana, eve = Tools(own.client, "ana"), Tools(own.client, "eve")
    ana.run(code="secret = 1")
    name = own.client.call("GET", "/v1/sessions?agent=ana")["sessions"][0]["session_id"]
    for tool, args in (("run", {"code": "secret"}), ("wait", {}), ("back", {"action": "undo"}),
                       ("look", {}), ("file", {"action": "list"})):
        assert eve.refused(tool, session=name, **args).code == "not_found", tool
    assert eve.refused("show_notebook", notebook=name).code == "not_found"
    assert eve.look(what="sessions") == "[no sessions]"
    assert "[new session python]" in eve.run(code="1")  # its own, of the same name
    assert Tools(own.client, "off").refused("run", code="1").code == "forbidden"


def test_limits_of_agents_hold(tools, own):
    ana = Tools(own.client, "ana")
    ana.run(code="1")
    ana.run(code="1", session="b")
    error = ana.refused("run", code="1", session="c")
    assert error.code == "limit_reached" and 'back(action="end"' in error.advice
    assert ana.refused("back", action="branch").code == "limit_reached"
    assert ana.back(action="end", session="b") == "ok"
    assert ana.run(code="1", session="c") == "1\n[new session c]"


def test_plan_mode_refuses_what_changes_something(tools, own):
    tools.run(code="x = 1")
    (session,) = own.client.call("GET", "/v1/sessions")["sessions"]
    own.client.call("PUT", f"/v1/sessions/{session['session_id']}/plan", {"reason": "think"})
    for tool, args in (("run", {"code": "1"}), ("back", {"action": "undo"}),
                       ("wait", {"interrupt": True}), ("delete_cell", {"cell": 0}),
                       ("file", {"action": "put", "path": "a", "content": ""})):
        refusal = tools.refused(tool, **args).reply.json["refusal"]
        assert (refusal["tool_name"], refusal["entered_reason"]) == (tool, "think")
    assert tools.look() == "x int = 1"
    assert tools.back(action="list") == "0 the beginning\n*1 cell 1"
    assert tools.file(action="list") == "[no files]"
    assert tools.wait() == "[nothing runs]"
    own.client.call("DELETE", f"/v1/sessions/{session['session_id']}/plan")


# What models are told of them.


@pytest.mark.smoke
def test_a_list_of_tools_costs_little(own):
    core = own.client.call("GET", "/v1/tools")["tools"]
    assert [tool["name"] for tool in core] == ["run", "wait", "back", "look", "file"]
    assert len(json.dumps(core)) < 4200  # about 900 tokens
    assert core[3]["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert core[0]["inputSchema"]["required"] == ["code"]
    more = own.client.call("GET", "/v1/tools?sets=repl,notebook")["tools"]
    assert [tool["name"] for tool in more] == [
        "Repl", "execute_cell", "rerun_cell", "show_cell", "show_notebook", "delete_cell",
        "clear_notebook", "create_notebook", "export_ipynb"]
    assert set(more[0]["inputSchema"]["properties"]) == {
        "action", "session_id", "runtime", "code", "cwd"}
    with pytest.raises(ApiError, match="no set of tools"):
        own.client.call("GET", "/v1/tools?sets=core,all")
