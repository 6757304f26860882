# bash completion for cella

_cella_sessions() {
    cella ps --json 2>/dev/null | grep -o '"session_id":"[0-9a-f-]*"' | cut -d'"' -f4
}

_cella() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local verbs="exec repl ps kill serve stop config doctor bench demo help --help --version"
    local common="--json --help" client="--data --url --key"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current")
        return
    fi
    case $previous in
    -f | --file | -c | --config)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --data | -d | --save-images | -o | --output)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    -s | --session)
        mapfile -t COMPREPLY < <(compgen -W "$(_cella_sessions)" -- "$current")
        return
        ;;
    -p | --profile)
        mapfile -t COMPREPLY < <(compgen -W "min data" -- "$current")
        return
        ;;
    --only)
        mapfile -t COMPREPLY < <(compgen -W "idle live think spawn churn load memory" -- "$current")
        return
        ;;
    --log-format)
        mapfile -t COMPREPLY < <(compgen -W "text json" -- "$current")
        return
        ;;
    --log-level)
        mapfile -t COMPREPLY < <(compgen -W "debug info warn error" -- "$current")
        return
        ;;
    --url | --key | -t | --timeout | -b | --budget | -l | --listen)
        return
        ;;
    esac
    local words
    case ${COMP_WORDS[1]} in
    exec) words="--file --session --new --profile --timeout --budget --save-images $client" ;;
    repl) words="--session --keep --profile --timeout --save-images $client" ;;
    kill) words="--all $client" ;;
    ps | stop) words=$client ;;
    serve) words="--listen --data --config --no-auth --log-format --log-level" ;;
    config) words=check ;;
    bench) words="--quick --only --output" ;;
    help) words="exec repl ps kill serve stop config doctor bench demo" ;;
    esac
    if [[ ${COMP_WORDS[1]} == config && $COMP_CWORD -gt 2 && $current != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    [[ ${COMP_WORDS[1]} == kill && $current != -* ]] && words=$(_cella_sessions)
    mapfile -t COMPREPLY < <(compgen -W "$words $common" -- "$current")
}

complete -F _cella cella
