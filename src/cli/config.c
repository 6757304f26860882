/* `cella config`: check the configuration and say what it means. Command line tool. */
#include "policy/config.h"

#include "base/fd.h"
#include "cli/args.h"
#include "cli/terminal.h"
#include "ops/ops.h"
#include "policy/oauth.h"
#include "runtime/interpreter.h"
#include "session/spec.h"
#include "wire/json.h"

/* What a daemon would not start with, beyond what the file itself shows. */
static int check_interpreters(const struct config *c, struct err *e)
{
    for (size_t i = 0; i < c->n_profiles; i++) {
        struct interpreter_dirs dirs;
        if (interpreter_find_dirs(c->profiles[i].python, &dirs, e) < 0)
            return err_context(e, "the profile \"%.64s\"", c->profiles[i].name);
        interpreter_free_dirs(&dirs);
    }
    return 0;
}

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

static int check_keys(const struct config *c, struct err *e)
{
    struct oauth *oauth;
    if (oauth_load(c, &oauth, e) < 0)
        return -1;
    oauth_free(oauth);
    return 0;
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_program(struct json_out *out, const char *runtime, const char *path)
{
    json_put_key(out, runtime);
    json_put_object(out);
    json_put_member_str(out, "program", path);
    json_put_member_bool(out, "found", is_program(path));
    json_put_object_end(out);
}

static void put_people(struct json_out *out, const struct config *c)
{
    json_put_key(out, "agents");
    json_put_array(out);
    for (size_t i = 0; i < c->n_agents; i++) {
        json_put_object(out);
        json_put_member_str(out, "id", c->agents[i].id);
        put_repl(out, &c->agents[i].repl);
        json_put_object_end(out);
    }
    json_put_array_end(out);
    json_put_key(out, "inbound_bindings");
    json_put_array(out);
    for (size_t i = 0; i < c->n_bindings; i++) {
        json_put_object(out);
        json_put_member_str(out, "plugin", c->bindings[i].plugin);
        json_put_member_str(out, "agent", c->bindings[i].agent);
        if (c->bindings[i].has_repl)
            put_repl(out, &c->bindings[i].repl);
        json_put_object_end(out);
    }
    json_put_array_end(out);
}

static void put_texts(struct json_out *out, const char *name, const char *const *texts)
{
    json_put_key(out, name);
    json_put_array(out);
    for (; *texts != NULL; texts++)
        json_put_str(out, *texts);
    json_put_array_end(out);
}

static void put_oauth(struct json_out *out, const struct config_oauth *oauth)
{
    json_put_key(out, "oauth");
    json_put_object(out);
    json_put_member_str(out, "resource", oauth->resource);
    json_put_member_int(out, "leeway_secs", oauth->leeway_secs);
    json_put_key(out, "issuers");
    json_put_array(out);
    for (size_t i = 0; i < oauth->n_issuers; i++) {
        const struct config_issuer *issuer = &oauth->issuers[i];
        json_put_object(out);
        json_put_member_str(out, "issuer", issuer->issuer);
        put_texts(out, "audience", issuer->audiences);
        put_texts(out, "keys", issuer->keys);
        put_texts(out, "scopes", issuer->scopes);
        json_put_member_str(out, "agent_claim", issuer->agent_claim);
        json_put_member_str(out, "agent", issuer->agent);
        json_put_object_end(out);
    }
    json_put_array_end(out);
    json_put_object_end(out);
}

static void put_explore(struct json_out *out, const struct config_explore *x)
{
    json_put_key(out, "explore");
    json_put_object(out);
    json_put_member_int(out, "timeout_seconds", x->timeout_secs);
    json_put_member_int(out, "general_timeout_seconds", x->general_timeout_secs);
    json_put_member_int(out, "max_context_mb", x->max_context_mb);
    json_put_member_int(out, "output_cap", x->output_cap);
    json_put_member_int(out, "max_output_preview", x->preview_chars);
    json_put_member_str(out, "spill_dir", x->spill_dir);
    json_put_member_bool(out, "use_semantic", x->has_resemblance);
    json_put_member_real(out, "semantic_threshold", (double)x->least_resemblance, 3);
    json_put_member_int(out, "max_grep_results", x->max_grep_results);
    json_put_member_bool(out, "use_toon_encoding", x->has_toon);
    json_put_member_bool(out, "require_exploration_before_final", x->requires_exploration);
    json_put_member_int(out, "min_exploration_calls", x->min_exploration_calls);
    json_put_key(out, "web_domains");
    json_put_array(out);
    for (size_t i = 0; i < x->domains.n; i++)
        json_put_str(out, x->domains.names[i]);
    json_put_array_end(out);
    json_put_member_bool(out, "redact_credentials", x->redacts_credentials);
    json_put_object_end(out);
}

static void config_write_json(const struct config *c, struct buf *text)
{
    struct json_out out = JSON_OUT(text);
    json_put_object(&out);
    json_put_member_bool(&out, "ok", true);
    json_put_member_str(&out, "file", c->file);
    json_put_key(&out, "runtimes");
    json_put_object(&out);
    put_program(&out, "python", c->python);
    put_program(&out, "node", c->node);
    put_program(&out, "bash", c->bash);
    json_put_object_end(&out);
    json_put_member_str(&out, "default_profile", c->default_profile);
    json_put_key(&out, "profiles");
    json_put_array(&out);
    for (size_t i = 0; i < c->n_profiles; i++)
        json_put_str(&out, c->profiles[i].name);
    json_put_array_end(&out);
    json_put_member_int(&out, "pool", c->pool);
    json_put_member_int(&out, "max_sessions", c->max_sessions);
    json_put_member_int(&out, "max_output_bytes", (int64_t)c->max_output_bytes);
    json_put_member_int(&out, "idle_timeout_secs", c->idle_timeout_secs);
    json_put_member_int(&out, "max_age_secs", c->max_age_secs);
    put_ceiling(&out, &c->ceiling);
    json_put_key(&out, "notebook");
    json_put_object(&out);
    json_put_member_int(&out, "max_cells", c->notebook.max_cells);
    json_put_member_int(&out, "max_output_kb", c->notebook.max_output_kb);
    json_put_member_int(&out, "max_pictures_mb", c->notebook.max_pictures_mb);
    json_put_member_int(&out, "ttl_days", c->notebook.ttl_days);
    json_put_member_bool(&out, "cells_json", c->notebook.has_cells_json);
    json_put_object_end(&out);
    put_explore(&out, &c->explore);
    json_put_member_bool(&out, "redact_credentials", c->redacts_credentials);
    json_put_member_str(&out, "mcp_tools", c->mcp_tools);
    put_people(&out, c);
    put_oauth(&out, &c->oauth);
    json_put_object_end(&out);
    buf_append_char(text, '\n');
}

/* ---- for people ------------------------------------------------------------------------------ */

static void append_program(struct buf *text, const char *runtime, const char *path)
{
    buf_printf(text, "  %-9s ", runtime);
    cli_append_safe(text, path, strlen(path), false);
    if (!is_program(path))
        buf_printf(text, " is not there: no sessions of this runtime");
    buf_append_char(text, '\n');
}

/* Of those that are given, or nothing. */
static void append_ceiling(struct buf *text, const char *begin, const struct jail_limits *ceiling)
{
#define APPEND(name, least, most, doc)                                                             \
    if (ceiling->name > 0) {                                                                       \
        buf_printf(text, "%s" #name " %u", begin, ceiling->name);                                  \
        begin = ", ";                                                                              \
    }
    JAIL_CEILINGS_EACH(APPEND)
#undef APPEND
}

static void append_repl(struct buf *text, const struct config_repl *repl)
{
    if (!repl->is_enabled) {
        buf_append_str(text, "off\n");
        return;
    }
    for (size_t i = 0; i < repl->n_runtimes; i++)
        buf_printf(text, "%s%s", i > 0 ? ", " : "", repl->runtimes[i]);
    buf_printf(text, "%s; %u sessions, %u s for a cell",
               repl->n_runtimes == 0 ? "the agent's runtimes" : "", repl->max_sessions,
               repl->timeout_secs);
    if (repl->max_timeout_secs > repl->timeout_secs)
        buf_printf(text, " and up to %u if asked", repl->max_timeout_secs);
    buf_printf(text, ", %llu bytes of output", (unsigned long long)repl->max_output_bytes);
    append_ceiling(text, "; at most ", &repl->ceiling);
    if (repl->debug != CONFIG_DEBUG_NEVER)
        buf_printf(text, "; debug: %s", config_debug_names[repl->debug]);
    if (repl->budget > 0)
        buf_printf(text, "; budget: %llu", (unsigned long long)repl->budget);
    if (repl->images > 0)
        buf_printf(text, "; images: %s", spec_images[repl->images - 1]);
    if (repl->checkpoints > 0)
        buf_printf(text, "; checkpoints: %s", timeline_modes[repl->checkpoints - 1]);
    buf_append_char(text, '\n');
}

static void append_time(struct buf *text, const char *what, uint32_t secs)
{
    if (secs == 0)
        buf_printf(text, ", %s as long as they like", what);
    else
        buf_printf(text, ", %s at most %u s", what, secs);
}

static void write_summary(const struct config *c, struct buf *text)
{
    const char *file = c->file != NULL ? c->file : "(no file, all defaults)";
    cli_append_safe(text, file, strlen(file), false);
    buf_append_str(text, ": ok\n");
    append_program(text, "python", c->python);
    append_program(text, "node", c->node);
    append_program(text, "bash", c->bash);
    buf_append_str(text, "  profiles  ");
    for (size_t i = 0; i < c->n_profiles; i++)
        buf_printf(text, "%s%s%s", i > 0 ? ", " : "", c->profiles[i].name,
                   strcmp(c->profiles[i].name, c->default_profile) == 0 ? " (default)" : "");
    buf_printf(text, "\n  sessions  %u at once, %u kept ready", c->max_sessions, c->pool);
    append_time(text, "idle", c->idle_timeout_secs);
    append_time(text, "alive", c->max_age_secs);
    append_ceiling(text, "\n  each      at most ", &c->ceiling);
    buf_append_char(text, '\n');
    buf_printf(
        text,
        "  notebooks %u cells, %u KB of text a cell, %u MB of pictures; without a session kept ",
        c->notebook.max_cells, c->notebook.max_output_kb, c->notebook.max_pictures_mb);
    if (c->notebook.ttl_days == 0)
        buf_append_str(text, "for ever");
    else
        buf_printf(text, "%u days", c->notebook.ttl_days);
    buf_append_str(text, c->notebook.has_cells_json ? "; cells.json beside them\n" : "\n");
    for (size_t i = 0; i < c->n_agents; i++) {
        buf_printf(text, "  agent     %s: ", c->agents[i].id);
        append_repl(text, &c->agents[i].repl);
    }
    for (size_t i = 0; i < c->n_bindings; i++) {
        const struct config_binding *b = &c->bindings[i];
        buf_printf(text, "  binding   %s for %s: ", b->plugin,
                   b->agent != NULL ? b->agent : "every agent");
        if (b->has_repl)
            append_repl(text, &b->repl);
        else
            buf_append_str(text, "as the agent\n");
    }
    for (size_t i = 0; i < c->oauth.n_issuers; i++) {
        const struct config_issuer *issuer = &c->oauth.issuers[i];
        buf_printf(text, "  tokens    of %s for %s, as the agent %s%s\n", issuer->issuer,
                   issuer->audiences[0], issuer->agent_claim != NULL ? "in the claim " : "",
                   issuer->agent_claim != NULL ? issuer->agent_claim : issuer->agent);
    }
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int config_run(const struct cli_args *args, struct err *e)
{
    if (args->n_words == 0 || args->n_words > 2 || strcmp(args->words[0], "check") != 0) {
        err_set(e, ERR_INVALID, "config takes: check [FILE]");
        return err_advise(e, "cella config check, or cella config check FILE");
    }
    struct config config;
    if (config_load(args->n_words == 2 ? args->words[1] : NULL, &config, e) < 0)
        return -1;
    int status = check_interpreters(&config, e) < 0 ? -1 : check_keys(&config, e);
    if (status == 0) {
        _buf_ struct buf text = BUF_INIT(4 * MIB);
        if (cli_has(args, "json"))
            config_write_json(&config, &text);
        else
            write_summary(&config, &text);
        fd_write_all(STDOUT_FILENO, buf_str(&text), text.len);
    }
    config_free(&config);
    return status;
}

const struct cli_verb cli_config_verb = {
    .name = "config",
    .subject = OP_ON_DAEMON,
    .summary = "check the configuration and say what it means",
    .usage = "check [FILE]",
    .about = "Reads the configuration as the daemon would and shows what it says, or names the\n"
             "file, the line and the remedy of the first mistake. Without FILE it is the one that\n"
             "a daemon of this user would read. A running daemon reads it again on SIGHUP.",
    .examples = "cella config check\n"
                "cella config check ./cella.yaml --json | jq .agents",
    .run = config_run,
};
