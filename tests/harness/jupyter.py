"""The Jupyter of this machine: notebooks as its pages, and run by it (nbclient and ipykernel),
without a network, as `cella run` runs them. What came of a run is kept in a folder, so that the
next comparison is quick."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from .host import PATIENCE

CELL_SECONDS = 20
NOTEBOOK_SECONDS = 900
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Named like that of an ordinary user: the interpreter that has the packages.
PYTHON = os.environ.get("CELLA_TEST_JUPYTER", "/usr/bin/python3")

# In a process of its own: a network namespace that has nothing but its loopback.
PROGRAM = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
client = NotebookClient(notebook, timeout=int(sys.argv[3]), kernel_name="python3",
                        allow_errors=True, interrupt_on_timeout=True,
                        resources={"metadata": {"path": sys.argv[4]}})
client.execute()
with open(sys.argv[2], "w") as file:
    json.dump(notebook, file)
"""


def page_of(path):
    """What nbconvert makes of a notebook; it must be able to open it."""
    done = subprocess.run(["jupyter-nbconvert", "--to", "html", path.name], cwd=path.parent,
                          capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, "HOME": str(path.parent)})
    assert done.returncode == 0, done.stderr
    return path.with_suffix(".html").read_text()


def stripped(notebook):
    """A notebook as it is before a run, as far as Jupyter is concerned."""
    cells = []
    for number, cell in enumerate(notebook["cells"]):
        kept = {"id": f"c{number}", "cell_type": cell["cell_type"], "source": cell["source"],
                "metadata": {"tags": cell.get("metadata", {}).get("tags", [])}}
        if cell["cell_type"] == "code":
            kept.update(outputs=[], execution_count=None)
        cells.append(kept)
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


def is_there():
    done = subprocess.run([PYTHON, "-c", "import nbclient, ipykernel"], capture_output=True)
    return done.returncode == 0


def execute(notebook, cell_seconds=CELL_SECONDS, env=()):
    """The notebook with the outputs of a run; RuntimeError if there is none."""
    with tempfile.TemporaryDirectory(prefix="jupyter-") as name:
        folder = pathlib.Path(name)
        (folder / "in.ipynb").write_text(json.dumps(stripped(notebook)))
        (folder / "workspace").mkdir()
        isolate = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
        command = [*isolate, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", PYTHON, "-c",
                   PROGRAM, folder / "in.ipynb", folder / "out.ipynb", str(cell_seconds),
                   folder / "workspace"]
        whole = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        whole.update(HOME=name, IPYTHONDIR=str(folder / "ipython"), MPLCONFIGDIR=_fonts())
        whole.update(env)
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=whole,
                                  timeout=NOTEBOOK_SECONDS)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"Jupyter took longer than {NOTEBOOK_SECONDS} s") from None
        if done.returncode != 0:
            raise RuntimeError(f"Jupyter: {done.stderr.strip()[-500:]}")
        return json.loads((folder / "out.ipynb").read_text())


def _fonts():
    """matplotlib's list of fonts, which takes a while to make, and would be told of in a cell."""
    folder = pathlib.Path(tempfile.gettempdir()) / f"jupyter-matplotlib-{os.geteuid()}"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        subprocess.run([PYTHON, "-c", "import matplotlib.font_manager"], capture_output=True,
                       env={**os.environ, "MPLCONFIGDIR": str(folder)})
    return str(folder)


def outputs_of(notebook, cache, run, cell_seconds=CELL_SECONDS):
    """The same from `cache`, or put there. `run` counts runs of one notebook: the first has one
    thread for linear algebra, as a session has, the others what is usual, so that what depends on
    that differs between them. None: it cannot be run to its end here, which is kept too."""
    text = json.dumps([stripped(notebook), cell_seconds], sort_keys=True)
    kept = cache / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}-{run}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    try:
        made = execute(notebook, cell_seconds, ONE_THREAD if run == 0 else {})
    except RuntimeError as e:
        print(e, file=sys.stderr)
        made = None
    cache.mkdir(parents=True, exist_ok=True)
    kept.with_suffix(".new").write_text(json.dumps(made))
    kept.with_suffix(".new").replace(kept)
    return made
