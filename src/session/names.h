/* The names that a session's code has made: asked of an idle interpreter, and remembered for those
 * who ask while it is busy. */
#pragma once

#include "base/err.h"
#include "base/list.h"

#include <jansson.h>

struct exec;
struct names_wait;
struct session;

struct names {
    json_t *known;     /* as last told; NULL if they never were */
    uint64_t as_of;    /* the last cell that had ended by then */
    struct list waits; /* of struct names_wait */
    json_t *recent;    /* what the last cells did to them: [{"number","names"}]; NULL if nothing */
};

struct timeline_cells;

/* How names are told. */
struct names_told {
    const json_t *names; /* see runtime/names.h; NULL if never asked so far */
    uint64_t as_of;      /* the last cell that had ended by then; 0: none */
    bool is_busy;        /* they are not of now: a cell runs */
};

struct names_listener {
    void (*on_names)(void *context, const struct names_told *told);
    void (*on_failed)(void *context, const struct err *e);
};

/* One of them is called once, maybe before this returns; then `ret_wait` is NULL. */
int session_names(struct session *session, const struct names_listener *listener, void *context,
                  struct names_wait **ret_wait, struct err *e);
void names_forget(struct names_wait *wait); /* the caller went away */

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* NULL if they say nothing new. */
json_t *names_news(json_t *names);
void names_on_verdict(struct exec *exec, json_t *names);
/* What becomes of them when these cells are undone: {"added","changed","removed"}, as far as it is
 * remembered; NULL if nothing is. The caller owns it. */
json_t *names_undone(const struct session *session, const struct timeline_cells *cells);
void names_on_told(struct session *session, json_t *names);
void names_end_all(struct session *session); /* the session is dead */
