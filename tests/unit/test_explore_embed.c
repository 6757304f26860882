#include "explore/embed.h"
#include "unit.h"

#include <string.h>

static float similarity(const char *a, const char *b)
{
    int8_t left[EMBED_DIM], right[EMBED_DIM];
    embed_text(a, strlen(a), left);
    embed_text(b, strlen(b), right);
    return embed_cosine(left, right);
}

static const char timeout[] =
    "2026-01-02 03:04:05 ERROR worker 7: connection to database primary timed out after 30 s, "
    "retrying in 5 s; pool has 3 idle connections";
static const char recipe[] =
    "Beat the eggs with sugar until pale, fold in flour and melted butter, bake for forty minutes "
    "in a buttered tin, and let the cake cool before cutting";

static void test_the_same_words_are_near(void **state)
{
    (void)state;
    assert_true(similarity(timeout, timeout) > 0.999f);
    assert_true(similarity("Connection timed out", "timed out: connection!") > 0.999f);
    assert_true(similarity("ERROR in PARSER", "error in parser") > 0.999f);
    assert_true(similarity("connections time out", "connection timed out") > 0.5f);
    assert_true(similarity("größere Fehler im Übertragungsweg", "größerer Fehler im "
                                                                "Übertragungsweg") > 0.7f);
}

static void test_other_words_are_far(void **state)
{
    (void)state;
    assert_true(similarity(timeout, recipe) < 0.3f);
    assert_true(similarity("", recipe) == 0);
    /* Words that every text has say nothing. */
    assert_true(similarity("the of and to in is it", "the of and to in is it") == 0);
    assert_true(similarity("the parser of the file", "the cake of the baker") < 0.3f);
}

/* Once more the same word says little more. */
static void test_a_word_does_not_drown_the_others(void **state)
{
    (void)state;
    char errors[600] = "";
    for (size_t i = 0; i < 90; i++)
        memcpy(errors + i * 6, "error ", 7);
    assert_true(similarity(errors, "error timeout") > 0.5f);
    char mixed[1200];
    memcpy(mixed, timeout, sizeof(timeout) - 1);
    memcpy(mixed + sizeof(timeout) - 1, errors, strlen(errors) + 1);
    assert_true(similarity(mixed, timeout) > 0.7f);
}

/* Vectors are kept, so that they must be the same in every version. */
static void test_a_vector_is_what_it_always_was(void **state)
{
    (void)state;
    int8_t v[EMBED_DIM], again[EMBED_DIM];
    char text[EMBED_DIM + 1];
    embed_text(timeout, strlen(timeout), v);
    embed_write(v, text);
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < EMBED_DIM; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    assert_int_equal(hash, 0xe797dbea);
    assert_true(embed_read(text, EMBED_DIM, again));
    assert_memory_equal(v, again, EMBED_DIM);
    assert_null(strpbrk(text, "\"\\"));
}

static void test_what_is_no_vector_is_refused(void **state)
{
    (void)state;
    int8_t v[EMBED_DIM];
    char text[EMBED_DIM + 1];
    memset(text, '#', EMBED_DIM);
    assert_true(embed_read(text, EMBED_DIM, v));
    assert_int_equal(v[0], -EMBED_LEVEL_MAX);
    assert_false(embed_read(text, EMBED_DIM - 1, v));
    static const char wrong[] = {'"', '\\', '\0', ' ', '\xff'};
    for (size_t i = 0; i < sizeof(wrong); i++) {
        text[EMBED_DIM - 1] = wrong[i];
        assert_false(embed_read(text, EMBED_DIM, v));
    }
    text[EMBED_DIM - 1] = '[';
    assert_true(embed_read(text, EMBED_DIM, v));
    assert_int_equal(v[EMBED_DIM - 1], EMBED_LEVEL_MAX);
}

static void test_any_bytes_have_a_vector(void **state)
{
    (void)state;
    unsigned random = 7;
    char bytes[300];
    for (size_t len = 0; len < sizeof(bytes); len++) {
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)((random = random * 1103515245 + 12345) >> 16);
        /* On the heap and of this length, so that a sanitizer sees who reads on. */
        _free_ char *copy = mem_copy(bytes, len);
        int8_t v[EMBED_DIM];
        embed_text(copy, len, v);
        for (size_t i = 0; i < EMBED_DIM; i++)
            assert_in_range(v[i] + EMBED_LEVEL_MAX, 0, 2 * EMBED_LEVEL_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_words_are_near),
        cmocka_unit_test(test_other_words_are_far),
        cmocka_unit_test(test_a_word_does_not_drown_the_others),
        cmocka_unit_test(test_a_vector_is_what_it_always_was),
        cmocka_unit_test(test_what_is_no_vector_is_refused),
        cmocka_unit_test(test_any_bytes_have_a_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
