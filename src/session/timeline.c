#include "session/timeline.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/saving.h"
#include "session/tickets.h"
#include "session/timeline_parts.h"

enum {
    COST_MIN_NS = 2000000, /* of a checkpoint, until one was measured */
    COST_WHOLE = 2,        /* what follows a checkpoint: both sides copy the pages they write */
    COST_SHARE = 10,       /* quick cells run at least so many times as long as their checkpoint */
};

const char *const timeline_modes[] = {"auto", "every", "off", NULL};

const char *timeline_mode_name(enum timeline_mode mode)
{
    return timeline_modes[mode];
}

/* ---- lists of cells -------------------------------------------------------------------------- */

void timeline_cells_add(struct timeline_cells *cells, const uint64_t *ids, size_t n)
{
    if (n == 0)
        return;
    cells->ids = mem_realloc(cells->ids, (cells->n + n) * sizeof(*cells->ids));
    memcpy(cells->ids + cells->n, ids, n * sizeof(*ids));
    cells->n += n;
    if (cells->n <= TIMELINE_CELLS_MAX)
        return;
    size_t surplus = cells->n - TIMELINE_CELLS_MAX;
    memmove(cells->ids, cells->ids + surplus, TIMELINE_CELLS_MAX * sizeof(*ids));
    cells->n = TIMELINE_CELLS_MAX;
    cells->n_more += surplus;
}

void timeline_cells_free(struct timeline_cells *cells)
{
    free(cells->ids);
    *cells = (struct timeline_cells){0};
}

/* `first` and then `second`, in `second`. */
static void prepend_cells(const struct timeline_cells *first, struct timeline_cells *second)
{
    struct timeline_cells all = {.n_more = first->n_more};
    timeline_cells_add(&all, first->ids, first->n);
    timeline_cells_add(&all, second->ids, second->n);
    all.n_more += second->n_more;
    timeline_cells_free(second);
    *second = all;
}

struct timeline_cells timeline_cells_between(const struct checkpoint *from,
                                             const struct checkpoint *to)
{
    struct timeline_cells cells = {0};
    for (; to != NULL && to != from; to = to->parent)
        prepend_cells(&to->cells, &cells);
    return cells;
}

/* ---- the tree -------------------------------------------------------------------------------- */

void timeline_init(struct session *session, enum timeline_mode mode)
{
    session->timeline = (struct timeline){
        .mode = mode, .cannot_fork = session->runtime == &runtime_node, .cost_ns = COST_MIN_NS};
    list_init(&session->timeline.checkpoints);
    list_init(&session->timeline.censuses);
}

struct checkpoint *timeline_find(const struct session *session, uint64_t id)
{
    LIST_EACH(&session->timeline.checkpoints, node)
    {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (checkpoint->id == id)
            return checkpoint;
    }
    return NULL;
}

/* The new ones first, for most of them are the same. */
void timeline_hold_files(struct session *session, char held[TIMELINE_HASH_SIZE],
                         const char *manifest)
{
    struct store *store = session->engine->store;
    if (store != NULL && manifest[0] != '\0')
        store_pin(store, manifest);
    if (store != NULL && held[0] != '\0')
        store_unpin(store, held);
    snprintf(held, TIMELINE_HASH_SIZE, "%s", manifest);
}

const char *timeline_files_at(const struct session *session, const struct checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return session->timeline.begun;
    return checkpoint->manifest[0] != '\0' ? checkpoint->manifest : NULL;
}

void timeline_amend(struct session *session, struct checkpoint *checkpoint, const char *manifest)
{
    timeline_hold_files(
        session, checkpoint != NULL ? checkpoint->manifest : session->timeline.begun, manifest);
}

struct checkpoint *timeline_add(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    struct checkpoint *checkpoint = mem_alloc(sizeof(*checkpoint));
    *checkpoint = (struct checkpoint){.session = session,
                                      .id = ++timeline->last_id,
                                      .parent = timeline->current,
                                      .cells = timeline->since,
                                      .last_cell = session->ended_exec,
                                      .at_ms = clock_wall_ms(),
                                      .memory_bytes = UINT64_MAX};
    checkpoint->is_cut_off =
        timeline->current == NULL && (timeline->is_cut_off || timeline->is_copy);
    timeline->since = (struct timeline_cells){0};
    timeline->since_ns = 0;
    timeline->is_copy = timeline->wants_process = false;
    timeline->current = checkpoint;
    list_append(&timeline->checkpoints, &checkpoint->node);
    timeline->n++;
    return checkpoint;
}

struct checkpoint *timeline_add_saved(struct session *session, uint64_t id, uint64_t last_cell,
                                      const char *manifest)
{
    struct timeline *timeline = &session->timeline;
    struct checkpoint *checkpoint = mem_alloc(sizeof(*checkpoint));
    *checkpoint = (struct checkpoint){.session = session,
                                      .id = id,
                                      .last_cell = last_cell,
                                      .at_ms = clock_wall_ms(),
                                      .is_saved = true,
                                      .is_cut_off = true,
                                      .reason = "only its saved state is left",
                                      .memory_bytes = UINT64_MAX};
    bool has_files = strlen(manifest) == TIMELINE_HASH_SIZE - 1;
    if (has_files)
        timeline_hold_files(session, checkpoint->manifest, manifest);
    checkpoint->files = has_files ? FILES_COVERED : FILES_NONE;
    timeline->last_id = MAX(timeline->last_id, id);
    list_append(&timeline->checkpoints, &checkpoint->node);
    timeline->n++;
    return checkpoint;
}

void timeline_add_redo(struct session *session, uint64_t id)
{
    struct timeline *timeline = &session->timeline;
    timeline->redo = mem_realloc(timeline->redo, (timeline->n_redo + 1) * sizeof(*timeline->redo));
    timeline->redo[timeline->n_redo++] = id;
}

bool timeline_is_cut_off(const struct checkpoint *checkpoint, const struct checkpoint *parent)
{
    return parent == NULL && (checkpoint->parent != NULL || checkpoint->is_cut_off);
}

static void free_checkpoint(struct checkpoint *checkpoint)
{
    struct session *session = checkpoint->session;
    if (checkpoint->ticket != 0)
        tickets_forget(session->engine, checkpoint->ticket);
    pool_forget(session->engine->pool, take_ptr(checkpoint->snapshot));
    timeline_hold_files(session, checkpoint->manifest, "");
    timeline_cells_free(&checkpoint->cells);
    list_remove(&checkpoint->node);
    session->timeline.n--;
    free(checkpoint);
}

void timeline_remove(struct checkpoint *checkpoint)
{
    struct timeline *timeline = &checkpoint->session->timeline;
    LIST_EACH(&timeline->checkpoints, node)
    {
        struct checkpoint *child = CONTAINER_OF(node, struct checkpoint, node);
        if (child->parent != checkpoint)
            continue;
        prepend_cells(&checkpoint->cells, &child->cells);
        child->parent = checkpoint->parent;
        child->is_cut_off = child->parent == NULL;
    }
    if (timeline->current == checkpoint) {
        prepend_cells(&checkpoint->cells, &timeline->since);
        timeline->current = checkpoint->parent;
        timeline->is_cut_off = timeline->current == NULL;
    }
    free_checkpoint(checkpoint);
}

void timeline_end_process(struct checkpoint *checkpoint, const char *why)
{
    struct session *session = checkpoint->session;
    if (!checkpoint->is_saved) {
        timeline_remove(checkpoint);
        return;
    }
    pool_forget(session->engine->pool, take_ptr(checkpoint->snapshot));
    snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%s", why);
}

void timeline_free(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    timeline_end_censuses(session);
    while (!list_is_empty(&timeline->checkpoints))
        free_checkpoint(CONTAINER_OF(list_first(&timeline->checkpoints), struct checkpoint, node));
    timeline_hold_files(session, timeline->base, "");
    timeline_hold_files(session, timeline->begun, "");
    timeline->current = NULL;
    timeline_cells_free(&timeline->since);
    free(take_ptr(timeline->redo));
    timeline->n_redo = 0;
    loop_timer_close(take_ptr(timeline->patience), NULL);
}

void timeline_end_processes(struct session *session, uint64_t current)
{
    struct timeline *timeline = &session->timeline;
    timeline_end_censuses(session);
    LIST_EACH(&timeline->checkpoints, node)
    {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (checkpoint->ticket != 0)
            tickets_forget(session->engine, checkpoint->ticket);
        checkpoint->ticket = 0;
        if (checkpoint->files == FILES_RECORDING)
            checkpoint->files = FILES_NONE;
        timeline_end_process(checkpoint, "the session was suspended");
    }
    timeline_hold_files(session, timeline->base, "");
    timeline_go_to(session, timeline_find(session, current));
    timeline->is_copy = timeline->wants_process = false;
    loop_timer_close(take_ptr(timeline->patience), NULL);
}

struct checkpoint *timeline_wakeable(struct checkpoint *from)
{
    while (from != NULL && from->snapshot == NULL)
        from = from->parent;
    return from;
}

static bool is_ancestor(const struct checkpoint *of, const struct checkpoint *ancestor)
{
    while (of != NULL && of != ancestor)
        of = of->parent;
    return of == ancestor;
}

struct timeline_cells timeline_undone(const struct session *session, const struct checkpoint *to)
{
    struct timeline_cells undone = {0};
    const struct timeline *timeline = &session->timeline;
    timeline_cells_add(&undone, timeline->since.ids, timeline->since.n);
    for (const struct checkpoint *at = timeline->current; at != NULL && !is_ancestor(to, at);
         at = at->parent)
        prepend_cells(&at->cells, &undone);
    return undone;
}

uint64_t timeline_parting(const struct session *session, const struct checkpoint *to,
                          struct timeline_cells *ret_beyond)
{
    *ret_beyond = (struct timeline_cells){0};
    while (to != NULL && !is_ancestor(session->timeline.current, to)) {
        prepend_cells(&to->cells, ret_beyond);
        to = to->parent;
    }
    return to != NULL ? to->last_cell : 0;
}

void timeline_go_to(struct session *session, struct checkpoint *checkpoint)
{
    struct timeline *timeline = &session->timeline;
    timeline->current = checkpoint;
    timeline->is_cut_off = false;
    timeline->since_ns = 0;
    timeline->wants_process = checkpoint != NULL && checkpoint->snapshot == NULL;
    timeline_cells_free(&timeline->since);
}

void timeline_add_cell(struct session *session, uint64_t exec_id, uint64_t ran_ns)
{
    struct timeline *timeline = &session->timeline;
    timeline_cells_add(&timeline->since, &exec_id, 1);
    timeline->since_ns += ran_ns;
    timeline->n_redo = 0; /* another future has begun */
}

bool timeline_is_worth(const struct session *session, uint64_t ran_ns)
{
    const struct timeline *timeline = &session->timeline;
    uint64_t cost_ns = MAX(timeline->cost_ns, (uint64_t)COST_MIN_NS);
    cost_ns = MIN(cost_ns, (uint64_t)TIMELINE_SHARED_NS);
    return ran_ns > COST_WHOLE * cost_ns ||
           timeline->since_ns > MAX((uint64_t)TIMELINE_SHARED_NS, cost_ns * COST_SHARE);
}

void timeline_on_cost(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    timeline->forked_ns = clock_mono_ns();
    timeline->cost_ns = (3 * timeline->cost_ns + timeline->forked_ns - timeline->ordered_ns) / 4;
}

bool timeline_has_checkpoints(const struct session *session)
{
    return session->timeline.mode != TIMELINE_OFF && !session->timeline.cannot_fork;
}

bool timeline_is_settled(const struct checkpoint *checkpoint)
{
    bool is_asleep = checkpoint->snapshot == NULL || checkpoint->snapshot->state == SNAPSHOT_ASLEEP;
    return is_asleep && checkpoint->files != FILES_RECORDING;
}

bool timeline_is_due(const struct session *session)
{
    const struct timeline *timeline = &session->timeline;
    return timeline_has_checkpoints(session) &&
           (timeline->since.n > 0 || timeline->is_copy || timeline->wants_process);
}

uint64_t timeline_next_id(const struct session *session)
{
    const struct timeline *timeline = &session->timeline;
    if (!timeline_has_checkpoints(session))
        return 0;
    if (timeline->since.n > 0)
        return timeline->last_id + 1;
    return timeline->current != NULL ? timeline->current->id : 0;
}
