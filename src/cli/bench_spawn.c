#include "cli/bench.h"

enum { REFILL_MS = 60, SESSIONS_A_ROUND = 10, SESSIONS_QUICK = 5 };

static int spawn_cold(struct bench *b, enum bench_id id, struct err *e)
{
    double ns;
    if (bench_python_cold(b, id == BENCH_SPAWN_BWRAP, &ns, e) < 0)
        return -1;
    bench_add(b, id, ns);
    return bench_pause(0, e);
}

static int spawn_round(struct bench *b, struct bench_http *pool, struct bench_http *miss,
                       struct err *e)
{
    for (unsigned i = 0; i < (b->is_quick ? SESSIONS_QUICK : SESSIONS_A_ROUND); i++)
        if (bench_spawn_once(b, pool, BENCH_SPAWN_POOL, REFILL_MS, e) < 0 ||
            bench_spawn_once(b, miss, BENCH_SPAWN_MISS, REFILL_MS, e) < 0)
            return -1;
    if (spawn_cold(b, BENCH_SPAWN_PYTHON, e) < 0)
        return -1;
    if (bench_has_bwrap(b) && spawn_cold(b, BENCH_SPAWN_BWRAP, e) < 0)
        return -1;
    if (!b->is_quick && bench_need_ipython(b))
        return bench_ipython_fresh(b, BENCH_SPAWN_IPYTHON, e);
    return 0;
}

/* What the first of a kind finds cold (page cache, matplotlib's list of fonts) is not counted. */
static int warm_up(struct bench *b, struct bench_http *pool, struct bench_http *miss, struct err *e)
{
    double ignored_ns;
    for (unsigned i = 0; i < 3; i++)
        if (bench_spawn_once(b, pool, BENCH_N_KINDS, REFILL_MS, e) < 0 ||
            bench_spawn_once(b, miss, BENCH_N_KINDS, REFILL_MS, e) < 0)
            return -1;
    if (bench_python_cold(b, false, &ignored_ns, e) < 0)
        return -1;
    bench_has_bwrap(b);
    return bench_pause(0, e);
}

int bench_run_spawn(struct bench *b, struct err *e)
{
    _free_ struct bench_http *pool = mem_alloc(sizeof(*pool));
    _free_ struct bench_http *miss = mem_alloc(sizeof(*miss));
    pool->fd = miss->fd = -1;
    int status = bench_need_warm(b, e);
    if (status == 0)
        status = bench_need_without(b, e);
    if (status == 0)
        status = bench_http_open(pool, &b->warm.over_tcp, e);
    if (status == 0)
        status = bench_http_open(miss, &b->without.over_tcp, e);
    if (status == 0)
        status = warm_up(b, pool, miss, e);
    for (unsigned i = 0; status == 0 && i < (b->is_quick ? 2 : 8); i++)
        status = spawn_round(b, pool, miss, e);
    bench_http_close(pool);
    bench_http_close(miss);
    return status;
}
