"""Every surface that is made from the table of operations, operation by operation."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from harness import host, shapes
from harness.client import Client
from harness.daemon import find_binary
from harness.stage import Stage, bytes_for, request

pytestmark = pytest.mark.one_mode

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TABLE = shapes.table()
# Streams, and what needs a server in the session or another protocol, have tests of their own.
CALLED = [op for op in TABLE.operations
          if "only_streams" not in op["flags"] and "/ports/" not in op["path"]
          and op["name"] != "session.terminal"
          and not op["name"].startswith("oauth.")  # test_auth_jwt.py: they need issuers
          and op["name"] != "explore.web_fetch"]  # test_explore.py: it needs domains

names = [op["name"] for op in CALLED]
with_verbs = [op["name"] for op in CALLED if "verb" in op]


@pytest.fixture
def stage(client):
    return Stage(client)


@pytest.fixture
def anonymous(daemon):
    return Client(daemon.address)


@pytest.fixture
def typed(daemon):
    def run(*words, stdin=None):
        return subprocess.run([find_binary(), *words, "--data", daemon.data], input=stdin,
                              capture_output=True)
    return run


def is_failure(op, told):
    return f"{op['name']}: {told!r:.300}"


@pytest.fixture(scope="module")
def answered():
    """What operations answered to their examples, by their names."""
    return {}


@pytest.mark.smoke
def test_every_operation_answers_its_example_over_http(client, stage, answered):
    """What it answers is held against its shape by the client."""
    for op in CALLED:
        reply = client.request(*request(op, stage.fill(op["example"])))
        assert reply.status in op["statuses"], is_failure(op, reply)
        answered[op["name"]] = reply


@pytest.mark.smoke
@pytest.mark.slow
def test_every_operation_can_be_called_from_the_command_line(typed, stage):
    for op in CALLED:
        args = stage.fill(op["example"])
        pairs = [f"{name}={value if isinstance(value, str) else json.dumps(value)}"
                 for name, value in args.items()]
        extra = ["--file", "-"] if "takes_bytes" in op["flags"] else []
        done = typed("call", op["name"], *pairs, *extra, stdin=bytes_for(op))
        assert done.returncode == 0, is_failure(op, done)
        if "sends" in op:
            assert done.stdout, is_failure(op, done)
        else:
            TABLE.check_result(op, json.loads(done.stdout), op["name"])


def test_every_verb_of_an_operation_works(typed, stage):
    """Once for programs, once for people."""
    for op in (TABLE.by_name[name] for name in with_verbs):
        for more in (["--json"], []):
            done = typed(*command_line(op, stage.fill(op["example"])), *more)
            assert done.returncode == 0, is_failure(op, done)
            if more and done.stdout:
                TABLE.check_result(op, json.loads(done.stdout), op["name"])


def command_line(op, args):
    """`cella WORDS TAKES... --FLAG VALUE...` for an example."""
    taken = [name.rstrip("?.") for name in op["verb"].get("takes", [])]
    words = op["verb"]["words"].split() + [str(args[name]) for name in taken if name in args]
    for name, value in args.items():
        if name in taken:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(value if isinstance(value, str) else json.dumps(value))
    return words


def test_events_come_through_http_and_the_command_line(client, typed, stage, daemon):
    op = TABLE.by_name["notebook.events"]
    args = stage.fill(op["example"])
    watching = subprocess.Popen([find_binary(), "call", op["name"],
                                 f"session_id={args['session_id']}", "--data", daemon.data],
                                stdout=subprocess.PIPE)
    assert json.loads(watching.stdout.readline())["event"] == "watching"
    client.call("DELETE", f"/v1/notebooks/{args['session_id']}")
    events = [json.loads(line)["event"] for line in watching.stdout]
    assert watching.wait() == 0 and "deleted" in events


@pytest.mark.smoke
def test_what_cannot_be_called_is_told_with_advice(typed):
    done = typed("call", "session.exce")
    assert done.returncode == 64 and b"session.exec" in done.stderr
    done = typed("call", "session.exec", "cod=1")
    assert done.returncode == 64 and b"code" in done.stderr
    done = typed("call", "session.undo", "to=x")
    assert done.returncode == 64 and b"takes a number" in done.stderr
    assert b"session.exec" in typed("call").stdout


@pytest.mark.smoke
def test_cella_alone_says_what_it_is_and_what_to_try():
    done = subprocess.run([find_binary()], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("\n  cella ") == 3


# The API described.


@pytest.mark.smoke
def test_the_index_and_the_description_need_no_key(anonymous):
    for path in ("/", "/v1"):
        index = anonymous.call("GET", path)
        assert [op["name"] for op in index["operations"]] == [op["name"] for op in TABLE.operations]
    for kind in ("text/html", "text/plain"):  # for people
        page = anonymous.request("GET", "/", None, {"Accept": f"{kind}, */*;q=0.5"})
        assert page.status == 200 and page.headers["Content-Type"] == f"{kind}; charset=utf-8"
        assert all(word in page.body.decode() for word in ("cella repl", "/v1", "/openapi.json"))
    described = anonymous.call("GET", "/openapi.json")
    ids = [op["operationId"] for methods in described["paths"].values() for op in methods.values()]
    assert sorted(ids) == sorted(op["name"] for op in TABLE.operations)


@pytest.fixture(scope="session")
def validators():
    """The environment of a Python that has the validator of OpenAPI's own people."""
    folder = SOURCE / "build-test" / "openapi-validator"
    wanted = ["openapi-spec-validator==0.7.1"]
    if not (folder / "complete").exists():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-compile",
                               "--target", folder, *wanted], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.fail(f"{wanted} cannot be had from PyPI: {done.stderr[-300:]}")
        (folder / "complete").touch()
    return {**os.environ, "PYTHONPATH": str(folder)}


VALIDATE = """
import json, sys
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
told = json.load(sys.stdin)
OpenAPIV31SpecValidator(told["api"]).validate()
for name, schema, value in told["answers"]:
    whole = {"$ref": "#/components/schemas/" + schema, "components": told["api"]["components"]}
    for error in Draft202012Validator(whole).iter_errors(value):
        sys.exit(f"{name}: {error.message} at {list(error.path)}")
print(len(told["answers"]))
"""


@pytest.mark.slow
def test_openapi_is_valid_and_answers_are_what_it_says(client, answered, validators):
    api = client.call("GET", "/openapi.json")
    answers = [(name, TABLE.by_name[name]["result"], reply.json)
               for name, reply in answered.items()
               if "result" in TABLE.by_name[name] and "other_result" not in TABLE.by_name[name]]
    done = subprocess.run([sys.executable, "-c", VALIDATE], capture_output=True, text=True,
                          env=validators, input=json.dumps({"api": api, "answers": answers}))
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) == len(answers)


# Pages and completions.


@pytest.mark.smoke
def test_nothing_that_is_made_from_the_tables_is_stale():
    done = subprocess.run([sys.executable, SOURCE / "packaging/pages.py", "--check"],
                          capture_output=True, text=True,
                          env={**os.environ, "CELLA": str(find_binary())})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_manual_renders_without_warnings():
    done = subprocess.run(["man", "--warnings", "-l", SOURCE / "docs/man/cella.1"],
                          capture_output=True, text=True, env={**os.environ, "MANWIDTH": "100"})
    assert done.returncode == 0 and done.stderr == ""
    dumped = subprocess.run([find_binary(), "--dump", "verbs"], capture_output=True)
    told = json.loads(dumped.stdout)
    for verb in told["verbs"]:
        assert verb["name"].split()[0] in done.stdout


COMPLETED = [  # what is typed, and what must be among the completions of it
    ("cella und", {"undo"}),
    ("cella undo --t", {"--to"}),
    ("cella notebook ", {"list", "rm", "show"}),
    ("cella state ", {"list", "show", "rm"}),
    ("cella exec --runtime ", {"python", "node", "bash"}),
    ("cella ps --sort ", {"used", "memory", "name"}),
    ("cella undo ", {"$session"}),
    ("cella call session.und", {"session.undo"}),
]

BASH = """
source {script}
COMP_WORDS=({words} {last}) COMP_CWORD={count}
_cella; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete_in_bash(line, env):
    *words, last = line.split(" ")
    script = BASH.format(script=SOURCE / "packaging/completions/cella.bash", words=" ".join(words),
                         last=f"'{last}'", count=len(words))
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env).stdout


def complete_in_fish(line, env):
    script = f"source {SOURCE}/packaging/completions/cella.fish; complete -C {json.dumps(line)}"
    return subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True,
                          env=env).stdout


def complete_in_zsh(lines, env, folder):
    """For all lines: one zsh, whose start takes longest."""
    (folder / "_cella").symlink_to(SOURCE / "packaging/completions/cella.zsh")
    driver = SOURCE / "tests/harness/complete.zsh"
    done = subprocess.run(["zsh", "-f", driver, folder, *lines], capture_output=True, text=True,
                          env=env, timeout=host.PATIENCE)
    return done.stdout.split("<found>")[1:]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_verbs_flags_and_ids(shell, session, daemon, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cella").symlink_to(find_binary())
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "CELLA_DATA": str(daemon.data),
           "HOME": str(tmp_path), "TERM": "xterm"}
    lines = [line for line, _ in COMPLETED]
    if shell == "zsh":
        told = complete_in_zsh(lines, env, tmp_path)
    else:
        complete = complete_in_bash if shell == "bash" else complete_in_fish
        told = [complete(line, env) for line in lines]
    assert len(told) == len(COMPLETED)
    for (line, wanted), text in zip(COMPLETED, told):
        wanted = {session.id if word == "$session" else word for word in wanted}
        found = set(text.replace("\t", "\n").replace("\r", "").split("\n"))
        found |= {word.split(":")[0] for word in found}
        assert wanted <= found, (shell, line, text[-600:])
