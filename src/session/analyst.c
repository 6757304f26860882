/* The interpreter that parses code, in the daemon: who waits for it, its start, its deadlines and
 * its ends. Owns engine->analyst. */
#include "session/analyst.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/head.h"
#include "runtime/pool.h"
#include "session/engine_state.h"

#include <signal.h>

enum {
    ANALYST_START_MS = 150 * 1000, /* a zygote may have to load its libraries first */
    ANALYST_PARSE_MS = 1000,
    ANALYST_IDLE_MS = 10 * 60 * 1000,
    ANALYST_PARSES_MAX = 1000, /* then another takes its place */
};

/* Room for the tree of ANALYST_CODE_MAX bytes of code as people write it. */
static const struct jail_limits analyst_limits = {
    .memory_mb = 192, .cpu_percent = 100, .pids = 8, .disk_mb = 1};

struct analyst {
    struct engine *engine;
    struct list waiting; /* of struct analysis, the oldest first: it works on the first one */
    size_t n_waiting;
    struct head *head;        /* NULL if there is none now */
    struct loop_timer *timer; /* until it is ready, has answered, or is not wanted */
    bool is_ready;
    bool is_asked;     /* it works on the first question */
    uint64_t n_parses; /* of this interpreter */
};

struct analysis {
    struct list node; /* in the analyst's */
    struct analyst *analyst;
    const char *function;
    json_t *args;
    const struct analysis_listener *listener; /* NULL if nobody waits any more */
    void *context;
};

static void analyst_go_on(struct analyst *analyst);

/* ---- questions ------------------------------------------------------------------------------- */

static struct analysis *analyst_first(struct analyst *analyst)
{
    struct list *first = list_first(&analyst->waiting);
    return first != NULL ? CONTAINER_OF(first, struct analysis, node) : NULL;
}

static void analysis_free(struct analysis *analysis)
{
    list_remove(&analysis->node);
    analysis->analyst->n_waiting--;
    json_decref(analysis->args);
    free(analysis);
}

/* Of the first question; one of both is NULL. */
static void analyst_tell(struct analyst *analyst, json_t *told, const struct err *e)
{
    struct analysis *analysis = analyst_first(analyst);
    const struct analysis_listener *listener = analysis->listener;
    void *context = analysis->context;
    analyst->is_asked = false;
    analysis_free(analysis);
    if (listener == NULL)
        return;
    if (e != NULL)
        listener->on_failed(context, e);
    else
        listener->on_done(context, told);
}

/* ---- the interpreter ------------------------------------------------------------------------- */

static void analyst_end(struct analyst *analyst)
{
    loop_timer_clear(analyst->timer);
    pool_release(analyst->engine->pool, take_ptr(analyst->head));
    analyst->is_ready = false;
    analyst->n_parses = 0;
}

/* The question at hand goes with it, those that wait have another. */
static void analyst_fail(struct analyst *analyst, const struct err *e)
{
    analyst_end(analyst);
    if (analyst_first(analyst) != NULL)
        analyst_tell(analyst, NULL, e);
    analyst_go_on(analyst);
}

static void analyst_on_due(void *context)
{
    struct analyst *analyst = context;
    struct err e;
    if (analyst->is_ready && !analyst->is_asked) {
        analyst_end(analyst);
        return;
    }
    if (analyst->is_ready) {
        err_set(&e, ERR_LIMIT, "the code was not parsed within a second");
        err_advise(&e, "Make it shorter or simpler, or send it without structured mode.");
    } else {
        err_set(&e, ERR_TIMEOUT, "no interpreter was ready to parse the code");
        err_advise(&e, "Try again in a moment.");
    }
    analyst_fail(analyst, &e);
}

static void analyst_on_ready(struct head *head, const json_t *notes)
{
    struct analyst *analyst = head->owner;
    (void)notes;
    analyst->is_ready = true;
    analyst_go_on(analyst);
}

static void analyst_on_tool(struct head *head, json_t *answer)
{
    struct analyst *analyst = head->owner;
    const json_t *error = json_object_get(answer, "error");
    struct err e;
    if (error != NULL) {
        err_set(&e, ERR_LIMIT, "the code could not be parsed: %s",
                json_string_value(json_object_get(error, "message")));
        err_advise(&e, "Make it shorter or simpler, or send it without structured mode.");
    }
    analyst_tell(analyst, json_object_get(answer, "result"), error != NULL ? &e : NULL);
    if (analyst->n_parses >= ANALYST_PARSES_MAX)
        analyst_end(analyst);
    analyst_go_on(analyst);
}

static void analyst_on_end(struct head *head, const struct head_end_facts *facts)
{
    struct analyst *analyst = head->owner;
    struct err e;
    char why[320];
    if (facts->how == HEAD_BROKEN && facts->is_closed && head->has_process) {
        /* How it ends says more than that its channel closed. */
        head_signal(head, SIGKILL);
        return;
    }
    if (analyst->is_asked) {
        err_set(&e, ERR_LIMIT, "the parser %s on the code",
                facts->oom_kills > 0 ? "ran out of memory" : "died");
        err_advise(&e, "Make it shorter or simpler, or send it without structured mode.");
    } else {
        head_describe_end(facts, why, sizeof(why));
        err_set(&e, ERR_UNAVAILABLE, "no interpreter could parse the code: %s", why);
        err_advise(&e, "Try again in a moment.");
    }
    if (analyst->is_ready && !analyst->is_asked)
        analyst_end(analyst); /* nobody was waiting for it */
    else
        analyst_fail(analyst, &e);
}

/* It runs no cell: a head that says so breaks before these are asked. */
static void analyst_on_denied(struct head *head, const char *call)
{
    (void)head;
    (void)call;
}

static void analyst_on_signaled(struct head *head)
{
    (void)head;
}

static void analyst_on_over_quota(struct head *head, uint64_t bytes, const char *why)
{
    (void)head;
    (void)bytes;
    (void)why;
}

static const struct head_listener analyst_listener = {
    .on_ready = analyst_on_ready,
    .on_tool = analyst_on_tool,
    .on_denied = analyst_on_denied,
    .on_signaled = analyst_on_signaled,
    .on_over_quota = analyst_on_over_quota,
    .on_end = analyst_on_end,
};

static int analyst_start(struct analyst *analyst, struct err *e)
{
    const struct pool_request wanted = {.runtime = &runtime_python,
                                        .limits = &analyst_limits,
                                        .is_brief = true,
                                        .listener = &analyst_listener,
                                        .owner = analyst};
    if (pool_take(analyst->engine->pool, &wanted, &analyst->head, e) < 0)
        return -1;
    analyst->head->is_assistant = true;
    loop_timer_set(analyst->timer, clock_scaled_ms(ANALYST_START_MS));
    return 0;
}

static int analyst_begin(struct analyst *analyst, const struct analysis *analysis, struct err *e)
{
    const struct head_tool tool = {.id = ++analyst->n_parses,
                                   .name = analysis->function,
                                   .args = analysis->args,
                                   .is_whole = true};
    if (head_call_tool(analyst->head, &tool, e) < 0)
        return -1;
    analyst->is_asked = true;
    loop_timer_set(analyst->timer, clock_scaled_ms(ANALYST_PARSE_MS));
    return 0;
}

/* Level-triggered: the next question meets an interpreter that does not work, or starts one. */
static void analyst_go_on(struct analyst *analyst)
{
    struct err e;
    while (!analyst->is_asked && analyst_first(analyst) != NULL) {
        if (analyst_first(analyst)->listener == NULL) {
            analysis_free(analyst_first(analyst));
            continue;
        }
        if (analyst->head != NULL && !analyst->is_ready)
            return;
        int r = analyst->head == NULL ? analyst_start(analyst, &e)
                                      : analyst_begin(analyst, analyst_first(analyst), &e);
        if (r == 0)
            continue;
        analyst_end(analyst);
        analyst_tell(analyst, NULL, &e);
    }
    if (analyst->is_ready && !analyst->is_asked)
        loop_timer_set(analyst->timer, ANALYST_IDLE_MS);
}

struct analysis *analyst_ask(struct engine *engine, const char *function, json_t *args,
                             const struct analysis_listener *listener, void *context, struct err *e)
{
    struct analyst *analyst = engine->analyst;
    if (engine->is_stopping || analyst->n_waiting >= ANALYST_WAITING_MAX) {
        json_decref(args);
        err_set(e, ERR_LIMIT, "%d texts wait to be parsed", ANALYST_WAITING_MAX);
        err_advise(e, "Try again in a moment.");
        return NULL;
    }
    struct analysis *analysis = mem_alloc(sizeof(*analysis));
    *analysis = (struct analysis){.analyst = analyst,
                                  .function = function,
                                  .args = args,
                                  .listener = listener,
                                  .context = context};
    list_append(&analyst->waiting, &analysis->node);
    analyst->n_waiting++;
    /* What fails at once is told at once, and not by the listener. */
    int r = 0;
    if (analyst_first(analyst) != analysis)
        return analysis;
    if (analyst->head == NULL)
        r = analyst_start(analyst, e);
    else if (analyst->is_ready && !analyst->is_asked)
        r = analyst_begin(analyst, analysis, e);
    if (r == 0)
        return analysis;
    analyst_end(analyst);
    analysis_free(analysis);
    return NULL;
}

/* A parse that is under way goes on: it has its second. */
void analysis_forget(struct analysis *analysis)
{
    struct analyst *analyst = analysis->analyst;
    analysis->listener = NULL;
    if (!analyst->is_asked || analyst_first(analyst) != analysis)
        analysis_free(analysis);
}

/* ---- for the engine -------------------------------------------------------------------------- */

struct analyst *analyst_new(struct engine *engine)
{
    struct analyst *analyst = mem_alloc(sizeof(*analyst));
    analyst->engine = engine;
    list_init(&analyst->waiting);
    analyst->timer = loop_timer_new(engine->loop, analyst_on_due, analyst);
    return analyst;
}

void analyst_free(struct analyst *analyst)
{
    struct err e;
    if (analyst == NULL)
        return;
    analyst_end(analyst);
    err_set(&e, ERR_UNAVAILABLE, "the daemon stops");
    while (analyst_first(analyst) != NULL)
        analyst_tell(analyst, NULL, &e);
    loop_timer_close(take_ptr(analyst->timer), NULL);
    free(analyst);
}
