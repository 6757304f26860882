/* session.edit: names, labels, leases; kept in the session's row. Daemon; on the loop. */
#include "ops/create_call.h"
#include "ops/naming.h"
#include "wire/json.h"

static const struct op_param session_edit_params[] = {
    OP_PARAM_SESSION,
    {.name = "name",
     .type = OP_TEXT,
     .letter = 'n',
     .is_nullable = true,
     .max = NAMING_NAME_MAX,
     .doc = "What it can be called instead of its id; an empty text takes the name away."},
    NAMING_PARAM_LABELS("Labels to set; one with an empty text is removed, others stay."),
    {.name = "idle_timeout_secs",
     .type = OP_INT,
     .unit = OP_SECS,
     .is_nullable = true,
     .max = SESSION_SECONDS_MAX,
     .doc = "It is suspended when nobody used it for this long from now on; 0 is never."},
    {.name = "max_age_secs",
     .type = OP_INT,
     .unit = OP_SECS,
     .is_nullable = true,
     .max = SESSION_SECONDS_MAX,
     .doc = "It ends at this age, counted from its start or its last resumption; 0 is never."},
    {0},
};

/* All or nothing: what cannot be is found before anything changes. */
static int edit(struct call *call, struct session *session, struct err *e)
{
    const char *name = call_text(call, "name", NULL);
    const json_t *changes = json_object_get(call->args, "labels");
    bool has_labels = json_is_object(changes);
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (name != NULL && name[0] != '\0' && naming_check(call, session->agent, name, session, e) < 0)
        return -1;
    if (has_labels && naming_check_labels(changes, e) < 0)
        return -1;
    _json_ json_t *labels = has_labels ? naming_merge(session->labels, changes) : NULL;
    if (json_object_size(labels) > NAMING_LABELS_MAX)
        return err_set(e, ERR_INVALID, "the session would have %zu labels; at most %d are kept",
                       json_object_size(labels), NAMING_LABELS_MAX);
    if (name != NULL) {
        free(session->name);
        session->name = name[0] != '\0' ? mem_strdup(name) : NULL;
    }
    if (has_labels) {
        json_decref(session->labels);
        session->labels = take_ptr(labels);
    }
    struct lifespan *life = &session->life;
    life->idle_timeout_secs =
        (uint32_t)call_int(call, "idle_timeout_secs", life->idle_timeout_secs);
    life->max_age_secs = (uint32_t)call_int(call, "max_age_secs", life->max_age_secs);
    return 0;
}

static void session_edit_run(struct call *call)
{
    struct err e;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    if (edit(call, session, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    if (session->saving.has_row)
        saving_know(session); /* else the first save tells the store */
    session->life.is_stale = true;
    session_changed(session);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    put_session(&json, session);
    call_reply(call, 200, &out);
}

static const struct op_verb session_edit_verb = {
    .words = "edit",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "rename a session, change its labels or its life",
    .examples = "cella edit 0b9c --name sales\n"
                "cella edit sales --labels team=blue --idle-timeout 1h",
};

const struct op op_session_edit = {
    .name = "session.edit",
    .method = "PATCH",
    .path = "/v1/sessions/{session_id}",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING,
    .params = session_edit_params,
    .doc = "Changes a session's name, its labels, or how long it may be idle and how old it may "
           "become.",
    .run = session_edit_run,
    .result = &shape_session,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"name\": \"$name\"}",
    .verb = &session_edit_verb,
};
