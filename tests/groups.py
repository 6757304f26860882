"""What the groups of tests do: build, look at the sources, run programs and pytest, fuzz. Each
function runs some files of a group and returns a Result; run.py decides what runs when."""

import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

import gcov

TOP = Path(__file__).resolve().parent.parent
BUILDS = TOP / "build-test"
LOGS = BUILDS / "logs"
PYTHON = "/usr/bin/python3"  # it has Debian's packages, which python3 on PATH may not have
SHOWN_LINES = 60  # of the output of a failure
GRACE_SECONDS = 20
WITHIN_SECONDS = 3600  # for what hangs

running = set()  # the children of run()
used = threading.local()  # .seconds: of processor time, by what this lane has run

GOLD = "-Dc_link_args=-fuse-ld=gold"  # a hundred programs are linked, in half the time
SANITIZERS = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
# Of what was freed 8 MB are watched: every fork of the warden has to copy them.
ASAN_OPTIONS = ("detect_leaks=1:detect_stack_use_after_return=0:quarantine_size_mb=8:"
                "malloc_context_size=12")
BUILD_KINDS = {
    "gcc": ("gcc", []),  # the one that `make build` makes
    # For the daily loop: without the optimizer it takes half the time.
    "quick": ("gcc", ["-Doptimization=0", GOLD]),
    # One build for all that clang is for: the fuzzers are the sanitized rooms with another main().
    # Its optimizer would take three times as long as the tests win by it.
    # Half of its time would go into three checks of UBSan; AddressSanitizer sees what two of them
    # do (no pointer, past the end), and the third, alignment, has a build of its own in level all.
    "asan": ("clang", [*SANITIZERS, "-Dfuzz=true", "-Doptimization=0",
                       "-Dc_args=-fno-sanitize=null,object-size,alignment", GOLD]),
    # File by file: each has to include what it uses, which a room compiled as one file hides.
    "ubsan": ("clang", [*SANITIZERS, "-Dwhole_rooms=false"]),
    "coverage": ("gcc", ["-Db_coverage=true", "-Doptimization=0", "-Dwhole_rooms=false"]),
}


@dataclass
class Result:
    """What some tests came to."""
    passed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)  # (name, text)
    seconds: dict = field(default_factory=dict)   # of each file

    def fail(self, name, text):
        self.failures.append((name, text))

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures
        for name, took in other.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0) + took


def run(command, log, env=None, timeout=WITHIN_SECONDS):
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
            return child.wait() if has_ended(child, timeout) else None
        finally:
            end(child)
            running.discard(child)


def has_ended(child, timeout):
    """Waits for a child, and counts what it and its children took before anybody waits for it."""
    pidfd = os.pidfd_open(child.pid)
    try:
        ended = bool(select.select([pidfd], [], [], timeout)[0])
    finally:
        os.close(pidfd)
    fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    used.seconds = getattr(used, "seconds", 0) + ticks / os.sysconf("SC_CLK_TCK")
    return ended


def end(child):
    """Asks a child to end, if it has not, and kills it and its process group."""
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


def verdict(status):
    return "took too long" if status is None else f"ended with status {status}"


def tail(path):
    text = path.read_text(errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-SHOWN_LINES:])


def log_of(name):
    return LOGS / f"{re.sub(r'[^a-z0-9]+', '-', name)}.log"


# --- builds and sources ---------------------------------------------------------------------------


def build_folder(kind):
    """Tests of gcc's build are tests of what people have built."""
    return TOP / "build" if kind == "gcc" else BUILDS / kind


def has_targets(folder, targets):
    """False for a build that was made before what the tests need was installed."""
    known = (folder / "build.ninja").read_text()
    return all(f"\nbuild {target}: " in known for target in targets)


def build(name, kind, targets):
    compiler, options = BUILD_KINDS[kind]
    folder = build_folder(kind)
    result = Result()
    log = log_of(name)
    steps = [["ninja", "-C", str(folder), *targets]]
    if not (folder / "build.ninja").exists():
        # People's builds go on after a warning that their compiler has and ours has not.
        strict = [] if kind == "gcc" else ["-Dwerror=true"]
        steps.insert(0, ["meson", "setup", str(folder), str(TOP), *strict, *options])
    elif not has_targets(folder, targets):
        steps.insert(0, ["meson", "setup", "--reconfigure", str(folder), str(TOP)])
    for step in steps:
        status = run(step, log, {"CC": compiler})
        if status != 0:
            result.fail(name, f"{verdict(status)}\n{tail(log)}")
            return result
    warnings = re.findall(r"^.*: warning: .*", log.read_text(), flags=re.M) if kind == "gcc" else []
    if warnings:
        result.fail(name, "\n".join(warnings))
        return result
    if kind == "coverage":
        gcov.prepare(folder)
    result.passed = 1
    return result


def lint(name):
    log = log_of(name)
    status = run([PYTHON, "tests/lint.py"], log)
    result = Result()
    for block in re.split(r"^(?=ok |not ok )", log.read_text(), flags=re.M):
        if block.startswith("ok "):
            result.passed += 1
        elif block.startswith("not ok "):
            result.fail("lint " + block.splitlines()[0].split(" - ")[-1], block)
    if status not in (0, 1):
        result.fail("lint", f"{verdict(status)}\n{tail(log)}")
    return result


# --- tests of C -----------------------------------------------------------------------------------


def unit_files():
    return [path.stem for path in sorted((TOP / "tests/unit").glob("test_*.c"))]


def unit(name, kind, programs):
    """Runs programs of cmocka one after the other."""
    result = Result()
    for program in programs * int(os.environ.get("CELLA_REPEAT", "1")):
        log = log_of(f"{name} {program}")
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as reports:
            env = {"CMOCKA_MESSAGE_OUTPUT": "XML", "CMOCKA_XML_FILE": f"{reports}/%g.xml",
                   "ASAN_OPTIONS": ASAN_OPTIONS}
            status = run([str(build_folder(kind) / "tests/unit" / program)], log, env)
            found = Result()
            for report in sorted(Path(reports).iterdir()):
                found.add(read_junit(report))
        if status != 0 and not found.failures:
            found.fail(f"{program} ({kind})", f"{verdict(status)}\n{tail(log)}")
        found.seconds = {program: time.monotonic() - began}
        result.add(found)
    return result


def fuzz_files():
    return [path.stem for path in sorted((TOP / "tests/fuzz").glob("fuzz_*.c"))]


def fuzz(name, seconds, runs, programs):
    """Gives each target the seeds of its corpus, and some seconds or runs to find more; of runs
    a fast machine makes no more than a slow one."""
    result = Result()
    for program in programs:
        log = log_of(f"{name} {program}")
        seeds = TOP / "tests/fuzz/corpus" / program.removeprefix("fuzz_")
        with tempfile.TemporaryDirectory() as found:
            command = [str(BUILDS / "asan/tests/fuzz" / program), f"-max_total_time={seconds}",
                       f"-runs={runs}", "-timeout=25", f"-seed={os.environ.get('CELLA_SEED', '1')}",
                       "-rss_limit_mb=1024", f"-artifact_prefix={LOGS}/", found]
            status = run(command + ([str(seeds)] if seeds.is_dir() else []), log)
        result.seconds[program] = seconds
        if status == 0:
            result.passed += 1
        else:
            result.fail(program, f"{verdict(status)}\n{tail(log)}")
    return result


# --- tests of Python ------------------------------------------------------------------------------


def read_junit(path):
    result = Result()
    for case in ElementTree.parse(path).iter("testcase"):
        where = case.get("classname") or ""
        bad = [e for e in case if e.tag in ("failure", "error")]
        if bad:
            name = ".".join(filter(None, [where, case.get("name")]))
            result.fail(name, "\n".join((e.text or e.get("message") or "") for e in bad))
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1
        module = next((part for part in where.split(".") if part.startswith("test_")), where)
        took = result.seconds.get(f"{module}.py", 0) + float(case.get("time") or 0)
        result.seconds[f"{module}.py"] = took
    return result


def sanitizer_env(folder):
    """Reports go to files in a place that every user may write to: some processes under test have
    given up their user, and their stderr belongs to the test."""
    known = Path(folder) / "known_leaks"
    known.write_text("leak:wcsdup\n")  # libedit never frees the names of functions added to it
    known.chmod(0o644)
    return {
        "ASAN_OPTIONS": f"log_path={folder}/report:{ASAN_OPTIONS}",
        "UBSAN_OPTIONS": f"log_path={folder}/report:print_stacktrace=1",
        "LSAN_OPTIONS": f"print_suppressions=0:suppressions={known}",
    }


# LeakSanitizer stopped all threads to look for leaks, and one of them was just ending: it looks
# without that one's registers, and what it finds would stand in further lines.
NO_FINDING = re.compile(r"(==\d+==Unable to get registers from thread \d+\.\n?)+")


class Reports:
    """The folder for what the sanitizers find during one job."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cella-sanitizer-"))
        self.folder.chmod(0o1777)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def collect(self, result, name):
        notes = self.folder / "tests"  # by tests/conftest.py
        after = dict(line.split(" ", 1) for line in notes.read_text().splitlines()
                     ) if notes.exists() else {}
        for report in sorted(self.folder.glob("report*")):
            if NO_FINDING.fullmatch(report.read_text(errors="replace")):
                continue
            shutil.copy(report, LOGS / f"{log_of(name).stem}-{report.name}.log")
            found = report.stat()
            written = time.strftime("%T", time.localtime(found.st_mtime))
            result.fail(f"{name} sanitizer report",
                        f"{tail(report) or 'it is empty'}\n{report.name} of user {found.st_uid}, "
                        f"written at {written}, seen after {after.get(report.name, 'all tests')}")


class Program:
    """The program of a build under a path of its own, so that what still runs of it after a job is
    known to be that job's. No kind, no program."""

    def __init__(self, kind, name):
        kind = kind or "none"
        self.build = build_folder(kind)
        self.folder = BUILDS / kind / "jobs" / log_of(name).stem
        self.path = self.folder / "cella"
        self.kind = kind

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.kind == "none":
            return self
        for program in ("cella", "cella-bench"):
            if (self.build / program).exists():
                os.link(self.build / program, self.folder / program)
        for beside in ("tests", "src"):  # what the build has besides the program
            (self.folder / beside).symlink_to(self.build / beside)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def leftovers(self):
        """The pids of what still runs of it."""
        found = []
        for exe in Path("/proc").glob("[0-9]*/exe"):
            try:
                if os.readlink(exe) == str(self.path):
                    found.append(int(exe.parent.name))
            except OSError:
                pass  # it ended, or is not ours
        return found

    def end_leftovers(self, result, name):
        """After a job nothing of it may run; what does is a failure, and is ended."""
        pids = self.leftovers()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if pids:
            result.fail(f"{name} leaves nothing running", f"{len(pids)} processes of {self.path}")


def pytest_files(folder, mark=""):
    """With a mark those in which it occurs: to collect the others takes longer than the tests."""
    return [path.name for path in sorted((TOP / "tests" / folder).glob("test_*.py"))
            if f"mark.{mark}" in path.read_text() or not mark]


def loads_data(group, file):
    """True if tests of this file start sessions of the profile `data`."""
    path = TOP / "tests" / group.split()[0] / file
    return group.startswith("e2e") and bool(re.search(r'data_session|"data"', path.read_text()))


def pytest(name, level, folder, kind, files, mode=None, has_subids=False):
    """Runs the tests of some files that belong to the level, against the program of a build. On
    request only those with an ordinary user, who then has ids for its sessions."""
    log, report = log_of(name), log_of(name).with_suffix(".xml")
    report.unlink(missing_ok=True)
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs",
               "--durations=15", f"--junitxml={report}",
               *(str(TOP / "tests" / folder / file) for file in files),
               *(["-k", "user"] if has_subids else [])]
    with Reports() as reports, Program(kind, name) as program:
        env = {"PYTHONDONTWRITEBYTECODE": "1", "CELLA_PYCACHE": str(BUILDS / "pycache"),
               "CELLA_LEVEL": level, "CELLA_KIND": kind or "", "CELLA": str(program.path),
               **({"CELLA_TEST_PART": mode} if mode else {})}
        if has_subids:
            env["CELLA_TEST_SUBIDS"] = "1"
        if kind == "asan":
            env.update(sanitizer_env(reports.folder), CELLA_REPORTS=str(reports.folder))
        status = run(command, log, env)
        result = read_junit(report) if report.exists() else Result()
        nothing_chosen = status == 5  # all files of this part belong to another level
        if status is None or (status != 0 and not result.failures and not nothing_chosen):
            result.fail(name, f"{verdict(status)}\n{tail(log)}")
        reports.collect(result, name)
        program.end_leftovers(result, name)
    return result
