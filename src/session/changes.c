/* Changes of notebooks by callers, in the daemon: the front of store/changes.c. */
#include "session/changes.h"

#include "session/engine_state.h"
#include "session/notebooks.h"
#include "session/recording.h"
#include "session/watching.h"

struct change_task {
    struct task task;
    char id[UUID_SIZE];
    enum store_change_kind what;
    uint64_t n_appended;  /* of the notebook when the change was asked for */
    uint64_t last_record; /* likewise */
    char *source;         /* that watchers are told of; NULL if there is none */
    size_t source_len;
    struct err refusal;
    changes_fn fn;
    void *context;
};

static void changes_end(struct task *task)
{
    free(((struct change_task *)task)->source);
}

static void changes_tell(struct live_notebook *notebook, const struct change_task *change,
                         const struct store_cell *now)
{
    static const char *const names[] = {[CHANGE_INSERT] = "cell_added",
                                        [CHANGE_EDIT] = "cell_changed",
                                        [CHANGE_REMOVE] = "cell_removed",
                                        [CHANGE_MOVE] = "cell_moved",
                                        [CHANGE_CLEAR_OUTPUTS] = "output_cleared",
                                        [CHANGE_CLEAR_ALL] = "cells_cleared"};
    _buf_ struct buf members = BUF_INIT(KIB);
    struct json_out json = JSON_OUT(&members);
    if (now == NULL) {
        bool is_all = change->what == CHANGE_CLEAR_ALL;
        json_put_member_str(&json, "what", is_all ? "cells" : "outputs");
        watching_tell(notebook, "cells_cleared", &members);
    } else if (change->what == CHANGE_INSERT || change->what == CHANGE_EDIT) {
        struct store_cell cell = *now;
        cell.source = change->source;
        cell.source_len = change->source_len;
        watching_tell_cell(notebook, names[change->what], &cell);
    } else {
        json_put_member_str(&json, "cell_id", now->id);
        json_put_member_some(&json, "number", (int64_t)now->exec_id);
        if (change->what == CHANGE_MOVE)
            json_put_member_int(&json, "index", (int64_t)now->number);
        watching_tell(notebook, names[change->what], &members);
    }
}

/* What is known of the notebook in memory follows the change: the number of its cells, with those
 * that were appended meanwhile; what running cells have shown, if outputs were cleared. If a cell
 * is text now, or gone, nothing of its run is its own any more, nor of another one's that gets its
 * id. */
static void changes_follow(struct live_notebook *notebook, const struct change_task *change,
                           const struct store_cell *now, uint64_t n_cells, int64_t last_place)
{
    bool clears = change->what == CHANGE_CLEAR_OUTPUTS;
    bool leaves = (change->what == CHANGE_EDIT && now->kind != CELL_CODE) ||
                  change->what == CHANGE_REMOVE || change->what == CHANGE_CLEAR_ALL;
    notebook->n_cells = n_cells + (notebook->n_appended - change->n_appended);
    notebook->last_place = MAX(notebook->last_place, last_place);
    LIST_EACH(&notebook->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        bool is_meant = now != NULL && strcmp(now->id, record->cell->id) == 0;
        if (clears && (now == NULL || is_meant))
            transcript_clear_row(&record->cell->transcript);
        bool was_there = now == NULL && record->serial <= change->last_record;
        record->is_outrun |= leaves && (is_meant || was_there);
    }
}

static void changes_on_made(void *context, const struct store_cell *now, uint64_t n_cells,
                            int64_t last_place, const struct err *e)
{
    struct change_task *change = context;
    struct live_notebook *notebook = notebooks_find(change->task.engine, change->id);
    change->task.asked = NULL;
    if (notebook != NULL && e == NULL) {
        notebooks_hold(notebook);
        changes_follow(notebook, change, now, n_cells, last_place);
        changes_tell(notebook, change, now);
        notebooks_let_go(notebook);
    }
    if (e == NULL)
        notebooks_changed(change->task.engine, change->id);
    if (!change->task.is_forgotten)
        change->fn(change->context, now, n_cells, e);
    task_end(&change->task);
}

static void changes_on_refused(struct task *task)
{
    struct change_task *change = (struct change_task *)task;
    if (!task->is_forgotten)
        change->fn(change->context, NULL, 0, &change->refusal);
    task_end(task);
}

struct task *changes_make(struct engine *engine, const char *id, const struct store_change *asked,
                          changes_fn fn, void *context)
{
    struct change_task *change = task_new(&engine->notebooks.tasks, sizeof(*change), changes_end);
    const struct live_notebook *notebook = notebooks_find(engine, id);
    snprintf(change->id, sizeof(change->id), "%s", id);
    change->what = asked->what;
    change->fn = fn;
    change->context = context;
    if (asked->to != NULL && asked->to->source != NULL) {
        change->source = mem_copy(asked->to->source, asked->to->source_len);
        change->source_len = asked->to->source_len;
    }
    /* The notebook of a session that has run nothing yet begins with this. */
    if (notebooks_begin(engine, id, &change->refusal) < 0) {
        task_later(&change->task, changes_on_refused, 0);
        return &change->task;
    }
    if (notebook != NULL) {
        notebooks_flush(engine, id); /* so that cells which run are there to be changed */
        change->n_appended = notebook->n_appended;
        change->last_record = notebook->last_record;
    }
    struct store_change wanted = *asked;
    wanted.max_cells = engine->config.notebooks.max_cells;
    change->task.asked = store_change_cells(engine->store, id, &wanted, changes_on_made, change);
    return &change->task;
}

/* ---- the notebook itself --------------------------------------------------------------------- */

struct describe_task {
    struct task task;
    char id[UUID_SIZE];
    store_done_fn fn;
    void *context;
};

static void changes_end_describing(struct describe_task *describe, const struct err *e)
{
    if (e == NULL)
        notebooks_changed(describe->task.engine, describe->id);
    if (!describe->task.is_forgotten)
        describe->fn(describe->context, e);
    task_end(&describe->task);
}

static void changes_on_row(void *context, const struct store_notebook *row, const struct err *e)
{
    struct describe_task *describe = context;
    struct live_notebook *notebook = notebooks_find(describe->task.engine, describe->id);
    describe->task.asked = NULL;
    if (e == NULL && notebook != NULL) {
        _buf_ struct buf members = BUF_INIT(STORE_ROW_BYTES);
        struct json_out json = JSON_OUT(&members);
        json_put_member_str(&json, "title", row->title);
        if (row->metadata != NULL) {
            json_put_key(&json, "metadata");
            json_put_raw(&json, row->metadata, strlen(row->metadata));
        }
        watching_tell(notebook, "notebook_changed", &members);
    }
    changes_end_describing(describe, e);
}

/* Watchers are told how it is now. */
static void changes_on_described(void *context, const struct err *e)
{
    struct describe_task *describe = context;
    struct engine *engine = describe->task.engine;
    describe->task.asked = NULL;
    if (e == NULL && notebooks_find(engine, describe->id) != NULL)
        describe->task.asked =
            store_get_notebook(engine->store, describe->id, changes_on_row, describe);
    else
        changes_end_describing(describe, e);
}

struct task *changes_describe(struct engine *engine, const char *id, const char *title,
                              const char *metadata, store_done_fn fn, void *context)
{
    struct err ignored; /* if the row cannot be made it is missing, and that is told */
    struct describe_task *describe = task_new(&engine->notebooks.tasks, sizeof(*describe), NULL);
    snprintf(describe->id, sizeof(describe->id), "%s", id);
    describe->fn = fn;
    describe->context = context;
    notebooks_begin(engine, id, &ignored);
    describe->task.asked =
        store_describe_notebook(engine->store, id, title, metadata, changes_on_described, describe);
    return &describe->task;
}

struct delete_task {
    struct task task;
    char id[UUID_SIZE];
    struct err refusal;
    store_done_fn fn;
    void *context;
};

static void changes_on_deleted(void *context, const struct err *e)
{
    struct delete_task *delete = context;
    struct live_notebook *notebook = notebooks_find(delete->task.engine, delete->id);
    delete->task.asked = NULL;
    if (e == NULL)
        notebooks_changed(delete->task.engine, delete->id);
    if (notebook != NULL && e == NULL) {
        _buf_ struct buf nothing = BUF_INIT(KIB);
        watching_tell(notebook, "deleted", &nothing);
    }
    if (!delete->task.is_forgotten && delete->fn != NULL)
        delete->fn(delete->context, e);
    task_end(&delete->task);
}

static void changes_on_not_deleted(struct task *task)
{
    struct delete_task *delete = (struct delete_task *)task;
    changes_on_deleted(delete, &delete->refusal);
}

struct task *changes_delete(struct engine *engine, const char *id, store_done_fn fn, void *context)
{
    struct delete_task *delete = task_new(&engine->notebooks.tasks, sizeof(*delete), NULL);
    struct live_notebook *notebook = notebooks_find(engine, id);
    snprintf(delete->id, sizeof(delete->id), "%s", id);
    delete->fn = fn;
    delete->context = context;
    if (notebook != NULL) {
        notebooks_flush(engine, id); /* so that cells which wait or run are deleted, too */
        notebook->has_row = false;
        notebook->n_cells = 0;
        notebook->last_place = 0;
    }
    delete->task.asked =
        store_delete_notebook(engine->store, id, changes_on_deleted, delete, &delete->refusal);
    if (delete->task.asked == NULL)
        task_later(&delete->task, changes_on_not_deleted, 0);
    return &delete->task;
}
