"""A server of the Model Context Protocol over stdio, as somebody might write one: for tests of who
calls it. Some of its tools do what no server should."""

import json
import os
import sys
import time

TOOLS = {
    "add": ({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
             "required": ["a", "b"]}, {"readOnlyHint": True}),
    "echo": ({"type": "object", "properties": {"text": {"type": "string"}}}, {}),
    "fail": ({"type": "object"}, {}),
    "hang": ({"type": "object"}, {}),
    "die": ({"type": "object"}, {}),
    "flood": ({"type": "object"}, {}),
    "garble": ({"type": "object"}, {}),
    "calculate": ({"type": "object"}, {"readOnlyHint": True}),
    "not a name": ({"type": "object"}, {}),
}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(name, args):
    """The result of a tool, or None if there is none to send."""
    if name == "add":
        return {"content": [], "structuredContent": {"sum": args["a"] + args["b"]}}
    if name == "fail":
        return {"content": [{"type": "text", "text": "it cannot be done"}], "isError": True}
    if name == "hang":
        time.sleep(3600)
    if name == "die":
        os._exit(3)
    if name == "flood":
        for _ in range(2000):
            send({"method": "notifications/message", "params": {}})
    if name == "garble":
        sys.stdout.write("this is no JSON\n")
        sys.stdout.flush()
        return None
    text = args.get("text", os.environ.get("GIVEN", "nothing"))
    return {"content": [{"type": "text", "text": text}]}


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "trial", "version": "1"}}
    if method == "tools/list":
        names = list(TOOLS)
        page = names[:3] if "cursor" not in params else names[3:]
        told = [{"name": name, "description": f"The tool {name}.", "inputSchema": TOOLS[name][0],
                 "annotations": TOOLS[name][1]} for name in page]
        return {"tools": told, **({} if "cursor" in params else {"nextCursor": "more"})}
    return call(params["name"], params.get("arguments", {}))


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message)
            if result is not None:
                send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
