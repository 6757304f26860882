#include "explore/log.h"
#include "explore/memory.h"
#include "unit.h"

#include <string.h>

static void test_rewards_and_values(void **state)
{
    (void)state;
    assert_float_equal(memory_reward(MEMORY_SUCCESS, 0, 0), 1, 1e-9);
    assert_float_equal(memory_reward(MEMORY_PARTIAL, 0, 0), 0.3, 1e-9);
    assert_float_equal(memory_reward(MEMORY_FAILURE, 0, 0), -0.5, 1e-9);
    assert_float_equal(memory_reward(MEMORY_SUCCESS, 2, 3), 1 - 0.2 - 0.45, 1e-9);
    assert_float_equal(memory_learn(MEMORY_Q_FIRST, 1), 0.55, 1e-9);
    assert_float_equal(memory_learn(0.01, -0.5), 0, 1e-9);
    double q = MEMORY_Q_FIRST;
    for (int i = 0; i < 1000; i++)
        q = memory_learn(q, 1);
    assert_true(q <= 1 && q > 0.999);
    assert_float_equal(memory_score(0.55, 0.8), 0.385 + 0.24, 1e-9);
}

static void test_ids_are_of_all_texts(void **state)
{
    (void)state;
    char a[MEMORY_ID_SIZE], b[MEMORY_ID_SIZE];
    static const char *const others[][4] = {
        {"a", "", "t", "xy"}, {"", "a", "t", "x"}, {"a", "", "tx", ""}, {"a", "u", "t", "x"}};
    memory_id("a", "", "t", "x", a);
    memory_id("a", "", "t", "x", b);
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), MEMORY_ID_SIZE - 1);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        memory_id(others[i][0], others[i][1], others[i][2], others[i][3], b);
        assert_string_not_equal(a, b);
    }
}

static void expect_action(const char *const *called, const char *action)
{
    _buf_ struct buf out = BUF_INIT(4 * KIB);
    json_t *log = explore_log_new();
    for (; *called != NULL; called++) {
        json_t *next = explore_log_add(log, *called, 4);
        json_decref(log);
        log = next;
    }
    memory_action(log, &out);
    json_decref(log);
    assert_string_equal(buf_str(&out), action);
}

static void test_the_action_is_how_it_was_explored(void **state)
{
    (void)state;
    expect_action((const char *const[]){NULL}, "none");
    expect_action((const char *const[]){"recall", NULL}, "none");
    expect_action((const char *const[]){"peek", "grep", "recall", "grep", NULL},
                  "search: grep 2, peek 1");
    expect_action((const char *const[]){"a", "b", "c", "d", "e", "f", NULL},
                  "mixed: a 1, b 1, c 1, d 1, e 1");
}

/* Twenty of the nearest compete, and five of them are told. */
static void test_the_nearest_and_of_them_the_best(void **state)
{
    (void)state;
    struct memory_finding finding = {.n = 0};
    memory_find_add(&finding, 100, 1, 0.29); /* too far */
    assert_int_equal(finding.n, 0);
    for (uint64_t i = 1; i <= 30; i++) /* the further the more valuable */
        memory_find_add(&finding, i, (double)i / 30, 1 - 0.02 * (double)i);
    assert_int_equal(finding.n, MEMORY_CANDIDATES);
    for (size_t i = 0; i < finding.n; i++)
        assert_int_equal(finding.nearest[i].key, i + 1);
    assert_int_equal(memory_find_end(&finding), MEMORY_RESULTS);
    for (size_t i = 0; i < MEMORY_RESULTS; i++) {
        assert_int_equal(finding.nearest[i].key, MEMORY_CANDIDATES - i);
        assert_float_equal(
            finding.nearest[i].score,
            memory_score((double)(MEMORY_CANDIDATES - i) / 30, finding.nearest[i].similarity),
            1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewards_and_values),
        cmocka_unit_test(test_ids_are_of_all_texts),
        cmocka_unit_test(test_the_action_is_how_it_was_explored),
        cmocka_unit_test(test_the_nearest_and_of_them_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
