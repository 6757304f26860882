/* A snapshot: the sleeping copy of a head, as the daemon sees it. The head forks it; the warden
 * learns who it is from the first byte that it writes; then it sleeps until it is told to wake a
 * copy of itself, which becomes a head, or to save. It never says anything else: like everything
 * in a jail it is not believed.
 *
 *   FORKING --first byte--> ADOPTING --the warden knows it--> ASLEEP
 *   any of them --(refused, exited, not forked)--> GONE, told once; then its owner releases it
 */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "runtime/head.h"

struct snapshot;

enum snapshot_state { SNAPSHOT_FORKING, SNAPSHOT_ADOPTING, SNAPSHOT_ASLEEP, SNAPSHOT_GONE };

struct snapshot_listener {
    void (*on_asleep)(struct snapshot *snapshot);
    /* The process does not exist, or no longer. `why` is for people. */
    void (*on_gone)(struct snapshot *snapshot, const char *why);
    void (*on_measured)(struct snapshot *snapshot, uint64_t bytes); /* see snapshot_measure */
};

struct snapshot {
    const struct snapshot_listener *listener;
    void *owner;
    uint64_t number;       /* the warden's name for it */
    struct room *room;     /* where it sleeps */
    struct list room_node; /* among the room's snapshots */
    const struct runtime_profile *profile;
    struct denials *denied; /* of the head that forked it: the filter is the same */
    enum snapshot_state state;
    bool is_hostile;     /* ended because it sent a descriptor */
    uint64_t jail_bytes; /* of memory in use in its room when it fell asleep; 0: not known */
    uint32_t n_others;   /* processes that the session had started and left by then */
    int sock;
    struct loop_poll *poll;   /* until its first byte */
    struct list orders;       /* whose descriptors the kernel has not taken yet, oldest first */
    struct loop_timer *again; /* tries to send them; NULL until there was one */
    uv_loop_t *loop;
};

/* Lets an idle head fork one. `id` names it in what the head says about it. */
struct snapshot *snapshot_take(struct head *head, uint64_t number, uint64_t id,
                               const struct snapshot_listener *listener, void *owner,
                               struct err *e);
void snapshot_free(struct snapshot *snapshot); /* ends its process; takes NULL */
void snapshot_on_event(struct snapshot *snapshot, const struct warden_event *event);

/* A copy of it becomes `head`, which waits in the same room (head_await); with a `key` (else -1),
 * which is closed here, in the room that the key is to. */
int snapshot_wake(struct snapshot *snapshot, struct head *head, int key, struct err *e);
/* A copy of it writes the session's state to `sock`, which is closed here. */
int snapshot_save(struct snapshot *snapshot, const struct head_save *save, int sock, struct err *e);
/* How much memory is its own; on_measured follows. False if it will not, as while the copy is still
 * being made. */
bool snapshot_measure(struct snapshot *snapshot);
