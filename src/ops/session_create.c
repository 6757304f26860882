/* session.create: answered when the interpreter is ready, or with why it is not. Daemon; on the
 * loop; a session whose caller went away is ended. */
#include "ops/create_call.h"
#include "ops/exec_call.h"
#include "ops/naming.h"
#include "wire/json.h"

static const struct op_param session_create_params[] = {
    SESSION_PARAMS,
    {.name = "name",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = NAMING_NAME_MAX,
     .doc = "What it can be called instead of its id: letters, digits, \".\", \"_\" and \"-\". No "
            "other living session of the agent may have it."},
    NAMING_PARAM_LABELS("Texts to find it by, up to 16, by name."),
    EXEC_PARAM_TOOLS(.is_untold = false),
    EXEC_PARAM_TOOL_DEADLINE(.is_untold = false),
    {0},
};

static void session_create_on_started(void *context, struct session *session)
{
    struct call *call = context;
    if (session->state == SESSION_DEAD) {
        struct err e;
        create_call_explain(session, &e);
        call_fail(call, &e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    put_session(&json, session);
    call_reply(call, 201, &out);
}

static void session_create_on_gone(struct call *call)
{
    struct session *session = call->op_state;
    session_forget_starter(session);
    session_delete(session);
}

static void session_create_run(struct call *call)
{
    struct err e;
    struct session *session;
    struct session_request request;
    if (create_call_read(call, &request, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    const json_t *tools = json_object_get(call->args, "tools");
    request.tools = json_is_array(tools) ? tools : NULL;
    request.tool_deadline_ms = (uint32_t)call_int(call, "tool_deadline_ms", 0);
    if (request.tools != NULL && handed_check(request.tools, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    request.on_started = session_create_on_started;
    request.context = call;
    if (session_create(call->engine, &request, &session, &e) < 0)
        call_fail(call, &e);
    else if (session->starter.on_started != NULL) {
        call->op_state = session; /* else it was answered already */
        call->on_gone = session_create_on_gone;
    }
}

static const struct op_verb session_create_verb = {
    .words = "new",
    .summary = "start a session and print its id",
    .examples = "cella new\n"
                "cella new --runtime bash --idle-timeout 1h",
};

const struct op op_session_create = {
    .name = "session.create",
    .method = "POST",
    .path = "/v1/sessions",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING | OP_MAKES_SESSION,
    .params = session_create_params,
    .doc = "Starts a session: an interpreter of its own in a sandbox of its own.",
    .run = session_create_run,
    .result = &shape_session,
    .status = 201,
    .errors = OP_ERR(CONFLICT) | OP_ERR(NOT_FOUND) | OP_ERR(GONE),
    .example = "{\"runtime\": \"python\", \"profile\": \"min\"}",
    .verb = &session_create_verb,
};
