/* Live notebooks, in the daemon: found, held, written down, and removed when their time is over.
 * Owns every struct live_notebook. */
#include "session/notebooks.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/recording.h"
#include "session/spec.h"
#include "session/watching.h"
#include "store/notebooks.h"

enum { TIDY_MS = 3600 * 1000, FIRST_TIDY_MS = 5 * 1000, TIDY_PAGE = 100 };

struct live_notebook *notebooks_find(struct engine *engine, const char *id)
{
    return map_get(&engine->notebooks.by_id, id);
}

struct live_notebook *notebooks_ensure(struct engine *engine, const char *id)
{
    struct live_notebook *notebook = notebooks_find(engine, id);
    if (notebook != NULL)
        return notebook;
    notebook = mem_alloc(sizeof(*notebook));
    notebook->engine = engine;
    snprintf(notebook->id, sizeof(notebook->id), "%s", id);
    list_init(&notebook->records);
    list_init(&notebook->watchers);
    map_set(&engine->notebooks.by_id, notebook->id, notebook);
    return notebook;
}

static void notebooks_free(struct live_notebook *notebook)
{
    while (!list_is_empty(&notebook->records))
        recording_free(CONTAINER_OF(list_first(&notebook->records), struct cell_record, node));
    watching_drop(notebook);
    map_remove(&notebook->engine->notebooks.by_id, notebook->id);
    free(notebook);
}

void notebooks_hold(struct live_notebook *notebook)
{
    notebook->n_holds++;
}

void notebooks_let_go(struct live_notebook *notebook)
{
    bool is_needed =
        notebook->has_session || notebook->n_watchers > 0 || !list_is_empty(&notebook->records);
    if (--notebook->n_holds == 0 && !is_needed && !notebook->engine->notebooks.is_closing)
        notebooks_free(notebook);
}

void notebooks_on_session(struct session *session, bool is_there)
{
    if (session->engine->store == NULL || session->is_unlisted)
        return;
    struct live_notebook *notebook = notebooks_ensure(session->engine, session->id);
    notebooks_hold(notebook);
    notebook->has_session = is_there;
    notebooks_let_go(notebook);
}

int notebooks_put_row(struct live_notebook *notebook, const struct session *session, struct err *e)
{
    if (notebook->has_row)
        return 0;
    char metadata[UUID_SIZE + 32];
    _free_ char *spec = spec_write(session);
    snprintf(metadata, sizeof(metadata), "{\"branched_from\":\"%s\"}", session->branches.from);
    struct store_notebook row = {
        .id = notebook->id,
        .user = session->agent != NULL ? session->agent : "default",
        .runtime = session->runtime->name,
        .metadata = session->branches.from[0] != '\0' ? metadata : NULL,
        .spec = spec,
        .created_ms = session->life.spawned_at_us / 1000,
        .count = 0,
    };
    if (store_put_notebook(notebook->engine->store, &row, e) < 0)
        return -1;
    notebook->has_row = true;
    return 0;
}

int notebooks_begin(struct engine *engine, const char *id, struct err *e)
{
    struct live_notebook *notebook = notebooks_find(engine, id);
    if (notebook == NULL || !notebook->has_session)
        return 0;
    const struct session *session = session_find(engine, id, e);
    return session == NULL ? -1 : notebooks_put_row(notebook, session, e);
}

void notebooks_flush(struct engine *engine, const char *id)
{
    struct live_notebook *notebook = notebooks_find(engine, id);
    if (notebook == NULL)
        return;
    LIST_EACH(&notebook->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        if (record->exec != NULL && (record->is_dirty || !record->is_put))
            recording_put(record);
    }
}

void notebooks_on_changed(struct engine *engine, notebooks_changed_fn fn, void *context)
{
    engine->notebooks.on_changed = fn;
    engine->notebooks.changed_context = context;
}

void notebooks_changed(struct engine *engine, const char *id)
{
    if (engine->notebooks.on_changed != NULL)
        engine->notebooks.on_changed(engine->notebooks.changed_context, id);
}

/* ---- notebooks whose time is over ------------------------------------------------------------ */

struct tidying {
    struct task task;
    uint64_t offset;
};

static bool notebooks_is_over(struct engine *engine, const struct store_notebook *row,
                              uint64_t now_ms)
{
    uint64_t ttl_ms = (uint64_t)engine->config.notebooks.ttl_days * 86400 * 1000;
    struct err ignored;
    return ttl_ms > 0 && row->updated_ms + ttl_ms < now_ms && !row->has_session &&
           notebooks_find(engine, row->id) == NULL &&
           session_find(engine, row->id, &ignored) == NULL;
}

static void notebooks_on_listed(void *context, const struct store_notebook *list, size_t n,
                                uint64_t count, const struct err *e)
{
    struct tidying *tidying = context;
    struct engine *engine = tidying->task.engine;
    uint64_t now_ms = clock_wall_ms();
    size_t n_removed = 0;
    tidying->task.asked = NULL;
    for (size_t i = 0; e == NULL && i < n; i++) {
        struct err ignored;
        if (notebooks_is_over(engine, &list[i], now_ms) &&
            store_delete_notebook(engine->store, list[i].id, NULL, NULL, &ignored) != NULL) {
            notebooks_changed(engine, list[i].id);
            n_removed++;
        }
    }
    tidying->offset += n - n_removed;
    if (e == NULL && n > 0 && tidying->offset < count - MIN(count, n_removed))
        tidying->task.asked = store_list_notebooks(engine->store, NULL, tidying->offset, TIDY_PAGE,
                                                   notebooks_on_listed, tidying);
    else
        task_end(&tidying->task);
}

static void notebooks_on_tidy(void *context)
{
    struct engine *engine = context;
    loop_timer_set(engine->notebooks.tidy, TIDY_MS);
    if (engine->config.notebooks.ttl_days == 0)
        return;
    struct tidying *tidying = task_new(&engine->notebooks.tasks, sizeof(*tidying), NULL);
    tidying->task.asked =
        store_list_notebooks(engine->store, NULL, 0, TIDY_PAGE, notebooks_on_listed, tidying);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void notebooks_load(void *context, const struct store_notebook *row)
{
    struct engine *engine = context;
    struct err ignored;
    struct session *session = session_find(engine, row->id, &ignored);
    if (session == NULL)
        return;
    struct live_notebook *notebook = notebooks_ensure(engine, row->id);
    notebook->has_row = true;
    notebook->n_cells = row->n_cells;
    notebook->last_place = row->last_place;
    /* Cells that ran after the session was last written down. */
    session->n_execs = MAX(session->n_execs, MAX(row->last_exec, row->count));
    session->forgotten_exec = MAX(session->forgotten_exec, session->n_execs);
}

int notebooks_open(struct engine *engine, struct err *e)
{
    if (store_each_notebook_head(engine->store, notebooks_load, engine, e) < 0)
        return -1;
    engine->notebooks.tidy = loop_timer_new(engine->loop, notebooks_on_tidy, engine);
    loop_timer_set(engine->notebooks.tidy, clock_scaled_ms(FIRST_TIDY_MS));
    store_on_shown(engine->store, recording_on_updated, engine);
    return 0;
}

void notebooks_reconfigure(struct engine *engine, const struct notebooks_config *before)
{
    if (engine->notebooks.tidy != NULL && before->ttl_days != engine->config.notebooks.ttl_days)
        loop_timer_set(engine->notebooks.tidy, 0);
}

void notebooks_close(struct engine *engine)
{
    struct notebooks *notebooks = &engine->notebooks;
    notebooks->is_closing = true;
    if (engine->store != NULL)
        store_on_shown(engine->store, NULL, NULL);
    loop_timer_close(take_ptr(notebooks->tidy), NULL);
    loop_timer_close(take_ptr(notebooks->keeping), NULL);
    tasks_close(&notebooks->tasks);
    size_t at = 0;
    const char *id;
    void *notebook;
    while (map_next(&notebooks->by_id, &at, &id, &notebook)) {
        notebooks_free(notebook);
        at = 0;
    }
    map_free(&notebooks->by_id);
}
