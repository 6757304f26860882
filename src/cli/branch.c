/* `cella branch`: make live copies of a session. Command line tool. */
#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/timeline.h"

enum { PATH_SIZE = 128, BRANCH_DEADLINE_MS = 120 * 1000, BRANCHES_MAX = 1000 };

static const struct cli_flag flags[] = {
    {"at", 'a', "N", "from this checkpoint instead of the present state"},
    {"count", 'n', "K", "this many (1)"},
    {0},
};

struct wish {
    int64_t at;    /* -1: not given */
    int64_t count; /* likewise */
};

static int branch(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    const struct wish *wish = context;
    struct cli_session session;
    char path[PATH_SIZE];
    if (cli_session_find(c, args->words[0], &session, e) < 0)
        return -1;
    snprintf(path, sizeof(path), "/v1/sessions/%s/branch", session.id);
    _buf_ struct buf body = BUF_INIT(KIB), out = BUF_INIT(MIB);
    struct json_out json = JSON_OUT(&body);
    json_put_object(&json);
    if (wish->at >= 0)
        json_put_member_int(&json, "at", wish->at);
    if (wish->count >= 0)
        json_put_member_int(&json, "count", wish->count);
    json_put_object_end(&json);
    _json_ json_t *answer = NULL;
    if (cli_api_post(c, path, &body, BRANCH_DEADLINE_MS, &answer, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    const json_t *sessions = json_object_get(answer, "sessions");
    for (size_t i = 0; i < json_array_size(sessions) && i < BRANCHES_MAX; i++) {
        size_t len = 0;
        const char *id = cli_json_text(json_array_get(sessions, i), "session_id", &len);
        if (id != NULL && ids_is_uuid(id, len))
            buf_printf(&out, "%s\n", id);
    }
    return fd_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? CLI_EXIT_PIPE : 0;
}

static int branch_run(const struct cli_args *args, struct err *e)
{
    struct wish wish = {.at = -1, .count = -1};
    if (cli_session_named(args, e) < 0)
        return -1;
    if (cli_number_flag(args, "at", 0, &wish.at, e) < 0 ||
        cli_number_flag(args, "count", 0, &wish.count, e) < 0)
        return -1;
    return cli_client_with(args, false, branch, &wish, e);
}

const struct cli_verb cli_branch_verb = {
    .name = "branch",
    .summary = "make live copies of a session",
    .usage = "[OPTION...] SESSION",
    .about = "Makes sessions that begin where this one is now, or was at a checkpoint: each with\n"
             "the same variables, its own copy of the files, and its own processes and limits.\n"
             "Their ids are printed, one on a line.",
    .flags = flags,
    .is_client = true,
    .examples = "cella branch 0b9c\n"
                "cella branch 0b9c --at 3 --count 4",
    .run = branch_run,
};
