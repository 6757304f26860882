#include "cli/response.h"
#include "unit.h"

struct stream {
    struct buf bytes;
    bool is_refusing;
};

static bool take_stream(void *context, const char *data, size_t len)
{
    struct stream *stream = context;
    buf_append(&stream->bytes, data, len);
    return !stream->is_refusing;
}

static enum cli_response_state feed(struct cli_response *r, const char *text)
{
    return cli_response_feed(r, text, strlen(text));
}

static void a_length_tells_the_end_of_the_body(void **state)
{
    (void)state;
    struct cli_response r;
    cli_response_init(&r, NULL, NULL);
    assert_int_equal(feed(&r, "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhel"),
                     CLI_RESPONSE_MORE);
    assert_int_equal(feed(&r, "lo"), CLI_RESPONSE_DONE);
    assert_int_equal(r.status, 201);
    assert_string_equal(buf_str(&r.body), "hello");
    assert_true(r.is_kept_alive);
    cli_response_free(&r);
}

static void chunks_are_joined_byte_by_byte(void **state)
{
    (void)state;
    const char *text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n";
    struct cli_response r;
    cli_response_init(&r, NULL, NULL);
    enum cli_response_state got = CLI_RESPONSE_MORE;
    for (const char *at = text; *at != '\0'; at++) {
        assert_int_equal(got, CLI_RESPONSE_MORE);
        got = cli_response_feed(&r, at, 1);
    }
    assert_int_equal(got, CLI_RESPONSE_DONE);
    assert_string_equal(buf_str(&r.body), "abcdefg");
    cli_response_free(&r);
}

static void a_body_without_length_ends_with_the_connection(void **state)
{
    (void)state;
    struct cli_response r;
    cli_response_init(&r, NULL, NULL);
    assert_int_equal(feed(&r, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall"),
                     CLI_RESPONSE_MORE);
    assert_int_equal(cli_response_end(&r), CLI_RESPONSE_DONE);
    assert_string_equal(buf_str(&r.body), "all");
    assert_false(r.is_kept_alive);
    cli_response_free(&r);
}

static void a_connection_that_ends_early_is_no_answer(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct cli_response r;
        cli_response_init(&r, NULL, NULL);
        assert_int_equal(feed(&r, texts[i]), CLI_RESPONSE_MORE);
        assert_int_equal(cli_response_end(&r), CLI_RESPONSE_BROKEN);
        assert_non_null(r.problem);
        cli_response_free(&r);
    }
}

static void what_is_not_http_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct cli_response r;
        cli_response_init(&r, NULL, NULL);
        if (feed(&r, texts[i]) != CLI_RESPONSE_BROKEN)
            fail_msg("accepted: %s", texts[i]);
        assert_int_equal(feed(&r, "more"), CLI_RESPONSE_BROKEN);
        cli_response_free(&r);
    }
}

static void headers_without_end_are_refused(void **state)
{
    (void)state;
    struct cli_response r;
    cli_response_init(&r, NULL, NULL);
    enum cli_response_state got = feed(&r, "HTTP/1.1 200 OK\r\n");
    size_t sent = 0;
    for (; got == CLI_RESPONSE_MORE && sent < 1 * MIB; sent += 10)
        got = feed(&r, "x: 123456\r\n");
    assert_int_equal(got, CLI_RESPONSE_BROKEN);
    assert_true(sent < 2 * CLI_RESPONSE_HEAD_MAX);
    cli_response_free(&r);
}

static void a_body_without_end_is_refused(void **state)
{
    (void)state;
    struct cli_response r;
    cli_response_init(&r, NULL, NULL);
    r.body.max = 100 * KIB; /* the real bound would make the test slow */
    enum cli_response_state got = feed(&r, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    char block[1024];
    memset(block, 'x', sizeof(block));
    for (size_t i = 0; got == CLI_RESPONSE_MORE && i < 1000; i++)
        got = cli_response_feed(&r, block, sizeof(block));
    assert_int_equal(got, CLI_RESPONSE_BROKEN);
    assert_true(r.body.len <= 100 * KIB);
    cli_response_free(&r);
}

static void surplus_bytes_end_the_connection(void **state)
{
    (void)state;
    struct cli_response r;
    cli_response_init(&r, NULL, NULL);
    assert_int_equal(feed(&r, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"),
                     CLI_RESPONSE_DONE);
    assert_string_equal(buf_str(&r.body), "ok");
    assert_false(r.is_kept_alive);
    cli_response_free(&r);
}

static void an_event_stream_goes_to_its_reader(void **state)
{
    (void)state;
    const char *head = "HTTP/1.1 200 OK\r\ncontent-TYPE: text/event-stream; charset=utf-8\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n";
    struct stream stream = {.bytes = BUF_INIT(1 * KIB)};
    struct cli_response r;
    cli_response_init(&r, take_stream, &stream);
    assert_int_equal(feed(&r, head), CLI_RESPONSE_MORE);
    assert_int_equal(feed(&r, "7\r\ndata: x\r\n"), CLI_RESPONSE_MORE);
    assert_string_equal(buf_str(&stream.bytes), "data: x");
    stream.is_refusing = true;
    assert_int_equal(feed(&r, "1\r\n\n\r\n"), CLI_RESPONSE_BROKEN);
    assert_int_equal(r.body.len, 0);
    cli_response_free(&r);
    buf_free(&stream.bytes);
}

static void an_error_is_never_a_stream(void **state)
{
    (void)state;
    struct stream stream = {.bytes = BUF_INIT(1 * KIB)};
    struct cli_response r;
    cli_response_init(&r, take_stream, &stream);
    assert_int_equal(feed(&r, "HTTP/1.1 404 Not Found\r\nContent-Type: text/event-stream\r\n"
                              "Content-Length: 2\r\n\r\n{}"),
                     CLI_RESPONSE_DONE);
    assert_string_equal(buf_str(&r.body), "{}");
    assert_int_equal(stream.bytes.len, 0);
    cli_response_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_tells_the_end_of_the_body),
        cmocka_unit_test(chunks_are_joined_byte_by_byte),
        cmocka_unit_test(a_body_without_length_ends_with_the_connection),
        cmocka_unit_test(a_connection_that_ends_early_is_no_answer),
        cmocka_unit_test(what_is_not_http_is_refused),
        cmocka_unit_test(headers_without_end_are_refused),
        cmocka_unit_test(a_body_without_end_is_refused),
        cmocka_unit_test(surplus_bytes_end_the_connection),
        cmocka_unit_test(an_event_stream_goes_to_its_reader),
        cmocka_unit_test(an_error_is_never_a_stream),
    };
    return cmocka_run_group_tests_name("cli_response", tests, NULL, NULL);
}
