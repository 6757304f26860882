/* What get_state() says: what a model has to know of a session before its next turn. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

enum {
    EXPLORE_STATE_NAMES = 20,          /* that are shown; the others are counted */
    EXPLORE_STATE_NAME_CHARS = 80,     /* of a name or a type */
    EXPLORE_STATE_VARIABLE_CHARS = 80, /* of a value's repr() */
    EXPLORE_STATE_ARTIFACT_CHARS = 100,
    EXPLORE_STATE_TREE_NODES = 3, /* from then on the research tree is shown */
};

/* A variable of the user's, or an entry of `artifacts`; any bytes. */
struct explore_value {
    const char *name;
    const char *type; /* of a variable: "int" */
    const char *text; /* its repr(), or str() of an artifact; its beginning is enough */
    size_t len;
};

struct explore_state {
    uint64_t context_chars;
    const json_t *contexts; /* {NAME: {"chars"}}: the others are named, too; NULL if none is */
    const struct explore_value *artifacts;
    size_t n_artifacts;
    struct explore_value artifacts_shown;  /* all of them as one text, if they are not listed */
    const struct explore_value *variables; /* without those of the session and of `_` */
    size_t n_variables;
    const json_t *research; /* NULL if there is none */
};

/* Appends the text, without a line end. */
void explore_state_render(const struct explore_state *state, struct buf *out);
