/* What a restoration came to, in the daemon: its report, and the session's move to where it led. */
#include "session/recording.h"
#include "session/restore.h"
#include "session/session.h"

const char *restore_source_name(enum restore_source source)
{
    static const char *const names[] = {[RESTORED_CHECKPOINT] = "checkpoint",
                                        [RESTORED_DURABLE] = "durable",
                                        [RESTORED_BEGINNING] = "beginning"};
    return names[source];
}

bool restore_is_as_saved(const struct restore *restore)
{
    return restore->cause == RESTORE_RESUME ||
           (restore->cause == RESTORE_CRASH && restore->report.source == RESTORED_DURABLE);
}

json_t *restore_describe_rollback(const struct restore_report *report)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < report->cells.n; i++)
        json_array_append_new(cells, json_integer((json_int_t)report->cells.ids[i]));
    json_t *extra = json_pack("{so ss}", "rolled_back_cells", cells, "restored_from",
                              restore_source_name(report->source));
    if (json_array_size(report->notes) > 0)
        json_object_set(extra, "not_undone", (json_t *)(uintptr_t)report->notes);
    if (report->names != NULL)
        json_object_set(extra, "names", report->names);
    if (json_array_size(report->lost) > 0)
        json_object_set(extra, "lost", (json_t *)(uintptr_t)report->lost);
    if (report->files_lost != NULL)
        json_object_set(extra, "files_lost", report->files_lost);
    return extra;
}

json_t *restore_describe_resumption(const struct session *session,
                                    const struct restore_report *report)
{
    json_t *resumed =
        json_pack("{ss sI sI}", "restored_from", restore_source_name(report->source), "restored",
                  (json_int_t)report->restored, "through", (json_int_t)session->saving.through);
    if (json_array_size(report->lost) > 0)
        json_object_set(resumed, "lost", (json_t *)(uintptr_t)report->lost);
    if (report->files_lost != NULL)
        json_object_set(resumed, "files_lost", report->files_lost);
    if (report->files_reason[0] != '\0')
        json_object_set_new(resumed, "files_reason", json_string(report->files_reason));
    return json_pack("{so}", "resumed", resumed);
}

void restore_conclude(struct session *session)
{
    struct restore *restore = session->restore;
    struct restore_report *report = &restore->report;
    report->to = restore->target != NULL ? restore->target->id : 0;
    report->cells = timeline_undone(session, restore->target);
    report->notes = restore->notes;
    if (report->source == RESTORED_DURABLE && restore->cause == RESTORE_CRASH) {
        /* What is undone is what came after the durable copy, whether its checkpoint is kept or
         * not. */
        struct timeline_cells *cells = &report->cells;
        size_t n = 0;
        for (size_t i = 0; i < cells->n; i++)
            if (cells->ids[i] > session->saving.through)
                cells->ids[n++] = cells->ids[i];
        cells->n = n;
        report->to = session->saving.checkpoint;
    }
    report->names = names_undone(session, &report->cells);
    const json_t *lost = json_object_get(restore->loaded, "lost");
    report->restored = (uint64_t)json_integer_value(json_object_get(restore->loaded, "restored"));
    report->lost = json_array_size(lost) > 0 ? lost : NULL;
    if (restore->cause == RESTORE_UNDO && report->from != 0)
        timeline_add_redo(session, report->from); /* a way back to where it came from */
    /* The fresh interpreter of a reset has the files of the one that it follows, and so has what a
     * crash of its first cell leads back to. */
    const struct checkpoint *tip = timeline_find(session, report->from);
    const char *files = tip != NULL ? timeline_files_at(session, tip) : NULL;
    if (restore->keeps_files && files != NULL)
        timeline_amend(session, NULL, files);
    struct timeline_cells redone = {0};
    bool is_undo = restore->cause == RESTORE_UNDO || restore->cause == RESTORE_REDO;
    bool is_as_saved = report->source == RESTORED_DURABLE && !is_undo;
    uint64_t after =
        is_as_saved ? session->saving.through : timeline_parting(session, restore->target, &redone);
    recording_moved(session, after, redone.ids, redone.n);
    timeline_cells_free(&redone);
    timeline_go_to(session, restore->target);
}
