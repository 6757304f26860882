/* Documents and the store: notebooks become documents (export.c), documents become notebooks
 * (import.c), and cells.json on disk follows what changes (mirror.c). Callbacks come from the loop,
 * never from within the call. */
#pragma once

#include "base/map.h"
#include "notebook/model.h"
#include "session/task.h"

struct documents_config {
    bool has_cells_json; /* keeps workspaces/USER/SESSION/mcp_repl/cells.json current */
    int data_dir;        /* descriptor of the directory where those lie; borrowed */
};

/* Files that are to be written; mirror.c. */
struct mirrors {
    struct map by_id;
    struct list due;
    bool is_busy; /* one of them is at work */
};

struct documents {
    struct engine *engine;
    struct documents_config config;
    struct tasks tasks;
    struct list asked_for; /* of struct export_task: documents that wait for their turn */
    unsigned n_documents;  /* in memory, or being collected */
    struct mirrors mirrors;
};

/* The engine has its store. */
struct documents *documents_new(struct engine *engine, const struct documents_config *config);
void documents_reconfigure(struct documents *documents, bool has_cells_json);
void documents_free(struct documents *documents); /* before the engine is freed. NULL is fine */

/* The document is the caller's, which calls documents_done once it is freed. Images are data; what
 * is too large for a document is an error. Documents may be large: of all that are asked for at
 * once only a few are in memory, the others wait. */
typedef void (*documents_read_fn)(void *context, struct document *doc, const struct err *e);
struct task *documents_read(struct documents *documents, const char *id, documents_read_fn fn,
                            void *context);
void documents_done(struct documents *documents); /* the next one's turn; NULL is fine */

typedef void (*documents_imported_fn)(void *context, const char *id, uint64_t n_cells,
                                      const struct err *e);
/* A new notebook, without a session. `spec` is what its session will be made of (session/spec.h).
 * The document stays the caller's and is not needed any more when this returns. */
struct task *documents_import(struct documents *documents, const struct document *doc,
                              const char *spec, const char *user, documents_imported_fn fn,
                              void *context);

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* As documents_read; images are data up to that many bytes of them, the others have a
 * "resource_uri". */
struct task *documents_read_within(struct documents *documents, const char *id,
                                   uint64_t max_image_bytes, documents_read_fn fn, void *context);
uint64_t documents_time(const char *text); /* milliseconds; 0 if it is not written like one */

/* cells.json is to be written soon; or removed, if the notebook is gone. */
void mirrors_changed(void *documents, const char *id);
/* The same for all files that are not as the store has the notebooks. */
void mirrors_compare(struct documents *documents);
