#!/usr/bin/python3
"""Runs the notebooks that Debian packages ship through `cella run` and compares the texts that come
out with those that are stored in them.

    run_debian_notebooks.py [--extract PACKAGE]... [--against-jupyter] [--limit SECONDS] [FILE]...

Without FILEs: those of the installed packages, and of each PACKAGE, which is downloaded and put
into a folder that is removed afterwards. Prints how many outputs and notebooks are equal, but for
addresses, dates, times and the place that a warning names, and why the others are not.

With --against-jupyter they are also run by the Jupyter of this machine, twice, without a network.
What it gives both times and Cella does not is shown, output by output: - is Jupyter's, + is
Cella's. Its results are kept in the folder --cache, so that the next time is quick."""

import argparse
import collections
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))

from harness import jupyter, likeness  # noqa: E402

TALLIES = ["reasons", "meanings"]
NUMBERS = [
    "notebooks", "equal notebooks", "outputs", "equal", "exact", "not run",
    "as jupyter", *likeness.VERDICTS, "equal to jupyter",
]  # fmt: skip

# What no two runs have in common.
CHANGING = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x"),
    (re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d+ \w{3} \d{4}"), "DATE"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?"), "DATE"),
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"[\d.]+ \S+ ± .* loops? each\)"), "TIME"),
    (re.compile(r"\b[\d.]+ ?(s|ms|us|µs|ns|sec|seconds)\b"), "TIME"),
]
# Where the code of a cell is, which interpreters call differently.
PLACES = [
    (re.compile(r"(/tmp/ipykernel_\d+/\d+\.py|<ipython-input-[^>]+>|<cell \d+>)"), "<cell>"),
    (re.compile(r"(/usr/lib/python3/dist-packages|/build/\S*?/build)/"), "LIB/"),
    (re.compile(r"/build/[^\s:]*?/(?=[\w]+/)"), "LIB/"),
    (re.compile(r":\d+: "), ":N: "),
]
CHANGES = "addresses, dates and times"
PLACE = "where a warning comes from"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eED][-+]?\d+)?(?![\w])")
LAYOUT = [(re.compile(r"\s+"), " ")]
CAUSES = [
    ("a package that is not installed", r"ModuleNotFoundError|ImportError"),
    ("the network", r"URLError|ConnectionError|gaierror|HTTPError|Temporary failure in name|"
                    r"Network is unreachable|ProxyError"),
    ("a file that is not shipped, or not in the sandbox", r"FileNotFoundError|OSError"),
    ("a part of IPython that Cella does not have",
     r"UsageError|magic|get_ipython|ipykernel|ipywidgets|has no attribute 'kernel'"),
    ("input from a person", r"EOFError|StdinNotImplemented"),
    ("a time limit of this run", r"TimeLimit|Timeout"),
]


def joined(value):
    return "".join(value) if isinstance(value, list) else str(value)


def texts(cell):
    """[(kind, text)]: what each stream got in all, values and displays that are text."""
    found, streams = [], {}
    for output in cell.get("outputs", []):
        kind = output["output_type"]
        if kind == "stream":
            name, text = output.get("name", "stdout"), joined(output["text"])
            if name not in streams:
                streams[name] = len(found)
                found.append((name, ""))
            found[streams[name]] = (name, found[streams[name]][1] + text)
        elif kind == "error":
            found.append(("error", f"{output['ename']}: {output['evalue']}"))
        else:
            data = output.get("data", {})
            is_picture = any(m.startswith(("image/", "application/")) for m in data)
            if "text/plain" in data and not is_picture:
                found.append((kind, joined(data["text/plain"])))
    return found


def settled(text, rules=()):
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    text = "\n".join(lines)
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def first_difference(stored, got):
    """A little of both from where they part."""
    rules = CHANGING + PLACES
    stored, got = settled(stored, rules), settled(got, rules)
    at = max(len(os.path.commonprefix([stored, got])) - 20, 0)
    return stored[at:at + 160], got[at:at + 160]


class Comparison:
    def __init__(self):
        self.n = self.equal = self.exact = 0  # exact: to the letter
        self.is_jupyters = 0  # of those that are not equal: Jupyter gives the same here
        self.reasons, self.samples = collections.Counter(), []

    def add(self, reason, where, stored, got):
        self.reasons[reason] += 1
        if len(self.samples) < 40:
            self.samples.append((where, reason, *first_difference(stored, got or "")))


def failure_of(cell):
    for kind, text in texts(cell):
        if kind == "error":
            return text
    return None


def find_cause(text):
    for name, pattern in CAUSES:
        if re.search(pattern, text):
            return name
    return "a cell that failed: " + text.split(":")[0]


def numbers(text):
    return [float(n.replace("D", "E")) for n in NUMBER.findall(text)]


def is_near(stored, got):
    """The same words, and numbers that differ by a few hundredths at most: an optimiser's way."""
    ours, theirs = NUMBER.split(stored), NUMBER.split(got)
    if [LAYOUT[0][0].sub("", w) for w in ours] != [LAYOUT[0][0].sub("", w) for w in theirs]:
        return False
    pairs = zip(numbers(stored), numbers(got))
    return all(abs(a - b) <= 3e-2 * max(abs(a), abs(b)) + 1e-9 for a, b in pairs)


def compare_output(stored, got, cause, is_random):
    """None if it is equal, else why not."""
    if got is None:
        return cause or "not there"
    names = (None, CHANGES, PLACE, "white space")
    rules = ((), CHANGING, CHANGING + PLACES, CHANGING + PLACES + LAYOUT)
    for name, rule in zip(names, rules):
        if settled(stored[1], rule) == settled(got[1], rule):
            return name
    if "  ..." in got[1] and "  ..." not in stored[1]:
        return "wide tables of pandas: columns left out instead of wrapped"
    if is_near(settled(stored[1], rules[2]), settled(got[1], rules[2])):
        return "rounding and optimisers, which depend on the processor"
    if cause:
        return cause
    if is_random:
        return "random numbers without a seed"
    return "a warning" if stored[0] == "stderr" else "other values"


def by_kind(found, kind):
    return [f for f in found if f[0] == kind]


def is_jupyters(here, kind, index, got):
    """Whether Jupyter's cell has that very text, or has none either."""
    theirs = by_kind(texts(here), kind)
    if index >= len(theirs) or got is None:
        return index >= len(theirs) and got is None
    rules = CHANGING + PLACES
    return settled(theirs[index][1], rules) == settled(got[1], rules)


def compare(stored, made, here=None):
    """Output by output; those of one kind in a cell are compared in their order. `here` is what
    Jupyter makes of the notebook on this machine."""
    result, cause = Comparison(), None
    sources = "\n".join(joined(c["source"]) for c in stored["cells"])
    is_random = "random" in sources and not re.search(r"seed\(|RandomState\(\d|rng\(\d", sources)
    made_cells = [c for c in made["cells"] if c["cell_type"] == "code"]
    stored_cells = [c for c in stored["cells"] if c["cell_type"] == "code"]
    their_cells = [c for c in (here or {"cells": []})["cells"] if c["cell_type"] == "code"]
    for number, (old, new) in enumerate(zip(stored_cells, made_cells)):
        failure = failure_of(new)
        if failure and not failure_of(old):
            cause = find_cause(failure) if not cause or "NameError" not in failure else cause
        old_texts, new_texts = texts(old), texts(new)
        for kind in dict.fromkeys(k for k, _ in old_texts):
            theirs = by_kind(new_texts, kind)
            for i, output in enumerate(by_kind(old_texts, kind)):
                got = theirs[i] if i < len(theirs) else None
                result.n += 1
                reason = compare_output(output, got, cause, is_random)
                result.exact += reason is None
                if reason in (None, CHANGES, PLACE):
                    result.equal += 1
                    continue
                if their_cells and is_jupyters(their_cells[number], kind, i, got):
                    result.is_jupyters += 1
                result.add(reason, f"code cell {number}", output[1], got and got[1])
    return result


# which notebooks


def installed():
    done = subprocess.run(["dpkg-query", "-S", "*.ipynb", "*.ipynb.gz"], capture_output=True,
                          text=True)
    for line in done.stdout.splitlines():
        package, _, path = line.partition(": ")
        yield package, pathlib.Path(path)


def extract(package, folder):
    folder.mkdir()
    subprocess.run(["apt-get", "download", "-q", package], cwd=folder, check=True,
                   capture_output=True)
    (archive,) = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", archive, folder / "files"], check=True)
    for pattern in ("*.ipynb", "*.ipynb.gz"):
        for path in sorted((folder / "files").rglob(pattern)):
            if path.is_file() and not path.is_symlink():
                yield package, path


def load(path):
    """The notebook, or None if it has no text to compare."""
    raw = path.read_bytes()
    try:
        notebook = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except ValueError:
        return None
    is_python = (notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
                 .startswith("python"))
    if not is_python or not any(texts(c) for c in notebook.get("cells", [])
                                if c["cell_type"] == "code"):
        return None
    return notebook


class Cella:
    """A daemon of its own, for as long as this runs."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.env = {**os.environ, "CELLA_DATA": str(folder / "data")}

    def run(self, notebook, seconds):
        source, target = self.folder / "in.ipynb", self.folder / "out.ipynb"
        source.write_text(json.dumps(notebook))
        target.unlink(missing_ok=True)
        done = subprocess.run(
            [self.binary, "run", source, "-o", target, "--allow-errors", "--timeout",
             f"{jupyter.CELL_SECONDS}s",
             "--profile", "data", "--json"],
            capture_output=True, text=True, timeout=max(seconds, 1), env=self.env)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        return json.loads(target.read_text())

    def stop(self):
        subprocess.run([self.binary, "stop"], env=self.env, capture_output=True)


def find_all(args, folder):
    if args.files:
        yield from (("files", pathlib.Path(f)) for f in args.files)
        return
    yield from installed()
    for package in args.extract:
        yield from extract(package, folder / package)


def count(total, result):
    total["notebooks"] += 1
    total["equal notebooks"] += result.equal == result.n
    total["outputs"] += result.n
    total["equal"] += result.equal
    total["exact"] += result.exact
    total["as jupyter"] += result.is_jupyters
    total["reasons"].update(result.reasons)


def count_likeness(total, name, made, theirs):
    """What differs is shown: somebody is to act on it."""
    verdicts = collections.Counter()
    for number, output, verdict, lines in likeness.compare(made, *theirs):
        verdicts[verdict] += 1
        if verdict == likeness.MEANT:
            total["meanings"].update(lines)
        if verdict == likeness.DIFFERENT:
            print(f"{name}: code cell {number}: {output} is not Jupyter's")
            print("".join(f"    {line}\n" for line in lines), end="", flush=True)
    total.update({verdict: total[verdict] + n for verdict, n in verdicts.items()})
    total["equal to jupyter"] += verdicts[likeness.DIFFERENT] == 0


def run_one(cella, package, path, left, totals, args):
    notebook = load(path)
    if notebook is None:
        return
    total = totals[package]
    if left <= 0:
        total["not run"] += 1
        return
    theirs = [jupyter.outputs_of(notebook, args.cache, run)
              for run in range(2 if args.against_jupyter else 0)]
    began = time.monotonic()
    try:
        made = cella.run(notebook, left)
    except (subprocess.TimeoutExpired, RuntimeError) as e:
        print(f"{path.name}: {e}", file=sys.stderr)
        total["not run"] += 1
        return
    has_jupyter = len(theirs) == 2 and None not in theirs
    result = compare(notebook, made, theirs[0] if has_jupyter else None)
    count(total, result)
    if args.verbose:
        print(f"{path.name}: {result.equal} of {result.n} in {time.monotonic() - began:.1f}s "
              f"{dict(result.reasons)}", flush=True)
        for where, reason, stored, got in result.samples:
            print(f"  {where}: {reason}\n    stored {stored!r}\n    got    {got!r}")
    if has_jupyter:
        count_likeness(total, path.name, made, theirs)


def report(name, total):
    print(f"{name}: {total['equal']} of {total['outputs']} outputs equal, "
          f"{total['equal notebooks']} of {total['notebooks']} notebooks "
          f"({total['exact']} outputs to the letter)"
          + (f"; {total['not run']} not run" if total["not run"] else ""))
    for reason, n in total["reasons"].most_common():
        print(f"    {n:5}  {reason}")
    steady = sum(total[v] for v in likeness.VERDICTS) - total[likeness.UNSTEADY]
    if steady:
        print(f"  of those that are not equal, Jupyter gives the same here: {total['as jupyter']}\n"
              f"  as Jupyter here: {total[likeness.EQUAL]} of {steady} outputs in all their forms, "
              f"but for what is meant {total['equal to jupyter']} of {total['notebooks']} "
              f"notebooks ({total[likeness.UNSTEADY]} more differ between runs of Jupyter's)")
    for meaning, n in total["meanings"].most_common():
        print(f"    {n:5}  {meaning}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cella", default=os.environ.get("CELLA", SOURCE / "build" / "cella"))
    parser.add_argument("--extract", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("--against-jupyter", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path,
                        default=pathlib.Path("~/.cache/cella-notebooks").expanduser())
    parser.add_argument("--limit", type=float, default=270, help="seconds for all of it")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="notebooks-"))
    totals = collections.defaultdict(
        lambda: {**dict.fromkeys(NUMBERS, 0), **{name: collections.Counter() for name in TALLIES}})
    cella = Cella(pathlib.Path(args.cella).absolute(), folder)
    deadline = time.monotonic() + args.limit
    try:
        for package, path in find_all(args, folder):
            run_one(cella, package, path, deadline - time.monotonic(), totals, args)
    finally:
        cella.stop()
        shutil.rmtree(folder, ignore_errors=True)
    everything = {k: sum(t[k] for t in totals.values()) for k in NUMBERS}
    for name in TALLIES:
        everything[name] = sum((t[name] for t in totals.values()), collections.Counter())
    for package, total in sorted(totals.items()):
        report(package, total)
    report("all", everything)


if __name__ == "__main__":
    main()
