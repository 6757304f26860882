#include "base/err.h"

#include "base/utf8.h"

#include <stdarg.h>

/* Exit statuses follow sysexits(3) where one fits; 1 is kept for "the code that was run failed". */
static const struct {
    const char *name;
    int http_status;
    int exit_status;
} codes[] = {
    [ERR_NONE] = {"ok", 200, 0},
    [ERR_INVALID] = {"invalid", 400, 64},
    [ERR_UNAUTHORIZED] = {"unauthorized", 401, 77},
    [ERR_FORBIDDEN] = {"forbidden", 403, 77},
    [ERR_NOT_FOUND] = {"not_found", 404, 66},
    [ERR_METHOD] = {"method_not_allowed", 405, 64},
    [ERR_CONFLICT] = {"conflict", 409, 75},
    [ERR_GONE] = {"gone", 410, 66},
    [ERR_TOO_LARGE] = {"too_large", 413, 64},
    [ERR_TIMEOUT] = {"timeout", 408, 75},
    [ERR_LIMIT] = {"limit_reached", 429, 75},
    [ERR_UNAVAILABLE] = {"unavailable", 503, 69},
    [ERR_UPSTREAM] = {"bad_gateway", 502, 69},
    [ERR_INTERNAL] = {"internal", 500, 70},
};

const char *err_code_name(enum err_code code)
{
    return codes[code].name;
}

int err_http_status(enum err_code code)
{
    return codes[code].http_status;
}

int err_exit_status(enum err_code code)
{
    return codes[code].exit_status;
}

/* Text that was longer than its place ends at a word, and says that there was more. */
static void mark_cut(char *text, size_t size)
{
    static const char mark[] = "…";
    size_t end = size - sizeof(mark);
    while (end > size / 2 && text[end - 1] != ' ')
        end--;
    if (text[end - 1] != ' ') /* there are no words */
        end = utf8_valid_prefix(text, size - sizeof(mark));
    memcpy(text + end, mark, sizeof(mark));
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    e->code = code;
    e->advice[0] = '\0';
    va_list args;
    va_start(args, fmt);
    vsnprintf(e->message, sizeof(e->message), fmt, args);
    va_end(args);
    return -1;
}

int err_errno(struct err *e, enum err_code code, int errnum, const char *fmt, ...)
{
    char what[sizeof(e->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(e, code, "%s: %s", what, strerror(abs(errnum)));
}

int err_context(struct err *e, const char *fmt, ...)
{
    char what[128];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    char message[sizeof(e->message)];
    memcpy(message, e->message, sizeof(message));
    int n = snprintf(e->message, sizeof(e->message), "%s: ", what);
    size_t used = MIN((size_t)n, sizeof(e->message) - 1);
    snprintf(e->message + used, sizeof(e->message) - used, "%.*s",
             (int)(sizeof(e->message) - used - 1), message);
    return -1;
}

int err_advise(struct err *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(e->advice, sizeof(e->advice), fmt, args) >= (int)sizeof(e->advice))
        mark_cut(e->advice, sizeof(e->advice));
    va_end(args);
    return -1;
}
