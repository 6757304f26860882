/* Sockets that lead into a sandbox: read without taking descriptors, closed without waiting.
 * Daemon; owns the threads that close what might block. */
#include "base/channel.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

enum {
    RIGHTS_MAX = 253, /* the kernel's limit of descriptors in one message */
    CLOSERS_MAX = 16, /* threads that close */
    DRAIN_SIZE = 16 * 1024,
};

/* ---- closing on threads that may block ------------------------------------------------------- */

struct doomed {
    struct doomed *next;
    size_t n;
    int fds[];
};

static struct {
    pthread_mutex_t lock;
    struct doomed *first; /* not taken by a thread yet */
    size_t n_waiting;     /* descriptors of those */
    unsigned n_threads;
    void (*on_congestion)(size_t n_kept);
} closers = {.lock = PTHREAD_MUTEX_INITIALIZER};

void channel_on_congestion(void (*tell)(size_t n_kept))
{
    closers.on_congestion = tell;
}

static struct doomed *take_doomed(void)
{
    pthread_mutex_lock(&closers.lock);
    struct doomed *d = closers.first;
    if (d != NULL) {
        closers.first = d->next;
        closers.n_waiting -= d->n;
    } else {
        closers.n_threads--;
    }
    pthread_mutex_unlock(&closers.lock);
    return d;
}

static void *close_doomed(void *unused)
{
    struct doomed *d;
    (void)unused;
    while ((d = take_doomed()) != NULL) {
        for (size_t i = 0; i < d->n; i++)
            close(d->fds[i]);
        free(d);
    }
    return NULL;
}

/* Signals are for the threads that were there before. */
static bool start_closer(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&thread, &attr, close_doomed, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return is_started;
}

static void close_elsewhere(const int *fds, size_t n)
{
    struct doomed *d = mem_alloc(sizeof(*d) + n * sizeof(int));
    d->n = n;
    memcpy(d->fds, fds, n * sizeof(int));
    pthread_mutex_lock(&closers.lock);
    d->next = closers.first;
    closers.first = d;
    size_t n_kept = closers.n_waiting += n;
    bool has_closer = closers.n_threads < CLOSERS_MAX && start_closer();
    closers.n_threads += has_closer;
    pthread_mutex_unlock(&closers.lock);
    if (!has_closer && closers.on_congestion != NULL)
        closers.on_congestion(n_kept);
}

/* ---- the kernel's part ----------------------------------------------------------------------- */

/* Tests have the daemon behave as it does on older kernels. */
static bool is_kernel_asked(void)
{
    static atomic_int answer = -1;
    if (answer < 0)
        answer = getenv("CELLA_TEST_NO_PASSRIGHTS") == NULL;
    return answer > 0;
}

void channel_refuse_descriptors(int sock)
{
    const int no = 0;
    if (is_kernel_asked())
        setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no)); /* before 6.16: see below */
}

/* ---- reading and closing --------------------------------------------------------------------- */

union channel_control {
    char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * RIGHTS_MAX)];
    struct cmsghdr align;
};

/* The descriptors that came along, and the writer's pid. */
static size_t read_control(struct msghdr *msg, int fds[RIGHTS_MAX], pid_t *ret_writer)
{
    size_t n = 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h != NULL; h = CMSG_NXTHDR(msg, h)) {
        struct ucred writer;
        if (h->cmsg_level != SOL_SOCKET)
            continue;
        if (h->cmsg_type == SCM_RIGHTS) {
            n = MIN((h->cmsg_len - CMSG_LEN(0)) / sizeof(int), (size_t)RIGHTS_MAX);
            memcpy(fds, CMSG_DATA(h), n * sizeof(int));
        } else if (h->cmsg_type == SCM_CREDENTIALS && h->cmsg_len == CMSG_LEN(sizeof(writer))) {
            memcpy(&writer, CMSG_DATA(h), sizeof(writer));
            *ret_writer = writer.pid;
        }
    }
    return n;
}

ssize_t channel_recv(int sock, void *data, size_t len, pid_t *ret_writer)
{
    struct iovec iov = {.iov_base = data, .iov_len = len};
    union channel_control control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    ssize_t n;
    do
        n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    int fds[RIGHTS_MAX];
    pid_t writer = 0;
    size_t n_fds = read_control(&msg, fds, &writer);
    if (ret_writer != NULL)
        *ret_writer = writer;
    if (n_fds > 0)
        close_elsewhere(fds, n_fds);
    /* MSG_CTRUNC: some came for which we had no number left. */
    return n_fds > 0 || (msg.msg_flags & MSG_CTRUNC) ? -EBADMSG : n;
}

/* What is only looked at is not the last to be let go: the queue holds it, too. */
ssize_t channel_peek(int sock)
{
    char byte;
    ssize_t n = recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n < 0 ? -errno : n;
}

/* The queue is looked through, after its entrance was closed: it is short, and what holds no
 * descriptor can be closed here. */
void channel_close(int sock)
{
    char bytes[DRAIN_SIZE];
    ssize_t n = 0;
    int passes = 1;
    socklen_t size = sizeof(passes);
    bool is_refusing =
        getsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &passes, &size) == 0 && passes == 0;
    if (!is_refusing) {
        shutdown(sock, SHUT_RDWR);
        do
            n = channel_recv(sock, bytes, sizeof(bytes), NULL);
        while (n > 0);
    }
    if (n == -EBADMSG)
        close_elsewhere(&sock, 1);
    else
        close(sock);
}
