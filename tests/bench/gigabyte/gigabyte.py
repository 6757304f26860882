#!/usr/bin/python3
"""A gigabyte of real text (documents, manuals and sources below /usr) as the context of a session:

- searches beside ripgrep, in turn, on the same bytes: what a client of HTTP waits for the answer,
  and what ripgrep takes from its start to its end. Both have one core, then all: ripgrep searches
  files side by side, so it then gets the text in parts.
- `peek` anywhere in it, as the daemon, code of a cell and a client of HTTP see it;
- the memory of the interpreter, of all processes and on disk, before and after the text was loaded,
  and with ten branches that explore it;
- patterns that are made to take for ever.

    python3 tests/bench/gigabyte/gigabyte.py             prints the tables
    python3 tests/bench/gigabyte/gigabyte.py --update    ... and writes them into docs/EXPLORE.md

It needs `make build`, ripgrep (packaging/deps.sh bench), 8 GB of memory and 5 GB of disk. The text
stays in build/gigabyte for the next time."""

import argparse
import gzip
import http.client
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
sys.path[:0] = [str(SOURCE / "tests")]

from harness import host  # noqa: E402
from harness.client import Session  # noqa: E402
from harness.daemon import Daemon, find_binary  # noqa: E402
from harness.pages import write_between  # noqa: E402

FOLDERS = ["/usr/share/doc", "/usr/share/man", "/usr/include", "/usr/lib/python3",
           "/usr/share/perl", "/usr/lib/python3.11", "/usr/src",
           "/usr/lib/node_modules", "/usr/share"]
MOST = 1000  # matches that an answer has; patterns are chosen to have fewer

# What is searched: a label, the pattern, and whether it is a literal, and its case counts.
SEARCHES = [
    ("a literal", "PTRACE_SYSEMU", True, True),
    ("... that is nowhere", "zyzzyva quagga", True, True),
    ("... in any case", "ptrace_sysemu", True, False),
    ("... with common letters", "the walrus", True, False),
    ("... that is not ASCII", "größer", True, True),
    ("alternatives, any case", "walrus|aardvark|wombat", False, False),
    ("a literal and classes", r"PTRACE_\w+_\d+", False, True),
    ("... in any case", r"ptrace.*get\w+", False, False),
    ("... in the middle", r"\b[A-Z]\w+ Holmes\b", False, True),
    ("the begin of lines", r"^import tkinter", False, True),
    ("a time", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", False, True),
    ("classes", r"[A-Z]{9}_[0-9]{3}\b", False, True),
    ("classes alone", r"[A-Z]{17}[0-9]{2}", False, True),
]

HOSTILE_TEXT = "".join("a" * n + "!\n" for n in range(20, 60)) + "ab" * 2000 + "\n"
HOSTILE = [
    "^(a+)+$", "(a*)*b$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|a?)+$", "(.*)*x(.*)*y", "^(a|aa)+$",
    "((((a{1,9}){1,9}){1,9}){1,9}){1,9}c", "(?:(?:(?:a{1,60}){1,60}){1,60}){1,60}",
    "|".join(f"{n:x}q.*z" for n in range(6000)), "(" * 5000 + "a" + ")" * 5000,
    "(a(?1)?b)+c", "(?R)",
]


# --- the text -------------------------------------------------------------------------------------


def files_below(folders):
    for folder in folders:
        for path, names, files in os.walk(folder):
            names.sort()
            for name in sorted(files):
                if not os.path.islink(f"{path}/{name}"):
                    yield f"{path}/{name}"


def text_of(path):
    """A file's text, unpacked; b"" of what is none."""
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            data = file.read(16 << 20)
    except (OSError, EOFError, gzip.zlib.error):
        return b""
    return b"" if b"\0" in data[:65536] else data


def make_text(path, size):
    """Writes the text, and says what it is made of. What is read twice is headed by its number."""
    left, number, files = size, 0, 0
    with open(f"{path}.new", "wb") as out:
        while left > 0:
            number += 1
            for name in files_below(FOLDERS):
                data = text_of(name)
                if left <= 0 or not data:
                    continue
                files += number == 1
                data = (f"=== {number}: {name}\n".encode() + data.rstrip(b"\n") + b"\n")[:left]
                left -= out.write(data)
    os.replace(f"{path}.new", path)
    return f"{files} files" + f" {number} times" * (number > 1)


def split_text(path, folder, n):
    """The same text in n files, cut at line ends."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["split", "-n", f"l/{n}", path, folder / "part"], check=True)


# --- the two that search --------------------------------------------------------------------------


class Wire:
    """A connection without the checks of the tests, which take time themselves."""

    def __init__(self, daemon):
        self.connection = http.client.HTTPConnection(*daemon.address, timeout=600)
        self.headers = {"Authorization": f"Bearer {daemon.key()}",
                        "Content-Type": "application/json"}

    def call(self, method, path, body):
        """Seconds, and the answer."""
        data = json.dumps(body) if isinstance(body, dict) else body
        began = time.monotonic()
        self.connection.request(method, path, data, self.headers)
        answer = self.connection.getresponse().read()
        return time.monotonic() - began, json.loads(answer)


def search_cella(wire, session, search):
    _, pattern, is_literal, has_case = search
    seconds, answer = wire.call("POST", f"{session.path}/explore/grep", {
        "pattern": pattern, "literal": is_literal, "case": has_case, "context_lines": 0,
        "max_results": MOST, "quiet": True})
    assert not answer["truncated"], (search, answer["count"])
    return seconds, answer["count"]


def search_ripgrep(places, cores, search):
    _, pattern, is_literal, has_case = search
    command = ["rg", "--no-config", "-j", str(len(cores)), "-n", "-a", "--no-filename"]
    command += ["-F"] * is_literal + ["-i"] * (not has_case) + ["-e", pattern, *map(str, places)]
    began = time.monotonic()
    found = subprocess.run(command, stdout=subprocess.PIPE, check=False,
                           preexec_fn=lambda: os.sched_setaffinity(0, cores))
    seconds = time.monotonic() - began
    assert found.returncode in (0, 1), found
    return seconds, found.stdout.count(b"\n")


def compare(wire, session, places, cores, rounds):
    """[label, matches, seconds of Cella, seconds of ripgrep] of each search."""
    rows = []
    for search in SEARCHES:
        ours, theirs = [], []
        for _ in range(rounds):
            seconds, n = search_cella(wire, session, search)
            ours.append(seconds)
            seconds, m = search_ripgrep(places, cores, search)
            theirs.append(seconds)
            assert n == m, f"{search}: Cella found {n}, ripgrep {m}"
        rows.append((search[0], search[1], n, statistics.median(ours), statistics.median(theirs)))
        print(f"{len(cores)} cores: {search[0]}: {rows[-1][3]:.3f} {rows[-1][4]:.3f} "
              f"{rows[-1][3] / rows[-1][4]:.2f}", file=sys.stderr)
    return rows


# --- peek and memory ------------------------------------------------------------------------------


def peek(wire, session, size, n=500):
    """Milliseconds, (median, one percent is slower): of the daemon, in a cell, and of a client."""
    told = subprocess.run([SOURCE / "build/cella-bench", "--only", "grep", "--json", "--text",
                           str(size >> 20)], stdout=subprocess.PIPE, check=True).stdout
    (box,) = [m for m in json.loads(told)["measures"] if m["name"] == "grep.peek"]
    cell = ("import random, time\ntook = []\nfor _ in range(%d):\n"
            "    place = random.randrange(%d)\n    began = time.perf_counter()\n"
            "    text = peek(500, offset=place)\n"
            "    took.append(time.perf_counter() - began)\n"
            "    assert len(text) == 500\nprint([round(1e6 * t) / 1e6 for t in took])"
            % (n, size * 9 // 10))
    inside = json.loads(session.out(cell))
    outside = []
    for i in range(n):
        seconds, answer = wire.call("POST", f"{session.path}/explore/peek",
                                    {"offset": i * (size * 9 // 10) // n, "quiet": True})
        assert len(answer["text"]) == 500
        outside.append(seconds)
    rows = [("by the daemon, of the box that has the text", box["p50"] / 1e6, box["p99"] / 1e6)]
    for label, took in (("in a cell", inside), ("by a client of HTTP", outside)):
        took = sorted(1000 * seconds for seconds in took)
        rows.append((label, took[len(took) // 2], took[len(took) * 99 // 100]))
    return rows


def memory(daemon):
    """MB of all processes: what is theirs alone, and with the page cache that they map, once."""
    own = whole = 0
    for pid, _ in daemon.tree():
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                fields = {line.split(":")[0]: line.split()[1] for line in file if " kB" in line}
        except OSError:
            continue
        own += int(fields["Pss_Anon"]) + int(fields["Pss_Shmem"])
        whole += int(fields["Pss"])
    return own / 1024, whole / 1024


def disk(daemon):
    told = subprocess.run(["du", "-sm", daemon.data], stdout=subprocess.PIPE, check=False)
    return int(told.stdout.split()[0])


def weigh(daemon, label, head=None):
    own, whole = memory(daemon)
    return label, host.rss_kb(head) / 1024 if head else None, own, whole, disk(daemon)


def branches(daemon, session, n=10):
    made = daemon.client.call("POST", f"{session.path}/branch", {"count": n})["sessions"]
    others = [Session(daemon.client, each) for each in made]
    for other in others:
        # Nowhere, so that all of it is searched.
        assert other.out("print(grep('zyzzyva quagga'), len(peek(500)))") == "[] 500\n"
    return others


# --- patterns that take for ever ------------------------------------------------------------------


def hostile(daemon, wire):
    session = daemon.client.spawn(explore=True)
    daemon.client.call("PUT", f"{session.path}/contexts/context", HOSTILE_TEXT.encode())
    rows = []
    for pattern in HOSTILE:
        seconds, answer = wire.call("POST", f"{session.path}/explore/grep", {"pattern": pattern})
        shown = pattern if len(pattern) < 50 else f"{pattern[:20]}… ({len(pattern)} bytes)"
        told = answer["error"]["message"] if "error" in answer else f"{answer['count']} matches"
        rows.append((shown, seconds, told))
        assert session.out("print(peek(3))") == "aaa\n"
    session.kill()
    return rows


# --- the page -------------------------------------------------------------------------------------


def report(size, made_of, results):
    n_cores = os.cpu_count()
    lines = [f"{size / 1e9:.2f} GB of text, {made_of}. ripgrep {results['version']}, "
             f"{n_cores} cores; medians, in seconds.", "",
             "| search | | matches | one core | `rg -j1` | ratio | "
             f"{n_cores} cores | `rg` | ratio |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for one, all_cores in zip(results["one"], results["all"]):
        label, pattern, n = one[:3]
        text = pattern.replace("|", "\\|")
        lines.append(f"| {label} | `{text}` | {n} | {one[3]:.3f} | {one[4]:.3f} | "
                     f"{one[3] / one[4]:.2f} | {all_cores[3]:.3f} | {all_cores[4]:.3f} | "
                     f"{all_cores[3] / all_cores[4]:.2f} |")
    lines += ["", "| `peek` of 500 characters anywhere in it | median | p99 |",
              "|---|--:|--:|"]
    lines += [f"| {label} | {median:.2f} ms | {p99:.2f} ms |"
              for label, median, p99 in results["peek"]]
    lines += ["", "| memory, MB | the interpreter | all processes, their own | with what they map "
                  "of files | data on disk |", "|---|--:|--:|--:|--:|"]
    for label, head, own, whole, data in results["memory"]:
        lines.append(f"| {label} | {f'{head:.1f}' if head else ''} | {own:.0f} | {whole:.0f} | "
                     f"{data} |")
    lines += ["", "| pattern | seconds | |", "|---|--:|---|"]
    for pattern, seconds, told in results["hostile"]:
        text = pattern.replace("|", "\\|")
        lines.append(f"| `{text}` | {seconds:.3f} | {told} |")
    return "\n".join(lines) + "\n"


def run(path, places, rounds, folder):
    """One daemon on one core, another on all of them."""
    results, size = {}, path.stat().st_size
    cores = os.sched_getaffinity(0)
    for name, used in (("one", {max(cores)}), ("all", cores)):
        daemon = Daemon(find_binary(), folder / name, config="default_profile: min\n",
                        preexec=lambda used=used: os.sched_setaffinity(0, used))
        try:
            session, wire = daemon.client.spawn(explore=True), Wire(daemon)
            head = daemon.head(session)
            weights = [weigh(daemon, "before", head)]
            with open(path, "rb") as file:
                seconds, told = wire.call("PUT", f"{session.path}/contexts/context", file)
            print(f"loaded in {seconds:.1f} s: {told}", file=sys.stderr)
            weights.append(weigh(daemon, "the text is loaded", head))
            results[name] = compare(wire, session, places[name], used, rounds)
            if name == "all":
                results["peek"] = peek(wire, session, told["chars"])
                weights.append(weigh(daemon, "and was explored", head))
                others = branches(daemon, session)
                weights.append(weigh(daemon, f"{len(others)} branches explored it", head))
                results["memory"] = weights
                results["hostile"] = hostile(daemon, wire)
        finally:
            daemon.stop()
    assert size == told["bytes"]
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--text", type=int, default=1024, metavar="MIB")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if not shutil.which("rg"):
        sys.exit("ripgrep is needed: packaging/deps.sh bench")
    subprocess.run(["ninja", "-C", SOURCE / "build", "cella-bench"], stdout=sys.stderr, check=True)
    folder = SOURCE / "build/gigabyte"
    folder.mkdir(parents=True, exist_ok=True)
    path, about = folder / "text", folder / "about"
    if not path.exists() or path.stat().st_size != args.text << 20:
        about.write_text(make_text(path, args.text << 20))
        split_text(path, folder / "parts", 4 * len(os.sched_getaffinity(0)))
    places = {"one": [path], "all": sorted((folder / "parts").iterdir())}
    with tempfile.TemporaryDirectory(dir=folder) as data:
        results = run(path, places, args.rounds, pathlib.Path(data))
    told = subprocess.run(["rg", "--version"], stdout=subprocess.PIPE, check=True).stdout
    results["version"] = told.split()[1].decode()
    table = report(path.stat().st_size, about.read_text().strip(), results)
    print(table)
    if args.update:
        write_between("docs/EXPLORE.md", "gigabyte.py", table)


if __name__ == "__main__":
    main()
