/* exec: a run in a sandbox of its own, with state and files that come and go. Daemon; on the loop;
 * a caller that goes away ends the run. */
#include "base/clock.h"
#include "cell/display.h"
#include "ops/exec_call.h"
#include "policy/policy.h"
#include "session/oneshot.h"
#include "store/store.h"
#include "wire/json.h"

enum {
    CODE_MAX = 1024 * 1024,
    STDIN_MAX = 1024 * 1024,
    FILES_MAX = 64,
    TTL_MAX_SECS = 365 * 86400,
    BUDGET_DEFAULT = 64 * 1024,
};

#define STATE_TEXT_MAX (120 * MIB) /* what fits into an answer */

static const struct op_param exec_oneshot_params[] = {
    {.name = "code",
     .type = OP_TEXT,
     .is_required = true,
     .max = CODE_MAX,
     .doc = "What to run: source code, at most 1 MiB."},
    {.name = "runtime",
     .type = OP_CHOICE,
     .choices = runtime_names,
     .means = OP_MEANS_RUNTIME,
     .doc = "The interpreter."},
    {.name = "profile",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = 64,
     .doc = "What is already imported, by the name of a profile of the configuration."},
    {.name = "state",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = STATE_TEXT_MAX,
     .doc = "The variables to begin with: the state of an earlier answer. Python only."},
    {.name = "capture_state",
     .type = OP_BOOL,
     .is_nullable = true,
     .doc = "Whether the answer is to hold the variables, for another run to begin with."},
    {.name = "state_name",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = STORE_NAME_MAX,
     .means = OP_MEANS_STATE,
     .doc = "A name under which the state is kept here: loaded before, if there is one, and saved "
            "after the code has succeeded."},
    {.name = "state_ttl_secs",
     .type = OP_INT,
     .unit = OP_SECS,
     .is_nullable = true,
     .max = TTL_MAX_SECS,
     .doc = "How long it is kept under its name; 0 is for ever. Default as configured."},
    {.name = "files",
     .type = OP_TEXTS,
     .is_nullable = true,
     .max = FILES_MAX,
     .doc = "Files that it finds in its directory: their text by their path; of bytes that are no "
            "text data:;base64, and the bytes in base64."},
    {.name = "stdin",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = STDIN_MAX,
     .doc = "What it reads from its standard input, at most 1 MiB; lines of at most 64 KiB."},
    EXEC_PARAM_TIMEOUT,
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_HTML,
    {.name = "agent",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .means = OP_MEANS_SPEAKER,
     .doc = "On whose behalf, by a name of the configuration; without it the agent \"default\"."},
    {.name = "binding",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .means = OP_MEANS_BINDING,
     .doc = "The inbound binding through which the agent was asked."},
    {0},
};

/* ---- the answer ------------------------------------------------------------------------------ */

static void exec_oneshot_put_url(struct json_out *json, const struct oneshot_file *file,
                                 const char *name)
{
    _buf_ struct buf url = BUF_INIT(4 * KIB);
    buf_printf(&url, "/v1/files/%s/", file->token);
    for (const char *c = name; *c != '\0'; c++) {
        bool is_plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= 'a' && *c <= 'z') || strchr("-._~", *c) != NULL;
        if (is_plain)
            buf_append_char(&url, *c);
        else
            buf_printf(&url, "%%%02X", (unsigned char)*c);
    }
    json_put_member_str(json, "url", buf_str(&url));
}

static void exec_oneshot_put_files(struct json_out *json, const struct oneshot_answer *answer)
{
    json_put_key(json, "files");
    json_put_array(json);
    for (size_t i = 0; i < answer->n_files; i++) {
        const struct oneshot_file *file = &answer->files[i];
        const char *slash = strrchr(file->path, '/');
        const char *name = slash != NULL ? slash + 1 : file->path;
        json_put_object(json);
        json_put_member_str(json, "name", name);
        json_put_member_str(json, "path", file->path);
        json_put_member_int(json, "size", (int64_t)file->bytes);
        exec_oneshot_put_url(json, file, name);
        json_put_object_end(json);
    }
    json_put_array_end(json);
}

/* What is there only if there is something to say. */
static void exec_oneshot_put_more(struct json_out *json, const struct oneshot_answer *answer)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_member_str(json, "replaced", json_string_value(answer->replaced));
    if (answer->state_errors != NULL) {
        json_put_key(json, "state_errors");
        json_put_value(json, answer->state_errors);
    }
    if (answer->kept_bytes > 0) {
        json_put_member_int(json, "state_bytes", (int64_t)answer->kept_bytes);
        json_put_member_str(json, "state_expires_at",
                            answer->kept_until_ms > 0 ? clock_rfc3339(answer->kept_until_ms, time)
                                                      : NULL);
    }
    if (answer->n_files_omitted > 0)
        json_put_member_int(json, "files_omitted", (int64_t)answer->n_files_omitted);
    if (answer->files_reason[0] != '\0')
        json_put_member_str(json, "files_error", answer->files_reason);
    if (answer->outputs != NULL) {
        json_put_key(json, "outputs");
        json_put_value(json, answer->outputs);
    }
    if (answer->is_truncated)
        json_put_member_bool(json, "truncated", true);
}

static void exec_oneshot_put_answer(struct json_out *json, const struct oneshot_answer *answer,
                                    uint64_t dropped_bytes)
{
    const struct buf *out = &answer->streams[OUTPUT_STDOUT];
    const struct buf *err = &answer->streams[OUTPUT_STDERR];
    json_put_object(json);
    json_put_member_text(json, "stdout", buf_str(out), out->len);
    json_put_member_text(json, "stderr", buf_str(err), err->len);
    json_put_member_int(json, "exit_code", answer->exit_code);
    if (answer->state != NULL)
        json_put_member_text(json, "state", answer->state, answer->state_len);
    else
        json_put_member_null(json, "state");
    exec_oneshot_put_files(json, answer);
    if (answer->error.len > 0)
        json_put_member_text(json, "error", buf_str(&answer->error), answer->error.len);
    else
        json_put_member_null(json, "error");
    json_put_member_real(json, "execution_time_ms", answer->duration_ms, 3);
    exec_oneshot_put_more(json, answer);
    json_put_member_some(json, "dropped_bytes", (int64_t)dropped_bytes);
    json_put_object_end(json);
}

/* Lives in the call's arena. */
struct run_call {
    struct call *call;
    uint64_t dropped_bytes; /* of events that a slow client did not take */
};

static void exec_oneshot_on_done(void *context, const struct oneshot_answer *answer)
{
    struct run_call *exec_oneshot_run = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    exec_oneshot_put_answer(&json, answer, exec_oneshot_run->dropped_bytes);
    call_reply(exec_oneshot_run->call, 200, &out);
}

static void exec_oneshot_on_failed(void *context, const struct err *e)
{
    struct run_call *exec_oneshot_run = context;
    call_fail(exec_oneshot_run->call, e);
}

static void exec_oneshot_on_output(void *context, enum output_stream stream, const char *bytes,
                                   size_t len)
{
    struct run_call *exec_oneshot_run = context;
    if (!exec_call_send_output(exec_oneshot_run->call, stream, bytes, len))
        exec_oneshot_run->dropped_bytes += len;
}

static void exec_oneshot_on_display(void *context, const json_t *output, bool is_update)
{
    struct run_call *exec_oneshot_run = context;
    if (!exec_call_send_display(exec_oneshot_run->call, output, is_update))
        exec_oneshot_run->dropped_bytes += display_size(output);
}

static const struct oneshot_listener exec_oneshot_listener = {.on_done = exec_oneshot_on_done,
                                                              .on_failed = exec_oneshot_on_failed};
static const struct oneshot_listener exec_oneshot_stream_listener = {
    .on_output = exec_oneshot_on_output,
    .on_display = exec_oneshot_on_display,
    .on_done = exec_oneshot_on_done,
    .on_failed = exec_oneshot_on_failed};

/* ---- the call -------------------------------------------------------------------------------- */

static void exec_oneshot_on_gone(struct call *call)
{
    oneshot_forget(call->op_state);
}

static int read_state(const struct call *call, struct oneshot_request *request, struct err *e)
{
    const struct config *config = call->policy->config;
    request->state = call_text_len(call, "state") > 0 ? call_text(call, "state", NULL) : NULL;
    request->state_len = call_text_len(call, "state");
    request->state_name = call_text(call, "state_name", NULL);
    request->captures = call_bool(call, "capture_state", false);
    request->state_max_bytes = (uint64_t)config->state_max_size_mb * MIB;
    request->state_ttl_ms =
        (uint64_t)call_int(call, "state_ttl_secs", config->state_ttl_secs) * 1000;
    bool is_asked_for = request->state != NULL || request->state_name != NULL || request->captures;
    if (!is_asked_for || request->session.runtime == &runtime_python)
        return 0;
    err_set(e, ERR_INVALID, "only Python has a state that can be kept between runs");
    return err_advise(e, "Leave state, state_name and capture_state out, or use a session.");
}

static int check_input(const struct oneshot_request *request, struct err *e)
{
    const char *at = request->input, *end = at != NULL ? at + request->input_len : NULL;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);
        if (len > EXEC_LINE_MAX) {
            err_set(e, ERR_INVALID, "a line of the standard input has %zu bytes", len);
            return err_advise(e, "Give lines of at most %d bytes; put other data into files.",
                              EXEC_LINE_MAX);
        }
        at += len + 1;
    }
    return 0;
}

static void exec_oneshot_run(struct call *call)
{
    struct err e;
    struct oneshot *oneshot;
    struct oneshot_request request = {
        .session = {.runtime = runtime_by_name(call_text(call, "runtime", "python")),
                    .profile = call_text(call, "profile", NULL),
                    .limits = call_limits(call),
                    .max_output_bytes = call->grant->repl.max_output_bytes,
                    .agent = call->agent,
                    .binding = call_text(call, "binding", NULL)},
        .owner = call_owner(call),
        .code = call_text(call, "code", ""),
        .code_len = call_text_len(call, "code"),
        .input = call_text(call, "stdin", NULL),
        .input_len = call_text_len(call, "stdin"),
        .files = json_object_get(call->args, "files"),
        .has_html = call_bool(call, "html", false),
        .timeout_ms = call_timeout_ms(call),
        .budget = call_budget(call, BUDGET_DEFAULT),
        .pictures = call_pictures(call, BUDGET_DEFAULT),
        .wants_files = true,
        .files_ttl_ms = (uint64_t)call->policy->config->files_ttl_secs * 1000,
        .listener = call->wants_stream ? &exec_oneshot_stream_listener : &exec_oneshot_listener,
        .context =
            arena_copy(&call->arena, &(struct run_call){.call = call}, sizeof(struct run_call)),
    };
    if (read_state(call, &request, &e) < 0 || check_input(&request, &e) < 0 ||
        oneshot_start(call->engine, &request, &oneshot, &e) < 0) {
        call_fail(call, &e);
    } else if (oneshot != NULL) {
        call->op_state = oneshot;
        call->on_gone = exec_oneshot_on_gone;
        call->must_notice_end = true; /* nobody else can ask for the answer */
    }
}

static const struct op_member run_file_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"path", OP_TEXT, .is_always = true, .doc = "Where it was."},
    {"size", OP_SIZE, .is_always = true, .doc = "How large it is."},
    {"url", OP_TEXT, .is_always = true, .doc = "Where it can be had for a time."},
    {0},
};
static const struct op_shape shape_run_file = {"run_file", run_file_members,
                                               "A file that code left."};

static const struct op_member run_members[] = {
    {"stdout", OP_TEXT, .is_always = true, .doc = "What it wrote."},
    {"stderr", OP_TEXT, .is_always = true, .doc = "What it wrote."},
    {"exit_code", OP_INT, .is_always = true, .doc = "0, or how it failed."},
    {"state", OP_TEXT, .is_nullable = true, .doc = "The variables, if they were asked for."},
    {"files", OP_LIST, .is_always = true, .shape = &shape_run_file, .doc = "Files that it made."},
    {"error", OP_TEXT, .is_nullable = true, .doc = "Why it failed."},
    {"execution_time_ms", OP_NUMBER, .is_always = true, .doc = "How long it ran."},
    {"replaced", OP_TEXT, .doc = "Typographic signs without which the code ran."},
    {"state_errors", OP_ANY, .doc = "What could not be saved, or loaded."},
    {"state_bytes", OP_SIZE, .doc = "How large the state is that was kept."},
    {"state_expires_at", OP_TIME, .doc = "Until when; left out: for ever."},
    {"files_omitted", OP_INT, .doc = "How many more files there were."},
    {"files_error", OP_TEXT, .doc = "Why files could not be kept."},
    {"outputs", OP_LIST, .shape = &shape_output, .doc = "What it displayed."},
    {"truncated", OP_BOOL, .doc = "Something was left out to fit the budget."},
    {"dropped_bytes", OP_SIZE, .doc = "Of events that the client was too slow for."},
    {0},
};
static const struct op_shape shape_run = {"run", run_members, "What code that ran once gave."};

const struct op op_exec_oneshot = {
    .name = "exec",
    .method = "POST",
    .path = "/v1/exec",
    .subject = OP_ON_CODE,
    .flags = OP_MUTATING | OP_LARGE | OP_STREAMS | OP_MAKES_SESSION | OP_RUNS_CODE,
    .params = exec_oneshot_params,
    .doc = "Runs code once, in a sandbox of its own that ends with it.",
    .run = exec_oneshot_run,
    .result = &shape_run,
    .events = run_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"code\": \"print(6 * 7)\"}",
};
