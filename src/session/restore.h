/* Bringing a session to another point of its history: back to its last checkpoint after a crash, to
 * any kept one by undo or redo, back to life after it was suspended. The way there is the table of
 * steps in restore.c:
 *
 *   the present state becomes a checkpoint (undo and redo only: the way back)
 *   -> the interpreter and what it started since ends -> the files are put back
 *   -> a copy of the checkpoint wakes; or a fresh interpreter walks in and loads the durable copy
 *
 * What fails on the way leads to the next older checkpoint, and at last to the beginning. A session
 * that was suspended has no processes: its interpreter walks in first, then come the files. What
 * the rest of the session makes of the end of a restoration is decided in settle.c. */
#pragma once

#include "base/err.h"
#include "session/timeline.h"
#include "store/store.h"

#include <jansson.h>

struct head_end_facts;
struct session;

enum restore_cause { RESTORE_CRASH, RESTORE_UNDO, RESTORE_REDO, RESTORE_RESUME };

/* Where the interpreter came from. */
enum restore_source { RESTORED_CHECKPOINT, RESTORED_DURABLE, RESTORED_BEGINNING };

const char *restore_source_name(enum restore_source source);

/* What became of /workspace. */
enum restore_files { RESTORED_FILES, RESTORED_FILES_SAME, RESTORED_FILES_UNKNOWN };

struct restore_report {
    uint64_t from, to; /* checkpoints */
    enum restore_source source;
    struct timeline_cells cells; /* that were undone */
    enum restore_files files;
    uint64_t files_changed;
    char files_reason[200]; /* RESTORED_FILES_UNKNOWN, or what could not be put back; "": nothing */
    json_t *names;          /* what the way back does to them (names_undone); NULL if nothing */
    json_t *files_lost;     /* paths that may not have been the undone cells'; NULL if none */
    uint64_t ended_processes;
    const json_t *notes; /* what is not undone: a list of {"what","detail"}; NULL if nothing */
    /* RESTORED_DURABLE */
    uint64_t restored;  /* how many variables and declarations are back */
    const json_t *lost; /* what is not: a list of {"name","type","advice"}; NULL if nothing */
};

struct restore_listener {
    void (*on_restored)(void *context, const struct restore_report *report);
    void (*on_failed)(void *context, const struct err *e);
};

/* An interpreter that an undo has left, and that is only stopped until there is time to end it. */
struct restore_left {
    uint64_t head; /* the interpreter's number; 0 if there is none */
    int channel; /* its control socket, kept open so that the interpreter does not end by itself */
};

/* A restoration under way. */
struct restore {
    enum restore_cause cause;
    bool is_postponed;         /* until the session is idle: the target is not chosen yet */
    bool has_to;               /* the caller named the target: */
    uint64_t to;               /* a checkpoint; 0 for the beginning */
    size_t step;               /* in the table of restore.c */
    bool is_begun;             /* the step has run once, and waits for something */
    bool has_failed;           /* the step took too long, or the new interpreter ended */
    char why[320];             /* what failed; "": nothing did */
    bool was_suspended;        /* an undo or redo brought the session back to life */
    bool had_background;       /* processes wrote files beside the cells that are undone */
    bool keeps_files;          /* /workspace stays as it is */
    struct checkpoint *target; /* NULL for the beginning */
    uint64_t old_head;         /* the number of the interpreter that is left; 0 if there was none */
    uint64_t ticket;           /* of the order to the warden under way; 0 if there is none */
    bool is_ordered;           /* the files of this step were ordered */
    bool is_ready;             /* the new interpreter has walked in */
    bool is_set_up;            /* the new interpreter knows where it works */
    json_t *notes;             /* of the new interpreter, for the report */
    struct store_call *call;   /* to the store, under way; NULL if there is none */
    bool has_asked;            /* the store for the durable copy */
    struct err missing;        /* why the store has none; ERR_NONE if it has */
    struct store_state *state; /* the durable copy, if it is used; else NULL */
    char files[STORE_HASH_SIZE]; /* the manifest that belongs to the durable copy; "" if none */
    json_t *loaded;              /* what the interpreter said of loading it; NULL before */
    struct restore_report report;
    const struct restore_listener *listener; /* NULL if no caller waits */
    void *context;
};

/* `to` is NULL for the checkpoint before the last cells. No cell may run; if an interrupted cell is
 * still settling, the undo begins in a moment. The listener may be told before this
 * returns. */
int session_undo(struct session *session, const uint64_t *to,
                 const struct restore_listener *listener, void *context, struct err *e);
/* To where the last undo came from. */
int session_redo(struct session *session, const struct restore_listener *listener, void *context,
                 struct err *e);
/* A fresh interpreter, as after an undo to the beginning, but the files stay. Also for sessions
 * that have no checkpoints, and for suspended ones. */
int session_reset(struct session *session, const struct restore_listener *listener, void *context,
                  struct err *e);
/* Takes a try back; see trial.h. */
int session_discard(struct session *session, uint64_t try_id,
                    const struct restore_listener *listener, void *context, struct err *e);
/* The caller went away; the session goes on to where it was sent. */
void restore_forget(struct restore *restore);

/* ---- for the rest of the room ---------------------------------------------------------------- */

enum restore_outcome {
    RESTORE_UNDER_WAY,
    RESTORE_DONE,   /* the interpreter is there: restore_conclude follows */
    RESTORE_STAYED, /* nothing was given up: the session goes on as it is, `why` says why */
    RESTORE_FAILED, /* nothing brings the session back, `why` says why */
};

/* Makes session->restore; the present line stays until restore_advance leaves it. */
struct restore *restore_begin(struct session *session, enum restore_cause cause);
/* The session is idle, or suspended: chooses the target of an order. -1 if there is none. */
int restore_choose(struct session *session, struct err *e);
/* Runs steps until one has to wait. To be called after everything that happens to the session. */
enum restore_outcome restore_advance(struct session *session);
const char *restore_step_name(const struct restore *restore); /* the step that comes next */
/* The session is at the target from now on, in its timeline too; the report is complete. */
void restore_conclude(struct session *session);
/* The session has what was saved last, and nothing that came after it. */
bool restore_is_as_saved(const struct restore *restore);
/* What the next answer says of the restoration; the caller owns the value. */
json_t *restore_describe_rollback(const struct restore_report *report);
json_t *restore_describe_resumption(const struct session *session,
                                    const struct restore_report *report);

/* A suspended session, which has its place among the living, comes back. */
void restore_resume(struct session *session);
/* Whether the end of the interpreter, which `ending` tells of, leads to a restoration. */
bool restore_is_possible(const struct session *session);
/* Begins one for an interpreter that has ended; the undo that was under way goes on without it. */
void restore_after_crash(struct session *session);
/* Ends the interpreter that an undo has left and only stopped. False if there is none. */
bool restore_end_left(struct session *session);
/* The restoration is over: the waiting caller is told why. */
void restore_abandon(struct session *session, const struct err *e);
void restore_abandon_for(struct session *session, const char *why);
void restore_free(struct session *session, struct restore *restore); /* no caller is told */

/* What happens meanwhile. Nothing follows from these before restore_advance. */
void restore_on_ready(struct session *session, const json_t *notes);
void restore_on_set(struct session *session);
void restore_on_loaded(struct session *session, const json_t *report);
void restore_on_end(struct session *session, const struct head_end_facts *facts);
void restore_on_alarm(struct session *session);
