/* notebook.delete: rows and images; the session lives on. Daemon; on the loop. */
#include "ops/notebook_call.h"
#include "session/session.h"

static const struct op_param notebook_delete_params[] = {OP_PARAM_NOTEBOOK, {0}};

static void notebook_delete_on_deleted(void *context, const struct err *e)
{
    struct call *call = context;
    reply_deleted(call, "notebook_id", call_text(call, "session_id", ""), e);
}

static void notebook_delete_on_gone(struct call *call)
{
    task_forget(call->op_state);
}

static void notebook_delete_begin(struct call *call)
{
    call->on_gone = notebook_delete_on_gone;
    call->op_state = changes_delete(call->engine, call_text(call, "session_id", ""),
                                    notebook_delete_on_deleted, call);
}

static void notebook_delete_on_row(void *context, const struct store_notebook *row,
                                   const struct err *e)
{
    (void)row;
    if (e != NULL)
        call_fail(context, e);
    else
        notebook_delete_begin(context);
}

static void notebook_delete_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    if (notebook_session(call, id) != NULL) {
        notebook_delete_begin(call);
        return;
    }
    call_await(call,
               store_get_notebook(engine_store(call->engine), id, notebook_delete_on_row, call));
}

static const struct op_member deleted_notebook_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .doc = "The notebook."},
    {"deleted", OP_BOOL, .is_always = true, .doc = "true."},
    {0},
};
static const struct op_shape shape_deleted_notebook = {"deleted_notebook", deleted_notebook_members,
                                                       "A notebook that is gone."};

static const struct op_verb notebook_delete_verb = {
    .words = "notebook delete",
    .takes = (const char *const[]){"session_id...", NULL},
    .summary = "remove notebooks; their sessions stay",
    .examples = "cella notebook delete 0b9c",
};

const struct op op_notebook_delete = {
    .name = "notebook.delete",
    .method = "DELETE",
    .path = "/v1/notebooks/{session_id}",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_MUTATING,
    .params = notebook_delete_params,
    .doc = "Deletes a notebook with its cells and images; a session that it has lives on.",
    .run = notebook_delete_run,
    .result = &shape_deleted_notebook,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\"}",
    .verb = &notebook_delete_verb,
};
