#include "base/clock.h"
#include "cli/api.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

/* A daemon of a few lines in a child: it gives one canned answer to each request, over UNIX socket
 * and in a process of its own as the real one. */
struct turn {
    const char *answer; /* NULL if none, ever */
    bool closes;        /* the connection, behind it */
    int status;         /* the answer is the body of this one; 0: it is all that is sent */
};

struct fixture {
    char dir[64];
    struct cli_endpoint endpoint;
    struct cli_client client;
    pid_t server;
};

static void serve_turns(int listener, const struct turn *turns, size_t n)
{
    int fd = -1;
    for (size_t i = 0; i < n; i++) {
        char request[4096];
        if (fd < 0)
            fd = accept(listener, NULL, NULL);
        if (read(fd, request, sizeof(request)) <= 0)
            _exit(1);
        if (turns[i].answer == NULL) {
            pause();
            _exit(0);
        }
        if (turns[i].status != 0)
            dprintf(fd, "HTTP/1.1 %d x\r\nContent-Length: %zu\r\n\r\n", turns[i].status,
                    strlen(turns[i].answer));
        dprintf(fd, "%s", turns[i].answer);
        if (turns[i].closes) {
            close(fd);
            fd = -1;
        }
    }
    if (fd >= 0 && read(fd, &fd, 1) < 0)
        _exit(3);
    _exit(0);
}

static void start(struct fixture *f, const struct turn *turns, size_t n)
{
    *f = (struct fixture){.dir = "/tmp/cella-test-XXXXXX", .server = -1};
    assert_non_null(mkdtemp(f->dir));
    f->endpoint.data_dir = f->dir;
    f->client = (struct cli_client){.endpoint = &f->endpoint, .fd = -1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/cella.sock", f->dir);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 8), 0);
    f->server = fork();
    if (f->server == 0)
        serve_turns(listener, turns, n);
    close(listener);
}

static void stop(struct fixture *f)
{
    cli_client_close(&f->client);
    kill(f->server, SIGTERM);
    waitpid(f->server, NULL, 0);
    char path[128];
    snprintf(path, sizeof(path), "%s/cella.sock", f->dir);
    unlink(path);
    rmdir(f->dir);
}

#define OK_HEAD(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"

static int get(struct fixture *f, json_t **ret, struct err *e)
{
    return cli_api_get(&f->client, "GET", "/health", ret, e);
}

static void a_connection_is_used_again(void **state)
{
    (void)state;
    static const struct turn turns[] = {{"{\"a\":1}", false, 200}, {"{\"a\":2}", false, 200}};
    struct fixture f;
    struct err e;
    start(&f, turns, ARRAY_LEN(turns));
    for (int i = 1; i <= 2; i++) {
        _json_ json_t *object = NULL;
        assert_int_equal(get(&f, &object, &e), 0);
        assert_int_equal(cli_json_int(object, "a", 0), i);
    }
    stop(&f);
}

static void a_connection_that_was_closed_is_opened_again(void **state)
{
    (void)state;
    static const struct turn turns[] = {{"{\"a\":1}", true, 200}, {"{\"a\":2}", false, 200}};
    struct fixture f;
    struct err e;
    start(&f, turns, ARRAY_LEN(turns));
    for (int i = 1; i <= 2; i++) {
        _json_ json_t *object = NULL;
        if (get(&f, &object, &e) < 0)
            fail_msg("%s", e.message);
        assert_int_equal(cli_json_int(object, "a", 0), i);
        /* Until the close has arrived: otherwise it might be found while sending. */
        char byte;
        if (i == 1)
            while (recv(f.client.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
                continue;
    }
    stop(&f);
}

static void errors_of_the_daemon_are_told(void **state)
{
    (void)state;
    static const struct turn turns[] = {
        {"{\"error\":{\"code\":\"not_found\",\"message\":\"no \\u001b[2Jsuch\","
         "\"advice\":\"try ps\"}}",
         false, 404},
        {"oops", false, 503},
        {"{\"error\":[1,2]}", true, 418},
    };
    struct fixture f;
    struct err e;
    json_t *object = NULL;
    start(&f, turns, ARRAY_LEN(turns));
    assert_int_equal(get(&f, &object, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.message, "no \\x1b[2Jsuch");
    assert_string_equal(e.advice, "try ps");
    assert_int_equal(get(&f, &object, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_int_equal(get(&f, &object, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    stop(&f);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "SSH-2.0-OpenSSH\r\n",         OK_HEAD(2) "[]",  OK_HEAD(9) "\"a\": 1}  ",
        OK_HEAD(100) "{\"a\":\"short", OK_HEAD(4) "nul", "HTTP/1.1 204 No Content\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct turn turn = {answers[i], true, 0};
        struct fixture f;
        struct err e;
        json_t *object = NULL;
        start(&f, &turn, 1);
        assert_int_equal(get(&f, &object, &e), -1);
        stop(&f);
    }
}

static void a_silent_daemon_meets_the_deadline(void **state)
{
    (void)state;
    static const struct turn turns[] = {{NULL, false, 0}};
    struct fixture f;
    struct err e;
    struct cli_reply reply;
    start(&f, turns, 1);
    struct cli_request request = {
        .method = "GET", .path = "/health", .deadline_ms = clock_mono_ms() + 50};
    assert_int_equal(cli_client_ask(&f.client, &request, &reply, &e), -1);
    assert_int_equal(e.code, ERR_TIMEOUT);
    stop(&f);
}

static void sessions_are_checked(void **state)
{
    (void)state;
    static const struct turn turns[] = {
        {"{\"sessions\":1}", false, 200},
        {"{\"sessions\":[{\"session_id\":\"x\"}]}", false, 200},
        {"{\"sessions\":[{\"session_id\":\"0b9c1f6e-0000-4000-8000-000000000001\"},"
         "{\"session_id\":\"0b9d1f6e-0000-4000-8000-000000000001\"}]}",
         false, 200},
        {"{\"sessions\":[{\"session_id\":\"0b9c1f6e-0000-4000-8000-000000000001\"},"
         "{\"session_id\":\"0b9d1f6e-0000-4000-8000-000000000001\"}]}",
         false, 200},
    };
    struct fixture f;
    struct err e;
    struct cli_session session;
    start(&f, turns, ARRAY_LEN(turns));
    assert_int_equal(cli_session_find(&f.client, "0b", &session, &e), -1);
    assert_int_equal(cli_session_find(&f.client, "0b", &session, &e), -1);
    assert_int_equal(e.code, ERR_INTERNAL);
    assert_int_equal(cli_session_find(&f.client, "0b9c", &session, &e), 0);
    assert_string_equal(session.id, "0b9c1f6e-0000-4000-8000-000000000001");
    assert_int_equal(cli_session_find(&f.client, "0b9", &session, &e), -1);
    assert_non_null(strstr(e.message, "2 sessions"));
    assert_int_equal(cli_session_find(&f.client, "../x", &session, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(cli_session_find(&f.client, "", &session, &e), -1);
    stop(&f);
}

struct heard {
    struct buf text;
};

static bool hear(void *context, const char *name, const char *data, size_t len)
{
    struct heard *heard = context;
    buf_printf(&heard->text, "%s=%.*s;", name, (int)len, data);
    return true;
}

static void events_come_as_they_are_sent(void **state)
{
    (void)state;
    static const struct turn turns[] = {
        {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
         "10\r\nevent: a\ndata: 1\r\n2\r\n\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n",
         false, 0},
    };
    struct fixture f;
    struct err e;
    struct cli_reply reply;
    struct heard heard = {.text = BUF_INIT(1 * KIB)};
    start(&f, turns, ARRAY_LEN(turns));
    struct cli_request request = {.method = "POST",
                                  .path = "/x",
                                  .body = "{}",
                                  .body_len = 2,
                                  .deadline_ms = clock_mono_ms() + 5000,
                                  .on_event = hear,
                                  .context = &heard};
    assert_int_equal(cli_client_ask(&f.client, &request, &reply, &e), 0);
    assert_true(reply.was_stream);
    assert_string_equal(buf_str(&heard.text), "a=1;message=2;");
    cli_reply_free(&reply);
    buf_free(&heard.text);
    stop(&f);
}

static void no_daemon_is_explained(void **state)
{
    (void)state;
    struct cli_endpoint endpoint = {.data_dir = "/nonexistent/cella"};
    struct cli_client client;
    struct err e;
    assert_int_equal(cli_client_open(&client, &endpoint, false, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.message, "/nonexistent/cella"));
    assert_non_null(strstr(e.advice, "cella serve"));
    endpoint.host = "127.0.0.1";
    endpoint.port = "1";
    assert_int_equal(cli_client_open(&client, &endpoint, true, &e), -1);
    assert_non_null(strstr(e.message, "http://127.0.0.1:1"));
}

static int endpoint_of(const char *url, struct cli_endpoint *ret, struct err *e)
{
    static const struct cli_verb verb = {.name = "try", .is_client = true};
    const char *words[] = {"--data", "/nonexistent", "--key", "k", "--url", url};
    struct cli_args args;
    assert_int_equal(cli_args_parse(&verb, 6, (char **)(uintptr_t)words, &args, e), 0);
    int status = cli_endpoint_from(&args, ret, e);
    cli_args_free(&args);
    return status;
}

static void addresses_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",        "host:1",          "https://host:1",   "http://host",  "http://:1",
        "http://", "http://host:1/x", "http://a\r\nb:1",  "http://u@h:1", "http://[::1:80",
        "ftp://x", "http://h:999999", "http://host:12ab", "http://h :1",
    };
    struct cli_endpoint endpoint;
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (endpoint_of(bad[i], &endpoint, &e) == 0)
            fail_msg("accepted: %s", bad[i]);
        cli_endpoint_free(&endpoint);
    }
    assert_int_equal(endpoint_of("http://[::1]:7300/", &endpoint, &e), 0);
    assert_string_equal(endpoint.host, "::1");
    assert_string_equal(endpoint.port, "7300");
    assert_string_equal(endpoint.key, "k");
    cli_endpoint_free(&endpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_used_again),
        cmocka_unit_test(a_connection_that_was_closed_is_opened_again),
        cmocka_unit_test(errors_of_the_daemon_are_told),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_silent_daemon_meets_the_deadline),
        cmocka_unit_test(sessions_are_checked),
        cmocka_unit_test(events_come_as_they_are_sent),
        cmocka_unit_test(no_daemon_is_explained),
        cmocka_unit_test(addresses_are_checked),
    };
    return cmocka_run_group_tests_name("cli_client", tests, NULL, NULL);
}
