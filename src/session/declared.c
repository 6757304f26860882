#include "session/declared.h"

#include "loop/loop.h"
#include "session/engine_state.h"

/* A thread of the user's may keep an idle interpreter from answering. */
enum { PATIENCE_MS = 5000 };

struct declared_wait {
    struct list node; /* in the session's list */
    struct session *session;
    const struct declared_listener *listener;
    void *context;
    struct loop_timer *timer;
};

void declared_leave(struct declared_wait *wait)
{
    list_remove(&wait->node);
    loop_timer_close(take_ptr(wait->timer), NULL);
    free(wait);
}

static int refuse_busy(struct err *e)
{
    err_set(e, ERR_CONFLICT, "the session is busy and cannot tell what it declared");
    return err_advise(e, "Ask again when its cell has ended.");
}

static void fail(struct declared_wait *wait, const struct err *e)
{
    const struct declared_listener *listener = wait->listener;
    void *context = wait->context;
    declared_leave(wait);
    listener->on_failed(context, e);
}

static void on_impatience(void *context)
{
    struct err e;
    refuse_busy(&e);
    fail(context, &e);
}

/* NULL unless what was saved last is what there is. */
static const json_t *saved_losses(const struct session *session)
{
    const struct saving *saving = &session->saving;
    bool is_of_now = saving->is_current && saving->through == session->ended_exec &&
                     !saving->is_under_way && session->ended_exec > 0;
    return is_of_now ? saving->lost : NULL;
}

static struct declared make(const struct session *session, bool is_busy)
{
    return (struct declared){.told = session->declared,
                             .lost = is_busy ? NULL : saved_losses(session),
                             .as_of = session->declared_as_of,
                             .is_busy = is_busy};
}

void declared_on_told(struct session *session, json_t *told)
{
    json_decref(session->declared);
    session->declared = json_incref(told);
    session->declared_as_of = session->ended_exec;
    while (!list_is_empty(&session->declared_waits)) {
        struct declared_wait *wait =
            CONTAINER_OF(list_first(&session->declared_waits), struct declared_wait, node);
        const struct declared_listener *listener = wait->listener;
        void *context = wait->context;
        struct declared declared = make(session, false);
        declared_leave(wait);
        listener->on_declared(context, &declared);
    }
}

void declared_end_all(struct session *session)
{
    struct err e;
    exec_refuse_if_dead(session, &e);
    while (!list_is_empty(&session->declared_waits))
        fail(CONTAINER_OF(list_first(&session->declared_waits), struct declared_wait, node), &e);
    json_decref(take_ptr(session->declared));
}

static int refuse_suspended(struct err *e)
{
    err_set(e, ERR_CONFLICT, "the session is suspended: it has no interpreter to ask");
    return err_advise(e, "Run a cell in it first, if only `pass`.");
}

/* What it told before, while its interpreter cannot be asked. */
static int tell_again(const struct session *session, const struct declared_listener *listener,
                      void *context, struct err *e)
{
    bool is_suspended = session->state == SESSION_SUSPENDED;
    bool is_of_now = session->declared_as_of == session->ended_exec;
    if (is_suspended && (session->declared == NULL || !is_of_now))
        return refuse_suspended(e);
    if (session->declared == NULL)
        return refuse_busy(e);
    struct declared declared = make(session, !is_suspended);
    listener->on_declared(context, &declared);
    return 0;
}

int session_declared(struct session *session, const struct declared_listener *listener,
                     void *context, struct declared_wait **ret_wait, struct err *e)
{
    *ret_wait = NULL;
    session_touch(session);
    if (exec_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->state != SESSION_IDLE || session->ending.wish != DEATH_UNWISHED)
        return tell_again(session, listener, context, e);
    if (!session->head->is_asked_declared && head_ask_declarations(session->head, e) < 0)
        return -1;
    struct declared_wait *wait = mem_alloc(sizeof(*wait));
    wait->session = session;
    wait->listener = listener;
    wait->context = context;
    wait->timer = loop_timer_new(session->engine->loop, on_impatience, wait);
    loop_timer_set(wait->timer, PATIENCE_MS);
    list_append(&session->declared_waits, &wait->node);
    *ret_wait = wait;
    return 0;
}
