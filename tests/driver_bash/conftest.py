"""The bash driver by itself: a real socketpair, no jail. The builtin is that of the build of CELLA,
or of build/cella."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from typing import Iterator

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [os.path.dirname(__file__), str(TOP / "tests" / "driver")]

from shell import Shell  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CELLA", TOP / "build" / "cella")).absolute().parent


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder that is /cella/bash in a jail."""
    folder = tmp_path_factory.mktemp("bash")
    shutil.copy(TOP / "src/drivers/bash/main.bash", folder)
    shutil.copy(BUILD / "src/drivers/bash/cella_bash.so", folder / "cella.so")
    return folder


@pytest.fixture
def shell(driver: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Shell]:
    session = Shell.start(driver, tmp_path)
    yield session
    session.close()
