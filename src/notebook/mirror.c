/* When cells.json is written, in the daemon: a notebook that changed is written a moment later, as
 * a whole, by a worker; one notebook at a time. After a start the files are compared with the
 * store, so that what a daemon that was killed did not write is written, and what it did not remove
 * is removed. */
#include "base/clock.h"
#include "base/ids.h"
#include "notebook/documents.h"
#include "notebook/formats.h"
#include "notebook/mirror_files.h"
#include "session/engine.h"
#include "store/notebooks.h"

#include <errno.h>
#include <stdlib.h>
#include <uv.h>

enum {
    AFTER_MS = 300,
    PAUSE_FACTOR = 10,        /* what took long is not repeated before that much more */
    PAUSE_MAX_MS = 10 * 1000, /* it may have waited for others */
    MIRROR_PAGE = 100,
};

/* Of one file; images beyond that are references in it. */
#define MIRROR_IMAGE_BYTES_MAX (32 * MIB)

/*   WAITING --a moment later--> DUE --nobody else is at work--> AT_WORK --> gone
 *   AT_WORK --it has changed meanwhile--> WAITING */
struct mirror {
    struct task task;
    struct documents *documents; /* gone if the task is forgotten */
    struct list due;             /* a node, while it is DUE */
    char id[UUID_SIZE];
    uv_work_t work;
    struct document *doc; /* NULL if the notebook is gone: then the file goes */
    int data_dir;
    uint64_t began_ms; /* monotonic; 0: it is not at work */
    bool has_changed;  /* since then */
};

/* ---- the worker ------------------------------------------------------------------------------ */

/* A notebook without cells has no file. */
static void mirror_work(uv_work_t *request)
{
    struct mirror *mirror = request->data;
    const struct document *doc = mirror->doc;
    struct err ignored;
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    bool has_cells = doc != NULL && notebook_write(doc, NOTEBOOK_CELLS_JSON, &text, &ignored) == 0;
    if (has_cells)
        mirror_write(mirror->data_dir, doc->user_id != NULL ? doc->user_id : "default", mirror->id,
                     &text, documents_time(doc->updated_at));
    else
        mirror_remove(mirror->data_dir, mirror->id);
}

/* ---- one at a time --------------------------------------------------------------------------- */

static void mirror_begin_next(struct documents *documents);

/* A task that is forgotten ends after the documents were freed: it must not touch them. */
static void mirror_end(struct task *task)
{
    struct mirror *mirror = (struct mirror *)task;
    if (!task->is_forgotten)
        map_remove(&mirror->documents->mirrors.by_id, mirror->id);
    list_remove(&mirror->due);
    notebook_free(mirror->doc);
}

static void mirror_on_due(struct task *task)
{
    struct mirror *mirror = (struct mirror *)task;
    list_append(&mirror->documents->mirrors.due, &mirror->due);
    mirror_begin_next(mirror->documents);
}

static void mirror_after(struct mirror *mirror)
{
    struct documents *documents = mirror->documents;
    uint64_t took_ms = clock_mono_ms() - mirror->began_ms;
    if (mirror->task.is_forgotten) {
        task_end(&mirror->task);
        return;
    }
    if (mirror->doc != NULL) {
        notebook_free(take_ptr(mirror->doc));
        documents_done(documents);
    }
    mirror->began_ms = 0;
    documents->mirrors.is_busy = false;
    if (mirror->has_changed)
        task_later(&mirror->task, mirror_on_due,
                   AFTER_MS + MIN(took_ms * PAUSE_FACTOR, (uint64_t)PAUSE_MAX_MS));
    else
        task_end(&mirror->task);
    mirror_begin_next(documents);
}

static void mirror_after_work(uv_work_t *request, int status)
{
    struct mirror *mirror = request->data;
    (void)status;
    mirror->task.is_busy = false;
    mirror_after(mirror);
}

static void mirror_on_document(void *context, struct document *doc, const struct err *e)
{
    struct mirror *mirror = context;
    if (e != NULL && e->code != ERR_NOT_FOUND) { /* larger than a document: the file stays */
        mirror_after(mirror);
        return;
    }
    mirror->doc = doc;
    mirror->work.data = mirror;
    mirror->task.is_busy = true;
    uv_queue_work(engine_loop(mirror->task.engine), &mirror->work, mirror_work, mirror_after_work);
}

static void mirror_begin_next(struct documents *documents)
{
    struct list *first = list_first(&documents->mirrors.due);
    if (first == NULL || documents->mirrors.is_busy)
        return;
    struct mirror *mirror = CONTAINER_OF(first, struct mirror, due);
    list_remove(first);
    documents->mirrors.is_busy = true;
    mirror->began_ms = clock_mono_ms();
    mirror->has_changed = false;
    documents_read_within(documents, mirror->id, MIRROR_IMAGE_BYTES_MAX, mirror_on_document,
                          mirror);
}

void mirrors_changed(void *context, const char *id)
{
    struct documents *documents = context;
    if (!documents->config.has_cells_json)
        return;
    struct mirror *mirror = map_get(&documents->mirrors.by_id, id);
    if (mirror != NULL) {
        mirror->has_changed = true;
        return;
    }
    mirror = task_new(&documents->tasks, sizeof(*mirror), mirror_end);
    mirror->documents = documents;
    mirror->data_dir = documents->config.data_dir;
    snprintf(mirror->id, sizeof(mirror->id), "%s", id);
    list_init(&mirror->due);
    map_set(&documents->mirrors.by_id, mirror->id, mirror);
    task_later(&mirror->task, mirror_on_due, AFTER_MS);
}

/* ---- those of an earlier daemon -------------------------------------------------------------- */

struct comparison {
    struct task task;
    struct documents *documents;
    uv_work_t work;
    int data_dir;
    struct map files; /* by id: malloc'ed times; those that no notebook was found for yet */
    uint64_t offset;
};

static void mirror_end_comparison(struct task *task)
{
    struct comparison *c = (struct comparison *)task;
    const char *id;
    void *at_ms;
    for (size_t at = 0; map_next(&c->files, &at, &id, &at_ms);)
        free(at_ms);
    map_free(&c->files);
}

static void mirror_note_file(void *context, const char *id, uint64_t at_ms)
{
    struct comparison *c = context;
    if (map_get(&c->files, id) == NULL)
        map_set(&c->files, id, mem_copy(&at_ms, sizeof(at_ms)));
}

static void mirror_list_files(uv_work_t *request)
{
    struct comparison *c = request->data;
    mirror_each(c->data_dir, mirror_note_file, c);
}

static void mirror_list_notebooks(struct comparison *c);

static void mirror_on_notebooks(void *context, const struct store_notebook *list, size_t n,
                                uint64_t count, const struct err *e)
{
    struct comparison *c = context;
    c->task.asked = NULL;
    for (size_t i = 0; e == NULL && i < n; i++) {
        uint64_t *file_ms = map_remove(&c->files, list[i].id);
        bool is_current = file_ms != NULL ? *file_ms == list[i].updated_ms : list[i].n_cells == 0;
        if (!is_current)
            mirrors_changed(c->documents, list[i].id);
        free(file_ms);
    }
    c->offset += n;
    if (e == NULL && n > 0 && c->offset < count) {
        mirror_list_notebooks(c);
        return;
    }
    const char *id;
    void *at_ms;
    for (size_t at = 0; e == NULL && map_next(&c->files, &at, &id, &at_ms);)
        mirrors_changed(c->documents, id); /* the notebook is gone, or was made meanwhile */
    task_end(&c->task);
}

static void mirror_list_notebooks(struct comparison *c)
{
    c->task.asked = store_list_notebooks(engine_store(c->task.engine), NULL, c->offset, MIRROR_PAGE,
                                         mirror_on_notebooks, c);
}

static void mirror_on_files(uv_work_t *request, int status)
{
    struct comparison *c = request->data;
    (void)status;
    c->task.is_busy = false;
    if (c->task.is_forgotten)
        task_end(&c->task);
    else
        mirror_list_notebooks(c);
}

void mirrors_compare(struct documents *documents)
{
    if (!documents->config.has_cells_json)
        return;
    struct comparison *c = task_new(&documents->tasks, sizeof(*c), mirror_end_comparison);
    c->documents = documents;
    c->data_dir = documents->config.data_dir;
    c->work.data = c;
    c->task.is_busy = true;
    uv_queue_work(engine_loop(documents->engine), &c->work, mirror_list_files, mirror_on_files);
}
