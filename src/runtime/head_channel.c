/* A head's control socket: bytes in both directions, frames out of them. Daemon; on the loop. */
#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "runtime/head_parts.h"
#include "wire/json.h"

#include <errno.h>

enum {
    /* Acks that a driver does not read pile up no further than this. */
    UNREAD_MAX = 64 * 1024,
    /* Frames longer than this are parsed by a worker thread: the loop serves others meanwhile. */
    LONG_FRAME = 256 * 1024,
    /* Descriptors that the kernel does not take now: how often to try, and for how long. Shorter
     * than the time after which a cell that does not react is killed. */
    HEAD_CHANNEL_AGAIN_MS = 10,
    HEAD_CHANNEL_REFUSED_MS = 1000,
};

/* A long frame on its way through a worker thread. It outlives the head if that goes first. */
struct head_work {
    uv_work_t uv;
    struct head *head; /* NULL if the caller went away */
    struct buf bytes;  /* in which the payload lies */
    const char *payload;
    size_t len;
    json_t *frame;
    struct err err;
    bool is_bad;
};

/* ---- a budget for frames that are not read yet ----------------------------------------------- */

/* What all heads together may keep of them in memory; small ones are not counted. */
#define LARGE_MAX (256 * MIB)
#define LARGE_MIN MIB

static struct {
    struct list heads; /* with a large one */
    size_t bytes;
} large = {.heads = {&large.heads, &large.heads}};

static void count_large(struct head *head)
{
    size_t bytes = head->in.in.cap + (head->work != NULL ? head->work->bytes.cap : 0);
    bytes = bytes >= LARGE_MIN ? bytes : 0;
    large.bytes += bytes - head->large_bytes;
    head->large_bytes = bytes;
    list_remove(&head->large_node);
    if (bytes > 0)
        list_append(&large.heads, &head->large_node);
}

/* Whoever has most of it goes first, so that nobody with little pays for others. */
static void keep_budget(struct head *head)
{
    count_large(head);
    while (large.bytes > LARGE_MAX) {
        struct head *largest = head;
        LIST_EACH(&large.heads, at) {
            struct head *other = CONTAINER_OF(at, struct head, large_node);
            if (other->large_bytes > largest->large_bytes)
                largest = other;
        }
        head_break(largest, "what it sent was too much for the daemon's memory: 256 MiB are for "
                            "frames of all sessions that are not read yet");
    }
}

void head_close_fds(struct head *head)
{
    for (size_t i = 0; i < ARRAY_LEN(head->out_fds); i++)
        if (head->out_fds[i] >= 0)
            close(take_fd(&head->out_fds[i]));
}

/* Nothing is read or sent any more. The socket stays open as long as the head: a driver that saw
 * its end would leave in its own way, and the way a head ends is evidence. */
void head_close_channel(struct head *head)
{
    loop_poll_close(take_ptr(head->poll), NULL);
    loop_timer_close(take_ptr(head->again), NULL);
    loop_timer_close(take_ptr(head->turn), NULL);
    head_close_fds(head);
    frame_reader_free(&head->in);
    buf_free(&head->out);
    head->out_sent = 0;
    if (head->work != NULL)
        take_ptr(head->work)->head = NULL;
    count_large(head);
}

/* Frames that were read before wait for a worker, or for their turn. */
static bool is_reading_on(const struct head *head)
{
    return head->work != NULL || (head->turn != NULL && loop_timer_is_set(head->turn));
}

void head_want_events(struct head *head)
{
    if (head->poll == NULL)
        return;
    int events = is_reading_on(head) ? 0 : LOOP_READ;
    if (head->out.len > head->out_sent && head->refused_ms == 0)
        events |= LOOP_WRITE;
    loop_poll_want(head->poll, events);
}

static void parse_in_worker(uv_work_t *uv)
{
    struct head_work *work = CONTAINER_OF(uv, struct head_work, uv);
    work->is_bad = json_read_object(work->payload, work->len, &work->frame, &work->err) < 0;
}

static void take_frames(struct head *head);

/* After frames were taken. What arrives while no cell runs would be kept without a limit of time.
 */
static void settle_frames(struct head *head)
{
    bool is_silent = head->state == HEAD_IDLE && !head->is_asked && !head->is_asked_declared &&
                     head->judging == HEAD_ASKED_NOTHING && head->n_forks == 0 &&
                     head->tool_call == 0;
    if (is_silent && !is_reading_on(head) && frame_is_partial(&head->in))
        head_break(head, "it spoke while no cell ran");
    frame_compact(&head->in);
    keep_budget(head);
}

static void head_channel_on_turn(void *context)
{
    struct head *head = context;
    head_hold(head);
    take_frames(head);
    settle_frames(head);
    head_want_events(head);
    head_let_go(head);
}

/* An operation may take milliseconds: a head that calls one after the other without waiting for
 * answers has one in each turn of the loop. True if the rest waits for the next. */
static bool yield_turn(struct head *head)
{
    if (!head->has_called)
        return false;
    head->has_called = false;
    if (head->in.at == head->in.in.len)
        return false;
    if (head->turn == NULL)
        head->turn = loop_timer_new(head->loop, head_channel_on_turn, head);
    loop_timer_set(head->turn, 0);
    return true;
}

static void parsed(uv_work_t *uv, int status)
{
    (void)status;
    struct head_work *work = CONTAINER_OF(uv, struct head_work, uv);
    struct head *head = work->head;
    if (head != NULL) {
        head_hold(head);
        head->work = NULL;
        if (work->is_bad)
            head_break(head, work->err.message);
        else
            head_on_frame(head, work->frame);
        take_frames(head);
        keep_budget(head);
        head_want_events(head);
        head_let_go(head);
    }
    json_decref(work->frame);
    buf_free(&work->bytes);
    free(work);
}

/* All that have arrived, up to one that a worker has to read first, or that has called. */
static void take_frames(struct head *head)
{
    while (head->poll != NULL && !is_reading_on(head) && !yield_turn(head)) {
        struct err e;
        const char *payload;
        size_t len;
        int rc = frame_next(&head->in, &payload, &len, &e);
        if (rc < 0)
            head_break(head, e.message);
        if (rc <= 0)
            return;
        if (len > LONG_FRAME) {
            struct head_work *work = mem_alloc(sizeof(*work));
            work->head = head;
            work->payload = frame_take(&head->in, payload, len, &work->bytes);
            work->len = len;
            head->work = work;
            uv_queue_work(head->loop, &work->uv, parse_in_worker, parsed);
            continue;
        }
        _json_ json_t *frame = NULL;
        if (json_read_object(payload, len, &frame, &e) < 0)
            head_break(head, e.message);
        else
            head_on_frame(head, frame);
    }
}

/* Gives up the order whose descriptors the kernel does not take; the order fills `out` alone. */
static void head_drop_order(struct head *head)
{
    head->refused_ms = 0;
    head_close_fds(head);
    buf_clear(&head->out);
}

void head_prefer_next(struct head *head)
{
    if (head->refused_ms == 0)
        return;
    head_drop_order(head);
    if (head->order == HEAD_ORDER_CHECKPOINT)
        head->dropped_fork = head->order_id;
    loop_timer_set(head->again,
                   0); /* tells of it later: our caller is in the middle of something */
}

/* Nothing of the order was sent, so the driver knows nothing of it and the session goes on. */
static void head_channel_on_again(void *context)
{
    struct head *head = context;
    head_hold(head);
    bool is_late = clock_mono_ms() - head->refused_ms >= HEAD_CHANNEL_REFUSED_MS;
    uint64_t fork = head->dropped_fork;
    head->dropped_fork = 0;
    if (fork != 0)
        head_on_unsent(head, HEAD_ORDER_CHECKPOINT, fork);
    if (head->again == NULL) {
        /* whoever was told has closed the channel */
    } else if (!head_flush(head)) {
        head_lose(head);
    } else if (head->refused_ms != 0 && is_late) {
        head_drop_order(head);
        head_on_unsent(head, head->order, head->order_id);
    }
    head_want_events(head);
    head_let_go(head);
}

/* Sends what it can now; the rest goes when the socket has room, or the kernel takes descriptors
 * again. False if the channel is gone. */
bool head_flush(struct head *head)
{
    while (head->out.len > head->out_sent) {
        size_t n_fds = (size_t)(head->out_fds[0] >= 0) + (head->out_fds[1] >= 0);
        ssize_t n = fd_send(head->sock, head->out.data + head->out_sent,
                            head->out.len - head->out_sent, head->out_fds, n_fds);
        if (n == -ETOOMANYREFS) {
            /* More descriptors are under way in sockets of this user than the kernel allows. That
             * passes. */
            if (head->refused_ms == 0)
                head->refused_ms = clock_mono_ms();
            if (head->again == NULL)
                head->again = loop_timer_new(head->loop, head_channel_on_again, head);
            if (head->dropped_fork == 0)
                loop_timer_set(head->again, HEAD_CHANNEL_AGAIN_MS);
        }
        if (n == -EAGAIN || n == -ETOOMANYREFS)
            return true;
        if (n < 0)
            return false;
        head->refused_ms = 0;
        head_close_fds(head);
        head->out_sent += (size_t)n;
    }
    head->out_sent = 0;
    if (head->out.cap > UNREAD_MAX)
        buf_free(&head->out);
    else
        buf_clear(&head->out);
    return true;
}

/* The copy's first byte is for the warden, who learns from it who the copy is. */
static void head_channel_on_first_byte(struct head *head)
{
    struct err e;
    ssize_t n = channel_peek(head->sock);
    if (n == -EAGAIN)
        return;
    loop_poll_want(head->poll, 0);
    if (n != 1)
        err_set(&e, ERR_GONE, "the checkpoint did not wake");
    if (n != 1 ||
        warden_adopt(head->warden, head->room->jail, head->number, WARDEN_HEAD, head->sock, &e) < 0)
        head_ended(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = e.message});
}

static void on_socket(void *context, int events)
{
    struct head *head = context;
    head_hold(head);
    if (head->state == HEAD_WAKING) {
        head_channel_on_first_byte(head);
        head_let_go(head);
        return;
    }
    if ((events & LOOP_WRITE) && !head_flush(head))
        head_lose(head);
    if ((events & LOOP_READ) && head->poll != NULL && !is_reading_on(head)) {
        /* Only what walks in has a descriptor to give, and only before it says anything else. */
        bool may_give = head->state == HEAD_ENTERING && !head->is_copy && head->denied == NULL &&
                        head->given < 0;
        ssize_t n = may_give ? frame_fill_with(&head->in, head->sock, &head->given)
                             : frame_fill(&head->in, head->sock);
        if (n > 0) {
            take_frames(head);
            settle_frames(head);
        } else if (n == -EBADMSG) {
            head_break(head, "it sent a descriptor to the daemon");
        } else if (n != -EAGAIN) {
            head_lose(head);
        }
    }
    head_want_events(head);
    head_let_go(head);
}

int head_open_channel(struct head *head, struct err *e)
{
    head->poll = loop_poll_read(head->loop, head->sock, on_socket, head);
    if (head->poll == NULL)
        return err_set(e, ERR_UNAVAILABLE, "the control socket cannot be watched");
    return 0;
}

/* Sends what was appended since `mark`. False if the channel is gone or the driver does not read.
 */
bool head_send(struct head *head, size_t mark)
{
    bool is_sent = frame_end(&head->out, mark) && head_flush(head) &&
                   head->out.len - head->out_sent <= UNREAD_MAX;
    if (is_sent)
        head_want_events(head);
    return is_sent;
}
