"""What tools and answers cost a model, in tokens of o200k (npm's gpt-tokenizer): the limits that
are promised. Beside others: `make tokens`."""

import json
import subprocess

import pytest

from harness import mcp

CORE = ["run", "wait", "back", "look", "file"]
COUNTER = """
const { countTokens } = require('gpt-tokenizer/encoding/o200k_base')
const texts = JSON.parse(require('fs').readFileSync(0))
console.log(JSON.stringify(texts.map((text) => countTokens(text))))
"""
FAILING = "def half(n):\n    return n / 0\n\nfor i in range(3):\n    half(i)"


@pytest.fixture
def count(peers):
    def tokens(text):
        told = subprocess.run([str(peers.node), "-e", COUNTER], input=json.dumps([text]), text=True,
                              check=True, capture_output=True, cwd=peers.folder)
        return json.loads(told.stdout)[0]
    return tokens


def test_the_default_tools_cost_at_most_1500(server, count):
    tools = [tool for tool in mcp.Modern(server).request("tools/list")["tools"]
             if tool["name"] in CORE]
    assert [tool["name"] for tool in tools] == CORE
    assert count(json.dumps(tools)) <= 1500


def test_a_sum_costs_at_most_40(server, count):
    client = mcp.Legacy(server)
    first, second = (mcp.text_of(client.call("run", {"code": "1+1"})) for _ in range(2))
    assert first.startswith("2\n[new session ") and second == "2"
    assert count(first) <= 40


def test_a_failure_costs_at_most_its_traceback_and_40(server, count, tmp_path):
    (tmp_path / "cell.py").write_text(FAILING)
    plain = subprocess.run(["/usr/bin/python3", "cell.py"], capture_output=True, text=True,
                           cwd=tmp_path).stderr
    told = mcp.Legacy(server).call("run", {"code": FAILING})
    assert told["isError"] and "ZeroDivisionError" in mcp.text_of(told)
    assert count(mcp.text_of(told)) <= count(plain) + 40


def test_a_plot_costs_at_most_its_image_and_60(server, count):
    shown = mcp.Legacy(server).call("run", {"code": "plt.plot([1, 4, 9]); plt.show()"})
    assert [part["type"] for part in shown["content"]] == ["text", "image"]
    assert count(mcp.text_of(shown)) <= 60
