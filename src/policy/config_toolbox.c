/* Reads `toolbox`. Daemon and command line tool; what it makes lies in the configuration's arena.
 */
#include "policy/config_toolbox.h"

#include "explore/fetch_url.h"

#include <string.h>

enum {
    TOOLBOX_LIST_MAX = 60, /* entries of a list */
    TOOLBOX_TEXT_BYTES = 4096,
    TOOLBOX_PARAMETERS_BYTES = 64 * 1024,
    TOOLBOX_TIMEOUT_SECS = 30,
};

int config_toolbox_text(struct reader *r, const struct reader_field *f, void *object)
{
    if (reader_expect_text(r, f->name, (size_t)f->max) < 0)
        return -1;
    *(const char **)(void *)((char *)object + f->offset) = reader_keep(r);
    return 0;
}

int config_toolbox_texts(struct reader *r, const struct reader_field *f, void *object)
{
    const char *items[TOOLBOX_LIST_MAX + 1] = {NULL};
    size_t n = 0;
    int more;
    if (reader_expect_list(r, f->name, "[one, two]") < 0)
        return -1;
    while ((more = reader_next_item(r)) > 0) {
        if (reader_expect_text(r, f->name, TOOLBOX_TEXT_BYTES) < 0)
            return -1;
        if (n == TOOLBOX_LIST_MAX)
            return reader_fail(r, "%s has more than %d entries", f->name, TOOLBOX_LIST_MAX);
        items[n++] = reader_keep(r);
    }
    *(const char *const **)(void *)((char *)object + f->offset) =
        arena_copy(&r->config->arena, items, (n + 1) * sizeof(*items));
    return more;
}

/* ---- tools ----------------------------------------------------------------------------------- */

static const struct reader_field toolbox_tool_fields[] = {
    {"name", config_toolbox_text, offsetof(struct toolbox_tool, name), 0, TOOLBOX_NAME_MAX},
    {"description", config_toolbox_text, offsetof(struct toolbox_tool, description), 0, 2000},
    {"parameters", config_toolbox_text, offsetof(struct toolbox_tool, parameters), 0,
     TOOLBOX_PARAMETERS_BYTES},
    {"command", config_toolbox_texts, offsetof(struct toolbox_tool, command), 0, 0},
    {"http", config_toolbox_text, offsetof(struct toolbox_tool, http), 0, FETCH_URL_MAX},
    {"headers", config_toolbox_texts, offsetof(struct toolbox_tool, headers), 0, 0},
    {"read_only", reader_bool, offsetof(struct toolbox_tool, only_reads), 0, 0},
    {"timeout_secs", reader_u32, offsetof(struct toolbox_tool, timeout_secs), 1, 600},
    {NULL, NULL, 0, 0, 0},
};

int config_toolbox_check_headers(struct reader *r, const char *name, const char *const *headers,
                                 int line)
{
    for (size_t i = 0; headers != NULL && headers[i] != NULL; i++) {
        if (fetch_header_is_fit(headers[i]))
            continue;
        reader_fail_at(r, line, "%s: a header is no \"Name: value\"", name);
        return err_advise(r->e, "Write headers: [\"Authorization: Bearer KEY\"].");
    }
    return 0;
}

static int toolbox_check_tool(struct reader *r, const struct toolbox_tool *tool, int line)
{
    struct err why;
    struct fetch_url ignored;
    if (tool->name == NULL || !toolbox_is_name(tool->name)) {
        reader_fail_at(r, line, "a tool has no name, or an invalid one");
        return err_advise(r->e, "Write - {name: NAME, command: [PROGRAM]}; letters, digits, _.-");
    }
    if (!toolbox_is_free(tool->name)) {
        reader_fail_at(r, line, "the tool \"%s\" is built in", tool->name);
        return err_advise(r->e, "Give yours another name.");
    }
    bool has_command = tool->command != NULL && tool->command[0] != NULL;
    if (has_command == (tool->http != NULL)) {
        reader_fail_at(r, line, "the tool \"%s\" needs a command or http: one of them", tool->name);
        return err_advise(r->e, "command: [PROGRAM, ARGUMENT] runs in the session's sandbox, "
                                "http: URL is asked by the daemon.");
    }
    if (tool->http != NULL && fetch_url_parse(tool->http, &ignored, &why) < 0)
        return reader_fail_at(r, line, "the tool \"%s\": %.200s", tool->name, why.message);
    if (config_toolbox_check_headers(r, tool->name, tool->headers, line) < 0)
        return -1;
    if (tool->parameters != NULL && toolbox_check_parameters(tool->parameters, &why) < 0) {
        reader_fail_at(r, line, "the tool \"%s\": parameters: %.200s", tool->name, why.message);
        return err_advise(r->e, "Write JSON in quotes: '{\"x\": {\"type\": \"number\", "
                                "\"required\": true}}'.");
    }
    return 0;
}

static int toolbox_read_tool(struct reader *r, struct toolbox_settings *settings)
{
    int line = reader_line(r);
    struct toolbox_tool tool = {.description = "", .timeout_secs = TOOLBOX_TIMEOUT_SECS};
    if (reader_mapping(r, "an item of tools", toolbox_tool_fields, &tool) < 0 ||
        toolbox_check_tool(r, &tool, line) < 0)
        return -1;
    for (size_t i = 0; i < settings->n_tools; i++)
        if (strcmp(settings->tools[i].name, tool.name) == 0)
            return reader_fail_at(r, line, "the tool \"%s\" is given twice", tool.name);
    if (settings->n_tools == TOOLBOX_CONFIGURED_MAX)
        return reader_fail_at(r, line, "there are more than %d tools", TOOLBOX_CONFIGURED_MAX);
    settings->tools[settings->n_tools++] = tool;
    return 0;
}

static int toolbox_read_tools(struct reader *r, const struct reader_field *f, void *object)
{
    struct toolbox_settings *settings = &((struct config *)object)->toolbox;
    int more;
    settings->tools =
        arena_alloc(&r->config->arena, TOOLBOX_CONFIGURED_MAX * sizeof(*settings->tools));
    if (reader_expect_list(r, f->name, "[{name: NAME, command: [PROGRAM]}]") < 0)
        return -1;
    while ((more = reader_next_item(r)) > 0)
        if (toolbox_read_tool(r, settings) < 0)
            return -1;
    return more;
}

/* ---- servers --------------------------------------------------------------------------------- */

static const struct reader_field toolbox_server_fields[] = {
    {"name", config_toolbox_text, offsetof(struct toolbox_server, name), 0, TOOLBOX_NAME_MAX},
    {"command", config_toolbox_texts, offsetof(struct toolbox_server, command), 0, 0},
    {"environment", config_toolbox_texts, offsetof(struct toolbox_server, environment), 0, 0},
    {"tools", config_toolbox_texts, offsetof(struct toolbox_server, tools), 0, 0},
    {"timeout_secs", reader_u32, offsetof(struct toolbox_server, timeout_secs), 1, 600},
    {NULL, NULL, 0, 0, 0},
};

static int toolbox_read_server(struct reader *r, struct toolbox_settings *settings)
{
    int line = reader_line(r);
    struct toolbox_server server = {.timeout_secs = TOOLBOX_TIMEOUT_SECS};
    if (reader_mapping(r, "an item of servers", toolbox_server_fields, &server) < 0)
        return -1;
    bool is_whole = server.name != NULL && toolbox_is_name(server.name) && server.command != NULL &&
                    server.command[0] != NULL;
    if (!is_whole) {
        reader_fail_at(r, line, "a server has no name or no command");
        return err_advise(r->e, "Write - {name: NAME, command: [/path/to/program, ARGUMENT]}.");
    }
    for (size_t i = 0; i < settings->n_servers; i++)
        if (strcmp(settings->servers[i].name, server.name) == 0)
            return reader_fail_at(r, line, "the server \"%s\" is given twice", server.name);
    if (settings->n_servers == TOOLBOX_SERVERS_MAX)
        return reader_fail_at(r, line, "there are more than %d servers", TOOLBOX_SERVERS_MAX);
    settings->servers[settings->n_servers++] = server;
    return 0;
}

static int toolbox_read_servers(struct reader *r, const struct reader_field *f, void *object)
{
    struct toolbox_settings *settings = &((struct config *)object)->toolbox;
    int more;
    settings->servers =
        arena_alloc(&r->config->arena, TOOLBOX_SERVERS_MAX * sizeof(*settings->servers));
    if (reader_expect_list(r, f->name, "[{name: NAME, command: [PROGRAM]}]") < 0)
        return -1;
    while ((more = reader_next_item(r)) > 0)
        if (toolbox_read_server(r, settings) < 0)
            return -1;
    return more;
}

/* ---- a model --------------------------------------------------------------------------------- */

static const struct reader_field toolbox_llm_fields[] = {
    {"http", config_toolbox_text, offsetof(struct toolbox_llm, http), 0, FETCH_URL_MAX},
    {"model", config_toolbox_text, offsetof(struct toolbox_llm, model), 0, 200},
    {"headers", config_toolbox_texts, offsetof(struct toolbox_llm, headers), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static int toolbox_read_llm(struct reader *r, const struct reader_field *f, void *object)
{
    struct err why;
    struct fetch_url ignored;
    struct toolbox_llm *llm = &((struct config *)object)->toolbox.llm;
    int line = reader_line(r);
    if (reader_mapping(r, f->name, toolbox_llm_fields, llm) < 0)
        return -1;
    if (llm->http == NULL || llm->model == NULL) {
        reader_fail_at(r, line, "llm has no http or no model");
        return err_advise(r->e,
                          "Write llm: {http: https://HOST/v1/chat/completions, model: NAME}.");
    }
    if (fetch_url_parse(llm->http, &ignored, &why) < 0)
        return reader_fail_at(r, line, "llm: %.200s", why.message);
    return config_toolbox_check_headers(r, "llm", llm->headers, line);
}

/* ---- chains ---------------------------------------------------------------------------------- */

const char *const config_chain_modes[] = {"legacy", "seq", "dep", NULL};

static int toolbox_read_chain_mode(struct reader *r, const struct reader_field *f, void *object)
{
    if (reader_expect_text(r, f->name, 16) < 0)
        return -1;
    const char *mode = reader_keep(r);
    for (size_t i = 0; config_chain_modes[i] != NULL; i++) {
        if (strcmp(config_chain_modes[i], mode) != 0)
            continue;
        ((struct config *)object)->chains.mode = (enum config_chain_mode)i;
        return 0;
    }
    reader_fail(r, "there is no chain_mode \"%.16s\"", mode);
    return err_advise(r->e, "Write legacy, seq or dep.");
}

static const struct reader_field toolbox_fields[] = {
    {"chain_mode", toolbox_read_chain_mode, 0, 0, 0},
    {"parallel_mutations", reader_bool, offsetof(struct config, chains.parallel_mutations), 0, 0},
    {"parallel_tools", reader_bool, offsetof(struct config, chains.parallel_reads), 0, 0},
    {"llm", toolbox_read_llm, 0, 0, 0},
    {"tools", toolbox_read_tools, 0, 0, 0},
    {"servers", toolbox_read_servers, 0, 0, 0},
    {"allow", config_toolbox_texts, offsetof(struct config, toolbox_rules.allow), 0, 0},
    {"deny", config_toolbox_texts, offsetof(struct config, toolbox_rules.deny), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

int config_read_toolbox(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, toolbox_fields, object);
}

/* ---- who may call which ---------------------------------------------------------------------- */

static const struct reader_field toolbox_rule_fields[] = {
    {"allow", config_toolbox_texts, offsetof(struct config_toolbox_rules, allow), 0, 0},
    {"deny", config_toolbox_texts, offsetof(struct config_toolbox_rules, deny), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

int config_read_toolbox_rules(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, toolbox_rule_fields, (char *)object + f->offset);
}

static bool toolbox_is_among(const char *const *list, const struct tool_entry *entry)
{
    for (; *list != NULL; list++) {
        if (strcmp(*list, "*") == 0 || strcmp(*list, entry->name) == 0)
            return true;
        for (size_t i = 0; (*list)[0] == '@' && toolbox_permission_names[i] != NULL; i++)
            if ((entry->permissions & (1u << i)) != 0 &&
                strcmp(*list + 1, toolbox_permission_names[i]) == 0)
                return true;
    }
    return false;
}

bool config_toolbox_allows(const struct config_toolbox_rules *rules, const struct tool_entry *entry)
{
    if (rules->deny != NULL && toolbox_is_among(rules->deny, entry))
        return false;
    return rules->allow == NULL || toolbox_is_among(rules->allow, entry);
}
