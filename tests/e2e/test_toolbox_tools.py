"""Every tool of the toolbox: what it answers, and what it says of a bad argument. The table below
has a call, what its result must be, and arguments that are refused with words to expect."""

import io
import zipfile

import pytest

from harness.client import ApiError

PICTURE = "⠀"  # a character of braille without dots


def near(wanted, within=1e-6):
    return lambda found: abs(found - wanted) <= within


def has(**members):
    """An object with these members: values, or what is true of them."""
    def check(found):
        return all(holds(found[name], wanted) for name, wanted in members.items())
    return check


def holds(found, wanted):
    return wanted(found) if callable(wanted) else found == wanted


X = {"distribution": "uniform", "low": 0, "high": 1}
TABLE = {"t": [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}]}
NOT_SET = ("unavailable", "is not configured")

# name: arguments, result, bad arguments, words of the refusal
TOOLS = {
    "json_query": ({"query": ".users[] | select(.age > 30) | .name",
                    "data": {"users": [{"name": "Ada", "age": 36}, {"name": "Bo", "age": 5}]}},
                   {"count": 1, "results": ["Ada"]},
                   {"query": ".a |", "data": {}}, "ends too early"),
    "csv_to_json": ({"text": "a,b\n1,x\n2.5,\n"},
                    has(columns=["a", "b"], rows=[{"a": 1, "b": "x"}, {"a": 2.5, "b": None}]),
                    {"text": "a", "delimiter": ";;"}, "args.delimiter must have at most 1"),
    "json_to_csv": ({"data": [{"a": 1, "b": "x,y"}, {"a": None, "c": True}]},
                    'a,b,c\n1,"x,y",\n,,true\n',
                    {"data": [1, 2]}, "no list of objects"),
    "sql_query": ({"query": "SELECT s FROM t WHERE n > ?", "params": [1], "tables": TABLE},
                  {"columns": ["s"], "rows": [["b"]], "count": 1, "truncated": False},
                  {"query": "DELETE FROM t", "tables": TABLE}, "write=True"),
    "plot_braille": ({"y": [1, 4, 9], "width": 10, "height": 3, "title": "up"},
                     lambda text: text.startswith("up\n") and PICTURE in text
                     and len(text.splitlines()) == 5,
                     {"y": []}, "args.y must have at least 1"),
    "plot_function": ({"expression": "x ** 2", "start": 0, "stop": 2, "height": 3},
                      lambda text: "x ** 2" in text and "4 ┤" in text,
                      {"expression": "import os"}, "is no expression"),
    "histogram": ({"values": [1, 2, 2, 3], "bins": 3, "width": 10},
                  lambda text: [line.split()[-1] for line in text.splitlines()] == ["1", "2", "1"],
                  {"values": [1], "bins": 0}, "args.bins must be at least 1"),
    "plot_sixel": ({"y": [1, 2, 3], "width": 12, "height": 12},
                   lambda text: text.startswith("\x1bP0;1q") and text.endswith("\x1b\\"),
                   {"y": [1], "x": [1, 2]}, "x has 2 numbers and y has 1"),
    "render_math": ({"latex": r"\frac{1}{2} + \sqrt{x^2} \leq \alpha_{10}"},
                    has(text="1/2 + √(x²) ≤ α₁₀"), {"latex": "{x"}, "a { has no }"),
    "python_eval": ({"code": "print('hi')\n6 * 7"},
                    {"result": "42", "stdout": "hi\n", "stderr": "", "exit_code": 0},
                    {"code": "while True: pass", "timeout": 0.2}, "was not done within 0.2"),
    "run_python_code": ({"code": "print(input()[::-1])", "stdin_data": "abc"},
                        has(stdout="cba\n", exit_code=0), {"code": ""}, "at least 1 characters"),
    "run_shell": ({"command": "printf 'b\\na\\n' | sort | head -1"},
                  {"output": "a\n", "stderr": "", "exit_code": 0},
                  {"command": "rm -rf x"}, "'rm' is not among the commands"),
    "git_status": ({"path": "repo"}, has(branch="trunk", clean=False,
                                         files=[{"status": "??", "path": "new file"}]),
                   {"path": "no repo"}, "there is no file"),
    "lint_python": ({"code": "import os\ndef f(x=[]):\n    return y == None\n"},
                    lambda told: [one["code"] for one in told["problems"]]
                    == ["unused-import", "mutable-default", "none-comparison", "undefined-name"],
                    {}, "give code or path"),
    "benchmark_run": ({"code": "sum(range(10))", "number": 100, "repeat": 2},
                      has(number=100, repeat=2, best_us=lambda us: us > 0),
                      {"code": "1", "repeat": 1000}, "args.repeat must be at most 20"),
    "calculate": ({"expression": "2 ^ 10 + sqrt(x)", "variables": {"x": 16}},
                  has(result=1028.0), {"expression": "9 ** 9 ** 9"}, "too large"),
    "statistics": ({"values": [1, 2, 3, 4], "percentiles": [50]},
                   has(mean=2.5, median=2.5, q1=1.75, stdev=near(1.2909944487358056),
                       percentiles={"50": 2.5}),
                   {"values": ["a"]}, "args.values[0] must be a number"),
    "monte_carlo": ({"expression": "x + 2", "variables": {"x": X}, "n": 2000, "seed": 1},
                    has(n=2000, mean=near(2.5, 0.05)),
                    {"expression": "x", "variables": {"x": {"distribution": "dice"}}}, "'dice'"),
    "symbolic_solve": ({"equation": "x**2 = 4", "variable": "x"},
                       has(solutions=[{"x": "-2"}, {"x": "2"}]),
                       {"equation": "__import__('os')"}, "there is no function __import__"),
    "math_simplify": ({"expression": "(x**2 - 1) / (x - 1)"},
                      has(simplified="x + 1", steps=lambda steps: steps[-1]["rule"] == "cancel"),
                      {"expression": "x +"}, "is no formula"),
    "matrix_solve": ({"a": [[2, 0], [0, 4]], "b": [2, 4]},
                     {"x": [1.0, 1.0], "residual": 0.0, "method": "exact"},
                     {"a": [[1, 1], [1, 1]], "b": [1, 2]}, "singular"),
    "matrix_eigenvalues": ({"matrix": [[2, 0], [0, 3]]},
                           has(eigenvalues=[3.0, 2.0], determinant=near(6.0)),
                           {"matrix": [[1, 2]]}, "has to be square"),
    "matrix_svd": ({"matrix": [[3, 0], [0, 4]]}, has(singular_values=[4.0, 3.0], rank=2),
                   {"matrix": [[1, 2], [3]]}, "not equally long"),
    "solve_ode": ({"equations": {"x": "-x"}, "initial": {"x": 1}, "t_end": 1, "points": 3},
                  has(t=[0.0, 0.5, 1.0], final=has(x=near(0.36787944, 1e-5))),
                  {"equations": {"x": "x"}, "initial": {"y": 1}, "t_end": 1}, "different names"),
    "optimize": ({"expression": "(x - 1) ** 2 + (y + 2) ** 2", "initial": {"x": 0, "y": 0}},
                 has(x=has(x=near(1, 1e-3), y=near(-2, 1e-3)), converged=True),
                 {"expression": "x", "initial": {"x": 0}, "bounds": {"x": [1]}},
                 "args.bounds.x must have at least 2"),
    "monte_carlo_native": ({"expression": "exp(x)", "variables": {"x": X}, "n": 100000, "seed": 1},
                           has(mean=near(1.71828, 0.01)),
                           {"expression": "1 / (x - x)", "variables": {"x": X}, "n": 10},
                           "not finite"),
    "mcmc": ({"log_density": "-x**2 / 2", "initial": {"x": 0}, "n": 4000, "seed": 1},
             has(parameters=has(x=has(mean=near(0, 0.2), stdev=near(1, 0.2)))),
             {"log_density": "-x", "initial": {"x": 0}, "step": 0}, "args.step must be more than"),
    "bayesopt": ({"expression": "(x - 0.3) ** 2", "bounds": {"x": [0, 1]}, "n": 15, "seed": 1},
                 has(best=has(x=near(0.3, 0.05)), evaluations=15),
                 {"expression": "x", "bounds": {"x": [1, 0]}}, "a bound is empty"),
    "read_file": ({"path": "notes.txt", "offset": 1, "limit": 1}, "two\n",
                  {"path": "/etc/passwd"}, "not below /workspace"),
    "write_file": ({"path": "new/a.txt", "content": "hi"},
                   {"path": "new/a.txt", "bytes": 2, "appended": False},
                   {"path": "new"}, 'needs the member "content"'),
    "file_write_safe": ({"path": "safe.txt", "content": "2"},
                        has(path="safe.txt", bytes=1,
                            backup=lambda path: path.startswith("safe.txt.bak.")),
                        {"path": "../../etc/x", "content": ""}, "not below /workspace"),
    "log_append": ({"path": "run.log", "message": "it\nbegan"},
                   has(line=lambda line: line.endswith("Z INFO it began")),
                   {"path": "repo", "message": "x"}, "is a folder"),
    "list_directory": ({"path": "repo"}, has(path="repo", total=2),
                       {"path": "notes.txt"}, "is no folder"),
    "archive_open": ({"file_path": "data.zip"}, lambda told: "a.txt" in str(told),
                     {"file_path": "notes.txt"}, ""),
    "archive_extract": ({"file_path": "data.zip", "to": "out"}, has(files=1),
                        {"file_path": "none.zip"}, ""),
    "archive_file": ({"file_path": "data.zip", "member": "a.txt"},
                     has(text="first error\nsecond\n"),
                     {"file_path": "data.zip", "member": "b.txt"}, ""),
    "archive_search": ({"file_path": "data.zip", "query": "error"},
                       lambda told: told["hits"][0]["line"] == 1,
                       {"file_path": "data.zip"}, "query"),
    "embed_text": ({"text": "a disk"}, has(dimensions=256, embedding=lambda v: len(v) == 256),
                   {"text": ""}, "at least 1 characters"),
    "similarity_search": ({"query": "disk full", "documents": ["a red car", "the disk is full"],
                           "limit": 1},
                          lambda told: [one["index"] for one in told["results"]] == [1],
                          {"query": "x", "documents": [1]}, "args.documents[0] must be a text"),
    "classify_text": ({"text": "the disk is full", "labels": ["sport", "storage"],
                       "examples": {"storage": ["no space left on the disk"],
                                    "sport": ["the match was won"]}},
                      has(label="storage"), {"text": "x", "labels": []}, "at least 1 entries"),
}
NETWORK = {
    "http_get": ({"url": "https://example.org/"}, "forbidden", "web_domains"),
    "http_post": ({"url": "https://example.org/", "body": 1}, "forbidden", "web_domains"),
    "llm_call": ({"prompt": "x"}, "unavailable", "toolbox: llm:"),
    "llm_batch": ({"prompts": ["x"]}, "unavailable", "toolbox: llm:"),
    "web_search": ({"query": "x"}, *NOT_SET),
    "web_research": ({"query": "x"}, *NOT_SET),
    "fetch_wikipedia": ({"title": "x"}, *NOT_SET),
}


pytestmark = pytest.mark.one_mode
shared = {}  # one session for all tests of a daemon, which ends with that


@pytest.fixture
def tools(daemon, client):
    if shared.get("daemon") is not daemon:
        session = client.spawn()
        fill(session)
        shared.update(daemon=daemon, session=session)
    path = shared["session"].path

    def call(name, args):
        given = {"args": args, "whole": True}
        return client.call("POST", f"{path}/toolbox/{name}", given)["result"]
    return call


def fill(session):
    session.put("notes.txt", b"one\ntwo\nthree\n")
    session.put("safe.txt", b"1")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.txt", "first error\nsecond\n")
    session.put("data.zip", made.getvalue())
    session.exec("import subprocess\n"
                 "subprocess.run(['git', 'init', '-q', '-b', 'trunk', 'repo'], check=True)\n"
                 "open('repo/new file', 'w').close()")


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_answers_and_refuses(tools, name):
    args, wanted, bad, words = TOOLS[name]
    found = tools(name, args)
    assert holds(found, wanted), found
    with pytest.raises(ApiError) as refused:
        tools(name, bad)
    assert words in str(refused.value), str(refused.value)


@pytest.mark.parametrize("name", NETWORK)
def test_the_network_is_refused_with_advice_until_it_is_configured(tools, name):
    args, code, words = NETWORK[name]
    with pytest.raises(ApiError) as refused:
        tools(name, args)
    assert refused.value.code == code
    assert words in str(refused.value) and refused.value.advice


def test_the_table_has_all_tools(client, tools):
    listed = client.call("GET", f"{shared['session'].path}/toolbox")
    assert {tool["name"] for tool in listed["tools"]} == set(TOOLS) | set(NETWORK)
    assert listed["total"] == 47


def test_data_can_lie_in_files_and_databases(tools):
    shared["session"].put("people.csv", b"name,age\nAda,36\nBo,5\n")
    shared["session"].put("p.json", b'{"name": "Ada"}\n{"name": "Bo"}\n')
    assert tools("json_query", {"query": "$[*].name", "path": "p.json"})["results"] == ["Ada", "Bo"]
    asked = {"query": "SELECT name FROM p WHERE age > 30", "files": {"p": "people.csv"}}
    assert tools("sql_query", asked)["rows"] == [["Ada"]]
    made = {"query": "CREATE TABLE kept (n)", "database": "kept.db", "write": True}
    tools("sql_query", made)
    added = tools("sql_query", {**made, "query": "INSERT INTO kept VALUES (1), (2)"})
    assert added["changed"] == 2
    asked = {"query": "SELECT sum(n) FROM kept", "database": "kept.db"}
    assert tools("sql_query", asked)["rows"] == [[3]]
    with pytest.raises(ApiError, match="write=True"):
        tools("sql_query", {"query": "DELETE FROM kept", "database": "kept.db"})
    with pytest.raises(ApiError, match="not authorized|too many attached"):
        tools("sql_query", {"query": "ATTACH '/tmp/other.db' AS other"})
    kept = shared["session"].get("kept.db")
    assert kept.body.startswith(b"SQLite format 3\0")
