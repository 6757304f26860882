/* What an interpreter makes of a text, in the daemon. Owns session->judging. */
#include "session/judging.h"

#include "loop/loop.h"
#include "session/engine_state.h"

/* A thread of the user's may keep an idle interpreter from answering. */
enum { JUDGING_PATIENCE_MS = 2000, CODE_MAX = 64 * 1024 };

struct judging {
    struct session *session;
    judging_fn fn;
    void *context;
    struct loop_timer *timer;
};

static const struct head_judgement unsure = {.status = HEAD_UNSURE};

void judging_forget(struct judging *judging)
{
    judging->session->judging = NULL;
    loop_timer_close(take_ptr(judging->timer), NULL);
    free(judging);
}

static void judging_tell(struct judging *judging, const struct head_judgement *told,
                         const struct err *e)
{
    judging_fn fn = judging->fn;
    void *context = judging->context;
    judging_forget(judging);
    fn(context, told, e);
}

static void judging_on_impatience(void *context)
{
    judging_tell(context, &unsure, NULL);
}

void judging_on_told(struct session *session, const struct head_judgement *told)
{
    if (session->judging != NULL)
        judging_tell(session->judging, told, NULL);
}

void judging_end(struct session *session)
{
    struct err e;
    session_refuse_if_dead(session, &e);
    if (session->judging != NULL)
        judging_tell(session->judging, NULL, &e);
}

int session_judge(struct session *session, const struct head_question *question, judging_fn fn,
                  void *context, struct judging **ret, struct err *e)
{
    *ret = NULL;
    session_restart_idle(session);
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    bool is_settling = session->state == SESSION_BUSY && session->running == NULL &&
                       session->head->state == HEAD_IDLE;
    /* A longer text does not fit into the control socket at once, and a cell may come right behind.
     */
    bool is_possible = (session->state == SESSION_IDLE || is_settling) &&
                       question->len <= CODE_MAX && session->ending.wish == DEATH_UNWISHED;
    if (!is_possible || session->head->judging != HEAD_ASKED_NOTHING || session->judging != NULL) {
        fn(context, &unsure, NULL);
        return 0;
    }
    if (head_judge(session->head, question, e) < 0)
        return -1;
    struct judging *judging = mem_alloc(sizeof(*judging));
    *judging = (struct judging){.session = session, .fn = fn, .context = context};
    judging->timer = loop_timer_new(session->engine->loop, judging_on_impatience, judging);
    loop_timer_set(judging->timer, JUDGING_PATIENCE_MS);
    session->judging = *ret = judging;
    return 0;
}
