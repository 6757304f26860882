#!/usr/bin/python3
"""What work costs a model: twenty tasks, given in one run to three MCP servers over their standard
streams, and counted in tokens of o200k (npm's gpt-tokenizer): the definitions of their tools, what
is asked, what is answered, and how many calls it takes.

  cella    `cella mcp`, the tools `core`
  posit    posit-mcp-repl
  jupyter  jupyter-mcp-server with a JupyterLab

The tasks are made of the cells of ../economy/cells.json. Of definitions name, description and input
schema count; of requests tool and arguments; of answers the text (no pictures). A server without
checkpoints is given the cells again that a crash took from it, as a model would have to.

    make tokens              prints the table
    make tokens UPDATE=1     ... and writes it into docs/ECONOMY.md
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/mcp"), str(HERE.parent / "economy"),
                str(SOURCE / "bench")]

import economy  # noqa: E402
from harness.daemon import Daemon, find_binary  # noqa: E402
from peer_posit import Server as Posit  # noqa: E402
from peers import SERVER, install_peers  # noqa: E402

PAGE = SOURCE / "docs/ECONOMY.md"
BEGIN, END = "<!-- make tokens UPDATE=1 -->\n", "<!-- end of make tokens -->\n"
JUPYTER = ["jupyter-mcp-server==2.2.4", "jupyterlab==4.6.6", "jupyter-collaboration==5.0.4"]
WITHIN_SECONDS = 150
NAMES = ("many names", "names")  # the second is asked as each server can
LOOP = ("import time\ntotal = 0\nfor i in range(20):\n    total += i\n    time.sleep(0.05)\n"
        "    print('batch', i, 'total', total)")

TASKS = {
    "a frame is made": ["imports", "a frame is made", "its shape"],
    "a look at a frame": ["its head", "its types", "its description"],
    "all of a frame": ["all of it", "info"],
    "a wide frame": ["a wide frame"],
    "a column and groups": ["a column", "groups"],
    "an error and its repair": ["a misspelt column", "groups"],
    "an undefined name": ["a division by zero", "an undefined name"],
    "a syntax error": ["a syntax error"],
    "an error in a function": ["an error in a function", "an error that caused another"],
    "a missing module": ["a missing module"],
    "recursion": ["recursion"],
    "forty lines": ["forty lines"],
    "long output": ["five thousand lines", "one long line"],
    "a long list": ["a long list", "an array"],
    "progress bars": ["a progress bar", "a progress bar on stderr"],
    "a long loop": ["a long loop"],
    "a plot": ["a plot"],
    "a file": ["a file is written", "a file is read"],
    "many names": list(NAMES),
    "a crash": ["work before a crash", "a crash", "after the crash"],
}


class Counted:
    """A server, and the requests and answers of its calls."""

    def __init__(self, ask):
        self.ask, self.log = ask, []
        self.tools = [{name: tool[name] for name in ("name", "description", "inputSchema")
                       if name in tool} for tool in ask("tools/list", {})["tools"]]

    def call(self, name, **arguments):
        params = {"name": name, "arguments": arguments}
        result = self.ask("tools/call", params)
        text = "".join(part.get("text", "") for part in result["content"])
        self.log.append((json.dumps(params, ensure_ascii=False), text))

    def take(self):
        log, self.log = self.log, []
        return log


class Cella(Counted):
    def cell(self, cell):
        self.call("run", code=cell["code"])

    def names(self):
        self.call("look")


class PositRepl(Counted):
    def cell(self, cell):
        self.call("repl", input=cell["code"] + "\n")

    def names(self):
        self.call("repl", input="sorted(n for n in globals() if n[0] != '_')\n")

    def recover(self, cells):
        for cell in cells:
            self.cell(cell)


class Jupyter(Counted):
    def cell(self, cell):
        self.call("execute_code", code=cell["code"])

    def names(self):
        self.call("execute_code", code="sorted(n for n in globals() if n[0] != '_')")

    def recover(self, cells):
        self.call("restart_notebook", notebook_name="work")
        for cell in cells:
            self.cell(cell)


# --- the servers ----------------------------------------------------------------------------------


class Stdio(Posit):
    """A server of any command; only the way of speaking is posit's."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, **options)
        self.last_id = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})


def install_jupyter(folder):
    if not (folder / "bin/jupyter-mcp-server").exists():
        # Its kernel finds the libraries of the system, behind its own.
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--system-site-packages", folder],
                       check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check",
                        *JUPYTER], check=True)
    return folder / "bin"


def start_lab(programs, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    work = folder / "work"
    work.mkdir()
    lab = subprocess.Popen(
        [programs / "jupyter-server", "--no-browser", "--allow-root", "--ip=127.0.0.1",
         f"--port={port}", "--IdentityProvider.token=key", f"--ServerApp.root_dir={work}"],
        env={**os.environ, "JUPYTER_DATA_DIR": str(folder / "share"),
             "JUPYTER_CONFIG_DIR": str(folder / "config")},
        cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + WITHIN_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return lab, f"http://127.0.0.1:{port}"
        time.sleep(0.2)
    lab.kill()
    sys.exit("tokens: JupyterLab does not start")


# --- the work -------------------------------------------------------------------------------------


def work_through(server, cells):
    """(requests and answers) of each task, in order."""
    told = {}
    for task, names in TASKS.items():
        for name in names:
            if name == NAMES[1]:
                server.names()
                continue
            server.cell(cells[name])
            if cells[name].get("crash") and hasattr(server, "recover"):
                server.recover([cells[n] for n in ("imports", "a frame is made", "a column",
                                                   "work before a crash")])
        told[task] = server.take()
    return told


def measure_cella(folder, cells):
    daemon = Daemon(find_binary(), folder / "data", config=SERVER["config"])
    try:
        line = Stdio([find_binary(), "mcp", "--data", folder / "data"])
        server = Cella(line.ask)
        found = server.tools, work_through(server, cells)
        line.stop()
    finally:
        daemon.stop()
    return found


def measure_posit(folder, cells):
    (folder / "empty").mkdir()
    line = Posit(economy.install_posit(SOURCE / "build/bench-peers"), "danger-full-access",
                 folder / "empty")
    server = PositRepl(line.ask)
    found = server.tools, work_through(server, cells)
    line.stop()
    return found


def measure_jupyter(folder, cells):
    programs = install_jupyter(SOURCE / "build/jupyter-peer")
    lab, url = start_lab(programs, folder)
    try:
        line = Stdio([programs / "jupyter-mcp-server", "start", "--transport", "stdio"],
                     stderr=subprocess.DEVNULL,
                     env={**os.environ, "JUPYTER_URL": url, "JUPYTER_TOKEN": "key"})
        server = Jupyter(line.ask)
        server.call("use_notebook", notebook_name="work", notebook_path="work.ipynb", mode="create")
        found = server.tools, work_through(server, cells)
        line.stop()
    finally:
        lab.terminate()
        lab.wait(WITHIN_SECONDS)
    return found


SERVERS = {"cella": measure_cella, "posit": measure_posit, "jupyter": measure_jupyter}


def measure(folder, names):
    cells = {cell["name"]: cell for cell in economy.load()["cells"]}
    cells["a long loop"] = {"name": "a long loop", "code": LOOP}
    return {name: SERVERS[name](folder, cells) for name in names}


def weigh(found, count):
    """{server: (tokens of definitions, {task: (calls, of requests, of answers)})}"""
    texts = []
    for tools, told in found.values():
        texts.append(json.dumps(tools, ensure_ascii=False))
        texts += [text for log in told.values() for pair in log for text in pair]
    tokens = iter(count(texts))
    weights = {}
    for name, (tools, told) in found.items():
        definitions = next(tokens)
        tasks = {}
        for task, log in told.items():
            pairs = [(next(tokens), next(tokens)) for _ in log]
            tasks[task] = (len(log), sum(a for a, _ in pairs), sum(b for _, b in pairs))
        weights[name] = (definitions, tasks)
    return weights


def total(weights, name, which):
    return sum(task[which] for task in weights[name][1].values())


def tell(weights):
    titles = {"cella": "Cella", "posit": "posit-mcp-repl", "jupyter": "jupyter-mcp-server"}
    lines = ["| task | " + " | ".join(f"{titles[n]}: calls | asked | answered" for n in weights)
             + " |", "|---|" + "--:|" * 3 * len(weights)]
    for task in TASKS:
        lines.append(f"| {task} | " + " | ".join(
            " | ".join(map(str, weights[n][1][task])) for n in weights) + " |")
    lines.append("| **all** | " + " | ".join(
        " | ".join(str(total(weights, n, i)) for i in range(3)) for n in weights) + " |")
    lines += ["", "| tokens | " + " | ".join(titles[n] for n in weights) + " |",
              "|---|" + "--:|" * len(weights),
              "| definitions of tools | " + " | ".join(str(weights[n][0]) for n in weights) + " |",
              "| all together | " + " | ".join(
                  str(weights[n][0] + total(weights, n, 1) + total(weights, n, 2))
                  for n in weights) + " |"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the page")
    parser.add_argument("--answers", type=pathlib.Path, help="write all answers there, as JSON")
    parser.add_argument("--servers", default=",".join(SERVERS), help="which of them")
    options = parser.parse_args()
    peers = install_peers()
    with tempfile.TemporaryDirectory(prefix="cella-tokens-") as folder:
        found = measure(pathlib.Path(folder), options.servers.split(","))
    if options.answers:
        options.answers.write_text(json.dumps(found, indent=1))
    table = tell(weigh(found, lambda texts: economy.count_tokens(peers.folder, texts)))
    print(table)
    if options.update:
        head, mark, rest = PAGE.read_text().partition(BEGIN)
        _, end, tail = rest.partition(END)
        assert mark and end, f"{PAGE} has no marks"
        PAGE.write_text(head + mark + "\n" + table + "\n" + end + tail)


if __name__ == "__main__":
    main()
