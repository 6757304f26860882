/* The tables: what is measured, what is promised, what may not become worse, which sections there
 * are. cella-bench. */
#include "bench/bench.h"

#define CELL "a cell, `1+1`"
#define CELL_AFTER_PAUSE "a cell after 100 ms of thinking"
#define CELL_CPU "processor time of a thinking cell: cell, checkpoint and save"
#define TOOL_CALL "a tool call from code and back"
#define CROWD "200 live sessions"
#define CROWD_CELL "... a cell in each while the others are saved"
#define NEW_SESSION "a new session with the data stack, to its first result"
#define ONE_SHOT "code that runs once, with the data stack"
#define AGENT_CELL "a mixed agent, thinking 100 ms before each cell: a cell"
#define AGENT_ALL "... its 12 cells together, without the thinking"
#define FORK "a fork and its end, in C,"
#define IDLE_SESSION "memory of an idle session"
#define IDLE_DAEMON "the idle daemon"

/* The rows of a runtime beside its interpreter alone. */
#define RUNTIME_KINDS(ID, name, label, program)                                                    \
    [BENCH_##ID##_LIVE] = {name ".live", "a " label " cell, 1+1", "Cella, TCP",                    \
                           true,         BENCH_##ID##_LIVE,       BENCH_NS},                       \
    [BENCH_##ID##_LIVE_PIPES] = {name ".live_pipes",                                               \
                                 "a " label " cell, 1+1",                                          \
                                 program " through pipes, with a mark",                            \
                                 false,                                                            \
                                 BENCH_##ID##_LIVE,                                                \
                                 BENCH_NS},                                                        \
    [BENCH_##ID##                                                                                  \
        _SPAWN] = {name ".spawn",          "a new " label " session, to its first result",         \
                   "Cella, from the pool", true,                                                   \
                   BENCH_##ID##_SPAWN,     BENCH_NS},                                              \
    [BENCH_##ID##                                                                                  \
        _SPAWN_PLAIN] = {name ".spawn_plain",    "a new " label " session, to its first result",   \
                         program ", no sandbox", false,                                            \
                         BENCH_##ID##_SPAWN,     BENCH_NS},                                        \
    [BENCH_##ID##                                                                                  \
        _SPAWN_BWRAP] = {name ".spawn_bwrap", "a new " label " session, to its first result",      \
                         "bwrap " program,    false,                                               \
                         BENCH_##ID##_SPAWN,  BENCH_NS},                                           \
    [BENCH_##ID##_MEMORY] = {name ".memory",                                                       \
                             "memory of an idle " label " session",                                \
                             "Cella, its processes (PSS)",                                         \
                             true,                                                                 \
                             BENCH_##ID##_MEMORY,                                                  \
                             BENCH_BYTES},                                                         \
    [BENCH_##ID##                                                                                  \
        _MEMORY_PLAIN] = {name ".memory_plain",         "memory of an idle " label " session",     \
                          program ", no sandbox (PSS)", false,                                     \
                          BENCH_##ID##_MEMORY,          BENCH_BYTES}

/* A cell with checkpoints and without. */
#define PAST_CELL_KINDS(ID, name, label)                                                           \
    [BENCH_PAST_##ID##_OFF] = {"past." name "_off",   label,   "Cella, checkpoints off", true,     \
                               BENCH_PAST_##ID##_OFF, BENCH_NS},                                   \
    [BENCH_PAST_##ID##_AUTO] = {"past." name "_auto",   label,   "Cella, checkpoints auto", true,  \
                                BENCH_PAST_##ID##_AUTO, BENCH_NS}

/* Back to a state, beside packing and unpacking it. */
#define UNDO_KINDS(ID, name, label)                                                                \
    [BENCH_UNDO_##ID] = {"undo." name,                                                             \
                         "undo, with " label " of state",                                          \
                         "Cella, to the next result",                                              \
                         true,                                                                     \
                         BENCH_UNDO_##ID,                                                          \
                         BENCH_NS},                                                                \
    [BENCH_UNDO_##ID##_REWRITTEN] = {"undo." name "_rewritten",                                    \
                                     "undo, with " label " of state",                              \
                                     "Cella, after all of it was rewritten",                       \
                                     true,                                                         \
                                     BENCH_UNDO_##ID##_REWRITTEN,                                  \
                                     BENCH_NS},                                                    \
    [BENCH_UNDO_##ID##_PICKLE] = {"undo." name "_pickle",                                          \
                                  "undo, with " label " of state",                                 \
                                  "cloudpickle + lz4, both ways",                                  \
                                  false,                                                           \
                                  BENCH_UNDO_##ID,                                                 \
                                  BENCH_NS},                                                       \
    [BENCH_UNDO_##ID##_FORK] = {"undo." name "_fork", "undo, with " label " of state",             \
                                FORK " with as much", false,                                       \
                                BENCH_UNDO_##ID,      BENCH_NS}

/* A search beside ripgrep's. */
#define GREP_KINDS(ID, name, label)                                                                \
    [BENCH_GREP_##                                                                                 \
        ID] = {"grep." name, label, "Cella, all cores", true, BENCH_GREP_##ID, BENCH_NS},          \
      [BENCH_GREP_##ID##_ONE] = {"grep." name "_one",   label,   "Cella, one thread", true,        \
                                 BENCH_GREP_##ID##_ONE, BENCH_NS},                                 \
      [BENCH_GREP_##ID##_RG] = {"grep." name "_rg", label,   "ripgrep, with its start", false,     \
                                BENCH_GREP_##ID,    BENCH_NS}

#define MCP_CALL "an MCP tools/call of `1+1`"
#define CRASH "a crash, to the next result"

const struct bench_kind bench_kinds[BENCH_N_KINDS] = {
    [BENCH_LIVE_UNIX] = {"live.unix", CELL, "Cella, UNIX socket", true, BENCH_LIVE_UNIX, BENCH_NS},
    [BENCH_LIVE_TCP] = {"live.tcp", CELL, "Cella, TCP", true, BENCH_LIVE_TCP, BENCH_NS},
    [BENCH_LIVE_RAW] = {"live.raw", CELL, "the driver alone, no daemon, no jail", false,
                        BENCH_LIVE_TCP, BENCH_NS},
    [BENCH_LIVE_IPYTHON] = {"live.ipython", CELL, "IPython kernel", false, BENCH_LIVE_TCP,
                            BENCH_NS},
    [BENCH_MCP_HTTP] = {"mcp.http", MCP_CALL, "Cella, HTTP", true, BENCH_MCP_HTTP, BENCH_NS},
    [BENCH_TOOLS_BUILT_IN] = {"tools.built_in", TOOL_CALL, "Cella, calculate", true,
                              BENCH_TOOLS_BUILT_IN, BENCH_NS},
    [BENCH_TOOLS_UPSTREAM] = {"tools.upstream", TOOL_CALL, "Cella, an MCP server over stdio", true,
                              BENCH_TOOLS_UPSTREAM, BENCH_NS},
    [BENCH_TOOLS_CALLER] = {"tools.caller", TOOL_CALL, "Cella, the cell's caller over REST", true,
                            BENCH_TOOLS_CALLER, BENCH_NS},
    [BENCH_TOOLS_DIRECT] = {"tools.direct", TOOL_CALL, "the same server, asked directly", false,
                            BENCH_TOOLS_UPSTREAM, BENCH_NS},
    [BENCH_TOOLS_PARALLEL] = {"tools.parallel", "four calls of 100 ms in one structured cell",
                              "Cella", true, BENCH_TOOLS_PARALLEL, BENCH_NS},
    [BENCH_MCP_STDIO] = {"mcp.stdio", MCP_CALL, "Cella, standard input", true, BENCH_MCP_STDIO,
                         BENCH_NS},
    [BENCH_MCP_POSIT] = {"mcp.posit", MCP_CALL, "posit-mcp-repl, standard input", false,
                         BENCH_MCP_STDIO, BENCH_NS},
    [BENCH_THINK_UNIX] = {"think.unix", CELL_AFTER_PAUSE, "Cella, UNIX socket", true,
                          BENCH_THINK_UNIX, BENCH_NS},
    [BENCH_THINK_TCP] = {"think.tcp", CELL_AFTER_PAUSE, "Cella, TCP", true, BENCH_THINK_TCP,
                         BENCH_NS},
    [BENCH_THINK_RAW] = {"think.raw", CELL_AFTER_PAUSE, "the driver alone, no daemon, no jail",
                         false, BENCH_THINK_TCP, BENCH_NS},
    [BENCH_THINK_IPYTHON] = {"think.ipython", CELL_AFTER_PAUSE, "IPython kernel", false,
                             BENCH_THINK_TCP, BENCH_NS},
    [BENCH_THINK_CPU] = {"think.cpu", CELL_CPU, "Cella, all its processes", true, BENCH_THINK_CPU,
                         BENCH_NS},
    [BENCH_THINK_CPU_FORK] = {"think.cpu_fork", CELL_CPU, FORK " with 100 MB", false,
                              BENCH_THINK_CPU, BENCH_NS},
    [BENCH_AGENT_CELL] = {"agent.cell", AGENT_CELL, "Cella, TCP", true, BENCH_AGENT_CELL, BENCH_NS},
    [BENCH_AGENT_CELL_IPYTHON] = {"agent.cell_ipython", AGENT_CELL, "IPython kernel", false,
                                  BENCH_AGENT_CELL, BENCH_NS},
    [BENCH_AGENT_CELL_POSIT] = {"agent.cell_posit", AGENT_CELL, "posit-mcp-repl", false,
                                BENCH_AGENT_CELL, BENCH_NS},
    [BENCH_AGENT_ALL] = {"agent.all", AGENT_ALL, "Cella, TCP", true, BENCH_AGENT_ALL, BENCH_NS},
    [BENCH_AGENT_ALL_IPYTHON] = {"agent.all_ipython", AGENT_ALL, "IPython kernel", false,
                                 BENCH_AGENT_ALL, BENCH_NS},
    [BENCH_AGENT_ALL_POSIT] = {"agent.all_posit", AGENT_ALL, "posit-mcp-repl", false,
                               BENCH_AGENT_ALL, BENCH_NS},
    [BENCH_SPAWN_POOL] = {"spawn.pool", NEW_SESSION, "Cella, from the pool", true, BENCH_SPAWN_POOL,
                          BENCH_NS},
    [BENCH_SPAWN_MISS] = {"spawn.miss", NEW_SESSION, "Cella, pool empty", true, BENCH_SPAWN_MISS,
                          BENCH_NS},
    [BENCH_SPAWN_PYTHON] = {"spawn.python", NEW_SESSION, "python3, no sandbox", false,
                            BENCH_SPAWN_POOL, BENCH_NS},
    [BENCH_SPAWN_BWRAP] = {"spawn.bwrap", NEW_SESSION, "bwrap python3", false, BENCH_SPAWN_POOL,
                           BENCH_NS},
    [BENCH_SPAWN_IPYTHON] = {"spawn.ipython", NEW_SESSION, "IPython kernel, no sandbox", false,
                             BENCH_SPAWN_POOL, BENCH_NS},
    [BENCH_ONESHOT_PLAIN] = {"oneshot.plain", ONE_SHOT, "Cella, without state", true,
                             BENCH_ONESHOT_PLAIN, BENCH_NS},
    [BENCH_ONESHOT_STATE] = {"oneshot.state", ONE_SHOT, "Cella, 1 KB of state in and out", true,
                             BENCH_ONESHOT_STATE, BENCH_NS},
    [BENCH_ONESHOT_PICKLE] = {"oneshot.pickle", ONE_SHOT,
                              "cloudpickle + lz4 of that state, both ways, alone", false,
                              BENCH_ONESHOT_STATE, BENCH_NS},
    [BENCH_ONESHOT_PYTHON] = {"oneshot.python", ONE_SHOT, "python3, no sandbox", false,
                              BENCH_ONESHOT_PLAIN, BENCH_NS},
    [BENCH_ONESHOT_IPYTHON] = {"oneshot.ipython", ONE_SHOT, "IPython kernel, restarted", false,
                               BENCH_ONESHOT_PLAIN, BENCH_NS},
    PAST_CELL_KINDS(CELL, "cell", "what checkpoints cost: a cell, back to back"),
    PAST_CELL_KINDS(CELL20, "cell20", "... after 20 ms of thinking"),
    PAST_CELL_KINDS(CELL100, "cell100", "... after 100 ms of thinking"),
    UNDO_KINDS(1MB, "1mb", "1 MB of numpy"),
    UNDO_KINDS(100MB, "100mb", "100 MB of numpy"),
    UNDO_KINDS(1GB, "1gb", "1 GB of numpy"),
    UNDO_KINDS(OBJECTS, "objects", "a million small objects"),
    [BENCH_CRASH] = {"crash", CRASH, "Cella, 100 MB of state kept", true, BENCH_CRASH, BENCH_NS},
    [BENCH_CRASH_IPYTHON] = {"crash.ipython", CRASH, "IPython kernel, restarted, state lost", false,
                             BENCH_CRASH, BENCH_NS},
    [BENCH_CRASH_FORK] = {"crash.fork", CRASH, FORK " with 100 MB", false, BENCH_CRASH, BENCH_NS},
    [BENCH_CRASH_BRANCH] = {"crash.branch", "16 live copies of a session", "Cella", true,
                            BENCH_CRASH_BRANCH, BENCH_NS},
    [BENCH_CRASH_BRANCH_FORK] = {"crash.branch_fork", "16 live copies of a session",
                                 FORK " with 100 MB", false, BENCH_CRASH_BRANCH, BENCH_NS},
    [BENCH_PAST_MEMORY] = {"past.memory", "memory of a checkpoint of an idle session", "Cella",
                           true, BENCH_PAST_MEMORY, BENCH_BYTES},
    [BENCH_CHURN] = {"churn", "create, run a cell, destroy (4 clients)", "Cella, TCP", true,
                     BENCH_CHURN, BENCH_PER_SECOND},
    [BENCH_CHURN_FORK] = {"churn.fork", "create, run a cell, destroy (4 clients)",
                          FORK " with 100 MB", false, BENCH_CHURN, BENCH_NS},
    [BENCH_LOAD] = {"load", "cells in 16 sessions at once", "Cella, TCP", true, BENCH_LOAD,
                    BENCH_PER_SECOND},
    [BENCH_LOAD_ECHO] = {"load.echo", "cells in 16 sessions at once",
                         "256 bytes to a process and back, in C", false, BENCH_LOAD, BENCH_NS},
    [BENCH_CROWD_MEMORY] = {"crowd.memory", CROWD,
                            "Cella, each with its checkpoint, with the kernel's share", true,
                            BENCH_CROWD_MEMORY, BENCH_BYTES},
    [BENCH_CROWD_CELL] = {"crowd.cell", CROWD_CELL, "Cella, TCP", true, BENCH_CROWD_CELL, BENCH_NS},
    [BENCH_CROWD_ECHO] = {"crowd.echo", CROWD_CELL, "256 bytes to a process and back, in C", false,
                          BENCH_CROWD_CELL, BENCH_NS},
    [BENCH_MEMORY_PSS] = {"memory.pss", IDLE_SESSION, "Cella, its processes (PSS)", true,
                          BENCH_MEMORY_PSS, BENCH_BYTES},
    [BENCH_MEMORY_ALL] = {"memory.all", IDLE_SESSION, "Cella, with the kernel's share", true,
                          BENCH_MEMORY_ALL, BENCH_BYTES},
    [BENCH_MEMORY_IPYTHON_PANDAS] = {"memory.ipython_pandas", IDLE_SESSION,
                                     "IPython kernel with pandas (PSS)", false, BENCH_MEMORY_PSS,
                                     BENCH_BYTES},
    [BENCH_MEMORY_IPYTHON_DATA] = {"memory.ipython_data", IDLE_SESSION,
                                   "IPython kernel with the data stack (PSS)", false,
                                   BENCH_MEMORY_PSS, BENCH_BYTES},
    [BENCH_IDLE_DAEMON_RSS] = {"idle.daemon_rss", IDLE_DAEMON, "daemon process, RSS", true,
                               BENCH_IDLE_DAEMON_RSS, BENCH_BYTES},
    [BENCH_IDLE_DAEMON_PSS] = {"idle.daemon_pss", IDLE_DAEMON, "daemon process, PSS", true,
                               BENCH_IDLE_DAEMON_PSS, BENCH_BYTES},
    [BENCH_IDLE_ALL_PSS] = {"idle.all_pss", IDLE_DAEMON, "daemon, warden and theirs, PSS", true,
                            BENCH_IDLE_ALL_PSS, BENCH_BYTES},
    [BENCH_IDLE_TEMPLATE] = {"idle.template", IDLE_DAEMON,
                             "data stack, loaded once, and a pool of 4", true, BENCH_IDLE_TEMPLATE,
                             BENCH_BYTES},
    [BENCH_IDLE_ALL_ANON] = {"idle.all_anon", IDLE_DAEMON,
                             "daemon, warden and theirs, PSS without files", true,
                             BENCH_IDLE_ALL_ANON, BENCH_BYTES},
    [BENCH_IDLE_TEMPLATE_ANON] = {"idle.template_anon", IDLE_DAEMON,
                                  "data stack and pool of 4, PSS without files", true,
                                  BENCH_IDLE_TEMPLATE_ANON, BENCH_BYTES},
    [BENCH_IDLE_WAKEUPS] = {"idle.wakeups", IDLE_DAEMON, "wake-ups of all its processes", true,
                            BENCH_IDLE_WAKEUPS, BENCH_PER_SECOND},
    RUNTIME_KINDS(NODE, "node", "Node.js", "node"),
    RUNTIME_KINDS(BASH, "bash", "bash", "bash"),
    [BENCH_GREP_OPEN] = {"grep.open", "opening a text, with the box", "Cella", true,
                         BENCH_GREP_OPEN, BENCH_NS},
    [BENCH_GREP_PEEK] = {"grep.peek", "500 characters anywhere in a text", "Cella", true,
                         BENCH_GREP_PEEK, BENCH_NS},
    GREP_KINDS(LITERAL, "literal", "a search for a literal, in any case"),
    GREP_KINDS(PATTERN, "pattern", "a search for `ptrace.*sys\\w+\\d`"),
    GREP_KINDS(WORDS, "words", "a search for one of three words"),
    GREP_KINDS(BOUNDED, "bounded", "the first 100 lines with `error \\d+`"),
};

#define SAME(id) (id), (id)

const struct bench_claim bench_claims[] = {
    {"a cell over REST, kept alive, back to back", SAME(BENCH_LIVE_TCP), false, 130e3},
    {"... faster than an IPython kernel", BENCH_LIVE_TCP, BENCH_LIVE_IPYTHON, true, 35},
    {"... with 100 ms of thinking between cells", SAME(BENCH_THINK_TCP), false, 700e3},
    {"... processor time of it, its checkpoint and its save", SAME(BENCH_THINK_CPU), false, 6e6},
    {"an MCP tools/call over HTTP", SAME(BENCH_MCP_HTTP), false, 300e3},
    {"... over standard input", SAME(BENCH_MCP_STDIO), false, 300e3},
    {"... faster than posit-mcp-repl", BENCH_MCP_STDIO, BENCH_MCP_POSIT, true, 100},
    {"a tool call from code to a built-in tool and back", SAME(BENCH_TOOLS_BUILT_IN), false, 200e3},
    {"four calls of 100 ms that only read, in one structured cell", SAME(BENCH_TOOLS_PARALLEL),
     false, 150e6},
    {"a tool call from code to the cell's caller over REST", SAME(BENCH_TOOLS_CALLER), false,
     500e3},
    {"a new sandboxed session to its first result, pool", SAME(BENCH_SPAWN_POOL), false, 1e6},
    {"... faster than python3 with the same imports", BENCH_SPAWN_POOL, BENCH_SPAWN_PYTHON, true,
     1000},
    {"a new sandboxed session to its first result, miss", SAME(BENCH_SPAWN_MISS), false, 8e6},
    {"... faster than python3 with the same imports", BENCH_SPAWN_MISS, BENCH_SPAWN_PYTHON, true,
     150},
    {"code that runs once, 1 KB of state in and out", SAME(BENCH_ONESHOT_STATE), false, 3e6},
    {"undo, 100 MB of numpy", SAME(BENCH_UNDO_100MB), false, 8e6},
    {"... after a full rewrite", SAME(BENCH_UNDO_100MB_REWRITTEN), false, 10e6},
    {"undo, 1 GB of numpy", SAME(BENCH_UNDO_1GB), false, 20e6},
    {"... after a full rewrite", SAME(BENCH_UNDO_1GB_REWRITTEN), false, 80e6},
    {"crash to the next result, 100 MB of state", SAME(BENCH_CRASH), false, 10e6},
    {"create, run a cell, destroy", SAME(BENCH_CHURN), true, 100},
    {"cells per second, 16 sessions", SAME(BENCH_LOAD), true, 13000},
    {"memory of an idle data session, PSS", SAME(BENCH_MEMORY_PSS), false, 4e6},
    {"... with the kernel's share", SAME(BENCH_MEMORY_ALL), false, 4e6},
    {"200 live sessions, each with its checkpoint", SAME(BENCH_CROWD_MEMORY), false, 5e6},
    {"... a cell in each while the others are saved", SAME(BENCH_CROWD_CELL), false, 2e6},
    {"idle daemon and warden, PSS", SAME(BENCH_IDLE_ALL_PSS), false, 15e6},
    {"wake-ups without work", SAME(BENCH_IDLE_WAKEUPS), false, 0},
    {"a Node.js cell over REST, back to back", SAME(BENCH_NODE_LIVE), false, 250e3},
    {"a new Node.js session to its first result, pool", SAME(BENCH_NODE_SPAWN), false, 2e6},
    {"a bash cell over REST, back to back", SAME(BENCH_BASH_LIVE), false, 250e3},
    {"a new bash session to its first result, pool", SAME(BENCH_BASH_SPAWN), false, 2e6},
    {"a search for a literal, beside ripgrep", BENCH_GREP_LITERAL, BENCH_GREP_LITERAL_RG, true,
     0.83},
    {"... one thread", BENCH_GREP_LITERAL_ONE, BENCH_GREP_LITERAL_RG, true, 0.83},
    {"a search for a simple pattern, beside ripgrep", BENCH_GREP_PATTERN, BENCH_GREP_PATTERN_RG,
     true, 0.83},
    {"... one thread", BENCH_GREP_PATTERN_ONE, BENCH_GREP_PATTERN_RG, true, 0.83},
    {"the first 100 lines, beside ripgrep", BENCH_GREP_BOUNDED, BENCH_GREP_BOUNDED_RG, true, 0.83},
    {"500 characters anywhere in a text", SAME(BENCH_GREP_PEEK), false, 1e6},
};
const size_t bench_n_claims = ARRAY_LEN(bench_claims);

/* Each of Cella's figures beside what is most like its work: another product where there is one,
 * else the driver alone, the same without checkpoints, or a few lines of C. Not beside every peer:
 * each row more is one more that may be called worse by chance. What depends on what others on the
 * machine do (memory.all, crowd.memory, and the PSS of files that they have open, too) is no row.
 */
const struct bench_row bench_rows[] = {
    {SAME(BENCH_IDLE_DAEMON_RSS)},
    {SAME(BENCH_IDLE_ALL_ANON)},
    {SAME(BENCH_IDLE_TEMPLATE_ANON)},
    {SAME(BENCH_IDLE_WAKEUPS)},
    {SAME(BENCH_MEMORY_PSS)},
    {BENCH_LIVE_TCP, BENCH_LIVE_RAW},
    {BENCH_LIVE_TCP, BENCH_LIVE_IPYTHON},
    {BENCH_LIVE_UNIX, BENCH_LIVE_RAW},
    {BENCH_LIVE_UNIX, BENCH_LIVE_IPYTHON},
    {BENCH_THINK_TCP, BENCH_THINK_RAW},
    {BENCH_THINK_TCP, BENCH_THINK_IPYTHON},
    {BENCH_THINK_UNIX, BENCH_THINK_IPYTHON},
    {BENCH_THINK_CPU, BENCH_THINK_CPU_FORK},
    {BENCH_AGENT_CELL, BENCH_AGENT_CELL_IPYTHON},
    {BENCH_AGENT_CELL, BENCH_AGENT_CELL_POSIT},
    {BENCH_AGENT_ALL, BENCH_AGENT_ALL_IPYTHON},
    {BENCH_AGENT_ALL, BENCH_AGENT_ALL_POSIT},
    {BENCH_SPAWN_POOL, BENCH_SPAWN_PYTHON},
    {BENCH_SPAWN_MISS, BENCH_SPAWN_PYTHON},
    {BENCH_ONESHOT_PLAIN, BENCH_ONESHOT_PYTHON},
    {BENCH_ONESHOT_STATE, BENCH_ONESHOT_PYTHON},
    {BENCH_PAST_CELL_AUTO, BENCH_PAST_CELL_OFF},
    {BENCH_PAST_CELL20_AUTO, BENCH_PAST_CELL20_OFF},
    {BENCH_PAST_CELL100_AUTO, BENCH_PAST_CELL100_OFF},
    {BENCH_UNDO_1MB, BENCH_UNDO_1MB_FORK},
    {BENCH_UNDO_1MB_REWRITTEN, BENCH_UNDO_1MB_FORK},
    {BENCH_UNDO_100MB, BENCH_UNDO_100MB_FORK},
    {BENCH_UNDO_100MB_REWRITTEN, BENCH_UNDO_100MB_FORK},
    {BENCH_UNDO_OBJECTS, BENCH_UNDO_OBJECTS_FORK},
    {BENCH_UNDO_OBJECTS_REWRITTEN, BENCH_UNDO_OBJECTS_FORK},
    {BENCH_UNDO_1GB, BENCH_UNDO_1GB_FORK},
    {BENCH_UNDO_1GB_REWRITTEN, BENCH_UNDO_1GB_FORK},
    {BENCH_CRASH, BENCH_CRASH_FORK},
    {BENCH_CRASH_BRANCH, BENCH_CRASH_BRANCH_FORK},
    {SAME(BENCH_PAST_MEMORY)},
    {BENCH_TOOLS_BUILT_IN, BENCH_TOOLS_DIRECT},
    {BENCH_TOOLS_UPSTREAM, BENCH_TOOLS_DIRECT},
    {BENCH_TOOLS_CALLER, BENCH_TOOLS_DIRECT},
    {BENCH_CHURN, BENCH_CHURN_FORK},
    {BENCH_LOAD, BENCH_LOAD_ECHO},
    {BENCH_CROWD_CELL, BENCH_CROWD_ECHO},
    {BENCH_NODE_LIVE, BENCH_NODE_LIVE_PIPES},
    {BENCH_NODE_SPAWN, BENCH_NODE_SPAWN_PLAIN},
    {SAME(BENCH_NODE_MEMORY)},
    {BENCH_BASH_LIVE, BENCH_BASH_LIVE_PIPES},
    {BENCH_BASH_SPAWN, BENCH_BASH_SPAWN_PLAIN},
    {SAME(BENCH_BASH_MEMORY)},
};
const size_t bench_n_rows = ARRAY_LEN(bench_rows);
_Static_assert(ARRAY_LEN(bench_rows) <= BENCH_ROWS_MAX, "more rows than struct bench holds");

/* Idleness and memory first, while the daemon is as it started. */
const struct bench_section bench_sections[] = {
    {"idle", "an idle daemon", bench_run_idle},
    {"memory", "memory of sessions", bench_run_memory},
    {"live", "cells, back to back", bench_run_live},
    {"mcp", "tools, back to back", bench_run_mcp},
    {"tools", "tools that code calls", bench_run_tools},
    {"think", "cells, with pauses", bench_run_think},
    {"agent", "a mixed agent", bench_run_agent},
    {"spawn", "new sessions", bench_run_spawn},
    {"oneshot", "code that runs once", bench_run_oneshot},
    {"past", "what checkpoints cost", bench_run_past},
    {"undo", "undo", bench_run_undo},
    {"crash", "crashes and branches", bench_run_crash},
    {"churn", "create, run, destroy", bench_run_churn},
    {"load", "cells in 16 sessions", bench_run_load},
    {"crowd", "200 live sessions", bench_run_crowd},
    {"node", "Node.js sessions", bench_run_node},
    {"bash", "bash sessions", bench_run_bash},
    {"grep", "searches of a text", bench_run_grep},
};
const size_t bench_n_sections = ARRAY_LEN(bench_sections);
_Static_assert(ARRAY_LEN(bench_sections) <= BENCH_SECTIONS_MAX,
               "more sections than bench.c counts");
