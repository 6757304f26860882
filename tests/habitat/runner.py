"""Runs a table of commands and tells what each came to. The same file runs outside of Cella, as an
ordinary user, and in a session: `runner.py COMMANDS RESULTS`, two files of JSON."""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys

SIDE_BY_SIDE = 3
WITHIN_SECONDS = 60
SHOWN_BYTES = 20_000


def run(name, argv):
    """One command in an empty folder of its own, without input and without a terminal."""
    folder = os.path.join(os.getcwd(), name.replace(" ", "-").replace("/", "-"))
    os.mkdir(folder)
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, cwd=folder, start_new_session=True,
                             env={**os.environ, "HOME": folder, "PWD": folder})
    try:
        out, err = child.communicate(timeout=WITHIN_SECONDS)
        status = child.returncode
    except subprocess.TimeoutExpired:
        status, out, err = "took too long", b"", b""
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)  # what it left running in the background
        except ProcessLookupError:
            pass
        child.wait()

    def text(data):
        return data[:SHOWN_BYTES].decode(errors="replace").replace(folder, "FOLDER")
    return {"status": status, "stdout": text(out), "stderr": text(err)}


def main(commands, results):
    with open(commands) as file:
        table = json.load(file)
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as crew:
        found = dict(zip(table, crew.map(run, table.keys(), table.values())))
    with open(results, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
