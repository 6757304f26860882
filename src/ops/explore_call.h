/* What the operations that explore share: where the text is that they are about, the wait for the
 * session's worker, the note in the research tree. */
#pragma once

#include "ops/ops.h"
#include "policy/config.h"
#include "session/exploring.h"

/* Of a text that is divided. */
enum { CHUNKS_DEFAULT = 4, CHUNKS_MAX = 20, CHUNKS_OVERLAP = 200, CHUNKS_OVERLAP_MAX = 100000 };

#define OP_PARAM_CONTEXT                                                                           \
    {                                                                                              \
        .name = "context", .type = OP_TEXT, .min = 1, .max = EXPLORING_NAME_MAX,                   \
        .doc = "The context by its name; default: the one called context."                         \
    }
#define OP_PARAM_TEXT_FILE                                                                         \
    {                                                                                              \
        .name = "file_path", .type = OP_TEXT, .min = 1, .max = 1024,                               \
        .doc = "Instead of a context: a file below /workspace."                                    \
    }
/* Of code that looks into a context by itself. */
#define OP_PARAM_QUIET                                                                             \
    {                                                                                              \
        .name = "quiet", .type = OP_BOOL,                                                          \
        .doc = "Leaves the call out of the research tree and the log."                             \
    }
#define OP_PARAM_TOON                                                                              \
    {                                                                                              \
        .name = "toon", .type = OP_BOOL, .doc = "Adds the answer as TOON, where that is shorter."  \
    }

extern const struct op_shape shape_peek; /* explore_peek.c */

/* Asks the session's worker about the text that the call names; `request` is taken. The listener's
 * context is the call; explore_call_failed is its on_failed. */
void explore_call_ask(struct call *call, json_t *request, const struct explore_listener *listener);
void explore_call_failed(void *context, const struct err *e);
/* Pages of which domains the session's agent may fetch. */
void explore_call_allow(struct call *call, const struct session *session,
                        struct explore_place *place);
const struct config_explore *explore_call_settings(const struct call *call);
/* The call's session, which lives; NULL if there is none, and then the call was answered. */
struct session *explore_call_session(struct call *call);
/* A path as code in a session writes it, as the archivist takes it: below /workspace. */
const char *explore_call_path(const char *path);
/* Puts the call of a function into the research tree, unless it is quiet. */
void explore_call_note(struct call *call, struct session *session, const char *tool,
                       const char *query, const char *content, size_t len);
/* The task has its answer, or none: remembers how it was explored, if the task is known, and
 * answers the call (explore_memory.c). */
void explore_memory_conclude(struct call *call, struct session *session);
/* The text that is meant, as functions name it: ", file_path='log.txt'", or nothing. In the arena
 * of the call. */
const char *explore_call_place(struct call *call);
/* What the text of an answer leaves out becomes its member "note", a line as that of grep. */
void explore_call_note_rest(json_t *told, uint64_t chars_before);
/* Answers with `told`, which is taken; as TOON besides if the call wants that. */
void explore_call_reply(struct call *call, int http_status, json_t *told);
