# bash completion for cella

_cella_sessions() {
    cella ps --json 2>/dev/null | grep -o '"session_id":"[0-9a-f-]*"' | cut -d'"' -f4
}

_cella_notebooks() {
    cella notebook list --json 2>/dev/null | grep -o '"notebook_id":"[0-9a-f-]*"' | cut -d'"' -f4
}

_cella() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local verbs="exec repl attach continue input interrupt names undo redo try branch tree checkpoints"
    verbs+=" ls put get cp mv rm mkdir ps kill plan pipe run notebook convert serve stop config doctor demo help --help --version"
    local sections="idle live think spawn oneshot past undo crash churn load crowd memory node bash"
    local common="--json --help" client="--data --url --key"
    local spec="--runtime --profile --cwd --env --join --name --label --agent --binding --debug --idle-timeout"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current")
        return
    fi
    if [[ ${COMP_WORDS[1]} == convert ]]; then
        local formats="ipynb html markdown script cells-json"
        [[ $previous == --from || $previous == -f ]] && formats="ipynb cells-json script"
        case $previous in
        -t | --to | -f | --from)
            mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$current")
            ;;
        *)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            [[ $current == -* && $previous != -o && $previous != --output ]] &&
                mapfile -t COMPREPLY < <(compgen -W "--output --to --from $common" -- "$current")
            ;;
        esac
        return
    fi
    if [[ ${COMP_WORDS[1]} == run ]]; then
        case $previous in
        -p | --parameter | -r | --raw) return ;;
        --kernel) mapfile -t COMPREPLY < <(compgen -W "python3 javascript bash" -- "$current") ;;
        -f | --from) mapfile -t COMPREPLY < <(compgen -W "ipynb cells-json script" -- "$current") ;;
        -o | --output | -w | --with) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        esac
        ((${#COMPREPLY[@]} == 0)) || return
    fi
    if [[ ${COMP_WORDS[1]} == notebook && $current != -* && $previous != -* ]]; then
        case $COMP_CWORD in
        2)
            local actions="list new show add run edit rm move clear title declarations"
            actions+=" export import watch delete"
            mapfile -t COMPREPLY < <(compgen -W "$actions" -- "$current")
            ;;
        3)
            if [[ $previous == import ]]; then
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
            else
                mapfile -t COMPREPLY < <(compgen -W "$(_cella_notebooks)" -- "$current")
            fi
            ;;
        esac
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
    -s | --session | -j | --join)
        mapfile -t COMPREPLY < <(compgen -W "$(_cella_sessions)" -- "$current")
        return
        ;;
    -p | --profile)
        mapfile -t COMPREPLY < <(compgen -W "min data" -- "$current")
        return
        ;;
    -r | --runtime)
        mapfile -t COMPREPLY < <(compgen -W "python node bash" -- "$current")
        return
        ;;
    -e | --env)
        mapfile -t COMPREPLY < <(compgen -v -- "$current")
        return
        ;;
    --on-disconnect)
        mapfile -t COMPREPLY < <(compgen -W "continue cancel" -- "$current")
        return
        ;;
    --only)
        mapfile -t COMPREPLY < <(compgen -W "$sections" -- "$current")
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
    --url | --key | -t | --timeout | -y | --yield | -b | --budget | -l | --listen | -C | --cwd | \
        --agent | --binding | --idle-timeout | -m | --max | --to | --at | --count | --id)
        return
        ;;
    esac
    local words
    case ${COMP_WORDS[1]} in
    exec)
        words="--file --with --session --new $spec --timeout --yield --on-disconnect --names --budget"
        words+=" --save-images $client"
        [[ $current != -* ]] && mapfile -t COMPREPLY < <(compgen -f -- "$current") && return
        ;;
    repl) words="--session --keep $spec --timeout --save-images $client" ;;
    continue) words="--yield --budget --names --save-images $client" ;;
    input) words="--eof --yield --budget --save-images $client" ;;
    names) words="--max $client" ;;
    undo) words="--to $client" ;;
    try) words="--commit --discard --id --timeout --save-images $client" ;;
    branch) words="--at --count $client" ;;
    tree) words="--ascii $client" ;;
    plan) words="--agent --leave $client" ;;
    pipe) words="--runtime --profile --timeout $client" ;;
    run)
        words="--output --parameter --raw --with --out --allow-errors --timeout --kernel $spec --from --keep"
        words+=" $client"
        ;;
    notebook)
        words="--user --title --runtime --profile --file --kind --at --run --revision --from --to"
        words+=" --allow-errors --timeout --cells --output --format --save-images $client"
        ;;
    kill) words="--all --keep-notebook $client" ;;
    stop) words="--erase $client" ;;
    ps) words="--state --runtime --label --name --agent --sort $client" ;;
    ls) words="--recursive --long --pattern $client" ;;
    rm) words="--recursive $client" ;;
    put | get | cp)
        words=$client
        [[ $current != -* ]] && mapfile -t COMPREPLY < <(compgen -f -- "$current") && return
        ;;
    attach | interrupt | redo | checkpoints | mv | mkdir) words=$client ;;
    serve) words="--listen --data --config --no-auth --log-format --log-level" ;;
    config) words=check ;;
    help) words=$verbs ;;
    esac
    case ${COMP_WORDS[1]} in
    attach | ls | kill | continue | input | interrupt | names | plan | undo | redo | try | branch | tree | \
        checkpoints)
        [[ $current != -* ]] && words=$(_cella_sessions)
        ;;
    esac
    if [[ ${COMP_WORDS[1]} == config && $COMP_CWORD -gt 2 && $current != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words $common" -- "$current")
}

complete -F _cella cella
