#include "cli/bench.h"

#include "base/clock.h"
#include "cli/args.h"
#include "cli/terminal.h"
#include "jail/idmap.h"

#include <signal.h>
#include <sys/stat.h>

static const struct bench_section *find_section(const char *name)
{
    for (size_t i = 0; i < bench_n_sections; i++)
        if (strcmp(bench_sections[i].name, name) == 0)
            return &bench_sections[i];
    return NULL;
}

static int refuse_section(const char *name, struct err *e)
{
    _buf_ struct buf names = BUF_INIT(1 * KIB);
    for (size_t i = 0; i < bench_n_sections; i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", bench_sections[i].name);
    err_set(e, ERR_INVALID, "'%.32s' is nothing that bench measures", name);
    return err_advise(e, "--only takes one of: %s", buf_str(&names));
}

static void show_progress(const struct bench_section *section)
{
    if (isatty(STDERR_FILENO))
        cli_say(STDERR_FILENO, "\r%-72s\rmeasuring: %s ", "", section->about);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        cli_say(STDERR_FILENO, "\r%-72s\r", "");
}

/* What this user may not look at is noted; everything else that fails ends the run. */
static int run_section(struct bench *b, const struct bench_section *section, struct err *e)
{
    show_progress(section);
    uint64_t began_ms = clock_mono_ms();
    b->has_run[section - bench_sections] = true;
    int status = section->run(b, e);
    b->took_ms[section - bench_sections] += clock_mono_ms() - began_ms;
    if (status < 0 && e->code == ERR_FORBIDDEN) {
        bench_note(b, "%s: %s", section->about, e->message);
        return 0;
    }
    return status < 0 ? err_context(e, "measuring %s", section->about) : 0;
}

static int run_sections(struct bench *b, const struct bench_section *only, struct err *e)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < bench_n_sections; i++)
        if (only == NULL || only == &bench_sections[i])
            status = run_section(b, &bench_sections[i], e);
    clear_progress();
    return status;
}

/* --- beside the baseline ---------------------------------------------------------------------- */

static bool is_section_worse(const struct bench *b, const struct bench_baseline *base,
                             const struct bench_section *section)
{
    for (size_t i = 0; i < bench_n_rows; i++)
        if (bench_is_of_section(bench_rows[i].own, section->name) &&
            bench_is_worse(bench_judge_row(b, base, i)))
            return true;
    return false;
}

/* A section that looks worse is measured once more, with daemons of its own, and only that counts:
 * among so many rows one is off by chance now and then, and hardly ever twice. */
static int confirm_worse(struct bench *b, const struct bench_baseline *base, struct err *e)
{
    bool is_again[BENCH_SECTIONS_MAX] = {0}, is_any = false;
    for (size_t i = 0; i < bench_n_sections; i++)
        is_any |= is_again[i] = is_section_worse(b, base, &bench_sections[i]);
    if (!is_any)
        return 0;
    bench_peers_stop(b);
    int status = bench_daemons_stop(b, e);
    for (size_t i = 0; status == 0 && i < bench_n_sections; i++) {
        if (!is_again[i])
            continue;
        bench_forget_section(b, bench_sections[i].name);
        status = run_section(b, &bench_sections[i], e);
    }
    clear_progress();
    return status;
}

static bool is_anything_worse(const struct bench *b, const struct bench_baseline *base)
{
    for (size_t i = 0; i < bench_n_rows; i++)
        if (bench_is_worse(bench_judge_row(b, base, i)))
            return true;
    return false;
}

/* What is written over need not be there or understood in every line; what is compared with must.
 */
static int read_baseline(const struct cli_args *args, struct bench_baseline *ret, struct err *e)
{
    const char *path = cli_value(args, "baseline"), *update = cli_value(args, "update-baseline");
    if (update != NULL && access(update, F_OK) == 0)
        return bench_baseline_read(update, false, ret, e);
    return path != NULL ? bench_baseline_read(path, true, ret, e) : 0;
}

static int report(const struct bench *b, const struct bench_baseline *base,
                  const struct cli_args *args, struct err *e)
{
    const char *dir = cli_value(args, "output"), *update = cli_value(args, "update-baseline");
    if (cli_has(args, "json"))
        bench_print_json(b, base);
    else
        bench_print_table(b, base);
    if (dir != NULL && bench_write_files(b, base, dir, e) < 0)
        return -1;
    if (update != NULL)
        return bench_baseline_write(b, base, update, e);
    return is_anything_worse(b, base) ? CLI_EXIT_FAILED : 0;
}

/* Stops and removes everything, whatever came before; the first problem is told. */
static int finish(struct bench *b, int status, struct err *e)
{
    struct err problem;
    bench_peers_stop(b);
    if (bench_daemons_stop(b, &problem) < 0 && status >= 0) {
        *e = problem;
        status = -1;
    }
    if (idmap_remove_tree(b->dir, &problem) < 0 && status >= 0) {
        *e = problem;
        status = -1;
    }
    for (size_t i = 0; i < BENCH_N_KINDS; i++)
        free(b->samples[i].values);
    for (size_t i = 0; i < BENCH_ROWS_MAX; i++)
        free(b->rounds[i].values);
    buf_free(&b->notes);
    return status;
}

static int check_arguments(const struct cli_args *args, const struct bench_section **ret_only,
                           struct err *e)
{
    const char *only = cli_value(args, "only"), *dir = cli_value(args, "output");
    struct stat st;
    if (args->n_words > 0)
        return err_set(e, ERR_INVALID, "bench takes no arguments");
    *ret_only = only != NULL ? find_section(only) : NULL;
    if (only != NULL && *ret_only == NULL)
        return refuse_section(only, e);
    if (cli_has(args, "baseline") && cli_has(args, "update-baseline"))
        return err_set(e, ERR_INVALID, "--baseline compares, --update-baseline writes: give one");
    if (dir != NULL && (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode)))
        return err_set(e, ERR_INVALID, "%.256s is not a directory", dir);
    return 0;
}

static int run(const struct cli_args *args, struct err *e)
{
    const struct bench_section *only = NULL;
    struct bench_baseline base = {0};
    if (check_arguments(args, &only, e) < 0 || read_baseline(args, &base, e) < 0)
        return -1;
    struct bench b = {
        .is_quick = cli_has(args, "quick"),
        .posit_path = cli_value(args, "posit"),
        .ipython.fd = -1,
        .posit.fd = -1,
        .notes = BUF_INIT(64 * KIB),
    };
    if (cli_make_temporary("bench", b.dir, e) < 0)
        return -1;
    b.began_ms = clock_mono_ms();
    getloadavg(&b.load_before, 1);
    signal(SIGPIPE, SIG_IGN);
    cli_signals_take();
    int status = run_sections(&b, only, e);
    if (status == 0 && cli_has(args, "baseline"))
        status = confirm_worse(&b, &base, e);
    if (status == 0)
        status = report(&b, &base, args, e);
    return finish(&b, status, e);
}

static const struct cli_flag flags[] = {
    {"quick", 0, NULL, "fewer samples: about a minute instead of 3 to 4"},
    {"only", 0, "NAME",
     "idle, memory, live, think, agent, spawn, oneshot, past, churn, load, node, bash"},
    {"baseline", 0, "FILE", "compare with what it has; exit status 1 if a row is worse"},
    {"update-baseline", 0, "FILE", "write what was measured there, to be compared with"},
    {"posit", 0, "PROGRAM", "where posit-mcp-repl is, to stand beside the mixed agent"},
    {"output", 'o', "DIR", "also write BENCHMARKS.md and benchmarks.svg there"},
    {0},
};

const struct cli_verb cli_bench_verb = {
    .name = "bench",
    .summary = "measure Cella beside its peers, and beside what it was",
    .usage = "[OPTION...]",
    .about = "Starts daemons of its own on a temporary directory and measures, in turns with its\n"
             "peers: cells, new sessions, throughput, memory, and an idle daemon. Prints what is\n"
             "promised, what was measured, and whether it held. Leaves nothing behind.\n"
             "With --baseline, each row is also compared with what was recorded, and called\n"
             "better or worse if it differs by more than the noise of both. Exit status: 0, or\n"
             "1 if a row is worse or lost; others mean that it could not be measured.",
    .flags = flags,
    .examples = "cella bench --quick\n"
                "cella bench --only live\n"
                "cella bench --only live --baseline docs/bench_baseline.json\n"
                "cella bench --json | jq '.claims[] | select(.verdict == \"missed\")'",
    .run = run,
};
