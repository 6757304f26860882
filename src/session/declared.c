/* What a session's code declared, in the daemon. Owns session->declared. */
#include "session/declared.h"

#include "base/buf.h"
#include "loop/loop.h"
#include "runtime/declarations.h"
#include "runtime/head.h"
#include "session/engine_state.h"
#include "session/session.h"
#include "wire/json.h"

/* A thread of the user's may keep an idle interpreter from answering. */
enum { DECLARED_PATIENCE_MS = 5000, DECLARED_LOST_MAX = 100 };

struct declared_wait {
    struct list node; /* in the session's list */
    struct session *session;
    const struct declared_listener *listener;
    void *context;
    struct loop_timer *timer;
    struct store_call *call; /* of a suspended session: what was saved is read; or NULL */
};

void declared_forget(struct declared_wait *wait)
{
    list_remove(&wait->node);
    loop_timer_close(take_ptr(wait->timer), NULL);
    if (wait->call != NULL)
        store_forget(wait->call);
    free(wait);
}

static int declared_refuse_busy(struct err *e)
{
    err_set(e, ERR_CONFLICT, "the session is busy and cannot tell what it declared");
    return err_advise(e, "Ask again when its cell has ended.");
}

static void declared_fail(struct declared_wait *wait, const struct err *e)
{
    const struct declared_listener *listener = wait->listener;
    void *context = wait->context;
    declared_forget(wait);
    listener->on_failed(context, e);
}

static void declared_on_impatience(void *context)
{
    struct err e;
    declared_refuse_busy(&e);
    declared_fail(context, &e);
}

/* NULL unless what was saved last is what there is. */
static const json_t *declared_saved_losses(const struct session *session)
{
    const struct saving *saving = &session->saving;
    bool is_of_now = saving->is_current && saving->through == session->ended_exec &&
                     !saving_is_under_way(session) && session->ended_exec > 0;
    return is_of_now ? saving->lost : NULL;
}

static struct declared declared_make(const struct session *session, bool is_busy)
{
    return (struct declared){.told = session->declared.told,
                             .lost = is_busy ? NULL : declared_saved_losses(session),
                             .as_of = session->declared.as_of,
                             .is_busy = is_busy};
}

void declared_on_told(struct session *session, json_t *told)
{
    json_decref(session->declared.told);
    session->declared.told = json_incref(told);
    session->declared.as_of = session->ended_exec;
    while (!list_is_empty(&session->declared.waits)) {
        struct declared_wait *wait =
            CONTAINER_OF(list_first(&session->declared.waits), struct declared_wait, node);
        const struct declared_listener *listener = wait->listener;
        void *context = wait->context;
        struct declared declared = declared_make(session, false);
        declared_forget(wait);
        listener->on_declared(context, &declared);
    }
}

void declared_end_all(struct session *session)
{
    struct err e;
    session_refuse_if_dead(session, &e);
    while (!list_is_empty(&session->declared.waits))
        declared_fail(
            CONTAINER_OF(list_first(&session->declared.waits), struct declared_wait, node), &e);
    json_decref(take_ptr(session->declared.told));
}

static int declared_refuse_suspended(struct err *e)
{
    err_set(e, ERR_CONFLICT, "the session is suspended: it has no interpreter to ask");
    return err_advise(e, "Run a cell in it first, if only `pass`.");
}

/* What it told before, while its interpreter cannot be asked. */
static int declared_tell_again(const struct session *session,
                               const struct declared_listener *listener, void *context,
                               struct err *e)
{
    if (session->declared.told == NULL)
        return declared_refuse_busy(e);
    struct declared declared = declared_make(session, session->state != SESSION_SUSPENDED);
    listener->on_declared(context, &declared);
    return 0;
}

static struct declared_wait *declared_begin_wait(struct session *session,
                                                 const struct declared_listener *listener,
                                                 void *context)
{
    struct declared_wait *wait = mem_alloc(sizeof(*wait));
    wait->session = session;
    wait->listener = listener;
    wait->context = context;
    wait->timer = loop_timer_new(session->engine->loop, declared_on_impatience, wait);
    loop_timer_set(wait->timer, DECLARED_PATIENCE_MS);
    list_append(&session->declared.waits, &wait->node);
    return wait;
}

/* ---- a suspended one: from what was saved ---------------------------------------------------- */

static json_t *declared_read_told(const struct store_state *state)
{
    struct err ignored;
    size_t len = 0;
    const char *text = store_state_overview(state, &len);
    _json_ json_t *told = NULL;
    if (text == NULL || json_read_object(text, len, &told, &ignored) < 0 ||
        declarations_check(told, &ignored) < 0)
        return NULL;
    return take_ptr(told);
}

static json_t *declared_read_lost(const struct store_state *state)
{
    _buf_ struct buf text = BUF_INIT(MIB);
    store_state_put_lost(state, DECLARED_LOST_MAX, &text);
    json_t *lost = json_loadb(text.data, text.len, 0, NULL);
    return lost != NULL ? lost : json_array();
}

static void declared_on_state(void *context, struct store_state *state,
                              const struct store_saved *at, const struct err *e)
{
    struct declared_wait *wait = context;
    wait->call = NULL;
    _json_ json_t *told = state != NULL ? declared_read_told(state) : NULL;
    struct err absent;
    if (told == NULL) {
        if (e == NULL || e->code == ERR_NOT_FOUND)
            declared_refuse_suspended(&absent);
        declared_fail(wait, e == NULL || e->code == ERR_NOT_FOUND ? &absent : e);
        store_state_unref(state);
        return;
    }
    _json_ json_t *lost = declared_read_lost(state);
    struct declared declared = {.told = told, .lost = lost, .as_of = at->through};
    const struct declared_listener *listener = wait->listener;
    void *caller = wait->context;
    store_state_unref(state);
    declared_forget(wait);
    listener->on_declared(caller, &declared);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool declared_has_told_all(const struct session *session)
{
    return session->declared.told != NULL && session->declared.as_of == session->ended_exec;
}

/* Also between a cell's answer and the moment at which its last interrupt has been heard. */
static bool declared_can_be_asked(const struct session *session)
{
    bool is_settling = session->state == SESSION_BUSY && session->running == NULL &&
                       session->head->state == HEAD_IDLE;
    return session->state == SESSION_IDLE || is_settling;
}

int session_declared(struct session *session, const struct declared_listener *listener,
                     void *context, struct declared_wait **ret_wait, struct err *e)
{
    *ret_wait = NULL;
    session_touch(session);
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->state == SESSION_SUSPENDED && !declared_has_told_all(session)) {
        *ret_wait = declared_begin_wait(session, listener, context);
        (*ret_wait)->call = store_get_state(session->engine->store, session->id, STORE_RESUME,
                                            declared_on_state, *ret_wait);
        return 0;
    }
    if (!declared_can_be_asked(session) || session->ending.wish != DEATH_UNWISHED)
        return declared_tell_again(session, listener, context, e);
    if (!session->head->is_asked_declared && head_ask_declarations(session->head, e) < 0)
        return -1;
    *ret_wait = declared_begin_wait(session, listener, context);
    return 0;
}
