"""Every test runs against each interpreter that is here: the one that runs pytest, and those of
pyenv. CELLA_TEST_PYTHONS (paths, separated by colons) names others."""

from __future__ import annotations

import glob
import os
import sys
from typing import Iterator, List

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from peer import Peer  # noqa: E402


def _pythons() -> List[str]:
    named = os.environ.get("CELLA_TEST_PYTHONS")
    if named:
        return named.split(":")
    found = [sys.executable]
    for minor in range(9, 15):
        found += sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*/bin/python3")))[-1:]
    return found


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
