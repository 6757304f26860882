"""What the user made, and what a cell did to it."""

from __future__ import annotations

from typing import Any, Dict

from peer import PATIENCE
from shell import Shell


def run(shell: Shell, code: str, names: str = "changes") -> Dict[str, Any]:
    shell.names = names
    found = shell.run(code).names
    shell.names = None
    assert found is not None
    return found


def test_changes(shell: Shell) -> None:
    assert run(shell, ":") == {"total": 0, "added": [], "changed": [], "removed": []}
    found = run(shell, "a=1; b=(1 2); f() { :; }; declare -A m=([k]=v)")
    assert found == {"total": 4, "added": ["a", "b", "f", "m"], "changed": [], "removed": []}
    found = run(shell, "a=2; b+=(3); m[k]=w; f() { echo; }; c=x")
    assert (found["added"], found["changed"]) == (["c"], ["a", "b", "f", "m"])
    found = run(shell, "unset a; unset -f f; export c")
    assert (found["removed"], found["changed"], found["total"]) == (["a", "f"], ["c"], 3)
    assert run(shell, "echo $c; ls >/dev/null; cd /; read x </dev/null") == {
        "total": 4, "added": ["x"], "changed": [], "removed": []
    }  # fmt: skip


def test_the_full_manifest(shell: Shell) -> None:
    found = run(
        shell,
        "s='grüße'; declare -i n=5; a=(x y); declare -A m=([k]=v); f() { :; }; "
        "printf -v long '%0200d' 1; _hidden=1; declare unset_one",
        "full",
    )
    items = {item["name"]: item for item in found["items"]}
    assert items["s"] == {"name": "s", "type": "scalar", "len": 7, "text": "grüße"}
    assert items["n"] == {"name": "n", "type": "integer", "len": 1, "text": "5"}
    assert items["a"] == {"name": "a", "type": "array", "len": 2}
    assert items["m"] == {"name": "m", "type": "map", "len": 1}
    assert items["f"] == {"name": "f", "type": "function"}
    assert items["long"]["len"] == 200 and len(items["long"]["text"]) <= 80
    assert set(items) == {"s", "n", "a", "m", "f", "long"} and found["total"] == 6


def test_names_between_cells(shell: Shell) -> None:
    shell.run("a=1; b=2")
    found = shell.ask({"op": "names", "max": 1000})
    assert found["ev"] == "names" and found["names"]["total"] == 2
    found = shell.ask({"op": "names", "max": 1})["names"]
    assert len(found["items"]) == 1 and found["more"] is True
    assert shell.out("echo on") == "on\n"


def test_what_was_given_is_not_listed(shell: Shell) -> None:
    shell.send({"op": "setup", "cwd": None, "env": {"GIVEN": "1"}})
    assert shell.receive() == {"ev": "set"}
    assert run(shell, "PATH=$PATH:/x; IFS=:; GIVEN=2; OLDPWD=/; true | false")["added"] == []
    assert run(shell, "mine=1")["added"] == ["mine"]


def test_many_names_are_only_counted(shell: Shell) -> None:
    found = run(shell, "for i in {1..2000}; do declare v$i=$i; done")
    assert found == {"total": 2001}
    found = run(shell, ":", "full")
    assert found["total"] == 2001 and found["more"] is True and len(found["items"]) <= 1000
    shell.run("for i in {1..2000}; do unset v$i; done")
    assert run(shell, "i=0")["changed"] == ["i"]


def test_many_changes(shell: Shell) -> None:
    found = run(shell, "for i in {1..250}; do declare v$i=$i; done")
    assert len(found["added"]) == 100 and found["more"] is True


def test_nothing_unless_asked(shell: Shell) -> None:
    assert shell.run("a=1").names is None
    assert run(shell, "a=2")["changed"] == ["a"]
    shell.run("b=1")
    assert run(shell, "a=3") == {"total": 2, "added": [], "changed": ["a"], "removed": []}


def test_an_aborted_function_leaves_no_locals(shell: Shell) -> None:
    found = run(shell, "set -e; f() { local inner=1; outer=1; false; }; f")
    assert found["added"] == ["f", "outer"]


def test_setup(shell: Shell) -> None:
    folder = shell.out("pwd").strip()
    env = {"A": "1 2", "Q": "it's \"q\" $x\n", "PATH": "/bin:/usr/bin", "E": ""}
    assert shell.ask({"op": "setup", "cwd": f"{folder}/x/y", "env": env}) == {"ev": "set"}
    assert shell.out("pwd; echo $PWD") == f"{folder}/x/y\n" * 2
    assert shell.out("env | grep ^A=; printf %s \"$Q\"; echo ${E-unset}") == (
        "A=1 2\nit's \"q\" $x\n\n"
    )


def test_setup_that_fails(shell: Shell) -> None:
    answer = shell.ask({"op": "setup", "cwd": "/proc/nothing/x", "env": {}})
    assert answer["ev"] == "fatal" and "/proc/nothing/x" in answer["message"]
    assert shell.process.wait(PATIENCE) == 1
