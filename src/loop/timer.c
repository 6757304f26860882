/* Deadlines on libuv. Daemon; a timer that is not set wakes nobody. */
#include "loop/loop.h"

#include <assert.h>

struct loop_timer {
    uv_timer_t uv;
    loop_fn on_due;
    loop_fn on_closed;
    void *context;
};

struct loop_timer *loop_timer_new(uv_loop_t *loop, loop_fn on_due, void *context)
{
    struct loop_timer *t = mem_alloc(sizeof(*t));
    t->on_due = on_due;
    t->context = context;
    uv_timer_init(loop, &t->uv);
    return t;
}

static struct loop_timer *timer_running; /* whose function runs now; NULL if none */

static void timer_due(uv_timer_t *uv)
{
    struct loop_timer *t = CONTAINER_OF(uv, struct loop_timer, uv);
    timer_running = t;
    t->on_due(t->context);
    timer_running = NULL;
}

void loop_timer_set(struct loop_timer *t, uint64_t in_ms)
{
    /* libuv runs what is due until nothing is: who goes on at once would keep all others waiting.
     */
    if (in_ms == 0 && t == timer_running)
        in_ms = 1;
    int rc = uv_timer_start(&t->uv, timer_due, in_ms, 0);
    assert(rc == 0);
    (void)rc;
}

void loop_timer_clear(struct loop_timer *t)
{
    uv_timer_stop(&t->uv);
}

bool loop_timer_is_set(const struct loop_timer *t)
{
    return uv_is_active((const uv_handle_t *)&t->uv);
}

static void timer_closed(uv_handle_t *handle)
{
    struct loop_timer *t = CONTAINER_OF(handle, struct loop_timer, uv);
    if (t->on_closed != NULL)
        t->on_closed(t->context);
    free(t);
}

void loop_timer_close(struct loop_timer *t, loop_fn on_closed)
{
    if (t == NULL)
        return;
    t->on_closed = on_closed;
    uv_close((uv_handle_t *)&t->uv, timer_closed);
}
