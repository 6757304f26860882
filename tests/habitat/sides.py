"""What the habitat compares: an ordinary user's login on this machine, and a session's limits."""

import subprocess

from harness.daemon import as_user
from table import PYTHON

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": "/tmp",
               "SHELL": "/bin/bash", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
# An ordinary login: more is allowed than is in force.
USUAL_LIMITS = ["prlimit", "--nofile=1024:", "--core=0"]
LIMITS = {"memory_mb": 1500, "cpu_percent": 200, "pids": 256, "disk_mb": 1024}


def run_outside(user, folder, *script, **options):
    """Runs a script of Python in a folder as that user; None: as whoever runs the tests."""
    who = {"env": ENVIRONMENT}
    if user:
        who = {**as_user(user), "env": {**ENVIRONMENT, "USER": user.pw_name,
                                        "LOGNAME": user.pw_name, "HOME": str(folder)}}
    return subprocess.run([*USUAL_LIMITS, PYTHON, *script], cwd=folder, stdin=subprocess.DEVNULL,
                          **who, **options)
