/* What tools there are: toolbox.list. Daemon; on the loop. */
#include "ops/toolbox_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param toolbox_list_params[] = {
    OP_PARAM_SESSION,
    {.name = "name",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = 64,
     .doc = "Only this tool."},
    {.name = "category",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = 64,
     .doc = "Only those of this category."},
    {0},
};

static void toolbox_list_run(struct call *call)
{
    struct err e;
    size_t n, shown = 0;
    const char *name = call_text(call, "name", NULL), *category = call_text(call, "category", NULL);
    const struct session *session = call_session(call);
    if (session == NULL)
        return;
    const struct tool_entry *handed[2 * HANDED_TOOLS_MAX];
    size_t n_handed = handed_list(session, handed);
    const struct tool_entry *const *entries = toolbox_entries(&n);
    if (name != NULL && toolbox_entry_of(session, name) == NULL) {
        toolbox_not_found(name, &e);
        call_fail(call, &e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "tools");
    json_put_array(&json);
    for (size_t i = 0; i < n_handed + n; i++) {
        const struct tool_entry *entry = i < n_handed ? handed[i] : entries[i - n_handed];
        bool is_wanted = (name == NULL || strcmp(name, entry->name) == 0) &&
                         (category == NULL || strcmp(category, entry->category) == 0) &&
                         toolbox_entry_of(session, entry->name) == entry &&
                         toolbox_rules_allow(call, session, entry);
        if (is_wanted)
            json_put_value(&json, entry->told);
        shown += is_wanted;
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "total", (int64_t)shown);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct op_member tool_entry_members[] = {
    {"name", OP_TEXT, .is_always = true, .column = "TOOL", .doc = "What it is called by."},
    {"category", OP_TEXT, .is_always = true, .column = "CATEGORY", .doc = "What it is for."},
    {"description", OP_TEXT, .is_always = true, .column = "DOES", .doc = "What it does."},
    {"parameters", OP_ANY, .is_always = true,
     .doc = "By name: `type`, `required`, `default` and bounds, as JSON Schema has them."},
    {"returns", OP_TEXT, .is_always = true, .doc = "What it answers."},
    {"side_effects", OP_TEXT_LIST, .is_always = true,
     .doc = "local_exec, calls_llm, modifies_files, network_access, system_state, read_only."},
    {"permissions", OP_TEXT_LIST, .is_always = true,
     .doc = "What it needs: network, filesystem, shell, compute."},
    {"allowed_callers", OP_TEXT_LIST, .is_always = true, .doc = "direct, chain."},
    {"destructive", OP_BOOL, .is_always = true, .doc = "It can destroy what was there."},
    {"examples", OP_ANY, .doc = "Arguments of calls."},
    {"schema", OP_ANY,
     .doc = "Of an upstream server, or a caller: all that it says of its arguments."},
    {0},
};
static const struct op_shape shape_tool_entry = {"tool_entry", tool_entry_members,
                                                 "A tool that code can call."};
static const struct op_member toolbox_list_members[] = {
    {"tools", OP_LIST, .is_always = true, .shape = &shape_tool_entry, .doc = "By their category."},
    {"total", OP_INT, .is_always = true, .doc = "How many."},
    {0},
};
static const struct op_shape shape_toolbox = {"toolbox", toolbox_list_members,
                                              "The tools that code can call."};

const struct op op_toolbox_list = {
    .name = "toolbox.list",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/toolbox",
    .subject = OP_ON_TOOLBOX,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = toolbox_list_params,
    .doc = "Lists the tools that code of this session can call, with what they take.",
    .run = toolbox_list_run,
    .result = &shape_toolbox,
    .example = "{\"session_id\": \"$session\", \"category\": \"math\"}",
};
