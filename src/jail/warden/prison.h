/* The warden's process from inside: what its parts share. warden_main.c has the loop, and each
 * prison_*.c one kind of thing that it looks after. Requests come from the daemon, which is told
 * what became of them and of every jail, inmate and zygote; nothing here waits for anybody else. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "jail/message.h"
#include "jail/warden/idmap.h"
#include "jail/warden/jail.h"
#include "jail/warden/keeper.h"
#include "jail/warden/outbox.h"
#include "jail/warden/relay.h"

struct branch_making;
struct zygote;

enum {
    ZYGOTES_MAX = 32,
    MAKINGS_MAX = 64,        /* rooms that are being built at once */
    SLOTS_MAX = IDMAP_COUNT, /* each has an id, where there is a range */
};

struct prison {
    int control;
    struct outbox to_keeper;
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
    struct list handovers; /* workspaces that are given to another user */
    struct list busy_groups;
    struct list clearings;      /* of jails in which processes are being ended */
    bool has_more_exits;        /* than were reaped in one turn */
    struct list expected_ends;  /* inmates with `debug` that were told to end */
    struct list expected_rooms; /* likewise */
    uint64_t tracers_at_ms;     /* monotonic: when to look whether a tracer holds them back */
    struct list owed;           /* inmates whose zygote has not answered yet */
    struct map early_exits;     /* processes that ended meanwhile and may turn out to be copies */
    uint32_t *free_slots;       /* a stack of slots that were used before */
    size_t n_free_slots;
    uint32_t next_slot;
};

extern struct prison prison; /* a process has one */

/* ---- prison.c: telling the daemon, finding things, slots ----------------------------------- */

/* -ETOOMANYREFS: the kernel takes no descriptors now, and nothing was told. */
int prison_tell_with(const struct report *report, const char *text, int fd);
void prison_tell(const struct report *report, const char *text);
void prison_tell_refused(uint64_t jail, uint64_t head, const char *why);

struct prison_key {
    char text[24];
};
struct prison_key prison_key(uint64_t number); /* of the maps */
struct jail *prison_find_jail(uint64_t id);
struct inmate *prison_find_inmate(uint64_t head);

bool prison_has_slot(void);
uint32_t prison_take_slot(void);
bool prison_take_this_slot(uint32_t slot); /* if no jail has it */
void prison_give_slot(uint32_t slot);
void prison_pass_over_kept_slots(void);

/* ---- prison_keeper.c ----------------------------------------------------------------------- */

void prison_start_keeper(void);
void prison_read_keeper(void);
void prison_flush_keeper(void); /* what waits for it */
void prison_order_keeper(enum keeper_order_type type, const struct jail *j, bool is_busy,
                         const int *fds, size_t n_fds);
void prison_watch(struct jail *j, bool is_busy);
void prison_measure(const struct request *r);
void prison_remove_workspace(const struct request *r);

/* ---- prison_jails.c ------------------------------------------------------------------------ */

void prison_kill_all(struct jail *j);
void prison_end_jail(struct jail *j);
void prison_settle(struct jail *j);
void prison_bury(struct jail *j);
int prison_apply_limits(const struct jail *j, struct err *e);

struct inmate *prison_add_inmate(struct jail *j, const struct request *r);
void prison_refuse(struct inmate *i, const char *why);
void prison_inmate_exited(struct inmate *i, int status);
void prison_signal(struct inmate *i, int sig);

struct jail *prison_jail_for(const struct request *r, struct err *e);
bool prison_needs_spare(void);
void prison_make_spare(void);
void prison_keep_busy_group(const struct cgroup *group);
/* The milliseconds until the next try; -1: none is left. */
int64_t prison_remove_busy_groups(void);

/* ---- prison_zygotes.c ---------------------------------------------------------------------- */

struct zygote *prison_find_zygote(uint32_t id);
void prison_start_zygote(const struct request *r, const char *text, const char *end);
void prison_read_zygote(struct zygote *z);
void prison_zygote_exited(struct zygote *z, int status);
void prison_enter(const struct request *r, int session_sock);
bool prison_handover_ended(pid_t pid, int status); /* true: it was one */
void prison_give_up_handover(uint64_t jail, bool keep_workspace);

/* ---- prison_rooms.c ------------------------------------------------------------------------ */

void prison_make_room(const struct request *r);
void prison_read_making(struct branch_making *m);
void prison_end_late_makings(void);

/* ---- prison_sockets.c ---------------------------------------------------------------------- */

void prison_make_socket(const struct request *r);

/* ---- prison_copies.c ----------------------------------------------------------------------- */

void prison_adopt(const struct request *r, int pidfd);
void prison_look(const struct request *r);
void prison_weigh(const struct request *r);
void prison_terminate(struct jail *j);
/* As its cgroup counts, or where there is none what its processes say themselves. */
void prison_get_use(struct jail *j, struct cgroup_use *ret);
void prison_rank_checkpoints(const struct jail *j);

/* ---- prison_tracers.c ---------------------------------------------------------------------- */

void prison_expect_end(struct inmate *i); /* it was told to end */
void prison_expect_end_of_room(struct jail *j);
int64_t prison_end_tracers(void); /* the milliseconds until the next look; -1: none is due */
bool prison_is_traced(const struct jail *j, pid_t pid); /* one of its processes */

void prison_clear(const struct request *r);
/* Every process of the jail but its init and those in rooms below it. If they multiply faster than
 * they can be ended, the rooms go too. */
void prison_empty(struct jail *j);
void prison_go_on_clearing(void);                /* a turn of jails that take longer to clear */
void prison_end_clearings(const struct jail *j); /* its init has ended */
