/* What the operations on notebooks share. A notebook has the id of its session, which may be gone.
 */
#pragma once

#include "notebook/documents.h"
#include "ops/ops.h"
#include "session/cell_json.h"
#include "session/changes.h"
#include "session/notebooks.h"
#include "session/runs.h"
#include "session/watching.h"

enum {
    NOTEBOOK_TITLE_MAX = 1024,
    NOTEBOOK_METADATA_MAX = 256 * 1024, /* bytes, written as JSON; of a notebook or a cell */
    NOTEBOOK_SOURCE_MAX = 1024 * 1024,
};

#define OP_PARAM_NOTEBOOK                                                                          \
    {                                                                                              \
        .name = "session_id", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1, \
        .max = UUID_SIZE - 1, .means = OP_MEANS_NOTEBOOK,                                          \
        .doc = "The notebook, by the id that it shares with its session."                          \
    }
#define OP_PARAM_CELL                                                                              \
    {                                                                                              \
        .name = "cell", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1,       \
        .max = CELL_ID_MAX,                                                                        \
        .doc = "The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose "  \
               "last run had the number 3."                                                        \
    }
#define OP_PARAM_TITLE                                                                             \
    {                                                                                              \
        .name = "title", .type = OP_TEXT, .max = NOTEBOOK_TITLE_MAX, .doc = "What to call it."     \
    }
#define OP_PARAM_METADATA                                                                          \
    {                                                                                              \
        .name = "metadata", .type = OP_FREE,                                                       \
        .doc = "An object of the caller's own, up to 256 KiB; it replaces the one before."         \
    }
#define OP_PARAM_KIND                                                                              \
    {                                                                                              \
        .name = "kind", .type = OP_CHOICE, .choices = notebook_kinds,                              \
        .doc = "code (the default), markdown or raw."                                              \
    }
extern const char *const notebook_kinds[]; /* by enum cell_kind */

/* False if the call was answered with the error: nothing is kept here. */
bool call_has_notebooks(struct call *call);
/* Its session if it has one that may be known, dead or alive; else NULL. */
struct session *notebook_session(const struct call *call, const char *id);
/* The row that a notebook will have, whose session has not written anything into it yet. */
struct store_notebook notebook_unwritten(const struct session *session);

int notebook_kind(const struct call *call, int fallback);
int notebook_kind_of(const char *given, int fallback); /* NULL is the fallback */
/* The text of "metadata", in the call's arena; NULL with no error: it was not given. */
int notebook_metadata(struct call *call, const char **ret_text, struct err *e);
/* The same for a list of cells. */
int notebook_metadata_of(struct call *call, const json_t *object, const char **ret_text,
                         struct err *e);

/* The members of a notebook that lists have, and that documents begin with. `session` is NULL if it
 * has none. */
void notebook_put(struct json_out *json, const struct store_notebook *notebook,
                  const struct session *session);
/* Answers with the notebook, as far as it is known without its cells; members may follow. */
void reply_notebook(struct call *call, int http_status, const struct store_notebook *row);
/* Applies the change and answers with the cell and how many there are. */
void change_call(struct call *call, const struct store_change *change, int http_status);

/* ---- running --------------------------------------------------------------------------------- */

/* Runs the cell as the call's arguments say (EXEC_PARAM_...), and answers as session.exec does. */
void run_call_begin(struct call *call, const char *cell);
