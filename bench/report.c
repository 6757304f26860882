/* The report: tables in Markdown, figures, what was promised and what came of it. cella-bench. */
#include "base/clock.h"
#include "base/fd.h"
#include "bench/bench.h"
#include "cli/terminal.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { REPORT_MAX = 1 << 20, CELL_SIZE = 64 };

static const char *const unit_names[] = {
    [BENCH_NS] = "ns",
    [BENCH_BYTES] = "bytes",
    [BENCH_PER_SECOND] = "per_second",
};

/* --- cells of tables -------------------------------------------------------------------------- */

struct cell {
    char text[CELL_SIZE];
};

static struct cell cell_of(struct buf *made)
{
    struct cell c;
    snprintf(c.text, sizeof(c.text), "%s", buf_str(made));
    buf_free(made);
    return c;
}

static struct cell value_cell(enum bench_unit unit, double value)
{
    struct buf b = BUF_INIT(CELL_SIZE);
    bench_put_value(&b, unit, value);
    return cell_of(&b);
}

static struct cell factor_cell(double factor)
{
    struct buf b = BUF_INIT(CELL_SIZE);
    if (factor > 0)
        bench_put_factor(&b, factor);
    return cell_of(&b);
}

static struct cell target_cell(const struct bench_claim *claim)
{
    struct buf b = BUF_INIT(CELL_SIZE);
    bench_put_target(&b, claim);
    return cell_of(&b);
}

static struct cell measured_cell(const struct bench_claim *claim, const struct bench_verdict *v)
{
    if (!v->is_measured)
        return (struct cell){"-"};
    if (claim->peer != claim->id)
        return factor_cell(v->value);
    return value_cell(bench_kinds[claim->id].unit, v->value);
}

/* The slow end of many samples; a rate or a size has none. */
static struct cell p99_cell(const struct bench_kind *kind, const struct bench_summary *s)
{
    if (kind->unit != BENCH_NS || s->n < 2)
        return (struct cell){""};
    return value_cell(kind->unit, s->p99);
}

/* A row's number: a count in its unit, a factor with three digits that count. */
static struct cell row_cell(const struct bench_row *row, double value)
{
    struct cell c;
    if (!bench_row_is_factor(row))
        return value_cell(bench_kinds[row->own].unit, value);
    snprintf(c.text, sizeof(c.text),
             value >= 100  ? "%.0f×"
             : value >= 10 ? "%.1f×"
                           : "%#.3g×",
             value);
    return c;
}

/* "29.1× ± 2 %", or nothing if there is none. */
static struct cell figure_cell(const struct bench_row *row, const struct bench_figure *f)
{
    struct cell c = {""};
    if (f->n_rounds > 0)
        snprintf(c.text, sizeof(c.text), "%.40s ± %.0f %%", row_cell(row, f->value).text,
                 100 * bench_noise(f));
    return c;
}

/* Rows of sections that did not run are left out. */
static bool is_row_shown(const struct bench *b, const struct bench_baseline *base, size_t row)
{
    if (b->rounds[row].n > 0)
        return true;
    if (!base->rows[row].is_known)
        return false;
    for (size_t i = 0; i < bench_n_sections; i++)
        if (bench_is_of_section(bench_rows[row].own, bench_sections[i].name))
            return b->has_run[i];
    return false;
}

static const char *verdict_word(const struct bench_verdict *v)
{
    return !v->is_measured ? "not measured" : v->is_ok ? "ok" : "missed";
}

/* A claim whose section did not run is left out; one whose peer is missing is not. */
static bool is_claimed(const struct bench *b, const struct bench_claim *claim)
{
    return bench_has(b, claim->id);
}

/* --- the terminal ----------------------------------------------------------------------------- */

/* Padding counts characters, not bytes. */
static void put_padded(struct buf *out, const char *text, int width)
{
    int n = 0;
    for (const char *c = text; *c != '\0'; c++)
        n += (*c & 0xc0) != 0x80;
    int pad = MAX(0, abs(width) - n);
    buf_printf(out, "%*s%s%*s", width > 0 ? 0 : pad, "", text, width > 0 ? pad : 0, "");
}

static void put_claim(struct buf *out, const struct bench *b, const struct bench_claim *claim,
                      bool is_coloured)
{
    struct bench_verdict v = bench_judge(b, claim);
    const char *colour = v.is_ok ? "\033[32m" : "\033[33m";
    put_padded(out, claim->what, 52);
    put_padded(out, target_cell(claim).text, -12);
    put_padded(out, measured_cell(claim, &v).text, -12);
    buf_printf(out, "  %s%s%s\n", is_coloured ? colour : "", verdict_word(&v),
               is_coloured ? "\033[0m" : "");
}

static void put_row(struct buf *out, const struct bench *b, const struct bench_baseline *base,
                    size_t row, bool is_coloured)
{
    const struct bench_row *r = &bench_rows[row];
    enum bench_mark mark = bench_judge_row(b, base, row);
    struct bench_figure now = bench_row_figure(b, row);
    char name[BENCH_ROW_NAME_SIZE];
    bench_row_name(r, name);
    put_padded(out, name, 54);
    put_padded(out, figure_cell(r, &now).text, -16);
    put_padded(out, figure_cell(r, &base->rows[row].figure).text, -16);
    const char *colour = bench_is_worse(mark) ? "\033[31m" : "\033[32m";
    bool is_plain = !is_coloured || (!bench_is_worse(mark) && mark != BENCH_ROW_BETTER);
    buf_printf(out, "  %s%s%s\n", is_plain ? "" : colour, bench_mark_word(mark),
               is_plain ? "" : "\033[0m");
}

static void put_rows(struct buf *out, const struct bench *b, const struct bench_baseline *base,
                     bool is_coloured)
{
    buf_printf(out, "\n%-54s%16s%16s\n", "how many times Cella's, or how much", "now", "baseline");
    for (size_t i = 0; i < bench_n_rows; i++)
        if (is_row_shown(b, base, i))
            put_row(out, b, base, i, is_coloured);
    if (bench_baseline_is_of_another_machine(b, base))
        buf_printf(out, "the baseline is of another machine: %s\n", base->machine);
    /* Other work slows a chain of three processes more than a peer of one: that is no noise. */
    if (b->load_before > 1)
        buf_printf(out,
                   "the machine had other work (load %.1f before the start): do not record or "
                   "believe this\n",
                   b->load_before);
}

static void put_kind(struct buf *out, const struct bench *b, enum bench_id id)
{
    const struct bench_kind *kind = &bench_kinds[id];
    struct bench_summary s = bench_summarize(b, id);
    buf_append_str(out, "  ");
    put_padded(out, kind->who, 42);
    buf_printf(out, "%8zu", s.n);
    put_padded(out, value_cell(kind->unit, s.p50).text, -12);
    put_padded(out, p99_cell(kind, &s).text, -12);
    put_padded(out, factor_cell(bench_ratio(b, id)).text, -12);
    buf_append_char(out, '\n');
}

static bool is_first_of_its_kind(const struct bench *b, enum bench_id id)
{
    for (enum bench_id i = 0; i < id; i++)
        if (bench_has(b, i) && strcmp(bench_kinds[i].what, bench_kinds[id].what) == 0)
            return false;
    return true;
}

static void put_machine(struct buf *out, const struct bench *b)
{
    struct bench_machine m;
    bench_describe_machine(b, &m);
    buf_printf(out, "%s, %ld cores%s, %.0f GB of memory, Linux %s, %s; %s", m.cpu, m.cores,
               m.is_virtual ? " of a virtual machine" : "", m.memory / 1e9, m.kernel, m.system,
               m.python);
    if (m.node[0] != '\0')
        buf_printf(out, ", Node.js %s", m.node);
    if (m.bash[0] != '\0')
        buf_printf(out, ", %s", m.bash);
    if (m.ipython[0] != '\0')
        buf_printf(out, ", %s", m.ipython);
    if (m.bwrap[0] != '\0')
        buf_printf(out, ", %s", m.bwrap);
    buf_printf(out, "; Cella %s; load %.1f before the start; it took %llu s", CELLA_VERSION,
               b->load_before, (unsigned long long)(clock_mono_ms() - b->began_ms) / 1000);
}

void bench_print_table(const struct bench *b, const struct bench_baseline *base)
{
    _buf_ struct buf out = BUF_INIT(REPORT_MAX);
    bool is_coloured = cli_is_coloured(STDOUT_FILENO);
    put_machine(&out, b);
    buf_printf(&out, "\n\n%-52s%12s%12s\n", "what is promised", "target", "measured");
    for (size_t i = 0; i < bench_n_claims; i++)
        if (is_claimed(b, &bench_claims[i]))
            put_claim(&out, b, &bench_claims[i], is_coloured);
    buf_printf(&out, "\n%-44s%8s%12s%12s%12s\n", "everything measured", "n", "p50", "p99",
               "of Cella's");
    for (enum bench_id id = 0; id < BENCH_N_KINDS; id++) {
        if (!bench_has(b, id))
            continue;
        if (is_first_of_its_kind(b, id))
            buf_printf(&out, "%s\n", bench_kinds[id].what);
        put_kind(&out, b, id);
    }
    put_rows(&out, b, base, is_coloured);
    if (b->notes.len > 0)
        buf_printf(&out, "\nnot measured:\n%s", buf_str(&b->notes));
    fd_write_all(STDOUT_FILENO, buf_str(&out), out.len);
}

/* --- for programs ----------------------------------------------------------------------------- */

static void json_put_kind(struct json_out *o, const struct bench *b, enum bench_id id)
{
    const struct bench_kind *kind = &bench_kinds[id];
    struct bench_summary s = bench_summarize(b, id);
    json_put_object(o);
    json_put_member_str(o, "name", kind->name);
    json_put_member_str(o, "what", kind->what);
    json_put_member_str(o, "who", kind->who);
    json_put_member_bool(o, "is_cella", kind->is_ours);
    json_put_member_str(o, "unit", unit_names[kind->unit]);
    json_put_member_int(o, "n", (int64_t)s.n);
    json_put_member_real(o, "p50", s.p50, 1);
    json_put_member_real(o, "p99", s.p99, 1);
    json_put_member_real(o, "min", s.least, 1);
    json_put_key(o, "ratio_to_cella");
    double ratio = bench_ratio(b, id);
    if (ratio > 0)
        json_put_real(o, ratio, 2);
    else
        json_put_null(o);
    json_put_object_end(o);
}

static void json_put_claim(struct json_out *o, const struct bench *b,
                           const struct bench_claim *claim)
{
    struct bench_verdict v = bench_judge(b, claim);
    bool is_factor = claim->peer != claim->id;
    json_put_object(o);
    json_put_member_str(o, "what", claim->what);
    json_put_member_str(o, "measure", bench_kinds[claim->id].name);
    json_put_member_str(o, "peer", is_factor ? bench_kinds[claim->peer].name : NULL);
    json_put_member_str(o, "unit", is_factor ? "factor" : unit_names[bench_kinds[claim->id].unit]);
    json_put_member_str(o, "bound", claim->is_at_least ? "at_least" : "at_most");
    json_put_member_real(o, "target", claim->target, 1);
    json_put_key(o, "value");
    if (v.is_measured)
        json_put_real(o, v.value, 2);
    else
        json_put_null(o);
    json_put_member_str(o, "verdict", v.is_measured ? verdict_word(&v) : "not_measured");
    json_put_object_end(o);
}

static void json_put_row(struct json_out *o, const struct bench *b,
                         const struct bench_baseline *base, size_t row)
{
    const struct bench_row *r = &bench_rows[row];
    bool is_factor = bench_row_is_factor(r);
    int decimals = is_factor ? 9 : 1;
    struct bench_figure now = bench_row_figure(b, row);
    char name[BENCH_ROW_NAME_SIZE];
    bench_row_name(r, name);
    json_put_object(o);
    json_put_member_str(o, "row", name);
    json_put_member_str(o, "unit", is_factor ? "times" : unit_names[bench_kinds[r->own].unit]);
    json_put_member_int(o, "rounds", (int64_t)now.n_rounds);
    json_put_member_real(o, "value", now.value, decimals);
    json_put_member_real(o, "low", now.low, decimals);
    json_put_member_real(o, "high", now.high, decimals);
    if (base->rows[row].is_known) {
        json_put_member_real(o, "baseline", base->rows[row].figure.value, decimals);
        json_put_member_real(o, "baseline_low", base->rows[row].figure.low, decimals);
        json_put_member_real(o, "baseline_high", base->rows[row].figure.high, decimals);
    }
    json_put_member_str(o, "verdict", bench_mark_word(bench_judge_row(b, base, row)));
    json_put_object_end(o);
}

static void json_put_machine(struct json_out *o, const struct bench *b)
{
    struct bench_machine m;
    bench_describe_machine(b, &m);
    json_put_object(o);
    json_put_member_str(o, "cpu", m.cpu);
    json_put_member_int(o, "cores", m.cores);
    json_put_member_bool(o, "virtual", m.is_virtual);
    json_put_member_real(o, "memory_bytes", m.memory, 0);
    json_put_member_str(o, "kernel", m.kernel);
    json_put_member_str(o, "system", m.system);
    json_put_member_str(o, "python", m.python);
    json_put_member_str(o, "node", m.node);
    json_put_member_str(o, "bash", m.bash);
    json_put_member_str(o, "ipython", m.ipython);
    json_put_member_str(o, "bwrap", m.bwrap);
    json_put_member_real(o, "load_before", b->load_before, 2);
    json_put_object_end(o);
}

void bench_print_json(const struct bench *b, const struct bench_baseline *base)
{
    _buf_ struct buf out = BUF_INIT(REPORT_MAX);
    struct json_out o = JSON_OUT(&out);
    json_put_object(&o);
    json_put_member_str(&o, "version", CELLA_VERSION);
    json_put_member_bool(&o, "quick", b->is_quick);
    json_put_member_int(&o, "seconds", (int64_t)(clock_mono_ms() - b->began_ms) / 1000);
    json_put_key(&o, "machine");
    json_put_machine(&o, b);
    json_put_key(&o, "claims");
    json_put_array(&o);
    for (size_t i = 0; i < bench_n_claims; i++)
        if (is_claimed(b, &bench_claims[i]))
            json_put_claim(&o, b, &bench_claims[i]);
    json_put_array_end(&o);
    json_put_key(&o, "measures");
    json_put_array(&o);
    for (enum bench_id id = 0; id < BENCH_N_KINDS; id++)
        if (bench_has(b, id))
            json_put_kind(&o, b, id);
    json_put_array_end(&o);
    json_put_key(&o, "rows");
    json_put_array(&o);
    for (size_t i = 0; i < bench_n_rows; i++)
        if (is_row_shown(b, base, i))
            json_put_row(&o, b, base, i);
    json_put_array_end(&o);
    json_put_key(&o, "sections");
    json_put_object(&o);
    for (size_t i = 0; i < bench_n_sections; i++)
        if (b->has_run[i])
            json_put_member_real(&o, bench_sections[i].name, (double)b->took_ms[i] / 1000, 1);
    json_put_object_end(&o);
    json_put_member_str(&o, "notes", buf_str(&b->notes));
    json_put_object_end(&o);
    buf_append_char(&out, '\n');
    fd_write_all(STDOUT_FILENO, buf_str(&out), out.len);
}

/* --- docs/BENCHMARKS.md ----------------------------------------------------------------------- */

static const char method[] =
    "## How it is measured\n\n"
    "`cella-bench` starts daemons of its own on a temporary directory: one as configured by "
    "default\n"
    "(a pool of 4), one without a pool. Peers are run in turns with Cella, round by round, so "
    "that\n"
    "what else the machine does meets all of them alike; every series is warmed up first. Nothing "
    "is\n"
    "pinned to a core. Times are wall clock as the client sees them; p50 and p99 are measured "
    "values\n"
    "(nearest rank), not means.\n\n"
    "**The ratchet.** Every round gives one figure for each row: how many times Cella's median "
    "its\n"
    "peer's median is, or a count as it is. Rounds are repeated until the noise is known to be "
    "small or\n"
    "the time for the row is used up. A row's figure is the median of its rounds; its noise is the "
    "interval\n"
    "that holds the true median in 19 of 20 cases, taken from the ranks of the rounds (after the ± "
    "stands\n"
    "half of it). The baseline, [bench_baseline.json](bench_baseline.json), has the figure and the "
    "noise of\n"
    "an earlier run. A row is *worse* or *better* if the two intervals do not meet and it differs "
    "by "
    "more\n"
    "than 5 %; a section with a row that looks worse is measured once more with fresh daemons, and "
    "that\n"
    "counts. `make bench` fails if a row is worse. What has no peer stands beside a few lines of C "
    "that "
    "do\n"
    "what is most like its work: a fork and the end of the child, in a process that holds as much "
    "memory\n"
    "(undo, crash, branches, churn), or 256 bytes sent to a process and back (cells in 16 "
    "sessions).\n"
    "What checkpoints cost stands beside the same cells without them. Memory and wake-ups are "
    "compared\n"
    "as they are; files that other programs have open, too, are left out.\n\n"
    "- **A cell**: a C client with one blocking connection, kept alive, sends `POST /exec` with "
    "`1+1`\n"
    "  and reads the whole answer; over TCP with the API key. The driver alone is the same Python\n"
    "  driver without daemon, HTTP and jail: the floor. The IPython kernel is driven by\n"
    "  `jupyter_client` until it has replied and is idle again, timed in that client.\n"
    "- **A mixed agent**: twelve steps of a data analysis (a frame of 20 000 rows, groups, a "
    "plot, an\n"
    "  error, its correction, lines of output, a long string, a mistake, an undo), each after 100 "
    "ms of\n"
    "  thinking that is not counted; every answer is checked, the plot as PNG. Each script runs in "
    "one\n"
    "  session, kernel or REPL, warmed up by one run. Peers cannot undo: they run the code again "
    "that\n"
    "  made the lost frame, the cheapest way out and only right because nothing else was lost. "
    "Before\n"
    "  the mistake Cella's agent thinks on until the checkpoint is made that it will go back to. "
    "Cella is\n"
    "  asked over REST, the IPython kernel by `jupyter_client`, posit-mcp-repl over its standard "
    "streams\n"
    "  with MCP, in its sandbox; the last two are timed in a client in Python.\n"
    "- **A new session**: `POST /v1/sessions` and the first cell, all libraries of the `data` "
    "profile\n"
    "  imported. `python3` runs the same imports and prints its result; the time ends there, not "
    "at\n"
    "  its exit. `bwrap` adds namespaces and a read-only system, no system call filter and no "
    "limits.\n"
    "  The font cache of matplotlib is warm for all.\n"
    "- **Code that runs once**: `POST /v1/exec` with `print(1+1)`; with state it is sent along, "
    "changed\n"
    "  and sent back. Of the peers only `python3` starts anew each time.\n"
    "- **Undo**: from the request to the result of the next cell, a cell after the checkpoint that "
    "is\n"
    "  returned to. Beside it the same state is packed and unpacked once in one process.\n"
    "- **Node.js and bash**: the same over TCP, `1+1` and `echo $((1+1))`. Beside them stands the\n"
    "  interpreter by itself, `node -i` and `bash`, as tools drive it that have only its streams: "
    "the\n"
    "  code and a command that prints a mark go in, output is read up to the mark. It has no "
    "sandbox,\n"
    "  one stream for everything, no value apart from what was printed, and no time limit. A new\n"
    "  session stands beside the start of the interpreter with that code, alone and in `bwrap`.\n"
    "- **Create, run, destroy** and **cells in 16 sessions**: one epoll client that shares the "
    "cores\n"
    "  with the daemon; each sample is 0.4 seconds.\n"
    "- **Processor time of a thinking cell**: of all processes of the daemon, with those that "
    "have\n"
    "  ended, over cells with `durable`, whose answers come when checkpoint and save are done.\n"
    "- **200 live sessions**: created, each runs a cell; when all checkpoints and saves are made, "
    "what\n"
    "  MemAvailable has lost is divided by 200. Then each runs another, and when saves of these "
    "wait\n"
    "  for their turn, a third, which is timed.\n"
    "- **Memory of an idle session**: the growth divided by the number of sessions, each of which "
    "has\n"
    "  run a cell: PSS of all processes of the daemon, template included (what is shared is "
    "counted\n"
    "  once), and MemAvailable of the machine, which also has page tables, namespaces and "
    "cgroups,\n"
    "  and whatever else the machine did meanwhile.\n"
    "- **Wake-ups**: context switches of all threads of all processes of the daemon, pool "
    "included.\n";

static void put_markdown_claims(struct buf *out, const struct bench *b)
{
    buf_append_str(out, "| what is promised | target | measured | |\n|---|--:|--:|---|\n");
    for (size_t i = 0; i < bench_n_claims; i++) {
        const struct bench_claim *claim = &bench_claims[i];
        struct bench_verdict v = bench_judge(b, claim);
        if (is_claimed(b, claim))
            buf_printf(out, "| %s | %s | %s | %s |\n", claim->what, target_cell(claim).text,
                       measured_cell(claim, &v).text, verdict_word(&v));
    }
}

static void put_markdown_kinds(struct buf *out, const struct bench *b)
{
    buf_append_str(out, "| what | who | n | p50 | p99 | of Cella's |\n"
                        "|---|---|--:|--:|--:|--:|\n");
    for (enum bench_id id = 0; id < BENCH_N_KINDS; id++) {
        const struct bench_kind *kind = &bench_kinds[id];
        struct bench_summary s = bench_summarize(b, id);
        if (s.n == 0)
            continue;
        buf_printf(out, "| %s | %s | %zu | %s | %s | %s |\n",
                   is_first_of_its_kind(b, id) ? kind->what : "", kind->who, s.n,
                   value_cell(kind->unit, s.p50).text, p99_cell(kind, &s).text,
                   factor_cell(bench_ratio(b, id)).text);
    }
}

static void put_markdown_rows(struct buf *out, const struct bench *b,
                              const struct bench_baseline *base)
{
    buf_append_str(out, "| row | now | rounds | baseline | |\n|---|--:|--:|--:|---|\n");
    for (size_t i = 0; i < bench_n_rows; i++) {
        struct bench_figure now = bench_row_figure(b, i);
        char name[BENCH_ROW_NAME_SIZE];
        bench_row_name(&bench_rows[i], name);
        if (is_row_shown(b, base, i))
            buf_printf(out, "| %s | %s | %zu | %s | %s |\n", name,
                       figure_cell(&bench_rows[i], &now).text, now.n_rounds,
                       figure_cell(&bench_rows[i], &base->rows[i].figure).text,
                       bench_mark_word(bench_judge_row(b, base, i)));
    }
}

static void put_markdown(struct buf *out, const struct bench *b, const struct bench_baseline *base)
{
    char now[CLOCK_RFC3339_SIZE];
    clock_rfc3339(clock_wall_ms(), now);
    buf_printf(out,
               "# Benchmarks\n\nWritten by `make bench` on %.10s%s; run it to have the numbers of "
               "your machine.\nThis one: ",
               now, b->is_quick ? ", a quick run" : "");
    put_machine(out, b);
    buf_append_str(out, ".\nWhat answers cost a model in tokens, beside others, is in "
                        "[ECONOMY.md](ECONOMY.md#twenty-tasks-over-mcp).\n\n![Times and memory of "
                        "Cella and its peers, logarithmic]"
                        "(benchmarks.svg)\n\n");
    put_markdown_claims(out, b);
    buf_append_str(out, "\n## Everything measured\n\n");
    put_markdown_kinds(out, b);
    buf_append_str(out, "\n## Beside the baseline\n\n");
    put_markdown_rows(out, b, base);
    if (b->notes.len > 0)
        buf_printf(out, "\nNot measured: %s", buf_str(&b->notes));
    buf_printf(out, "\n%s", method);
}

static int write_file(const char *dir, const char *name, const struct buf *text, struct err *e)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    _fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int status = fd < 0 ? -errno : fd_write_all(fd, buf_str(text), text->len);
    return status < 0 ? err_errno(e, ERR_UNAVAILABLE, -status, "writing %.256s", path) : 0;
}

int bench_write_files(const struct bench *b, const struct bench_baseline *base, const char *dir,
                      struct err *e)
{
    _buf_ struct buf text = BUF_INIT(REPORT_MAX), svg = BUF_INIT(REPORT_MAX);
    put_markdown(&text, b, base);
    bench_plot(b, &svg);
    if (write_file(dir, "BENCHMARKS.md", &text, e) < 0)
        return -1;
    return write_file(dir, "benchmarks.svg", &svg, e);
}
