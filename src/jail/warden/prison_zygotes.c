/* Zygotes, and the interpreters that they fork into jails. Warden; owns the zygotes. */
#include "jail/warden/prison.h"
#include "jail/warden/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { ERRORS_SHOWN = 4096 };

struct zygote *prison_find_zygote(uint32_t id)
{
    LIST_EACH(&prison.zygotes, at) {
        struct zygote *z = CONTAINER_OF(at, struct zygote, link);
        if (z->id == id)
            return z;
    }
    return NULL;
}

/* With no fork under way, an unknown pid can only be a stray of a zygote's imports: forgetting it
 * keeps a later head with the same pid from being taken for dead. */
static void fork_answered(struct inmate *i)
{
    list_remove(&i->owed);
    if (!list_is_empty(&prison.owed))
        return;
    size_t at = 0;
    const char *key;
    void *status;
    while (map_next(&prison.early_exits, &at, &key, &status))
        free(status);
    map_free(&prison.early_exits);
}

static bool hand_over(const struct request *r, int sock); /* true: it is let in afterwards */

void prison_enter(const struct request *r, int session_sock)
{
    struct err e;
    struct zygote *z = prison_find_zygote(r->zygote);
    if (z == NULL || !z->is_ready) {
        prison_tell_refused(r->jail, r->head, "the interpreter for this profile is not running");
        return;
    }
    if (r->number == ENTER_JOINING && prison_find_jail(r->jail) == NULL) {
        prison_tell_refused(r->jail, r->head, "the session's sandbox has ended");
        return;
    }
    if (hand_over(r, session_sock))
        return;
    struct jail *j = prison_jail_for(r, &e);
    if (j == NULL) {
        prison_tell_refused(r->jail, r->head, e.message);
        return;
    }
    struct inmate *i = prison_add_inmate(j, r);
    list_append(&prison.owed, &i->owed);
    int asked = session_sock < 0 ? -ETOOMANYREFS
                                 : zygote_ask_fork(z, prison.factory, j, i->head, session_sock);
    if (asked < 0) {
        fork_answered(i);
        prison_refuse(i, asked == -ETOOMANYREFS
                             ? "the kernel passes no more descriptors on for the daemon's user"
                             : "the zygote does not answer");
    }
}

void prison_start_zygote(const struct request *r, const char *text, const char *end)
{
    struct err e = {0};
    struct zygote *z = NULL;
    const char *argv[ZYGOTE_ARGS_MAX + 1] = {""};
    size_t n = 0;
    for (const char *at = text; at < end && n < ZYGOTE_ARGS_MAX; at += strlen(at) + 1)
        argv[n++] = at;
    int failed = prison.n_zygotes == ZYGOTES_MAX
                     ? err_set(&e, ERR_LIMIT, "too many profiles are in use")
                     : zygote_start(r->zygote, argv, prison.factory->filter, &z, &e);
    if (failed) {
        prison_tell(&(struct report){.type = WARDEN_ZYGOTE_EXITED, .zygote = r->zygote}, e.message);
        return;
    }
    list_append(&prison.zygotes, &z->link);
    prison.n_zygotes++;
}

static void zygote_answered(const struct zygote_forked *answer)
{
    struct inmate *i = prison_find_inmate(answer->head);
    if (i == NULL || i->pid != 0)
        return;
    if (answer->errnum == 0) {
        struct jail *j = i->jail;
        i->pid = answer->pid;
        j->was_inhabited = true;
        map_set(&prison.inmates_by_pid, prison_key((uint64_t)answer->pid).text, i);
        int *early = map_remove(&prison.early_exits, prison_key((uint64_t)answer->pid).text);
        fork_answered(i);
        if (j->is_ending)
            kill(answer->pid, SIGKILL); /* its init may be alive, for the rooms below */
        else
            prison_tell(
                &(struct report){
                    .type = WARDEN_ENTERED, .jail = j->id, .head = i->head, .pid = answer->pid},
                "");
        if (early != NULL)
            prison_inmate_exited(i, *early);
        free(early);
        return;
    }
    char why[128];
    snprintf(why, sizeof(why), "the zygote cannot fork: %s", strerror(answer->errnum));
    fork_answered(i);
    prison_refuse(i, why);
}

void prison_read_zygote(struct zygote *z)
{
    char message[MESSAGE_TEXT_MAX];
    ssize_t n = recv(z->sock, message, sizeof(message) - 1, MSG_DONTWAIT);
    if (n <= 0)
        return; /* its end is told by its exit status */
    if (!z->is_ready) {
        message[n] = '\0';
        z->is_ready = true;
        prison_tell(&(struct report){.type = WARDEN_ZYGOTE_READY, .zygote = z->id}, message);
    } else if (n == (ssize_t)sizeof(struct zygote_forked)) {
        struct zygote_forked answer;
        memcpy(&answer, message, sizeof(answer));
        zygote_answered(&answer);
    }
}

void prison_zygote_exited(struct zygote *z, int status)
{
    LIST_EACH(&prison.owed, at) {
        struct inmate *i = CONTAINER_OF(at, struct inmate, owed);
        if (i->zygote != z->id)
            continue;
        fork_answered(i);
        prison_refuse(i, "the zygote ended");
    }
    char errors[ERRORS_SHOWN];
    zygote_read_errors(z, errors, sizeof(errors));
    prison_tell(&(struct report){.type = WARDEN_ZYGOTE_EXITED, .zygote = z->id, .status = status},
                errors);
    z->pid = 0;
    prison.n_zygotes--;
    zygote_free(z);
}

/* ---- workspaces that another user gets first ------------------------------------------------- */

/* Workspaces whose owner another jail has by now: a branch that was suspended, while the session
 * that it shared its user with goes on. Giving every file to another user takes as long as there
 * are files, which the session decided; so a process of its own does it, and whoever wants to enter
 * is let in afterwards. */

struct handover {
    struct list link; /* in prison.handovers */
    pid_t pid;        /* who does it; several may wait for one */
    uint32_t slot;    /* whose user gets the files; kept free until then. SLOTS_MAX: another's */
    struct request r;
    int sock;
    bool is_unwanted; /* the jail was to be destroyed meanwhile */
    bool keeps_workspace;
};

static bool needs_handover(const struct request *r)
{
    struct stat st;
    if (!prison.factory->has_id_range || prison_find_jail(r->jail) != NULL || !prison_has_slot() ||
        fstatat(prison.factory->workspaces, r->workspace, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    uint32_t slot = jail_slot_of(prison.factory, st.st_uid);
    if (!prison_take_this_slot(slot))
        return true;
    prison_give_slot(slot);
    return false;
}

static bool hand_over(const struct request *r, int sock)
{
    const struct handover *other = NULL;
    LIST_EACH(&prison.handovers, at) {
        const struct handover *open = CONTAINER_OF(at, struct handover, link);
        if (other == NULL && strcmp(open->r.workspace, r->workspace) == 0)
            other = open;
    }
    if (other == NULL && !needs_handover(r))
        return false;
    struct handover *h = mem_alloc(sizeof(*h));
    *h = (struct handover){.r = *r, .slot = SLOTS_MAX, .keeps_workspace = true};
    list_init(&h->link);
    h->sock = fcntl(sock, F_DUPFD_CLOEXEC, 0);
    if (other != NULL) {
        h->pid = other->pid;
    } else {
        h->slot = prison_take_slot();
        h->pid = fork();
        if (h->pid == 0) {
            prctl(PR_SET_NAME, "cella-giver");
            _exit(jail_give_workspace(prison.factory, r->workspace, h->slot) < 0);
        }
    }
    list_append(&prison.handovers, &h->link);
    if (h->pid < 0)
        prison_handover_ended(h->pid, -1);
    return true;
}

bool prison_handover_ended(pid_t pid, int status)
{
    bool was_one = false;
    LIST_EACH(&prison.handovers, at) {
        struct handover *h = CONTAINER_OF(at, struct handover, link);
        if (h->pid != pid)
            continue;
        was_one = true;
        list_remove(&h->link);
        if (h->slot < SLOTS_MAX)
            prison_give_slot(h->slot);
        if (h->is_unwanted) {
            if (!h->keeps_workspace)
                prison_remove_workspace(&h->r);
            prison_tell(&(struct report){.type = WARDEN_GONE, .jail = h->r.jail}, "");
        } else if (status != 0 || h->sock < 0) {
            prison_tell_refused(h->r.jail, h->r.head, "cannot give the workspace to its new user");
        } else {
            prison_enter(&h->r, h->sock);
        }
        cleanup_fd(&h->sock);
        free(h);
    }
    return was_one;
}

void prison_give_up_handover(uint64_t jail, bool keep_workspace)
{
    LIST_EACH(&prison.handovers, at) {
        struct handover *h = CONTAINER_OF(at, struct handover, link);
        if (h->r.jail != jail)
            continue;
        h->is_unwanted = true;
        h->keeps_workspace = keep_workspace;
    }
}
