/* The end of a restoration: what is told of it, and to whom; or that nothing brings the session
 * back. */
#include "base/clock.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/files.h"
#include "session/recorder.h"
#include "session/restore_parts.h"
#include "session/saving.h"
#include "session/suspend.h"
#include "session/timing.h"
#include "session/trial.h"

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
    if (report->files_lost != NULL)
        json_object_set(extra, "files_lost", report->files_lost);
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
    if (report->files_lost != NULL)
        json_object_set(resumed, "files_lost", report->files_lost);
    if (report->files_reason[0] != '\0')
        json_object_set_new(resumed, "files_reason", json_string(report->files_reason));
    return json_pack("{so}", "resumed", resumed);
}

static void tell(struct session *session, struct restore *restore)
{
    struct restore_report *report = &restore->report;
    if (restore->cause == RESTORE_CRASH)
        exec_answer_crash(session, report->to, describe_rollback(report));
    else if (restore->cause == RESTORE_RESUME &&
             (session->saving.isolation == ISOLATION_PER_CELL || session->ended_exec == 0))
        return; /* that is how it always goes on, and what was lost was told; or nothing ever ran */
    else if (restore->cause == RESTORE_RESUME)
        exec_add_news(session, describe_resumption(session, report));
    else if (restore->listener != NULL)
        restore->listener->on_restored(restore->context, report);
}

/* An undo leaves a way back to where it came from. */
static void leave_way_back(struct session *session, const struct restore *restore)
{
    if (restore->cause != RESTORE_UNDO || restore->report.from == 0)
        return;
    timeline_add_redo(session, restore->report.from);
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

static void tell_recorder(struct session *session, const struct restore *restore)
{
    struct timeline_cells redone = {0};
    bool is_undo = restore->cause == RESTORE_UNDO || restore->cause == RESTORE_REDO;
    bool is_as_saved = restore->report.source == RESTORED_DURABLE && !is_undo;
    uint64_t after =
        is_as_saved ? session->saving.through : timeline_parting(session, restore->target, &redone);
    recorder_moved(session, &(struct recorder_move){
                                .after = after, .redone = redone.ids, .n_redone = redone.n});
    timeline_cells_free(&redone);
}

/* The fresh interpreter of a reset has the files of the one that it follows, and so has what a
 * crash of its first cell leads back to. */
static void keep_files(struct session *session, const struct restore *restore)
{
    const struct checkpoint *tip = timeline_find(session, restore->report.from);
    const char *files = tip != NULL ? timeline_files_at(session, tip) : NULL;
    if (restore->keeps_files && files != NULL)
        timeline_amend(session, NULL, files);
}

void restore_finish(struct session *session)
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
    keep_files(session, restore);
    tell_recorder(session, restore);
    timeline_go_to(session, restore->target);
    bool is_as_saved = restore->cause == RESTORE_RESUME ||
                       (restore->cause == RESTORE_CRASH && report->source == RESTORED_DURABLE);
    if (is_as_saved)
        saving_on_resumed(session);
    else
        saving_on_restored(session);
    session->restore = NULL;
    exec_answer_undone(session, &report->cells, report->to);
    trial_forget(session);
    json_decref(take_ptr(session->names));
    json_decref(take_ptr(session->declared));
    background_on_restored(session);
    session->ended_ns = clock_mono_ns();
    timing_rest(session, false);
    tell(session, restore);
    session->restore = restore;
    restore_drop(session);
    files_begin_next(session);
    exec_begin_next(session);
}

/* Nothing brings it back. */
void restore_fail(struct session *session, const char *why)
{
    struct restore *restore = session->restore;
    struct engine *engine = session->engine;
    char text[400];
    snprintf(text, sizeof(text), "session %s: %.300s", session->id, why);
    engine->events.on_notice(engine->events.context, "session_not_restored", text);
    if (restore->cause == RESTORE_RESUME || restore->was_suspended) {
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
