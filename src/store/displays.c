/* Displays that can be updated: which cells of a notebook show something under which id. Rows
 * follow from outputs, as those of images do, so whatever becomes of a cell they are right.  An
 * output of a put with a member "updates" takes the place of all that other cells show under its id
 * (enum transcript_updates). It is applied with the put: in order, at once with it, and out of the
 * journal too. Applying it again changes nothing. Daemon; applied by the store's writer thread. */
#include "base/buf.h"
#include "cell/outputs.h"
#include "cell/transcript.h"
#include "store/internal.h"

enum { TARGETS_MAX = 64 };        /* cells that show one id, the newest first */
#define READ_BYTES_MAX (16 * MIB) /* outputs that one put looks through */
#define OUTPUTS_BYTES_MAX (STORE_CELL_BYTES / 2 + 512 * KIB)

static const char left_out[] = "[an output is left out: the cell has as much as a notebook keeps]";

/* ---- rows ------------------------------------------------------------------------------------ */

static bool may_have(const char *outputs, size_t len, const char *name)
{
    return outputs != NULL && memmem(outputs, len, name, strlen(name)) != NULL;
}

int displays_keep(struct store *store, uint64_t key, const char *outputs, size_t len, struct err *e)
{
    static const struct db_sql drop = {"DELETE FROM displays WHERE cell=?1"},
                               add = {"INSERT OR IGNORE INTO displays(notebook, id, cell)"
                                      " SELECT notebook, ?2, key FROM cells WHERE key=?1"};
    if (db_do(&store->db, &drop, e, DB_NUMBER(key)) < 0)
        return -1;
    if (!may_have(outputs, len, "\"display_id\":"))
        return 0;
    struct output_scan scan = OUTPUT_SCAN(outputs, len);
    struct output_view view;
    while (output_next(&scan, &view)) {
        struct output_text id = view.display_id;
        if (id.data != NULL &&
            db_do(&store->db, &add, e, DB_NUMBER(key), DB_TEXT_N(id.data, id.len)) < 0)
            return -1;
    }
    return 0;
}

/* ---- one update ------------------------------------------------------------------------------ */

struct display_target {
    uint64_t key;
    char id[CELL_ID_SIZE];
};

struct settling {
    struct store *store;
    const struct notebook_at *book;
    const char *notebook; /* the notebook's id */
    const char *cell;     /* id of the cell that is put */
    size_t n_read;        /* bytes */
    struct arena *memory; /* of the news; NULL if the caller does not want them */
    struct store_shown **news;
};

static void displays_tell(struct settling *s, const char *cell, const char *output, size_t len)
{
    if (s->memory == NULL)
        return;
    struct store_shown *shown = arena_alloc(s->memory, sizeof(*shown));
    *shown = (struct store_shown){.cell = arena_strdup(s->memory, cell),
                                  .output = arena_copy(s->memory, output, len),
                                  .len = len};
    *s->news = shown;
    s->news = &shown->next;
}

static int read_outputs(struct store *store, uint64_t key, struct buf *out, struct err *e)
{
    static const struct db_sql sql = {"SELECT outputs FROM outputs WHERE cell=?1"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(key));
    if (got > 0)
        buf_append(out, db_text(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    sqlite3_reset(s);
    return got < 0 ? -1 : 0;
}

/* Appends the new output to `outputs`, which has those of the other cell before it. */
static int displays_replace(struct settling *s, const struct display_target *target,
                            const struct output_view *old, const struct output_view *view,
                            size_t rest, struct buf *outputs, struct err *e)
{
    uint64_t n = 0;
    _buf_ struct buf output = BUF_INIT(STORE_CELL_BYTES);
    if (view->hash.data != NULL && images_next(s->store, target->key, &n, e) < 0)
        return -1;
    /* The output as the other cell will have it, in which a picture has another name. */
    struct output_text unmarked = output_unmarked(view);
    const char *from = unmarked.data;
    if (view->hash.data != NULL && view->ref.data != NULL && view->url.data > view->ref.data) {
        buf_append(&output, from, (size_t)(view->ref.data - from));
        buf_printf(&output, STORE_IMAGE_REF, s->notebook, target->id, (unsigned long long)n);
        from = view->ref.data + view->ref.len;
        buf_append(&output, from, (size_t)(view->url.data - from));
        buf_printf(&output, STORE_IMAGE_URL, s->notebook, target->id, (unsigned long long)n);
        from = view->url.data + view->url.len;
    }
    buf_append(&output, from, (size_t)(unmarked.data + unmarked.len - from));
    buf_append_char(&output, '}');
    if (output.overflowed || outputs->len + output.len + rest > OUTPUTS_BYTES_MAX) {
        buf_clear(&output);
        buf_printf(&output, "{\"type\":\"text\",\"text\":\"%s\",\"display_id\":\"", left_out);
        buf_append(&output, view->display_id.data, view->display_id.len);
        buf_append_str(&output, "\"}");
    }
    if (old->hash.data != NULL && images_drop(s->store, target->key, old, e) < 0)
        return -1;
    if (images_add(s->store, target->key, buf_str(&output), output.len, e) < 0)
        return -1;
    buf_append(outputs, buf_str(&output), output.len);
    displays_tell(s, target->id, buf_str(&output), output.len);
    return 0;
}

/* 1 if the cell shows something under the id. */
static int update_one(struct settling *s, const struct display_target *target,
                      const struct output_view *view, struct err *e)
{
    static const struct db_sql write = {"UPDATE outputs SET outputs=?2 WHERE cell=?1"};
    _buf_ struct buf old = BUF_INIT(STORE_CELL_BYTES + KIB);
    _buf_ struct buf outputs = BUF_INIT(STORE_CELL_BYTES + KIB);
    bool is_found = false, is_other = false;
    if (read_outputs(s->store, target->key, &old, e) < 0)
        return -1;
    s->n_read += old.len;
    struct output_scan scan = OUTPUT_SCAN(buf_str(&old), old.len);
    const char *from = scan.at;
    struct output_view each;
    while (output_next(&scan, &each)) {
        if (!output_text_is(each.display_id, view->display_id))
            continue;
        is_found = true;
        if (output_is_same(&each, view))
            continue;
        buf_append(&outputs, from, (size_t)(each.all.data - from));
        from = scan.at;
        is_other = true;
        if (displays_replace(s, target, &each, view, (size_t)(scan.end - scan.at), &outputs, e) < 0)
            return -1;
    }
    buf_append(&outputs, from, (size_t)(scan.end - from));
    if (is_other && !outputs.overflowed &&
        db_do(&s->store->db, &write, e, DB_NUMBER(target->key),
              DB_TEXT_N(buf_str(&outputs), outputs.len)) < 0)
        return -1;
    return is_found;
}

/* 1 if other cells show something under the id; from now on they show this output. */
static int update_others(struct settling *s, const struct output_view *view, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT d.cell, c.id FROM displays AS d JOIN cells AS c ON c.key=d.cell"
        " WHERE d.notebook=?1 AND d.id=?2 AND c.id<>?3 ORDER BY d.cell DESC LIMIT ?4"};
    struct display_target targets[TARGETS_MAX];
    struct output_text id = view->display_id;
    int n = 0, is_found = 0, got;
    sqlite3_stmt *q = db_ask(&s->store->db, &sql, e, DB_NUMBER(s->book->key),
                             DB_TEXT_N(id.data, id.len), DB_TEXT(s->cell), DB_NUMBER(TARGETS_MAX));
    if (q == NULL)
        return -1;
    while ((got = db_step(&s->store->db, q, e)) > 0 && n < TARGETS_MAX) {
        targets[n].key = db_number(q, 0);
        snprintf(targets[n++].id, sizeof(targets[0].id), "%s", db_text(q, 1));
    }
    sqlite3_reset(q);
    for (int i = 0; i < n && got >= 0 && s->n_read < READ_BYTES_MAX; i++) {
        got = update_one(s, &targets[i], view, e);
        is_found |= got > 0;
    }
    return got < 0 ? -1 : is_found;
}

/* ---- all of a put ---------------------------------------------------------------------------- */

/* 1 if the cell has this output already: its readers were told of it. */
static int displays_is_stored(struct settling *s, const struct output_view *view, struct err *e)
{
    struct cell_at at;
    _buf_ struct buf old = BUF_INIT(STORE_CELL_BYTES + KIB);
    int got = cell_find_id(s->store, s->book->key, s->cell, &at, e);
    if (got <= 0 || read_outputs(s->store, at.key, &old, e) < 0)
        return got < 0 ? -1 : 0;
    struct output_scan scan = OUTPUT_SCAN(buf_str(&old), old.len);
    struct output_view each;
    while (output_next(&scan, &each))
        if (output_text_is(each.display_id, view->display_id) && output_is_same(&each, view))
            return 1;
    return 0;
}

/* What the cell itself keeps of the output. */
static int settle_one(struct settling *s, const struct output_view *view, struct buf *out,
                      struct err *e)
{
    struct output_text text = view->all;
    int is_old = 1;
    if (output_is_update(view)) {
        enum transcript_updates kind = (enum transcript_updates)output_number(view->updates);
        int is_found = update_others(s, view, e);
        if (is_found < 0)
            return -1;
        if (kind == TRANSCRIPT_UPDATES_GONE || (kind == TRANSCRIPT_UPDATES_OTHERS && is_found))
            return 0;
        if (kind == TRANSCRIPT_UPDATES_OTHERS && (is_old = displays_is_stored(s, view, e)) < 0)
            return -1;
    }
    if (out->len > 1)
        buf_append_char(out, ',');
    size_t from = out->len;
    if (output_is_update(view))
        text = output_unmarked(view);
    buf_append(out, text.data, text.len);
    if (output_is_update(view))
        buf_append_char(out, '}');
    if (!is_old)
        displays_tell(s, s->cell, buf_str(out) + from, out->len - from);
    return 0;
}

int displays_settle(struct store *store, const struct notebook_at *book, const char *notebook,
                    const struct store_cell *cell, struct arena *memory, struct store_shown **news,
                    struct buf *out, struct err *e)
{
    if (!may_have(cell->outputs, cell->outputs_len, OUTPUT_UPDATES))
        return 0;
    struct settling s = {.store = store,
                         .book = book,
                         .notebook = notebook,
                         .cell = cell->id,
                         .memory = memory,
                         .news = news};
    struct output_scan scan = OUTPUT_SCAN(cell->outputs, cell->outputs_len);
    struct output_view view;
    buf_append_char(out, '[');
    while (output_next(&scan, &view)) {
        if (settle_one(&s, &view, out, e) < 0)
            return -1;
    }
    buf_append_char(out, ']');
    return out->overflowed ? 0 : 1;
}
