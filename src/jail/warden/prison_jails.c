/* Jails: how they are made, their inmates while they live, and how both come to their end. Warden;
 * owns the jails. */
#include "base/clock.h"
#include "jail/warden/keeper.h"
#include "jail/warden/prison.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

/* ---- cgroups that were busy when their jail ended -------------------------------------------- */

/* Cgroups of jails that are gone, with somebody still in them: a process of another jail that
 * slipped in by the key of a room. They are ended, and the groups go. */

enum { PRISON_JAILS_PACE_MIN_MS = 5, PRISON_JAILS_PACE_MAX_MS = 1000 };

struct busy_group {
    struct list link;
    struct cgroup group;
    uint64_t next_ms, pace_ms;
};

void prison_keep_busy_group(const struct cgroup *group)
{
    struct busy_group *b = mem_alloc(sizeof(*b));
    *b = (struct busy_group){.group = *group,
                             .pace_ms = PRISON_JAILS_PACE_MIN_MS,
                             .next_ms = clock_mono_ms() + PRISON_JAILS_PACE_MIN_MS};
    list_init(&b->link);
    list_append(&prison.busy_groups, &b->link);
}

int64_t prison_remove_busy_groups(void)
{
    uint64_t now_ms = clock_mono_ms();
    int64_t left_ms = -1;
    LIST_EACH(&prison.busy_groups, at) {
        struct busy_group *b = CONTAINER_OF(at, struct busy_group, link);
        if (b->next_ms <= now_ms) {
            if (cgroup_remove(&prison.factory->cgroups, &b->group)) {
                list_remove(&b->link);
                free(b);
                continue;
            }
            b->pace_ms = MIN(2 * b->pace_ms, (uint64_t)PRISON_JAILS_PACE_MAX_MS);
            b->next_ms = now_ms + b->pace_ms;
        }
        int64_t wait_ms = (int64_t)(b->next_ms - now_ms);
        left_ms = left_ms < 0 ? wait_ms : MIN(left_ms, wait_ms);
    }
    return left_ms;
}

/* ---- jails and their inmates while they live, and how both come to their end ----------------- */

static void count_inmates(struct jail *j, int change)
{
    j->n_inmates = (uint32_t)((int)j->n_inmates + change);
    if (j->proc_fd < 0 && !j->is_ending) /* it is watched */
        prison_order_keeper(KEEPER_COUNT, j, false, NULL, 0);
}

/* All its processes, but none of the rooms below it if that can be avoided. */
void prison_kill_all(struct jail *j)
{
    if (j->n_rooms > 0 && j->init_pid > 0)
        prison_empty(j);
    else
        jail_kill(j);
    prison_expect_end_of_room(j);
}

static void lay_to_rest(struct jail *j)
{
    struct jail *source = j->source;
    prison_give_slot(j->slot);
    jail_free(prison.factory, j);
    if (source == NULL || --source->n_rooms > 0 || !source->is_ending)
        return;
    jail_kill(source); /* nobody needs its init any more */
    if (source->is_hollow && source->init_pid == 0)
        lay_to_rest(source);
}

void prison_bury(struct jail *j)
{
    map_remove(&prison.jails_by_id, prison_key(j->id).text);
    if (!j->was_refused)
        prison_tell(&(struct report){.type = WARDEN_GONE, .jail = j->id}, "");
    if (j->init_pid == 0 && j->n_rooms == 0) {
        lay_to_rest(j);
        return;
    }
    j->is_hollow = true;
    j->workspace[0] = '\0'; /* a later jail's may have the same name */
}

/* Moves an ending jail on: when nobody owes an answer about it and all its processes are reaped,
 * its workspace goes, then the jail. The init of one with rooms below it is the last to go. */
void prison_settle(struct jail *j)
{
    bool is_empty = j->init_pid == 0 || j->n_rooms > 0;
    if (!j->is_ending || j->is_being_built || j->is_removing || !is_empty ||
        !list_is_empty(&j->inmates))
        return;
    /* Before the long part, and once more in jail_free. */
    if (j->init_pid == 0)
        cgroup_remove(&prison.factory->cgroups, &j->cgroup);
    if (j->is_hollow) {
        if (j->n_rooms == 0)
            lay_to_rest(j);
    } else if (j->keeps_workspace) {
        prison_order_keeper(KEEPER_FORGET, j, false, NULL, 0);
        prison_bury(j);
    } else {
        j->is_removing = true;
        relay_drop(&prison.relay, j->workspace);
        prison_order_keeper(KEEPER_REMOVE, j, false, NULL, 0);
    }
}

void prison_end_jail(struct jail *j)
{
    j->is_ending = true;
    prison_kill_all(j);
    prison_settle(j);
}

struct inmate *prison_add_inmate(struct jail *j, const struct request *r)
{
    struct inmate *i = mem_alloc(sizeof(*i));
    *i = (struct inmate){.jail = j, .head = r->head, .zygote = r->zygote};
    list_init(&i->owed);
    list_init(&i->expected);
    list_append(&j->inmates, &i->link);
    map_set(&prison.inmates_by_head, prison_key(i->head).text, i);
    count_inmates(j, 1);
    return i;
}

static void remove_inmate(struct inmate *i)
{
    map_remove(&prison.inmates_by_head, prison_key(i->head).text);
    if (i->pid != 0)
        map_remove(&prison.inmates_by_pid, prison_key((uint64_t)i->pid).text);
    list_remove(&i->owed);
    list_remove(&i->expected);
    list_remove(&i->link);
    count_inmates(i->jail, -1);
    census_free(&i->census);
    free(i);
}

/* No interpreter walked in. If nobody ever did, the caller never had this jail. */
void prison_refuse(struct inmate *i, const char *why)
{
    struct jail *j = i->jail;
    if (!j->is_ending)
        prison_tell_refused(j->id, i->head, why);
    remove_inmate(i);
    if (j->is_ending) {
        prison_settle(j);
    } else if (!j->was_inhabited && list_is_empty(&j->inmates)) {
        j->was_refused = true;
        prison_end_jail(j);
    }
}

void prison_inmate_exited(struct inmate *i, int status)
{
    struct jail *j = i->jail;
    const struct cgroup_parent *cgroups = &prison.factory->cgroups;
    struct report report = {
        .type = WARDEN_EXITED, .jail = j->id, .head = i->head, .pid = i->pid, .status = status};
    /* Copies come and go with every cell, and nobody asks why one ended unless it was killed. */
    if (i->kind == WARDEN_HEAD || WIFSIGNALED(status)) {
        report.oom_kills = cgroup_oom_kills(cgroups, &j->cgroup);
        report.pids_refused = cgroup_pids_refused(cgroups, &j->cgroup);
        report.peak_bytes = cgroup_peak_bytes(cgroups, &j->cgroup);
    }
    bool was_checkpoint = i->kind == WARDEN_CHECKPOINT;
    remove_inmate(i);
    if (was_checkpoint && !j->is_ending)
        prison_rank_checkpoints(j);
    prison_tell(&report, "");
    prison_settle(j);
}

/* A head that writes where a checkpoint shares its memory needs it twice, and the copies are
 * processes too: from the first one on there is room for that. Before it, limits mean what they
 * say. */
int prison_apply_limits(const struct jail *j, struct err *e)
{
    struct jail_limits wide = j->limits;
    if (j->has_checkpoints && wide.checkpoint_mb > 0) {
        wide.memory_mb += wide.checkpoint_mb;
        wide.pids += JAIL_CHECKPOINT_PIDS;
    }
    return prison.factory->cgroups.version == 0
               ? 0
               : cgroup_set_limits(&prison.factory->cgroups, &j->cgroup, &wide, e);
}

static bool has_checkpoint(const struct jail *j)
{
    for (const struct list *at = j->inmates.next; at != &j->inmates; at = at->next)
        if (CONTAINER_OF(at, struct inmate, link)->kind == WARDEN_CHECKPOINT)
            return true;
    return false;
}

/* Everything that the head's group runs feels an interrupt; a head that left its group feels it
 * too. Not so if it is killed and a checkpoint is there to come back to: whoever was there then
 * goes on, and warden_clear ends the others. */
void prison_signal(struct inmate *i, int sig)
{
    if (i->pid > 0 && sig > 0) {
        bool is_alone = sig == SIGKILL && (i->is_held || has_checkpoint(i->jail));
        if (!is_alone)
            kill(-i->pid, sig);
        if (is_alone || getpgid(i->pid) != i->pid)
            kill(i->pid, sig);
        if (sig == SIGKILL)
            prison_expect_end(i);
    }
    prison_tell(&(struct report){.type = WARDEN_SIGNALED, .jail = i->jail->id, .head = i->head},
                "");
}

/* ---- making jails ---------------------------------------------------------------------------- */

/* Jails for those who come. Some are made ahead of time: a session need not wait for its
 * namespaces. */

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
    if (fstatat(prison.factory->workspaces, r->workspace, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        /* A workspace that was kept: the slot whose user owns it, if it is free, saves giving every
         * file to another. */
        uint32_t slot = jail_slot_of(prison.factory, st.st_uid);
        if (!prison_take_this_slot(slot))
            slot = prison_take_slot();
        j = make_jail(r, slot, e);
        if (j != NULL)
            j->keeps_workspace = true; /* whatever comes, unless the daemon says otherwise */
    } else if ((j = take_spare(r)) == NULL) {
        j = make_jail(r, prison_take_slot(), e);
    }
    if (j == NULL)
        return NULL;
    prison.can_make_spares = true;
    list_append(&prison.jails, &j->link);
    return j;
}
