/* A connection and a session of its own: cells and new sessions, timed one by one. cella-bench. */
#include "base/clock.h"
#include "bench/bench.h"

int bench_line_open(struct bench_line *l, const struct cli_endpoint *endpoint,
                    const struct bench_work *work, struct err *e)
{
    l->request = BUF_INIT(4 * KIB);
    if (bench_http_open(&l->http, endpoint, e) < 0)
        return -1;
    l->http.work = work;
    if (bench_session_create(&l->http, l->session, e) < 0)
        return -1;
    bench_write_exec(&l->http, &l->request, l->session);
    return 0;
}

void bench_line_close(struct bench_line *l)
{
    struct err ignored;
    if (l->session[0] != '\0')
        bench_session_delete(&l->http, l->session, &ignored);
    bench_http_close(&l->http);
    buf_free(&l->request);
}

static int exec_once(struct bench_line *l, double *ret_ns, struct err *e)
{
    struct bench_reply reply;
    uint64_t began_ns = clock_mono_ns();
    if (bench_http_ask(&l->http, &l->request, &reply, e) < 0)
        return -1;
    *ret_ns = (double)(clock_mono_ns() - began_ns);
    return bench_check_two(&reply, e);
}

int bench_line_exec(struct bench *b, struct bench_line *l, enum bench_id id, size_t n,
                    struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        double ns;
        if (exec_once(l, &ns, e) < 0)
            return -1;
        bench_add(b, id, ns);
    }
    return 0;
}

int bench_spawn_once(struct bench *b, struct bench_http *h, enum bench_id id, uint64_t refill_ms,
                     struct err *e)
{
    char session[UUID_SIZE];
    uint64_t began_ns = clock_mono_ns();
    if (bench_session_create(h, session, e) < 0 || bench_session_exec(h, session, e) < 0)
        return -1;
    bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    return bench_session_delete(h, session, e) < 0 ? -1 : bench_pause(refill_ms, e);
}
