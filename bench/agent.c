/* A mixed agent: it thinks, runs a cell of a data analysis, looks at the result; once it makes a
 * mistake and once it undoes. The same script for Cella and for its peers. cella-bench. */
#include "base/clock.h"
#include "bench/bench.h"

enum { AGENT_BUDGET_MS = 8000, AGENT_QUICK_THINK_MS = 10 };

struct agent {
    struct bench_http http;
    char session[UUID_SIZE]; /* "": none yet */
    json_t *script;          /* bench/agent_cells.json */
};

static int agent_check(const struct bench_reply *reply, const json_t *cell, struct err *e)
{
    const char *expect = json_string_value(json_object_get(cell, "expect"));
    if (reply->status == 200 && expect != NULL && strstr(reply->body, expect) != NULL)
        return 0;
    return err_set(e, ERR_INTERNAL, "a cell of the mixed agent: the daemon answered %d: %.300s",
                   reply->status, reply->body);
}

/* Where Cella undoes, its peers run the code that puts right what they still can. */
static void agent_write(const struct bench_http *h, struct buf *out, const char *session,
                        const json_t *cell)
{
    _buf_ struct buf body = BUF_INIT(64 * KIB);
    struct json_out json = JSON_OUT(&body);
    bool is_undo = json_is_true(json_object_get(cell, "undo"));
    char path[128];
    json_put_object(&json);
    if (!is_undo) {
        json_put_member_str(&json, "code", json_string_value(json_object_get(cell, "code")));
        json_put_member_str(&json, "images", "inline"); /* as its peers answer */
    }
    json_put_object_end(&json);
    snprintf(path, sizeof(path), "/v1/sessions/%s/%s", session, is_undo ? "undo" : "exec");
    bench_http_write(h, out, "POST", path, buf_str(&body));
}

/* Thinks. What will be undone goes back to the checkpoint before it, so that has to be there: on a
 * machine with other work it may take longer than the thinking. */
static int agent_think(struct agent *a, size_t next, struct err *e)
{
    uint64_t think_ms = (uint64_t)json_integer_value(json_object_get(a->script, "think_ms"));
    const json_t *cells = json_object_get(a->script, "cells");
    bool is_undone = json_is_true(json_object_get(json_array_get(cells, next + 1), "undo"));
    long long ignored;
    if (bench_pause(think_ms, e) < 0)
        return -1;
    return is_undone ? bench_session_settle(&a->http, a->session, &ignored, e) : 0;
}

/* BENCH_N_KINDS: only to warm up. */
static int agent_cells(struct bench *b, struct agent *a, enum bench_id cell, enum bench_id all,
                       struct err *e)
{
    _buf_ struct buf request = BUF_INIT(128 * KIB);
    const json_t *cells = json_object_get(a->script, "cells");
    double sum_ns = 0;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        struct bench_reply reply;
        agent_write(&a->http, &request, a->session, json_array_get(cells, i));
        if (agent_think(a, i, e) < 0)
            return -1;
        uint64_t began_ns = clock_mono_ns();
        if (bench_http_ask(&a->http, &request, &reply, e) < 0)
            return -1;
        double ns = (double)(clock_mono_ns() - began_ns);
        bench_add(b, cell, ns);
        sum_ns += ns;
        if (agent_check(&reply, json_array_get(cells, i), e) < 0)
            return -1;
    }
    bench_add(b, all, sum_ns);
    return 0;
}

/* A peer from elsewhere that fails is one that is not measured. */
static void agent_posit(struct bench *b, const json_t *script, enum bench_id cell,
                        enum bench_id all)
{
    struct err e;
    if (!bench_need_posit(b))
        return;
    if (cell == BENCH_N_KINDS && bench_posit_import(b, &e) < 0)
        bench_posit_give_up(b, &e);
    else if (bench_peer_agent(b, &b->posit, script, cell, all, &e) < 0)
        bench_posit_give_up(b, &e);
}

static int agent_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct agent *a = subject;
    (void)index;
    if (agent_cells(b, a, BENCH_AGENT_CELL, BENCH_AGENT_ALL, e) < 0)
        return -1;
    if (bench_need_ipython(b) &&
        bench_peer_agent(b, &b->ipython, a->script, BENCH_AGENT_CELL_IPYTHON,
                         BENCH_AGENT_ALL_IPYTHON, e) < 0)
        return -1;
    agent_posit(b, a->script, BENCH_AGENT_CELL_POSIT, BENCH_AGENT_ALL_POSIT);
    return 0;
}

/* What only the first script of a process pays for (imports, fonts, caches) is counted for none. */
static int agent_warm_up(struct bench *b, struct agent *a, struct err *e)
{
    _free_ char *imports = bench_data_imports();
    pid_t ignored;
    if (bench_session_create(&a->http, a->session, e) < 0 ||
        agent_cells(b, a, BENCH_N_KINDS, BENCH_N_KINDS, e) < 0)
        return -1;
    if (bench_need_ipython(b) &&
        (bench_ipython_import(b, imports, &ignored, e) < 0 ||
         bench_peer_agent(b, &b->ipython, a->script, BENCH_N_KINDS, BENCH_N_KINDS, e) < 0))
        return -1;
    agent_posit(b, a->script, BENCH_N_KINDS, BENCH_N_KINDS);
    return 0;
}

static void agent_free(struct agent *a)
{
    struct err ignored;
    if (a->session[0] != '\0')
        bench_session_delete(&a->http, a->session, &ignored);
    bench_http_close(&a->http);
    json_decref(a->script);
    free(a);
}

int bench_run_agent(struct bench *b, struct err *e)
{
    struct agent *a = mem_alloc(sizeof(*a));
    struct bench_series series = {agent_round, a, .least = b->is_quick ? 2 : 3,
                                  .budget_ms = AGENT_BUDGET_MS};
    a->http.fd = -1;
    int status = bench_need_warm(b, e);
    if (status == 0)
        status = bench_http_open(&a->http, &b->warm.over_tcp, e);
    if (status == 0)
        status = bench_agent_script(&a->script, e);
    if (status == 0 && b->is_quick)
        json_object_set_new(a->script, "think_ms", json_integer(AGENT_QUICK_THINK_MS));
    if (status == 0)
        status = agent_warm_up(b, a, e);
    if (status == 0)
        status = bench_rounds(b, &series, e);
    agent_free(a);
    return status;
}
