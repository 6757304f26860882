#include "base/ids.h"
#include "base/map.h"
#include "unit.h"

static void uuids_are_version_4_and_differ(void **state)
{
    (void)state;
    struct map seen = {0};
    for (int i = 0; i < 5000; i++) {
        char id[UUID_SIZE];
        ids_uuid(id);
        assert_true(ids_is_uuid(id, strlen(id)));
        assert_int_equal(id[14], '4');
        assert_non_null(strchr("89ab", id[19]));
        assert_null(map_get(&seen, id));
        map_set(&seen, id, &seen);
    }
    map_free(&seen);
}

static void only_our_spelling_is_a_uuid(void **state)
{
    (void)state;
    static const char good[] = "01234567-89ab-4cde-8f01-23456789abcd";
    assert_true(ids_is_uuid(good, 36));
    assert_false(ids_is_uuid(good, 35));
    assert_false(ids_is_uuid("01234567-89ab-4cde-8f01-23456789abcd0", 37));
    assert_false(ids_is_uuid("01234567-89AB-4cde-8f01-23456789abcd", 36));
    assert_false(ids_is_uuid("01234567089ab-4cde-8f01-23456789abcd", 36));
    assert_false(ids_is_uuid("01234567-89ab-4cde-8f01-23456789abc/", 36));
    assert_false(ids_is_uuid("../../../../../../../../../etc/passw", 36));
    assert_false(ids_is_uuid("", 0));
}

static void tokens_are_url_safe(void **state)
{
    (void)state;
    char a[TOKEN_SIZE], b[TOKEN_SIZE];
    ids_token(a);
    ids_token(b);
    assert_int_equal(strlen(a), 43);
    assert_string_not_equal(a, b);
    assert_int_equal(strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                     43);
}

static void secrets_compare_whole(void **state)
{
    (void)state;
    assert_true(ids_equal_secret("abc", "abc"));
    assert_true(ids_equal_secret("", ""));
    assert_false(ids_equal_secret("abc", "abd"));
    assert_false(ids_equal_secret("ab", "abc"));
    assert_false(ids_equal_secret("abcabc", "abc"));
    assert_false(ids_equal_secret("abc", ""));
    assert_false(ids_equal_secret("", "abc"));
}

static void random_bytes_fill_everything(void **state)
{
    (void)state;
    /* Over 256 bytes the kernel may answer in pieces. */
    _free_ unsigned char *bytes = mem_alloc(100000);
    ids_random(bytes, 100000);
    size_t counts[256] = {0};
    for (size_t i = 0; i < 100000; i++)
        counts[bytes[i]]++;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        assert_in_range(counts[i], 200, 600);
    ids_random(bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uuids_are_version_4_and_differ),
        cmocka_unit_test(only_our_spelling_is_a_uuid),
        cmocka_unit_test(tokens_are_url_safe),
        cmocka_unit_test(secrets_compare_whole),
        cmocka_unit_test(random_bytes_fill_everything),
    };
    return cmocka_run_group_tests_name("base_ids", tests, NULL, NULL);
}
