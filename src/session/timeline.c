#include "session/timeline.h"

#include "base/clock.h"
#include "jail/warden.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/branch.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/files.h"
#include "session/restore.h"
#include "session/saving.h"
#include "session/tickets.h"
#include "session/trial.h"
#include "wire/json.h"

enum {
    PATIENCE_AUTO_MS = 20, /* a cell waits for the files of the checkpoint before it */
    PATIENCE_EVERY_MS = 2000,
    FILES_MAX = 20000, /* in /workspace, for them to be covered */
    CENSUS_MS = 500,
};

const char *const timeline_modes[] = {"auto", "every", "off", NULL};

const char *timeline_mode_name(enum timeline_mode mode)
{
    return timeline_modes[mode];
}

/* ---- lists of cells ----------------------------------------------------------------------------
 */

static void add_cells(struct timeline_cells *cells, const uint64_t *ids, size_t n)
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
    add_cells(&all, first->ids, first->n);
    add_cells(&all, second->ids, second->n);
    all.n_more += second->n_more;
    timeline_cells_free(second);
    *second = all;
}

/* ---- the tree ----------------------------------------------------------------------------------
 */

void timeline_init(struct session *session, enum timeline_mode mode)
{
    session->timeline =
        (struct timeline){.mode = mode, .cannot_fork = session->runtime == &runtime_node};
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

/* The store removes files that it knows nobody to need: it is told which ones memory alone knows.
 * The new ones first, for most of them are the same. */
static void hold_files(struct session *session, char held[TIMELINE_HASH_SIZE], const char *manifest)
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
    hold_files(session, checkpoint != NULL ? checkpoint->manifest : session->timeline.begun,
               manifest);
}

static void free_checkpoint(struct checkpoint *checkpoint)
{
    struct session *session = checkpoint->session;
    if (checkpoint->ticket != 0)
        tickets_forget(session->engine, checkpoint->ticket);
    pool_forget(session->engine->pool, take_ptr(checkpoint->snapshot));
    hold_files(session, checkpoint->manifest, "");
    timeline_cells_free(&checkpoint->cells);
    list_remove(&checkpoint->node);
    session->timeline.n--;
    free(checkpoint);
}

/* Its children become those of its parent, and its cells theirs. */
static void remove_checkpoint(struct checkpoint *checkpoint)
{
    struct timeline *timeline = &checkpoint->session->timeline;
    LIST_EACH(&timeline->checkpoints, node)
    {
        struct checkpoint *child = CONTAINER_OF(node, struct checkpoint, node);
        if (child->parent != checkpoint)
            continue;
        prepend_cells(&checkpoint->cells, &child->cells);
        child->parent = checkpoint->parent;
    }
    if (timeline->current == checkpoint) {
        prepend_cells(&checkpoint->cells, &timeline->since);
        timeline->current = checkpoint->parent;
    }
    free_checkpoint(checkpoint);
}

static void end_censuses(struct session *session);

void timeline_free(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    end_censuses(session);
    while (!list_is_empty(&timeline->checkpoints))
        free_checkpoint(CONTAINER_OF(list_first(&timeline->checkpoints), struct checkpoint, node));
    hold_files(session, timeline->base, "");
    hold_files(session, timeline->begun, "");
    timeline->current = NULL;
    timeline_cells_free(&timeline->since);
    free(take_ptr(timeline->redo));
    timeline->n_redo = 0;
    loop_timer_close(take_ptr(timeline->patience), NULL);
}

void timeline_forget(struct session *session)
{
    struct timeline before = session->timeline;
    timeline_free(session);
    timeline_init(session, before.mode);
    session->timeline.last_id = before.last_id;
    session->timeline.cannot_fork = before.cannot_fork;
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
    add_cells(&undone, timeline->since.ids, timeline->since.n);
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
    session->timeline.current = checkpoint;
    timeline_cells_free(&session->timeline.since);
}

void timeline_resume(struct session *session)
{
    timeline_cells_free(&session->timeline.since);
    if (session->saving.through > 0)
        add_cells(&session->timeline.since, &session->saving.through, 1);
}

/* ---- giving up old ones ------------------------------------------------------------------------
 */

/* More memory is in use than the session's own, and half of what checkpoints may cost. */
static bool is_memory_short(const struct session *session, const struct snapshot *newest)
{
    const struct jail_limits *limits = &session->limits;
    uint64_t most = ((uint64_t)limits->memory_mb + limits->checkpoint_mb / 2) * MIB;
    return newest->jail_bytes > most;
}

static struct checkpoint *oldest_but_current(const struct timeline *timeline)
{
    LIST_EACH(&timeline->checkpoints, node)
    {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (checkpoint != timeline->current)
            return checkpoint;
    }
    return NULL;
}

/* False if only the current one is left. */
static bool give_up_oldest(struct session *session)
{
    struct checkpoint *oldest = oldest_but_current(&session->timeline);
    if (oldest != NULL)
        remove_checkpoint(oldest);
    return oldest != NULL;
}

static void give_up_surplus(struct session *session)
{
    while (session->timeline.n > session->engine->config.checkpoints_kept &&
           give_up_oldest(session))
        ;
}

/* ---- files -------------------------------------------------------------------------------------
 */

struct archive_budget timeline_budget(const struct session *session)
{
    uint64_t bytes = (uint64_t)session->limits.disk_mb * MIB;
    return (struct archive_budget){.files = FILES_MAX, .bytes = bytes, .new_bytes = bytes};
}

static void read_record(struct checkpoint *checkpoint, const char *text)
{
    struct err e;
    _json_ json_t *answer = NULL;
    if (json_read_object(text, strlen(text), &answer, &e) < 0)
        return;
    const char *manifest = json_string_value(json_object_get(answer, "manifest"));
    const char *reason = json_string_value(json_object_get(answer, "reason"));
    if (reason != NULL)
        snprintf(checkpoint->files_reason, sizeof(checkpoint->files_reason), "%s", reason);
    if (manifest == NULL || strlen(manifest) != TIMELINE_HASH_SIZE - 1) {
        checkpoint->files = FILES_NONE;
        return;
    }
    bool is_torn = checkpoint->files == FILES_TORN || json_is_true(json_object_get(answer, "torn"));
    hold_files(checkpoint->session, checkpoint->manifest, manifest);
    hold_files(checkpoint->session, checkpoint->session->timeline.base, manifest);
    checkpoint->files = is_torn ? FILES_TORN : FILES_COVERED;
}

/* A checkpoint is complete, or will never be: somebody may have waited for that. */
static void has_moved(struct session *session)
{
    restore_on_checkpoint(session);
    saving_on_rest(session);
    trial_on_checkpoint(session);
    branch_on_checkpoint(session);
    files_begin_next(session);
}

static void on_recorded(void *context, const struct warden_event *event)
{
    struct checkpoint *checkpoint = context;
    struct session *session = checkpoint->session;
    bool was_awaited = checkpoint->files == FILES_RECORDING;
    checkpoint->ticket = 0;
    read_record(checkpoint, event->text);
    if (checkpoint->files == FILES_RECORDING)
        checkpoint->files = FILES_NONE;
    if (was_awaited && session->timeline.patience != NULL)
        loop_timer_clear(session->timeline.patience);
    has_moved(session);
    exec_begin_next(session);
}

/* What the last record and the last restoration left is known to the archivist. */
static void record_files(struct checkpoint *checkpoint)
{
    struct err e;
    struct session *session = checkpoint->session;
    const struct room *room = session->room;
    struct archive_budget budget = timeline_budget(session);
    if (room->heads.next->next != &room->heads) {
        snprintf(checkpoint->files_reason, sizeof(checkpoint->files_reason),
                 "other sessions share the sandbox and its files");
        return;
    }
    checkpoint->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, checkpoint->ticket, WARDEN_RECORDED, on_recorded, checkpoint);
    checkpoint->files = FILES_RECORDING;
    if (warden_record(session->engine->warden, checkpoint->ticket, room->name,
                      session->timeline.base, &budget, &e) == 0)
        return;
    tickets_forget(session->engine, checkpoint->ticket);
    checkpoint->ticket = 0;
    checkpoint->files = FILES_NONE;
    snprintf(checkpoint->files_reason, sizeof(checkpoint->files_reason), "%.190s", e.message);
}

static void on_impatience(void *context)
{
    struct session *session = context;
    struct checkpoint *current = session->timeline.current;
    if (current != NULL && current->files == FILES_RECORDING)
        current->files = FILES_TORN; /* what is being read may be the next cell's */
    exec_begin_next(session);
}

/* A try tells what it changed, and so has to know what there was. */
static bool needs_files(const struct session *session)
{
    return session->timeline.mode == TIMELINE_EVERY || session->trial.id != 0;
}

bool timeline_blocks(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    if (timeline->current == NULL || timeline->current->files != FILES_RECORDING)
        return false;
    if (timeline->patience == NULL)
        timeline->patience = loop_timer_new(session->engine->loop, on_impatience, session);
    if (!loop_timer_is_set(timeline->patience))
        loop_timer_set(timeline->patience,
                       needs_files(session) ? PATIENCE_EVERY_MS : PATIENCE_AUTO_MS);
    return true;
}

/* ---- making one --------------------------------------------------------------------------------
 */

void timeline_add_cell(struct session *session, uint64_t exec_id)
{
    struct timeline *timeline = &session->timeline;
    add_cells(&timeline->since, &exec_id, 1);
    timeline->n_redo = 0; /* another future has begun */
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
    return timeline_has_checkpoints(session) && (timeline->since.n > 0 || timeline->is_copy);
}

uint64_t timeline_next_id(const struct session *session)
{
    const struct timeline *timeline = &session->timeline;
    if (timeline->mode == TIMELINE_OFF || timeline->cannot_fork)
        return 0;
    if (timeline->since.n > 0)
        return timeline->last_id + 1;
    return timeline->current != NULL ? timeline->current->id : 0;
}

static void on_asleep(struct snapshot *snapshot)
{
    struct checkpoint *checkpoint = snapshot->owner;
    struct session *session = checkpoint->session;
    if (session->restore == NULL && is_memory_short(session, snapshot))
        give_up_oldest(session);
    has_moved(session);
}

static void lose_process(struct checkpoint *checkpoint, const char *why)
{
    struct session *session = checkpoint->session;
    pool_forget(session->engine->pool, take_ptr(checkpoint->snapshot));
    if (checkpoint->reason[0] == '\0')
        snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%s", why);
}

static void on_gone(struct snapshot *snapshot, const char *why)
{
    struct checkpoint *checkpoint = snapshot->owner;
    struct session *session = checkpoint->session;
    lose_process(checkpoint, why);
    has_moved(session);
}

/* ---- how much memory they take -----------------------------------------------------------------
 */

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

static void end_censuses(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    while (!list_is_empty(&timeline->censuses))
        end_census(CONTAINER_OF(list_first(&timeline->censuses), struct timeline_census, node));
}

static void on_measured(struct snapshot *snapshot, uint64_t bytes)
{
    struct checkpoint *checkpoint = snapshot->owner;
    checkpoint->memory_bytes = bytes;
    if (is_all_measured(&checkpoint->session->timeline))
        end_censuses(checkpoint->session);
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

static const struct snapshot_listener snapshot_listener = {
    .on_asleep = on_asleep, .on_gone = on_gone, .on_measured = on_measured};

void timeline_on_forked(struct session *session, const struct head_fork *fork)
{
    struct checkpoint *checkpoint = timeline_find(session, fork->id);
    if (checkpoint == NULL)
        return;
    checkpoint->threads = fork->threads;
    if (fork->is_forked)
        return;
    snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%s",
             fork->reason != NULL ? fork->reason : "the interpreter did not fork");
    if (checkpoint->snapshot != NULL)
        snapshot_refused(checkpoint->snapshot, checkpoint->reason);
    if (fork->threads > 0) /* for now: the next may succeed */
        return;
    session->timeline.cannot_fork = true;
    remove_checkpoint(checkpoint);
    files_begin_next(session);
}

static struct checkpoint *add_checkpoint(struct session *session)
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
    timeline->since = (struct timeline_cells){0};
    timeline->is_copy = false;
    timeline->current = checkpoint;
    list_append(&timeline->checkpoints, &checkpoint->node);
    timeline->n++;
    return checkpoint;
}

void timeline_take(struct session *session)
{
    struct err e;
    if (!timeline_is_due(session) || session->state != SESSION_IDLE ||
        session->head->state != HEAD_IDLE)
        return;
    struct checkpoint *checkpoint = add_checkpoint(session);
    checkpoint->snapshot = pool_snapshot(session->engine->pool, session->head, checkpoint->id,
                                         &snapshot_listener, checkpoint, &e);
    if (checkpoint->snapshot == NULL)
        snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%.190s", e.message);
    record_files(checkpoint);
    give_up_surplus(session);
}
