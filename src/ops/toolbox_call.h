/* What the operations of the toolbox share: who calls a tool, and the log of calls. */
#pragma once

#include "ops/ops.h"
#include "toolbox/toolbox.h"

struct assist;
struct exploring_order;
struct handed_call;
struct toolbox_visit;
struct upstream_call;

enum { TOOLBOX_LOG_MAX = 1000, TOOLBOX_CHAIN_ID_BYTES = 12 };

/* A chain of calls that was planned before its first one ran; struct call has it. */
struct toolbox_chain {
    char id[TOOLBOX_CHAIN_ID_BYTES + 1];
    int64_t index; /* of the call in it, from 0 */
};

/* A call of a tool that has ended, as the session's log keeps it. */
struct toolbox_record {
    const char *tool;
    const char *via;    /* the function that code called: "TOOL" …; NULL for a request */
    const json_t *args; /* NULL if they could not be read */
    const struct toolbox_chain *chain; /* NULL if it is in none */
    uint64_t elapsed_us;
    const json_t *result;  /* NULL if the call failed, */
    const struct err *err; /* for this reason */
};

/* The tool that a session's code means by a name: one that was handed in to it, or one of the
 * table; NULL if there is none. */
struct tool_entry *toolbox_entry_of(const struct session *session, const char *name);
/* Whether the configuration lets the session's agent call the tool. One that was handed in is its
 * caller's own affair. */
bool toolbox_rules_allow(const struct call *call, const struct session *session,
                         const struct tool_entry *entry);

/* A question to an endpoint. */
struct toolbox_asked {
    struct toolbox_visit *visit;
    size_t index;
    struct exploring_order *order; /* NULL if it was answered */
};

/* A call under way; in the arena of its call. */
struct toolbox_visit {
    struct call *call;
    struct tool_entry *entry;
    json_t *args;
    uint64_t begun_us;
    struct assist *assist;
    struct call inner;           /* TOOLBOX_OPERATION */
    struct toolbox_asked *asked; /* TOOLBOX_HTTP, TOOLBOX_LLM: the questions, of which so many */
    size_t n_asked, n_begun, n_answered;
    json_t *answers; /* likewise: in the order of the questions; NULL if there are none */
    struct upstream_call *upstream;
    struct handed_call *handed; /* TOOLBOX_CALLER */
};

/* A call has its result: it is told, kept in a file of the workspace if it is long, and noted. The
 * visit is gone afterwards. */
void toolbox_call_keep(struct toolbox_visit *visit, json_t *result);
void toolbox_call_failed(struct toolbox_visit *visit, const struct err *e); /* likewise */
/* Its caller went away. */
void toolbox_call_release(struct toolbox_visit *visit);
/* Asks an endpoint: one of the configuration, one that the agent may ask, or that of a model. */
void toolbox_http_run(struct toolbox_visit *visit, struct session *session);

/* Appends it to the session's log and to its research tree; the oldest go beyond TOOLBOX_LOG_MAX.
 */
void toolbox_log_add(struct session *session, const struct toolbox_record *record);
/* To the log alone: the tree knows it already. */
void toolbox_log_put(struct session *session, const struct toolbox_record *record);
