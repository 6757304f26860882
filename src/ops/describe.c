/* The table of operations as JSON: for GET /v1/operations, and for whoever makes pages, completions
 * or clients from it. Daemon on the loop, and the command line tool; owns nothing. */
#include "ops/describe.h"

#include "ops/shapes.h"
#include "wire/json.h"

const char *const op_subjects[] = {
    [OP_ON_NOTHING] = NULL,      [OP_ON_SESSION] = "session",   [OP_ON_CODE] = "code",
    [OP_ON_FILES] = "files",     [OP_ON_HISTORY] = "history",   [OP_ON_CONTEXT] = "context",
    [OP_ON_TOOLBOX] = "toolbox", [OP_ON_NOTEBOOK] = "notebook", [OP_ON_CELL] = "cell",
    [OP_ON_STATE] = "state",     [OP_ON_AGENT] = "agent",       [OP_ON_DAEMON] = "daemon",
    [OP_ON_TOOLS] = "tools",
};

static const char *const describe_types[] = {
    [OP_TEXT] = "text",         [OP_INT] = "int",
    [OP_BOOL] = "bool",         [OP_CHOICE] = "choice",
    [OP_OBJECT] = "object",     [OP_TEXTS] = "texts",
    [OP_LIST] = "list",         [OP_FREE] = "free",
    [OP_FILE] = "file",         [OP_NUMBER] = "number",
    [OP_TIME] = "time",         [OP_SIZE] = "size",
    [OP_INT_LIST] = "int_list", [OP_TEXT_LIST] = "text_list",
    [OP_ANY] = "any",
};
static const char *const places[] = {
    [OP_IN_BODY] = "body", [OP_IN_PATH] = "path", [OP_IN_QUERY] = "query"};

static const struct {
    unsigned flag;
    const char *name;
} flags[] = {
    {OP_READ_ONLY, "read_only"}, {OP_MUTATING, "mutating"},
    {OP_STREAMS, "streams"},     {OP_ONLY_STREAMS, "only_streams"},
    {OP_PUBLIC, "public"},       {OP_MAKES_SESSION, "makes_session"},
    {OP_RUNS_CODE, "runs_code"}, {OP_TAKES_BYTES, "takes_bytes"},
    {OP_HAS_TAIL, "has_tail"},   {OP_TUNNELS, "tunnels"},
};

/* ---- errors and shapes ----------------------------------------------------------------------- */

unsigned op_errors(const struct op *op)
{
    unsigned errors = op->errors | OP_ERR(INVALID) | OP_ERR(FORBIDDEN) | OP_ERR(TOO_LARGE) |
                      OP_ERR(TIMEOUT) | OP_ERR(LIMIT) | OP_ERR(UNAVAILABLE) | OP_ERR(INTERNAL);
    if (!(op->flags & OP_PUBLIC))
        errors |= OP_ERR(UNAUTHORIZED) | OP_ERR(NOT_FOUND); /* an agent that there is not */
    if (op->flags & OP_MUTATING && !(op->flags & OP_PLANS))
        errors |= OP_ERR(CONFLICT); /* plan mode */
    return errors;
}

/* Shapes refer to each other: those that were seen are gone through once. */
struct shape_list {
    const struct op_shape **shapes;
    size_t n, room;
};

static void add_shape(struct shape_list *list, const struct op_shape *shape)
{
    if (shape == NULL)
        return;
    for (size_t i = 0; i < list->n; i++)
        if (list->shapes[i] == shape)
            return;
    if (list->n + 1 >= list->room) {
        list->room = 2 * list->room + 64;
        list->shapes = mem_realloc(list->shapes, list->room * sizeof(*list->shapes));
    }
    list->shapes[list->n++] = shape;
    list->shapes[list->n] = NULL;
    for (const struct op_member *m = shape->members; m->name != NULL; m++)
        add_shape(list, m->shape);
}

const struct op_shape **op_shapes(const struct op *const *table)
{
    struct shape_list list = {0};
    add_shape(&list, &shape_failure);
    for (const struct op *const *op = table; *op != NULL; op++) {
        add_shape(&list, (*op)->result);
        add_shape(&list, (*op)->other_result);
        for (const struct op_event *e = (*op)->events; e != NULL && e->name != NULL; e++)
            add_shape(&list, e->shape);
    }
    return list.shapes;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_texts(struct json_out *json, const char *key, const char *const *texts)
{
    json_put_key(json, key);
    json_put_array(json);
    for (; *texts != NULL; texts++)
        json_put_str(json, *texts);
    json_put_array_end(json);
}

static void put_params(struct json_out *json, const char *key, const struct op_param *list);

static void put_param(struct json_out *json, const struct op_param *p)
{
    json_put_object(json);
    json_put_member_str(json, "name", p->name);
    json_put_member_str(json, "type", describe_types[p->type]);
    json_put_member_str(json, "in", places[p->place]);
    json_put_member_bool(json, "required", p->is_required);
    if (p->is_nullable)
        json_put_member_bool(json, "nullable", true);
    if (op_meanings[p->means] != NULL)
        json_put_member_str(json, "means", op_meanings[p->means]);
    if (p->type == OP_INT || p->type == OP_TEXT) {
        json_put_member_int(json, "min", p->min);
        json_put_member_int(json, "max", p->max);
    }
    if (p->choices != NULL)
        put_texts(json, "choices", p->choices);
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

static void describe_put_answer(struct json_out *json, const struct op *op)
{
    if (op->result != NULL)
        json_put_member_str(json, "result", op->result->name);
    if (op->other_result != NULL)
        json_put_member_str(json, "other_result", op->other_result->name);
    if (op->sends != NULL)
        json_put_member_str(json, "sends", op->sends);
    json_put_key(json, "statuses");
    json_put_array(json);
    json_put_int(json, op->status != 0 ? op->status : 200);
    if (op->other_status != 0)
        json_put_int(json, op->other_status);
    json_put_array_end(json);
    if (op->events != NULL) {
        json_put_key(json, "events");
        json_put_array(json);
        for (const struct op_event *e = op->events; e->name != NULL; e++) {
            json_put_object(json);
            json_put_member_str(json, "name", e->name);
            json_put_member_str(json, "shape", e->shape->name);
            json_put_member_str(json, "doc", e->doc);
            json_put_object_end(json);
        }
        json_put_array_end(json);
    }
    json_put_key(json, "errors");
    json_put_array(json);
    for (unsigned code = ERR_INVALID; code <= ERR_INTERNAL; code++)
        if (op_errors(op) & 1u << code)
            json_put_str(json, err_code_name(code));
    json_put_array_end(json);
}

static void put_op(struct json_out *json, const struct op *op)
{
    json_put_object(json);
    json_put_member_str(json, "name", op->name);
    json_put_member_str(json, "method", op->method);
    json_put_member_str(json, "path", op->path);
    json_put_member_str(json, "subject", op_subjects[op->subject]);
    json_put_member_str(json, "doc", op->doc);
    json_put_key(json, "flags");
    json_put_array(json);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (op->flags & flags[i].flag)
            json_put_str(json, flags[i].name);
    json_put_array_end(json);
    put_params(json, "params", op->params);
    describe_put_answer(json, op);
    json_put_key(json, "example");
    json_put_raw(json, op->example, strlen(op->example));
    if (op->verb != NULL) {
        json_put_key(json, "verb");
        json_put_object(json);
        json_put_member_str(json, "words", op->verb->words);
        if (op->verb->takes != NULL)
            put_texts(json, "takes", op->verb->takes);
        json_put_object_end(json);
    }
    json_put_object_end(json);
}

static void describe_put_shape(struct json_out *json, const struct op_shape *shape)
{
    json_put_object(json);
    json_put_member_str(json, "name", shape->name);
    json_put_member_str(json, "doc", shape->doc);
    json_put_key(json, "members");
    json_put_array(json);
    for (const struct op_member *m = shape->members; m->name != NULL; m++) {
        json_put_object(json);
        json_put_member_str(json, "name", m->name);
        json_put_member_str(json, "type", describe_types[m->type]);
        if (m->is_always)
            json_put_member_bool(json, "always", true);
        if (m->is_nullable)
            json_put_member_bool(json, "nullable", true);
        if (m->shape != NULL)
            json_put_member_str(json, "shape", m->shape->name);
        if (m->choices != NULL)
            put_texts(json, "choices", m->choices);
        json_put_member_str(json, "doc", m->doc);
        json_put_object_end(json);
    }
    json_put_array_end(json);
    json_put_object_end(json);
}

void describe_operations(const struct op *const *table, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    int64_t count = 0;
    json_put_object(&json);
    json_put_key(&json, "operations");
    json_put_array(&json);
    for (const struct op *const *op = table; *op != NULL; op++, count++)
        put_op(&json, *op);
    json_put_array_end(&json);
    json_put_key(&json, "shapes");
    json_put_array(&json);
    _free_ const struct op_shape **shapes = op_shapes(table);
    for (size_t i = 0; shapes[i] != NULL; i++)
        describe_put_shape(&json, shapes[i]);
    json_put_array_end(&json);
    json_put_member_int(&json, "count", count);
    json_put_object_end(&json);
}
