/* How much memory each checkpoint has of its own. */
#include "loop/loop.h"
#include "runtime/snapshot.h"
#include "session/engine_state.h"
#include "session/timeline_parts.h"

enum { CENSUS_MS = 500 };

struct timeline_census {
    struct list node;
    struct session *session;
    struct loop_timer *timer;
    void (*on_measured)(void *context);
    void *context;
};

void timeline_census_leave(struct timeline_census *census)
{
    list_remove(&census->node);
    loop_timer_close(take_ptr(census->timer), NULL);
    free(census);
}

static void end_census(void *context)
{
    struct timeline_census *census = context;
    void (*on_measured)(void *) = census->on_measured;
    void *caller = census->context;
    timeline_census_leave(census);
    on_measured(caller);
}

static bool is_all_measured(const struct timeline *timeline)
{
    LIST_EACH(&timeline->checkpoints, node)
    {
        const struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (checkpoint->snapshot != NULL && checkpoint->memory_bytes == UINT64_MAX)
            return false;
    }
    return true;
}

void timeline_end_censuses(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    while (!list_is_empty(&timeline->censuses))
        end_census(CONTAINER_OF(list_first(&timeline->censuses), struct timeline_census, node));
}

void timeline_on_measured(struct snapshot *snapshot, uint64_t bytes)
{
    struct checkpoint *checkpoint = snapshot->owner;
    checkpoint->memory_bytes = bytes;
    if (is_all_measured(&checkpoint->session->timeline))
        timeline_end_censuses(checkpoint->session);
}

struct timeline_census *timeline_measure(struct session *session, void (*on_done)(void *context),
                                         void *context)
{
    struct timeline *timeline = &session->timeline;
    LIST_EACH(&timeline->checkpoints, node)
    {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        checkpoint->memory_bytes = UINT64_MAX;
        if (checkpoint->snapshot != NULL)
            snapshot_measure(checkpoint->snapshot);
    }
    if (is_all_measured(timeline)) {
        on_done(context);
        return NULL;
    }
    struct timeline_census *census = mem_alloc(sizeof(*census));
    *census =
        (struct timeline_census){.session = session, .on_measured = on_done, .context = context};
    census->timer = loop_timer_new(session->engine->loop, end_census, census);
    loop_timer_set(census->timer, CENSUS_MS);
    list_append(&timeline->censuses, &census->node);
    return census;
}
