/* `cella ps`: list the sessions. Command line tool. */
#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/terminal.h"

enum { CELL_MAX = 24 }; /* characters of a column that the daemon filled */

static void ps_add_text(json_t *row, const json_t *session, const char *name)
{
    size_t len = 0;
    const char *text = cli_json_text(session, name, &len);
    _buf_ struct buf safe = BUF_INIT(1 * KIB);
    if (text != NULL)
        cli_append_safe(&safe, text, MIN(len, (size_t)CELL_MAX), false);
    json_array_append_new(row, json_string(text != NULL ? buf_str(&safe) : "-"));
}

static void add_count(json_t *row, const json_t *session, const char *name)
{
    json_array_append_new(row, json_sprintf("%lld", (long long)cli_json_int(session, name, 0)));
}

static json_t *ps_make_row(const json_t *session)
{
    int64_t output = cli_json_int(session, "output_len", 0);
    int64_t code = cli_json_int(session, "exit_code", -1);
    bool is_planning = json_is_object(json_object_get(session, "plan"));
    _buf_ struct buf age = BUF_INIT(64), size = BUF_INIT(64);
    cli_describe_age(&age, cli_json_text(session, "spawned_at", NULL));
    cli_describe_size(&size, (uint64_t)MAX(output, (int64_t)0));
    json_t *row = json_array();
    json_array_append_new(row, json_string(cli_json_text(session, "session_id", NULL)));
    if (is_planning)
        json_array_append_new(row, json_string("plan"));
    else
        ps_add_text(row, session, "state");
    ps_add_text(row, session, "runtime");
    ps_add_text(row, session, "profile");
    ps_add_text(row, session, "agent");
    json_array_append_new(row, json_string(buf_str(&age)));
    add_count(row, session, "exec_count");
    add_count(row, session, "queued");
    json_array_append_new(row, json_string(buf_str(&size)));
    json_array_append_new(row,
                          code >= 0 ? json_sprintf("%lld", (long long)code) : json_string("-"));
    ps_add_text(row, session, "cwd");
    return row;
}

static int ps_list(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)context;
    _json_ json_t *sessions = NULL;
    if (cli_session_list(c, &sessions, e) < 0)
        return -1;
    if (cli_has(args, "json")) {
        _json_ json_t *object = json_pack("{s:O, s:I}", "sessions", sessions, "count",
                                          (json_int_t)json_array_size(sessions));
        cli_print_json(object);
        return 0;
    }
    _buf_ struct buf table = BUF_INIT(64 * MIB);
    _json_ json_t *rows = json_pack("[[sssssssssss]]", "SESSION", "STATE", "RUNTIME", "PROFILE",
                                    "AGENT", "AGE", "CELLS", "QUEUED", "OUTPUT", "EXIT", "CWD");
    for (size_t i = 0; i < json_array_size(sessions); i++)
        json_array_append_new(rows, ps_make_row(json_array_get(sessions, i)));
    cli_append_table(&table, rows, "lllllrrrrrl");
    fd_write_all(STDOUT_FILENO, buf_str(&table), table.len);
    return 0;
}

static int ps_run(const struct cli_args *args, struct err *e)
{
    if (args->n_words > 0)
        return err_set(e, ERR_INVALID, "ps takes no arguments");
    return cli_client_with(args, false, ps_list, NULL, e);
}

const struct cli_verb cli_ps_verb = {
    .name = "ps",
    .summary = "list the sessions",
    .usage = "[OPTION...]",
    .about =
        "Lists the daemon's sessions: id, state (plan: in plan mode), runtime, profile, agent,\n"
        "age, cells run, cells waiting, output, the exit code of one that ended, directory.",
    .is_client = true,
    .examples = "cella ps\n"
                "cella ps --json | jq -r '.sessions[] | select(.runtime == \"bash\").session_id'",
    .run = ps_run,
};
