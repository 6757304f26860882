"""Code and documents of a session's files are found by what they say, as the files are at that
moment."""

import ast

import pytest

from harness.client import block

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
