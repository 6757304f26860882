/* `cella kill`: end sessions and everything they started. Command line tool. */
#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"

static const struct cli_flag flags[] = {
    {"all", 'a', NULL, "every session"},
    {"keep-notebook", 'k', NULL, "what they ran stays: see cella notebook"},
    {0},
};

/* Every id is found before the first session is killed: a typo kills nothing. */
static int find_all(const struct cli_args *args, struct cli_client *c, json_t *found, struct err *e)
{
    for (size_t i = 0; i < args->n_words; i++) {
        struct cli_session session;
        if (cli_session_find(c, args->words[i], &session, e) < 0)
            return -1;
        json_array_append_new(found, json_pack("{ss sI}", "session_id", session.id, "exec_count",
                                               (json_int_t)session.exec_count));
    }
    if (!cli_has(args, "all"))
        return 0;
    _json_ json_t *sessions = NULL;
    if (cli_session_list(c, "", &sessions, e) < 0)
        return -1;
    json_array_extend(found, sessions);
    return 0;
}

static int kill_one(struct cli_client *c, const char *id, bool keeps_notebook, struct err *e)
{
    if (!keeps_notebook)
        return cli_session_kill(c, id, e);
    char path[128];
    _json_ json_t *object = NULL;
    snprintf(path, sizeof(path), "/v1/sessions/%s?keep_notebook=true", id);
    return cli_api_get(c, "DELETE", path, &object, e);
}

/* A notebook begins with the first cell. */
static void say_killed(const json_t *session, bool keeps_notebook)
{
    const char *id = cli_json_text(session, "session_id", NULL);
    if (cli_json_int(session, "exec_count", 0) == 0)
        cli_say(STDOUT_FILENO, "killed %s\n", id);
    else if (keeps_notebook)
        cli_say(STDOUT_FILENO, "killed %s; its notebook stays: cella notebook show %.8s\n", id, id);
    else
        cli_say(STDOUT_FILENO,
                "killed %s; its notebook is deleted, too (--keep-notebook keeps it)\n", id);
}

static int kill_all(const struct cli_args *args, struct cli_client *c, const json_t *found,
                    struct err *e)
{
    bool is_json = cli_has(args, "json"), keeps = cli_has(args, "keep-notebook");
    _json_ json_t *ids = json_array();
    for (size_t i = 0; i < json_array_size(found); i++) {
        const json_t *session = json_array_get(found, i);
        const char *id = cli_json_text(session, "session_id", NULL);
        json_array_append_new(ids, json_string(id));
        /* Gone meanwhile is what was asked for. */
        if (kill_one(c, id, keeps, e) < 0 && e->code != ERR_NOT_FOUND && e->code != ERR_GONE)
            return err_context(e, "killing %s", id);
        if (!is_json)
            say_killed(session, keeps);
    }
    if (is_json) {
        _json_ json_t *object = json_pack("{s:O}", "killed", ids);
        cli_print_json(object);
    }
    return 0;
}

static int find_and_kill(const struct cli_args *args, struct cli_client *c, void *context,
                         struct err *e)
{
    (void)context;
    _json_ json_t *found = json_array();
    if (find_all(args, c, found, e) < 0)
        return -1;
    return kill_all(args, c, found, e);
}

static int kill_run(const struct cli_args *args, struct err *e)
{
    if ((args->n_words == 0) != cli_has(args, "all")) {
        err_set(e, ERR_INVALID, "name the sessions to kill, or give --all");
        return err_advise(e, "list the sessions with: cella ps");
    }
    return cli_client_with(args, false, find_and_kill, NULL, e);
}

const struct cli_verb cli_kill_verb = {
    .name = "kill",
    .summary = "end sessions and everything they started",
    .usage = "[OPTION...] ID... | --all",
    .about =
        "Ends the sessions named by their ids or the beginnings of them. If one of the names\n"
        "is wrong none is killed. Their notebooks go with them unless --keep-notebook is given.",
    .flags = flags,
    .is_client = true,
    .examples = "cella kill 0b9c\n"
                "cella kill --all",
    .run = kill_run,
};
