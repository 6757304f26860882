/* The SQLite connection: its schema, its statements, what its errors mean in plain words. Daemon;
 * used by one thread at a time, the one that holds the database. */
#include "store/db.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

enum { BUSY_MS = 200 };

/* Each migration brings the database from version i to i + 1. Never change one that was released:
 * append another. */
static const char *const migrations[DB_VERSION] = {
    "CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"

    "CREATE TABLE sessions(key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, spec TEXT NOT NULL,"
    " line TEXT, created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL, n_execs INTEGER NOT NULL,"
    " n_checkpoints INTEGER NOT NULL, resume INTEGER NOT NULL DEFAULT 0);"

    /* `records`: see state.c. `files`: the manifest's hash. */
    "CREATE TABLE states(session INTEGER NOT NULL, checkpoint INTEGER NOT NULL,"
    " through INTEGER NOT NULL, at_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, files TEXT,"
    " records BLOB NOT NULL, UNIQUE(session, checkpoint));"

    "CREATE TABLE cells(session INTEGER NOT NULL, exec_id INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    " duration_us INTEGER NOT NULL, status TEXT NOT NULL, code TEXT NOT NULL, answer TEXT,"
    " UNIQUE(session, exec_id));"

    /* Every body that a row refers to. `data` of small ones; NULL if it is a blob, and on disk. */
    "CREATE TABLE bodies(hash BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, data BLOB);"

    "CREATE TABLE named(name TEXT NOT NULL UNIQUE, at_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, records BLOB NOT NULL);"

    "CREATE TABLE shared(token TEXT NOT NULL UNIQUE, name TEXT NOT NULL, hash TEXT NOT NULL,"
    " bytes INTEGER NOT NULL, expires_ms INTEGER NOT NULL);",

    /* Rows that change often are small: counting, moving and running cells touches no long text. */
    "ALTER TABLE cells RENAME TO old_cells;"

    "CREATE TABLE notebooks(key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user TEXT,"
    " title TEXT, runtime TEXT, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " count INTEGER NOT NULL DEFAULT 0, last_exec INTEGER NOT NULL DEFAULT 0,"
    " n_cells INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE descriptions(notebook INTEGER PRIMARY KEY, metadata TEXT, spec TEXT);"
    "CREATE INDEX notebooks_by_user ON notebooks(user);"

    "CREATE TABLE cells(key INTEGER PRIMARY KEY, notebook INTEGER NOT NULL, id TEXT NOT NULL,"
    " place INTEGER NOT NULL, kind INTEGER NOT NULL, state TEXT NOT NULL, exec_id INTEGER NOT NULL,"
    " count INTEGER NOT NULL, revision INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " executed_ms INTEGER NOT NULL, duration_us INTEGER NOT NULL, UNIQUE(notebook, id));"
    "CREATE INDEX cells_by_place ON cells(notebook, place);"
    "CREATE INDEX cells_by_run ON cells(notebook, exec_id)"
    " WHERE exec_id>0 AND state NOT IN ('idle', 'queued', 'running');"
    "CREATE INDEX cells_under_way ON cells(state) WHERE state IN ('queued', 'running');"
    "CREATE TABLE sources(cell INTEGER PRIMARY KEY, source TEXT NOT NULL, metadata TEXT);"
    "CREATE TABLE outputs(cell INTEGER PRIMARY KEY, outputs TEXT NOT NULL);"
    "CREATE TABLE images(cell INTEGER NOT NULL, n INTEGER NOT NULL, hash BLOB NOT NULL,"
    " format TEXT, width INTEGER NOT NULL, height INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " UNIQUE(cell, n));"

    "INSERT INTO notebooks(id, runtime, created_ms, updated_ms, count, last_exec, n_cells)"
    " SELECT id, CASE WHEN json_valid(spec) THEN json_extract(spec, '$.runtime') END,"
    " created_ms, used_ms, c.n, c.last, c.n FROM sessions JOIN (SELECT session, count(*) AS n,"
    " max(exec_id) AS last FROM old_cells GROUP BY session) AS c ON c.session=sessions.key;"
    "INSERT INTO descriptions(notebook, spec) SELECT n.key, s.spec FROM notebooks AS n"
    " JOIN sessions AS s ON s.id=n.id;"
    "INSERT INTO cells(key, notebook, id, place, kind, state, exec_id, count, revision, created_ms,"
    " executed_ms, duration_us) SELECT o.rowid, n.key, printf('%08x', o.exec_id),"
    " row_number() OVER (PARTITION BY o.session ORDER BY o.exec_id) << 20, 0,"
    " CASE o.status WHEN 'ok' THEN 'completed' ELSE o.status END, o.exec_id,"
    " row_number() OVER (PARTITION BY o.session ORDER BY o.exec_id), 1, o.at_ms, o.at_ms,"
    " o.duration_us FROM old_cells AS o JOIN sessions AS s ON s.key=o.session"
    " JOIN notebooks AS n ON n.id=s.id;"
    "INSERT INTO sources(cell, source) SELECT rowid, code FROM old_cells"
    " WHERE rowid IN (SELECT key FROM cells);"
    "DROP TABLE old_cells;",

    "CREATE TABLE displays(notebook INTEGER NOT NULL, id TEXT NOT NULL, cell INTEGER NOT NULL,"
    " PRIMARY KEY(notebook, id, cell)) WITHOUT ROWID;"
    "CREATE INDEX displays_by_cell ON displays(cell);"
    "INSERT OR IGNORE INTO displays(notebook, id, cell) SELECT c.notebook,"
    " json_extract(j.value, '$.display_id'), c.key FROM cells AS c JOIN outputs AS o ON "
    "o.cell=c.key"
    " JOIN json_each(CASE WHEN json_valid(o.outputs) THEN o.outputs ELSE '[]' END) AS j"
    " WHERE o.outputs LIKE '%\"display_id\"%'"
    " AND json_type(j.value, '$.display_id')='text';",

    "ALTER TABLE cells ADD COLUMN undone INTEGER NOT NULL DEFAULT 0;",

    /* Named states and shared files have an owner. What there was had none: it was everybody's, and
     * becomes that of the agent that requests without a name speak for. */
    "ALTER TABLE named RENAME TO old_named;"
    "CREATE TABLE named(owner TEXT NOT NULL, name TEXT NOT NULL, at_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, records BLOB NOT NULL,"
    " UNIQUE(owner, name));"
    "INSERT INTO named(owner, name, at_ms, expires_ms, bytes, records)"
    " SELECT 'default', name, at_ms, expires_ms, bytes, records FROM old_named;"
    "DROP TABLE old_named;"
    "ALTER TABLE shared ADD COLUMN owner TEXT NOT NULL DEFAULT 'default';",

    "CREATE TABLE tasks(id TEXT PRIMARY KEY, agent TEXT, status TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " result TEXT) WITHOUT ROWID;",

    /* What was explored: the hash of a manifest, as `files` is. */
    "ALTER TABLE states ADD COLUMN explored TEXT;",

    /* What explorations taught; `q` in parts of 10^9, `embedding` as explore/embed.h has it: in the
     * index, too, where a search finds all of them without the texts between. */
    "CREATE TABLE memories(key INTEGER PRIMARY KEY, id TEXT NOT NULL, agent TEXT NOT NULL,"
    " user TEXT NOT NULL, q INTEGER NOT NULL, embedding BLOB NOT NULL, outcome TEXT NOT NULL,"
    " n_outcomes INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " session TEXT NOT NULL, task TEXT NOT NULL, action TEXT NOT NULL, log TEXT,"
    " UNIQUE(agent, user, id));"
    "CREATE INDEX memories_by_value ON memories(agent, user, q, updated_ms, embedding);",

    "CREATE TABLE agent_plans(agent TEXT PRIMARY KEY, reason TEXT, entered_ms INTEGER NOT NULL);",

    /* What a running cell waits for: "search (3.1)". */
    "ALTER TABLE cells ADD COLUMN waits TEXT;",
};

/* ---- errors ---------------------------------------------------------------------------------- */

static int explain_rights(const struct db *db, struct err *e)
{
    err_set(e, ERR_UNAVAILABLE, "the database %.200s cannot be written: %.120s", db->path,
            sqlite3_errmsg(db->handle));
    return err_advise(e, "Check that the data directory belongs to the daemon's user and is not "
                         "mounted read-only.");
}

static int explain_full(const struct db *db, struct err *e)
{
    err_set(e, ERR_UNAVAILABLE, "the disk of %.200s is full", db->path);
    return err_advise(e, "Free some space; what waits is written then by itself.");
}

int db_explain(struct db *db, int code, struct err *e)
{
    if ((code & 0xff) == SQLITE_TOOBIG)
        return err_set(e, ERR_TOO_LARGE, "the row is larger than the database can hold");
    db->is_broken = true;
    switch (code & 0xff) {
    case SQLITE_FULL:
        return explain_full(db, e);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return explain_rights(db, e);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        err_set(e, ERR_UNAVAILABLE, "the database %.200s is damaged: %.120s", db->path,
                sqlite3_errmsg(db->handle));
        return err_advise(
            e, "Stop the daemon. `sqlite3 FILE .recover` may bring rows back; to begin anew "
               "move cella.db, cella.db-wal and blobs aside (saved sessions are gone then).");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        err_set(e, ERR_CONFLICT, "another program has the database %.200s open", db->path);
        return err_advise(e, "Stop the other daemon or sqlite3, or name another --data DIR.");
    default:
        /* SQLite calls most failures of the system an I/O error; the system's own number says more.
         */
        switch (sqlite3_system_errno(db->handle)) {
        case ENOSPC:
        case EDQUOT:
            return explain_full(db, e);
        case EACCES:
        case EPERM:
        case EROFS:
            return explain_rights(db, e);
        default:
            err_set(e, ERR_UNAVAILABLE, "the database %.200s: %.160s", db->path,
                    sqlite3_errmsg(db->handle));
            return err_advise(e, "Check the disk and the kernel's log; it is tried again.");
        }
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Compiled when it is first used. */
static sqlite3_stmt *db_statement(struct db *db, const struct db_sql *sql, struct err *e)
{
    for (size_t i = 0; i < db->n_prepared; i++) {
        if (db->prepared[i].sql == sql) {
            sqlite3_reset(db->prepared[i].statement);
            sqlite3_clear_bindings(db->prepared[i].statement);
            return db->prepared[i].statement;
        }
    }
    assert(db->n_prepared < DB_STATEMENTS_MAX);
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v3(db->handle, sql->text, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL);
    if (rc != SQLITE_OK) {
        db_explain(db, rc, e);
        return NULL;
    }
    db->prepared[db->n_prepared++] = (struct db_prepared){.sql = sql, .statement = s};
    return s;
}

int db_step(struct db *db, sqlite3_stmt *s, struct err *e)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        db_explain(db, rc, e);
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? 0 : -1;
}

sqlite3_stmt *db_ask_with(struct db *db, const struct db_sql *sql, const struct db_value *values,
                          struct err *e)
{
    sqlite3_stmt *s = db_statement(db, sql, e);
    for (int at = 1; s != NULL && values->type != DB_IS_END; at++, values++) {
        if (values->type == DB_IS_NUMBER)
            sqlite3_bind_int64(s, at, values->number);
        else if (values->data == NULL)
            sqlite3_bind_null(s, at);
        else if (values->type == DB_IS_TEXT)
            sqlite3_bind_text64(s, at, values->data, values->len, SQLITE_STATIC, SQLITE_UTF8);
        else
            sqlite3_bind_blob64(s, at, values->data, values->len, SQLITE_STATIC);
    }
    return s;
}

int db_first_with(struct db *db, const struct db_sql *sql, const struct db_value *values,
                  sqlite3_stmt **ret_s, struct err *e)
{
    *ret_s = db_ask_with(db, sql, values, e);
    return *ret_s == NULL ? -1 : db_step(db, *ret_s, e);
}

int db_do_with(struct db *db, const struct db_sql *sql, const struct db_value *values,
               struct err *e)
{
    sqlite3_stmt *s = db_ask_with(db, sql, values, e);
    int got = s == NULL ? -1 : 0;
    while (s != NULL && (got = db_step(db, s, e)) > 0)
        continue;
    return got;
}

int db_run_each(struct db *db, const struct db_sql *steps, size_t n, uint64_t number, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (db_do(db, &steps[i], e, DB_NUMBER(number)) < 0)
            return -1;
    return 0;
}

int db_exec(struct db *db, const char *sql, struct err *e)
{
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_explain(db, rc, e);
}

struct db_value db_number_value(uint64_t number)
{
    return DB_PLACE((int64_t)MIN(number, (uint64_t)INT64_MAX));
}

struct db_value db_text_value(const char *text)
{
    return DB_TEXT_N(text, text == NULL ? 0 : strlen(text));
}

uint64_t db_number(sqlite3_stmt *s, int column)
{
    sqlite3_int64 value = sqlite3_column_int64(s, column);
    return value < 0 ? 0 : (uint64_t)value;
}

struct blob_hash db_hash(sqlite3_stmt *s, int column)
{
    struct blob_hash hash = {0};
    if (sqlite3_column_bytes(s, column) == BLOB_HASH_BYTES)
        memcpy(hash.bytes, sqlite3_column_blob(s, column), BLOB_HASH_BYTES);
    return hash;
}

const char *db_text(sqlite3_stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s, column);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* EXCLUSIVE: a second process is refused, and no shared memory file is needed. It must be set
 * before the first access, and stays because every later one is made by this connection. */
static int db_set_up(struct db *db, struct err *e)
{
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    if (sqlite3_db_readonly(db->handle, "main") == 1)
        return db_explain(db, SQLITE_READONLY, e);
    if (db_exec(db,
                "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
                "PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=OFF; PRAGMA cache_size=-2048;"
                "PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF;"
                "PRAGMA journal_size_limit=16777216",
                e) < 0)
        return -1;
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(db->handle, "PRAGMA user_version", -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    int version = rc == SQLITE_ROW ? sqlite3_column_int(s, 0) : 0;
    if (rc != SQLITE_ROW)
        db_explain(db, rc, e);
    sqlite3_finalize(s);
    if (rc != SQLITE_ROW)
        return -1;
    if (version > DB_VERSION) {
        err_set(e, ERR_UNAVAILABLE,
                "the database %.200s was made by a newer program (its version is %d, this program "
                "knows %d)",
                db->path, version, DB_VERSION);
        return err_advise(e, "Install the newer program again, or name another --data DIR.");
    }
    for (int i = version; i < DB_VERSION; i++) {
        char done[64];
        snprintf(done, sizeof(done), "PRAGMA user_version=%d; COMMIT", i + 1);
        if (db_exec(db, "BEGIN IMMEDIATE", e) < 0)
            return -1;
        if (db_exec(db, migrations[i], e) < 0 || db_exec(db, done, e) < 0) {
            sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
            return err_context(e, "bringing the database to version %d", i + 1);
        }
    }
    /* Also at the present version: the lock is taken by the first write. */
    return db_exec(db, "BEGIN EXCLUSIVE; COMMIT", e);
}

static int keep_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* SQLite's own way to files, except that names are used as they are given. It would make them
 * absolute, and so lead through directories that the daemon, once it has dropped its rights, may
 * not enter: its own is reached by a descriptor. */
static const char *register_plain_vfs(void)
{
    static sqlite3_vfs plain;
    if (plain.zName == NULL) {
        plain = *sqlite3_vfs_find(NULL);
        plain.zName = "cella";
        plain.xFullPathname = keep_name;
        sqlite3_vfs_register(&plain, 0);
    }
    return plain.zName;
}

/* For messages: the name that people know it by. */
static char *shown_path(const char *path)
{
    char dir[PATH_MAX], shown[PATH_MAX + 64];
    const char *name = strrchr(path, '/');
    _free_ char *parent = name == NULL ? NULL : mem_copy(path, (size_t)(name - path) + 1);
    if (parent == NULL || strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")) != 0)
        return mem_strdup(path);
    parent[name - path] = '\0';
    ssize_t n = readlink(parent, dir, sizeof(dir) - 1);
    if (n < 0)
        return mem_strdup(path);
    snprintf(shown, sizeof(shown), "%.*s%s", (int)n, dir, name);
    return mem_strdup(shown);
}

int db_open(const char *path, struct db *db, struct err *e)
{
    *db = (struct db){.path = shown_path(path)};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW;
    mode_t mask = umask(077);
    int rc = sqlite3_open_v2(path, &db->handle, flags, register_plain_vfs());
    int done = rc == SQLITE_OK ? db_set_up(db, e) : db_explain(db, rc, e);
    umask(mask);
    if (done < 0)
        db_close(db);
    return done;
}

void db_close(struct db *db)
{
    for (size_t i = 0; i < db->n_prepared; i++)
        sqlite3_finalize(db->prepared[i].statement);
    sqlite3_close_v2(db->handle);
    free(db->path);
    *db = (struct db){0};
}
