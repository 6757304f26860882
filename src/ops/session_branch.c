/* session.branch: copies of a session, at a checkpoint or now. Daemon; on the loop;
 * session/branch.c makes them. */
#include "ops/ops.h"
#include "session/branch.h"
#include "wire/json.h"

static const struct op_param session_branch_params[] = {
    OP_PARAM_SESSION,
    {.name = "at",
     .type = OP_INT,
     .is_nullable = true,
     .min = 1,
     .max = INT64_MAX,
     .letter = 'a',
     .doc = "The checkpoint to branch from; default: the present state."},
    {.name = "count",
     .type = OP_INT,
     .min = 1,
     .max = BRANCH_MAX,
     .letter = 'n',
     .means = OP_MEANS_SESSIONS,
     .doc = "How many branches; default 1."},
    {0},
};

static void session_branch_on_branched(void *context, uint64_t at, struct session *const *sessions,
                                       size_t n, const char *why)
{
    struct call *call = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_int(&json, "at", (int64_t)at);
    json_put_key(&json, "sessions");
    json_put_array(&json);
    for (size_t i = 0; i < n; i++)
        put_session(&json, sessions[i]);
    json_put_array_end(&json);
    json_put_member_int(&json, "count", (int64_t)n);
    if (why != NULL)
        json_put_member_str(&json, "trouble", why);
    json_put_object_end(&json);
    call_reply(call, 201, &out);
}

static const struct branch_listener session_branch_listener = {
    .on_branched = session_branch_on_branched, .on_failed = call_failed};

static void session_branch_on_gone(struct call *call)
{
    branching_forget(call->op_state);
}

static void session_branch_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    uint64_t at = (uint64_t)call_int(call, "at", 0);
    call->op_state = NULL;
    call->on_gone = session_branch_on_gone;
    if (session_branch(session, at > 0 ? &at : NULL, (unsigned)call_int(call, "count", 1),
                       &session_branch_listener, call, (struct branching **)&call->op_state,
                       &e) < 0)
        call_fail(call, &e);
}

static const struct op_member branches_members[] = {
    {"at", OP_INT, .is_always = true, .doc = "The checkpoint that they begin at."},
    {"sessions", OP_LIST, .is_always = true, .shape = &shape_session, .doc = "The branches."},
    {"count", OP_INT, .is_always = true, .doc = "How many."},
    {"trouble", OP_TEXT, .doc = "Why there are fewer than were asked for."},
    {0},
};
static const struct op_shape shape_branches = {"branches", branches_members,
                                               "Copies of a session."};

static const struct op_verb session_branch_verb = {
    .words = "branch",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "make live copies of a session",
    .about = "Makes sessions that begin where this one is now, or was at a checkpoint: each with\n"
             "the same variables, its own copy of the files, and its own processes and limits.\n"
             "Their ids are printed, one on a line.",
    .examples = "cella branch 0b9c\n"
                "cella branch 0b9c --at 3 --count 4",
};

const struct op op_session_branch = {
    .name = "session.branch",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/branch",
    .subject = OP_ON_HISTORY,
    .flags = OP_MUTATING | OP_MAKES_SESSION,
    .params = session_branch_params,
    .doc = "Makes live copies of a session, each with its own sandbox, files and limits.",
    .run = session_branch_run,
    .result = &shape_branches,
    .status = 201,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"count\": 2}",
    .verb = &session_branch_verb,
};
