/* Tasks: in memory until their time is over, and in the store, so that they outlive the daemon: a
 * client hears of a task, and of its answer, once that is on disk. Daemon, on the loop; owns them.
 *
 *   mcp_task_begin ── safe ──▶ the client is told ── answer ── safe ──▶ completed or failed
 *        │ answered or dropped before: there was no task
 *
 * A cell does not outlive the daemon: a task that worked when it ended has failed. */
#include "mcp/tasks.h"

#include "base/clock.h"
#include "base/ids.h"
#include "mcp/ask.h"
#include "session/engine.h"
#include "store/store.h"

#define TASK_KEPT_MAX (4 * MIB) /* bytes of a result that outlives the daemon */

enum {
    TASK_LIFE_MS = 3600 * 1000, /* from its beginning, and from its end */
    TASK_POLL_MS = 500,
};

enum task_status { TASK_WORKING, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED };
static const char *const task_statuses[] = {"working", "completed", "failed", "cancelled"};

struct mcp_task {
    struct mcp *mcp;
    struct list in_all;
    char id[TOKEN_SIZE];
    char *agent; /* who may ask for it; NULL for who has the key */
    enum task_status status;
    enum task_status ending;         /* that it has once its result is safe */
    bool is_told;                    /* the client knows of it */
    uint64_t created_ms, updated_ms; /* wall */
    uint64_t expires_ms;             /* monotonic; 0: it works */
    struct mcp_request *request;     /* NULL once it has ended */
    struct store_call *saving;       /* NULL if nothing is */
    struct mcp_request *canceller;   /* hears of it once that is safe; NULL if none waits */
    char *result;                    /* an object, or of one that failed the error; or NULL */
    size_t result_len;
};

static void task_touch(struct mcp_task *task)
{
    task->updated_ms = clock_wall_ms();
}

static struct store *task_store(const struct mcp *mcp)
{
    return mcp->config.engine != NULL ? engine_store(mcp->config.engine) : NULL;
}

static struct mcp_task *task_new(struct mcp *mcp, const char *id, const char *agent)
{
    struct mcp_task *task = mem_alloc(sizeof(*task));
    task->mcp = mcp;
    snprintf(task->id, sizeof(task->id), "%s", id);
    task->agent = agent != NULL ? mem_strdup(agent) : NULL;
    task->created_ms = clock_wall_ms();
    task_touch(task);
    list_append(&mcp->tasks, &task->in_all);
    map_set(&mcp->tasks_by_id, task->id, task);
    mcp->has.tasks++;
    mcp->has.task_bytes += sizeof(*task);
    return task;
}

static void task_set_result(struct mcp_task *task, const char *json, size_t len)
{
    task->result = mem_alloc(len + 1);
    memcpy(task->result, json, len);
    task->result_len = len;
    task->mcp->has.task_bytes += len;
}

static void task_answer_canceller(struct mcp_task *task)
{
    struct mcp_request *rq = take_ptr(task->canceller);
    if (rq == NULL)
        return;
    rq->on_end = NULL;
    request_reply_json(rq, json_object());
}

static void task_free(struct mcp_task *task)
{
    struct mcp *mcp = task->mcp;
    task_answer_canceller(task);
    if (task->saving != NULL)
        store_forget(task->saving);
    map_remove(&mcp->tasks_by_id, task->id);
    list_remove(&task->in_all);
    mcp->has.tasks--;
    mcp->has.task_bytes -= sizeof(*task) + task->result_len;
    free(task->result);
    free(task->agent);
    free(task);
}

/* Nobody will ask for it any more, not even after a restart. */
static void task_forget(struct mcp_task *task)
{
    struct store *store = task_store(task->mcp);
    struct err ignored;
    if (store != NULL)
        store_delete_task(store, task->id, &ignored);
    task_free(task);
}

/* The row. A result that is too large for it is told of, and where else it is. `fn` comes when it
 * is safe, or at once if there is no store or it cannot take more. */
static void task_save(struct mcp_task *task, enum task_status status, store_done_fn fn)
{
    static const char large[] = "{\"code\":-32603,\"message\":\"the daemon has begun anew and did "
                                "not keep this large answer: the session's notebook has it\"}";
    struct store *store = task_store(task->mcp);
    struct err e;
    bool is_large = task->result_len > TASK_KEPT_MAX;
    const struct store_task row = {
        .id = task->id,
        .agent = task->agent,
        .status = task_statuses[is_large ? TASK_FAILED : status],
        .created_ms = task->created_ms,
        .updated_ms = task->updated_ms,
        .expires_ms = clock_wall_ms() + clock_scaled_ms(TASK_LIFE_MS),
        .result = is_large ? large : task->result,
    };
    if (task->saving != NULL)
        store_forget(task->saving);
    task->saving = store != NULL ? store_put_task(store, &row, fn, task, &e) : NULL;
    if (task->saving == NULL && fn != NULL)
        fn(task, NULL);
    if (fn == NULL)
        task->saving = NULL; /* the store has it, and tells nobody */
}

static void task_settle(struct mcp_task *task, enum task_status status)
{
    task->status = status;
    task->request = NULL;
    task->expires_ms = clock_mono_ms() + clock_scaled_ms(TASK_LIFE_MS);
    task_touch(task);
}

/* A disk that refuses does not keep a client from its answer. */
static void task_on_result_safe(void *context, const struct err *e)
{
    struct mcp_task *task = context;
    (void)e;
    task->saving = NULL;
    task_settle(task, task->ending);
}

static void task_set_fault(struct mcp_task *task, const struct rpc_fault *fault)
{
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_int(&json, "code", fault->code);
    json_put_member_str(&json, "message", fault->message);
    json_put_object_end(&json);
    task_set_result(task, buf_str(&out), out.len);
}

/* The answer was quicker than the disk: the client has not heard of a task, and gets it. */
static void task_answer(struct mcp_request *rq, const struct buf *result,
                        const struct rpc_fault *fault)
{
    struct mcp_link *link = rq->link;
    struct rpc_fault told;
    _buf_ struct buf out = BUF_INIT(SIZE_MAX / 4);
    if (result != NULL) {
        rpc_put_result_head(&out, rq->id);
        buf_append(&out, buf_str(result), result->len);
        buf_append_char(&out, '}');
    } else {
        told = *fault;
        rpc_put_error(&out, rq->id, &told);
    }
    task_forget(take_ptr(rq->task));
    request_unlink(rq);
    if (link != NULL)
        link->ops->answer(link, 200, buf_str(&out), out.len);
}

/* The request's answer becomes the task's. */
static void task_deliver(struct mcp_request *rq, const struct buf *result,
                         const struct rpc_fault *fault)
{
    struct mcp_task *task = rq->task;
    if (!task->is_told) {
        task_answer(rq, result, fault);
        return;
    }
    if (result != NULL)
        task_set_result(task, buf_str(result), result->len);
    else
        task_set_fault(task, fault);
    task->request = NULL;
    task->ending = result != NULL ? TASK_COMPLETED : TASK_FAILED;
    task_touch(task);
    task_save(task, task->ending, task_on_result_safe);
}

/* Its client went away before it heard of the task, or has taken the request back. */
static void task_on_request_end(struct mcp_request *rq)
{
    struct mcp_task *task = rq->task;
    if (task == NULL || task->request != rq)
        return;
    task->request = NULL;
    if (!task->is_told)
        task_forget(take_ptr(rq->task));
}

/* ---- as a client sees it --------------------------------------------------------------------- */

static const char *task_status_name(const struct mcp_task *task)
{
    bool is_asking =
        task->status == TASK_WORKING && task->request != NULL && task->request->questions != NULL;
    return is_asking ? "input_required" : task_statuses[task->status];
}

static void task_put(struct json_out *json, const struct mcp_task *task)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_member_str(json, "taskId", task->id);
    json_put_member_str(json, "status", task_status_name(task));
    json_put_member_str(json, "createdAt", clock_rfc3339(task->created_ms, time));
    json_put_member_str(json, "lastUpdatedAt", clock_rfc3339(task->updated_ms, time));
    json_put_member_int(json, "ttlMs", TASK_LIFE_MS);
    json_put_member_int(json, "pollIntervalMs", TASK_POLL_MS);
}

/* It is safe: the message that is answered now and the request that goes on part here. */
static void task_on_safe(void *context, const struct err *e)
{
    struct mcp_task *task = context;
    struct mcp_request *rq = task->request;
    struct mcp_link *link = rq->link;
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    struct json_out json = JSON_OUT(&out);
    (void)e; /* a disk that refuses: it lives as long as the daemon */
    task->saving = NULL;
    task->is_told = true;
    rpc_put_result_head(&out, rq->id);
    json_put_object(&json);
    json_put_member_str(&json, "resultType", "task");
    task_put(&json, task);
    json_put_object_end(&json);
    buf_append_char(&out, '}');
    request_leave_peer(rq);
    rq->token = NULL;
    if (link != NULL)
        link->ops->answer(link, 200, buf_str(&out), out.len);
}

bool mcp_task_begin(struct mcp_request *rq)
{
    struct mcp *mcp = rq->mcp;
    char id[TOKEN_SIZE];
    if (mcp->has.tasks >= MCP_TASKS_MAX || mcp->has.task_bytes >= MCP_TASK_BYTES)
        mcp_tasks_sweep(mcp);
    if (mcp->has.tasks >= MCP_TASKS_MAX || mcp->has.task_bytes >= MCP_TASK_BYTES)
        return false;
    ids_token(id);
    struct mcp_task *task = task_new(mcp, id, rq->agent);
    task->request = rq;
    rq->task = task;
    rq->deliver = task_deliver;
    rq->on_end = task_on_request_end;
    task_save(task, TASK_WORKING, task_on_safe);
    return true;
}

void mcp_task_refuse(struct mcp_request *rq)
{
    request_fail_with(
        rq, RPC_MISSING_CAPABILITY,
        json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "extensions", TASKS_EXTENSION),
        "this needs a client that knows tasks: declare the extension %s", TASKS_EXTENSION);
}

/* The task that the request names; NULL if it was answered with an error. */
static struct mcp_task *task_named(struct mcp_request *rq)
{
    const char *id = rpc_text(rq->params, "taskId");
    struct mcp_task *task = id != NULL ? map_get(&rq->mcp->tasks_by_id, id) : NULL;
    bool is_own =
        task != NULL && task->is_told &&
        (rq->agent == NULL || (task->agent != NULL && strcmp(rq->agent, task->agent) == 0));
    if (!rq->caps.has_tasks) {
        mcp_task_refuse(rq);
        return NULL;
    }
    if (!is_own) {
        request_fail(rq, RPC_INVALID_PARAMS, "there is no such task; it may have expired");
        return NULL;
    }
    return task;
}

void mcp_task_get(struct mcp_request *rq)
{
    const struct mcp_task *task = task_named(rq);
    if (task == NULL)
        return;
    _buf_ struct buf out = BUF_INIT(SIZE_MAX / 4);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    task_put(&json, task);
    if (task->request != NULL && task->request->questions != NULL) {
        json_put_key(&json, "inputRequests");
        json_put_value(&json, task->request->questions);
    }
    if (task->status == TASK_COMPLETED || task->status == TASK_FAILED) {
        json_put_key(&json, task->status == TASK_COMPLETED ? "result" : "error");
        json_put_raw(&json, task->result, task->result_len);
    }
    json_put_object_end(&json);
    request_reply(rq, &out);
}

void mcp_task_update(struct mcp_request *rq)
{
    struct mcp_task *task = task_named(rq);
    if (task == NULL)
        return;
    const json_t *answers = json_object_get(rq->params, "inputResponses");
    if (!json_is_object(answers)) {
        request_fail(rq, RPC_INVALID_PARAMS, "inputResponses must be an object");
        return;
    }
    task_touch(task);
    if (task->request != NULL && task->request->questions != NULL)
        ask_on_update(task->request, answers);
    request_reply_json(rq, json_object());
}

/* A disk that refuses keeps nobody from an answer. */
static void task_on_cancel_safe(void *context, const struct err *e)
{
    struct mcp_task *task = context;
    (void)e;
    task->saving = NULL;
    task_answer_canceller(task);
}

static void task_on_canceller_end(struct mcp_request *rq)
{
    ((struct mcp_task *)(uintptr_t)rq->own)->canceller = NULL;
}

void mcp_task_cancel(struct mcp_request *rq)
{
    struct mcp_task *task = task_named(rq);
    if (task == NULL)
        return;
    struct mcp_request *under_way = task->request;
    if (under_way == NULL) {
        request_reply_json(rq, json_object());
        return;
    }
    task_settle(task, TASK_CANCELLED);
    request_drop(under_way);
    rq->own = task;
    rq->on_end = task_on_canceller_end;
    task->canceller = rq;
    task_save(task, TASK_CANCELLED, task_on_cancel_safe);
}

void mcp_tasks_sweep(struct mcp *mcp)
{
    uint64_t now_ms = clock_mono_ms();
    LIST_EACH(&mcp->tasks, node) {
        struct mcp_task *task = CONTAINER_OF(node, struct mcp_task, in_all);
        if (task->expires_ms != 0 && task->expires_ms <= now_ms)
            task_forget(task);
    }
}

/* Their rows stay. */
void mcp_tasks_end_all(struct mcp *mcp)
{
    LIST_EACH(&mcp->tasks, node) {
        struct mcp_task *task = CONTAINER_OF(node, struct mcp_task, in_all);
        struct mcp_request *rq = task->request;
        if (rq != NULL) {
            task->request = NULL;
            rq->task = NULL;
            request_drop(rq);
        }
        task_free(task);
    }
}

/* ---- after a restart ------------------------------------------------------------------------- */

static void task_on_row(void *context, const struct store_task *row)
{
    struct mcp *mcp = context;
    uint64_t wall_ms = clock_wall_ms();
    struct rpc_fault fault;
    size_t status = 0;
    while (status < ARRAY_LEN(task_statuses) && strcmp(task_statuses[status], row->status) != 0)
        status++;
    if (status == ARRAY_LEN(task_statuses) || strlen(row->id) >= TOKEN_SIZE)
        return;
    struct mcp_task *task = task_new(mcp, row->id, row->agent);
    task->is_told = true;
    task->created_ms = row->created_ms;
    task->updated_ms = row->updated_ms;
    task->status = (enum task_status)status;
    task->expires_ms =
        clock_mono_ms() + (row->expires_ms > wall_ms
                               ? MIN(row->expires_ms - wall_ms, clock_scaled_ms(TASK_LIFE_MS))
                               : 1);
    if (task->status == TASK_WORKING) {
        rpc_fault_set(&fault, RPC_INTERNAL_ERROR,
                      "the daemon ended while the code ran; the session is as it was before: run "
                      "it again");
        task_set_fault(task, &fault);
        task->status = TASK_FAILED;
        task->expires_ms = clock_mono_ms() + clock_scaled_ms(TASK_LIFE_MS);
    } else if (row->result != NULL) {
        task_set_result(task, row->result, strlen(row->result));
    }
}

void mcp_tasks_load(struct mcp *mcp)
{
    struct store *store = task_store(mcp);
    struct err ignored; /* a store that cannot be read is told of by whoever opened it */
    if (store == NULL || store_each_task(store, task_on_row, mcp, &ignored) < 0)
        return;
    LIST_EACH(&mcp->tasks, node) { /* so that what has failed expires, too */
        struct mcp_task *task = CONTAINER_OF(node, struct mcp_task, in_all);
        if (task->status == TASK_FAILED)
            task_save(task, TASK_FAILED, NULL);
    }
}
