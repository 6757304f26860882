/* Many live sessions: what each takes with its first checkpoint, and how fast a cell is while the
 * others are saved. cella-bench. */
#include "base/clock.h"
#include "bench/bench.h"

enum {
    CROWD_SESSIONS = 200,
    CROWD_QUICK = 24,
    CROWD_ROUNDS = 4, /* of the cells that are timed; each asks as many of the sessions */
    CROWD_ECHOES = 100,
    CROWD_LOOK_MS = 150,
    CROWD_WITHIN_MS = 120 * 1000,
};

struct crowd {
    struct bench_http http;
    struct buf request;
    struct bench_echo echo;
    size_t n;
    char sessions[CROWD_SESSIONS][UUID_SIZE];
};

/* Waits until checkpoints and saves wait for their turn, or until none is left. */
static int crowd_await(struct crowd *c, bool is_at_work, struct err *e)
{
    uint64_t deadline_ms = clock_mono_ms() + CROWD_WITHIN_MS;
    struct bench_reply reply;
    bench_http_write(&c->http, &c->request, "GET", "/health/detailed", NULL);
    for (;;) {
        if (bench_http_ask(&c->http, &c->request, &reply, e) < 0)
            return -1;
        long long n = bench_number_in(&reply, "\"copying\":");
        long long waiting = bench_number_in(&reply, "\"to_copy\":");
        if (is_at_work ? waiting > 0 : n + waiting == 0)
            return 0;
        if (clock_mono_ms() > deadline_ms)
            return err_set(e, ERR_TIMEOUT, "saves of %zu sessions: %lld at work, %lld wait", c->n,
                           n, waiting);
        if (bench_pause(is_at_work ? CROWD_LOOK_MS / 10 : CROWD_LOOK_MS, e) < 0)
            return -1;
    }
}

/* BENCH_N_KINDS: only so that there is something to save. */
static int crowd_exec(struct bench *b, struct crowd *c, enum bench_id id, size_t from, size_t to,
                      struct err *e)
{
    for (size_t i = from; i < to; i++) {
        uint64_t began_ns = clock_mono_ns();
        if (bench_session_exec(&c->http, c->sessions[i], e) < 0)
            return -1;
        bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    }
    return 0;
}

static int crowd_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct crowd *c = subject;
    size_t from = c->n * index / CROWD_ROUNDS, to = c->n * (index + 1) / CROWD_ROUNDS;
    if (crowd_exec(b, c, BENCH_CROWD_CELL, from, to, e) < 0)
        return -1;
    return bench_echo_exec(b, &c->echo, BENCH_CROWD_ECHO, CROWD_ECHOES, e);
}

/* A save begins a second after its cell, or four times as long as the last one took. */
static int crowd_measure(struct bench *b, struct crowd *c, size_t n, struct err *e)
{
    double before = bench_mem_available();
    for (; c->n < n; c->n++)
        if (bench_session_create(&c->http, c->sessions[c->n], e) < 0)
            return -1;
    if (crowd_exec(b, c, BENCH_N_KINDS, 0, n, e) < 0 || crowd_await(c, false, e) < 0 ||
        bench_pause(1200, e) < 0 || crowd_await(c, false, e) < 0)
        return -1;
    double each = (before - bench_mem_available()) / (double)n;
    if (each > 0)
        bench_add(b, BENCH_CROWD_MEMORY, each);
    if (crowd_exec(b, c, BENCH_N_KINDS, 0, n, e) < 0 || bench_pause(900, e) < 0 ||
        crowd_await(c, true, e) < 0)
        return -1;
    struct bench_series series = {crowd_round, c, .least = CROWD_ROUNDS, .budget_ms = 0};
    return bench_rounds(b, &series, e);
}

int bench_run_crowd(struct bench *b, struct err *e)
{
    struct err ignored;
    struct crowd *c = mem_alloc(sizeof(*c));
    c->http.fd = c->echo.sock = -1;
    c->request = BUF_INIT(4 * KIB);
    int status = bench_need_warm(b, e);
    if (status == 0)
        status = bench_http_open(&c->http, &b->warm.over_tcp, e);
    if (status == 0)
        status = bench_echo_start(&c->echo, e);
    if (status == 0)
        status = crowd_measure(b, c, b->is_quick ? CROWD_QUICK : CROWD_SESSIONS, e);
    for (size_t i = 0; i < c->n; i++)
        bench_session_delete(&c->http, c->sessions[i], status == 0 ? e : &ignored);
    bench_echo_stop(&c->echo);
    bench_http_close(&c->http);
    buf_free(&c->request);
    free(c);
    return status;
}
