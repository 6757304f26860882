/* What the operations of the toolbox share: who calls a tool, and the log of calls. */
#pragma once

#include "ops/ops.h"
#include "toolbox/toolbox.h"

enum { TOOLBOX_LOG_MAX = 1000, TOOLBOX_CHAIN_ID_BYTES = 12 };

/* A call of a tool that has ended, as the session's log keeps it. */
struct toolbox_record {
    const char *tool;
    const char *via; /* the function that code has called: "TOOL" …; NULL: none, a request */
    const json_t *args;
    const char *caller;   /* "direct", "chain" */
    const char *chain_id; /* NULL: it is in no chain */
    int64_t chain_index;
    uint64_t elapsed_us;
    const json_t *result;  /* NULL: it failed, */
    const struct err *err; /* for this reason */
};

/* Whether the configuration lets the session's agent call the tool. */
bool toolbox_rules_allow(const struct call *call, const struct session *session,
                         const struct tool_entry *entry);

/* Appends it to the session's log and to its research tree; the oldest go beyond TOOLBOX_LOG_MAX.
 */
void toolbox_log_add(struct session *session, const struct toolbox_record *record);
