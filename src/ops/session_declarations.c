/* session.declarations and notebook.declarations: imports and definitions as source. Daemon; on the
 * loop; the interpreter or the last save tells them. */
#include "ops/notebook_call.h"
#include "session/declared.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param session_params[] = {OP_PARAM_SESSION, {0}};

static const struct op_param session_declarations_notebook_params[] = {OP_PARAM_NOTEBOOK, {0}};

static void put_member(struct json_out *json, const char *name, const json_t *value)
{
    if (json_array_size(value) == 0)
        return;
    json_put_key(json, name);
    json_put_value(json, value);
}

static void on_declared(void *context, const struct declared *declared)
{
    struct call *call = context;
    const json_t *told = declared->told;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    put_member(&json, "imports", json_object_get(told, "imports"));
    put_member(&json, "definitions", json_object_get(told, "definitions"));
    put_member(&json, "lost",
               declared->lost != NULL ? declared->lost : json_object_get(told, "lost"));
    json_put_member_true(&json, "saved", declared->lost != NULL);
    json_put_member_true(&json, "more", json_is_true(json_object_get(told, "more")));
    json_put_member_some(&json, "as_of", (int64_t)declared->as_of);
    json_put_member_true(&json, "busy", declared->is_busy);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct declared_listener session_declarations_listener = {.on_declared = on_declared,
                                                                       .on_failed = call_failed};

static void session_declarations_on_gone(struct call *call)
{
    declared_forget(call->op_state);
}

static void ask(struct call *call, struct session *session)
{
    struct err e;
    struct declared_wait *wait;
    if (session_declared(session, &session_declarations_listener, call, &wait, &e) < 0) {
        call_fail(call, &e);
    } else if (wait != NULL) {
        call->op_state = wait;
        call->on_gone = session_declarations_on_gone;
    }
}

static void session_declarations_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session != NULL)
        ask(call, session);
}

/* A notebook has the id of its session. */
static void run_for_notebook(struct call *call)
{
    struct err e;
    struct session *session = notebook_session(call, call_text(call, "session_id", ""));
    if (session != NULL && session->state != SESSION_DEAD) {
        ask(call, session);
        return;
    }
    err_set(&e, ERR_CONFLICT, "no session runs with the id of this notebook");
    err_advise(&e, "Run one of its cells: that makes one.");
    call_fail(call, &e);
}

#define ABOUT                                                                                      \
    "What the code has imported and defined, as source that can be run again, and what could not " \
    "be saved, with advice."

static const struct op_verb session_declarations_verb = {
    .words = "declarations",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "show what a session imported and defined, and what would not survive",
    .examples = "cella declarations 0b9c",
};

const struct op op_session_declarations = {
    .name = "session.declarations",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/declarations",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_params,
    .doc = ABOUT,
    .run = session_declarations_run,
    .result = &shape_declarations,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_declarations_verb,
};

static const struct op_verb notebook_verb = {
    .words = "notebook declarations",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "show what a notebook's code imported and defined",
    .examples = "cella notebook declarations 0b9c",
};

const struct op op_notebook_declarations = {
    .name = "notebook.declarations",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/declarations",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_READ_ONLY,
    .params = session_declarations_notebook_params,
    .doc = ABOUT,
    .run = run_for_notebook,
    .result = &shape_declarations,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$notebook\"}",
    .verb = &notebook_verb,
};
