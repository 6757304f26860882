"""The disk quota of /workspace also holds for what a cell leaves running."""

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
