/* The baseline: a file of the repository, one row a line, written by a run and read by the next.
 * cella-bench. */
#include "base/fd.h"
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>

enum { BASELINE_MAX_BYTES = 256 << 10 };

static const char *const baseline_units[] = {
    [BENCH_NS] = "ns", [BENCH_BYTES] = "bytes", [BENCH_PER_SECOND] = "per_second"};

/* Ratios hold on another machine more or less, counts do not, so the reader is told. */
static void baseline_describe(const struct bench *b, char *out, size_t size)
{
    struct bench_machine m;
    bench_describe_machine(b, &m);
    snprintf(out, size, "%s, %ld cores, %.0f GB", m.cpu, m.cores, m.memory / 1e9);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int baseline_refuse(struct err *e, const char *path, const char *why)
{
    err_set(e, ERR_INVALID, "the baseline %.200s: %s", path, why);
    return err_advise(e, "`make bench BASELINE=update` writes what is measured now in its place");
}

static bool baseline_find_row(const char *name, size_t *ret)
{
    for (size_t i = 0; i < bench_n_rows; i++) {
        char known[BENCH_ROW_NAME_SIZE];
        bench_row_name(&bench_rows[i], known);
        *ret = i;
        if (strcmp(known, name) == 0)
            return true;
    }
    return false;
}

static bool baseline_number(const json_t *line, const char *name, double *ret)
{
    const json_t *value = json_object_get(line, name);
    *ret = json_number_value(value);
    return json_is_number(value) && *ret >= 0;
}

static int baseline_read_row(const json_t *line, const char *path, bool is_strict,
                             struct bench_baseline *ret, struct err *e)
{
    const char *name = json_string_value(json_object_get(line, "row"));
    double value, low, high;
    char why[160];
    size_t i;
    if (name == NULL)
        return baseline_refuse(e, path, "a line of `rows` has no `row`");
    if (!baseline_number(line, "value", &value) || !baseline_number(line, "low", &low) ||
        !baseline_number(line, "high", &high) || low > value || value > high) {
        snprintf(why, sizeof(why), "%.64s: `low`, `value` and `high` are numbers, in this order",
                 name);
        return baseline_refuse(e, path, why);
    }
    if (!baseline_find_row(name, &i)) {
        snprintf(why, sizeof(why), "%.64s is nothing that bench measures", name);
        return is_strict ? baseline_refuse(e, path, why) : 0;
    }
    ret->rows[i] = (struct bench_baseline_row){
        .is_known = true,
        .figure = {.n_rounds = (size_t)MAX(1, json_integer_value(json_object_get(line, "rounds"))),
                   .value = value,
                   .low = low,
                   .high = high},
        .ours = json_number_value(json_object_get(line, "ours")),
        .theirs = json_number_value(json_object_get(line, "theirs")),
    };
    return 0;
}

int bench_baseline_read(const char *path, bool is_strict, struct bench_baseline *ret, struct err *e)
{
    _free_ char *text = NULL;
    _json_ json_t *file = NULL;
    size_t len = 0;
    *ret = (struct bench_baseline){0};
    int status = fd_read_file(AT_FDCWD, path, BASELINE_MAX_BYTES, &text, &len);
    if (status < 0)
        return baseline_refuse(e, path, strerror(-status));
    struct err why;
    if (json_read_object(text, len, &file, &why) < 0)
        return baseline_refuse(e, path, why.message);
    const json_t *rows = json_object_get(file, "rows");
    const char *machine = json_string_value(json_object_get(file, "machine"));
    if (!json_is_array(rows) || machine == NULL)
        return baseline_refuse(e, path, "it has a `machine` and `rows`");
    snprintf(ret->machine, sizeof(ret->machine), "%s", machine);
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (baseline_read_row(json_array_get(rows, i), path, is_strict, ret, e) < 0)
            return -1;
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct baseline_line {
    char name[BENCH_ROW_NAME_SIZE];
    const struct bench_row *row;
    struct bench_baseline_row what;
};

static int baseline_compare(const void *a, const void *b)
{
    return strcmp(((const struct baseline_line *)a)->name, ((const struct baseline_line *)b)->name);
}

static struct bench_baseline_row baseline_now(const struct bench *b,
                                              const struct bench_baseline *old, size_t row)
{
    if (b->rounds[row].n == 0)
        return old->rows[row];
    return (struct bench_baseline_row){
        .is_known = true,
        .figure = bench_row_figure(b, row),
        .ours = bench_summarize(b, bench_rows[row].own).p50,
        .theirs = bench_summarize(b, bench_rows[row].peer).p50,
    };
}

static void baseline_put_line(struct buf *out, const struct baseline_line *line)
{
    struct json_out o = JSON_OUT(out);
    const struct bench_baseline_row *w = &line->what;
    bool is_factor = bench_row_is_factor(line->row);
    json_put_object(&o);
    json_put_member_str(&o, "row", line->name);
    json_put_member_real(&o, "value", w->figure.value, is_factor ? 9 : 1);
    json_put_member_real(&o, "low", w->figure.low, is_factor ? 9 : 1);
    json_put_member_real(&o, "high", w->figure.high, is_factor ? 9 : 1);
    json_put_member_int(&o, "rounds", (int64_t)w->figure.n_rounds);
    json_put_member_str(&o, "unit",
                        is_factor ? "times" : baseline_units[bench_kinds[line->row->own].unit]);
    if (is_factor) {
        json_put_member_real(&o, "ours", w->ours, 0);
        json_put_member_real(&o, "theirs", w->theirs, 0);
    }
    json_put_object_end(&o);
}

static void baseline_put(struct buf *out, const struct bench *b, const struct bench_baseline *old)
{
    struct baseline_line lines[BENCH_ROWS_MAX];
    char machine[sizeof(old->machine)];
    size_t n = 0;
    for (size_t i = 0; i < bench_n_rows; i++) {
        struct baseline_line line = {.row = &bench_rows[i], .what = baseline_now(b, old, i)};
        bench_row_name(line.row, line.name);
        if (line.what.is_known)
            lines[n++] = line;
    }
    qsort(lines, n, sizeof(lines[0]), baseline_compare);
    baseline_describe(b, machine, sizeof(machine));
    buf_append_str(out,
                   "{\n\"about\":\"What `make bench` compares with; `make bench BASELINE=update` "
                   "writes it. `ours` and `theirs` are for information.\",\n\"machine\":\"");
    json_append_escaped(out, machine, strlen(machine));
    buf_append_str(out, "\",\n\"rows\":[\n");
    for (size_t i = 0; i < n; i++) {
        baseline_put_line(out, &lines[i]);
        buf_append_str(out, i + 1 < n ? ",\n" : "\n");
    }
    buf_append_str(out, "]\n}\n");
}

int bench_baseline_write(const struct bench *b, const struct bench_baseline *old, const char *path,
                         struct err *e)
{
    _buf_ struct buf text = BUF_INIT(BASELINE_MAX_BYTES);
    baseline_put(&text, b, old);
    _fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int status = fd < 0 ? -errno : fd_write_all(fd, buf_str(&text), text.len);
    return status < 0 ? err_errno(e, ERR_UNAVAILABLE, -status, "writing %.256s", path) : 0;
}

bool bench_baseline_is_of_another_machine(const struct bench *b, const struct bench_baseline *base)
{
    char machine[sizeof(base->machine)];
    baseline_describe(b, machine, sizeof(machine));
    return base->machine[0] != '\0' && strcmp(base->machine, machine) != 0;
}
