/* The memories of agents: memory.list, memory.delete, memory.clear. Daemon; on the loop. */
#include "base/clock.h"
#include "ops/ops.h"
#include "session/session.h"
#include "store/memories.h"
#include "wire/json.h"

#define OP_PARAM_MEMORY_USER                                                                       \
    {                                                                                              \
        .name = "user", .type = OP_TEXT, .place = OP_IN_QUERY, .max = SESSION_PERSON_MAX,          \
        .doc = "Those of this user alone; empty: of none in particular."                           \
    }

/* ---- list ------------------------------------------------------------------------------------ */

static const struct op_param memory_list_params[] = {
    OP_PARAM_MEMORY_USER,
    OP_PARAM_OFFSET,
    OP_PARAM_LIMIT,
    {0},
};

static void memory_list_put(struct json_out *json, const struct store_memory *row)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_object(json);
    json_put_member_str(json, "memory", row->id);
    json_put_member_str(json, "agent", row->agent);
    if (row->user[0] != '\0')
        json_put_member_str(json, "user", row->user);
    json_put_member_str(json, "session_id", row->session);
    json_put_member_str(json, "task", row->task);
    json_put_member_str(json, "action", row->action);
    json_put_member_str(json, "outcome", row->outcome);
    json_put_member_real(json, "q_value", row->q, 3);
    json_put_member_int(json, "outcomes", (int64_t)row->n_outcomes);
    _json_ json_t *log = row->log != NULL ? json_loads(row->log, 0, NULL) : NULL;
    if (log != NULL) {
        json_put_key(json, "log");
        json_put_value(json, log);
    }
    json_put_member_str(json, "created_at", clock_rfc3339(row->created_ms, time));
    json_put_member_str(json, "updated_at", clock_rfc3339(row->updated_ms, time));
    json_put_object_end(json);
}

static void memory_list_on_listed(void *context, const struct store_memory *list, size_t n,
                                  uint64_t count, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "memories");
    json_put_array(&json);
    for (size_t i = 0; i < n; i++)
        memory_list_put(&json, &list[i]);
    json_put_array_end(&json);
    json_put_member_int(&json, "count", (int64_t)count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void memory_list_run(struct call *call)
{
    struct store *store = call_store(call);
    if (store != NULL)
        call_await(call, store_list_memories(store, call->agent, call_text(call, "user", NULL),
                                             call_offset(call), call_limit(call),
                                             memory_list_on_listed, call));
}

static const struct op_member memory_members[] = {
    {"memory", OP_TEXT, .is_always = true, .column = "MEMORY", .doc = "Its id."},
    {"agent", OP_TEXT, .is_always = true, .column = "AGENT", .doc = "Whose it is."},
    {"user", OP_TEXT, .column = "USER", .doc = "And of which of its users."},
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session that it last learnt from."},
    {"task", OP_TEXT, .is_always = true, .column = "TASK", .doc = "What was to be found."},
    {"action", OP_TEXT, .is_always = true, .column = "ACTION", .doc = "How it was explored."},
    {"outcome", OP_CHOICE, .is_always = true, .choices = memory_outcomes, .column = "OUTCOME",
     .doc = "What became of it, the last time; open: it was not told."},
    {"q_value", OP_NUMBER, .is_always = true, .column = "Q", .doc = "How well that went: 0 to 1."},
    {"outcomes", OP_INT, .is_always = true, .doc = "How many it has learnt from."},
    {"log", OP_ANY, .doc = "What was called and what it cost, as explore.state has it."},
    {"created_at", OP_TIME, .is_always = true, .doc = "When it was first remembered."},
    {"updated_at", OP_TIME, .is_always = true, .column = "UPDATED", .doc = "When it last learnt."},
    {0},
};
static const struct op_shape shape_memory = {"memory", memory_members,
                                             "What is remembered of an exploration."};
static const struct op_member memory_list_members[] = {
    {"memories", OP_LIST, .is_always = true, .shape = &shape_memory,
     .doc = "Those that learnt last come first."},
    {"count", OP_INT, .is_always = true, .doc = "How many there are."},
    {0},
};
static const struct op_shape shape_memory_list = {"memory_list", memory_list_members,
                                                  "What an agent remembers of explorations."};

static const struct op_verb memory_list_verb = {
    .words = "memory list",
    .summary = "list what is remembered of explorations",
    .examples = "cella memory list --user ada",
};

const struct op op_memory_list = {
    .name = "memory.list",
    .method = "GET",
    .path = "/v1/memories",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY,
    .params = memory_list_params,
    .doc = "Lists what an agent remembers of explorations.",
    .run = memory_list_run,
    .result = &shape_memory_list,
    .errors = OP_ERR(UNAVAILABLE),
    .example = "{}",
    .verb = &memory_list_verb,
};

/* ---- delete ---------------------------------------------------------------------------------- */

static const struct op_param memory_delete_params[] = {
    {.name = "memory",
     .type = OP_TEXT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = MEMORY_ID_SIZE - 1,
     .doc = "The memory by its id."},
    {0},
};

static void memory_delete_on_done(void *context, uint64_t n, const struct err *e)
{
    struct err none;
    struct call *call = context;
    const char *id = call_text(call, "memory", "");
    if (e == NULL && n == 0) {
        err_set(&none, ERR_NOT_FOUND, "memory not found: %.64s", id);
        err_advise(&none, "An agent finds only its own; memory.list has their ids.");
        e = &none;
    }
    reply_deleted(call, "memory", id, e);
}

static void memory_delete_run(struct call *call)
{
    struct err e;
    struct store *store = call_store(call);
    if (store == NULL)
        return;
    struct store_call *asked = store_delete_memories(
        store, call->agent, NULL, call_text(call, "memory", ""), memory_delete_on_done, call, &e);
    if (asked == NULL)
        call_fail(call, &e);
    else
        call_await(call, asked);
}

static const struct op_member deleted_memory_members[] = {
    {"memory", OP_TEXT, .is_always = true, .doc = "The memory."},
    {"deleted", OP_BOOL, .is_always = true, .doc = "true."},
    {0},
};
static const struct op_shape shape_deleted_memory = {"deleted_memory", deleted_memory_members,
                                                     "A memory that is gone."};

static const struct op_verb memory_delete_verb = {
    .words = "memory rm",
    .takes = (const char *const[]){"memory...", NULL},
    .summary = "forget single memories of explorations",
    .examples = "cella memory rm 8f3a51c09b7d2e64",
};

const struct op op_memory_delete = {
    .name = "memory.delete",
    .method = "DELETE",
    .path = "/v1/memories/{memory}",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING,
    .params = memory_delete_params,
    .doc = "Forgets what is remembered of one exploration.",
    .run = memory_delete_run,
    .result = &shape_deleted_memory,
    .errors = OP_ERR(LIMIT) | OP_ERR(UNAVAILABLE),
    .example = "{\"memory\": \"$memory\"}",
    .verb = &memory_delete_verb,
};

/* ---- clear ----------------------------------------------------------------------------------- */

static const struct op_param memory_clear_params[] = {OP_PARAM_MEMORY_USER, {0}};

static void memory_clear_on_done(void *context, uint64_t n, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_int(&json, "deleted", (int64_t)n);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

/* Who names no agent means the default one: nobody clears those of all agents by leaving out a
 * word. */
static void memory_clear_run(struct call *call)
{
    struct err e;
    struct store *store = call_store(call);
    if (store == NULL)
        return;
    struct store_call *asked =
        store_delete_memories(store, call_owner(call), call_text(call, "user", NULL), NULL,
                              memory_clear_on_done, call, &e);
    if (asked == NULL)
        call_fail(call, &e);
    else
        call_await(call, asked);
}

static const struct op_member cleared_memories_members[] = {
    {"deleted", OP_INT, .is_always = true, .doc = "How many were forgotten."},
    {0},
};
static const struct op_shape shape_cleared_memories = {"cleared_memories", cleared_memories_members,
                                                       "Memories that are gone."};

static const struct op_verb memory_clear_verb = {
    .words = "memory clear",
    .summary = "forget all that is remembered of explorations",
    .examples = "cella memory clear --user ada",
};

const struct op op_memory_clear = {
    .name = "memory.clear",
    .method = "DELETE",
    .path = "/v1/memories",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING,
    .params = memory_clear_params,
    .doc = "Forgets all that an agent remembers of explorations, or what it does for one user.",
    .run = memory_clear_run,
    .result = &shape_cleared_memories,
    .errors = OP_ERR(LIMIT) | OP_ERR(UNAVAILABLE),
    .example = "{\"user\": \"ada\"}",
    .verb = &memory_clear_verb,
};
