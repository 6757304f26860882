/* Bringing a session to another point of its history: back to its last checkpoint after a crash, to
 * any kept one by undo or redo, back to life after it was suspended. The way there:
 *
 *   the present state becomes a checkpoint (undo and redo only: the way back)
 *   -> the interpreter and what it started since ends -> the files are put back
 *   -> a copy of the checkpoint wakes; or a fresh interpreter walks in and loads the durable copy
 *   -> the session goes on
 *
 * What fails on the way leads to the next older checkpoint, and at last to the beginning. A session
 * that was suspended has no processes: its interpreter walks in first, then come the files. */
#pragma once

#include "base/err.h"
#include "session/timeline.h"

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
    json_t *files_lost;     /* paths that may not have been the undone cells'; NULL: none */
    uint64_t ended_processes;
    const json_t *notes; /* what is not undone: a list of {"what","detail"}; NULL: nothing */
    /* RESTORED_DURABLE */
    uint64_t restored;  /* how many variables and declarations are back */
    const json_t *lost; /* what is not: a list of {"name","type","advice"}; NULL: nothing */
};

struct restore_listener {
    void (*on_restored)(void *context, const struct restore_report *report);
    void (*on_failed)(void *context, const struct err *e);
};

struct restore;

/* `to` NULL: to the checkpoint before the last cells. The session must be idle. The listener may be
 * told before this returns. */
int session_undo(struct session *session, const uint64_t *to,
                 const struct restore_listener *listener, void *context, struct err *e);
/* To where the last undo came from. */
int session_redo(struct session *session, const struct restore_listener *listener, void *context,
                 struct err *e);
/* A fresh interpreter, as after an undo to the beginning, but the files stay. Also for sessions
 * that have no checkpoints, and for suspended ones. */
int session_reset(struct session *session, const struct restore_listener *listener, void *context,
                  struct err *e);
/* The caller went away; the session goes on to where it was sent. */
void restore_leave(struct restore *restore);

/* ---- for the rest of the room ------------------------------------------------------------------
 */

/* A suspended one comes back to life. */
void restore_resume(struct session *session);
/* Its interpreter has ended, and `death` says how. False if that is the session's end too. */
bool restore_after_death(struct session *session);
/* Whoever waits for the session has been served, or it ends: the interpreter that another took the
 * place of ends, too. False if there is none. */
bool restore_end_left(struct session *session);
/* The session is over: whoever waits for a restoration is told. */
void restore_abandon(struct session *session);
/* It leads nowhere any more: whoever waits for it is told why. */
void restore_abandon_for(struct session *session, const char *why);
void restore_abandon_with(struct session *session, const struct err *e);
/* Nobody is told. */
void restore_drop(struct session *session);
/* A checkpoint fell asleep, or was lost, or its files are known. */
void restore_on_checkpoint(struct session *session);
/* A caller's change of a file is done, or will not be. */
void restore_on_files(struct session *session);
/* The session's new interpreter. */
void restore_on_ready(struct session *session, const json_t *notes);
void restore_on_set(struct session *session);
void restore_on_loaded(struct session *session, const json_t *report);
void restore_on_end(struct session *session, const struct head_end_facts *facts);
void restore_on_alarm(struct session *session);
