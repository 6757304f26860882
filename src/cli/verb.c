/* The verbs: the table of them, and the way from the command line to one. Command line tool. */
#include "cli/verb.h"

#include "base/fd.h"
#include "cli/args.h"
#include "cli/dump.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "wire/json.h"

#include <signal.h>

/* One on each line. */
/* clang-format off */
const struct cli_verb *const cli_verbs[] = {
    &cli_exec_verb,
    &cli_repl_verb,
    &cli_attach_verb,
    &cli_continue_verb,
    &cli_input_verb,
    &cli_interrupt_verb,
    &cli_names_verb,
    &cli_undo_verb,
    &cli_redo_verb,
    &cli_try_verb,
    &cli_branch_verb,
    &cli_tree_verb,
    &cli_checkpoints_verb,
    &cli_ls_verb,
    &cli_put_verb,
    &cli_get_verb,
    &cli_cp_verb,
    &cli_mv_verb,
    &cli_rm_verb,
    &cli_mkdir_verb,
    &cli_ps_verb,
    &cli_kill_verb,
    &cli_plan_verb,
    &cli_pipe_verb,
    &cli_run_verb,
    &cli_notebook_verb,
    &cli_convert_verb,
    &cli_serve_verb,
    &cli_stop_verb,
    &cli_config_verb,
    &cli_doctor_verb,
    &cli_demo_verb,
    NULL,
};
/* clang-format on */

const struct cli_verb *cli_verb_find(const char *name)
{
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

static int refuse_verb(const char *name, struct err *e)
{
    const char *names[ARRAY_LEN(cli_verbs)];
    size_t n = 0;
    for (; cli_verbs[n] != NULL; n++)
        names[n] = cli_verbs[n]->name;
    const char *nearest = cli_nearest(name, names, n);
    err_set(e, ERR_INVALID, "'%.64s' is not a command", name);
    if (nearest != NULL)
        return err_advise(e, "did you mean '%s'? All of them: cella --help", nearest);
    return err_advise(e, "all of them: cella --help");
}

static int run_verb(const struct cli_verb *verb, size_t argc, char **argv, struct err *e)
{
    struct cli_args args;
    int status = cli_args_parse(verb, argc, argv, &args, e);
    args.run_line = cli_main;
    if (status == 0 && cli_has(&args, "help")) {
        cli_help_verb(verb);
    } else if (status == 0) {
        /* Written to nobody is an error like others; the daemon has its own way with it. */
        if (verb->is_client)
            signal(SIGPIPE, SIG_IGN);
        status = verb->run(&args, e);
    }
    cli_args_free(&args);
    return status;
}

static int run_help(int argc, char **argv, struct err *e)
{
    if (argc < 3) {
        cli_help_all(STDOUT_FILENO);
        return 0;
    }
    const struct cli_verb *verb = cli_verb_find(argv[2]);
    if (verb == NULL)
        return refuse_verb(argv[2], e);
    cli_help_verb(verb);
    return 0;
}

static bool verb_is_any(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static int verb_dispatch(int argc, char **argv, bool is_json, struct err *e)
{
    if (argc < 2) {
        cli_help_all(STDERR_FILENO);
        return err_exit_status(ERR_INVALID);
    }
    if (verb_is_any(argv[1], "--help", "-h", "help"))
        return run_help(argc, argv, e);
    if (verb_is_any(argv[1], "--version", "-V", "version")) {
        cli_say(STDOUT_FILENO, is_json ? "{\"version\":\"%s\"}\n" : "cella %s\n", CELLA_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--dump") == 0)
        return cli_dump(argc > 2 ? argv[2] : "", e);
    const struct cli_verb *verb = cli_verb_find(argv[1]);
    if (verb == NULL)
        return refuse_verb(argv[1], e);
    return run_verb(verb, (size_t)argc - 2, argv + 2, e);
}

static void print_error(const struct err *e, bool is_json)
{
    if (!is_json) {
        cli_say(STDERR_FILENO, "cella: %s\n", e->message);
        if (e->advice[0] != '\0')
            cli_say(STDERR_FILENO, "  %s\n", e->advice);
        return;
    }
    _buf_ struct buf text = BUF_INIT(16 * KIB);
    struct json_out out = JSON_OUT(&text);
    json_put_error(&out, e);
    buf_append_char(&text, '\n');
    fd_write_all(STDOUT_FILENO, buf_str(&text), text.len);
}

/* Known before the arguments are parsed, so that mistakes in them are told in JSON too. */
static bool asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

int cli_main(int argc, char **argv)
{
    bool is_json = asks_for_json(argc, argv);
    struct err e = {0};
    int status = verb_dispatch(argc, argv, is_json, &e);
    if (status >= 0)
        return status;
    print_error(&e, is_json);
    return err_exit_status(e.code);
}
