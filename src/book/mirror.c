/* When cells.json is written: a notebook that changed is written a moment later, as a whole, by a
 * worker; one notebook at a time. After a start the files are compared with the store, so that what
 * a daemon that was killed did not write is written, and what it did not remove is removed. */
#include "book/mirror.h"

#include "base/clock.h"
#include "book/state.h"
#include "notebook/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <uv.h>

enum {
    AFTER_MS = 300,
    PAUSE_FACTOR = 10,        /* what took long is not repeated before that much more */
    PAUSE_MAX_MS = 10 * 1000, /* it may have waited for others */
    PAGE = 100,
};

/* Of one file; images beyond that are references in it. */
#define IMAGE_BYTES_MAX (32 * MIB)

/*   WAITING --a moment later--> DUE --nobody else is at work--> AT_WORK --> gone
 *   AT_WORK --it has changed meanwhile--> WAITING */
struct mirror {
    struct book_call call;
    struct list due; /* a node, while it is DUE */
    char id[UUID_SIZE];
    uv_work_t work;
    struct document *doc; /* NULL: the notebook is gone, and the file is to go */
    int data_dir;
    uint64_t began_ms; /* monotonic; 0: it is not at work */
    bool has_changed;  /* since then */
};

/* ---- the worker --------------------------------------------------------------------------------
 */

/* A notebook without cells has no file. */
static void work(uv_work_t *request)
{
    struct mirror *mirror = request->data;
    const struct document *doc = mirror->doc;
    struct err ignored;
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    bool has_cells = doc != NULL && notebook_write(doc, NOTEBOOK_CELLS_JSON, &text, &ignored) == 0;
    if (has_cells)
        mirror_write(mirror->data_dir, doc->user_id != NULL ? doc->user_id : "default", mirror->id,
                     &text, book_time_of(doc->updated_at));
    else
        mirror_remove(mirror->data_dir, mirror->id);
}

/* ---- one at a time -----------------------------------------------------------------------------
 */

static void begin_next(struct books *books);

/* Whoever is told of its end when the books are closed must not touch them. */
static void end_mirror(struct book_call *call)
{
    struct mirror *mirror = (struct mirror *)call;
    if (!call->is_forgotten)
        map_remove(&call->books->mirrors.by_id, mirror->id);
    list_remove(&mirror->due);
    notebook_free(mirror->doc);
}

static void on_due(struct book_call *call)
{
    struct mirror *mirror = (struct mirror *)call;
    list_append(&call->books->mirrors.due, &mirror->due);
    begin_next(call->books);
}

static void after(struct mirror *mirror)
{
    struct books *books = mirror->call.books;
    uint64_t took_ms = clock_mono_ms() - mirror->began_ms;
    if (mirror->call.is_forgotten) {
        book_call_end(&mirror->call);
        return;
    }
    if (mirror->doc != NULL) {
        notebook_free(take_ptr(mirror->doc));
        book_document_done(books);
    }
    mirror->began_ms = 0;
    books->mirrors.is_busy = false;
    if (mirror->has_changed)
        book_call_later(&mirror->call, on_due,
                        AFTER_MS + MIN(took_ms * PAUSE_FACTOR, (uint64_t)PAUSE_MAX_MS));
    else
        book_call_end(&mirror->call);
    begin_next(books);
}

static void after_work(uv_work_t *request, int status)
{
    struct mirror *mirror = request->data;
    (void)status;
    mirror->call.is_busy = false;
    after(mirror);
}

static void on_document(void *context, struct document *doc, const struct err *e)
{
    struct mirror *mirror = context;
    if (e != NULL && e->code != ERR_NOT_FOUND) { /* larger than a document: the file stays */
        after(mirror);
        return;
    }
    mirror->doc = doc;
    mirror->work.data = mirror;
    mirror->call.is_busy = true;
    uv_queue_work(mirror->call.books->loop, &mirror->work, work, after_work);
}

static void begin_next(struct books *books)
{
    struct list *first = list_first(&books->mirrors.due);
    if (first == NULL || books->mirrors.is_busy)
        return;
    struct mirror *mirror = CONTAINER_OF(first, struct mirror, due);
    list_remove(first);
    books->mirrors.is_busy = true;
    mirror->began_ms = clock_mono_ms();
    mirror->has_changed = false;
    book_read_document(books, mirror->id, IMAGE_BYTES_MAX, on_document, mirror);
}

void mirror_changed(struct books *books, const char *id)
{
    if (!books->config.has_cells_json || books->is_closing)
        return;
    struct mirror *mirror = map_get(&books->mirrors.by_id, id);
    if (mirror != NULL) {
        mirror->has_changed = true;
        return;
    }
    mirror = book_call_new(books, sizeof(*mirror), end_mirror);
    mirror->data_dir = books->config.data_dir;
    snprintf(mirror->id, sizeof(mirror->id), "%s", id);
    list_init(&mirror->due);
    map_set(&books->mirrors.by_id, mirror->id, mirror);
    book_call_later(&mirror->call, on_due, AFTER_MS);
}

/* ---- those of an earlier daemon ----------------------------------------------------------------
 */

struct comparison {
    struct book_call call;
    uv_work_t work;
    int data_dir;
    struct map files; /* by id: malloc'ed times; those that no notebook was found for yet */
    uint64_t offset;
};

static void end_comparison(struct book_call *call)
{
    struct comparison *c = (struct comparison *)call;
    const char *id;
    void *at_ms;
    for (size_t at = 0; map_next(&c->files, &at, &id, &at_ms);)
        free(at_ms);
    map_free(&c->files);
}

static void note_file(void *context, const char *id, uint64_t at_ms)
{
    struct comparison *c = context;
    if (map_get(&c->files, id) == NULL)
        map_set(&c->files, id, mem_copy(&at_ms, sizeof(at_ms)));
}

static void list_files(uv_work_t *request)
{
    struct comparison *c = request->data;
    mirror_each(c->data_dir, note_file, c);
}

static void list_notebooks(struct comparison *c);

static void compare(struct comparison *c, const struct store_notebook *row)
{
    uint64_t *at_ms = map_remove(&c->files, row->id);
    bool is_current = at_ms != NULL ? *at_ms == row->updated_ms : row->n_cells == 0;
    if (!is_current)
        mirror_changed(c->call.books, row->id);
    free(at_ms);
}

static void on_notebooks(void *context, const struct store_notebook *list, size_t n, uint64_t count,
                         const struct err *e)
{
    struct comparison *c = context;
    c->call.asked = NULL;
    for (size_t i = 0; e == NULL && i < n; i++)
        compare(c, &list[i]);
    c->offset += n;
    if (e == NULL && n > 0 && c->offset < count) {
        list_notebooks(c);
        return;
    }
    const char *id;
    void *at_ms;
    for (size_t at = 0; e == NULL && map_next(&c->files, &at, &id, &at_ms);)
        mirror_changed(c->call.books, id); /* it is gone, or was made meanwhile */
    book_call_end(&c->call);
}

static void list_notebooks(struct comparison *c)
{
    c->call.asked =
        store_list_notebooks(c->call.books->store, NULL, c->offset, PAGE, on_notebooks, c);
}

static void on_files(uv_work_t *request, int status)
{
    struct comparison *c = request->data;
    (void)status;
    c->call.is_busy = false;
    if (c->call.is_forgotten)
        book_call_end(&c->call);
    else
        list_notebooks(c);
}

void mirrors_compare(struct books *books)
{
    if (!books->config.has_cells_json)
        return;
    struct comparison *c = book_call_new(books, sizeof(*c), end_comparison);
    c->data_dir = books->config.data_dir;
    c->work.data = c;
    c->call.is_busy = true;
    uv_queue_work(books->loop, &c->work, list_files, on_files);
}

void mirrors_init(struct mirrors *mirrors)
{
    list_init(&mirrors->due);
}

void mirrors_free(struct mirrors *mirrors)
{
    map_free(&mirrors->by_id);
}
