/* Rooms below jails, for branches. */
#include "base/clock.h"
#include "jail/warden/branch.h"
#include "jail/warden/prison.h"

#include <fcntl.h>
#include <sys/stat.h>

void prison_make_room(const struct request *r)
{
    struct err e;
    struct stat st;
    struct jail *source = prison_find_jail(r->since);
    struct branch_making *m = NULL;
    bool was_there =
        fstatat(prison.factory->workspaces, r->workspace, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (source == NULL || source->is_ending || source->is_being_built || source->init_pid == 0)
        err_set(&e, ERR_GONE, "the session to branch has ended");
    else if (prison_find_jail(r->jail) != NULL)
        err_set(&e, ERR_CONFLICT, "there is such a jail already");
    else if (prison.n_makings == MAKINGS_MAX || !prison_has_slot())
        err_set(&e, ERR_LIMIT, "too many jails are being made");
    else {
        uint32_t slot = prison_take_slot();
        if (branch_begin(prison.factory, source, r->jail, slot, r->workspace, &r->limits, &m, &e) <
            0)
            prison_give_slot(slot);
    }
    if (m == NULL) {
        prison_tell_refused(r->jail, 0, e.message);
        return;
    }
    list_append(&prison.makings, &m->link);
    prison.n_makings++;
    m->jail->keeps_workspace = was_there; /* whatever comes, unless the daemon says otherwise */
    list_append(&prison.jails, &m->jail->link);
    map_set(&prison.jails_by_id, prison_key(r->jail).text, m->jail);
}

static void room_stands(struct branch_making *m)
{
    struct jail *j = m->jail;
    j->is_being_built = false;
    j->was_inhabited = true; /* the daemon decides what becomes of it */
    _fd_ int key = branch_make_key(m);
    struct report report = {.type = WARDEN_ROOM, .jail = j->id, .pid = j->init_pid};
    if (key < 0 || prison_tell_with(&report, "", key) < 0) {
        j->was_refused = true;
        prison_tell_refused(j->id, 0, "cannot make the key of a room");
        prison_end_jail(j);
    }
}

/* Who was stopped on the way by those in the source stays theirs, until the source ends. */
static void room_failed(struct branch_making *m, const char *why)
{
    struct jail *j = m->jail;
    j->is_being_built = false;
    if (!j->is_ending) {
        j->was_refused = true;
        prison_tell_refused(j->id, 0, why);
    }
    prison_end_jail(j);
}

static void end_making(struct branch_making *m)
{
    list_remove(&m->link);
    prison.n_makings--;
    branch_free(m);
}

void prison_read_making(struct branch_making *m)
{
    struct err e;
    struct jail *j = m->jail;
    bool was_known = j->init_pid > 0;
    int r = branch_read(m, &e);
    if (!was_known && j->init_pid > 0)
        map_set(&prison.jails_by_init, prison_key((uint64_t)j->init_pid).text, j);
    if (r == 0)
        return;
    if (r > 0 && !j->is_ending)
        room_stands(m);
    else
        room_failed(m, r < 0 ? e.message : "it was not wanted any more");
    end_making(m);
}

void prison_end_late_makings(void)
{
    uint64_t now_ms = clock_mono_ms();
    LIST_EACH(&prison.makings, at) {
        struct branch_making *m = CONTAINER_OF(at, struct branch_making, link);
        if (m->until_ms > now_ms)
            continue;
        room_failed(m, "a room was not built in time");
        end_making(m);
    }
}
