/* The pool: for each profile a zygote and a few heads that wait, warmed up, for a session; and
 * every room with the heads in it. A taken head is replaced in the background, one at a time and
 * after the requests at hand; a full pool has no timer. When entering fails, the pauses between
 * attempts grow and end. */
#pragma once

#include "base/err.h"
#include "jail/warden.h"
#include "runtime/head.h"
#include "runtime/runtime.h"
#include "runtime/snapshot.h"
#include "runtime/zygote.h"

struct pool;

struct pool_config {
    const struct runtime_profile *profiles; /* borrowed */
    size_t n_profiles;
    const char *default_profile; /* of Python; other runtimes have a profile of their own name */
    struct jail_limits limits;   /* of the heads that wait */
    uint32_t size;               /* for each profile whose zygote runs */
    void (*on_zygote_ready)(void *context, const struct runtime_zygote *zygote);
    void (*on_zygote_ended)(void *context, const struct runtime_zygote *zygote);
    /* Something an administrator should know. */
    void (*on_notice)(void *context, const char *event, const char *text);
    /* A workspace is gone that went with its jail. May be NULL. */
    void (*on_left)(void *context, const char *workspace);
    void *context;
};

struct pool *pool_new(const struct pool_config *config, struct warden *warden, uv_loop_t *loop);
/* Frees every head that waits and closes the timers. Heads that were taken must be released. */
void pool_free(struct pool *pool);

/* Starts the profile's zygote ahead of its first session. */
int pool_warm(struct pool *pool, const char *profile, struct err *e);

struct pool_request {
    const struct runtime *runtime;
    const char *profile;              /* NULL for the runtime's usual one */
    const struct jail_limits *limits; /* NULL for the usual ones */
    struct room *join;                /* walks into this room; NULL for a room of its own */
    const char *workspace; /* that the room gets, if it exists already; NULL for a new one */
    bool is_brief;         /* the head is used for a moment only: its replacement can wait */
    bool has_state; /* the head begins or ends with a state: later ones should be prepared for that,
                       which takes memory. Of Python */
    const struct head_listener *listener;
    void *owner;
};

/* A head for a session: a ready one (then it is HEAD_IDLE), or one that is being made and will
 * tell the listener. */
int pool_take(struct pool *pool, const struct pool_request *request, struct head **ret_head,
              struct err *e);
void pool_release(struct pool *pool, struct head *head); /* ends it; takes NULL */

/* A room that is held stays, also while it is empty. */
void pool_hold(struct room *room);
void pool_let_go(struct pool *pool, struct room *room);

/* The sleeping copy of an idle head, see snapshot.h. */
struct snapshot *pool_snapshot(struct pool *pool, struct head *head, uint64_t id,
                               const struct snapshot_listener *listener, void *owner,
                               struct err *e);
void pool_drop(struct pool *pool, struct snapshot *snapshot); /* ends it; takes NULL */
/* A head that is a copy of the snapshot, in the same room; it tells the listener when it is ready.
 */
int pool_wake(struct pool *pool, struct snapshot *snapshot, const struct head_listener *listener,
              void *owner, struct head **ret_head, struct err *e);
/* The same, but the copy leaves for another room, whose `key` the warden gave; it is taken. */
int pool_wake_in(struct pool *pool, struct snapshot *snapshot, struct room *room, int key,
                 const struct head_listener *listener, void *owner, struct head **ret_head,
                 struct err *e);
/* A room that the warden is to be asked for, with a workspace of this name. Hold it. */
struct room *pool_make_room(struct pool *pool, const char *name, const struct jail_limits *limits);
/* A name for what the warden is asked to adopt, or a ticket for what it is asked to do. */
uint64_t pool_new_number(struct pool *pool);

/* Every event of the warden that concerns heads, snapshots, rooms and zygotes. */
void pool_on_event(struct pool *pool, const struct warden_event *event);
/* The workspace is about to be removed: a new session of its name would lose its files. */
bool pool_is_leaving(const struct pool *pool, const char *workspace);

/* Applies to new interpreters; pooled ones that were made under other limits are ended. */
void pool_set_limits(struct pool *pool, const struct jail_limits *limits, uint32_t size);

size_t pool_n_ready(const struct pool *pool);

/* Figures of one profile. */
struct pool_stats {
    const struct runtime_zygote *zygote;
    uint32_t size;         /* how many are to wait */
    uint32_t ready;        /* how many do */
    uint64_t hits, misses; /* sessions that found one, and that had to wait for one */
};

bool pool_stats(const struct pool *pool, size_t index, struct pool_stats *ret); /* false: no more */
