"""Every test runs against several interpreters: the one that runs pytest, and the oldest and newest
of pyenv's that we support. CELLA_TEST_PYTHONS=all takes all of pyenv's; it may also be a list of
paths, separated by colons."""

from __future__ import annotations

import glob
import os
import sys
from typing import Iterator, List

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from peer import Peer  # noqa: E402


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
