/* Reads stored rows, and says what updates mean to them. Runs in the daemon's loop and on the
 * thread of the store; owns nothing. */
#include "cell/outputs.h"

#include <ctype.h>
#include <string.h>

#define MEMBER(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct output_view, name)                                                  \
    }

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    MEMBER(display_id), MEMBER(updates), MEMBER(hash),   MEMBER(ref),   MEMBER(url),
    MEMBER(format),     MEMBER(width),   MEMBER(height), MEMBER(bytes),
};

/* From behind the quote to the one that ends it. */
static const char *string_end(const char *at, const char *end)
{
    while (at < end && *at != '"')
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    return at;
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && strchr(",]}\" \t\r\n", *at) == NULL)
        at++;
    return at;
}

static void outputs_take_member(struct output_view *view, struct output_text name,
                                struct output_text value)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (name.len == strlen(members[i].name) &&
            memcmp(name.data, members[i].name, name.len) == 0)
            memcpy((char *)view + members[i].offset, &value, sizeof(value));
}

/* A string or a word of the object itself: the name of a member, or its value. */
static void take_scalar(struct output_scan *s, struct output_view *view, struct output_text *name,
                        struct output_text t)
{
    const char *next = s->at;
    while (next < s->end && isspace((unsigned char)*next))
        next++;
    if (next < s->end && *next == ':') {
        *name = t;
        return;
    }
    if (name->data != NULL)
        outputs_take_member(view, *name, t);
    *name = (struct output_text){0};
}

/* The string or word that begins here; empty text if it is neither. */
static struct output_text read_scalar(struct output_scan *s)
{
    const char *start = s->at;
    char c = *s->at++;
    if (c == '"') {
        const char *stop = string_end(s->at, s->end);
        s->at = MIN(stop + 1, s->end);
        return (struct output_text){start + 1, (size_t)(stop - start - 1)};
    }
    if (!isalnum((unsigned char)c) && c != '-')
        return (struct output_text){0};
    s->at = word_end(s->at, s->end);
    return (struct output_text){start, (size_t)(s->at - start)};
}

bool output_next(struct output_scan *s, struct output_view *ret)
{
    struct output_text name = {0};
    unsigned depth = 0;
    while (s->at < s->end && *s->at != '{')
        s->at++;
    *ret = (struct output_view){.all = {.data = s->at}};
    while (s->at < s->end) {
        char c = *s->at;
        if (c == '{' || c == '[') {
            depth++;
            s->at++;
            name = (struct output_text){0};
        } else if (c == '}' || c == ']') {
            s->at++;
            if (--depth == 0) {
                ret->all.len = (size_t)(s->at - ret->all.data);
                return true;
            }
        } else {
            struct output_text t = read_scalar(s);
            if (t.data != NULL && depth == 1)
                take_scalar(s, ret, &name, t);
        }
    }
    return false;
}

bool output_text_is(struct output_text a, struct output_text b)
{
    return a.data != NULL && b.data != NULL && a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

uint64_t output_number(struct output_text t)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t.len && isdigit((unsigned char)t.data[i]) && n < UINT32_MAX; i++)
        n = 10 * n + (uint64_t)(t.data[i] - '0');
    return n;
}

uint64_t output_image_number(const struct output_view *view, uint64_t otherwise)
{
    struct output_text ref = view->ref;
    size_t digits = 0;
    while (digits < ref.len && isdigit((unsigned char)ref.data[ref.len - 1 - digits]))
        digits++;
    if (digits == 0)
        return otherwise;
    return output_number((struct output_text){ref.data + ref.len - digits, digits});
}

/* ---- updates --------------------------------------------------------------------------------- */

/* The member is there, and what stands before its value is what we write. */
static bool output_has_member(const struct output_view *view, struct output_text value,
                              const char *before)
{
    size_t len = strlen(before);
    return value.data != NULL && (size_t)(value.data - view->all.data) > len &&
           memcmp(value.data - len, before, len) == 0;
}

bool output_is_update(const struct output_view *view)
{
    struct output_text number = view->updates;
    return view->display_id.data != NULL && output_has_member(view, number, OUTPUT_UPDATES) &&
           number.data + number.len + 1 == view->all.data + view->all.len;
}

struct output_text output_unmarked(const struct output_view *update)
{
    const char *end = update->updates.data - strlen(OUTPUT_UPDATES);
    return (struct output_text){update->all.data, (size_t)(end - update->all.data)};
}

bool output_is_same(const struct output_view *stored, const struct output_view *update)
{
    struct output_text text = output_unmarked(update);
    if (update->hash.data != NULL)
        return output_text_is(stored->hash, update->hash);
    return stored->all.len == text.len + 1 && memcmp(stored->all.data, text.data, text.len) == 0;
}

/* ---- for callers ----------------------------------------------------------------------------- */

void output_put_public(struct json_out *json, const char *outputs, size_t len)
{
    struct output_scan scan = OUTPUT_SCAN(outputs, len);
    struct output_view view;
    json_put_array(json);
    while (output_next(&scan, &view)) {
        const char *from = view.all.data, *end = from + view.all.len;
        if (json->needs_comma)
            buf_append_char(json->buf, ',');
        if (output_has_member(&view, view.hash, OUTPUT_HASH)) {
            buf_append(json->buf, from, (size_t)(view.hash.data - from) - strlen(OUTPUT_HASH));
            from = view.hash.data + view.hash.len + 1;
        }
        buf_append(json->buf, from, (size_t)(end - from));
        json->needs_comma = true;
    }
    json_put_array_end(json);
}
