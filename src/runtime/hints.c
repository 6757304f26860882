/* Checks what drivers tell of a text, as if an enemy had written it. Daemon. */
#include "runtime/hints.h"

#include "wire/json.h"

enum {
    HINTS_TEXT_MAX = 80 * 1024,
    MATCH_MAX = 4 * 1024,
    PLACE_MAX = 1 << 20,
    HINTS_SHAPE_MAX = 16
};

enum hint_type { HINT_TEXT, HINT_NUMBER, HINT_FLAG, HINT_NUMBERS, HINT_MATCHES };

struct hint {
    const char *name; /* NULL ends the list */
    enum hint_type type;
    size_t max;
};

static const struct hint match_members[] = {
    {"text", HINT_TEXT, MATCH_MAX}, {"kind", HINT_TEXT, 32}, {0}};
static const struct hint completion_members[] = {
    {"start", HINT_NUMBER, PLACE_MAX},
    {"end", HINT_NUMBER, PLACE_MAX},
    {"matches", HINT_MATCHES, HINTS_MATCHES_MAX},
    {"more", HINT_FLAG, 0},
    {"partial", HINT_FLAG, 0},
    {0},
};
static const struct hint meaning_members[] = {
    {"found", HINT_FLAG, 0},
    {"name", HINT_TEXT, MATCH_MAX},
    {"type", HINT_TEXT, MATCH_MAX},
    {"text", HINT_TEXT, MATCH_MAX},
    {"signature", HINT_TEXT, 4 * MATCH_MAX},
    {"doc", HINT_TEXT, HINTS_TEXT_MAX},
    {"file", HINT_TEXT, MATCH_MAX},
    {"source", HINT_TEXT, HINTS_TEXT_MAX},
    {"preview", HINT_TEXT, HINTS_TEXT_MAX},
    {"line", HINT_NUMBER, INT32_MAX},
    {"len", HINT_NUMBER, SIZE_MAX},
    {"bytes", HINT_NUMBER, SIZE_MAX},
    {"shape", HINT_NUMBERS, HINTS_SHAPE_MAX},
    {"partial", HINT_FLAG, 0},
    {0},
};

static bool hints_is_number(const json_t *value, size_t max)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           (uint64_t)json_integer_value(value) <= max;
}

static bool hints_are_members(json_t *object, const struct hint *known);

static bool hints_is_fit(json_t *value, const struct hint *hint)
{
    size_t i;
    json_t *item;
    switch (hint->type) {
    case HINT_TEXT:
        return json_is_string(value) && json_string_length(value) <= hint->max;
    case HINT_NUMBER:
        return hints_is_number(value, hint->max);
    case HINT_FLAG:
        return json_is_boolean(value);
    case HINT_NUMBERS:
    case HINT_MATCHES:
        if (!json_is_array(value) || json_array_size(value) > hint->max)
            return false;
        json_array_foreach(value, i, item) {
            if (hint->type == HINT_NUMBERS && !hints_is_number(item, SIZE_MAX))
                return false;
            if (hint->type == HINT_MATCHES &&
                (!hints_are_members(item, match_members) ||
                 json_object_size(item) != ARRAY_LEN(match_members) - 1))
                return false;
        }
        return true;
    }
    return false;
}

/* Only those that are known are left. */
static bool hints_are_members(json_t *object, const struct hint *known)
{
    const char *name;
    json_t *value;
    void *next;
    if (!json_is_object(object))
        return false;
    json_object_foreach_safe(object, next, name, value) {
        const struct hint *hint = known;
        while (hint->name != NULL && strcmp(hint->name, name) != 0)
            hint++;
        if (hint->name == NULL)
            json_object_del(object, name);
        else if (!hints_is_fit(value, hint))
            return false;
    }
    return true;
}

int hints_check_completions(json_t *told, struct err *e)
{
    const json_t *start = json_object_get(told, "start"), *end = json_object_get(told, "end");
    if (hints_are_members(told, completion_members) && start != NULL && end != NULL &&
        json_integer_value(start) <= json_integer_value(end) &&
        json_object_get(told, "matches") != NULL)
        return 0;
    return err_set(e, ERR_INVALID, "completions that no driver would send");
}

int hints_check_meaning(json_t *told, struct err *e)
{
    if (hints_are_members(told, meaning_members) && json_object_get(told, "found") != NULL)
        return 0;
    return err_set(e, ERR_INVALID, "a description that no driver would send");
}
