"""`notebook.ttl_days`: notebooks whose session is gone are deleted that long after their last
change."""

import contextlib
import pathlib
import shutil
import signal
import sqlite3
import tempfile
import time

import pytest

from harness import host
from harness.client import ApiError
from harness.notebooks import Notebook

pytestmark = pytest.mark.one_mode

SOON = {"CELLA_TEST_TIME_SCALE": "0.2"}  # of built-in waits
FIRST_LOOK = 1  # seconds after the start, so scaled
DAY_MS = 24 * 3600 * 1000
PICTURE = """
import struct, zlib
class Picture:
    def _repr_png_(self):
        def chunk(kind, data):
            body = kind + data
            return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
        head = struct.pack(">IIBBBBB", 60, 60, 8, 2, 0, 0, 0)
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
                + chunk(b"IDAT", zlib.compress(bytes(181 * 60), 0)) + chunk(b"IEND", b""))
Picture()
"""


def config(**settings):
    inside = ", ".join(f"{name}: {value}" for name, value in settings.items())
    return f"default_profile: min\nnotebook: {{{inside}}}\n"


def age(data, days):
    """As if the last change of these notebooks had been so many days ago: {id: days}."""
    with contextlib.closing(sqlite3.connect(data / "cella.db")) as db, db:
        for notebook, ago in days.items():
            at = int(time.time() * 1000) - int(ago * DAY_MS)
            changed = db.execute("UPDATE notebooks SET updated_ms=? WHERE id=?", (at, notebook))
            assert changed.rowcount == 1


def notebooks(client):
    listed = client.call("GET", "/v1/notebooks?limit=1000")["notebooks"]
    return {row["notebook_id"] for row in listed}


def leave(client, code="1"):
    """A notebook whose session is gone."""
    session = client.spawn()
    session.exec(code)
    client.call("DELETE", f"{session.path}?keep_notebook=true")
    return session.id


def make_empty(client):
    """A notebook that never had a session."""
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    return client.call("POST", "/v1/notebooks/import", {"content": content})["notebook_id"]


def test_old_notebooks_go_with_all_that_is_theirs(launch):
    daemon = launch(config=config(ttl_days=7, cells_json="true"))
    old, young = leave(daemon.client, PICTURE), leave(daemon.client, PICTURE)
    imported = make_empty(daemon.client)
    alive = daemon.client.spawn()
    alive.exec("x = 41", durable=True)
    files = {name: daemon.data / "workspaces" / "default" / name / "mcp_repl" / "cells.json"
             for name in (old, young)}
    host.eventually(lambda: all(path.exists() for path in files.values()))
    daemon.stop()
    age(daemon.data, {old: 8, young: 6, imported: 8, alive.id: 100})
    again = launch(data=daemon.data, config=config(ttl_days=7, cells_json="true"), env=SOON)
    host.eventually(lambda: notebooks(again.client) == {young, alive.id})
    host.eventually(lambda: not files[old].parents[1].exists())
    with pytest.raises(ApiError) as refused:
        again.client.call("GET", f"/v1/notebooks/{old}")
    assert refused.value.status == 404
    kept = Notebook(again.client, young).cells(outputs=True)[0]
    assert again.client.request("GET", kept["outputs"][0]["url"]).status == 200
    assert files[young].exists()
    assert Notebook(again.client, alive.id).sources() == ["x = 41"]
    # What was deleted does not come back with the next start.
    again.stop()
    third = launch(data=daemon.data, config=config(ttl_days=7))
    assert notebooks(third.client) == {young, alive.id}


@pytest.mark.slow
def test_many_pages_of_them(launch):
    daemon = launch(config=config(ttl_days=1))
    made = [make_empty(daemon.client) for _ in range(350)]
    daemon.stop()
    kept = set(made[::3])
    age(daemon.data, {name: 0 if name in kept else 2 for name in made})
    again = launch(data=daemon.data, config=config(ttl_days=1), env=SOON)
    host.eventually(lambda: notebooks(again.client) == kept)


@pytest.mark.slow
def test_another_number_of_days_counts_at_once(launch, readable):
    daemon = launch(config=config(ttl_days=0))
    ancient, old, young = (leave(daemon.client) for _ in range(3))
    daemon.stop()
    age(daemon.data, {ancient: 4000, old: 2000})
    readable.write_text(config(ttl_days=3650))
    again = launch(data=daemon.data, args=["--config", str(readable)], env=SOON)
    # The look at the start has been; the next would come in an hour.
    host.eventually(lambda: notebooks(again.client) == {old, young})
    readable.write_text(config(ttl_days=1000))
    again.process.send_signal(signal.SIGHUP)
    host.eventually(lambda: notebooks(again.client) == {young})


@pytest.mark.slow
def test_0_days_are_for_ever(launch):
    daemon = launch(config=config(ttl_days=0))
    old = leave(daemon.client)
    daemon.stop()
    age(daemon.data, {old: 4000})
    again = launch(data=daemon.data, config=config(ttl_days=0), env=SOON)
    began = time.monotonic()
    host.eventually(lambda: time.monotonic() - began > FIRST_LOOK + 1)  # nothing tells
    assert notebooks(again.client) == {old}


@pytest.fixture
def readable():
    """A configuration file that root's daemon, which is somebody else by then, can read again."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cella-test-"))
    folder.chmod(0o755)
    yield folder / "cella.yaml"
    shutil.rmtree(folder)
