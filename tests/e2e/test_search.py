"""Code and documents of a session's files are found by what they say, as the files are at that
moment."""

import ast
import http.server
import json
import os
import pathlib
import shutil
import signal
import tempfile
import threading

import pytest

from harness import host
from harness.client import ApiError, block
from harness.configured import Configured
from harness.shell import Shell

GEOMETRY = '''"""Shapes."""
import math


class Circle:
    """A round shape."""

    def __init__(self, radius):
        self.radius = radius

    @property
    def area(self):
        """How much paper the disc takes."""
        return math.pi * self.radius ** 2


async def read_shapes_from_csv(path,
                               delimiter=","):
    """Loads circles from a table."""
    def inner():
        return None
    return [Circle(1)]
'''
SERVER = '''#include <stdio.h>

/* Answers with the page that was asked for. */
static int serve_page(struct request *req, const char *path)
{
    if (req == NULL) { return -1; }
    return printf("{ %s", path);
}

struct request {
    int fd;
};
'''
GUIDE = '''# Guide

Welcome.

## Installing

Take the package manager.

```sh
# not a heading
```

## Removing

Delete the folder.
'''
FILES = {"shapes/geometry.py": GEOMETRY, "server.c": SERVER, "docs/guide.md": GUIDE}


@pytest.fixture
def searcher(spawn):
    session = spawn(explore=True, checkpoints="every")
    write(session, FILES)
    return session


def write(session, files):
    session.exec("import os\n"
                 f"for name, text in {files!r}.items():\n"
                 "    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)\n"
                 "    with open(name, 'w') as file:\n"
                 "        file.write(text)\n")


def find(client, session, query, what="code", **more):
    return client.call("POST", f"{session.path}/explore/{what}_search", {"query": query, **more})


def places(answer):
    return [(r["file"], r["lines"], r["unit"]) for r in answer["results"]]


@pytest.mark.smoke
@pytest.mark.release
def test_code_is_found_by_what_it_says(client, searcher):
    found = find(client, searcher, "load circles from a csv table")
    assert set(found) == {"results", "index", "query"}
    assert found["index"] == "code" and found["query"] == "load circles from a csv table"
    best = found["results"][0]
    assert best["file"] == "shapes/geometry.py" and best["lines"] == "17-22"
    assert best["unit"] == "function:read_shapes_from_csv" and best["score"] > 0
    assert best["signature"] == 'async def read_shapes_from_csv(path, delimiter=",")'
    assert places(find(client, searcher, "area of the disc"))[0] == (
        "shapes/geometry.py", "11-14", "method:Circle.area")
    assert places(find(client, searcher, "servePage answers"))[0] == (
        "server.c", "3-8", "function:serve_page")
    assert len(find(client, searcher, "shape", limit=1)["results"]) == 1


@pytest.mark.smoke
def test_documents_are_found_by_their_sections(client, searcher):
    found = find(client, searcher, "how do I install it", "doc")
    assert found["index"] == "docs"
    assert found["results"][0]["unit"] == "section:Installing"
    assert found["results"][0]["lines"] == "5-11"
    assert found["results"][0]["signature"] == "Guide > Installing"


def test_code_of_a_cell_searches(searcher):
    told = ast.literal_eval(searcher.value("dict(code_search('area of the disc', limit=2))"))
    assert told["results"][0]["unit"] == "method:Circle.area"
    assert searcher.value("doc_search('remove the folder')['results'][0]['unit']") == (
        "'section:Removing'")
    assert searcher.value("code_search('x', limit=100)").startswith("'[ERROR: ")
    nodes = ast.literal_eval(searcher.value("get_research().to_dict()['nodes']"))
    assert {"CS1", "DS1"} <= set(nodes)
    assert "function:" in nodes["CS1"]["summary"] or "method:" in nodes["CS1"]["summary"]


def test_answers_follow_the_files(client, searcher):
    """Within a cell, after an undo, in a branch."""
    assert searcher.value(block(
        """
        before = len(code_search('zebra stripes')['results'])
        open('zoo.py', 'w').write('def zebra():\\n    return "stripes"\\n')
        [r['unit'] for r in code_search('zebra stripes')['results']][:1]
        """)) == "['function:zebra']"
    assert ("zoo.py", "1-2", "function:zebra") in places(find(client, searcher, "zebra stripes"))
    client.call("POST", f"{searcher.path}/undo", {})
    assert "zoo.py" not in str(find(client, searcher, "zebra stripes"))
    searcher.exec("import os; os.remove('server.c')")
    assert "server.c" not in str(find(client, searcher, "serve page"))
    client.call("POST", f"{searcher.path}/undo", {})
    assert "server.c" in str(find(client, searcher, "serve page"))
    write(searcher, {"server.c": "\n\n" + SERVER})
    assert places(find(client, searcher, "serve_page"))[0][1] == "5-10"


# ---- an encoder and corpora ---------------------------------------------------------------------

DICTIONARY = """#!/usr/bin/python3
# Words that mean the same are the same direction: what no ranking by words can know.
import json, sys
SAME = {"feline": "cat", "kitten": "cat", "cat": "cat", "canine": "dog", "dog": "dog"}
def row(word):
    at = {"cat": 0, "dog": 1}.get(SAME.get(word), 2 + sum(word.encode()) % 126)
    return [1.0 if i == at else 0.0 for i in range(128)]
asked = json.load(sys.stdin)
print(json.dumps({"embeddings": [[row(w) for w in t.lower().split()] for t in asked["texts"]]}))
"""
ZOO = {"zoo.py": 'def one():\n    "a feline sleeps"\n\n\ndef two():\n    "the canine barks"\n'}


class Encoder(http.server.BaseHTTPRequestHandler):
    """A NextPLAID server's /encode, or OpenAI's /v1/embeddings."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body.get("texts", body.get("input"))
        self.server.seen.append((self.path, self.headers["X-Token"], sorted(body)))
        rows = [[1.0 if ("feline" in text or "kitten" in text) == (i == 0) else 0.0
                 for i in range(128)] for text in texts]
        told = {"embeddings": [[row] for row in rows], "num_texts": len(rows)}
        if self.path != "/encode":
            told = {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}
        data = json.dumps(told).encode() if self.server.works else b'{"embeddings": [[]]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Encoder)
    server.seen, server.works = [], True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def folder():
    """Root's daemon reads it as somebody else."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="cella-search-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.one_mode
def test_an_encoder_finds_what_has_other_words(launch, folder):
    program = folder / "encoder.py"
    program.write_text(DICTIONARY)
    told = Configured(launch, folder, "default_profile: min\nsearch:\n  encoder: {command: "
                      f"[/usr/bin/python3, {program}]}}\n")
    session = told.spawn(explore=True)
    write(session, ZOO)
    found = find(told.client, session, "kitten")
    assert found["results"][0]["unit"] == "function:one" and "notes" not in found
    assert "function:one" not in str(find(told.client, session, "kitten", words_only=True))
    program.write_text("raise SystemExit(3)")
    failed = find(told.client, session, "canine")
    assert failed["results"][0]["unit"] == "function:two"
    assert "ended with status 3" in failed["notes"]
    program.write_text("print('[[[1')")
    assert "cut off" in find(told.client, session, "canine")["notes"]
    told.reload("default_profile: min\n")
    assert "notes" not in find(told.client, session, "canine")


@pytest.mark.one_mode
@pytest.mark.parametrize("setting", ["http: URL/encode", "openai: URL/v1/embeddings, model: m"])
def test_a_server_encodes(launch, folder, server, setting):
    url = f"http://127.0.0.1:{server.server_port}"
    told = Configured(launch, folder, "default_profile: min\nsearch:\n  encoder: {"
                      + setting.replace("URL", url) + ', headers: ["X-Token: t"]}\n')
    session = told.spawn(explore=True)
    write(session, ZOO)
    found = find(told.client, session, "kitten")
    assert found["results"][0]["unit"] == "function:one" and "notes" not in found
    assert {token for _, token, _ in server.seen} == {"t"}
    server.works = False
    failed = find(told.client, session, "canine")
    assert failed["results"][0]["unit"] == "function:two" and "encoder" in failed["notes"]


@pytest.mark.one_mode
def test_a_corpus_is_searched_and_followed(launch, folder):
    corpus = folder / "corpus"
    (corpus / "deep").mkdir(parents=True)
    (corpus / "deep" / "shapes.py").write_text(GEOMETRY)
    (corpus / "guide.md").write_text(GUIDE)
    (corpus / "binary.py").write_bytes(b"def a():\0")
    (corpus / "large.py").write_bytes(b"x = 1\n" * 200_000)
    (corpus / "secret.py").symlink_to("/etc/passwd")
    (corpus / "out").symlink_to("/etc")
    os.mkfifo(corpus / "pipe.py")
    os.mkdir(corpus / os.fsdecode(b"odd \xff\n"))
    (corpus / os.fsdecode(b"odd \xff\n") / "a.py").write_text("def oddly_named(): pass\n")
    told = Configured(launch, folder, "default_profile: min\nsearch:\n  corpora: "
                      f"[{{name: lib, path: {corpus}}}]\n")

    def ask(query, **more):
        return told.client.call("POST", "/v1/search", {"query": query, "corpus": "lib", **more})

    assert places(ask("area of the disc"))[0] == (
        "deep/shapes.py", "11-14", "method:Circle.area")
    assert ask("area")["skipped"] == {"too_large": 1, "binary": 1}
    assert ask("install", kind="doc")["results"][0]["unit"] == "section:Installing"
    assert ask("oddly named")["results"][0]["unit"] == "function:oddly_named"
    assert "root:" not in str(ask("root"))
    (corpus / "deep" / "shapes.py").unlink()
    (corpus / "new.py").write_text("def disc_area(): pass\n")
    assert places(ask("area of the disc"))[0] == ("new.py", "1-1", "function:disc_area")
    session = told.spawn(explore=True)
    assert "new.py,1-1" in session.value("code_search('disc', corpus='lib')")
    with pytest.raises(ApiError, match="no corpus"):
        told.client.call("POST", "/v1/search", {"query": "x", "corpus": "none"})
    with pytest.raises(ApiError, match="Name a session"):
        told.client.call("POST", "/v1/search", {"query": "x"})


def test_hostile_files_do_not_end_a_search(client, spawn):
    session = spawn(explore=True)
    session.exec(block(
        """
        import os
        open('deep.c', 'w').write('{' * 500_000)
        open('line.py', 'w').write('x = ' + 'a + ' * 200_000)
        open('nul.py', 'wb').write(b'def f():\\0' * 100)
        open('latin.py', 'wb').write(b'def caf\\xe9(): pass\\n')
        open('big.py', 'w').write('y\\n' * 600_000)
        os.mkfifo('pipe.py')
        os.symlink('/etc/passwd', 'link.py')
        open('good.py', 'w').write('def zebra(): pass\\n')
        """))
    found = find(client, session, "zebra")
    assert found["results"][0]["unit"] == "function:zebra"
    assert found["skipped"] == {"too_large": 1, "binary": 1}
    for query in ('"', "a OR b NOT", "zebra*", "name:zebra", "(" * 900, "é" * 400):
        find(client, session, query)
    with pytest.raises(ApiError):
        find(client, session, "x" * 2000)


def test_node_and_bash_search(client, spawn_runtime):
    for runtime, code in (("node", "codeSearch('zebra stripes').results[0].unit"),
                          ("bash", "explore code_search 'zebra stripes' | head -20")):
        session = spawn_runtime(runtime, explore=True)
        client.call("PUT", f"{session.path}/files/zoo.js", b"function zebraStripes() {\n}\n")
        assert "function:zebraStripes" in json.dumps(session.exec(code))


def test_a_model_searches(client, searcher):
    told = client.call("POST", "/v1/tools/explore", {
        "session": searcher.id, "action": "code_search", "text": "area of the disc"})
    assert "method:Circle.area" in str(told)


def test_a_suspended_session_comes_back_for_a_search(client, searcher):
    client.call("POST", f"{searcher.path}/suspend", {})
    assert places(find(client, searcher, "area of the disc"))[0][2] == "method:Circle.area"


def test_the_command_line_searches(daemon, searcher):
    shell = Shell(daemon.binary, daemon.user, daemon.data)
    told = shell("search", "area of the disc", "--session-id", searcher.id)
    assert told.returncode == 0 and "method:Circle.area" in told.stdout
    assert "Name a session" in shell("search", "area").stderr


@pytest.mark.one_mode
def test_a_killed_or_damaged_index_is_made_anew(launch):
    daemon = launch()
    session = daemon.client.spawn("min", explore=True)
    write(session, FILES)

    def boxes():
        return [pid for pid, _ in host.tree(daemon.process.pid)
                if b"search-box" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]

    assert find(daemon.client, session, "area of the disc")["results"]
    [box] = boxes()
    os.kill(box, signal.SIGKILL)
    host.eventually(lambda: box not in boxes(), "the box's end")
    folder = pathlib.Path(daemon.data) / "search" / "sessions" / session.id
    (folder / "index.db").write_bytes(b"no database" * 1000)
    assert places(find(daemon.client, session, "area of the disc"))[0][2] == "method:Circle.area"
    daemon.client.request("DELETE", session.path)
    host.eventually(lambda: not boxes() and not folder.exists(), "the index's end")
