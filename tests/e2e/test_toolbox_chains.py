"""Structured cells: code that is nothing but calls of tools, which the daemon makes: at once where
they only read, in waves where they depend on each other, and not at all where they may not."""

import ast
import pathlib
import tempfile
import threading

import pytest

from harness.client import ApiError
from harness.configured import Configured

READS = "a = TOOL('calculate', expression='2 ** 10')\nb = TOOL('statistics', values=[1, 2, 3])"

# Tells how many of its kind ran beside it, as soon as there are so many as it waits for.
MEETING = """
import json, os, sys, time
given = json.load(sys.stdin)
folder = f"/workspace/{given['room']}"
os.makedirs(folder, exist_ok=True)
mine = f"{folder}/{os.getpid()}-{time.time_ns()}"
open(mine, "w").close()
most = 0
for _ in range(given.get("patience", 3000)):
    most = max(most, len(os.listdir(folder)))
    if most >= given["n"]:
        break
    time.sleep(0.01)
if given.get("leaves"):
    os.remove(mine)
print(most)
"""
HANGS = "import sys, time; open('/workspace/begun', 'w').close(); time.sleep(3600)"
CONFIG = """
default_profile: min
toolbox:
  MODE
  tools:
    - name: meet
      parameters: '{"room": {"type": "string", "required": true}, "n": {"type": "integer"},
        "leaves": {"type": "boolean"}, "patience": {"type": "integer"}}'
      command: [/usr/bin/python3, /workspace/meeting.py]
      read_only: true
      timeout_secs: 60
    - name: hang
      command: [/usr/bin/python3, /workspace/hangs.py]
      read_only: true
      timeout_secs: 600
"""


@pytest.fixture
def structured(spawn):
    return spawn(explore=True, structured=True)


@pytest.fixture
def start(launch):
    """A daemon whose configuration has these settings, and a structured session in it."""
    with tempfile.TemporaryDirectory(prefix="cella-chains-") as made:
        folder = pathlib.Path(made)
        folder.chmod(0o755)

        def begin(mode="chain_mode: seq", **members):
            text = CONFIG.replace("MODE", mode.replace("\n", "\n  "))
            daemon = Configured(launch, folder, text)
            session = daemon.client.spawn(explore=True, structured=True, **members)
            for name, program in (("meeting.py", MEETING), ("hangs.py", HANGS)):
                session.exec(f"open('/workspace/{name}', 'w').write({program!r})", structured=False)
            return session

        yield begin


def look(session, code):
    return ast.literal_eval(session.value(code, structured=False))


def log_of(session):
    return session.client.call("GET", f"{session.path}/toolbox/log")["calls"]


@pytest.mark.smoke
def test_calls_are_made_and_their_results_have_names(structured):
    done = structured.exec(READS + "\nTOOL('calculate', expression='1 / 0')")
    assert done.status == "ok"
    first, second, third = done.stdout.removeprefix("Observation:\n").split("\n---\n")
    assert first == "[a]: {'expression': '2 ** 10', 'result': 1024}"
    assert second.startswith("[b]: {'count': 3, 'sum': 6.0,")
    assert third.startswith("[calculate]: [ERROR: 1 / 0: division by zero.")
    assert look(structured, "a['result'], b['mean']") == (1024, 2.0)
    told = done.tool_chains
    assert told["tools"] == ["calculate", "statistics", "calculate"]
    assert (told["caller_type"], told["mode_requested"], told["mode_used"]) == (
        "chain", "seq", "parallel_read_only")
    assert (told["waves"], told["steps"], told["success"]) == (1, 3, False)
    assert (told["fallback_to_seq"], told["parallel_mutations_enabled"]) == (False, False)
    assert len(told["chain_id"]) == 12 and int(told["chain_id"], 16) >= 0
    calls = {call["chain_index"]: call for call in log_of(structured)}
    assert {call["caller_type"] for call in calls.values()} == {"chain"}
    assert {call["chain_id"] for call in calls.values()} == {told["chain_id"]}
    assert [calls[i]["tool_name"] for i in range(3)] == told["tools"]
    assert [calls[i]["success"] for i in range(3)] == [True, True, False]


def test_functions_that_explore_give_what_they_give_to_code(structured):
    structured.exec("open('a.txt', 'w').write('hello\\nworld\\n')", structured=False)
    code = ("p = peek('a.txt')\nq = peek(3, 'a.txt', offset=1)\n"
            "g = grep('WOR', file_path='a.txt')\nbad = grep('(', file_path='a.txt')\n"
            "d = list_dir()\nf = file_info('a.txt')\nn = context_len()\nr = recall('words')\n"
            "found = list_findings()\nc = CALL('{\"name\": \"calculate\", \"args\": "
            "{\"expression\": \"1 + 1\"}}')\nt = tool_call('calculate', {'expression': '-1'})\n"
            "s = run_shell('ls')\nwrong = TOOL('nothing_of_this_name')")
    names = "p, q, g, bad, d, f, n, r, found, c, t, s, wrong"
    done = structured.exec(code.replace("\nwrong = TOOL('nothing_of_this_name')", ""))
    assert not done.tool_chains["fallback_to_seq"]
    planned = structured.value(names.replace(", wrong", ""), structured=False)
    ran = structured.exec(code + "\nif True: pass")
    assert ran.tool_chains["fallback_to_seq"]
    assert structured.value(names.replace(", wrong", ""), structured=False) == planned
    assert look(structured, "p, q, g") == ("hello\nworld\n", "ell", ["1- hello", "2: world"])
    assert structured.value("wrong[:7]", structured=False) == "'[ERROR:'"


def test_a_step_has_what_a_step_before_it_has_found(structured):
    structured.exec("open('a.txt', 'w').write('hello\\nworld\\n')", structured=False)
    done = structured.exec("word = peek(5, 'a.txt')\nlines = grep(word, 'a.txt', 0)\n"
                           "kept = TOOL('json_query', query='.[0][0]', data=[lines, [word]])")
    assert look(structured, "word, lines") == ("hello", ["1: hello"])
    assert "'results': ['1: hello']" in done.stdout
    assert (done.tool_chains["mode_used"], done.tool_chains["waves"]) == ("seq", 3)
    assert log_of(structured)[1]["args"] == \
        '{"pattern":"hello","file_path":"a.txt","context_lines":0}'


def test_names_of_earlier_cells_are_the_interpreters(structured):
    structured.exec("x = '40 + 2'")
    done = structured.exec("y = TOOL('calculate', expression=x)\nz = peek(1)")
    assert done.tool_chains["fallback_to_seq"]
    assert look(structured, "y['result']") == 42


@pytest.mark.parametrize("code", [
    "for i in range(2): TOOL('calculate', expression=str(i))\npeek(1)",
    "print(peek(1), peek(2))",
    "a, b = peek(1), peek(2)",
    "a = [peek(1), peek(2)]",
    "x = peek(1)\ny = x + 'a'\nz = peek(2)",
    "x = peek(*[1])\npeek(2)",
    "x = peek(**{'n': 1})\npeek(2)",
    "peek = peek(1)\nTOOL('calculate', expression='1')",
    "x = peek(1, unheard=2)\npeek(1)",
    "x: str = peek(1)\npeek(1)",
    "if (x := peek(1)): peek(2)",
    "x = peek(10 ** 1)\npeek(1)",
    "name = 'calculate'\nTOOL(name, expression='1')\npeek(1)",
    "x = TOOL('calculate', expression=f'{1}')\npeek(1)",
    "x = peek(1)\n\"\"\"words\"\"\"\npeek(1)",
    "!true\nhere = !pwd\npeek(1)\npeek(1)",
    "x = TOOL('embed_text', text='\\0')\npeek(1)",
    "x = TOOL('calculate', expression='1', variables={1: 2})\npeek(1)",
    "\n".join("peek(1)" for _ in range(65)),
])
def test_other_code_is_run_by_its_interpreter(structured, code):
    done = structured.exec(code)
    told = done.tool_chains
    assert (told["mode_used"], told["fallback_to_seq"], told["waves"]) == ("seq", True, 0)
    assert told["caller_type"] == "chain"
    assert "Observation:" not in done.stdout


def test_calls_of_a_fallback_are_in_the_log_of_their_chain(structured):
    done = structured.exec("for i in range(3):\n    TOOL('calculate', expression=str(i))\n"
                           "kept = TOOL('statistics', values=[1])['mean']")
    told = done.tool_chains
    assert (told["steps"], told["success"], told["tools"]) == (
        4, True, ["calculate", "statistics"])
    assert [(call["tool_name"], call["chain_id"], call["chain_index"])
            for call in log_of(structured)] == [
        (name, told["chain_id"], i) for i, name in enumerate(["calculate"] * 3 + ["statistics"])]
    failed = structured.exec("if True: TOOL('calculate', expression='1 +')\npeek(1)")
    assert not failed.tool_chains["success"]


def test_code_without_tools_is_code(structured):
    for code, status in (("x = 1\nx + 1", "ok"), ("1 +", "error"), ("", "ok"),
                         ("'peek(1) and TOOL(2)' # grep(3)", "ok")):
        done = structured.exec(code)
        assert (done.status, "tool_chains" in done) == (status, False)


# What may not be called.


def refusal(done):
    assert (done.status, done.error.name) == ("error", "ToolChainRefused"), done
    assert "tool_chains" not in done and done.stdout == ""
    return done.error.message


def test_a_tool_that_allows_no_chain_is_called_alone(structured):
    code = "x = peek(1)\nTOOL('write_file', path='kept', content='x')"
    for shape in (code, f"if True:\n    {code.splitlines()[1]}\nx = peek(1)", code + "\nprint(x)",
                  "peek(1)\n" + "CALL('{\"name\": \"write_file\", \"args\": {\"path\": \"kept\", "
                  "\"content\": \"x\"}}')"):
        message = refusal(structured.exec(shape))
        assert "write_file cannot be called beside other tools" in message
        assert "in a cell of its own" in message
    assert look(structured, "__import__('os').path.exists('kept')") is False
    alone = structured.exec(code.splitlines()[1])
    assert (alone.status, alone.tool_chains["caller_type"]) == ("ok", "direct")
    assert look(structured, "open('kept').read()") == "x"
    assert log_of(structured)[-1]["caller_type"] == "direct"


def test_a_tool_that_is_named_late_is_looked_at_when_it_is_called(structured):
    done = structured.exec("name = 'write_file'\nx = TOOL(name, path='kept', content='x')\npeek(1)")
    assert not done.tool_chains["success"]
    assert look(structured, "x").startswith("[ERROR: write_file cannot be called from a chain.")
    assert look(structured, "__import__('os').path.exists('kept')") is False


@pytest.mark.parametrize("code", ["delegate('a task')", "x = peek(1)\nescalate('why')",
                                  "if True:\n    escalate()"])
def test_a_task_is_not_handed_over_within_code(structured, code):
    message = refusal(structured.exec(code))
    assert "cannot be called by structured code. It hands the whole task over" in message


def test_plan_mode_holds_for_planned_calls(client, structured):
    client.call("PUT", f"{structured.path}/plan", {"reason": "look first"})
    with pytest.raises(ApiError, match="plan"):
        structured.exec("file_write_safe('a', 'b')")


def test_who_asks_for_it_is_told_what_it_takes(client, spawn):
    with pytest.raises(ApiError, match="structured\": true is for Python that explores"):
        spawn(structured=True)
    with pytest.raises(ApiError, match="structured\": true is for Python that explores"):
        spawn("node", runtime="node", explore=True, structured=True)
    plain = spawn()
    with pytest.raises(ApiError, match="for cells of Python in sessions that explore"):
        plain.exec("peek(1)", structured=True)
    explores = spawn(explore=True)
    assert "tool_chains" not in explores.exec("peek(1)\npeek(2)")
    assert "tool_chains" in explores.exec("peek(1)\npeek(2)", structured=True)


# What code has changed.


def test_what_code_has_patched_changes_nothing(structured):
    structured.exec("import builtins, sys, os, json, ast\n"
                    "def mine(*a, **k): return 'mine'\n"
                    "for name in ('TOOL', 'peek', 'CALL', 'print', 'compile', 'len', 'str'):\n"
                    "    setattr(builtins, name, mine)\n"
                    "TOOL = peek = mine\n"
                    "ast.parse = json.loads = json.dumps = os.write = mine\n"
                    "sys.stdout = None\n", structured=False)
    done = structured.exec(READS)
    assert done.stdout.startswith("Observation:\n[a]: {'expression': '2 ** 10', 'result': 1024}")
    assert done.tool_chains["mode_used"] == "parallel_read_only"


# Cells as others are.


def test_it_is_a_cell_as_others_are(client, spawn):
    structured = spawn(explore=True, structured=True, checkpoints="every")
    structured.exec("kept = 1", structured=False)
    done = structured.exec(READS, names=None)
    assert done.names.added == ["a", "b"]
    cells = client.call("GET", f"/v1/notebooks/{structured.id}/cells")["cells"]
    assert cells[-1]["code"] == READS
    assert cells[-1]["status"] == "ok"
    client.call("POST", f"{structured.path}/undo", {})
    assert structured.value("'a' in globals(), kept", structured=False) == "(False, 1)"


@pytest.mark.one_mode
def test_four_calls_that_read_meet_and_no_more(start):
    session = start()
    done = session.exec("\n".join(f"r{i} = TOOL('meet', room='four', n=4)" for i in range(4)))
    assert done.tool_chains["mode_used"] == "parallel_read_only"
    assert look(session, "r0, r1, r2, r3") == (4, 4, 4, 4)
    done = session.exec("\n".join(
        f"r{i} = TOOL('meet', room='six', n=5, leaves=True, patience=50)" for i in range(6)))
    assert look(session, "max(r0, r1, r2, r3, r4, r5)") == 4


@pytest.mark.one_mode
def test_calls_one_by_one_if_that_is_set(start):
    session = start("parallel_tools: false")
    done = session.exec("\n".join(
        f"r{i} = TOOL('meet', room='x', n=2, leaves=True, patience=20)" for i in range(3)))
    assert (done.tool_chains["mode_used"], done.tool_chains["waves"]) == ("seq", 3)
    assert look(session, "r0, r1, r2") == (1, 1, 1)


@pytest.mark.one_mode
@pytest.mark.parametrize("setting", ["chain_mode: seq", "chain_mode: dep",
                                  "chain_mode: dep\nparallel_mutations: true"],
                         ids=["seq", "dep", "parallel"])
def test_what_is_read_is_what_was_written_before(start, setting):
    session = start(setting)
    done = session.exec("w = file_write_safe('f.txt', 'new')\nr = TOOL('read_file', path='f.txt')")
    assert look(session, "r") == "new"
    assert done.tool_chains["waves"] == 2
    done = session.exec("r = TOOL('read_file', path='g.txt')\nw = file_write_safe('g.txt', 'new')")
    assert look(session, "r").startswith("[ERROR:")
    assert look(session, "open('g.txt').read()") == "new"
    # Nothing but the name of its result says that the second one has to wait.
    done = session.exec("x = peek(3, 'f.txt')\ny = grep(x, 'f.txt', 0)\nx = peek(2, 'f.txt')\n"
                        "z = grep(x, 'f.txt', 0)\ne = file_info('f.txt')")
    assert look(session, "x, y, z") == ("ne", ["1: new"], ["1: new"])
    dep = setting != "chain_mode: seq"
    assert (done.tool_chains["mode_used"], done.tool_chains["waves"]) == (
        ("dep", 3) if dep else ("seq", 5))


MEETS = """import os, time
open('/workspace/m{n}', 'w').close()
for _ in range(1000):
    if os.path.exists('/workspace/m{other}'):
        break
    time.sleep(0.01)
else:
    raise SystemExit('nobody came')"""


@pytest.mark.one_mode
def test_mutations_meet_only_if_that_is_set(start):
    code = "\n".join(f"r{n} = benchmark_run({MEETS.format(n=n, other=1 - n)!r}, number=1, repeat=1)"
                     for n in range(2))
    session = start("chain_mode: dep\nparallel_mutations: true")
    done = session.exec(code)
    assert (done.tool_chains["waves"], done.tool_chains["mode_used"]) == (1, "dep")
    assert done.tool_chains["parallel_mutations_enabled"] and done.tool_chains["success"], done
    done = session.exec("a = log_append('l.txt', 'one')\nb = log_append('l.txt', 'two')\n"
                        "c = run_python_code('print(1)')\nd = run_python_code('print(2)')\n"
                        "e = run_shell('ls')")
    assert done.tool_chains["waves"] == 5  # one file; what may never meet; and what follows that
    assert look(session, "[l.split()[-1] for l in open('l.txt')]") == ["one", "two"]


@pytest.mark.one_mode
def test_mutations_are_one_after_the_other_else(start):
    session = start("chain_mode: dep")
    done = session.exec("a = run_shell('ls')\nb = run_shell('pwd')\nc = log_append('l', 'x')")
    assert (done.tool_chains["waves"], done.tool_chains["mode_used"]) == (3, "dep")


@pytest.mark.one_mode
def test_legacy_mode_has_no_chains(start):
    session = start("chain_mode: legacy")
    assert session.exec(READS).tool_chains["mode_used"] == "parallel_read_only"
    message = refusal(session.exec("a = run_shell('ls')\nb = peek(1)"))
    assert "run_shell does more than read, and chain_mode is legacy" in message
    assert session.exec("run_shell('ls')").status == "ok"


@pytest.mark.one_mode
def test_the_environment_is_stronger_than_the_file(launch):
    daemon = launch(env={"ORCHESTRATOR_TOOL_CHAIN_MODE": "dep",
                         "ORCHESTRATOR_TOOL_CHAIN_PARALLEL_MUTATIONS": "1"})
    told = daemon.client.spawn(explore=True, structured=True).exec(READS).tool_chains
    assert (told["mode_requested"], told["parallel_mutations_enabled"]) == ("dep", True)


# What hangs.


@pytest.mark.one_mode
def test_an_interrupt_ends_calls_and_keeps_what_is_there(start, eventually):
    session = start()
    code = "a = TOOL('calculate', expression='1 + 1')\nb = TOOL('hang')\nc = TOOL('hang')"
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(session.exec(code)))
    waiting.start()
    eventually(lambda: any(file["path"] == "begun" for file in session.client.call(
        "GET", f"{session.path}/files")["entries"]))
    eventually(lambda: log_of(session) != [])
    session.client.call("POST", f"{session.path}/interrupt")
    waiting.join()
    done = answers[0]
    assert (done.status, done.tool_chains["success"]) == ("interrupted", False)
    assert "[a]: {'expression': '1 + 1', 'result': 2}" in done.stdout
    assert look(session, "a['result'], 'b' in globals()") == (2, False)
    assert session.exec(READS).tool_chains["success"]


@pytest.mark.one_mode
def test_a_cell_has_its_time_and_no_more(start):
    session = start()
    done = session.exec("a = TOOL('hang')\nb = TOOL('hang')", timeout_ms=700)
    assert (done.status, done.error.name) == ("timeout", "TimeLimit")
    assert session.exec(READS).tool_chains["success"]


@pytest.mark.one_mode
def test_a_session_that_ends_ends_its_calls(start, eventually):
    session = start()
    answers = []

    def run():
        try:
            answers.append(session.exec("a = TOOL('hang')\nb = peek(1)"))
        except ApiError as error:
            answers.append(error)

    waiting = threading.Thread(target=run)
    waiting.start()
    eventually(lambda: any(file["path"] == "begun" for file in session.client.call(
        "GET", f"{session.path}/files")["entries"]))
    session.client.call("DELETE", session.path)
    waiting.join()
    assert len(answers) == 1
    other = session.client.spawn(explore=True, structured=True)
    assert other.exec(READS).tool_chains["success"]


def test_searches_of_one_cell_are_planned(structured):
    structured.exec("open('a.py', 'w').write('def find_words(text):\\n    return text\\n')\n"
                    "open('a.md', 'w').write('# Words\\n\\nHow words are found.\\n')",
                    structured=False)
    done = structured.exec("c = code_search('find words')\nd = doc_search('words', limit=2)")
    assert done.tool_chains["mode_used"] == "parallel_read_only"
    assert structured.value("c['results'][0]['file'], d['results'][0]['file']",
                            structured=False) == "('a.py', 'a.md')"


# Tools that the caller answers.

DOUBLE = {"name": "double", "description": "Twice a number.", "read_only": True,
          "parameters": {"n": {"type": "integer", "required": True}}}


def answer(session, asked, **options):
    results = [{"id": one["id"], "result": 2 * one["args"]["n"]} for one in asked["tool_calls"]]
    return session.client.call("POST", f"{session.path}/exec/{asked.number}/tool_results",
                               {"results": results, **options})


def test_calls_that_its_caller_answers_come_together(structured):
    asked = structured.exec("\n".join(f"r{n} = TOOL('double', n={n})" for n in range(3)),
                            tools=[DOUBLE])
    assert [one["args"]["n"] for one in asked["tool_calls"]] == [0, 1, 2]
    done = answer(structured, asked)
    assert done.tool_chains["mode_used"] == "parallel_read_only"
    assert look(structured, "r0, r1, r2") == (0, 2, 4)
    asked = structured.exec("a = TOOL('double', n=1)\nb = TOOL('double', n=a)", tools=[DOUBLE])
    assert len(asked["tool_calls"]) == 1
    asked = answer(structured, asked)
    assert [one["args"]["n"] for one in asked["tool_calls"]] == [2]
    assert answer(structured, asked).tool_chains["waves"] == 2
    assert look(structured, "a, b") == (2, 4)


def test_a_caller_that_does_not_answer_costs_the_cell(client, structured, eventually):
    structured.exec("a = TOOL('calculate', expression='1')\nb = TOOL('double', n=1)",
                    tools=[DOUBLE])
    eventually(lambda: log_of(structured) != [])
    client.call("POST", f"{structured.path}/interrupt")
    assert look(structured, "a['result'], 'b' in globals()") == (1, False)
    late = structured.exec("c = TOOL('double', n=1)\nd = peek(1)", tools=[DOUBLE],
                           tool_deadline_ms=100)
    assert late.status == "tool_call_required"
    assert look(structured, "'c' in globals()") is False
