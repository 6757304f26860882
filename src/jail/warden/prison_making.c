/* Jails for those who come. Some are made ahead of time: a session need not wait for its
 * namespaces. */
#include "jail/warden/prison.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { SPARES_MAX = 2 };

static struct jail *make_jail(const struct request *r, uint32_t slot, struct err *e)
{
    struct jail *j;
    if (jail_make(prison.factory, r->jail, slot, r->workspace, &r->limits, &j, e) < 0) {
        prison_give_slot(slot);
        return NULL;
    }
    map_set(&prison.jails_by_id, prison_key(j->id).text, j);
    map_set(&prison.jails_by_init, prison_key((uint64_t)j->init_pid).text, j);
    return j;
}

bool prison_needs_spare(void)
{
    return prison.can_make_spares && prison.n_spares < SPARES_MAX && prison_has_slot();
}

void prison_make_spare(void)
{
    struct err e;
    /* The daemon counts jails from 1 up, so these numbers are free. */
    struct request r = {.jail = UINT64_MAX - prison.n_spares_made, .limits = JAIL_LIMITS_DEFAULT};
    snprintf(r.workspace, sizeof(r.workspace), ".spare-%zu", prison.n_spares_made++);
    struct jail *j = make_jail(&r, prison_take_slot(), &e);
    prison.can_make_spares = j != NULL; /* or the next session will say why */
    if (j == NULL)
        return;
    list_append(&prison.spares, &j->link);
    prison.n_spares++;
}

/* Turns a spare into the jail that is asked for. The mount of its workspace follows the directory
 * to its new name. */
static int refit(struct jail *j, const struct request *r, struct err *e)
{
    if (j->init_pid == 0)
        return err_set(e, ERR_UNAVAILABLE, "a spare jail has ended");
    if (prison.factory->cgroups.version != 0 &&
        cgroup_set_limits(&prison.factory->cgroups, &j->cgroup, &r->limits, e) < 0)
        return -1;
    int told = facts_set_limits(prison.factory->facts, j->facts, &r->limits);
    if (told < 0)
        return err_errno(e, ERR_UNAVAILABLE, told, "cannot write what the session is told");
    int workspaces = prison.factory->workspaces;
    if (renameat(workspaces, j->workspace, workspaces, r->workspace) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot name the workspace");
    map_remove(&prison.jails_by_id, prison_key(j->id).text);
    j->id = r->jail;
    map_set(&prison.jails_by_id, prison_key(j->id).text, j);
    j->limits = r->limits;
    memcpy(j->workspace, r->workspace, sizeof(j->workspace));
    return 0;
}

static struct jail *take_spare(const struct request *r)
{
    struct list *first = list_first(&prison.spares);
    if (first == NULL)
        return NULL;
    struct err e;
    struct jail *j = CONTAINER_OF(first, struct jail, link);
    list_remove(&j->link);
    prison.n_spares--;
    if (refit(j, r, &e) == 0)
        return j;
    j->was_refused = true; /* nobody knows of it */
    list_append(&prison.jails, &j->link);
    prison_end_jail(j);
    return NULL;
}

/* A workspace that was kept: the slot whose user owns it, if it is free, saves giving every file to
 * another. */
static struct jail *make_jail_around(const struct request *r, unsigned owner, struct err *e)
{
    uint32_t slot = jail_slot_of(prison.factory, owner);
    if (!prison_take_this_slot(slot))
        slot = prison_take_slot();
    struct jail *j = make_jail(r, slot, e);
    if (j != NULL)
        j->keeps_workspace = true; /* whatever comes, unless the daemon says otherwise */
    return j;
}

/* The jail that is there, else a new one. */
struct jail *prison_jail_for(const struct request *r, struct err *e)
{
    struct jail *j = prison_find_jail(r->jail);
    if (j != NULL && j->is_ending) {
        err_set(e, ERR_GONE, "the jail to join has ended");
        return NULL;
    }
    if (j != NULL)
        return j;
    if (!prison_has_slot()) {
        err_set(e, ERR_LIMIT, "too many jails");
        return NULL;
    }
    struct stat st;
    if (fstatat(prison.factory->workspaces, r->workspace, &st, AT_SYMLINK_NOFOLLOW) == 0)
        j = make_jail_around(r, st.st_uid, e);
    else if ((j = take_spare(r)) == NULL)
        j = make_jail(r, prison_take_slot(), e);
    if (j == NULL)
        return NULL;
    prison.can_make_spares = true;
    list_append(&prison.jails, &j->link);
    return j;
}
