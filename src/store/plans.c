/* Plan mode of agents, so that it outlives the daemon; that of a session is in the session's row.
 * Owns the table agent_plans. Daemon; applied by the store's writer thread. */
#include "store/internal.h"

struct plan_put_call {
    struct store_call call;
    const char *agent, *reason; /* in the call's memory */
    uint64_t entered_at_ms;
};

static int plans_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql put = {
        "INSERT OR REPLACE INTO agent_plans(agent, reason, entered_ms) VALUES(?1,?2,?3)"};
    static const struct db_sql delete = {"DELETE FROM agent_plans WHERE agent=?1"};
    const struct plan_put_call *plan = CONTAINER_OF(call, struct plan_put_call, call);
    if (plan->entered_at_ms == 0)
        return db_do(&store->db, &delete, e, DB_TEXT(plan->agent));
    return db_do(&store->db, &put, e, DB_TEXT(plan->agent), DB_TEXT(plan->reason),
                 DB_NUMBER(plan->entered_at_ms));
}

static const struct call_type plans_put_type = {.apply = plans_apply_put, .is_write = true};

int store_put_plan(struct store *store, const char *agent, const char *reason,
                   uint64_t entered_at_ms, struct err *e)
{
    struct plan_put_call *put = call_new(store, &plans_put_type, sizeof(*put), NULL);
    put->agent = arena_strdup(&put->call.memory, agent);
    put->reason = reason == NULL ? NULL : arena_strdup(&put->call.memory, reason);
    put->entered_at_ms = entered_at_ms;
    return call_queue(&put->call, e);
}

int store_each_plan(struct store *store, store_plan_fn fn, void *context, struct err *e)
{
    static const struct db_sql sql = {"SELECT agent, reason, entered_ms FROM agent_plans"};
    pthread_mutex_lock(&store->db_lock);
    sqlite3_stmt *s = db_ask(&store->db, &sql, e);
    int got = s == NULL ? -1 : 0;
    while (s != NULL && (got = db_step(&store->db, s, e)) > 0)
        fn(context, db_text(s, 0), db_text(s, 1), db_number(s, 2));
    pthread_mutex_unlock(&store->db_lock);
    return got;
}
