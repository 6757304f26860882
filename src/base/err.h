/* Errors are values. Low-level functions return -errno; everything above takes a `struct err *`
 * last, owned by the caller, and returns 0 or -1. Each level may add what it was doing with
 * err_context; the advice says what the reader can do next. One table maps a code to every
 * surface's number. */
#pragma once

#include "base/base.h"

enum err_code {
    ERR_NONE,
    ERR_INVALID,      /* the request is malformed or breaks its schema */
    ERR_UNAUTHORIZED, /* no key or a wrong one */
    ERR_FORBIDDEN,    /* known caller, not allowed */
    ERR_NOT_FOUND,
    ERR_METHOD,   /* the path exists, the method does not */
    ERR_CONFLICT, /* legal request, wrong moment */
    ERR_GONE,     /* it existed and has ended */
    ERR_TOO_LARGE,
    ERR_RANGE,       /* of a file: it has no such bytes */
    ERR_TIMEOUT,     /* a deadline passed before the other side was done */
    ERR_LIMIT,       /* a quota or queue is full */
    ERR_UNAVAILABLE, /* the machine or the daemon cannot do this now */
    ERR_UPSTREAM,    /* a server inside a session did not answer, or not as one should */
    ERR_INTERNAL,
};

struct err {
    enum err_code code;
    char message[512];
    char advice[1024];
};

/* Sets the error and returns -1, so that a function can end with `return err_set(...)`. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int err_errno(struct err *e, enum err_code code, int errnum, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
int err_context(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3); /* "doing x: message" */
int err_advise(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *err_code_name(enum err_code code); /* "not_found": stable, part of the API */
int err_http_status(enum err_code code);
int err_exit_status(enum err_code code); /* of the command line tool */
