/* The verbs: the table of them, and the way from the command line to one. Command line tool. */
#include "cli/verb.h"

#include "base/fd.h"
#include "cli/args.h"
#include "cli/dump.h"
#include "cli/help.h"
#include "cli/op.h"
#include "cli/terminal.h"
#include "wire/json.h"

#include <signal.h>

enum { VERB_VERBS_MAX = 256 };

/* What the table of operations cannot give: several calls, a terminal, files of this machine. */
/* clang-format off */
static const struct cli_verb *const hand_written[] = {
    &cli_exec_verb,
    &cli_repl_verb,
    &cli_attach_verb,
    &cli_continue_verb,
    &cli_input_verb,
    &cli_pipe_verb,
    &cli_mcp_verb,
    &cli_run_verb,
    &cli_try_verb,
    &cli_tree_verb,
    &cli_ls_verb,
    &cli_put_verb,
    &cli_get_verb,
    &cli_cp_verb,
    &cli_mv_verb,
    &cli_rm_verb,
    &cli_mkdir_verb,
    &cli_notebook_verb,
    &cli_convert_verb,
    &cli_serve_verb,
    &cli_stop_verb,
    &cli_config_verb,
    &cli_doctor_verb,
    &cli_demo_verb,
    &cli_call_verb,
};
/* clang-format on */

const struct cli_verb *const *cli_verbs(void)
{
    static const struct cli_verb *all[VERB_VERBS_MAX]; /* made at the first call */
    size_t n = ARRAY_LEN(hand_written);
    if (all[0] != NULL)
        return all;
    memcpy(all, hand_written, sizeof(hand_written));
    for (const struct op *const *op = op_table; *op != NULL && n + 1 < VERB_VERBS_MAX; op++) {
        const struct cli_verb *verb = (*op)->verb != NULL ? cli_op_verb(*op) : NULL;
        bool is_known = verb == NULL;
        for (size_t i = 0; i < ARRAY_LEN(hand_written) && !is_known; i++)
            is_known = strcmp(hand_written[i]->name, verb->name) == 0;
        if (!is_known)
            all[n++] = verb;
    }
    return all;
}

const struct cli_verb *cli_verb_find(const char *name)
{
    for (const struct cli_verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}

/* Whether "state" is the first of the two words of a verb. */
static bool is_group(const char *word)
{
    size_t len = strlen(word);
    for (const struct cli_verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        if (strncmp((*verb)->name, word, len) == 0 && (*verb)->name[len] == ' ')
            return true;
    return false;
}

static int refuse_verb(const char *name, struct err *e)
{
    const char *names[VERB_VERBS_MAX];
    size_t n = 0;
    for (const struct cli_verb *const *verb = cli_verbs(); verb[n] != NULL; n++)
        names[n] = verb[n]->name;
    const char *nearest = cli_nearest(name, names, n);
    err_set(e, ERR_INVALID, "'%.64s' is not a command", name);
    if (nearest != NULL)
        return err_advise(e, "did you mean '%s'? All of them: cella --help", nearest);
    return err_advise(e, "all of them: cella --help");
}

/* The verb that the first one or two of the words name, and how many these are. NULL with the
 * error. "cella state" alone is "cella state list". */
static const struct cli_verb *find_verb(int argc, char **argv, int *ret_words, struct err *e)
{
    char two[128];
    bool has_second = argc > 1 && argv[1][0] != '-';
    snprintf(two, sizeof(two), "%s %s", argv[0], has_second ? argv[1] : "list");
    const struct cli_verb *verb = cli_verb_find(two), *one = cli_verb_find(argv[0]);
    bool asks_help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    *ret_words = verb != NULL && has_second ? 2 : 1;
    if (verb != NULL && (has_second || !asks_help || one == NULL))
        return verb;
    if (one != NULL)
        return one;
    if (is_group(argv[0]) && has_second)
        refuse_verb(two, e);
    else
        refuse_verb(argv[0], e);
    return NULL;
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
    int n_words;
    const struct cli_verb *verb = cli_verb_find(argv[2]);
    if (verb == NULL || argc > 3)
        verb = find_verb(argc - 2, argv + 2, &n_words, e);
    if (verb == NULL)
        return -1;
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
        cli_help_first();
        return 0;
    }
    if (verb_is_any(argv[1], "--help", "-h", "help"))
        return run_help(argc, argv, e);
    if (verb_is_any(argv[1], "--version", "-V", "version")) {
        cli_say(STDOUT_FILENO, is_json ? "{\"version\":\"%s\"}\n" : "cella %s\n", CELLA_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--dump") == 0)
        return cli_dump(argc > 2 ? argv[2] : "", e);
    int n_words;
    const struct cli_verb *verb = find_verb(argc - 1, argv + 1, &n_words, e);
    if (verb == NULL)
        return -1;
    return run_verb(verb, (size_t)(argc - 1 - n_words), argv + 1 + n_words, e);
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
