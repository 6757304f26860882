/* notebook.edit: title and metadata. Daemon; on the loop. */
#include "ops/notebook_call.h"
#include "session/session.h"

static const struct op_param notebook_edit_params[] = {
    OP_PARAM_NOTEBOOK,
    OP_PARAM_TITLE,
    OP_PARAM_METADATA,
    {0},
};

/* In the call's arena. */
struct describing {
    struct call *call;
    struct task *change;
    struct store_call *look; /* how it is afterwards */
};

static void notebook_edit_on_row(void *context, const struct store_notebook *row,
                                 const struct err *e)
{
    struct describing *d = context;
    if (e != NULL)
        call_fail(d->call, e);
    else
        reply_notebook(d->call, 200, row);
}

static void notebook_edit_on_described(void *context, const struct err *e)
{
    struct describing *d = context;
    struct call *call = d->call;
    d->change = NULL;
    if (e != NULL)
        call_fail(call, e);
    else
        d->look = store_get_notebook(engine_store(call->engine), call_text(call, "session_id", ""),
                                     notebook_edit_on_row, d);
}

static void notebook_edit_on_gone(struct call *call)
{
    struct describing *d = call->op_state;
    task_forget(d->change);
    if (d->look != NULL)
        store_forget(d->look);
}

static void notebook_edit_run(struct call *call)
{
    struct err e;
    const char *metadata, *title = call_text(call, "title", NULL);
    if (!call_has_notebooks(call))
        return;
    if (notebook_metadata(call, &metadata, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    if (title == NULL && metadata == NULL) {
        err_set(&e, ERR_INVALID, "nothing is to be changed");
        err_advise(&e, "Give \"title\" or \"metadata\".");
        call_fail(call, &e);
        return;
    }
    struct describing *d = arena_alloc(&call->arena, sizeof(*d));
    d->call = call;
    call->op_state = d;
    call->on_gone = notebook_edit_on_gone;
    d->change = changes_describe(call->engine, call_text(call, "session_id", ""), title, metadata,
                                 notebook_edit_on_described, d);
}

static const struct op_verb notebook_edit_verb = {
    .words = "notebook title",
    .takes = (const char *const[]){"session_id", "title", NULL},
    .summary = "say what a notebook is called",
    .examples = "cella notebook title 0b9c 'Sales of June'",
};

const struct op op_notebook_edit = {
    .name = "notebook.edit",
    .method = "PATCH",
    .path = "/v1/notebooks/{session_id}",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_MUTATING,
    .params = notebook_edit_params,
    .doc = "Changes the title or the metadata of a notebook.",
    .run = notebook_edit_run,
    .result = &shape_notebook,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"title\": \"July\"}",
    .verb = &notebook_edit_verb,
};
