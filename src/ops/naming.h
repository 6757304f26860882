/* What callers call sessions besides their ids: a name, which is one session's among an agent's
 * living ones and can stand wherever an id does, and labels, to find sessions by. */
#pragma once

#include "ops/ops.h"

enum {
    NAMING_NAME_MAX = 64,
    NAMING_LABELS_MAX = 16,
    NAMING_KEY_MAX = 64,
    NAMING_VALUE_MAX = 256,
};

/* Of those that name a session. */
#define NAMING_PARAM_LABELS(what)                                                                  \
    {                                                                                              \
        .name = "labels", .type = OP_TEXTS, .is_nullable = true, .max = NAMING_LABELS_MAX,         \
        .doc = what                                                                                \
    }

/* Whether a session of this agent (NULL for the default one) may be called so. `self` is the one
 * that may have the name already; NULL if none has it. */
int naming_check(const struct call *call, const char *agent, const char *name,
                 const struct session *self, struct err *e);
/* An object of texts, as the schema has it; empty texts stand for labels that are removed. */
int naming_check_labels(const json_t *labels, struct err *e);
/* What is left of `before` (NULL if there was nothing) when `changes` are made; NULL if nothing is.
 * The caller's.
 */
json_t *naming_merge(const json_t *before, const json_t *changes);

/* The living session of that name which the call means, else one that has ended: of the agent that
 * it speaks for, or of whichever has it if it speaks for none. NULL with ERR_CONFLICT if several
 * agents have one, with ERR_NOT_FOUND if none has. */
struct session *naming_find(const struct call *call, const char *name, struct err *e);
