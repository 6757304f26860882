#include "loop/loop.h"

#include <assert.h>

struct loop_poll {
    uv_poll_t uv;
    int wanted;
    loop_poll_fn on_event;
    loop_fn on_closed;
    void *context;
};

struct loop_poll *loop_poll_new(uv_loop_t *loop, int fd, loop_poll_fn on_event, void *context)
{
    struct loop_poll *p = mem_alloc(sizeof(*p));
    p->on_event = on_event;
    p->context = context;
    if (uv_poll_init(loop, &p->uv, fd) != 0) {
        free(p);
        return NULL;
    }
    return p;
}

static void poll_event(uv_poll_t *uv, int status, int events)
{
    struct loop_poll *p = CONTAINER_OF(uv, struct loop_poll, uv);
    if (status < 0) {
        /* libuv has stopped the handle; the owner finds the error with its next call. */
        events = p->wanted;
        p->wanted = 0;
    }
    p->on_event(p->context, events);
}

void loop_poll_want(struct loop_poll *p, int events)
{
    if (p->wanted == events)
        return;
    p->wanted = events;
    int rc = events == 0 ? uv_poll_stop(&p->uv) : uv_poll_start(&p->uv, events, poll_event);
    assert(rc == 0);
    (void)rc;
}

static void poll_closed(uv_handle_t *handle)
{
    struct loop_poll *p = CONTAINER_OF(handle, struct loop_poll, uv);
    if (p->on_closed != NULL)
        p->on_closed(p->context);
    free(p);
}

void loop_poll_close(struct loop_poll *p, loop_fn on_closed)
{
    if (p == NULL)
        return;
    p->on_closed = on_closed;
    uv_close((uv_handle_t *)&p->uv, poll_closed);
}
