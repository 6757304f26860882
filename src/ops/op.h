/* ops: one file for each operation, written once and offered by every surface from the table below:
 * routes, checks of arguments, /openapi.json, the pages docs/API.md and docs/ERRORS.md, verbs of
 * the command line with their help, the manual and the completions. Promises: arguments have passed
 * their schema before run() sees them; an answer has the members that its shape declares and no
 * others (the tests hold every answer against it). May call notebook, policy, session and what
 * lies below them. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

struct agents_grant;
struct documents;
struct engine;
struct image_boxes;
struct policy;
struct session;
struct terminal_request;
struct tool_call;
struct toolbox_chain;

enum op_param_type {
    OP_TEXT,
    OP_INT,
    OP_BOOL,
    OP_CHOICE,
    OP_OBJECT,
    OP_TEXTS,
    OP_LIST,      /* an array of objects, each with `members` */
    OP_FREE,      /* an object of the caller's own; the operation bounds what it keeps of it */
    OP_FILE,      /* a text, or an object that such a text would hold */
    OP_TEXT_LIST, /* an array of texts */
    OP_ANY,       /* whatever the code or the caller made it */
    /* In answers only. */
    OP_NUMBER,   /* perhaps with a fraction */
    OP_TIME,     /* a text: RFC 3339 in UTC */
    OP_SIZE,     /* a number of bytes */
    OP_INT_LIST, /* an array of whole numbers */
};
enum op_param_place { OP_IN_BODY, OP_IN_PATH, OP_IN_QUERY };

/* What a parameter is to the gate, which asks this and never a name: whose things the call is about
 * and how much it asks for. */
enum op_meaning {
    OP_MEANS_NOTHING,
    OP_MEANS_SESSION,  /* the session that the call is about */
    OP_MEANS_NOTEBOOK, /* likewise a notebook; its session may be gone */
    OP_MEANS_JOINED,   /* a session whose sandbox is shared: of the same agent only */
    OP_MEANS_STATE,    /* a state by its name, of which each agent has its own */
    OP_MEANS_FILE,     /* a file that a run left */
    OP_MEANS_AGENT,    /* the agent that the call is about */
    OP_MEANS_SPEAKER,  /* the agent that the call speaks for */
    OP_MEANS_BINDING,
    OP_MEANS_RUNTIME,
    OP_MEANS_SESSIONS, /* how many are made */
    OP_MEANS_TIMEOUT,  /* of a cell, in ms */
    OP_MEANS_BUDGET,   /* bytes of output in the answer */
    OP_MEANS_LIMITS,   /* an object of session_limits */
    OP_MEANINGS,       /* how many there are */
};
extern const char *const op_meanings[OP_MEANINGS]; /* their names; NULL if none */

/* How a number is written in the command line. */
enum op_unit {
    OP_PLAIN,
    OP_MS,   /* 500ms, 30s, 2m; the flag has the name without "_ms" */
    OP_SECS, /* likewise without "_secs" */
    OP_SIZED /* 65536, 64k, 1m */
};

struct op_param {
    const char *name; /* NULL ends the list */
    enum op_param_type type;
    enum op_param_place place;
    enum op_meaning means;
    bool is_required;
    bool is_nullable; /* null says the same as leaving it out */
    int64_t min, max; /* INT: the range. TEXT, FILE: length in bytes, more is a 413. TEXTS,
                         LIST: entries */
    const char *const *choices;     /* CHOICE: NULL-terminated */
    const struct op_param *members; /* OBJECT, LIST */
    const char *doc;
    char letter; /* of its flag in the command line; 0: none */
    enum op_unit unit;
    bool is_untold; /* of a tool: models are not told of it */
};

/* ---- answers --------------------------------------------------------------------------------- */

struct op_shape;

/* A member of an answer. */
struct op_member {
    const char *name; /* NULL ends the list */
    enum op_param_type type;
    bool is_always; /* every such answer has it */
    bool is_nullable;
    const struct op_shape *shape; /* OBJECT: the object; LIST: each of its entries */
    const char *const *choices;   /* CHOICE, TEXT: NULL-terminated */
    const char *column; /* its heading where people are shown a table; NULL if it is not shown */
    const char *doc;
};

/* An object of an answer. Several operations may share one. */
struct op_shape {
    const char *name; /* "session": unique among all shapes */
    const struct op_member *members;
    const char *doc;
};

/* An event of a stream. The last one of each stream is "result", with the operation's result, or
 * "error". */
struct op_event {
    const char *name; /* NULL ends the list */
    const struct op_shape *shape;
    const char *doc;
};

/* ---- the command line ------------------------------------------------------------------------ */

/* How the command line tool offers an operation: `cella WORDS TAKES...`, every parameter that is
 * not among `takes` being a flag. */
struct op_verb {
    const char *words; /* "undo", "notebook move" */
    /* Parameters that are given by their place, in this order. The first ones are required; one
     * whose name ends in "?" may be left out, and "..." stands for one that may be given again,
     * each being a call of its own. */
    const char *const *takes; /* NULL-terminated; NULL if none */
    const char *summary;      /* a line of `cella --help` */
    const char *about;    /* a paragraph of `cella WORDS --help`; NULL for the operation's doc */
    const char *examples; /* command lines, one below the other */
};

enum op_flags {
    OP_READ_ONLY = 1 << 0, /* exactly one of READ_ONLY and MUTATING */
    OP_MUTATING = 1 << 1,
    OP_STREAMS = 1 << 2,      /* offers events when the caller asks for a stream */
    OP_PUBLIC = 1 << 3,       /* needs no key */
    OP_PLANS = 1 << 4,        /* enters or leaves plan mode, and so is possible in it */
    OP_LARGE = 1 << 5,        /* its arguments may be large: a state, a notebook */
    OP_ONLY_STREAMS = 1 << 6, /* with OP_STREAMS: it has nothing but events to offer */
    OP_TAKES_BYTES = 1 << 7,  /* the body is no JSON: it comes in pieces, see call.on_body */
    OP_HAS_TAIL = 1 << 8,     /* the last parameter of its path is all that follows, with slashes */
    OP_MAKES_SESSION = 1 << 9, /* makes a session that counts among its agent's */
    OP_RUNS_CODE = 1 << 10,
    OP_NEEDS_AGENT = 1 << 11, /* the agent must be one that may use interpreters */
    OP_OWN_ONLY = 1 << 12, /* a caller without an agent speaks for the default one, not for all */
    /* Whatever follows its path, and its body, is for a server in a session; so is any method. */
    OP_TUNNELS = 1 << 13,
    OP_FROM_CODE = 1 << 14, /* the code of a cell may call it, about its own session */
};
#define OP_USES                                                                                    \
    (OP_MAKES_SESSION | OP_RUNS_CODE | OP_NEEDS_AGENT) /* what an agent must be allowed to do */

/* What a client may want to know of a tool before it lets a model call it. */
enum op_hints {
    OP_DESTROYS = 1 << 0,   /* it can destroy what was there */
    OP_REPEATABLE = 1 << 1, /* once more with the same arguments changes nothing more */
};

struct call;

/* What an operation is about: the chapters of pages that are made from the table. Whose things a
 * call is about is asked of its parameters' meanings. */
enum op_subject {
    OP_ON_NOTHING, /* not said: no operation is so */
    OP_ON_SESSION,
    OP_ON_CODE, /* run once, without a session that stays */
    OP_ON_FILES,
    OP_ON_HISTORY, /* checkpoints, branches, tries */
    OP_ON_CONTEXT, /* texts that are explored, and what came of it */
    OP_ON_TOOLBOX, /* tools that code calls */
    OP_ON_NOTEBOOK,
    OP_ON_CELL,
    OP_ON_STATE,
    OP_ON_AGENT,
    OP_ON_DAEMON,
    OP_ON_TOOLS, /* what models call: everything of theirs, in few operations */
};
extern const char *const op_subjects[]; /* their names */

#define OP_ERR(code) (1u << ERR_##code)

struct op {
    const char *name;   /* "session.exec" */
    const char *method; /* "POST" */
    const char *path;   /* "/v1/sessions/{session_id}/exec" */
    enum op_subject subject;
    unsigned flags;
    const struct op_param *params;
    const char *doc; /* one sentence, for people */
    void (*run)(struct call *call);
    const struct op_shape *result;
    const struct op_shape *other_result; /* NULL if `result` is the only one */
    const char *sends;                   /* instead of a result, bytes: what they are */
    int status;                          /* of HTTP when it succeeds; 0: 200 */
    int other_status;                    /* likewise; 0: none */
    const struct op_event *events;       /* OP_STREAMS: before the last one */
    unsigned errors;     /* OP_ERR(...) it can fail with beside those of op_errors() */
    const char *example; /* arguments of one call, as JSON. $session, $notebook, $cell and so on
                            stand for what tests/harness/stage.py makes for it. */
    const struct op_verb *verb; /* NULL if `cella call` alone has it, or a verb written by hand */
    /* A mutating operation some of whose calls only read. NULL if none of them does. */
    bool (*only_reads)(const struct call *call);
    /* Which of its OP_USES this call will do. NULL for all of them. */
    unsigned (*uses)(const struct call *call);
    const char *tool; /* what agents call it; NULL if by the operation's name */
    /* The set of tools that it belongs to: "core" …; NULL if it is not offered to models. */
    const char *toolset;
    const char *tool_doc; /* what models are told of it, who pay for each word */
    unsigned hints;       /* OP_DESTROYS … of tools */
    /* Of tools: fills in what the caller left out, before the gate looks. NULL if there is nothing
     * to fill in. */
    void (*prepare)(struct call *call);
};

extern const struct op *const op_table[];   /* NULL-terminated */
const struct op *op_find(const char *name); /* NULL if there is none */
/* All the codes that it can fail with, as OP_ERR() has them. */
unsigned op_errors(const struct op *op);
/* Every shape once that the answers of these operations are made of, in a list that ends with NULL:
 * the caller's to free. */
const struct op_shape **op_shapes(const struct op *const *table);

/* A file to be sent. */
struct call_file {
    int fd; /* the surface's from now on; at its beginning. -1: the client has it, by its tag */
    bool is_pipe;  /* the bytes come when they come, and fewer than promised if something breaks */
    int64_t bytes; /* that follow; -1: all up to the end of a pipe, whose last byte is a seal */
    const char *name; /* UTF-8 */
    const char *type; /* of its content */
    /* Changes with the bytes, in quotes: then it is a picture that a page may show, and that the
     * client may keep if it asks again. NULL if it is to be saved, and not kept. */
    const char *tag;
    const char *version;  /* likewise of a file that is to be saved, parts of which can be had */
    bool is_part;         /* `bytes` from `first` on, of `total` */
    int64_t first, total; /* a part with no bytes: there are none such */
};

/* How a surface takes what an operation has to say. reply, fail and send_file end the call:
 * afterwards the operation must not touch it. */
struct call_sink {
    void (*reply)(struct call *call, int http_status, const struct buf *json);
    void (*fail)(struct call *call, const struct err *e);
    void (*send_file)(struct call *call, const struct call_file *file); /* instead of reply */
    /* Instead of reply: the surface passes the request on to what listens there, and its answer
     * back. NULL if it cannot. */
    void (*tunnel)(struct call *call, struct session *session, uint16_t port);
    /* Likewise: the client sits at a terminal there. */
    void (*terminal)(struct call *call, struct session *session,
                     const struct terminal_request *request);
    void (*begin)(struct call *call);     /* a stream that had to wait: it was not refused */
    void (*want_body)(struct call *call); /* OP_TAKES_BYTES: the next piece, or the end */
    /* One event of a stream. False if the client reads too slowly and the event was dropped. */
    bool (*event)(struct call *call, const char *name, const char *json, size_t len);
};

/* What is kept for clients of the Model Context Protocol; each number has a bound (mcp/mcp.h). */
struct call_clients {
    size_t sessions;   /* of the older era, and those on standard input */
    size_t listeners;  /* requests that stay open to hear of changes */
    size_t tasks;      /* under way, or with an answer that can be fetched */
    size_t task_bytes; /* of memory */
};

/* One invocation of an operation, from whichever surface. The surface owns it; the operation may
 * keep the pointer until it has replied or on_gone was called. */
struct call {
    const struct op *op;
    struct engine *engine;
    struct policy *policy;
    struct documents *documents;        /* NULL if nothing outlives the daemon */
    struct image_boxes *boxes;          /* make pictures smaller; NULL if there are none */
    const struct call_clients *clients; /* NULL if the surface does not know them */
    /* Whom the call speaks for: as the surface was told, then as the gate settled it. NULL for
     * whoever has the key, and may see everything; what is made then is the default agent's. */
    const char *agent;
    const char *host; /* as the client calls this server; NULL if by no name */
    /* Whose default sessions a tool uses: a client, by a name of the surface's; NULL for the
     * agent's own. */
    const char *caller;
    struct tool_call *tool;            /* how the tool answers; NULL if the call is no tool's */
    const struct agents_grant *grant;  /* what holds for it, by the gate; NULL if nothing does */
    const struct session_usual *usual; /* and what its session was made with; NULL if nothing */
    const char *known_tags;       /* what the client has, as If-None-Match tells; NULL if none */
    struct arena arena;           /* lives as long as the call */
    json_t *args;                 /* path, query and body in one checked object */
    const char *range, *if_range; /* what the client wants of a file, as the headers say; or NULL */
    int64_t body_bytes;           /* OP_TAKES_BYTES: as announced; -1: that is not known */
    bool wants_stream;
    bool wants_text;        /* the client prefers text to JSON, where an operation has both */
    bool wants_html;        /* the client prefers a page to both: a person with a browser */
    int64_t range_total;    /* set by the operation that fails with ERR_RANGE: the file's size */
    const char *reply_type; /* set by the operation: its reply is of this type; NULL for JSON */
    bool is_at_gate; /* the gate has not decided yet, and may still refuse it with a status */
    /* Set by the daemon alone, so that code cannot pretend it: the code of a cell calls, */
    bool is_from_code;
    const struct toolbox_chain *chain; /* and the chain that the call belongs to; NULL if none */
    const struct call_sink *sink;
    void (*on_gone)(struct call *call);    /* set by the operation: the client went away */
    void (*on_drained)(struct call *call); /* likewise: it has taken all events so far */
    /* Likewise, before want_body, and called once for each: a piece, which may be taken out of
     * `piece`; the end of the body. A client that goes away, or sends nonsense, is on_gone. */
    void (*on_body)(struct call *call, struct buf *piece);
    void (*on_body_end)(struct call *call);
    void *op_state;       /* the operation's own */
    bool must_notice_end; /* set by the operation: who has ended its side of the connection is gone,
                             also if it might still read */
};

/* Reading checked arguments; the fallback serves for what was not given. */
const char *call_text(const struct call *call, const char *name, const char *fallback);
size_t call_text_len(const struct call *call, const char *name);
int64_t call_int(const struct call *call, const char *name, int64_t fallback);
bool call_bool(const struct call *call, const char *name, bool fallback);

/* Runs the operation, unless the gate refuses it: the one way in, for every surface. */
void op_run(struct call *call);

/* Checks `args` against the schema: unknown members, missing ones, types, ranges. The message names
 * the member and what would be right. */
int op_check(const struct op *op, json_t *args, struct err *e);
