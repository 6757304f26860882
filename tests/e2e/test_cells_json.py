"""`notebook.cells_json`: each notebook is also a file that the tools of mcp_repl read."""

import json
import os
import shutil
import uuid

import pytest

from harness import host
from harness.notebooks import Notebook

pytestmark = pytest.mark.privilege

CONFIG = "default_profile: min\nnotebook: {cells_json: true}\n"
CELL = {"id", "code", "state", "execution_count", "created_at", "executed_at", "execution_time",
        "number", "outputs"}
PICTURE = """
import random, struct, zlib
class Picture:
    def __init__(self, n, size=300): self.n, self.size = n, size
    def _repr_png_(self):
        def chunk(kind, data):
            body = kind + data
            return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
        noise = random.Random(self.n)
        rows = b"".join(b"\\0" + noise.randbytes(3 * self.size) for _ in range(self.size))
        head = struct.pack(">IIBBBBB", self.size, self.size, 8, 2, 0, 0, 0)
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
                + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))
"""


def path_of(daemon, session_id, user="default"):
    return daemon.data / "workspaces" / user / session_id / "mcp_repl" / "cells.json"


def read(path):
    return json.loads(path.read_text()) if path.exists() else None


def codes(path):
    return path.exists() and [cell["code"] for cell in read(path)["cells"]]


def states(path):
    return path.exists() and [cell["state"] for cell in read(path)["cells"]]


def kill(daemon):
    tree = daemon.tree()
    daemon.kill()
    host.eventually(lambda: not host.alive(tree))


def test_the_file_is_current_and_has_the_fields_of_the_reference(launch):
    daemon = launch(config=CONFIG)
    session = daemon.client.spawn()
    book = Notebook(daemon.client, session.id)
    session.exec("print('first')")
    session.exec("2")
    path = path_of(daemon, session.id)
    host.eventually(lambda: codes(path) == ["print('first')", "2"])
    file = read(path)
    assert set(file) == {"user_id", "session_id", "execution_count", "created_at", "updated_at",
                         "cells"}
    assert (file["user_id"], file["session_id"]) == ("default", session.id)
    assert file["execution_count"] == 2
    first = file["cells"][0]
    assert set(first) == CELL and (first["state"], first["number"]) == ("COMPLETED", 0)
    (output,) = first["outputs"]
    assert set(output) == {"output_type", "timestamp", "content_type", "content"}
    assert (output["output_type"], output["content_type"]) == ("TEXT", "text")
    book.delete(0)
    host.eventually(lambda: codes(path) == ["2"])
    # Nobody but the daemon's user reads it; it is never half written.
    assert path.stat().st_mode & 0o777 == 0o600 and os.listdir(path.parent) == ["cells.json"]
    assert path.parents[2].stat().st_mode & 0o777 == 0o700


@pytest.mark.one_mode
def test_it_goes_with_the_notebook_and_leaves_no_folder(launch):
    daemon = launch(config=CONFIG)
    sessions = [daemon.client.spawn() for _ in range(3)]
    paths = [path_of(daemon, session.id) for session in sessions]
    for session in sessions:
        session.exec("1")
    host.eventually(lambda: all(codes(path) == ["1"] for path in paths))
    daemon.client.call("DELETE", sessions[0].path)
    host.eventually(lambda: not paths[0].parents[1].exists())
    Notebook(daemon.client, sessions[1].id).call("DELETE")
    host.eventually(lambda: not paths[1].parents[1].exists())
    sessions[1].exec("2")  # it lives on, and begins another notebook
    host.eventually(lambda: codes(paths[1]) == ["2"])
    Notebook(daemon.client, sessions[2].id).call("POST", "/clear", {"what": "cells"})
    host.eventually(lambda: not paths[2].parents[1].exists())
    daemon.client.call("DELETE", sessions[1].path)
    host.eventually(lambda: not (daemon.data / "workspaces" / "default").exists())


def test_whatever_users_are_called(launch):
    names = [str(uuid.uuid4()), ".", "..", ".old", ".spare-0", "a" * 64, "bot:7@host+1"]
    folders = ["%" + format(ord(names[0][0]), "x") + names[0][1:], "%2e", "%2e.", "%2eold",
               "%2espare-0", "a" * 64, "bot:7@host+1"]
    agents = "".join(f'  - {{id: "{name}", repl: {{enabled: true}}}}\n' for name in names)
    daemon = launch(config=f"{CONFIG}agents:\n{agents}")
    sessions = [daemon.client.spawn(agent=name) for name in names]
    for number, session in enumerate(sessions):
        session.exec(f"open('mine', 'w').write('{number}')")
    paths = [path_of(daemon, s.id, folder) for s, folder in zip(sessions, folders)]
    for path, name in zip(paths, names):
        host.eventually(lambda path=path: path.exists())
        assert read(path)["user_id"] == name
    # What a daemon that was killed left of sessions goes at the start, and nothing else.
    workspaces = daemon.data / "workspaces"
    leftover = workspaces / str(uuid.uuid4())
    leftover.mkdir()
    shutil.copy(paths[0], leftover)
    for made in (leftover, leftover / "cells.json"):
        shutil.chown(made, workspaces.stat().st_uid, workspaces.stat().st_gid)
    kill(daemon)
    again = launch(data=daemon.data, config=f"{CONFIG}agents:\n{agents}")
    host.eventually(lambda: not leftover.exists())
    assert all(path.exists() for path in paths)
    again.client.spawn().exec("1")
    assert all(read(path)["user_id"] == name for path, name in zip(paths, names))


def test_code_sees_neither_its_own_nor_anothers(launch):
    daemon = launch(config=CONFIG)
    one, other = daemon.client.spawn(), daemon.client.spawn()
    one.exec("secret = 1")
    path = path_of(daemon, one.id)
    host.eventually(path.exists)
    for session in (one, other):
        found = session.exec(f"""
            import os
            seen = [os.path.join(top, name) for top, dirs, names in os.walk("/", onerror=None)
                    if not top.startswith(("/proc", "/sys", "/usr")) for name in dirs + names
                    if name in ("cells.json", "mcp_repl", "{one.id}")]
            for way in ("{path}", "/ws/default/{one.id}/mcp_repl/cells.json",
                        "/workspace/../default/{one.id}/mcp_repl/cells.json"):
                if os.path.exists(way): seen.append(way)
            seen
        """)
        assert found["value"]["text"] == "[]", found


def put_back(path, old, owner):
    """A file, and its folders, as they were before."""
    text, times = old
    for folder in reversed(path.parents[:3]):
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, owner.st_uid, owner.st_gid)
    path.write_bytes(text)
    shutil.chown(path, owner.st_uid, owner.st_gid)
    os.utime(path, ns=times)


@pytest.mark.one_mode
def test_after_kill_9_it_is_brought_up_to_date_at_the_start(launch):
    daemon = launch(config=CONFIG)
    changed, deleted, same = (daemon.client.spawn() for _ in range(3))
    for session in (changed, deleted, same):
        session.exec("'before'")
    paths = [path_of(daemon, s.id) for s in (changed, deleted, same)]
    # Nothing more is to be written; a cell that takes long is written while it runs, too.
    host.eventually(lambda: all(states(path) == ["COMPLETED"] for path in paths))
    old = [(path.read_bytes(), (path.stat().st_atime_ns, path.stat().st_mtime_ns))
           for path in paths]
    changed.exec("'after'")
    changed.exec("import time; time.sleep(60)", yield_ms=50)
    daemon.client.call("DELETE", deleted.path)
    kill(daemon)
    for path, was in zip(paths[:2], old):  # whether it came to write them or not
        put_back(path, was, (daemon.data / "workspaces").stat())
    known = paths[2].stat()
    again = launch(data=daemon.data, config=CONFIG)
    host.eventually(lambda: not paths[1].parents[1].exists())
    host.eventually(lambda: len(codes(paths[0])) == 3)
    assert states(paths[0]) == ["COMPLETED", "COMPLETED", "ERROR"]
    # What is current is not written again.
    assert paths[2].stat().st_ino == known.st_ino
    assert Notebook(again.client, same.id).sources() == ["'before'"]


@pytest.mark.slow
@pytest.mark.one_mode
def test_images_beyond_32_mib_are_references(launch):
    daemon = launch(config=CONFIG)
    session = daemon.client.spawn()
    session.exec(PICTURE)
    session.exec("for n in range(14): display(Picture(n, 1000))", timeout_ms=120_000)
    session.exec("1")
    path = path_of(daemon, session.id)
    host.eventually(lambda: path.exists() and len(codes(path)) == 3)
    file = read(path)
    images = [output for output in file["cells"][1]["outputs"]]
    kinds = [image["content_type"] for image in images]
    assert kinds == ["image"] * 11 + ["image_reference"] * 3
    assert set(images[0]["content"]) == {"data", "format", "width", "height", "source", "metadata"}
    assert set(images[-1]["content"]) == {"resource_uri", "format", "width", "height", "source",
                                          "metadata"}
    uri = images[-1]["content"]["resource_uri"]
    cell = file["cells"][1]["id"]
    assert uri == f"notebook://{session.id}/cell/{cell}/image/13"
    there = daemon.client.call("GET", f"/v1/notebooks/{session.id}/reference?uri={uri}")
    assert (there["width"], there["height"]) == (1000, 1000)
