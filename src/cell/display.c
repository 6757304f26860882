/* Typed outputs: checked when they come from a driver, measured and cut for an answer. Runs in the
 * daemon's loop; owns nothing. */
#include "cell/display.h"

#include "cell/prose.h"

#include <string.h>

/* What a member must be. */
enum member_type { MEMBER_TEXT, MEMBER_COUNT, MEMBER_ANY, MEMBER_DTYPES, MEMBER_HEAD };

struct display_member {
    const char *name;
    enum member_type type;
    bool is_required;
};

enum {
    MEMBERS_MAX = 6,
    COLUMNS_MAX = 200, /* of a table, described */
    HEAD_ROWS_MAX = 5,
    CELL_MAX = 1024, /* bytes of a name, a type or a cell of a table */
    DISPLAY_ID_MAX = 200,
    FORMS_MAX = 32,
    FORM_NAME_MAX = 200,
    FORMS_BYTES_MAX = 2 * 1024 * 1024,
    METADATA_BYTES_MAX = 64 * 1024,
};

static const struct {
    const char *type;
    struct display_member members[MEMBERS_MAX];
} types[] = {
    {"text", {{"text", MEMBER_TEXT, true}}},
    {"markdown", {{"text", MEMBER_TEXT, true}}},
    {"latex", {{"text", MEMBER_TEXT, true}}},
    {"html", {{"html", MEMBER_TEXT, true}, {"text", MEMBER_TEXT, false}}},
    {"svg", {{"svg", MEMBER_TEXT, true}, {"text", MEMBER_TEXT, false}}},
    {"json", {{"json", MEMBER_ANY, true}, {"text", MEMBER_TEXT, false}}},
    {"image",
     {{"format", MEMBER_TEXT, true},
      {"width", MEMBER_COUNT, false},
      {"height", MEMBER_COUNT, false},
      {"data", MEMBER_TEXT, true},
      {"text", MEMBER_TEXT, false}}},
    {"dataframe",
     {{"text", MEMBER_TEXT, true},
      {"html", MEMBER_TEXT, false},
      {"rows", MEMBER_COUNT, false},
      {"columns", MEMBER_COUNT, false},
      {"dtypes", MEMBER_DTYPES, false},
      {"head", MEMBER_HEAD, false}}},
};

/* Index into types, or -1. */
static int find_type(const json_t *output)
{
    const char *type = json_string_value(json_object_get(output, "type"));
    for (size_t i = 0; type != NULL && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].type, type) == 0)
            return (int)i;
    return -1;
}

static bool is_short_text(const json_t *value, size_t max)
{
    return json_is_string(value) && json_string_length(value) <= max;
}

/* [{"name": "a", "dtype": "int64"}, ...] */
static bool is_dtypes(const json_t *list)
{
    size_t i;
    json_t *column;
    if (!json_is_array(list) || json_array_size(list) > COLUMNS_MAX)
        return false;
    json_array_foreach(list, i, column) {
        if (json_object_size(column) != 2 ||
            !is_short_text(json_object_get(column, "name"), CELL_MAX) ||
            !is_short_text(json_object_get(column, "dtype"), CELL_MAX))
            return false;
    }
    return true;
}

static bool is_row(const json_t *row)
{
    size_t i;
    json_t *cell;
    if (!json_is_array(row) || json_array_size(row) > COLUMNS_MAX)
        return false;
    json_array_foreach(row, i, cell) {
        if (!is_short_text(cell, CELL_MAX))
            return false;
    }
    return true;
}

/* [["1", "x"], ...] */
static bool is_head(const json_t *list)
{
    size_t i;
    json_t *row;
    if (!json_is_array(list) || json_array_size(list) > HEAD_ROWS_MAX)
        return false;
    json_array_foreach(list, i, row) {
        if (!is_row(row))
            return false;
    }
    return true;
}

static bool has_type(const json_t *value, enum member_type type)
{
    switch (type) {
    case MEMBER_TEXT:
        return json_is_string(value);
    case MEMBER_COUNT:
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case MEMBER_ANY:
        return true;
    case MEMBER_DTYPES:
        return is_dtypes(value);
    case MEMBER_HEAD:
        return is_head(value);
    }
    return false;
}

static const struct display_member *find_member(const struct display_member *members,
                                                const char *name)
{
    for (size_t i = 0; i < MEMBERS_MAX && members[i].name != NULL; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

/* {"text/plain": "...", "application/vnd.vega.v5+json": {...}}: what else there is of it. */
static bool is_forms(const json_t *mime)
{
    const char *name;
    json_t *value;
    if (!json_is_object(mime) || json_object_size(mime) > FORMS_MAX ||
        display_size(mime) > FORMS_BYTES_MAX)
        return false;
    json_object_foreach((json_t *)(uintptr_t)mime, name, value) {
        if (strchr(name, '/') == NULL || strlen(name) > FORM_NAME_MAX)
            return false;
    }
    return true;
}

static bool is_common(const char *name, const json_t *value)
{
    return strcmp(name, "type") == 0 || strcmp(name, "display_id") == 0 ||
           (strcmp(name, "mime") == 0 && is_forms(value)) ||
           (strcmp(name, "metadata") == 0 && json_is_object(value) &&
            display_size(value) <= METADATA_BYTES_MAX) ||
           (strcmp(name, "late") == 0 && json_is_true(value));
}

int display_check(json_t *output, struct err *e)
{
    int type = find_type(output);
    if (type < 0)
        return err_set(e, ERR_INVALID, "an output without a known type");
    const struct display_member *members = types[type].members;
    for (size_t i = 0; i < MEMBERS_MAX && members[i].name != NULL; i++) {
        const json_t *value = json_object_get(output, members[i].name);
        if (value == NULL && !members[i].is_required)
            continue;
        if (value == NULL || !has_type(value, members[i].type))
            return err_set(e, ERR_INVALID, "a %s output whose %s is missing or of the wrong type",
                           types[type].type, members[i].name);
    }
    const json_t *id = json_object_get(output, "display_id");
    if (id != NULL && !is_short_text(id, DISPLAY_ID_MAX))
        return err_set(e, ERR_INVALID, "an output whose display_id is no short text");
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(output, next, name, value) {
        if (!is_common(name, value) && find_member(members, name) == NULL)
            json_object_del(output, name);
    }
    return 0;
}

size_t display_size(const json_t *output)
{
    size_t size = json_string_length(output);
    const char *name;
    json_t *value;
    size_t i;
    if (json_is_array(output)) {
        json_array_foreach(output, i, value) {
            size += display_size(value) + 1;
        }
    } else if (json_is_object(output)) {
        json_object_foreach((json_t *)(uintptr_t)output, name, value) {
            size += strlen(name) + display_size(value) + 1;
        }
    } else if (!json_is_string(output)) {
        size += 8; /* a number or a word */
    }
    return size;
}

/* ---- for an answer --------------------------------------------------------------------------- */

static const char *display_type(const json_t *output)
{
    const char *type = json_string_value(json_object_get(output, "type"));
    return type != NULL ? type : "";
}

bool display_is_picture(const json_t *output)
{
    const char *type = display_type(output);
    return strcmp(type, "image") == 0 || strcmp(type, "svg") == 0;
}

/* Stands for an output that has no shorter form. Its display_id stays: an update may be shorter. */
static json_t *display_note(const json_t *output, size_t size)
{
    const json_t *width = json_object_get(output, "width");
    const json_t *height = json_object_get(output, "height");
    json_t *id = json_object_get(output, "display_id");
    char shape[64] = "";
    if (width != NULL && height != NULL)
        snprintf(shape, sizeof(shape), " of %lld x %lld", (long long)json_integer_value(width),
                 (long long)json_integer_value(height));
    json_t *note = json_pack("{ss so}", "type", "text", "text",
                             json_sprintf("[%.16s%s left out: %zu bytes are over the budget; ask "
                                          "with a larger budget to get it]",
                                          display_type(output), shape, size));
    if (id != NULL)
        json_object_set(note, "display_id", id);
    return note;
}

static void display_cut_text(json_t *output, size_t room, const char *where)
{
    const json_t *text = json_object_get(output, "text");
    _buf_ struct buf cut = BUF_INIT(SIZE_MAX / 4);
    size_t others = display_size(output) - json_string_length(text);
    prose_cut(json_string_value(text), json_string_length(text), room > others ? room - others : 0,
              where, &cut);
    json_object_set_new(output, "text", json_stringn_nocheck(buf_str(&cut), cut.len));
}

json_t *display_fit(json_t *output, size_t room, const char *where, uint64_t *omitted)
{
    size_t size = display_size(output);
    if (size <= room)
        return output;
    if (json_object_get(output, "url") != NULL) { /* where it can be had is answer enough */
        json_object_del(output, "data");
        json_object_del(output, "svg");
        *omitted += size - display_size(output);
        return output;
    }
    if (display_is_picture(output) || !json_is_string(json_object_get(output, "text"))) {
        json_t *note = display_note(output, size);
        json_decref(output);
        *omitted += size;
        return note;
    }
    /* The text says the same as the markup in fewer bytes. */
    if (json_object_del(output, "html") == 0 || json_object_del(output, "json") == 0)
        if (json_object_get(output, "rows") == NULL)
            json_object_set_new(output, "type", json_string("text"));
    size_t left = display_size(output);
    if (left > room && json_object_del(output, "head") == 0)
        left = display_size(output);
    if (left > room && json_object_del(output, "dtypes") == 0)
        left = display_size(output);
    if (left > room)
        display_cut_text(output, room, where);
    *omitted += size - MIN(size, MIN(left, room));
    return output;
}

json_t *display_words(const json_t *output)
{
    const char *type = display_type(output);
    json_t *plain = json_object_get(json_object_get(output, "mime"), "text/plain");
    const char *words = json_string_value(plain);
    if (words == NULL || words[0] == '<' ||
        (strcmp(type, "latex") != 0 && strcmp(type, "markdown") != 0))
        return NULL;
    return plain;
}

/* The members that say again what another one says. */
static bool display_drop_repeated(json_t *output, bool has_html)
{
    bool is_changed = false;
    const char *text = json_string_value(json_object_get(output, "text"));
    if (json_object_get(output, "url") != NULL) {
        is_changed |= json_object_del(output, "ref") == 0;
        is_changed |= text != NULL && text[0] == '<' && json_object_del(output, "text") == 0;
    } else if (text != NULL && !has_html && !display_is_picture(output)) {
        is_changed |= json_object_del(output, "html") == 0;
        is_changed |= json_object_del(output, "dtypes") == 0;
        is_changed |= json_object_del(output, "head") == 0;
    }
    return is_changed;
}

bool display_leave_one_form(json_t *output, bool has_html, bool has_forms)
{
    bool is_changed = display_drop_repeated(output, has_html);
    if (has_forms)
        return is_changed;
    if (json_object_get(output, "mime") == NULL && json_object_get(output, "metadata") == NULL)
        return is_changed;
    json_t *words = display_words(output);
    if (words != NULL) { /* its source goes by the name of its type */
        json_object_set(output, display_type(output), json_object_get(output, "text"));
        json_object_set(output, "text", words);
    }
    json_object_del(output, "mime");
    json_object_del(output, "metadata");
    return true;
}

void display_put_words(const json_t *output, bool has_url, struct buf *out)
{
    const json_t *words = display_words(output);
    const json_t *text = words != NULL ? words : json_object_get(output, "text");
    const char *url = has_url ? json_string_value(json_object_get(output, "url")) : NULL;
    const json_t *json = json_object_get(output, "json");
    if (display_is_picture(output)) {
        const char *format = json_string_value(json_object_get(output, "format"));
        json_int_t width = json_integer_value(json_object_get(output, "width"));
        json_int_t height = json_integer_value(json_object_get(output, "height"));
        buf_printf(out, "[%.8s", format != NULL ? format : display_type(output));
        if (width > 0 && height > 0)
            buf_printf(out, " %lldx%lld", (long long)width, (long long)height);
        buf_printf(out, "%s%s]", url != NULL ? ": " : "", url != NULL ? url : "");
    } else if (json_is_string(text)) {
        buf_append(out, json_string_value(text), json_string_length(text));
    } else if (json != NULL) {
        struct json_out written = JSON_OUT(out);
        json_put_value(&written, json);
    } else {
        buf_printf(out, "[%.16s of %zu bytes]", display_type(output), display_size(output));
    }
}
