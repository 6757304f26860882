"""Every test runs against the interpreter that runs pytest, and a sample of them against the oldest
and the newest of pyenv's that we support. Level check (tests/run.py) has only the first; level all
runs every test against all of pyenv's, as does CELLA_TEST_PYTHONS=all. That may also be a list of
paths, separated by colons, for every test."""

from __future__ import annotations

import glob
import os
import pathlib
import shutil
import subprocess
import sys
import zlib
from typing import Iterator, List

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from peer import DRIVER, Peer  # noqa: E402

SOURCES = DRIVER.parents[1]
# What the library has besides the way into a jail.
LIBRARY = (
    "base/fd.c", "base/mem.c", "jail/inside/descriptors.c", "jail/inside/mappings.c",
    "jail/inside/sibling.c", "jail/inside/sleeper.c", "jail/inside/zygote_identities.c",
)  # fmt: skip


LEVEL = os.environ.get("CELLA_LEVEL", "test")
NAMED = os.environ.get("CELLA_TEST_PYTHONS", "all" if LEVEL == "all" else "")
SAMPLE = 16  # one in so many


def _pythons() -> List[str]:
    if NAMED not in ("", "all"):
        return NAMED.split(":")
    if LEVEL == "check":
        return [sys.executable]
    versions = os.path.expanduser("~/.pyenv/versions")
    found: List[str] = []
    for minor in range(9, 15):
        found += sorted(glob.glob(f"{versions}/3.{minor}.*/bin/python3"))[-1:]
    others = found if NAMED or len(found) < 3 else (found[0], found[-1])
    return list(dict.fromkeys([sys.executable, *others]))


def _is_wanted(item: pytest.Item) -> bool:
    """False for a test of another interpreter that is not in the sample. The choice is the same
    every time."""
    python = getattr(item, "callspec", None) and item.callspec.params.get("python")
    is_first = python in (None, sys.executable)
    return bool(NAMED or is_first or zlib.crc32(item.nodeid.encode()) % SAMPLE == 0)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    dropped = [item for item in items if not _is_wanted(item)]
    items[:] = [item for item in items if _is_wanted(item)]
    config.hook.pytest_deselected(items=dropped)


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
