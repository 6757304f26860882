/* The table of tools, out of tools.json, which is in the program. Daemon and command line tool;
 * owns the table, which stays until the process ends. */
#include "toolbox/toolbox.h"

#include "base/buf.h"
#include "jail/embedded.h"
#include "wire/json.h"

#include <assert.h>
#include <string.h>

enum { TOOLBOX_ENTRIES_MAX = 64, TOOLBOX_TIMEOUT_MS = 30 * 1000, TOOLBOX_NAMES_MAX = 700 };

extern const struct embedded_file toolbox_files[]; /* of one file; the build makes the table */

const char *const toolbox_effect_names[] = {
    "local_exec", "calls_llm", "modifies_files", "network_access", "system_state",
    "read_only",  NULL};
const char *const toolbox_permission_names[] = {"network", "filesystem", "shell", "compute", NULL};
const char *const toolbox_caller_names[] = {"direct", "chain", NULL};

static struct {
    struct tool_entry entries[TOOLBOX_ENTRIES_MAX];
    size_t n;
    json_t *file;
} toolbox;

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

static enum toolbox_maker toolbox_maker_of(const json_t *entry)
{
    if (json_object_get(entry, "operation") != NULL)
        return TOOLBOX_OPERATION;
    if (json_object_get(entry, "advice") != NULL)
        return TOOLBOX_UNSET;
    return json_is_true(json_object_get(entry, "in_daemon")) ? TOOLBOX_DAEMON : TOOLBOX_ASSISTANT;
}

static const char *toolbox_text(const json_t *entry, const char *name)
{
    return json_string_value(json_object_get(entry, name));
}

static void toolbox_add(const char *name, json_t *told)
{
    static const char *const inner[] = {"operation", "advice", "in_daemon", "timeout_ms"};
    assert(toolbox.n < TOOLBOX_ENTRIES_MAX);
    struct tool_entry *entry = &toolbox.entries[toolbox.n++];
    const json_t *timeout = json_object_get(told, "timeout_ms");
    *entry = (struct tool_entry){
        .name = name,
        .category = toolbox_text(told, "category"),
        .description = toolbox_text(told, "description"),
        .returns = toolbox_text(told, "returns"),
        .maker = toolbox_maker_of(told),
        .operation = toolbox_text(told, "operation"),
        .advice = toolbox_text(told, "advice"),
        .effects = toolbox_bits(json_object_get(told, "side_effects"), toolbox_effect_names),
        .permissions = toolbox_bits(json_object_get(told, "permissions"), toolbox_permission_names),
        .callers = toolbox_bits(json_object_get(told, "allowed_callers"), toolbox_caller_names),
        .is_destructive = json_is_true(json_object_get(told, "destructive")),
        .timeout_ms = timeout != NULL ? (uint32_t)json_integer_value(timeout) : TOOLBOX_TIMEOUT_MS,
        .schema = toolbox_make_schema(json_object_get(told, "parameters")),
        .told = json_pack("{s:s}", "name", name),
    };
    json_object_update(entry->told, told);
    for (size_t i = 0; i < ARRAY_LEN(inner); i++)
        json_object_del(entry->told, inner[i]);
    if (entry->callers == 0) {
        entry->callers = TOOLBOX_DIRECT;
        json_object_set_new(entry->told, "allowed_callers", json_pack("[s]", "direct"));
    }
    json_object_set_new(entry->told, "destructive", json_boolean(entry->is_destructive));
}

static void toolbox_read(void)
{
    struct err e;
    json_t *entry;
    const char *name;
    const struct embedded_file *file = &toolbox_files[0];
    int r = json_read_object((const char *)file->data, file->size, &toolbox.file, &e);
    assert(r == 0);
    (void)r;
    json_object_foreach(toolbox.file, name, entry)
        toolbox_add(name, entry);
}

const struct tool_entry *toolbox_entries(size_t *ret_n)
{
    if (toolbox.n == 0)
        toolbox_read();
    *ret_n = toolbox.n;
    return toolbox.entries;
}

const struct tool_entry *toolbox_find(const char *name)
{
    size_t n;
    const struct tool_entry *entries = toolbox_entries(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
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
    const struct tool_entry *entries = toolbox_entries(&n);
    _buf_ struct buf names = BUF_INIT(TOOLBOX_NAMES_MAX);
    for (size_t i = 0; i < n; i++)
        buf_printf(&names, "%s%s", i > 0 ? " " : "", entries[i].name);
    err_set(e, ERR_NOT_FOUND, "there is no tool \"%.64s\"", name);
    return err_advise(e, "There are: %s.", buf_str(&names));
}
