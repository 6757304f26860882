#include "ops/notebook_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param params[] = {OP_PARAM_NOTEBOOK, {0}};

static void on_deleted(void *context, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "notebook_id", call_text(call, "session_id", ""));
    json_put_member_bool(&json, "deleted", true);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void on_deleter_gone(struct call *call)
{
    book_forget(call->op_state);
}

static void begin(struct call *call)
{
    call->on_gone = on_deleter_gone;
    call->op_state = book_delete(call->books, call_text(call, "session_id", ""), on_deleted, call);
}

static void on_row(void *context, const struct store_notebook *row, const struct err *e)
{
    (void)row;
    if (e != NULL)
        call_fail(context, e);
    else
        begin(context);
}

static void on_gone(struct call *call)
{
    store_forget(call->op_state);
}

static void run(struct call *call)
{
    if (call_books(call) == NULL)
        return;
    const char *id = call_text(call, "session_id", "");
    if (notebook_session(call, id) != NULL) {
        begin(call);
        return;
    }
    call->on_gone = on_gone;
    call->op_state = store_get_notebook(engine_store(call->engine), id, on_row, call);
}

const struct op op_notebook_delete = {
    .name = "notebook.delete",
    .method = "DELETE",
    .path = "/v1/notebooks/{session_id}",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Deletes a notebook with its cells and images; a session that it has lives on.",
    .run = run,
};
