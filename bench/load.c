/* Many clients at once, each with its session, or with a new one for every cell. cella-bench; one
 * epoll loop. */
#include "base/clock.h"
#include "bench/bench.h"

#include <errno.h>
#include <sys/epoll.h>

enum {
    CONNECTIONS_MAX = 16,
    WINDOW_MS = 400,
    WINDOW_QUICK_MS = 150,
    STALL_MS = 60000,
    BUDGET_MS = 3500,
    REFERENCES = 50, /* forks or echoes beside each window */
    BALLAST_BYTES = 100 << 20
};

enum step { STEP_CREATE, STEP_EXEC, STEP_DELETE };

/* One client: it asks, waits for the answer, asks the next thing. */
struct client {
    struct bench_http http;
    struct buf request;
    enum step step;
    char session[UUID_SIZE];
};

struct load {
    struct client clients[CONNECTIONS_MAX];
    size_t n;
    bool is_churn; /* a new session for every cell; else each client keeps its own */
    int epoll_fd;
    size_t n_done; /* cells, or whole rounds of churn */
    struct bench_ballast ballast;
    struct bench_echo echo;
};

static int client_ask(struct client *c, enum step step, struct err *e)
{
    c->step = step;
    if (step == STEP_CREATE)
        bench_write_create(&c->http, &c->request);
    else if (step == STEP_EXEC)
        bench_write_exec(&c->http, &c->request, c->session);
    else
        bench_write_delete(&c->http, &c->request, c->session);
    return bench_http_send(&c->http, &c->request, e);
}

/* Checks the answer and asks what follows it. */
static int client_advance(struct load *l, struct client *c, const struct bench_reply *reply,
                          struct err *e)
{
    switch (c->step) {
    case STEP_CREATE:
        if (bench_read_created(reply, c->session, e) < 0)
            return -1;
        return client_ask(c, STEP_EXEC, e);
    case STEP_EXEC:
        if (bench_check_two(reply, e) < 0)
            return -1;
        if (l->is_churn)
            return client_ask(c, STEP_DELETE, e);
        l->n_done++;
        return bench_http_send(&c->http, &c->request, e); /* the same again */
    case STEP_DELETE:
        if (bench_check_ok(reply, e) < 0)
            return -1;
        c->session[0] = '\0';
        l->n_done++;
        return client_ask(c, STEP_CREATE, e);
    }
    return 0;
}

static int client_serve(struct load *l, struct client *c, struct err *e)
{
    struct bench_reply reply;
    int is_whole = bench_http_read(&c->http, &reply, e);
    return is_whole > 0 ? client_advance(l, c, &reply, e) : is_whole;
}

static int client_open(struct load *l, struct client *c, const struct cli_endpoint *endpoint,
                       struct err *e)
{
    c->request = BUF_INIT(4 * KIB);
    if (bench_http_open(&c->http, endpoint, e) < 0)
        return -1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, c->http.fd, &event) < 0)
        return err_errno(e, ERR_INTERNAL, errno, "epoll_ctl");
    return client_ask(c, STEP_CREATE, e);
}

/* Ends the session after the answer that is still on its way. */
static void client_close(struct client *c)
{
    struct err ignored;
    struct bench_reply reply;
    int is_whole = c->http.fd >= 0 ? 0 : -1;
    while (is_whole == 0)
        is_whole = bench_http_read(&c->http, &reply, &ignored);
    if (is_whole > 0 && c->step == STEP_CREATE)
        bench_read_created(&reply, c->session, &ignored);
    if (is_whole > 0 && c->step != STEP_DELETE && c->session[0] != '\0')
        bench_session_delete(&c->http, c->session, &ignored);
    bench_http_close(&c->http);
    buf_free(&c->request);
}

static int run_until(struct load *l, uint64_t end_ns, struct err *e)
{
    while (clock_mono_ns() < end_ns) {
        struct epoll_event events[CONNECTIONS_MAX];
        int n = epoll_wait(l->epoll_fd, events, CONNECTIONS_MAX, STALL_MS);
        if (n < 0)
            return err_errno(e, ERR_INTERNAL, errno, "epoll_wait");
        if (n == 0)
            return err_set(e, ERR_TIMEOUT, "no answer within %d s", STALL_MS / 1000);
        for (int i = 0; i < n; i++)
            if (client_serve(l, events[i].data.ptr, e) < 0)
                return -1;
    }
    return 0;
}

/* One sample; BENCH_N_KINDS: only to warm up. */
static int load_window(struct bench *b, struct load *l, enum bench_id id, struct err *e)
{
    size_t before = l->n_done;
    uint64_t began_ns = clock_mono_ns();
    uint64_t window_ms = b->is_quick ? WINDOW_QUICK_MS : WINDOW_MS;
    if (run_until(l, began_ns + window_ms * UINT64_C(1000000), e) < 0)
        return -1;
    double seconds = (double)(clock_mono_ns() - began_ns) / 1e9;
    bench_add(b, id, (double)(l->n_done - before) / seconds);
    return bench_pause(20, e); /* what was asked last is answered */
}

static int load_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    struct load *l = subject;
    (void)index;
    if (load_window(b, l, l->is_churn ? BENCH_CHURN : BENCH_LOAD, e) < 0)
        return -1;
    if (l->is_churn)
        return bench_forks(b, BENCH_CHURN_FORK, REFERENCES, e);
    return bench_echo_exec(b, &l->echo, BENCH_LOAD_ECHO, 20 * REFERENCES, e);
}

static int load_measure(struct bench *b, struct load *l, size_t n_clients, struct err *e)
{
    if (l->is_churn && bench_ballast_take(&l->ballast, BALLAST_BYTES, true, e) < 0)
        return -1;
    if (!l->is_churn && bench_echo_start(&l->echo, e) < 0)
        return -1;
    for (; l->n < n_clients; l->n++) {
        l->clients[l->n].http.fd = -1;
        if (client_open(l, &l->clients[l->n], &b->warm.over_tcp, e) < 0)
            return -1;
    }
    if (load_window(b, l, BENCH_N_KINDS, e) < 0)
        return -1;
    struct bench_series series = {load_round, l, .least = 6, .budget_ms = BUDGET_MS};
    return bench_rounds(b, &series, e);
}

static int run(struct bench *b, bool is_churn, size_t n_clients, struct err *e)
{
    if (bench_need_warm(b, e) < 0)
        return -1;
    _free_ struct load *l = mem_alloc(sizeof(*l));
    _fd_ int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->is_churn = is_churn;
    l->epoll_fd = epoll_fd;
    l->echo.sock = -1;
    int status = load_measure(b, l, n_clients, e);
    for (size_t i = 0; i < l->n; i++)
        client_close(&l->clients[i]);
    bench_echo_stop(&l->echo);
    bench_ballast_drop(&l->ballast);
    return status < 0 ? -1 : bench_pause(b->is_quick ? 0 : 500, e); /* others begin at rest */
}

int bench_run_churn(struct bench *b, struct err *e)
{
    return run(b, true, 4, e);
}

int bench_run_load(struct bench *b, struct err *e)
{
    return run(b, false, 16, e);
}
