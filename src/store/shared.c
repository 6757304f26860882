/* Files that can be fetched with a token, for a time. Owns the table shared. Daemon; applied by
 * the store's writer thread. */
#include "base/clock.h"
#include "store/internal.h"

struct shared_call {
    struct store_call call;
    struct store_shared file; /* its texts in the call's memory */
};

static int shared_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO shared(token, name, hash, bytes, expires_ms, owner)"
        " VALUES(?1,?2,?3,?4,?5,?6)"};
    const struct store_shared *file = &CONTAINER_OF(call, struct shared_call, call)->file;
    struct blob_hash hash;
    if (blob_parse_hex(file->hash, &hash) < 0)
        return err_set(e, ERR_INVALID, "\"%.70s\" is not the name of a blob", file->hash);
    if (bodies_keep_blob(store, &hash, file->bytes, e) < 0)
        return -1;
    sweep_want(store); /* once the file has expired */
    return db_do(&store->db, &sql, e, DB_TEXT(file->token), DB_TEXT(file->name),
                 DB_TEXT(file->hash), DB_NUMBER(file->bytes), DB_NUMBER(file->expires_ms),
                 DB_TEXT(file->owner));
}

static const struct call_type shared_put_type = {.apply = shared_apply_put, .is_write = true};

int store_put_shared(struct store *store, const struct store_shared *file, struct err *e)
{
    struct shared_call *put = call_new(store, &shared_put_type, sizeof(*put), NULL);
    put->file = *file;
    put->file.token = arena_strdup(&put->call.memory, file->token);
    put->file.owner = arena_strdup(&put->call.memory, file->owner);
    put->file.name = arena_strdup(&put->call.memory, file->name);
    put->call.bytes += strlen(file->name);
    return call_queue(&put->call, e);
}

static int shared_apply_get(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {"SELECT name, hash, bytes, expires_ms, owner FROM shared"
                                      " WHERE token=?1 AND expires_ms>?2"};
    struct store_shared *file = &CONTAINER_OF(call, struct shared_call, call)->file;
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_TEXT(file->token), DB_NUMBER(clock_wall_ms()));
    if (got < 0)
        return -1;
    if (got == 0) {
        err_set(e, ERR_NOT_FOUND, "there is no such file");
        return err_advise(e, "Files can be fetched for a limited time; run the code again.");
    }
    const char *name = db_text(s, 0), *hash = db_text(s, 1), *owner = db_text(s, 4);
    file->owner = arena_strdup(&call->memory, owner == NULL ? "" : owner);
    file->name = arena_strdup(&call->memory, name == NULL ? "" : name);
    snprintf(file->hash, sizeof(file->hash), "%s", hash == NULL ? "" : hash);
    file->bytes = db_number(s, 2);
    file->expires_ms = db_number(s, 3);
    sqlite3_reset(s);
    return 0;
}

static void shared_deliver_get(struct store_call *call, const struct err *e)
{
    const struct store_shared *file = &CONTAINER_OF(call, struct shared_call, call)->file;
    ((store_shared_fn)call->fn)(call->context, e == NULL ? file : NULL, e);
}

static const struct call_type shared_get_type = {.apply = shared_apply_get,
                                                 .deliver = shared_deliver_get};

struct store_call *store_get_shared(struct store *store, const char *token, store_shared_fn fn,
                                    void *context)
{
    struct shared_call *get = call_new(store, &shared_get_type, sizeof(*get), NULL);
    get->file.token = arena_strdup(&get->call.memory, token);
    return call_ask(&get->call, (void *)fn, context);
}
