/* session.delete: SIGTERM, two seconds, the end; then the notebook's rows. Daemon; on the loop. */
#include "ops/ops.h"
#include "session/changes.h"
#include "session/end.h"
#include "session/engine.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param session_delete_params[] = {
    OP_PARAM_SESSION,
    {.name = "keep_notebook",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .letter = 'k',
     .doc = "The cells that it ran stay, as a notebook; default false."},
    {0},
};

/* In the call's arena. */
struct deleting {
    struct dismissal *dismissal;
    bool has_notebook; /* which begins with the first cell */
};

static void remove_notebook(const struct call *call)
{
    if (engine_store(call->engine) != NULL && !call_bool(call, "keep_notebook", false))
        changes_delete(call->engine, call_text(call, "session_id", ""), NULL, NULL);
}

static void session_delete_on_done(void *context)
{
    struct call *call = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "session_id", call_text(call, "session_id", ""));
    json_put_member_bool(&json, "killed", true);
    const struct deleting *d = call->op_state;
    if (d->has_notebook)
        json_put_member_str(&json, "notebook",
                            call_bool(call, "keep_notebook", false) ? "kept" : "deleted");
    json_put_object_end(&json);
    remove_notebook(call);
    call_reply(call, 200, &out);
}

/* Nobody waits any more: it ends at once. */
static void session_delete_on_gone(struct call *call)
{
    const struct deleting *d = call->op_state;
    dismissal_forget(d->dismissal);
    remove_notebook(call);
}

static void session_delete_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct dismissal *dismissal;
    struct deleting *d = arena_alloc(&call->arena, sizeof(*d));
    d->has_notebook = session->n_execs > 0;
    call->op_state = d;
    session_dismiss(session, session_delete_on_done, call, &dismissal);
    if (dismissal == NULL)
        return; /* and the call is over */
    d->dismissal = dismissal;
    call->on_gone = session_delete_on_gone;
}

static const struct op_member killed_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session."},
    {"killed", OP_BOOL, .is_always = true, .doc = "true."},
    {"notebook", OP_TEXT, .doc = "What became of its notebook, if it had one: kept or deleted."},
    {0},
};
static const struct op_shape shape_killed = {"killed", killed_members, "A session that was ended."};

static const struct op_verb session_delete_verb = {
    .words = "kill",
    .takes = (const char *const[]){"session_id...", NULL},
    .summary = "end sessions and everything they started",
    .about =
        "Ends the sessions named by their ids or the beginnings of them. If one of the names\n"
        "is wrong none is killed. Their notebooks go with them unless --keep-notebook is given.",
    .examples = "cella kill 0b9c\n"
                "cella kill --all",
};

const struct op op_session_delete = {
    .name = "session.delete",
    .method = "DELETE",
    .path = "/v1/sessions/{session_id}",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING,
    .params = session_delete_params,
    .doc = "Ends a session with every process and file of it; who works in it gets SIGTERM first, "
           "and two seconds.",
    .run = session_delete_run,
    .result = &shape_killed,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_delete_verb,
};
