/* The table of tools: those of tools.json, which is in the program, and those that are configured.
 * Daemon; on the loop; owns the table, which stays until the process ends. */
#include "toolbox/toolbox.h"

#include "base/buf.h"
#include "jail/embedded.h"
#include "toolbox/upstream.h"
#include "wire/json.h"

#include <assert.h>
#include <string.h>

enum {
    TOOLBOX_ENTRIES_MAX = 64 + TOOLBOX_CONFIGURED_MAX + TOOLBOX_SERVERS_MAX * TOOLBOX_UPSTREAM_MAX,
    TOOLBOX_TIMEOUT_MS = 30 * 1000,
    TOOLBOX_NAMES_MAX = 800,
};

extern const struct embedded_file toolbox_files[]; /* of one file; the build makes the table */

static const char *const toolbox_effect_names[] = {
    "local_exec", "calls_llm", "modifies_files", "network_access", "system_state",
    "read_only",  NULL};
const char *const toolbox_permission_names[] = {"network", "filesystem", "shell", "compute", NULL};
static const char *const toolbox_caller_names[] = {"direct", "chain", NULL};

static struct {
    struct tool_entry **entries;
    size_t n;
    size_t n_built_in; /* the first ones */
} toolbox;

/* ---- entries --------------------------------------------------------------------------------- */

static unsigned toolbox_bits(const json_t *list, const char *const *names)
{
    unsigned bits = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        for (size_t k = 0; names[k] != NULL; k++)
            if (strcmp(names[k], json_string_value(json_array_get(list, i))) == 0)
                bits |= 1u << k;
    return bits;
}

/* {"x": {"type", "required", "default" …}} as a schema of an object. */
static json_t *toolbox_make_schema(json_t *parameters)
{
    json_t *properties = json_object(), *required = json_array(), *one;
    const char *name;
    json_object_foreach(parameters, name, one) {
        json_t *schema = json_copy(one);
        if (json_is_true(json_object_get(schema, "required")))
            json_array_append_new(required, json_string(name));
        json_object_del(schema, "required");
        json_object_set_new(properties, name, schema);
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

static const char *toolbox_text(const json_t *entry, const char *name)
{
    return json_string_value(json_object_get(entry, name));
}

struct tool_entry *toolbox_new_entry(enum toolbox_maker maker, json_t *told, json_t *schema)
{
    struct tool_entry *entry = mem_alloc(sizeof(*entry));
    *entry = (struct tool_entry){
        .name = toolbox_text(told, "name"),
        .category = toolbox_text(told, "category"),
        .description = toolbox_text(told, "description"),
        .maker = maker,
        .effects = toolbox_bits(json_object_get(told, "side_effects"), toolbox_effect_names),
        .permissions = toolbox_bits(json_object_get(told, "permissions"), toolbox_permission_names),
        .callers = toolbox_bits(json_object_get(told, "allowed_callers"), toolbox_caller_names),
        .is_destructive = json_is_true(json_object_get(told, "destructive")),
        .timeout_ms = TOOLBOX_TIMEOUT_MS,
        .schema = schema,
        .told = told,
        .n_holds = 1,
    };
    if (entry->callers == 0) {
        entry->callers = TOOLBOX_DIRECT;
        json_object_set_new(told, "allowed_callers", json_pack("[s]", "direct"));
    }
    json_object_set_new(told, "destructive", json_boolean(entry->is_destructive));
    return entry;
}

void toolbox_hold(struct tool_entry *entry)
{
    entry->n_holds++;
}

void toolbox_let_go(struct tool_entry *entry)
{
    if (--entry->n_holds > 0)
        return;
    json_decref((json_t *)(uintptr_t)entry->schema);
    json_decref(entry->told);
    json_decref(entry->setting);
    free(entry);
}

/* ---- those that are built in ----------------------------------------------------------------- */

static enum toolbox_maker toolbox_maker_of(const json_t *entry)
{
    if (json_object_get(entry, "operation") != NULL)
        return TOOLBOX_OPERATION;
    if (json_object_get(entry, "advice") != NULL)
        return TOOLBOX_UNSET;
    if (json_is_true(json_object_get(entry, "by_http")))
        return TOOLBOX_HTTP;
    return json_is_true(json_object_get(entry, "in_daemon")) ? TOOLBOX_DAEMON : TOOLBOX_ASSISTANT;
}

/* Members of the file that nobody is told stay in `setting`. */
static struct tool_entry *toolbox_make(const char *name, json_t *read)
{
    static const char *const inner[] = {"operation", "advice", "in_daemon", "by_http",
                                        "timeout_ms"};
    json_t *told = json_pack("{s:s}", "name", name);
    json_object_update(told, read);
    for (size_t i = 0; i < ARRAY_LEN(inner); i++)
        json_object_del(told, inner[i]);
    struct tool_entry *entry = toolbox_new_entry(
        toolbox_maker_of(read), told, toolbox_make_schema(json_object_get(read, "parameters")));
    const json_t *timeout = json_object_get(read, "timeout_ms");
    entry->setting = json_incref(read);
    entry->operation = toolbox_text(read, "operation");
    entry->advice = toolbox_text(read, "advice");
    if (timeout != NULL)
        entry->timeout_ms = (uint32_t)json_integer_value(timeout);
    return entry;
}

static void toolbox_read(void)
{
    struct err e;
    json_t *read, *file = NULL;
    const char *name;
    int r = json_read_object((const char *)toolbox_files[0].data, toolbox_files[0].size, &file, &e);
    assert(r == 0);
    (void)r;
    toolbox.entries = mem_alloc(TOOLBOX_ENTRIES_MAX * sizeof(struct tool_entry *));
    json_object_foreach(file, name, read)
        toolbox.entries[toolbox.n++] = toolbox_make(name, read);
    toolbox.n_built_in = toolbox.n;
    json_decref(file);
}

/* ---- looking --------------------------------------------------------------------------------- */

const struct tool_entry *const *toolbox_entries(size_t *ret_n)
{
    if (toolbox.n == 0)
        toolbox_read();
    *ret_n = toolbox.n;
    return (const struct tool_entry *const *)toolbox.entries;
}

/* The last one of a name counts: what is configured comes after what nobody runs. */
struct tool_entry *toolbox_find(const char *name)
{
    size_t n;
    toolbox_entries(&n);
    while (n-- > 0)
        if (strcmp(toolbox.entries[n]->name, name) == 0)
            return toolbox.entries[n];
    return NULL;
}

bool toolbox_only_reads(const struct tool_entry *entry, const json_t *args)
{
    bool writes = (entry->effects & TOOLBOX_MODIFIES_FILES) != 0 &&
                  json_is_true(json_object_get(args, "write"));
    return (entry->effects & TOOLBOX_READ_ONLY) != 0 && !writes;
}

int toolbox_not_found(const char *name, struct err *e)
{
    size_t n;
    const struct tool_entry *const *entries = toolbox_entries(&n);
    _buf_ struct buf names = BUF_INIT(TOOLBOX_NAMES_MAX), servers = BUF_INIT(KIB);
    for (size_t i = 0; i < n && !names.overflowed; i++)
        buf_printf(&names, "%s%s", i > 0 ? " " : "", entries[i]->name);
    upstream_describe_failures(&servers);
    err_set(e, ERR_NOT_FOUND, "there is no tool \"%.64s\"", name);
    return err_advise(e, "%.200s%sThere are: %s.", buf_str(&servers), servers.len > 0 ? " " : "",
                      buf_str(&names));
}

bool toolbox_is_name(const char *name)
{
    static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t len = strlen(name);
    return len > 0 && len <= TOOLBOX_NAME_MAX && strspn(name, signs) == len;
}

bool toolbox_is_free(const char *name)
{
    size_t n;
    toolbox_entries(&n);
    for (size_t i = 0; i < toolbox.n_built_in; i++)
        if (strcmp(toolbox.entries[i]->name, name) == 0)
            return toolbox.entries[i]->maker == TOOLBOX_UNSET;
    return true;
}

/* ---- those that are configured --------------------------------------------------------------- */

void toolbox_put(struct tool_entry *entry)
{
    size_t n;
    toolbox_entries(&n);
    assert(n < TOOLBOX_ENTRIES_MAX);
    toolbox.entries[toolbox.n++] = entry;
}

void toolbox_remove_of(const struct upstream *from)
{
    size_t n;
    toolbox_entries(&n);
    size_t kept = toolbox.n_built_in;
    for (size_t i = kept; i < n; i++) {
        if (toolbox.entries[i]->from == from)
            toolbox_let_go(toolbox.entries[i]);
        else
            toolbox.entries[kept++] = toolbox.entries[i];
    }
    toolbox.n = kept;
}

static json_t *toolbox_list(const char *const *texts)
{
    json_t *list = json_array();
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

int toolbox_check_parameters(const char *json, struct err *e)
{
    _json_ json_t *parameters = NULL;
    const char *name;
    json_t *one;
    if (json_read_object(json, strlen(json), &parameters, e) < 0)
        return -1;
    json_object_foreach(parameters, name, one) {
        if (!json_is_object(one))
            return err_set(e, ERR_INVALID, "the parameter \"%.64s\" is no object", name);
    }
    return 0;
}

/* One that takes the place of a tool that nobody runs takes what that one does, unless it says. */
static json_t *toolbox_parameters_of(const struct toolbox_tool *tool,
                                     const struct tool_entry *unset)
{
    struct err e;
    json_t *parameters = NULL;
    if (tool->parameters == NULL && unset != NULL)
        return json_incref(json_object_get(unset->told, "parameters"));
    if (tool->parameters == NULL ||
        json_read_object(tool->parameters, strlen(tool->parameters), &parameters, &e) < 0)
        return json_object();
    return parameters;
}

static void toolbox_add_tool(const struct toolbox_tool *tool)
{
    bool is_command = tool->command != NULL;
    const struct tool_entry *found = toolbox_find(tool->name);
    const struct tool_entry *unset = found != NULL && found->maker == TOOLBOX_UNSET ? found : NULL;
    json_t *parameters = toolbox_parameters_of(tool, unset);
    bool has_description = unset == NULL || tool->description[0] != '\0';
    json_t *told = json_pack(
        "{s:s, s:s, s:s, s:O, s:s, s:[s], s:[s]}", "name", tool->name, "category", "configured",
        "description", has_description ? tool->description : unset->description, "parameters",
        parameters, "returns",
        is_command ? "what it writes: JSON, or a text" : "what the server answers", "side_effects",
        tool->only_reads ? "read_only"
        : is_command     ? "local_exec"
                         : "network_access",
        "permissions", is_command ? "shell" : "network");
    if (tool->only_reads)
        json_object_set_new(told, "allowed_callers", json_pack("[s, s]", "direct", "chain"));
    struct tool_entry *entry = toolbox_new_entry(is_command ? TOOLBOX_COMMAND : TOOLBOX_HTTP, told,
                                                 toolbox_make_schema(parameters));
    json_decref(parameters);
    entry->timeout_ms = tool->timeout_secs * 1000;
    entry->setting = is_command ? json_pack("{s:o}", "command", toolbox_list(tool->command))
                                : json_pack("{s:s, s:o}", "url", tool->http, "headers",
                                            toolbox_list(tool->headers));
    toolbox_put(entry);
}

/* The tools that need a model take what their entries say, now that there is one. */
static void toolbox_add_llm(const struct toolbox_llm *llm)
{
    static const char *const names[] = {"llm_call", "llm_batch"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct tool_entry *unset = toolbox_find(names[i]);
        struct tool_entry *entry =
            toolbox_new_entry(TOOLBOX_LLM, json_copy(unset->told), json_deep_copy(unset->schema));
        entry->timeout_ms = unset->timeout_ms;
        entry->setting = json_pack("{s:s, s:s, s:o}", "url", llm->http, "model", llm->model,
                                   "headers", toolbox_list(llm->headers));
        toolbox_put(entry);
    }
}

void toolbox_configure(uv_loop_t *loop, const struct toolbox_settings *settings)
{
    toolbox_remove_of(NULL);
    if (settings->llm.http != NULL)
        toolbox_add_llm(&settings->llm);
    for (size_t i = 0; i < settings->n_tools; i++)
        toolbox_add_tool(&settings->tools[i]);
    upstream_begin_settings();
    for (size_t i = 0; i < settings->n_servers; i++) {
        const struct toolbox_server *server = &settings->servers[i];
        upstream_set(loop, server->name,
                     json_pack("{s:o, s:o, s:o, s:I}", "command", toolbox_list(server->command),
                               "environment", toolbox_list(server->environment), "tools",
                               server->tools != NULL ? toolbox_list(server->tools) : json_null(),
                               "timeout_ms", (json_int_t)server->timeout_secs * 1000));
    }
    upstream_end_settings();
}

/* ---- those that callers hand in -------------------------------------------------------------- */

/* In place of parameters by their names. */
static bool toolbox_is_schema(const json_t *parameters)
{
    const char *type = json_string_value(json_object_get(parameters, "type"));
    return type != NULL && strcmp(type, "object") == 0;
}

int toolbox_check_handed(const json_t *parameters, const json_t *callers, struct err *e)
{
    const char *name;
    json_t *one;
    size_t i;
    const json_t *properties = json_object_get(parameters, "properties");
    json_array_foreach(callers, i, one) {
        const char *who = json_string_value(one);
        if (who == NULL || (strcmp(who, "direct") != 0 && strcmp(who, "chain") != 0)) {
            err_set(e, ERR_INVALID, "allowed_callers are \"direct\" and \"chain\"");
            return err_advise(e, "direct: code itself. chain: calls that are planned together.");
        }
    }
    if (toolbox_is_schema(parameters) && (properties == NULL || json_is_object(properties)))
        return 0;
    json_object_foreach((json_t *)(uintptr_t)parameters, name, one) {
        if (json_is_object(one))
            continue;
        err_set(e, ERR_INVALID, "the parameter \"%.64s\" is no object", name);
        return err_advise(e, "parameters is a JSON Schema whose type is \"object\", or has by name "
                             "what each takes: {\"query\": {\"type\": \"string\", \"required\": "
                             "true}}.");
    }
    return 0;
}

struct tool_entry *toolbox_new_handed(const json_t *given)
{
    json_t *parameters = json_object_get(given, "parameters");
    json_t *properties = json_object_get(parameters, "properties");
    const char *description = toolbox_text(given, "description");
    bool is_schema = toolbox_is_schema(parameters);
    bool only_reads = json_is_true(json_object_get(given, "read_only"));
    json_t *told =
        json_pack("{s:s, s:s, s:s, s:s, s:[s], s:[]}", "name", toolbox_text(given, "name"),
                  "category", "caller", "description", description != NULL ? description : "",
                  "returns", "what the caller answers", "side_effects",
                  only_reads ? "read_only" : "system_state", "permissions");
    json_t *shown = is_schema ? properties : parameters;
    json_object_set_new(told, "parameters", shown != NULL ? json_incref(shown) : json_object());
    if (is_schema)
        json_object_set(told, "schema", parameters);
    json_t *callers = json_object_get(given, "allowed_callers");
    if (json_array_size(callers) > 0)
        json_object_set(told, "allowed_callers", callers);
    else if (only_reads)
        json_object_set_new(told, "allowed_callers", json_pack("[s, s]", "direct", "chain"));
    return toolbox_new_entry(TOOLBOX_CALLER, told,
                             is_schema ? json_incref(parameters)
                                       : toolbox_make_schema(json_object_get(told, "parameters")));
}

void toolbox_stop(void)
{
    upstream_begin_settings();
    upstream_end_settings();
}
