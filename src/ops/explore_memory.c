/* What explorations taught: explore.recall, explore.outcome, and what is remembered when a task has
 * its answer. Daemon; on the loop. A memory belongs to the session's agent and user and outlives
 * the session; undo does not take it back. */
#include "cell/redact.h"
#include "explore/log.h"
#include "ops/explore_call.h"
#include "policy/policy.h"
#include "session/engine.h"
#include "session/session.h"
#include "store/memories.h"
#include "wire/json.h"

/* A text that is kept beyond the session, without credentials. In the call's arena. */
static const char *explore_memory_clean(struct call *call, const char *text, size_t max)
{
    _buf_ struct buf out = BUF_INIT(KIB * 16);
    if (redact_text(text, strlen(text), &out) == 0 || out.len > max || out.overflowed)
        return text;
    return arena_strdup(&call->arena, buf_str(&out));
}

static const char *explore_memory_user(const struct session *session)
{
    return session->person != NULL ? session->person : "";
}

/* The task that the session is about, from now on; another one has been explored in no way yet. */
static void explore_memory_set_task(struct session *session, const char *task)
{
    const char *known = json_string_value(exploring_get(session, "task"));
    if (known != NULL && strcmp(known, task) == 0)
        return;
    exploring_set(session, "task", json_string(task));
    exploring_set(session, "remembered", NULL);
}

/* ---- recall ---------------------------------------------------------------------------------- */

static const struct op_param explore_recall_params[] = {
    OP_PARAM_SESSION,
    {.name = "query",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = MEMORY_TASK_MAX,
     .doc = "The task, as a text: it is the session's from now on."},
    OP_PARAM_TOON,
    OP_PARAM_QUIET,
    {0},
};

/* With as many digits as are of use. */
static json_t *explore_memory_real(double value)
{
    return json_real((double)(int64_t)(value * 1000 + (value < 0 ? -0.5 : 0.5)) / 1000);
}

static json_t *explore_recall_result(const struct store_memory *row)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "task", row->task, "outcome", row->outcome,
                     "action", row->action, "q_value", explore_memory_real(row->q), "similarity",
                     explore_memory_real(row->similarity), "combined_score",
                     explore_memory_real(row->score));
}

static void explore_recall_note(struct call *call, struct session *session,
                                const struct store_memory *list, size_t n)
{
    _buf_ struct buf query = BUF_INIT(KIB * 8), found = BUF_INIT(KIB * 32);
    buf_printf(&query, "query='%s'", call_text(call, "query", ""));
    for (size_t i = 0; i < n; i++)
        buf_printf(&found, "%s%.3f %s: %s -> %s", i > 0 ? "\n" : "", list[i].score, list[i].outcome,
                   list[i].task, list[i].action);
    if (n == 0)
        buf_append_str(&found, "No memories");
    explore_call_note(call, session, "recall", buf_str(&query), buf_str(&found), found.len);
}

static void explore_recall_on_found(void *context, const struct store_memory *list, size_t n,
                                    uint64_t count, const struct err *e)
{
    struct call *call = context;
    (void)count;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const char *query = call_text(call, "query", "");
    explore_memory_set_task(session, explore_memory_clean(call, query, MEMORY_TASK_MAX));
    explore_recall_note(call, session, list, n);
    session_changed(session);
    json_t *results = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(results, explore_recall_result(&list[i]));
    explore_call_reply(call, 200,
                       json_pack("{s:o, s:s?, s:o}", "results", results, "best_action",
                                 n > 0 ? list[0].action : NULL, "confidence",
                                 explore_memory_real(n > 0 ? list[0].score : 0)));
}

static void explore_recall_run(struct call *call)
{
    const struct session *session = explore_call_session(call);
    struct store *store = session != NULL ? call_store(call) : NULL;
    if (store != NULL)
        call_await(call, store_recall(store, policy_agent_of(session), explore_memory_user(session),
                                      call_text(call, "query", ""), explore_recall_on_found, call));
}

static const struct op_member explore_recalled_members[] = {
    {"task", OP_TEXT, .is_always = true, .column = "TASK", .doc = "What was to be found."},
    {"outcome", OP_CHOICE, .is_always = true, .choices = memory_outcomes, .column = "OUTCOME",
     .doc = "What became of it, the last time; open: it was not told."},
    {"action", OP_TEXT, .is_always = true, .column = "ACTION", .doc = "How it was explored."},
    {"q_value", OP_NUMBER, .is_always = true, .column = "Q",
     .doc = "How well that went so far: 0 to 1, 0.5 before the first outcome."},
    {"similarity", OP_NUMBER, .is_always = true, .doc = "Of the tasks, up to 1."},
    {"combined_score", OP_NUMBER, .is_always = true, .column = "SCORE",
     .doc = "0.7 of q_value and 0.3 of similarity."},
    {0},
};
static const struct op_shape shape_recalled = {"recalled", explore_recalled_members,
                                               "A similar task that was explored before."};

static const struct op_member explore_recall_members[] = {
    {"results", OP_LIST, .is_always = true, .shape = &shape_recalled,
     .doc = "At most 5, the best first, of the 20 most similar with a similarity of 0.3 or more."},
    {"best_action", OP_TEXT, .is_always = true, .is_nullable = true,
     .doc = "How the first one was explored."},
    {"confidence", OP_NUMBER, .is_always = true, .doc = "Its combined_score; 0: there is none."},
    {"toon", OP_TEXT, .doc = "All of it as TOON."},
    {0},
};
static const struct op_shape shape_recall = {"recall", explore_recall_members,
                                             "What was learnt from similar tasks."};

static const struct op_verb explore_recall_verb = {
    .words = "recall",
    .takes = (const char *const[]){"session_id", "query", NULL},
    .summary = "what an agent remembers of similar explorations",
    .examples = "cella recall 0b9c 'find the first error of the log'",
};

const struct op op_explore_recall = {
    .name = "explore.recall",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/recall",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_recall_params,
    .doc = "Looks for similar tasks that the session's agent and user explored before, in any "
           "session, and how that went.",
    .run = explore_recall_run,
    .result = &shape_recall,
    .errors = OP_ERR(GONE) | OP_ERR(UNAVAILABLE),
    .example = "{\"session_id\": \"$explored\", \"query\": \"find the first error\"}",
    .verb = &explore_recall_verb,
};

/* ---- what is kept ---------------------------------------------------------------------------- */

/* How often what was called, and what it cost, for the answer that there is; NULL if nothing was.
 * In the call's arena. */
static const char *explore_memory_log(struct call *call, const struct session *session)
{
    const json_t *log = exploring_get(session, "log");
    if (log == NULL)
        return NULL;
    const json_t *answer = json_object_get(exploring_get(session, "final"), "answer");
    _buf_ struct buf out = BUF_INIT(KIB * 64);
    struct json_out json = JSON_OUT(&out);
    explore_log_put(log, json_string_length(answer), &json);
    return out.overflowed ? NULL : arena_strdup(&call->arena, buf_str(&out));
}

/* The action of a task is settled when it is first remembered: what is called after that belongs to
 * the next one. */
static const char *explore_memory_action(struct call *call, const struct session *session,
                                         const char *task)
{
    const json_t *remembered = exploring_get(session, "remembered");
    const char *known = json_string_value(json_object_get(remembered, "task"));
    if (known != NULL && strcmp(known, task) == 0) /* which another takes the place of soon */
        return arena_strdup(&call->arena, json_string_value(json_object_get(remembered, "action")));
    _buf_ struct buf out = BUF_INIT(KIB * 4);
    memory_action(exploring_get(session, "log"), &out);
    return arena_strdup(&call->arena, buf_str(&out));
}

static struct store_call *explore_memory_learn(struct call *call, struct session *session,
                                               struct store_lesson *lesson, store_memory_fn fn,
                                               struct err *e)
{
    lesson->agent = policy_agent_of(session);
    lesson->user = explore_memory_user(session);
    lesson->session = session->id;
    lesson->log = explore_memory_log(call, session);
    lesson->task = explore_memory_clean(call, lesson->task, MEMORY_TASK_MAX);
    lesson->action = explore_memory_clean(call, lesson->action, MEMORY_ACTION_MAX);
    explore_memory_set_task(session, lesson->task);
    exploring_set(session, "remembered",
                  json_pack("{s:s, s:s}", "task", lesson->task, "action", lesson->action));
    session_changed(session);
    return store_learn(call_store(call), lesson, fn, call, e);
}

/* ---- the end of a task ----------------------------------------------------------------------- */

static void explore_memory_on_concluded(void *context, const struct store_memory *row,
                                        uint64_t n_dropped, const struct err *e)
{
    struct call *call = context;
    const char *member = call->op == &op_explore_final ? "final" : "stuck";
    (void)row;
    (void)n_dropped;
    (void)e; /* the task has its answer in any case; the store's trouble is told by the store */
    explore_call_reply(call, 200, json_pack("{s:b}", member, true));
}

void explore_memory_conclude(struct call *call, struct session *session)
{
    struct err ignored;
    const char *task = json_string_value(exploring_get(session, "task"));
    struct store_call *asked = NULL;
    if (task != NULL && engine_store(call->engine) != NULL) {
        task = arena_strdup(&call->arena, task);
        struct store_lesson lesson = {.task = task,
                                      .action = explore_memory_action(call, session, task),
                                      .outcome = MEMORY_OPEN};
        asked = explore_memory_learn(call, session, &lesson, explore_memory_on_concluded, &ignored);
    }
    if (asked != NULL)
        call_await(call, asked);
    else
        explore_memory_on_concluded(call, NULL, 0, NULL);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static const struct op_param explore_outcome_params[] = {
    OP_PARAM_SESSION,
    {.name = "outcome",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = &memory_outcomes[MEMORY_SUCCESS],
     .doc = "What became of the task."},
    {.name = "task",
     .type = OP_TEXT,
     .min = 1,
     .max = MEMORY_TASK_MAX,
     .doc = "The task; default: the last query of recall."},
    {.name = "action",
     .type = OP_TEXT,
     .min = 1,
     .max = MEMORY_ACTION_MAX,
     .doc = "How it was explored, in words that the next one may act on; default: what was called, "
            "as the log has it."},
    {.name = "gate_failures",
     .type = OP_INT,
     .max = MEMORY_PENALTIES,
     .doc = "How often a check refused what was done: 0.1 less each."},
    {.name = "escalations",
     .type = OP_INT,
     .max = MEMORY_PENALTIES,
     .doc = "How often somebody else had to help: 0.15 less each."},
    {0},
};

static void explore_outcome_on_learnt(void *context, const struct store_memory *row,
                                      uint64_t n_dropped, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    json_t *told = json_pack("{s:s, s:s, s:s, s:s, s:o, s:I}", "memory", row->id, "task", row->task,
                             "action", row->action, "outcome", row->outcome, "q_value",
                             explore_memory_real(row->q), "outcomes", (json_int_t)row->n_outcomes);
    if (n_dropped > 0)
        json_object_set_new(told, "dropped", json_integer((json_int_t)n_dropped));
    explore_call_reply(call, 200, told);
}

static enum memory_outcome explore_outcome_read(const struct call *call)
{
    const char *name = call_text(call, "outcome", "");
    enum memory_outcome outcome = MEMORY_SUCCESS;
    while (outcome < MEMORY_FAILURE && strcmp(memory_outcomes[outcome], name) != 0)
        outcome++;
    return outcome;
}

static void explore_outcome_run(struct call *call)
{
    struct err e;
    struct session *session = explore_call_session(call);
    if (session == NULL || call_store(call) == NULL)
        return;
    const char *known = json_string_value(exploring_get(session, "task"));
    const char *task = call_text(call, "task", known), *action = call_text(call, "action", NULL);
    if (task == NULL) {
        err_set(&e, ERR_INVALID, "no task is known whose outcome this is");
        err_advise(&e, "Give the task, or call recall(query) first: its query is the task.");
        call_fail(call, &e);
        return;
    }
    task = arena_strdup(&call->arena, task);
    if (action == NULL)
        action = explore_memory_action(call, session, task);
    struct store_lesson lesson = {
        .task = task, .action = action, .outcome = explore_outcome_read(call)};
    lesson.reward = memory_reward(lesson.outcome, call_int(call, "gate_failures", 0),
                                  call_int(call, "escalations", 0));
    struct store_call *asked =
        explore_memory_learn(call, session, &lesson, explore_outcome_on_learnt, &e);
    if (asked == NULL)
        call_fail(call, &e);
    else
        call_await(call, asked);
}

static const struct op_member explore_outcome_members[] = {
    {"memory", OP_TEXT, .is_always = true, .doc = "The memory's id."},
    {"task", OP_TEXT, .is_always = true, .doc = "What was to be found."},
    {"action", OP_TEXT, .is_always = true, .doc = "How it was explored."},
    {"outcome", OP_CHOICE, .is_always = true, .choices = memory_outcomes,
     .doc = "What became of it."},
    {"q_value", OP_NUMBER, .is_always = true, .doc = "How well this way went so far: 0 to 1."},
    {"outcomes", OP_INT, .is_always = true, .doc = "How many it has learnt from."},
    {"dropped", OP_INT, .doc = "How many memories were forgotten to make room."},
    {0},
};
static const struct op_shape shape_outcome = {"outcome", explore_outcome_members,
                                              "What was learnt from an exploration."};

static const struct op_verb explore_outcome_verb = {
    .words = "outcome",
    .takes = (const char *const[]){"session_id", "outcome", NULL},
    .summary = "tell what became of a session's exploration, for the next time",
    .examples = "cella outcome 0b9c success --task 'find the first error of the log'",
};

const struct op op_explore_outcome = {
    .name = "explore.outcome",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/outcome",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_outcome_params,
    .doc = "Remembers how the session explored its task and what became of it, for recall in later "
           "sessions of the same agent and user.",
    .run = explore_outcome_run,
    .result = &shape_outcome,
    .errors = OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(UNAVAILABLE),
    .example = "{\"session_id\": \"$explored\", \"outcome\": \"success\", \"task\": \"find the "
               "first error\"}",
    .verb = &explore_outcome_verb,
};
