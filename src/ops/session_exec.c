#include "ops/ops.h"
#include "runtime/display.h"
#include "session/exec.h"
#include "session/session.h"
#include "wire/json.h"

enum {
    CODE_MAX = 1024 * 1024,
    TIMEOUT_DEFAULT_MS = 30 * 1000,
    TIMEOUT_MAX_MS = 86400 * 1000,
    BUDGET_DEFAULT = 64 * 1024,
    PICTURES_DEFAULT = 4 * 1024 * 1024,
    DISPLAY_EVENT_MAX = 4 * 1024 * 1024,
    BUDGET_MAX = 16 * 1024 * 1024,
    TYPICAL_ANSWER = 1024,
};

static const struct op_param params[] = {
    OP_PARAM_SESSION,
    {.name = "code",
     .type = OP_TEXT,
     .is_required = true,
     .max = CODE_MAX,
     .doc = "The cell: source code, at most 1 MiB."},
    {.name = "timeout_ms",
     .type = OP_INT,
     .min = 1,
     .max = TIMEOUT_MAX_MS,
     .doc = "How long the cell may run before it is interrupted; default 30000."},
    {.name = "budget",
     .type = OP_INT,
     .min = 0,
     .max = BUDGET_MAX,
     .doc = "How many bytes of output the answer may hold; default 65536 and up to 4 MiB of "
            "pictures beside them."},
    {0},
};

/* One call that waits for its cell. Lives in the call's arena. */
struct pending {
    struct call *call;
    struct exec *exec;
    uint64_t dropped_bytes; /* of events that a slow client did not take */
};

/* ---- the answer --------------------------------------------------------------------------------
 */

static void put_error(struct json_out *json, const struct exec_error *error)
{
    json_put_key(json, "error");
    if (error == NULL) {
        json_put_null(json);
        return;
    }
    json_put_object(json);
    json_put_member_str(json, "name", error->name);
    json_put_member_text(json, "message", error->message.text, error->message.len);
    if (error->traceback.text != NULL)
        json_put_member_text(json, "traceback", error->traceback.text, error->traceback.len);
    else
        json_put_member_null(json, "traceback");
    if (error->line != NULL) {
        json_put_key(json, "line");
        json_put_value(json, error->line);
    }
    if (error->column != NULL) {
        json_put_key(json, "column");
        json_put_value(json, error->column);
    }
    if (error->advice != NULL)
        json_put_member_str(json, "advice", error->advice);
    json_put_object_end(json);
}

static void put_outputs(struct json_out *json, const struct exec_result *result)
{
    json_put_key(json, "value");
    if (result->value != NULL)
        json_put_value(json, result->value);
    else
        json_put_null(json);
    json_put_key(json, "outputs");
    json_put_array(json);
    for (size_t i = 0; i < result->n_outputs; i++)
        json_put_value(json, result->outputs[i]);
    json_put_array_end(json);
}

static void put_omitted(struct json_out *json, const struct exec_result *result)
{
    json_put_key(json, "omitted");
    json_put_object(json);
    json_put_member_int(json, "stdout", (int64_t)result->streams[OUTPUT_STDOUT].omitted);
    json_put_member_int(json, "stderr", (int64_t)result->streams[OUTPUT_STDERR].omitted);
    if (result->omitted_output_bytes > 0)
        json_put_member_int(json, "outputs", (int64_t)result->omitted_output_bytes);
    if (result->error != NULL && result->error->traceback.omitted > 0)
        json_put_member_int(json, "traceback", (int64_t)result->error->traceback.omitted);
    if (result->error != NULL && result->error->message.omitted > 0)
        json_put_member_int(json, "message", (int64_t)result->error->message.omitted);
    json_put_object_end(json);
}

static void put_result(struct json_out *json, const struct exec_result *result)
{
    const struct exec_text *out = &result->streams[OUTPUT_STDOUT];
    const struct exec_text *err = &result->streams[OUTPUT_STDERR];
    json_put_member_int(json, "exec_id", (int64_t)result->exec_id);
    json_put_member_str(json, "status", exec_status_name(result->status));
    json_put_member_text(json, "stdout", out->text, out->len);
    json_put_member_text(json, "stderr", err->text, err->len);
    put_outputs(json, result);
    put_error(json, result->error);
    json_put_member_bool(json, "timed_out", result->status == EXEC_TIMEOUT);
    if (result->has_exit_code)
        json_put_member_int(json, "exit_code", result->exit_code);
    else
        json_put_member_null(json, "exit_code");
    json_put_member_real(json, "duration_ms", result->duration_ms, 3);
    json_put_member_bool(json, "truncated", result->is_truncated);
    if (result->is_truncated)
        put_omitted(json, result);
}

static void on_result(void *context, const struct exec_result *result)
{
    struct pending *pending = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    buf_reserve(&out, TYPICAL_ANSWER);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    put_result(&json, result);
    if (pending->dropped_bytes > 0)
        json_put_member_int(&json, "dropped_bytes", (int64_t)pending->dropped_bytes);
    json_put_object_end(&json);
    call_reply(pending->call, 200, &out);
}

static void on_failed(void *context, const struct err *e)
{
    struct pending *pending = context;
    call_fail(pending->call, e);
}

/* ---- the stream --------------------------------------------------------------------------------
 */

static void on_output(void *context, enum output_stream stream, const char *bytes, size_t len)
{
    struct pending *pending = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "stream", output_stream_name(stream));
    json_put_member_text(&json, "text", bytes, len);
    json_put_object_end(&json);
    if (!pending->call->sink->event(pending->call, "output", buf_str(&out), out.len))
        pending->dropped_bytes += len;
}

static void on_display(void *context, const json_t *output)
{
    struct pending *pending = context;
    size_t size = display_size(output);
    if (size > DISPLAY_EVENT_MAX) { /* a cell decides how many of these there are */
        pending->dropped_bytes += size;
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_value(&json, output);
    if (!pending->call->sink->event(pending->call, "display", buf_str(&out), out.len))
        pending->dropped_bytes += out.len;
}

/* ---- the call ----------------------------------------------------------------------------------
 */

static const struct exec_listener plain_listener = {.on_result = on_result, .on_failed = on_failed};
static const struct exec_listener stream_listener = {.on_output = on_output,
                                                     .on_display = on_display,
                                                     .on_result = on_result,
                                                     .on_failed = on_failed};

static void on_gone(struct call *call)
{
    struct pending *pending = call->op_state;
    exec_detach(pending->exec);
}

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    struct pending *pending = arena_alloc(&call->arena, sizeof(*pending));
    pending->call = call;
    struct exec_request request = {
        .code = call_text(call, "code", ""),
        .code_len = call_text_len(call, "code"),
        .timeout_ms = (uint32_t)call_int(call, "timeout_ms", TIMEOUT_DEFAULT_MS),
        .budget = (size_t)call_int(call, "budget", BUDGET_DEFAULT),
        .pictures = json_object_get(call->args, "budget") == NULL ? PICTURES_DEFAULT : 0,
        .listener = call->wants_stream ? &stream_listener : &plain_listener,
        .context = pending,
    };
    if (session_exec(session, &request, &pending->exec, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    call->op_state = pending;
    call->on_gone = on_gone;
}

const struct op op_session_exec = {
    .name = "session.exec",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/exec",
    .flags = OP_MUTATING | OP_STREAMS,
    .params = params,
    .doc = "Runs a cell in a session and answers with its output, value and error.",
    .run = run,
};
