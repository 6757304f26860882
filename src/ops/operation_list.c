/* operation.list and tool.list: the table of operations as callers and models see it. Daemon; on
 * the loop. */
#include "ops/describe.h"
#include "ops/ops.h"
#include "wire/json.h"

static const struct op_param operation_list_params[] = {{0}};

static void operation_list_run(struct call *call)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    describe_operations(op_table, &out);
    call_reply(call, 200, &out);
}

static const struct op_member parameter_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"type", OP_TEXT, .is_always = true, .doc = "What it is."},
    {"in", OP_TEXT, .is_always = true, .doc = "body, path or query."},
    {"required", OP_BOOL, .is_always = true, .doc = "Whether it must be given."},
    {"nullable", OP_BOOL, .doc = "null says the same as leaving it out."},
    {"means", OP_TEXT, .doc = "What it is to the limits of agents."},
    {"min", OP_INT, .doc = "Least value or length."},
    {"max", OP_INT, .doc = "Largest value or length."},
    {"choices", OP_TEXT_LIST, .doc = "What it may be."},
    {"members", OP_ANY, .doc = "Of an object, or of each of a list: parameters like this one."},
    {"doc", OP_TEXT, .is_always = true, .doc = "What it says."},
    {0},
};
static const struct op_shape shape_parameter = {"parameter", parameter_members,
                                                "A parameter of an operation."};

static const struct op_member member_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"type", OP_TEXT, .is_always = true, .doc = "What it is."},
    {"always", OP_BOOL, .doc = "Every such answer has it."},
    {"nullable", OP_BOOL, .doc = "It may be null."},
    {"shape", OP_TEXT, .doc = "Which object it is, or each of the list."},
    {"choices", OP_TEXT_LIST, .doc = "What it may be."},
    {"doc", OP_TEXT, .is_always = true, .doc = "What it says."},
    {0},
};
static const struct op_shape shape_member = {"member", member_members, "A member of an answer."};

static const struct op_member shape_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"doc", OP_TEXT, .is_always = true, .doc = "What it is."},
    {"members", OP_LIST, .is_always = true, .shape = &shape_member, .doc = "Its members."},
    {0},
};
static const struct op_shape shape_shape = {"shape", shape_members, "An object of an answer."};

static const struct op_member event_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"shape", OP_TEXT, .is_always = true, .doc = "What it carries."},
    {"doc", OP_TEXT, .is_always = true, .doc = "When it comes."},
    {0},
};
static const struct op_shape shape_event = {"event", event_members, "An event of a stream."};

static const struct op_member verb_members[] = {
    {"words", OP_TEXT, .is_always = true, .doc = "What is typed behind cella."},
    {"takes", OP_TEXT_LIST,
     .doc = "Parameters given by their place; ? may be left out, ... may be given again."},
    {0},
};
static const struct op_shape shape_verb = {"verb", verb_members, "A verb of the command line."};

static const struct op_member operation_members[] = {
    {"name", OP_TEXT, .is_always = true, .column = "NAME", .doc = "Its name."},
    {"method", OP_TEXT, .is_always = true, .column = "METHOD", .doc = "Of HTTP."},
    {"path", OP_TEXT, .is_always = true, .column = "PATH", .doc = "Its path."},
    {"subject", OP_TEXT, .is_always = true, .doc = "What it is about."},
    {"doc", OP_TEXT, .is_always = true, .doc = "What it does."},
    {"flags", OP_TEXT_LIST, .is_always = true, .doc = "read_only, mutating, streams …"},
    {"params", OP_LIST, .is_always = true, .shape = &shape_parameter, .doc = "What it takes."},
    {"result", OP_TEXT, .doc = "The shape of its answer."},
    {"other_result", OP_TEXT, .doc = "Another one that it may have."},
    {"sends", OP_TEXT, .doc = "Bytes instead of an answer: what they are."},
    {"statuses", OP_INT_LIST, .is_always = true, .doc = "Of HTTP when it succeeds."},
    {"events", OP_LIST, .shape = &shape_event, .doc = "Of its stream."},
    {"errors", OP_TEXT_LIST, .is_always = true, .doc = "The codes that it can fail with."},
    {"example", OP_FREE, .is_always = true, .doc = "Arguments of a call."},
    {"verb", OP_OBJECT, .shape = &shape_verb, .doc = "Its verb of the command line."},
    {0},
};
static const struct op_shape shape_operation = {"operation", operation_members, "An operation."};

static const struct op_member operation_list_members[] = {
    {"operations", OP_LIST, .is_always = true, .shape = &shape_operation, .doc = "The operations."},
    {"shapes", OP_LIST, .is_always = true, .shape = &shape_shape,
     .doc = "The objects that answers are made of."},
    {"count", OP_INT, .is_always = true, .doc = "How many operations there are."},
    {0},
};
static const struct op_shape shape_operation_list = {"operation_list", operation_list_members,
                                                     "All operations."};

const struct op op_operation_list = {
    .name = "operation.list",
    .method = "GET",
    .path = "/v1/operations",
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY,
    .params = operation_list_params,
    .doc = "Lists all operations: their paths, their parameters and what they use.",
    .run = operation_list_run,
    .result = &shape_operation_list,
    .example = "{}",
};

/* ---- the tools among them -------------------------------------------------------------------- */

enum { SETS_MAX = 256 };

static const struct op_param tool_params[] = {
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

static void run_tools(struct call *call)
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
    .params = tool_params,
    .doc = "The tools of one or more sets as models are given them; POST /v1/tools/NAME calls one.",
    .run = run_tools,
    .result = &shape_tool_list,
    .example = "{\"sets\": \"core\"}",
};
