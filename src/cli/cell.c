#include "cli/cell.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>

enum { INTERRUPTS_MAX = 3, INTERRUPT_DEADLINE_MS = 5000, PATH_SIZE = 128, LIVE_BUDGET = 4 << 20 };

struct run {
    struct cli_client *client;
    struct cli_cell *cell;
    json_t *answer; /* the result event */
    struct err problem;
    bool is_problem;
    int n_interrupts;
};

static const struct {
    const char *status;
    int exit_status;
} statuses[] = {
    {"ok", 0},
    {"error", CLI_EXIT_FAILED},
    {"died", CLI_EXIT_FAILED},
    {"timeout", CLI_EXIT_TIMEOUT},
    {"interrupted", CLI_EXIT_INTERRUPTED},
};

bool cli_cell_is_status(const json_t *answer, const char *status)
{
    const char *text = cli_json_text(answer, "status", NULL);
    return text != NULL && strcmp(text, status) == 0;
}

int cli_cell_exit_status(const json_t *answer)
{
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
    char path[PATH_SIZE];
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

/* Ctrl-C is for the cell; one that ignores it is left by pressing it again. */
static bool take_signal(void *context, int signo)
{
    struct run *run = context;
    run->n_interrupts++;
    if (signo != SIGINT || run->n_interrupts >= INTERRUPTS_MAX)
        run->cell->left_by = signo;
    if (run->n_interrupts < INTERRUPTS_MAX)
        send_interrupt(run);
    if (run->n_interrupts == INTERRUPTS_MAX - 1)
        cli_say(STDERR_FILENO, "cella: the cell does not stop; once more leaves it\n");
    return run->cell->left_by == 0;
}

/* --- events ----------------------------------------------------------------------------------- */

static bool spoil(struct run *run, const char *what)
{
    err_set(&run->problem, ERR_INTERNAL, "the daemon's stream makes no sense: %s", what);
    run->is_problem = true;
    return false;
}

static bool take_output(struct run *run, const json_t *event)
{
    size_t len = 0;
    const char *stream = cli_json_text(event, "stream", NULL);
    const char *text = cli_json_text(event, "text", &len);
    if (stream == NULL || text == NULL)
        return spoil(run, "an output without text");
    cli_show_stream(run->cell->show, strcmp(stream, "stderr") == 0, text, len);
    return true;
}

static bool take_event(void *context, const char *name, const char *data, size_t len)
{
    struct run *run = context;
    _json_ json_t *event = NULL;
    if (cli_api_read(data, len, &event, &run->problem) < 0) {
        run->is_problem = true;
        return false;
    }
    bool goes_on = true;
    if (strcmp(name, "output") == 0)
        goes_on = take_output(run, event);
    else if (strcmp(name, "display") == 0)
        cli_show_output(run->cell->show, event);
    else if (strcmp(name, "result") == 0 && run->answer == NULL)
        run->answer = json_incref(event);
    if (run->cell->show->problem == 0)
        return goes_on;
    /* Nobody reads our output any more, so the cell need not go on. */
    if (run->answer == NULL && run->n_interrupts == 0)
        send_interrupt(run);
    return false;
}

/* --- the request ------------------------------------------------------------------------------ */

static void write_body(const struct cli_cell *cell, struct buf *body)
{
    struct json_out out = JSON_OUT(body);
    json_put_object(&out);
    json_put_member_text(&out, "code", cell->code, cell->code_len);
    if (cell->timeout_ms > 0)
        json_put_member_int(&out, "timeout_ms", cell->timeout_ms);
    /* Displays that were shown live count too, and would push the value out of a small one. */
    int64_t budget = cell->budget < 0 && cell->show != NULL ? LIVE_BUDGET : cell->budget;
    if (budget >= 0)
        json_put_member_int(&out, "budget", budget);
    json_put_object_end(&out);
}

/* Why there is no answer, when it was not the daemon's doing. */
static int explain(struct run *run, struct err *e)
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

int cli_cell_run(struct cli_client *c, struct cli_cell *cell, json_t **ret_answer, struct err *e)
{
    struct run run = {.client = c, .cell = cell};
    _buf_ struct buf body = BUF_INIT(8 * CLI_CODE_MAX);
    write_body(cell, &body);
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s/exec", cell->session_id);
    struct cli_request request = {
        .method = "POST",
        .path = path,
        .body = body.data,
        .body_len = body.len,
        .on_event = cell->show != NULL ? take_event : NULL,
        .on_signal = take_signal,
        .context = &run,
        /* No deadline: cells wait in the session's queue, and the daemon keeps the time limit. */
    };
    if (cell->show != NULL) {
        cell->show->on_signal = take_signal;
        cell->show->context = &run;
    }
    json_t *answer = NULL;
    int status = cli_api_call(c, &request, &answer, e);
    if (cell->show != NULL && run.answer != NULL) {
        json_decref(answer);
        answer = run.answer;
        status = 0;
    } else if (status < 0) {
        status = explain(&run, e);
    }
    if (status == 0 && cli_cell_exit_status(answer) < 0)
        status = err_set(e, ERR_INTERNAL, "the daemon gave no result for the cell");
    if (status < 0)
        json_decref(answer);
    else
        *ret_answer = answer;
    return status;
}
