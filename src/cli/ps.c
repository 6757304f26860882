/* A list of sessions as people read it. Command line tool. */
#include "base/fd.h"
#include "cli/op.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/verb.h"

enum {
    CELL_MAX = 24, /* characters of a column that the daemon filled */
    SHORT_ID = 8,  /* of an id */
    COMPARED_MAX = 2000,
};

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

static void add_age(json_t *row, const json_t *session, const char *name)
{
    _buf_ struct buf age = BUF_INIT(64);
    cli_describe_age(&age, cli_json_text(session, name, NULL));
    json_array_append_new(row, json_string(buf_str(&age)));
}

static json_t *ps_make_row(const json_t *session, int id_len)
{
    int64_t code = cli_json_int(session, "exit_code", -1);
    bool is_planning = json_is_object(json_object_get(session, "plan"));
    json_t *row = json_array();
    json_array_append_new(row,
                          json_sprintf("%.*s", id_len, cli_json_text(session, "session_id", NULL)));
    ps_add_text(row, session, "name");
    if (is_planning)
        json_array_append_new(row, json_string("plan"));
    else
        ps_add_text(row, session, "state");
    ps_add_text(row, session, "runtime");
    ps_add_text(row, session, "profile");
    ps_add_text(row, session, "agent");
    add_age(row, session, "used_at");
    add_age(row, session, "spawned_at");
    add_count(row, session, "exec_count");
    add_count(row, session, "queued");
    int64_t bytes = cli_json_int(session, "memory_bytes", -1);
    _buf_ struct buf size = BUF_INIT(64);
    if (bytes >= 0)
        cli_describe_size(&size, (uint64_t)bytes);
    json_array_append_new(row, json_string(bytes >= 0 ? buf_str(&size) : "-"));
    int64_t ms = cli_json_int(session, "cpu_ms", -1);
    json_array_append_new(row, ms < 0 ? json_string("-") : json_sprintf("%.1fs", (double)ms / 1e3));
    json_array_append_new(row,
                          code >= 0 ? json_sprintf("%lld", (long long)code) : json_string("-"));
    ps_add_text(row, session, "cwd");
    return row;
}

int cli_show_sessions(const json_t *answer)
{
    const json_t *sessions = json_object_get(answer, "sessions");
    /* As long as it takes to tell all of them apart; of very many it is the whole id. */
    int id_len = json_array_size(sessions) <= COMPARED_MAX ? SHORT_ID : UUID_SIZE - 1;
    for (size_t i = 0; i < json_array_size(sessions); i++) {
        const char *id = cli_json_text(json_array_get(sessions, i), "session_id", NULL);
        for (size_t k = 0; k < i && id_len < UUID_SIZE - 1; k++)
            while (id_len < UUID_SIZE - 1 &&
                   strncmp(id, cli_json_text(json_array_get(sessions, k), "session_id", NULL),
                           (size_t)id_len) == 0)
                id_len++;
    }
    _buf_ struct buf table = BUF_INIT(64 * MIB);
    _json_ json_t *rows =
        json_pack("[[ssssssssssssss]]", "SESSION", "NAME", "STATE", "RUNTIME", "PROFILE", "AGENT",
                  "USED", "AGE", "CELLS", "QUEUED", "MEMORY", "CPU", "EXIT", "CWD");
    for (size_t i = 0; i < json_array_size(sessions); i++)
        json_array_append_new(rows, ps_make_row(json_array_get(sessions, i), id_len));
    cli_append_table(&table, rows, "llllllrrrrrrrl");
    return fd_write_all(STDOUT_FILENO, buf_str(&table), table.len) < 0 ? CLI_EXIT_PIPE : 0;
}
