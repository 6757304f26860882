"""An IPython kernel driven by jupyter_client, told what to do on stdin and answering on stdout, one
line of JSON each. `cella-bench` carries this file inside and runs it with `python3 -c`.

    exec N PAUSE_MS    N cells `1+1`, each after a pause   -> {"ns": [...]}
    import CODE_JSON   runs CODE in the kernel             -> {"pid": of the kernel}
    fresh CODE_JSON    another kernel: from its start to the result of `1+1` after CODE
                                                           -> {"ns": [one]}
    agent SCRIPT_JSON  the cells of agent_cells.json, one after the other
                                                           -> {"ns": [...]}
"""

import json
import sys
import time

import ipykernel
import jupyter_client
from jupyter_client.manager import start_new_kernel

TIMEOUT_SECONDS = 120


def converse(client, code):
    """One cell, until the kernel has answered and is idle again. Returns all that it published, in
    pairs of kind and content, and its reply."""
    request = client.execute(code)
    published, is_idle = [], False
    while not is_idle:
        message = client.get_iopub_msg(timeout=TIMEOUT_SECONDS)
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        published.append((kind, content))
        is_idle = kind == "status" and content["execution_state"] == "idle"
    while True:
        reply = client.get_shell_msg(timeout=TIMEOUT_SECONDS)
        if reply["parent_header"].get("msg_id") == request:
            return published, reply["content"]


def run(client, code):
    """A cell that must succeed. Returns the last value's text."""
    published, reply = converse(client, code)
    if reply["status"] != "ok":
        raise RuntimeError(f"{code[:60]}: {reply.get('evalue')}")
    values = [content["data"]["text/plain"] for kind, content in published
              if kind == "execute_result"]
    return values[-1] if values else None


def timed_two(client):
    began = time.perf_counter_ns()
    value = run(client, "1+1")
    took = time.perf_counter_ns() - began
    if value != "2":
        raise RuntimeError(f"1+1 gave {value}")
    return took


def many(client, count, pause_ms):
    took = []
    for _ in range(count):
        if pause_ms:
            time.sleep(pause_ms / 1000)
        took.append(timed_two(client))
    return took


def fresh(code):
    began = time.perf_counter_ns()
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        run(client, code)
        timed_two(client)
        return time.perf_counter_ns() - began
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def agent(client, script):
    run(client, "%matplotlib inline")
    took = []
    for cell in script["cells"]:
        time.sleep(script["think_ms"] / 1000)
        began = time.perf_counter_ns()
        published, _ = converse(client, cell["code"])
        took.append(time.perf_counter_ns() - began)
        text = json.dumps(published)
        if cell["expect"] not in text:
            raise RuntimeError(f"{cell['code'][:60]}: gave {text[:200]}")
    return took


def answer(manager, client, line):
    verb, _, rest = line.partition(" ")
    if verb == "exec":
        count, pause_ms = map(int, rest.split())
        return {"ns": many(client, count, pause_ms)}
    if verb == "import":
        run(client, json.loads(rest))
        return {"pid": manager.provisioner.pid}
    if verb == "fresh":
        return {"ns": [fresh(json.loads(rest))]}
    if verb == "agent":
        return {"ns": agent(client, json.loads(rest))}
    raise RuntimeError(f"no such command: {verb}")


def say(document):
    print(json.dumps(document), flush=True)


def main():
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        run(client, "1+1")
        say({"ready": f"ipykernel {ipykernel.__version__}, "
                      f"jupyter_client {jupyter_client.__version__}"})
        for line in sys.stdin:
            say(answer(manager, client, line.rstrip("\n")))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


main()
