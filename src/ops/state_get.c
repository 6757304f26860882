/* state.get: a state under a name, itself as base64 if that is wanted. Daemon; on the loop; a
 * worker of the store encodes. */
#include "ops/ops.h"
#include "session/engine.h"
#include "store/store.h"
#include "wire/json.h"

static const struct op_param state_get_params[] = {
    OP_PARAM_STATE,
    {.name = "with_state",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "Whether the answer is to hold the state itself, as base64."},
    {0},
};

/* In the call's arena. */
struct state_getting {
    struct call *call;
    struct store_call *under_way;
    struct store_state *state; /* NULL if it is not asked for, or not there yet */
    struct store_named named;
};

static void state_get_answer(struct state_getting *g, const char *text, size_t len)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    put_named(&json, &g->named);
    if (text != NULL)
        json_put_member_text(&json, "state", text, len);
    json_put_object_end(&json);
    store_state_unref(take_ptr(g->state));
    call_reply(g->call, 200, &out);
}

static void state_get_fail(struct state_getting *g, const struct err *e)
{
    store_state_unref(take_ptr(g->state));
    call_fail(g->call, e);
}

static void state_get_on_encoded(void *context, const char *text, size_t len, const struct err *e)
{
    if (e != NULL)
        state_get_fail(context, e);
    else
        state_get_answer(context, text, len);
}

static void on_state(void *context, struct store_state *state, const struct store_saved *at,
                     const struct err *e)
{
    struct state_getting *g = context;
    (void)at;
    if (e != NULL) {
        state_get_fail(g, e);
        return;
    }
    g->state = state;
    g->under_way = store_encode(engine_store(g->call->engine), state, state_get_on_encoded, g);
}

static void state_get_on_listed(void *context, const struct store_named *list, size_t n,
                                uint64_t count, const struct err *e)
{
    struct state_getting *g = context;
    const char *name = call_text(g->call, "name", "");
    struct err absent;
    (void)count;
    if (e == NULL && n == 0) {
        err_set(&absent, ERR_NOT_FOUND, "no state is kept under the name \"%.128s\"", name);
        err_advise(&absent, "It was never saved, was deleted, or its time has passed.");
        e = &absent;
    }
    if (e != NULL) {
        state_get_fail(g, e);
        return;
    }
    g->named = list[0]; /* the first is the one that a call without an agent means */
    g->named.name = name;
    g->named.owner = arena_strdup(&g->call->arena, list[0].owner);
    if (call_bool(g->call, "with_state", false))
        g->under_way =
            store_get_named(engine_store(g->call->engine), g->named.owner, name, on_state, g);
    else
        state_get_answer(g, NULL, 0);
}

static void state_get_on_gone(struct call *call)
{
    struct state_getting *g = call->op_state;
    store_forget(g->under_way);
    store_state_unref(take_ptr(g->state));
}

static void state_get_run(struct call *call)
{
    struct store *store = call_store(call);
    if (store == NULL)
        return;
    struct state_getting *g = arena_alloc(&call->arena, sizeof(*g));
    g->call = call;
    g->under_way =
        store_list_named(store, call->agent, call_text(call, "name", ""), state_get_on_listed, g);
    call->op_state = g;
    call->on_gone = state_get_on_gone;
}

static const struct op_verb state_get_verb = {
    .words = "state show",
    .takes = (const char *const[]){"name", NULL},
    .summary = "show a state that is kept under a name",
    .examples = "cella state show sales",
};

const struct op op_state_get = {
    .name = "state.get",
    .method = "GET",
    .path = "/v1/states/{name}",
    .subject = OP_ON_STATE,
    .flags = OP_READ_ONLY,
    .params = state_get_params,
    .doc = "A state that is kept under a name: its size, how long it is kept, and itself.",
    .run = state_get_run,
    .result = &shape_state,
    .example = "{\"name\": \"$state\"}",
    .verb = &state_get_verb,
};
