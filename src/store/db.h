/* The SQLite connection: opened, brought to the present schema, and used by one thread at a time
 * (the store's, or who holds store.db_lock). Statements are compiled once, when first used. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "blob/blob.h"

#include <sqlite3.h>

enum { DB_VERSION = 5, DB_STATEMENTS_MAX = 160 };

/* A statement of ours, by its place in the program: `static const struct db_sql put = {...}`. */
struct db_sql {
    const char *text;
};

struct db_prepared {
    const struct db_sql *sql;
    sqlite3_stmt *statement;
};

struct db {
    sqlite3 *handle;
    char *path; /* for messages */
    struct db_prepared prepared[DB_STATEMENTS_MAX];
    size_t n_prepared;
    bool is_broken; /* the disk, not the row, is why something failed: the group must be undone */
};

int db_open(const char *path, struct db *db, struct err *e);
void db_close(struct db *db);

/* A statement ready to be bound and stepped. */
sqlite3_stmt *db_statement(struct db *db, const struct db_sql *sql, struct err *e);

/* 1: a row, 0: done (and reset), -1. */
int db_step(struct db *db, sqlite3_stmt *s, struct err *e);
/* For statements that give no row. */
int db_run(struct db *db, sqlite3_stmt *s, struct err *e);
/* Several of them, one after the other, each with this number for its ?1. */
int db_run_each(struct db *db, const struct db_sql *steps, size_t n, uint64_t number,
                struct err *e);
int db_exec(struct db *db, const char *sql, struct err *e);

void db_bind_text(sqlite3_stmt *s, int at, const char *text); /* NULL gives NULL */
void db_bind_text_n(sqlite3_stmt *s, int at, const char *text, size_t len);
void db_bind_place(sqlite3_stmt *s, int at, int64_t value);
void db_bind_bytes(sqlite3_stmt *s, int at, const void *data, size_t len);
void db_bind_number(sqlite3_stmt *s, int at, uint64_t value);
uint64_t db_number(sqlite3_stmt *s, int column);
struct blob_hash db_hash(sqlite3_stmt *s, int column); /* zeros if it is none */
const char *db_text(sqlite3_stmt *s, int column);      /* until the next step; NULL for NULL */

/* What the last error of the connection means, in plain words. */
int db_explain(struct db *db, int code, struct err *e);
