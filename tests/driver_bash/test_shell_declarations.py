"""The functions of a shell, as source."""

from __future__ import annotations

from shell import Shell


def test_functions_are_told_as_source(shell: Shell) -> None:
    shell.run("f() { echo \"é $1\"; }; g() { f 1; f 2; }; x=1; unset -f g")
    told = shell.ask({"op": "declarations"})
    assert (told["ev"], told["imports"], told["lost"]) == ("declarations", [], [])
    (f,) = told["definitions"]
    assert (f["name"], f["kind"]) == ("f", "function")
    shell.run(f"unset -f f\n{f['code']}")
    assert shell.run("f 3").stdout == "é 3\n"


def test_too_long_ones_are_left_out(shell: Shell) -> None:
    shell.run(f"long() {{ echo {'x' * 40000}; }}; short() {{ :; }}")
    told = shell.ask({"op": "declarations"})
    assert [one["name"] for one in told["definitions"]] == ["short"] and told["more"] is True
    assert shell.run("echo on").stdout == "on\n"
