#include "book/book.h"
#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param params[] = {
    OP_PARAM_SESSION,
    {.name = "keep_notebook",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "The cells that it ran stay, as a notebook; default false."},
    {0},
};

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "session_id", session->id);
    json_put_member_bool(&json, "killed", true);
    json_put_object_end(&json);
    char id[UUID_SIZE];
    memcpy(id, session->id, sizeof(id));
    session_delete(session);
    if (call->books != NULL && !call_bool(call, "keep_notebook", false))
        book_delete(call->books, id, NULL, NULL);
    call_reply(call, 200, &out);
}

const struct op op_session_delete = {
    .name = "session.delete",
    .method = "DELETE",
    .path = "/v1/sessions/{session_id}",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Ends a session with every process and file of it.",
    .run = run,
};
