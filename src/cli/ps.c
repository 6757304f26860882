#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"

enum { CELL_MAX = 24 }; /* characters of a column that the daemon filled */

static void append_age(struct buf *line, const json_t *session)
{
    _buf_ struct buf age = BUF_INIT(64);
    cli_describe_age(&age, cli_json_text(session, "spawned_at", NULL));
    buf_printf(line, " %6s", buf_str(&age));
}

static void append_column(struct buf *line, const json_t *session, const char *name, int width)
{
    size_t len = 0;
    const char *text = cli_json_text(session, name, &len);
    _buf_ struct buf safe = BUF_INIT(1 * KIB);
    if (text != NULL)
        cli_append_safe(&safe, text, MIN(len, (size_t)CELL_MAX), false);
    buf_printf(line, " %-*s", width, text != NULL ? buf_str(&safe) : "-");
}

/* "12.3 KB" */
static void append_output(struct buf *line, const json_t *session)
{
    _buf_ struct buf size = BUF_INIT(64);
    cli_describe_size(&size, (uint64_t)MAX(cli_json_int(session, "output_len", 0), (int64_t)0));
    buf_printf(line, " %9s", buf_str(&size));
}

static void append_exit_code(struct buf *line, const json_t *session)
{
    int64_t code = cli_json_int(session, "exit_code", -1);
    if (code >= 0)
        buf_printf(line, " %4lld", (long long)code);
    else
        buf_printf(line, " %4s", "-");
}

static void append_session(struct buf *line, const json_t *session)
{
    bool is_planning = json_is_object(json_object_get(session, "plan"));
    buf_printf(line, "%-36s", cli_json_text(session, "session_id", NULL));
    if (is_planning)
        buf_printf(line, " %-8s", "plan");
    else
        append_column(line, session, "state", 8);
    append_column(line, session, "runtime", 7);
    append_column(line, session, "profile", 7);
    append_column(line, session, "agent", 8);
    append_age(line, session);
    buf_printf(line, " %5lld %6lld", (long long)cli_json_int(session, "exec_count", 0),
               (long long)cli_json_int(session, "queued", 0));
    append_output(line, session);
    append_exit_code(line, session);
    append_column(line, session, "cwd", 0);
    buf_append_char(line, '\n');
}

static void print_table(const json_t *sessions)
{
    _buf_ struct buf table = BUF_INIT(64 * MIB);
    buf_printf(&table, "%-36s %-8s %-7s %-7s %-8s %6s %5s %6s %9s %4s %s\n", "SESSION", "STATE",
               "RUNTIME", "PROFILE", "AGENT", "AGE", "CELLS", "QUEUED", "OUTPUT", "EXIT", "CWD");
    for (size_t i = 0; i < json_array_size(sessions); i++)
        append_session(&table, json_array_get(sessions, i));
    fd_write_all(STDOUT_FILENO, buf_str(&table), table.len);
}

static int list(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)context;
    _json_ json_t *sessions = NULL;
    if (cli_session_list(c, &sessions, e) < 0)
        return -1;
    if (!cli_has(args, "json")) {
        print_table(sessions);
        return 0;
    }
    _json_ json_t *object = json_pack("{s:O, s:I}", "sessions", sessions, "count",
                                      (json_int_t)json_array_size(sessions));
    cli_print_json(object);
    return 0;
}

static int run(const struct cli_args *args, struct err *e)
{
    if (args->n_words > 0)
        return err_set(e, ERR_INVALID, "ps takes no arguments");
    return cli_client_with(args, false, list, NULL, e);
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
    .run = run,
};
