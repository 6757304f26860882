"""What a cell gives back."""

from __future__ import annotations

import pytest
from node_peer import NodePeer


@pytest.mark.parametrize(
    "code, text",
    [
        ("1+1", "2"),
        ("let x = 5\nx + 1", "6"),
        ("'a' + 'b'", "'ab'"),
        ("undefined", None),
        ("null", "null"),
        ("var v = 3", None),
        ("-0", "-0"),
        ("NaN", "NaN"),
        ("2n ** 70n", "1180591620717411303424n"),
        ("Symbol('s')", "Symbol(s)"),
        ("[1, 2, [3, {a: 1}]]", "[ 1, 2, [ 3, { a: 1 } ] ]"),
        ("new Map([[1, 2]])", "Map(1) { 1 => 2 }"),
        ("(function f() {})", "[Function: f]"),
        ("class A {}; new A()", "A {}"),
        ("await 7", "7"),
        ("await Promise.resolve({a: 1})", "{ a: 1 }"),
        ("", None),
        ("// nothing", None),
    ],
)
def test_the_last_value_is_shown_as_the_repl_does(shared: NodePeer, code: str, text: str) -> None:
    answer = shared.run(code)
    assert answer.status == "ok", answer
    assert answer.text == text
