/* The SQLite connection: opened, brought to the present schema, and used by one thread at a time
 * (the store's, or the thread that holds store.db_lock). Statements are compiled once, when first
 * used. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "blob/blob.h"

#include <sqlite3.h>

enum { DB_VERSION = 10, DB_STATEMENTS_MAX = 160 };

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

/* What takes the place of a statement's ?1, ?2 and so on. Texts and bytes are not copied: they stay
 * until the statement was stepped for the last time. */
struct db_value {
    enum { DB_IS_END, DB_IS_NUMBER, DB_IS_TEXT, DB_IS_BYTES } type;
    int64_t number;
    const void *data; /* NULL gives NULL */
    size_t len;
};

#define DB_NUMBER(n) db_number_value(n)
#define DB_PLACE(n) ((struct db_value){.type = DB_IS_NUMBER, .number = (n)}) /* may be negative */
#define DB_TEXT_N(text, n) ((struct db_value){.type = DB_IS_TEXT, .data = (text), .len = (n)})
#define DB_TEXT(text) db_text_value(text)
#define DB_BYTES(bytes, n) ((struct db_value){.type = DB_IS_BYTES, .data = (bytes), .len = (n)})
#define DB_VALUES(...) ((const struct db_value[]){__VA_ARGS__ __VA_OPT__(, ){0}})
struct db_value db_number_value(uint64_t number);
struct db_value db_text_value(const char *text);

/* A statement with its values, ready to be stepped; NULL if it cannot be compiled. */
#define db_ask(db, sql, e, ...) db_ask_with(db, sql, DB_VALUES(__VA_ARGS__), e)
/* The statement's first row: 1 and the statement, which the caller resets; 0 if there is no row;
 * -1.
 */
#define db_first(db, sql, ret_s, e, ...) db_first_with(db, sql, DB_VALUES(__VA_ARGS__), ret_s, e)
/* Runs a statement and ignores its rows. */
#define db_do(db, sql, e, ...) db_do_with(db, sql, DB_VALUES(__VA_ARGS__), e)
sqlite3_stmt *db_ask_with(struct db *db, const struct db_sql *sql, const struct db_value *values,
                          struct err *e);
int db_first_with(struct db *db, const struct db_sql *sql, const struct db_value *values,
                  sqlite3_stmt **ret_s, struct err *e);
int db_do_with(struct db *db, const struct db_sql *sql, const struct db_value *values,
               struct err *e);

/* 1: a row, 0: done (and reset), -1. */
int db_step(struct db *db, sqlite3_stmt *s, struct err *e);
/* Several statements, one after the other, each with this number for its ?1. */
int db_run_each(struct db *db, const struct db_sql *steps, size_t n, uint64_t number,
                struct err *e);
int db_exec(struct db *db, const char *sql, struct err *e);

uint64_t db_number(sqlite3_stmt *s, int column);
struct blob_hash db_hash(sqlite3_stmt *s, int column); /* zeros if the column holds no hash */
const char *db_text(sqlite3_stmt *s, int column);      /* until the next step; NULL for NULL */

/* What the last error of the connection means, in plain words. */
int db_explain(struct db *db, int code, struct err *e);
