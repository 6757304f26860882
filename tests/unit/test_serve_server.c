#include "server_world.h"

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
    await(&ended_streams, 1); /* the kernel took some of it, nobody the rest */
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
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
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

static void operations_learn_that_the_client_went(void **state)
{
    (void)state;
    int fd = dial_unix();
    say(fd, POST("/v1/later", LENGTH(13)) "{\"held\":true}");
    await(&begun_calls, 1);
    close(fd);
    await(&gone_calls, 1);
    fd = dial();
    say(fd, POST("/v1/later", LENGTH(13)) "{\"held\":true}");
    await(&begun_calls, 2);
    struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    await(&gone_calls, 2);
    /* One that does not want to know answers into the void. */
    int answered = answered_calls;
    fd = dial_unix();
    say(fd, POST("/v1/later", LENGTH(22)) "{\"ms\":200,\"deaf\":true}");
    await(&begun_calls, 3);
    close(fd);
    await(&answered_calls, answered + 1);
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
        say(busy[i], POST("/v1/later", LENGTH(13)) "{\"held\":true}");
    }
    await(&begun_calls, ARRAY_LEN(busy));
    assert_holds(ask(""), "HTTP/1.1 503");
    is_released = true;
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
    say(fd, POST("/v1/later", LENGTH(13)) "{\"held\":true}");
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
    is_released = true; /* it does not read, and so does not see that we go */
    close(fd);
}

static void stops_while_calls_are_open(void **state)
{
    start(state);
    int waiting = dial(), idle = dial(), short_call = dial();
    say(waiting, POST("/v1/later", LENGTH(13)) "{\"held\":true}");
    say(short_call, POST("/v1/later", LENGTH(10)) "{\"ms\":100}");
    await(&begun_calls, 2);
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
#define IMPATIENT(test) cmocka_unit_test_setup_teardown(test, start_impatient, stop)

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
        IMPATIENT(a_client_that_never_reads_is_dropped),
        WITH_SERVER(large_answers_arrive_whole),
        IMPATIENT(slow_requests_are_408),
        WITH_SERVER(half_closed_clients_are_answered),
        WITH_SERVER(operations_learn_that_the_client_went),
        WITH_SERVER(idle_connections_make_room),
        WITH_SERVER(busy_connections_do_not_make_room),
        WITH_SERVER(input_that_waits_is_bounded),
        cmocka_unit_test(stops_while_calls_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
