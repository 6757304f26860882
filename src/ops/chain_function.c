/* The table of functions that structured cells call. Daemon; pure, but for the toolbox's table. */
#include "ops/chain_function.h"

#include "base/base.h"

#include <string.h>

#define TOOL_FUNCTION(name_, ...)                                                                  \
    {                                                                                              \
        .name = name_, .op = "toolbox.call", .tool = name_, .params = {__VA_ARGS__},               \
        .member = "result"                                                                         \
    }

static const struct chain_function chain_functions[] = {
    {"peek", .op = "explore.peek", .params = {"n", "file_path", "offset"}, .member = "text"},
    {"grep", .op = "explore.grep", .params = {"pattern", "file_path", "context_lines"},
     .shape = CHAIN_LINES, .member = "lines"},
    {"code_search", .op = "explore.code_search", .params = {"query", "limit", "corpus"},
     .shape = CHAIN_TABLE},
    {"doc_search", .op = "explore.doc_search", .params = {"query", "limit", "corpus"},
     .shape = CHAIN_TABLE},
    {"context_len", .op = "context.get", .member = "chars"},
    {"list_dir", .op = "explore.list_dir", .params = {"path"}, .shape = CHAIN_TABLE},
    {"file_info", .op = "explore.file_info", .params = {"path"}, .shape = CHAIN_TABLE},
    {"recall", .op = "explore.recall", .params = {"query"}, .shape = CHAIN_TABLE},
    {"list_findings", .op = "explore.list_findings", .member = "findings"},
    {"TOOL", .op = "toolbox.call", .member = "result"},
    {"tool_call", .op = "toolbox.call", .member = "result"},
    {"CALL", .op = "toolbox.call", .member = "result"},
    TOOL_FUNCTION("run_shell", "command", "timeout"),
    TOOL_FUNCTION("run_python_code", "code", "stdin_data", "timeout"),
    TOOL_FUNCTION("file_write_safe", "path", "content"),
    TOOL_FUNCTION("log_append", "path", "message", "level"),
    TOOL_FUNCTION("benchmark_run", "code", "setup", "number", "repeat"),
    {"llm_call", .op = "toolbox.call", .tool = "llm_call", .is_whole = true,
     .params = {"prompt", "system", "max_tokens", "temperature"}, .member = "result"},
    {"llm_batch", .op = "toolbox.call", .tool = "llm_batch", .is_whole = true,
     .params = {"prompts", "system", "max_tokens", "temperature"}, .member = "result"},
    {"list_tools", .is_unplanned = true},
    {"chunk_context", .is_unplanned = true},
    {"summarize_chunks", .is_unplanned = true},
    {"web_fetch", .is_unplanned = true},
    {"archive_open", .tool = "archive_open", .is_unplanned = true},
    {"archive_file", .tool = "archive_file", .is_unplanned = true},
    {"archive_search", .tool = "archive_search", .is_unplanned = true},
    {"archive_extract", .tool = "archive_extract", .is_unplanned = true},
    {"delegate", .is_unplanned = true, .is_routing = true},
    {"escalate", .is_unplanned = true, .is_routing = true},
};

const struct chain_function *chain_function_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(chain_functions); i++)
        if (strcmp(chain_functions[i].name, name) == 0)
            return &chain_functions[i];
    return NULL;
}

bool chain_function_has_op(const char *op)
{
    for (size_t i = 0; i < ARRAY_LEN(chain_functions); i++)
        if (chain_functions[i].op != NULL && strcmp(chain_functions[i].op, op) == 0)
            return true;
    return false;
}

json_t *chain_function_params(void)
{
    json_t *all = json_object();
    for (size_t i = 0; i < ARRAY_LEN(chain_functions); i++) {
        json_t *names = json_array();
        for (size_t k = 0; chain_functions[i].params[k] != NULL; k++)
            json_array_append_new(names, json_string(chain_functions[i].params[k]));
        json_object_set_new(all, chain_functions[i].name, names);
    }
    return all;
}

static bool chain_names_its_tool(const struct chain_function *function)
{
    return function->op != NULL && function->tool == NULL &&
           strcmp(function->op, "toolbox.call") == 0;
}

enum chain_kind chain_function_kind(const struct chain_function *function,
                                    const struct tool_entry *entry, const json_t *args)
{
    if (function->is_routing)
        return CHAIN_ROUTES;
    if (entry == NULL)
        return function->tool != NULL || chain_names_its_tool(function) ? CHAIN_UNKNOWN
                                                                        : CHAIN_READS;
    if ((entry->callers & TOOLBOX_CHAIN) == 0)
        return CHAIN_ALONE;
    bool is_known = args != NULL || (entry->effects & TOOLBOX_MODIFIES_FILES) == 0;
    return is_known && toolbox_only_reads(entry, args) ? CHAIN_READS : CHAIN_CHANGES;
}

bool chain_function_may_meet(const char *tool)
{
    static const char *const names[] = {"run_shell", "file_write_safe", "log_append",
                                        "benchmark_run"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], tool) == 0)
            return true;
    return false;
}

json_t *chain_function_args(const struct chain_function *function, const char *target, json_t *args,
                            bool is_whole)
{
    json_t *given = json_incref(args);
    if (strcmp(function->op, "toolbox.call") == 0) {
        const char *tool = function->tool != NULL ? function->tool : target;
        return json_pack("{s:s, s:o, s:b, s:s}", "name", tool, "args", given, "whole",
                         is_whole || function->is_whole, "via",
                         function->tool == NULL || function->is_whole ? function->name : "TOOL");
    }
    if (function->shape == CHAIN_TABLE)
        json_object_set_new(given, "toon", json_true());
    if (strcmp(function->name, "context_len") == 0)
        json_object_set_new(given, "name", json_string("context"));
    if (strcmp(function->name, "list_dir") == 0 && json_object_get(given, "path") == NULL)
        json_object_set_new(given, "path", json_string("."));
    /* peek(path), as the note about a cut output says. */
    json_t *n = json_object_get(given, "n");
    if (strcmp(function->name, "peek") == 0 && json_is_string(n)) {
        json_object_set(given, "file_path", n);
        json_object_del(given, "n");
    }
    return given;
}

json_t *chain_function_value(const struct chain_function *function, json_t *answer,
                             json_t **ret_shown)
{
    *ret_shown = NULL;
    if (function->shape != CHAIN_TABLE)
        return json_incref(json_object_get(answer, function->member));
    *ret_shown = json_incref(json_object_get(answer, "toon"));
    json_object_del(answer, "toon");
    return json_incref(answer);
}

json_t *chain_function_error(const struct chain_function *function, const struct err *e)
{
    bool is_regex = function->shape == CHAIN_LINES && e->code == ERR_INVALID;
    json_t *text = json_sprintf("[%s: %s%s%s]", is_regex ? "REGEX ERROR" : "ERROR", e->message,
                                e->advice[0] != '\0' ? ". " : "", e->advice);
    return function->shape == CHAIN_LINES ? json_pack("[o]", text) : text;
}
