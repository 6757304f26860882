"""What user code does to the shell it shares with the driver."""

from __future__ import annotations

import pytest
from shell import Shell

ABUSE = [
    "IFS=abcdefgh:,",
    "unset IFS",
    "LC_ALL=C; LANG=nonsense; LC_ALL=de_DE.UTF-8",
    "unset PATH",
    "PATH=/nowhere; hash -r",
    "unset HOME PWD OLDPWD SHELL BASH_VERSION TERM",
    "BASH_ARGV0=other",
    "function echo { builtin echo \"$@\"; }",
    "read() { :; }; printf() { builtin printf \"$@\"; }; trap() { :; }; exit() { :; }",
    "enable -n read trap set; enable read trap set",
    "alias echo='builtin echo' if=no",
    "shopt -s extdebug nullglob failglob dotglob globstar extglob lastpipe inherit_errexit",
    "set -o posix",
    "POSIXLY_CORRECT=1",
    "set -f; set -b; set -h; set -k; set -p; set -t 2>/dev/null; set +t",
    "set -euo pipefail",
    "set -T; set -E; trap ':' DEBUG RETURN ERR",
    "readonly x=1 PS1=a PS4=b IFS LINENO OPTIND",
    "unset BASH_SOURCE FUNCNAME BASH_LINENO LINENO BASH_COMMAND SECONDS RANDOM TMOUT _",
    "TMOUT=1; declare -i TMOUT; readonly TMOUT",
    "declare -a BASH_SOURCE=(); FUNCNEST=3; BASH_COMPAT=4.2",
    "shopt -u expand_aliases; unalias -a",
    "exec 250<&0",
    "cd /; rmdir . 2>/dev/null; cd",
    "mkdir gone; cd gone; rmdir ../gone",
    "set -m; sleep 0 & wait; set +m",
    "kill -CHLD $$; trap 'echo chld >/dev/null' CHLD; sleep 0; trap - CHLD",
    "disown -a; sleep 0 & disown; wait",
    "coproc cat; eval \"exec ${COPROC[1]}>&-\"; wait",
    "ulimit -c 0; ulimit -t 100",
    "umask 777",
    "set -- $(seq 2000)",
    "BASH_ENV=/x ENV=/y; BASH_XTRACEFD=2; set -x; set +x",
    "exec 9>trace; BASH_XTRACEFD=9; set -x; echo; set +x; unset BASH_XTRACEFD",
    "history -c; set -o history; echo x; history; set +o history; fc -l",
    "declare -A m; for i in {1..3000}; do m[$i]=$i; done",
    "f() { local IFS=x; set -e; false; }; f",
    "while true; do break 5; done; for i in 1; do continue 9; done",
    "return 3; break 2; continue; logout; suspend; bg; fg; jobs",
    ". /dev/null; source <(echo true)",
    "eval 'eval \"eval if\"'",
    "f() { f; }; FUNCNEST=50; f; unset FUNCNEST",
    "printf -v x '%*s' 1000000 ''",
    "cat <<<'x' >/dev/null; cat <<A <<B >/dev/null\na\nA\nb\nB",
    "stty; stty sane; tput cols",
    "dirs -c; pushd /tmp; popd",
    "getopts a: o -a x; shift $((OPTIND-1))",
    "time sleep 0; TIMEFORMAT=%R; time :",
    "bind -p >/dev/null; complete -F f g; compgen -v >/dev/null",
    "exec 2>/dev/null; set -x; set -v; set +xv",
]


@pytest.mark.parametrize("code", ABUSE)
def test_the_session_goes_on(shell: Shell, code: str) -> None:
    assert shell.run(code).status in ("ok", "error")
    assert shell.run("unalias -a; builtin echo one").stdout == "one\n"
    answer = shell.run("builtin echo two >&2; builtin false")
    assert answer.last_status == 1 and answer.stderr.endswith("two\n"), answer
    assert shell.run("if").error["name"] == "SyntaxError"
    assert shell.run("builtin echo three").stdout == "three\n"


def test_nothing_of_ours_is_in_sight(shell: Shell) -> None:
    code = "set; declare -F; compgen -v; compgen -b; compgen -A function; alias; env; jobs; trap"
    assert "cella" not in shell.out(code + "; shopt -p; echo $0 $* $_ $-").lower()
    assert shell.out("type -t cella; declare -p | grep -c main.bash; compgen -v TMOUT") == "0\n"


def test_the_variables_of_a_script(shell: Shell) -> None:
    assert shell.out('echo "$0 $# ${BASH_SOURCE[*]} ${FUNCNAME[*]} $_"') == "bash 0 bash  bash\n"
    assert shell.out("f() { echo ${FUNCNAME[*]} ${BASH_LINENO[*]}; }\n\nf") == "f main 3 0\n"
    assert shell.out('[[ ${BASH_SOURCE[0]} == "$0" ]] && echo main') == "main\n"
    assert shell.out("echo $$ $BASHPID") == f"{shell.pid} {shell.pid}\n"
    assert shell.out("echo $$ $BASHPID; case $- in *i*|*c*|*s*) echo odd;; esac").startswith(
        f"{shell.pid} {shell.pid}\n"
    )
    assert shell.out("shopt -q expand_aliases && echo on") == "on\n"
    assert shell.out("set -o | grep -c 'history.*on'") == "0\n"


def test_jobs(shell: Shell) -> None:
    shell.run("mkfifo go; { read x <go; } & first=$!; sleep 50 & second=$!")
    assert shell.out("jobs -r | wc -l") == "2\n"
    assert shell.out("echo >go; wait $first; echo $?") == "0\n"
    assert shell.out("kill $second; wait $second 2>/dev/null; echo $?") == "143\n"
    assert shell.out("jobs; (exit 5) & wait -n; echo $?") == "5\n"


def test_coprocesses_and_substitutions_survive(shell: Shell) -> None:
    shell.run("coproc tr { while read -r l; do echo \"<$l>\"; done; }")
    assert shell.out("echo hi >&${tr[1]}; read -r x <&${tr[0]}; echo $x") == "<hi>\n"
    assert shell.out("exec 8< <(echo one; echo two); read -u 8 a; echo $a") == "one\n"
    assert shell.out("read -u 8 b; echo $b; exec 8<&-") == "two\n"
    assert shell.out("echo via > >(cat); wait $!; echo end") == "via\nend\n"
    assert shell.out("diff <(echo a) <(echo a) && echo same") == "same\n"
