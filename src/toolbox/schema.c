/* Arguments beside a JSON Schema. Daemon; on the loop; owns nothing. */
#include "toolbox/schema.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

enum { SCHEMA_DEPTH_MAX = 48, SCHEMA_STEPS_MAX = 200000, SCHEMA_LIST_MAX = 300 };

struct schema_check {
    const json_t *root; /* for references */
    unsigned depth;
    unsigned steps; /* schemas that were looked at: alternatives multiply */
    struct buf place;
    struct err *e;
};

static int schema_value(struct schema_check *c, const json_t *schema, json_t *value);

static int schema_fail(struct schema_check *c, const char *wanted)
{
    err_set(c->e, ERR_INVALID, "%.120s must %.300s", buf_str(&c->place), wanted);
    return -1;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool schema_is_whole(const json_t *value)
{
    return json_is_integer(value) ||
           (json_is_real(value) && floor(json_real_value(value)) == json_real_value(value));
}

static bool schema_has_type(const json_t *value, const char *type)
{
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "integer") == 0)
        return schema_is_whole(value);
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    if (strcmp(type, "object") == 0)
        return json_is_object(value);
    return strcmp(type, "null") != 0 || json_is_null(value);
}

static const char *schema_in_words(const char *type)
{
    static const char *const words[][2] = {{"string", "a text"},   {"integer", "a whole number"},
                                           {"number", "a number"}, {"boolean", "true or false"},
                                           {"array", "a list"},    {"object", "an object"},
                                           {"null", "null"}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i][0], type) == 0)
            return words[i][1];
    return type;
}

static int schema_type(struct schema_check *c, const json_t *type, const json_t *value)
{
    _buf_ struct buf wanted = BUF_INIT(SCHEMA_LIST_MAX);
    size_t n = json_is_array(type) ? json_array_size(type) : 1;
    buf_append_str(&wanted, "be ");
    for (size_t i = 0; i < n; i++) {
        const char *one = json_string_value(json_is_array(type) ? json_array_get(type, i) : type);
        if (one == NULL || schema_has_type(value, one))
            return 0;
        buf_printf(&wanted, "%s%s", i > 0 ? " or " : "", schema_in_words(one));
    }
    return schema_fail(c, buf_str(&wanted));
}

static int schema_choice(struct schema_check *c, const json_t *choices, const json_t *value)
{
    _buf_ struct buf wanted = BUF_INIT(SCHEMA_LIST_MAX);
    buf_append_str(&wanted, "be one of: ");
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *one = json_array_get(choices, i);
        if (json_equal(one, value))
            return 0;
        _free_ char *text = json_dumps(one, JSON_ENCODE_ANY | JSON_COMPACT);
        buf_printf(&wanted, "%s%s", i > 0 ? ", " : "", text != NULL ? text : "?");
    }
    return schema_fail(c, buf_str(&wanted));
}

/* ---- bounds ---------------------------------------------------------------------------------- */

struct schema_bound {
    const char *name;
    const char *wanted, *unit;
    int sign; /* the value is at least (1) or at most (-1) the bound */
    bool is_open;
};

static int schema_bounds(struct schema_check *c, const json_t *schema, double value,
                         const struct schema_bound *bounds, size_t n)
{
    char wanted[96];
    for (size_t i = 0; i < n; i++) {
        const json_t *limit = json_object_get(schema, bounds[i].name);
        double off = bounds[i].sign * (value - json_number_value(limit));
        if (!json_is_number(limit) || off > 0 || (off == 0 && !bounds[i].is_open))
            continue;
        snprintf(wanted, sizeof(wanted), "%s %.15g%s", bounds[i].wanted, json_number_value(limit),
                 bounds[i].unit);
        return schema_fail(c, wanted);
    }
    return 0;
}

static int schema_bounded(struct schema_check *c, const json_t *schema, const json_t *value)
{
    static const struct schema_bound number[] = {{"minimum", "be at least", "", 1, false},
                                                 {"maximum", "be at most", "", -1, false},
                                                 {"exclusiveMinimum", "be more than", "", 1, true},
                                                 {"exclusiveMaximum", "be less than", "", -1,
                                                  true}},
                                     text[] = {{"minLength", "have at least", " characters", 1,
                                                false},
                                               {"maxLength", "have at most", " characters", -1,
                                                false}},
                                     list[] = {{"minItems", "have at least", " entries", 1, false},
                                               {"maxItems", "have at most", " entries", -1, false}};
    if (json_is_number(value))
        return schema_bounds(c, schema, json_number_value(value), number, ARRAY_LEN(number));
    if (json_is_string(value))
        return schema_bounds(
            c, schema, (double)utf8_count(json_string_value(value), json_string_length(value)),
            text, ARRAY_LEN(text));
    if (json_is_array(value))
        return schema_bounds(c, schema, (double)json_array_size(value), list, ARRAY_LEN(list));
    return 0;
}

/* ---- members --------------------------------------------------------------------------------- */

static int schema_at(struct schema_check *c, const json_t *schema, json_t *value, const char *key,
                     size_t index)
{
    size_t len = c->place.len;
    if (key != NULL)
        buf_printf(&c->place, "%s%.60s", len > 0 ? "." : "", key);
    else
        buf_printf(&c->place, "[%zu]", index);
    int r = schema_value(c, schema, value);
    if (r == 0 && c->place.len > len)
        c->place.data[c->place.len = len] = '\0';
    return r;
}

static int schema_unknown(struct schema_check *c, const json_t *properties, const char *key)
{
    _buf_ struct buf names = BUF_INIT(SCHEMA_LIST_MAX);
    const char *name;
    json_t *ignored;
    json_object_foreach((json_t *)(uintptr_t)properties, name, ignored)
        buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", name);
    err_set(c->e, ERR_INVALID, "%.120s has no member \"%.60s\"", buf_str(&c->place), key);
    return err_advise(c->e, "It has: %s.", names.len > 0 ? buf_str(&names) : "none");
}

static int schema_object(struct schema_check *c, const json_t *schema, json_t *value)
{
    json_t *properties = json_object_get(schema, "properties"), *one;
    const json_t *required = json_object_get(schema, "required"),
                 *others = json_object_get(schema, "additionalProperties");
    const char *key;
    json_object_foreach(properties, key, one) {
        json_t *usual = json_object_get(one, "default");
        if (usual != NULL && json_object_get(value, key) == NULL)
            json_object_set_new(value, key, json_deep_copy(usual));
    }
    for (size_t i = 0; i < json_array_size(required); i++) {
        key = json_string_value(json_array_get(required, i));
        if (key == NULL || json_object_get(value, key) != NULL)
            continue;
        const char *means =
            json_string_value(json_object_get(json_object_get(properties, key), "description"));
        err_set(c->e, ERR_INVALID, "%.120s needs the member \"%.60s\"", buf_str(&c->place), key);
        return means != NULL ? err_advise(c->e, "%.60s: %.300s", key, means) : -1;
    }
    json_object_foreach(value, key, one) {
        const json_t *member = json_object_get(properties, key);
        if (member == NULL && json_is_false(others))
            return schema_unknown(c, properties, key);
        if (member == NULL)
            member = others;
        if (member != NULL && schema_at(c, member, one, key, 0) < 0)
            return -1;
    }
    return 0;
}

static int schema_list(struct schema_check *c, const json_t *schema, json_t *value)
{
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; items != NULL && i < json_array_size(value); i++)
        if (schema_at(c, items, json_array_get(value, i), NULL, i) < 0)
            return -1;
    return 0;
}

/* ---- alternatives and references ------------------------------------------------------------- */

/* The message of the last alternative is as good as any. */
static int schema_any(struct schema_check *c, const json_t *schemas, json_t *value, bool only_one)
{
    size_t n = 0, len = c->place.len;
    for (size_t i = 0; i < json_array_size(schemas); i++) {
        n += schema_value(c, json_array_get(schemas, i), value) == 0;
        if (c->place.len > len)
            c->place.data[c->place.len = len] = '\0';
        if (n > 0 && !only_one)
            return 0;
    }
    if (n == 1 || json_array_size(schemas) == 0)
        return 0;
    return n > 1 ? schema_fail(c, "be as one of the alternatives says, not several") : -1;
}

/* "#/$defs/name": within the schema only. */
static const json_t *schema_follow(const struct schema_check *c, const char *path)
{
    const json_t *at = c->root;
    if (path[0] != '#')
        return NULL;
    for (path++; at != NULL && *path == '/';) {
        char key[128];
        size_t len = strcspn(++path, "/");
        snprintf(key, sizeof(key), "%.*s", (int)MIN(len, sizeof(key) - 1), path);
        at = json_object_get(at, key);
        path += len;
    }
    return at;
}

static int schema_combined(struct schema_check *c, const json_t *schema, json_t *value)
{
    const json_t *all = json_object_get(schema, "allOf");
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference != NULL && schema_value(c, schema_follow(c, reference), value) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(all); i++)
        if (schema_value(c, json_array_get(all, i), value) < 0)
            return -1;
    if (schema_any(c, json_object_get(schema, "anyOf"), value, false) < 0)
        return -1;
    return schema_any(c, json_object_get(schema, "oneOf"), value, true);
}

static int schema_of_object(struct schema_check *c, const json_t *schema, json_t *value)
{
    const json_t *type = json_object_get(schema, "type"),
                 *choices = json_object_get(schema, "enum"),
                 *same = json_object_get(schema, "const");
    if (type != NULL && schema_type(c, type, value) < 0)
        return -1;
    if (json_is_array(choices) && schema_choice(c, choices, value) < 0)
        return -1;
    if (same != NULL && !json_equal(same, value))
        return schema_fail(c, "be the value that the schema gives");
    if (schema_bounded(c, schema, value) < 0 || schema_combined(c, schema, value) < 0)
        return -1;
    if (json_is_object(value))
        return schema_object(c, schema, value);
    return json_is_array(value) ? schema_list(c, schema, value) : 0;
}

static int schema_value(struct schema_check *c, const json_t *schema, json_t *value)
{
    if (json_is_false(schema))
        return schema_fail(c, "not be there");
    if (!json_is_object(schema))
        return 0;
    if (c->depth >= SCHEMA_DEPTH_MAX || ++c->steps > SCHEMA_STEPS_MAX)
        return schema_fail(c, "be less deeply nested than its schema makes it");
    c->depth++;
    int r = schema_of_object(c, schema, value);
    c->depth--;
    return r;
}

int schema_check(const json_t *schema, json_t *value, const char *name, struct err *e)
{
    struct schema_check c = {.root = schema, .place = BUF_INIT(4 * KIB), .e = e};
    *e = (struct err){0};
    buf_append_str(&c.place, name);
    int r = schema_value(&c, schema, value);
    buf_free(&c.place);
    return r;
}
