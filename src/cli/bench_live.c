#include "cli/bench.h"

static int raw_exec_many(struct bench *b, struct bench_raw *raw, enum bench_id id, size_t n,
                         struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        double ns;
        if (bench_raw_exec(raw, &ns, e) < 0)
            return -1;
        if (id != BENCH_N_KINDS)
            bench_add(b, id, ns);
    }
    return 0;
}

/* --- back to back ----------------------------------------------------------------------------- */

struct live {
    struct bench_line over_unix, over_tcp;
    struct bench_raw raw;
};

static int live_prepare(struct bench *b, struct live *l, struct err *e)
{
    l->over_unix.http.fd = l->over_tcp.http.fd = l->raw.sock = -1;
    if (bench_need_warm(b, e) < 0 ||
        bench_line_open(&l->over_unix, &b->warm.over_unix, &bench_data_work, e) < 0 ||
        bench_line_open(&l->over_tcp, &b->warm.over_tcp, &bench_data_work, e) < 0 ||
        bench_raw_start(b, &l->raw, e) < 0)
        return -1;
    if (bench_need_ipython(b) && bench_ipython_exec(b, BENCH_N_KINDS, 20, 0, e) < 0)
        return -1;
    if (raw_exec_many(b, &l->raw, BENCH_N_KINDS, 200, e) < 0)
        return -1;
    if (bench_line_exec(b, &l->over_unix, BENCH_N_KINDS, 500, e) < 0)
        return -1;
    return bench_line_exec(b, &l->over_tcp, BENCH_N_KINDS, 500, e);
}

static void live_end(struct live *l)
{
    bench_line_close(&l->over_unix);
    bench_line_close(&l->over_tcp);
    bench_raw_stop(&l->raw);
    free(l);
}

static int live_round(struct bench *b, struct live *l, size_t n, struct err *e)
{
    if (bench_line_exec(b, &l->over_tcp, BENCH_LIVE_TCP, n, e) < 0 ||
        bench_line_exec(b, &l->over_unix, BENCH_LIVE_UNIX, n, e) < 0 ||
        raw_exec_many(b, &l->raw, BENCH_LIVE_RAW, n, e) < 0)
        return -1;
    if (bench_need_ipython(b) && bench_ipython_exec(b, BENCH_LIVE_IPYTHON, 20, 0, e) < 0)
        return -1;
    return bench_pause(0, e);
}

int bench_run_live(struct bench *b, struct err *e)
{
    struct live *l = mem_alloc(sizeof(*l));
    int status = live_prepare(b, l, e);
    for (unsigned i = 0; status == 0 && i < 10; i++)
        status = live_round(b, l, b->is_quick ? 500 : 2000, e);
    live_end(l);
    return status;
}

/* --- with pauses ------------------------------------------------------------------------------ */

enum { THINKING_MS = 100 };

static int think_once(struct bench *b, struct bench_line *l, enum bench_id id, struct err *e)
{
    return bench_pause(THINKING_MS, e) < 0 ? -1 : bench_line_exec(b, l, id, 1, e);
}

/* The session that was used last is not the next, so each has thought for as long as its peers. */
static int think_round(struct bench *b, struct live *l, struct err *e)
{
    if (think_once(b, &l->over_tcp, BENCH_THINK_TCP, e) < 0 ||
        think_once(b, &l->over_unix, BENCH_THINK_UNIX, e) < 0)
        return -1;
    if (bench_pause(THINKING_MS, e) < 0 || raw_exec_many(b, &l->raw, BENCH_THINK_RAW, 1, e) < 0)
        return -1;
    if (!bench_need_ipython(b))
        return 0;
    return bench_ipython_exec(b, BENCH_THINK_IPYTHON, 1, THINKING_MS, e);
}

int bench_run_think(struct bench *b, struct err *e)
{
    struct live *l = mem_alloc(sizeof(*l));
    int status = live_prepare(b, l, e);
    for (unsigned i = 0; status == 0 && i < (b->is_quick ? 8 : 50); i++)
        status = think_round(b, l, e);
    live_end(l);
    return status;
}
