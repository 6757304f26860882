"""Notebooks against a model of them: random operations of one caller, whose every answer is known
beforehand; and of many at once, after which what must be true whatever came first is looked at.

    CELLA_MODEL_ROUNDS=100 CELLA_SEED=7    for longer than a suite has time for"""

import contextlib
import http.client
import json
import os
import random
import threading
import time
import zlib

import pytest

from harness import host
from harness.client import ApiError, Client
from harness.notebooks import Notebook, settle, text_of

pytestmark = pytest.mark.one_mode

ROUNDS = int(os.environ.get("CELLA_MODEL_ROUNDS", "1"))
SEED = os.environ.get("CELLA_SEED", "1")
KINDS = ["code", "code", "code", "markdown", "raw"]
PICTURE = """
import struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
class Picture:
    def __init__(self, n): self.n = n
    def _repr_png_(self):
        head = struct.pack('>IIBBBBB', self.n, 1, 8, 0, 0, 0, 0)
        row = zlib.compress(bytes(self.n + 1))
        return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + chunk(b'IDAT', row) +
                chunk(b'IEND', b''))
"""


SHOWN = "display(type('P', (), {{'_repr_svg_': lambda _: '<svg>{}</svg>'}})())"


class Mirror:
    """What a watcher knows of a notebook from its events alone."""

    def __init__(self, notebook):
        self.notebook, self.problem = notebook, None
        self.cells, self.states, self.seq, self.is_over = [], {}, None, False
        self.stream = notebook.events()
        next(self.stream)
        for cell in notebook.cells():
            self.cells.append(cell.cell_id)
            self.states[cell.cell_id] = cell.status
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            for name, data in self.stream:
                if name == "result":
                    break
                self.apply(name, data)
        self.is_over = True

    def apply(self, name, data):
        if name == "lagged":
            self.problem = self.problem or data
            return
        if self.seq is not None and data.get("seq") != self.seq + 1:
            self.problem = self.problem or f"{data} after {self.seq}"
        self.seq = data.get("seq", self.seq)
        if name == "cell_added":
            if data.cell.cell_id not in self.states:
                self.cells.insert(data.cell.index, data.cell.cell_id)
            self.states[data.cell.cell_id] = data.cell.status
        elif name == "cell_changed" and data.cell.cell_id in self.states:
            self.states[data.cell.cell_id] = data.cell.status
        elif name in ("cell_removed", "cell_moved") and data["cell_id"] in self.cells:
            self.cells.remove(data["cell_id"])
            if name == "cell_moved":
                self.cells.insert(data["index"], data["cell_id"])
            else:
                self.states.pop(data["cell_id"])
        elif name == "cells_cleared" and data.what == "cells":
            self.cells, self.states = [], {}

    def agrees(self):
        return self.cells == [cell.cell_id for cell in self.notebook.cells()]


class Model:
    """A notebook as it has to be, and a caller who changes both."""

    def __init__(self, client, seed):
        self.client, self.random = client, random.Random(seed)
        self.cells, self.n, self.log, self.target, self.before = [], 0, [], None, []
        self.problem = None
        self.begin()

    def begin(self):
        self.session, self.is_lost = self.client.spawn("min", checkpoints="off"), False
        self.notebook = Notebook(self.client, self.session.id)

    def pick(self):
        """A cell of both, by some name of it: (index, name)."""
        at = self.random.randrange(len(self.cells))
        self.target = self.cells[at]["cell_id"]
        names = [self.target, at, at - len(self.cells)]
        return at, self.random.choice(names)

    def source(self):
        self.n += 1
        return self.random.choice([f"{self.n} + 1", f"print({self.n})", f"1 / 0 # {self.n}",
                                   SHOWN.format(self.n)])

    def step(self):
        steps = [self.add] * 4 + [self.exec] * 3 + [self.edit, self.move, self.move, self.delete,
                                                    self.run, self.run, self.clear, self.refuse]
        rare = [self.clear_outputs, self.clear_cells, self.run_range, self.take, self.drop]
        what = self.random.choice(steps * 4 + rare)
        if not self.cells and what not in (self.add, self.exec):
            what = self.add
        self.log.append(what.__name__)
        what()

    def add(self):
        kind, source = self.random.choice(KINDS), self.source()
        at = self.random.choice([None, 0, self.random.randrange(len(self.cells) + 3), -1])
        members = {} if at is None else {"at": at}
        end = at is None or at < 0 or at > len(self.cells)
        at = len(self.cells) if end else at
        answer = self.notebook.call("POST", "/cells", {"code": source, "kind": kind, **members})
        assert (answer.cell.index, answer.cell_count) == (at, len(self.cells) + 1)
        self.cells.insert(at, {"cell_id": answer.cell.cell_id, "kind": kind, "code": source,
                               "status": "idle", "revision": 1})

    def exec(self):
        source = self.source()
        if self.is_lost:
            answer = self.notebook.add(source, run=True)  # makes a session of the same id
        else:
            answer = self.session.exec(source)
        assert self.notebook.index(answer) == len(self.cells), self.log
        self.cells.append({"cell_id": answer.cell_id, "kind": "code", "code": source,
                           "status": self.ran(source, answer), "revision": 1})

    def ran(self, source, answer=None):
        state = "error" if source.startswith("1 / 0") else "ok"
        if answer is not None:
            assert answer.status == {"error": "error", "ok": "ok"}[state], answer
        return state

    def edit(self):
        at, name = self.pick()
        cell, members = self.cells[at], {"code": self.source()}
        if self.random.random() < 0.3:
            members["kind"] = self.random.choice(KINDS)
        if self.random.random() < 0.5:
            members["revision"] = cell["revision"]
        answer = self.notebook.edit(name, **members)
        cell.update({k: v for k, v in members.items() if k != "revision"})
        cell["revision"] += 1
        if cell["kind"] != "code":
            cell["status"] = "idle"  # text has no run
        assert (answer.revision, answer.index) == (cell["revision"], at)

    def move(self):
        at, name = self.pick()
        to = self.random.choice([-1, self.random.randrange(len(self.cells) + 2)])
        cell = self.cells.pop(at)
        there = len(self.cells) if to < 0 or to > len(self.cells) else to
        self.cells.insert(there, cell)
        assert self.notebook.move(name, to).index == there, self.log

    def delete(self):
        at, name = self.pick()
        cell = self.cells.pop(at)
        answer = self.notebook.delete(name)
        assert (answer.deleted_cell_id, answer.cell_count) == (cell["cell_id"], len(self.cells))

    def run(self):
        at, name = self.pick()
        cell = self.cells[at]
        if cell["kind"] != "code":
            assert self.client.request("POST", f"{self.notebook.path}/cells/{name}/run",
                                       {}).status == 400
            return
        answer = self.notebook.run(name)
        assert (answer.cell_id, self.notebook.index(answer)) == (cell["cell_id"], at)
        cell["status"] = self.ran(cell["code"], answer)

    def clear(self):
        at, name = self.pick()
        self.notebook.clear(name)
        self.cells[at]["status"] = "idle"

    def clear_outputs(self):
        self.notebook.call("POST", "/clear", {"what": "outputs"})
        for cell in self.cells:
            cell["status"] = "idle"

    def clear_cells(self):
        assert self.notebook.call("POST", "/clear", {"what": "cells"}).cell_count == 0
        self.cells = []

    def run_range(self):
        first, last = sorted(self.random.choices(range(len(self.cells)), k=2))
        goes_on = self.random.random() < 0.5
        answer = self.notebook.run_range(**{"from": str(first), "to": self.cells[last]["cell_id"],
                                            "stop_on_error": not goes_on})
        failed, ran = None, []
        for cell in self.cells[first:last + 1]:
            if cell["kind"] != "code" or (failed and not goes_on):
                continue
            cell["status"] = self.ran(cell["code"])
            ran.append(cell["cell_id"])
            failed = failed or (cell["cell_id"] if cell["status"] == "error" else None)
        assert [c["cell_id"] for c in answer.cells] == ran and answer.ran == len(ran), answer
        assert answer.failed_cell_id == failed

    def refuse(self):
        """What cannot be changes nothing."""
        cell = self.random.choice(self.cells)
        path = f"{self.notebook.path}/cells"
        for method, where, body, status in (
                ("PATCH", f"/{cell['cell_id']}",
                 {"code": "x", "revision": cell["revision"] + 1}, 409),
                ("POST", "", {"code": "x", "cell_id": cell["cell_id"]},
                 400 if cell["cell_id"].isdigit() else 409),  # that would be a number
                ("DELETE", f"/{len(self.cells)}", None, 404),
                ("POST", "/nobody/move", {"to": 0}, 404)):
            reply = self.client.request(method, path + where, body)
            assert reply.status == status, (where, body, reply)

    def take(self):
        """The whole of it goes out and comes in as another."""
        text = json.loads(self.notebook.export("ipynb").body)
        made = self.client.call("POST", "/v1/notebooks/import", {"content": text})
        copy = Notebook(self.client, made.notebook_id)
        seen = [(c.cell_id, c.kind, c.code, c.index) for c in copy.cells()]
        assert seen == [(c["cell_id"], c["kind"], c["code"], i) for i, c in enumerate(self.cells)]
        copy.call("DELETE")

    def drop(self):
        """The session goes on with an empty notebook."""
        self.notebook.call("DELETE")
        self.cells = []
        assert self.client.request("GET", self.notebook.path + "/cells/0").status == 404
        if self.is_lost:
            self.begin()
        self.add()

    def check(self):
        members = ("cell_id", "kind", "code", "status", "revision")
        found = self.notebook.cells(outputs=True)
        assert [{m: c[m] for m in members} for c in found] == self.cells, self.log[-20:]
        self.check_whole(found)

    def check_whole(self, found):
        assert [c.index for c in found] == list(range(len(found)))
        assert self.notebook.info().cell_count == len(found)
        for cell, output in [(c, o) for c in found for o in c.outputs if o.get("url")]:
            reply = self.client.request("GET", output["url"])
            assert (reply.status, len(reply.body)) == (200, output["bytes"]), (reply, cell)

    def work(self):
        """Until the daemon is gone; what it was doing then is in the log."""
        try:
            while True:
                self.before = [dict(cell) for cell in self.cells]
                self.target = None
                self.step()
        except (OSError, http.client.HTTPException):
            return
        except Exception as problem:
            self.problem = repr(problem)

    def go_on(self, client):
        """With what the next daemon has: all that was answered, and of what was under way as much
        as there is."""
        assert self.problem is None, (self.problem, self.log)
        self.client, self.notebook = client, Notebook(client, self.notebook.id)
        self.session.client = client
        # It may not have been saved yet.
        self.is_lost = client.request("GET", self.session.path).status == 404
        found, what = self.found(), self.log[-1]
        order = [c.cell_id for c in found if c.cell_id != self.target]
        sure = [c for c in self.before if c["cell_id"] != self.target]
        if what in ("add", "exec") and len(order) == len(sure) + 1:
            (new,) = set(order) - {c["cell_id"] for c in sure}
            order.remove(new)
        if what in ("clear_cells", "drop") and len(found) <= 1:
            sure, order = [], []
        assert order == [c["cell_id"] for c in sure], (what, order, sure)
        by_id = {c.cell_id: c for c in found}
        for cell in sure:
            seen = {m: by_id[cell["cell_id"]][m] for m in cell}
            if what in ("run_range", "clear_outputs"):
                seen["status"] = cell["status"]
            assert seen == cell, (what, seen)
        died_before = {c["cell_id"] for c in self.before if c["status"] == "died"}
        assert sum(c.status == "died" and c.cell_id not in died_before for c in found) <= 1
        self.adopt(found)

    def found(self):
        reply = self.client.request("GET", self.notebook.path)
        if reply.status == 404:
            assert self.log[-1] == "drop" or not self.before
            if self.is_lost:
                self.begin()
            return []
        found = self.notebook.cells(outputs=True)
        self.check_whole(found)
        return found

    def adopt(self, found):
        members = ("cell_id", "kind", "code", "status", "revision")
        self.cells = [{m: c[m] for m in members} for c in found]


@pytest.mark.parametrize("part", range(2))
def test_what_one_caller_does_is_what_is_there(client, part):
    model = Model(client, f"{SEED} {part}")
    for i in range(100 * ROUNDS):
        model.step()
        if i % 10 == 9:
            model.check()
    model.check()
    client.call("DELETE", model.session.path)


@pytest.mark.each_mode
def test_kill_9_at_any_time_leaves_what_was_answered(launch):
    chance, data = random.Random(SEED), launch.new_data()
    daemon = launch(data=data, config="default_profile: min\n")
    models = [Model(daemon.client, f"{SEED} {part}") for part in range(2)]
    for _ in range(3 * ROUNDS):
        for model in models:
            model.client.timeout = 20
        threads = [threading.Thread(target=model.work) for model in models]
        for thread in threads:
            thread.start()
        threads[0].join(chance.uniform(0.05, 1.5))
        tree = daemon.tree()
        daemon.kill()
        host.eventually(lambda: not host.alive(tree))
        for thread in threads:
            thread.join()
        daemon = launch(data=data, config="default_profile: min\n")
        for model in models:
            model.go_on(daemon.client)
    daemon.stop()


class Caller:
    """One of many who work on one notebook, and do not wait for each other."""

    def __init__(self, crowd, seed):
        self.crowd, self.random = crowd, random.Random(seed)
        self.client, self.notebook = Client(crowd.client.address, crowd.client.key, 120), None

    def work(self, n):
        for _ in range(n):
            steps = [self.add, self.add, self.edit, self.move, self.delete, self.run, self.run,
                     self.exec, self.exec, self.clear, self.read, self.run_range, self.vanish,
                     self.interrupt]
            rare = [self.clear_all, self.describe, self.export, self.drop, self.end_session]
            step = self.random.choice(steps * 3 + rare)
            try:
                step()
            except ApiError as refusal:
                assert refusal.status in (400, 404, 409, 410, 429), (step.__name__, refusal)

    def cell(self):
        """Anybody's, or a number."""
        known = list(self.crowd.sources)
        names = [self.random.choice(known)] if known else []
        return self.random.choice([*names, self.random.randrange(-3, 12)])

    def code(self):
        n = self.crowd.next()
        return self.random.choice([
            f"{n} + 1", f"print({n})", f"1 / 0 # {n}", f"import time; time.sleep(0.05) # {n}",
            f"from IPython.display import clear_output # {n}\nprint(1); clear_output(); print(2)",
            f"display(Picture({n % 200 + 1})); Picture(1)"])

    def add(self):
        source, begun = self.code(), self.crowd.epoch
        answer = self.notebook.call("POST", "/cells", {
            "code": source, "at": self.random.randrange(-1, 20)})
        self.crowd.answered(answer.cell.cell_id, source, begun)

    def exec(self):
        source, begun = self.code(), self.crowd.epoch
        path = f"/v1/sessions/{self.notebook.id}/exec"
        members = self.random.choice([{}, {"yield_ms": 0}, {"timeout_ms": 30}])
        answer = self.client.call("POST", path, {"code": source, **members})
        if answer.get("cell_id"):
            self.crowd.answered(answer.cell_id, source, begun)

    def edit(self):
        mine = self.crowd.of(self)
        if not mine:
            return
        name, source = self.random.choice(mine), self.code()
        self.crowd.forget(name)
        begun = self.crowd.epoch
        self.notebook.edit(name, code=source)
        self.crowd.answered(name, source, begun)

    def move(self):
        self.notebook.move(self.cell(), self.random.randrange(-1, 20))

    def delete(self):
        name = self.cell()
        with self.crowd.doubt(None if isinstance(name, int) else name):
            self.notebook.delete(name)

    def run(self):
        self.notebook.run(self.cell(), **self.random.choice([{}, {"yield_ms": 0}]))

    def clear(self):
        self.notebook.clear(self.cell())

    def read(self):
        cells = self.notebook.cells(outputs=True)
        assert all(text_of(c) is not None for c in cells)

    def run_range(self):
        self.notebook.run_range(**self.random.choice(
            [{}, {"from": str(self.random.randrange(4))}, {"stop_on_error": False}]))

    def interrupt(self):
        self.client.call("POST", f"/v1/sessions/{self.notebook.id}/interrupt", {})

    def vanish(self):
        """Asks, and does not wait for the answer."""
        path, body = self.random.choice([
            ("/run", {}), ("/run", {"on_disconnect": "cancel"}), ("/cells/0/run", {}),
            ("/cells/-1/run", {}), ("/cells", {"code": self.code(), "run": True})])
        with self.client.connect() as sock:
            sock.sendall(self.client.post_bytes(self.notebook.path + path, body))
            time.sleep(self.random.random() * 0.02)

    def clear_all(self):
        what = self.random.choice(["outputs", "outputs", "cells"])
        with self.crowd.doubt(None) if what == "cells" else contextlib.nullcontext():
            self.notebook.call("POST", "/clear", {"what": what})

    def describe(self):
        self.notebook.call("PATCH", "", {"title": f"t{self.crowd.next()}"})

    def export(self):
        form = self.random.choice(["ipynb", "html", "markdown", "script", "cells-json"])
        reply = self.client.request("GET", f"{self.notebook.path}/export?format={form}")
        assert reply.status in (200, 400, 404), reply

    def drop(self):
        with self.crowd.doubt(None):
            self.notebook.call("DELETE")

    def end_session(self):
        """A run brings another."""
        self.client.call("DELETE", f"/v1/sessions/{self.notebook.id}?keep_notebook=true")


class Crowd:
    """Callers of one notebook, and what must be there whoever came first."""

    def __init__(self, client, seed, n=5):
        self.client, self.lock, self.n, self.epoch = client, threading.Lock(), 0, 0
        self.sources = {}  # id -> source: answered, and nobody tried to remove it since
        self.mirror, self.failures = None, []
        self.callers = [Caller(self, f"{seed} {i}") for i in range(n)]
        self.begin()

    def begin(self):
        """On a notebook of their own."""
        self.session = self.client.spawn("min", checkpoints="off")
        self.notebook = Notebook(self.client, self.session.id)
        self.session.exec(PICTURE)
        self.sources = {}
        for caller in self.callers:
            caller.notebook = Notebook(caller.client, self.session.id)
        self.mirror = Mirror(self.notebook)

    def next(self):
        with self.lock:
            self.n += 1
            return self.n

    def answered(self, cell, source, begun):
        with self.lock:
            if begun == self.epoch:
                self.sources[cell] = source

    def of(self, caller):
        """Each cell is edited by one of them only, so that it is known what it says."""
        at = self.callers.index(caller)
        with self.lock:
            return [c for c in self.sources if zlib.crc32(c.encode()) % len(self.callers) == at]

    def forget(self, cell):
        with self.lock:
            self.epoch += 1
            if cell is None:
                self.sources.clear()
            else:
                self.sources.pop(cell, None)

    @contextlib.contextmanager
    def doubt(self, cell):
        """Around a removal of this cell; None: of one that is not known, or of all."""
        self.forget(cell)
        try:
            yield
        finally:
            self.forget(cell)

    def round(self, n):
        threads = [threading.Thread(target=self.keep, args=(c, n)) for c in self.callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.failures, self.failures
        settle(self.client, self.cells)

    def keep(self, caller, n):
        try:
            caller.work(n)
        except Exception as problem:
            self.failures.append(repr(problem))

    def cells(self):
        try:
            return self.notebook.cells(outputs=True)
        except ApiError as missing:
            assert missing.status == 404
            return []

    def check(self):
        found = self.cells()
        assert [c.index for c in found] == list(range(len(found)))
        by_id = {c.cell_id: c for c in found}
        assert len(by_id) == len(found)
        for cell, source in self.sources.items():
            assert cell in by_id, (cell, source)
            assert by_id[cell].code == source
        for cell in found:
            for output in cell.outputs:
                if output["type"] == "image":
                    reply = self.client.request("GET", output["url"])
                    assert (reply.status, len(reply.body)) == (200, output["bytes"]), output
        if found:
            assert self.notebook.info().cell_count == len(found)
            self.check_next(len(found))

        self.check_mirror()

    def check_mirror(self):
        is_there = self.client.request("GET", self.notebook.path).status == 200
        if not is_there:
            self.end()
            self.begin()
        elif self.mirror.is_over:
            self.mirror = Mirror(self.notebook)
        host.eventually(self.mirror.agrees)
        assert self.mirror.problem is None, self.mirror.problem

    def end(self):
        self.client.request("DELETE", self.session.path)
        self.client.request("DELETE", self.notebook.path)

    def check_next(self, n):
        path = f"/v1/sessions/{self.notebook.id}/exec"
        reply = self.client.request("POST", path, {"code": "0"})
        if reply.status == 200:
            assert self.notebook.index(reply.json) == n
            assert self.notebook.info().cell_count == n + 1


@pytest.mark.slow
def test_what_many_do_at_once_leaves_a_notebook(client):
    for part in range(ROUNDS):
        crowd = Crowd(client, f"{SEED} {part}")
        for _ in range(6):
            crowd.round(25)
            crowd.check()
        crowd.end()
