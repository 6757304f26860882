/* The research tree of a session that explores: one node for each call of a tool, with an id (G1,
 * P2), the node before it as its parent, and references to earlier nodes that its result names or
 * resembles. A value, without I/O and without a session:
 *
 *   {"version":1,"nodes":[{"id","tool","query","summary","size","parent_id","refs","status"}, …],
 *    "counters":{"G":1, …},"embeddings":["…", …],"dropped":1}
 *
 * 1. Immutable by convention: checkpoints of a session hold references to the same json_t, so what
 *    changes a tree returns another one that shares what did not change. The caller owns that.
 * 2. A node's parent and references are before it in `nodes`, or dropped.
 * 3. Texts are valid UTF-8 without control characters, so that each fits into one line.
 * 4. embeddings[i] is that of nodes[i] (explore/embed.h): made of more than the node keeps.
 * 5. Beyond RESEARCH_NODES_MAX the oldest node is dropped, beyond RESEARCH_REFS_MAX those of the
 *    least resemblance are; both are counted ("dropped", and "more_refs" of a node), and the
 *    rendering says so. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum {
    RESEARCH_ID_SIZE = 16,
    RESEARCH_NODES_MAX = 500,
    RESEARCH_REFS_MAX = 20,        /* of one node */
    RESEARCH_TOOL_CHARS = 64,      /* of a tool's name */
    RESEARCH_QUERY_CHARS = 100,    /* kept */
    RESEARCH_SUMMARY_CHARS = 200,  /* kept, and "..." */
    RESEARCH_CONTENT_CHARS = 8000, /* of a result that are looked at */
    RESEARCH_EMBED_CHARS = 1000,   /* of a result that are embedded, after the query */
    RESEARCH_INDENT_MAX = 40,      /* levels; what is deeper is indented as far */
};

#define RESEARCH_SIMILAR 0.7f      /* the least cosine of a reference by resemblance, if not told */
#define RESEARCH_NONE_SIMILAR 2.0f /* in its place: no references but by name */

enum research_status { RESEARCH_UNANALYZED, RESEARCH_ANALYZED, RESEARCH_STALE };

/* What was called and what came of it; any bytes. */
struct research_call {
    const char *tool;    /* "grep" */
    const char *query;   /* its arguments: "pattern='error'" */
    const char *content; /* its result */
    size_t len;
    double timestamp; /* seconds since 1970; 0 if none is to be kept */
    float similar;    /* the least cosine of a reference by resemblance; 0: RESEARCH_SIMILAR */
};

json_t *research_new(void);
size_t research_size(const json_t *tree); /* nodes */

/* The tree with a node more, whose id is written to ret_id. */
json_t *research_add(const json_t *tree, const struct research_call *call,
                     char ret_id[RESEARCH_ID_SIZE]);
/* NULL if there is no such node. */
json_t *research_mark(const json_t *tree, const char *id, enum research_status status,
                      struct err *e);

/* Ids: of those that nobody has analyzed, and from the root (or the oldest that is kept) to that
 * node. NULL if there is no such node. */
json_t *research_unanalyzed(const json_t *tree);
json_t *research_lineage(const json_t *tree, const char *id, struct err *e);

/* The tree as text for a model, without a line end. At most some 1 MiB. */
void research_render(const json_t *tree, struct buf *out);

/* to_dict(): {"version":1,"nodes":{"G1":{…}, …},"counters":{…}}, without embeddings. */
json_t *research_dict(const json_t *tree);
/* from_dict(): a tree of what research_dict gave or of a tree, hostile until checked here. Shares
 * nothing with it. Of nodes without an embedding one is made of what was kept. NULL on error. */
json_t *research_read(const json_t *dict, struct err *e);
