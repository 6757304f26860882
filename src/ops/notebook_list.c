/* notebook.list: a page of rows that the caller may see. Daemon; on the loop. */
#include "ops/notebook_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param notebook_list_params[] = {
    {.name = "user",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = 64,
     .doc =
         "Only those of this agent; default: everybody's. Who speaks for an agent sees its own."},
    OP_PARAM_OFFSET,
    OP_PARAM_LIMIT,
    {0},
};

static void notebook_list_on_listed(void *context, const struct store_notebook *list, size_t n,
                                    uint64_t count, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "notebooks");
    json_put_array(&json);
    for (size_t i = 0; i < n; i++) {
        json_put_object(&json);
        notebook_put(&json, &list[i], notebook_session(call, list[i].id));
        json_put_object_end(&json);
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "count", (int64_t)count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void notebook_list_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *user = call->agent != NULL ? call->agent : call_text(call, "user", NULL);
    call_await(call, store_list_notebooks(engine_store(call->engine), user, call_offset(call),
                                          call_limit(call), notebook_list_on_listed, call));
}

static const struct op_member notebook_list_members[] = {
    {"notebooks", OP_LIST, .is_always = true, .shape = &shape_notebook, .doc = "The newest first."},
    {"count", OP_INT, .is_always = true, .doc = "How many there are."},
    {0},
};
static const struct op_shape shape_notebook_list = {"notebook_list", notebook_list_members,
                                                    "Notebooks."};

static const struct op_verb notebook_list_verb = {
    .words = "notebook list",
    .summary = "list the notebooks",
    .examples = "cella notebook list",
};

const struct op op_notebook_list = {
    .name = "notebook.list",
    .method = "GET",
    .path = "/v1/notebooks",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_READ_ONLY,
    .params = notebook_list_params,
    .doc = "Lists the notebooks that have begun, by a first cell or change, the newest first, also "
           "those whose session is gone.",
    .run = notebook_list_run,
    .result = &shape_notebook_list,
    .example = "{\"limit\": 1}",
    .verb = &notebook_list_verb,
};
