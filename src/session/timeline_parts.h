/* What the files of a timeline share. timeline.c has the tree, timeline_take.c makes checkpoints,
 * timeline_census.c measures them. */
#pragma once

#include "session/session.h"

/* ---- the tree -------------------------------------------------------------------------------- */

/* One of the present state, from which the session goes on. */
struct checkpoint *timeline_add(struct session *session);
/* Its children become those of its parent, and its cells theirs. */
void timeline_remove(struct checkpoint *checkpoint);
/* The store removes files that nobody needs: it is told which ones memory alone knows. */
void timeline_hold_files(struct session *session, char held[TIMELINE_HASH_SIZE],
                         const char *manifest);

/* ---- the census ------------------------------------------------------------------------------ */

void timeline_on_measured(struct snapshot *snapshot, uint64_t bytes);
void timeline_end_censuses(struct session *session); /* with what is known by now */
