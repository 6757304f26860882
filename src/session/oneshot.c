#include "session/oneshot.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "session/engine_state.h"
#include "store/store.h"
#include "wire/json.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

enum { ERROR_MAX = 64 * 1024, SAVE_MS = 60 * 1000, LOOK_MS = 1000, MESSAGE_MAX = 300 };

#define SERIALIZATION_FAILED "State serialization failed"

struct oneshot {
    struct oneshot_request request;
    struct engine *engine;
    struct session *session;  /* NULL before it was made and once it was deleted */
    struct loop_timer *limit; /* of the whole; NULL: there is none */
    struct loop_timer *step;  /* of loading or saving; NULL: neither */
    struct store_call *call;  /* of the store, under way; NULL: none */
    struct store_call *export;
    struct store_state *state; /* that it begins with, then that it leaves; NULL: none */
    bool is_loading;
    int sock; /* that the state comes from, until the store has it; -1 */
    struct loop_poll *poll;
    bool is_watched;             /* while it saves: the warden looks after its files */
    struct timespec untouched;   /* see oneshot_files_expect() */
    struct oneshot_files *files; /* being found; NULL: they are not */
    unsigned n_pending;          /* that the answer waits for: state, files */
    struct oneshot_answer answer;
    bool is_starting; /* somebody further up the stack has it in hand, and frees it if need be */
    bool is_over;
};

/* ---- its end -----------------------------------------------------------------------------------
 */

static void forget_call(struct store_call **call)
{
    if (*call != NULL)
        store_forget(take_ptr(*call));
}

static void stop_saving(struct oneshot *o)
{
    loop_timer_close(take_ptr(o->step), NULL);
    loop_poll_close(take_ptr(o->poll), NULL);
    if (o->sock >= 0)
        close(take_fd(&o->sock));
    forget_call(&o->call);
    forget_call(&o->export);
}

static void oneshot_free(struct oneshot *o)
{
    oneshot_free_answer(&o->answer);
    store_state_unref(o->state);
    free(o);
}

/* The caller is answered by now; what is left is to clean up. */
static void end(struct oneshot *o)
{
    o->is_over = true;
    stop_saving(o);
    oneshot_files_forget(take_ptr(o->files));
    loop_timer_close(take_ptr(o->limit), NULL);
    struct session *session = take_ptr(o->session);
    if (session != NULL) {
        session_forget_starter(session);
        session->oneshot = NULL;
        session_delete(session);
    }
    if (!o->is_starting)
        oneshot_free(o);
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

static void one_less(struct oneshot *o)
{
    if (--o->n_pending == 0)
        finish(o);
}

/* ---- files -------------------------------------------------------------------------------------
 */

static void on_files(void *context)
{
    struct oneshot *o = context;
    o->files = NULL;
    one_less(o);
}

static void find_files(struct oneshot *o)
{
    bool can_look = o->session->state != SESSION_DEAD && o->engine->store != NULL;
    if (!o->request.wants_files || !can_look || oneshot_files_are_none(o->session, &o->untouched))
        return;
    o->files = oneshot_files_find(o->session, o->request.files_ttl_ms, &o->answer, on_files, o);
    o->n_pending += o->files != NULL;
}

/* ---- the state it leaves -----------------------------------------------------------------------
 */

static void saved(struct oneshot *o)
{
    stop_saving(o);
    one_less(o);
}

/* The run itself succeeded; only that its state is not to be had. */
static void not_saved(struct oneshot *o, const char *why)
{
    struct buf *error = &o->answer.error;
    bool says_so = strncmp(why, SERIALIZATION_FAILED, sizeof(SERIALIZATION_FAILED) - 1) == 0;
    free(take_ptr(o->answer.state));
    buf_clear(error);
    buf_printf(error, "%s%s", says_so ? "" : SERIALIZATION_FAILED ": ", why);
    saved(o);
}

static void on_kept(void *context, const struct err *e)
{
    struct oneshot *o = context;
    o->call = NULL;
    if (e != NULL) {
        not_saved(o, e->message);
        return;
    }
    o->answer.kept_bytes = o->state->bytes;
    saved(o);
}

static void keep(struct oneshot *o)
{
    struct err e;
    if (o->request.state_name == NULL) {
        saved(o);
        return;
    }
    if (o->request.state_ttl_ms > 0)
        o->answer.kept_until_ms = clock_wall_ms() + o->request.state_ttl_ms;
    o->call = store_put_named(o->engine->store, o->request.state_name, o->state,
                              o->answer.kept_until_ms, on_kept, o, &e);
    if (o->call == NULL)
        not_saved(o, e.message);
}

static void on_encoded(void *context, const char *text, size_t len, const struct err *e)
{
    struct oneshot *o = context;
    o->call = NULL;
    if (e != NULL) {
        not_saved(o, e->message);
        return;
    }
    o->answer.state = mem_copy(text, len);
    o->answer.state_len = len;
    keep(o);
}

static void take_losses(struct oneshot *o)
{
    struct err ignored;
    _buf_ struct buf text = BUF_INIT(4 * MIB);
    buf_append_str(&text, "{\"lost\":");
    store_state_put_lost(o->state, 1000, &text);
    buf_append_char(&text, '}');
    _json_ json_t *object = NULL;
    if (json_read_object(buf_str(&text), text.len, &object, &ignored) < 0)
        return;
    json_t *loss;
    size_t i;
    json_array_foreach(json_object_get(object, "lost"), i, loss)
    {
        const char *advice = json_string_value(json_object_get(loss, "advice"));
        if (advice != NULL)
            oneshot_add_state_error(&o->answer, advice);
    }
}

static void on_ingested(void *context, struct store_state *state, const struct store_saved *at,
                        const struct err *e)
{
    struct oneshot *o = context;
    (void)at;
    o->call = NULL;
    if (e != NULL) {
        not_saved(o, e->message);
        return;
    }
    store_state_unref(o->state);
    o->state = state;
    take_losses(o);
    if (o->request.captures)
        o->call = store_encode(o->engine->store, state, on_encoded, o);
    else
        keep(o);
}

/* By its first byte a saver says that it is there; it dies with its jail and needs no number. */
static void on_first_byte(void *context, int events)
{
    struct oneshot *o = context;
    char byte;
    (void)events;
    ssize_t n = recv(o->sock, &byte, 1, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    loop_poll_close(take_ptr(o->poll), NULL);
    if (n != 1) {
        not_saved(o, "the interpreter could not write it");
        return;
    }
    struct store_limits limits = {.max_bytes = o->request.state_max_bytes, .deadline_ms = SAVE_MS};
    o->call = store_ingest(o->engine->store, take_fd(&o->sock), &limits, on_ingested, o);
}

/* What takes that long may fill the disk. */
static void on_slow_save(void *context)
{
    struct oneshot *o = context;
    if (o->is_watched) {
        not_saved(o, "it took longer than a minute");
        return;
    }
    o->is_watched = true;
    if (o->session->head != NULL)
        head_watch(o->session->head, true);
    loop_timer_set(o->step, SAVE_MS - LOOK_MS);
}

static void save(struct oneshot *o)
{
    struct err e;
    int socks[2];
    struct head_save order = {.id = 1,
                              .format = HEAD_SAVE_NAMESPACE,
                              .max_bytes = o->request.state_max_bytes,
                              .is_last = true};
    if (head_socketpair(socks, &e) < 0) {
        not_saved(o, e.message);
        return;
    }
    o->sock = socks[0];
    if (head_save(o->session->head, &order, socks[1], &e) < 0) {
        not_saved(o, e.message);
        return;
    }
    o->step = loop_timer_new(o->engine->loop, on_slow_save, o);
    loop_timer_set(o->step, LOOK_MS);
    o->poll = loop_poll_new(o->engine->loop, o->sock, on_first_byte, o);
    loop_poll_want(o->poll, LOOP_READ);
}

/* ---- running -----------------------------------------------------------------------------------
 */

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
    oneshot_take_streams(&o->answer, result);
    struct exec_wait wait = make_wait(o);
    if (session_input(o->session, 0, NULL, 0, &wait, &exec, &e) < 0)
        fail(o, &e);
}

static bool is_to_be_saved(const struct oneshot *o)
{
    bool is_wanted = o->request.captures || o->request.state_name != NULL;
    return is_wanted && o->answer.exit_code == 0 && o->session->state == SESSION_IDLE;
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
    oneshot_take_result(&o->answer, &o->request, result);
    o->n_pending = 1;
    find_files(o);
    if (is_to_be_saved(o))
        save(o);
    else
        one_less(o);
}

static void on_failed(void *context, const struct err *e)
{
    struct oneshot *o = context;
    if (!o->is_over)
        fail(o, e);
}

static const struct exec_listener exec_listener = {.on_result = on_result, .on_failed = on_failed};

static void run(struct oneshot *o)
{
    struct err e;
    struct exec *exec;
    struct exec_request request = {.code = o->request.code,
                                   .code_len = o->request.code_len,
                                   .timeout_ms = o->request.timeout_ms,
                                   .names = HEAD_NAMES_NONE,
                                   .is_script = o->request.session.runtime == &runtime_python,
                                   .wait = make_wait(o)};
    if (session_exec(o->session, &request, &exec, &e) < 0)
        fail(o, &e);
}

/* ---- the state it begins with ------------------------------------------------------------------
 */

static void not_loaded(struct oneshot *o, const char *why)
{
    o->is_loading = false;
    o->answer.exit_code = ONESHOT_FAILED;
    buf_printf(&o->answer.error, "State could not be loaded: %.*s", MESSAGE_MAX, why);
    finish(o);
}

static void on_load_limit(void *context)
{
    struct oneshot *o = context;
    oneshot_take_timeout(&o->answer, o->request.timeout_ms);
    finish(o);
}

static void on_exported(void *context, const struct store_exported *result, const struct err *e)
{
    struct oneshot *o = context;
    (void)result; /* what was damaged is told to the interpreter, which tells us */
    (void)e;      /* likewise: its stream ends before its end */
    o->export = NULL;
}

static void load(struct oneshot *o)
{
    struct err e;
    int socks[2];
    if (head_socketpair(socks, &e) < 0) {
        not_loaded(o, e.message);
        return;
    }
    if (head_load(o->session->head, 1, socks[1], &e) < 0) {
        close(socks[0]);
        not_loaded(o, e.message);
        return;
    }
    o->is_loading = true;
    o->step = loop_timer_new(o->engine->loop, on_load_limit, o);
    loop_timer_set(o->step, o->request.timeout_ms);
    o->export = store_export(o->engine->store, o->state, socks[0], 0, on_exported, o);
}

void oneshot_on_loaded(struct oneshot *o, const json_t *report)
{
    const char *message = json_string_value(json_object_get(report, "message"));
    json_t *loss;
    size_t i;
    o->is_loading = false;
    stop_saving(o);
    if (message != NULL) {
        not_loaded(o, message);
        return;
    }
    json_array_foreach(json_object_get(report, "lost"), i, loss)
    {
        const char *advice = json_string_value(json_object_get(loss, "advice"));
        oneshot_add_state_error(&o->answer, advice != NULL ? advice : "a variable was lost");
    }
    run(o);
}

/* A cell that ran has been told; who loads or saves has not. */
void oneshot_on_death(struct oneshot *o)
{
    const struct session *session = o->session;
    if (session == NULL || session->running != NULL || o->is_over)
        return;
    if (o->is_loading) {
        not_loaded(o, session->death.message);
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
        not_saved(o, session->death.message);
    one_less(o);
}

/* ---- starting ----------------------------------------------------------------------------------
 */

static void on_started(void *context, struct session *session)
{
    struct oneshot *o = context;
    struct err e;
    o->session = session;
    session->oneshot = o;
    if (session->state != SESSION_DEAD) {
        oneshot_files_expect(session, &o->untouched);
        if (o->state != NULL)
            load(o);
        else
            run(o);
        return;
    }
    bool is_own_fault = session->ending.wish == DEATH_BY_SETUP;
    err_set(&e, is_own_fault ? ERR_INVALID : ERR_UNAVAILABLE, "%s", session->death.message);
    err_advise(&e, "%s", session->death.advice);
    fail(o, &e);
}

static int begin_session(struct oneshot *o, struct err *e)
{
    struct session *session;
    if (session_create(o->engine, &o->request.session, &session, e) < 0)
        return -1;
    if (!o->is_over)
        o->session = session;
    return 0;
}

static void on_state(void *context, struct store_state *state, const struct store_saved *at,
                     const struct err *e)
{
    struct oneshot *o = context;
    struct err refused;
    (void)at;
    o->call = NULL;
    bool is_first = e != NULL && e->code == ERR_NOT_FOUND && o->request.state_name != NULL;
    if (e != NULL && !is_first) {
        fail(o, e);
        return;
    }
    o->state = state;
    o->is_starting = true;
    int rc = begin_session(o, &refused);
    o->is_starting = false;
    if (o->is_over)
        oneshot_free(o);
    else if (rc < 0)
        fail(o, &refused);
}

/* What was left by an earlier run: with the request, or here under a name. */
static int fetch_state(struct oneshot *o, struct err *e)
{
    const struct oneshot_request *r = &o->request;
    struct store *store = o->engine->store;
    bool needs_store = r->state != NULL || r->state_name != NULL || r->captures;
    if (needs_store && store == NULL)
        return err_set(e, ERR_UNAVAILABLE, "this daemon keeps no states");
    if (r->state != NULL)
        o->call = store_decode(store, r->state, r->state_len, r->state_max_bytes, on_state, o);
    else if (r->state_name != NULL)
        o->call = store_get_named(store, r->state_name, on_state, o);
    else
        return begin_session(o, e);
    return 0;
}

static void on_limit(void *context)
{
    struct oneshot *o = context;
    struct err e;
    err_set(&e, ERR_TIMEOUT, "the code was not run within %g seconds",
            o->request.limit_ms / 1000.0);
    err_advise(&e, "GET /health/detailed says what is ready; try again in a moment.");
    fail(o, &e);
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
    o->request.session.on_started = on_started;
    o->request.session.context = o;
    /* What is in them was cut to the budget; a value or a traceback is cut likewise. */
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        o->answer.streams[i] = BUF_INIT(SIZE_MAX / 4);
    o->answer.error = BUF_INIT(ERROR_MAX);
    return o;
}

int oneshot_start(struct engine *engine, const struct oneshot_request *request,
                  struct oneshot **ret_oneshot, struct err *e)
{
    struct oneshot *o = oneshot_new(engine, request);
    o->is_starting = true;
    int rc = fetch_state(o, e);
    o->is_starting = false;
    if (rc < 0 || o->is_over)
        oneshot_free(take_ptr(o));
    else if (request->limit_ms > 0) {
        o->limit = loop_timer_new(engine->loop, on_limit, o);
        loop_timer_set(o->limit, request->limit_ms);
    }
    if (rc == 0)
        *ret_oneshot = o;
    return rc;
}

void oneshot_abandon(struct oneshot *o)
{
    end(o);
}
