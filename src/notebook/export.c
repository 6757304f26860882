/* A notebook becomes a document, in the daemon: its rows are collected page by page, then a worker
 * parses what they hold and fetches the images. */
#include "base/clock.h"
#include "blob/blob.h"
#include "notebook/documents.h"
#include "notebook/output.h"
#include "session/notebooks.h"
#include "session/session.h"
#include "store/notebooks.h"
#include "wire/base64.h"

#include <uv.h>

enum { EXPORT_PAGE = 200, DOCUMENTS_MAX = 2 };
#define EXPORT_IMAGE_BYTES_MAX (64 * MIB)

/* JSON of a cell, until the worker has parsed it. */
struct raw_cell {
    char *outputs, *metadata; /* NULL if the cell has none */
    size_t outputs_len, metadata_len;
};

struct export_task {
    struct task task;
    struct documents *documents; /* not to be touched by the worker */
    struct list in_line;         /* until its turn */
    char id[UUID_SIZE];
    uv_work_t work;
    struct document *doc;
    char *metadata; /* JSON; NULL if none */
    struct raw_cell *raw;
    size_t n_raw;
    uint64_t n_read;                       /* cells */
    uint64_t bytes;                        /* of what was collected, then of the images as well */
    uint64_t image_bytes, max_image_bytes; /* of images that are data */
    bool keeps_references;                 /* of images that are not data */
    int blobs;
    documents_read_fn fn;
    void *context;
};

static void export_end(struct task *task)
{
    struct export_task *x = (struct export_task *)task;
    list_remove(&x->in_line);
    for (size_t i = 0; i < x->n_raw; i++) {
        free(x->raw[i].outputs);
        free(x->raw[i].metadata);
    }
    free(x->raw);
    free(x->metadata);
    notebook_free(x->doc);
}

static void export_finish(struct export_task *x, const struct err *e)
{
    struct documents *documents = x->task.tasks != NULL ? x->documents : NULL; /* else freed */
    bool is_taken = e == NULL && !x->task.is_forgotten;
    if (!x->task.is_forgotten)
        x->fn(x->context, is_taken ? take_ptr(x->doc) : NULL, e);
    task_end(&x->task);
    if (!is_taken)
        documents_done(documents);
}

/* ---- the worker ------------------------------------------------------------------------------ */

/* A JSON value that the store kept as text; NULL if the text is not valid. */
static json_t *export_parse(const char *text, size_t len)
{
    static const struct json_limits limits = {.depth = NOTEBOOK_DEPTH_MAX,
                                              .values = NOTEBOOK_VALUES_MAX};
    struct err ignored;
    _buf_ struct buf wrapped = BUF_INIT(NOTEBOOK_BYTES_MAX);
    _json_ json_t *object = NULL;
    buf_append_str(&wrapped, "{\"v\":");
    buf_append(&wrapped, text, len);
    buf_append_char(&wrapped, '}');
    if (json_read_file_object(buf_str(&wrapped), wrapped.len, &limits, &object, &ignored) < 0)
        return NULL;
    return json_incref(json_object_get(object, "v"));
}

static json_t *export_read_image(struct export_task *x, const char *hex, bool is_svg)
{
    struct blob_hash hash;
    _free_ char *data = NULL;
    size_t len;
    uint64_t left = x->max_image_bytes - MIN(x->max_image_bytes, x->image_bytes);
    if (blob_parse_hex(hex, &hash) < 0 ||
        blob_read(x->blobs, &hash, (size_t)MIN(left, (uint64_t)EXPORT_IMAGE_BYTES_MAX), &data,
                  &len) < 0 ||
        x->bytes + len > NOTEBOOK_BYTES_MAX)
        return NULL;
    x->image_bytes += len;
    x->bytes += len / 3 * 4;
    if (is_svg)
        return json_stringn(data, len);
    _buf_ struct buf text = BUF_INIT(2 * EXPORT_IMAGE_BYTES_MAX);
    base64_encode(&text, data, len);
    return json_stringn_nocheck(buf_str(&text), text.len);
}

static void export_fill_in(struct export_task *x, json_t *output)
{
    const char *hash = json_string_value(json_object_get(output, "hash"));
    bool is_svg = output_type(output) == OUTPUT_SVG;
    const char *member = is_svg ? "svg" : "data";
    json_t *data = hash != NULL ? export_read_image(x, hash, is_svg) : NULL;
    if (data != NULL)
        json_object_set_new(output, member, data);
    json_t *ref = json_object_get(output, "ref");
    bool is_left_out = ref != NULL && json_object_get(output, member) == NULL;
    /* Instead of the image: where it is to be had, or that it is not kept. */
    if (is_left_out && x->keeps_references && hash != NULL) {
        json_object_set_new(output, "type", json_string("image"));
        json_object_set(output, "resource_uri", ref);
    } else if (is_left_out) {
        json_object_set_new(output, "type", json_string("text"));
        if (json_object_get(output, "text") == NULL)
            json_object_set_new(output, "text", json_string("[an image that is not kept]"));
    }
    static const char *const internal[] = {"hash", "ref", "url", "bytes"};
    for (size_t i = 0; i < ARRAY_LEN(internal); i++)
        json_object_del(output, internal[i]);
}

static void export_parse_cell(struct export_task *x, size_t i)
{
    struct notebook_cell *cell = &x->doc->cells[i];
    const struct raw_cell *raw = &x->raw[i];
    json_t *outputs = raw->outputs != NULL ? export_parse(raw->outputs, raw->outputs_len) : NULL;
    json_t *metadata =
        raw->metadata != NULL ? export_parse(raw->metadata, raw->metadata_len) : NULL;
    size_t at;
    json_t *output;
    if (json_is_array(outputs) && cell->kind == CELL_CODE) {
        json_array_foreach(outputs, at, output) {
            export_fill_in(x, output);
        }
        json_decref(cell->outputs);
        cell->outputs = json_incref(outputs);
    }
    if (json_is_object(metadata)) {
        json_t *attachments = json_object_get(metadata, "attachments");
        if (json_is_object(attachments) && cell->kind != CELL_CODE)
            cell->attachments = json_incref(attachments);
        if (cell->attachments != NULL)
            json_object_del(metadata, "attachments");
        json_decref(cell->metadata);
        cell->metadata = json_incref(metadata);
    }
    json_decref(outputs);
    json_decref(metadata);
}

static void export_work(uv_work_t *request)
{
    struct export_task *x = request->data;
    for (size_t i = 0; i < x->doc->n_cells; i++)
        export_parse_cell(x, i);
    json_t *metadata = x->metadata != NULL ? export_parse(x->metadata, strlen(x->metadata)) : NULL;
    if (json_is_object(metadata)) {
        json_decref(x->doc->metadata);
        x->doc->metadata = json_incref(metadata);
    }
    json_decref(metadata);
}

static void export_after_work(uv_work_t *request, int status)
{
    (void)status;
    struct export_task *x = request->data;
    export_finish(x, NULL);
}

/* ---- collecting ------------------------------------------------------------------------------ */

static void export_set_time(char **field, uint64_t at_ms)
{
    char time[CLOCK_RFC3339_SIZE];
    notebook_set_text(field, at_ms > 0 ? clock_rfc3339(at_ms, time) : NULL);
}

static void export_on_page(void *context, const struct store_cell *list, size_t n, uint64_t count,
                           const struct err *e)
{
    struct export_task *x = context;
    struct err refusal;
    x->task.asked = NULL;
    if (e == NULL && x->bytes > NOTEBOOK_BYTES_MAX) {
        err_set(&refusal, ERR_TOO_LARGE, "the notebook has more than a document may hold");
        err_advise(&refusal, "Clear outputs that nobody needs.");
        e = &refusal;
    }
    if (e != NULL || x->task.is_forgotten) {
        export_finish(x, e);
        return;
    }
    x->raw = mem_realloc(x->raw, (x->n_raw + n + 1) * sizeof(*x->raw));
    for (size_t i = 0; i < n; i++) {
        const struct store_cell *row = &list[i];
        struct notebook_cell *cell = notebook_add_cell(x->doc, (enum cell_kind)row->kind);
        struct raw_cell *raw = &x->raw[x->n_raw++];
        notebook_set_text(&cell->id, row->id);
        notebook_set_source(cell, row->source != NULL ? row->source : "", row->source_len);
        if (!cell_find_state(row->state, &cell->state))
            cell->state = CELL_IDLE; /* the cell is queued */
        cell->execution_count = (int64_t)row->count;
        export_set_time(&cell->created_at, row->created_ms);
        export_set_time(&cell->executed_at, row->executed_ms);
        cell->execution_time = row->executed_ms > 0 ? (double)row->duration_us / 1e6 : -1;
        cell->is_undone = row->is_undone;
        *raw =
            (struct raw_cell){.outputs_len = row->outputs_len, .metadata_len = row->metadata_len};
        if (row->outputs != NULL)
            raw->outputs = mem_copy(row->outputs, row->outputs_len);
        if (row->metadata != NULL)
            raw->metadata = mem_copy(row->metadata, row->metadata_len);
        x->bytes += row->source_len + row->outputs_len + row->metadata_len;
    }
    x->n_read += n;
    if (n > 0 && x->n_read < count) {
        x->task.asked = store_get_cells(engine_store(x->task.engine), x->id, x->n_read, EXPORT_PAGE,
                                        true, export_on_page, x);
        return;
    }
    x->work.data = x;
    x->task.is_busy = true;
    uv_queue_work(engine_loop(x->task.engine), &x->work, export_work, export_after_work);
}

/* A session that has run nothing has no row yet: its notebook is empty. */
static bool export_is_unwritten(const struct export_task *x, const struct err *e,
                                struct store_notebook *ret_row)
{
    struct err ignored;
    if (e == NULL || e->code != ERR_NOT_FOUND)
        return false;
    const struct session *session = session_find(x->task.engine, x->id, &ignored);
    if (session == NULL || session->is_unlisted)
        return false;
    *ret_row = (struct store_notebook){.id = session->id,
                                       .user = session->agent,
                                       .runtime = session->runtime->name,
                                       .created_ms = session->life.spawned_at_us / 1000,
                                       .updated_ms = session->life.spawned_at_us / 1000};
    return true;
}

static void export_on_notebook(void *context, const struct store_notebook *row, const struct err *e)
{
    struct export_task *x = context;
    struct store_notebook unwritten;
    x->task.asked = NULL;
    bool is_empty = export_is_unwritten(x, e, &unwritten);
    if (is_empty)
        row = &unwritten;
    if ((e != NULL && !is_empty) || x->task.is_forgotten) {
        export_finish(x, e);
        return;
    }
    notebook_set_text(&x->doc->title, row->title);
    notebook_set_text(&x->doc->runtime, row->runtime != NULL ? row->runtime : "python");
    notebook_set_text(&x->doc->user_id, row->user);
    notebook_set_text(&x->doc->session_id, row->id);
    export_set_time(&x->doc->created_at, row->created_ms);
    export_set_time(&x->doc->updated_at, row->updated_ms);
    x->doc->execution_count = (int64_t)row->count;
    x->metadata = row->metadata != NULL ? mem_strdup(row->metadata) : NULL;
    if (is_empty)
        export_on_page(x, NULL, 0, 0, NULL);
    else
        x->task.asked = store_get_cells(engine_store(x->task.engine), x->id, 0, EXPORT_PAGE, true,
                                        export_on_page, x);
}

/* ---- one or two at a time -------------------------------------------------------------------- */

static void export_begin_next(struct documents *documents)
{
    while (documents->n_documents < DOCUMENTS_MAX && !list_is_empty(&documents->asked_for)) {
        struct export_task *x =
            CONTAINER_OF(list_first(&documents->asked_for), struct export_task, in_line);
        list_remove(&x->in_line);
        documents->n_documents++;
        notebooks_flush(documents->engine, x->id);
        x->task.asked =
            store_get_notebook(engine_store(documents->engine), x->id, export_on_notebook, x);
    }
}

void documents_done(struct documents *documents)
{
    if (documents == NULL)
        return;
    documents->n_documents--;
    export_begin_next(documents);
}

struct task *documents_read_within(struct documents *documents, const char *id,
                                   uint64_t max_image_bytes, documents_read_fn fn, void *context)
{
    struct export_task *x = task_new(&documents->tasks, sizeof(*x), export_end);
    x->documents = documents;
    snprintf(x->id, sizeof(x->id), "%s", id);
    x->doc = notebook_new();
    x->blobs = store_blobs(engine_store(documents->engine));
    x->max_image_bytes = max_image_bytes;
    x->keeps_references = max_image_bytes < NOTEBOOK_BYTES_MAX;
    x->fn = fn;
    x->context = context;
    list_append(&documents->asked_for, &x->in_line);
    export_begin_next(documents);
    return &x->task;
}

struct task *documents_read(struct documents *documents, const char *id, documents_read_fn fn,
                            void *context)
{
    return documents_read_within(documents, id, NOTEBOOK_BYTES_MAX, fn, context);
}
