/* What a session's code imported and defined, and what of it could not be saved: asked of an idle
 * interpreter. */
#pragma once

#include "base/err.h"
#include "base/list.h"

#include <jansson.h>

struct declared_wait;
struct session;

struct declarations {
    json_t *told;      /* as last told; NULL if they never were */
    uint64_t as_of;    /* the last cell that had ended by then */
    struct list waits; /* of struct declared_wait */
};

struct declared {
    const json_t *told; /* see runtime/declarations.h */
    /* What the last save lost: a list of {"name","type","advice"}. NULL if there was none of what
     * the session is now, and `told` has what can be foreseen. */
    const json_t *lost;
    uint64_t as_of; /* the last cell that had ended; 0: none */
    bool is_busy;   /* they are not of now: a cell runs */
};

struct declared_listener {
    void (*on_declared)(void *context, const struct declared *declared);
    void (*on_failed)(void *context, const struct err *e);
};

/* One of them is called once, maybe before this returns; then `ret_wait` is NULL. Who is busy tells
 * what it told last; of who is suspended it is that, or what was saved. ERR_CONFLICT without it. */
int session_declared(struct session *session, const struct declared_listener *listener,
                     void *context, struct declared_wait **ret_wait, struct err *e);
void declared_forget(struct declared_wait *wait); /* the caller went away */

/* ---- for the rest of the room ---------------------------------------------------------------- */

void declared_on_told(struct session *session, json_t *told);
void declared_end_all(struct session *session); /* the session is dead */
