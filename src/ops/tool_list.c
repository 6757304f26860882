#include "ops/describe.h"
#include "ops/ops.h"
#include "wire/json.h"

enum { SETS_MAX = 256 };

static const struct op_param params[] = {
    {.name = "sets",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .max = SETS_MAX,
     .doc = "Sets of tools, with commas between: core, repl, notebook; default core."},
    {0},
};

static bool is_set(const char *name, size_t len)
{
    for (const struct op *const *op = op_table; *op != NULL; op++)
        if ((*op)->toolset != NULL && strlen((*op)->toolset) == len &&
            memcmp((*op)->toolset, name, len) == 0)
            return true;
    return false;
}

static int check_sets(const char *sets, struct err *e)
{
    for (size_t len; sets[0] != '\0'; sets += len + (sets[len] == ',')) {
        len = strcspn(sets, ",");
        if (is_set(sets, len))
            continue;
        err_set(e, ERR_INVALID, "there is no set of tools \"%.*s\"", (int)MIN(len, (size_t)64),
                sets);
        return err_advise(e, "There are core, repl and notebook.");
    }
    return 0;
}

static void run(struct call *call)
{
    struct err e;
    const char *sets = call_text(call, "sets", "core");
    int64_t count = 0;
    if (check_sets(sets, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "tools");
    json_put_array(&json);
    for (const struct op *const *op = op_table; *op != NULL; op++) {
        if (!op_is_in_sets(*op, sets))
            continue;
        describe_tool(*op, &json);
        count++;
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "count", count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct op_member tool_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "What it is called."},
    {"description", OP_TEXT, .is_always = true, .doc = "What a model is told of it."},
    {"inputSchema", OP_FREE, .is_always = true, .doc = "Its arguments, as JSON Schema."},
    {"annotations", OP_FREE, .is_always = true, .doc = "What MCP says of tools."},
    {0},
};
static const struct op_shape shape_tool = {"tool", tool_members, "A tool, as MCP describes it."};

static const struct op_member tool_list_members[] = {
    {"tools", OP_LIST, .is_always = true, .shape = &shape_tool, .doc = "The tools."},
    {"count", OP_INT, .is_always = true, .doc = "How many."},
    {0},
};
static const struct op_shape shape_tool_list = {"tool_list", tool_list_members,
                                                "Tools for models."};

const struct op op_tool_list = {
    .name = "tool.list",
    .method = "GET",
    .path = "/v1/tools",
    .subject = OP_ON_TOOLS,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = params,
    .doc = "The tools of one or more sets as models are given them; POST /v1/tools/NAME calls one.",
    .run = run,
    .result = &shape_tool_list,
    .example = "{\"sets\": \"core\"}",
};
