/* `cella serve`: run the daemon in the foreground. Command line tool. */
#include "serve/serve.h"

#include "base/log.h"
#include "cli/args.h"
#include "cli/client.h"

static const struct cli_flag serve_flags[] = {
    {"listen", 'l', "HOST:PORT", "the address for HTTP (" SERVE_LISTEN "; port 0 picks one)"},
    {"data", 'd', "DIR", "where everything is kept (also CELLA_DATA)"},
    {"config", 'c', "FILE", "the configuration (see cella(1) for where else it is looked for)"},
    {"no-auth", 0, NULL, "ask for no key; only on a loopback address"},
    {"log-format", 0, "FORMAT", "text or json (the default with --json)"},
    {"log-level", 0, "LEVEL", "debug, info, warn or error"},
    {"mcp-fixtures", 0, NULL, NULL},
    {0},
};

static int serve_choose(const struct cli_args *args, const char *flag, const char *const *names,
                        size_t n, size_t fallback, size_t *ret, struct err *e)
{
    const char *value = cli_value(args, flag);
    *ret = fallback;
    if (value == NULL)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(value, names[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    err_set(e, ERR_INVALID, "--%s %.32s is not known", flag, value);
    return err_advise(e, "see: cella serve --help");
}

static int serve_verb_run(const struct cli_args *args, struct err *e)
{
    static const char *const formats[] = {[LOG_FORMAT_TEXT] = "text", [LOG_FORMAT_JSON] = "json"};
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    size_t format, level;
    if (args->n_words > 0)
        return err_set(e, ERR_INVALID, "serve takes no arguments, only options");
    if (serve_choose(args, "log-format", formats, ARRAY_LEN(formats),
                     cli_has(args, "json") ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT, &format, e) < 0 ||
        serve_choose(args, "log-level", levels, ARRAY_LEN(levels), LOG_LEVEL_INFO, &level, e) < 0)
        return -1;
    log_setup((enum log_level)level, (enum log_format)format);
    _free_ char *data_dir = NULL;
    if (cli_data_dir(cli_value(args, "data"), &data_dir, e) < 0)
        return -1;
    struct serve_options options = {
        .listen = cli_value(args, "listen"),
        .data_dir = data_dir,
        .config_file = cli_value(args, "config"),
        .no_auth = cli_has(args, "no-auth"),
        .mcp_fixtures = cli_has(args, "mcp-fixtures"),
    };
    return serve_run(&options, e);
}

const struct cli_verb cli_serve_verb = {
    .name = "serve",
    .subject = OP_ON_DAEMON,
    .summary = "run the daemon in the foreground",
    .usage = "[OPTION...]",
    .about =
        "Runs the daemon until SIGTERM or SIGINT. When it can take requests it prints one line,\n"
        "\"cella ready URL\", on standard output; its log goes to standard error. The key for\n"
        "HTTP is made at the first start, in the file 'key' of the data directory.",
    .flags = serve_flags,
    .examples = "cella serve\n"
                "cella serve --listen 127.0.0.1:0 --data /tmp/scratch --no-auth\n"
                "curl -H \"Authorization: Bearer $(cat ~/.local/state/cella/key)\" \\\n"
                "    -d '{}' http://127.0.0.1:7300/v1/sessions",
    .run = serve_verb_run,
};
