"""The disk quota of /workspace also holds for what a cell leaves running."""

import concurrent.futures
import os
import re
import signal

import pytest

from harness import host
from harness.client import ApiError

pytestmark = pytest.mark.privilege

FILLER = """
import subprocess
filler = subprocess.Popen(
    ["sh", "-c", "i=0; while [ $i -lt 60 ]; do head -c 4000000 /dev/zero > f$i; i=$((i+1)); "
     "sleep 0.05; done"], stderr=subprocess.DEVNULL)
"""

USED = "sum(os.stat(f).st_blocks * 512 for f in os.listdir('.')) // 2**20"


def test_a_process_that_outlives_its_short_cell_is_held_to_the_quota(spawn):
    """Writing fails for it; where that comes too late, the session ends and says why."""
    session = spawn("min", limits={"disk_mb": 16})
    assert session.exec(FILLER + "import os")["status"] == "ok"
    looks = []

    def is_over():
        """Its end, or that of the session: in the middle of a cell, or before the next."""
        looks.append(session.exec("filler.poll() is not None"))
        return looks[-1].status != "ok" or looks[-1]["value"]["text"] == "True"

    try:
        host.eventually(is_over, what="its end")
        if looks[-1].status == "ok":
            looks.append(session.exec(USED))
    except ApiError as error:
        assert error.status == 410 and "over its limit of 16 MB" in error.message
        return
    if looks[-1].status == "ok":
        assert int(looks[-1]["value"]["text"]) < 16 + 16 // 4 + 64
    elif looks[-1].status == "error":  # the next cell: the session was brought back for it
        assert looks[-1].rolled_back_to is not None, looks[-1]
        assert [lost["name"] for lost in looks[-1].resumed["lost"]] == ["filler"], looks[-1]
    else:
        assert looks[-1].status == "died" and looks[-1]["error"]["name"] == "DiskQuota", looks[-1]
        assert "over its limit of 16 MB" in looks[-1]["error"]["message"], looks[-1]


@pytest.mark.one_mode
def test_a_cell_that_waits_behind_one_that_fills_the_disk_runs(spawn):
    """Also if the whole sandbox ended by it, and the session comes back as it was saved."""
    session = spawn("min", limits={"disk_mb": 16})
    session.exec("x = 1", durable=True)
    fill = "[open(f'f{n}', 'wb').write(bytes(4_000_000)) for n in range(60)]"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        filling = pool.submit(session.exec, f"import time\ntry: {fill}\nfinally: time.sleep(3)")
        host.eventually(lambda: session.info().state == "busy")
        waiting = pool.submit(session.exec, "x")
        host.eventually(lambda: session.info()["queued"] == 1)
        assert filling.result().status in ("error", "died")
        assert waiting.result()["value"]["text"] == "1", waiting.result()


def end_sandbox(pid):
    """With the first process of its pid namespace all others end."""
    namespace = host.pid_namespace(pid)
    first = [each for each in host.pids() if host.pid_namespace(each) == namespace and
             re.search(r"^NSpid:.*\t1$", host.read(f"/proc/{each}/status"), re.M)]
    os.kill(first[0], signal.SIGKILL)


@pytest.mark.one_mode
def test_a_cell_that_waits_brings_back_a_session_whose_sandbox_has_ended(daemon, spawn):
    session = spawn("min")
    session.exec("x = 1", durable=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(session.exec, "import time; open('/proc/self/comm', 'w')"
                                            ".write('doomed-cell'); time.sleep(600)")
        host.eventually(lambda: host.find_by_name(daemon.tree(), "doomed-cell"))
        waiting = pool.submit(session.exec, "x")
        host.eventually(lambda: session.info()["queued"] == 1)
        end_sandbox(host.find_by_name(daemon.tree(), "doomed-cell")[0])
        assert running.result().status == "died"
        assert waiting.result()["value"]["text"] == "1", waiting.result()
