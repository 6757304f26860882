# The shell of a session where the builtin cannot be loaded. relay_main.c is at the other end: it types
# one line for each cell into descriptor 0, sends "ID OUT ERR EXITS CODE", each ended by a NUL, to
# descriptor 250, and reads "ID STATUS KIND" from descriptor 251. This file is read with --rcfile.
PS1='' PS2='' __cella_id=0 __cella_status=0 __cella_code='' __cella_exits='' __cella_left='' __cella_int=''
set +o history +m +H
unset HISTFILE

# Records of cells whose line was lost to an interrupt are skipped. Returns the status of the cell
# before, for the code's $?; with set -e that would end the shell.
__cella_begin() {
    local id out err
    while IFS= builtin read -r -d '' -u 250 id && IFS= builtin read -r -d '' -u 250 out &&
        IFS= builtin read -r -d '' -u 250 err && IFS= builtin read -r -d '' -u 250 __cella_exits &&
        IFS= builtin read -r -d '' -u 250 __cella_code && [[ $id != "$1" ]]; do
        :
    done
    __cella_id=$id
    exec >"$out" 2>"$err"
    [[ $- == *e* ]] || builtin return "$__cella_status"
}

# Proof that the shell is through with the interrupts of the time before: the prompt has this number.
__cella_settle() {
    __cella_id=$1
    builtin return "$__cella_status"
}

# Before each prompt, whatever ended the commands before it.
__cella_end() {
    __cella_status=$?
    local kind=ran
    if [[ -n $__cella_left ]]; then
        kind=exited __cella_status=$__cella_left __cella_left=''
        builtin eval "$__cella_int"
    elif ((__cella_status == 2)) && ! "$BASH" --norc -n <<<"$__cella_code" 2>/dev/null; then
        kind=syntax
    fi
    __cella_code='' # for a line of which an interrupt leaves only the end
    builtin printf '%s %s %s\n' "$__cella_id" "$__cella_status" "$kind" >&251
}

# In the shell itself `exit` ends the cell: an interactive shell drops all that it was doing when it is
# interrupted. Before that comes the trap on EXIT, once, as a shell that ends would have it. Where
# __cella_exits is set, and in a subshell, it is the builtin.
exit() {
    local __cella_code=$?
    if [[ $BASHPID != "$$" || -n $__cella_exits ]]; then
        builtin exit "${@-$__cella_code}"
    fi
    if (($# > 0)); then
        (builtin exit "$@") && __cella_code=0 || __cella_code=$?
    fi
    builtin eval "set -- $(builtin trap -p EXIT)"
    builtin trap - EXIT
    if ((__cella_code)); then
        (builtin exit "$__cella_code") || builtin eval "${3-}"
    else
        builtin eval "${3-}"
    fi
    __cella_left=$__cella_code __cella_int=$(builtin trap -p INT)
    builtin trap - INT
    exec 2>/dev/null # where the newline goes that an interrupt is worth to the shell
    builtin kill -INT "$$"
    :
}
PROMPT_COMMAND=__cella_end
readonly -f __cella_begin __cella_settle __cella_end exit
readonly PROMPT_COMMAND
