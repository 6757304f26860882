#include "policy/agents.h"

/* Whatever a file says, what is granted is complete. */
static void resolve(const struct config *c, const struct config_binding *binding)
{
    struct err e = {0};
    struct agents_grant grant;
    struct agents_claim claim = {.agent = binding->agent, .binding = binding->plugin};
    int r = agents_resolve(c, &claim, &grant, &e);
    if (r < 0 ? e.code != ERR_FORBIDDEN : grant.repl.n_runtimes == 0 || !grant.repl.is_enabled)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config;
    struct err e = {0};
    if (config_parse((const char *)data, size, "fuzz", &config, &e) < 0) {
        if (e.code != ERR_INVALID || strncmp(e.message, "fuzz:", 5) != 0 || e.advice[0] == '\0')
            abort(); /* every refusal names the place and a remedy */
        return 0;
    }
    const struct config_profile *profile = config_find_profile(&config, config.default_profile);
    if (profile == NULL || profile->python[0] != '/' ||
        profile->preload[profile->n_preload] != NULL)
        abort();
    if (config_find_agent(&config, CONFIG_DEFAULT_AGENT) == NULL)
        abort();
    for (size_t i = 0; i < config.n_bindings; i++)
        resolve(&config, &config.bindings[i]);
    config_free(&config);
    return 0;
}
