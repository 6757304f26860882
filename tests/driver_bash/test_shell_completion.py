"""How a text could go on, and what stands at the cursor: read from bash's tables and directories,
and nothing runs."""

from __future__ import annotations

from typing import Any, Dict, List

from shell import Shell

WORLD = """
apples=3; apricots=(1 2 3); declare -A table=([a]=1)
grow() { echo grown; }
shopt -s expand_aliases; alias growth='grow --much'
d=$(mktemp -d); cd "$d"; mkdir grass; touch 'green apple' .grey grow.txt
"""


def complete(shell: Shell, code: str, cursor: int = -1) -> Dict[str, Any]:
    told = shell.ask({"op": "complete", "code": code,
                      "cursor": len(code) if cursor < 0 else cursor})
    assert told.pop("ev") == "complete"
    return told


def texts(shell: Shell, code: str, cursor: int = -1) -> List[str]:
    return [match["text"] for match in complete(shell, code, cursor)["matches"]]


def inspect(shell: Shell, code: str, cursor: int = -1, detail: int = 0) -> Dict[str, Any]:
    told = shell.ask({"op": "inspect", "code": code,
                      "cursor": len(code) if cursor < 0 else cursor, "detail": detail})
    assert told.pop("ev") == "inspect"
    return told


def test_how_it_could_go_on(shell: Shell) -> None:
    shell.run(WORLD)
    told = complete(shell, "echo é $ap")
    assert (told["start"], told["end"]) == (8, 10)
    assert told["matches"] == [{"text": "apples", "kind": "variable"},
                               {"text": "apricots", "kind": "variable"}]
    assert texts(shell, 'echo "${apr') == ["apricots"]
    found = {m["text"]: m["kind"] for m in complete(shell, "if grow")["matches"]}
    assert found == {"grow": "function", "growth": "alias"}
    assert {"declare"} <= set(texts(shell, "ls | decl")) and "while" in texts(shell, "whil")
    assert "grep" in texts(shell, "gre")
    assert texts(shell, "cat gr") == ["grass/", "green\\ apple", "grow.txt"]
    assert texts(shell, 'cat "gre') == ["green apple"]
    assert texts(shell, "cat green\\ a") == ["green\\ apple"]
    assert texts(shell, "cat .g") == [".grey"] and texts(shell, "cat x") == []
    assert complete(shell, "x=$PWD/; cat ./gra")["start"] == 15
    assert complete(shell, "nothing-like-it-at-all")["matches"] == []


def test_what_stands_at_the_cursor(shell: Shell) -> None:
    shell.run(WORLD)
    told = inspect(shell, "echo $apples")
    assert (told["type"], told["text"]) == ("scalar", "3")
    assert inspect(shell, "echo ${apricots[0]}", 10)["len"] == 3
    assert "echo grown" in inspect(shell, "grow", detail=1)["source"]
    assert inspect(shell, "growth")["text"] == "grow --much"
    assert inspect(shell, "cd /tmp", 1)["signature"].startswith("cd ")
    assert inspect(shell, "while")["type"] == "keyword"
    assert inspect(shell, "grep")["file"].endswith("/grep")
    assert inspect(shell, "") == inspect(shell, "nothing-like-it") == {"found": False}


def test_nothing_runs_and_much_is_bounded(shell: Shell) -> None:
    shell.run("declare() { echo ran; exit 3; }; compgen() { exit 3; }")
    shell.run("RANDOM=1; a=$RANDOM; RANDOM=1")
    for code in ("decl", "echo $RAND", "echo $(", "x" * 5000, "echo '", "\\", "$", "${"):
        complete(shell, code)
        inspect(shell, code)
    shell.run("for n in {1..2000}; do declare_$n() { :; }; done 2>/dev/null; "
              "for n in {1..2000}; do eval many_$n=1; done")
    told = complete(shell, "echo $many_")
    assert len(told["matches"]) == 500 and told["more"]
    assert shell.run("((a == RANDOM)) && builtin echo same").stdout == "same\n"
