"""Clients of the Model Context Protocol that others made: where they are, and the daemon they meet."""

import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# With what the conformance suite wants of a server, and without a key: the suite cannot send one.
# Nobody here thinks between cells, so that each is told to leave a checkpoint.
SERVER = {
    "config": ("agents: [{id: default, repl: {enabled: true, checkpoints: every, max_sessions: 100,"
               " max_timeout_secs: 600}}]\n"),
    "args": ["--mcp-fixtures", "--no-auth"],
}


class Peers:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.modules = self.folder / "node_modules"
        self.node = self.modules / ".bin/node"
        self.python = self.folder / "python/bin/python3"
        self.suite = self.modules / "@modelcontextprotocol/conformance/dist/index.js"
        self.inspector = (self.modules /
                          "@modelcontextprotocol/inspector/clients/launcher/build/index.js")


class NotInstalled(Exception):
    pass


def install_peers():
    """Once; later it only finds them."""
    done = subprocess.run([SOURCE / "packaging/mcp_peers.sh"], text=True, capture_output=True)
    if done.returncode != 0:
        raise NotInstalled(done.stderr)
    return Peers(done.stdout.strip())
