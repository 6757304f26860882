/* Checks of what a driver says about variables. Daemon; all of it hostile. */
#include "runtime/names.h"

#include "base/base.h"

enum { NAMES_TEXT_MAX = 400, NAMES_SHAPE_MAX = 16 }; /* bytes; dimensions */

static bool names_is_text(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) <= NAMES_TEXT_MAX;
}

static bool is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_flag(const json_t *value)
{
    return json_is_boolean(value);
}

static bool names_is_list(const json_t *value, size_t max, bool (*is_item)(const json_t *))
{
    if (!json_is_array(value) || json_array_size(value) > max)
        return false;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!is_item(json_array_get(value, i)))
            return false;
    return true;
}

static bool is_shape(const json_t *value)
{
    return names_is_list(value, NAMES_SHAPE_MAX, is_count);
}

static bool is_changed_list(const json_t *value)
{
    return names_is_list(value, NAMES_CHANGED_MAX, names_is_text);
}

static bool is_item(const json_t *value);

static bool is_item_list(const json_t *value)
{
    return names_is_list(value, NAMES_MAX, is_item);
}

struct member {
    const char *name;
    bool is_required;
    bool (*is_right)(const json_t *value);
};

static const struct member item_members[] = {
    {"name", true, names_is_text}, {"type", true, names_is_text}, {"shape", false, is_shape},
    {"len", false, is_count},      {"bytes", false, is_count},    {"text", false, names_is_text},
    {NULL, false, NULL},
};

static const struct member manifest_members[] = {
    {"total", true, is_count},
    {"items", false, is_item_list},
    {"added", false, is_changed_list},
    {"changed", false, is_changed_list},
    {"removed", false, is_changed_list},
    {"more", false, is_flag},
    {NULL, false, NULL},
};

/* The first member that is missing or not what it should be. */
static const char *find_wrong(const json_t *object, const struct member *members)
{
    for (; members->name != NULL; members++) {
        const json_t *value = json_object_get(object, members->name);
        if (value == NULL ? members->is_required : !members->is_right(value))
            return members->name;
    }
    return NULL;
}

static void remove_unknown(json_t *object, const struct member *members)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value) {
        const struct member *m = members;
        while (m->name != NULL && strcmp(m->name, name) != 0)
            m++;
        if (m->name == NULL)
            json_object_del(object, name);
    }
}

static bool is_item(const json_t *value)
{
    return json_is_object(value) && find_wrong(value, item_members) == NULL;
}

int names_check(json_t *names, struct err *e)
{
    if (!json_is_object(names))
        return err_set(e, ERR_INVALID, "a list of names that is no object");
    const char *wrong = find_wrong(names, manifest_members);
    if (wrong != NULL)
        return err_set(e, ERR_INVALID, "a list of names whose \"%s\" is missing or wrong", wrong);
    remove_unknown(names, manifest_members);
    /* Drivers differ in what they say about nothing. */
    static const char *const lists[] = {"added", "changed", "removed"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (json_array_size(json_object_get(names, lists[i])) == 0)
            json_object_del(names, lists[i]);
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(names, "items"), i, item) {
        remove_unknown(item, item_members);
    }
    return 0;
}
