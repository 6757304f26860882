#include "cell/output.h"
#include "unit.h"

/* Bytes of a cell that has written `offset` bytes before, in a piece of their own. */
static void append_bytes(struct output_ring *r, uint64_t id, uint64_t offset, const char *bytes,
                         size_t len)
{
    struct output_piece *piece = output_piece_new(len);
    piece->offset = offset;
    piece->len = len;
    memcpy(piece->bytes, bytes, len);
    if (len > 0)
        output_ring_append(r, id, piece, len);
    output_piece_release(piece);
}

static void append(struct output_ring *r, uint64_t id, uint64_t offset, const char *s)
{
    append_bytes(r, id, offset, s, strlen(s));
}

static void expect(const struct output_ring *r, uint64_t id, uint64_t offset, size_t limit,
                   const char *text, struct output_range *range)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    output_ring_read(r, id, offset, limit, &out, range);
    assert_string_equal(buf_str(&out), text);
}

static void test_cells_are_kept_apart(void **state)
{
    (void)state;
    struct output_ring r;
    struct output_range range;
    output_ring_init(&r, 100);
    append(&r, 1, 0, "one ");
    append(&r, 2, 0, "two ");
    append(&r, 1, 4, "late");
    append(&r, 2, 4, "more");
    expect(&r, 1, 0, 100, "one late", &range);
    assert_int_equal(range.next_offset, 8);
    assert_int_equal(range.end, 8);
    expect(&r, 2, 0, 100, "two more", &range);
    expect(&r, 0, 0, 100, "one two latemore", &range);
    expect(&r, 1, 3, 3, " la", &range);
    assert_int_equal(range.next_offset, 6);
    expect(&r, 1, 8, 3, "", &range);
    expect(&r, 3, 0, 100, "", &range);
    assert_int_equal(range.dropped, 0);
    output_ring_free(&r);
}

static void test_oldest_bytes_are_dropped_and_counted(void **state)
{
    (void)state;
    struct output_ring r;
    struct output_range range;
    output_ring_init(&r, 10);
    append(&r, 1, 0, "abcdef");
    append(&r, 2, 0, "ghijkl");
    assert_int_equal(output_ring_kept(&r), 10);
    expect(&r, 1, 0, 100, "cdef", &range);
    assert_int_equal(range.offset, 2);
    assert_int_equal(range.dropped, 2);
    expect(&r, 0, 0, 100, "cdefghijkl", &range);
    assert_int_equal(range.dropped, 2);
    assert_int_equal(range.end, 12);
    append(&r, 3, 0, "0123456789abcdefghij");
    expect(&r, 3, 0, 100, "abcdefghij", &range);
    assert_int_equal(range.offset, 10);
    assert_int_equal(range.dropped, 10);
    expect(&r, 1, 0, 100, "", &range);
    assert_int_equal(r.end, 32);
    output_ring_free(&r);
}

static void test_first_append_may_be_larger_than_the_ring(void **state)
{
    (void)state;
    struct output_ring r;
    struct output_range range;
    output_ring_init(&r, 4);
    append(&r, 1, 0, "0123456789");
    expect(&r, 1, 0, 10, "6789", &range);
    assert_int_equal(range.dropped, 6);
    output_ring_free(&r);
}

static void test_alternating_writers_stay_bounded(void **state)
{
    (void)state;
    struct output_ring r;
    output_ring_init(&r, MIB);
    for (uint64_t i = 0; i < 100000; i++)
        append_bytes(&r, 1 + i % 2, i / 2, "x", 1);
    assert_true(r.segments_cap <= 4096);
    assert_int_equal(output_ring_kept(&r), r.segments_len);
    assert_int_equal(r.end, 100000);
    output_ring_free(&r);
}

static void test_random_writers_against_a_model(void **state)
{
    (void)state;
    struct output_ring r;
    output_ring_init(&r, 5000);
    static char model[2][400000];
    uint64_t sizes[2] = {0};
    srand(7);
    for (int i = 0; i < 3000; i++) {
        char chunk[257];
        size_t id = (size_t)rand() % 2, len = (size_t)rand() % 256;
        for (size_t k = 0; k < len; k++)
            chunk[k] = (char)('a' + rand() % 26);
        if (sizes[id] + len > sizeof(model[0]))
            continue;
        append_bytes(&r, id + 1, sizes[id], chunk, len);
        memcpy(model[id] + sizes[id], chunk, len);
        sizes[id] += len;
    }
    for (size_t id = 0; id < 2; id++) {
        _buf_ struct buf out = BUF_INIT(MIB);
        struct output_range range;
        output_ring_read(&r, id + 1, 0, MIB, &out, &range);
        assert_int_equal(range.end, sizes[id]);
        assert_int_equal(range.offset + out.len, sizes[id]);
        assert_memory_equal(out.data, model[id] + range.offset, out.len);
    }
    output_ring_free(&r);
}

static void test_pages_never_split_a_character(void **state)
{
    (void)state;
    struct output_ring r;
    struct output_range range;
    output_ring_init(&r, 100);
    append(&r, 1, 0, "a\xf0\x9f\x98\x80z");
    for (size_t limit = 1; limit < 5; limit++) {
        expect(&r, 1, 0, limit, "a", &range);
        assert_int_equal(range.next_offset, 1);
    }
    expect(&r, 1, 0, 5, "a\xf0\x9f\x98\x80", &range);
    /* Progress is never given up for it. */
    expect(&r, 1, 1, 2, "\xf0\x9f", &range);
    output_ring_free(&r);
}

/* A piece that grows is shared as it is: the ring and the transcript have the same bytes. */
static void test_a_piece_that_grows_stays_one_segment(void **state)
{
    (void)state;
    struct output_ring r;
    struct output_range range;
    output_ring_init(&r, 100);
    struct output_piece *piece = output_piece_new(8);
    for (int i = 0; i < 4; i++) {
        memcpy(piece->bytes + piece->len, "ab", 2);
        piece->len += 2;
        output_ring_append(&r, 1, piece, 2);
    }
    assert_int_equal(r.segments_len, 1);
    output_piece_release(piece);
    expect(&r, 1, 0, 100, "abababab", &range);
    output_ring_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_are_kept_apart),
        cmocka_unit_test(test_oldest_bytes_are_dropped_and_counted),
        cmocka_unit_test(test_first_append_may_be_larger_than_the_ring),
        cmocka_unit_test(test_alternating_writers_stay_bounded),
        cmocka_unit_test(test_random_writers_against_a_model),
        cmocka_unit_test(test_pages_never_split_a_character),
        cmocka_unit_test(test_a_piece_that_grows_stays_one_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
