/* Errors, and the one table of their codes. Every process. */
#include "base/err.h"

#include "base/err_page.h"
#include "base/utf8.h"

#include <stdarg.h>

/* Exit statuses follow sysexits(3) where one fits; 1 is kept for "the code that was run failed".
 * docs/ERRORS.md is made from this table. */
static const struct {
    const char *name;
    int http_status;
    int exit_status;
    const char *when, *remedy;
} codes[] = {
    [ERR_NONE] = {"ok", 200, 0, "The request was served.", "Go on."},
    [ERR_INVALID] =
        {"invalid", 400, 64,
         "The request is malformed, names something unknown or is out of range.",
         "Change the request: the message names the member, the advice what is taken there."},
    [ERR_UNAUTHORIZED] = {"unauthorized", 401, 77, "There is no key or token, or a wrong one.",
                          "Send \"Authorization: Bearer KEY\" with the key of the daemon's data "
                          "directory, or use its UNIX socket."},
    [ERR_FORBIDDEN] = {"forbidden", 403, 77,
                       "The caller is known, and may not do this: the agent's rules, a browser's "
                       "page, another user.",
                       "Ask for less, or have the configuration changed."},
    [ERR_NOT_FOUND] =
        {"not_found", 404, 66,
         "There is no such path, session, notebook, cell, file or agent, or not for this agent.",
         "Look at the list of what there is; spell the id as it was given."},
    [ERR_METHOD] = {"method_not_allowed", 405, 64, "The path exists, the method does not.",
                    "Use one of the methods of the Allow header."},
    [ERR_CONFLICT] = {"conflict", 409, 75,
                      "The request is right and comes at the wrong moment: plan mode, a cell that "
                      "runs, a revision that is not the newest.",
                      "Do what the advice says, then send it again."},
    [ERR_GONE] = {"gone", 410, 66, "What the request is about existed and has ended.",
                  "Start another session; what it ran is in its notebook."},
    [ERR_TOO_LARGE] = {"too_large", 413, 64, "The request or a part of it is larger than is taken.",
                       "Send smaller parts, or put the data into a file."},
    [ERR_RANGE] = {"range_not_satisfiable", 416, 64,
                   "A file has none of the bytes that the Range header asks for.",
                   "Ask for bytes that there are: the Content-Range header has the file's size."},
    [ERR_TIMEOUT] = {"timeout", 408, 75,
                     "A deadline passed before the other side was done. Code that is stopped by "
                     "its time limit is no error of the request.",
                     "Send the request again, with more time if it has a time."},
    [ERR_LIMIT] =
        {"limit_reached", 429, 75,
         "A quota or a queue is full: sessions of an agent, cells that wait, connections.",
         "End what is not needed, or wait and send it again."},
    [ERR_UNAVAILABLE] = {"unavailable", 503, 69,
                         "The daemon or the machine cannot do this now: it starts or stops, the "
                         "disk is full, no sandbox can be made.",
                         "Wait and send it again; `cella doctor` and the log say what is wrong."},
    [ERR_UPSTREAM] = {"bad_gateway", 502, 69,
                      "A server inside a session does not listen, answer or speak HTTP.",
                      "Look at the server in a cell of the session; then send it again."},
    [ERR_INTERNAL] = {"internal", 500, 70, "A mistake of Cella's.",
                      "Report it with the log of the daemon."},
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

const char *err_when(enum err_code code)
{
    return codes[code].when;
}

const char *err_remedy(enum err_code code)
{
    return codes[code].remedy;
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
