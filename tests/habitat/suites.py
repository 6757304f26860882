#!/usr/bin/python3
"""The own test suites of popular libraries from PyPI, outside as an ordinary user and in a session,
test by test.

    CELLA=build/cella python3 tests/habitat/suites.py [--as user] [--in cell|process] [NAME...]

Needs root, PyPI and some minutes, so it is run by hand. What was downloaded is kept in --cache. A
test that passes outside and fails inside is run once more on both sides: whatever does so again is
listed, with the end of its report in the cache (NAME.differ)."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
RUNNER = HERE / "suite_runner.py"
sys.path.insert(0, str(HERE.parent))

from differences import ALIKE, CLOSED  # noqa: E402
from harness import daemon as daemons  # noqa: E402
from sides import LIMITS, PYTHON, run_outside  # noqa: E402

WITHIN_SECONDS = 1500
TEST_SECONDS = 120


@dataclass(frozen=True)
class Suite:
    name: str
    version: str
    arguments: tuple          # pytest's, to find the tests in the unpacked source
    requirements: tuple = ()  # what its tests need, besides itself and pytest
    pytest: str = "pytest==8.4.2"
    before: str = ""          # code that runs before pytest
    source: str = ""          # a folder here whose tests they are, instead of PyPI's


SUITES = [
    # Its tests of leaks want one more library and many minutes.
    Suite("psutil", "7.2.2", ("tests", "--ignore=tests/test_memleaks.py")),
    Suite("tornado", "6.6.1", ("--pyargs", "tornado.test", "-o", "python_files=*_test.py"),
          ("pycurl", "pycares"),  # as tornado.test.runtests has it:
          before="import logging; logging.getLogger('tornado.access').setLevel('CRITICAL')"),
    Suite("pexpect", "4.9.0", ("tests",), ("ptyprocess",)),
    # What it does without the system takes most of a quarter of an hour.
    Suite("anyio", "4.16.0", tuple(f"tests/test_{part}.py" for part in
                                   ("subprocesses", "sockets", "signals", "fileio", "to_process")),
          ("trio", "psutil", "trustme", "truststore", "hypothesis", "exceptiongroup", "uvloop",
           "pytest-mock", "blockbuster"), pytest="pytest>=9"),
    # Its algorithms take long, and want nothing from the system.
    Suite("networkx", "3.6.1", ("--pyargs", "networkx.classes", "networkx.readwrite",
                                "networkx.generators", "networkx.utils")),
    Suite("attrs", "26.1.0", ("tests",), ("hypothesis", "cloudpickle")),
    Suite("click", "8.5.1", ("tests",)),
    Suite("packages", "1", ("check_packages.py",),
          ("dask[distributed]", "grpcio", "flask", "fastapi", "uvicorn", "watchfiles"),
          source="packages"),
]

# Why tests fail inside: (library, a part of their names, the name of the difference).
REASONS = [
    ("psutil", "ionice", "scheduling"),
    ("psutil", "rlimit", "limits"),
    # They try everything on a process that is gone, and are refused before it is missed.
    ("psutil", "halfway_terminated|test_kill|send_signal|terminate|TestProcessWait", "limits"),
    ("psutil", "DiskIo|disk_io|RootFs|cache_clear", "disks"),
    ("psutil", "cpu_stats|cpu_times|getloadavg|test_shared", "counters"),
    ("psutil", "test_parents|test_pid_0|children_duplicates", "process numbers"),
    ("anyio", "(ConnectedUDPSocket|TCPListener|UDPSocket)::(?!test_bind_failure)",
     "loopback only"),
    ("anyio", "main_module", "no main file"),
    ("anyio", "is_block_device", "device files"),
    ("packages", "fastapi_reloads", "events of reading"),
    ("pexpect", "which_should_match_other_group_user", "set-id bits"),
]


# --- what is downloaded ---------------------------------------------------------------------------


def pip(*arguments):
    subprocess.run([PYTHON, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
                   check=True, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"})


def prepare(suite, cache):
    """A tar file with the libraries (lib) and the unpacked source (source)."""
    made = cache / f"{suite.name}-{suite.version}.tar"
    if made.exists():
        return made
    exact = [] if suite.source else [f"{suite.name}=={suite.version}"]
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        folder = pathlib.Path(folder)
        pip("install", "--target", folder / "lib", *exact, suite.pytest, "pytest-timeout",
            *suite.requirements)
        if suite.source:
            shutil.copytree(HERE / suite.source, folder / "source")
        else:
            pip("download", "--no-deps", "--no-binary", suite.name, "-d", folder, *exact)
            (source,) = folder.glob("*.tar.gz")
            with tarfile.open(source) as archive:
                archive.extractall(folder)
            (folder / source.name.removesuffix(".tar.gz")).rename(folder / "source")
            # It would be found before the installed one, and has nothing compiled.
            shutil.rmtree(folder / "source" / suite.name, ignore_errors=True)
        with tarfile.open(folder / "made", "w") as archive:
            for name in ("lib", "source"):
                archive.add(folder / name, name)
        (folder / "made").rename(made)
    return made


# --- the two sides --------------------------------------------------------------------------------


def order_for(suite, only=()):
    arguments = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors",
                 f"--timeout={TEST_SECONDS}", *suite.arguments]
    return json.dumps({"libraries": "lib", "folder": "source", "before": suite.before,
                       "arguments": arguments, "only": list(only), "results": "results"}).encode()


def read_results(data):
    """{test: (outcome, report)}: the worst of its parts; one that never ended has failed."""
    rank = {"begun": 0, "passed": 1, "skipped": 2, "failed": 3}
    found = {}
    for line in data.decode(errors="replace").splitlines():
        entry = json.loads(line)
        before = found.get(entry["test"], ("begun", ""))
        now = (entry["outcome"], entry["text"])
        found[entry["test"]] = max(before, now, key=lambda one: rank[one[0]])
    return {test: ("failed", "did not end") if outcome == "begun" else (outcome, text)
            for test, (outcome, text) in found.items()}


class Outside:
    def __init__(self, user):
        self.user = user

    def run(self, suite, packed, order, log):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="suite-", dir="/var/tmp"))
        try:
            (folder / "order").write_bytes(order)
            subprocess.run(["tar", "-xf", packed, "-C", folder, "lib", "source"], check=True)
            shutil.copy(RUNNER, folder)
            subprocess.run(["chown", "-R", f"{self.user.pw_uid}:{self.user.pw_gid}", folder],
                           check=True)
            with open(log, "wb") as out, contextlib.suppress(subprocess.TimeoutExpired):
                run_outside(self.user, folder, "suite_runner.py", "order", stdout=out, stderr=out,
                            timeout=WITHIN_SECONDS)
            return read_results((folder / "results").read_bytes())
        finally:
            shutil.rmtree(folder, ignore_errors=True)


UNPACK = "import subprocess\nsubprocess.run(['tar', '-xf', 'packed', 'lib', 'source'], check=True)"
RUN = {
    "cell": "import sys\nsys.path.insert(0, '/workspace')\nimport suite_runner\n"
            "suite_runner.main('order')",
    "process": "import subprocess\nsubprocess.run(['/usr/bin/python3', 'suite_runner.py', 'order'],"
               " stderr=subprocess.STDOUT).returncode",
}


class Inside:
    def __init__(self, client, way):
        self.client, self.way = client, way

    def run(self, suite, packed, order, log):
        session = self.client.spawn("min", limits=LIMITS).patient(WITHIN_SECONDS + 60)
        try:
            for name, content in (("packed", packed.read_bytes()), ("order", order),
                                  (RUNNER.name, RUNNER.read_bytes())):
                reply = session.put(name, content)
                assert reply.status < 300, reply
            session.out(UNPACK, timeout_ms=300_000)
            ran = session.exec(RUN[self.way], timeout_ms=WITHIN_SECONDS * 1000)
            log.write_text(json.dumps(ran, indent=1))
            return read_results(session.get("results").body)
        finally:
            session.kill()


# --- the comparison -------------------------------------------------------------------------------


def passing(results):
    return {test for test, (outcome, _) in results.items() if outcome == "passed"}


def reason_for(suite, test):
    """The title of the difference that explains why this test fails inside."""
    for library, pattern, name in REASONS:
        if library == suite.name and re.search(pattern, test):
            return {**ALIKE, **CLOSED}[name].title
    return "unexplained"


def compare(suite, outside, inside, cache):
    """A line of the table, and a line for each test that passes outside and not inside."""
    packed, log = prepare(suite, cache), cache / suite.name
    there = outside.run(suite, packed, order_for(suite), log.with_suffix(".outside"))
    here = inside.run(suite, packed, order_for(suite), log.with_suffix(".inside"))
    lost = sorted(passing(there) - passing(here))
    steady = set()
    if lost:
        order = order_for(suite, lost)
        steady = passing(outside.run(suite, packed, order, log.with_suffix(".outside2")))
        steady -= passing(inside.run(suite, packed, order, log.with_suffix(".inside2")))
    lines = []
    with open(log.with_suffix(".differ"), "w", errors="replace") as reports:
        for test in lost:
            outcome, report = here.get(test, ("not found", ""))
            reason = reason_for(suite, test) if test in steady else "not again"
            reports.write(f"===== {test}: {outcome} ({reason})\n{report}\n")
            lines.append(f"{suite.name}: {test}: {outcome} ({reason})")
    row = (suite.name, suite.version, len(there), len(passing(there)), len(passing(here)),
           len(steady))
    return row, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--as", dest="mode", choices=["root", "user"], default="root")
    parser.add_argument("--in", dest="way", choices=["cell", "process"], default="cell")
    parser.add_argument("--cache", type=pathlib.Path, default="/var/tmp/cella-suites")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the daemon and the user end with it
    args.cache.mkdir(parents=True, exist_ok=True)
    binary = daemons.find_binary()
    with daemons.ordinary_user(binary) as (user, copy), \
            tempfile.TemporaryDirectory(prefix="suites-") as folder:
        launcher = daemons.Launcher(binary, None, pathlib.Path(folder))
        if args.mode == "user":
            launcher = daemons.Launcher(copy, user, pathlib.Path(user.pw_dir))
        daemon = launcher(config="default_profile: min\n")
        outside, inside = Outside(user), Inside(daemon.client, args.way)
        try:
            print("| library | version | tests | pass outside | pass inside | differ |\n"
                  "|---|---|--:|--:|--:|--:|", flush=True)
            differ = []
            for suite in SUITES:
                if not args.names or suite.name in args.names:
                    row, lines = compare(suite, outside, inside, args.cache)
                    print("| " + " | ".join(map(str, row)) + " |", flush=True)
                    differ += lines
            print("", *differ, sep="\n")
        finally:
            launcher.stop_all()


if __name__ == "__main__":
    main()
