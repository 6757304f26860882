#include "ops/ops.h"
#include "wire/json.h"

static const struct op_param params[] = {{0}};

static const char *const types[] = {
    [OP_TEXT] = "text",     [OP_INT] = "int",       [OP_BOOL] = "bool",
    [OP_CHOICE] = "choice", [OP_OBJECT] = "object", [OP_TEXTS] = "texts",
    [OP_LIST] = "list",     [OP_FREE] = "free",     [OP_FILE] = "file",
};
static const char *const places[] = {
    [OP_IN_BODY] = "body", [OP_IN_PATH] = "path", [OP_IN_QUERY] = "query"};

static const struct {
    unsigned flag;
    const char *name;
} flags[] = {
    {OP_READ_ONLY, "read_only"}, {OP_MUTATING, "mutating"},           {OP_STREAMS, "streams"},
    {OP_PUBLIC, "public"},       {OP_MAKES_SESSION, "makes_session"}, {OP_RUNS_CODE, "runs_code"},
};

static void put_params(struct json_out *json, const char *key, const struct op_param *list);

static void put_param(struct json_out *json, const struct op_param *p)
{
    json_put_object(json);
    json_put_member_str(json, "name", p->name);
    json_put_member_str(json, "type", types[p->type]);
    json_put_member_str(json, "in", places[p->place]);
    json_put_member_bool(json, "required", p->is_required);
    if (op_meanings[p->means] != NULL)
        json_put_member_str(json, "means", op_meanings[p->means]);
    if (p->type == OP_INT || p->type == OP_TEXT) {
        json_put_member_int(json, "min", p->min);
        json_put_member_int(json, "max", p->max);
    }
    if (p->choices != NULL) {
        json_put_key(json, "choices");
        json_put_array(json);
        for (const char *const *choice = p->choices; *choice != NULL; choice++)
            json_put_str(json, *choice);
        json_put_array_end(json);
    }
    if (p->members != NULL)
        put_params(json, "members", p->members);
    json_put_member_str(json, "doc", p->doc);
    json_put_object_end(json);
}

static void put_params(struct json_out *json, const char *key, const struct op_param *list)
{
    json_put_key(json, key);
    json_put_array(json);
    for (const struct op_param *p = list; p->name != NULL; p++)
        put_param(json, p);
    json_put_array_end(json);
}

static void put_op(struct json_out *json, const struct op *op)
{
    json_put_object(json);
    json_put_member_str(json, "name", op->name);
    json_put_member_str(json, "method", op->method);
    json_put_member_str(json, "path", op->path);
    json_put_member_str(json, "doc", op->doc);
    json_put_key(json, "flags");
    json_put_array(json);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (op->flags & flags[i].flag)
            json_put_str(json, flags[i].name);
    json_put_array_end(json);
    put_params(json, "params", op->params);
    json_put_object_end(json);
}

static void run(struct call *call)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    int64_t count = 0;
    json_put_object(&json);
    json_put_key(&json, "operations");
    json_put_array(&json);
    for (const struct op *const *op = op_table; *op != NULL; op++, count++)
        put_op(&json, *op);
    json_put_array_end(&json);
    json_put_member_int(&json, "count", count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

const struct op op_operation_list = {
    .name = "operation.list",
    .method = "GET",
    .path = "/v1/operations",
    .flags = OP_READ_ONLY,
    .params = params,
    .doc = "Lists all operations: their paths, their parameters and what they use.",
    .run = run,
};
