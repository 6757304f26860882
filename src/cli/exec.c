/* `cella exec`: run Python, Node.js or bash code in a sandboxed session. Command line tool. */
#include "cli/args.h"
#include "cli/cell.h"
#include "cli/document.h"
#include "cli/spec.h"
#include "cli/terminal.h"
#include "cli/transfer.h"
#include "cli/with.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

static const struct cli_flag exec_flags[] = {
    {"file", 'f', "FILE", "run this file ('-' is standard input)"},
    {"with", 'w', "PATH", "a file, or a folder's files, that the code reads; again for more"},
    {"session", 's', "ID", "run in this session (the beginning of its id is enough)"},
    {"new", 'n', NULL, "run in a new session and keep it; its id is told on stderr"},
    CLI_FLAGS_SPEC,
    {"timeout", 't', "DURATION", "stop the code after this time: 500ms, 30s (the default), 2m"},
    {"yield", 'y', "DURATION", "come back after this time if it still runs"},
    {"on-disconnect", 0, "WHAT", "if this command is killed: 'continue' the cell or 'cancel' it"},
    {"names", 0, NULL, "show the session's names afterwards"},
    {"budget", 'b', "SIZE", "with --json: how much output the answer holds (8k)"},
    {"save-images", 0, "DIR", "write images there instead of only noting them"},
    {0},
};

/* A session that is made for one cell, and the cell, end soon if this program does not do it. */
enum { EXEC_TEMPORARY_IDLE_SECS = 60, EXEC_TIMEOUT_MAX_MS = 86400 * 1000 };

struct exec_plan {
    struct cli_client *client;
    struct cli_session_spec spec;
    const struct cli_language *language; /* of the code's file; NULL if not known */
    struct cli_session session;
    struct cli_cell cell;
    struct cli_show show;
    bool is_temporary; /* destroyed when the code has run */
    bool is_told;      /* its id is of use afterwards */
    bool is_code_on_stdin;
    const char *script;           /* the file that is run; NULL if the code is no file */
    const char *const *arguments; /* for it */
    size_t n_arguments;
    struct cli_with with;
    struct buf code;
};

static int exec_read_stream(int fd, const char *name, struct buf *out, struct err *e)
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

static int exec_read_file(struct exec_plan *plan, const char *path, struct err *e)
{
    _fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_errno(e, ERR_NOT_FOUND, errno, "%.128s", path);
    plan->language = cli_language_of_file(path);
    plan->script = path;
    return exec_read_stream(fd, path, &plan->code, e);
}

/* `cella exec report.py`: a word that is the name of a file, or could be nothing else. */
static bool is_file_name(const char *word)
{
    struct stat st;
    return (stat(word, &st) == 0 && S_ISREG(st.st_mode)) ||
           word[strcspn(word, " \t\n\"'`()[]{}<>|&;=$*,#")] == '\0';
}

static bool is_notebook(const char *path)
{
    enum notebook_format format;
    const char *runtime = NULL;
    return cli_format_of_file(path, &format, &runtime) && format == NOTEBOOK_IPYNB;
}

static int exec_read_code(const struct cli_args *args, struct exec_plan *plan, struct err *e)
{
    const char *file = cli_value(args, "file");
    const char *word = args->n_words > 0 ? args->words[0] : NULL;
    bool is_file = word != NULL && (cli_language_of_file(word) != NULL || is_notebook(word)) &&
                   is_file_name(word);
    size_t n_code = file != NULL ? 0 : 1; /* words before those that are for the script */
    if (args->n_words > n_code && (file != NULL || is_file)) {
        plan->arguments = args->words + n_code;
        plan->n_arguments = args->n_words - n_code;
    } else if (args->n_words > 1) {
        err_set(e, ERR_INVALID, "there is more than one piece of code");
        return err_advise(e, "quote the code: cella exec 'print(1 + 1)'");
    }
    if (file != NULL && strcmp(file, "-") != 0)
        return exec_read_file(plan, file, e);
    if (file != NULL)
        word = NULL; /* all words are the script's */
    if (is_file && file == NULL) {
        if (is_notebook(word)) {
            err_set(e, ERR_INVALID, "%.128s is a notebook, and not code", word);
            return err_advise(e, "run its cells with: cella run %.128s", word);
        }
        if (access(word, F_OK) == 0)
            return exec_read_file(plan, word, e);
        err_set(e, ERR_NOT_FOUND, "there is no file %.128s", word);
        return err_advise(e, "if it is code, give it on standard input: echo %.128s | cella exec",
                          word);
    }
    if (word != NULL && strcmp(word, "-") != 0) {
        buf_append_str(&plan->code, word);
        return plan->code.overflowed ? err_set(e, ERR_TOO_LARGE, "the code is too long") : 0;
    }
    if (file == NULL && word == NULL && isatty(STDIN_FILENO)) {
        err_set(e, ERR_INVALID, "there is no code to run");
        return err_advise(e, "give it as an argument, with -f FILE, or on standard input; "
                             "or work interactively with: cella repl");
    }
    plan->is_code_on_stdin = true;
    return exec_read_stream(STDIN_FILENO, "standard input", &plan->code, e);
}

static int exec_read_plan(const struct cli_args *args, struct exec_plan *plan, struct err *e)
{
    struct cli_cell *cell = &plan->cell;
    const char *on_disconnect = cli_value(args, "on-disconnect");
    const char *of_new = cli_has(args, "new") ? "new" : cli_spec_given(args);
    if (cli_has(args, "session") && of_new != NULL)
        return err_set(e, ERR_INVALID, "--session names a session that exists; --%s makes one",
                       of_new);
    if (on_disconnect != NULL && strcmp(on_disconnect, "continue") != 0 &&
        strcmp(on_disconnect, "cancel") != 0)
        return err_set(e, ERR_INVALID, "--on-disconnect takes 'continue' or 'cancel', not '%.32s'",
                       on_disconnect);
    if (cli_show_read(args, &plan->show, e) < 0)
        return -1;
    const char *timeout = cli_value(args, "timeout"), *yield = cli_value(args, "yield");
    const char *budget = cli_value(args, "budget");
    if (timeout != NULL && cli_parse_duration(timeout, &cell->timeout_ms, e) < 0)
        return -1;
    if (timeout != NULL && (cell->timeout_ms < 1 || cell->timeout_ms > EXEC_TIMEOUT_MAX_MS))
        return err_set(e, ERR_INVALID, "--timeout must be between 1ms and 24h");
    if (yield != NULL && cli_parse_duration(yield, &cell->yield_ms, e) < 0)
        return -1;
    if (budget != NULL && cli_parse_size(budget, &cell->budget, e) < 0)
        return -1;
    if (exec_read_code(args, plan, e) < 0 ||
        cli_cell_check_code(buf_str(&plan->code), plan->code.len, e) < 0)
        return -1;
    if (cli_with_read(args, plan->script != NULL ? plan->script : "code", &plan->with, e) < 0)
        return -1;
    plan->with.shows = !cli_has(args, "json") && isatty(STDERR_FILENO);
    cell->code = buf_str(&plan->code);
    cell->code_len = plan->code.len;
    cell->wants_names = cli_has(args, "names");
    cell->on_disconnect = cli_value(args, "on-disconnect");
    cell->show = cli_has(args, "json") ? NULL : &plan->show;
    return cli_spec_read(args, plan->language, &plan->spec, e);
}

static int choose_session(const struct cli_args *args, struct cli_client *c, struct exec_plan *plan,
                          struct err *e)
{
    const char *id = cli_value(args, "session");
    if (id != NULL) {
        /* A file of one language and a session of another are a mistake. */
        if (cli_session_find(c, id, &plan->session, e) < 0)
            return -1;
        if (plan->language != NULL && strcmp(plan->language->runtime, plan->session.runtime) != 0)
            return err_set(e, ERR_INVALID, "the file is %s and the session runs %s",
                           plan->language->runtime, plan->session.runtime);
        return 0;
    }
    plan->is_told = cli_has(args, "new");
    plan->is_temporary = !plan->is_told;
    if (plan->is_temporary && plan->cell.yield_ms < 0) {
        if (plan->spec.idle_timeout_secs < 0)
            plan->spec.idle_timeout_secs = EXEC_TEMPORARY_IDLE_SECS;
        if (plan->cell.on_disconnect == NULL)
            plan->cell.on_disconnect = "cancel";
    }
    if (cli_session_create(c, &plan->spec, &plan->session, e) < 0)
        return -1;
    if (plan->is_told && !cli_has(args, "json"))
        cli_say(STDERR_FILENO, "session %s\n", plan->session.id);
    return 0;
}

static int exec_run_cell(struct cli_client *c, struct exec_plan *plan, struct err *e)
{
    struct cli_cell *cell = &plan->cell;
    cell->session_id = plan->session.id;
    plan->show.is_temporary = plan->is_temporary;
    _json_ json_t *answer = NULL;
    if (cli_cell_run(c, cell, &answer, e) < 0) {
        if (cell->left_by != 0)
            return 128 + cell->left_by;
        return plan->show.problem == -EPIPE ? CLI_EXIT_PIPE : -1;
    }
    /* One that was left running needs its session. */
    bool is_unfinished = cli_cell_is_status(answer, "running") ||
                         cli_cell_is_status(answer, "queued") ||
                         cli_cell_is_status(answer, "input_required") ||
                         cli_cell_is_status(answer, "tool_call_required");
    if (plan->is_temporary && is_unfinished) {
        plan->is_temporary = false;
        plan->is_told = true;
    }
    if (plan->is_told && plan->cell.show == NULL)
        json_object_set_new(answer, "session_id", json_string(plan->session.id));
    int status = cli_cell_finish(cell, answer);
    if (cell->show != NULL && plan->is_temporary && cli_cell_is_status(answer, "timeout"))
        cli_say(STDERR_FILENO, "  give it more time with --timeout DURATION\n");
    return status;
}

/* ---- scripts --------------------------------------------------------------------------------- */

static void exec_append_quoted(struct buf *out, const char *runtime, const char *text)
{
    if (strcmp(runtime, "bash") == 0) {
        buf_append_char(out, '\'');
        for (const char *c = text; *c != '\0'; c++)
            buf_append_str(out, *c == '\'' ? "'\\''" : (char[]){*c, '\0'});
        buf_append_char(out, '\'');
        return;
    }
    struct json_out json = JSON_OUT(out);
    json_put_str(&json, text);
}

/* What a script finds when it is started: its arguments and its own path. */
static void exec_append_start(const struct exec_plan *plan, struct buf *out)
{
    const char *runtime = plan->session.runtime, *slash = strrchr(plan->script, '/');
    bool is_bash = strcmp(runtime, "bash") == 0, is_node = strcmp(runtime, "node") == 0;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/workspace/%s", slash != NULL ? slash + 1 : plan->script);
    buf_append_str(out, is_bash   ? "BASH_ARGV0="
                        : is_node ? "process.argv.splice(1, process.argv.length, "
                                  : "__import__('sys').argv[:] = [");
    exec_append_quoted(out, runtime, path);
    buf_append_str(out, is_bash ? "; set --" : "");
    for (size_t i = 0; i < plan->n_arguments; i++) {
        buf_append_str(out, is_bash ? " " : ", ");
        exec_append_quoted(out, runtime, plan->arguments[i]);
    }
    if (is_bash)
        return;
    buf_append_str(out, is_node ? "); globalThis.__dirname = '/workspace'; globalThis.__filename = "
                                : "]; __file__ = ");
    exec_append_quoted(out, runtime, path);
}

/* The files that go along, then the script itself, unless that would change a session that was
 * there before; and a first cell with what the script finds. */
static int exec_prepare(struct cli_client *c, struct exec_plan *plan, bool is_new, struct err *e)
{
    if (cli_with_put(&plan->with, c, plan->session.id, e) < 0)
        return -1;
    if (plan->script == NULL)
        return 0;
    if (is_new) {
        const char *slash = strrchr(plan->script, '/');
        struct cli_transfer transfer = {0};
        _fd_ int fd = open(plan->script, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        struct stat st;
        bool is_regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
        if (is_regular && cli_file_put(c, plan->session.id, fd,
                                       slash != NULL ? slash + 1 : plan->script, &transfer, e) < 0)
            return -1;
    }
    _buf_ struct buf code = BUF_INIT(CLI_CODE_MAX);
    _json_ json_t *answer = NULL;
    exec_append_start(plan, &code);
    struct cli_cell cell = {.session_id = plan->session.id,
                            .code = buf_str(&code),
                            .code_len = code.len,
                            .budget = -1,
                            .yield_ms = -1};
    if (code.overflowed || cli_cell_check_code(cell.code, cell.code_len, e) < 0)
        return err_set(e, ERR_INVALID, "the arguments are too long, or not UTF-8");
    if (cli_cell_run(c, &cell, &answer, e) < 0)
        return -1;
    return cli_cell_is_status(answer, "ok")
               ? 0
               : err_set(e, ERR_UNAVAILABLE, "the script's arguments could not be set");
}

static void exec_touch_session(void *context)
{
    struct exec_plan *plan = context;
    cli_session_touch(plan->client, plan->session.id);
}

static int exec_run_plan(const struct cli_args *args, struct cli_client *c, void *context,
                         struct err *e)
{
    struct exec_plan *plan = context;
    plan->client = c;
    if (choose_session(args, c, plan, e) < 0)
        return -1;
    /* Who wants to come back early wants to be told of input requests too. */
    struct cli_asker asker = {.show = plan->cell.show,
                              .has_stdin = !plan->is_code_on_stdin,
                              .on_wait = exec_touch_session,
                              .context = plan};
    if (plan->cell.yield_ms < 0)
        plan->cell.asker = &asker;
    int status = exec_prepare(c, plan, !cli_has(args, "session"), e);
    if (status == 0)
        status = exec_run_cell(c, plan, e);
    else if (plan->with.left_by != 0)
        status = 128 + plan->with.left_by;
    cli_asker_free(&asker);
    struct err ignored; /* a session that died is gone already */
    if (plan->is_temporary)
        cli_session_kill(c, plan->session.id, &ignored);
    return status;
}

static int exec_run(const struct cli_args *args, struct err *e)
{
    struct exec_plan plan = {.cell = {.budget = -1, .yield_ms = -1},
                             .code = BUF_INIT(CLI_CODE_MAX + 32 * KIB)};
    int status = exec_read_plan(args, &plan, e);
    if (status == 0) {
        cli_signals_take();
        status = cli_client_with(args, true, exec_run_plan, &plan, e);
    }
    cli_spec_free(&plan.spec);
    cli_with_free(&plan.with);
    buf_free(&plan.code);
    return status;
}

const struct cli_verb cli_exec_verb = {
    .name = "exec",
    .subject = OP_ON_CODE,
    .summary = "run Python, Node.js or bash code in a sandboxed session",
    .usage = "[OPTION...] [CODE | FILE [ARGUMENT...]]",
    .about =
        "Runs CODE, or a file, or standard input, and shows its output as it comes; the value\n"
        "of a last expression is printed too. The language is Python unless --runtime, the\n"
        "name of the file (.py, .js, .mjs, .sh) or the session says otherwise. Without\n"
        "--session and --new the code runs in a session of its own that is destroyed\n"
        "afterwards. A daemon is started if none runs. Ctrl-C interrupts the code. When the\n"
        "code asks for input, a line is read from the terminal, or from standard input\n"
        "unless the code came from there.\n"
        "A file runs as a script: it finds its ARGUMENTs (sys.argv, process.argv, $1; those that\n"
        "begin with a dash behind --) and itself as /workspace/FILE (__file__, __filename, $0).\n"
        "--with takes other files along, with their paths from the script's folder.\n"
        "Exit status: 0, or 1 if the code failed; for bash that of its last command, and for\n"
        "code that leaves (sys.exit(3), exit 3) the one it leaves with; 75 if it still runs\n"
        "(--yield), 124 if its time was over, 130 if it was interrupted; others mean that it\n"
        "could not be run.",
    .flags = exec_flags,
    .is_client = true,
    .examples = "cella exec 'sum(range(10))'\n"
                "cella exec --runtime node '[1, 2, 3].map(n => n * n)'\n"
                "cella exec -r bash 'for i in 1 2 3; do echo $i; done'\n"
                "cella exec analysis.py --timeout 5m --save-images .\n"
                "cella exec report.py --with data.csv june -- --verbose\n"
                "echo 'print(6 * 7)' | cella exec\n"
                "cella exec --new 'x = 41'          # prints: session 0b9c...\n"
                "cella exec --session 0b9c 'x + 1'\n"
                "cella exec -r bash --join 0b9c --env LANG 'ls'",
    .run = exec_run,
};
