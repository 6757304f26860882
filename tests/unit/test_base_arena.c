#include "base/arena.h"
#include "unit.h"

static void allocations_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct arena a = {0};
    char *blocks[2000];
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        size_t size = i * 7 % 500;
        blocks[i] = arena_alloc(&a, size);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
        for (size_t k = 0; k < i * 7 % 500; k++)
            assert_int_equal((unsigned char)blocks[i][k], i & 0xff);
    arena_free(&a);
}

static void large_allocations_get_their_own_block(void **state)
{
    (void)state;
    struct arena a = {0};
    size_t before = mem_in_use();
    char *small = arena_strdup(&a, "small");
    char *large = arena_alloc(&a, 10 * MIB);
    large[0] = large[10 * MIB - 1] = 'x';
    assert_string_equal(small, "small");
    assert_true(mem_in_use() >= before + 10 * MIB);
    arena_free(&a);
    assert_true(mem_in_use() < before + 64 * KIB); /* small ones may stay at hand */
}

static void copies_end_with_a_nul(void **state)
{
    (void)state;
    struct arena a = {0};
    const char bytes[4] = {'a', '\0', 'b', 'c'};
    char *copy = arena_copy(&a, bytes, sizeof(bytes));
    assert_memory_equal(copy, "a\0bc", 5);
    assert_string_equal(arena_copy(&a, NULL, 0), "");
    arena_free(&a);
}

static void printf_of_any_length(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(arena_printf(&a, "%s", ""), "");
    assert_int_equal(strlen(arena_printf(&a, "%050000d", 1)), 50000);
    arena_free(&a);
}

static void empty_and_reusable_after_free(void **state)
{
    (void)state;
    struct arena a = {0};
    arena_free(&a);
    arena_strdup(&a, "one");
    arena_free(&a);
    assert_null(a.blocks);
    assert_string_equal(arena_strdup(&a, "two"), "two");
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_zeroed_aligned_and_apart),
        cmocka_unit_test(large_allocations_get_their_own_block),
        cmocka_unit_test(copies_end_with_a_nul),
        cmocka_unit_test(printf_of_any_length),
        cmocka_unit_test(empty_and_reusable_after_free),
    };
    return cmocka_run_group_tests_name("base_arena", tests, NULL, NULL);
}
