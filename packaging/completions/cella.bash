# bash completion for cella
# Made by `packaging/pages.py` from the tables of the program: do not edit.

_cella_sessions() {
    cella ps --json 2>/dev/null | grep -o '"session_id":"[0-9a-f-]*"' | cut -d'"' -f4
}

_cella_notebooks() {
    cella notebook list --json 2>/dev/null | grep -o '"notebook_id":"[0-9a-f-]*"' | cut -d'"' -f4
}

_cella_operations() {
    cella call 2>/dev/null | cut -d' ' -f1
}

_cella() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local verb=${COMP_WORDS[1]} words= kind=nothing
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words="exec repl attach continue input pipe mcp run try tree ls put get cp mv rm mkdir notebook convert serve stop config doctor demo call interrupt output names context peek grep search explored recall outcome declarations checkpoints undo redo cells branch new ps info edit suspend resume kill health agents plan unplan agent memory state help --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    case $verb in
    context)
        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "load list" -- "$current")
            return
        fi
        ((COMP_CWORD > 2)) && verb="$verb ${COMP_WORDS[2]}"
        ;;
    notebook)
        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "declarations rm move reset new list title delete show add run edit clear export import watch" -- "$current")
            return
        fi
        ((COMP_CWORD > 2)) && verb="$verb ${COMP_WORDS[2]}"
        ;;
    health)
        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "check" -- "$current")
            return
        fi
        ((COMP_CWORD > 2)) && verb="$verb ${COMP_WORDS[2]}"
        ;;
    agent)
        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "plan unplan" -- "$current")
            return
        fi
        ((COMP_CWORD > 2)) && verb="$verb ${COMP_WORDS[2]}"
        ;;
    memory)
        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "list rm clear" -- "$current")
            return
        fi
        ((COMP_CWORD > 2)) && verb="$verb ${COMP_WORDS[2]}"
        ;;
    state)
        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "list show rm" -- "$current")
            return
        fi
        ((COMP_CWORD > 2)) && verb="$verb ${COMP_WORDS[2]}"
        ;;
    esac
    case $verb in
    exec)
        words="--file --with --session --new --runtime --profile --cwd --env --join --name --label --agent --binding --user --debug --idle-timeout --timeout --yield --on-disconnect --names --budget --save-images --data --url --key --json --help" kind=files
        case $previous in
        -f | --file) kind=files words="" ;;
        -w | --with) kind=files words="" ;;
        -s | --session) kind=sessions words="" ;;
        -r | --runtime) kind=words words="python node bash" ;;
        -p | --profile) kind=words words="min data" ;;
        -C | --cwd) kind=dirs words="" ;;
        -e | --env) kind=nothing words="" ;;
        -j | --join) kind=sessions words="" ;;
        --name) kind=nothing words="" ;;
        --label) kind=nothing words="" ;;
        --agent) kind=nothing words="" ;;
        --binding) kind=nothing words="" ;;
        --user) kind=nothing words="" ;;
        --idle-timeout) kind=nothing words="" ;;
        -t | --timeout) kind=nothing words="" ;;
        -y | --yield) kind=nothing words="" ;;
        --on-disconnect) kind=words words="continue cancel" ;;
        -b | --budget) kind=nothing words="" ;;
        --save-images) kind=dirs words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    repl)
        words="--session --keep --runtime --profile --cwd --env --join --name --label --agent --binding --user --debug --idle-timeout --timeout --save-images --data --url --key --json --help" kind=nothing
        case $previous in
        -s | --session) kind=sessions words="" ;;
        -r | --runtime) kind=words words="python node bash" ;;
        -p | --profile) kind=words words="min data" ;;
        -C | --cwd) kind=dirs words="" ;;
        -e | --env) kind=nothing words="" ;;
        -j | --join) kind=sessions words="" ;;
        --name) kind=nothing words="" ;;
        --label) kind=nothing words="" ;;
        --agent) kind=nothing words="" ;;
        --binding) kind=nothing words="" ;;
        --user) kind=nothing words="" ;;
        --idle-timeout) kind=nothing words="" ;;
        -t | --timeout) kind=nothing words="" ;;
        --save-images) kind=dirs words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    attach)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    continue)
        words="--yield --budget --names --save-images --data --url --key --json --help" kind=sessions
        case $previous in
        -y | --yield) kind=nothing words="" ;;
        -b | --budget) kind=nothing words="" ;;
        --save-images) kind=dirs words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    input)
        words="--eof --yield --budget --save-images --data --url --key --json --help" kind=sessions
        case $previous in
        -y | --yield) kind=nothing words="" ;;
        -b | --budget) kind=nothing words="" ;;
        --save-images) kind=dirs words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    pipe)
        words="--runtime --profile --timeout --data --url --key --json --help" kind=nothing
        case $previous in
        -r | --runtime) kind=words words="python node bash" ;;
        -p | --profile) kind=words words="min data" ;;
        -t | --timeout) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    mcp)
        words="--tools --agent --print-config --data --url --key --json --help" kind=nothing
        case $previous in
        --tools) kind=nothing words="" ;;
        -a | --agent) kind=nothing words="" ;;
        --print-config) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    run)
        words="--output --parameter --raw --with --out --allow-errors --timeout --runtime --kernel --profile --cwd --env --join --name --label --agent --binding --user --debug --idle-timeout --from --keep --data --url --key --json --help" kind=files
        case $previous in
        -o | --output) kind=files words="" ;;
        -p | --parameter) kind=nothing words="" ;;
        -r | --raw) kind=nothing words="" ;;
        -w | --with) kind=files words="" ;;
        --out) kind=dirs words="" ;;
        -t | --timeout) kind=nothing words="" ;;
        --runtime) kind=words words="python node bash" ;;
        --kernel) kind=words words="python3 javascript bash" ;;
        --profile) kind=words words="min data" ;;
        -C | --cwd) kind=dirs words="" ;;
        -e | --env) kind=nothing words="" ;;
        -j | --join) kind=sessions words="" ;;
        --name) kind=nothing words="" ;;
        --label) kind=nothing words="" ;;
        --agent) kind=nothing words="" ;;
        --binding) kind=nothing words="" ;;
        --user) kind=nothing words="" ;;
        --idle-timeout) kind=nothing words="" ;;
        -f | --from) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    try)
        words="--commit --discard --id --timeout --save-images --data --url --key --json --help" kind=sessions
        case $previous in
        --id) kind=nothing words="" ;;
        -t | --timeout) kind=nothing words="" ;;
        --save-images) kind=dirs words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    tree)
        words="--ascii --data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    ls)
        words="--recursive --long --pattern --data --url --key --json --help" kind=nothing
        case $previous in
        -p | --pattern) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    put)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    get)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    cp)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    mv)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    rm)
        words="--recursive --data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    mkdir)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    notebook | notebook\ *)
        words="--title --runtime --profile --file --kind --at --run --revision --from --to --allow-errors --timeout --cells --output --format --save-images --data --url --key --json --help" kind=notebooks
        case $previous in
        --title) kind=nothing words="" ;;
        -r | --runtime) kind=words words="python node bash" ;;
        -p | --profile) kind=words words="min data" ;;
        -f | --file) kind=files words="" ;;
        -k | --kind) kind=words words="code markdown raw" ;;
        --at) kind=nothing words="" ;;
        --revision) kind=nothing words="" ;;
        --from) kind=nothing words="" ;;
        --to) kind=nothing words="" ;;
        -t | --timeout) kind=nothing words="" ;;
        -o | --output) kind=files words="" ;;
        --format) kind=words words="ipynb html markdown script cells-json" ;;
        --save-images) kind=dirs words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    convert)
        words="--output --to --from --json --help" kind=files
        case $previous in
        -o | --output) kind=files words="" ;;
        -t | --to) kind=nothing words="" ;;
        -f | --from) kind=nothing words="" ;;
        esac
        ;;
    serve)
        words="--listen --data --config --no-auth --log-format --log-level --json --help" kind=nothing
        case $previous in
        -l | --listen) kind=nothing words="" ;;
        -d | --data) kind=dirs words="" ;;
        -c | --config) kind=files words="" ;;
        --log-format) kind=words words="text json" ;;
        --log-level) kind=words words="debug info warn error" ;;
        esac
        ;;
    stop)
        words="--erase --data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    config)
        words="--json --help" kind=files
        case $previous in
        esac
        ;;
    doctor)
        words="--json --help" kind=nothing
        case $previous in
        esac
        ;;
    demo)
        words="--json --help" kind=nothing
        case $previous in
        esac
        ;;
    call)
        words="--file --data --url --key --json --help" kind=operations
        case $previous in
        -f | --file) kind=files words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    interrupt)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    output)
        words="--number --offset --limit --stream --data --url --key --json --help" kind=sessions
        case $previous in
        --number) kind=nothing words="" ;;
        --offset) kind=nothing words="" ;;
        --limit) kind=nothing words="" ;;
        --stream) kind=words words="stdout stderr" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    names)
        words="--max --data --url --key --json --help" kind=sessions
        case $previous in
        -m | --max) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "context load")
        words="--name --member --url --text --data --url --key --json --help" kind=sessions
        case $previous in
        --name) kind=nothing words="" ;;
        --member) kind=nothing words="" ;;
        --url) kind=nothing words="" ;;
        --text) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "context list")
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    peek)
        words="--n --offset --context --quiet --data --url --key --json --help" kind=sessions
        case $previous in
        --n) kind=nothing words="" ;;
        --offset) kind=nothing words="" ;;
        --context) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    grep)
        words="--context-lines --max-results --literal --case --context --quiet --data --url --key --json --help" kind=sessions
        case $previous in
        --context-lines) kind=nothing words="" ;;
        --max-results) kind=nothing words="" ;;
        --context) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    search)
        words="--kind --corpus --session-id --limit --words-only --data --url --key --json --help" kind=nothing
        case $previous in
        --kind) kind=words words="code doc" ;;
        --corpus) kind=nothing words="" ;;
        --session-id) kind=sessions words="" ;;
        --limit) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    explored)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    recall)
        words="--toon --quiet --data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    outcome)
        words="--task --action --gate-failures --escalations --data --url --key --json --help" kind=sessions
        case $previous in
        --task) kind=nothing words="" ;;
        --action) kind=nothing words="" ;;
        --gate-failures) kind=nothing words="" ;;
        --escalations) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    declarations)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook declarations")
        words="--data --url --key --json --help" kind=notebooks
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    checkpoints)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    undo)
        words="--to --data --url --key --json --help" kind=sessions
        case $previous in
        -t | --to) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    redo)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    cells)
        words="--offset --limit --data --url --key --json --help" kind=sessions
        case $previous in
        --offset) kind=nothing words="" ;;
        --limit) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    branch)
        words="--at --count --data --url --key --json --help" kind=sessions
        case $previous in
        -a | --at) kind=nothing words="" ;;
        -n | --count) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    new)
        words="--runtime --profile --memory-mb --cpu-percent --pids --disk-mb --checkpoint-mb --cpu-seconds --cwd --env --join --agent --binding --user --idle-timeout --max-age --checkpoints --timeout --budget --images --durable --explore --structured --debug --isolation --name --labels --tools --tool-deadline --data --url --key --json --help" kind=nothing
        case $previous in
        -r | --runtime) kind=words words="python node bash" ;;
        -p | --profile) kind=nothing words="" ;;
        --memory-mb) kind=nothing words="" ;;
        --cpu-percent) kind=nothing words="" ;;
        --pids) kind=nothing words="" ;;
        --disk-mb) kind=nothing words="" ;;
        --checkpoint-mb) kind=nothing words="" ;;
        --cpu-seconds) kind=nothing words="" ;;
        -C | --cwd) kind=nothing words="" ;;
        -e | --env) kind=nothing words="" ;;
        -j | --join) kind=sessions words="" ;;
        --agent) kind=nothing words="" ;;
        --binding) kind=nothing words="" ;;
        --user) kind=nothing words="" ;;
        --idle-timeout) kind=nothing words="" ;;
        --max-age) kind=nothing words="" ;;
        --checkpoints) kind=words words="auto every off" ;;
        -t | --timeout) kind=nothing words="" ;;
        -b | --budget) kind=nothing words="" ;;
        --images) kind=words words="reference inline" ;;
        --durable) kind=words words="auto off" ;;
        --isolation) kind=words words="shared per_cell" ;;
        --name) kind=nothing words="" ;;
        --labels) kind=nothing words="" ;;
        --tools) kind=nothing words="" ;;
        --tool-deadline) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    ps)
        words="--state --runtime --label --name --agent --sort --limit --cursor --data --url --key --json --help" kind=nothing
        case $previous in
        --state) kind=words words="living starting idle busy suspended dead" ;;
        -r | --runtime) kind=words words="python node bash" ;;
        -l | --label) kind=nothing words="" ;;
        -n | --name) kind=nothing words="" ;;
        --agent) kind=nothing words="" ;;
        --sort) kind=words words="used created memory cpu name" ;;
        --limit) kind=nothing words="" ;;
        --cursor) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    info)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    edit)
        words="--name --labels --idle-timeout --max-age --data --url --key --json --help" kind=sessions
        case $previous in
        -n | --name) kind=nothing words="" ;;
        --labels) kind=nothing words="" ;;
        --idle-timeout) kind=nothing words="" ;;
        --max-age) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    suspend)
        words="--all --data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    resume)
        words="--all --data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    kill)
        words="--keep-notebook --all --data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook rm")
        words="--data --url --key --json --help" kind=notebooks
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook move")
        words="--data --url --key --json --help" kind=notebooks
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook reset")
        words="--data --url --key --json --help" kind=notebooks
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook new")
        words="--title --metadata --cells --runtime --profile --memory-mb --cpu-percent --pids --disk-mb --checkpoint-mb --cpu-seconds --cwd --env --join --agent --binding --user --idle-timeout --max-age --checkpoints --timeout --budget --images --durable --explore --structured --debug --isolation --data --url --key --json --help" kind=nothing
        case $previous in
        --title) kind=nothing words="" ;;
        --metadata) kind=nothing words="" ;;
        --cells) kind=nothing words="" ;;
        -r | --runtime) kind=words words="python node bash" ;;
        -p | --profile) kind=nothing words="" ;;
        --memory-mb) kind=nothing words="" ;;
        --cpu-percent) kind=nothing words="" ;;
        --pids) kind=nothing words="" ;;
        --disk-mb) kind=nothing words="" ;;
        --checkpoint-mb) kind=nothing words="" ;;
        --cpu-seconds) kind=nothing words="" ;;
        -C | --cwd) kind=nothing words="" ;;
        -e | --env) kind=nothing words="" ;;
        -j | --join) kind=sessions words="" ;;
        --agent) kind=nothing words="" ;;
        --binding) kind=nothing words="" ;;
        --user) kind=nothing words="" ;;
        --idle-timeout) kind=nothing words="" ;;
        --max-age) kind=nothing words="" ;;
        --checkpoints) kind=words words="auto every off" ;;
        -t | --timeout) kind=nothing words="" ;;
        -b | --budget) kind=nothing words="" ;;
        --images) kind=words words="reference inline" ;;
        --durable) kind=words words="auto off" ;;
        --isolation) kind=words words="shared per_cell" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook list")
        words="--user --offset --limit --data --url --key --json --help" kind=nothing
        case $previous in
        --user) kind=nothing words="" ;;
        --offset) kind=nothing words="" ;;
        --limit) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook title")
        words="--metadata --data --url --key --json --help" kind=notebooks
        case $previous in
        --metadata) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "notebook delete")
        words="--data --url --key --json --help" kind=notebooks
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    health)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "health check")
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    agents)
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    plan)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    unplan)
        words="--data --url --key --json --help" kind=sessions
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "agent plan")
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "agent unplan")
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "memory list")
        words="--user --offset --limit --data --url --key --json --help" kind=nothing
        case $previous in
        --user) kind=nothing words="" ;;
        --offset) kind=nothing words="" ;;
        --limit) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "memory rm")
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "memory clear")
        words="--user --data --url --key --json --help" kind=nothing
        case $previous in
        --user) kind=nothing words="" ;;
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "state list")
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "state show")
        words="--with-state --data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    "state rm")
        words="--data --url --key --json --help" kind=nothing
        case $previous in
        --data) kind=dirs words="" ;;
        --url) kind=nothing words="" ;;
        --key) kind=nothing words="" ;;
        esac
        ;;
    help)
        words="exec repl attach continue input pipe mcp run try tree ls put get cp mv rm mkdir notebook convert serve stop config doctor demo call interrupt output names context peek grep search explored recall outcome declarations checkpoints undo redo cells branch new ps info edit suspend resume kill health agents plan unplan agent memory state help" kind=words
        ;;
    esac
    _cella_reply "$kind" "$words" "$current" "$previous"
}

# Flags when one is begun; else files, ids or words.
_cella_reply() {
    local kind=$1 words=$2 current=$3
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    case $kind in
    files) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    dirs) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    sessions | notebooks | operations)
        mapfile -t COMPREPLY < <(compgen -W "$(_cella_$kind)" -- "$current") ;;
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    esac
}

complete -F _cella cella
