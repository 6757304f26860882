#compdef cella
# Made by `packaging/pages.py` from the tables of the program: do not edit.

_cella_sessions() {
    local -a found
    found=(${(f)"$(cella ps --json 2>/dev/null | grep -o '"session_id":"[0-9a-f-]*"' | cut -d'"' -f4)"})
    compadd -a found
}

_cella_notebooks() {
    local -a found
    found=(${(f)"$(cella notebook list --json 2>/dev/null | grep -o '"notebook_id":"[0-9a-f-]*"' | cut -d'"' -f4)"})
    compadd -a found
}

_cella_operations() {
    local -a found
    found=(${(f)"$(cella call 2>/dev/null | cut -d' ' -f1)"})
    compadd -a found
}

_cella() {
    local verb=$words[2]
    if ((CURRENT == 2)); then
        local -a verbs
        verbs=(
            'exec:run Python, Node.js or bash code in a sandboxed session'
            'repl:work in a session interactively'
            'attach:open a terminal in a session - a shell, an editor, a debugger'
            'continue:wait for a cell that was left running'
            'input:answer a cell that waits for a line of input'
            'pipe:run requests from standard input, for programs'
            'mcp:offer tools to a model'\''s client, over standard input and output (MCP)'
            'run:run a notebook from beginning to end and keep what it showed'
            'try:run code in a session, then keep or take back what it did'
            'tree:draw the checkpoints of a session'
            'ls:list a session'\''s files'
            'put:put files into a session'
            'get:get files out of a session'
            'cp:copy files into, out of or within a session'
            'mv:move files within a session'
            'rm:delete files of a session'
            'mkdir:make folders in a session'
            'notebook:the notebooks that sessions write - show, change, run, export'
            'convert:convert a notebook - ipynb, HTML, Markdown, script, cells.json'
            'serve:run the daemon in the foreground'
            'stop:stop the daemon and all sessions'
            'config:check the configuration and say what it means'
            'doctor:say which walls this machine can build around a session'
            'demo:play a short, real demonstration'
            'call:call any operation of the API'
            'interrupt:stop the cell that runs and keep its session'
            'output:print what the cells of a session wrote'
            'names:show a session'\''s variables, their types and sizes'
            'context:hold a file of a session as a text that can be explored'
            'peek:show some characters of a context, or of a file'
            'grep:search a context, or a file, for a regular expression'
            'search:find code or documents of a session or a corpus by what they say'
            'explored:tell what a session has explored'
            'recall:what an agent remembers of similar explorations'
            'outcome:tell what became of a session'\''s exploration, for the next time'
            'declarations:show what a session imported and defined, and what would not survive'
            'checkpoints:list the checkpoints of a session'
            'undo:take a session back to an earlier state'
            'redo:return to the state before an undo'
            'cells:list the cells that a session has run'
            'branch:make live copies of a session'
            'new:start a session and print its id'
            'ps:list the sessions'
            'info:show what is known of a session'
            'edit:rename a session, change its labels or its life'
            'suspend:save sessions and give up their processes'
            'resume:bring suspended sessions back'
            'kill:end sessions and everything they started'
            'health:say whether the daemon is ready'
            'agents:list the agents of the configuration'
            'plan:put a session in plan mode'
            'unplan:end the plan mode of a session'
            'agent:put an agent in plan mode, with all its sessions'
            'memory:list what is remembered of explorations'
            'state:list the states that are kept under a name'
            'help:show the help of a command'
        )
        _describe command verbs
        return
    fi
    case $verb in
    context)
        if ((CURRENT == 3)) && [[ $PREFIX != -* ]]; then
            compadd load list
            return
        fi
        ((CURRENT > 3)) && verb="$verb $words[3]"
        ;;
    notebook)
        if ((CURRENT == 3)) && [[ $PREFIX != -* ]]; then
            compadd declarations rm move reset new list title delete show add run edit clear export import watch
            return
        fi
        ((CURRENT > 3)) && verb="$verb $words[3]"
        ;;
    health)
        if ((CURRENT == 3)) && [[ $PREFIX != -* ]]; then
            compadd check
            return
        fi
        ((CURRENT > 3)) && verb="$verb $words[3]"
        ;;
    agent)
        if ((CURRENT == 3)) && [[ $PREFIX != -* ]]; then
            compadd plan unplan
            return
        fi
        ((CURRENT > 3)) && verb="$verb $words[3]"
        ;;
    memory)
        if ((CURRENT == 3)) && [[ $PREFIX != -* ]]; then
            compadd list rm clear
            return
        fi
        ((CURRENT > 3)) && verb="$verb $words[3]"
        ;;
    state)
        if ((CURRENT == 3)) && [[ $PREFIX != -* ]]; then
            compadd list show rm
            return
        fi
        ((CURRENT > 3)) && verb="$verb $words[3]"
        ;;
    esac
    local -a taken=(${=verb})
    shift $#taken words
    ((CURRENT -= $#taken))
    case $verb in
    exec)
        _arguments \
            '-f[run this file ('\''-'\'' is standard input)]:file:_files' \
            '--file[run this file ('\''-'\'' is standard input)]:file:_files' \
            '-w[a file, or a folder'\''s files, that the code reads; again for more]:file:_files' \
            '--with[a file, or a folder'\''s files, that the code reads; again for more]:file:_files' \
            '-s[run in this session (the beginning of its id is enough)]:session:_cella_sessions' \
            '--session[run in this session (the beginning of its id is enough)]:session:_cella_sessions' \
            '-n[run in a new session and keep it; its id is told on stderr]' \
            '--new[run in a new session and keep it; its id is told on stderr]' \
            '-r[the new session'\''s language\: python (the default), node or bash]:value:(python node bash)' \
            '--runtime[the new session'\''s language\: python (the default), node or bash]:value:(python node bash)' \
            '-p[its libraries, for Python\: '\''min'\'' or '\''data'\'' (the default)]:value:(min data)' \
            '--profile[its libraries, for Python\: '\''min'\'' or '\''data'\'' (the default)]:value:(min data)' \
            '-C[where it starts, below /workspace; made if it is not there]:directory:_files -/' \
            '--cwd[where it starts, below /workspace; made if it is not there]:directory:_files -/' \
            '-e[a variable of its environment; NAME alone\: as it is here]:value: ' \
            '--env[a variable of its environment; NAME alone\: as it is here]:value: ' \
            '-j[share the sandbox and the files of this session]:session:_cella_sessions' \
            '--join[share the sandbox and the files of this session]:session:_cella_sessions' \
            '--name[what it can be called instead of its id]:value: ' \
            '--label[a text to find it by with cella ps; more than once\: more]:value: ' \
            '--agent[make it on behalf of this agent of the configuration]:value: ' \
            '--binding[and of this inbound binding of it]:value: ' \
            '--user[and for this user of it\: explorations are remembered for each]:value: ' \
            '--debug[its processes may trace each other\: gdb, strace, py-spy]' \
            '--idle-timeout[end it after this time without use (10m; 0\: never)]:value: ' \
            '-t[stop the code after this time\: 500ms, 30s (the default), 2m]:value: ' \
            '--timeout[stop the code after this time\: 500ms, 30s (the default), 2m]:value: ' \
            '-y[come back after this time if it still runs]:value: ' \
            '--yield[come back after this time if it still runs]:value: ' \
            '--on-disconnect[if this command is killed\: '\''continue'\'' the cell or '\''cancel'\'' it]:value:(continue cancel)' \
            '--names[show the session'\''s names afterwards]' \
            '-b[with --json\: how much output the answer holds (8k)]:value: ' \
            '--budget[with --json\: how much output the answer holds (8k)]:value: ' \
            '--save-images[write images there instead of only noting them]:directory:_files -/' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:file:_files'
        ;;
    repl)
        _arguments \
            '-s[work in this session (the beginning of its id is enough)]:session:_cella_sessions' \
            '--session[work in this session (the beginning of its id is enough)]:session:_cella_sessions' \
            '-k[leave the new session alive at the end and tell its id]' \
            '--keep[leave the new session alive at the end and tell its id]' \
            '-r[the new session'\''s language\: python (the default), node or bash]:value:(python node bash)' \
            '--runtime[the new session'\''s language\: python (the default), node or bash]:value:(python node bash)' \
            '-p[its libraries, for Python\: '\''min'\'' or '\''data'\'' (the default)]:value:(min data)' \
            '--profile[its libraries, for Python\: '\''min'\'' or '\''data'\'' (the default)]:value:(min data)' \
            '-C[where it starts, below /workspace; made if it is not there]:directory:_files -/' \
            '--cwd[where it starts, below /workspace; made if it is not there]:directory:_files -/' \
            '-e[a variable of its environment; NAME alone\: as it is here]:value: ' \
            '--env[a variable of its environment; NAME alone\: as it is here]:value: ' \
            '-j[share the sandbox and the files of this session]:session:_cella_sessions' \
            '--join[share the sandbox and the files of this session]:session:_cella_sessions' \
            '--name[what it can be called instead of its id]:value: ' \
            '--label[a text to find it by with cella ps; more than once\: more]:value: ' \
            '--agent[make it on behalf of this agent of the configuration]:value: ' \
            '--binding[and of this inbound binding of it]:value: ' \
            '--user[and for this user of it\: explorations are remembered for each]:value: ' \
            '--debug[its processes may trace each other\: gdb, strace, py-spy]' \
            '--idle-timeout[end it after this time without use (10m; 0\: never)]:value: ' \
            '-t[stop a cell after this time (30s)]:value: ' \
            '--timeout[stop a cell after this time (30s)]:value: ' \
            '--save-images[write images there instead of only noting them]:directory:_files -/' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    attach)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    continue)
        _arguments \
            '-y[come back after this time if it still runs]:value: ' \
            '--yield[come back after this time if it still runs]:value: ' \
            '-b[with --json\: how much output the answer holds (8k)]:value: ' \
            '--budget[with --json\: how much output the answer holds (8k)]:value: ' \
            '--names[show the session'\''s names afterwards]' \
            '--save-images[write images there instead of only noting them]:directory:_files -/' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    input)
        _arguments \
            '--eof[no line but the end of the input]' \
            '-y[come back after this time if it still runs]:value: ' \
            '--yield[come back after this time if it still runs]:value: ' \
            '-b[with --json\: how much output the answer holds (8k)]:value: ' \
            '--budget[with --json\: how much output the answer holds (8k)]:value: ' \
            '--save-images[write images there instead of only noting them]:directory:_files -/' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    pipe)
        _arguments \
            '-r[of requests that name none\: python (the default), node, bash]:value:(python node bash)' \
            '--runtime[of requests that name none\: python (the default), node, bash]:value:(python node bash)' \
            '-p[likewise\: what is imported already (see the configuration)]:value:(min data)' \
            '--profile[likewise\: what is imported already (see the configuration)]:value:(min data)' \
            '-t[likewise\: stop the code after this time (30s)]:value: ' \
            '--timeout[likewise\: stop the code after this time (30s)]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    mcp)
        _arguments \
            '--tools[which tools\: core (the default), explore, notebook, repl; with commas between]:value: ' \
            '-a[speak for this agent of the configuration]:value: ' \
            '--agent[speak for this agent of the configuration]:value: ' \
            '--print-config[write the entry for this client'\''s configuration, and end]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    run)
        _arguments \
            '-o[where the run notebook goes; else NAME.out.ipynb; - is standard output]:file:_files' \
            '--output[where the run notebook goes; else NAME.out.ipynb; - is standard output]:file:_files' \
            '-p[a parameter\: a number, true, false, null, JSON, else text]:value: ' \
            '--parameter[a parameter\: a number, true, false, null, JSON, else text]:value: ' \
            '-r[a parameter that is text, whatever it looks like]:value: ' \
            '--raw[a parameter that is text, whatever it looks like]:value: ' \
            '-w[a file, or a directory'\''s files, that its cells read; again for more]:file:_files' \
            '--with[a file, or a directory'\''s files, that its cells read; again for more]:file:_files' \
            '--out[bring back what it wrote\: the files of its workspace that are new]:directory:_files -/' \
            '--allow-errors[go on after a cell that fails]' \
            '-t[stop a cell after this time\: 30s, 10m (default\: a day; an agent'\''s own limit)]:value: ' \
            '--timeout[stop a cell after this time\: 30s, 10m (default\: a day; an agent'\''s own limit)]:value: ' \
            '--runtime[its language\: python, node or bash; else as the notebook says]:value:(python node bash)' \
            '--kernel[the same, by the name that Jupyter has for it\: python3]:value:(python3 javascript bash)' \
            '--profile[its libraries, for Python\: '\''min'\'' or '\''data'\'' (the default)]:value:(min data)' \
            '-C[where it starts, below /workspace; made if it is not there]:directory:_files -/' \
            '--cwd[where it starts, below /workspace; made if it is not there]:directory:_files -/' \
            '-e[a variable of its environment; NAME alone\: as it is here]:value: ' \
            '--env[a variable of its environment; NAME alone\: as it is here]:value: ' \
            '-j[share the sandbox and the files of this session]:session:_cella_sessions' \
            '--join[share the sandbox and the files of this session]:session:_cella_sessions' \
            '--name[what it can be called instead of its id]:value: ' \
            '--label[a text to find it by with cella ps; more than once\: more]:value: ' \
            '--agent[make it on behalf of this agent of the configuration]:value: ' \
            '--binding[and of this inbound binding of it]:value: ' \
            '--user[and for this user of it\: explorations are remembered for each]:value: ' \
            '--debug[its processes may trace each other\: gdb, strace, py-spy]' \
            '--idle-timeout[end it after this time without use (10m; 0\: never)]:value: ' \
            '-f[ipynb, cells-json, script; else by the suffix or what it holds]:value: ' \
            '--from[ipynb, cells-json, script; else by the suffix or what it holds]:value: ' \
            '-k[keep the session; its id is told on stderr]' \
            '--keep[keep the session; its id is told on stderr]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:file:_files'
        ;;
    try)
        _arguments \
            '--commit[keep what it did, without asking]' \
            '--discard[take back what it did, without asking]' \
            '--id[decide about this one, which was left open, instead of running code]:value: ' \
            '-t[stop the code after this time\: 500ms, 30s (the default), 2m]:value: ' \
            '--timeout[stop the code after this time\: 500ms, 30s (the default), 2m]:value: ' \
            '--save-images[write images there instead of only noting them]:directory:_files -/' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    tree)
        _arguments \
            '--ascii[draw with ASCII characters (the default where the locale is not UTF-8)]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    ls)
        _arguments \
            '-R[what is in folders, too]' \
            '--recursive[what is in folders, too]' \
            '-l[with type, mode, size and time]' \
            '--long[with type, mode, size and time]' \
            '-p[only names that match\: '\''*.csv'\''; with a slash, paths\: '\''**/test_*'\'']:value: ' \
            '--pattern[only names that match\: '\''*.csv'\''; with a slash, paths\: '\''**/test_*'\'']:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    put)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    get)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    cp)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    mv)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    rm)
        _arguments \
            '-r[folders with all that is in them]' \
            '--recursive[folders with all that is in them]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    mkdir)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    convert)
        _arguments \
            '-o[where to write; - (the default) is standard output]:file:_files' \
            '--output[where to write; - (the default) is standard output]:file:_files' \
            '-t[ipynb, html, markdown, script, cells-json; else by the suffix of -o]:value: ' \
            '--to[ipynb, html, markdown, script, cells-json; else by the suffix of -o]:value: ' \
            '-f[ipynb, cells-json, script; else by the suffix or what it holds]:value: ' \
            '--from[ipynb, cells-json, script; else by the suffix or what it holds]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:file:_files'
        ;;
    serve)
        _arguments \
            '-l[the address for HTTP (127.0.0.1\:7300; port 0 picks one)]:value: ' \
            '--listen[the address for HTTP (127.0.0.1\:7300; port 0 picks one)]:value: ' \
            '-d[where everything is kept (also CELLA_DATA)]:directory:_files -/' \
            '--data[where everything is kept (also CELLA_DATA)]:directory:_files -/' \
            '-c[the configuration (see cella(1) for where else it is looked for)]:file:_files' \
            '--config[the configuration (see cella(1) for where else it is looked for)]:file:_files' \
            '--no-auth[ask for no key; only on a loopback address]' \
            '--log-format[text or json (the default with --json)]:value:(text json)' \
            '--log-level[debug, info, warn or error]:value:(debug info warn error)' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    stop)
        _arguments \
            '--erase[then remove its data directory, also if none runs\: sessions, notebooks, key]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    config)
        _arguments \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:file:_files'
        ;;
    doctor)
        _arguments \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    demo)
        _arguments \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    call)
        _arguments \
            '-f[for an operation whose body is bytes\: what to send ('\''-'\''\: standard input)]:file:_files' \
            '--file[for an operation whose body is bytes\: what to send ('\''-'\''\: standard input)]:file:_files' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:operation:_cella_operations'
        ;;
    interrupt)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    output)
        _arguments \
            '--number[Only what the cell with this number wrote; without it the whole session'\''s output.]:value: ' \
            '--offset[Where to begin, in bytes; default 0]:value: ' \
            '--limit[Bytes at most; default 65536.]:value: ' \
            '--stream[Which of the two; default stdout.]:value:(stdout stderr)' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    names)
        _arguments \
            '-m[How many names at most; default 1000.]:value: ' \
            '--max[How many names at most; default 1000.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    context\ load)
        _arguments \
            '--name[Its name; default\: context.]:value: ' \
            '--member[a file in it, if it is an archive,]:value: ' \
            '--url[or a page of a domain that web_domains lists for its agent,]:value: ' \
            '--text[or the text itself.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    context\ list)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    peek)
        _arguments \
            '--n[How many characters; default 500.]:value: ' \
            '--offset[How many characters come before; default 0.]:value: ' \
            '--context[The context by its name; default\: the one called context.]:value: ' \
            '--quiet[Leaves the call out of the research tree and the log.]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    grep)
        _arguments \
            '--context-lines[How many lines around each match are shown; default 2.]:value: ' \
            '--max-results[How many matches at most; default\: max_grep_results of the configuration, 100.]:value: ' \
            '--literal[The pattern is a text that is looked for as it is.]' \
            '--case[Upper and lower case are not the same.]' \
            '--context[The context by its name; default\: the one called context.]:value: ' \
            '--quiet[Leaves the call out of the research tree and the log.]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    search)
        _arguments \
            '--kind[Code, or sections of documents; default code.]:value:(code doc)' \
            '--corpus[A folder that the configuration names in search.corpora.]:value: ' \
            '--session-id[Or a session, whose files are searched.]:session:_cella_sessions' \
            '--limit[How many results at most; default 5.]:value: ' \
            '--words-only[Ranks by words alone, without vectors.]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    explored)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    recall)
        _arguments \
            '--toon[Adds the answer as TOON, where that is shorter.]' \
            '--quiet[Leaves the call out of the research tree and the log.]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    outcome)
        _arguments \
            '--task[The task; default\: the last query of recall.]:value: ' \
            '--action[How it was explored, in words that the next one may act on; default\: what was called, as the log has it.]:value: ' \
            '--gate-failures[How often a check refused what was done\: 0.1 less each.]:value: ' \
            '--escalations[How often somebody else had to help\: 0.15 less each.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    declarations)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    notebook\ declarations)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:notebook:_cella_notebooks'
        ;;
    checkpoints)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    undo)
        _arguments \
            '-t[The checkpoint to go to; 0 is the beginning]:value: ' \
            '--to[The checkpoint to go to; 0 is the beginning]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    redo)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    cells)
        _arguments \
            '--offset[How many to pass over; default 0.]:value: ' \
            '--limit[How many at most; default 100]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    branch)
        _arguments \
            '-a[The checkpoint to branch from; default\: the present state.]:value: ' \
            '--at[The checkpoint to branch from; default\: the present state.]:value: ' \
            '-n[How many branches; default 1.]:value: ' \
            '--count[How many branches; default 1.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    new)
        _arguments \
            '-r[The interpreter.]:value:(python node bash)' \
            '--runtime[The interpreter.]:value:(python node bash)' \
            '-p[What is already imported, by the name of a profile of the configuration.]:value: ' \
            '--profile[What is already imported, by the name of a profile of the configuration.]:value: ' \
            '--memory-mb[Memory, in MiB.]:value: ' \
            '--cpu-percent[Processor time; 100 is one core.]:value: ' \
            '--pids[Processes and threads.]:value: ' \
            '--disk-mb[/workspace, in MiB.]:value: ' \
            '--checkpoint-mb[Memory for checkpoints besides, in MiB; the oldest are given up first.]:value: ' \
            '--cpu-seconds[Processor time of each process, in seconds; 0 is no limit.]:value: ' \
            '-C[Where it works\: a directory inside /workspace (also relative to it) or /tmp, made if it does not exist.]:value: ' \
            '--cwd[Where it works\: a directory inside /workspace (also relative to it) or /tmp, made if it does not exist.]:value: ' \
            '-e[Environment variables besides the usual ones, by name; up to 64 KiB in all.]:value: ' \
            '--env[Environment variables besides the usual ones, by name; up to 64 KiB in all.]:value: ' \
            '-j[A session whose sandbox it shares\: files, processes and limits.]:session:_cella_sessions' \
            '--join[A session whose sandbox it shares\: files, processes and limits.]:session:_cella_sessions' \
            '--agent[On whose behalf, by a name of the configuration; without it the agent "default".]:value: ' \
            '--binding[The inbound binding through which the agent was asked.]:value: ' \
            '--user[The agent'\''s user for whom it is, by any name\: explorations are remembered for each apart.]:value: ' \
            '--idle-timeout[It is suspended when nobody used it for this long; 0 is never]:value: ' \
            '--max-age[It ends at this age; 0 is never]:value: ' \
            '--checkpoints[When its state is kept to come back to\: after a moment of rest (auto, the default unless the agent'\''s checkpoints says otherwise), after every cell, or never.]:value:(auto every off)' \
            '-t[How long its cells may run that name no time of their own; default\: the agent'\''s timeout_secs.]:value: ' \
            '--timeout[How long its cells may run that name no time of their own; default\: the agent'\''s timeout_secs.]:value: ' \
            '-b[Bytes of output in answers to cells that name no budget of their own; default\: the agent'\''s budget, else 8 KiB.]:value: ' \
            '--budget[Bytes of output in answers to cells that name no budget of their own; default\: the agent'\''s budget, else 8 KiB.]:value: ' \
            '--images[How answers have pictures where a cell does not say\: reference (unless the agent'\''s images says otherwise) or inline.]:value:(reference inline)' \
            '--durable[Whether its state is kept on disk, to outlive the daemon\: auto (the default) or off.]:value:(auto off)' \
            '--explore[Its code has peek, grep and the other functions that explore contexts from the start, not only once there is a context]' \
            '--structured[Its cells are structured unless they say otherwise, see session.exec]' \
            '--debug[Whether its processes may trace each other, for gdb, strace, py-spy and leak checks; off unless the agent'\''s setting is always, refused if that is never.]' \
            '--isolation[shared (the default)\: its cells run in one process; per_cell\: each has a fresh one, with the state that could be saved after the one before.]:value:(shared per_cell)' \
            '--name[What it can be called instead of its id\: letters, digits, ".", "_" and "-"]:value: ' \
            '--labels[Texts to find it by, up to 16, by name.]:value: ' \
            '--tools[Tools that the caller hands in\: code calls them as those of the toolbox, the answer is tool_call_required then, and exec.tool_results answers them.]:value: ' \
            '--tool-deadline[How long such a call may wait for its result before the cell is stopped; default\: five minutes.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    ps)
        _arguments \
            '--state[Only those in this state; living\: all that have not ended.]:value:(living starting idle busy suspended dead)' \
            '-r[Only those of this interpreter.]:value:(python node bash)' \
            '--runtime[Only those of this interpreter.]:value:(python node bash)' \
            '-l[Only those with this label\: KEY, or KEY=VALUE.]:value: ' \
            '--label[Only those with this label\: KEY, or KEY=VALUE.]:value: ' \
            '-n[Only those whose name is like this; * stands for any characters.]:value: ' \
            '--name[Only those whose name is like this; * stands for any characters.]:value: ' \
            '--agent[Only those of this agent, for whom the call speaks.]:value: ' \
            '--sort[Last used first (used, the default), newest first (created), by memory or processor time, most first, or by name; those that have ended come last.]:value:(used created memory cpu name)' \
            '--limit[How many at most; default 100.]:value: ' \
            '--cursor[Where the page before ended\: its "next".]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    info)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    edit)
        _arguments \
            '-n[What it can be called instead of its id; an empty text takes the name away.]:value: ' \
            '--name[What it can be called instead of its id; an empty text takes the name away.]:value: ' \
            '--labels[Labels to set; one with an empty text is removed, others stay.]:value: ' \
            '--idle-timeout[It is suspended when nobody used it for this long from now on; 0 is never.]:value: ' \
            '--max-age[It ends at this age, counted from its start or its last resumption; 0 is never.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    suspend)
        _arguments \
            '-a[every session]' \
            '--all[every session]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    resume)
        _arguments \
            '-a[every session]' \
            '--all[every session]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    kill)
        _arguments \
            '-k[The cells that it ran stay, as a notebook; default false.]' \
            '--keep-notebook[The cells that it ran stay, as a notebook; default false.]' \
            '-a[every session]' \
            '--all[every session]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    notebook\ rm)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:notebook:_cella_notebooks'
        ;;
    notebook\ move)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:notebook:_cella_notebooks'
        ;;
    notebook\ reset)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:notebook:_cella_notebooks'
        ;;
    notebook\ new)
        _arguments \
            '--title[What to call it.]:value: ' \
            '--metadata[An object of the caller'\''s own, up to 256 KiB; it replaces the one before.]:value: ' \
            '--cells[The cells that it begins with; none of them is run.]:value: ' \
            '-r[The interpreter.]:value:(python node bash)' \
            '--runtime[The interpreter.]:value:(python node bash)' \
            '-p[What is already imported, by the name of a profile of the configuration.]:value: ' \
            '--profile[What is already imported, by the name of a profile of the configuration.]:value: ' \
            '--memory-mb[Memory, in MiB.]:value: ' \
            '--cpu-percent[Processor time; 100 is one core.]:value: ' \
            '--pids[Processes and threads.]:value: ' \
            '--disk-mb[/workspace, in MiB.]:value: ' \
            '--checkpoint-mb[Memory for checkpoints besides, in MiB; the oldest are given up first.]:value: ' \
            '--cpu-seconds[Processor time of each process, in seconds; 0 is no limit.]:value: ' \
            '-C[Where it works\: a directory inside /workspace (also relative to it) or /tmp, made if it does not exist.]:value: ' \
            '--cwd[Where it works\: a directory inside /workspace (also relative to it) or /tmp, made if it does not exist.]:value: ' \
            '-e[Environment variables besides the usual ones, by name; up to 64 KiB in all.]:value: ' \
            '--env[Environment variables besides the usual ones, by name; up to 64 KiB in all.]:value: ' \
            '-j[A session whose sandbox it shares\: files, processes and limits.]:session:_cella_sessions' \
            '--join[A session whose sandbox it shares\: files, processes and limits.]:session:_cella_sessions' \
            '--agent[On whose behalf, by a name of the configuration; without it the agent "default".]:value: ' \
            '--binding[The inbound binding through which the agent was asked.]:value: ' \
            '--user[The agent'\''s user for whom it is, by any name\: explorations are remembered for each apart.]:value: ' \
            '--idle-timeout[It is suspended when nobody used it for this long; 0 is never]:value: ' \
            '--max-age[It ends at this age; 0 is never]:value: ' \
            '--checkpoints[When its state is kept to come back to\: after a moment of rest (auto, the default unless the agent'\''s checkpoints says otherwise), after every cell, or never.]:value:(auto every off)' \
            '-t[How long its cells may run that name no time of their own; default\: the agent'\''s timeout_secs.]:value: ' \
            '--timeout[How long its cells may run that name no time of their own; default\: the agent'\''s timeout_secs.]:value: ' \
            '-b[Bytes of output in answers to cells that name no budget of their own; default\: the agent'\''s budget, else 8 KiB.]:value: ' \
            '--budget[Bytes of output in answers to cells that name no budget of their own; default\: the agent'\''s budget, else 8 KiB.]:value: ' \
            '--images[How answers have pictures where a cell does not say\: reference (unless the agent'\''s images says otherwise) or inline.]:value:(reference inline)' \
            '--durable[Whether its state is kept on disk, to outlive the daemon\: auto (the default) or off.]:value:(auto off)' \
            '--explore[Its code has peek, grep and the other functions that explore contexts from the start, not only once there is a context]' \
            '--structured[Its cells are structured unless they say otherwise, see session.exec]' \
            '--debug[Whether its processes may trace each other, for gdb, strace, py-spy and leak checks; off unless the agent'\''s setting is always, refused if that is never.]' \
            '--isolation[shared (the default)\: its cells run in one process; per_cell\: each has a fresh one, with the state that could be saved after the one before.]:value:(shared per_cell)' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    notebook\ list)
        _arguments \
            '--user[Only those of this agent; default\: everybody'\''s]:value: ' \
            '--offset[How many to pass over; default 0.]:value: ' \
            '--limit[How many at most; default 100]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    notebook\ title)
        _arguments \
            '--metadata[An object of the caller'\''s own, up to 256 KiB; it replaces the one before.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:notebook:_cella_notebooks'
        ;;
    notebook\ delete)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:notebook:_cella_notebooks'
        ;;
    health)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    health\ check)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    agents)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    plan)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    unplan)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:session:_cella_sessions'
        ;;
    agent\ plan)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    agent\ unplan)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    memory\ list)
        _arguments \
            '--user[Those of this user alone; empty\: of none in particular.]:value: ' \
            '--offset[How many to pass over; default 0.]:value: ' \
            '--limit[How many at most; default 100]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    memory\ rm)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    memory\ clear)
        _arguments \
            '--user[Those of this user alone; empty\: of none in particular.]:value: ' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    state\ list)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    state\ show)
        _arguments \
            '--with-state[Whether the answer is to hold the state itself, as base64.]' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    state\ rm)
        _arguments \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \

        ;;
    notebook*)
        _arguments \
            '--title[import\: what to call it]:value: ' \
            '-r[import\: its language\: python, node or bash]:value:(python node bash)' \
            '--runtime[import\: its language\: python, node or bash]:value:(python node bash)' \
            '-p[import\: its libraries, for Python\: '\''min'\'' or '\''data'\'']:value:(min data)' \
            '--profile[import\: its libraries, for Python\: '\''min'\'' or '\''data'\'']:value:(min data)' \
            '-f[add, edit\: the source is in this file ('\''-'\'' is standard input)]:file:_files' \
            '--file[add, edit\: the source is in this file ('\''-'\'' is standard input)]:file:_files' \
            '-k[add, edit\: code, markdown or raw]:value:(code markdown raw)' \
            '--kind[add, edit\: code, markdown or raw]:value:(code markdown raw)' \
            '--at[add\: the number that it is to have; else it comes last]:value: ' \
            '--run[add\: run it at once]' \
            '--revision[edit\: only if the cell has this revision]:value: ' \
            '--from[run\: from this cell on]:value: ' \
            '--to[run\: up to this cell]:value: ' \
            '--allow-errors[run\: go on after a cell that fails]' \
            '-t[run, add\: stop a cell after this time (30s)]:value: ' \
            '--timeout[run, add\: stop a cell after this time (30s)]:value: ' \
            '--cells[clear\: the cells, not only their outputs]' \
            '-o[export\: where to write; - (the default) is standard output]:file:_files' \
            '--output[export\: where to write; - (the default) is standard output]:file:_files' \
            '--format[export, import\: ipynb, html, markdown, script, cells-json]:value:(ipynb html markdown script cells-json)' \
            '--save-images[run, add\: write images there instead of only noting them]:directory:_files -/' \
            '--data[the daemon'\''s data directory (also CELLA_DATA)]:directory:_files -/' \
            '--url[talk to http\://HOST\:PORT instead (also CELLA_URL)]:value: ' \
            '--key[the key for --url (also CELLA_KEY; else DIR/key)]:value: ' \
            '--json[print JSON, for programs]' \
            '-h[show this help]' \
            '--help[show this help]' \
            '*:notebook:_cella_notebooks'
        ;;
    esac
}

_cella "$@"
