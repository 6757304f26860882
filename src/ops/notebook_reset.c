/* notebook.reset: a fresh interpreter, by a restoration to the beginning that leaves the files.
 * Daemon; on the loop. */
#include "ops/notebook_call.h"
#include "ops/restore_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param notebook_reset_params[] = {OP_PARAM_NOTEBOOK, {0}};

static void notebook_reset_answer(struct call *call, bool was_live, uint64_t n_ended)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "notebook_id", call_text(call, "session_id", ""));
    json_put_member_bool(&json, "reset", was_live);
    json_put_member_int(&json, "ended_processes", (int64_t)n_ended);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void notebook_reset_on_restored(void *context, const struct restore_report *report)
{
    notebook_reset_answer(context, true, report->ended_processes);
}

static const struct restore_listener notebook_reset_listener = {
    .on_restored = notebook_reset_on_restored, .on_failed = call_failed};

/* Without a session there is nothing to forget. */
static void notebook_reset_on_row(void *context, const struct store_notebook *row,
                                  const struct err *e)
{
    (void)row;
    if (e != NULL)
        call_fail(context, e);
    else
        notebook_reset_answer(context, false, 0);
}

static void notebook_reset_run(struct call *call)
{
    struct err e;
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    struct session *session = notebook_session(call, id);
    if (session == NULL || session->state == SESSION_DEAD) {
        call_await(call,
                   store_get_notebook(engine_store(call->engine), id, notebook_reset_on_row, call));
    } else if (session_reset(session, &notebook_reset_listener, call, &e) < 0) {
        call_fail(call, &e);
    } else {
        restore_call_begun(call, session);
    }
}

static const struct op_member reset_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .doc = "The notebook."},
    {"reset", OP_BOOL, .is_always = true, .doc = "Whether there was an interpreter."},
    {"ended_processes", OP_INT, .doc = "How many processes were ended."},
    {0},
};
static const struct op_shape shape_reset = {"reset", reset_members, "A notebook that was reset."};

static const struct op_verb notebook_reset_verb = {
    .words = "notebook reset",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "give a notebook a fresh interpreter",
    .examples = "cella notebook reset 0b9c",
};

const struct op op_notebook_reset = {
    .name = "notebook.reset",
    .method = "POST",
    .path = "/v1/notebooks/{session_id}/reset",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_MUTATING,
    .params = notebook_reset_params,
    .doc = "Gives a notebook a fresh interpreter; cells and files stay as they are.",
    .run = notebook_reset_run,
    .result = &shape_reset,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$notebook\"}",
    .verb = &notebook_reset_verb,
};
