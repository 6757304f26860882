/* `cella try`: run code in a session, then keep or take back what it did. Command line tool. */
#include "base/fd.h"
#include "cli/args.h"
#include "cli/cell.h"
#include "cli/names.h"
#include "cli/terminal.h"
#include "cli/timeline.h"

#include <errno.h>
#include <poll.h>

enum { TRY_PATH_SIZE = 160, DECIDE_DEADLINE_MS = 120 * 1000, TRY_SHOWN_MAX = 50 };

static const struct cli_flag try_flags[] = {
    {"commit", 0, NULL, "keep what it did, without asking"},
    {"discard", 0, NULL, "take back what it did, without asking"},
    {"id", 0, "TRY", "decide about this one, which was left open, instead of running code"},
    {"timeout", 't', "DURATION", "stop the code after this time: 500ms, 30s (the default), 2m"},
    {"save-images", 0, "DIR", "write images there instead of only noting them"},
    {0},
};

struct attempt {
    struct cli_session session;
    struct cli_cell cell;
    struct cli_show show;
    bool is_json;
};

/* ---- deciding -------------------------------------------------------------------------------- */

static int decide(struct cli_client *c, const struct attempt *a, int64_t id, bool commits,
                  json_t **ret_answer, struct err *e)
{
    char path[TRY_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s/tries/%lld/%s", a->session.id, (long long)id,
             commits ? "commit" : "discard");
    _buf_ struct buf body = BUF_INIT(16);
    buf_append_str(&body, "{}");
    return cli_api_post(c, path, &body, DECIDE_DEADLINE_MS, ret_answer, e);
}

static void tell_outcome(const json_t *outcome, bool commits)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    if (commits)
        buf_append_str(&out, "committed\n");
    else
        cli_describe_rollback(&out, "discarded", outcome);
    fd_write_all(STDERR_FILENO, buf_str(&out), out.len);
}

static bool ask_to_keep(void)
{
    char line[64] = "";
    cli_say(STDERR_FILENO, "keep it? [y/N] ");
    int ready = cli_wait(STDIN_FILENO, POLLIN, 0);
    ssize_t n = ready > 0 ? read(STDIN_FILENO, line, sizeof(line) - 1) : 0;
    if (n <= 0)
        cli_say(STDERR_FILENO, "\n");
    return n > 0 && (line[0] == 'y' || line[0] == 'Y');
}

/* ---- what it did ----------------------------------------------------------------------------- */

static void append_paths(struct buf *out, const json_t *files, const char *member)
{
    const json_t *list = json_object_get(files, member);
    size_t n = json_array_size(list);
    for (size_t i = 0; i < MIN(n, (size_t)TRY_SHOWN_MAX); i++) {
        const char *path = json_string_value(json_array_get(list, i));
        buf_printf(out, "  %s ", member);
        cli_append_safe(out, path != NULL ? path : "?", path != NULL ? strlen(path) : 1, false);
        buf_append_char(out, '\n');
    }
    if (n > TRY_SHOWN_MAX)
        buf_printf(out, "  and %zu more %s\n", n - TRY_SHOWN_MAX, member);
}

/* The answer comes as a whole: there is nothing to see before it. */
static int try_show_answer(struct attempt *a, const json_t *answer)
{
    const json_t *outputs = json_object_get(answer, "outputs");
    a->cell.show = &a->show;
    for (int is_stderr = 0; is_stderr <= 1; is_stderr++) {
        size_t len = 0;
        const char *text = cli_json_text(answer, is_stderr ? "stderr" : "stdout", &len);
        if (text != NULL)
            cli_show_stream(&a->show, is_stderr, text, len);
    }
    for (size_t i = 0; i < json_array_size(outputs); i++)
        cli_show_output(&a->show, json_array_get(outputs, i));
    int status = cli_cell_finish(&a->cell, answer);
    const json_t *files = json_object_get(answer, "files");
    _buf_ struct buf out = BUF_INIT(MIB);
    append_paths(&out, files, "added");
    append_paths(&out, files, "changed");
    append_paths(&out, files, "removed");
    if (out.len > 0)
        cli_say(STDERR_FILENO, "files:\n%s", buf_str(&out));
    if (json_is_object(json_object_get(answer, "names")))
        cli_show_names(STDERR_FILENO, json_object_get(answer, "names"));
    return status;
}

/* ---- running it ------------------------------------------------------------------------------ */

static int try_run_code(const struct cli_args *args, struct cli_client *c, struct attempt *a,
                        struct err *e)
{
    _json_ json_t *answer = NULL;
    a->cell.session_id = a->session.id;
    if (cli_cell_run(c, &a->cell, &answer, e) < 0) {
        if (a->cell.left_by != 0)
            return 128 + a->cell.left_by;
        return a->show.problem == -EPIPE ? CLI_EXIT_PIPE : -1;
    }
    int64_t id = cli_json_int(answer, "try_id", -1);
    bool commits = cli_has(args, "commit"), discards = cli_has(args, "discard");
    int status = a->is_json ? cli_cell_exit_status(answer) : try_show_answer(a, answer);
    if (!a->is_json && !commits && !discards && id >= 0)
        commits = ask_to_keep();
    bool is_decided = id >= 0 && (!a->is_json || commits || discards);
    _json_ json_t *outcome = NULL;
    if (is_decided && decide(c, a, id, commits, &outcome, e) < 0)
        return -1;
    if (!a->is_json && is_decided)
        tell_outcome(outcome, commits);
    if (a->is_json && is_decided)
        json_object_set(answer, "decision", outcome);
    if (a->is_json && !cli_print_json(answer))
        return CLI_EXIT_PIPE;
    return status;
}

static int settle(const struct cli_args *args, struct cli_client *c, struct attempt *a,
                  struct err *e)
{
    int64_t id = 0;
    bool commits = cli_has(args, "commit");
    _json_ json_t *outcome = NULL;
    if (cli_number_flag(args, "id", 0, &id, e) < 0 || decide(c, a, id, commits, &outcome, e) < 0)
        return -1;
    if (a->is_json)
        return cli_print_json(outcome) ? 0 : CLI_EXIT_PIPE;
    tell_outcome(outcome, commits);
    return 0;
}

static int attempt(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    struct attempt *a = context;
    if (cli_session_find(c, args->words[0], &a->session, e) < 0)
        return -1;
    return cli_has(args, "id") ? settle(args, c, a, e) : try_run_code(args, c, a, e);
}

static int try_check_arguments(const struct cli_args *args, struct err *e)
{
    bool commits = cli_has(args, "commit"), discards = cli_has(args, "discard");
    bool has_id = cli_has(args, "id");
    if (args->n_words != (has_id ? 1 : 2)) {
        err_set(e, ERR_INVALID, "name a session and the code to try");
        return err_advise(e, "quote the code: cella try 0b9c 'df = df.dropna()'");
    }
    if (commits && discards)
        return err_set(e, ERR_INVALID, "--commit and --discard exclude each other");
    if (has_id && !commits && !discards)
        return err_set(e, ERR_INVALID, "--id needs --commit or --discard");
    if (commits || discards || cli_has(args, "json") || isatty(STDIN_FILENO))
        return 0;
    err_set(e, ERR_INVALID, "there is nobody to ask whether to keep it");
    return err_advise(e, "give --commit or --discard, or --json to decide later");
}

static int try_run(const struct cli_args *args, struct err *e)
{
    struct attempt a = {.cell = {.how = "try", .budget = -1, .yield_ms = -1}};
    const char *timeout = cli_value(args, "timeout");
    if (try_check_arguments(args, e) < 0 || cli_show_read(args, &a.show, e) < 0 ||
        (timeout != NULL && cli_parse_duration(timeout, &a.cell.timeout_ms, e) < 0))
        return -1;
    a.is_json = cli_has(args, "json");
    a.cell.code = args->n_words > 1 ? args->words[1] : "";
    a.cell.code_len = strlen(a.cell.code);
    if (cli_cell_check_code(a.cell.code, a.cell.code_len, e) < 0)
        return -1;
    cli_signals_take();
    return cli_client_with(args, false, attempt, &a, e);
}

const struct cli_verb cli_try_verb = {
    .name = "try",
    .subject = OP_ON_HISTORY,
    .summary = "run code in a session, then keep or take back what it did",
    .usage = "[OPTION...] SESSION CODE | SESSION --id TRY",
    .about = "Runs CODE in a session, shows its output and which names and files it changed, and\n"
             "asks whether to keep that. What is not kept is as if it had never run. With --json\n"
             "and neither --commit nor --discard it stays open: decide later with --id.\n"
             "Exit status: as `cella exec`.",
    .flags = try_flags,
    .is_client = true,
    .examples = "cella try 0b9c 'df = df.dropna(); len(df)'\n"
                "cella try 0b9c --discard 'import shutil; shutil.rmtree(\"data\")'\n"
                "cella try 0b9c --id 4 --commit",
    .run = try_run,
};
