/* Updates of what earlier cells show. The store applies them with the row of the cell that made
 * them (enum transcript_updates), and tells which cells have changed. */
#include "book/state.h"
#include "cell/outputs.h"

/* Whether another cell has the id is the store's to say. */
void book_tell_output(struct cell_record *record, const json_t *output, enum recorder_place place)
{
    if (place != RECORDER_UPDATED || transcript_shows(&record->cell->transcript, output))
        book_emit_output(record, output, place);
    if (place == RECORDER_UPDATED && book_is_watched(record->book))
        book_keep_soon(record);
}

static void emit_shown(struct book *book, const struct store_shown *shown)
{
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
        book_emit(book, "output", &members);
}

void book_on_shown(void *context, const char *notebook, const struct store_shown *shown)
{
    struct books *books = context;
    struct book *book = book_find(books, notebook);
    if (book != NULL && book_is_watched(book))
        emit_shown(book, shown);
    mirror_changed(books, notebook);
}
