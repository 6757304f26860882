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

static struct declared declared_make(const struct session *session, bool is_busy)
{
    /* What was saved last is what there is: then it is known what could not be saved. */
    const struct saving *saving = &session->saving;
    bool is_saved = saving->is_current && saving->through == session->ended_exec &&
                    !saving_is_under_way(session) && session->ended_exec > 0;
    return (struct declared){.told = session->declared.told,
                             .lost = is_busy || !is_saved ? NULL : saving->lost,
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

static void declared_on_state(void *context, struct store_state *state,
                              const struct store_saved *at, const struct err *e)
{
    struct declared_wait *wait = context;
    struct err absent, ignored;
    size_t len = 0;
    const char *overview = state != NULL ? store_state_overview(state, &len) : NULL;
    _json_ json_t *told = NULL;
    wait->call = NULL;
    if (overview == NULL || json_read_object(overview, len, &told, &ignored) < 0 ||
        declarations_check(told, &ignored) < 0) {
        bool is_absent = e == NULL || e->code == ERR_NOT_FOUND;
        err_set(&absent, ERR_CONFLICT, "the session is suspended: it has no interpreter to ask");
        err_advise(&absent, "Run a cell in it first, if only `pass`.");
        declared_fail(wait, is_absent ? &absent : e);
        store_state_unref(state);
        return;
    }
    _buf_ struct buf text = BUF_INIT(MIB);
    store_state_put_lost(state, DECLARED_LOST_MAX, &text);
    _json_ json_t *lost = json_loadb(text.data, text.len, 0, NULL);
    if (lost == NULL)
        lost = json_array();
    struct declared declared = {.told = told, .lost = lost, .as_of = at->through};
    const struct declared_listener *listener = wait->listener;
    void *caller = wait->context;
    store_state_unref(state);
    declared_forget(wait);
    listener->on_declared(caller, &declared);
}

/* ---- asking ---------------------------------------------------------------------------------- */

int session_declared(struct session *session, const struct declared_listener *listener,
                     void *context, struct declared_wait **ret_wait, struct err *e)
{
    *ret_wait = NULL;
    session_restart_idle(session);
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    bool has_told_all =
        session->declared.told != NULL && session->declared.as_of == session->ended_exec;
    if (session->state == SESSION_SUSPENDED && !has_told_all) {
        *ret_wait = declared_begin_wait(session, listener, context);
        (*ret_wait)->call = store_get_state(session->engine->store, session->id, STORE_RESUME,
                                            declared_on_state, *ret_wait);
        return 0;
    }
    /* Also between a cell's answer and the moment at which its last interrupt has been heard. */
    bool is_settling = session->state == SESSION_BUSY && session->running == NULL &&
                       session->head->state == HEAD_IDLE;
    bool can_be_asked = session->state == SESSION_IDLE || is_settling;
    if (!can_be_asked || session->ending.wish != DEATH_UNWISHED) {
        /* What it told before, while its interpreter cannot be asked. */
        if (session->declared.told == NULL)
            return declared_refuse_busy(e);
        struct declared declared = declared_make(session, session->state != SESSION_SUSPENDED);
        listener->on_declared(context, &declared);
        return 0;
    }
    if (!session->head->is_asked_declared && head_ask_declarations(session->head, e) < 0)
        return -1;
    *ret_wait = declared_begin_wait(session, listener, context);
    return 0;
}
