#include "base/clock.h"
#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <time.h>

enum { CELL_MAX = 24 }; /* characters of a column that the daemon filled */

static void append_age(struct buf *line, const json_t *session)
{
    const char *text = cli_json_text(session, "spawned_at", NULL);
    struct tm tm = {0};
    const char *rest = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    time_t since = rest != NULL ? timegm(&tm) : -1;
    int64_t age = (int64_t)(clock_wall_ms() / 1000) - since;
    if (since < 0 || age < 0)
        buf_printf(line, " %6s", rest != NULL ? "0s" : "-");
    else if (age < 120)
        buf_printf(line, " %5llds", (long long)age);
    else if (age < 7200)
        buf_printf(line, " %5lldm", (long long)age / 60);
    else if (age < 172800)
        buf_printf(line, " %5lldh", (long long)age / 3600);
    else
        buf_printf(line, " %5lldd", (long long)age / 86400);
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

static void print_table(const json_t *sessions)
{
    _buf_ struct buf table = BUF_INIT(64 * MIB);
    buf_printf(&table, "%-36s %-8s %-8s %-8s %6s %6s %6s %10s\n", "SESSION", "STATE", "RUNTIME",
               "PROFILE", "AGE", "CELLS", "QUEUED", "OUTPUT");
    for (size_t i = 0; i < json_array_size(sessions); i++) {
        const json_t *session = json_array_get(sessions, i);
        buf_printf(&table, "%-36s", cli_json_text(session, "session_id", NULL));
        append_column(&table, session, "state", 8);
        append_column(&table, session, "runtime", 8);
        append_column(&table, session, "profile", 8);
        append_age(&table, session);
        buf_printf(&table, " %6lld %6lld %10lld\n",
                   (long long)cli_json_int(session, "exec_count", 0),
                   (long long)cli_json_int(session, "queued", 0),
                   (long long)cli_json_int(session, "output_len", 0));
    }
    fd_write_all(STDOUT_FILENO, buf_str(&table), table.len);
}

static int run(const struct cli_args *args, struct err *e)
{
    struct cli_endpoint endpoint;
    struct cli_client client = {.fd = -1};
    _json_ json_t *sessions = NULL;
    int status = cli_endpoint_from(args, &endpoint, e);
    if (status == 0 && args->n_words > 0)
        status = err_set(e, ERR_INVALID, "ps takes no arguments");
    if (status == 0)
        status = cli_client_open(&client, &endpoint, false, e);
    if (status == 0)
        status = cli_session_list(&client, &sessions, e);
    if (status == 0 && cli_has(args, "json")) {
        _json_ json_t *object = json_pack("{s:O, s:I}", "sessions", sessions, "count",
                                          (json_int_t)json_array_size(sessions));
        cli_print_json(object);
    }
    if (status == 0 && !cli_has(args, "json"))
        print_table(sessions);
    cli_client_close(&client);
    cli_endpoint_free(&endpoint);
    return status;
}

const struct cli_verb cli_ps_verb = {
    .name = "ps",
    .summary = "list the sessions",
    .usage = "[OPTION...]",
    .about = "Lists the daemon's sessions: id, state, profile, age, number of cells run, cells\n"
             "waiting, and bytes of output kept.",
    .is_client = true,
    .examples = "cella ps\n"
                "cella ps --json | jq -r '.sessions[].session_id'",
    .run = run,
};
