/* Files of /workspace that a caller puts, reads, moves, lists or deletes, while cells run or not.
 * The archivist does it, as it restores files: the daemon opens nothing that a sandbox could have
 * made, and gets what is read through a pipe.
 *
 * What a caller changes belongs to the newest checkpoint, as if it had been there before that was
 * made: a crash and an undo of what runs afterwards keep it. Older checkpoints have what they had.
 * So the list of files of that checkpoint is amended, by one order at a time; a restoration that
 * begins meanwhile waits for it, and orders wait for a restoration. */
#pragma once

#include "base/list.h"
#include "blob/blob.h"
#include "jail/warden.h"

#include <jansson.h>

struct file_order;
struct session;

enum {
    FILES_UNSAVED_MAX = 2000, /* changes; the oldest are forgotten */
    FILES_WAITING_MAX = 16,   /* orders of a session */
};

struct files {
    struct list orders;  /* of struct file_order, the one under way first */
    struct list unsaved; /* of struct file_unsaved, oldest first */
    bool has_news;       /* callers changed files; until settle.c has passed it on */
    bool are_left;       /* the session is dead, and its workspace is still there */
    uint64_t incoming;   /* bytes of uploads that are under way: they share what is free */
};

struct file_result {
    char hash[BLOB_HEX_SIZE]; /* of its bytes, which are in the store */
    uint64_t bytes;
    bool is_new;           /* put: there was none of this name */
    const json_t *details; /* see warden_file; NULL if none. During the call only */
};

struct file_listener {
    void (*on_done)(void *context, const struct file_result *result);
    void (*on_failed)(void *context, const struct err *e);
};

/* A suspended session comes back for it. `what`: action, paths and so on; the rest of it is filled
 * in here. `out`: see warden_file; the caller's. `ret_order` is NULL if the listener has been told
 * already. */
int session_file(struct session *session, const struct warden_file_order *what, int out,
                 const struct file_listener *listener, void *context, struct file_order **ret_order,
                 struct err *e);
/* The caller went away: the order is carried out, and no caller is told. */
void file_forget(struct file_order *order);

/* ---- for the rest of the room ---------------------------------------------------------------- */

bool files_are_changing(struct session *session); /* an order that does so is under way */
/* Begins the next order if the session is in a state for it. */
void files_begin_next(struct session *session);
/* What callers changed since the durable copy was made is not in it: a session that comes back from
 * that gets it again. A save begins, with all that was changed until now; and has ended. */
void files_on_save(struct session *session);
void files_on_saved(struct session *session, bool is_safe);
/* Orders all of it, and returns the ticket of the last order, whose answer says that all are done;
 * 0: there is nothing to do, or it cannot be done. */
uint64_t files_repeat(struct session *session);
void files_drop_changes(struct session *session);                  /* the session is over */
void files_fail_all(struct session *session, const struct err *e); /* the session's orders */
