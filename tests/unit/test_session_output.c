#include "session/output.h"
#include "unit.h"

static void append(struct output_ring *r, uint64_t id, uint64_t offset, const char *s)
{
    output_ring_append(r, id, offset, s, strlen(s));
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
        output_ring_append(&r, 1 + i % 2, i / 2, "x", 1);
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
        output_ring_append(&r, id + 1, sizes[id], chunk, len);
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

/* ---- answers -----------------------------------------------------------------------------------
 */

struct cell {
    struct output_ring ring;
    struct output_capture capture;
};

static void cell_init(struct cell *c, size_t budget, size_t ring)
{
    output_ring_init(&c->ring, ring);
    output_capture_init(&c->capture, budget, ring);
}

static void cell_write(struct cell *c, const char *data, size_t len)
{
    output_ring_append(&c->ring, 1, c->capture.total, data, len);
    output_capture_append(&c->capture, data, len);
}

static void cell_free(struct cell *c)
{
    output_ring_free(&c->ring);
    output_capture_free(&c->capture);
}

static void test_what_fits_is_whole(void **state)
{
    (void)state;
    for (size_t budget = 9; budget < 30; budget++) {
        struct cell c;
        _buf_ struct buf out = BUF_INIT(1000);
        cell_init(&c, budget, 100);
        for (int i = 0; i < 3; i++)
            cell_write(&c, "\xe2\x82\xac", 3);
        assert_int_equal(output_capture_write(&c.capture, &c.ring, 1, budget, &out), 0);
        assert_string_equal(buf_str(&out), "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
        cell_free(&c);
    }
}

static void test_head_and_tail_with_the_count_between(void **state)
{
    (void)state;
    struct cell c;
    _buf_ struct buf out = BUF_INIT(1000);
    cell_init(&c, 10, 50);
    for (int i = 0; i < 1000; i++)
        cell_write(&c, "0123456789", 10);
    uint64_t omitted = output_capture_write(&c.capture, &c.ring, 1, 10, &out);
    assert_int_equal(omitted, 9990);
    assert_string_equal(buf_str(&out), "01234\n[... 9990 bytes left out ...]\n56789");
    cell_free(&c);
}

static void test_cuts_at_characters_only(void **state)
{
    (void)state;
    for (size_t budget = 0; budget < 40; budget++) {
        struct cell c;
        _buf_ struct buf out = BUF_INIT(1000);
        cell_init(&c, budget, 100);
        for (int i = 0; i < 100; i++)
            cell_write(&c, "\xf0\x9f\x98\x80", 4);
        uint64_t omitted = output_capture_write(&c.capture, &c.ring, 1, budget, &out);
        assert_true(omitted >= 400 - budget);
        assert_int_equal(omitted % 4, 0);
        assert_null(strstr(buf_str(&out), "\xef\xbf\xbd"));
        cell_free(&c);
    }
}

static void test_budget_may_be_larger_than_the_ring(void **state)
{
    (void)state;
    struct cell c;
    _buf_ struct buf out = BUF_INIT(10000);
    cell_init(&c, 1000, 100);
    for (int i = 0; i < 100; i++)
        cell_write(&c, "0123456789", 10);
    assert_int_equal(output_capture_write(&c.capture, &c.ring, 1, 1000, &out), 0);
    assert_int_equal(out.len, 1000);
    cell_free(&c);
}

static void test_a_share_smaller_than_the_budget(void **state)
{
    (void)state;
    struct cell c;
    _buf_ struct buf out = BUF_INIT(10000);
    cell_init(&c, 1000, 5000);
    for (int i = 0; i < 90; i++)
        cell_write(&c, "0123456789", 10);
    assert_int_equal(output_capture_write(&c.capture, &c.ring, 1, 20, &out), 880);
    assert_memory_equal(out.data, "0123456789\n[", 12);
    assert_string_equal(out.data + out.len - 11, "\n0123456789");
    cell_free(&c);
}

static void test_bytes_that_are_no_text(void **state)
{
    (void)state;
    struct cell c;
    _buf_ struct buf out = BUF_INIT(100);
    cell_init(&c, 10, 50);
    cell_write(&c, "a\xff\0b", 4);
    assert_int_equal(output_capture_write(&c.capture, &c.ring, 1, 10, &out), 0);
    assert_int_equal(out.len, 6);
    assert_memory_equal(out.data, "a\xef\xbf\xbd\0b", 6);
    cell_free(&c);
}

/* Text that is dropped, then more: what is left is what was written behind it, whatever the head
 * had room for. */
static void test_a_capture_forgets(void **state)
{
    (void)state;
    for (size_t budget = 10; budget <= 200; budget += 19) {
        struct cell c;
        char all[400];
        cell_init(&c, budget, 1000);
        for (size_t n = 0; n < sizeof(all); n++)
            all[n] = (char)('a' + n % 26);
        cell_write(&c, all, 150);
        output_capture_forget(&c.capture, &c.ring, 1, 120);
        cell_write(&c, all + 150, 50);
        output_capture_forget(&c.capture, &c.ring, 1, 100); /* earlier: nothing */
        _buf_ struct buf out = BUF_INIT(1000);
        assert_int_equal(output_capture_write(&c.capture, &c.ring, 1, 1000, &out), 0);
        assert_int_equal(out.len, 80);
        assert_memory_equal(buf_str(&out), all + 120, 80);

        output_capture_forget(&c.capture, &c.ring, 1, 5000); /* later: all there is */
        assert_int_equal(output_capture_new(&c.capture), 0);
        cell_write(&c, all + 200, 30);
        _buf_ struct buf rest = BUF_INIT(1000);
        assert_int_equal(output_capture_write(&c.capture, &c.ring, 1, 1000, &rest), 0);
        assert_int_equal(rest.len, 30);
        assert_memory_equal(buf_str(&rest), all + 200, 30);
        cell_free(&c);
    }
}

/* The ring may have lost what is to be told. */
static void test_a_capture_forgets_what_was_dropped_too(void **state)
{
    (void)state;
    struct cell c;
    char all[100];
    memset(all, 'x', sizeof(all));
    cell_init(&c, 20, 16);
    cell_write(&c, all, sizeof(all));
    output_capture_forget(&c.capture, &c.ring, 1, 10);
    _buf_ struct buf out = BUF_INIT(1000);
    output_capture_write(&c.capture, &c.ring, 1, 20, &out);
    assert_true(out.len > 0 && output_capture_new(&c.capture) <= 90);
    cell_free(&c);
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
        cmocka_unit_test(test_what_fits_is_whole),
        cmocka_unit_test(test_head_and_tail_with_the_count_between),
        cmocka_unit_test(test_cuts_at_characters_only),
        cmocka_unit_test(test_budget_may_be_larger_than_the_ring),
        cmocka_unit_test(test_a_share_smaller_than_the_budget),
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_a_capture_forgets),
        cmocka_unit_test(test_a_capture_forgets_what_was_dropped_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
