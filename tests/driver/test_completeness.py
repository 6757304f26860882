"""Is a text a whole piece of code? Python's compiler decides, and nothing runs."""

from __future__ import annotations

from typing import Any, Dict

import pytest
from peer import Peer

WHOLE = [
    "", "x = 1\n", "x = 1", "f(1, [2, {3: 4}])\n", "x[1:2]\n", "x: int = 3\n",
    "s = 'it\\'s (open'\n",
    "s = \"#\"  # a comment with ( and '''\n", "# only a comment:\n", "s = '''one\ntwo'''\n",
    "s = r'\\\\'\n", "if x: print(x)\n", "lambda x: x\n", "x = 1 # ends in a backslash \\\n",
    "a = (1,\n     2)\n", "a = 1 + \\\n    2\n", "tryout = 1\n", "await f()\n", "  x = 1\n",
    "%time x\n", "!ls\n", "x = !ls\n", "len?\n", "%%bash\nif true\n", "def f():\n    pass\nx = 1\n",
]  # fmt: skip
OPEN = [
    "f(1,\n", "x = [\n", "x = {'a': (1,\n", "s = '''one\n", "s = f\"\"\"{x}\n",
    "s = '''it's \\'''\n",
    "x = 1 + \\\n", "x = 1 + \\", "s = 'one \\\n", "def f(a,\n      b\n", "print('''\n:\n",
    "await f(1,\n", "@decorated\n", "try: x\n", "try:\n  x\n", "if x:  # why\n", "async def f():\n",
    "with open('a') as a, \\\n        open('b') as b:\n", "if x:\n  y\nelse:\n",
    "for x in y:\n  # c\n",
]  # fmt: skip
BLOCKS = [
    "for i in range(3):\n    print(i)\n", "class A:\n    x = 1\n\n",
    "async def f():\n    await g()\n",
    "try:\n  x\nexcept E:\n  y\n", "if x:\n  y\nelse: z\n", "async with a as b:\n    c\n",
    "@cache\ndef f():\n    pass\n", "async for a in b:\n    c\n",
]  # fmt: skip
WRONG = [
    "x = )\n", "f(1))\n", "s = 'unterminated\n", "s = 'unterminated\nx = 1\n", ")(\n", "x y\n",
    "def f():\nx\n", "for for\n", "x = 1\n  y = 2\n", "(" * 5000,
]  # fmt: skip


def judge(peer: Peer, code: str) -> Dict[str, Any]:
    told = peer.ask({"op": "is_complete", "code": code})
    assert told.pop("ev") == "is_complete"
    return told


@pytest.mark.parametrize("status, codes", [
    ("complete", WHOLE), ("incomplete", OPEN), ("invalid", WRONG)])
def test_what_is_whole_and_what_is_not(fresh: Peer, status: str, codes: Any) -> None:
    for code in codes:
        told = judge(fresh, code)
        assert (told["status"], "goes_on" in told) == (status, False), (code[:80], told)


def test_an_indented_block_may_go_on(fresh: Peer) -> None:
    for code in BLOCKS:
        told = judge(fresh, code)
        assert (told["status"], told["goes_on"]) == ("complete", True), (code, told)


def test_where_the_next_line_begins(fresh: Peer) -> None:
    columns = [judge(fresh, code)["indent"] for code in (
        "def f():\n", "class A:\n    def f(self):  # why\n", "for i in x:\n    y\n", "f(1,\n")]
    assert columns == [4, 8, 4, 0]


def test_nothing_runs_and_nothing_is_left(fresh: Peer) -> None:
    judge(fresh, "import sys; x = 1; print('ran')")
    judge(fresh, "%time y = 1")
    assert fresh.run("print('x' in globals(), 'y' in globals(), 'get_ipython' in globals())"
                     ).stdout == "False False False\n"
    assert fresh.ask({"op": "names"})["names"]["total"] == 0


def test_a_session_that_broke_what_is_needed_says_so(fresh: Peer) -> None:
    fresh.run("import builtins, tokenize\nbuiltins.len = tokenize.generate_tokens = None")
    assert judge(fresh, "x = (\n")["status"] in ("incomplete", "unknown")
    assert fresh.run("print('on')").stdout == "on\n"
