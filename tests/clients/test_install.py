"""What `make dist` builds, installed where there is nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from harness import host, mcp
from harness.daemon import SOURCE

pytestmark = pytest.mark.one_mode


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True,
                          timeout=4 * host.PATIENCE, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(cella, tmp_path_factory):
    """(wheel, package of npm)"""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, SOURCE / "packaging/dist.py", cella, folder)
    (wheel,), (package,) = folder.glob("*.whl"), folder.glob("*.tgz")
    return wheel, package


@pytest.fixture(scope="module")
def home(cella, tmp_path_factory):
    """The environment of someone who has nothing of ours, and one daemon for all tests."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "cella").mkdir()
    (folder / "cella/cella.yaml").write_text("default_profile: min\n")
    yield {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8",
           "XDG_CONFIG_HOME": str(folder), "CELLA_DATA": str(folder / "data"),
           "npm_config_cache": str(folder / "npm")}
    run(cella, "stop", "--data", folder / "data")


def serves_mcp(program, home):
    """An SDK's first words to `cella mcp`, and a cell."""
    said = [("initialize", {"protocolVersion": mcp.LEGACY, "capabilities": {},
                            "clientInfo": {"name": "tests", "version": "1"}}),
            ("tools/list", {}), ("tools/call", {"name": "run", "arguments": {"code": "6*7"}})]
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params})
             for i, (method, params) in enumerate(said)]
    told = [json.loads(line)["result"] for line in
            run(program, "mcp", env=home, input="\n".join(lines)).splitlines()]
    return (told[0]["serverInfo"]["name"] == "cella" and len(told[1]["tools"]) == 5 and
            mcp.text_of(told[2]).startswith("42"))


def test_the_wheel_brings_the_program_and_the_client(dist, home, tmp_path):
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    run(sys.executable, "-m", "pip", "--python", tmp_path / "venv", "install", "--no-index",
        "--quiet", "--no-compile", dist[0], env=home)
    program, python = tmp_path / "venv/bin/cella", tmp_path / "venv/bin/python"
    assert run(program, "--version", env=home) == f"cella {version()}\n"
    script = "import cella\nwith cella.Session() as s: print(s.run('6 * 7'), cella.__version__)"
    assert run(python, "-c", script, env=home, cwd=tmp_path) == f"42 {version()}\n"  # starts one
    assert run(program, "exec", "1 + 1", env=home) == "2\n"
    assert serves_mcp(program, home)


def test_the_package_of_npm_brings_the_program_and_the_client(dist, home, tmp_path):
    run("npm", "install", "--offline", "--no-audit", "--no-fund", dist[1],
        env={**home, "PATH": os.environ["PATH"]}, cwd=tmp_path)
    program = tmp_path / "node_modules/.bin/cella"
    assert run(program, "--version", env=home) == f"cella {version()}\n"
    (tmp_path / "try.mjs").write_text(
        "import { Session } from 'cella';\nconst s = new Session();\n"
        "console.log(String(await s.run('6 * 7')));\nawait s.end();\n")
    node = shutil.which("node")
    assert run(node, tmp_path / "try.mjs", env=home) == "42\n"
    assert run(program, "exec", "1 + 1", env=home) == "2\n"
    assert serves_mcp(program, home)


def test_a_missing_library_is_named_with_its_package(cella, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib/cella").mkdir(parents=True)
    shutil.copy(SOURCE / "packaging/start.sh", tmp_path / "bin/cella")
    program = cella.read_bytes().replace(b"libjansson.so.4\0", b"libjansson.so.9\0")
    program = program.replace(b"libuv.so.1\0", b"libuv.so.0\0")
    (tmp_path / "lib/cella/cella").write_bytes(program)
    (tmp_path / "lib/cella/cella").chmod(0o755)
    done = subprocess.run([tmp_path / "bin/cella", "--version"], capture_output=True, text=True)
    assert done.returncode == 69 and "libjansson.so.9" in done.stderr
    assert "apt-get install" in done.stderr and "libuv.so.0" in done.stderr


def version():
    return re.search(r"version: '([^']+)'", (SOURCE / "meson.build").read_text())[1]


def test_every_place_has_the_same_version_and_the_lists_are_whole(dist, cella):
    assert json.loads((SOURCE / "clients/js/package.json").read_text())["version"] == version()
    package = (SOURCE / "clients/python/cella/__init__.py").read_text()
    assert f'__version__ = "{version()}"' in package
    names = zipfile.ZipFile(dist[0]).namelist()
    assert {f"cella/{path.name}" for path in (SOURCE / "clients/python/cella").glob("*.py")} <= {
        *names}
    # What the program needs is what start.sh and the pages know packages of.
    told = run("readelf", "-d", cella)
    needed = set(re.findall(r"NEEDED.*\[(lib[^]]+)\]", told))
    known = (SOURCE / "packaging/start.sh").read_text()
    base = {"libc.so.6", "libm.so.6", "libpthread.so.0"}
    unknown = {library for library in needed - base
               if library not in known and not library.startswith("libmd4c")}
    assert not unknown, "packaging/start.sh does not know their packages"
