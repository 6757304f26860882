"""Clients of the Model Context Protocol that others made, against one daemon. They are installed once
(packaging/mcp_peers.sh); where they cannot be, the tests fail."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness.daemon import Daemon  # noqa: E402
from peers import SERVER, NotInstalled, install_peers  # noqa: E402


@pytest.fixture(scope="session")
def peers():
    try:
        return install_peers()
    except NotInstalled as reason:
        pytest.fail(str(reason), pytrace=False)


@pytest.fixture(scope="session")
def server(cella, tmp_path_factory):
    daemon = Daemon(cella, tmp_path_factory.mktemp("mcp") / "data", **SERVER)
    yield daemon
    daemon.stop()
