"""A server for sessions, of the standard library only: HTTP as a server should speak it, HTTP as
none should, and a WebSocket that echoes. What it does is decided by the path of the request."""

import base64
import hashlib
import os
import socket
import struct

PORT = 8000

SOURCE = r'''
import asyncio, base64, hashlib, json, struct, sys

async def read_head(reader):
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
    method, path, version = lines[0].split(" ")
    headers = {}
    for line in lines[1:]:
        name, value = line.split(": ", 1)
        headers.setdefault(name.lower(), []).append(value)
    return method, path, headers

async def read_chunks(reader):
    while True:
        size = int(await reader.readline(), 16)
        data = await reader.readexactly(size)
        await reader.readexactly(2)
        if not size:
            return
        yield data

async def body_of(reader, headers):
    if "transfer-encoding" in headers:
        async for data in read_chunks(reader):
            yield data
        return
    left = int(headers.get("content-length", ["0"])[0])
    while left:
        data = await reader.read(min(left, 65536))
        if not data:
            raise EOFError
        left -= len(data)
        yield data

async def frame_of(reader):
    first, second = await reader.readexactly(2)
    size = second & 127
    if size == 126:
        size = struct.unpack(">H", await reader.readexactly(2))[0]
    elif size == 127:
        size = struct.unpack(">Q", await reader.readexactly(8))[0]
    mask = await reader.readexactly(4)
    data = await reader.readexactly(size)
    return first & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(data))

async def websocket(reader, writer, headers):
    key = headers["sec-websocket-key"][0] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    writer.write(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade"
                 f"\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
    while True:
        opcode, data = await frame_of(reader)
        head = bytes([128 | opcode])
        head += bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data))
        writer.write(head + data)
        await writer.drain()
        if opcode == 8:
            return

ODD = {
    "/garbage": b"\x00\xff\x00 not HTTP at all\r\n\r\n" * 10,
    "/huge": b"HTTP/1.1 200 OK\r\nX-Huge: " + b"x" * 100000 + b"\r\n\r\n",
    "/many": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000 + b"\r\n",
    "/folded": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    "/bare": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "/two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello",
    "/both": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "/bad-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "/gzip-framing": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "/unasked": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\n\r\n",
    "/interim": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100,
    "/hints": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
              b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "/status-999": b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n",
    "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "/nothing": b"",
    "/until-close": b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nall there is",
    "/second": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
               b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond",
    "/cookies": b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nClear-Site-Data: \"*\"\r\n"
                b"Keep-Alive: 5\r\nConnection: x-own\r\nX-Own: 1\r\nX-Kept: 2\r\n"
                b"Content-Length: 2\r\n\r\nok",
    "/moved": b"HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 0\r\n\r\n",
    "/elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://example.com/\r\n"
                  b"Content-Length: 0\r\n\r\n",
    "/none": b"HTTP/1.1 204 No Content\r\n\r\n",
}

gates = {}  # /wait/NAME is answered when somebody asks for /open/NAME

async def serve(reader, writer):
    try:
        method, path, headers = await read_head(reader)
        if "upgrade" in headers:
            await websocket(reader, writer, headers)
        elif path in ODD:
            writer.write(ODD[path])
        elif path == "/never":
            print("never", flush=True)
            await asyncio.sleep(3600)
        elif path.startswith("/wait/"):
            await gates.setdefault(path[6:], asyncio.Event()).wait()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nopened")
        elif path.startswith("/open/"):
            gates.setdefault(path[6:], asyncio.Event()).set()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        elif path == "/early":
            writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!")
        elif path == "/events":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for i in range(3):
                writer.write(f"data: {i}\n\n".encode())
                await writer.drain()
                await gates.setdefault(f"event{i}", asyncio.Event()).wait()
        elif path == "/echo":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            async for data in body_of(reader, headers):
                writer.write(b"%x\r\n" % len(data) + data + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
        elif path == "/count":
            total = 0
            async for data in body_of(reader, headers):
                total += len(data)
            text = str(total).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
        elif path.startswith("/bytes/"):
            left = int(path[7:])
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % left)
            while left:
                writer.write(b"x" * min(left, 65536))
                left -= min(left, 65536)
                await writer.drain()
        else:
            body = b"".join([data async for data in body_of(reader, headers)]).decode()
            text = json.dumps([method, path, headers, body]).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(text)}\r\n"
            writer.write(head.encode() + b"\r\n" + (b"" if method == "HEAD" else text))
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, EOFError):
        pass
    finally:
        writer.close()

async def main():
    server = await asyncio.start_server(serve, sys.argv[1], int(sys.argv[2]))
    print("listening", flush=True)
    await server.serve_forever()

asyncio.run(main())
'''


def start(session, host="127.0.0.1", port=PORT):
    """The server above as a process of the session, which a cell left running."""
    assert session.value(
        f"""
import subprocess, sys
open('server.py', 'w').write({SOURCE!r})
server = subprocess.Popen([sys.executable, 'server.py', {host!r}, '{port}'],
                          stdout=subprocess.PIPE, text=True)
server.stdout.readline()
""".strip()) == "'listening\\n'"


class WebSocket:
    """A client: the handshake, and frames with a mask."""

    def __init__(self, address, path, headers, timeout):
        self.sock = socket.create_connection(address, timeout) if isinstance(address, tuple) else \
            self.unix(address, timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: Upgrade",
                 "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
                 *(f"{name}: {value}" for name, value in headers.items())]
        self.sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        self.input = self.sock.makefile("rb")
        self.status = int(self.input.readline().split()[1])
        self.headers = {}
        while (line := self.input.readline().strip()):
            name, value = line.decode("latin-1").split(": ", 1)
            self.headers[name.lower()] = value
        if self.status == 101:
            accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            assert self.headers["sec-websocket-accept"] == base64.b64encode(accept).decode()

    @staticmethod
    def unix(path, timeout):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(timeout)
        sock.connect(str(path))
        return sock

    def send(self, data, opcode=2, is_last=True):
        self.sock.sendall(frame(data, opcode, is_last))

    def receive(self):
        """(opcode, data) of the next frame; None at the end."""
        head = self.input.read(2)
        if len(head) < 2:
            return None
        size = head[1] & 127
        if size == 126:
            size = struct.unpack(">H", self.input.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.input.read(8))[0]
        return head[0] & 15, self.input.read(size)

    def close(self):
        self.input.close()
        self.sock.close()


def frame(data, opcode=2, is_last=True, mask=b"\x01\x02\x03\x04"):
    head = bytes([(128 if is_last else 0) | opcode])
    if len(data) < 126:
        head += bytes([128 | len(data)])
    elif len(data) < 65536:
        head += bytes([128 | 126]) + struct.pack(">H", len(data))
    else:
        head += bytes([128 | 127]) + struct.pack(">Q", len(data))
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data))
