#include "base/map.h"
#include "unit.h"

enum { MANY = 50000 };

static const char *name(size_t i)
{
    static char text[32];
    snprintf(text, sizeof(text), "key-%zu", i);
    return text;
}

static void *value(size_t i)
{
    return (void *)(uintptr_t)(i + 1);
}

static void an_empty_map_answers(void **state)
{
    (void)state;
    struct map m = {0};
    size_t at = 0;
    const char *key;
    void *found;
    assert_null(map_get(&m, "x"));
    assert_null(map_remove(&m, "x"));
    assert_false(map_next(&m, &at, &key, &found));
    map_free(&m);
}

static void keys_are_copied_and_replaced(void **state)
{
    (void)state;
    struct map m = {0};
    char key[] = "abc";
    map_set(&m, key, value(1));
    key[0] = 'x';
    assert_ptr_equal(map_get(&m, "abc"), value(1));
    assert_null(map_get(&m, "xbc"));
    map_set(&m, "abc", value(2));
    assert_ptr_equal(map_get(&m, "abc"), value(2));
    assert_int_equal(m.count, 1);
    map_set(&m, "", value(3));
    assert_ptr_equal(map_get(&m, ""), value(3));
    map_free(&m);
}

static void many_entries_come_and_go(void **state)
{
    (void)state;
    struct map m = {0};
    for (size_t i = 0; i < MANY; i++)
        map_set(&m, name(i), value(i));
    for (size_t i = 0; i < MANY; i += 2)
        assert_ptr_equal(map_remove(&m, name(i)), value(i));
    assert_int_equal(m.count, MANY / 2);
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(map_get(&m, name(i)), i % 2 ? value(i) : NULL);
    map_free(&m);
}

/* Sessions live like this: a few at a time, without end. */
static void churn_does_not_grow_it(void **state)
{
    (void)state;
    struct map m = {0};
    for (size_t i = 0; i < 4 * MANY; i++) {
        map_set(&m, name(i), value(i));
        if (i >= 10)
            assert_ptr_equal(map_remove(&m, name(i - 10)), value(i - 10));
    }
    assert_int_equal(m.count, 10);
    assert_true(m.size <= 64);
    assert_null(map_get(&m, "absent"));
    map_free(&m);
}

static void a_walk_sees_each_entry_once(void **state)
{
    (void)state;
    struct map m = {0};
    static bool seen[1000];
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        map_set(&m, name(i), value(i));
    map_remove(&m, name(5));
    size_t at = 0, n = 0;
    const char *key;
    void *found;
    while (map_next(&m, &at, &key, &found)) {
        size_t i = (size_t)(uintptr_t)found - 1;
        assert_string_equal(key, name(i));
        assert_false(seen[i]);
        seen[i] = true;
        n++;
    }
    assert_int_equal(n, ARRAY_LEN(seen) - 1);
    assert_false(seen[5]);
    map_free(&m);
}

static void two_maps_hash_differently(void **state)
{
    (void)state;
    struct map a = {0}, b = {0};
    map_set(&a, "x", value(0));
    map_set(&b, "x", value(0));
    assert_true(a.seed != b.seed);
    map_free(&a);
    map_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_answers),
        cmocka_unit_test(keys_are_copied_and_replaced),
        cmocka_unit_test(many_entries_come_and_go),
        cmocka_unit_test(churn_does_not_grow_it),
        cmocka_unit_test(a_walk_sees_each_entry_once),
        cmocka_unit_test(two_maps_hash_differently),
    };
    return cmocka_run_group_tests_name("base_map", tests, NULL, NULL);
}
