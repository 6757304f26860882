/* How a checkpoint is made, files and all, and what is given up for it. */
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
#include "session/timeline_parts.h"
#include "session/trial.h"
#include "wire/json.h"

enum {
    PATIENCE_AUTO_MS = 20, /* a cell waits for the files of the checkpoint before it */
    PATIENCE_EVERY_MS = 2000,
    FILES_MAX = 20000, /* in /workspace, for them to be covered */
};

/* ---- giving up old ones ---------------------------------------------------------------------- */

/* More memory is in use than the session's own, and half of what checkpoints may cost. */
static bool is_memory_short(const struct session *session, const struct snapshot *newest)
{
    const struct jail_limits *limits = &session->limits;
    uint64_t most = ((uint64_t)limits->memory_mb + limits->checkpoint_mb / 2) * MIB;
    return newest->jail_bytes > most;
}

/* The oldest that has, or has not, a process, or waits for one; never the current one. */
static struct checkpoint *find_oldest(const struct timeline *timeline, bool has_process,
                                      size_t *ret_n)
{
    struct checkpoint *oldest = NULL;
    *ret_n = 0;
    LIST_EACH(&timeline->checkpoints, node)
    {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if ((checkpoint->snapshot != NULL) != has_process)
            continue;
        if (oldest == NULL && checkpoint != timeline->current)
            oldest = checkpoint;
        ++*ret_n;
    }
    return oldest;
}

/* The process of the oldest that has one; its saved state stays. */
static void give_up_oldest(struct session *session)
{
    size_t n;
    struct checkpoint *oldest = find_oldest(&session->timeline, true, &n);
    if (oldest != NULL)
        timeline_end_process(oldest, "its process was given up for newer ones");
}

/* So many are kept as processes, and as many more as saved states alone. */
static void give_up_surplus(struct session *session)
{
    size_t n, kept = session->engine->config.checkpoints_kept;
    struct checkpoint *oldest;
    while ((oldest = find_oldest(&session->timeline, true, &n)) != NULL && n > kept)
        timeline_end_process(oldest, "its process was given up for newer ones");
    while ((oldest = find_oldest(&session->timeline, false, &n)) != NULL && n > kept)
        timeline_remove(oldest);
}

/* ---- files ----------------------------------------------------------------------------------- */

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
    timeline_hold_files(checkpoint->session, checkpoint->manifest, manifest);
    timeline_hold_files(checkpoint->session, checkpoint->session->timeline.base, manifest);
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

bool timeline_shares_files(const struct session *session)
{
    const struct list *heads = &session->room->heads;
    return heads->next->next != heads;
}

/* What the last record and the last restoration left is known to the archivist. */
static void record_files(struct checkpoint *checkpoint)
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

/* ---- making one ------------------------------------------------------------------------------ */

static void on_asleep(struct snapshot *snapshot)
{
    struct checkpoint *checkpoint = snapshot->owner;
    struct session *session = checkpoint->session;
    if (checkpoint == session->timeline.current)
        background_on_checkpoint(session, snapshot->n_others);
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
    bool is_hostile = snapshot->is_hostile && session->head != NULL; /* it may be freed by now */
    lose_process(checkpoint, why);
    has_moved(session);
    if (is_hostile && session->head != NULL)
        session_kill(session, DEATH_BY_CHANNEL, why);
}

static const struct snapshot_listener snapshot_listener = {
    .on_asleep = on_asleep, .on_gone = on_gone, .on_measured = timeline_on_measured};

void timeline_on_forked(struct session *session, const struct head_fork *fork)
{
    struct checkpoint *checkpoint = timeline_find(session, fork->id);
    if (checkpoint == NULL)
        return;
    checkpoint->threads = fork->threads;
    if (checkpoint == session->timeline.current)
        timeline_on_cost(session);
    if (fork->is_forked)
        return;
    snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%s",
             fork->reason != NULL ? fork->reason : "the interpreter did not fork");
    if (checkpoint->snapshot != NULL)
        snapshot_refused(checkpoint->snapshot, checkpoint->reason);
    if (fork->threads > 0) { /* for now: the next may succeed */
        /* Whatever kept it from being copied, somebody is at work. */
        background_on_checkpoint(session, MAX(fork->threads - 1, 1U));
        return;
    }
    session->timeline.cannot_fork = true;
    timeline_end_process(checkpoint, checkpoint->reason);
    files_begin_next(session);
}

/* The current checkpoint, which came out of the store, gets a process again: its files are known.
 */
static void take_process(struct session *session)
{
    struct err e;
    struct checkpoint *current = session->timeline.current;
    session->timeline.wants_process = false;
    session->timeline.ordered_ns = clock_mono_ns();
    current->reason[0] = '\0';
    current->snapshot = pool_snapshot(session->engine->pool, session->head, current->id,
                                      &snapshot_listener, current, &e);
    if (current->snapshot == NULL)
        snprintf(current->reason, sizeof(current->reason), "%.190s", e.message);
    give_up_surplus(session);
}

void timeline_take(struct session *session)
{
    struct err e;
    if (!timeline_is_due(session) || session->state != SESSION_IDLE ||
        session->head->state != HEAD_IDLE)
        return;
    struct checkpoint *current = session->timeline.current;
    if (session->timeline.since.n == 0 && current != NULL && current->snapshot == NULL) {
        take_process(session);
        return;
    }
    struct checkpoint *checkpoint = timeline_add(session);
    session->timeline.ordered_ns = clock_mono_ns();
    checkpoint->snapshot = pool_snapshot(session->engine->pool, session->head, checkpoint->id,
                                         &snapshot_listener, checkpoint, &e);
    if (checkpoint->snapshot == NULL)
        snprintf(checkpoint->reason, sizeof(checkpoint->reason), "%.190s", e.message);
    record_files(checkpoint);
    give_up_surplus(session);
}
