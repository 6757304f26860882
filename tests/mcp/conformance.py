#!/usr/bin/python3
"""What the conformance suite says of a server: @modelcontextprotocol/conformance, for each revision
of the protocol that it has requirements for.

    CELLA=build/cella python3 tests/mcp/conformance.py     writes docs/CONFORMANCE.md
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from peers import SERVER, install_peers

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs/CONFORMANCE.md"
REVISIONS = ("2025-11-25", "2026-07-28")
LINE = re.compile(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", re.M)
UNSCORED = re.compile(r"^  ([✓✗]) (\S+) \(([^)]+)\)$", re.M)


@dataclass
class Scenario:
    name: str
    passed: int
    failed: int
    why: str = ""  # it is not scored; "": it is

    @property
    def state(self):
        if self.failed:
            return "fails"
        return "passes" if self.passed else "the suite skips it"


def start(node, suite, url, revision):
    return subprocess.Popen([str(node), str(suite), "server", "--url", f"{url}/mcp",
                             "--requirements", revision], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def read(text):
    """The scenarios of a run, in order, by name."""
    why = {name: reason for _, name, reason in UNSCORED.findall(text)}
    return {name: Scenario(name, int(passed), int(failed), why.get(name, ""))
            for _, name, passed, failed in LINE.findall(text)}


def run(node, suite, url):
    """{revision: (scenarios by name, all that was printed)}; both revisions at once."""
    running = {revision: start(node, suite, url, revision) for revision in REVISIONS}
    texts = {revision: process.communicate()[0] for revision, process in running.items()}
    return {revision: (read(text), text) for revision, text in texts.items()}


def page(runs, version):
    lines = ["# Conformance", "", "```sh",
             "make test                        # runs the suite among everything else",
             'tests/run.py test "mcp gcc"      # the suite and clients that others made, alone',
             "```", "",
             f"`@modelcontextprotocol/conformance` {version} against `cella serve "
             "--mcp-fixtures`, which adds the tools, resources and",
             "prompts that the suite asks for and is off by default. "
             "`tests/mcp/test_conformance.py` runs it in `make test` and fails when a",
             "scored scenario does, or when this page is not what it found. Written by "
             "`python3 tests/mcp/conformance.py`.", ""]
    for revision, (scenarios, _) in runs.items():
        scored = [s for s in scenarios.values() if not s.why]
        good = sum(not s.failed for s in scored)
        lines += [f"## {revision}", "",
                  f"{good} of {len(scored)} scored scenarios pass. Not scored:", "",
                  "| scenario | why it is not scored | state |", "|---|---|---|"]
        lines += [f"| {s.name} | {s.why} | {s.state} |" for s in scenarios.values() if s.why]
        lines.append("")
    lines += ["## Neither", "",
              "Three scenarios are required by no revision: `sep-2640-skills-directory`, "
              "`sep-2640-skills-enumeration`, `sep-2640-skills-manifest`.",
              "They are of the extension for skills, which Cella does not declare, so that the "
              "suite skips their checks. How to work is told by",
              "[prompts](MCP.md) instead.", ""]
    return "\n".join(lines).rstrip() + "\n"


def version_of(modules):
    text = (pathlib.Path(modules) / "@modelcontextprotocol/conformance/package.json").read_text()
    return re.search(r'"version": "([^"]+)"', text)[1]


def main():
    sys.path.insert(0, str(SOURCE / "tests"))
    from harness.daemon import Daemon, find_binary
    peers = install_peers()
    with tempfile.TemporaryDirectory(prefix="cella-mcp-") as folder:
        daemon = Daemon(find_binary(), os.path.join(folder, "data"), **SERVER)
        try:
            runs = run(peers.node, peers.suite, daemon.url)
        finally:
            daemon.stop()
    PAGE.write_text(page(runs, version_of(peers.modules)))


if __name__ == "__main__":
    main()
