/* Tasks of clients: calls whose answer is fetched later, so that an answer outlives the daemon.
 * Owns the table tasks. Daemon; applied by the store's writer thread. */
#include "store/internal.h"

struct task_put_call {
    struct store_call call;
    struct store_task row; /* its texts in the call's memory */
};

static int tasks_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO tasks(id, agent, status, created_ms, updated_ms, expires_ms,"
        " result) VALUES(?1,?2,?3,?4,?5,?6,?7)"};
    const struct store_task *row = &CONTAINER_OF(call, struct task_put_call, call)->row;
    return db_do(&store->db, &sql, e, DB_TEXT(row->id), DB_TEXT(row->agent), DB_TEXT(row->status),
                 DB_NUMBER(row->created_ms), DB_NUMBER(row->updated_ms), DB_NUMBER(row->expires_ms),
                 DB_TEXT(row->result));
}

static const struct call_type tasks_put_type = {
    .apply = tasks_apply_put, .deliver = call_deliver_done, .is_write = true};

struct store_call *store_put_task(struct store *store, const struct store_task *row,
                                  store_done_fn fn, void *context, struct err *e)
{
    struct task_put_call *put = call_new(store, &tasks_put_type, sizeof(*put), NULL);
    struct arena *memory = &put->call.memory;
    put->row = *row;
    put->row.id = arena_strdup(memory, row->id);
    put->row.agent = row->agent == NULL ? NULL : arena_strdup(memory, row->agent);
    put->row.status = arena_strdup(memory, row->status);
    put->row.result = row->result == NULL ? NULL : arena_strdup(memory, row->result);
    put->call.bytes += row->result == NULL ? 0 : strlen(row->result);
    put->call.fn = (void *)fn;
    put->call.context = context;
    put->call.is_awaited = fn != NULL;
    return call_queue(&put->call, e) < 0 ? NULL : &put->call;
}

static int tasks_apply_delete(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {"DELETE FROM tasks WHERE id=?1"};
    return db_do(&store->db, &sql, e,
                 DB_TEXT(CONTAINER_OF(call, struct task_put_call, call)->row.id));
}

static const struct call_type tasks_delete_type = {.apply = tasks_apply_delete, .is_write = true};

int store_delete_task(struct store *store, const char *id, struct err *e)
{
    struct task_put_call *call = call_new(store, &tasks_delete_type, sizeof(*call), NULL);
    call->row.id = arena_strdup(&call->call.memory, id);
    return call_queue(&call->call, e);
}

int store_each_task(struct store *store, void (*fn)(void *context, const struct store_task *row),
                    void *context, struct err *e)
{
    static const struct db_sql sql = {"SELECT id, agent, status, created_ms, updated_ms,"
                                      " expires_ms, result FROM tasks ORDER BY created_ms"};
    pthread_mutex_lock(&store->db_lock);
    sqlite3_stmt *s = db_ask(&store->db, &sql, e);
    int got = s == NULL ? -1 : 0;
    while (s != NULL && (got = db_step(&store->db, s, e)) > 0) {
        const struct store_task row = {
            .id = db_text(s, 0),
            .agent = db_text(s, 1),
            .status = db_text(s, 2),
            .created_ms = db_number(s, 3),
            .updated_ms = db_number(s, 4),
            .expires_ms = db_number(s, 5),
            .result = db_text(s, 6),
        };
        fn(context, &row);
    }
    pthread_mutex_unlock(&store->db_lock);
    return got;
}
