/* New sessions, to their first result, from the pool and past it. cella-bench; beside interpreters
 * that are started cold. */
#include "bench/bench.h"

enum { REFILL_MS = 60, SESSIONS_A_ROUND = 6, BUDGET_MS = 8000 };

struct spawn {
    struct bench_http pool, miss;
};

static int spawn_cold(struct bench *b, enum bench_id id, struct err *e)
{
    double ns;
    if (bench_python_cold(b, id == BENCH_SPAWN_BWRAP, &ns, e) < 0)
        return -1;
    bench_add(b, id, ns);
    return bench_pause(0, e);
}

/* The peers that no row stands beside take seconds; the first round is enough for them. */
static int spawn_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct spawn *s = subject;
    for (unsigned i = 0; i < SESSIONS_A_ROUND; i++)
        if (bench_spawn_once(b, &s->pool, BENCH_SPAWN_POOL, REFILL_MS, e) < 0 ||
            bench_spawn_once(b, &s->miss, BENCH_SPAWN_MISS, REFILL_MS, e) < 0)
            return -1;
    if (spawn_cold(b, BENCH_SPAWN_PYTHON, e) < 0)
        return -1;
    if (index == 0 && bench_has_bwrap(b) && spawn_cold(b, BENCH_SPAWN_BWRAP, e) < 0)
        return -1;
    if (index == 0 && !b->is_quick && bench_need_ipython(b))
        return bench_ipython_fresh(b, BENCH_SPAWN_IPYTHON, e);
    return 0;
}

/* What the first of a kind finds cold (page cache, matplotlib's list of fonts) is not counted. */
static int warm_up(struct bench *b, struct spawn *s, struct err *e)
{
    double ignored_ns;
    for (unsigned i = 0; i < 3; i++)
        if (bench_spawn_once(b, &s->pool, BENCH_N_KINDS, REFILL_MS, e) < 0 ||
            bench_spawn_once(b, &s->miss, BENCH_N_KINDS, REFILL_MS, e) < 0)
            return -1;
    if (bench_python_cold(b, false, &ignored_ns, e) < 0)
        return -1;
    bench_has_bwrap(b);
    return bench_pause(0, e);
}

int bench_run_spawn(struct bench *b, struct err *e)
{
    _free_ struct spawn *s = mem_alloc(sizeof(*s));
    s->pool.fd = s->miss.fd = -1;
    int status = bench_need_warm(b, e);
    if (status == 0)
        status = bench_need_without(b, e);
    if (status == 0)
        status = bench_http_open(&s->pool, &b->warm.over_tcp, e);
    if (status == 0)
        status = bench_http_open(&s->miss, &b->without.over_tcp, e);
    if (status == 0)
        status = warm_up(b, s, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){spawn_round, s, .least = 5, .budget_ms = BUDGET_MS}, e);
    bench_http_close(&s->pool);
    bench_http_close(&s->miss);
    return status;
}
