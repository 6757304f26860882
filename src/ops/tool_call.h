/* What the tools share: operations that models call. A tool finds its caller's session, does its
 * work itself or becomes another operation of the table, whose answer it then puts into words, and
 * answers with a tool_result: MCP's content. */
#pragma once

#include "ops/exec_text.h"
#include "ops/ops.h"

enum {
    TOOL_NAME_MAX = 64,            /* of a session: a name, or an id */
    TOOL_TEXT_MAX = 8 * 1024,      /* bytes of what a model reads in one answer, if not told */
    TOOL_TOKENS_MAX = 1024 * 1024, /* that a caller may ask for */
    TOOL_TOKEN_BYTES = 3,          /* of output, on the safe side */
    TOOL_IMAGE_MAX = 1024 * 1024,  /* bytes of a picture as base64 */
    TOOL_IMAGE_SIDE = 1024,        /* pixels of one that was larger than that; or half of them */
    TOOL_YIELD_MS = 25 * 1000,     /* less than clients wait for an answer */
    TOOL_SESSIONS_MAX = 1000,      /* default ones of a language that an agent's callers have */
};

/* What a call goes on with once the operation that it became has answered: it says something
 * (tool_reply_text) or becomes another one. */
typedef void (*tool_answer_fn)(struct call *call, const json_t *answer);
/* Likewise with the bytes that such an operation sent, of `total`. They may be taken out of
 * `bytes`.
 */
typedef void (*tool_bytes_fn)(struct call *call, struct buf *bytes, uint64_t total);

/* In the call's arena. */
struct tool_call {
    const struct op *op;          /* the tool, whatever operation the call has become */
    const struct call_sink *sink; /* the surface's */
    bool is_whole;            /* the surface has tools only: a failure is a tool's answer, too */
    bool cancels;             /* code is interrupted if the client goes away */
    const char *session;      /* as the caller named it; NULL if it was not named */
    uint64_t budget;          /* bytes of output that it asked for; 0: it did not */
    const char *made;         /* the name of a session that was made for the call; NULL if none */
    bool is_error;            /* the words tell of something that failed */
    tool_answer_fn on_answer; /* of the operation that the call became; NULL if it is the tool */
    tool_bytes_fn on_bytes;   /* likewise; NULL if the operation sends none */
    size_t bytes_max;         /* of them are read */
    int64_t offset;           /* where what is read begins */
    const char *search;       /* what is looked for; NULL if nothing */
    const char *body;         /* for an operation that takes bytes: call->body_bytes of them */
    struct tool_answer *kept; /* that waits for a smaller picture; NULL if none does */
    bool has_sent_body;
};

struct tool_answer;

/* Runs an operation of some toolset for a surface of tools: whatever happens, the call is answered
 * by `reply` with a tool_result, and never by `fail`. A surface that ends what its client cancels
 * adds "on_disconnect": "cancel" to the checked arguments. */
void tool_run(struct call *call);

/* `prepare` of the tools. The first finds the session: the one that is named, else the default one
 * of the caller that was used last, of the call's "language" if it has one. */
void tool_prepare(struct call *call);
typedef bool (*tool_fits_fn)(const struct session *session);
void tool_prepare_fitting(struct call *call, tool_fits_fn fits); /* one that fits goes before */
void tool_prepare_plain(struct call *call); /* no session of the caller's is meant */

/* Goes on with the session that was found, or with one that is made: under the name that the caller
 * gave, else as its default one. */
typedef void (*tool_session_fn)(struct call *call, struct session *session);
void tool_session(struct call *call, tool_session_fn fn);
bool tool_makes_session(const struct call *call); /* there is none yet */
/* Labels that make a session a default one of the caller, or that take this from it. */
json_t *tool_labels(const struct call *call, bool is_default);
/* A name like this one that no other session of the agent has: python, python-2 …; NULL with the
 * error. */
const char *tool_new_name(struct call *call, const char *base, struct err *e);
/* The session that was found; NULL if the call was answered with the error. */
struct session *tool_found(struct call *call);

/* The call becomes this operation, with these arguments, which are taken. */
void tool_become(struct call *call, const struct op *op, json_t *args, tool_answer_fn fn);
/* The body of an operation that takes bytes, which the call is about to become. */
void tool_give_body(struct call *call, const struct buf *bytes);
/* The bytes of a file that an operation sends, as far as the tool wants them. */
void tool_read(struct call *call, const struct call_file *file);

/* Answers. A text that is empty is "ok"; a session that was made is told of. */
void tool_reply_cell(struct call *call, const struct exec_result *result);
void tool_reply_text(struct call *call, const struct buf *text);
void tool_reply_picture(struct call *call, const char *type, const struct buf *bytes);
int tool_fail(struct call *call, const char *message, const char *advice); /* ERR_INVALID; -1 */
void tool_begin_line(struct buf *out);
void tool_reply_kept(struct call *call); /* without the picture that it waits for */
/* The answer that follows is the tool's own. */
void tool_leave(struct call *call);
/* What a session is called among the tools of the set: "session", or "notebook", which has its id.
 */
const char *tool_place(const struct call *call);
/* What several tools say: files of session.file_list; all that a cell showed, as one text. */
void tool_say_files(struct call *call, const json_t *answer);
void tool_put_outputs(struct buf *out, const json_t *outputs);
/* A path as operations on files take it: models write it as their code sees it. */
const char *tool_path(const char *path);
/* Bytes of text that an answer may have which is not a cell's. */
size_t tool_text_max(const struct call *call);

extern const struct op_shape shape_tool_result;

/* Of tools that have a notebook instead of a session. */
#define TOOL_PARAM_NOTEBOOK                                                                        \
    {                                                                                              \
        .name = "notebook", .type = OP_TEXT, .is_nullable = true, .min = 1, .max = TOOL_NAME_MAX,  \
        .means = OP_MEANS_NOTEBOOK, .doc = "Name; default: yours."                                 \
    }
#define TOOL_PARAM_SESSION                                                                         \
    {                                                                                              \
        .name = "session", .type = OP_TEXT, .is_nullable = true, .min = 1, .max = TOOL_NAME_MAX,   \
        .means = OP_MEANS_SESSION, .doc = "Name; default: yours."                                  \
    }
#define TOOL_PARAM_TOKENS                                                                          \
    {                                                                                              \
        .name = "max_tokens", .type = OP_INT, .is_nullable = true, .min = 1,                       \
        .max = TOOL_TOKENS_MAX, .doc = "Of output."                                                \
    }
#define TOOL_PARAM_YIELD                                                                           \
    {                                                                                              \
        .name = "yield_ms", .type = OP_INT, .is_nullable = true, .max = EXEC_YIELD_MAX_MS,         \
        .doc = "Answer by then, default 25000; wait() goes on."                                    \
    }
