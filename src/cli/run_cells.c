#include "base/clock.h"
#include "cli/cell.h"
#include "cli/collect.h"
#include "cli/run.h"

#include <ctype.h>
#include <errno.h>

enum {
    BUDGET = 16 << 20,   /* of the answer, which has the value and what the stream could not tell */
    WRITE_CHEAP_MS = 50, /* writing that takes longer is not done after every cell, */
    WRITE_SHARE = 10,    /* but so that it takes less than this part of the time */
};

/* ---- the document ------------------------------------------------------------------------------
 */

static bool run_cells_is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isspace((unsigned char)text[i]))
            return false;
    return true;
}

bool cli_run_runs(const struct notebook_cell *cell)
{
    return cell->kind == CELL_CODE && !is_blank(cell->source, cell->source_len) &&
           !notebook_has_tag(cell->metadata, "skip-execution");
}

static void forget_run(struct notebook_cell *cell)
{
    json_array_clear(cell->outputs);
    json_object_del(cell->metadata, "execution");
    cell->execution_count = 0;
    cell->execution_time = -1;
    cell->state = CELL_IDLE;
    notebook_set_text(&cell->executed_at, NULL);
}

int cli_run_prepare(struct cli_run *r, struct err *e)
{
    struct document *doc = r->doc;
    char now[CLOCK_RFC3339_SIZE];
    clock_rfc3339(clock_wall_ms(), now);
    for (size_t i = 0; i < doc->n_cells; i++) {
        struct notebook_cell *cell = &doc->cells[i];
        bool is_skipped = notebook_has_tag(cell->metadata, "skip-execution");
        if (cell->kind == CELL_CODE && !is_skipped)
            forget_run(cell);
        if (!cli_run_runs(cell))
            continue;
        r->progress.n++;
        if (cli_cell_check_code(cell->source, cell->source_len, e) < 0)
            return err_context(e, "cell %zu (counted from 0)", i);
    }
    if (doc->created_at == NULL)
        notebook_set_text(&doc->created_at, now);
    doc->execution_count = 0;
    return 0;
}

int cli_run_write(struct cli_run *r, struct err *e)
{
    _buf_ struct buf text = BUF_INIT(2 * NOTEBOOK_BYTES_MAX);
    uint64_t before = clock_mono_ms();
    if (notebook_write(r->doc, r->format, &text, e) < 0)
        return -1;
    int status = cli_document_write(r->out, &text);
    if (status < 0)
        return err_errno(e, ERR_UNAVAILABLE, -status, "%.200s cannot be written", r->out);
    r->written_ms = clock_mono_ms();
    r->write_cost_ms = r->written_ms - before;
    return 0;
}

static bool run_cells_is_due(const struct cli_run *r)
{
    return r->write_cost_ms < WRITE_CHEAP_MS ||
           clock_mono_ms() - r->written_ms >= WRITE_SHARE * r->write_cost_ms;
}

/* After every cell, so that a kill leaves what ran; less often once that takes long. */
static int write_step(struct cli_run *r, struct err *e)
{
    r->owes_write = r->is_written_often && !run_cells_is_due(r);
    return r->is_written_often && !r->owes_write ? cli_run_write(r, e) : 0;
}

/* ---- one cell ----------------------------------------------------------------------------------
 */

static enum cell_state run_cells_state_of(const json_t *answer)
{
    static const struct {
        const char *status;
        enum cell_state state;
    } states[] = {{"ok", CELL_COMPLETED},
                  {"error", CELL_ERROR},
                  {"timeout", CELL_TIMEOUT},
                  {"interrupted", CELL_INTERRUPTED}};
    if (cli_cell_is_status(answer, "ok") && cli_cell_exit_status(answer) != 0)
        return CELL_ERROR; /* the last command of a shell */
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (cli_cell_is_status(answer, states[i].status))
            return states[i].state;
    return CELL_DIED;
}

/* As Jupyter's clients note it. */
static void note_times(struct notebook_cell *cell, const char *begin, const char *end)
{
    json_object_set_new(cell->metadata, "execution",
                        json_pack("{s:s, s:s, s:s, s:s}", "iopub.execute_input", begin,
                                  "iopub.status.busy", begin, "iopub.status.idle", end,
                                  "shell.execute_reply", end));
}

static void settle_cell(struct cli_run *r, size_t number, const json_t *answer, uint64_t took_ms)
{
    struct notebook_cell *cell = &r->doc->cells[number];
    char end[CLOCK_RFC3339_SIZE];
    clock_rfc3339(clock_wall_ms(), end);
    cell->state = answer != NULL ? run_cells_state_of(answer) : CELL_DIED;
    cell->execution_time = cli_json_number(answer, "duration_ms", (double)took_ms) / 1000;
    note_times(cell, cell->executed_at, end);
    notebook_set_text(&r->doc->updated_at, end);
}

/* While a cell runs, and that may be long: what was not written after the one before it. The
 * running one has not run yet. If it fails the next time tells. */
static void write_owed(struct cli_run *r, struct notebook_cell *running)
{
    struct err ignored;
    int64_t count = running->execution_count;
    running->execution_count = 0;
    running->state = CELL_IDLE;
    cli_run_write(r, &ignored);
    running->execution_count = count;
    running->state = CELL_RUNNING;
    r->owes_write = false;
}

static void tick(void *context)
{
    struct cli_collect *collect = context;
    struct cli_run *r = collect->context;
    if (r->progress.is_on)
        cli_progress_draw(&r->progress);
    if (r->owes_write && run_cells_is_due(r))
        write_owed(r, &r->doc->cells[collect->number]);
}

/* Its outputs are in the document afterwards, whatever happened. */
static int run_cells_run_cell(struct cli_run *r, struct cli_client *c, size_t number, struct err *e)
{
    struct notebook_cell *cell = &r->doc->cells[number];
    char begin[CLOCK_RFC3339_SIZE];
    notebook_set_text(&cell->executed_at, clock_rfc3339(clock_wall_ms(), begin));
    cell->execution_count = ++r->doc->execution_count;
    cell->state = CELL_RUNNING;
    cli_progress_begin(&r->progress, cell->source, cell->source_len);

    struct cli_collect collect;
    cli_collect_begin(&collect, r->doc, number, CLI_COLLECT_NOTEBOOK_MAX - r->outputs_bytes);
    collect.context = r;
    struct cli_asker asker = {0}; /* nobody answers: whoever asks for input meets its end */
    struct cli_cell order = {
        .session_id = r->session_id,
        .code = cell->source,
        .code_len = cell->source_len,
        .timeout_ms = r->timeout_ms,
        .budget = BUDGET,
        .yield_ms = -1,
        .on_disconnect = "cancel",
        .on_event = cli_collect_event,
        .on_tick = r->progress.is_on || r->owes_write ? tick : NULL,
        .context = &collect,
        .asker = &asker,
    };
    _json_ json_t *answer = NULL;
    uint64_t before = clock_mono_ms();
    int status = cli_cell_run(c, &order, &answer, e);
    cli_collect_end(&collect, answer, e);
    settle_cell(r, number, answer, clock_mono_ms() - before);
    r->outputs_bytes += collect.room_max - collect.room;
    r->left_by = order.left_by;
    r->is_interrupted = order.is_interrupted;
    r->left_with = answer != NULL ? cli_cell_left_with(answer) : -1;
    r->n_ran++;
    return status;
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static bool is_allowed(const struct cli_run *r, const struct notebook_cell *cell)
{
    return r->allows_errors || notebook_has_tag(cell->metadata, "raises-exception");
}

static int run_step(struct cli_run *r, struct cli_client *c, size_t number, struct err *e)
{
    const struct notebook_cell *cell = &r->doc->cells[number];
    int status = run_cells_run_cell(r, c, number, e);
    r->n_failed += cell->state != CELL_COMPLETED;
    bool is_stopped = cell->state != CELL_COMPLETED && !is_allowed(r, cell);
    r->is_interrupted |= is_stopped && cell->state == CELL_INTERRUPTED;
    if (status < 0 || is_stopped || r->is_interrupted)
        r->stopped_at = number;
    return status;
}

int cli_run_cells(struct cli_run *r, struct cli_client *c, struct err *e)
{
    uint64_t before = clock_mono_ms();
    int status = 0;
    r->stopped_at = SIZE_MAX;
    r->left_with = -1;
    for (size_t i = 0; i < r->doc->n_cells && status == 0 && r->stopped_at == SIZE_MAX; i++) {
        if (r->left_with == 0) /* sys.exit() ends a script, and well */
            break;
        if (!cli_run_runs(&r->doc->cells[i]))
            continue;
        status = run_step(r, c, i, e);
        if (status == 0)
            status = write_step(r, e);
    }
    cli_progress_end(&r->progress);
    r->duration_ms = clock_mono_ms() - before;
    struct err late;
    if (cli_run_write(r, &late) < 0 && status == 0) {
        *e = late;
        status = -1;
    }
    return status;
}
