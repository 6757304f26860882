#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"

static const struct cli_flag flags[] = {
    {"all", 'a', NULL, "every session"},
    {"keep-notebook", 'k', NULL, "what they ran stays: see cella notebook"},
    {0},
};

/* Every id is found before the first session is killed: a typo kills nothing. */
static int find_all(const struct cli_args *args, struct cli_client *c, json_t *ids, struct err *e)
{
    for (size_t i = 0; i < args->n_words; i++) {
        struct cli_session session;
        if (cli_session_find(c, args->words[i], &session, e) < 0)
            return -1;
        json_array_append_new(ids, json_string(session.id));
    }
    if (!cli_has(args, "all"))
        return 0;
    _json_ json_t *sessions = NULL;
    if (cli_session_list(c, &sessions, e) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(sessions); i++)
        json_array_append_new(
            ids, json_string(cli_json_text(json_array_get(sessions, i), "session_id", NULL)));
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

static int kill_all(const struct cli_args *args, struct cli_client *c, json_t *ids, struct err *e)
{
    bool is_json = cli_has(args, "json"), keeps = cli_has(args, "keep-notebook");
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        /* Gone meanwhile is what was asked for. */
        if (kill_one(c, id, keeps, e) < 0 && e->code != ERR_NOT_FOUND && e->code != ERR_GONE)
            return err_context(e, "killing %s", id);
        if (!is_json)
            cli_say(STDOUT_FILENO, "killed %s\n", id);
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
    _json_ json_t *ids = json_array();
    if (find_all(args, c, ids, e) < 0)
        return -1;
    return kill_all(args, c, ids, e);
}

static int run(const struct cli_args *args, struct err *e)
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
    .run = run,
};
