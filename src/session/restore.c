#include "session/restore.h"

#include "jail/warden.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/saving.h"
#include "session/setup.h"
#include "session/suspend.h"
#include "session/tickets.h"
#include "session/timing.h"
#include "session/trial.h"
#include "wire/json.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

enum { STEP_MS = 20 * 1000 }; /* for any step, on the busiest machine */

enum step {
    STEP_TIP,   /* the present state becomes a checkpoint */
    STEP_FETCH, /* the durable copy is looked up */
    STEP_SLEEP, /* the one to wake is falling asleep */
    STEP_CLEAR, /* the undone line's processes are ended */
    STEP_FILES,
    STEP_WAKE,  /* a copy of the checkpoint */
    STEP_ENTER, /* a fresh interpreter */
    STEP_SETUP, /* which is told where it works */
    STEP_LOAD,  /* and takes the durable copy over */
};

struct restore {
    enum restore_cause cause;
    enum step step;
    struct checkpoint *target; /* NULL: the beginning */
    uint64_t old_head;         /* its number */
    uint64_t ticket;           /* of the order under way; 0: none */
    json_t *notes;
    struct store_call *call;     /* of the store's, under way; NULL: none */
    bool has_asked;              /* the store for the durable copy */
    struct store_state *state;   /* the durable copy, if it is used; NULL: it is not */
    char files[STORE_HASH_SIZE]; /* the manifest that goes with it; "": none */
    bool keeps_files;            /* /workspace stays as it is */
    bool has_files;              /* /workspace was seen to */
    json_t *loaded;
    struct restore_report report;
    const struct restore_listener *listener; /* NULL: nobody waits */
    void *context;
};

const char *restore_source_name(enum restore_source source)
{
    static const char *const names[] = {[RESTORED_CHECKPOINT] = "checkpoint",
                                        [RESTORED_DURABLE] = "durable",
                                        [RESTORED_BEGINNING] = "beginning"};
    return names[source];
}

static void take_step(struct session *session, enum step step)
{
    session->restore->step = step;
    session_set_alarm(session, ALARM_RESTORE, STEP_MS);
}

static void free_restore(struct session *session)
{
    struct restore *restore = take_ptr(session->restore);
    if (restore->ticket != 0)
        tickets_forget(session->engine, restore->ticket);
    if (restore->call != NULL)
        store_forget(restore->call);
    store_state_unref(restore->state);
    json_decref(restore->notes);
    json_decref(restore->loaded);
    timeline_cells_free(&restore->report.cells);
    free(restore);
}

static struct restore *begin(struct session *session, enum restore_cause cause)
{
    restore_end_left(session);
    struct restore *restore = mem_alloc(sizeof(*restore));
    const struct checkpoint *current = session->timeline.current;
    *restore = (struct restore){.cause = cause,
                                .old_head = session->head != NULL ? session->head->number : 0,
                                .report = {.from = current != NULL ? current->id : 0}};
    session->restore = restore;
    return restore;
}

/* ---- the end of it -----------------------------------------------------------------------------
 */

static uint64_t id_of(const struct checkpoint *checkpoint)
{
    return checkpoint != NULL ? checkpoint->id : 0;
}

/* For the cell that ended its interpreter, or for the next one if none ran. */
static json_t *describe_rollback(const struct restore_report *report)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < report->cells.n; i++)
        json_array_append_new(cells, json_integer((json_int_t)report->cells.ids[i]));
    json_t *extra = json_pack("{so ss}", "rolled_back_cells", cells, "restored_from",
                              restore_source_name(report->source));
    if (report->notes != NULL)
        json_object_set(extra, "not_undone", (json_t *)(uintptr_t)report->notes);
    if (report->lost != NULL)
        json_object_set(extra, "lost", (json_t *)(uintptr_t)report->lost);
    return extra;
}

static json_t *describe_resumption(const struct session *session,
                                   const struct restore_report *report)
{
    json_t *resumed =
        json_pack("{ss sI sI}", "restored_from", restore_source_name(report->source), "restored",
                  (json_int_t)report->restored, "through", (json_int_t)session->saving.through);
    json_object_set_new(resumed, "lost",
                        report->lost != NULL ? json_incref((json_t *)(uintptr_t)report->lost)
                                             : json_array());
    if (report->files_reason[0] != '\0')
        json_object_set_new(resumed, "files_reason", json_string(report->files_reason));
    return json_pack("{so}", "resumed", resumed);
}

static void tell(struct session *session, struct restore *restore)
{
    struct restore_report *report = &restore->report;
    if (restore->cause == RESTORE_CRASH)
        exec_answer_crash(session, report->to, describe_rollback(report));
    else if (restore->cause == RESTORE_RESUME && session->saving.isolation == ISOLATION_PER_CELL)
        return; /* that is how it always goes on; what could not be saved was told then */
    else if (restore->cause == RESTORE_RESUME)
        exec_add_news(session, describe_resumption(session, report));
    else if (restore->listener != NULL)
        restore->listener->on_restored(restore->context, report);
}

/* An undo leaves a way back to where it came from. */
static void leave_way_back(struct session *session, const struct restore *restore)
{
    struct timeline *timeline = &session->timeline;
    if (restore->cause != RESTORE_UNDO || restore->report.from == 0)
        return;
    timeline->redo = mem_realloc(timeline->redo, (timeline->n_redo + 1) * sizeof(*timeline->redo));
    timeline->redo[timeline->n_redo++] = restore->report.from;
}

static void read_loaded(struct restore *restore)
{
    struct restore_report *report = &restore->report;
    const json_t *lost = json_object_get(restore->loaded, "lost");
    report->restored = (uint64_t)json_integer_value(json_object_get(restore->loaded, "restored"));
    if (json_array_size(lost) > 0)
        report->lost = lost;
}

/* What is undone is what came after the durable copy, whether its checkpoint is kept or not. */
static void count_from_durable(const struct session *session, struct restore_report *report)
{
    struct timeline_cells *cells = &report->cells;
    size_t n = 0;
    for (size_t i = 0; i < cells->n; i++)
        if (cells->ids[i] > session->saving.through)
            cells->ids[n++] = cells->ids[i];
    cells->n = n;
    report->to = session->saving.checkpoint;
}

static void finish(struct session *session)
{
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    report->to = id_of(restore->target);
    report->cells = timeline_undone(session, restore->target);
    report->notes = restore->notes;
    if (report->source == RESTORED_DURABLE && restore->cause == RESTORE_CRASH)
        count_from_durable(session, report);
    read_loaded(restore);
    leave_way_back(session, restore);
    timeline_go_to(session, restore->target);
    if (restore->cause == RESTORE_RESUME)
        timeline_resume(session);
    else if (report->source != RESTORED_DURABLE || restore->cause != RESTORE_CRASH)
        saving_on_restored(session, &report->cells);
    session->restore = NULL;
    exec_answer_undone(session, &report->cells, report->to);
    trial_forget(session);
    json_decref(take_ptr(session->names));
    timing_rest(session, false);
    tell(session, restore);
    session->restore = restore;
    free_restore(session);
    exec_begin_next(session);
}

/* Nothing brings it back. */
static void fail(struct session *session, const char *why)
{
    struct restore *restore = session->restore;
    struct engine *engine = session->engine;
    char text[400];
    snprintf(text, sizeof(text), "session %s: %.300s", session->id, why);
    engine->events.on_notice(engine->events.context, "session_not_restored", text);
    if (restore->cause == RESTORE_RESUME) {
        suspend_again(session, why);
        return;
    }
    if (restore->cause == RESTORE_CRASH && saving_is_resumable(session)) {
        suspend_instead(session);
        return;
    }
    session->is_beyond_rescue = restore->cause == RESTORE_CRASH;
    if (!session->is_beyond_rescue) {
        session->ending.wish = DEATH_BY_REFUSAL;
        snprintf(session->ending_detail, sizeof(session->ending_detail), "%.250s", why);
        session->ending.detail = session->ending_detail;
    }
    session_die(session);
}

void restore_drop(struct session *session)
{
    free_restore(session);
}

static void abandon(struct session *session, const struct err *e)
{
    struct restore *restore = session->restore;
    const struct restore_listener *listener = restore->listener;
    void *context = restore->context;
    free_restore(session);
    if (listener != NULL)
        listener->on_failed(context, e);
}

void restore_abandon(struct session *session)
{
    struct err e;
    if (session->restore == NULL)
        return;
    exec_refuse_if_dead(session, &e);
    abandon(session, &e);
}

void restore_abandon_for(struct session *session, const char *why)
{
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "%s", why);
    err_advise(&e, "Look at the session's checkpoints, and try again.");
    abandon(session, &e);
}

void restore_leave(struct restore *restore)
{
    restore->listener = NULL;
}

/* ---- the interpreter ---------------------------------------------------------------------------
 */

static void enter_fresh(struct session *session);
static void restore_files(struct session *session);
static void await_target(struct session *session);
static void try_older(struct session *session, struct checkpoint *failed);

static void wake(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    struct checkpoint *target = restore->target;
    if (target == NULL || restore->state != NULL) {
        enter_fresh(session);
        return;
    }
    take_step(session, STEP_WAKE);
    restore->report.source = RESTORED_CHECKPOINT;
    if (pool_wake(session->engine->pool, target->snapshot, session_head_listener, session,
                  &session->head, &e) < 0)
        try_older(session, target);
}

static void enter_fresh(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    take_step(session, STEP_ENTER);
    restore->report.source = restore->state != NULL ? RESTORED_DURABLE : RESTORED_BEGINNING;
    struct pool_request wanted = {.runtime = session->runtime,
                                  .profile = session->profile,
                                  .limits = &session->limits,
                                  .join = session->room,
                                  .workspace = session->room == NULL ? session->id : NULL,
                                  .listener = session_head_listener,
                                  .owner = session};
    if (pool_take(session->engine->pool, &wanted, &session->head, &e) < 0) {
        fail(session, e.message);
        return;
    }
    if (session->room == NULL) {
        session->room = session->head->room;
        pool_hold(session->room);
    }
}

/* ---- the durable copy --------------------------------------------------------------------------
 */

static void on_exported(void *context, const struct store_exported *result, const struct err *e)
{
    struct session *session = context;
    (void)result; /* what was damaged is told to the interpreter, which tells us */
    (void)e;      /* likewise: its stream ends before its end */
    session->restore->call = NULL;
}

static void load(struct session *session)
{
    struct err e;
    int socks[2];
    struct restore *restore = session->restore;
    if (restore->state == NULL) {
        finish(session);
        return;
    }
    take_step(session, STEP_LOAD);
    if (head_socketpair(socks, &e) < 0) {
        fail(session, e.message);
    } else if (head_load(session->head, session->saving.through, socks[1], &e) < 0) {
        close(socks[0]);
        fail(session, e.message);
    } else {
        restore->call =
            store_export(session->engine->store, restore->state, socks[0], 0, on_exported, session);
    }
}

void restore_on_loaded(struct session *session, const json_t *report)
{
    const char *trouble = json_string_value(json_object_get(report, "message"));
    session->restore->loaded = json_incref((json_t *)(uintptr_t)report);
    if (trouble != NULL)
        fail(session, trouble);
    else
        finish(session);
}

static void set_up(struct session *session)
{
    take_step(session, STEP_SETUP);
    if (!setup_begin(session))
        load(session);
}

void restore_on_ready(struct session *session, const json_t *notes)
{
    struct restore *restore = session->restore;
    restore->notes = json_incref((json_t *)(uintptr_t)notes);
    if (restore->step == STEP_WAKE)
        finish(session);
    else if (restore->has_files)
        set_up(session);
    else
        restore_files(session);
}

void restore_on_set(struct session *session)
{
    load(session);
}

/* The new interpreter is none. */
static void lose_head(struct session *session, const char *why)
{
    struct restore *restore = session->restore;
    pool_release(session->engine->pool, take_ptr(session->head));
    if (restore->step == STEP_WAKE)
        try_older(session, restore->target);
    else
        fail(session, why);
}

void restore_on_end(struct session *session, const struct head_end_facts *facts)
{
    char why[320];
    head_describe_end(facts, why, sizeof(why));
    lose_head(session, why);
}

/* ---- files -------------------------------------------------------------------------------------
 */

static void read_restored(struct session *session, const char *text)
{
    struct err e;
    struct restore_report *report = &session->restore->report;
    _json_ json_t *answer = NULL;
    if (json_read_object(text, strlen(text), &answer, &e) < 0)
        return;
    static const char *const counts[] = {"changed", "removed", "created"};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        report->files_changed += (uint64_t)json_integer_value(json_object_get(answer, counts[i]));
    const char *error = json_string_value(json_array_get(json_object_get(answer, "errors"), 0));
    if (error != NULL)
        snprintf(report->files_reason, sizeof(report->files_reason), "%s", error);
}

/* The files are as they should be, as far as that can be. */
static void go_on(struct session *session)
{
    session->restore->has_files = true;
    if (session->head != NULL)
        set_up(session);
    else
        wake(session);
}

static void on_files(void *context, const struct warden_event *event)
{
    struct session *session = context;
    session->restore->ticket = 0;
    read_restored(session, event->text);
    go_on(session);
}

static bool has_other_heads(const struct session *session)
{
    return !list_is_empty(&session->room->heads);
}

/* What /workspace should be; NULL: nobody knows. */
static const char *wanted_files(const struct session *session)
{
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    const struct checkpoint *target = restore->target;
    if (restore->cause == RESTORE_RESUME || restore->state != NULL)
        return restore->files[0] != '\0' ? restore->files : NULL;
    if (has_other_heads(session)) {
        snprintf(report->files_reason, sizeof(report->files_reason),
                 "other sessions share the sandbox and its files");
        return NULL;
    }
    if (target == NULL)
        return ""; /* it began with no files */
    if (target->manifest[0] != '\0')
        return target->manifest;
    memcpy(report->files_reason, target->files_reason, sizeof(report->files_reason));
    return NULL;
}

static void restore_files(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    const char *manifest = restore->keeps_files ? NULL : wanted_files(session);
    if (manifest == NULL) {
        report->files = restore->keeps_files ? RESTORED_FILES_SAME : RESTORED_FILES_UNKNOWN;
        go_on(session);
        return;
    }
    take_step(session, STEP_FILES);
    report->files = RESTORED_FILES;
    restore->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, restore->ticket, WARDEN_RESTORED, on_files, session);
    if (warden_restore(session->engine->warden, restore->ticket, session->room->name, manifest,
                       &e) == 0)
        return;
    tickets_forget(session->engine, restore->ticket);
    restore->ticket = 0;
    snprintf(report->files_reason, sizeof(report->files_reason), "%.190s", e.message);
    report->files = RESTORED_FILES_UNKNOWN;
    go_on(session);
}

/* ---- ending the present line -------------------------------------------------------------------
 */

static void on_cleared(void *context, const struct warden_event *event)
{
    struct session *session = context;
    session->restore->ticket = 0;
    session->restore->report.ended_processes = event->bytes;
    restore_files(session);
}

static void clear(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    const struct snapshot *asleep = restore->target != NULL ? restore->target->snapshot : NULL;
    uint64_t since = asleep != NULL ? asleep->number : 0;
    take_step(session, STEP_CLEAR);
    restore->ticket = restore->old_head;
    tickets_expect(session->engine, restore->ticket, WARDEN_CLEARED, on_cleared, session);
    int r = (session->left_head != 0 ? warden_clear_holding : warden_clear)(
        session->engine->warden, restore->old_head, session->room->jail, since, &e);
    if (r < 0)
        fail(session, e.message);
}

static bool is_asleep(const struct checkpoint *checkpoint)
{
    return checkpoint == NULL ||
           (checkpoint->snapshot != NULL && checkpoint->snapshot->state == SNAPSHOT_ASLEEP);
}

/* The durable copy is newer than any checkpoint that sleeps: threads ran, or the interpreter cannot
 * be forked, or all were lost. */
static bool is_durable_newer(const struct session *session)
{
    const struct checkpoint *target = timeline_wakeable(session->restore->target);
    const struct saving *saving = &session->saving;
    return session->restore->cause == RESTORE_CRASH && saving->is_current &&
           saving->through > (target != NULL ? target->last_cell : 0);
}

static void on_fetched(void *context, struct store_state *state, const struct store_saved *at,
                       const struct err *e)
{
    struct session *session = context;
    struct restore *restore = session->restore;
    restore->call = NULL;
    restore->state = state;
    if (e == NULL) {
        memcpy(restore->files, at->files, sizeof(restore->files));
        restore->target = timeline_find(session, at->checkpoint);
    } else if (restore->cause == RESTORE_RESUME && e->code != ERR_NOT_FOUND) {
        fail(session, e->message);
        return;
    }
    if (session->room == NULL)
        enter_fresh(session);
    else if (state != NULL)
        clear(session);
    else
        await_target(session);
}

static void fetch(struct session *session, uint64_t checkpoint)
{
    take_step(session, STEP_FETCH);
    session->restore->has_asked = true;
    session->restore->call =
        store_get_state(session->engine->store, session->id, checkpoint, on_fetched, session);
}

/* One that is still falling asleep was forked before whatever came after it. */
static void await_target(struct session *session)
{
    struct restore *restore = session->restore;
    restore->target = timeline_wakeable(restore->target);
    if (!restore->has_asked && is_durable_newer(session))
        fetch(session, STORE_RESUME);
    else if (is_asleep(restore->target))
        clear(session);
    else
        take_step(session, STEP_SLEEP);
}

/* It cannot be woken. Its files may have been restored by now: another's take their place. If the
 * old head is still there, that may be why: the number of processes is limited. */
static void try_older(struct session *session, struct checkpoint *failed)
{
    struct restore *restore = session->restore;
    restore->target = restore_end_left(session) ? failed : failed->parent;
    await_target(session);
}

/* It can be gone back to: its process sleeps, or the store has its state. NULL is the beginning. */
static bool is_restorable(const struct checkpoint *checkpoint)
{
    return checkpoint == NULL || checkpoint->snapshot != NULL || checkpoint->is_saved;
}

/* The end of an interpreter takes as long as waking another, and the processor and locks from that
 * one. If it is at rest, it can wait: stopped, and with its channel open, which would end it. */
static void put_end_off(struct session *session)
{
    const struct restore *restore = session->restore;
    if (restore->cause == RESTORE_CRASH || session->head->state != HEAD_IDLE ||
        restore->target == NULL || restore->target->snapshot == NULL)
        return;
    session->left_channel = head_keep_channel(session->head);
    session->left_head = session->left_channel >= 0 ? session->head->number : 0;
}

bool restore_end_left(struct session *session)
{
    struct err ignored; /* a lost warden is told to everybody in its own way */
    if (session->left_head == 0)
        return false;
    warden_signal(session->engine->warden, session->left_head, SIGKILL, &ignored);
    close(session->left_channel);
    session->left_head = 0;
    return true;
}

/* From here on the session has no interpreter. */
static void leave_line(struct session *session)
{
    put_end_off(session);
    session_move(session, SESSION_RESTORING);
    session->n_interrupts = 0;
    session->has_stray = false;
    head_disown(session->head); /* what it started before the target stays: see clear */
    pool_release(session->engine->pool, take_ptr(session->head));
    const struct restore *restore = session->restore;
    const struct checkpoint *target = restore->target;
    if (restore->cause != RESTORE_CRASH && target != NULL && target->snapshot == NULL)
        fetch(session, target->id);
    else
        await_target(session);
}

void restore_resume(struct session *session)
{
    begin(session, RESTORE_RESUME);
    session_move(session, SESSION_RESTORING);
    fetch(session, STORE_RESUME);
}

/* ---- after a crash -----------------------------------------------------------------------------
 */

/* Ways to end that are a cell's fault and nobody's wish. */
static bool is_crash(const struct session *session)
{
    const struct death_facts *ending = &session->ending;
    switch (ending->wish) {
    case DEATH_BY_LIMIT:
    case DEATH_BY_SUCCESSOR:
    case DEATH_BY_CHANNEL:
        return true;
    case DEATH_UNWISHED:
    case DEATH_BY_CLOSING:
        /* Where `exit` is how a session is left, it is not undone. */
        return !ending->has_status || WIFSIGNALED(ending->status) ||
               session->runtime == &runtime_python;
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

bool restore_after_death(struct session *session)
{
    bool was_alive = session->state == SESSION_IDLE || session->state == SESSION_BUSY;
    bool has_way_back = session->timeline.mode != TIMELINE_OFF || session->saving.is_current;
    if (!was_alive || !has_way_back || !is_crash(session))
        return false;
    struct restore *restore = session->restore;
    if (restore != NULL) { /* while its present state was being kept for an undo */
        restore->old_head = session->head->number;
    } else {
        restore = begin(session, RESTORE_CRASH);
        exec_hold_crash(session);
    }
    if (restore->cause == RESTORE_CRASH)
        restore->target = session->timeline.current;
    session->ending = (struct death_facts){0};
    leave_line(session);
    return true;
}

/* ---- undo and redo -----------------------------------------------------------------------------
 */

static int refuse_unless_idle(const struct session *session, struct err *e)
{
    if (exec_refuse_if_dead(session, e) < 0 || trial_refuse_others(session, e) < 0)
        return -1;
    if (session->timeline.mode == TIMELINE_OFF || session->timeline.cannot_fork) {
        err_set(e, ERR_CONFLICT, "this session has no checkpoints");
        return err_advise(e, session->timeline.cannot_fork
                                 ? "Its interpreter cannot be copied; use Python or bash."
                                 : "Create a session with \"checkpoints\": \"auto\".");
    }
    if (session->state == SESSION_IDLE && session->restore == NULL)
        return 0;
    if (session->state == SESSION_SUSPENDED) {
        err_set(e, ERR_CONFLICT, "the session is suspended");
        return err_advise(e, "Run a cell to bring it back; its checkpoints are gone, its state is "
                             "not.");
    }
    err_set(e, ERR_CONFLICT, "the session is busy");
    return err_advise(e, "Wait for the cell that runs, or interrupt it first.");
}

static int refuse_lost(const struct checkpoint *checkpoint, struct err *e)
{
    err_set(e, ERR_CONFLICT, "checkpoint %llu cannot be restored: %s",
            (unsigned long long)checkpoint->id, checkpoint->reason);
    return err_advise(e, "GET …/checkpoints lists those that can be.");
}

/* The present state is kept as far as it can be: now go. */
static void go(struct session *session)
{
    struct restore *restore = session->restore;
    restore->old_head = session->head->number;
    leave_line(session);
}

static bool is_tip_ready(const struct session *session)
{
    const struct checkpoint *tip = session->timeline.current;
    return tip == NULL || timeline_is_settled(tip);
}

void restore_on_checkpoint(struct session *session)
{
    struct restore *restore = session->restore;
    if (restore == NULL)
        return;
    if (restore->step == STEP_TIP && is_tip_ready(session))
        go(session);
    else if (restore->step == STEP_SLEEP)
        await_target(session);
}

static void move_on(struct session *session, struct checkpoint *target,
                    const struct restore_listener *listener, void *context)
{
    struct restore *restore = session->restore;
    restore->target = target;
    restore->listener = listener;
    restore->context = context;
    take_step(session, STEP_TIP);
    if (is_tip_ready(session))
        go(session);
}

int session_undo(struct session *session, const uint64_t *to,
                 const struct restore_listener *listener, void *context, struct err *e)
{
    session_touch(session);
    if (refuse_unless_idle(session, e) < 0)
        return -1;
    struct timeline *timeline = &session->timeline;
    timeline_take(session);
    struct checkpoint *target = timeline->current != NULL ? timeline->current->parent : NULL;
    if (to != NULL)
        target = timeline_find(session, *to);
    if (to != NULL && *to != 0 && target == NULL) {
        err_set(e, ERR_NOT_FOUND, "the session has no checkpoint %llu", (unsigned long long)*to);
        return err_advise(e, "GET …/checkpoints lists those that are kept; the oldest are given up "
                             "first.");
    }
    if (to == NULL && timeline->current == NULL) {
        err_set(e, ERR_CONFLICT, "there is nothing to undo");
        return err_advise(e, "This is the beginning of the session.");
    }
    if (!is_restorable(target))
        return refuse_lost(target, e);
    begin(session, RESTORE_UNDO);
    move_on(session, target, listener, context);
    return 0;
}

int session_redo(struct session *session, const struct restore_listener *listener, void *context,
                 struct err *e)
{
    session_touch(session);
    if (refuse_unless_idle(session, e) < 0)
        return -1;
    struct timeline *timeline = &session->timeline;
    struct checkpoint *target = NULL;
    while (timeline->n_redo > 0 && target == NULL)
        target = timeline_find(session, timeline->redo[--timeline->n_redo]);
    if (target == NULL || !is_restorable(target)) {
        err_set(e, ERR_CONFLICT, "there is nothing to redo");
        return err_advise(e, "Only what was undone can be redone, and only until another cell "
                             "runs.");
    }
    begin(session, RESTORE_REDO);
    move_on(session, target, listener, context);
    return 0;
}

/* It has no processes: all there is to change is what it would come back with. */
static void reset_suspended(struct session *session, const struct restore_listener *listener,
                            void *context)
{
    struct err ignored;
    session->saving.through = 0;
    timeline_go_to(session, NULL);
    store_resume_from(session->engine->store, session->id, 0, &ignored);
    struct restore_report report = {.source = RESTORED_BEGINNING, .files = RESTORED_FILES_SAME};
    listener->on_restored(context, &report);
}

int session_reset(struct session *session, const struct restore_listener *listener, void *context,
                  struct err *e)
{
    session_touch(session);
    if (exec_refuse_if_dead(session, e) < 0 || trial_refuse_others(session, e) < 0)
        return -1;
    if (session->state == SESSION_SUSPENDED) {
        reset_suspended(session, listener, context);
        return 0;
    }
    if (session->state != SESSION_IDLE || session->restore != NULL) {
        err_set(e, ERR_CONFLICT, "the session is busy");
        return err_advise(e, "Wait for the cell that runs, or interrupt it first.");
    }
    bool has_checkpoints = session->timeline.mode != TIMELINE_OFF && !session->timeline.cannot_fork;
    if (has_checkpoints)
        timeline_take(session);
    struct restore *restore = begin(session, RESTORE_UNDO);
    restore->keeps_files = true;
    move_on(session, NULL, listener, context);
    return 0;
}

void restore_on_alarm(struct session *session)
{
    struct restore *restore = session->restore;
    if (restore->step == STEP_TIP) {
        go(session);
    } else if (restore->step == STEP_SLEEP) {
        try_older(session, restore->target);
    } else if (restore->step == STEP_WAKE) {
        lose_head(session, "the checkpoint did not wake in time");
    } else {
        fail(session, "bringing it back took too long");
    }
}
