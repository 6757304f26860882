/* Messages that wait for a process beside this one. Warden; owns the messages. */
#include "jail/warden/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct letter {
    struct list link;
    int fds[OUTBOX_FDS_MAX];
    size_t n_fds;
    size_t len;
    char data[];
};

void outbox_init(struct outbox *o, int sock)
{
    *o = (struct outbox){.sock = sock};
    list_init(&o->waiting);
}

static void remove_letter(struct outbox *o, struct letter *l)
{
    for (size_t i = 0; i < l->n_fds; i++)
        close(l->fds[i]);
    list_remove(&l->link);
    o->n_waiting--;
    free(l);
}

static int put_aside(struct outbox *o, const void *data, size_t len, const int *fds, size_t n_fds)
{
    struct letter *l = mem_alloc(sizeof(*l) + len);
    *l = (struct letter){.len = len};
    memcpy(l->data, data, len);
    list_append(&o->waiting, &l->link);
    o->n_waiting++;
    for (; l->n_fds < MIN(n_fds, (size_t)OUTBOX_FDS_MAX); l->n_fds++) {
        int fd = fcntl(fds[l->n_fds], F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            int r = -errno;
            remove_letter(o, l);
            return r;
        }
        l->fds[l->n_fds] = fd;
    }
    return 0;
}

/* 1: not now. */
static int try_to_send(struct outbox *o, const void *data, size_t len, const int *fds, size_t n_fds)
{
    ssize_t sent = fd_send(o->sock, data, len, fds, n_fds);
    o->is_stuck = sent == -ETOOMANYREFS;
    return sent >= 0 ? 0 : sent == -EAGAIN || o->is_stuck ? 1 : (int)sent;
}

int outbox_send(struct outbox *o, const void *data, size_t len, const int *fds, size_t n_fds)
{
    int r = o->n_waiting > 0 ? 1 : try_to_send(o, data, len, fds, n_fds);
    return r > 0 ? put_aside(o, data, len, fds, n_fds) : r;
}

int outbox_flush(struct outbox *o)
{
    LIST_EACH(&o->waiting, at) {
        struct letter *l = CONTAINER_OF(at, struct letter, link);
        int r = try_to_send(o, l->data, l->len, l->fds, l->n_fds);
        if (r != 0)
            return MIN(r, 0);
        remove_letter(o, l);
    }
    return 0;
}

void *outbox_find(struct outbox *o, bool (*matches)(const void *message, const void *with),
                  const void *with)
{
    for (struct list *at = o->waiting.prev; at != &o->waiting; at = at->prev) {
        struct letter *l = CONTAINER_OF(at, struct letter, link);
        if (matches(l->data, with))
            return l->data;
    }
    return NULL;
}

void outbox_free(struct outbox *o)
{
    o->is_stuck = false;
    LIST_EACH(&o->waiting, at)
        remove_letter(o, CONTAINER_OF(at, struct letter, link));
}
