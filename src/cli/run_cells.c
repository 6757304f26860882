/* Of `cella run`, in the command line's process: gives the session's notebook the code cells of the
 * document, asks the daemon to run them and watches. Owns the document until it is written. */
#include "base/clock.h"
#include "cli/cell.h"
#include "cli/run.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>

enum {
    RUN_CELLS_PATH_SIZE = 128,
    WRITE_SHARE = 10,   /* writing takes less than this part of the time */
    POLL_MS = 50,       /* for the end of a cell that was interrupted */
    POLLS_PATIENT = 40, /* until the user is told that it does not end */
};

/* ---- the document ---------------------------------------------------------------------------- */

static bool run_cells_is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isspace((unsigned char)text[i]))
            return false;
    return true;
}

int cli_run_prepare(struct cli_run *r, struct err *e)
{
    struct document *doc = r->doc;
    char now[CLOCK_RFC3339_SIZE];
    r->cells = mem_alloc((doc->n_cells + 1) * sizeof(*r->cells));
    for (size_t i = 0; i < doc->n_cells; i++) {
        struct notebook_cell *cell = &doc->cells[i];
        if (cell->kind != CELL_CODE || cell_has_tag(cell->metadata, "skip-execution"))
            continue;
        json_array_clear(cell->outputs);
        json_object_del(cell->metadata, "execution");
        cell->execution_count = 0;
        cell->execution_time = -1;
        cell->state = CELL_IDLE;
        notebook_set_text(&cell->executed_at, NULL);
        if (run_cells_is_blank(cell->source, cell->source_len))
            continue;
        if (cli_cell_check_code(cell->source, cell->source_len, e) < 0)
            return err_context(e, "cell %zu (counted from 0)", i);
        r->cells[r->n_cells++] = (struct cli_run_cell){.number = i, .exit_code = -1};
    }
    r->progress.n = r->n_cells;
    if (doc->created_at == NULL)
        notebook_set_text(&doc->created_at, clock_rfc3339(clock_wall_ms(), now));
    doc->execution_count = 0;
    return 0;
}

void cli_run_free(struct cli_run *r)
{
    free(r->cells);
    json_decref(r->answer);
}

int cli_run_write(struct cli_run *r, struct err *e)
{
    _buf_ struct buf text = BUF_INIT(2 * NOTEBOOK_BYTES_MAX);
    if (notebook_write(r->doc, r->format, &text, e) < 0)
        return -1;
    int status = cli_document_write(r->out, &text);
    if (status < 0)
        return err_errno(e, ERR_UNAVAILABLE, -status, "%.200s cannot be written", r->out);
    return 0;
}

/* Whatever was waited for is left. A first Ctrl-C is for the cell, as the run's end makes it. */
static bool run_cells_take_signal(void *context, int signo)
{
    struct cli_run *r = context;
    if (signo == SIGINT && !r->is_interrupted)
        r->is_interrupted = true;
    else
        r->left_by = signo;
    return false;
}

static struct cli_request make_request(struct cli_run *r, const char *method, const char *path,
                                       const struct buf *body)
{
    return (struct cli_request){
        .method = method,
        .path = path,
        .body = body != NULL ? body->data : NULL,
        .body_len = body != NULL ? body->len : 0,
        .deadline_ms = clock_mono_ms() + 4 * CLI_DEADLINE_SHORT_MS,
        .on_signal = run_cells_take_signal,
        .context = r,
    };
}

static int send_cell(struct cli_run *r, struct cli_client *c, struct cli_run_cell *own,
                     struct err *e)
{
    const struct notebook_cell *cell = &r->doc->cells[own->number];
    json_t *tags = json_object_get(cell->metadata, "tags");
    char path[RUN_CELLS_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/notebooks/%s/cells", r->session_id);
    _buf_ struct buf body = BUF_INIT(16 * MIB);
    struct json_out out = JSON_OUT(&body);
    json_put_object(&out);
    json_put_member_text(&out, "code", cell->source, cell->source_len);
    if (json_is_array(tags)) {
        _json_ json_t *metadata = json_pack("{s:O}", "tags", tags);
        json_put_key(&out, "metadata");
        json_put_value(&out, metadata);
    }
    json_put_object_end(&out);
    _json_ json_t *answer = NULL;
    struct cli_request request = make_request(r, "POST", path, &body);
    if (cli_api_call(c, &request, &answer, e) < 0)
        return err_context(e, "cell %zu (counted from 0)", own->number);
    const char *id = cli_json_text(json_object_get(answer, "cell"), "cell_id", NULL);
    snprintf(own->id, sizeof(own->id), "%s", id != NULL ? id : "");
    return 0;
}

/* ---- what the daemon has of it --------------------------------------------------------------- */

/* The `at`-th that was sent: it is in its place unless somebody else changes the notebook. */
static const struct notebook_cell *find_made(const struct document *made, const char *id, size_t at)
{
    if (at < made->n_cells && strcmp(made->cells[at].id, id) == 0)
        return &made->cells[at];
    for (size_t i = 0; i < made->n_cells; i++)
        if (strcmp(made->cells[i].id, id) == 0)
            return &made->cells[i];
    return NULL;
}

/* A cell that still runs has not run yet. */
static int take_results(struct cli_run *r, struct err *e)
{
    _document_ struct document *made = NULL;
    char path[RUN_CELLS_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/notebooks/%s/export?format=ipynb", r->session_id);
    struct cli_request request = make_request(r, "GET", path, NULL);
    _buf_ struct buf text = BUF_INIT(0);
    if (cli_api_fetch(&r->reader, &request, &text, e) < 0)
        return -1;
    if (notebook_read_ipynb(buf_str(&text), text.len, &made, e) < 0)
        return -1;
    r->n_ran = r->n_failed = 0;
    for (size_t i = 0; i < r->n_cells; i++) {
        struct notebook_cell *cell = &r->doc->cells[r->cells[i].number];
        const struct notebook_cell *now = find_made(made, r->cells[i].id, i);
        if (now == NULL || now->state == CELL_IDLE || now->state == CELL_RUNNING)
            continue;
        json_decref(cell->outputs);
        cell->outputs = json_incref(now->outputs);
        cell->execution_count = now->execution_count;
        cell->execution_time = now->execution_time;
        cell->state = now->state;
        notebook_set_text(&cell->executed_at, now->executed_at);
        /* As Jupyter's clients note it. */
        char end[CLOCK_RFC3339_SIZE];
        clock_rfc3339(r->cells[i].ended_ms != 0 ? r->cells[i].ended_ms : clock_wall_ms(), end);
        const char *begin = cell->executed_at != NULL ? cell->executed_at : end;
        json_object_set_new(cell->metadata, "execution",
                            json_pack("{s:s, s:s, s:s, s:s}", "iopub.execute_input", begin,
                                      "iopub.status.busy", begin, "iopub.status.idle", end,
                                      "shell.execute_reply", end));
        if (r->cells[i].last_status != 0 && cell->state == CELL_COMPLETED) {
            cell->state = CELL_ERROR;
            json_t *message = json_sprintf("the last command ended with %lld",
                                           (long long)r->cells[i].last_status);
            json_array_append_new(cell->outputs,
                                  json_pack("{s:s, s:s, s:o}", "type", "error", "name",
                                            "ExitStatus", "message", message));
        }
        r->n_ran++;
        r->n_failed += cell->state != CELL_COMPLETED;
        r->doc->execution_count = MAX(r->doc->execution_count, cell->execution_count);
    }
    notebook_set_text(&r->doc->updated_at, made->updated_at);
    return 0;
}

/* After every cell, so that a kill leaves what ran; where cells end faster than that, less often,
 * and also while a cell runs. */
static int write_if_due(struct cli_run *r, struct err *e)
{
    uint64_t before = clock_mono_ms();
    if (!r->owes_write || before - r->written_ms < WRITE_SHARE * r->write_cost_ms)
        return 0;
    if (take_results(r, e) < 0 || cli_run_write(r, e) < 0)
        return -1;
    r->written_ms = clock_mono_ms();
    r->write_cost_ms = r->written_ms - before;
    r->owes_write = false;
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void show_progress(struct cli_run *r)
{
    if (r->n_ended == r->n_cells)
        return;
    const struct notebook_cell *cell = &r->doc->cells[r->cells[r->n_ended].number];
    cli_progress_begin(&r->progress, cell->source, cell->source_len);
}

static void note_end(struct cli_run *r, const json_t *event)
{
    const char *id = cli_json_text(event, "cell_id", NULL);
    for (size_t i = r->n_ended; id != NULL && i < r->n_cells; i++) {
        struct cli_run_cell *own = &r->cells[i];
        if (strcmp(own->id, id) != 0)
            continue;
        own->ended_ms = clock_wall_ms();
        own->last_status = cli_json_int(event, "last_status", 0);
        own->exit_code = cli_json_int(event, "exit_code", -1);
        r->n_ended = i + 1;
        r->owes_write = r->is_written_often;
        show_progress(r);
        return;
    }
}

static bool run_cells_take_event(void *context, const char *name, const char *data, size_t len)
{
    struct cli_run *r = context;
    _json_ json_t *event = NULL;
    if (cli_api_read(data, len, &event, &r->problem) < 0) {
        r->is_spoilt = true;
        return false;
    }
    if (strcmp(name, "result") == 0 && r->answer == NULL)
        r->answer = json_incref(event);
    if (strcmp(name, "cell") != 0)
        return true;
    note_end(r, event);
    r->is_spoilt = write_if_due(r, &r->problem) < 0;
    return !r->is_spoilt && !r->is_interrupted && r->left_by == 0;
}

static void take_tick(void *context)
{
    struct cli_run *r = context;
    struct err ignored; /* if it fails the next time tells */
    if (r->progress.is_on)
        cli_progress_draw(&r->progress);
    write_if_due(r, &ignored);
}

static int ask_to_run(struct cli_run *r, struct cli_client *c, struct err *e)
{
    char path[RUN_CELLS_PATH_SIZE];
    _json_ json_t *plain = NULL;
    _buf_ struct buf body = BUF_INIT(KIB);
    struct json_out out = JSON_OUT(&body);
    json_put_object(&out);
    json_put_member_bool(&out, "stop_on_error", !r->allows_errors);
    json_put_member_str(&out, "on_disconnect", "cancel");
    if (r->timeout_ms > 0)
        json_put_member_int(&out, "timeout_ms", r->timeout_ms);
    json_put_object_end(&out);
    snprintf(path, sizeof(path), "/v1/notebooks/%s/run", r->session_id);
    struct cli_request request = make_request(r, "POST", path, &body);
    request.deadline_ms = 0; /* the daemon keeps the time of each cell */
    request.on_event = run_cells_take_event;
    request.on_tick = take_tick;
    show_progress(r);
    int status = cli_api_call(c, &request, &plain, e);
    cli_progress_end(&r->progress);
    if (r->is_spoilt && !r->is_interrupted && r->left_by == 0) {
        *e = r->problem;
        return -1;
    }
    return r->answer != NULL || r->is_interrupted ? 0 : status;
}

/* The run was left, at which the daemon interrupts the cell and begins no other. */
static void await_end(struct cli_run *r, struct cli_client *c)
{
    char path[RUN_CELLS_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s", r->session_id);
    for (unsigned n = 0; r->left_by == 0; n++) {
        struct cli_request request = make_request(r, "GET", path, NULL);
        struct err ignored;
        _json_ json_t *session = NULL;
        if (cli_api_call(c, &request, &session, &ignored) < 0)
            return;
        const char *state = cli_json_text(session, "state", NULL);
        if (state == NULL || strcmp(state, "busy") != 0)
            return;
        if (n == POLLS_PATIENT)
            cli_say(STDERR_FILENO, "cella: the cell does not stop; Ctrl-C again leaves it\n");
        if (cli_wait(-1, 0, clock_mono_ms() + POLL_MS) == -EINTR)
            run_cells_take_signal(r, cli_signal_taken());
    }
}

int cli_run_cells(struct cli_run *r, struct cli_client *c, struct err *e)
{
    uint64_t before = clock_mono_ms();
    int status = 0;
    r->reader = (struct cli_client){.endpoint = c->endpoint, .fd = -1};
    for (size_t i = 0; status == 0 && i < r->n_cells; i++)
        status = send_cell(r, c, &r->cells[i], e);
    if (status == 0 && r->n_cells > 0)
        status = ask_to_run(r, c, e);
    if (status == 0 && r->is_interrupted)
        await_end(r, c);
    r->duration_ms = clock_mono_ms() - before;
    /* What there is of it is written, whatever happened; the first error is told. */
    struct err late, later;
    bool is_known = r->n_cells == 0 || take_results(r, &late) == 0;
    bool is_written = cli_run_write(r, &later) == 0;
    cli_client_close(&r->reader);
    /* Which cell ended the run before its time, if one did. */
    const struct cli_run_cell *last = NULL;
    for (size_t i = 0; i < r->n_cells; i++)
        if (r->doc->cells[r->cells[i].number].execution_count > 0)
            last = &r->cells[i];
    if (last != NULL) {
        enum cell_state state = r->doc->cells[last->number].state;
        bool has_failed =
            !r->allows_errors && cli_json_text(r->answer, "failed_cell_id", NULL) != NULL;
        bool has_lost_session = state == CELL_DIED && last != &r->cells[r->n_cells - 1];
        r->is_interrupted |= has_failed && state == CELL_INTERRUPTED;
        if (has_failed || has_lost_session || r->is_interrupted)
            r->stopped_by = last;
    }
    if (status < 0 || (is_known && is_written))
        return status;
    *e = is_known ? later : late;
    return -1;
}
