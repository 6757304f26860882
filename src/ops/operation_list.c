#include "ops/describe.h"
#include "ops/ops.h"

static const struct op_param params[] = {{0}};

static void run(struct call *call)
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
    .params = params,
    .doc = "Lists all operations: their paths, their parameters and what they use.",
    .run = run,
    .result = &shape_operation_list,
    .example = "{}",
};
