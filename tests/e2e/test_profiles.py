"""Profiles and interpreters: min, data, the operator's own, and any Python from 3.9 on."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from harness import host
from harness.client import ApiError
from harness.daemon import StartFailed

pytestmark = pytest.mark.privilege

MIN = "default_profile: min\n"


def find_pythons():
    """Every other interpreter of this machine that is new enough: {"3.12": path}."""
    found = {}
    places = list(pathlib.Path.home().glob(".pyenv/versions/*/bin/python3"))
    places += [p for d in os.get_exec_path() for p in pathlib.Path(d).glob("python3.[0-9]*")]
    for path in places:
        is_python = re.fullmatch(r"python3(\.\d+)?", path.name)
        if is_python and not path.resolve().samefile("/usr/bin/python3"):
            version = ask_version(path)
            if version and tuple(map(int, version.split("."))) >= (3, 9):
                found.setdefault(version, path)
    return dict(sorted(found.items()))


def ask_version(path):
    command = [path, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=host.PATIENCE)
        return done.stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return None


PYTHONS = find_pythons()


@pytest.mark.smoke
def test_the_profile_min_has_nothing_preloaded(session):
    assert session.fails("np").name == "NameError"
    assert session.value("import sys; 'numpy' in sys.modules") == "False"


@pytest.mark.smoke
def test_min_can_still_import_what_is_installed(session):
    assert session.value("import numpy; int(numpy.arange(4).sum())") == "6"


@pytest.mark.smoke
def test_the_profile_data_binds_the_names_of_the_data_stack(data_session):
    names = (
        "np pd stats optimize interpolate linear_model tree ensemble cluster preprocessing "
        "model_selection metrics sm matplotlib plt sns json csv datetime collections itertools "
        "functools math random re os sys"
    ).split()
    missing = data_session.value(f"[n for n in {names} if n not in globals()]")
    assert missing == "[]"
    assert data_session.value("matplotlib.get_backend().lower()") == "'agg'"


@pytest.mark.smoke
def test_an_import_of_what_is_loaded_costs_nothing(data_session):
    data_session.exec("import sys; before = set(sys.modules)")
    data_session.exec("import pandas, scipy, sklearn, statsmodels.api")
    assert data_session.value("set(sys.modules) - before") == "set()"


def test_the_default_profile_is_data(client):
    assert client.call("GET", "/health")
    session = client.spawn("data")
    assert session.value("np.__name__") == "'numpy'"
    session.kill()


def test_an_unknown_profile_is_an_error_that_names_the_known_ones(client):
    with pytest.raises(ApiError) as caught:
        client.spawn("dta")
    assert "dta" in caught.value.message
    assert "data" in caught.value.message + caught.value.advice
    assert "min" in caught.value.message + caught.value.advice


def test_a_profile_of_the_operators_own(launch):
    daemon = launch(
        config="""
default_profile: mine
pool: 2
profiles:
  mine:
    preload: ["import decimal as d", "from fractions import Fraction", json]
"""
    )
    session = daemon.client.spawn("mine")
    assert session.value("d.Decimal('0.1') + 1, Fraction(1, 3), json.dumps([])") == (
        "(Decimal('1.1'), Fraction(1, 3), '[]')"
    )


def test_what_is_not_installed_is_skipped_and_reported(launch):
    daemon = launch(
        config="default_profile: p\nprofiles:\n  p:\n    preload: [no_such_module_at_all, math]\n"
    )
    assert daemon.client.spawn("p").value("math.floor(2.5)") == "2"
    host.eventually(lambda: "no_such_module_at_all" in daemon.errors())


def test_a_preload_that_fails_in_any_way_is_reported(launch):
    daemon = launch(
        config='default_profile: p\nprofiles:\n  p:\n    preload: ["import this is wrong"]\n'
    )
    assert daemon.client.spawn("p").value("1") == "1"
    assert "this is wrong" in daemon.errors()


def test_a_bash_that_cannot_load_the_builtin_is_refused_with_advice(launch):
    rbash = pathlib.Path("/usr/bin/rbash")  # may load no builtins, as if its version were another
    if not rbash.exists():
        pytest.skip("there is no rbash here")
    daemon = launch(config=MIN + f"bash: {rbash}\n")
    with pytest.raises(ApiError) as caught:
        daemon.client.call("POST", "/v1/sessions", {"runtime": "bash"})
    assert "cannot load the builtin" in caught.value.message
    assert "Debian: bash-builtins" in caught.value.message
    assert daemon.client.spawn("min").value("1 + 1") == "2", "other runtimes are not affected"


def test_default_limits_from_the_configuration(launch):
    daemon = launch(config=MIN + "limits: {memory_mb: 200, pids: 50}\n")
    limits = daemon.client.spawn("min").info().limits
    assert (limits["memory_mb"], limits["pids"], limits["disk_mb"]) == (200, 50, 1024)


def test_max_sessions_from_the_configuration(launch):
    client = launch(config=MIN + "max_sessions: 3\n").client
    # Others would be suspended to make room.
    sessions = [client.spawn("min", durable="off") for _ in range(3)]
    with pytest.raises(ApiError) as caught:
        client.spawn("min")
    assert caught.value.status == 429
    assert caught.value.advice
    sessions[0].kill()
    assert client.spawn("min").value("1") == "1"


def test_dead_sessions_do_not_count_towards_max_sessions(launch):
    client = launch(config=MIN + "max_sessions: 2\n").client
    for _ in range(5):
        client.spawn("min", checkpoints="off", durable="off").exec("import os; os._exit(1)")
    assert client.spawn("min").value("1") == "1"


def test_max_output_bytes_from_the_configuration(launch):
    session = launch(config=MIN + "max_output_bytes: 65536\n").client.spawn("min")
    result = session.exec("print('x' * 1_000_000)")
    page = session.output(number=result.number, stream="stdout", limit=1_000_000)
    assert 0 < len(page["text"]) <= 65_536


# Mistakes in the configuration.


@pytest.mark.one_mode
@pytest.mark.parametrize(
    "config, line, word",
    [
        ("defualt_profile: min\n", 1, "defualt_profile"),
        ("pool: 4\nmax_sesions: 5\n", 2, "max_sesions"),
        ("pool: many\n", 1, "pool"),
        ("pool: -1\n", 1, "pool"),
        ("limits: {memory_mb: lots}\n", 1, "memory_mb"),
        ("limits:\n  memory_mb: 512\n  cups: 1\n", 3, "cups"),
        ("default_profile: nothing\n", 1, "nothing"),
        ("profiles:\n  p:\n    preloads: []\n", 3, "preloads"),
        ("profiles:\n  p: [1]\n", 2, ""),
        ("python: relative/python3\n", 1, "python"),
        ("- a\n- list\n", 1, ""),
        ("pool: 1\npool: 2\n", 2, "pool"),
    ],
)
def test_a_mistake_names_file_line_and_remedy(launch, config, line, word):
    with pytest.raises(StartFailed) as caught:
        launch(config=config + "# no other profile\n")
    assert caught.value.status not in (None, 0)
    text = caught.value.stderr
    assert re.search(rf"\.yaml:{line}\b", text), text
    assert word in text


@pytest.mark.one_mode
def test_a_configuration_that_does_not_exist(launch):
    with pytest.raises(StartFailed) as caught:
        launch(args=["--config", "/no/such/file.yaml"])
    assert "/no/such/file.yaml" in caught.value.stderr


@pytest.mark.one_mode
def test_an_interpreter_that_jails_would_hide_is_refused(launch, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    with pytest.raises(StartFailed) as caught:
        launch(config=f"python: {tmp_path}/bin/python3\n")
    assert "/tmp" in caught.value.stderr


# Other Pythons.

KINDS = {
    "value": ("1 + 1", "2"),
    "await": ("import asyncio\nasync def f(): return 7\nawait f()", "7"),
    "pickle": ("import pickle\nclass C: x = 1\npickle.loads(pickle.dumps(C())).x", "1"),
    "source": ("import inspect\ndef f(): return 'here'\n'here' in inspect.getsource(f)", "True"),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor as T\nT(2).submit(abs, -3).result()", "3"
    ),
    "random": ("import random, uuid, secrets; 0 <= random.random() < 1", "True"),
    "ssl": (
        "import ssl, sqlite3, ctypes, hashlib, zlib; hashlib.md5(b'').hexdigest()[:4]", "'d41d'"
    ),
}


def check_interpreter(client, profile, version):
    session = client.spawn(profile)
    assert session.value("import sys; '%d.%d' % sys.version_info[:2]") == f"'{version}'"
    for code, text in KINDS.values():
        assert session.value(code) == text
    error = session.fails("def f():\n    return 1 / 0\nf()")
    assert "return 1 / 0" in error.traceback and "/cella" not in error.traceback
    assert session.fails("x = = 1").column == 5
    code = "import os; print('a', end=' '); os.system('echo b'); print('c')"
    assert session.out(code) == "a b\nc\n"
    assert session.exec("while True: pass", timeout_ms=100).status == "timeout"
    assert session.value("sys.exit and 5") == "5"
    assert session.exec("sys.exit()").status == "ok"
    assert session.out(
        "import subprocess; subprocess.run([sys.executable, '-c', 'print(5)'])"
    ) == "5\n"
    others = {client.spawn(profile).value("random.random() if 'random' in globals() else "
                                          "__import__('random').random()") for _ in range(3)}
    assert len(others) == 3


@pytest.mark.needs_root("the other interpreters are in root's home")
@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.sampled(3)
@pytest.mark.slow
def test_another_python(launch, version):
    daemon = launch(
        config=f"default_profile: other\nprofiles:\n  other:\n    python: {PYTHONS[version]}\n"
    )
    check_interpreter(daemon.client, "other", version)


def test_a_virtual_environment(launch, launcher, request):
    home = pathlib.Path(launcher.user.pw_dir) if launcher.user else pathlib.Path.home()
    where = home / f".cella-venv-{os.getpid()}"
    request.addfinalizer(lambda: shutil.rmtree(where))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", where], check=True)
    (site,) = where.glob("lib/python3*/site-packages")
    (site / "only_in_the_venv.py").write_text("answer = 42\n")
    daemon = launch(
        config=f"default_profile: v\nprofiles:\n  v:\n    python: {where}/bin/python3\n"
        "    preload: [only_in_the_venv]\n"
    )
    assert daemon.client.spawn("v").value("only_in_the_venv.answer") == "42"
    assert daemon.client.spawn("v").value("import sys; sys.prefix") == repr(str(where))
    check_interpreter(daemon.client, "v", "%d.%d" % sys.version_info[:2])


@pytest.mark.one_mode
@pytest.mark.skipif(len(PYTHONS) < 2, reason="needs two more interpreters")
@pytest.mark.needs_root("the other interpreters are in root's home")
@pytest.mark.slow
def test_two_pythons_in_one_daemon(launch):
    (a, b), (path_a, path_b) = list(PYTHONS)[:2], list(PYTHONS.values())[:2]
    profiles = f"  a: {{python: {path_a}}}\n  b: {{python: {path_b}}}\n"
    client = launch(config="default_profile: a\nprofiles:\n" + profiles).client
    version = "import sys; '%d.%d' % sys.version_info[:2]"
    assert client.spawn("a").value(version) == f"'{a}'"
    assert client.spawn("b").value(version) == f"'{b}'"
    assert client.spawn("min").value("1") == "1"


@pytest.mark.one_mode
@pytest.mark.parametrize("python", ["/bin/true", "/bin/sh", "/etc/passwd", "/no/such/python3"])
def test_an_interpreter_that_is_no_python_is_refused_clearly(launch, python):
    with pytest.raises(StartFailed) as caught:
        launch(config=f"python: {python}\n")
    assert python in caught.value.stderr


@pytest.mark.one_mode
def test_a_broken_second_profile_does_not_hurt_the_first(launch):
    daemon = launch(config=MIN + "profiles:\n  bad: {python: /bin/true}\n")
    with pytest.raises(ApiError) as caught:
        daemon.client.spawn("bad")
    assert caught.value.status == 503
    assert caught.value.message and caught.value.advice
    assert daemon.client.spawn("min").value("1") == "1"
