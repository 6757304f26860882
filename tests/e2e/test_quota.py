"""The disk quota of /workspace also holds for what a cell leaves running."""

from harness import host

FILLER = """
import subprocess
filler = subprocess.Popen(
    ["sh", "-c", "i=0; while [ $i -lt 60 ]; do head -c 4000000 /dev/zero > f$i; i=$((i+1)); "
     "sleep 0.05; done"], stderr=subprocess.DEVNULL)
"""

USED = "sum(os.stat(f).st_blocks * 512 for f in os.listdir('.')) // 2**20"


def test_a_process_that_outlives_its_short_cell_is_held_to_the_quota(spawn):
    session = spawn("min", limits={"disk_mb": 16})
    assert session.exec(FILLER + "import os")["status"] == "ok"
    host.eventually(lambda: session.value("filler.poll() is not None") == "True", 20, "its end")
    assert int(session.value(USED)) < 16 + 16 // 4 + 64

