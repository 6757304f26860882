"""docs/CONNECT.md has the entries that `cella mcp --print-config` prints, and they can be read."""

import json
import re
import subprocess
import tomllib

import pytest
import yaml
from harness.daemon import SOURCE, find_binary

COMMAND = {"command": "/usr/local/bin/cella", "args": ["mcp"]}


@pytest.fixture(scope="module")
def entries():
    told = subprocess.run([find_binary(), "--dump", "mcp_configs"], capture_output=True, check=True)
    return {client["name"]: client for client in json.loads(told.stdout)["clients"]}


def test_the_page_has_every_entry_below_its_title(entries):
    page = (SOURCE / "docs/CONNECT.md").read_text()
    chapters = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    for client in entries.values():
        blocks = re.findall(r"^```\w+\n(.*?)^```$", chapters[client["title"]], re.M | re.S)
        assert client["entry"] in blocks, client["name"]


def test_entries_are_what_their_readers_take(entries):
    text = {name: client["entry"] for name, client in entries.items()}
    for name, group in (("claude-desktop", "mcpServers"), ("cursor", "mcpServers"),
                        ("vscode", "servers")):
        assert json.loads(text[name])[group]["cella"].items() >= COMMAND.items()
    assert tomllib.loads(text["codex"])["mcp_servers"]["cella"].items() >= COMMAND.items()
    assert yaml.safe_load(text["librechat"])["mcpServers"]["cella"].items() >= COMMAND.items()
    for name in ("python", "openai-agents", "claude-agent-sdk"):
        compile(text[name], name, "exec")
    for name in ("claude-code", "inspector"):
        assert text[name].endswith("/usr/local/bin/cella mcp\n")
