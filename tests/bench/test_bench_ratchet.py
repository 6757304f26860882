"""The ratchet of `cella-bench`: what was measured beside a baseline. How fast anything is, is not
tested: the baselines here are far beyond what any machine does, in one direction or the other."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.daemon import find_binary  # noqa: E402

ROW = "load beside load.echo"


def bench(tmp_path, *args):
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    done = subprocess.run([find_binary().with_name("cella-bench"), "--quick", "--only", "load",
                           *args], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "TMPDIR": str(scratch)})
    assert list(scratch.iterdir()) == [], "the temporary directory was not removed"
    return done


def write_baseline(path, *rows):
    lines = [{"row": name, "value": value, "low": value, "high": value} for name, value in rows]
    path.write_text(json.dumps({"machine": "an imagined one, 64 cores", "rows": lines}))


def row_of(done):
    (row,) = json.loads(done.stdout)["rows"]
    assert row["row"] == ROW
    return row


@pytest.mark.slow
def test_a_run_is_recorded_and_the_next_is_compared_with_it(tmp_path):
    path = tmp_path / "baseline.json"
    write_baseline(path, ("bash.live beside bash.live_pipes", 0.25), (ROW, 1e-9))
    recorded = bench(tmp_path, "--update-baseline", str(path), "--json")
    assert recorded.returncode == 0, recorded.stderr
    assert row_of(recorded)["verdict"] == "better", "than the one that it takes the place of"
    baseline = json.loads(path.read_text())
    rows = {row["row"]: row for row in baseline["rows"]}
    assert list(rows) == sorted(rows)
    assert rows["bash.live beside bash.live_pipes"]["value"] == 0.25, "it was not measured"
    assert rows[ROW]["value"] == row_of(recorded)["value"]
    assert rows[ROW]["ours"] > 0 and rows[ROW]["theirs"] > 0
    assert "imagined" not in baseline["machine"]
    assert sum(line.startswith('{"row":') for line in path.read_text().splitlines()) == 2

    # Better than it can be: the row is measured twice, and the run fails.
    rows[ROW].update(value=1e6, low=1e6, high=1e6)
    path.write_text(json.dumps(baseline))
    before = path.read_text()
    done = bench(tmp_path, "--baseline", str(path))
    assert done.returncode == 1, done.stderr + done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(ROW)]
    assert line.endswith("worse") and "1000000×" in line
    assert "another machine" not in done.stdout
    assert path.read_text() == before, "comparing writes nothing"


@pytest.mark.slow
def test_a_row_above_its_baseline_is_better(tmp_path):
    path = tmp_path / "baseline.json"
    write_baseline(path, (ROW, 1e-9))
    done = bench(tmp_path, "--baseline", str(path))
    assert done.returncode == 0, done.stderr + done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(ROW)]
    assert line.endswith("better")
    assert "the baseline is of another machine: an imagined one" in done.stdout


def refused(tmp_path, text):
    path = tmp_path / "baseline.json"
    path.write_text(text)
    done = bench(tmp_path, "--baseline", str(path))
    assert done.returncode not in (0, 1) and done.stdout == ""
    assert str(path) in done.stderr and "BASELINE=update" in done.stderr
    return done.stderr


def test_a_baseline_that_is_none_is_refused_before_anything_is_measured(tmp_path):
    assert "line 1" in refused(tmp_path, "{")
    assert "`rows`" in refused(tmp_path, '{"machine": "x"}')
    assert "numbers" in refused(tmp_path, json.dumps(
        {"machine": "x", "rows": [{"row": ROW, "value": "fast", "low": 0, "high": 9}]}))
    assert "nothing that bench measures" in refused(tmp_path, json.dumps(
        {"machine": "x", "rows": [{"row": "speed", "value": 1, "low": 1, "high": 1}]}))
    absent = bench(tmp_path, "--baseline", str(tmp_path / "absent.json"))
    assert absent.returncode not in (0, 1) and "absent.json" in absent.stderr
