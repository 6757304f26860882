/* A room: a jail as the daemon sees it, with the heads in it and the snapshots of heads. Usually
 * one head; others may join, and share its files, its network and its limits. A session holds its
 * room, also while its head is dead and no other has taken its place; the room ends when nothing is
 * in it and no session holds it. */
#pragma once

#include "base/ids.h"
#include "base/list.h"
#include "jail/warden.h"

struct room {
    struct warden *warden;
    uint64_t jail;
    char name[UUID_SIZE]; /* of its workspace: that of the head it was made for */
    struct jail_limits limits;
    struct list heads;     /* of struct head, by room_node */
    struct list snapshots; /* of struct snapshot, by room_node */
    unsigned n_holds;
    bool keeps_workspace;  /* the files outlive the room */
    uint32_t oom_kills;    /* that were told with the end of a head */
    uint32_t pids_refused; /* likewise */
    bool is_known;         /* the warden was asked for it and has not said that it is gone */
};

struct room *room_new(struct warden *warden, uint64_t jail, const char *name,
                      const struct jail_limits *limits);
void room_free(struct room *room);              /* a deserted one; ends the jail */
bool room_is_deserted(const struct room *room); /* no process is in it and no session holds it */

/* A cell of any of its heads runs or none does. */
void room_watch(struct room *room);
