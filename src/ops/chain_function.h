/* The functions of drivers/python/exploring.py as the planner of structured cells sees them: what
 * each asks the daemon for, and what of the answer is its value. */
#pragma once

#include "base/err.h"
#include "toolbox/toolbox.h"

#include <jansson.h>

enum chain_shape {
    CHAIN_MEMBER, /* a member of the answer */
    CHAIN_LINES,  /* likewise; what goes wrong is a line of it */
    CHAIN_TABLE,  /* all of it, shown in few tokens */
};

struct chain_function {
    const char *name;
    const char *op;        /* the operation; NULL if nobody plans it */
    const char *tool;      /* the tool; NULL if it has none, or the call names it */
    bool is_unplanned;     /* what it does takes more than one operation: it is only looked at */
    bool is_whole;         /* a long result is wanted as it is */
    bool is_routing;       /* it would hand the task to somebody else */
    const char *params[5]; /* by their places; NULL at the end */
    enum chain_shape shape;
    const char *member;
};

const struct chain_function *chain_function_find(const char *name); /* NULL if there is none */
/* {"peek": ["n", …], …}, for the analyst. */
json_t *chain_function_params(void);

/* What a call may be in a structured cell. */
enum chain_kind {
    CHAIN_READS,   /* beside anything that reads */
    CHAIN_CHANGES, /* in a chain */
    CHAIN_ALONE,   /* only where there is no other call */
    CHAIN_ROUTES,  /* not at all */
    CHAIN_UNKNOWN, /* its tool is named when it runs: then it is looked at */
};

/* `entry` is the tool that the call names, NULL if it names none, or none that there is; `args`
 * what it is given, NULL if that is not known before it runs. */
enum chain_kind chain_function_kind(const struct chain_function *function,
                                    const struct tool_entry *entry, const json_t *args);
/* Whether a changing call may run beside others, where that is allowed. */
bool chain_function_may_meet(const char *tool);
/* The arguments of its operation, without the session, made of these: a new value. */
json_t *chain_function_args(const struct chain_function *function, const char *target, json_t *args,
                            bool is_whole);
/* Whether one of the functions asks for this operation. */
bool chain_function_has_op(const char *op);
/* What the function would have returned; a text for `shown` if the value is a table that has one. A
 * new value. */
json_t *chain_function_value(const struct chain_function *function, json_t *answer,
                             json_t **ret_shown);
json_t *chain_function_error(const struct chain_function *function, const struct err *e);
