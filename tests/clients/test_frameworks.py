"""The client with the real packages of frameworks, and before type checkers. They come from PyPI
and npm, into a folder that stays, so this is for level all."""

import os
import pathlib
import subprocess
import sys

import pytest
from harness import host
from harness.daemon import SOURCE

pytestmark = [pytest.mark.one_mode, pytest.mark.slow]

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
FOLDER = CACHE / "cella-tests/frameworks"
PACKAGES = ["smolagents", "langchain-core", "mypy"]
TYPESCRIPT = ["typescript", "@types/node"]


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True,
                          timeout=20 * host.PATIENCE, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def python():
    """A Python that has them."""
    if not (FOLDER / "complete").exists():
        run(sys.executable, "-m", "venv", "--clear", FOLDER)
        run(FOLDER / "bin/pip", "install", "--quiet", *PACKAGES)
        (FOLDER / "complete").touch()
    return FOLDER / "bin/python"


@pytest.fixture
def script(python, daemon):
    def go(code):
        env = {**os.environ, "PYTHONPATH": str(SOURCE / "clients/python"),
               "CELLA_DATA": str(daemon.data)}
        return run(python, "-c", code, env=env)
    return go


SMOLAGENTS = """
from cella.smolagents import CellaExecutor
from smolagents import CodeAgent, tool
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.local_python_executor import PythonExecutor

@tool
def double(n: int) -> int:
    '''Doubles.

    Args:
        n: a number
    '''
    return 2 * n

class Scripted(Model):
    def __init__(self, steps):
        super().__init__()
        self.steps, self.seen = iter(steps), []
    def generate(self, messages, **_):
        self.seen.append(str(messages))
        code = next(self.steps)
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\\n{code}\\n</code>")

with CellaExecutor(profile="min") as executor:
    assert isinstance(executor, PythonExecutor)
    executor.send_variables({"k": [1, 2]})
    assert executor("print('log')\\nk + [3]").output == "[1, 2, 3]"
    model = Scripted(["x = double(21)\\nprint(x)", "1/0", "final_answer({'x': x, 'k': k})"])
    agent = CodeAgent(tools=[double], model=model, executor=executor, verbosity_level=0)
    assert agent.run("double 21") == {"x": 42, "k": [1, 2]}
    assert "42" in model.seen[1] and "ZeroDivisionError" in model.seen[2]
print("ok")
"""


def test_an_agent_of_smolagents_runs_its_code_in_a_session(script):
    assert script(SMOLAGENTS).splitlines()[-1] == "ok"


LANGCHAIN = """
import asyncio
from cella import Session
from cella.langchain import CellaTool

with Session(profile="min") as session:
    tool = CellaTool(session=session)
    assert list(tool.args) == ["code"]
    tool.invoke({"code": "x = 20"})
    assert tool.invoke({"code": "x + 1"}) == "21"
    assert asyncio.run(tool.ainvoke({"code": "x * 2"})) == "40"
    call = {"type": "tool_call", "name": "run", "args": {"code": "1/0"}, "id": "1"}
    message = tool.invoke(call)
    assert "ZeroDivisionError" in message.content and message.artifact.status == "error"
print("ok")
"""


def test_a_tool_of_langchain_keeps_its_session(script):
    assert script(LANGCHAIN).splitlines()[-1] == "ok"


def test_the_python_client_has_no_error_of_types(python):
    run(python, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir",
        FOLDER / "mypy", "cella", cwd=SOURCE / "clients/python")


TYPED = """
import { ApiError, Client, Session } from "cella";
import type { shapes } from "cella";
const s = new Session({ profile: "min", limits: { memory_mb: 100 } });
const r = await s.run("1 + 1", { timeout: 3, onOutput: (_, text) => console.log(text) });
const text: string | undefined = r.text;
const list: shapes.SessionList = await new Client({ url: "http://x:1", key: "k" }).sessionList();
for await (const event of s.stream("1")) console.log(event.name, event.data);
// @ts-expect-error: there is no such argument
await s.client.sessionExec({ session_id: "x", cod: "1" });
console.log(text, list.count, ApiError.name);
"""


def test_the_types_of_the_javascript_client_are_whole(tmp_path):
    folder = FOLDER.parent / "typescript"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run("npm", "install", "--prefix", folder, "--no-audit", "--no-fund", *TYPESCRIPT)
        (folder / "complete").touch()
    (folder / "use.mts").write_text(TYPED)
    link = folder / "node_modules/cella"
    link.unlink(missing_ok=True)
    link.symlink_to(SOURCE / "clients/js")
    run("node", folder / "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--target",
        "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.asynciterable", "use.mts",
        cwd=folder)
