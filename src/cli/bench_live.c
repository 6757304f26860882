#include "base/clock.h"
#include "cli/bench.h"

/* A connection with a session of its own and the one request that is sent again and again. */
struct line {
    enum bench_id id;
    struct bench_http http;
    struct buf request;
    char session[UUID_SIZE];
};

static int line_open(struct line *l, enum bench_id id, const struct cli_endpoint *endpoint,
                     struct err *e)
{
    l->id = id;
    l->request = BUF_INIT(4 * KIB);
    if (bench_http_open(&l->http, endpoint, e) < 0)
        return -1;
    if (bench_session_create(&l->http, l->session, e) < 0)
        return -1;
    bench_write_exec(&l->http, &l->request, l->session);
    return 0;
}

static void line_close(struct line *l)
{
    struct err ignored;
    if (l->session[0] != '\0')
        bench_session_delete(&l->http, l->session, &ignored);
    bench_http_close(&l->http);
    buf_free(&l->request);
}

static int line_exec(struct line *l, double *ret_ns, struct err *e)
{
    struct bench_reply reply;
    uint64_t began_ns = clock_mono_ns();
    if (bench_http_ask(&l->http, &l->request, &reply, e) < 0)
        return -1;
    *ret_ns = (double)(clock_mono_ns() - began_ns);
    return bench_check_two(&reply, e);
}

static int line_exec_many(struct bench *b, struct line *l, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        double ns;
        if (line_exec(l, &ns, e) < 0)
            return -1;
        bench_add(b, l->id, ns);
    }
    return 0;
}

static int line_warm_up(struct line *l, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        double ignored_ns;
        if (line_exec(l, &ignored_ns, e) < 0)
            return -1;
    }
    return 0;
}

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
    struct line over_unix, over_tcp;
    struct bench_raw raw;
};

static int live_prepare(struct bench *b, struct live *l, enum bench_id over_unix,
                        enum bench_id over_tcp, struct err *e)
{
    l->over_unix.http.fd = l->over_tcp.http.fd = l->raw.sock = -1;
    if (bench_need_warm(b, e) < 0 ||
        line_open(&l->over_unix, over_unix, &b->warm.over_unix, e) < 0 ||
        line_open(&l->over_tcp, over_tcp, &b->warm.over_tcp, e) < 0 ||
        bench_raw_start(b, &l->raw, e) < 0)
        return -1;
    if (bench_need_ipython(b) && bench_ipython_exec(b, BENCH_N_KINDS, 20, 0, e) < 0)
        return -1;
    if (raw_exec_many(b, &l->raw, BENCH_N_KINDS, 200, e) < 0)
        return -1;
    return line_warm_up(&l->over_unix, 500, e) < 0 ? -1 : line_warm_up(&l->over_tcp, 500, e);
}

static void live_end(struct live *l)
{
    line_close(&l->over_unix);
    line_close(&l->over_tcp);
    bench_raw_stop(&l->raw);
    free(l);
}

static int live_round(struct bench *b, struct live *l, size_t n, struct err *e)
{
    if (line_exec_many(b, &l->over_tcp, n, e) < 0 || line_exec_many(b, &l->over_unix, n, e) < 0 ||
        raw_exec_many(b, &l->raw, BENCH_LIVE_RAW, n, e) < 0)
        return -1;
    if (bench_need_ipython(b) && bench_ipython_exec(b, BENCH_LIVE_IPYTHON, 20, 0, e) < 0)
        return -1;
    return bench_pause(0, e);
}

int bench_run_live(struct bench *b, struct err *e)
{
    struct live *l = mem_alloc(sizeof(*l));
    int status = live_prepare(b, l, BENCH_LIVE_UNIX, BENCH_LIVE_TCP, e);
    for (unsigned i = 0; status == 0 && i < 10; i++)
        status = live_round(b, l, b->is_quick ? 500 : 2000, e);
    live_end(l);
    return status;
}

/* --- with pauses ------------------------------------------------------------------------------ */

enum { THINKING_MS = 100 };

static int think_once(struct bench *b, struct line *l, struct err *e)
{
    return bench_pause(THINKING_MS, e) < 0 ? -1 : line_exec_many(b, l, 1, e);
}

/* The session that was used last is not the next, so each has thought for as long as its peers. */
static int think_round(struct bench *b, struct live *l, struct err *e)
{
    if (think_once(b, &l->over_tcp, e) < 0 || think_once(b, &l->over_unix, e) < 0)
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
    int status = live_prepare(b, l, BENCH_THINK_UNIX, BENCH_THINK_TCP, e);
    for (unsigned i = 0; status == 0 && i < (b->is_quick ? 8 : 50); i++)
        status = think_round(b, l, e);
    live_end(l);
    return status;
}
