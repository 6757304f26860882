"""Clients of the Model Context Protocol that others made, against one daemon. They are installed once
(packaging/mcp_peers.sh); where they cannot be, the tests fail."""

import pathlib
import subprocess

import pytest

from harness.daemon import Daemon

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Nobody here thinks between cells, so that each is told to leave a checkpoint.
CONFIG = ("agents: [{id: default, repl: {enabled: true, checkpoints: every, max_sessions: 100,"
          " max_timeout_secs: 600}}]\n")


class Peers:
    """Where the clients are, and how they are run."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.modules = self.folder / "node_modules"
        self.node = self.modules / ".bin/node"
        self.python = self.folder / "python/bin/python3"
        self.suite = self.modules / "@modelcontextprotocol/conformance/dist/index.js"
        self.inspector = (self.modules /
                          "@modelcontextprotocol/inspector/clients/launcher/build/index.js")


@pytest.fixture(scope="session")
def peers():
    done = subprocess.run([SOURCE / "packaging/mcp_peers.sh"], text=True, capture_output=True)
    if done.returncode != 0:
        pytest.fail(done.stderr, pytrace=False)
    return Peers(done.stdout.strip())


@pytest.fixture(scope="session")
def server(cella, tmp_path_factory):
    """A daemon with what the conformance suite wants of a server, without a key: the suite cannot
    send one."""
    daemon = Daemon(cella, tmp_path_factory.mktemp("mcp") / "data", config=CONFIG,
                    args=["--mcp-fixtures", "--no-auth"])
    yield daemon
    daemon.stop()
