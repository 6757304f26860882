#!/usr/bin/python3
"""Notebooks at length: many cells, and many large images.

    tests/e2e/soak_notebook.py [--cells 10000] [--images 1000]

The first counts what it costs to record a cell, of the first tenth and of the last; both look at
the daemon's memory while they run."""

import argparse
import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness import daemon as daemons  # noqa: E402
from harness import host  # noqa: E402
from harness.notebooks import Notebook  # noqa: E402

CONFIG = "default_profile: min\nnotebook:\n  max_cells: 20000\n"

# A picture of about a megabyte that no two cells share: noise does not compress.
PICTURE = """
import os, struct, zlib
def chunk(kind, data):
    check = struct.pack('>I', zlib.crc32(kind + data))
    return struct.pack('>I', len(data)) + kind + data + check
def picture(side=512):
    rows = b''.join(b'\\0' + os.urandom(4 * side) for _ in range(side))
    head = struct.pack('>IIBBBBB', side, side, 8, 6, 0, 0, 0)
    body = chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows, 0)) + chunk(b'IEND', b'')
    return b'\\x89PNG\\r\\n\\x1a\\n' + body
class Picture:
    def _repr_png_(self): return picture()
"""


def cpu_seconds(pid):
    """Processor time of all threads, also of those that have ended: what a busy machine does not
    change."""
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid() makes it


class Wire:
    """One connection, as little in the way as can be."""

    def __init__(self, client):
        self.connection = http.client.HTTPConnection(*client.address, timeout=host.PATIENCE)
        self.headers = {**client.headers(), "Content-Type": "application/json"}

    def post(self, path, body):
        """The answer's bytes, and the seconds it took."""
        data = json.dumps(body)
        begun = time.perf_counter()
        self.connection.request("POST", path, data, self.headers)
        reply = self.connection.getresponse()
        answer = reply.read()
        assert reply.status in (200, 201), answer[:300]
        return answer, time.perf_counter() - begun


def ms(seconds):
    return f"{seconds * 1000:.3f} ms"


def many_cells(daemon, n):
    """Runs n cells, and adds a tenth as many in the middle, in ten parts; for both the medians of
    seconds, the daemon's processor time and the bytes that it wrote for each cell, part by part."""
    session = daemon.client.spawn("min", checkpoints="off")
    notebook, wire = Notebook(daemon.client, session.id), Wire(daemon.client)
    seen = {key: [] for key in ("run", "run cpu", "run bytes", "add", "add cpu", "add bytes",
                                "memory")}
    part = max(n // 10, 1)
    for i in range(10):
        begun, written = cpu_seconds(daemon.pid), host.bytes_written(daemon.pid)
        times = [wire.post(f"{session.path}/exec", {"code": str(k)})[1] for k in range(part)]
        seen["run"].append(statistics.median(times))
        seen["run cpu"].append((cpu_seconds(daemon.pid) - begun) / part)
        seen["run bytes"].append((host.bytes_written(daemon.pid) - written) / part)
        begun, few = cpu_seconds(daemon.pid), max(part // 10, 1)
        written = host.bytes_written(daemon.pid)
        times = [wire.post(f"{notebook.path}/cells", {"code": "x", "at": i * part // 2})[1]
                 for _ in range(few)]
        seen["add"].append(statistics.median(times))
        seen["add cpu"].append((cpu_seconds(daemon.pid) - begun) / few)
        seen["add bytes"].append((host.bytes_written(daemon.pid) - written) / few)
        seen["memory"].append(daemon.heap_bytes())
    assert notebook.info().cell_count == 10 * part + 10 * few
    assert notebook.cell(-1).status == "ok"
    return {**seen, "notebook": notebook}


def many_images(daemon, n, each=10):
    """n images of a megabyte, some to a cell: (bytes of the largest answer, memory)."""
    session = daemon.client.spawn("min", checkpoints="off", limits={"memory_mb": 512})
    session.exec(PICTURE)
    wire, largest, memory, seconds = Wire(daemon.client), 0, [daemon.heap_bytes()], []
    for _ in range(n // each):
        code = f"for _ in range({each}): display(Picture())"
        answer, took = wire.post(f"{session.path}/exec", {"code": code, "timeout_ms": 60_000})
        largest = max(largest, len(answer))
        seconds.append(took / each)
        outputs = json.loads(answer)["outputs"]
        is_small = all("data" not in o and o.get("bytes", 0) > 1_000_000 for o in outputs)
        assert is_small and len(outputs) == each, answer[:500]
        memory.append(daemon.heap_bytes())
    return {"largest": largest, "memory": memory, "seconds": seconds,
            "notebook": Notebook(daemon.client, session.id)}


def show(label, *columns):
    print(f"{label:<38}" + "".join(f"{column:>16}" for column in columns), flush=True)


def show_cells(daemon, n):
    cells = many_cells(daemon, n)
    show(f"{n} cells", "first tenth", "last tenth")
    for what, label in (("run", "run a cell"), ("add", "add one in the middle")):
        show(f"{label}, median", ms(cells[what][0]), ms(cells[what][-1]))
        cpu = cells[f"{what} cpu"]
        show(f"{label}, daemon's cpu", ms(cpu[0]), ms(cpu[-1]))
    show("daemon's memory", f"{cells['memory'][0]} bytes", f"{cells['memory'][-1]} bytes")
    cells["notebook"].call("DELETE")


def show_images(daemon, n):
    images = many_images(daemon, n)
    part = max(len(images["seconds"]) // 10, 1)
    show(f"{n} images of 1 MB", "first tenth", "last tenth")
    first, last = images["seconds"][:part], images["seconds"][-part:]
    show("an image, median", ms(statistics.median(first)), ms(statistics.median(last)))
    show("daemon's memory", f"{images['memory'][1]} bytes", f"{images['memory'][-1]} bytes")
    show("largest answer of ten images", "", f"{images['largest']} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000, help="0: none")
    parser.add_argument("--images", type=int, default=1000, help="in tens; 0: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as top:
        daemon = daemons.Daemon(daemons.find_binary(), pathlib.Path(top) / "data", config=CONFIG)
        try:
            if options.cells > 0:
                show_cells(daemon, options.cells)
            if options.images > 0:
                show_images(daemon, max(options.images, 10))
        finally:
            daemon.stop()


if __name__ == "__main__":
    main()
