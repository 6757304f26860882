/* Settings that the environment may give in place of the file, under the names that operators of
 * warm REPL servers know. Daemon, and `cella config`. */
#include "policy/config_env.h"

#include <errno.h>
#include <strings.h>

enum { SECONDS_MAX = 3600 };

static int config_env_refuse(const char *name, const char *value, const char *what, struct err *e)
{
    err_set(e, ERR_INVALID, "the environment has %s=%.64s", name, value);
    return err_advise(e, "Set it to %s, or unset it.", what);
}

static int read_bool(const char *name, const char *value, bool *ret, struct err *e)
{
    static const char *const yes[] = {"true", "1", "yes", "on"};
    static const char *const no[] = {"false", "0", "no", "off"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        bool is_yes = strcasecmp(value, yes[i]) == 0;
        if (is_yes || strcasecmp(value, no[i]) == 0) {
            *ret = is_yes;
            return 0;
        }
    }
    return config_env_refuse(name, value, "true or false", e);
}

static int config_env_read_number(const char *name, const char *value, uint32_t max, uint32_t *ret,
                                  struct err *e)
{
    char *end, what[64];
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    bool is_number = *value >= '0' && *value <= '9' && *end == '\0' && errno == 0;
    if (is_number && number >= 1 && number <= max) {
        *ret = (uint32_t)number;
        return 0;
    }
    snprintf(what, sizeof(what), "a whole number from 1 to %u", max);
    return config_env_refuse(name, value, what, e);
}

static int config_env_read_mode(const char *name, const char *value, enum config_chain_mode *ret,
                                struct err *e)
{
    for (size_t i = 0; config_chain_modes[i] != NULL; i++) {
        if (strcasecmp(config_chain_modes[i], value) != 0)
            continue;
        *ret = (enum config_chain_mode)i;
        return 0;
    }
    return config_env_refuse(name, value, "legacy, seq or dep", e);
}

int config_take_environment(struct config *c, struct err *e)
{
    static const char mode[] = "ORCHESTRATOR_TOOL_CHAIN_MODE";
    const struct {
        const char *name;
        bool *value;
    } switches[] = {
        {"REPL_ENABLED", &c->is_warm},
        {"ORCHESTRATOR_TOOL_CHAIN_PARALLEL_MUTATIONS", &c->chains.parallel_mutations},
    };
    const struct {
        const char *name;
        uint32_t max;
        uint32_t *value;
    } numbers[] = {
        {"REPL_WARMUP_TIMEOUT_SECONDS", SECONDS_MAX, &c->warmup_timeout_secs},
        {"REPL_HEALTH_CHECK_TIMEOUT_SECONDS", SECONDS_MAX, &c->health_check_timeout_secs},
        {"STATE_MAX_SIZE_MB", CONFIG_STATE_MB_MAX, &c->state_max_size_mb},
    };
    const char *value = getenv(mode);
    if (value != NULL && value[0] != '\0' &&
        config_env_read_mode(mode, value, &c->chains.mode, e) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
        value = getenv(switches[i].name);
        if (value != NULL && value[0] != '\0' &&
            read_bool(switches[i].name, value, switches[i].value, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        value = getenv(numbers[i].name);
        if (value != NULL && value[0] != '\0' &&
            config_env_read_number(numbers[i].name, value, numbers[i].max, numbers[i].value, e) < 0)
            return -1;
    }
    return 0;
}
