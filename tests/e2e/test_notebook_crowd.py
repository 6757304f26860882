"""Many clients of one notebook, all at once."""

import concurrent.futures
import json
import random
import time

import pytest

from harness import host
from harness.client import ApiError
from harness.notebooks import settle, value_of

pytestmark = pytest.mark.one_mode


def test_edits_of_many_never_corrupt_it(notebook):
    """Whatever many clients do at once, numbers stay 0 to n, ids unique, and nothing is lost."""
    def busy(seed):
        chance, added, removed = random.Random(seed), [], 0
        for i in range(25):
            what = chance.choice(["add", "add", "move", "edit", "delete", "read"])
            try:
                if what == "add":
                    added.append(notebook.add(f"{seed}:{i}", at=chance.randrange(-1, 20)))
                elif what == "move":
                    notebook.move(chance.randrange(10), chance.randrange(-1, 10))
                elif what == "edit" and added:
                    notebook.edit(chance.choice(added), code=f"{seed}:edited")
                elif what == "delete" and added:
                    notebook.delete(added.pop())
                    removed += 1
                else:
                    numbers = [c.index for c in notebook.cells()]
                    assert numbers == sorted(set(numbers))
            except ApiError as error:
                assert error.status == 404 and what == "move", error
        return added

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        left = [name for names in pool.map(busy, range(6)) for name in names]
    cells = notebook.cells()
    assert sorted(c.cell_id for c in cells) == sorted(left)
    assert [c.index for c in cells] == list(range(len(left)))


def test_cells_and_execs_of_many_come_in_one_order(notebook):
    def busy(i):
        return [notebook.add(f"'{i}-{j}'", run=True).cell_id for j in range(4)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ids = [name for names in pool.map(busy, range(4)) for name in names]
    cells = notebook.cells(outputs=True)
    assert sorted(c.cell_id for c in cells) == sorted(ids)
    for cell in cells:
        assert cell.status == "ok" and value_of(cell) == cell.code
    assert sorted(c.number for c in cells) == list(range(1, 17))


def test_clients_that_go_away_leave_it_whole(notebook):
    """Each call is sent and its answer not waited for, whichever step it is in by then."""
    client, chance = notebook.client, random.Random(5)
    for _ in range(3):
        notebook.add("import time; time.sleep(0.01); print('x' * 1000)")
    content = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "source": "1",
         "execution_count": None} for i in range(200)]})
    calls = [("GET", ""), ("GET", "/cells?outputs=true"), ("GET", "/cells/0"), ("GET", "/events"),
             ("GET", "/export?format=html"), ("POST", "/run", {}), ("POST", "/cells/1/run", {}),
             ("POST", "/cells", {"code": "2", "run": True}), ("POST", "/cells", {"code": "3"}),
             ("PATCH", "/cells/0", {"metadata": {"a": 1}}), ("POST", "/cells/0/move", {"to": 2}),
             ("PATCH", "", {"title": "left"}), ("POST", "/clear", {"what": "outputs"}),
             ("DELETE", "/cells/-1"), ("POST", "/reset", {})]
    before = client.call("GET", "/v1/notebooks?limit=1").count
    for method, path, *body in calls * 4:
        send_and_leave(client, chance, method, notebook.path + path, *body)
    for _ in range(8):
        body = {"content": content, "title": "left behind"}
        send_and_leave(client, chance, "POST", "/v1/notebooks/import", body)
    for _ in range(4):
        body = {"profile": "min", "cells": [{"code": "1"}] * 20, "title": "left behind"}
        send_and_leave(client, chance, "POST", "/v1/notebooks", body)
    settle(client, notebook.cells)
    host.eventually(lambda: notebook.info().state == "idle")
    assert [c.index for c in notebook.cells()] == list(range(notebook.info().cell_count))
    assert notebook.run_range().failed_cell_id is None
    left = client.call("GET", "/v1/notebooks?limit=100").notebooks[:20]
    assert client.call("GET", "/v1/notebooks?limit=1").count <= before + 12
    for other in left:
        if other["title"] == "left behind":
            client.request("DELETE", f"/v1/notebooks/{other['notebook_id']}")


def send_and_leave(client, chance, method, path, body=None):
    data = json.dumps(body).encode() if body is not None else b""
    with client.connect() as sock:
        sock.sendall(client.head(method, path, Content_Length=len(data)) + b"\r\n" + data)
        time.sleep(chance.choice([0, 0.001, 0.003, 0.01]))
