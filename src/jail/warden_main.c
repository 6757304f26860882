#include "jail/warden_main.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/map.h"
#include "jail/branch.h"
#include "jail/enter.h"
#include "jail/image.h"
#include "jail/keeper.h"
#include "jail/relay.h"
#include "jail/witness.h"
#include "jail/zygote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    ZYGOTES_MAX = 32,
    MAKINGS_MAX = 64, /* rooms that are being built at once */
    SLOTS_MAX = 60000,
    ERRORS_SHOWN = 4096,
    SPARES_MAX = 2,
    SPARE_AFTER_MS = 5, /* of quiet: who asks now goes first */
    RANK_NEWEST = 100,  /* oom_score_adj; JAIL_HEAD_RANK is between this and the next */
    RANK_OLD = 300,
    RANK_SAVER = 400,
};

static struct {
    int control;
    int keeper;
    pid_t keeper_pid;
    struct relay relay; /* to the archivist */
    int signals;        /* signalfd: SIGCHLD */
    struct jail_factory *factory;
    struct list jails;
    struct map jails_by_id;
    struct map jails_by_init; /* by the pid of their init */
    struct map inmates_by_head;
    struct map inmates_by_pid;
    struct list spares; /* jails that wait for an interpreter */
    size_t n_spares;
    size_t n_spares_made;
    bool can_make_spares; /* the last jail could be made */
    struct list zygotes;
    size_t n_zygotes;
    struct list makings; /* rooms that are being built */
    size_t n_makings;
    struct list owed;       /* inmates whose zygote has not answered yet */
    struct map early_exits; /* what ended meanwhile and may turn out to be one of those */
    uint32_t *free_slots;   /* a stack of slots that were used before */
    size_t n_free_slots;
    uint32_t next_slot;
} warden;

/* ---- telling the daemon -------------------------------------------------------------------- */

static void tell_with(const struct report *report, const char *text, int fd)
{
    char message[sizeof(*report) + MESSAGE_TEXT_MAX];
    struct report head = *report;
    size_t len = MIN(strlen(text), (size_t)MESSAGE_TEXT_MAX);
    head.text_len = (uint32_t)len;
    memcpy(message, &head, sizeof(head));
    memcpy(message + sizeof(head), text, len);
    if (fd_send(warden.control, message, sizeof(head) + len, &fd, fd >= 0 ? 1 : 0) < 0)
        _exit(0); /* the daemon is gone, and with us goes all that it had */
}

static void tell(const struct report *report, const char *text)
{
    tell_with(report, text, -1);
}

static void tell_refused(uint64_t jail, uint64_t head, const char *why)
{
    tell(&(struct report){.type = WARDEN_REFUSED, .jail = jail, .head = head}, why);
}

/* ---- finding things ------------------------------------------------------------------------ */

struct key {
    char text[24];
};

static struct key key_of(uint64_t number)
{
    struct key key;
    snprintf(key.text, sizeof(key.text), "%llu", (unsigned long long)number);
    return key;
}

static struct jail *find_jail(uint64_t id)
{
    return map_get(&warden.jails_by_id, key_of(id).text);
}

static struct inmate *find_inmate(uint64_t head)
{
    return map_get(&warden.inmates_by_head, key_of(head).text);
}

static struct zygote *find_zygote(uint32_t id)
{
    LIST_EACH(&warden.zygotes, at)
    {
        struct zygote *z = CONTAINER_OF(at, struct zygote, link);
        if (z->id == id)
            return z;
    }
    return NULL;
}

/* New ones first: the files of a workspace that was kept belong to the user of its slot. */
static uint32_t take_slot(void)
{
    return warden.next_slot < SLOTS_MAX ? warden.next_slot++
                                        : warden.free_slots[--warden.n_free_slots];
}

static bool has_slot(void)
{
    return warden.n_free_slots > 0 || warden.next_slot < SLOTS_MAX;
}

/* That one, if nobody has it. */
static bool take_this_slot(uint32_t slot)
{
    if (slot >= SLOTS_MAX)
        return false;
    for (; warden.next_slot <= slot; warden.next_slot++)
        warden.free_slots[warden.n_free_slots++] = warden.next_slot;
    for (size_t i = warden.n_free_slots; i-- > 0;) {
        if (warden.free_slots[i] != slot)
            continue;
        warden.free_slots[i] = warden.free_slots[--warden.n_free_slots];
        return true;
    }
    return false;
}

static void give_slot(uint32_t slot)
{
    warden.free_slots[warden.n_free_slots++] = slot;
}

/* ---- jails --------------------------------------------------------------------------------- */

static void read_keeper(void);

static void send_keeper(const struct keeper_order *order, const int *fds, size_t n_fds)
{
    ssize_t sent;
    /* A keeper that waits for us to read does not read: of the two, we give way. */
    while ((sent = fd_send(warden.keeper, order, sizeof(*order), fds, n_fds)) == -EAGAIN) {
        struct pollfd wait = {.fd = warden.keeper, .events = POLLIN | POLLOUT};
        if (poll(&wait, 1, -1) == 1 && (wait.revents & POLLIN))
            read_keeper();
    }
    if (sent < 0)
        _exit(1); /* without its keeper no quota holds */
}

static void order_keeper(enum keeper_order_type type, const struct jail *j, bool is_busy,
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

static void count_inmates(struct jail *j, int change)
{
    j->n_inmates = (uint32_t)((int)j->n_inmates + change);
    if (j->proc_fd < 0 && !j->is_ending) /* it is watched */
        order_keeper(KEEPER_COUNT, j, false, NULL, 0);
}

/* All its processes, but none of the rooms below it if that can be avoided. */
static void kill_all(struct jail *j)
{
    if (j->n_rooms == 0 || j->init_pid == 0 || branch_empty(warden.factory, j) < 0)
        jail_kill(j);
}

static void lay_to_rest(struct jail *j)
{
    struct jail *source = j->source;
    give_slot(j->slot);
    jail_free(warden.factory, j);
    if (source == NULL || --source->n_rooms > 0 || !source->is_ending)
        return;
    jail_kill(source); /* nobody needs its init any more */
    if (source->is_hollow && source->init_pid == 0)
        lay_to_rest(source);
}

static void bury(struct jail *j)
{
    map_remove(&warden.jails_by_id, key_of(j->id).text);
    if (!j->was_refused)
        tell(&(struct report){.type = WARDEN_GONE, .jail = j->id}, "");
    if (j->init_pid == 0 && j->n_rooms == 0) {
        lay_to_rest(j);
        return;
    }
    j->is_hollow = true;
    j->workspace[0] = '\0'; /* a later jail's may have the same name */
}

/* Moves an ending jail on: when nobody owes an answer about it and all its processes are reaped,
 * its workspace goes, then the jail. The init of one with rooms below it is the last to go. */
static void settle(struct jail *j)
{
    bool is_empty = j->init_pid == 0 || j->n_rooms > 0;
    if (!j->is_ending || j->is_being_built || j->is_removing || !is_empty ||
        !list_is_empty(&j->inmates))
        return;
    /* Before the long part: a name of the group may be needed again. */
    if (j->init_pid == 0)
        cgroup_remove(&warden.factory->cgroups, &j->cgroup);
    if (j->is_hollow) {
        if (j->n_rooms == 0)
            lay_to_rest(j);
    } else if (j->keeps_workspace) {
        order_keeper(KEEPER_FORGET, j, false, NULL, 0);
        bury(j);
    } else {
        j->is_removing = true;
        relay_forget(&warden.relay, j->workspace);
        order_keeper(KEEPER_REMOVE, j, false, NULL, 0);
    }
}

static void end_jail(struct jail *j)
{
    j->is_ending = true;
    kill_all(j);
    settle(j);
}

static struct inmate *add_inmate(struct jail *j, const struct request *r)
{
    struct inmate *i = mem_alloc(sizeof(*i));
    *i = (struct inmate){.jail = j, .head = r->head, .zygote = r->zygote};
    list_init(&i->owed);
    list_append(&j->inmates, &i->link);
    map_set(&warden.inmates_by_head, key_of(i->head).text, i);
    count_inmates(j, 1);
    return i;
}

/* With no fork under way, an unknown pid can only be a stray of a zygote's imports: forgetting it
 * keeps a later head with the same pid from being taken for dead. */
static void fork_answered(struct inmate *i)
{
    list_remove(&i->owed);
    if (!list_is_empty(&warden.owed))
        return;
    size_t at = 0;
    const char *key;
    void *status;
    while (map_next(&warden.early_exits, &at, &key, &status))
        free(status);
    map_free(&warden.early_exits);
}

static void remove_inmate(struct inmate *i)
{
    map_remove(&warden.inmates_by_head, key_of(i->head).text);
    if (i->pid != 0)
        map_remove(&warden.inmates_by_pid, key_of((uint64_t)i->pid).text);
    list_remove(&i->owed);
    list_remove(&i->link);
    count_inmates(i->jail, -1);
    census_free(&i->census);
    free(i);
}

/* No interpreter walked in. If nobody ever did, the caller never had this jail. */
static void refuse(struct inmate *i, const char *why)
{
    struct jail *j = i->jail;
    if (!j->is_ending)
        tell_refused(j->id, i->head, why);
    remove_inmate(i);
    if (j->is_ending) {
        settle(j);
    } else if (!j->was_inhabited && list_is_empty(&j->inmates)) {
        j->was_refused = true;
        end_jail(j);
    }
}

/* ---- jails made ahead of time: a session need not wait for its namespaces ------------------- */

static struct jail *make_jail(const struct request *r, uint32_t slot, struct err *e)
{
    struct jail *j;
    if (jail_make(warden.factory, r->jail, slot, r->workspace, &r->limits, &j, e) < 0) {
        give_slot(slot);
        return NULL;
    }
    map_set(&warden.jails_by_id, key_of(j->id).text, j);
    map_set(&warden.jails_by_init, key_of((uint64_t)j->init_pid).text, j);
    return j;
}

static bool needs_spare(void)
{
    return warden.can_make_spares && warden.n_spares < SPARES_MAX && has_slot();
}

static void make_spare(void)
{
    struct err e;
    /* The daemon counts jails from 1 up, so these numbers are free. */
    struct request r = {.jail = UINT64_MAX - warden.n_spares_made, .limits = JAIL_LIMITS_DEFAULT};
    snprintf(r.workspace, sizeof(r.workspace), ".spare-%zu", warden.n_spares_made++);
    struct jail *j = make_jail(&r, take_slot(), &e);
    warden.can_make_spares = j != NULL; /* or the next session will say why */
    if (j == NULL)
        return;
    list_append(&warden.spares, &j->link);
    warden.n_spares++;
}

/* Turns a spare into the jail that is asked for. The mount of its workspace follows the directory
 * to its new name. */
static int refit(struct jail *j, const struct request *r, struct err *e)
{
    if (j->init_pid == 0)
        return err_set(e, ERR_UNAVAILABLE, "a spare jail has ended");
    if (warden.factory->cgroups.version != 0 &&
        cgroup_set_limits(&warden.factory->cgroups, &j->cgroup, &r->limits, e) < 0)
        return -1;
    int workspaces = warden.factory->workspaces;
    if (renameat(workspaces, j->workspace, workspaces, r->workspace) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot name the workspace");
    map_remove(&warden.jails_by_id, key_of(j->id).text);
    j->id = r->jail;
    map_set(&warden.jails_by_id, key_of(j->id).text, j);
    j->limits = r->limits;
    memcpy(j->workspace, r->workspace, sizeof(j->workspace));
    return 0;
}

static struct jail *take_spare(const struct request *r)
{
    struct list *first = list_first(&warden.spares);
    if (first == NULL)
        return NULL;
    struct err e;
    struct jail *j = CONTAINER_OF(first, struct jail, link);
    list_remove(&j->link);
    warden.n_spares--;
    if (refit(j, r, &e) == 0)
        return j;
    j->was_refused = true; /* nobody knows of it */
    list_append(&warden.jails, &j->link);
    end_jail(j);
    return NULL;
}

/* Workspaces that were kept have their slots' users: new jails begin above them all. */
static void pass_over_kept_slots(void)
{
    int fd = openat(warden.factory->workspaces, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat st;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        uint32_t slot = jail_slot_of(warden.factory, st.st_uid);
        if (slot >= warden.next_slot && take_this_slot(slot))
            give_slot(slot);
    }
    if (dir != NULL)
        closedir(dir);
}

/* A workspace that was kept: the slot whose user owns it, if it is free, saves giving every file to
 * another. */
static struct jail *make_jail_around(const struct request *r, unsigned owner, struct err *e)
{
    uint32_t slot = jail_slot_of(warden.factory, owner);
    if (!take_this_slot(slot))
        slot = take_slot();
    struct jail *j = make_jail(r, slot, e);
    if (j != NULL)
        j->keeps_workspace = true; /* whatever comes, unless the daemon says otherwise */
    return j;
}

/* The jail that is there, else a new one. */
static struct jail *jail_for(const struct request *r, struct err *e)
{
    struct jail *j = find_jail(r->jail);
    if (j != NULL && j->is_ending) {
        err_set(e, ERR_GONE, "the jail to join has ended");
        return NULL;
    }
    if (j != NULL)
        return j;
    if (!has_slot()) {
        err_set(e, ERR_LIMIT, "too many jails");
        return NULL;
    }
    struct stat st;
    if (fstatat(warden.factory->workspaces, r->workspace, &st, AT_SYMLINK_NOFOLLOW) == 0)
        j = make_jail_around(r, st.st_uid, e);
    else if ((j = take_spare(r)) == NULL)
        j = make_jail(r, take_slot(), e);
    if (j == NULL)
        return NULL;
    warden.can_make_spares = true;
    list_append(&warden.jails, &j->link);
    return j;
}

static void enter(const struct request *r, int session_sock)
{
    struct err e;
    struct zygote *z = find_zygote(r->zygote);
    if (z == NULL || !z->is_ready) {
        tell_refused(r->jail, r->head, "the interpreter for this profile is not running");
        return;
    }
    struct jail *j = jail_for(r, &e);
    if (j == NULL) {
        tell_refused(r->jail, r->head, e.message);
        return;
    }
    struct inmate *i = add_inmate(j, r);
    list_append(&warden.owed, &i->owed);
    if (zygote_ask_fork(z, warden.factory, j, i->head, session_sock) < 0) {
        fork_answered(i);
        refuse(i, "the zygote does not answer");
    }
}

static void watch(struct jail *j, bool is_busy)
{
    if (j->is_ending)
        return;
    if (j->proc_fd >= 0) {
        _fd_ int workspace = openat(warden.factory->workspaces, j->workspace,
                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const int fds[2] = {workspace, j->proc_fd};
        if (workspace < 0)
            return;
        order_keeper(KEEPER_WATCH, j, is_busy, fds, 2);
        close(take_fd(&j->proc_fd));
    }
    order_keeper(KEEPER_BUSY, j, is_busy, NULL, 0);
}

/* A jail whose limits are not what the daemon thinks is none. */
static void refuse_jail(struct jail *j, const char *why)
{
    LIST_EACH(&j->inmates, at)
    tell_refused(j->id, CONTAINER_OF(at, struct inmate, link)->head, why);
    j->was_refused = true;
    end_jail(j);
}

/* A head that writes where a checkpoint shares its memory needs it twice, and the copies are
 * processes too: from the first one on there is room for that. Before it, limits mean what they
 * say. */
static int apply_limits(const struct jail *j, struct err *e)
{
    struct jail_limits wide = j->limits;
    if (j->has_checkpoints && wide.checkpoint_mb > 0) {
        wide.memory_mb += wide.checkpoint_mb;
        wide.pids += JAIL_CHECKPOINT_PIDS;
    }
    return warden.factory->cgroups.version == 0
               ? 0
               : cgroup_set_limits(&warden.factory->cgroups, &j->cgroup, &wide, e);
}

static void set_limits(struct jail *j, const struct jail_limits *limits)
{
    struct err e;
    j->limits = *limits;
    if (apply_limits(j, &e) < 0)
        refuse_jail(j, e.message);
    else if (j->proc_fd < 0)
        order_keeper(KEEPER_WATCH, j, false, NULL, 0);
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
static void signal_inmate(const struct inmate *i, int sig)
{
    if (i->pid > 0 && sig > 0) {
        bool is_alone = sig == SIGKILL && (i->is_held || has_checkpoint(i->jail));
        if (!is_alone)
            kill(-i->pid, sig);
        if (is_alone || getpgid(i->pid) != i->pid)
            kill(i->pid, sig);
    }
    tell(&(struct report){.type = WARDEN_SIGNALED, .jail = i->jail->id, .head = i->head}, "");
}

/* ---- rooms for branches ---------------------------------------------------------------------- */

static void make_room(const struct request *r)
{
    struct err e;
    struct stat st;
    struct jail *source = find_jail(r->since);
    struct branch_making *m = NULL;
    bool was_there =
        fstatat(warden.factory->workspaces, r->workspace, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (source == NULL || source->is_ending || source->is_being_built || source->init_pid == 0)
        err_set(&e, ERR_GONE, "the session to branch has ended");
    else if (find_jail(r->jail) != NULL)
        err_set(&e, ERR_CONFLICT, "there is such a jail already");
    else if (warden.n_makings == MAKINGS_MAX || !has_slot())
        err_set(&e, ERR_LIMIT, "too many jails are being made");
    else {
        uint32_t slot = take_slot();
        if (branch_begin(warden.factory, source, r->jail, slot, r->workspace, &r->limits, &m, &e) <
            0)
            give_slot(slot);
    }
    if (m == NULL) {
        tell_refused(r->jail, 0, e.message);
        return;
    }
    list_append(&warden.makings, &m->link);
    warden.n_makings++;
    m->jail->keeps_workspace = was_there; /* whatever comes, unless the daemon says otherwise */
    list_append(&warden.jails, &m->jail->link);
    map_set(&warden.jails_by_id, key_of(r->jail).text, m->jail);
}

static void room_stands(struct branch_making *m)
{
    struct jail *j = m->jail;
    j->is_being_built = false;
    j->was_inhabited = true; /* the daemon decides what becomes of it */
    int key = branch_make_key(m);
    if (key < 0) {
        j->was_refused = true;
        tell_refused(j->id, 0, "cannot make the key of a room");
        end_jail(j);
        return;
    }
    tell_with(&(struct report){.type = WARDEN_ROOM, .jail = j->id, .pid = j->init_pid}, "", key);
    close(key);
}

/* Who was stopped on the way by those in the source stays theirs, until the source ends. */
static void room_failed(struct branch_making *m, const char *why)
{
    struct jail *j = m->jail;
    j->is_being_built = false;
    if (!j->is_ending) {
        j->was_refused = true;
        tell_refused(j->id, 0, why);
    }
    end_jail(j);
}

static void end_making(struct branch_making *m)
{
    list_remove(&m->link);
    warden.n_makings--;
    branch_free(m);
}

static void read_making(struct branch_making *m)
{
    struct err e;
    struct jail *j = m->jail;
    bool was_known = j->init_pid > 0;
    int r = branch_read(m, &e);
    if (!was_known && j->init_pid > 0)
        map_set(&warden.jails_by_init, key_of((uint64_t)j->init_pid).text, j);
    if (r == 0)
        return;
    if (r > 0 && !j->is_ending)
        room_stands(m);
    else
        room_failed(m, r < 0 ? e.message : "it was not wanted any more");
    end_making(m);
}

static void end_late_makings(void)
{
    uint64_t now_ms = clock_mono_ms();
    LIST_EACH(&warden.makings, at)
    {
        struct branch_making *m = CONTAINER_OF(at, struct branch_making, link);
        if (m->until_ms > now_ms)
            continue;
        room_failed(m, "a room was not built in time");
        end_making(m);
    }
}

/* ---- copies that inmates made of themselves -------------------------------------------------- */

static bool is_known(pid_t pid)
{
    struct key key = key_of((uint64_t)pid);
    return map_get(&warden.inmates_by_pid, key.text) != NULL ||
           map_get(&warden.jails_by_init, key.text) != NULL;
}

/* A child that has not ended. One that has is left for reap_all. */
static bool is_living_child(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* Anybody in any jail may have written the byte; what counts is who it was. */
static pid_t find_copy(const struct jail *j, int channel, const char **ret_why)
{
    pid_t pid = channel >= 0 ? witness_byte(channel) : -EBADF;
    *ret_why = NULL;
    if (pid == -EPIPE)
        *ret_why = "the copy ended before it was known";
    else if (pid < 0)
        *ret_why = "the copy has not said anything";
    else if (is_known(pid))
        *ret_why = "somebody else spoke in place of the copy";
    else if (!is_living_child(pid))
        *ret_why = "the copy ended before it was known, or is none";
    else if (!census_is_same_jail(pid, j->init_pid))
        *ret_why = "the copy lives in another jail";
    return pid;
}

static pid_t inner_pid(struct inmate *i)
{
    if (i->inner_pid == 0 && i->pid != 0)
        i->inner_pid = census_inner_pid(i->pid);
    return i->inner_pid;
}

/* Everybody of ours but one. */
static size_t list_leaders(struct jail *j, const struct inmate *but, pid_t **ret)
{
    size_t n = 0;
    pid_t *leaders = mem_alloc((j->n_inmates + 1) * sizeof(*leaders));
    LIST_EACH(&j->inmates, at)
    {
        struct inmate *i = CONTAINER_OF(at, struct inmate, link);
        pid_t pid = i == but ? 0 : inner_pid(i);
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
static void rank_checkpoints(const struct jail *j)
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
    size_t n_leaders = list_leaders(j, NULL, &leaders);
    census_take(j->init_pid, leaders, n_leaders, &i->census);
    /* The head may have begun its next cell meanwhile. */
    census_forget_younger(&i->census, j->init_pid, census_inner_pid(i->pid));
    rank_checkpoints(j);
    if (j->has_checkpoints)
        return;
    j->has_checkpoints = true;
    if (apply_limits(j, &e) < 0)
        j->has_checkpoints = false; /* the next one tries again; until then it is tight */
}

static void adopt(const struct request *r, int channel)
{
    struct jail *j = find_jail(r->jail);
    const char *why = "the jail has ended";
    pid_t pid = 0;
    if (j != NULL && !j->is_ending && j->init_pid > 0)
        pid = find_copy(j, channel, &why);
    if (why != NULL) {
        tell_refused(r->jail, r->head, why);
        return;
    }
    struct inmate *i = add_inmate(j, r);
    i->pid = pid;
    i->kind = (enum warden_kind)r->number;
    map_set(&warden.inmates_by_pid, key_of((uint64_t)pid).text, i);
    if (i->kind == WARDEN_CHECKPOINT)
        welcome_checkpoint(i);
    else if (i->kind == WARDEN_SAVER)
        rank(i, RANK_SAVER);
    else
        rank(i, JAIL_HEAD_RANK);
    tell(&(struct report){.type = WARDEN_ENTERED,
                          .jail = j->id,
                          .head = i->head,
                          .pid = pid,
                          .bytes = cgroup_anonymous_bytes(&warden.factory->cgroups, &j->cgroup)},
         "");
}

static void clear(const struct request *r)
{
    struct jail *j = find_jail(r->jail);
    struct report report = {.type = WARDEN_CLEARED, .jail = r->jail, .head = r->head};
    if (j == NULL || j->is_ending || j->init_pid == 0) {
        tell(&report, "");
        return;
    }
    struct inmate *victim = find_inmate(r->head);
    const struct inmate *since = find_inmate(r->since);
    if (victim != NULL && victim->jail != j)
        victim = NULL;
    _free_ pid_t *leaders = NULL;
    size_t n_leaders = list_leaders(j, victim, &leaders);
    pid_t pid = victim != NULL ? inner_pid(victim) : 0;
    const struct census *spared = since != NULL && since->jail == j ? &since->census : NULL;
    if (victim != NULL)
        victim->is_held = r->number == CLEAR_HOLDING;
    int ended = r->number == CLEAR_HOLDING
                    ? census_clear_holding(j->init_pid, pid, leaders, n_leaders, spared)
                    : census_clear(j->init_pid, pid, leaders, n_leaders, spared);
    report.bytes = (uint64_t)MAX(ended, 0);
    if (ended < 0)
        jail_kill(j);
    tell(&report, ended < 0 ? "its processes multiplied faster than they could be ended" : "");
}

static void measure(const struct request *r)
{
    const struct inmate *i = find_inmate(r->head);
    send_keeper(&(struct keeper_order){.type = KEEPER_MEASURE,
                                       .head = r->head,
                                       .pid = i != NULL ? i->pid : 0},
                NULL, 0);
}

/* One that a jail still uses stays, unless that jail is about to leave it. */
static void remove_workspace(const struct request *r)
{
    LIST_EACH(&warden.jails, at)
    {
        struct jail *j = CONTAINER_OF(at, struct jail, link);
        if (strcmp(j->workspace, r->workspace) != 0)
            continue;
        if (j->is_ending)
            j->keeps_workspace = false;
        return;
    }
    relay_forget(&warden.relay, r->workspace);
    keeper_set_aside(warden.factory->workspaces, r->workspace);
    send_keeper(&(struct keeper_order){.type = KEEPER_SWEEP}, NULL, 0);
}

/* ---- zygotes ------------------------------------------------------------------------------- */

static void start_zygote(const struct request *r, const char *text, const char *end)
{
    struct err e = {0};
    struct zygote *z = NULL;
    const char *argv[ZYGOTE_ARGS_MAX + 1] = {""};
    size_t n = 0;
    for (const char *at = text; at < end && n < ZYGOTE_ARGS_MAX; at += strlen(at) + 1)
        argv[n++] = at;
    int failed = warden.n_zygotes == ZYGOTES_MAX
                     ? err_set(&e, ERR_LIMIT, "too many profiles are in use")
                     : zygote_start(r->zygote, argv, warden.factory->filter, &z, &e);
    if (failed) {
        tell(&(struct report){.type = WARDEN_ZYGOTE_EXITED, .zygote = r->zygote}, e.message);
        return;
    }
    list_append(&warden.zygotes, &z->link);
    warden.n_zygotes++;
}

static void inmate_exited(struct inmate *i, int status)
{
    struct jail *j = i->jail;
    struct report report = {
        .type = WARDEN_EXITED,
        .jail = j->id,
        .head = i->head,
        .pid = i->pid,
        .status = status,
        .oom_kills = cgroup_oom_kills(&warden.factory->cgroups, &j->cgroup),
        .pids_refused = cgroup_pids_refused(&warden.factory->cgroups, &j->cgroup),
        .peak_bytes = cgroup_peak_bytes(&warden.factory->cgroups, &j->cgroup),
    };
    bool was_checkpoint = i->kind == WARDEN_CHECKPOINT;
    remove_inmate(i);
    if (was_checkpoint && !j->is_ending)
        rank_checkpoints(j);
    tell(&report, "");
    settle(j);
}

static void inmate_entered(struct inmate *i, pid_t pid)
{
    struct jail *j = i->jail;
    i->pid = pid;
    j->was_inhabited = true;
    map_set(&warden.inmates_by_pid, key_of((uint64_t)pid).text, i);
    int *early = map_remove(&warden.early_exits, key_of((uint64_t)pid).text);
    fork_answered(i);
    if (j->is_ending)
        kill(pid, SIGKILL); /* its init may be alive, for the rooms below */
    else
        tell(&(struct report){.type = WARDEN_ENTERED, .jail = j->id, .head = i->head, .pid = pid},
             "");
    if (early != NULL)
        inmate_exited(i, *early);
    free(early);
}

static void zygote_answered(const struct zygote_forked *answer)
{
    struct inmate *i = find_inmate(answer->head);
    if (i == NULL || i->pid != 0)
        return;
    if (answer->errnum == 0) {
        inmate_entered(i, answer->pid);
        return;
    }
    char why[128];
    snprintf(why, sizeof(why), "the zygote cannot fork: %s", strerror(answer->errnum));
    fork_answered(i);
    refuse(i, why);
}

static void read_zygote(struct zygote *z)
{
    char message[MESSAGE_TEXT_MAX];
    ssize_t n = recv(z->sock, message, sizeof(message) - 1, MSG_DONTWAIT);
    if (n <= 0)
        return; /* its end is told by its exit status */
    if (!z->is_ready) {
        message[n] = '\0';
        z->is_ready = true;
        tell(&(struct report){.type = WARDEN_ZYGOTE_READY, .zygote = z->id}, message);
    } else if (n == (ssize_t)sizeof(struct zygote_forked)) {
        struct zygote_forked answer;
        memcpy(&answer, message, sizeof(answer));
        zygote_answered(&answer);
    }
}

static void zygote_exited(struct zygote *z, int status)
{
    LIST_EACH(&warden.owed, at)
    {
        struct inmate *i = CONTAINER_OF(at, struct inmate, owed);
        if (i->zygote != z->id)
            continue;
        fork_answered(i);
        refuse(i, "the zygote ended");
    }
    char errors[ERRORS_SHOWN];
    zygote_read_errors(z, errors, sizeof(errors));
    tell(&(struct report){.type = WARDEN_ZYGOTE_EXITED, .zygote = z->id, .status = status}, errors);
    z->pid = 0;
    warden.n_zygotes--;
    zygote_free(z);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void reaped(pid_t pid, int status)
{
    if (pid == warden.keeper_pid)
        _exit(1); /* without its keeper no quota holds */
    if (relay_reaped(&warden.relay, pid))
        return;
    struct inmate *i = map_get(&warden.inmates_by_pid, key_of((uint64_t)pid).text);
    if (i != NULL) {
        inmate_exited(i, status);
        return;
    }
    struct jail *j = map_remove(&warden.jails_by_init, key_of((uint64_t)pid).text);
    if (j != NULL) {
        j->init_pid = 0;
        settle(j);
        return;
    }
    LIST_EACH(&warden.zygotes, at)
    {
        struct zygote *z = CONTAINER_OF(at, struct zygote, link);
        if (z->pid == pid) {
            zygote_exited(z, status);
            return;
        }
    }
    if (list_is_empty(&warden.owed))
        return;
    int *kept = mem_copy(&status, sizeof(status));
    map_set(&warden.early_exits, key_of((uint64_t)pid).text, kept);
}

static void reap_all(void)
{
    struct signalfd_siginfo info;
    while (read(warden.signals, &info, sizeof(info)) > 0)
        ;
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        reaped(pid, status);
}

static void obey_for_jail(const struct request *r)
{
    struct jail *j = find_jail(r->jail);
    if (j == NULL || (j->is_being_built && r->type != REQUEST_DESTROY))
        return; /* it ended by itself, or is none yet; the daemon's event is on its way */
    if (r->type == REQUEST_LIMITS) {
        set_limits(j, &r->limits);
    } else if (r->type == REQUEST_WATCH) {
        watch(j, r->number != 0);
    } else if (r->type == REQUEST_DESTROY) {
        j->keeps_workspace = r->number != 0;
        end_jail(j);
    }
}

static void read_control(void)
{
    static char message[sizeof(struct request) + MESSAGE_TEXT_MAX + 1];
    int session_sock = -1;
    size_t n_fds = 0;
    ssize_t n = fd_recv(warden.control, message, sizeof(message) - 1, &session_sock, 1, &n_fds);
    if (n < (ssize_t)sizeof(struct request))
        _exit(0); /* the daemon is gone */
    message[n] = '\0';
    struct request r;
    memcpy(&r, message, sizeof(r));
    r.workspace[WORKSPACE_NAME_MAX - 1] = '\0';
    if (r.type == REQUEST_ENTER) {
        enter(&r, session_sock);
    } else if (r.type == REQUEST_ZYGOTE_START) {
        start_zygote(&r, message + sizeof(r), message + n);
    } else if (r.type == REQUEST_ZYGOTE_STOP) {
        struct zygote *z = find_zygote(r.zygote);
        if (z != NULL)
            kill(z->pid, SIGKILL);
    } else if (r.type == REQUEST_SIGNAL) {
        struct inmate *i = find_inmate(r.head);
        if (i != NULL)
            signal_inmate(i, r.number);
    } else if (r.type == REQUEST_ADOPT) {
        adopt(&r, session_sock);
    } else if (r.type == REQUEST_ROOM) {
        make_room(&r);
    } else if (r.type == REQUEST_CLEAR) {
        clear(&r);
    } else if (r.type == REQUEST_MEASURE) {
        measure(&r);
    } else if (r.type == REQUEST_REMOVE) {
        remove_workspace(&r);
    } else if (r.type == REQUEST_RECORD || r.type == REQUEST_RESTORE) {
        relay_order(&warden.relay, &r);
    } else {
        obey_for_jail(&r);
    }
    if (n_fds > 0)
        close(session_sock);
}

static void read_keeper(void)
{
    struct keeper_word word;
    if (recv(warden.keeper, &word, sizeof(word), 0) != (ssize_t)sizeof(word))
        _exit(1);
    if (word.type == KEEPER_SAYS_MEASURED) {
        tell(&(struct report){.type = WARDEN_MEASURED, .head = word.head, .bytes = word.bytes}, "");
        return;
    }
    struct jail *j = find_jail(word.jail);
    if (j == NULL)
        return;
    if (word.type == KEEPER_SAYS_REMOVED) {
        j->is_removing = false;
        bury(j);
        return;
    }
    struct report report = {.type = WARDEN_OVER_QUOTA, .jail = j->id, .bytes = word.bytes};
    if (word.type != KEEPER_SAYS_UNDER)
        tell(&report, "");
    if (word.type == KEEPER_SAYS_FAR_OVER)
        kill_all(j);
}

static void start_keeper(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        _exit(1);
    pid_t pid = fork();
    if (pid < 0)
        _exit(1);
    if (pid == 0) {
        close(pair[0]);
        close(warden.control); /* the daemon must see the warden's end, not ours */
        keeper_main(pair[1], warden.factory->workspaces);
    }
    close(pair[1]);
    fd_set_nonblocking(pair[0], true);
    warden.keeper = pair[0];
    warden.keeper_pid = pid;
}

static void take_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    warden.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (warden.signals < 0)
        _exit(1);
}

/* Until the next thing that has to be done without being asked. */
static int patience_ms(void)
{
    int64_t left_ms = needs_spare() ? SPARE_AFTER_MS : -1;
    struct list *oldest = list_first(&warden.makings);
    if (oldest != NULL) {
        uint64_t until = CONTAINER_OF(oldest, struct branch_making, link)->until_ms;
        int64_t late_ms = (int64_t)(until - MIN(until, clock_mono_ms()));
        left_ms = left_ms < 0 ? late_ms : MIN(left_ms, late_ms);
    }
    return (int)left_ms;
}

enum { CONTROL, SIGNALS, KEEPER, RELAY, FIRST_ZYGOTE };

static void take_turn(void)
{
    struct pollfd waits[FIRST_ZYGOTE + ZYGOTES_MAX + MAKINGS_MAX] = {
        [CONTROL] = {.fd = warden.control, .events = POLLIN},
        [SIGNALS] = {.fd = warden.signals, .events = POLLIN},
        [KEEPER] = {.fd = warden.keeper, .events = POLLIN},
        [RELAY] = {.fd = warden.relay.sock, .events = POLLIN}, /* -1 is passed over */
    };
    struct zygote *zygotes[ZYGOTES_MAX];
    struct branch_making *makings[MAKINGS_MAX];
    nfds_t n_zygotes = 0, n_makings = 0;
    LIST_EACH(&warden.zygotes, at)
    {
        zygotes[n_zygotes] = CONTAINER_OF(at, struct zygote, link);
        waits[FIRST_ZYGOTE + n_zygotes] =
            (struct pollfd){.fd = zygotes[n_zygotes]->sock, .events = POLLIN};
        n_zygotes++;
    }
    struct pollfd *rooms = waits + FIRST_ZYGOTE + n_zygotes;
    LIST_EACH(&warden.makings, at)
    {
        makings[n_makings] = CONTAINER_OF(at, struct branch_making, link);
        rooms[n_makings] = (struct pollfd){.fd = makings[n_makings]->sync, .events = POLLIN};
        n_makings++;
    }
    int ready = poll(waits, FIRST_ZYGOTE + n_zygotes + n_makings, patience_ms());
    if (ready == 0 && needs_spare())
        make_spare();
    if (ready < 0)
        return;
    /* Zygotes and rooms before exits: a child's pid should be known before its end is. */
    for (nfds_t i = 0; i < n_zygotes; i++)
        if (waits[FIRST_ZYGOTE + i].revents & POLLIN)
            read_zygote(zygotes[i]);
    for (nfds_t i = 0; i < n_makings; i++)
        if (rooms[i].revents)
            read_making(makings[i]);
    end_late_makings();
    if (waits[SIGNALS].revents)
        reap_all();
    if (waits[KEEPER].revents)
        read_keeper();
    if (waits[RELAY].revents && warden.relay.sock >= 0)
        relay_read(&warden.relay);
    if (waits[CONTROL].revents)
        read_control();
}

_Noreturn void warden_main(int control, struct jail_factory *factory)
{
    prctl(PR_SET_NAME, "cella-warden");
    warden.control = control;
    warden.factory = factory;
    list_init(&warden.jails);
    list_init(&warden.spares);
    list_init(&warden.zygotes);
    list_init(&warden.makings);
    list_init(&warden.owed);
    warden.free_slots = mem_alloc(SLOTS_MAX * sizeof(*warden.free_slots));
    take_signals();
    keeper_set_leftovers_aside(factory->workspaces);
    pass_over_kept_slots();
    start_keeper();
    relay_init(&warden.relay, factory->workspaces, factory->blobs, tell);
    tell(&(struct report){.type = REPORT_STARTED}, "");
    for (;;)
        take_turn();
}
