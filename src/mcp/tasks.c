/* Tasks, kept in memory until their time is over. Daemon, on the loop; owns them. */
#include "mcp/tasks.h"

#include "base/clock.h"
#include "base/ids.h"
#include "mcp/ask.h"

enum {
    TASK_LIFE_MS = 3600 * 1000, /* from its beginning, and from its end */
    TASK_POLL_MS = 500,
};

enum task_status { TASK_WORKING, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED };

struct mcp_task {
    struct list in_all;
    char id[TOKEN_SIZE];
    char *agent; /* who may ask for it; NULL: who has the key */
    enum task_status status;
    uint64_t created_ms, updated_ms; /* wall */
    uint64_t expires_ms;             /* monotonic; 0: it works */
    struct mcp_request *request;     /* NULL: it has ended */
    struct buf result;               /* an object, or of one that failed the error */
};

static void task_touch(struct mcp_task *task)
{
    task->updated_ms = clock_wall_ms();
}

static void task_free(struct mcp *mcp, struct mcp_task *task)
{
    map_remove(&mcp->tasks_by_id, task->id);
    list_remove(&task->in_all);
    mcp->n_tasks--;
    mcp->task_bytes -= task->result.len;
    buf_free(&task->result);
    free(task->agent);
    free(task);
}

static void task_settle(struct mcp_task *task, enum task_status status)
{
    task->status = status;
    task->request = NULL;
    task->expires_ms = clock_mono_ms() + clock_scaled_ms(TASK_LIFE_MS);
    task_touch(task);
}

/* The request's answer becomes the task's. */
static void task_deliver(struct mcp_request *rq, const struct buf *result,
                         const struct rpc_fault *fault)
{
    struct mcp_task *task = rq->task;
    struct json_out json = JSON_OUT(&task->result);
    if (result != NULL) {
        buf_append(&task->result, buf_str(result), result->len);
    } else {
        json_put_object(&json);
        json_put_member_int(&json, "code", fault->code);
        json_put_member_str(&json, "message", fault->message);
        json_put_object_end(&json);
    }
    rq->mcp->task_bytes += task->result.len;
    task_settle(task, result != NULL ? TASK_COMPLETED : TASK_FAILED);
}

/* ---- as a client sees it ----------------------------------------------------------------------
 */

static const char *task_status_name(const struct mcp_task *task)
{
    static const char *const names[] = {[TASK_WORKING] = "working",
                                        [TASK_COMPLETED] = "completed",
                                        [TASK_FAILED] = "failed",
                                        [TASK_CANCELLED] = "cancelled"};
    bool is_asking =
        task->status == TASK_WORKING && task->request != NULL && task->request->questions != NULL;
    return is_asking ? "input_required" : names[task->status];
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

bool task_begin(struct mcp_request *rq)
{
    struct mcp *mcp = rq->mcp;
    if (mcp->n_tasks >= MCP_TASKS_MAX || mcp->task_bytes >= MCP_TASK_BYTES)
        tasks_sweep(mcp);
    if (mcp->n_tasks >= MCP_TASKS_MAX || mcp->task_bytes >= MCP_TASK_BYTES)
        return false;
    struct mcp_task *task = mem_alloc(sizeof(*task));
    ids_token(task->id);
    task->agent = rq->agent != NULL ? mem_strdup(rq->agent) : NULL;
    task->created_ms = clock_wall_ms();
    task->result = BUF_INIT(SIZE_MAX / 4);
    task->request = rq;
    task_touch(task);
    list_append(&mcp->tasks, &task->in_all);
    map_set(&mcp->tasks_by_id, task->id, task);
    mcp->n_tasks++;

    /* The message that is answered now and the request that goes on part here: what follows is the
     * task's. */
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    struct json_out json = JSON_OUT(&out);
    rpc_put_result_head(&out, rq->id);
    json_put_object(&json);
    json_put_member_str(&json, "resultType", "task");
    task_put(&json, task);
    json_put_object_end(&json);
    buf_append_char(&out, '}');
    struct mcp_link *link = rq->link;
    request_leave_peer(rq);
    rq->task = task;
    rq->deliver = task_deliver;
    rq->token = NULL;
    if (link != NULL)
        link->ops->answer(link, 200, buf_str(&out), out.len);
    return true;
}

void tasks_refuse(struct mcp_request *rq)
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
    bool is_own = task != NULL && (rq->agent == NULL ||
                                   (task->agent != NULL && strcmp(rq->agent, task->agent) == 0));
    if (!rq->caps.has_tasks) {
        tasks_refuse(rq);
        return NULL;
    }
    if (!is_own) {
        request_fail(rq, RPC_INVALID_PARAMS, "there is no such task; it may have expired");
        return NULL;
    }
    return task;
}

void tasks_get(struct mcp_request *rq)
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
        json_put_raw(&json, buf_str(&task->result), task->result.len);
    }
    json_put_object_end(&json);
    request_reply(rq, &out);
}

void tasks_update(struct mcp_request *rq)
{
    struct mcp_task *task = task_named(rq);
    const json_t *answers = json_object_get(rq->params, "inputResponses");
    if (task == NULL)
        return;
    if (!json_is_object(answers)) {
        request_fail(rq, RPC_INVALID_PARAMS, "inputResponses must be an object");
        return;
    }
    task_touch(task);
    if (task->request != NULL && task->request->questions != NULL)
        ask_on_update(task->request, answers);
    request_reply_json(rq, json_object());
}

void tasks_cancel(struct mcp_request *rq)
{
    struct mcp_task *task = task_named(rq);
    if (task == NULL)
        return;
    struct mcp_request *under_way = task->request;
    if (under_way != NULL) {
        task_settle(task, TASK_CANCELLED);
        request_drop(under_way);
    }
    request_reply_json(rq, json_object());
}

void tasks_sweep(struct mcp *mcp)
{
    uint64_t now_ms = clock_mono_ms();
    LIST_EACH(&mcp->tasks, node) {
        struct mcp_task *task = CONTAINER_OF(node, struct mcp_task, in_all);
        if (task->expires_ms != 0 && task->expires_ms <= now_ms)
            task_free(mcp, task);
    }
}

void tasks_end_all(struct mcp *mcp)
{
    struct list *node;
    while ((node = list_first(&mcp->tasks)) != NULL) {
        struct mcp_task *task = CONTAINER_OF(node, struct mcp_task, in_all);
        if (task->request != NULL)
            request_drop(task->request);
        task_free(mcp, task);
    }
}
