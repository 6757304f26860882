/* Searching the files of a session by what they say, as they are at this moment: the archivist
 * records them, which gives a list of names and hashes, and the index follows the list (search/
 * library.h). So undo, branches and restarts need nothing of it, and no file of a workspace is
 * opened but by the archivist. */
#pragma once

#include "base/list.h"
#include "search/library.h"

struct searching_order;
struct session;

enum { SEARCHING_ORDERS_MAX = 16 }; /* of a session at a time */

struct searching {
    struct search_library *library; /* NULL before the first question */
    struct list orders;             /* of struct searching_order, under way */
};

/* `question`: without the list. A suspended session comes back for it. The callback comes later
 * from the loop. NULL with the error. */
struct searching_order *session_search(struct session *session,
                                       const struct search_question *question, search_fn fn,
                                       void *context, struct err *e);
void searching_forget(struct searching_order *o); /* the caller went away; takes NULL */

/* ---- for the rest of the room ---------------------------------------------------------------- */

void searching_init(struct session *session);
void searching_end_all(struct session *session); /* whoever waits is told */
void searching_free(struct session *session);    /* the index goes with the session */
