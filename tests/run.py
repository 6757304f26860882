#!/usr/bin/python3
"""Builds Cella and runs its tests, several at a time. The last line is "N passed, N failed".

    run.py check            for the daily loop: one build, two minutes
    run.py test             what a change may not break: some 10 minutes on two cores
    run.py all              both builds of everything, every Python and Node.js, soaks, fuzzing
    run.py coverage         the tests of `test` in a build that counts which lines they run
    run.py nervous          what tests/nervous.txt lists, 50 times each (CELLA_REPEAT)
    run.py LEVEL GROUP...   only these groups of a level, and the builds that they need
    run.py seconds          what the last run of a level took becomes tests/seconds.json

A group is one or more jobs: the files of a large one are dealt into parts of about the same time,
as tests/seconds.json has it. A free lane takes the longest job that can begin, so that those that
end last are short.
"""

import functools
import json
import math
import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Callable

import groups
from groups import LOGS, TOP, Result

PART_SECONDS = 240    # of a job; each has daemons of its own to start, with all their libraries
PART_SECONDS_OF_CHECK = 30  # which has few of them: no lane is to wait for a long one
SECONDS_OF_CHECK = 6  # of a unit test that is part of it
LANES_PER_CORE = 2    # no processor is idle with them; with more, those who wait look more often
SECONDS = TOP / "tests/seconds.json"
MEASURED = LOGS / "seconds.json"


@dataclass
class Group:
    """Tests that are reported together."""
    name: str
    needs: tuple      # the builds that must be there
    work: Callable    # work(job's name, files) -> Result
    files: list       # what may be dealt to several jobs; empty: one job


@dataclass
class Job:
    name: str
    group: Group
    files: list
    seconds: float    # that it is likely to take


def builds(kind, *targets):
    name = f"build {kind}"
    return Group(name, (), lambda job, _: groups.build(job, kind, targets), [])


def lint():
    return Group("lint", (), lambda job, _: groups.lint(job), [])


def unit(kind, within=math.inf):
    """Those that took no longer than so many seconds when `test` was measured."""
    known = known_seconds().get("test unit asan", {})
    return Group(f"unit {kind}", (kind,), lambda job, files: groups.unit(job, kind, files),
                 [file for file in groups.unit_files() if known.get(file, 0) <= within])


def pytests(level, folder, kind=None, mode=None, has_subids=False):
    """With a mode only the tests of daemons that root, or an ordinary user, has started."""
    mark = "smoke" if level == "check" else "release" if level == "test" and kind == "gcc" else ""
    words = [*folder.split("_"), kind, mode, has_subids and "subids"]
    return Group(" ".join(filter(None, words)), (kind,) if kind else (),
                 lambda job, files: groups.pytest(job, level, folder, kind, files, mode,
                                                  has_subids),
                 groups.pytest_files(folder, mark if folder == "e2e" else ""))


def by_mode(level, folder, kind):
    """Each mode for itself: it has daemons of its own, whose start costs more than most tests."""
    return [pytests(level, folder, kind, "root"), pytests(level, folder, kind, "user")]


def fuzz(seconds, runs=-1):
    return Group("fuzz", ("asan",), lambda job, files: groups.fuzz(job, seconds, runs, files),
                 groups.fuzz_files())


def drivers(level, kind="gcc"):
    return [pytests(level, "driver"), pytests(level, "driver_node"),
            pytests(level, "driver_bash", kind)]


def nervous():
    """The same groups as in `test`, with the lines of tests/nervous.txt for files."""
    os.environ.setdefault("CELLA_REPEAT", "50")
    text = (TOP / "tests/nervous.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = [builds("asan", "programs", "unit"), builds("gcc", "programs"), unit("asan"),
             *drivers("test"), pytests("all", "e2e", "asan"),
             pytests("all", "escape", "gcc")]
    for group in found[2:]:
        folder = "_".join(word for word in group.name.split() if word not in group.needs)
        prefix = "" if folder == "unit" else f"tests/{folder}/"
        wanted = [line.removeprefix(prefix) for line in lines
                  if line.startswith(prefix) and ("/" in line) == bool(prefix)]
        group.files = wanted
    return [group for group in found if group.files or group.name.startswith("build")]


LEVELS = {
    "check": lambda: [
        builds("quick", "programs", "unit"), lint(), unit("quick", SECONDS_OF_CHECK),
        *drivers("check", "quick"), pytests("check", "e2e", "quick"),
    ],
    "test": lambda: [
        builds("asan", "programs", "unit", "fuzz"), builds("gcc", "programs"), lint(), unit("asan"),
        *drivers("test"), *by_mode("test", "e2e", "asan"), pytests("test", "e2e", "gcc"),
        *by_mode("test", "escape", "gcc"), pytests("test", "habitat", "gcc"),
        fuzz(1, runs=5000),
        pytests("test", "bench", "gcc"), pytests("test", "clients", "gcc"),
        pytests("test", "mcp", "gcc"), pytests("test", "toon", "gcc"),
    ],
    "all": lambda: [
        builds("asan", "programs", "unit", "fuzz"), builds("gcc", "programs", "unit"), lint(),
        builds("ubsan", "programs", "unit"), unit("ubsan"), unit("asan"), unit("gcc"),
        *drivers("all"), pytests("all", "e2e", "asan"), pytests("all", "e2e", "gcc"),
        pytests("all", "escape", "asan"), pytests("all", "escape", "gcc"),
        pytests("all", "escape", "gcc", has_subids=True),
        pytests("all", "habitat", "gcc"), fuzz(60), pytests("all", "bench", "gcc"),
        pytests("all", "clients", "gcc"), pytests("all", "mcp", "gcc"),
        pytests("all", "toon", "gcc"),
    ],
    "nervous": nervous,
    # What `test` runs of C, counted (tests/gcov.py).
    "coverage": lambda: [
        builds("coverage", "programs", "unit"), unit("coverage"),
        pytests("test", "driver_bash", "coverage"), pytests("test", "e2e", "coverage"),
        pytests("test", "escape", "coverage"), pytests("test", "mcp", "coverage"),
    ],
}


# --- jobs -----------------------------------------------------------------------------------------


@functools.cache
def known_seconds():
    """{"LEVEL GROUP": {file: seconds}}"""
    return json.loads(SECONDS.read_text()) if SECONDS.exists() else {}


def deal(level, group):
    """The group's jobs. Files whose tests load the profile `data` go to jobs of their own: each job
    has daemons, and these libraries are most of what a daemon's start costs."""
    known = known_seconds().get(f"{level} {group.name}", {})
    # One that is not known has no tests of this level, or is new.
    seconds = {file: known.get(file, 1) for file in group.files or [group.name]}
    part_seconds = PART_SECONDS_OF_CHECK if level == "check" else PART_SECONDS
    loading = {file for file in group.files if groups.loads_data(group.name, file)}
    parts = (deal_alike(group, seconds, loading, part_seconds)
             + deal_alike(group, seconds, seconds.keys() - loading, part_seconds))
    for number, part in enumerate(parts, 1):
        part.files.sort()
        part.name = f"{group.name} {number}" if len(parts) > 1 else group.name
    return parts


def deal_alike(group, seconds, files, part_seconds):
    """The longest files first, each to the part that has least so far."""
    if not files:
        return []
    total = sum(seconds[file] for file in files)
    count = max(1, math.ceil(total / part_seconds)) if group.files else 1
    parts = [Job(group.name, group, [], 0) for _ in range(count)]
    for file in sorted(files, key=lambda f: (-seconds[f], f)):
        part = min(parts, key=lambda job: job.seconds)
        part.files.append(file)
        part.seconds += seconds[file]
    return parts


class Run:
    """The chosen groups, and what they came to."""

    def __init__(self, level, chosen):
        self.level, self.groups = level, chosen
        self.waiting = [job for group in chosen for job in deal(level, group)]
        self.left = {group.name: 0 for group in chosen}
        for job in self.waiting:
            self.left[job.group.name] += 1
        self.results = {group.name: Result() for group in chosen}
        self.took = {group.name: 0.0 for group in chosen}
        self.used = {group.name: 0.0 for group in chosen}  # of processor time
        self.built, self.failed = set(), set()
        self.changed = threading.Condition()
        self.is_stopping = False

    def is_ready(self, job):
        return all(kind in self.built or kind in self.failed for kind in job.group.needs)

    def next_job(self):
        """Waits for a job that can begin; None: there is none left. Builds come first: others
        wait for them."""
        with self.changed:
            while not self.is_stopping and self.waiting:
                ready = [job for job in self.waiting if self.is_ready(job)]
                if ready:
                    job = max(ready, key=lambda j: (j.name.startswith("build"), j.seconds))
                    self.waiting.remove(job)
                    return job
                self.changed.wait()
        return None

    def lane(self):
        while job := self.next_job():
            began, groups.used.seconds = time.monotonic(), 0.0
            lost = [kind for kind in job.group.needs if kind in self.failed]
            if lost:
                result = Result()
                result.fail(job.name, f"not run: the build \"{lost[0]}\" failed")
            else:
                result = job.group.work(job.name, job.files)
            self.end_job(job, result, time.monotonic() - began)

    def end_job(self, job, result, took):
        name = job.group.name
        with self.changed:
            if name.startswith("build "):
                kind = name.removeprefix("build ")
                (self.failed if result.failures else self.built).add(kind)
            if not job.group.files:
                result.seconds = {name: took}
            self.results[name].add(result)
            self.took[name] += took
            self.used[name] += groups.used.seconds
            self.left[name] -= 1
            if self.left[name] == 0 and not self.is_stopping:
                report_group(name, self.results[name], self.took[name], self.used[name])
            self.changed.notify_all()

    def go(self, lanes):
        threads = [threading.Thread(target=self.lane) for _ in range(lanes)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            with self.changed:
                self.is_stopping = True
                self.changed.notify_all()
            for child in list(groups.running):
                groups.end(child)
            raise

    def total(self):
        total = Result()
        for result in self.results.values():
            total.add(result)
        return total

    def keep_seconds(self):
        """Of all its jobs' files, for `run.py seconds`."""
        table = {f"{self.level} {name}": {file: round(took, 1) for file, took
                                          in sorted(result.seconds.items())}
                 for name, result in self.results.items()}
        MEASURED.write_text(json.dumps(table))


# --- the report -----------------------------------------------------------------------------------


def report_group(name, result, seconds, used):
    state = "FAILED" if result.failures else "ok"
    counts = f"{result.passed} passed"
    if result.skipped:
        counts += f", {result.skipped} skipped"
    if result.failures:
        counts += f", {len(result.failures)} failed"
    print(f"{state:7}{name:16}{counts}  ({seconds:.0f} s, {used:.0f} s of processor)", flush=True)


def reason(text):
    """The line of a failure that says most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    told = [line[1:].strip() for line in lines if line.startswith("E ")] or lines
    return told[0][:120]


def report(total, seconds):
    for name, text in total.failures:
        print(f"not ok {name}: {reason(text)}")
    for name, text in total.failures:
        print(f"\n---- {name}\n{text.rstrip()}")
    if total.failures:
        print(f"\nlogs: {LOGS}")
    used = os.times()
    cpu = used.children_user + used.children_system
    print(f"{seconds / 60:.1f} minutes, {cpu:.0f} s of processor time")
    print(f"{total.passed} passed, {len(total.failures)} failed", flush=True)


def save_seconds():
    table = {**known_seconds(), **json.loads(MEASURED.read_text())}
    rows = [f'  "{name}": {json.dumps(table[name])}' for name in sorted(table)]
    SECONDS.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return 0


def choose(level, names):
    """The groups of a level with these names, and the builds that they need; None, with a word,
    if there is no such group."""
    found = LEVELS[level]()
    missing = set(names) - {group.name for group in found}
    if missing:
        print(f"no such group: {', '.join(sorted(missing))}; {level} has: "
              + ", ".join(group.name for group in found), file=sys.stderr)
        return None
    if not names:
        return found
    chosen = [group for group in found if group.name in names]
    needed = {f"build {kind}" for group in chosen for kind in group.needs}
    return [group for group in found if group.name in needed and group not in chosen] + chosen


def main(args):
    if args == ["seconds"]:
        return save_seconds()
    if not args or args[0] not in LEVELS:
        print(__doc__, file=sys.stderr)
        return 2
    chosen = choose(args[0], args[1:])
    if chosen is None:
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that children are ended
    # A shell's background and nohup leave these ignored, which the interpreters would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    whole, began = Run(args[0], chosen), time.monotonic()
    whole.go(int(os.environ.get("CELLA_TEST_LANES") or LANES_PER_CORE * os.cpu_count()))
    whole.keep_seconds()
    report(whole.total(), time.monotonic() - began)
    return 1 if whole.total().failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
