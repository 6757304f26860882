/* The ratchet: what was measured beside what the baseline has. cella-bench. */
#include "bench/bench.h"

/* Two runs differ by what the rounds of one cannot show: where the daemon's memory lies, how warm
 * the machine is, what its neighbours do. Less than this share is never called a change. */
#define RATCHET_LEAST_CHANGE 0.05

#define RATCHET_LEAST_COUNT 1.0 /* a wake-up more or less a second is none either */

/* Is `more` more than `less` beyond doubt? Each may really be anywhere in its interval, so only if
 * these do not meet. */
static bool ratchet_is_more(const struct bench_row *row, const struct bench_figure *more,
                            const struct bench_figure *less)
{
    double least = RATCHET_LEAST_CHANGE * less->value;
    if (!bench_row_is_factor(row) && bench_kinds[row->own].unit == BENCH_PER_SECOND)
        least = MAX(least, RATCHET_LEAST_COUNT);
    return more->low > less->high && more->value - less->value > least;
}

enum bench_mark bench_compare(const struct bench_row *row, const struct bench_figure *before,
                              const struct bench_figure *now)
{
    bool is_more_better = bench_row_is_factor(row);
    if (ratchet_is_more(row, now, before))
        return is_more_better ? BENCH_ROW_BETTER : BENCH_ROW_WORSE;
    if (ratchet_is_more(row, before, now))
        return is_more_better ? BENCH_ROW_WORSE : BENCH_ROW_BETTER;
    return BENCH_ROW_SAME;
}

enum bench_mark bench_judge_row(const struct bench *b, const struct bench_baseline *base,
                                size_t row)
{
    const struct bench_baseline_row *before = &base->rows[row];
    const struct bench_row *r = &bench_rows[row];
    struct bench_figure now = bench_row_figure(b, row);
    if (now.n_rounds > 0)
        return before->is_known ? bench_compare(r, &before->figure, &now) : BENCH_ROW_NEW;
    bool is_lost = before->is_known && bench_row_is_factor(r) && bench_has(b, r->peer);
    return is_lost ? BENCH_ROW_LOST : BENCH_ROW_ABSENT;
}

bool bench_is_worse(enum bench_mark mark)
{
    return mark == BENCH_ROW_WORSE || mark == BENCH_ROW_LOST;
}

const char *bench_mark_word(enum bench_mark mark)
{
    static const char *const words[] = {
        [BENCH_ROW_NEW] = "new",     [BENCH_ROW_SAME] = "same", [BENCH_ROW_BETTER] = "better",
        [BENCH_ROW_WORSE] = "worse", [BENCH_ROW_LOST] = "lost", [BENCH_ROW_ABSENT] = "not measured",
    };
    return words[mark];
}
