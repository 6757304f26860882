#include "policy/config.h"

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
    config_free(&config);
    return 0;
}
