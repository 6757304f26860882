/* Arguments against the parameters of an operation; every message names the member and what it may
 * be. Daemon; on the loop; arguments come from strangers. */
#include "ops/op.h"

/* Where a member stands, for messages: "limits.memory_mb". */
struct place {
    const char *parent; /* NULL at the top */
    const struct op_param *param;
};

enum { NAME_MAX_SHOWN = 64 };

static const char *full_name(const struct place *place, char *out, size_t size)
{
    if (place->parent != NULL)
        snprintf(out, size, "%s.%s", place->parent, place->param->name);
    else
        snprintf(out, size, "%s", place->param->name);
    return out;
}

static int wrong(const struct place *place, enum err_code code, const char *what, struct err *e)
{
    char name[2 * NAME_MAX_SHOWN];
    err_set(e, code, "\"%s\" %s", full_name(place, name, sizeof(name)), what);
    return err_advise(e, "%s: %s", name, place->param->doc);
}

static int check_text(const struct place *place, const json_t *value, struct err *e)
{
    const struct op_param *p = place->param;
    char what[96];
    if (!json_is_string(value))
        return wrong(place, ERR_INVALID, "must be a string", e);
    int64_t len = (int64_t)json_string_length(value);
    if (len < p->min) {
        snprintf(what, sizeof(what), "must have at least %lld bytes", (long long)p->min);
        return wrong(place, ERR_INVALID, what, e);
    }
    if (len <= p->max)
        return 0;
    snprintf(what, sizeof(what), "has %lld bytes; at most %lld are taken", (long long)len,
             (long long)p->max);
    if (p->place != OP_IN_BODY)
        return wrong(place, ERR_INVALID, what, e);
    wrong(place, ERR_TOO_LARGE, what, e);
    return err_advise(e, "Send it in smaller parts, or put the data into a file.");
}

static int check_int(const struct place *place, const json_t *value, struct err *e)
{
    const struct op_param *p = place->param;
    int64_t n = json_integer_value(value);
    if (json_is_integer(value) && n >= p->min && n <= p->max)
        return 0;
    char what[96];
    snprintf(what, sizeof(what), "must be a whole number from %lld to %lld", (long long)p->min,
             (long long)p->max);
    return wrong(place, ERR_INVALID, what, e);
}

static int check_choice(const struct place *place, const json_t *value, struct err *e)
{
    const char *text = json_string_value(value);
    _buf_ struct buf what = BUF_INIT(256);
    buf_append_str(&what, "must be one of:");
    for (const char *const *choice = place->param->choices; *choice != NULL; choice++) {
        if (text != NULL && strcmp(*choice, text) == 0)
            return 0;
        buf_printf(&what, " \"%s\"", *choice);
    }
    return wrong(place, ERR_INVALID, buf_str(&what), e);
}

/* An object whose members have names of the caller's choice, and texts as values. */
static int check_texts(const struct place *place, json_t *value, struct err *e)
{
    const char *name;
    json_t *text;
    char what[96];
    if (!json_is_object(value))
        return wrong(place, ERR_INVALID, "must be an object of strings", e);
    if ((int64_t)json_object_size(value) > place->param->max) {
        snprintf(what, sizeof(what), "has %zu members; at most %lld are taken",
                 json_object_size(value), (long long)place->param->max);
        return wrong(place, ERR_INVALID, what, e);
    }
    json_object_foreach(value, name, text) {
        if (!json_is_string(text))
            return wrong(place, ERR_INVALID, "must be an object of strings", e);
    }
    return 0;
}

static int ops_check_members(const char *parent, const struct op_param *params, json_t *object,
                             struct err *e);

static int check_list(const struct place *place, json_t *list, struct err *e)
{
    char what[96], name[2 * NAME_MAX_SHOWN], entry[2 * NAME_MAX_SHOWN + 24];
    size_t i;
    json_t *value;
    if (!json_is_array(list))
        return wrong(place, ERR_INVALID, "must be a list of objects", e);
    if ((int64_t)json_array_size(list) > place->param->max) {
        snprintf(what, sizeof(what), "has %zu entries; at most %lld are taken",
                 json_array_size(list), (long long)place->param->max);
        return wrong(place, ERR_TOO_LARGE, what, e);
    }
    json_array_foreach(list, i, value) {
        if (!json_is_object(value))
            return wrong(place, ERR_INVALID, "must be a list of objects", e);
        snprintf(entry, sizeof(entry), "%s[%zu]", full_name(place, name, sizeof(name)), i);
        if (ops_check_members(entry, place->param->members, value, e) < 0)
            return -1;
    }
    return 0;
}

static int check_text_list(const struct place *place, const json_t *list, struct err *e)
{
    size_t i;
    json_t *text;
    char what[96];
    snprintf(what, sizeof(what), "must be a list of at most %lld strings",
             (long long)place->param->max);
    if (!json_is_array(list) || (int64_t)json_array_size(list) > place->param->max)
        return wrong(place, ERR_INVALID, what, e);
    json_array_foreach(list, i, text) {
        if (!json_is_string(text))
            return wrong(place, ERR_INVALID, what, e);
    }
    return 0;
}

static int check_value(const struct place *place, json_t *value, struct err *e)
{
    char name[2 * NAME_MAX_SHOWN];
    switch (place->param->type) {
    case OP_TEXT:
        return check_text(place, value, e);
    case OP_INT:
        return check_int(place, value, e);
    case OP_BOOL:
        return json_is_boolean(value) ? 0 : wrong(place, ERR_INVALID, "must be true or false", e);
    case OP_CHOICE:
        return check_choice(place, value, e);
    case OP_OBJECT:
        if (!json_is_object(value))
            return wrong(place, ERR_INVALID, "must be an object", e);
        return ops_check_members(full_name(place, name, sizeof(name)), place->param->members, value,
                                 e);
    case OP_TEXTS:
        return check_texts(place, value, e);
    case OP_LIST:
        return check_list(place, value, e);
    case OP_FREE:
        return json_is_object(value) ? 0 : wrong(place, ERR_INVALID, "must be an object", e);
    case OP_FILE:
        return json_is_object(value) ? 0 : check_text(place, value, e);
    case OP_TEXT_LIST:
        return check_text_list(place, value, e);
    case OP_NUMBER:
    case OP_TIME:
    case OP_SIZE:
    case OP_INT_LIST:
        break; /* of answers */
    case OP_ANY:
        break;
    }
    return 0;
}

static const struct op_param *find_param(const struct op_param *params, const char *name)
{
    for (; params->name != NULL; params++)
        if (strcmp(params->name, name) == 0)
            return params;
    return NULL;
}

static int unknown_member(const char *parent, const struct op_param *params, const char *name,
                          struct err *e)
{
    _buf_ struct buf known = BUF_INIT(4 * KIB);
    for (; params->name != NULL; params++)
        buf_printf(&known, "%s%s", known.len > 0 ? ", " : "", params->name);
    err_set(e, ERR_INVALID, "unknown member \"%s%s%.*s\"", parent ? parent : "", parent ? "." : "",
            NAME_MAX_SHOWN, name);
    return err_advise(e, known.len > 0 ? "Known here: %s." : "Nothing is taken here.%s",
                      buf_str(&known));
}

static int ops_check_members(const char *parent, const struct op_param *params, json_t *object,
                             struct err *e)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        if (find_param(params, name) == NULL)
            return unknown_member(parent, params, name, e);
    }
    for (const struct op_param *p = params; p->name != NULL; p++) {
        struct place place = {.parent = parent, .param = p};
        value = json_object_get(object, p->name);
        if (value == NULL && p->is_required)
            return wrong(&place, ERR_INVALID, "is missing", e);
        if (json_is_null(value) && p->is_nullable)
            continue;
        if (value != NULL && check_value(&place, value, e) < 0)
            return -1;
    }
    return 0;
}

int op_check(const struct op *op, json_t *args, struct err *e)
{
    return ops_check_members(NULL, op->params, args, e);
}
