/* One jail, as the warden sees it. Life:
 *
 *   made --the first head walked in--> inhabited, for as long as the daemon likes: heads come and
 * go either of these --destroy--> ending --all reaped, workspace removed--> gone made --the first
 * head did not come--> ending
 *
 * With rooms below it, ending stops short of gone: hollow --the last room gone--> gone.
 */
#pragma once

#include "base/list.h"
#include "jail/message.h"
#include "jail/seccomp.h"
#include "jail/warden/census.h"
#include "jail/warden/cgroup.h"
#include "jail/warden/facts.h"

/* What all jails are made with; fixed for the warden's life. */
struct jail_factory {
    void (*on_busy_group)(const struct cgroup *g); /* of an ended jail; NULL if unwanted */
    struct cgroup_parent cgroups;
    const struct seccomp_blob *filter;
    bool has_id_range;       /* every jail has a uid of its own; else all map to the one user */
    char id_note[1024];      /* why not, in words, and what else is to be told of ids; or "" */
    unsigned long pid_limit; /* of all processes of all jails, where the kernel can; 0: none */
    int workspaces;          /* descriptor of IMAGE_WORKSPACES */
    int blobs;               /* descriptor of the store */
    struct facts *facts;     /* what jails are told of their machine */
};

struct jail {
    struct list link;
    uint64_t id; /* the daemon's name for it */
    uint32_t slot;
    uint32_t user_slot; /* the slot whose user it has: its own, or for a room its source's */
    struct jail_limits limits;
    char workspace[WORKSPACE_NAME_MAX];
    struct cgroup cgroup;
    int facts;      /* its page of jail/warden/facts.h, or -1 */
    pid_t init_pid; /* 0 once reaped */
    int init_pidfd;
    int proc_fd; /* the jail's own /proc; -1 once handed to the keeper, which then watches */
    struct list inmates; /* who are in it or on their way, in the order of their coming */
    uint32_t n_inmates;
    bool has_checkpoints; /* it had one: limits are wider from then on */
    bool was_inhabited;
    bool is_ending;
    bool was_refused; /* the daemon has been told and expects no more of it */
    bool keeps_workspace;
    bool is_removing; /* the keeper owes an answer */
    /* Rooms, see jail/warden/branch.h. */
    struct jail *source;  /* of which this is a room, else NULL */
    uint32_t depth;       /* how many sources are above it */
    uint32_t n_rooms;     /* below it, standing or being built */
    bool is_being_built;  /* nothing may be asked of it yet */
    bool is_hollow;       /* the daemon has been told that it is gone; init waits for the rooms */
    struct list expected; /* a room that was told to end: prison_tracers.c */
    ino_t namespace;      /* then: of its processes */
};

/* An interpreter that a zygote was asked for, or a copy that one made of itself; until it was
 * reaped. */
struct inmate {
    struct list link;     /* in its jail */
    struct list owed;     /* among those whose zygote has not answered yet */
    struct list expected; /* to end: prison_tracers.c */
    struct jail *jail;
    uint64_t head; /* the daemon's name for it */
    uint32_t zygote;
    pid_t pid; /* 0 until the zygote has answered */
    enum warden_kind kind;
    pid_t inner_pid;      /* in the jail; 0 until it was asked for */
    bool is_held;         /* stopped: another takes its place, and then it is ended */
    int rank;             /* its oom_score_adj, if it was set by the warden */
    struct census census; /* a checkpoint: who lived in the jail when it was adopted */
};

/* The slot whose user this is, by the warden's numbers; a slot that cannot be if there is none. */
uint32_t jail_slot_of(const struct jail_factory *factory, unsigned owner);
/* The jail's user as the warden's namespace numbers it. */
unsigned jail_outer_id(const struct jail_factory *factory, const struct jail *j);
/* Every file of a workspace to the user of that slot: as long as that takes. 0 or -errno. */
int jail_give_workspace(const struct jail_factory *factory, const char *name, uint32_t slot);
/* What every jail begins with: a workspace and a cgroup. Its user is that of `source`, unless that
 * is NULL. */
int jail_new(const struct jail_factory *factory, struct jail *source, uint64_t id, uint32_t slot,
             const char *workspace, const struct jail_limits *limits, struct jail **ret,
             struct err *e);
void jail_discard(const struct jail_factory *factory, struct jail *j); /* one without an init */
/* Makes the jail: namespaces, file tree, cgroup, init. Blocks for about a millisecond. */
int jail_make(const struct jail_factory *factory, uint64_t id, uint32_t slot, const char *workspace,
              const struct jail_limits *limits, struct jail **ret, struct err *e);
/* Makes one and takes it down again: the only proof that jails can be made here. */
int jail_try(const struct jail_factory *factory, struct err *e);
void jail_kill(struct jail *j); /* all its processes; they are reaped by the warden's loop */
void jail_free(const struct jail_factory *factory, struct jail *j); /* takes NULL */
