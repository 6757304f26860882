#!/usr/bin/python3
"""Builds Cella in three ways and runs every test. The last line is "N passed, N failed"."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BUILDS = TOP / "build-test"
LOGS = BUILDS / "logs"
SHOWN_LINES = 60  # of the output of a failure
FUZZ_SECONDS = 6  # each target
GRACE_SECONDS = 20

# Seconds. They are for what hangs, and several times what it takes on two slow cores.
BUILD_WITHIN, LINT_WITHIN, UNIT_WITHIN, FUZZ_WITHIN = 1800, 600, 300, 300
DRIVER_WITHIN, E2E_WITHIN, ESCAPE_WITHIN, BENCH_WITHIN = 1800, 3600, 1800, 900

running = set()  # the children of run()
is_stopping = threading.Event()

SANITIZERS = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
BUILD_KINDS = {
    "gcc": ("gcc", [], ["all", "unit"]),
    "asan": ("clang", SANITIZERS, ["all", "unit"]),
    "fuzz": ("clang", [*SANITIZERS, "-Dfuzz=true"], ["fuzz"]),
}


@dataclass
class Result:
    """What one group of tests came to."""
    passed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)  # (name, text)

    def fail(self, name, text):
        self.failures.append((name, text))

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures


def run(command, log, timeout, env=None):
    """Runs a command, its output in a log. Returns its exit status, None if it took too long: then
    it is asked to end, so that it can end what it started, and killed with its process group."""
    with open(log, "wb") as out:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                     cwd=TOP, env={**os.environ, **(env or {})},
                                     start_new_session=True)
        except OSError as error:
            out.write(f"{error}\n".encode())
            return 127
        running.add(child)
        try:
            return child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end(child)
            running.discard(child)


def end(child):
    """Asks it to end, if it has not, and kills it and its process group."""
    try:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()


def verdict(status, timeout):
    return f"took longer than {timeout} s" if status is None else f"ended with status {status}"


def tail(path):
    text = path.read_text(errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-SHOWN_LINES:])


def build(kind):
    compiler, options, targets = BUILD_KINDS[kind]
    folder = BUILDS / kind
    result = Result()
    log = LOGS / f"build-{kind}.log"
    steps = [["ninja", "-C", str(folder), *targets]]
    if not (folder / "build.ninja").exists():
        steps.insert(0, ["meson", "setup", str(folder), str(TOP), "-Dwerror=true", *options])
    for step in steps:
        status = run(step, log, BUILD_WITHIN, {"CC": compiler})
        if status != 0:
            result.fail(f"build {kind}", f"{verdict(status, BUILD_WITHIN)}\n{tail(log)}")
            return result
    result.passed = 1
    return result


def lint():
    log = LOGS / "lint.log"
    status = run([sys.executable, "tests/lint.py"], log, LINT_WITHIN)
    result = Result()
    for block in re.split(r"^(?=ok |not ok )", log.read_text(), flags=re.M):
        if block.startswith("ok "):
            result.passed += 1
        elif block.startswith("not ok "):
            result.fail("lint " + block.splitlines()[0].split(" - ")[-1], block)
    if status not in (0, 1):
        result.fail("lint", f"{verdict(status, LINT_WITHIN)}\n{tail(log)}")
    return result


def read_junit(path):
    result = Result()
    for case in ElementTree.parse(path).iter("testcase"):
        bad = [e for e in case if e.tag in ("failure", "error")]
        if bad:
            name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
            result.fail(name, "\n".join((e.text or e.get("message") or "") for e in bad))
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1
    return result


def sanitizer_env(folder):
    """Reports go to files in a place that every user may write to: some processes under test have
    given up their user, and their stderr belongs to the test."""
    return {
        "ASAN_OPTIONS": f"log_path={folder}/report:detect_leaks=1:detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": f"log_path={folder}/report:print_stacktrace=1",
        "LSAN_OPTIONS": "print_suppressions=0",
        "CELLA_SANITIZED": "1",
    }


class Reports:
    """The folder for what the sanitizers find during one group."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cella-sanitizer-"))
        self.folder.chmod(0o1777)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def collect(self, result, group):
        for report in sorted(self.folder.iterdir()):
            shutil.copy(report, LOGS / f"{group}-{report.name}.log")
            result.fail(f"{group} sanitizer report", tail(report))


def programs(kind, folder):
    """Those whose source still exists."""
    return [BUILDS / kind / folder / source.stem for source in sorted((TOP / folder).glob("*_*.c"))]


def unit(kind):
    result = Result()
    for program in programs(kind, "tests/unit"):
        log = LOGS / f"unit-{kind}-{program.name}.log"
        with tempfile.TemporaryDirectory() as reports:
            env = {"CMOCKA_MESSAGE_OUTPUT": "XML", "CMOCKA_XML_FILE": f"{reports}/%g.xml"}
            status = run([str(program)], log, UNIT_WITHIN, env)
            found = Result()
            for report in sorted(Path(reports).iterdir()):
                found.add(read_junit(report))
        if status != 0 and not found.failures:
            found.fail(f"{program.name} ({kind})", f"{verdict(status, UNIT_WITHIN)}\n{tail(log)}")
        result.add(found)
    return result


def leftovers(binary):
    """The pids of what still runs of a program."""
    found = []
    for exe in Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(exe) == str(binary):
                found.append(int(exe.parent.name))
        except OSError:
            pass  # it ended, or is not ours
    return found


def end_leftovers(result, group, binary):
    """After a group nothing of it may run; what does is a failure, and is ended."""
    pids = leftovers(binary)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if pids:
        result.fail(f"{group} leaves nothing running", f"{len(pids)} processes of {binary}")


def pytest(group, folder, timeout, kind=None):
    """Runs the tests of a folder, against the program of a build if there is one."""
    log, report = LOGS / f"{group}.log", LOGS / f"{group}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs",
               "--durations=15", f"--junitxml={report}", str(TOP / "tests" / folder)]
    with Reports() as reports:
        env = {"PYTHONDONTWRITEBYTECODE": "1"}
        if kind is not None:
            env["CELLA"] = str(BUILDS / kind / "cella")
        if kind == "asan":
            env.update(sanitizer_env(reports.folder))
        status = run(command, log, timeout, env)
        result = read_junit(report) if report.exists() else Result()
        if status is None or (status != 0 and not result.failures):
            result.fail(group, f"{verdict(status, timeout)}\n{tail(log)}")
        reports.collect(result, group)
        if kind is not None:
            end_leftovers(result, group, BUILDS / kind / "cella")
    return result


def fuzz_one(program):
    result = Result()
    log = LOGS / f"{program.name}.log"
    seeds = TOP / "tests/fuzz/corpus" / program.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory() as found:
        command = [str(program), f"-max_total_time={FUZZ_SECONDS}", "-timeout=25",
                   f"-seed={os.environ.get('CELLA_SEED', '1')}", "-rss_limit_mb=1024",
                   f"-artifact_prefix={LOGS}/", found]
        status = run(command + ([str(seeds)] if seeds.is_dir() else []), log, FUZZ_WITHIN)
    if status == 0:
        result.passed = 1
    else:
        result.fail(program.name, f"{verdict(status, FUZZ_WITHIN)}\n{tail(log)}")
    return result


def fuzz():
    """One target after the other: another lane has the other core."""
    result = Result()
    for program in programs("fuzz", "tests/fuzz"):
        result.add(fuzz_one(program))
    return result


# name, what it needs to have been built, what to do
GROUPS = [
    ("lint", None, lint),
    ("build gcc", None, lambda: build("gcc")),
    ("build asan", None, lambda: build("asan")),
    ("build fuzz", None, lambda: build("fuzz")),
    ("unit gcc", "gcc", lambda: unit("gcc")),
    ("unit asan", "asan", lambda: unit("asan")),
    ("driver", None, lambda: pytest("driver", "driver", DRIVER_WITHIN)),
    ("driver node", None, lambda: pytest("driver-node", "driver_node", DRIVER_WITHIN)),
    ("driver bash", "gcc", lambda: pytest("driver-bash", "driver_bash", DRIVER_WITHIN, "gcc")),
    ("e2e gcc", "gcc", lambda: pytest("e2e-gcc", "e2e", E2E_WITHIN, "gcc")),
    ("e2e asan", "asan", lambda: pytest("e2e-asan", "e2e", E2E_WITHIN, "asan")),
    ("escape gcc", "gcc", lambda: pytest("escape-gcc", "escape", ESCAPE_WITHIN, "gcc")),
    ("escape asan", "asan", lambda: pytest("escape-asan", "escape", ESCAPE_WITHIN, "asan")),
    ("fuzz", "fuzz", fuzz),
    ("bench", "gcc", lambda: pytest("bench", "bench", BENCH_WITHIN, "gcc")),
]

# What may run side by side: most tests wait more than they work, and share nothing. One lane has
# the daemons of each build, so that each can tell what is left of its own. What measures is alone.
STAGES = [
    [["lint"], ["build gcc", "build asan", "build fuzz"]],
    [["unit gcc", "driver bash", "driver node"], ["unit asan", "driver"]],
    # Daemons, their forks and their clients fill two cores by themselves.
    [["e2e gcc"]],
    [["e2e asan"]],
    # Not both at once: they fill disks, and look how full the file system is.
    [["escape gcc", "escape asan"], ["fuzz"]],
    [["bench"]],
]


def report_group(name, result, seconds):
    state = "FAILED" if result.failures else "ok"
    counts = f"{result.passed} passed"
    if result.skipped:
        counts += f", {result.skipped} skipped"
    if result.failures:
        counts += f", {len(result.failures)} failed"
    print(f"{state:7}{name:13}{counts}  ({seconds:.1f} s)", flush=True)


def reason(text):
    """The line of a failure that says most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    told = [line[1:].strip() for line in lines if line.startswith("E ")] or lines
    return told[0][:120]


class Run:
    """The chosen groups, and what they came to."""

    def __init__(self, chosen):
        self.chosen, self.total, self.built = chosen, Result(), set()
        self.lock = threading.Lock()

    def lane(self, names):
        for name, needs, work in [g for n in names for g in GROUPS if g[0] == n]:
            is_chosen = not self.chosen or name in self.chosen or name.startswith("build ")
            if is_chosen and not is_stopping.is_set():
                self.group(name, needs, work)

    def group(self, name, needs, work):
        started = time.monotonic()
        if needs is not None and needs not in self.built:
            result = Result()
            result.fail(name, f"not run: the build \"{needs}\" failed")
        else:
            result = work()
        with self.lock:
            if name.startswith("build ") and not result.failures:
                self.built.add(name.removeprefix("build "))
            report_group(name, result, time.monotonic() - started)
            self.total.add(result)

    def stage(self, lanes):
        with ThreadPoolExecutor(len(lanes)) as pool:
            try:
                for done in [pool.submit(self.lane, names) for names in lanes]:
                    done.result()
            except KeyboardInterrupt:
                is_stopping.set()
                for child in list(running):
                    end(child)
                raise


def main(chosen):
    names = [name for name, _, _ in GROUPS]
    if set(chosen) - set(names):
        print(f"no such group: {', '.join(set(chosen) - set(names))}; there are: "
              + ", ".join(names), file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that run() cleans up
    # A shell's background and nohup leave these ignored, which the interpreters would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    whole = Run(chosen)
    for lanes in STAGES:
        whole.stage(lanes)
    for name, text in whole.total.failures:
        print(f"not ok {name}: {reason(text)}")
    for name, text in whole.total.failures:
        print(f"\n---- {name}\n{text.rstrip()}")
    if whole.total.failures:
        print(f"\nlogs: {LOGS}")
    print(f"{whole.total.passed} passed, {len(whole.total.failures)} failed", flush=True)
    return 1 if whole.total.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
