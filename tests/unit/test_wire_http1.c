#include "base/base.h"
#include "unit.h"
#include "wire/http1.h"

/* Feeds the text in pieces of `step` bytes until the request is complete or refused. */
static enum http1_result feed_by(struct http1_parser *p, const char *text, size_t len, size_t step,
                                 size_t *ret_used)
{
    size_t at = 0;
    enum http1_result result = HTTP1_MORE;
    while (result == HTTP1_MORE || result == HTTP1_HEAD) {
        size_t n = MIN(step, len - at), used;
        if (n == 0 && result == HTTP1_MORE)
            break;
        result = http1_feed(p, text + at, n, &used);
        assert_true(used <= n);
        at += used;
    }
    *ret_used = at;
    return result;
}

static void assert_refused(const char *text, size_t len, int status)
{
    for (size_t step = 1; step <= len; step += step < 8 ? 1 : len) {
        struct http1_parser p;
        http1_init(&p);
        size_t used;
        assert_int_equal(feed_by(&p, text, len, step, &used), HTTP1_BAD);
        assert_int_equal(p.refusal, status);
        assert_true(p.error.message[0] != '\0' && p.error.advice[0] != '\0');
        assert_int_equal(http1_feed(&p, "GET", 3, &used), HTTP1_BAD);
        http1_free(&p);
    }
}

#define REFUSED(text, status) assert_refused(text, sizeof(text) - 1, status)

static void reads_a_request_in_any_pieces(void **state)
{
    (void)state;
    static const char text[] = "POST /v1/x?a=1 HTTP/1.1\r\nHost: localhost \r\nX-Empty:\r\n"
                               "Content-Length: 5\r\n\r\nhelloGET / HTTP";
    for (size_t step = 1; step < sizeof(text); step++) {
        struct http1_parser p;
        http1_init(&p);
        size_t used, len;
        assert_int_equal(feed_by(&p, text, sizeof(text) - 1, step, &used), HTTP1_DONE);
        assert_string_equal(text + used, "GET / HTTP");
        assert_string_equal(http1_method(&p), "POST");
        assert_string_equal(http1_target(&p), "/v1/x?a=1");
        assert_string_equal(http1_header(&p, "host", &len), "localhost");
        assert_int_equal(len, 9);
        assert_string_equal(http1_header(&p, "x-empty", &len), "");
        assert_null(http1_header(&p, "x", NULL));
        assert_string_equal(buf_str(&p.body), "hello");
        assert_true(p.is_keep_alive && p.has_body && !p.expects_continue);
        http1_free(&p);
    }
}

static void reads_pipelined_requests(void **state)
{
    (void)state;
    static const char text[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
                               "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
                               "\r\nDELETE /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    static const char *const targets[] = {"/a", "/b", "/c"};
    static const char *const bodies[] = {"", "abcde", ""};
    for (size_t step = 1; step < sizeof(text); step++) {
        struct http1_parser p;
        http1_init(&p);
        size_t at = 0, used;
        for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
            assert_int_equal(feed_by(&p, text + at, sizeof(text) - 1 - at, step, &used),
                             HTTP1_DONE);
            at += used;
            assert_string_equal(http1_target(&p), targets[i]);
            assert_string_equal(buf_str(&p.body), bodies[i]);
            assert_int_equal(p.is_keep_alive, i < 2);
            http1_next(&p);
            assert_true(http1_is_untouched(&p));
        }
        assert_int_equal(at, sizeof(text) - 1);
        http1_free(&p);
    }
}

static void refuses_smuggling(void **state)
{
    (void)state;
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
            "0\r\n\r\n",
            400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
            400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nhello", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nhello", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400);
    REFUSED("POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
}

static void refuses_odd_transfer_encodings(void **state)
{
    (void)state;
    struct http1_parser p;
    size_t used;
    static const char *const encodings[] = {"gzip, chunked", "gzip",        "chunked, identity",
                                            "xchunked",      "chunked\x0b", ""};
    for (size_t i = 0; i < ARRAY_LEN(encodings); i++) {
        char text[256];
        int n = snprintf(text, sizeof(text),
                         "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: %s\r\n\r\n0\r\n\r\n",
                         encodings[i]);
        http1_init(&p);
        assert_int_equal(feed_by(&p, text, (size_t)n, 1000, &used), HTTP1_BAD);
        assert_true(p.refusal == 400 || p.refusal == 501);
        http1_free(&p);
    }
}

static void refuses_bare_line_ends(void **state)
{
    (void)state;
    REFUSED("GET / HTTP/1.1\nHost: x\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\r\n\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\r\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
            400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX0\r\n\r\n",
            400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n", 400);
    REFUSED("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n", 400);
}

static void refuses_what_is_not_http_1(void **state)
{
    (void)state;
    REFUSED("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400);
    REFUSED("BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    REFUSED("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
    REFUSED("GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505);
    REFUSED("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505);
    REFUSED("GET /\r\n\r\n", 505);
    REFUSED("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 501);
    REFUSED("GET / HTTP/1.1\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nauthorization: b\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n", 417);
    REFUSED("GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHo st: x\r\n\r\n", 400);
    REFUSED("GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n", 400);
}

static void assert_buf_refused(struct buf *text, int status)
{
    struct http1_parser p;
    http1_init(&p);
    size_t used;
    assert_int_equal(feed_by(&p, text->data, text->len, 1500, &used), HTTP1_BAD);
    assert_int_equal(p.refusal, status);
    assert_int_equal(p.error.code, ERR_TOO_LARGE);
    http1_free(&p);
    buf_clear(text);
}

static void limits_the_head(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(MIB);
    buf_append_str(&text, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    for (size_t i = 0; i < HTTP1_HEAD_MAX; i++)
        buf_append_char(&text, 'a');
    assert_buf_refused(&text, 431);

    buf_append_str(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < HTTP1_HEADERS_MAX; i++)
        buf_append_str(&text, "a:\r\n");
    assert_buf_refused(&text, 431);

    for (size_t i = 0; i <= HTTP1_HEAD_MAX / 2; i++)
        buf_append_str(&text, "\r\n");
    assert_buf_refused(&text, 431);

    buf_append_str(&text, "GET /");
    for (size_t i = 0; i < HTTP1_TARGET_MAX; i++)
        buf_append_char(&text, 'a');
    assert_buf_refused(&text, 414);
}

static void limits_the_body(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(64 * MIB);
    static const char chunked[] =
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    buf_append_str(&text, chunked);
    buf_printf(&text, "%zx\r\n", HTTP1_BODY_MAX + 1);
    buf_reserve(&text, HTTP1_BODY_MAX + 1);
    memset(text.data + text.len, 'x', HTTP1_BODY_MAX + 1);
    text.len += HTTP1_BODY_MAX + 1;
    assert_buf_refused(&text, 413);

    buf_append_str(&text, chunked);
    while (text.len < 2 * HTTP1_BODY_MAX + KIB)
        buf_append_str(&text, "1;an=extensionthatgoesonandonandonandonandon\r\nx\r\n");
    assert_buf_refused(&text, 413);
}

/* A body of any length, taken out piece by piece. */
static void streams_a_body(void **state)
{
    (void)state;
    static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n";
    static const char piece[KIB];
    struct http1_parser p;
    size_t used;
    http1_init(&p);
    assert_int_equal(http1_feed(&p, head, sizeof(head) - 1, &used), HTTP1_HEAD);
    http1_stream_body(&p);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(http1_feed(&p, piece, sizeof(piece), &used), HTTP1_MORE);
        assert_int_equal(p.body.len, sizeof(piece));
        buf_clear(&p.body);
    }
    http1_free(&p);
    http1_init(&p);
    assert_int_equal(http1_feed(&p, head, sizeof(head) - 1, &used), HTTP1_HEAD);
    assert_int_equal(http1_limit_body(&p, HTTP1_BODY_LARGE_MAX), -1);
    assert_int_equal(p.refusal, 413);
    http1_free(&p);
}

static void reads_an_answer_in_any_pieces(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_for_head;
        int status;
        const char *body;
        bool ends_with_the_connection;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, 200, "ok", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false, 200,
         "ok", false},
        {"HTTP/1.0 404 No\r\n\r\nall of it", false, 404, "all of it", true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, 200, "", false},
        {"HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", false, 304, "", false},
        {"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", false, 101, "",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].text);
        for (size_t step = 1; step <= len; step++) {
            struct http1_parser p;
            size_t used;
            http1_init_answer(&p, cases[i].is_for_head);
            enum http1_result result = feed_by(&p, cases[i].text, len, step, &used);
            if (cases[i].ends_with_the_connection) {
                assert_int_equal(result, HTTP1_MORE);
                result = http1_finish(&p);
            }
            assert_int_equal(result, HTTP1_DONE);
            assert_int_equal(used, len);
            assert_int_equal(http1_status(&p), cases[i].status);
            assert_string_equal(buf_str(&p.body), cases[i].body);
            http1_free(&p);
        }
    }
}

static void refuses_answers_that_can_be_read_in_two_ways(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 999 No\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "nothing of the kind",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct http1_parser p;
        size_t used;
        http1_init_answer(&p, false);
        assert_int_equal(feed_by(&p, texts[i], strlen(texts[i]), 7, &used), HTTP1_BAD);
        assert_int_equal(p.refusal, 502);
        assert_int_equal(p.error.code, ERR_UPSTREAM);
        http1_free(&p);
    }
}

static void limits_the_body_by_what_it_is_for(void **state)
{
    (void)state;
    static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n";
    struct http1_parser p;
    size_t used;
    http1_init(&p);
    assert_int_equal(http1_feed(&p, head, sizeof(head) - 1, &used), HTTP1_HEAD);
    assert_int_equal(http1_limit_body(&p, 11), 0);
    assert_int_equal(http1_feed(&p, "hello world", 11, &used), HTTP1_DONE);
    http1_next(&p);
    assert_int_equal(http1_feed(&p, head, sizeof(head) - 1, &used), HTTP1_HEAD);
    assert_int_equal(http1_limit_body(&p, 10), -1);
    assert_int_equal(p.refusal, 413);
    http1_free(&p);
}

static void hands_a_body_out_in_pieces(void **state)
{
    (void)state;
    static const char head[] = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000000\r\n\r\n";
    struct http1_parser p;
    size_t used;
    _free_ char *piece = mem_alloc(64 * KIB);
    http1_init(&p);
    assert_int_equal(http1_feed(&p, head, sizeof(head) - 1, &used), HTTP1_HEAD);
    http1_stream_body(&p);
    assert_int_equal(http1_body_bytes(&p), 200000000);
    uint64_t left = 200000000;
    for (enum http1_result r = HTTP1_MORE; left > 0; left -= used) {
        assert_int_equal(r, HTTP1_MORE);
        r = http1_feed(&p, piece, MIN(64 * KIB, left), &used);
        assert_int_equal(p.body.len, used);
        buf_clear(&p.body);
    }
    assert_int_equal(http1_feed(&p, "", 0, &used), HTTP1_DONE);
    http1_next(&p);
    assert_int_equal(http1_feed(&p, head, sizeof(head) - 1, &used), HTTP1_HEAD);
    assert_int_equal(http1_limit_body(&p, HTTP1_BODY_LARGE_MAX), -1);
    http1_free(&p);
}

static void names_a_file(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(KIB);
    http1_write_head(&out, &(struct http1_response){.status = 200,
                                                    .content_type = "text/csv",
                                                    .content_length = 3,
                                                    .is_keep_alive = true,
                                                    .file_name = "a \"b\"\r\n\xc3\xa4.csv"});
    assert_non_null(strstr(buf_str(&out), "filename=\"a _b_____.csv\"; "
                                          "filename*=UTF-8''a%20%22b%22%0D%0A%C3%A4.csv\r\n"));
}

static void pictures_may_be_shown_and_kept(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(KIB);
    http1_write_head(&out, &(struct http1_response){.status = 200,
                                                    .content_type = "image/svg+xml",
                                                    .content_length = 3,
                                                    .is_keep_alive = true,
                                                    .file_name = "image-0.svg",
                                                    .tag = "\"abc\""});
    assert_non_null(strstr(buf_str(&out), "\r\nETag: \"abc\"\r\n"));
    assert_non_null(strstr(buf_str(&out), "\r\nCache-Control: private, no-cache\r\n"));
    assert_non_null(strstr(buf_str(&out), "Content-Disposition: inline; "));
    assert_non_null(strstr(buf_str(&out), "Content-Security-Policy: sandbox; default-src 'none'"));
    assert_null(strstr(buf_str(&out), "no-store"));
}

static void knows_expect_and_versions(void **state)
{
    (void)state;
    struct http1_parser p;
    size_t used;
    http1_init(&p);
    static const char expect[] = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n"
                                 "Content-Length: 1\r\n\r\n";
    assert_int_equal(http1_feed(&p, expect, sizeof(expect) - 1, &used), HTTP1_HEAD);
    assert_true(p.expects_continue);
    assert_int_equal(http1_feed(&p, "x", 1, &used), HTTP1_DONE);

    http1_next(&p);
    static const char old[] = "GET / HTTP/1.0\r\n\r\n";
    assert_int_equal(feed_by(&p, old, sizeof(old) - 1, 3, &used), HTTP1_DONE);
    assert_false(p.is_keep_alive || p.is_http_1_1);

    http1_next(&p);
    static const char upgrade[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                                  "Upgrade: h2c\r\n\r\n";
    assert_int_equal(feed_by(&p, upgrade, sizeof(upgrade) - 1, 5, &used), HTTP1_DONE);
    http1_free(&p);
}

static void writes_heads(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(KIB);
    http1_write_head(&out, &(struct http1_response){.status = 200,
                                                    .content_type = "application/json",
                                                    .content_length = 12,
                                                    .is_keep_alive = true});
    assert_string_equal(buf_str(&out), "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                       "Content-Length: 12\r\nCache-Control: no-store\r\n"
                                       "X-Content-Type-Options: nosniff\r\n\r\n");
    buf_clear(&out);
    http1_write_head(&out, &(struct http1_response){.status = 405,
                                                    .content_type = "application/json",
                                                    .content_length = HTTP1_LENGTH_CHUNKED,
                                                    .allow = "GET, HEAD"});
    assert_non_null(strstr(buf_str(&out), "Transfer-Encoding: chunked\r\nConnection: close\r\n"
                                          "Allow: GET, HEAD\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_request_in_any_pieces),
        cmocka_unit_test(reads_pipelined_requests),
        cmocka_unit_test(refuses_smuggling),
        cmocka_unit_test(refuses_odd_transfer_encodings),
        cmocka_unit_test(refuses_bare_line_ends),
        cmocka_unit_test(refuses_what_is_not_http_1),
        cmocka_unit_test(limits_the_head),
        cmocka_unit_test(limits_the_body),
        cmocka_unit_test(limits_the_body_by_what_it_is_for),
        cmocka_unit_test(streams_a_body),
        cmocka_unit_test(reads_an_answer_in_any_pieces),
        cmocka_unit_test(refuses_answers_that_can_be_read_in_two_ways),
        cmocka_unit_test(hands_a_body_out_in_pieces),
        cmocka_unit_test(names_a_file),
        cmocka_unit_test(pictures_may_be_shown_and_kept),
        cmocka_unit_test(knows_expect_and_versions),
        cmocka_unit_test(writes_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
