/* The process of a checkpoint as the daemon sees it. Daemon; owns its channel and orders that wait.
 */
#include "runtime/snapshot.h"

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "wire/json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum {
    ORDER_MAX = 1024,
    SNAPSHOT_AGAIN_MS = 10, /* until descriptors are tried again that the kernel did not take */
    SNAPSHOT_REFUSED_MS = 20 * 1000, /* for that long: what is woken is all that a session has */
};

/* One that waits because more descriptors are under way in sockets of this user than the kernel
 * allows. */
struct order {
    struct list link;
    uint64_t until_ms; /* monotonic */
    struct buf frame;
    int fds[2];
    size_t n_fds;
};

/* Whoever waits for what it was to bring sees the end of a socket. */
static void forget_order(struct order *order)
{
    list_remove(&order->link);
    for (size_t i = 0; i < order->n_fds; i++)
        if (order->fds[i] >= 0)
            close(order->fds[i]);
    buf_free(&order->frame);
    free(order);
}

/* ---- falling asleep -------------------------------------------------------------------------- */

static void snapshot_move(struct snapshot *snapshot, enum snapshot_state to)
{
    static const enum snapshot_state next[] = {[SNAPSHOT_FORKING] = SNAPSHOT_ADOPTING,
                                               [SNAPSHOT_ADOPTING] = SNAPSHOT_ASLEEP,
                                               [SNAPSHOT_ASLEEP] = SNAPSHOT_GONE,
                                               [SNAPSHOT_GONE] = SNAPSHOT_GONE};
    assert(to == SNAPSHOT_GONE || to == next[snapshot->state]);
    snapshot->state = to;
}

static void gone(struct snapshot *snapshot, const char *why)
{
    if (snapshot->state == SNAPSHOT_GONE)
        return;
    snapshot_move(snapshot, SNAPSHOT_GONE);
    loop_poll_close(take_ptr(snapshot->poll), NULL);
    snapshot->listener->on_gone(snapshot, why);
}

/* Its first byte is there, and with it the kernel's word about who wrote it. The warden reads it.
 */
static void snapshot_on_first_byte(void *context, int events)
{
    struct snapshot *snapshot = context;
    struct err e;
    (void)events;
    ssize_t n = channel_peek(snapshot->sock);
    if (n == -EAGAIN)
        return;
    if (n != 1) {
        gone(snapshot, "it ended before it slept");
        return;
    }
    loop_poll_close(take_ptr(snapshot->poll), NULL);
    snapshot_move(snapshot, SNAPSHOT_ADOPTING);
    if (warden_adopt(snapshot->room->warden, snapshot->room->jail, snapshot->number,
                     WARDEN_CHECKPOINT, snapshot->sock, &e) < 0) {
        snapshot->is_hostile = e.code == ERR_FORBIDDEN;
        gone(snapshot, e.message);
    }
}

struct snapshot *snapshot_take(struct head *head, uint64_t number, uint64_t id,
                               const struct snapshot_listener *listener, void *owner, struct err *e)
{
    int socks[2];
    if (head_socketpair(socks, e) < 0)
        return NULL;
    if (head_checkpoint(head, id, socks[1], e) < 0) {
        channel_close(socks[0]);
        return NULL;
    }
    struct snapshot *snapshot = mem_alloc(sizeof(*snapshot));
    *snapshot = (struct snapshot){.listener = listener,
                                  .owner = owner,
                                  .number = number,
                                  .room = head->room,
                                  .profile = head->profile,
                                  .denied = denials_hold(head->denied),
                                  .sock = socks[0],
                                  .loop = head->loop};
    list_init(&snapshot->orders);
    list_append(&head->room->snapshots, &snapshot->room_node);
    snapshot->poll = loop_poll_read(head->loop, snapshot->sock, snapshot_on_first_byte, snapshot);
    if (snapshot->poll != NULL)
        return snapshot;
    snapshot_free(snapshot);
    err_set(e, ERR_UNAVAILABLE, "the socket of a checkpoint cannot be watched");
    return NULL;
}

void snapshot_free(struct snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    struct err ignored; /* a lost warden is told to everybody in its own way */
    if (snapshot->state == SNAPSHOT_ASLEEP || snapshot->state == SNAPSHOT_ADOPTING)
        warden_signal(snapshot->room->warden, snapshot->number, SIGKILL, &ignored);
    loop_poll_close(take_ptr(snapshot->poll), NULL);
    loop_timer_close(take_ptr(snapshot->again), NULL);
    LIST_EACH(&snapshot->orders, at)
        forget_order(CONTAINER_OF(at, struct order, link));
    channel_close(snapshot->sock); /* the end of its channel is its end, too */
    denials_drop(snapshot->denied);
    list_remove(&snapshot->room_node);
    free(snapshot);
}

void snapshot_on_event(struct snapshot *snapshot, const struct warden_event *event)
{
    if (event->type == WARDEN_ENTERED && snapshot->state == SNAPSHOT_ADOPTING) {
        snapshot_move(snapshot, SNAPSHOT_ASLEEP);
        snapshot->jail_bytes = event->bytes;
        snapshot->n_others = event->others;
        snapshot->listener->on_asleep(snapshot);
    } else if (event->type == WARDEN_MEASURED) {
        snapshot->listener->on_measured(snapshot, event->bytes);
    } else if (event->type == WARDEN_REFUSED) {
        gone(snapshot, event->text);
    } else if (event->type == WARDEN_EXITED) {
        /* One of the kernel's kills was this one: it is not what ends the next head. */
        if (WIFSIGNALED(event->status) && WTERMSIG(event->status) == SIGKILL &&
            event->oom_kills > snapshot->room->oom_kills)
            snapshot->room->oom_kills++;
        gone(snapshot, "its process was ended");
    } else if (event->type == WARDEN_GONE || event->type == WARDEN_LOST) {
        gone(snapshot, "its jail is gone");
    }
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void snapshot_on_again(void *context)
{
    struct snapshot *snapshot = context;
    LIST_EACH(&snapshot->orders, at) {
        struct order *order = CONTAINER_OF(at, struct order, link);
        ssize_t n =
            fd_send(snapshot->sock, order->frame.data, order->frame.len, order->fds, order->n_fds);
        if (n == -ETOOMANYREFS && clock_mono_ms() < order->until_ms) {
            loop_timer_set(snapshot->again, SNAPSHOT_AGAIN_MS);
            return;
        }
        forget_order(order);
    }
}

/* So few bytes fit into a socket whose owner reads nothing else. */
static int send_order(struct snapshot *snapshot, struct buf *frame, size_t mark, const int *fds,
                      size_t n_fds, struct err *e)
{
    if (snapshot->state != SNAPSHOT_ASLEEP)
        return err_set(e, ERR_GONE, "the checkpoint's process is gone");
    if (!frame_end(frame, mark))
        return err_set(e, ERR_INTERNAL, "an order is too long");
    bool is_first = list_is_empty(&snapshot->orders);
    ssize_t n =
        is_first ? fd_send(snapshot->sock, frame->data, frame->len, fds, n_fds) : -ETOOMANYREFS;
    if (n == -ETOOMANYREFS) {
        struct order *order = mem_alloc(sizeof(*order));
        *order = (struct order){
            .until_ms = clock_mono_ms() + SNAPSHOT_REFUSED_MS, .frame = *frame, .n_fds = n_fds};
        *frame = BUF_INIT(ORDER_MAX);
        list_append(&snapshot->orders, &order->link);
        for (size_t i = 0; i < n_fds; i++) {
            order->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
            if (order->fds[i] >= 0)
                continue;
            err_errno(e, ERR_UNAVAILABLE, errno, "keeping a descriptor for a checkpoint");
            forget_order(order);
            return -1;
        }
        if (snapshot->again == NULL)
            snapshot->again = loop_timer_new(snapshot->loop, snapshot_on_again, snapshot);
        loop_timer_set(snapshot->again, SNAPSHOT_AGAIN_MS);
        return 0;
    }
    if (n != (ssize_t)frame->len)
        return err_set(e, ERR_GONE, "the checkpoint's process does not listen");
    return 0;
}

int snapshot_wake(struct snapshot *snapshot, struct head *head, int key, struct err *e)
{
    _fd_ int room_key = key;
    _fd_ int theirs = head_await(head, snapshot->denied, e);
    if (theirs < 0)
        return -1;
    _buf_ struct buf frame = BUF_INIT(ORDER_MAX);
    size_t mark = frame_begin(&frame);
    buf_printf(&frame, "{\"op\":\"wake\",\"head\":%llu%s}", (unsigned long long)head->number,
               key >= 0 ? ",\"room\":true" : "");
    const int fds[] = {theirs, room_key};
    return send_order(snapshot, &frame, mark, fds, key >= 0 ? 2 : 1, e);
}

int snapshot_save(struct snapshot *snapshot, const struct head_save *save, int sock, struct err *e)
{
    _fd_ int theirs = sock;
    _buf_ struct buf frame = BUF_INIT(ORDER_MAX);
    size_t mark = frame_begin(&frame);
    head_write_save(&frame, save);
    return send_order(snapshot, &frame, mark, &theirs, 1, e);
}

bool snapshot_measure(struct snapshot *snapshot)
{
    struct err ignored;
    return snapshot->state == SNAPSHOT_ASLEEP &&
           warden_measure(snapshot->room->warden, snapshot->number, &ignored) == 0;
}
