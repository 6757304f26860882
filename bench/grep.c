/* Searching a text of real files: a worker with its box, as a session has one, beside ripgrep on
 * the same file. The box holds the text when it is asked, ripgrep is a process for each search; so
 * the larger the text, the fairer (--text). */
#include "base/clock.h"
#include "base/fd.h"
#include "bench/child.h"
#include "explore/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <uv.h>

#define RIPGREP "/usr/bin/rg"

enum { GREP_LIMIT_MS = 60000, GREP_MIB = 64, GREP_MIB_QUICK = 16, GREP_PEEKS = 200 };

struct grep_bench {
    uv_loop_t loop;
    struct explore_worker *worker;
    struct explore_source text;
    char path[PATH_MAX + 16];
    json_int_t chars;
    bool has_ripgrep;
    /* the answer that is awaited */
    bool is_answered;
    json_t *result;
    struct err err;
};

/* ---- the text -------------------------------------------------------------------------------- */

/* Appends a file, as far as there is room; what has NULs is no text. */
static int grep_add_file(int out, const char *path, uint64_t *left)
{
    char block[64 * KIB];
    _fd_ int in = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_first = true;
    while (in >= 0 && *left > 0) {
        ssize_t n = read(in, block, MIN(sizeof(block), *left));
        if (n <= 0 || (is_first && memchr(block, '\0', (size_t)n) != NULL))
            return 0;
        int error = fd_write_all(out, block, (size_t)n);
        if (error < 0)
            return error;
        *left -= (uint64_t)n;
        is_first = false;
    }
    return 0;
}

/* Documents, headers and programs of the machine, again and again until there are enough. */
static int grep_make_text(int out, uint64_t left)
{
    while (left > 0) {
        char *const folders[] = {(char[]){"/usr/include"}, (char[]){"/usr/share/doc"},
                                 (char[]){"/usr/lib/python3"}, (char[]){"/usr/lib/python3.11"},
                                 NULL};
        uint64_t before = left;
        int error = 0;
        FTS *walk = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
        if (walk == NULL)
            return -errno;
        for (FTSENT *at; error == 0 && left > 0 && (at = fts_read(walk)) != NULL;)
            if (at->fts_info == FTS_F)
                error = grep_add_file(out, at->fts_path, &left);
        fts_close(walk);
        if (error < 0 || left == before)
            return error < 0 ? error : -ENOENT;
    }
    return 0;
}

/* ---- one search ------------------------------------------------------------------------------ */

static void grep_on_answer(void *context, json_t *result, const struct err *e)
{
    struct grep_bench *g = context;
    g->is_answered = true;
    g->result = json_incref(result);
    if (e != NULL)
        g->err = *e;
}

/* A sample for `id`, if it is a kind; the answer is the caller's. */
static int grep_ask(struct bench *b, struct grep_bench *g, enum bench_id id, json_t *request,
                    json_t **ret_result, struct err *e)
{
    uint64_t began_ns = clock_mono_ns();
    g->is_answered = false;
    if (explore_ask(g->worker, request, &g->text, 1, GREP_LIMIT_MS, grep_on_answer, g, e) == NULL)
        return -1;
    while (!g->is_answered)
        uv_run(&g->loop, UV_RUN_ONCE);
    if (id != BENCH_N_KINDS)
        bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    *ret_result = g->result;
    if (g->result == NULL)
        *e = g->err;
    return g->result == NULL ? -1 : 0;
}

static int grep_search(struct bench *b, struct grep_bench *g, enum bench_id id, const char *pattern,
                       int max, int threads, struct err *e)
{
    json_t *result;
    json_t *request =
        json_pack("{s:s,s:s,s:s,s:i,s:i,s:i}", "op", "grep", "source", "text", "pattern", pattern,
                  "context_lines", 0, "max_results", max, "threads", threads);
    if (grep_ask(b, g, id, request, &result, e) < 0)
        return -1;
    json_decref(result);
    return 0;
}

static int grep_ripgrep(struct bench *b, struct grep_bench *g, enum bench_id id,
                        const char *pattern, const char *max, struct err *e)
{
    char out_path[PATH_MAX + 16];
    int status = 0;
    pid_t pid;
    if (!g->has_ripgrep)
        return 0;
    snprintf(out_path, sizeof(out_path), "%s/found", b->dir);
    _fd_ int out = open(out_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const char *argv[] = {RIPGREP, "--no-config", "-i",    "-n",    "-a", "-m",
                          max,     "-e",          pattern, g->path, NULL};
    struct bench_child child = {.argv = argv, .stdio = out, .third = -1};
    uint64_t began_ns = clock_mono_ns();
    if (bench_child_start(b, &child, &pid, e) < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_errno(e, ERR_UNAVAILABLE, errno, "ripgrep");
    bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    /* 1: it found nothing */
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
        return err_set(e, ERR_UNAVAILABLE, "ripgrep failed with status %x", (unsigned)status);
    return 0;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

#define GREP_ALL 10000
#define GREP_ALL_TEXT "10000"

static int grep_round(struct bench *b, void *subject, unsigned index, struct err *e)
{
    static const struct {
        enum bench_id all, one, peer;
        const char *pattern;
        int max;
        const char *max_text;
    } searches[] = {
        {BENCH_GREP_LITERAL, BENCH_GREP_LITERAL_ONE, BENCH_GREP_LITERAL_RG, "PTRACE_SYSEMU",
         GREP_ALL, GREP_ALL_TEXT},
        {BENCH_GREP_PATTERN, BENCH_GREP_PATTERN_ONE, BENCH_GREP_PATTERN_RG, "ptrace.*sys\\w+\\d",
         GREP_ALL, GREP_ALL_TEXT},
        {BENCH_GREP_WORDS, BENCH_GREP_WORDS_ONE, BENCH_GREP_WORDS_RG, "walrus|aardvark|wombat",
         GREP_ALL, GREP_ALL_TEXT},
        {BENCH_GREP_BOUNDED, BENCH_GREP_BOUNDED_ONE, BENCH_GREP_BOUNDED_RG, "error \\d+", 100,
         "100"},
    };
    struct grep_bench *g = subject;
    (void)index;
    for (size_t i = 0; i < ARRAY_LEN(searches); i++) {
        const char *pattern = searches[i].pattern;
        if (grep_search(b, g, searches[i].all, pattern, searches[i].max, 0, e) < 0 ||
            grep_search(b, g, searches[i].one, pattern, searches[i].max, 1, e) < 0 ||
            grep_ripgrep(b, g, searches[i].peer, pattern, searches[i].max_text, e) < 0)
            return -1;
    }
    for (json_int_t i = 0; i < GREP_PEEKS; i++) {
        json_t *result;
        json_t *request = json_pack("{s:s,s:s,s:I}", "op", "peek", "source", "text", "offset",
                                    g->chars / GREP_PEEKS * i);
        if (grep_ask(b, g, BENCH_GREP_PEEK, request, &result, e) < 0)
            return -1;
        json_decref(result);
    }
    return 0;
}

static int grep_measure(struct bench *b, struct grep_bench *g, struct err *e)
{
    json_t *result;
    json_t *request = json_pack("{s:s,s:s}", "op", "open", "source", "text");
    if (grep_ask(b, g, BENCH_GREP_OPEN, request, &result, e) < 0)
        return -1;
    g->chars = json_integer_value(json_object_get(result, "chars"));
    json_decref(result);
    struct bench_series series = {
        .round = grep_round, .subject = g, .least = 5, .budget_ms = 20000};
    return bench_rounds(b, &series, e);
}

int bench_run_grep(struct bench *b, struct err *e)
{
    struct grep_bench g = {.text = {.key = "text"}, .has_ripgrep = access(RIPGREP, X_OK) == 0};
    uint64_t mib = b->text_mib > 0 ? b->text_mib : b->is_quick ? GREP_MIB_QUICK : GREP_MIB;
    if (!g.has_ripgrep)
        bench_note(b, "ripgrep is not installed (package ripgrep): searches have no peer");
    snprintf(g.path, sizeof(g.path), "%s/text", b->dir);
    g.text.fd = open(g.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (g.text.fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "%s", g.path);
    int error = grep_make_text(g.text.fd, mib * MIB);
    if (error < 0) {
        close(g.text.fd);
        return err_errno(e, ERR_UNAVAILABLE, -error, "making a text of %llu MiB",
                         (unsigned long long)mib);
    }
    uv_loop_init(&g.loop);
    g.worker = explore_worker_new(&g.loop);
    int status = grep_measure(b, &g, e);
    explore_worker_free(g.worker);
    uv_run(&g.loop, UV_RUN_DEFAULT);
    uv_loop_close(&g.loop);
    close(g.text.fd);
    unlink(g.path);
    return status;
}
