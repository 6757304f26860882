/* A server with a few operations of its own in one thread, clients in the other. */
#pragma once

#include "serve/server.h"
#include "unit.h"
#include "wire/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

static atomic_int begun_calls; /* of /v1/later */
static atomic_int gone_calls;  /* whose operation heard that the client went */
static atomic_int answered_calls;
static atomic_int ended_streams;
static atomic_bool is_released; /* those that are held may answer */

/* ---- operations ------------------------------------------------------------------------------ */

static void reply_text(struct call *call, const char *text)
{
    _buf_ struct buf json = BUF_INIT(64 * MIB);
    struct json_out o = JSON_OUT(&json);
    json_put_object(&o);
    json_put_member_str(&o, "text", text);
    json_put_object_end(&o);
    call->sink->reply(call, 200, &json);
}

static void run_health(struct call *call)
{
    reply_text(call, "ok");
}

static void run_echo(struct call *call)
{
    _buf_ struct buf json = BUF_INIT(64 * MIB);
    struct json_out o = JSON_OUT(&json);
    json_put_value(&o, call->args);
    call->sink->reply(call, 200, &json);
}

static void run_failing(struct call *call)
{
    struct err e;
    err_set(&e, ERR_GONE, "it went");
    err_advise(&e, "Let it go.");
    (call->sink->fail)(call, &e); /* cmocka has a macro of that name */
}

struct later {
    struct loop_timer *timer;
    struct call *call;
    bool is_held;
};

static void later_due(void *context)
{
    struct later *later = context;
    if (later->is_held && later->call != NULL && !is_released) {
        loop_timer_set(later->timer, 5);
        return;
    }
    loop_timer_close(later->timer, free);
    if (later->call == NULL)
        return;
    reply_text(later->call, call_text(later->call, "name", "?"));
    answered_calls++;
}

static void later_gone(struct call *call)
{
    ((struct later *)call->op_state)->call = NULL;
    gone_calls++;
}

static uv_loop_t loop;

static void run_later(struct call *call)
{
    struct later *later = mem_alloc(sizeof(*later));
    later->call = call;
    later->is_held = call_bool(call, "held", false);
    later->timer = loop_timer_new(&loop, later_due, later);
    loop_timer_set(later->timer, (uint64_t)call_int(call, "ms", 20));
    call->op_state = later;
    if (!call_bool(call, "deaf", false))
        call->on_gone = later_gone;
    begun_calls++;
}

static void run_big(struct call *call)
{
    size_t size = (size_t)call_int(call, "size", 0);
    _free_ char *text = mem_alloc(size + 1);
    memset(text, 'x', size);
    reply_text(call, text);
}

/* Sends `count` events of 1 KiB and says how many were dropped. */
static void run_stream(struct call *call)
{
    char event[KIB + 3] = "\"";
    memset(event + 1, 'e', KIB);
    event[KIB + 1] = '"';
    int64_t dropped = 0;
    for (int64_t i = 0; i < call_int(call, "count", 0); i++)
        dropped += !call->sink->event(call, "output", event, KIB + 2);
    _buf_ struct buf json = BUF_INIT(KIB);
    buf_printf(&json, "{\"dropped\":%lld}", (long long)dropped);
    call->sink->reply(call, 200, &json);
    ended_streams++;
}

#define OP(id, verb, place, bits, ...)                                                             \
    static const struct op_param id##_params[] = {__VA_ARGS__{0}};                                 \
    static const struct op id = {.name = #id,                                                      \
                                 .method = verb,                                                   \
                                 .path = place,                                                    \
                                 .flags = bits,                                                    \
                                 .params = id##_params,                                            \
                                 .run = run_##id};
#define INT_IN(where, id) {.name = id, .type = OP_INT, .place = where, .max = 100000000},
#define TEXT_IN(where, id) {.name = id, .type = OP_TEXT, .place = where, .max = 20000000},
#define BOOL_IN(where, id) {.name = id, .type = OP_BOOL, .place = where},

OP(health, "GET", "/health", OP_READ_ONLY | OP_PUBLIC)
OP(echo, "POST", "/v1/echo/{id}", OP_MUTATING,
   TEXT_IN(OP_IN_PATH, "id") TEXT_IN(OP_IN_BODY, "text") INT_IN(OP_IN_QUERY, "n")
       BOOL_IN(OP_IN_QUERY, "b"))
OP(failing, "POST", "/v1/fail", OP_MUTATING | OP_STREAMS)
OP(later, "POST", "/v1/later", OP_MUTATING | OP_STREAMS,
   INT_IN(OP_IN_BODY, "ms") TEXT_IN(OP_IN_BODY, "name") BOOL_IN(OP_IN_BODY, "deaf")
       BOOL_IN(OP_IN_BODY, "held"))
OP(big, "GET", "/v1/big", OP_READ_ONLY, INT_IN(OP_IN_QUERY, "size"))
OP(stream, "POST", "/v1/stream", OP_MUTATING | OP_STREAMS, INT_IN(OP_IN_BODY, "count"))

static const struct op *const ops[] = {&health, &echo, &failing, &later, &big, &stream, NULL};

/* ---- the server ------------------------------------------------------------------------------ */

#define KEY "0123456789abcdef0123456789abcdef"

enum { GRACE_MS = 2000 }; /* for calls that are open when the server stops */

static struct server *server;
static struct sockaddr_in tcp_address;
static struct sockaddr_un unix_address;
static socklen_t unix_len;
static uv_async_t stop_request;
static pthread_t thread;

static void on_stopped(void *context)
{
    (void)context;
    uv_close((uv_handle_t *)&stop_request, NULL);
}

static void on_stop_request(uv_async_t *handle)
{
    (void)handle;
    server_stop(server, GRACE_MS, on_stopped, NULL);
}

static void *serve(void *context)
{
    (void)context;
    uv_run(&loop, UV_RUN_DEFAULT);
    return NULL;
}

static void listen_on(int domain, struct sockaddr *address, socklen_t *len)
{
    struct err e;
    int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, address, *len), 0);
    *len = domain == AF_INET ? sizeof(tcp_address) : sizeof(unix_address);
    assert_int_equal(getsockname(fd, address, len), 0);
    assert_int_equal(server_listen(server, fd, &e), 0);
}

static void start_with(struct server_config config)
{
    uv_loop_init(&loop);
    begun_calls = gone_calls = ended_streams = 0;
    is_released = false;
    config.loop = &loop;
    config.ops = ops;
    config.key = KEY;
    config.owner = getuid();
    server = server_new(&config);
    tcp_address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t tcp_len = sizeof(tcp_address);
    listen_on(AF_INET, (struct sockaddr *)&tcp_address, &tcp_len);
    /* An abstract name, chosen by the kernel. */
    unix_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    unix_len = sizeof(sa_family_t);
    listen_on(AF_UNIX, (struct sockaddr *)&unix_address, &unix_len);
    uv_async_init(&loop, &stop_request, on_stop_request);
    pthread_create(&thread, NULL, serve, NULL);
}

static int start(void **state)
{
    (void)state;
    struct server_config config = SERVER_CONFIG_DEFAULT;
    config.max_connections = 20;
    start_with(config);
    return 0;
}

/* For tests of these times: a client that has to wait for its core would miss them. */
static int start_impatient(void **state)
{
    (void)state;
    struct server_config config = SERVER_CONFIG_DEFAULT;
    config.head_ms = config.body_ms = config.linger_ms = 300;
    config.write_ms = 500;
    config.idle_ms = 1000;
    start_with(config);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    uv_async_send(&stop_request);
    pthread_join(thread, NULL);
    server_free(server);
    return uv_loop_close(&loop);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void await(const atomic_int *count, int expected)
{
    for (int waited_ms = 0; waited_ms < PATIENCE_MS && *count < expected; waited_ms += 10)
        poll(NULL, 0, 10);
    assert_int_equal(*count, expected);
}

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&tcp_address, sizeof(tcp_address)), 0);
    struct timeval limit = {.tv_sec = PATIENCE_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    return fd;
}

static int dial_unix(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&unix_address, unix_len), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* All until the server closes. The result stays valid until the next call. */
static const char *hear_all(int fd)
{
    static struct buf heard = {.max = 64 * MIB};
    buf_clear(&heard);
    char bytes[65536];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        buf_append(&heard, bytes, (size_t)n);
    close(fd);
    return buf_str(&heard);
}

/* One answer with Content-Length or in chunks. */
static const char *hear(int fd)
{
    static char heard[65536];
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(fd, heard + len, sizeof(heard) - 1 - len, 0);
        assert_true(n > 0);
        heard[len += (size_t)n] = '\0';
        const char *body = strstr(heard, "\r\n\r\n");
        const char *length = strcasestr(heard, "Content-Length: ");
        if (body != NULL && length != NULL && strtoul(length + 16, NULL, 10) <= strlen(body + 4))
            return heard;
        if (body != NULL && length == NULL && strstr(body, "\r\n0\r\n\r\n") != NULL)
            return heard;
    }
}

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%.2000s\" does not hold \"%s\"", text, part);
}

#define AUTH "Host: localhost\r\nAuthorization: Bearer " KEY "\r\n"
#define POST(path, headers) "POST " path " HTTP/1.1\r\n" AUTH headers "\r\n"
#define LENGTH(n) "Content-Length: " #n "\r\n"
#define CLOSE "Connection: close\r\n"

static const char *ask(const char *text)
{
    int fd = dial();
    say(fd, text);
    return hear_all(fd);
}

static void assert_answer(const char *request, const char *status, const char *part)
{
    const char *answer = ask(request);
    assert_memory_equal(answer, "HTTP/1.1 ", 9);
    assert_memory_equal(answer + 9, status, 3);
    assert_holds(answer, part);
}
