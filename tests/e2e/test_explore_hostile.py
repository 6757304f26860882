"""Archives, PDFs, pages and texts that were made to harm who reads them: each is a clear error, the
session lives, and nothing outside of it is touched."""

import ast
import http.server
import io
import struct
import tarfile
import threading
import zipfile
import zlib

import pytest

from harness import host, pdf

HURRIED = {"CELLA_TEST_TIME_SCALE": "0.05"}  # 1.5 s for what has 30


@pytest.fixture
def explorer(spawn):
    session = spawn(explore=True)
    session.client.call("PUT", f"{session.path}/contexts/context", b"the text")
    yield session
    assert session.value("peek(3)") == "'the'"


def look(session, code):
    return ast.literal_eval(session.value(code))


def tar(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind, link in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, link
            archive.addfile(entry, io.BytesIO())
    return out.getvalue()


def million_of_7z(n=1_000_000):
    """Empty files, all of the same name: four bytes and two bits for each."""
    def number(value):
        return b"\xf0" + struct.pack("<I", value)

    bits = number(n // 8) + b"\xff" * (n // 8)
    header = (b"\x01\x05" + number(n) + b"\x0e" + bits + b"\x0f" + bits
              + b"\x11" + number(1 + 4 * n) + b"\0" + b"a\0\0\0" * n + b"\0\0")
    start = struct.pack("<QQI", 0, len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<I", zlib.crc32(start)) + start + header


def test_a_zip_bomb_is_not_unpacked(explorer):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"0" * (50 << 20))
    explorer.put("bomb.zip", out.getvalue())
    for code in ("archive_search('x', 'bomb.zip')", "archive_file('a', 'bomb.zip')",
                 "archive_extract('bomb.zip', 'out')"):
        assert "100 times its size" in explorer.value(code)
    assert explorer.value("__import__('os').path.exists('out/a')") == "False"


def test_names_and_links_that_lead_out_are_left_alone(daemon, explorer):
    explorer.put("bad.tar", tar(
        ("../../evil-name", tarfile.REGTYPE, ""), ("/evil-name", tarfile.REGTYPE, ""),
        ("ok.txt", tarfile.REGTYPE, ""), ("link", tarfile.SYMTYPE, "/etc/passwd"),
        ("link/evil-name", tarfile.REGTYPE, ""), ("hard", tarfile.LNKTYPE, "../../etc/passwd")))
    told = look(explorer, "archive_extract('bad.tar', 'out')")
    assert told["files"] == 2 and len(told["left_out"]) == 4
    assert explorer.value("sorted(__import__('os').listdir('out'))") == "['link', 'ok.txt']"
    assert explorer.value("__import__('os').listdir('out/link')") == "['evil-name']"
    assert [path.parent.name for path in daemon.data.rglob("evil-name")] in ([], ["link"])
    assert not [folder for folder in daemon.data.parents if (folder / "evil-name").exists()]
    assert explorer.value("[p for p in ('/evil-name', '/workspace/evil-name', '/etc/evil-name',"
                          " '/tmp/evil-name') if __import__('os').path.exists(p)]") == "[]"
    assert "not followed" in explorer.value("archive_file('hard', 'bad.tar')")


@pytest.mark.one_mode
def test_what_is_no_archive_is_told(explorer):
    assert "archive_open(path)" in explorer.exec("archive_file('link')").error.message
    explorer.put("no.zip", b"this is no archive")
    assert explorer.value("archive_open('no.zip')").startswith("'[ERROR: ")


@pytest.mark.one_mode
def test_a_7z_of_a_million_entries_is_refused(explorer):
    explorer.put("many.7z", million_of_7z())
    for code in ("archive_open('many.7z')", "archive_extract('many.7z', 'out')"):
        assert "more than 1000 files" in explorer.value(code)


@pytest.mark.one_mode
def test_a_pdf_that_no_reader_ends_is_given_up(launch):
    session = launch(config="default_profile: min\n", env=HURRIED).client.spawn(explore=True)
    session.put("laughs.pdf", pdf.laughs())
    assert "the PDF was not read within 30 s" in session.value("peek(file_path='laughs.pdf')")
    session.put("paper.pdf", pdf.page("BT /F1 12 Tf 72 720 Td (Hello) Tj ET"))
    assert "Hello" in session.value("peek(file_path='paper.pdf')")


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        try:
            while self.path == "/endless":
                self.wfile.write(b"again and " * 10_000)
        except OSError:
            return
        self.server.is_over.wait(host.PATIENCE)  # /slow

    def log_message(self, *_):
        pass


@pytest.fixture
def pages():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        server.is_over = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.is_over.set()
        server.shutdown()


@pytest.mark.one_mode
def test_pages_that_never_end_or_lead_away(launch, pages):
    config = f"default_profile: min\nexplore:\n  web_domains: ['{pages}']\n"
    session = launch(config=config, env=HURRIED).client.spawn(explore=True)
    for path, message in (("endless", "the page has more than 10 MiB"),
                          ("slow", "the page was not read within 30 s"),
                          ("away", "169.254.169.254")):
        assert message in session.value(f"web_fetch('http://{pages}/{path}')")
        refused = session.client.request("POST", f"{session.path}/contexts",
                                         {"url": f"http://{pages}/{path}"})
        assert message in refused.json["error"]["message"]
    assert session.client.call("GET", f"{session.path}/contexts")["contexts"] == []


@pytest.mark.one_mode
def test_a_redirection_to_a_name_that_is_private_goes_nowhere(launch):
    """The second server is named by a list that does not have its address."""
    asked = []

    class Hidden(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)

    class Leading(Pages):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", f"http://{self.path[1:]}/secret")
            self.end_headers()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hidden) as hidden, \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Leading) as leading:
        for server in (hidden, leading):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        first, name = f"127.0.0.1:{leading.server_port}", f"localhost:{hidden.server_port}"
        config = f"default_profile: min\nexplore:\n  web_domains: ['{first}', '{name}']\n"
        session = launch(config=config).client.spawn(explore=True)
        private = "127.0.0.1, which is no address of the public Internet"
        for to, told in ((name, private), (f"127.0.0.1:{hidden.server_port}", "not among"),
                         ("metadata.google.internal", "not among")):
            answer = session.value(f"web_fetch('http://{first}/{to}')")
            assert "[ERROR: " in answer and told in answer, answer
        assert private in session.value(f"web_fetch('http://{name}/')")
        for server in (hidden, leading):
            server.shutdown()
    assert asked == []


SHRINKS = """
import os, threading
is_over = False
open('text', 'wb').close()  # it is there before the thread begins
def shrink():
    with open('text', 'wb') as f:
        while not is_over:
            f.truncate(32 << 20)
            f.truncate(0)
        f.write(b'rest')
thread = threading.Thread(target=shrink)
thread.start()
"""


@pytest.mark.one_mode
def test_a_file_that_shrinks_while_it_is_read_is_told(spawn):
    session = spawn(explore=True, checkpoints="off", durable="off")
    session.exec(SHRINKS)

    def has_shrunk():
        answer = session.client.request("POST", f"{session.path}/explore/peek",
                                        {"file_path": "text"})
        assert answer.status in (200, 409), answer
        return answer.status == 409 and "became shorter" in answer.json["error"]["message"]

    host.eventually(has_shrunk)
    session.exec("is_over = True; thread.join()")
    assert session.value("peek(file_path='text')") == "'rest'"


ARCHIVE_SHRINKS = """
import threading, zipfile
with zipfile.ZipFile('a.zip', 'w') as z:
    z.writestr('member', b'0123456789abcde\\n' * (1 << 18))
whole, is_over = open('a.zip', 'rb').read(), False
def shrink():
    with open('a.zip', 'r+b', buffering=0) as f:
        while not is_over:
            f.truncate(len(whole) // 2)
            f.seek(0)
            f.write(whole)
thread = threading.Thread(target=shrink)
thread.start()
"""


@pytest.mark.one_mode
def test_a_member_of_an_archive_that_shrinks_is_whole_or_refused(spawn):
    session = spawn(explore=True, checkpoints="off", durable="off")
    session.exec(ARCHIVE_SHRINKS)

    def load():
        return session.client.request("POST", f"{session.path}/contexts",
                                      {"path": "a.zip", "member": "member"})

    def is_refused():
        answer = load()
        assert answer.status == 409 or answer.json["chars"] == 4 << 20
        return answer.status == 409 and "became shorter" in answer.json["error"]["message"]

    host.eventually(is_refused)
    session.exec("is_over = True; thread.join()")
    assert load().json["chars"] == 4 << 20


@pytest.mark.one_mode
def test_a_context_that_shrinks_on_the_disk_is_told(launch):
    daemon = launch(config="default_profile: min\n")
    session = daemon.client.spawn(explore=True)
    size = 3_000_001
    daemon.client.call("PUT", f"{session.path}/contexts/context", b"x" * size)
    daemon.client.call("PUT", f"{session.path}/contexts/other", b"other text")
    (blob,) = [path for path in (daemon.data / "blobs").rglob("*")
               if path.is_file() and path.stat().st_size == size]
    with open(blob, "r+b") as file:
        file.truncate(10)
    assert "shorter" in session.value("peek(10, offset=2_999_990)")
    assert "it has 10 bytes of 3000001" in session.value("grep('y')")
    seen = daemon.client.call("POST", f"{session.path}/explore/peek", {"context": "other"})
    assert seen["text"] == "other text"
