#include "session/oneshot.h"

#include "loop/loop.h"
#include "session/engine_state.h"

#include <assert.h>

enum { ERROR_MAX = 64 * 1024, SIGNALLED = 128 };

struct oneshot {
    struct oneshot_request request;
    struct session *session;  /* NULL once it was deleted */
    struct loop_timer *limit; /* NULL: there is none */
    struct oneshot_answer answer;
    bool is_starting; /* oneshot_start has not returned */
    bool is_over;
};

/* ---- the answer --------------------------------------------------------------------------------
 */

static void append_text(struct buf *out, const struct exec_text *text)
{
    buf_append(out, text->text, text->len);
}

/* "invalid syntax (<string>, line 1)" is the whole of what Python says; the place comes extra. */
static size_t without_place(const struct exec_error *error)
{
    const char *place = memmem(error->message.text, error->message.len, " (<string>, line ",
                               sizeof(" (<string>, line ") - 1);
    return place != NULL ? (size_t)(place - error->message.text) : error->message.len;
}

static bool is_syntax_error(const struct exec_error *error)
{
    static const char *const names[] = {"SyntaxError", "IndentationError", "TabError"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(error->name, names[i]) == 0)
            return json_is_integer(error->line);
    return false;
}

static void take_line(struct oneshot_answer *a, const struct exec_error *error, size_t len)
{
    buf_append_str(&a->error, error->name);
    if (len > 0)
        buf_append_str(&a->error, ": ");
    buf_append(&a->error, error->message.text, len);
}

/* What stands at the end of stderr when a program fails, without a newline after it. */
static void append_report(struct buf *stream, const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == '\n')
        len--;
    if (stream->len > 0 && stream->data[stream->len - 1] != '\n')
        buf_append_char(stream, '\n');
    buf_append(stream, text, len);
}

/* It left by SystemExit with a code or with words. */
static void take_exit(struct oneshot_answer *a, const struct exec_error *error)
{
    char *end;
    long code = strtol(error->message.text, &end, 10);
    bool is_code = error->message.len > 0 && *end == '\0';
    a->exit_code = is_code && (code & 0xFF) != 0 ? (int)(code & 0xFF) : ONESHOT_FAILED;
    if (is_code)
        buf_printf(&a->error, "Exited with code %d", a->exit_code);
    else
        append_text(&a->error, &error->message);
    if (!is_code)
        append_report(&a->streams[OUTPUT_STDERR], error->message.text, error->message.len);
}

static void take_error(struct oneshot_answer *a, const struct exec_error *error)
{
    a->exit_code = ONESHOT_FAILED;
    if (is_syntax_error(error)) {
        take_line(a, error, without_place(error));
        _buf_ struct buf line = BUF_INIT(ERROR_MAX);
        buf_printf(&line, "%s (line %lld)", buf_str(&a->error),
                   (long long)json_integer_value(error->line));
        append_report(&a->streams[OUTPUT_STDERR], buf_str(&line), line.len);
    } else if (strcmp(error->name, "SystemExit") == 0) {
        take_exit(a, error);
    } else {
        take_line(a, error, error->message.len);
        bool has_traceback = error->traceback.text != NULL;
        append_report(&a->streams[OUTPUT_STDERR],
                      has_traceback ? error->traceback.text : buf_str(&a->error),
                      has_traceback ? error->traceback.len : a->error.len);
    }
}

/* The interpreter ended before the code did: by an exit of its own, or by what its death
 * certificate says. */
static void take_death(struct oneshot_answer *a, const struct exec_result *result)
{
    bool has_left = strcmp(result->error->name, "Exited") == 0;
    a->exit_code = result->has_exit_code ? result->exit_code : SIGNALLED;
    if (has_left && a->exit_code != 0)
        buf_printf(&a->error, "Exited with code %d", a->exit_code);
    if (has_left)
        return;
    take_line(a, result->error, result->error->message.len);
    append_report(&a->streams[OUTPUT_STDERR], buf_str(&a->error), a->error.len);
}

static void take_timeout(struct oneshot_answer *a, uint32_t timeout_ms)
{
    a->exit_code = ONESHOT_TIMED_OUT;
    buf_printf(&a->error, "Execution timed out after %g seconds", timeout_ms / 1000.0);
}

static void take_value(struct oneshot_answer *a, const json_t *value)
{
    const json_t *text = json_object_get(value, "text");
    if (!json_is_string(text))
        return;
    buf_append(&a->streams[OUTPUT_STDOUT], json_string_value(text), json_string_length(text));
    buf_append_char(&a->streams[OUTPUT_STDOUT], '\n');
}

static void take_result(struct oneshot *o, const struct exec_result *result)
{
    struct oneshot_answer *a = &o->answer;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        append_text(&a->streams[i], &result->streams[i]);
    a->duration_ms = result->duration_ms;
    a->is_truncated |= result->is_truncated;
    for (size_t i = 0; i < result->n_outputs; i++) {
        if (a->outputs == NULL)
            a->outputs = json_array();
        json_array_append(a->outputs, result->outputs[i]);
    }
    if (result->status == EXEC_TIMEOUT)
        take_timeout(a, o->request.timeout_ms);
    else if (result->status == EXEC_DIED)
        take_death(a, result);
    else if (result->error != NULL)
        take_error(a, result->error);
    else if (result->has_last_status && result->last_status != 0)
        a->exit_code = result->last_status;
    else if (o->request.session.runtime == &runtime_python)
        take_value(a, result->value);
    if (result->has_last_status && result->last_status != 0 && a->error.len == 0)
        buf_printf(&a->error, "Exited with code %d", result->last_status);
}

/* ---- its life ----------------------------------------------------------------------------------
 */

static void free_answer(struct oneshot_answer *a)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        buf_free(&a->streams[i]);
    buf_free(&a->error);
    json_decref(a->outputs);
}

/* The caller is answered by now; what is left is to clean up. */
static void end(struct oneshot *o)
{
    o->is_over = true;
    loop_timer_close(take_ptr(o->limit), NULL);
    struct session *session = take_ptr(o->session);
    if (session != NULL)
        session_delete(session);
    if (o->is_starting)
        return;
    free_answer(&o->answer);
    free(o);
}

static void fail(struct oneshot *o, const struct err *e)
{
    o->request.listener->on_failed(o->request.context, e);
    end(o);
}

static void finish(struct oneshot *o)
{
    o->request.listener->on_done(o->request.context, &o->answer);
    end(o);
}

static const struct exec_listener exec_listener;

static struct exec_wait make_wait(struct oneshot *o)
{
    return (struct exec_wait){.listener = &exec_listener,
                              .context = o,
                              .budget = o->request.budget,
                              .pictures = o->request.pictures};
}

/* There is nobody to ask: the input has ended. */
static void refuse_input(struct oneshot *o, const struct exec_result *result)
{
    struct err e;
    struct exec *exec;
    struct oneshot_answer *a = &o->answer;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        append_text(&a->streams[i], &result->streams[i]);
    append_text(&a->streams[OUTPUT_STDOUT], &(struct exec_text){.text = result->question->prompt,
                                                                .len = result->question->len});
    struct exec_wait wait = make_wait(o);
    if (session_input(o->session, 0, NULL, 0, &wait, &exec, &e) < 0)
        fail(o, &e);
}

static void on_result(void *context, const struct exec_result *result)
{
    struct oneshot *o = context;
    if (o->is_over)
        return; /* its session was deleted, and answers as it goes */
    if (result->status == EXEC_INPUT) {
        refuse_input(o, result);
        return;
    }
    take_result(o, result);
    finish(o);
}

static void on_failed(void *context, const struct err *e)
{
    struct oneshot *o = context;
    if (!o->is_over)
        fail(o, e);
}

static const struct exec_listener exec_listener = {.on_result = on_result, .on_failed = on_failed};

static void on_started(void *context, struct session *session)
{
    struct oneshot *o = context;
    struct err e;
    o->session = session;
    if (session->state == SESSION_DEAD) {
        bool is_own_fault = session->ending.wish == DEATH_BY_SETUP;
        err_set(&e, is_own_fault ? ERR_INVALID : ERR_UNAVAILABLE, "%s", session->death.message);
        err_advise(&e, "%s", session->death.advice);
        fail(o, &e);
        return;
    }
    struct exec *exec;
    struct exec_request request = {.code = o->request.code,
                                   .code_len = o->request.code_len,
                                   .timeout_ms = o->request.timeout_ms,
                                   .names = HEAD_NAMES_NONE,
                                   .is_script = o->request.session.runtime == &runtime_python,
                                   .wait = make_wait(o)};
    if (session_exec(session, &request, &exec, &e) < 0)
        fail(o, &e);
}

static void on_limit(void *context)
{
    struct oneshot *o = context;
    struct err e;
    err_set(&e, ERR_TIMEOUT, "the code was not run within %g seconds",
            o->request.limit_ms / 1000.0);
    err_advise(&e, "GET /health/detailed says what is ready; try again in a moment.");
    session_forget_starter(o->session);
    fail(o, &e);
}

int oneshot_start(struct engine *engine, const struct oneshot_request *request,
                  struct oneshot **ret_oneshot, struct err *e)
{
    struct oneshot *o = mem_alloc(sizeof(*o));
    o->request = *request;
    o->request.session.is_unlisted = true;
    o->request.session.on_started = on_started;
    o->request.session.context = o;
    /* What is in them was cut to the budget; a value or a traceback is cut likewise. */
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        o->answer.streams[i] = BUF_INIT(SIZE_MAX / 4);
    o->answer.error = BUF_INIT(ERROR_MAX);
    o->is_starting = true;
    struct session *session;
    int rc = session_create(engine, &o->request.session, &session, e);
    o->is_starting = false;
    if (rc < 0 || o->is_over) {
        free_answer(&o->answer);
        free(take_ptr(o));
    } else {
        o->session = session;
        if (request->limit_ms > 0) {
            o->limit = loop_timer_new(engine->loop, on_limit, o);
            loop_timer_set(o->limit, request->limit_ms);
        }
    }
    if (rc == 0)
        *ret_oneshot = o;
    return rc;
}

void oneshot_abandon(struct oneshot *o)
{
    session_forget_starter(o->session);
    end(o);
}
