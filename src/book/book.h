/* book: the live notebooks of sessions. Promises: whatever runs in a listed session becomes a cell
 * of the notebook with the session's id, in the order in which it was asked for; changes by several
 * callers are applied one after another; whoever watches hears of each of them. Owns what is in
 * memory of a notebook: how many cells it has, who watches it, and what running cells have written.
 * The cells themselves are rows of the store. May call session, store, notebook and what lies
 * below.
 *
 * All callbacks come from the loop, never from within the call. */
#pragma once

#include "base/err.h"
#include "notebook/model.h"
#include "session/exec.h"
#include "store/notebooks.h"

typedef struct uv_loop_s uv_loop_t;
struct book_call;
struct books;
struct json_out;
struct store_cell;
struct store_change;
struct store_notebook;

enum {
    BOOK_CELL_ID_MAX = 64, /* of A-Z a-z 0-9 - _ */
    BOOK_CELL_ID_SIZE = BOOK_CELL_ID_MAX + 1,
    BOOK_WATCHERS_MAX = 64, /* of one notebook */
};

struct books_config {
    uint64_t max_cells;       /* of one notebook; what runs beyond that is not recorded */
    uint32_t max_output_kb;   /* of stream text in one cell */
    uint32_t max_pictures_mb; /* of one notebook; its session's disk_mb if that is less */
    uint32_t ttl_days;        /* of notebooks whose session is gone; 0: for ever */
    bool has_cells_json;      /* keeps workspaces/USER/SESSION/mcp_repl/cells.json current */
    int data_dir;             /* descriptor of the directory where those lie; borrowed */
};

/* Records what `engine` runs from now on, into its store, which has to be there. To be called
 * before the first session runs a cell. */
int books_new(struct engine *engine, const struct books_config *config, uv_loop_t *loop,
              struct books **ret_books, struct err *e);
void books_reconfigure(struct books *books, const struct books_config *config);
/* Writes down what is running; nothing is recorded afterwards. Before engine_stop, whose ends would
 * otherwise be recorded (that is allowed too). NULL is fine. */
void books_free(struct books *books);

/* The callback of this call will not come; what was asked for may still happen. Legal until the
 * callback was called. NULL is fine. */
void book_forget(struct book_call *call);

/* What running cells have written so far becomes part of their rows. To be called before the store
 * is asked for cells that somebody wants to see. */
void book_flush(struct books *books, const char *id);

/* True if it is written like a cell's id. */
bool book_is_cell_id(const char *id, size_t len);

/* ---- reading -----------------------------------------------------------------------------------
 */

/* The cell as the API has it: one object. Without outputs "outputs" is left out. */
void book_put_cell(struct json_out *json, const char *notebook, const struct store_cell *cell,
                   bool with_outputs);
/* The members of a notebook that lists have, and that documents begin with. */
void book_put_notebook(struct json_out *json, const struct store_notebook *notebook,
                       const struct session *session);

/* ---- changing ----------------------------------------------------------------------------------
 */

/* `now` is the cell as it is after the change, without source and outputs; NULL if the change was
 * about all of them. */
typedef void (*book_changed_fn)(void *context, const struct store_cell *now, uint64_t n_cells,
                                const struct err *e);

/* As store_change_cells, with the configured number of cells. Watchers are told. A cell that runs
 * may be changed too: its run goes on, and what that brings is added to whatever the cell is then;
 * nothing, if it was removed. */
struct book_call *book_change(struct books *books, const char *id,
                              const struct store_change *change, book_changed_fn fn, void *context);

/* NULL: stays as it is. `metadata` is a JSON object. */
struct book_call *book_describe(struct books *books, const char *id, const char *title,
                                const char *metadata, store_done_fn fn, void *context);
/* With all its cells. Its session, if it has one, lives on and begins a new notebook with its next
 * cell. `fn` may be NULL. */
struct book_call *book_delete(struct books *books, const char *id, store_done_fn fn, void *context);

/* ---- running -----------------------------------------------------------------------------------
 */

/* The cell was handed to its session, or `e` says why not. `exec` is what the request's waiter
 * waits for; NULL if its listener was answered already. */
typedef void (*book_run_fn)(void *context, struct exec *exec, const struct err *e);

/* Runs a cell by its id or number. Code and cell of the request are set here. A notebook without a
 * session gets one of the same id, without state. If `session_exec` fails, so does this. */
struct book_call *book_run(struct books *books, const char *id, const char *cell,
                           const struct exec_request *request, book_run_fn fn, void *context);

struct book_range {
    const char *from, *to; /* ids or numbers; NULL: the first, the last */
    bool goes_on;          /* after a cell that failed */
    bool cancels;          /* book_forget interrupts the cell that runs, and no other begins */
    uint32_t timeout_ms;   /* of each */
};

/* How a cell of a range ended. */
struct book_ran {
    const char *cell;
    uint64_t number; /* of the run; 0 if it did not begin */
    uint64_t index;
    const char *state;
    int last_status; /* of a shell's last command; -1 if the cell has none */
    int exit_code;   /* that the cell left with; -1 if it did not leave */
};

struct book_range_listener {
    void (*on_cell)(void *context, const struct book_ran *ran);
    /* `failed` is the id of the first that failed and was not meant to; NULL if none did. */
    void (*on_end)(void *context, uint64_t n_ran, const char *failed, const struct err *e);
};

/* Runs the code cells of a range one after another. A cell has failed if it did not complete, or if
 * the last command of a shell did not; one that has the tag "raises-exception" may. A cell that
 * leaves with 0 is the last. Who forgets it lets no further cell begin. */
struct book_call *book_run_range(struct books *books, const char *id,
                                 const struct book_range *range,
                                 const struct book_range_listener *listener, void *context);

/* ---- watching ----------------------------------------------------------------------------------
 */

/* cell_added {"cell"}, cell_changed {"cell"} (without code and outputs unless they changed),
 * cell_removed {"cell_id"}, cell_moved {"cell_id","index"}, output {"cell_id","output"} or
 * {"cell_id","stream","text"}, output_cleared {"cell_id"}, cells_cleared {"what"},
 * cells_undone {"after","redone"}, notebook_changed {...}, deleted {}. `json` is one object, with
 * "seq". */
struct book_event {
    uint64_t seq; /* of the notebook, since somebody watches it */
    const char *name;
    const char *json;
    size_t len;
};

struct book_watcher;
typedef void (*book_event_fn)(void *context, const struct book_event *event);

/* NULL with the error if there are too many. Events come until book_unwatch, `deleted` last. */
struct book_watcher *book_watch(struct books *books, const char *id, book_event_fn fn,
                                void *context, struct err *e);
void book_unwatch(struct book_watcher *watcher);

/* ---- documents ---------------------------------------------------------------------------------
 */

/* The document is yours; say book_document_done once it is freed. Images are data; what is too
 * large for a document is an error. Documents may be large: of all that are asked for at once only
 * a few are in memory, the others wait. */
typedef void (*book_document_fn)(void *context, struct document *doc, const struct err *e);
struct book_call *book_document(struct books *books, const char *id, book_document_fn fn,
                                void *context);
void book_document_done(struct books *books); /* the next one's turn; NULL is fine */

typedef void (*book_imported_fn)(void *context, const char *id, uint64_t n_cells,
                                 const struct err *e);
/* A new notebook, without a session. `spec` is what its session will be made of (spec.h). The
 * document stays yours and is not needed any more when this returns. */
struct book_call *book_import(struct books *books, const struct document *doc, const char *spec,
                              const char *user, book_imported_fn fn, void *context);
