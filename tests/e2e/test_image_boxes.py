"""The processes that scale pictures, as the daemon's machine sees them: none stays, whatever the
picture does and whoever goes away."""

import os
import pathlib
import signal
import socket
import threading
import time

import pytest

from harness import host

pytestmark = [pytest.mark.one_mode, pytest.mark.privilege]

DRAW = """
import os, struct, zlib
from IPython.display import Image, display
def png(width, height, level=1):
    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\\0" + b"\\x40\\x80\\xc0" * width) * height
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(rows, level)) + chunk(b"IEND", b""))
"""


def show(session, code):
    answer = session.exec(f"display(Image({code}, format='png'))", timeout_ms=60_000)
    assert answer.status == "ok", answer
    return answer["outputs"][0]["url"]


def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def boxes(daemon):
    """Pids of the boxes: the children that are this program again."""
    found = []
    for pid in children(daemon.pid):
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"image-box"]:
            found.append(pid)
    return found


def descriptors(pid):
    """What they lead to, without numbers that count up."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}").split(":")[0])
        except OSError:
            pass  # closed meanwhile
    return sorted(name for name in found if not name.endswith("-wal"))  # SQLite opens it at will


@pytest.fixture
def artist(launch):
    daemon = launch(config="default_profile: min\n")
    session = daemon.client.spawn()
    session.exec(DRAW)
    return daemon, session


class Asking(threading.Thread):
    """Asks for a picture; `reply` is there once it has ended."""

    def __init__(self, client, url):
        super().__init__(daemon=True)
        self.client, self.url, self.reply = client, url, None
        self.began = time.monotonic()
        self.start()

    def run(self):
        self.reply = self.client.request("GET", self.url)


def stop_box(daemon, client, url):
    """Asks for it until a box was stopped in the middle of its work."""
    deadline = time.monotonic() + host.PATIENCE
    while time.monotonic() < deadline:
        asking = Asking(client, url)
        while asking.is_alive():
            for pid in boxes(daemon):
                try:
                    os.kill(pid, signal.SIGSTOP)
                except ProcessLookupError:
                    continue
                return asking, pid
        assert asking.reply.status == 200, asking.reply
    raise AssertionError("no box was seen at work")


@pytest.mark.slow
def test_a_box_that_is_stuck_is_killed_after_ten_seconds(artist):
    daemon, session = artist
    url = show(session, "png(6000, 6000)")
    asking = None
    while asking is None or asking.reply.status == 200:  # it was at the end of its work
        asking, pid = stop_box(daemon, daemon.unix_client(), f"{url}?width=100")
        # Others do not wait for it.
        small = f"{show(session, 'png(40, 40)')}?width=10"
        assert daemon.client.request("GET", small).status == 200
        asking.join(host.PATIENCE)
        assert not asking.is_alive()
    assert time.monotonic() - asking.began > 9
    assert asking.reply.status == 408, asking.reply
    assert "within 10 s" in asking.reply.json["error"]["message"]
    assert pid not in children(daemon.pid)


@pytest.mark.slow
@pytest.mark.each_mode
def test_hundreds_of_pictures_leave_nothing_behind(artist):
    daemon, session = artist
    good = show(session, "png(300, 200)")
    large = show(session, "png(3000, 3000)")
    cut = show(session, "png(300, 200, 0)[:4000]")
    wrong = show(session, "(lambda d: d[:3000] + os.urandom(500) + d[3500:])(png(300, 200, 0))")
    rounds = 6 if daemon.is_sanitized else 60

    def ask_all():
        for n in range(rounds):
            assert ask(daemon, f"{good}?width={10 + n}") == 200
            assert ask(daemon, f"{cut}?width=10") == 409
            assert ask(daemon, f"{wrong}?height=10") == 409
            for url in (large, large, good):
                go_away(daemon, f"{url}?width={100 + n}")
        host.eventually(lambda: boxes(daemon) == [] and ask(daemon, f"{good}?width=9") == 200)

    ask_all()
    before = host.at_rest(lambda: (descriptors(daemon.pid), children(daemon.pid)))
    ask_all()
    host.eventually(lambda: (descriptors(daemon.pid), children(daemon.pid)) == before,
                    "what there was before")


def ask(daemon, path):
    """The status; while those who went away are not noticed yet the queue may be full."""
    while (reply := daemon.client.request("GET", path)).status == 429:
        pass
    return reply.status


def go_away(daemon, path):
    """Asks and does not wait, some of them in the middle of the request's answer."""
    with socket.create_connection(daemon.address) as sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {daemon.key()}\r\n\r\n".encode())
