/* Reads a list of outputs, JSON as text, one output after the other without building it. Daemon;
 * called by the writer thread. */
#include "store/outputs.h"

#include "base/base.h"

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
