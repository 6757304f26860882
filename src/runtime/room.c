/* A jail as the daemon sees it. Daemon; owned by its heads together. */
#include "runtime/room.h"

#include "runtime/head.h"

#include <assert.h>

struct room *room_new(struct warden *warden, uint64_t jail, const char *name,
                      const struct jail_limits *limits)
{
    struct room *room = mem_alloc(sizeof(*room));
    *room = (struct room){.warden = warden, .jail = jail, .limits = *limits};
    snprintf(room->name, sizeof(room->name), "%s", name);
    list_init(&room->heads);
    list_init(&room->snapshots);
    return room;
}

bool room_is_deserted(const struct room *room)
{
    return list_is_empty(&room->heads) && list_is_empty(&room->snapshots) && room->n_holds == 0;
}

void room_free(struct room *room)
{
    assert(room_is_deserted(room));
    struct err ignored; /* the warden is lost: so is the jail */
    if (room->is_known)
        warden_destroy(room->warden, room->jail, room->keeps_workspace, &ignored);
    free(room);
}

void room_watch(struct room *room)
{
    bool is_busy = false;
    LIST_EACH(&room->heads, node)
        is_busy |= CONTAINER_OF(node, struct head, room_node)->is_watched;
    struct err ignored;
    if (room->is_known)
        warden_watch(room->warden, room->jail, is_busy, &ignored);
}
