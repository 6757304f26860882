/* undo and redo: two ways along the same line. */
#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/timeline.h"

enum { PATH_SIZE = 128, UNDO_DEADLINE_MS = 120 * 1000 };

static const struct cli_flag undo_flags[] = {
    {"to", 't', "N", "back to this checkpoint; 0 is the beginning (else: to the one before)"},
    {0},
};

struct move {
    const char *name; /* of the verb and of the path */
    const char *lead; /* of what is told */
    int64_t to;       /* -1: not given */
};

/* What the only cell ran, if it can be had: its number says little. */
static void add_code(struct cli_client *c, const char *session_id, json_t *answer)
{
    const json_t *cells = json_object_get(answer, "cells");
    int64_t id = json_integer_value(json_array_get(cells, 0));
    if (json_array_size(cells) != 1 || id < 1)
        return;
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s/cells?offset=%lld&limit=1", session_id,
             (long long)id - 1);
    _json_ json_t *list = NULL;
    struct err ignored;
    if (cli_api_get(c, "GET", path, &list, &ignored) < 0)
        return;
    const json_t *cell = json_array_get(json_object_get(list, "cells"), 0);
    if (cli_json_int(cell, "number", 0) == id)
        json_object_set(answer, "code", json_object_get(cell, "code"));
}

static int undo_move(const struct cli_args *args, struct cli_client *c, void *context,
                     struct err *e)
{
    const struct move *m = context;
    struct cli_session session;
    char path[PATH_SIZE];
    if (cli_session_find(c, args->words[0], &session, e) < 0)
        return -1;
    snprintf(path, sizeof(path), "/v1/sessions/%s/%s", session.id, m->name);
    _buf_ struct buf body = BUF_INIT(KIB), out = BUF_INIT(MIB);
    struct json_out json = JSON_OUT(&body);
    json_put_object(&json);
    if (m->to >= 0)
        json_put_member_int(&json, "to", m->to);
    json_put_object_end(&json);
    _json_ json_t *answer = NULL;
    if (cli_api_post(c, path, &body, UNDO_DEADLINE_MS, &answer, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    add_code(c, session.id, answer);
    buf_append_str(&out, m->lead);
    cli_describe_rollback(&out, "took back", answer);
    return fd_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? CLI_EXIT_PIPE : 0;
}

static int undo_run(const struct cli_args *args, struct move *m, struct err *e)
{
    if (cli_session_named(args, e) < 0)
        return -1;
    return cli_client_with(args, false, undo_move, m, e);
}

static int run_undo(const struct cli_args *args, struct err *e)
{
    struct move m = {.name = "undo", .lead = "", .to = -1};
    return cli_number_flag(args, "to", 0, &m.to, e) < 0 ? -1 : undo_run(args, &m, e);
}

static int run_redo(const struct cli_args *args, struct err *e)
{
    return undo_run(args, &(struct move){.name = "redo", .lead = "redone; ", .to = -1}, e);
}

const struct cli_verb cli_undo_verb = {
    .name = "undo",
    .summary = "take a session back to an earlier state",
    .usage = "[OPTION...] SESSION",
    .about = "Takes back what the last cell did, or everything since a checkpoint: variables,\n"
             "files in /workspace, and processes that were started since. What cannot be taken\n"
             "back (network, sockets, /tmp) is listed. `cella redo` returns.",
    .flags = undo_flags,
    .is_client = true,
    .examples = "cella undo 0b9c\n"
                "cella undo 0b9c --to 3\n"
                "cella undo 0b9c --to 0             # the beginning",
    .run = run_undo,
};

const struct cli_verb cli_redo_verb = {
    .name = "redo",
    .summary = "return to the state before an undo",
    .usage = "[OPTION...] SESSION",
    .about = "Returns to where the session was before the last undo, as long as no other cell was\n"
             "run since.",
    .is_client = true,
    .examples = "cella redo 0b9c",
    .run = run_redo,
};
