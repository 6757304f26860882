/* What a session explores: contexts, which are large texts that its code and its callers look into
 * without reading them, and what came of it: the research tree, the log, findings, the answer.
 *
 * A context is a blob, which never changes, so branches share it. All the rest is one JSON value,
 * `state`, that is replaced by another and never changed: checkpoints keep it as a list of blobs (a
 * manifest, as that of the workspace), so it goes back, and comes back, with the session.
 *
 *   state: {"contexts": {NAME: {"hash","bytes","chars","lines"}}, "tree", "log", "findings",
 *           "final": {"answer"}|{"stuck"}|absent,
 *           "spills": [{"name","hash","bytes","chars","lines"}], the oldest first: see spill.h} */
#pragma once

#include "base/list.h"
#include "blob/blob.h"
#include "session/timeline.h"

#include <jansson.h>

struct exploring_order;
struct explore_worker;
struct session;

enum {
    EXPLORING_CONTEXTS_MAX = 32,  /* of a session */
    EXPLORING_NAME_MAX = 64,      /* bytes of a context's name */
    EXPLORING_FINDINGS_MAX = 200, /* of a session */
    EXPLORING_ORDERS_MAX = 16,    /* of a session at a time */
    EXPLORING_LIMIT_MS = 20000,   /* for a question */
    EXPLORING_OPEN_MS = 120000,   /* of counting the characters of a new context */
    EXPLORING_SPILLS_MAX = 32,    /* of a session, */
    EXPLORING_DIR_MAX = 64,       /* bytes of the name of the folder that they are seen in */
    EXPLORING_SPILL_PATH_SIZE = EXPLORING_DIR_MAX + 64,
};
#define EXPLORING_SPILLS_BYTES ((uint64_t)256 << 20) /* and of all of them */
#define EXPLORING_CONTEXT "context" /* the name of the context that is meant if none is named */

struct exploring {
    bool is_on;                     /* code has the functions */
    bool has_changed;               /* `state`, since it was kept */
    json_t *state;                  /* NULL if nothing was explored */
    char kept[TIMELINE_HASH_SIZE];  /* the manifest of `state` as the store has it; "": none */
    char begun[TIMELINE_HASH_SIZE]; /* likewise at the beginning of the session */
    struct explore_worker *worker;  /* NULL before the first question */
    uint64_t final_exec;            /* the cell that said `final`; 0: none did */
    struct list orders;             /* of struct exploring_order, under way */
};

/* What the cell with this number said of the task's end; NULL if it said nothing. */
static inline const json_t *exploring_final_of(const struct exploring *x, uint64_t exec_id)
{
    return x->final_exec == exec_id ? json_object_get(x->state, "final") : NULL;
}

/* Where the text is that a question is about. */
struct explore_place {
    const char *context; /* by its name; NULL if `file_path` says it */
    /* Below /workspace, or an output that is a file; NULL, as `context`: the context "context". */
    const char *file_path;
    const char *hash;   /* a blob that the caller has put; NULL if one of those above says it */
    const json_t *text; /* or the text itself; NULL if it is not given */
    const char *member; /* the file in the archive that the text is; NULL if it is the text */
    /* A page of the web that is to be fetched; NULL if there is none. From these domains only. */
    const char *url;
    const char *const *domains;
    size_t n_domains;
};

struct explore_listener {
    void (*on_done)(void *context, json_t *result); /* borrowed */
    void (*on_failed)(void *context, const struct err *e);
};

/* Asks the session's worker about a text: `request` is as explore/worker.h has it, without the
 * source, and taken. Or asks a box about an archive or the web:
 *   {"op":"archive_list","inside"}, {"op":"archive_search","query","max_results"} -> archive.h
 *   {"op":"archive_unpack","to"} -> {"files","folders","left_out"}, which are in the workspace then
 *   {"op":"fetch","max_chars","body"?,"headers"?} -> fetch.h
 * A PDF is its text. The listener is called later from the loop. NULL with the error. */
struct exploring_order *session_explore(struct session *session, const struct explore_place *place,
                                        json_t *request, const struct explore_listener *listener,
                                        void *context, struct err *e);
/* Makes the text of a place a context of this name, in place of an earlier one. The result is
 * what `state` has of it. */
struct exploring_order *session_load_context(struct session *session, const char *name,
                                             const struct explore_place *place,
                                             const struct explore_listener *listener, void *context,
                                             struct err *e);
void exploring_forget(struct exploring_order *order); /* the caller went away */

bool exploring_is_name(const char *name); /* fit for a context */
/* What is known of a context; NULL, with the error, if there is none of this name. */
const json_t *exploring_context(const struct session *session, const char *name, struct err *e);
int exploring_drop_context(struct session *session, const char *name, struct err *e);

/* An output that was too long for an answer: the session has it from now on. Takes the entry and
 * returns those that are gone for it, an array; NULL if there are none. */
json_t *exploring_add_spill(struct session *session, json_t *entry);
/* As it is called by functions: "/spill/turn_3.txt". */
void exploring_spill_path(const struct session *session, const json_t *entry,
                          char ret[EXPLORING_SPILL_PATH_SIZE]);
/* Whether the path is in the folder of such outputs; then `ret` is the output, or NULL with the
 * error if there is none of this name. */
bool exploring_find_spill(const struct session *session, const char *path, const json_t **ret,
                          struct err *e);

/* Credentials in what it shows are replaced (redact.h): of sessions that explore, or of all. */
bool exploring_redacts(const struct session *session);

/* A member of the state; NULL if there is none. */
const json_t *exploring_get(const struct session *session, const char *member);
/* Replaces it; `value` is taken. NULL removes it. */
void exploring_set(struct session *session, const char *member, json_t *value);
/* A function was called, and found `content`: it goes into the research tree and the log. */
void exploring_note(struct session *session, const char *tool, const char *query,
                    const char *content, size_t len);
/* The task has its answer, or none: `final` is taken, and shown as all that the session shows. */
void exploring_conclude(struct session *session, json_t *final);
/* Nothing was explored; contexts and outputs that are files stay. */
void exploring_reset(struct session *session);

/* ---- for the rest of the room ---------------------------------------------------------------- */

void exploring_init(struct session *session);
void exploring_free(struct session *session); /* no caller waits for an answer any more */
void exploring_put_context(struct session *session, const char *name, json_t *context);
void texts_end_all(struct session *session); /* callers that ask about texts are told */
/* Keeps the state, if it has changed, and returns the name of what was kept; "": there is none. */
const char *exploring_keep(struct session *session);
/* The session has gone to a state that was kept. */
void exploring_go_to(struct session *session, const char *kept);
