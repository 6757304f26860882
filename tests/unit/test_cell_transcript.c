#include "cell/transcript.h"
#include "unit.h"

static struct output_ring rings[OUTPUT_STREAMS];

/* With a row of so many bytes of text, and in all. */
static void begin(struct transcript *t, size_t row_text, size_t row_bytes)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_init(&rings[i], 64 * KIB);
    transcript_init(t, 1, "", rings);
    t->budget = 64 * KIB;
    if (row_text > 0)
        transcript_record(t, row_text, row_bytes);
}

static void finish(struct transcript *t)
{
    transcript_free(t);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_free(&rings[i]);
}

static void write_text(struct transcript *t, unsigned stream, const char *text)
{
    transcript_append(t, (enum output_stream)stream, text, strlen(text), false);
}

static void show(struct transcript *t, const char *text, const char *id, bool is_update)
{
    _json_ json_t *output = json_pack("{ss ss}", "type", "text", "text", text);
    if (id != NULL)
        json_object_set_new(output, "display_id", json_string(id));
    uint64_t serial = transcript_show(t, output, is_update);
    transcript_tell(t, serial, json_incref(output), true);
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
    begin(&t, MIB, 4 * MIB);
    write_text(&t, 0, "a");
    write_text(&t, 0, "b");
    write_text(&t, 1, "c");
    write_text(&t, 0, "d");
    show(&t, "e", NULL, false);
    write_text(&t, 0, "f");
    EXPECT(&t, "ab", "c", "d", "e", "f");
    finish(&t);
}

static void test_nothing_is_nothing(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(MIB);
    begin(&t, MIB, 4 * MIB);
    transcript_append(&t, OUTPUT_STDOUT, "", 0, false);
    transcript_put(&t, &out);
    assert_int_equal(out.len, 0);
    finish(&t);
}

static void test_head_and_tail_of_much_text_stay(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 4096, 4 * MIB);
    char line[64];
    size_t total = 0;
    for (int i = 0; i < 10000; i++) {
        int n = snprintf(line, sizeof(line), "line %d\n", i);
        transcript_append(&t, OUTPUT_STDOUT, line, (size_t)n, false);
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
    finish(&t);
}

static void test_tails_of_several_outputs_share_their_quarter(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 4096, 4 * MIB);
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
    json_array_foreach(list, i, output) {
        omitted += (uint64_t)json_integer_value(json_object_get(output, "omitted"));
        if (json_object_get(output, "omitted") == NULL)
            kept += json_string_length(json_object_get(output, "text"));
    }
    assert_true(kept <= 4096);
    assert_true(omitted >= 200 * 100 - 4096);
    finish(&t);
}

static void test_a_character_is_never_cut(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        struct transcript t;
        begin(&t, 1024, 4 * MIB);
        transcript_append(&t, OUTPUT_STDOUT, "xxxx", shift, false);
        for (int i = 0; i < 4000; i++)
            write_text(&t, 0, "\xe2\x82\xac");
        _json_ json_t *list = outputs_of(&t);
        const char *text = json_string_value(json_object_get(json_array_get(list, 0), "text"));
        assert_null(strstr(text, "\xef\xbf\xbd"));
        finish(&t);
    }
}

static void test_a_character_in_two_writes_is_whole(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, MIB, 4 * MIB);
    transcript_append(&t, OUTPUT_STDOUT, "\xe2\x82", 2, false);
    transcript_append(&t, OUTPUT_STDOUT, "\xac", 1, false);
    EXPECT(&t, "\xe2\x82\xac");
    finish(&t);
}

static void test_clearing(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, MIB, 4 * MIB);
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
    finish(&t);
}

static void test_clearing_gives_room_again(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, 4 * MIB);
    for (int round = 0; round < 3; round++) {
        transcript_clear(&t, false);
        for (int i = 0; i < 1000; i++)
            write_text(&t, 0, "0123456789");
        _json_ json_t *list = outputs_of(&t);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "omitted")),
                         10000 - 1024);
    }
    finish(&t);
}

static void test_updates(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, MIB, 4 * MIB);
    show(&t, "one", "x", false);
    show(&t, "other", NULL, false);
    show(&t, "again", "x", false);
    show(&t, "new", "x", true);
    EXPECT(&t, "new", "other", "new");
    show(&t, "unknown", "y", true); /* as in a later cell */
    EXPECT(&t, "new", "other", "new", "unknown");
    finish(&t);
}

static void test_the_value_comes_before_what_was_shown_after_it(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, MIB, 4 * MIB);
    _json_ json_t *late = json_pack("{ss ss sb}", "type", "text", "text", "late", "late", 1);
    _json_ json_t *value = json_pack("{ss ss}", "type", "text", "text", "value");
    transcript_show(&t, late, false);
    show(&t, "shown", NULL, false);
    uint64_t first = transcript_show(&t, late, false);
    transcript_show(&t, late, false);
    transcript_await_blob(&t, first, 1);
    transcript_name_blob(&t, first, "abc");
    transcript_conclude(&t, value, true);
    EXPECT(&t, "late", "shown", "value", "late", "late");
    transcript_lose_blob(&t, first, "full"); /* it is still the one that it was */
    EXPECT(&t, "late", "shown", "value", "[an image could not be kept: full]", "late");
    transcript_conclude(&t, value, false); /* an error: behind everything */
    EXPECT(&t, "late", "shown", "value", "[an image could not be kept: full]", "late", "value");
    finish(&t);
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
    begin(&t, MIB, 4 * MIB);
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
    _json_ json_t *picture = json_pack("{ss ss}", "type", "image", "display_id", "z");
    uint64_t serial = transcript_show(&t, picture, true);
    transcript_await_blob(&t, serial, 1);
    assert_marks(&t, "31");
    transcript_lose_blob(&t, serial, "full");
    assert_marks(&t, "311");
    finish(&t);
}

static void test_outputs_have_a_limit_and_the_value_comes_all_the_same(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, MIB, 4 * MIB);
    for (int i = 0; i < 3000; i++)
        show(&t, "x", NULL, false);
    write_text(&t, 0, "late");
    _json_ json_t *value = json_pack("{ss ss}", "type", "text", "text", "2");
    transcript_conclude(&t, value, true);
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), TRANSCRIPT_ITEMS_MAX + 1);
    const json_t *last = json_array_get(list, TRANSCRIPT_ITEMS_MAX);
    assert_true(json_is_true(json_object_get(last, "value")));
    finish(&t);
}

static void test_what_is_too_large_is_a_note(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, 64 * KIB);
    char *large = mem_alloc(100 * KIB);
    memset(large, 'x', 100 * KIB - 1);
    show(&t, large, NULL, false);
    show(&t, "small", NULL, false);
    _json_ json_t *list = outputs_of(&t);
    const char *text = json_string_value(json_object_get(json_array_get(list, 0), "text"));
    assert_non_null(strstr(text, "left out"));
    assert_int_equal(json_array_size(list), 2);
    free(large);
    finish(&t);
}

static void test_bytes_that_grow_as_json_stay_within_the_limit(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(64 * MIB);
    begin(&t, MIB, 2 * MIB);
    char bytes[4096];
    memset(bytes, 1, sizeof(bytes));
    for (int i = 0; i < 256; i++)
        transcript_append(&t, (enum output_stream)(i / 100 % 2), bytes, sizeof(bytes), false);
    transcript_put(&t, &out);
    assert_true(out.len <= 2 * MIB + 4096);
    _json_ json_t *list = json_loadb(out.data, out.len, 0, NULL);
    assert_non_null(list);
    finish(&t);
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
    begin(&t, 1024, 128 * KIB);
    _free_ char *large = make_large();
    show(&t, large, NULL, false);
    _json_ json_t *value = json_pack("{ss ss}", "type", "text", "text", large);
    transcript_conclude(&t, value, true);
    transcript_put(&t, &out);
    assert_false(out.overflowed);
    _json_ json_t *list = json_loadb(out.data, out.len, 0, NULL);
    assert_int_equal(json_array_size(list), 2);
    finish(&t);
}

static void test_an_update_of_many_takes_no_more_room_than_there_is(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, MIB);
    _free_ char *large = make_large();
    for (int i = 0; i < 100; i++)
        show(&t, "x", "id", false);
    show(&t, large, "id", true);
    assert_true(t.typed_len < MIB);
    show(&t, "small", "id", true);
    _json_ json_t *list = outputs_of(&t);
    const json_t *last = json_array_get(list, 99);
    assert_string_equal(json_string_value(json_object_get(last, "text")), "small");
    finish(&t);
}

static void test_an_update_has_the_room_of_what_it_replaces(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, 500 * KIB);
    _free_ char *large = make_large();
    show(&t, large, "id", false);
    show(&t, large, "id", true);
    _json_ json_t *list = outputs_of(&t);
    const json_t *only = json_array_get(list, 0);
    assert_int_equal(json_string_length(json_object_get(only, "text")), 64 * KIB);
    finish(&t);
}

static void test_an_error_has_room_whatever_was_shown(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, 400 * KIB);
    _free_ char *large = make_large();
    show(&t, large, NULL, false);
    large[5 * KIB] = '\0';
    _json_ json_t *error = json_pack("{ss ss}", "type", "error", "message", large);
    transcript_conclude(&t, error, false);
    _json_ json_t *list = outputs_of(&t);
    const json_t *last = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(last, "type")), "error");
    finish(&t);
}

static void test_a_note_has_no_blob(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, 64 * KIB);
    _free_ char *large = make_large();
    _json_ json_t *image = json_pack("{ss ss}", "type", "image", "text", large);
    transcript_await_blob(&t, transcript_show(&t, image, false), 1);
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), 1); /* it is there, and waits for nothing */
    assert_int_equal(transcript_blob_bytes(&t), 0);
    finish(&t);
}

static void test_blobs_are_named_when_they_are_known(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, MIB, 4 * MIB);
    _json_ json_t *image = json_pack("{ss ss}", "type", "image", "ref", "r");
    uint64_t first = transcript_show(&t, image, false);
    uint64_t second = transcript_show(&t, image, false);
    transcript_await_blob(&t, first, 1);
    transcript_await_blob(&t, second, 1);
    transcript_name_blob(&t, second, "abc");
    transcript_lose_blob(&t, first, "the disk is full");
    _json_ json_t *list = outputs_of(&t);
    const json_t *lost = json_array_get(list, 0), *kept = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(kept, "hash")), "abc");
    assert_null(json_object_get(lost, "hash"));
    assert_non_null(strstr(json_string_value(json_object_get(lost, "text")), "disk is full"));
    transcript_clear(&t, false);
    transcript_name_blob(&t, second, "abc"); /* it is gone */
    finish(&t);
}

static void test_a_picture_is_not_written_down_before_its_blob_is_there(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, MIB, 4 * MIB);
    _json_ json_t *image = json_pack("{ss ss}", "type", "image", "ref", "r");
    uint64_t serial = transcript_show(&t, image, false);
    transcript_await_blob(&t, serial, 1);
    transcript_append(&t, OUTPUT_STDOUT, "x", 1, false);
    _json_ json_t *before = outputs_of(&t);
    assert_int_equal(json_array_size(before), 1);
    transcript_name_blob(&t, serial, "abc");
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "ref")), "r");
    finish(&t);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What the next answer has of a stream. */
static uint64_t answer(struct transcript *t, size_t share, bool is_last, struct buf *out)
{
    transcript_begin_answer(t, is_last);
    uint64_t omitted = transcript_put_text(t, OUTPUT_STDOUT, share, out);
    transcript_end_answer(t);
    return omitted;
}

static void expect_answer(struct transcript *t, bool is_last, const char *text)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    assert_int_equal(answer(t, 1000, is_last, &out), 0);
    assert_string_equal(buf_str(&out), text);
}

static void test_an_answer_begins_where_the_last_one_ended(void **state)
{
    (void)state;
    for (size_t row_text = 0; row_text <= 1024; row_text += 1024) {
        struct transcript t;
        begin(&t, row_text, MIB);
        write_text(&t, 0, "one");
        expect_answer(&t, false, "one");
        expect_answer(&t, false, "");
        write_text(&t, 0, "two\xe2\x82");
        expect_answer(&t, false, "two");
        write_text(&t, 0, "\xac");
        expect_answer(&t, false, "\xe2\x82\xac");
        write_text(&t, 0, "\xe2\x82");
        expect_answer(&t, true, "\xef\xbf\xbd\xef\xbf\xbd"); /* nothing will follow */
        finish(&t);
    }
}

static void test_what_fits_is_whole(void **state)
{
    (void)state;
    for (size_t budget = 9; budget < 30; budget++) {
        struct transcript t;
        _buf_ struct buf out = BUF_INIT(1000);
        begin(&t, 0, 0);
        t.budget = budget;
        for (int i = 0; i < 3; i++)
            write_text(&t, 0, "\xe2\x82\xac");
        assert_int_equal(answer(&t, budget, true, &out), 0);
        assert_string_equal(buf_str(&out), "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
        finish(&t);
    }
}

static void test_head_and_tail_with_the_count_between(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(1000);
    begin(&t, 0, 0);
    t.budget = 10;
    for (int i = 0; i < 1000; i++)
        write_text(&t, 0, "0123456789");
    assert_int_equal(answer(&t, 10, true, &out), 9990);
    assert_string_equal(buf_str(&out), "01234\n[... 9990 bytes left out ...]\n56789");
    finish(&t);
}

static void test_answers_cut_at_characters_only(void **state)
{
    (void)state;
    for (size_t budget = 0; budget < 40; budget++) {
        struct transcript t;
        _buf_ struct buf out = BUF_INIT(1000);
        begin(&t, 0, 0);
        t.budget = budget;
        for (int i = 0; i < 100; i++)
            write_text(&t, 0, "\xf0\x9f\x98\x80");
        uint64_t omitted = answer(&t, budget, true, &out);
        assert_true(omitted >= 400 - budget);
        assert_int_equal(omitted % 4, 0);
        assert_null(strstr(buf_str(&out), "\xef\xbf\xbd"));
        finish(&t);
    }
}

static void test_budget_may_be_larger_than_the_ring(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(10000);
    begin(&t, 0, 0);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_init(&rings[i], 100);
    t.budget = 1000;
    for (int i = 0; i < 100; i++)
        write_text(&t, 0, "0123456789");
    assert_int_equal(answer(&t, 1000, true, &out), 0);
    assert_int_equal(out.len, 1000);
    finish(&t);
}

static void test_a_share_smaller_than_the_budget(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(10000);
    begin(&t, 0, 0);
    t.budget = 1000;
    for (int i = 0; i < 90; i++)
        write_text(&t, 0, "0123456789");
    assert_int_equal(answer(&t, 20, true, &out), 880);
    assert_memory_equal(out.data, "0123456789\n[", 12);
    assert_string_equal(out.data + out.len - 11, "\n0123456789");
    finish(&t);
}

static void test_bytes_that_are_no_text(void **state)
{
    (void)state;
    struct transcript t;
    _buf_ struct buf out = BUF_INIT(100);
    begin(&t, 0, 0);
    transcript_append(&t, OUTPUT_STDOUT, "a\xff\0b", 4, false);
    assert_int_equal(answer(&t, 10, true, &out), 0);
    assert_int_equal(out.len, 6);
    assert_memory_equal(out.data, "a\xef\xbf\xbd\0b", 6);
    finish(&t);
}

/* The outputs of the next answer, "JSON" or "value" each, as texts. */
static void expect_news(struct transcript *t, const char *const *texts)
{
    struct transcript_news *news;
    transcript_begin_answer(t, false);
    size_t n = transcript_list_news(t, &news), i = 0;
    for (; texts[i] != NULL; i++) {
        assert_true(i < n);
        const char *text = json_string_value(json_object_get(news[i].output, "text"));
        assert_string_equal(text, texts[i]);
        if (news[i].json != NULL) { /* it says the same */
            _json_ json_t *read = json_loadb(news[i].json, news[i].len, 0, NULL);
            assert_true(json_equal(read, news[i].output));
        }
    }
    assert_int_equal(n, i);
    transcript_free_news(news, n);
    transcript_end_answer(t);
}

#define EXPECT_NEWS(t, ...) expect_news((t), (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void test_news_are_told_once(void **state)
{
    (void)state;
    for (size_t row_text = 0; row_text <= 1024; row_text += 1024) {
        struct transcript t;
        begin(&t, row_text, MIB);
        show(&t, "one", "x", false);
        show(&t, "other", NULL, false);
        show(&t, "again", "x", true);
        EXPECT_NEWS(&t, "again", "other");
        EXPECT_NEWS(&t);
        show(&t, "third", NULL, false);
        show(&t, "later", "x", true); /* was told: its update stands where it came */
        show(&t, "fourth", NULL, false);
        show(&t, "latest", "x", true);
        EXPECT_NEWS(&t, "third", "latest", "fourth");
        if (row_text > 0)
            EXPECT(&t, "latest", "other", "third", "fourth");
        finish(&t);
    }
}

static void test_a_cleared_row_leaves_the_answer(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, MIB);
    write_text(&t, 0, "text");
    show(&t, "shown", NULL, false);
    transcript_clear_row(&t);
    _json_ json_t *list = outputs_of(&t);
    assert_int_equal(json_array_size(list), 0);
    write_text(&t, 0, " more");
    EXPECT(&t, " more");
    EXPECT_NEWS(&t, "shown");
    finish(&t);

    begin(&t, 1024, MIB);
    write_text(&t, 0, "text");
    transcript_clear_row(&t);
    expect_answer(&t, true, "text");
    finish(&t);
}

static void test_what_is_aside_is_in_no_row(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, MIB);
    write_text(&t, 0, "a");
    transcript_append(&t, OUTPUT_STDOUT, "echo", 4, true);
    write_text(&t, 0, "b");
    EXPECT(&t, "ab");
    expect_answer(&t, false, "aechob");
    finish(&t);
}

static void test_clearing_clears_the_answer_too(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, MIB);
    write_text(&t, 0, "a");
    show(&t, "b", NULL, false);
    transcript_clear(&t, true);
    write_text(&t, 0, "c");
    EXPECT_NEWS(&t);
    write_text(&t, 0, "d");
    transcript_clear(&t, false);
    write_text(&t, 0, "e");
    expect_answer(&t, true, "e");
    finish(&t);
}

static void test_a_closed_row_leaves_the_answer(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 1024, MIB);
    write_text(&t, 0, "text");
    show(&t, "shown", NULL, false);
    _json_ json_t *value = json_pack("{ss ss}", "type", "text", "text", "2");
    transcript_conclude(&t, value, true);
    transcript_close(&t);
    transcript_begin_answer(&t, true);
    struct transcript_news news = transcript_value(&t, value, true);
    assert_int_equal(news.len, strlen("{\"type\":\"text\",\"text\":\"2\"}"));
    EXPECT_NEWS(&t, "shown");
    write_text(&t, 0, " late");
    expect_answer(&t, true, " late");
    transcript_detach(&t);
    assert_int_equal(t.n_items, 0);
    finish(&t);
}

/* Whoever floods gets what there is room for, in the row and in the answer, and no more. */
static void test_a_flood_stays_within_bounds(void **state)
{
    (void)state;
    struct transcript t;
    begin(&t, 4096, 64 * KIB);
    t.budget = 4096;
    char bytes[1000];
    memset(bytes, 'x', sizeof(bytes));
    srand(3);
    for (int i = 0; i < 20000; i++) {
        transcript_append(&t, (enum output_stream)(rand() % 2), bytes, (size_t)rand() % 1000,
                          rand() % 8 == 0);
        if (rand() % 4 == 0)
            show(&t, "output", rand() % 2 ? "id" : NULL, rand() % 2);
        if (rand() % 1000 == 0) {
            _buf_ struct buf out = BUF_INIT(MIB);
            answer(&t, 4096, false, &out);
            assert_true(out.len <= 4096 + 64);
        }
        size_t n_pieces = 0;
        for (size_t k = 0; k < OUTPUT_STREAMS; k++)
            LIST_EACH(&t.streams[k].pieces, node) {
                n_pieces++;
            }
        assert_true(n_pieces < 2000 && t.n_items <= 3 * TRANSCRIPT_ITEMS_MAX);
    }
    assert_true(transcript_answer_bytes(&t) < 2 * MIB);
    finish(&t);
}

/* Random bytes against all that was written: the row has the first and the last of it, and the
 * answers together have everything. */
static void test_random_writing_against_a_model(void **state)
{
    (void)state;
    static char model[200000];
    srand(11);
    for (int round = 0; round < 20; round++) {
        struct transcript t;
        size_t len = 0, told = 0;
        begin(&t, 8192, MIB);
        while (len + 3000 < sizeof(model)) {
            size_t part = (size_t)(rand() % (rand() % 10 == 0 ? 3000 : 30));
            for (size_t i = 0; i < part; i++)
                model[len + i] = (char)('a' + rand() % 26);
            transcript_append(&t, OUTPUT_STDOUT, model + len, part, false);
            len += part;
            if (rand() % 50 > 0)
                continue;
            _buf_ struct buf out = BUF_INIT(MIB);
            assert_int_equal(answer(&t, MIB, false, &out), 0);
            assert_int_equal(out.len, len - told);
            assert_memory_equal(buf_str(&out), model + told, out.len);
            told = len;
        }
        _json_ json_t *list = outputs_of(&t);
        const json_t *output = json_array_get(list, 0);
        const char *text = json_string_value(json_object_get(output, "text"));
        assert_int_equal(json_integer_value(json_object_get(output, "omitted")), len - 8192);
        assert_memory_equal(text, model, 6144);
        assert_memory_equal(text + strlen(text) - 2048, model + len - 2048, 2048);
        finish(&t);
    }
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
        cmocka_unit_test(test_an_answer_begins_where_the_last_one_ended),
        cmocka_unit_test(test_what_fits_is_whole),
        cmocka_unit_test(test_head_and_tail_with_the_count_between),
        cmocka_unit_test(test_answers_cut_at_characters_only),
        cmocka_unit_test(test_budget_may_be_larger_than_the_ring),
        cmocka_unit_test(test_a_share_smaller_than_the_budget),
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_news_are_told_once),
        cmocka_unit_test(test_a_cleared_row_leaves_the_answer),
        cmocka_unit_test(test_what_is_aside_is_in_no_row),
        cmocka_unit_test(test_clearing_clears_the_answer_too),
        cmocka_unit_test(test_a_closed_row_leaves_the_answer),
        cmocka_unit_test(test_a_flood_stays_within_bounds),
        cmocka_unit_test(test_random_writing_against_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
