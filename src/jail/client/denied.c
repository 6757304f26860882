/* Answers to system calls that the filter asks about. Daemon, on the loop; owns the listeners. */
#include "jail/denied.h"

#include "base/clock.h"
#include "loop/loop.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum {
    NOTICE_BYTES_MAX = 512,
    PER_TURN = 16,
    PAUSE_MS = 100,
};

struct denied {
    int listener;
    struct loop_poll *poll;
    struct loop_timer *pause; /* set while nothing is answered */
    uint64_t network;         /* of the jail; 0: not known */
    denied_fn on_denied;
    void *context;
    unsigned left;       /* answers that may be given now */
    uint64_t counted_ms; /* monotonic: until when `left` has grown */
    bool *is_freed;      /* of the turn under way, or NULL */
};

/* A descriptor of another kind does not know the question. */
static bool is_listener(int fd)
{
    uint64_t none = 0;
    return ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &none) < 0 && errno == ENOENT;
}

static void stop_listening(struct denied *d)
{
    loop_poll_close(take_ptr(d->poll), NULL);
    loop_timer_clear(d->pause);
    if (d->listener >= 0)
        close(take_fd(&d->listener));
}

/* Receiving waits when there is nothing to receive, whatever the descriptor's mode, so it is asked
 * first. What is asked about may be gone again by then: then receiving fails and does not wait. */
static bool is_asked(const struct denied *d, bool *ret_is_over)
{
    struct pollfd wait = {.fd = d->listener, .events = POLLIN};
    int n = poll(&wait, 1, 0);
    *ret_is_over = n == 1 && !(wait.revents & POLLIN);
    return n == 1 && (wait.revents & POLLIN);
}

/* Answers one and puts the number of its call into `ret_call`; false if there was none. */
static bool answer_one(const struct denied *d, struct seccomp_data *ret_call)
{
    _Alignas(struct seccomp_notif) char notice_bytes[NOTICE_BYTES_MAX] = {0};
    _Alignas(struct seccomp_notif_resp) char answer_bytes[NOTICE_BYTES_MAX] = {0};
    struct seccomp_notif *notice = (struct seccomp_notif *)notice_bytes;
    struct seccomp_notif_resp *answer = (struct seccomp_notif_resp *)answer_bytes;
    if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_RECV, notice) < 0)
        return false;
    answer->id = notice->id;
    /* Who asks waits in the call, so it neither changes its network nor its arguments meanwhile. If
     * it has ended and its number is another's by now, the answer finds nobody. */
    char process[16];
    snprintf(process, sizeof(process), "%u", notice->pid);
    if (d->network != 0 && notice->data.nr == SYS_socket && denied_network(process) == d->network)
        answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else /* libzmq, for one, lives with a network that cannot be asked, and ends by other errors */
        answer->error = notice->data.nr == SYS_socket ? -EOPNOTSUPP : -EPERM;
    *ret_call = notice->data;
    /* Who asked may have been killed meanwhile. */
    (void)ioctl(d->listener, SECCOMP_IOCTL_NOTIF_SEND, answer);
    return true;
}

static void denied_on_poll(void *context, int events)
{
    struct denied *d = context;
    bool is_freed = false, is_over = false;
    (void)events;
    d->is_freed = &is_freed;
    uint64_t now_ms = clock_mono_ms();
    uint64_t more = (now_ms - d->counted_ms) * DENIED_PER_SECOND / 1000;
    if (more != 0) {
        d->left = (unsigned)MIN((uint64_t)DENIED_BURST, d->left + more);
        d->counted_ms = now_ms;
    }
    for (int i = 0; i < PER_TURN && !is_freed && d->left > 0 && is_asked(d, &is_over); i++) {
        struct seccomp_data call;
        d->left--;
        if (answer_one(d, &call) && call.nr != SYS_socket) {
            _free_ char *name = seccomp_syscall_resolve_num_arch(call.arch, call.nr);
            d->on_denied(d->context, name ? name : "unknown");
        }
    }
    if (is_freed)
        return;
    d->is_freed = NULL;
    if (is_over) { /* the last process that could ask has ended */
        stop_listening(d);
    } else if (d->left == 0) {
        loop_poll_want(d->poll, 0);
        loop_timer_set(d->pause, PAUSE_MS);
    }
}

static void on_pause_over(void *context)
{
    struct denied *d = context;
    if (d->poll != NULL)
        loop_poll_want(d->poll, LOOP_READ);
}

struct denied *denied_new(uv_loop_t *loop, int listener, uint64_t network, denied_fn on_denied,
                          void *context)
{
    struct denied *d = mem_alloc(sizeof(*d));
    *d = (struct denied){.listener = listener,
                         .network = network,
                         .on_denied = on_denied,
                         .context = context,
                         .left = DENIED_BURST,
                         .counted_ms = clock_mono_ms()};
    d->pause = loop_timer_new(loop, on_pause_over, d);
    /* The kernel's structs may be larger than ours, but not than what we have room for. */
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
        MAX(sizes.seccomp_notif, sizes.seccomp_notif_resp) <= NOTICE_BYTES_MAX &&
        is_listener(listener))
        d->poll = loop_poll_new(loop, listener, denied_on_poll, d);
    if (d->poll == NULL) {
        denied_free(d);
        return NULL;
    }
    loop_poll_want(d->poll, LOOP_READ);
    return d;
}

void denied_free(struct denied *d)
{
    if (d == NULL)
        return;
    if (d->is_freed != NULL)
        *d->is_freed = true;
    stop_listening(d);
    loop_timer_close(d->pause, NULL);
    free(d);
}
