/* The history of a session, in the daemon. Owns session->timeline: the tree of checkpoints, how one
 * is made with its files, what is given up for it, and how much memory each takes. */
#include "session/timeline.h"

#include "base/clock.h"
#include "jail/warden.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/session.h"
#include "session/tickets.h"
#include "wire/json.h"

enum {
    COST_MIN_NS = 2000000, /* of a checkpoint, until one was measured */
    COST_WHOLE = 2,        /* what follows a checkpoint: both sides copy the pages they write */
    COST_SHARE = 10,       /* quick cells run at least so many times as long as their checkpoint */
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

bool timeline_cells_have(const struct timeline_cells *cells, uint64_t id)
{
    for (size_t i = 0; i < cells->n; i++)
        if (cells->ids[i] == id)
            return true;
    return false;
}

void timeline_cells_free(struct timeline_cells *cells)
{
    free(cells->ids);
    *cells = (struct timeline_cells){0};
}

/* `first` and then `second`, in `second`. */
static void timeline_prepend_cells(const struct timeline_cells *first,
                                   struct timeline_cells *second)
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
        timeline_prepend_cells(&to->cells, &cells);
    return cells;
}

/* ---- the census: how much memory each checkpoint has of its own ------------------------------ */

struct timeline_census {
    struct list node;
    struct session *session;
    struct loop_timer *timer;
    void (*on_measured)(void *context);
    void *context;
};

void timeline_census_forget(struct timeline_census *census)
{
    list_remove(&census->node);
    loop_timer_close(take_ptr(census->timer), NULL);
    free(census);
}

static void timeline_end_census(void *context)
{
    struct timeline_census *census = context;
    void (*on_measured)(void *) = census->on_measured;
    void *caller = census->context;
    timeline_census_forget(census);
    on_measured(caller);
}

static bool timeline_is_all_measured(const struct timeline *timeline)
{
    LIST_EACH(&timeline->checkpoints, node) {
        const struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (checkpoint->snapshot != NULL && checkpoint->is_measuring)
            return false;
    }
    return true;
}

static void timeline_end_censuses(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    while (!list_is_empty(&timeline->censuses))
        timeline_end_census(
            CONTAINER_OF(list_first(&timeline->censuses), struct timeline_census, node));
}

static void timeline_on_measured(struct snapshot *snapshot, uint64_t bytes)
{
    struct checkpoint *checkpoint = snapshot->owner;
    checkpoint->memory_bytes = bytes;
    checkpoint->is_measuring = false;
    if (timeline_is_all_measured(&checkpoint->session->timeline))
        timeline_end_censuses(checkpoint->session);
}

struct timeline_census *timeline_measure(struct session *session, void (*on_done)(void *context),
                                         void *context)
{
    struct timeline *timeline = &session->timeline;
    LIST_EACH(&timeline->checkpoints, node) {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        checkpoint->memory_bytes = UINT64_MAX;
        checkpoint->is_measuring =
            checkpoint->snapshot != NULL && snapshot_measure(checkpoint->snapshot);
    }
    if (timeline_is_all_measured(timeline)) {
        on_done(context);
        return NULL;
    }
    struct timeline_census *census = mem_alloc(sizeof(*census));
    *census =
        (struct timeline_census){.session = session, .on_measured = on_done, .context = context};
    census->timer = loop_timer_new(session->engine->loop, timeline_end_census, census);
    loop_timer_set(census->timer, clock_scaled_ms(CENSUS_MS));
    list_append(&timeline->censuses, &census->node);
    return census;
}

/* ---- the tree -------------------------------------------------------------------------------- */

void timeline_init(struct session *session, enum timeline_mode mode)
{
    session->timeline = (struct timeline){
        .mode = mode, .cannot_fork = session->runtime == &runtime_node, .cost_ns = COST_MIN_NS};
    list_init(&session->timeline.checkpoints);
    list_init(&session->timeline.censuses);
    turn_init(&session->timeline.turn, session);
}

struct checkpoint *timeline_find(const struct session *session, uint64_t id)
{
    LIST_EACH(&session->timeline.checkpoints, node) {
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

const char *timeline_explored_at(const struct session *session, const struct checkpoint *checkpoint)
{
    return checkpoint != NULL ? checkpoint->explored : session->exploring.begun;
}

void timeline_amend_explored(struct session *session, struct checkpoint *checkpoint,
                             const char *explored)
{
    timeline_hold_files(
        session, checkpoint != NULL ? checkpoint->explored : session->exploring.begun, explored);
}

static struct checkpoint *timeline_add(struct session *session)
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

static void timeline_free_checkpoint(struct checkpoint *checkpoint)
{
    struct session *session = checkpoint->session;
    if (checkpoint->ticket != 0)
        tickets_forget(session->engine, checkpoint->ticket);
    pool_drop(session->engine->pool, take_ptr(checkpoint->snapshot));
    timeline_hold_files(session, checkpoint->manifest, "");
    timeline_hold_files(session, checkpoint->explored, "");
    timeline_cells_free(&checkpoint->cells);
    list_remove(&checkpoint->node);
    session->timeline.n--;
    free(checkpoint);
}

void timeline_remove(struct checkpoint *checkpoint)
{
    struct timeline *timeline = &checkpoint->session->timeline;
    LIST_EACH(&timeline->checkpoints, node) {
        struct checkpoint *child = CONTAINER_OF(node, struct checkpoint, node);
        if (child->parent != checkpoint)
            continue;
        timeline_prepend_cells(&checkpoint->cells, &child->cells);
        child->parent = checkpoint->parent;
        child->is_cut_off = child->parent == NULL;
    }
    if (timeline->current == checkpoint) {
        timeline_prepend_cells(&checkpoint->cells, &timeline->since);
        timeline->current = checkpoint->parent;
        timeline->is_cut_off = timeline->current == NULL;
    }
    timeline_free_checkpoint(checkpoint);
}

/* The process goes. A checkpoint that was saved stays, with `why` it has none; one that was not is
 * removed and freed. */
static void timeline_give_up_process(struct checkpoint *checkpoint, const char *why)
{
    struct session *session = checkpoint->session;
    if (!checkpoint->is_saved) {
        timeline_remove(checkpoint);
        return;
    }
    pool_drop(session->engine->pool, take_ptr(checkpoint->snapshot));
    snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%s", why);
}

void timeline_free(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    turn_give(&timeline->turn);
    timeline_end_censuses(session);
    while (!list_is_empty(&timeline->checkpoints))
        timeline_free_checkpoint(
            CONTAINER_OF(list_first(&timeline->checkpoints), struct checkpoint, node));
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
    turn_give(&timeline->turn);
    timeline_end_censuses(session);
    LIST_EACH(&timeline->checkpoints, node) {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (checkpoint->ticket != 0)
            tickets_forget(session->engine, checkpoint->ticket);
        checkpoint->ticket = 0;
        if (checkpoint->files == FILES_RECORDING)
            checkpoint->files = FILES_NONE;
        timeline_give_up_process(checkpoint, "the session was suspended");
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

static bool timeline_is_ancestor(const struct checkpoint *of, const struct checkpoint *ancestor)
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
    for (const struct checkpoint *at = timeline->current;
         at != NULL && !timeline_is_ancestor(to, at); at = at->parent)
        timeline_prepend_cells(&at->cells, &undone);
    return undone;
}

uint64_t timeline_parting(const struct session *session, const struct checkpoint *to,
                          struct timeline_cells *ret_beyond)
{
    *ret_beyond = (struct timeline_cells){0};
    while (to != NULL && !timeline_is_ancestor(session->timeline.current, to)) {
        timeline_prepend_cells(&to->cells, ret_beyond);
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

/* ---- giving up old ones ---------------------------------------------------------------------- */

/* What is left of a checkpoint. So many of each are kept: one that could not be made takes no place
 * of one that can be gone back to. */
enum timeline_remains { REMAINS_PROCESS, REMAINS_STATE, REMAINS_NOTHING };

static enum timeline_remains timeline_remains_of(const struct checkpoint *checkpoint)
{
    if (checkpoint->snapshot != NULL)
        return REMAINS_PROCESS; /* or it waits for one */
    return checkpoint->is_saved ? REMAINS_STATE : REMAINS_NOTHING;
}

/* The oldest of which that remains, but never the current one; and how many there are. */
static struct checkpoint *timeline_find_oldest(const struct timeline *timeline,
                                               enum timeline_remains remains, size_t *ret_n)
{
    struct checkpoint *oldest = NULL;
    *ret_n = 0;
    LIST_EACH(&timeline->checkpoints, node) {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (timeline_remains_of(checkpoint) != remains)
            continue;
        if (oldest == NULL && checkpoint != timeline->current)
            oldest = checkpoint;
        ++*ret_n;
    }
    return oldest;
}

/* So many of each kind are kept: with a process, with a saved state alone, with neither. */
static void timeline_give_up_surplus(struct session *session)
{
    size_t n, kept = session->engine->config.checkpoints_kept;
    for (enum timeline_remains remains = REMAINS_PROCESS; remains <= REMAINS_NOTHING; remains++) {
        struct checkpoint *oldest;
        while ((oldest = timeline_find_oldest(&session->timeline, remains, &n)) != NULL && n > kept)
            if (remains == REMAINS_PROCESS)
                timeline_give_up_process(oldest, "its process was given up for newer ones");
            else
                timeline_remove(oldest);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

struct archive_budget timeline_budget(const struct session *session)
{
    uint64_t bytes = (uint64_t)session->limits.disk_mb * MIB;
    return (struct archive_budget){.files = FILES_MAX, .bytes = bytes, .new_bytes = bytes};
}

static void timeline_read_record(struct checkpoint *checkpoint, const char *text)
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
    timeline_hold_files(checkpoint->session, checkpoint->manifest, manifest);
    timeline_hold_files(checkpoint->session, checkpoint->session->timeline.base, manifest);
    checkpoint->files = is_torn ? FILES_TORN : FILES_COVERED;
}

static void timeline_on_recorded(void *context, const struct warden_event *event)
{
    struct checkpoint *checkpoint = context;
    struct session *session = checkpoint->session;
    bool was_awaited = checkpoint->files == FILES_RECORDING;
    checkpoint->ticket = 0;
    timeline_read_record(checkpoint, event->text);
    if (checkpoint->files == FILES_RECORDING)
        checkpoint->files = FILES_NONE;
    if (was_awaited && session->timeline.patience != NULL)
        loop_timer_clear(session->timeline.patience);
    session_changed(session);
}

bool timeline_shares_files(const struct session *session)
{
    size_t n = 0; /* of sessions: what assists one writes for it alone */
    LIST_EACH(&session->room->heads, node)
        n += !CONTAINER_OF(node, struct head, room_node)->is_assistant;
    return n > 1;
}

/* What the last record and the last restoration left is known to the archivist. */
static void timeline_record_files(struct checkpoint *checkpoint)
{
    struct err e;
    struct session *session = checkpoint->session;
    const struct room *room = session->room;
    struct archive_budget budget = timeline_budget(session);
    if (timeline_shares_files(session)) {
        snprintf(checkpoint->files_reason, sizeof(checkpoint->files_reason),
                 "other sessions share the sandbox and its files");
        return;
    }
    checkpoint->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, checkpoint->ticket, WARDEN_RECORDED, timeline_on_recorded,
                   checkpoint);
    checkpoint->files = FILES_RECORDING;
    if (warden_record(session->engine->warden, checkpoint->ticket, room->name,
                      session->timeline.base, &budget, &e) == 0)
        return;
    tickets_forget(session->engine, checkpoint->ticket);
    checkpoint->ticket = 0;
    checkpoint->files = FILES_NONE;
    snprintf(checkpoint->files_reason, sizeof(checkpoint->files_reason), "%.190s", e.message);
}

static void timeline_on_impatience(void *context)
{
    struct session *session = context;
    struct checkpoint *current = session->timeline.current;
    if (current != NULL && current->files == FILES_RECORDING)
        current->files = FILES_TORN; /* what is being read may be the next cell's */
    session_changed(session);
}

bool timeline_blocks(struct session *session)
{
    struct timeline *timeline = &session->timeline;
    if (timeline->current == NULL || timeline->current->files != FILES_RECORDING)
        return false;
    if (timeline->patience == NULL)
        timeline->patience = loop_timer_new(session->engine->loop, timeline_on_impatience, session);
    /* A try, and a cell that was asked for it, tells what it changed, and so has to know what there
     * was. */
    bool needs_files =
        timeline->mode == TIMELINE_EVERY || session->trial.id != 0 || session->n_files_wanted > 0;
    if (!loop_timer_is_set(timeline->patience))
        loop_timer_set(timeline->patience, needs_files ? PATIENCE_EVERY_MS : PATIENCE_AUTO_MS);
    return true;
}

/* ---- making one ------------------------------------------------------------------------------ */

static void timeline_note_others(struct session *session, uint64_t n)
{
    session->timeline.has_counted = true;
    session->timeline.n_others = n;
}

static void timeline_on_asleep(struct snapshot *snapshot)
{
    struct checkpoint *checkpoint = snapshot->owner;
    struct session *session = checkpoint->session;
    if (checkpoint == session->timeline.current)
        timeline_note_others(session, snapshot->n_others);
    /* If more memory is in use than the session's own, and half of what checkpoints may cost, the
     * process of the oldest goes; its saved state stays, if it has one. */
    const struct jail_limits *limits = &session->limits;
    uint64_t most = ((uint64_t)limits->memory_mb + limits->checkpoint_mb / 2) * MIB;
    size_t n;
    struct checkpoint *oldest = timeline_find_oldest(&session->timeline, REMAINS_PROCESS, &n);
    if (session->restore == NULL && snapshot->jail_bytes > most && oldest != NULL)
        timeline_give_up_process(oldest, "its process was given up because memory was short");
    session_changed(session);
}

static void timeline_on_gone(struct snapshot *snapshot, const char *why)
{
    struct checkpoint *checkpoint = snapshot->owner;
    struct session *session = checkpoint->session;
    bool is_hostile = snapshot->is_hostile && session->head != NULL; /* it may be freed by now */
    pool_drop(session->engine->pool, take_ptr(checkpoint->snapshot));
    if (checkpoint->reason[0] == '\0')
        snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%s", why);
    session_changed(session);
    if (is_hostile && session->head != NULL)
        session_kill(session, DEATH_BY_CHANNEL, why);
}

static const struct snapshot_listener timeline_snapshot_listener = {.on_asleep = timeline_on_asleep,
                                                                    .on_gone = timeline_on_gone,
                                                                    .on_measured =
                                                                        timeline_on_measured};

void timeline_on_forked(struct session *session, const struct head_fork *fork)
{
    struct checkpoint *checkpoint = timeline_find(session, fork->id);
    if (checkpoint == NULL)
        return;
    struct timeline *timeline = &session->timeline;
    checkpoint->threads = fork->threads;
    if (checkpoint == timeline->current) {
        timeline->forked_ns = clock_mono_ns();
        timeline->cost_ns =
            (3 * timeline->cost_ns + timeline->forked_ns - timeline->ordered_ns) / 4;
    }
    if (fork->is_forked)
        return;
    const char *why = fork->reason != NULL ? fork->reason : "the interpreter did not fork";
    if (fork->threads == 0) {
        timeline->cannot_fork = true;
        timeline_give_up_process(checkpoint, why);
        return;
    }
    /* For now: the next may succeed. Whatever kept it from being copied, somebody is at work. */
    pool_drop(session->engine->pool, take_ptr(checkpoint->snapshot));
    snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%s", why);
    timeline_note_others(session, MAX(fork->threads - 1, 1U));
}

void timeline_take(struct session *session)
{
    struct err e;
    if (!timeline_is_due(session) || session->state != SESSION_IDLE ||
        session->head->state != HEAD_IDLE)
        return;
    struct checkpoint *checkpoint = session->timeline.current;
    /* The current checkpoint, which came out of the store, gets a process again: its files are
     * known. */
    bool has_files =
        session->timeline.since.n == 0 && checkpoint != NULL && checkpoint->snapshot == NULL;
    if (has_files) {
        session->timeline.wants_process = false;
        checkpoint->reason[0] = '\0';
    } else {
        checkpoint = timeline_add(session);
    }
    session->timeline.ordered_ns = clock_mono_ns();
    checkpoint->snapshot = pool_snapshot(session->engine->pool, session->head, checkpoint->id,
                                         &timeline_snapshot_listener, checkpoint, &e);
    if (checkpoint->snapshot == NULL)
        snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%.190s", e.message);
    if (!has_files)
        timeline_record_files(checkpoint);
    timeline_give_up_surplus(session);
}
