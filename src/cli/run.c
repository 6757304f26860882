/* `cella run`: run a notebook from beginning to end and keep what it showed. Command line tool. */
#include "cli/run.h"

#include "cli/cell.h"
#include "cli/parameters.h"
#include "cli/spec.h"
#include "cli/terminal.h"
#include "cli/with.h"
#include "cli/written.h"
#include "notebook/output.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>

static const struct cli_flag run_flags[] = {
    {"output", 'o', "FILE",
     "where the run notebook goes; else NAME.out.ipynb; - is standard output"},
    {"parameter", 'p', "NAME VALUE", "a parameter: a number, true, false, null, JSON, else text"},
    {"raw", 'r', "NAME VALUE", "a parameter that is text, whatever it looks like"},
    {"with", 'w', "PATH", "a file, or a directory's files, that its cells read; again for more"},
    {"out", 0, "DIR", "bring back what it wrote: the files of its workspace that are new"},
    {"allow-errors", 0, NULL, "go on after a cell that fails"},
    {"timeout", 't', "DURATION",
     "stop a cell after this time: 30s, 10m (default: a day; an agent's own limit)"},
    {"runtime", 0, "NAME", "its language: python, node or bash; else as the notebook says"},
    {"kernel", 0, "NAME", "the same, by the name that Jupyter has for it: python3"},
    {"profile", 0, "NAME", "its libraries, for Python: 'min' or 'data' (the default)"},
    CLI_FLAGS_SPEC_REST,
    {"from", 'f', "FORMAT", "ipynb, cells-json, script; else by the suffix or what it holds"},
    {"keep", 'k', NULL, "keep the session; its id is told on stderr"},
    {0},
};

enum {
    RUN_TEMPORARY_IDLE_SECS = 60, /* if this program is killed */
    RUN_TIMEOUT_MAX_MS = 86400 * 1000,
    ERROR_LINES = 8,
    ADVICE_MAX = 3, /* about files, of all cells */
};

struct run_plan {
    struct cli_document_source in;
    char out[PATH_MAX];
    struct cli_run run;
    struct cli_session_spec spec;
    struct cli_session session;
    struct cli_parameters parameters;
    struct cli_with with;
    bool is_json, is_kept;
    const char *files_to; /* where files that the notebook wrote go; NULL if they are only named */
    json_t *written;
};

/* ---- what is asked for ----------------------------------------------------------------------- */

/* "dir/analysis.ipynb" is run into "dir/analysis.out.ipynb". */
static int name_output(struct run_plan *plan, struct err *e)
{
    const char *in = plan->in.path;
    if (strcmp(in, "-") == 0) {
        err_set(e, ERR_INVALID, "a notebook from standard input needs a place for the result");
        return err_advise(e, "-o out.ipynb, or -o - for standard output");
    }
    const char *slash = strrchr(in, '/'), *name = slash != NULL ? slash + 1 : in;
    const char *dot = strrchr(name, '.');
    size_t len = dot != NULL && dot > name ? (size_t)(dot - in) : strlen(in);
    int n = snprintf(plan->out, sizeof(plan->out), "%.*s.out.ipynb", (int)MIN(len, PATH_MAX), in);
    return n < PATH_MAX ? 0 : err_set(e, ERR_INVALID, "the name of the notebook is too long");
}

static int run_read_output(const struct cli_args *args, struct run_plan *plan, struct err *e)
{
    const char *out = cli_value(args, "output"), *runtime = NULL;
    struct cli_run *r = &plan->run;
    if (out == NULL && name_output(plan, e) < 0)
        return -1;
    if (out != NULL && snprintf(plan->out, sizeof(plan->out), "%s", out) >= (int)sizeof(plan->out))
        return err_set(e, ERR_INVALID, "the name of the output is too long");
    r->out = plan->out;
    r->format = NOTEBOOK_IPYNB;
    if (cli_format_of_file(r->out, &r->format, &runtime) && r->format == NOTEBOOK_SCRIPT) {
        err_set(e, ERR_INVALID, "a script has no place for outputs");
        return err_advise(e, "name a notebook, a page or a text: .ipynb, .html, .md");
    }
    if (strcmp(r->out, "-") == 0 && plan->is_json) {
        err_set(e, ERR_INVALID, "--json and the notebook cannot both go to standard output");
        return err_advise(e, "name a file: -o FILE");
    }
    struct stat st;
    r->is_written_often =
        strcmp(r->out, "-") != 0 && (stat(r->out, &st) < 0 || S_ISREG(st.st_mode));
    return 0;
}

static int run_read_plan(const struct cli_args *args, struct run_plan *plan,
                         const char **ret_runtime, struct err *e)
{
    const char *from = cli_value(args, "from");
    if (args->n_words != 1) {
        err_set(e, ERR_INVALID, "name one notebook");
        return err_advise(e, "cella run analysis.ipynb -o result.ipynb");
    }
    plan->in = (struct cli_document_source){.path = args->words[0], .has_format = from != NULL};
    plan->is_json = cli_has(args, "json");
    plan->is_kept = cli_has(args, "keep");
    plan->files_to = cli_value(args, "out");
    plan->run.allows_errors = cli_has(args, "allow-errors");
    plan->run.progress.is_on = !plan->is_json && isatty(STDERR_FILENO);
    if (from != NULL && cli_format_find(from, true, &plan->in.format, e) < 0)
        return -1;
    if (run_read_output(args, plan, e) < 0)
        return -1;
    const char *given = cli_value(args, "timeout");
    bool is_of_agent = cli_value(args, "agent") != NULL || cli_value(args, "binding") != NULL;
    if (given != NULL || !is_of_agent) { /* as long as the agent's cells may take */
        plan->run.timeout_ms = RUN_TIMEOUT_MAX_MS;
        if (given != NULL && cli_parse_duration(given, &plan->run.timeout_ms, e) < 0)
            return -1;
        if (plan->run.timeout_ms < 1 || plan->run.timeout_ms > RUN_TIMEOUT_MAX_MS)
            return err_set(e, ERR_INVALID, "--timeout must be between 1ms and 24h");
    }
    /* The runtime that the flags ask for, or NULL. */
    const char *runtime = cli_value(args, "runtime"), *kernel = cli_value(args, "kernel");
    *ret_runtime = runtime;
    if (kernel != NULL) {
        const char *known = notebook_runtime_of(kernel);
        *ret_runtime = known != NULL ? known : kernel;
        if (cli_language_find(*ret_runtime) == NULL) {
            err_set(e, ERR_INVALID, "there is no runtime for the kernel '%.64s'", kernel);
            return err_advise(e, "python3, javascript or bash");
        }
        if (runtime != NULL && strcmp(runtime, *ret_runtime) != 0)
            return err_set(e, ERR_INVALID, "--runtime and --kernel mean different languages");
    }
    if (cli_parameters_read(args, &plan->parameters, e) < 0 ||
        cli_with_read(args, plan->in.path, &plan->with, e) < 0)
        return -1;
    plan->with.shows = plan->run.progress.is_on;
    plan->in.runtime = *ret_runtime;
    const struct cli_language *language =
        *ret_runtime != NULL ? cli_language_find(*ret_runtime) : NULL;
    if (cli_spec_read(args, language, &plan->spec, e) < 0)
        return -1;
    if (plan->spec.idle_timeout_secs < 0 && !plan->is_kept)
        plan->spec.idle_timeout_secs = RUN_TEMPORARY_IDLE_SECS;
    return 0;
}

/* The language of the session and that which the result says are the same. */
static int settle_language(struct run_plan *plan, struct document *doc, struct err *e)
{
    if (plan->spec.runtime != NULL && strcmp(plan->spec.runtime, doc->runtime) != 0) {
        notebook_set_text(&doc->runtime, plan->spec.runtime);
        json_object_del(doc->metadata, "kernelspec");
        json_object_del(doc->metadata, "language_info");
    }
    if (cli_language_find(doc->runtime) == NULL) {
        err_set(e, ERR_INVALID, "the notebook's language is %.64s", notebook_language_name(doc));
        return err_advise(e, "Cella runs python, node and bash; say --runtime if it is one of "
                             "them under another name");
    }
    plan->spec.runtime = notebook_language(doc)->runtime;
    return 0;
}

/* ---- what became of it ----------------------------------------------------------------------- */

static const json_t *find_error(const struct notebook_cell *cell)
{
    size_t n = json_array_size(cell->outputs);
    const json_t *last = n > 0 ? json_array_get(cell->outputs, n - 1) : NULL;
    return last != NULL && output_type(last) == OUTPUT_ERROR ? last : NULL;
}

/* The end of the traceback, which says what and where. */
static void append_last_lines(struct buf *out, const char *text, size_t len)
{
    size_t begin = len, n = 0;
    while (begin > 0 && n < ERROR_LINES) {
        const char *newline = memrchr(text, '\n', begin);
        size_t line = newline != NULL ? (size_t)(newline - text) + 1 : 0;
        n++;
        begin = newline != NULL ? (size_t)(newline - text) : 0;
        if (n == ERROR_LINES || newline == NULL) {
            begin = line;
            break;
        }
    }
    for (const char *at = text + begin, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        buf_append_str(out, "  ");
        cli_append_safe(out, at, (size_t)(line_end - at), false);
        buf_append_char(out, '\n');
        at = line_end + 1;
    }
}

static void explain_stop(const struct cli_run *r)
{
    size_t number = r->stopped_by->number;
    const struct notebook_cell *cell = &r->doc->cells[number];
    const json_t *error = find_error(cell);
    size_t name_len = 0, message_len = 0, trace_len = 0;
    const char *name = output_text(error, "name", &name_len);
    const char *message = output_text(error, "message", &message_len);
    const char *trace = output_text(error, "traceback", &trace_len);
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_printf(&text, "cella: In [%lld], cell %zu (counted from 0), failed after %.1fs: ",
               (long long)cell->execution_count, number, cell->execution_time);
    cli_append_safe(&text, name != NULL ? name : cell_state_document(cell->state),
                    name != NULL ? name_len : strlen(cell_state_document(cell->state)), false);
    if (message_len > 0) {
        buf_append_str(&text, ": ");
        cli_append_safe(&text, message, MIN(message_len, (size_t)1000), false);
    }
    buf_append_char(&text, '\n');
    while (trace_len > 0 && trace[trace_len - 1] == '\n')
        trace_len--;
    if (trace_len > 0)
        append_last_lines(&text, trace, trace_len);
    cli_say(STDERR_FILENO, "%s", buf_str(&text));
}

static json_t *describe_cell(const struct document *doc, size_t number)
{
    const struct notebook_cell *cell = &doc->cells[number];
    json_t *object = json_object();
    json_object_set_new(object, "cell_id", json_string(cell->id));
    json_object_set_new(object, "number", json_integer(cell->execution_count));
    json_object_set_new(object, "index", json_integer((json_int_t)number));
    json_object_set_new(object, "status", json_string(cell_state_status(cell->state)));
    json_object_set_new(object, "duration_ms", json_real(round(cell->execution_time * 1e6) / 1e3));
    json_object_set_new(object, "outputs",
                        json_integer((json_int_t)json_array_size(cell->outputs)));
    const json_t *error = find_error(cell);
    if (error != NULL)
        json_object_set(object, "error", (json_t *)(uintptr_t)error);
    return object;
}

static bool run_report_json(const struct run_plan *plan)
{
    const struct cli_run *r = &plan->run;
    bool has_stopped = r->stopped_by != NULL;
    _json_ json_t *answer = json_object();
    json_t *cells = json_array();
    for (size_t i = 0; i < r->n_cells; i++)
        if (r->doc->cells[r->cells[i].number].execution_count > 0)
            json_array_append_new(cells, describe_cell(r->doc, r->cells[i].number));
    json_object_set_new(answer, "status", json_string(has_stopped ? "failed" : "ok"));
    json_object_set_new(answer, "input", json_string(plan->in.path));
    json_object_set_new(answer, "output", json_string(r->out));
    json_object_set_new(answer, "format", json_string(cli_format_name(r->format)));
    json_object_set_new(answer, "runtime", json_string(r->doc->runtime));
    json_object_set_new(answer, "session_id",
                        plan->is_kept ? json_string(plan->session.id) : json_null());
    json_object_set_new(answer, "code_cells", json_integer((json_int_t)r->n_cells));
    json_object_set_new(answer, "ran", json_integer((json_int_t)r->n_ran));
    json_object_set_new(answer, "failed", json_integer((json_int_t)r->n_failed));
    json_object_set_new(answer, "failed_cell",
                        has_stopped ? describe_cell(r->doc, r->stopped_by->number) : json_null());
    json_object_set_new(answer, "duration_ms", json_integer((json_int_t)r->duration_ms));
    json_object_set_new(answer, "cells", cells);
    json_object_set(answer, "files", plan->written);
    json_object_set_new(answer, "out",
                        plan->files_to != NULL ? json_string(plan->files_to) : json_null());
    return cli_print_json(answer);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_in_place(const struct run_plan *plan)
{
    struct stat in, out;
    return stat(plan->in.path, &in) == 0 && stat(plan->out, &out) == 0 && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

/* The code that the last cell left with, sys.exit(3), else that of a failure. */
static int exit_status(const struct cli_run *r)
{
    const struct notebook_cell *cell = &r->doc->cells[r->stopped_by->number];
    _json_ json_t *answer =
        json_pack("{s:s, s:O?}", "status", cell->state == CELL_DIED ? "died" : "error", "error",
                  find_error(cell));
    if (r->stopped_by->exit_code >= 0)
        json_object_set_new(answer, "exit_code", json_integer(r->stopped_by->exit_code));
    int code = cli_cell_left_with(answer);
    return code > 0 ? code : CLI_EXIT_FAILED;
}

static void run_report_files(const struct run_plan *plan)
{
    size_t n = json_array_size(plan->written);
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    if (n == 0)
        return;
    buf_printf(&text, "cella: it wrote %zu file%s: ", n, n == 1 ? "" : "s");
    cli_written_describe(plan->written, &text);
    if (plan->files_to != NULL) {
        buf_append_str(&text, "; now in ");
        cli_append_safe(&text, plan->files_to, strlen(plan->files_to), false);
    } else if (plan->is_kept) {
        buf_printf(&text, "; get them with: cella get %.8s:PATH", plan->session.id);
    } else {
        buf_append_str(&text, "; gone with its sandbox: --out DIR brings them back");
    }
    cli_say(STDERR_FILENO, "%s\n", buf_str(&text));
}

static int run_session(struct cli_client *c, struct run_plan *plan, struct err *e)
{
    struct cli_run *r = &plan->run;
    r->session_id = plan->session.id;
    notebook_set_text(&r->doc->session_id, plan->session.id);
    if (plan->is_kept && !plan->is_json)
        cli_say(STDERR_FILENO, "session %s\n", plan->session.id);
    if (cli_with_put(&plan->with, c, plan->session.id, e) < 0)
        return plan->with.left_by != 0 ? 128 + plan->with.left_by : -1;
    _json_ json_t *before = cli_written_look(c, plan->session.id);
    int status = cli_run_cells(r, c, e);
    if (r->left_by != 0)
        return 128 + r->left_by;
    if (status < 0)
        return r->is_interrupted ? CLI_EXIT_INTERRUPTED : -1;
    /* What the notebook wrote is fetched, if that was asked for, before the session goes. */
    struct cli_transfer transfer = {.shows = plan->run.progress.is_on};
    plan->written = cli_written_since(c, plan->session.id, before);
    if (plan->files_to != NULL &&
        cli_written_fetch(c, plan->session.id, plan->written, plan->files_to, &transfer, e) < 0)
        return -1;
    if (plan->is_json && !run_report_json(plan))
        return CLI_EXIT_PIPE;
    if (!plan->is_json) {
        /* By a Ctrl-C that the cell caught, or that came when the cell was about to end. */
        bool is_ended_well = r->stopped_by != NULL && r->is_interrupted &&
                             r->doc->cells[r->stopped_by->number].state == CELL_COMPLETED;
        if (is_ended_well)
            cli_say(STDERR_FILENO, "cella: interrupted, and the cell ended well\n");
        else if (r->stopped_by != NULL)
            explain_stop(r);
        _buf_ struct buf text = BUF_INIT(64 * KIB);
        cli_append_safe(&text, r->out, strlen(r->out), false);
        buf_printf(&text, ": %zu of %zu code cells ran in %.1fs", r->n_ran, r->n_cells,
                   (double)r->duration_ms / 1000);
        if (r->n_failed > 0)
            buf_printf(&text, ", %zu failed", r->n_failed);
        if (strcmp(r->out, "-") != 0)
            cli_say(r->stopped_by != NULL ? STDERR_FILENO : STDOUT_FILENO, "%s\n", buf_str(&text));
        run_report_files(plan);
    }
    /* Cells that did not find what lies beside the notebook. */
    size_t n = 0;
    for (size_t i = 0; i < plan->run.doc->n_cells && n < ADVICE_MAX; i++) {
        size_t len = 0;
        const struct notebook_cell *cell = &plan->run.doc->cells[i];
        const char *message =
            cell->state == CELL_ERROR ? output_text(find_error(cell), "message", &len) : NULL;
        n += message != NULL && cli_with_advise(&plan->with, plan->in.path, message, len);
    }
    if (r->is_interrupted)
        return CLI_EXIT_INTERRUPTED;
    return r->stopped_by != NULL ? exit_status(r) : 0;
}

static int run_plan(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)args;
    struct run_plan *plan = context;
    if (cli_session_create(c, &plan->spec, &plan->session, e) < 0)
        return -1;
    int status = run_session(c, plan, e);
    struct err ignored; /* a session that died is gone already */
    if (!plan->is_kept)
        cli_session_kill(c, plan->session.id, &ignored);
    return status;
}

static int run_document(const struct cli_args *args, struct run_plan *plan, struct err *e)
{
    _document_ struct document *doc = NULL;
    struct cli_run *r = &plan->run;
    if (cli_document_read(&plan->in, &doc, e) < 0)
        return err_context(e, "%.200s", plan->in.path);
    r->doc = doc;
    if (settle_language(plan, doc, e) < 0 || cli_parameters_inject(&plan->parameters, doc, e) < 0 ||
        cli_run_prepare(r, e) < 0)
        return err_context(e, "%.200s", plan->in.path);
    /* Whether there is a place for the result is found out before anything runs. */
    if (r->is_written_often && !is_in_place(plan) && cli_run_write(r, e) < 0)
        return -1;
    cli_signals_take();
    return cli_client_with(args, true, run_plan, plan, e);
}

static int run_verb_run(const struct cli_args *args, struct err *e)
{
    struct run_plan *plan = mem_alloc(sizeof(*plan));
    const char *runtime = NULL;
    int status = run_read_plan(args, plan, &runtime, e);
    if (status == 0)
        status = run_document(args, plan, e);
    cli_run_free(&plan->run);
    cli_parameters_free(&plan->parameters);
    cli_with_free(&plan->with);
    json_decref(plan->written);
    cli_spec_free(&plan->spec);
    free(plan);
    return status;
}

const struct cli_verb cli_run_verb = {
    .name = "run",
    .subject = OP_ON_CODE,
    .summary = "run a notebook from beginning to end and keep what it showed",
    .usage = "[OPTION...] IN [-o OUT]",
    .about =
        "Runs the code cells of a notebook (ipynb, cells.json, or a script with cells marked by\n"
        "# %%) in a new session, one after the other, and writes the notebook with their outputs,\n"
        "counts, states and times to OUT, in one step after every cell. Cells that are empty or\n"
        "tagged 'skip-execution' are left as they are. The first cell that fails ends the run,\n"
        "unless --allow-errors is given or it is tagged 'raises-exception'. Input that a cell\n"
        "asks for is at its end.\n"
        "It runs in a sandbox, without the files beside it: --with takes them along, with their\n"
        "paths from the notebook's directory, or else by their names. What its cells write is "
        "told\n"
        "at the end, and goes with the sandbox unless --out names a folder for it.\n"
        "Parameters become a cell behind the one that is tagged 'parameters', else the first; it\n"
        "is tagged 'injected-parameters', and replaced when the result is run again.\n"
        "Exit status: 0, or 1 if a cell failed, which is told with the end of its error, or the\n"
        "code that it left with (sys.exit(3)); 130 if it was interrupted; others mean that it\n"
        "could not be run.",
    .flags = run_flags,
    .is_client = true,
    .examples = "cella run analysis.ipynb                     # makes analysis.out.ipynb\n"
                "cella run analysis.ipynb -o analysis.ipynb   # in its place\n"
                "cella run analysis.ipynb --with data.csv --with images --out results\n"
                "cella run report.ipynb -o june.html -p month 6 -p regions '[\"n\", \"s\"]'\n"
                "cella run analysis.py -o analysis.ipynb --timeout 10m --allow-errors\n"
                "cella run tests.ipynb -o /dev/null --json | python3 -m json.tool",
    .run = run_verb_run,
};
