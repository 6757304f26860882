/* The warden's side of the keeper, who measures workspaces and removes them. */
#include "base/fd.h"
#include "jail/warden/keeper.h"
#include "jail/warden/prison.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

/* Whether an order that waits can take over what the next one says. */
static bool says_the_same(const void *waiting, const void *with)
{
    const struct keeper_order *a = waiting, *b = with;
    if (a->type != b->type)
        return false;
    return a->type == KEEPER_SWEEP ||
           ((a->type == KEEPER_WATCH || a->type == KEEPER_BUSY || a->type == KEEPER_COUNT) &&
            a->jail == b->jail) ||
           (a->type == KEEPER_MEASURE && a->head == b->head);
}

/* The keeper's main thread does nothing that a session could prolong, and still nobody waits for
 * it: what does not fit into its socket waits here. There is little of it for each jail, because an
 * order that waits is replaced by the next one of its kind. */
static void send_keeper(const struct keeper_order *order, const int *fds, size_t n_fds)
{
    struct keeper_order *same = outbox_find(&prison.to_keeper, says_the_same, order);
    if (same != NULL)
        *same = *order;
    else if (outbox_send(&prison.to_keeper, order, sizeof(*order), fds, n_fds) < 0)
        _exit(1); /* without its keeper no quota holds */
}

void prison_flush_keeper(void)
{
    if (outbox_flush(&prison.to_keeper) < 0)
        _exit(1);
}

void prison_order_keeper(enum keeper_order_type type, const struct jail *j, bool is_busy,
                         const int *fds, size_t n_fds)
{
    struct keeper_order order = {.type = type,
                                 .jail = j->id,
                                 .disk_mb = j->limits.disk_mb,
                                 .n_inmates = j->n_inmates,
                                 .is_busy = is_busy};
    memcpy(order.workspace, j->workspace, sizeof(order.workspace));
    send_keeper(&order, fds, n_fds);
}

void prison_read_keeper(void)
{
    struct keeper_word word;
    ssize_t n = recv(prison.to_keeper.sock, &word, sizeof(word), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof(word))
        _exit(1);
    if (word.type == KEEPER_SAYS_MEASURED) {
        prison_tell(
            &(struct report){.type = WARDEN_MEASURED, .head = word.head, .bytes = word.bytes}, "");
        return;
    }
    struct jail *j = prison_find_jail(word.jail);
    if (j == NULL)
        return;
    if (word.type == KEEPER_SAYS_REMOVED) {
        j->is_removing = false;
        prison_bury(j);
        return;
    }
    struct report report = {.type = WARDEN_OVER_QUOTA, .jail = j->id, .bytes = word.bytes};
    if (word.type != KEEPER_SAYS_UNDER)
        prison_tell(&report, word.is_uncountable
                                 ? "its processes hold more open and mapped files than can be "
                                   "counted"
                                 : "");
    if (word.type == KEEPER_SAYS_FAR_OVER)
        prison_kill_all(j);
}

void prison_start_keeper(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        _exit(1);
    pid_t pid = fork();
    if (pid < 0)
        _exit(1);
    if (pid == 0) {
        close(pair[0]);
        close(prison.control); /* the daemon must see the warden's end, not ours */
        keeper_main(pair[1], prison.factory->workspaces);
    }
    close(pair[1]);
    fd_set_nonblocking(pair[0], true);
    outbox_init(&prison.to_keeper, pair[0]);
    prison.keeper_pid = pid;
}

void prison_watch(struct jail *j, bool is_busy)
{
    if (j->is_ending)
        return;
    if (j->proc_fd >= 0) {
        _fd_ int workspace = openat(prison.factory->workspaces, j->workspace,
                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const int fds[2] = {workspace, j->proc_fd};
        if (workspace < 0)
            return;
        prison_order_keeper(KEEPER_WATCH, j, is_busy, fds, 2);
        close(take_fd(&j->proc_fd));
    }
    prison_order_keeper(KEEPER_BUSY, j, is_busy, NULL, 0);
    struct cgroup_use use;
    prison_get_use(j, &use);
    facts_refresh(prison.factory->facts, j->facts, &use);
}

void prison_measure(const struct request *r)
{
    const struct inmate *i = prison_find_inmate(r->head);
    send_keeper(&(struct keeper_order){.type = KEEPER_MEASURE,
                                       .head = r->head,
                                       .pid = i != NULL ? i->pid : 0},
                NULL, 0);
}

/* One that a jail still uses stays, unless that jail is about to leave it. */
void prison_remove_workspace(const struct request *r)
{
    LIST_EACH(&prison.jails, at) {
        struct jail *j = CONTAINER_OF(at, struct jail, link);
        if (strcmp(j->workspace, r->workspace) != 0)
            continue;
        if (j->is_ending)
            j->keeps_workspace = false;
        return;
    }
    relay_drop(&prison.relay, r->workspace);
    keeper_set_aside(prison.factory->workspaces, r->workspace);
    send_keeper(&(struct keeper_order){.type = KEEPER_SWEEP}, NULL, 0);
}
