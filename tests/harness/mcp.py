"""A small client of the Model Context Protocol: both eras, over HTTP and standard input."""

import base64
import collections
import http.client
import itertools
import json
import os
import select
import socket
import subprocess

from . import host

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
         "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}
TASKS = {"extensions": {META + "tasks": {}}}

Answer = collections.namedtuple("Answer", "status headers messages")


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error, status=200):
        super().__init__(error["message"])
        self.code, self.data, self.status = error["code"], error.get("data"), status


def text_of(result):
    return "\n".join(item["text"] for item in result["content"] if item["type"] == "text")


def events(response):
    """The events of a stream as they come: (id, message or None)."""
    event_id, data = None, None
    while line := response.readline():
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "id":
            event_id = value
        elif field.rstrip(":") == "data":
            data = value
        elif not field and data is not None:
            yield event_id, json.loads(data) if data else None
            event_id, data = None, None


class Http:
    """Requests of either era to /mcp, each on a connection of its own."""

    ids = itertools.count(1)

    def __init__(self, daemon, path="/mcp", agent=None):
        self.address, self.path = daemon.address, path
        self.headers = {"Authorization": f"Bearer {daemon.key()}",
                        "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream"}
        if agent:
            self.headers["Cella-Agent"] = agent

    def open(self, body=None, headers=None, method="POST"):
        """(connection, response): the caller closes the connection."""
        connection = http.client.HTTPConnection(*self.address, timeout=host.PATIENCE)
        if not isinstance(body, (str, bytes, type(None))):
            body = json.dumps(body)
        merged = {k: v for k, v in {**self.headers, **(headers or {})}.items() if v is not None}
        connection.request(method, self.path, body, merged)
        return connection, connection.getresponse()

    def send(self, body=None, headers=None, method="POST"):
        connection, response = self.open(body, headers, method)
        try:
            if response.headers.get_content_type() == "text/event-stream":
                messages = [message for _, message in events(response) if message]
            else:
                raw = response.read()
                messages = [json.loads(raw)] if raw else []
            return Answer(response.status, response.headers, messages)
        finally:
            connection.close()


def result_of(answer):
    """The result in the last message of an answer."""
    last = answer.messages[-1]
    if "error" in last:
        raise Refused(last["error"], answer.status)
    return last["result"]


def modern(method, params=None, capabilities=None, request_id=1, **meta):
    """(message, headers) of a request that stands for itself."""
    params = {**(params or {}), "_meta": {
        META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {}, **meta}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if method in NAMES and NAMES[method] in params:
        name = str(params[NAMES[method]])
        is_plain = name.isascii() and name.strip() == name
        headers["Mcp-Name"] = name if is_plain else (
            f"=?base64?{base64.b64encode(name.encode(errors='replace')).decode()}?=")
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}, headers


class Modern(Http):
    """A client that says with each request who it is."""

    def __init__(self, daemon, capabilities=None, **more):
        super().__init__(daemon, **more)
        self.capabilities = capabilities or {}

    def ask(self, method, params=None, **meta):
        message, headers = modern(method, params, self.capabilities, next(self.ids), **meta)
        return self.send(message, headers)

    def request(self, method, params=None, **meta):
        return result_of(self.ask(method, params, **meta))

    def call(self, tool, arguments=None, **more):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}, **more})

    def listen(self, **notifications):
        """(connection, iterator of messages) of a subscription."""
        message, headers = modern("subscriptions/listen", {"notifications": notifications})
        connection, response = self.open(message, headers)
        return connection, (message for _, message in events(response) if message)


class Legacy(Http):
    """A client with a session."""

    def __init__(self, daemon, capabilities=None, version=LEGACY, **more):
        super().__init__(daemon, **more)
        answer = self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "tests", "version": "1"}}})
        self.server = result_of(answer)
        self.headers |= {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"],
                         "MCP-Protocol-Version": self.server["protocolVersion"]}
        assert self.notify("notifications/initialized").status == 202

    def notify(self, method, params=None):
        return self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def ask(self, method, params=None):
        return self.send({"jsonrpc": "2.0", "id": next(self.ids), "method": method,
                          "params": params or {}})

    def request(self, method, params=None):
        return result_of(self.ask(method, params))

    def call(self, tool, arguments=None, **more):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}, **more})

    def stream(self, last_event=None):
        """(connection, iterator of (id, message)) of what the server says by itself, or of the
        rest of a stream."""
        headers = {"Last-Event-ID": last_event} if last_event else {}
        connection, response = self.open(None, headers, "GET")
        assert response.status == 200, response.read()
        return connection, events(response)


def open_line(daemon):
    """The connection that `cella mcp` has to the daemon: a socket that does not wait."""
    wire = socket.create_connection(daemon.address)
    wire.sendall(f"GET /mcp/stdio HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
                 f"Upgrade: cella-mcp\r\nAuthorization: Bearer {daemon.key()}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += wire.recv(1)
    assert head.startswith(b"HTTP/1.1 101 "), head
    wire.setblocking(False)
    return wire


class Stdio:
    """`cella mcp`: a line for each message. Answers a question with what `on_question` gives."""

    def __init__(self, daemon, *args, on_question=None, env=None):
        self.process = subprocess.Popen(
            [str(daemon.binary), "mcp", "--data", str(daemon.data), *args], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.ids, self.seen, self.on_question = itertools.count(1), [], on_question
        self.unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """The status; there is nothing to say any more."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(host.PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def write(self, message):
        line = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(line + "\n")

    def read(self):
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], host.PATIENCE)
            assert ready, "no answer"
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            assert piece, f"it has ended: {self.process.stderr.read()}"
            self.unread += piece
        line, _, self.unread = self.unread.partition(b"\n")
        return json.loads(line)

    def answer_to(self, request_id):
        """The message with this id; what comes before it is in `seen`."""
        while True:
            message = self.read()
            if message.get("id") == request_id and "method" not in message:
                return message
            self.seen.append(message)
            if "method" in message and "id" in message:
                self.write({"jsonrpc": "2.0", "id": message["id"],
                            "result": self.on_question(message)})

    def request(self, method, params=None):
        request_id = next(self.ids)
        self.write({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})
        return result_of(Answer(200, {}, [self.answer_to(request_id)]))

    def initialize(self, capabilities=None, version=LEGACY):
        server = self.request("initialize", {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "tests", "version": "1"}})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return server

    def modern(self, method, params=None, capabilities=None, **meta):
        message, _ = modern(method, params, capabilities, next(self.ids), **meta)
        self.write(message)
        return result_of(Answer(200, {}, [self.answer_to(message["id"])]))

    def call(self, tool, arguments=None, **more):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}, **more})
