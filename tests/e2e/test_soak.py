"""Short forms of soak_mixed.py, random calls to sessions of all runtimes, of soak_kill.py and of
soak_notebook.py."""

import os
import statistics
import subprocess
import sys

import pytest
import soak_kill
import soak_notebook
from soak_mixed import Soak, complaints, grown

from harness.host import PATIENCE

pytestmark = pytest.mark.one_mode


@pytest.mark.slow
def test_random_calls_leave_nothing_and_no_output_goes_astray(launch):
    daemon = launch(config="default_profile: min\n")
    soak = Soak(daemon, sessions=24, seed=os.environ.get("CELLA_SEED", "1"))
    first = soak.round(6)
    last = soak.round(12)
    if daemon.is_sanitized:  # maps what it likes, and finds leaks by itself
        last = {**last, "warden_data_kb": 0}
    assert not grown(first, last), (first, last)
    assert not complaints(daemon)


@pytest.mark.slow
def test_random_kills_lose_nothing_that_was_safe(launch):
    data = launch.new_data()
    soak = soak_kill.Soak(lambda: launch(data, config="default_profile: min\n"), sessions=2,
                          seed=os.environ.get("CELLA_SEED", "1"))
    while soak.n_kills() < 12:
        soak.round()


@pytest.mark.slow
def test_the_last_cell_of_a_notebook_costs_what_the_first_did(launch):
    daemon = launch(config=soak_notebook.CONFIG)
    seen = soak_notebook.many_cells(daemon, 1500)
    whole = len(seen["notebook"].export().body)
    for what in ("run bytes", "add bytes"):  # no cell is a reason to write or tell all of them
        assert statistics.median(seen[what][-3:]) < whole / 4, (what, seen[what], whole)
    assert seen["memory"][-1] - seen["memory"][0] < 1 << 20, seen["memory"]
    daemon.stop()


@pytest.mark.slow
def test_images_are_kept_and_not_remembered(launch):
    daemon = launch(config=soak_notebook.CONFIG)
    seen = soak_notebook.many_images(daemon, 60)
    assert seen["largest"] < 16 * 1024
    assert max(seen["memory"][2:]) - seen["memory"][1] < 4 << 20, seen["memory"]
    daemon.stop()


@pytest.mark.slow
@pytest.mark.parametrize("cells, images", [("10", "0"), ("0", "1")])
def test_a_soak_of_one_kind_ends_as_it_should(cella, cells, images):
    command = [sys.executable, soak_notebook.__file__, "--cells", cells, "--images", images]
    done = subprocess.run(command, env={**os.environ, "CELLA": str(cella)}, capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert ("run a cell" in done.stdout, "an image" in done.stdout) == (cells != "0", images != "0")
