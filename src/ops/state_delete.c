/* state.delete: answered when the removal is on disk. Daemon; on the loop. */
#include "ops/ops.h"
#include "session/engine.h"
#include "store/store.h"

static const struct op_param state_delete_params[] = {OP_PARAM_STATE, {0}};

static void on_safe(void *context, const struct err *e)
{
    struct call *call = context;
    reply_deleted(call, "name", call_text(call, "name", ""), e);
}

static void state_delete_run(struct call *call)
{
    struct err e;
    struct store *store = call_store(call);
    if (store == NULL)
        return;
    if (store_delete_named(store, call->agent, call_text(call, "name", ""), &e) < 0) {
        call_fail(call, &e);
        return;
    }
    call_await(call, store_barrier(store, NULL, on_safe, call));
}

static const struct op_member deleted_state_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "The state."},
    {"deleted", OP_BOOL, .is_always = true, .doc = "true."},
    {0},
};
static const struct op_shape shape_deleted_state = {"deleted_state", deleted_state_members,
                                                    "A state that is gone."};

static const struct op_verb state_delete_verb = {
    .words = "state rm",
    .takes = (const char *const[]){"name...", NULL},
    .summary = "forget states that are kept under a name",
    .examples = "cella state rm sales",
};

const struct op op_state_delete = {
    .name = "state.delete",
    .method = "DELETE",
    .path = "/v1/states/{name}",
    .subject = OP_ON_STATE,
    .flags = OP_MUTATING,
    .params = state_delete_params,
    .doc = "Forgets the state that is kept under a name, if there is one.",
    .run = state_delete_run,
    .result = &shape_deleted_state,
    .example = "{\"name\": \"$state\"}",
    .verb = &state_delete_verb,
};
