/* Node.js and bash: cells, new sessions and memory, each beside the interpreter by itself.
 * cella-bench. */
#include "base/clock.h"
#include "bench/child.h"
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

enum { WARM_UPS = 500, END_WITHIN_MS = 5000, ANSWER_WITHIN_MS = 30000, OUTPUT_MAX = 1 << 20 };

/* Of one round. */
enum { CELLS = 400, PIPE_CELLS = 200, SESSIONS = 3, STARTS = 3 };

struct runtime {
    const char *name; /* for people */
    struct bench_work work;
    uint64_t refill_ms;    /* in which a taken session of the pool is replaced */
    size_t idle_sessions;  /* so many that what they add stands out */
    const char *peer[8];   /* reads code from its standard input */
    const char *peer_cell; /* for it: prints or shows 2, then the mark */
    const char *start[8];  /* prints 2 and ends */
    enum bench_id live, live_pipes, spawn, spawn_plain, spawn_bwrap, memory, memory_plain;
};

/* One that is measured. */
struct beside {
    const struct runtime *runtime;
    struct bench_line *line;
    struct bench_peer peer; /* the interpreter by itself */
    bool has_bwrap;
};

/* The mark is put together by the code, so that an echo of the code is not taken for it. */
#define MARK "(end of cell)"

static const struct runtime node = {
    .name = "Node.js",
    .work = {"{\"runtime\":\"node\"}", "{\"code\":\"1+1\"}"},
    .refill_ms = 300,
    .idle_sessions = 10,
    .peer = {"/usr/bin/node", "-i", NULL},
    .peer_cell = "1+1\nconsole.log('(end ' + 'of cell)')\n",
    .start = {"/usr/bin/node", "-e", "console.log(1+1)", NULL},
    .live = BENCH_NODE_LIVE,
    .live_pipes = BENCH_NODE_LIVE_PIPES,
    .spawn = BENCH_NODE_SPAWN,
    .spawn_plain = BENCH_NODE_SPAWN_PLAIN,
    .spawn_bwrap = BENCH_NODE_SPAWN_BWRAP,
    .memory = BENCH_NODE_MEMORY,
    .memory_plain = BENCH_NODE_MEMORY_PLAIN,
};

static const struct runtime bash = {
    .name = "bash",
    .work = {"{\"runtime\":\"bash\"}", "{\"code\":\"echo $((1+1))\"}"},
    .refill_ms = 60,
    .idle_sessions = 40,
    .peer = {"/usr/bin/bash", "--norc", "--noprofile", NULL},
    .peer_cell = "echo $((1+1))\necho '(end ''of cell)'\n",
    .start = {"/usr/bin/bash", "--norc", "--noprofile", "-c", "echo $((1+1))", NULL},
    .live = BENCH_BASH_LIVE,
    .live_pipes = BENCH_BASH_LIVE_PIPES,
    .spawn = BENCH_BASH_SPAWN,
    .spawn_plain = BENCH_BASH_SPAWN_PLAIN,
    .spawn_bwrap = BENCH_BASH_SPAWN_BWRAP,
    .memory = BENCH_BASH_MEMORY,
    .memory_plain = BENCH_BASH_MEMORY_PLAIN,
};

/* --- the interpreter by itself, driven as tools do that have only its streams ------------------
 */

static int peer_start(struct bench *b, const struct runtime *r, struct bench_peer *ret,
                      struct err *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no socket");
    _fd_ int theirs = pair[1];
    *ret = (struct bench_peer){.name = r->name, .fd = pair[0], .in = BUF_INIT(OUTPUT_MAX)};
    struct bench_child child = {.argv = r->peer, .stdio = theirs, .third = -1};
    return bench_child_start(b, &child, &ret->pid, e);
}

static void peer_stop(struct bench_peer *p)
{
    if (p->pid > 0) {
        shutdown(p->fd, SHUT_WR); /* the end of its input: it ends */
        bench_child_end(p->pid, END_WITHIN_MS);
    }
    if (p->fd >= 0)
        close(p->fd);
    buf_free(&p->in);
}

static int peer_read_mark(struct bench_peer *p, struct err *e)
{
    uint64_t deadline_ms = clock_mono_ms() + ANSWER_WITHIN_MS;
    char *mark;
    while ((mark = p->in.len > 0 ? memmem(p->in.data, p->in.len, MARK, strlen(MARK)) : NULL) ==
           NULL) {
        int ready = cli_wait(p->fd, POLLIN, deadline_ms);
        if (ready == -EINTR)
            return err_set(e, ERR_UNAVAILABLE, "interrupted");
        if (ready <= 0 || !buf_reserve(&p->in, 4096))
            return err_set(e, ERR_TIMEOUT, "the interpreter by itself does not answer");
        ssize_t n = read(p->fd, p->in.data + p->in.len, 4096);
        if (n <= 0)
            return err_set(e, ERR_UNAVAILABLE, "the interpreter by itself ended");
        p->in.len += (size_t)n;
    }
    if (memchr(p->in.data, '2', (size_t)(mark - p->in.data)) == NULL)
        return err_set(e, ERR_INTERNAL, "the interpreter by itself gave something else than 2");
    buf_consume(&p->in, (size_t)(mark - p->in.data) + strlen(MARK));
    return 0;
}

static int peer_exec(struct bench *b, const struct runtime *r, struct bench_peer *p,
                     enum bench_id id, size_t n, struct err *e)
{
    size_t len = strlen(r->peer_cell);
    for (size_t i = 0; i < n; i++) {
        uint64_t began_ns = clock_mono_ns();
        if (send(p->fd, r->peer_cell, len, MSG_NOSIGNAL) != (ssize_t)len)
            return err_errno(e, ERR_UNAVAILABLE, errno, "the interpreter by itself");
        if (peer_read_mark(p, e) < 0)
            return -1;
        bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    }
    return 0;
}

/* --- the three measures ----------------------------------------------------------------------- */

static int live_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct beside *s = subject;
    const struct runtime *r = s->runtime;
    (void)index;
    if (bench_line_exec(b, s->line, r->live, CELLS, e) < 0)
        return -1;
    return peer_exec(b, r, &s->peer, r->live_pipes, PIPE_CELLS, e);
}

static int measure_live(struct bench *b, struct beside *s, struct err *e)
{
    if (bench_line_exec(b, s->line, BENCH_N_KINDS, WARM_UPS, e) < 0 ||
        peer_exec(b, s->runtime, &s->peer, BENCH_N_KINDS, WARM_UPS, e) < 0)
        return -1;
    return bench_rounds(b, &(struct bench_series){live_round, s, .least = 8, .budget_ms = 2000}, e);
}

static int measure_start(struct bench *b, const struct runtime *r, bool is_boxed, struct err *e)
{
    for (size_t i = 0; i < STARTS; i++) {
        double ns;
        if (bench_cold(b, r->start, is_boxed, &ns, e) < 0)
            return -1;
        bench_add(b, is_boxed ? r->spawn_bwrap : r->spawn_plain, ns);
    }
    return 0;
}

static int spawn_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct beside *s = subject;
    const struct runtime *r = s->runtime;
    (void)index;
    for (size_t i = 0; i < SESSIONS; i++)
        if (bench_spawn_once(b, &s->line->http, r->spawn, r->refill_ms, e) < 0)
            return -1;
    if (measure_start(b, r, false, e) < 0)
        return -1;
    return s->has_bwrap ? measure_start(b, r, true, e) : 0;
}

static int measure_spawn(struct bench *b, struct beside *s, struct err *e)
{
    const struct runtime *r = s->runtime;
    double ignored_ns;
    for (unsigned i = 0; i < 3; i++)
        if (bench_spawn_once(b, &s->line->http, BENCH_N_KINDS, r->refill_ms, e) < 0)
            return -1;
    if (bench_cold(b, r->start, false, &ignored_ns, e) < 0)
        return -1;
    s->has_bwrap = bench_has_bwrap(b);
    return bench_rounds(b, &(struct bench_series){spawn_round, s, .least = 6, .budget_ms = 3000},
                        e);
}

static int memory_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    const struct beside *s = subject;
    (void)index;
    return bench_measure_sessions(b, &s->line->http, s->runtime->idle_sessions, s->runtime->memory,
                                  BENCH_N_KINDS, e);
}

static int measure_memory(struct bench *b, struct beside *s, struct err *e)
{
    struct bench_usage usage;
    if (bench_usage_of(s->peer.pid, BENCH_PART_ALL, &usage, e) < 0)
        return -1;
    bench_add(b, s->runtime->memory_plain, usage.pss);
    return bench_rounds(
        b, &(struct bench_series){memory_round, s, .least = b->is_quick ? 1 : 3, .budget_ms = 6000},
        e);
}

/* --- the sections ----------------------------------------------------------------------------- */

static int measure(struct bench *b, const struct runtime *r, struct bench_line *line, struct err *e)
{
    struct beside s = {.runtime = r, .line = line, .peer.fd = -1};
    int status = peer_start(b, r, &s.peer, e);
    if (status == 0)
        status = measure_live(b, &s, e);
    if (status == 0)
        status = measure_memory(b, &s, e);
    peer_stop(&s.peer);
    if (status == 0)
        status = measure_spawn(b, &s, e);
    return status;
}

static int run_runtime(struct bench *b, const struct runtime *r, struct err *e)
{
    if (bench_need_warm(b, e) < 0)
        return -1;
    struct bench_line *line = mem_alloc(sizeof(*line));
    line->http.fd = -1;
    int status = 0;
    struct err why;
    if (access(r->peer[0], X_OK) < 0)
        bench_note(b, "%s: there is no %s", r->name, r->peer[0]);
    else if (bench_line_open(line, &b->warm.over_tcp, &r->work, &why) < 0)
        bench_note(b, "%s: %s", r->name, why.message);
    else
        status = measure(b, r, line, e);
    bench_line_close(line);
    free(line);
    return status;
}

int bench_run_node(struct bench *b, struct err *e)
{
    return run_runtime(b, &node, e);
}

int bench_run_bash(struct bench *b, struct err *e)
{
    return run_runtime(b, &bash, e);
}
