/* The flags of a new session as members of a request. Command line tool. */
#include "cli/spec.h"

enum { ENV_MAX = 256, SECOND_MS = 1000 };

static const struct cli_flag spec_flags[] = {CLI_FLAGS_SPEC, {0}};

const char *cli_spec_given(const struct cli_args *args)
{
    for (const struct cli_flag *f = spec_flags; f->name != NULL; f++)
        if (cli_has(args, f->name))
            return f->name;
    return NULL;
}

/* NAME=VALUE, or NAME for what the variable is here. */
static int add_variable(json_t *env, const char *given, struct err *e)
{
    const char *equals = strchr(given, '=');
    size_t len = equals != NULL ? (size_t)(equals - given) : strlen(given);
    _free_ char *name = mem_copy(given, len + 1);
    name[len] = '\0';
    const char *value = equals != NULL ? equals + 1 : getenv(name);
    if (len == 0) {
        err_set(e, ERR_INVALID, "--env %.64s has no name", given);
        return err_advise(e, "write it as NAME=VALUE");
    }
    if (value == NULL) {
        err_set(e, ERR_INVALID, "--env %.64s: there is no such variable here", given);
        return err_advise(e, "write it as NAME=VALUE");
    }
    if (json_object_size(env) == ENV_MAX)
        return err_set(e, ERR_INVALID, "a session takes at most %d variables", ENV_MAX);
    if (json_object_set_new(env, name, json_string(value)) < 0)
        return err_set(e, ERR_INVALID, "--env %.64s is not UTF-8", given);
    return 0;
}

static int read_idle_timeout(const struct cli_args *args, struct cli_session_spec *spec,
                             struct err *e)
{
    const char *given = cli_value(args, "idle-timeout");
    int64_t ms = 0;
    spec->idle_timeout_secs = -1;
    if (given == NULL)
        return 0;
    if (cli_parse_duration(given, &ms, e) < 0)
        return -1;
    spec->idle_timeout_secs = (ms + SECOND_MS - 1) / SECOND_MS;
    return 0;
}

static int read_labels(const struct cli_args *args, struct cli_session_spec *spec, struct err *e)
{
    size_t at = 0;
    const char *given;
    while ((given = cli_value_next(args, "label", &at)) != NULL) {
        const char *equals = strchr(given, '=');
        if (equals == NULL || equals == given) {
            err_set(e, ERR_INVALID, "--label %.64s has no key or no value", given);
            return err_advise(e, "write it as KEY=VALUE");
        }
        if (spec->labels == NULL)
            spec->labels = json_object();
        if (json_object_setn_new(spec->labels, given, (size_t)(equals - given),
                                 json_string(equals + 1)) < 0)
            return err_set(e, ERR_INVALID, "--label %.64s is not UTF-8", given);
    }
    return 0;
}

int cli_spec_read(const struct cli_args *args, const struct cli_language *language,
                  struct cli_session_spec *ret, struct err *e)
{
    const char *runtime = cli_value(args, "runtime");
    if (runtime != NULL && (language = cli_language_find(runtime)) == NULL) {
        _buf_ struct buf names = BUF_INIT(1 * KIB);
        for (size_t i = 0; i < cli_n_languages; i++)
            buf_printf(&names, "%s%s", i > 0 ? ", " : "", cli_languages[i].runtime);
        err_set(e, ERR_INVALID, "'%.32s' is no runtime", runtime);
        return err_advise(e, "--runtime takes one of: %s", buf_str(&names));
    }
    *ret = (struct cli_session_spec){
        .runtime = language != NULL ? language->runtime : NULL,
        .profile = cli_value(args, "profile"),
        .cwd = cli_value(args, "cwd"),
        .join = cli_value(args, "join"),
        .agent = cli_value(args, "agent"),
        .binding = cli_value(args, "binding"),
        .user = cli_value(args, "user"),
        .name = cli_value(args, "name"),
        .has_debug = cli_has(args, "debug"),
    };
    if (read_idle_timeout(args, ret, e) < 0)
        return -1;
    if (read_labels(args, ret, e) < 0)
        return -1;
    size_t at = 0;
    const char *given;
    while ((given = cli_value_next(args, "env", &at)) != NULL) {
        if (ret->env == NULL)
            ret->env = json_object();
        if (add_variable(ret->env, given, e) < 0)
            return -1;
    }
    return 0;
}

void cli_spec_free(struct cli_session_spec *spec)
{
    json_decref(take_ptr(spec->env));
    json_decref(take_ptr(spec->labels));
}
