/* A server with a few operations of its own in one thread, clients in the other. */
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

static atomic_int gone_calls;

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
};

static void later_due(void *context)
{
    struct later *later = context;
    loop_timer_close(later->timer, free);
    if (later->call != NULL)
        reply_text(later->call, call_text(later->call, "name", "?"));
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
    later->timer = loop_timer_new(&loop, later_due, later);
    loop_timer_set(later->timer, (uint64_t)call_int(call, "ms", 20));
    call->op_state = later;
    if (!call_bool(call, "deaf", false))
        call->on_gone = later_gone;
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
   INT_IN(OP_IN_BODY, "ms") TEXT_IN(OP_IN_BODY, "name") BOOL_IN(OP_IN_BODY, "deaf"))
OP(big, "GET", "/v1/big", OP_READ_ONLY, INT_IN(OP_IN_QUERY, "size"))
OP(stream, "POST", "/v1/stream", OP_MUTATING | OP_STREAMS, INT_IN(OP_IN_BODY, "count"))

static const struct op *const ops[] = {&health, &echo, &failing, &later, &big, &stream, NULL};

/* ---- the server ------------------------------------------------------------------------------ */

#define KEY "0123456789abcdef0123456789abcdef"

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
    server_stop(server, 200, on_stopped, NULL);
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
    gone_calls = 0;
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
    config.head_ms = config.body_ms = config.linger_ms = 300;
    config.write_ms = 500;
    config.idle_ms = 1000;
    config.max_connections = 20;
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

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&tcp_address, sizeof(tcp_address)), 0);
    struct timeval limit = {.tv_sec = 10};
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

/* ---- tests ----------------------------------------------------------------------------------- */

static void merges_path_query_and_body(void **state)
{
    (void)state;
    assert_answer(POST("/v1/echo/a%20b?n=-7&b=true", LENGTH(12) CLOSE) "{\"text\":\"t\"}", "400",
                  "\\\"n\\\"");
    assert_answer(POST("/v1/echo/a%20b?n=7&b=true", LENGTH(12) CLOSE) "{\"text\":\"t\"}", "200",
                  "{\"text\":\"t\",\"id\":\"a b\",\"n\":7,\"b\":true}");
    assert_answer(POST("/v1/echo/x", CLOSE), "200", "{\"id\":\"x\"}");
    assert_answer(POST("/v1/echo/x?text=t", CLOSE), "400", "belongs in the body");
    assert_answer(POST("/v1/echo/x", LENGTH(10) CLOSE) "{\"id\":\"y\"}", "400",
                  "belongs in the path");
    assert_answer(POST("/v1/echo/x?m=1", CLOSE), "400", "\\\"m\\\"");
    assert_answer(POST("/v1/echo/x", LENGTH(2) CLOSE) "[]", "400", "not an object");
    assert_answer(POST("/v1/echo/x", LENGTH(3) CLOSE) "{a}", "400", "line 1, column");
}

static void answers_wrong_requests(void **state)
{
    (void)state;
    assert_answer(POST("/v1/nothing", CLOSE), "404", "\"not_found\"");
    assert_answer(POST("/v1/echo/", CLOSE), "404", "\"advice\":\"The API");
    assert_answer(POST("/health", CLOSE), "405", "Allow: GET, HEAD\r\n");
    assert_answer(POST("/v1/fail", CLOSE), "410",
                  "{\"error\":{\"code\":\"gone\",\"message\":"
                  "\"it went\",\"advice\":\"Let it go.\"}}");
    assert_answer(POST("/v1/fail", "Accept: text/event-stream\r\n" CLOSE), "410", "\"gone\"");
    assert_answer("nonsense\r\n\r\n", "400", "Connection: close\r\n");
    assert_answer(POST("/v1/echo/x", LENGTH(99999999)), "413", "\"too_large\"");
    assert_answer(POST("/v1/echo/%zz", ""), "400", "percent-encoded");
    assert_answer("HEAD /health HTTP/1.1\r\nHost: localhost\r\n" CLOSE "\r\n", "200",
                  "Content-Length: 13\r\n");
    const char *head = ask("HEAD /health HTTP/1.1\r\nHost: localhost\r\n" CLOSE "\r\n");
    assert_null(strstr(head, "{"));
}

static void guards_the_door(void **state)
{
    (void)state;
#define GET(headers) "GET /v1/big HTTP/1.1\r\n" headers CLOSE "\r\n"
    assert_answer(GET(AUTH), "200", "\"text\":\"\"");
    assert_answer(GET("Host: localhost\r\n"), "401", "WWW-Authenticate: Bearer\r\n");
    assert_answer(GET("Host: localhost\r\nAuthorization: Bearer " KEY "x\r\n"), "401", "key");
    assert_answer(GET("Host: evil.example\r\nAuthorization: Bearer " KEY "\r\n"), "403", "Host");
    assert_answer(GET(AUTH "Origin: null\r\n"), "403", "origin");
    assert_answer(GET(AUTH "Origin: http://evil.example\r\n"), "403", "origin");
    assert_answer(GET(AUTH "Origin: http://localhost:1\r\n"), "403", "origin");
    assert_answer(GET(AUTH "Origin: http://127.0.0.1\r\n"), "200", "text");
    assert_answer("GET /nothing HTTP/1.1\r\nHost: localhost\r\n" CLOSE "\r\n", "401", "key");
    assert_answer("GET /health HTTP/1.1\r\nHost: localhost\r\n" CLOSE "\r\n", "200", "ok");
    int fd = dial_unix();
    say(fd, GET("Host: any.name\r\n"));
    assert_holds(hear_all(fd), "HTTP/1.1 200");
#undef GET
}

static void keeps_connections_and_order(void **state)
{
    (void)state;
    int fd = dial();
    for (int i = 0; i < 50; i++) {
        say(fd, POST("/v1/echo/x", LENGTH(2)) "{}");
        assert_holds(hear(fd), "\"id\":\"x\"");
    }
    say(fd, POST("/v1/echo/x", LENGTH(1)) "{" POST("/v1/later", LENGTH(12)) "{\"name\":\"1\"}" POST(
                "/v1/echo/2", "")
                POST("/v1/later", LENGTH(12)) "{\"name\":\"3\"}"
                                              "GET /health HTTP/1.1\r\nHost: localhost\r\n" CLOSE
                                              "\r\nGET /ignored HTTP/1.1\r\n\r\n");
    const char *answers = hear_all(fd);
    static const char *const parts[] = {"400", "\"text\":\"1\"", "\"id\":\"2\"", "\"text\":\"3\"",
                                        "\"text\":\"ok\""};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        assert_holds(answers, parts[i]);
        answers = strstr(answers, parts[i]);
    }
    assert_null(strstr(answers, "HTTP/1.1"));
}

static void answers_many_pipelined_requests(void **state)
{
    (void)state;
    enum { N = 3000 };
    int fd = dial();
    _buf_ struct buf all = BUF_INIT(MIB);
    for (int i = 0; i < N; i++)
        buf_append_str(&all, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    buf_append_str(&all, "GET /health HTTP/1.1\r\nHost: localhost\r\n" CLOSE "\r\n");
    say(fd, buf_str(&all));
    const char *answers = hear_all(fd);
    int n = 0;
    while ((answers = strstr(answers, "HTTP/1.1 200")) != NULL) {
        answers++;
        n++;
    }
    assert_int_equal(n, N + 1);
}

static void knows_expect(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, POST("/v1/echo/x", LENGTH(2) "Expect: 100-continue\r\n"));
    char heard[64] = "";
    assert_true(recv(fd, heard, sizeof(heard) - 1, 0) > 0);
    assert_string_equal(heard, "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, "{}");
    assert_holds(hear(fd), "HTTP/1.1 200");
    close(fd);
    assert_answer(
        "POST /v1/echo/x HTTP/1.1\r\nHost: localhost\r\n" LENGTH(2) "Expect: 100-continue\r\n\r\n",
        "401", "Connection: close\r\n");
}

static void streams_events(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, POST("/v1/stream", LENGTH(11) "Accept: text/event-stream\r\n") "{\"count\":3}");
    const char *answer = hear(fd);
    assert_holds(answer, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n");
    assert_holds(answer, "event: output\ndata: \"eee");
    assert_holds(answer, "event: result\ndata: {\"dropped\":0}\n\n\r\n0\r\n\r\n");
    say(fd, POST("/v1/later", LENGTH(12) "Accept: text/event-stream\r\n") "{\"name\":\"n\"}");
    answer = hear(fd);
    assert_holds(answer, "event: result\ndata: {\"text\":\"n\"}");
    close(fd);
    fd = dial();
    say(fd, "POST /v1/stream HTTP/1.0\r\n" AUTH LENGTH(
                11) "Accept: text/event-stream\r\n\r\n{\"count\":1}");
    answer = hear_all(fd);
    assert_null(strstr(answer, "chunked"));
    assert_holds(answer, "event: result\ndata: {\"dropped\":0}\n\n");
}

static void a_slow_reader_loses_events_only(void **state)
{
    (void)state;
    int fd = dial();
    say(fd,
        POST("/v1/stream", LENGTH(15) CLOSE "Accept: text/event-stream\r\n") "{\"count\":50000}");
    poll(NULL, 0, 300); /* the kernel takes some of it, nobody the rest */
    const char *answer = hear_all(fd);
    const char *result = strstr(answer, "event: result\ndata: {\"dropped\":");
    assert_non_null(result);
    assert_true(strtol(result + 31, NULL, 10) > 0);
}

static void a_client_that_never_reads_is_dropped(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, "GET /v1/big?size=50000000 HTTP/1.1\r\n" AUTH "\r\n");
    struct pollfd wait = {.fd = fd};
    assert_int_equal(poll(&wait, 1, 5000), 1);
    close(fd);
    assert_answer("GET /health HTTP/1.1\r\nHost: localhost\r\n" CLOSE "\r\n", "200", "ok");
}

static void large_answers_arrive_whole(void **state)
{
    (void)state;
    const char *answer = ask("GET /v1/big?size=20000000 HTTP/1.1\r\n" AUTH CLOSE "\r\n");
    assert_holds(answer, "Content-Length: 20000011\r\n");
    assert_int_equal(strlen(strstr(answer, "\r\n\r\n") + 4), 20000011);
}

static void slow_requests_are_408(void **state)
{
    (void)state;
    assert_answer("GET / HTT", "408", "\"timeout\"");
    assert_answer(POST("/v1/echo/x", LENGTH(5)) "{", "408", "\"timeout\"");
    assert_string_equal(ask(""), ""); /* idle: closed without a word */
}

static void half_closed_clients_are_answered(void **state)
{
    (void)state;
    int fd = dial();
    say(fd, POST("/v1/later", LENGTH(12)) "{\"name\":\"1\"}" POST("/v1/echo/2", ""));
    shutdown(fd, SHUT_WR);
    const char *answers = hear_all(fd);
    assert_holds(answers, "\"text\":\"1\"");
    assert_holds(answers, "\"id\":\"2\"");
    fd = dial();
    say(fd, POST("/v1/echo/x", LENGTH(5)) "{");
    shutdown(fd, SHUT_WR);
    assert_holds(hear_all(fd), "HTTP/1.1 400");
    fd = dial();
    shutdown(fd, SHUT_WR);
    assert_string_equal(hear_all(fd), "");
}

static void await_gone(int expected)
{
    for (int i = 0; i < 500 && gone_calls < expected; i++)
        poll(NULL, 0, 10);
    assert_int_equal(gone_calls, expected);
}

static void operations_learn_that_the_client_went(void **state)
{
    (void)state;
    int fd = dial_unix();
    say(fd, POST("/v1/later", LENGTH(11)) "{\"ms\":3000}");
    poll(NULL, 0, 50);
    close(fd);
    await_gone(1);
    fd = dial();
    say(fd, POST("/v1/later", LENGTH(11)) "{\"ms\":3000}");
    poll(NULL, 0, 50);
    struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    await_gone(2);
    /* One that does not want to know answers into the void. */
    fd = dial_unix();
    say(fd, POST("/v1/later", LENGTH(22)) "{\"ms\":200,\"deaf\":true}");
    poll(NULL, 0, 50);
    close(fd);
    poll(NULL, 0, 400);
    assert_int_equal(gone_calls, 2);
}

static void idle_connections_make_room(void **state)
{
    (void)state;
    int idle[25];
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        idle[i] = dial();
        say(idle[i], "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_holds(hear(idle[i]), "200 OK");
    }
    assert_string_equal(hear_all(idle[0]), "");
    int fd = idle[ARRAY_LEN(idle) - 1];
    say(fd, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_holds(hear(fd), "200 OK");
    for (size_t i = 1; i < ARRAY_LEN(idle); i++)
        close(idle[i]);
}

static void busy_connections_do_not_make_room(void **state)
{
    (void)state;
    int busy[20];
    for (size_t i = 0; i < ARRAY_LEN(busy); i++) {
        busy[i] = dial();
        say(busy[i], POST("/v1/later", LENGTH(10)) "{\"ms\":500}");
    }
    poll(NULL, 0, 100);
    assert_holds(ask(""), "HTTP/1.1 503");
    for (size_t i = 0; i < ARRAY_LEN(busy); i++) {
        assert_holds(hear(busy[i]), "200 OK");
        close(busy[i]);
    }
}

static void input_that_waits_is_bounded(void **state)
{
    (void)state;
    int fd = dial();
    fcntl(fd, F_SETFL, O_NONBLOCK);
    say(fd, POST("/v1/later", LENGTH(10)) "{\"ms\":800}");
    static char flood[65536];
    memset(flood, '\n', sizeof(flood));
    size_t sent = 0;
    for (int i = 0; i < 300; i++) {
        ssize_t n = send(fd, flood, sizeof(flood), MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else
            poll(NULL, 0, 1);
    }
    /* What the server took and what the kernel holds in between; it would take all of 19 MiB. */
    assert_true(sent < 12 * MIB);
    close(fd);
}

static void stops_while_calls_are_open(void **state)
{
    start(state);
    int waiting = dial(), idle = dial(), short_call = dial();
    say(waiting, POST("/v1/later", LENGTH(11)) "{\"ms\":1000}");
    say(short_call, POST("/v1/later", LENGTH(10)) "{\"ms\":100}");
    poll(NULL, 0, 50);
    uv_async_send(&stop_request);
    assert_holds(hear_all(short_call), "200 OK");
    assert_string_equal(hear_all(waiting), "");
    assert_string_equal(hear_all(idle), "");
    pthread_join(thread, NULL);
    assert_int_equal(gone_calls, 1);
    server_free(server);
    assert_int_equal(uv_loop_close(&loop), 0);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(merges_path_query_and_body),
        WITH_SERVER(answers_wrong_requests),
        WITH_SERVER(guards_the_door),
        WITH_SERVER(keeps_connections_and_order),
        WITH_SERVER(answers_many_pipelined_requests),
        WITH_SERVER(knows_expect),
        WITH_SERVER(streams_events),
        WITH_SERVER(a_slow_reader_loses_events_only),
        WITH_SERVER(a_client_that_never_reads_is_dropped),
        WITH_SERVER(large_answers_arrive_whole),
        WITH_SERVER(slow_requests_are_408),
        WITH_SERVER(half_closed_clients_are_answered),
        WITH_SERVER(operations_learn_that_the_client_went),
        WITH_SERVER(idle_connections_make_room),
        WITH_SERVER(busy_connections_do_not_make_room),
        WITH_SERVER(input_that_waits_is_bounded),
        cmocka_unit_test(stops_while_calls_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
