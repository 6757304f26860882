/* Contexts of a session: context.put, context.load, context.get, context.list, context.delete.
 * Daemon; on the loop. */
#include "ops/explore_call.h"
#include "ops/session_file_call.h"
#include "session/engine.h"
#include "session/session.h"
#include "wire/json.h"

#define CONTEXT_TEXT_MAX (32 * MIB) /* bytes of one that comes within JSON */

#define OP_PARAM_CONTEXT_NAME                                                                      \
    {                                                                                              \
        .name = "name", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1,       \
        .max = EXPLORING_NAME_MAX, .doc = "Its name."                                              \
    }

static const struct op_member context_members[] = {
    {"name", OP_TEXT, .is_always = true, .column = "NAME", .doc = "Its name."},
    {"bytes", OP_SIZE, .is_always = true, .column = "BYTES", .doc = "How large it is."},
    {"chars", OP_INT, .is_always = true, .column = "CHARS", .doc = "How many characters it has."},
    {"lines", OP_INT, .is_always = true, .column = "LINES", .doc = "How many lines."},
    {0},
};
static const struct op_shape shape_context = {"context", context_members,
                                              "A text that is explored without being read."};

static json_t *context_describe(const char *name, const json_t *context)
{
    return json_pack("{s:s, s:O, s:O, s:O}", "name", name, "bytes",
                     json_object_get(context, "bytes"), "chars", json_object_get(context, "chars"),
                     "lines", json_object_get(context, "lines"));
}

/* ---- loading --------------------------------------------------------------------------------- */

static void context_on_loaded(void *context, json_t *result)
{
    struct call *call = context;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    session_changed(session);
    explore_call_reply(call, 201,
                       context_describe(call_text(call, "name", EXPLORING_CONTEXT), result));
}

static const struct explore_listener context_listener = {.on_done = context_on_loaded,
                                                         .on_failed = explore_call_failed};

static void context_gone(struct call *call)
{
    exploring_forget(call->op_state);
}

static void context_load(struct call *call, struct explore_place *place)
{
    struct err e;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    explore_call_allow(call, session, place);
    struct exploring_order *order = session_load_context(
        session, call_text(call, "name", EXPLORING_CONTEXT), place, &context_listener, call, &e);
    if (order == NULL) {
        call_fail(call, &e);
        return;
    }
    call->op_state = order;
    call->on_gone = context_gone;
}

static const struct op_param context_load_params[] = {
    OP_PARAM_SESSION,
    {.name = "name",
     .type = OP_TEXT,
     .min = 1,
     .max = EXPLORING_NAME_MAX,
     .doc = "Its name; default: context."},
    {.name = "path", .type = OP_TEXT, .min = 1, .max = 1024, .doc = "A file below /workspace,"},
    {.name = "member",
     .type = OP_TEXT,
     .min = 1,
     .max = 4095,
     .doc = "a file in it, if it is an archive,"},
    {.name = "url",
     .type = OP_TEXT,
     .min = 1,
     .max = 4096,
     .doc = "or a page of a domain that web_domains lists for its agent,"},
    {.name = "text", .type = OP_TEXT, .max = CONTEXT_TEXT_MAX, .doc = "or the text itself."},
    {0},
};

static void context_load_run(struct call *call)
{
    struct err e;
    const char *path = call_text(call, "path", NULL);
    const json_t *text = json_object_get(call->args, "text");
    const char *url = call_text(call, "url", NULL);
    if ((path != NULL) + (text != NULL) + (url != NULL) != 1) {
        err_set(&e, ERR_INVALID, "a context is made of one thing: a file, a page or a text");
        err_advise(&e, "Large ones are sent as bytes: context.put.");
        call_fail(call, &e);
        return;
    }
    context_load(call, &(struct explore_place){
                           .file_path = path != NULL ? explore_call_path(path) : NULL,
                           .member = text == NULL ? call_text(call, "member", NULL) : NULL,
                           .url = url,
                           .text = text});
}

static const struct op_verb context_load_verb = {
    .words = "context load",
    .takes = (const char *const[]){"session_id", "path", NULL},
    .summary = "hold a file of a session as a text that can be explored",
    .examples = "cella context load 0b9c logs/today.txt\n"
                "cella context load 0b9c book.txt --name book",
};

const struct op op_context_load = {
    .name = "context.load",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/contexts",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_LARGE | OP_FROM_CODE,
    .params = context_load_params,
    .doc =
        "Makes a file of the workspace, or a text, a context: it is explored with peek and grep, "
        "and never read into the interpreter unless code asks for that.",
    .run = context_load_run,
    .result = &shape_context,
    .status = 201,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) |
              OP_ERR(TOO_LARGE) | OP_ERR(UNAVAILABLE),
    .example = "{\"session_id\": \"$session\", \"path\": \"data.txt\"}",
    .verb = &context_load_verb,
};

static const struct op_param context_put_params[] = {OP_PARAM_SESSION, OP_PARAM_CONTEXT_NAME, {0}};

static void context_put_on_kept(struct call *call, const char *hash)
{
    context_load(call, &(struct explore_place){.hash = hash});
}

static void context_put_run(struct call *call)
{
    call_upload(call, engine_config_of(call->engine)->context_mb, context_put_on_kept);
}

const struct op op_context_put = {
    .name = "context.put",
    .method = "PUT",
    .path = "/v1/sessions/{session_id}/contexts/{name}",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_TAKES_BYTES,
    .params = context_put_params,
    .doc = "Makes the body a context, however large it is.",
    .run = context_put_run,
    .result = &shape_context,
    .status = 201,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) |
              OP_ERR(TOO_LARGE) | OP_ERR(UNAVAILABLE),
    .example = "{\"session_id\": \"$session\", \"name\": \"context\"}",
};

/* ---- what there is --------------------------------------------------------------------------- */

static void context_get_run(struct call *call)
{
    struct err e;
    const char *name = call_text(call, "name", "");
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const json_t *context = exploring_context(session, name, &e);
    if (context == NULL)
        call_fail(call, &e);
    else
        explore_call_reply(call, 200, context_describe(name, context));
}

const struct op op_context_get = {
    .name = "context.get",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/contexts/{name}",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = context_put_params,
    .doc = "Tells how large a context is.",
    .run = context_get_run,
    .result = &shape_context,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\", \"name\": \"context\"}",
};

static const struct op_param context_list_params[] = {OP_PARAM_SESSION, {0}};

static void context_list_run(struct call *call)
{
    const char *name;
    json_t *context, *list = json_array();
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    json_object_foreach((json_t *)(uintptr_t)exploring_get(session, "contexts"), name, context)
        json_array_append_new(list, context_describe(name, context));
    explore_call_reply(call, 200, json_pack("{s:o}", "contexts", list));
}

static const struct op_member context_list_members[] = {
    {"contexts", OP_LIST, .is_always = true, .shape = &shape_context, .doc = "The contexts."},
    {0},
};
static const struct op_shape shape_contexts = {"contexts", context_list_members,
                                               "The contexts of a session."};

static const struct op_verb context_list_verb = {
    .words = "context list",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "list the contexts of a session",
    .examples = "cella context list 0b9c",
};

const struct op op_context_list = {
    .name = "context.list",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/contexts",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = context_list_params,
    .doc = "Lists the contexts of a session.",
    .run = context_list_run,
    .result = &shape_contexts,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\"}",
    .verb = &context_list_verb,
};

static void context_delete_run(struct call *call)
{
    struct err e;
    const char *name = call_text(call, "name", "");
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    if (exploring_drop_context(session, name, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    session_changed(session);
    reply_deleted(call, "name", name, NULL);
}

static const struct op_member context_deleted_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"deleted", OP_BOOL, .is_always = true, .doc = "True."},
    {0},
};
static const struct op_shape shape_context_deleted = {"context_deleted", context_deleted_members,
                                                      "A context that is gone."};

const struct op op_context_delete = {
    .name = "context.delete",
    .method = "DELETE",
    .path = "/v1/sessions/{session_id}/contexts/{name}",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = context_put_params,
    .doc = "Forgets a context; checkpoints from before still have it.",
    .run = context_delete_run,
    .result = &shape_context_deleted,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\", \"name\": \"context\"}",
};
