/* Cells become rows of the store while they run, and watchers hear of it. Runs in the daemon; owns
 * the records. */
#include "session/recording.h"

#include "base/clock.h"
#include "cell/outputs.h"
#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/watching.h"

enum {
    KEEPING_MS = 30 * 1000,
    KEEPING_SOON_MS = 200,           /* and more if it is much: */
    KEEPING_BYTES_PER_MS = 8 * 1024, /* that are written */
    RECORDING_WAITS_MAX = HANDED_CALLS_MAX * HANDED_NAMED_SIZE,
};
#define OUTPUTS_BYTES_MAX (4 * MIB) /* of one cell, as JSON */
#define TRACEBACK_BYTES_MAX (1 * MIB)
#define LISTING_BYTES_MAX (64 * KIB) /* of the code that an error goes with */
#define EVENT_BYTES_MAX (8 * MIB)

/* ---- rows ------------------------------------------------------------------------------------ */

/* The cell as its row has it, without place and outputs. */
static struct store_cell recording_row(const struct cell_record *record, bool has_source)
{
    const struct cell *cell = record->cell;
    return (struct store_cell){.id = cell->id,
                               .number = cell->number,
                               .state = cell_state_name(cell->state),
                               .source = has_source ? cell->source : NULL,
                               .source_len = has_source ? cell->source_len : 0,
                               .exec_id = cell->exec_id,
                               .count = cell->executed_ms > 0 ? cell->exec_id : 0,
                               .created_ms = cell->created_ms,
                               .executed_ms = cell->executed_ms,
                               .duration_us = cell->duration_us};
}

void recording_put(struct cell_record *record)
{
    struct err e;
    struct exec *exec = record->exec;
    if (record->is_outrun)
        return;
    _buf_ struct buf outputs = BUF_INIT(STORE_CELL_BYTES);
    transcript_put(&record->cell->transcript, &outputs);
    bool is_new = !record->is_put && exec != NULL;
    struct store_cell cell = recording_row(record, is_new);
    _buf_ struct buf waits = BUF_INIT(RECORDING_WAITS_MAX);
    if (exec != NULL && exec == exec->session->running)
        handed_describe(exec->session, &waits);
    cell.waits = waits.len > 0 ? buf_str(&waits) : NULL;
    cell.place = record->place;
    cell.outputs = outputs.len > 0 ? buf_str(&outputs) : NULL;
    cell.outputs_len = outputs.len;
    record->is_dirty = false;
    record->is_known = true;
    if (store_put_cell(record->notebook->engine->store, record->notebook->id, &cell, &e) == 0)
        record->is_put = true;
    else if (is_new && exec->unrecorded == NULL) /* the store is full: the caller is told */
        exec->unrecorded = mem_strdup(e.message);
}

void recording_free(struct cell_record *record)
{
    if (record->exec != NULL)
        record->exec->record = NULL;
    list_remove(&record->node);
    transcript_close(&record->cell->transcript);
    cell_release(record->cell);
    free(record);
}

struct cell_record *recording_find(struct live_notebook *notebook, const char *cell)
{
    LIST_EACH(&notebook->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        if (record->exec != NULL && !record->is_outrun && strcmp(record->cell->id, cell) == 0)
            return record;
    }
    return NULL;
}

/* ---- what watchers hear ---------------------------------------------------------------------- */

/* Somebody watches the notebook, and the cell is still this run's. */
static bool recording_is_heard(const struct cell_record *record)
{
    return watching_is_on(record->notebook) && !record->is_outrun;
}

static void recording_put_name(struct json_out *json, const struct cell *cell)
{
    json_put_member_str(json, "cell_id", cell->id);
    json_put_member_int(json, "number", (int64_t)cell->exec_id);
}

static void recording_tell_id(struct cell_record *record, const char *name, const char *more)
{
    _buf_ struct buf members = BUF_INIT(KIB);
    if (!recording_is_heard(record))
        return;
    buf_printf(&members, "\"cell_id\":\"%s\",\"number\":%llu%s", record->cell->id,
               (unsigned long long)record->cell->exec_id, more);
    watching_tell(record->notebook, name, &members);
}

static void recording_tell_cell(struct cell_record *record, bool is_new)
{
    if (!recording_is_heard(record))
        return;
    struct store_cell cell = recording_row(record, is_new);
    cell.revision = is_new ? 1 : 0;
    watching_tell_cell(record->notebook, is_new ? "cell_added" : "cell_changed", &cell);
}

static void recording_tell_output(struct cell_record *record, const json_t *output,
                                  enum recording_place place)
{
    if (!recording_is_heard(record))
        return;
    _buf_ struct buf members = BUF_INIT(EVENT_BYTES_MAX);
    struct json_out json = JSON_OUT(&members);
    recording_put_name(&json, record->cell);
    if (place != RECORDING_SHOWN)
        json_put_member_bool(&json, place == RECORDING_VALUE ? "value" : "update", true);
    json_put_key(&json, "output");
    json_put_value(&json, output);
    if (!members.overflowed)
        watching_tell(record->notebook, "output", &members);
}

/* Whether another cell has the id of an update is the store's to say, which applies the update with
 * the row of the cell that made it (enum transcript_updates): so the row is put soon. Before the
 * first long cell it is put when it becomes one. */
void recording_tell(struct cell_record *record, const json_t *output, enum recording_place place)
{
    struct notebooks *notebooks = &record->notebook->engine->notebooks;
    if (place != RECORDING_UPDATED || transcript_shows(&record->cell->transcript, output))
        recording_tell_output(record, output, place);
    if (place != RECORDING_UPDATED || !watching_is_on(record->notebook) ||
        notebooks->keeping == NULL || notebooks->keeps_soon)
        return;
    notebooks->keeps_soon = true;
    loop_timer_set(notebooks->keeping,
                   KEEPING_SOON_MS + record->cell->transcript.typed_len / KEEPING_BYTES_PER_MS);
}

void recording_on_updated(void *context, const char *id, const struct store_shown *shown)
{
    struct engine *engine = context;
    struct live_notebook *notebook = notebooks_find(engine, id);
    if (notebook != NULL && watching_is_on(notebook)) {
        _buf_ struct buf clean = BUF_INIT(STORE_CELL_BYTES + KIB),
                         members = BUF_INIT(STORE_CELL_BYTES + KIB);
        struct json_out json = JSON_OUT(&clean);
        output_put_public(&json, shown->output, shown->len); /* an array of one */
        json = JSON_OUT(&members);
        json_put_member_str(&json, "cell_id", shown->cell);
        json_put_member_bool(&json, "update", true);
        json_put_key(&json, "output");
        json_put_raw(&json, buf_str(&clean) + 1, clean.len - 2);
        if (!members.overflowed)
            watching_tell(notebook, "output", &members);
    }
    notebooks_changed(engine, id);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static uint64_t recording_mix(uint64_t n)
{
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
    return n ^ (n >> 31);
}

/* A permutation of all numbers, which the key chooses: four rounds of Feistel's. */
static uint32_t recording_permute(uint32_t n, uint64_t key)
{
    uint32_t left = n >> 16, right = n & 0xffff;
    for (uint64_t round = 1; round <= 4; round++) {
        uint64_t mixed = recording_mix(key ^ recording_mix(key + (round << 16 | right)));
        uint32_t next = left ^ (uint32_t)(mixed & 0xffff);
        left = right;
        right = next;
    }
    return left << 16 | right;
}

#define MADE_HERE 0x80000000u

/* Eight hex digits, different for every cell that a session ever runs, without a list of those that
 * are taken: exec ids are used once. Which one is next nobody can tell who does not know the
 * store's secret, so nobody can have given it to another cell. The first bit sets them apart from
 * those that are made for cells which somebody inserts. */
static void recording_make_id(const struct live_notebook *notebook, struct cell *cell)
{
    uint64_t key = store_secret(notebook->engine->store);
    for (const char *c = notebook->id; *c != '\0'; c++)
        key = recording_mix(key ^ (unsigned char)*c);
    uint32_t id = (uint32_t)cell->exec_id | MADE_HERE;
    do
        id = recording_permute(id, key);
    while ((id & MADE_HERE) == 0); /* it comes back to where it began at the latest */
    snprintf(cell->id, sizeof(cell->id), "%08x", id);
}

/* False if the notebook cannot have the cell; then `unrecorded` says why. */
static bool recording_is_possible(struct live_notebook *notebook, struct exec *exec)
{
    struct err e;
    unsigned long long max = notebook->engine->config.notebooks.max_cells;
    if (!exec->runs_given_cell && notebook->n_cells >= max)
        err_set(&e, ERR_LIMIT,
                "the notebook has its %llu cells: remove some, or raise notebook.max_cells", max);
    else if (notebooks_put_row(notebook, exec->session, &e) == 0)
        return true;
    exec->unrecorded = mem_strdup(e.message);
    return false;
}

void recording_queued(struct exec *exec)
{
    struct engine *engine = exec->session->engine;
    if (engine->store == NULL || exec->session->is_unlisted)
        return;
    struct live_notebook *notebook = notebooks_ensure(engine, exec->session->id);
    exec->has_no_row = !recording_is_possible(notebook, exec);
    if (exec->has_no_row)
        return;
    struct cell *cell = exec->cell;
    struct cell_record *record = mem_alloc(sizeof(*record));
    record->notebook = notebook;
    record->serial = ++notebook->last_record;
    record->exec = exec;
    record->cell = cell_ref(cell);
    transcript_record(&cell->transcript, (size_t)engine->config.notebooks.max_output_kb * KIB,
                      OUTPUTS_BYTES_MAX);
    if (exec->runs_given_cell) {
        record->is_put = true;
        LIST_EACH(&notebook->records, node) { /* runs that have ended and wait for their images */
            struct cell_record *earlier = CONTAINER_OF(node, struct cell_record, node);
            earlier->is_outrun |= strcmp(earlier->cell->id, cell->id) == 0;
        }
    } else {
        recording_make_id(notebook, cell);
        cell->number = notebook->n_cells++;
        record->place = notebook->last_place += STORE_PLACE_GAP;
        notebook->n_appended++;
    }
    list_append(&notebook->records, &record->node);
    exec->record = record;
    record->is_dirty = true;
    record->is_known = watching_is_on(notebook);
    recording_tell_cell(record, !exec->runs_given_cell);
}

void recording_begun(struct exec *exec)
{
    if (exec->record == NULL)
        return;
    exec->record->is_dirty = true;
    recording_tell_cell(exec->record, false);
}

/* What a cell has shown is safe while it runs, too; and the blob of an image is nobody's before a
 * row names it, which must not take the minutes after which such a blob is removed. */
static void recording_on_keeping(void *context)
{
    struct notebooks *notebooks = context;
    size_t at = 0;
    const char *id;
    void *found;
    bool has_lasting = false;
    notebooks->keeps_soon = false;
    while (map_next(&notebooks->by_id, &at, &id, &found)) {
        const struct live_notebook *notebook = found;
        LIST_EACH(&notebook->records, node) {
            struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
            if (record->is_lasting && record->is_dirty && record->exec != NULL)
                recording_put(record);
            has_lasting |= record->is_lasting;
        }
    }
    if (has_lasting)
        loop_timer_set(notebooks->keeping, KEEPING_MS);
}

void recording_lasting(struct exec *exec)
{
    struct cell_record *record = exec->record;
    if (record == NULL)
        return;
    struct engine *engine = record->notebook->engine;
    struct notebooks *notebooks = &engine->notebooks;
    recording_put(record);
    record->is_lasting = true;
    if (notebooks->keeping == NULL)
        notebooks->keeping = loop_timer_new(engine->loop, recording_on_keeping, notebooks);
    if (!loop_timer_is_set(notebooks->keeping))
        loop_timer_set(notebooks->keeping, KEEPING_MS);
}

/* ---- while it runs --------------------------------------------------------------------------- */

void recording_output(struct exec *exec, enum output_stream stream, const char *bytes, size_t len)
{
    struct cell_record *record = exec->record;
    if (record == NULL)
        return;
    record->is_dirty = true;
    if (!recording_is_heard(record))
        return;
    _buf_ struct buf members = BUF_INIT(EVENT_BYTES_MAX);
    struct json_out json = JSON_OUT(&members);
    recording_put_name(&json, record->cell);
    json_put_member_str(&json, "stream", output_stream_name(stream));
    json_put_member_text(&json, "text", bytes, len);
    watching_tell(record->notebook, "output", &members);
}

void recording_shown(struct exec *exec, const json_t *output, enum recording_place place)
{
    if (exec->record == NULL)
        return;
    exec->record->is_dirty = true;
    recording_tell(exec->record, output, place);
}

void recording_clear(struct exec *exec, bool waits)
{
    if (exec->record == NULL)
        return;
    exec->record->is_dirty = true;
    recording_tell_id(exec->record, "output_cleared", waits ? ",\"wait\":true" : "");
}

/* ---- its end --------------------------------------------------------------------------------- */

/* The code that failed, with the numbers that tracebacks have for its lines: it may be edited
 * later. */
static json_t *recording_list_code(const struct cell *cell)
{
    _buf_ struct buf listing = BUF_INIT(LISTING_BYTES_MAX);
    const char *at = cell->source, *end = cell->source + cell->source_len;
    for (unsigned line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        buf_printf(&listing, "%4u  ", line);
        buf_append(&listing, at, (size_t)(stop - at));
        buf_append(&listing, "\n", 1);
        at = stop + 1;
    }
    return listing.overflowed ? NULL : json_stringn_nocheck(buf_str(&listing), listing.len);
}

static void recording_add_error(struct cell_record *record, const struct exec_error *error)
{
    _json_ json_t *output = json_pack("{ss ss}", "type", "error", "name", error->name);
    json_object_set_new(output, "message",
                        json_stringn_nocheck(error->message.text, error->message.len));
    size_t len = error->traceback.len;
    while (len > 0 && error->traceback.text[len - 1] == '\n')
        len--; /* it becomes a list of lines */
    if (error->traceback.text != NULL && len <= TRACEBACK_BYTES_MAX)
        json_object_set_new(output, "traceback", json_stringn_nocheck(error->traceback.text, len));
    if (error->advice != NULL)
        json_object_set_new(output, "advice", json_string(error->advice));
    json_t *code = recording_list_code(record->cell);
    if (code != NULL)
        json_object_set_new(output, "code", code);
    transcript_conclude(&record->cell->transcript, output, false);
    recording_tell_output(record, output, RECORDING_SHOWN);
}

/* What is left are images that are being kept. */
static void recording_leave(struct cell_record *record)
{
    struct live_notebook *notebook = record->notebook;
    record->exec->record = NULL;
    record->exec = NULL;
    if (record->n_storing > 0)
        return;
    notebooks_hold(notebook);
    recording_free(record);
    notebooks_let_go(notebook);
}

void recording_ended(struct exec *exec, const struct exec_error *error)
{
    struct cell_record *record = exec->record;
    if (record == NULL)
        return;
    if (error != NULL)
        recording_add_error(record, error);
    recording_put(record);
    record->notebook->last_ended = exec->id;
    exec->has_no_row = !record->is_put;
    recording_tell_cell(record, false);
    notebooks_changed(record->notebook->engine, record->notebook->id);
    recording_leave(record);
}

void recording_dropped(struct exec *exec, const char *why)
{
    struct cell_record *record = exec->record;
    if (record == NULL)
        return;
    struct live_notebook *notebook = record->notebook;
    bool is_last = !exec->runs_given_cell && record->cell->number + 1 == notebook->n_cells;
    if (!record->is_put && is_last) {
        notebook->n_cells--;
        notebook->n_appended--;
        notebook->last_place = record->place - STORE_PLACE_GAP;
        recording_tell_id(record, "cell_removed", "");
    } else if (!exec->runs_given_cell || record->is_known) {
        cell_move(record->cell, CELL_INTERRUPTED);
        recording_add_error(
            record,
            &(struct exec_error){.name = "NotRun", .message = {.text = why, .len = strlen(why)}});
        recording_put(record);
        recording_tell_cell(record, false);
    }
    recording_leave(record);
}

void recording_moved(struct session *session, uint64_t after, const uint64_t *redone,
                     size_t n_redone)
{
    struct err ignored; /* the marks are not worth a failed restoration */
    struct engine *engine = session->engine;
    struct live_notebook *notebook = notebooks_find(engine, session->id);
    bool is_all_there =
        notebook != NULL && notebook->last_ended > 0 && notebook->last_ended <= after;
    if (notebook == NULL || (is_all_there && n_redone == 0))
        return;
    store_mark_undone(engine->store, notebook->id, after, redone, n_redone, &ignored);
    if (!watching_is_on(notebook))
        return;
    _buf_ struct buf members = BUF_INIT(64 * KIB);
    buf_printf(&members, "\"after\":%llu,\"redone\":[", (unsigned long long)after);
    for (size_t i = 0; i < n_redone; i++)
        buf_printf(&members, i > 0 ? ",%llu" : "%llu", (unsigned long long)redone[i]);
    buf_append_char(&members, ']');
    watching_tell(notebook, "cells_undone", &members);
}
