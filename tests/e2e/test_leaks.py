"""A short form of soak_leak.py: memory, descriptors and processes stay flat over sessions and
cells."""

import pytest
from soak_leak import Soak

pytestmark = [pytest.mark.one_mode, pytest.mark.slow]


def test_sessions_and_cells_leave_no_memory_and_no_descriptors(launch):
    daemon = launch(config="default_profile: min\n")
    scale = 4 if daemon.is_sanitized else 1
    soak = Soak(daemon)
    session = daemon.client.spawn("min")
    session.exec("1", durable=True)  # what the store opens once is open
    session.kill()
    soak.sessions(40)
    soak.cells(400)
    before = soak.measure()
    soak.sessions(150 // scale)
    soak.cells(2000 // scale)
    after = soak.measure()
    assert after["fds"] <= before["fds"], (before, after)
    assert after["warden_fds"] <= before["warden_fds"], (before, after)
    assert after["processes"] <= before["processes"], (before, after)
    # A hundred bytes for each cell would be more; what the store and the list of ended sessions
    # still learn to keep is less.
    assert after["heap_bytes"] - before["heap_bytes"] < 256 << 10, (before, after)
    if not daemon.is_sanitized:  # which maps what it likes, and finds leaks by itself
        assert after["warden_data_kb"] <= before["warden_data_kb"] + 132, "one step of its heap"
