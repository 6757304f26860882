"""Processes that a cell started and that outlive what ends its interpreter."""

import pytest

from harness import host

pytestmark = pytest.mark.privilege

# Interrupts are for everybody in the interpreter's group: this one ignores them once it sleeps.
START = """
import subprocess, time
old = subprocess.Popen(['bash', '-c', 'trap "" INT; exec sleep 99'])
while open(f'/proc/{old.pid}/comm').read() != 'sleep\\n': time.sleep(0.005)
"""


def test_what_ran_at_the_checkpoint_survives_a_kill_by_the_time_limit(spawn):
    session = spawn("min", checkpoints="every", durable="off")
    session.exec(START)
    session.exec("x = 1")
    answer = session.exec("""
        new = subprocess.Popen(['sleep', '1000'])
        import signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True: signal.pause()
        """, timeout_ms=1000)
    assert answer.status in ("timeout", "died"), answer
    assert answer["rolled_back_to"] is not None, answer
    assert session.out("print(open(f'/proc/{old.pid}/comm').read(), x, 'new' in globals())") == \
        "sleep\n 1 False\n"


@pytest.mark.smoke
def test_what_a_crashed_cell_started_ends_with_it(daemon, spawn):
    session = spawn("min", checkpoints="every", durable="off")
    session.exec("x = 1")
    jail = daemon.jail(session)
    answer = session.exec("""
        import os, subprocess
        for n in range(3): subprocess.Popen(['sleep', '1000'], start_new_session=n == 1)
        os._exit(1)
        """)
    assert answer["rolled_back_to"] is not None, answer
    assert session.value("x") == "1"
    names = lambda: [host.read(f"/proc/{pid}/comm").strip() for pid in jail()]  # noqa: E731
    host.eventually(lambda: "sleep" not in names(), what="the end of its processes")
