#include "unit.h"
#include "wire/websocket.h"

/* What comes out of the bytes, fed in pieces of `step`, in words. */
static void read_all(const char *bytes, size_t len, size_t step, struct buf *out)
{
    struct websocket_reader r;
    websocket_reader_init(&r);
    enum websocket_event event = WEBSOCKET_MORE;
    for (size_t at = 0; event != WEBSOCKET_BROKEN && event != WEBSOCKET_IS_CLOSE;) {
        size_t n = MIN(step, len - at), used;
        event = websocket_feed(&r, bytes + at, n, &used);
        assert_true(used <= n && (event != WEBSOCKET_MORE || used == n));
        at += used;
        if (event == WEBSOCKET_IS_TEXT || event == WEBSOCKET_IS_BINARY)
            buf_printf(out, "%s %s;", event == WEBSOCKET_IS_TEXT ? "text" : "bytes",
                       buf_str(&r.message));
        else if (event == WEBSOCKET_IS_PING || event == WEBSOCKET_IS_PONG)
            buf_printf(out, "%s %s;", event == WEBSOCKET_IS_PING ? "ping" : "pong",
                       buf_str(&r.control));
        else if (event == WEBSOCKET_IS_CLOSE || event == WEBSOCKET_BROKEN)
            buf_printf(out, "%s %d;", event == WEBSOCKET_IS_CLOSE ? "close" : "broken", r.code);
        if (event == WEBSOCKET_MORE && at == len)
            break;
    }
    websocket_reader_free(&r);
}

static void assert_reads(const char *bytes, size_t len, const char *expected)
{
    for (size_t step = 1; step <= len; step++) {
        _buf_ struct buf out = BUF_INIT(MIB);
        read_all(bytes, len, step, &out);
        assert_string_equal(buf_str(&out), expected);
    }
}

#define READS(bytes, expected) assert_reads(bytes, sizeof(bytes) - 1, expected)
#define MASK "\x01\x02\x03\x04"

static void reads_messages_in_any_pieces(void **state)
{
    (void)state;
    READS("\x82\x83" MASK "`bb", "bytes a`a;");
    READS("\x81\x80" MASK, "text ;");
    READS("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "text Hello;"); /* RFC 6455, 5.7 */
    READS("\x01\x81" MASK "`\x89\x81" MASK "q\x80\x81" MASK "c", "ping p;text ab;");
    READS("\x8a\x80" MASK "\x88\x80" MASK "\x82", "pong ;close 1005;");
    READS("\x88\x82" MASK "\x02\xea", "close 1000;");
}

static void refuses_what_breaks_the_protocol(void **state)
{
    (void)state;
    READS("\x82\x03xxx", "broken 1002;");   /* no mask */
    READS("\xc2\x80" MASK, "broken 1002;"); /* an extension */
    READS("\x83\x80" MASK, "broken 1002;"); /* opcodes that are none */
    READS("\x8b\x80" MASK, "broken 1002;");
    READS("\x09\x80" MASK, "broken 1002;");                 /* a ping in pieces */
    READS("\x89\xfe", "broken 1002;");                      /* a long one */
    READS("\x80\x80" MASK, "broken 1002;");                 /* the rest of nothing */
    READS("\x01\x80" MASK "\x81\x80" MASK, "broken 1002;"); /* a message inside another */
    READS("\x82\xfe\x00\x7d" MASK, "broken 1002;");         /* lengths that could be shorter */
    READS("\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff" MASK, "broken 1002;");
    READS("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff" MASK, "broken 1009;");
    READS("\x82\xff\x00\x00\x00\x00\x00\x01\x00\x01" MASK, "broken 1009;");
    READS("\x81\x81" MASK "\xfe", "broken 1007;");     /* no text */
    READS("\x88\x81" MASK "\x02", "broken 1002;");     /* half a code */
    READS("\x88\x82" MASK "\x02\xec", "broken 1002;"); /* 1006, which is never sent */
    READS("\x88\x83" MASK "\x02\xea\xfc", "broken 1007;");
}

static void fragments_are_bounded_together(void **state)
{
    (void)state;
    struct websocket_reader r;
    static const char half[] = "\x02\xfe\x80\x00" MASK;
    static const char payload[32768];
    size_t used;
    websocket_reader_init(&r);
    assert_int_equal(websocket_feed(&r, half, sizeof(half) - 1, &used), WEBSOCKET_MORE);
    assert_int_equal(websocket_feed(&r, payload, sizeof(payload), &used), WEBSOCKET_MORE);
    assert_int_equal(websocket_feed(&r, "\x00\xfe\x80\x01" MASK, 8, &used), WEBSOCKET_BROKEN);
    assert_int_equal(r.code, WEBSOCKET_TOO_BIG);
    assert_int_equal(websocket_feed(&r, "x", 1, &used), WEBSOCKET_BROKEN);
    websocket_reader_free(&r);
}

static void writes_frames(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(MIB);
    static const char data[70000];
    websocket_put(&out, WEBSOCKET_BINARY, "abc", 3);
    assert_memory_equal(out.data,
                        "\x82\x03"
                        "abc",
                        5);
    buf_clear(&out);
    websocket_put(&out, WEBSOCKET_BINARY, data, 300);
    assert_memory_equal(out.data, "\x82\x7e\x01\x2c", 4);
    buf_clear(&out);
    websocket_put(&out, WEBSOCKET_TEXT, data, sizeof(data));
    assert_memory_equal(out.data, "\x81\x7f\x00\x00\x00\x00\x00\x01\x11\x70", 10);
    buf_clear(&out);
    websocket_put_close(&out, WEBSOCKET_NORMAL, "bye");
    assert_memory_equal(out.data,
                        "\x88\x05\x03\xe8"
                        "bye",
                        7);
}

static void answers_a_handshake(void **state)
{
    (void)state;
    char accept[WEBSOCKET_ACCEPT_SIZE];
    assert_int_equal(websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept), 0); /* RFC 6455, 1.3 */
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_int_equal(websocket_accept("", accept), -1);
    assert_int_equal(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=", accept), -1);
    assert_int_equal(websocket_accept("dGhlIHNhbXBsZSBub25jZSEh", accept), -1); /* 18 bytes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_messages_in_any_pieces),
        cmocka_unit_test(refuses_what_breaks_the_protocol),
        cmocka_unit_test(fragments_are_bounded_together),
        cmocka_unit_test(writes_frames),
        cmocka_unit_test(answers_a_handshake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
