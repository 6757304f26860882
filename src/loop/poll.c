/* Watched descriptors, in an epoll set of our own that libuv watches as one descriptor. libuv takes
 * a descriptor out of its set and puts it in again with each change of what is wanted, and aborts
 * when the kernel has no room: what a user may watch is limited, and sessions of an ordinary user's
 * daemon share that limit. Here one is put in once, and what finds no room is looked at by a timer
 * until there is some. */
#include "base/fd.h"
#include "base/list.h"
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

enum {
    EVENTS_PER_TURN = 64,
    LOOK_MS = 10,   /* at those without a place in the set */
    LOOKED_AT = 64, /* of those, in one turn */
};

struct poll_set {
    uv_loop_t *loop;
    uv_poll_t uv;       /* of `epoll` */
    uv_timer_t timer;   /* active while somebody is without a place */
    int epoll;          /* with the address of each poll */
    size_t n_polls;     /* the set ends with the last */
    size_t n_wanting;   /* that keep the loop running */
    struct list apart;  /* those without a place */
    unsigned n_closing; /* handles that are not closed yet */
};

struct loop_poll {
    struct poll_set *set;
    struct list node; /* in `apart`; a list of itself if it has a place */
    uv_idle_t uv;     /* never started: libuv calls back when it is closed */
    int fd;
    int wanted;
    loop_poll_fn on_event;
    loop_fn on_closed;
    void *context;
};

/* ---- telling --------------------------------------------------------------------------------- */

static void tell(struct loop_poll *p, uint32_t bits)
{
    int events = (bits & EPOLLIN ? LOOP_READ : 0) | (bits & EPOLLOUT ? LOOP_WRITE : 0);
    if (bits & (EPOLLERR | EPOLLHUP))
        events = p->wanted;
    events &= p->wanted; /* 0 if it was closed meanwhile */
    if (events == 0)
        return;
    if (bits & EPOLLERR)
        loop_poll_want(p, 0); /* the owner finds the error with its next call */
    p->on_event(p->context, events);
}

/* A poll that is closed by one of these calls is freed later, by the loop. */
static void on_ready(uv_poll_t *uv, int status, int events)
{
    struct poll_set *set = CONTAINER_OF(uv, struct poll_set, uv);
    struct epoll_event ready[EVENTS_PER_TURN];
    (void)status;
    (void)events;
    int n = epoll_wait(set->epoll, ready, EVENTS_PER_TURN, 0);
    for (int i = 0; i < n; i++)
        tell(ready[i].data.ptr, ready[i].events);
}

/* ---- places in the set ----------------------------------------------------------------------- */

/* Errors and hang-ups are always told: without anything wanted once is enough. */
static int place(struct loop_poll *p, int op)
{
    struct epoll_event e = {.events = (p->wanted & LOOP_READ ? (uint32_t)EPOLLIN : 0) |
                                      (p->wanted & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0) |
                                      (p->wanted == 0 ? (uint32_t)EPOLLET : 0),
                            .data.ptr = p};
    return epoll_ctl(p->set->epoll, op, p->fd, &e) < 0 ? -errno : 0;
}

static bool is_full(int error)
{
    return error == -ENOSPC || error == -ENOMEM;
}

static bool is_apart(const struct loop_poll *p)
{
    return !list_is_empty(&p->node);
}

static void look_at_those_apart(uv_timer_t *timer)
{
    struct poll_set *set = CONTAINER_OF(timer, struct poll_set, timer);
    struct pollfd looks[LOOKED_AT];
    struct loop_poll *polls[LOOKED_AT];
    nfds_t n = 0;
    for (int i = 0; i < LOOKED_AT && !list_is_empty(&set->apart); i++) {
        struct loop_poll *p = CONTAINER_OF(list_first(&set->apart), struct loop_poll, node);
        list_remove(&p->node);
        if (!is_full(place(p, EPOLL_CTL_ADD)))
            continue;
        list_append(&set->apart, &p->node); /* the others have their turn first */
        polls[n] = p;
        looks[n++] = (struct pollfd){.fd = p->fd,
                                     .events = (short)((p->wanted & LOOP_READ ? POLLIN : 0) |
                                                       (p->wanted & LOOP_WRITE ? POLLOUT : 0))};
    }
    if (list_is_empty(&set->apart))
        uv_timer_stop(timer);
    if (n > 0 && poll(looks, n, 0) > 0)
        for (nfds_t i = 0; i < n; i++)
            if (looks[i].revents != 0)
                tell(polls[i], (uint32_t)looks[i].revents); /* the bits are the same */
}

/* ---- the set --------------------------------------------------------------------------------- */

static void set_closed(uv_handle_t *handle)
{
    struct poll_set *set = handle->data;
    if (--set->n_closing == 0)
        free(set);
}

static void set_close(struct poll_set *set)
{
    set->loop->data = NULL;
    set->n_closing = 2;
    set->uv.data = set->timer.data = set;
    uv_close((uv_handle_t *)&set->uv, set_closed);
    uv_close((uv_handle_t *)&set->timer, set_closed);
    close(set->epoll);
}

static struct poll_set *set_of(uv_loop_t *loop)
{
    if (loop->data != NULL)
        return loop->data;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct poll_set *set = mem_alloc(sizeof(*set));
    *set = (struct poll_set){.loop = loop, .epoll = epoll};
    list_init(&set->apart);
    if (epoll < 0 || uv_poll_init(loop, &set->uv, epoll) != 0) {
        cleanup_fd(&epoll);
        free(set);
        return NULL;
    }
    uv_timer_init(loop, &set->timer);
    uv_unref((uv_handle_t *)&set->timer);
    loop->data = set;
    uv_poll_start(&set->uv, UV_READABLE, on_ready);
    uv_unref((uv_handle_t *)&set->uv);
    if (loop_reserve(loop, epoll) < 0) {
        set_close(set);
        return NULL;
    }
    return set;
}

static void count_wanting(struct poll_set *set, bool was_wanting, bool is_wanting)
{
    set->n_wanting += (size_t)is_wanting - (size_t)was_wanting;
    if (set->n_wanting > 0)
        uv_ref((uv_handle_t *)&set->uv);
    else
        uv_unref((uv_handle_t *)&set->uv);
}

/* ---- one of them ----------------------------------------------------------------------------- */

static struct loop_poll *poll_make(uv_loop_t *loop, int fd, int wanted, loop_poll_fn on_event,
                                   void *context)
{
    struct poll_set *set = fd < 0 ? NULL : set_of(loop);
    if (set == NULL)
        return NULL;
    struct loop_poll *p = mem_alloc(sizeof(*p));
    *p = (struct loop_poll){
        .set = set, .fd = fd, .wanted = wanted, .on_event = on_event, .context = context};
    list_init(&p->node);
    int error = place(p, EPOLL_CTL_ADD);
    if (error < 0 && !is_full(error)) {
        free(p);
        if (set->n_polls == 0)
            set_close(set);
        return NULL;
    }
    if (error < 0) {
        list_append(&set->apart, &p->node);
        uv_timer_start(&set->timer, look_at_those_apart, LOOK_MS, LOOK_MS);
    }
    fd_set_nonblocking(fd, true);
    set->n_polls++;
    count_wanting(set, false, wanted != 0);
    uv_idle_init(loop, &p->uv);
    return p;
}

struct loop_poll *loop_poll_new(uv_loop_t *loop, int fd, loop_poll_fn on_event, void *context)
{
    return poll_make(loop, fd, 0, on_event, context);
}

struct loop_poll *loop_poll_read(uv_loop_t *loop, int fd, loop_poll_fn on_event, void *context)
{
    return poll_make(loop, fd, LOOP_READ, on_event, context);
}

void loop_poll_want(struct loop_poll *p, int events)
{
    if (p->wanted == events)
        return;
    count_wanting(p->set, p->wanted != 0, events != 0);
    p->wanted = events;
    int error = is_apart(p) ? 0 : place(p, EPOLL_CTL_MOD);
    assert(error == 0);
    (void)error;
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
    struct poll_set *set = p->set;
    p->on_closed = on_closed;
    count_wanting(set, p->wanted != 0, false);
    p->wanted = 0;
    if (is_apart(p))
        list_remove(&p->node);
    else
        epoll_ctl(set->epoll, EPOLL_CTL_DEL, p->fd, NULL);
    uv_close((uv_handle_t *)&p->uv, poll_closed);
    if (--set->n_polls == 0)
        set_close(set);
}
