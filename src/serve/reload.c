/* The configuration, read again (SIGHUP). Daemon; on the loop. */
#include "serve/reload.h"

#include "base/buf.h"
#include "base/log.h"
#include "explore/research.h"

struct engine_config reload_engine_config(const struct config *config)
{
    struct engine_config made = {
        .limits = config->limits,
        .pool_size = config->pool,
        .max_sessions = config->max_sessions,
        .max_output_bytes = config->max_output_bytes,
        .idle_timeout_secs = config->idle_timeout_secs,
        .max_age_secs = config->max_age_secs,
        .checkpoints_kept = config->checkpoints_kept,
        .kill_grace_ms = config->kill_grace_ms,
        .state_mb = config->session_state_mb,
        .suspended_ttl_secs = config->suspended_ttl_secs,
        .redacts_all = config->redacts_credentials,
        .redacts_credentials = config->explore.redacts_credentials,
        .context_mb = config->explore.max_context_mb,
        .output_cap = config->explore.output_cap,
        .preview_chars = config->explore.preview_chars,
        .least_resemblance = config->explore.has_resemblance ? config->explore.least_resemblance
                                                             : RESEARCH_NONE_SIMILAR,
        .notebooks = {.max_cells = config->notebook.max_cells,
                      .max_output_kb = config->notebook.max_output_kb,
                      .max_pictures_mb = config->notebook.max_pictures_mb,
                      .ttl_days = config->notebook.ttl_days},
    };
    snprintf(made.spill_dir, sizeof(made.spill_dir), "%s", config->explore.spill_dir);
    return made;
}

/* ---- what waits for the next start ----------------------------------------------------------- */

static bool is_same_profile(const struct config_profile *a, const struct config_profile *b)
{
    if (strcmp(a->python, b->python) != 0 || a->n_preload != b->n_preload)
        return false;
    for (size_t i = 0; i < a->n_preload; i++)
        if (strcmp(a->preload[i], b->preload[i]) != 0)
            return false;
    return true;
}

static void reload_add_name(struct buf *names, const char *prefix, const char *name)
{
    buf_printf(names, "%s%s%s", names->len > 0 ? ", " : "", prefix, name);
}

static void add_if_other(struct buf *names, const char *name, const char *a, const char *b)
{
    if (strcmp(a, b) != 0)
        reload_add_name(names, "", name);
}

static void find_frozen(const struct config *started, const struct config *next, struct buf *names)
{
    add_if_other(names, "node", started->node, next->node);
    add_if_other(names, "bash", started->bash, next->bash);
    if (started->is_warm != next->is_warm)
        reload_add_name(names, "", "repl_enabled");
    if (started->warmup_timeout_secs != next->warmup_timeout_secs)
        reload_add_name(names, "", "repl_warmup_timeout_secs");
    add_if_other(names, "default_profile", started->default_profile, next->default_profile);
    for (size_t i = 0; i < next->n_profiles; i++) {
        const struct config_profile *profile = &next->profiles[i];
        const struct config_profile *before = config_find_profile(started, profile->name);
        if (before == NULL || !is_same_profile(before, profile))
            reload_add_name(names, "profiles.", profile->name);
    }
    for (size_t i = 0; i < started->n_profiles; i++)
        if (config_find_profile(next, started->profiles[i].name) == NULL)
            reload_add_name(names, "profiles.", started->profiles[i].name);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* An editor may be just replacing the file: its absence is no order to forget all it said. */
static int read_again(const char *path, const struct config *now, struct config *ret_next,
                      struct oauth **ret_oauth, struct err *e)
{
    if (config_load(path, ret_next, e) < 0)
        return -1;
    bool is_there = now->file == NULL || ret_next->file != NULL;
    if (is_there && oauth_load(ret_next, ret_oauth, e) == 0)
        return 0;
    config_free(ret_next);
    if (is_there)
        return -1;
    err_set(e, ERR_NOT_FOUND, "the configuration %s is gone", now->file);
    return err_advise(e, "Put it back, or restart the daemon to go on without.");
}

void reload(const char *path, const struct config *started, struct policy *policy,
            struct engine *engine, struct documents *documents)
{
    struct config next;
    struct err e;
    struct oauth *oauth;
    if (read_again(path, policy->config, &next, &oauth, &e) < 0) {
        log_error("reload_failed", LOG_TEXT("text", e.message), LOG_TEXT("advice", e.advice));
        return;
    }
    _buf_ struct buf frozen = BUF_INIT(16 * KIB);
    find_frozen(started, &next, &frozen);
    if (frozen.len > 0)
        log_warn("reload_needs_restart", LOG_TEXT("changed", buf_str(&frozen)),
                 LOG_TEXT("text", "programs and profiles are those of the daemon's start"));
    struct engine_config config = reload_engine_config(&next);
    engine_reconfigure(engine, &config);
    documents_reconfigure(documents, next.notebook.has_cells_json);
    policy_replace(policy, &next);
    toolbox_configure(engine_loop(engine), &policy->config->toolbox);
    search_configure(&policy->config->search);
    policy_take_tokens(policy, oauth);
    log_info("reloaded", LOG_TEXT("file", policy->config->file ? policy->config->file : ""),
             LOG_NUM("agents", policy->config->n_agents),
             LOG_NUM("bindings", policy->config->n_bindings));
}
