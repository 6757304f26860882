/* Samples and what they amount to: medians, percentiles, verdicts, numbers for people. cella-bench;
 * owns the samples. */
#include "bench/bench.h"

#include <math.h>
#include <stdarg.h>

void bench_samples_add(struct bench_samples *s, double value)
{
    if (s->n == s->cap) {
        s->cap = MAX((size_t)64, 2 * s->cap);
        s->values = mem_realloc(s->values, s->cap * sizeof(*s->values));
    }
    s->values[s->n++] = value;
}

void bench_add(struct bench *b, enum bench_id id, double value)
{
    if (id != BENCH_N_KINDS)
        bench_samples_add(&b->samples[id], value);
}

bool bench_is_of_section(enum bench_id id, const char *section)
{
    size_t len = strlen(section);
    const char *name = bench_kinds[id].name;
    return strncmp(name, section, len) == 0 && (name[len] == '.' || name[len] == '\0');
}

void bench_forget_section(struct bench *b, const char *section)
{
    for (enum bench_id id = 0; id < BENCH_N_KINDS; id++)
        if (bench_is_of_section(id, section))
            b->samples[id].n = b->samples[id].round_from = 0;
    for (size_t i = 0; i < bench_n_rows; i++)
        if (bench_is_of_section(bench_rows[i].own, section))
            b->rounds[i].n = 0;
}

bool bench_has(const struct bench *b, enum bench_id id)
{
    return b->samples[id].n > 0;
}

void bench_note(struct bench *b, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    buf_printf(&b->notes, "%s\n", line);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The nearest rank: a value that was really measured. */
static double percentile(const double *sorted, size_t n, double share)
{
    size_t rank = (size_t)ceil(share * (double)n);
    return sorted[rank == 0 ? 0 : rank - 1];
}

struct bench_summary bench_summarize(const struct bench *b, enum bench_id id)
{
    const struct bench_samples *s = &b->samples[id];
    if (s->n == 0)
        return (struct bench_summary){0};
    _free_ double *sorted = mem_copy(s->values, s->n * sizeof(*sorted));
    qsort(sorted, s->n, sizeof(*sorted), compare);
    return (struct bench_summary){
        .n = s->n,
        .p50 = percentile(sorted, s->n, 0.50),
        .p99 = percentile(sorted, s->n, 0.99),
        .least = sorted[0],
    };
}

double bench_cost(enum bench_id id, double value)
{
    return bench_kinds[id].unit == BENCH_PER_SECOND ? 1e9 / value : value;
}

double bench_ratio(const struct bench *b, enum bench_id peer)
{
    enum bench_id own = bench_kinds[peer].own;
    if (own == peer || !bench_has(b, own) || !bench_has(b, peer))
        return 0;
    return bench_cost(peer, bench_summarize(b, peer).p50) /
           bench_cost(own, bench_summarize(b, own).p50);
}

struct bench_verdict bench_judge(const struct bench *b, const struct bench_claim *claim)
{
    if (!bench_has(b, claim->id) || !bench_has(b, claim->peer))
        return (struct bench_verdict){0};
    double value = bench_summarize(b, claim->id).p50;
    if (claim->peer != claim->id)
        value = bench_summarize(b, claim->peer).p50 / value;
    bool is_ok = claim->is_at_least ? value >= claim->target : value <= claim->target;
    return (struct bench_verdict){.is_measured = true, .is_ok = is_ok, .value = value};
}

/* --- numbers for people ----------------------------------------------------------------------- */

/* Three digits that count, and no more. */
static void put_rounded(struct buf *out, double value, const char *unit)
{
    int decimals = value >= 100 || value == floor(value) ? 0 : value >= 10 ? 1 : 2;
    buf_printf(out, "%.*f%s", decimals, value, unit);
}

static void put_time(struct buf *out, double ns)
{
    if (ns < 999.5e3)
        put_rounded(out, ns / 1e3, " µs");
    else if (ns < 999.5e6)
        put_rounded(out, ns / 1e6, " ms");
    else
        put_rounded(out, ns / 1e9, " s");
}

static void put_thousands(struct buf *out, double value)
{
    long long whole = llround(value);
    if (whole >= 1000)
        buf_printf(out, "%lld %03lld", whole / 1000, whole % 1000);
    else
        put_rounded(out, value, "");
}

void bench_put_value(struct buf *out, enum bench_unit unit, double value)
{
    switch (unit) {
    case BENCH_NS:
        put_time(out, value);
        break;
    case BENCH_BYTES:
        put_rounded(out, value / 1e6, " MB");
        break;
    case BENCH_PER_SECOND:
        put_thousands(out, value);
        buf_append_str(out, "/s");
        break;
    }
}

void bench_put_factor(struct buf *out, double factor)
{
    if (factor >= 10)
        put_thousands(out, round(factor));
    else
        buf_printf(out, factor < 0.1 ? "%.2g" : "%.1f", factor);
    buf_append_str(out, "×");
}

void bench_put_target(struct buf *out, const struct bench_claim *claim)
{
    buf_append_str(out, claim->is_at_least ? "≥ " : "≤ ");
    if (claim->peer != claim->id)
        bench_put_factor(out, claim->target);
    else
        bench_put_value(out, bench_kinds[claim->id].unit, claim->target);
}
