/* state.list, and a named state as JSON. Daemon; on the loop. */
#include "base/clock.h"
#include "ops/ops.h"
#include "session/engine.h"
#include "store/store.h"
#include "wire/json.h"

static const struct op_param state_list_params[] = {{0}};

void put_named(struct json_out *json, const struct store_named *state)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_member_str(json, "name", state->name);
    json_put_member_str(json, "agent", state->owner);
    json_put_member_int(json, "bytes", (int64_t)state->bytes);
    json_put_member_str(json, "saved_at", clock_rfc3339(state->at_ms, time));
    json_put_member_str(json, "expires_at",
                        state->expires_ms > 0 ? clock_rfc3339(state->expires_ms, time) : NULL);
}

static void state_list_on_listed(void *context, const struct store_named *list, size_t n,
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
    json_put_key(&json, "states");
    json_put_array(&json);
    for (size_t i = 0; i < n; i++) {
        json_put_object(&json);
        put_named(&json, &list[i]);
        json_put_object_end(&json);
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "count", (int64_t)count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void state_list_run(struct call *call)
{
    struct store *store = call_store(call);
    if (store == NULL)
        return;
    call_await(call, store_list_named(store, call->agent, NULL, state_list_on_listed, call));
}

static const struct op_member state_list_members[] = {
    {"states", OP_LIST, .is_always = true, .shape = &shape_state, .doc = "The states."},
    {"count", OP_INT, .is_always = true, .doc = "How many there are."},
    {0},
};
static const struct op_shape shape_state_list = {"state_list", state_list_members,
                                                 "States that are kept under a name."};

static const struct op_verb state_list_verb = {
    .words = "state list",
    .summary = "list the states that are kept under a name",
    .examples = "cella state list",
};

const struct op op_state_list = {
    .name = "state.list",
    .method = "GET",
    .path = "/v1/states",
    .subject = OP_ON_STATE,
    .flags = OP_READ_ONLY,
    .params = state_list_params,
    .doc = "Lists the states that are kept under a name: the first thousand.",
    .run = state_list_run,
    .result = &shape_state_list,
    .example = "{}",
    .verb = &state_list_verb,
};
