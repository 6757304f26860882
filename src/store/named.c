/* States under a name, for their owner until they expire. Owns the table named. Daemon; applied by
 * the store's writer thread. */
#include "base/clock.h"
#include "store/internal.h"

struct named_call {
    struct store_call call;
    const char *owner; /* NULL for the first owner who has a state of that name */
    const char *name;
    uint64_t expires_ms;
};

/* The state of an owner (?1) and a name (?2). Without an owner: that of the first owner who has a
 * state of the name, STORE_FIRST_OWNER before all others. */
#define IS_MEANT                                                                                   \
    " rowid=(SELECT rowid FROM named WHERE name=?2 AND (?1 IS NULL OR owner=?1)"                   \
    " ORDER BY owner<>'" STORE_FIRST_OWNER "', owner LIMIT 1)"

static struct named_call *named_new(struct store *store, const struct call_type *type,
                                    const char *owner, const char *name)
{
    struct named_call *c = call_new(store, type, sizeof(*c), NULL);
    c->owner = owner != NULL ? arena_strdup(&c->call.memory, owner) : NULL;
    c->name = arena_strdup(&c->call.memory, name);
    return c;
}

static int check_name(const char *name, struct err *e)
{
    size_t len = strlen(name);
    if (len > 0 && len <= STORE_NAME_MAX)
        return 0;
    err_set(e, ERR_INVALID, "a name to save under has %zu bytes", len);
    return err_advise(e, "Give it 1 to %d bytes.", STORE_NAME_MAX);
}

/* ---- put ------------------------------------------------------------------------------------- */

static int named_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO named(owner, name, at_ms, expires_ms, bytes, records)"
        " VALUES(?1,?2,?3,?4,?5,?6)"};
    const struct named_call *put = CONTAINER_OF(call, struct named_call, call);
    _buf_ struct buf packed = BUF_INIT(PACKED_MAX);
    if (bodies_keep_state(store, put->call.state, e) < 0)
        return -1;
    state_pack(put->call.state, &packed);
    if (packed.overflowed)
        return err_set(e, ERR_TOO_LARGE, "the state has too many records to be saved");
    sweep_want(store); /* for the state that is replaced, and for this one once it expires */
    return db_do(&store->db, &sql, e, DB_TEXT(put->owner), DB_TEXT(put->name),
                 DB_NUMBER(clock_wall_ms()), DB_NUMBER(put->expires_ms),
                 DB_NUMBER(put->call.state->bytes), DB_BYTES(buf_str(&packed), packed.len));
}

static const struct call_type named_put_type = {
    .apply = named_apply_put, .deliver = call_deliver_done, .is_write = true, .needs_disk = true};

struct store_call *store_put_named(struct store *store, const char *owner, const char *name,
                                   struct store_state *state, uint64_t expires_ms, store_done_fn fn,
                                   void *context, struct err *e)
{
    if (check_name(name, e) < 0)
        return NULL;
    struct named_call *put = named_new(store, &named_put_type, owner, name);
    put->expires_ms = expires_ms;
    put->call.state = store_state_ref(state);
    put->call.fn = (void *)fn;
    put->call.context = context;
    put->call.is_awaited = fn != NULL;
    put->call.bytes += state_memory(state);
    return call_queue(&put->call, e) < 0 ? NULL : &put->call;
}

/* ---- get and delete -------------------------------------------------------------------------- */

static int named_apply_get(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {"SELECT records FROM named WHERE" IS_MEANT
                                      " AND (expires_ms=0 OR expires_ms>?3)"};
    struct named_call *get = CONTAINER_OF(call, struct named_call, call);
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_TEXT(get->owner), DB_TEXT(get->name),
                       DB_NUMBER(clock_wall_ms()));
    if (got < 0)
        return -1;
    if (got == 0) {
        err_set(e, ERR_NOT_FOUND, "no state is kept under the name \"%.128s\"", get->name);
        return err_advise(e, "It was never saved, was deleted, or its time has passed.");
    }
    int rc = state_unpack(store, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0),
                          &get->call.state, e);
    sqlite3_reset(s);
    return rc < 0 ? -1 : bodies_load(store, get->call.state, e);
}

static const struct call_type named_get_type = {.apply = named_apply_get,
                                                .deliver = call_deliver_state};

struct store_call *store_get_named(struct store *store, const char *owner, const char *name,
                                   store_state_fn fn, void *context)
{
    struct named_call *get = named_new(store, &named_get_type, owner, name);
    return call_ask(&get->call, (void *)fn, context);
}

static int named_apply_delete(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {"DELETE FROM named WHERE" IS_MEANT};
    const struct named_call *gone = CONTAINER_OF(call, struct named_call, call);
    sweep_want(store);
    return db_do(&store->db, &sql, e, DB_TEXT(gone->owner), DB_TEXT(gone->name));
}

static const struct call_type named_delete_type = {.apply = named_apply_delete, .is_write = true};

int store_delete_named(struct store *store, const char *owner, const char *name, struct err *e)
{
    if (check_name(name, e) < 0)
        return -1;
    return call_queue(&named_new(store, &named_delete_type, owner, name)->call, e);
}

/* ---- list ------------------------------------------------------------------------------------ */

struct listed_call {
    struct store_call call;
    const char *owner; /* NULL for states of all owners */
    const char *name;  /* NULL for states of all names */
    struct store_named list[STORE_PAGE_MAX];
    size_t n;
    uint64_t count;
};

static int named_apply_list(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT name, bytes, at_ms, expires_ms, owner FROM named"
        " WHERE (expires_ms=0 OR expires_ms>?1) AND (?2 IS NULL OR name=?2)"
        " AND (?3 IS NULL OR owner=?3)"
        " ORDER BY name, owner<>'" STORE_FIRST_OWNER "', owner"};
    struct listed_call *list = CONTAINER_OF(call, struct listed_call, call);
    sqlite3_stmt *s = db_ask(&store->db, &sql, e, DB_NUMBER(clock_wall_ms()), DB_TEXT(list->name),
                             DB_TEXT(list->owner));
    if (s == NULL)
        return -1;
    int got;
    while ((got = db_step(&store->db, s, e)) > 0) {
        list->count++;
        if (list->n == STORE_PAGE_MAX)
            continue;
        const char *name = db_text(s, 0), *owner = db_text(s, 4);
        list->list[list->n++] =
            (struct store_named){.owner = arena_strdup(&call->memory, owner != NULL ? owner : ""),
                                 .name = arena_strdup(&call->memory, name != NULL ? name : ""),
                                 .bytes = (uint64_t)sqlite3_column_int64(s, 1),
                                 .at_ms = (uint64_t)sqlite3_column_int64(s, 2),
                                 .expires_ms = (uint64_t)sqlite3_column_int64(s, 3)};
    }
    return got;
}

static void named_deliver_list(struct store_call *call, const struct err *e)
{
    struct listed_call *list = CONTAINER_OF(call, struct listed_call, call);
    ((store_named_fn)call->fn)(call->context, list->list, e == NULL ? list->n : 0,
                               e == NULL ? list->count : 0, e);
}

static const struct call_type named_list_type = {.apply = named_apply_list,
                                                 .deliver = named_deliver_list};

struct store_call *store_list_named(struct store *store, const char *owner, const char *name,
                                    store_named_fn fn, void *context)
{
    struct listed_call *list = call_new(store, &named_list_type, sizeof(*list), NULL);
    list->owner = owner != NULL ? arena_strdup(&list->call.memory, owner) : NULL;
    list->name = name != NULL ? arena_strdup(&list->call.memory, name) : NULL;
    return call_ask(&list->call, (void *)fn, context);
}
