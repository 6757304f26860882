/* toolbox: the tools that the code of a cell calls, as entries of a table: what each takes, as a
 * JSON Schema, what it does, who may call it and who runs it. (A "tool" of src/ops/tool_*.c is
 * something else: what models call over MCP.) Those that are built in come from tools.json; others
 * from the configuration: commands, HTTP endpoints, upstream servers of the Model Context Protocol
 * with whatever tools they have. Promises: arguments have passed their schema before a tool sees
 * them; what an upstream server says is checked before it is believed. Owns the table, and the
 * connections to upstream servers. May call jail (what is embedded), loop, wire and base. */
#pragma once

#include "base/err.h"

#include <jansson.h>

typedef struct uv_loop_s uv_loop_t;
struct upstream;

enum {
    TOOLBOX_NAME_MAX = 64,        /* bytes */
    TOOLBOX_CONFIGURED_MAX = 256, /* tools of the configuration */
    TOOLBOX_SERVERS_MAX = 32,
    TOOLBOX_UPSTREAM_MAX = 256, /* tools of one server */
};

/* Who runs a tool. */
enum toolbox_maker {
    TOOLBOX_ASSISTANT, /* an interpreter in the session's jail: drivers/python/tools/ */
    TOOLBOX_DAEMON,    /* a function of C */
    TOOLBOX_OPERATION, /* one of the table of operations */
    TOOLBOX_UNSET,     /* nobody, before something is configured: `advice` says what */
    TOOLBOX_COMMAND,   /* a command of the configuration, in the session's jail */
    TOOLBOX_HTTP,      /* an endpoint of the configuration */
    TOOLBOX_UPSTREAM,  /* a server of the Model Context Protocol */
    TOOLBOX_LLM,       /* a model behind an endpoint as OpenAI has it */
    TOOLBOX_CALLER,    /* whoever has handed it in, for one session or cell: session/handed.h */
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
    enum toolbox_maker maker;
    const char *operation; /* TOOLBOX_OPERATION: its name */
    const char *advice;    /* TOOLBOX_UNSET: how to set it up */
    unsigned effects, permissions, callers;
    bool is_destructive;
    uint32_t timeout_ms;
    const json_t *schema;  /* of its arguments */
    json_t *told;          /* the entry as list_tools() shows it; owns the texts above */
    json_t *setting;       /* TOOLBOX_COMMAND: {"command"}, TOOLBOX_HTTP: {"url", "headers"} */
    struct upstream *from; /* TOOLBOX_UPSTREAM */
    const char *there;     /* how that server calls it */
    unsigned n_holds;      /* the table's, and those of calls under way */
};

/* All of them; the list is valid until the loop turns. */
const struct tool_entry *const *toolbox_entries(size_t *ret_n);
struct tool_entry *toolbox_find(const char *name); /* NULL if there is none */
/* An entry of the configuration, or of a server, may go while it is called. */
void toolbox_hold(struct tool_entry *entry);
void toolbox_let_go(struct tool_entry *entry);
/* Sets the error of a name that there is not, with those that there are. */
int toolbox_not_found(const char *name, struct err *e);
/* Whether a call changes nothing but what it answers. A tool that both reads and modifies files
 * does the latter if its argument `write` is true. */
bool toolbox_only_reads(const struct tool_entry *entry, const json_t *args);
/* The names of the bits, with NULL at the end: toolbox_permission_names[0] is that of 1 << 0. */
extern const char *const toolbox_permission_names[];

/* ---- what is configured ---------------------------------------------------------------------- */

/* A tool of the configuration: one of `command` and `http`. Lists end with NULL. */
struct toolbox_tool {
    const char *name;
    const char *description;
    const char *parameters; /* JSON: {"x": {"type", "required", "default" …}}; NULL if none */
    const char *const *command;
    const char *http;
    const char *const *headers;
    bool only_reads;
    uint32_t timeout_secs;
};

/* An upstream server: one of `command` (over stdio) and `http` (Streamable HTTP). */
struct toolbox_server {
    const char *name;
    const char *const *command;
    const char *const *environment; /* "NAME=value" */
    const char *const *tools;       /* those of its tools that are offered; NULL for all */
    uint32_t timeout_secs;
};

/* A model: llm_call() and llm_batch(). `http` is NULL if there is none. */
struct toolbox_llm {
    const char *http; /* the whole URL: https://host/v1/chat/completions */
    const char *model;
    const char *const *headers;
};

struct toolbox_settings {
    struct toolbox_llm llm;
    struct toolbox_tool *tools;
    size_t n_tools;
    struct toolbox_server *servers;
    size_t n_servers;
};

/* Takes the place of what was configured before: servers that stay as they were go on. */
void toolbox_configure(uv_loop_t *loop, const struct toolbox_settings *settings);
/* The daemon stops: servers end, and whoever waits for one is told. */
void toolbox_stop(void);
bool toolbox_is_name(const char *name);
/* The names of built-in tools are theirs, unless nobody runs the tool. */
bool toolbox_is_free(const char *name);
/* Whether a text can be the parameters of a tool. */
int toolbox_check_parameters(const char *json, struct err *e);

/* ---- what callers hand in -------------------------------------------------------------------- */

/* What they say a tool takes: as the configuration does, or a JSON Schema of an object. Who may
 * call it: NULL, or a list of "direct" and "chain". */
int toolbox_check_handed(const json_t *parameters, const json_t *callers, struct err *e);
/* The entry of a tool that was checked, which is not in the table: {"name", "description",
 * "parameters", "read_only", "allowed_callers"}. */
struct tool_entry *toolbox_new_handed(const json_t *given);

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* The table takes the entry over; one of this name goes. */
void toolbox_put(struct tool_entry *entry);
void toolbox_remove_of(const struct upstream *from); /* NULL for those of the configuration */
/* `told` and `schema` are taken. */
struct tool_entry *toolbox_new_entry(enum toolbox_maker maker, json_t *told, json_t *schema);
