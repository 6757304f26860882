/* Which calls of a structured cell wait for which. */
#include "ops/chain_plan.h"
#include "unit.h"

static void test_what_only_reads_waits_for_names_alone(void **state)
{
    (void)state;
    struct chain_step steps[] = {
        {.name = "a"}, {.name = "b"}, {.uses = 1 << 0}, {.uses = 1 << 2 | 1 << 1}};
    assert_int_equal(chain_plan_waves(steps, 4, false), 3);
    const unsigned waves[] = {0, 0, 1, 2};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(steps[i].wave, waves[i]);
}

static void test_a_name_that_is_bound_twice_is_bound_in_order(void **state)
{
    (void)state;
    struct chain_step steps[] = {{.name = "a"}, {.name = "b"}, {.name = "a"}};
    assert_int_equal(chain_plan_waves(steps, 3, false), 2);
    assert_int_equal(steps[1].wave, 0);
    assert_int_equal(steps[2].wave, 1);
}

static void test_a_change_waits_for_reads_and_reads_for_changes(void **state)
{
    (void)state;
    struct chain_step steps[] = {{0}, {.changes = true}, {0}, {0}, {.changes = true}};
    assert_int_equal(chain_plan_waves(steps, 5, true), 4);
    const unsigned waves[] = {0, 1, 2, 2, 3};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(steps[i].wave, waves[i]);
}

static void test_changes_meet_if_both_may_and_their_files_differ(void **state)
{
    (void)state;
    struct chain_step steps[] = {{.changes = true, .may_meet = true, .target = "a"},
                                 {.changes = true, .may_meet = true, .target = "b"},
                                 {.changes = true, .may_meet = true, .target = "a"},
                                 {.changes = true}};
    assert_int_equal(chain_plan_waves(steps, 4, false), 4);
    assert_int_equal(chain_plan_waves(steps, 4, true), 3);
    const unsigned waves[] = {0, 0, 1, 2};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(steps[i].wave, waves[i]);
}

static void test_all_that_fit_are_planned(void **state)
{
    (void)state;
    struct chain_step steps[CHAIN_STEPS_MAX] = {{0}};
    for (size_t i = 1; i < CHAIN_STEPS_MAX; i++)
        steps[i].uses = (uint64_t)1 << (i - 1);
    assert_int_equal(chain_plan_waves(steps, CHAIN_STEPS_MAX, false), CHAIN_STEPS_MAX);
    assert_int_equal(chain_plan_in_order(steps, 3), 3);
    assert_int_equal(steps[2].wave, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_only_reads_waits_for_names_alone),
        cmocka_unit_test(test_a_name_that_is_bound_twice_is_bound_in_order),
        cmocka_unit_test(test_a_change_waits_for_reads_and_reads_for_changes),
        cmocka_unit_test(test_changes_meet_if_both_may_and_their_files_differ),
        cmocka_unit_test(test_all_that_fit_are_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
