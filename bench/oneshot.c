/* Code that runs once, with and without a state that comes and goes. cella-bench. */
#include "base/clock.h"
#include "bench/bench.h"
#include "wire/json.h"

enum { REFILL_MS = 60, RUNS_A_ROUND = 5, BUDGET_MS = 6000, STATE_MAX = 64 * 1024 };

struct oneshot {
    struct bench_http http;
    struct buf plain, with_state; /* the two requests */
};

/* What cannot be compressed, so that a state of 1 KB is 1 KB on the wire. */
#define MAKE_STATE "import os\nn = 1\ns = os.urandom(1000)\n"

static const char pickle_alone[] =
    "import json, time\n"
    "import cloudpickle, lz4.frame\n" MAKE_STATE "state = {'n': n, 's': s}\n"
    "took = []\n"
    "for _ in range(1000):\n"
    "    began = time.perf_counter_ns()\n"
    "    packed = lz4.frame.compress(cloudpickle.dumps(state))\n"
    "    state = cloudpickle.loads(lz4.frame.decompress(packed))\n"
    "    took.append(time.perf_counter_ns() - began)\n"
    "print(json.dumps({'ns': took}), flush=True)\n";

static void write_run(const struct bench_http *h, struct buf *out, const char *code,
                      const char *state, bool captures)
{
    _buf_ struct buf body = BUF_INIT(2 * STATE_MAX);
    struct json_out json = JSON_OUT(&body);
    json_put_object(&json);
    json_put_member_str(&json, "code", code);
    json_put_member_str(&json, "profile", "data");
    if (state != NULL)
        json_put_member_str(&json, "state", state);
    if (captures)
        json_put_member_bool(&json, "capture_state", true);
    json_put_object_end(&json);
    bench_http_write(h, out, "POST", "/v1/exec", buf_str(&body));
}

static int refuse(const struct bench_reply *reply, struct err *e)
{
    return err_set(e, ERR_INTERNAL, "running code once: the daemon answered %d: %.300s",
                   reply->status, reply->body);
}

/* BENCH_N_KINDS: only to warm up. The pool has time to be full again afterwards. */
static int run_once(struct bench *b, struct bench_http *h, const struct buf *request,
                    enum bench_id id, struct err *e)
{
    struct bench_reply reply;
    uint64_t began_ns = clock_mono_ns();
    if (bench_http_ask(h, request, &reply, e) < 0)
        return -1;
    bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    if (reply.status != 200 || strstr(reply.body, "\"stdout\":\"2\\n\"") == NULL)
        return refuse(&reply, e);
    return bench_pause(REFILL_MS, e);
}

/* The state that a run leaves, in the form that the next one takes. */
static int make_state(struct bench_http *h, char ret_state[STATE_MAX], struct err *e)
{
    _buf_ struct buf request = BUF_INIT(4 * STATE_MAX);
    struct bench_reply reply;
    write_run(h, &request, MAKE_STATE "print(1+1)", NULL, true);
    if (bench_http_ask(h, &request, &reply, e) < 0)
        return -1;
    _json_ json_t *answer = NULL;
    if (reply.status != 200 || json_read_object(reply.body, reply.body_len, &answer, e) < 0)
        return refuse(&reply, e);
    const char *state = json_string_value(json_object_get(answer, "state"));
    if (state == NULL || strlen(state) >= STATE_MAX)
        return refuse(&reply, e);
    snprintf(ret_state, STATE_MAX, "%s", state);
    return 0;
}

static int oneshot_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct oneshot *o = subject;
    double ns;
    for (unsigned i = 0; i < RUNS_A_ROUND; i++)
        if (run_once(b, &o->http, &o->plain, BENCH_ONESHOT_PLAIN, e) < 0 ||
            run_once(b, &o->http, &o->with_state, BENCH_ONESHOT_STATE, e) < 0)
            return -1;
    if (bench_python_cold(b, false, &ns, e) < 0)
        return -1;
    bench_add(b, BENCH_ONESHOT_PYTHON, ns);
    if (index == 0 && !b->is_quick && bench_need_ipython(b))
        return bench_ipython_fresh(b, BENCH_ONESHOT_IPYTHON, e);
    return 0;
}

static int oneshot_measure(struct bench *b, struct oneshot *o, struct err *e)
{
    _free_ char *state = mem_alloc(STATE_MAX);
    if (make_state(&o->http, state, e) < 0)
        return -1;
    write_run(&o->http, &o->plain, "print(1+1)", NULL, false);
    write_run(&o->http, &o->with_state, "n += 1\nprint(1+1)", state, true);
    for (unsigned i = 0; i < 3; i++)
        if (run_once(b, &o->http, &o->plain, BENCH_N_KINDS, e) < 0 ||
            run_once(b, &o->http, &o->with_state, BENCH_N_KINDS, e) < 0)
            return -1;
    struct bench_series series = {oneshot_round, o, .least = 5, .budget_ms = BUDGET_MS};
    if (bench_rounds(b, &series, e) < 0)
        return -1;
    return bench_python_times(b, pickle_alone, BENCH_ONESHOT_PICKLE, e);
}

int bench_run_oneshot(struct bench *b, struct err *e)
{
    _free_ struct oneshot *o = mem_alloc(sizeof(*o));
    o->http.fd = -1;
    o->plain = o->with_state = BUF_INIT(4 * STATE_MAX);
    int status = bench_need_warm(b, e);
    if (status == 0)
        status = bench_http_open(&o->http, &b->warm.over_tcp, e);
    if (status == 0)
        status = oneshot_measure(b, o, e);
    bench_http_close(&o->http);
    buf_free(&o->plain);
    buf_free(&o->with_state);
    return status;
}
