"""What callers do with a session's files besides putting and reading one: lists, folders, moves,
copies, archives, parts, events of change; uploads that are large, too large or left; and what a
cell can do to all of it meanwhile."""

import concurrent.futures
import io
import json
import os
import tarfile
from urllib.parse import quote, urlencode

import pytest

pytestmark = pytest.mark.one_mode

LIST = "import os; ' '.join(sorted(os.path.join(d, f)[2:] for d, _, s in os.walk('.') for f in s))"


@pytest.fixture
def timed(spawn):
    return spawn("min", checkpoints="every")


@pytest.fixture
def background():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield pool.submit


@pytest.fixture
def outside(folder):
    """A directory of the host's that anybody may write to, with a file that anybody may read."""
    place = folder / "outside"
    place.mkdir()
    place.chmod(0o777)
    (place / "secret").write_text("secret")
    (place / "secret").chmod(0o666)
    return place


def refused(reply, status):
    """The message of an answer that must be this error, with advice."""
    assert reply.status == status, reply
    error = reply.json["error"]
    assert error["advice"], error
    return error["message"]


def listed(session, **query):
    return session.client.call("GET", f"{session.path}/files?{urlencode(query)}")


def paths(session, **query):
    return [e["path"] for e in listed(session, **query)["entries"]]


def post(session, verb, **body):
    return session.client.request("POST", f"{session.path}/{verb}", body)


def pack(entries):
    """A tar archive: names and bytes, a TarInfo as it is, or None for a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
            elif content is None:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def unpack(session, archive, **query):
    return session.client.request("PUT", f"{session.path}/archive?{urlencode(query)}", archive)


def packed(session, **query):
    reply = session.client.request("GET", f"{session.path}/archive?{urlencode(query)}")
    assert reply.status == 200, reply
    with tarfile.open(fileobj=io.BytesIO(reply.body)) as tar:
        return {m.name: tar.extractfile(m).read() if m.isfile() else m.linkname or None
                for m in tar.getmembers()}


# ---- lists ---------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_lists_patterns_and_pages(session):
    session.exec("import os; os.makedirs('d/e')\n"
                 "for n in ('a.csv', 'b.txt', 'd/c.csv', 'd/e/f.csv', 'd-e'):\n"
                 "    open(n, 'w').write(n)\n"
                 "os.symlink('a.csv', 'link'); os.mkfifo('pipe')")
    assert paths(session) == ["a.csv", "b.txt", "d", "d-e", "link", "pipe"]
    everything = ["a.csv", "b.txt", "d", "d/c.csv", "d/e", "d/e/f.csv", "d-e", "link", "pipe"]
    assert paths(session, recursive="true") == everything
    assert paths(session, path="d") == ["d/c.csv", "d/e"]
    assert paths(session, pattern="*.csv") == ["a.csv"]
    assert paths(session, pattern="*.csv", recursive="true") == ["a.csv", "d/c.csv", "d/e/f.csv"]
    assert paths(session, pattern="**/[ef]*", recursive="true") == ["d/e", "d/e/f.csv"]
    assert paths(session, pattern="d/*.csv", recursive="true") == ["d/c.csv"]
    entry = listed(session)["entries"][0]
    assert entry.pop("modified_at").endswith("Z")
    assert entry == {"path": "a.csv", "type": "file", "bytes": 5, "mode": "0644"}
    assert [e["type"] for e in listed(session)["entries"]] == [
        "file", "file", "folder", "file", "link", "other"]
    assert listed(session)["entries"][4]["target"] == "a.csv"
    for limit in (1, 2, 4):
        seen, after = [], ""
        while after is not None:
            page = listed(session, recursive="true", limit=limit, after=after)
            seen += [e["path"] for e in page["entries"]]
            after = page.get("next")
        assert seen == everything
    stat = session.client.call("GET", f"{session.path}/stat/d/c.csv")
    assert (stat.path, stat.type, stat.bytes) == ("d/c.csv", "file", 7)
    assert refused(session.client.request("GET", f"{session.path}/stat/nothing"), 404)
    assert refused(session.client.request("GET", f"{session.path}/files?path=link/x"), 409)


def test_a_list_of_many_long_names_comes_in_pages(session):
    session.exec("import os; os.mkdir('d')\n"
                 "for i in range(400): open('d/' + '\\x01' * 100 + f'{i:03}', 'w').close()")
    n, after, pages = 0, "", 0
    while after is not None:
        page = listed(session, path="d", limit=1000, after=after)
        n, after, pages = n + len(page["entries"]), page.get("next"), pages + 1
    assert n == 400 and 2 < pages < 50


# ---- folders, moves, copies ----------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.each_mode
@pytest.mark.privilege
def test_folders_moves_and_copies_belong_to_the_newest_checkpoint(timed):
    timed.exec("import os; os.makedirs('d/e'); open('d/e/f', 'w').write('f')")
    assert post(timed, "mkdir", path="x/y").json == {"path": "x/y", "created": True}
    assert post(timed, "mkdir", path="x/y").json == {"path": "x/y", "created": False}
    assert post(timed, "copy", path="d", to="x/copy").json["type"] == "folder"
    assert post(timed, "move", path="d/e/f", to="moved/f").json["path"] == "moved/f"
    assert refused(post(timed, "move", path="moved/f", to="x/copy/e/f"), 409)
    assert post(timed, "copy", path="moved/f", to="x/copy/e/f", replace=True).status == 200
    assert refused(post(timed, "copy", path="x", to="x/y/z"), 409)
    assert refused(post(timed, "move", path="x", to="x/y/z"), 409)
    assert refused(post(timed, "move", path="none", to="n"), 404)
    assert refused(post(timed, "copy", path="d", to="../d"), 400)
    after = "d d/e moved moved/f x x/copy x/copy/e x/copy/e/f x/y"
    assert " ".join(paths(timed, recursive="true")) == after
    died = timed.exec("import shutil; [shutil.rmtree(d) for d in os.listdir()]; os._exit(1)")
    assert died.status == "died"
    assert " ".join(paths(timed, recursive="true")) == after
    assert timed.value("open('moved/f').read() + open('x/copy/e/f').read()") == "'ff'"
    timed.client.call("POST", f"{timed.path}/undo", {"to": 0})
    assert paths(timed) == []


def test_a_folder_is_deleted_on_request_only_and_comes_back_with_an_older_checkpoint(timed):
    first = timed.exec("import os; os.makedirs('d/e'); open('d/e/f', 'w').write('f')").checkpoint
    timed.exec("x = 1")
    assert "directory" in refused(timed.delete("d"), 409)
    reply = timed.client.request("DELETE", f"{timed.path}/files/d?recursive=true")
    assert reply.json == {"path": "d", "deleted": True}
    assert timed.exec("os._exit(1)").status == "died"
    assert paths(timed) == []
    timed.client.call("POST", f"{timed.path}/undo", {"to": first})
    assert paths(timed, recursive="true") == ["d", "d/e", "d/e/f"]


def test_what_was_moved_and_put_again_is_there_after_a_restart_without_a_save(spawn):
    """A crash leads back to the durable copy, and what was changed since then is repeated."""
    session = spawn("min")
    session.exec("import threading, os\n"
                 "threading.Thread(target=threading.Event().wait, daemon=True).start()",
                 durable=True)
    session.put("a", b"first")
    post(session, "move", path="a", to="b")
    session.put("a", b"second")
    unpack(session, pack([("t/x", b"packed")]))
    assert session.exec("import shutil; shutil.rmtree('t'); os.unlink('b'); os._exit(1)"
                        ).status == "died"
    assert session.value("[open(n).read() for n in ('a', 'b', 't/x')]"
                         ) == "['second', 'first', 'packed']"


# ---- parts ---------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_parts_of_a_file(session):
    content = bytes(range(256)) * 1000
    session.put("f", content)

    def part(**headers):
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        return session.client.request("GET", f"{session.path}/files/f", None, headers)

    whole = session.get("f")
    assert whole.headers["Accept-Ranges"] == "bytes" and whole.body == content
    first = part(Range="bytes=10-19")
    assert first.status == 206 and first.body == content[10:20]
    assert first.headers["Content-Range"] == f"bytes 10-19/{len(content)}"
    assert part(Range="bytes=255990-").body == content[-10:]
    assert part(Range="bytes=-7").body == content[-7:]
    assert part(Range="bytes=0-99999999").body == content
    beyond = part(Range="bytes=256000-")
    assert beyond.status == 416 and beyond.headers["Content-Range"] == f"bytes */{len(content)}"
    assert "256000" in refused(beyond, 416)
    assert beyond.json["error"]["code"] == "range_not_satisfiable"
    for odd in ("bytes=5-1", "bytes=0-1,4-5", "lines=1-2", "bytes=a-"):
        assert part(Range=odd).status == 200
    tag = first.headers["ETag"]
    assert part(Range="bytes=0-0", If_Range=tag).status == 206
    session.put("f", content[::-1])
    changed = part(Range="bytes=0-0", If_Range=tag)
    assert changed.status == 200 and changed.body == content[::-1]
    head = session.client.request("HEAD", f"{session.path}/files/f")
    assert (head.status, head.headers["Content-Length"]) == (200, str(len(content)))


# ---- archives ------------------------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.each_mode
@pytest.mark.privilege
def test_an_archive_goes_in_and_out(timed):
    timed.exec("x = 1")
    long = "n" * 200 + "/" + "m" * 200
    files = [("d", None), ("d/a", b"one"), ("./b", b"two"), ("empty", b""), (long, b"long"),
             ("ünï", b"u" * 5000)]
    answer = unpack(timed, pack(files), path="in/to").json
    assert answer == {"path": "in/to", "files": 5, "folders": 1, "bytes": 5010}
    timed.exec("import os; os.symlink('/etc/passwd', 'in/to/link'); os.mkfifo('in/to/pipe')\n"
               "os.chmod('in/to/d/a', 0o751)")
    out = packed(timed, path="in/to")
    assert out == {"d": None, "d/a": b"one", "b": b"two", "empty": b"", "ünï": b"u" * 5000,
                   "n" * 200: None, long: b"long", "link": "/etc/passwd"}
    assert timed.exec("os.rename('in', 'elsewhere'); os._exit(1)").status == "died"
    assert set(packed(timed)) >= {"in", "in/to", "in/to/d/a"}
    assert refused(timed.client.request("GET", f"{timed.path}/archive?path=in/to/b"), 409)
    assert refused(timed.client.request("GET", f"{timed.path}/archive?path=none"), 404)


def link(name, kind, target="x"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("entry", [
    ("../up", b"x"), ("/abs", b"x"), ("a/../../b", b"x"), ("a/./b", b"x"), ("a//b", b"x"),
    ("l", link("l", tarfile.SYMTYPE, "/etc")), ("h", link("h", tarfile.LNKTYPE, "ok")),
    ("dev", link("dev", tarfile.CHRTYPE)), ("pipe", link("pipe", tarfile.FIFOTYPE)),
    ("n" * 300, b"x"), ("d/" * 80 + "f", b"x"),
], ids=lambda e: e[0][:12])
def test_an_archive_with_one_bad_name_leaves_nothing(session, entry):
    assert refused(unpack(session, pack([("ok", b"x"), entry])), 400)
    assert paths(session) == []


def test_an_archive_that_meets_something_in_its_way_leaves_nothing(session):
    session.exec("import os; os.mkdir('d'); open('f', 'w').close(); os.symlink('d', 'l')")
    before = paths(session)
    for name, content in [("d", b"x"), ("f", None), ("f/in", b"x"), ("l", b"x"), ("l/in", b"x")]:
        reply = unpack(session, pack([("new", b"x"), (name, content)]))
        assert name in refused(reply, 409)
        assert reply.json["error"]["advice"].startswith("Nothing was unpacked. Delete")
        assert paths(session) == before
    assert unpack(session, pack([("new", b"x"), ("f", b"y"), ("d", None)])).status == 200
    reply = unpack(session, pack([("one", b"x"), ("two", b"x"), ("two/in", b"x")]))
    assert "two/in" in refused(reply, 409)
    assert "2 of its 3 names were unpacked before, up to two." in reply.json["error"]["advice"]


def test_what_is_no_archive_is_refused(session):
    whole = pack([("f", b"x" * 3000)])
    for body in (b"", b"no archive", whole[:1000], whole[:-700 - 9000], whole[:600] + whole,
                 b"\x1f\x8b" + bytes(1000)):
        assert "archive" in refused(unpack(session, body), 400)
    assert refused(unpack(session, whole, path="../up"), 400)
    session.put("file", b"")
    assert refused(unpack(session, whole, path="file"), 409)
    assert paths(session) == ["file"]


# ---- uploads -------------------------------------------------------------------------------------


@pytest.mark.each_mode
@pytest.mark.privilege
def test_uploads_share_what_is_free_and_are_stopped_while_they_come(spawn):
    session = spawn("min", limits={"disk_mb": 16})
    with session.client.connect() as sock:
        sock.sendall(session.client.head("PUT", f"{session.path}/files/f",
                                         Transfer_Encoding="chunked") + b"\r\n")
        piece = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
        try:
            for _ in range(100):
                sock.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sock.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert "disk limit" in refused(unpack(session, pack([("f", bytes(17 << 20))])), 413)
    small = pack([(f"f{i}", b"x") for i in range(4000)])
    assert "disk limit" in refused(unpack(session, small), 413)
    assert refused(post(session, "copy", path="none", to="x"), 404)
    session.put("half", bytes(9 << 20))
    assert "disk limit" in refused(post(session, "copy", path="half", to="second"), 413)
    assert paths(session) == ["half"]
    session.exec("import os; os.truncate('half', 0)")
    assert session.put("g", os.urandom(15 << 20)).status == 201


@pytest.mark.each_mode
@pytest.mark.privilege
def test_a_client_that_goes_away_leaves_nothing(daemon, session, eventually):
    blobs = daemon.data / "blobs"

    def unfinished():
        return [p for p in blobs.iterdir() if p.name.startswith("tmp-")]

    before = daemon.heap_bytes()
    for _ in range(3):
        with session.client.connect() as sock:
            sock.sendall(session.client.head("PUT", f"{session.path}/files/f",
                                             Content_Length=50 << 20) + b"\r\n" + bytes(1 << 20))
            eventually(unfinished, "the beginning of the upload")
    eventually(lambda: not unfinished(), "the end of what was not finished")
    assert refused(session.get("f"), 404)
    assert session.put("f", bytes(40 << 20)).status == 201  # what was announced counts no more
    with session.client.connect() as sock:
        sock.sendall(session.client.head("GET", f"{session.path}/files/f") + b"\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
    eventually(lambda: daemon.heap_bytes() < before + (1 << 20), "the end of the download")


def test_the_daemon_holds_a_piece_of_what_comes_and_goes(daemon, session):
    content = os.urandom(1 << 20) * 24
    with daemon.watch_heap() as heap:
        assert session.put("f", content).status == 201
        assert session.get("f").body == content
        assert len(packed(session)["f"]) == len(content)
        assert unpack(session, pack([("g", content)])).status == 200
    assert heap[1] - heap[0] < 8 << 20
    assert session.value("open('f', 'rb').read() == open('g', 'rb').read()") == "True"


def test_a_body_with_nonsense_between_its_chunks(session):
    with session.client.connect() as sock:
        sock.sendall(session.client.head("PUT", f"{session.path}/files/f",
                                         Transfer_Encoding="chunked")
                     + b"\r\n4\r\nabcd\r\nnonsense\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert refused(session.get("f"), 404)
    # Two requests in one piece, the first of which has a body that goes to the disk.
    put = session.client.head("PUT", f"{session.path}/files/f", Content_Length=3) + b"\r\nabc"
    with session.client.connect() as sock:
        sock.sendall(put + session.client.head("GET", f"{session.path}/files/f") + b"\r\n")
        data = b""
        while b"\r\n\r\nabc" not in data:
            more = sock.recv(4096)
            assert more, data
            data += more
    assert data.startswith(b"HTTP/1.1 201 ")


# ---- events --------------------------------------------------------------------------------------


@pytest.mark.each_mode
@pytest.mark.privilege
def test_events_of_change(session, background):
    session.put("d/old", b"x")
    events = session.client.events(f"{session.path}/changes", method="GET")
    assert next(events) == ("watching", {"changes": []})
    session.put("new", b"12345")
    name, news = next(events)
    assert name == "changed"
    assert news["changes"] == [{"change": "created", "path": "new", "type": "file", "bytes": 5}]
    session.exec("open('d/old', 'a').write('more'); import os; os.unlink('new')")
    changes = next(events)[1]["changes"]
    while len(changes) < 2:
        changes += next(events)[1]["changes"]
    assert {(c["change"], c["path"]) for c in changes} == {("changed", "d/old"),
                                                            ("deleted", "new")}
    # A cell that still runs; many changes become few events.
    cell = background(session.exec, "for i in range(2000): open(f'd/{i}', 'w').close()\n"
                                    "open('end', 'w').close()")
    n, told = 0, 0
    while told < 2001:
        news = next(events)[1]
        told += len([c for c in news["changes"] if c["change"] == "created"])
        told += news.get("left_out", 0)
        n += 1
        assert len(news["changes"]) <= 200
    assert n < 200 and cell.result().status == "ok"
    events.close()


def test_another_agents_files(launch):
    agents = "agents: [{id: a, repl: {enabled: true}}, {id: b, repl: {enabled: true}}]\n"
    daemon = launch(config="default_profile: min\n" + agents)
    a, b = {"Cella-Agent": "a"}, {"Cella-Agent": "b"}
    made = daemon.client.request("POST", "/v1/sessions", {}, a).json["session_id"]
    path = f"/v1/sessions/{made}"
    assert daemon.client.request("PUT", f"{path}/files/f", b"x", a).status == 201
    for method, at, body in (("GET", "files", None), ("GET", "stat/f", None),
                             ("GET", "files/f", None), ("PUT", "files/f", b"y"),
                             ("PUT", "archive", pack([])), ("GET", "archive", None),
                             ("GET", "changes", None), ("POST", "mkdir", {"path": "d"}),
                             ("POST", "move", {"path": "f", "to": "g"}),
                             ("POST", "copy", {"path": "f", "to": "g"})):
        assert refused(daemon.client.request(method, f"{path}/{at}", body, b), 404)
    assert daemon.client.request("GET", f"{path}/files/f", None, a).body == b"x"
    daemon.client.request("PUT", f"{path}/plan", {"reason": "think"}, a)
    assert refused(daemon.client.request("POST", f"{path}/mkdir", {"path": "d"}, a), 409)
    assert daemon.client.request("GET", f"{path}/files", None, a).status == 200
    daemon.stop()


# ---- a hostile cell ------------------------------------------------------------------------------


@pytest.mark.each_mode
@pytest.mark.privilege
def test_folders_that_become_links_all_the_time(session, outside, background, eventually):
    """Whatever the moment: what is listed, packed, copied and unpacked is the workspace's own."""
    cell = background(session.exec, f"""
        import os
        os.makedirs('d/in'); open('d/in/own', 'w').write('own'); os.symlink({str(outside)!r}, 'l')
        while not os.path.exists('go'):
            for a, b in ('dx', 'ld', 'dl', 'xd'):
                try:
                    os.rename(a, b)
                except OSError:  # somebody made a directory of that name
                    pass
            if not os.path.exists('begun'): open('begun', 'w').close()
        """)
    eventually(lambda: session.get("begun").status == 200)
    for i in range(15):
        text = json.dumps(listed(session, recursive="true"))
        assert "secret" not in text
        assert b"secret\0" not in session.client.request("GET", f"{session.path}/archive").body
        reply = session.client.request("GET", f"{session.path}/archive?path=d")
        assert reply.status in (404, 409) or b"secret" not in reply.body
        assert unpack(session, pack([("d/in/new", b"x")])).status in (200, 409)
        assert post(session, "copy", path="d", to=f"c{i}").status in (200, 404, 409)
        assert post(session, "move", path="d/secret", to=f"m{i}").status in (404, 409)
        assert post(session, "mkdir", path="d/made").status in (200, 201, 409)
        reply = session.client.request("DELETE", f"{session.path}/files/d?recursive=true")
        assert reply.status in (200, 404, 409), reply
    session.put("go", b"")
    assert cell.result().status == "ok"
    assert [f.name for f in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


def test_a_file_that_shrinks_while_it_is_read(session):
    session.put("f", bytes(64 << 20))
    with session.client.connect() as sock:
        sock.sendall(session.client.head("GET", f"{session.path}/files/{quote('f')}") + b"\r\n")
        data = sock.recv(4096)
        assert data.startswith(b"HTTP/1.1 200 ")
        session.exec("import os; os.truncate('f', 0)")
        n = len(data)
        while piece := sock.recv(1 << 20):
            n += len(piece)
    assert n < 64 << 20  # the end of the connection says that something is missing
    session.put("f", bytes(8 << 20))
    assert len(packed(session)["f"]) == 8 << 20
