"""Checkpoints and saves of many sessions take turns. The daemon of these tests has one core, and so
one place for them, and one more for those that take long."""

import os

import pytest

from harness import host

pytestmark = [pytest.mark.one_mode]

MIN = "default_profile: min\n"
SESSIONS = 32

# A value that notes on the machine's clock when it is being saved, and takes a moment for it. Notes
# are made in /tmp, which is no part of what is saved.
SLOW = """
import time
class Slow:
    def __reduce__(self):
        with open('/tmp/saves', 'a') as notes:
            print(time.monotonic_ns(), end=' ', file=notes, flush=True)
            time.sleep(0.03)
            print(time.monotonic_ns(), file=notes)
        return Slow, ()
value = Slow()
"""


def on_one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def saves(session):
    """When each began and ended."""
    return [tuple(map(int, line.split()))
            for line in session.out("print(open('/tmp/saves').read())").splitlines() if line]


@pytest.mark.smoke
@pytest.mark.slow
def test_saves_of_many_sessions_are_made_one_after_the_other(launch):
    daemon = launch(config=MIN, preexec=on_one_core)
    sessions = [daemon.client.spawn() for _ in range(SESSIONS)]
    for session in sessions:
        session.exec(SLOW)
    host.eventually(lambda: any(s.info()["all_saved"] for s in sessions[:4]), "the first save")

    # Whoever waits for a save comes before those that are only due.
    hurried = daemon.client.spawn()
    asked = hurried.exec("import time; time.monotonic_ns()")
    answer = hurried.exec(SLOW, durable=True)
    assert answer["saved_through"] == answer["number"], answer
    host.eventually(lambda: all(s.info()["all_saved"] for s in sessions), "all saves")

    # Each may be asked now: what it saves again by that is not looked at.
    first = [saves(session)[0] for session in sessions]
    (own,) = saves(hurried)[:1]
    before = [at for at in first if int(asked["value"]["text"]) < at[0] < own[0]]
    after = [at for at in first if at[0] > own[0]]
    assert len(before) <= 3 and after, (len(before), len(after))
    edges = sorted([(at[0], 1) for at in [*first, own]] + [(at[1], -1) for at in [*first, own]])
    at_once = [sum(change for _, change in edges[:n]) for n in range(len(edges) + 1)]
    assert max(at_once) <= 2, at_once


def test_saves_that_hang_do_not_hold_up_others(launch):
    daemon = launch(config=MIN, preexec=on_one_core, env={"CELLA_TEST_TIME_SCALE": "0.2"})
    hang = "import time\nclass Hang:\n    def __reduce__(self): time.sleep(3600)\nx = Hang()"
    hanging = [daemon.client.spawn() for _ in range(6)]
    for session in hanging:
        session.exec(hang)
    host.eventually(lambda: daemon.client.call("GET", "/health/detailed").copying >= 1)
    good = [daemon.client.spawn() for _ in range(3)]
    for session in good:
        session.exec("x = 1")
    host.eventually(lambda: all(s.info()["all_saved"] for s in good), "the saves of the others")
    health = daemon.client.call("GET", "/health/detailed")
    assert health.copying <= 2 and not any(s.info()["all_saved"] for s in hanging), health
    assert good[0].exec("y = 2", durable=True)["saved_through"] == 2
