#include "ops/ops.h"
#include "session/engine.h"
#include "store/store.h"
#include "wire/json.h"

static const struct op_param params[] = {OP_PARAM_STATE, {0}};

static void on_safe(void *context, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "name", call_text(call, "name", ""));
    json_put_member_bool(&json, "deleted", true);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void on_gone(struct call *call)
{
    store_forget(call->op_state);
}

static void run(struct call *call)
{
    struct err e;
    struct store *store = call_store(call);
    if (store == NULL)
        return;
    if (store_delete_named(store, call_text(call, "name", ""), &e) < 0) {
        call_fail(call, &e);
        return;
    }
    call->op_state = store_barrier(store, NULL, on_safe, call);
    call->on_gone = on_gone;
}

const struct op op_state_delete = {
    .name = "state.delete",
    .method = "DELETE",
    .path = "/v1/states/{name}",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Forgets the state that is kept under a name, if there is one.",
    .run = run,
};
