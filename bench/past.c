/* The time machine: what checkpoints cost, and how fast a session is back at one. cella-bench. */
#include "base/clock.h"
#include "bench/bench.h"
#include "wire/json.h"

enum {
    BRANCHES = 16,
    CODE_MAX = 4096,
    CELLS = 300, /* of a round */
    FORKS = 10,  /* after each of what has no peer, so that they meet the same disturbances */
};

#define LARGE_MEMORY 10e9 /* bytes that must be free before a gigabyte is copied */

static const struct bench_work off_work = {"{\"profile\":\"data\",\"checkpoints\":\"off\"}",
                                           "{\"code\":\"1+1\"}"};
static const struct bench_work large_work = {
    "{\"profile\":\"data\",\"limits\":{\"memory_mb\":6144,\"checkpoint_mb\":6144}}",
    "{\"code\":\"1+1\"}"};

/* A session with a connection of its own. */
struct past {
    struct bench_http http;
    char session[UUID_SIZE];
    long long checkpoint; /* that holds the last cell for which it settled */
};

static int refuse(const struct bench_reply *reply, const char *doing, struct err *e)
{
    return err_set(e, ERR_INTERNAL, "%s: the daemon answered %d: %.300s", doing, reply->status,
                   reply->body);
}

static int ask(struct past *p, const char *method, const char *what, const char *body,
               struct bench_reply *ret, struct err *e)
{
    char path[128];
    _buf_ struct buf request = BUF_INIT(4 * CODE_MAX);
    snprintf(path, sizeof(path), "/v1/sessions/%s/%s", p->session, what);
    bench_http_write(&p->http, &request, method, path, body);
    return bench_http_ask(&p->http, &request, ret, e);
}

/* `status` is what its answer shall have. */
static int run_code(struct past *p, const char *code, const char *status, struct err *e)
{
    _buf_ struct buf body = BUF_INIT(2 * CODE_MAX);
    struct bench_reply reply;
    struct json_out json = JSON_OUT(&body);
    json_put_object(&json);
    json_put_member_str(&json, "code", code);
    json_put_object_end(&json);
    if (ask(p, "POST", "exec", buf_str(&body), &reply, e) < 0)
        return -1;
    if (reply.status != 200 || strstr(reply.body, status) == NULL)
        return refuse(&reply, code, e);
    return 0;
}

/* Until the last cell is held by a checkpoint. */
static int settle(struct past *p, struct err *e)
{
    return bench_session_settle(&p->http, p->session, &p->checkpoint, e);
}

static int run_and_settle(struct past *p, const char *code, struct err *e)
{
    return run_code(p, code, "\"status\":\"ok\"", e) < 0 ? -1 : settle(p, e);
}

static int past_open(struct past *p, const struct cli_endpoint *endpoint,
                     const struct bench_work *work, struct err *e)
{
    if (bench_http_open(&p->http, endpoint, e) < 0)
        return -1;
    p->http.work = work;
    return bench_session_create(&p->http, p->session, e);
}

static void past_close(struct past *p)
{
    struct err ignored;
    if (p->session[0] != '\0')
        bench_session_delete(&p->http, p->session, &ignored);
    bench_http_close(&p->http);
    free(p);
}

static struct past *past_new(void)
{
    struct past *p = mem_alloc(sizeof(*p));
    p->http.fd = -1;
    return p;
}

/* --- what checkpoints cost -------------------------------------------------------------------- */

static int think(struct bench *b, struct bench_line *l, unsigned ms, enum bench_id id,
                 struct err *e)
{
    return bench_pause(ms, e) < 0 ? -1 : bench_line_exec(b, l, id, 1, e);
}

struct cells {
    struct bench_line off, on;
};

static int cells_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct cells *c = subject;
    (void)index;
    if (bench_line_exec(b, &c->off, BENCH_PAST_CELL_OFF, CELLS, e) < 0 ||
        bench_line_exec(b, &c->on, BENCH_PAST_CELL_AUTO, CELLS, e) < 0)
        return -1;
    for (unsigned i = 0; i < 2; i++)
        if (think(b, &c->off, 20, BENCH_PAST_CELL20_OFF, e) < 0 ||
            think(b, &c->on, 20, BENCH_PAST_CELL20_AUTO, e) < 0 ||
            think(b, &c->off, 100, BENCH_PAST_CELL100_OFF, e) < 0 ||
            think(b, &c->on, 100, BENCH_PAST_CELL100_AUTO, e) < 0)
            return -1;
    return 0;
}

static int measure_cells(struct bench *b, struct err *e)
{
    struct cells *c = mem_alloc(sizeof(*c));
    c->off.http.fd = c->on.http.fd = -1;
    int status = bench_line_open(&c->off, &b->warm.over_tcp, &off_work, e);
    if (status == 0)
        status = bench_line_open(&c->on, &b->warm.over_tcp, &bench_data_work, e);
    if (status == 0)
        status = bench_line_exec(b, &c->off, BENCH_N_KINDS, 200, e);
    if (status == 0)
        status = bench_line_exec(b, &c->on, BENCH_N_KINDS, 200, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){cells_round, c, .least = 8, .budget_ms = 5000}, e);
    bench_line_close(&c->off);
    bench_line_close(&c->on);
    free(c);
    return status;
}

/* --- undo ------------------------------------------------------------------------------------- */

static const struct subject {
    const char *make, *rewrite;
    enum bench_id undo, rewritten, pickle, fork;
    size_t ballast_bytes; /* what a process in C holds beside it: as much, in pages as large */
    bool is_in_huge_pages, is_large;
} subjects[] = {
    {"a = np.ones(131072)", "a += 1", BENCH_UNDO_1MB, BENCH_UNDO_1MB_REWRITTEN,
     BENCH_UNDO_1MB_PICKLE, BENCH_UNDO_1MB_FORK, 1 << 20, false, false},
    {"a = np.ones(13107200)", "a += 1", BENCH_UNDO_100MB, BENCH_UNDO_100MB_REWRITTEN,
     BENCH_UNDO_100MB_PICKLE, BENCH_UNDO_100MB_FORK, 100 << 20, true, false},
    {"a = [str(i) for i in range(10**6)]", "a = [s + '!' for s in a]", BENCH_UNDO_OBJECTS,
     BENCH_UNDO_OBJECTS_REWRITTEN, BENCH_UNDO_OBJECTS_PICKLE, BENCH_UNDO_OBJECTS_FORK, 64 << 20,
     false, false},
    {"a = np.ones(134217728)", "a += 1", BENCH_UNDO_1GB, BENCH_UNDO_1GB_REWRITTEN,
     BENCH_UNDO_1GB_PICKLE, BENCH_UNDO_1GB_FORK, 1 << 30, true, true},
};

/* From a state that has a checkpoint: another cell, and back. Ends with one that has one again. */
static int undo_once(struct bench *b, struct past *p, const char *code, enum bench_id id,
                     struct err *e)
{
    long long target = p->checkpoint;
    char body[64];
    struct bench_reply reply;
    if (run_and_settle(p, code, e) < 0)
        return -1;
    snprintf(body, sizeof(body), "{\"to\":%lld}", target);
    uint64_t began_ns = clock_mono_ns();
    if (ask(p, "POST", "undo", body, &reply, e) < 0)
        return -1;
    if (reply.status != 200)
        return refuse(&reply, "undo", e);
    if (run_code(p, "1+1", "\"text\":\"2\"", e) < 0)
        return -1;
    bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    return settle(p, e);
}

static int measure_pickle(struct bench *b, const struct subject *s, struct err *e)
{
    _buf_ struct buf program = BUF_INIT(2 * CODE_MAX);
    buf_printf(&program,
               "import json, time\n"
               "import numpy as np, cloudpickle, lz4.frame\n"
               "%s\n"
               "took = []\n"
               "for _ in range(%d):\n"
               "    began = time.perf_counter_ns()\n"
               "    packed = lz4.frame.compress(cloudpickle.dumps({'a': a}))\n"
               "    a = cloudpickle.loads(lz4.frame.decompress(packed))['a']\n"
               "    took.append(time.perf_counter_ns() - began)\n"
               "print(json.dumps({'ns': took}), flush=True)\n",
               s->make, s->ballast_bytes > 1 << 20 ? 1 : 3);
    return bench_python_times(b, buf_str(&program), s->pickle, e);
}

struct undo {
    struct past *past;
    const struct subject *subject;
};

static int undo_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    const struct undo *u = subject;
    const struct subject *s = u->subject;
    (void)index;
    if (undo_once(b, u->past, "b = 1", s->undo, e) < 0 || bench_forks(b, s->fork, FORKS, e) < 0 ||
        undo_once(b, u->past, s->rewrite, s->rewritten, e) < 0)
        return -1;
    return bench_forks(b, s->fork, FORKS, e);
}

static int measure_subject(struct bench *b, const struct subject *s, struct err *e)
{
    struct undo u = {.past = past_new(), .subject = s};
    struct bench_series series = {undo_round, &u, .least = s->is_large ? 4 : 6, .budget_ms = 2500};
    struct bench_ballast ballast = {0};
    int status = past_open(u.past, &b->warm.over_tcp, &large_work, e);
    if (status == 0)
        status = run_and_settle(u.past, s->make, e);
    if (status == 0)
        status = bench_ballast_take(&ballast, s->ballast_bytes, s->is_in_huge_pages, e);
    if (status == 0)
        status = bench_rounds(b, &series, e);
    bench_ballast_drop(&ballast);
    past_close(u.past);
    return status < 0 ? -1 : measure_pickle(b, s, e);
}

int bench_run_undo(struct bench *b, struct err *e)
{
    if (bench_need_warm(b, e) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
        const struct subject *s = &subjects[i];
        if (s->is_large && b->is_quick)
            continue;
        if (s->is_large && bench_mem_available() < LARGE_MEMORY) {
            bench_note(b, "undo with 1 GB: less than %.0f GB of memory are free",
                       LARGE_MEMORY / 1e9);
            continue;
        }
        if (measure_subject(b, s, e) < 0)
            return -1;
    }
    return 0;
}

/* --- crashes, branches, memory ---------------------------------------------------------------- */

static int crash_once(struct bench *b, struct past *p, struct err *e)
{
    uint64_t began_ns = clock_mono_ns();
    if (run_code(p, "import os; os.kill(os.getpid(), 11)", "\"status\":\"died\"", e) < 0 ||
        run_code(p, "1+1", "\"text\":\"2\"", e) < 0)
        return -1;
    bench_add(b, BENCH_CRASH, (double)(clock_mono_ns() - began_ns));
    return settle(p, e);
}

static void end_branches(struct past *p, char *sessions)
{
    static const char member[] = "\"session_id\":\"";
    struct err ignored;
    for (char *at = sessions; (at = strstr(at, member)) != NULL;) {
        char session[UUID_SIZE];
        at += sizeof(member) - 1;
        snprintf(session, sizeof(session), "%.36s", at);
        bench_session_delete(&p->http, session, &ignored);
    }
}

static int branch_once(struct bench *b, struct past *p, struct err *e)
{
    char body[64];
    struct bench_reply reply;
    snprintf(body, sizeof(body), "{\"count\":%d}", BRANCHES);
    uint64_t began_ns = clock_mono_ns();
    if (ask(p, "POST", "branch", body, &reply, e) < 0)
        return -1;
    bench_add(b, BENCH_CRASH_BRANCH, (double)(clock_mono_ns() - began_ns));
    if (reply.status < 200 || reply.status > 299)
        return refuse(&reply, "branch", e);
    _free_ char *sessions = mem_strdup(reply.body);
    end_branches(p, sessions);
    return bench_pause(200, e);
}

/* A session of its own, with the first checkpoint. */
static int memory_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct past *p = past_new();
    struct bench_reply reply;
    (void)subject, (void)index;
    int status = past_open(p, &b->warm.over_tcp, &large_work, e);
    if (status == 0)
        status = run_and_settle(p, "1+1", e);
    if (status == 0)
        status = ask(p, "GET", "checkpoints", NULL, &reply, e);
    if (status == 0 && bench_number_in(&reply, "\"memory_bytes\":") > 0)
        bench_add(b, BENCH_PAST_MEMORY, (double)bench_number_in(&reply, "\"memory_bytes\":"));
    past_close(p);
    return status;
}

static int crash_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    (void)index;
    if (crash_once(b, subject, e) < 0)
        return -1;
    return bench_forks(b, BENCH_CRASH_FORK, FORKS, e);
}

static int branch_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    (void)index;
    if (branch_once(b, subject, e) < 0)
        return -1;
    return bench_forks(b, BENCH_CRASH_BRANCH_FORK, 2 * FORKS, e);
}

static int measure_rest(struct bench *b, struct past *p, struct err *e)
{
    struct bench_ballast ballast = {0};
    int status = run_and_settle(p, "a = np.ones(13107200)", e);
    if (status == 0)
        status = bench_ballast_take(&ballast, 100 << 20, true, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){crash_round, p, .least = 6, .budget_ms = 1500}, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){branch_round, p, .least = 5, .budget_ms = 2500}, e);
    bench_ballast_drop(&ballast);
    if (status == 0 && !b->is_quick && bench_need_ipython(b))
        status = bench_ipython_fresh(b, BENCH_CRASH_IPYTHON, e);
    return status;
}

int bench_run_past(struct bench *b, struct err *e)
{
    struct bench_series memory = {memory_round, NULL, .least = 5, .budget_ms = 1000};
    if (bench_need_warm(b, e) < 0 || bench_rounds(b, &memory, e) < 0)
        return -1;
    return measure_cells(b, e);
}

int bench_run_crash(struct bench *b, struct err *e)
{
    if (bench_need_warm(b, e) < 0)
        return -1;
    struct past *p = past_new();
    int status = past_open(p, &b->warm.over_tcp, &large_work, e);
    if (status == 0)
        status = measure_rest(b, p, e);
    past_close(p);
    return status;
}
