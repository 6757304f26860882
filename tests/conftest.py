"""Fixtures of the end-to-end and escape suites. Run with CELLA=path/to/cella, or build/cella.

Every test that uses `daemon` runs against a daemon started by root and against one started by an
ordinary user (when the tests run as root; else only as that user), unless it is marked:
  one_mode           what is shown does not depend on who started the daemon
  each_mode          in a file that is one_mode: both
  needs_root(reason) root only: an ordinary user may not set this limit
  needs_user(reason) an ordinary user only
  semantics          what is shown is the interpreter's doing: a sample in the other mode

Which tests run also depends on the level (tests/run.py), and is the same every time:
  check  those marked smoke but not slow, as root, of each the first cases; of drivers' tests half
  test   against the sanitized build all but those marked slow; as an ordinary user escapes and
         those marked privilege, where the program does something else for root (of a file that is
         marked as a whole one in three), and a small sample of the others; of those marked sampled
         and of the habitat a sample. Against the other build half of those marked release
  all    everything, in both builds; without a level, as by hand, too
"""

import collections
import os
import pathlib
import sys
import zlib

import pytest
from _pytest.runner import runtestprotocol

sys.path.insert(0, str(pathlib.Path(__file__).parent))
if "CELLA_PYCACHE" in os.environ:
    # What pytest makes of the tests is half of the time that it takes to collect them, and several
    # jobs collect the same: it is kept, outside of the sources. Children keep nothing.
    sys.pycache_prefix, sys.dont_write_bytecode = os.environ["CELLA_PYCACHE"], False

from harness import daemon as daemons  # noqa: E402
from harness import host  # noqa: E402
from harness.client import Session  # noqa: E402
from harness.notebooks import Notebook  # noqa: E402

IS_ROOT = os.geteuid() == 0
LEVEL = os.environ.get("CELLA_LEVEL", "all")
IS_SHIPPED = os.environ.get("CELLA_KIND") == "gcc"  # this build is as the one that is installed
SAMPLE = 8  # one in so many
SAMPLE_OF_PRIVILEGE = 3  # as an ordinary user, of files that are marked as a whole
SAMPLE_OF_RELEASE = 2  # against the build that is shipped; the sanitized one has them all
SAMPLE_OF_CHECK = 2  # of drivers' tests
CASES_OF_CHECK = 3  # of an end-to-end test
SAMPLE_OF_SECOND_MODE = 32  # as an ordinary user, of the others
# The ordinary user has ranges in /etc/subuid and /etc/subgid, so that its sessions have ids of
# their own, too. tests/escape/test_own_ids.py has a user with them in any case.
HAS_SUBIDS = bool(os.environ.get("CELLA_TEST_SUBIDS"))
PART = os.environ.get("CELLA_TEST_PART")  # "root" or "user": the tests of this mode alone
REPEAT = int(os.environ.get("CELLA_REPEAT", "1"))

MARKERS = [
    "one_mode: the same whoever started the daemon",
    "each_mode: in both modes, though the file is one_mode",
    "needs_root(reason): only a daemon of root can do this",
    "needs_user(reason): only for a daemon of an ordinary user",
    "semantics: the interpreter's doing; a sample is enough in the other mode",
    "privilege: the program does something else for root",
    "sampled(n): the same as shown elsewhere; one in n is enough but for level all (8; of drivers' "
    "tests all in level test)",
    "slow: level all only",
    "release: level test runs it against the build that is shipped, too",
    "smoke: level check",
]


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(config, items):
    kept, dropped = [], []
    number_cases(items)
    for item in items:
        is_wanted = not is_redundant(item) and is_in_level(item) and is_of_part(item)
        (kept if is_wanted else dropped).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """All repetitions but the last, which pytest makes: what was made for the test alone goes
    after each, as if another one of its file came next."""
    for _ in range(REPEAT - 1):
        runtestprotocol(item, nextitem=item.parent)


REPORTS = pathlib.Path(os.environ["CELLA_REPORTS"]) if "CELLA_REPORTS" in os.environ else None
reports_seen = set()


def pytest_runtest_logfinish(nodeid):
    """Notes after which test a report of the sanitizers was first there (tests/groups.py)."""
    if REPORTS is None:
        return
    for report in set(REPORTS.glob("report*")) - reports_seen:
        reports_seen.add(report)
        with open(REPORTS / "tests", "a") as notes:
            notes.write(f"{report.name} {nodeid}\n")


def mode_of(item):
    return getattr(item, "callspec", None) and item.callspec.params.get("mode")


def is_redundant(item):
    """True for the second mode of a test that shows nothing more in it."""
    mode, has = mode_of(item), item.get_closest_marker
    if mode == "user" and has("needs_root") and not IS_ROOT:
        item.add_marker(pytest.mark.skip(reason=has("needs_root").args[0]))
        return False
    if mode == "user" and IS_ROOT:
        is_one = has("one_mode") and not has("each_mode")
        return bool(has("needs_root") or is_one or has("semantics") and not is_sample(item))
    return mode == "root" and bool(has("needs_user"))


def is_in_level(item):
    has, folder = item.get_closest_marker, item.path.parent.name
    if folder == "habitat" and LEVEL == "test":
        return mode_of(item) is None or is_sample(item, 4 * SAMPLE)
    if folder not in ("e2e", "escape"):
        is_left_out = has("slow") or has("sampled") and not (
            is_sample(item) if LEVEL == "check" else is_nth_case(item, 1))
        is_left_out = is_left_out or LEVEL == "check" and not is_sample(item, SAMPLE_OF_CHECK)
        return LEVEL == "all" or not is_left_out
    is_second = is_second_mode(item) and not has("needs_user")
    if LEVEL == "check":
        is_first = item.case_number < CASES_OF_CHECK
        return bool(has("smoke")) and not has("slow") and is_first and not is_second
    if LEVEL != "test":
        return True
    if has("slow"):
        return False
    if folder == "e2e" and IS_SHIPPED:
        return bool(has("release")) and not is_second and is_sample(item, SAMPLE_OF_RELEASE)
    if has("sampled") and not is_nth_case(item, SAMPLE):
        return False
    if folder == "escape" or not is_second or has("privilege") in item.own_markers:
        return True
    return is_sample(item, SAMPLE_OF_PRIVILEGE if has("privilege") else SAMPLE_OF_SECOND_MODE)


def is_second_mode(item):
    return mode_of(item) == "user" and IS_ROOT


def is_of_part(item):
    """True unless only the tests of the other mode are to run (tests/run.py)."""
    return PART in (None, "user" if is_second_mode(item) else "root")


def number_cases(items):
    """Numbers the cases of each test, so that a sample of them always has the first."""
    counts = collections.Counter()
    for item in items:
        given = getattr(item, "callspec", None) and item.callspec.params or {}
        family = (item.path, getattr(item, "originalname", item.name),
                  *(given.get(name) for name in ("mode", "python", "node")))
        item.case_number = counts[family]
        counts[family] += 1


def is_nth_case(item, unless_told):
    """True for the first case, and every nth after it, as the mark `sampled` says."""
    return item.case_number % (*item.get_closest_marker("sampled").args, unless_told)[0] == 0


def is_sample(item, size=SAMPLE):
    """True for one in so many; another one in each mode."""
    return zlib.crc32(item.nodeid.encode()) % size == 0


@pytest.fixture(scope="session")
def cella():
    """The program under test."""
    binary = daemons.find_binary()
    if not binary.exists():
        pytest.exit(f"{binary} does not exist: run `make build`, or set CELLA", 1)
    return binary


@pytest.fixture(scope="session", params=["root", "user"] if IS_ROOT else ["user"])
def mode(request):
    return request.param


@pytest.fixture(scope="session")
def account(cella):
    """An ordinary user and a program it may run: (struct passwd or None, path)."""
    if not IS_ROOT:
        yield None, cella
        return
    with daemons.ordinary_user(cella, HAS_SUBIDS) as found:
        yield found


@pytest.fixture(scope="session")
def launcher(mode, request, cella, tmp_path_factory):
    """Starts daemons as root, or as an ordinary user."""
    if mode == "root":
        directory = tmp_path_factory.mktemp("daemons")
        return daemons.Launcher(cella, None, directory)
    user, binary = request.getfixturevalue("account")
    directory = pathlib.Path(user.pw_dir) if user else tmp_path_factory.mktemp("daemons")
    return daemons.Launcher(binary, user, directory)


@pytest.fixture
def folder(launcher):
    """An empty directory of the daemon's user."""
    path = launcher.new_data()
    path.mkdir()
    if launcher.user:
        os.chown(path, launcher.user.pw_uid, launcher.user.pw_gid)
    return path


@pytest.fixture
def launch(launcher):
    """Starts daemons of this test's own; they must end cleanly."""
    own = daemons.Launcher(launcher.binary, launcher.user, launcher.directory)
    yield own
    own.stop_all()


class Keeper:
    """Holds the daemon that most tests share, and starts another if a test ended it."""

    def __init__(self, launcher):
        self.launcher, self.daemon = launcher, None

    def get(self):
        if not self.daemon or not self.daemon.is_running():
            # The libraries of `data` are loaded when a test asks for them: each job has such a
            # daemon, and most tests need none of them.
            self.daemon = self.launcher(config="default_profile: min\n")
        return self.daemon


@pytest.fixture(scope="session")
def shared_daemon(launcher):
    keeper = Keeper(launcher)
    yield keeper
    if keeper.daemon:
        keeper.daemon.stop()


@pytest.fixture
def daemon(shared_daemon):
    """A running daemon. It must still run after the test."""
    running = shared_daemon.get()
    yield running
    assert running.is_running(), f"this test ended the daemon\n{running.errors()[-8000:]}"


@pytest.fixture
def client(daemon):
    return daemon.client


@pytest.fixture
def spawn(client):
    """Starts sessions that end with the test."""
    sessions = []

    def start(profile="min", **members):
        sessions.append(client.spawn(profile, **members))
        return sessions[-1]

    yield start
    for session in sessions:
        client.request("DELETE", session.path)


@pytest.fixture
def spawn_runtime(client):
    """Starts sessions of a runtime, Python without libraries, that end with the test."""
    sessions = []

    def start(runtime, **members):
        profile = {"profile": "min"} if runtime == "python" else {}
        answer = client.call("POST", "/v1/sessions", {"runtime": runtime, **profile, **members})
        sessions.append(Session(client, answer))
        return sessions[-1]

    yield start
    for session in reversed(sessions):
        client.request("DELETE", session.path)


@pytest.fixture
def session(spawn):
    """A fresh session of the profile `min`."""
    return spawn("min")


@pytest.fixture
def data_session(spawn):
    """A fresh session of the profile `data`."""
    return spawn("data")


@pytest.fixture
def book(client, session):
    """The notebook of that session."""
    return Notebook(client, session.id)


@pytest.fixture
def notebook(client):
    """A fresh notebook with a session of the profile `min`."""
    made = client.call("POST", "/v1/notebooks", {"profile": "min", "title": "Trial"})
    yield Notebook(client, made.notebook_id)
    client.request("DELETE", f"/v1/sessions/{made.notebook_id}")
    client.request("DELETE", f"/v1/notebooks/{made.notebook_id}")


@pytest.fixture
def witness(daemon, spawn):
    """Another session of the same daemon, which nothing that the test does may disturb."""
    other = spawn("min")
    other.exec("secret = 'kept'")
    before = daemon.pid, daemon.warden()
    yield other
    assert (daemon.pid, daemon.warden()) == before
    assert other.value("secret") == "'kept'"
    fresh = spawn("min")
    assert fresh.value("6 * 7") == "42"


@pytest.fixture
def eventually():
    return host.eventually
