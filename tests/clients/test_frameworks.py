"""The client with the real packages of frameworks, and before type checkers. They come from PyPI
and npm, into a folder that stays, so this is for level all."""

import json
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
PACKAGES = ["smolagents", "langchain-core", "openai-agents", "anthropic", "mcp", "mypy", "uv"]
TYPESCRIPT = ["typescript", "@types/node"]
CLAUDE = "@anthropic-ai/claude-code"


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True,
                          timeout=20 * host.PATIENCE, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def python():
    """A Python that has them."""
    wanted, mark = " ".join(PACKAGES), FOLDER / "complete"
    if not mark.exists() or mark.read_text() != wanted:
        run(sys.executable, "-m", "venv", "--clear", FOLDER)
        run(FOLDER / "bin/pip", "install", "--quiet", *PACKAGES)
        mark.write_text(wanted)
    return FOLDER / "bin/python"


@pytest.fixture
def script(python, daemon, tmp_path):
    """Runs code; smolagents wants to read the file that its tools are in."""
    def go(code, *args):
        env = {**os.environ, "PYTHONPATH": str(SOURCE / "clients/python"),
               "CELLA_DATA": str(daemon.data), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        (tmp_path / "script.py").write_text(code)
        return run(python, tmp_path / "script.py", *args, env=env)
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


# The model is ours, and says what it was told to; everything else is the real package.
OPENAI = """
import asyncio, json, os, sys
from agents import Agent, Model, ModelResponse, Runner, Usage
from agents.mcp import MCPServerStdio
from openai.types.responses import (ResponseFunctionToolCall, ResponseOutputMessage,
                                    ResponseOutputText)

class Scripted(Model):
    def __init__(self, cells):
        self.cells, self.n, self.seen = cells, 0, []
    async def get_response(self, system_instructions, input, model_settings, tools, *_, **__):
        self.seen, self.tools = input, [tool.name for tool in tools]
        self.n += 1
        if self.n <= len(self.cells):
            item = ResponseFunctionToolCall(
                type="function_call", name="run", call_id=f"c{self.n}",
                arguments=json.dumps({"code": self.cells[self.n - 1]}))
        else:
            item = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed",
                content=[ResponseOutputText(type="output_text", text="done", annotations=[])])
        return ModelResponse(output=[item], usage=Usage(), response_id=None)
    def stream_response(self, *_, **__):
        raise NotImplementedError

async def main():
    model = Scripted(["x = 20", "x + 1", "1/0"])
    params = {"command": sys.argv[1], "args": ["mcp"],
              "env": {"CELLA_DATA": os.environ["CELLA_DATA"]}}  # which the SDK does not pass on
    async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as cella:
        agent = Agent(name="analyst", mcp_servers=[cella], model=model)
        assert (await Runner.run(agent, "add")).final_output == "done"
    assert model.tools == ["run", "wait", "back", "look", "file"]
    told = [json.dumps(item["output"]) for item in model.seen
            if item.get("type") == "function_call_output"]
    assert len(told) == 3 and "21" in told[1] and "ZeroDivisionError" in told[2], told
    print("ok")

asyncio.run(main())
"""


def test_an_agent_of_openai_has_the_tools_over_mcp(script, daemon):
    assert script(OPENAI, daemon.binary).splitlines()[-1] == "ok"


ANTHROPIC = """
import asyncio, os, sys
from anthropic.lib.tools.mcp import async_mcp_tool
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    # The SDK gives a server HOME and PATH only; without the data directory it starts a daemon.
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"],
                                   env={"CELLA_DATA": os.environ["CELLA_DATA"]})
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = {t.name: async_mcp_tool(t, session) for t in (await session.list_tools()).tools}
        shape = tools["run"].to_dict()
        assert shape["name"] == "run" and shape["input_schema"]["required"] == ["code"]
        await tools["run"].call({"code": "x = 20"})
        assert "21" in str(await tools["run"].call({"code": "x + 1"}))
    print("ok")

asyncio.run(main())
"""


def test_claude_s_sdk_makes_tools_of_ours(script, daemon):
    assert script(ANTHROPIC, daemon.binary).splitlines()[-1] == "ok"


def test_claude_code_connects(daemon, tmp_path):
    """As docs/CONNECT.md says; what it does then needs a model."""
    folder = FOLDER.parent / "claude"
    program = folder / "node_modules" / CLAUDE / "bin/claude.exe"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run("npm", "install", "--prefix", folder, "--no-audit", "--no-fund", CLAUDE)
        run("node", folder / "node_modules" / CLAUDE / "install.cjs")
        (folder / "complete").touch()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CELLA_DATA": str(daemon.data),
           "DISABLE_AUTOUPDATER": "1"}
    run(program, "mcp", "add", "--scope", "user", "cella", "--", daemon.binary, "mcp", env=env)
    assert "Connected" in run(program, "mcp", "get", "cella", env=env)


CALLS = [
    {"id": 1, "method": "initialize",
     "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
    {"id": 2, "method": "tools/call", "params": {"name": "run", "arguments": {"code": "6 * 7"}}},
]


def test_uvx_runs_the_wheel_in_an_empty_environment(python, cella, tmp_path):
    run(sys.executable, SOURCE / "packaging/dist.py", cella, tmp_path / "dist")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (tmp_path / "cella").mkdir()
    (tmp_path / "cella/cella.yaml").write_text("default_profile: min\n")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path),
           "CELLA_DATA": str(tmp_path / "data"), "UV_CACHE_DIR": str(tmp_path / "cache"),
           "UV_PYTHON_DOWNLOADS": "never"}
    uvx = [FOLDER / "bin/uvx", "--from", wheel, "cella"]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **call}) + "\n" for call in CALLS)
    try:
        told = run(*uvx, "mcp", env=env, input=lines).splitlines()
        assert json.loads(told[0])["result"]["serverInfo"]["name"] == "cella"
        assert json.loads(told[1])["result"]["content"][0]["text"].startswith("42")
    finally:
        run(*uvx, "stop", env=env)


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
