"""What the examples of operations are about: "$session" in an example is a session made for it."""

import base64
import io
import itertools
import re
import struct
import tarfile
import zlib
from urllib.parse import quote, urlencode

PREPARED = ("x = 20", "print('hello')", "_ = open('data.txt', 'w').write('1,2\\n')")


class Stage:
    """Makes what placeholders stand for, fresh for each example."""

    numbers = itertools.count()  # names of sessions are given once

    def __init__(self, client):
        self.client = client

    def fill(self, example):
        """The arguments of an example. Placeholders of one example are about the same session."""
        made = {}
        for value in example.values():
            if isinstance(value, str) and value.startswith("$") and value not in made:
                made.update(getattr(self, "make_" + value[1:])(made))
        return {name: made.get(value, value) if isinstance(value, str) else value
                for name, value in example.items()}

    def session(self, *cells):
        session = self.client.spawn()
        for code in cells or PREPARED:
            session.exec(code)
        return session

    def make_session(self, _):
        return {"$session": self.session().id}

    def make_notebook(self, _):
        return {"$notebook": self.session().id}

    def make_name(self, _):
        return {"$name": f"sales-{next(self.numbers)}"}

    def make_undone(self, _):
        session = self.session()
        self.client.call("POST", f"{session.path}/undo", {})
        return {"$undone": session.id}

    def make_explored(self, _):
        session = self.session()
        text = b"12:00 start\n12:05 error: disk full\n12:06 stop\n"
        self.client.call("PUT", f"{session.path}/contexts/context", text)
        self.client.call("POST", f"{session.path}/explore/peek", {"n": 11})
        return {"$explored": session.id}

    def make_memory(self, _):
        session = self.session()
        told = self.client.call("POST", f"{session.path}/explore/outcome", {
            "outcome": "success", "task": "find the first error"})
        return {"$memory": told["memory"]}

    def make_archived(self, made):
        explored = self.make_explored(made)["$explored"]
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            entry = tarfile.TarInfo("today.log")
            text = b"12:05 error: disk full\n"
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
        self.client.request("PUT", f"/v1/sessions/{explored}/files/logs.tar", out.getvalue())
        return {"$archived": explored}

    def make_busy(self, _):
        session = self.session("import time")
        answer = session.exec("time.sleep(600)", yield_ms=0)
        return {"$busy": session.id, "$exec": answer.number}

    def make_waiting(self, _):
        session = self.session("x = 1")
        answer = session.exec("name = input('Your name? '); print('Hello', name)")
        assert answer.status == "input_required", answer
        return {"$waiting": session.id}

    def make_calling(self, _):
        session = self.client.spawn()
        tools = [{"name": "ask", "parameters": {"question": {"type": "string"}}}]
        answer = session.exec("TOOL('ask', question='How many?')", tools=tools)
        assert answer.status == "tool_call_required", answer
        return {"$calling": session.id, "$exec": answer.number}  # and the call is 1.1

    def make_tried(self, _):
        session = self.session()
        answer = self.client.call("POST", f"{session.path}/try", {"code": "x = 99"})
        return {"$tried": session.id, "$try": answer.try_id}

    def make_illustrated(self, _):
        picture = base64.b64encode(png(8, 8)).decode()
        session = self.session(
            f"import base64; from IPython.display import Image, display\n"
            f"display(Image(base64.b64decode('{picture}')))")
        return {"$illustrated": session.id}

    def make_token(self, _):
        answer = self.client.call("POST", "/v1/exec", {
            "code": "open('out.txt', 'w').write('made here')", "profile": "min"})
        token = re.fullmatch(r"/v1/files/([^/]+)/out.txt", answer["files"][0]["url"])[1]
        return {"$token": token}

    def make_state(self, _):
        self.client.call("POST", "/v1/exec", {
            "code": "x = 20", "profile": "min", "state_name": "sales"})
        return {"$state": "sales"}


def request(op, args):
    """(method, path, body) of a call."""
    places = {param["name"]: param["in"] for param in op["params"]}
    path = re.sub(r"{(\w+)}", lambda name: quote(str(args[name[1]]), safe=""), op["path"])
    query = {name: str(value).lower() if isinstance(value, bool) else value
             for name, value in args.items() if places[name] == "query"}
    body = {name: value for name, value in args.items() if places[name] == "body"}
    if "takes_bytes" in op["flags"]:
        body = bytes_for(op)
    elif op["method"] in ("GET", "DELETE"):
        body = None
    return op["method"], path + ("?" + urlencode(query) if query else ""), body


def bytes_for(op):
    """The body of an example that is no JSON: a file, or an archive of one."""
    if "archive" not in op["path"]:
        return b"1,2\n"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("data.txt")
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"1,2\n"))
    return out.getvalue()


def png(width, height):
    """A small grey picture."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + b"\x80" * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0,
                                                              0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

