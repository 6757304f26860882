"""posit-mcp-repl, an MCP server with a Python REPL, spoken to over its standard streams. Told what
to do on stdin and answering on stdout, one line of JSON each, as peer_ipython.py. `cella-bench`
carries this file inside and runs it with `python3 -c`, the path of the server behind it.

    import CODE_JSON   runs CODE in the REPL                              -> {}
    call N             N cells of `1+1`                                   -> {"ns": [...]}
    agent SCRIPT_JSON  the cells of agent_cells.json, one after the other -> {"ns": [...]}
"""

import json
import os
import subprocess
import sys
import time

TIMEOUT_MS = 120_000


class Server:
    def __init__(self, path, sandbox, folder):
        # As its own installer sets it up for a client. Its REPL looks for a virtual environment
        # from the working directory upwards, so that is an empty one; then the first python3 of
        # PATH is taken, which is to be the one that has the libraries.
        self.process = subprocess.Popen(
            [path, "--interpreter", "python", "--sandbox", sandbox,
             "--oversized-output", "files"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
            env={**os.environ, "PATH": "/usr/bin:/bin"})
        self.last_id = 0
        self.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                                "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
        raise RuntimeError("the server ended")

    def call(self, code):
        """One cell, and its answer as MCP has it."""
        arguments = {"input": code + "\n", "timeout_ms": TIMEOUT_MS}
        return self.ask("tools/call", {"name": "repl", "arguments": arguments})

    def run(self, code):
        """One cell; its whole answer as text."""
        return json.dumps(self.call(code))

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


def calls(server, n):
    took = []
    for _ in range(n):
        began = time.perf_counter_ns()
        result = server.call("1+1")
        took.append(time.perf_counter_ns() - began)
        if not any(item.get("text", "").startswith("2") for item in result["content"]):
            raise RuntimeError(f"1+1 gave {result}")
    return took


def agent(server, script):
    # A figure that stays open costs it time in every cell; those of the script before are not ours.
    server.run("import matplotlib.pyplot; matplotlib.pyplot.close('all')")
    took = []
    for cell in script["cells"]:
        time.sleep(script["think_ms"] / 1000)
        began = time.perf_counter_ns()
        text = server.run(cell["code"])
        took.append(time.perf_counter_ns() - began)
        if cell["expect"] not in text:
            raise RuntimeError(f"{cell['code'][:60]}: gave {text[:200]}")
    return took


def answer(server, line):
    verb, _, rest = line.partition(" ")
    if verb == "import":
        text = server.run(json.loads(rest))
        if "Traceback" in text:
            raise RuntimeError(text)
        return {}
    if verb == "call":
        return {"ns": calls(server, int(rest))}
    if verb == "agent":
        return {"ns": agent(server, json.loads(rest))}
    raise RuntimeError(f"no such command: {verb}")


def say(document):
    print(json.dumps(document), flush=True)


def main():
    server = Server(sys.argv[1], "workspace-write", os.environ["TMPDIR"])
    try:
        if '"text": "2' not in server.run("1+1"):
            raise RuntimeError("it does not calculate")
        say({"ready": "posit-mcp-repl"})
        for line in sys.stdin:
            say(answer(server, line.rstrip("\n")))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
