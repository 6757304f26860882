"""Is a text a whole piece of code? Bash's own parser decides, in a child, and nothing runs."""

from __future__ import annotations

from typing import List

import pytest
from shell import Shell

WHOLE = [
    "", "ls\n", "echo 'it (is)' \"so $(date \"+%Y\") ${x:-its}\"\n", "if true; then echo yes; fi\n",
    "for i in 1 2 3; do echo $i; done\n", "for ((i = 0; i < 3; i++)); do echo $i; done\n",
    "while read -r l; do echo \"$l\"; done < file\n",
    "case $x in a|b) echo 1;; (c) echo 2;; *) echo 3; esac\n", "f() { echo hi; }\n",
    "function f { echo hi; }\n", "f()\n{\n  echo hi\n}\n", "cat <<EOF\nif ( ' \"\nEOF\n",
    "cat <<'A' <<-\"B C\"\n$(\nA\n\tx\n\tB C\n", "cat <<< word\n", "echo $((1 << 2)) $(echo 1)\n",
    "echo $(date) for you if you do\n", "x=(if then \"a b\")\n", "x=()\n",
    "[[ a < b && ( $x =~ ^(a|b) ) ]] && echo yes\n", "echo a # comment ' (\n", "echo a#b\n",
    "sleep 1 &\n", "a 2>&1 >f | b\n", "echo if\n", "echo {1,2} {\n", "a \\\n  b\n",
    "diff <(sort a) <(sort b)\n", "echo $'it\\'s'\n", "echo `date`\n", "( cd /; ls )\n",
    "if a; then { b; }; fi | sort\n", "! true\n", "# only a comment\n", "exit 3\n",
]  # fmt: skip
OPEN = [
    "if true; then\n", "if true\n", "for i in 1 2 3\n", "for i in 1 2 3; do\n  echo\n",
    "while :; do if x; then y; fi\n", "until x\ndo\n", "case $x in\n", "case $x in\na) echo 1;;\n",
    "f() {\n", "f()\n", "function f {\n", "{ echo\n", "( echo\n", "echo 'one\n",
    "echo \"one $(two \"three\n", "echo ${x\n", "x=(1\n", "cat <<EOF\n", "cat <<EOF\nEOF2\n EOF\n",
    "cat <<EOF", "echo \\\n", "echo \\", "a &&\n", "a ||\n\n", "a | # why\n", "[[ a\n", "((1 +\n",
    "echo `date\n", "cat <<A <<B\nA\n", "select x in a b; do\n",
]  # fmt: skip
WRONG = ["fi\n", "echo )\n", "done\n", "if true; then; fi\n", "a ;; b\n"]


@pytest.mark.parametrize("status, codes", [
    ("complete", WHOLE), ("incomplete", OPEN), ("invalid", WRONG)])
def test_what_is_whole_and_what_is_not(shell: Shell, status: str, codes: List[str]) -> None:
    for code in codes:
        told = shell.ask({"op": "is_complete", "code": code})
        assert told == {"ev": "is_complete", "status": status}, (code, told)


def test_nothing_runs_and_the_shell_stays_as_it_is(shell: Shell) -> None:
    shell.run("sleep 60 & y=$!; shopt -s extglob; (exit 7)")
    for code in ("x=1; touch /tmp/never-$$\n", "echo 'open\n", "fi\n", "echo !(a|b)\n"):
        shell.ask({"op": "is_complete", "code": code})
    told = shell.run("echo $? ${x-none} $([ $y = $! ] && echo same) $(jobs -r | wc -l)\nkill $y")
    assert told.stdout == "7 none same 1\n"
