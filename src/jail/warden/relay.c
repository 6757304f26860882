/* The warden's side of the archivist. Owns the orders that wait for an answer. */
#include "jail/warden/relay.h"

#include "base/fd.h"
#include "jail/files/archivist.h"
#include "jail/syscalls.h"

#include <fcntl.h>
#include <sys/socket.h>

enum {
    SOCK_FD = 3, /* and the next two: the workspaces, the store */
    WAITING_MAX = 4096,
};

struct waiting {
    struct list link;
    enum archivist_order_type type;
    uint64_t ticket;
};

/* ---- starting -------------------------------------------------------------------------------- */

/* The warden's descriptors are no business of the archivist's, the jails' least of all. */
static _Noreturn void become_archivist(const struct relay *r, int sock)
{
    const int kept[] = {sock, r->workspaces, r->store};
    int high[ARRAY_LEN(kept)];
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        high[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, 16);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (high[i] < 0 || dup3(high[i], SOCK_FD + (int)i, O_CLOEXEC) < 0)
            _exit(1);
    sys_close_from(SOCK_FD + ARRAY_LEN(kept));
    archivist_main(SOCK_FD, SOCK_FD + 1, SOCK_FD + 2);
}

static bool start(struct relay *r)
{
    int pair[2];
    if (r->sock >= 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        become_archivist(r, pair[1]);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return false;
    }
    fd_set_nonblocking(pair[0], true);
    r->sock = pair[0];
    outbox_init(&r->out, r->sock);
    r->pid = pid;
    return true;
}

void relay_init(struct relay *r, int workspaces, int store, relay_tell tell)
{
    *r = (struct relay){.workspaces = workspaces, .store = store, .sock = -1, .tell = tell};
    list_init(&r->waiting);
    outbox_init(&r->out, -1);
}

/* ---- answers --------------------------------------------------------------------------------- */

static enum warden_event_type event_of(enum archivist_order_type type)
{
    return type == ARCHIVIST_RECORD ? WARDEN_RECORDED
           : type == ARCHIVIST_FILE ? WARDEN_FILED
                                    : WARDEN_RESTORED;
}

static void tell_failed(struct relay *r, enum archivist_order_type type, uint64_t ticket,
                        const char *why)
{
    char text[512];
    if (type == ARCHIVIST_RECORD)
        snprintf(text, sizeof(text),
                 "{\"manifest\":null,\"files\":0,\"bytes\":0,\"new_bytes\":0,\"skipped\":0,"
                 "\"torn\":false,\"over_budget\":false,\"reason\":\"%s\"}",
                 why);
    else if (type == ARCHIVIST_FILE)
        snprintf(text, sizeof(text),
                 "{\"code\":%d,\"message\":\"%s\",\"advice\":\"Try again.\",\"hash\":null,"
                 "\"bytes\":0,\"created\":false,\"manifest\":null,\"details\":null}",
                 ERR_UNAVAILABLE, why);
    else
        snprintf(text, sizeof(text),
                 "{\"changed\":0,\"removed\":0,\"created\":0,\"errors\":[\"%s\"],"
                 "\"more_errors\":0}",
                 why);
    r->tell(&(struct report){.type = (int32_t)event_of(type), .head = ticket}, text);
}

static void remove_waiting(struct relay *r, struct waiting *w)
{
    list_remove(&w->link);
    r->n_waiting--;
    free(w);
}

/* Its socket ended, which may be known before its process is reaped. */
static void relay_give_up(struct relay *r)
{
    if (r->sock >= 0)
        close(r->sock);
    r->sock = -1;
    outbox_free(&r->out);
    LIST_EACH(&r->waiting, at) {
        struct waiting *w = CONTAINER_OF(at, struct waiting, link);
        tell_failed(r, w->type, w->ticket,
                    "the process that keeps the files ended meanwhile; what it was doing is not "
                    "finished and can be done again");
        remove_waiting(r, w);
    }
}

/* False: there was nothing to read. */
static bool read_one(struct relay *r)
{
    static char message[sizeof(struct archivist_word) + MESSAGE_TEXT_MAX + 1];
    ssize_t n = recv(r->sock, message, sizeof(message) - 1, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < (ssize_t)sizeof(struct archivist_word)) {
        relay_give_up(r);
        return true;
    }
    message[n] = '\0';
    struct archivist_word word;
    memcpy(&word, message, sizeof(word));
    LIST_EACH(&r->waiting, at) {
        struct waiting *w = CONTAINER_OF(at, struct waiting, link);
        if (w->ticket != word.ticket || w->type != word.type)
            continue;
        remove_waiting(r, w);
        r->tell(&(struct report){.type = (int32_t)event_of(word.type), .head = word.ticket},
                message + sizeof(word));
        break;
    }
    return true;
}

void relay_read(struct relay *r)
{
    read_one(r);
}

bool relay_reaped(struct relay *r, pid_t pid)
{
    if (pid != r->pid || pid == 0)
        return false;
    /* What it had said before is heard first. */
    while (r->sock >= 0 && read_one(r))
        ;
    r->pid = 0;
    relay_give_up(r);
    return true;
}

/* ---- orders ---------------------------------------------------------------------------------- */

void relay_order(struct relay *r, const struct request *request,
                 const struct warden_file_order *file, int out)
{
    struct archivist_order order = {
        .type = file != NULL                      ? ARCHIVIST_FILE
                : request->type == REQUEST_RECORD ? ARCHIVIST_RECORD
                                                  : ARCHIVIST_RESTORE,
        .ticket = request->head,
        .budget = request->budget,
    };
    memcpy(order.workspace, request->workspace, sizeof(order.workspace));
    memcpy(order.manifest, request->manifest, sizeof(order.manifest));
    if (file != NULL)
        order.file = *file;
    if (r->n_waiting == WAITING_MAX) {
        tell_failed(r, order.type, order.ticket, "too many orders about files are waiting");
        return;
    }
    if (!start(r) || outbox_send(&r->out, &order, sizeof(order), &out, out >= 0) < 0) {
        tell_failed(r, order.type, order.ticket,
                    "the process that keeps the files cannot be reached");
        return;
    }
    struct waiting *w = mem_alloc(sizeof(*w));
    *w = (struct waiting){.type = order.type, .ticket = order.ticket};
    list_append(&r->waiting, &w->link);
    r->n_waiting++;
}

void relay_flush(struct relay *r)
{
    if (outbox_flush(&r->out) < 0)
        relay_give_up(r);
}

static bool is_same_forget(const void *waiting, const void *with)
{
    const struct archivist_order *a = waiting, *b = with;
    return a->type == ARCHIVIST_FORGET && strcmp(a->workspace, b->workspace) == 0;
}

void relay_drop(struct relay *r, const char *workspace)
{
    struct archivist_order order = {.type = ARCHIVIST_FORGET};
    snprintf(order.workspace, sizeof(order.workspace), "%s", workspace);
    if (r->sock >= 0 && outbox_find(&r->out, is_same_forget, &order) == NULL)
        outbox_send(&r->out, &order, sizeof(order), NULL, 0);
}
