/* Workspaces whose owner another jail has by now: a branch that was suspended, while the session
 * that it shared its user with goes on. Giving every file to another user takes as long as there
 * are files, which the session decided; so a process of its own does it, and whoever wants to enter
 * is let in afterwards. */
#include "jail/warden/prison.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

struct handover {
    struct list link; /* in prison.handovers */
    pid_t pid;        /* who does it; several may wait for one */
    uint32_t slot;    /* whose user gets the files; kept free until then. SLOTS_MAX: another's */
    struct request r;
    int sock;
    bool is_unwanted; /* the jail was to be destroyed meanwhile */
    bool keeps_workspace;
};

static struct handover *find_handover(const char *workspace)
{
    LIST_EACH(&prison.handovers, at) {
        struct handover *h = CONTAINER_OF(at, struct handover, link);
        if (strcmp(h->r.workspace, workspace) == 0)
            return h;
    }
    return NULL;
}

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

bool prison_hand_over(const struct request *r, int sock)
{
    const struct handover *other = find_handover(r->workspace);
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

static void finish(struct handover *h, int status)
{
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

bool prison_handover_ended(pid_t pid, int status)
{
    bool was_one = false;
    LIST_EACH(&prison.handovers, at) {
        struct handover *h = CONTAINER_OF(at, struct handover, link);
        if (h->pid != pid)
            continue;
        was_one = true;
        finish(h, status);
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
