/* The answer of a cell: JSON or text, at once or as a stream of events. Daemon; on the loop; the
 * wait for the cell is the call's and is forgotten with it. */
#include "ops/exec_call.h"

#include "cell/display.h"
#include "ops/exec_text.h"
#include "ops/tool_call.h"
#include "wire/json.h"

enum {
    DISPLAY_EVENT_MAX = 4 * 1024 * 1024,
    TYPICAL_ANSWER = 1024,
};

const char *const exec_disconnects[] = {"continue", "cancel", NULL};
const char *const exec_formats[] = {"json", "text", NULL};

const struct op_param exec_tool_members[] = {
    {.name = "name",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = 64,
     .doc = "What code calls it by: a name that no tool of the toolbox has."},
    {.name = "description", .type = OP_TEXT, .max = 4000, .doc = "What it does."},
    {.name = "parameters",
     .type = OP_FREE,
     .doc = "What it takes: a JSON Schema whose type is \"object\"; or, by name, \"type\", "
            "\"required\", \"default\" and so on. Default: nothing."},
    {.name = "read_only", .type = OP_BOOL, .doc = "It changes nothing: plan mode allows it."},
    {.name = "allowed_callers",
     .type = OP_TEXT_LIST,
     .max = 2,
     .doc = "direct: code itself; chain: calls that are planned together. Default: direct, and "
            "chain if it is read_only."},
    {0},
};

const struct op_param exec_result_members[] = {
    {.name = "id", .type = OP_TEXT, .is_required = true, .min = 1, .max = 64, .doc = "The call."},
    {.name = "result", .type = OP_ANY, .doc = "What the tool gave: any JSON, at most 1 MiB."},
    {.name = "error", .type = OP_TEXT, .min = 1, .max = 4096, .doc = "Or why it failed."},
    {0},
};

/* Lives in the call's arena. */
struct exec_call {
    struct call *call;
    struct exec *exec;
    uint64_t dropped_bytes; /* of events that a slow client did not take */
};

/* ---- the answer ------------------------------------------------------------------------------ */

static void put_error(struct json_out *json, const struct exec_error *error)
{
    if (error == NULL)
        return;
    json_put_key(json, "error");
    json_put_object(json);
    json_put_member_str(json, "name", error->name);
    json_put_member_text(json, "message", error->message.text, error->message.len);
    if (error->traceback.len > 0)
        json_put_member_text(json, "traceback", error->traceback.text, error->traceback.len);
    if (error->line != NULL) {
        json_put_key(json, "line");
        json_put_value(json, error->line);
    }
    if (error->column != NULL) {
        json_put_key(json, "column");
        json_put_value(json, error->column);
    }
    json_put_member_str(json, "advice", error->advice);
    json_put_object_end(json);
}

static void exec_call_put_output(struct json_out *json, const struct transcript_news *news)
{
    if (news->json != NULL)
        json_put_raw(json, news->json, news->len);
    else
        json_put_value(json, news->output);
}

static void put_outputs(struct json_out *json, const struct exec_result *result)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        if (result->streams[i].len > 0)
            json_put_member_text(json, output_stream_name((enum output_stream)i),
                                 result->streams[i].text, result->streams[i].len);
    if (result->n_outputs > 0) {
        json_put_key(json, "outputs");
        json_put_array(json);
        for (size_t i = 0; i < result->n_outputs; i++)
            exec_call_put_output(json, &result->outputs[i]);
        json_put_array_end(json);
    }
}

static void put_the_value(struct json_out *json, const struct exec_result *result)
{
    if (result->value.output == NULL && result->value.json == NULL)
        return;
    json_put_key(json, "value");
    exec_call_put_output(json, &result->value);
}

static void put_omitted(struct json_out *json, const struct exec_result *result)
{
    if (!result->is_truncated)
        return;
    json_put_member_bool(json, "truncated", true);
    json_put_key(json, "omitted");
    json_put_object(json);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        json_put_member_some(json, output_stream_name((enum output_stream)i),
                             (int64_t)result->streams[i].omitted);
    json_put_member_some(json, "outputs", (int64_t)result->omitted_output_bytes);
    if (result->error != NULL) {
        json_put_member_some(json, "traceback", (int64_t)result->error->traceback.omitted);
        json_put_member_some(json, "message", (int64_t)result->error->message.omitted);
    }
    json_put_object_end(json);
}

static void put_denied(struct json_out *json, const struct exec_denied *denied)
{
    if (denied == NULL)
        return;
    json_put_key(json, "denied");
    json_put_array(json);
    for (size_t i = 0; i < denied->n; i++) {
        json_put_object(json);
        json_put_member_str(json, "call", denied->calls[i].call);
        json_put_member_int(json, "count", (int64_t)denied->calls[i].count);
        json_put_object_end(json);
    }
    json_put_array_end(json);
}

/* The lists of names that are not empty; nothing if all of them are. */
static void put_names(struct json_out *json, const json_t *names)
{
    const char *list;
    json_t *value;
    bool is_begun = false;
    json_object_foreach((json_t *)(uintptr_t)names, list, value) {
        bool is_empty = json_is_false(value) || json_is_null(value) ||
                        (json_is_array(value) && json_array_size(value) == 0);
        if (is_empty)
            continue;
        if (!is_begun) {
            json_put_key(json, "names");
            json_put_object(json);
        }
        is_begun = true;
        json_put_key(json, list);
        json_put_value(json, value);
    }
    if (is_begun)
        json_put_object_end(json);
}

void exec_call_put_news(struct json_out *json, const struct exec_result *result)
{
    if (result->is_rolled_back)
        json_put_member_int(json, "rolled_back_to", (int64_t)result->rolled_back_to);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)result->extra, name, value) {
        json_put_key(json, name);
        json_put_value(json, value);
    }
}

static void put_question(struct json_out *json, const struct exec_question *question)
{
    if (question == NULL)
        return;
    json_put_key(json, "input");
    json_put_object(json);
    json_put_member_text(json, "prompt", question->prompt, question->len);
    json_put_member_true(json, "password", question->is_password);
    json_put_object_end(json);
}

static void put_tool_calls(struct json_out *json, const json_t *calls)
{
    if (json_array_size(calls) == 0)
        return;
    json_put_key(json, "tool_calls");
    json_put_value(json, calls);
}

static void put_final(struct json_out *json, const json_t *final)
{
    const json_t *answer = json_object_get(final, "answer");
    if (answer != NULL) {
        json_put_member_bool(json, "is_final", true);
        json_put_member_text(json, "final_answer", json_string_value(answer),
                             json_string_length(answer));
    }
    json_put_member_str(json, "stuck", json_string_value(json_object_get(final, "stuck")));
}

/* In the order in which one reads it: which cell, how it ended, what it showed, what became of the
 * session. */
static void put_result(struct json_out *json, const struct exec_result *result)
{
    json_put_member_str(json, "cell_id", result->cell);
    json_put_member_int(json, "number", (int64_t)result->exec_id);
    bool is_queued = result->status == CELL_RUNNING && result->is_queued;
    json_put_member_str(json, "status",
                        cell_state_status(is_queued ? CELL_QUEUED : result->status));
    put_question(json, result->question);
    put_tool_calls(json, result->tool_calls);
    put_outputs(json, result);
    put_the_value(json, result);
    put_error(json, result->error);
    put_final(json, result->final);
    if (result->spill != NULL) {
        json_put_key(json, "spill");
        json_put_value(json, result->spill);
    }
    json_put_member_str(json, "advice", result->advice);
    if (result->has_exit_code)
        json_put_member_int(json, "exit_code", result->exit_code);
    if (result->has_last_status)
        json_put_member_some(json, "last_status", result->last_status);
    json_put_member_some(json, "command_status", result->command_status);
    put_denied(json, result->denied);
    put_names(json, result->names);
    exec_call_put_news(json, result);
    put_omitted(json, result);
    json_put_member_real(json, "duration_ms", result->duration_ms, 3);
    json_put_member_some(json, "checkpoint", (int64_t)result->checkpoint);
    json_put_member_some(json, "saved_through", (int64_t)result->saved_through);
    if (result->cell == NULL)
        json_put_member_str(json, "unrecorded", result->unrecorded);
}

static void exec_call_on_result(void *context, const struct exec_result *result)
{
    struct exec_call *waiting = context;
    struct call *call = waiting->call;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    buf_reserve(&out, TYPICAL_ANSWER);
    if (call->tool != NULL) {
        tool_reply_cell(call, result);
        return;
    }
    if (result->script.text != NULL) {
        exec_text_put(&out, result, NULL);
        call->reply_type = "text/plain; charset=utf-8";
        call_reply(call, 200, &out);
        return;
    }
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    put_result(&json, result);
    json_put_member_some(&json, "dropped_bytes", (int64_t)waiting->dropped_bytes);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void exec_call_on_failed(void *context, const struct err *e)
{
    struct exec_call *waiting = context;
    call_fail(waiting->call, e);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static void on_accepted(void *context, const struct cell *cell)
{
    struct exec_call *waiting = context;
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "cell_id", cell->id[0] != '\0' ? cell->id : NULL);
    json_put_member_int(&json, "number", (int64_t)cell->exec_id);
    json_put_object_end(&json);
    waiting->call->sink->event(waiting->call, "cell", buf_str(&out), out.len);
}

bool exec_call_send_output(struct call *call, enum output_stream stream, const char *bytes,
                           size_t len)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "stream", output_stream_name(stream));
    json_put_member_text(&json, "text", bytes, len);
    json_put_object_end(&json);
    return call->sink->event(call, "output", buf_str(&out), out.len);
}

bool exec_call_send_display(struct call *call, const json_t *output, bool is_update)
{
    if (display_size(output) > DISPLAY_EVENT_MAX) /* a cell decides how many of these there are */
        return false;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_value(&json, output);
    return call->sink->event(call, is_update ? "update" : "display", buf_str(&out), out.len);
}

static void exec_call_on_output(void *context, enum output_stream stream, const char *bytes,
                                size_t len)
{
    struct exec_call *waiting = context;
    if (!exec_call_send_output(waiting->call, stream, bytes, len))
        waiting->dropped_bytes += len;
}

static void exec_call_on_display(void *context, const json_t *output, bool is_update)
{
    struct exec_call *waiting = context;
    if (!exec_call_send_display(waiting->call, output, is_update))
        waiting->dropped_bytes += display_size(output);
}

static void on_clear(void *context, bool waits)
{
    struct exec_call *waiting = context;
    const char *text = waits ? "{\"wait\":true}" : "{}";
    waiting->call->sink->event(waiting->call, "clear", text, strlen(text));
}

/* ---- the call -------------------------------------------------------------------------------- */

static const struct exec_listener plain_listener = {.on_result = exec_call_on_result,
                                                    .on_failed = exec_call_on_failed};
static const struct exec_listener exec_call_stream_listener = {.on_accepted = on_accepted,
                                                               .on_output = exec_call_on_output,
                                                               .on_display = exec_call_on_display,
                                                               .on_clear = on_clear,
                                                               .on_result = exec_call_on_result,
                                                               .on_failed = exec_call_on_failed};

static void exec_call_on_gone(struct call *call)
{
    struct exec_call *waiting = call->op_state;
    exec_forget(waiting->exec);
}

struct exec_wait exec_call_wait(struct call *call)
{
    struct exec_call *waiting = arena_alloc(&call->arena, sizeof(*waiting));
    waiting->call = call;
    call->op_state = waiting;
    const char *format = call_text(call, "format", call->wants_text ? "text" : "json");
    bool is_text = strcmp(format, "text") == 0 && !call->wants_stream;
    bool is_tool = call->tool != NULL; /* its answer is whole, whatever was told in events */
    return (struct exec_wait){
        .listener = call->wants_stream ? &exec_call_stream_listener : &plain_listener,
        .context = waiting,
        .budget = call_budget(call, EXEC_BUDGET_USUAL),
        .pictures = call_pictures(call, EXEC_BUDGET_USUAL),
        .is_streamed = call->wants_stream && !is_tool,
        .is_lean = true,
        .wants_script = is_text || is_tool,
        .has_tools = is_tool,
        .takes_tools = true,
        .session = is_tool ? call->tool->session : NULL,
        .preview = call_has_budget(call) ? 0 : EXEC_PREVIEW_USUAL,
        .has_yield = json_is_integer(json_object_get(call->args, "yield_ms")),
        .yield_ms = (uint32_t)call_int(call, "yield_ms", 0),
        .cancels = is_tool ? call->tool->cancels
                           : strcmp(call_text(call, "on_disconnect", "continue"), "cancel") == 0,
    };
}

static enum head_names read_names(const struct call *call)
{
    const json_t *names = json_object_get(call->args, "names");
    if (json_is_boolean(names))
        return json_is_true(names) ? HEAD_NAMES_FULL : HEAD_NAMES_NONE;
    return HEAD_NAMES_CHANGES;
}

struct exec_request exec_call_request(struct call *call)
{
    const json_t *tools = json_object_get(call->args, "tools");
    return (struct exec_request){
        .timeout_ms = call_timeout_ms(call),
        .names = read_names(call),
        .is_durable = call_bool(call, "durable", false),
        .has_inline_images = call_wants_images(call),
        .has_html = call_bool(call, "html", false),
        .wants_files = call_bool(call, "files", false),
        .tools = json_is_array(tools) ? tools : NULL,
        .tool_deadline_ms = (uint32_t)call_int(call, "tool_deadline_ms", 0),
        .wait = exec_call_wait(call),
    };
}

void exec_call_begun(struct call *call, struct exec *exec)
{
    if (exec == NULL)
        return; /* and the call is over */
    struct exec_call *waiting = call->op_state;
    waiting->exec = exec;
    call->on_gone = exec_call_on_gone;
    /* One who says what should happen then wants it to happen; what a tool told to nobody would be
     * lost for the next one. */
    call->must_notice_end =
        call->tool != NULL || json_object_get(call->args, "on_disconnect") != NULL;
}
