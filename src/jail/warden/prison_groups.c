/* Cgroups of jails that are gone, with somebody still in them: a process of another jail that
 * slipped in by the key of a room. They are ended, and the groups go. */
#include "base/clock.h"
#include "jail/warden/prison.h"

enum { PACE_MIN_MS = 5, PACE_MAX_MS = 1000 };

struct busy_group {
    struct list link;
    struct cgroup group;
    uint64_t next_ms, pace_ms;
};

void prison_keep_busy_group(const struct cgroup *group)
{
    struct busy_group *b = mem_alloc(sizeof(*b));
    *b = (struct busy_group){
        .group = *group, .pace_ms = PACE_MIN_MS, .next_ms = clock_mono_ms() + PACE_MIN_MS};
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
            b->pace_ms = MIN(2 * b->pace_ms, (uint64_t)PACE_MAX_MS);
            b->next_ms = now_ms + b->pace_ms;
        }
        int64_t wait_ms = (int64_t)(b->next_ms - now_ms);
        left_ms = left_ms < 0 ? wait_ms : MIN(left_ms, wait_ms);
    }
    return left_ms;
}
