/* An interpreter's life: entering, ready, busy, gone. Daemon; owns its channel. */
#include "runtime/head.h"

#include "base/channel.h"
#include "runtime/head_parts.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define OUT_MAX (16 * MIB) /* a cell's code, escaped, is far below it */

struct head *head_new(struct room *room, uv_loop_t *loop, uint64_t number)
{
    struct head *head = mem_alloc(sizeof(*head));
    list_init(&head->node);
    list_init(&head->denials_node);
    list_init(&head->large_node);
    head->warden = room->warden;
    head->loop = loop;
    head->number = number;
    ids_uuid(head->name);
    head->room = room;
    list_append(&room->heads, &head->room_node);
    head->sock = head->out_fds[0] = head->out_fds[1] = head->given = -1;
    head->in = FRAME_READER_INIT;
    head->out = BUF_INIT(OUT_MAX);
    return head;
}

void head_free(struct head *head)
{
    if (head == NULL)
        return;
    list_remove(&head->node);
    head_close_channel(head);
    list_remove(&head->denials_node);
    denials_drop(take_ptr(head->denied));
    if (head->given >= 0)
        close(take_fd(&head->given));
    if (head->sock >= 0)
        channel_close(take_fd(&head->sock));
    list_remove(&head->room_node);
    /* The last one's processes end with the room. */
    if (!room_is_deserted(head->room)) {
        head_signal(head, SIGKILL);
        head_watch(head, false);
    }
    head->room = NULL;
    head->is_freed = true;
    if (head->n_holds == 0)
        free(head);
}

void head_disown(struct head *head)
{
    head->has_process = false;
}

int head_take_channel(struct head *head)
{
    head_close_channel(head);
    return take_fd(&head->sock);
}

/* A callback may free the head while a function of ours still has it in hand. */
void head_hold(struct head *head)
{
    head->n_holds++;
}

void head_let_go(struct head *head)
{
    if (--head->n_holds == 0 && head->is_freed)
        free(head);
}

void head_move(struct head *head, enum head_state to)
{
    static const bool is_legal[][HEAD_ENDED + 1] = {
        [HEAD_WAITING] = {[HEAD_WAKING] = true, [HEAD_ENTERING] = true},
        [HEAD_WAKING] = {[HEAD_ENTERING] = true},
        [HEAD_ENTERING] = {[HEAD_IDLE] = true},
        [HEAD_IDLE] = {[HEAD_SETTING] = true, [HEAD_LOADING] = true, [HEAD_RUNNING] = true},
        [HEAD_SETTING] = {[HEAD_IDLE] = true},
        [HEAD_LOADING] = {[HEAD_IDLE] = true},
        [HEAD_RUNNING] = {[HEAD_IDLE] = true},
        [HEAD_ENDED] = {0},
    };
    assert(to == HEAD_ENDED || is_legal[head->state][to]);
    head->state = to;
}

void head_ended(struct head *head, const struct head_end_facts *facts)
{
    if (head->state == HEAD_ENDED && facts->how != HEAD_EXITED)
        return;
    head_move(head, HEAD_ENDED);
    head->running_id = 0;
    head->awaits_input = head->is_asked = head->is_asked_declared = false;
    head->judging = HEAD_ASKED_NOTHING;
    head->tool_call = 0;
    head->n_forks = 0;
    head_close_channel(head);
    head->listener->on_end(head, facts);
}

/* Nothing of the channel can be believed any more. */
void head_break(struct head *head, const char *what)
{
    head_ended(head, &(struct head_end_facts){.how = HEAD_BROKEN, .text = what});
}

/* While the interpreter still enters its jail, the warden knows more: how the process ended, or
 * that none was made. */
void head_lose(struct head *head)
{
    if (head->state == HEAD_ENTERING) {
        head_close_channel(head);
        head_signal(head, SIGKILL);
        return;
    }
    head_ended(head, &(struct head_end_facts){.how = HEAD_BROKEN,
                                              .is_closed = true,
                                              .text = "the control socket was closed"});
}

void head_signal(struct head *head, int sig)
{
    struct err ignored; /* a lost warden is told to everybody in its own way */
    if (head->has_process)
        warden_signal(head->warden, head->number, sig, &ignored);
}

void head_watch(struct head *head, bool is_busy)
{
    head->is_watched = is_busy;
    room_watch(head->room);
}

void head_describe_end(const struct head_end_facts *facts, char *out, size_t size)
{
    if (facts->how != HEAD_EXITED)
        snprintf(out, size, "%s", facts->text);
    else if (facts->oom_kills > 0)
        snprintf(out, size, "the interpreter ran out of memory before it was ready");
    else if (WIFSIGNALED(facts->status))
        snprintf(out, size, "the interpreter was ended by signal %d (%s) before it was ready",
                 WTERMSIG(facts->status), strsignal(WTERMSIG(facts->status)));
    else
        snprintf(out, size, "the interpreter ended with exit code %d before it was ready",
                 WEXITSTATUS(facts->status));
}

static int make_pair(int socks[2], struct err *e)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) == 0)
        return 0;
    err_errno(e, ERR_UNAVAILABLE, errno, "making a control socket");
    return err_advise(e, "Raise the daemon's limit of open files, or end some sessions.");
}

int head_socketpair(int socks[2], struct err *e)
{
    const int yes = 1;
    if (make_pair(socks, e) < 0)
        return -1;
    channel_refuse_descriptors(socks[0]);
    if (setsockopt(socks[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0)
        return 0;
    err_errno(e, ERR_UNAVAILABLE, errno, "asking the kernel who writes to a socket");
    close(socks[0]);
    close(socks[1]);
    return -1;
}

int head_await(struct head *head, struct denials *denied, struct err *e)
{
    assert(head->state == HEAD_WAITING);
    int socks[2];
    if (head_socketpair(socks, e) < 0)
        return -1;
    head->sock = socks[0];
    if (head_open_channel(head, e) < 0) {
        close(socks[1]);
        return -1;
    }
    head->is_copy = true;
    head->denied = denials_hold(denied);
    if (denied != NULL)
        denials_join(denied, head);
    head_move(head, HEAD_WAKING);
    return socks[1];
}

int head_enter(struct head *head, uint32_t zygote, struct err *e)
{
    assert(head->state == HEAD_WAITING);
    int socks[2];
    if (make_pair(socks, e) < 0)
        return -1;
    head->sock = socks[0];
    _fd_ int theirs = socks[1];
    struct room *room = head->room;
    if (head_open_channel(head, e) < 0 ||
        warden_enter(head->warden, room->jail, head->number, zygote, room->name, &room->limits,
                     theirs, e) < 0)
        return -1;
    room->is_known = true;
    head->has_process = true;
    head_move(head, HEAD_ENTERING);
    return 0;
}

static void on_exited(struct head *head, const struct warden_event *event)
{
    struct room *room = head->room;
    struct head_end_facts facts = {.how = HEAD_EXITED,
                                   .status = event->status,
                                   .oom_kills = event->oom_kills - room->oom_kills,
                                   .pids_refused = event->pids_refused - room->pids_refused,
                                   .peak_bytes = event->peak_bytes,
                                   .text = ""};
    /* What ended one head of a room is not what ends the next. */
    room->oom_kills = event->oom_kills;
    room->pids_refused = event->pids_refused;
    head_ended(head, &facts);
}

void head_on_event(struct head *head, const struct warden_event *event)
{
    const int no = 0;
    head_hold(head);
    switch (event->type) {
    case WARDEN_REFUSED:
        head->has_process = false;
        head_ended(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = event->text});
        break;
    case WARDEN_EXITED:
        head->has_process = false;
        on_exited(head, event);
        break;
    case WARDEN_SIGNALED:
        head->listener->on_signaled(head);
        break;
    case WARDEN_OVER_QUOTA:
        head->listener->on_over_quota(head, event->bytes, event->text);
        break;
    case WARDEN_GONE:
        head->has_process = false;
        head_ended(head, &(struct head_end_facts){.how = HEAD_BROKEN, .text = "its jail is gone"});
        break;
    case WARDEN_ENTERED:
        if (head->state != HEAD_WAKING)
            break;
        /* The warden knows it now; from here on the socket is like any other. */
        setsockopt(head->sock, SOL_SOCKET, SO_PASSCRED, &no, sizeof(no));
        head->has_process = true;
        head_move(head, HEAD_ENTERING);
        head_want_events(head);
        break;
    case WARDEN_ROOM:
    case WARDEN_CLEARED:
    case WARDEN_MEASURED:
    case WARDEN_LOOKED:
    case WARDEN_WEIGHED:
    case WARDEN_RECORDED:
    case WARDEN_RESTORED:
    case WARDEN_FILED:
    case WARDEN_SOCKET:
    case WARDEN_ZYGOTE_READY:
    case WARDEN_ZYGOTE_EXITED:
    case WARDEN_BACK:
        break;
    case WARDEN_LOST:
        head->has_process = false;
        head_ended(head,
                   &(struct head_end_facts){.how = HEAD_BROKEN,
                                            .text = "the process that keeps the sandboxes ended"});
        break;
    }
    head_let_go(head);
}
