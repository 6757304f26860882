/* cella-bench, a program that is built beside cella and not installed: it starts daemons of its own
 * on a temporary directory, measures, reports and removes everything. This file reads the command
 * line and decides which sections run. */
#include "base/clock.h"
#include "base/fd.h"
#include "bench/bench.h"
#include "cli/terminal.h"
#include "explore/explore.h"
#include "jail/warden/idmap.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sys/stat.h>

struct options {
    bool is_quick, is_json;
    const struct bench_section *only; /* NULL for all sections */
    const char *baseline, *update;    /* paths, or NULL; one at the most */
    uint64_t text_mib;                /* 0: as usual */
    const char *posit, *output;       /* or NULL */
};

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

/* A baseline that will be written over need not exist, and rows of it may be unknown. */
static int read_baseline(const struct options *o, struct bench_baseline *ret, struct err *e)
{
    if (o->update != NULL && access(o->update, F_OK) == 0)
        return bench_baseline_read(o->update, false, ret, e);
    return o->baseline != NULL ? bench_baseline_read(o->baseline, true, ret, e) : 0;
}

static int report(const struct bench *b, const struct bench_baseline *base, const struct options *o,
                  struct err *e)
{
    if (o->is_json)
        bench_print_json(b, base);
    else
        bench_print_table(b, base);
    if (o->output != NULL && bench_write_files(b, base, o->output, e) < 0)
        return -1;
    if (o->update != NULL)
        return bench_baseline_write(b, base, o->update, e);
    return is_anything_worse(b, base) ? EXIT_FAILURE : 0;
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

/* --- the command line ------------------------------------------------------------------------- */

static const char usage[] =
    "Usage: cella-bench [OPTION...]\n\n"
    "Measures the cella beside it in turns with its peers: cells, new sessions, throughput, "
    "memory\n"
    "and an idle daemon. Prints what is promised, what was measured, and whether it held.\n\n"
    "  --quick                 fewer samples: about a minute instead of 3 to 4\n"
    "  --only NAME             idle, memory, live, mcp, tools, think, agent, spawn, oneshot, "
    "past,\n"
    "                          undo, crash, churn, load, crowd, node, bash, grep\n"
    "  --text MIB              how large the text is that grep searches\n"
    "  --baseline FILE         compare each row with FILE: better or worse if it differs by more\n"
    "                          than the noise of both\n"
    "  --update-baseline FILE  write what was measured there, to be compared with\n"
    "  --posit PROGRAM         where posit-mcp-repl is, to stand beside the mixed agent\n"
    "  -o, --output DIR        also write BENCHMARKS.md and benchmarks.svg there\n"
    "  --json                  JSON on stdout\n\n"
    "Exit status: 0; 1 if a row is worse or lost; others mean that it could not be measured.\n";

static int parse_options(int argc, char **argv, struct options *ret, struct err *e)
{
    static const struct option known[] = {
        {"quick", no_argument, NULL, 'q'},
        {"only", required_argument, NULL, 's'},
        {"text", required_argument, NULL, 't'},
        {"baseline", required_argument, NULL, 'b'},
        {"update-baseline", required_argument, NULL, 'u'},
        {"posit", required_argument, NULL, 'p'},
        {"output", required_argument, NULL, 'o'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    for (int c; (c = getopt_long(argc, argv, "o:", known, NULL)) != -1;) {
        switch (c) {
        case 'q':
            ret->is_quick = true;
            break;
        case 's':
            if ((ret->only = find_section(optarg)) == NULL)
                return refuse_section(optarg, e);
            break;
        case 't':
            ret->text_mib = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            ret->baseline = optarg;
            break;
        case 'u':
            ret->update = optarg;
            break;
        case 'p':
            ret->posit = optarg;
            break;
        case 'o':
            ret->output = optarg;
            break;
        case 'j':
            ret->is_json = true;
            break;
        default: /* what is unknown getopt_long has named */
            fd_write_all(c == 'h' ? STDOUT_FILENO : STDERR_FILENO, usage, strlen(usage));
            exit(c == 'h' ? 0 : err_exit_status(ERR_INVALID));
        }
    }
    struct stat st;
    if (optind < argc)
        return err_set(e, ERR_INVALID, "'%.64s': there are only options", argv[optind]);
    if (ret->baseline != NULL && ret->update != NULL)
        return err_set(e, ERR_INVALID, "--baseline compares, --update-baseline writes: give one");
    if (ret->output != NULL && (stat(ret->output, &st) < 0 || !S_ISDIR(st.st_mode)))
        return err_set(e, ERR_INVALID, "%.256s is not a directory", ret->output);
    return 0;
}

/* The build puts both programs into one folder. */
static int find_cella(char ret_path[PATH_MAX], struct err *e)
{
    ssize_t len = readlink("/proc/self/exe", ret_path, PATH_MAX - sizeof("cella"));
    ret_path[MAX(len, 0)] = '\0';
    char *name = strrchr(ret_path, '/');
    if (name == NULL)
        return err_errno(e, ERR_UNAVAILABLE, errno, "/proc/self/exe");
    memcpy(name + 1, "cella", sizeof("cella"));
    if (access(ret_path, X_OK) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "%.256s", ret_path);
    return 0;
}

static int run(const struct options *o, struct err *e)
{
    struct bench_baseline base = {0};
    struct bench b = {
        .is_quick = o->is_quick,
        .text_mib = o->text_mib,
        .posit_path = o->posit,
        .ipython.fd = -1,
        .posit.fd = -1,
        .notes = BUF_INIT(64 * KIB),
    };
    if (read_baseline(o, &base, e) < 0 || find_cella(b.program, e) < 0 ||
        cli_make_temporary("bench", b.dir, e) < 0)
        return -1;
    b.began_ms = clock_mono_ms();
    getloadavg(&b.load_before, 1);
    signal(SIGPIPE, SIG_IGN);
    cli_signals_take();
    int status = run_sections(&b, o->only, e);
    if (status == 0 && o->baseline != NULL)
        status = confirm_worse(&b, &base, e);
    if (status == 0)
        status = report(&b, &base, o, e);
    return finish(&b, status, e);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct err e = {0};
    /* The worker of the section grep runs this program again. */
    if (argc == 2 && strcmp(argv[1], EXPLORE_BOX_WORD) == 0)
        return explore_box_main();
    int status = parse_options(argc, argv, &options, &e);
    if (status == 0)
        status = run(&options, &e);
    if (status >= 0)
        return status;
    cli_say(STDERR_FILENO, "cella-bench: %s\n", e.message);
    if (e.advice[0] != '\0')
        cli_say(STDERR_FILENO, "  %s\n", e.advice);
    return err_exit_status(e.code);
}
