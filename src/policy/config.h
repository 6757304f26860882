/* policy: the settings the operator chose and who may come in. Promises: what it returns has been
 * checked completely, and a mistake in a file is reported with file, line and remedy. Owns the
 * configuration and the keys. May call session and what lies below it. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "jail/spec.h"
#include "search/settings.h"
#include "toolbox/toolbox.h"

/* What a session of this name finds already imported. */
struct config_profile {
    const char *name;
    const char *python;         /* absolute path of the interpreter; never NULL */
    const char *const *preload; /* NULL-terminated: import statements or module names */
    size_t n_preload;
};

enum { CONFIG_RUNTIMES = 3 };

/* Whether processes of a session may trace each other. */
enum config_debug { CONFIG_DEBUG_NEVER, CONFIG_DEBUG_ASK, CONFIG_DEBUG_ALWAYS };
extern const char *const config_debug_names[]; /* never, ask, always, NULL */

/* What an agent may do with interpreters. Holds no pointer into the configuration. */
struct config_repl {
    bool is_enabled;
    const char *runtimes[CONFIG_RUNTIMES]; /* python, node, bash, in the order they were given */
    size_t n_runtimes;                     /* a binding's 0: those of its agent */
    uint32_t max_sessions;                 /* live ones of one agent */
    uint32_t timeout_secs;                 /* of a cell that asks for no other */
    uint32_t max_timeout_secs;  /* that a cell may ask for; 0: no more than timeout_secs */
    uint64_t max_output_bytes;  /* kept per session and stream */
    int64_t max_answer_bytes;   /* of output in one answer; 0: max_output_bytes */
    struct jail_limits ceiling; /* of what a session may ask for; 0: as for everybody */
    enum config_debug debug;    /* ASK: of sessions that ask; ALWAYS: unless they say otherwise */
    /* Of what asks for nothing else; 0: a binding leaves it to its agent, that to the daemon. */
    uint64_t budget;      /* bytes of output in an answer */
    unsigned images;      /* 1 + the index in spec_images */
    unsigned checkpoints; /* 1 + enum timeline_mode */
};

/* That pages may be fetched from; see explore/fetch_url.h. */
struct config_domains {
    const char *const *names;
    size_t n;
};

/* Which tools of the toolbox an agent's code may call: their names, or their permissions as
 * "@network". Lists end with NULL. */
struct config_toolbox_rules {
    const char *const *allow; /* NULL for all */
    const char *const *deny;  /* NULL if none; stronger than `allow` */
};

/* How the calls of structured cells are made. */
enum config_chain_mode { CONFIG_CHAIN_LEGACY, CONFIG_CHAIN_SEQ, CONFIG_CHAIN_DEP };
extern const char *const config_chain_modes[]; /* their names; NULL at the end */

struct config_chains {
    enum config_chain_mode mode;
    bool parallel_mutations; /* some that change something may run beside each other */
    bool parallel_reads;     /* those that only read do */
};

struct config_agent {
    const char *id;
    struct config_toolbox_rules toolbox;
    struct config_repl repl;
    bool has_domains; /* else none, or those of `explore` if it is the default agent */
    struct config_domains domains;
};

/* Replaces what the agent has when a request comes through this plugin. */
struct config_binding {
    const char *plugin;
    const char *agent; /* NULL for any that has no binding of its own for the plugin */
    bool has_repl;     /* else the agent's applies */
    struct config_repl repl;
};

/* Web pages whose scripts may ask, beside those of the daemon's own address. */
struct config_origins {
    const char *const *names; /* https://app.example.org, in lower case */
    size_t n;
};

/* What is kept of what sessions do. */
struct config_notebook {
    uint32_t max_cells;       /* of one; what runs beyond that is not recorded */
    uint32_t max_output_kb;   /* of text that one cell wrote */
    uint32_t max_pictures_mb; /* of one, whatever its session's disk_mb is */
    uint32_t ttl_days;        /* of those whose session is gone; 0: for ever */
    bool has_cells_json;      /* each is also a file that the tools of mcp_repl read */
};

/* How sessions explore. */
struct config_explore {
    uint32_t timeout_secs;          /* of a cell, in a session that has a context */
    uint32_t general_timeout_secs;  /* and in one that has none */
    uint32_t max_context_mb;        /* of one context */
    uint32_t output_cap;            /* characters that a cell shows in an answer */
    const char *spill_dir;          /* where functions find the output of cells that show more */
    uint32_t max_grep_results;      /* of a search that asks for no other number */
    bool requires_exploration;      /* before FINAL() */
    uint32_t min_exploration_calls; /* how often then */
    bool has_toon;                  /* in what functions show of tables */
    uint32_t preview_chars;         /* of an output that is a file: shown in the answer */
    bool has_resemblance;           /* nodes of the research tree refer to those they resemble */
    float least_resemblance;        /* the cosine from which on they do */
    bool redacts_credentials;       /* in what their cells show */
    struct config_domains domains;  /* of the default agent */
};

/* Who makes tokens that are taken beside the key, and what they must say. */
struct config_issuer {
    const char *issuer;           /* the claim "iss", exactly */
    const char *const *audiences; /* one of which "aud" must name; these lists end with NULL */
    const char *const *keys;      /* files: absolute paths of JWK sets or PEM */
    const char *const *scopes;    /* all of which a token must have; perhaps none */
    unsigned algorithms;          /* of enum config_algorithm; never 0 */
    const char *agent_claim;      /* the claim that names the agent; NULL if none does */
    const char *agent; /* of tokens without that claim; NULL if such tokens are refused. Never NULL
                          without `agent_claim` */
};

enum config_algorithm { CONFIG_EDDSA = 1 << 0, CONFIG_RS256 = 1 << 1 };

struct config_oauth {
    const char *resource; /* "https://host:port", as clients call us; NULL if as they did */
    uint32_t leeway_secs; /* by which clocks may differ */
    struct config_issuer *issuers;
    size_t n_issuers; /* 0: no tokens are taken */
};

#define CONFIG_DEFAULT_AGENT "default" /* of requests that name none */

struct config {
    const char *file; /* that was read; NULL if there was none and these are the defaults */
    const char *python;
    const char *node; /* programs of the other runtimes; one that is missing costs that runtime */
    const char *bash;
    const char *default_profile; /* is one of `profiles` */
    struct config_profile *profiles;
    size_t n_profiles;
    bool is_warm; /* Python is kept ready with its libraries; else each session starts its own */
    uint32_t warmup_timeout_secs;       /* in which a profile must be loaded */
    uint32_t health_check_timeout_secs; /* in which a check must have run code */
    uint32_t state_max_size_mb;         /* of a state that is kept between runs */
    uint32_t state_ttl_secs;            /* of one that is kept here under a name; 0: for ever */
    uint32_t files_ttl_secs;            /* in which files that a run made can be had */
    uint32_t pool;                      /* ready sessions per warm profile */
    uint32_t max_sessions;
    uint64_t max_output_bytes;   /* per session and stream, the oldest are dropped */
    uint32_t idle_timeout_secs;  /* of a session that asks for none; 0: never */
    uint32_t max_age_secs;       /* likewise */
    uint32_t checkpoints_kept;   /* of each session */
    uint32_t kill_grace_ms;      /* from SIGTERM to SIGKILL when a session is killed */
    uint32_t session_state_mb;   /* of one session's durable copy */
    uint32_t suspended_ttl_secs; /* of a suspended session; 0: for ever */
    struct config_agent *agents; /* CONFIG_DEFAULT_AGENT is always one of them */
    size_t n_agents;
    struct config_binding *bindings;
    size_t n_bindings;
    struct jail_limits limits;  /* of a session that asks for none */
    struct jail_limits ceiling; /* that no session may ask for more than; cpu_seconds has none */
    struct config_notebook notebook;
    bool redacts_credentials; /* in what cells show, of all sessions */
    struct config_explore explore;
    struct toolbox_settings toolbox;
    struct config_chains chains;
    struct search_settings search;
    struct config_toolbox_rules toolbox_rules; /* of agents that have none of their own */
    struct config_oauth oauth;
    struct config_origins origins;
    const char
        *mcp_tools;     /* sets of tools for clients of MCP that name none, with commas between */
    struct arena arena; /* owns all of the above */
};

enum {
    CONFIG_FILE_MAX = 1024 * 1024,
    CONFIG_PROFILES_MAX = 64,
    CONFIG_PRELOAD_MAX = 256,         /* items in one profile */
    CONFIG_PRELOAD_BYTES = 32 * 1024, /* in one profile, all items together */
    CONFIG_AGENTS_MAX = 1024,
    CONFIG_BINDINGS_MAX = 1024,
    CONFIG_STATE_MB_MAX = 1024,
    CONFIG_BUDGET_MAX = 16 * 1024 * 1024,
    CONFIG_AGENT_BYTES = 64, /* of an agent's id and of a plugin's name */
    CONFIG_ISSUERS_MAX = 16,
    CONFIG_ORIGINS_MAX = 32,
    CONFIG_ISSUER_LIST_MAX = 16, /* audiences, keys or scopes of one */
    CONFIG_CEILING_PIDS = 4096,
    CONFIG_CEILING_DISK_MB = 100 * 1024,
};

/* Reads `path`, or if that is NULL the first that exists of $XDG_CONFIG_HOME/cella/cella.yaml (else
 * ~/.config/...) and /etc/cella/cella.yaml; without any of them the defaults. What the environment
 * says comes on top (config_env.h). */
int config_load(const char *path, struct config *ret_config, struct err *e);
/* `file` is what errors call the text. */
int config_parse(const char *text, size_t len, const char *file, struct config *ret_config,
                 struct err *e);
void config_free(struct config *c);

const struct config_profile *config_find_profile(const struct config *c, const char *name);
const struct config_agent *config_find_agent(const struct config *c, const char *id);
