"""`cella-bench` runs, says what it measured in a stable form, and leaves nothing behind. How fast
anything is, is not tested: that is for the reader of docs/BENCHMARKS.md."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.daemon import find_binary  # noqa: E402

SECTIONS = ("idle, memory, live, mcp, tools, think, agent, spawn, oneshot, past, undo, crash, "
            "churn, load, crowd, node, bash, grep")


def bench(tmp_path, *args):
    return subprocess.run([find_binary().with_name("cella-bench"), *args], capture_output=True,
                          text=True, timeout=240, env={**os.environ, "TMPDIR": str(tmp_path)})


def test_quick_live_as_json(tmp_path):
    done = bench(tmp_path, "--quick", "--only", "live", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["quick"] is True
    assert set(report["machine"]) >= {"cpu", "cores", "kernel", "python"}
    measures = {m["name"]: m for m in report["measures"]}
    assert {"live.unix", "live.tcp", "live.raw"} <= set(measures)
    assert ("live.ipython" in measures) != ("IPython" in report["notes"])
    for name in ("live.unix", "live.tcp"):
        measure = measures[name]
        assert measure["n"] >= 1000 and measure["unit"] == "ns" and measure["is_cella"]
        assert 0 < measure["min"] <= measure["p50"] <= measure["p99"]
    rows = {row["row"]: row for row in report["rows"]}
    row = rows["live.tcp beside live.raw"]
    assert row["rounds"] >= 3 and row["value"] > 0 and row["verdict"] == "new"
    claims = report["claims"]
    assert {c["measure"] for c in claims} == {"live.tcp"}
    for claim in claims:
        assert claim["verdict"] in ("ok", "missed", "not_measured")
        assert claim["bound"] in ("at_least", "at_most")
    assert list(tmp_path.iterdir()) == [], "the temporary directory was not removed"


def test_quick_grep_beside_ripgrep(tmp_path):
    done = bench(tmp_path, "--quick", "--only", "grep", "--text", "4", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    measures = {m["name"]: m for m in report["measures"]}
    searches = ("grep.literal", "grep.pattern", "grep.words", "grep.bounded")
    for name in searches:
        assert measures[name]["n"] >= 3 and measures[name + "_one"]["n"] >= 3
        assert (name + "_rg" in measures) != ("ripgrep" in report["notes"])
    assert measures["grep.peek"]["n"] >= 600
    assert list(tmp_path.iterdir()) == [], "the text was not removed"


@pytest.mark.slow
def test_quick_bash_beside_bash_alone(tmp_path):
    done = bench(tmp_path, "--quick", "--only", "bash", "--json", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    measures = {m["name"]: m for m in report["measures"]}
    assert {"bash.live", "bash.live_pipes", "bash.spawn", "bash.spawn_plain"} <= set(measures)
    assert measures["bash.live_pipes"]["ratio_to_cella"] > 0
    assert {c["measure"] for c in report["claims"]} == {"bash.live", "bash.spawn"}
    page = (tmp_path / "BENCHMARKS.md").read_text()
    for claim in report["claims"]:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {claim['what']} |")]
        assert row.endswith(f"| {claim['verdict']} |")
    picture = (tmp_path / "benchmarks.svg").read_text()
    assert "a new bash session" in picture and "bash, no sandbox" in picture


@pytest.mark.slow
def test_quick_agent(tmp_path):
    done = bench(tmp_path, "--quick", "--only", "agent", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    measures = {m["name"]: m for m in report["measures"]}
    assert measures["agent.cell"]["n"] == 12 * measures["agent.all"]["n"] > 0
    assert ("agent.cell_ipython" in measures) != ("IPython" in report["notes"])
    assert "posit-mcp-repl: it is not installed" in report["notes"]


def test_unknown_section_is_refused(tmp_path):
    done = bench(tmp_path, "--only", "speed")
    assert done.returncode != 0
    assert SECTIONS in done.stderr


def test_output_directory_must_exist(tmp_path):
    done = bench(tmp_path, "--only", "live", "-o", str(tmp_path / "absent"))
    assert done.returncode != 0
    assert "not a directory" in done.stderr
