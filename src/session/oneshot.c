/* One run of code without a session of its own, in the daemon: its course from start to answer. */
#include "session/oneshot.h"

#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/oneshot_parts.h"

/* ---- its end --------------------------------------------------------------------------------- */

static void oneshot_free(struct oneshot *o)
{
    oneshot_free_answer(&o->answer);
    store_state_unref(o->state);
    free(o);
}

/* The caller is answered by now; what is left is to clean up. */
static void oneshot_end(struct oneshot *o)
{
    o->is_over = true;
    oneshot_stop_state(o);
    oneshot_files_forget(take_ptr(o->files));
    oneshot_given_forget(take_ptr(o->given));
    loop_timer_close(take_ptr(o->limit), NULL);
    struct session *session = take_ptr(o->session);
    if (session != NULL) {
        session_forget_starter(session);
        session->user = NULL;
        session_delete(session);
    }
    if (!o->is_starting)
        oneshot_free(o);
}

static void oneshot_fail(struct oneshot *o, const struct err *e)
{
    o->request.listener->on_failed(o->request.context, e);
    oneshot_end(o);
}

void oneshot_finish(struct oneshot *o)
{
    o->request.listener->on_done(o->request.context, &o->answer);
    oneshot_end(o);
}

void oneshot_one_less(struct oneshot *o)
{
    if (--o->n_pending == 0)
        oneshot_finish(o);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void oneshot_on_files(void *context)
{
    struct oneshot *o = context;
    o->files = NULL;
    oneshot_one_less(o);
}

/* ---- running --------------------------------------------------------------------------------- */

static const struct exec_listener exec_listener, exec_stream;

static bool oneshot_is_streamed(const struct oneshot *o)
{
    return o->request.listener->on_output != NULL;
}

static struct exec_wait oneshot_make_wait(struct oneshot *o)
{
    return (struct exec_wait){.listener = oneshot_is_streamed(o) ? &exec_stream : &exec_listener,
                              .context = o,
                              .budget = o->request.budget,
                              .pictures = o->request.pictures,
                              .is_streamed = oneshot_is_streamed(o)};
}

/* The next line of the input. There is nobody to ask for more: then it has ended. */
static void oneshot_give_input(struct oneshot *o, const struct exec_result *result)
{
    struct err e;
    struct exec *exec;
    const struct exec_question *question = result->question;
    const char *line = o->input_at < o->request.input_len ? o->request.input + o->input_at : NULL;
    size_t left = o->request.input_len - o->input_at, len = 0;
    if (line != NULL) {
        const char *newline = memchr(line, '\n', left);
        len = newline != NULL ? (size_t)(newline - line) : left;
        o->input_at += MIN(len + 1, left);
    }
    oneshot_take_streams(&o->answer, result);
    if (oneshot_is_streamed(o) && question->len > 0)
        o->request.listener->on_output(o->request.context, OUTPUT_STDOUT, question->prompt,
                                       question->len);
    else
        buf_append(&o->answer.streams[OUTPUT_STDOUT], question->prompt, question->len);
    struct exec_wait wait = oneshot_make_wait(o);
    if (session_input(o->session, 0, line, len, &wait, &exec, &e) < 0)
        oneshot_fail(o, &e);
}

static void oneshot_on_result(void *context, const struct exec_result *result)
{
    struct oneshot *o = context;
    if (o->is_over)
        return; /* its session was deleted, and answers as it goes */
    if (result->status == CELL_INPUT) {
        oneshot_give_input(o, result);
        return;
    }
    oneshot_take_result(&o->answer, &o->request, result);
    o->n_pending = 1;
    bool can_look = o->session->state != SESSION_DEAD && o->engine->store != NULL;
    if (o->request.wants_files && can_look && !oneshot_files_are_none(o->session, &o->untouched)) {
        o->files =
            oneshot_files_find(o->session, &o->request, o->given, &o->answer, oneshot_on_files, o);
        o->n_pending += o->files != NULL;
    }
    bool keeps_state = o->request.captures || o->request.state_name != NULL;
    if (keeps_state && o->answer.exit_code == 0 && o->session->state == SESSION_IDLE)
        oneshot_save(o);
    else
        oneshot_one_less(o);
}

static void oneshot_on_failed(void *context, const struct err *e)
{
    struct oneshot *o = context;
    if (!o->is_over)
        oneshot_fail(o, e);
}

static void oneshot_on_output(void *context, enum output_stream stream, const char *bytes,
                              size_t len)
{
    struct oneshot *o = context;
    if (!o->is_over)
        o->request.listener->on_output(o->request.context, stream, bytes, len);
}

static void oneshot_on_display(void *context, const json_t *output, bool is_update)
{
    struct oneshot *o = context;
    if (!o->is_over)
        o->request.listener->on_display(o->request.context, output, is_update);
}

static const struct exec_listener exec_listener = {.on_result = oneshot_on_result,
                                                   .on_failed = oneshot_on_failed};
static const struct exec_listener exec_stream = {.on_output = oneshot_on_output,
                                                 .on_display = oneshot_on_display,
                                                 .on_result = oneshot_on_result,
                                                 .on_failed = oneshot_on_failed};

void oneshot_run(struct oneshot *o)
{
    struct err e;
    struct exec *exec;
    struct exec_request request = {.code = o->request.code,
                                   .code_len = o->request.code_len,
                                   .timeout_ms = o->request.timeout_ms,
                                   .names = HEAD_NAMES_NONE,
                                   .is_script = o->request.session.runtime == &runtime_python,
                                   .has_html = o->request.has_html,
                                   .wait = oneshot_make_wait(o)};
    if (session_exec(o->session, &request, &exec, &e) < 0)
        oneshot_fail(o, &e);
}

/* A cell that ran has been told; who loads or saves has not. */
static void oneshot_on_ended(void *context)
{
    struct oneshot *o = context;
    const struct session *session = o->session;
    if (session == NULL || session->running != NULL || o->is_over)
        return;
    if (o->is_loading) {
        oneshot_not_loaded(o, session->death.message);
        return;
    }
    if (o->n_pending == 0)
        return;
    o->n_pending++; /* until all that it waits for is given up */
    if (o->files != NULL) {
        oneshot_files_forget(take_ptr(o->files));
        snprintf(o->answer.files_reason, sizeof(o->answer.files_reason), "the sandbox has ended");
        o->n_pending--;
    }
    if (o->step != NULL)
        oneshot_not_saved(o, session->death.message);
    oneshot_one_less(o);
}

static const struct session_user oneshot_user = {.on_loaded = oneshot_on_loaded,
                                                 .on_ended = oneshot_on_ended};

/* ---- starting -------------------------------------------------------------------------------- */

/* Its files are there: its state is next, or its code. */
static void oneshot_begin(struct oneshot *o)
{
    oneshot_files_expect(o->session, &o->untouched);
    if (o->state != NULL)
        oneshot_load(o);
    else
        oneshot_run(o);
}

static void oneshot_on_given(void *context, const struct err *e)
{
    if (e != NULL)
        oneshot_fail(context, e);
    else
        oneshot_begin(context);
}

static void oneshot_on_started(void *context, struct session *session)
{
    struct oneshot *o = context;
    struct err e;
    o->session = session;
    session->user = &oneshot_user;
    session->user_context = o;
    if (session->state != SESSION_DEAD) {
        if (json_object_size(o->request.files) > 0)
            o->given = oneshot_given_put(session, o->request.files, oneshot_on_given, o);
        else
            oneshot_begin(o);
        return;
    }
    bool is_own_fault = session->ending.wish == DEATH_BY_SETUP;
    err_set(&e, is_own_fault ? ERR_INVALID : ERR_UNAVAILABLE, "%s", session->death.message);
    err_advise(&e, "%s", session->death.advice);
    oneshot_fail(o, &e);
}

static int oneshot_begin_session(struct oneshot *o, struct err *e)
{
    struct session *session;
    if (session_create(o->engine, &o->request.session, &session, e) < 0)
        return -1;
    if (!o->is_over)
        o->session = session;
    return 0;
}

static void oneshot_on_state(void *context, struct store_state *state, const struct store_saved *at,
                             const struct err *e)
{
    struct oneshot *o = context;
    struct err refused;
    (void)at;
    o->call = NULL;
    bool is_first = e != NULL && e->code == ERR_NOT_FOUND && o->request.state_name != NULL;
    if (e != NULL && !is_first) {
        oneshot_fail(o, e);
        return;
    }
    o->state = state;
    o->is_starting = true;
    int rc = oneshot_begin_session(o, &refused);
    o->is_starting = false;
    if (o->is_over)
        oneshot_free(o);
    else if (rc < 0)
        oneshot_fail(o, &refused);
}

/* What was left by an earlier run: with the request, or here under a name. */
static int oneshot_fetch_state(struct oneshot *o, struct err *e)
{
    const struct oneshot_request *r = &o->request;
    struct store *store = o->engine->store;
    bool needs_store =
        r->state != NULL || r->state_name != NULL || r->captures || json_object_size(r->files) > 0;
    if (needs_store && store == NULL)
        return err_set(e, ERR_UNAVAILABLE, "this daemon keeps no states and no files");
    if (r->state != NULL)
        o->call =
            store_decode(store, r->state, r->state_len, r->state_max_bytes, oneshot_on_state, o);
    else if (r->state_name != NULL)
        o->call = store_get_named(store, r->owner, r->state_name, oneshot_on_state, o);
    else
        return oneshot_begin_session(o, e);
    return 0;
}

static void oneshot_on_limit(void *context)
{
    struct oneshot *o = context;
    struct err e;
    err_set(&e, ERR_TIMEOUT, "the code was not run within %g seconds",
            o->request.limit_ms / 1000.0);
    err_advise(&e, "GET /health/detailed says what is ready; try again in a moment.");
    oneshot_fail(o, &e);
}

static struct oneshot *oneshot_new(struct engine *engine, const struct oneshot_request *request)
{
    struct oneshot *o = mem_alloc(sizeof(*o));
    o->engine = engine;
    o->sock = -1;
    o->request = *request;
    o->request.session.is_unlisted = true;
    o->request.session.has_state =
        request->state != NULL || request->state_name != NULL || request->captures;
    o->request.session.checkpoints = TIMELINE_OFF;
    o->request.session.durable = SAVING_OFF;
    o->request.session.on_started = oneshot_on_started;
    o->request.session.context = o;
    /* What is in them was cut to the budget; a value or a traceback is cut likewise. */
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        o->answer.streams[i] = BUF_INIT(SIZE_MAX / 4);
    o->answer.error = BUF_INIT(ONESHOT_ERROR_MAX);
    return o;
}

int oneshot_start(struct engine *engine, const struct oneshot_request *request,
                  struct oneshot **ret_oneshot, struct err *e)
{
    struct oneshot *o = oneshot_new(engine, request);
    o->is_starting = true;
    int rc = oneshot_fetch_state(o, e);
    o->is_starting = false;
    if (rc < 0 || o->is_over)
        oneshot_free(take_ptr(o));
    else if (request->limit_ms > 0) {
        o->limit = loop_timer_new(engine->loop, oneshot_on_limit, o);
        loop_timer_set(o->limit, request->limit_ms);
    }
    if (rc == 0)
        *ret_oneshot = o;
    return rc;
}

void oneshot_forget(struct oneshot *o)
{
    oneshot_end(o);
}
