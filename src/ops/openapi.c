/* The table of operations as OpenAPI 3.1. Daemon on the loop, and the command line tool; owns
 * nothing. */
#include "base/err_page.h"
#include "ops/describe.h"
#include "ops/shapes.h"
#include "wire/json.h"

#define JSON_TYPE "application/json"

static void put_raw_member(struct json_out *json, const char *key, const char *text)
{
    json_put_key(json, key);
    json_put_raw(json, text, strlen(text));
}

/* ---- schemas --------------------------------------------------------------------------------- */

static void put_reference(struct json_out *json, const char *shape)
{
    char path[128];
    snprintf(path, sizeof(path), "#/components/schemas/%s", shape);
    json_put_object(json);
    json_put_member_str(json, "$ref", path);
    json_put_object_end(json);
}

static void openapi_put_items(struct json_out *json, const char *type)
{
    json_put_key(json, "items");
    json_put_object(json);
    json_put_member_str(json, "type", type);
    json_put_object_end(json);
}

/* "type": one, or with null. */
static void put_type(struct json_out *json, const char *type, bool is_nullable)
{
    json_put_key(json, "type");
    if (!is_nullable) {
        json_put_str(json, type);
        return;
    }
    json_put_array(json);
    json_put_str(json, type);
    json_put_str(json, "null");
    json_put_array_end(json);
}

static void put_choices(struct json_out *json, const char *const *choices, bool is_nullable)
{
    if (choices == NULL)
        return;
    json_put_key(json, "enum");
    json_put_array(json);
    for (; *choices != NULL; choices++)
        json_put_str(json, *choices);
    if (is_nullable)
        json_put_null(json);
    json_put_array_end(json);
}

/* The members of a schema that say what type it has; those of objects that have a shape are the
 * caller's. */
static void put_kind(struct json_out *json, enum op_param_type type, bool is_nullable)
{
    switch (type) {
    case OP_TEXT:
    case OP_CHOICE:
        put_type(json, "string", is_nullable);
        break;
    case OP_TIME:
        put_type(json, "string", is_nullable);
        json_put_member_str(json, "format", "date-time");
        break;
    case OP_INT:
        put_type(json, "integer", is_nullable);
        break;
    case OP_SIZE:
        put_type(json, "integer", is_nullable);
        json_put_member_int(json, "minimum", 0);
        break;
    case OP_NUMBER:
        put_type(json, "number", is_nullable);
        break;
    case OP_BOOL:
        put_type(json, "boolean", is_nullable);
        break;
    case OP_OBJECT:
    case OP_FREE:
        put_type(json, "object", is_nullable);
        break;
    case OP_TEXTS:
        put_type(json, "object", is_nullable);
        json_put_key(json, "additionalProperties");
        json_put_object(json);
        json_put_member_str(json, "type", "string");
        json_put_object_end(json);
        break;
    case OP_LIST:
        put_type(json, "array", is_nullable);
        break;
    case OP_INT_LIST:
        put_type(json, "array", is_nullable);
        openapi_put_items(json, "integer");
        break;
    case OP_TEXT_LIST:
        put_type(json, "array", is_nullable);
        openapi_put_items(json, "string");
        break;
    case OP_FILE:
        json_put_key(json, "type");
        json_put_array(json);
        json_put_str(json, "string");
        json_put_str(json, "object");
        json_put_array_end(json);
        break;
    case OP_ANY:
        break;
    }
}

static void put_member_schema(struct json_out *json, const struct op_member *m)
{
    json_put_object(json);
    if (m->shape != NULL && m->type == OP_OBJECT) {
        json_put_key(json, "anyOf");
        json_put_array(json);
        put_reference(json, m->shape->name);
        if (m->is_nullable) {
            json_put_object(json);
            json_put_member_str(json, "type", "null");
            json_put_object_end(json);
        }
        json_put_array_end(json);
    } else {
        put_kind(json, m->type, m->is_nullable);
    }
    if (m->shape != NULL && m->type == OP_LIST) {
        json_put_key(json, "items");
        put_reference(json, m->shape->name);
    }
    put_choices(json, m->choices, m->is_nullable);
    json_put_member_str(json, "description", m->doc);
    json_put_object_end(json);
}

static void openapi_put_shape(struct json_out *json, const struct op_shape *shape)
{
    bool has_required = false;
    json_put_key(json, shape->name);
    json_put_object(json);
    json_put_member_str(json, "type", "object");
    json_put_member_str(json, "description", shape->doc);
    json_put_key(json, "properties");
    json_put_object(json);
    for (const struct op_member *m = shape->members; m->name != NULL; m++) {
        json_put_key(json, m->name);
        put_member_schema(json, m);
        has_required = has_required || m->is_always;
    }
    json_put_object_end(json);
    if (has_required) {
        json_put_key(json, "required");
        json_put_array(json);
        for (const struct op_member *m = shape->members; m->name != NULL; m++)
            if (m->is_always)
                json_put_str(json, m->name);
        json_put_array_end(json);
    }
    json_put_member_bool(json, "additionalProperties", false);
    json_put_object_end(json);
}

/* ---- requests -------------------------------------------------------------------------------- */

void describe_tool(const struct op *op, struct json_out *json)
{
    bool has_required = false, is_reading = op->flags & OP_READ_ONLY;
    json_put_object(json);
    json_put_member_str(json, "name", op->tool);
    json_put_member_str(json, "description", op->tool_doc);
    json_put_key(json, "inputSchema");
    json_put_object(json);
    json_put_member_str(json, "type", "object");
    json_put_key(json, "properties");
    json_put_object(json);
    for (const struct op_param *p = op->params; p->name != NULL; p++) {
        if (p->is_untold)
            continue;
        json_put_key(json, p->name);
        /* A model pays for each word: it is told what a parameter is, not how large. */
        json_put_object(json);
        put_kind(json, p->type, false);
        put_choices(json, p->choices, false);
        json_put_member_str(json, "description", p->doc);
        json_put_object_end(json);
        has_required = has_required || p->is_required;
    }
    json_put_object_end(json);
    if (has_required) {
        json_put_key(json, "required");
        json_put_array(json);
        for (const struct op_param *p = op->params; p->name != NULL; p++)
            if (p->is_required && !p->is_untold)
                json_put_str(json, p->name);
        json_put_array_end(json);
    }
    json_put_object_end(json);
    json_put_key(json, "annotations");
    json_put_object(json);
    json_put_member_bool(json, "readOnlyHint", is_reading);
    if (!is_reading) { /* what is said of others says nothing of those that read */
        json_put_member_bool(json, "destructiveHint", op->hints & OP_DESTROYS);
        json_put_member_bool(json, "idempotentHint", op->hints & OP_REPEATABLE);
    }
    json_put_member_bool(json, "openWorldHint", false);
    json_put_object_end(json);
    json_put_object_end(json);
}

bool op_is_in_sets(const struct op *op, const char *sets)
{
    size_t len = op->toolset != NULL ? strlen(op->toolset) : 0;
    while (len > 0 && sets[0] != '\0') {
        size_t n = strcspn(sets, ",");
        if (n == len && memcmp(sets, op->toolset, len) == 0)
            return true;
        sets += n + (sets[n] == ',');
    }
    return false;
}

static void put_object_of(struct json_out *json, const struct op_param *params);

static void put_param_schema(struct json_out *json, const struct op_param *p)
{
    json_put_object(json);
    if (p->type == OP_OBJECT) {
        put_object_of(json, p->members);
    } else {
        put_kind(json, p->type, p->is_nullable);
    }
    if (p->type == OP_LIST) {
        json_put_key(json, "items");
        json_put_object(json);
        put_object_of(json, p->members);
        json_put_object_end(json);
        json_put_member_int(json, "maxItems", p->max);
    }
    if (p->type == OP_INT) {
        json_put_member_int(json, "minimum", p->min);
        json_put_member_int(json, "maximum", p->max);
    }
    if (p->type == OP_TEXT && p->min > 0)
        json_put_member_int(json, "minLength", p->min);
    if (p->type == OP_TEXT) /* of bytes: no text of more characters fits */
        json_put_member_int(json, "maxLength", p->max);
    put_choices(json, p->choices, p->is_nullable);
    json_put_member_str(json, "description", p->doc);
    json_put_object_end(json);
}

static void put_object_of(struct json_out *json, const struct op_param *params)
{
    bool has_required = false;
    json_put_member_str(json, "type", "object");
    json_put_key(json, "properties");
    json_put_object(json);
    for (const struct op_param *p = params; p->name != NULL; p++) {
        if (p->place != OP_IN_BODY)
            continue;
        json_put_key(json, p->name);
        put_param_schema(json, p);
        has_required = has_required || p->is_required;
    }
    json_put_object_end(json);
    if (has_required) {
        json_put_key(json, "required");
        json_put_array(json);
        for (const struct op_param *p = params; p->name != NULL; p++)
            if (p->place == OP_IN_BODY && p->is_required)
                json_put_str(json, p->name);
        json_put_array_end(json);
    }
    json_put_member_bool(json, "additionalProperties", false);
}

static void put_parameter(struct json_out *json, const struct op_param *p, const json_t *example)
{
    const json_t *value = json_object_get(example, p->name);
    json_put_object(json);
    json_put_member_str(json, "name", p->name);
    json_put_member_str(json, "in", p->place == OP_IN_PATH ? "path" : "query");
    json_put_member_bool(json, "required", p->is_required);
    json_put_member_str(json, "description", p->doc);
    json_put_key(json, "schema");
    put_param_schema(json, p);
    /* "$session" stands for an id that is made for the example. */
    bool is_made = json_is_string(value) && json_string_value(value)[0] == '$';
    if (value != NULL && !is_made) {
        json_put_key(json, "example");
        json_put_value(json, value);
    }
    json_put_object_end(json);
}

static void put_parameters(struct json_out *json, const struct op *op, const json_t *example)
{
    json_put_key(json, "parameters");
    json_put_array(json);
    for (const struct op_param *p = op->params; p->name != NULL; p++)
        if (p->place != OP_IN_BODY)
            put_parameter(json, p, example);
    if (!(op->flags & OP_PUBLIC)) {
        json_put_object(json);
        json_put_member_str(json, "$ref", "#/components/parameters/agent");
        json_put_object_end(json);
    }
    json_put_array_end(json);
}

static void put_body(struct json_out *json, const struct op *op, const json_t *example)
{
    bool has_body = op->flags & OP_TAKES_BYTES, is_required = has_body;
    for (const struct op_param *p = op->params; p->name != NULL; p++) {
        has_body = has_body || p->place == OP_IN_BODY;
        is_required = is_required || (p->place == OP_IN_BODY && p->is_required);
    }
    if (!has_body)
        return;
    json_put_key(json, "requestBody");
    json_put_object(json);
    json_put_member_bool(json, "required", is_required);
    json_put_key(json, "content");
    json_put_object(json);
    json_put_key(json, op->flags & OP_TAKES_BYTES ? "application/octet-stream" : JSON_TYPE);
    json_put_object(json);
    if (!(op->flags & OP_TAKES_BYTES)) {
        json_put_key(json, "schema");
        json_put_object(json);
        put_object_of(json, op->params);
        json_put_object_end(json);
        json_put_key(json, "example");
        json_put_object(json);
        for (const struct op_param *p = op->params; p->name != NULL; p++) {
            const json_t *value = json_object_get(example, p->name);
            if (p->place != OP_IN_BODY || value == NULL)
                continue;
            json_put_key(json, p->name);
            json_put_value(json, value);
        }
        json_put_object_end(json);
    }
    json_put_object_end(json);
    json_put_object_end(json);
    json_put_object_end(json);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void put_content(struct json_out *json, const struct op *op)
{
    json_put_key(json, "content");
    json_put_object(json);
    if (op->sends != NULL) {
        json_put_key(json, "*/*");
        json_put_object(json);
        json_put_object_end(json);
    }
    if (op->result != NULL && !(op->flags & OP_ONLY_STREAMS)) {
        json_put_key(json, JSON_TYPE);
        json_put_object(json);
        json_put_key(json, "schema");
        if (op->other_result != NULL) {
            json_put_object(json);
            json_put_key(json, "anyOf");
            json_put_array(json);
            put_reference(json, op->result->name);
            put_reference(json, op->other_result->name);
            json_put_array_end(json);
            json_put_object_end(json);
        } else {
            put_reference(json, op->result->name);
        }
        json_put_object_end(json);
    }
    if (op->flags & OP_STREAMS) {
        json_put_key(json, "text/event-stream");
        json_put_object(json);
        json_put_key(json, "schema");
        json_put_object(json);
        json_put_member_str(json, "type", "string");
        _buf_ struct buf doc = BUF_INIT(16 * KIB);
        buf_append_str(&doc, "Events, each with an object as its data. ");
        for (const struct op_event *e = op->events; e->name != NULL; e++)
            buf_printf(&doc, "%s (%s): %s ", e->name, e->shape->name, e->doc);
        buf_printf(&doc, "The last one is result (%s), or error (failure).", op->result->name);
        json_put_member_str(json, "description", buf_str(&doc));
        json_put_object_end(json);
        json_put_object_end(json);
    }
    json_put_object_end(json);
}

static void put_success(struct json_out *json, const struct op *op, int status)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", status);
    json_put_key(json, number);
    json_put_object(json);
    json_put_member_str(json, "description",
                        op->sends != NULL    ? op->sends
                        : op->result != NULL ? op->result->doc
                                             : "Done.");
    put_content(json, op);
    json_put_object_end(json);
}

static void put_responses(struct json_out *json, const struct op *op)
{
    json_put_key(json, "responses");
    json_put_object(json);
    put_success(json, op, op->status != 0 ? op->status : 200);
    if (op->other_status != 0)
        put_success(json, op, op->other_status);
    for (unsigned code = ERR_INVALID; code <= ERR_INTERNAL; code++) {
        char number[16], path[64];
        if (!(op_errors(op) & 1u << code))
            continue;
        snprintf(number, sizeof(number), "%d", err_http_status(code));
        snprintf(path, sizeof(path), "#/components/responses/%s", err_code_name(code));
        json_put_key(json, number);
        json_put_object(json);
        json_put_member_str(json, "$ref", path);
        json_put_object_end(json);
    }
    json_put_object_end(json);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void put_operation(struct json_out *json, const struct op *op)
{
    _json_ json_t *example = json_loads(op->example, 0, NULL);
    char method[16] = "";
    for (size_t i = 0; op->method[i] != '\0' && i + 1 < sizeof(method); i++)
        method[i] = (char)(op->method[i] | 0x20);
    json_put_key(json, method);
    json_put_object(json);
    json_put_member_str(json, "operationId", op->name);
    json_put_member_str(json, "summary", op->doc);
    json_put_key(json, "tags");
    json_put_array(json);
    json_put_str(json, op_subjects[op->subject]);
    json_put_array_end(json);
    if (op->flags & OP_PUBLIC) {
        json_put_key(json, "security");
        json_put_array(json);
        json_put_array_end(json);
    }
    put_parameters(json, op, example);
    put_body(json, op, example);
    put_responses(json, op);
    json_put_object_end(json);
}

/* Each path once, with all its methods. */
static void put_paths(struct json_out *json, const struct op *const *table)
{
    json_put_key(json, "paths");
    json_put_object(json);
    for (size_t i = 0; table[i] != NULL; i++) {
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && strcmp(table[k]->path, table[i]->path) != 0;
        if (!is_first)
            continue;
        json_put_key(json, table[i]->path);
        json_put_object(json);
        for (size_t k = i; table[k] != NULL; k++)
            if (strcmp(table[k]->path, table[i]->path) == 0)
                put_operation(json, table[k]);
        json_put_object_end(json);
    }
    json_put_object_end(json);
}

static void put_errors(struct json_out *json)
{
    json_put_key(json, "responses");
    json_put_object(json);
    for (unsigned code = ERR_INVALID; code <= ERR_INTERNAL; code++) {
        json_put_key(json, err_code_name(code));
        json_put_object(json);
        json_put_member_str(json, "description", err_when(code));
        json_put_key(json, "content");
        json_put_object(json);
        json_put_key(json, JSON_TYPE);
        json_put_object(json);
        json_put_key(json, "schema");
        put_reference(json, shape_failure.name);
        json_put_object_end(json);
        json_put_object_end(json);
        json_put_object_end(json);
    }
    json_put_object_end(json);
}

static void put_components(struct json_out *json, const struct op *const *table)
{
    _free_ const struct op_shape **shapes = op_shapes(table);
    json_put_key(json, "components");
    json_put_object(json);
    json_put_key(json, "schemas");
    json_put_object(json);
    for (size_t i = 0; shapes[i] != NULL; i++)
        openapi_put_shape(json, shapes[i]);
    json_put_object_end(json);
    put_errors(json);
    put_raw_member(json, "parameters",
                   "{\"agent\":{\"name\":\"Cella-Agent\",\"in\":\"header\",\"required\":false,"
                   "\"schema\":{\"type\":\"string\"},\"description\":\"The agent of the "
                   "configuration that the request speaks for.\"}}");
    put_raw_member(json, "securitySchemes",
                   "{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\",\"description\":\"The "
                   "file `key` in the daemon's data directory. The UNIX socket asks for "
                   "none.\"}}");
    json_put_object_end(json);
}

void describe_openapi(const struct op *const *table, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_member_str(&json, "openapi", "3.1.0");
    put_raw_member(&json, "info",
                   "{\"title\":\"Cella\",\"version\":\"" CELLA_VERSION
                   "\",\"summary\":\"Live, sandboxed interpreters that keep their state.\","
                   "\"license\":{\"name\":\"MIT\",\"identifier\":\"MIT\"}}");
    put_raw_member(&json, "servers", "[{\"url\":\"/\"}]");
    put_raw_member(&json, "security", "[{\"key\":[]}]");
    put_paths(&json, table);
    put_components(&json, table);
    json_put_object_end(&json);
}
