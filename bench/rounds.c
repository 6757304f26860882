/* Rounds: Cella and its peers take turns in each, and each gives one figure for every row.
 * cella-bench. */
#include "base/clock.h"
#include "bench/bench.h"

#include <math.h>

enum { ROUNDS_QUICK = 3, ROUNDS_MOST = 40 };

#define ROUNDS_NOISE_ENOUGH 0.02 /* of the value: more rounds would not change a verdict */

/* --- one number out of many rounds ------------------------------------------------------------ */

static int rounds_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(const double *values, size_t n)
{
    _free_ double *sorted = mem_copy(values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), rounds_compare);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* The median, because one round that something else disturbed must not move it. Its noise is the
 * interval between two ranks in which the true median lies in 19 of 20 cases, whatever the shape of
 * the distribution: by the binomial distribution these ranks lie 0.98 times the root of n from the
 * middle. So nothing needs to be known of how this machine disturbs. One round says nothing of its
 * spread: it may be anything up to twice as much. */
struct bench_figure bench_figure_of(const double *rounds, size_t n)
{
    if (n == 0)
        return (struct bench_figure){0};
    if (n == 1)
        return (struct bench_figure){.n_rounds = 1, .value = rounds[0], .high = 2 * rounds[0]};
    _free_ double *sorted = mem_copy(rounds, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), rounds_compare);
    double rank = ceil((double)n / 2 - 0.98 * sqrt((double)n));
    size_t low = rank < 1 ? 0 : (size_t)rank - 1;
    return (struct bench_figure){.n_rounds = n,
                                 .value = bench_median(rounds, n),
                                 .low = sorted[low],
                                 .high = sorted[n - 1 - low]};
}

double bench_noise(const struct bench_figure *f)
{
    return f->value > 0 ? (f->high - f->low) / 2 / f->value : 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

bool bench_row_is_factor(const struct bench_row *row)
{
    return row->own != row->peer;
}

void bench_row_name(const struct bench_row *row, char ret_name[BENCH_ROW_NAME_SIZE])
{
    const char *own = bench_kinds[row->own].name, *peer = bench_kinds[row->peer].name;
    if (bench_row_is_factor(row))
        snprintf(ret_name, BENCH_ROW_NAME_SIZE, "%s beside %s", own, peer);
    else
        snprintf(ret_name, BENCH_ROW_NAME_SIZE, "%s", own);
}

struct bench_figure bench_row_figure(const struct bench *b, size_t row)
{
    return bench_figure_of(b->rounds[row].values, b->rounds[row].n);
}

/* The median of this round; false if there is none. */
static bool rounds_last(const struct bench *b, enum bench_id id, double *ret)
{
    const struct bench_samples *s = &b->samples[id];
    if (s->n == s->round_from)
        return false;
    *ret = bench_median(s->values + s->round_from, s->n - s->round_from);
    return true;
}

static void rounds_begin(struct bench *b)
{
    for (enum bench_id id = 0; id < BENCH_N_KINDS; id++)
        b->samples[id].round_from = b->samples[id].n;
}

static void rounds_end(struct bench *b)
{
    for (size_t i = 0; i < bench_n_rows; i++) {
        const struct bench_row *row = &bench_rows[i];
        double own, peer;
        if (!rounds_last(b, row->own, &own) || !rounds_last(b, row->peer, &peer))
            continue;
        bool is_factor = bench_row_is_factor(row);
        bench_samples_add(&b->rounds[i],
                          is_factor ? bench_cost(row->peer, peer) / bench_cost(row->own, own)
                                    : own);
    }
}

/* Of the rows that had something in the last round. */
static bool rounds_are_enough(const struct bench *b)
{
    for (size_t i = 0; i < bench_n_rows; i++) {
        double ignored;
        if (!rounds_last(b, bench_rows[i].own, &ignored) ||
            !rounds_last(b, bench_rows[i].peer, &ignored))
            continue;
        struct bench_figure f = bench_row_figure(b, i);
        if (bench_noise(&f) > ROUNDS_NOISE_ENOUGH)
            return false;
    }
    return true;
}

int bench_rounds(struct bench *b, const struct bench_series *series, struct err *e)
{
    unsigned least = b->is_quick ? MIN(series->least, (unsigned)ROUNDS_QUICK) : series->least;
    uint64_t budget_ms = b->is_quick ? series->budget_ms / 4 : series->budget_ms;
    uint64_t end_ms = clock_mono_ms() + budget_ms;
    for (unsigned i = 0; i < ROUNDS_MOST; i++) {
        if (i >= least && (clock_mono_ms() >= end_ms || rounds_are_enough(b)))
            return 0;
        rounds_begin(b);
        if (series->round(b, series->subject, i, e) < 0)
            return -1;
        rounds_end(b);
        if (bench_pause(0, e) < 0)
            return -1;
    }
    return 0;
}
