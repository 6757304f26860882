/* What came of exploring: explore.state, explore.reset, explore.nodes, explore.mark. Daemon; on the
 * loop. */
#include "explore/log.h"
#include "explore/research.h"
#include "explore/state.h"
#include "ops/explore_call.h"
#include "session/names.h"
#include "session/session.h"
#include "wire/json.h"

enum { STATE_NAMES_MAX = 1000 };

static const struct op_param explore_state_params[] = {OP_PARAM_SESSION, {0}};

/* ---- all of it ------------------------------------------------------------------------------- */

static uint64_t explore_state_chars(const struct session *session)
{
    const json_t *context = json_object_get(exploring_get(session, "contexts"), EXPLORING_CONTEXT);
    return (uint64_t)json_integer_value(json_object_get(context, "chars"));
}

/* Names with their types and values, as names.h has them: the first few. */
static size_t explore_state_read(const json_t *items, struct explore_value *ret, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(items) && n < max; i++) {
        const json_t *item = json_array_get(items, i), *text = json_object_get(item, "text");
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *type = json_string_value(json_object_get(item, "type"));
        if (name != NULL)
            ret[n++] = (struct explore_value){.name = name,
                                              .type = type != NULL ? type : "",
                                              .text = text != NULL ? json_string_value(text) : "",
                                              .len = json_string_length(text)};
    }
    return n;
}

/* What `artifacts` holds, where nobody but its own text tells; taken from the variables. */
static size_t explore_state_take_artifacts(struct explore_value *names, size_t n,
                                           struct explore_value *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i].name, "artifacts") != 0)
            continue;
        *ret = names[i];
        memmove(&names[i], &names[i + 1], (n - i - 1) * sizeof(*names));
        return n - 1;
    }
    return n;
}

/* The text for models. */
static void explore_state_put_text(const struct session *session, const json_t *variables,
                                   const json_t *artifacts, struct json_out *json)
{
    struct explore_value names[STATE_NAMES_MAX], kept[STATE_NAMES_MAX];
    _buf_ struct buf text = BUF_INIT(2 * MIB);
    struct explore_state state = {
        .context_chars = explore_state_chars(session),
        .contexts = exploring_get(session, "contexts"),
        .artifacts = kept,
        .n_artifacts = explore_state_read(artifacts, kept, ARRAY_LEN(kept)),
        .variables = names,
        .n_variables = explore_state_read(variables, names, ARRAY_LEN(names)),
        .research = exploring_get(session, "tree"),
    };
    if (artifacts == NULL)
        state.n_variables =
            explore_state_take_artifacts(names, state.n_variables, &state.artifacts_shown);
    explore_state_render(&state, &text);
    json_put_member_text(json, "text", buf_str(&text), text.len);
}

static const json_t *explore_state_log(const struct session *session, json_t **ret_empty)
{
    const json_t *log = exploring_get(session, "log");
    *ret_empty = log == NULL ? explore_log_new() : NULL;
    return log != NULL ? log : *ret_empty;
}

static void explore_state_put_log(const struct session *session, const char *member,
                                  struct json_out *json)
{
    const json_t *answer = json_object_get(exploring_get(session, "final"), "answer");
    _json_ json_t *empty = NULL;
    const json_t *log = explore_state_log(session, &empty);
    json_put_key(json, member);
    explore_log_put(log, json_string_length(answer), json);
}

static void explore_state_on_names(void *context, const struct names_told *told)
{
    static const char *const members[] = {"contexts", "findings", "hits", "final", "spills"};
    struct call *call = context;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    explore_state_put_text(session, json_object_get(told->names, "items"), NULL, &json);
    explore_state_put_log(session, "log", &json);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *value = exploring_get(session, members[i]);
        if (value == NULL)
            continue;
        json_put_key(&json, members[i]);
        json_put_value(&json, value);
    }
    if (exploring_get(session, "tree") != NULL) {
        _json_ json_t *tree = research_dict(exploring_get(session, "tree"));
        json_put_key(&json, "tree");
        json_put_value(&json, tree);
    }
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct names_listener explore_state_listener = {.on_names = explore_state_on_names,
                                                             .on_failed = explore_call_failed};

static void explore_state_gone(struct call *call)
{
    names_forget(call->op_state);
}

static void explore_state_run(struct call *call)
{
    struct err e;
    struct names_wait *wait;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    if (session_names(session, &explore_state_listener, call, &wait, &e) < 0) {
        call_fail(call, &e);
    } else if (wait != NULL) {
        call->op_state = wait;
        call->on_gone = explore_state_gone;
    }
}

static const struct op_member explore_state_members[] = {
    {"text", OP_TEXT, .is_always = true,
     .doc = "What a model should read of it: contexts, names, the research tree."},
    {"log", OP_ANY, .is_always = true, .doc = "How often what was called, and what it cost."},
    {"contexts", OP_ANY, .doc = "What is known of each context, by its name."},
    {"findings", OP_ANY, .doc = "As explore.list_findings has them."},
    {"hits", OP_ANY, .doc = "What the last grep found: at most 20."},
    {"final", OP_ANY, .doc = "The answer, or why there is none."},
    {"spills", OP_ANY, .doc = "Outputs of cells that are files, the oldest first."},
    {"tree", OP_ANY, .doc = "The research tree: version, nodes, counters."},
    {0},
};
static const struct op_shape shape_explore_state = {"explore_state", explore_state_members,
                                                    "What was explored so far."};

static const struct op_verb explore_state_verb = {
    .words = "explored",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "tell what a session has explored",
    .examples = "cella explored 0b9c",
};

const struct op op_explore_state = {
    .name = "explore.state",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/state",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY,
    .params = explore_state_params,
    .doc = "Tells what was explored so far, as a text for models and in parts.",
    .run = explore_state_run,
    .result = &shape_explore_state,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\"}",
    .verb = &explore_state_verb,
};

/* ---- for code -------------------------------------------------------------------------------- */

static const struct op_param explore_value_params[] = {
    {.name = "name", .type = OP_TEXT, .is_required = true, .max = 1000, .doc = "Its name."},
    {.name = "type", .type = OP_TEXT, .max = 1000, .doc = "The type of its value."},
    {.name = "text", .type = OP_TEXT, .max = 4000, .doc = "The value, short."},
    {0},
};
static const struct op_param explore_tell_params[] = {
    OP_PARAM_SESSION,
    {.name = "variables",
     .type = OP_LIST,
     .members = explore_value_params,
     .max = STATE_NAMES_MAX,
     .doc = "The names that code has made, as it sees them now."},
    {.name = "artifacts",
     .type = OP_LIST,
     .members = explore_value_params,
     .max = STATE_NAMES_MAX,
     .doc = "Likewise what it keeps in artifacts."},
    {0},
};

static void explore_tell_run(struct call *call)
{
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    explore_state_put_text(session, json_object_get(call->args, "variables"),
                           json_object_get(call->args, "artifacts"), &json);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct op_member explore_tell_members[] = {
    {"text", OP_TEXT, .is_always = true, .doc = "What a model should read."},
    {0},
};
static const struct op_shape shape_explore_tell = {"explore_text", explore_tell_members,
                                                   "What was explored so far, as a text."};

const struct op op_explore_tell = {
    .name = "explore.tell",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/state",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_tell_params,
    .doc =
        "Tells what was explored so far, with variables that the caller knows of: get_state() in "
        "a cell.",
    .run = explore_tell_run,
    .result = &shape_explore_tell,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\"}",
};

/* ---- the beginning --------------------------------------------------------------------------- */

static void explore_reset_run(struct call *call)
{
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    exploring_reset(session);
    session_changed(session);
    explore_call_reply(call, 200, json_pack("{s:b}", "reset", true));
}

static const struct op_member explore_reset_members[] = {
    {"reset", OP_BOOL, .is_always = true, .doc = "True: nothing is known any more."},
    {0},
};
static const struct op_shape shape_explore_reset = {"explore_reset", explore_reset_members,
                                                    "That exploring begins anew."};

const struct op op_explore_reset = {
    .name = "explore.reset",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/reset",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_state_params,
    .doc = "Forgets the research tree, the log, findings and the answer; contexts, outputs and "
           "variables "
           "stay.",
    .run = explore_reset_run,
    .result = &shape_explore_reset,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\"}",
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *const explore_nodes_which[] = {"unanalyzed", "lineage", NULL};
static const struct op_param explore_nodes_params[] = {
    OP_PARAM_SESSION,
    {.name = "which",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = explore_nodes_which,
     .doc = "Those that nobody has looked into, or what led to one."},
    {.name = "node", .type = OP_TEXT, .max = 15, .doc = "That one: G1."},
    {0},
};

static void explore_nodes_run(struct call *call)
{
    struct err e;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const json_t *tree = exploring_get(session, "tree");
    _json_ json_t *none = tree == NULL ? research_new() : NULL;
    if (tree == NULL)
        tree = none;
    bool is_lineage = strcmp(call_text(call, "which", ""), "lineage") == 0;
    json_t *nodes = is_lineage ? research_lineage(tree, call_text(call, "node", ""), &e)
                               : research_unanalyzed(tree);
    if (nodes == NULL)
        call_fail(call, &e);
    else
        explore_call_reply(call, 200, json_pack("{s:o}", "nodes", nodes));
}

static const struct op_member explore_nodes_members[] = {
    {"nodes", OP_TEXT_LIST, .is_always = true, .doc = "Their ids, the first one first."},
    {0},
};
static const struct op_shape shape_nodes = {"nodes", explore_nodes_members,
                                            "Nodes of the research tree."};

const struct op op_explore_nodes = {
    .name = "explore.nodes",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/nodes",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_nodes_params,
    .doc = "Lists nodes of the research tree.",
    .run = explore_nodes_run,
    .result = &shape_nodes,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\", \"which\": \"unanalyzed\"}",
};

static const char *const explore_mark_statuses[] = {"analyzed", "stale", NULL};
static const struct op_param explore_mark_params[] = {
    OP_PARAM_SESSION,
    {.name = "node",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = 15,
     .doc = "Its id: G1."},
    {.name = "status",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = explore_mark_statuses,
     .doc = "What it is from now on."},
    {0},
};

static void explore_mark_run(struct call *call)
{
    struct err e;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const char *node = call_text(call, "node", ""), *status = call_text(call, "status", "");
    const json_t *tree = exploring_get(session, "tree");
    _json_ json_t *none = tree == NULL ? research_new() : NULL;
    json_t *marked =
        research_mark(tree != NULL ? tree : none, node,
                      strcmp(status, "stale") == 0 ? RESEARCH_STALE : RESEARCH_ANALYZED, &e);
    if (marked == NULL) {
        call_fail(call, &e);
        return;
    }
    exploring_set(session, "tree", marked);
    session_changed(session);
    explore_call_reply(call, 200, json_pack("{s:s, s:s}", "node", node, "status", status));
}

static const struct op_member explore_mark_members[] = {
    {"node", OP_TEXT, .is_always = true, .doc = "Its id."},
    {"status", OP_CHOICE, .is_always = true, .choices = explore_mark_statuses,
     .doc = "What it is now."},
    {0},
};
static const struct op_shape shape_mark = {"mark", explore_mark_members,
                                           "A node of the research tree that was marked."};

const struct op op_explore_mark = {
    .name = "explore.mark",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/mark",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_mark_params,
    .doc = "Marks a node of the research tree as analyzed, or as not true any more.",
    .run = explore_mark_run,
    .result = &shape_mark,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\", \"node\": \"P1\", \"status\": \"analyzed\"}",
};

/* ---- the tree and the log, out and in -------------------------------------------------------- */

static void explore_research_run(struct call *call)
{
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    _json_ json_t *no_tree = research_new(), *no_log = NULL;
    const json_t *tree = exploring_get(session, "tree");
    _json_ json_t *told = research_dict(tree != NULL ? tree : no_tree);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "tree");
    json_put_value(&json, told);
    json_put_key(&json, "log");
    json_put_value(&json, explore_state_log(session, &no_log));
    explore_state_put_log(session, "worth", &json);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct op_member explore_research_members[] = {
    {"tree", OP_ANY, .is_always = true, .doc = "The research tree: version, nodes, counters."},
    {"log", OP_ANY, .is_always = true,
     .doc = "The exploration log: total_events, function_counts, total_tokens."},
    {"worth", OP_ANY, .is_always = true,
     .doc = "What the log says: strategy (with strategy_type) and efficiency (efficiency_ratio)."},
    {0},
};
static const struct op_shape shape_research = {"research", explore_research_members,
                                               "What was explored, to be kept elsewhere."};

const struct op op_explore_research = {
    .name = "explore.research",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/explore/research",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_state_params,
    .doc = "Tells the research tree and the exploration log: to_dict() in a cell.",
    .run = explore_research_run,
    .result = &shape_research,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\"}",
};

static const struct op_param explore_set_research_params[] = {
    OP_PARAM_SESSION,
    {.name = "tree", .type = OP_FREE, .doc = "A research tree, as explore.research tells it,"},
    {.name = "log", .type = OP_FREE, .doc = "and a log. What is not given stays."},
    {.name = "worth", .type = OP_FREE, .doc = "Is not read: it follows from the log."},
    {0},
};

static void explore_set_research_run(struct call *call)
{
    struct err e;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const json_t *tree = json_object_get(call->args, "tree");
    const json_t *log = json_object_get(call->args, "log");
    _json_ json_t *new_tree = tree != NULL ? research_read(tree, &e) : NULL;
    _json_ json_t *new_log =
        log != NULL && (tree == NULL || new_tree != NULL) ? explore_log_read(log, &e) : NULL;
    if ((tree != NULL && new_tree == NULL) || (log != NULL && new_log == NULL)) {
        call_fail(call, &e);
        return;
    }
    if (new_tree != NULL)
        exploring_set(session, "tree", json_incref(new_tree));
    if (new_log != NULL)
        exploring_set(session, "log", json_incref(new_log));
    session_changed(session);
    explore_research_run(call);
}

const struct op op_explore_set_research = {
    .name = "explore.set_research",
    .method = "PUT",
    .path = "/v1/sessions/{session_id}/explore/research",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_set_research_params,
    .doc = "Puts a research tree and an exploration log that were told before in place of those "
           "that there are: from_dict() in a cell.",
    .run = explore_set_research_run,
    .result = &shape_research,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\"}",
};
