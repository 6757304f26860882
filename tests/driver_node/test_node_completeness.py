"""Is a text a whole piece of code? Decided as Node's REPL does, and nothing runs."""

from __future__ import annotations

from typing import List

import pytest
from node_peer import NodePeer

WHOLE = [
    "", "1 + 1\n", "let x = {a: [1, (2)]}\n", "const s = 'it\\'s (open'\n",
    "const t = `one ${[1, 2].map(n => `<${n}>`)} two\nlines`\n", "// only a comment (\n",
    "/* a ( */ 1\n", "x = y / 2 / z\n", "s.replace(/[/(\"]/g, '')\n", "i++\n", "if (x) y()\n",
    "if (x) {\n  y()\n}\n", "do { x() } while (y)\n", "try { x() } catch { }\n",
    "fetch(u).then(f).catch(g)\n", "function f() { return 1 }\n", "class A { m() { } }\n",
    "for (const a of b) ;\n", "await Promise.resolve(1)\n", "import fs from 'fs'\n", "{a: 1}\n",
    "import { a,\n  b } from 'fs'\n",
]  # fmt: skip
OPEN = [
    "function f() {\n", "f(1,\n", "x = [\n", "const t = `one\n", "`${f(`${a\n", "/* a comment\n",
    "let x =\n", "a &&\n", "const f = x =>\n", "if (x)\n", "try { x() }\n", "for (;;)\n",
    "function f()\n", "a.\n", "s = 'one \\\n", "while (f(x))\n", "if (x) {} else", "x = /* ( */ {",
    "a ? b :", "await f({\n", "if (await x) {\n", "import { a,\n", "f(async () => {\n  await x\n",
    "{a: 1,\n",
]  # fmt: skip
WRONG = [
    "x = )\n", "f(1))\n", "s = 'unterminated\n", "s = 'unterminated\nx \\\n", "x y\n", "else\n",
]  # fmt: skip


@pytest.mark.parametrize("status, codes", [
    ("complete", WHOLE), ("incomplete", OPEN), ("invalid", WRONG)])
def test_what_is_whole_and_what_is_not(fresh: NodePeer, status: str, codes: List[str]) -> None:
    for code in codes:
        told = fresh.ask({"op": "is_complete", "code": code})
        assert told == {"ev": "is_complete", "status": status}, (code, told)


def test_nothing_runs_and_a_broken_world_does_no_harm(fresh: NodePeer) -> None:
    fresh.ask({"op": "is_complete", "code": "globalThis.x = 1"})
    fresh.run("Array.prototype.push = null; String.prototype.charCodeAt = null")
    assert fresh.ask({"op": "is_complete", "code": "f("})["status"] in ("incomplete", "unknown",
                                                                        "invalid")
    assert fresh.run("console.log(typeof x)").stdout == "undefined\n"
