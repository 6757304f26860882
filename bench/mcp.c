/* A tool that is called by a client of the Model Context Protocol: over HTTP, and over the standard
 * input of `cella mcp`; beside it posit-mcp-repl. cella-bench. */
#include "base/clock.h"
#include "bench/child.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

enum {
    MCP_POSIT_CALLS = 20,
    MCP_CALLS = 400,
    MCP_WARM_UPS = 100,
    MCP_BUDGET_MS = 4000,
    MCP_ANSWER_MS = 60 * 1000
};

#define MCP_MESSAGE                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"run\","        \
    "\"arguments\":{\"code\":\"1+1\",\"session\":\"bench-%u\"},\"_meta\":{"                        \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                  \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"

struct mcp_bench {
    struct bench_http http;
    struct buf request, line; /* the same message, as each transport wants it */
    int stdio;                /* of `cella mcp`; -1: it does not run */
    pid_t pid;
};

static int mcp_check(const char *answer, struct err *e)
{
    if (strstr(answer, "\"text\":\"2") != NULL)
        return 0;
    return err_set(e, ERR_INTERNAL, "the tool gave another answer: %.200s", answer);
}

static int mcp_http_once(struct mcp_bench *m, double *ret_ns, struct err *e)
{
    struct bench_reply reply;
    uint64_t began_ns = clock_mono_ns();
    if (bench_http_ask(&m->http, &m->request, &reply, e) < 0)
        return -1;
    *ret_ns = (double)(clock_mono_ns() - began_ns);
    return mcp_check(reply.body, e);
}

static int mcp_stdio_once(struct mcp_bench *m, double *ret_ns, struct err *e)
{
    char answer[16 * 1024];
    size_t len = 0;
    uint64_t began_ns = clock_mono_ns();
    if (send(m->stdio, m->line.data, m->line.len, MSG_NOSIGNAL) != (ssize_t)m->line.len)
        return err_set(e, ERR_UNAVAILABLE, "`cella mcp` takes no message");
    do {
        struct pollfd waiting = {.fd = m->stdio, .events = POLLIN};
        ssize_t n = poll(&waiting, 1, MCP_ANSWER_MS) == 1
                        ? recv(m->stdio, answer + len, sizeof(answer) - 1 - len, 0)
                        : -1;
        if (n <= 0)
            return err_set(e, ERR_UNAVAILABLE, "`cella mcp` gives no answer");
        len += (size_t)n;
    } while (answer[len - 1] != '\n' && len < sizeof(answer) - 1);
    *ret_ns = (double)(clock_mono_ns() - began_ns);
    answer[len] = '\0';
    return mcp_check(answer, e);
}

static int mcp_calls(struct bench *b, struct mcp_bench *m, enum bench_id http, enum bench_id stdio,
                     size_t n, struct err *e)
{
    double ns;
    for (size_t i = 0; i < n; i++) {
        if (mcp_http_once(m, &ns, e) < 0)
            return -1;
        bench_add(b, http, ns);
    }
    for (size_t i = 0; i < n; i++) {
        if (mcp_stdio_once(m, &ns, e) < 0)
            return -1;
        bench_add(b, stdio, ns);
    }
    return 0;
}

static void mcp_write(struct mcp_bench *m, const struct cli_endpoint *p, unsigned session)
{
    _buf_ struct buf message = BUF_INIT(4 * KIB);
    buf_printf(&message, MCP_MESSAGE, session);
    buf_clear(&m->line);
    buf_printf(&m->line, "%s\n", buf_str(&message));
    buf_clear(&m->request);
    buf_printf(&m->request,
               "POST /mcp HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: Bearer %s\r\n"
               "Content-Type: application/json\r\nAccept: application/json\r\n"
               "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: run\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               p->host, p->port, p->key, message.len, buf_str(&message));
}

static int mcp_start(struct bench *b, struct mcp_bench *m, struct err *e)
{
    int pair[2];
    const struct cli_endpoint *p = &b->warm.over_unix;
    if (bench_http_open(&m->http, &b->warm.over_tcp, e) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no socket");
    m->stdio = pair[0];
    _fd_ int theirs = pair[1];
    const char *argv[] = {b->program, "mcp", "--data", p->data_dir, NULL};
    struct bench_child child = {.argv = argv, .stdio = theirs, .third = -1};
    return bench_child_start(b, &child, &m->pid, e);
}

/* A session of its own for each round, as elsewhere. */
static int mcp_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct mcp_bench *m = subject;
    mcp_write(m, &b->warm.over_tcp, index);
    if (mcp_calls(b, m, BENCH_N_KINDS, BENCH_N_KINDS, MCP_WARM_UPS, e) < 0)
        return -1;
    return mcp_calls(b, m, BENCH_MCP_HTTP, BENCH_MCP_STDIO, MCP_CALLS, e);
}

/* Some hundred milliseconds each, so that a few are enough. One that fails is not measured. */
static void mcp_posit(struct bench *b)
{
    struct err e;
    if (bench_need_posit(b) && (bench_posit_call(b, BENCH_N_KINDS, 3, &e) < 0 ||
                                bench_posit_call(b, BENCH_MCP_POSIT, MCP_POSIT_CALLS, &e) < 0))
        bench_posit_give_up(b, &e);
}

int bench_run_mcp(struct bench *b, struct err *e)
{
    struct mcp_bench *m = mem_alloc(sizeof(*m));
    m->http.fd = m->stdio = -1;
    m->request = m->line = BUF_INIT(8 * KIB);
    int status = bench_need_warm(b, e);
    if (status == 0)
        status = mcp_start(b, m, e);
    if (status == 0)
        status = bench_rounds(
            b, &(struct bench_series){mcp_round, m, .least = 8, .budget_ms = MCP_BUDGET_MS}, e);
    if (status == 0)
        mcp_posit(b);
    bench_http_close(&m->http);
    cleanup_fd(&m->stdio); /* which ends it */
    if (m->pid > 0)
        bench_child_end(m->pid, 1000);
    buf_free(&m->request);
    buf_free(&m->line);
    free(m);
    return status;
}
