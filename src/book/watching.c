/* Whoever watches a notebook hears of every change, in order. */
#include "book/state.h"
#include "cell/output.h"

#define EVENT_BYTES_MAX (8 * MIB)

struct book_watcher {
    struct list node;
    struct book *book;
    book_event_fn fn;
    void *context;
};

struct book_watcher *book_watch(struct books *books, const char *id, book_event_fn fn,
                                void *context, struct err *e)
{
    struct book *book = book_ensure(books, id);
    if (book->n_watchers >= BOOK_WATCHERS_MAX) {
        err_set(e, ERR_LIMIT, "%d callers watch this notebook already", BOOK_WATCHERS_MAX);
        err_advise(e, "Close streams of events that nobody reads.");
        return NULL;
    }
    struct book_watcher *watcher = mem_alloc(sizeof(*watcher));
    watcher->book = book;
    watcher->fn = fn;
    watcher->context = context;
    list_append(&book->watchers, &watcher->node);
    book->n_watchers++;
    return watcher;
}

void book_unwatch(struct book_watcher *watcher)
{
    if (watcher == NULL)
        return;
    struct book *book = watcher->book;
    list_remove(&watcher->node);
    free(watcher);
    if (book == NULL)
        return; /* it went before its watchers did */
    book_hold(book);
    book->n_watchers--;
    book_let_go(book);
}

void book_drop_watchers(struct book *book)
{
    LIST_EACH(&book->watchers, node) {
        struct book_watcher *watcher = CONTAINER_OF(node, struct book_watcher, node);
        list_remove(&watcher->node);
        watcher->book = NULL;
    }
    book->n_watchers = 0;
}

void book_emit(struct book *book, const char *name, const struct buf *members)
{
    if (!book_is_watched(book))
        return;
    _buf_ struct buf json = BUF_INIT(EVENT_BYTES_MAX);
    buf_printf(&json, "{\"seq\":%llu%s", (unsigned long long)++book->seq,
               members->len > 0 ? "," : "");
    buf_append(&json, buf_str(members), members->len);
    buf_append_char(&json, '}');
    struct book_event event = {
        .seq = book->seq, .name = name, .json = buf_str(&json), .len = json.len};
    book_hold(book);
    LIST_EACH(&book->watchers, node) {
        const struct book_watcher *watcher = CONTAINER_OF(node, struct book_watcher, node);
        watcher->fn(watcher->context, &event);
    }
    book_let_go(book);
}

void book_emit_cell(struct book *book, const char *name, const struct store_cell *cell)
{
    if (!book_is_watched(book))
        return;
    _buf_ struct buf members = BUF_INIT(EVENT_BYTES_MAX);
    struct json_out json = JSON_OUT(&members);
    json_put_key(&json, "cell");
    book_put_cell(&json, book->id, cell, false);
    book_emit(book, name, &members);
}

/* Somebody watches its cell, and it is still that cell's run. */
static bool is_heard(const struct cell_record *record)
{
    return book_is_watched(record->book) && !record->is_outrun;
}

static void put_cell_name(struct json_out *json, const struct cell_record *record)
{
    json_put_member_str(json, "cell_id", record->cell->id);
    json_put_member_int(json, "number", (int64_t)record->cell->exec_id);
}

static void emit_id(struct cell_record *record, const char *name, const char *more)
{
    _buf_ struct buf members = BUF_INIT(KIB);
    buf_printf(&members, "\"cell_id\":\"%s\",\"number\":%llu%s", record->cell->id,
               (unsigned long long)record->cell->exec_id, more);
    book_emit(record->book, name, &members);
}

void book_emit_record(struct cell_record *record, const char *name)
{
    if (!is_heard(record))
        return;
    if (strcmp(name, "cell_removed") == 0) {
        emit_id(record, name, "");
        return;
    }
    bool is_new = strcmp(name, "cell_added") == 0;
    struct store_cell cell = record_row(record, is_new);
    cell.revision = is_new ? 1 : 0;
    book_emit_cell(record->book, name, &cell);
}

void book_emit_text(struct cell_record *record, enum output_stream stream, const char *bytes,
                    size_t len)
{
    if (!is_heard(record))
        return;
    _buf_ struct buf members = BUF_INIT(EVENT_BYTES_MAX);
    struct json_out json = JSON_OUT(&members);
    put_cell_name(&json, record);
    json_put_member_str(&json, "stream", output_stream_name(stream));
    json_put_member_text(&json, "text", bytes, len);
    book_emit(record->book, "output", &members);
}

void book_emit_output(struct cell_record *record, const json_t *output, enum recorder_place place)
{
    if (!is_heard(record))
        return;
    _buf_ struct buf members = BUF_INIT(EVENT_BYTES_MAX);
    struct json_out json = JSON_OUT(&members);
    put_cell_name(&json, record);
    if (place != RECORDER_SHOWN)
        json_put_member_bool(&json, place == RECORDER_VALUE ? "value" : "update", true);
    json_put_key(&json, "output");
    json_put_value(&json, output);
    if (!members.overflowed)
        book_emit(record->book, "output", &members);
}

void book_emit_clear(struct cell_record *record, bool waits)
{
    if (is_heard(record))
        emit_id(record, "output_cleared", waits ? ",\"wait\":true" : "");
}

void book_emit_move(struct book *book, const struct recorder_move *move)
{
    if (!book_is_watched(book))
        return;
    _buf_ struct buf members = BUF_INIT(64 * KIB);
    buf_printf(&members, "\"after\":%llu,\"redone\":[", (unsigned long long)move->after);
    for (size_t i = 0; i < move->n_redone; i++)
        buf_printf(&members, i > 0 ? ",%llu" : "%llu", (unsigned long long)move->redone[i]);
    buf_append_char(&members, ']');
    book_emit(book, "cells_undone", &members);
}
