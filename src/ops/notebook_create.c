/* notebook.create: a session, its title, its cells one after the other. Daemon; on the loop; what
 * was made is removed if a step fails or the caller goes away. */
#include "ops/create_call.h"
#include "ops/notebook_call.h"
#include "wire/json.h"

enum { CELLS_MAX = 1000 };

static const struct op_param notebook_create_cell_members[] = {
    {.name = "code",
     .type = OP_TEXT,
     .is_required = true,
     .max = NOTEBOOK_SOURCE_MAX,
     .doc = "What it says, at most 1 MiB."},
    OP_PARAM_KIND,
    OP_PARAM_METADATA,
    {0},
};

static const struct op_param notebook_create_params[] = {
    OP_PARAM_TITLE,
    OP_PARAM_METADATA,
    {.name = "cells",
     .type = OP_LIST,
     .members = notebook_create_cell_members,
     .max = CELLS_MAX,
     .doc = "The cells that it begins with; none of them is run."},
    SESSION_PARAMS,
    {0},
};

/* In the call's arena: first the session, then the row, then one cell after another. */
struct creating {
    struct call *call;
    struct session *session; /* NULL once it has started: then it is found by its id */
    struct task *under_way;  /* NULL if none */
    struct store_call *look; /* likewise */
    char id[UUID_SIZE];
    const char *metadata;
    size_t n_added;
};

/* Nobody will know its id. */
static void abandon(struct creating *c)
{
    struct session *session = notebook_session(c->call, c->id);
    if (session != NULL)
        session_delete(session);
    changes_delete(c->call->engine, c->id, NULL, NULL);
}

static void notebook_create_fail(struct creating *c, const struct err *e)
{
    abandon(c);
    call_fail(c->call, e);
}

static void notebook_create_on_row(void *context, const struct store_notebook *row,
                                   const struct err *e)
{
    struct creating *c = context;
    c->look = NULL;
    if (e != NULL)
        notebook_create_fail(c, e);
    else
        reply_notebook(c->call, 201, row);
}

static void add_next(struct creating *c);

static void notebook_create_on_added(void *context, const struct store_cell *now, uint64_t n_cells,
                                     const struct err *e)
{
    struct creating *c = context;
    (void)now, (void)n_cells;
    c->under_way = NULL;
    if (e != NULL) {
        notebook_create_fail(c, e);
        return;
    }
    c->n_added++;
    add_next(c);
}

static void add_next(struct creating *c)
{
    struct err e;
    struct call *call = c->call;
    const json_t *cell = json_array_get(json_object_get(call->args, "cells"), c->n_added);
    if (cell == NULL) {
        c->look = store_get_notebook(engine_store(call->engine), c->id, notebook_create_on_row, c);
        return;
    }
    const char *metadata;
    if (notebook_metadata_of(call, cell, &metadata, &e) < 0) {
        notebook_create_fail(c, &e);
        return;
    }
    const json_t *source = json_object_get(cell, "code");
    struct store_cell to = {
        .kind = notebook_kind_of(json_string_value(json_object_get(cell, "kind")), CELL_CODE),
        .source = json_string_value(source),
        .source_len = json_string_length(source),
        .metadata = metadata,
        .metadata_len = metadata != NULL ? strlen(metadata) : 0,
    };
    struct store_change change = {.what = CHANGE_INSERT, .at = STORE_AT_END, .to = &to};
    c->under_way = changes_make(call->engine, c->id, &change, notebook_create_on_added, c);
}

static void notebook_create_on_described(void *context, const struct err *e)
{
    struct creating *c = context;
    c->under_way = NULL;
    if (e != NULL)
        notebook_create_fail(c, e);
    else
        add_next(c);
}

static void notebook_create_on_started(void *context, struct session *session)
{
    struct creating *c = context;
    c->session = NULL;
    memcpy(c->id, session->id, sizeof(c->id));
    if (session->state == SESSION_DEAD) {
        struct err e;
        create_call_explain(session, &e);
        call_fail(c->call, &e);
        return;
    }
    c->under_way = changes_describe(c->call->engine, c->id, call_text(c->call, "title", NULL),
                                    c->metadata, notebook_create_on_described, c);
}

static void notebook_create_on_gone(struct call *call)
{
    struct creating *c = call->op_state;
    task_forget(c->under_way);
    if (c->look != NULL)
        store_forget(c->look);
    if (c->session != NULL) {
        session_forget_starter(c->session);
        session_delete(c->session);
    } else {
        abandon(c);
    }
}

static void notebook_create_run(struct call *call)
{
    struct err e;
    struct session *session;
    struct session_request request;
    if (!call_has_notebooks(call))
        return;
    struct creating *c = arena_alloc(&call->arena, sizeof(*c));
    c->call = call;
    call->op_state = c;
    if (notebook_metadata(call, &c->metadata, &e) < 0 || create_call_read(call, &request, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    request.on_started = notebook_create_on_started;
    request.context = c;
    call->on_gone = notebook_create_on_gone;
    if (session_create(call->engine, &request, &session, &e) < 0)
        call_fail(call, &e);
    else if (session->starter.on_started != NULL)
        c->session = session; /* else it has started, or the call is over */
}

static const struct op_verb notebook_create_verb = {
    .words = "notebook new",
    .summary = "make a notebook and its session",
    .examples = "cella notebook new --title June",
};

const struct op op_notebook_create = {
    .name = "notebook.create",
    .method = "POST",
    .path = "/v1/notebooks",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_MUTATING | OP_MAKES_SESSION,
    .params = notebook_create_params,
    .doc = "Makes a notebook and the session that runs it.",
    .run = notebook_create_run,
    .result = &shape_notebook,
    .status = 201,
    .errors = OP_ERR(CONFLICT) | OP_ERR(NOT_FOUND) | OP_ERR(GONE),
    .example = "{\"title\": \"June\", \"cells\": [{\"code\": \"1 + 1\"}]}",
    .verb = &notebook_create_verb,
};
