"""Clients that others made drive one real session: state, a plot, progress and cancellation, input,
a crash, undo, a branch. The official TypeScript clients of both lines, the Python SDK and the
Inspector, over HTTP and over standard input, in the eras that they know."""

import base64
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import host

HERE = pathlib.Path(__file__).resolve().parent
STEPS = ["state", "plot", "progress_and_cancellation", "input", "crash", "undo", "branch", "errors"]
CLIENTS = [("v1", "legacy"), ("v2", "legacy"), ("v2", "modern"), ("python", "legacy"),
           ("python", "modern")]
WAYS = ("http", "stdio")


@pytest.fixture(scope="module")
def drivers(peers, tmp_path_factory):
    """The drivers, in a folder where Node.js finds the packages."""
    folder = tmp_path_factory.mktemp("drivers")
    for file in (HERE / "drivers").iterdir():
        (folder / file.name).symlink_to(file)
    for file in folder.glob("*.mjs"):  # Node.js looks for packages from where a file really is
        text = file.read_text()
        file.unlink()
        file.write_text(text)
    (folder / "node_modules").symlink_to(peers.modules)
    return folder


def target(server, way):
    if way == "http":
        return [f"{server.url}/mcp"]
    return [str(server.binary), "mcp", "--data", str(server.data)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("client,era", CLIENTS)
def test_a_session_by(client, era, way, peers, drivers, server):
    program = ([peers.python, drivers / "client_python.py"] if client == "python" else
               [peers.node, drivers / f"client_{client}.mjs"])
    done = subprocess.run([*map(str, program), era, way, *target(server, way)], text=True,
                          capture_output=True, timeout=host.PATIENCE)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout) == STEPS


class Inspector:
    """Its command line: each call is a process, and a session is known by its name."""

    def __init__(self, peers, server, era, folder):
        self.peers, self.server, self.era = peers, server, era
        self.session, self.heard = f"inspector-{era}", folder / f"{era}-heard"
        self.env = {**os.environ, "MCP_CATALOG_PATH": str(folder / f"{era}.json"),
                    "PATH": f"{peers.node.parent}:{os.environ['PATH']}"}

    def command(self, way, *words):
        where = target(self.server, way)
        words = [*words, "--", *where] if way == "stdio" else [*where, *words]
        return [str(self.peers.node), str(self.peers.inspector), "--cli", "--protocol-era",
                self.era, "--format", "json", "-q", *words]

    def ask(self, way, *words):
        done = subprocess.run(self.command(way, *words), text=True, capture_output=True,
                              env=self.env, timeout=host.PATIENCE)
        assert done.stdout, done.stderr[-4000:]
        return done.returncode, json.loads(done.stdout), done.stderr

    def call(self, way, name, **args):
        args = {"session": self.session, **args}
        _, result, _ = self.ask(way, "--method", "tools/call", "--tool-name", name,
                                "--tool-args-json", json.dumps(args))
        return result.get("result", result)

    def run(self, way, code, **more):
        return self.call(way, "run", code=code, **more)

    def progress(self, code):
        """What was told of progress before the answer. Its command line shows none of it, so that
        the line is listened to on its way."""
        line = shlex.join(target(self.server, "stdio"))
        words = ["sh", "-c", f"{line} | tee {shlex.quote(str(self.heard))}"]
        args = json.dumps({"session": self.session, "code": code})
        command = [*self.command("stdio", "--method", "tools/call", "--tool-name", "run",
                                 "--tool-args-json", args, "--metadata", "progressToken=p")]
        done = subprocess.run([*command[:command.index("--")], "--", *words], text=True,
                              capture_output=True, env=self.env, timeout=host.PATIENCE)
        assert done.returncode == 0, done.stderr[-4000:]
        heard = [json.loads(message) for message in self.heard.read_text().splitlines()]
        return [m["params"] for m in heard if m.get("method") == "notifications/progress"]

    def interrupt(self, way, code):
        """The call of a long cell, ended by Ctrl-C once the cell runs."""
        args = json.dumps({"session": self.session, "code": code})
        process = subprocess.Popen(
            self.command(way, "--method", "tools/call", "--tool-name", "run", "--tool-args-json",
                         args, "--metadata", "progressToken=p"),
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        place = f"/v1/sessions/{self.session}"
        host.eventually(lambda: self.server.client.call("GET", place)["state"] == "busy",
                        "a cell that runs")
        os.killpg(process.pid, signal.SIGINT)
        process.wait(host.PATIENCE)


def text_of(result):
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


def drive(inspector):
    for way in WAYS:
        status, tools, errors = inspector.ask(way, "--method", "tools/list", "--strict")
        assert status == 0, errors
        assert "run" in {tool["name"] for tool in tools.get("result", tools)["tools"]}
    shown = inspector.run("http", "x = 20; plt.plot([1, 4, 9]); plt.show()")
    (image,) = [part for part in shown["content"] if part["type"] == "image"]
    assert base64.b64decode(image["data"])[1:4] == b"PNG"
    assert text_of(inspector.run("stdio", "x += 1; x")).startswith("21")
    assert inspector.run("http", "import os; os._exit(3)")["isError"]
    assert "undid" in text_of(inspector.call("stdio", "back", action="undo"))
    made = text_of(inspector.call("http", "back", action="branch"))
    branch = re.search(r'session="([^"]+)"', made)[1]
    assert text_of(inspector.run("stdio", "x", session=branch)).startswith("20")
    inspector.run("http", "name = input('Your name? ')\nprint('Hello', name)", yield_ms=0)
    assert "Hello Ada" in text_of(inspector.call("stdio", "wait", input="Ada"))
    told = inspector.progress("import time\nfor i in range(5): print('step', i, flush=True); "
                              "time.sleep(0.2)")
    assert told and all(one["progressToken"] == told[0]["progressToken"] for one in told)
    assert told[-1]["message"].startswith("step ")
    assert [one["progress"] for one in told] == sorted({one["progress"] for one in told})
    # A client of the older era that goes away can come back for its answer: no cancellation.
    for way in WAYS if inspector.era == "modern" else ["stdio"]:
        inspector.run(way, "import time; n = 0")
        inspector.interrupt(way, "try: time.sleep(600)\nexcept KeyboardInterrupt: n = 1")
        assert text_of(inspector.run(way, "n")) == "1"
    status, told, _ = inspector.ask("http", "--method", "tools/call", "--tool-name", "run",
                                    "--tool-args-json", json.dumps({
                                        "session": inspector.session, "code": "n"}),
                                    "--load", "--load-requests", "20", "--load-concurrency", "4")
    assert status == 0 and told["result"]["ok"] == told["result"]["requests"] == 20, told
    return True


@pytest.mark.slow  # each of its calls is a Node.js that starts
def test_a_session_by_the_inspector_in_both_eras(peers, server, tmp_path):
    """Each call starts Node.js: the eras at once, over both ways in turns."""
    with ThreadPoolExecutor() as pool:
        results = [pool.submit(drive, Inspector(peers, server, era, tmp_path))
                   for era in ("legacy", "modern")]
        assert [result.result() for result in results] == [True, True]
