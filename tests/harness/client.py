"""A client of the REST interface: keep-alive, events and raw bytes, standard library only."""

import http.client
import json
import socket
import textwrap
import threading
from urllib.parse import quote, urlencode

from . import shapes
from .host import PATIENCE, eventually


class Result(dict):
    """A JSON object whose members can be read as attributes."""

    def __getattr__(self, name):
        try:
            value = self[name]
        except KeyError:
            raise AttributeError(f"{name} is not in {sorted(self)}") from None
        return value if type(value) is not dict else Result(value)


# What the absence of a member means: answers leave out what is empty (docs/OUTPUTS.md).
EMPTY = {
    **dict.fromkeys(("stdout", "stderr"), ""),
    **dict.fromkeys(("value", "error", "exit_code", "checkpoint", "rolled_back_to", "traceback",
                     "executed_at", "execution_count", "as_of", "plan", "failed_cell_id",
                     "memory_bytes", "files_reason", "reason", "joined", "title"), None),
    **dict.fromkeys(("saved_through", "queued", "last_status", "files_changed",
                     "ended_processes", "dropped", "duration_ms"), 0),
    **dict.fromkeys(("truncated", "busy", "saved", "more", "undone", "debug", "password"), False),
}
EMPTY_LISTS = {"outputs", "added", "changed", "removed", "lost", "not_undone", "cells",
               "rolled_back_cells", "imports", "definitions"}
EMPTY_OBJECTS = {"names", "omitted", "metadata", "files"}


class Answer(Result):
    """An answer, whose absent members read as what their absence means."""

    def __missing__(self, name):
        if name in EMPTY_LISTS:
            return []
        if name in EMPTY_OBJECTS:
            return Answer()
        if name in EMPTY:
            return EMPTY[name]
        raise KeyError(name)


def is_exact(path):
    """Whether answers at this path have a format of their own, in which nothing is left out."""
    return path.partition("?")[0] in ("/v1/repl", "/v1/exec")


class ApiError(Exception):
    """An answer with an HTTP error status: {"error": {"code", "message", "advice"}}."""

    def __init__(self, reply):
        self.reply = reply
        self.status = reply.status
        error = reply.json["error"]
        self.code, self.message = error["code"], error["message"]
        self.advice = error.get("advice", "")
        super().__init__(f"{self.status} {self.code}: {self.message} ({self.advice})")


class Reply:
    """One HTTP response."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client:
    """`address` is (host, port) or the path of a UNIX socket. Each thread has its connection."""

    def __init__(self, address, key=None, timeout=PATIENCE):
        self.address, self.key, self.timeout = address, key, timeout
        self.local = threading.local()

    def headers(self):
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def new_connection(self):
        if isinstance(self.address, tuple):
            return http.client.HTTPConnection(*self.address, timeout=self.timeout)
        return UnixConnection(str(self.address), self.timeout)

    def close(self):
        connection = getattr(self.local, "connection", None)
        if connection:
            connection.close()

    def request(self, method, path, body=None, headers=None):
        """Sends `body` (an object, or bytes as they are) and returns the Reply, whatever it is."""
        fresh = getattr(self.local, "connection", None) is None
        if fresh:
            self.local.connection = self.new_connection()
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        all_headers = self.headers()
        if data is not None:
            all_headers["Content-Type"] = "application/json"
        all_headers.update(headers or {})
        try:
            self.local.connection.request(method, path, data, all_headers)
            response = self.local.connection.getresponse()
            reply = Reply(response.status, response.headers, response.read())
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.local.connection.close()
            self.local.connection = None
            if fresh:
                raise
            return self.request(method, path, body, headers)
        except BaseException:
            self.local.connection.close()
            self.local.connection = None
            raise
        shapes.table().check_reply(method, path, reply)
        return reply

    def call(self, method, path, body=None):
        reply = self.request(method, path, body)
        if reply.status >= 400:
            raise ApiError(reply)
        kind = Result if is_exact(path) else Answer
        return json.loads(reply.body, object_hook=kind)

    def events(self, path, body=None, method="POST"):
        """Yields (name, data) of a stream of server-sent events, as they arrive."""
        connection = self.new_connection()
        headers = {**self.headers(), "Accept": "text/event-stream"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError(Reply(response.status, response.headers, response.read()))
            assert response.headers["Content-Type"].startswith("text/event-stream")
            op = shapes.table().find(method, path)
            for name, event in parse_events(response):
                shapes.table().check_event(op, name, event)
                yield name, event
        finally:
            connection.close()

    # Below HTTP: for what no polite client would send.

    def connect(self):
        if isinstance(self.address, tuple):
            sock = socket.create_connection(self.address)
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(str(self.address))
        sock.settimeout(PATIENCE)
        return sock

    def head(self, method, path, **headers):
        """The start of a request, with host and key, up to and without the empty line."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        lines += [f"{k}: {v}" for k, v in self.headers().items()]
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        return "".join(line + "\r\n" for line in lines).encode()

    def post_bytes(self, path, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.head("POST", path, Content_Length=len(data), **headers) + b"\r\n" + data

    # The sessions.

    def spawn(self, profile="min", **members):
        return Session(self, self.call("POST", "/v1/sessions", {"profile": profile, **members}))

    def sessions(self):
        return self.call("GET", "/v1/sessions?limit=1000").sessions  # dead ones stay for an hour


class Session:
    """One session, as a caller of the REST interface sees it."""

    def __init__(self, client, spawned):
        self.client, self.spawned, self.id = client, spawned, spawned.session_id
        self.path = f"/v1/sessions/{self.id}"

    def exec(self, code, **options):
        return self.client.call("POST", f"{self.path}/exec", {"code": block(code), **options})

    def out(self, code, **options):
        """What a cell that must succeed wrote to stdout."""
        result = self.exec(code, **options)
        assert result.status == "ok", result
        return result["stdout"]

    def value(self, code, **options):
        """The text of the last expression of a cell that must succeed."""
        result = self.exec(code, **options)
        assert result.status == "ok", result
        return result["value"] and result["value"]["text"]

    def fails(self, code, **options):
        """The error of a cell that must fail."""
        result = self.exec(code, **options)
        assert result.status == "error", result
        return result["error"]

    def events(self, code, **options):
        """Yields what a cell's stream tells after its first event, which says which cell it is."""
        events = self.client.events(f"{self.path}/exec", {"code": block(code), **options})
        name, cell = next(events)
        assert name == "cell" and cell["number"] > 0, (name, cell)
        yield from events

    def info(self):
        return self.client.call("GET", self.path)

    def checkpoints(self):
        return self.client.call("GET", f"{self.path}/checkpoints")

    def rest(self):
        """Until the checkpoint after the last cell is complete; its number. A list that is asked
        for before may say "recording"."""

        def look():
            answer = self.checkpoints()
            is_recorded = all(one["files"] != "recording" for one in answer["checkpoints"])
            return answer if answer["cells_since"] == 0 and is_recorded else None

        return eventually(look, "a complete checkpoint")["current"]

    def interrupt(self):
        return self.client.call("POST", f"{self.path}/interrupt", {})["interrupted"]

    def output(self, **query):
        return self.client.call("GET", f"{self.path}/output?{urlencode(query)}")

    def put(self, path, content):
        """Puts a file into the workspace, and returns the Reply."""
        return self.client.request("PUT", f"{self.path}/files/{quote(path)}", content)

    def get(self, path):
        return self.client.request("GET", f"{self.path}/files/{quote(path)}")

    def delete(self, path):
        return self.client.request("DELETE", f"{self.path}/files/{quote(path)}")

    def kill(self):
        return self.client.call("DELETE", self.path)

    def patient(self, seconds):
        """The same session, for a cell that has more to do than a client usually waits for."""
        return Session(Client(self.client.address, self.client.key, seconds), self.spawned)

    def is_alive(self):
        try:
            return self.info().state != "dead"
        except ApiError:
            return False


def block(code):
    """Code that starts on its own line, as in a test's indented text, without the indentation."""
    return textwrap.dedent(code[1:]) if code.startswith("\n") else code


def parse_events(lines):
    """Server-sent events: blocks of `event:` and `data:` lines with an empty line after each."""
    name, data = "message", []
    while line := lines.readline():
        line = line.rstrip(b"\r\n").decode()
        if not line:
            if data:
                yield name, json.loads("\n".join(data), object_hook=Answer)
            name, data = "message", []
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))


def read_reply(file):
    """One response from a socket's file; None at the end of the connection."""
    status_line = file.readline()
    if not status_line:
        return None
    version, status, _ = status_line.decode("latin-1").split(" ", 2)
    assert version == "HTTP/1.1", status_line
    headers = http.client.parse_headers(file)
    if int(status) < 200 or int(status) in (204, 304):
        return Reply(int(status), headers, b"")
    if headers.get("Transfer-Encoding") == "chunked":
        return Reply(int(status), headers, b"".join(read_chunks(file)))
    length = headers.get("Content-Length")
    body = file.read(int(length)) if length is not None else file.read()
    return Reply(int(status), headers, body)


def read_chunks(file):
    while size := int(file.readline().split(b";")[0], 16):
        yield file.read(size)
        assert file.readline() == b"\r\n"
    while file.readline() not in (b"\r\n", b""):
        pass
