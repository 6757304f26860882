/* Tools that a caller hands in with a session or with one cell, and answers itself: the code of a
 * cell calls one as any other, the cell's clock stands, the caller's answer has the call
 * (CELL_TOOLS), and the cell goes on with what the caller says of it.
 *
 *   called --told in an answer--> answered by session_tool_results
 *                             \--> withdrawn: the cell was interrupted or ended, or it was too late
 *
 * A call that was told is in the row of its cell, so that the end of a daemon that is killed names
 * it. */
#pragma once

#include "base/err.h"
#include "base/list.h"

#include <jansson.h>

struct buf;
struct exec;
struct exec_wait;
struct handed_call;
struct loop_timer;
struct session;
struct tool_entry;

enum {
    HANDED_TOOLS_MAX = 64,                 /* in one list, */
    HANDED_LIST_BYTES = 64 * 1024,         /* which has so many as JSON */
    HANDED_CALLS_MAX = 16,                 /* of a cell at a time */
    HANDED_ARGS_BYTES = 256 * 1024,        /* of a call's arguments as JSON, */
    HANDED_RESULT_BYTES = 1024 * 1024,     /* and of its result */
    HANDED_DEADLINE_MS = 5 * 60 * 1000,    /* unless the caller says how long a call may wait; */
    HANDED_DEADLINE_MAX_MS = 86400 * 1000, /* it may say up to that */
    HANDED_ID_SIZE = 32,
    HANDED_NAMED_SIZE = 128, /* "search (3.1)" */
};

struct handed_tools {
    json_t *list;         /* as it was given */
    uint32_t deadline_ms; /* of each call */
    size_t n;
    struct tool_entry *entries[HANDED_TOOLS_MAX];
};

/* Of a session. */
struct handed {
    struct handed_tools *tools; /* that all of its cells have; NULL if none */
    struct list calls;          /* that wait for the caller, the oldest first */
    size_t n_calls;
    uint64_t exec_id;                   /* the last cell that made one, */
    unsigned n_made;                    /* and how many it has made */
    struct loop_timer *tell, *deadline; /* NULL before the first call */
};

struct handed_listener {
    void (*on_done)(void *context, json_t *result); /* borrowed */
    void (*on_failed)(void *context, const struct err *e);
};

/* Whether a list can be handed in: [{"name", "description", "parameters", "read_only",
 * "allowed_callers"}], whose members have been checked. A name that a tool has which somebody runs
 * is refused. */
int handed_check(const json_t *list, struct err *e);
/* The tools of a list that was checked. `deadline_ms` 0: the usual one. */
struct handed_tools *handed_make(const json_t *list, uint32_t deadline_ms);
void handed_release(struct handed_tools *tools);

/* The tool that the running cell's caller, or the session's, has handed in; NULL if there is none.
 * That of a cell comes before one of its session that has the same name. */
struct tool_entry *handed_find(const struct session *session, const char *name);
/* All of them, in `ret`; of two with one name the one that is found. */
size_t handed_list(const struct session *session,
                   const struct tool_entry *ret[2 * HANDED_TOOLS_MAX]);

/* The running cell's code calls one; the listener is called later from the loop. NULL with the
 * error. */
struct handed_call *session_call_handed(struct session *session, struct tool_entry *entry,
                                        const json_t *args, const struct handed_listener *listener,
                                        void *context, struct err *e);
void handed_forget(struct handed_call *call); /* nobody waits for the result any more */

/* What became of calls: [{"id", "result"} or {"id", "error": text}]. All of them are taken or, with
 * the error, none. Then as session_continue; while calls of the cell still wait the answer has them
 * and comes at once. */
int session_tool_results(struct session *session, uint64_t exec_id, const json_t *results,
                         const struct exec_wait *wait, struct exec **ret_exec, struct err *e);

/* ---- for the rest of the room ---------------------------------------------------------------- */

void handed_init(struct session *session);
void handed_free(struct session *session);
/* The listener of the cell is told which calls wait. */
void handed_answer(struct exec *exec);
/* Those that wait: [{"id", "name", "args"}]; the caller's to free. */
json_t *handed_told(const struct session *session);
/* Likewise, for people: "search (3.1), fetch (3.2)"; nothing if there are none. */
void handed_describe(const struct session *session, struct buf *out);
/* The cell waits for none of them any more: its code is told `why`. */
void handed_withdraw(struct session *session, const char *why);

/* One that waits. */
struct handed_call {
    struct list node; /* in the session's */
    struct session *session;
    char id[HANDED_ID_SIZE];
    struct tool_entry *entry;
    json_t *args;
    uint32_t deadline_ms;
    uint64_t until_ms; /* monotonic */
    const struct handed_listener *listener;
    void *context;
};

size_t handed_bytes(const json_t *value); /* as JSON */
void handed_name(const struct handed_call *call, char out[HANDED_NAMED_SIZE]);
/* It has its result, or failed: the listener is told, and the call is gone. */
void handed_finish(struct handed_call *call, json_t *result, const struct err *e);
