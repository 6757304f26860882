/* One run and nothing after it: an interpreter from the pool, the code, its answer, the end. It is
 * a session that nobody else finds. What it answers is what a program that was run would leave:
 * two streams, an exit code, one line about what failed.
 *
 *   STARTING --> RUNNING --> over
 */
#pragma once

#include "base/buf.h"
#include "session/exec.h"

enum {
    ONESHOT_TIMED_OUT = 124, /* exit codes, as shells and timeout(1) have them */
    ONESHOT_FAILED = 1,
};

struct oneshot;

/* Borrowed for the callback. */
struct oneshot_answer {
    struct buf streams[OUTPUT_STREAMS]; /* with the value or the traceback at the end */
    struct buf error;                   /* one line; empty: it succeeded */
    int exit_code;
    json_t *outputs; /* an array of typed outputs; NULL: none */
    bool is_truncated;
    double duration_ms;
};

/* Either of the two is the last that is said. */
struct oneshot_listener {
    void (*on_done)(void *context, const struct oneshot_answer *answer);
    void (*on_failed)(void *context, const struct err *e); /* it never ran */
};

struct oneshot_request {
    struct session_request session; /* its callbacks are ours */
    const char *code;               /* borrowed until it is over */
    size_t code_len;
    uint32_t timeout_ms;
    uint32_t limit_ms; /* of all of it, with the wait for an interpreter; 0: none */
    size_t budget;     /* bytes of text in the answer */
    size_t pictures;   /* see struct exec_wait */
    const struct oneshot_listener *listener;
    void *context;
};

/* `ret_oneshot` is NULL if the listener was told already. */
int oneshot_start(struct engine *engine, const struct oneshot_request *request,
                  struct oneshot **ret_oneshot, struct err *e);
/* Nobody wants it any more. */
void oneshot_abandon(struct oneshot *oneshot);
