#include "book/transcript.h"
#include "unit.h"

static void write_text(struct transcript *t, unsigned stream, const char *text)
{
    transcript_write(t, stream, text, strlen(text));
}

static void show(struct transcript *t, const char *text, const char *id, bool is_update)
{
    _json_ json_t *output = json_pack("{ss ss}", "type", "text", "text", text);
    if (id != NULL)
        json_object_set_new(output, "display_id", json_string(id));
    transcript_show(t, output, is_update);
}

static json_t *outputs_of(const struct transcript *t)
{
    _buf_ struct buf out = BUF_INIT(64 * MIB);
    transcript_put(t, &out);
    json_t *list = out.len > 0 ? json_loadb(out.data, out.len, 0, NULL) : json_array();
    assert_non_null(list);
    return list;
}

static void expect_texts(const struct transcript *t, const char *const *texts)
{
    _json_ json_t *list = outputs_of(t);
    size_t n = 0;
    for (; texts[n] != NULL; n++) {
        const json_t *text = json_object_get(json_array_get(list, n), "text");
        assert_non_null(text);
        assert_string_equal(json_string_value(text), texts[n]);
    }
    assert_int_equal(json_array_size(list), n);
}

#define EXPECT(t, ...) expect_texts((t), (const char *const[]){__VA_ARGS__, NULL})

static void test_neighbours_of_one_stream_are_one(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    write_text(&t, 0, "a");
    write_text(&t, 0, "b");
    write_text(&t, 1, "c");
    write_text(&t, 0, "d");
    show(&t, "e", NULL, false);
    write_text(&t, 0, "f");
    EXPECT(&t, "ab", "c", "d", "e", "f");
    transcript_free(&t);
}

static void test_nothing_is_nothing(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(MIB);
    transcript_init(&t, MIB, 4 * MIB);
    transcript_write(&t, 0, "", 0);
    transcript_put(&t, &out);
    assert_int_equal(out.len, 0);
    transcript_free(&t);
}

static void test_head_and_tail_of_much_text_stay(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 4096, 4 * MIB);
    char line[64];
    size_t total = 0;
    for (int i = 0; i < 10000; i++) {
        int n = snprintf(line, sizeof(line), "line %d\n", i);
        transcript_write(&t, 0, line, (size_t)n);
        total += (size_t)n;
    }
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), 1);
    const json_t *output = json_array_get(list, 0);
    const char *text = json_string_value(json_object_get(output, "text"));
    uint64_t omitted = (uint64_t)json_integer_value(json_object_get(output, "omitted"));
    assert_memory_equal(text, "line 0\nline 1\n", 14);
    assert_string_equal(text + strlen(text) - 10, "line 9999\n");
    char note[64];
    int n = snprintf(note, sizeof(note), "\n[... %llu bytes left out ...]\n",
                     (unsigned long long)omitted);
    assert_non_null(strstr(text, note));
    assert_int_equal(strlen(text) - (size_t)n + omitted, total);
    assert_true(strlen(text) <= 4096 + sizeof(note));
    transcript_free(&t);
}

static void test_tails_of_several_outputs_share_their_quarter(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 4096, 4 * MIB);
    for (int i = 0; i < 200; i++) {
        char text[101];
        memset(text, 'a' + i % 26, 100);
        text[100] = '\0';
        write_text(&t, (unsigned)i % 2, text);
    }
    _json_ json_t *list = outputs_of(&t);
    size_t kept = 0, i;
    uint64_t omitted = 0;
    json_t *output;
    json_array_foreach(list, i, output)
    {
        omitted += (uint64_t)json_integer_value(json_object_get(output, "omitted"));
        if (json_object_get(output, "omitted") == NULL)
            kept += json_string_length(json_object_get(output, "text"));
    }
    assert_true(kept <= 4096);
    assert_true(omitted >= 200 * 100 - 4096);
    transcript_free(&t);
}

static void test_a_character_is_never_cut(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        struct transcript t;
        transcript_init(&t, 1024, 4 * MIB);
        transcript_write(&t, 0, "xxxx", shift);
        for (int i = 0; i < 4000; i++)
            write_text(&t, 0, "\xe2\x82\xac");
        _json_ json_t *list = outputs_of(&t);
        const char *text = json_string_value(json_object_get(json_array_get(list, 0), "text"));
        assert_null(strstr(text, "\xef\xbf\xbd"));
        transcript_free(&t);
    }
}

static void test_a_character_in_two_writes_is_whole(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    transcript_write(&t, 0, "\xe2\x82", 2);
    transcript_write(&t, 0, "\xac", 1);
    EXPECT(&t, "\xe2\x82\xac");
    transcript_free(&t);
}

static void test_clearing(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    write_text(&t, 0, "a");
    transcript_clear(&t, true);
    EXPECT(&t, "a"); /* it waits */
    write_text(&t, 0, "b");
    EXPECT(&t, "b");
    show(&t, "c", NULL, false);
    transcript_clear(&t, true);
    show(&t, "d", NULL, false);
    EXPECT(&t, "d");
    transcript_clear(&t, false);
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), 0);
    transcript_free(&t);
}

static void test_clearing_gives_room_again(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 1024, 4 * MIB);
    for (int round = 0; round < 3; round++) {
        transcript_clear(&t, false);
        for (int i = 0; i < 1000; i++)
            write_text(&t, 0, "0123456789");
        _json_ json_t *list = outputs_of(&t);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "omitted")),
                         10000 - 1024);
    }
    transcript_free(&t);
}

static void test_updates(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    show(&t, "one", "x", false);
    show(&t, "other", NULL, false);
    show(&t, "again", "x", false);
    show(&t, "new", "x", true);
    EXPECT(&t, "new", "other", "new");
    show(&t, "unknown", "y", true); /* as in a later cell */
    EXPECT(&t, "new", "other", "new", "unknown");
    transcript_free(&t);
}

static void test_the_value_comes_before_what_was_shown_after_it(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    _json_ json_t *late = json_pack("{ss ss sb}", "type", "text", "text", "late", "late", 1);
    _json_ json_t *value = json_pack("{ss ss}", "type", "text", "text", "value");
    transcript_show(&t, late, false);
    show(&t, "shown", NULL, false);
    uint64_t first = transcript_show(&t, late, false);
    transcript_show(&t, late, false);
    transcript_conclude(&t, value, true);
    EXPECT(&t, "late", "shown", "value", "late", "late");
    transcript_lose_blob(&t, first, "full"); /* it is still the one that it was */
    EXPECT(&t, "late", "shown", "value", "[an image could not be kept: full]", "late");
    transcript_conclude(&t, value, false); /* an error: behind everything */
    EXPECT(&t, "late", "shown", "value", "[an image could not be kept: full]", "late", "value");
    transcript_free(&t);
}

/* As the store is told of it; "-": not at all. */
static void assert_marks(const struct transcript *t, const char *marks)
{
    _json_ json_t *list = outputs_of(t);
    size_t n = json_array_size(list);
    assert_int_equal(n, strlen(marks));
    for (size_t i = 0; i < n; i++) {
        const json_t *mark = json_object_get(json_array_get(list, i), "updates");
        assert_int_equal(mark == NULL ? '-' : '0' + json_integer_value(mark), marks[i]);
    }
}

static void test_updates_are_marked_for_other_cells(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    show(&t, "own", "x", false);
    show(&t, "other", "y", true);
    assert_marks(&t, "-1");
    show(&t, "own", "x", true);
    show(&t, "shown too", "y", false);
    assert_marks(&t, "21-");
    transcript_clear(&t, false);
    assert_marks(&t, "33");
    show(&t, "again", "y", true);
    assert_marks(&t, "31");
    show(&t, "picture", "z", true);
    transcript_await_blob(&t, t.last_serial, 1);
    assert_marks(&t, "31");
    transcript_lose_blob(&t, t.last_serial, "full");
    assert_marks(&t, "311");
    transcript_free(&t);
}

static void test_outputs_have_a_limit_and_the_value_comes_all_the_same(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    for (int i = 0; i < 3000; i++)
        show(&t, "x", NULL, false);
    write_text(&t, 0, "late");
    _json_ json_t *value = json_pack("{ss ss}", "type", "text", "text", "2");
    transcript_conclude(&t, value, true);
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), TRANSCRIPT_OUTPUTS_MAX + 1);
    const json_t *last = json_array_get(list, TRANSCRIPT_OUTPUTS_MAX);
    assert_true(json_is_true(json_object_get(last, "value")));
    transcript_free(&t);
}

static void test_what_is_too_large_is_a_note(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 1024, 64 * KIB);
    char *large = mem_alloc(100 * KIB);
    memset(large, 'x', 100 * KIB - 1);
    show(&t, large, NULL, false);
    show(&t, "small", NULL, false);
    _json_ json_t *list = outputs_of(&t);
    const char *text = json_string_value(json_object_get(json_array_get(list, 0), "text"));
    assert_non_null(strstr(text, "left out"));
    assert_int_equal(json_array_size(list), 2);
    free(large);
    transcript_free(&t);
}

static void test_bytes_that_grow_as_json_stay_within_the_limit(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(64 * MIB);
    transcript_init(&t, MIB, 2 * MIB);
    char bytes[4096];
    memset(bytes, 1, sizeof(bytes));
    for (int i = 0; i < 256; i++)
        transcript_write(&t, (unsigned)i / 100 % 2, bytes, sizeof(bytes));
    transcript_put(&t, &out);
    assert_true(out.len <= 2 * MIB + 4096);
    _json_ json_t *list = json_loadb(out.data, out.len, 0, NULL);
    assert_non_null(list);
    transcript_free(&t);
}

/* 64 KiB that are six times that as JSON. */
static char *make_large(void)
{
    char *large = mem_alloc(64 * KIB + 1);
    memset(large, 1, 64 * KIB);
    return large;
}

static void test_typed_outputs_count_as_the_json_that_they_are(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(128 * KIB);
    transcript_init(&t, 1024, 128 * KIB);
    _free_ char *large = make_large();
    show(&t, large, NULL, false);
    _json_ json_t *value = json_pack("{ss ss}", "type", "text", "text", large);
    transcript_conclude(&t, value, true);
    transcript_put(&t, &out);
    assert_false(out.overflowed);
    _json_ json_t *list = json_loadb(out.data, out.len, 0, NULL);
    assert_int_equal(json_array_size(list), 2);
    transcript_free(&t);
}

static void test_an_update_of_many_takes_no_more_room_than_there_is(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 1024, MIB);
    _free_ char *large = make_large();
    for (int i = 0; i < 100; i++)
        show(&t, "x", "id", false);
    show(&t, large, "id", true);
    assert_true(t.typed_len < MIB);
    show(&t, "small", "id", true);
    _json_ json_t *list = outputs_of(&t);
    const json_t *last = json_array_get(list, 99);
    assert_string_equal(json_string_value(json_object_get(last, "text")), "small");
    transcript_free(&t);
}

static void test_an_update_has_the_room_of_what_it_replaces(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 1024, 500 * KIB);
    _free_ char *large = make_large();
    show(&t, large, "id", false);
    show(&t, large, "id", true);
    _json_ json_t *list = outputs_of(&t);
    const json_t *only = json_array_get(list, 0);
    assert_int_equal(json_string_length(json_object_get(only, "text")), 64 * KIB);
    transcript_free(&t);
}

static void test_an_error_has_room_whatever_was_shown(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 1024, 400 * KIB);
    _free_ char *large = make_large();
    show(&t, large, NULL, false);
    large[5 * KIB] = '\0';
    _json_ json_t *error = json_pack("{ss ss}", "type", "error", "message", large);
    transcript_conclude(&t, error, false);
    _json_ json_t *list = outputs_of(&t);
    const json_t *last = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(last, "type")), "error");
    transcript_free(&t);
}

static void test_a_note_has_no_blob(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, 1024, 64 * KIB);
    _free_ char *large = make_large();
    _json_ json_t *image = json_pack("{ss ss}", "type", "image", "text", large);
    assert_int_equal(transcript_show(&t, image, false), 0);
    transcript_free(&t);
}

static void test_blobs_are_named_when_they_are_known(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    _json_ json_t *image = json_pack("{ss ss}", "type", "image", "ref", "r");
    uint64_t first = transcript_show(&t, image, false);
    uint64_t second = transcript_show(&t, image, false);
    transcript_name_blob(&t, second, "abc");
    transcript_lose_blob(&t, first, "the disk is full");
    _json_ json_t *list = outputs_of(&t);
    const json_t *lost = json_array_get(list, 0), *kept = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(kept, "hash")), "abc");
    assert_null(json_object_get(lost, "hash"));
    assert_non_null(strstr(json_string_value(json_object_get(lost, "text")), "disk is full"));
    transcript_clear(&t, false);
    transcript_name_blob(&t, second, "abc"); /* it is gone */
    transcript_free(&t);
}

static void test_a_picture_is_not_written_down_before_its_blob_is_there(void **state)
{
    (void)state;
    struct transcript t;
    transcript_init(&t, MIB, 4 * MIB);
    _json_ json_t *image = json_pack("{ss ss}", "type", "image", "ref", "r");
    uint64_t serial = transcript_show(&t, image, false);
    transcript_await_blob(&t, serial, 1);
    transcript_write(&t, 0, "x", 1);
    _json_ json_t *before = outputs_of(&t);
    assert_int_equal(json_array_size(before), 1);
    transcript_name_blob(&t, serial, "abc");
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "ref")), "r");
    transcript_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_of_one_stream_are_one),
        cmocka_unit_test(test_nothing_is_nothing),
        cmocka_unit_test(test_head_and_tail_of_much_text_stay),
        cmocka_unit_test(test_tails_of_several_outputs_share_their_quarter),
        cmocka_unit_test(test_a_character_is_never_cut),
        cmocka_unit_test(test_a_character_in_two_writes_is_whole),
        cmocka_unit_test(test_clearing),
        cmocka_unit_test(test_clearing_gives_room_again),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_the_value_comes_before_what_was_shown_after_it),
        cmocka_unit_test(test_updates_are_marked_for_other_cells),
        cmocka_unit_test(test_outputs_have_a_limit_and_the_value_comes_all_the_same),
        cmocka_unit_test(test_what_is_too_large_is_a_note),
        cmocka_unit_test(test_bytes_that_grow_as_json_stay_within_the_limit),
        cmocka_unit_test(test_typed_outputs_count_as_the_json_that_they_are),
        cmocka_unit_test(test_an_update_of_many_takes_no_more_room_than_there_is),
        cmocka_unit_test(test_an_update_has_the_room_of_what_it_replaces),
        cmocka_unit_test(test_an_error_has_room_whatever_was_shown),
        cmocka_unit_test(test_a_note_has_no_blob),
        cmocka_unit_test(test_blobs_are_named_when_they_are_known),
        cmocka_unit_test(test_a_picture_is_not_written_down_before_its_blob_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
