/* The way of a restoration: the present line ends, files are put back, an interpreter comes. */
#include "base/channel.h"
#include "jail/warden.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/files.h"
#include "session/restore_parts.h"
#include "session/setup.h"
#include "session/tickets.h"
#include "wire/json.h"

#include <signal.h>

void restore_enter_fresh(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    restore_take_step(session, STEP_ENTER);
    restore->report.source = restore->state != NULL ? RESTORED_DURABLE : RESTORED_BEGINNING;
    struct pool_request wanted = {.runtime = session->runtime,
                                  .profile = session->profile,
                                  .limits = &session->limits,
                                  .join = session->room,
                                  .workspace = session->room == NULL ? session->id : NULL,
                                  .listener = session_head_listener,
                                  .owner = session};
    if (pool_take(session->engine->pool, &wanted, &session->head, &e) < 0) {
        restore_fail(session, e.message);
        return;
    }
    if (session->room == NULL) {
        session->room = session->head->room;
        pool_hold(session->room);
    }
}

static void wake(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    struct checkpoint *target = restore->target;
    if (target == NULL || restore->state != NULL) {
        restore_enter_fresh(session);
        return;
    }
    restore_take_step(session, STEP_WAKE);
    restore->report.source = RESTORED_CHECKPOINT;
    /* It may have ended since it was chosen: whatever killed the interpreter can kill its copies.
     */
    if (target->snapshot == NULL ||
        pool_wake(session->engine->pool, target->snapshot, session_head_listener, session,
                  &session->head, &e) < 0)
        restore_try_older(session, target);
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
        restore_finish(session);
        return;
    }
    restore_take_step(session, STEP_LOAD);
    if (head_socketpair(socks, &e) < 0) {
        restore_fail(session, e.message);
    } else if (head_load(session->head, session->saving.through, socks[1], &e) < 0) {
        channel_close(socks[0]);
        restore_fail(session, e.message);
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
        restore_fail(session, trouble);
    else
        restore_finish(session);
}

static void set_up(struct session *session)
{
    restore_take_step(session, STEP_SETUP);
    if (!setup_begin(session))
        load(session);
}

void restore_on_set(struct session *session)
{
    load(session);
}

/* The new interpreter is none. */
void restore_lose_head(struct session *session, const char *why)
{
    struct restore *restore = session->restore;
    pool_release(session->engine->pool, take_ptr(session->head));
    if (restore->step == STEP_WAKE)
        restore_try_older(session, restore->target);
    else
        restore_fail(session, why);
}

void restore_on_end(struct session *session, const struct head_end_facts *facts)
{
    char why[320];
    head_describe_end(facts, why, sizeof(why));
    restore_lose_head(session, why);
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
    /* Who lost them is told their names, unless all were written by the cells that are undone. */
    const struct restore *restore = session->restore;
    json_t *lost = json_object_get(answer, "lost");
    if ((restore->had_background || restore->state != NULL) && json_array_size(lost) > 0)
        report->files_lost = json_incref(lost);
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

static void on_repeated(void *context, const struct warden_event *event)
{
    struct session *session = context;
    (void)event;
    session->restore->ticket = 0;
    go_on(session);
}

static void on_files(void *context, const struct warden_event *event)
{
    struct session *session = context;
    struct restore *restore = session->restore;
    restore->ticket = 0;
    read_restored(session, event->text);
    /* The durable copy has not what callers put since. */
    bool is_durable = restore->cause == RESTORE_RESUME || restore->state != NULL;
    restore->ticket = is_durable ? files_repeat(session) : 0;
    if (restore->ticket == 0)
        go_on(session);
    else
        tickets_expect(session->engine, restore->ticket, WARDEN_FILED, on_repeated, session);
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
    if (!restore->was_suspended && has_other_heads(session)) {
        snprintf(report->files_reason, sizeof(report->files_reason),
                 "other sessions share the sandbox and its files");
        return NULL;
    }
    const char *manifest = timeline_files_at(session, target);
    if (manifest == NULL)
        memcpy(report->files_reason, target->files_reason, sizeof(report->files_reason));
    return manifest;
}

static void restore_files(struct session *session)
{
    struct err e;
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    restore->awaits_order = files_are_changing(session);
    if (restore->awaits_order) {
        restore_take_step(session, STEP_FILES);
        return; /* what is put now belongs to what is restored */
    }
    const char *manifest = restore->keeps_files ? NULL : wanted_files(session);
    if (manifest == NULL) {
        report->files = restore->keeps_files ? RESTORED_FILES_SAME : RESTORED_FILES_UNKNOWN;
        go_on(session);
        return;
    }
    char spared[TIMELINE_HASH_SIZE];
    restore_take_step(session, STEP_FILES);
    report->files = RESTORED_FILES;
    background_spare(session, manifest, spared);
    if (strcmp(spared, manifest) != 0 && restore->state == NULL)
        timeline_amend(session, restore->target, spared);
    restore->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, restore->ticket, WARDEN_RESTORED, on_files, session);
    if (warden_restore(session->engine->warden, restore->ticket, session->room->name, spared, &e) ==
        0)
        return;
    tickets_forget(session->engine, restore->ticket);
    restore->ticket = 0;
    snprintf(report->files_reason, sizeof(report->files_reason), "%.190s", e.message);
    report->files = RESTORED_FILES_UNKNOWN;
    go_on(session);
}

void restore_on_files(struct session *session)
{
    if (session->restore != NULL && session->restore->awaits_order)
        restore_files(session);
}

void restore_on_ready(struct session *session, const json_t *notes)
{
    struct restore *restore = session->restore;
    restore->notes = json_incref((json_t *)(uintptr_t)notes);
    if (restore->step == STEP_WAKE)
        restore_finish(session);
    else if (restore->has_files)
        set_up(session);
    else
        restore_files(session);
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
    restore_take_step(session, STEP_CLEAR);
    restore->ticket = restore->old_head;
    tickets_expect(session->engine, restore->ticket, WARDEN_CLEARED, on_cleared, session);
    int r = (session->left_head != 0 ? warden_clear_holding : warden_clear)(
        session->engine->warden, restore->old_head, session->room->jail, since, &e);
    if (r < 0)
        restore_fail(session, e.message);
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

/* The checkpoint that a saved state is of. One whose place in the history nobody remembers has a
 * place of its own. NULL: it is of the beginning, or the session has no checkpoints. */
static struct checkpoint *find_saved(struct session *session, const struct store_saved *at)
{
    struct checkpoint *checkpoint = timeline_find(session, at->checkpoint);
    if (checkpoint == NULL && at->checkpoint > 0 && timeline_has_checkpoints(session) &&
        session->restore->cause == RESTORE_RESUME)
        checkpoint = timeline_add_saved(session, at->checkpoint, at->through, at->files);
    return checkpoint;
}

static void on_fetched(void *context, struct store_state *state, const struct store_saved *at,
                       const struct err *e)
{
    struct session *session = context;
    struct restore *restore = session->restore;
    restore->call = NULL;
    restore->state = state;
    /* One that was suspended before anything was saved comes back as it began. */
    bool is_missing = e != NULL && (restore->was_suspended || e->code != ERR_NOT_FOUND);
    if (e == NULL) {
        memcpy(restore->files, at->files, sizeof(restore->files));
        restore->target = find_saved(session, at);
        if (at->checkpoint == 0 && at->files[0] != '\0')
            timeline_amend(session, NULL, at->files);
    }
    if (session->state == SESSION_IDLE)
        restore_on_fetched(session, e);
    else if (session->room == NULL && is_missing)
        restore_fail(session, e->message);
    else if (session->room == NULL)
        restore_enter_fresh(session);
    else if (state != NULL)
        clear(session);
    else
        restore_await_target(session);
}

void restore_fetch(struct session *session, uint64_t checkpoint)
{
    restore_take_step(session, STEP_FETCH);
    session->restore->has_asked = true;
    session->restore->call =
        store_get_state(session->engine->store, session->id, checkpoint, on_fetched, session);
}

/* One that is still falling asleep was forked before whatever came after it. */
void restore_await_target(struct session *session)
{
    struct restore *restore = session->restore;
    restore->target = timeline_wakeable(restore->target);
    if (!restore->has_asked && is_durable_newer(session))
        restore_fetch(session, STORE_RESUME);
    else if (is_asleep(restore->target))
        clear(session);
    else
        restore_take_step(session, STEP_SLEEP);
}

/* It cannot be woken. Its files may have been restored by now: another's take their place. If the
 * old head is still there, that may be why: the number of processes is limited. */
void restore_try_older(struct session *session, struct checkpoint *failed)
{
    struct restore *restore = session->restore;
    restore->target = restore_end_left(session) ? failed : failed->parent;
    restore_await_target(session);
}

/* The end of an interpreter takes as long as waking another, and the processor and locks from that
 * one. If it is at rest, it can wait: stopped, and with its channel open, which would end it. */
static void put_end_off(struct session *session)
{
    const struct restore *restore = session->restore;
    if (restore->cause == RESTORE_CRASH || session->head->state != HEAD_IDLE ||
        restore->target == NULL || restore->target->snapshot == NULL)
        return;
    session->left_channel = head_take_channel(session->head);
    session->left_head = session->left_channel >= 0 ? session->head->number : 0;
}

bool restore_end_left(struct session *session)
{
    struct err ignored; /* a lost warden is told to everybody in its own way */
    if (session->left_head == 0)
        return false;
    warden_signal(session->engine->warden, session->left_head, SIGKILL, &ignored);
    channel_close(session->left_channel);
    session->left_head = 0;
    return true;
}

/* From here on the session has no interpreter. */
void restore_leave_line(struct session *session)
{
    put_end_off(session);
    session->restore->had_background = session->background.is_on;
    session_move(session, SESSION_RESTORING);
    session->n_interrupts = 0;
    session->has_stray = false;
    head_disown(session->head); /* what it started before the target stays: see clear */
    pool_release(session->engine->pool, take_ptr(session->head));
    const struct restore *restore = session->restore;
    const struct checkpoint *target = restore->target;
    if (restore->state != NULL)
        clear(session);
    else if (restore->call != NULL)
        restore_take_step(session, STEP_FETCH); /* it ended while its state was looked up */
    else if (restore->cause != RESTORE_CRASH && target != NULL && target->snapshot == NULL)
        restore_fetch(session, target->id);
    else
        restore_await_target(session);
}
