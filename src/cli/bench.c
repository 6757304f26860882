#include "cli/bench.h"

#include "cli/args.h"
#include "cli/terminal.h"

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
    int status = section->run(b, e);
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

static int report(const struct bench *b, const struct cli_args *args, struct err *e)
{
    const char *dir = cli_value(args, "output");
    if (cli_has(args, "json"))
        bench_print_json(b);
    else
        bench_print_table(b);
    return dir != NULL ? bench_write_files(b, dir, e) : 0;
}

/* Stops and removes everything, whatever came before; the first problem is told. */
static int finish(struct bench *b, int status, struct err *e)
{
    struct err problem;
    bench_ipython_stop(b);
    if (bench_daemons_stop(b, &problem) < 0 && status == 0) {
        *e = problem;
        status = -1;
    }
    if (cli_remove_tree(b->dir, &problem) < 0 && status == 0) {
        *e = problem;
        status = -1;
    }
    for (size_t i = 0; i < BENCH_N_KINDS; i++)
        free(b->samples[i].values);
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
    if (dir != NULL && (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode)))
        return err_set(e, ERR_INVALID, "%.256s is not a directory", dir);
    return 0;
}

static int run(const struct cli_args *args, struct err *e)
{
    const struct bench_section *only = NULL;
    if (check_arguments(args, &only, e) < 0)
        return -1;
    struct bench b = {
        .is_quick = cli_has(args, "quick"), .ipython.fd = -1, .notes = BUF_INIT(64 * KIB)};
    if (cli_make_temporary("bench", b.dir, e) < 0)
        return -1;
    getloadavg(&b.load_before, 1);
    signal(SIGPIPE, SIG_IGN);
    cli_signals_take();
    int status = run_sections(&b, only, e);
    if (status == 0)
        status = report(&b, args, e);
    return finish(&b, status, e);
}

static const struct cli_flag flags[] = {
    {"quick", 0, NULL, "fewer samples: about 45 s instead of 3 minutes"},
    {"only", 0, "NAME", "idle, memory, live, think, spawn, oneshot, past, churn, load, node, bash"},
    {"output", 'o', "DIR", "also write BENCHMARKS.md and benchmarks.svg there"},
    {0},
};

const struct cli_verb cli_bench_verb = {
    .name = "bench",
    .summary = "measure Cella beside IPython, python3, node, bash and bwrap",
    .usage = "[OPTION...]",
    .about = "Starts daemons of its own on a temporary directory and measures, in turns with its\n"
             "peers: cells, new sessions, throughput, memory, and an idle daemon. Prints what is\n"
             "promised, what was measured, and whether it held. Leaves nothing behind.",
    .flags = flags,
    .examples = "cella bench --quick\n"
                "cella bench --only live\n"
                "cella bench --json | jq '.claims[] | select(.verdict == \"missed\")'",
    .run = run,
};
