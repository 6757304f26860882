"""What a cell leaves behind: everything, as in a shell that somebody types into."""

from __future__ import annotations

import pytest
from shell import Shell


# What one cell does, and what a later one sees of it.
STATE = [
    ("x=5", "echo $x", "5\n"),
    ("a=(1 2 3); a[9]=x", "echo ${#a[@]} ${a[9]}", "4 x\n"),
    ("declare -A m=([k]=v)", "echo ${m[k]}", "v\n"),
    ("declare -i n=4", "n+=3; echo $n", "7\n"),
    ("f() { echo \"f $1\"; }", "f 1", "f 1\n"),
    ("mkdir d; cd d", 'echo "${PWD##*/}"', "d\n"),
    ("set -o noglob; shopt -s extglob", "echo *; shopt -q extglob && echo on", "*\non\n"),
    ("alias hi='echo hello'", "hi you", "hello you\n"),
    ("trap 'echo trapped' USR1", "kill -USR1 $$", "trapped\n"),
    ("umask 077", "umask", "0077\n"),
    ("set -- a b c", "echo $# $3", "3 c\n"),
    ("exec 7>f; echo in >&7", "echo more >&7; exec 7>&-; cat f", "in\nmore\n"),
    ("export E=1", "env | grep ^E=", "E=1\n"),
    ("false", "echo $?", "1\n"),
    ("echo x y | cat >/dev/null; : last", 'echo "$_"', "last\n"),
    ("true | false | true", "echo ${PIPESTATUS[@]}", "0 1 0\n"),
]


@pytest.mark.parametrize("before, after, out", STATE)
def test_state_survives(shell: Shell, before: str, after: str, out: str) -> None:
    assert shell.run(before).status == "ok"
    assert shell.out(after) == out
