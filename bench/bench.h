/* cella-bench: Cella and its peers measured side by side in one run. What can be measured is a
 * table (bench_kinds), what is promised about it another (bench_claims), what may not become worse
 * than it was a third (bench_rows). A section measures in rounds, in which Cella and its peers take
 * turns; every round gives one figure for each row. The report is made from the tables. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/ids.h"
#include "cli/client.h"
#include "cli/launch.h"
#include "wire/json.h"

#include <sys/types.h>

/* --- what is measured ------------------------------------------------------------------------- */

enum bench_id {
    BENCH_LIVE_UNIX,
    BENCH_LIVE_TCP,
    BENCH_LIVE_RAW,
    BENCH_LIVE_IPYTHON,
    BENCH_MCP_HTTP,
    BENCH_MCP_STDIO,
    BENCH_MCP_POSIT,
    BENCH_TOOLS_BUILT_IN,
    BENCH_TOOLS_UPSTREAM,
    BENCH_TOOLS_CALLER,
    BENCH_TOOLS_DIRECT,
    BENCH_TOOLS_PARALLEL,
    BENCH_THINK_UNIX,
    BENCH_THINK_TCP,
    BENCH_THINK_RAW,
    BENCH_THINK_IPYTHON,
    BENCH_THINK_CPU,
    BENCH_THINK_CPU_FORK,
    BENCH_AGENT_CELL,
    BENCH_AGENT_CELL_IPYTHON,
    BENCH_AGENT_CELL_POSIT,
    BENCH_AGENT_ALL,
    BENCH_AGENT_ALL_IPYTHON,
    BENCH_AGENT_ALL_POSIT,
    BENCH_SPAWN_POOL,
    BENCH_SPAWN_MISS,
    BENCH_SPAWN_PYTHON,
    BENCH_SPAWN_BWRAP,
    BENCH_SPAWN_IPYTHON,
    BENCH_ONESHOT_PLAIN,
    BENCH_ONESHOT_STATE,
    BENCH_ONESHOT_PICKLE,
    BENCH_ONESHOT_PYTHON,
    BENCH_ONESHOT_IPYTHON,
    BENCH_PAST_CELL_OFF,
    BENCH_PAST_CELL_AUTO,
    BENCH_PAST_CELL20_OFF,
    BENCH_PAST_CELL20_AUTO,
    BENCH_PAST_CELL100_OFF,
    BENCH_PAST_CELL100_AUTO,
    BENCH_UNDO_1MB,
    BENCH_UNDO_1MB_REWRITTEN,
    BENCH_UNDO_1MB_PICKLE,
    BENCH_UNDO_1MB_FORK,
    BENCH_UNDO_100MB,
    BENCH_UNDO_100MB_REWRITTEN,
    BENCH_UNDO_100MB_PICKLE,
    BENCH_UNDO_100MB_FORK,
    BENCH_UNDO_1GB,
    BENCH_UNDO_1GB_REWRITTEN,
    BENCH_UNDO_1GB_PICKLE,
    BENCH_UNDO_1GB_FORK,
    BENCH_UNDO_OBJECTS,
    BENCH_UNDO_OBJECTS_REWRITTEN,
    BENCH_UNDO_OBJECTS_PICKLE,
    BENCH_UNDO_OBJECTS_FORK,
    BENCH_CRASH,
    BENCH_CRASH_IPYTHON,
    BENCH_CRASH_FORK,
    BENCH_CRASH_BRANCH,
    BENCH_CRASH_BRANCH_FORK,
    BENCH_PAST_MEMORY,
    BENCH_CHURN,
    BENCH_CHURN_FORK,
    BENCH_LOAD,
    BENCH_LOAD_ECHO,
    BENCH_CROWD_MEMORY,
    BENCH_CROWD_CELL,
    BENCH_CROWD_ECHO,
    BENCH_MEMORY_PSS,
    BENCH_MEMORY_ALL,
    BENCH_MEMORY_IPYTHON_PANDAS,
    BENCH_MEMORY_IPYTHON_DATA,
    BENCH_IDLE_DAEMON_RSS,
    BENCH_IDLE_DAEMON_PSS,
    BENCH_IDLE_ALL_PSS,
    BENCH_IDLE_TEMPLATE,
    BENCH_IDLE_ALL_ANON,
    BENCH_IDLE_TEMPLATE_ANON,
    BENCH_IDLE_WAKEUPS,
    BENCH_NODE_LIVE,
    BENCH_NODE_LIVE_PIPES,
    BENCH_NODE_SPAWN,
    BENCH_NODE_SPAWN_PLAIN,
    BENCH_NODE_SPAWN_BWRAP,
    BENCH_NODE_MEMORY,
    BENCH_NODE_MEMORY_PLAIN,
    BENCH_BASH_LIVE,
    BENCH_BASH_LIVE_PIPES,
    BENCH_BASH_SPAWN,
    BENCH_BASH_SPAWN_PLAIN,
    BENCH_BASH_SPAWN_BWRAP,
    BENCH_BASH_MEMORY,
    BENCH_BASH_MEMORY_PLAIN,
    BENCH_GREP_OPEN,
    BENCH_GREP_PEEK,
    BENCH_GREP_LITERAL,
    BENCH_GREP_LITERAL_ONE,
    BENCH_GREP_LITERAL_RG,
    BENCH_GREP_PATTERN,
    BENCH_GREP_PATTERN_ONE,
    BENCH_GREP_PATTERN_RG,
    BENCH_GREP_WORDS,
    BENCH_GREP_WORDS_ONE,
    BENCH_GREP_WORDS_RG,
    BENCH_GREP_BOUNDED,
    BENCH_GREP_BOUNDED_ONE,
    BENCH_GREP_BOUNDED_RG,
    BENCH_N_KINDS
};

enum bench_unit { BENCH_NS, BENCH_BYTES, BENCH_PER_SECOND };

struct bench_kind {
    const char *name;  /* "live.tcp": what stands before the dot is its section */
    const char *what;  /* the same for those that are compared */
    const char *who;   /* "Cella, TCP" */
    bool is_ours;      /* else a peer or a reference */
    enum bench_id own; /* what the ratio of a peer refers to */
    enum bench_unit unit;
};

struct bench_claim {
    const char *what;
    enum bench_id id;
    enum bench_id peer; /* if a ratio is promised; else the same as `id` */
    bool is_at_least;
    double target; /* in the unit of `id`, or a factor */
};

/* What the ratchet holds: how many times the cost of `own` its peer of the same rounds costs, the
 * more the better; or, if they are the same, a count as it is, the less the better. */
struct bench_row {
    enum bench_id own, peer;
};

extern const struct bench_kind bench_kinds[BENCH_N_KINDS];
extern const struct bench_claim bench_claims[];
extern const size_t bench_n_claims;
extern const struct bench_row bench_rows[];
extern const size_t bench_n_rows;

enum { BENCH_ROWS_MAX = 64, BENCH_ROW_NAME_SIZE = 64, BENCH_SECTIONS_MAX = 24 };

struct bench_samples {
    double *values; /* in the kind's unit, in the order of measuring */
    size_t n, cap;
    size_t round_from; /* the first of the round that is going on */
};

struct bench_summary {
    size_t n;
    double p50, p99, least;
};

struct bench_verdict {
    bool is_measured, is_ok;
    double value; /* in the unit of the claim's `id`, or a factor */
};

/* --- one run ---------------------------------------------------------------------------------- */

struct bench_daemon {
    pid_t pid; /* 0: not running */
    char *dir;
    struct cli_endpoint over_unix, over_tcp;
    char host[64], port[8], key[128];
};

/* A child that is told what to do line by line and answers in lines of JSON. */
struct bench_peer {
    const char *name; /* for people */
    pid_t pid;        /* 0: not running */
    int fd;           /* a socket: its stdin and stdout */
    struct buf in;
};

struct bench {
    bool is_quick;
    uint64_t text_mib;           /* of the text that is searched; 0: as usual */
    char program[PATH_MAX];      /* cella, which lies beside this program */
    uint64_t began_ms;           /* monotonic */
    double load_before;          /* the machine's, over a minute: what else was going on */
    char dir[PATH_MAX];          /* temporary; everything that is written is below it */
    struct bench_daemon tools;   /* with an upstream server */
    struct bench_daemon warm;    /* a pool of 4 */
    struct bench_daemon without; /* no pool: every new session is a miss */
    struct bench_peer ipython;
    char ipython_version[64];
    const char *posit_path; /* of the program posit-mcp-repl; NULL if it is not measured */
    struct bench_peer posit;
    bool is_ipython_absent, is_posit_absent, is_bwrap_absent, is_bwrap_tried;
    bool has_run[BENCH_SECTIONS_MAX]; /* each of bench_sections */
    uint64_t took_ms[BENCH_SECTIONS_MAX];
    struct bench_samples samples[BENCH_N_KINDS];
    struct bench_samples rounds[BENCH_ROWS_MAX]; /* for each row, what each round gave */
    struct buf notes;                            /* what was not measured and why, a line each */
};

struct bench_section {
    const char *name;
    const char *about; /* what the progress line says */
    int (*run)(struct bench *b, struct err *e);
};

extern const struct bench_section bench_sections[]; /* in the order of running */
extern const size_t bench_n_sections;

int bench_run_live(struct bench *b, struct err *e);
int bench_run_mcp(struct bench *b, struct err *e);
int bench_run_think(struct bench *b, struct err *e);
int bench_run_agent(struct bench *b, struct err *e);
int bench_run_spawn(struct bench *b, struct err *e);
int bench_run_oneshot(struct bench *b, struct err *e);
int bench_run_past(struct bench *b, struct err *e);
int bench_run_undo(struct bench *b, struct err *e);
int bench_run_crash(struct bench *b, struct err *e);
int bench_run_churn(struct bench *b, struct err *e);
int bench_run_load(struct bench *b, struct err *e);
int bench_run_crowd(struct bench *b, struct err *e);
int bench_run_memory(struct bench *b, struct err *e);
int bench_run_idle(struct bench *b, struct err *e);
int bench_run_node(struct bench *b, struct err *e);
int bench_run_bash(struct bench *b, struct err *e);
int bench_run_grep(struct bench *b, struct err *e);
int bench_run_tools(struct bench *b, struct err *e);

/* --- samples (samples.c) ---------------------------------------------------------------------- */

void bench_add(struct bench *b, enum bench_id id, double value);
void bench_samples_add(struct bench_samples *s, double value);
bool bench_is_of_section(enum bench_id id, const char *section);
void bench_forget_section(struct bench *b, const char *section); /* as if it had not run */
bool bench_has(const struct bench *b, enum bench_id id);
void bench_note(struct bench *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct bench_summary bench_summarize(const struct bench *b, enum bench_id id); /* n 0: nothing */
struct bench_verdict bench_judge(const struct bench *b, const struct bench_claim *claim);
/* How many times worse than ours a peer is; 0 if one of them was not measured. */
double bench_ratio(const struct bench *b, enum bench_id peer);
/* So that a rate can stand beside a time: what one of them takes. */
double bench_cost(enum bench_id id, double value);
void bench_put_value(struct buf *out, enum bench_unit unit, double value); /* "123 µs" */
void bench_put_target(struct buf *out, const struct bench_claim *claim);   /* "≤ 150 µs" */
void bench_put_factor(struct buf *out, double factor);                     /* "31×" */

/* --- rounds (rounds.c) ------------------------------------------------------------------------ */

/* One number out of many rounds, and where it may really be: that interval is its noise. */
struct bench_figure {
    size_t n_rounds;
    double value, low, high; /* of the row: a factor, or in the unit of its kind */
};

struct bench_series {
    /* Adds samples for Cella and for its peers; `index` counts from 0. */
    int (*round)(struct bench *b, void *subject, unsigned index, struct err *e);
    void *subject;
    unsigned least;     /* rounds, however long they take; a quick run makes do with 3 */
    unsigned budget_ms; /* after this no other round begins; a quick run has a quarter of it */
};

/* Rounds, until every row that they are about is known well enough or the budget is used up. */
int bench_rounds(struct bench *b, const struct bench_series *series, struct err *e);
double bench_median(const double *values, size_t n); /* of at least one; the order stays */
struct bench_figure bench_figure_of(const double *rounds, size_t n);
double bench_noise(
    const struct bench_figure *f); /* half of the interval, as a share of the value */
struct bench_figure bench_row_figure(const struct bench *b, size_t row); /* n_rounds 0: nothing */
bool bench_row_is_factor(const struct bench_row *row);
void bench_row_name(const struct bench_row *row, char ret_name[BENCH_ROW_NAME_SIZE]);

/* --- the two daemons (daemon.c) --------------------------------------------------------------- */

int bench_need_warm(struct bench *b, struct err *e);
int bench_need_without(struct bench *b, struct err *e);
/* With this text at the end of its configuration. */
int bench_need_tools(struct bench *b, const char *config, struct err *e);
const char *bench_embedded_file(const char *name); /* of this folder, put in by the build */
int bench_daemons_stop(struct bench *b, struct err *e);
/* Gives others time: refills of a pool, memory that is given back. A signal is an error. */
int bench_pause(uint64_t ms, struct err *e);

/* --- HTTP as thin as it can be (http.c) ------------------------------------------------------- */

enum { BENCH_REPLY_MAX = 64 << 10 };

/* The bodies of the requests that make a session and run a cell in it that gives 2. */
struct bench_work {
    const char *create, *cell;
};

extern const struct bench_work bench_data_work; /* Python with the data stack */

struct bench_http {
    const struct cli_endpoint *endpoint;
    const struct bench_work *work; /* bench_data_work, unless it is changed after opening */
    int fd;                        /* -1: not connected */
    char in[BENCH_REPLY_MAX + 1];
    size_t in_len;
};

struct bench_reply {
    int status;
    const char *body; /* NUL-terminated, in the connection's buffer */
    size_t body_len;
};

int bench_http_open(struct bench_http *h, const struct cli_endpoint *endpoint, struct err *e);
void bench_http_close(struct bench_http *h);
void bench_http_write(const struct bench_http *h, struct buf *out, const char *method,
                      const char *path, const char *body); /* `body` may be NULL */
int bench_http_send(struct bench_http *h, const struct buf *request, struct err *e);
/* Reads once; 1 and the reply if it is whole now, 0 if not yet. */
int bench_http_read(struct bench_http *h, struct bench_reply *ret, struct err *e);
/* Sends, and reads until the reply is whole. */
int bench_http_ask(struct bench_http *h, const struct buf *request, struct bench_reply *ret,
                   struct err *e);

/* The three requests that everything here is made of, and checks of their replies. */
void bench_write_create(const struct bench_http *h, struct buf *out);
void bench_write_exec(const struct bench_http *h, struct buf *out, const char *session);
void bench_write_delete(const struct bench_http *h, struct buf *out, const char *session);
int bench_read_created(const struct bench_reply *r, char ret_session[UUID_SIZE], struct err *e);
int bench_check_two(const struct bench_reply *r, struct err *e); /* the cell gave 2 */
int bench_check_ok(const struct bench_reply *r, struct err *e);  /* status 200 */

int bench_session_create(struct bench_http *h, char ret_session[UUID_SIZE], struct err *e);
int bench_session_exec(struct bench_http *h, const char *session, struct err *e);
int bench_session_delete(struct bench_http *h, const char *session, struct err *e);
/* Waits until a checkpoint holds the last cell; a cell's own answer may come before it is known
 * which one will. */
int bench_session_settle(struct bench_http *h, const char *session, long long *ret_checkpoint,
                         struct err *e);
/* What follows `"member":` in a reply; -1 if nothing does. */
long long bench_number_in(const struct bench_reply *reply, const char *member);

/* --- a session that is asked again and again (line.c) ----------------------------------------- */

/* A connection with a session of its own and the one request that is sent again and again. */
struct bench_line {
    struct bench_http http;
    struct buf request;
    char session[UUID_SIZE];
};

int bench_line_open(struct bench_line *l, const struct cli_endpoint *endpoint,
                    const struct bench_work *work, struct err *e);
void bench_line_close(struct bench_line *l);
/* BENCH_N_KINDS: only to warm up. */
int bench_line_exec(struct bench *b, struct bench_line *l, enum bench_id id, size_t n,
                    struct err *e);
/* From the request for a session to the result of its first cell; ending it is not counted. Waits
 * afterwards until the pool had time to be full again. */
int bench_spawn_once(struct bench *b, struct bench_http *h, enum bench_id id, uint64_t refill_ms,
                     struct err *e);
/* What `n` sessions add to the daemon's memory, each; `with_kernel` may be BENCH_N_KINDS. */
int bench_measure_sessions(struct bench *b, struct bench_http *h, size_t n, enum bench_id id,
                           enum bench_id with_kernel, struct err *e);

/* --- the machine itself, beside which stands what has no peer (reference.c) ------------------- */

/* So many forks of this program while it holds so much memory, each until its child was waited for.
 */
struct bench_ballast {
    void *memory;
    size_t size; /* bytes; 0: none is held */
};
int bench_ballast_take(struct bench_ballast *ballast, size_t size, bool is_huge, struct err *e);
void bench_ballast_drop(struct bench_ballast *ballast);
int bench_forks(struct bench *b, enum bench_id id, size_t n, struct err *e);

/* A process that sends back what it is sent. */
struct bench_echo {
    pid_t pid;
    int sock;
};
int bench_echo_start(struct bench_echo *echo, struct err *e);
int bench_echo_exec(struct bench *b, struct bench_echo *echo, enum bench_id id, size_t n,
                    struct err *e);
void bench_echo_stop(struct bench_echo *echo);

/* --- peers (peer.c, raw.c) -------------------------------------------------------------------- */

/* False, with a note of why, if this machine does not have it. */
bool bench_need_ipython(struct bench *b);
bool bench_need_posit(struct bench *b);
void bench_posit_give_up(struct bench *b, const struct err *e); /* notes why it is not measured */
void bench_peers_stop(struct bench *b);
/* Asks the peer for round trips of `1+1` with a pause before each; adds them as samples. */
int bench_ipython_exec(struct bench *b, enum bench_id id, size_t n, unsigned pause_ms,
                       struct err *e);
/* Another kernel, with the imports of the data profile. */
int bench_ipython_fresh(struct bench *b, enum bench_id id, struct err *e);
/* Runs the imports in the kernel; the pid of the kernel. */
int bench_ipython_import(struct bench *b, const char *code, pid_t *ret_kernel, struct err *e);

/* The cells of the mixed agent, as bench/agent_cells.json has them; the caller owns them. */
int bench_agent_script(json_t **ret_script, struct err *e);
/* Lets a peer run the script; a sample of `cell` for each of its cells, one of `all` for the sum.
 * BENCH_N_KINDS: only to warm up. */
int bench_peer_agent(struct bench *b, struct bench_peer *p, const json_t *script,
                     enum bench_id cell, enum bench_id all, struct err *e);
/* Asks posit-mcp-repl for tools/call of `1+1`; adds them as samples. */
int bench_posit_call(struct bench *b, enum bench_id id, size_t n, struct err *e);
/* Runs the imports of the data profile in posit-mcp-repl. */
int bench_posit_import(struct bench *b, struct err *e);

bool bench_has_bwrap(struct bench *b); /* the same; the first time it is tried */
/* One start of a program until it has printed the line "2". `boxed` runs it in bwrap. */
int bench_cold(struct bench *b, const char *const *argv, bool is_boxed, double *ret_ns,
               struct err *e);
/* One start of python3 with the imports of the data profile until it has printed its result. */
int bench_python_cold(struct bench *b, bool is_boxed, double *ret_ns, struct err *e);
/* Runs a program of Python that prints {"ns":[...]}; what cannot be imported is noted and no error.
 */
int bench_python_times(struct bench *b, const char *program, enum bench_id id, struct err *e);
/* The imports of the data profile as Python statements; the caller frees. */
char *bench_data_imports(void);

/* The driver without daemon and jail. */
struct bench_raw {
    pid_t pid;
    int sock;
    uint64_t next_id;
};
int bench_raw_start(struct bench *b, struct bench_raw *raw, struct err *e);
int bench_raw_exec(struct bench_raw *raw, double *ret_ns, struct err *e);
void bench_raw_stop(struct bench_raw *raw);

/* --- processes (proc.c) ----------------------------------------------------------------------- */

struct bench_usage {
    double rss, pss; /* bytes; pss shares what is shared fairly */
    double anon;     /* of pss, without files: those are shared with whoever else has them open */
    double switches; /* context switches of all threads since their start */
};

enum bench_part {
    BENCH_PART_ALL,
    BENCH_PART_DAEMON,  /* the one process */
    BENCH_PART_PROGRAM, /* every process of the cella program: daemon, warden and theirs */
    BENCH_PART_OTHERS   /* interpreters and pids 1 of jails */
};

int bench_usage_of(pid_t root, enum bench_part part, struct bench_usage *ret, struct err *e);
double bench_mem_available(void); /* bytes */
/* Nanoseconds of processor time of a process and all below it, with those that have ended. */
double bench_cpu_of(pid_t root);

/* --- the ratchet (baseline.c, ratchet.c) ------------------------------------------------------ */

/* What a run on this or another machine recorded, row by row. */
struct bench_baseline {
    char machine[192]; /* where; "" if nothing was read */
    struct bench_baseline_row {
        bool is_known;
        struct bench_figure figure;
        double ours, theirs; /* for information, in the units of the kinds */
    } rows[BENCH_ROWS_MAX];
};

/* `is_strict`: a row that bench does not measure any more is an error, else it is left out. */
int bench_baseline_read(const char *path, bool is_strict, struct bench_baseline *ret,
                        struct err *e);
/* What was measured; rows that were not are taken from `old`. */
int bench_baseline_write(const struct bench *b, const struct bench_baseline *old, const char *path,
                         struct err *e);

bool bench_baseline_is_of_another_machine(const struct bench *b, const struct bench_baseline *base);

enum bench_mark {
    BENCH_ROW_NEW, /* the baseline does not have it */
    BENCH_ROW_SAME,
    BENCH_ROW_BETTER,
    BENCH_ROW_WORSE,
    BENCH_ROW_LOST,   /* the baseline has it and its peer was measured, but not Cella */
    BENCH_ROW_ABSENT, /* neither it nor its peer was measured */
};

enum bench_mark bench_compare(const struct bench_row *row, const struct bench_figure *before,
                              const struct bench_figure *now);
enum bench_mark bench_judge_row(const struct bench *b, const struct bench_baseline *base,
                                size_t row);
const char *bench_mark_word(enum bench_mark mark);
bool bench_is_worse(enum bench_mark mark); /* one that makes the exit status 1 */

/* --- the report (report.c, plot.c) ------------------------------------------------------------ */

void bench_print_table(const struct bench *b, const struct bench_baseline *base);
void bench_print_json(const struct bench *b, const struct bench_baseline *base);
int bench_write_files(const struct bench *b, const struct bench_baseline *base, const char *dir,
                      struct err *e);
void bench_plot(const struct bench *b, struct buf *svg);

struct bench_machine {
    char cpu[128], kernel[32], system[64], python[32], node[32], bash[96], ipython[64], bwrap[64];
    long cores;
    double memory; /* bytes */
    bool is_virtual;
};
void bench_describe_machine(const struct bench *b, struct bench_machine *ret);
