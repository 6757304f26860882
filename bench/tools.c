/* Tools that the code of a cell calls: a built-in one, one of an upstream server of the Model
 * Context Protocol over stdio, beside the same server asked directly, and one that the caller of
 * the cell answers, which is this program, over one connection. Code itself takes the time of
 * each call. cella-bench. */
#include "base/clock.h"
#include "bench/child.h"
#include "jail/embedded.h"
#include "wire/json.h"

#include <sys/socket.h>

enum {
    TOOLS_CALLS = 100,
    TOOLS_WARM_UPS = 20,
    TOOLS_CELLS = 3,
    TOOLS_BUDGET_MS = 6000,
    TOOLS_ANSWER_MAX = 4096
};

#define TOOLS_CODE                                                                                 \
    "import time, json\\n"                                                                         \
    "def measure(n, name, args):\\n"                                                               \
    "    ns = []\\n"                                                                               \
    "    for _ in range(n):\\n"                                                                    \
    "        a = time.perf_counter_ns()\\n"                                                        \
    "        r = tool_call(name, args)\\n"                                                         \
    "        ns.append(time.perf_counter_ns() - a)\\n"                                             \
    "        assert '2' in str(r) and 'ERROR' not in str(r), r\\n"                                 \
    "    print(json.dumps({'ns': ns}))\\n"
#define TOOLS_ASK                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"same\","       \
    "\"arguments\":{}}}\n"

struct tools_bench {
    struct bench_http http;
    struct buf request;
    char path[64];
    int direct; /* the server, asked directly; -1: it does not run */
    pid_t pid;
};

static int tools_post(struct tools_bench *t, const char *path, const char *body,
                      struct bench_reply *ret, struct err *e)
{
    bench_http_write(&t->http, &t->request, "POST", path, body);
    if (bench_http_ask(&t->http, &t->request, ret, e) < 0)
        return -1;
    return ret->status < 300 ? 0
                             : err_set(e, ERR_INTERNAL, "the daemon refused: %.300s", ret->body);
}

/* The cell's caller: answers each call until there is an answer without any. */
static int tools_answer_calls(struct tools_bench *t, json_t **answer, struct err *e)
{
    struct bench_reply reply;
    const json_t *calls;
    while ((calls = json_object_get(*answer, "tool_calls")) != NULL) {
        char path[128], body[256];
        const json_t *id = json_object_get(json_array_get(calls, 0), "id");
        snprintf(path, sizeof(path), "%s/exec/%lld/tool_results", t->path,
                 (long long)json_integer_value(json_object_get(*answer, "number")));
        snprintf(body, sizeof(body), "{\"results\":[{\"id\":\"%.40s\",\"result\":2}]}",
                 json_string_value(id));
        json_decref(take_ptr(*answer));
        if (tools_post(t, path, body, &reply, e) < 0 ||
            json_read_object(reply.body, reply.body_len, answer, e) < 0)
            return -1;
    }
    return 0;
}

/* Runs a cell that prints {"ns": [...]}: each is a sample. */
static int tools_measure(struct bench *b, struct tools_bench *t, enum bench_id id, const char *call,
                         struct err *e)
{
    struct bench_reply reply;
    char path[96], body[1024];
    json_t *answer = NULL, *times = NULL;
    snprintf(path, sizeof(path), "%s/exec", t->path);
    snprintf(body, sizeof(body),
             "{\"tools\":[{\"name\":\"handed\",\"parameters\":{}}],\"code\":\"%s\"}", call);
    if (tools_post(t, path, body, &reply, e) < 0 ||
        json_read_object(reply.body, reply.body_len, &answer, e) < 0 ||
        tools_answer_calls(t, &answer, e) < 0)
        return -1;
    const char *text = json_string_value(json_object_get(answer, "stdout"));
    int r = text != NULL ? json_read_object(text, strlen(text), &times, e)
                         : err_set(e, ERR_INTERNAL, "the tools failed: %.300s", reply.body);
    const json_t *ns = json_object_get(times, "ns");
    for (size_t i = 0; i < json_array_size(ns); i++)
        bench_add(b, id, (double)json_integer_value(json_array_get(ns, i)));
    json_decref(times);
    json_decref(answer);
    return r;
}

/* ---- the server without us ------------------------------------------------------------------- */

static int tools_start_direct(struct bench *b, struct tools_bench *t, const char *source,
                              struct err *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(e, ERR_UNAVAILABLE, "no socket");
    t->direct = pair[0];
    _fd_ int theirs = pair[1];
    const char *argv[] = {"/usr/bin/python3", "-c", source, NULL};
    struct bench_child child = {.argv = argv, .stdio = theirs, .third = -1};
    return bench_child_start(b, &child, &t->pid, e);
}

static int tools_ask_direct(struct bench *b, struct tools_bench *t, enum bench_id id, size_t n,
                            struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        char answer[TOOLS_ANSWER_MAX];
        size_t len = 0;
        uint64_t began_ns = clock_mono_ns();
        if (send(t->direct, TOOLS_ASK, strlen(TOOLS_ASK), MSG_NOSIGNAL) < 0)
            return err_set(e, ERR_UNAVAILABLE, "the server takes no message");
        do {
            ssize_t got = recv(t->direct, answer + len, sizeof(answer) - 1 - len, 0);
            if (got <= 0)
                return err_set(e, ERR_UNAVAILABLE, "the server gives no answer");
            len += (size_t)got;
        } while (answer[len - 1] != '\n' && len < sizeof(answer) - 1);
        bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    }
    return 0;
}

/* ---- structured cells ------------------------------------------------------------------------ */

/* As its caller waits for it. The first one starts the interpreters that run the commands. */
static int tools_measure_parallel(struct bench *b, struct tools_bench *t, struct err *e)
{
    struct bench_reply reply;
    char path[96];
    static const char cell[] = "{\"structured\":true,\"code\":\"TOOL('wait')\\nTOOL('wait')\\n"
                               "TOOL('wait')\\nTOOL('wait')\"}";
    snprintf(path, sizeof(path), "%s/exec", t->path);
    for (size_t i = 0; i <= TOOLS_CELLS; i++) {
        uint64_t began_ns = clock_mono_ns();
        if (tools_post(t, path, cell, &reply, e) < 0)
            return -1;
        if (memmem(reply.body, reply.body_len, "parallel_read_only", 18) == NULL)
            return err_set(e, ERR_INTERNAL, "the calls were not planned: %.300s", reply.body);
        bench_add(b, i > 0 ? BENCH_TOOLS_PARALLEL : BENCH_N_KINDS,
                  (double)(clock_mono_ns() - began_ns));
    }
    return 0;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* A session of its own for each round, as elsewhere. */
static int tools_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct tools_bench *t = subject;
    struct bench_reply reply;
    char id[UUID_SIZE], call[128];
    (void)index;
    static const struct {
        enum bench_id id;
        const char *tool;
    } all[] = {{BENCH_TOOLS_BUILT_IN, "'calculate', {'expression': '1 + 1'}"},
               {BENCH_TOOLS_UPSTREAM, "'same', {}"},
               {BENCH_TOOLS_CALLER, "'handed', {}"}};
    if (tools_post(t, "/v1/sessions", "{\"profile\":\"min\",\"explore\":true}", &reply, e) < 0 ||
        bench_read_created(&reply, id, e) < 0)
        return -1;
    snprintf(t->path, sizeof(t->path), "/v1/sessions/%s", id);
    if (tools_measure(b, t, BENCH_N_KINDS, TOOLS_CODE "print('{}')", e) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        snprintf(call, sizeof(call), "measure(%d, %s)", TOOLS_WARM_UPS, all[i].tool);
        if (tools_measure(b, t, BENCH_N_KINDS, call, e) < 0)
            return -1;
        snprintf(call, sizeof(call), "measure(%d, %s)", TOOLS_CALLS, all[i].tool);
        if (tools_measure(b, t, all[i].id, call, e) < 0)
            return -1;
    }
    if (tools_ask_direct(b, t, BENCH_N_KINDS, TOOLS_WARM_UPS, e) < 0 ||
        tools_ask_direct(b, t, BENCH_TOOLS_DIRECT, TOOLS_CALLS, e) < 0 ||
        tools_measure_parallel(b, t, e) < 0)
        return -1;
    return bench_session_delete(&t->http, id, e);
}

/* The server is in the configuration as a program in one argument: on one line, as a text of Python
 * in a text of YAML. */
static void tools_configure(struct buf *out, const char *source)
{
    _buf_ struct buf program = BUF_INIT(32 * KIB);
    struct json_out inner = JSON_OUT(&program), json = JSON_OUT(out);
    buf_append_str(&program, "exec(");
    json_put_str(&inner, source);
    buf_append_str(&program, ")");
    buf_append_str(out, "toolbox:\n  tools:\n    - name: wait\n      read_only: true\n"
                        "      command: [/usr/bin/sleep, \"0.1\"]\n  servers:\n    - name: bench\n"
                        "      command: [/usr/bin/python3, -c, ");
    json_put_str(&json, buf_str(&program));
    buf_append_str(out, "]\n");
}

int bench_run_tools(struct bench *b, struct err *e)
{
    struct tools_bench *t = mem_alloc(sizeof(*t));
    _buf_ struct buf config = BUF_INIT(64 * KIB);
    const char *source = bench_embedded_file("peer_mcp");
    t->http.fd = t->direct = -1;
    t->request = BUF_INIT(16 * KIB);
    tools_configure(&config, source);
    int status = bench_need_tools(b, buf_str(&config), e);
    if (status == 0)
        status = bench_http_open(&t->http, &b->tools.over_tcp, e);
    if (status == 0)
        status = tools_start_direct(b, t, source, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){tools_round, t, .least = 8, .budget_ms = TOOLS_BUDGET_MS}, e);
    bench_http_close(&t->http);
    cleanup_fd(&t->direct); /* which ends it */
    if (t->pid > 0)
        bench_child_end(t->pid, 1000);
    buf_free(&t->request);
    free(t);
    return status;
}
