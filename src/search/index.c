/* Files, units and words in SQLite; who is ranked where. In a box, and in tests. */
#include "search/index.h"

#include "base/utf8.h"
#include "explore/embed.h"
#include "jail/files/manifest.h"
#include "search/encoder.h"
#include "search/matrix.h"
#include "search/words.h"
#include "wire/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

enum {
    INDEX_VERSION = 2,
    INDEX_CANDIDATES = 200, /* of each way to rank */
    INDEX_FUSION = 60,      /* reciprocal rank fusion: 1 / (60 + rank) */
    INDEX_STAMP_SIZE = 96,  /* the hash of a file's bytes, or what stat() says of it */
    INDEX_DEAD_MAX = 5000,  /* units that are gone, more than there are, before it is made anew */
    INDEX_LOOK_BYTES = 64 * 1024, /* in which a NUL makes a file binary */
    INDEX_VECTOR_BYTES = 2000,    /* of a unit's text that are embedded */
    INDEX_WORDS_MAX = 48 * 1024,
};
#define INDEX_TURN_BYTES (8 * MIB) /* of files that index_walk reads in one call */

enum index_state { INDEX_READ, INDEX_BINARY };

/* A file that has to be read. */
struct index_pending {
    char *path;
    char stamp[INDEX_STAMP_SIZE];
    uint64_t size;
};

struct index_vector {
    int64_t id;
    enum split_kind kind;
    int8_t dims[EMBED_DIM];
};

enum index_sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_FILES,
    SQL_FILE_ADD,
    SQL_FILE_DROP,
    SQL_UNIT_ADD,
    SQL_UNITS_DROP,
    SQL_WORDS_ADD,
    SQL_MATCH,
    SQL_UNIT,
    SQL_VECTORS,
    SQL_COUNT,
    SQL_TEXT_ADD,
    SQL_TEXTS,
    SQL_TEXT_DROP,
    SQL_TEXT_COUNT,
    SQL_MATRIX_ADD,
    SQL_MATRICES,
    SQL_LABEL,
    SQL_LABEL_SET,
    SQL_N,
};

static const char *const index_sqls[SQL_N] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_FILES] = "SELECT id, path, stamp, state FROM files ORDER BY path",
    [SQL_FILE_ADD] = "INSERT INTO files(path, stamp, state) VALUES(?1, ?2, ?3)",
    [SQL_FILE_DROP] = "DELETE FROM files WHERE path=?1 RETURNING id",
    [SQL_UNIT_ADD] = "INSERT INTO units(file, kind, type, name, signature, first, last, vector)"
                     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [SQL_UNITS_DROP] = "DELETE FROM units WHERE file=?1",
    [SQL_WORDS_ADD] = "INSERT INTO words(rowid, name, signature, body, path)"
                      " VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_MATCH] = "SELECT words.rowid FROM words JOIN units ON units.id=words.rowid"
                  " WHERE words MATCH ?1 AND units.kind=?2"
                  " ORDER BY bm25(words, 4.0, 2.0, 1.0, 1.0), words.rowid LIMIT ?3",
    [SQL_UNIT] = "SELECT files.path, units.type, units.name, units.signature, units.first,"
                 " units.last FROM units JOIN files ON files.id=units.file WHERE units.id=?1",
    [SQL_VECTORS] = "SELECT id, kind, vector FROM units",
    [SQL_TEXT_ADD] = "INSERT INTO texts(unit, text) VALUES(?1, ?2)",
    [SQL_TEXTS] = "SELECT unit, text FROM texts ORDER BY unit LIMIT ?1",
    [SQL_TEXT_DROP] = "DELETE FROM texts WHERE unit=?1",
    [SQL_TEXT_COUNT] = "SELECT count(*) FROM texts",
    [SQL_MATRIX_ADD] = "INSERT OR REPLACE INTO matrices(unit, dims, data)"
                       " SELECT ?1, ?2, ?3 WHERE EXISTS(SELECT 1 FROM units WHERE id=?1)",
    [SQL_MATRICES] = "SELECT matrices.unit, matrices.dims, matrices.data FROM matrices"
                     " JOIN units ON units.id=matrices.unit WHERE units.kind=?1",
    [SQL_LABEL] = "SELECT label FROM about",
    [SQL_LABEL_SET] = "INSERT INTO about(label) VALUES(?1)",
    [SQL_COUNT] = "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM units),"
                  " (SELECT count(*) FROM files WHERE state=1),"
                  " (SELECT coalesce(max(id), 0) FROM units)",
};

struct search_index {
    char path[4096];
    sqlite3 *db;
    sqlite3_stmt *sqls[SQL_N];
    bool is_open; /* a transaction is */
    struct index_pending *pending;
    size_t n_pending, cap_pending, next; /* those before `next` are done */
    struct index_counts counts;          /* of what is skipped: of the last list or walk */
    bool is_walking;
    char label[80];               /* of the encoder; "": none */
    struct index_vector *vectors; /* all of them; NULL if they have to be read */
    size_t n_vectors;
};

/* ---- SQLite ---------------------------------------------------------------------------------- */

static int index_fail(struct search_index *x, struct err *e)
{
    int code = sqlite3_errcode(x->db) & 0xff;
    if (code == SQLITE_FULL || code == SQLITE_IOERR) {
        err_set(e, ERR_LIMIT, "the index cannot grow: %.160s", sqlite3_errmsg(x->db));
        return err_advise(e,
                          "It may have %zu MiB, and the disk must have room: search fewer files.",
                          SEARCH_INDEX_BYTES / MIB);
    }
    err_set(e, ERR_UNAVAILABLE, "the index: %.200s", sqlite3_errmsg(x->db));
    return err_advise(e, "Ask again: a damaged index is made anew.");
}

static sqlite3_stmt *index_sql(struct search_index *x, enum index_sql which)
{
    if (x->sqls[which] == NULL)
        sqlite3_prepare_v3(x->db, index_sqls[which], -1, SQLITE_PREPARE_PERSISTENT, &x->sqls[which],
                           NULL);
    else
        sqlite3_reset(x->sqls[which]);
    return x->sqls[which];
}

static int index_run(struct search_index *x, sqlite3_stmt *s, struct err *e)
{
    int rc = s != NULL ? sqlite3_step(s) : SQLITE_ERROR;
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        if (rc == SQLITE_DONE)
            sqlite3_reset(s);
        return rc == SQLITE_ROW;
    }
    index_fail(x, e);
    if (s != NULL)
        sqlite3_reset(s);
    return -1;
}

static int index_exec(struct search_index *x, enum index_sql which, struct err *e)
{
    return index_run(x, index_sql(x, which), e) < 0 ? -1 : 0;
}

static int index_begin(struct search_index *x, struct err *e)
{
    if (x->is_open)
        return 0;
    if (index_exec(x, SQL_BEGIN, e) < 0)
        return -1;
    x->is_open = true;
    return 0;
}

int index_commit(struct search_index *x, struct err *e)
{
    struct err ignored;
    if (!x->is_open)
        return 0;
    x->is_open = false;
    if (index_exec(x, SQL_COMMIT, e) == 0)
        return 0;
    index_exec(x, SQL_ROLLBACK, &ignored);
    return -1;
}

static const char index_schema[] =
    "CREATE TABLE files(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, stamp TEXT NOT NULL,"
    " state INTEGER NOT NULL);"
    /* AUTOINCREMENT: words of a unit that is gone are never those of another. */
    "CREATE TABLE units(id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, signature TEXT NOT NULL,"
    " first INTEGER NOT NULL, last INTEGER NOT NULL, vector BLOB NOT NULL);"
    "CREATE INDEX units_by_file ON units(file);"
    /* What vectors of an encoder are made of, until there are some; and they. */
    "CREATE TABLE texts(unit INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE matrices(unit INTEGER PRIMARY KEY, dims INTEGER NOT NULL, data BLOB NOT NULL);"
    "CREATE TRIGGER units_gone AFTER DELETE ON units BEGIN"
    " DELETE FROM texts WHERE unit=old.id; DELETE FROM matrices WHERE unit=old.id; END;"
    "CREATE TABLE about(label TEXT NOT NULL);"
    "CREATE VIRTUAL TABLE words USING fts5(name, signature, body, path, content='',"
    " tokenize='porter unicode61');"
    "PRAGMA user_version=2;";

static int index_keep_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* SQLite's own way to files, which does not make names absolute. */
static const char *index_vfs(void)
{
    static sqlite3_vfs plain;
    if (plain.zName == NULL) {
        plain = *sqlite3_vfs_find(NULL);
        plain.zName = "search";
        plain.xFullPathname = index_keep_name;
        sqlite3_vfs_register(&plain, 0);
    }
    return plain.zName;
}

/* In the write-ahead mode with one user nothing is opened but the file and its log, and who is
 * killed in the middle leaves a whole index. */
static bool index_prepare(struct search_index *x)
{
    static const char settings[] =
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-32768; PRAGMA trusted_schema=OFF;"
        "PRAGMA cell_size_check=ON;";
    sqlite3_stmt *s = NULL;
    int version = -1;
    if (sqlite3_open_v2(x->path, &x->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, index_vfs()) !=
            SQLITE_OK ||
        sqlite3_exec(x->db, settings, NULL, NULL, NULL) != SQLITE_OK)
        return false;
    sqlite3_db_config(x->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(x->db, SQLITE_LIMIT_LENGTH, (int)(16 * MIB));
    if (sqlite3_prepare_v2(x->db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        version = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    if (version == 0 && sqlite3_exec(x->db, index_schema, NULL, NULL, NULL) == SQLITE_OK)
        version = INDEX_VERSION;
    char pages[64];
    snprintf(pages, sizeof(pages), "PRAGMA max_page_count=%zu", SEARCH_INDEX_BYTES / 4096);
    return version == INDEX_VERSION && sqlite3_exec(x->db, pages, NULL, NULL, NULL) == SQLITE_OK;
}

static void index_close_db(struct search_index *x)
{
    for (size_t i = 0; i < SQL_N; i++)
        sqlite3_finalize(take_ptr(x->sqls[i]));
    sqlite3_close_v2(take_ptr(x->db));
}

static void index_remove(const struct search_index *x)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char path[sizeof(x->path) + 16];
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(path, sizeof(path), "%s%s", x->path, ends[i]);
        unlink(path);
    }
}

struct search_index *index_open(const char *path, struct err *e)
{
    struct search_index *x = mem_alloc(sizeof(*x));
    snprintf(x->path, sizeof(x->path), "%s", path);
    if (index_prepare(x))
        return x;
    index_close_db(x);
    index_remove(x);
    if (index_prepare(x))
        return x;
    index_fail(x, e);
    index_close_db(x);
    free(x);
    return NULL;
}

static void index_forget_vectors(struct search_index *x)
{
    free(take_ptr(x->vectors));
    x->n_vectors = 0;
}

/* ---- what is in a file ----------------------------------------------------------------------- */

static int index_drop(struct search_index *x, const char *path, struct err *e)
{
    sqlite3_stmt *s = index_sql(x, SQL_FILE_DROP);
    sqlite3_bind_blob(s, 1, path, (int)strlen(path), SQLITE_STATIC);
    int found = index_run(x, s, e);
    if (found <= 0)
        return found;
    int64_t id = sqlite3_column_int64(s, 0);
    sqlite3_step(s);
    sqlite3_reset(s);
    s = index_sql(x, SQL_UNITS_DROP);
    sqlite3_bind_int64(s, 1, id);
    index_forget_vectors(x);
    return index_run(x, s, e) < 0 ? -1 : 0;
}

struct index_adding {
    struct search_index *x;
    int64_t file;
    enum split_kind kind;
    const char *path;
    struct buf words; /* scratch */
    struct err *e;
    int status;
};

static void index_bind_words(sqlite3_stmt *s, int column, struct buf *words, const char *text,
                             size_t len)
{
    buf_clear(words);
    words_of(text, len, words);
    sqlite3_bind_text(s, column, buf_str(words), (int)words->len, SQLITE_TRANSIENT);
}

/* What the unit is about: its name and signature, then the beginning of its text. */
static void index_embed(struct index_adding *a, const struct split_unit *unit,
                        int8_t ret[EMBED_DIM])
{
    buf_clear(&a->words);
    words_of(unit->name, strlen(unit->name), &a->words);
    words_of(unit->signature, strlen(unit->signature), &a->words);
    words_of(unit->text, MIN(unit->len, (size_t)INDEX_VECTOR_BYTES), &a->words);
    embed_text(buf_str(&a->words), a->words.len, ret);
}

/* What an encoder is given: the signature and the beginning of the text. */
static int index_keep_text(struct index_adding *a, int64_t id, const struct split_unit *unit)
{
    _buf_ struct buf text = BUF_INIT(8 * ENCODER_TEXT_MAX);
    utf8_append_lossy(&text, unit->signature, strlen(unit->signature));
    buf_append_char(&text, '\n');
    utf8_append_lossy(&text, unit->text, MIN(unit->len, (size_t)ENCODER_TEXT_MAX));
    sqlite3_stmt *s = index_sql(a->x, SQL_TEXT_ADD);
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_text(s, 2, buf_str(&text), (int)text.len, SQLITE_STATIC);
    return index_run(a->x, s, a->e);
}

static void index_add_unit(void *context, const struct split_unit *unit)
{
    struct index_adding *a = context;
    int8_t vector[EMBED_DIM];
    if (a->status < 0)
        return;
    index_embed(a, unit, vector);
    sqlite3_stmt *s = index_sql(a->x, SQL_UNIT_ADD);
    sqlite3_bind_int64(s, 1, a->file);
    sqlite3_bind_int(s, 2, (int)a->kind);
    sqlite3_bind_text(s, 3, unit->type, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, unit->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 5, unit->signature, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 6, (int64_t)unit->first);
    sqlite3_bind_int64(s, 7, (int64_t)unit->last);
    sqlite3_bind_blob(s, 8, vector, EMBED_DIM, SQLITE_STATIC);
    a->status = index_run(a->x, s, a->e);
    if (a->status < 0)
        return;
    s = index_sql(a->x, SQL_WORDS_ADD);
    int64_t id = sqlite3_last_insert_rowid(a->x->db);
    sqlite3_bind_int64(s, 1, id);
    index_bind_words(s, 2, &a->words, unit->name, strlen(unit->name));
    index_bind_words(s, 3, &a->words, unit->signature, strlen(unit->signature));
    index_bind_words(s, 4, &a->words, unit->text, unit->len);
    index_bind_words(s, 5, &a->words, a->path, strlen(a->path));
    a->status = index_run(a->x, s, a->e);
    if (a->status == 0 && a->x->label[0] != '\0')
        a->status = index_keep_text(a, id, unit);
}

static int index_add(struct search_index *x, const struct index_pending *file, const char *data,
                     size_t len, struct err *e)
{
    bool is_binary = len > 0 && memchr(data, '\0', MIN(len, (size_t)INDEX_LOOK_BYTES)) != NULL;
    if (index_begin(x, e) < 0 || index_drop(x, file->path, e) < 0)
        return -1;
    sqlite3_stmt *s = index_sql(x, SQL_FILE_ADD);
    sqlite3_bind_blob(s, 1, file->path, (int)strlen(file->path), SQLITE_STATIC);
    sqlite3_bind_text(s, 2, file->stamp, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 3, is_binary ? INDEX_BINARY : INDEX_READ);
    if (index_run(x, s, e) < 0)
        return -1;
    struct index_adding a = {.x = x,
                             .file = sqlite3_last_insert_rowid(x->db),
                             .kind = split_kind_of(file->path),
                             .path = file->path,
                             .words = BUF_INIT(INDEX_WORDS_MAX),
                             .e = e};
    index_forget_vectors(x);
    if (!is_binary)
        split_file(file->path, data, len, index_add_unit, &a);
    buf_free(&a.words);
    return a.status < 0 ? -1 : 0;
}

/* ---- which files there are ------------------------------------------------------------------- */

static void index_clear_pending(struct search_index *x)
{
    for (size_t i = 0; i < x->n_pending; i++)
        free(x->pending[i].path);
    free(take_ptr(x->pending));
    x->n_pending = x->cap_pending = x->next = 0;
}

/* What tools make, and copies of what others wrote. */
static bool index_is_left_out(const char *path)
{
    static const char *const folders[] = {".git",  ".hg",         ".svn",        "node_modules",
                                          ".venv", "__pycache__", ".mypy_cache", ".tox"};
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        size_t len = strcspn(at, "/");
        for (size_t i = 0; i < ARRAY_LEN(folders); i++)
            if (strlen(folders[i]) == len && memcmp(at, folders[i], len) == 0)
                return true;
    }
    return false;
}

/* A file of the list or the folder; the limits are looked at here. */
static void index_note(struct search_index *x, const char *path, const char *stamp, uint64_t size,
                       uint64_t *bytes)
{
    if (split_kind_of(path) == SPLIT_NEITHER || index_is_left_out(path))
        return;
    if (size > SEARCH_FILE_MAX) {
        x->counts.too_large++;
        return;
    }
    if (x->n_pending == SEARCH_FILES_MAX || *bytes + size > SEARCH_FILES_BYTES) {
        x->counts.beyond++;
        return;
    }
    *bytes += size;
    if (x->n_pending == x->cap_pending) {
        x->cap_pending = x->cap_pending == 0 ? 256 : 2 * x->cap_pending;
        x->pending = mem_realloc(x->pending, x->cap_pending * sizeof(*x->pending));
    }
    struct index_pending *p = &x->pending[x->n_pending++];
    *p = (struct index_pending){.path = mem_strdup(path), .size = size};
    snprintf(p->stamp, sizeof(p->stamp), "%s", stamp);
}

static int index_by_path(const void *a, const void *b)
{
    return strcmp(((const struct index_pending *)a)->path, ((const struct index_pending *)b)->path);
}

static int index_by_stamp(const void *a, const void *b)
{
    const struct index_pending *one = a, *other = b;
    int order = strcmp(one->stamp, other->stamp);
    return order != 0 ? order : strcmp(one->path, other->path);
}

static bool index_wants_to_be_new(struct search_index *x)
{
    struct err ignored;
    sqlite3_stmt *s = index_sql(x, SQL_COUNT);
    if (index_run(x, s, &ignored) != 1)
        return true;
    int64_t units = sqlite3_column_int64(s, 1), ever = sqlite3_column_int64(s, 3);
    sqlite3_reset(s);
    return ever - units > units + INDEX_DEAD_MAX;
}

static int index_set_label(struct search_index *x, struct err *e)
{
    sqlite3_stmt *s = index_sql(x, SQL_LABEL_SET);
    sqlite3_bind_text(s, 1, x->label, -1, SQLITE_STATIC);
    return index_run(x, s, e) < 0 ? -1 : 0;
}

static int index_make_new(struct search_index *x, struct err *e)
{
    if (index_commit(x, e) < 0)
        return -1;
    index_close_db(x);
    index_remove(x);
    index_forget_vectors(x);
    return index_prepare(x) ? 0 : index_fail(x, e);
}

int index_expect(struct search_index *x, const char *label, struct err *e)
{
    sqlite3_stmt *s = index_sql(x, SQL_LABEL);
    int found = index_run(x, s, e);
    if (found < 0)
        return -1;
    const char *known = found > 0 ? (const char *)sqlite3_column_text(s, 0) : NULL;
    bool is_same = known != NULL && strcmp(known, label) == 0;
    sqlite3_reset(s);
    if (!is_same && index_make_new(x, e) < 0)
        return -1;
    snprintf(x->label, sizeof(x->label), "%s", label);
    return is_same ? 0 : index_set_label(x, e);
}

/* Files that are known as they are need not be read; those that are not there are dropped. */
static int index_compare(struct search_index *x, struct err *e)
{
    char **gone = NULL;
    size_t n_gone = 0, cap_gone = 0, kept = 0, at = 0;
    int more, status = 0;
    if (index_wants_to_be_new(x) && (index_make_new(x, e) < 0 || index_set_label(x, e) < 0))
        return -1;
    if (x->n_pending > 0)
        qsort(x->pending, x->n_pending, sizeof(*x->pending), index_by_path);
    sqlite3_stmt *s = index_sql(x, SQL_FILES);
    while ((more = index_run(x, s, e)) > 0) {
        char path[MANIFEST_PATH_MAX + 1];
        snprintf(path, sizeof(path), "%.*s", sqlite3_column_bytes(s, 1),
                 (const char *)sqlite3_column_blob(s, 1));
        const char *stamp = (const char *)sqlite3_column_text(s, 2);
        for (; at < x->n_pending && strcmp(x->pending[at].path, path) < 0; at++)
            x->pending[kept++] = x->pending[at];
        bool is_there = at < x->n_pending && strcmp(x->pending[at].path, path) == 0;
        if (is_there && stamp != NULL && strcmp(x->pending[at].stamp, stamp) == 0) {
            free(x->pending[at++].path);
        } else if (!is_there) {
            if (n_gone == cap_gone) {
                cap_gone = cap_gone == 0 ? 64 : 2 * cap_gone;
                gone = mem_realloc(gone, cap_gone * sizeof(*gone));
            }
            gone[n_gone++] = mem_strdup(path);
        }
    }
    for (; at < x->n_pending; at++)
        x->pending[kept++] = x->pending[at];
    x->n_pending = kept;
    if (kept > 0)
        qsort(x->pending, kept, sizeof(*x->pending), index_by_stamp);
    status = more;
    for (size_t i = 0; i < n_gone; i++) {
        if (status == 0 && (index_begin(x, e) < 0 || index_drop(x, gone[i], e) < 0))
            status = -1;
        free(gone[i]);
    }
    free(gone);
    return status < 0 ? -1 : index_commit(x, e);
}

static void index_restart(struct search_index *x)
{
    index_clear_pending(x);
    x->counts = (struct index_counts){0};
    x->is_walking = false;
}

int index_list(struct search_index *x, const char *list, size_t len, struct err *e)
{
    struct manifest *m = NULL;
    uint64_t bytes = 0;
    char hex[BLOB_HEX_SIZE];
    if (manifest_parse(list, len, &m, e) < 0)
        return -1;
    index_restart(x);
    for (size_t i = 0; i < m->n_entries; i++)
        if (m->entries[i].type == MANIFEST_FILE)
            index_note(x, m->entries[i].path, blob_hex(&m->entries[i].hash, hex),
                       m->entries[i].size, &bytes);
    manifest_free(m);
    return index_compare(x, e);
}

void index_needs(const struct search_index *x, struct json_out *o)
{
    size_t n = 0;
    json_put_key(o, "need");
    json_put_array(o);
    for (size_t i = x->next; i < x->n_pending && n < SEARCH_BATCH_FILES; i++) {
        if (i > x->next && strcmp(x->pending[i].stamp, x->pending[i - 1].stamp) == 0)
            continue;
        json_put_str(o, x->pending[i].stamp);
        n++;
    }
    json_put_array_end(o);
    json_put_member_int(o, "left", (int64_t)(x->n_pending - x->next));
}

/* They are asked for in order, and come so. */
int index_take(struct search_index *x, const char *hash, const char *data, size_t len,
               struct err *e)
{
    for (; x->next < x->n_pending && strcmp(x->pending[x->next].stamp, hash) == 0; x->next++) {
        if (data == NULL || len > SEARCH_FILE_MAX)
            x->counts.unreadable++;
        else if (index_add(x, &x->pending[x->next], data, len, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static void index_stamp(const struct stat *st, char ret[INDEX_STAMP_SIZE])
{
    snprintf(ret, INDEX_STAMP_SIZE, "%llu:%lld.%09ld:%llu:%lld.%09ld",
             (unsigned long long)st->st_size, (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
             (unsigned long long)st->st_ino, (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

/* No link is followed, and nothing is opened that is not a folder or, later, a plain file. */
static void index_look(struct search_index *x, int parent, const char *name, char *path,
                       size_t path_len, unsigned depth, uint64_t *bytes)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    if (dir == NULL) {
        cleanup_fd(&fd);
        x->counts.unreadable++;
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        struct stat st;
        char stamp[INDEX_STAMP_SIZE];
        size_t len = strlen(entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            path_len + len + 2 > MANIFEST_PATH_MAX || index_is_left_out(entry->d_name) ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        size_t n = path_len;
        if (n > 0)
            path[n++] = '/';
        memcpy(path + n, entry->d_name, len + 1);
        if (S_ISDIR(st.st_mode) && depth < MANIFEST_DEPTH_MAX) {
            index_look(x, fd, entry->d_name, path, n + len, depth + 1, bytes);
        } else if (S_ISREG(st.st_mode)) {
            index_stamp(&st, stamp);
            index_note(x, path, stamp, (uint64_t)st.st_size, bytes);
        }
        path[path_len] = '\0';
    }
    closedir(dir);
}

/* One name at a time, through no link. */
static int index_open_file(int folder, const char *path)
{
    _fd_ int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    while (at >= 0) {
        char name[NAME_MAX + 1];
        size_t len = strcspn(path, "/");
        if (len > NAME_MAX)
            return -1;
        memcpy(name, path, len);
        name[len] = '\0';
        if (path[len] == '\0')
            return openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(at);
        at = next;
        path += len + 1;
    }
    return -1;
}

static int index_read_file(struct search_index *x, int folder, struct index_pending *p,
                           struct err *e)
{
    struct stat st;
    _fd_ int fd = index_open_file(folder, p->path);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size > SEARCH_FILE_MAX) {
        x->counts.unreadable++;
        return 0;
    }
    index_stamp(&st, p->stamp);
    size_t len = 0, size = (size_t)st.st_size;
    _free_ char *data = mem_alloc(size + 1);
    while (len < size) {
        ssize_t n = pread(fd, data + len, size - len, (off_t)len);
        if (n <= 0)
            break; /* it became shorter: it is read again the next time */
        len += (size_t)n;
    }
    return index_add(x, p, data, len, e);
}

int index_walk(struct search_index *x, int folder, bool *ret_is_done, struct err *e)
{
    char path[MANIFEST_PATH_MAX + 1] = "";
    uint64_t bytes = 0;
    if (!x->is_walking) {
        index_restart(x);
        index_look(x, folder, ".", path, 0, 0, &bytes);
        if (index_compare(x, e) < 0)
            return -1;
        x->is_walking = true;
    }
    for (bytes = 0; x->next < x->n_pending && bytes < INDEX_TURN_BYTES; x->next++) {
        bytes += x->pending[x->next].size;
        if (index_read_file(x, folder, &x->pending[x->next], e) < 0)
            return -1;
    }
    *ret_is_done = x->next == x->n_pending;
    x->is_walking = !*ret_is_done;
    return index_commit(x, e);
}

/* ---- questions ------------------------------------------------------------------------------- */

struct index_candidate {
    int64_t id;
    double score;
};

struct index_ranking {
    struct index_candidate list[4 * INDEX_CANDIDATES];
    size_t n;
};

static void index_rank(struct index_ranking *r, int64_t id, size_t rank, double weight)
{
    size_t i = 0;
    while (i < r->n && r->list[i].id != id)
        i++;
    if (i == ARRAY_LEN(r->list))
        return;
    if (i == r->n)
        r->list[r->n++] = (struct index_candidate){.id = id};
    r->list[i].score += weight / (double)(INDEX_FUSION + rank);
}

static int index_rank_words(struct search_index *x, const struct index_question *q,
                            struct index_ranking *r, struct err *e)
{
    _buf_ struct buf match = BUF_INIT(16 * KIB);
    size_t rank = 1;
    int more;
    if (!words_query(q->query, q->len, &match))
        return 0;
    sqlite3_stmt *s = index_sql(x, SQL_MATCH);
    sqlite3_bind_text(s, 1, buf_str(&match), (int)match.len, SQLITE_STATIC);
    sqlite3_bind_int(s, 2, (int)q->kind);
    sqlite3_bind_int(s, 3, INDEX_CANDIDATES);
    while ((more = index_run(x, s, e)) > 0)
        index_rank(r, sqlite3_column_int64(s, 0), rank++, 1);
    return more;
}

static int index_load_vectors(struct search_index *x, struct err *e)
{
    size_t cap = 0;
    int more;
    if (x->vectors != NULL)
        return 0;
    sqlite3_stmt *s = index_sql(x, SQL_VECTORS);
    while ((more = index_run(x, s, e)) > 0) {
        if (sqlite3_column_bytes(s, 2) != EMBED_DIM)
            continue;
        if (x->n_vectors == cap) {
            cap = cap == 0 ? 1024 : 2 * cap;
            x->vectors = mem_realloc(x->vectors, cap * sizeof(*x->vectors));
        }
        struct index_vector *v = &x->vectors[x->n_vectors++];
        v->id = sqlite3_column_int64(s, 0);
        v->kind = (enum split_kind)sqlite3_column_int(s, 1);
        memcpy(v->dims, sqlite3_column_blob(s, 2), EMBED_DIM);
    }
    if (more < 0)
        index_forget_vectors(x);
    return more;
}

static int index_by_score(const void *a, const void *b)
{
    const struct index_candidate *one = a, *other = b;
    if (one->score != other->score)
        return one->score < other->score ? 1 : -1;
    return one->id < other->id ? -1 : one->id > other->id;
}

static int index_rank_vectors(struct search_index *x, const struct index_question *q,
                              struct index_ranking *r, struct err *e)
{
    _buf_ struct buf words = BUF_INIT(16 * KIB);
    int8_t asked[EMBED_DIM];
    size_t n = 0;
    if (index_load_vectors(x, e) < 0)
        return -1;
    words_of(q->query, q->len, &words);
    embed_text(buf_str(&words), words.len, asked);
    _free_ struct index_candidate *list = mem_alloc((x->n_vectors + 1) * sizeof(*list));
    for (size_t i = 0; i < x->n_vectors; i++) {
        if (x->vectors[i].kind != q->kind)
            continue;
        float cosine = embed_cosine(asked, x->vectors[i].dims);
        if (cosine > 0)
            list[n++] = (struct index_candidate){x->vectors[i].id, (double)cosine};
    }
    qsort(list, n, sizeof(*list), index_by_score);
    for (size_t i = 0; i < MIN(n, (size_t)INDEX_CANDIDATES); i++)
        index_rank(r, list[i].id, i + 1, 1);
    return 0;
}

/* ---- vectors of an encoder ------------------------------------------------------------------- */

int index_unencoded(struct search_index *x, size_t most, struct json_out *o, struct err *e)
{
    int64_t ids[ENCODER_BATCH];
    size_t n = 0;
    int more;
    sqlite3_stmt *s = index_sql(x, SQL_TEXTS);
    sqlite3_bind_int64(s, 1, (int64_t)MIN(most, (size_t)ENCODER_BATCH));
    json_put_key(o, "texts");
    json_put_array(o);
    while ((more = index_run(x, s, e)) > 0 && n < ENCODER_BATCH) {
        ids[n++] = sqlite3_column_int64(s, 0);
        json_put_text(o, (const char *)sqlite3_column_text(s, 1),
                      (size_t)sqlite3_column_bytes(s, 1));
    }
    json_put_array_end(o);
    json_put_key(o, "units");
    json_put_array(o);
    for (size_t i = 0; i < n; i++)
        json_put_int(o, ids[i]);
    json_put_array_end(o);
    sqlite3_reset(s);
    s = index_sql(x, SQL_TEXT_COUNT);
    if (more < 0 || index_run(x, s, e) <= 0)
        return -1;
    json_put_member_int(o, "pending", sqlite3_column_int64(s, 0));
    sqlite3_reset(s);
    return 0;
}

static int index_keep_matrix(struct search_index *x, int64_t unit, const struct matrix *m,
                             struct err *e)
{
    sqlite3_stmt *s = index_sql(x, SQL_MATRIX_ADD);
    sqlite3_bind_int64(s, 1, unit);
    sqlite3_bind_int64(s, 2, (int64_t)m->dims);
    sqlite3_bind_blob(s, 3, m->data, (int)(m->rows * m->dims), SQLITE_STATIC);
    if (m->rows > 0 && index_run(x, s, e) < 0)
        return -1;
    s = index_sql(x, SQL_TEXT_DROP);
    sqlite3_bind_int64(s, 1, unit);
    return index_run(x, s, e);
}

int index_encoded(struct search_index *x, const int64_t *units, size_t n, const char *answer,
                  size_t len, struct err *e)
{
    struct matrix list[ENCODER_BATCH] = {0};
    if (n > ENCODER_BATCH || matrix_read(answer, len, list, n, e) < 0)
        return -1;
    int status = index_begin(x, e);
    for (size_t i = 0; i < n && status == 0; i++)
        status = index_keep_matrix(x, units[i], &list[i], e);
    for (size_t i = 0; i < n; i++)
        free(list[i].data);
    return status < 0 ? -1 : index_commit(x, e);
}

/* All of them are compared: what has other words than the question is found by this alone. */
static int index_rank_matrices(struct search_index *x, const struct index_question *q,
                               struct index_ranking *r, struct err *e)
{
    struct matrix asked = {0};
    size_t n = 0, cap = 0;
    int more;
    _free_ struct index_candidate *list = NULL;
    if (matrix_read(q->answer, q->answer_len, &asked, 1, e) < 0)
        return -1;
    struct maxsim_matrix question = {asked.data, asked.rows, asked.dims};
    sqlite3_stmt *s = index_sql(x, SQL_MATRICES);
    sqlite3_bind_int(s, 1, (int)q->kind);
    while ((more = index_run(x, s, e)) > 0) {
        size_t dims = (size_t)sqlite3_column_int64(s, 1);
        const void *data = sqlite3_column_blob(s, 2);
        size_t len = (size_t)sqlite3_column_bytes(s, 2);
        if (dims == 0 || dims != asked.dims || len / dims > MAXSIM_ROWS_MAX)
            continue;
        struct maxsim_matrix text = {data, len / dims, dims};
        if (n == cap) {
            cap = cap == 0 ? 1024 : 2 * cap;
            list = mem_realloc(list, cap * sizeof(*list));
        }
        list[n++] =
            (struct index_candidate){sqlite3_column_int64(s, 0), (double)maxsim(&question, &text)};
    }
    free(asked.data);
    if (n > 0)
        qsort(list, n, sizeof(*list), index_by_score);
    for (size_t i = 0; i < MIN(n, (size_t)INDEX_CANDIDATES); i++)
        index_rank(r, list[i].id, i + 1, 1);
    return more;
}

static int index_put_unit(struct search_index *x, const struct index_candidate *c,
                          struct json_out *o, struct err *e)
{
    char lines[48], unit[SPLIT_NAME_MAX + 32];
    sqlite3_stmt *s = index_sql(x, SQL_UNIT);
    sqlite3_bind_int64(s, 1, c->id);
    int found = index_run(x, s, e);
    if (found <= 0)
        return found;
    snprintf(lines, sizeof(lines), "%lld-%lld", (long long)sqlite3_column_int64(s, 4),
             (long long)sqlite3_column_int64(s, 5));
    snprintf(unit, sizeof(unit), "%s:%s", (const char *)sqlite3_column_text(s, 1),
             (const char *)sqlite3_column_text(s, 2));
    json_put_object(o);
    json_put_key(o, "file");
    json_put_text(o, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    json_put_member_str(o, "lines", lines);
    json_put_member_real(o, "score", c->score, 4);
    json_put_member_str(o, "unit", unit);
    json_put_member_str(o, "signature", (const char *)sqlite3_column_text(s, 3));
    json_put_object_end(o);
    sqlite3_reset(s);
    return 0;
}

static int index_put_counts(struct search_index *x, struct json_out *o, struct err *e)
{
    sqlite3_stmt *s = index_sql(x, SQL_COUNT);
    if (index_run(x, s, e) <= 0)
        return -1;
    const struct index_counts *c = &x->counts;
    uint64_t binary = (uint64_t)sqlite3_column_int64(s, 2);
    json_put_member_int(o, "files", sqlite3_column_int64(s, 0));
    json_put_member_int(o, "units", sqlite3_column_int64(s, 1));
    sqlite3_reset(s);
    if (c->too_large + c->beyond + c->unreadable + binary == 0)
        return 0;
    json_put_key(o, "skipped");
    json_put_object(o);
    json_put_member_some(o, "too_large", (int64_t)c->too_large);
    json_put_member_some(o, "binary", (int64_t)binary);
    json_put_member_some(o, "too_many", (int64_t)c->beyond);
    json_put_member_some(o, "unreadable", (int64_t)c->unreadable);
    json_put_object_end(o);
    return 0;
}

int index_search(struct search_index *x, const struct index_question *q, struct json_out *o,
                 struct err *e)
{
    _free_ struct index_ranking *r = mem_alloc(sizeof(*r));
    if (index_rank_words(x, q, r, e) < 0 ||
        (!q->words_only && q->answer == NULL && index_rank_vectors(x, q, r, e) < 0) ||
        (!q->words_only && q->answer != NULL && index_rank_matrices(x, q, r, e) < 0))
        return -1;
    qsort(r->list, r->n, sizeof(r->list[0]), index_by_score);
    json_put_key(o, "results");
    json_put_array(o);
    for (size_t i = 0; i < MIN(r->n, q->limit); i++)
        if (index_put_unit(x, &r->list[i], o, e) < 0)
            return -1;
    json_put_array_end(o);
    return index_put_counts(x, o, e);
}
