#include "base/fd.h"
#include "unit.h"
#include "wire/frame.h"

#include <errno.h>
#include <sys/socket.h>

static void append_frame(struct buf *out, const char *payload, size_t len)
{
    size_t mark = frame_begin(out);
    buf_append(out, payload, len);
    assert_true(frame_end(out, mark));
}

static void assert_next(struct frame_reader *r, const char *expected)
{
    const char *payload;
    size_t len;
    struct err e;
    assert_int_equal(frame_next(r, &payload, &len, &e), 1);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(payload, expected, len);
}

static void assert_none(struct frame_reader *r)
{
    const char *payload;
    size_t len;
    struct err e;
    assert_int_equal(frame_next(r, &payload, &len, &e), 0);
}

static void reads_what_was_written_in_any_pieces(void **state)
{
    (void)state;
    _buf_ struct buf wire = BUF_INIT(KIB);
    append_frame(&wire, "{\"a\":1}", 7);
    append_frame(&wire, "{}", 2);
    for (size_t step = 1; step <= wire.len; step++) {
        struct frame_reader r = FRAME_READER_INIT;
        size_t seen = 0;
        for (size_t at = 0; at < wire.len; at += step) {
            assert_true(frame_feed(&r, wire.data + at, MIN(step, wire.len - at)));
            const char *payload;
            size_t len;
            struct err e;
            while (frame_next(&r, &payload, &len, &e) == 1) {
                assert_memory_equal(payload, seen == 0 ? "{\"a\":1}" : "{}", len);
                seen++;
            }
        }
        assert_int_equal(seen, 2);
        assert_false(frame_is_partial(&r));
        frame_reader_free(&r);
    }
}

static void half_a_frame_is_named_when_the_next_one_comes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } halves[] = {{"x", 1}, {"xy", 2}, {"xyz", 3}, {"\0\0\x10\0", 4}, {"\0\0\x10\0{\"ev\":", 10}};
    _buf_ struct buf wire = BUF_INIT(KIB);
    append_frame(&wire, "{\"ev\":\"done\"}", 13);
    for (size_t i = 0; i < ARRAY_LEN(halves); i++) {
        struct frame_reader r = FRAME_READER_INIT;
        const char *payload;
        size_t len;
        struct err e;
        assert_true(frame_feed(&r, halves[i].bytes, halves[i].len));
        assert_none(&r);
        assert_true(frame_feed(&r, wire.data, wire.len));
        assert_int_equal(frame_next(&r, &payload, &len, &e), -1);
        frame_reader_free(&r);
    }
}

static void refuses_impossible_lengths(void **state)
{
    (void)state;
    static const char *const heads[] = {"\0\0\0\0", "\xff\xff\xff\xff", "\x01\0\0\x04"};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct frame_reader r = FRAME_READER_INIT;
        assert_true(frame_feed(&r, heads[i], 4));
        const char *payload;
        size_t len;
        struct err e;
        assert_int_equal(frame_next(&r, &payload, &len, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        frame_reader_free(&r);
    }
}

static void a_claim_costs_no_memory(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct frame_reader r = FRAME_READER_INIT;
    assert_int_equal(frame_fill(&r, pair[0]), -EAGAIN);
    assert_int_equal(write(pair[1], "\0\0\0\x04{", 5), 5);
    assert_int_equal(frame_fill(&r, pair[0]), 5);
    assert_none(&r);
    assert_int_equal(frame_fill(&r, pair[0]), -EAGAIN);
    assert_true(r.in.cap <= 4 * MIB);
    close(pair[1]);
    assert_int_equal(frame_fill(&r, pair[0]), 0);
    assert_true(frame_is_partial(&r));
    frame_reader_free(&r);
    close(pair[0]);
}

static void reads_from_a_socket(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(fd_set_nonblocking(pair[0], true), 0);
    _buf_ struct buf wire = BUF_INIT(2 * MIB);
    static char big[100000];
    memset(big, 'x', sizeof(big) - 1);
    append_frame(&wire, "{}", 2);
    append_frame(&wire, big, sizeof(big) - 1);
    append_frame(&wire, "{}", 2);
    assert_int_equal(fd_write_all(pair[1], wire.data, wire.len), 0);

    struct frame_reader r = FRAME_READER_INIT;
    assert_true(frame_fill(&r, pair[0]) > 0);
    assert_next(&r, "{}");
    assert_none(&r);
    const char *payload;
    size_t len;
    struct err e;
    int got;
    while ((got = frame_next(&r, &payload, &len, &e)) == 0)
        assert_true(frame_fill(&r, pair[0]) > 0);
    assert_int_equal(got, 1);
    assert_int_equal(len, sizeof(big) - 1);
    while (frame_next(&r, &payload, &len, &e) == 0)
        assert_true(frame_fill(&r, pair[0]) > 0);
    assert_int_equal(len, 2);
    assert_int_equal(frame_fill(&r, pair[0]), -EAGAIN);
    assert_true(r.in.cap <= 4096); /* the large buffer was given back */
    frame_reader_free(&r);
    close(pair[0]);
    close(pair[1]);
}

/* Also when the next one has begun. */
static void frames_can_be_taken_over(void **state)
{
    (void)state;
    for (int has_more = 0; has_more <= 1; has_more++) {
        struct frame_reader r = FRAME_READER_INIT;
        struct err e;
        const char *payload;
        size_t len;
        _buf_ struct buf stream = BUF_INIT(KIB);
        _buf_ struct buf bytes = BUF_INIT(0);
        append_frame(&stream, "first", 5);
        append_frame(&stream, "second", 6);
        size_t first = 4 + 5;
        assert_true(frame_feed(&r, stream.data, first + (has_more ? 3 : 0)));
        assert_int_equal(frame_next(&r, &payload, &len, &e), 1);
        const char *taken = frame_take(&r, payload, len, &bytes);
        assert_int_equal(taken == payload, !has_more);
        assert_true(frame_feed(&r, stream.data + first + (has_more ? 3 : 0),
                               stream.len - first - (has_more ? 3 : 0)));
        assert_memory_equal(taken, "first", 5);
        assert_next(&r, "second");
        assert_none(&r);
        frame_reader_free(&r);
    }
}

static void refuses_to_write_too_much(void **state)
{
    (void)state;
    _buf_ struct buf small = BUF_INIT(6);
    size_t mark = frame_begin(&small);
    buf_append_str(&small, "{\"a\":1}");
    assert_false(frame_end(&small, mark));

    _buf_ struct buf large = BUF_INIT(FRAME_MAX + MIB);
    mark = frame_begin(&large);
    assert_true(buf_reserve(&large, FRAME_MAX + 1));
    large.len += FRAME_MAX + 1;
    assert_false(frame_end(&large, mark));
    large.len--;
    assert_true(frame_end(&large, mark));
    assert_memory_equal(large.data, "\0\0\0\x04", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written_in_any_pieces),
        cmocka_unit_test(half_a_frame_is_named_when_the_next_one_comes),
        cmocka_unit_test(refuses_impossible_lengths),
        cmocka_unit_test(a_claim_costs_no_memory),
        cmocka_unit_test(reads_from_a_socket),
        cmocka_unit_test(frames_can_be_taken_over),
        cmocka_unit_test(refuses_to_write_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
