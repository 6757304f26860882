/* What an agent found, and its answer: explore.mark_finding, explore.list_findings, explore.final,
 * explore.stuck. Daemon; on the loop. */
#include "base/clock.h"
#include "cell/redact.h"
#include "ops/explore_call.h"
#include "session/session.h"
#include "wire/json.h"

/* All of it is written with every checkpoint, so it stays small. */
enum { FINDING_MAX = 2000, FINDING_TAGS_MAX = 200, ANSWER_MAX = 256 * 1024, REASON_MAX = 2000 };

/* ---- findings -------------------------------------------------------------------------------- */

static const struct op_param explore_mark_finding_params[] = {
    OP_PARAM_SESSION,
    {.name = "content",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = FINDING_MAX,
     .doc = "What was found."},
    {.name = "tags",
     .type = OP_TEXT,
     .max = FINDING_TAGS_MAX,
     .doc = "Words to find it by, with commas between them."},
    {.name = "source_file", .type = OP_TEXT, .max = 1024, .doc = "Where: the file,"},
    {.name = "source_page", .type = OP_INT, .max = 1000000000, .doc = "its page,"},
    {.name = "source_section", .type = OP_TEXT, .max = 1024, .doc = "its section."},
    {0},
};

static json_t *explore_mark_finding_tags(const char *text)
{
    json_t *tags = json_array();
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        if (len > 0)
            json_array_append_new(tags, json_stringn(text, len));
        text += len + (text[len] == ',');
    }
    return tags;
}

static void explore_mark_finding_run(struct call *call)
{
    static const char *const given[] = {"content", "source_file", "source_page", "source_section"};
    struct err e;
    char at[CLOCK_RFC3339_SIZE], id[32];
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const json_t *findings = exploring_get(session, "findings");
    size_t n = json_array_size(findings);
    if (n >= EXPLORING_FINDINGS_MAX) {
        err_set(&e, ERR_LIMIT, "the session has %d findings", EXPLORING_FINDINGS_MAX);
        err_advise(&e, "Sum them up, and reset the exploration.");
        call_fail(call, &e);
        return;
    }
    snprintf(id, sizeof(id), "F%zu", n + 1);
    json_t *finding = json_pack("{s:s}", "id", id);
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        if (json_object_get(call->args, given[i]) != NULL)
            json_object_set(finding, given[i], json_object_get(call->args, given[i]));
    if (call_text(call, "tags", NULL) != NULL)
        json_object_set_new(finding, "tags",
                            explore_mark_finding_tags(call_text(call, "tags", "")));
    if (exploring_redacts(session))
        redact_output(finding);
    json_object_set_new(finding, "at", json_string(clock_rfc3339(clock_wall_ms(), at)));
    json_t *more = findings != NULL ? json_copy((json_t *)(uintptr_t)findings) : json_array();
    json_array_append(more, finding);
    exploring_set(session, "findings", more);
    session_changed(session);
    explore_call_reply(call, 201, finding);
}

static const struct op_member explore_finding_members[] = {
    {"id", OP_TEXT, .is_always = true, .doc = "F1, F2 and so on."},
    {"content", OP_TEXT, .is_always = true, .doc = "What was found."},
    {"tags", OP_TEXT_LIST, .doc = "Words to find it by."},
    {"source_file", OP_TEXT, .doc = "Where: the file,"},
    {"source_page", OP_INT, .doc = "its page,"},
    {"source_section", OP_TEXT, .doc = "its section."},
    {"at", OP_TIME, .is_always = true, .doc = "When it was noted."},
    {0},
};
static const struct op_shape shape_finding = {"finding", explore_finding_members,
                                              "Something that was worth keeping."};

const struct op op_explore_mark_finding = {
    .name = "explore.mark_finding",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/findings",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_mark_finding_params,
    .doc = "Notes something that was found, so that it is there later.",
    .run = explore_mark_finding_run,
    .result = &shape_finding,
    .status = 201,
    .errors = OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$explored\", \"content\": \"the error began at noon\"}",
};

static const struct op_param explore_list_findings_params[] = {OP_PARAM_SESSION, {0}};

static void explore_list_findings_run(struct call *call)
{
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    json_t *findings = (json_t *)(uintptr_t)exploring_get(session, "findings");
    findings = findings != NULL ? json_incref(findings) : json_array();
    explore_call_reply(call, 200, json_pack("{s:o}", "findings", findings));
}

static const struct op_member explore_findings_members[] = {
    {"findings", OP_LIST, .is_always = true, .shape = &shape_finding, .doc = "The oldest first."},
    {0},
};
static const struct op_shape shape_findings = {"findings", explore_findings_members,
                                               "What was found so far."};

const struct op op_explore_list_findings = {
    .name = "explore.list_findings",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/explore/findings",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_list_findings_params,
    .doc = "Lists what was noted as found.",
    .run = explore_list_findings_run,
    .result = &shape_findings,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\"}",
};

/* ---- the answer ------------------------------------------------------------------------------ */

static const struct op_param explore_final_params[] = {
    OP_PARAM_SESSION,
    {.name = "answer",
     .type = OP_TEXT,
     .is_required = true,
     .max = ANSWER_MAX,
     .doc = "The answer to the agent's task."},
    {0},
};

/* How often functions that count as a look were called. */
static int64_t explore_final_looks(const struct session *session)
{
    static const char *const looks[] = {"peek", "grep", "llm_call", "llm_batch"};
    const json_t *counts = json_object_get(exploring_get(session, "log"), "function_counts");
    int64_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(looks); i++)
        n += json_integer_value(json_object_get(counts, looks[i]));
    return n;
}

static void explore_final_run(struct call *call)
{
    struct err e;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const struct config_explore *wanted = explore_call_settings(call);
    if (wanted->requires_exploration &&
        explore_final_looks(session) < wanted->min_exploration_calls) {
        err_set(&e, ERR_CONFLICT,
                "Premature FINAL: Must call at least %lld exploration function(s) (peek, grep, "
                "llm_call, llm_batch) before FINAL()",
                (long long)wanted->min_exploration_calls);
        err_advise(&e, "Look at the context first, for example with peek() or grep().");
        call_fail(call, &e);
        return;
    }
    exploring_conclude(session,
                       json_pack("{s:O}", "answer", json_object_get(call->args, "answer")));
    session_changed(session);
    explore_memory_conclude(call, session);
}

static const struct op_member explore_final_members[] = {
    {"final", OP_BOOL, .is_always = true, .doc = "True: the task has its answer."},
    {0},
};
static const struct op_shape shape_final = {"final", explore_final_members,
                                            "That the answer was taken."};

const struct op op_explore_final = {
    .name = "explore.final",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/final",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_final_params,
    .doc = "Gives the answer to the agent's task; the answer of the cell that calls it has it.",
    .run = explore_final_run,
    .result = &shape_final,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\", \"answer\": \"42\"}",
};

static const struct op_param explore_stuck_params[] = {
    OP_PARAM_SESSION,
    {.name = "reason", .type = OP_TEXT, .max = REASON_MAX, .doc = "Why there is no way on."},
    {0},
};

static void explore_stuck_run(struct call *call)
{
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    exploring_conclude(session, json_pack("{s:s}", "stuck", call_text(call, "reason", "")));
    session_changed(session);
    explore_memory_conclude(call, session);
}

static const struct op_member explore_stuck_members[] = {
    {"stuck", OP_BOOL, .is_always = true, .doc = "True: it was noted."},
    {0},
};
static const struct op_shape shape_stuck = {"stuck", explore_stuck_members,
                                            "That there is no way on."};

const struct op op_explore_stuck = {
    .name = "explore.stuck",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/stuck",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_stuck_params,
    .doc = "Says that the agent's task cannot be done, and why.",
    .run = explore_stuck_run,
    .result = &shape_stuck,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$explored\", \"reason\": \"the log ends too early\"}",
};
