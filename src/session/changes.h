/* Changes of notebooks by callers: handed to the store, whose one thread puts them into an order.
 * What is known here of cells that run follows, and watchers are told. Callbacks come from the
 * loop, never from within the call. */
#pragma once

#include "session/task.h"
#include "store/notebooks.h"

/* `now` is the cell as it is after the change, without source and outputs; NULL if the change was
 * about all of them. */
typedef void (*changes_fn)(void *context, const struct store_cell *now, uint64_t n_cells,
                           const struct err *e);

/* As store_change_cells, with the configured number of cells. A cell that runs may be changed too:
 * its run goes on, and what that brings is added to whatever the cell is then; nothing, if it was
 * removed. */
struct task *changes_make(struct engine *engine, const char *id, const struct store_change *change,
                          changes_fn fn, void *context);
/* The notebook itself. What is NULL stays as it is. `metadata` is a JSON object. */
struct task *changes_describe(struct engine *engine, const char *id, const char *title,
                              const char *metadata, store_done_fn fn, void *context);
/* With all its cells. Its session, if it has one, lives on and begins a new notebook with its next
 * cell. `fn` may be NULL. */
struct task *changes_delete(struct engine *engine, const char *id, store_done_fn fn, void *context);
