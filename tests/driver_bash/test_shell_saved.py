"""The state of a shell, saved as source and put into another: what is the same, what is told of."""

from __future__ import annotations

import pathlib
from typing import Iterator

import pytest
from copies import checkpoint
from shell import Shell
from state_streams import State, ask_to_save, load, save
from states import Record
from test_shell_state import STATE

# What a cell makes, a later one that shows it, and what that prints.
KEPT = [
    ("q='it'\\''s \"$x\" `y`'$'\\n\\t\\x01'; e=", 'echo "$q" "[$e]" | od -c | md5sum', None),
    ("declare -r fixed=1 && declare -l low=ABC", "low=DEF; echo $fixed $low; fixed=2", None),
    ("declare -A m=([a b]='x y' [c]=1); sparse=([3]=c [9]=d)",
     'echo "${m[a b]} ${m[c]} ${!sparse[@]}"', "x y 1 3 9\n"),
    ("x=1; declare -n ref=x", "ref=5; echo $x", "5\n"),
    ("declare -i sum", "sum+=4; sum+=5; echo $sum", "9\n"),
    ("f() { local a=$1; echo \"f $a\"; }; g() { f x; }; export -f f", "g; bash -c 'f y'",
     "f x\nf y\n"),
    ("shopt -s extglob nullglob\ncase_of() { case $1 in @(a|b)) echo ab;; esac; }",
     "case_of a; echo no*such; shopt -q nullglob && echo on", "ab\n\non\n"),
    ("cat_doc() { cat <<EOF\n$1 doc\nEOF\n}", "cat_doc a", "a doc\n"),
    ("set -o pipefail -u", "(exit 3) | true; echo $?; echo ${nothing-unset}; set -o | grep nounset",
     None),
    ("alias hi='echo hello'; alias declare='echo no'", "hi you", "hello you\n"),
    ("trap 'echo \"bye\"\necho now' EXIT; trap '' USR1; trap 'echo chld' CHLD; trap - CHLD",
     "trap", None),
    ("umask 027; set -- 'a b' '' c", 'umask; echo "$# $1 $3"', "0027\n3 a b c\n"),
    ("PATH=$PATH:/more; IFS=:; v=a:b; OPTIND=3", 'echo $v "${PATH##*:}" $OPTIND', "a b /more 3\n"),
    ("unset HOME; export NEW=1", 'echo ${HOME-none}; env | grep ^NEW', "none\nNEW=1\n"),
    ("mkdir -p d/e; cd d; cd e", 'echo "${PWD##*/}"; cd - | sed "s|.*/||"', "e\nd\n"),
    ("_under=1; __two=2", "echo $_under $__two", "1 2\n"),
    ("(exit 7)", "echo $?", "7\n"),
    ("declare() { echo mine; }; trap() { echo mine; }", "declare x; trap", "mine\nmine\n"),
]  # fmt: skip


@pytest.fixture
def second(driver: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Shell]:
    shell = Shell.start(driver, tmp_path)
    yield shell
    shell.close()


NOT_SAVED = ("exec 7", "PIPESTATUS", "$_")


@pytest.mark.parametrize(
    "before, after, out",
    [*KEPT, *(row for row in STATE if not any(text in row[0] + row[1] for text in NOT_SAVED))],
)
def test_it_is_kept(shell: Shell, second: Shell, before: str, after: str, out: str) -> None:
    assert shell.run(before).status == "ok"
    state = save(shell)
    assert state.last == {"rec": "end"} and state.lost == {}
    answer = load(second, state)
    assert answer["message"] is None and answer["lost"] == [], answer
    expected = shell.run(after)
    got = second.run(after)
    same = (expected.stdout, expected.last_status) if out is None else (out, got.last_status)
    assert (got.stdout, got.last_status) == same, got


def test_unchanged_bytes(shell: Shell, second: Shell) -> None:
    shell.run("table=$(printf 'x%.0s' {1..5000}); a=(1 2); f() { :; }; z=1")
    before = save(shell).bodies()
    assert list(before) == ["declarations:f", "overview:", "variables:table", "variables:a,z"]
    assert save(shell).bodies() == before
    shell.run("z=2")
    after = save(shell).bodies()
    assert [names for names in before if before[names] != after[names]] == ["variables:a,z"]
    load(second, save(shell))
    assert save(second).bodies() == after, "a state that was loaded is saved as it was"


def test_what_is_lost(shell: Shell, tmp_path: pathlib.Path) -> None:
    shell.run("sleep 100 & exec 5<>f 6> >(cat >/dev/null); coproc cat; pushd / >/dev/null")
    pid = shell.out("jobs -p | head -1").strip()
    state = save(shell)
    assert state.last == {"rec": "end"}
    assert state.lost[f"{pid} (sleep 100)"] == "process"
    assert state.lost["descriptor 5"] == "file" and state.lost["descriptor 6"] == "pipe"
    assert state.lost["COPROC"] == "coproc" and state.lost["DIRSTACK"] == "directory stack"
    sleeping = checkpoint(shell)
    assert save(sleeping).lost == state.lost, "a checkpoint tells the same"
    sleeping.drop()
    code = 'echo a >&6; echo b >&"${COPROC[1]}"; read x <&"${COPROC[0]}"; echo $x; kill %1'
    assert shell.out(code) == "b\n", "the shell has them still"


def test_a_checkpoint_saves_what_it_is(shell: Shell, second: Shell) -> None:
    shell.run("x=1; f() { echo one; }")
    sleeping = checkpoint(shell)
    shell.run("x=2; f() { echo two; }")
    state = save(sleeping)
    load(second, state)
    assert second.out("echo $x; f") == "1\none\n"
    head = sleeping.wake()
    assert head.out("echo $x") == "1\n"
    assert save(sleeping).bodies() == state.bodies()
    head.kill()
    sleeping.drop()


def test_saving_changes_nothing(shell: Shell) -> None:
    shell.run("x=1; sleep 100 & trap 'echo chld' CHLD; exec 4<<<abc")
    expected = shell.out("declare -p; declare -f; shopt; set -o; trap; jobs; echo $!")
    save(shell)
    got = shell.out("declare -p; declare -f; shopt; set -o; trap; jobs; echo $!")
    new = [line for line in got.splitlines() if line not in expected.splitlines()]
    assert [line for line in new if not line.startswith("declare -- _=")] == []
    assert shell.out("trap - CHLD; cat <&4; kill %1") == "abc\n"


def test_limits(shell: Shell) -> None:
    shell.run("large=$(head -c 3000000 /dev/zero | tr '\\0' x)")
    state = save(shell, max_bytes=1 << 20)
    assert state.last["rec"] == "failed" and "STATE_MAX_SIZE_MB = 1" in state.last["message"]
    state = save(shell, format="namespace")
    assert state.last["rec"] == "failed" and '"state" only' in state.last["message"]
    ask_to_save(shell).close()
    assert shell.out("echo ${#large}") == "3000000\n"


def test_what_fails_is_named(shell: Shell, second: Shell, tmp_path: pathlib.Path) -> None:
    (tmp_path / "gone").mkdir()
    shell.run("cd gone; fine=1; f() { :; }")
    state = save(shell)
    (tmp_path / "gone").rmdir()
    for record in state.records:
        record.body = record.body.replace(b"vfine\0declare -- fine", b"vfine\0declare -Q fine")
    answer = load(second, state)
    assert [(lost["name"], lost["type"]) for lost in answer["lost"]] == [
        ("fine", "variable"),
        (str(tmp_path / "gone"), "folder"),
    ]
    assert answer["restored"] == 2  # f and OLDPWD
    assert second.run("f").last_status == 0


def test_what_is_no_state(shell: Shell) -> None:
    whole = save(shell)
    assert "cut short" in load(shell, State(whole.records[:-1]))["message"]
    assert "cut short" in load(shell, State([]))["message"]
    assert "not one" in load(shell, State([Record({"no": 1}, b"")]))["message"]
    header = {"rec": "blob", "kind": "variables", "names": [], "body": True}
    for body in (b"vx", b"vx\0", b"\0\0\0", b"vx\0x=1"):
        answer = load(shell, State([Record(header, body), whole.records[-1]]))
        assert answer["message"] is None
    assert shell.out("echo $x") == "1\n"
