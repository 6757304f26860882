/* An engine with the real driver and a warden without jails, and callers that write down what they
 * hear. Include it once. */
#pragma once

#include "base/clock.h"
#include "fake_warden.h"
#include "session/engine.h"
#include "session/exec.h"
#include "session/session.h"

static const char *const no_preload[] = {NULL};
static const struct runtime_profile profiles[] = {
    {.runtime = &runtime_python,
     .name = "min",
     .program = "/usr/bin/python3",
     .preload = no_preload},
    {.runtime = &runtime_python,
     .name = "other",
     .program = "/usr/bin/python3",
     .preload = no_preload},
};

struct world {
    uv_loop_t loop;
    struct engine *engine;
    bool is_ready, is_stopped, is_lost, is_back;
    unsigned n_notices;
};

/* What a caller heard. */
struct heard {
    bool is_over, has_failed;
    enum cell_state status;
    char out[4096], err[4096], value[4096], error[1024], message[512];
    char streamed[4096];
    const char *last_stream; /* of the last that was streamed, NULL for a display */
    uint64_t omitted_out, omitted_outputs, exec_id;
    size_t n_outputs;
    char first_output[512];
    bool is_truncated, has_exit_code;
    int exit_code;
    double duration_ms;
    bool is_queued;
    char prompt[128], advice[256];
    enum err_code code; /* of a failure */
};

static void on_ready(void *context)
{
    ((struct world *)context)->is_ready = true;
}

static void on_notice(void *context, const char *event, const char *text)
{
    (void)event;
    (void)text;
    ((struct world *)context)->n_notices++;
}

static void on_lost(void *context, const char *text)
{
    (void)text;
    ((struct world *)context)->is_lost = true;
}

static void on_back(void *context, const char *text)
{
    (void)text;
    ((struct world *)context)->is_back = true;
}

static void on_stopped(void *context)
{
    ((struct world *)context)->is_stopped = true;
}

#define WAIT_FOR(world, condition)                                                                 \
    do {                                                                                           \
        uint64_t give_up_ms = clock_mono_ms() + PATIENCE_MS;                                       \
        while (!(condition)) {                                                                     \
            assert_true(clock_mono_ms() < give_up_ms);                                             \
            uv_run(&(world)->loop, UV_RUN_ONCE);                                                   \
        }                                                                                          \
    } while (0)

static int set_up_with(void **state, uint32_t pool_size)
{
    memset(&fake, 0, sizeof(fake));
    struct world *w = mem_alloc(sizeof(*w));
    struct err e;
    uv_loop_init(&w->loop);
    struct engine_config config = {.profiles = profiles,
                                   .n_profiles = ARRAY_LEN(profiles),
                                   .default_profile = "min",
                                   .limits = JAIL_LIMITS_DEFAULT,
                                   .pool_size = pool_size,
                                   .max_sessions = 8,
                                   .max_output_bytes = 64 * KIB};
    struct engine_events events = {.on_ready = on_ready,
                                   .on_notice = on_notice,
                                   .on_lost = on_lost,
                                   .on_back = on_back,
                                   .context = w};
    assert_int_equal(engine_new(&config, &events, NULL, &w->loop, &w->engine, &e), 0);
    *state = w;
    return 0;
}

static inline int set_up(void **state)
{
    return set_up_with(state, 0);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    engine_stop(w->engine, on_stopped, w);
    WAIT_FOR(w, w->is_stopped);
    engine_free(w->engine);
    fake_close();
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    free(w);
    return 0;
}

static void copy_text(char *to, size_t size, const char *from, size_t len)
{
    len = MIN(len, size - 1);
    memcpy(to, from, len);
    to[len] = '\0';
}

static void hear_output(void *context, enum output_stream stream, const char *bytes, size_t len)
{
    struct heard *h = context;
    const char *name = output_stream_name(stream);
    size_t used = strlen(h->streamed);
    bool goes_on = h->last_stream == name; /* print() writes a line and its end one by one */
    if (goes_on)
        used--;
    snprintf(h->streamed + used, sizeof(h->streamed) - used, "%s%s%.*s;", goes_on ? "" : name,
             goes_on ? "" : ":", (int)MIN(len, (size_t)100), bytes);
    h->last_stream = name;
}

static void hear_display(void *context, const json_t *output, bool is_update)
{
    struct heard *h = context;
    size_t used = strlen(h->streamed);
    h->last_stream = NULL;
    snprintf(h->streamed + used, sizeof(h->streamed) - used, "%s:%s;",
             is_update ? "update" : "display", json_string_value(json_object_get(output, "text")));
}

static void hear_result(void *context, const struct exec_result *r)
{
    struct heard *h = context;
    assert_false(h->is_over);
    h->is_over = true;
    h->status = r->status;
    h->exec_id = r->exec_id;
    copy_text(h->out, sizeof(h->out), r->streams[0].text, r->streams[0].len);
    copy_text(h->err, sizeof(h->err), r->streams[1].text, r->streams[1].len);
    h->omitted_out = r->streams[0].omitted;
    h->omitted_outputs = r->omitted_output_bytes;
    if (r->value.output != NULL)
        snprintf(h->value, sizeof(h->value), "%s",
                 json_string_value(json_object_get(r->value.output, "text")));
    h->n_outputs = r->n_outputs;
    if (r->n_outputs > 0)
        snprintf(h->first_output, sizeof(h->first_output), "%s",
                 json_string_value(json_object_get(r->outputs[0].output, "text")));
    if (r->error != NULL) {
        snprintf(h->error, sizeof(h->error), "%s", r->error->name);
        snprintf(h->advice, sizeof(h->advice), "%s", r->error->advice ? r->error->advice : "");
        copy_text(h->message, sizeof(h->message), r->error->message.text, r->error->message.len);
    }
    h->is_truncated = r->is_truncated;
    h->has_exit_code = r->has_exit_code;
    h->exit_code = r->exit_code;
    h->duration_ms = r->duration_ms;
    h->is_queued = r->is_queued;
    if (r->question != NULL)
        snprintf(h->prompt, sizeof(h->prompt), "%s", r->question->prompt);
}

static void hear_failure(void *context, const struct err *e)
{
    struct heard *h = context;
    assert_false(h->is_over);
    h->is_over = h->has_failed = true;
    h->code = e->code;
    snprintf(h->message, sizeof(h->message), "%s", e->message);
}

static const struct exec_listener listener = {.on_output = hear_output,
                                              .on_display = hear_display,
                                              .on_result = hear_result,
                                              .on_failed = hear_failure};

static void note_started(void *context, struct session *session)
{
    *(struct session **)context = session;
}

/* Waits until it lives or is dead. What is not given is the usual, but there are no checkpoints. */
static inline struct session *create_with(struct world *w, struct session_request request)
{
    struct err e;
    struct session *session, *started = NULL;
    if (request.runtime == NULL)
        request.runtime = &runtime_python;
    request.checkpoints = TIMELINE_OFF;
    request.on_started = note_started;
    request.context = &started;
    if (session_create(w->engine, &request, &session, &e) < 0)
        fail_msg("%s", e.message);
    WAIT_FOR(w, started != NULL);
    return started;
}

static inline struct session *create(struct world *w, const char *profile)
{
    return create_with(w, (struct session_request){.profile = profile});
}

static inline struct exec *begin(struct session *s, const char *code, uint32_t timeout_ms,
                                 size_t budget, struct heard *h)
{
    struct err e;
    struct exec *exec = NULL;
    struct exec_request request = {.code = code,
                                   .code_len = strlen(code),
                                   .timeout_ms = timeout_ms,
                                   .wait = {.budget = budget, .listener = &listener, .context = h}};
    memset(h, 0, sizeof(*h));
    if (session_exec(s, &request, &exec, &e) < 0) {
        h->is_over = h->has_failed = true;
        snprintf(h->message, sizeof(h->message), "%s", e.message);
    }
    return exec;
}

static inline void run_with(struct world *w, struct session *s, const char *code,
                            uint32_t timeout_ms, size_t budget, struct heard *h)
{
    begin(s, code, timeout_ms, budget, h);
    WAIT_FOR(w, h->is_over);
}

static inline void run(struct world *w, struct session *s, const char *code, struct heard *h)
{
    run_with(w, s, code, 30000, 4000, h);
}
