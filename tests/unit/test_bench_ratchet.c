#include "bench/bench.h"
#include "unit.h"

/* What the ratchet of `cella-bench` makes of numbers. */

static const struct bench_row factor = {BENCH_LIVE_TCP, BENCH_LIVE_IPYTHON};
static const struct bench_row bytes = {BENCH_MEMORY_PSS, BENCH_MEMORY_PSS};
static const struct bench_row wakeups = {BENCH_IDLE_WAKEUPS, BENCH_IDLE_WAKEUPS};

static struct bench_figure figure(double value, double noise)
{
    return (struct bench_figure){
        .n_rounds = 8, .value = value, .low = value - noise, .high = value + noise};
}

static enum bench_mark compare(const struct bench_row *row, struct bench_figure before,
                               struct bench_figure now)
{
    return bench_compare(row, &before, &now);
}

static void the_median_is_in_the_middle(void **state)
{
    (void)state;
    double one[] = {7}, odd[] = {9, 1, 5}, even[] = {4, 1, 100, 2};
    assert_float_equal(bench_median(one, 1), 7, 0);
    assert_float_equal(bench_median(odd, 3), 5, 0);
    assert_float_equal(bench_median(even, 4), 3, 0);
    assert_float_equal(odd[0], 9, 0); /* the order stays */
}

static void few_rounds_have_all_of_their_spread_as_noise(void **state)
{
    (void)state;
    double six[] = {10, 12, 11, 9, 10, 13};
    struct bench_figure f = bench_figure_of(six, 6);
    assert_int_equal(f.n_rounds, 6);
    assert_float_equal(f.value, 10.5, 0);
    assert_float_equal(f.low, 9, 0);
    assert_float_equal(f.high, 13, 0);
    assert_float_equal(bench_noise(&f), 2 / 10.5, 1e-6);
    double one[] = {10};
    f = bench_figure_of(one, 1); /* nothing is known of its spread */
    assert_float_equal(f.low, 0, 0);
    assert_float_equal(f.high, 20, 0);
    assert_int_equal(bench_figure_of(NULL, 0).n_rounds, 0);
}

/* Of 20 rounds the ranks 6 and 15 hold the median in 96 of 100 cases. */
static void many_rounds_leave_out_their_ends(void **state)
{
    (void)state;
    double twenty[20];
    for (size_t i = 0; i < 20; i++)
        twenty[i] = (double)(20 - i);
    struct bench_figure f = bench_figure_of(twenty, 20);
    assert_float_equal(f.value, 10.5, 0);
    assert_float_equal(f.low, 6, 0);
    assert_float_equal(f.high, 15, 0);
    twenty[0] = 1e6; /* one round was disturbed */
    f = bench_figure_of(twenty, 20);
    assert_float_equal(f.value, 10.5, 0);
    assert_float_equal(f.low, 6, 0);
    assert_float_equal(f.high, 15, 0);
}

static void a_change_within_the_noise_is_none(void **state)
{
    (void)state;
    assert_int_equal(compare(&factor, figure(30, 2), figure(26.5, 2)), BENCH_ROW_SAME);
    assert_int_equal(compare(&factor, figure(30, 2), figure(25.5, 2)), BENCH_ROW_WORSE);
    assert_int_equal(compare(&factor, figure(30, 2), figure(34.5, 2)), BENCH_ROW_BETTER);
    /* Less than 5 % never counts, however quiet the machine is. */
    assert_int_equal(compare(&factor, figure(30, 0), figure(28.7, 0)), BENCH_ROW_SAME);
    assert_int_equal(compare(&factor, figure(30, 0), figure(28, 0)), BENCH_ROW_WORSE);
}

static void less_of_a_count_is_better(void **state)
{
    (void)state;
    assert_int_equal(compare(&bytes, figure(4e6, 0), figure(5e6, 0)), BENCH_ROW_WORSE);
    assert_int_equal(compare(&bytes, figure(4e6, 0), figure(3e6, 0)), BENCH_ROW_BETTER);
    assert_int_equal(compare(&bytes, figure(4e6, 6e5), figure(5e6, 6e5)), BENCH_ROW_SAME);
    assert_int_equal(compare(&wakeups, figure(0, 0), figure(1, 0)), BENCH_ROW_SAME);
    assert_int_equal(compare(&wakeups, figure(0, 0), figure(2, 0)), BENCH_ROW_WORSE);
}

static size_t find_row(enum bench_id own, enum bench_id peer)
{
    for (size_t i = 0; i < bench_n_rows; i++)
        if (bench_rows[i].own == own && bench_rows[i].peer == peer)
            return i;
    fail_msg("no such row");
    return 0;
}

static void a_row_that_is_gone_is_lost_only_beside_its_peer(void **state)
{
    (void)state;
    struct bench *b = mem_alloc(sizeof(*b));
    struct bench_baseline *base = mem_alloc(sizeof(*base));
    size_t row = find_row(BENCH_LIVE_TCP, BENCH_LIVE_IPYTHON);
    assert_int_equal(bench_judge_row(b, base, row), BENCH_ROW_ABSENT);
    base->rows[row] = (struct bench_baseline_row){.is_known = true, .figure = figure(30, 1)};
    assert_int_equal(bench_judge_row(b, base, row), BENCH_ROW_ABSENT);
    bench_add(b, BENCH_LIVE_IPYTHON, 4e6);
    assert_int_equal(bench_judge_row(b, base, row), BENCH_ROW_LOST);
    assert_true(bench_is_worse(BENCH_ROW_LOST) && bench_is_worse(BENCH_ROW_WORSE));
    assert_false(bench_is_worse(BENCH_ROW_ABSENT) || bench_is_worse(BENCH_ROW_NEW));
    for (size_t i = 0; i < BENCH_N_KINDS; i++)
        free(b->samples[i].values);
    free(b);
    free(base);
}

/* Adds four of Cella and two of its peer, twice as slow; the second round is disturbed for both. */
static int twice_as_slow(struct bench *b, void *subject, unsigned index, struct err *e)
{
    double slow = index == 1 ? 10 : 1;
    (void)subject, (void)e;
    for (unsigned i = 0; i < 4; i++)
        bench_add(b, BENCH_LIVE_TCP, 100 * slow);
    for (unsigned i = 0; i < 2; i++)
        bench_add(b, BENCH_LIVE_RAW, 200 * slow);
    return 0;
}

static void every_round_gives_one_ratio(void **state)
{
    (void)state;
    struct bench *b = mem_alloc(sizeof(*b));
    struct err e;
    struct bench_series series = {twice_as_slow, NULL, .least = 5, .budget_ms = 60000};
    assert_int_equal(bench_rounds(b, &series, &e), 0);
    struct bench_figure f = bench_row_figure(b, find_row(BENCH_LIVE_TCP, BENCH_LIVE_RAW));
    assert_int_equal(f.n_rounds, 5); /* no spread: more are not needed */
    assert_float_equal(f.value, 2, 0);
    assert_float_equal(bench_noise(&f), 0, 0);
    bench_forget_section(b, "live");
    assert_false(bench_has(b, BENCH_LIVE_TCP));
    assert_int_equal(bench_row_figure(b, find_row(BENCH_LIVE_TCP, BENCH_LIVE_RAW)).n_rounds, 0);
    for (size_t i = 0; i < BENCH_N_KINDS; i++)
        free(b->samples[i].values);
    for (size_t i = 0; i < BENCH_ROWS_MAX; i++)
        free(b->rounds[i].values);
    free(b);
}

static void every_row_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < bench_n_rows; i++)
        for (size_t j = 0; j < i; j++) {
            char one[BENCH_ROW_NAME_SIZE], other[BENCH_ROW_NAME_SIZE];
            bench_row_name(&bench_rows[i], one);
            bench_row_name(&bench_rows[j], other);
            assert_string_not_equal(one, other);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_is_in_the_middle),
        cmocka_unit_test(few_rounds_have_all_of_their_spread_as_noise),
        cmocka_unit_test(many_rounds_leave_out_their_ends),
        cmocka_unit_test(a_change_within_the_noise_is_none),
        cmocka_unit_test(less_of_a_count_is_better),
        cmocka_unit_test(a_row_that_is_gone_is_lost_only_beside_its_peer),
        cmocka_unit_test(every_round_gives_one_ratio),
        cmocka_unit_test(every_row_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests_name("cli_bench", tests, NULL, NULL);
}
