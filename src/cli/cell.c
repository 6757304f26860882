/* One cell from request to answer: live output, Ctrl-C, questions, exit status. Command line tool;
 * the request under way is the only state. */
#include "cli/cell.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/advice.h"
#include "cli/names.h"
#include "cli/news.h"
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>

enum {
    INTERRUPTS_MAX = 3,
    INTERRUPT_DEADLINE_MS = 5000,
    CELL_PATH_SIZE = 128,
    LIVE_BUDGET = 4 << 20
};

struct run {
    struct cli_client *client;
    struct cli_cell *cell;
    json_t *answer; /* the result event */
    struct err problem;
    bool is_problem;
    int n_interrupts;
};

/* By the status, where the interpreter has no say in it. */
static const struct {
    const char *status;
    int exit_status;
} statuses[] = {
    {"ok", 0},
    {"error", CLI_EXIT_FAILED},
    {"died", CLI_EXIT_FAILED},
    {"timeout", CLI_EXIT_TIMEOUT},
    {"interrupted", CLI_EXIT_INTERRUPTED},
    {"running", CLI_EXIT_RUNNING},
    {"queued", CLI_EXIT_RUNNING},
    {"input_required", CLI_EXIT_RUNNING},
    {"tool_call_required", CLI_EXIT_RUNNING},
};

bool cli_cell_is_status(const json_t *answer, const char *status)
{
    return cli_json_is(answer, "status", status);
}

static int exit_status_of(const json_t *answer, const char *member)
{
    int64_t status = cli_json_int(answer, member, -1);
    return status >= 0 && status <= 255 ? (int)status : -1;
}

static bool cli_cell_has_ended(const json_t *answer)
{
    return cli_cell_is_status(answer, "ok") || cli_cell_is_status(answer, "error");
}

static bool cell_is_number(const char *text, size_t len)
{
    size_t sign = len > 1 && text[0] == '-';
    return len > sign && len < 20 && strspn(text + sign, "0123456789") == len - sign;
}

int cli_cell_left_with(const json_t *answer)
{
    size_t len = 0;
    const json_t *error = json_object_get(answer, "error");
    const char *words = cli_json_text(error, "message", &len);
    int told = exit_status_of(answer, "exit_code");
    bool is_failure =
        cli_cell_is_status(answer, "error") && cli_json_is(error, "name", "SystemExit");
    if (cli_cell_is_status(answer, "ok") && told == 0)
        return 0;
    if (told >= 0 && (is_failure || cli_json_is(error, "name", "Exited")))
        return told;
    if (!is_failure)
        return -1;
    /* A process has eight bits of it, and words are a failure. */
    int code =
        words != NULL && cell_is_number(words, len) ? (int)(strtoll(words, NULL, 10) & 0xff) : 0;
    return code != 0 ? code : CLI_EXIT_FAILED;
}

int cli_cell_exit_status(const json_t *answer)
{
    int by_shell = exit_status_of(answer, "last_status");
    int by_end = exit_status_of(answer, "exit_code"), by_choice = cli_cell_left_with(answer);
    if (by_choice >= 0)
        return by_choice;
    if (cli_cell_has_ended(answer) && by_shell >= 0)
        return by_shell;
    if (by_end >= 0 && (cli_cell_has_ended(answer) || cli_cell_is_status(answer, "died")))
        return by_end;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (cli_cell_is_status(answer, statuses[i].status))
            return statuses[i].exit_status;
    return -1;
}

int cli_cell_check_code(const char *code, size_t len, struct err *e)
{
    if (len > CLI_CODE_MAX) {
        err_set(e, ERR_TOO_LARGE, "the code has %zu bytes; a cell may have %d", len, CLI_CODE_MAX);
        return err_advise(e, "put it in modules in /workspace, or split it into several cells");
    }
    if (memchr(code, '\0', len) != NULL)
        return err_set(e, ERR_INVALID, "the code contains a NUL byte");
    if (!utf8_is_valid(code, len)) {
        err_set(e, ERR_INVALID, "the code is not UTF-8 at byte %zu", utf8_valid_prefix(code, len));
        return err_advise(e, "save it as UTF-8");
    }
    return 0;
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Over a connection of its own: the cell's is busy. */
static void send_interrupt(const struct run *run)
{
    struct cli_client other = {.endpoint = run->client->endpoint, .fd = -1};
    char path[CELL_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s/interrupt", run->cell->session_id);
    struct cli_request request = {
        .method = "POST",
        .path = path,
        .body = "{}",
        .body_len = 2,
        .deadline_ms = clock_mono_ms() + INTERRUPT_DEADLINE_MS,
    };
    struct err e;
    _json_ json_t *object = NULL;
    if (cli_api_call(&other, &request, &object, &e) < 0)
        cli_say(STDERR_FILENO, "cella: the cell could not be interrupted: %s\n", e.message);
    cli_client_close(&other);
}

/* Ctrl-C is for the cell; a cell that ignores Ctrl-C is left by pressing it again. */
static bool cell_take_signal(void *context, int signo)
{
    struct run *run = context;
    run->n_interrupts++;
    run->cell->is_interrupted = true;
    if (signo != SIGINT || run->n_interrupts >= INTERRUPTS_MAX)
        run->cell->left_by = signo;
    if (run->n_interrupts < INTERRUPTS_MAX)
        send_interrupt(run);
    if (run->n_interrupts == INTERRUPTS_MAX - 1)
        cli_say(STDERR_FILENO, "cella: the cell does not stop; once more leaves it\n");
    return run->cell->left_by == 0;
}

/* --- events ----------------------------------------------------------------------------------- */

static bool cell_take_output(struct run *run, const json_t *event)
{
    size_t len = 0;
    const char *stream = cli_json_text(event, "stream", NULL);
    const char *text = cli_json_text(event, "text", &len);
    if (stream == NULL || text == NULL) {
        err_set(&run->problem, ERR_INTERNAL, "the daemon's stream makes no sense: %s",
                "an output without text");
        run->is_problem = true;
        return false;
    }
    cli_show_stream(run->cell->show, strcmp(stream, "stderr") == 0, text, len);
    return true;
}

static bool cell_take_event(void *context, const char *name, const char *data, size_t len)
{
    struct run *run = context;
    _json_ json_t *event = NULL;
    if (cli_api_read(data, len, &event, &run->problem) < 0) {
        run->is_problem = true;
        return false;
    }
    bool goes_on = true;
    if (strcmp(name, "result") == 0 && run->answer == NULL)
        run->answer = json_incref(event);
    else if (strcmp(name, "output") == 0)
        goes_on = cell_take_output(run, event);
    else if (strcmp(name, "display") == 0 || strcmp(name, "update") == 0)
        cli_show_output(run->cell->show, event);
    if (run->cell->show->problem == 0)
        return goes_on;
    /* Nobody reads our output any more, so the cell need not go on. */
    if (run->answer == NULL && run->n_interrupts == 0)
        send_interrupt(run);
    return false;
}

/* --- the requests ----------------------------------------------------------------------------- */

static void put_wait(struct json_out *out, const struct cli_cell *cell)
{
    /* Displays that were shown live count too, and would push the value out of a small one. */
    int64_t budget = cell->budget < 0 && cell->show != NULL ? LIVE_BUDGET : cell->budget;
    if (budget >= 0)
        json_put_member_int(out, "budget", budget);
    if (cell->yield_ms >= 0)
        json_put_member_int(out, "yield_ms", cell->yield_ms);
    if (cell->wants_names)
        json_put_member_bool(out, "names", true);
    if (cell->on_disconnect != NULL)
        json_put_member_str(out, "on_disconnect", cell->on_disconnect);
}

/* Why there is no answer, when it was not the daemon's doing. */
static int cell_explain(struct run *run, struct err *e)
{
    int problem = run->cell->show != NULL ? run->cell->show->problem : 0;
    if (run->is_problem)
        *e = run->problem;
    else if (run->cell->left_by != 0)
        err_set(e, ERR_CONFLICT, "the cell was left");
    else if (problem < 0)
        err_errno(e, ERR_UNAVAILABLE, problem, "writing the output");
    return -1;
}

/* One request and its answer, at the end of a stream if output is shown live. */
static int cell_ask(struct run *run, const char *path, const struct buf *body, json_t **ret_answer,
                    struct err *e)
{
    struct cli_cell *cell = run->cell;
    bool is_stream = cell->show != NULL;
    struct cli_request request = {
        .method = "POST",
        .path = path,
        .body = body->data,
        .body_len = body->len,
        .on_event = is_stream ? cell_take_event : NULL,
        .on_signal = cell_take_signal,
        .context = run,
        /* No deadline: cells wait in the session's queue, and the daemon keeps the time limit. */
    };
    if (cell->show != NULL) {
        cell->show->on_signal = cell_take_signal;
        cell->show->context = run;
    }
    _json_ json_t *answer = NULL;
    int status = cli_api_call(run->client, &request, &answer, e);
    if (is_stream && run->answer != NULL) {
        json_decref(answer);
        answer = take_ptr(run->answer);
        status = 0;
    } else if (status < 0) {
        status = cell_explain(run, e);
    }
    if (status == 0 && cli_cell_exit_status(answer) < 0)
        status = err_set(e, ERR_INTERNAL, "the daemon gave no result for the cell");
    if (status == 0)
        *ret_answer = take_ptr(answer);
    return status;
}

static int ask_to_continue(struct run *run, json_t **ret_answer, struct err *e)
{
    char path[CELL_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s/exec/%lld/continue", run->cell->session_id,
             (long long)run->cell->number);
    _buf_ struct buf body = BUF_INIT(4 * KIB);
    struct json_out out = JSON_OUT(&body);
    json_put_object(&out);
    put_wait(&out, run->cell);
    json_put_object_end(&out);
    return cell_ask(run, path, &body, ret_answer, e);
}

static int ask_with_input(struct run *run, const char *text, size_t len, json_t **ret_answer,
                          struct err *e)
{
    char path[CELL_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s/input", run->cell->session_id);
    _buf_ struct buf body = BUF_INIT(8 * CLI_LINE_MAX);
    struct json_out out = JSON_OUT(&body);
    json_put_object(&out);
    if (run->cell->number > 0)
        json_put_member_int(&out, "number", run->cell->number);
    if (text != NULL)
        json_put_member_text(&out, "text", text, len);
    else
        json_put_member_bool(&out, "eof", true);
    put_wait(&out, run->cell);
    json_put_object_end(&out);
    return cell_ask(run, path, &body, ret_answer, e);
}

/* --- input ------------------------------------------------------------------------------------ */

/* What came before goes in front of what came now. */
static void prepend_text(json_t *later, const json_t *earlier, const char *name)
{
    size_t before = 0, behind = 0;
    const char *first = cli_json_text(earlier, name, &before);
    const char *second = cli_json_text(later, name, &behind);
    if (first == NULL || before == 0)
        return;
    _buf_ struct buf whole = BUF_INIT(before + behind);
    buf_append(&whole, first, before);
    if (second != NULL)
        buf_append(&whole, second, behind);
    json_object_set_new(later, name, json_stringn(buf_str(&whole), whole.len));
}

/* Asks for the input and passes it on: the cell's next answer. */
static int answer_input(struct run *run, const json_t *asked, json_t **ret_answer, struct err *e)
{
    const json_t *input = json_object_get(asked, "input");
    size_t len = 0;
    const char *prompt = cli_json_text(input, "prompt", &len);
    bool is_secret = json_is_true(json_object_get(input, "password"));
    _buf_ struct buf line = BUF_INIT(CLI_LINE_MAX);
    switch (cli_ask(run->cell->asker, prompt != NULL ? prompt : "", len, is_secret, &line)) {
    case CLI_LINE_READ:
        return ask_with_input(run, buf_str(&line), line.len, ret_answer, e);
    case CLI_LINE_END:
        return ask_with_input(run, NULL, 0, ret_answer, e);
    case CLI_LINE_INTERRUPTED:
        if (cell_take_signal(run, SIGINT))
            return ask_to_continue(run, ret_answer, e);
        break;
    case CLI_LINE_TOO_LONG:
        send_interrupt(run);
        return err_set(e, ERR_TOO_LARGE, "a line of input is longer than %d bytes", CLI_LINE_MAX);
    case CLI_LINE_LEFT:
        cell_take_signal(run, SIGTERM);
        break;
    }
    return cell_explain(run, e);
}

static int answer_inputs(struct run *run, json_t **answer, struct err *e)
{
    while (run->cell->asker != NULL && cli_cell_is_status(*answer, "input_required")) {
        _json_ json_t *asked = take_ptr(*answer);
        run->cell->number = cli_json_int(asked, "number", 0);
        if (answer_input(run, asked, answer, e) < 0)
            return -1;
        prepend_text(*answer, asked, "stdout");
        prepend_text(*answer, asked, "stderr");
        json_t *all = json_array();
        json_array_extend(all, json_object_get(asked, "outputs"));
        json_array_extend(all, json_object_get(*answer, "outputs"));
        json_object_set_new(*answer, "outputs", all);
        int64_t lost = cli_json_int(asked, "dropped_bytes", 0);
        if (lost > 0) {
            lost += cli_json_int(*answer, "dropped_bytes", 0);
            json_object_set_new(*answer, "dropped_bytes", json_integer(lost));
        }
        if (json_is_true(json_object_get(asked, "truncated")))
            json_object_set_new(*answer, "truncated", json_true());
    }
    return 0;
}

/* --- for the verbs ---------------------------------------------------------------------------- */

int cli_cell_run(struct cli_client *c, struct cli_cell *cell, json_t **ret_answer, struct err *e)
{
    struct run run = {.client = c, .cell = cell};
    char path[CELL_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s/%s", run.cell->session_id,
             run.cell->how != NULL ? run.cell->how : "exec");
    _buf_ struct buf body = BUF_INIT(8 * CLI_CODE_MAX);
    struct json_out out = JSON_OUT(&body);
    json_put_object(&out);
    if (run.cell->path == NULL)
        json_put_member_text(&out, "code", run.cell->code, run.cell->code_len);
    json_put_member_str(&out, "images", "inline"); /* shown, written to files or passed on */
    if (run.cell->timeout_ms > 0)
        json_put_member_int(&out, "timeout_ms", run.cell->timeout_ms);
    put_wait(&out, run.cell);
    json_put_object_end(&out);
    if (cell_ask(&run, run.cell->path != NULL ? run.cell->path : path, &body, ret_answer, e) < 0)
        return -1;
    return answer_inputs(&run, ret_answer, e);
}

int cli_cell_continue(struct cli_client *c, struct cli_cell *cell, json_t **ret_answer,
                      struct err *e)
{
    struct run run = {.client = c, .cell = cell};
    if (ask_to_continue(&run, ret_answer, e) < 0)
        return -1;
    return answer_inputs(&run, ret_answer, e);
}

int cli_cell_input(struct cli_client *c, struct cli_cell *cell, const char *text, size_t len,
                   json_t **ret_answer, struct err *e)
{
    struct run run = {.client = c, .cell = cell};
    if (ask_with_input(&run, text, len, ret_answer, e) < 0)
        return -1;
    return answer_inputs(&run, ret_answer, e);
}

/* Code that leaves with words (sys.exit("no such column")) has said all there is to say; a number
 * says even less. */
static void show_farewell(struct cli_show *show, const json_t *answer)
{
    size_t len = 0;
    const json_t *error = json_object_get(answer, "error");
    const char *words = cli_json_text(error, "message", &len);
    if (!cli_json_is(error, "name", "SystemExit") || words == NULL || len == 0 ||
        cell_is_number(words, len))
        return;
    _buf_ struct buf text = BUF_INIT(16 * MIB);
    cli_append_safe(&text, words, len, true);
    buf_append_char(&text, '\n');
    cli_show_stream(show, true, buf_str(&text), text.len);
}

/* About what a command of the cell wrote. */
static void note_advice(const json_t *answer)
{
    size_t len = 0;
    const char *advice = cli_json_text(answer, "advice", &len);
    _buf_ struct buf safe = BUF_INIT(4 * KIB);
    if (advice == NULL)
        return;
    cli_append_advice(&safe, advice, len);
    cli_say(STDERR_FILENO, "cella: %s\n", buf_str(&safe));
}

/* Tools that were handed in are answered by a program, not by this one. */
static void cell_note_tool_calls(const struct cli_cell *cell, const json_t *answer)
{
    size_t i;
    const json_t *call;
    _buf_ struct buf names = BUF_INIT(4 * KIB);
    json_array_foreach(json_object_get(answer, "tool_calls"), i, call) {
        static const char *const members[] = {"name", "id"};
        for (size_t k = 0; k < ARRAY_LEN(members); k++) {
            size_t len = 0;
            const char *text = cli_json_text(call, members[k], &len);
            buf_append_str(&names, k > 0 ? " (" : i > 0 ? ", " : "");
            cli_append_safe(&names, text != NULL ? text : "", len, false);
        }
        buf_append_str(&names, ")");
    }
    cli_say(STDERR_FILENO,
            "cella: it waits for whoever handed these tools in: %s\n"
            "cella: answer with: cella call exec.tool_results session_id=%.8s cell=%lld "
            "results='[{\"id\": …, \"result\": …}]'\n",
            buf_str(&names), cell->session_id, (long long)cli_json_int(answer, "number", 0));
}

int cli_cell_finish(struct cli_cell *cell, const json_t *answer)
{
    struct cli_show *show = cell->show;
    if (show == NULL)
        return cli_print_json(answer) ? cli_cell_exit_status(answer) : CLI_EXIT_PIPE;
    cli_show_output(show, json_object_get(answer, "value"));
    if (cli_cell_has_ended(answer) && cli_cell_left_with(answer) >= 0)
        show_farewell(show, answer);
    else
        cli_show_error(show, answer);
    int64_t dropped = cli_json_int(answer, "dropped_bytes", 0);
    if (dropped > 0)
        cli_say(STDERR_FILENO,
                "cella: %lld bytes of output were not shown: they came faster than "
                "they were read\n",
                (long long)dropped);
    note_advice(answer);
    /* Why something failed that its own message may not explain. */
    const json_t *denied = json_object_get(answer, "denied");
    _buf_ struct buf names = BUF_INIT(4 * KIB);
    for (size_t i = 0; i < json_array_size(denied); i++) {
        size_t len = 0;
        const char *call = cli_json_text(json_array_get(denied, i), "call", &len);
        buf_append_str(&names, names.len > 0 ? ", " : "");
        cli_append_safe(&names, call != NULL ? call : "?", call != NULL ? len : 1, false);
    }
    if (names.len > 0 && cli_cell_exit_status(answer) != 0)
        cli_say(STDERR_FILENO, "cella: the sandbox denied: %s\n", buf_str(&names));
    if (!show->is_temporary) { /* else nobody will miss the session */
        _buf_ struct buf news = BUF_INIT(64 * KIB);
        cli_describe_news(&news, answer);
        if (news.len > 0)
            cli_say(STDERR_FILENO, "%s", buf_str(&news));
    }
    /* What to do about a cell that has not ended. */
    long long number = (long long)cli_json_int(answer, "number", 0);
    if (cli_cell_is_status(answer, "running") || cli_cell_is_status(answer, "queued"))
        cli_say(STDERR_FILENO, "cella: it still runs; go on with: cella continue %.8s %lld\n",
                cell->session_id, number);
    if (cli_cell_is_status(answer, "input_required")) {
        size_t len = 0;
        const char *prompt = cli_json_text(json_object_get(answer, "input"), "prompt", &len);
        _buf_ struct buf safe = BUF_INIT(64 * KIB);
        cli_append_safe(&safe, prompt != NULL ? prompt : "", len, true);
        cli_say(STDERR_FILENO,
                "%s%scella: it waits for a line; give it with: cella input %.8s TEXT\n",
                buf_str(&safe), safe.len > 0 ? "\n" : "", cell->session_id);
    }
    if (cli_cell_is_status(answer, "tool_call_required"))
        cell_note_tool_calls(cell, answer);
    if (cell->wants_names && show->problem == 0)
        cli_show_names(STDERR_FILENO, json_object_get(answer, "names"));
    return show->problem == -EPIPE ? CLI_EXIT_PIPE : cli_cell_exit_status(answer);
}
