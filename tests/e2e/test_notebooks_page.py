"""What docs/NOTEBOOKS.md says to type on the command line does what the page says."""

import json
import os
import re
import subprocess

import pytest

from harness.host import PATIENCE
from harness.pages import blocks
from harness.shell import Shell


class Folder(Shell):
    """A folder with the notebooks that the page speaks of."""

    def __init__(self, daemon, path):
        super().__init__(daemon.binary, daemon.user, daemon.data)
        self.path = path
        (path / "bin").mkdir()
        (path / "bin" / "cella").symlink_to(self.binary)
        self.env["PATH"] = f"{path}/bin:{self.env['PATH']}"
        # `timeout` sends two signals: one that comes while LeakSanitizer looks stops it for ever.
        self.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.write("analysis.ipynb", "print('hello')", "6 * 7")
        self.write("report.ipynb", "month = regions = code = None", "print(month, regions, [code])",
                   tags=["parameters"])
        self.write("tests.ipynb", "assert True")
        (path / "analysis.py").write_text("# %%\nprint('script')\n# %%\n1 / 0\n# %%\nprint('on')\n")
        (path / "data.csv").write_text("a,b\n1,2\n")
        (path / "images").mkdir()

    def write(self, name, first, *others, tags=()):
        cells = [{"cell_type": "code", "id": f"c{n}", "source": source, "outputs": [],
                  "metadata": {"tags": list(tags)} if n == 0 and tags else {},
                  "execution_count": None} for n, source in enumerate([first, *others])]
        notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
        (self.path / name).write_text(json.dumps(notebook))

    def type(self, mark, *changes):
        """Types the commands of the block that holds the mark; what they wrote."""
        (script,) = [block for block in blocks("docs/NOTEBOOKS.md", "sh") if mark in block]
        for old, new in changes:
            assert old in script
            script = script.replace(old, new)
        done = subprocess.run(["sh", "-eu", "-c", script], capture_output=True, text=True,
                              timeout=PATIENCE, **{**self.options(), "cwd": self.path})
        assert done.returncode == 0, done
        return done.stdout

    def texts(self, name):
        cells = json.loads((self.path / name).read_text())["cells"]
        return ["".join(line for o in cell["outputs"] for line in o.get("text", []))
                for cell in cells]


@pytest.fixture
def typed(daemon, folder):
    return Folder(daemon, folder)


@pytest.mark.smoke
def test_running_one(typed):
    told = typed.type("cella run report.ipynb")
    assert typed.texts("june.ipynb")[2] == "6 ['north', 'south'] ['007']\n"
    assert typed.texts("analysis.out.ipynb") == ["script\n", "", "on\n"]  # the last one to do so
    assert "hello" in (typed.path / "analysis.html").read_text()
    assert json.loads(told.splitlines()[-1])["status"] == "ok"


@pytest.mark.smoke
def test_converting_one(typed):
    cells = typed.path / "mcp_repl" / "cells.json"
    cells.parent.mkdir()
    cells.parent.chmod(0o777)
    typed("convert", str(typed.path / "analysis.ipynb"), "-o", str(cells), check=0)
    told = typed.type("cella convert mcp_repl")
    assert "```python\nprint('hello')\n```" in told
    assert json.loads(told.splitlines()[-1])["format"] == "markdown"
    assert "print('hello')" in (typed.path / "analysis.py").read_text()
    assert json.loads((typed.path / "analysis.ipynb").read_text())["nbformat_minor"] == 5


def test_on_the_command_line(typed, client):
    session = client.spawn()
    for n in range(6):
        session.exec(f"x = {n}")
    told = typed.type("cella notebook list", ("0b9c", session.id[:13]),
                      ("cella notebook watch", "timeout -s INT 1 cella notebook watch"),
                      ("# what happens in it", "|| true #"))
    assert session.id in told and "42\n" in told and "In [1]: x = 0" in told
    assert "Results" in (typed.path / "results.html").read_text()
    listed = {n["notebook_id"]: n for n in client.call("GET", "/v1/notebooks").notebooks}
    assert session.id not in listed
    (imported,) = re.findall(r"^notebook (\S+)", told, re.M)
    assert listed[imported]["cell_count"] == 2
    for name in (session.id, imported):
        client.request("DELETE", f"/v1/sessions/{name}")
