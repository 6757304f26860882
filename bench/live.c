/* Cells in a session that is live, back to back and after pauses, and what they cost the machine.
 * cella-bench; beside an IPython kernel. */
#include "bench/bench.h"

static int raw_exec_many(struct bench *b, struct bench_raw *raw, enum bench_id id, size_t n,
                         struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        double ns;
        if (bench_raw_exec(raw, &ns, e) < 0)
            return -1;
        bench_add(b, id, ns);
    }
    return 0;
}

/* --- back to back ----------------------------------------------------------------------------- */

enum { LIVE_CELLS = 400, LIVE_IPYTHON_CELLS = 15, LIVE_WARM_UPS = 100, LIVE_BUDGET_MS = 4000 };

struct live {
    struct bench_line over_unix, over_tcp;
    struct bench_raw raw;
};

static void live_close(struct live *l)
{
    bench_line_close(&l->over_unix);
    bench_line_close(&l->over_tcp);
    l->over_unix = l->over_tcp = (struct bench_line){.http.fd = -1};
}

static int live_open(struct bench *b, struct live *l, struct err *e)
{
    if (bench_line_open(&l->over_unix, &b->warm.over_unix, &bench_data_work, e) < 0 ||
        bench_line_open(&l->over_tcp, &b->warm.over_tcp, &bench_data_work, e) < 0 ||
        bench_line_exec(b, &l->over_unix, BENCH_N_KINDS, LIVE_WARM_UPS, e) < 0)
        return -1;
    return bench_line_exec(b, &l->over_tcp, BENCH_N_KINDS, LIVE_WARM_UPS, e);
}

static struct live *live_new(void)
{
    struct live *l = mem_alloc(sizeof(*l));
    l->over_unix.http.fd = l->over_tcp.http.fd = l->raw.sock = -1;
    return l;
}

static void live_free(struct live *l)
{
    live_close(l);
    bench_raw_stop(&l->raw);
    free(l);
}

static int live_prepare(struct bench *b, struct live *l, struct err *e)
{
    if (bench_need_warm(b, e) < 0 || bench_raw_start(b, &l->raw, e) < 0)
        return -1;
    if (bench_need_ipython(b) && bench_ipython_exec(b, BENCH_N_KINDS, 20, 0, e) < 0)
        return -1;
    return raw_exec_many(b, &l->raw, BENCH_N_KINDS, 500, e);
}

/* Sessions of its own for each round: how fast one is depends on where its memory lies, too. */
static int live_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct live *l = subject;
    (void)index;
    live_close(l);
    if (live_open(b, l, e) < 0 ||
        bench_line_exec(b, &l->over_tcp, BENCH_LIVE_TCP, LIVE_CELLS, e) < 0 ||
        bench_line_exec(b, &l->over_unix, BENCH_LIVE_UNIX, LIVE_CELLS, e) < 0 ||
        raw_exec_many(b, &l->raw, BENCH_LIVE_RAW, LIVE_CELLS, e) < 0)
        return -1;
    if (!bench_need_ipython(b))
        return 0;
    return bench_ipython_exec(b, BENCH_LIVE_IPYTHON, LIVE_IPYTHON_CELLS, 0, e);
}

int bench_run_live(struct bench *b, struct err *e)
{
    struct live *l = live_new();
    int status = live_prepare(b, l, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){live_round, l, .least = 8, .budget_ms = LIVE_BUDGET_MS}, e);
    live_free(l);
    return status;
}

/* --- with pauses ------------------------------------------------------------------------------ */

enum { THINKING_MS = 100, THINK_CELLS = 2, THINK_BUDGET_MS = 6000 };

static int think_once(struct bench *b, struct bench_line *l, enum bench_id id, struct err *e)
{
    return bench_pause(THINKING_MS, e) < 0 ? -1 : bench_line_exec(b, l, id, 1, e);
}

/* The session that was used last is not the next, so each has thought for as long as its peers. */
static int think_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct live *l = subject;
    (void)index;
    for (unsigned i = 0; i < THINK_CELLS; i++) {
        if (think_once(b, &l->over_tcp, BENCH_THINK_TCP, e) < 0 ||
            think_once(b, &l->over_unix, BENCH_THINK_UNIX, e) < 0)
            return -1;
        if (bench_pause(THINKING_MS, e) < 0 || raw_exec_many(b, &l->raw, BENCH_THINK_RAW, 1, e) < 0)
            return -1;
        if (bench_need_ipython(b) && bench_ipython_exec(b, BENCH_THINK_IPYTHON, 1, THINKING_MS, e))
            return -1;
    }
    return 0;
}

/* --- what a cell with a pause costs, whoever does the work ------------------------------------ */

enum { CPU_CELLS = 12, CPU_FORKS = 40, CPU_BUDGET_MS = 5000, CPU_SETTLE_MS = 30 };

static const struct bench_work saved_work = {"{\"profile\":\"data\"}",
                                             "{\"code\":\"1+1\",\"durable\":true}"};

/* The answer comes when the cell, its checkpoint and its save are done: what a cell costs whose
 * caller thinks for longer than all of that takes. */
static int cpu_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    (void)index;
    if (bench_pause(CPU_SETTLE_MS, e) < 0)
        return -1;
    double before = bench_cpu_of(b->warm.pid);
    if (bench_line_exec(b, subject, BENCH_N_KINDS, CPU_CELLS, e) < 0 ||
        bench_pause(CPU_SETTLE_MS, e) < 0) /* whoever saved ends after that */
        return -1;
    bench_add(b, BENCH_THINK_CPU, (bench_cpu_of(b->warm.pid) - before) / CPU_CELLS);
    return bench_forks(b, BENCH_THINK_CPU_FORK, CPU_FORKS, e);
}

static int cpu_measure(struct bench *b, struct err *e)
{
    struct bench_line *line = mem_alloc(sizeof(*line));
    struct bench_ballast ballast = {0};
    line->http.fd = -1;
    int status = bench_line_open(line, &b->warm.over_tcp, &saved_work, e);
    if (status == 0)
        status = bench_line_exec(b, line, BENCH_N_KINDS, CPU_CELLS, e); /* as many are kept */
    if (status == 0)
        status = bench_ballast_take(&ballast, 100 << 20, true, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){cpu_round, line, .least = 5, .budget_ms = CPU_BUDGET_MS}, e);
    bench_ballast_drop(&ballast);
    bench_line_close(line);
    free(line);
    return status;
}

int bench_run_think(struct bench *b, struct err *e)
{
    struct live *l = live_new();
    int status = live_prepare(b, l, e);
    if (status == 0)
        status = live_open(b, l, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){think_round, l, .least = 8, .budget_ms = THINK_BUDGET_MS}, e);
    live_free(l);
    return status < 0 ? -1 : cpu_measure(b, e);
}
