/* Cells whose effects a session does not have, or has again. Daemon; applied by the store's writer
 * thread. */
#include "store/internal.h"

struct undone_call {
    struct store_call call;
    uint64_t after;
    const uint64_t *redone;
    size_t n_redone;
};

static int undone_run(struct store *store, const struct db_sql *sql, uint64_t notebook,
                      uint64_t exec_id, struct err *e)
{
    return db_do(&store->db, sql, e, DB_NUMBER(notebook), DB_NUMBER(exec_id));
}

/* The conditions are those of the index cells_by_run. Of a cell that died nobody expects more. */
static int undone_apply(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql
        mark = {"UPDATE cells SET undone=1 WHERE notebook=?1 AND exec_id>?2 AND exec_id>0"
                " AND state NOT IN ('idle', 'queued', 'running') AND state<>'died' AND undone=0"},
        clear = {"UPDATE cells SET undone=0 WHERE notebook=?1 AND exec_id=?2 AND exec_id>0"
                 " AND state NOT IN ('idle', 'queued', 'running')"};
    const struct undone_call *u = CONTAINER_OF(call, struct undone_call, call);
    struct notebook_at book;
    struct err missing;
    if (notebook_find(store, call->scope, &book, &missing) < 0) {
        *e = missing;
        return store->db.is_broken ? -1 : 0;
    }
    if (undone_run(store, &mark, book.key, u->after, e) < 0)
        return -1;
    for (size_t i = 0; i < u->n_redone; i++) {
        if (undone_run(store, &clear, book.key, u->redone[i], e) < 0)
            return -1;
    }
    return 0;
}

static const struct call_type undone_type = {
    .apply = undone_apply, .is_write = true, .ends_rows = true};

int store_mark_undone(struct store *store, const char *notebook, uint64_t after,
                      const uint64_t *redone, size_t n_redone, struct err *e)
{
    struct undone_call *u = call_new(store, &undone_type, sizeof(*u), notebook);
    uint64_t *ids = arena_alloc(&u->call.memory, MAX(n_redone, (size_t)1) * sizeof(*ids));
    if (n_redone > 0)
        memcpy(ids, redone, n_redone * sizeof(*ids));
    u->after = after;
    u->redone = ids;
    u->n_redone = n_redone;
    return call_queue(&u->call, e);
}
