"""A session without a zygote: the process that is started becomes the session itself.

    PYTHON -s standalone.py SESSION_FD PROFILE_JSON
"""

from __future__ import annotations

import sys

import boot

del sys.path[0]  # our directory: its names are not for the user's `import`
del sys.modules["boot"]

import json
import os
from typing import NoReturn


def main() -> NoReturn:
    os.environ.setdefault("MPLBACKEND", "Agg")
    cella = boot.load()
    cella.tables.install()
    profile = cella.preload.Profile(json.loads(sys.argv[2])["preload"])
    plots = cella.plots.Plots()
    plots.install()
    report = json.dumps(profile.report())
    cella.driver.Session(profile.names, plots).start(int(sys.argv[1]), report)


main()
