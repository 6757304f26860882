"""Every test runs against several interpreters: the one that runs pytest, and the oldest and newest
of pyenv's that we support. CELLA_TEST_PYTHONS=all takes all of pyenv's; it may also be a list of
paths, separated by colons."""

from __future__ import annotations

import glob
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Iterator, List

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from peer import DRIVER, Peer  # noqa: E402

SOURCES = DRIVER.parents[1]
# What the library has besides the way into a jail.
LIBRARY = (
    "base/fd.c", "base/mem.c", "jail/descriptors.c", "jail/mappings.c", "jail/sibling.c",
    "jail/sleeper.c",
)  # fmt: skip


def _pythons() -> List[str]:
    named = os.environ.get("CELLA_TEST_PYTHONS", "")
    if named not in ("", "all"):
        return named.split(":")
    versions = os.path.expanduser("~/.pyenv/versions")
    found: List[str] = []
    for minor in range(9, 15):
        found += sorted(glob.glob(f"{versions}/3.{minor}.*/bin/python3"))[-1:]
    return [sys.executable, *(found if named or len(found) < 3 else (found[0], found[-1]))]


def _label(python: str) -> str:
    return "system" if python == sys.executable else python.split("/")[-3]


@pytest.fixture(scope="session", params=_pythons(), ids=_label)
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The layout of /cella in a jail."""
    root = tmp_path_factory.mktemp("cella")
    shutil.copytree(DRIVER, root / "python", ignore=shutil.ignore_patterns("__pycache__"))
    command = ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-I", SOURCES]
    sources = [pathlib.Path(__file__).with_name("enter.c"), *(SOURCES / name for name in LIBRARY)]
    subprocess.run([*command, "-o", root / "libcella_enter.so", *sources], check=True)
    return root


@pytest.fixture(scope="module")
def shared(python: str) -> Iterator[Peer]:
    """One session for all tests of a module that leave it as it was."""
    peer = Peer.start(python)
    yield peer
    peer.close()


@pytest.fixture
def fresh(python: str) -> Iterator[Peer]:
    peer = Peer.start(python)
    yield peer
    peer.close()
