"""The disk quota of /workspace also holds for what a cell leaves running."""

from harness import host
from harness.client import ApiError

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
    try:
        host.eventually(lambda: session.value("filler.poll() is not None") == "True", 20, "its end")
        assert int(session.value(USED)) < 16 + 16 // 4 + 64
    except ApiError as error:
        assert error.status == 410 and "over its limit of 16 MB" in error.message
