/* Heads that are kept ready for a profile, and its zygote. Daemon; owns the heads until they are
 * taken. */
#include "loop/loop.h"
#include "runtime/pool_parts.h"

#include <assert.h>
#include <signal.h>

enum {
    SHELF_FIRST_PAUSE_MS = 100,
    SHELF_FAILURES_MAX = 8, /* then nothing more is tried until somebody asks for a session */
    ENTER_MS = 30 * 1000,
};

static const struct head_listener shelf_listener;

uint32_t shelf_size(const struct shelf *shelf)
{
    return shelf->zygote.profile->is_cold ? 0 : shelf->pool->config.size;
}

void shelf_refill_soon(struct shelf *shelf, uint64_t in_ms)
{
    const struct pool *pool = shelf->pool;
    bool is_full = shelf->n_ready >= shelf_size(shelf);
    if (pool->is_stopping || is_full || shelf->filling != NULL ||
        shelf->zygote.state != ZYGOTE_READY || shelf->failures >= SHELF_FAILURES_MAX ||
        loop_timer_is_set(shelf->timer))
        return;
    loop_timer_set(shelf->timer, in_ms);
    shelf->is_patient = in_ms == SHELF_BRIEF_MS;
}

void shelf_stop_waiting(struct pool *pool, const struct runtime_profile *profile)
{
    struct shelf *shelf = &pool->shelves[profile - pool->config.profiles];
    if (!shelf->is_patient || shelf->filling != NULL || !loop_timer_is_set(shelf->timer))
        return;
    shelf->is_patient = false;
    loop_timer_set(shelf->timer, SHELF_REFILL_MS);
}

static void filling_failed(struct shelf *shelf, const char *why)
{
    struct pool *pool = shelf->pool;
    pool_release(pool, take_ptr(shelf->filling));
    loop_timer_clear(shelf->timer);
    shelf->failures++;
    pool->config.on_notice(pool->config.context, "pool_refill_failed", why);
    shelf_refill_soon(shelf, (uint64_t)SHELF_FIRST_PAUSE_MS << (shelf->failures - 1));
}

static void on_shelf_timer(void *context)
{
    struct shelf *shelf = context;
    if (shelf->filling != NULL) {
        filling_failed(shelf, "an interpreter did not become ready in time");
    } else if (shelf->zygote.state == ZYGOTE_READY) {
        struct err e;
        struct pool *pool = shelf->pool;
        shelf->filling = pool_make_head(shelf, pool_make_room(pool, NULL, &pool->config.limits),
                                        &shelf_listener, shelf);
        if (head_enter(shelf->filling, shelf->zygote.number, &e) < 0)
            filling_failed(shelf, e.message);
        else
            loop_timer_set(shelf->timer, ENTER_MS);
    }
}

static void on_filled(struct head *head, const json_t *notes)
{
    (void)notes;
    struct shelf *shelf = head->owner;
    assert(shelf->filling == head);
    shelf->filling = NULL;
    shelf->failures = 0;
    list_append(&shelf->ready, &head->node);
    shelf->n_ready++;
    loop_timer_clear(shelf->timer);
    if (shelf->has_states)
        head_rehearse(head);
    shelf_refill_soon(shelf, 0);
}

static void on_lost_head(struct head *head, const struct head_end_facts *facts)
{
    struct shelf *shelf = head->owner;
    if (shelf->filling == head && facts->how == HEAD_BROKEN && head->has_process) {
        /* How it ends says more than that its channel closed. */
        head_signal(head, SIGKILL);
        return;
    }
    if (shelf->filling == head) {
        char why[320];
        head_describe_end(facts, why, sizeof(why));
        filling_failed(shelf, why);
        return;
    }
    shelf->n_ready--;
    pool_release(shelf->pool, head);
    shelf_refill_soon(shelf, SHELF_FIRST_PAUSE_MS);
}

/* A head on the shelf runs no cell: it has nothing else to say. */
static void unexpected_display(struct head *head, json_t *output, bool is_update)
{
    (void)head;
    (void)output;
    (void)is_update;
}

static void unexpected_done(struct head *head, const struct head_verdict *verdict)
{
    (void)head;
    (void)verdict;
}

static void unexpected_set(struct head *head)
{
    (void)head;
}

static void unexpected_clear(struct head *head, bool waits)
{
    (void)head;
    (void)waits;
}

static void unexpected_input(struct head *head, const struct head_prompt *prompt)
{
    (void)head;
    (void)prompt;
}

static void unexpected_call(struct head *head, const char *op, json_t *args)
{
    (void)head;
    (void)op;
    (void)args;
}

static void unexpected_names(struct head *head, json_t *names)
{
    (void)head;
    (void)names;
}

static void ignore_denied(struct head *head, const char *call)
{
    (void)head;
    (void)call;
}

static void ignore_signal(struct head *head)
{
    (void)head;
}

static void ignore_quota(struct head *head, uint64_t bytes, const char *why)
{
    (void)head;
    (void)bytes;
    (void)why;
}

static const struct head_listener shelf_listener = {
    .on_ready = on_filled,
    .on_set = unexpected_set,
    .on_input = unexpected_input,
    .on_call = unexpected_call,
    .on_names = unexpected_names,
    .on_denied = ignore_denied,
    .on_display = unexpected_display,
    .on_clear = unexpected_clear,
    .on_done = unexpected_done,
    .on_signaled = ignore_signal,
    .on_over_quota = ignore_quota,
    .on_end = on_lost_head,
};

static void refuse(struct head *head, const char *why)
{
    list_remove(&head->node);
    head_move(head, HEAD_ENDED);
    head->listener->on_end(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = why});
}

static void on_zygote_ready(struct runtime_zygote *zygote)
{
    struct shelf *shelf = zygote->owner;
    struct pool *pool = shelf->pool;
    while (!list_is_empty(&shelf->waiting)) {
        struct err e;
        struct head *head = CONTAINER_OF(list_first(&shelf->waiting), struct head, node);
        list_remove(&head->node);
        if (head_enter(head, zygote->number, &e) < 0)
            refuse(head, e.message);
    }
    shelf->failures = 0;
    shelf_refill_soon(shelf, SHELF_REFILL_MS);
    pool->config.on_zygote_ready(pool->config.context, zygote);
}

static void on_zygote_ended(struct runtime_zygote *zygote)
{
    struct shelf *shelf = zygote->owner;
    struct pool *pool = shelf->pool;
    char text[640];
    snprintf(text, sizeof(text), "the profile %s ended: %s", zygote->profile->name,
             zygote->failure);
    if (shelf->filling == NULL)
        loop_timer_clear(shelf->timer);
    while (!list_is_empty(&shelf->waiting))
        refuse(CONTAINER_OF(list_first(&shelf->waiting), struct head, node), text);
    pool->config.on_notice(pool->config.context, "zygote_ended", text);
    pool->config.on_zygote_ended(pool->config.context, zygote);
}

static const struct runtime_zygote_listener zygote_listener = {
    .on_ready = on_zygote_ready,
    .on_ended = on_zygote_ended,
};

void shelf_init(struct shelf *shelf, struct pool *pool, const struct runtime_profile *profile)
{
    shelf->pool = pool;
    list_init(&shelf->ready);
    list_init(&shelf->waiting);
    shelf->timer = loop_timer_new(pool->loop, on_shelf_timer, shelf);
    runtime_zygote_init(&shelf->zygote, profile, pool->warden, pool->loop, &zygote_listener, shelf);
}

/* One that waits, else the one that is being made for the shelf anyway. */
struct head *shelf_take(struct shelf *shelf, bool is_brief)
{
    struct head *head;
    if (shelf->n_ready > 0) {
        head = CONTAINER_OF(list_first(&shelf->ready), struct head, node);
        list_remove(&head->node);
        shelf->n_ready--;
    } else {
        head = take_ptr(shelf->filling);
        if (head != NULL)
            loop_timer_clear(shelf->timer);
    }
    shelf_refill_soon(shelf, is_brief ? SHELF_BRIEF_MS : SHELF_REFILL_MS);
    return head;
}
