#!/usr/bin/python3
"""How much of each room the tests ran: lines and branches, as gcov counted them in a build with
-Db_coverage=true.

    gcov.py FOLDER            the table of the build in FOLDER
    gcov.py FOLDER --json     the same for programs
    gcov.py FOLDER OLD.json   beside an earlier one; exit 1 if a room lost more than a point
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LOSS_MAX = 1.0  # of a hundred


def prepare(folder):
    """Counters start at nothing, and every user may add to them: processes under test give up
    theirs."""
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o777)
        elif path.suffix == ".gcno":
            counters = path.with_suffix(".gcda")
            counters.write_bytes(b"")
            counters.chmod(0o666)


def read(folder):
    """{source: ({line: count}, {(line, number of branch): count})} of all objects."""
    found = defaultdict(lambda: (defaultdict(int), defaultdict(int)))
    counters = [path for path in folder.rglob("*.gcda") if path.stat().st_size > 0]
    for path in counters:
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path],
                              cwd=folder, capture_output=True, text=True)
        for text in done.stdout.splitlines():
            for source in json.loads(text)["files"]:
                lines, branches = found[source["file"]]
                for line in source["lines"]:
                    lines[line["line_number"]] += line["count"]
                    for number, branch in enumerate(line["branches"]):
                        branches[line["line_number"], number] += branch["count"]
    return found


def by_room(found):
    """{room: {"lines": …, "lines_run": …, "branches": …, "branches_run": …}}"""
    rooms = defaultdict(lambda: defaultdict(int))
    for name, (lines, branches) in found.items():
        match = re.search(r"(?:^|/)src/([a-z]+)/", name)
        if match is None:
            continue
        room = rooms[match[1]]
        for kind, counts in (("lines", lines), ("branches", branches)):
            room[kind] += len(counts)
            room[f"{kind}_run"] += sum(count > 0 for count in counts.values())
    return rooms


def percent(room, kind):
    return 100 * room[f"{kind}_run"] / room[kind] if room.get(kind) else 100.0


def report(rooms, old):
    """Prints the table; returns the rooms that lost more than they may."""
    losers = []
    print(f"{'room':10}{'lines':>9}{'run':>8}{'branches':>10}{'run':>8}")
    for name in sorted(rooms):
        room, text = rooms[name], ""
        if name in old:
            change = {kind: percent(room, kind) - percent(old[name], kind)
                      for kind in ("lines", "branches")}
            text = "   " + ", ".join(f"{kind} {by:+.1f}" for kind, by in change.items())
            losers += [name] if min(change.values()) < -LOSS_MAX else []
        print(f"{name:10}{room['lines']:9}{percent(room, 'lines'):7.1f}%"
              f"{room['branches']:10}{percent(room, 'branches'):7.1f}%{text}")
    return losers


def main(args):
    if not args:
        print(__doc__, file=sys.stderr)
        return 2
    rooms = by_room(read(Path(args[0]).absolute()))
    if args[1:] == ["--json"]:
        print(json.dumps(rooms, indent=1, sort_keys=True))
        return 0
    losers = report(rooms, json.loads(Path(args[1]).read_text()) if args[1:] else {})
    if losers:
        print(f"less than before: {', '.join(losers)}")
    return 1 if losers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
