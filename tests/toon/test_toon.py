"""Our TOON and the reference implementation write the same bytes and read the same values. The
reference is installed once (packaging/mcp_peers.sh); where it cannot be, the tests fail."""

import os
import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "mcp")]

from compare import Comparison, ask, spelled  # noqa: E402
from peers import NotInstalled, install_peers  # noqa: E402

N_VALUES = 1000 if os.environ.get("CELLA_LEVEL") == "test" else 10000


@pytest.fixture(scope="module")
def comparison(cella):
    try:
        peers = install_peers()
    except NotInstalled as reason:
        pytest.fail(str(reason), pytrace=False)
    return Comparison(cella.parent / "tests/toon/toon_lines", peers.node, peers.modules)


def test_generated_values_and_damaged_texts(comparison):
    comparison.run(N_VALUES, 1)
    assert not comparison.differences, comparison.report()
    assert comparison.counts["values"] == N_VALUES
    # Damage is neither always harmless nor always fatal.
    valid = comparison.counts["damaged texts that are valid"]
    all_texts = comparison.counts["damaged texts"]
    assert comparison.counts["refused by us alone"] < all_texts / 1000
    assert all_texts / 10 < valid < all_texts * 9 / 10


def test_a_difference_would_be_seen(comparison):
    ours = ask(comparison.ours, [["encode", [1, "2"]], ["decode", "a: 1"], ["decode", "a[2]: 1"]])
    other = ask(comparison.reference, [["encode", spelled([1, 2])], ["decode", "a: 2"],
                                       ["decode", "a: 1"]])
    assert ours[0] == {"result": '[2]: 1,"2"'} and other[0] == {"result": "[2]: 1,2"}
    assert ours[1] == {"result": {"a": 1}} and other[1] == {"result": {"a": 2}}
    assert "line 1" in ours[2]["error"] and other[2] == {"result": {"a": 1}}
