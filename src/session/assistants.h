/* Assistants: interpreters of our own in the jail of a session, in which tools run that its code or
 * its callers call. They are no sessions: no code of the user's runs in them, they have no past,
 * and a tool that hangs or crashes costs one of them and nothing else. The first call starts the
 * first; more are started while all work and a call waits; unused ones end after a
 * while. */
#pragma once

#include "base/err.h"
#include "base/list.h"

#include <jansson.h>

struct assist;
struct session;

enum {
    ASSISTANTS_MAX = 4,          /* of a session */
    ASSISTANTS_WAITING_MAX = 64, /* calls of a session that wait for one of them */
};

struct assistants {
    struct list all;     /* of struct assistant */
    struct list waiting; /* of struct assist, the oldest first */
    size_t n, n_waiting;
    uint64_t last_id; /* of a call */
};

struct assist_request {
    const char *tool; /* its name; borrowed for the whole call, as is `told` */
    const char *told; /* what errors call it; NULL for its name */
    json_t *args;
    uint32_t timeout_ms; /* from when it begins */
    bool is_whole;       /* see struct head_tool */
};

/* One of both, later, from the loop. */
struct assist_listener {
    void (*on_done)(void *context, json_t *result); /* borrowed */
    void (*on_failed)(void *context, const struct err *e);
};

/* Calls a tool. NULL with the error. */
struct assist *session_assist(struct session *session, const struct assist_request *request,
                              const struct assist_listener *listener, void *context, struct err *e);
/* The caller went away: a tool that runs is ended with its interpreter. */
void assist_forget(struct assist *assist);

/* ---- for the rest of the room ---------------------------------------------------------------- */

void assistants_init(struct session *session);
bool assistants_are_busy(const struct session *session);
void assistants_end(struct session *session, const char *why); /* callers are told */
