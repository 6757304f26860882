/* Copies that inmates made of themselves: who they are, whom they outlive, who goes first; and how
 * the processes of a jail are ended, while it goes on or because it goes. Warden. */
#include "base/clock.h"
#include "base/fd.h"
#include "jail/inside/enter.h"
#include "jail/warden/branch.h"
#include "jail/warden/prison.h"
#include "jail/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* ---- copies ---------------------------------------------------------------------------------- */

enum {
    RANK_NEWEST = 100, /* oom_score_adj; JAIL_HEAD_RANK is between this and the next */
    RANK_OLD = 300,
    RANK_SAVER = 400,
};

static bool is_known(pid_t pid)
{
    struct prison_key key = prison_key((uint64_t)pid);
    return map_get(&prison.inmates_by_pid, key.text) != NULL ||
           map_get(&prison.jails_by_init, key.text) != NULL;
}

/* A child that has not ended. One that has is left for reap_some. */
static bool is_living_child(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* Anybody in any jail may have written the byte; what counts is who it was. */
static pid_t find_copy(const struct request *r, const struct jail *j, int pidfd,
                       const char **ret_why)
{
    pid_t pid = pidfd >= 0 ? witness_pid(pidfd) : 0;
    *ret_why = NULL;
    if (r->is_end || (pidfd >= 0 && pid <= 0))
        *ret_why = "the copy ended before it was known";
    else if (pid <= 0)
        *ret_why = "the copy has not said anything";
    else if (is_known(pid))
        *ret_why = "somebody else spoke in place of the copy";
    else if (!is_living_child(pid))
        *ret_why = "the copy ended before it was known, or is no child of the warden";
    else if (!census_is_same_jail(pid, j->init_pid))
        *ret_why = "the copy lives in another jail";
    else if (prison_is_traced(j,
                              pid)) /* no driver of ours lets that happen: jail/inside/sibling.c */
        *ret_why = "the copy is traced";
    return pid;
}

/* The pid that an inmate has in its jail. */
static pid_t copies_inner_pid(struct inmate *i)
{
    if (i->inner_pid == 0 && i->pid != 0)
        i->inner_pid = census_inner_pid(i->pid);
    return i->inner_pid;
}

/* The inner pids of all inmates but one; the list is the caller's. Returns their number. */
static size_t copies_list_leaders(struct jail *j, const struct inmate *but, pid_t **ret)
{
    size_t n = 0;
    pid_t *leaders = mem_alloc((j->n_inmates + 1) * sizeof(*leaders));
    LIST_EACH(&j->inmates, at) {
        struct inmate *i = CONTAINER_OF(at, struct inmate, link);
        pid_t pid = i == but ? 0 : copies_inner_pid(i);
        if (pid > 0)
            leaders[n++] = pid;
    }
    *ret = leaders;
    return n;
}

static void rank(struct inmate *i, int score)
{
    char path[64], text[16];
    if (i->rank == score)
        return;
    i->rank = score;
    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)i->pid);
    snprintf(text, sizeof(text), "%d", score);
    fd_write_file(AT_FDCWD, path, text); /* gone meanwhile: nothing to rank */
}

/* Whom the kernel ends first when memory runs out: whoever saves, old checkpoints, the head, and
 * the newest checkpoint last, because it is what the session comes back from. */
void prison_rank_checkpoints(const struct jail *j)
{
    bool is_newest = true;
    for (const struct list *at = j->inmates.prev; at != &j->inmates; at = at->prev) {
        struct inmate *i = CONTAINER_OF(at, struct inmate, link);
        if (i->kind != WARDEN_CHECKPOINT)
            continue;
        rank(i, is_newest ? RANK_NEWEST : RANK_OLD);
        is_newest = false;
    }
}

static void welcome_checkpoint(struct inmate *i)
{
    struct err e;
    struct jail *j = i->jail;
    _free_ pid_t *leaders = NULL;
    size_t n_leaders = copies_list_leaders(j, NULL, &leaders);
    census_take(j->init_pid, leaders, n_leaders, &i->census);
    /* The head may have begun its next cell meanwhile. */
    census_drop_younger(&i->census, j->init_pid, census_inner_pid(i->pid));
    prison_rank_checkpoints(j);
    if (j->has_checkpoints)
        return;
    j->has_checkpoints = true;
    if (prison_apply_limits(j, &e) < 0)
        j->has_checkpoints = false; /* the next one tries again; until then it is tight */
}

void prison_adopt(const struct request *r, int pidfd)
{
    struct jail *j = prison_find_jail(r->jail);
    const char *why = "the jail has ended";
    pid_t pid = 0;
    if (j != NULL && !j->is_ending && j->init_pid > 0)
        pid = find_copy(r, j, pidfd, &why);
    if (why != NULL) {
        prison_tell_refused(r->jail, r->head, why);
        return;
    }
    struct inmate *i = prison_add_inmate(j, r);
    i->pid = pid;
    i->kind = (enum warden_kind)r->number;
    map_set(&prison.inmates_by_pid, prison_key((uint64_t)pid).text, i);
    struct report report = {.type = WARDEN_ENTERED, .jail = j->id, .head = i->head, .pid = pid};
    if (i->kind == WARDEN_CHECKPOINT) {
        welcome_checkpoint(i);
        report.others = (uint32_t)i->census.count;
        report.bytes = cgroup_anonymous_bytes(&prison.factory->cgroups, &j->cgroup);
    } else {
        rank(i, i->kind == WARDEN_SAVER ? RANK_SAVER : JAIL_HEAD_RANK);
    }
    prison_tell(&report, "");
}

/* The inner pids of checkpoints and savers; the list is the caller's. Returns their number. */
static size_t list_copies(struct jail *j, pid_t **ret)
{
    size_t n = 0;
    pid_t *copies = mem_alloc((j->n_inmates + 1) * sizeof(*copies));
    LIST_EACH(&j->inmates, at) {
        struct inmate *i = CONTAINER_OF(at, struct inmate, link);
        pid_t pid = i->kind == WARDEN_HEAD ? 0 : copies_inner_pid(i);
        if (pid > 0)
            copies[n++] = pid;
    }
    *ret = copies;
    return n;
}

/* Those that sleep have nothing to finish. */
void prison_terminate(struct jail *j)
{
    _free_ pid_t *asleep = NULL;
    size_t n = list_copies(j, &asleep);
    census_signal(j->init_pid, asleep, n, SIGTERM);
}

void prison_get_use(struct jail *j, struct cgroup_use *ret)
{
    const struct cgroup_parent *cgroups = &prison.factory->cgroups;
    cgroup_get_use(cgroups, &j->cgroup, ret);
    if (cgroups->has[CGROUP_MEMORY] || j->init_pid == 0)
        return;
    uint64_t bytes, ticks;
    _free_ pid_t *asleep = NULL;
    size_t n = list_copies(j, &asleep); /* they share their memory with the head */
    census_use(j->init_pid, asleep, n, &bytes, &ticks);
    ret->anonymous_bytes = bytes;
    if (ret->cpu_us == 0)
        ret->cpu_us = ticks * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

void prison_look(const struct request *r)
{
    struct jail *j = prison_find_jail(r->jail);
    struct report report = {.type = WARDEN_LOOKED, .jail = r->jail, .head = r->head};
    if (j != NULL && !j->is_ending && j->init_pid > 0) {
        _free_ pid_t *leaders = NULL;
        size_t n_leaders = copies_list_leaders(j, NULL, &leaders);
        report.others = (uint32_t)census_look(j->init_pid, leaders, n_leaders, &report.ticks);
    }
    prison_tell(&report, "");
}

/* Where no group counts processor time, what those that live say themselves has to do. */
void prison_weigh(const struct request *r)
{
    struct jail *j = prison_find_jail(r->jail);
    struct report report = {.type = WARDEN_WEIGHED, .jail = r->jail, .head = r->head};
    struct cgroup_use use = {0};
    if (j != NULL && !j->is_ending && j->init_pid > 0) {
        prison_get_use(j, &use);
        if (use.cpu_us == 0) {
            census_look(j->init_pid, NULL, 0, &use.cpu_us);
            use.cpu_us *= 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
        }
    }
    report.bytes = use.anonymous_bytes + use.shared_bytes;
    report.cpu_us = use.cpu_us;
    prison_tell(&report, "");
}

/* ---- clearing -------------------------------------------------------------------------------- */

/* Ending processes inside of jails: those that an undone cell started, or all of a jail whose rooms
 * go on. They may be many, and may multiply meanwhile. */

enum {
    TURN_MS = 2,    /* of one clearing: most are done by then, and nobody else waits for longer */
    PAUSE_US = 100, /* for those that were hit */
};

struct clearing {
    struct list link; /* in prison.clearings */
    struct jail *jail;
    uint64_t head; /* whose end it is; 0: none */
    bool is_asked; /* by the daemon, who waits for the answer */
    struct census_clearing passes;
};

static void conclude(struct clearing *c, bool is_given_up)
{
    struct report report = {.type = WARDEN_CLEARED,
                            .jail = c->jail->id,
                            .head = c->head,
                            .bytes = is_given_up ? 0 : census_clearing_count(&c->passes)};
    if (is_given_up)
        jail_kill(c->jail);
    if (c->is_asked)
        prison_tell(&report,
                    is_given_up ? "its processes multiplied faster than they could be ended" : "");
    list_remove(&c->link);
    census_clearing_free(&c->passes);
    free(c);
}

/* Leaders are listed anew each time: another inmate may have come meanwhile. */
static void take_clearing_turn(struct clearing *c)
{
    uint64_t until_ms = clock_mono_ms() + TURN_MS;
    enum census_pass pass;
    do {
        _free_ pid_t *leaders = NULL;
        size_t n_leaders = 0;
        if (c->is_asked)
            n_leaders = copies_list_leaders(c->jail, prison_find_inmate(c->head), &leaders);
        pass = census_clearing_pass(&c->passes, leaders, n_leaders);
        if (pass == CENSUS_CLEARED || pass == CENSUS_GIVEN_UP) {
            conclude(c, pass == CENSUS_GIVEN_UP);
            return;
        }
        if (pass == CENSUS_WAIT)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_US * 1000L}, NULL);
    } while (clock_mono_ms() < until_ms);
    list_remove(&c->link); /* the others first */
    list_append(&prison.clearings, &c->link);
}

void prison_go_on_clearing(void)
{
    struct list *first = list_first(&prison.clearings);
    if (first != NULL)
        take_clearing_turn(CONTAINER_OF(first, struct clearing, link));
}

void prison_end_clearings(const struct jail *j)
{
    LIST_EACH(&prison.clearings, at) {
        struct clearing *c = CONTAINER_OF(at, struct clearing, link);
        if (c->jail == j)
            conclude(c, false);
    }
}

static struct clearing *new_clearing(struct jail *j)
{
    struct clearing *c = mem_alloc(sizeof(*c));
    *c = (struct clearing){.jail = j};
    list_init(&c->link);
    list_append(&prison.clearings, &c->link);
    return c;
}

void prison_clear(const struct request *r)
{
    struct jail *j = prison_find_jail(r->jail);
    if (j == NULL || j->is_ending || j->init_pid == 0) {
        prison_tell(&(struct report){.type = WARDEN_CLEARED, .jail = r->jail, .head = r->head}, "");
        return;
    }
    struct inmate *victim = prison_find_inmate(r->head);
    const struct inmate *since = prison_find_inmate(r->since);
    if (victim != NULL && victim->jail != j)
        victim = NULL;
    /* One that is traced may be told to go on by its tracer. */
    bool is_held = r->number == CLEAR_HOLDING && j->limits.debug == 0;
    if (victim != NULL)
        victim->is_held = is_held;
    if (victim != NULL && !is_held)
        prison_expect_end(victim);
    struct clearing *c = new_clearing(j);
    c->head = r->head;
    c->is_asked = true;
    census_clearing_begin(&c->passes, j->init_pid, victim != NULL ? copies_inner_pid(victim) : 0,
                          is_held, since != NULL && since->jail == j ? &since->census : NULL);
    take_clearing_turn(c);
}

void prison_empty(struct jail *j)
{
    cgroup_refuse_forks(&prison.factory->cgroups, &j->cgroup); /* without it this may take longer */
    struct clearing *c = new_clearing(j);
    census_clearing_begin(&c->passes, j->init_pid, 0, false, NULL);
    take_clearing_turn(c);
}
