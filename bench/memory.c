/* Memory and wake-ups of an idle daemon and of idle sessions. cella-bench reads /proc; beside an
 * IPython kernel. */
#include "bench/bench.h"

/* --- an idle daemon --------------------------------------------------------------------------- */

enum {
    SETTLE_MS = 600,
    START_MS = 8000, /* in its first seconds a daemon looks for what is out of date: that is work */
    WATCHED_MS = 1000,
};

static int idle_memory(struct bench *b, struct err *e)
{
    struct bench_usage daemon, program, others;
    if (bench_usage_of(b->warm.pid, BENCH_PART_DAEMON, &daemon, e) < 0 ||
        bench_usage_of(b->warm.pid, BENCH_PART_PROGRAM, &program, e) < 0 ||
        bench_usage_of(b->warm.pid, BENCH_PART_OTHERS, &others, e) < 0)
        return -1;
    bench_add(b, BENCH_IDLE_DAEMON_RSS, daemon.rss);
    bench_add(b, BENCH_IDLE_DAEMON_PSS, daemon.pss);
    bench_add(b, BENCH_IDLE_ALL_PSS, program.pss);
    bench_add(b, BENCH_IDLE_TEMPLATE, others.pss);
    bench_add(b, BENCH_IDLE_ALL_ANON, program.anon);
    bench_add(b, BENCH_IDLE_TEMPLATE_ANON, others.anon);
    return 0;
}

static int idle_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct bench_usage before, after;
    (void)subject, (void)index;
    if (idle_memory(b, e) < 0 || bench_usage_of(b->warm.pid, BENCH_PART_ALL, &before, e) < 0 ||
        bench_pause(WATCHED_MS, e) < 0 ||
        bench_usage_of(b->warm.pid, BENCH_PART_ALL, &after, e) < 0)
        return -1;
    bench_add(b, BENCH_IDLE_WAKEUPS, (after.switches - before.switches) * 1000 / WATCHED_MS);
    return 0;
}

int bench_run_idle(struct bench *b, struct err *e)
{
    if (bench_need_warm(b, e) < 0 || bench_pause(b->is_quick ? SETTLE_MS : START_MS, e) < 0)
        return -1;
    return bench_rounds(b, &(struct bench_series){idle_round, NULL, .least = 5, .budget_ms = 5000},
                        e);
}

/* --- idle sessions ---------------------------------------------------------------------------- */

enum { SESSIONS = 40, SESSIONS_QUICK = 25 };

struct footprint {
    double pss, available;
};

static int look(const struct bench *b, struct footprint *ret, struct err *e)
{
    struct bench_usage usage;
    if (bench_pause(SETTLE_MS, e) < 0)
        return -1;
    ret->available = bench_mem_available();
    if (bench_usage_of(b->warm.pid, BENCH_PART_ALL, &usage, e) < 0)
        return -1;
    ret->pss = usage.pss;
    return 0;
}

/* Each session has run a cell: what only exists is smaller than what was ever used. */
int bench_measure_sessions(struct bench *b, struct bench_http *h, size_t n, enum bench_id id,
                           enum bench_id with_kernel, struct err *e)
{
    char(*sessions)[UUID_SIZE] = mem_alloc(n * sizeof(*sessions));
    struct footprint before = {0}, after = {0};
    int status = look(b, &before, e);
    for (size_t i = 0; status == 0 && i < n; i++) {
        status = bench_session_create(h, sessions[i], e);
        if (status == 0)
            status = bench_session_exec(h, sessions[i], e);
    }
    if (status == 0)
        status = look(b, &after, e);
    double pss = after.pss - before.pss, all = before.available - after.available;
    if (status == 0 && pss > 0)
        bench_add(b, id, pss / (double)n);
    /* If it is less than nothing, or than that, others gave memory back meanwhile. */
    if (status == 0 && with_kernel != BENCH_N_KINDS && all >= pss)
        bench_add(b, with_kernel, all / (double)n);
    for (size_t i = 0; status == 0 && i < n; i++)
        status = bench_session_delete(h, sessions[i], e);
    free(sessions);
    return status;
}

static int measure_kernel(struct bench *b, const char *imports, enum bench_id id, struct err *e)
{
    pid_t kernel = 0;
    struct bench_usage usage;
    if (bench_ipython_import(b, imports, &kernel, e) < 0 ||
        bench_usage_of(kernel, BENCH_PART_ALL, &usage, e) < 0)
        return -1;
    bench_add(b, id, usage.pss);
    return 0;
}

static int memory_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    (void)index;
    return bench_measure_sessions(b, subject, b->is_quick ? SESSIONS_QUICK : SESSIONS,
                                  BENCH_MEMORY_PSS, BENCH_MEMORY_ALL, e);
}

int bench_run_memory(struct bench *b, struct err *e)
{
    _free_ struct bench_http *h = mem_alloc(sizeof(*h));
    h->fd = -1;
    int status = bench_need_warm(b, e);
    if (status == 0)
        status = bench_http_open(h, &b->warm.over_tcp, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){memory_round, h, .least = 3, .budget_ms = 9000}, e);
    bench_http_close(h);
    if (status == 0 && !bench_has(b, BENCH_MEMORY_ALL))
        bench_note(b, "memory with the kernel's share: others on this machine changed too much");
    if (status < 0 || !bench_need_ipython(b))
        return status;
    _free_ char *data = bench_data_imports();
    if (measure_kernel(b, "import pandas", BENCH_MEMORY_IPYTHON_PANDAS, e) < 0)
        return -1;
    return measure_kernel(b, data, BENCH_MEMORY_IPYTHON_DATA, e);
}
