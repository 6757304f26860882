/* What the files of a timeline share. timeline.c has the tree, timeline_take.c makes checkpoints,
 * timeline_census.c measures them. */
#pragma once

#include "session/session.h"

/* ---- the tree -------------------------------------------------------------------------------- */

/* One of the present state, from which the session goes on. */
struct checkpoint *timeline_add(struct session *session);
bool timeline_shares_files(const struct session *session); /* with sessions that joined it */
/* The newest checkpoint has been forked: a cell that was sent meanwhile begins only now. */
void timeline_on_cost(struct session *session);
/* Its children become those of its parent, and its cells theirs. */
void timeline_remove(struct checkpoint *checkpoint);
/* Its process ends; if its state is not saved either, it is removed. */
void timeline_end_process(struct checkpoint *checkpoint, const char *why);
/* `parent`, NULL for the beginning, is an ancestor: whether there were others between the beginning
 * and the checkpoint. */
bool timeline_is_cut_off(const struct checkpoint *checkpoint, const struct checkpoint *parent);

/* ---- lists of cells -------------------------------------------------------------------------- */

void timeline_cells_add(struct timeline_cells *cells, const uint64_t *ids, size_t n);
/* All after `from` (NULL: the beginning), an ancestor, up to `to`. The caller frees them. */
struct timeline_cells timeline_cells_between(const struct checkpoint *from,
                                             const struct checkpoint *to);
/* The store removes files that nobody needs: it is told which ones memory alone knows. */
void timeline_hold_files(struct session *session, char held[TIMELINE_HASH_SIZE],
                         const char *manifest);

/* ---- the census ------------------------------------------------------------------------------ */

void timeline_on_measured(struct snapshot *snapshot, uint64_t bytes);
void timeline_end_censuses(struct session *session); /* with what is known by now */
