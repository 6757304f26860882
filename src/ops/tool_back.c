/* The tool `back`: everything about a session's history, each action being another operation.
 * Daemon; on the loop. */
#include "ops/exec_call.h"
#include "ops/tool_call.h"

enum { TOOL_BACK_LISTED_MAX = 50 }; /* checkpoints, the newest */

static const char *const tool_back_actions[] = {"list", "undo", "redo", "branch", "try",
                                                "keep", "drop", "end",  NULL};

static const struct op_param tool_back_params[] = {
    {.name = "action",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = tool_back_actions,
     .doc = "What to do."},
    {.name = "to",
     .type = OP_INT,
     .is_nullable = true,
     .max = INT64_MAX,
     .doc = "Checkpoint for undo, branch; default: before the last cell, now."},
    {.name = "code", .type = OP_TEXT, .is_nullable = true, .max = EXEC_CODE_MAX, .doc = "For try."},
    TOOL_PARAM_SESSION,
    {0},
};

static bool tool_back_is_action(const struct call *call, const char *action)
{
    return strcmp(call_text(call, "action", ""), action) == 0;
}

/* ---- in words -------------------------------------------------------------------------------- */

/* "cells 3, 4" */
static void tool_back_put_cells(struct buf *out, const json_t *cells)
{
    size_t n = json_array_size(cells);
    buf_append_str(out, n == 1 ? "cell" : "cells");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s %lld", i > 0 ? "," : "",
                   (long long)json_integer_value(json_array_get(cells, i)));
}

static void put_undone(struct buf *out, const json_t *list)
{
    size_t i;
    const json_t *effect;
    json_array_foreach(list, i, effect) {
        const char *what = json_string_value(json_object_get(effect, "what"));
        const char *detail = json_string_value(json_object_get(effect, "detail"));
        buf_printf(out, "[not undone: %s%s%.200s]\n", what != NULL ? what : "?",
                   detail != NULL ? ", " : "", detail != NULL ? detail : "");
    }
}

/* Where the session is now, and what that did to it. */
static void put_restored(struct buf *out, const char *what, const json_t *answer)
{
    const json_t *cells = json_object_get(answer, "cells");
    const char *files_reason = json_string_value(json_object_get(answer, "files_reason"));
    json_int_t files = json_integer_value(json_object_get(answer, "files_changed"));
    buf_printf(out, "[%s", what);
    if (json_array_size(cells) > 0) {
        buf_append_char(out, ' ');
        tool_back_put_cells(out, cells);
    }
    buf_printf(out, ": at checkpoint %lld]\n",
               (long long)json_integer_value(json_object_get(answer, "to")));
    exec_text_put_changes(out, "names", json_object_get(answer, "names"));
    if (files > 0)
        buf_printf(out, "[%lld file%s put back]\n", (long long)files, files > 1 ? "s" : "");
    if (files_reason != NULL)
        buf_printf(out, "[files as they were: %.200s]\n", files_reason);
    exec_text_put_named(out, "files lost", json_object_get(answer, "files_lost"));
    put_undone(out, json_object_get(answer, "not_undone"));
}

static void say_restored(struct call *call, const json_t *answer, const char *what)
{
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    put_restored(&text, what, answer);
    tool_reply_text(call, &text);
}

static void on_undone(struct call *call, const json_t *answer)
{
    say_restored(call, answer, "undid");
}

static void on_redone(struct call *call, const json_t *answer)
{
    say_restored(call, answer, "redone");
}

static void on_dropped(struct call *call, const json_t *answer)
{
    say_restored(call, answer, "dropped");
}

static void tool_back_on_done(struct call *call, const json_t *answer)
{
    (void)answer;
    _buf_ struct buf text = BUF_INIT(KIB);
    tool_reply_text(call, &text);
}

/* "*3 cells 4, 5": one line each; the mark is where the present state came from. */
static void tool_back_on_listed(struct call *call, const json_t *answer)
{
    const json_t *list = json_object_get(answer, "checkpoints");
    json_int_t current = json_integer_value(json_object_get(answer, "current"));
    size_t n = json_array_size(list),
           first = n > TOOL_BACK_LISTED_MAX ? n - TOOL_BACK_LISTED_MAX : 0;
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    buf_printf(&text, "%s0 the beginning\n", current == 0 ? "*" : "");
    for (size_t i = first; i < n; i++) {
        const json_t *checkpoint = json_array_get(list, i);
        json_int_t id = json_integer_value(json_object_get(checkpoint, "id"));
        const char *way = json_string_value(json_object_get(checkpoint, "restore"));
        bool is_lost = id != current && way != NULL && strcmp(way, "no") == 0;
        buf_printf(&text, "%s%lld ", id == current ? "*" : "", (long long)id);
        tool_back_put_cells(&text, json_object_get(checkpoint, "cells"));
        buf_append_str(&text, is_lost ? " (given up)\n" : "\n");
    }
    tool_reply_text(call, &text);
}

/* ---- branches -------------------------------------------------------------------------------- */

static void on_named(struct call *call, const json_t *answer)
{
    const char *name = json_string_value(json_object_get(answer, "name"));
    _buf_ struct buf text = BUF_INIT(KIB);
    buf_printf(&text, "[branched: session=\"%s\"]", name != NULL ? name : "");
    tool_reply_text(call, &text);
}

/* A model has to write the name of the branch again and again, so it gets a short one. */
static void tool_back_on_branched(struct call *call, const json_t *answer)
{
    struct err e;
    const json_t *branch = json_array_get(json_object_get(answer, "sessions"), 0);
    const json_t *id = json_object_get(branch, "session_id");
    const struct session *source =
        session_find(call->engine, call_text(call, "session_id", ""), &e);
    const char *base = json_string_value(json_object_get(branch, "runtime"));
    if (source != NULL && source->name != NULL)
        base = source->name;
    const char *name = base != NULL && id != NULL ? tool_new_name(call, base, &e) : NULL;
    if (name == NULL) {
        call_fail(call, &e);
        return;
    }
    tool_become(call, &op_session_edit,
                json_pack("{s:s, s:s, s:o}", "session_id", json_string_value(id), "name", name,
                          "labels", tool_labels(call, false)),
                on_named);
}

/* ---- the tool -------------------------------------------------------------------------------- */

/* NULL if the call was answered with the error. */
static json_t *try_args(struct call *call, const struct session *session)
{
    if (session->trial.id == 0) {
        tool_fail(call, "there is no try to decide on", "back(action=\"try\", code=…) runs one.");
        return NULL;
    }
    return json_pack("{s:s, s:I}", "session_id", session->id, "try_id",
                     (json_int_t)session->trial.id);
}

static void tool_back_run(struct call *call)
{
    json_t *to = json_object_get(call->args, "to"), *code = json_object_get(call->args, "code");
    if (tool_back_is_action(call, "try") && !json_is_string(code)) {
        tool_fail(call, "\"code\" is needed for try", "Give the code to try.");
        return;
    }
    const struct session *session = tool_found(call);
    if (session == NULL)
        return;
    json_t *args = json_pack("{s:s}", "session_id", session->id);
    if (tool_back_is_action(call, "list")) {
        tool_become(call, &op_checkpoint_list, args, tool_back_on_listed);
    } else if (tool_back_is_action(call, "undo")) {
        json_object_set(args, "to", to);
        tool_become(call, &op_session_undo, args, on_undone);
    } else if (tool_back_is_action(call, "redo")) {
        tool_become(call, &op_session_redo, args, on_redone);
    } else if (tool_back_is_action(call, "branch")) {
        json_object_set(args, "at", to);
        tool_become(call, &op_session_branch, args, tool_back_on_branched);
    } else if (tool_back_is_action(call, "end")) {
        tool_become(call, &op_session_delete, args, tool_back_on_done);
    } else if (tool_back_is_action(call, "try")) {
        json_object_set(args, "code", code);
        tool_become(call, &op_try_run, args, NULL);
    } else {
        bool is_kept = tool_back_is_action(call, "keep");
        json_decref(args);
        args = try_args(call, session);
        if (args != NULL)
            tool_become(call, is_kept ? &op_try_commit : &op_try_discard, args,
                        is_kept ? tool_back_on_done : on_dropped);
    }
}

static bool tool_back_only_reads(const struct call *call)
{
    return tool_back_is_action(call, "list");
}

static unsigned tool_back_uses(const struct call *call)
{
    return tool_back_is_action(call, "try")      ? OP_RUNS_CODE
           : tool_back_is_action(call, "branch") ? OP_MAKES_SESSION
                                                 : 0;
}

const struct op op_tool_back = {
    .name = "tool.back",
    .method = "POST",
    .path = "/v1/tools/back",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING | OP_MAKES_SESSION | OP_RUNS_CODE,
    .params = tool_back_params,
    .doc = "Goes back and forth in a session's history: undo, redo, branches, tries, the list of "
           "checkpoints; or ends it.",
    .tool = "back",
    .toolset = "core",
    .tool_doc = "Time travel of variables, files and processes: undo cells, redo; branch: a live "
                "copy as another session; try: run code, see what it changes, then keep or drop "
                "it; list: checkpoints; end: the session.",
    .hints = OP_DESTROYS,
    .prepare = tool_prepare,
    .run = tool_back_run,
    .only_reads = tool_back_only_reads,
    .uses = tool_back_uses,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session\": \"$session\", \"action\": \"undo\"}",
};
