#include "cli/args.h"
#include "cli/cell.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>

static const struct cli_flag flags[] = {
    {"file", 'f', "FILE", "run this file ('-' is standard input)"},
    {"session", 's', "ID", "run in this session (the beginning of its id is enough)"},
    {"new", 'n', NULL, "run in a new session and keep it; its id is told on stderr"},
    {"profile", 'p', "NAME", "the new session's libraries, 'min' or 'data' (the default)"},
    {"timeout", 't', "DURATION", "stop the code after this time: 500ms, 30s (the default), 2m"},
    {"budget", 'b', "SIZE", "with --json: how much output the answer holds (64k)"},
    {"save-images", 0, "DIR", "write images there instead of only noting them"},
    {0},
};

struct plan {
    struct cli_session session;
    bool is_temporary; /* destroyed when the code has run */
    bool is_told;      /* its id is of use afterwards */
    int64_t timeout_ms, budget;
    struct buf code;
};

static int read_stream(int fd, const char *name, struct buf *out, struct err *e)
{
    for (;;) {
        if (!buf_reserve(out, 16 * KIB))
            return err_set(e, ERR_TOO_LARGE, "%.128s is larger than a cell may be (1 MiB)", name);
        ssize_t n = read(fd, out->data + out->len, 16 * KIB);
        if (n < 0)
            return err_errno(e, ERR_UNAVAILABLE, errno, "%.128s", name);
        if (n == 0)
            return 0;
        out->len += (size_t)n;
    }
}

static int read_code(const struct cli_args *args, struct buf *out, struct err *e)
{
    const char *file = cli_value(args, "file");
    if (args->n_words > 1 || (args->n_words == 1 && file != NULL)) {
        err_set(e, ERR_INVALID, "there is more than one piece of code");
        return err_advise(e, "quote the code: cella exec 'print(1 + 1)'");
    }
    if (args->n_words == 1 && strcmp(args->words[0], "-") != 0) {
        buf_append_str(out, args->words[0]);
        return out->overflowed ? err_set(e, ERR_TOO_LARGE, "the code is too long") : 0;
    }
    if (file != NULL && strcmp(file, "-") != 0) {
        _fd_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            return err_errno(e, ERR_NOT_FOUND, errno, "%.128s", file);
        return read_stream(fd, file, out, e);
    }
    if (file == NULL && args->n_words == 0 && isatty(STDIN_FILENO)) {
        err_set(e, ERR_INVALID, "there is no code to run");
        return err_advise(e, "give it as an argument, with -f FILE, or on standard input; "
                             "or work interactively with: cella repl");
    }
    return read_stream(STDIN_FILENO, "standard input", out, e);
}

static int read_plan(const struct cli_args *args, struct plan *plan, struct err *e)
{
    const char *timeout = cli_value(args, "timeout"), *budget = cli_value(args, "budget");
    const char *images = cli_value(args, "save-images");
    if (cli_has(args, "session") && (cli_has(args, "new") || cli_has(args, "profile")))
        return err_set(e, ERR_INVALID,
                       "--session names a session that exists; --new and "
                       "--profile make one");
    if (timeout != NULL && cli_parse_duration(timeout, &plan->timeout_ms, e) < 0)
        return -1;
    if (timeout != NULL && plan->timeout_ms == 0)
        return err_set(e, ERR_INVALID, "--timeout must be at least 1ms");
    if (budget != NULL && cli_parse_size(budget, &plan->budget, e) < 0)
        return -1;
    if (images != NULL && access(images, W_OK | X_OK) < 0)
        return err_errno(e, ERR_NOT_FOUND, errno, "--save-images %.128s", images);
    if (read_code(args, &plan->code, e) < 0)
        return -1;
    return cli_cell_check_code(buf_str(&plan->code), plan->code.len, e);
}

static int choose_session(const struct cli_args *args, struct cli_client *c, struct plan *plan,
                          struct err *e)
{
    const char *id = cli_value(args, "session");
    if (id != NULL)
        return cli_session_find(c, id, &plan->session, e);
    if (cli_session_create(c, cli_value(args, "profile"), &plan->session, e) < 0)
        return -1;
    plan->is_told = cli_has(args, "new");
    plan->is_temporary = !plan->is_told;
    if (plan->is_told && !cli_has(args, "json"))
        cli_say(STDERR_FILENO, "session %s\n", plan->session.id);
    return 0;
}

static void note_losses(const json_t *answer)
{
    int64_t dropped = cli_json_int(answer, "dropped_bytes", 0);
    if (dropped > 0)
        cli_say(STDERR_FILENO,
                "cella: %lld bytes of output were not shown: they came faster than "
                "they were read\n",
                (long long)dropped);
}

static int print_json(const struct plan *plan, json_t *answer)
{
    if (!plan->is_temporary)
        json_object_set_new(answer, "session_id", json_string(plan->session.id));
    return cli_print_json(answer) ? cli_cell_exit_status(answer) : CLI_EXIT_PIPE;
}

static int run_cell(const struct cli_args *args, struct cli_client *c, struct plan *plan,
                    struct err *e)
{
    bool is_json = cli_has(args, "json");
    struct cli_show show = {.image_dir = cli_value(args, "save-images"),
                            .is_coloured = cli_is_coloured(STDERR_FILENO),
                            .is_advice_hidden = plan->is_temporary};
    struct cli_cell cell = {
        .session_id = plan->session.id,
        .code = buf_str(&plan->code),
        .code_len = plan->code.len,
        .timeout_ms = plan->timeout_ms,
        .budget = plan->budget,
        .show = is_json ? NULL : &show,
    };
    _json_ json_t *answer = NULL;
    if (cli_cell_run(c, &cell, &answer, e) < 0) {
        if (cell.left_by != 0)
            return 128 + cell.left_by;
        return show.problem == -EPIPE ? CLI_EXIT_PIPE : -1;
    }
    if (is_json)
        return print_json(plan, answer);
    cli_show_output(&show, json_object_get(answer, "value"));
    cli_show_error(&show, answer);
    note_losses(answer);
    if (plan->is_temporary && cli_cell_is_status(answer, "timeout"))
        cli_say(STDERR_FILENO, "  give it more time with --timeout DURATION\n");
    return show.problem == -EPIPE ? CLI_EXIT_PIPE : cli_cell_exit_status(answer);
}

static int run_plan(const struct cli_args *args, struct cli_client *c, struct plan *plan,
                    struct err *e)
{
    if (choose_session(args, c, plan, e) < 0)
        return -1;
    int status = run_cell(args, c, plan, e);
    struct err ignored; /* a session that died is gone already */
    if (plan->is_temporary)
        cli_session_kill(c, plan->session.id, &ignored);
    return status;
}

static int run(const struct cli_args *args, struct err *e)
{
    struct plan plan = {.budget = -1, .code = BUF_INIT(CLI_CODE_MAX + 32 * KIB)};
    struct cli_endpoint endpoint;
    struct cli_client client = {.fd = -1};
    int status = cli_endpoint_from(args, &endpoint, e);
    if (status == 0)
        status = read_plan(args, &plan, e);
    if (status == 0) {
        cli_signals_take();
        status = cli_client_open(&client, &endpoint, true, e);
    }
    if (status == 0)
        status = run_plan(args, &client, &plan, e);
    cli_client_close(&client);
    cli_endpoint_free(&endpoint);
    buf_free(&plan.code);
    return status;
}

const struct cli_verb cli_exec_verb = {
    .name = "exec",
    .summary = "run Python code in a sandboxed session",
    .usage = "[OPTION...] [CODE]",
    .about = "Runs CODE, or a file (-f), or standard input, and shows its output as it comes; the\n"
             "value of a last expression is printed too. Without --session and --new the code\n"
             "runs in a session of its own that is destroyed afterwards. A daemon is started if\n"
             "none runs. Ctrl-C interrupts the code.\n"
             "Exit status: 0, 1 if the code failed, 124 if its time was over, 130 if it was\n"
             "interrupted; other numbers mean that it could not be run.",
    .flags = flags,
    .is_client = true,
    .examples = "cella exec 'sum(range(10))'\n"
                "cella exec -f analysis.py --timeout 5m --save-images .\n"
                "echo 'print(6 * 7)' | cella exec\n"
                "cella exec --new 'x = 41'          # prints: session 0b9c...\n"
                "cella exec --session 0b9c 'x + 1'",
    .run = run,
};
