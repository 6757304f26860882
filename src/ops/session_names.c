/* session.names: variables with types and sizes; of a busy session those of an earlier cell.
 * Daemon; on the loop. */
#include "ops/ops.h"
#include "runtime/names.h"
#include "session/names.h"
#include "wire/json.h"

static const struct op_param session_names_params[] = {
    OP_PARAM_SESSION,
    {.name = "max",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .max = NAMES_MAX,
     .letter = 'm',
     .doc = "How many names at most; default 1000."},
    {0},
};

static void session_names_on_names(void *context, const struct names_told *told)
{
    struct call *call = context;
    const json_t *items = json_object_get(told->names, "items");
    size_t max = (size_t)call_int(call, "max", NAMES_MAX);
    json_int_t total = json_integer_value(json_object_get(told->names, "total"));
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_int(&json, "total", total);
    json_put_key(&json, "items");
    json_put_array(&json);
    for (size_t i = 0; i < json_array_size(items) && i < max; i++)
        json_put_value(&json, json_array_get(items, i));
    json_put_array_end(&json);
    if (total > (json_int_t)MIN(json_array_size(items), max))
        json_put_member_bool(&json, "more", true);
    json_put_member_some(&json, "as_of", (int64_t)told->as_of);
    json_put_member_true(&json, "busy", told->is_busy);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct names_listener session_names_listener = {.on_names = session_names_on_names,
                                                             .on_failed = call_failed};

static void session_names_on_gone(struct call *call)
{
    names_forget(call->op_state);
}

static void session_names_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    struct names_wait *wait;
    if (session_names(session, &session_names_listener, call, &wait, &e) < 0) {
        call_fail(call, &e);
    } else if (wait != NULL) {
        call->op_state = wait;
        call->on_gone = session_names_on_gone;
    }
}

static const struct op_member name_list_members[] = {
    {"total", OP_INT, .is_always = true, .doc = "How many there are."},
    {"items", OP_LIST, .is_always = true, .shape = &shape_name, .doc = "The names."},
    {"more", OP_BOOL, .doc = "There are more than are listed."},
    {"as_of", OP_INT, .doc = "After which cell."},
    {"busy", OP_BOOL, .doc = "A cell runs meanwhile."},
    {0},
};
static const struct op_shape shape_name_list = {"name_list", name_list_members,
                                                "The names of a session."};

static const struct op_verb session_names_verb = {
    .words = "names",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "show a session's variables, their types and sizes",
    .examples = "cella names 0b9c\n"
                "cella names 0b9c --max 20",
};

const struct op op_session_names = {
    .name = "session.names",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/names",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_names_params,
    .doc = "Lists the names that the session's code has made, with types and sizes; of a busy "
           "session those after an earlier cell.",
    .run = session_names_run,
    .result = &shape_name_list,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_names_verb,
};
