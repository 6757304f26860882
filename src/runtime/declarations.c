/* Checks of what a driver says about imports and definitions. Daemon; all of it hostile. */
#include "runtime/declarations.h"

#include "base/base.h"

#include <string.h>

enum { IMPORT_MAX = 2048, NAME_MAX_BYTES = 1024, ADVICE_MAX = 4096, SOURCE_MAX = 256 * 1024 };

struct text_member {
    const char *name;
    size_t max; /* bytes */
};

static const struct text_member definition[] = {
    {"name", NAME_MAX_BYTES}, {"kind", 32}, {"code", SOURCE_MAX}, {NULL, 0}};
static const struct text_member loss[] = {
    {"name", NAME_MAX_BYTES}, {"type", NAME_MAX_BYTES}, {"advice", ADVICE_MAX}, {NULL, 0}};

static bool declarations_is_text(const json_t *value, size_t max)
{
    return json_is_string(value) && json_string_length(value) <= max;
}

/* Has these members, and no others afterwards. */
static bool is_object_of(json_t *object, const struct text_member *members)
{
    size_t n = 0;
    for (; members[n].name != NULL; n++)
        if (!declarations_is_text(json_object_get(object, members[n].name), members[n].max))
            return false;
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value) {
        size_t i = 0;
        while (i < n && strcmp(members[i].name, name) != 0)
            i++;
        if (i == n)
            json_object_del(object, name);
    }
    return true;
}

/* `members` NULL if they are texts. */
static bool declarations_is_list(const json_t *list, const struct text_member *members)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list) || json_array_size(list) > DECLARATIONS_MAX)
        return false;
    json_array_foreach(list, i, item) {
        if (members == NULL ? !declarations_is_text(item, IMPORT_MAX)
                            : !is_object_of(item, members))
            return false;
    }
    return true;
}

int declarations_check(json_t *told, struct err *e)
{
    static const struct {
        const char *name;
        const struct text_member *members;
    } lists[] = {{"imports", NULL}, {"definitions", definition}, {"lost", loss}};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (!declarations_is_list(json_object_get(told, lists[i].name), lists[i].members))
            return err_set(e, ERR_INVALID, "declarations whose \"%s\" is missing or wrong",
                           lists[i].name);
    const json_t *more = json_object_get(told, "more");
    if (more != NULL && !json_is_boolean(more))
        return err_set(e, ERR_INVALID, "declarations whose \"more\" is wrong");
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(told, next, name, value) {
        bool is_known = strcmp(name, "more") == 0;
        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
            is_known |= strcmp(name, lists[i].name) == 0;
        if (!is_known)
            json_object_del(told, name);
    }
    return 0;
}
