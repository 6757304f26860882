/* The tools of the set `explore` that remember: recall and outcome. Daemon; on the loop. */
#include "explore/memory.h"
#include "ops/explore_call.h"
#include "ops/tool_call.h"
#include "session/session.h"

/* ---- recall ---------------------------------------------------------------------------------- */

static const struct op_param tool_recall_params[] = {
    {.name = "query",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = MEMORY_TASK_MAX,
     .doc = "Your task."},
    TOOL_PARAM_SESSION,
    {0},
};

static void tool_recall_on_answer(struct call *call, const json_t *answer)
{
    _buf_ struct buf out = BUF_INIT(KIB * 64);
    const json_t *results = json_object_get(answer, "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *found = json_array_get(results, i);
        buf_printf(&out, "%.2f %s: %s -> %s\n",
                   json_number_value(json_object_get(found, "combined_score")),
                   json_string_value(json_object_get(found, "outcome")),
                   json_string_value(json_object_get(found, "task")),
                   json_string_value(json_object_get(found, "action")));
    }
    if (out.len == 0)
        buf_append_str(&out, "no similar task");
    tool_reply_text(call, &out);
}

static void tool_recall_run(struct call *call)
{
    const struct session *session = tool_found(call);
    if (session == NULL)
        return;
    json_t *args = json_pack("{s:s, s:O}", "session_id", session->id, "query",
                             json_object_get(call->args, "query"));
    tool_become(call, &op_explore_recall, args, tool_recall_on_answer);
}

const struct op op_tool_recall = {
    .name = "tool.recall",
    .method = "POST",
    .path = "/v1/tools/recall",
    .subject = OP_ON_TOOLS,
    .flags = OP_READ_ONLY,
    .params = tool_recall_params,
    .doc = "Tells how similar tasks were explored before, and how well that went.",
    .tool = "recall",
    .toolset = "explore",
    .tool_doc = "How similar tasks went before; ask first, tell outcome at the end.",
    .prepare = tool_prepare,
    .run = tool_recall_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(GONE) | OP_ERR(UNAVAILABLE),
    .example = "{\"session\": \"$explored\", \"query\": \"find the first error\"}",
};

/* ---- outcome --------------------------------------------------------------------------------- */

static const struct op_param tool_outcome_params[] = {
    {.name = "outcome",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = &memory_outcomes[MEMORY_SUCCESS],
     .doc = "Of your task."},
    {.name = "action",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = MEMORY_ACTION_MAX,
     .doc = "What worked, or did not."},
    {.name = "task",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = MEMORY_TASK_MAX,
     .doc = "Default: what recall was asked."},
    TOOL_PARAM_SESSION,
    {0},
};

static void tool_outcome_on_answer(struct call *call, const json_t *answer)
{
    _buf_ struct buf out = BUF_INIT(KIB * 8);
    long long dropped = json_integer_value(json_object_get(answer, "dropped"));
    buf_printf(&out, "remembered, q %.2f", json_number_value(json_object_get(answer, "q_value")));
    if (dropped > 0)
        buf_printf(&out, "; %lld forgotten for it", dropped);
    tool_reply_text(call, &out);
}

static void tool_outcome_run(struct call *call)
{
    static const char *const given[] = {"outcome", "action", "task"};
    const struct session *session = tool_found(call);
    if (session == NULL)
        return;
    json_t *args = json_pack("{s:s}", "session_id", session->id);
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        json_t *value = json_object_get(call->args, given[i]);
        if (value != NULL && !json_is_null(value))
            json_object_set(args, given[i], value);
    }
    tool_become(call, &op_explore_outcome, args, tool_outcome_on_answer);
}

const struct op op_tool_outcome = {
    .name = "tool.outcome",
    .method = "POST",
    .path = "/v1/tools/outcome",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING,
    .params = tool_outcome_params,
    .doc = "Remembers how the task was explored and what became of it, for recall.",
    .tool = "outcome",
    .toolset = "explore",
    .tool_doc = "Remember how your task went, for recall.",
    .prepare = tool_prepare,
    .run = tool_outcome_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(UNAVAILABLE),
    .example = "{\"session\": \"$explored\", \"outcome\": \"success\", \"task\": \"find the first "
               "error\"}",
};
