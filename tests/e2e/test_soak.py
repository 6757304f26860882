"""Short forms of soak_mixed.py, random calls to sessions of all runtimes, and of soak_kill.py."""

import os

import pytest
import soak_kill
from soak_mixed import Soak, complaints, grown

pytestmark = pytest.mark.one_mode


def test_random_calls_leave_nothing_and_no_output_goes_astray(launch):
    daemon = launch(config="default_profile: min\n")
    soak = Soak(daemon, sessions=24, seed=os.environ.get("CELLA_SEED", "1"))
    first = soak.round(6)
    last = soak.round(12)
    if daemon.is_sanitized:  # keeps what was freed, and finds leaks by itself
        last = {**last, "rss_kb": 0, "warden_rss_kb": 0}
    assert not grown(first, last), (first, last)
    assert not complaints(daemon)


def test_random_kills_lose_nothing_that_was_safe(launch):
    data = launch.new_data()
    soak = soak_kill.Soak(lambda: launch(data, config="default_profile: min\n"), sessions=2,
                          seed=os.environ.get("CELLA_SEED", "1"))
    while soak.n_kills() < 12:
        soak.round()
