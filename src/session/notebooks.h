/* Live notebooks: those of sessions, and those with watchers. Whatever runs in a listed
 * session becomes a cell of the notebook with the session's id, in the order in which it was asked
 * for (recording.h); changes by several callers are applied one after another (changes.h); whoever
 * watches hears of each of them (watching.h). The cells themselves are rows of the store: here is
 * what the next cell needs to know. */
#pragma once

#include "base/ids.h"
#include "base/list.h"
#include "base/map.h"
#include "session/engine.h"
#include "session/task.h"

struct session;

/* Another part of the daemon keeps a copy of notebooks: this one is not as it was, or is gone. */
typedef void (*notebooks_changed_fn)(void *context, const char *id);

/* The engine's. */
struct notebooks {
    struct map by_id;                /* of struct live_notebook */
    struct tasks tasks;              /* changes, runs and pictures that are under way */
    struct loop_timer *keeping;      /* puts what long cells have shown; NULL before the first */
    bool keeps_soon;                 /* the timer is set to less than its usual time */
    struct loop_timer *tidy;         /* looks for notebooks whose time is over */
    notebooks_changed_fn on_changed; /* may be NULL */
    void *changed_context;
    bool is_closing;
};

enum { PICTURES_MINUTES = 16 }; /* in which the store has removed what no row refers to */

/* What the pictures of a notebook take. */
struct pictures {
    uint64_t bytes;   /* that its cells refer to, at most */
    bool is_counted;  /* the store was asked for those from before */
    uint64_t full_ms; /* monotonic: when they were last found to be too many; 0: never */
    uint64_t minute;  /* monotonic: of the newest entry below */
    uint64_t written[PICTURES_MINUTES]; /* bytes, minute by minute */
};

struct live_notebook {
    struct engine *engine;
    char id[UUID_SIZE];
    bool has_session;
    bool has_row;
    uint64_t n_cells;    /* with those that are not put yet */
    int64_t last_place;  /* of the last of them */
    uint64_t last_ended; /* the exec id of the last cell that ended here; 0: not known */
    uint64_t n_appended; /* ever: what a change that was asked for before did not count */
    uint64_t last_record;
    struct list records; /* of struct cell_record: cells that wait, run or have pictures under way
                          */
    struct pictures pictures;
    struct list watchers;
    size_t n_watchers;
    uint64_t seq;
    unsigned n_holds; /* functions that are using it */
};

/* What running cells have written so far becomes part of their rows. To be called before the store
 * is asked for cells that a caller wants to see. */
void notebooks_flush(struct engine *engine, const char *id);
/* Sets who is told of changes from now on; NULL if no watcher is. */
void notebooks_on_changed(struct engine *engine, notebooks_changed_fn fn, void *context);
void notebooks_changed(struct engine *engine, const char *id); /* or removed */

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* The store and all sessions that it knows are there. */
int notebooks_open(struct engine *engine, struct err *e);
void notebooks_reconfigure(struct engine *engine, const struct notebooks_config *before);
void notebooks_close(struct engine *engine); /* also if they were never opened */

/* NULL if it is not live. */
struct live_notebook *notebooks_find(struct engine *engine, const char *id);
struct live_notebook *notebooks_ensure(struct engine *engine, const char *id);
/* The session exists from now on, maybe only in the store; or it has ended. */
void notebooks_on_session(struct session *session, bool is_there);
void notebooks_hold(struct live_notebook *notebook);
void notebooks_let_go(struct live_notebook *notebook); /* the notebook may be gone afterwards */
/* The store knows the notebook from now on, if it did not before. */
int notebooks_put_row(struct live_notebook *notebook, const struct session *session, struct err *e);
/* The same for the notebook of a session that has run nothing yet, if it is there. */
int notebooks_begin(struct engine *engine, const char *id, struct err *e);
