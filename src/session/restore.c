/* Restorations, in the daemon. Owns session->restore: the steps from the present line of a session
 * to another point of its history, one table for all causes. What callers may order is in undo.c,
 * what a restoration came to in restore_report.c. */
#include "session/restore.h"

#include "base/channel.h"
#include "jail/warden.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/files.h"
#include "session/setup.h"
#include "session/tickets.h"
#include "wire/json.h"

#include <signal.h>
#include <sys/wait.h>

enum { STEP_MS = 20 * 1000 }; /* for any step, on the busiest machine */

/* What a step came to. */
enum restore_progress {
    PROGRESS_DONE,
    PROGRESS_WAITS,
    PROGRESS_OLDER, /* the target cannot be woken: the checkpoint before it is tried */
    PROGRESS_AGAIN, /* the target is another one by now */
    PROGRESS_STAYS,
    PROGRESS_FAILS,
};

struct restore *restore_begin(struct session *session, enum restore_cause cause)
{
    restore_end_left(session);
    struct restore *restore = mem_alloc(sizeof(*restore));
    const struct checkpoint *current = session->timeline.current;
    *restore =
        (struct restore){.cause = cause, .report = {.from = current != NULL ? current->id : 0}};
    session->restore = restore;
    return restore;
}

void restore_free(struct session *session, struct restore *restore)
{
    if (restore->ticket != 0)
        tickets_forget(session->engine, restore->ticket);
    if (restore->call != NULL)
        store_forget(restore->call);
    store_state_unref(restore->state);
    json_decref(restore->notes);
    json_decref(restore->loaded);
    timeline_cells_free(&restore->report.cells);
    json_decref(restore->report.files_lost);
    json_decref(restore->report.names);
    free(restore);
}

void restore_abandon(struct session *session, const struct err *e)
{
    struct restore *restore = take_ptr(session->restore);
    if (restore == NULL)
        return;
    const struct restore_listener *listener = restore->listener;
    void *context = restore->context;
    restore_free(session, restore);
    if (listener != NULL)
        listener->on_failed(context, e);
}

void restore_abandon_for(struct session *session, const char *why)
{
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "%s", why);
    err_advise(&e, "Look at the session's checkpoints, and try again.");
    restore_abandon(session, &e);
}

void restore_forget(struct restore *restore)
{
    restore->listener = NULL;
}

static enum restore_progress restore_fails(struct restore *restore, const char *why)
{
    snprintf(restore->why, sizeof(restore->why), "%.300s", why);
    return PROGRESS_FAILS;
}

/* ---- the durable copy ------------------------------------------------------------------------ */

/* A state that has to be loaded is looked up before anything is given up for it. */
static bool restore_needs_state(const struct session *session)
{
    const struct restore *restore = session->restore;
    const struct checkpoint *target = restore->target;
    if (restore->call != NULL)
        return true; /* the interpreter ended while the state was looked up */
    if (restore->has_asked)
        return false;
    if (restore->cause == RESTORE_RESUME)
        return true;
    if (restore->cause == RESTORE_CRASH) {
        /* The durable copy may be newer than any checkpoint that sleeps: threads ran, or the
         * interpreter cannot be forked, or all were lost. */
        const struct checkpoint *asleep = timeline_wakeable(restore->target);
        const struct saving *saving = &session->saving;
        return saving->is_current && saving->through > (asleep != NULL ? asleep->last_cell : 0);
    }
    return target != NULL && target->snapshot == NULL;
}

static void restore_on_fetched(void *context, struct store_state *state,
                               const struct store_saved *at, const struct err *e)
{
    struct session *session = context;
    struct restore *restore = session->restore;
    restore->call = NULL;
    restore->state = state;
    if (e == NULL) {
        memcpy(restore->files, at->files, sizeof(restore->files));
        /* The checkpoint that the state is of, none if it is of the beginning. One whose place in
         * the history is not known any more gets a place of its own. */
        restore->target = timeline_find(session, at->checkpoint);
        if (restore->target == NULL && at->checkpoint > 0 && timeline_has_checkpoints(session) &&
            restore->cause == RESTORE_RESUME)
            restore->target = timeline_add_saved(session, at->checkpoint, at->through, at->files);
        if (at->checkpoint == 0 && at->files[0] != '\0')
            timeline_amend(session, NULL, at->files);
        timeline_amend_explored(session, restore->target, at->explored);
    } else {
        restore->missing = *e;
    }
    session_changed(session);
}

static enum restore_progress restore_look_up(struct session *session)
{
    struct restore *restore = session->restore;
    bool wants_last = restore->cause == RESTORE_RESUME || restore->cause == RESTORE_CRASH;
    if (!restore->has_asked) {
        restore->has_asked = true;
        restore->call = store_get_state(session->engine->store, session->id,
                                        wants_last ? STORE_RESUME : restore->target->id,
                                        restore_on_fetched, session);
    }
    if (restore->call != NULL)
        return PROGRESS_WAITS;
    const struct err *missing = &restore->missing;
    if (missing->code == ERR_NONE)
        return PROGRESS_DONE;
    if (session->state == SESSION_IDLE) {
        if (restore->target != NULL)
            restore->target->is_saved = false;
        restore_fails(restore, missing->message);
        return PROGRESS_STAYS;
    }
    /* A session that was suspended before anything was saved comes back as it began. */
    if (session->room == NULL && (restore->was_suspended || missing->code != ERR_NOT_FOUND))
        return restore_fails(restore, missing->message);
    return PROGRESS_DONE;
}

static bool restore_has_state(const struct session *session)
{
    return session->restore->state != NULL;
}

static void restore_on_exported(void *context, const struct store_exported *result,
                                const struct err *e)
{
    struct session *session = context;
    (void)result; /* what was damaged is told to the interpreter, which tells us */
    (void)e;      /* likewise: its stream ends before its end */
    session->restore->call = NULL;
}

static enum restore_progress restore_load(struct session *session)
{
    struct err e;
    int socks[2];
    struct restore *restore = session->restore;
    if (restore->is_begun) {
        const char *trouble = json_string_value(json_object_get(restore->loaded, "message"));
        if (trouble != NULL)
            return restore_fails(restore, trouble);
        return restore->loaded != NULL ? PROGRESS_DONE : PROGRESS_WAITS;
    }
    if (head_socketpair(socks, &e) < 0)
        return restore_fails(restore, e.message);
    if (head_load(session->head, session->saving.through, socks[1], &e) < 0) {
        channel_close(socks[0]);
        return restore_fails(restore, e.message);
    }
    restore->call = store_export(session->engine->store, restore->state, socks[0], 0,
                                 restore_on_exported, session);
    return PROGRESS_WAITS;
}

void restore_on_loaded(struct session *session, const json_t *report)
{
    if (session->restore != NULL)
        session->restore->loaded = json_incref((json_t *)(uintptr_t)report);
}

/* ---- leaving the present line ---------------------------------------------------------------- */

static bool restore_leaves_present(const struct session *session)
{
    return session->state == SESSION_IDLE && session->restore->cause != RESTORE_CRASH;
}

/* The checkpoint of the present is complete, and what was written in the background is known. */
static enum restore_progress restore_await_present(struct session *session)
{
    const struct checkpoint *tip = session->timeline.current;
    if (tip != NULL && !timeline_is_settled(tip))
        return PROGRESS_WAITS;
    if (!background_is_unknown(session))
        return PROGRESS_DONE;
    background_await(session);
    return PROGRESS_WAITS;
}

static bool restore_still_has_line(const struct session *session)
{
    return session->state != SESSION_RESTORING;
}

/* From here on the session has no interpreter. */
static enum restore_progress restore_leave_line(struct session *session)
{
    struct restore *restore = session->restore;
    restore->old_head = session->head->number;
    restore->had_background = session->background.is_on;
    /* The end of an interpreter takes as long as waking another, and the processor and locks from
     * that one. If it is at rest, it can wait: stopped, and with its channel open, which would end
     * it. */
    if (restore->cause != RESTORE_CRASH && session->head->state == HEAD_IDLE &&
        restore->target != NULL && restore->target->snapshot != NULL) {
        session->left.channel = head_take_channel(session->head);
        session->left.head = session->left.channel >= 0 ? session->head->number : 0;
    }
    session_move(session, SESSION_RESTORING);
    session->pace.n_interrupts = 0;
    session->pace.has_stray = false;
    head_disown(session->head); /* what it started before the target stays: see restore_clear */
    pool_release(session->engine->pool, take_ptr(session->head));
    return PROGRESS_DONE;
}

static bool restore_wants_sleeper(const struct session *session)
{
    return session->restore->old_head != 0 && session->restore->state == NULL;
}

/* One that is still falling asleep was forked before whatever came after it. */
static enum restore_progress restore_await_target(struct session *session)
{
    struct restore *restore = session->restore;
    struct checkpoint *target = timeline_wakeable(restore->target);
    if (restore->cause == RESTORE_CRASH && restore_needs_state(session))
        return PROGRESS_AGAIN; /* the one that was waited for is lost */
    restore->target = target;
    bool is_asleep = target == NULL || target->snapshot->state == SNAPSHOT_ASLEEP;
    return is_asleep ? PROGRESS_DONE : PROGRESS_WAITS;
}

static bool restore_left_a_head(const struct session *session)
{
    return session->restore->old_head != 0;
}

static void restore_on_cleared(void *context, const struct warden_event *event)
{
    struct session *session = context;
    session->restore->ticket = 0;
    session->restore->report.ended_processes = event->bytes;
    session_changed(session);
}

static enum restore_progress restore_clear(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    if (restore->is_begun)
        return restore->ticket != 0 ? PROGRESS_WAITS : PROGRESS_DONE;
    const struct snapshot *asleep = restore->target != NULL ? restore->target->snapshot : NULL;
    uint64_t since = asleep != NULL ? asleep->number : 0;
    /* The warden spares what walked in beside the interpreter. */
    terminals_end_since(session, restore->target != NULL ? restore->target->at_ms : 0,
                        "the session has gone back to a time before this terminal");
    assistants_end(session, "the session has gone back to an earlier state");
    restore->ticket = restore->old_head;
    tickets_expect(session->engine, restore->ticket, WARDEN_CLEARED, restore_on_cleared, session);
    int r = (session->left.head != 0 ? warden_clear_holding : warden_clear)(
        session->engine->warden, restore->old_head, session->room->jail, since, &e);
    return r < 0 ? restore_fails(restore, e.message) : PROGRESS_WAITS;
}

bool restore_end_left(struct session *session)
{
    struct err ignored; /* a lost warden is told to everybody in its own way */
    if (session->left.head == 0)
        return false;
    warden_signal(session->engine->warden, session->left.head, SIGKILL, &ignored);
    channel_close(session->left.channel);
    session->left.head = 0;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool restore_is_durable(const struct restore *restore)
{
    return restore->cause == RESTORE_RESUME || restore->state != NULL;
}

static void restore_on_files(void *context, const struct warden_event *event)
{
    struct err ignored; /* an answer that cannot be read tells nothing */
    struct session *session = context;
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    _json_ json_t *answer = NULL;
    restore->ticket = 0;
    json_read_object(event->text, strlen(event->text), &answer, &ignored);
    static const char *const counts[] = {"changed", "removed", "created"};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        report->files_changed += (uint64_t)json_integer_value(json_object_get(answer, counts[i]));
    const char *error = json_string_value(json_array_get(json_object_get(answer, "errors"), 0));
    if (error != NULL)
        snprintf(report->files_reason, sizeof(report->files_reason), "%s", error);
    /* Who lost them is told their names, unless all were written by the cells that are undone. */
    json_t *lost = json_object_get(answer, "lost");
    if ((restore->had_background || restore->state != NULL) && json_array_size(lost) > 0) {
        json_decref(report->files_lost);
        report->files_lost = json_incref(lost);
    }
    session_changed(session);
}

/* What /workspace should be; NULL if that is not known. */
static const char *restore_wanted_files(const struct session *session)
{
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    const struct checkpoint *target = restore->target;
    if (restore_is_durable(restore))
        return restore->files[0] != '\0' ? restore->files : NULL;
    if (!restore->was_suspended && !list_is_empty(&session->room->heads)) {
        snprintf(report->files_reason, sizeof(report->files_reason),
                 "other sessions share the sandbox and its files");
        return NULL;
    }
    const char *manifest = timeline_files_at(session, target);
    if (manifest == NULL)
        memcpy(report->files_reason, target->files_reason, sizeof(report->files_reason));
    return manifest;
}

static bool restore_always(const struct session *session)
{
    (void)session;
    return true;
}

static enum restore_progress restore_put_files(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    if (!restore->is_begun)
        restore->is_ordered = false;
    if (restore->is_ordered)
        return restore->ticket != 0 ? PROGRESS_WAITS : PROGRESS_DONE;
    if (files_are_changing(session))
        return PROGRESS_WAITS; /* what a caller puts now belongs to what is restored */
    const char *manifest = restore->keeps_files ? NULL : restore_wanted_files(session);
    if (manifest == NULL) {
        report->files = restore->keeps_files ? RESTORED_FILES_SAME : RESTORED_FILES_UNKNOWN;
        return PROGRESS_DONE;
    }
    char spared[TIMELINE_HASH_SIZE];
    report->files = RESTORED_FILES;
    background_spare(session, manifest, spared);
    if (strcmp(spared, manifest) != 0 && restore->state == NULL)
        timeline_amend(session, restore->target, spared);
    restore->is_ordered = true;
    restore->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, restore->ticket, WARDEN_RESTORED, restore_on_files, session);
    if (warden_restore(session->engine->warden, restore->ticket, session->room->name, spared, &e) ==
        0)
        return PROGRESS_WAITS;
    tickets_forget(session->engine, restore->ticket);
    restore->ticket = 0;
    snprintf(report->files_reason, sizeof(report->files_reason), "%.190s", e.message);
    report->files = RESTORED_FILES_UNKNOWN;
    return PROGRESS_DONE;
}

static bool restore_lacks_changes(const struct session *session)
{
    const struct restore *restore = session->restore;
    return restore_is_durable(restore) && restore->report.files == RESTORED_FILES;
}

static void restore_on_repeated(void *context, const struct warden_event *event)
{
    struct session *session = context;
    (void)event;
    session->restore->ticket = 0;
    session_changed(session);
}

static enum restore_progress restore_repeat_files(struct session *session)
{
    struct restore *restore = session->restore;
    if (!restore->is_begun) {
        restore->ticket = files_repeat(session);
        if (restore->ticket != 0)
            tickets_expect(session->engine, restore->ticket, WARDEN_FILED, restore_on_repeated,
                           session);
    }
    return restore->ticket != 0 ? PROGRESS_WAITS : PROGRESS_DONE;
}

/* ---- the interpreter ------------------------------------------------------------------------- */

static bool restore_has_no_room(const struct session *session)
{
    return session->room == NULL;
}

static bool restore_has_no_head(const struct session *session)
{
    return session->head == NULL;
}

static enum restore_progress restore_enter(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    if (restore->is_begun)
        return restore->is_ready ? PROGRESS_DONE : PROGRESS_WAITS;
    restore->is_ready = false;
    restore->report.source = restore->state != NULL ? RESTORED_DURABLE : RESTORED_BEGINNING;
    struct pool_request wanted = {.runtime = session->runtime,
                                  .profile = session->profile,
                                  .limits = &session->limits,
                                  .join = session->room,
                                  .workspace = session->room == NULL ? session->id : NULL,
                                  .listener = session->engine->hooks->head,
                                  .owner = session};
    if (pool_take(session->engine->pool, &wanted, &session->head, &e) < 0)
        return restore_fails(restore, e.message);
    if (session->room == NULL) {
        session->room = session->head->room;
        pool_hold(session->room);
    }
    return PROGRESS_WAITS;
}

static bool restore_wakes(const struct session *session)
{
    const struct restore *restore = session->restore;
    return session->head == NULL && restore->target != NULL && restore->state == NULL;
}

static enum restore_progress restore_wake(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    struct snapshot *snapshot = restore->target->snapshot;
    if (restore->is_begun)
        return restore->is_ready ? PROGRESS_DONE : PROGRESS_WAITS;
    restore->is_ready = false;
    restore->report.source = RESTORED_CHECKPOINT;
    /* It may have ended since it was chosen: whatever killed the interpreter can kill its copies.
     */
    if (snapshot == NULL || pool_wake(session->engine->pool, snapshot, session->engine->hooks->head,
                                      session, &session->head, &e) < 0)
        return PROGRESS_OLDER;
    return PROGRESS_WAITS;
}

void restore_on_ready(struct session *session, const json_t *notes)
{
    struct restore *restore = session->restore;
    json_decref(restore->notes);
    restore->notes = json_incref((json_t *)(uintptr_t)notes);
    restore->is_ready = true;
}

static bool restore_is_fresh(const struct session *session)
{
    return session->restore->report.source != RESTORED_CHECKPOINT;
}

static enum restore_progress restore_set_up(struct session *session)
{
    struct restore *restore = session->restore;
    if (!restore->is_begun)
        restore->is_set_up = !setup_begin(session);
    return restore->is_set_up ? PROGRESS_DONE : PROGRESS_WAITS;
}

void restore_on_set(struct session *session)
{
    session->restore->is_set_up = true;
}

/* ---- the way --------------------------------------------------------------------------------- */

enum restore_step {
    STEP_LOOK_UP,
    STEP_AWAIT_PRESENT,
    STEP_LEAVE,         /* where the way of a crash begins */
    STEP_LOOK_UP_AGAIN, /* where a crash, or an older target, comes in */
    STEP_SLEEP,
    STEP_CLEAR,
    STEP_MOVE_IN,
    STEP_FILES,
    STEP_CHANGES,
    STEP_WAKE,
    STEP_ENTER,
    STEP_SET_UP,
    STEP_LOAD,
    STEPS,
};

/* In order. A step runs when it is its turn and after everything that happens to the session, until
 * it does not wait any more. `failing` is what a step comes to that takes too long, or whose
 * interpreter ends. */
static const struct {
    const char *name;
    bool (*is_needed)(const struct session *session);
    enum restore_progress (*run)(struct session *session);
    enum restore_progress failing;
} steps[STEPS] = {
    [STEP_LOOK_UP] = {"look up the state to load", restore_needs_state, restore_look_up,
                      PROGRESS_STAYS},
    [STEP_AWAIT_PRESENT] = {"wait for the checkpoint of the present", restore_leaves_present,
                            restore_await_present, PROGRESS_DONE},
    [STEP_LEAVE] = {"leave the present line", restore_still_has_line, restore_leave_line,
                    PROGRESS_FAILS},
    [STEP_LOOK_UP_AGAIN] = {"look up a newer durable copy", restore_needs_state, restore_look_up,
                            PROGRESS_FAILS},
    [STEP_SLEEP] = {"wait for the checkpoint to sleep", restore_wants_sleeper, restore_await_target,
                    PROGRESS_OLDER},
    [STEP_CLEAR] = {"end what ran since the checkpoint", restore_left_a_head, restore_clear,
                    PROGRESS_FAILS},
    [STEP_MOVE_IN] = {"enter a room of its own", restore_has_no_room, restore_enter,
                      PROGRESS_FAILS},
    [STEP_FILES] = {"put the files back", restore_always, restore_put_files, PROGRESS_FAILS},
    [STEP_CHANGES] = {"put what callers changed since", restore_lacks_changes, restore_repeat_files,
                      PROGRESS_FAILS},
    [STEP_WAKE] = {"wake a copy of the checkpoint", restore_wakes, restore_wake, PROGRESS_OLDER},
    [STEP_ENTER] = {"enter with a fresh interpreter", restore_has_no_head, restore_enter,
                    PROGRESS_FAILS},
    [STEP_SET_UP] = {"tell it where it works", restore_is_fresh, restore_set_up, PROGRESS_FAILS},
    [STEP_LOAD] = {"load the durable copy", restore_has_state, restore_load, PROGRESS_FAILS},
};

const char *restore_step_name(const struct restore *restore)
{
    return restore->step < STEPS ? steps[restore->step].name : "go on";
}

static void restore_go_to_step(struct restore *restore, size_t step)
{
    restore->step = step;
    restore->is_begun = false;
}

enum restore_outcome restore_advance(struct session *session)
{
    struct restore *restore = session->restore;
    while (restore->step < STEPS) {
        if (!restore->is_begun && !steps[restore->step].is_needed(session)) {
            restore->step++;
            continue;
        }
        enum restore_progress progress;
        if (restore->has_failed) {
            restore->has_failed = false;
            if (session->state == SESSION_RESTORING)
                pool_release(session->engine->pool, take_ptr(session->head));
            progress = steps[restore->step].failing;
        } else {
            if (!restore->is_begun)
                session_set_alarm(session, ALARM_RESTORE, STEP_MS); /* every step has its time */
            progress = steps[restore->step].run(session);
            restore->is_begun = true;
        }
        if (progress == PROGRESS_STAYS && session->state != SESSION_IDLE)
            progress = PROGRESS_FAILS; /* there is nothing to stay with */
        switch (progress) {
        case PROGRESS_DONE:
            restore_go_to_step(restore, restore->step + 1);
            break;
        case PROGRESS_WAITS:
            return RESTORE_UNDER_WAY;
        case PROGRESS_OLDER:
            /* The target did not wake. If the interpreter that was left still stands there stopped,
             * it may use up the limit of processes: end it and try the same target once more. Else
             * try the target's parent; its files replace those that were put back already. */
            if (!restore_end_left(session))
                restore->target = restore->target->parent;
            /* A state that was looked up belonged to the first target: do not ask again, except
             * after a crash. */
            restore->has_asked |= restore->cause != RESTORE_CRASH;
            restore_go_to_step(restore, STEP_LOOK_UP_AGAIN);
            break;
        case PROGRESS_AGAIN:
            restore_go_to_step(restore, STEP_LOOK_UP_AGAIN);
            break;
        case PROGRESS_STAYS:
            return RESTORE_STAYED;
        case PROGRESS_FAILS:
            return RESTORE_FAILED;
        }
    }
    return RESTORE_DONE;
}

void restore_on_end(struct session *session, const struct head_end_facts *facts)
{
    struct restore *restore = session->restore;
    head_describe_end(facts, restore->why, sizeof(restore->why));
    restore->has_failed = true;
}

void restore_on_alarm(struct session *session)
{
    restore_fails(session->restore, session->state == SESSION_IDLE
                                        ? "the store did not answer in time"
                                        : "bringing it back took too long");
    session->restore->has_failed = true;
}

/* ---- without a caller's order ---------------------------------------------------------------- */

void restore_resume(struct session *session)
{
    restore_begin(session, RESTORE_RESUME);
    session_move(session, SESSION_RESTORING);
}

bool restore_is_possible(const struct session *session)
{
    bool was_alive = session->state == SESSION_IDLE || session->state == SESSION_BUSY;
    bool has_way_back = session->timeline.mode != TIMELINE_OFF || session->saving.is_current;
    if (!was_alive || !has_way_back)
        return false;
    /* Ways to end that are a cell's fault and nobody's wish. */
    const struct death_facts *ending = &session->ending;
    switch (ending->wish) {
    case DEATH_BY_LIMIT:
    case DEATH_BY_SUCCESSOR:
    case DEATH_BY_CHANNEL:
        return true;
    case DEATH_UNWISHED:
    case DEATH_BY_CLOSING:
        return !session->exit_ends || !ending->has_status || WIFSIGNALED(ending->status);
    case DEATH_BY_CALLER:
    case DEATH_BY_IDLENESS:
    case DEATH_BY_AGE:
    case DEATH_BY_STOP:
    case DEATH_BY_SETUP:
    case DEATH_BY_REFUSAL:
    case DEATH_BY_WARDEN:
        return false;
    }
    return false;
}

void restore_after_crash(struct session *session)
{
    if (session->restore != NULL && session->restore->is_postponed)
        restore_abandon_for(session, "the interpreter ended meanwhile, and the session went back");
    struct restore *restore = session->restore;
    if (restore == NULL) {
        restore = restore_begin(session, RESTORE_CRASH);
        restore->target = session->timeline.current;
    }
    restore->has_failed = false;
    restore_go_to_step(restore, STEP_LEAVE);
}
