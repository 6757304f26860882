/* The fields of the configuration, each with what it may hold. As config.c. Daemon, and `cella
 * config`. */
#include "policy/config_agents.h"
#include "policy/config_oauth.h"
#include "policy/config_search.h"
#include "policy/config_toolbox.h"
#include "policy/profiles.h"
#include "policy/reader.h"

#include <unistd.h>

enum { ITEM_MAX_BYTES = 512, SECS_MAX = 365 * 86400 };

static int read_default_profile(struct reader *r, const struct reader_field *f, void *object)
{
    (void)object;
    if (reader_expect_text(r, f->name, READER_NAME_MAX) < 0)
        return -1;
    r->config->default_profile = reader_keep(r);
    r->default_profile_line = reader_line(r);
    return 0;
}

/* Sets of tools: "core,notebook". */
static int read_mcp_tools(struct reader *r, const struct reader_field *f, void *object)
{
    static const char *const sets[] = {"core", "explore", "notebook", "repl"};
    struct config *c = object;
    if (reader_expect_text(r, f->name, READER_NAME_MAX) < 0)
        return -1;
    c->mcp_tools = reader_keep(r);
    for (const char *at = c->mcp_tools; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        size_t len = strcspn(at, ","), i = 0;
        while (i < ARRAY_LEN(sets) && (strlen(sets[i]) != len || memcmp(at, sets[i], len) != 0))
            i++;
        if (i < ARRAY_LEN(sets))
            continue;
        reader_fail(r, "mcp_tools: there is no set of tools \"%.*s\"", (int)len, at);
        return err_advise(r->e,
                          "Possible here: core, explore, notebook, repl, with commas between.");
    }
    return 0;
}

/* As browsers write them: a scheme, a host in lower case, a port unless it is the usual one. Each
 * is one place: a pattern would let in whoever can have a name that fits. */
static bool is_origin(const char *text)
{
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : "";
    bool is_v6 = host[0] == '[';
    size_t len =
        is_v6 ? strcspn(host, "]") + 1 : strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-");
    if (len == 0 || len > strlen(host) ||
        (is_v6 && strspn(host + 1, "0123456789abcdef:") != len - 2))
        return false;
    const char *port = host + len;
    size_t digits = port[0] == ':' ? strspn(port + 1, "0123456789") : 0;
    return port[0] == '\0' || (digits >= 1 && digits <= 5 && port[1 + digits] == '\0');
}

static int read_origins(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_origins *origins = (void *)((char *)object + f->offset);
    const char *items[CONFIG_ORIGINS_MAX];
    size_t n = 0;
    int more;
    if (reader_expect_list(r, f->name, "[\"https://app.example.org\"]") < 0)
        return -1;
    while ((more = reader_next_item(r)) > 0) {
        if (reader_expect_text(r, f->name, ITEM_MAX_BYTES) < 0)
            return -1;
        if (n < CONFIG_ORIGINS_MAX && is_origin(reader_scalar(r))) {
            items[n++] = reader_keep(r);
            continue;
        }
        reader_fail(r, "allowed_origins: \"%.*s\" is no origin, or there are more than %d",
                    reader_shown(r), reader_scalar(r), CONFIG_ORIGINS_MAX);
        return err_advise(r->e, "Write each as browsers do: https://app.example.org or "
                                "http://localhost:3000, without a path; there are no wildcards.");
    }
    origins->names = arena_copy(&r->config->arena, items, n * sizeof(*items));
    origins->n = n;
    return more;
}

/* Profiles. */

/* "import x", "from x import y" or a bare dotted name: anything else would not be executed by the
 * zygote as its author meant it. */
static bool is_import(const char *s)
{
    if (strncmp(s, "import ", 7) == 0 || strncmp(s, "from ", 5) == 0)
        return strchr(s, ';') == NULL;
    bool at_start = true;
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && (at_start || (!is_digit && c != '.')))
            return false;
        at_start = c == '.';
    }
    return !at_start;
}

static int read_preload_item(struct reader *r, size_t n, size_t *bytes)
{
    if (reader_expect_text(r, "an item of preload", ITEM_MAX_BYTES) < 0)
        return -1;
    if (!is_import(reader_scalar(r))) {
        reader_fail(r, "preload: \"%.*s\" is not an import", reader_shown(r), reader_scalar(r));
        return err_advise(r->e, "Write an import statement (\"import numpy as np\") or a module's "
                                "name (\"json\").");
    }
    *bytes += r->event.data.scalar.length;
    if (n >= CONFIG_PRELOAD_MAX || *bytes > CONFIG_PRELOAD_BYTES) {
        reader_fail(r, "preload has more than %d items or %d bytes", CONFIG_PRELOAD_MAX,
                    CONFIG_PRELOAD_BYTES);
        return err_advise(r->e, "Import the rest in a module of your own and name that here.");
    }
    return 0;
}

static int read_preload(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_profile *profile = object;
    static const char example[] = "[json, \"import numpy as np\"], or [] for none";
    if (reader_expect_list(r, f->name, example) < 0)
        return -1;
    const char *items[CONFIG_PRELOAD_MAX + 1] = {NULL};
    size_t n = 0, bytes = 0;
    int more;
    while ((more = reader_next_item(r)) > 0) {
        if (read_preload_item(r, n, &bytes) < 0)
            return -1;
        items[n++] = reader_keep(r);
    }
    if (more < 0)
        return -1;
    profile->preload = arena_copy(&r->config->arena, items, (n + 1) * sizeof(*items));
    profile->n_preload = n;
    return 0;
}

static const struct reader_field profile_fields[] = {
    {"python", reader_path, offsetof(struct config_profile, python), 0, 0},
    {"preload", read_preload, 0, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static struct config_profile *config_yaml_find_profile(struct config *c, const char *name)
{
    return (struct config_profile *)(uintptr_t)config_find_profile(c, name);
}

/* A built-in profile of that name is the starting point, so that its list can be kept when only
 * the interpreter is changed. */
static int read_profile(struct reader *r, bool was_given[CONFIG_PROFILES_MAX])
{
    struct config *c = r->config;
    if (!reader_is_name(reader_scalar(r), r->event.data.scalar.length)) {
        reader_fail(r, "a profile cannot have this name");
        return err_advise(r->e, "Use 1 to %d letters, digits, - and _.", READER_NAME_MAX);
    }
    if (strcmp(reader_scalar(r), "node") == 0 || strcmp(reader_scalar(r), "bash") == 0) {
        reader_fail(r, "a profile cannot have the name of a runtime");
        return err_advise(r->e, "Profiles are for Python; choose another name.");
    }
    if (r->config->n_profiles == CONFIG_PROFILES_MAX &&
        config_yaml_find_profile(r->config, reader_scalar(r)) == NULL) {
        reader_fail(r, "more than %d profiles", CONFIG_PROFILES_MAX);
        return err_advise(r->e, "Remove those that are not used.");
    }
    struct config_profile *profile = config_yaml_find_profile(c, reader_scalar(r));
    if (profile == NULL) {
        static const char *const nothing[] = {NULL};
        profile = &c->profiles[c->n_profiles++];
        *profile = (struct config_profile){.name = reader_keep(r), .preload = nothing};
    }
    if (was_given[profile - c->profiles])
        return reader_repeated(r, profile->name);
    was_given[profile - c->profiles] = true;
    if (reader_next(r) < 0)
        return -1;
    return reader_mapping(r, profile->name, profile_fields, profile);
}

static int read_profiles(struct reader *r, const struct reader_field *f, void *object)
{
    (void)object;
    if (reader_expect_mapping(r, f->name) < 0)
        return -1;
    bool was_given[CONFIG_PROFILES_MAX] = {false};
    int more;
    while ((more = reader_next_key(r)) > 0)
        if (read_profile(r, was_given) < 0)
            return -1;
    return more;
}

static const struct reader_field limit_fields[] = {
#define FIELD(name, least, most, doc)                                                              \
    {#name, reader_u32, offsetof(struct jail_limits, name), least, most},
    JAIL_LIMITS_EACH(FIELD)
#undef FIELD
        {NULL, NULL, 0, 0, 0},
};

static int read_limits(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, limit_fields, (char *)object + f->offset);
}

enum { SPILL_DIR_MAX_BYTES = 60 };

static const struct reader_field notebook_fields[] = {
    {"max_cells", reader_u32, offsetof(struct config_notebook, max_cells), 0, 1000000},
    {"max_output_kb", reader_u32, offsetof(struct config_notebook, max_output_kb), 1, 2048},
    {"max_pictures_mb", reader_u32, offsetof(struct config_notebook, max_pictures_mb), 1, 1 << 26},
    {"ttl_days", reader_u32, offsetof(struct config_notebook, ttl_days), 0, 36500},
    {"cells_json", reader_bool, offsetof(struct config_notebook, has_cells_json), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static int config_yaml_read_notebook(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, notebook_fields, (char *)object + f->offset);
}

/* A name for people's eyes: nothing is opened by it. */
static int read_spill_dir(struct reader *r, const struct reader_field *f, void *object)
{
    static const char signs[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/.";
    struct config_explore *explore = object;
    if (reader_expect_text(r, f->name, SPILL_DIR_MAX_BYTES) < 0)
        return -1;
    const char *path = reader_scalar(r);
    size_t len = strlen(path);
    bool is_fit = len > 1 && path[0] == '/' && path[len - 1] != '/' && strspn(path, signs) == len;
    if (!is_fit || strstr(path, "..") != NULL || strncmp(path, "/workspace", 10) == 0) {
        reader_fail(r, "spill_dir: \"%.*s\" is no name for the folder of long outputs",
                    reader_shown(r), path);
        return err_advise(r->e, "Write an absolute path of plain characters that is not in "
                                "/workspace, like /spill.");
    }
    explore->spill_dir = reader_keep(r);
    return 0;
}

static int read_threshold(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_explore *explore = object;
    char *end;
    if (reader_expect_text(r, f->name, 32) < 0)
        return -1;
    const char *text = reader_scalar(r);
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value <= 1)) {
        reader_fail(r, "semantic_threshold: \"%.*s\" is no number above 0 and up to 1",
                    reader_shown(r), text);
        return err_advise(r->e, "Write semantic_threshold: 0.7, the cosine from which on results "
                                "resemble each other.");
    }
    explore->least_resemblance = (float)value;
    return 0;
}

static const struct reader_field explore_fields[] = {
    {"timeout_seconds", reader_u32, offsetof(struct config_explore, timeout_secs), 1, 86400},
    {"general_timeout_seconds", reader_u32, offsetof(struct config_explore, general_timeout_secs),
     1, 86400},
    {"max_context_mb", reader_u32, offsetof(struct config_explore, max_context_mb), 1, 8192},
    {"output_cap", reader_u32, offsetof(struct config_explore, output_cap), 100, 16 << 20},
    {"max_output_preview", reader_u32, offsetof(struct config_explore, preview_chars), 100, 8192},
    {"spill_dir", read_spill_dir, 0, 0, 0},
    {"use_semantic", reader_bool, offsetof(struct config_explore, has_resemblance), 0, 0},
    {"semantic_threshold", read_threshold, 0, 0, 0},
    {"max_grep_results", reader_u32, offsetof(struct config_explore, max_grep_results), 1, 1000},
    {"use_toon_encoding", reader_bool, offsetof(struct config_explore, has_toon), 0, 0},
    {"web_domains", config_read_domains, offsetof(struct config_explore, domains), 0, 0},
    {"require_exploration_before_final", reader_bool,
     offsetof(struct config_explore, requires_exploration), 0, 0},
    {"min_exploration_calls", reader_u32, offsetof(struct config_explore, min_exploration_calls), 0,
     1000000},
    {"redact_credentials", reader_bool, offsetof(struct config_explore, redacts_credentials), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static int config_yaml_read_explore(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, explore_fields, (char *)object + f->offset);
}

static const struct reader_field config_fields[] = {
    {"python", reader_path, offsetof(struct config, python), 0, 0},
    {"node", reader_path, offsetof(struct config, node), 0, 0},
    {"bash", reader_path, offsetof(struct config, bash), 0, 0},
    {"default_profile", read_default_profile, 0, 0, 0},
    {"profiles", read_profiles, 0, 0, 0},
    {"repl_enabled", reader_bool, offsetof(struct config, is_warm), 0, 0},
    {"repl_warmup_timeout_secs", reader_u32, offsetof(struct config, warmup_timeout_secs), 1, 3600},
    {"repl_health_check_timeout_secs", reader_u32,
     offsetof(struct config, health_check_timeout_secs), 1, 3600},
    {"state_max_size_mb", reader_u32, offsetof(struct config, state_max_size_mb), 1,
     CONFIG_STATE_MB_MAX},
    {"state_ttl_secs", reader_u32, offsetof(struct config, state_ttl_secs), 0, SECS_MAX},
    {"files_ttl_secs", reader_u32, offsetof(struct config, files_ttl_secs), 1, SECS_MAX},
    {"pool", reader_u32, offsetof(struct config, pool), 0, 1024},
    {"limits", read_limits, offsetof(struct config, limits), 0, 0},
    {"max_limits", config_read_ceiling, offsetof(struct config, ceiling), 0, 0},
    {"max_sessions", reader_u32, offsetof(struct config, max_sessions), 1, 1000000},
    {"max_output_bytes", reader_u64, offsetof(struct config, max_output_bytes), 64 * 1024,
     (uint64_t)1 << 30},
    {"agents", config_read_agents, 0, 0, 0},
    {"inbound_bindings", config_read_bindings, 0, 0, 0},
    {"idle_timeout_secs", reader_u32, offsetof(struct config, idle_timeout_secs), 0, SECS_MAX},
    {"max_age_secs", reader_u32, offsetof(struct config, max_age_secs), 0, SECS_MAX},
    {"kill_grace_ms", reader_u32, offsetof(struct config, kill_grace_ms), 0, 60000},
    {"checkpoints_kept", reader_u32, offsetof(struct config, checkpoints_kept), 1, 64},
    {"suspended_ttl_secs", reader_u32, offsetof(struct config, suspended_ttl_secs), 0, SECS_MAX},
    {"session_state_mb", reader_u32, offsetof(struct config, session_state_mb), 1, 1024 * 1024},
    {"notebook", config_yaml_read_notebook, offsetof(struct config, notebook), 0, 0},
    {"explore", config_yaml_read_explore, offsetof(struct config, explore), 0, 0},
    {"redact_credentials", reader_bool, offsetof(struct config, redacts_credentials), 0, 0},
    {"toolbox", config_read_toolbox, 0, 0, 0},
    {"search", config_read_search, 0, 0, 0},
    {"oauth", config_read_oauth, offsetof(struct config, oauth), 0, 0},
    {"mcp_tools", read_mcp_tools, 0, 0, 0},
    {"allowed_origins", read_origins, offsetof(struct config, origins), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

/* The whole file: nothing, or one document with a mapping. */

static int read_document(struct reader *r)
{
    if (reader_next(r) < 0) /* the stream's start */
        return -1;
    if (reader_next(r) < 0)
        return -1;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return 0;
    if (reader_next(r) < 0)
        return -1;
    bool is_empty = r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0;
    if (!is_empty && reader_mapping(r, "the file", config_fields, r->config) < 0)
        return -1;
    if (reader_next(r) < 0 || reader_next(r) < 0) /* the document's end, and what follows */
        return -1;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return 0;
    reader_fail(r, "a second document begins here");
    return err_advise(r->e, "Remove the line with --- and what follows it, or join the two.");
}

static void set_defaults(struct config *c, const char *file)
{
    *c = (struct config){
        .python = "/usr/bin/python3",
        .node = "/usr/bin/node",
        .bash = "/usr/bin/bash",
        .default_profile = "data",
        .mcp_tools = "core",
        .chains = {.mode = CONFIG_CHAIN_SEQ, .parallel_reads = true},
        .is_warm = true,
        .warmup_timeout_secs = 15,
        .health_check_timeout_secs = 5,
        .state_max_size_mb = 50,
        .state_ttl_secs = 7200,
        .files_ttl_secs = 3600,
        .pool = 4,
        .max_sessions = 4096,
        .max_output_bytes = 4 * MIB,
        .idle_timeout_secs = 600,
        .max_age_secs = 86400,
        .checkpoints_kept = 8,
        .explore = {.timeout_secs = 600,
                    .general_timeout_secs = 120,
                    .max_context_mb = 8192,
                    .output_cap = 8192,
                    .preview_chars = 1500,
                    .has_resemblance = true,
                    .least_resemblance = 0.7f,
                    .spill_dir = "/spill",
                    .max_grep_results = 100,
                    .min_exploration_calls = 1,
                    .has_toon = true,
                    .redacts_credentials = true},
        .kill_grace_ms = 2000,
        .session_state_mb = 1024,
        .suspended_ttl_secs = 7 * 86400,
        .limits = JAIL_LIMITS_DEFAULT,
        .notebook = {.max_cells = 10000,
                     .max_output_kb = 1024,
                     .max_pictures_mb = 1024,
                     .ttl_days = 30},
        .oauth = {.leeway_secs = 60},
    };
    if (file != NULL)
        c->file = arena_strdup(&c->arena, file);
    c->profiles = arena_alloc(&c->arena, CONFIG_PROFILES_MAX * sizeof(*c->profiles));
    memcpy(c->profiles, profiles_built_in, profiles_n_built_in * sizeof(*c->profiles));
    c->n_profiles = profiles_n_built_in;
}

static int config_yaml_finish(struct reader *r)
{
    struct config *c = r->config;
    for (size_t i = 0; i < c->n_profiles; i++)
        if (c->profiles[i].python == NULL)
            c->profiles[i].python = c->python;
    /* What was not written: what one machine has, and never less than a session gets unasked. */
    struct jail_limits *top = &c->ceiling;
    uint64_t memory_mb = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE) / MIB;
    uint32_t memory = (uint32_t)MIN(memory_mb, (uint64_t)1 << 22);
    uint32_t cpus = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    if (top->memory_mb == 0)
        top->memory_mb = MAX(memory, c->limits.memory_mb);
    if (top->cpu_percent == 0)
        top->cpu_percent = MAX(100 * cpus, c->limits.cpu_percent);
    if (top->pids == 0)
        top->pids = MAX(CONFIG_CEILING_PIDS, c->limits.pids);
    if (top->disk_mb == 0)
        top->disk_mb = MAX(CONFIG_CEILING_DISK_MB, c->limits.disk_mb);
    if (top->checkpoint_mb == 0)
        top->checkpoint_mb = MAX(memory, c->limits.checkpoint_mb);
    if (config_finish_agents(r) < 0)
        return -1;
    if (config_find_profile(c, c->default_profile) != NULL)
        return 0;
    err_set(r->e, ERR_INVALID, "%s:%d: default_profile: there is no profile \"%s\"", r->file,
            r->default_profile_line, c->default_profile);
    return err_advise(r->e, "Name min, data or one that is defined under profiles.");
}

int config_parse(const char *text, size_t len, const char *file, struct config *ret_config,
                 struct err *e)
{
    struct config config;
    set_defaults(&config, file);
    struct reader r = {.file = file != NULL ? file : "(defaults)", .config = &config, .e = e};
    if (!yaml_parser_initialize(&r.parser))
        abort(); /* only for want of memory */
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    int result = read_document(&r) < 0 || config_yaml_finish(&r) < 0 ? -1 : 0;
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (result < 0)
        config_free(&config);
    else
        *ret_config = config;
    return result;
}
