/* Watchers of a notebook hear of every change of it, in order. */
#pragma once

#include "base/buf.h"
#include "session/notebooks.h"

enum { WATCHING_MAX = 64 }; /* callers that watch one notebook */

struct store_cell;
struct watcher;

/* cell_added {"cell"}, cell_changed {"cell"} (without source and outputs unless they changed),
 * cell_removed {"cell_id"}, cell_moved {"cell_id","index"}, output {"cell_id","output"}
 * or {"cell_id","stream","text"}, output_cleared {"cell_id"}, cells_cleared {"what"},
 * cells_undone {"after","redone"}, notebook_changed {...}, deleted {}. `json` is one object, with
 * "seq". */
struct notebook_event {
    uint64_t seq; /* of the notebook, since it is watched */
    const char *name;
    const char *json;
    size_t len;
};

typedef void (*watching_fn)(void *context, const struct notebook_event *event);

/* NULL with the error if there are too many. Events come until watching_end, `deleted` last. */
struct watcher *watching_begin(struct engine *engine, const char *id, watching_fn fn, void *context,
                               struct err *e);
void watching_end(struct watcher *watcher); /* NULL is fine */

/* ---- for the rest of the room ---------------------------------------------------------------- */

static inline bool watching_is_on(const struct live_notebook *notebook)
{
    return notebook->n_watchers > 0;
}

void watching_drop(struct live_notebook *notebook); /* watchers hear nothing more */
/* `members` is the inside of an object; may be empty. */
void watching_tell(struct live_notebook *notebook, const char *name, const struct buf *members);
void watching_tell_cell(struct live_notebook *notebook, const char *name,
                        const struct store_cell *cell);
