"""How warm the daemon keeps Python: its settings, from the file and from the environment, and what
/health/detailed tells about it."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from harness import host
from harness.daemon import StartFailed

pytestmark = pytest.mark.one_mode

MIN = "default_profile: min\n"


def run(daemon, code, **members):
    return daemon.client.call("POST", "/v1/exec", {"code": code, **members})


def test_detailed_health_tells_what_is_ready(daemon):
    daemon.client.spawn("data").kill()
    run(daemon, "1")
    health = daemon.client.call("GET", "/health/detailed")
    assert (health.status, health.check.ok, health.check.timeout_secs) == ("ok", True, 5)
    assert (health.sandbox.repl_enabled, health.sandbox.warmup_timeout_secs) == (True, 15)
    assert health.sandbox.hits + health.sandbox.misses > 0
    (data,) = [p for p in health.sandbox.profiles if p["profile"] == "data"]
    assert (data["runtime"], data["state"], data["size"]) == ("python", "ready", 4)
    assert data["warmup_ms"] >= data["import_ms"] > 0
    assert "import numpy as np" in data["preloaded_modules"]
    assert data["python_version"].startswith("3.")


def test_detailed_health_counts_the_heap(daemon, session):
    """What a cell wrote is kept, and freed with its session."""
    before = daemon.heap_bytes()
    session.exec("print('x' * 900_000)")
    kept = daemon.heap_bytes()
    assert kept - before > 900_000
    session.kill()
    host.eventually(lambda: daemon.heap_bytes() < kept - 900_000, "its memory")


def test_a_library_takes_few_mappings(daemon):
    code = """
import collections
lines = [line.split() for line in open("/proc/self/maps")]
files = collections.Counter(line[5] for line in lines if len(line) > 5 and ".so" in line[5])
print(sum(files.values()) / len(files), len(lines))
"""
    of_one, of_all = map(float, run(daemon, code).stdout.split())
    assert of_one < 3  # five, as the linker makes them
    assert of_all < 300  # also with three hundred libraries


@pytest.mark.slow
def test_without_the_repl_each_run_is_a_cold_python(launch):
    config = "default_profile: p\nprofiles: {p: {preload: [import decimal as d]}}\n"
    daemon = launch(config=config + "repl_enabled: true\n", env={"REPL_ENABLED": "false"})
    assert run(daemon, "d.Decimal(1)").stdout == "Decimal('1')\n"
    assert run(daemon, "1/0").error == "ZeroDivisionError: division by zero"
    assert daemon.client.spawn("p").value("d.__name__") == "'decimal'"
    state = run(daemon, "n = d.Decimal(41)", capture_state=True).state
    assert run(daemon, "n + 1", state=state).stdout == "Decimal('42')\n"
    sandbox = daemon.client.call("GET", "/health/detailed").sandbox
    (profile,) = [p for p in sandbox.profiles if p["profile"] == "p"]
    assert (sandbox.repl_enabled, profile["size"], profile["hits"]) == (False, 0, 0)


def test_a_cold_python_tells_what_it_could_not_import(launch):
    config = "default_profile: p\nprofiles: {p: {preload: [json, nothing_like_this]}}\n"
    daemon = launch(config=config, env={"REPL_ENABLED": "false"})
    assert run(daemon, "json.dumps(1)").stdout == "'1'\n"
    sandbox = daemon.client.call("GET", "/health/detailed").sandbox
    (profile,) = [p for p in sandbox.profiles if p["profile"] == "p"]
    assert profile["preloaded_modules"] == ["json"]
    assert profile["skipped_modules"] == [
        {"import": "nothing_like_this",
         "reason": "ModuleNotFoundError: No module named 'nothing_like_this'"}]


@pytest.mark.slow
def test_a_warm_up_that_takes_too_long_names_the_module(launch, request):
    venv = pathlib.Path.home() / f".cella-tardy-{os.getpid()}"  # not in /tmp: jails have their own
    request.addfinalizer(lambda: shutil.rmtree(venv))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python3*/site-packages")
    (site / "tardy.py").write_text("import time\ntime.sleep(60)\n")
    profile = f"{{python: {venv}/bin/python3, preload: [json, tardy]}}"
    with pytest.raises(StartFailed) as failure:
        launch(
            config=f"default_profile: p\nprofiles: {{p: {profile}}}\n",
            env={"REPL_WARMUP_TIMEOUT_SECONDS": "6"},
        )
    assert "the import of 'tardy' was not over after 6 s" in failure.value.stderr
    assert "repl_warmup_timeout_secs" in failure.value.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("REPL_ENABLED", "maybe"), ("REPL_WARMUP_TIMEOUT_SECONDS", "0"), ("STATE_MAX_SIZE_MB", "5x")],
)
def test_a_mistake_in_the_environment_is_told(launch, name, value):
    with pytest.raises(StartFailed) as failure:
        launch(config=MIN, env={name: value})
    assert f"{name}={value}" in failure.value.stderr and "Set it to" in failure.value.stderr
