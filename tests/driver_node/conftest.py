"""Every test runs against `node` and those that CELLA_TEST_NODES lists: paths, separated by
colons. Level all (tests/run.py) has every other version on the PATH and of nvm's as well."""

from __future__ import annotations

import contextlib
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Callable, Iterator, List

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "driver"))
sys.path.insert(0, str(HERE))

from node_peer import DRIVER, NodePeer  # noqa: E402


def _version(node: str) -> str:
    return subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()


def _nodes() -> List[str]:
    named = list(filter(None, os.environ.get("CELLA_TEST_NODES", "").split(":")))
    if os.environ.get("CELLA_LEVEL") != "all":
        return ["node", *named]
    folders = os.environ["PATH"].split(":")
    folders += glob.glob(os.path.expanduser("~/.nvm/versions/node/*/bin"))
    found = [path for folder in folders if (path := shutil.which("node", path=folder))]
    by_version = {_version(node): node for node in reversed(["node", *named, *found])}
    return list(reversed(by_version.values()))


@pytest.fixture(scope="session", params=_nodes(), ids=_version)
def node(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def built_image() -> Iterator[pathlib.Path]:
    """The layout of /cella/node in a jail."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "node"
        shutil.copytree(DRIVER, root, ignore=shutil.ignore_patterns("*.c", "*.h", "meson.build"))
        sources = [str(path) for path in sorted(DRIVER.glob("*.c"))]
        flags = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
        include, output = f"-I{DRIVER.parents[1]}", str(root / "addon.node")
        subprocess.run(["cc", *flags, include, "-o", output, *sources], check=True)
        yield root


@pytest.fixture(scope="session")
def image() -> Iterator[pathlib.Path]:
    with built_image() as root:
        yield root


@pytest.fixture(scope="session")
def start(node: str, image: pathlib.Path) -> Callable[..., NodePeer]:
    return lambda **options: NodePeer.begin_session(node, image, **options)


@pytest.fixture(scope="module")
def shared(node: str, image: pathlib.Path) -> Iterator[NodePeer]:
    """One session for all tests of a module that leave it as it was."""
    peer = NodePeer.begin_session(node, image)
    yield peer
    peer.close()


@pytest.fixture
def fresh(node: str, image: pathlib.Path) -> Iterator[NodePeer]:
    peer = NodePeer.begin_session(node, image)
    yield peer
    peer.close()
