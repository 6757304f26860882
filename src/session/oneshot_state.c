/* A run's variables: those that it begins with and those that it leaves, as streams between its
 * interpreter and the store. */
#include "base/channel.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/oneshot_parts.h"
#include "wire/json.h"

#include <errno.h>

enum { ONESHOT_STATE_SAVE_MS = 60 * 1000, ONESHOT_STATE_LOOK_MS = 1000, MESSAGE_MAX = 300 };

#define SERIALIZATION_FAILED "State serialization failed"

static void oneshot_forget_call(struct store_call **call)
{
    if (*call != NULL)
        store_forget(take_ptr(*call));
}

void oneshot_stop_state(struct oneshot *o)
{
    loop_timer_close(take_ptr(o->step), NULL);
    loop_poll_close(take_ptr(o->poll), NULL);
    if (o->sock >= 0)
        channel_close(take_fd(&o->sock));
    oneshot_forget_call(&o->call);
    oneshot_forget_call(&o->export);
}

/* ---- the state it begins with ---------------------------------------------------------------- */

void oneshot_not_loaded(struct oneshot *o, const char *why)
{
    o->is_loading = false;
    o->answer.exit_code = ONESHOT_FAILED;
    buf_printf(&o->answer.error, "State could not be loaded: %.*s", MESSAGE_MAX, why);
    oneshot_finish(o);
}

static void oneshot_on_load_limit(void *context)
{
    struct oneshot *o = context;
    oneshot_take_timeout(&o->answer, o->request.timeout_ms);
    oneshot_finish(o);
}

static void oneshot_on_exported(void *context, const struct store_exported *result,
                                const struct err *e)
{
    struct oneshot *o = context;
    (void)result; /* what was damaged is told to the interpreter, which tells us */
    (void)e;      /* likewise: its stream ends before its end */
    o->export = NULL;
}

void oneshot_load(struct oneshot *o)
{
    struct err e;
    int socks[2];
    if (head_socketpair(socks, &e) < 0) {
        oneshot_not_loaded(o, e.message);
        return;
    }
    if (head_load(o->session->head, 1, socks[1], &e) < 0) {
        channel_close(socks[0]);
        oneshot_not_loaded(o, e.message);
        return;
    }
    o->is_loading = true;
    o->step = loop_timer_new(o->engine->loop, oneshot_on_load_limit, o);
    loop_timer_set(o->step, o->request.timeout_ms);
    o->export = store_export(o->engine->store, o->state, socks[0], 0, oneshot_on_exported, o);
}

void oneshot_on_loaded(void *context, const json_t *report)
{
    struct oneshot *o = context;
    const char *message = json_string_value(json_object_get(report, "message"));
    json_t *loss;
    size_t i;
    o->is_loading = false;
    oneshot_stop_state(o);
    if (message != NULL) {
        oneshot_not_loaded(o, message);
        return;
    }
    json_array_foreach(json_object_get(report, "lost"), i, loss) {
        const char *advice = json_string_value(json_object_get(loss, "advice"));
        oneshot_add_state_error(&o->answer, advice != NULL ? advice : "a variable was lost");
    }
    oneshot_run(o);
}

/* ---- the state it leaves --------------------------------------------------------------------- */

static void oneshot_saved(struct oneshot *o)
{
    oneshot_stop_state(o);
    oneshot_one_less(o);
}

void oneshot_not_saved(struct oneshot *o, const char *why)
{
    struct buf *error = &o->answer.error;
    bool says_so = strncmp(why, SERIALIZATION_FAILED, sizeof(SERIALIZATION_FAILED) - 1) == 0;
    free(take_ptr(o->answer.state));
    buf_clear(error);
    buf_printf(error, "%s%s", says_so ? "" : SERIALIZATION_FAILED ": ", why);
    oneshot_saved(o);
}

static void oneshot_on_kept(void *context, const struct err *e)
{
    struct oneshot *o = context;
    o->call = NULL;
    if (e != NULL) {
        oneshot_not_saved(o, e->message);
        return;
    }
    o->answer.kept_bytes = o->state->bytes;
    oneshot_saved(o);
}

static void oneshot_keep(struct oneshot *o)
{
    struct err e;
    if (o->request.state_name == NULL) {
        oneshot_saved(o);
        return;
    }
    if (o->request.state_ttl_ms > 0)
        o->answer.kept_until_ms = clock_wall_ms() + o->request.state_ttl_ms;
    o->call = store_put_named(o->engine->store, o->request.owner, o->request.state_name, o->state,
                              o->answer.kept_until_ms, oneshot_on_kept, o, &e);
    if (o->call == NULL)
        oneshot_not_saved(o, e.message);
}

static void oneshot_on_encoded(void *context, const char *text, size_t len, const struct err *e)
{
    struct oneshot *o = context;
    o->call = NULL;
    if (e != NULL) {
        oneshot_not_saved(o, e->message);
        return;
    }
    o->answer.state = mem_copy(text, len);
    o->answer.state_len = len;
    oneshot_keep(o);
}

static void oneshot_take_losses(struct oneshot *o)
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
    json_array_foreach(json_object_get(object, "lost"), i, loss) {
        const char *advice = json_string_value(json_object_get(loss, "advice"));
        if (advice != NULL)
            oneshot_add_state_error(&o->answer, advice);
    }
}

static void oneshot_on_ingested(void *context, struct store_state *state,
                                const struct store_saved *at, const struct err *e)
{
    struct oneshot *o = context;
    (void)at;
    o->call = NULL;
    if (e != NULL) {
        oneshot_not_saved(o, e->message);
        return;
    }
    store_state_unref(o->state);
    o->state = state;
    oneshot_take_losses(o);
    if (o->request.captures)
        o->call = store_encode(o->engine->store, state, oneshot_on_encoded, o);
    else
        oneshot_keep(o);
}

/* By its first byte a saver says that it is there; it dies with its jail and needs no number. */
static void oneshot_on_first_byte(void *context, int events)
{
    struct oneshot *o = context;
    char byte;
    (void)events;
    ssize_t n = channel_recv(o->sock, &byte, 1, NULL);
    if (n == -EAGAIN)
        return;
    loop_poll_close(take_ptr(o->poll), NULL);
    if (n != 1) {
        oneshot_not_saved(o, n == -EBADMSG ? "a descriptor came in place of it"
                                           : "the interpreter could not write it");
        return;
    }
    struct store_limits limits = {.max_bytes = o->request.state_max_bytes,
                                  .deadline_ms = ONESHOT_STATE_SAVE_MS};
    o->call = store_ingest(o->engine->store, take_fd(&o->sock), &limits, oneshot_on_ingested, o);
}

/* What takes that long may fill the disk. */
static void oneshot_on_slow_save(void *context)
{
    struct oneshot *o = context;
    if (o->is_watched) {
        oneshot_not_saved(o, "it took longer than a minute");
        return;
    }
    o->is_watched = true;
    if (o->session->head != NULL)
        head_watch(o->session->head, true);
    loop_timer_set(o->step, ONESHOT_STATE_SAVE_MS - ONESHOT_STATE_LOOK_MS);
}

void oneshot_save(struct oneshot *o)
{
    struct err e;
    int socks[2];
    struct head_save order = {.id = 1,
                              .format = HEAD_SAVE_NAMESPACE,
                              .max_bytes = o->request.state_max_bytes,
                              .is_last = true};
    if (head_socketpair(socks, &e) < 0) {
        oneshot_not_saved(o, e.message);
        return;
    }
    o->sock = socks[0];
    if (head_save(o->session->head, &order, socks[1], &e) < 0) {
        oneshot_not_saved(o, e.message);
        return;
    }
    o->step = loop_timer_new(o->engine->loop, oneshot_on_slow_save, o);
    loop_timer_set(o->step, ONESHOT_STATE_LOOK_MS);
    o->poll = loop_poll_new(o->engine->loop, o->sock, oneshot_on_first_byte, o);
    if (o->poll != NULL)
        loop_poll_want(o->poll, LOOP_READ);
    else
        oneshot_not_saved(o, "its socket cannot be watched");
}
