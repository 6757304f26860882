/* Cells while they run: what the session room tells becomes rows. */
#include "base/clock.h"
#include "book/state.h"
#include "loop/loop.h"
#include "session/session.h"

enum {
    KEEPING_MS = 30 * 1000,
    KEEPING_SOON_MS = 200,           /* and more if it is much: */
    KEEPING_BYTES_PER_MS = 8 * 1024, /* that are written */
};
#define OUTPUTS_BYTES_MAX (4 * MIB) /* of one cell, as JSON */
#define TRACEBACK_BYTES_MAX (1 * MIB)
#define LISTING_BYTES_MAX (64 * KIB) /* of the code that an error goes with */

/* ---- rows --------------------------------------------------------------------------------------
 */

struct store_cell record_row(const struct cell_record *record, bool has_source)
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

void record_put(struct cell_record *record)
{
    struct err e;
    struct exec *exec = record->exec;
    if (record->is_outrun)
        return;
    _buf_ struct buf outputs = BUF_INIT(STORE_CELL_BYTES);
    transcript_put(&record->cell->transcript, &outputs);
    bool is_new = !record->is_put && exec != NULL;
    struct store_cell cell = record_row(record, is_new);
    cell.place = record->place;
    cell.outputs = outputs.len > 0 ? buf_str(&outputs) : NULL;
    cell.outputs_len = outputs.len;
    record->is_dirty = false;
    record->is_known = true;
    if (store_put_cell(record->book->books->store, record->book->id, &cell, &e) == 0)
        record->is_put = true;
    else if (is_new && exec->unrecorded == NULL) /* the store is full: its caller is told */
        exec->unrecorded = mem_strdup(e.message);
}

void record_free(struct cell_record *record)
{
    if (record->exec != NULL)
        record->exec->record = NULL;
    list_remove(&record->node);
    transcript_close(&record->cell->transcript);
    cell_release(record->cell);
    free(record);
}

struct cell_record *book_find_record(struct book *book, const char *cell)
{
    LIST_EACH(&book->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        if (record->exec != NULL && !record->is_outrun && strcmp(record->cell->id, cell) == 0)
            return record;
    }
    return NULL;
}

/* ---- beginning ---------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t n)
{
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
    return n ^ (n >> 31);
}

/* A permutation of all numbers, which the key chooses: four rounds of Feistel's. */
static uint32_t permute(uint32_t n, uint64_t key)
{
    uint32_t left = n >> 16, right = n & 0xffff;
    for (uint64_t round = 1; round <= 4; round++) {
        uint32_t next = left ^ (uint32_t)(mix(key ^ mix(key + (round << 16 | right))) & 0xffff);
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
static void make_id(const struct book *book, uint64_t exec_id, char *out, size_t size)
{
    uint64_t key = store_secret(book->books->store);
    for (const char *c = book->id; *c != '\0'; c++)
        key = mix(key ^ (unsigned char)*c);
    uint32_t id = (uint32_t)exec_id | MADE_HERE;
    do
        id = permute(id, key);
    while ((id & MADE_HERE) == 0); /* it comes back to where it began at the latest */
    snprintf(out, size, "%08x", id);
}

static bool refuse(struct exec *exec, const char *why)
{
    exec->unrecorded = mem_strdup(why);
    return false;
}

static bool may_record(struct book *book, struct exec *exec)
{
    struct err e;
    char text[200];
    unsigned long long max = book->books->config.max_cells;
    if (!exec->runs_given_cell && book->n_cells >= max) {
        snprintf(text, sizeof(text),
                 "the notebook has its %llu cells: remove some, or raise notebook.max_cells", max);
        return refuse(exec, text);
    }
    if (book_put_row(book, exec->session, &e) < 0)
        return refuse(exec, e.message);
    return true;
}

/* Runs that have ended and wait for their images. */
static void outrun_earlier(struct book *book, const char *cell)
{
    LIST_EACH(&book->records, node) {
        struct cell_record *earlier = CONTAINER_OF(node, struct cell_record, node);
        earlier->is_outrun |= strcmp(earlier->cell->id, cell) == 0;
    }
}

static void on_queued(void *context, struct exec *exec)
{
    struct books *books = context;
    struct book *book = book_ensure(books, exec->session->id);
    if (!may_record(book, exec)) {
        exec->has_no_row = true;
        return;
    }
    struct cell *cell = exec->cell;
    struct cell_record *record = mem_alloc(sizeof(*record));
    record->book = book;
    record->serial = ++book->last_record;
    record->exec = exec;
    record->cell = cell_ref(cell);
    transcript_record(&cell->transcript, (size_t)books->config.max_output_kb * KIB,
                      OUTPUTS_BYTES_MAX);
    if (exec->runs_given_cell) {
        record->is_put = true;
        outrun_earlier(book, cell->id);
    } else {
        make_id(book, exec->id, cell->id, sizeof(cell->id));
        cell->number = book->n_cells++;
        record->place = book->last_place += STORE_PLACE_GAP;
        book->n_appended++;
    }
    list_append(&book->records, &record->node);
    exec->record = record;
    record->is_dirty = true;
    record->is_known = book_is_watched(book);
    book_emit_record(record, exec->runs_given_cell ? "cell_changed" : "cell_added");
}

static void on_begun(void *context, struct exec *exec)
{
    (void)context;
    struct cell_record *record = exec->record;
    record->is_dirty = true;
    book_emit_record(record, "cell_changed");
}

/* True if it will have to be looked at again. */
static bool keep_records(const struct book *book)
{
    bool is_lasting = false;
    LIST_EACH(&book->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        if (record->is_lasting && record->is_dirty && record->exec != NULL)
            record_put(record);
        is_lasting = is_lasting || record->is_lasting;
    }
    return is_lasting;
}

/* What a cell has shown is safe while it runs, too; and the blob of an image is nobody's before a
 * row names it, which must not take the minutes after which such a blob is removed. */
static void on_keeping(void *context)
{
    struct books *books = context;
    size_t at = 0;
    const char *id;
    void *book;
    bool is_lasting = false;
    books->keeps_soon = false;
    while (map_next(&books->books, &at, &id, &book))
        is_lasting = keep_records(book) || is_lasting;
    if (is_lasting)
        loop_timer_set(books->keeping, KEEPING_MS);
}

void book_keep_soon(const struct cell_record *record)
{
    struct books *books = record->book->books;
    if (books->keeping == NULL || books->keeps_soon)
        return; /* before the first long cell: it is put when it becomes one */
    books->keeps_soon = true;
    loop_timer_set(books->keeping,
                   KEEPING_SOON_MS + record->cell->transcript.typed_len / KEEPING_BYTES_PER_MS);
}

static void on_lasting(void *context, struct exec *exec)
{
    struct books *books = context;
    struct cell_record *record = exec->record;
    record_put(record);
    record->is_lasting = true;
    if (books->keeping == NULL)
        books->keeping = loop_timer_new(books->loop, on_keeping, books);
    if (!loop_timer_is_set(books->keeping))
        loop_timer_set(books->keeping, KEEPING_MS);
}

/* ---- while it runs -----------------------------------------------------------------------------
 */

static void on_output(void *context, struct exec *exec, enum output_stream stream,
                      const char *bytes, size_t len)
{
    (void)context;
    struct cell_record *record = exec->record;
    record->is_dirty = true;
    book_emit_text(record, stream, bytes, len);
}

static uint64_t on_picture(void *context, struct exec *exec, json_t *output,
                           enum recorder_place place)
{
    (void)context;
    return picture_keep(exec->record, output, place);
}

static void on_shown(void *context, struct exec *exec, json_t *output, enum recorder_place place)
{
    (void)context;
    struct cell_record *record = exec->record;
    record->is_dirty = true;
    book_tell_output(record, output, place);
}

static void on_clear(void *context, struct exec *exec, bool waits)
{
    (void)context;
    struct cell_record *record = exec->record;
    record->is_dirty = true;
    book_emit_clear(record, waits);
}

/* ---- its end -----------------------------------------------------------------------------------
 */

/* The code that failed, with the numbers that tracebacks have for its lines: it may be edited
 * later.
 */
static json_t *list_code(const struct cell *cell)
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

static void add_error(struct cell_record *record, const struct exec_error *error)
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
    json_t *code = list_code(record->cell);
    if (code != NULL)
        json_object_set_new(output, "code", code);
    transcript_conclude(&record->cell->transcript, output, false);
    book_emit_output(record, output, RECORDER_SHOWN);
}

/* What is left are images that are being kept. */
static void leave_exec(struct cell_record *record)
{
    struct book *book = record->book;
    record->exec->record = NULL;
    record->exec = NULL;
    if (record->n_storing > 0)
        return;
    book_hold(book);
    record_free(record);
    book_let_go(book);
}

static void on_ended(void *context, struct exec *exec, const struct answer_facts *facts)
{
    (void)context;
    struct cell_record *record = exec->record;
    struct exec_error error;
    if (answer_error(facts, &error))
        add_error(record, &error);
    record_put(record);
    record->book->last_ended = exec->id;
    exec->has_no_row = !record->is_put;
    book_emit_record(record, "cell_changed");
    mirror_changed(record->book->books, record->book->id);
    leave_exec(record);
}

static void on_dropped(void *context, struct exec *exec, const char *why)
{
    (void)context;
    struct cell_record *record = exec->record;
    struct book *book = record->book;
    bool is_last = !exec->runs_given_cell && record->cell->number + 1 == book->n_cells;
    if (!record->is_put && is_last) {
        book->n_cells--;
        book->n_appended--;
        book->last_place = record->place - STORE_PLACE_GAP;
        book_emit_record(record, "cell_removed");
    } else if (!exec->runs_given_cell || record->is_known) {
        record->cell->state = CELL_INTERRUPTED;
        add_error(record, &(struct exec_error){.name = "NotRun",
                                               .message = {.text = why, .len = strlen(why)}});
        record_put(record);
        book_emit_record(record, "cell_changed");
    }
    leave_exec(record);
}

static void on_session(void *context, struct session *session, enum recorder_news news)
{
    struct books *books = context;
    struct book *book = book_ensure(books, session->id);
    book_hold(book);
    book->has_session = news == RECORDER_BORN;
    book_let_go(book);
}

static void on_moved(void *context, struct session *session, const struct recorder_move *move)
{
    struct err ignored; /* the marks are not worth a failed restoration */
    struct books *books = context;
    struct book *book = book_find(books, session->id);
    bool is_all_there = book != NULL && book->last_ended > 0 && book->last_ended <= move->after;
    if (book == NULL || (is_all_there && move->n_redone == 0))
        return;
    store_mark_undone(books->store, book->id, move->after, move->redone, move->n_redone, &ignored);
    book_emit_move(book, move);
}

const struct recorder book_recorder = {
    .on_session = on_session,
    .on_left = book_on_left,
    .on_moved = on_moved,
    .on_queued = on_queued,
    .on_begun = on_begun,
    .on_lasting = on_lasting,
    .on_output = on_output,
    .on_picture = on_picture,
    .on_shown = on_shown,
    .on_clear = on_clear,
    .on_ended = on_ended,
    .on_dropped = on_dropped,
};
