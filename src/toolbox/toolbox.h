/* toolbox: the tools that the code of a cell calls, as entries of a table: what each takes, as a
 * JSON Schema, what it does, who may call it and who runs it. (A "tool" of src/ops/tool_*.c is
 * something else: what models call over MCP.) Promises: arguments have passed their schema before a
 * tool sees them. Owns the table, which is made once, at the first look. May call jail (what is
 * embedded), wire, loop and base. */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* Who runs a tool. */
enum toolbox_maker {
    TOOLBOX_ASSISTANT, /* an interpreter in the session's jail: drivers/python/tools/ */
    TOOLBOX_DAEMON,    /* a function of C */
    TOOLBOX_OPERATION, /* one of the table of operations */
    TOOLBOX_UNSET,     /* nobody, before something is configured: `advice` says what */
};

enum toolbox_effects {
    TOOLBOX_LOCAL_EXEC = 1 << 0,
    TOOLBOX_CALLS_LLM = 1 << 1,
    TOOLBOX_MODIFIES_FILES = 1 << 2,
    TOOLBOX_NETWORK_ACCESS = 1 << 3,
    TOOLBOX_SYSTEM_STATE = 1 << 4,
    TOOLBOX_READ_ONLY = 1 << 5,
};

enum toolbox_permissions {
    TOOLBOX_NETWORK = 1 << 0,
    TOOLBOX_FILESYSTEM = 1 << 1,
    TOOLBOX_SHELL = 1 << 2,
    TOOLBOX_COMPUTE = 1 << 3,
};

enum toolbox_callers { TOOLBOX_DIRECT = 1 << 0, TOOLBOX_CHAIN = 1 << 1 };

struct tool_entry {
    const char *name;
    const char *category;
    const char *description;
    const char *returns;
    enum toolbox_maker maker;
    const char *operation; /* TOOLBOX_OPERATION: its name */
    const char *advice;    /* TOOLBOX_UNSET: how to set it up */
    unsigned effects, permissions, callers;
    bool is_destructive;
    uint32_t timeout_ms;
    const json_t *schema; /* of its arguments */
    json_t *told;         /* the entry as list_tools() shows it */
};

const struct tool_entry *toolbox_entries(size_t *ret_n);
const struct tool_entry *toolbox_find(const char *name); /* NULL: there is none */
/* Sets the error of a name that there is not, with those that are like it. */
int toolbox_not_found(const char *name, struct err *e);
/* Whether a call changes nothing but what it answers. A tool that both reads and modifies files
 * does the latter if its argument `write` is true. */
bool toolbox_only_reads(const struct tool_entry *entry, const json_t *args);
/* The names of the bits, with NULL at the end: toolbox_effect_names[0] is that of 1 << 0. */
extern const char *const toolbox_effect_names[], *const toolbox_permission_names[],
                                                     *const toolbox_caller_names[];
