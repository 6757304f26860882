/* Interpreters that run tools in the jail of a session, in the daemon: who waits for them, their
 * start, their deadlines and their ends. Owns session->assistants. */
#include "session/assistants.h"

#include "loop/loop.h"
#include "runtime/head.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/session.h"

#include <sys/wait.h>

enum {
    ASSISTANT_START_MS = 150 * 1000, /* a zygote may have to load its libraries first */
    ASSISTANT_IDLE_MS = 10 * 60 * 1000,
};

struct assistant {
    struct list node; /* in the session's */
    struct session *session;
    struct head *head;
    struct loop_timer
        *timer;            /* until it is ready, until its tool is done, until it is not wanted */
    struct assist *assist; /* what it runs; NULL if nothing */
    bool is_ready;
};

/* A call of a tool. */
struct assist {
    struct list node; /* while it waits */
    struct session *session;
    struct assistant *assistant; /* that runs it; NULL while it waits */
    uint64_t id;
    const char *tool, *told; /* see struct assist_request */
    json_t *args;
    uint32_t timeout_ms;
    bool is_whole;
    const struct assist_listener *listener;
    void *context;
};

static void assistants_go_on(struct session *session);

/* ---- calls ----------------------------------------------------------------------------------- */

static void assist_free(struct assist *assist)
{
    if (assist->assistant != NULL)
        assist->assistant->assist = NULL;
    else
        assist->session->assistants.n_waiting--;
    list_remove(&assist->node);
    json_decref(assist->args);
    free(assist);
}

static void assist_fail(struct assist *assist, const struct err *e)
{
    const struct assist_listener *listener = assist->listener;
    void *context = assist->context;
    assist_free(assist);
    listener->on_failed(context, e);
}

/* ---- interpreters ---------------------------------------------------------------------------- */

static void assistant_free(struct assistant *assistant)
{
    struct session *session = assistant->session;
    session->assistants.n--;
    list_remove(&assistant->node);
    loop_timer_close(take_ptr(assistant->timer), NULL);
    pool_release(session->engine->pool, take_ptr(assistant->head));
    free(assistant);
}

/* It is gone: so is what it ran, and what waited for it to start. */
static void assistant_fail(struct assistant *assistant, const struct err *e)
{
    struct session *session = assistant->session;
    struct assistants *all = &session->assistants;
    struct assist *assist = assistant->assist;
    bool has_started = assistant->is_ready;
    if (assist == NULL && !has_started && all->n == 1 && !list_is_empty(&all->waiting))
        assist = CONTAINER_OF(list_first(&all->waiting), struct assist, node);
    assistant_free(assistant);
    if (assist != NULL) {
        assist->assistant = NULL;
        all->n_waiting += has_started; /* as if it waited: assist_free counts it */
        assist_fail(assist, e);
    }
    assistants_go_on(session);
}

static void assistant_on_due(void *context)
{
    struct assistant *assistant = context;
    const struct assist *assist = assistant->assist;
    struct err e;
    if (assistant->is_ready && assist == NULL) {
        assistant_free(assistant);
        return;
    }
    if (assist != NULL) {
        err_set(&e, ERR_TIMEOUT, "%s was not done within %g seconds and was ended", assist->told,
                assist->timeout_ms / 1000.0);
        err_advise(&e, "The session goes on. Ask the tool for less at a time.");
    } else {
        err_set(&e, ERR_TIMEOUT, "no interpreter for tools was ready within %d seconds",
                ASSISTANT_START_MS / 1000);
        err_advise(&e, "Try again in a moment.");
    }
    assistant_fail(assistant, &e);
}

static void assistant_on_ready(struct head *head, const json_t *notes)
{
    (void)notes;
    struct assistant *assistant = head->owner;
    assistant->is_ready = true;
    loop_timer_set(assistant->timer, ASSISTANT_IDLE_MS);
    assistants_go_on(assistant->session);
}

static void assistant_on_tool(struct head *head, json_t *answer)
{
    struct assistant *assistant = head->owner;
    struct assist *assist = assistant->assist;
    struct session *session = assistant->session;
    const struct assist_listener *listener = assist->listener;
    void *context = assist->context;
    struct err e;
    json_t *error = json_object_get(answer, "error");
    assist_free(assist);
    loop_timer_set(assistant->timer, ASSISTANT_IDLE_MS);
    if (error != NULL) {
        const char *name = json_string_value(json_object_get(error, "code"));
        enum err_code code = ERR_UPSTREAM;
        for (enum err_code c = ERR_INVALID; c < ERR_INTERNAL; c++)
            if (strcmp(err_code_name(c), name) == 0)
                code = c;
        err_set(&e, code, "%s", json_string_value(json_object_get(error, "message")));
        err_advise(&e, "%s", json_string_value(json_object_get(error, "advice")));
        listener->on_failed(context, &e);
    } else {
        listener->on_done(context, json_object_get(answer, "result"));
    }
    if (session->timer != NULL) /* the callback may have deleted the session */
        assistants_go_on(session);
}

static void assistant_on_end(struct head *head, const struct head_end_facts *facts)
{
    struct assistant *assistant = head->owner;
    struct err e;
    char why[320];
    if (facts->how == HEAD_BROKEN && facts->is_closed && head->has_process) {
        /* How it ends says more than that its channel closed. */
        head_signal(head, SIGKILL);
        return;
    }
    const char *tool = assistant->assist != NULL ? assistant->assist->told : "it";
    if (!assistant->is_ready)
        head_describe_end(facts, why, sizeof(why));
    else if (facts->how != HEAD_EXITED)
        snprintf(why, sizeof(why), "%s", facts->text);
    else if (facts->oom_kills > 0)
        snprintf(why, sizeof(why), "it ran out of memory");
    else if (WIFSIGNALED(facts->status))
        snprintf(why, sizeof(why), "signal %d (%s)", WTERMSIG(facts->status),
                 strsignal(WTERMSIG(facts->status)));
    else
        snprintf(why, sizeof(why), "exit code %d", WEXITSTATUS(facts->status));
    err_set(&e, assistant->is_ready ? ERR_UPSTREAM : ERR_UNAVAILABLE,
            assistant->is_ready ? "%s died while it ran: %s" : "%s could not start: %s",
            assistant->is_ready ? tool : "an interpreter for tools", why);
    err_advise(&e, "The session goes on; the next call starts another interpreter for tools.");
    assistant_fail(assistant, &e);
}

/* It runs no cell: a head that says so breaks before these are asked. */
static void assistant_on_denied(struct head *head, const char *call)
{
    (void)head;
    (void)call;
}

static void assistant_on_signaled(struct head *head)
{
    (void)head;
}

static void assistant_on_over_quota(struct head *head, uint64_t bytes, const char *why)
{
    (void)head;
    (void)bytes;
    (void)why;
}

static const struct head_listener assistant_listener = {
    .on_ready = assistant_on_ready,
    .on_tool = assistant_on_tool,
    .on_denied = assistant_on_denied,
    .on_signaled = assistant_on_signaled,
    .on_over_quota = assistant_on_over_quota,
    .on_end = assistant_on_end,
};

/* A session of Python has its tools where its libraries are; others have the usual ones. */
static int assistant_start(struct session *session, struct err *e)
{
    struct engine *engine = session->engine;
    struct assistant *assistant = mem_alloc(sizeof(*assistant));
    bool is_python = session->runtime == &runtime_python;
    struct pool_request wanted = {.runtime = &runtime_python,
                                  .profile = is_python ? session->profile : NULL,
                                  .join = session->room,
                                  .is_brief = true,
                                  .listener = &assistant_listener,
                                  .owner = assistant};
    assistant->session = session;
    if (pool_take(engine->pool, &wanted, &assistant->head, e) < 0) {
        free(assistant);
        return -1;
    }
    assistant->head->is_assistant = true;
    assistant->timer = loop_timer_new(engine->loop, assistant_on_due, assistant);
    loop_timer_set(assistant->timer, ASSISTANT_START_MS);
    list_append(&session->assistants.all, &assistant->node);
    session->assistants.n++;
    return 0;
}

/* ---- who runs what --------------------------------------------------------------------------- */

static struct assistant *assistants_find_idle(struct session *session, size_t *ret_starting)
{
    struct assistant *idle = NULL;
    *ret_starting = 0;
    LIST_EACH(&session->assistants.all, node) {
        struct assistant *assistant = CONTAINER_OF(node, struct assistant, node);
        *ret_starting += !assistant->is_ready;
        if (assistant->is_ready && assistant->assist == NULL && idle == NULL)
            idle = assistant;
    }
    return idle;
}

static int assistant_begin(struct assistant *assistant, struct assist *assist, struct err *e)
{
    const struct head_tool tool = {
        .id = assist->id, .name = assist->tool, .args = assist->args, .is_whole = assist->is_whole};
    if (head_call_tool(assistant->head, &tool, e) < 0)
        return -1;
    list_remove(&assist->node);
    assist->session->assistants.n_waiting--;
    assist->assistant = assistant;
    assistant->assist = assist;
    loop_timer_set(assistant->timer, assist->timeout_ms);
    return 0;
}

/* Level-triggered: whatever has changed, calls that wait meet interpreters that do not work. */
static void assistants_go_on(struct session *session)
{
    struct assistants *all = &session->assistants;
    struct err e;
    while (!list_is_empty(&all->waiting)) {
        size_t n_starting;
        struct assist *assist = CONTAINER_OF(list_first(&all->waiting), struct assist, node);
        struct assistant *idle = assistants_find_idle(session, &n_starting);
        if (idle != NULL) {
            if (assistant_begin(idle, assist, &e) == 0)
                continue;
            assist_fail(assist, &e);
            assistant_free(idle);
        } else if (all->n < ASSISTANTS_MAX && all->n_waiting > n_starting) {
            if (assistant_start(session, &e) == 0)
                continue;
            if (all->n > 0)
                return; /* those that are there will do it */
            assist_fail(assist, &e);
        } else {
            return;
        }
    }
}

static int assistants_refuse(const struct session *session, struct err *e)
{
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->head == NULL || session->room == NULL || session->restore != NULL ||
        session->state == SESSION_STARTING || session->ending.wish != DEATH_UNWISHED) {
        err_set(e, ERR_CONFLICT, "the session has no interpreter now: it is %s",
                session_state_name(session->state));
        return err_advise(e, "Run a cell first, or wait until it is idle.");
    }
    if (session->assistants.n_waiting < ASSISTANTS_WAITING_MAX)
        return 0;
    err_set(e, ERR_LIMIT, "%d calls of tools wait in this session", ASSISTANTS_WAITING_MAX);
    return err_advise(e, "Wait for their results before you call more.");
}

struct assist *session_assist(struct session *session, const struct assist_request *request,
                              const struct assist_listener *listener, void *context, struct err *e)
{
    struct assistants *all = &session->assistants;
    if (assistants_refuse(session, e) < 0)
        return NULL;
    session_restart_idle(session);
    struct assist *assist = mem_alloc(sizeof(*assist));
    *assist = (struct assist){.session = session,
                              .id = ++all->last_id,
                              .tool = request->tool,
                              .told = request->told != NULL ? request->told : request->tool,
                              .args = json_incref(request->args),
                              .timeout_ms = request->timeout_ms,
                              .is_whole = request->is_whole,
                              .listener = listener,
                              .context = context};
    size_t n_starting;
    struct assistant *idle = assistants_find_idle(session, &n_starting);
    list_append(&all->waiting, &assist->node);
    all->n_waiting++;
    /* What fails at once is told at once, and not by the listener. */
    bool can_start = idle == NULL && all->n < ASSISTANTS_MAX && all->n_waiting > n_starting;
    if ((idle != NULL && assistant_begin(idle, assist, e) < 0) ||
        (can_start && assistant_start(session, e) < 0 && all->n == 0)) {
        assist_free(assist);
        return NULL;
    }
    return assist;
}

void assist_forget(struct assist *assist)
{
    struct session *session = assist->session;
    struct assistant *assistant = assist->assistant;
    assist_free(assist);
    if (assistant != NULL)
        assistant_free(assistant);
    assistants_go_on(session);
}

/* ---- life ------------------------------------------------------------------------------------ */

void assistants_init(struct session *session)
{
    list_init(&session->assistants.all);
    list_init(&session->assistants.waiting);
}

bool assistants_are_busy(const struct session *session)
{
    const struct assistants *all = &session->assistants;
    LIST_EACH(&all->all, node)
        if (CONTAINER_OF(node, struct assistant, node)->assist != NULL)
            return true;
    return all->n_waiting > 0;
}

void assistants_end(struct session *session, const char *why)
{
    struct assistants *all = &session->assistants;
    struct err e;
    err_set(&e, ERR_CONFLICT, "the tool was ended: %s", why);
    err_advise(&e, "Call it again when the session is there.");
    struct list calls;
    list_init(&calls);
    list_move_all(&all->waiting, &calls);
    while (!list_is_empty(&all->all)) {
        struct assistant *assistant = CONTAINER_OF(list_first(&all->all), struct assistant, node);
        struct assist *assist = assistant->assist;
        if (assist != NULL) {
            assist->assistant = NULL;
            assistant->assist = NULL;
            all->n_waiting++;
            list_append(&calls, &assist->node);
        }
        assistant_free(assistant);
    }
    while (!list_is_empty(&calls))
        assist_fail(CONTAINER_OF(list_first(&calls), struct assist, node), &e);
}
