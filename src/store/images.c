/* Pictures of cells: their bytes are blobs, their rows follow from the outputs that name them, and
 * are roots of the sweep. Daemon; applied by the store's writer thread. */
#include "base/buf.h"
#include "cell/outputs.h"
#include "store/internal.h"
#include "wire/base64.h"

enum { FORMAT_SIZE = 16 };

struct image_row {
    uint64_t n;
    struct blob_hash hash;
    char format[FORMAT_SIZE];
    uint64_t width, height, bytes;
};

struct image_list {
    struct image_row *rows;
    size_t n, cap;
};

/* ---- from outputs ---------------------------------------------------------------------------- */

/* False if the output names no blob. */
static bool images_read_row(const struct output_view *view, uint64_t ordinal, struct image_row *ret)
{
    char hex[BLOB_HEX_SIZE] = "";
    if (view->hash.data == NULL || view->hash.len != BLOB_HEX_SIZE - 1)
        return false;
    *ret = (struct image_row){.n = output_image_number(view, ordinal),
                              .width = output_number(view->width),
                              .height = output_number(view->height),
                              .bytes = output_number(view->bytes)};
    memcpy(hex, view->hash.data, view->hash.len);
    if (view->format.data != NULL && view->format.len < FORMAT_SIZE)
        memcpy(ret->format, view->format.data, view->format.len);
    return blob_parse_hex(hex, &ret->hash) == 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct image_row *)a)->n, y = ((const struct image_row *)b)->n;
    return x < y ? -1 : x > y;
}

/* How many pictures of the list have rows already, from the first on. */
static int count_same(struct store *store, uint64_t key, const struct image_list *list,
                      size_t *ret_same, struct err *e)
{
    static const struct db_sql sql = {"SELECT n, hash FROM images WHERE cell=?1 ORDER BY n"};
    sqlite3_stmt *s = db_ask(&store->db, &sql, e, DB_NUMBER(key));
    size_t same = 0;
    int got = 0;
    if (s == NULL)
        return -1;
    while (same < list->n && (got = db_step(&store->db, s, e)) > 0) {
        const struct image_row *row = &list->rows[same];
        if (db_number(s, 0) != row->n || sqlite3_column_bytes(s, 1) != BLOB_HASH_BYTES ||
            memcmp(sqlite3_column_blob(s, 1), row->hash.bytes, BLOB_HASH_BYTES) != 0)
            break;
        same++;
    }
    sqlite3_reset(s);
    *ret_same = same;
    return got < 0 ? -1 : 0;
}

static int drop_from(struct store *store, uint64_t key, uint64_t n, struct err *e)
{
    static const struct db_sql sql = {"DELETE FROM images WHERE cell=?1 AND n>=?2"};
    if (db_do(&store->db, &sql, e, DB_NUMBER(key), DB_NUMBER(n)) < 0)
        return -1;
    if (sqlite3_changes(store->db.handle) > 0)
        sweep_want(store);
    return 0;
}

static int images_add_row(struct store *store, uint64_t key, const struct image_row *row,
                          struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO images(cell, n, hash, format, width, height, bytes)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7)"};
    struct err lost;
    /* A picture whose bytes are not there (a power cut before they were on disk) costs itself, not
     * its cell. */
    if (bodies_keep_blob(store, &row->hash, row->bytes, &lost) < 0) {
        *e = lost;
        return store->db.is_broken ? -1 : 0;
    }
    return db_do(&store->db, &sql, e, DB_NUMBER(key), DB_NUMBER(row->n),
                 DB_BYTES(row->hash.bytes, BLOB_HASH_BYTES), DB_TEXT(row->format),
                 DB_NUMBER(row->width), DB_NUMBER(row->height), DB_NUMBER(row->bytes));
}

int images_keep(struct store *store, uint64_t key, const char *outputs, size_t len, struct err *e)
{
    static const char mark[] = "\"hash\"";
    struct image_list list = {0};
    if (outputs == NULL || memmem(outputs, len, mark, sizeof(mark) - 1) == NULL)
        return drop_from(store, key, 0, e);
    struct output_scan scan = OUTPUT_SCAN(outputs, len);
    struct output_view view;
    struct image_row row;
    while (output_next(&scan, &view)) {
        if (!images_read_row(&view, list.n, &row))
            continue;
        if (list.n == list.cap) {
            list.cap = list.cap == 0 ? 8 : 2 * list.cap;
            list.rows = mem_realloc(list.rows, list.cap * sizeof(*list.rows));
        }
        list.rows[list.n++] = row;
    }
    if (list.n > 0)
        qsort(list.rows, list.n, sizeof(*list.rows), by_number);
    /* Rows that stay are left alone: a cell that shows one picture after another costs each once.
     */
    size_t same = 0;
    int rc = count_same(store, key, &list, &same, e);
    if (rc == 0)
        rc = drop_from(store, key, same == 0 ? 0 : list.rows[same - 1].n + 1, e);
    for (size_t i = same; i < list.n && rc == 0; i++)
        rc = images_add_row(store, key, &list.rows[i], e);
    free(list.rows);
    return rc;
}

int images_next(struct store *store, uint64_t key, uint64_t *ret_n, struct err *e)
{
    static const struct db_sql sql = {"SELECT coalesce(max(n)+1, 0) FROM images WHERE cell=?1"};
    sqlite3_stmt *s;
    if (db_first(&store->db, &sql, &s, e, DB_NUMBER(key)) < 0)
        return -1;
    *ret_n = db_number(s, 0);
    sqlite3_reset(s);
    return 0;
}

int images_add(struct store *store, uint64_t key, const char *output, size_t len, struct err *e)
{
    struct output_scan scan = OUTPUT_SCAN(output, len);
    struct output_view view;
    struct image_row row;
    bool is_image = output_next(&scan, &view) && images_read_row(&view, 0, &row);
    return is_image ? images_add_row(store, key, &row, e) : 0;
}

int images_drop(struct store *store, uint64_t key, const struct output_view *output, struct err *e)
{
    static const struct db_sql sql = {"DELETE FROM images WHERE cell=?1 AND n=?2"};
    struct image_row row;
    if (!images_read_row(output, 0, &row))
        return 0;
    sweep_want(store);
    return db_do(&store->db, &sql, e, DB_NUMBER(key), DB_NUMBER(row.n));
}

/* ---- put ------------------------------------------------------------------------------------- */

struct image_put_call {
    struct store_call call;
    struct store_picture picture;
    char hash[STORE_HASH_SIZE];
    uint64_t bytes;
};

static int put_bytes(struct store *store, struct image_put_call *put, const void *data, size_t len,
                     struct err *e)
{
    struct blob_put done;
    int rc = blob_put_bytes(store->blobs, data, len, &done);
    if (rc < 0) {
        err_errno(e, ERR_UNAVAILABLE, rc, "writing a picture to the data directory");
        return err_advise(e, "Check the disk of the data directory.");
    }
    blob_hex(&done.hash, put->hash);
    put->bytes = len;
    return 0;
}

static int images_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    struct image_put_call *put = CONTAINER_OF(call, struct image_put_call, call);
    const struct store_picture *picture = &put->picture;
    if (picture->len > STORE_IMAGE_BYTES) {
        err_set(e, ERR_TOO_LARGE, "the picture has %zu bytes, %zu can be kept", picture->len,
                (size_t)STORE_IMAGE_BYTES);
        return err_advise(e, "Make it smaller.");
    }
    if (!picture->is_base64)
        return put_bytes(store, put, picture->text, picture->len, e);
    _buf_ struct buf bytes = BUF_INIT(base64_decoded_max(picture->len));
    if (!base64_decode(&bytes, picture->text, picture->len)) {
        err_set(e, ERR_INVALID, "the picture is not base64");
        return err_advise(e, "Show it again.");
    }
    return put_bytes(store, put, buf_str(&bytes), bytes.len, e);
}

static void images_deliver_put(struct store_call *call, const struct err *e)
{
    const struct image_put_call *put = CONTAINER_OF(call, struct image_put_call, call);
    ((store_put_image_fn)call->fn)(call->context, e == NULL ? put->hash : NULL, put->bytes, e);
}

static void images_release_put(struct store_call *call)
{
    const struct store_picture *picture = &CONTAINER_OF(call, struct image_put_call, call)->picture;
    if (picture->release != NULL)
        picture->release(picture->owner);
}

static const struct call_type images_put_type = {
    .apply = images_apply_put, .deliver = images_deliver_put, .release = images_release_put};

struct store_call *store_put_image(struct store *store, const struct store_picture *picture,
                                   store_put_image_fn fn, void *context)
{
    struct image_put_call *put = call_new(store, &images_put_type, sizeof(*put), NULL);
    put->picture = *picture;
    if (picture->release == NULL && picture->len <= STORE_IMAGE_BYTES)
        put->picture.text = arena_copy(&put->call.memory, picture->text, picture->len);
    put->call.fn = (void *)fn;
    put->call.context = context;
    return call_job(&put->call);
}

/* ---- count ----------------------------------------------------------------------------------- */

struct count_call {
    struct store_call call;
    uint64_t bytes;
};

static int apply_count(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT coalesce(sum(bytes), 0) FROM (SELECT DISTINCT i.hash, i.bytes FROM cells c"
        " JOIN images i ON i.cell=c.key WHERE c.notebook=?1"
        " AND c.state NOT IN ('queued', 'running'))"};
    struct count_call *count = CONTAINER_OF(call, struct count_call, call);
    struct notebook_at book;
    if (notebook_find(store, call->scope, &book, e) < 0)
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    sqlite3_stmt *s;
    if (db_first(&store->db, &sql, &s, e, DB_NUMBER(book.key)) < 0)
        return -1;
    count->bytes = db_number(s, 0);
    sqlite3_reset(s);
    return 0;
}

static void deliver_count(struct store_call *call, const struct err *e)
{
    const struct count_call *count = CONTAINER_OF(call, struct count_call, call);
    ((store_bytes_fn)call->fn)(call->context, count->bytes, e);
}

static const struct call_type count_type = {
    .apply = apply_count, .deliver = deliver_count, .is_read = true};

struct store_call *store_count_images(struct store *store, const char *notebook, store_bytes_fn fn,
                                      void *context)
{
    struct count_call *count = call_new(store, &count_type, sizeof(*count), notebook);
    return call_ask(&count->call, (void *)fn, context);
}

/* ---- get ------------------------------------------------------------------------------------- */

struct image_get_call {
    struct store_call call;
    const char *cell;
    uint64_t n;
    struct store_image image;
};

static int images_apply_get(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT i.hash, i.format, i.width, i.height, i.bytes, c.id"
        " FROM images i JOIN cells c ON c.key=i.cell WHERE i.cell=?1 AND i.n=?2"};
    struct image_get_call *get = CONTAINER_OF(call, struct image_get_call, call);
    struct notebook_at book;
    struct cell_at at;
    if (notebook_find(store, call->scope, &book, e) < 0 ||
        cell_find(store, &book, get->cell, &at, e) < 0)
        return -1;
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(at.key), DB_NUMBER(get->n));
    if (got > 0) {
        struct blob_hash hash = db_hash(s, 0);
        const char *format = db_text(s, 1);
        blob_hex(&hash, get->image.hash);
        get->image.format = arena_strdup(&get->call.memory, format == NULL ? "" : format);
        get->image.width = db_number(s, 2);
        get->image.height = db_number(s, 3);
        get->image.bytes = db_number(s, 4);
        get->image.cell = arena_strdup(&get->call.memory, db_text(s, 5));
        sqlite3_reset(s);
        return 0;
    }
    if (got < 0)
        return -1;
    err_set(e, ERR_NOT_FOUND, "the cell has no picture %" PRIu64, get->n);
    return err_advise(e, "Its outputs were cleared, or it ran again.");
}

static void images_deliver_get(struct store_call *call, const struct err *e)
{
    const struct image_get_call *get = CONTAINER_OF(call, struct image_get_call, call);
    ((store_image_fn)call->fn)(call->context, e == NULL ? &get->image : NULL, e);
}

static const struct call_type images_get_type = {
    .apply = images_apply_get, .deliver = images_deliver_get, .is_read = true};

struct store_call *store_get_image(struct store *store, const char *notebook, const char *cell,
                                   uint64_t n, store_image_fn fn, void *context)
{
    struct image_get_call *get = call_new(store, &images_get_type, sizeof(*get), notebook);
    get->cell = arena_strdup(&get->call.memory, cell);
    get->n = n;
    return call_ask(&get->call, (void *)fn, context);
}
