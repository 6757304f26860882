/* The path and query of a request. Daemon. */
#include "wire/target.h"

#include "base/utf8.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes in place, which only ever shortens. False if a percent sign is not followed by two hex
 * digits, or if the result is not text. */
static bool decode(char *s, bool plus_is_space)
{
    char *to = s;
    for (const char *at = s; *at != '\0'; at++) {
        char c = *at;
        if (c == '%') {
            int high = hex_value(at[1]);
            int low = high < 0 ? -1 : hex_value(at[2]);
            if (low < 0 || (high == 0 && low == 0))
                return false;
            c = (char)(high << 4 | low);
            at += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        *to++ = c;
    }
    *to = '\0';
    return utf8_is_valid(s, (size_t)(to - s));
}

bool target_decode(char *s)
{
    return decode(s, false);
}

static int refuse_encoding(const char *what, struct err *e)
{
    err_set(e, ERR_INVALID, "%s is not percent-encoded UTF-8 without NUL", what);
    return err_advise(e, "Encode it with the URL function of your language.");
}

/* The text up to `stop`, cut off and decoded later; `*rest` moves behind it, or becomes NULL. */
static char *cut(char **rest, char stop)
{
    char *text = *rest;
    char *end = strchr(text, stop);
    if (end != NULL)
        *end++ = '\0';
    *rest = end;
    return text;
}

int target_parse(struct arena *arena, const char *raw, size_t len, struct target *ret_target,
                 struct err *e)
{
    if (len == 0 || raw[0] != '/' || memchr(raw, '#', len) != NULL ||
        memchr(raw, '\0', len) != NULL) {
        err_set(e, ERR_INVALID, "the request's target is not a path");
        return err_advise(e, "Send /path or /path?query, without scheme, host or fragment.");
    }
    ret_target->n_segments = 0;
    ret_target->n_params = 0;
    char *query = arena_copy(arena, raw, len);
    char *path = cut(&query, '?') + 1;
    for (char *rest = path; rest != NULL;) {
        char *segment = cut(&rest, '/');
        if (ret_target->n_segments == TARGET_SEGMENTS_MAX)
            return err_set(e, ERR_NOT_FOUND, "no path here has more than %d segments",
                           TARGET_SEGMENTS_MAX);
        if (!decode(segment, false))
            return refuse_encoding("the path", e);
        ret_target->segments[ret_target->n_segments++] = segment;
    }
    for (char *rest = query; rest != NULL;) {
        char *value = cut(&rest, '&');
        if (*value == '\0')
            continue;
        char *name = cut(&value, '=');
        if (value == NULL)
            value = name + strlen(name); /* a name alone: an empty value */
        if (!decode(name, true) || !decode(value, true))
            return refuse_encoding("the query", e);
        for (size_t i = 0; i < ret_target->n_params; i++) {
            if (strcmp(ret_target->params[i].name, name) != 0)
                continue;
            err_set(e, ERR_INVALID, "the query parameter \"%s\" is given twice", name);
            return err_advise(e, "Give every parameter once.");
        }
        if (ret_target->n_params == TARGET_PARAMS_MAX)
            return err_set(e, ERR_INVALID, "the query has more than %d parameters",
                           TARGET_PARAMS_MAX);
        ret_target->params[ret_target->n_params++] =
            (struct target_param){.name = name, .value = value};
    }
    return 0;
}
